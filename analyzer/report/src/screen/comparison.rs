//! A comparison to one screen for a person: what differs first.

mod sides;
mod trees;

use std::fmt::Write;
use std::path::Path;

use collbench_analyzer::compare::{
    ComparedOperation, ComparedTrace, Comparison, ComparisonVerdict, OperationDifferences,
    OperationFigures, RunDifferences,
};
use collbench_text::{inert, quantity};

use crate::screen::lines::{BOLD, DEFAULT_COLUMNS, Screen, cell, fitting_lines, table_lines};
use crate::words::changes::{Row, advice, bytes, communicator, is_named, payload};
use crate::words::comparison::{self as words, letter, setting_in_words};
use crate::words::difference::{is_only_alone, signed, signed_percent, verdict_on};
use crate::words::tree_differences as tree_words;

/// Rows shown of one comparison: of operations that differ, and of the others.
const ROWS: [usize; 2] = [9, 5];
/// Rows shown of each of several comparisons on the screen.
const FEWER_ROWS: [usize; 2] = [4, 1];
/// Rows among them of operations with too few instances.
const MAX_TOO_FEW: usize = 3;
/// Columns for names of operations and communicators: on wider screens, and on narrow ones.
const NAMES: [[usize; 2]; 5] = [[24, 18], [24, 12], [18, 10], [14, 8], [10, 6]];
/// Sentences on what to look at.
const MAX_SENTENCES: usize = 3;

/// Part of the time of all ranks from which on point-to-point communication is told: one in so many.
const MATTERS: i128 = 100;

/// Places from which operations are called.
const MAX_SITES: usize = 4;

/// The screen, 100 columns wide. `report` is where the pictures are, if there are any.
#[must_use]
pub fn comparison_to_text(comparison: &Comparison, report: Option<&Path>) -> String {
    comparison_to_text_within(comparison, report, DEFAULT_COLUMNS)
}

/// The screen, as [`comparison_to_text`] gives it, on a terminal of so many columns.
#[must_use]
pub fn comparison_to_text_within(
    comparison: &Comparison,
    report: Option<&Path>,
    columns: usize,
) -> String {
    let file = |name: &str| Some(inert::path(&report?.join(name)));
    let document = file("comparison.json").unwrap_or_else(|| "--format json".to_owned());
    let mut screen = Screen::new(columns).with_rest_in(format!("sides.operations in {document}"));
    traces(&mut screen, comparison);
    if let Some(sides) = &comparison.sides {
        sides::sides(&mut screen, comparison, sides);
    } else {
        for run in &comparison.runs {
            against_baseline(&mut screen, comparison, run);
        }
    }
    let names = words::names(comparison);
    if !comparison.remarks.is_empty() {
        screen.heading("Remarks");
    }
    for remark in &comparison.remarks {
        screen.item(&format!(
            "{}: {}",
            remark.code(),
            words::remark(&names, remark)
        ));
    }
    if let Some(page) = file("index.html") {
        screen.pictures(&page);
    }
    screen.text
}

/// What was compared, and which settings differ.
fn traces(screen: &mut Screen, comparison: &Comparison) {
    let baseline = match &comparison.sides {
        None => "A is the baseline".to_owned(),
        Some(sides) => {
            let runs = quantity::counted(sides.baseline.len(), "run");
            format!("A, of {runs}, is the baseline")
        }
    };
    let _ = writeln!(
        screen.text,
        "{BOLD}Comparison of traces{BOLD:#} ({baseline})"
    );
    let names = words::names(comparison);
    let commands: Vec<String> = comparison
        .traces
        .iter()
        .map(|compared| compared.trace.command.join(" "))
        .collect();
    let is_one_command = commands.iter().all(|command| *command == commands[0]);
    let common = commands[1..]
        .iter()
        .map(|command| common_words(&commands[0], command));
    let common = common.min().unwrap_or(0);
    for (index, compared) in comparison.traces.iter().enumerate() {
        let trace = &compared.trace;
        let mut ran = format!(
            "{}: {} on {}, {}{}",
            inert::line(&trace.directory, 36),
            quantity::counted(trace.ranks, "rank"),
            quantity::counted(trace.hosts.len() as u64, "host"),
            quantity::duration(trace.duration_ns),
            if trace.complete { "" } else { ", INCOMPLETE" },
        );
        // Of long commands the part in which they differ.
        if !is_one_command {
            let cut = if common > 0 { "... " } else { "" };
            let line = screen.fact_columns() - cut.len();
            let beside = line.checked_sub(ran.chars().count() + 2);
            // On further lines where there is hardly room beside the rest.
            let room = beside.filter(|&room| room >= MIN_COMMAND).unwrap_or(line);
            let command = inert::line(&commands[index][common..], room);
            let _ = write!(ran, "; {cut}{command}");
        }
        screen.fact(&names[index], &ran);
    }
    if is_one_command {
        let command = inert::line(&commands[0], screen.fact_columns());
        screen.fact("all", &command);
    }
    let others = comparison.differs.iter();
    for setting in others.filter(|s| s.what != "command" && s.what != "ranks") {
        let width = 80 / setting.values.len().max(1);
        let values = setting_in_words(&names, setting, width.max(12));
        let what = match &*setting.what {
            "mpi_library" => "MPI library",
            what => what,
        };
        screen.item(&format!("different {what}: {values}"));
    }
}

