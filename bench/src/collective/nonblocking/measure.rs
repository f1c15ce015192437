//! The measurement of each point, as process 0 asks for it.

use collbench_stats::spread::Spread;

use super::Point;
use super::figures::Figures;
use crate::collective::job::{Job, Setting};
use crate::collective::members::Members;
use crate::collective::overlap::{Overlap, n_tests};
use crate::collective::plan::{Lengths, Plan, Series};
use crate::collective::point::Measurement;
use crate::collective::progress::Progress;
use crate::measure::reduction::{Reduction, Times};
use crate::measure::start::StartScheme;

/// Iterations with which the search for a computation begins.
const FIRST_ITERATIONS: u64 = 1_000;
/// Attempts to find a computation that is long enough.
const ATTEMPTS: usize = 40;

/// Measures all series of a plan, which have lists of lengths, with each interval of tests; 0 stands
/// for no tests.
///
/// # Errors
/// States which operation cannot be called.
pub(super) fn measure(plan: &Plan, intervals: &[u64], job: &mut Job) -> anyhow::Result<Vec<Point>> {
    let mut progress = Progress::of(plan.first_points() * intervals.len());
    let mut measurement = Measurement::new(job, &plan.method, None, false);
    let mut points = Vec::new();
    for series in &plan.series {
        let Lengths::List(list) = &series.lengths else {
            continue;
        };
        for &bytes in list {
            let communication = communication_ns(series, bytes, &mut measurement)?;
            let (iterations, computation) = computation(series, communication, &mut measurement)?;
            for &interval in intervals {
                let tests = match interval {
                    0 => 0,
                    interval => n_tests(bytes, interval),
                };
                let overlap = Overlap { iterations, tests };
                measurement
                    .job
                    .prepare(setting(series, bytes, Some(overlap)))?;
                let longest = |times: &[Times]| Reduction::Max.of(times);
                let precision = plan.method.precision;
                let (found, _) = measurement.repeat(series.start, 1, &[], precision, longest)?;
                points.push(Point {
                    operation: series.operation.clone(),
                    bytes: crate::collective::run::has_length(series).then_some(bytes),
                    processes: series.processes,
                    start: series.start,
                    interval: (interval > 0).then_some(interval),
                    tests,
                    iterations,
                    made: found.made,
                    invalid: found.missed + found.delayed,
                    communication_ns: communication,
                    computation_ns: computation,
                    overlap: Figures::of(&found.valid, &found.parts, communication, computation),
                });
                progress.add(0);
            }
        }
    }
    Ok(points)
}

fn setting(series: &Series, bytes: u64, overlap: Option<Overlap>) -> Setting {
    Setting {
        operation: series.operation.clone(),
        bytes,
        members: Members::of(series),
        root: series.root.unwrap_or(0),
        element: Default::default(),
        pieces: 0,
        algorithm: None,
        tree: None,
        overlap,
    }
}

/// Median over repetitions of the longest time of a process in the operation, followed at once by
/// its wait, ns; after a barrier if no start at an instant was valid.
fn communication_ns(
    series: &Series,
    bytes: u64,
    measurement: &mut Measurement<'_>,
) -> anyhow::Result<f64> {
    let longest = |times: &[Times]| Reduction::Max.of(times);
    let precision = measurement.method.precision;
    measurement.job.prepare(setting(series, bytes, None))?;
    for start in [series.start, StartScheme::Barrier] {
        let (found, _) = measurement.repeat(start, 1, &[], precision, longest)?;
        if let Some(spread) = Spread::of(found.valid.iter().map(|times| longest(times))) {
            return Ok(spread.median);
        }
    }
    anyhow::bail!("{}: no repetition could be measured", series.operation)
}

/// The least work that takes `target_ns` on every process, in iterations, and the median over
/// repetitions of the longest time that it takes on a process, in all of them at once, ns.
fn computation(
    series: &Series,
    target_ns: f64,
    measurement: &mut Measurement<'_>,
) -> anyhow::Result<(u64, f64)> {
    let mut iterations = FIRST_ITERATIONS;
    let precision = measurement.method.precision;
    for _ in 0..ATTEMPTS {
        measurement.job.prepare(Setting {
            operation: "empty".to_owned(),
            ..setting(
                series,
                0,
                Some(Overlap {
                    iterations,
                    tests: 0,
                }),
            )
        })?;
        let longest = |times: &[Times]| Reduction::Max.of(times);
        let (found, _) = measurement.repeat(StartScheme::Barrier, 1, &[], precision, longest)?;
        let of =
            |reduction: Reduction| Spread::of(found.valid.iter().map(|times| reduction.of(times)));
        // By the median, which preemptions do not change.
        let (Some(fastest), Some(slowest)) = (of(Reduction::Min), of(Reduction::Max)) else {
            continue;
        };
        if fastest.median >= target_ns {
            return Ok((iterations, slowest.median));
        }
        let factor = (target_ns / fastest.median.max(1.0)).clamp(1.0, 1_000.0);
        iterations = (iterations as f64 * factor * 1.02).ceil() as u64;
    }
    anyhow::bail!(
        "{}: found no computation that takes as long",
        series.operation
    )
}
