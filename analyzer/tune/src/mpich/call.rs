//! A call as the tests of a file see it.

use std::collections::BTreeMap;

use super::measures::{Collective, Total, collective};
use super::test::Hierarchy;

/// A call of a collective. What is not known makes a question of each test that asks for it.
#[derive(Debug, Clone)]
pub struct Call {
    pub(super) collective: &'static Collective,
    /// Payload of one process, bytes; of `alltoall`, for one other process.
    pub bytes: u64,
    /// Payloads of all processes, bytes, where they may differ; else `bytes` times processes.
    pub bytes_of_all: Option<u64>,
    /// Elements of `bytes`.
    pub count: Option<u64>,
    /// Elements of all processes, where they may differ; else `count` times processes.
    pub count_of_all: Option<u64>,
    /// The rank that sends to all or receives from all; 0 for others.
    pub root: u32,
    /// The reduction may be reordered.
    pub commutative: Option<bool>,
    /// The reduction is one of MPI's own.
    pub built_in: Option<bool>,
    /// The send buffer is `MPI_IN_PLACE`.
    pub in_place: Option<bool>,
    /// All processes have the same count.
    pub regular: Option<bool>,
    /// MPI was initialized for several threads that call it.
    pub threaded: Option<bool>,
}

impl Call {
    /// A call of `name`, such as `bcast` or `ireduce_scatter_block`, of which only its payload is
    /// known; `None` if MPICH chooses no algorithm for it.
    #[must_use]
    pub fn new(name: &str, bytes: u64) -> Option<Self> {
        Some(Self {
            collective: collective(name)?,
            bytes,
            bytes_of_all: None,
            count: None,
            count_of_all: None,
            root: 0,
            commutative: None,
            built_in: None,
            in_place: None,
            regular: None,
            threaded: None,
        })
    }

    /// The collective, as files call it.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.collective.name
    }

    /// A call of another collective with the same data.
    pub(super) fn of(&self, collective: &'static Collective) -> Self {
        Self {
            collective,
            ..self.clone()
        }
    }

    /// What `avg_msg_size` is compared with.
    pub(super) fn average(&self) -> i128 {
        i128::from(self.bytes)
    }

    /// What `count` is compared with, in a communicator of `size`; `None` if not known.
    pub(super) fn elements(&self, size: u32) -> Option<i128> {
        let of_one = self.count.map(i128::from);
        match self.collective.total {
            Total::Sum => self
                .count_of_all
                .map(i128::from)
                .or_else(|| Some(of_one? * i128::from(size))),
            _ => of_one,
        }
    }

    /// What `total_msg_size` is compared with, in a communicator of `size`; `None` if not known.
    pub(super) fn total(&self, size: u32) -> Option<i128> {
        let size = i128::from(size);
        match self.collective.total {
            Total::None => None,
            Total::TimesProcesses => Some(i128::from(self.bytes) * size),
            Total::Sum => Some(
                self.bytes_of_all
                    .map_or(i128::from(self.bytes) * size, i128::from),
            ),
            Total::Elements => self.count.map(|count| i128::from(count) * size),
        }
    }
}

/// The hosts of the processes of a communicator.
#[derive(Debug, Clone)]
pub struct Layout {
    /// Index of the host of each rank.
    hosts: Vec<u32>,
    /// Ranks of each host, in order.
    ranks: BTreeMap<u32, Vec<u32>>,
}

impl Layout {
    /// `hosts[r]` tells the hosts of ranks apart; at least one rank.
    #[must_use]
    pub fn new(hosts: Vec<u32>) -> Self {
        let mut ranks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (rank, host) in (0..).zip(&hosts) {
            ranks.entry(*host).or_default().push(rank);
        }
        Self { hosts, ranks }
    }

    /// Consecutive ranks on each host.
    #[must_use]
    pub fn consecutive(per_host: &[u32]) -> Self {
        let hosts = (0..)
            .zip(per_host)
            .flat_map(|(host, n)| std::iter::repeat_n(host, *n as usize));
        Self::new(hosts.collect())
    }

    /// Number of processes.
    #[must_use]
    pub fn size(&self) -> u32 {
        u32::try_from(self.hosts.len()).unwrap_or(u32::MAX)
    }

    /// Number of hosts.
    pub(super) fn n_hosts(&self) -> u32 {
        u32::try_from(self.ranks.len()).unwrap_or(u32::MAX)
    }

    /// Ranks on the host of `rank`, `rank` among them.
    pub(super) fn beside(&self, rank: u32) -> &[u32] {
        self.hosts
            .get(rank as usize)
            .and_then(|host| self.ranks.get(host))
            .map_or(&[], Vec::as_slice)
    }

    /// Whether there is a communicator per host: `MPIR_Comm_create_subcomms`.
    pub(super) fn has_hierarchy(&self) -> bool {
        self.n_hosts() < self.size()
    }

    /// `MPII_Comm_is_node_consecutive`: of communicators with a hierarchy only.
    pub(super) fn is_consecutive(&self) -> bool {
        let adjacent = |ranks: &Vec<u32>| ranks.windows(2).all(|pair| pair[1] == pair[0] + 1);
        self.has_hierarchy() && self.ranks.values().all(adjacent)
    }

    /// The communicator itself.
    pub(super) fn whole(&self) -> Communicator {
        Communicator {
            size: self.size(),
            n_hosts: self.n_hosts(),
            hierarchy: if self.has_hierarchy() {
                Hierarchy::Parent
            } else {
                Hierarchy::Flat
            },
            consecutive: self.is_consecutive(),
        }
    }
}

/// What the tests of a file see of a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Communicator {
    /// Number of processes.
    pub size: u32,
    /// Number of hosts.
    pub n_hosts: u32,
    /// What it is in the hierarchy of hosts.
    pub hierarchy: Hierarchy,
    /// Whether it has a hierarchy, and the ranks of each host follow each other.
    pub consecutive: bool,
}

impl Communicator {
    /// That of `size` processes on one host of another communicator.
    pub(super) fn node(size: u32) -> Self {
        Self {
            size,
            n_hosts: 1,
            hierarchy: Hierarchy::Node,
            consecutive: false,
        }
    }

    /// That of the first processes of `size` hosts.
    pub(super) fn node_roots(size: u32) -> Self {
        Self {
            size,
            n_hosts: size,
            hierarchy: Hierarchy::NodeRoots,
            consecutive: false,
        }
    }

    pub(super) fn is_parent(self) -> bool {
        self.hierarchy == Hierarchy::Parent
    }

    /// The largest power of two that is not more than its size.
    pub(super) fn power_of_two(self) -> u32 {
        1 << self.size.max(1).ilog2()
    }
}
