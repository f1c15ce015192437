//! The commands that export what pictures show.

use clap::ValueEnum;
use collbench_analyzer::results::{OperationSummary, ShownInstance};
use collbench_analyzer::{Analysis, Selection};
use collbench_text::shell;
use collbench_viz::Text;

use crate::command::Alignment;

/// What a picture shows.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part<'a> {
    /// All that was analysed.
    Run,
    /// An operation, which has this number among those with pictures.
    Operation(usize, &'a OperationSummary),
    /// An instance, which has this number on the page.
    Instance(usize, &'a ShownInstance),
}

/// What it is exported to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// A timeline: for what happens when.
    Perfetto,
    /// Tables: for figures over many calls.
    Parquet,
}

/// The command that exports a part of what was analysed; empty where there is none that would do so, since the trace
/// has a name that is no text, or too long a one.
pub(crate) fn command(analysis: &Analysis, part: Part<'_>, format: Format) -> Text {
    let directory = &analysis.trace.directory;
    if directory.contains(char::REPLACEMENT_CHARACTER) {
        return Text::default();
    }
    let mut words = vec!["collbench-export".to_owned(), trace(directory)];
    words.extend(options(&selection(analysis, part)));
    let alignment = Alignment::value_variants().iter();
    let mut alignment = alignment.filter(|of| analysis.alignment == (**of).into());
    let alignment = alignment.next().filter(|of| **of != Alignment::Smooth);
    let alignment = alignment.and_then(ValueEnum::to_possible_value);
    words.extend(alignment.map(|value| option("alignment", value.get_name())));
    let (name, end) = match format {
        Format::Perfetto => ("perfetto", ".pftrace"),
        Format::Parquet => ("parquet", ""),
    };
    words.push(option("to", name));
    let output = match part {
        Part::Run => "run".to_owned(),
        Part::Operation(number, of) => format!("{number}-{}", of.operation),
        Part::Instance(number, _) => format!("instance-{number}"),
    };
    words.push(format!("-o {output}{end}"));
    let command = words.join(" ");
    if command.chars().count() > Text::MAX_CHARS {
        return Text::default();
    }
    command.into()
}

/// A directory, which must not be taken for an option.
fn trace(directory: &str) -> String {
    let before = if directory.starts_with('-') { "./" } else { "" };
    shell::word(&format!("{before}{directory}"))
}

/// The selection with which an export has a part, and as little else as possible.
fn selection(analysis: &Analysis, part: Part<'_>) -> Selection {
    let whole = analysis.restriction.clone().unwrap_or_default();
    let of_operation = |operation: &OperationSummary| Selection {
        operations: vec![operation.operation.to_string()],
        communicators: (operation.communicator.iter())
            .map(usize::to_string)
            .collect(),
        ..whole.clone()
    };
    match part {
        Part::Run => whole,
        Part::Operation(_, operation) => of_operation(operation),
        Part::Instance(_, shown) => {
            // What is selected begins then: where ranks leave early, others begin before this one ends.
            let begin_ns = shown.times.first_enter_ns;
            // Seconds have 53 bits where they are read.
            let error_ns = begin_ns.saturating_abs() >> 50;
            Selection {
                from_ns: Some(begin_ns.saturating_sub(error_ns)),
                to_ns: Some(begin_ns.saturating_add(1 + error_ns)),
                ..of_operation(&analysis.operations[shown.operation])
            }
        }
    }
}

/// The options that select a part.
fn options(selection: &Selection) -> Vec<String> {
    let mut options = Vec::new();
    let operations = selection.operations.iter();
    options.extend(operations.map(|name| option("operation", name)));
    let communicators = selection.communicators.iter();
    options.extend(communicators.map(|name| option("communicator", name)));
    let ranks = selection.ranks_as_given();
    if !ranks.is_empty() {
        options.push(option("ranks", &ranks.join(",")));
    }
    options.extend(
        selection
            .phase
            .map(|level| option("phase", &level.to_string())),
    );
    options.extend(selection.from_ns.map(|ns| option("from", &seconds(ns))));
    options.extend(selection.to_ns.map(|ns| option("to", &seconds(ns))));
    options
}

/// An option with its value, which may begin with a dash.
fn option(name: &str, value: &str) -> String {
    let between = if value.starts_with('-') { "=" } else { " " };
    format!("--{name}{between}{}", shell::word(value))
}

/// A time in seconds, to the ns.
fn seconds(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    let digits = format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    format!("{sign}{digits}")
}

#[cfg(test)]
mod tests {
    use collbench_analyzer::AlignmentMethod;
    use proptest::prelude::*;

    use super::*;
    use crate::command;
    use crate::words::nothing::nothing;

    #[test]
    fn what_was_selected_is_exported_of_the_trace_as_it_was_named() {
        let mut analysis = nothing();
        analysis.trace.directory = "my trace".to_owned();
        let of_run = |analysis: &Analysis| {
            command(analysis, Part::Run, Format::Perfetto)
                .as_str()
                .to_owned()
        };
        let whole = "collbench-export 'my trace' --to perfetto -o run.pftrace";
        assert_eq!(of_run(&analysis), whole);
        analysis.restriction = Some(Selection {
            operations: vec!["MPI_Bcast".into(), "MPI_Scan".into()],
            communicators: vec!["-$(touch x)".into(), "4".into()],
            ranks: vec![(7, 7), (0, 3)],
            phase: Some(-2),
            from_ns: Some(-500_000_001),
            to_ns: Some(20_000_000_000),
        });
        analysis.alignment = AlignmentMethod::TwoPoint;
        analysis.trace.directory = "-trace\u{1b}".to_owned();
        let part = "collbench-export $'./-trace\\033' --operation MPI_Bcast --operation MPI_Scan \
             --communicator='-$(touch x)' --communicator 4 --ranks 0-3,7 --phase=-2 --from=-0.500000001 --to 20 \
             --alignment two-point --to perfetto -o run.pftrace";
        assert_eq!(of_run(&analysis), part);
    }

    #[test]
    fn a_trace_whose_name_is_no_text_has_no_command_that_would_fail() {
        let mut analysis = nothing();
        for directory in ["a\u{fffd}b".to_owned(), "x".repeat(4_000)] {
            analysis.trace.directory = directory;
            assert_eq!(command(&analysis, Part::Run, Format::Parquet).as_str(), "");
        }
    }

    proptest! {
        #[test]
        fn times_are_read_as_they_were(ns in -1_i64 << 50..1 << 50) {
            prop_assert_eq!(command::seconds(&seconds(ns)), Ok(ns));
        }
    }
}
