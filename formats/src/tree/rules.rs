//! The description of trees: rules that make a tree of the processes of any communicator.

use std::ops::Range;

use bincode::{Decode, Encode};

use super::calls::Calls;
use super::wrapper::{Collectors, Contributor, Level, WrapperKind};

/// What a tree file says, checked as far as it can be without a communicator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct TreeRules {
    /// Sites and switches that the file makes of hosts.
    pub groups: Vec<HostGroup>,
    /// Hosts whose cores the file describes.
    pub hosts: Vec<DescribedHost>,
    /// The first one that fits a call is used.
    pub rules: Vec<Rule>,
    /// How processes wait for one another; `None`: as there are cores for them.
    pub wait: Option<Waiting>,
    /// Rules of which the best is found while the program runs.
    pub adaptations: Vec<Adaptation>,
    /// What is done about them.
    pub adapting: Adapting,
    /// Whether this is not a file of the user, but `best`.
    pub is_best: bool,
}

impl TreeRules {
    /// Index of the adaptation of which a rule is a candidate, and its position among these, from 0.
    #[must_use]
    pub fn candidate(&self, rule: usize) -> Option<(usize, usize)> {
        let of = |adaptation: &Adaptation| {
            let candidates = adaptation.candidates();
            candidates.contains(&rule).then(|| rule - candidates.start)
        };
        let adaptations = self.adaptations.iter().enumerate();
        adaptations
            .into_iter()
            .find_map(|(idx, adaptation)| Some((idx, of(adaptation)?)))
    }

    /// Keeps only rules for some calls. Candidates for the same calls are kept or removed together.
    pub fn retain(&mut self, keep: impl Fn(&Calls) -> bool) {
        let kept: Vec<bool> = self.rules.iter().map(|rule| keep(&rule.calls)).collect();
        self.adaptations
            .retain(|adaptation| kept.get(adaptation.first as usize) == Some(&true));
        for adaptation in &mut self.adaptations {
            let before = &kept[..adaptation.first as usize];
            adaptation.first = before.iter().filter(|is_kept| **is_kept).count() as u32;
        }
        let mut kept = kept.into_iter();
        self.rules.retain(|_| kept.next().unwrap_or(false));
    }

    /// What people call a rule: where it stands in the tree file, or in `best`, which `collbench-tree show best` shows.
    #[must_use]
    pub fn name(&self, rule: usize) -> String {
        let at = |line: u32| {
            if self.is_best {
                format!("the rule in line {line} of best")
            } else {
                format!("line {line} of the tree file")
            }
        };
        match self.candidate(rule) {
            Some((adaptation, nth)) => {
                let line = self.adaptations[adaptation].line;
                format!("candidate {} of {}", nth + 1, at(line))
            }
            None => at(self.rules[rule].line),
        }
    }
}

/// Rules in a row for the same calls, of which the best is found while the program runs.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Adaptation {
    /// Line of the file where it begins, from 1.
    pub line: u32,
    /// Index of the first of these rules, and how many there are.
    pub first: u32,
    /// As `first`.
    pub n_rules: u32,
    /// Whether the MPI library is a candidate, too.
    pub library: LibraryCandidate,
    /// The share of the time in the calls that trying may cost, in millionths.
    pub cost: u32,
    /// Whether results may depend on which one is used.
    pub results: Results,
}

impl Adaptation {
    /// Indices of its rules.
    #[must_use]
    pub fn candidates(&self) -> Range<usize> {
        let first = self.first as usize;
        first..first + self.n_rules as usize
    }
}

/// Whether the MPI library is one of several candidates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum LibraryCandidate {
    /// It is none.
    No,
    /// The calls begin with it.
    First,
    /// The last one.
    Last,
}

/// Whether results may depend on which candidate is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Results {
    /// Where values are rounded, only candidates are used that combine them in the same grouping as the first one.
    Same,
    /// All candidates are used.
    Any,
}

/// What is done about several candidates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct Adapting {
    /// Which of them are used.
    pub policy: Policy,
    /// The file to which decisions are written, absolute; `None`: they are not.
    pub log: Option<String>,
    /// What an earlier run has found, as lines of its log, one for each class of calls.
    pub learned: Vec<String>,
}

/// Which of several candidates are used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Encode, Decode)]
pub enum Policy {
    /// The best, once it is known.
    #[default]
    Best,
    /// The first one; others are tried, and decisions only written down.
    Log,
    /// The first one; no other is tried.
    Off,
    /// Others all the time, at random from this seed: a test.
    Random(u64),
}

/// What a process does while it waits for others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Waiting {
    /// It keeps its core.
    Spin,
    /// It offers its core to others.
    Yield,
    /// It sleeps for some microseconds at a time.
    Sleep,
}

impl Waiting {
    /// All ways to wait.
    pub const ALL: [Self; 3] = [Self::Spin, Self::Yield, Self::Sleep];

    /// Its name in tree files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spin => "spin",
            Self::Yield => "yield",
            Self::Sleep => "sleep",
        }
    }
}

/// Hosts that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HostGroup {
    /// [`Level::Switch`] or [`Level::Site`].
    pub level: Level,
    /// Its name.
    pub name: String,
    /// Names of its hosts; `*` stands for any characters.
    pub hosts: Vec<String>,
}

