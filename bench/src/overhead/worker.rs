//! A process that measures on request, once without and once with the preloaded library: the same
//! program and the same instructions.
//!
//! Requests come on stdin and answers go to stdout, one JSON document per line. All times are raw
//! ticks of the recorder's clock; the process that asked scales them by the anchors at the begin
//! and the end.

use std::ffi::c_int;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, Write};

use anyhow::{Context, bail};
use collbench_formats::{Anchor, ClockSource};
use collbench_instrument::{Clock, measure_clock};
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use super::call::{MeasuredOperation, allreduce, barrier, bcast, comm_dup, ibarrier};

/// A request to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Times `n` batches of `size` calls, and before each one of `size` pairs of clock readings.
    Batches { n: u64, size: u64 },
    /// Times `n` batches of `size` calls through the least that can record them.
    Floor { n: u64, size: u64 },
    /// Times `n` calls at one go.
    Many { n: u64 },
    /// Times `n` rounds of one batch by one thread and one by each of two threads at once.
    Rounds { n: u64, size: u64 },
    /// Times each of `n` calls.
    Each { n: u64 },
    /// Times writing `bytes` zeros to a file, after those written before.
    Write { bytes: u64 },
    /// Sends the remaining results and ends.
    Finish,
}

/// What a worker sends when it is ready.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    pub(super) mpi_library: String,
    pub(super) granularity_ticks: u64,
    pub(super) anchor: [u64; 5],
}

/// One batch.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Batch {
    /// Time of the calls.
    pub(super) ticks: u64,
    /// Time of the same number of pairs of clock readings.
    pub(super) clock_ticks: u64,
    /// How often the process was preempted meanwhile.
    pub(super) preempted: u64,
}

/// Some calls timed together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Part {
    pub(super) calls: u64,
    pub(super) ticks: u64,
    pub(super) switches: Switches,
}

/// How often this thread lost its core.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Switches {
    /// To another thread that the kernel preferred: not because of the recorder.
    pub(crate) preempted: u64,
    /// Because it waited for something, such as the disk.
    pub(super) blocked: u64,
}

/// What a worker sends at its end.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Goodbye {
    pub(super) anchor: [u64; 5],
    /// Total number of calls of the operation.
    pub(super) calls: u64,
    pub(super) single: SingleCalls,
}

/// Times of single calls, with one clock reading each.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct SingleCalls {
    /// (ticks, number of calls), ascending, within 0.1 %.
    pub(super) counts: Vec<(u64, u64)>,
    /// The longest, exact.
    pub(super) longest_ticks: u64,
    pub(super) switches: Switches,
}

impl Hello {
    /// MPI must be initialized.
    pub(super) fn of(clock: Clock) -> anyhow::Result<Self> {
        Ok(Self {
            mpi_library: mpi::environment::library_version()
                .context("the MPI library's version is not UTF-8")?,
            granularity_ticks: measure_clock(clock).granularity_ticks,
            anchor: clock.anchor().into(),
        })
    }
}

impl Goodbye {
    /// The last message of a worker that times no single calls.
    pub(super) fn of(clock: Clock, calls: u64) -> Self {
        Self {
            anchor: clock.anchor().into(),
            calls,
            single: SingleCalls::default(),
        }
    }
}

/// The clock that the recorder would choose, or the one with the given source.
pub(super) fn clock_of(source: Option<ClockSource>) -> anyhow::Result<Clock> {
    match source {
        None => Ok(Clock::of_this_machine()),
        Some(source) => Clock::of(source)
            .context("the time stamp counter of this machine is not invariant; use --clock raw"),
    }
}

/// Serves requests until it is told to finish, or until stdin ends.
pub(super) fn serve(
    operation: MeasuredOperation,
    n_sites: u64,
    clock: Clock,
) -> anyhow::Result<()> {
    let universe = mpi::initialize().context("MPI is initialized already")?;
    let served = match operation {
        MeasuredOperation::Barrier => Worker::new(clock, barrier, n_sites)?.serve(),
        MeasuredOperation::Allreduce => Worker::new(clock, allreduce, n_sites)?.serve(),
        MeasuredOperation::Bcast => Worker::new(clock, bcast, n_sites)?.serve(),
        MeasuredOperation::Ibarrier => Worker::new(clock, ibarrier, n_sites)?.serve(),
        MeasuredOperation::CommDup => Worker::new(clock, comm_dup, n_sites)?.serve(),
    };
    // Ends MPI, and with it the trace.
    drop(universe);
    served
}

struct Worker<Call> {
    clock: Clock,
    call: Call,
    /// Places in the program that call in turns.
    n_sites: u64,
    n_calls: u64,
    histogram: Histogram<u64>,
    single: SingleCalls,
    /// Buffer for the times of single calls, with its pages touched.
    intervals: Vec<u64>,
    /// Receives the zeros; no other process sees it.
    file: File,
    /// Records of the least that can record, with their pages touched.
    records: Vec<[u64; 4]>,
}

