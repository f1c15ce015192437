//! What is wrong with a rule file of `coll_han`.

use std::collections::BTreeSet;

use collbench_formats::Operation;

use super::super::library::Library;
use super::read::{HanFile, HanOperation, HanRule, HanSizes, LevelRules};
use super::table::{self, Component, HanOperationTable, Level, OPERATIONS, operation_name};
use crate::explain::Explained;
use crate::problem::{MAX_PROBLEMS, Problem, Problems};

/// All that is wrong with a file, by place: at most 10,000 problems.
#[must_use]
pub fn check(file: &HanFile, library: Library) -> Vec<Problem> {
    let mut check = Check {
        file,
        library,
        problems: Problems::default(),
    };
    check.version();
    check.skipped();
    check.faults();
    check.operations();
    if let Some(at) = file.rest {
        check.problems.add(
            at,
            "text behind the last operation",
            "the library does not read it",
            Some("count it in the number of operations at the begin, or remove it"),
        );
    }
    check.problems.by_place()
}

struct Check<'f> {
    file: &'f HanFile,
    library: Library,
    problems: Problems,
}

impl Check<'_> {
    /// Before 5.0 the component is off.
    fn version(&mut self) {
        let Some((_, at)) = self.file.n_operations else {
            return;
        };
        if self.library.version.major < 5 {
            let version = self.library.version;
            self.problems.add(
                at,
                format!("rules of coll_han for {version}"),
                "coll_han has priority 0 there: coll_tuned does all calls",
                Some("rules of coll_tuned"),
            );
        }
    }

    fn skipped(&mut self) {
        for skipped in &self.file.skipped {
            let shown = skipped.shown();
            // The comma between lengths of segments, which nobody uses.
            if shown == "," {
                continue;
            }
            let instead = if shown.starts_with('@') && self.library.version.major < 5 {
                "the component alone: algorithms can be named from 5.0 on"
            } else {
                "a number, or # before a comment"
            };
            self.problems.add(
                skipped.at,
                format!("\"{shown}\" where a number is expected"),
                skipped.effect(),
                Some(instead),
            );
        }
    }

    fn faults(&mut self) {
        for (nth, fault) in self.file.faults.iter().enumerate() {
            let effect = match (fault.crashes, nth) {
                (true, 0) => "MPI_Init crashes with a segmentation fault",
                (true, _) => "MPI_Init would crash here with a segmentation fault",
                (false, 0) => "the library ignores the whole file",
                (false, _) => "the library would ignore the whole file for this, too",
            };
            self.problems
                .add(fault.at, fault.why.clone(), effect, Some(&fault.instead));
        }
    }

    fn operations(&mut self) {
        let mut seen = BTreeSet::new();
        for operation in self.file.operations.iter().rev() {
            let name = operation_name(operation.id);
            if !seen.insert(operation.id) {
                self.problems.add(
                    operation.at,
                    format!("{name} comes again below"),
                    "the library uses the last rules of an operation only",
                    Some("all levels of an operation in one place"),
                );
                continue;
            }
            let Some(table) = OPERATIONS.iter().find(|table| table.id == operation.id) else {
                self.problems.add(
                    operation.at,
                    format!("rules for {name}, which coll_han does not do"),
                    "the library reads them and never uses them",
                    None,
                );
                continue;
            };
            self.operation(operation, table);
        }
    }

    fn operation(&mut self, operation: &HanOperation, table: &HanOperationTable) {
        let mut seen = BTreeSet::new();
        for level in operation.levels.iter().rev() {
            let of = format!("{} in {}", table.name, level.level.name());
            if !seen.insert(level.level) {
                self.problems.add(
                    level.at,
                    format!("{of} comes again below"),
                    "the library uses the last rules of a level only",
                    Some("all sizes of a level in one place"),
                );
                continue;
            }
            if level.level != Level::Global && !self.is_looked_up(table, level) {
                continue;
            }
            self.sizes(level, table, &of);
        }
    }

    /// Whether an algorithm that the file chooses, or that is the default, looks the rules of a level
    /// up; tells it if not.
    fn is_looked_up(&mut self, table: &HanOperationTable, level: &LevelRules) -> bool {
        let mut users = Vec::new();
        for other in OPERATIONS {
            for (nth, algorithm) in other.algorithms.iter().enumerate() {
                let mut steps = algorithm.steps.iter();
                if steps.any(|step| step.level == level.level && step.operation == table.operation)
                {
                    if other.default == nth + 1 || self.is_chosen(other, nth + 1) {
                        return true;
                    }
                    users.push(format!("{} with @{}", other.name, algorithm.name));
                }
            }
        }
        let what = format!("rules of {} for {}", table.name, level.level.name());
        if users.is_empty() {
            let effect = "no algorithm of coll_han looks them up";
            self.problems.add(level.at, what, effect, None);
        } else {
            let users = users.join(", ");
            self.problems.add(
                level.at,
                what,
                format!("they count only within {users}, which the file does not choose"),
                Some("han @simple in the rules for global_communicator"),
            );
        }
        false
    }

    fn is_chosen(&self, table: &HanOperationTable, number: usize) -> bool {
        let mut operations = self.file.operations.iter().rev();
        let Some(operation) = operations.find(|of| of.id == table.id) else {
            return false;
        };
        let global = operation
            .levels
            .iter()
            .filter(|of| of.level == Level::Global);
        let mut rules = global.flat_map(|of| &of.sizes).flat_map(|of| &of.rules);
        rules.any(|rule| rule.algorithm.is_some_and(|(of, _)| of == number))
    }

    fn sizes(&mut self, level: &LevelRules, table: &HanOperationTable, of: &str) {
        let mut next: Option<i64> = None;
        for sizes in level.sizes.iter().rev() {
            let is_dead = next.is_some_and(|next| next <= sizes.size);
            if is_dead {
                self.problems.add(
                    sizes.at,
                    format!("communicator size {} of {of}", sizes.size),
                    "a size below it is not larger, and decides all of its calls",
                    Some("ascending sizes"),
                );
            } else if level.level == Level::Global && next == Some(2) && !sizes.rules.is_empty() {
                self.problems.add(
                    sizes.at,
                    format!("rules of {of} for communicators of one process"),
                    "coll_self does their calls",
                    Some("0 rules for size 1"),
                );
            } else {
                self.rules(sizes, level.level, table, of);
            }
            next = Some(next.map_or(sizes.size, |next| next.min(sizes.size)));
        }
    }

    fn rules(&mut self, sizes: &HanSizes, level: Level, table: &HanOperationTable, of: &str) {
        let mut next: Option<u64> = None;
        for (nth, rule) in sizes.rules.iter().enumerate().rev() {
            let (size, at) = rule.size;
            if next.is_some_and(|next| next <= size) {
                self.problems.add(
                    at,
                    format!("message size {size} of {of}"),
                    "a size below it is not larger, and decides all of its calls",
                    Some("ascending sizes"),
                );
            } else if table.operation == Operation::Barrier && size > 0 {
                self.problems.add(
                    at,
                    format!("message size {size} of a barrier"),
                    "a barrier has size 0: no call comes to this rule",
                    Some("one rule, for size 0"),
                );
            } else if nth == 0 && size == 1 {
                self.problems.add(
                    at,
                    format!("the first message size of {of} is 1"),
                    "the library takes it, but calls of size 0 have no rule",
                    Some("0"),
                );
            }
            self.rule(rule, level, table);
            next = Some(next.map_or(size, |next| next.min(size)));
        }
    }

    fn rule(&mut self, rule: &HanRule, level: Level, table: &HanOperationTable) {
        let (component, at) = rule.component;
        let Some(component) = component else {
            return;
        };
        let name = component.name();
        let why = match component {
            Component::SelfOnly => Some("coll_self is for communicators of one process"),
            Component::Libnbc => Some("coll_libnbc has nonblocking operations only"),
            Component::Sm => Some("coll_sm has priority 0 and is not there"),
            Component::Adapt => Some("coll_adapt has priority 0 and is not there"),
            Component::Han if level != Level::Global => {
                Some("coll_han is not there on the communicators that it makes")
            }
            Component::Han | Component::Basic | Component::Tuned => None,
        };
        if let Some(why) = why {
            self.problems.add(
                at,
                format!("component {name} for {}", table.name),
                format!("{why}: the next component by priority does it, mostly coll_tuned"),
                Some("tuned, or basic"),
            );
        }
        if let Some(at) = rule.segments {
            self.problems.add(
                at,
                "lengths of segments",
                "the library reads them and does not use them",
                Some("nothing; coll_han_bcast_segsize and the like hold for all calls"),
            );
        }
    }
}

/// Rules that no call of a trace comes to.
#[must_use]
pub fn unused(file: &HanFile, calls: &[Explained<'_>]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !file.faults.is_empty() {
        return problems;
    }
    let lines: BTreeSet<usize> = calls.iter().filter_map(|call| call.decision.line).collect();
    for operation in &file.operations {
        let Some(table) = OPERATIONS.iter().find(|table| table.id == operation.id) else {
            continue;
        };
        let name = table.operation.name();
        let mut of_operation = calls.iter().filter(|call| {
            table::operation(call.class.operation).is_some_and(|of| of.id == table.id)
        });
        if of_operation.next().is_none() {
            problems.push(Problem::absent(operation.at, table.name, table.operation));
            continue;
        }
        let global = operation
            .levels
            .iter()
            .filter(|of| of.level == Level::Global);
        for rule in global.flat_map(|of| &of.sizes).flat_map(|of| &of.rules) {
            if !lines.contains(&rule.component.1.line) {
                let what = format!("the rule of {} for size {}", table.name, rule.size.0);
                let effect = format!("it decides no {name} of the trace");
                problems.push(Problem::new(rule.size.1, what, effect));
            }
        }
    }
    problems.truncate(MAX_PROBLEMS);
    problems
}
