//! The pictures of the page: curves of one operation, and of operations that are compared.

use collbench_text::quantity::fine_duration;
use collbench_viz::{CurveAxis, Curves, Figure, Quantity, Stroke};

use super::Named;
use crate::collective::results::{Key, Point, Varied};

/// Most curves in one picture: more could not be distinguished.
const DRAWN: usize = 6;

/// Operations that are compared with one another, where two of them were measured.
///
/// # Source
/// Reussner et al. 1999, appendix A, section 6; the collectives of equal data are ours.
const COMPARISONS: [(&str, &[&str]); 9] = [
    (
        "Sends of all modes",
        &[
            "MPI_Send-MPI_Recv",
            "MPI_Ssend-MPI_Recv",
            "MPI_Bsend-MPI_Recv",
            "MPI_Isend-MPI_Recv",
        ],
    ),
    (
        "Receives",
        &[
            "MPI_Send-MPI_Recv",
            "MPI_Send-MPI_Irecv",
            "MPI_Send-MPI_Iprobe",
            "MPI_Send-MPI_Recv-any-tag",
        ],
    ),
    (
        "Exchanges",
        &["MPI_Send-MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace"],
    ),
    (
        "Receives of a master",
        &[
            "master-MPI_Waitsome",
            "master-MPI_Waitany",
            "master-MPI_Recv-any-source",
        ],
    ),
    (
        "Sends of a master",
        &[
            "master-MPI_Send",
            "master-MPI_Ssend",
            "master-MPI_Bsend",
            "master-MPI_Isend",
        ],
    ),
    ("Reduce and scan", &["MPI_Reduce", "MPI_Scan", "MPI_Exscan"]),
    (
        "One to all, all to one",
        &["MPI_Bcast", "MPI_Reduce", "MPI_Scatter", "MPI_Gather"],
    ),
    (
        "All to all",
        &["MPI_Allreduce", "MPI_Allgather", "MPI_Alltoall"],
    ),
    (
        "Without data",
        &["MPI_Barrier", "MPI_Comm_dup", "MPI_Comm_split"],
    ),
];

/// One curve: its name and its points, ascending.
struct Curve<'a> {
    name: String,
    points: Vec<&'a Point>,
}

/// Time and bandwidth over length, and time over processes and over hosts.
pub(super) fn figures_of(runs: &[Named<'_>], operation: &str) -> Vec<Figure> {
    let of_operation = |point: &&Point| point.operation == operation && point.time_ns.is_some();
    let curves = |varied: Varied| -> Vec<Curve<'_>> {
        let mut curves = Vec::new();
        for run in runs {
            let points = run.results.points.iter().filter(of_operation);
            for points in varied.series(points) {
                let Some(key) = varied.key(points[0]) else {
                    continue;
                };
                let key = Key {
                    operation: None,
                    ..key
                };
                curves.push(Curve {
                    name: named(runs, run, key.words()),
                    points,
                });
            }
        }
        curves
    };
    let over_bytes = curves(Varied::Bytes);
    let mut figures = time_figures(&over_bytes, operation, Varied::Bytes);
    figures.extend(bandwidth_figures(&over_bytes, operation));
    let over_processes = evenly_chosen(curves(Varied::Processes));
    figures.extend(time_figures(&over_processes, operation, Varied::Processes));
    let over_hosts = evenly_chosen(curves(Varied::Hosts));
    figures.extend(time_figures(&over_hosts, operation, Varied::Hosts));
    figures
}

