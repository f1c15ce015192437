//! Remarks on calls, and on the instances that they make.

use collbench_analyzer::Analysis;
use collbench_text::quantity::counted;

use crate::words::hang;

pub(super) fn unknown_abi() -> String {
    "the recorder did not know the ABI of the MPI library: calls have times, but no communicator \
     and no payload"
        .to_owned()
}

pub(super) fn unknown_communicator(n_calls: u64) -> String {
    let are = if n_calls == 1 { "is" } else { "are" };
    format!(
        "{} on an unknown communicator {are} counted, but not matched",
        counted(n_calls, "call")
    )
}

pub(super) fn mismatched(analysis: &Analysis, n_instances: u64, first: usize) -> String {
    format!(
        "the calls at {} do not match and are left out; the first: {}",
        counted(n_instances, "position"),
        hang::mismatch(analysis, &analysis.mismatches[first])
    )
}

pub(super) fn mismatched_sizes(analysis: &Analysis, n_instances: u64, first: usize) -> String {
    format!(
        "the sizes do not match at {}, first at {}",
        counted(n_instances, "position"),
        hang::mismatch_at(analysis, &analysis.mismatches[first])
    )
}

pub(super) fn waiting(analysis: &Analysis, n_ranks: usize) -> String {
    let were = if n_ranks == 1 { "was" } else { "were" };
    let first = hang::sentences(analysis).into_iter().next();
    format!(
        "{} {were} in a collective when the trace ended: {}",
        counted(n_ranks, "rank"),
        first.unwrap_or_default()
    )
}

pub(super) fn never_completed(analysis: &Analysis, n_calls: u64) -> String {
    let initiated = match n_calls {
        1 => "1 nonblocking collective was initiated and".to_owned(),
        n => format!("{n} calls initiated nonblocking collectives that were"),
    };
    let first = analysis.never_completed.first();
    let first = first.map_or_else(String::new, |first| hang::never_completed(analysis, first));
    format!("{initiated} never completed before MPI_Finalize; the first: {first}")
}

pub(super) fn incomplete_instances(n_instances: u64) -> String {
    let were = if n_instances == 1 { "was" } else { "were" };
    format!(
        "{} {were} not entered and left by every process: counted as incomplete, and left out of \
         the distributions per instance",
        counted(n_instances, "instance")
    )
}

pub(super) fn impossible_stamps(n_calls: u64) -> String {
    let (have, are) = if n_calls == 1 {
        ("has", "is")
    } else {
        ("have", "are")
    };
    format!(
        "{} {have} impossible time stamps (damage) and {are} counted, but in no figure of time",
        counted(n_calls, "call")
    )
}

pub(super) fn failed(n_calls: u64, n_instances: u64) -> String {
    let instances = match n_instances {
        0 => String::new(),
        1 => ": the instance with such calls is in no figure of time".to_owned(),
        n => format!(": the {n} instances with such calls are in no figure of time"),
    };
    let calls = counted(n_calls, "call");
    format!("{calls} returned an error code{instances}")
}

pub(super) fn payload_unknown(n_calls: u64) -> String {
    format!(
        "the payload of {} is unknown (a handle or type that the recorder could not read)",
        counted(n_calls, "call")
    )
}

pub(super) fn internal(n_calls: u64) -> String {
    let were = if n_calls == 1 { "was" } else { "were" };
    format!(
        "{} {were} made internally by the MPI library, or by a tool on top of it: recorded, not counted",
        counted(n_calls, "call")
    )
}

pub(super) fn abandoned(n_calls: u64) -> String {
    format!(
        "{} never returned, though the thread continued: it jumped out of the call, or out of a \
         callback in it",
        counted(n_calls, "call")
    )
}

pub(super) fn stray_completions(n_completions: u64) -> String {
    let (match_, are) = if n_completions == 1 {
        ("matches", "is")
    } else {
        ("match", "are")
    };
    format!(
        "{} of nonblocking collectives {match_} no outstanding one and {are} ignored: records are \
         missing or damaged",
        counted(n_completions, "completion")
    )
}

pub(super) fn negative_core(n_instances: u64, n_of_one_clock: u64) -> String {
    let not_all = "an operation that did not need all processes";
    let why = match n_of_one_clock {
        0 => format!("clock error, or {not_all}"),
        n if n == n_instances => not_all.to_owned(),
        n => format!("{not_all}, or (except in {n} on one host) clock error"),
    };
    let instances = counted(n_instances, "instance");
    format!("in {instances} a process left before the last one arrived: {why}")
}
