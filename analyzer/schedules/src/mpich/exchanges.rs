//! Everybody with everybody.
//!
//! # Source
//! MPICH's `alltoall_intra_pairwise.c`, `alltoall_intra_scattered.c`, `allgatherv_intra_ring.c`,
//! `barrier_intra_k_dissemination.c`.

use crate::call::{Call, Parameters};
use crate::open_mpi::blocks::{elements_of_segment, segments};
use crate::open_mpi::{alltoall, barrier};
use crate::program::Program;

/// Of a power of two of processes two exchange in each step.
pub(super) fn pairwise(call: &Call, parameters: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    if !n.is_power_of_two() {
        return alltoall::pairwise(call, parameters, p);
    }
    let bytes = call.elements * call.element_bytes;
    for step in 1..n {
        let other = p.rank() ^ step;
        p.sendrecv(other, bytes, other);
    }
}

/// So many receives and sends at once.
pub(super) fn scattered(call: &Call, parameters: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let own = p.rank();
    let bytes = call.elements * call.element_bytes;
    let at_once = match parameters.requests {
        0 => n,
        some => some,
    };
    for first in (0..n).step_by(at_once) {
        let steps = || (first..n.min(first + at_once)).filter(|&step| step > 0);
        let mut requests: Vec<_> = steps().map(|step| p.irecv((own + step) % n)).collect();
        for step in steps() {
            requests.push(p.isend((own + n - step) % n, bytes));
        }
        p.wait_all(requests);
    }
}

pub(super) fn allgatherv_ring(call: &Call, parameters: &Parameters, p: &mut Program) {
    gather_around(call, |_| call.elements, parameters, p);
}

/// Passes blocks around a ring, each in segments.
pub(super) fn gather_around(
    call: &Call,
    elements: impl Fn(usize) -> u64,
    parameters: &Parameters,
    p: &mut Program,
) {
    let n = call.n_processes;
    let (next, previous) = ((p.rank() + 1) % n, (p.rank() + n - 1) % n);
    let longest = (0..n).map(&elements).max().unwrap_or(0);
    let longest = Call {
        elements: longest,
        ..*call
    };
    let of_segment = elements_of_segment(&longest, parameters);
    let from = |first: usize| {
        let blocks = (0..n - 1).map(|step| (first + n - step) % n);
        let segments = blocks.flat_map(|block| segments(elements(block), of_segment));
        segments.collect::<Vec<u64>>()
    };
    let (sent, received) = (from(p.rank()), from(previous));
    for at in 0..sent.len().max(received.len()) {
        let [sent, received] = [&sent, &received].map(|of| of.get(at).map_or(0, |n| *n));
        let bytes = sent * call.element_bytes;
        if sent > 0 && received > 0 {
            p.sendrecv(next, bytes, previous);
        } else if sent > 0 {
            p.send(next, bytes);
        } else if received > 0 {
            p.recv(previous);
        }
    }
}

/// In each step with several others, at distances that are multiples of a power.
pub(super) fn k_dissemination(call: &Call, parameters: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let radix = parameters.radix.min(n);
    if radix == 2 {
        return barrier::bruck(call, parameters, p);
    }
    let mut received = Vec::new();
    let mut distance = 1;
    while distance < n {
        let mut before = std::mem::take(&mut received);
        let mut sent = Vec::new();
        let steps = (1..radix).map(|step| step * distance % n);
        for step in steps.filter(|&step| step > 0) {
            received.push(p.irecv((p.rank() + n - step) % n));
            p.wait_all(std::mem::take(&mut before));
            sent.push(p.isend((p.rank() + step) % n, 0));
        }
        p.wait_all(sent);
        distance *= radix;
    }
    p.wait_all(received);
}
