//! The names of the algorithms by which collectives are done.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A spanning tree that is known by name. Ranks are relative to the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Tree {
    /// All are children of the root.
    Linear,
    /// Each has the next one as its child.
    Pipeline,
    /// The child of rank v at distance 2^t, in either order of the distances.
    Binomial,
    /// Two children each.
    Binary,
    /// Likewise with the digits of another base; 0: not known.
    Knomial(u32),
    /// So many chains that begin at the root; 0: not known.
    Chain(u32),
    /// So many children each.
    Kary(u32),
    /// Two children each, in the order of the ranks, with the last rank as its root.
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

/// How data goes to a root, or from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Rooted {
    /// Along a tree.
    Tree(Tree),
    /// Each half along one half of a binary tree, then exchanged between the halves.
    SplitBinary,
    /// Scattered along a binomial tree, then gathered everywhere by recursive doubling.
    ScatterRecursiveDoubling,
    /// Scattered along a binomial tree, then gathered everywhere around a ring.
    ScatterRing,
    /// Reduced by recursive halving, then gathered.
    Rabenseifner,
    /// To the root directly, each process when the root says so.
    LinearSynchronized,
    /// Along a tree from rank 0, which the root tells first.
    ByWayOfFirst(Tree),
    /// Along a tree of no name.
    UnnamedTree,
    /// Along a tree of so many of the processes, without the others.
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

/// How messages went among processes that are all alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Pattern {
    /// To a root, or from it.
    Rooted(Rooted),
    /// To a root, then from it.
    ToAndFrom(Rooted, Rooted),
    /// To a root that nobody gets anything from.
    To(Rooted),
    /// From a root that nobody gives anything to.
    From(Rooted),
    /// Everybody with everybody, all at once.
    Linear,
    /// Everybody with everybody, a few at a time.
    LinearSynchronized,
    /// Everybody with everybody, with one process in each step.
    Pairwise,
    /// Two processes exchange what they have.
    TwoProcesses,
    /// With the process at distance 1, 2, 4 ... (by the bits of the rank), all data each time.
    RecursiveDoubling,
    /// Likewise, half as much data each time.
    RecursiveHalving,
    /// Likewise, in the reverse order of the distances.
    Butterfly,
    /// Recursive halving, then recursive doubling.
    Rabenseifner,
    /// To the process 1, 2, 4 ... further, around the end.
    Bruck,
    /// Likewise, without data.
    Dissemination,
    /// Dissemination, then from a root, which has heard of all.
    DisseminationAndFrom(Rooted),
    /// Recursive doubling, then from a root.
    RecursiveDoublingAndFrom(Rooted),
    /// To the next one, as often as it takes.
    Ring,
    /// Likewise in segments.
    SegmentedRing,
    /// To the next one, twice around.
    DoubleRing,
    /// To the process half of all further, then a quarter and so on, a message for each part.
    Sparbit,
    /// With the left and the right neighbour in turn.
    NeighborExchange,
    /// From each rank to the next.
    Chain,
    /// With the neighbours of the topology directly.
    Neighbours,
    /// Several of these side by side.
    Different,
    /// None of these, and no tree.
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
            Self::Neighbours => f.write_str("direct exchange with the neighbours"),
            Self::Different => f.write_str("different algorithms"),
            Self::Unrecognized => f.write_str("graph that is no tree"),
        }
    }
}

/// In two levels: within each host, and between one process of each, the hosts' leaders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TwoLevels {
    /// Hosts.
    pub n_leaders: u32,
    /// Among the leaders.
    pub between: Pattern,
    /// Within hosts.
    pub within: Within,
}

/// What goes on within hosts, in all of them alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Within {
    /// From the leaders, or to them.
    OneWay(Pattern),
    /// Likewise; the root is no leader, and has that of its host pass everything on.
    OneWayPassedOn(Pattern),
    /// To the leaders, and from them behind what the leaders do.
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

/// How a collective was done, as its messages tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Algorithm {
    /// All processes alike, wherever they are.
    Flat(Pattern),
    /// By hosts.
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
    /// On an intercommunicator, of one group of which nothing comes: within the other group to its leader,
    /// between the leaders, and from the leader within the first.
    FromOneGroup {
        /// Between the leaders.
        between: Pattern,
        /// To the leader of the group that gives; `None` if it is alone there.
        to: Option<Pattern>,
        /// From the leader of the group that gets; `None` if it is alone there.
        from: Option<Pattern>,
    },
    /// On an intercommunicator: from everybody to the leader of the other group, and then so.
    ToOtherLeader(ThenFromLeader),
}

/// What the leaders of two groups do with what they have got from the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ThenFromLeader {
    /// Nothing that others see.
    Nothing,
    /// Each answers those it has got it from.
    Back,
    /// Each hands it on within its own group.
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
