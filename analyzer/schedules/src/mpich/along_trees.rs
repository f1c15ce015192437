//! Along trees.
//!
//! # Source
//! MPICH's `bcast_intra_binomial.c`, `reduce_intra_binomial.c`, `bcast_intra_tree.c`, `allreduce_intra_tree.c`;
//! `treeutil.c` says in which order the children are.

use std::cmp::Reverse;

use crate::call::{Call, Parameters};
use crate::open_mpi::trees::{self, Place, absolute, in_order_binomial, relative};
use crate::program::Program;
use crate::trees::down;

/// One child after the other, the one with the largest subtree first.
pub(super) fn bcast_binomial(call: &Call, _: &Parameters, p: &mut Program) {
    let place = in_order_binomial(p.rank(), call.root, call.n_processes);
    if let Some(parent) = place.parent {
        p.recv(parent);
    }
    for &child in place.children.iter().rev() {
        p.send(child, call.elements * call.element_bytes);
    }
}

pub(super) fn reduce_binomial(call: &Call, _: &Parameters, p: &mut Program) {
    let place = in_order_binomial(p.rank(), call.root, call.n_processes);
    let bytes = call.elements * call.element_bytes;
    combine_children(&place, bytes, p);
    if let Some(parent) = place.parent {
        p.send(parent, bytes);
    }
}

fn combine_children(place: &Place, bytes: u64, p: &mut Program) {
    for &child in &place.children {
        p.recv(child);
        p.combine(bytes);
    }
}

pub(super) fn bcast_k_ary(call: &Call, parameters: &Parameters, p: &mut Program) {
    bcast(&k_ary(call, parameters, p.rank()), call, p);
}

pub(super) fn bcast_k_nomial_1(call: &Call, parameters: &Parameters, p: &mut Program) {
    bcast(&k_nomial_1(call, parameters, p.rank()), call, p);
}

pub(super) fn bcast_k_nomial_2(call: &Call, parameters: &Parameters, p: &mut Program) {
    bcast(&k_nomial_2(call, parameters, p.rank()), call, p);
}

fn bcast(place: &Place, call: &Call, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    down(place.parent, &place.children, bytes, p);
}

pub(super) fn allreduce_k_ary(call: &Call, parameters: &Parameters, p: &mut Program) {
    let call = call.with_root(0);
    allreduce(&k_ary(&call, parameters, p.rank()), &call, p);
}

pub(super) fn allreduce_k_nomial_1(call: &Call, parameters: &Parameters, p: &mut Program) {
    let call = call.with_root(0);
    allreduce(&k_nomial_1(&call, parameters, p.rank()), &call, p);
}

pub(super) fn allreduce_k_nomial_2(call: &Call, parameters: &Parameters, p: &mut Program) {
    let call = call.with_root(0);
    allreduce(&k_nomial_2(&call, parameters, p.rank()), &call, p);
}

fn allreduce(place: &Place, call: &Call, p: &mut Program) {
    let bytes = call.elements * call.element_bytes;
    combine_children(place, bytes, p);
    let sent = place.parent.map(|parent| p.isend(parent, bytes));
    down(place.parent, &place.children, bytes, p);
    p.wait_all(sent);
}

/// With so many children for each, level by level: those of a process follow each other.
pub(super) fn k_ary(call: &Call, parameters: &Parameters, rank: usize) -> Place {
    let (n, radix) = (call.n_processes, parameters.radix);
    let at = relative(rank, call.root, n);
    let children = (at * radix + 1..=at * radix + radix).filter(|&child| child < n);
    let parent = (at > 0).then(|| (at - 1) / radix);
    absolute(n, call.root, parent, children.collect())
}

/// A k-nomial tree in which each subtree has ranks that follow each other; the largest subtrees come first.
pub(super) fn k_nomial_1(call: &Call, parameters: &Parameters, rank: usize) -> Place {
    let (n, radix) = (call.n_processes, parameters.radix);
    let wanted = relative(rank, call.root, n);
    let mut size = 1;
    while size < n {
        size *= radix;
    }
    let (mut at, mut parent) = (0, None);
    loop {
        // The first rank and the size of each subtree.
        let mut subtrees = Vec::new();
        let mut first = at + 1;
        while size > 1 {
            size /= radix;
            for _ in 1..radix {
                subtrees.push((first, size));
                first += size;
            }
        }
        let before = subtrees.iter().rfind(|(first, _)| *first <= wanted);
        let Some(next) = before.filter(|_| at < wanted) else {
            let children = subtrees.into_iter().map(|(first, _)| first);
            let children = children.filter(|&child| child < n).collect();
            return absolute(n, call.root, parent, children);
        };
        parent = Some(at);
        (at, size) = *next;
    }
}

/// A k-nomial tree in which a process is below the one without its lowest digit; the children with the highest ranks come first.
pub(super) fn k_nomial_2(call: &Call, parameters: &Parameters, rank: usize) -> Place {
    let (n, root) = (call.n_processes, call.root);
    let mut place = trees::k_nomial(parameters.radix, rank, root, n);
    let of = |&child: &usize| Reverse(relative(child, root, n));
    place.children.sort_by_key(of);
    place
}
