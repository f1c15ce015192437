//! Overlap of nonblocking collectives with computation: how much is hidden, at what cost, and what
//! hinders it.
//!
//! Sizes of messages and of matrices are calibrated so that communication and computation take
//! wanted times ([`search`](search::search)); both at once are then measured for each pair of times
//! ([`driver`]). From the ratios of a cell follows what hinders the overlap ([`diagnosis`]).
//!
//! # Source
//! Denis et al. 2022.

mod call;
mod common_clock;
mod configuration;
mod diagnosis;
mod document;
mod driver;
mod instant;
mod journal;
mod metrics;
mod operation;
mod page;
mod pictures;
mod processes;
mod search;
#[cfg(test)]
mod simulated;
mod stub;
mod subject;
mod summary;
mod table;
mod without_mpi;
mod workload;

use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::{Args, ValueEnum};
use collbench_text::quantity::{counted, round_duration};
use collbench_viz::Palette;
use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

use crate::folder;
use crate::job::{self, Group, Process};
use crate::machine::{Machine, mpi_library, online_cores};
use crate::overhead::{Format, settings, write_json};
use crate::thorough::Thorough;
use call::Communicators;
use configuration::Share;
use document::{Document, Surroundings};
use driver::Progress;
use journal::{Journal, Plan};
use operation::Operation;
use processes::{Job, Member};
use stub::{Progression, Stub};
use without_mpi::WithoutMpi;
use workload::Workload;

/// Name of the document in the output directory.
const DOCUMENT: &str = "overlap.json";
/// A line about the progress is written this often at most.
const TELL_EVERY: Duration = Duration::from_secs(2);

/// Measures how well nonblocking collectives overlap with computation
///
/// Start it with a launcher. Each process begins an operation, computes (a matrix multiplication on
/// each of its cores) and waits for the operation, for a grid of times of communication and
/// computation, whose sizes are calibrated first. Printed are, for each cell, the overhead ratio (0
/// perfect overlap, 1 one after the other, above 1 slower than that), the communication ratio and
/// the slowdown of the computation, and what they mean. The times of the computation without MPI
/// come from processes that never initialize it.
///
/// Method: Denis, Jaeger, Jeannot and Reynier 2022.
#[derive(Debug, Args)]
pub struct Options {
    /// Operations to measure, as ibcast,ireduce; "all" for every nonblocking collective with a
    /// message
    #[arg(
        long, value_name = "OPERATIONS", value_delimiter = ',', value_parser = operations,
        default_value = "ibcast,ireduce,iallgather,ialltoall",
    )]
    operation: Vec<Operations>,
    /// Times of the communication [with --thorough 500us..1s]
    #[arg(
        long,
        value_name = "FROM..TO",
        default_value = "500us..32ms",
        default_value_if("thorough", "true", "500us..1s"),
        value_parser = times
    )]
    communication: Times,
    /// Times of the computation [with --thorough 500us..1s]
    #[arg(
        long,
        value_name = "FROM..TO",
        default_value = "500us..32ms",
        default_value_if("thorough", "true", "500us..1s"),
        value_parser = times
    )]
    computation: Times,
    /// Factor from one time to the next [with --thorough 2]
    #[arg(
        long,
        value_name = "F",
        default_value = "4",
        default_value_if("thorough", "true", "2"),
        value_parser = factor
    )]
    factor: f64,
    /// Number of runs whose median counts [with --thorough 5]
    #[arg(
        long,
        value_name = "N",
        default_value = "3",
        default_value_if("thorough", "true", "5"),
        value_parser = clap::value_parser!(u16).range(1..=10_000)
    )]
    runs: u16,
    #[command(flatten)]
    thorough: Thorough,
    /// Number of threads of a process that compute [default: one on each of its cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1_024))]
    threads: Option<u16>,
    /// Megabytes that the buffers of a process may take, and its matrices [default: an eighth of
    /// the memory of its host, by the number of processes there]
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    memory: Option<u64>,
    /// Name of the configuration of the MPI library in results [default: basic, progress thread or
    /// dedicated core, by its settings]
    #[arg(long, value_name = "LABEL")]
    configuration: Option<String>,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Directory for the results, which are added as they come: with the same options an
    /// interrupted measurement continues [default: no files]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Colors of the pictures
    #[arg(long, value_enum, default_value_t = Colors::Published)]
    colors: Colors,
    /// Show these result files side by side instead of measuring; needs no launcher
    #[arg(
        long, value_name = "FILE", num_args = 1..,
        conflicts_with_all = [
            "operation", "communication", "computation", "factor", "runs", "thorough", "threads",
            "memory", "configuration", "simulate",
        ],
    )]
    compare: Vec<PathBuf>,
    /// Measure a simulated library that makes progress in this way, without a launcher: background,
    /// in-wait, first-step=SHARE, slowing=FACTOR or contending=COMPUTATION,COMMUNICATION (factors)
    #[arg(
        long, value_name = "PROGRESS", value_parser = Progression::of_text,
        conflicts_with_all = ["threads", "memory"],
    )]
    simulate: Option<Progression>,
    /// Compute on request of this process, without MPI
    #[arg(long, hide = true, value_name = "PROCESS")]
    worker: Option<i32>,
}

