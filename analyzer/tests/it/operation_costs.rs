//! What operation time costs, on scenarios whose truth is known, each over twenty seeds: the reason
//! comes first, and nothing innocent is among the reasons.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    AlgorithmTrouble, CauseKind, CausePlace, Confidence, CostFacts, CostOf, OperationCause,
    OperationCauseKind, WhyUnexplained,
};

use crate::innocence::{only_these_are_named, ranks};
use crate::seeds::{analysis_of, each_seed};

/// Analyses a scenario for each seed. No rank is named as late that is not.
fn each(scenario: &str, mut check: impl FnMut(&Analysis)) {
    let late: &[u32] = match scenario {
        "late-inside.toml" => &[8],
        _ => &[],
    };
    each_seed("costs", scenario, |analysis| {
        only_these_are_named(&ranks(late), scenario, analysis);
        check(analysis);
    });
}

fn causes(analysis: &Analysis) -> Vec<(OperationCauseKind, CausePlace, &str)> {
    let causes = analysis.operation_costs.causes.iter();
    causes
        .map(|cause| {
            let operation = &analysis.operations[cause.operation].operation;
            (cause.kind, cause.place.clone(), &**operation)
        })
        .collect()
}

/// The only reason there is.
#[track_caller]
fn only(analysis: &Analysis) -> &OperationCause {
    let [cause] = &analysis.operation_costs.causes[..] else {
        panic!("{:#?}", analysis.operation_costs.causes);
    };
    assert!(cause.cost_ns > 0 && cause.per_instance_ns > 0, "{cause:?}");
    cause
}

const WORLD: CausePlace = CausePlace::Communicator(Some(0));

