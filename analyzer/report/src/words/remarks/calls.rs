//! Remarks on calls, and on the instances that they make.

use collbench_analyzer::Analysis;
use collbench_text::quantity::counted;

use crate::words::hang;

pub(super) fn unknown_abi() -> String {
    "the MPI library has an ABI that the recorder did not know: calls have times, but \
     no communicator and no payload"
        .to_owned()
}

pub(super) fn unknown_communicator(n_calls: u64) -> String {
    format!(
        "{} on a communicator that is not known: counted, not matched",
        counted(n_calls, "call")
    )
}

pub(super) fn mismatched(analysis: &Analysis, n_instances: u64, first: usize) -> String {
    format!(
        "{} where the calls are not one collective, set aside; the first: {}",
        counted(n_instances, "position"),
        hang::mismatch(analysis, &analysis.mismatches[first])
    )
}

pub(super) fn mismatched_sizes(analysis: &Analysis, n_instances: u64, first: usize) -> String {
    format!(
        "{} where the sizes of one collective contradict one another; the first: {}",
        counted(n_instances, "position"),
        hang::mismatch(analysis, &analysis.mismatches[first])
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
    let begun = match n_calls {
        1 => "1 nonblocking collective was begun and".to_owned(),
        n => format!("{n} calls began nonblocking collectives that were"),
    };
    let first = analysis.never_completed.first();
    let first = first.map_or_else(String::new, |first| hang::never_completed(analysis, first));
    format!("{begun} never completed before MPI_Finalize; the first: {first}")
}

pub(super) fn incomplete_instances(n_instances: u64) -> String {
    format!(
        "{} that not every process came to and left: counted as incomplete, in no \
         distribution per instance",
        counted(n_instances, "instance")
    )
}

pub(super) fn impossible_stamps(n_calls: u64) -> String {
    format!(
        "{} whose time stamps cannot be true: damage; counted, in no figure of time",
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
        "{} of unknown payload (a handle or type that the recorder could not read)",
        counted(n_calls, "call")
    )
}

pub(super) fn internal(n_calls: u64) -> String {
    format!(
        "{} by the MPI library, or by a tool in front of it, on its own behalf: recorded, \
         not counted",
        counted(n_calls, "call")
    )
}

pub(super) fn abandoned(n_calls: u64) -> String {
    format!(
        "{} never returned, though the thread went on: by a jump out of it, or in what it calls \
         back",
        counted(n_calls, "call")
    )
}

pub(super) fn stray_completions(n_completions: u64) -> String {
    format!(
        "{} of nonblocking collectives that fit none that is under way, passed by: \
         records were lost or are damaged",
        counted(n_completions, "completion")
    )
}

pub(super) fn negative_core(n_instances: u64, n_of_one_clock: u64) -> String {
    let not_all = "an operation that did not need all";
    let why = match n_of_one_clock {
        0 => format!("the error of the clocks, or {not_all}"),
        n if n == n_instances => not_all.to_owned(),
        n => format!("{not_all}, or, but for {n} on one host, the error of the clocks"),
    };
    let instances = counted(n_instances, "instance");
    format!("{instances} that a process left before the last one came: {why}")
}
