//! What a recorded run of a proposal really ran.

use std::collections::BTreeMap;

use collbench_stats::median::Median;

use crate::predict::{Class, Recorded};
use crate::proposal::{Change, Proposal};

/// A part of the calls that does not matter: of nonblocking starts, of the first calls of a communicator, and the like.
const FEW: f64 = 0.1;

/// Numbers of instances that differ by a smaller part are the same.
const LEAST_DIFFERENCE: f64 = 0.01;

/// What ran where a proposal changes something.
#[derive(Debug, Clone, PartialEq)]
pub struct Checked {
    /// Whether what was asked for ran; `None` where what ran was not recorded.
    pub is_applied: Option<bool>,
    /// How many instances ran, in all.
    pub n_instances: u64,
    /// What else ran, and how many instances of it, the most frequent first.
    pub instead: Vec<(String, u64)>,
    /// How long an instance with what was asked for took, ns: of one run.
    pub measured_ns: Option<Median>,
}

/// For each change of a proposal, what ran in a run with it.
#[must_use]
pub fn check(proposal: &Proposal, recorded: &Recorded) -> Vec<Checked> {
    let changes = proposal.changes.iter();
    changes.map(|change| change.check(recorded)).collect()
}

/// Whether any calls ran over a tree: what is to be known of a tree file for which nothing was predicted. `None` where what ran
/// was not recorded.
#[must_use]
pub fn ran_over_trees(recorded: &Recorded) -> Option<bool> {
    let mut classes = recorded.classes.iter();
    let ran = |class: &Class| class.tree.is_some();
    let is_unknown = |class: &Class| class.tree.is_none() && class.reported.is_empty();
    if classes.clone().any(ran) {
        Some(true)
    } else if classes.any(is_unknown) {
        None
    } else {
        Some(false)
    }
}

/// Where a later run of a program made other calls than the first one; `None` where there are as many of each operation.
#[must_use]
pub fn other_calls(first: &Recorded, later: &Recorded) -> Option<String> {
    let counts = |recorded: &Recorded| {
        let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
        for class in &recorded.classes {
            *counts.entry(class.operation.name()).or_default() += class.n_instances;
        }
        counts
    };
    let (first, later) = (counts(first), counts(later));
    let operations = first.keys().chain(later.keys());
    let differs = |operation: &&&str| {
        let [a, b] = [&first, &later].map(|of| of.get(**operation).copied().unwrap_or(0));
        a.abs_diff(b) as f64 > LEAST_DIFFERENCE * a.max(b) as f64
    };
    let operation = operations.into_iter().find(differs)?;
    let [a, b] = [&first, &later].map(|of| of.get(operation).copied().unwrap_or(0));
    Some(format!("{b} instances of {operation} instead of {a}"))
}

impl Change {
    /// Whether it is of these calls.
    fn is_of(&self, class: &Class) -> bool {
        class.operation == self.operation
            && class.communicator == self.communicator
            && class.ranks.len() == self.n_processes
            && self.root.is_none_or(|root| class.root == root)
            && class.bytes == self.bytes
    }

    fn check(&self, recorded: &Recorded) -> Checked {
        let classes = || recorded.classes.iter().filter(|class| self.is_of(class));
        let (mut n_applied, mut n_unknown) = (0, 0);
        let mut instead: BTreeMap<String, u64> = BTreeMap::new();
        let mut times_ns = Vec::new();
        for class in classes() {
            match class.ran_with(&self.method) {
                Some(true) => {
                    n_applied += class.n_instances;
                    times_ns.extend(class.instances.iter().map(|of| of.took_ns));
                }
                Some(false) => {
                    *instead.entry(class.ran_in_words()).or_default() += class.n_instances
                }
                None => {
                    n_unknown += class.n_instances;
                    times_ns.extend(class.instances.iter().map(|of| of.took_ns));
                }
            }
        }
        let n_instances: u64 = classes().map(|class| class.n_instances).sum();
        let mut instead: Vec<(String, u64)> = instead.into_iter().collect();
        instead.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
        let n_other: u64 = instead.iter().map(|(_, n)| n).sum();
        let are_few = |n: u64| n as f64 <= FEW * n_instances as f64;
        Checked {
            is_applied: match n_instances {
                0 => Some(false),
                _ if !are_few(n_other) => Some(false),
                _ if are_few(n_unknown) => Some(n_applied > 0),
                _ => None,
            },
            n_instances,
            instead,
            measured_ns: Median::of(times_ns),
        }
    }
}

