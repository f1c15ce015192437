//! One stage of the paths in a tree.

use bincode::{Decode, Encode};

/// What a wrapper does with the data of its contributors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum WrapperKind {
    /// Joins two or more contributors and combines what they bring. Contributors on the owner's
    /// host share memory with it; those of other hosts come through a proxy.
    Gred,
    /// Takes the data of one contributor to another host, where the owner of the parent receives
    /// them.
    Proxy,
    /// Holds the result at the root; it has one contributor. The bottommost wrapper, unless there
    /// is an exchange.
    Core,
    /// Joins two or more partners that give each other their partial results, so that each has the
    /// whole result at the end. The bottommost wrapper; what it needs crosses hosts without
    /// proxies.
    Exchange,
}

impl WrapperKind {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 4] = [Self::Gred, Self::Proxy, Self::Core, Self::Exchange];

    /// Its name in tree files and on the screen.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gred => "gred",
            Self::Proxy => "proxy",
            Self::Core => "core",
            Self::Exchange => "exchange",
        }
    }
}

/// What brings data to a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum Contributor {
    /// A process: its rank in the communicator.
    Rank(u32),
    /// Another wrapper: its index in [`Wrappers::all`](super::Wrappers::all).
    Wrapper(u32),
}

/// Places of the same kind, from the narrowest to the widest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Encode, Decode)]
pub enum Level {
    /// A process.
    Rank,
    /// Cores that share their last level of cache.
    CoreComplex,
    /// A processor with its own memory controller.
    Socket,
    /// A host: processes that share memory.
    Host,
    /// Hosts at one switch.
    Switch,
    /// Hosts that are near to one another, and far from all others.
    Site,
}

impl Level {
    /// All of them, from the narrowest to the widest.
    pub const ALL: [Self; 6] = [
        Self::Rank,
        Self::CoreComplex,
        Self::Socket,
        Self::Host,
        Self::Switch,
        Self::Site,
    ];

    /// What several of them are called in tree files and on the screen.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::Rank => "ranks",
            Self::CoreComplex => "core-complexes",
            Self::Socket => "sockets",
            Self::Host => "hosts",
            Self::Switch => "switches",
            Self::Site => "sites",
        }
    }
}

/// Which event collectors of a wrapper are on.
///
/// Between a wrapper and the next one on the path to the root there is one place for a collector:
/// after the first and before the second. See [`Wrappers::collects`](super::Wrappers::collects).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Collectors {
    /// One between each contributor and the wrapper.
    pub before: bool,
    /// One between the wrapper and its parent; it has no meaning for the bottommost wrapper.
    pub after: bool,
}

impl Collectors {
    /// Both.
    pub const ALL: Self = Self {
        before: true,
        after: true,
    };
    /// None.
    pub const NONE: Self = Self {
        before: false,
        after: false,
    };
}

/// One stage of the paths in a tree.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Wrapper {
    /// What it does.
    pub kind: WrapperKind,
    /// The rank that acts for it: it receives what comes from other hosts for a gred or a core, and
    /// what comes back from the parent's owner for a proxy. The owner of a proxy is that of its
    /// contributor. The owner of an exchange is that of its first partner, but all partners are
    /// equal; each acts by its own owner.
    pub owner: u32,
    /// What it joins, in the order in which values are combined. A gred and an exchange have at
    /// least two, a proxy and a core have one.
    pub contributors: Vec<Contributor>,
    /// Index of the next wrapper on the path to the root; `None` for the bottommost one.
    pub parent: Option<u32>,
    /// What it joins: the widest level at which two of its contributors, or one of them and the
    /// owner, are at different places. For a proxy: what it crosses.
    pub level: Level,
    /// Its event collectors.
    pub collectors: Collectors,
}

/// The rank that acts for a contributor.
pub(super) fn owner_of(wrappers: &[Wrapper], contributor: Contributor) -> u32 {
    match contributor {
        Contributor::Rank(rank) => rank,
        Contributor::Wrapper(idx) => wrappers[idx as usize].owner,
    }
}
