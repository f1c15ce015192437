//! Exchanges by their definitions, as sets of directed edges, with the properties of an instance
//! that distinguish them: how often an edge is used, and in which steps.
//!
//! # Source
//! Thakur, Rabenseifner and Gropp 2005, "Optimization of collective communication operations in
//! MPICH"; Bruck et al. 1997; Chen et al. 2005 (neighbor exchange); for the ranks beyond a power of
//! two also the remarks in Open MPI's `coll_base_allreduce.c` and `coll_base_barrier.c`.

use std::collections::{BTreeMap, BTreeSet};

/// An edge: (from slot, to slot).
pub type Edge = (u32, u32);
/// Edges, each once.
pub type Edges = BTreeSet<Edge>;

/// A message without times and payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// Slot of the sender.
    pub from: u32,
    /// Slot of the receiver.
    pub to: u32,
    /// Step of the sender in which it is sent, from 0.
    pub step_of_sender: u32,
    /// Step of the receiver in which it arrives, from 0.
    pub step_of_receiver: u32,
    /// Number of its tag and communicator within the instance.
    pub group: u32,
}

/// The messages of an instance.
#[derive(Debug)]
pub struct Traffic<'s> {
    /// Number of slots.
    pub n: u32,
    /// Messages, by sender and in the order of sending.
    pub sent: &'s [Sent],
    /// Number of messages per edge.
    counts: BTreeMap<Edge, u32>,
}

impl<'s> Traffic<'s> {
    /// The messages `sent` among `n` processes.
    #[must_use]
    pub fn new(n: u32, sent: &'s [Sent]) -> Self {
        let mut counts = BTreeMap::new();
        for message in sent {
            *counts.entry((message.from, message.to)).or_default() += 1;
        }
        Self { n, sent, counts }
    }

    /// The edges in use, ascending.
    pub fn edges(&self) -> impl Iterator<Item = Edge> + '_ {
        self.counts.keys().copied()
    }

    /// Whether all of these edges are in use, and no other.
    #[must_use]
    pub fn is_exactly(&self, edges: &Edges) -> bool {
        self.counts.keys().eq(edges.iter())
    }

    /// Whether no edge but these is in use.
    pub fn is_within(&self, edges: &Edges) -> bool {
        self.counts.keys().all(|edge| edges.contains(edge))
    }

    /// Whether all of these edges are in use.
    #[must_use]
    pub fn has_all(&self, edges: &Edges) -> bool {
        edges.iter().all(|edge| self.counts.contains_key(edge))
    }

    /// Whether every process sends to every other one.
    pub fn is_complete(&self) -> bool {
        let n = self.n as usize;
        self.counts.len() == n * (n - 1) && self.counts.keys().all(|(from, to)| from != to)
    }

    /// Whether there are no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The slot that a slot sends to first.
    pub fn first_to(&self, from: u32) -> Option<u32> {
        let first = self.sent.iter().find(|sent| sent.from == from)?;
        Some(first.to)
    }

    /// Whether no edge is used more than once.
    pub fn is_once(&self) -> bool {
        self.counts.values().all(|count| *count == 1)
    }

    /// Number of messages per edge, if it is the same for all of these edges.
    pub fn count_of(&self, edges: &Edges) -> Option<u32> {
        let mut counts = edges.iter().map(|edge| self.counts.get(edge).copied());
        let first = counts.next()??;
        counts.all(|count| count == Some(first)).then_some(first)
    }

    /// Whether on each of these edges, which go both ways, neither end had to receive before it
    /// sent: both posted the receive in the step in which they sent.
    pub fn is_mutual(&self, edges: &Edges) -> bool {
        let mut first: BTreeMap<Edge, [u32; 2]> = BTreeMap::new();
        for message in self.sent {
            let steps = [message.step_of_sender, message.step_of_receiver];
            first.entry((message.from, message.to)).or_insert(steps);
        }
        edges.iter().all(|&(from, to)| {
            let there = first.get(&(from, to));
            let back = first.get(&(to, from));
            there
                .zip(back)
                .is_some_and(|(there, back)| there[0] == back[1])
        })
    }

    /// Whether every process posted and sent everything before it waited for anything.
    pub fn is_at_once(&self) -> bool {
        let all = self.sent.iter();
        let mut steps = all.flat_map(|sent| [sent.step_of_sender, sent.step_of_receiver]);
        steps.all(|step| step == 0)
    }

    /// Whether every process sends one message per step, and receives one.
    pub fn is_one_by_one(&self) -> bool {
        let mut sends = BTreeSet::new();
        let mut receives = BTreeSet::new();
        self.sent.iter().all(|sent| {
            sends.insert((sent.from, sent.step_of_sender))
                && receives.insert((sent.to, sent.step_of_receiver))
        })
    }
}

