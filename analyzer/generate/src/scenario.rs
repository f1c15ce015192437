//! A checked scenario, in the form that the simulation uses.

use std::collections::BTreeMap;

use collbench_formats::{CompletingCall, Operation};
use serde::Deserialize;

use super::clock::HostClock;
use super::delay::Delay;
use super::messages::{MessageModel, Network};
use super::own_trees::OwnTree;
use super::summary::TruthDetail;

mod check;
mod written;

/// What is wrong with a scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {found}; expected {expected}")]
pub struct ScenarioError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What is there.
    pub found: String,
    /// What should be there.
    pub expected: String,
}

/// A whole scenario.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) seed: u64,
    pub(crate) grid_ns: u64,
    pub(crate) started_unix_ns: u64,
    pub(crate) chunk_calls: usize,
    /// Number of chunks of each rank's ring, by rank, repeated cyclically; empty: the files are no
    /// rings.
    pub(crate) keep_chunks: Vec<usize>,
    pub(crate) truth: TruthDetail,
    pub(crate) init_ns: u64,
    pub(crate) finalize_ns: u64,
    pub(crate) hosts: Vec<Host>,
    /// `None`: offsets are not measured.
    pub(crate) exchanges: Option<Exchanges>,
    /// By world rank: index in `hosts`.
    pub(crate) host_of: Vec<usize>,
    pub(crate) threads: BTreeMap<String, u32>,
    /// Whether any rank has several threads.
    pub(crate) has_threads: bool,
    pub(crate) network: Network,
    /// Whether any collective has simulated messages.
    pub(crate) has_messages: bool,
    /// Whether anything notes time in calls without records.
    pub(crate) has_gaps: bool,
    /// Spanning trees of our own.
    pub(crate) trees: Vec<OwnTree>,
    /// The places in the program from which steps are called; empty if no step says it.
    pub(crate) call_sites: Vec<CalledAt>,
    pub(crate) program: Vec<Step>,
    /// By world rank.
    pub(crate) faults: Vec<Fault>,
}

#[derive(Debug, Clone)]
pub(crate) struct Host {
    pub(crate) name: String,
    pub(crate) clock: HostClock,
}

/// How the offsets between the clocks of hosts are measured: in bursts of exchanges between the
/// lowest rank of the run and the lowest rank on each other host.
///
/// They take no time of the program: the cost of a recorder's own messages is not part of a
/// scenario.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchanges {
    /// Exchanges in each burst.
    pub(crate) n: u64,
    /// Shortest time of a message, in both directions.
    pub(crate) one_way_ns: u64,
    /// Whether a message takes the time of the network between the two hosts instead.
    pub(crate) is_over_network: bool,
    /// Additional time of messages from the reference.
    pub(crate) asymmetry_ns: u64,
    /// Mean of an exponential additional time of each message.
    pub(crate) jitter_ns: u64,
    /// Time between bursts; `None`: only one at the start and one at the end.
    pub(crate) every_ns: Option<u64>,
    /// Whether there is one at the end, which a killed run does not have.
    pub(crate) at_end: bool,
}

/// One step of the program.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Line in the file.
    pub(crate) line: usize,
    pub(crate) repeat: u64,
    pub(crate) action: Action,
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Block(Vec<Step>),
    Call(Box<Call>),
}

/// A step in which the members of a communicator work, and then call an operation on it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Number of the step in the file, from 0.
    pub(crate) id: usize,
    pub(crate) on: String,
    /// `None`: work only.
    pub(crate) operation: Option<Operation>,
    pub(crate) bytes: Bytes,
    pub(crate) root: Root,
    /// On an intercommunicator: number of the group that has the root.
    pub(crate) root_group: usize,
    pub(crate) makes: Option<String>,
    pub(crate) split: Split,
    pub(crate) internal: bool,
    /// From where it is called: an index in [`Scenario::call_sites`].
    pub(crate) called_at: Option<u32>,
    pub(crate) kind: StepKind,
    pub(crate) grid: Grid,
    pub(crate) work: Vec<Delay>,
    pub(crate) latency: Latency,
    /// Messages that replace the latency.
    pub(crate) model: Option<MessageModel>,
    /// The spanning tree of our own that replaces it: an index in [`Scenario::trees`].
    pub(crate) over: Option<usize>,
}

/// A place in the program.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CalledAt {
    /// Path of the executable or library.
    pub(crate) module: String,
    /// The address in it to which the call returns.
    pub(crate) address: u64,
}

/// What a step does after the work.
#[derive(Debug, Clone)]
pub(crate) enum StepKind {
    /// The operation is called, if there is one.
    Call,
    /// A nonblocking or persistent operation is initiated.
    Begin(Begin),
    /// Outstanding operations are completed.
    Complete(CompleteStep),
    /// A phase of this level begins.
    Phase(i32),
}

