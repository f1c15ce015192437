//! Results of several runs side by side: of algorithms, libraries, or machines.

use std::io::{self, Write};
use std::path::PathBuf;

use collbench_text::quantity;
use serde::Serialize;

use super::results::{Key, Point, Results};
use crate::overhead::empty_table;

/// The document `collbench.bench.collective.comparison/1`.
///
/// Of one launch, errors are those of a 95 % interval, which says nothing about other launches. Of
/// several launches that were merged they reach from the median to the farther of the fastest and the
/// slowest launch. The range of n launches contains the median of all possible ones with a
/// probability of 1 - 2^(1-n): 75 % for three, 94 % for five, 97 % for six.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Comparison {
    schema: &'static str,
    /// The files, in the order in which they were given.
    files: Vec<String>,
    /// Points that more than one file has.
    points: Vec<Compared>,
    /// Why points that were asked for with the same start are not compared, as sentences.
    not_compared: Vec<String>,
}

/// A point in all files.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Compared {
    operation: String,
    bytes: Option<u64>,
    processes: usize,
    hosts: Option<usize>,
    root: Option<usize>,
    pieces: Option<usize>,
    algorithm: Option<String>,
    start: &'static str,
    arrivals: Option<String>,
    /// By file, ns; `None` where it was not measured.
    times_ns: Vec<Option<f64>>,
    /// By file, half width of the interval over the time.
    relative_errors: Vec<Option<f64>>,
    /// Index of the file in which it is fastest; `None` if the intervals of the two fastest overlap.
    fastest: Option<usize>,
}

impl Comparison {
    /// Of results with the names of their files.
    pub(crate) fn of(files: &[PathBuf], all: &[Results]) -> Self {
        let mut keys: Vec<String> = Vec::new();
        for key in all
            .iter()
            .flat_map(|results| &results.points)
            .map(Point::key)
        {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let compared = |key: &String| {
            let of_file = |results: &Results| {
                let mut points = results.points.iter();
                points.find(|point| point.key() == *key).cloned()
            };
            Compared::of(&all.iter().map(of_file).collect::<Vec<_>>())
        };
        Self {
            schema: "collbench.bench.collective.comparison/1",
            files: files
                .iter()
                .map(|file| file.display().to_string())
                .collect(),
            points: keys.iter().filter_map(compared).collect(),
            not_compared: not_compared(all),
        }
    }

    /// Number of points that several files have.
    pub(crate) fn n_points(&self) -> usize {
        self.points.len()
    }

    /// By file, the number of points at which it is the fastest.
    pub(crate) fn fastest_counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.files.len()];
        for fastest in self.points.iter().filter_map(|point| point.fastest) {
            counts[fastest] += 1;
        }
        counts
    }

    /// Writes a table of each operation.
    pub(crate) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        for (i, file) in self.files.iter().enumerate() {
            writeln!(output, "{}: {file}", letter(i))?;
        }
        writeln!(output)?;
        for points in self.points.chunk_by(|a, b| a.operation == b.operation) {
            writeln!(output, "{}", points[0].operation)?;
            let columns = columns(points);
            let mut head: Vec<String> = columns.iter().map(|(name, _)| (*name).into()).collect();
            head.extend((0..self.files.len()).map(letter));
            head.push("fastest".to_owned());
            let head: Vec<&str> = head.iter().map(String::as_str).collect();
            let mut table = empty_table(&head);
            for point in points {
                table.add_row(point.row(&columns));
            }
            writeln!(output, "{}\n", table.trim_fmt())?;
        }
        for sentence in &self.not_compared {
            writeln!(output, "not compared: {sentence}")?;
        }
        Ok(())
    }
}

/// Points for which a start was given up in one file and not in others, by file.
fn not_compared(all: &[Results]) -> Vec<String> {
    let has = |key: &str, but: usize| {
        let others = all.iter().enumerate().filter(|(i, _)| *i != but);
        let mut points = others.flat_map(|(_, results)| &results.points);
        points.any(|point| point.key() == key)
    };
    let of_file = |(i, results): (usize, &Results)| {
        let differs = |point: &&Point| {
            let asked = point.start_asked.map(|start| Key {
                start,
                ..point.as_key()
            });
            asked.is_some_and(|asked| has(&asked.words(), i) && !has(&point.key(), i))
        };
        let mut points = results.points.iter().filter(differs);
        let first = points.next()?;
        Some(format!(
            "{} of {}, which start by {} since another start was given up; measure the others with \
             --start {} to compare them",
            quantity::counted(1 + points.count(), "point"),
            letter(i),
            first.start.word(),
            first.start.word()
        ))
    };
    all.iter().enumerate().filter_map(of_file).collect()
}

