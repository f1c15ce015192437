//! The command `collbench-export`: writes a trace in formats that other programs open.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use collbench_analyzer::AnalyzeError;
use collbench_command::Installation;
use collbench_convert::{ExportError, Exported, Failure, Format, How, export};
use collbench_files::guard_mappings;
use collbench_report::command::{
    Alignment, METHOD, SelectionOptions, progress_bar, seconds, show_progress,
};
use collbench_text::{inert, output, quantity};

/// Exit status: the trace is damaged or incomplete, and was exported as far as possible.
const INCOMPLETE: u8 = 3;
/// Exit status: the command line is invalid.
const USAGE: u8 = 2;
/// Records from which on an export takes noticeable time.
const LONG: u64 = 500_000;

const AFTER_HELP: &str = "\
Examples:
  collbench-export trace --to parquet -o tables
      all tables as Parquet files, for pandas, polars, DuckDB or R
  collbench-export trace --to csv -o - | head
      the calls as comma-separated values on standard output
  collbench-export trace --to csv --table messages -o messages.csv.gz
      one table, compressed
  collbench-export trace --to perfetto -o trace.pftrace
      a timeline for the page of Perfetto, ui.perfetto.dev
  collbench-export trace --to sqlite --from 10 --to 20 -o part.db
      ten seconds of the run as a database
  collbench-export trace --to otf2 -o archive
      an archive for Vampir, Scalasca and otf2-print; needs the OTF2 library
  collbench-export trace --to goal -o schedule.goal
      computing and messages as a schedule for the simulators LogGOPSim and ATLAHS

Exit status: 0 done; 1 failed; 2 usage; 3 the trace is damaged or incomplete (killed, no \
MPI_Finalize, maximum size reached) and was exported as far as it goes.";

/// Writes a trace in formats that other programs open: each call of each rank with its wait and the cause of that, each
/// instance, and the messages inside.
#[derive(Debug, Parser)]
#[command(name = "collbench-export", version, long_version = collbench_version::details(), after_help = AFTER_HELP)]
struct Options {
    /// Directory made by collbench-record
    #[arg(value_name = "TRACE", required_unless_present_any = ["completions", "man"])]
    trace: Option<PathBuf>,

    /// What to write: parquet, csv, sqlite, perfetto, otf2 or goal; and, given again, only instances that begin before this time, in seconds since
    /// the start of the run
    #[arg(long, value_name = "FORMAT", value_parser = to,
        required_unless_present_any = ["completions", "man"])]
    to: Vec<To>,

    /// File or directory to write; `-` for standard output
    #[arg(short, long, value_name = "OUT",
        required_unless_present_any = ["completions", "man"])]
    output: Option<PathBuf>,

    /// Write only this table [default: all tables; the calls, if OUT is a single file or standard output]
    #[arg(long, value_name = "TABLE")]
    table: Option<String>,

    /// With --to otf2: also the messages inside collectives, as RMA
    #[arg(long)]
    messages: bool,

    /// Replace OUT if it is an earlier export
    #[arg(long)]
    force: bool,

    /// Size of a Perfetto trace, at most: beyond, instances are left out evenly, but not the
    /// outliers. The page of Perfetto opens some 500 MB
    #[arg(long, value_name = "SIZE", default_value = "400M", value_parser = size)]
    max_size: u64,

    #[command(flatten)]
    selection: SelectionOptions,

    /// Only instances that begin at this time or later, in seconds since the start of the run
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = "Selection")]
    from: Option<i64>,

    /// How the clocks of several hosts are aligned
    #[arg(long, value_enum, value_name = "METHOD", default_value_t = Alignment::Smooth,
        help_heading = METHOD)]
    alignment: Alignment,

    /// Number of worker threads; the output does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..),
        help_heading = METHOD)]
    threads: Option<u16>,

    #[command(flatten, next_help_heading = "Installation")]
    installation: Installation,
}

/// What `--to` stands for: a format, or a time in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Format(Format),
    Time(i64),
}

fn to(text: &str) -> Result<To, String> {
    let format = Format::ALL.into_iter().find(|format| format.name() == text);
    match (format, seconds(text)) {
        (Some(format), _) => Ok(To::Format(format)),
        (None, Ok(ns)) => Ok(To::Time(ns)),
        (None, Err(_)) => {
            let names = Format::ALL.map(Format::name).join(", ");
            Err(format!(
                "expected a format ({names}), or seconds since the start of the run"
            ))
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    quantity::parse_size(text, (1_000_000, "1M"))
}

impl Options {
    /// The format, and the time before which instances begin, ns.
    fn to(&self) -> anyhow::Result<(Format, Option<i64>)> {
        let (mut format, mut time) = (None, None);
        for to in &self.to {
            let is_again = match to {
                To::Format(of) => format.replace(*of).is_some(),
                To::Time(ns) => time.replace(*ns).is_some(),
            };
            if is_again {
                return Err(Usage("--to takes one format, and one time at most").into());
            }
        }
        let expected = "--to FORMAT is missing: --to with seconds only says which part is written";
        Ok((format.ok_or(Usage(expected))?, time))
    }
}

/// An invalid command line.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Usage(&'static str);

fn main() -> ExitCode {
    guard_mappings();
    match run(&Options::parse()) {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            // Who reads standard output has seen enough.
            if let Some(Failure::Export(ExportError::Closed)) = error.downcast_ref() {
                return ExitCode::SUCCESS;
            }
            anstream::eprintln!("collbench-export: {error:#}");
            match error.downcast_ref() {
                _ if error.is::<Usage>() => ExitCode::from(USAGE),
                Some(Failure::Usage(_) | Failure::Analyze(AnalyzeError::Selection(_))) => {
                    ExitCode::from(USAGE)
                }
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn run(options: &Options) -> anyhow::Result<u8> {
    if let Some(text) = options.installation.asked_for::<Options>()? {
        output::print(&text)?;
        return Ok(0);
    }
    let (Some(trace), Some(output)) = (&options.trace, &options.output) else {
        return Ok(0);
    };
    let (format, to_ns) = options.to()?;
    if let Some(threads) = options.threads {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads.into())
            .build_global()
            .context("cannot start the worker threads")?;
    }
    let how = How {
        format,
        output: output.clone(),
        table: options.table.clone(),
        messages: options.messages,
        force: options.force,
        max_bytes: options.max_size,
        options: collbench_analyzer::Options {
            selection: options.selection.selection([options.from, to_ns]),
            alignment: options.alignment.into(),
            ..Default::default()
        },
    };
    let bar = progress_bar();
    let exported = export(trace, &how, &mut |progress| {
        show_progress(&bar, progress, LONG)
    });
    bar.finish_and_clear();
    let Exported { analysis, remark } = exported?;
    if !how.is_stdout() {
        let n_calls = analysis.ranks.iter().map(|rank| rank.calls).sum::<u64>();
        let table = how.table.iter().map(|table| format!("table {table} of "));
        anstream::eprintln!(
            "collbench-export: {}{} written to {} as {}",
            table.collect::<String>(),
            quantity::counted(n_calls, "call"),
            inert::path(output),
            format.name()
        );
    }
    if let Some(remark) = remark {
        anstream::eprintln!("collbench-export: {remark}");
    }
    Ok(if analysis.trace.complete {
        0
    } else {
        INCOMPLETE
    })
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
