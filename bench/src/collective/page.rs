//! One page for the results of one run or of several side by side.

mod figures;

use std::path::Path;

use anyhow::Context;
use collbench_text::quantity::{counted, fine_duration, grouped};
use collbench_viz::{Align, Cell, Column, Fact, FigureGroup, Findings, Report, Table};

use super::compare::Comparison;
use super::results::{Point, Results};
use figures::{comparisons, figures_of};

/// Name of the page in a directory.
const PAGE: &str = "index.html";
/// Most operations that are named for taking longer than others, and most doubtful points; the JSON
/// has all.
const NAMED: usize = 20;

/// Results with the name that they have in pictures and tables; of a single run the name is not
/// shown.
pub(crate) struct Named<'a> {
    pub(crate) name: String,
    pub(crate) results: &'a Results,
}

/// Writes the page into a directory.
///
/// # Errors
/// Names the file.
pub(crate) fn write(runs: &[Named<'_>], folder: &Path) -> anyhow::Result<()> {
    let path = folder.join(PAGE);
    std::fs::write(&path, report(runs).to_html())
        .with_context(|| format!("writing {}", path.display()))
}

fn report(runs: &[Named<'_>]) -> Report {
    let operations = operations(runs);
    Report {
        title: "collbench: how long collective operations take".into(),
        lead: lead(runs).into(),
        facts: facts(runs),
        verdict: verdict(runs).join("\n").into(),
        findings: findings(runs),
        operations: table(runs, &operations),
        figures: comparisons(runs),
        groups: groups(runs, &operations),
        ..Report::default()
    }
}

/// Names of the operations, in the order in which they were first measured.
fn operations<'a>(runs: &[Named<'a>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for point in runs.iter().flat_map(|run| &run.results.points) {
        if !names.contains(&point.operation.as_str()) {
            names.push(&point.operation);
        }
    }
    names
}

fn lead(runs: &[Named<'_>]) -> String {
    let words = runs.iter().map(|run| {
        let name = match runs.len() {
            1 => String::new(),
            _ => format!("{}: ", run.name),
        };
        let of = &run.results.run;
        let host = of.machine.host.as_deref().unwrap_or("unknown host");
        format!(
            "{name}{} on {host}, {}{}",
            counted(of.ranks, "rank"),
            library(run.results),
            match &of.surroundings.date {
                None => String::new(),
                Some(date) => format!(", {date}"),
            }
        )
    });
    words.collect::<Vec<_>>().join(". ") + "."
}

/// The first words of what the MPI library says of itself.
fn library(results: &Results) -> &str {
    let library = results
        .run
        .mpi_library
        .as_deref()
        .unwrap_or("unknown library");
    library.split([',', '\n']).next().unwrap_or_default().trim()
}

fn verdict(runs: &[Named<'_>]) -> Vec<String> {
    let mut statements = Vec::new();
    if runs.len() > 1 {
        statements.push(who_is_fastest(runs));
    }
    for run in runs {
        let name = match runs.len() {
            1 => String::new(),
            _ => format!("{}: ", run.name),
        };
        let points = &run.results.points;
        let given_up = run.results.given_up_in_words();
        statements.extend(given_up.iter().map(|words| format!("{name}{words}")));
        let violations = run.results.guidelines.len();
        if violations > 0 {
            statements.push(format!(
                "{name}{} longer than others that do the same.",
                match violations {
                    1 => "1 operation takes".to_owned(),
                    n => format!("{n} operations take"),
                }
            ));
        }
        let doubtful = points.iter().filter(|point| {
            point.time_ns.is_none() || point.is_mostly_disturbed() || point.change.is_some()
        });
        let imprecise = points.iter().filter(|point| !point.is_precise);
        let (imprecise, precision) = (imprecise.count(), run.results.run.precision);
        // Of times that other programs have measured no precision was asked for.
        if imprecise > 0 && precision > 0.0 {
            statements.push(format!(
                "{name}{imprecise} of {} did not reach {:.1} % within their repetitions and time.",
                counted(points.len(), "point"),
                100.0 * precision
            ));
        }
        statements.push(match doubtful.count() {
            0 => format!(
                "{name}{} measured, none doubtful.",
                counted(points.len(), "point")
            ),
            n => format!("{name}{n} of {} doubtful.", counted(points.len(), "point")),
        });
    }
    statements
}

/// At how many points which run is the fastest.
fn who_is_fastest(runs: &[Named<'_>]) -> String {
    let names = runs
        .iter()
        .map(|run| run.name.as_str().into())
        .collect::<Vec<_>>();
    let all: Vec<Results> = runs.iter().map(|run| run.results.clone()).collect();
    let comparison = Comparison::of(&names, &all);
    let counts = comparison.fastest_counts();
    let named = runs.iter().zip(&counts);
    let named = named.map(|(run, n)| format!("{} is the fastest at {n}", run.name));
    format!(
        "Of {} that several runs have, {}; the others cannot be distinguished.",
        counted(comparison.n_points(), "point"),
        named.collect::<Vec<_>>().join(", ")
    )
}

fn findings(runs: &[Named<'_>]) -> Vec<Findings> {
    let of = |heading: String, sentences: Vec<String>| Findings {
        heading: heading.into(),
        sentences: sentences.into_iter().map(Into::into).collect(),
    };
    let mut all = Vec::new();
    for run in runs {
        let slower = run
            .results
            .selection
            .iter()
            .filter(|one| one.is_own_choice_slower);
        let sentences: Vec<String> = slower.take(NAMED).map(|one| one.words()).collect();
        all.push(of(
            "Algorithms faster than the library's choice".to_owned(),
            sentences,
        ));
        let added = match runs.len() {
            1 => String::new(),
            _ => format!(" ({})", run.name),
        };
        let mut violations: Vec<_> = run.results.guidelines.iter().collect();
        violations.sort_by(|a, b| b.ratio().total_cmp(&a.ratio()));
        let sentences = violations.iter().take(NAMED);
        all.push(of(
            format!("Slower than need be{added}"),
            sentences.map(|one| format!("{}.", one.words())).collect(),
        ));
        let mut doubts: Vec<String> = run.results.points.iter().filter_map(doubt).collect();
        if doubts.len() > NAMED {
            let more = doubts.len() - NAMED;
            doubts.truncate(NAMED);
            doubts.push(format!(
                "And {}, which the tables name.",
                counted(more, "other point")
            ));
        }
        all.push(of(format!("Doubtful{added}"), doubts));
    }
    all
}

/// Why the time of a point is doubtful, as a sentence.
fn doubt(point: &Point) -> Option<String> {
    let key = point.key();
    let invalid = point.missed + point.delayed;
    if point.time_ns.is_none() {
        return Some(format!("{key}: none of {} starts was valid.", point.made));
    }
    if point.is_mostly_disturbed() {
        return Some(format!(
            "{key}: {invalid} of {} starts were invalid.",
            point.made
        ));
    }
    let change = point.change.as_ref()?;
    Some(format!(
        "{key}: the time changed within the measurement, from {} to {}.",
        fine_duration(change.first_ns),
        fine_duration(change.second_ns)
    ))
}

/// A row for each operation and run.
fn table(runs: &[Named<'_>], operations: &[&str]) -> Table {
    let column = |name: &str, align| Column {
        name: name.into(),
        align,
    };
    let columns = [
        column("Operation", Align::Left),
        column(if runs.len() > 1 { "Run" } else { "Start" }, Align::Left),
        column("Points", Align::Right),
        column("Shortest time", Align::Right),
        column("Longest time", Align::Right),
        column("Largest bandwidth, MB/s", Align::Right),
        column("Largest error, %", Align::Right),
        column("Invalid starts, %", Align::Right),
    ];
    let number = |value: Option<f64>, text: fn(f64) -> String, scale: f64| match value {
        Some(value) => Cell::number(text(value), (value * scale).round() as i64),
        None => Cell::words("-"),
    };
    let rows = rows(runs, operations)
        .into_iter()
        .map(|(operation, run, points)| {
            let times = || points.iter().filter_map(|point| point.time_ns);
            let bandwidths = points.iter().filter_map(|point| point.bandwidth());
            let errors = points.iter().filter_map(|point| point.relative_error);
            let made: usize = points.iter().map(|point| point.made).sum();
            let invalid: usize = points
                .iter()
                .map(|point| point.missed + point.delayed)
                .sum();
            let share = (made > 0).then(|| 100.0 * invalid as f64 / made as f64);
            let largest = |values: &mut dyn Iterator<Item = f64>| values.max_by(f64::total_cmp);
            [
                Cell::words(operation),
                Cell::words(if runs.len() > 1 {
                    run.to_owned()
                } else {
                    starts(&points)
                }),
                Cell::number(grouped(points.len() as u64), points.len() as i64),
                number(times().min_by(f64::total_cmp), fine_duration, 1e3),
                number(largest(&mut times()), fine_duration, 1e3),
                number(
                    largest(&mut bandwidths.into_iter()).map(|of| of / 1e6),
                    one_decimal,
                    1e3,
                ),
                number(
                    largest(&mut errors.into_iter()).map(|of| 100.0 * of),
                    one_decimal,
                    1e3,
                ),
                number(share, one_decimal, 1e3),
            ]
        });
    Table::new(columns, rows).with_caption(
        "Times of all lengths, numbers of processes and starts that were measured. Names link to the \
         pictures.",
    )
}

/// The start schemes of points, in words.
fn starts(points: &[&Point]) -> String {
    let mut words: Vec<&str> = points.iter().map(|point| point.start.word()).collect();
    words.sort_unstable();
    words.dedup();
    words.join(", ")
}

fn one_decimal(value: f64) -> String {
    format!("{value:.1}")
}

/// Rows of the table: operation, name of the run, its points.
fn rows<'a>(
    runs: &'a [Named<'a>],
    operations: &[&'a str],
) -> Vec<(&'a str, &'a str, Vec<&'a Point>)> {
    let mut rows = Vec::new();
    for &operation in operations {
        for run in runs {
            let points = run.results.points.iter();
            let points: Vec<&Point> = points
                .filter(|point| point.operation == operation)
                .collect();
            if !points.is_empty() {
                rows.push((operation, run.name.as_str(), points));
            }
        }
    }
    rows
}

fn groups(runs: &[Named<'_>], operations: &[&str]) -> Vec<FigureGroup> {
    let rows = rows(runs, operations);
    operations
        .iter()
        .filter_map(|&operation| {
            let figures = figures_of(runs, operation);
            (!figures.is_empty()).then(|| FigureGroup {
                heading: operation.into(),
                row: rows.iter().position(|(of, ..)| *of == operation),
                finding: super::operation::Operation::of_name(operation)
                    .map_or(String::new(), |known| known.text())
                    .into(),
                facts: Vec::new(),
                figures,
            })
        })
        .collect()
}

fn facts(runs: &[Named<'_>]) -> Vec<Fact> {
    let mut facts = Vec::new();
    for run in runs {
        let of = &run.results.run;
        let mut add = |name: &str, value: String| {
            if value.is_empty() {
                return;
            }
            let name = match runs.len() {
                1 => name.to_owned(),
                _ => format!("{}: {name}", run.name),
            };
            facts.push(Fact {
                name: name.into(),
                value: value.into(),
            });
        };
        let known = |text: &Option<String>| text.clone().unwrap_or_default();
        add("command", of.command.join(" "));
        add("date", known(&of.surroundings.date));
        add("user", known(&of.surroundings.user));
        add("MPI library", known(&of.mpi_library));
        let settings = of.environment.iter();
        let settings: Vec<String> = settings
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        add("settings", settings.join(" "));
        add("processor", known(&of.machine.cpu));
        add("system", known(&of.machine.kernel));
        add("network", of.surroundings.network.join("; "));
        add("placement", of.surroundings.placement_in_words());
        add(
            "frequency of the cores",
            of.surroundings.frequency_in_words(),
        );
        if let Some(load) = of.machine.load {
            add("load before the measurement", load.to_string());
        }
        add("clock", of.clock.clone());
        let caches = if of.has_cold_caches {
            "invalidated before each repetition"
        } else {
            ""
        };
        add("caches", caches.to_owned());
        add("points", of.points_before_in_words().unwrap_or_default());
        add(
            "time of a point",
            format!("{} of the repetitions", of.figure),
        );
        add(
            "merged runs",
            if of.runs > 1 {
                of.runs.to_string()
            } else {
                String::new()
            },
        );
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page_of(points: Vec<Point>) -> String {
        let results = Results::example(points);
        let run = Named {
            name: "run".to_owned(),
            results: &results,
        };
        report(&[run]).to_html()
    }

    #[test]
    fn operations_that_belong_together_share_a_picture() {
        let point = |operation: &str, bytes| Point::example(operation, bytes, Some(bytes as f64));
        let names = ["MPI_Reduce", "MPI_Scan"];
        let points = names
            .iter()
            .flat_map(|name| [point(name, 8), point(name, 64)]);
        let page = page_of(points.collect());
        assert!(page.contains("Reduce and scan: time over length"));
        assert!(!page.contains("Exchanges"));
        let alone = page_of(vec![point("MPI_Scan", 8), point("MPI_Scan", 64)]);
        assert!(!alone.contains("Reduce and scan"));
        assert!(alone.contains("Bandwidth over length") && !alone.contains("Time over processes"));
    }

    #[test]
    fn of_many_lengths_those_at_even_distances_are_drawn_over_processes() {
        let points = (0..40u64).flat_map(|bytes| {
            [2, 4].map(|processes| Point {
                processes,
                ..Point::example("MPI_Bcast", bytes, Some(1_000.0))
            })
        });
        let page = page_of(points.collect());
        let drawn = |bytes: u64| page.contains(&format!(">{bytes} bytes, root 0, window<"));
        let drawn: Vec<u64> = (0..40).filter(|bytes| drawn(*bytes)).collect();
        assert_eq!(drawn, [0, 7, 15, 23, 31, 39]);
    }

    #[test]
    fn of_many_doubtful_points_some_are_named_and_the_others_counted() {
        let points = (0..30).map(|bytes| Point::example("MPI_Bcast", bytes, None));
        let page = page_of(points.collect());
        assert_eq!(page.matches("none of 4 starts was valid").count(), NAMED);
        assert!(page.contains("And 10 other points, which the tables name."));
    }

    #[test]
    fn what_is_doubtful_and_what_is_imprecise_is_said() {
        let imprecise = Point {
            is_precise: false,
            ..Point::example("MPI_Bcast", 8, Some(1_000.0))
        };
        let page = page_of(vec![imprecise, Point::example("MPI_Bcast", 64, None)]);
        assert!(page.contains("2 of 2 points did not reach 3.0 %"));
        assert!(page.contains("1 of 2 points doubtful"));
        assert!(page.contains("none of 4 starts was valid"));
    }
}
