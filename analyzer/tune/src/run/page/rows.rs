//! All that could run instead of what ran, by kind of calls: what the search found and what was tried, side by side.

use collbench_formats::Operation;
use collbench_stats::median::Median;

use crate::predict::{Band, Gain, Method};
use crate::proposal::Change;
use crate::run::considered::{KindOfCalls, Ran, WhyNot};
use crate::run::outcome::Outcome;
use crate::words::sized;

/// Calls of one kind.
pub(super) struct Kind<'a> {
    pub(super) operation: Operation,
    pub(super) n_processes: usize,
    pub(super) bytes: u64,
    pub(super) n_instances: u64,
    /// How long they took together, ns; `None` where that is not known.
    pub(super) took_ns: Option<f64>,
    /// What ran, by class of calls.
    pub(super) ran: Vec<Ran>,
    /// Why nothing is predicted.
    pub(super) not_predicted: Option<&'a str>,
    /// What could run instead, class by class.
    pub(super) rivals: Vec<Rival<'a>>,
}

/// What could run instead of what ran in one class of calls.
pub(super) struct Rival<'a> {
    pub(super) what: &'a str,
    /// Index of the class in [`Kind::ran`].
    pub(super) class: usize,
    method: Option<&'a Method>,
    pub(super) predicted: Band,
    /// `None` of what was tried whatever is predicted of it.
    pub(super) gain: Option<Gain>,
    pub(super) why_not: Option<&'a WhyNot>,
    /// The proposal that it is part of, and the number of its change.
    pub(super) tried: Option<(usize, usize)>,
}

impl<'a> Kind<'a> {
    fn of(kind: &'a KindOfCalls) -> Self {
        let alternatives = kind.alternatives.as_deref().unwrap_or(&[]).iter();
        let rivals = alternatives.flat_map(|of| (0..).zip(&of.predicted).map(move |at| (of, at)));
        Self {
            operation: kind.operation,
            n_processes: kind.n_processes,
            bytes: kind.bytes,
            n_instances: kind.n_instances,
            took_ns: Some(kind.took_ns),
            ran: kind.ran.clone(),
            not_predicted: kind.alternatives.as_ref().err().map(String::as_str),
            rivals: rivals
                .map(|(of, (class, predicted))| Rival {
                    what: &of.what,
                    class,
                    method: of.methods.get(class),
                    predicted: *predicted,
                    gain: Some(of.gain),
                    why_not: of.why_not.as_ref(),
                    tried: None,
                })
                .collect(),
        }
    }

    /// Of calls that the search did not look at.
    fn of_change(change: &Change) -> Self {
        Self {
            operation: change.operation,
            n_processes: change.n_processes,
            bytes: change.bytes,
            n_instances: 0,
            took_ns: None,
            ran: Vec::new(),
            not_predicted: None,
            rivals: Vec::new(),
        }
    }

    fn has(&self, change: &Change) -> bool {
        self.operation == change.operation
            && self.n_processes == change.n_processes
            && self.bytes == change.bytes
    }

    /// What people call it.
    pub(super) fn in_words(&self) -> String {
        let sized = sized(self.n_processes, self.bytes);
        format!("{}, {sized}", self.operation.name())
    }

    /// Where a class is, if there are several.
    pub(super) fn place(&self, class: usize) -> String {
        let Some(ran) = self.ran.get(class).filter(|_| self.ran.len() > 1) else {
            return String::new();
        };
        let root = ran.root.map(|root| format!(", root {root}"));
        format!(" on {}{}", ran.communicator, root.unwrap_or_default())
    }
}

/// The kinds of calls, those that took longest first.
pub(super) fn kinds(outcome: &Outcome) -> Vec<Kind<'_>> {
    let considered = outcome.considered.kinds.iter();
    let mut kinds: Vec<Kind<'_>> = considered.map(Kind::of).collect();
    for (proposal, tried) in outcome.tried.iter().enumerate() {
        for (nth, change) in tried.proposal.changes.iter().enumerate() {
            let at = kinds.iter().position(|kind| kind.has(change));
            let at = at.unwrap_or_else(|| {
                kinds.push(Kind::of_change(change));
                kinds.len() - 1
            });
            let is_it = |rival: &Rival<'_>| {
                rival.method == Some(&change.method) && kinds[at].ran[rival.class].is_of(change)
            };
            let place = Some((proposal, nth));
            match kinds[at].rivals.iter().position(is_it) {
                Some(rival) => kinds[at].rivals[rival].tried = place,
                None => kinds[at].add(change, place),
            }
        }
    }
    kinds
}

impl Ran {
    /// Whether it is what a change is to replace.
    fn is_of(&self, change: &Change) -> bool {
        self.communicator == change.communicator
            && self.root == change.root
            && self.what == change.ran
    }
}

impl<'a> Kind<'a> {
    /// Adds what was tried whatever is predicted of it.
    fn add(&mut self, change: &'a Change, tried: Option<(usize, usize)>) {
        let class = self.ran.iter().position(|ran| ran.is_of(change));
        let class = class.unwrap_or_else(|| {
            self.n_instances += change.n_instances;
            self.ran.push(Ran {
                communicator: change.communicator.clone(),
                root: change.root,
                what: change.ran.clone(),
                measured: change.measured,
            });
            self.ran.len() - 1
        });
        self.rivals.push(Rival {
            what: &change.what,
            class,
            method: Some(&change.method),
            predicted: change.predicted,
            gain: None,
            why_not: None,
            tried,
        });
    }
}

impl Rival<'_> {
    /// How long an instance took in a run with it, ns.
    pub(super) fn measured(&self, outcome: &Outcome) -> Option<Median> {
        let (proposal, change) = self.tried?;
        let checked = outcome.tried.get(proposal)?.checked.get(change)?;
        // What was not applied was not measured, whatever else ran.
        (checked.is_applied != Some(false))
            .then_some(checked.measured_ns)
            .flatten()
    }

    /// Whether it is proposed, and why not.
    pub(super) fn proposed_in_words(&self) -> String {
        match (self.why_not, self.gain, self.tried) {
            (Some(why), ..) => format!("not proposed: {why}"),
            (None, None, _) => "tried, since it was given".to_owned(),
            (None, Some(_), Some(_)) => "proposed".to_owned(),
            (None, Some(_), None) => "faster as predicted, but not run".to_owned(),
        }
    }
}
