//! The data sheet of a result: of each series of points its range, the latency and bandwidth at both
//! ends, and the errors.
//!
//! # Source
//! Reussner et al. 1999, appendix B.

use std::io::{self, Write};

use collbench_text::quantity::{counted, fine_duration, grouped};
use serde::Serialize;

use super::operation::{Operation, Pattern};
use super::results::{Key, Point, Results, Varied};

/// The document `collbench.bench.sheet/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sheets {
    schema: &'static str,
    sheets: Vec<Sheet>,
}

/// One series of points.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Sheet {
    operation: String,
    /// What the operation does.
    text: String,
    pattern: Pattern,
    /// `None` for a single point.
    varied: Option<Varied>,
    points: usize,
    /// Points whose length refinement has chosen.
    refined: usize,
    /// What is the same for all points, in words.
    fixed: String,
    first: End,
    last: End,
    /// Half width of the 95 % interval over the time, at which repetitions end.
    allowed_error: f64,
    /// The largest of the points; `None` if it is unknown for all.
    largest_error: Option<f64>,
    /// Points within the error that is allowed.
    precise: usize,
    /// Repetitions of all points, and those of them whose start was not valid.
    made: usize,
    invalid: usize,
}

/// An end of a series.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct End {
    /// Bytes or processes; `None` for a single point.
    argument: Option<u64>,
    time_ns: Option<f64>,
    bandwidth_bytes_per_s: Option<f64>,
}

impl Sheets {
    /// Of all points: series over lengths, then those over processes, then single points.
    pub(crate) fn of(results: &Results) -> Self {
        let precision = results.run.precision;
        let over_bytes = Varied::Bytes.series(&results.points);
        let over_processes = Varied::Processes.series(&results.points);
        let over_hosts = Varied::Hosts.series(&results.points);
        let all = [&over_bytes, &over_processes, &over_hosts];
        let is_in = |series: &[Vec<&Point>], point: &Point| {
            series
                .iter()
                .flatten()
                .any(|other| std::ptr::eq(*other, point))
        };
        let alone = results
            .points
            .iter()
            .filter(|point| !all.iter().any(|series| is_in(series, point)));
        let alone = alone.map(|point| Sheet::of(&[point], None, precision));
        let of = |all: &[Vec<&Point>], varied: Varied| -> Vec<Sheet> {
            let sheets = all.iter().filter_map(|points| {
                let key = varied.key(points[0])?;
                Some((points, key))
            });
            sheets
                .map(|(points, key)| Sheet::of(points, Some((varied, key)), precision))
                .collect()
        };
        let mut sheets = of(&over_bytes, Varied::Bytes);
        sheets.extend(of(&over_processes, Varied::Processes));
        sheets.extend(of(&over_hosts, Varied::Hosts));
        sheets.extend(alone);
        Self {
            schema: "collbench.bench.sheet/1",
            sheets,
        }
    }

    /// Writes all sheets.
    pub(crate) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        for sheet in &self.sheets {
            sheet.write(output)?;
        }
        Ok(())
    }
}

impl Sheet {
    /// Of at least one point.
    fn of(points: &[&Point], varied: Option<(Varied, Key<'_>)>, allowed_error: f64) -> Self {
        let (first, last) = (points[0], points[points.len() - 1]);
        let (varied, key) = match varied {
            Some((varied, key)) => (Some(varied), key),
            None => (None, first.as_key()),
        };
        let end = |point: &Point| End {
            argument: varied.map(|varied| varied.argument(point)),
            time_ns: point.time_ns,
            bandwidth_bytes_per_s: point.bandwidth(),
        };
        let errors = points.iter().filter_map(|point| point.relative_error);
        let known = Operation::of_name(&first.operation);
        let sum = |of: fn(&Point) -> usize| -> usize { points.iter().map(|point| of(point)).sum() };
        Self {
            operation: first.operation.clone(),
            text: known.map_or(String::new(), Operation::text),
            pattern: first.pattern,
            varied,
            points: points.len(),
            refined: sum(|point| usize::from(point.is_refined)),
            fixed: Key {
                operation: None,
                ..key
            }
            .words(),
            first: end(first),
            last: end(last),
            allowed_error,
            largest_error: errors.max_by(f64::total_cmp),
            precise: sum(|point| usize::from(point.is_precise)),
            made: sum(|point| point.made),
            invalid: sum(|point| point.missed + point.delayed),
        }
    }

    fn write(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(output, "{}\n  {}", self.operation, self.text)?;
        let varied = match self.varied {
            None => "one point".to_owned(),
            Some(varied) => format!("varied over {}", words(varied)),
        };
        writeln!(
            output,
            "  pattern         {}, {varied}",
            self.pattern.word()
        )?;
        if let (Some(varied), Some(from), Some(to)) =
            (self.varied, self.first.argument, self.last.argument)
        {
            let refined = match self.refined {
                0 => String::new(),
                n => format!(", {n} of them by refinement"),
            };
            writeln!(
                output,
                "  range           {} to {}, {}{refined}",
                grouped(from),
                argument_words(varied, to),
                counted(self.points, "point")
            )?;
        }
        writeln!(output, "  fixed           {}", self.fixed)?;
        self.first.write(self.varied, output)?;
        if self.varied.is_some() {
            self.last.write(self.varied, output)?;
        }
        let largest = match self.largest_error {
            None => "unknown".to_owned(),
            Some(error) => format!("{:.1} %", 100.0 * error),
        };
        writeln!(
            output,
            "  errors          {:.1} % allowed, largest {largest}; {} of {} within",
            100.0 * self.allowed_error,
            self.precise,
            counted(self.points, "point")
        )?;
        writeln!(
            output,
            "  invalid starts  {} of {}\n",
            grouped(self.invalid as u64),
            grouped(self.made as u64)
        )
    }
}

impl End {
    fn write(&self, varied: Option<Varied>, output: &mut impl Write) -> io::Result<()> {
        let place = match (varied, self.argument) {
            (Some(varied), Some(argument)) => {
                format!(" at {}", argument_words(varied, argument))
            }
            _ => String::new(),
        };
        let time = self.time_ns.map_or("unknown".to_owned(), fine_duration);
        writeln!(output, "  latency         {time}{place}")?;
        match self.bandwidth_bytes_per_s {
            None => Ok(()),
            Some(bandwidth) => {
                writeln!(output, "  bandwidth       {}{place}", rate(bandwidth))
            }
        }
    }
}

fn words(varied: Varied) -> &'static str {
    match varied {
        Varied::Bytes => "the length of messages",
        Varied::Processes => "the number of processes",
        Varied::Hosts => "the number of hosts",
    }
}