/// Colors of the pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Colors {
    /// Green, yellow and red for overheads, blue to red for other ratios, as in the paper
    Published,
    /// Colors that differ in lightness, for all readers
    Lightness,
}

impl Colors {
    fn palette(self) -> Palette {
        match self {
            Self::Published => Palette::Published,
            Self::Lightness => Palette::Lightness,
        }
    }
}

/// Operations that one word of the command line names.
type Operations = &'static [Operation];

fn operations(text: &str) -> Result<Operations, String> {
    if text == "all" {
        return Ok(Operation::ALL);
    }
    let operation = Operation::of_name(text)?;
    let mut each = Operation::ALL.chunks_exact(1);
    each.find(|one| one[0] == operation)
        .ok_or_else(|| text.to_owned())
}

/// The least and the greatest of some times, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Times {
    from: u64,
    to: u64,
}

fn times(text: &str) -> Result<Times, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let times = duration(from)
        .zip(duration(to))
        .map(|(from, to)| Times { from, to });
    times
        .filter(|times| times.from <= times.to)
        .ok_or_else(|| "expected two times from 10us to 100s, as 500us..20ms".to_owned())
}

/// A time as `500us`, ns.
fn duration(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let (number, unit) = text.split_at(digits);
    let unit = match unit.trim_start() {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    let ns = number.parse::<f64>().ok()? * unit;
    (1e4..=1e11).contains(&ns).then_some(ns.round() as u64)
}

fn factor(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(factor) if (1.1..=1_000.0).contains(&factor) => Ok(factor),
        _ => Err("expected a number from 1.1 to 1000".to_owned()),
    }
}

impl Times {
    /// The times from the least on, each `factor` times as long as the one before, and the greatest.
    fn list(self, factor: f64) -> Vec<u64> {
        let each = std::iter::successors(Some(self.from as f64), |time| Some(time * factor));
        let below = each.take_while(|time| *time < self.to as f64 * 0.999);
        let mut list: Vec<u64> = below.map(|time| time.round() as u64).collect();
        // The greatest takes the place of one that is nearly as long.
        if list.len() > 1
            && list
                .last()
                .is_some_and(|last| self.to as f64 / (*last as f64) < factor.sqrt())
        {
            list.pop();
        }
        list.push(self.to);
        list
    }
}

/// Measures, or shows results, and writes the result, in process 0.
///
/// # Errors
/// States what is missing, or which file could not be read or written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    if let Some(parent) = options.worker {
        return without_mpi::serve(parent);
    }
    let documents = if let Some(progression) = options.simulate {
        vec![simulate(options, progression)?]
    } else if options.compare.is_empty() {
        match measure(options)? {
            None => return Ok(()),
            Some(document) => vec![document],
        }
    } else {
        let read = options.compare.iter().map(|path| read(path));
        read.collect::<anyhow::Result<_>>()?
    };
    if let Some(folder) = &options.output {
        folder::make(folder)?;
        page::write(&documents, options.colors.palette(), folder)?;
    }
    match (options.format, &documents[..]) {
        (Format::Text, documents) => table::write(documents, output)?,
        (Format::Json, [document]) => write_json(document, output)?,
        (Format::Json, documents) => write_json(documents, output)?,
    }
    Ok(())
}

/// A result file, or that of a directory.
fn read(path: &Path) -> anyhow::Result<Document> {
    let file = if path.is_dir() {
        path.join(DOCUMENT)
    } else {
        path.to_owned()
    };
    let shown = || format!("--compare {}", file.display());
    let bytes = std::fs::read(&file).with_context(shown)?;
    let document: Document = serde_json::from_slice(&bytes).with_context(shown)?;
    ensure!(
        document.has_this_schema(),
        "{}: this is not a result of collbench-bench overlap",
        shown()
    );
    Ok(document)
}

/// Memory of the processes of a simulated library.
const SIMULATED_MEMORY: u64 = 1 << 34;

