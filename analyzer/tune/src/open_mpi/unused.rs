//! Rules that no call of a trace reaches.

use std::collections::BTreeSet;

use super::classic::ClassicFile;
use super::library::Library;
use crate::explain::Explained;
use crate::problem::Problem;

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
            problems.push(Problem {
                at: operation.at,
                what: format!("rules for {}", table.name),
                effect: format!("the trace has no {name}: none of its calls reaches these rules"),
                instead: None,
            });
            continue;
        }
        for sizes in &operation.communicators {
            let is_on = |call: &&&Explained<'_>| {
                let rules = operation.for_processes(call.class.n_processes);
                rules.is_some_and(|rules| rules.at == sizes.at)
            };
            let of_size: Vec<_> = of_operation.iter().filter(is_on).collect();
            if of_size.is_empty() {
                problems.push(Problem {
                    at: sizes.at,
                    what: format!("rules of {} for {} processes", table.name, sizes.size),
                    effect: format!(
                        "no {name} of the trace is on a communicator that comes to them"
                    ),
                    instead: None,
                });
                continue;
            }
            for rule in &sizes.rules {
                if lines.contains(&rule.size.1.line) {
                    continue;
                }
                let sizes = of_size.iter().filter_map(|call| call.size);
                let least = sizes.clone().map(|(least, _)| least).min();
                let most = sizes.map(|(_, most)| most).max();
                let seen = least.zip(most).map_or_else(String::new, |(least, most)| {
                    format!(", whose sizes are {least} to {most} ({})", table.size)
                });
                problems.push(Problem {
                    at: rule.size.1,
                    what: format!("the rule of {} for size {}", table.name, rule.size.0),
                    effect: format!("it decides no {name} of the trace{seen}"),
                    instead: None,
                });
            }
        }
    }
    problems
}
