//! Which rule decides a call, and what follows.
//!
//! Follows the `dec_dynamic` functions of `coll_tuned_decision_dynamic.c`, and before them what
//! `mca_coll_base_comm_select` chooses by priority.

use collbench_formats::Operation;

use super::classic::ClassicFile;
use super::json_file::JsonFile;
use super::library::Library;
use super::look_up::{Does, Found, LookUp, Placement};
use super::run::Settings;
use super::version::{Algorithm, CountedSize, Limit, OperationTable, Part};
use crate::call::CallClass;
use crate::decision::{DecidedBy, Decision};

/// A call that is to be decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// What is called.
    pub operation: Operation,
    /// Processes of the communicator.
    pub n_processes: u32,
    /// Where these are.
    pub placement: Placement,
    /// Bytes of one process.
    pub bytes: u64,
    /// Size of one element; `None` where it is not known.
    pub element: Option<u64>,
}

/// A file of `coll_tuned`.
#[derive(Debug, Clone, Copy)]
pub enum TunedFile<'f> {
    /// In numbers.
    Classic(&'f ClassicFile),
    /// In JSON.
    Json(&'f JsonFile),
}

/// Sizes that elements have, for calls of which it is not known.
const ELEMENTS: [u64; 5] = [1, 2, 4, 8, 16];

/// The size that is taken where it is not known.
const USUAL_ELEMENT: u64 = 8;

/// `coll_tuned_OPERATION_algorithm_tree_fanout`, where it is not set.
const FORCED_FAN_OUT: i64 = 4;

/// Operations of `coll_han`.
const OF_HAN: [Operation; 7] = [
    Operation::Allgather,
    Operation::Allreduce,
    Operation::Barrier,
    Operation::Bcast,
    Operation::Gather,
    Operation::Reduce,
    Operation::Scatter,
];

/// What decides a call.
#[must_use]
pub fn decide(file: TunedFile<'_>, library: Library, settings: &Settings, call: Call) -> Decision {
    if let TunedFile::Json(file) = file
        && let Some(fault) = file.ignored().filter(|fault| fault.crashes)
        && !settings.ignores_rules
    {
        let why = format!("MPI_Init crashes in line {}", fault.at.line);
        return Decision::by_other(DecidedBy::Failure(why));
    }
    if let Some(by) = without_tuned(library, settings, call) {
        return Decision::by_other(by);
    }
    let Some(table) = library.operation(call.operation) else {
        return Decision::by_other(DecidedBy::Component(
            "coll_tuned has no rules for this operation".to_owned(),
        ));
    };
    if table.returns_without_data && call.bytes == 0 {
        let why = "a call without data returns before anything is decided";
        return Decision::by_other(DecidedBy::Library(why.to_owned()));
    }
    inside_tuned(file, library, settings, table, call)
}

/// What decides instead of `coll_tuned`.
fn without_tuned(library: Library, settings: &Settings, call: Call) -> Option<DecidedBy> {
    if call.operation.blocking() != call.operation {
        let why =
            "nonblocking and persistent operations are those of coll_libnbc, which reads no rules";
        return Some(DecidedBy::Component(why.to_owned()));
    }
    if call.n_processes < 2 {
        let why = "a communicator of one process has coll_self";
        return Some(DecidedBy::Component(why.to_owned()));
    }
    if !settings.allows("tuned") {
        let list = settings.components.as_deref().unwrap_or_default();
        return Some(DecidedBy::Setting(format!("coll={list}")));
    }
    let tuned = settings
        .tuned_priority
        .unwrap_or(library.table.tuned_priority);
    let han = settings.han_priority.unwrap_or(library.table.han_priority);
    if !call.placement.is_one_host()
        && OF_HAN.contains(&call.operation)
        && settings.allows("han")
        && han > tuned
    {
        return Some(DecidedBy::Component(format!(
            "coll_han has priority {han}, coll_tuned {tuned}"
        )));
    }
    None
}

fn inside_tuned(
    file: TunedFile<'_>,
    library: Library,
    settings: &Settings,
    table: &'static OperationTable,
    call: Call,
) -> Decision {
    let forced = settings.forced.get(table.name).copied();
    if settings.ignores_rules {
        let why = "coll_tuned_use_dynamic_rules is not set, so that neither file nor forced algorithm holds";
        return Decision::by_other(DecidedBy::Library(why.to_owned()));
    }
    let look_up = |element: u64| {
        let size = table.size.of(call.bytes, call.n_processes, element);
        file.look_up(table, call, size)
    };
    let found = look_up(call.element.unwrap_or(USUAL_ELEMENT));
    let line = found.rule().map(|rule| rule.line);
    let follow = |does: Does| follow(file, library, settings, table, call, does);
    let by_force = |forced: i64| {
        let setting = format!("coll_tuned_{}_algorithm={forced}", table.name);
        let mut decision = follow(Does {
            algorithm: forced,
            fan_out: FORCED_FAN_OUT,
            segment: 0,
        });
        decision.line = line;
        if decision.by == DecidedBy::Rule {
            decision.by = DecidedBy::Setting(setting);
        }
        decision
    };
    if let Some(forced) = forced
        && library.table.forced_goes_first
    {
        return by_force(forced);
    }
    let mut decision = match (&found, forced) {
        (LookUp::Rule(rule), _) if rule.does.algorithm != 0 => follow(rule.does),
        (_, Some(forced)) => return by_force(forced),
        (LookUp::Rule(_), None) => without_choice(table, "the rule has algorithm 0"),
        (LookUp::NoSize(why), None) => without_choice(table, why),
        (LookUp::Nothing(why), None) => Decision::by_other(DecidedBy::Library(why.clone())),
    };
    decision.line = line;
    if call.element.is_none()
        && table.size == CountedSize::OneElement
        && ELEMENTS
            .iter()
            .any(|&element| look_up(element).rule() != found.rule())
    {
        decision.depends = Some(format!(
            "the size of one element counts; {USUAL_ELEMENT} bytes are assumed"
        ));
    }
    if let TunedFile::Json(file) = file
        && call.placement == Placement::Unknown
        && file.asks_for_hosts(table)
    {
        let what = "on which hosts the processes are is not known; one host is assumed";
        decision.depends = Some(what.to_owned());
    }
    decision
}

impl TunedFile<'_> {
    /// What it says of a call whose size in the file is `size`.
    fn look_up(self, table: &OperationTable, call: Call, size: u64) -> LookUp {
        match self {
            Self::Classic(file) => file.look_up(table, call.n_processes, size),
            Self::Json(file) => file.look_up(table, call.n_processes, call.placement, size),
        }
    }
}

