//! A report as a JSON document: `collbench.rules/1`.

use collbench_text::json;
use serde::Serialize;

use crate::decision::DecidedBy;
use crate::explain::Explained;
use crate::report::{Differences, Report};

#[derive(Debug, Serialize)]
struct RulesDocument<'r> {
    schema: &'static str,
    file: &'r str,
    format: &'r str,
    library: &'r str,
    ignored: Option<IgnoredDocument<'r>>,
    notes: &'r [String],
    problems: Vec<ProblemDocument<'r>>,
    calls: Option<Vec<CallDocument<'r>>>,
}

#[derive(Debug, Serialize)]
struct IgnoredDocument<'r> {
    line: usize,
    column: usize,
    text: &'r str,
}

#[derive(Debug, Serialize)]
struct ProblemDocument<'r> {
    line: usize,
    column: usize,
    text: &'r str,
    effect: &'r str,
    instead: Option<&'r str>,
}

#[derive(Debug, Serialize)]
struct CallDocument<'r> {
    operation: &'static str,
    processes: u32,
    processes_per_host: Option<&'r [u32]>,
    bytes_min: u64,
    bytes_max: u64,
    size_min: Option<u64>,
    size_max: Option<u64>,
    calls: Option<u64>,
    failed: Option<u64>,
    #[serde(flatten)]
    decision: DecisionDocument<'r>,
    ran: Option<&'r str>,
}

#[derive(Debug, Serialize)]
struct DifferencesDocument<'r> {
    schema: &'static str,
    old: SideDocument<'r>,
    new: SideDocument<'r>,
    calls: u64,
    changes: Vec<ChangeDocument<'r>>,
}

#[derive(Debug, Serialize)]
struct SideDocument<'r> {
    file: &'r str,
    library: &'r str,
}

#[derive(Debug, Serialize)]
struct ChangeDocument<'r> {
    operation: &'static str,
    processes: u32,
    bytes_min: u64,
    bytes_max: u64,
    calls: Option<u64>,
    old: DecisionDocument<'r>,
    new: DecisionDocument<'r>,
    ran: Option<&'r str>,
}

#[derive(Debug, Serialize)]
struct DecisionDocument<'r> {
    line: Option<usize>,
    algorithm: Option<&'r str>,
    replaced_by: Option<&'r str>,
    depends: Option<&'r str>,
    decided_by: &'static str,
    why: Option<&'r str>,
}

impl Report<'_> {
    /// The document.
    #[must_use]
    pub fn to_json(&self) -> String {
        json::document(&RulesDocument {
            schema: "collbench.rules/1",
            file: &self.file,
            format: self.format,
            library: &self.library,
            ignored: self.ignored.as_ref().map(|(at, text)| IgnoredDocument {
                line: at.line,
                column: at.column,
                text,
            }),
            notes: &self.notes,
            problems: self
                .problems
                .iter()
                .map(|problem| ProblemDocument {
                    line: problem.at.line,
                    column: problem.at.column,
                    text: &problem.what,
                    effect: &problem.effect,
                    instead: problem.instead.as_deref(),
                })
                .collect(),
            calls: self
                .calls
                .as_ref()
                .map(|calls| calls.iter().map(call).collect()),
        })
    }
}

impl Differences<'_> {
    /// The document.
    #[must_use]
    pub fn to_json(&self) -> String {
        let changes = self.changes.iter().map(|change| {
            let class = change.old.class;
            ChangeDocument {
                operation: class.operation.name(),
                processes: class.n_processes,
                bytes_min: change.old.bytes.0,
                bytes_max: change.old.bytes.1,
                calls: change.old.is_whole.then_some(class.calls),
                old: decision(&change.old),
                new: decision(&change.new),
                ran: class.ran.as_deref(),
            }
        });
        json::document(&DifferencesDocument {
            schema: "collbench.rules.difference/1",
            old: SideDocument {
                file: &self.old.0,
                library: &self.old.1,
            },
            new: SideDocument {
                file: &self.new.0,
                library: &self.new.1,
            },
            calls: self.calls,
            changes: changes.collect(),
        })
    }
}

fn call<'r>(explained: &'r Explained<'_>) -> CallDocument<'r> {
    let class = explained.class;
    let hosts = &class.processes_per_host;
    CallDocument {
        operation: class.operation.name(),
        processes: class.n_processes,
        processes_per_host: (!hosts.is_empty()).then_some(hosts),
        bytes_min: explained.bytes.0,
        bytes_max: explained.bytes.1,
        size_min: explained.size.map(|(least, _)| least),
        size_max: explained.size.map(|(_, most)| most),
        calls: explained.is_whole.then_some(class.calls),
        failed: explained.is_whole.then_some(class.failed),
        decision: decision(explained),
        ran: class.ran.as_deref(),
    }
}

fn decision<'r>(explained: &'r Explained<'_>) -> DecisionDocument<'r> {
    let decision = &explained.decision;
    let (decided_by, why) = match &decision.by {
        DecidedBy::Rule => ("rule", None),
        DecidedBy::Setting(setting) => ("setting", Some(setting.as_str())),
        DecidedBy::Library(why) => ("library", Some(why.as_str())),
        DecidedBy::Component(why) => ("component", Some(why.as_str())),
        DecidedBy::Failure(why) => ("failure", Some(why.as_str())),
    };
    DecisionDocument {
        line: decision.line,
        algorithm: decision.algorithm.as_deref(),
        replaced_by: decision.replaced_by.as_deref(),
        depends: decision.depends.as_deref(),
        decided_by,
        why,
    }
}
