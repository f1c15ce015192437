//! What is wrong with a rule file of `coll_tuned` in JSON.

use std::collections::BTreeSet;

use super::check::MAX_ELEMENT;
use super::coverage::Coverage;
use super::json_file::{Distribution, Entry, JsonFile, Rule};
use super::library::Library;
use super::look_up::Placement;
use super::parameters::{Parameters, limit, parameters};
use super::version::{CountedSize, OperationTable};
use crate::explain::Explained;
use crate::problem::{MAX_PROBLEMS, Problem, Problems};

/// All that is wrong with a file, by place.
#[must_use]
pub fn check(file: &JsonFile, library: Library) -> Vec<Problem> {
    let mut check = Check::default();
    check.problems.extend(file.problems.iter().cloned());
    for (nth, fault) in file.faults.iter().enumerate() {
        let effect = match (fault.crashes, nth) {
            (true, 0) => "MPI_Init crashes with a segmentation fault",
            (true, _) => "MPI_Init would crash here with a segmentation fault",
            (false, 0) => "the library ignores the whole file, without a word",
            (false, _) => "the library would ignore the whole file for this, too",
        };
        check
            .problems
            .add(fault.at, &fault.why, effect, Some(&fault.instead));
    }
    for (&id, operation) in &file.operations {
        if let Some(table) = library.operation_by_id(i64::from(id)) {
            check.entries(table, &operation.entries);
        }
    }
    check.problems.by_place()
}

#[derive(Default)]
struct Check {
    problems: Problems,
}

const PLACEMENTS: [Placement; 3] = [
    Placement::OneHost,
    Placement::OneOnEachHost,
    Placement::SeveralHosts,
];

impl Check {
    fn entries(&mut self, table: &OperationTable, entries: &[Entry]) {
        // By placement: what entries before are for, and those of them that are for any.
        let mut taken = PLACEMENTS.map(|_| Coverage::default());
        let mut by_any = Coverage::default();
        for entry in entries {
            let (least, most) = entry.sizes;
            let shown = format!("{} for {least} to {most} processes", table.name);
            let range = (least.max(2) as u64, most.max(0) as u64);
            if range.0 > range.1 {
                self.problems.add(
                    entry.at,
                    shown,
                    "no communicator with rules has such a number of processes",
                    Some("comm_size_min not above comm_size_max, which is 2 or more"),
                );
                continue;
            }
            let is_for = |nth: &usize| entry.distribution.has(PLACEMENTS[*nth]);
            let of: Vec<usize> = (0..PLACEMENTS.len()).filter(is_for).collect();
            if of.iter().all(|&nth| taken[nth].has(range)) {
                let is_narrower = entry.distribution != Distribution::Any && by_any.has(range);
                let (what, instead) = if is_narrower {
                    let name = entry.distribution.name();
                    let what = format!("{shown}, {name}, behind entries for any distribution");
                    (what, "the narrower entry first")
                } else {
                    (
                        shown,
                        "entries that do not overlap, or the narrower one first",
                    )
                };
                self.problems.add(
                    entry.at,
                    what,
                    "the library takes the first entry that fits: no communicator comes to this one",
                    Some(instead),
                );
                continue;
            }
            for nth in of {
                taken[nth].add(range);
            }
            if entry.distribution == Distribution::Any {
                by_any.add(range);
            }
            self.rules(table, entry);
        }
    }

    fn rules(&mut self, table: &OperationTable, entry: &Entry) {
        let largest = match table.size {
            CountedSize::Nothing => 0,
            CountedSize::OneElement => entry.sizes.1.saturating_mul(MAX_ELEMENT) as u64,
            CountedSize::OneProcess | CountedSize::AllProcesses => u64::MAX,
        };
        let mut taken = Coverage::default();
        for rule in &entry.rules {
            let Some((id, at)) = rule.algorithm else {
                continue;
            };
            let (least, most) = rule.sizes;
            let what = || format!("the rule of {} for sizes {}", table.name, sizes(rule));
            if least > most {
                let instead = "msg_size_min not above msg_size_max";
                self.problems
                    .add(rule.at, what(), "no size is so", Some(instead));
            } else if least > largest {
                let effect = match table.size {
                    CountedSize::Nothing => {
                        "the size is not used, the library takes 0: no call comes to it"
                    }
                    _ => {
                        "the library counts one element x processes, whatever the count: no call comes to it"
                    }
                };
                self.problems
                    .add(rule.at, what(), effect, Some("no msg_size_min"));
            } else if taken.has(rule.sizes) {
                self.problems.add(
                    rule.at,
                    what(),
                    "the library takes the first rule that fits: no call comes to this one",
                    Some("rules that do not overlap, or the narrower one first"),
                );
            } else {
                taken.add(rule.sizes);
            }
            let mut algorithms = table.algorithms.iter();
            let Some(algorithm) = algorithms.find(|of| of.id == id) else {
                continue;
            };
            let (from, to) = entry.sizes;
            let to = (to < i64::from(i32::MAX)).then_some(to);
            let of = Parameters {
                fan_out: rule.fan_out,
                segment: rule.segment,
                requests: rule.requests,
            };
            self.problems.extend(limit(algorithm, at, (from, to)));
            self.problems.extend(parameters(algorithm, of));
        }
    }
}

fn sizes(rule: &Rule) -> String {
    let (least, most) = rule.sizes;
    if most >= i64::MAX as u64 {
        format!("from {least} on")
    } else {
        format!("{least} to {most}")
    }
}

/// Rules that no call of a trace comes to. Those that no call of any program comes to are for [`check`].
#[must_use]
pub fn unused(file: &JsonFile, library: Library, calls: &[Explained<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if file.ignored().is_some() {
        return problems;
    }
    let lines: BTreeSet<usize> = calls.iter().filter_map(|call| call.decision.line).collect();
    for (&id, operation) in &file.operations {
        let Some(table) = library.operation_by_id(i64::from(id)) else {
            continue;
        };
        let name = table.operation.name();
        let mut of_operation = calls
            .iter()
            .filter(|call| call.class.operation == table.operation);
        if of_operation.next().is_none() {
            problems.push(Problem::absent(operation.at, table.name, table.operation));
            continue;
        }
        for rule in operation.entries.iter().flat_map(|entry| &entry.rules) {
            if rule
                .algorithm
                .is_some_and(|(_, at)| !lines.contains(&at.line))
            {
                let what = format!("the rule of {} for sizes {}", table.name, sizes(rule));
                let effect = format!("it decides no {name} of the trace");
                problems.push(Problem::new(rule.at, what, effect));
            }
        }
    }
    problems.truncate(MAX_PROBLEMS);
    problems
}
