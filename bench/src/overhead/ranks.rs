//! The cost of recording an `MPI_Allreduce` of 8 bytes on two ranks: the call with the largest
//! relative cost, since few calls that communicate are as short.
//!
//! The same job runs several times at once, without recording and with more and more layers
//! recorded, each started by a launcher that binds its ranks to the same two cores. The jobs take
//! turns: ranks that do not have their turn are blocked in the kernel, reading from a socket, and
//! not in the MPI library, which would spin. So the measured job has both cores for itself, and
//! other load on the machine affects all jobs.

mod figures;
mod job;
mod worker;

use std::io::Write;
use std::path::Path;

use anyhow::bail;
use collbench_formats::{Operation, Record};

use self::figures::Figures;
use self::job::{Introduction, Job};
use super::trace::Recorded;
use super::worker::{Batch, Goodbye, Request};
use super::{BATCHES_PER_TURN, Options, figures::settings, most_turns, temporary_directory};
use crate::machine::{Machine, file_system};

pub(super) use self::worker::serve;

/// Ranks of a job.
const RANKS: usize = 2;
/// The default launcher of a job.
pub(super) const LAUNCHER: &str = "mpirun -n 2 --bind-to core";
/// Open MPI's setting that makes waiting ranks yield their core, which would be measured too.
const YIELDING: &str = "OMPI_MCA_mpi_yield_when_idle";
/// Bytes per allreduce in a trace with all layers: its own record, those of a sent and a received
/// message, and that of its algorithm.
const BYTES_PER_CALL: u64 = 4 * size_of::<Record>() as u64;

/// The recorded jobs, by layers.
const RECORDED: [Layers; 3] = [
    Layers {
        name: "calls",
        list: "calls",
        slowdown_target: Some(15.0),
    },
    Layers {
        name: "calls and messages",
        list: "calls,messages",
        slowdown_target: None,
    },
    Layers {
        name: "all layers",
        list: "calls,io,rma,messages,algorithms,switches",
        slowdown_target: Some(40.0),
    },
];
/// Number of jobs; the first one is not recorded.
const JOBS: usize = 1 + RECORDED.len();

/// The layers of a job.
#[derive(Debug, Clone, Copy)]
struct Layers {
    /// Name in tables.
    name: &'static str,
    /// Argument of `collbench-record --layers`.
    list: &'static str,
    /// Target for the slowdown of the call, percent.
    slowdown_target: Option<f64>,
}

/// A batch of each job, in the order of the jobs; each is the mean over its ranks.
type Round = [Batch; JOBS];

/// All measurements, in ticks.
struct Measured {
    machine: Machine,
    environment: std::collections::BTreeMap<String, String>,
    launcher: String,
    calls_per_batch: u64,
    introduction: Introduction,
    /// The last anchor of rank 0 of the first job.
    last_anchor: [u64; 5],
    rounds: Vec<Round>,
    /// By recorded job and rank: figures of its trace.
    recorded: Vec<Vec<Recorded>>,
}

/// Lets all jobs time batches in turns, and writes the result.
pub(super) fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    let figures = Figures::of(&measure(options)?)?;
    options.format.write(&figures, Figures::write_text, output)
}

