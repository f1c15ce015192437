//! Groupings of all reductions: as they are by hand, as the schedules have them, and what follows for the bits.

use std::collections::HashMap;

use collbench_schedules::open_mpi::{Named, Release, grouping, numerics, schedule};
use collbench_schedules::{Call, Grouping, Numerics, Parameters, Schedule, What, mpich};
use proptest::prelude::*;

/// Reductions of Open MPI, with those of which they consist.
const OPEN_MPI: [&[&str]; 20] = [
    &[
        "allreduce_intra_basic_linear",
        "reduce_intra_basic_linear",
        "bcast_intra_basic_linear",
    ],
    &[
        "allreduce_intra_nonoverlapping",
        "reduce_intra_binary",
        "bcast_intra_knomial",
    ],
    &["allreduce_intra_recursivedoubling"],
    &["allreduce_intra_ring"],
    &["allreduce_intra_ring_segmented"],
    &["allreduce_intra_redscat_allgather"],
    &["reduce_intra_basic_linear"],
    &["reduce_intra_chain"],
    &["reduce_intra_pipeline"],
    &["reduce_intra_binary"],
    &["reduce_intra_binomial"],
    &["reduce_intra_in_order_binary"],
    &["reduce_intra_redscat_gather"],
    &[
        "reduce_scatter_intra_nonoverlapping",
        "reduce_intra_binomial",
    ],
    &["reduce_scatter_intra_basic_recursivehalving"],
    &["reduce_scatter_intra_ring"],
    &["reduce_scatter_intra_butterfly"],
    &["reduce_scatter_block_intra_recursivedoubling"],
    &["scan_intra_linear"],
    &["exscan_intra_recursivedoubling"],
];

/// Reductions of MPICH.
fn of_mpich() -> impl Iterator<Item = &'static str> {
    let kinds = ["Allreduce", "Reduce", "Scan", "Exscan"];
    mpich::names().filter(move |name| {
        let name = name.trim_start_matches("MPIR_");
        kinds.iter().any(|kind| name.starts_with(kind))
    })
}

fn call(n_processes: usize, root: usize, elements: u64) -> Call {
    Call {
        n_processes,
        root,
        elements,
        element_bytes: 8,
    }
}

