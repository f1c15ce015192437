//! Reductions to a root.
//!
//! # Source
//! Open MPI's `coll_base_reduce.c`.

use super::allreduce::{Halving, halve};
use super::blocks::{elements_of_segment, segments};
use super::trees::{Place, chains, in_order_binary, in_order_binomial, k_ary};
use crate::call::{Call, Parameters};
use crate::program::{Program, Request};

pub(super) fn linear(call: &Call, _: &Parameters, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    if p.rank() != call.root {
        return p.send(call.root, bytes);
    }
    let last = call.n_processes - 1;
    for rank in (0..=last).rev() {
        if rank != call.root {
            p.recv(rank);
        }
        if rank != last {
            p.combine(bytes);
        }
    }
}

pub(super) fn chain(call: &Call, parameters: &Parameters, p: &mut Program) {
    let place = chains(parameters.chains, p.rank(), call.root, call.n_processes);
    along(call, parameters, &place, p);
}

pub(super) fn pipeline(call: &Call, parameters: &Parameters, p: &mut Program) {
    let place = chains(1, p.rank(), call.root, call.n_processes);
    along(call, parameters, &place, p);
}

pub(super) fn binary_tree(call: &Call, parameters: &Parameters, p: &mut Program) {
    let place = k_ary(2, p.rank(), call.root, call.n_processes);
    along(call, parameters, &place, p);
}

pub(super) fn binomial_tree(call: &Call, parameters: &Parameters, p: &mut Program) {
    let place = in_order_binomial(p.rank(), call.root, call.n_processes);
    along(call, parameters, &place, p);
}

/// To the last rank, so that the order of the ranks is kept, and from there to the root.
pub(super) fn in_order_binary_tree(call: &Call, parameters: &Parameters, p: &mut Program) {
    let place = in_order_binary(p.rank(), call.n_processes);
    along(call, parameters, &place, p);
    let last = call.n_processes - 1;
    if last == call.root {
        return;
    }
    if p.rank() == call.root {
        p.recv(last);
    } else if p.rank() == last {
        p.send(call.root, call.elements * call.element_bytes);
    }
}

/// Along a tree, segment by segment. The receive of what comes next, from the next child or of the next segment, is posted
/// before one is waited for.
fn along(call: &Call, parameters: &Parameters, place: &Place, p: &mut Program) {
    let of_segment = elements_of_segment(call, parameters);
    let segments = segments(call.elements, of_segment);
    let bytes = |elements: u64| elements * call.element_bytes;
    if place.children.is_empty() {
        let Some(parent) = place.parent else {
            return;
        };
        return from_leaf(
            parent,
            &segments,
            call.element_bytes,
            parameters.requests,
            p,
        );
    }
    let mut posted: Option<Request> = None;
    let mut done: Option<(u64, bool)> = None;
    // What was received for a segment is combined when the next receive is posted.
    let mut go_on = |p: &mut Program, next: Option<Request>, of: Option<(u64, bool)>| {
        if let Some(request) = posted.take() {
            p.wait(request);
        }
        if let Some((elements, is_last_child)) = done {
            p.combine(bytes(elements));
            if let (true, Some(parent)) = (is_last_child, place.parent) {
                p.send(parent, bytes(elements));
            }
        }
        (posted, done) = (next, of);
    };
    for &elements in &segments {
        for (nth, &child) in place.children.iter().enumerate() {
            let is_last_child = nth + 1 == place.children.len();
            let request = p.irecv(child);
            go_on(p, Some(request), Some((elements, is_last_child)));
        }
    }
    go_on(p, None, None);
}

/// Sends all segments; of many only so many at once, each until the parent receives it.
fn from_leaf(parent: usize, segments: &[u64], element_bytes: u64, at_once: usize, p: &mut Program) {
    if at_once == 0 || segments.len() <= at_once {
        for elements in segments {
            p.send(parent, elements * element_bytes);
        }
        return;
    }
    let mut sent = std::collections::VecDeque::new();
    for elements in segments {
        if sent.len() == at_once
            && let Some(first) = sent.pop_front()
        {
            p.wait(first);
        }
        sent.push_back(p.isend_synchronous(parent, elements * element_bytes));
    }
    p.wait_all(sent);
}

/// Reduces parts by recursive halving, then gathers them at the root along a binomial tree.
pub(super) fn rabenseifner(call: &Call, _: &Parameters, p: &mut Program) {
    let halving = halve(call, p);
    gather_halves_at_root(call, halving, p);
}

/// Gathers at the root what recursive halving left, along a binomial tree.
pub(crate) fn gather_halves_at_root(call: &Call, mut halving: Halving, p: &mut Program) {
    let Call {
        root, n_processes, ..
    } = *call;
    let bytes = |elements: u64| elements * call.element_bytes;
    // The root may be one of those that were left out: then it takes the place of the first process.
    let is_paired = root < 2 * halving.n_pairs;
    let is_root_out = is_paired && root % 2 != halving.stays;
    let at_of_root = if is_root_out {
        0
    } else if is_paired {
        root / 2
    } else {
        root - halving.n_pairs
    };
    if is_root_out && p.rank() == root {
        // It sends nothing.
        halving.kept = vec![0; n_processes.ilog2() as usize];
        p.recv(0);
        halving.at = Some(0);
    } else if is_root_out && halving.at == Some(0) {
        if let Some(&last) = halving.kept.last() {
            p.send(root, bytes(last));
        }
        halving.at = None;
    }
    let Some(at) = halving.at else {
        return;
    };
    for (step, &elements) in halving.kept.iter().enumerate().rev() {
        let other = at ^ (1 << step);
        let rank = if other == 0 && is_root_out {
            root
        } else {
            halving.rank(other)
        };
        if other >> step == at_of_root >> step {
            p.send(rank, bytes(elements));
            break;
        }
        p.recv(rank);
    }
}
