//! The serialization curve of an operation.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{OperationSummary, SerializationPoint};
use collbench_text::{inert, quantity};
use collbench_viz as viz;
use collbench_viz::{Departure, Heading, StageTime, StraightLine};

use super::timemap::clock_error_ns;
use super::title;
use crate::words::uncertainty;

/// Caption of the picture.
pub(super) const CAPTION: &str = "x is the order in which ranks leave. y is the mean time from the \
     arrival of the last rank until the rank at that position has left. The start of the curve is \
     what the operation costs every rank. Its slope is how much longer each further rank waits for \
     those before it: flatter is better. The grey band is the error of the clocks. Random delays rise as well once they are sorted, so compare \
     with the same operation on other trees or fewer ranks.";

/// Least R squared of a straight line that is drawn.
const MIN_R_SQUARED: f64 = 0.9;
/// Least number of points: a line through fewer always fits.
const MIN_POINTS: usize = 4;

/// The curve; `None` if the last arrival is not known: operations other than barrier and N x N, or
/// several hosts whose clocks are not aligned.
pub(super) fn serialization(
    analysis: &Analysis,
    operation: &OperationSummary,
) -> Option<viz::Serialization> {
    let points = operation.serialization.as_ref()?;
    let n_ranks = operation.last_arrivals.len();
    if n_ranks < 2 || points.iter().all(|point| point.n == 0) {
        return None;
    }
    let points = middles(points, n_ranks);
    let error_ns = clock_error_ns(operation);
    let line = straight_line(&points, granularity_ns(analysis));
    // Sorted by leave time, ranks whose clocks are wrong seem to leave one after the other.
    let line = line.filter(|_| uncertainty::is_resolved(rise_ns(&points), error_ns));
    let heading = Heading {
        finding: finding(&points, n_ranks, line, error_ns).into(),
        operation: title(analysis, operation).into(),
        n_instances: operation.instances,
    };
    let line = line.and_then(|line| StraightLine::new(line.at_first_ns, line.per_rank_ns));
    let mut curve = viz::Serialization::new(heading, u32::try_from(n_ranks).ok()?);
    if let Some(error_ns) = error_ns {
        curve = curve.with_clock_error(error_ns);
    }
    let others = on_other_trees(analysis, operation, n_ranks);
    let name = if others.is_empty() {
        String::from(&*operation.operation)
    } else {
        configuration(operation)
    };
    curve.push(name.into(), departures(&points), line);
    for other in others {
        let Some(points) = other.serialization.as_ref() else {
            continue;
        };
        let points = middles(points, n_ranks);
        curve.push(configuration(other).into(), departures(&points), None);
    }
    Some(curve)
}

/// Curves beside the one of an operation, at most.
const MAX_OTHERS: usize = 5;
/// Characters of the name of a configuration.
const MAX_NAME: usize = 40;

/// Entries of an operation over spanning trees of our own and over the MPI library, apart from the given entry.
fn on_other_trees<'a>(
    analysis: &'a Analysis,
    operation: &OperationSummary,
    n_ranks: usize,
) -> Vec<&'a OperationSummary> {
    let of = |operation: &OperationSummary| {
        let name = operation.operation.clone();
        let place = (operation.communicator, operation.root);
        (name, place, operation.bytes_max.map(u64::checked_ilog2))
    };
    let is_own = |operation: &OperationSummary| {
        let mut trees = operation.trees.iter().flatten();
        trees.any(|tree| tree.own.is_some())
    };
    let alike = analysis.operations.iter();
    let alike = alike.filter(|other| of(other) == of(operation));
    let others = alike.filter(|other| {
        let has_curve = |points: &Vec<SerializationPoint>| points.iter().any(|point| point.n > 0);
        !std::ptr::eq(*other, operation)
            && (is_own(other) || is_own(operation))
            && other.last_arrivals.len() == n_ranks
            && other.serialization.as_ref().is_some_and(has_curve)
    });
    others.take(MAX_OTHERS).collect()
}

/// What a configuration is called.
fn configuration(operation: &OperationSummary) -> String {
    match &operation.algorithm {
        Some(algorithm) => inert::line(algorithm, MAX_NAME),
        None => "the MPI library".to_owned(),
    }
}

fn departures(points: &[SerializationPoint]) -> impl Iterator<Item = Departure> {
    points.iter().filter_map(|point| {
        Some(Departure {
            position: u32::try_from(point.position).ok()?,
            time: StageTime::new(point.mean_ns, point.n)?,
            rank: None,
        })
    })
}

/// The points; one that stands for a step of the order is moved to the middle of the step.
fn middles(points: &[SerializationPoint], n_ranks: usize) -> Vec<SerializationPoint> {
    let ends = points[1..].iter().map(|point| point.position);
    let middle = |(point, end): (&SerializationPoint, usize)| SerializationPoint {
        position: (point.position + end.saturating_sub(1)) / 2,
        ..*point
    };
    points
        .iter()
        .zip(ends.chain([n_ranks]))
        .map(middle)
        .collect()
}

/// The coarsest granularity of the clocks.
fn granularity_ns(analysis: &Analysis) -> i64 {
    let hosts = analysis.clock.hosts.iter();
    hosts.map(|host| host.granularity_ns).max().unwrap_or(0)
}

/// A straight line through the points.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line {
    at_first_ns: f64,
    per_rank_ns: f64,
}