/// The cores of one or more hosts.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct DescribedHost {
    /// Names of the hosts; `*` stands for any characters.
    pub hosts: Vec<String>,
    /// Their processors.
    pub topology: HostTopology,
}

/// The processors of a host, ascending by number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Encode, Decode)]
pub struct HostTopology {
    /// One entry for each processor that programs can run on.
    pub cpus: Vec<Cpu>,
}

/// A processor as the operating system numbers them: a thread of a core. Cores, core complexes and
/// sockets are numbered from 0 within their host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct Cpu {
    /// Its number in affinity masks.
    pub number: u32,
    /// Its core.
    pub core: u32,
    /// Cores that share a last level of cache.
    pub core_complex: u32,
    /// Its processor package.
    pub socket: u32,
}

/// Which calls have a tree, and which.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Rule {
    /// Line of the file where it begins, from 1.
    pub line: u32,
    /// The calls that it is for.
    pub calls: Calls,
    /// The tree.
    pub form: Form,
    /// Event collectors by kind of wrapper.
    pub collectors: CollectorsOfKinds,
}

impl Rule {
    /// Whether both make the same trees for the same calls, wherever they are in a file and whatever is recorded of them.
    #[must_use]
    pub fn makes_same_trees_as(&self, other: &Self) -> bool {
        let tree_of = |rule: &Self| {
            let mut form = rule.form.clone();
            if let Form::Nodes(nodes) = &mut form {
                for node in nodes {
                    (node.line, node.collectors, node.proxy_collectors) = (0, None, None);
                }
            }
            form
        };
        self.calls == other.calls && tree_of(self) == tree_of(other)
    }
}

/// Which event collectors are on, by kind of wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
#[allow(missing_docs, reason = "the fields are the kinds")]
pub struct CollectorsOfKinds {
    pub gred: Collectors,
    pub proxy: Collectors,
    pub core: Collectors,
    pub exchange: Collectors,
}

impl CollectorsOfKinds {
    /// The same for all kinds.
    #[must_use]
    pub const fn uniform(collectors: Collectors) -> Self {
        Self {
            gred: collectors,
            proxy: collectors,
            core: collectors,
            exchange: collectors,
        }
    }

    /// Those of a kind.
    #[must_use]
    pub const fn of(&self, kind: WrapperKind) -> Collectors {
        match kind {
            WrapperKind::Gred => self.gred,
            WrapperKind::Proxy => self.proxy,
            WrapperKind::Core => self.core,
            WrapperKind::Exchange => self.exchange,
        }
    }
}

/// How a tree is made of the processes of a communicator.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub enum Form {
    /// By shapes, for any number of processes.
    Shaped(Shaped),
    /// Node by node, for communicators with exactly as many processes as it names.
    Nodes(Vec<Node>),
}

/// A tree by shapes. Processes are divided into the places of the widest level that is named, these
/// into the places of the next narrower one that is named, and so on; the shape of a level joins
/// its places within one place of the level above.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Shaped {
    /// Levels with the shape that joins their places, from the narrowest to the widest, each level
    /// at most once. The first one is [`Level::Rank`].
    pub joins: Vec<(Level, Shape)>,
    /// The rank at the root for operations that have none of their own; `None`: rank 0, or the rank
    /// that the shape has at its root.
    pub root: Option<u32>,
    /// Names of hosts in the order in which shapes have them; empty: in the order of their first
    /// ranks. `*` stands for any characters.
    pub hosts: Vec<String>,
}

/// The shape of a tree of n places, numbered from 0 in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub enum Shape {
    /// All are children of the first one.
    Linear,
    /// The others are cut into this many chains, of which each hangs on the first one.
    Chain(u32),
    /// The children of v are k v + 1 to k v + k.
    Kary(u32),
    /// The parent of v is v with its lowest digit to base k that is not 0 set to 0.
    Knomial(u32),
    /// A k-nomial tree with k = 2.
    Binomial,
    /// A binary tree whose root is the last place and whose subtrees are the two halves of the
    /// rest, each made alike.
    InOrderBinary,
    /// No tree: all are partners of an exchange. Where it is not at the bottom of the tree, linear.
    Exchange,
}

/// A join that is spelled out. Proxies follow from the hosts of its contributors and its owner, and
/// the core from the root; only these are not nodes.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Node {
    /// Its name in the file.
    pub name: String,
    /// Line of the file where it begins, from 1.
    pub line: u32,
    /// [`WrapperKind::Gred`] or [`WrapperKind::Exchange`].
    pub kind: WrapperKind,
    /// The rank that acts for it; of an exchange, which has no owner of its own, that of its first
    /// partner.
    pub owner: u32,
    /// What it joins, in the order in which values are combined: ranks, and indexes of nodes in
    /// place of those of wrappers. Nodes come before those they contribute to.
    pub contributors: Vec<Contributor>,
    /// Its event collectors; `None`: those of its kind.
    pub collectors: Option<Collectors>,
    /// Event collectors of the proxy that takes its data to another host; `None`: those of proxies.
    pub proxy_collectors: Option<Collectors>,
}