#[test]
fn a_linear_broadcast_among_many_is_the_algorithm() {
    each("linear.toml", |analysis| {
        let cause = only(analysis);
        let expected = [(OperationCauseKind::Algorithm, WORLD, "MPI_Bcast")];
        assert_eq!(causes(analysis), expected);
        let CostFacts::Algorithm {
            trouble,
            path_ns,
            needed_ns,
            ranks,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert_eq!(trouble, AlgorithmTrouble::Linear { children: 15 });
        assert_eq!(ranks, 16);
        // 15 sends of 5 us; four rounds of one send each would do.
        assert!((70_000..90_000).contains(&path_ns), "{path_ns}");
        assert!((19_500..21_000).contains(&needed_ns), "{needed_ns}");
        assert!(
            (45_000..65_000).contains(&cause.per_instance_ns),
            "{cause:?}"
        );
        assert_eq!(cause.confidence, Confidence::Sure);
    });
}

#[test]
fn a_chain_of_small_segments_is_the_algorithm() {
    each("chain-of-segments.toml", |analysis| {
        let cause = only(analysis);
        let expected = [(OperationCauseKind::Algorithm, WORLD, "MPI_Bcast")];
        assert_eq!(causes(analysis), expected);
        let CostFacts::Algorithm { trouble, .. } = cause.facts else {
            panic!("{cause:?}");
        };
        let segments = AlgorithmTrouble::Segments { n: 64, bytes: 256 };
        assert_eq!(trouble, segments);
        // No message of the size of the payload is in the trace.
        assert_eq!(cause.confidence, Confidence::Likely);
    });
}

#[test]
fn a_node_that_serves_most_ranks_is_a_serialization() {
    each("served-by-one.toml", |analysis| {
        let cause = only(analysis);
        assert_eq!(cause.kind, OperationCauseKind::Serialization, "{cause:?}");
        assert_eq!(cause.place, CausePlace::Node(1));
        let CostFacts::Serialization {
            children,
            spread_ns,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert_eq!(children, 12);
        assert!((50_000..65_000).contains(&spread_ns), "{spread_ns}");
    });
}

#[test]
fn a_root_that_serves_all_ranks_of_a_gather_or_scatter_is_a_serialization() {
    for (scenario, operation) in [
        ("linear-gather.toml", "MPI_Gather"),
        ("linear-scatter.toml", "MPI_Scatter"),
    ] {
        each(scenario, |analysis| {
            let cause = only(analysis);
            let expected = [(
                OperationCauseKind::Serialization,
                CausePlace::Node(3),
                operation,
            )];
            assert_eq!(causes(analysis), expected, "{cause:?}");
            let CostFacts::Serialization {
                children,
                spread_ns,
                needed_ns,
                ..
            } = cause.facts
            else {
                panic!("{cause:?}");
            };
            assert_eq!(children, 15);
            // 15 times 8 us; four rounds would do, with messages of up to eight blocks.
            assert!((105_000..140_000).contains(&spread_ns), "{cause:?}");
            assert!((28_000..50_000).contains(&needed_ns), "{cause:?}");
            // What follows waits for the root, for that reason.
            let waits = analysis.causes.iter();
            let waits: i64 = waits
                .filter(|found| found.of == CostOf::Waiting && found.explained_by == Some(0))
                .map(|found| found.cost_ns)
                .sum();
            let of_root_ns = 100 * 15 * 60_000;
            let is_gather = operation == "MPI_Gather";
            assert!(!is_gather || waits > of_root_ns, "{waits}");
        });
    }
}

#[test]
fn a_chain_that_goes_to_and_fro_between_two_sites_is_the_placement() {
    each("two-sites.toml", |analysis| {
        let hosts = analysis.clock.hosts.iter();
        let sites: Vec<Option<usize>> = hosts.map(|host| host.site).collect();
        assert_eq!(sites, [0, 1, 0, 1, 0, 1, 0, 1].map(Some));
        let cause = &analysis.operation_costs.causes[0];
        assert_eq!(
            causes(analysis)[0],
            (OperationCauseKind::Placement, WORLD, "MPI_Bcast")
        );
        let CostFacts::Placement {
            crossings,
            fewest,
            on_path,
            needed_on_path,
            crossing_ns,
            sites,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert_eq!((crossings, fewest, sites), (7, 1, 2));
        assert!((on_path - 7.0).abs() < 0.2, "{cause:?}");
        assert_eq!(needed_on_path, 1);
        assert!((1_800_000..2_200_000).contains(&crossing_ns), "{cause:?}");
        // Six times 2 ms.
        let per_instance = 10_300_000..12_500_000;
        assert!(per_instance.contains(&cause.per_instance_ns), "{cause:?}");
        // Recursive doubling crosses once.
        for cause in &analysis.operation_costs.causes {
            let operation = &analysis.operations[cause.operation].operation;
            assert_eq!(operation, "MPI_Bcast", "{cause:?}");
        }
    });
}

#[test]
fn rounds_that_all_cross_between_two_sites_are_the_placement() {
    each("two-sites-scheduled.toml", |analysis| {
        let cause = only(analysis);
        assert_eq!(
            (cause.kind, &cause.place),
            (OperationCauseKind::Placement, &WORLD),
            "{cause:?}"
        );
        // Both operations, since both have the same order of ranks.
        assert_eq!(cause.others.len(), 1, "{cause:?}");
        let CostFacts::Placement {
            on_path,
            needed_on_path,
            crossing_ns,
            can_use_tree,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert!((on_path - 3.0).abs() < 0.2, "{cause:?}");
        assert_eq!((needed_on_path, can_use_tree), (1, true));
        assert!((1_800_000..2_200_000).contains(&crossing_ns), "{cause:?}");
        // Two of three crossings, 60 times in each of two operations.
        let least_ns = 120 * 2 * 1_950_000;
        assert!(
            (least_ns..least_ns * 5 / 4).contains(&cause.run_shorter_ns),
            "{cause:?}"
        );
        let first = &analysis.causes[0];
        assert_eq!(first.kind, CauseKind::Placement, "{first:?}");
    });
}

#[test]
fn a_chain_that_goes_to_and_fro_between_two_hosts_is_the_placement() {
    each("two-hosts-in-turn.toml", |analysis| {
        let cause = only(analysis);
        let expected = [(OperationCauseKind::Placement, WORLD, "MPI_Bcast")];
        assert_eq!(causes(analysis), expected);
        let CostFacts::Placement {
            on_path,
            needed_on_path,
            is_of_order,
            sites,
            hosts,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert!((on_path - 7.0).abs() < 0.2, "{cause:?}");
        assert_eq!((needed_on_path, is_of_order), (1, true));
        assert_eq!((sites, hosts), (1, 2));
    });
}

#[test]
fn a_reduction_that_fills_a_link_is_the_transfer_of_its_data() {
    each("full-link.toml", |analysis| {
        let cause = only(analysis);
        let place = CausePlace::Hosts {
            from: "n1".into(),
            to: "n2".into(),
        };
        assert_eq!(
            (cause.kind, &cause.place),
            (OperationCauseKind::Transfer, &place),
            "{cause:?}"
        );
        let CostFacts::Transfer {
            bytes,
            transfer_ns,
            bytes_per_s,
            most_per_s,
            times,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert_eq!((bytes, times), (1 << 20, Some(1.0)));
        assert!((8_900_000..9_200_000).contains(&transfer_ns), "{cause:?}");
        assert!(
            bytes_per_s <= most_per_s && bytes_per_s > most_per_s / 2,
            "{cause:?}"
        );
    });
}

#[test]
fn a_slow_link_is_named_with_its_two_hosts_and_nothing_else() {
    each("slow-link.toml", |analysis| {
        let cause = only(analysis);
        assert_eq!(cause.kind, OperationCauseKind::SlowLink, "{cause:?}");
        let place = CausePlace::Hosts {
            from: "n3".into(),
            to: "n4".into(),
        };
        assert_eq!(cause.place, place);
        let CostFacts::Link {
            median_ns,
            usual_ns,
            ..
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert!((1_490_000..1_520_000).contains(&median_ns), "{median_ns}");
        assert!((55_000..70_000).contains(&usual_ns), "{usual_ns}");
        assert_eq!(cause.confidence, Confidence::Sure);
        assert_eq!(analysis.clock.host_sites, None);
    });
}

#[test]
fn a_nonblocking_collective_that_nobody_progresses_is_named() {
    each("no-progress.toml", |analysis| {
        let cause = only(analysis);
        assert_eq!(cause.kind, OperationCauseKind::NoProgress, "{cause:?}");
        let CostFacts::NoProgress {
            nobody_in_mpi_ns,
            between_ns,
            completion_ns,
        } = cause.facts
        else {
            panic!("{cause:?}");
        };
        assert!((480_000..520_000).contains(&between_ns), "{cause:?}");
        assert!(nobody_in_mpi_ns.unwrap() > 350_000, "{cause:?}");
        assert!(completion_ns > 80_000, "{cause:?}");
    });
}

#[test]
fn nothing_is_claimed_where_nothing_is_wrong() {
    for scenario in [
        "healthy.toml",
        "late-inside.toml",
        "binomial-gather.toml",
        "two-sites-well-placed.toml",
    ] {
        each(scenario, |analysis| {
            assert_eq!(causes(analysis), []);
        });
    }
}

#[test]
fn without_messages_nothing_is_claimed_but_that_it_cannot_be_told() {
    each("no-messages.toml", |analysis| {
        assert_eq!(causes(analysis), []);
        let [unexplained] = &analysis.operation_costs.unexplained[..] else {
            panic!("{:?}", analysis.operation_costs);
        };
        assert_eq!(unexplained.why, WhyUnexplained::NoMessages);
        // 100 times 100 us on four ranks.
        let time = 40_000_000;
        assert!(
            (unexplained.operation_time_ns - time).abs() < time / 20,
            "{unexplained:?}"
        );
    });
}

#[test]
fn the_slow_link_of_128_ranks_is_named() {
    let analysis = analysis_of("../tests/browser/scenarios/inside.toml", None);
    let place = CausePlace::Hosts {
        from: "node1".into(),
        to: "node9".into(),
    };
    let found = causes(&analysis);
    assert!(!found.is_empty());
    for (kind, at, _) in found {
        assert_eq!((kind, at), (OperationCauseKind::SlowLink, place.clone()));
    }
}
