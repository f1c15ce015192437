//! What an archive says of itself, and of places in the program.

use std::fmt::Write;

use collbench_analyzer::results::CallSiteSummary;
use collbench_analyzer::rows::AnalysisOfRows;

/// Where a call site is: `solver.f90:312 in halo`.
pub(super) fn place(site: &CallSiteSummary) -> String {
    let place = site.place();
    let frame = site.own_frame().filter(|frame| frame.line.is_some());
    match frame.and_then(|frame| frame.function.as_deref()) {
        Some(function) => format!("{place} in {function}"),
        None => place,
    }
}

/// What the archive is of, and what its times are.
pub(super) fn description(of: &AnalysisOfRows, later_by_ns: i64, n_moved: u64) -> String {
    let analysis = &of.analysis;
    let command = analysis.trace.command.join(" ");
    let mut text = format!("MPI collectives of: {command}\n");
    text.push_str("times: ns since the start of the run, when the first rank left MPI_Init");
    if later_by_ns != 0 {
        _ = write!(text, ", plus {later_by_ns}");
    }
    text.push('\n');
    if let Some(part) = &analysis.restriction
        && let Some(name) = part.file_name()
    {
        _ = writeln!(text, "part: {name}");
    }
    if n_moved > 0 {
        _ = writeln!(
            text,
            "moved: {n_moved} calls or messages with impossible times in the trace begin later here"
        );
    }
    for damage in &analysis.trace.damage {
        _ = writeln!(text, "damage: {}", damage.what);
    }
    text
}
