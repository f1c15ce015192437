//! From the ticks of all jobs to the figures of the result, `collbench.bench.overhead_ranks/1`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use anyhow::Context;
use collbench_formats::Operation;
use collbench_instrument::name_of_clock;
use collbench_stats::spread::Spread;
use serde::Serialize;

use super::{JOBS, Layers, Measured, RANKS, RECORDED, Round, is_undisturbed};
use crate::machine::Machine;
use crate::overhead::figures::{
    BATCHES_TARGET, ClockFigures, Invalid, LEAST_BATCHES, first_line, hundredths, mapped, ratio,
    rounded,
};
use crate::overhead::table::{
    empty_table, met_in_words, spread_row, verdict, write_clock, write_invalid, write_machine,
};
use crate::overhead::trace::Recorded;
use crate::overhead::worker::{Batch, ns_per_tick};

/// The result. Times per call in ns; unknown figures are `null`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Figures {
    schema: &'static str,
    command: Vec<String>,
    collbench: &'static str,
    machine: Machine,
    mpi_library: String,
    /// Settings of Open MPI made by the user, and the one made here.
    environment: BTreeMap<String, String>,
    clock: ClockFigures,
    launcher: String,
    /// The cores that each rank may run on.
    cores: Vec<String>,
    operation: &'static str,
    payload_bytes: usize,
    ranks: usize,
    calls_per_batch: u64,
    plain_ns: Option<Spread>,
    two_clock_readings_ns: Option<Spread>,
    recorded: Vec<RecordedFigures>,
    /// Time that recording calls adds to a call, compared with two clock readings.
    per_call: Share,
    /// Time that recording messages adds for each end of a message, compared with two clock
    /// readings.
    per_message_end: Share,
    rounds: usize,
    /// Rounds that do not count because a rank was preempted.
    disturbed: usize,
    invalid: Vec<Invalid>,
    raw: Raw,
}

/// Figures of a recorded job.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RecordedFigures {
    #[serde(skip)]
    name: &'static str,
    layers: &'static str,
    ns: Option<Spread>,
    /// Recorded minus plain, round by round.
    added_ns: Option<Spread>,
    /// Median added time in percent of the median plain time.
    slowdown_percent: Option<f64>,
    bar_percent: Option<f64>,
    /// Whether it is below the target; `None` without a target, or with too few rounds.
    met: Option<bool>,
    /// Bytes per call in the trace of a rank, without headers.
    bytes_per_call: f64,
    message_ends_per_call: f64,
}

/// A part of the added time, in multiples of two clock readings.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Share {
    ns: Option<Spread>,
    ratio: Option<f64>,
    bar: f64,
    /// Whether the ratio is below the target; `None` if it is not known, or with too few rounds.
    met: Option<bool>,
}

/// The valid rounds one by one, in the order in which they were made.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Raw {
    plain_ns: Vec<f64>,
    /// By job.
    recorded_ns: Vec<Vec<f64>>,
}

