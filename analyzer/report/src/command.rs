//! What several commands have in common: the options that select a part of a trace, and how the analysis is done, and its progress.

use std::io::{self, IsTerminal};

use clap::ValueEnum;
use collbench_analyzer::{AlignmentMethod, Progress, Selection};
use indicatif::{ProgressBar, ProgressStyle};

/// Heading of the options that leave parts of the trace out.
const SELECTION: &str = "Selection";
/// Heading of the options on how the analysis is done.
pub const METHOD: &str = "Method";

/// The options that select a part of a trace, but for times.
#[derive(Debug, Clone, clap::Args)]
pub struct SelectionOptions {
    /// Only this operation, such as MPI_Allreduce; several: separated by commas, or repeat the
    /// option
    #[arg(long, value_name = "NAME", value_delimiter = ',', help_heading = SELECTION)]
    operation: Vec<String>,

    /// Only this communicator, by id, name or both (`rows #6`); several: repeat the option
    #[arg(long, value_name = "COMM", help_heading = SELECTION)]
    communicator: Vec<String>,

    /// Only calls of these world ranks, such as 0,4-7
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = rank_range,
        help_heading = SELECTION)]
    ranks: Vec<(u32, u32)>,

    /// Only instances that all their ranks entered in a phase of this level (MPI_Pcontrol)
    #[arg(long, value_name = "LEVEL", allow_negative_numbers = true, help_heading = SELECTION)]
    phase: Option<i32>,
}

/// The options that select a part of the time of a run.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct TimeOptions {
    /// Only instances that begin at this time or later, in seconds since the start of the run
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = SELECTION)]
    pub from: Option<i64>,

    /// Only instances that begin before this time, in seconds since the start of the run
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = SELECTION)]
    pub to: Option<i64>,
}

impl SelectionOptions {
    /// The part that they select, from one time to another, ns.
    #[must_use]
    pub fn selection(&self, [from_ns, to_ns]: [Option<i64>; 2]) -> Selection {
        Selection {
            operations: self.operation.clone(),
            communicators: self.communicator.clone(),
            ranks: self.ranks.clone(),
            phase: self.phase,
            from_ns,
            to_ns,
        }
    }
}

/// How clocks are aligned, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Alignment {
    /// The offset measured at the start, constant over the run
    Offset,
    /// A straight line from the first measured offset to the last
    TwoPoint,
    /// Straight lines between all measured offsets
    Piecewise,
    /// A smooth curve for each host, fitted to all exchanges, messages and collectives
    Smooth,
}

impl From<Alignment> for AlignmentMethod {
    fn from(alignment: Alignment) -> Self {
        match alignment {
            Alignment::Offset => Self::Offset,
            Alignment::TwoPoint => Self::TwoPoint,
            Alignment::Piecewise => Self::Piecewise,
            Alignment::Smooth => Self::Smooth,
        }
    }
}

/// Hidden unless stderr is a terminal.
#[must_use]
pub fn progress_bar() -> ProgressBar {
    if !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {percent} % of {len} records, {eta}")
    {
        bar.set_style(style);
    }
    bar
}

/// Shows progress only of work that takes noticeable time: of this many records.
pub fn show_progress(bar: &ProgressBar, progress: Progress, least: u64) {
    if progress.n_total >= least {
        bar.set_length(progress.n_total);
        bar.set_position(progress.n_done);
    }
}

fn rank_range(text: &str) -> Result<(u32, u32), String> {
    let rank = |text: &str| {
        text.trim()
            .parse::<u32>()
            .map_err(|_| format!("\"{text}\" is not a rank; expected a list such as 0,4-7"))
    };
    match text.split_once('-') {
        Some((first, last)) => Ok((rank(first)?, rank(last)?)),
        None => rank(text).map(|rank| (rank, rank)),
    }
}

/// A time in ns from seconds on the command line.
///
/// # Errors
/// What was expected.
pub fn seconds(text: &str) -> Result<i64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() => Ok((seconds * 1e9).round() as i64),
        _ => Err("expected seconds since the start of the run, such as 1.5".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_single_or_ranges() {
        assert_eq!(rank_range("7"), Ok((7, 7)));
        assert_eq!(rank_range("4-7"), Ok((4, 7)));
        assert!(rank_range("4-").is_err() && rank_range("-1").is_err() && rank_range("x").is_err());
    }
}
