//! Pictures of the results: time over length, and time over the number of processes.

use collbench_viz::{CurveAxis, Curves, Quantity, Stroke};

use super::results::{Point, Results};

/// Most curves in one picture: more could not be distinguished.
const DRAWN: usize = 6;

/// The pictures of these results, with the names of their files.
pub(super) fn of_results(results: &Results) -> Vec<(String, Curves)> {
    let mut pictures = Vec::new();
    let measured: Vec<&Point> = results
        .points
        .iter()
        .filter(|point| point.time_ns.is_some())
        .collect();
    for (i, part) in by_curve(&measured, length_key).chunks(DRAWN).enumerate() {
        let mut curves = Curves::new(
            "Time of operations over the length of messages",
            subtitle(results),
            CurveAxis::new("bytes", Quantity::Number).logarithmic(),
            CurveAxis::new("time", Quantity::Time).logarithmic(),
        );
        for (name, points) in part {
            let points = points
                .iter()
                .filter_map(|point| Some((point.bytes? as f64, point.time_ns?)));
            curves.push(name.as_str(), Stroke::Line, points);
        }
        pictures.push((file_name("time-over-bytes", i), curves));
    }
    for (i, part) in by_curve(&measured, processes_key).chunks(DRAWN).enumerate() {
        let mut curves = Curves::new(
            "Time of operations over the number of processes",
            subtitle(results),
            CurveAxis::new("processes", Quantity::Number).logarithmic(),
            CurveAxis::new("time", Quantity::Time).logarithmic(),
        );
        for (name, points) in part {
            let points = points
                .iter()
                .filter_map(|point| Some((point.processes as f64, point.time_ns?)));
            curves.push(name.as_str(), Stroke::Line, points);
        }
        pictures.push((file_name("time-over-processes", i), curves));
    }
    pictures
}

fn file_name(name: &str, part: usize) -> String {
    match part {
        0 => name.to_owned(),
        part => format!("{name}-{}", part + 1),
    }
}

fn subtitle(results: &Results) -> String {
    let library = results.run.mpi_library.as_deref().unwrap_or_default();
    let library = library.split(',').next().unwrap_or_default();
    format!(
        "{} of repetitions, {} ranks, {library}",
        results.run.figure, results.run.ranks
    )
}

/// The name of the curve over lengths on which a point lies.
fn length_key(point: &Point) -> Option<String> {
    point.bytes?;
    Some(format!(
        "{}, {} processes{}",
        point.operation,
        point.processes,
        setting(point)
    ))
}

/// The name of the curve over processes on which a point lies.
fn processes_key(point: &Point) -> Option<String> {
    let bytes = point
        .bytes
        .map_or(String::new(), |bytes| format!(", {bytes} bytes"));
    (point.pair.is_none()).then(|| format!("{}{bytes}{}", point.operation, setting(point)))
}

fn setting(point: &Point) -> String {
    let root = point.root.filter(|root| *root > 0);
    let root = root.map_or(String::new(), |root| format!(", root {root}"));
    let arrivals = point.arrivals.as_ref();
    let arrivals = arrivals.map_or(String::new(), |arrivals| format!(", arrivals {arrivals}"));
    format!("{root}, {}{arrivals}", point.start.word())
}

/// Points by curve, in the order in which the curves begin; curves with one point are left out.
fn by_curve<'a>(
    points: &[&'a Point],
    key: impl Fn(&Point) -> Option<String>,
) -> Vec<(String, Vec<&'a Point>)> {
    let mut curves: Vec<(String, Vec<&Point>)> = Vec::new();
    for &point in points {
        let Some(name) = key(point) else {
            continue;
        };
        match curves.iter_mut().find(|(known, _)| *known == name) {
            Some((_, of)) => of.push(point),
            None => curves.push((name, vec![point])),
        }
    }
    curves.retain(|(_, points)| points.len() > 1);
    curves
}