impl Figures {
    pub(super) fn of(measured: &Measured) -> anyhow::Result<Self> {
        let introduction = &measured.introduction;
        let (rate, rate_error) = ns_per_tick(introduction.anchor, measured.last_anchor)
            .context("the clock did not advance during the measurement")?;
        let n_calls = measured.calls_per_batch as f64;
        let valid: Vec<&Round> = measured
            .rounds
            .iter()
            .filter(|round| is_undisturbed(round))
            .collect();
        let ns = |batch: &Batch| batch.ticks as f64 * rate / n_calls;
        let added = |more: usize, less: usize| {
            Spread::of(
                valid
                    .iter()
                    .map(|round| ns(&round[more]) - ns(&round[less])),
            )
        };
        let plain = Spread::of(valid.iter().map(|round| ns(&round[0])));
        let readings = Spread::of(
            valid
                .iter()
                .flat_map(|round| round.each_ref())
                .map(|batch| batch.clock_ticks as f64 * rate / n_calls),
        );
        let are_enough = valid.len() >= LEAST_BATCHES;
        let share = |ns: Option<Spread>| {
            let ratio = ratio(ns.map(|ns| ns.median), readings.map(|ns| ns.median));
            Share {
                ns: rounded(ns),
                ratio,
                bar: BATCHES_TARGET,
                met: ratio
                    .filter(|_| are_enough)
                    .map(|ratio| ratio <= BATCHES_TARGET),
            }
        };
        let recorded: Vec<RecordedFigures> = (1..JOBS)
            .map(|job| {
                recorded_figures(
                    &RECORDED[job - 1],
                    &measured.recorded[job - 1],
                    Spread::of(valid.iter().map(|round| ns(&round[job]))),
                    added(job, 0),
                    plain.filter(|_| are_enough),
                    plain,
                )
            })
            .collect();
        // The jobs with calls only, and with messages in addition.
        let [of_calls, of_messages] = [1, 2];
        let n_ends = recorded[of_messages - 1].message_ends_per_call;
        let per_end = added(of_messages, of_calls).filter(|_| n_ends >= 1.0);
        Ok(Self {
            schema: "collbench.bench.overhead_ranks/1",
            command: std::env::args_os()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            collbench: env!("CARGO_PKG_VERSION"),
            machine: measured.machine.clone(),
            mpi_library: first_line(&introduction.mpi_library),
            environment: measured.environment.clone(),
            clock: ClockFigures {
                source: name_of_clock(measured.recorded[0][0].clock),
                granularity_ns: hundredths(introduction.granularity_ticks as f64 * rate),
                rate_error_ppm: hundredths(rate_error * 1e6),
            },
            launcher: measured.launcher.clone(),
            cores: introduction.cores.clone(),
            operation: Operation::Allreduce.name(),
            payload_bytes: size_of::<u64>(),
            ranks: RANKS,
            calls_per_batch: measured.calls_per_batch,
            plain_ns: rounded(plain),
            two_clock_readings_ns: rounded(readings),
            per_call: share(added(of_calls, 0)),
            per_message_end: share(per_end.map(|all| mapped(all, |ns| ns * (1.0 / n_ends)))),
            rounds: valid.len(),
            disturbed: measured.rounds.len() - valid.len(),
            invalid: invalid(measured, valid.len(), n_ends),
            raw: Raw {
                plain_ns: valid
                    .iter()
                    .map(|round| hundredths(ns(&round[0])))
                    .collect(),
                recorded_ns: (1..JOBS)
                    .map(|job| {
                        valid
                            .iter()
                            .map(|round| hundredths(ns(&round[job])))
                            .collect()
                    })
                    .collect(),
            },
            recorded,
        })
    }

    /// Writes one screen.
    pub(super) fn write_text(&self, output: &mut impl Write) -> io::Result<()> {
        writeln!(
            output,
            "Cost of recording {} of {} bytes on {} ranks",
            self.operation, self.payload_bytes, self.ranks
        )?;
        write_machine(&self.machine, &self.mpi_library, &self.environment, output)?;
        write_clock(&self.clock, output)?;
        writeln!(output, "  launcher {}", self.launcher)?;
        for (rank, cores) in self.cores.iter().enumerate() {
            writeln!(output, "           rank {rank} on core {cores}")?;
        }
        writeln!(output, "  command  {}\n", self.command.join(" "))?;
        writeln!(
            output,
            "Per call, {} rounds of one batch of {} calls per job",
            self.rounds, self.calls_per_batch
        )?;
        let head = [
            "",
            "median ns",
            "quartiles ns",
            "added ns",
            "slowdown",
            "bytes",
        ];
        let mut table = empty_table(&head);
        table.add_row(times_of("plain", self.plain_ns));
        for job in &self.recorded {
            let mut row = times_of(job.name, job.ns);
            row.push(known(
                job.added_ns.map(|added| format!("{:.1}", added.median)),
            ));
            row.push(known(job.slowdown_percent.map(percent)));
            row.push(format!("{:.0}", job.bytes_per_call));
            table.add_row(row);
        }
        table.add_row(times_of("two clock readings", self.two_clock_readings_ns));
        writeln!(output, "{}", table.trim_fmt())?;
        for job in &self.recorded {
            if let Some(bar) = job.bar_percent {
                writeln!(
                    output,
                    "  slowdown with {}: {} (target: at most {}, {})",
                    job.name,
                    known(job.slowdown_percent.map(percent)),
                    percent(bar),
                    met_in_words(job.met)
                )?;
            }
        }
        for (what, share) in [
            ("a call", &self.per_call),
            ("each end of a message, in addition", &self.per_message_end),
        ] {
            writeln!(
                output,
                "  {what}: {} ns; divided by two clock readings {}",
                known(share.ns.map(|ns| format!("{:.1}", ns.median))),
                verdict(share.ratio, share.bar, share.met)
            )?;
        }
        writeln!(
            output,
            "Traces: every call recorded; {:.2} ends of messages per call and rank",
            self.recorded
                .last()
                .map_or(0.0, |job| job.message_ends_per_call)
        )?;
        write_invalid(&self.invalid, output)
    }
}

