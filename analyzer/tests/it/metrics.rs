//! Waits, lags, cores and orders of built traces, against figures worked out by another route.

use collbench_formats::{
    Communicator, CommunicatorKind, Operation, ROOT_IS_ME, ROOT_OTHER_OF_MY_GROUP, Semantics,
};
use proptest::prelude::*;

use crate::built::{START, TestTrace, call, codes, inter, only, split, totals};

#[test]
fn a_barrier_splits_into_lag_core_and_departure_wait() {
    let mut trace = TestTrace::new(3);
    trace.barrier(&[(100, 540), (400, 500), (250, 560)]);
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    let sums = totals(barrier);
    assert_eq!(sums["duration"], Some((1, 460)));
    assert_eq!(sums["call"], Some((3, 440 + 100 + 310)));
    assert_eq!(sums["lag"], Some((3, 300 + 150)));
    assert_eq!(sums["wait"], Some((3, 300 + 150)));
    assert_eq!(sums["core"], Some((1, 100)));
    assert_eq!(sums["departure"], Some((3, 40 + 60)));
    assert_eq!(barrier.wait_states["Wait at Barrier"], 450);
    assert_eq!(barrier.wait_states["Barrier Completion"], 100);
    assert_eq!(barrier.last_arrivals, [0, 1, 0]);
    assert_eq!(barrier.first_departures, [0, 1, 0]);
    let order = barrier.arrival_order.as_ref().unwrap();
    assert_eq!(order[..], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]);
    assert_eq!(
        (analysis.ranks[0].wait_ns, analysis.ranks[0].first),
        (Some(300), 1)
    );
    assert_eq!(analysis.ranks[1].last, 1);
}

#[test]
fn all_receivers_of_a_bcast_wait_for_its_root_only() {
    let mut trace = TestTrace::new(4);
    // Rank 3 comes after the root; rank 0 leaves before the root comes (a clock error).
    trace.world(
        Operation::Bcast,
        1,
        8,
        &[(0, 90), (100, 110), (40, 160), (300, 310)],
    );
    let analysis = trace.analyze();
    let bcast = only(&analysis, "MPI_Bcast");
    assert_eq!(bcast.root, Some(1));
    assert_eq!(totals(bcast)["wait"], Some((4, 90 + 60)));
    assert_eq!(bcast.wait_states["Late Broadcast"], 150);
    assert_eq!(totals(bcast)["lag"], Some((4, 300 + 200 + 260)));
    assert_eq!((&bcast.core_ns, &bcast.departure_wait_ns), (&None, &None));
    assert_eq!(bcast.last_arrivals, [0, 0, 0, 1]);
    // Rank 3 arrived last, but nobody waited for it.
    assert_eq!(analysis.imbalance[0].wait_caused_ns, Some(0));
}

#[test]
fn the_root_alone_waits_in_a_reduce_for_all_that_send_something() {
    let mut trace = TestTrace::new(3);
    trace.world(Operation::Reduce, 0, 8, &[(0, 500), (100, 110), (400, 410)]);
    assert_eq!(
        totals(only(&trace.analyze(), "MPI_Reduce"))["wait"],
        Some((3, 400))
    );

    // In a gatherv rank 2 sends nothing, so the root has all it needs when rank 1 has come.
    let mut trace = TestTrace::new(3);
    for (rank, (payload, stamps)) in [(8, (0, 500)), (8, (100, 110)), (0, (400, 410))]
        .into_iter()
        .enumerate()
    {
        trace.processes[rank].call(call(Operation::Gatherv, 0, 0, payload, stamps));
    }
    let analysis = trace.analyze();
    let gatherv = only(&analysis, "MPI_Gatherv");
    assert_eq!(totals(gatherv)["wait"], Some((3, 100)));
    assert_eq!(gatherv.wait_states["Early Reduce"], 100);
    assert_eq!((gatherv.bytes_min, gatherv.bytes_max), (Some(0), Some(8)));
}

