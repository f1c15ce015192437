//! Predictions as rows of text.

use std::fmt::Write as _;

use collbench_text::inert;
use collbench_text::quantity::{counted, duration, size};

use super::parameters::{LEAST, LinkTooFew};
use super::{
    Band, IDENTITY, Identity, LEAST_INSTANCES, LeftOut, LinkClass, MOST, Method,
    PredictedCandidate, Prediction, Predictions, Ratios, RunPrediction,
};
use crate::words::sized;

/// Candidates that are shown of a class.
const SHOWN: usize = 5;

impl PredictedCandidate {
    /// The part of the time of what ran that is saved; below 0 where it takes longer.
    #[must_use]
    pub fn gain(&self, measured: Band) -> f64 {
        1.0 - self.predicted.median_ns / measured.median_ns.max(1.0)
    }
}

impl Prediction<'_> {
    /// Why nothing is predicted; `None` where something is.
    #[must_use]
    pub fn not_predicted(&self) -> Option<String> {
        match &self.identity {
            Err(why) => Some(why.clone()),
            Ok(identity) if !identity.holds() => Some(identity.in_words()),
            Ok(_) => None,
        }
    }
}

impl Identity {
    fn in_words(&self) -> String {
        let mut words = format!(
            "what ran is predicted to take {:.2} times as long as it did (median of {}; 0.95 to 1.05 is needed), and 0.8 to \
             1.25 times as long in {:.0} % of them (90 % is needed)",
            self.ratio,
            counted(self.n as u64, "instance"),
            100.0 * self.within,
        );
        if self.alike < MOST {
            let _ = write!(
                words,
                ". The measured times themselves vary: {:.0} % of them are 0.8 to 1.25 times their median",
                100.0 * self.alike
            );
        }
        words
    }
}

fn time(ns: f64) -> String {
    duration(ns.max(0.0) as i64)
}

impl Predictions<'_> {
    /// What a user reads.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for link in &self.links {
            let of = &link.link;
            let _ = writeln!(
                text,
                "{}: o_s {}, o_r {}, L {}, {}, {}",
                link.name,
                time(of.send_overhead_ns),
                time(of.receive_overhead_ns),
                time(of.latency_ns),
                match of.gap_per_byte_ns {
                    0.0 => "G not visible".to_owned(),
                    ns => format!("G {ns:.3} ns per byte"),
                },
                link.source(),
            );
        }
        for LinkTooFew { name, n_messages } in &self.links_too_few {
            let messages = match n_messages {
                0 => "no short message".to_owned(),
                n => format!("only {}", counted(*n as u64, "short message")),
            };
            let _ = writeln!(
                text,
                "{name}: {messages} waited for no other one, and {LEAST} are needed; record more calls, or give a links file"
            );
        }
        let (rare, mut others): (Vec<&Prediction<'_>>, Vec<&Prediction<'_>>) = self
            .predictions
            .iter()
            .partition(|of| of.class.has_too_few());
        others.sort_by(|a, b| b.all_ns().total_cmp(&a.all_ns()));
        for prediction in others {
            text.push('\n');
            prediction.write(&mut text);
        }
        if !rare.is_empty() {
            let n_instances: u64 = rare.iter().map(|of| of.class.n_instances).sum();
            let _ = writeln!(
                text,
                "\n{} of other operations, roots, payloads or algorithms, of each less than {}: too few to predict",
                counted(n_instances, "instance"),
                2 * LEAST_INSTANCES,
            );
        }
        if !self.trees_left_out.is_empty() {
            text.push('\n');
            write_left_out(&mut text, "", &self.trees_left_out);
        }
        if let Some(run) = &self.run {
            text.push('\n');
            run.write(&mut text);
        }
        text
    }
}

impl RunPrediction {
    /// Why nothing is predicted of the whole run; `None` where something could be.
    #[must_use]
    pub fn not_predicted(&self) -> Option<String> {
        let [least, most] = IDENTITY;
        let is_right = (least..=most).contains(&self.identity);
        (!is_right).then(|| {
            format!(
                "the run as it was is predicted to take {:.2} times as long as it did; {least} to {most} is needed",
                self.identity
            )
        })
    }

    pub(super) fn write(&self, text: &mut String) {
        let _ = writeln!(
            text,
            "{}, {} in {}, if processes compute as long between them as they did",
            if self.is_begin_only {
                "the begin of the run"
            } else {
                "the whole run"
            },
            counted(self.n_calls as u64, "collective"),
            time(self.took_ns),
        );
        if let Some(why) = self.not_predicted() {
            let _ = writeln!(text, "  cannot predict here: {why}");
            return;
        }
        let _ = writeln!(
            text,
            "  as it ran: predicted to take {:.2} times as long as it did",
            self.identity
        );
        for (what, Ratios { p05, median, p95 }) in &self.changes {
            let _ = writeln!(text, "  {what}: {median:.3} of that ({p05:.3} to {p95:.3})");
        }
        if self.changes.is_empty() {
            let _ = writeln!(text, "  no algorithm is clearly faster");
        }
    }
}

impl LinkClass {
    fn source(&self) -> String {
        let messages = counted(self.n_messages as u64, "message");
        match (self.is_measured, self.n_messages) {
            (true, 0) => "from the links file, deviations unknown".to_owned(),
            (true, _) => format!("from the links file, deviations by {messages}"),
            (false, _) => format!("by {messages}"),
        }
    }
}

/// Lines that say why trees are left out.
fn write_left_out(text: &mut String, indent: &str, left_out: &[LeftOut]) {
    for LeftOut { tree, why } in left_out {
        let tree = inert::line(tree, 120);
        let _ = writeln!(text, "{indent}{tree} left out: {why}");
    }
}

/// Whether a candidate is shown: the fastest ones, and all trees, which somebody asked for.
fn is_shown((nth, candidate): &(usize, &PredictedCandidate)) -> bool {
    *nth < SHOWN || matches!(candidate.method, Method::Tree { .. })
}

impl Prediction<'_> {
    fn write(&self, text: &mut String) {
        let class = &self.class;
        let ran = inert::line(&class.ran_in_words(), 120);
        let _ = writeln!(
            text,
            "{} on {}, {}, {}\n  ran {ran}: {} (p5 {}, p95 {})",
            class.operation.name(),
            class.communicator_in_words(),
            sized(class.ranks.len(), class.bytes),
            counted(class.n_instances, "instance"),
            time(self.measured.median_ns),
            time(self.measured.p05_ns),
            time(self.measured.p95_ns),
        );
        if let Some(why) = self.not_predicted() {
            let _ = writeln!(text, "  cannot predict here: {why}");
            return;
        }
        if let Ok(identity) = &self.identity {
            let _ = writeln!(text, "  check: {}", identity.in_words());
        }
        for (_, candidate) in self.candidates.iter().enumerate().filter(is_shown) {
            let Band {
                p05_ns,
                median_ns,
                p95_ns,
            } = candidate.predicted;
            let segments = match candidate.segment_bytes {
                0 => String::new(),
                length => format!(", segments of {}", size(length)),
            };
            let _ = writeln!(
                text,
                "  {}{segments}: {} ({} to {}), {:+.0} %",
                inert::line(candidate.method.name(), 120),
                time(median_ns),
                time(p05_ns),
                time(p95_ns),
                -100.0 * candidate.gain(self.measured),
            );
        }
        if self.n_left_out > 0 {
            let n = counted(self.n_left_out as u64, "algorithm");
            let _ = writeln!(
                text,
                "  {n} left out: of their messages, between these hosts or as long, too few were recorded"
            );
        }
        write_left_out(text, "  ", &self.trees_left_out);
    }
}
