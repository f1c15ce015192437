//! Names that the library reports for the schedules of its algorithms, among few processes, where
//! many of them have the same graph.

use super::*;
use crate::library_name::{LibraryName, NamedAlgorithm, name_algorithm};
use crate::shape::{Shape, ShapeKey};

fn shape(schedule: &Schedule, operation: Operation, root: Option<u32>) -> Shape {
    let mut sent = schedule.sent.clone();
    sent.sort_by_key(|sent| sent.from);
    let of = ShapeKey {
        operation,
        n_slots: schedule.n as usize,
        root: root.map(|root| root as usize),
        hosts: 0,
    };
    Shape::new(of, sent, places(&vec![0; schedule.n as usize]))
}

fn names(names: &[&str]) -> Vec<LibraryName> {
    let known = names.iter().map(|name| LibraryName::of(name).unwrap());
    known.collect()
}

fn named_by(reported: &[&str], operation: Operation, shape: Option<&Shape>) -> NamedAlgorithm {
    name_algorithm(operation, &[names(reported)], shape)
}

/// Along the edges of a tree by its definition, from its root.
fn tree(n: u32, tree: Tree) -> Schedule {
    let parents = crate::spanning::of_name(tree, n).remove(0).1;
    let mut schedule = Schedule::new(n);
    for (rank, &parent) in (0..).zip(&parents).skip(1) {
        schedule.send(parent, rank);
    }
    schedule
}

/// One schedule after the other, the second with other tags.
fn chained(first: Schedule, second: &Schedule) -> Schedule {
    then(first, second)
}

#[test]
fn a_rooted_algorithm_has_the_reported_name_even_if_its_graph_fits_others() {
    for n in 2..=9 {
        let trees = [
            ("basic_linear", "linear", star(n)),
            ("pipeline", "pipeline", chain(n, 1)),
            ("chain", "chain", chain(n, 4.min(n - 1))),
            ("binomial", "binomial", nomial_from_near(n, 2)),
            ("binomial", "binomial", nomial_from_far(n, 2)),
            ("bintree", "binary", tree(n, Tree::Binary)),
            ("knomial", "k-nomial", nomial_from_far(n, 4)),
        ];
        for (how, expected, schedule) in trees {
            for root in [0, n - 1] {
                let up = Schedule {
                    sent: schedule.sent.clone(),
                    steps: Vec::new(),
                    ..schedule
                };
                let up = up.rotated(root);
                let down = up.reversed();
                let reduce = if how == "bintree" { "binary" } else { how };
                for (kind, how, operation, schedule) in [
                    ("bcast", how, Operation::Bcast, &up),
                    ("reduce", reduce, Operation::Reduce, &down),
                ] {
                    let reported = format!("{kind}_intra_{how}");
                    let shape = shape(schedule, operation, Some(root));
                    let found = named_by(&[&reported], operation, Some(&shape));
                    let name = found.algorithm.unwrap().to_string();
                    let plain = name.split('(').next().unwrap();
                    assert_eq!(plain, expected, "{reported}, {n} ranks, root {root}");
                    assert!(!found.is_contradicted, "{reported}, {n} ranks, root {root}");
                }
            }
        }
    }
}

#[test]
fn an_exchange_has_the_reported_name_even_if_its_graph_fits_others() {
    use Operation::{Allgather, Allreduce, Alltoall, Alltoallv, Barrier, ReduceScatter};
    for n in 2..=9 {
        let ring = |rounds: u32| around(n, (0..rounds).map(|_| 1));
        let pairwise = || around(n, 1..n);
        let both = || chained(star(n).reversed(), &star(n));
        let mut all = vec![
            (
                Barrier,
                vec!["barrier_intra_recursivedoubling"],
                "recursive doubling",
                folded(n, 1),
            ),
            (
                Barrier,
                vec!["barrier_intra_bruck"],
                "Bruck (dissemination)",
                around(n, doubling(n)),
            ),
            (
                Barrier,
                vec!["barrier_intra_doublering"],
                "double ring",
                ring(2),
            ),
            (
                Barrier,
                vec!["barrier_intra_basic_linear"],
                "linear, to the root and back",
                both(),
            ),
            (
                Barrier,
                vec!["barrier_intra_tree"],
                "binomial, to the root and back",
                chained(nomial_from_far(n, 2).reversed(), &nomial_from_far(n, 2)),
            ),
            (
                Alltoall,
                vec!["alltoall_intra_pairwise"],
                "pairwise",
                pairwise(),
            ),
            (
                Alltoall,
                vec!["alltoall_intra_basic_linear"],
                "linear",
                pairwise(),
            ),
            (
                Alltoallv,
                vec!["alltoallv_intra_pairwise"],
                "pairwise",
                pairwise(),
            ),
            (
                Alltoall,
                vec!["alltoall_intra_bruck"],
                "Bruck",
                around(n, doubling(n)),
            ),
            (Allgather, vec!["allgather_intra_ring"], "ring", ring(n - 1)),
            // The algorithm delegated to another one.
            (
                Allgather,
                vec!["allgather_intra_neighborexchange", "allgather_intra_ring"],
                "ring",
                ring(n - 1),
            ),
            (
                Allreduce,
                vec!["allreduce_intra_recursivedoubling"],
                "recursive doubling",
                folded(n, 1),
            ),
            (
                Allreduce,
                vec!["allreduce_intra_redscat_allgather"],
                "Rabenseifner",
                folded(n, 2),
            ),
            (
                Allreduce,
                vec!["allreduce_intra_ring"],
                "ring",
                ring(2 * (n - 1)),
            ),
            (
                Allreduce,
                vec![
                    "allreduce_intra_nonoverlapping",
                    "reduce_intra_pipeline",
                    "bcast_intra_bintree",
                ],
                "pipeline to the root, binary back",
                chained(chain(n, 1).reversed(), &tree(n, Tree::Binary)),
            ),
            (
                Allgather,
                vec![
                    "allgather_intra_basic_linear",
                    "gather_intra_binomial",
                    "bcast_intra_pipeline",
                ],
                "binomial to the root, pipeline back",
                chained(nomial_from_far(n, 2).reversed(), &chain(n, 1)),
            ),
            (
                ReduceScatter,
                vec!["reduce_scatter_intra_nonoverlapping", "reduce_intra_binary"],
                "binary to the root, linear back",
                chained(tree(n, Tree::Binary).reversed(), &star(n)),
            ),
            (
                ReduceScatter,
                vec!["reduce_scatter_intra_basic_recursivehalving"],
                "recursive halving",
                folded(n, 1),
            ),
        ];
        if n == 2 {
            let one = |operation, name| (operation, vec![name], "two-process exchange", ring(1));
            all.push(one(Barrier, "barrier_intra_two_procs"));
            all.push(one(Alltoall, "alltoall_intra_two_procs"));
            all.push(one(Allgather, "allgather_intra_two_procs"));
        }
        for (operation, reported, expected, schedule) in all {
            let shape = shape(&schedule, operation, None);
            let found = named_by(&reported, operation, Some(&shape));
            let name = found.algorithm.unwrap().to_string();
            assert_eq!(name, expected, "{reported:?}, {n} ranks");
            assert!(!found.is_contradicted, "{reported:?}, {n} ranks");
            // Without messages the name is the reported one.
            let found = named_by(&reported, operation, None);
            assert_eq!(found.algorithm.unwrap().to_string(), expected);
        }
    }
}

