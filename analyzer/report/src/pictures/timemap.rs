//! The timemap of an operation.
//!
//! Its stages are those of calls without their messages. On one host there are no waits across
//! hosts, and no rows for them; with several hosts whose clocks are not aligned, they and
//! the core are not resolved. Operations without a core (rooted ones, scans, Comm_free) have two
//! stages: the wait until the process could continue, and the operation from then on. Nonblocking
//! operations begin earlier: with the initiating call, and the application's work until the
//! completing call, which is not a wait and has a row of its own.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{OperationSummary, ProcessTimes, Spread};
use collbench_text::quantity;
use collbench_viz as viz;
use collbench_viz::{Heading, Line, StageTime, Stages};

use super::title;
use crate::words;
use crate::words::uncertainty;

/// Caption of the picture.
pub(super) fn caption(operation: &OperationSummary) -> &'static str {
    if is_overlapped(operation) {
        return "One line per rank runs from top to bottom through the stages. How far it moves to \
                the right in a row is the mean time in that stage. Between initiation and completion \
                the application continues: this is not waiting, and at most this much was \
                overlapped. At x = 0, in the call that completes the operation, the rank has what it \
                waited for; right of it is the rest of that call.";
    }
    if operation.departure_wait_ns.is_some() {
        "One line per rank runs from top to bottom through the stages. How far it moves to the \
             right in a row is the mean time in that stage. x = 0 is the arrival of the last rank: \
             left of it is waiting, right of it are the operation itself (core: until the first rank \
             leaves) and leaving it."
    } else {
        "One line per rank runs from top to bottom through the stages. How far it moves to the \
             right in a row is the mean time in that stage. At x = 0 the rank has what it waited \
             for: left of it is waiting, right of it the operation itself."
    }
}

/// What the names of stages between hosts contain.
const ACROSS_HOSTS: &str = "across hosts";

/// Caption of the timemap without waits.
pub(super) const CAPTION_WITHOUT: &str = "The same ranks and stages without the waits, on another \
     scale. What remains is the operation itself and leaving it, which waiting for late ranks would \
     hide.";

/// The timemap of one operation.
pub(crate) fn timemap(analysis: &Analysis, operation: &OperationSummary) -> viz::Timemap {
    let heading = Heading {
        finding: words::finding(operation).into(),
        operation: title(analysis, operation).into(),
        n_instances: operation.instances,
    };
    let mut timemap = viz::Timemap::new(heading, stages(operation));
    if let Some(error_ns) = clock_error_ns(operation) {
        timemap = timemap.with_clock_error(error_ns);
    }
    for thread in operation.threads() {
        let times = times_of(operation, thread);
        let line = Line {
            name: format!("rank {}", thread.rank).into(),
            host: thread.host.as_str().into(),
            class: None,
        };
        timemap.push(line, |stage| times[stage]);
    }
    timemap
}

/// Uncertainty of the times of an operation between hosts, ns; `None` on one clock and without a common
/// time.
pub(super) fn clock_error_ns(operation: &OperationSummary) -> Option<u64> {
    let duration = operation.duration_ns.as_ref()?;
    duration.uncertainty_ns.map(|ns| ns.unsigned_abs())
}

/// Whether its calls only initiate it.
fn is_overlapped(operation: &OperationSummary) -> bool {
    operation.between_ns.is_some()
}

/// The times of one thread in the [`stages`] of its operation.
pub(crate) fn times_of(
    operation: &OperationSummary,
    thread: &ProcessTimes,
) -> Vec<Option<StageTime>> {
    let has_core = operation.departure_wait_ns.is_some();
    let spread = operation.spread();
    let [
        wait_inside,
        wait_across,
        core,
        leaving_across,
        leaving_inside,
    ] = stage_times(thread, spread, has_core);
    let time = |mean: Option<(i64, u64)>| mean.and_then(|(mean, n)| StageTime::new(mean, n));
    let spans_hosts = spread != Some(Spread::OneHost);
    // These times are between stamps of different hosts.
    let error_ns = clock_error_ns(operation);
    let [wait_across, core, leaving_across] =
        [wait_across, core, leaving_across].map(|time| Some(time?.with_error(error_ns)));
    let mut times = Vec::new();
    if is_overlapped(operation) {
        times.extend([time(thread.initiation), time(thread.between)]);
    }
    times.push(wait_inside);
    times.extend(spans_hosts.then_some(wait_across));
    times.push(core);
    if has_core && !is_overlapped(operation) {
        times.extend(spans_hosts.then_some(leaving_across));
        times.push(leaving_inside);
    }
    times
}

