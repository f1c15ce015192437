//! All that is known after the runs.

use super::applied::Checked;
use super::plan::Plan;
use super::rounds::{Judged, Rounds, Stop, Verdict};
use crate::predict::Ratios;
use crate::proposal::Proposal;

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
    /// Times of complete rounds.
    pub rounds: Rounds,
    /// Why there were no more rounds; `None` if all were run.
    pub stop: Option<Stop>,
    /// Why the program cannot be compared with itself any more.
    pub differs: Option<String>,
    /// The proposals.
    pub tried: Vec<Tried>,
    /// Why there is nothing to try, or what was left out.
    pub not_proposed: Vec<String>,
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

    /// Whether nothing of it was applied.
    #[must_use]
    pub fn is_nothing_applied(&self) -> bool {
        self.checked.iter().all(|of| of.is_applied == Some(false))
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

    /// Whether a signal ended it.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.stop == Some(Stop::Interrupted)
    }
}
