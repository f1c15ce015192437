//! The results as text, as CSV, and as pictures.

use std::io::{self, Write};

use collbench_stats::spread::Spread;
use collbench_text::quantity::{self, fine_duration};
use collbench_viz::{CurveAxis, Curves, Quantity, Stroke};

use super::Point;
use super::figures::{Figures, Results};
use crate::collective::results::given_up_in_words;
use crate::collective::table::write_run;
use crate::measure::start::StartScheme;
use crate::overhead::empty_table;

/// Writes where and how it was measured, and a table of each operation.
pub(super) fn write(results: &Results, output: &mut impl Write) -> io::Result<()> {
    write_run("Nonblocking operations", &results.run, output)?;
    let starts = results.points.iter();
    let starts = starts.map(|point| (point.start, point.start_asked, point.skew_ns.as_ref()));
    for words in given_up_in_words(starts) {
        writeln!(output, "{words}\n")?;
    }
    for points in results
        .points
        .chunk_by(|a, b| (&a.operation, a.processes) == (&b.operation, b.processes))
    {
        let first = &points[0];
        writeln!(
            output,
            "{}, {} processes, start {}; of each repetition the slowest process",
            first.operation,
            first.processes,
            first.start.word()
        )?;
        let mut table = empty_table(&[
            "bytes",
            "tests",
            "alone",
            "computation",
            "together",
            "initiation",
            "in tests",
            "in wait",
            "overhead by time",
            "by work",
            "ratio",
            "",
            "valid",
        ]);
        for point in points {
            table.add_row(row(point));
        }
        writeln!(output, "{}\n", table.trim_fmt())?;
    }
    Ok(())
}

fn row(point: &Point) -> Vec<String> {
    let figures = &point.overlap;
    let time = |of: fn(&Figures) -> &Spread| fine_duration(of(figures).median);
    let ratio = figures.overhead_ratio;
    vec![
        point.bytes.map_or("-".to_owned(), quantity::grouped),
        point.tests.to_string(),
        fine_duration(point.communication_ns),
        fine_duration(point.computation_ns),
        time(|figures| &figures.total_ns),
        time(|figures| &figures.initiation_ns),
        time(|figures| &figures.tests_ns),
        time(|figures| &figures.wait_ns),
        time(|figures| &figures.time_overhead_ns),
        time(|figures| &figures.work_overhead_ns),
        ratio.map_or("unknown".to_owned(), |ratio| format!("{ratio:.2}")),
        figures.words().to_owned(),
        format!("{} of {}", point.made - point.invalid, point.made),
    ]
}

/// One line for each point.
pub(super) fn csv(points: &[Point]) -> String {
    let mut text = "operation,bytes,processes,start,interval,tests,iterations,communication_ns,\
                    computation_ns,total_ns,initiation_ns,tests_ns,wait_ns,time_overhead_ns,\
                    work_overhead_ns,overhead_ratio,computation_slowdown,communication_ratio,made,\
                    invalid,start_asked\n"
        .to_owned();
    for point in points {
        let figures = &point.overlap;
        let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        let median = |of: fn(&Figures) -> &Spread| of(figures).median.to_string();
        let count = |value: Option<u64>| value.map_or(String::new(), |value| value.to_string());
        let fields = [
            point.operation.clone(),
            count(point.bytes),
            point.processes.to_string(),
            point.start.word().to_owned(),
            count(point.interval),
            point.tests.to_string(),
            point.iterations.to_string(),
            point.communication_ns.to_string(),
            point.computation_ns.to_string(),
            median(|figures| &figures.total_ns),
            median(|figures| &figures.initiation_ns),
            median(|figures| &figures.tests_ns),
            median(|figures| &figures.wait_ns),
            median(|figures| &figures.time_overhead_ns),
            median(|figures| &figures.work_overhead_ns),
            known(figures.overhead_ratio),
            known(figures.computation_slowdown),
            known(figures.communication_ratio),
            point.made.to_string(),
            point.invalid.to_string(),
            point.start_asked.map_or("", StartScheme::word).to_owned(),
        ];
        text += &fields.join(",");
        text.push('\n');
    }
    text
}