impl ClassicFile {
    fn look_up(&self, table: &OperationTable, n_processes: u32, size: u64) -> LookUp {
        let rules = self.rules_of(table.id);
        let Some(rules) = rules.and_then(|rules| rules.for_processes(n_processes)) else {
            return LookUp::Nothing(match &self.dropped {
                Some(dropped) => format!("the library ignores the whole file: {}", dropped.why),
                None => format!("the file has no rules for {}", table.name),
            });
        };
        let Some(rule) = rules.for_size(size) else {
            return LookUp::NoSize("no message sizes for this communicator");
        };
        LookUp::Rule(Found {
            line: rule.size.1.line,
            does: Does {
                algorithm: rule.algorithm.0,
                fan_out: rule.fan_out.0,
                segment: rule.segment.0,
            },
        })
    }
}

/// The library's own decision within the dynamic one.
fn without_choice(table: &OperationTable, why: &str) -> Decision {
    Decision {
        algorithm: table.otherwise.map(str::to_owned),
        ..Decision::by_other(DecidedBy::Library(why.to_owned()))
    }
}

/// What follows from an algorithm's number: each `ompi_coll_tuned_OPERATION_intra_do_this`.
fn follow(
    file: TunedFile<'_>,
    library: Library,
    settings: &Settings,
    table: &'static OperationTable,
    call: Call,
    does: Does,
) -> Decision {
    // The library keeps an int.
    let id = i64::from(does.algorithm as i32);
    let Some(algorithm) = table.algorithms.iter().find(|of| of.id == id) else {
        let why = format!("{} has no algorithm {id} (MPI_ERR_ARG)", table.name);
        return Decision::by_other(DecidedBy::Failure(why));
    };
    if algorithm.limit == Limit::TwoProcesses && call.n_processes != 2 {
        let what = "is for two processes only (MPI_ERR_UNSUPPORTED_OPERATION)";
        return Decision {
            algorithm: Some(algorithm.function.to_owned()),
            ..Decision::by_other(DecidedBy::Failure(format!("{} {what}", algorithm.name)))
        };
    }
    let least = algorithm.least_fan_out;
    if does.fan_out < least {
        let what = format!("goes round without end with a fan-out below {least}");
        return Decision {
            algorithm: Some(algorithm.function.to_owned()),
            ..Decision::by_other(DecidedBy::Failure(format!("{} {what}", algorithm.name)))
        };
    }
    let mut decision = Decision {
        algorithm: Some(algorithm.function.to_owned()),
        ..Decision::by_other(DecidedBy::Rule)
    };
    match replacement(table, algorithm, call, does.segment) {
        Replacement::No => {}
        Replacement::Yes(function) => decision.replaced_by = Some(function.to_owned()),
        Replacement::Perhaps(function) => {
            decision.depends = Some(format!(
                "{function} replaces it if a process has too few elements"
            ));
        }
    }
    for part in algorithm.parts {
        let (operation, bytes) = match *part {
            Part::Same(operation) => (operation, call.bytes),
            Part::All(operation) => (
                operation,
                call.bytes.saturating_mul(u64::from(call.n_processes)),
            ),
        };
        let inner = Call {
            operation,
            bytes,
            ..call
        };
        let Some(of_part) = library.operation(operation) else {
            continue;
        };
        if without_tuned(library, settings, inner).is_some() {
            continue;
        }
        let inner = inside_tuned(file, library, settings, of_part, inner);
        if let DecidedBy::Failure(why) = inner.by {
            let why = format!("its {}: {why}", of_part.name);
            decision.by = DecidedBy::Failure(why);
            break;
        }
    }
    decision
}