impl Checked {
    /// Why a change was not applied, of a class of calls that is named; `None` where it was, or that is unknown.
    #[must_use]
    pub fn why_not(&self) -> Option<String> {
        if self.is_applied != Some(false) {
            return None;
        }
        if self.n_instances == 0 {
            return Some("no such call was made".to_owned());
        }
        let each = self.instead.iter();
        let each = each.map(|(name, n)| {
            let all = self.n_instances;
            let name = collbench_text::inert::line(name, 120);
            if *n == all {
                format!("ran {name}")
            } else {
                format!("{n} of {all} ran {name}")
            }
        });
        Some(each.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::{Band, Instance, Method};
    use crate::proposal::Means;
    use collbench_formats::Operation;

    fn class(reported: &[&str], n_instances: u64) -> Class {
        let instance = |position| Instance {
            position,
            enters_ns: vec![0.0; 4],
            took_ns: 1e6 + position as f64,
            messages: Vec::new(),
            passes: Vec::new(),
        };
        Class {
            operation: Operation::Allreduce,
            communicator: "MPI_COMM_WORLD".to_owned(),
            number: None,
            ranks: vec![0, 1, 2, 3],
            root: 0,
            bytes: 8,
            reported: reported.iter().map(|&name| name.to_owned()).collect(),
            tree: None,
            n_instances,
            instances: (0..n_instances.min(9)).map(instance).collect(),
        }
    }

    fn recorded(classes: Vec<Class>) -> Recorded {
        Recorded {
            command: Vec::new(),
            library: "Open MPI v4.1.4".to_owned(),
            hosts: vec!["a".to_owned()],
            host_of_rank: vec![Some(0); 4],
            round_trips_ns: BTreeMap::new(),
            classes,
            calls: Vec::new(),
            has_more_calls: false,
        }
    }

    fn checked(classes: Vec<Class>) -> Checked {
        let band = Band {
            p05_ns: 1.0,
            median_ns: 1.0,
            p95_ns: 1.0,
        };
        let proposal = Proposal {
            name: "algorithms".to_owned(),
            means: Means::Trees(String::new()),
            changes: vec![Change {
                operation: Operation::Allreduce,
                communicator: "MPI_COMM_WORLD".to_owned(),
                n_processes: 4,
                root: None,
                bytes: 8,
                n_instances: 100,
                ran: "allreduce_intra_ring".to_owned(),
                measured: band,
                what: "allreduce_intra_recursivedoubling".to_owned(),
                method: Method::Algorithm("allreduce_intra_recursivedoubling".to_owned()),
                predicted: band,
            }],
            run: None,
        };
        check(&proposal, &recorded(classes)).remove(0)
    }

    #[test]
    fn what_was_asked_for_is_applied_if_nearly_all_instances_ran_it() {
        let asked = class(&["allreduce_intra_recursivedoubling"], 97);
        let other = class(&["allreduce_intra_ring"], 3);
        let found = checked(vec![asked, other]);
        assert_eq!((found.is_applied, found.why_not()), (Some(true), None));
        assert_eq!(found.measured_ns.unwrap().value, 1e6 + 4.0);
    }

    #[test]
    fn what_ran_instead_is_named() {
        let found = checked(vec![class(&["allreduce_intra_ring"], 100)]);
        assert_eq!(found.why_not().unwrap(), "ran allreduce_intra_ring");
        assert_eq!(found.measured_ns, None);
        let half = vec![
            class(&["allreduce_intra_ring"], 40),
            class(&["allreduce_intra_recursivedoubling"], 60),
        ];
        assert_eq!(
            checked(half).why_not().unwrap(),
            "40 of 100 ran allreduce_intra_ring"
        );
        let other = Class {
            bytes: 16,
            ..class(&[], 7)
        };
        assert_eq!(
            checked(vec![other]).why_not().unwrap(),
            "no such call was made"
        );
    }

    #[test]
    fn other_numbers_of_calls_are_told() {
        let run = |n: u64| recorded(vec![class(&["allreduce_intra_ring"], n)]);
        assert_eq!(other_calls(&run(1000), &run(1005)), None);
        let other = other_calls(&run(1000), &run(800)).unwrap();
        assert_eq!(other, "800 instances of MPI_Allreduce instead of 1000");
        let none = other_calls(&run(10), &recorded(Vec::new())).unwrap();
        assert_eq!(none, "0 instances of MPI_Allreduce instead of 10");
    }

    #[test]
    fn what_the_library_does_not_report_is_unknown() {
        let found = checked(vec![class(&[], 100)]);
        assert_eq!((found.is_applied, found.why_not()), (None, None));
        assert!(found.measured_ns.is_some());
    }
}
