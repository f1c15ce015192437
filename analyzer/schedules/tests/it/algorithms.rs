//! Each message has a sender and a receiver, and nobody waits for ever.

use std::collections::BTreeSet;

use collbench_schedules::open_mpi::{Named, Release, names, schedule};
use collbench_schedules::{Action, Call, Parameters, Schedule, What, mpich};
use proptest::prelude::*;

/// Parts of those that consist of others.
const PARTS: [(&str, &[&str]); 5] = [
    (
        "allgather_intra_basic_linear",
        &["gather_intra_binomial", "bcast_intra_chain"],
    ),
    ("allgatherv_intra_basic_default", &["bcast_intra_bintree"]),
    (
        "allreduce_intra_basic_linear",
        &["reduce_intra_basic_linear", "bcast_intra_basic_linear"],
    ),
    (
        "allreduce_intra_nonoverlapping",
        &["reduce_intra_in_order_binary", "bcast_intra_knomial"],
    ),
    (
        "reduce_scatter_block_basic_linear",
        &["reduce_intra_pipeline", "scatter_intra_linear_nb"],
    ),
];

/// Processes that each algorithm is for: others it hands on to another algorithm.
fn is_for(name: &str, call: &Call) -> bool {
    let n = call.n_processes as u64;
    let n_powers = 1 << n.ilog2();
    match name {
        _ if name.ends_with("two_procs") => n == 2,
        "allgather_intra_recursivedoubling" => n.is_power_of_two(),
        _ if name.ends_with("neighborexchange") => n.is_multiple_of(2),
        "allreduce_intra_ring" | "allreduce_intra_ring_segmented" => call.elements >= n,
        "bcast_intra_scatter_allgather" | "bcast_intra_scatter_allgather_ring" => {
            call.elements >= n
        }
        "bcast_intra_split_bintree" => call.elements >= 2,
        "allreduce_intra_redscat_allgather" | "reduce_intra_redscat_gather" => {
            call.elements >= n_powers
        }
        _ => true,
    }
}

/// Whether an algorithm of MPICH does a call itself, rather than leave it to another one.
fn is_for_in_mpich(name: &str, call: &Call) -> bool {
    let n = call.n_processes as u64;
    match name {
        "MPIR_Allgather_intra_recursive_doubling"
        | "MPIR_Allgatherv_intra_recursive_doubling"
        | "MPIR_Reduce_scatter_block_intra_noncommutative" => n.is_power_of_two(),
        "MPIR_Allreduce_intra_reduce_scatter_allgather"
        | "MPIR_Reduce_intra_reduce_scatter_gather" => call.elements >= 1 << n.ilog2(),
        _ => true,
    }
}

/// Carries a schedule out where every send waits until it is received; what is left of each process.
fn left(schedule: &Schedule) -> Vec<usize> {
    let messages = schedule.messages().expect("each message has two ends");
    let n_actions = |rank: usize| schedule.processes[rank].actions.len();
    let mut begun: Vec<usize> = vec![0; schedule.processes.len()];
    // Where the other end of a message is.
    let mut other: Vec<Vec<Option<(usize, usize)>>> = (0..begun.len())
        .map(|rank| vec![None; n_actions(rank)])
        .collect();
    for message in &messages {
        other[message.from][message.send] = Some((message.to, message.receive));
        other[message.to][message.receive] = Some((message.from, message.send));
    }
    loop {
        let mut goes_on = false;
        for rank in 0..begun.len() {
            while let Some(Action { after, .. }) = schedule.processes[rank].actions.get(begun[rank])
            {
                let has_ended = |&at: &usize| match other[rank][at] {
                    Some((to, receive)) => begun[to] > receive,
                    None => true,
                };
                if !after.iter().all(has_ended) {
                    break;
                }
                begun[rank] += 1;
                goes_on = true;
            }
        }
        if !goes_on {
            return (0..begun.len())
                .map(|rank| n_actions(rank) - begun[rank])
                .collect();
        }
    }
}

