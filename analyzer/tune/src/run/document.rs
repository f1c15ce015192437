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
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    schema: &'static str,
    /// The command, word by word.
    command: &'a [String],
    /// The MPI library, with its version.
    library: &'a str,
    /// What the order of the runs was drawn from.
    seed: u64,
    /// What was announced before the runs; `None` if there were none.
    announced: Option<Announced>,
    /// Time of the recorded run, s.
    recorded_s: f64,
    /// Time of the first run without the recorder, s; `None` if there was none.
    first_s: Option<f64>,
    /// Rounds that were run.
    rounds: usize,
    /// Why no more rounds were run; `None` if all were.
    stopped: Option<Stopped>,
    /// Whether a signal ended it.
    interrupted: bool,
    /// Why the program cannot be compared with itself any more.
    differs: Option<&'a str>,
    /// The runs of the program as it is.
    baseline: Baseline,
    /// Name of the best proposal; `None` if none is faster.
    best: Option<&'a str>,
    /// The benchmark before the runs; `None` if there was none.
    alone: Option<Alone<'a>>,
    /// What was run.
    proposals: Vec<OfProposal<'a>>,
    /// Why there is no proposal, as sentences.
    not_proposed: Vec<String>,
    /// What the search looked at, those calls first that took longest.
    considered: Vec<OfKind<'a>>,
    /// Remarks, as sentences.
    remarks: &'a [String],
    /// Where the files are; `None` if they were not kept.
    directory: Option<&'a str>,
    /// The names of these files.
    files: &'a [String],
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Announced {
    /// Rounds, at most.
    rounds: usize,
    /// Runs, at most.
    runs: usize,
    /// Time of a run, s.
    run_s: f64,
    /// Time of a recorded run, s.
    recorded_run_s: f64,
    /// Time of all runs, s.
    expected_s: f64,
    /// What they may take at most, s.
    limit_s: f64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Stopped {
    /// `decided`, `too_noisy`, `time`, `interrupted` or `none_left`.
    why: &'static str,
    /// Where it is too noisy, the least part of the time that can be told from chance.
    detectable_gain: Option<f64>,
    /// The largest part of the time that a proposal is predicted to save.
    predicted_gain: Option<f64>,
    /// Rounds that would show it.
    rounds_needed: Option<u64>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Baseline {
    /// By round, the times of both runs, s.
    runs_s: Vec<[f64; 2]>,
    /// Their median, s.
    median_s: Option<f64>,
    /// The second run of a round by the first, its median.
    second_by_first: Option<WithInterval>,
    /// Standard deviation of the time of a run within its round, as a part of it.
    deviation: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WithInterval {
    value: f64,
    /// Lower end of its 95 % interval; `None` with too few rounds.
    low: Option<f64>,
    /// Its upper end.
    high: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfProposal<'a> {
    /// Its name.
    name: &'a str,
    /// `environment` or `trees`.
    means: &'static str,
    /// `faster`, `slower`, `no_gain`, `applied_in_part`, `too_few`, `not_applied`, `failed`, `too_slow` or `not_measured`.
    verdict: &'static str,
    /// Why it failed, or was not applied.
    why: Option<&'a str>,
    /// The time with it by that without it in the same round.
    ratio: Option<WithInterval>,
    /// Rounds in which it was run.
    rounds: usize,
    /// The chance of so small a ratio if nothing changed.
    p_faster: Option<f64>,
    /// The chance of so large a ratio if nothing changed.
    p_slower: Option<f64>,
    /// The ratio that is predicted.
    predicted_ratio: Option<Ratios>,
    /// The measured ratio by the predicted one.
    measured_by_predicted: Option<f64>,
    /// By round, the time of its run, s.
    runs_s: &'a [f64],
    /// The command that uses it.
    command: &'a str,
    /// Its file, if it has one.
    file: Option<&'a str>,
    /// What it changes, by class of calls.
    changes: Vec<OfChange<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfChange<'a> {
    /// The name in the MPI standard.
    operation: &'a str,
    /// Name of the communicator.
    communicator: &'a str,
    /// Its processes.
    processes: usize,
    /// Rank of the root in it; `None` for operations without one.
    root: Option<usize>,
    /// Payload of one process, bytes.
    bytes: u64,
    /// Instances in the recorded run.
    instances: u64,
    /// What ran.
    ran: &'a str,
    /// Its times, ns.
    ran_ns: Band,
    /// What is proposed, in words.
    what: &'a str,
    /// The library's function, or the tree.
    method: &'a str,
    /// How long instances are predicted to take, ns.
    predicted_ns: Band,
    /// Whether that ran in the recorded run with it; `None` where that is not known.
    applied: Option<bool>,
    /// What else ran.
    instead: Vec<Instead<'a>>,
    /// Its times in the recorded run with it.
    measured_ns: Option<Measured>,
    /// The measured median by the predicted one.
    measured_by_predicted: Option<f64>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Alone<'a> {
    /// Why nothing, or not everything, was measured.
    why_not: Option<&'a str>,
    /// By kind of calls and proposal.
    measured: Vec<OfProven<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfProven<'a> {
    /// The name in the MPI standard.
    operation: &'a str,
    /// Processes of the communicator.
    processes: usize,
    /// Payload of one process, bytes.
    bytes: u64,
    /// The library's function, or the tree in words.
    method: &'a str,
    /// Whether it is a tree.
    tree: bool,
    /// How long instances are predicted to take, ns.
    predicted_ns: Band,
    /// Times of the library's own choice.
    own_choice_ns: Measured,
    /// Times of what is proposed.
    measured_ns: Measured,
    /// The time of the library's own choice by that in the program.
    own_choice_by_recorded: f64,
    /// Whether that is from 2/3 to 3/2.
    conclusive: bool,
    /// Whether what is proposed is slower.
    slower: bool,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Instead<'a> {
    /// What ran.
    ran: &'a str,
    /// Its instances.
    instances: u64,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Measured {
    /// Median, ns.
    median: f64,
    /// Lower end of its 95 % interval, ns; `None` with too few.
    low: Option<f64>,
    /// Upper end of its 95 % interval, ns.
    high: Option<f64>,
    /// Instances that were measured.
    instances: usize,
    /// Launches in which they were.
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Document<'_>>(super::SCHEMA);
    }
}
