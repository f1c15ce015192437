//! Costs of operations whose figures are put together by hand.

use super::*;
use crate::judge::causes::operation_costs::facts::NodeFacts;

/// An edge between two ranks, one on each host, that each critical path uses.
fn edge(from: u32, to: u32, median_ns: i64) -> EdgeFacts {
    EdgeFacts {
        from,
        to,
        class: LinkClass::BetweenHosts,
        hosts: (from as usize, to as usize),
        messages: 1.0,
        bytes: 64,
        on_path: 0,
        on_path_ns: 100 * median_ns,
        n: 100,
        median_ns,
        p10_ns: median_ns,
        is_ready: true,
        uncertainty_ns: Some(0),
    }
}

/// 100 instances of a broadcast from rank 0 among so many hosts, whose critical paths take so long.
fn broadcast(n_hosts: usize, path_ns: i64, edges: Vec<EdgeFacts>) -> OperationFacts {
    OperationFacts {
        index: 0,
        communicator: Some(0),
        flow: Flow::OneWay,
        can_use_tree: true,
        has_own_sizes: false,
        instances: 100,
        ranks: (0..n_hosts as u32).collect(),
        locations: (0..n_hosts)
            .map(|host| Location { host, site: 0 })
            .collect(),
        operation_time_ns: 100 * n_hosts as i64 * path_ns / 2,
        longest_ns: i64::MAX,
        waits_caused_ns: 0,
        typical: 1.0,
        graphs: vec![GraphFacts {
            instances: 100,
            known: 100,
            path_ns: i128::from(100 * path_ns),
            bytes: 64,
            height: Some(2),
            is_own: false,
            edges,
            nodes: Vec::new(),
        }],
        overlap: None,
        unexplained: None,
    }
}

/// Costs where everything matters.
fn all_costs(operations: &[OperationFacts]) -> Vec<OperationCause> {
    costs_with(operations, BTreeMap::new(), 1)
}

/// What these operations cost, of this time of all ranks, where round trips between hosts are known, ns.
fn costs_with(
    operations: &[OperationFacts],
    round_trips_ns: BTreeMap<(usize, usize), i64>,
    rank_ns: i128,
) -> Vec<OperationCause> {
    let hosts = Hosts {
        names: vec!["a", "b", "c", "d", "e", "f", "g", "h"],
        round_trips_ns: &round_trips_ns,
        site_of: None,
        are_sites_sure: true,
    };
    costs(operations, &hosts, rank_ns).causes
}

/// The only one of these costs.
fn only(found: Vec<OperationCause>) -> OperationCause {
    assert_eq!(found.len(), 1, "{found:?}");
    found[0].clone()
}

/// Four links between pairs of hosts, of which the first takes `median_ns`, and is on the path.
fn four_links(median_ns: i64) -> Vec<EdgeFacts> {
    let first = EdgeFacts {
        on_path: 100,
        ..edge(0, 1, median_ns)
    };
    vec![first, edge(2, 3, 1000), edge(4, 5, 1010), edge(6, 7, 990)]
}

#[test]
fn a_link_is_slow_from_three_times_the_usual_on() {
    assert_eq!(all_costs(&[broadcast(8, 3_000, four_links(3_000))]), []);
    let cause = only(all_costs(&[broadcast(8, 3_100, four_links(3_100))]));
    assert_eq!(cause.kind, OperationCauseKind::SlowLink);
    let place = CausePlace::Hosts {
        from: "a".into(),
        to: "b".into(),
    };
    assert_eq!(cause.place, place);
    assert_eq!(cause.per_instance_ns, 2_100);
    // 21 of 31 parts of the operation time.
    assert_eq!(cause.cost_ns, 100 * 8 * 3_100 / 2 * 21 / 31);
    // One direction in one operation.
    assert_eq!(cause.confidence, Confidence::Likely);
}

