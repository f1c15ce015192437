//! Whether something is predicted to make a run faster, found by little work.

use collbench_analyzer::results::FasterSummary;

use super::recorded::Recorded;
use super::search::{
    Chosen, Found, LEAST_GAIN, OfCalls, Search, WITH_ALGORITHMS, WITH_TREES, search,
};
use super::{Given, Ratios};

/// How often deviations are drawn.
const DRAWS: u64 = 10;

/// What is predicted to make the run faster by more than 3 % of its time, and by more than chance: algorithms of the
/// library, or trees by shapes, whichever is better. Without the steps from tree to tree of a [`search`], which take most of its
/// time.
#[must_use]
pub fn faster(recorded: &Recorded) -> Option<FasterSummary> {
    let settings = Search {
        evaluations: 0,
        draws_of_class: DRAWS,
        draws_of_run: DRAWS,
        ..Search::default()
    };
    let found = search(recorded, &Given::default(), settings).ok()?;
    let run = found.run.as_ref()?;
    let is_gain = |of: &Ratios| of.p95 < 1.0 && of.median < 1.0 - LEAST_GAIN;
    let gains = run.changes.iter().filter(|(_, ratios)| is_gain(ratios));
    let (with, ratios) = gains.min_by(|a, b| a.1.median.total_cmp(&b.1.median))?;
    let pick = match &**with {
        WITH_ALGORITHMS => OfCalls::algorithm,
        WITH_TREES => OfCalls::tree,
        _ => return None,
    };
    let (calls, chosen) = most_saved(&found, pick)?;
    let prediction = found.of_classes(calls).next()?;
    Some(FasterSummary {
        operation: calls.operation.name().to_owned(),
        processes: calls.n_processes as u64,
        bytes: calls.bytes,
        method: chosen.what.in_words(),
        ran_ns: prediction.measured.median_ns as i64,
        predicted_ns: chosen.predicted.first()?.median_ns as i64,
        run_p05: ratios.p05,
        run_median: ratios.median,
        run_p95: ratios.p95,
        collectives: run.n_calls as u64,
    })
}

/// The calls whose time is predicted to shrink most.
fn most_saved<'f>(
    found: &'f Found<'_>,
    pick: fn(&OfCalls) -> Option<&Chosen>,
) -> Option<(&'f OfCalls, &'f Chosen)> {
    let chosen = found.calls.iter().filter_map(|of| Some((of, pick(of)?)));
    let saved_ns = |(calls, chosen): &(&OfCalls, &Chosen)| calls.took_ns * chosen.gain.mean;
    chosen.max_by(|a, b| saved_ns(a).total_cmp(&saved_ns(b)))
}