/// A column that says which point a row is of.
type Column = (&'static str, fn(&Compared) -> String);

/// What distinguishes points of one operation. What is the same for all is left out, but for the
/// start, the number of processes and the length.
fn columns(points: &[Compared]) -> Vec<Column> {
    let always: [Column; 3] = [
        ("start", |point| point.start.to_owned()),
        ("processes", |point| point.processes.to_string()),
        ("bytes", |point| {
            point.bytes.map_or("-".to_owned(), quantity::grouped)
        }),
    ];
    let if_they_differ: [Column; 5] = [
        ("hosts", |point| known(point.hosts)),
        ("root", |point| known(point.root)),
        ("pieces", |point| known(point.pieces)),
        ("algorithm", |point| {
            point.algorithm.clone().unwrap_or("own choice".to_owned())
        }),
        ("arrivals", |point| {
            point.arrivals.clone().unwrap_or("together".to_owned())
        }),
    ];
    let differ = |(_, of): &Column| points.iter().any(|point| of(point) != of(&points[0]));
    let shown = if_they_differ.into_iter().filter(differ);
    always.into_iter().chain(shown).collect()
}

fn known(number: Option<usize>) -> String {
    number.map_or("-".to_owned(), |number| number.to_string())
}

/// The name of a file in the table.
fn letter(i: usize) -> String {
    match u8::try_from(i) {
        Ok(i @ 0..26) => char::from(b'A' + i).to_string(),
        _ => format!("file {}", i + 1),
    }
}

impl Compared {
    /// Of the point in each file; `None` if fewer than two have it.
    fn of(points: &[Option<Point>]) -> Option<Self> {
        let mut measured = points.iter().flatten();
        let first = measured.next()?;
        measured.next()?;
        let time = |point: &Option<Point>| point.as_ref().and_then(|point| point.time_ns);
        let error = |point: &Option<Point>| point.as_ref().and_then(|point| point.relative_error);
        let times_ns: Vec<Option<f64>> = points.iter().map(time).collect();
        let relative_errors: Vec<Option<f64>> = points.iter().map(error).collect();
        let fastest = fastest(&times_ns, &relative_errors);
        Some(Self {
            operation: first.operation.clone(),
            bytes: first.bytes,
            processes: first.processes,
            hosts: first.hosts,
            root: first.root,
            pieces: first.pieces,
            algorithm: first.algorithm.clone(),
            start: first.start.word(),
            arrivals: first.arrivals.clone(),
            times_ns,
            relative_errors,
            fastest,
        })
    }

    fn row(&self, columns: &[Column]) -> Vec<String> {
        let mut row: Vec<String> = columns.iter().map(|(_, of)| of(self)).collect();
        let times = self.times_ns.iter();
        row.extend(times.map(|time| time.map_or("-".to_owned(), quantity::fine_duration)));
        let fastest = self.fastest;
        row.push(fastest.map_or("not distinguishable".to_owned(), letter));
        row
    }
}

/// Index of the shortest time, if its interval ends before that of the second shortest begins.
///
/// A time without an error cannot be the fastest, and is not compared with one that is shorter; but
/// nothing is the fastest beside it if it is shorter itself, or lies in the interval of the shortest.
pub(super) fn fastest(times_ns: &[Option<f64>], relative_errors: &[Option<f64>]) -> Option<usize> {
    let mut known: Vec<(usize, f64, f64)> = Vec::new();
    let mut shortest_unknown = f64::INFINITY;
    for (i, (time, error)) in times_ns.iter().zip(relative_errors).enumerate() {
        match (*time, *error) {
            (Some(time), Some(error)) => known.push((i, time, error)),
            (Some(time), None) => shortest_unknown = shortest_unknown.min(time),
            (None, _) => {}
        }
    }
    known.sort_by(|a, b| a.1.total_cmp(&b.1));
    let [(best, time, error), (_, second, second_error), ..] = known[..] else {
        return None;
    };
    let end = time * (1.0 + error);
    (end < second * (1.0 - second_error) && end < shortest_unknown).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::start::StartScheme;

    #[test]
    fn the_fastest_is_named_only_if_the_intervals_do_not_overlap() {
        let times = [Some(1_100.0), Some(1_000.0), None, Some(5_000.0)];
        assert_eq!(
            fastest(&times, &[Some(0.04), Some(0.04), None, Some(0.0)]),
            Some(1)
        );
        assert_eq!(
            fastest(&times, &[Some(0.04), Some(0.07), None, Some(0.0)]),
            None
        );
        // Without errors nothing can be told from one another.
        assert_eq!(fastest(&times, &[None, Some(0.01), None, None]), None);
        assert_eq!(
            fastest(&times, &[None, Some(0.01), None, Some(0.01)]),
            Some(1)
        );
        // The shortest time is not known well enough to be the fastest, nor to be left out.
        let unknown_is_shortest = [Some(0.01), None, None, Some(0.01)];
        assert_eq!(fastest(&times, &unknown_is_shortest), None);
        // 1,100 ns lie in an interval of 15 %.
        assert_eq!(fastest(&times, &[None, Some(0.15), None, Some(0.01)]), None);
    }

    #[test]
    fn rows_say_what_distinguishes_their_points() {
        let run = || {
            let of = |algorithm: Option<&str>, pieces| Point {
                algorithm: algorithm.map(str::to_owned),
                pieces,
                ..Point::example("MPI_Bcast", 8, Some(1_000.0))
            };
            Results::example(vec![
                of(None, None),
                of(Some("linear"), None),
                of(None, Some(3)),
            ])
        };
        let files = ["a.json", "b.json"].map(PathBuf::from);
        let comparison = Comparison::of(&files, &[run(), run()]);
        let mut text = Vec::new();
        comparison.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let head = text.lines().find(|line| line.contains("start")).unwrap();
        let words: Vec<&str> = head.split_whitespace().collect();
        let expected = [
            "start",
            "processes",
            "bytes",
            "pieces",
            "algorithm",
            "A",
            "B",
            "fastest",
        ];
        assert_eq!(words, expected);
        assert!(
            text.contains("linear") && text.contains("own choice"),
            "{text}"
        );
    }

    #[test]
    fn points_that_start_otherwise_since_a_start_was_given_up_are_named_and_not_compared() {
        let asked = || Point::example("MPI_Bcast", 8, Some(1_000.0));
        let fallen_back = || Point {
            start: StartScheme::Barrier,
            start_asked: Some(StartScheme::Window),
            ..asked()
        };
        let of = |b: Point| not_compared(&[asked(), b].map(|point| Results::example(vec![point])));
        assert_eq!(
            of(fallen_back()),
            [
                "1 point of B, which start by barrier since another start was given up; measure the \
                 others with --start barrier to compare them"
            ]
        );
        assert!(of(asked()).is_empty());
        let both = [fallen_back(), fallen_back()].map(|point| Results::example(vec![point]));
        assert!(not_compared(&both).is_empty());
    }

    #[test]
    fn points_of_two_files_lie_side_by_side() {
        let run = |times: &[(u64, Option<f64>)]| {
            let points = times
                .iter()
                .map(|&(bytes, time)| Point::example("MPI_Bcast", bytes, time));
            Results::example(points.collect())
        };
        let all = [
            run(&[
                (8, Some(1_000.0)),
                (64, Some(2_000.0)),
                (512, Some(9_000.0)),
            ]),
            run(&[(64, Some(1_500.0)), (8, Some(1_010.0)), (4_096, None)]),
        ];
        let files = ["linear.json", "binomial.json"].map(PathBuf::from);
        let comparison = Comparison::of(&files, &all);
        let found: Vec<_> = comparison
            .points
            .iter()
            .map(|one| (one.bytes, one.fastest))
            .collect();
        // Points that only one file has are left out.
        assert_eq!(found, [(Some(8), None), (Some(64), Some(1))]);
        let mut text = Vec::new();
        comparison.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(
            text.starts_with("A: linear.json\nB: binomial.json\n\nMPI_Bcast\n"),
            "{text}"
        );
        let row = |begin: &str| {
            text.lines()
                .find(|line| line.contains(begin))
                .unwrap()
                .to_owned()
        };
        assert!(
            row("1.00 us").ends_with("1.01 us  not distinguishable"),
            "{text}"
        );
        assert!(row("2.00 us").trim_end().ends_with('B'), "{text}");
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Comparison>("collbench.bench.collective.comparison/1");
    }
}
