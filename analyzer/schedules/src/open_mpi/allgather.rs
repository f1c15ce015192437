//! Gathering everything everywhere.
//!
//! # Source
//! Open MPI's `coll_base_allgather.c` and `coll_base_allgatherv.c`; Bruck et al. 1997; Chen et al. 2005
//! (neighbor exchange); Loch and Koslovski 2021 (sparbit).

use crate::call::{Call, Parameters};
use crate::program::Program;

pub(crate) fn bruck(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let mut distance = 1;
    while distance < n {
        let n_blocks = distance.min(n - distance) as u64;
        let bytes = n_blocks * call.elements * call.element_bytes;
        p.sendrecv(
            (p.rank() + n - distance) % n,
            bytes,
            (p.rank() + distance) % n,
        );
        distance <<= 1;
    }
}

pub(crate) fn recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    let mut distance = 1;
    while distance < call.n_processes {
        let other = p.rank() ^ distance;
        let bytes = distance as u64 * call.elements * call.element_bytes;
        p.sendrecv(other, bytes, other);
        distance <<= 1;
    }
}

pub(crate) fn ring(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    for _ in 1..n {
        p.sendrecv((p.rank() + 1) % n, bytes, (p.rank() + n - 1) % n);
    }
}

pub(super) fn neighbor(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    let [right, left] = [(p.rank() + 1) % n, (p.rank() + n - 1) % n];
    let neighbors = if p.rank().is_multiple_of(2) {
        [right, left]
    } else {
        [left, right]
    };
    p.sendrecv(neighbors[0], bytes, neighbors[0]);
    for step in 1..n / 2 {
        let neighbor = neighbors[step % 2];
        p.sendrecv(neighbor, 2 * bytes, neighbor);
    }
}

pub(super) fn two_processes(call: &Call, _: &Parameters, p: &mut Program) {
    let other = p.rank() ^ 1;
    p.sendrecv(other, call.elements * call.element_bytes, other);
}

/// Blocks go to the process at half the distance in each step, each by a message of its own.
pub(super) fn sparbit(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    // In which steps a block is left out because it was there already.
    let lowest = n.trailing_zeros();
    let left_out = (!(n >> lowest) | 1) << lowest;
    let mut n_blocks = 1;
    let mut distance = n.next_power_of_two() / 2;
    while distance > 0 {
        let is_left_out = usize::from(distance & left_out == distance);
        let mut requests = Vec::new();
        for _ in 0..n_blocks - is_left_out {
            requests.push(p.isend((p.rank() + distance) % n, bytes));
            requests.push(p.irecv((p.rank() + n - distance) % n));
        }
        p.wait_all(requests);
        n_blocks = 2 * n_blocks - is_left_out;
        distance /= 2;
    }
}
