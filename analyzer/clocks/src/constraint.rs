//! Constraints between the clocks of two hosts: what cannot have happened before what.
//!
//! "`b` on host `to` cannot happen before `a` on host `from`": a message is not received before it
//! is sent, and no rank leaves an allreduce before the last one has entered. Of thousands of
//! constraints the tightest, with the least `b - a`, is retained for each short interval of the
//! run. So memory grows with pairs of hosts and with intervals, not with calls.

use std::collections::BTreeMap;

/// What a constraint comes from; each kind has a shortest time of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// One direction of an exchange that measures offsets.
    Exchange,
    /// A message inside a collective: from the begin of the send to the end of the receive.
    Message,
    /// All ranks wait for all: from the last enter on one host to the first leave on the other.
    AllToAll,
    /// All ranks wait for the root: from its enter to the first leave on the other host.
    FromRoot,
    /// The root waits for all ranks: from the last enter on the other host to the root's leave.
    ToRoot,
}

impl Origin {
    /// Whether it comes from enter and leave of collectives.
    pub fn is_collective(self) -> bool {
        matches!(self, Self::AllToAll | Self::FromRoot | Self::ToRoot)
    }
}

/// Identifies constraints with the same shortest time: one origin, from one host to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// What the constraint comes from.
    pub origin: Origin,
    /// Host of the earlier event.
    pub from: usize,
    /// Host of the event that cannot happen before it.
    pub to: usize,
}

impl Key {
    /// The key of the other direction.
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

/// The tightest constraint in one interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tightest {
    /// Time of the earlier event, ns.
    pub from: i64,
    /// Time of the event that cannot happen before it, ns.
    pub to: i64,
    /// Number of constraints of which it is the tightest; 0: none, and the times mean nothing.
    pub n: u32,
}

impl Tightest {
    const NONE: Self = Self {
        from: 0,
        to: 0,
        n: 0,
    };

    /// Sort key: the tighter constraint first, of equally tight ones the earlier.
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

/// The tightest constraints of a run, by key and interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraints {
    /// Begin of the first interval, ns.
    begin_ns: i64,
    /// Length of an interval, ns, > 0.
    stretch_ns: i64,
    n_stretches: usize,
    by_key: BTreeMap<Key, Box<[Tightest]>>,
}

impl Constraints {
    /// No constraints yet, in `n_stretches` intervals from `begin_ns` on. Events before the first
    /// or after the last interval are counted there.
    pub fn new(begin_ns: i64, stretch_ns: i64, n_stretches: usize) -> Self {
        Self {
            begin_ns,
            stretch_ns: stretch_ns.max(1),
            n_stretches: n_stretches.max(1),
            by_key: BTreeMap::new(),
        }
    }

    /// Adds one constraint; both times are ns, on a time that is approximately common to both
    /// hosts.
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

    /// Adds the constraints of another set with the same intervals.
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

    /// By key: the constraints of the intervals that have any.
    pub fn series(&self) -> impl Iterator<Item = (Key, impl Iterator<Item = &Tightest>)> {
        self.by_key
            .iter()
            .map(|(key, stretches)| (*key, stretches.iter().filter(|tightest| tightest.n > 0)))
    }
}
