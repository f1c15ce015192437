//! Measures the parameters of LogP and LogGP with requests and replies.
//!
//! Small active messages over MPI, or over a simulated network, give signatures: the cost of a
//! message over the length of bursts, for several delays between messages. Overheads, gap and
//! latency are read from these.
//!
//! # Source
//! Culler et al. 1996, "Assessing fast network interfaces".

mod figures;
mod links;
mod measurement;
mod messages;
mod model;
mod pictures;
mod recorded;
mod simulate;
mod table;

#[cfg(test)]
mod tests;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::{Args, ValueEnum};
use collbench_instrument::Clock;
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator;

use crate::folder;
use crate::job;
use crate::job::Process;
use crate::machine::mpi_library;
use crate::overhead::{ClockName, Format};
use crate::thorough::Thorough;
use figures::{Figures, Measured, Plan, Setting};
use measurement::Progress;
use messages::{MpiJob, MpiNetwork, OneSided, Parameters, PointToPoint, SimulatedJob};
use model::Precision;
use recorded::Recorded;

/// Repetitions in a batch.
const BATCH: usize = 50;
/// Half the width of a 95 % interval, as a part of the mean.
const RELATIVE: f64 = 0.05;
/// Least number of batches.
const LEAST_BATCHES: usize = 4;

/// Measures overhead, gap and latency of messages (LogP), and those of bulk messages (LogGP)
///
/// Start it with a launcher. Processes send requests that are replied to; the time of a request
/// over the number of requests in a burst, with several delays between them, is the signature of a
/// link, from which send overhead, receive overhead, gap and latency are read. Links are put into
/// classes by their round trips, and one pair of each class is measured; then several senders and
/// receivers at once are compared with what the model says. With --simulate, which needs no
/// launcher, it measures a simulated network; with --trace it finds the parameters in the messages
/// of a recorded trace.
///
/// Method: Culler et al. 1996, "Assessing fast network interfaces"; parametrized round trips
/// (PRTT): Hoefler, Lichei, Rehm 2007.
#[derive(Debug, Args)]
pub struct Options {
    /// Size of the smallest bulk message; the next ones are twice as large each
    #[arg(long, value_name = "BYTES", default_value_t = 8, value_parser = smallest)]
    smallest: usize,
    /// Size of the largest bulk message; 0: small messages only
    #[arg(long, value_name = "BYTES", default_value_t = 262_144, value_parser = largest)]
    largest: usize,
    /// Most batches of 50 repetitions per time, if its interval is not narrow enough before [with
    /// --thorough 100]
    #[arg(
        long,
        value_name = "N",
        default_value = "20",
        default_value_if("thorough", "true", "100"),
        value_parser = clap::value_parser!(u32).range(4..=10_000)
    )]
    batches: u32,
    /// Longest time for one time, once there are two batches of it [with --thorough 2]
    #[arg(
        long,
        value_name = "SECONDS",
        default_value = "0.1",
        default_value_if("thorough", "true", "2"),
        value_parser = crate::collective::seconds
    )]
    seconds: f64,
    #[command(flatten)]
    thorough: Thorough,
    /// Operations of MPI that carry messages
    #[arg(long, value_enum, value_name = "OPERATIONS", default_value_t = Over::PointToPoint)]
    over: Over,
    /// Clock to measure with [default: the one that collbench-record chooses]
    #[arg(long, value_enum, value_name = "CLOCK")]
    clock: Option<ClockName>,
    /// Measure a simulated network with these parameters, in ns, for instance
    /// o_s=1400,o_r=2200,g=7600,L=6300,G=0.01,capacity=64,processes=4
    #[arg(long, value_name = "PARAMETERS", value_parser = simulate::parse, conflicts_with_all = ["clock", "over"])]
    simulate: Option<Parameters>,
    /// Measure nothing: find the parameters in the messages that a trace recorded inside
    /// collectives
    #[arg(
        long,
        value_name = "TRACE",
        conflicts_with_all = ["smallest", "largest", "batches", "seconds", "thorough", "over", "clock", "simulate", "links", "output"]
    )]
    trace: Option<PathBuf>,
    /// Links file of an earlier measurement to show beside the parameters of a trace
    #[arg(long, value_name = "FILE", requires = "trace")]
    beside: Option<PathBuf>,
    /// What to print to stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// File for the parameters of all classes of links, as JSON, for programs that predict how long
    /// trees take
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
    /// Directory for pictures [default: no pictures]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Operations of MPI that carry messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Over {
    /// Nonblocking sends, and receives that are posted in advance
    PointToPoint,
    /// MPI_Accumulate and MPI_Put to memory that the receiver polls
    OneSided,
}

