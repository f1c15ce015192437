//! The texts of a timemap: figures beside the rows, tooltips, and the description for screen
//! readers.

use collbench_text::quantity::{counted_grouped, duration, grouped};

use super::band::quantile;
use super::{Sides, StageTime, Stages, Thread, Timemap, duration_of};

impl Stages {
    /// What x = 0 is.
    pub(super) fn zero_words(&self) -> String {
        match &self.core {
            Some(core) => format!("entering {}", core.cut(30)),
            None => "the end of the wait".to_owned(),
        }
    }
}

impl Timemap {
    /// What the axis shows, without its unit.
    pub(super) fn axis_words(&self) -> String {
        let zero = self.stages.zero_words();
        match (self.stages.down.is_empty(), self.sides) {
            (true, _) => format!("mean time since {zero}"),
            (false, Sides::BeforeAndAfter) => {
                format!("mean time before (left) and after (right) {zero}")
            }
            (false, Sides::ToAndFromRoot) => {
                "mean time to the root (left) and from the root (right)".to_owned()
            }
        }
    }

    /// The sorted means of the threads that resolve `stage`.
    pub(super) fn means(&self, stage: usize) -> Vec<i64> {
        let times = self.threads.iter().filter_map(|thread| thread.times[stage]);
        let mut means: Vec<i64> = times.map(|time| time.mean_ns).collect();
        means.sort_unstable();
        means
    }

    /// The largest uncertainty of the times of `stage`, ns; `None` if one clock stamped both ends of
    /// each.
    pub(super) fn error_ns(&self, stage: usize) -> Option<u64> {
        let times = self.threads.iter().filter_map(|thread| thread.times[stage]);
        times.filter_map(StageTime::error_ns).max()
    }

    /// Whether any thread's time in `stage` is longer than its uncertainty.
    pub(super) fn is_resolved(&self, stage: usize) -> bool {
        let mut times = self.threads.iter().filter_map(|thread| thread.times[stage]);
        times.any(StageTime::is_resolved)
    }

    /// One to three short lines on the means of the threads in `stage`.
    pub(super) fn numbers(&self, stage: usize) -> Vec<String> {
        let means = self.means(stage);
        let missing = self.threads.len() - means.len();
        let mut lines = Vec::new();
        let error = self.error_ns(stage).map(duration_of);
        if let Some(error) = error.as_ref().filter(|_| !self.is_resolved(stage)) {
            lines.push("not resolved:".to_owned());
            lines.push(format!("clock error ±{error}"));
        } else if let (Some(&least), Some(&greatest)) = (means.first(), means.last()) {
            let error = error.map_or(String::new(), |error| format!(" ±{error}"));
            if least == greatest {
                lines.push(format!("{}{error}", duration(least)));
            } else {
                let median = duration(quantile(&means, 50));
                lines.push(format!("median {median}{error}"));
                lines.push(format!("{} to {}", duration(least), duration(greatest)));
            }
        }
        if means.is_empty() {
            lines.push("not resolvable".into());
        } else if missing > 0 {
            let (missing, of) = (grouped(missing as u64), grouped(self.threads.len() as u64));
            lines.insert(0, format!("{missing} of {of} not resolvable"));
        }
        lines
    }

    /// The thread and all its times, with numbers of samples.
    pub(super) fn tooltip(&self, thread: &Thread) -> String {
        let stages = self
            .stages
            .names()
            .zip(&thread.times)
            .map(|(name, time)| match time {
                Some(time) => format!("{name} {}", time.words()),
                None => format!("{name} not resolvable"),
            });
        let stages: Vec<String> = stages.collect();
        let (down, rest) = thread.times.split_at(self.stages.down.len());
        let sum = |times: &[Option<StageTime>], ns: i64| {
            if times.iter().all(Option::is_some) {
                duration(ns)
            } else {
                format!("{} (as far as resolvable)", duration(ns))
            }
        };
        let [left, right] = self.sides.names();
        format!(
            "{}: {} {left}, {} {right}\n{}",
            thread.line.full_name(),
            sum(down, thread.down_ns()),
            sum(rest, thread.up_ns()),
            stages.join("\n")
        )
    }

    /// The picture described in words.
    pub(super) fn description(&self) -> String {
        let mut text = format!(
            "Timemap of {}: cumulative mean time in each stage, for {} over {}.",
            self.heading.operation,
            counted_grouped(self.threads.len() as u64, "rank"),
            counted_grouped(self.heading.n_instances, "instance"),
        );
        for (stage, name) in self.stages.names().enumerate() {
            text.push_str(&format!(" {name}: {}.", self.numbers(stage).join(", ")));
        }
        text
    }
}
