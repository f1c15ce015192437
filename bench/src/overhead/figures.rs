//! From the ticks of two processes to the figures of the result, `collbench.bench.overhead/1`.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use collbench_formats::{Operation, Record};
use collbench_instrument::name_of_clock;
use collbench_stats::spread::Spread;
use serde::Serialize;

use super::is_undisturbed;
use super::trace::Recorded;
use super::worker::{Batch, Goodbye, Hello, Part, SingleCalls, ns_per_tick};
use crate::machine::Machine;

/// Target for the time added to a call, in multiples of two clock readings: median over batches.
pub(super) const BATCHES_TARGET: f64 = 1.5;
/// Target for the time added to a call, in multiples of two clock readings: mean over all calls,
/// with making pages of the trace ready.
const ALL_CALLS_TARGET: f64 = 2.0;
/// Target for a recorded call, in multiples of the same call through the least that can record it:
/// medians over batches.
const FLOOR_TARGET: f64 = 1.2;
/// Target for a call that is recorded with its call site, in multiples of the same call through the least that can
/// record it: medians over batches.
const FLOOR_TARGET_WITH_SITES: f64 = 1.35;

/// Target for the time added to making and freeing a communicator, as a share of these calls.
const COMMUNICATOR_TARGET: f64 = 0.05;

/// Records per measured call: a nonblocking operation has its initiation and its completion, a
/// constructor itself and the freeing of the communicator.
pub(super) fn records_per_call(operation: Operation) -> usize {
    if operation.is_nonblocking() || operation.semantics().is_constructor() {
        2
    } else {
        1
    }
}

/// What the added time is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) enum Yardstick {
    /// Two readings of the clock, the least possible cost of a record.
    #[serde(rename = "two clock readings")]
    TwoReadings,
    /// The call without recording, for calls that take much longer.
    #[serde(rename = "plain")]
    PlainCall,
}

impl Yardstick {
    fn of(operation: Operation) -> Self {
        if operation.semantics().is_constructor() {
            Self::PlainCall
        } else {
            Self::TwoReadings
        }
    }

    /// Its name in the tables.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::TwoReadings => "two clock readings",
            Self::PlainCall => "plain",
        }
    }

    /// The target for a call of `n_records` records, each of which may cost `of_a_record` times two
    /// clock readings.
    fn target(self, of_a_record: f64, n_records: usize) -> f64 {
        match self {
            Self::TwoReadings => of_a_record * n_records as f64,
            Self::PlainCall => COMMUNICATOR_TARGET,
        }
    }
}

/// With fewer batches there is no verdict.
pub(super) const LEAST_BATCHES: usize = 100;

/// All measurements, in ticks. Pairs have the plain process first.
pub(super) struct Measured {
    pub(super) machine: Machine,
    pub(super) file_system: String,
    pub(super) operation: Operation,
    pub(super) batch: u64,
    pub(super) hello: [Hello; 2],
    pub(super) batches: Vec<(Batch, Batch)>,
    /// Batches through the least that can record.
    pub(super) floor: Vec<Batch>,
    /// Whether it is recorded from where calls are made.
    pub(super) has_sites: bool,
    pub(super) many: Vec<[Part; 2]>,
    pub(super) written_ticks: Vec<u64>,
    pub(super) each: Vec<[Part; 2]>,
    pub(super) goodbye: [Goodbye; 2],
    pub(super) recorded: Recorded,
}

/// The result. Times in ns; unknown figures are `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Figures {
    schema: &'static str,
    pub(super) command: Vec<String>,
    pub(super) collbench: &'static str,
    pub(super) machine: Machine,
    pub(super) mpi_library: String,
    /// Settings of Open MPI made by the user.
    pub(super) environment: BTreeMap<String, String>,
    pub(super) clock: ClockFigures,
    pub(super) operation: &'static str,
    /// The unit of `ratio` and `bar`.
    pub(super) yardstick: Yardstick,
    pub(super) communicator: &'static str,
    pub(super) batches: BatchFigures,
    pub(super) all_calls: AllCallsFigures,
    pub(super) single_calls: SingleCallsFigures,
    pub(super) trace: TraceFigures,
    pub(super) invalid: Vec<Invalid>,
    raw: Raw,
}

