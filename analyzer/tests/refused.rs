//! Calls that the MPI library refused, and what a recorder did not see because it had stopped: nothing is
//! told of them that did not happen.

mod built;

use built::{TestTrace, begin, call, codes, message, only};
use collbench_formats::{CODE_FAILED, Direction, Operation, Record};

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
    assert_eq!(found(refused(barrier)), (1, 0, vec!["failed_calls".into()]));
    assert_eq!(found(barrier), (1, 1, vec!["opaque_collectives".into()]));
}

#[test]
fn a_nonblocking_collective_that_the_library_refused_was_never_begun() {
    let begun = begin(Operation::Ibcast, 0, 0, 8, (100, 200));
    let analysis = with_messages(&[refused(begun)]).analyze();
    assert_eq!(codes(&analysis), ["incomplete_instances", "failed_calls"]);
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
    assert_eq!(codes(&same), ["incomplete_instances", "failed_calls"]);
    assert!(same.mismatches.is_empty());
    let different = analysis([7, 1]);
    let [found] = &different.mismatches[..] else {
        panic!("{:?}", different.mismatches);
    };
    assert_eq!(found.kind, "roots");
}

#[test]
fn a_collective_in_which_recording_stopped_is_not_opaque() {
    let opaque = |stopped_at: u64| {
        let mut trace = with_messages(&[]);
        trace.world(Operation::Barrier, -1, 0, &[(12_000, 13_000); 2]);
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
