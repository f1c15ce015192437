//! How the reductions of MPICH group the contributions.
//!
//! # Source
//! The functions of MPICH with these names, of operations that commute.

use super::along_trees::{k_ary, k_nomial_1, k_nomial_2};
use crate::call::{Call, Parameters};
use crate::grouping::{Grouping, Numerics, Term, Terms};
use crate::open_mpi::groupings::{
    around, doubling, doubling_without_pairs, exscan_doubling, halving, scan_doubling,
};
use crate::open_mpi::trees::{Place, in_order_binomial, power_of_two_below};

/// In which grouping an algorithm combines the contributions: of an allreduce, a reduce, a reduce_scatter, a scan or
/// an exscan. `None`: it is not known, nothing is reduced, or MPICH runs another algorithm. It depends on the ranks only,
/// not on their hosts.
#[must_use]
pub fn grouping(name: &str, call: &Call, parameters: &Parameters) -> Option<Grouping> {
    let (n, elements) = (call.n_processes, call.elements);
    if n == 1 {
        return None;
    }
    let at_zero = call.with_root(0);
    let along = |terms: &mut Terms, place: fn(&Call, &Parameters, usize) -> Place| {
        terms.along(0, |rank| place(&at_zero, parameters, rank).children)
    };
    let mut terms = Terms::default();
    let term = match name {
        "MPIR_Allreduce_intra_recursive_doubling" => doubling(n, &mut terms),
        "MPIR_Allreduce_intra_recursive_multiplying" => {
            multiplying(n, parameters.radix, &mut terms)
        }
        "MPIR_Allreduce_intra_reduce_scatter_allgather"
        | "MPIR_Reduce_intra_reduce_scatter_gather" => {
            (elements >= power_of_two_below(n) as u64).then(|| doubling(n, &mut terms))?
        }
        "MPIR_Allreduce_intra_ring" => return Some(ring(call, terms)),
        "MPIR_Allreduce_intra_tree kary" => along(&mut terms, k_ary),
        "MPIR_Allreduce_intra_tree knomial_1" => along(&mut terms, k_nomial_1),
        "MPIR_Allreduce_intra_tree knomial_2" => along(&mut terms, k_nomial_2),
        "MPIR_Reduce_intra_binomial" => terms.along(call.root, |rank| {
            in_order_binomial(rank, call.root, n).children
        }),
        "MPIR_Reduce_scatter_intra_recursive_halving"
        | "MPIR_Reduce_scatter_block_intra_recursive_halving" => halving(n, &mut terms),
        "MPIR_Reduce_scatter_intra_recursive_doubling"
        | "MPIR_Reduce_scatter_block_intra_recursive_doubling" => {
            doubling_without_pairs(n, &mut terms)
        }
        "MPIR_Reduce_scatter_block_intra_noncommutative" => {
            n.is_power_of_two().then(|| doubling(n, &mut terms))?
        }
        "MPIR_Reduce_scatter_intra_pairwise" | "MPIR_Reduce_scatter_block_intra_pairwise" => {
            // From the process before to the one after, all around.
            let results = (0..n).map(|rank| {
                let ranks = (0..n).map(|step| (rank + n - step) % n);
                Some(terms.chain(ranks))
            });
            let results: Vec<_> = results.collect();
            return Some(Grouping::for_each(terms, elements, results));
        }
        "MPIR_Scan_intra_recursive_doubling" => return Some(scan_doubling(call)),
        "MPIR_Exscan_intra_recursive_doubling" => return Some(exscan_doubling(call)),
        _ => return None,
    };
    Some(if name.starts_with("MPIR_Allreduce_") {
        Grouping::for_all(n, terms, [(elements, term)])
    } else if name.starts_with("MPIR_Reduce_intra_") {
        Grouping::for_root(n, call.root, terms, elements, term)
    } else {
        Grouping::for_each(terms, elements, vec![Some(term); n])
    })
}

/// What is the same to the bit if an algorithm runs, by its [`grouping`]; with the same parameters, and as many elements, among
/// other numbers of processes too.
#[must_use]
pub fn numerics(name: &str, call: &Call, parameters: &Parameters) -> Numerics {
    let among = |n_processes| {
        let call = Call {
            n_processes,
            ..*call
        };
        grouping(name, &call, parameters)
    };
    let of = grouping(name, call, parameters);
    of.map_or_else(Numerics::default, |of| Numerics::of(&of, &[], among))
}

/// In groups of as many as the radix says, each one by one, in the order of their ranks. Before, what processes beyond a
/// power of the radix have is added to others, the lowest of them first.
fn multiplying(n: usize, radix: usize, terms: &mut Terms) -> Term {
    let mut n_powers = 1;
    while n_powers * radix <= n {
        n_powers *= radix;
    }
    let places = (0..n_powers).map(|rank| {
        let beyond = (rank + n_powers..n).step_by(n_powers);
        terms.chain(beyond.chain([rank]))
    });
    let places: Vec<Term> = places.collect();
    terms.of_neighbours(places, radix)
}

/// A block for each process, which begins at the one after it; the last ones may be shorter, or empty.
fn ring(call: &Call, mut terms: Terms) -> Grouping {
    let n = call.n_processes;
    let of_block = call.elements.div_ceil(n as u64);
    let blocks = (0..n).map(|block| {
        let left = call.elements.saturating_sub(of_block * block as u64);
        (left.min(of_block), around(n, block + 1, &mut terms))
    });
    let blocks: Vec<_> = blocks.collect();
    Grouping::for_all(n, terms, blocks)
}
