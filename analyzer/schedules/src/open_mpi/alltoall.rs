//! Each to each.
//!
//! # Source
//! Open MPI's `coll_base_alltoall.c` and `coll_base_alltoallv.c`.

use crate::call::{Call, Parameters};
use crate::program::Program;

/// All receives and sends at once, beginning with the neighbours.
pub(super) fn linear(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let own = p.rank();
    let bytes = call.elements * call.element_bytes;
    let mut requests: Vec<_> = (1..n).map(|step| p.irecv((own + step) % n)).collect();
    for step in 1..n {
        requests.push(p.isend((own + n - step) % n, bytes));
    }
    p.wait_all(requests);
}

pub(crate) fn pairwise(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let bytes = call.elements * call.element_bytes;
    for step in 1..n {
        p.sendrecv((p.rank() + step) % n, bytes, (p.rank() + n - step) % n);
    }
}

pub(crate) fn bruck(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let mut distance = 1;
    while distance < n {
        let n_blocks = (1..n).filter(|block| block & distance != 0).count() as u64;
        let bytes = n_blocks * call.elements * call.element_bytes;
        p.sendrecv(
            (p.rank() + distance) % n,
            bytes,
            (p.rank() + n - distance) % n,
        );
        distance <<= 1;
    }
}

/// All receives, then all sends, by rank.
pub(super) fn v_linear(call: &Call, _: &Parameters, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    let own = p.rank();
    let others = || (0..call.n_processes).filter(|&rank| rank != own);
    let mut requests: Vec<_> = others().map(|rank| p.irecv(rank)).collect();
    for rank in others() {
        requests.push(p.isend(rank, bytes));
    }
    p.wait_all(requests);
}

/// The first partner of each process is itself, by a message.
pub(super) fn pairwise_from_itself(call: &Call, parameters: &Parameters, p: &mut Program) {
    let own = p.rank();
    let received = p.irecv(own);
    p.send(own, call.elements * call.element_bytes);
    p.wait(received);
    pairwise(call, parameters, p);
}