/// The least-squares line, weighted by departures; `None` if the points do not follow a rising
/// line, or rise by less than the granularity of the clock.
fn straight_line(points: &[SerializationPoint], granularity_ns: i64) -> Option<Line> {
    if points.len() < MIN_POINTS || rise_ns(points) <= granularity_ns {
        return None;
    }
    let values = || {
        let values = points.iter();
        values.map(|p| (p.n as f64, p.position as f64, p.mean_ns as f64))
    };
    let n: f64 = values().map(|(n, ..)| n).sum();
    let mean_x = values().map(|(n, x, _)| n * x).sum::<f64>() / n;
    let mean_y = values().map(|(n, _, y)| n * y).sum::<f64>() / n;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (n, x, y) in values() {
        xx += n * (x - mean_x) * (x - mean_x);
        xy += n * (x - mean_x) * (y - mean_y);
        yy += n * (y - mean_y) * (y - mean_y);
    }
    let per_rank_ns = xy / xx;
    let r_squared = xy * xy / (xx * yy);
    (per_rank_ns > 0.0 && r_squared >= MIN_R_SQUARED).then_some(Line {
        at_first_ns: mean_y - per_rank_ns * mean_x,
        per_rank_ns,
    })
}

/// How much later the last leaves than the first, ns.
fn rise_ns(points: &[SerializationPoint]) -> i64 {
    let ends = points.first().zip(points.last());
    ends.map_or(0, |(first, last)| {
        last.mean_ns.saturating_sub(first.mean_ns)
    })
}

fn finding(
    points: &[SerializationPoint],
    n_ranks: usize,
    line: Option<Line>,
    error_ns: Option<u64>,
) -> String {
    let (first_ns, last_ns) = (points[0].mean_ns, points[points.len() - 1].mean_ns);
    let (first, last) = (quantity::duration(first_ns), quantity::duration(last_ns));
    let since = "after the last arrival";
    if rise_ns(points) != 0
        && let Some(error_ns) =
            error_ns.filter(|_| !uncertainty::is_resolved(rise_ns(points), error_ns))
    {
        return format!(
            "How much later each further rank leaves is not resolved: the first and the last seem {} \
             apart, and the clock error is ±{}",
            quantity::duration(rise_ns(points)),
            uncertainty::error(error_ns)
        );
    }
    let error = uncertainty::after(last_ns, error_ns);
    // With many ranks a point stands for a step of the order.
    let (first_of, last_of) = if points.len() < n_ranks {
        ("first 1 % of the ranks", "last 1 %")
    } else {
        ("first rank", "last")
    };
    match line {
        Some(line) => format!(
            "Each further rank leaves {} later: the {first_of} {first} {since}, the {last_of} \
             {last}{error}",
            quantity::fine_duration(line.per_rank_ns)
        ),
        None if first == last => format!("All ranks leave {first} {since} on average{error}"),
        None => format!("The {first_of} leaves {first} {since}, the {last_of} {last}{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(mean_ns: impl IntoIterator<Item = i64>) -> Vec<SerializationPoint> {
        let points = mean_ns.into_iter().enumerate();
        points
            .map(|(position, mean_ns)| SerializationPoint {
                position,
                n: 10,
                mean_ns,
            })
            .collect()
    }

    #[test]
    fn a_straight_line_is_recovered() {
        let line = straight_line(&points((0..16).map(|p| 5_000 + 1_200 * p)), 10).unwrap();
        assert!((line.per_rank_ns - 1_200.0).abs() < 1e-6);
        assert!((line.at_first_ns - 5_000.0).abs() < 1e-6);
        let words = finding(
            &points((0..16).map(|p| 5_000 + 1_200 * p)),
            16,
            Some(line),
            None,
        );
        let expected = "Each further rank leaves 1.20 us later: the first rank 5.00 us after the \
                        last arrival, the last 23.0 us";
        assert_eq!(words, expected);
        let words = finding(&points([2_000; 16]), 16, None, None);
        assert_eq!(
            words,
            "All ranks leave 2.00 us after the last arrival on average"
        );
    }

    #[test]
    fn what_the_clocks_do_not_resolve_is_no_serialization() {
        let rising = points((0..16).map(|p| 5_000 + 1_200 * p));
        assert_eq!(
            finding(&rising, 16, None, Some(5_130_000)),
            "How much later each further rank leaves is not resolved: the first and the last seem \
             18.0 us apart, and the clock error is ±5.13 ms"
        );
        assert_eq!(
            finding(&rising, 16, None, Some(4_000)),
            "The first rank leaves 5.00 us after the last arrival, the last 23.0 us, clock error \
             ±4.00 us"
        );
    }

    #[test]
    fn what_is_no_rising_line_has_none() {
        let waits_for_one = points([0, 0, 0, 0, 0, 0, 0, 90_000]);
        assert_eq!(straight_line(&waits_for_one, 10), None);
        assert_eq!(straight_line(&points([7; 8]), 10), None);
        assert_eq!(
            straight_line(&points([0, 5, 10]), 1),
            None,
            "too few points"
        );
        let below_the_clock = points((0..8).map(|p| 100 + p));
        assert_eq!(straight_line(&below_the_clock, 10), None);
        assert!(straight_line(&below_the_clock, 1).is_some());
    }

    #[test]
    fn a_step_of_the_order_is_at_its_middle() {
        let steps = [0, 10, 20].map(|position| SerializationPoint {
            position,
            n: 1,
            mean_ns: 0,
        });
        let positions: Vec<usize> = middles(&steps, 31).iter().map(|p| p.position).collect();
        assert_eq!(positions, [4, 14, 25]);
        let single: Vec<usize> = middles(&points([1, 2, 3]), 3)
            .iter()
            .map(|p| p.position)
            .collect();
        assert_eq!(single, [0, 1, 2]);
    }
}
