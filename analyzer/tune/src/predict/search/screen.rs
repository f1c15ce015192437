//! What was found, as rows of text.

use std::fmt::Write as _;

use collbench_formats::tree::{Form, Shaped};
use collbench_schedules::Numerics;
use collbench_text::inert;
use collbench_text::quantity::{counted, duration};
use collbench_tree_files::shape_name;

use super::super::{Band, LEAST_INSTANCES};
use super::{Bits, Chosen, Found, FoundTree, Gain, OfCalls, Tried, What};
use crate::words::sized;

fn time(ns: f64) -> String {
    duration(ns.max(0.0) as i64)
}

impl Gain {
    /// By how much less or more time, with its interval.
    #[must_use]
    pub fn in_words(self) -> String {
        // Without the sign of a zero.
        let percent = |part: f64| format!("{:+.1}", 0.0 - 100.0 * part);
        format!(
            "{} % ({} to {} %)",
            percent(self.mean),
            percent(self.high),
            percent(self.low)
        )
    }
}

impl What {
    /// What people read.
    #[must_use]
    pub fn in_words(&self) -> String {
        match self {
            Self::Algorithm { function, .. } => inert::line(function, 120),
            Self::Tree(tree) => tree.in_words(),
        }
    }
}

impl FoundTree {
    /// What people read: its shapes, or its root and its nodes.
    #[must_use]
    pub fn in_words(&self) -> String {
        match &self.form {
            Form::Shaped(Shaped { joins, .. }) => {
                let joins = joins.iter();
                let levels = joins
                    .map(|(level, shape)| format!("{} {}", level.plural(), shape_name(*shape)));
                format!("tree, {}", levels.collect::<Vec<_>>().join(", "))
            }
            Form::Nodes(_) => {
                let bottommost = self.wrappers.bottommost();
                let top = match bottommost.contributors.len() {
                    1 => format!("root rank {}", bottommost.owner),
                    n => format!("exchange of {n} partners"),
                };
                format!(
                    "tree node by node, {top}, height {}",
                    self.wrappers.height()
                )
            }
        }
    }
}

impl Found<'_> {
    fn n_calls(&self, is_wanted: impl Fn(&OfCalls) -> bool) -> usize {
        self.calls.iter().filter(|of| is_wanted(of)).count()
    }

    /// The answer in a sentence or two.
    fn verdict(&self) -> String {
        let is_proposed = |of: &OfCalls| of.algorithm().is_some() || of.tree().is_some();
        let n_proposed = self.n_calls(is_proposed);
        let n_unknown = self.n_calls(|of| of.found.is_err());
        let n_all = self.calls.len();
        let took = |is_wanted: &dyn Fn(&OfCalls) -> bool| -> f64 {
            let wanted = self.calls.iter().filter(|of| is_wanted(of));
            wanted.map(|of| of.took_ns).sum()
        };
        let part = |is_wanted: &dyn Fn(&OfCalls) -> bool| {
            100.0 * took(is_wanted) / took(&|_| true).max(1.0)
        };
        let mut verdict = String::new();
        if n_all == 0 {
            return format!(
                "nothing to search: no operation with the same payload, root and algorithm ran at least {} times",
                2 * LEAST_INSTANCES
            );
        }
        if n_proposed == 0 && n_unknown < n_all {
            let _ = write!(verdict, "nothing better was found");
        } else if n_proposed > 0 {
            let _ = write!(
                verdict,
                "something faster was found for {n_proposed} of {n_all} kinds of calls, {:.0} % of their time",
                part(&is_proposed)
            );
        }
        if n_unknown > 0 {
            let begin = if verdict.is_empty() { "" } else { "; " };
            let _ = write!(
                verdict,
                "{begin}{n_unknown} of {n_all} kinds of calls, {:.0} % of their time, cannot be predicted",
                part(&|of: &OfCalls| of.found.is_err())
            );
        }
        let changes = self.run.iter().flat_map(|run| &run.changes);
        if let Some((what, ratios)) = changes.min_by(|a, b| a.1.median.total_cmp(&b.1.median)) {
            let _ = write!(
                verdict,
                "; the whole run {what} takes {:.3} of its time ({:.3} to {:.3})",
                ratios.median, ratios.p05, ratios.p95
            );
        }
        verdict
    }

    /// What a user reads; `command` is the one that was given, without what to write.
    #[must_use]
    pub fn to_text(&self, command: &str) -> String {
        let mut text = format!("{}\n", self.verdict());
        for of in &self.calls {
            text.push('\n');
            self.write(of, &mut text);
        }
        if self.n_rare > 0 {
            let _ = writeln!(
                text,
                "\n{} of other operations, payloads, roots or algorithms, of each less than {}: too few to predict",
                counted(self.n_rare, "instance"),
                2 * LEAST_INSTANCES,
            );
        }
        if let Some(run) = &self.run {
            text.push('\n');
            run.write(&mut text);
        }
        let mut commands = String::new();
        if self.calls.iter().any(|of| of.tree().is_some()) {
            let _ = writeln!(commands, "  {command} --write trees -o trees.toml");
        }
        if self.calls.iter().any(|of| of.algorithm().is_some()) {
            let _ = writeln!(commands, "  {command} --write openmpi -o rules.txt");
        }
        if !commands.is_empty() {
            let _ = write!(
                text,
                "\nThese are predictions; \"collbench-tune run -- COMMAND\" measures them. As files:\n{commands}"
            );
        }
        text
    }

    fn write(&self, of: &OfCalls, text: &mut String) {
        let _ = writeln!(
            text,
            "{}, {}, {}, {}",
            of.operation.name(),
            sized(of.n_processes, of.bytes),
            counted(of.n_instances, "instance"),
            time(of.took_ns),
        );
        for prediction in self.of_classes(of) {
            let class = prediction.class;
            let ran = inert::line(&class.ran_in_words(), 120);
            let _ = writeln!(
                text,
                "  on {} ran {ran}: {}",
                class.communicator_in_words(),
                time(prediction.measured.median_ns),
            );
        }
        match &of.found {
            Err(why) => {
                let _ = writeln!(text, "  cannot predict here: {why}");
            }
            Ok(tried) => tried.write(text),
        }
    }
}