/// Curves for one picture: of those with most points as many as can be distinguished, from the first
/// to the last at even distances.
fn evenly_chosen(mut curves: Vec<Curve<'_>>) -> Vec<Curve<'_>> {
    let most = curves.iter().map(|curve| curve.points.len()).max();
    curves.retain(|curve| Some(curve.points.len()) == most);
    let n = curves.len();
    if n <= DRAWN {
        return curves;
    }
    let chosen: Vec<usize> = (0..DRAWN).map(|i| i * (n - 1) / (DRAWN - 1)).collect();
    let all = curves.into_iter().enumerate();
    all.filter(|(i, _)| chosen.contains(i))
        .map(|(_, curve)| curve)
        .collect()
}

/// The name of a curve: that of the run if there are several, then what its points share.
fn named(runs: &[Named<'_>], run: &Named<'_>, words: String) -> String {
    match runs.len() {
        1 => words,
        _ => format!("{}: {words}", run.name),
    }
}

fn time_figures(curves: &[Curve<'_>], what: &str, varied: Varied) -> Vec<Figure> {
    let (axis, heading, caption) = match varied {
        Varied::Bytes => (
            "bytes",
            "Time over length",
            "Each corner of a line is a length that was measured. The length is that of a message, or \
             of the block for one process.",
        ),
        Varied::Processes => (
            "processes",
            "Time over processes",
            "Each corner of a line is a number of processes that was measured.",
        ),
        Varied::Hosts => (
            "hosts",
            "Time over hosts",
            "The same number of processes on more and more hosts. Each corner of a line is a number of \
             hosts that was measured.",
        ),
    };
    let parts = curves.chunks(DRAWN).map(|part| {
        let mut picture = Curves::new(
            format!("{what}: {}", range_words(part)),
            "both axes are logarithmic",
            CurveAxis::new(axis, Quantity::Number).logarithmic(),
            CurveAxis::new("time", Quantity::Time).logarithmic(),
        );
        for curve in part {
            let points = curve
                .points
                .iter()
                .filter_map(|point| Some((varied.argument(point) as f64, point.time_ns?)));
            picture.push(curve.name.as_str(), Stroke::Line, points);
        }
        figure(heading, caption, picture)
    });
    parts.collect()
}

fn bandwidth_figures(curves: &[Curve<'_>], what: &str) -> Vec<Figure> {
    let parts = curves.chunks(DRAWN).map(|part| {
        let largest = part.iter().flat_map(|curve| &curve.points);
        let largest = largest
            .filter_map(|point| point.bandwidth())
            .fold(0.0, f64::max);
        let mut picture = Curves::new(
            format!("{what}: at most {:.1} MB/s", largest / 1e6),
            "both axes are logarithmic",
            CurveAxis::new("bytes", Quantity::Number).logarithmic(),
            CurveAxis::new("bandwidth, MB/s", Quantity::Number).logarithmic(),
        );
        for curve in part {
            let points = curve
                .points
                .iter()
                .filter_map(|point| Some((point.bytes? as f64, point.bandwidth()? / 1e6)));
            picture.push(curve.name.as_str(), Stroke::Line, points);
        }
        let caption = "Length over time. Of ping-pongs the time is that of both messages.";
        figure("Bandwidth over length", caption, picture)
    });
    parts.collect()
}

fn figure(heading: &str, caption: &str, picture: Curves) -> Figure {
    Figure {
        heading: heading.into(),
        caption: caption.into(),
        export: "".into(),
        on_demand: false,
        picture: picture.into(),
    }
}

/// The shortest and the longest time of some curves.
fn range_words(curves: &[Curve<'_>]) -> String {
    let times = curves.iter().flat_map(|curve| &curve.points);
    let ends =
        times
            .filter_map(|point| point.time_ns)
            .fold(None, |ends: Option<(f64, f64)>, time| {
                let (low, high) = ends.unwrap_or((time, time));
                Some((low.min(time), high.max(time)))
            });
    ends.map_or("nothing was measured".to_owned(), |(low, high)| {
        format!("{} to {}", fine_duration(low), fine_duration(high))
    })
}

/// Pictures in which operations are compared: of each the curve with most processes, started alike.
pub(super) fn comparisons(runs: &[Named<'_>]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for (heading, operations) in COMPARISONS {
        for varied in [Varied::Bytes, Varied::Processes, Varied::Hosts] {
            for run in runs {
                let curves: Vec<Curve<'_>> = operations
                    .iter()
                    .filter_map(|operation| widest(run, operation, varied))
                    .collect();
                if curves.len() < 2 {
                    continue;
                }
                let what = named(runs, run, heading.to_owned());
                let drawn = time_figures(&curves, &what, varied);
                figures.extend(drawn.into_iter().map(|figure| Figure {
                    heading: format!("{what}: {}", figure.heading.as_str().to_lowercase()).into(),
                    ..figure
                }));
            }
        }
    }
    figures
}

/// The series of an operation with most processes, or the longest messages; of several the first.
fn widest<'a>(run: &Named<'a>, operation: &str, varied: Varied) -> Option<Curve<'a>> {
    let points = run.results.points.iter();
    let points = points.filter(|point| point.operation == operation && point.time_ns.is_some());
    let mut all = varied.series(points);
    let width = |points: &Vec<&Point>| match varied {
        Varied::Bytes => points[0].processes as u64,
        Varied::Processes | Varied::Hosts => points[0].bytes.unwrap_or(0),
    };
    // The sort keeps the order of equals.
    all.sort_by_key(|points| std::cmp::Reverse(width(points)));
    let points = all.into_iter().next()?;
    let name = varied.key(points[0])?.words();
    Some(Curve { name, points })
}
