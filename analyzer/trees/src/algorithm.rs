//! The names of algorithms of collectives.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A spanning tree with a name. Ranks are relative to the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Tree {
    /// All ranks are children of the root.
    Linear,
    /// Each rank has the next one as its only child.
    Pipeline,
    /// The children of rank v are at distances 2^t, in either order of the distances.
    Binomial,
    /// Two children per node.
    Binary,
    /// A binomial tree with digits of this base instead of 2; 0: base not known.
    Knomial(u32),
    /// This number of chains that begin at the root; 0: not known.
    Chain(u32),
    /// This number of children per node; 0: not known.
    Kary(u32),
    /// Two children per node, in the order of the ranks, with the last rank as its root.
    InOrderBinary,
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Linear => f.write_str("linear"),
            Self::Pipeline => f.write_str("pipeline"),
            Self::Binomial => f.write_str("binomial"),
            Self::Binary => f.write_str("binary"),
            Self::Knomial(0) => f.write_str("k-nomial"),
            Self::Chain(0) => f.write_str("chain"),
            Self::Knomial(k) => write!(f, "k-nomial({k})"),
            Self::Chain(k) => write!(f, "chain({k})"),
            Self::Kary(k) => write!(f, "k-ary({k})"),
            Self::InOrderBinary => f.write_str("in-order binary"),
        }
    }
}

/// How data flow to a root, or from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Rooted {
    /// Along a tree.
    Tree(Tree),
    /// Each half of the data along one half of a binary tree, then exchanged between the halves.
    SplitBinary,
    /// Scattered along a binomial tree, then gathered everywhere by recursive doubling.
    ScatterRecursiveDoubling,
    /// Scattered along a binomial tree, then gathered everywhere around a ring.
    ScatterRing,
    /// Reduced by recursive halving, then gathered.
    Rabenseifner,
    /// Directly to the root, each process when the root asks for it.
    LinearSynchronized,
    /// The root sends to rank 0, and the data flow along a tree from there.
    ByWayOfFirst(Tree),
    /// Along a tree without a name.
    UnnamedTree,
    /// Along a tree of this number of processes; the others take no part.
    TreeOfSome(u32),
}

impl fmt::Display for Rooted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tree(tree) => tree.fmt(f),
            Self::SplitBinary => f.write_str("split binary"),
            Self::ScatterRecursiveDoubling => {
                f.write_str("scatter + allgather (recursive doubling)")
            }
            Self::ScatterRing => f.write_str("scatter + allgather (ring)"),
            Self::Rabenseifner => f.write_str("Rabenseifner"),
            Self::LinearSynchronized => f.write_str("linear with synchronization"),
            Self::ByWayOfFirst(tree) => write!(f, "{tree}, by way of rank 0"),
            Self::UnnamedTree => f.write_str("unrecognized tree"),
            Self::TreeOfSome(n) => write!(f, "tree of {n} of the processes"),
        }
    }
}

/// Pattern of messages among processes regardless of their hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Pattern {
    /// To a root, or from it, as the operation requires.
    Rooted(Rooted),
    /// To a root, then from it.
    ToAndFrom(Rooted, Rooted),
    /// To a root; nothing flows from it.
    To(Rooted),
    /// From a root; nothing flows to it.
    From(Rooted),
    /// Each with each, all at once.
    Linear,
    /// Each with each, a few at a time.
    LinearSynchronized,
    /// Each with each, with one partner per step.
    Pairwise,
    /// Two processes exchange what they have.
    TwoProcesses,
    /// With the rank at distance 1, 2, 4 ... (ranks that differ in one bit), all data each time.
    RecursiveDoubling,
    /// With the ranks that differ in one bit, half as much data each time.
    RecursiveHalving,
    /// Recursive halving in the reverse order of the distances.
    Butterfly,
    /// Recursive halving, then recursive doubling.
    Rabenseifner,
    /// To the rank 1, 2, 4 ... further, modulo the number of ranks.
    Bruck,
    /// To the rank 1, 2, 4 ... further, without data.
    Dissemination,
    /// Dissemination, then from a root, which has heard from all.
    DisseminationAndFrom(Rooted),
    /// Recursive doubling, then from a root.
    RecursiveDoublingAndFrom(Rooted),
    /// To the next rank, in n - 1 steps.
    Ring,
    /// A ring in segments.
    SegmentedRing,
    /// To the next rank, twice around.
    DoubleRing,
    /// To the rank n/2 further, then n/4 and so on, one message per part.
    Sparbit,
    /// With the left and the right neighbour alternately.
    NeighborExchange,
    /// From each rank to the next; not around.
    Chain,
    /// Directly with the neighbours of the topology.
    Neighbours,
    /// Several patterns in different parts.
    Different,
    /// None of these patterns, and no tree.
    Unrecognized,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rooted(rooted) => rooted.fmt(f),
            Self::ToAndFrom(to, from) if to == from => write!(f, "{to}, to the root and back"),
            Self::ToAndFrom(to, from) => write!(f, "{to} to the root, {from} back"),
            Self::To(to) => write!(f, "{to} to the root, nothing back"),
            Self::From(from) => write!(f, "{from} from the root, nothing to it"),
            Self::Linear => f.write_str("linear"),
            Self::LinearSynchronized => f.write_str("linear with synchronization"),
            Self::Pairwise => f.write_str("pairwise"),
            Self::TwoProcesses => f.write_str("two-process exchange"),
            Self::RecursiveDoubling => f.write_str("recursive doubling"),
            Self::RecursiveHalving => f.write_str("recursive halving"),
            Self::Butterfly => f.write_str("butterfly"),
            Self::Rabenseifner => f.write_str("Rabenseifner"),
            Self::Bruck => f.write_str("Bruck"),
            Self::Dissemination => f.write_str("Bruck (dissemination)"),
            Self::DisseminationAndFrom(from) => {
                write!(f, "{}, then {from} from the root", Self::Dissemination)
            }
            Self::RecursiveDoublingAndFrom(from) => {
                write!(f, "{}, then {from} from the root", Self::RecursiveDoubling)
            }
            Self::Ring => f.write_str("ring"),
            Self::SegmentedRing => f.write_str("segmented ring"),
            Self::DoubleRing => f.write_str("double ring"),
            Self::Sparbit => f.write_str("sparbit"),
            Self::NeighborExchange => f.write_str("neighbor exchange"),
            Self::Chain => f.write_str("chain from rank to rank"),
            Self::Neighbours => f.write_str("direct exchange with the neighbors"),
            Self::Different => f.write_str("different algorithms"),
            Self::Unrecognized => f.write_str("graph that is no tree"),
        }
    }
}

