//! What is predicted to make the run faster, where that costs little beside the analysis.

use collbench_analyzer::Prepared;
use collbench_analyzer::results::Analysis;
use collbench_tune::predict::{Recorded, faster};

/// Collectives that are looked at: the first ones. That takes some 13 us for each call of a process.
const FIRST: u64 = 200;
/// A run with so many times as many calls, and messages inside, takes twenty times as long to analyze.
const TIMES: u64 = 300;

/// Adds to an analysis what is predicted to make the run faster, if looking for it takes at most some 5 % of the time of the
/// analysis. That depends on the numbers of calls and processes only, so the analysis is the same on each machine.
pub fn add_faster(prepared: Prepared<'_, '_>, analysis: &mut Analysis) {
    let trace = &analysis.trace;
    let looked_at = FIRST * u64::from(trace.ranks);
    let has_messages = trace.messages.is_some_and(|n| n > 0);
    let is_whole = trace.complete && analysis.restriction.is_none();
    if is_whole && has_messages && trace.calls >= TIMES * looked_at {
        let recorded = Recorded::of(prepared, Some(FIRST), &mut |_| {});
        analysis.faster = faster(&recorded);
    }
}