#[test]
fn a_scan_waits_for_lower_ranks_only() {
    let mut trace = TestTrace::new(4);
    trace.world(
        Operation::Scan,
        -1,
        8,
        &[(50, 60), (10, 70), (20, 80), (200, 210)],
    );
    let analysis = trace.analyze();
    let scan = only(&analysis, "MPI_Scan");
    assert_eq!(totals(scan)["wait"], Some((4, 40 + 30)));
    assert_eq!(scan.wait_states["Early Scan"], 70);
}

#[test]
fn nothing_to_exchange_is_nothing_to_wait_for_except_in_a_barrier() {
    for (operation, waits) in [
        (Operation::Allreduce, 0),
        (Operation::Bcast, 0),
        (Operation::Reduce, 0),
        (Operation::Scan, 0),
        (Operation::Alltoallv, 0),
        (Operation::Barrier, 200),
    ] {
        let mut trace = TestTrace::new(2);
        let root = if operation.semantics().is_rooted() {
            1
        } else {
            -1
        };
        trace.world(operation, root, 0, &[(0, 300), (200, 300)]);
        let analysis = trace.analyze();
        let summary = only(&analysis, operation.name());
        assert_eq!(totals(summary)["wait"], Some((2, waits)), "{operation:?}");
        assert_eq!(summary.core_ns.is_some(), operation == Operation::Barrier);
    }
}

#[test]
fn who_sends_nothing_in_an_alltoallv_still_receives_and_so_waits() {
    let mut trace = TestTrace::new(2);
    trace.processes[0].call(call(Operation::Alltoallv, 0, -1, 0, (0, 300)));
    trace.processes[1].call(call(Operation::Alltoallv, 0, -1, 8, (200, 300)));
    let analysis = trace.analyze();
    assert_eq!(
        totals(only(&analysis, "MPI_Alltoallv"))["wait"],
        Some((2, 200))
    );
}

#[test]
fn a_receiver_of_nothing_in_a_scatterv_does_not_wait() {
    let mut trace = TestTrace::new(3);
    for (rank, (payload, stamps)) in [(8, (0, 90)), (0, (0, 5)), (16, (50, 60))]
        .into_iter()
        .enumerate()
    {
        trace.processes[rank].call(call(Operation::Scatterv, 0, 2, payload, stamps));
    }
    assert_eq!(
        totals(only(&trace.analyze(), "MPI_Scatterv"))["wait"],
        Some((3, 50))
    );
}

#[test]
fn giving_a_communicator_back_has_lags_but_no_waits() {
    let mut trace = TestTrace::new(2);
    trace.world(Operation::CommFree, -1, 0, &[(0, 10), (200, 210)]);
    let analysis = trace.analyze();
    let free = only(&analysis, "MPI_Comm_free");
    assert_eq!(free.wait_ns, None);
    assert!(free.wait_states.is_empty());
    assert_eq!(totals(free)["lag"], Some((2, 200)));
}

#[test]
fn a_constructor_waits_as_all_to_all_do_and_has_no_root() {
    let mut trace = TestTrace::new(2);
    for (rank, stamps) in [(0, 300), (200, 310)].into_iter().enumerate() {
        let process = &mut trace.processes[rank];
        process.define(split(2, 9, &[0, 1], rank as u32, 0));
        process.call(call(Operation::CommSplit, 0, 2, 0, stamps));
    }
    let analysis = trace.analyze();
    let constructor = only(&analysis, "MPI_Comm_split");
    assert_eq!(
        (constructor.root, constructor.communicator),
        (None, Some(0))
    );
    assert_eq!(totals(constructor)["wait"], Some((2, 200)));
    assert_eq!(totals(constructor)["core"], Some((1, 100)));
    assert_eq!(constructor.wait_states["Wait at N x N"], 200);
}

