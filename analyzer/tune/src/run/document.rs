//! The document `collbench.tune-run/1`.

mod considered;

use collbench_stats::median::Median;
use collbench_text::json;
use serde::Serialize;

use super::applied::Checked;
use super::outcome::{Ending, Outcome, Tried};
use super::proof::Proven;
use super::rounds::{Stop, Verdict};
use crate::predict::{Band, Ratios};
use crate::proposal::{Change, Means};
use considered::OfKind;

/// Name of the document and its version.
pub const SCHEMA: &str = "collbench.tune-run/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    command: &'a [String],
    library: &'a str,
    seed: u64,
    announced: Option<Announced>,
    recorded_s: f64,
    first_s: Option<f64>,
    rounds: usize,
    stopped: Option<Stopped>,
    interrupted: bool,
    differs: Option<&'a str>,
    baseline: Baseline,
    best: Option<&'a str>,
    alone: Option<Alone<'a>>,
    proposals: Vec<OfProposal<'a>>,
    not_proposed: Vec<String>,
    considered: Vec<OfKind<'a>>,
    remarks: &'a [String],
    directory: Option<&'a str>,
    files: &'a [String],
}

#[derive(Serialize)]
struct Announced {
    rounds: usize,
    runs: usize,
    run_s: f64,
    recorded_run_s: f64,
    expected_s: f64,
    limit_s: f64,
}

#[derive(Serialize)]
struct Stopped {
    why: &'static str,
    detectable_gain: Option<f64>,
    predicted_gain: Option<f64>,
    rounds_needed: Option<u64>,
}

#[derive(Serialize)]
struct Baseline {
    runs_s: Vec<[f64; 2]>,
    median_s: Option<f64>,
    second_by_first: Option<WithInterval>,
    deviation: Option<f64>,
}

#[derive(Serialize)]
struct WithInterval {
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Serialize)]
struct OfProposal<'a> {
    name: &'a str,
    means: &'static str,
    verdict: &'static str,
    why: Option<&'a str>,
    ratio: Option<WithInterval>,
    rounds: usize,
    p_faster: Option<f64>,
    p_slower: Option<f64>,
    predicted_ratio: Option<Ratios>,
    measured_by_predicted: Option<f64>,
    runs_s: &'a [f64],
    command: &'a str,
    file: Option<&'a str>,
    changes: Vec<OfChange<'a>>,
}

#[derive(Serialize)]
struct OfChange<'a> {
    operation: &'a str,
    communicator: &'a str,
    processes: usize,
    root: Option<usize>,
    bytes: u64,
    instances: u64,
    ran: &'a str,
    ran_ns: Band,
    what: &'a str,
    method: &'a str,
    predicted_ns: Band,
    applied: Option<bool>,
    instead: Vec<Instead<'a>>,
    measured_ns: Option<Measured>,
    measured_by_predicted: Option<f64>,
}

#[derive(Serialize)]
struct Alone<'a> {
    why_not: Option<&'a str>,
    measured: Vec<OfProven<'a>>,
}

#[derive(Serialize)]
struct OfProven<'a> {
    operation: &'a str,
    processes: usize,
    bytes: u64,
    method: &'a str,
    tree: bool,
    predicted_ns: Band,
    own_choice_ns: Measured,
    measured_ns: Measured,
    own_choice_by_recorded: f64,
    conclusive: bool,
    slower: bool,
}

#[derive(Serialize)]
struct Instead<'a> {
    ran: &'a str,
    instances: u64,
}

#[derive(Serialize)]
struct Measured {
    median: f64,
    low: Option<f64>,
    high: Option<f64>,
    instances: usize,
    launches: usize,
}

impl WithInterval {
    fn of(value: f64, interval: Option<(f64, f64)>) -> Self {
        let (low, high) = interval.unzip();
        Self { value, low, high }
    }
}

impl Outcome {
    /// The document. `files` are the names of what is in the directory.
    #[must_use]
    pub fn to_json(&self, files: &[String]) -> String {
        let pair = self.rounds.baseline_pair();
        let of_baselines = self.rounds.baselines.as_flattened().iter().copied();
        let best = self.best();
        json::document(&Document {
            schema: SCHEMA,
            command: &self.command,
            library: &self.library,
            seed: self.seed,
            announced: self.plan.map(|plan| Announced {
                rounds: plan.n_rounds,
                runs: plan.n_runs(),
                run_s: plan.run.as_secs_f64(),
                recorded_run_s: plan.recorded.as_secs_f64(),
                expected_s: plan.expected().as_secs_f64(),
                limit_s: plan.limit.as_secs_f64(),
            }),
            recorded_s: self.recorded_s,
            first_s: self.first_s,
            rounds: self.rounds.n(),
            stopped: self.stop.map(|stop| stop.into()),
            interrupted: self.is_interrupted(),
            differs: self.differs.as_deref(),
            baseline: Baseline {
                runs_s: self.rounds.baselines.clone(),
                median_s: Median::of(of_baselines).map(|of| of.value),
                second_by_first: pair.map(|of| WithInterval::of(of.ratio, Some(of.interval))),
                deviation: pair.map(|of| of.deviation),
            },
            best: best.map(|(idx, _)| &*self.tried[idx].proposal.name),
            alone: self.proof.as_ref().map(|proof| Alone {
                why_not: proof.why_not.as_deref(),
                measured: proof.proven.iter().map(OfProven::from).collect(),
            }),
            proposals: (self.tried.iter().enumerate())
                .map(|(idx, tried)| self.of_proposal(idx, tried))
                .collect(),
            not_proposed: self.not_proposed(),
            considered: self.considered.kinds.iter().map(OfKind::from).collect(),
            remarks: &self.remarks,
            directory: self.directory.as_deref(),
            files,
        })
    }

