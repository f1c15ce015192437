//! The messages of an instance: as they were recorded, else those of an algorithm.

use std::sync::Arc;

use collbench_analyzer::rows::{InstanceWithCalls, OperationRow};
use collbench_formats::Operation;
use collbench_formats::tree::Wrappers;
use collbench_schedules::goal::OtherEnd;
use collbench_schedules::open_mpi::{Named, Release, ran, schedule};
use collbench_schedules::own_trees::{self, TreeCall};
use collbench_schedules::{Call, Parameters, Process, Schedule, Timed, What};
use rustc_hash::FxHashMap;

use super::rank::Steps;

/// Actions of schedules that are kept for the next instance, at most.
const MOST_KEPT: usize = 1 << 20;

/// Where the messages of an instance come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// They were recorded.
    Recorded,
    /// They are those of the algorithm that the library named.
    Named,
    /// They are those of the tree of our own on which the instance ran.
    OwnTree,
    /// They are those of an algorithm for such operations: which one ran is not known.
    Assumed,
}

/// What each rank does in an instance, by call.
#[derive(Debug, Clone)]
pub(super) struct Messages {
    pub(super) origin: Origin,
    pub(super) steps: Vec<Arc<Steps>>,
    /// How many tags they need.
    pub(super) n_tags: u32,
}

/// What instances with the same messages have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    operation: u32,
    communicator: usize,
    bytes: u64,
    tree: Option<u32>,
}

/// Finds out what ranks do in instances.
#[derive(Debug, Default)]
pub(super) struct MessageFinder {
    /// By number; `None`: their ranks are threads.
    own_trees: Vec<Option<Wrappers>>,
    kept: FxHashMap<Key, Option<Messages>>,
    n_kept: usize,
    /// By world rank the number of its call in the instance.
    call_of_rank: Vec<u32>,
}

impl MessageFinder {
    /// Of a run with these trees of our own.
    pub(super) fn new(own_trees: Vec<Option<Wrappers>>) -> Self {
        Self {
            own_trees,
            ..Self::default()
        }
    }

    /// What the ranks do in an instance with the calls of all of its ranks; `None` where that is not known. `has_groups`:
    /// whether its communicator has two groups.
    pub(super) fn find(
        &mut self,
        of: &InstanceWithCalls<'_>,
        operation: &OperationRow,
        has_groups: bool,
    ) -> Option<Messages> {
        if !of.messages.is_empty() {
            return Some(self.recorded(of));
        }
        if has_groups {
            return None;
        }
        let key = Key {
            operation: of.instance.operation,
            communicator: of.instance.communicator()?,
            bytes: bytes_of_one(of, Operation::from_name(operation.operation)?)?,
            tree: of.instance.tree,
        };
        if let Some(known) = self.kept.get(&key) {
            return known.clone();
        }
        let found = self.by_algorithm(of, operation, key);
        let actions = found.iter().flat_map(|of| &of.steps);
        self.n_kept += 1 + actions.map(|of| of.process.actions.len()).sum::<usize>();
        if self.n_kept > MOST_KEPT {
            self.kept.clear();
            self.n_kept = 0;
        }
        self.kept.insert(key, found.clone());
        found
    }

    /// Those that were recorded.
    fn recorded(&mut self, of: &InstanceWithCalls<'_>) -> Messages {
        for (call, number) in of.calls.iter().zip(0..) {
            let rank = call.rank as usize;
            if self.call_of_rank.len() <= rank {
                self.call_of_rank.resize(rank + 1, u32::MAX);
            }
            self.call_of_rank[rank] = number;
        }
        let call_of = |rank: u32| {
            let call = *self.call_of_rank.get(rank as usize)? as usize;
            (of.calls.get(call)?.rank == rank).then_some(call)
        };
        let mut did: Vec<Vec<(Timed, OtherEnd)>> = vec![Vec::new(); of.calls.len()];
        let mut tags: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut n_tags = 0;
        for message in of.messages {
            let (Some(from), Some(to)) = (call_of(message.sender), call_of(message.receiver))
            else {
                continue;
            };
            if from == to {
                continue;
            }
            let next = tags.entry((message.sender, message.receiver)).or_default();
            let tag = *next;
            *next += 1;
            n_tags = n_tags.max(*next);
            let end = |rank: u32| OtherEnd {
                rank,
                bytes: size(message.bytes),
                tag,
            };
            let sent = Timed {
                what: What::Send {
                    to,
                    bytes: message.bytes,
                    is_synchronous: false,
                },
                begin_ns: message.sent_ns,
                // A long one may have been announced only.
                end_ns: None,
            };
            let received = Timed {
                what: What::Receive { from: Some(from) },
                begin_ns: message.posted_ns,
                end_ns: message.received_ns,
            };
            did[from].push((sent, end(message.receiver)));
            did[to].push((received, end(message.sender)));
        }
        let steps = did.into_iter().map(|mut did| {
            did.sort_by_key(|(timed, _)| timed.begin_ns);
            let (timed, ends): (Vec<Timed>, Vec<OtherEnd>) = did.into_iter().unzip();
            Arc::new(Steps {
                process: Process::that_ran(&timed),
                ends: ends.into_iter().map(Some).collect(),
            })
        });
        Messages {
            origin: Origin::Recorded,
            steps: steps.collect(),
            n_tags,
        }
    }

