//! The cost of recording if two threads call at once, each on a communicator of its own, compared
//! with one thread that calls alone.
//!
//! Both cases run in one process, alternating batch by batch, without and with recording. What is
//! compared is the time that recording adds, so the effects of the MPI library and of the machine
//! on two threads cancel.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io::{self, BufRead, Write};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Context, bail};
use collbench_formats::Operation;
use collbench_instrument::Clock;
use collbench_stats::spread::Spread;
use mpi::Threading;
use mpi::ffi;
use serde::{Deserialize, Serialize};

use super::pair::Pair;
use super::table::{empty_table, spread_row, verdict, write_machine};
use super::trace::Recorded;
use super::worker::{Goodbye, Hello, Request, Switches, answer, ns_per_tick};
use super::{BATCHES_PER_TURN, Options, most_turns, temporary_directory};
use crate::machine::Machine;

/// Target for the ratio of the added times with two threads and with one.
const TARGET: f64 = 1.2;
/// With fewer rounds there is no verdict.
const LEAST_ROUNDS: usize = 100;

/// A batch of one thread alone, and then one of each of two threads at once.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Round {
    alone_ticks: u64,
    /// Mean over the two threads.
    together_ticks: u64,
    /// How long both were calling.
    overlap_ticks: u64,
    /// Number of preemptions of both.
    preempted: u64,
}

impl Round {
    /// Whether no thread was preempted, and both were calling for most of their batches.
    fn is_valid(&self) -> bool {
        self.preempted == 0 && self.overlap_ticks * 2 > self.together_ticks
    }
}

/// Begin and end of a batch, ticks.
#[derive(Debug, Clone, Copy)]
struct Batch {
    begin: u64,
    end: u64,
}

impl Batch {
    fn ticks(self) -> u64 {
        self.end - self.begin
    }
}

/// A communicator that another thread may use.
#[derive(Clone, Copy)]
struct Communicator(ffi::MPI_Comm);

// SAFETY: MPI was initialized for several threads; a handle is a number or an address that any of
// them may pass to it.
unsafe impl Send for Communicator {}

impl Communicator {
    /// A copy of `MPI_COMM_SELF`.
    fn new() -> anyhow::Result<Self> {
        let mut made = MaybeUninit::uninit();
        // SAFETY: MPI is initialized; the handle is valid if the call has succeeded.
        unsafe {
            if ffi::MPI_Comm_dup(ffi::RSMPI_COMM_SELF, made.as_mut_ptr()) != 0 {
                bail!("MPI_Comm_dup failed");
            }
            Ok(Self(made.assume_init()))
        }
    }

    /// Times `n` barriers on it.
    #[inline(never)]
    fn barriers(self, clock: Clock, n: u64) -> (Batch, c_int) {
        let mut failed = 0;
        let begin = clock.now();
        for _ in 0..n {
            // SAFETY: a valid communicator, which is never freed.
            failed |= unsafe { ffi::MPI_Barrier(self.0) };
        }
        let end = clock.now();
        (Batch { begin, end }, failed)
    }
}

/// Requests to the second thread, and its answers.
#[derive(Default)]
struct Handover {
    /// Number of the requested batch, from 1; [`OVER`]: no more.
    wanted: AtomicU64,
    size: AtomicU64,
    /// Number of the batch for which the second thread is ready; `begun`: that both begin.
    ready: AtomicU64,
    begun: AtomicU64,
    /// Number of the last finished batch; its figures follow.
    done: AtomicU64,
    begin: AtomicU64,
    end: AtomicU64,
    preempted: AtomicU64,
    failed: AtomicU64,
}

const OVER: u64 = u64::MAX;

impl Handover {
    /// The loop of the second thread.
    fn serve(&self, communicator: Communicator, clock: Clock) {
        for batch in 1.. {
            loop {
                match self.wanted.load(Ordering::Acquire) {
                    OVER => return,
                    wanted if wanted == batch => break,
                    _ => std::thread::yield_now(),
                }
            }
            let before = Switches::so_far().unwrap_or_default();
            self.ready.store(batch, Ordering::Release);
            spin_until(&self.begun, batch);
            let (made, failed) = communicator.barriers(clock, self.size.load(Ordering::Relaxed));
            let after = Switches::so_far().unwrap_or_default();
            self.begin.store(made.begin, Ordering::Relaxed);
            self.end.store(made.end, Ordering::Relaxed);
            self.failed.fetch_or(failed as u64, Ordering::Relaxed);
            let preempted = after.since(before).preempted;
            self.preempted.store(preempted, Ordering::Relaxed);
            self.done.store(batch, Ordering::Release);
        }
    }
}

