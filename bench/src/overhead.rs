//! The cost of recording on this machine.
//!
//! This program runs twice at the same time: without recording, and below collbench-record. Both
//! take turns, so other load on the machine affects both. Each times batches of a collective
//! operation on `MPI_COMM_SELF` (the shortest possible call, so that the recorder's part is
//! visible), then many calls at one go with everything that belongs to them, then single calls for
//! the pauses. The first one also times batches of calls through the least that can record them. The yardstick is two readings of the recorder's clock: no recorder with two
//! timestamps per call can be cheaper.
//!
//! The figures are differences of two processes. The trace shows whether the second one was
//! recorded, and every call of it.

mod call;
mod figures;
mod pair;
mod ranks;
mod table;
mod threads;
mod trace;
mod worker;

use std::io::{self, Write};

use anyhow::{Context, bail};
use clap::builder::TypedValueParser;
use clap::{Args, ValueEnum};
use collbench_formats::{ClockSource, Record};
use collbench_instrument::Clock;
use serde::Serialize;

use crate::machine::{Machine, file_system};
use crate::thorough::Thorough;
use call::MeasuredOperation;
use figures::{Figures, Measured, records_per_call};
use pair::Pair;
use trace::Recorded;
use worker::{Batch, Part, Request};

pub(crate) use figures::{Invalid, first_line, hundredths, settings};
pub(crate) use table::{empty_table, write_invalid, write_machine};
pub(crate) use worker::{Switches, ns_per_tick};

/// Batches that one worker times before the other one's turn.
const BATCHES_PER_TURN: u64 = 10;
/// On a busy machine, up to this many times the batches are timed until enough are undisturbed.
const MAX_RETRIED_TURNS: u64 = 5;
/// Calls that one worker makes before the other one's turn: enough that some chunks are made ready,
/// and few enough that most turns are not preempted.
const CALLS_PER_TURN: u64 = 100_000;

/// Measures what recording a call costs, compared with two clock readings
///
/// Two processes measure alternately: one plain, one under collbench-record. Each times batches of
/// calls on MPI_COMM_SELF and of clock readings, then many calls as a whole (including the
/// preparation of space in the trace), then single calls. The trace is written to a temporary
/// directory (in TMPDIR) that is removed.
///
/// Method: repetition in batches, two clock readings as the empty measurement (Reussner et al.),
/// medians and quartiles instead of trimmed means; the difference between two processes that
/// alternate.
#[derive(Debug, Args)]
pub struct Options {
    /// Number of undisturbed batches to time; a verdict needs 100 or more
    /// [with --thorough 2000]
    #[arg(
        long,
        value_name = "N",
        default_value = "200",
        default_value_if("thorough", "true", "2000"),
        value_parser = clap::value_parser!(u64).range(1..=1_000_000)
    )]
    batches: u64,
    #[command(flatten)]
    thorough: Thorough,
    /// Number of calls in a batch
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    batch: u64,
    /// Number of calls timed as a whole, and again one by one
    #[arg(long, value_name = "N", default_value_t = 10_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000_000))]
    calls: u64,
    /// Record from where calls are made, too (layer sites)
    #[arg(long, conflicts_with_all = ["threads", "ranks"])]
    sites: bool,
    /// Number of places in the program that call in turns
    #[arg(long, value_name = "N", default_value = "1", conflicts_with_all = ["threads", "ranks"],
        value_parser = clap::builder::PossibleValuesParser::new(["1", "2", "4", "8"])
            .map(|n| n.parse::<u64>().unwrap_or(1)))]
    call_sites: u64,
    /// Operation to measure
    #[arg(long, value_enum, default_value_t = MeasuredOperation::Barrier)]
    operation: MeasuredOperation,
    /// Number of threads that call at the same time, each on its own communicator; with 2, only
    /// batches of MPI_Barrier are timed, alternately by one thread and by both
    #[arg(
        long, value_name = "N", default_value_t = 1, conflicts_with_all = ["operation", "calls"],
        value_parser = clap::value_parser!(u64).range(1..=2),
    )]
    threads: u64,
    /// Number of ranks; with 2, batches of MPI_Allreduce of 8 bytes are timed on two cores, in jobs
    /// started with --launcher: alternately without recording and with more and more layers
    #[arg(
        long, value_name = "N", default_value_t = 1,
        conflicts_with_all = ["operation", "calls", "threads"],
        value_parser = clap::value_parser!(u64).range(1..=2),
    )]
    ranks: u64,
    /// Launcher line for --ranks 2, which must bind each rank to its own core
    #[arg(long, value_name = "LINE", default_value = ranks::LAUNCHER)]
    launcher: String,
    /// Clock for time stamps [default: the one that collbench-record chooses]
    #[arg(long, value_enum, value_name = "CLOCK")]
    clock: Option<ClockName>,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Be one of the two programs that measure, on request
    #[arg(long, hide = true)]
    worker: bool,
    /// Where whoever asks the ranks of a job is to be met
    #[arg(long, hide = true, value_name = "SOCKET")]
    meeting: Option<std::path::PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Tables
    Text,
    /// One JSON document, with the raw data
    Json,
}

