//! What cannot have happened before what: constraints between the clocks of two hosts.
//!
//! "`b` on host `to` cannot happen before `a` on host `from`": a message is not received before it
//! was sent, nobody leaves an allreduce before the last has entered. What is kept of thousands of
//! these is, for each short stretch of the run, the tightest: `b - a` is least there. So memory
//! grows with pairs of hosts and with stretches, not with calls.

use std::collections::BTreeMap;

/// Where constraints come from: each kind has a shortest time of its own that it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// One way of an exchange that measures offsets.
    Exchange,
    /// A message inside a collective: begin of the send, end of the receive.
    Message,
    /// All wait for all: first leave on one host, last enter on the other.
    AllToAll,
    /// All wait for the root: its enter, first leave on the other host.
    FromRoot,
    /// The root waits for all: last enter on the other host, its leave.
    ToRoot,
}

impl Origin {
    /// Whether it comes from enter and leave of collectives.
    pub fn is_collective(self) -> bool {
        matches!(self, Self::AllToAll | Self::FromRoot | Self::ToRoot)
    }
}

/// Constraints that have one least time: from one host to another, of one origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What it comes from.
    pub origin: Origin,
    /// Host of what comes first.
    pub from: usize,
    /// Host of what cannot come before that.
    pub to: usize,
}

impl Key {
    /// The way back.
    pub fn reversed(self) -> Self {
        let origin = match self.origin {
            Origin::FromRoot => Origin::ToRoot,
            Origin::ToRoot => Origin::FromRoot,
            other => other,
        };
        Self {
            origin,
            from: self.to,
            to: self.from,
        }
    }
}

/// The tightest constraint in one stretch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tightest {
    /// Time of what comes first, ns.
    pub from: i64,
    /// Time of what cannot come before that, ns.
    pub to: i64,
    /// Constraints that it is the tightest of; 0: none, and no times.
    pub n: u32,
}

impl Tightest {
    const NONE: Self = Self {
        from: 0,
        to: 0,
        n: 0,
    };

    /// What makes one tighter than another; among equals the earlier.
    fn order(&self) -> (i64, i64) {
        (self.to.saturating_sub(self.from), self.from)
    }

    fn take(&mut self, other: Self) {
        let n = self.n.saturating_add(other.n);
        if self.n == 0 || (other.n > 0 && other.order() < self.order()) {
            *self = other;
        }
        self.n = n;
    }
}

/// The tightest constraints of a run, by key and stretch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraints {
    /// Where the first stretch begins, ns.
    begin_ns: i64,
    /// Length of a stretch, > 0.
    stretch_ns: i64,
    n_stretches: usize,
    by_key: BTreeMap<Key, Box<[Tightest]>>,
}

impl Constraints {
    /// Nothing yet, in so many stretches from `begin_ns` on; what lies outside of them counts to
    /// the first or the last.
    pub fn new(begin_ns: i64, stretch_ns: i64, n_stretches: usize) -> Self {
        Self {
            begin_ns,
            stretch_ns: stretch_ns.max(1),
            n_stretches: n_stretches.max(1),
            by_key: BTreeMap::new(),
        }
    }

    /// One constraint: times are ns on a time that is about common to both hosts.
    #[inline]
    pub fn add(&mut self, key: Key, from: i64, to: i64) {
        let stretch = from.saturating_sub(self.begin_ns) / self.stretch_ns;
        let stretch = usize::try_from(stretch).unwrap_or(0);
        let stretch = stretch.min(self.n_stretches - 1);
        let n = self.n_stretches;
        let of_key = self.by_key.entry(key);
        let of_key = of_key.or_insert_with(|| vec![Tightest::NONE; n].into());
        of_key[stretch].take(Tightest { from, to, n: 1 });
    }

    /// Adds what another, with the same stretches, has.
    pub fn merge(&mut self, other: Self) {
        for (key, theirs) in other.by_key {
            match self.by_key.entry(key) {
                std::collections::btree_map::Entry::Vacant(vacant) => {
                    vacant.insert(theirs);
                }
                std::collections::btree_map::Entry::Occupied(mut ours) => {
                    let both = ours.get_mut().iter_mut().zip(&*theirs);
                    both.for_each(|(ours, theirs)| ours.take(*theirs));
                }
            }
        }
    }

    /// By key, those stretches that have any.
    pub fn series(&self) -> impl Iterator<Item = (Key, impl Iterator<Item = &Tightest>)> {
        self.by_key
            .iter()
            .map(|(key, stretches)| (*key, stretches.iter().filter(|tightest| tightest.n > 0)))
    }
}
