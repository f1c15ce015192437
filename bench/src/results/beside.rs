//! Our times beside those of other programs, for the same operation, length and number of processes.
//!
//! How a program starts its repetitions is part of its figure, so each start scheme has a column of
//! its own, and a foreign time is compared with ours of the same scheme where there is one.

use std::io::{self, Write};

use collbench_text::quantity::{fine_duration, grouped};
use serde::Serialize;

use super::import::Import;
use crate::collective::{Point, Results};
use crate::measure::start::StartScheme;
use crate::overhead::empty_table;

/// The document `collbench.bench.beside/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Beside {
    schema: &'static str,
    columns: Vec<Column>,
    points: Vec<Row>,
    /// What was left out of the texts, as sentences.
    left_out: Vec<String>,
}

/// The times of one program with one start.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Column {
    /// File or run.
    name: String,
    /// `collbench`, or the program with its version.
    program: String,
    start: String,
    arrivals: Option<String>,
    /// How it measures, in words.
    method: String,
    is_ours: bool,
}

/// One operation with one length.
#[derive(Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Row {
    operation: String,
    bytes: Option<u64>,
    processes: usize,
    /// By column, ns; `None` where it was not measured.
    times_ns: Vec<Option<f64>>,
    /// By column: a foreign time over ours; `None` for our own columns, and without both times.
    ratios: Vec<Option<f64>>,
}

impl Beside {
    /// Of our results with their names, and of texts.
    pub(super) fn of(ours: &[(&str, &Results)], imports: &[Import]) -> Self {
        let mut sources: Vec<(Column, &Results)> = Vec::new();
        for (name, results) in ours {
            for (column, _) in columns_of(name, results) {
                sources.push((column, results));
            }
        }
        for import in imports {
            let name = import.path.display().to_string();
            for (column, start) in columns_of(&name, &import.results) {
                let column = Column {
                    program: format!("{} {}", import.program.word(), import.version)
                        .trim()
                        .to_owned(),
                    method: import.program.method(start).to_owned(),
                    is_ours: false,
                    ..column
                };
                sources.push((column, &import.results));
            }
        }
        let points = rows(&sources);
        Self {
            schema: "collbench.bench.beside/1",
            columns: sources.into_iter().map(|(column, _)| column).collect(),
            points,
            left_out: imports
                .iter()
                .flat_map(|import| import.left_out.clone())
                .collect(),
        }
    }

    /// Writes what the columns are, and a table of each operation.
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        for (i, column) in self.columns.iter().enumerate() {
            writeln!(
                output,
                "{}: {}, {}, start {}: {}",
                letter(i),
                column.name,
                column.program,
                column.start_words(),
                column.method
            )?;
        }
        writeln!(
            output,
            "Ratios are foreign times over ours with the same start, else over our first one.\n"
        )?;
        if self.points.is_empty() {
            writeln!(
                output,
                "Nothing was measured by both: no length and number of processes is the same."
            )?;
        }
        for rows in self.points.chunk_by(|a, b| a.operation == b.operation) {
            self.write_operation(rows, output)?;
        }
        for sentence in &self.left_out {
            writeln!(output, "left out: {sentence}")?;
        }
        Ok(())
    }

    fn write_operation(&self, rows: &[Row], output: &mut impl Write) -> io::Result<()> {
        writeln!(output, "{}", rows[0].operation)?;
        // Columns in which nothing of this operation was measured say nothing.
        let shown: Vec<usize> = (0..self.columns.len())
            .filter(|&i| rows.iter().any(|row| row.times_ns[i].is_some()))
            .collect();
        let mut head = vec!["processes".to_owned(), "bytes".to_owned()];
        for &i in &shown {
            head.push(letter(i));
            if !self.columns[i].is_ours {
                head.push("ratio".to_owned());
            }
        }
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        let mut table = empty_table(&head);
        for row in rows {
            let mut cells = vec![
                row.processes.to_string(),
                row.bytes.map_or("-".to_owned(), grouped),
            ];
            for &i in &shown {
                cells.push(row.times_ns[i].map_or("-".to_owned(), fine_duration));
                if !self.columns[i].is_ours {
                    let ratio = row.ratios[i];
                    cells.push(ratio.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")));
                }
            }
            table.add_row(cells);
        }
        writeln!(output, "{}\n", table.trim_fmt())
    }
}

impl Column {
    fn start_words(&self) -> String {
        match &self.arrivals {
            None => self.start.clone(),
            Some(arrivals) => format!("{}, arrivals {arrivals}", self.start),
        }
    }

    fn has(&self, point: &Point) -> bool {
        point.start.word() == self.start && point.arrivals == self.arrivals
    }
}

/// The name of a column in the table.
fn letter(i: usize) -> String {
    match u8::try_from(i) {
        Ok(i @ 0..26) => char::from(b'A' + i).to_string(),
        _ => format!("column {}", i + 1),
    }
}

