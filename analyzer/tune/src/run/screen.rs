//! What a user reads: the answer first.

use std::fmt::Write as _;

use collbench_text::inert;
use collbench_text::quantity::{counted, duration};

use super::outcome::{Ending, Outcome, Tried};
use super::proof::Proof;
use super::rounds::{Judged, Stop, Verdict};
use crate::proposal::Change;
use crate::words::sized;

/// Changes of a proposal that are written out.
const SHOWN: usize = 12;

pub(super) fn seconds(time: f64) -> String {
    duration((time * 1e9) as i64)
}

pub(super) fn time(ns: f64) -> String {
    duration(ns.max(0.0) as i64)
}

/// How much less or more time something takes than the program: of the ratio of both.
fn less_or_more(ratio: f64) -> String {
    let percent = 100.0 * (1.0 - ratio).abs();
    let which = if ratio <= 1.0 { "less" } else { "more" };
    format!("{percent:.1} % {which} time")
}

/// An interval of a ratio, as parts of the time that are saved, or are needed in addition if the ratio is above 1.
fn parts((low, high): (f64, f64), ratio: f64) -> String {
    let of = |ratio: f64| 100.0 * (ratio - 1.0);
    let (from, to) = if ratio <= 1.0 {
        (-of(high), -of(low))
    } else {
        (of(low), of(high))
    };
    format!("{from:.1} to {to:.1} %")
}

impl Change {
    /// The calls that it changes.
    #[must_use]
    pub fn in_words(&self) -> String {
        format!(
            "{} on {}, {}",
            self.operation.name(),
            inert::line(&self.communicator, 60),
            sized(self.n_processes, self.bytes)
        )
    }
}

impl Proof {
    fn write(&self, text: &mut String) {
        if !self.proven.is_empty() {
            text.push_str("\nmeasured alone, with the recorded arrivals:\n");
        }
        for proven in &self.proven {
            let _ = writeln!(text, "  {}", proven.in_words());
        }
        if let Some(why) = &self.why_not {
            let _ = writeln!(text, "\nnot measured alone: {why}");
        }
    }
}

impl Stop {
    pub(super) fn in_words(&self) -> Option<String> {
        Some(match self {
            Self::Decided => "no more rounds: all is decided".to_owned(),
            Self::TooNoisy {
                detectable,
                predicted,
                n_rounds,
            } => format!(
                "no more rounds: equal runs differ so much that less than {:.1} % cannot be told from chance in the rounds announced, and \
                 {:.1} % are predicted; that takes some {n_rounds} rounds, or a machine with nothing else to do",
                100.0 * detectable,
                100.0 * predicted
            ),
            Self::Time => "no more rounds: the time that was announced is over".to_owned(),
            Self::NoneLeft | Self::Interrupted => return None,
        })
    }
}