impl Tried {
    fn write(&self, text: &mut String) {
        if let Some(late_ns) = &self.late_ns {
            let latest = (0..late_ns.len()).max_by(|&a, &b| late_ns[a].total_cmp(&late_ns[b]));
            if let Some(latest) = latest {
                let _ = writeln!(
                    text,
                    "  the same processes enter late again and again ({:.0} % of the variation), rank {latest} most, {} after \
                     the median one: trees were made for that",
                    100.0 * self.persistence,
                    time(late_ns[latest]),
                );
            }
        }
        for chosen in [&self.algorithm, &self.tree].into_iter().flatten() {
            chosen.write(text);
        }
        for chosen in &self.other_bits {
            let _ = writeln!(
                text,
                "  left out, since --results does not allow that its results differ in the last digits: {}, {}",
                chosen.what.in_words(),
                chosen.gain.in_words()
            );
        }
        let cut_off = if self.is_cut_off {
            ", cut off by --seconds: another run may find another tree"
        } else {
            ""
        };
        if self.algorithm.is_none() && self.tree.is_none() {
            text.push_str("  nothing else is faster\n");
        }
        let _ = writeln!(text, "  the best of {} tried{cut_off}", self.n);
        if self.n_unknown > 0 {
            let _ = writeln!(
                text,
                "  {} of them left out: of their messages, between these hosts or as long, too few were recorded; a links \
                 file tells (--links)",
                self.n_unknown
            );
        }
    }
}

impl Chosen {
    fn write(&self, text: &mut String) {
        let bands = self.predicted.iter().map(|of| {
            let Band {
                p05_ns,
                median_ns,
                p95_ns,
            } = *of;
            format!("{} ({} to {})", time(median_ns), time(p05_ns), time(p95_ns))
        });
        let bands: Vec<String> = bands.collect();
        let verdict = match &self.why_not {
            None => "proposed".to_owned(),
            Some(why) => format!("not proposed: {why}"),
        };
        let _ = writeln!(
            text,
            "  {}: {}, {}: {verdict}",
            self.what.in_words(),
            bands.join(" and "),
            self.gain.in_words(),
        );
        if let (Some(bits), None) = (self.bits, &self.why_not) {
            let _ = writeln!(text, "    floating-point results are {}", bits.in_words());
        }
    }
}

impl Bits {
    /// What is the same to the last bit and what is not: `the same to the last bit on all ranks and from run to run; not
    /// the same with other numbers of ranks`.
    fn in_words(self) -> String {
        let Numerics {
            same_on_all_ranks,
            same_from_run_to_run,
            same_for_other_mappings,
            same_for_other_numbers,
        } = self.numerics;
        let all = [
            (self.same_as_ran, "as in the recorded run"),
            (same_on_all_ranks, "on all ranks"),
            (same_from_run_to_run, "from run to run"),
            (
                same_for_other_mappings,
                "with other mappings of ranks to hosts",
            ),
            (same_for_other_numbers, "with other numbers of ranks"),
        ];
        let words = |answer: Option<bool>| -> Option<String> {
            let with_it: Vec<&str> = (all.iter())
                .filter(|(of, _)| *of == answer)
                .map(|(_, what)| *what)
                .collect();
            let (last, others) = with_it.split_last()?;
            Some(match others {
                [] => (*last).to_owned(),
                _ => format!("{} and {last}", others.join(", ")),
            })
        };
        let of = [
            ("the same to the last bit", words(Some(true))),
            ("not the same", words(Some(false))),
            ("perhaps not the same", words(None)),
        ];
        let of = of.into_iter();
        let of = of.filter_map(|(what, words)| Some(format!("{what} {}", words?)));
        of.collect::<Vec<_>>().join("; ")
    }
}