/// An algorithm in two levels: within each host, and between one process per host, the leaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TwoLevels {
    /// Number of hosts.
    pub n_leaders: u32,
    /// Pattern between the leaders.
    pub between: Pattern,
    /// Pattern within hosts.
    pub within: Within,
}

/// Pattern within hosts, the same in all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Within {
    /// From the leaders, or to them.
    OneWay(Pattern),
    /// From the leaders, or to them; the root is no leader, and its leader forwards for it.
    OneWayPassedOn(Pattern),
    /// To the leaders before they communicate, and from them afterwards.
    ToAndFrom(Pattern, Pattern),
}

impl fmt::Display for TwoLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.between {
            Pattern::ToAndFrom(to, from) if to == from => {
                write!(f, "two levels: {to} to one and back")?;
            }
            Pattern::ToAndFrom(to, from) => write!(f, "two levels: {to} to one, {from} back")?,
            between => write!(f, "two levels: {between}")?,
        }
        write!(f, " among {} host leaders, ", self.n_leaders)?;
        match self.within {
            Within::OneWay(within) => write!(f, "{within} within hosts"),
            Within::OneWayPassedOn(within) => {
                write!(f, "{within} within hosts, by way of the root's leader")
            }
            Within::ToAndFrom(to, from) if to == from => {
                write!(f, "{to} within hosts to the leader and back")
            }
            Within::ToAndFrom(to, from) => {
                write!(f, "{to} within hosts to the leader, {from} back")
            }
        }
    }
}

/// How a collective was done, from its messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Algorithm {
    /// All processes alike, regardless of their hosts.
    Flat(Pattern),
    /// In two levels, by host.
    TwoLevels(TwoLevels),
    /// On an intercommunicator: within each group to its leader, between the leaders, and back.
    TwoGroups {
        /// Between the leaders.
        between: Pattern,
        /// To the leaders.
        to: Pattern,
        /// From the leaders.
        from: Pattern,
    },
    /// On an intercommunicator where only one group sends: within it to its leader, between the
    /// leaders, and from the leader of the other group within that.
    FromOneGroup {
        /// Between the leaders.
        between: Pattern,
        /// To the leader of the sending group; `None` if it is alone there.
        to: Option<Pattern>,
        /// From the leader of the receiving group; `None` if it is alone there.
        from: Option<Pattern>,
    },
    /// On an intercommunicator: from all ranks to the leader of the other group, then as given.
    ToOtherLeader(ThenFromLeader),
}

/// What the leaders of two groups do with the data from the other group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ThenFromLeader {
    /// Nothing that needs messages.
    Nothing,
    /// Each leader answers those that sent to it.
    Back,
    /// Each leader forwards the data within its own group.
    Within(Pattern),
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flat(pattern) => pattern.fmt(f),
            Self::TwoLevels(levels) => levels.fmt(f),
            Self::ToOtherLeader(then) => {
                f.write_str("two groups: linear to the leader of the other one")?;
                match then {
                    ThenFromLeader::Nothing => Ok(()),
                    ThenFromLeader::Back => f.write_str(" and back"),
                    ThenFromLeader::Within(within) => write!(f, ", {within} from it within"),
                }
            }
            Self::FromOneGroup { between, to, from } => {
                f.write_str("two groups, of which one gives: ")?;
                if let Some(to) = to {
                    write!(f, "{to} within it to the leader, ")?;
                }
                write!(f, "{between} between the leaders")?;
                match from {
                    Some(from) => write!(f, ", {from} from the leader within the other"),
                    None => Ok(()),
                }
            }
            Self::TwoGroups { between, to, from } => {
                write!(f, "two groups: {between} between their leaders, ")?;
                if to == from {
                    write!(f, "{to} within them to the leader and back")
                } else {
                    write!(f, "{to} within them to the leader, {from} back")
                }
            }
        }
    }
}