fn of(name: &'static str, call: &Call, parameters: Parameters) -> Option<Schedule> {
    let parts = PARTS.iter().find(|(of, _)| *of == name);
    let mut all = vec![name];
    all.extend(parts.map_or(&[][..], |(_, parts)| parts));
    if name == "reduce_scatter_intra_nonoverlapping" {
        all.push("reduce_intra_binomial");
    }
    let named: Vec<_> = all.iter().map(|name| Named { name, parameters }).collect();
    schedule(Release::V4_1, &named, call)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nobody_waits_for_ever(
        n_processes in 1_usize..26,
        root in 0_usize..40,
        elements in 1_u64..400,
        segment_bytes in prop_oneof![Just(0_u64), 1_u64..2000],
        (chains, radix, requests) in (1_usize..6, 2_usize..6, 0_usize..4),
    ) {
        let call = Call { n_processes, root: root % n_processes, elements, element_bytes: 4 };
        let parameters = Parameters { segment_bytes, chains, radix, requests };
        for name in names().filter(|name| is_for(name, &call)) {
            let Some(schedule) = of(name, &call, parameters) else {
                prop_assert_eq!(name, "alltoall_intra_linear_sync");
                continue;
            };
            prop_assert!(left(&schedule).iter().all(|&n| n == 0), "{} {:?}", name, call);
            // Whoever takes part sends, or receives.
            let takes_part = |process: &collbench_schedules::Process| {
                process.actions.iter().any(|action| !matches!(action.what, What::Combine { .. }))
            };
            prop_assert!(n_processes == 1 || schedule.processes.iter().all(takes_part), "{}", name);
        }
        for name in mpich::names().filter(|name| is_for_in_mpich(name, &call)) {
            let schedule = mpich::schedule(name, &call, &parameters).expect("its name is known");
            prop_assert!(left(&schedule).iter().all(|&n| n == 0), "{} {:?}", name, call);
        }
    }
}

#[test]
fn names_are_distinct_and_those_with_parts_need_them() {
    let all: BTreeSet<_> = names().collect();
    assert_eq!(all.len(), names().count());
    let call = Call {
        n_processes: 4,
        root: 0,
        elements: 8,
        element_bytes: 1,
    };
    let named = |name| Named {
        name,
        parameters: Parameters::default(),
    };
    let release = Release::V5_0;
    assert_eq!(schedule(release, &[], &call), None);
    assert_eq!(schedule(release, &[named("bcast_intra_tree")], &call), None);
    let whole = named("allreduce_intra_nonoverlapping");
    let [reduce, bcast] = ["reduce_intra_binary", "bcast_intra_chain"].map(named);
    assert_eq!(schedule(release, &[whole, reduce], &call), None);
    assert!(schedule(release, &[whole, reduce, bcast], &call).is_some());
    assert_eq!(schedule(release, &[reduce, bcast], &call), None);
}

#[test]
fn names_of_mpich_are_distinct() {
    let all: BTreeSet<_> = mpich::names().collect();
    assert_eq!(all.len(), mpich::names().count());
}

/// Who sends to whom, in order, in the pictures that MPICH's `treeutil.c` has of its trees.
#[test]
fn k_nomial_trees_of_mpich_are_those_of_its_pictures() {
    let call = Call {
        n_processes: 8,
        root: 0,
        elements: 1,
        element_bytes: 1,
    };
    let parameters = Parameters {
        radix: 2,
        ..Parameters::default()
    };
    let sent = |name: &str| {
        let schedule = mpich::schedule(name, &call, &parameters).expect("its name is known");
        let messages = schedule.messages().expect("each message has two ends");
        let pairs = messages.iter().map(|of| (of.from, of.to));
        pairs.collect::<Vec<_>>()
    };
    assert_eq!(
        sent("MPIR_Bcast_intra_tree knomial_1"),
        [(0, 1), (0, 5), (0, 7), (1, 2), (1, 4), (2, 3), (5, 6)]
    );
    assert_eq!(
        sent("MPIR_Bcast_intra_tree knomial_2"),
        [(0, 4), (0, 2), (0, 1), (2, 3), (4, 6), (4, 5), (6, 7)]
    );
    assert_eq!(
        sent("MPIR_Bcast_intra_binomial"),
        sent("MPIR_Bcast_intra_tree knomial_2")
    );
}