/// A length or a number of processes.
fn argument_words(varied: Varied, argument: u64) -> String {
    match (varied, argument) {
        (Varied::Bytes, 1) => "1 byte".to_owned(),
        (Varied::Bytes, n) => format!("{} bytes", grouped(n)),
        (Varied::Processes, 1) => "1 process".to_owned(),
        (Varied::Processes, n) => format!("{} processes", grouped(n)),
        (Varied::Hosts, 1) => "1 host".to_owned(),
        (Varied::Hosts, n) => format!("{} hosts", grouped(n)),
    }
}

/// A bandwidth with three significant digits, in powers of 1000.
fn rate(bytes_per_s: f64) -> String {
    let units = [(1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s")];
    let fits = units
        .into_iter()
        .find(|(size, _)| bytes_per_s >= 0.9995 * size);
    let (size, unit) = fits.unwrap_or((1.0, "B/s"));
    let value = bytes_per_s / size;
    let decimals = match value {
        99.95.. => 0,
        9.995.. => 1,
        _ => 2,
    };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_series_has_a_sheet_with_both_of_its_ends() {
        let reduce = |bytes, time| Point::example("MPI_Reduce", bytes, Some(time));
        let refined = Point {
            is_refined: true,
            relative_error: Some(0.05),
            is_precise: false,
            ..reduce(512, 5_000.0)
        };
        let barrier = |processes, time| Point {
            bytes: None,
            root: None,
            processes,
            ..Point::example("MPI_Barrier", 0, Some(time))
        };
        let simple = Point {
            pattern: Pattern::Simple,
            bytes: None,
            root: None,
            ..Point::example("MPI_Wtime", 0, None)
        };
        let results = Results::example(vec![
            reduce(1, 1_657_000.0),
            reduce(4_194_304, 526_694_000.0),
            refined,
            barrier(8, 900.0),
            barrier(2, 300.0),
            simple,
        ]);
        let mut text = Vec::new();
        let sheets = Sheets::of(&results);
        sheets.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let expected = "\
MPI_Reduce
  One process gets the combination of the values of all.
  pattern         collective, varied over the length of messages
  range           1 to 4,194,304 bytes, 3 points, 1 of them by refinement
  fixed           4 processes, root 0, window
  latency         1.66 ms at 1 byte
  bandwidth       604 B/s at 1 byte
  latency         527 ms at 4,194,304 bytes
  bandwidth       7.96 MB/s at 4,194,304 bytes
  errors          3.0 % allowed, largest 5.0 %; 2 of 3 points within
  invalid starts  3 of 12

MPI_Barrier
  Processes wait for one another.
  pattern         collective, varied over the number of processes
  range           2 to 8 processes, 2 points
  fixed           window
  latency         300 ns at 2 processes
  latency         900 ns at 8 processes
  errors          3.0 % allowed, largest 1.0 %; 2 of 2 points within
  invalid starts  2 of 8

MPI_Wtime
  A call without a partner.
  pattern         simple, one point
  fixed           4 processes, window
  latency         unknown
  errors          3.0 % allowed, largest unknown; 0 of 1 point within
  invalid starts  4 of 4

";
        assert_eq!(text, expected);
        let json = serde_json::to_value(&sheets).unwrap();
        assert_eq!(json["sheets"][0]["varied"], "bytes");
        assert_eq!(json["sheets"][0]["last"]["argument"], 4_194_304);
        assert_eq!(json["sheets"][2]["varied"], serde_json::Value::Null);
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Sheets>("collbench.bench.sheet/1");
    }
}