/// The recorder's clock, which also times the measurements.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct ClockFigures {
    pub(super) source: &'static str,
    /// Granularity of its readings.
    pub(super) granularity_ns: f64,
    /// Bound on the error of all times here, from the anchors that gave the clock's rate.
    pub(super) rate_error_ppm: f64,
}

/// Per call, over batches in which neither process was preempted.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct BatchFigures {
    pub(super) calls_per_batch: u64,
    pub(super) plain_ns: Option<Spread>,
    pub(super) recorded_ns: Option<Spread>,
    /// Recorded minus plain, batch by batch.
    pub(super) added_ns: Option<Spread>,
    pub(super) two_clock_readings_ns: Option<Spread>,
    /// Median added time divided by the median of the yardstick.
    pub(super) ratio: Option<f64>,
    pub(super) bar: f64,
    /// Whether the ratio is below the target; `None` with too few batches.
    pub(super) met: Option<bool>,
    /// The call through a function that reads the clock twice and stores as many bytes as a record has:
    /// the floor of this machine.
    pub(super) floor_ns: Option<Spread>,
    /// Median time of a recorded call divided by that of the floor.
    pub(super) times_floor: Option<f64>,
    pub(super) floor_bar: f64,
    /// Whether that is below the target; `None` with too few batches, and for operations of several
    /// records.
    pub(super) floor_met: Option<bool>,
}

/// Per call, the mean over many, with everything that recording does meanwhile.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct AllCallsFigures {
    pub(super) everything: Means,
    /// Over the turns in which neither process was preempted.
    pub(super) undisturbed: Option<Means>,
    /// Time of the plain process to write the same number of bytes per call to a file beside the
    /// trace, and nothing else: the cost of new pages in a file on this machine.
    pub(super) same_bytes_written_ns: f64,
    pub(super) bar: f64,
    /// Whether the ratio over all calls is below the target; `None` if the cost of the clock is
    /// unknown.
    pub(super) met: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Means {
    pub(super) calls: u64,
    pub(super) plain_ns: f64,
    pub(super) recorded_ns: f64,
    pub(super) added_ns: f64,
    pub(super) ratio: Option<f64>,
}

/// Intervals from one clock reading after a call to the next one.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct SingleCallsFigures {
    pub(super) calls: u64,
    pub(super) plain: Intervals,
    pub(super) recorded: Intervals,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Intervals {
    pub(super) median_ns: f64,
    pub(super) p90_ns: f64,
    pub(super) p99_ns: f64,
    pub(super) p999_ns: f64,
    pub(super) p9999_ns: f64,
    pub(super) longest_ns: f64,
    pub(super) pauses_above_1us: u64,
    pub(super) pauses_above_10us: u64,
    pub(super) pauses_above_100us: u64,
    /// How often the kernel gave the core to another thread.
    pub(super) preempted: u64,
    /// How often the thread had to wait for something.
    pub(super) blocked: u64,
}

/// Figures of the trace.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct TraceFigures {
    pub(super) calls: u64,
    pub(super) bytes_per_call: usize,
    pub(super) file_bytes: u64,
    /// With headers, definitions, and the unused rest of chunks.
    pub(super) file_bytes_per_call: f64,
    pub(super) file_system: String,
    pub(super) chunks: usize,
    /// Time to make the pages of one chunk ready: the recorder's own pauses.
    pub(super) preparation_ns: Option<Spread>,
    pub(super) preparation_per_call_ns: f64,
}

/// Measurements that do not count.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Invalid {
    pub(crate) measurement: &'static str,
    pub(crate) n: usize,
    pub(crate) of: usize,
    pub(crate) why: &'static str,
}

/// The single measurements, in the order in which they were made.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Raw {
    batches: RawBatches,
    turns: RawTurns,
}

#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RawBatches {
    plain_ns: Vec<f64>,
    recorded_ns: Vec<f64>,
    two_clock_readings_plain_ns: Vec<f64>,
    two_clock_readings_recorded_ns: Vec<f64>,
    preempted: Vec<u64>,
}

