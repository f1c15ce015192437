//! Reductions that divide the data, or go in steps.
//!
//! # Source
//! MPICH's `allreduce_intra_reduce_scatter_allgather.c`, `reduce_intra_reduce_scatter_gather.c`,
//! `allreduce_intra_ring.c`, `allreduce_intra_recursive_multiplying.c`, `reduce_scatter_intra_pairwise.c`;
//! Thakur, Rabenseifner and Gropp 2005.

use super::exchanges::gather_around;
use crate::call::{Call, Parameters};
use crate::open_mpi::allreduce::{Halving, gather_halves};
use crate::open_mpi::blocks::Blocks;
use crate::open_mpi::reduce::gather_halves_at_root;
use crate::open_mpi::trees::power_of_two_below;
use crate::program::Program;

pub(super) fn reduce_scatter_allgather(call: &Call, _: &Parameters, p: &mut Program) {
    let halving = halve(call, 1, p);
    gather_halves(call, &halving, p);
}

pub(super) fn reduce_scatter_gather(call: &Call, _: &Parameters, p: &mut Program) {
    let halving = halve(call, 0, p);
    gather_halves_at_root(call, halving, p);
}

/// Reduces parts by recursive halving of as many blocks as there are processes. Of more processes than a power of two the
/// first ones are in pairs: one, the first or the second one, gets all that the other one has.
fn halve(call: &Call, stays: usize, p: &mut Program) -> Halving {
    let n_powers = power_of_two_below(call.n_processes);
    let n_pairs = call.n_processes - n_powers;
    let mut halving = Halving {
        n_pairs,
        stays,
        at: None,
        kept: Vec::new(),
    };
    let rank = p.rank();
    let bytes = call.elements * call.element_bytes;
    let at = if rank >= 2 * n_pairs {
        rank - n_pairs
    } else if rank % 2 == stays {
        p.recv(rank ^ 1);
        p.combine(bytes);
        rank / 2
    } else {
        p.send(rank ^ 1, bytes);
        return halving;
    };
    halving.at = Some(at);
    let blocks = Blocks::of(call.elements, n_powers as u64);
    let (mut first, mut n_blocks) = (0, n_powers as u64);
    let mut distance = 1;
    while distance < n_powers {
        n_blocks /= 2;
        let elements = |first: u64| -> u64 {
            let half = first..first + n_blocks;
            half.map(|block| blocks.length(block)).sum()
        };
        let [keeps, gives] = if at & distance == 0 {
            [first, first + n_blocks]
        } else {
            [first + n_blocks, first]
        };
        let other = halving.rank(at ^ distance);
        p.sendrecv(other, elements(gives) * call.element_bytes, other);
        p.combine(elements(keeps) * call.element_bytes);
        halving.kept.push(elements(keeps));
        first = keeps;
        distance <<= 1;
    }
    halving
}

/// Of blocks of which the last ones may be shorter, or empty.
pub(super) fn ring(call: &Call, parameters: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let (next, previous) = ((p.rank() + 1) % n, (p.rank() + n - 1) % n);
    let of_block = call.elements.div_ceil(n as u64);
    let elements = |block: usize| {
        let left = call.elements.saturating_sub(of_block * block as u64);
        left.min(of_block)
    };
    let bytes = |block: usize| elements(block) * call.element_bytes;
    for step in 1..n {
        p.sendrecv(next, bytes((p.rank() + n - step) % n), previous);
        p.combine(bytes((p.rank() + 2 * n - step - 1) % n));
    }
    gather_around(call, elements, parameters, p);
}

/// In groups of as many as the radix says, at that many times the distance in each step. Processes that no power of the radix
/// has room for give all they have to others.
pub(super) fn recursive_multiplying(call: &Call, parameters: &Parameters, p: &mut Program) {
    let (n, radix) = (call.n_processes, parameters.radix);
    let bytes = call.elements * call.element_bytes;
    let rank = p.rank();
    let mut n_powers = 1;
    while n_powers * radix <= n {
        n_powers *= radix;
    }
    if rank >= n_powers {
        p.send(rank % n_powers, bytes);
        return p.recv(rank % n_powers);
    }
    let outside = || (rank + n_powers..n).step_by(n_powers);
    let received: Vec<_> = outside().map(|other| p.irecv(other)).collect();
    p.wait_all(received);
    outside().for_each(|_| p.combine(bytes));
    let mut distance = 1;
    while distance < n_powers {
        let group = rank / (distance * radix) * (distance * radix) + rank % distance;
        let others = (0..radix).map(|nth| group + nth * distance);
        let mut requests = Vec::new();
        for other in others.filter(|&other| other != rank) {
            requests.push(p.isend(other, bytes));
            requests.push(p.irecv(other));
        }
        p.wait_all(requests);
        (1..radix).for_each(|_| p.combine(bytes));
        distance *= radix;
    }
    let sent: Vec<_> = outside().map(|other| p.isend(other, bytes)).collect();
    p.wait_all(sent);
}

pub(super) fn reduce_scatter_pairwise(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    for step in 1..n {
        p.sendrecv((p.rank() + step) % n, bytes, (p.rank() + n - step) % n);
        p.combine(bytes);
    }
}