/// A column for each start and arrivals of some results, with that start.
fn columns_of(name: &str, results: &Results) -> Vec<(Column, StartScheme)> {
    let mut columns: Vec<(Column, StartScheme)> = Vec::new();
    for point in &results.points {
        if columns.iter().any(|(column, _)| column.has(point)) {
            continue;
        }
        let column = Column {
            name: name.to_owned(),
            program: "collbench".to_owned(),
            start: point.start.word().to_owned(),
            arrivals: point.arrivals.clone(),
            method: method(results, point),
            is_ours: true,
        };
        columns.push((column, point.start));
    }
    columns
}

/// How points with the start and arrivals of this one became times, in words.
fn method(results: &Results, like: &Point) -> String {
    let mut reductions: Vec<&str> = Vec::new();
    for point in &results.points {
        let word = point.reduction.word();
        if (point.start, &point.arrivals) == (like.start, &like.arrivals)
            && !reductions.contains(&word)
        {
            reductions.push(word);
        }
    }
    format!(
        "{} over repetitions; over processes {}",
        results.run.figure,
        reductions.join(", ")
    )
}

/// What one of ours and a foreign one have both, in the order of ours.
fn rows(sources: &[(Column, &Results)]) -> Vec<Row> {
    let same = |a: &Point, b: &Point| {
        let root = |point: &Point| point.root.unwrap_or(0);
        (&a.operation, a.bytes, a.processes) == (&b.operation, b.bytes, b.processes)
            && a.hosts == b.hosts
            && root(a) == root(b)
    };
    let mut known: Vec<&Point> = Vec::new();
    let mut rows = Vec::new();
    for (_, results) in sources.iter().filter(|(column, _)| column.is_ours) {
        for point in &results.points {
            if known.iter().any(|other| same(other, point)) {
                continue;
            }
            known.push(point);
            let of_column = |(column, results): &(Column, &Results)| {
                let mut points = results.points.iter();
                points
                    .find(|other| same(other, point) && column.has(other))?
                    .time_ns
            };
            let times_ns: Vec<Option<f64>> = sources.iter().map(of_column).collect();
            let ratios = ratios(sources, &times_ns);
            if ratios.iter().any(Option::is_some) {
                rows.push(Row {
                    operation: point.operation.clone(),
                    bytes: point.bytes,
                    processes: point.processes,
                    times_ns,
                    ratios,
                });
            }
        }
    }
    // One table for each operation.
    let names: Vec<String> = known.iter().map(|point| point.operation.clone()).collect();
    rows.sort_by_key(|row| {
        let operation = names.iter().position(|name| *name == row.operation);
        (operation, row.processes, row.bytes)
    });
    rows
}

/// By column, a foreign time over ours of the same start, else over our first time.
fn ratios(sources: &[(Column, &Results)], times_ns: &[Option<f64>]) -> Vec<Option<f64>> {
    let ours = || {
        let all = sources.iter().zip(times_ns);
        all.filter(|((column, _), _)| column.is_ours)
            .filter_map(|((column, _), time)| Some((column, (*time)?)))
    };
    let of = |column: &Column, time: f64| {
        let mut alike = ours().filter(|(other, _)| {
            (&other.start, &other.arrivals) == (&column.start, &column.arrivals)
        });
        let (_, own) = alike.next().or_else(|| ours().next())?;
        (own > 0.0).then(|| time / own)
    };
    let all = sources.iter().zip(times_ns);
    all.map(|((column, _), time)| match (column.is_ours, time) {
        (false, Some(time)) => of(column, *time),
        _ => None,
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::example_results;
    use crate::measure::start::StartScheme;
    use crate::results::import;

    #[test]
    fn foreign_times_are_compared_with_ours_of_the_same_start() {
        let mut ours = example_results("2026-11-23T22:40:05Z", 1_000.0);
        // Of 8 bytes also after a barrier, 1.6 us.
        let barrier = Point {
            start: StartScheme::Barrier,
            time_ns: Some(1_600.0),
            ..ours.points[0].clone()
        };
        ours.points.push(barrier);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("osu.txt");
        let text = "# OSU MPI Broadcast Latency Test v7.5\n# Size       Avg Latency(us)\n\
                    8     2.00\n16    2.50\n4096  6.00\n";
        std::fs::write(&path, text).unwrap();
        let osu = import::read(&path, Some(4)).unwrap();
        let beside = Beside::of(&[("run", &ours)], &[osu]);
        let found: Vec<_> = beside
            .points
            .iter()
            .map(|row| (row.bytes, row.times_ns.clone(), row.ratios.clone()))
            .collect();
        let expected = [
            (
                Some(8),
                vec![Some(1_000.0), Some(1_600.0), Some(2_000.0)],
                vec![None, None, Some(1.25)],
            ),
            // Not measured after a barrier.
            (
                Some(4_096),
                vec![Some(4_000.0), None, Some(6_000.0)],
                vec![None, None, Some(1.5)],
            ),
        ];
        assert_eq!(found, expected);
        let mut text = Vec::new();
        beside.write(&mut text).unwrap();
        let text = String::from_utf8(text).unwrap();
        let row = text.lines().find(|line| line.contains("4,096")).unwrap();
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(
            words,
            ["4", "4,096", "4.00", "us", "-", "6.00", "us", "1.50"]
        );
        assert!(
            text.contains("OSU v7.5, start barrier: each repetition follows a barrier"),
            "{text}"
        );
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Beside>("collbench.bench.beside/1");
    }
}
