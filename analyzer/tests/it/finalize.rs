//! Waits in `MPI_Finalize`: what they are, and where they are not known.

use collbench_analyzer::results::{CausePlace, CostOf};
use collbench_analyzer::{Analysis, Selection};
use collbench_formats::{Direction, Operation, ROOT_NONE};

use crate::built::{TestTrace, call, codes, message};

/// Three ranks that enter and leave `MPI_Finalize` at these times, after a barrier.
fn trace(finalize: [(u64, u64); 3]) -> TestTrace {
    let mut trace = TestTrace::new(3);
    for process in &mut trace.processes {
        process.with_point_to_point();
    }
    trace.world(Operation::Barrier, ROOT_NONE, 0, &[(100, 200); 3]);
    trace.world(Operation::Finalize, ROOT_NONE, 0, &finalize);
    trace
}

const APART: [(u64, u64); 3] = [
    (1_000_000, 90_000_000),
    (500_000, 70_000_000),
    (60_000_000, 80_000_000),
];

fn waits(analysis: &Analysis) -> Vec<Option<i64>> {
    analysis
        .ranks
        .iter()
        .map(|of| of.finalize_wait_ns)
        .collect()
}

fn costs(analysis: &Analysis) -> i64 {
    let causes = analysis.causes.iter();
    let at_end = causes.filter(|cause| cause.of == CostOf::Finalize);
    at_end.map(|cause| cause.cost_ns).sum()
}

#[test]
fn each_waits_for_the_last_to_enter_and_costs_add_up() {
    let analysis = trace(APART).analyze();
    assert_eq!(
        waits(&analysis),
        [Some(59_000_000), Some(59_500_000), Some(0)]
    );
    assert_eq!(costs(&analysis), 118_500_000);
    let cause = &analysis.causes[0];
    assert_eq!(cause.place, Some(CausePlace::Rank(2)));
    assert_eq!((cause.of, cause.operation), (CostOf::Finalize, None));
    // No collective, and no time in one.
    assert_eq!(analysis.totals.len(), 1);
    assert!(
        analysis
            .ranks
            .iter()
            .all(|rank| rank.calls == 1 && rank.call_time_ns == 100)
    );
    let in_it: Vec<_> = analysis.ranks.iter().map(|of| of.finalize_ns).collect();
    assert_eq!(
        in_it,
        [Some(89_000_000), Some(69_500_000), Some(20_000_000)]
    );
    // Useful is what is neither in the barrier nor in MPI_Finalize.
    let found = analysis.efficiencies.unwrap();
    assert_eq!((found.max_rank, found.max_useful_ns), (2, 59_999_900));
    assert_eq!(found.mean_useful_ns, (999_900 + 499_900 + 59_999_900) / 3);
}

#[test]
fn who_is_late_by_less_may_have_been_interrupted() {
    let apart = APART.map(|(enter, leave)| (enter / 10, leave / 10));
    let analysis = trace(apart).analyze();
    let mut causes = analysis.causes.iter();
    assert!(causes.all(|cause| cause.rank().is_none() && !cause.matters));
    assert_eq!(costs(&analysis), 11_850_000);
}

#[test]
fn who_left_before_the_last_entered_waited_until_then() {
    let analysis = trace([(1_000, 3_000), (500, 7_000), (6_000, 8_000)]).analyze();
    assert_eq!(waits(&analysis), [Some(2_000), Some(5_500), Some(0)]);
    assert_eq!(costs(&analysis), 7_500);
}

#[test]
fn nothing_is_known_unless_all_have_returned_on_one_time() {
    let mut killed = trace(APART);
    killed.processes[1].chunks[0].records.pop();
    killed.processes[1].is_finalized = false;
    let mut elsewhere = trace(APART);
    elsewhere.processes[1].on_host("n02");
    let mut missing = trace(APART);
    missing.processes.pop();
    for trace in [killed, elsewhere, missing] {
        let analysis = trace.analyze();
        assert!(waits(&analysis).iter().all(Option::is_none));
        assert_eq!(costs(&analysis), 0);
    }
}

#[test]
fn of_some_ranks_or_operations_only_their_waits_are_costs() {
    let trace = trace(APART);
    let part = Selection {
        ranks: vec![(0, 0)],
        ..Selection::default()
    };
    let analysis = trace.analyze_part(&part);
    assert_eq!(waits(&analysis), [Some(59_000_000), None, None]);
    assert_eq!(costs(&analysis), 59_000_000);
    let part = Selection {
        operations: vec!["MPI_Barrier".into()],
        ..Selection::default()
    };
    assert_eq!(costs(&trace.analyze_part(&part)), 0);
}

#[test]
fn in_callbacks_nobody_waits_in_finalize_yet_and_messages_are_not_recorded() {
    let mut trace = trace([(1_000, 9_000), (1_000, 9_000), (1_000, 9_000)]);
    for (process, enter) in trace.processes.iter_mut().zip([1_100, 1_200, 5_000]) {
        process.with_messages();
        // In the barrier there is one.
        let sent = message(Direction::Send, 0, 0, (150, 160));
        process.chunks[0].records.insert(2, sent);
        process.call(call(Operation::Allreduce, 0, ROOT_NONE, 8, (enter, 5_100)));
    }
    let analysis = trace.analyze();
    assert_eq!(waits(&analysis), [Some(0); 3]);
    let waits: Vec<_> = analysis.ranks.iter().map(|of| of.wait_ns).collect();
    assert_eq!(waits, [Some(3_900), Some(3_800), Some(0)]);
    assert!(
        codes(&analysis).contains(&"in_finalize"),
        "{:?}",
        analysis.remarks
    );
    assert!(!codes(&analysis).contains(&"opaque_collectives"));
}
