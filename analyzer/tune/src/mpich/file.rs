//! A selection file in the run of a program: what it decides of classes of calls.

use std::collections::BTreeSet;

use collbench_formats::Operation;

use super::call::{Call, Layout};
use super::compiled::compiled;
use super::measures::{Total, collective};
use super::plan::{By, Chooser, Failure, Plan, Step};
use super::read::{is_selection, read, read_as};
use super::settings::Settings;
use super::test::{Hierarchy, Test};
use super::tree::{Fate, Kind, Selection, What};
use super::version::Version;
use crate::call::CallClass;
use crate::decision::{DecidedBy, Decision};
use crate::explain::Explained;
use crate::problem::{Position, Problem};

/// A selection file with the library that reads it, and what else the run sets.
#[derive(Debug)]
pub struct MpichFile {
    version: &'static Version,
    settings: Settings,
    kind: Kind,
    mpir: Selection,
    ch4: Selection,
    notes: Vec<String>,
}

/// The other files of a run: those that it names, else those that are compiled in; `None` for what is not
/// at hand.
#[derive(Debug, Clone, Default)]
pub struct OtherFiles {
    /// The file of algorithms.
    pub mpir: Option<Vec<u8>>,
    /// The file of compositions.
    pub ch4: Option<Vec<u8>>,
}

impl OtherFiles {
    /// Those that are compiled into a library, of which these are the bytes.
    #[must_use]
    pub fn compiled_in(library: &[u8]) -> Self {
        let of_kind = |kind| compiled(library, kind).map(<[u8]>::to_vec);
        Self {
            mpir: of_kind(Kind::Mpir),
            ch4: of_kind(Kind::Ch4),
        }
    }
}

impl MpichFile {
    /// Reads `text`, of the kind that its keys show; `None` if it does not look like a selection file.
    #[must_use]
    pub fn read(
        text: &[u8],
        version: &'static Version,
        settings: Settings,
        others: &OtherFiles,
    ) -> Option<Self> {
        if !is_selection(text) {
            return None;
        }
        let of_run = read(text, version);
        let kind = of_run.kind;
        let mut notes = Vec::new();
        if version.tested().is_none() {
            notes.push(format!(
                "the model of MPICH {} is made of its sources and was not compared with the library",
                version.number()
            ));
        }
        let other =
            |kind, text: &Option<Vec<u8>>| text.as_deref().map(|text| read_as(kind, text, version));
        let empty = |kind| read_as(kind, b"{}", version);
        let (mpir, ch4) = match kind {
            Kind::Mpir => (Some(of_run), other(Kind::Ch4, &others.ch4)),
            Kind::Ch4 => (other(Kind::Mpir, &others.mpir), Some(of_run)),
            Kind::Posix => return Some(Self::in_shared_memory(version, settings, of_run)),
        };
        if ch4.is_none() {
            notes.push(
                "the compositions of the run are not known: calls are explained as if each ran on its whole communicator"
                    .to_owned(),
            );
        }
        if mpir.is_none() {
            notes.push(
                "the algorithms of the run are not known: only compositions are explained"
                    .to_owned(),
            );
        }
        let (mpir, ch4) = (
            mpir.unwrap_or_else(|| empty(Kind::Mpir)),
            ch4.unwrap_or_else(|| empty(Kind::Ch4)),
        );
        Some(Self {
            version,
            settings,
            kind,
            mpir,
            ch4,
            notes,
        })
    }

    fn in_shared_memory(version: &'static Version, settings: Settings, of_run: Selection) -> Self {
        let note = "a file for shared memory is checked, not explained: MPICH 4.0 reads none where it is built for \
                    one network alone, as ch4:ucx is";
        // It stands in the place of the algorithms, which are not looked at.
        let ch4 = read_as(Kind::Ch4, b"{}", version);
        Self {
            version,
            settings,
            kind: Kind::Posix,
            mpir: of_run,
            ch4,
            notes: vec![note.to_owned()],
        }
    }

