//! All that is known after the runs.

use super::applied::{Checked, check, ran_over_trees};
use super::considered::Considered;
use super::plan::Plan;
use super::proof::Proof;
use super::rounds::{Judged, Rounds, Stop, Verdict};
use crate::predict::{Ratios, Recorded};
use crate::proposal::{Means, Proposal};

/// Changes for which it is written out why they were not applied.
const SHOWN: usize = 3;

/// What became of the runs of a proposal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// They ended as the program does.
    AsTheProgram,
    /// What ran is not what was proposed, and why.
    NotApplied(String),
    /// One failed where the program does not: how.
    Failed(String),
    /// One was ended since it took much longer than the program: how long, and that.
    TooSlow(String),
}

/// A proposal that was tried.
#[derive(Debug, Clone)]
pub struct Tried {
    /// Which one.
    pub proposal: Proposal,
    /// The time of the whole command with it by that without it, as predicted.
    pub predicted: Option<Ratios>,
    /// By change, what ran in the recorded run; empty if there was none.
    pub checked: Vec<Checked>,
    /// What became of its runs.
    pub ending: Ending,
    /// The command line that uses it.
    pub command: String,
    /// The file for that, if there is one.
    pub file: Option<String>,
}

/// All that is known after the runs.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What was run.
    pub command: Vec<String>,
    /// The first line of the library's version.
    pub library: String,
    /// The number that orders were drawn with.
    pub seed: u64,
    /// What was to be run; `None` if there was nothing to try.
    pub plan: Option<Plan>,
    /// How long the recorded run of the program took, s.
    pub recorded_s: f64,
    /// How long the first run took that was not recorded, s; it is in no round.
    pub first_s: Option<f64>,
    /// Times of complete rounds.
    pub rounds: Rounds,
    /// Why there were no more rounds; `None` if all were run.
    pub stop: Option<Stop>,
    /// Why the program cannot be compared with itself any more.
    pub differs: Option<String>,
    /// What a benchmark said of what was found; `None` if nothing was.
    pub proof: Option<Proof>,
    /// The proposals.
    pub tried: Vec<Tried>,
    /// What the search looked at.
    pub considered: Considered,
    /// Why there was no search, or a file that was given is not tried.
    pub not_tried: Vec<String>,
    /// What else a user must know.
    pub remarks: Vec<String>,
    /// Where traces and files are; `None` if they were removed.
    pub directory: Option<String>,
}

impl Tried {
    /// Whether all that it changes, or that of which something is known, was applied.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        self.checked.iter().all(|of| of.is_applied != Some(false))
    }

    /// Notes what a recorded run with it ran. If nothing of it was applied, there is nothing to measure; `parameters` are those
    /// of the run that may be the reason.
    pub fn check(&mut self, recorded: &Recorded, parameters: &[String]) {
        self.checked = check(&self.proposal, recorded);
        let is_applied = if self.checked.is_empty() {
            matches!(self.proposal.means, Means::Environment { .. })
                || ran_over_trees(recorded) != Some(false)
        } else {
            self.checked.iter().any(|of| of.is_applied != Some(false))
        };
        if !is_applied {
            let mut why = self.not_applied();
            why.truncate(SHOWN);
            if why.is_empty() {
                why.push("no call ran over its trees".to_owned());
            }
            why.extend(parameters.iter().cloned());
            self.ending = Ending::NotApplied(why.join("; "));
        }
    }

    /// What of it was not applied, and why.
    #[must_use]
    pub fn not_applied(&self) -> Vec<String> {
        let each = self.proposal.changes.iter().zip(&self.checked);
        each.filter_map(|(change, of)| Some(format!("{}: {}", change.in_words(), of.why_not()?)))
            .collect()
    }

    /// The largest part of the time of the command that it is predicted to save.
    #[must_use]
    pub fn largest_gain(&self) -> Option<f64> {
        self.predicted.map(|of| 1.0 - of.p05)
    }
}

/// How long a recorded run took from the first enter to the last leave of its collectives, s; `None` if only its begin is
/// known.
#[must_use]
pub fn collectives_s(recorded: &Recorded) -> Option<f64> {
    let enters = recorded.calls.iter().flat_map(|call| &call.enters_ns);
    let leaves = recorded.calls.iter().flat_map(|call| &call.leaves_ns);
    let first_ns = enters.copied().fold(f64::INFINITY, f64::min);
    let last_ns = leaves.copied().fold(0.0, f64::max);
    (!recorded.has_more_calls && first_ns < last_ns).then(|| (last_ns - first_ns) / 1e9)
}

/// The time of a command of which collectives take a part, from the first enter to the last leave, by that without a proposal:
/// what is outside takes as long as before.
#[must_use]
pub fn of_command(run: Ratios, recorded: &Recorded, command_s: f64) -> Ratios {
    // Of a long run only the begin is known: the rest is taken to be like it.
    let part = collectives_s(recorded).map_or(1.0, |s| (s / command_s).min(1.0));
    let of = |ratio: f64| 1.0 - part * (1.0 - ratio);
    Ratios {
        p05: of(run.p05),
        median: of(run.median),
        p95: of(run.p95),
    }
}

impl Outcome {
    /// What is to be said of the times of a proposal; `None` if it has none that can be compared.
    #[must_use]
    pub fn judged(&self, idx: usize) -> Option<Judged> {
        let tried = self.tried.get(idx)?;
        let judged = self.rounds.judge(idx)?;
        match tried.ending {
            Ending::AsTheProgram => Some(judged),
            _ => None,
        }
    }

    /// The proposal with which the program is faster than with any other one, and than as it is.
    #[must_use]
    pub fn best(&self) -> Option<(usize, Judged)> {
        let all = (0..self.tried.len()).filter_map(|idx| Some((idx, self.judged(idx)?)));
        let faster = all.filter(|(_, of)| of.verdict == Verdict::Faster);
        faster.min_by(|a, b| a.1.ratio.value.total_cmp(&b.1.ratio.value))
    }

    /// Why there is nothing to try, or what was left out.
    #[must_use]
    pub fn not_proposed(&self) -> Vec<String> {
        let mut all = self.considered.not_proposed();
        all.extend(self.not_tried.iter().cloned());
        all
    }

    /// Whether a signal ended it.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.stop == Some(Stop::Interrupted)
    }
}
