//! A spanning tree of one communicator.

use bincode::de::{BorrowDecoder, Decoder};
use bincode::error::DecodeError;
use bincode::{BorrowDecode, Decode, Encode};

use super::check::{TreeError, check};
use super::wrapper::{Contributor, Wrapper, WrapperKind, owner_of};

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