    /// What the file is for, in words.
    #[must_use]
    pub fn format(&self) -> &'static str {
        match self.kind {
            Kind::Mpir => "selections of MPICH: algorithms (JSON)",
            Kind::Ch4 => "selections of MPICH: compositions (JSON)",
            Kind::Posix => "selections of MPICH: shared memory (JSON)",
        }
    }

    /// What is to be known of the file and the run as a whole.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    fn selection(&self) -> &Selection {
        match self.kind {
            Kind::Ch4 => &self.ch4,
            Kind::Mpir | Kind::Posix => &self.mpir,
        }
    }

    /// Why no program that uses the file gets past `MPI_Init`, and where.
    #[must_use]
    pub fn ignored(&self) -> Option<(Position, String)> {
        let selection = self.selection();
        let why = match selection.fate {
            Fate::Loads => return None,
            Fate::Aborts => "the program ends in MPI_Init",
            Fate::Undefined => {
                "the library goes on with memory that it has not set: mostly it ends in MPI_Init"
            }
        };
        let fatal = selection
            .problems
            .iter()
            .find(|problem| problem.effect.contains("MPI_Init"));
        let first = fatal.or_else(|| selection.problems.first());
        let start = Position { line: 1, column: 1 };
        Some((first.map_or(start, |problem| problem.at), why.to_owned()))
    }

    /// All that is wrong with the file, by place.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        self.selection().problems.clone()
    }

    /// Whether files can choose for an operation.
    #[must_use]
    pub fn has_rules_for(operation: Operation) -> bool {
        collective_of(operation).is_some()
    }

    /// Bytes of one process from which on another rule could hold.
    #[must_use]
    pub fn starts(&self, class: &CallClass) -> Vec<u64> {
        let size = u64::from(class.n_processes.max(1));
        let Some(collective) = collective_of(class.operation) else {
            return Vec::new();
        };
        let names = collectives_inside(collective.name);
        let mut starts = Vec::new();
        for selection in [&self.mpir, &self.ch4] {
            let nodes = &selection.tree.nodes;
            let mut open: Vec<usize> = (0..nodes.len())
                .filter(|node| match &nodes[*node].what {
                    What::Test(Test::Collective(of)) => names.iter().any(|name| name == of.name),
                    _ => false,
                })
                .filter_map(|node| nodes[node].success)
                .collect();
            while let Some(node) = open.pop() {
                if let What::Test(test) = nodes[node].what {
                    starts.extend(start(test, size));
                }
                open.extend(nodes[node].success.into_iter().chain(nodes[node].failure));
            }
        }
        // The algorithm for hosts changes its own way by these.
        starts.extend([1, 12_288, 524_288]);
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// What `bytes` of one process are in the file's unit, for collectives with tests of all processes
    /// together; of others the bytes themselves, and nothing where no test looks at them.
    #[must_use]
    pub fn size(&self, class: &CallClass, bytes: u64) -> Option<u64> {
        let collective = collective_of(class.operation)?;
        if collective.average {
            return Some(bytes);
        }
        match collective.total {
            Total::TimesProcesses | Total::Sum => bytes.checked_mul(u64::from(class.n_processes)),
            Total::Elements | Total::None => None,
        }
    }

    /// What decides a call of `bytes`; `element` is the size of an element, where it is known.
    #[must_use]
    pub fn decide(&self, class: &CallClass, bytes: u64, element: Option<u64>) -> Decision {
        let mut plans = self.plans(class, bytes, element);
        // What most programs do goes first: reorderable operations of MPI, not in place, in one thread.
        plans.sort_by_key(|plan| {
            plan.given
                .iter()
                .filter(|(key, yes)| *yes != usual(key))
                .count()
        });
        let mut decisions: Vec<(Decision, &Plan)> = Vec::new();
        for plan in &plans {
            let decision = self.of_plan(plan);
            if decisions.iter().all(|(other, _)| *other != decision) {
                decisions.push((decision, plan));
            }
        }
        let others = decisions
            .iter()
            .skip(1)
            .map(|(decision, plan)| otherwise(decision, plan));
        let others: Vec<String> = others.collect();
        let Some((first, _)) = decisions.into_iter().next() else {
            return Decision::by_other(DecidedBy::Library(
                "MPICH chooses no algorithm for it".to_owned(),
            ));
        };
        let depends: Vec<String> = first.depends.clone().into_iter().chain(others).collect();
        Decision {
            depends: (!depends.is_empty()).then(|| depends.join("; ")),
            ..first
        }
    }

    /// Choices of the file that none of these calls comes to.
    #[must_use]
    pub fn unused(&self, calls: &[Explained<'_>], element: Option<u64>) -> Vec<Problem> {
        if self.kind == Kind::Posix {
            return Vec::new();
        }
        let mut used: BTreeSet<Position> = BTreeSet::new();
        for explained in calls {
            for plan in self.plans(explained.class, explained.bytes.0, element) {
                let places = plan.steps.iter().flat_map(|step| {
                    let by_file = match &step.by {
                        By::File(place) => Some(*place),
                        By::Setting(_) => None,
                    };
                    by_file.into_iter().chain(step.composed_by)
                });
                let failed = plan.failure.as_ref().and_then(|failure| failure.at);
                used.extend(
                    places
                        .chain(failed)
                        .filter(|place| place.kind == self.kind)
                        .map(|place| place.at),
                );
            }
        }
        let choices = self
            .selection()
            .tree
            .nodes
            .iter()
            .filter(|node| !matches!(node.what, What::Test(_)));
        choices
            .filter(|node| !used.contains(&node.at))
            .map(|node| {
                let what = format!("`{}`", node.key);
                Problem::new(node.at, what, "no call of the trace comes here")
            })
            .collect()
    }

    /// What a call comes to on the different kinds of ranks that there are.
    fn plans(&self, class: &CallClass, bytes: u64, element: Option<u64>) -> Vec<Plan> {
        let Some(collective) = collective_of(class.operation) else {
            return Vec::new();
        };
        let Some(call) = Call::new(collective.name, bytes) else {
            return Vec::new();
        };
        let call = Call {
            count: element.and_then(|element| bytes.checked_div(element)),
            ..call
        };
        let layout = match class.processes_per_host[..] {
            // As where nothing is known of hosts: one for all.
            [] => Layout::consecutive(&[class.n_processes]),
            ref per_host => Layout::consecutive(per_host),
        };
        let chooser = Chooser {
            version: self.version,
            mpir: &self.mpir,
            ch4: &self.ch4,
            settings: &self.settings,
        };
        // The first of a host takes part in all that its host does.
        chooser.plans(&call, &layout, 0)
    }

    fn of_plan(&self, plan: &Plan) -> Decision {
        let outer: Vec<&Step> = plan
            .steps
            .iter()
            .filter(|step| step.depth == 0 && step.communicator.size > 1)
            .collect();
        if let Some(failure) = &plan.failure
            && !(self.kind == Kind::Ch4 && self.mpir.tree.nodes.is_empty())
        {
            return self.of_failure(failure, &outer);
        }
        match self.kind {
            Kind::Ch4 => self.of_composition(plan, &outer),
            Kind::Mpir | Kind::Posix => self.of_algorithms(&outer),
        }
    }

    fn of_failure(&self, failure: &Failure, outer: &[&Step]) -> Decision {
        let place = failure.at.filter(|place| place.kind == self.kind);
        let line = place
            .map(|place| place.at.line)
            .or_else(|| self.line(outer));
        let why = if failure.checked {
            failure.why.clone()
        } else {
            format!("{}, and what it does then is not defined", failure.why)
        };
        Decision {
            line,
            ..Decision::by_other(DecidedBy::Failure(why))
        }
    }

    fn line(&self, steps: &[&Step]) -> Option<usize> {
        steps.iter().find_map(|step| match &step.by {
            By::File(place) if place.kind == self.kind => Some(place.at.line),
            _ => step
                .composed_by
                .filter(|place| place.kind == self.kind)
                .map(|place| place.at.line),
        })
    }

    fn of_composition(&self, plan: &Plan, outer: &[&Step]) -> Decision {
        let composed = plan.steps.iter().find_map(|step| step.composed_by);
        let at = composed.or_else(|| plan.failure.as_ref().and_then(|failure| failure.at));
        let node = at.and_then(|place| self.ch4.tree.nodes.iter().find(|node| node.at == place.at));
        let Some(node) = node else {
            let why = match outer
                .first()
                .map(|step| self.settings.device(step.collective))
            {
                Some((false, Some(setting))) => {
                    return Decision::by_other(DecidedBy::Setting(setting));
                }
                _ => "no composition of the file fits: an algorithm of the whole communicator",
            };
            return Decision::by_other(DecidedBy::Library(why.to_owned()));
        };
        let algorithm = node
            .key
            .strip_prefix("composition=")
            .unwrap_or(&node.key)
            .to_owned();
        let inside = if outer.is_empty() {
            algorithm
        } else {
            format!("{algorithm}: {}", names(outer))
        };
        Decision {
            line: Some(node.at.line),
            algorithm: Some(inside),
            ..Decision::by_other(DecidedBy::Rule)
        }
    }

    fn of_algorithms(&self, outer: &[&Step]) -> Decision {
        let Some(first) = outer.first() else {
            return Decision::by_other(DecidedBy::Library(
                "the call returns before it chooses".to_owned(),
            ));
        };
        let by = match &first.by {
            By::File(_) => DecidedBy::Rule,
            By::Setting(setting) => DecidedBy::Setting(setting.clone()),
        };
        let depends = first
            .instead_of
            .as_ref()
            .map(|setting| format!("not by {setting}"));
        Decision {
            line: self.line(outer),
            algorithm: Some(names(outer)),
            depends,
            ..Decision::by_other(by)
        }
    }
}

/// The collective that files know an operation by; persistent ones choose as nonblocking ones do.
fn collective_of(operation: Operation) -> Option<&'static super::measures::Collective> {
    let name = operation.name().strip_prefix("MPI_")?.to_ascii_lowercase();
    match name.strip_suffix("_init") {
        Some(blocking) => collective(&format!("i{blocking}")),
        None => collective(&name),
    }
}

