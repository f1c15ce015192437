//! The command `collbench-analyze`: shows where the collectives of a recorded run wait.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser, ValueEnum};
use collbench_analyzer::compare::Comparison;
use collbench_analyzer::{Analysis, AnalyzeError, Details, Follower, Look, RunFiles, Selection};
use collbench_command::Installation;
use collbench_files::guard_mappings;
use collbench_report::command::{
    Alignment, METHOD, SelectionOptions, TimeOptions, progress_bar, show_progress,
};
use collbench_report::{
    ComparisonDocument, DEFAULT_COLUMNS, Document, LineFinder, add_faster, by_site_to_text_within,
    comparison_to_text_within, find_lines, find_texts, keep_symbols, report_name,
    running_to_text_within, to_json, to_text_within, write_comparison, write_report,
    write_report_of_trace,
};

/// Exit status: the trace is damaged or incomplete, and was analyzed as far as possible.
const INCOMPLETE: u8 = 3;
/// Records from which on reading them takes noticeable time.
const LONG: u64 = 5_000_000;
/// Exit status: the command line is invalid.
const USAGE: u8 = 2;

/// Heading of the options on a running program.
const RUNNING: &str = "Running program";
/// Heading of the options for the installation of the command.
const INSTALLATION: &str = "Installation";

const AFTER_HELP: &str = "\
Examples:
  collbench-analyze trace
      print one screen, and write pictures and a page to trace/report
  collbench-analyze --operation MPI_Allreduce --from 10 --to 20 trace
      only some of the calls, with a report of their own beside that of the whole, in
      trace/report-MPI_Allreduce-from-10s-to-20s
  collbench-analyze --format json --no-pictures trace > analysis.json
      all figures for a script
  collbench-analyze before after
      compare two traces
  collbench-analyze before-1 before-2 before-3 --with after-1 after-2 after-3
      compare three runs before a change with three after it
  collbench-analyze --follow trace
      watch a running program

Exit status: 0 done; 1 failed; 2 usage; 3 the trace is damaged or incomplete (killed, no \
MPI_Finalize, maximum size reached) and was analyzed as far as it goes.";

/// Shows where the collective operations of a recorded MPI run wait, and for which ranks.
///
/// With several traces, compares each of the others with the first, operation by operation; with --with, the runs
/// before it with those behind it.
#[derive(Debug, Parser)]
#[command(name = "collbench-analyze", version, long_version = collbench_version::details(), after_help = AFTER_HELP)]
struct Options {
    /// Directory made by collbench-record; of several, the first is the baseline with which the
    /// others are compared
    #[arg(value_name = "TRACE", required_unless_present_any = ["completions", "man"])]
    traces: Vec<PathBuf>,

    /// Runs to compare those before with: all of them are runs of one side, and what runs of the same side
    /// differ by among themselves is no change
    #[arg(long, value_name = "TRACE", num_args = 1.., action = clap::ArgAction::Set,
        conflicts_with = "follow")]
    with: Vec<PathBuf>,

    /// Directory for pictures and analysis.json [default: TRACE/report, of a selected part
    /// TRACE/report-PART]; with several traces, for pictures and comparison.json [default: ./comparison]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,

    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    /// Write no files, only stdout
    #[arg(long)]
    no_pictures: bool,

    /// Number of operations that get pictures, by total time
    #[arg(long, value_name = "N", default_value_t = 5)]
    top: usize,

    /// Write the details of everything to the JSON, however large [default: details of what
    /// matters, sums of the rest]
    #[arg(long)]
    full: bool,

    /// Show the places in the program from which collectives are called, by time
    #[arg(long, conflicts_with = "follow")]
    by_site: bool,

    /// Directory with source files: show the lines from which collectives are called
    #[arg(long, value_name = "DIR", conflicts_with = "follow")]
    sources: Option<PathBuf>,

    /// Keep the functions and lines that are found in the trace (symbols.json), for machines that do not
    /// have the program
    #[arg(long, conflicts_with = "follow")]
    keep_symbols: bool,

    #[command(flatten)]
    selection: SelectionOptions,

    #[command(flatten)]
    times: TimeOptions,

    /// Show the newest calls of a running program, updated until it has ended or until
    /// interrupted; may be started before the program
    #[arg(long, help_heading = RUNNING, conflicts_with_all = ["output", "format", "no_pictures",
        "top", "full", "SelectionOptions", "TimeOptions", "alignment"])]
    follow: bool,

    /// Time between two updates of --follow
    #[arg(long, value_name = "SECONDS", default_value = "2", value_parser = interval,
        requires = "follow", help_heading = RUNNING)]
    interval: Duration,

    /// How the clocks of several hosts are aligned
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = Alignment::Smooth,
        help_heading = METHOD)]
    alignment: Alignment,

    /// Number of worker threads; the output does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..),
        help_heading = METHOD)]
    threads: Option<u16>,

    #[command(flatten, next_help_heading = INSTALLATION)]
    installation: Installation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One screen of text
    Text,
    /// One JSON document for scripts
    Json,
}

