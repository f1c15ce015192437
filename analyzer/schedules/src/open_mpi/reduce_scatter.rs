//! Reductions of which each process gets a part.
//!
//! # Source
//! Open MPI's `coll_base_reduce_scatter.c` and `coll_base_reduce_scatter_block.c`; Traeff 2005
//! (butterfly).

use super::trees::power_of_two_below;
use crate::call::{Call, Parameters};
use crate::program::Program;

/// More processes than a power of two: the first ones are in pairs, of which the first one gives all it has to the second
/// one, and gets its part at the end.
#[derive(Debug, Clone, Copy)]
struct Pairs {
    n_powers: usize,
    n_pairs: usize,
}

impl Pairs {
    fn of(call: &Call) -> Self {
        let n_powers = power_of_two_below(call.n_processes);
        Self {
            n_powers,
            n_pairs: call.n_processes - n_powers,
        }
    }

    /// The place of a process; `None`: it gave all away.
    fn place(self, rank: usize) -> Option<usize> {
        if rank >= 2 * self.n_pairs {
            return Some(rank - self.n_pairs);
        }
        (rank % 2 == 1).then_some(rank / 2)
    }

    /// The rank of the process at a place.
    fn rank(self, at: usize) -> usize {
        if at < self.n_pairs {
            2 * at + 1
        } else {
            at + self.n_pairs
        }
    }

    /// How many processes' parts those at some places have.
    fn n_parts(self, from: usize, to: usize) -> u64 {
        let n_paired = to.min(self.n_pairs).saturating_sub(from);
        (to - from + n_paired) as u64
    }

    /// Gives all away, or gets it; the place of the process that goes on.
    fn begin(self, call: &Call, p: &mut Program) -> Option<usize> {
        let bytes = call.of_all().elements * call.element_bytes;
        let at = self.place(p.rank());
        match at {
            None => p.send(p.rank() + 1, bytes),
            Some(at) if at < self.n_pairs => {
                p.recv(p.rank() - 1);
                p.combine(bytes);
            }
            Some(_) => {}
        }
        at
    }
}

pub(crate) fn recursive_halving(call: &Call, _: &Parameters, p: &mut Program) {
    let pairs = Pairs::of(call);
    let part = call.elements * call.element_bytes;
    let rank = p.rank();
    if let Some(at) = pairs.begin(call, p) {
        let (mut first, mut last) = (0, pairs.n_powers);
        while last - first > 1 {
            let half = (last - first) / 2;
            let middle = first + half;
            let (keeps, gives, other) = if at < middle {
                ((first, middle), (middle, last), at + half)
            } else {
                ((middle, last), (first, middle), at - half)
            };
            let other = pairs.rank(other);
            let bytes = [keeps, gives].map(|(from, to)| pairs.n_parts(from, to) * part);
            p.sendrecv(other, bytes[1], other);
            p.combine(bytes[0]);
            (first, last) = keeps;
        }
        if at < pairs.n_pairs {
            p.send(rank - 1, part);
        }
    } else {
        p.recv(rank + 1);
    }
}

pub(super) fn ring(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    let (next, previous) = ((p.rank() + 1) % n, (p.rank() + n - 1) % n);
    let mut received = p.irecv(previous);
    p.send(next, bytes);
    for _ in 2..n {
        let posted = p.irecv(previous);
        p.wait(received);
        received = posted;
        p.combine(bytes);
        p.send(next, bytes);
    }
    p.wait(received);
    p.combine(bytes);
}

/// A number of so many bits with these in the reverse order.
fn mirrored(at: usize, n_powers: usize) -> usize {
    let n_bits = n_powers.ilog2();
    (0..n_bits).fold(0, |mirrored, bit| {
        mirrored | (at >> bit & 1) << (n_bits - 1 - bit)
    })
}

/// As recursive halving with the distances in the reverse order: at the end each process has the part of another one.
pub(super) fn butterfly(call: &Call, _: &Parameters, p: &mut Program) {
    let pairs = Pairs::of(call);
    let part = call.elements * call.element_bytes;
    let rank = p.rank();
    let Some(at) = pairs.begin(call, p) else {
        let has_it = pairs.rank(mirrored(rank.div_ceil(2), pairs.n_powers));
        return p.recv(has_it);
    };
    exchange_halves(pairs, at, part, p);
    let of = mirrored(at, pairs.n_powers);
    if of < pairs.n_pairs {
        p.send(pairs.rank(of) - 1, part);
    }
    if of != at {
        p.sendrecv(pairs.rank(of), part, pairs.rank(of));
    }
}

/// A butterfly among a power of two of processes, whose blocks are permuted before, so that each has its own at the end.
pub(crate) fn block_butterfly(call: &Call, parameters: &Parameters, p: &mut Program) {
    let pairs = Pairs::of(call);
    if pairs.n_pairs > 0 {
        return butterfly(call, parameters, p);
    }
    exchange_halves(pairs, p.rank(), call.elements * call.element_bytes, p);
}

fn exchange_halves(pairs: Pairs, at: usize, part: u64, p: &mut Program) {
    let (mut n_blocks, mut first) = (pairs.n_powers, 0);
    let mut distance = 1;
    while distance < pairs.n_powers {
        n_blocks /= 2;
        let other = pairs.rank(at ^ distance);
        let halves = [first, first + n_blocks];
        let [keeps, gives] = if at & distance == 0 {
            halves
        } else {
            [halves[1], halves[0]]
        };
        let bytes = |first: usize| pairs.n_parts(first, first + n_blocks) * part;
        p.sendrecv(other, bytes(gives), other);
        p.combine(bytes(keeps));
        first = keeps;
        distance <<= 1;
    }
}

/// As the recursive doubling of an allreduce, but that parts that a process has already are not sent.
pub(crate) fn recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let part = call.elements * call.element_bytes;
    let rank = p.rank();
    let mut distance = 1;
    while distance < n {
        let other = rank ^ distance;
        let (own_first, other_first) = (rank / distance * distance, other / distance * distance);
        // All but the blocks of a subtree.
        let all_but = |first: usize| (n - distance.min(n.saturating_sub(first))) as u64 * part;
        let mut is_received = other < n;
        if is_received {
            p.sendrecv(other, all_but(own_first), other);
        }
        if other_first + distance > n {
            let n_with_all = n.saturating_sub(own_first + distance);
            let mut half = distance >> 1;
            while half > 0 {
                let other = rank ^ half;
                let first = rank / (2 * half) * (2 * half);
                let has_all = |rank: usize| rank < first + n_with_all;
                if other > rank && has_all(rank) && !has_all(other) {
                    p.send(other, all_but(other_first));
                } else if other < rank && has_all(other) && !has_all(rank) {
                    p.recv(other);
                    is_received = true;
                }
                half >>= 1;
            }
        }
        if is_received {
            p.combine(all_but(other_first));
        }
        distance <<= 1;
    }
}
