//! Remarks on the trace: what is missing, and what part of it is shown.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::UnrecordedAccess;
use collbench_text::inert;
use collbench_text::quantity::{counted, duration, percent};

use crate::words;

pub(super) fn incomplete(n_findings: usize) -> String {
    format!(
        "the trace is incomplete ({}): the analysis covers what was recorded",
        counted(n_findings, "finding")
    )
}

pub(super) fn lines_unknown(module: &str, why: &str) -> String {
    format!(
        "{} {why}: calls from it have no lines of the source",
        inert::line(module, 120)
    )
}

pub(super) fn manifest_missing() -> String {
    "run.json is missing; the command shown is that of the lowest rank".to_owned()
}

pub(super) fn manifest_unreadable(error: &str) -> String {
    format!(
        "run.json cannot be used ({}); the command shown is that of the lowest rank",
        inert::line(error, 120)
    )
}

pub(super) fn became_shorter(names: &[String]) -> String {
    let shown = names.iter().take(3).map(|name| inert::line(name, 255));
    let shown: Vec<String> = shown.collect();
    let more = match names.len() - shown.len() {
        0 => String::new(),
        n_more => format!(" and {n_more} more"),
    };
    let files = shown.join(", ");
    format!(
        "{files}{more} became shorter while the trace was read; the analysis covers what is left"
    )
}

pub(super) fn spawned_set_aside(n_worlds: usize, n_files: usize) -> String {
    let are = if n_files == 1 { "is" } else { "are" };
    format!(
        "{} of {} started by MPI_Comm_spawn {are} left out: only the first world is analyzed",
        counted(n_files, "file"),
        counted(n_worlds, "world")
    )
}

pub(super) fn unknown_records(n_records: u64) -> String {
    let are = if n_records == 1 { "is" } else { "are" };
    format!(
        "{} of a kind that this version does not know {are} ignored",
        counted(n_records, "record")
    )
}

pub(super) fn sequence_conflict(n_chunks: u64) -> String {
    let has = if n_chunks == 1 {
        "has a table that counts"
    } else {
        "have tables that count"
    };
    format!(
        "{} {has} fewer calls than were recorded before: later instances may be matched wrongly",
        counted(n_chunks, "chunk")
    )
}

pub(super) fn recorder_pauses(total_ns: i64, longest_ns: i64) -> String {
    format!(
        "the recorder paused the processes for {:.1} ms in total to make room for records, at most \
         {:.1} ms at a time; this may appear as waits",
        total_ns as f64 / 1e6,
        longest_ns as f64 / 1e6
    )
}

pub(super) fn cores_shared(ranks: &[u32], elapsed_ns: i64, on_core_ns: i64, n_lost: u64) -> String {
    let (were_on_cores, these) = match ranks {
        [_] => ("was on its core", "this"),
        _ => ("were on their cores", "these"),
    };
    format!(
        "{} {were_on_cores} for {} of {}, and other threads got {these} {}: more threads than cores \
         could run. Start fewer ranks on a host, or bind each to a core of its own",
        inert::ranks(ranks),
        percent(on_core_ns, elapsed_ns),
        duration(elapsed_ns),
        counted(n_lost, "time"),
    )
}

pub(super) fn ring(n_calls: u64, n_calls_made: u64, n_instances: u64) -> String {
    let kept =
        format!("only the newest calls were retained, as requested: {n_calls} of {n_calls_made}");
    match n_instances {
        0 => kept,
        1 => format!("{kept}; 1 instance that some ranks no longer had is in no figure"),
        n => format!("{kept}; {n} instances that some ranks no longer had are in no figure"),
    }
}

pub(super) fn restricted(analysis: &Analysis) -> String {
    let part = words::restriction(analysis).map(|part| format!(": {part}"));
    format!(
        "only a part of the run is shown, as requested{}",
        part.unwrap_or_default()
    )
}

pub(super) fn unrecorded_access(of: &UnrecordedAccess) -> String {
    let n = of.n_calls;
    let (what, layer) = match (of.is_io, n) {
        (true, _) => (format!("{} of MPI-IO", counted(n, "call")), "io"),
        (false, 1) => (
            "1 call that synchronizes accesses to windows (RMA)".to_owned(),
            "rma",
        ),
        (false, _) => {
            let what = format!(
                "{} that synchronize accesses to windows (RMA)",
                counted(n, "call")
            );
            (what, "rma")
        }
    };
    let recorded = match n {
        1 => "was not recorded",
        _ => "were not recorded one by one",
    };
    format!(
        "{what} took {} in all, {} % of the time of the ranks, and {recorded}: --layers +{layer} shows \
         the collective ones",
        duration(of.total_ns),
        of.percent
    )
}