#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RawTurns {
    calls: Vec<u64>,
    plain_ns: Vec<f64>,
    recorded_ns: Vec<f64>,
    same_bytes_written_ns: Vec<f64>,
    preempted: Vec<u64>,
}

impl Figures {
    /// # Errors
    /// If the two processes do not match: another clock, another MPI library.
    pub(super) fn of(measured: Measured) -> anyhow::Result<Self> {
        let rates = Rates::of(&measured)?;
        let [plain, recorded] = &measured.hello;
        if plain.mpi_library != recorded.mpi_library {
            bail!(
                "the recorded process uses another MPI library: {:?} instead of {:?}",
                recorded.mpi_library,
                plain.mpi_library
            );
        }
        let batches = batch_figures(&measured, &rates);
        let yardstick = Yardstick::of(measured.operation);
        let two_readings = batches.two_clock_readings_ns.map(|spread| spread.median);
        let all_calls = all_calls_figures(
            &measured.many,
            &measured.written_ticks,
            &rates,
            |plain_ns| match yardstick {
                Yardstick::TwoReadings => two_readings,
                Yardstick::PlainCall => Some(plain_ns),
            },
            yardstick.target(ALL_CALLS_TARGET, records_per_call(measured.operation)),
        );
        Ok(Self {
            schema: "collbench.bench.overhead/1",
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            collbench: env!("CARGO_PKG_VERSION"),
            mpi_library: first_line(&plain.mpi_library),
            environment: settings(),
            clock: ClockFigures {
                source: name_of_clock(measured.recorded.clock),
                granularity_ns: hundredths(plain.granularity_ticks as f64 * rates.plain),
                rate_error_ppm: hundredths(rates.error * 1e6),
            },
            operation: measured.operation.name(),
            yardstick,
            communicator: "MPI_COMM_SELF",
            single_calls: SingleCallsFigures {
                calls: measured.each.iter().map(|[plain, _]| plain.calls).sum(),
                plain: Intervals::of(&measured.goodbye[0].single, rates.plain),
                recorded: Intervals::of(&measured.goodbye[1].single, rates.recorded),
            },
            trace: trace_figures(&measured, &rates),
            invalid: invalid(&measured),
            raw: raw(&measured, &rates),
            machine: measured.machine,
            batches,
            all_calls,
        })
    }
}

/// ns per tick of the two processes.
struct Rates {
    plain: f64,
    recorded: f64,
    error: f64,
}

impl Rates {
    fn of(measured: &Measured) -> anyhow::Result<Self> {
        let rate = |i: usize| {
            ns_per_tick(measured.hello[i].anchor, measured.goodbye[i].anchor)
                .context("the clock did not advance during the measurement")
        };
        let (plain, plain_error) = rate(0)?;
        let (recorded, recorded_error) = rate(1)?;
        Ok(Self {
            plain,
            recorded,
            error: plain_error.max(recorded_error),
        })
    }
}

