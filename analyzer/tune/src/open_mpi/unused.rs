//! Rules that no call of a trace reaches.

use std::collections::{BTreeMap, BTreeSet};

use super::classic::ClassicFile;
use super::library::Library;
use crate::explain::Explained;
use crate::problem::{Position, Problem};

/// What of a file no call of a trace comes to. Rules that no call of any program comes to are for
/// [`check`](super::check()).
#[must_use]
pub fn unused(file: &ClassicFile, library: Library, calls: &[Explained<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if file.dropped.is_some() {
        return problems;
    }
    let lines: BTreeSet<usize> = calls.iter().filter_map(|call| call.decision.line).collect();
    for table in library.table.operations {
        let Some(operation) = file.rules_of(table.id) else {
            continue;
        };
        let of_operation: Vec<_> = calls
            .iter()
            .filter(|call| call.class.operation == table.operation)
            .collect();
        let name = table.operation.name();
        if of_operation.is_empty() {
            problems.push(Problem::absent(operation.at, table.name, table.operation));
            continue;
        }
        let mut by_place: BTreeMap<Position, Vec<&Explained<'_>>> = BTreeMap::new();
        for call in of_operation {
            if let Some(rules) = operation.for_processes(call.class.n_processes) {
                by_place.entry(rules.at).or_default().push(call);
            }
        }
        for sizes in &operation.communicators {
            let Some(of_size) = by_place.get(&sizes.at) else {
                problems.push(Problem::new(
                    sizes.at,
                    format!("rules of {} for {} processes", table.name, sizes.size),
                    format!("no {name} of the trace is on a communicator that comes to them"),
                ));
                continue;
            };
            let known = of_size.iter().filter_map(|call| call.size);
            let least = known.clone().map(|(least, _)| least).min();
            let most = known.map(|(_, most)| most).max();
            let seen = least.zip(most).map_or_else(String::new, |(least, most)| {
                format!(", whose sizes are {least} to {most} ({})", table.size)
            });
            for rule in &sizes.rules {
                if lines.contains(&rule.size.1.line) {
                    continue;
                }
                let what = format!("the rule of {} for size {}", table.name, rule.size.0);
                let effect = format!("it decides no {name} of the trace{seen}");
                problems.push(Problem::new(rule.size.1, what, effect));
            }
        }
    }
    problems
}