/// Records that the least that can record keeps: as many as fit into caches beside a trace's.
const KEPT: usize = 1 << 15;

impl<Call: Fn() -> c_int + Copy> Worker<Call> {
    fn new(clock: Clock, call: Call, n_sites: u64) -> anyhow::Result<Self> {
        Ok(Self {
            clock,
            call,
            n_sites,
            n_calls: 0,
            histogram: Histogram::new(3).context("making a histogram")?,
            single: SingleCalls::default(),
            intervals: Vec::new(),
            file: tempfile::tempfile().context("a temporary file")?,
            records: vec![[1; 4]; KEPT],
        })
    }

    fn serve(mut self) -> anyhow::Result<()> {
        answer(&Hello::of(self.clock)?)?;
        for line in io::stdin().lock().lines() {
            match serde_json::from_str(&line?).context("a request")? {
                Request::Batches { n, size } => answer(&self.batches(n, size)?)?,
                Request::Floor { n, size } => answer(&self.floor(n, size)?)?,
                Request::Many { n } => answer(&self.many(n)?)?,
                Request::Each { n } => answer(&self.each(n)?)?,
                Request::Rounds { .. } => bail!("one thread makes no rounds"),
                Request::Write { bytes } => answer(&self.write(bytes)?)?,
                Request::Finish => return answer(&self.goodbye()),
            }
        }
        Ok(())
    }

    fn batches(&mut self, n: u64, size: u64) -> anyhow::Result<Vec<Batch>> {
        time_batches(self.clock, (n, size), || 0, |n| self.calls(n))
    }

    fn floor(&mut self, n: u64, size: u64) -> anyhow::Result<Vec<Batch>> {
        time_batches(self.clock, (n, size), || 0, |n| self.least(n))
    }

    /// As [`Worker::calls`], through the least that can record them.
    #[inline(never)]
    fn least(&mut self, n: u64) -> (u64, c_int) {
        let (clock, call) = (self.clock, self.call);
        let mut i = 0;
        let begin = clock.now();
        let failed = in_turns(self.n_sites, n, || {
            let record = &mut self.records[i % KEPT];
            i += 1;
            least_recorded(clock, call, record)
        });
        let ticks = self.clock.now() - begin;
        self.n_calls += n;
        (ticks, failed)
    }

    fn many(&mut self, n: u64) -> anyhow::Result<Part> {
        let before = Switches::so_far()?;
        let (ticks, failed) = self.calls(n);
        let switches = Switches::so_far()?.since(before);
        success(failed)?;
        Ok(Part {
            calls: n,
            ticks,
            switches,
        })
    }

    fn each(&mut self, n: u64) -> anyhow::Result<Part> {
        let (clock, call) = (self.clock, self.call);
        // Not zeros: zero pages might be mapped only at the first store.
        self.intervals.resize(n as usize, 1);
        let mut failed = 0;
        let before = Switches::so_far()?;
        let begin = clock.now();
        let mut last = begin;
        for interval in &mut self.intervals {
            failed |= call();
            let now = clock.now();
            *interval = now.saturating_sub(last);
            last = now;
        }
        let switches = Switches::so_far()?.since(before);
        success(failed)?;
        self.n_calls += n;
        self.single.switches.preempted += switches.preempted;
        self.single.switches.blocked += switches.blocked;
        for &interval in &self.intervals {
            self.histogram.record(interval).context("a histogram")?;
            self.single.longest_ticks = self.single.longest_ticks.max(interval);
        }
        Ok(Part {
            calls: n,
            ticks: last - begin,
            switches,
        })
    }

    /// Returns the time, ticks.
    fn write(&mut self, bytes: u64) -> anyhow::Result<u64> {
        const ZEROS: &[u8] = &[0; 64 << 10];
        let begin = self.clock.now();
        let mut left = bytes as usize;
        while left > 0 {
            let piece = &ZEROS[..left.min(ZEROS.len())];
            self.file
                .write_all(piece)
                .context("writing to a temporary file")?;
            left -= piece.len();
        }
        Ok(self.clock.now() - begin)
    }

    /// Makes `n` calls; returns their time, and the bitwise or of their return codes: 0.
    #[inline(never)]
    fn calls(&mut self, n: u64) -> (u64, c_int) {
        let begin = self.clock.now();
        let failed = in_turns(self.n_sites, n, self.call);
        let ticks = self.clock.now() - begin;
        self.n_calls += n;
        (ticks, failed)
    }

    fn goodbye(mut self) -> Goodbye {
        self.single.counts = self
            .histogram
            .iter_recorded()
            .map(|step| (step.value_iterated_to(), step.count_at_value()))
            .collect();
        Goodbye {
            anchor: self.clock.anchor().into(),
            calls: self.n_calls,
            single: self.single,
        }
    }
}