/// One picture for each operation and number of processes: overheads over length, by interval of
/// tests, with the time of the operation alone.
pub(super) fn pictures(results: &Results) -> Vec<(String, Curves)> {
    let same = |a: &Point, b: &Point| (&a.operation, a.processes) == (&b.operation, b.processes);
    let groups = results.points.chunk_by(same);
    let has_lengths = groups.filter(|points| points[0].bytes.is_some());
    has_lengths
        .map(|points| {
            let (name, processes) = (&points[0].operation, points[0].processes);
            let mut curves = Curves::new(
                format!("Overhead of {name} on {processes} processes, by work"),
                "time beyond that of the computation alone, the slowest process, median",
                CurveAxis::new("bytes", Quantity::Number).logarithmic(),
                CurveAxis::new("time", Quantity::Time).logarithmic(),
            );
            let length = |point: &Point| point.bytes.unwrap_or(0) as f64;
            let mut intervals: Vec<Option<u64>> =
                points.iter().map(|point| point.interval).collect();
            intervals.sort_unstable();
            intervals.dedup();
            let first = points.iter().filter(|point| point.interval == intervals[0]);
            let alone = first.map(|point| (length(point), point.communication_ns));
            curves.push("without computation", Stroke::Line, alone);
            for interval in intervals {
                let words = match interval {
                    None => "no tests".to_owned(),
                    Some(bytes) => format!("a test for {} bytes", quantity::grouped(bytes)),
                };
                let own = points.iter().filter(|point| point.interval == interval);
                let overheads =
                    own.map(|point| (length(point), point.overlap.work_overhead_ns.median));
                curves.push(words, Stroke::Line, overheads);
            }
            (format!("overhead-{name}-{processes}"), curves)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::reduction::Times;
    use crate::measure::start::Parts;

    fn point(bytes: u64, interval: Option<u64>, wait: i64) -> Point {
        let parts = Parts {
            initiation: 100,
            tests: if interval.is_some() { 40 } else { 0 },
            wait,
        };
        let times = Times {
            enter: 0,
            leave: 10_000 + parts.initiation + parts.tests + parts.wait,
        };
        Point {
            operation: "MPI_Ibcast".to_owned(),
            bytes: Some(bytes),
            processes: 4,
            start: StartScheme::Window,
            start_asked: None,
            interval,
            tests: interval.map_or(0, |_| 2),
            iterations: 8_000,
            made: 10,
            invalid: 4,
            skew_ns: None,
            communication_ns: 9_000.0,
            computation_ns: 10_000.0,
            overlap: Figures::of(&[vec![times; 4]], &[vec![parts; 4]], 9_000.0, 10_000.0).unwrap(),
        }
    }

    #[test]
    fn rows_show_overheads_by_time_and_by_work() {
        let row = row(&point(8, None, 9_000));
        assert_eq!(row[..3], ["8", "0", "9.00 us"]);
        assert_eq!(
            row[8..],
            ["9.10 us", "9.10 us", "1.01", "no overlap", "6 of 10"]
        );
    }

    #[test]
    fn csv_and_pictures_have_all_points() {
        let points: Vec<Point> = [8, 4_096]
            .into_iter()
            .flat_map(|bytes| [point(bytes, None, 50), point(bytes, Some(1_024), 10)])
            .collect();
        let text = csv(&points);
        let n_fields = text.lines().next().unwrap().split(',').count();
        assert_eq!(text.lines().count(), 5);
        assert!(text.lines().all(|line| line.split(',').count() == n_fields));
        let results = Results {
            schema: super::super::figures::SCHEMA,
            run: crate::collective::results::Results::example(Vec::new()).run,
            points,
        };
        let pictures = pictures(&results);
        assert_eq!(pictures.len(), 1);
        assert_eq!(pictures[0].0, "overhead-MPI_Ibcast-4");
        let svg = collbench_viz::Picture::from(pictures[0].1.clone()).to_svg();
        for words in ["no tests", "a test for 1,024 bytes", "without computation"] {
            assert!(svg.contains(words), "{words}");
        }
        let mut text = Vec::new();
        write(&results, &mut text).unwrap();
        assert!(
            String::from_utf8(text)
                .unwrap()
                .contains("MPI_Ibcast, 4 processes, start window")
        );
    }
}
