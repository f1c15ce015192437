//! To a root, and from it, another part for each process.
//!
//! # Source
//! Open MPI's `coll_base_gather.c`, `coll_base_scatter.c`, and `coll_basic_scatterv.c`.

use super::blocks::elements_of_segment;
use super::trees::{in_order_binomial, relative};
use crate::call::{Call, Parameters};
use crate::program::Program;

/// Bytes of the subtree of a process at a place relative to the root.
fn of_subtree(call: &Call, at: usize) -> u64 {
    let n = call.n_processes;
    let n_below = if at == 0 {
        n
    } else {
        (1 << at.trailing_zeros()).min(n - at)
    };
    n_below as u64 * call.elements * call.element_bytes
}

pub(super) fn gather_linear(call: &Call, _: &Parameters, p: &mut Program) {
    if p.rank() != call.root {
        return p.send(call.root, call.elements * call.element_bytes);
    }
    for rank in (0..call.n_processes).filter(|&rank| rank != call.root) {
        p.recv(rank);
    }
}

pub(crate) fn gather_binomial(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let place = in_order_binomial(p.rank(), call.root, n);
    for &child in &place.children {
        p.recv(child);
    }
    if let Some(parent) = place.parent {
        p.send(parent, of_subtree(call, relative(p.rank(), call.root, n)));
    }
}

/// The root asks one process after the other, and waits for the first segment of each.
pub(super) fn gather_linear_synchronized(call: &Call, parameters: &Parameters, p: &mut Program) {
    let first = elements_of_segment(call, parameters);
    let bytes = [first, call.elements - first].map(|elements| elements * call.element_bytes);
    if p.rank() != call.root {
        p.recv(call.root);
        p.send(call.root, bytes[0]);
        return p.send(call.root, bytes[1]);
    }
    let mut rest = Vec::new();
    for rank in (0..call.n_processes).filter(|&rank| rank != call.root) {
        let received = p.irecv(rank);
        p.send(rank, 0);
        rest.push(p.irecv(rank));
        p.wait(received);
    }
    p.wait_all(rest);
}

pub(super) fn scatter_linear(call: &Call, _: &Parameters, p: &mut Program) {
    if p.rank() != call.root {
        return p.recv(call.root);
    }
    for rank in (0..call.n_processes).filter(|&rank| rank != call.root) {
        p.send(rank, call.elements * call.element_bytes);
    }
}

pub(crate) fn scatter_binomial(call: &Call, _: &Parameters, p: &mut Program) {
    let n = call.n_processes;
    let place = in_order_binomial(p.rank(), call.root, n);
    if let Some(parent) = place.parent {
        p.recv(parent);
    }
    for &child in place.children.iter().rev() {
        p.send(child, of_subtree(call, relative(child, call.root, n)));
    }
}

/// All sends at once, but that it waits for each one whose rank is a multiple of so many.
pub(super) fn scatter_linear_nonblocking(call: &Call, parameters: &Parameters, p: &mut Program) {
    if p.rank() != call.root {
        return p.recv(call.root);
    }
    let bytes = call.elements * call.element_bytes;
    let requests = parameters.requests;
    let mut sent = Vec::new();
    for rank in (0..call.n_processes).filter(|&rank| rank != call.root) {
        if requests > 1 && rank.is_multiple_of(requests) {
            p.send(rank, bytes);
        } else {
            sent.push(p.isend(rank, bytes));
        }
    }
    p.wait_all(sent);
}