#[test]
fn a_link_is_not_slow_within_the_error_of_the_clocks_or_by_few_messages() {
    let with = |change: fn(&mut EdgeFacts)| {
        let mut edges = four_links(9_000);
        change(&mut edges[0]);
        all_costs(&[broadcast(8, 9_000, edges)])
    };
    assert_eq!(with(|_| {}).len(), 1);
    assert_eq!(with(|edge| edge.uncertainty_ns = Some(6_000)), []);
    assert_eq!(with(|edge| edge.uncertainty_ns = None), []);
    assert_eq!(with(|edge| edge.n = 19), []);
    // Messages of another size are not compared.
    assert_eq!(with(|edge| edge.bytes = 4096), []);
}

#[test]
fn a_link_is_not_slow_where_others_hide_the_time_in_transit() {
    let found = |median_ns: i64, round_trip_ns: i64| {
        let mut edges = four_links(median_ns);
        for edge in &mut edges[1..] {
            (edge.median_ns, edge.p10_ns, edge.is_ready) = (50, 40, false);
        }
        let pairs = (0..8).flat_map(|a| (a + 1..8).map(move |b| (a, b)));
        let round_trips_ns = pairs.map(|pair| (pair, round_trip_ns)).collect();
        costs_with(&[broadcast(8, median_ns, edges)], round_trips_ns, 1).len()
    };
    // On other links receivers are late, and find the message there.
    assert_eq!(found(60_000, 160_000), 0);
    assert_eq!(found(239_000, 160_000), 0);
    assert_eq!(found(241_000, 160_000), 1);
}

#[test]
fn within_a_host_a_link_is_slow_only_if_nearly_all_of_its_messages_are() {
    let with_p10 = |p10_ns| {
        let within = |edge: EdgeFacts| EdgeFacts {
            class: LinkClass::InHost,
            hosts: (0, 0),
            ..edge
        };
        let mut edges: Vec<EdgeFacts> = four_links(9_000).into_iter().map(within).collect();
        edges.push(within(edge(8, 9, 1_000)));
        edges[0].p10_ns = p10_ns;
        let mut operation = broadcast(10, 9_000, edges);
        for at in &mut operation.locations {
            at.host = 0;
        }
        all_costs(&[operation])
    };
    let cause = only(with_p10(8_500));
    assert_eq!(cause.kind, OperationCauseKind::SlowHop);
    // One in ten takes no longer than on other links: its ends wait for a core, mostly.
    assert_eq!(with_p10(1_200), []);
}

#[test]
fn the_error_of_the_clocks_cancels_between_two_directions() {
    let both_ways = |back_ns: i64| {
        let mut edges = four_links(9_000);
        edges[0].uncertainty_ns = Some(20_000);
        edges.push(EdgeFacts {
            uncertainty_ns: Some(20_000),
            ..edge(1, 0, back_ns)
        });
        all_costs(&[broadcast(8, 9_000, edges)])
    };
    // Clocks that are wrong by 8 us.
    assert_eq!(both_ways(-7_000), []);
    let found = both_ways(8_000);
    assert_eq!(found[0].kind, OperationCauseKind::SlowLink);
    // The two hosts have no other link: one of them may be slow.
    assert_eq!(found[0].confidence, Confidence::Likely);
}

#[test]
fn links_that_are_slow_at_one_end_are_not_accused() {
    // All three links of host 0 are slow: host 0 is busy, perhaps.
    let slow = [1, 2, 3].map(|to| EdgeFacts {
        on_path: 30,
        ..edge(0, to, 9_000)
    });
    let others = (1..8).map(|from| edge(from, (from + 1) % 8, 1_000));
    let edges: Vec<EdgeFacts> = slow.into_iter().chain(others).collect();
    assert_eq!(all_costs(&[broadcast(8, 9_000, edges)]), []);
}