fn batch_figures(measured: &Measured, rates: &Rates) -> BatchFigures {
    let calls = measured.batch as f64;
    let valid = || measured.batches.iter().filter(|pair| is_undisturbed(pair));
    let plain_ns = |batch: &Batch| batch.ticks as f64 * rates.plain / calls;
    let recorded_ns = |batch: &Batch| batch.ticks as f64 * rates.recorded / calls;
    let added =
        rounded(Spread::of(valid().map(|(plain, recorded)| {
            recorded_ns(recorded) - plain_ns(plain)
        })));
    let readings = rounded(Spread::of(valid().flat_map(|(plain, recorded)| {
        [
            plain.clock_ticks as f64 * rates.plain / calls,
            recorded.clock_ticks as f64 * rates.recorded / calls,
        ]
    })));
    let plain = rounded(Spread::of(valid().map(|(plain, _)| plain_ns(plain))));
    let yardstick = Yardstick::of(measured.operation);
    let compared = match yardstick {
        Yardstick::TwoReadings => readings,
        Yardstick::PlainCall => plain,
    };
    let ratio = ratio(
        added.map(|spread| spread.median),
        compared.map(|spread| spread.median),
    );
    let bar = yardstick.target(BATCHES_TARGET, records_per_call(measured.operation));
    let recorded = rounded(Spread::of(
        valid().map(|(_, recorded)| recorded_ns(recorded)),
    ));
    let floor = measured.floor.iter().filter(|batch| batch.preempted == 0);
    let floor = rounded(Spread::of(floor.map(plain_ns)));
    let has_one_record = records_per_call(measured.operation) == 1;
    let times_floor = self::ratio(
        recorded.map(|spread| spread.median),
        floor.map(|spread| spread.median),
    )
    .filter(|_| has_one_record);
    let floor_bar = if measured.has_sites {
        FLOOR_TARGET_WITH_SITES
    } else {
        FLOOR_TARGET
    };
    let has_enough = valid().count() >= LEAST_BATCHES;
    BatchFigures {
        calls_per_batch: measured.batch,
        plain_ns: plain,
        recorded_ns: recorded,
        added_ns: added,
        two_clock_readings_ns: readings,
        ratio,
        bar,
        met: ratio.filter(|_| has_enough).map(|ratio| ratio <= bar),
        floor_ns: floor,
        times_floor,
        floor_bar,
        floor_met: times_floor
            .filter(|_| has_enough)
            .map(|times| times <= floor_bar),
    }
}

fn all_calls_figures(
    turns: &[[Part; 2]],
    written_ticks: &[u64],
    rates: &Rates,
    // From the time of a plain call.
    yardstick_ns: impl Fn(f64) -> Option<f64>,
    bar: f64,
) -> AllCallsFigures {
    let means = |turns: &mut dyn Iterator<Item = &[Part; 2]>| {
        let (mut calls, mut plain_ticks, mut recorded_ticks) = (0, 0, 0);
        for [plain, recorded] in turns {
            calls += plain.calls;
            plain_ticks += plain.ticks;
            recorded_ticks += recorded.ticks;
        }
        let plain_ns = plain_ticks as f64 * rates.plain / calls as f64;
        let recorded_ns = recorded_ticks as f64 * rates.recorded / calls as f64;
        (calls > 0).then(|| Means {
            calls,
            plain_ns: hundredths(plain_ns),
            recorded_ns: hundredths(recorded_ns),
            added_ns: hundredths(recorded_ns - plain_ns),
            ratio: ratio(Some(recorded_ns - plain_ns), yardstick_ns(plain_ns)),
        })
    };
    let everything = means(&mut turns.iter()).unwrap_or_default();
    AllCallsFigures {
        everything,
        undisturbed: means(&mut turns.iter().filter(|turn| preempted(turn) == 0)),
        same_bytes_written_ns: hundredths(
            written_ticks.iter().sum::<u64>() as f64 * rates.plain / everything.calls.max(1) as f64,
        ),
        bar,
        met: everything.ratio.map(|ratio| ratio <= bar),
    }
}

impl Intervals {
    fn of(single: &SingleCalls, ns_per_tick: f64) -> Self {
        let total: u64 = single.counts.iter().map(|&(_, n)| n).sum();
        let quantile = |share: f64| {
            let place = (share * total as f64).ceil() as u64;
            let mut below = 0;
            let found = single.counts.iter().find(|&&(_, n)| {
                below += n;
                below >= place
            });
            hundredths(found.map_or(0, |&(ticks, _)| ticks) as f64 * ns_per_tick)
        };
        let above = |ns: f64| {
            let long = |&&(ticks, _): &&(u64, u64)| ticks as f64 * ns_per_tick > ns;
            single.counts.iter().filter(long).map(|&(_, n)| n).sum()
        };
        Self {
            median_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            p9999_ns: quantile(0.9999),
            longest_ns: hundredths(single.longest_ticks as f64 * ns_per_tick),
            pauses_above_1us: above(1e3),
            pauses_above_10us: above(1e4),
            pauses_above_100us: above(1e5),
            preempted: single.switches.preempted,
            blocked: single.switches.blocked,
        }
    }
}