fn recorded_figures(
    layers: &Layers,
    of_ranks: &[Recorded],
    ns: Option<Spread>,
    added: Option<Spread>,
    plain_for_verdict: Option<Spread>,
    plain: Option<Spread>,
) -> RecordedFigures {
    let slowdown = |plain: Option<Spread>| {
        let share = ratio(added.map(|ns| ns.median), plain.map(|ns| ns.median))?;
        Some(hundredths(share * 100.0))
    };
    let sum = |of: fn(&Recorded) -> u64| of_ranks.iter().map(of).sum::<u64>() as f64;
    let calls = sum(|rank| rank.calls).max(1.0);
    RecordedFigures {
        name: layers.name,
        layers: layers.list,
        ns: rounded(ns),
        added_ns: rounded(added),
        slowdown_percent: slowdown(plain),
        bar_percent: layers.slowdown_target,
        met: slowdown(plain_for_verdict)
            .zip(layers.slowdown_target)
            .map(|(percent, bar)| percent <= bar),
        bytes_per_call: hundredths(sum(|rank| rank.records) * 32.0 / calls),
        message_ends_per_call: hundredths(sum(|rank| rank.message_ends) / calls),
    }
}

fn invalid(measured: &Measured, n_valid: usize, n_ends: f64) -> Vec<Invalid> {
    let n = measured.rounds.len();
    let one = |measurement, why| Invalid {
        measurement,
        n: 1,
        of: 1,
        why,
    };
    let mut found = Vec::new();
    if n_valid < n {
        found.push(Invalid {
            measurement: "rounds",
            n: n - n_valid,
            of: n,
            why: "a rank was preempted in the batch of one of the jobs; left out",
        });
    }
    if n_valid < LEAST_BATCHES {
        found.push(one("verdicts", "fewer than 100 rounds"));
    }
    if n_ends < 1.0 {
        found.push(one(
            "cost of messages",
            "none was seen: this MPI library sends its messages where the recorder cannot see them",
        ));
    }
    if share_a_core(&measured.introduction.cores) {
        found.push(one(
            "measurement",
            "the ranks may run on the same core: --launcher must bind each to its own",
        ));
    }
    found
}

/// Whether any core is in two of the lists, which have the kernel's format: `0-2,5`.
fn share_a_core(lists: &[String]) -> bool {
    let mut seen = BTreeSet::new();
    let cores = lists
        .iter()
        .flat_map(|list| list.split(','))
        .flat_map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<u32>().unwrap_or(0);
            number(first)..=number(last)
        });
    cores.into_iter().any(|core| !seen.insert(core))
}

fn times_of(name: &str, spread: Option<Spread>) -> Vec<String> {
    let Some(spread) = spread else {
        return vec![name.to_owned(), known(None), known(None)];
    };
    // Without their number, which is that of all rounds.
    let mut row = spread_row(name, Some(&spread));
    row.truncate(3);
    row
}