/// From each rank to the one `distance` further, modulo n.
fn shifted(n: u32, distance: u32) -> impl Iterator<Item = Edge> {
    (0..n).map(move |rank| (rank, (rank + distance) % n))
}

/// From each rank to the next, or to the one before, modulo n.
pub fn ring(n: u32, is_forward: bool) -> Edges {
    shifted(n, if is_forward { 1 } else { n - 1 }).collect()
}

/// Distances 1, 2, 4 ... below `n`.
fn powers_of_two(n: u32) -> impl Iterator<Item = u32> {
    (0..u32::BITS)
        .map(|bit| 1 << bit)
        .take_while(move |power| *power < n)
}

/// From each rank to those 1, 2, 4 ... further, or back, modulo n.
pub fn by_powers(n: u32, is_forward: bool) -> Edges {
    powers_of_two(n)
        .flat_map(|power| shifted(n, if is_forward { power } else { n - power }))
        .collect()
}

/// Between two ranks, both ways.
pub fn two_ways() -> Edges {
    Edges::from([(0, 1), (1, 0)])
}

/// With the left and the right neighbour, modulo n; only for even numbers of ranks.
pub fn neighbor_exchange(n: u32) -> Option<Edges> {
    let both = || shifted(n, 1).chain(shifted(n, n - 1)).collect();
    n.is_multiple_of(2).then(both)
}

/// Each rank with those that differ from it in one bit, as far as these exist.
pub fn hypercube(n: u32) -> Edges {
    let partners = |rank: u32| powers_of_two(n).map(move |bit| (rank, rank ^ bit));
    let edges = (0..n).flat_map(partners);
    edges.filter(|(_, partner)| *partner < n).collect()
}

/// A butterfly among a power of two of the ranks, with the even ranks of the rest as extra ranks:
/// each with those that differ in one bit, then to the rank with the bits reversed, whose part it
/// has, and to the extra rank of that one. `None` if no rank has another one's part.
pub fn butterfly(n: u32) -> Option<Edges> {
    let n_bits = n.ilog2();
    if n_bits < 2 {
        return None;
    }
    let folded = Folded::new(n, ExtraRanks::Even);
    let rest = n - (1 << n_bits);
    let rank = |number: u32| {
        if number < rest {
            2 * number + 1
        } else {
            number + rest
        }
    };
    let moved = (0..1 << n_bits).flat_map(|number: u32| {
        let reversed = number.reverse_bits() >> (u32::BITS - n_bits);
        let aside = (reversed < rest).then(|| (rank(number), rank(reversed) - 1));
        aside.into_iter().chain([(rank(number), rank(reversed))])
    });
    let moved = moved.filter(|(from, to)| from != to);
    let to_those_within = (0..rest).map(|number| (2 * number, 2 * number + 1));
    let all = folded.core.iter().copied().chain(to_those_within);
    Some(all.chain(moved).collect())
}

/// Which ranks are the extra ones if their number is no power of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtraRanks {
    /// The even ranks of the first pairs; the right neighbour takes part for them.
    Even,
    /// The odd ranks of the first pairs; the left neighbour takes part for them.
    Odd,
    /// The last ranks; the first ranks take part for them.
    Last,
}

/// An exchange among a power of two of the ranks, the core, with extra ranks.
#[derive(Debug)]
pub struct Folded {
    /// Between the extra ranks and those that take part for them, both ways.
    pub pairs: Edges,
    /// Among the core: ranks whose numbers differ in one bit.
    pub core: Edges,
}

impl Folded {
    /// Among `n` processes.
    #[must_use]
    pub fn new(n: u32, aside: ExtraRanks) -> Self {
        let n_core = 1 << n.ilog2();
        let rest = n - n_core;
        let member = |number: u32| match aside {
            ExtraRanks::Last => number,
            _ if number >= rest => number + rest,
            ExtraRanks::Even => 2 * number + 1,
            ExtraRanks::Odd => 2 * number,
        };
        let pair = |number: u32| match aside {
            ExtraRanks::Last => (number, number + n_core),
            ExtraRanks::Even | ExtraRanks::Odd => (2 * number, 2 * number + 1),
        };
        let pairs = (0..rest).map(pair);
        Self {
            pairs: pairs.flat_map(|(a, b)| [(a, b), (b, a)]).collect(),
            core: hypercube(n_core)
                .into_iter()
                .map(|(a, b)| (member(a), member(b)))
                .collect(),
        }
    }

    /// All its edges.
    #[must_use]
    pub fn all(&self) -> Edges {
        self.pairs.union(&self.core).copied().collect()
    }
}
