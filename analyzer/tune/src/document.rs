//! A report as a JSON document: `collbench.rules/1`.

use collbench_text::json;
use serde::Serialize;

use crate::decision::DecidedBy;
use crate::explain::Explained;
use crate::report::{Differences, Report};

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct RulesDocument<'r> {
    schema: &'static str,
    /// The rule file.
    file: &'r str,
    /// Its format, in words.
    format: &'r str,
    /// The MPI library, with its version.
    library: &'r str,
    /// Where the library gives up, if it ignores the whole file.
    ignored: Option<IgnoredDocument<'r>>,
    /// What is to be known of the run and the file as a whole, as sentences.
    notes: &'r [String],
    /// What is wrong with the file, or probably not meant.
    problems: Vec<ProblemDocument<'r>>,
    /// The calls of the run, by class; `None` without a trace.
    calls: Option<Vec<CallDocument<'r>>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IgnoredDocument<'r> {
    line: usize,
    column: usize,
    /// Why, as a sentence.
    text: &'r str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ProblemDocument<'r> {
    line: usize,
    column: usize,
    /// What is wrong, as a sentence.
    text: &'r str,
    /// What the library makes of it, as a sentence.
    effect: &'r str,
    /// What to write instead, where that is known.
    instead: Option<&'r str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CallDocument<'r> {
    /// The name in the MPI standard.
    operation: &'static str,
    /// Processes of the communicator.
    processes: u32,
    /// How many of them are on each host; `None` where that is not known.
    processes_per_host: Option<&'r [u32]>,
    /// Least payload of one process, bytes.
    bytes_min: u64,
    /// Greatest payload of one process, bytes.
    bytes_max: u64,
    /// Least size that is compared with those of the file; `None` where none is.
    size_min: Option<u64>,
    /// Greatest size that is compared with those of the file; `None` where none is.
    size_max: Option<u64>,
    /// Number of calls; `None` for a part of a class of bytes.
    calls: Option<u64>,
    /// Instances that returned an error; `None` for a part of a class of bytes.
    failed: Option<u64>,
    #[serde(flatten)]
    decision: DecisionDocument<'r>,
    /// What ran; `None` if the trace has no names and no messages.
    ran: Option<&'r str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DifferencesDocument<'r> {
    schema: &'static str,
    old: SideDocument<'r>,
    new: SideDocument<'r>,
    /// Calls of the trace that are decided differently.
    calls: u64,
    /// The classes of these calls.
    changes: Vec<ChangeDocument<'r>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SideDocument<'r> {
    /// The rule file.
    file: &'r str,
    /// The MPI library, with its version.
    library: &'r str,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct ChangeDocument<'r> {
    /// The name in the MPI standard.
    operation: &'static str,
    /// Processes of the communicator.
    processes: u32,
    /// Least payload of one process, bytes.
    bytes_min: u64,
    /// Greatest payload of one process, bytes.
    bytes_max: u64,
    /// Number of calls; `None` for a part of a class of bytes.
    calls: Option<u64>,
    old: DecisionDocument<'r>,
    new: DecisionDocument<'r>,
    /// What ran; `None` if the trace has no names and no messages.
    ran: Option<&'r str>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct DecisionDocument<'r> {
    /// Line of the rule that matches, even if something else decides.
    line: Option<usize>,
    /// The algorithm; `None` where the library decides for itself.
    algorithm: Option<&'r str>,
    /// What the library takes instead, because it cannot do `algorithm`.
    replaced_by: Option<&'r str>,
    /// What would have to be known of the calls.
    depends: Option<&'r str>,
    /// `rule`, `setting`, `library`, `component` or `failure`.
    decided_by: &'static str,
    /// The setting that decides, or why the rule does not; `None` if the rule decides.
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_schemas_are_those_of_the_types() {
        collbench_schemas::check::<super::RulesDocument<'_>>("collbench.rules/1");
        collbench_schemas::check::<super::DifferencesDocument<'_>>("collbench.rules.difference/1");
    }
}