/// Length of the words that two commands have in common at their beginnings.
fn common_words(one: &str, two: &str) -> usize {
    let mut length = 0;
    for (a, b) in one.split_inclusive(' ').zip(two.split_inclusive(' ')) {
        if a != b {
            break;
        }
        length += a.len();
    }
    length
}

fn against_baseline(screen: &mut Screen, comparison: &Comparison, run: &RunDifferences) {
    let name = letter(run.trace);
    screen.heading(&format!("{name} against A"));
    whole_run(screen, comparison, run);
    let of_run = |operation| of_trace(operation, run.trace);
    let (mut differing, mut others): (Vec<Row<'_>>, Vec<Row<'_>>) = comparison
        .operations
        .iter()
        .filter_map(of_run)
        .partition(|(_, differences)| is_named(differences.verdict));
    // Stable: of equal changes the first operation comes first.
    differing.sort_by_key(|row| std::cmp::Reverse(total_change_ns(row)));
    others.sort_by_key(|(_, differences)| differences.verdict == ComparisonVerdict::TooFew);
    counts(screen, &differing, &others);
    operations(screen, comparison, run.trace, &differing, &others);
    let all = differing.iter().chain(&others);
    if let Some(note) = about_not_significant(run, all.map(|(_, differences)| *differences)) {
        screen.item(&note);
    }
    only_in(screen, comparison, run.trace);
    let all: Vec<&Row<'_>> = differing.iter().chain(&others).collect();
    for line in tree_words::replaced(&name, &all) {
        screen.item(&line);
    }
    trees::trees(screen, &all, (&name, comparison.runs.len() == 1));
    let rows = differing.iter().chain(&others);
    let sentences: Vec<String> = rows
        .filter_map(|row| advice(&name, row))
        .take(MAX_SENTENCES)
        .collect();
    for sentence in sentences {
        screen.item(&sentence);
    }
    let sites = comparison.sites.iter();
    let sites = sites.filter(|site| site.trace == run.trace);
    for site in sites.take(MAX_SITES) {
        screen.item(&words::site(site));
    }
}

fn of_trace(operation: &ComparedOperation, trace: usize) -> Option<Row<'_>> {
    let mut differences = operation.differences.iter();
    differences
        .find(|differences| differences.trace == trace)
        .map(|differences| (operation, differences))
}

/// By how much the total time of an operation changed, ns, >= 0.
pub(crate) fn total_change_ns((_, differences): &Row<'_>) -> i64 {
    differences.total_ns.difference.saturating_abs()
}

/// The run as a whole: single numbers, without intervals.
fn whole_run(screen: &mut Screen, comparison: &Comparison, run: &RunDifferences) {
    let (from, to) = (&comparison.traces[0], &comparison.traces[run.trace]);
    let change = |from: i64, to: i64| {
        let percent = if from > 0 {
            format!(" ({})", signed_percent(to as f64 / from as f64))
        } else {
            String::new()
        };
        format!(
            "{} -> {}{percent}",
            quantity::duration(from),
            quantity::duration(to)
        )
    };
    let duration = change(from.trace.duration_ns, to.trace.duration_ns);
    screen.fact("run", &format!("{duration}; one run each: no interval"));
    let mut collectives = format!(
        "{} over all ranks",
        change(from.collectives_ns, to.collectives_ns)
    );
    if let (Some(from), Some(to)) = (from.wait_ns, to.wait_ns) {
        let _ = write!(collectives, ", waiting {}", change(from, to));
    }
    screen.fact("calls", &collectives);
    // Where it is no notable part of either run, it changes neither.
    let is_notable = |of: &ComparedTrace, ns: i64| {
        let rank_ns = i128::from(of.trace.duration_ns) * i128::from(of.trace.ranks);
        i128::from(ns) * MATTERS >= rank_ns
    };
    if let (Some(from_ns), Some(to_ns)) = (from.point_to_point_ns, to.point_to_point_ns)
        && (is_notable(from, from_ns) || is_notable(to, to_ns))
    {
        let messages = change(from_ns, to_ns);
        screen.fact(
            "p2p",
            &format!("{messages} over all ranks in point-to-point communication"),
        );
    }
}