impl Format {
    /// Writes a result; `text` writes its tables.
    ///
    /// # Errors
    /// Those of the output.
    pub(crate) fn write<T: Serialize, W: Write>(
        self,
        result: &T,
        text: impl FnOnce(&T, &mut W) -> io::Result<()>,
        output: &mut W,
    ) -> anyhow::Result<()> {
        match self {
            Self::Text => Ok(text(result, output)?),
            Self::Json => write_json(result, output),
        }
    }
}

/// Writes a document as JSON.
///
/// # Errors
/// Those of the output.
pub(crate) fn write_json(
    document: &(impl Serialize + ?Sized),
    output: &mut impl Write,
) -> anyhow::Result<()> {
    serde_json::to_writer_pretty(&mut *output, document)?;
    Ok(writeln!(output)?)
}

/// A clock by its name on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClockName {
    /// The time stamp counter
    Tsc,
    /// CLOCK_MONOTONIC_RAW
    Raw,
    /// CLOCK_MONOTONIC
    Monotonic,
}

impl ClockName {
    pub(crate) fn source(self) -> ClockSource {
        match self {
            Self::Tsc => ClockSource::Tsc,
            Self::Raw => ClockSource::MonotonicRaw,
            Self::Monotonic => ClockSource::Monotonic,
        }
    }

    /// The clock to measure with: the one that was asked for, or the one that collbench-record
    /// chooses.
    pub(crate) fn source_or_chosen(asked: Option<Self>) -> ClockSource {
        asked.map_or_else(|| Clock::of_this_machine().source(), Self::source)
    }
}

/// A directory for traces, which is removed with this value.
fn temporary_directory() -> anyhow::Result<tempfile::TempDir> {
    tempfile::Builder::new()
        .prefix("collbench-overhead-")
        .tempdir()
        .context(
            "cannot create a temporary directory; set TMPDIR to a directory that exists and is \
             writable",
        )
}

/// Measures and writes the result.
///
/// # Errors
/// States which of the two programs failed and why, or what is wrong with the trace.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    if options.worker {
        let clock = worker::clock_of(options.clock.map(ClockName::source))?;
        return match (&options.meeting, options.threads) {
            (Some(meeting), _) => ranks::serve(meeting, clock),
            (None, 1) => worker::serve(options.operation, options.call_sites, clock),
            (None, _) => threads::serve(clock),
        };
    }
    check_surroundings()?;
    if options.threads > 1 {
        return threads::run(options, output);
    }
    if options.ranks > 1 {
        return ranks::run(options, output);
    }
    let figures = Figures::of(measure(options)?)?;
    options.format.write(&figures, table::write, output)
}

fn check_surroundings() -> anyhow::Result<()> {
    let number = |name| std::env::var(name).ok()?.parse::<u32>().ok();
    if ["OMPI_COMM_WORLD_SIZE", "PMI_SIZE"]
        .into_iter()
        .find_map(number)
        .is_some_and(|n_ranks| n_ranks > 1)
    {
        bail!(
            "overhead measures one process; start it without a launcher or with one rank \
             (--ranks 2 runs a launcher itself)"
        );
    }
    if std::env::var_os("COLLBENCH_OUTPUT").is_some() {
        bail!("overhead runs collbench-record itself; do not record it");
    }
    Ok(())
}