/// How an operation is initiated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begin {
    /// Length of the initiating call.
    pub(crate) begin_ns: u64,
}

/// How all outstanding operations of a rank are completed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompleteStep {
    pub(crate) by: CompletingCall,
    pub(crate) thread: u32,
    /// Shortest duration of a completing call.
    pub(crate) complete_ns: u64,
    /// Number of unsuccessful tests before each.
    pub(crate) n_tests: u32,
    pub(crate) test_ns: u64,
}

/// The grid of `MPI_Cart_create`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grid {
    /// One dimension by default.
    pub(crate) dims: Option<Vec<usize>>,
    #[serde(default)]
    pub(crate) periodic: bool,
}

/// Payload per rank.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "bytes is neither a number of bytes nor a list with one for each world rank"
)]
pub(crate) enum Bytes {
    Same(u64),
    PerRank(Vec<u64>),
}

impl Bytes {
    pub(crate) fn of(&self, world_rank: u32) -> u64 {
        match self {
            Self::Same(bytes) => *bytes,
            Self::PerRank(list) => list[world_rank as usize],
        }
    }
}

/// Rank of the root in the communicator (in the root's group).
#[derive(Debug, Clone, Copy)]
pub(crate) enum Root {
    Fixed(u32),
    /// The number of the instance modulo the size.
    Rotating,
}

/// How a constructor divides the members of a communicator.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Split {
    /// This number of contiguous parts.
    parts: Option<u32>,
    /// The colour is the rank modulo this number.
    every: Option<u32>,
    /// By host.
    #[serde(default)]
    hosts: bool,
    /// The colour of each rank of the parent; -1 for none.
    colours: Option<Vec<i64>>,
    /// Ranks in opposite order.
    #[serde(default)]
    reversed: bool,
}

impl Split {
    /// The new groups, each as world ranks in the order of the new communicator.
    pub(crate) fn groups(&self, parent: &[u32], host_of: &[usize]) -> Vec<Vec<u32>> {
        let n = parent.len() as u64;
        let mut by_colour: BTreeMap<i64, Vec<u32>> = BTreeMap::new();
        for (i, &rank) in parent.iter().enumerate() {
            let i = i as u64;
            let colour = if let Some(parts) = self.parts {
                (i * u64::from(parts) / n) as i64
            } else if let Some(every) = self.every {
                (i % u64::from(every)) as i64
            } else if self.hosts {
                host_of[rank as usize] as i64
            } else if let Some(colours) = &self.colours {
                colours.get(i as usize).copied().unwrap_or(-1)
            } else {
                0
            };
            if colour >= 0 {
                by_colour.entry(colour).or_default().push(rank);
            }
        }
        let mut groups: Vec<Vec<u32>> = by_colour.into_values().collect();
        if self.reversed {
            for group in &mut groups {
                group.reverse();
            }
        }
        groups
    }
}

/// Time from the release of a rank to its leave.
#[derive(Debug, Clone)]
pub(crate) struct Latency {
    pub(crate) base_ns: u64,
    /// Additional time per rank before it in the communicator that is released too.
    pub(crate) departure_ns: u64,
    /// Additional time if the rank that releases it is on another host.
    pub(crate) across_hosts_ns: u64,
    pub(crate) jitter: Option<Delay>,
}

/// A fault of a rank or of its file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    /// SIGKILL after this number of calls, inside the next one or before it.
    Killed {
        after_calls: u64,
        in_flight: bool,
    },
    /// The process ends without MPI_Finalize.
    NoFinalize,
    /// The file is truncated at this byte.
    CutAtByte(u64),
    /// The file is truncated at this share of its length.
    CutAtFraction(f64),
    /// The header of this chunk of records, counted from 0, is damaged.
    DamagedChunk(u64),
    /// There is no file.
    Missing,
    /// Recording stops after this number of calls.
    SizeReached {
        after_calls: u64,
    },
}

impl Scenario {
    pub(crate) fn n_ranks(&self) -> usize {
        self.host_of.len()
    }

    /// Number of chunks of a rank's ring, if it has one.
    pub(crate) fn keep_chunks(&self, rank: usize) -> Option<usize> {
        let n = self.keep_chunks.len();
        (n > 0).then(|| self.keep_chunks[rank % n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_divide_as_they_say() {
        let parent = [0, 1, 2, 3, 4];
        let groups = |split: &str| {
            let split: Split = toml::from_str(split).unwrap();
            split.groups(&parent, &[0, 1, 0, 1, 0])
        };
        assert_eq!(groups("parts = 2"), [vec![0, 1, 2], vec![3, 4]]);
        assert_eq!(groups("every = 2"), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(groups("hosts = true"), [vec![0, 2, 4], vec![1, 3]]);
        assert_eq!(groups("colours = [7, -1, 2]"), [vec![2], vec![0]]);
        assert_eq!(groups("reversed = true"), [vec![4, 3, 2, 1, 0]]);
    }
}
