//! What was found, as proposals to run.

use super::{Change, Means, Proposal, RulesText, Value};
use crate::predict::{Chosen, Found, OfCalls, Ratios, WITH_ALGORITHMS, WITH_TREES};

/// The name of a rule file.
const RULES: &str = "rules.txt";

impl Found<'_> {
    /// The algorithms that are proposed, and the trees, each if there are some.
    #[must_use]
    pub fn proposals(&self) -> Vec<Proposal> {
        let mut proposals = Vec::new();
        if let Some(means) = self.rules() {
            proposals.push(Proposal {
                name: "algorithms".to_owned(),
                means,
                changes: self.changes(OfCalls::algorithm),
                run: self.of_run(WITH_ALGORITHMS),
            });
        }
        if let Some(text) = self.to_tree_file(&[]) {
            proposals.push(Proposal {
                name: "trees".to_owned(),
                means: Means::Trees(text),
                changes: self.changes(OfCalls::tree),
                run: self.of_run(WITH_TREES),
            });
        }
        proposals
    }

    /// A rule file of Open MPI, and the variables that name it.
    fn rules(&self) -> Option<Means> {
        let rules = self.to_rules(RULES)?;
        let text = |name: &str, value: &str| (name.to_owned(), Value::Text(value.to_owned()));
        Some(Means::Environment {
            file: Some(RulesText {
                name: RULES.to_owned(),
                text: rules,
            }),
            variables: vec![
                text("OMPI_MCA_coll_tuned_use_dynamic_rules", "1"),
                (
                    "OMPI_MCA_coll_tuned_dynamic_rules_filename".to_owned(),
                    Value::File,
                ),
            ],
        })
    }

    fn of_run(&self, what: &str) -> Option<Ratios> {
        let changes = &self.run.as_ref()?.changes;
        let found = changes.iter().find(|(name, _)| name == what);
        found.map(|(_, ratios)| *ratios)
    }

    fn changes(&self, pick: fn(&OfCalls) -> Option<&Chosen>) -> Vec<Change> {
        let of_calls = |of: &OfCalls| -> Vec<Change> {
            let Some(chosen) = pick(of) else {
                return Vec::new();
            };
            let each = self.of_classes(of).zip(&chosen.predicted);
            let each = each.zip(&chosen.candidates);
            let changes = each.map(|((prediction, predicted), candidate)| {
                let what = (chosen.what.in_words(), candidate.method.clone());
                Change::of(prediction, what, *predicted)
            });
            changes.collect()
        };
        self.calls.iter().flat_map(of_calls).collect()
    }
}
