//! Barriers.
//!
//! # Source
//! Open MPI's `coll_base_barrier.c`.

use super::trees::power_of_two_below;
use crate::call::{Call, Parameters};
use crate::program::Program;

pub(super) fn linear(call: &Call, _: &Parameters, p: &mut Program) {
    if p.rank() > 0 {
        p.send(0, 0);
        return p.recv(0);
    }
    let received: Vec<_> = (1..call.n_processes).map(|_| p.irecv_from_any()).collect();
    p.wait_all(received);
    for rank in 1..call.n_processes {
        p.send(rank, 0);
    }
}

pub(super) fn double_ring(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let (next, previous) = ((p.rank() + 1) % n, (p.rank() + n - 1) % n);
    for is_second in [false, true] {
        if p.rank() > 0 {
            p.recv(previous);
        }
        if is_second {
            p.send_synchronous(next, 0);
        } else {
            p.send(next, 0);
        }
        if p.rank() == 0 {
            p.recv(previous);
        }
    }
}

pub(super) fn recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    let n_powers = power_of_two_below(call.n_processes);
    let n_more = call.n_processes - n_powers;
    let rank = p.rank();
    if rank >= n_powers {
        return p.sendrecv(rank - n_powers, 0, rank - n_powers);
    }
    if rank < n_more {
        p.recv(rank + n_powers);
    }
    let mut distance = 1;
    while distance < n_powers {
        p.sendrecv(rank ^ distance, 0, rank ^ distance);
        distance <<= 1;
    }
    if rank < n_more {
        p.send_synchronous(rank + n_powers, 0);
    }
}

pub(crate) fn bruck(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let mut distance = 1;
    while distance < n {
        p.sendrecv((p.rank() + distance) % n, 0, (p.rank() + n - distance) % n);
        distance <<= 1;
    }
}

pub(super) fn two_processes(_: &Call, _: &Parameters, p: &mut Program) {
    let other = p.rank() ^ 1;
    p.sendrecv(other, 0, other);
}

pub(super) fn tree(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let rank = p.rank();
    let has_partner = |jump: usize| {
        let partner = rank ^ jump;
        (partner & (jump - 1) == 0 && partner < n).then_some(partner)
    };
    let n_jumps = n.next_power_of_two().ilog2();
    for jump in (0..n_jumps).map(|bit| 1 << bit) {
        match has_partner(jump) {
            Some(partner) if partner > rank => p.recv(partner),
            Some(partner) => p.send(partner, 0),
            None => {}
        }
    }
    for jump in (0..n_jumps).rev().map(|bit| 1 << bit) {
        match has_partner(jump) {
            Some(partner) if partner > rank => p.send(partner, 0),
            Some(partner) => p.recv(partner),
            None => {}
        }
    }
}