#[test]
fn a_graph_that_the_algorithm_cannot_have_contradicts_it_and_the_reported_name_is_kept() {
    for (reported, operation, schedule, expected) in [
        (
            "bcast_intra_binomial",
            Operation::Bcast,
            chain(6, 1),
            "binomial",
        ),
        // All messages belong to it, but one process gets nothing.
        (
            "bcast_intra_basic_linear",
            Operation::Bcast,
            {
                let mut some = star(6);
                some.sent.pop();
                some
            },
            "linear",
        ),
        (
            "barrier_intra_doublering",
            Operation::Barrier,
            folded(8, 1),
            "double ring",
        ),
        (
            "allgather_intra_ring",
            Operation::Allgather,
            around(7, [1, 2, 4]),
            "ring",
        ),
        (
            "alltoall_intra_two_procs",
            Operation::Alltoall,
            around(5, 1..5),
            "two-process exchange",
        ),
    ] {
        let root = operation.semantics().is_rooted().then_some(0);
        let shape = shape(&schedule, operation, root);
        let found = named_by(&[reported], operation, Some(&shape));
        assert_eq!(found.algorithm.unwrap().to_string(), expected);
        assert!(found.is_contradicted, "{reported}");
    }
}

#[test]
fn if_processes_report_different_or_unknown_names_the_graph_decides() {
    let shape = shape(&tree(4, Tree::Binary), Operation::Bcast, Some(0));
    let by_graph = shape.algorithm();
    let named = |reported: &[Vec<LibraryName>]| {
        let found = name_algorithm(Operation::Bcast, reported, Some(&shape));
        assert!(!found.is_contradicted);
        found.algorithm
    };
    let [one, other] = ["bcast_intra_bintree", "bcast_intra_chain"].map(|name| names(&[name]));
    assert_ne!(named(std::slice::from_ref(&one)), by_graph);
    assert_eq!(named(&[one, other]), by_graph);
    assert_eq!(named(&[vec![]]), by_graph);
    for unknown in [
        "bcast_inter_x",
        "bcast_intra_of_tomorrow",
        "comm_get_reqs",
        "",
    ] {
        assert_eq!(LibraryName::of(unknown), None);
    }
}

#[test]
fn a_collective_of_another_kind_within_an_operation_has_its_own_name_where_its_graph_is_that() {
    let pair = shape(&around(2, [1]), Operation::WinFree, None);
    let name = |reported: &[&str], shape: Option<&Shape>| {
        let found = named_by(reported, Operation::WinFree, shape);
        assert!(!found.is_contradicted);
        found.algorithm.map(|algorithm| algorithm.to_string())
    };
    let recursive_doubling = Some("recursive doubling".to_owned());
    let barrier = "barrier_intra_recursivedoubling";
    assert_eq!(name(&[barrier], Some(&pair)), recursive_doubling);
    // What else it did is not known.
    assert_eq!(name(&[barrier], None), None);
    let by_graph = pair.algorithm().map(|algorithm| algorithm.to_string());
    assert_ne!(by_graph, recursive_doubling);
    let two = [barrier, "allgather_intra_two_procs"];
    assert_eq!(name(&two, Some(&pair)), by_graph);
    let ring = shape(&around(7, [1]), Operation::WinFree, None);
    let by_graph = ring.algorithm().map(|algorithm| algorithm.to_string());
    assert_eq!(name(&[barrier], Some(&ring)), by_graph);
}