/// An invalid command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(&'static str);

fn main() -> ExitCode {
    guard_mappings();
    match run(&parse()) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            anstream::eprintln!("collbench-analyze: {error:#}");
            let is_usage = error.is::<Usage>()
                || matches!(error.downcast_ref(), Some(AnalyzeError::Selection(_)));
            if is_usage {
                ExitCode::from(USAGE)
            } else {
                ExitCode::FAILURE
            }
        }
    }
}

/// The command line; exits if it is wrong.
fn parse() -> Options {
    Options::try_parse().unwrap_or_else(|mut error| {
        suggest_by_beginning(&mut error);
        error.exit()
    })
}

/// Suggests the option that an unknown one is the beginning of, such as `--format` for `--form`, not the
/// one that is spelled with about the same letters.
fn suggest_by_beginning(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return;
    };
    let mut command = Options::command();
    let options = command.get_opts().filter_map(|option| option.get_long());
    let meant: Vec<String> = options
        .map(|name| format!("--{name}"))
        .filter(|name| given.len() > "--".len() && name.starts_with(&**given))
        .collect();
    if let [meant] = &meant[..] {
        let usage = command.render_usage();
        let meant = ContextValue::String(meant.clone());
        error.insert(ContextKind::SuggestedArg, meant);
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
}

fn run(options: &Options) -> anyhow::Result<u8> {
    if let Some(text) = options.installation.asked_for::<Options>()? {
        return print(&text).map(|()| 0);
    }
    if let Some(threads) = options.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.into())
            .build_global()
            .context("cannot start the worker threads")?;
    }
    match &options.traces[..] {
        [trace] if options.follow => follow(options, trace),
        _ if options.follow => Err(Usage("--follow takes one trace").into()),
        [trace] if options.with.is_empty() => analyze_one(options, trace),
        traces => compare(options, traces),
    }
}

fn analyze_one(options: &Options, trace: &Path) -> anyhow::Result<u8> {
    let analysis = analyze(options, trace)?;
    let output = options.output.clone();
    let default = || trace.join(report_name(&selection(options)));
    let report = (!options.no_pictures).then(|| output.unwrap_or_else(default));
    // Written before anything is printed, since the text names the directory; the text is printed
    // even if writing failed.
    let written = match (&report, &options.output) {
        (Some(_), None) => write_report_of_trace(&analysis, trace, options.top),
        (Some(directory), Some(_)) => write_report(&analysis, directory, options.top),
        (None, _) => Ok(()),
    };
    match options.format {
        Format::Json => print_document(&to_json(&Document::of(&analysis)))?,
        Format::Text => {
            let shown = report.as_deref().filter(|_| written.is_ok());
            print(to_text_within(&analysis, shown, columns()).as_bytes())?;
            if options.by_site {
                print(by_site_to_text_within(&analysis, columns()).as_bytes())?;
            }
        }
    }
    written?;
    Ok(status(analysis.trace.complete))
}

/// Shows the run until it ends, then the analysis of the whole trace.
fn follow(options: &Options, trace: &Path) -> anyhow::Result<u8> {
    let is_terminal = io::stdout().is_terminal();
    let mut follower = Follower::new(trace);
    let mut has_said = false;
    let mut lines = None;
    loop {
        match follower.look()? {
            Look::NotYet if has_said => {}
            Look::NotYet => {
                let name = trace.display();
                anstream::eprintln!("collbench-analyze: {name}: waiting for a trace");
                has_said = true;
            }
            Look::Running(mut running) => {
                let lines = lines.get_or_insert_with(|| LineFinder::of_trace(trace));
                lines.find(&mut running.analysis);
                let screen = running_to_text_within(&running, columns());
                // Replaces the screen before, or continues below it.
                let (before, after) = if is_terminal {
                    ("\x1b[H\x1b[2J", "")
                } else {
                    ("", "\n")
                };
                if !write_stdout(format!("{before}{screen}{after}").as_bytes())? {
                    return Ok(0);
                }
            }
            Look::Ended => break,
        }
        std::thread::sleep(options.interval);
    }
    let analysis = analyze(options, trace)?;
    print(to_text_within(&analysis, None, columns()).as_bytes())?;
    Ok(status(analysis.trace.complete))
}

