//! Reductions whose result all get.
//!
//! # Source
//! Open MPI's `coll_base_allreduce.c`; Thakur, Rabenseifner and Gropp 2005.

use super::blocks::{Blocks, elements_of_segment};
use super::trees::power_of_two_below;
use crate::call::{Call, Parameters};
use crate::program::Program;

pub(crate) fn recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    let n_powers = power_of_two_below(n);
    let n_pairs = n - n_powers;
    let rank = p.rank();
    let is_paired = rank < 2 * n_pairs;
    if is_paired && rank.is_multiple_of(2) {
        p.send(rank + 1, bytes);
        return p.recv(rank + 1);
    }
    let at = if is_paired {
        p.recv(rank - 1);
        p.combine(bytes);
        rank / 2
    } else {
        rank - n_pairs
    };
    let mut distance = 1;
    while distance < n_powers {
        let other = at ^ distance;
        let other = if other < n_pairs {
            2 * other + 1
        } else {
            other + n_pairs
        };
        p.sendrecv(other, bytes, other);
        p.combine(bytes);
        distance <<= 1;
    }
    if is_paired {
        p.send(rank - 1, bytes);
    }
}

pub(super) fn ring(call: &Call, _: &Parameters, p: &mut Program) {
    let blocks = Blocks::of(call.elements, call.n_processes as u64);
    reduce_around(call, |block| blocks.length(block), p);
    gather_around(call, blocks, p);
}

pub(super) fn segmented_ring(call: &Call, parameters: &Parameters, p: &mut Program) {
    let n = call.n_processes as u64;
    let of_phase = n * elements_of_segment(call, parameters);
    let rest = call.elements % of_phase;
    let n_phases = call.elements / of_phase + u64::from(rest >= n && rest > of_phase / 2);
    let blocks = Blocks::of(call.elements, n);
    for phase in 0..n_phases {
        let of_phase = |block| Blocks::of(blocks.length(block), n_phases).length(phase);
        reduce_around(call, of_phase, p);
    }
    gather_around(call, blocks, p);
}

/// Reduces blocks around a ring, beginning with the own one.
fn reduce_around(call: &Call, elements: impl Fn(u64) -> u64, p: &mut Program) {
    let n = call.n_processes;
    let (next, previous) = ((p.rank() + 1) % n, (p.rank() + n - 1) % n);
    let bytes = |block: usize| elements(block as u64) * call.element_bytes;
    let mut received = p.irecv(previous);
    p.send(next, bytes(p.rank()));
    for step in 2..n {
        let block = (p.rank() + n + 1 - step) % n;
        let posted = p.irecv(previous);
        p.wait(received);
        received = posted;
        p.combine(bytes(block));
        p.send(next, bytes(block));
    }
    p.wait(received);
    p.combine(bytes(next));
}

/// Passes reduced blocks around a ring.
fn gather_around(call: &Call, blocks: Blocks, p: &mut Program) {
    let n = call.n_processes;
    for step in 0..n - 1 {
        let block = (p.rank() + 1 + n - step) % n;
        let bytes = blocks.length(block as u64) * call.element_bytes;
        p.sendrecv((p.rank() + 1) % n, bytes, (p.rank() + n - 1) % n);
    }
}

/// What recursive halving leaves.
#[derive(Debug)]
pub(crate) struct Halving {
    /// Pairs of the first processes, of which one is left out.
    pub(crate) n_pairs: usize,
    /// Which one of a pair is not: 0 or 1.
    pub(crate) stays: usize,
    /// The place of the process among the others; `None`: it is left out.
    pub(crate) at: Option<usize>,
    /// The elements that it keeps after each step.
    pub(crate) kept: Vec<u64>,
}

impl Halving {
    /// The rank of the process at a place.
    pub(crate) fn rank(&self, at: usize) -> usize {
        if at < self.n_pairs {
            2 * at + self.stays
        } else {
            at + self.n_pairs
        }
    }
}

/// Reduces parts by recursive halving of the data, with a partner at twice the distance in each step. Of more processes than a
/// power of two the first ones are in pairs: both reduce a half, and the second one is left out.
pub(super) fn halve(call: &Call, p: &mut Program) -> Halving {
    let n = call.n_processes;
    let n_powers = power_of_two_below(n);
    let n_pairs = n - n_powers;
    let mut halving = Halving {
        n_pairs,
        stays: 0,
        at: None,
        kept: Vec::new(),
    };
    let rank = p.rank();
    let bytes = |elements: u64| elements * call.element_bytes;
    let left_half = call.elements / 2;
    let right_half = call.elements - left_half;
    let at = if rank >= 2 * n_pairs {
        rank - n_pairs
    } else if rank % 2 == 1 {
        p.sendrecv(rank - 1, bytes(left_half), rank - 1);
        p.combine(bytes(right_half));
        p.send(rank - 1, bytes(right_half));
        return halving;
    } else {
        p.sendrecv(rank + 1, bytes(right_half), rank + 1);
        p.combine(bytes(left_half));
        p.recv(rank + 1);
        rank / 2
    };
    halving.at = Some(at);
    let mut left = call.elements;
    let mut distance = 1;
    while distance < n_powers {
        let other = at ^ distance;
        let half = left / 2;
        let [keeps, gives] = if at < other {
            [half, left - half]
        } else {
            [left - half, half]
        };
        let other = halving.rank(other);
        p.sendrecv(other, bytes(gives), other);
        p.combine(bytes(keeps));
        halving.kept.push(keeps);
        left = keeps;
        distance <<= 1;
    }
    halving
}

pub(super) fn rabenseifner(call: &Call, _: &Parameters, p: &mut Program) {
    let halving = halve(call, p);
    gather_halves(call, &halving, p);
}

/// Gathers everywhere what recursive halving left.
pub(crate) fn gather_halves(call: &Call, halving: &Halving, p: &mut Program) {
    let rank = p.rank();
    let Some(at) = halving.at else {
        return p.recv(rank ^ 1);
    };
    for (step, elements) in halving.kept.iter().enumerate().rev() {
        let other = halving.rank(at ^ (1 << step));
        p.sendrecv(other, elements * call.element_bytes, other);
    }
    if rank < 2 * halving.n_pairs {
        p.send(rank ^ 1, call.elements * call.element_bytes);
    }
}