/// How many operations have which verdict.
fn counts(screen: &mut Screen, differing: &[Row<'_>], others: &[Row<'_>]) {
    let n = |rows: &[Row<'_>], verdict| {
        let those = rows.iter().filter(|(_, d)| d.verdict == verdict);
        those.count()
    };
    let mut words = Vec::new();
    for (rows, verdict, name) in [
        (differing, ComparisonVerdict::Slower, "slower"),
        (differing, ComparisonVerdict::Faster, "faster"),
        (
            others,
            ComparisonVerdict::NotDistinguishable,
            "not distinguishable (?)",
        ),
        (others, ComparisonVerdict::NotResolvable, "not resolvable"),
        (others, ComparisonVerdict::TooFew, "with too few instances"),
    ] {
        let n = n(rows, verdict);
        if n > 0 || verdict == ComparisonVerdict::Slower {
            words.push(format!("{n} {name}"));
        }
    }
    let by_median = others.iter().filter(|(_, d)| {
        d.verdict == ComparisonVerdict::NotDistinguishable
            && d.duration_ns
                .median
                .as_ref()
                .is_some_and(|m| is_named(m.verdict))
    });
    let n_by_median = by_median.count();
    if n_by_median > 0 {
        let differ = if n_by_median == 1 {
            "differs"
        } else {
            "differ"
        };
        words.push(format!("{n_by_median} {differ} in the median"));
    }
    let n_all = (differing.len() + others.len()) as u64;
    let of_all = quantity::counted(n_all, "operation");
    screen.fact("of", &format!("{of_all}: {}", words.join(", ")));
}