fn trace_figures(measured: &Measured, rates: &Rates) -> TraceFigures {
    let recorded = &measured.recorded;
    let total: u64 = recorded.preparations.iter().sum();
    let records_per_call = records_per_call(measured.operation);
    let n_calls = recorded.records as f64 / records_per_call as f64;
    TraceFigures {
        calls: recorded.calls,
        bytes_per_call: records_per_call * size_of::<Record>(),
        file_bytes: recorded.file_bytes,
        file_bytes_per_call: hundredths(recorded.file_bytes as f64 / n_calls),
        file_system: measured.file_system.clone(),
        chunks: recorded.preparations.len(),
        preparation_ns: rounded(Spread::of(
            recorded
                .preparations
                .iter()
                .map(|&ticks| ticks as f64 * rates.recorded),
        )),
        preparation_per_call_ns: hundredths(total as f64 * rates.recorded / n_calls),
    }
}

fn invalid(measured: &Measured) -> Vec<Invalid> {
    let batches = measured.batches.iter().filter(|pair| !is_undisturbed(pair));
    let n_turns = measured.many.len();
    let turns = measured.many.iter().filter(|turn| preempted(turn) > 0);
    let n_batches = measured.batches.len();
    let n_preempted = batches.count();
    let mut found = vec![
        Invalid {
            measurement: "batches",
            n: n_preempted,
            of: n_batches,
            why: "a process was preempted in the batch or its counterpart; left out",
        },
        Invalid {
            measurement: "turns of the mean over all calls",
            n: turns.count(),
            of: n_turns,
            why: "a process was preempted; included in the mean of all calls, not in that of \
                  undisturbed turns",
        },
    ];
    found.retain(|invalid| invalid.n > 0);
    if n_batches - n_preempted < LEAST_BATCHES {
        found.push(Invalid {
            measurement: "ratio of batches",
            n: 1,
            of: 1,
            why: "fewer than 100 batches: no verdict",
        });
    }
    found
}

fn raw(measured: &Measured, rates: &Rates) -> Raw {
    let per_call =
        |ticks: u64, rate: f64, calls: u64| hundredths(ticks as f64 * rate / calls as f64);
    let mut batches = RawBatches::default();
    for (plain, recorded) in &measured.batches {
        let of_plain = |ticks| per_call(ticks, rates.plain, measured.batch);
        let of_recorded = |ticks| per_call(ticks, rates.recorded, measured.batch);
        batches.plain_ns.push(of_plain(plain.ticks));
        batches.recorded_ns.push(of_recorded(recorded.ticks));
        batches
            .two_clock_readings_plain_ns
            .push(of_plain(plain.clock_ticks));
        batches
            .two_clock_readings_recorded_ns
            .push(of_recorded(recorded.clock_ticks));
        batches.preempted.push(plain.preempted + recorded.preempted);
    }
    let mut turns = RawTurns::default();
    for (turn @ [plain, recorded], &written) in measured.many.iter().zip(&measured.written_ticks) {
        turns
            .same_bytes_written_ns
            .push(per_call(written, rates.plain, plain.calls));
        turns.calls.push(plain.calls);
        turns
            .plain_ns
            .push(per_call(plain.ticks, rates.plain, plain.calls));
        turns
            .recorded_ns
            .push(per_call(recorded.ticks, rates.recorded, recorded.calls));
        turns.preempted.push(preempted(turn));
    }
    Raw { batches, turns }
}

fn preempted([plain, recorded]: &[Part; 2]) -> u64 {
    plain.switches.preempted + recorded.switches.preempted
}

pub(super) fn ratio(added: Option<f64>, yardstick: Option<f64>) -> Option<f64> {
    let yardstick = yardstick.filter(|&ns| ns > 0.0)?;
    Some((added? / yardstick * 1e3).round() / 1e3)
}

/// Rounds to two decimals: the clock's granularity divided by the calls of a batch allows no more.
pub(crate) fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

pub(super) fn rounded(spread: Option<Spread>) -> Option<Spread> {
    spread.map(|spread| mapped(spread, hundredths))
}