/// Makes `n` calls from `n_sites` places of the program in turns, at most [`MOST_SITES`]; returns the
/// bitwise or of their return codes.
#[inline(always)]
fn in_turns(n_sites: u64, n: u64, mut call: impl FnMut() -> c_int) -> c_int {
    /// One call for each of the words behind the name, each with a return address of its own.
    macro_rules! rounds {
        ($($place:literal)*) => {{
            let mut failed = 0;
            for _ in 0..n / n_sites {
                $(
                    let _ = $place;
                    failed |= call();
                )*
            }
            for _ in 0..n % n_sites {
                failed |= call();
            }
            failed
        }};
    }
    match n_sites {
        1 => rounds!(1),
        2 => rounds!(1 2),
        4 => rounds!(1 2 3 4),
        MOST_SITES => rounds!(1 2 3 4 5 6 7 8),
        _ => unreachable!("checked by the command line"),
    }
}

/// Most places that can call in turns.
const MOST_SITES: u64 = 8;

/// The least that can record a call: a function in front of it that reads the clock twice, and stores as
/// many bytes as a record has.
#[inline(never)]
fn least_recorded(clock: Clock, call: impl Fn() -> c_int, record: &mut [u64; 4]) -> c_int {
    let enter = clock.now();
    let code = call();
    let leave = clock.now();
    *black_box(record) = [enter, leave, 1, 2];
    code
}

/// The time of `n` pairs of clock readings: the least possible cost of two timestamps.
#[inline(never)]
pub(super) fn pairs_of_readings(clock: Clock, n: u64) -> u64 {
    let begin = clock.now();
    for _ in 0..n {
        black_box(clock.now());
        black_box(clock.now());
    }
    clock.now() - begin
}

/// Times `n` batches of `size` calls. `synchronize` runs before each of them; `call` makes the given
/// number of calls and returns their time; both return the bitwise or of the return codes, 0.
pub(super) fn time_batches(
    clock: Clock,
    (n, size): (u64, u64),
    mut synchronize: impl FnMut() -> c_int,
    mut call: impl FnMut(u64) -> (u64, c_int),
) -> anyhow::Result<Vec<Batch>> {
    // Refills the caches after the other processes.
    let mut failed = call(size).1;
    let mut batches = Vec::with_capacity(n as usize);
    for _ in 0..n {
        let before = Switches::so_far()?;
        let clock_ticks = pairs_of_readings(clock, size);
        failed |= synchronize();
        let (ticks, code) = call(size);
        failed |= code;
        batches.push(Batch {
            ticks,
            clock_ticks,
            preempted: Switches::so_far()?.since(before).preempted,
        });
    }
    success(failed)?;
    Ok(batches)
}

pub(super) fn success(failed: c_int) -> anyhow::Result<()> {
    if failed != 0 {
        bail!("a call of the MPI library returned error code {failed}");
    }
    Ok(())
}

/// Writes an answer to stdout, as one line.
pub(super) fn answer(what: &impl Serialize) -> anyhow::Result<()> {
    answer_to(&mut io::stdout().lock(), what)
}

/// Writes an answer, as one line.
pub(super) fn answer_to(asker: &mut impl Write, what: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    asker.write_all(&line)?;
    asker.flush()?;
    Ok(())
}

impl Switches {
    pub(crate) fn so_far() -> io::Result<Self> {
        // SAFETY: all zeros is a valid rusage, a plain struct of numbers.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the struct is valid for writing.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            preempted: usage.ru_nivcsw as u64,
            blocked: usage.ru_nvcsw as u64,
        })
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            preempted: self.preempted - before.preempted,
            blocked: self.blocked - before.blocked,
        }
    }
}

/// ns per tick between two anchors, and its relative error (half the anchors' widths divided by
/// their distance); `None` if time stood still.
pub(crate) fn ns_per_tick(begin: [u64; 5], end: [u64; 5]) -> Option<(f64, f64)> {
    let (begin, end) = (Anchor::from(begin), Anchor::from(end));
    let ticks = end.ticks.get().checked_sub(begin.ticks.get())?;
    let ns = end.raw_ns.get().checked_sub(begin.raw_ns.get())?;
    if ticks == 0 || ns == 0 {
        return None;
    }
    let width = (begin.width_ticks.get() + end.width_ticks.get()) / 2;
    Some((ns as f64 / ticks as f64, width as f64 / ticks as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_comes_from_the_anchors_and_has_their_error() {
        let begin = [1_000, 50, 0, 0, 100];
        let end = [1_000 + 2_000_000, 50 + 1_000_000, 0, 0, 300];
        let (rate, error) = ns_per_tick(begin, end).unwrap();
        assert_eq!(rate, 0.5);
        assert_eq!(error, 200.0 / 2_000_000.0);
        assert_eq!(ns_per_tick(begin, begin), None);
        assert_eq!(ns_per_tick(end, begin), None);
    }

    #[test]
    fn a_thread_that_sleeps_is_seen_to_block() {
        let before = Switches::so_far().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(Switches::so_far().unwrap().since(before).blocked >= 1);
    }
}
