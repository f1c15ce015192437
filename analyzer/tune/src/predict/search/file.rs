//! What is proposed, as files.

use std::fmt::Write as _;

use collbench_formats::Operation;
use collbench_formats::tree::{Form, HostGroup, Level};
use collbench_text::quantity::duration;
use collbench_tree_files::make;

use super::super::library::KnownLibrary;
use super::{Chosen, Found, OfCalls, Tried, What};
use crate::choices::Choice;
use crate::open_mpi;
use crate::written::head;

/// A string of TOML.
fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}

fn list(texts: impl IntoIterator<Item = impl AsRef<str>>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(|of| quoted(of.as_ref())).collect();
    format!("[{}]", quoted.join(", "))
}

fn group(text: &mut String, group: &HostGroup) {
    let kind = match group.level {
        Level::Switch => "switch",
        _ => "site",
    };
    let _ = write!(
        text,
        "[[{kind}]]\nname = {}\nhosts = {}\n\n",
        quoted(&group.name),
        list(&group.hosts)
    );
}

impl OfCalls {
    /// What is proposed.
    fn proposed(&self, pick: fn(&Tried) -> &Option<Chosen>) -> Option<&Chosen> {
        let chosen = pick(self.found.as_ref().ok()?).as_ref()?;
        chosen.why_not.is_none().then_some(chosen)
    }

    /// The algorithm that is proposed, where one is.
    #[must_use]
    pub fn algorithm(&self) -> Option<&Chosen> {
        self.proposed(|of| &of.algorithm)
    }

    /// The tree that is proposed, where one is.
    #[must_use]
    pub fn tree(&self) -> Option<&Chosen> {
        self.proposed(|of| &of.tree)
    }

    fn is_alike(&self, other: &Self) -> bool {
        self.operation.name() == other.operation.name() && self.n_processes == other.n_processes
    }
}