/// Whether the library takes another algorithm.
enum Replacement {
    No,
    Yes(&'static str),
    /// That depends on the number of elements.
    Perhaps(&'static str),
}

fn replacement(
    table: &'static OperationTable,
    algorithm: &Algorithm,
    call: Call,
    segment: i64,
) -> Replacement {
    let n = u64::from(call.n_processes);
    let outcome = |element: u64| -> Option<&'static str> {
        let count = call.bytes / element;
        let (is_possible, other) = match algorithm.limit {
            Limit::None | Limit::TwoProcesses => return None,
            Limit::PowerOfTwo(other) => (n.is_power_of_two(), other),
            Limit::Even(other) => (n.is_multiple_of(2), other),
            Limit::ElementForEach(other) => (count >= n, other),
            Limit::ElementForPowerOfTwo(other) => {
                (count >= largest_power_of_two(call.n_processes), other)
            }
            Limit::SegmentForEach(other) => {
                let segments = segment_count(segment, element, count);
                if count >= n.saturating_mul(segments) {
                    (true, other)
                } else {
                    // The other one has a limit of its own.
                    let mut others = table.algorithms.iter();
                    let next = others.find(|next| next.function == other);
                    let last = match next.map(|next| next.limit) {
                        Some(Limit::ElementForEach(last)) if count < n => last,
                        _ => other,
                    };
                    (false, last)
                }
            }
            Limit::TwoHalves(other) => (can_halve(segment, element, count), other),
        };
        (!is_possible).then_some(other)
    };
    let elements: &[u64] = match &call.element {
        Some(element) => std::slice::from_ref(element),
        None => &ELEMENTS,
    };
    let outcomes: Vec<_> = elements.iter().map(|&element| outcome(element)).collect();
    match outcomes[0] {
        first if outcomes.iter().all(|&other| other == first) => {
            first.map_or(Replacement::No, Replacement::Yes)
        }
        first => outcomes
            .into_iter()
            .flatten()
            .next()
            .or(first)
            .map_or(Replacement::No, Replacement::Perhaps),
    }
}

fn largest_power_of_two(n: u32) -> u64 {
    n.checked_ilog2().map_or(0, |exponent| 1 << exponent)
}

/// Elements of a segment: `COLL_BASE_COMPUTED_SEGCOUNT`.
fn segment_count(segment: i64, element: u64, count: u64) -> u64 {
    // The library keeps an int, which a function takes as an unsigned one.
    let segment = u64::from(segment as u32);
    if segment < element || segment >= element.saturating_mul(count) {
        return count;
    }
    let rest = segment % element;
    segment / element + u64::from(rest > element / 2)
}

/// The test of `ompi_coll_base_bcast_intra_split_bintree`.
fn can_halve(segment: i64, element: u64, count: u64) -> bool {
    let segment = match u64::from(segment as u32) {
        0 => 0,
        segment => segment.max(element),
    };
    let smaller = count / 2;
    smaller > 0 && segment <= smaller.saturating_mul(element)
}

impl Call {
    /// A call of a class, with so many bytes of one process.
    #[must_use]
    pub fn of(class: &CallClass, bytes: u64, element: Option<u64>) -> Self {
        Self {
            operation: class.operation,
            n_processes: class.n_processes,
            placement: match &class.processes_per_host[..] {
                [] => Placement::Unknown,
                [_] => Placement::OneHost,
                hosts if hosts.iter().all(|&n| n == 1) => Placement::OneOnEachHost,
                _ => Placement::SeveralHosts,
            },
            bytes,
            element,
        }
    }
}

/// Bytes of one process from which on another rule could hold for calls of a class, or the library
/// replace an algorithm.
#[must_use]
pub fn starts(file: TunedFile<'_>, library: Library, class: &CallClass) -> Vec<u64> {
    let n = u64::from(class.n_processes.max(1));
    let mut starts = vec![1, n];
    let Some(table) = library.operation(class.operation) else {
        return starts;
    };
    let sizes = match file {
        TunedFile::Classic(file) => {
            let rules = file.rules_of(table.id);
            let rules = rules.and_then(|rules| rules.for_processes(class.n_processes));
            let rules = rules.map_or(&[][..], |rules| &rules.rules);
            let sizes = rules.iter().map(|rule| rule.size.0);
            sizes.filter_map(|size| u64::try_from(size).ok()).collect()
        }
        TunedFile::Json(file) => {
            let placement = Call::of(class, 0, None).placement;
            file.starts(table, class.n_processes, placement)
        }
    };
    starts.extend(sizes.into_iter().map(|size: u64| match table.size {
        CountedSize::AllProcesses => size.div_ceil(n),
        _ => size,
    }));
    starts
}

/// The size that the library compares with those of a file; `None` where it uses none.
#[must_use]
pub fn size(library: Library, class: &CallClass, bytes: u64, element: Option<u64>) -> Option<u64> {
    let table = library.operation(class.operation)?;
    let element = element.unwrap_or(USUAL_ELEMENT);
    (table.size != CountedSize::Nothing).then(|| table.size.of(bytes, class.n_processes, element))
}
