//! From control points to results: which of several candidates were used when, and what that has cost.

use std::collections::BTreeMap;

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{ControlPoint, Definition};
use collbench_text::inert;

use crate::judge::inputs::Inputs;
use crate::results::adaptation::{
    AdaptationSummary, AdaptedCandidate, ControlPointSummary, GainSummary,
};

/// Characters of a name that are kept.
const LONGEST_NAME: usize = 80;
/// Most control points of an entry.
const MAX_POINTS: usize = 1024;

/// Communicator, operation, least payload, root, line of the tree file, and whether results depend on the grouping.
type Key = (u32, &'static str, u64, Option<u32>, u32, bool);

/// The calls for which there were several candidates, by communicator, operation, payload and root.
pub(crate) fn adaptations(inputs: &Inputs<'_>) -> Vec<AdaptationSummary> {
    let mut found: BTreeMap<Key, AdaptationSummary> = BTreeMap::new();
    for (process, file) in inputs.run.processes.iter().enumerate() {
        let clock = &inputs.clocks.processes[process];
        for definition in file.trace.definitions.iter() {
            let Definition::ControlPoint(point) = definition else {
                continue;
            };
            let Some(on) = communicator_of(inputs, process, point.communicator) else {
                continue;
            };
            let communicator = inputs.communicators.list[on as usize].entry;
            let operation = point.operation.operation().name();
            let key = (
                on,
                operation,
                point.bytes.0,
                point.root,
                point.line,
                point.keeps_grouping,
            );
            let at_ns = clock.global(Timestamp::from_ticks(point.at)).ns();
            let entry = found.entry(key).or_insert_with(|| AdaptationSummary {
                communicator,
                operation: operation.into(),
                bytes_min: point.bytes.0,
                bytes_max: point.bytes.1,
                root: point.root,
                ..AdaptationSummary::default()
            });
            let n_ranks = inputs.communicators.list[on as usize].members.len().max(1);
            add(entry, &point, at_ns, n_ranks as i64);
        }
    }
    let mut found: Vec<AdaptationSummary> = found.into_values().collect();
    found.retain(|entry| !entry.candidates.is_empty());
    found
}

/// Index of a communicator of a process in the run.
fn communicator_of(inputs: &Inputs<'_>, process: usize, index: u32) -> Option<u32> {
    let communicators = inputs.communicators;
    let local = communicators.local_comm(process, index)?;
    Some(communicators.local_comms[process][local].communicator)
}

fn add(entry: &mut AdaptationSummary, point: &ControlPoint, at_ns: i64, n_ranks: i64) {
    let call_ns = |total_ns: u64| i64::try_from(total_ns).unwrap_or(i64::MAX) / n_ranks;
    let candidates = point.candidates.iter().map(|of| AdaptedCandidate {
        name: inert::line(&of.name, LONGEST_NAME).into(),
        standing: inert::line(&of.standing, LONGEST_NAME).into(),
        calls: of.calls,
        call_ns: of.total_ns.map(call_ns),
        longer: of.gain.map(|gain| {
            let [estimate, lower, upper] = gain.map(|millionths| millionths as f64 / 1e6);
            GainSummary {
                estimate,
                lower,
                upper,
            }
        }),
    });
    let candidates: Vec<AdaptedCandidate> = candidates.collect();
    let is_one = |nth: u32| (nth as usize) < candidates.len();
    // Damaged, or written by something else.
    let is_other = !entry.candidates.is_empty() && entry.candidates.len() != candidates.len();
    if is_other || !is_one(point.in_use) || !is_one(point.before) {
        return;
    }
    let [cost_ns, with_first_ns, allowed_ns] = point
        .cost_ns
        .map(|ns| i64::try_from(ns).unwrap_or(i64::MAX));
    if entry.points.len() < MAX_POINTS {
        // Only those whose calls have increased were measured.
        let is_new = |(nth, of): (usize, &AdaptedCandidate)| {
            let before = entry.candidates.get(nth).map_or(0, |before| before.calls);
            of.call_ns.filter(|_| of.calls > before)
        };
        entry.points.push(ControlPointSummary {
            at_ns,
            calls: point.calls,
            in_use: point.in_use as usize,
            before: point.before as usize,
            reason: inert::line(&point.reason, LONGEST_NAME).into(),
            call_ns: candidates.iter().enumerate().map(is_new).collect(),
        });
    }
    entry.calls = point.calls;
    entry.in_use = point.in_use as usize;
    entry.switches += u64::from(point.in_use != point.before);
    entry.cost_ns = cost_ns;
    entry.first_cost_ns = with_first_ns.saturating_sub(cost_ns);
    entry.allowed_ns = allowed_ns;
    entry.candidates = candidates;
}