/// Waits for the other thread without giving up the processor: it is about to come.
fn spin_until(number: &AtomicU64, batch: u64) {
    while number.load(Ordering::Acquire) != batch {
        std::hint::spin_loop();
    }
}

/// One of the two programs: makes rounds on request until it is told to finish.
pub(super) fn serve(clock: Clock) -> anyhow::Result<()> {
    let (universe, level) = mpi::initialize_with_threading(Threading::Multiple)
        .context("MPI is initialized already")?;
    if level != Threading::Multiple {
        bail!("this MPI library does not provide MPI_THREAD_MULTIPLE");
    }
    let [first, second] = [Communicator::new()?, Communicator::new()?];
    answer(&Hello::of(clock)?)?;
    let handover = &Handover::default();
    let served = std::thread::scope(|scope| {
        scope.spawn(move || handover.serve(second, clock));
        let served = make_rounds(clock, first, handover);
        handover.wanted.store(OVER, Ordering::Release);
        served
    });
    drop(universe);
    served
}

fn make_rounds(
    clock: Clock,
    communicator: Communicator,
    handover: &Handover,
) -> anyhow::Result<()> {
    let (mut batch, mut calls) = (0, 0);
    for line in io::stdin().lock().lines() {
        match serde_json::from_str(&line?).context("a request")? {
            Request::Rounds { n, size } => {
                let mut rounds = Vec::with_capacity(n as usize);
                for _ in 0..n {
                    batch += 1;
                    calls += 3 * size;
                    rounds.push(round(clock, communicator, handover, (batch, size))?);
                }
                answer(&rounds)?;
            }
            Request::Finish => return answer(&Goodbye::of(clock, calls)),
            other => bail!("{other:?}: not a request for several threads"),
        }
    }
    Ok(())
}

fn round(
    clock: Clock,
    communicator: Communicator,
    handover: &Handover,
    (batch, size): (u64, u64),
) -> anyhow::Result<Round> {
    let before = Switches::so_far()?;
    let (alone, failed_alone) = communicator.barriers(clock, size);
    handover.size.store(size, Ordering::Relaxed);
    handover.wanted.store(batch, Ordering::Release);
    spin_until(&handover.ready, batch);
    handover.begun.store(batch, Ordering::Release);
    let (own, failed) = communicator.barriers(clock, size);
    let preempted = Switches::so_far()?.since(before).preempted;
    while handover.done.load(Ordering::Acquire) != batch {
        std::thread::yield_now();
    }
    if failed_alone | failed != 0 || handover.failed.load(Ordering::Relaxed) != 0 {
        bail!("a call of the MPI library failed");
    }
    let other = Batch {
        begin: handover.begin.load(Ordering::Relaxed),
        end: handover.end.load(Ordering::Relaxed),
    };
    let both = own
        .end
        .min(other.end)
        .checked_sub(own.begin.max(other.begin));
    Ok(Round {
        alone_ticks: alone.ticks(),
        together_ticks: (own.ticks() + other.ticks()) / 2,
        overlap_ticks: both.unwrap_or(0),
        preempted: preempted + handover.preempted.load(Ordering::Relaxed),
    })
}

/// The result, `collbench.bench.overhead_threads/1`. Times per call in ns; unknown figures are
/// `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Figures {
    schema: &'static str,
    command: Vec<String>,
    machine: Machine,
    mpi_library: String,
    operation: &'static str,
    calls_per_batch: u64,
    /// One thread alone; `together`: two at once.
    alone: Times,
    together: Times,
    /// Median added time with two threads divided by that with one.
    ratio: Option<f64>,
    bar: f64,
    /// Whether the ratio is below the target; `None` with too few rounds.
    met: Option<bool>,
    rounds: usize,
    /// Rounds that do not count: a thread was preempted, or the threads were not calling at once.
    disturbed: usize,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Times {
    plain_ns: Option<Spread>,
    recorded_ns: Option<Spread>,
    /// Recorded minus plain, round by round.
    added_ns: Option<Spread>,
}

impl Times {
    /// `ns`: times of the plain and the recorded process, by round.
    fn of(ns: &[[f64; 2]]) -> Self {
        Self {
            plain_ns: Spread::of(ns.iter().map(|[plain, _]| *plain)),
            recorded_ns: Spread::of(ns.iter().map(|[_, recorded]| *recorded)),
            added_ns: Spread::of(ns.iter().map(|[plain, recorded]| recorded - plain)),
        }
    }
}