/// Measures a library with known progress, in simulated time.
fn simulate(options: &Options, progression: Progression) -> anyhow::Result<Document> {
    let mut stub = Stub::new(progression);
    let plan = Plan {
        operations: options.operations(),
        communication_ns: options.communication.list(options.factor),
        computation_ns: options.computation.list(options.factor),
        runs: usize::from(options.runs),
        memory: SIMULATED_MEMORY,
        threads: vec![1; stub.n],
        hosts: vec!["simulated".to_owned(); stub.n],
        mpi_library: format!("simulated library ({progression})"),
        environment: BTreeMap::new(),
        configuration: options
            .configuration
            .clone()
            .unwrap_or_else(|| progression.to_string()),
    };
    let mut journal = match &options.output {
        Some(folder) => {
            folder::make(folder)?;
            Journal::open(folder, &plan)?
        }
        None => Journal::default(),
    };
    driver::measure(&plan, &mut stub, &mut journal, |_| ())?;
    let surroundings = Surroundings {
        machine: Machine {
            load: None,
            ..Machine::here()
        },
        command: std::env::args().collect(),
        has_one_clock: true,
        clock_error_ns: 0.0,
        shares_cores: false,
        host_cores: online_cores(),
    };
    written(options, Document::of(&plan, &journal, surroundings))
}

/// The document, which is also in the output directory now, if there is one.
fn written(options: &Options, document: Document) -> anyhow::Result<Document> {
    if let Some(folder) = &options.output {
        let mut text = Vec::new();
        write_json(&document, &mut text)?;
        folder::write_file(folder, DOCUMENT, &text)?;
    }
    Ok(document)
}

/// Measures; returns the document in process 0 only.
fn measure(options: &Options) -> anyhow::Result<Option<Document>> {
    // Before MPI is initialized: some libraries do not allow a fork afterwards.
    let without_mpi = WithoutMpi::start()?;
    let (universe, _) = mpi::initialize_with_threading(Threading::Funneled)
        .context("MPI is initialized already")?;
    let world = universe.world();
    ensure!(
        world.size() > 1,
        "overlap is measured between processes: start the command with a launcher, as in \
         mpirun -n 2 collbench-bench overlap"
    );
    let ready = match (&options.output, world.rank()) {
        (Some(path), 0) => folder::make(path),
        _ => Ok(()),
    };
    let Some((processes, ())) = job::gather(&world, instant::SOURCE, ready)? else {
        return Ok(None);
    };
    // Before this thread is bound to a core.
    let machine = Machine::here();
    let share = Share::of(&world, &processes, options.threads.map(usize::from));
    match measure_in(options, &world, processes, without_mpi, share, machine) {
        Ok(document) => Ok(document),
        Err(error) => {
            // The others wait for this process.
            eprintln!("collbench-bench: rank {}: {error:#}", world.rank());
            world.abort(1)
        }
    }
}

fn measure_in(
    options: &Options,
    world: &SimpleCommunicator,
    processes: Vec<Process>,
    mut without_mpi: WithoutMpi,
    share: Share,
    machine: Machine,
) -> anyhow::Result<Option<Document>> {
    without_mpi.use_cores(&share.cores)?;
    let workload = Workload::on(&share.cores)?;
    let is_first = |rank: &usize| {
        let same = |process: &Process| process.clock == processes[*rank].clock;
        processes.iter().position(same) == Some(*rank)
    };
    let leaders: Vec<usize> = (1..processes.len()).filter(is_first).collect();
    let member = Member {
        group: Group {
            clock: instant::clock(),
            comm: world.duplicate(),
        },
        communicators: Communicators::of_world(world.size(), world.rank())?,
        workload,
        without_mpi,
        leaders,
        collective: None,
    };
    if world.rank() != 0 {
        member.serve()?;
        return Ok(None);
    }
    let memory = options
        .memory
        .map_or(share.memory, |megabytes| megabytes << 20);
    let plan = plan(options, &processes, memory, &share);
    let mut journal = match &options.output {
        Some(folder) => Journal::open(folder, &plan)?,
        None => Journal::default(),
    };
    let has_one_clock = member.leaders.is_empty();
    let threads = share.threads.iter().copied().max().unwrap_or(1);
    let mut job = Job::of(member, &processes, memory, threads);
    let mut told = None;
    driver::measure(&plan, &mut job, &mut journal, |progress| {
        tell(progress, &mut told)
    })?;
    let surroundings = Surroundings {
        machine,
        command: std::env::args().collect(),
        has_one_clock,
        clock_error_ns: job.clock_error_ns(),
        shares_cores: share.is_oversubscribed(&settings()),
        host_cores: online_cores(),
    };
    job.end();
    written(options, Document::of(&plan, &journal, surroundings)).map(Some)
}

impl Options {
    /// The operations to measure, each once.
    fn operations(&self) -> Vec<Operation> {
        let mut operations: Vec<Operation> = Vec::new();
        for &operation in self.operation.iter().copied().flatten() {
            if !operations.contains(&operation) {
                operations.push(operation);
            }
        }
        operations
    }
}

