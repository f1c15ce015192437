//! A schedule in GOAL, the language of LogGOPSim and ATLAHS: computing between collectives, and the messages inside them.
//!
//! What a rank does between two collectives is computing, as long as it took. The messages inside a collective are those that
//! were recorded, in the order in which they were sent and received; where none were, those of the algorithm that executed it.
//!
//! # Source
//! Hoefler, Siebert, Lumsdaine 2009 (Group Operation Assembly Language); the grammar is that of LogGOPSim's `txt2bin`.

mod instance;
mod rank;
mod spool;

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use collbench_analyzer::rows::{
    AnalysisOfRows, CallRow, InstanceState, InstanceWithCalls, MOST_PENDING, OperationRow, Rows,
};
use collbench_text::quantity;

use crate::error::ExportError;
use crate::facts::Facts;
use crate::sink::Sink;
use crate::write::WriteInstances;
use instance::{MessageFinder, Origin};
use rank::{Deed, Event, Rank};
use spool::Spool;

/// Tags begin again at 0 behind this one: simulators may keep them in 31 bits.
const MOST_TAGS: u32 = 1 << 31;

/// How many instances were written in which way.
#[derive(Debug, Default)]
struct Counts {
    recorded: u64,
    named: u64,
    own_tree: u64,
    assumed: u64,
    alone: u64,
    left_out: u64,
}

/// A schedule that is being written.
#[derive(Debug)]
pub(crate) struct GoalWriter {
    path: PathBuf,
    sink: Sink,
    facts: Facts,
    finder: MessageFinder,
    /// By world rank; none before the first instance.
    ranks: Vec<Rank>,
    spool: Spool,
    /// First enter of the newest instance, ns: what comes begins then or later.
    newest_ns: i64,
    /// What was entered before this time is written, ns.
    written_ns: i64,
    next_tag: u32,
    n_begun: u64,
    counts: Counts,
}

impl GoalWriter {
    /// To a file.
    pub(crate) fn new(sink: Sink, path: &Path, mut facts: Facts) -> Self {
        let n_ranks = facts.n_ranks();
        let mut spooled = path.as_os_str().to_owned();
        spooled.push("-ranks");
        Self {
            path: path.to_owned(),
            sink,
            finder: MessageFinder::new(std::mem::take(&mut facts.own_trees)),
            facts,
            ranks: Vec::new(),
            spool: Spool::new(spooled.into(), n_ranks),
            newest_ns: i64::MIN,
            written_ns: i64::MIN,
            next_tag: 0,
            n_begun: 0,
            counts: Counts::default(),
        }
    }

    fn add(&mut self, of: &InstanceWithCalls<'_>, operation: &OperationRow) {
        if self.ranks.is_empty() {
            let begin_ns = of.instance.first_enter_ns;
            let ranks = (0..self.spool.n_ranks()).map(|_| Rank::new(begin_ns));
            self.ranks.extend(ranks);
        }
        self.newest_ns = self.newest_ns.max(of.instance.first_enter_ns);
        let communicator = of.instance.communicator();
        if of.calls.len() == 1 && of.instance.state == InstanceState::Complete {
            self.counts.alone += 1;
            return;
        }
        let communicator = communicator.and_then(|index| self.facts.communicators.get(index));
        let is_whole = |ranks: &[u32]| {
            let calls = of.calls.iter();
            ranks.len() == of.calls.len()
                && calls
                    .clone()
                    .all(|call| (call.rank as usize) < self.ranks.len())
        };
        let known = communicator.filter(|known| {
            of.instance.state == InstanceState::Complete
                && is_whole(&known.ranks)
                // It would come before what is written already with some of its ranks.
                && of.instance.first_enter_ns >= self.written_ns
        });
        let messages = known.and_then(|known| {
            let has_groups = known.first_group < known.ranks.len();
            self.finder.find(of, operation, has_groups)
        });
        let Some(messages) = messages else {
            self.counts.left_out += 1;
            return;
        };
        *match messages.origin {
            Origin::Recorded => &mut self.counts.recorded,
            Origin::Named => &mut self.counts.named,
            Origin::OwnTree => &mut self.counts.own_tree,
            Origin::Assumed => &mut self.counts.assumed,
        } += 1;
        if self.next_tag > MOST_TAGS - messages.n_tags {
            self.next_tag = 0;
        }
        let first_tag = self.next_tag;
        self.next_tag += messages.n_tags;
        for (at, (call, steps)) in of.calls.iter().zip(messages.steps).enumerate() {
            let event = |enter_ns, leave_ns, thread, deed| Event {
                enter_ns,
                leave_ns,
                thread,
                first_tag,
                deed,
            };
            let rank = &mut self.ranks[call.rank as usize];
            let Some(overlap) = of.overlaps.get(at).copied().flatten() else {
                rank.add(event(
                    call.enter_ns,
                    left_ns(call),
                    call.thread,
                    Deed::Call(steps),
                ));
                continue;
            };
            let number = self.n_begun;
            self.n_begun += 1;
            let begin = Deed::Begin(number, steps);
            rank.add(event(
                call.enter_ns,
                overlap.initiated_ns,
                call.thread,
                begin,
            ));
            if let Some((enter_ns, _, thread)) = overlap.waited_for_by() {
                let complete = Deed::Complete(number);
                rank.add(event(enter_ns, left_ns(call), thread, complete));
            }
        }
    }

