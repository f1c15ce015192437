//! Instants whose type states their clock.

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The domain of a process's own clock: ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Local {}
/// The domain of the analysis: ns since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Global {}

/// An instant in one of the domains. Only
/// [`RankClock::global`](crate::rank_clock::RankClock::global) converts between them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp<Domain> {
    pub(crate) value: i64,
    domain: PhantomData<Domain>,
}

impl Timestamp<Local> {
    /// The instant of a record with this number of ticks.
    #[must_use]
    #[inline]
    pub fn from_ticks(ticks: u64) -> Self {
        Self {
            value: i64::try_from(ticks).unwrap_or(i64::MAX),
            domain: PhantomData,
        }
    }
}

impl Timestamp<Global> {
    /// The instant `ns` after the start of the run.
    ///
    /// Clamped to 2^60 ns (36 years) around it, so that no difference or short sum of differences
    /// overflows, whatever a damaged file contains.
    #[must_use]
    #[inline]
    pub fn from_ns(ns: i64) -> Self {
        Self {
            value: ns.clamp(-(1 << 60), 1 << 60),
            domain: PhantomData,
        }
    }

    /// The instant `ns` after the start of the run, less than 2^60 ns (36 years) away from it.
    #[inline]
    pub(crate) fn from_near_ns(ns: i64) -> Self {
        Self {
            value: ns,
            domain: PhantomData,
        }
    }

    /// ns since the start of the run.
    #[must_use]
    #[inline]
    pub fn ns(self) -> i64 {
        self.value
    }
}

/// Serialized as a number of ns.
impl Serialize for Timestamp<Global> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i64(self.ns())
    }
}

impl<'de> Deserialize<'de> for Timestamp<Global> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        i64::deserialize(deserializer).map(Self::from_ns)
    }
}