/// The operations, those that differ before the others.
fn operations(
    screen: &mut Screen,
    comparison: &Comparison,
    trace: usize,
    differing: &[Row<'_>],
    others: &[Row<'_>],
) {
    let limits = match comparison.runs.len() {
        1 => ROWS,
        _ => FEWER_ROWS,
    };
    // A short list of those that differ leaves room for the others.
    let n_differing = differing.len().min(limits[0]);
    let is_known = |(_, d): &&Row<'_>| d.verdict != ComparisonVerdict::TooFew;
    let n_known = others.iter().filter(is_known).count();
    let n_others = others
        .len()
        .min(n_known + MAX_TOO_FEW)
        .min(limits[0] + limits[1] - n_differing);
    let rows: Vec<&Row<'_>> = differing[..n_differing]
        .iter()
        .chain(&others[..n_others])
        .collect();
    if rows.is_empty() {
        screen.item("no operation is in both traces");
        return;
    }
    let lines = fitting_lines(&NAMES, screen.columns(), |names, is_narrow| {
        table(trace, &rows, names, is_narrow)
    });
    for line in lines {
        screen.row(&line);
    }
    let n_more = differing.len() - n_differing;
    let n_more_others = others.len() - n_others;
    if n_more + n_more_others > 0 {
        screen.item(&format!(
            "and {}: see operations in comparison.json",
            match n_more {
                0 => format!("{n_more_others} more"),
                1 => format!(
                    "1 more that differs, {}",
                    quantity::counted(n_more_others, "other")
                ),
                _ => format!(
                    "{n_more} more that differ, {}",
                    quantity::counted(n_more_others, "other")
                ),
            }
        ));
    }
}

/// Columns for a command beside what else there is of a trace, at least.
const MIN_COMMAND: usize = 20;

/// The lines of the table, with so many columns for names of operations and communicators.
fn table(
    trace: usize,
    rows: &[&Row<'_>],
    [operation_width, communicator_width]: [usize; 2],
    is_narrow: bool,
) -> Vec<String> {
    let cell = |text| cell(text, is_narrow);
    let heads = [
        "operation".to_owned(),
        "communicator".to_owned(),
        "root".to_owned(),
        "bytes".to_owned(),
        "inst.".to_owned(),
        "A's mean".to_owned(),
        cell(format!("{} vs A (95 % interval)", letter(trace))),
        "total".to_owned(),
    ];
    let rows = rows.iter().filter_map(|(operation, differences)| {
        let from = operation.traces.first()?.as_ref()?;
        let to = operation.traces.get(trace)?.as_ref()?;
        let mean = from.call_time_ns.as_ref().map(|s| s.mean);
        let total = differences.total_ns.difference;
        Some([
            inert::line(&operation.operation, operation_width),
            communicator(operation, communicator_width),
            from.root.map_or_else(|| "-".to_owned(), |r| r.to_string()),
            bytes(from),
            instances(from.instances, to.instances),
            mean.map_or_else(|| "-".to_owned(), quantity::duration),
            cell(verdict(differences)),
            signed(total),
        ])
    });
    let has_numbers = |column| [2, 3, 4, 5, 7].contains(&column);
    // A mean, apart from the difference to it.
    table_lines(heads, rows, has_numbers, Some(5))
}

pub(crate) fn instances(from: u64, to: u64) -> String {
    if from == to {
        from.to_string()
    } else {
        format!("{from}->{to}")
    }
}

/// What [`NOT_SIGNIFICANT`](crate::words::difference::NOT_SIGNIFICANT) means; `None` where no difference is marked so.
pub(crate) fn about_not_significant<'a>(
    run: &RunDifferences,
    mut rows: impl Iterator<Item = &'a OperationDifferences>,
) -> Option<String> {
    let is_marked = rows.any(|row| row.call_time_ns.mean.as_ref().is_some_and(is_only_alone));
    is_marked.then(|| {
        format!(
            "(*) not significant after correction for {} (Holm), though this interval alone is \
             without 0",
            quantity::counted(run.tests, "comparison")
        )
    })
}

/// The verdict on an operation, with the interval.
pub(crate) fn verdict(differences: &OperationDifferences) -> String {
    let mean = differences.call_time_ns.mean.as_ref();
    mean.map_or_else(|| "not known".to_owned(), verdict_on)
}

/// Operations that one of the two traces does not have.
fn only_in(screen: &mut Screen, comparison: &Comparison, trace: usize) {
    for (has, has_not) in [(0, trace), (trace, 0)] {
        let here = comparison.only_in.iter();
        let here = here.filter(|only| (only.trace, only.not_in) == (has, has_not));
        let here = here.map(|only| {
            let communicator = only.communicator.as_deref();
            (&*only.operation, communicator, &only.figures)
        });
        if let Some(sentence) = only_there(&letter(has), here) {
            screen.item(&sentence);
        }
    }
}

/// Operations that only one trace or side has, the first by name: operation, communicator, figures.
fn only_there<'a>(
    name: &str,
    here: impl Iterator<Item = (&'a str, Option<&'a str>, &'a OperationFigures)>,
) -> Option<String> {
    let names = here.map(|(operation, communicator, figures)| {
        let time = figures.call_time_ns.as_ref().map_or(0, |s| s.total);
        format!(
            "{operation} on {} ({}{})",
            inert::line(communicator.unwrap_or("unknown"), 24),
            payload(figures).map_or_else(String::new, |payload| format!("{payload}, ")),
            quantity::duration(time)
        )
    });
    let names: Vec<String> = names.collect();
    let more = match names.len() {
        0 => return None,
        1..3 => String::new(),
        n => format!(" and {} more", n - 2),
    };
    let first = names[..names.len().min(2)].join(", ");
    Some(format!("only in {name}: {first}{more}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::test_differences::differences;
    use collbench_analyzer::compare::Change;

    #[test]
    fn an_interval_without_0_that_is_not_significant_is_marked_and_explained() {
        let run = RunDifferences {
            trace: 1,
            duration_ns: Change {
                difference: 0,
                ratio: None,
            },
            collectives_ns: Change {
                difference: 0,
                ratio: None,
            },
            wait_ns: None,
            point_to_point_ns: None,
            tests: 37,
            stage_tests: 0,
        };
        let note = |row: &OperationDifferences| about_not_significant(&run, std::iter::once(row));
        let open = ComparisonVerdict::NotDistinguishable;
        let marked = differences(open, (-960, -13));
        assert!(verdict(&marked).ends_with(" (*)"), "{}", verdict(&marked));
        assert_eq!(
            note(&marked).unwrap(),
            "(*) not significant after correction for 37 comparisons (Holm), though this interval \
             alone is without 0"
        );
        for other in [
            differences(open, (-5, 5)),
            differences(open, (0, 5)),
            differences(ComparisonVerdict::Slower, (1, 5)),
        ] {
            assert_eq!(note(&other), None);
            assert!(!verdict(&other).contains("(*)"));
        }
    }
}