    /// Writes what was entered before some time; `None`: all.
    fn write_until(&mut self, until_ns: Option<i64>) -> Result<(), ExportError> {
        let last_ns = self.ranks.iter().filter_map(Rank::last_pending_ns).max();
        let written_ns = until_ns.or(last_ns).unwrap_or(i64::MIN);
        self.written_ns = self.written_ns.max(written_ns);
        for (number, rank) in self.ranks.iter_mut().enumerate() {
            rank.write_until(until_ns, self.spool.text(number));
            let put = self.spool.put_away(number);
            put.map_err(|error| ExportError::io(self.spool.path(), error))?;
        }
        Ok(())
    }

    fn end(self) -> io::Result<()> {
        let mut out = BufWriter::new(self.sink);
        let n_ranks = self.spool.n_ranks();
        writeln!(out, "num_ranks {n_ranks}")?;
        for line in self.counts.words() {
            writeln!(out, "// {line}")?;
        }
        writeln!(
            out,
            "// calc: ns between two collectives of a rank, whatever it did there"
        )?;
        for rank in 0..n_ranks {
            writeln!(out, "\nrank {rank} {{")?;
            if self.spool.is_empty(rank) {
                writeln!(out, "l1: calc 0")?;
            }
            self.spool.write(rank, &mut out)?;
            writeln!(out, "}}")?;
        }
        out.into_inner()
            .map_err(io::IntoInnerError::into_error)?
            .finish()
    }
}

/// When a call returned; one that did not takes no time.
fn left_ns(call: &CallRow) -> i64 {
    call.leave_ns().unwrap_or(call.enter_ns)
}

impl Counts {
    /// How the instances were written.
    fn words(&self) -> Vec<String> {
        let instances = |n: u64| quantity::counted_grouped(n, "instance");
        let counted = [
            (self.recorded, "with the messages that were recorded"),
            (
                self.named,
                "by the algorithm that the MPI library named, unsegmented",
            ),
            (self.own_tree, "over the spanning tree on which they ran"),
            (
                self.assumed,
                "by a usual algorithm, since neither messages nor an algorithm were recorded",
            ),
            (self.alone, "of one rank, which count as computing"),
            (
                self.left_out,
                "of which calls or messages are missing, which count as computing",
            ),
        ];
        let counted = counted.into_iter().filter(|(n, _)| *n > 0);
        let words = counted.map(|(n, how)| format!("{} {how}", instances(n)));
        words.collect()
    }
}

impl WriteInstances for GoalWriter {
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        for of in rows.instances() {
            self.add(&of, &rows.operations[of.instance.operation as usize]);
        }
        let n_pending: usize = self.ranks.iter().map(Rank::n_pending).sum();
        // As many as may wait for an instance that began before them.
        let all = n_pending > MOST_PENDING;
        self.write_until((!all).then_some(self.newest_ns))
    }

    fn finish(mut self: Box<Self>, _: &AnalysisOfRows) -> Result<Option<String>, ExportError> {
        self.write_until(None)?;
        let remark = self.counts.words().join("; ");
        let path = self.path.clone();
        self.end().map_err(|error| ExportError::io(&path, error))?;
        Ok(Some(remark).filter(|remark| !remark.is_empty()))
    }
}
