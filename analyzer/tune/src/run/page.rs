//! The page: what was proposed, whether it was faster, whether that was predicted, and why nothing else was proposed.

mod pictures;
mod rows;

use collbench_text::inert;
use collbench_text::quantity::{counted, duration};
use collbench_viz::{Align, Cell, Fact, FigureGroup, Findings, Report, Table};

use super::outcome::{Outcome, Tried};
use super::screen::{seconds, time};
use rows::{Kind, Rival};

/// Kinds of calls for which a sentence says why nothing is proposed; the table has all.
const NAMED: usize = 20;
/// Columns of a statement.
const STATEMENT: usize = 600;

impl Outcome {
    /// The page, as HTML.
    #[must_use]
    pub fn to_html(&self) -> String {
        let kinds = rows::kinds(self);
        Report {
            title: "collbench: is the program faster with what is proposed?".into(),
            lead: self.lead().into(),
            facts: self.facts(),
            verdict: self.statements().join("\n").into(),
            findings: self.findings(),
            operations: self.table(&kinds),
            figures: pictures::program(self).into_iter().collect(),
            groups: self.groups(&kinds),
            ..Report::default()
        }
        .to_html()
    }

    fn lead(&self) -> String {
        let considered = &self.considered;
        let places = if considered.n_processes == 0 {
            String::new()
        } else {
            format!(
                ", {} {} on {}",
                considered.n_processes,
                if considered.n_processes == 1 {
                    "process"
                } else {
                    "processes"
                },
                counted(considered.n_hosts as u64, "host")
            )
        };
        let command = self.command.join(" ");
        format!(
            "{}{places}, {}.",
            inert::line(&command, 200),
            inert::line(&self.library, 120)
        )
    }

    /// The answer, and for each proposal whether its time was predicted.
    fn statements(&self) -> Vec<String> {
        let answer = inert::line(&self.answer(), STATEMENT);
        let of_proposals = (0..self.tried.len()).filter_map(|idx| self.agreement(idx));
        std::iter::once(answer).chain(of_proposals).collect()
    }

    /// Whether a proposal takes the time that was predicted; `None` if that is not known.
    fn agreement(&self, idx: usize) -> Option<String> {
        let tried = &self.tried[idx];
        let predicted = tried.predicted?;
        let measured = self.judged(idx)?.ratio;
        let (low, high) = measured.interval?;
        let agrees = if high < predicted.p05 {
            "it is faster than predicted"
        } else if low > predicted.p95 {
            "it is slower than predicted"
        } else {
            "that agrees with the prediction"
        };
        Some(format!(
            "{}: measured {:.3} of the time ({low:.3} to {high:.3}), predicted {:.3} ({:.3} to {:.3}): {agrees}",
            inert::line(&tried.proposal.name, 60),
            measured.value,
            predicted.median,
            predicted.p05,
            predicted.p95
        ))
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut add = |name: &str, value: String| {
            facts.push(Fact {
                name: name.into(),
                value: value.into(),
            });
        };
        add("command", self.command.join(" "));
        add("library", self.library.clone());
        let announced = self.plan.map(|plan| {
            add(
                "announced",
                format!(
                    "{}, about {} in all, {} at most",
                    counted(plan.n_runs() as u64, "run"),
                    seconds(plan.expected().as_secs_f64()),
                    seconds(plan.limit.as_secs_f64())
                ),
            );
            format!(" of {} announced", plan.n_rounds)
        });
        add(
            "rounds",
            format!("{}{}", self.rounds.n(), announced.unwrap_or_default()),
        );
        let runs = self.rounds.baselines.as_flattened().iter();
        let all_s: f64 = runs.chain(self.rounds.proposals.iter().flatten()).sum();
        add("time of all rounds", seconds(all_s));
        if let Some(why) = self.stop.and_then(|stop| stop.in_words()) {
            add("end", why);
        }
        if let Some(first_s) = self.first_s {
            add("first run, not recorded", seconds(first_s));
        }
        add("first run, recorded", seconds(self.recorded_s));
        if let Some(pair) = self.rounds.baseline_pair() {
            add(
                "A/A: second run of a round by the first",
                format!(
                    "{:.3} ({:.3} to {:.3})",
                    pair.ratio, pair.interval.0, pair.interval.1
                ),
            );
        }
        add("seed", self.seed.to_string());
        for tried in &self.tried {
            add(
                &format!("with {}", tried.proposal.name),
                tried.command.clone(),
            );
        }
        if let Some(directory) = &self.directory {
            add("directory", directory.clone());
        }
        facts
    }