    fn of_proposal<'a>(&'a self, idx: usize, tried: &'a Tried) -> OfProposal<'a> {
        let judged = self.judged(idx);
        let (verdict, why) = match (&tried.ending, judged) {
            (Ending::NotApplied(why), _) => ("not_applied", Some(&**why)),
            (Ending::Failed(how), _) => ("failed", Some(&**how)),
            (Ending::TooSlow(how), _) => ("too_slow", Some(&**how)),
            (Ending::AsTheProgram, None) => ("not_measured", None),
            (Ending::AsTheProgram, Some(of)) => match of.verdict {
                Verdict::Faster => ("faster", None),
                Verdict::Slower => ("slower", None),
                Verdict::NoGain if tried.is_applied() => ("no_gain", None),
                Verdict::NoGain => ("applied_in_part", None),
                Verdict::TooFew => ("too_few", None),
            },
        };
        let ratio = judged.map(|of| of.ratio);
        let changes = tried.proposal.changes.iter().enumerate();
        OfProposal {
            name: &tried.proposal.name,
            means: match tried.proposal.means {
                Means::Environment { .. } => "environment",
                Means::Trees(_) => "trees",
            },
            verdict,
            why,
            ratio: ratio.map(|of| WithInterval::of(of.value, of.interval)),
            rounds: ratio.map_or(0, |of| of.n),
            p_faster: ratio.map(|of| of.p_less),
            p_slower: ratio.map(|of| of.p_more),
            predicted_ratio: tried.predicted,
            measured_by_predicted: ratio
                .zip(tried.predicted)
                .map(|(of, predicted)| of.value / predicted.median),
            runs_s: self.rounds.proposals.get(idx).map_or(&[], |of| of),
            command: &tried.command,
            file: tried.file.as_deref(),
            changes: changes
                .map(|(nth, change)| OfChange::of(change, tried.checked.get(nth)))
                .collect(),
        }
    }
}

impl From<Stop> for Stopped {
    fn from(stop: Stop) -> Self {
        let why = match stop {
            Stop::Decided => "decided",
            Stop::TooNoisy { .. } => "too_noisy",
            Stop::Time => "time",
            Stop::Interrupted => "interrupted",
            Stop::NoneLeft => "none_left",
        };
        let numbers = match stop {
            Stop::TooNoisy {
                detectable,
                predicted,
                n_rounds,
            } => Some((detectable, predicted, n_rounds)),
            _ => None,
        };
        Self {
            why,
            detectable_gain: numbers.map(|of| of.0),
            predicted_gain: numbers.map(|of| of.1),
            rounds_needed: numbers.map(|of| of.2),
        }
    }
}

impl From<Median> for Measured {
    fn from(of: Median) -> Self {
        let (low, high) = of.interval.unzip();
        Self {
            median: of.value,
            low,
            high,
            instances: of.n,
            launches: 1,
        }
    }
}

impl<'a> From<&'a Proven> for OfProven<'a> {
    fn from(of: &'a Proven) -> Self {
        Self {
            operation: of.operation.name(),
            processes: of.n_processes,
            bytes: of.bytes,
            method: &of.method,
            tree: of.is_tree,
            predicted_ns: of.predicted,
            own_choice_ns: of.own_ns.into(),
            measured_ns: of.measured_ns.into(),
            own_choice_by_recorded: of.own_ns.value / of.recorded_ns.max(1.0),
            conclusive: of.says_nothing().is_none(),
            slower: of.is_slower(),
        }
    }
}

impl<'a> OfChange<'a> {
    fn of(change: &'a Change, checked: Option<&'a Checked>) -> Self {
        let measured = checked.and_then(|of| of.measured_ns);
        let instead = checked.map_or(&[][..], |of| &of.instead).iter();
        Self {
            operation: change.operation.name(),
            communicator: &change.communicator,
            processes: change.n_processes,
            root: change.root,
            bytes: change.bytes,
            instances: change.n_instances,
            ran: &change.ran,
            ran_ns: change.measured,
            what: &change.what,
            method: change.method.name(),
            predicted_ns: change.predicted,
            applied: checked.and_then(|of| of.is_applied),
            instead: instead
                .map(|(ran, instances)| Instead {
                    ran,
                    instances: *instances,
                })
                .collect(),
            measured_ns: measured.map(Measured::from),
            measured_by_predicted: measured
                .map(|of| of.value / change.predicted.median_ns.max(1.0)),
        }
    }
}