#[test]
fn a_link_whose_ends_have_other_links_is_sure_and_one_of_slow_ends_is_none() {
    let with_others = |other_ns: i64| {
        let mut edges = four_links(9_000);
        edges.extend([edge(1, 0, 9_000), edge(1, 4, other_ns), edge(0, 6, 1_000)]);
        all_costs(&[broadcast(8, 9_000, edges)])
    };
    let found = with_others(1_000);
    assert_eq!(found[0].kind, OperationCauseKind::SlowLink);
    assert_eq!(found[0].confidence, Confidence::Sure);
    // Both links of host 1 are slow.
    assert_eq!(with_others(9_000), []);
}

#[test]
fn messages_that_had_arrived_before_are_no_hops() {
    let of = |on_path_ns: i64| {
        let edges = (1..8).map(|from| EdgeFacts {
            on_path: 100,
            on_path_ns,
            ..edge(from, 0, 1_000)
        });
        let mut operation = broadcast(8, 20_000, edges.collect());
        operation.graphs[0].nodes = vec![NodeFacts {
            rank: 0,
            children: 7,
            spread_ns: 0,
            stay_ns: 0,
        }];
        all_costs(&[operation]).len()
    };
    assert_eq!((of(100 * 1_000), of(100 * 100)), (1, 0));
}

#[test]
fn a_link_that_two_operations_use_is_one_reason() {
    let first = broadcast(8, 9_000, four_links(9_000));
    let second = OperationFacts {
        index: 1,
        operation_time_ns: 2 * first.operation_time_ns,
        graphs: vec![GraphFacts {
            path_ns: 100 * 18_000,
            ..first.graphs[0].clone()
        }],
        ..first.clone()
    };
    let alone = all_costs(std::slice::from_ref(&first))[0].cost_ns;
    let found = all_costs(&[first, second]);
    let links = found
        .iter()
        .filter(|cause| cause.kind == OperationCauseKind::SlowLink);
    let links: Vec<&OperationCause> = links.collect();
    assert_eq!(links.len(), 1, "{found:?}");
    assert_eq!(links[0].cost_ns, 2 * alone);
    assert_eq!(links[0].others.len(), 1);
}

#[test]
fn a_cost_below_one_percent_of_the_time_of_all_ranks_does_not_matter() {
    let operation = [broadcast(8, 9_000, four_links(9_000))];
    let cost_ns = i128::from(all_costs(&operation)[0].cost_ns);
    let n = |rank_ns: i128| costs_with(&operation, BTreeMap::new(), rank_ns).len();
    assert_eq!((n(100 * cost_ns), n(100 * cost_ns + 1)), (1, 0));
    // Its part of the waits for those that leave late may matter more.
    let operation = [OperationFacts {
        waits_caused_ns: 3 * operation[0].operation_time_ns,
        ..operation[0].clone()
    }];
    let n = |rank_ns: i128| costs_with(&operation, BTreeMap::new(), rank_ns).len();
    assert_eq!((n(300 * cost_ns), n(301 * cost_ns)), (1, 0));
}

#[test]
fn a_chain_of_hops_is_deep_and_a_binomial_tree_is_not() {
    let chain = |n_hops: u32, path_ns: i64| {
        let edges = (0..n_hops).map(|from| EdgeFacts {
            on_path: 100,
            ..edge(from, from + 1, 1_000)
        });
        let mut operation = broadcast(8, path_ns, edges.collect());
        operation.graphs[0].height = Some(n_hops.into());
        all_costs(&[operation])
    };
    let cause = only(chain(7, 7_000));
    assert_eq!(cause.kind, OperationCauseKind::Algorithm);
    assert_eq!(cause.per_instance_ns, 4_000);
    assert_eq!(cause.confidence, Confidence::Sure);
    let trouble = AlgorithmTrouble::Depth { hops: 7, fewest: 3 };
    let CostFacts::Algorithm {
        trouble: found,
        needed_ns,
        ..
    } = cause.facts
    else {
        panic!("{cause:?}");
    };
    assert_eq!((found, needed_ns), (trouble, 3_000));
    // A path that takes long without many hops is nobody's fault.
    assert_eq!(chain(3, 30_000), []);
    assert_eq!(chain(5, 30_000), []);
}

