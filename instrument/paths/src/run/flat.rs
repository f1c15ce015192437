//! Reductions, gathers and scatters among the processes of one host that all meet in one place,
//! without event collectors: what a process gives is published once, and goes from there straight to
//! where it is wanted.
//!
//! Each process has one value in shared memory. In a scatter the root publishes it, otherwise the
//! process itself. Long values are lent: they are copied once, from where the process that gives
//! them has them, if the kernel grants that. Whoever has lent something waits for an answer in the
//! segment after it; after a refusal the value follows in segments, from the one after the answer on.

mod moves;

mod reduction;

use super::options::TeamOptions;
use super::worker::Worker;
use crate::error::Error;
use crate::transport::{Reference, Transport};
use crate::tree::{Edge, Paths, Value};
use crate::values::{Header, Position};

/// The root of a reduction copies long values of so many processes; more of them divide the work.
const FEW: usize = 3;
/// Bytes that it copies at a time.
const LENT_BYTES: usize = 64 << 10;

/// The processes of one host that all meet in one place.
#[derive(Debug)]
pub(crate) struct Flat {
    /// The value of each rank.
    values: Vec<Value>,
    /// The ranks in the order in which values are combined.
    order: Vec<usize>,
    /// What has come from each rank in the operation under way.
    progress: Vec<Progress>,
    /// Where each rank has what it has lent the root of a reduction.
    references: Vec<Reference>,
    /// For parts of values that are combined; empty before the first use.
    memory: Vec<u8>,
}

/// What has come of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// So many bytes.
    Taken(usize),
    /// It was lent, and what comes next is an answer.
    Lent,
    /// All of it.
    Whole,
}

/// What an answer to those who have lent something says: whether it was copied.
fn answer(writer: u32, is_copied: bool) -> Header {
    Header {
        total: 0,
        n_bytes: 0,
        writer,
        is_last: true,
        is_truncated: !is_copied,
        is_reference: false,
    }
}

/// Where all processes of a tree meet, if they do so in one place on one host, and there are no event
/// collectors.
fn meeting_place(paths: &Paths) -> Option<usize> {
    let collects = |edge: &Edge| edge.collectors != [None; 2];
    let is_recorded = paths.edges.iter().any(collects);
    let join = paths.meeting_place()?;
    (paths.n_ranks() >= 2 && !is_recorded).then_some(join)
}

/// Bytes that this takes in a process, beside what is shared.
pub(crate) fn flat_bytes(paths: &Paths, options: &TeamOptions) -> usize {
    let least = if paths.n_ranks() <= FEW {
        LENT_BYTES
    } else {
        0
    };
    let half = least.max(options.segment_bytes);
    meeting_place(paths).map_or(0, |_| 2 * half)
}

impl Flat {
    /// `None` if there is one process, or they meet in several places or on several hosts, or if there
    /// are event collectors.
    pub(crate) fn of<T: Transport>(paths: &Paths, worker: &Worker<T>) -> Option<Self> {
        let join = &paths.joins[meeting_place(paths)?];
        let value = |&edge: &usize| worker.contribution(edge);
        let rank_of = |edge: &usize| paths.first_edges.iter().position(|first| first == edge);
        let order: Option<Vec<usize>> = join.contributors.iter().map(rank_of).collect();
        Some(Self {
            values: paths.first_edges.iter().map(value).collect(),
            order: order.filter(|order| order.len() == paths.n_ranks())?,
            progress: vec![Progress::Whole; paths.n_ranks()],
            references: Vec::new(),
            memory: Vec::new(),
        })
    }

    /// Whether there are so few processes that the root of a reduction copies what they have.
    pub(crate) fn has_few(&self) -> bool {
        self.values.len() <= FEW
    }

    /// Lends the root what this process has. Returns the segment that it is to be given in from, if
    /// the root could not copy it.
    #[cold]
    fn lend_to_root<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        at: Position,
        given: &[u8],
    ) -> Result<Option<Position>, Error> {
        let own = self.values[worker.me as usize];
        worker.lend_to(own, at, given)?;
        worker.finish(at);
        let at = at.next_segment();
        let answered = worker.await_header(worker.heads(own), at)?;
        worker.is_copying_granted = !Header::from_words(answered).is_truncated;
        Ok((!worker.is_copying_granted).then(|| at.next_segment()))
    }

    fn have_all_come(&self) -> bool {
        self.progress.iter().all(|of| *of == Progress::Whole)
    }
}
