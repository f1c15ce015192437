//! Collectives over spanning trees of our own, as schedules.
//!
//! Between hosts values go by messages, in segments, each with a header; on a host they meet in its
//! memory, where for each value that a process puts there and another one takes a message without a header is
//! written down. What each process does is written down segment by segment, as the library that executes
//! trees does it. That the messages between hosts are those of this library is tested there.

mod both_ways;
mod groupings;
mod one_way;
mod written;

use collbench_formats::Operation;
use collbench_formats::tree::{Collective, Wrappers};
use collbench_plans::{Flow, Paths};

pub use groupings::{grouping, numerics};
use one_way::Plans;
use written::Written;
pub use written::{InMemory, TreeSchedule};

/// Payloads are divided into segments of at most so many bytes, with the blocks of all ranks that are in one.
pub const SEGMENT_BYTES: u64 = 8 << 10;
/// Length of what stands before the value in each message, bytes.
pub const HEADER_BYTES: u64 = 24;
/// The greatest payload for which calls run on trees, bytes.
const MOST_BYTES: u64 = i32::MAX as u64;
/// More segments than an operation may have.
const TOO_MANY_SEGMENTS: u64 = (1 << 24) - 1;

/// A call of a collective over a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TreeCall {
    /// What is called.
    pub collective: Collective,
    /// The root, of operations that have one; else it is not looked at.
    pub root: u32,
    /// The payload of one rank, bytes; of a barrier 0.
    pub bytes: u64,
    /// Length of an element, bytes, at least 1: reductions divide none.
    pub element_bytes: u64,
}

impl TreeCall {
    /// One of which the bytes of one rank are known; `None` if such calls never run on a tree.
    #[must_use]
    pub fn of(operation: Operation, root: usize, bytes: u64) -> Option<Self> {
        let collective = Collective::of(operation)?;
        let has_payload = (1..=MOST_BYTES).contains(&bytes);
        (has_payload || collective == Collective::Barrier).then_some(Self {
            collective,
            root: root as u32,
            bytes,
            // That is not recorded; segments are the same for all powers of two.
            element_bytes: 1,
        })
    }

    /// The rank that the call names as its root; `None` of operations without one.
    #[must_use]
    pub fn named_root(&self) -> Option<u32> {
        self.collective.has_root().then_some(self.root)
    }
}

/// Why a call has no schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoSchedule {
    /// The root is not a rank.
    #[error("its root is rank {root} of {n_ranks}")]
    Root {
        /// The rank.
        root: u32,
        /// Ranks of the tree.
        n_ranks: u32,
    },
    /// The library that executes trees leaves such a call to the MPI library.
    #[error(
        "not even one element of each rank fits into a segment, or there are too many segments"
    )]
    Payload,
    /// The messages between two processes are received in another order than they are sent.
    #[error(
        "rank {to} does not receive the messages of rank {from} in the order in which they are sent"
    )]
    Overtaking {
        /// Rank of the sender.
        from: usize,
        /// Rank of the receiver.
        to: usize,
    },
}

/// What values are divided into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Blocks {
    /// They are combined, or the same for all: one block.
    One,
    /// They have a block for each rank.
    PerRank,
}

impl Blocks {
    fn of(collective: Collective) -> Self {
        match collective {
            Collective::Gather | Collective::Scatter | Collective::Allgather => Self::PerRank,
            Collective::Allreduce
            | Collective::Reduce
            | Collective::Bcast
            | Collective::Barrier => Self::One,
        }
    }

    /// Blocks of a value of so many ranks.
    fn of_ranks(self, n_ranks: usize) -> u64 {
        match self {
            Self::One => 1,
            Self::PerRank => n_ranks as u64,
        }
    }
}

/// The bytes of each rank in each segment; `None` where such a payload goes to the MPI library.
fn segments(call: &TreeCall, n_ranks: usize) -> Option<Vec<u64>> {
    let blocks = Blocks::of(call.collective).of_ranks(n_ranks);
    let is_reduction = matches!(call.collective, Collective::Allreduce | Collective::Reduce);
    let element_bytes = if is_reduction { call.element_bytes } else { 1 };
    // One segment, whatever an element is.
    let most = if blocks == 1 && call.bytes <= SEGMENT_BYTES {
        SEGMENT_BYTES
    } else {
        SEGMENT_BYTES / blocks / element_bytes * element_bytes
    };
    let n_segments = call.bytes.checked_div(most)? + u64::from(!call.bytes.is_multiple_of(most));
    (n_segments < TOO_MANY_SEGMENTS).then(|| {
        let lengths = (0..n_segments.max(1)).map(|nth| (call.bytes - nth * most).min(most));
        lengths.collect()
    })
}

/// What each process does in a call over a tree.
///
/// # Errors
/// [`NoSchedule`] if that is not known.
pub fn schedule(tree: &Wrappers, call: &TreeCall) -> Result<TreeSchedule, NoSchedule> {
    let (root, n_ranks) = (call.root, tree.n_ranks());
    if call.collective.has_root() && root >= n_ranks {
        return Err(NoSchedule::Root { root, n_ranks });
    }
    let paths = Paths::new(tree);
    let segments = segments(call, n_ranks as usize).ok_or(NoSchedule::Payload)?;
    let flow = Flow::of(call.collective);
    let is_reduction = matches!(call.collective, Collective::Allreduce | Collective::Reduce);
    let blocks = Blocks::of(call.collective);
    let mut processes = Vec::with_capacity(n_ranks as usize);
    let plans = flow.map(|flow| Plans::new(&paths, flow, root));
    for me in 0..n_ranks {
        let mut written = Written::new(me as usize, is_reduction);
        for &bytes in &segments {
            match &plans {
                Some(plans) => plans.write(blocks, bytes, &mut written),
                None => both_ways::write(&paths, blocks, bytes, &mut written),
            }
        }
        processes.push(written);
    }
    written::in_order(processes)
}