#[test]
fn what_a_node_spends_on_its_children_is_a_serialization() {
    let with = |children: u64, stay_ns: i64, n_hosts: usize| {
        let edges = vec![EdgeFacts {
            on_path: 100,
            ..edge(0, 1, 1_000)
        }];
        let mut operation = broadcast(n_hosts, 60_000, edges);
        operation.graphs[0].nodes = vec![NodeFacts {
            rank: 5,
            children,
            spread_ns: 40_000,
            stay_ns,
        }];
        all_costs(&[operation])
    };
    let cause = only(with(40, 100 * 50_000, 64));
    assert_eq!(cause.kind, OperationCauseKind::Serialization);
    assert_eq!(cause.place, CausePlace::Node(5));
    assert_eq!(cause.per_instance_ns, 40_000);
    // The critical path seldom stays there.
    assert_eq!(with(40, 100 * 1_000, 64), []);
    // All others are its children.
    let found = with(63, 100 * 50_000, 64);
    assert_eq!(found[0].kind, OperationCauseKind::Algorithm);
    // It is there as long as they take their data at once, the last hardly later than the first.
    let mut flat = broadcast(16, 60_000, vec![edge(0, 1, 1_000)]);
    flat.graphs[0].nodes = vec![NodeFacts {
        rank: 5,
        children: 15,
        spread_ns: 1_000,
        stay_ns: 100 * 50_000,
    }];
    let found = all_costs(&[flat]);
    assert_eq!(found[0].kind, OperationCauseKind::Algorithm, "{found:?}");
    assert_eq!(found[0].per_instance_ns, 50_000);
    // So few are served faster than by a tree.
    assert_eq!(with(2, 100 * 50_000, 64), []);
}

/// 100 instances of a broadcast on two sites, with these hosts at the second one, along edges of 2 ms one after another.
fn over_two_sites(edges: &[(u32, u32)], second: &[usize]) -> OperationFacts {
    let at = |host: usize| Location {
        host,
        site: usize::from(second.contains(&host)),
    };
    let all = edges.iter().map(|&(from, to)| {
        let is_far = at(from as usize).site != at(to as usize).site;
        EdgeFacts {
            class: if is_far {
                LinkClass::BetweenSites
            } else {
                LinkClass::BetweenHosts
            },
            on_path: 100,
            ..edge(from, to, if is_far { 2_000_000 } else { 60_000 })
        }
    });
    let all: Vec<EdgeFacts> = all.collect();
    let path_ns = all.iter().map(|edge| edge.on_path_ns).sum::<i64>() / 100;
    let mut operation = broadcast(edges.len() + 1, path_ns, all);
    for (host, location) in operation.locations.iter_mut().enumerate() {
        *location = at(host);
    }
    operation
}

#[test]
fn needless_crossings_are_of_the_order_of_ranks_or_of_the_algorithm() {
    let kinds = |edges: &[(u32, u32)], second: &[usize]| -> Vec<OperationCauseKind> {
        let found = all_costs(&[over_two_sites(edges, second)]);
        found.iter().map(|cause| cause.kind).collect()
    };
    let chain: Vec<(u32, u32)> = (0..5).map(|rank| (rank, rank + 1)).collect();
    // One after another, a chain crosses once; in turn, each time.
    assert_eq!(kinds(&chain, &[3, 4, 5]), []);
    assert_eq!(kinds(&chain, &[1, 3, 5])[0], OperationCauseKind::Placement);
    // A path to and fro, though ranks are in the order of sites.
    let zigzag = [(0, 3), (3, 1), (1, 4), (4, 2), (2, 5)];
    assert_eq!(kinds(&zigzag, &[3, 4, 5])[0], OperationCauseKind::Algorithm);
}