/// The stages of an operation, from its calls.
pub(crate) fn stages(operation: &OperationSummary) -> Stages {
    let has_core = operation.departure_wait_ns.is_some();
    let waits = Stages::seen_from_outside().down;
    let overlapped = || Stages {
        down: ["initiation".into(), "application continues".into()]
            .into_iter()
            .chain(waits.iter().cloned())
            .collect(),
        core: None,
        up: vec!["rest of completion".into()],
    };
    let mut stages = if is_overlapped(operation) {
        overlapped()
    } else if has_core {
        Stages::seen_from_outside()
    } else {
        Stages {
            down: waits,
            core: None,
            up: vec!["operation itself".into()],
        }
    };
    if operation.spread() == Some(Spread::OneHost) {
        let is_inside = |stage: &viz::Text| !stage.as_str().contains(ACROSS_HOSTS);
        stages.down.retain(is_inside);
        stages.up.retain(is_inside);
    }
    stages
}

/// The timemap without the waits; `None` if it would be the same because no rank waited.
pub(super) fn without_waits(
    operation: &OperationSummary,
    with_waits: &viz::Timemap,
) -> Option<viz::Timemap> {
    let wait = operation.wait_ns.as_ref()?;
    // For a nonblocking operation the rest alone says little.
    if wait.total == 0 || is_overlapped(operation) {
        return None;
    }
    Some(with_waits.without_down(finding_without_waits(operation).into()))
}

/// Time of the operation per rank without the waits, as a sentence.
fn finding_without_waits(operation: &OperationSummary) -> String {
    let has_core = operation.departure_wait_ns.is_some();
    let way_up = |thread: &ProcessTimes| {
        let (inside, _) = thread.inside?;
        match (has_core, operation.spread()) {
            (false, _) => Some(inside),
            // As in the picture.
            (true, None | Some(Spread::Apart)) => None,
            (true, _) => Some(inside.saturating_add(thread.departure_wait?.0)),
        }
    };
    let ways = || {
        let threads = operation.threads().iter();
        threads.filter_map(|thread| Some((way_up(thread)?, thread.rank)))
    };
    let name = &operation.operation;
    let longest = ways().max_by_key(|&(ns, rank)| (ns, std::cmp::Reverse(rank)));
    let (Some((least, least_rank)), Some((most, most_rank))) = (ways().min(), longest) else {
        return format!("How long this {name} takes without the waits is not resolvable");
    };
    // Without a core the time is from one stamp of a rank's host to another.
    let error_ns = clock_error_ns(operation).filter(|_| has_core);
    if !uncertainty::is_resolved(most, error_ns) {
        return format!(
            "How long this {name} takes without the waits is {}",
            uncertainty::time(most, error_ns)
        );
    }
    let error = uncertainty::after(most, error_ns);
    let (least_time, most_time) = (quantity::duration(least), quantity::duration(most));
    if least_time == most_time {
        format!("Without the waits this {name} takes each rank {most_time} on average{error}")
    } else {
        format!(
            "Without the waits this {name} takes from {least_time} (rank {least_rank}) to \
             {most_time} (rank {most_rank}) on average{error}"
        )
    }
}

/// Times of a thread: wait within and across hosts, core, leaving across and within hosts; or wait
/// within and across hosts, operation.
fn stage_times(
    thread: &ProcessTimes,
    spread: Option<Spread>,
    has_core: bool,
) -> [Option<StageTime>; 5] {
    let time = |mean: Option<(i64, u64)>| mean.and_then(|(mean, n)| StageTime::new(mean, n));
    let none = thread.wait.or(thread.inside).map(|(_, n)| (0, n));
    let rest = |whole: Option<(i64, u64)>, part: Option<(i64, u64)>| {
        let ((whole, n), (part, _)) = (whole?, part?);
        Some((whole.saturating_sub(part), n))
    };
    let (wait, leaving) = match spread {
        Some(Spread::OneHost) => ([thread.wait, none], [none, thread.departure_wait]),
        None | Some(Spread::Apart) => ([thread.wait, None], [None, thread.departure_wait]),
        Some(Spread::Aligned) => (
            [thread.wait_inside, rest(thread.wait, thread.wait_inside)],
            [
                rest(thread.departure_wait, thread.departure_inside),
                thread.departure_inside,
            ],
        ),
    };
    let inside = if spread == Some(Spread::Apart) && has_core {
        None
    } else {
        thread.inside
    };
    [wait[0], wait[1], inside, leaving[0], leaving[1]].map(time)
}