/// Collectives that a call of one may consist of, itself among them.
fn collectives_inside(name: &str) -> Vec<String> {
    let blocking: &[&str] = match name {
        "allreduce" => &["allreduce", "reduce", "bcast"],
        "barrier" => &["barrier", "bcast"],
        "scan" => &["scan", "bcast"],
        _ => &[name],
    };
    blocking
        .iter()
        .flat_map(|name| [(*name).to_owned(), format!("i{name}")])
        .collect()
}

fn start(test: Test, size: u64) -> Option<u64> {
    let bytes = |value: i32| u64::try_from(value).ok();
    match test {
        Test::AverageAtMost(value) => bytes(value)?.checked_add(1),
        Test::AverageBelow(value) => bytes(value),
        Test::TotalAtMost(value) => (bytes(value)? / size).checked_add(1),
        Test::TotalBelow(value) => Some(bytes(value)?.div_ceil(size)),
        _ => None,
    }
}

/// What most calls answer to a test that is not known of them.
fn usual(key: &str) -> bool {
    [
        "is_commutative=yes",
        "is_op_built_in=yes",
        "is_block_regular=yes",
    ]
    .contains(&key)
}

/// What happens if the tests that are not known come out as they do for `plan`.
fn otherwise(decision: &Decision, plan: &Plan) -> String {
    let given: Vec<String> = plan
        .given
        .iter()
        .filter(|(key, yes)| *yes != usual(key))
        .map(|(key, yes)| match key.strip_suffix("=yes") {
            Some(name) => format!("{name}={}", if *yes { "yes" } else { "no" }),
            None if *yes => key.clone(),
            None => format!("not {key}"),
        })
        .collect();
    let what = match (&decision.algorithm, &decision.by) {
        (Some(algorithm), _) => algorithm.clone(),
        (None, by) => by.to_string(),
    };
    let line = decision
        .line
        .map(|line| format!(" (line {line})"))
        .unwrap_or_default();
    format!("if {}: {what}{line}", given.join(" and "))
}

/// Algorithms one after another, with the processes that each runs on.
fn names(steps: &[&Step]) -> String {
    let names: Vec<String> = steps
        .iter()
        .map(|step| {
            let on = match step.communicator.hierarchy {
                Hierarchy::Node => " within each host",
                Hierarchy::NodeRoots => " among hosts",
                Hierarchy::Flat | Hierarchy::Parent => "",
            };
            let parameters: String = step
                .parameters
                .iter()
                .map(|parameter| format!(" {parameter}"))
                .collect();
            format!("{}{parameters}{on}", step.algorithm)
        })
        .collect();
    names.join(", then ")
}