fn compare(options: &Options, traces: &[PathBuf]) -> anyhow::Result<u8> {
    let mut analyses = Vec::new();
    for trace in traces.iter().chain(&options.with) {
        // Error messages begin with the trace, except those on the command line.
        let of_trace = |error: anyhow::Error| match error.downcast_ref() {
            Some(AnalyzeError::Selection(_)) => error.context(trace.display().to_string()),
            _ => error,
        };
        analyses.push(analyze(options, trace).map_err(of_trace)?);
    }
    // One run of each side has no spread: they are compared by what varies within them.
    let comparison = if options.with.is_empty() || analyses.len() == 2 {
        Comparison::new(&analyses)
    } else {
        Comparison::of_sides(&analyses, traces.len())
    };
    let output = options.output.clone();
    let default = || match selection(options).file_name() {
        Some(part) => format!("comparison-{part}").into(),
        None => "comparison".into(),
    };
    let report = (!options.no_pictures).then(|| output.unwrap_or_else(default));
    let written = match &report {
        Some(directory) => write_comparison(&comparison, &analyses, directory, options.top),
        None => Ok(()),
    };
    match options.format {
        Format::Json => {
            print_document(&to_json(&ComparisonDocument::of(&comparison, &analyses)))?;
        }
        Format::Text => {
            let shown = report.as_deref().filter(|_| written.is_ok());
            print(comparison_to_text_within(&comparison, shown, columns()).as_bytes())?;
        }
    }
    written?;
    Ok(status(comparison.is_complete()))
}

/// Columns of the terminal that stdout is, else those that `COLUMNS` says, else
/// [`DEFAULT_COLUMNS`].
fn columns() -> usize {
    let terminal = terminal_size::terminal_size_of(io::stdout());
    let terminal = terminal.map(|(width, _)| usize::from(width.0));
    let variable = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = terminal.or_else(variable).filter(|&columns| columns > 0);
    columns.unwrap_or(DEFAULT_COLUMNS)
}

fn status(is_complete: bool) -> u8 {
    if is_complete { 0 } else { INCOMPLETE }
}

fn analyze(options: &Options, trace: &Path) -> anyhow::Result<Analysis> {
    let bar = progress_bar();
    let how = collbench_analyzer::Options {
        selection: selection(options),
        alignment: options.alignment.into(),
        details: details(options),
        ..Default::default()
    };
    let analysis = RunFiles::open(trace)
        .map_err(AnalyzeError::from)
        .and_then(|files| {
            let mut progress = |progress| show_progress(&bar, progress, LONG);
            collbench_analyzer::analyze_then(&files, &how, &mut progress, &mut add_faster)
        });
    bar.finish_and_clear();
    let mut analysis = analysis?;
    find_lines(&mut analysis, trace);
    if options.keep_symbols {
        keep_symbols(&analysis, trace)?;
    }
    if let Some(sources) = &options.sources
        && !find_texts(&mut analysis, sources)
    {
        let (trace, sources) = (trace.display(), sources.display());
        anstream::eprintln!(
            "collbench-analyze: {trace}: no source file of its lines is below {sources}: their text is not shown"
        );
    }
    Ok(analysis)
}

fn details(options: &Options) -> Details {
    if options.full {
        Details::All
    } else {
        Details::OfWhatMatters {
            n_drawn: options.top,
        }
    }
}

fn selection(options: &Options) -> Selection {
    let TimeOptions { from, to } = options.times;
    options.selection.selection([from, to])
}

/// Prints to stdout; a closed pipe is not an error.
fn print(bytes: &[u8]) -> anyhow::Result<()> {
    write_stdout(bytes).map(|_| ())
}

/// Prints a document to stdout without filtering colours; a closed pipe is not an error.
fn print_document(document: &str) -> anyhow::Result<()> {
    write_all(&mut io::stdout().lock(), document.as_bytes()).map(|_| ())
}

/// Writes to stdout; `false` if the reader has closed it.
fn write_stdout(bytes: &[u8]) -> anyhow::Result<bool> {
    write_all(&mut anstream::stdout().lock(), bytes)
}

fn write_all(stdout: &mut impl Write, bytes: &[u8]) -> anyhow::Result<bool> {
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        result => result.map(|()| true).context("stdout"),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let seconds = text
        .parse::<f64>()
        .ok()
        .filter(|&s| (0.1..=86_400.0).contains(&s));
    let expected = || "expected seconds, 0.1 or more, such as 2".to_owned();
    seconds.map(Duration::from_secs_f64).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }

    #[test]
    fn the_beginning_of_an_option_suggests_that_option() {
        let suggested = |option: &str| {
            let mut error = Options::try_parse_from(["collbench-analyze", option]).unwrap_err();
            suggest_by_beginning(&mut error);
            error.get(ContextKind::SuggestedArg).cloned()
        };
        let name = |name: &str| Some(ContextValue::String(name.to_owned()));
        assert_eq!(suggested("--form"), name("--format"));
        assert_eq!(suggested("--fulll"), name("--full"));
        assert_eq!(suggested("--nothing"), None);
    }
}