fn named(names: &[&'static str], parameters: Parameters) -> Vec<Named<'static>> {
    names
        .iter()
        .map(|name| Named { name, parameters })
        .collect()
}

fn of(names: &[&'static str], call: &Call) -> Option<Grouping> {
    grouping(&named(names, Parameters::default()), call)
}

fn expression(names: &[&'static str], n: usize) -> Vec<(u64, String)> {
    let call = call(n, 0, 100);
    of(names, &call).expect("it is known").expressions(0)
}

#[test]
fn expressions_are_those_by_hand() {
    let whole = |names: &[&'static str], n| match &expression(names, n)[..] {
        [(100, text)] => text.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(whole(&["reduce_intra_basic_linear"], 4), "0+(1+(2+3))");
    // Four chains.
    assert_eq!(whole(&["reduce_intra_chain"], 6), "(((0+(1+2))+3)+4)+5");
    assert_eq!(whole(&["reduce_intra_pipeline"], 4), "0+(1+(2+3))");
    assert_eq!(whole(&["reduce_intra_binary"], 6), "(0+((1+3)+5))+(2+4)");
    assert_eq!(
        whole(&["reduce_intra_binomial"], 8),
        "((0+1)+(2+3))+((4+5)+(6+7))"
    );
    assert_eq!(whole(&["reduce_intra_binomial"], 6), "((0+1)+(2+3))+(4+5)");
    assert_eq!(
        whole(&["allreduce_intra_recursivedoubling"], 6),
        "((0+1)+(2+3))+(4+5)"
    );
    assert_eq!(
        whole(&["allreduce_intra_recursivedoubling"], 5),
        "((0+1)+2)+(3+4)"
    );
    assert_eq!(
        whole(&["allreduce_intra_redscat_allgather"], 5),
        "((0+1)+2)+(3+4)"
    );
    assert_eq!(
        whole(&["reduce_scatter_intra_basic_recursivehalving"], 8),
        "((0+4)+(2+6))+((1+5)+(3+7))"
    );
    assert_eq!(
        expression(&["allreduce_intra_ring"], 3),
        [(34, "(0+1)+2"), (33, "0+(1+2)"), (33, "(0+2)+1")].map(|(n, text)| (n, text.to_owned()))
    );
}

/// A hash that commutes, and does not associate.
fn hash(one: u64, other: u64) -> u64 {
    let mixed = |z: u64| {
        (z ^ (z >> 29))
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
            .rotate_left(23)
    };
    mixed(one.min(other).wrapping_add(mixed(one.max(other))))
}

/// What each process has at the end of a schedule in which all act on the whole payload: what it combines is what it
/// has with the next thing it received; what it has received and not combined before it sends, or leaves, takes the place of
/// what it has.
fn carried_out(schedule: &Schedule) -> Vec<u64> {
    let messages = schedule.messages().expect("messages have two ends");
    let sends: HashMap<(usize, usize), (usize, usize)> = messages
        .iter()
        .map(|of| ((of.to, of.receive), (of.from, of.send)))
        .collect();
    let n = schedule.processes.len();
    let mut has: Vec<u64> = (0..n as u64).collect();
    let mut sent: HashMap<(usize, usize), u64> = HashMap::new();
    let mut next = vec![0; n];
    let mut left = vec![Vec::new(); n];
    loop {
        let before = next.clone();
        for (rank, process) in schedule.processes.iter().enumerate() {
            while next[rank] <= process.actions.len() {
                let action = process.actions.get(next[rank]);
                let waited = action.map_or(&process.at_end, |of| &of.after);
                let received = waited.iter().filter_map(|&at| sends.get(&(rank, at)));
                let received: Option<Vec<u64>> = received.map(|at| sent.get(at).copied()).collect();
                let Some(received) = received else {
                    break;
                };
                left[rank].extend(received);
                match action.map(|action| action.what) {
                    Some(What::Combine { .. }) => {
                        has[rank] = hash(has[rank], left[rank].remove(0));
                    }
                    Some(What::Receive { .. }) => {}
                    Some(What::Send { .. }) | None => {
                        has[rank] = left[rank].drain(..).next_back().unwrap_or(has[rank]);
                        sent.insert((rank, next[rank]), has[rank]);
                    }
                }
                next[rank] += 1;
            }
        }
        if next == before {
            break;
        }
    }
    let is_done =
        |(rank, of): (usize, &collbench_schedules::Process)| next[rank] > of.actions.len();
    assert!(schedule.processes.iter().enumerate().all(is_done));
    has
}

fn assert_carried_out(name: &str, schedule: &Schedule, grouping: &Grouping) {
    let has = carried_out(schedule);
    let results = grouping.evaluate(|rank| rank as u64, hash);
    for (rank, (has, result)) in has.into_iter().zip(results).enumerate() {
        let values: Vec<u64> = result.iter().map(|(_, value)| *value).collect();
        assert!(
            values.is_empty() || values == [has],
            "{name}: rank {rank}: {grouping:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn schedules_that_act_on_the_whole_payload_have_these_groupings(
        n in 2_usize..30,
        root in 0_usize..40,
        (chains, radix) in (1_usize..6, 2_usize..6),
    ) {
        let call = call(n, root % n, 1000);
        let parameters = Parameters { chains, radix, ..Parameters::default() };
        let whole: [&[&'static str]; 9] = [
            &["allreduce_intra_nonoverlapping", "reduce_intra_binary", "bcast_intra_knomial"],
            &["allreduce_intra_nonoverlapping", "reduce_intra_binomial", "bcast_intra_chain"],
            &["allreduce_intra_recursivedoubling"],
            &["reduce_intra_chain"],
            &["reduce_intra_pipeline"],
            &["reduce_intra_binary"],
            &["reduce_intra_binomial"],
            &["reduce_intra_in_order_binary"],
            &["scan_intra_linear"],
        ];
        for names in whole {
            let named = named(names, parameters);
            let schedule = schedule(Release::V4_1, &named, &call).expect("it is known");
            assert_carried_out(names[0], &schedule, &grouping(&named, &call).expect("it is known"));
        }
        for name in [
            "MPIR_Allreduce_intra_recursive_doubling",
            "MPIR_Allreduce_intra_tree kary",
            "MPIR_Allreduce_intra_tree knomial_1",
            "MPIR_Allreduce_intra_tree knomial_2",
            "MPIR_Reduce_intra_binomial",
        ] {
            let schedule = mpich::schedule(name, &call, &parameters).expect("it is known");
            let grouping = mpich::grouping(name, &call, &parameters).expect("it is known");
            assert_carried_out(name, &schedule, &grouping);
        }
    }

    #[test]
    fn without_the_others_is_with_neutral_contributions_of_them(
        n in 2_usize..20,
        root in 0_usize..20,
        m in 1_usize..20,
        elements in 1_u64..60,
    ) {
        let call = call(n, root % n, elements);
        let m = m.min(n);
        for names in OPEN_MPI {
            let grouping = of(names, &call).expect("it is known");
            let neutral = grouping.evaluate(
                |rank| (rank < m).then_some(rank as u64),
                |one, other| match (one, other) {
                    (Some(one), Some(other)) => Some(hash(one, other)),
                    _ => one.or(other),
                },
            );
            let flat = |values: Vec<(u64, u64)>| {
                let elements = values.into_iter();
                elements.flat_map(|(n, value)| vec![value; n as usize]).collect::<Vec<u64>>()
            };
            let first = grouping.of_first(m).evaluate(|rank| rank as u64, hash);
            for (first, neutral) in first.into_iter().zip(neutral) {
                let neutral = neutral.into_iter().filter_map(|(n, value)| Some((n, value?)));
                prop_assert_eq!(flat(first), flat(neutral.collect()), "{:?}", names);
            }
        }
    }
}

/// Sums of numbers of very different magnitude, by rank and element.
fn sums(grouping: &Grouping, values: &[f64]) -> Vec<Vec<u64>> {
    let results = grouping.evaluate(|rank| values[rank], |one, other| one + other);
    let bits = |of: Vec<(u64, f64)>| {
        let blocks = of.into_iter();
        blocks
            .flat_map(|(n, sum)| vec![sum.to_bits(); n as usize])
            .collect()
    };
    results.into_iter().map(bits).collect()
}

/// Numbers of 1e16, 1, -1e16 and others for each rank, the same in each run.
fn draws(n: usize) -> impl Iterator<Item = Vec<f64>> {
    let mut state = 7_u64;
    let mut next = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        [1e16, 1.0, -1e16, 3.0, 1e8, -1.0, 0.1, -3e15][(state >> 61) as usize]
    };
    (0..400).map(move |_| (0..n).map(|_| next()).collect())
}

/// Whether sums of both have the same bits for all draws.
fn has_same_sums(one: &Grouping, other: &Grouping, n_values: usize) -> bool {
    draws(n_values).all(|values| sums(one, &values) == sums(other, &values))
}

#[test]
fn sums_have_the_same_bits_where_the_groupings_say_so_and_else_differ_for_some_numbers() {
    let (mut n_same, mut n_other) = (0, 0);
    for n in 3..=12 {
        let call = call(n, 0, 60);
        let mut all: Vec<(String, Grouping)> = Vec::new();
        for names in OPEN_MPI {
            all.push((names.join(" + "), of(names, &call).expect("it is known")));
        }
        for name in of_mpich() {
            let parameters = Parameters {
                radix: 3,
                ..Parameters::default()
            };
            let found = mpich::grouping(name, &call, &parameters);
            all.extend(found.map(|found| (name.to_owned(), found)));
        }
        for (nth, (name, one)) in all.iter().enumerate() {
            for (other_name, other) in &all[..nth] {
                let lengths = |of: &Grouping| {
                    let ranks = 0..n;
                    ranks
                        .map(|rank| of.expressions(rank).iter().map(|of| of.0).sum())
                        .collect()
                };
                let (of_one, of_other): (Vec<u64>, Vec<u64>) = (lengths(one), lengths(other));
                if of_one != of_other {
                    // Another operation.
                    assert!(!one.has_same_bits_as(other));
                    continue;
                }
                let is_same = one.has_same_bits_as(other);
                assert_eq!(
                    has_same_sums(one, other, n),
                    is_same,
                    "{n}: {name}, {other_name}"
                );
                *(if is_same { &mut n_same } else { &mut n_other }) += 1;
            }
        }
    }
    assert!(n_same > 100 && n_other > 100, "{n_same} {n_other}");
}

/// What is said of an algorithm among several numbers of processes, the same for all of them.
fn said(names: &[&'static str]) -> Numerics {
    let named = named(names, Parameters::default());
    // Among three there are not many ways.
    let all: Vec<Numerics> = (5..=12)
        .map(|n| numerics(&named, &call(n, 0, 60)))
        .collect();
    assert!(
        all.windows(2).all(|two| two[0] == two[1]),
        "{names:?}: {all:?}"
    );
    all[0]
}

#[test]
fn what_is_same_among_other_numbers_of_processes() {
    let yes = Numerics {
        same_on_all_ranks: Some(true),
        same_from_run_to_run: Some(true),
        same_for_other_mappings: Some(true),
        same_for_other_numbers: Some(true),
    };
    let no = Numerics {
        same_for_other_numbers: Some(false),
        ..yes
    };
    for names in OPEN_MPI {
        let expected = match names {
            [
                "allreduce_intra_basic_linear" | "allreduce_intra_nonoverlapping",
                ..,
            ]
            | ["reduce_scatter_intra_nonoverlapping", ..]
            | ["reduce_scatter_block_intra_recursivedoubling" | "reduce_scatter_intra_ring"]
            | ["scan_intra_linear" | "exscan_intra_recursivedoubling"]
            | ["reduce_intra_basic_linear" | "reduce_intra_pipeline"]
            | ["reduce_intra_binary" | "reduce_intra_binomial"] => yes,
            _ => no,
        };
        assert_eq!(said(names), expected, "{names:?}");
    }
    // To the last process the tree begins there.
    let binomial = named(&["reduce_intra_binomial"], Parameters::default());
    assert_eq!(numerics(&binomial, &call(8, 7, 60)), no);
    assert_eq!(
        numerics(
            &named(&["bcast_intra_chain"], Parameters::default()),
            &call(8, 0, 60)
        ),
        Numerics::default()
    );
}

#[test]
fn sums_among_fewer_processes_differ_where_the_groupings_say_so() {
    for names in OPEN_MPI {
        let (n, m) = (8, 5);
        let [more, fewer] = [n, m].map(|n| of(names, &call(n, 0, 60)).expect("it is known"));
        let first = more.of_first(m);
        let is_same = first.has_same_bits_as(&fewer);
        // Those of the others are zero.
        let of_first = |values: &Vec<f64>| {
            let zeros = std::iter::repeat_n(0.0, n - m);
            let values: Vec<f64> = values.iter().copied().chain(zeros).collect();
            sums(&more, &values)[..m].to_vec()
        };
        let mut draws = draws(m);
        let are_same = draws.all(|values| of_first(&values) == sums(&fewer, &values));
        assert_eq!(are_same, is_same, "{names:?}");
    }
}
