//! Calls that the MPI library refused, and what a recorder did not see because it had stopped: nothing is
//! told of them that did not happen.

use collbench_analyzer::results::{RankSummary, Remark, Summary};
use collbench_formats::{CODE_FAILED, Direction, Operation, Record};

use crate::built::{TestTrace, begin, call, codes, message, one, only};

/// A call that returned an error code.
fn refused(mut record: Record) -> Record {
    record.code = (record.code.get() | CODE_FAILED).into();
    record
}

/// Two processes that make `calls`, each of the last with a message in both directions.
fn with_messages(calls: &[Record]) -> TestTrace {
    let mut trace = TestTrace::new(2);
    for (process, other) in trace.processes.iter_mut().zip([1, 0]) {
        process.with_messages();
        for record in calls {
            process.call(*record);
        }
        process.call(call(Operation::Allreduce, 0, -1, 8, (10_000, 11_000)));
        process.call(message(Direction::Send, 0, other, (10_100, 10_150)));
        process.call(message(Direction::Receive, 0, other, (10_200, 10_250)));
    }
    trace
}

#[test]
fn a_collective_that_the_library_refused_is_not_opaque() {
    let found = |before: Record| {
        let analysis = with_messages(&[before]).analyze();
        let barrier = only(&analysis, "MPI_Barrier");
        let outside = barrier.outside_trees.as_ref();
        let opaque = outside.map_or(0, |outside| outside.opaque);
        let codes: Vec<String> = codes(&analysis).into_iter().map(str::to_owned).collect();
        (barrier.instances, opaque, codes)
    };
    let barrier = call(Operation::Barrier, 0, -1, 0, (100, 200));
    assert_eq!(found(refused(barrier)), (0, 0, vec!["failed_calls".into()]));
    assert_eq!(found(barrier), (1, 1, vec!["opaque_collectives".into()]));
}

#[test]
fn what_was_refused_is_counted_and_in_no_figure() {
    let mut trace = TestTrace::new(2);
    // Refused at once by both; by one, while the other waits until it gives up; and by none.
    for (process, stamps) in trace.processes.iter_mut().zip([
        [(100, 150), (10_000, 90_000), (100_000, 104_000)],
        [(9_000, 9_050), (89_000, 89_100), (101_000, 104_500)],
    ]) {
        let [both, one, none] = stamps.map(|at| call(Operation::Barrier, 0, -1, 0, at));
        process.call(refused(both));
        let is_refused = process.identity.rank == 1;
        process.call(if is_refused { refused(one) } else { one });
        process.call(none);
    }
    let analysis = trace.analyze();
    let barrier = only(&analysis, "MPI_Barrier");
    assert_eq!((barrier.calls, barrier.instances), (6, 1));
    assert_eq!((barrier.failed, barrier.incomplete), (2, 0));
    let total = |of: &Option<Summary>| of.as_ref().map(|of| (of.n, of.total));
    assert_eq!(total(&barrier.core_ns), Some((1, 3_000)));
    assert_eq!(total(&barrier.call_time_ns), Some((2, 7_500)));
    assert_eq!(total(&barrier.wait_ns), Some((2, 1_000)));
    let ranks = |of: fn(&RankSummary) -> i64| analysis.ranks.iter().map(of).collect::<Vec<_>>();
    assert_eq!(ranks(|rank| rank.calls.cast_signed()), [3, 3]);
    assert_eq!(ranks(|rank| rank.call_time_ns), [4_000, 3_500]);
    let remark = one(&analysis.remarks);
    let found = Remark::FailedCalls {
        n_calls: 3,
        n_instances: 2,
    };
    assert_eq!(*remark, found);
}

#[test]
fn a_core_below_zero_on_one_host_is_not_put_down_to_clocks() {
    let mut trace = TestTrace::new(2);
    // The second rank comes when the first has left.
    trace.barrier(&[(100, 200), (300, 400)]);
    let analysis = trace.analyze();
    assert_eq!(codes(&analysis), ["negative_core"]);
    let found = Remark::NegativeCore {
        n_instances: 1,
        n_of_one_clock: 1,
    };
    assert_eq!(analysis.remarks, [found]);
}

#[test]
fn a_nonblocking_collective_that_the_library_refused_was_never_begun() {
    let begun = begin(Operation::Ibcast, 0, 0, 8, (100, 200));
    let analysis = with_messages(&[refused(begun)]).analyze();
    assert_eq!(codes(&analysis), ["failed_calls"]);
    let bcast = only(&analysis, "MPI_Ibcast");
    assert_eq!((bcast.calls, bcast.failed, bcast.incomplete), (2, 1, 0));
    assert!(analysis.never_completed.is_empty() && analysis.unfinished.is_empty());

    let analysis = with_messages(&[begun]).analyze();
    assert_eq!(
        codes(&analysis),
        ["never_completed", "incomplete_instances"]
    );
    assert_eq!(analysis.never_completed[0].ranks, [0, 1]);
}

#[test]
fn a_root_that_is_no_rank_is_not_taken_for_different_roots() {
    let analysis = |roots: [i32; 2]| {
        let mut trace = TestTrace::new(2);
        for (process, root) in trace.processes.iter_mut().zip(roots) {
            process.call(refused(call(Operation::Bcast, 0, root, 8, (100, 200))));
        }
        trace.analyze()
    };
    let same = analysis([7, 7]);
    assert_eq!(codes(&same), ["failed_calls"]);
    assert!(same.mismatches.is_empty());
    let different = analysis([7, 1]);
    let found = one(&different.mismatches);
    assert_eq!(found.kind, "roots");
}

#[test]
fn a_collective_in_which_recording_stopped_is_not_opaque() {
    let opaque = |stopped_at: u64| {
        let mut trace = with_messages(&[]);
        trace.barrier(&[(12_000, 13_000); 2]);
        trace.processes[1].stopped_at = stopped_at;
        let analysis = trace.analyze();
        let has_remark = codes(&analysis).contains(&"opaque_collectives");
        let barrier = only(&analysis, "MPI_Barrier");
        assert_eq!(barrier.instances, 1);
        has_remark
    };
    assert!(!opaque(12_500));
    assert!(opaque(0) && opaque(13_500));
}