#[test]
fn groups_of_an_intercommunicator_wait_for_each_other() {
    let groups: [&[u32]; 2] = [&[0, 1], &[2, 3]];
    let mut trace = TestTrace::new(4);
    let stamps = [(0, 500), (50, 500), (300, 510), (100, 520)];
    for rank in 0..4 {
        let process = &mut trace.processes[rank as usize];
        process.define(inter(2, 9, groups, rank));
        process.call(call(Operation::Allreduce, 2, -1, 8, stamps[rank as usize]));
    }
    let analysis = trace.analyze();
    let allreduce = only(&analysis, "MPI_Allreduce");
    // Ranks 0 and 1 wait for rank 2; ranks 2 and 3 for rank 1, who was there before them.
    assert_eq!(totals(allreduce)["wait"], Some((4, 300 + 250)));
    assert_eq!(allreduce.core_ns, None);
    let communicator = &analysis.communicators[allreduce.communicator.unwrap()];
    assert_eq!((&*communicator.kind, communicator.size), ("inter", 4));
    let groups = communicator.groups.as_ref().unwrap();
    assert_eq!(groups[0], [Some(0), Some(1)]);
    assert_eq!(groups[1], [Some(2), Some(3)]);
    assert_eq!(analysis.ranks[0].calls_by_class["MPI_Allreduce:inter"], 1);
}

#[test]
fn where_the_other_group_of_an_intercommunicator_is_not_known_no_wait_is_made_up() {
    let mut trace = TestTrace::new(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        // As no recorder writes it.
        process.define(Communicator {
            kind: CommunicatorKind::Inter,
            ..split(2, 9, &[0, 1], rank, 0)
        });
        process.call(call(Operation::Allreduce, 2, -1, 8, (100, 500)));
    }
    let analysis = trace.analyze();
    let allreduce = only(&analysis, "MPI_Allreduce");
    assert_eq!(allreduce.instances, 1);
    assert_eq!(totals(allreduce)["wait"], None);
    assert!(analysis.ranks.iter().all(|rank| rank.wait_ns.is_none()));
}

#[test]
fn the_root_of_an_intercommunicator_is_known_by_what_each_side_says() {
    let groups: [&[u32]; 2] = [&[0, 1], &[2, 3]];
    let mut trace = TestTrace::new(4);
    let stamps = [(0, 500), (50, 500), (900, 910), (300, 310)];
    // Rank 3, rank 1 of its group, is the root; rank 2 is the other of its group.
    let roots = [1, 1, ROOT_OTHER_OF_MY_GROUP, ROOT_IS_ME];
    for rank in 0..4usize {
        let process = &mut trace.processes[rank];
        process.define(inter(2, 9, groups, rank as u32));
        process.call(call(Operation::Bcast, 2, roots[rank], 8, stamps[rank]));
    }
    let analysis = trace.analyze();
    let bcast = only(&analysis, "MPI_Bcast");
    assert_eq!(bcast.root, Some(3));
    assert_eq!(totals(bcast)["wait"], Some((4, 300 + 250)));

    // With another root on one side it is no instance.
    trace.processes[0].chunks[0].records[0].root = 0.into();
    let analysis = trace.analyze();
    assert!(
        codes(&analysis).contains(&"mismatched_calls"),
        "{:?}",
        codes(&analysis)
    );
    assert_eq!(analysis.totals["MPI_Bcast"].instances, 0);
}

#[test]
fn arrivals_within_the_granularity_of_the_clock_are_not_resolved() {
    let mut trace = TestTrace::new(3);
    for process in &mut trace.processes {
        process.identity.clock.granularity_ticks = 10;
    }
    // First at 0, then two within 10 ns: last unresolved, only the first position known.
    trace.barrier(&[(0, 500), (100, 511), (110, 600)]);
    trace.barrier(&[(1000, 1500), (1100, 1511), (1111, 1600)]);
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(barrier.last_arrivals, [0, 0, 1]);
    assert_eq!(barrier.last_unresolved, 1);
    let order = barrier.arrival_order.as_ref().unwrap();
    assert_eq!(order[..], [[2, 0, 0], [0, 1, 0], [0, 0, 1]]);
    assert_eq!(barrier.first_departures, [2, 0, 0]);
    assert_eq!(barrier.first_unresolved, 0);
}