fn plan(options: &Options, processes: &[Process], memory: u64, share: &Share) -> Plan {
    Plan {
        operations: options.operations(),
        communication_ns: options.communication.list(options.factor),
        computation_ns: options.computation.list(options.factor),
        runs: usize::from(options.runs),
        memory,
        threads: share.threads.clone(),
        hosts: processes
            .iter()
            .map(|process| process.host.clone())
            .collect(),
        mpi_library: mpi_library().unwrap_or_else(|| "unknown".to_owned()),
        environment: settings(),
        configuration: options
            .configuration
            .clone()
            .unwrap_or_else(|| configuration::label(&settings(), share.leaves_cores).to_owned()),
    }
}

/// What was said about the progress.
struct Told {
    /// When the measurement began, and how long it was expected to take, ns.
    begin: Instant,
    expected_ns: u64,
    /// When a line was written last.
    last: Instant,
}

/// How long the rest takes, ns, where `remaining_ns` are left of the `expected_ns`, and the others
/// took `elapsed_ns`: a busy machine is slower than expected.
fn left_ns(remaining_ns: u64, expected_ns: u64, elapsed_ns: u64) -> u64 {
    let done_ns = expected_ns.saturating_sub(remaining_ns).max(1);
    let slower = (elapsed_ns as f64 / done_ns as f64).max(1.0);
    let is_known = done_ns > expected_ns / 20;
    (remaining_ns as f64 * if is_known { slower } else { 1.0 }) as u64
}

/// Writes a line about the progress to stderr, not too often; on a terminal in place.
fn tell(progress: &Progress, told: &mut Option<Told>) {
    let now = Instant::now();
    let is_last = progress.remaining_ns == 0;
    if let Some(told) = told {
        if !is_last && told.last.elapsed() < TELL_EVERY {
            return;
        }
        told.last = now;
    }
    let told = told.get_or_insert(Told {
        begin: now,
        expected_ns: progress.remaining_ns,
        last: now,
    });
    let elapsed_ns = told.begin.elapsed().as_nanos() as u64;
    let left_ns = left_ns(progress.remaining_ns, told.expected_ns, elapsed_ns);
    let left = Duration::from_nanos(left_ns).as_secs();
    let left = match left {
        0..=1 => "a moment".to_owned(),
        2..120 => counted(left, "second"),
        _ => counted(left.div_ceil(60), "minute"),
    };
    let (begin, end) = if std::io::stderr().is_terminal() {
        ("\r\x1b[K", if is_last { "\n" } else { "" })
    } else {
        ("", "\n")
    };
    let what = match progress.done {
        0 => "begins".to_owned(),
        done => format!("{done} of {}, {}", progress.all, progress.what),
    };
    // The measurement does not end because nobody reads this.
    let line = format!("{begin}overlap: {what}; some {left} left{end}");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// A wanted time in words.
fn words(ns: u64) -> String {
    round_duration(ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_takes_as_much_longer_as_what_was_done() {
        assert_eq!(left_ns(900, 1_000, 400), 3_600);
        // Not faster, and at the begin nobody knows.
        assert_eq!(left_ns(900, 1_000, 10), 900);
        assert_eq!(left_ns(1_000, 1_000, 400), 1_000);
        assert_eq!(left_ns(0, 1_000, 5_000), 0);
    }

    #[test]
    fn times_are_read_with_their_units() {
        assert_eq!(
            times("500us..1s"),
            Ok(Times {
                from: 500_000,
                to: 1_000_000_000
            })
        );
        assert_eq!(
            times("2.5ms"),
            Ok(Times {
                from: 2_500_000,
                to: 2_500_000
            })
        );
        for wrong in ["", "5", "us", "1s..1ms", "1ns..1s", "1h", "1.1.1s", "-1s"] {
            assert!(times(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_list_of_times_has_both_ends_and_no_two_that_are_nearly_equal() {
        let list = |from, to, factor| Times { from, to }.list(factor);
        assert_eq!(list(500, 4_000, 2.0), [500, 1_000, 2_000, 4_000]);
        assert_eq!(list(500, 4_100, 2.0), [500, 1_000, 2_000, 4_100]);
        assert_eq!(list(500, 7_000, 2.0), [500, 1_000, 2_000, 4_000, 7_000]);
        assert_eq!(list(500, 500, 2.0), [500]);
        assert_eq!(list(500_000, 1_000_000_000, 2.0).len(), 12);
    }

    #[test]
    fn operations_are_named_one_by_one_or_all_at_once() {
        assert_eq!(operations("all").unwrap().len(), Operation::ALL.len());
        assert_eq!(operations("MPI_Iscan"), Ok(&[Operation::Iscan][..]));
        assert!(operations("bcast").is_err());
    }
}