impl Found<'_> {
    /// Calls by operation, processes and payload.
    fn in_order(&self) -> Vec<&OfCalls> {
        let mut calls: Vec<&OfCalls> = self.calls.iter().collect();
        calls.sort_by_key(|of| (of.operation.name(), of.n_processes, of.bytes));
        calls
    }

    /// A tree file of the trees that are proposed, for the payloads and numbers of processes of the run alone; `None`
    /// without any. `commands` use it.
    #[must_use]
    pub fn to_tree_file(&self, commands: &[String]) -> Option<String> {
        let calls = self.in_order();
        calls.iter().find_map(|of| of.tree())?;
        let sentences = [
            "Trees that were predicted to be faster in a recorded run, for its calls alone. A call without".to_owned(),
            "a tree here goes to the MPI library.".to_owned(),
        ];
        let mut text = head(&sentences, commands);
        text += "version = 1\n\n";
        let trees = || calls.iter().filter_map(|of| of.tree());
        if trees().any(|chosen| chosen.what.depends_on_groups()) {
            for of in &self.groups {
                group(&mut text, of);
            }
        }
        let mut rest = &calls[..];
        while let Some((first, others)) = rest.split_first() {
            rest = others;
            let Some(Chosen {
                what: What::Tree(tree),
                ..
            }) = first.tree()
            else {
                continue;
            };
            // One rule for payloads that follow one another.
            let is_same = |of: &&&OfCalls| {
                let form = of.tree().map(|of| &of.what);
                first.is_alike(of)
                    && matches!(form, Some(What::Tree(other)) if other.form == tree.form)
            };
            let n_same = rest.iter().take_while(is_same).count();
            let last = rest[..n_same].last().unwrap_or(first);
            for of in std::iter::once(first).chain(&rest[..n_same]) {
                self.remark(of, &mut text);
            }
            rest = &rest[n_same..];
            let name = first.operation.name().trim_start_matches("MPI_");
            let n_processes = first.n_processes as u32;
            let bytes = match (first.bytes, last.bytes) {
                // Of barriers, which have no payload.
                (0, 0) => (0, u64::MAX),
                bytes => bytes,
            };
            text += &make::calls(&[&name.to_lowercase()], (n_processes, n_processes), bytes);
            match &tree.form {
                Form::Shaped(shaped) => {
                    let _ = writeln!(text, "shape = {}", make::shapes(&shaped.joins));
                }
                Form::Nodes(_) => text += &make::nodes(&tree.wrappers),
            }
            text.push('\n');
        }
        Some(text)
    }

    fn remark(&self, of: &OfCalls, text: &mut String) {
        let Some(chosen) = of.tree() else { return };
        for (prediction, band) in self.of_classes(of).zip(&chosen.predicted) {
            let on = match of.classes.len() {
                1 => String::new(),
                _ => format!(" on {}", quoted(&prediction.class.communicator_in_words())),
            };
            let _ = writeln!(
                text,
                "# {} of {} bytes{on}: {} instead of {} predicted",
                of.operation.name(),
                of.bytes,
                duration(band.median_ns as i64),
                duration(prediction.measured.median_ns as i64),
            );
        }
    }

    /// The algorithms that are proposed, as choices: for the payloads of the run alone, and the library's own choice for all
    /// others.
    #[must_use]
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices: Vec<Choice> = Vec::new();
        let calls = self.in_order();
        for (nth, of) in calls.iter().enumerate() {
            let Some(name) = self.name(of) else {
                continue;
            };
            let choice = |bytes: u64, algorithm: Option<String>| Choice {
                operation: of.operation,
                n_processes: of.n_processes as u32,
                bytes,
                algorithm,
            };
            let with_same_name =
                |other: &&OfCalls| of.is_alike(other) && self.name(other).as_ref() == Some(&name);
            let is_first = !nth
                .checked_sub(1)
                .is_some_and(|before| with_same_name(&calls[before]));
            let is_last = !calls.get(nth + 1).is_some_and(with_same_name);
            if is_first && of.bytes > 0 && !self.has_smaller(of) {
                choices.push(choice(0, None));
            }
            choices.push(choice(of.bytes, Some(name.clone())));
            let has_payload = of.operation != Operation::Barrier;
            let next = calls.get(nth + 1).filter(|next| of.is_alike(next));
            let is_gap = next.is_none_or(|next| next.bytes > of.bytes + 1);
            if is_last && has_payload && is_gap {
                choices.push(choice(of.bytes + 1, None));
            }
        }
        choices
    }

    /// A rule file of Open MPI's `coll_tuned` with the algorithms that are proposed; `None` without any, and for another
    /// library.
    #[must_use]
    pub fn to_rules(&self, file_name: &str) -> Option<String> {
        let KnownLibrary::OpenMpi(library) = KnownLibrary::find(&self.recorded.library)? else {
            return None;
        };
        let choices = self.choices();
        let written = open_mpi::write(&choices, library, file_name);
        (!choices.is_empty() && !written.text.is_empty()).then_some(written.text)
    }

    /// Whether something is proposed for a smaller payload.
    fn has_smaller(&self, of: &OfCalls) -> bool {
        let mut calls = self.calls.iter();
        calls.any(|other| {
            of.is_alike(other) && other.bytes < of.bytes && other.algorithm().is_some()
        })
    }

    /// The name of the algorithm that is proposed for calls, in rule files.
    fn name(&self, of: &OfCalls) -> Option<String> {
        let What::Algorithm { function, number } = &of.algorithm()?.what else {
            return None;
        };
        match KnownLibrary::find(&self.recorded.library)? {
            KnownLibrary::Mpich(_) => Some(function.clone()),
            KnownLibrary::OpenMpi(library) => {
                let mut algorithms = library.operation(of.operation)?.algorithms.iter();
                let found = algorithms.find(|of| Some(of.id) == *number)?;
                Some(found.name.to_owned())
            }
        }
    }
}

impl What {
    /// Whether it is made of sites or switches.
    fn depends_on_groups(&self) -> bool {
        match self {
            Self::Tree(tree) => match &tree.form {
                Form::Shaped(shaped) => (shaped.joins.iter())
                    .any(|(level, _)| matches!(level, Level::Site | Level::Switch)),
                Form::Nodes(_) => false,
            },
            Self::Algorithm { .. } => false,
        }
    }
}