fn smallest(text: &str) -> Result<usize, String> {
    bytes(text, 1)
}

fn largest(text: &str) -> Result<usize, String> {
    bytes(text, 0)
}

fn bytes(text: &str, least: usize) -> Result<usize, String> {
    const MOST: usize = 1 << 26;
    match text.parse() {
        Ok(bytes) if (least..=MOST).contains(&bytes) => Ok(bytes),
        _ => Err(format!("expected bytes, from {least} to {MOST}")),
    }
}

impl Options {
    fn plan(&self) -> Plan {
        Plan {
            precision: Precision {
                batch: BATCH,
                relative: RELATIVE,
                least: LEAST_BATCHES,
                most: self.batches as usize,
                longest_ns: self.seconds * 1e9,
            },
            sizes: [self.smallest, self.largest],
        }
    }
}

/// Measures, and writes the result, in process 0.
///
/// # Errors
/// States what is missing, or which file could not be written.
pub fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    if let Some(directory) = &options.trace {
        let recorded = Recorded::of(directory, options.beside.as_deref())?;
        return options.format.write(&recorded, recorded::write, output);
    }
    let figures = match &options.simulate {
        Some(parameters) => {
            if let Some(path) = &options.output {
                folder::make(path)?;
            }
            simulated(parameters, options.plan())
        }
        None => match measure(options)? {
            Some(figures) => figures,
            None => return Ok(()),
        },
    };
    if let Some(folder) = &options.output {
        pictures::write(&figures, folder)?;
    }
    if let Some(path) = &options.links {
        links::write(&figures, path)?;
    }
    options.format.write(&figures, table::write, output)
}

fn simulated(parameters: &Parameters, plan: Plan) -> Figures {
    let mut job = SimulatedJob::new(parameters.clone());
    let plan = Plan {
        // Without noise, more batches would say the same.
        precision: Precision {
            least: 2,
            ..plan.precision
        },
        ..plan
    };
    let measured = Measured::of(&mut job, plan, |_, _| false, Progress::default());
    let setting = Setting {
        mpi_library: None,
        clock: None,
        processes: Vec::new(),
        simulated: Some(parameters.clone()),
        network: "simulated",
        n_damaged: 0,
    };
    Figures::of(measured, setting, plan)
}

/// Measures; returns the figures in process 0 only.
fn measure(options: &Options) -> anyhow::Result<Option<Figures>> {
    let source = ClockName::source_or_chosen(options.clock);
    let clock = Clock::of(source)
        .context("--clock tsc: the time stamp counter of this machine is not invariant; use raw");
    let universe = mpi::initialize().context("MPI is initialized already")?;
    let world: SimpleCommunicator = universe.world();
    anyhow::ensure!(
        world.size() > 1,
        "messages are measured between processes: start the command with a launcher, as in mpirun \
         -n 2 collbench-bench logp"
    );
    // A directory that cannot be written to is reported before anything is measured.
    let ready = match (&options.output, world.rank()) {
        (Some(path), 0) => clock.and_then(|clock| folder::make(path).map(|()| clock)),
        _ => clock,
    };
    let Some((processes, clock)) = job::gather(&world, source, ready)? else {
        return Ok(None);
    };
    Ok(match options.over {
        Over::PointToPoint => {
            let network = PointToPoint::new(world.duplicate(), clock);
            measure_over(network, world, processes, options)
        }
        Over::OneSided => {
            let network = OneSided::new(world.duplicate(), clock);
            measure_over(network, world, processes, options)
        }
    })
}

/// Measures over a network; returns the figures in process 0 only.
fn measure_over(
    network: impl MpiNetwork,
    world: SimpleCommunicator,
    processes: Vec<Process>,
    options: &Options,
) -> Option<Figures> {
    let is_first = world.rank() == 0;
    let name = network.name();
    let mut job = MpiJob::new(world, network);
    if !is_first {
        job.follow();
        return None;
    }
    let is_on_one_host = |a: usize, b: usize| processes[a].clock == processes[b].clock;
    let measured = Measured::of(&mut job, options.plan(), is_on_one_host, Progress::shown());
    let n_damaged = job.finish();
    let setting = Setting {
        mpi_library: mpi_library(),
        clock: Some(ClockName::source_or_chosen(options.clock)),
        processes,
        simulated: None,
        network: name,
        n_damaged,
    };
    Some(Figures::of(measured, setting, options.plan()))
}