/// The spread after `of` was applied to all values. It must not change their order.
pub(super) fn mapped(spread: Spread, of: impl Fn(f64) -> f64) -> Spread {
    Spread {
        n: spread.n,
        min: of(spread.min),
        lower_quartile: of(spread.lower_quartile),
        median: of(spread.median),
        upper_quartile: of(spread.upper_quartile),
        max: of(spread.max),
    }
}

/// First line of a version text. Open MPI's text is one line with a terminating zero; MPICH's has
/// its configuration after it.
pub(crate) fn first_line(text: &str) -> String {
    let end = |c: char| c.is_whitespace() || c == '\0';
    let line = text.lines().next().unwrap_or_default();
    line.trim_end_matches(end).to_owned()
}

/// Settings of MPI libraries and of the communication libraries below them begin like this.
const SETTINGS: [&str; 7] = [
    "OMPI_MCA_",
    "MPICH_",
    "MPIR_CVAR_",
    "I_MPI_",
    "MV2_",
    "UCX_",
    "FI_",
];

/// Settings of the MPI library in the environment of this process, without those that its launcher made.
pub(crate) fn settings() -> BTreeMap<String, String> {
    std::env::vars_os()
        .map(|(name, value)| {
            (
                name.to_string_lossy().into_owned(),
                value.to_string_lossy().into_owned(),
            )
        })
        .filter(|(name, _)| SETTINGS.iter().any(|prefix| name.starts_with(prefix)))
        // MPICH's launcher gives each host the name of its own interface.
        .filter(|(name, _)| {
            !super::pair::is_of_launcher(name) && !name.ends_with("_INTERFACE_HOSTNAME")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::worker::Switches;

    fn part(calls: u64, ticks: u64, preempted: u64) -> Part {
        Part {
            calls,
            ticks,
            switches: Switches {
                preempted,
                blocked: 0,
            },
        }
    }

    #[test]
    fn the_mean_of_all_has_the_disturbed_turns_and_the_other_one_has_not() {
        let rates = Rates {
            plain: 0.5,
            recorded: 0.5,
            error: 0.0,
        };
        let turns = [
            [part(100, 400, 0), part(100, 4_000, 0)],
            [part(100, 400, 0), part(100, 40_000, 2)],
        ];
        let figures = all_calls_figures(&turns, &[1_000, 3_000], &rates, |_| Some(10.0), 3.0);
        assert_eq!(figures.everything.plain_ns, 2.0);
        assert_eq!(figures.everything.recorded_ns, 110.0);
        assert_eq!(figures.everything.ratio, Some(10.8));
        assert_eq!(figures.met, Some(false));
        assert_eq!(figures.same_bytes_written_ns, 10.0);
        let undisturbed = figures.undisturbed.unwrap();
        assert_eq!(undisturbed.calls, 100);
        assert_eq!(undisturbed.added_ns, 18.0);
        assert_eq!(undisturbed.ratio, Some(1.8));
    }

    #[test]
    fn quantiles_and_pauses_are_those_of_the_counts() {
        let single = SingleCalls {
            counts: vec![(20, 9_980), (40, 10), (2_400, 9), (240_000, 1)],
            longest_ticks: 240_100,
            switches: Switches::default(),
        };
        let intervals = Intervals::of(&single, 0.5);
        assert_eq!(intervals.median_ns, 10.0);
        assert_eq!(intervals.p999_ns, 20.0);
        assert_eq!(intervals.p9999_ns, 1_200.0);
        assert_eq!(intervals.longest_ns, 120_050.0);
        assert_eq!(
            (
                intervals.pauses_above_1us,
                intervals.pauses_above_10us,
                intervals.pauses_above_100us
            ),
            (10, 1, 1)
        );
    }

    #[test]
    fn without_a_clock_cost_there_is_no_ratio() {
        assert_eq!(ratio(Some(1.0), None), None);
        assert_eq!(ratio(Some(1.0), Some(0.0)), None);
        assert_eq!(ratio(Some(9.0), Some(18.0)), Some(0.5));
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Figures>("collbench.bench.overhead/1");
    }
}
