//! Which of several names of a graph is the one that the MPI library means.
//!
//! Among few processes some algorithms are one graph. Open MPI says by what names it calls its
//! algorithms, though not in which instance; where one of the names fits, it decides.

use super::algorithm::{Algorithm, Pattern, Rooted, Tree};
use crate::algorithms::AlgorithmSummary;
use crate::sources::Sources;
use crate::sums::{OperationKey, OperationTally};

/// A name that was chosen among several.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Called<'a> {
    pub(crate) algorithm: Algorithm,
    /// What the library calls it.
    pub(crate) name: &'a str,
}

/// The one among the names of all graphs of an operation by which the library calls an algorithm that
/// it ran for such payloads among so many processes; `None` where there is nothing to choose, it has
/// said nothing, or several are meant.
pub(crate) fn called<'a>(
    sources: &Sources<'_>,
    key: &OperationKey,
    tally: &OperationTally,
    library: &'a [AlgorithmSummary],
) -> Option<Called<'a>> {
    let mut graphs = tally.inside.as_ref()?.graphs.values();
    let first = graphs.next()?;
    let rest: Vec<_> = graphs.collect();
    let is_common = |name: &&Algorithm| rest.iter().all(|graph| graph.names.contains(name));
    let names = first.names.iter().filter(is_common).copied();
    let names: Vec<Algorithm> = names.collect();
    // What goes on among leaders of hosts is said as if it were all.
    let is_flat = matches!(key.algorithm, Some(Algorithm::Flat(_)));
    if names.len() < 2 || !is_flat {
        return None;
    }
    let n_processes = sources.communicators.entries[key.entry?].ranks.len() as u64;
    let meant = library
        .iter()
        .filter(|one| one.operation == key.operation.name())
        .filter(|one| is_within(one, tally.bytes, n_processes))
        .flat_map(|one| {
            let is_meant = |name: &Algorithm| is_called(*name, &one.name);
            let meant: Vec<Algorithm> = names.iter().copied().filter(is_meant).collect();
            meant.into_iter().map(|algorithm| Called {
                algorithm,
                name: &one.name,
            })
        });
    let mut chosen: Option<Called<'a>> = None;
    for one in meant {
        match chosen {
            Some(chosen) if chosen.algorithm != one.algorithm => return None,
            Some(_) => {}
            None => chosen = Some(one),
        }
    }
    let chosen = chosen?;
    let renamed = OperationKey {
        algorithm: Some(chosen.algorithm),
        ..*key
    };
    // Two entries of one name would not be told apart.
    let is_taken = |other: &OperationKey| *other == renamed && *other != *key;
    let is_taken = sources.tally.operations().any(|(other, _)| is_taken(other));
    (!is_taken).then_some(chosen)
}

/// Whether the library ran it for some of these payloads, and on a communicator that may be this one.
fn is_within(one: &AlgorithmSummary, bytes: Option<(u64, u64)>, n_processes: u64) -> bool {
    let meets = |own: Option<(u64, u64)>, other: Option<(u64, u64)>| match (own, other) {
        (Some((least, most)), Some((other_least, other_most))) => {
            least <= other_most && other_least <= most
        }
        _ => true,
    };
    let processes = one.processes_min.zip(one.processes_max);
    let processes = processes.map(|(least, most)| (least.into(), most.into()));
    meets(one.bytes_min.zip(one.bytes_max), bytes)
        && meets(processes, Some((n_processes, n_processes)))
}

