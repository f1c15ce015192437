//! From the measurements to the figures of the result.

use collbench_instrument::{Scheme, name_of_clock};
use collbench_stats::spread::Spread;
use serde::Serialize;

use super::Options;
use super::drift::{self, Burst, Drift, Shortest};
use super::measure::Measured;
use super::quality::{self, Quality};
use crate::machine::{Machine, mpi_library};
use crate::overhead::settings;

/// Steps of a histogram per doubling.
const STEPS: f64 = 8.0;

/// The document `collbench.bench.clock/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Figures {
    schema: &'static str,
    pub(super) machine: Machine,
    pub(super) mpi_library: Option<String>,
    pub(super) command: Vec<String>,
    pub(super) environment: std::collections::BTreeMap<String, String>,
    pub(super) clock: &'static str,
    pub(super) ranks: i32,
    pub(super) has_one_clock: bool,
    pub(super) reference: Participant,
    pub(super) pairs: Vec<PairFigures>,
    pub(super) stop_rule: Vec<Quality>,
    pub(super) synchronization: Vec<Synchronization>,
    /// What could not be used, and why.
    pub(super) invalid: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Participant {
    pub(super) rank: i32,
    pub(super) host: String,
}

/// Figures of the reference with one other participant.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct PairFigures {
    #[serde(flatten)]
    pub(super) local: Participant,
    pub(super) round_trip_ns: Option<Spread>,
    pub(super) histogram: Vec<Step>,
    /// Local against reference; `None` with fewer than three undisturbed bursts.
    pub(super) drift: Option<Drift>,
    pub(super) bursts: Vec<Burst>,
    pub(super) n_disturbed: usize,
    /// Difference of a burst from the line through its neighbours.
    pub(super) held_out_ns: Option<Spread>,
    /// Error of an undisturbed burst, if both processes have one clock.
    pub(super) error_ns: Option<Spread>,
}

/// `n` round trips in [`from_ns`, `to_ns`).
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Step {
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
    pub(super) n: usize,
}

/// Times of a group in both schemes.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Synchronization {
    pub(super) hosts: usize,
    pub(super) linear_ns: Option<Spread>,
    pub(super) rounds_ns: Option<Spread>,
}

impl Figures {
    pub(super) fn of(measured: &Measured, options: &Options) -> Self {
        let mut invalid = Vec::new();
        let mut all_rtts = Vec::new();
        let pairs = (1..measured.participants.len())
            .map(|index| {
                let rtts = round_trips(measured, index);
                let (rank, _) = measured.participants[index];
                // The first one includes waiting for the other process, and setting up connections.
                let expected = options.exchanges as usize - 1;
                if rtts.len() < expected {
                    invalid.push(format!(
                        "{} of {expected} exchanges with rank {rank}: failed, or not made within 60 s",
                        expected - rtts.len()
                    ));
                }
                let figures = PairFigures::of(measured, index, &rtts);
                all_rtts.push(rtts);
                figures
            })
            .collect::<Vec<_>>();
        let n_disturbed: usize = pairs.iter().map(|pair| pair.n_disturbed).sum();
        if n_disturbed > 0 {
            invalid.push(format!(
                "{n_disturbed} of {} bursts: disturbed, with a shortest round trip of more than 1.5 \
                 times that of the best burst of the pair",
                pairs.iter().map(|pair| pair.bursts.len()).sum::<usize>(),
            ));
        }
        Self {
            schema: "collbench.bench.clock/1",
            machine: Machine::here(),
            mpi_library: mpi_library(),
            command: std::env::args().collect(),
            environment: settings(),
            clock: name_of_clock(measured.clock),
            ranks: measured.n_ranks,
            has_one_clock: measured.has_one_clock,
            reference: Participant::of(measured, 0),
            pairs,
            stop_rule: quality::of_stop_rule(&all_rtts),
            synchronization: synchronizations(measured),
            invalid,
        }
    }
}

impl Participant {
    fn of(measured: &Measured, index: usize) -> Self {
        let (rank, host) = &measured.participants[index];
        Self {
            rank: *rank,
            host: host.clone(),
        }
    }
}

impl PairFigures {
    fn of(measured: &Measured, index: usize, rtts: &[u64]) -> Self {
        let ticks = [measured.ticks[0], measured.ticks[index]];
        let bursts = measured.bursts[index - 1].iter();
        let shortest: Vec<Shortest> = bursts
            .filter_map(|burst| Shortest::of(burst, ticks))
            .collect();
        let bursts = drift::bursts(&shortest, measured.ticks[0]);
        let counted = shortest
            .iter()
            .zip(&bursts)
            .filter(|(_, b)| !b.is_disturbed);
        let errors = counted.map(|(shortest, _)| shortest.offset_ns().abs());
        Self {
            local: Participant::of(measured, index),
            round_trip_ns: Spread::of(rtts.iter().map(|&rtt| rtt as f64)),
            histogram: histogram(rtts),
            drift: drift::drift(&bursts),
            n_disturbed: bursts.iter().filter(|burst| burst.is_disturbed).count(),
            held_out_ns: Spread::of(drift::held_out(&bursts)),
            error_ns: Spread::of(errors).filter(|_| measured.has_one_clock),
            bursts,
        }
    }
}

/// Round trips with a participant except the first, ns.
fn round_trips(measured: &Measured, index: usize) -> Vec<u64> {
    let ticks = [measured.ticks[0], measured.ticks[index]];
    let samples = measured.exchanges[index - 1].iter().skip(1);
    let shortest = samples.filter_map(|sample| Shortest::of(std::slice::from_ref(sample), ticks));
    shortest.map(|shortest| shortest.rtt_ns).collect()
}

fn synchronizations(measured: &Measured) -> Vec<Synchronization> {
    let tick = measured.ticks[0];
    let of = |hosts: usize, scheme: Scheme| {
        let mut all = measured.synchronizations.iter();
        let found = all.find(|one| one.hosts == hosts && one.scheme == scheme)?;
        Spread::of(found.ticks.iter().map(|&ticks| tick.ns(ticks) as f64))
    };
    let mut sizes: Vec<usize> = measured.synchronizations.iter().map(|s| s.hosts).collect();
    sizes.dedup();
    let of_size = |hosts| Synchronization {
        hosts,
        linear_ns: of(hosts, Scheme::Linear),
        rounds_ns: of(hosts, Scheme::Rounds),
    };
    sizes.into_iter().map(of_size).collect()
}

/// Histogram with steps of equal ratio, without empty ones.
fn histogram(rtts: &[u64]) -> Vec<Step> {
    let step = |rtt: u64| ((rtt.max(1) as f64).log2() * STEPS).floor();
    let mut steps: Vec<f64> = rtts.iter().map(|&rtt| step(rtt)).collect();
    steps.sort_by(f64::total_cmp);
    steps
        .chunk_by(|a, b| a == b)
        .map(|same| Step {
            from_ns: (same[0] / STEPS).exp2(),
            to_ns: ((same[0] + 1.0) / STEPS).exp2(),
            n: same.len(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_has_every_round_trip_in_a_step_that_holds_it() {
        let rtts = [0, 1, 5_000, 5_001, 5_002, 80_000, 1 << 40];
        let steps = histogram(&rtts);
        assert_eq!(steps.iter().map(|step| step.n).sum::<usize>(), rtts.len());
        for &rtt in &rtts[1..] {
            let holds = |step: &&Step| (step.from_ns..step.to_ns).contains(&(rtt as f64));
            assert_eq!(steps.iter().filter(holds).count(), 1, "{rtt}");
        }
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Figures>("collbench.bench.clock/1");
    }
}
