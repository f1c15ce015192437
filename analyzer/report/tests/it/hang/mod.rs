//! Where a run hung: who waits in what for whom, who never arrived and what they did last, and calls
//! that contradict one another, in runs that hang and in runs that go through by luck.

mod incomplete;
mod lost;
mod mismatches;
mod never_came;
mod waiting;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{HangSummary, RankState};
use collbench_formats::{
    CODE_INTERNAL, CompletingCall, Definition, Direction, Operation, Record, Topology,
};
use collbench_report::{Document, to_text};

use crate::built::{
    TestChunk, TestTrace, assert_has, begin, call, codes, communicator, complete, initiation,
    message, one, split, start, started,
};
use crate::generated;

/// A trace of so many ranks, all of which end without `MPI_Finalize`.
fn killed(n_ranks: u32) -> TestTrace {
    let mut trace = TestTrace::new(n_ranks);
    trace.is_killed();
    trace
}

fn hang(analysis: &Analysis) -> &HangSummary {
    analysis.hang.as_ref().expect("the trace is incomplete")
}

fn screen(analysis: &Analysis) -> String {
    generated::in_one_line(&to_text(analysis, None))
}

/// The sentences of the document.
fn in_words(analysis: &Analysis) -> Vec<String> {
    let hang = Document::of(analysis).hang;
    hang.expect("the trace is incomplete").in_words
}

#[track_caller]
fn assert_says(analysis: &Analysis, expected: &str) {
    let said = in_words(analysis);
    assert!(
        said.iter().any(|sentence| sentence == expected),
        "{said:#?}"
    );
    assert!(screen(analysis).contains(expected), "{}", screen(analysis));
}

fn remark(analysis: &Analysis, code: &str) -> Option<String> {
    let remarks = Document::of(analysis).remarks.into_iter();
    let mut remarks = remarks.filter(|remark| remark.code == code);
    remarks.next().map(|remark| remark.text)
}

fn internal(record: Record) -> Record {
    let code = record.code.get() | CODE_INTERNAL;
    Record {
        code: code.into(),
        ..record
    }
}

/// Rank `skipping` leaves one allreduce out and does `then` instead.
fn skipped(
    n_ranks: u32,
    skipping: usize,
    then: impl Fn(&mut crate::built::TestProcess),
) -> Analysis {
    let mut trace = killed(n_ranks);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        process.call(call(Operation::Allreduce, 0, -1, 8, (100, 150)));
        if rank == skipping {
            then(process)
        } else {
            let enter = 300 + rank as u64 % 7;
            process.call(call(Operation::Allreduce, 0, -1, 8, (enter, 0)));
        }
    }
    trace.analyze()
}
