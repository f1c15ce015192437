//! How the reductions of Open MPI group the contributions.
//!
//! # Source
//! Open MPI's `coll_base_allreduce.c`, `coll_base_reduce.c`, `coll_base_reduce_scatter.c`,
//! `coll_base_reduce_scatter_block.c`, `coll_base_scan.c` and `coll_base_exscan.c`, of operations that commute.

use super::Named;
use super::blocks::Blocks;
use super::trees::{chains, in_order_binary, in_order_binomial, k_ary, power_of_two_below};
use super::{all, same};
use crate::call::Call;
use crate::grouping::{Grouping, Numerics, Term, Terms};

/// In which grouping an algorithm, and those of which it consists, named as for [`schedule`](super::schedule),
/// combine the contributions: of an allreduce, a reduce, a reduce_scatter, a scan or an exscan. `None`: it is not
/// known, or nothing is reduced. It depends on the ranks only, not on their hosts, and is the same in both releases.
/// Where the library hands few elements on to another algorithm, it is the grouping of that one.
///
/// That the results of Open MPI 4.1.4 have these bits is tested.
#[must_use]
pub fn grouping(named: &[Named<'_>], call: &Call) -> Option<Grouping> {
    let (first, parts) = named.split_first()?;
    let n = call.n_processes;
    let mut terms = Terms::default();
    if n == 1 {
        return None;
    }
    let for_all = |terms, term| Grouping::for_all(n, terms, [(call.elements, term)]);
    let for_each = |terms, term| Grouping::for_each(terms, call.elements, vec![Some(term); n]);
    match (first.name, parts) {
        ("allreduce_intra_basic_linear" | "allreduce_intra_nonoverlapping", [reduce, _]) => {
            let term = reduced(reduce, &same(*call), &mut terms)?;
            Some(for_all(terms, term))
        }
        ("reduce_scatter_intra_nonoverlapping", [reduce])
        | ("reduce_scatter_block_basic_linear", [reduce, _]) => {
            let term = reduced(reduce, &all(*call), &mut terms)?;
            Some(for_each(terms, term))
        }
        (name, []) => match name {
            "allreduce_intra_recursivedoubling" => {
                let term = doubling(n, &mut terms);
                Some(for_all(terms, term))
            }
            "allreduce_intra_redscat_allgather" => {
                let term = doubling_unless_few(call, &mut terms);
                Some(for_all(terms, term))
            }
            "allreduce_intra_ring" | "allreduce_intra_ring_segmented" => Some(ring(call, terms)),
            "reduce_scatter_intra_basic_recursivehalving"
            | "reduce_scatter_block_intra_recursivehalving" => {
                let term = halving(n, &mut terms);
                Some(for_each(terms, term))
            }
            "reduce_scatter_intra_butterfly" | "reduce_scatter_block_intra_butterfly" => {
                let term = doubling(n, &mut terms);
                Some(for_each(terms, term))
            }
            "reduce_scatter_block_intra_recursivedoubling" => {
                let term = doubling_without_pairs(n, &mut terms);
                Some(for_each(terms, term))
            }
            "reduce_scatter_intra_ring" => {
                // A block begins at the process after the one that gets it.
                let blocks = (0..n).map(|rank| Some(around(n, rank + 1, &mut terms)));
                let blocks: Vec<_> = blocks.collect();
                Some(Grouping::for_each(terms, call.elements, blocks))
            }
            "scan_intra_linear" => Some(prefixes(call, 0, |rank, terms| terms.chain(0..=rank))),
            "exscan_intra_linear" => Some(prefixes(call, 1, |rank, terms| terms.chain(0..rank))),
            "scan_intra_recursivedoubling" => Some(scan_doubling(call)),
            "exscan_intra_recursivedoubling" => Some(exscan_doubling(call)),
            _ => {
                let term = reduced(first, call, &mut terms)?;
                let Call { root, elements, .. } = *call;
                Some(Grouping::for_root(n, root, terms, elements, term))
            }
        },
        _ => None,
    }
}

/// What is the same to the bit if an algorithm runs, by its [`grouping`]; with the same parameters, and as many elements, among
/// other numbers of processes too.
#[must_use]
pub fn numerics(named: &[Named<'_>], call: &Call) -> Numerics {
    let among = |n_processes| {
        let call = Call {
            n_processes,
            ..*call
        };
        grouping(named, &call)
    };
    grouping(named, call).map_or_else(Numerics::default, |of| Numerics::of(&of, &[], among))
}

/// What a reduction leaves at its root.
fn reduced(of: &Named<'_>, call: &Call, terms: &mut Terms) -> Option<Term> {
    let Call {
        n_processes: n,
        root,
        ..
    } = *call;
    Some(match of.name {
        "reduce_intra_basic_linear" => linear(n, terms),
        "reduce_intra_chain" => {
            let chains = |rank| chains(of.parameters.chains, rank, root, n);
            terms.along(root, |rank| chains(rank).children)
        }
        "reduce_intra_pipeline" => terms.along(root, |rank| chains(1, rank, root, n).children),
        "reduce_intra_binary" => terms.along(root, |rank| k_ary(2, rank, root, n).children),
        "reduce_intra_binomial" => {
            terms.along(root, |rank| in_order_binomial(rank, root, n).children)
        }
        "reduce_intra_in_order_binary" => {
            terms.along(n - 1, |rank| in_order_binary(rank, n).children)
        }
        "reduce_intra_redscat_gather" => doubling_unless_few(call, terms),
        _ => return None,
    })
}

/// The last process first, each one before to what there is: `0+(1+(2+3))`.
fn linear(n: usize, terms: &mut Terms) -> Term {
    terms.chain((0..n).rev())
}

/// Rabenseifner's algorithm groups as recursive doubling does, in each part of the elements. With fewer elements than parts the
/// library goes the linear way.
fn doubling_unless_few(call: &Call, terms: &mut Terms) -> Term {
    if call.elements < power_of_two_below(call.n_processes) as u64 {
        return linear(call.n_processes, terms);
    }
    doubling(call.n_processes, terms)
}

/// What the processes at places of a power of two begin with: of more processes the first ones are in pairs.
fn at_places(n: usize, terms: &mut Terms) -> Vec<Term> {
    let n_powers = power_of_two_below(n);
    let n_pairs = n - n_powers;
    let places = 0..n_powers;
    places
        .map(|at| {
            if at < n_pairs {
                terms.chain([2 * at, 2 * at + 1])
            } else {
                terms.contribution(at + n_pairs)
            }
        })
        .collect()
}

/// Exchanges at distances that double. All have the same in the end.
pub(crate) fn doubling(n: usize, terms: &mut Terms) -> Term {
    let places = at_places(n, terms);
    terms.of_neighbours(places, 2)
}

/// Exchanges at distances that halve.
pub(crate) fn halving(n: usize, terms: &mut Terms) -> Term {
    let mut places = at_places(n, terms);
    while places.len() > 1 {
        let (first, second) = places.split_at(places.len() / 2);
        let pairs = first.iter().zip(second);
        places = pairs.map(|(one, other)| terms.sum(*one, *other)).collect();
    }
    places[0]
}

/// Exchanges at distances that double, among any number of processes.
pub(crate) fn doubling_without_pairs(n: usize, terms: &mut Terms) -> Term {
    let contributions = terms.contributions(n);
    terms.of_neighbours(contributions, 2)
}

/// Once around a ring, from a process on.
pub(crate) fn around(n: usize, first: usize, terms: &mut Terms) -> Term {
    terms.chain((first..first + n).map(|rank| rank % n))
}

/// A block for each process, which begins there. Fewer elements than processes go the way of recursive doubling.
fn ring(call: &Call, mut terms: Terms) -> Grouping {
    let n = call.n_processes;
    if call.elements < n as u64 {
        let term = doubling(n, &mut terms);
        return Grouping::for_all(n, terms, [(call.elements, term)]);
    }
    let blocks = Blocks::of(call.elements, n as u64);
    let blocks = (0..n).map(|first| (blocks.length(first as u64), around(n, first, &mut terms)));
    let blocks: Vec<_> = blocks.collect();
    Grouping::for_all(n, terms, blocks)
}

/// What each process gets, from rank `first` on.
fn prefixes(call: &Call, first: usize, of: impl Fn(usize, &mut Terms) -> Term) -> Grouping {
    let mut terms = Terms::default();
    let ranks = 0..call.n_processes;
    let results = ranks.map(|rank| (rank >= first).then(|| of(rank, &mut terms)));
    let results: Vec<_> = results.collect();
    Grouping::for_each(terms, call.elements, results)
}

/// Exchanges at distances that double; what comes from lower ranks belongs to the result.
pub(crate) fn scan_doubling(call: &Call) -> Grouping {
    prefixes(call, 0, |rank, terms| {
        let own = terms.contribution(rank);
        let parts = lower_parts(rank, terms);
        terms.one_by_one(std::iter::once(own).chain(parts))
    })
}

pub(crate) fn exscan_doubling(call: &Call) -> Grouping {
    prefixes(call, 1, |rank, terms| {
        let parts = lower_parts(rank, terms);
        terms.one_by_one(parts)
    })
}

/// What comes from lower ranks: of a power of two of them at a time, the nearest and fewest first.
fn lower_parts(rank: usize, terms: &mut Terms) -> Vec<Term> {
    let distances = (0..usize::BITS).map(|bit| 1_usize << bit);
    let distances = distances.filter(|distance| rank & distance != 0);
    let mut parts = Vec::new();
    let mut end = rank;
    for distance in distances {
        let part = (end - distance..end).map(|of| terms.contribution(of));
        let part: Vec<Term> = part.collect();
        parts.push(terms.of_neighbours(part, 2));
        end -= distance;
    }
    parts
}
