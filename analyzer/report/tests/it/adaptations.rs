//! Control points of a trace: which of several candidates were used when.

use collbench_analyzer::Analysis;
use collbench_formats::tree::Collective;
use collbench_formats::{CandidateAt, ControlPoint, Definition, Operation};
use collbench_report::to_text;

use crate::built::{TestTrace, call};
use crate::generated;

fn candidate(name: &str, calls: u64, total_ns: u64, gain: Option<[i64; 3]>) -> CandidateAt {
    CandidateAt {
        name: name.to_owned(),
        standing: "tried".to_owned(),
        calls,
        total_ns: Some(total_ns),
        gain,
    }
}

fn point(at: u64, calls: u64, (before, in_use): (u32, u32)) -> ControlPoint {
    ControlPoint {
        at,
        communicator: 0,
        operation: Collective::Allreduce,
        line: 3,
        keeps_grouping: true,
        bytes: (8, 15),
        root: None,
        calls,
        in_use,
        before,
        reason: "better".to_owned(),
        cost_ns: [2_000_000, 5_000_000, 9_000_000],
        candidates: vec![
            candidate(
                "the MPI library",
                calls / 2,
                12_000,
                Some([1_000_000, 500_000, 1_500_000]),
            ),
            candidate("candidate 1\nof line 3", calls / 2 + 1, 6_000, None),
        ],
    }
}

fn analysis_of(points: Vec<ControlPoint>) -> Analysis {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        for nth in 0..4 {
            process.call(call(
                Operation::Allreduce,
                0,
                -1,
                8,
                (1_000 * nth, 1_000 * nth + 500),
            ));
        }
    }
    let definitions = points.into_iter().map(Definition::ControlPoint);
    trace.processes[0].definitions.extend(definitions);
    trace.analyze()
}

#[test]
fn the_candidate_in_use_is_said_with_what_others_took_and_what_trying_has_cost() {
    let analysis = analysis_of(vec![point(1_000, 8, (0, 0)), point(3_000, 44, (0, 1))]);
    let [found] = &analysis.adaptations[..] else {
        panic!("{:?}", analysis.adaptations);
    };
    assert_eq!((found.calls, found.in_use, found.switches), (44, 1, 1));
    assert_eq!((found.cost_ns, found.first_cost_ns), (2_000_000, 3_000_000));
    let times: Vec<_> = found
        .points
        .iter()
        .map(|point| &point.call_ns[..])
        .collect();
    assert_eq!(
        times,
        [[Some(6_000), Some(3_000)], [Some(6_000), Some(3_000)]]
    );
    assert!(found.points[0].at_ns < found.points[1].at_ns);
    let text = generated::in_one_line(&generated::plain(&to_text(&analysis, None)));
    let said = "MPI_Allreduce on MPI_COMM_WORLD, 8 to 15 bytes: candidate 1\\nof line 3 is in use since call 44, 3.00 us \
        a call; the MPI library takes 100 % longer (50 % to 150 %). 1 change in 44 calls; trying others took 5.00 ms \
        longer over all ranks, 3.00 ms of it in their first calls";
    assert!(text.contains(said), "{text}");
}

#[test]
fn what_only_an_earlier_run_has_tried_is_said_to_be_not_tried() {
    let mut untried = point(3_000, 44, (1, 1));
    untried.candidates[0] = candidate("the MPI library", 0, 12_000, None);
    let text = to_text(&analysis_of(vec![untried]), None);
    let text = generated::in_one_line(&generated::plain(&text));
    let said = "the MPI library was not tried: by an earlier run it takes 6.00 us. 0 changes";
    assert!(text.contains(said), "{text}");
}

#[test]
fn damaged_control_points_are_left_out() {
    let outside = point(1_000, 8, (0, 2));
    let mut without = point(1_000, 8, (0, 0));
    without.candidates.clear();
    let elsewhere = ControlPoint {
        communicator: 77,
        ..point(1_000, 8, (0, 0))
    };
    let none = analysis_of(vec![outside, without, elsewhere]);
    assert!(none.adaptations.is_empty());
    assert!(!to_text(&none, None).contains("Adaptation"));

    let mut other = point(2_000, 20, (1, 1));
    other.candidates.push(candidate("another", 1, 1, None));
    let mut huge = point(u64::MAX, u64::MAX, (1, 1));
    huge.cost_ns = [u64::MAX; 3];
    huge.candidates[1].total_ns = Some(u64::MAX);
    huge.candidates[0].gain = Some([i64::MIN, i64::MAX, i64::MIN]);
    let some = analysis_of(vec![point(1_000, 8, (0, 1)), other, huge]);
    assert_eq!(some.adaptations[0].points.len(), 2);
    assert!(to_text(&some, None).contains("Adaptation"));
}