    /// Those of what executed it.
    fn by_algorithm(
        &self,
        of: &InstanceWithCalls<'_>,
        row: &OperationRow,
        key: Key,
    ) -> Option<Messages> {
        let operation = Operation::from_name(row.operation)?.blocking();
        let root = of.instance.root();
        let slot = |rank: u32| of.calls.iter().position(|call| call.rank == rank);
        let root = root.map_or(Some(0), slot)?;
        let call = Call::of_bytes(of.calls.len(), root, key.bytes);
        let (origin, schedule) = if let Some(tree) = key.tree {
            let wrappers = self.own_trees.get(tree as usize)?.as_ref()?;
            let tree_call = TreeCall::of(operation, root, key.bytes)?;
            let schedule = own_trees::schedule(wrappers, &tree_call).ok()?;
            (Origin::OwnTree, schedule.schedule)
        } else {
            let named = row.library_name.as_deref();
            let named =
                named.and_then(|names| of_names(&names.split(" + ").collect::<Vec<_>>(), &call));
            match named {
                Some(schedule) => (Origin::Named, schedule),
                None => (Origin::Assumed, of_names(assumed(operation)?, &call)?),
            }
        };
        messages(of, origin, schedule)
    }
}

/// The schedule of an algorithm and those of which it consists, by the library's names.
fn of_names(names: &[&str], call: &Call) -> Option<Schedule> {
    let named = ran(names, |_| Parameters::default());
    // The release decides only about messages of a process to itself, which are left out.
    let of = |named: &[Named<'_>]| schedule(Release::V4_1, named, call);
    // Short of elements, some hand over to another algorithm, which is reported, too.
    of(&named).or_else(|| of(&ran(names.get(..1)?, |_| Parameters::default())))
}

/// A usual algorithm of an operation, by the names of Open MPI; `None` where ranks exchange data with neighbors only.
fn assumed(operation: Operation) -> Option<&'static [&'static str]> {
    Some(match operation {
        Operation::Barrier => &["barrier_intra_bruck"],
        Operation::Bcast => &["bcast_intra_binomial"],
        Operation::Gather => &["gather_intra_binomial"],
        Operation::Gatherv => &["gather_intra_basic_linear"],
        Operation::Scatter => &["scatter_intra_binomial"],
        Operation::Scatterv => &["scatter_intra_basic_linear"],
        Operation::Allgather => &["allgather_intra_bruck"],
        Operation::Allgatherv => &["allgatherv_intra_ring"],
        Operation::Alltoall => &["alltoall_intra_pairwise"],
        Operation::Alltoallv | Operation::Alltoallw => &["alltoallv_intra_pairwise"],
        Operation::Reduce => &["reduce_intra_binomial"],
        Operation::Allreduce => &["allreduce_intra_recursivedoubling"],
        Operation::ReduceScatter => &["reduce_scatter_intra_ring"],
        Operation::ReduceScatterBlock => &["reduce_scatter_block_intra_recursivedoubling"],
        Operation::Scan => &["scan_intra_recursivedoubling"],
        Operation::Exscan => &["exscan_intra_recursivedoubling"],
        _ => return None,
    })
}

/// The steps of a schedule, whose ranks are those of the calls of an instance.
fn messages(of: &InstanceWithCalls<'_>, origin: Origin, schedule: Schedule) -> Option<Messages> {
    let mut n_tags = 0;
    let ends = schedule.other_ends().ok()?;
    let steps = schedule.processes.into_iter().zip(ends).enumerate();
    let steps = steps.map(|(at, (process, ends))| {
        let ends = ends.into_iter().map(|end| {
            let end = end.filter(|end| end.rank as usize != at)?;
            n_tags = n_tags.max(end.tag + 1);
            Some(OtherEnd {
                rank: of.calls.get(end.rank as usize)?.rank,
                bytes: size(end.bytes),
                tag: end.tag,
            })
        });
        Arc::new(Steps {
            ends: ends.collect(),
            process,
        })
    });
    let steps: Vec<_> = steps.collect();
    (steps.len() == of.calls.len()).then_some(Messages {
        origin,
        steps,
        n_tags,
    })
}

/// The size of a message. LogGOPSim charges each message for its bytes but the first, so there must be one.
fn size(bytes: u64) -> u64 {
    bytes.max(1)
}

/// Bytes of one process: what it contributes, or sends to each other one; where the processes have different numbers, the
/// mean. `None` where it is not known.
fn bytes_of_one(of: &InstanceWithCalls<'_>, operation: Operation) -> Option<u64> {
    let n = of.calls.len() as u64;
    let root = of.instance.root();
    let of_root = || {
        of.calls
            .iter()
            .find(|call| Some(call.rank) == root)?
            .bytes()
    };
    let mean = || {
        let bytes = of.calls.iter().map(|call| call.bytes().map(u128::from));
        let sum = bytes.sum::<Option<u128>>()?;
        u64::try_from(sum / u128::from(n.max(1))).ok()
    };
    match operation.blocking() {
        Operation::Barrier => Some(0),
        Operation::Bcast => of_root(),
        Operation::Scatter | Operation::Scatterv => Some(of_root()? / n),
        Operation::ReduceScatter | Operation::Alltoallv | Operation::Alltoallw => Some(mean()? / n),
        _ => mean(),
    }
}
