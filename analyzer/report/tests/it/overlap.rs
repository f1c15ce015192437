//! Known truth of what hinders the overlap of nonblocking collectives: when their messages were
//! sent.

use collbench_formats::{CompletingCall, Direction, Operation};
use serde_json::Value;

use crate::built::{TestTrace, assert_has, begin, complete, initiation, only, tagged_message};
use crate::generated::{self, Case, case, list};

/// Collectives that go on in the calls that begin and complete them, and nowhere else.
const BEGUN: &str = include_str!("../../../tests/scenarios/inside_nonblocking.toml");

/// When messages were sent by (operation, diagnosis), each with what was generated.
fn sends(case: &Case) -> Vec<(&str, &str, [u64; 3])> {
    let begun = list(&case.truth["trees"]).iter();
    let begun = begun.filter(|tree| !tree["sent"].is_null());
    let sent = |of: &Value| ["initiating", "between", "completing"].map(|at| of[at].as_u64());
    let found = begun.map(|tree| {
        let mut operations = list(&case.analysis["operations"]).iter();
        let found = operations.find(|found| found["operation"] == tree["operation"]);
        let overlap = &found.unwrap()["overlap"];
        let [operation, diagnosis] = [&tree["operation"], &overlap["diagnosis"]];
        assert_eq!(sent(&overlap["sent"]), sent(&tree["sent"]), "{operation}");
        (
            operation.as_str().unwrap(),
            diagnosis.as_str().unwrap(),
            sent(&tree["sent"]).map(Option::unwrap),
        )
    });
    found.collect()
}

#[test]
fn when_messages_were_sent_comes_back_and_says_what_hinders_the_overlap() {
    // No call between: the first step is under way meanwhile, and all others have to wait.
    let found = case(BEGUN);
    let found = sends(&found);
    assert_eq!(found.len(), 4);
    for (operation, diagnosis, [initiating, between, completing]) in found {
        assert!(initiating > 0 && completing > 0, "{operation}");
        assert_eq!(between, 0, "{operation}");
        // What the root of the barrier receives takes about as long as what it sends then.
        let expected: &[&str] = match operation {
            "MPI_Ibarrier" => &["first_step_only", "no_progression"],
            _ => &["first_step_only"],
        };
        assert!(expected.contains(&diagnosis), "{operation}: {diagnosis}");
    }
    // In tests they go on.
    let tested = BEGUN.replace(
        "complete_ns = 400",
        "complete_ns = 400, tests = 3, test_ns = 500",
    );
    let tested = case(&tested);
    let between = sends(&tested).into_iter();
    assert!(between.map(|(_, _, [_, between, _])| between).sum::<u64>() > 100);
}

/// A chain of three ranks whose messages leave at these times after their rank's initiation.
fn chain(sent: [u64; 2], received: [u64; 2]) -> TestTrace {
    let mut trace = TestTrace::new(3);
    for (rank, process) in (0u32..).zip(&mut trace.processes) {
        process.with_messages();
        process.call(begin(Operation::Ibcast, 0, 0, 8, (1_000, 2_000)));
        if rank > 0 {
            let at = received[rank as usize - 1];
            let stamps = (1_500, at);
            process.call(tagged_message(Direction::Receive, 0, rank - 1, -30, stamps));
        }
        if rank < 2 {
            let at = sent[rank as usize];
            let stamps = (at, at + 10);
            process.call(tagged_message(Direction::Send, 0, rank + 1, -30, stamps));
        }
        let of = initiation(0, 0);
        process.call(complete(of, CompletingCall::Wait, 1, (100_000, 130_000)));
    }
    trace
}

#[test]
fn a_thread_of_the_library_and_a_first_step_in_the_wait_are_told_apart() {
    let said = |sent, received| {
        let analysis = chain(sent, received).analyze();
        let overlap = only(&analysis, "MPI_Ibcast").overlap.clone().unwrap();
        let diagnosis = serde_json::to_value(overlap.diagnosis).unwrap();
        let outside = overlap.sent.unwrap().outside_mpi;
        let text = collbench_report::to_text(&analysis, None);
        (diagnosis.as_str().unwrap().to_owned(), outside, text)
    };
    let (diagnosis, outside, text) = said([1_100, 20_000], [15_000, 25_000]);
    assert_eq!((&*diagnosis, outside), ("good_overlap", 1));
    let text = generated::in_one_line(&text);
    assert_has(
        &text,
        "50 % were sent between by a thread of the MPI library",
    );
    // Forwarded as soon as the wait begins, or only when the message has come there.
    let (diagnosis, outside, _) = said([1_100, 100_500], [100_400, 120_000]);
    assert_eq!((&*diagnosis, outside), ("first_step_only", 0));
    let (diagnosis, _, text) = said([1_100, 125_000], [124_000, 129_000]);
    assert_eq!(diagnosis, "no_progression");
    assert_has(&text, "no progression: of 2 messages");
}
