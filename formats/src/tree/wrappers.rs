//! A spanning tree of one communicator.

use bincode::de::{BorrowDecoder, Decoder};
use bincode::error::DecodeError;
use bincode::{BorrowDecode, Decode, Encode};

use super::check::{TreeError, check};

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
    /// Another wrapper: its index in [`Wrappers::all`].
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
/// after the first and before the second. See [`Wrappers::collects`].
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

/// The spanning tree of one communicator, for one root where the operation has one.
///
/// It is whole: each rank contributes exactly once, each wrapper but the last one contributes to
/// its parent, which comes after it, and the last one is a core or an exchange. What crosses hosts
/// has a proxy, except to an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Encode)]
pub struct Wrappers {
    /// The host of each rank, by any numbers.
    hosts: Vec<u32>,
    /// Contributors before their parents.
    wrappers: Vec<Wrapper>,
}

impl Wrappers {
    /// A tree of as many ranks as there are `hosts`: the host of each rank, by any numbers.
    ///
    /// # Errors
    /// [`TreeError`] if these wrappers are not one whole tree of all ranks.
    pub fn new(hosts: Vec<u32>, wrappers: Vec<Wrapper>) -> Result<Self, TreeError> {
        check(&hosts, &wrappers)?;
        Ok(Self { hosts, wrappers })
    }

    /// All wrappers, contributors before their parents; the bottommost one is the last.
    #[must_use]
    pub fn all(&self) -> &[Wrapper] {
        &self.wrappers
    }

    /// The wrapper of this index, with its index.
    fn at(&self, idx: u32) -> (u32, &Wrapper) {
        (idx, &self.wrappers[idx as usize])
    }

    /// The bottommost wrapper: a core or an exchange.
    #[must_use]
    pub fn bottommost(&self) -> &Wrapper {
        &self.wrappers[self.wrappers.len() - 1]
    }

    /// The host of each rank, by any numbers.
    #[must_use]
    pub fn hosts(&self) -> &[u32] {
        &self.hosts
    }

    /// Number of ranks, at least one.
    #[must_use]
    pub fn n_ranks(&self) -> u32 {
        self.hosts.len() as u32
    }

    /// The rank that acts for a contributor: the rank itself, or the owner of the wrapper.
    ///
    /// # Panics
    /// If there is no such wrapper.
    #[must_use]
    pub fn owner_of(&self, contributor: Contributor) -> u32 {
        owner_of(&self.wrappers, contributor)
    }

    /// The wrapper that each rank contributes to, by rank: its index in [`all`](Self::all).
    #[must_use]
    pub fn first_wrappers(&self) -> Vec<u32> {
        let mut first = vec![0; self.hosts.len()];
        for (idx, wrapper) in (0..).zip(&self.wrappers) {
            for contributor in &wrapper.contributors {
                if let Contributor::Rank(rank) = *contributor {
                    first[rank as usize] = idx;
                }
            }
        }
        first
    }

    /// The way from a wrapper to the bottommost one, both included, each with its index. `from` is
    /// an index in [`all`](Self::all).
    ///
    /// # Panics
    /// If there is no such wrapper.
    pub fn path(&self, from: u32) -> impl Iterator<Item = (u32, &Wrapper)> {
        std::iter::successors(Some(self.at(from)), |(_, wrapper)| {
            wrapper.parent.map(|parent| self.at(parent))
        })
    }

    /// Whether there is an event collector between a contributor and the wrapper with index
    /// `wrapper`, which it contributes to: one that is after the contributor, or before the
    /// wrapper.
    ///
    /// # Panics
    /// If there are no such wrappers.
    #[must_use]
    pub fn collects(&self, contributor: Contributor, wrapper: u32) -> bool {
        let is_after = match contributor {
            Contributor::Rank(_) => false,
            Contributor::Wrapper(below) => self.wrappers[below as usize].collectors.after,
        };
        is_after || self.wrappers[wrapper as usize].collectors.before
    }

    /// The ranks in the order in which their values are combined.
    #[must_use]
    pub fn order(&self) -> Vec<u32> {
        let mut order = Vec::with_capacity(self.hosts.len());
        let mut open = vec![Contributor::Wrapper(self.wrappers.len() as u32 - 1)];
        while let Some(next) = open.pop() {
            match next {
                Contributor::Rank(rank) => order.push(rank),
                Contributor::Wrapper(idx) => {
                    let contributors = &self.wrappers[idx as usize].contributors;
                    open.extend(contributors.iter().rev().copied());
                }
            }
        }
        order
    }

    /// Whether values are combined in the order of ranks, as an operation that does not commute
    /// needs it.
    #[must_use]
    pub fn is_in_rank_order(&self) -> bool {
        self.order().into_iter().eq(0..self.n_ranks())
    }

    /// Greatest number of joins, greds and exchanges, on the path of a rank.
    #[must_use]
    pub fn height(&self) -> u32 {
        let mut heights = vec![0; self.wrappers.len()];
        for (idx, wrapper) in self.wrappers.iter().enumerate() {
            let below = wrapper.contributors.iter().map(|below| match *below {
                Contributor::Rank(_) => 0,
                Contributor::Wrapper(below) => heights[below as usize],
            });
            let joins = matches!(wrapper.kind, WrapperKind::Gred | WrapperKind::Exchange);
            heights[idx] = below.max().unwrap_or(0) + u32::from(joins);
        }
        heights.pop().unwrap_or(0)
    }
}

impl<C> Decode<C> for Wrappers {
    fn decode<D: Decoder<Context = C>>(decoder: &mut D) -> Result<Self, DecodeError> {
        let (hosts, wrappers) = Decode::decode(decoder)?;
        Self::new(hosts, wrappers).map_err(|error| DecodeError::OtherString(error.to_string()))
    }
}

impl<'de, C> BorrowDecode<'de, C> for Wrappers {
    fn borrow_decode<D: BorrowDecoder<'de, Context = C>>(
        decoder: &mut D,
    ) -> Result<Self, DecodeError> {
        Decode::decode(decoder)
    }
}

/// The rank that acts for a contributor.
pub(super) fn owner_of(wrappers: &[Wrapper], contributor: Contributor) -> u32 {
    match contributor {
        Contributor::Rank(rank) => rank,
        Contributor::Wrapper(idx) => wrappers[idx as usize].owner,
    }
}