/// The measurement: starts both workers, lets them take turns at three tasks, ends both, reads the
/// trace.
fn measure(options: &Options) -> anyhow::Result<Measured> {
    let machine = Machine::here();
    let directory = temporary_directory()?;
    let trace = directory.path().join("trace");
    let (file_system, free_bytes) = file_system(directory.path())?;
    check_room(options, directory.path(), free_bytes)?;

    let (mut pair, hello) = Pair::start(options, directory.path(), &trace)?;
    let (mut batches, mut floor) = (Vec::new(), Vec::new());
    for turn in 0..most_turns(options) {
        let request = Request::Batches {
            n: BATCHES_PER_TURN.min(options.batches),
            size: options.batch,
        };
        let [plain, recorded] = pair.ask_in_turn::<Vec<Batch>>(turn, &request)?;
        batches.extend(plain.into_iter().zip(recorded));
        floor.extend(pair.plain.ask::<Vec<Batch>>(&Request::Floor {
            n: BATCHES_PER_TURN.min(options.batches),
            size: options.batch,
        })?);
        if batches.iter().filter(|pair| is_undisturbed(pair)).count() as u64 >= options.batches {
            break;
        }
    }
    let many = take_turns(options.calls, CALLS_PER_TURN, |turn, n| {
        let parts = pair.ask_in_turn::<Part>(turn, &Request::Many { n })?;
        let n_records = n * records_per_call(options.operation.in_traces()) as u64;
        let bytes = n_records * size_of::<Record>() as u64;
        Ok((parts, pair.plain.ask::<u64>(&Request::Write { bytes })?))
    })?;
    let (many, written_ticks): (Vec<[Part; 2]>, Vec<u64>) = many.into_iter().unzip();
    let each = take_turns(options.calls, CALLS_PER_TURN, |turn, n| {
        pair.ask_in_turn::<Part>(turn, &Request::Each { n })
    })?;
    let goodbye = pair.finish()?;

    let operation = options.operation.in_traces();
    Ok(Measured {
        machine,
        file_system,
        operation,
        batch: options.batch,
        hello,
        batches,
        floor,
        has_sites: options.sites,
        many,
        written_ticks,
        each,
        recorded: Recorded::read(&trace, operation, goodbye[1].calls)?,
        goodbye,
    })
}

/// Largest number of turns with batches: on a busy machine many are preempted and repeated.
fn most_turns(options: &Options) -> u64 {
    options.batches.div_ceil(BATCHES_PER_TURN) * MAX_RETRIED_TURNS
}

/// Whether neither process was preempted during a pair of batches.
fn is_undisturbed((plain, recorded): &(Batch, Batch)) -> bool {
    plain.preempted + recorded.preempted == 0
}

fn check_room(
    options: &Options,
    directory: &std::path::Path,
    free_bytes: u64,
) -> anyhow::Result<()> {
    let in_batches = most_turns(options) * (BATCHES_PER_TURN + 1) * options.batch;
    let calls = in_batches + 2 * options.calls;
    let written = options.calls * size_of::<Record>() as u64;
    let records = if options.call_sites > 1 { 2 } else { 1 };
    let needed = records * Recorded::bytes_needed(calls) + written;
    if needed > free_bytes {
        bail!(
            "{}: the measurement needs {} MB, but only {} MB are free; set TMPDIR to a directory \
             with more space, or measure fewer --calls",
            directory.display(),
            needed / 1_000_000,
            free_bytes / 1_000_000
        );
    }
    Ok(())
}

/// Splits `total` into turns of at most `most` and collects their results.
fn take_turns<T>(
    total: u64,
    most: u64,
    mut turn: impl FnMut(u64, u64) -> anyhow::Result<T>,
) -> anyhow::Result<Vec<T>> {
    (0..total.div_ceil(most))
        .map(|i| turn(i, most.min(total - i * most)))
        .collect()
}

impl Pair {
    /// Asks both workers one after the other. The first one alternates, so that a machine that
    /// gradually becomes slower or faster favours neither. Returns the answer of the plain one
    /// first.
    fn ask_in_turn<Answer: serde::de::DeserializeOwned>(
        &mut self,
        turn: u64,
        request: &Request,
    ) -> anyhow::Result<[Answer; 2]> {
        if turn.is_multiple_of(2) {
            let plain = self.plain.ask(request)?;
            Ok([plain, self.recorded.ask(request)?])
        } else {
            let recorded = self.recorded.ask(request)?;
            Ok([self.plain.ask(request)?, recorded])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_add_up_and_none_is_longer_than_allowed() {
        let turns = take_turns(25, 10, |i, n| Ok((i, n))).unwrap();
        assert_eq!(turns, [(0, 10), (1, 10), (2, 5)]);
        assert!(take_turns(10, 10, |_, n| Ok(n)).unwrap() == [10]);
    }
}