impl Outcome {
    /// What a user reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = self.answer();
        text.push('\n');
        if let Some(pair) = self.rounds.baseline_pair() {
            let all = self.rounds.baselines.as_flattened().iter().copied();
            let median = collbench_stats::median::Median::of(all).map_or(0.0, |of| of.value);
            let _ = writeln!(
                text,
                "\n{}, each with the program twice (A/A): it takes {}; its second run of a round takes {:.3} of the first ({:.3} to {:.3})",
                counted(self.rounds.n() as u64, "round"),
                seconds(median),
                pair.ratio,
                pair.interval.0,
                pair.interval.1,
            );
        }
        if let Some(why) = self.stop.and_then(|stop| stop.in_words()) {
            let _ = writeln!(text, "{why}");
        }
        if let Some(proof) = &self.proof {
            proof.write(&mut text);
        }
        for (idx, tried) in self.tried.iter().enumerate() {
            self.write_tried(&mut text, idx, tried);
        }
        let not_proposed = self.not_proposed();
        let notes = not_proposed.iter().chain(&self.remarks);
        for (nth, note) in notes.enumerate() {
            let _ = writeln!(
                text,
                "{}note: {}",
                if nth == 0 { "\n" } else { "" },
                inert::line(note, 600)
            );
        }
        if let Some(directory) = &self.directory {
            let _ = writeln!(
                text,
                "\ntraces, files, run.json and the page index.html: {directory}"
            );
        }
        text
    }

    /// The first line.
    pub(super) fn answer(&self) -> String {
        let rounds = counted(self.rounds.n() as u64, "round");
        let begin = if self.is_interrupted() {
            format!("interrupted after {rounds}: ")
        } else {
            String::new()
        };
        if let Some(why) = &self.differs {
            return format!("{begin}cannot compare: {why}");
        }
        if let Some((idx, Judged { ratio, .. })) = self.best() {
            let tried = &self.tried[idx];
            let interval = ratio.interval.unwrap_or((ratio.value, ratio.value));
            return format!(
                "{begin}with {} the program takes {} ({}), measured in {rounds}",
                inert::line(&tried.proposal.name, 60),
                less_or_more(ratio.value),
                parts(interval, ratio.value),
            );
        }
        if self.tried.is_empty() {
            let why = match self.considered.is_nothing_predicted() {
                true => "cannot predict here",
                false => "no proposal is predicted to be faster",
            };
            return format!("{begin}nothing to try: {why}");
        }
        let not_applied = |tried: &Tried| matches!(tried.ending, Ending::NotApplied(_));
        if self.tried.iter().all(not_applied) {
            return format!("{begin}not applied: what was proposed did not run");
        }
        let all = (0..self.tried.len()).filter_map(|idx| Some((idx, self.judged(idx)?.verdict)));
        let verdicts: Vec<(usize, Verdict)> = all.collect();
        let has = |verdict, is_applied| {
            let mut all = verdicts.iter();
            all.any(|&(idx, of)| of == verdict && self.tried[idx].is_applied() == is_applied)
        };
        if has(Verdict::NoGain, true) {
            return format!("{begin}no gain that can be told from chance, in {rounds}");
        }
        if has(Verdict::NoGain, false) {
            return format!("{begin}no answer: what was proposed was applied in part only");
        }
        let are_few = verdicts.iter().any(|(_, of)| *of == Verdict::TooFew);
        if are_few || self.rounds.n() == 0 {
            return format!("{begin}no answer: too few rounds");
        }
        format!("{begin}the program is fastest as it is, in {rounds}")
    }

    fn write_tried(&self, text: &mut String, idx: usize, tried: &Tried) {
        let name = inert::line(&tried.proposal.name, 60);
        let _ = writeln!(text, "\n{name}: {}", self.verdict_in_words(idx, tried));
        if let Some(of) = &tried.predicted {
            let _ = write!(
                text,
                "  predicted: {} ({})",
                less_or_more(of.median),
                parts((of.p05, of.p95), of.median)
            );
            match self.judged(idx) {
                Some(judged) => {
                    let _ = writeln!(
                        text,
                        "; measured by predicted time {:.3}",
                        judged.ratio.value / of.median
                    );
                }
                None => text.push('\n'),
            }
        }
        for (nth, change) in tried.proposal.changes.iter().enumerate().take(SHOWN) {
            let checked = tried.checked.get(nth);
            let _ = writeln!(
                text,
                "  {}, {}",
                change.in_words(),
                counted(change.n_instances, "instance")
            );
            let _ = writeln!(
                text,
                "    ran {}: {}",
                inert::line(&change.ran, 120),
                time(change.measured.median_ns)
            );
            let _ = write!(
                text,
                "    {}: predicted {} ({} to {})",
                inert::line(&change.what, 120),
                time(change.predicted.median_ns),
                time(change.predicted.p05_ns),
                time(change.predicted.p95_ns),
            );
            let measured = checked.and_then(|of| of.measured_ns);
            if let Some(why) = checked.and_then(|of| of.why_not()) {
                let _ = writeln!(text, "; not applied: {why}");
            } else if let Some(measured) = measured {
                let _ = write!(text, ", measured {}", time(measured.value));
                if let Some((low, high)) = measured.interval {
                    let _ = write!(text, " ({} to {})", time(low), time(high));
                }
                let _ = write!(
                    text,
                    " in one run, {:.2} of that",
                    measured.value / change.predicted.median_ns.max(1.0)
                );
                let is_unknown = checked.is_some_and(|of| of.is_applied.is_none());
                let _ = writeln!(
                    text,
                    "{}",
                    if is_unknown {
                        "; what ran was not recorded"
                    } else {
                        ""
                    }
                );
            } else {
                text.push('\n');
            }
        }
        if tried.proposal.changes.len() > SHOWN {
            let _ = writeln!(
                text,
                "  and {} more",
                counted((tried.proposal.changes.len() - SHOWN) as u64, "change")
            );
        }
        let is_of_use = !matches!(
            tried.ending,
            Ending::NotApplied(_) | Ending::Failed(_) | Ending::TooSlow(_)
        );
        if is_of_use && self.directory.is_some() {
            let is_faster = self
                .judged(idx)
                .is_some_and(|of| of.verdict == Verdict::Faster);
            let what = if is_faster { "use it" } else { "run as" };
            let _ = writeln!(text, "  {what}: {}", inert::line(&tried.command, 2000));
        }
    }

    /// What came out for a proposal.
    pub(super) fn verdict_in_words(&self, idx: usize, tried: &Tried) -> String {
        match &tried.ending {
            Ending::NotApplied(why) => return format!("not applied: {why}"),
            Ending::Failed(how) => return format!("failed: {how}"),
            Ending::TooSlow(how) => return format!("too slow: {how}"),
            Ending::AsTheProgram => {}
        }
        let Some(Judged { ratio, verdict, .. }) = self.judged(idx) else {
            return "not measured".to_owned();
        };
        let in_part = match tried.is_applied() {
            true => "",
            false => ", though it was applied in part only",
        };
        let interval = ratio.interval.map(|interval| parts(interval, ratio.value));
        let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
        let measured = format!("{}{interval}", less_or_more(ratio.value));
        match verdict {
            Verdict::Faster => format!("faster, {measured}{in_part}"),
            Verdict::Slower => format!("slower, {measured}{in_part}"),
            Verdict::NoGain if tried.is_applied() => {
                format!("no gain that can be told from chance: {measured}")
            }
            Verdict::NoGain => format!(
                "applied in part only, with no gain that can be told from chance: {measured}; {}",
                tried.not_applied().join("; ")
            ),
            Verdict::TooFew => format!(
                "too few rounds to tell: {} in {}",
                less_or_more(ratio.value),
                counted(ratio.n as u64, "round")
            ),
        }
    }
}
