//! Pictures of the results: time over length, over the number of processes, and over the number of
//! hosts.

use collbench_viz::{CurveAxis, Curves, Quantity, Stroke};

use super::results::{Key, Point, Results, Varied};

/// Most curves in one picture: more could not be distinguished.
const DRAWN: usize = 6;

/// The pictures of these results, with the names of their files.
pub(super) fn of_results(results: &Results) -> Vec<(String, Curves)> {
    let over = [
        (Varied::Bytes, "the length of messages", "bytes"),
        (Varied::Processes, "the number of processes", "processes"),
        (Varied::Hosts, "the number of hosts", "hosts"),
    ];
    let mut pictures = Vec::new();
    for (varied, what, argument) in over {
        for (i, part) in curves(results, varied).chunks(DRAWN).enumerate() {
            let title = format!("Time of operations over {what}");
            let picture = picture(&title, argument, results, part);
            pictures.push((file_name(&format!("time-over-{argument}"), i), picture));
        }
    }
    pictures
}

/// A curve: its name, and its points as argument and time in ns, ascending.
type Curve = (String, Vec<(f64, f64)>);

/// A curve for each series of points that differ in nothing else.
fn curves(results: &Results, varied: Varied) -> Vec<Curve> {
    let measured = results.points.iter().filter(|one| one.time_ns.is_some());
    let curve = |points: Vec<&Point>| {
        let key = varied.key(points[0])?;
        let name = Key {
            // Root 0 is the usual one.
            root: key.root.filter(|root| *root > 0),
            ..key
        };
        let points = points
            .iter()
            .filter_map(|point| Some((varied.argument(point) as f64, point.time_ns?)));
        Some((name.words(), points.collect()))
    };
    varied
        .series(measured)
        .into_iter()
        .filter_map(curve)
        .collect()
}

fn picture(title: &str, argument: &str, results: &Results, part: &[Curve]) -> Curves {
    let mut curves = Curves::new(
        title,
        subtitle(results),
        CurveAxis::new(argument, Quantity::Number).logarithmic(),
        CurveAxis::new("time", Quantity::Time).logarithmic(),
    );
    for (name, points) in part {
        curves.push(name.as_str(), Stroke::Line, points.iter().copied());
    }
    curves
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

#[cfg(test)]
mod tests {
    use super::*;

    fn names(points: Vec<Point>) -> Vec<String> {
        let results = Results::example(points);
        let curves = curves(&results, Varied::Bytes).into_iter();
        curves.map(|(name, _)| name).collect()
    }

    #[test]
    fn points_that_differ_in_more_than_the_length_are_different_curves() {
        let mut points = Vec::new();
        for bytes in [8, 64] {
            for pieces in [1, 100] {
                points.push(Point {
                    pieces: Some(pieces),
                    root: None,
                    ..Point::example("master-MPI_Waitsome", bytes, Some(1_000.0))
                });
            }
            for algorithm in [None, Some("linear".to_owned())] {
                points.push(Point {
                    algorithm,
                    ..Point::example("MPI_Bcast", bytes, Some(1_000.0))
                });
            }
            for root in [1, 2] {
                points.push(Point {
                    root: Some(root),
                    arrivals: Some("late:1 50 us".to_owned()),
                    ..Point::example("MPI_Reduce", bytes, Some(1_000.0))
                });
            }
        }
        let expected = [
            "master-MPI_Waitsome, 4 processes, 1 pieces, window",
            "master-MPI_Waitsome, 4 processes, 100 pieces, window",
            "MPI_Bcast, 4 processes, window",
            "MPI_Bcast, 4 processes, algorithm linear, window",
            "MPI_Reduce, 4 processes, root 1, window, arrivals late:1 50 us",
            "MPI_Reduce, 4 processes, root 2, window, arrivals late:1 50 us",
        ];
        assert_eq!(names(points), expected);
        let alone = Point::example("MPI_Bcast", 8, Some(1_000.0));
        let unknown = Point::example("MPI_Bcast", 64, None);
        assert_eq!(names(vec![alone, unknown]), [""; 0]);
    }

    #[test]
    fn a_curve_ascends_whatever_the_order_of_its_points() {
        let points = [64, 8, 512].map(|bytes| Point::example("MPI_Bcast", bytes, Some(2e3)));
        let results = Results::example(points.to_vec());
        let (_, points) = &curves(&results, Varied::Bytes)[0];
        assert_eq!(points, &[(8.0, 2e3), (64.0, 2e3), (512.0, 2e3)]);
    }
}