fn known(what: Option<String>) -> String {
    what.unwrap_or_else(|| "unknown".to_owned())
}

fn percent(value: f64) -> String {
    match value.fract() {
        0.0 => format!("{value:.0} %"),
        _ => format!("{value:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::overhead::ranks::job::Introduction;
    use collbench_formats::ClockSource;

    /// Half a nanosecond per tick; batches of 10 calls, with the given ns per call of each job.
    fn measured(rounds: &[([u64; JOBS], u64)], message_ends: u64) -> Measured {
        let batch = |ns: u64, preempted: u64| Batch {
            ticks: ns * 10 * 2,
            clock_ticks: 20 * 10 * 2,
            preempted,
        };
        let rank = Recorded {
            calls: 10,
            message_ends,
            records: 10 + message_ends,
            file_bytes: 4096,
            clock: ClockSource::Tsc,
            preparations: Vec::new(),
        };
        Measured {
            machine: Machine::here(),
            environment: BTreeMap::new(),
            launcher: "mpirun".to_owned(),
            calls_per_batch: 10,
            introduction: Introduction {
                mpi_library: "Open MPI v4".to_owned(),
                cores: vec!["0".to_owned(), "1".to_owned()],
                granularity_ticks: 26,
                anchor: [1_000, 50, 0, 0, 100],
            },
            last_anchor: [1_000 + 2_000_000, 50 + 1_000_000, 0, 0, 100],
            rounds: rounds
                .iter()
                .map(|(ns, preempted)| ns.map(|ns| batch(ns, *preempted)))
                .collect(),
            recorded: vec![vec![rank.clone(), rank]; JOBS - 1],
        }
    }

    #[test]
    fn slow_down_and_shares_are_those_of_the_undisturbed_rounds() {
        let mut rounds = vec![([200, 220, 260, 300], 0); 100];
        rounds.extend([([200, 2_000, 20_000, 200_000], 1); 60]);
        let figures = Figures::of(&measured(&rounds, 20)).unwrap();
        assert_eq!((figures.rounds, figures.disturbed), (100, 60));
        assert_eq!(figures.plain_ns.unwrap().median, 200.0);
        let slowdown = |job: usize| figures.recorded[job].slowdown_percent;
        assert_eq!(
            [0, 1, 2].map(slowdown),
            [Some(10.0), Some(30.0), Some(50.0)]
        );
        let met = |job: usize| figures.recorded[job].met;
        assert_eq!([0, 1, 2].map(met), [Some(true), None, Some(false)]);
        assert_eq!(figures.recorded[1].bytes_per_call, 96.0);
        // 20 ns per call, and 40 ns for two ends, compared with 20 ns.
        assert_eq!(figures.per_call.ratio, Some(1.0));
        assert_eq!(figures.per_message_end.ratio, Some(1.0));
        assert_eq!(figures.per_message_end.met, Some(true));
    }

    #[test]
    fn with_too_few_rounds_or_without_messages_there_is_no_verdict() {
        let few = vec![([200, 220, 260, 300], 0); 99];
        let figures = Figures::of(&measured(&few, 0)).unwrap();
        assert!(figures.recorded.iter().all(|job| job.met.is_none()));
        assert_eq!(figures.recorded[0].slowdown_percent, Some(10.0));
        assert_eq!(figures.per_call.met, None);
        assert_eq!(figures.per_message_end.ratio, None);
        let told: Vec<_> = figures.invalid.iter().map(|it| it.measurement).collect();
        assert_eq!(told, ["verdicts", "cost of messages"]);
    }

    #[test]
    fn cores_that_two_ranks_may_run_on_are_seen() {
        let share = |lists: [&str; 2]| share_a_core(&lists.map(str::to_owned));
        assert!(!share(["0", "1"]) && !share(["0,2", "1,3"]) && !share(["0-3", "4-7"]));
        assert!(share(["0-1", "0-1"]) && share(["0-2,5", "5"]));
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Figures>("collbench.bench.overhead_ranks/1");
    }
}
