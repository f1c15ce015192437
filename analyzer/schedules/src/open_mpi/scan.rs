//! Prefix reductions.
//!
//! # Source
//! Open MPI's `coll_base_scan.c` and `coll_base_exscan.c`.

use crate::call::{Call, Parameters};
use crate::program::Program;

/// From rank to rank. The last process of an exclusive one combines nothing.
pub(super) fn linear(call: &Call, _: &Parameters, p: &mut Program) {
    from_rank_to_rank(call, false, p);
}

pub(super) fn exclusive_linear(call: &Call, _: &Parameters, p: &mut Program) {
    from_rank_to_rank(call, true, p);
}

fn from_rank_to_rank(call: &Call, is_exclusive: bool, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    let is_last = p.rank() + 1 == call.n_processes;
    if p.rank() > 0 {
        p.recv(p.rank() - 1);
        if !(is_exclusive && is_last) {
            p.combine(bytes);
        }
    }
    if !is_last {
        p.send(p.rank() + 1, bytes);
    }
}

pub(crate) fn recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    doubling(call, false, p);
}

pub(crate) fn exclusive_recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    doubling(call, true, p);
}

fn doubling(call: &Call, is_exclusive: bool, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    let mut is_first = true;
    let mut distance = 1;
    while distance < call.n_processes {
        let other = p.rank() ^ distance;
        if other < call.n_processes {
            p.sendrecv(other, bytes, other);
            if p.rank() > other {
                // What comes first is only copied where the own data do not belong to the result.
                if !(is_exclusive && is_first) {
                    p.combine(bytes);
                }
                is_first = false;
            }
            p.combine(bytes);
        }
        distance <<= 1;
    }
}