/// Whether that is the algorithm which Open MPI calls `name`, such as `bcast_intra_bintree`: see its
/// `coll_base_functions.h`.
fn is_called(algorithm: Algorithm, name: &str) -> bool {
    let Algorithm::Flat(pattern) = algorithm else {
        return false;
    };
    let Some((_, how)) = name.split_once("_intra_") else {
        return false;
    };
    let rooted = match pattern {
        Pattern::Rooted(rooted) => Some(rooted),
        Pattern::ToAndFrom(to, from) if to == from => Some(to),
        _ => None,
    };
    let tree = match rooted {
        Some(Rooted::Tree(tree)) => Some(tree),
        _ => None,
    };
    match how {
        "basic_linear" | "linear" | "linear_nb" => {
            tree == Some(Tree::Linear) || matches!(pattern, Pattern::Linear | Pattern::Chain)
        }
        "linear_sync" => {
            rooted == Some(Rooted::LinearSynchronized) || pattern == Pattern::LinearSynchronized
        }
        "binomial" | "tree" => tree == Some(Tree::Binomial),
        "bintree" | "binary" => tree == Some(Tree::Binary),
        "in_order_binary" => tree == Some(Tree::InOrderBinary),
        "knomial" => matches!(tree, Some(Tree::Knomial(_))),
        "chain" => matches!(tree, Some(Tree::Chain(_))),
        "pipeline" => tree == Some(Tree::Pipeline),
        "split_bintree" => rooted == Some(Rooted::SplitBinary),
        "scatter_allgather" => rooted == Some(Rooted::ScatterRecursiveDoubling),
        "scatter_allgather_ring" => rooted == Some(Rooted::ScatterRing),
        "redscat_allgather" | "redscat_gather" => {
            rooted == Some(Rooted::Rabenseifner) || pattern == Pattern::Rabenseifner
        }
        "recursivedoubling" => pattern == Pattern::RecursiveDoubling,
        "recursivehalving" | "basic_recursivehalving" => pattern == Pattern::RecursiveHalving,
        "butterfly" => pattern == Pattern::Butterfly,
        "bruck" => matches!(pattern, Pattern::Bruck | Pattern::Dissemination),
        "ring" => pattern == Pattern::Ring,
        "ring_segmented" => pattern == Pattern::SegmentedRing,
        "doublering" => pattern == Pattern::DoubleRing,
        "sparbit" => pattern == Pattern::Sparbit,
        "neighborexchange" => pattern == Pattern::NeighborExchange,
        "pairwise" => pattern == Pattern::Pairwise,
        "two_procs" => pattern == Pattern::TwoProcesses,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_of_the_library_means_one_algorithm() {
        let tree = |tree| Algorithm::Flat(Pattern::Rooted(Rooted::Tree(tree)));
        let there_and_back = |tree| {
            let rooted = Rooted::Tree(tree);
            Algorithm::Flat(Pattern::ToAndFrom(rooted, rooted))
        };
        let all = [
            tree(Tree::Linear),
            tree(Tree::Binary),
            tree(Tree::Binomial),
            tree(Tree::Chain(4)),
            tree(Tree::Pipeline),
            there_and_back(Tree::Linear),
            Algorithm::Flat(Pattern::RecursiveDoubling),
            Algorithm::Flat(Pattern::Butterfly),
            Algorithm::Flat(Pattern::Rabenseifner),
            Algorithm::Flat(Pattern::Rooted(Rooted::Rabenseifner)),
            Algorithm::Flat(Pattern::Ring),
            Algorithm::Flat(Pattern::SegmentedRing),
        ];
        for (name, meant) in [
            ("bcast_intra_bintree", vec![1]),
            ("reduce_intra_binary", vec![1]),
            ("bcast_intra_binomial", vec![2]),
            ("bcast_intra_chain", vec![3]),
            ("bcast_intra_pipeline", vec![4]),
            ("allreduce_intra_basic_linear", vec![0, 5]),
            ("reduce_scatter_block_intra_butterfly", vec![7]),
            ("allreduce_intra_recursivedoubling", vec![6]),
            ("allreduce_intra_redscat_allgather", vec![8, 9]),
            ("allreduce_intra_ring", vec![10]),
            ("allreduce_intra_ring_segmented", vec![11]),
            ("number 3, without a name", vec![]),
        ] {
            let found = (0..all.len()).filter(|&one| is_called(all[one], name));
            assert_eq!(found.collect::<Vec<_>>(), meant, "{name}");
        }
    }
}