#[test]
fn on_several_hosts_times_are_compared_within_each_only() {
    let mut trace = TestTrace::new(4);
    // Host n02 is a second ahead; within the hosts: lags 100 and 0, 300 and 0.
    for rank in [2, 3] {
        trace.processes[rank].on_host("n02");
    }
    let ahead = 1_000_000_000;
    trace.world(
        Operation::Allreduce,
        -1,
        8,
        &[
            (0, 700),
            (100, 710),
            (ahead, ahead + 500),
            (ahead + 300, ahead + 520),
        ],
    );
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), ["clocks_not_aligned"]);
    assert_eq!(analysis.trace.hosts, ["n01", "n02"]);
    let allreduce = only(&analysis, "MPI_Allreduce");
    let sums = totals(allreduce);
    assert_eq!(sums["lag"], Some((4, 400)));
    assert_eq!(sums["wait"], Some((4, 400)));
    assert_eq!(sums["departure"], Some((4, 10 + 20)));
    assert_eq!(sums["duration"], Some((1, 710)));
    assert_eq!((sums["core"], allreduce.last_unresolved), (None, 1));
    assert_eq!(*allreduce.arrival_order, None);
    assert_eq!(analysis.clock.hosts[1].offset_ns, None);
    assert_eq!(analysis.clock.hosts[0].offset_ns, Some(0));
}

#[test]
fn a_wait_for_a_root_on_another_host_is_left_out() {
    let mut trace = TestTrace::new(3);
    trace.processes[2].on_host("n02");
    trace.world(Operation::Bcast, 0, 8, &[(50, 60), (20, 70), (5, 90)]);
    trace.world(
        Operation::Reduce,
        2,
        8,
        &[(150, 160), (120, 170), (105, 190)],
    );
    let analysis = trace.analyze();
    assert_eq!(totals(only(&analysis, "MPI_Bcast"))["wait"], Some((2, 30)));
    assert_eq!(totals(only(&analysis, "MPI_Reduce"))["wait"], Some((2, 0)));
}

#[test]
fn a_process_alone_on_its_host_has_nobody_to_wait_for_that_could_be_compared() {
    let mut trace = TestTrace::new(3);
    trace.processes[2].on_host("n02");
    trace.barrier(&[(0, 500), (100, 510), (50, 520)]);
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!(totals(barrier)["wait"], Some((2, 100)));
    assert_eq!(totals(barrier)["lag"], Some((3, 100)));
}

#[test]
fn ticks_of_the_processor_become_ns_by_the_anchors_of_the_whole_host() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.identity.clock.source = collbench_formats::ClockSource::Tsc;
        // 2 ticks per ns; only rank 0 has a narrow pair of readings.
        let (width, skew) = if process.identity.rank == 0 {
            (2, 0)
        } else {
            (9000, 3000)
        };
        process.identity.anchors = vec![
            [2 * START, START + skew, 0, 0, width],
            [2 * START + 2_000, START + 1_000, 0, 0, width],
        ];
        process.is_finalized = false;
        process.definitions.truncate(1);
    }
    trace.barrier(&[(2 * START + 4000, 2 * START + 6000); 2]);
    let directory = trace.in_directory();
    // The other anchors (of chunks) are in ns: leave them out of this one.
    let files = collbench_analyzer::RunFiles::open(directory.path()).unwrap();
    let mut run = collbench_analyzer::steps::Run::read(&files).unwrap();
    for process in &mut run.processes {
        process.trace.anchors = process
            .trace
            .identity
            .anchors
            .iter()
            .map(|&a| a.into())
            .collect();
    }
    let clocks = collbench_analyzer::steps::Clocks::fit(&run);
    let at = |rank: usize, ticks| {
        let ticks = collbench_clocks::timestamp::Timestamp::from_ticks(ticks);
        clocks.processes[rank].global(ticks).ns()
    };
    assert_eq!(at(0, 2 * START + 2_000), 0);
    assert_eq!(at(0, 2 * START + 4_000), 1_000);
    assert_eq!(at(1, 2 * START + 4_000), 1_000);
}