/// Lets both programs make rounds in turns, and writes the result.
pub(super) fn run(options: &Options, output: &mut impl Write) -> anyhow::Result<()> {
    let machine = Machine::here();
    let directory = temporary_directory()?;
    let trace = directory.path().join("trace");
    let (mut pair, hello) = Pair::start(options, directory.path(), &trace)?;
    let request = Request::Rounds {
        n: BATCHES_PER_TURN.min(options.batches),
        size: options.batch,
    };
    // Warms up first.
    pair.ask_in_turn::<Vec<Round>>(0, &request)?;
    let mut rounds: Vec<[Round; 2]> = Vec::new();
    let is_undisturbed = |pair: &&[Round; 2]| pair.iter().all(Round::is_valid);
    for turn in 0..most_turns(options) {
        let [plain, recorded] = pair.ask_in_turn::<Vec<Round>>(turn, &request)?;
        rounds.extend(plain.into_iter().zip(recorded).map(<[Round; 2]>::from));
        if rounds.iter().filter(is_undisturbed).count() as u64 >= options.batches {
            break;
        }
    }
    let goodbye = pair.finish()?;
    Recorded::read(&trace, Operation::Barrier, goodbye[1].calls)?;
    let mut rates = [0.0; 2];
    for (i, rate) in rates.iter_mut().enumerate() {
        let found = ns_per_tick(hello[i].anchor, goodbye[i].anchor);
        *rate = found
            .context("the clock did not advance during the measurement")?
            .0;
    }
    let valid: Vec<&[Round; 2]> = rounds.iter().filter(is_undisturbed).collect();
    let per_call = |ticks: fn(&Round) -> u64| -> Vec<[f64; 2]> {
        let ns =
            |pair: &&[Round; 2], i: usize| ticks(&pair[i]) as f64 * rates[i] / options.batch as f64;
        valid
            .iter()
            .map(|pair| [ns(pair, 0), ns(pair, 1)])
            .collect()
    };
    let alone = Times::of(&per_call(|round| round.alone_ticks));
    let together = Times::of(&per_call(|round| round.together_ticks));
    let ratio = match (&alone.added_ns, &together.added_ns) {
        (Some(alone), Some(together)) if alone.median > 0.0 => Some(together.median / alone.median),
        _ => None,
    };
    let figures = Figures {
        schema: "collbench.bench.overhead_threads/1",
        command: std::env::args_os()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        machine,
        mpi_library: hello[0]
            .mpi_library
            .lines()
            .next()
            .unwrap_or_default()
            .to_owned(),
        operation: Operation::Barrier.name(),
        calls_per_batch: options.batch,
        alone,
        together,
        ratio,
        bar: TARGET,
        met: ratio
            .filter(|_| valid.len() >= LEAST_ROUNDS)
            .map(|ratio| ratio <= TARGET),
        rounds: valid.len(),
        disturbed: rounds.len() - valid.len(),
    };
    options.format.write(&figures, write_text, output)
}

fn write_text(figures: &Figures, output: &mut impl Write) -> io::Result<()> {
    writeln!(
        output,
        "Cost of recording {} when two threads call at the same time, each on its own communicator",
        figures.operation
    )?;
    write_machine(
        &figures.machine,
        &figures.mpi_library,
        &BTreeMap::new(),
        output,
    )?;
    writeln!(output, "  command  {}\n", figures.command.join(" "))?;
    writeln!(
        output,
        "Per call, {} rounds of batches of {} calls",
        figures.rounds, figures.calls_per_batch
    )?;
    let mut table = empty_table(&["", "median ns", "quartiles ns", "rounds"]);
    for (threads, times) in [
        ("one thread", &figures.alone),
        ("two threads", &figures.together),
    ] {
        for (what, spread) in [
            ("plain", &times.plain_ns),
            ("recorded", &times.recorded_ns),
            ("added by recording", &times.added_ns),
        ] {
            let name = format!("{threads}, {what}");
            table.add_row(spread_row(&name, spread.as_ref()));
        }
    }
    writeln!(output, "{}", table.trim_fmt())?;
    writeln!(
        output,
        "  added with two threads / with one: {}",
        verdict(figures.ratio, figures.bar, figures.met)
    )?;
    if figures.disturbed > 0 {
        writeln!(
            output,
            "invalid: {} of {} rounds: a thread was preempted, or began after the other had finished",
            figures.disturbed,
            figures.rounds + figures.disturbed
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Figures>("collbench.bench.overhead_threads/1");
    }
}