#[test]
fn crossings_cost_what_they_take_also_where_no_message_is_near() {
    let chain: Vec<(u32, u32)> = (0..5).map(|rank| (rank, rank + 1)).collect();
    let mut operation = over_two_sites(&chain, &[1, 3, 5]);
    let found = all_costs(std::slice::from_ref(&operation));
    // Four of five.
    assert_eq!(found[0].per_instance_ns, 8_000_000);
    let CostFacts::Placement {
        on_path,
        needed_on_path,
        ..
    } = found[0].facts
    else {
        panic!("{found:?}");
    };
    assert!(
        (on_path - 5.0).abs() < 0.01 && needed_on_path == 1,
        "{found:?}"
    );
    // Paths that come to messages which have nearly arrived do not wait for these.
    for edge in &mut operation.graphs[0].edges[1..] {
        edge.on_path_ns /= 20;
    }
    assert_eq!(all_costs(&[operation]), []);
}

#[test]
fn large_messages_that_take_long_are_a_transfer_and_small_ones_are_not() {
    let with = |bytes: u64, latency_ns: i64| {
        let of = EdgeFacts {
            bytes,
            on_path: 100,
            ..edge(0, 1, 9_000_000)
        };
        let mut operation = broadcast(2, 9_100_000, vec![of]);
        operation.graphs[0].bytes = bytes;
        costs_with(&[operation], [((0, 1), 2 * latency_ns)].into(), 1)
    };
    let cause = only(with(1 << 20, 100_000));
    assert_eq!(cause.kind, OperationCauseKind::Transfer);
    assert_eq!(cause.per_instance_ns, 8_700_000);
    // Too few data, and a link that is far.
    assert_eq!(with(64, 100_000), []);
    assert_eq!(with(1 << 20, 2_000_000), []);
}

#[test]
fn the_fewest_hops_are_those_of_a_tree_by_levels() {
    let at = |host: usize, site: usize| Location { host, site };
    assert_eq!(levels(&[at(0, 0); 16]), [4, 0, 0]);
    assert_eq!(levels(&[at(0, 0); 5]), [3, 0, 0]);
    let eight: Vec<Location> = (0..8).map(|host| at(host, host % 2)).collect();
    assert_eq!(levels(&eight), [0, 2, 1]);
}

#[test]
fn a_rank_that_receives_far_more_than_any_other_is_told_where_each_says_how_much_it_sends_to_each()
{
    let found = |bytes: [u64; 2], has_own_sizes: bool| {
        let to = |from: u32, to: u32| {
            let is_first = to == 0;
            EdgeFacts {
                bytes: bytes[usize::from(!is_first)],
                on_path: if is_first { 30 } else { 1 },
                on_path_ns: if is_first { 900_000 } else { 10_000 },
                ..edge(from, to, 30_000)
            }
        };
        let pairs = (0..4).flat_map(|a| (0..4).map(move |b| (a, b)));
        let edges = pairs.filter(|(a, b)| a != b).map(|(a, b)| to(a, b));
        let alltoallv = OperationFacts {
            flow: Flow::Other,
            can_use_tree: false,
            has_own_sizes,
            ..broadcast(4, 28_000, edges.collect())
        };
        all_costs(&[alltoallv])
    };
    let cause = only(found([50_000, 500], true));
    assert_eq!(cause.kind, OperationCauseKind::Transfer);
    assert_eq!(cause.place, CausePlace::Node(0));
    let facts = CostFacts::Received {
        bytes: 150_000,
        others_bytes: 1_500,
    };
    assert_eq!(cause.facts, facts);
    // Three of four parts of the 27 us on its messages: the rest it receives if all receive as much.
    assert!(
        (19_500..21_000).contains(&cause.per_instance_ns),
        "{cause:?}"
    );
    assert_eq!(found([900, 500], true), []);
    assert_eq!(found([50_000, 500], false), []);
}