/// The definitions once more, as directly as they can be written: everything by looking at all.
fn brute_force(
    operation: Operation,
    root: usize,
    payload: &[u64],
    stamps: &[(u64, u64)],
) -> [Option<(u64, i64)>; 3] {
    let n = stamps.len();
    let is_left_out = |i: usize| match operation.semantics() {
        Semantics::AllToAll => payload.iter().all(|&p| p == 0),
        Semantics::OneToMany => payload[i] == 0 || payload[root] == 0,
        Semantics::ManyToOne if i == root => (0..n).all(|j| j == root || payload[j] == 0),
        Semantics::ManyToOne | Semantics::Prefix => payload[i] == 0,
        _ => false,
    };
    let depends = |i: usize, j: usize| {
        if is_left_out(i) || is_left_out(j) {
            return false;
        }
        match operation.semantics() {
            Semantics::OneToMany => j == root && i != root,
            Semantics::ManyToOne => i == root && j != root,
            Semantics::Prefix => j < i,
            _ => true,
        }
    };
    let mut waits = 0;
    for i in 0..n {
        let (enter, leave) = stamps[i];
        let release = (0..n).filter(|&j| depends(i, j)).map(|j| stamps[j].0).max();
        let release = release.unwrap_or(enter).max(enter);
        waits += (release.min(leave) as i64 - enter as i64).max(0);
    }
    let last_enter = stamps.iter().map(|s| s.0).max().unwrap() as i64;
    let first_leave = stamps.iter().map(|s| s.1).min().unwrap() as i64;
    let lags = stamps.iter().map(|s| last_enter - s.0 as i64).sum();
    let is_all = matches!(
        operation.semantics(),
        Semantics::AllToAll | Semantics::Barrier
    );
    let core = (is_all && !is_left_out(0)).then_some((1, first_leave - last_enter));
    [Some((n as u64, waits)), Some((n as u64, lags)), core]
}

fn operations() -> impl Strategy<Value = Operation> {
    prop::sample::select(vec![
        Operation::Barrier,
        Operation::Allreduce,
        Operation::Alltoallw,
        Operation::Allgatherv,
        Operation::Bcast,
        Operation::Scatterv,
        Operation::Gatherv,
        Operation::Reduce,
        Operation::Scan,
        Operation::Exscan,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn waits_are_those_of_the_definitions(
        operation in operations(),
        root in 0usize..5,
        ranks in prop::collection::vec((0u64..1000, 0u64..1000, 0u64..3), 5),
    ) {
        let stamps: Vec<(u64, u64)> = ranks.iter().map(|&(e, d, _)| (e, e + d + 1)).collect();
        let payload: Vec<u64> = match operation {
            Operation::Barrier => vec![0; 5],
            _ => ranks.iter().map(|&(.., p)| p * 8).collect(),
        };
        let recorded_root = if operation.semantics().is_rooted() { root as i32 } else { -1 };
        let mut trace = TestTrace::new(5);
        for rank in 0..5 {
            trace.processes[rank]
                .call(call(operation, 0, recorded_root, payload[rank], stamps[rank]));
        }
        let analysis = trace.analyze();
        let sums = totals(only(&analysis, operation.name()));
        let expected = brute_force(operation, root, &payload, &stamps);
        prop_assert_eq!([sums["wait"], sums["lag"], sums["core"]], expected);
    }

    #[test]
    fn lag_core_and_departure_wait_add_up_to_the_time_of_each_call(
        ranks in prop::collection::vec((0u64..100_000, 1u64..100_000), 2..9),
    ) {
        let stamps: Vec<(u64, u64)> = ranks.iter().map(|&(e, d)| (e, e + d)).collect();
        let n = stamps.len() as i64;
        let mut trace = TestTrace::new(n as u32);
        trace.world(Operation::Allreduce, -1, 8, &stamps);
        let analysis = trace.analyze();
        let sums = totals(only(&analysis, "MPI_Allreduce"));
        let total = |name: &str| sums[name].unwrap().1;
        prop_assert_eq!(total("lag") + n * total("core") + total("departure"), total("call"));
    }
}
