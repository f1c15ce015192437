//! The measurement of each point, as process 0 asks for it.

use anyhow::Context;
use collbench_stats::spread::Spread;

use super::Point;
use super::figures::Figures;
use crate::collective::job::{Job, Setting};
use crate::collective::members::Members;
use crate::collective::overlap::{Overlap, n_tests};
use crate::collective::plan::{Lengths, Plan, Series};
use crate::collective::point::Measurement;
use crate::collective::progress::Progress;
use crate::measure::reduction::{Reduction, Times, start_skew_ns};
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
        let mut series = series.clone();
        // Begun anew with another start where its own is given up, so that all can be compared.
        loop {
            let mut of_series = Vec::new();
            let is_held = measure_series(&series, intervals, &mut measurement, |point| {
                of_series.push(point);
                progress.add(0);
            })?;
            if is_held {
                points.append(&mut of_series);
                break;
            }
            progress.again(of_series.len());
            let replaced = series.fallen_back();
            series = replaced.with_context(|| {
                format!("{}: no repetition could be measured", series.operation)
            })?;
        }
    }
    Ok(points)
}

/// Measures a series, and hands on its points; returns whether its start was held at all of them.
fn measure_series(
    series: &Series,
    intervals: &[u64],
    measurement: &mut Measurement<'_>,
    mut add: impl FnMut(Point),
) -> anyhow::Result<bool> {
    let Lengths::List(list) = &series.lengths else {
        return Ok(true);
    };
    for &bytes in list {
        let Some(communication) = communication_ns(series, bytes, measurement)? else {
            return Ok(false);
        };
        let (iterations, computation) = computation(series, communication, measurement)?;
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
            let precision = measurement.method.precision;
            let (found, _) = measurement.repeat(series.start, 1, &[], precision, longest)?;
            let overlap = Figures::of(&found.valid, &found.parts, communication, computation);
            let Some(overlap) = overlap else {
                return Ok(false);
            };
            let skews = found.valid.iter();
            let skews = skews.map(|times| start_skew_ns(times, &[]) as f64);
            add(Point {
                operation: series.operation.clone(),
                bytes: crate::collective::run::has_length(series).then_some(bytes),
                processes: series.processes,
                start: series.start,
                start_asked: series.start_asked,
                interval: (interval > 0).then_some(interval),
                tests,
                iterations,
                made: found.made,
                invalid: found.missed + found.delayed,
                skew_ns: Spread::of(skews).filter(|_| series.processes > 1),
                communication_ns: communication,
                computation_ns: computation,
                overlap,
            });
        }
    }
    Ok(true)
}

fn setting(series: &Series, bytes: u64, overlap: Option<Overlap>) -> Setting {
    Setting {
        root: series.root.unwrap_or(0),
        overlap,
        ..Setting::of(&series.operation, bytes, Members::of(series))
    }
}

/// Median over repetitions of the longest time of a process in the operation, followed at once by
/// its wait, ns; `None` if no start was valid.
fn communication_ns(
    series: &Series,
    bytes: u64,
    measurement: &mut Measurement<'_>,
) -> anyhow::Result<Option<f64>> {
    let longest = |times: &[Times]| Reduction::Max.of(times);
    let precision = measurement.method.precision;
    measurement.job.prepare(setting(series, bytes, None))?;
    let (found, _) = measurement.repeat(series.start, 1, &[], precision, longest)?;
    let spread = Spread::of(found.valid.iter().map(|times| longest(times)));
    Ok(spread.map(|spread| spread.median))
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
