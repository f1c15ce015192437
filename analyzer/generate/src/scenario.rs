//! A scenario file, checked, as what the simulation works on.

use std::collections::BTreeMap;

use collbench_formats::{CompletingCall, Operation};
use serde::Deserialize;

use super::clock::HostClock;
use super::delay::Delay;
use super::messages::{MessageModel, Network};
use super::summary::TruthDetail;

mod check;
mod written;

/// What is wrong with a scenario, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {found}; expected {expected}")]
pub struct ScenarioError {
    /// Line of the file, from 1.
    pub line: usize,
    /// What stands there.
    pub found: String,
    /// What should.
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
    /// Files are rings of so many chunks, by rank, and again from the first one; empty: they are
    /// not.
    pub(crate) keep_chunks: Vec<usize>,
    pub(crate) truth: TruthDetail,
    pub(crate) init_ns: u64,
    pub(crate) finalize_ns: u64,
    pub(crate) hosts: Vec<Host>,
    /// `None`: nobody measures offsets.
    pub(crate) exchanges: Option<Exchanges>,
    /// By world rank: index in `hosts`.
    pub(crate) host_of: Vec<usize>,
    pub(crate) threads: BTreeMap<String, u32>,
    /// Whether any rank has several.
    pub(crate) has_threads: bool,
    pub(crate) network: Network,
    /// Whether any collective is seen inside.
    pub(crate) has_messages: bool,
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
/// They take the program no time: what a recorder's own messages cost is not what a scenario is
/// about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchanges {
    /// In each burst.
    pub(crate) n: u64,
    /// Least time of a message, either way.
    pub(crate) one_way_ns: u64,
    /// The way from the reference takes so much longer.
    pub(crate) asymmetry_ns: u64,
    /// Mean of an exponential that each message takes longer.
    pub(crate) jitter_ns: u64,
    /// From one burst to the next; `None`: one at the start and one at the end.
    pub(crate) every_ns: Option<u64>,
    /// Whether there is one at the end, which a run that is killed has not.
    pub(crate) at_end: bool,
}

/// One line of the program.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    /// Where it stands in the file.
    pub(crate) line: usize,
    pub(crate) repeat: u64,
    pub(crate) action: Action,
}

#[derive(Debug, Clone)]
pub(crate) enum Action {
    Block(Vec<Step>),
    Call(Box<Call>),
}

/// A step in which the members of a communicator work, then call an operation on it.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Number of the step in the file, from 0.
    pub(crate) id: usize,
    pub(crate) on: String,
    /// `None`: work only.
    pub(crate) operation: Option<Operation>,
    pub(crate) bytes: Bytes,
    pub(crate) root: Root,
    /// On an intercommunicator: which of its two groups has the root.
    pub(crate) root_group: usize,
    pub(crate) makes: Option<String>,
    pub(crate) split: Split,
    pub(crate) internal: bool,
    pub(crate) kind: StepKind,
    pub(crate) grid: Grid,
    pub(crate) work: Vec<Delay>,
    pub(crate) latency: Latency,
    /// Its messages take the place of the latency.
    pub(crate) model: Option<MessageModel>,
}

/// What is done when the work is done.
#[derive(Debug, Clone)]
pub(crate) enum StepKind {
    /// The operation is called, if there is one.
    Call,
    /// A nonblocking or persistent operation is begun.
    Begin(Begin),
    /// What was begun is completed.
    Complete(CompleteStep),
    /// A phase of this level begins.
    Phase(i32),
}

/// How an operation is begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Begin {
    /// Length of the initiating call.
    pub(crate) begin_ns: u64,
}

/// How everything is completed that a rank has begun.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompleteStep {
    pub(crate) by: CompletingCall,
    pub(crate) thread: u32,
    /// The least length of a completing call.
    pub(crate) complete_ns: u64,
    /// Tests in vain before each.
    pub(crate) n_tests: u32,
    pub(crate) test_ns: u64,
}

/// The grid of `MPI_Cart_create`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grid {
    /// By default one dimension.
    pub(crate) dims: Option<Vec<usize>>,
    #[serde(default)]
    pub(crate) periodic: bool,
}

/// Payload of one rank.
#[derive(Debug, Clone, Deserialize)]
#[serde(
    untagged,
    expecting = "a number of bytes, or a list with one for each world rank"
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
    /// The number of the instance, modulo the size.
    Rotating,
}

/// How the members of a communicator are divided over those that a constructor makes.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Split {
    /// This many contiguous parts.
    parts: Option<u32>,
    /// Every so-manyth together: the colour is the rank modulo this.
    every: Option<u32>,
    /// By host.
    #[serde(default)]
    hosts: bool,
    /// The colour of each rank of the parent; -1 for none.
    colours: Option<Vec<i64>>,
    /// The last becomes the first.
    #[serde(default)]
    reversed: bool,
}

impl Split {
    /// The new groups, each a list of world ranks in the order of the new communicator.
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

/// From the release of a rank to its leave.
#[derive(Debug, Clone)]
pub(crate) struct Latency {
    pub(crate) base_ns: u64,
    /// More for each rank before it in the communicator that is released too.
    pub(crate) departure_ns: u64,
    /// More where who releases it is on another host.
    pub(crate) across_hosts_ns: u64,
    pub(crate) jitter: Option<Delay>,
}

/// What goes wrong with a rank or its file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Fault {
    None,
    /// SIGKILL after this many calls, inside the next one or before it.
    Killed {
        after_calls: u64,
        in_flight: bool,
    },
    /// The process ends without MPI_Finalize.
    NoFinalize,
    /// The file is cut at this byte.
    CutAtByte(u64),
    /// The file is cut at this part of its length.
    CutAtFraction(f64),
    /// The header of this chunk of records, counted from 0, is damaged.
    DamagedChunk(u64),
    /// There is no file.
    Missing,
    /// Recording stops after this many calls.
    SizeReached {
        after_calls: u64,
    },
}

impl Scenario {
    pub(crate) fn n_ranks(&self) -> usize {
        self.host_of.len()
    }

    /// Of how many chunks the ring of a rank is, if it has one.
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