    fn findings(&self) -> Vec<Findings> {
        let of = |heading: &str, sentences: Vec<String>| Findings {
            heading: heading.into(),
            sentences: sentences.into_iter().map(Into::into).collect(),
        };
        let of_kinds: Vec<String> = (self.considered.kinds.iter())
            .filter_map(|kind| kind.why_nothing())
            .collect();
        let rare = self.considered.rare_in_words();
        let others = rare.into_iter().chain(self.not_tried.iter().cloned());
        let n_more = of_kinds.len().saturating_sub(NAMED);
        let more =
            (n_more > 0).then(|| format!("{} more kinds of calls, which the table has", n_more));
        let kinds = of_kinds.iter().take(NAMED).cloned();
        let why_not = kinds.chain(more).chain(others).collect();
        let in_part = |tried: &Tried| {
            let name = tried.proposal.name.clone();
            let each = tried.not_applied().into_iter();
            each.map(move |why| format!("{name}: {why}"))
        };
        let not_applied = self.tried.iter().flat_map(in_part).collect();
        vec![
            of("Not proposed, and why", why_not),
            of("Not applied, and why", not_applied),
            of("What else is to be known", self.remarks.clone()),
        ]
    }

    /// A row for all that could run instead, and for each kind of calls for which nothing could.
    fn table(&self, kinds: &[Kind<'_>]) -> Table {
        let columns = [
            ("Calls", Align::Left),
            ("What could run", Align::Left),
            ("As it ran", Align::Right),
            ("Predicted", Align::Right),
            ("Predicted change", Align::Right),
            ("Proposal", Align::Left),
            ("Measured", Align::Right),
            ("Verdict", Align::Left),
        ];
        let rows = kinds.iter().flat_map(|kind| {
            let none = kind.rivals.is_empty().then(|| self.row_of_none(kind));
            let rivals = kind.rivals.iter().map(|rival| self.row(kind, rival));
            rivals.chain(none)
        });
        Table::new(columns, rows).with_caption(
            "The best algorithm and the best tree for each kind of calls, with times of the median instance. Measured: of one \
             recorded run with the proposal. The verdict is that of the whole program. Names link to the pictures.",
        )
    }

    fn row(&self, kind: &Kind<'_>, rival: &Rival<'_>) -> [Cell; 8] {
        let ran = kind.ran.get(rival.class).map(|ran| ran.measured.median_ns);
        [
            Cell::words(kind.in_words() + &kind.place(rival.class)),
            Cell::words(rival.what),
            median(ran),
            median(Some(rival.predicted.median_ns)),
            match rival.gain {
                None => Cell::words("-"),
                Some(gain) => Cell::number(gain.in_words(), (-1e6 * gain.mean) as i64),
            },
            Cell::words(rival.proposed_in_words()),
            median(rival.measured(self).map(|of| of.value)),
            Cell::words(self.verdict_of(rival)),
        ]
    }

    fn row_of_none(&self, kind: &Kind<'_>) -> [Cell; 8] {
        let why = match kind.not_predicted {
            Some(why) => format!("nothing is predicted: {why}"),
            None => "nothing is better than what ran".to_owned(),
        };
        let ran = kind.ran.first().filter(|_| kind.ran.len() == 1);
        [
            Cell::words(kind.in_words()),
            Cell::words("-"),
            median(ran.map(|ran| ran.measured.median_ns)),
            Cell::words("-"),
            Cell::words("-"),
            Cell::words(why),
            Cell::words("-"),
            Cell::words("not run"),
        ]
    }

    /// What became of something in the runs.
    fn verdict_of(&self, rival: &Rival<'_>) -> String {
        let Some((idx, nth)) = rival.tried else {
            return "not run".to_owned();
        };
        let tried = &self.tried[idx];
        let why = tried.checked.get(nth).and_then(|of| of.why_not());
        match why {
            Some(why) => format!("not applied: {why}"),
            None => format!(
                "{}: {}",
                tried.proposal.name,
                self.verdict_in_words(idx, tried)
            ),
        }
    }

    /// Pictures by kind of calls.
    fn groups(&self, kinds: &[Kind<'_>]) -> Vec<FigureGroup> {
        let all_ns: f64 = kinds.iter().filter_map(|kind| kind.took_ns).sum();
        let mut row = 0;
        let mut groups = Vec::new();
        for kind in kinds {
            let first = row;
            row += kind.rivals.len().max(1);
            let Some(figure) = pictures::kind(kind, self) else {
                continue;
            };
            let fact = |name: &str, value: String| Fact {
                name: name.into(),
                value: value.into(),
            };
            let mut facts = vec![fact("instances", kind.n_instances.to_string())];
            facts.extend(kind.took_ns.map(|ns| {
                let part = 100.0 * ns / all_ns.max(1.0);
                let took = duration(ns as i64);
                fact(
                    "time together",
                    format!("{took}, {part:.0} % of all that was searched"),
                )
            }));
            groups.push(FigureGroup {
                heading: kind.in_words().into(),
                row: Some(first),
                facts,
                figures: vec![figure],
                ..FigureGroup::default()
            });
        }
        groups
    }
}

fn median(ns: Option<f64>) -> Cell {
    ns.map_or_else(|| Cell::words("-"), |ns| Cell::number(time(ns), ns as i64))
}