fn measure(options: &Options) -> anyhow::Result<Measured> {
    let machine = Machine::here();
    let usable = std::thread::available_parallelism().map_or(RANKS, usize::from);
    if usable < RANKS {
        bail!(
            "--ranks 2 needs 2 cores for itself, but this process may use {usable}; ranks that share \
             a core wait for it, and only that wait would be measured"
        );
    }
    let directory = temporary_directory()?;
    check_room(options, directory.path())?;

    let mut jobs = vec![Job::start(options, None, directory.path())?];
    for layers in &RECORDED {
        jobs.push(Job::start(options, Some(layers), directory.path())?);
    }
    check_alike(&jobs)?;
    let introduction = jobs[0].introduction.clone();

    let request = Request::Batches {
        n: BATCHES_PER_TURN.min(options.batches),
        size: options.batch,
    };
    // Warms up first.
    take_turns(&mut jobs, 0, &request)?;
    let mut rounds: Vec<Round> = Vec::new();
    for turn in 0..most_turns(options) {
        rounds.extend(take_turns(&mut jobs, turn, &request)?);
        let n_valid = rounds.iter().filter(|round| is_undisturbed(round)).count();
        if n_valid as u64 >= options.batches {
            break;
        }
    }

    let traces: Vec<_> = jobs.iter().map(|job| job.trace.clone()).collect();
    let goodbyes: Vec<Vec<Goodbye>> = jobs
        .into_iter()
        .map(Job::finish)
        .collect::<Result<_, _>>()?;
    let mut recorded = Vec::new();
    for (trace, goodbyes) in traces.iter().zip(&goodbyes).skip(1) {
        let of_ranks = Recorded::read_all(trace, Operation::Allreduce)?;
        let made: Vec<u64> = goodbyes.iter().map(|goodbye| goodbye.calls).collect();
        let calls: Vec<u64> = of_ranks.iter().map(|rank| rank.calls).collect();
        if calls != made {
            bail!(
                "{made:?} calls were made but {calls:?} recorded; the figures would be meaningless"
            );
        }
        recorded.push(of_ranks);
    }
    let mut environment = settings();
    environment.insert(YIELDING.to_owned(), "0".to_owned());
    Ok(Measured {
        machine,
        environment,
        launcher: options.launcher.clone(),
        calls_per_batch: options.batch,
        introduction,
        last_anchor: goodbyes[0][0].anchor,
        rounds,
        recorded,
    })
}

/// Asks one job after the other. The first one changes from turn to turn, so that a machine that
/// gradually becomes slower or faster favours none.
fn take_turns(jobs: &mut [Job], turn: u64, request: &Request) -> anyhow::Result<Vec<Round>> {
    let mut batches: [Vec<Batch>; JOBS] = Default::default();
    for i in 0..JOBS {
        let at = (turn as usize + i) % JOBS;
        batches[at] = jobs[at].batches(request)?;
    }
    let n = batches.iter().map(Vec::len).min().unwrap_or(0);
    Ok((0..n).map(|i| batches.each_ref().map(|of| of[i])).collect())
}

/// Whether no rank of any job was preempted in its batch.
fn is_undisturbed(round: &Round) -> bool {
    round.iter().all(|batch| batch.preempted == 0)
}

/// Checks that jobs differ in recording only: other differences would be taken for its cost.
fn check_alike(jobs: &[Job]) -> anyhow::Result<()> {
    let of_first = &jobs[0].introduction;
    for job in jobs {
        let own = &job.introduction;
        if own.mpi_library != of_first.mpi_library {
            bail!(
                "{} uses another MPI library: {:?} instead of {:?}",
                job.name,
                own.mpi_library,
                of_first.mpi_library
            );
        }
        if own.cores != of_first.cores {
            bail!(
                "{} runs on cores {:?}, the others on {:?}; --launcher must put all jobs on the same \
                 ones",
                job.name,
                own.cores,
                of_first.cores
            );
        }
    }
    Ok(())
}

fn check_room(options: &Options, directory: &Path) -> anyhow::Result<()> {
    let (_, free_bytes) = file_system(directory)?;
    // With the first turn, and with the batch before those that are timed.
    let calls = (most_turns(options) + 1) * (BATCHES_PER_TURN + 1) * options.batch;
    let n_files = (RECORDED.len() * RANKS) as u64;
    let needed =
        n_files * Recorded::bytes_needed(calls * BYTES_PER_CALL / size_of::<Record>() as u64);
    if needed > free_bytes {
        bail!(
            "{}: the measurement needs up to {} MB, but only {} MB are free; set TMPDIR to a \
             directory with more space, or measure fewer --batches",
            directory.display(),
            needed / 1_000_000,
            free_bytes / 1_000_000
        );
    }
    Ok(())
}
