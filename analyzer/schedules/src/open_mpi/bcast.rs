//! Broadcasts.
//!
//! # Source
//! Open MPI's `coll_base_bcast.c`; Thakur, Rabenseifner and Gropp 2005 for those that scatter and
//! gather.

use super::blocks::{elements_of_segment, segments};
use super::trees::{self, Place, binomial, chains, k_ary, k_nomial, relative};
use crate::call::{Call, Parameters};
use crate::program::Program;

pub(super) fn linear(call: &Call, _: &Parameters, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    if p.rank() != call.root {
        return p.recv(call.root);
    }
    let others = (0..call.n_processes).filter(|&rank| rank != call.root);
    let sent: Vec<_> = others.map(|rank| p.isend(rank, bytes)).collect();
    p.wait_all(sent);
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
    let place = binomial(p.rank(), call.root, call.n_processes);
    along(call, parameters, &place, p);
}

pub(super) fn k_nomial_tree(call: &Call, parameters: &Parameters, p: &mut Program) {
    let place = k_nomial(parameters.radix, p.rank(), call.root, call.n_processes);
    along(call, parameters, &place, p);
}

/// Along a tree, segment by segment. The receive of the next segment is posted before one is waited for.
fn along(call: &Call, parameters: &Parameters, place: &Place, p: &mut Program) {
    let of_segment = elements_of_segment(call, parameters);
    let segments = segments(call.elements, of_segment);
    let mut received = place.parent.map(|parent| p.irecv(parent));
    for (nth, elements) in segments.iter().enumerate() {
        if let (Some(parent), Some(request)) = (place.parent, received) {
            if nth + 1 < segments.len() {
                received = Some(p.irecv(parent));
            }
            p.wait(request);
        }
        let bytes = elements * call.element_bytes;
        let children = place.children.iter();
        let sent: Vec<_> = children.map(|&child| p.isend(child, bytes)).collect();
        p.wait_all(sent);
    }
}

/// Each half along one half of a binary tree; then those at the same place of both halves exchange what they have.
pub(super) fn split_binary_tree(call: &Call, parameters: &Parameters, p: &mut Program) {
    let (n, root) = (call.n_processes, call.root);
    let halves = [
        call.elements.div_ceil(2),
        call.elements - call.elements.div_ceil(2),
    ];
    let place = k_ary(2, p.rank(), root, n);
    let segments = halves.map(|elements| {
        let segment_bytes = parameters.segment_bytes;
        let of_segment = match segment_bytes {
            0 => elements,
            _ => segment_bytes.max(call.element_bytes) / call.element_bytes,
        };
        segments(elements, of_segment)
    });
    let at = relative(p.rank(), root, n);
    let half = (at + 1) % 2;
    let bytes = |elements: u64| elements * call.element_bytes;
    match place.parent {
        None => {
            for nth in 0..segments[0].len() {
                for (child, of_half) in place.children.iter().zip(&segments) {
                    if let Some(&elements) = of_half.get(nth) {
                        p.send(*child, bytes(elements));
                    }
                }
            }
        }
        Some(parent) if place.children.is_empty() => {
            for _ in &segments[half] {
                p.recv(parent);
            }
        }
        Some(parent) => {
            let mut received = p.irecv(parent);
            for (nth, &elements) in segments[half].iter().enumerate() {
                let request = received;
                if nth + 1 < segments[half].len() {
                    received = p.irecv(parent);
                }
                p.wait(request);
                for &child in &place.children {
                    p.send(child, bytes(elements));
                }
            }
        }
    }
    let last = (root + n - 1) % n;
    if n.is_multiple_of(2) && p.rank() == root {
        p.send(last, bytes(halves[1]));
    } else if n.is_multiple_of(2) && p.rank() == last {
        p.recv(root);
    } else if p.rank() != root {
        let pair = if half == 0 {
            (p.rank() + 1) % n
        } else {
            (p.rank() + n - 1) % n
        };
        p.sendrecv(pair, bytes(halves[half]), pair);
    }
}

/// The elements that the process at a place relative to the root keeps when all are scattered.
fn scattered(call: &Call, at: usize) -> u64 {
    let of_block = call.elements.div_ceil(call.n_processes as u64);
    let before = of_block * at as u64;
    of_block.min(call.elements.saturating_sub(before))
}

/// Scatters along a binomial tree with ranks in order.
fn scatter(call: &Call, p: &mut Program) {
    let n = call.n_processes;
    let at = relative(p.rank(), call.root, n);
    let place = trees::in_order_binomial(p.rank(), call.root, n);
    let of_block = call.elements.div_ceil(n as u64);
    // Who gets nothing receives nothing.
    let mut has = call.elements.saturating_sub(of_block * at as u64);
    if let Some(parent) = place.parent {
        if has == 0 {
            return;
        }
        p.recv(parent);
        let of_subtree = 1 << at.trailing_zeros();
        has = has.min(of_block * of_subtree);
    }
    for &child in place.children.iter().rev() {
        let distance = relative(child, p.rank(), n) as u64;
        let elements = has.saturating_sub(of_block * distance);
        if elements > 0 {
            p.send(child, elements * call.element_bytes);
            has -= elements;
        }
    }
}

pub(crate) fn scatter_ring(call: &Call, _: &Parameters, p: &mut Program) {
    scatter(call, p);
    let n = call.n_processes;
    let at = relative(p.rank(), call.root, n);
    for step in 0..n - 1 {
        let bytes = scattered(call, (at + n - step) % n) * call.element_bytes;
        p.sendrecv((p.rank() + 1) % n, bytes, (p.rank() + n - 1) % n);
    }
}

pub(crate) fn scatter_recursive_doubling(call: &Call, _: &Parameters, p: &mut Program) {
    scatter(call, p);
    let n = call.n_processes;
    let at = relative(p.rank(), call.root, n);
    let of_block = call.elements.div_ceil(n as u64);
    let rank_of = |at: usize| (at + call.root) % n;
    // The elements of the blocks from one on.
    let of_blocks = |first: usize, n_blocks: usize| {
        let left = call.elements.saturating_sub(of_block * first as u64);
        left.min(of_block * n_blocks as u64)
    };
    let mut has = scattered(call, at);
    let mut mask = 1;
    while mask < n {
        let other = at ^ mask;
        let (own_first, other_first) = (at / mask * mask, other / mask * mask);
        let mut received = 0;
        if other < n {
            p.sendrecv(rank_of(other), has * call.element_bytes, rank_of(other));
            received = of_blocks(other_first, mask);
            has += received;
        }
        // Those whose partner is missing get what it would have had from those that received it.
        if other_first + mask > n {
            let n_with_all = n.saturating_sub(own_first + mask);
            let mut half = mask >> 1;
            while half > 0 {
                let other = at ^ half;
                let first = at / (2 * half) * (2 * half);
                let has_all = |at: usize| at < first + n_with_all;
                if other > at && has_all(at) && !has_all(other) {
                    p.send(rank_of(other), received * call.element_bytes);
                } else if other < at && has_all(other) && !has_all(at) {
                    p.recv(rank_of(other));
                    received = of_blocks(own_first + mask, mask);
                    has += received;
                }
                half >>= 1;
            }
        }
        mask <<= 1;
    }
}
