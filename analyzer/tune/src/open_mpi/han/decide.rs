//! Which rule decides a call, and what follows.
//!
//! Follows the functions `mca_coll_han_OPERATION_intra_dynamic` of `coll_han_dynamic.c`, before them
//! `mca_coll_han_comm_query`, and behind them what makes the algorithms give a call away.

use collbench_formats::Operation;

use super::super::library::Library;
use super::super::run::{HanSettings, Settings};
use super::read::{HanFile, HanRule};
use super::table::{self, Component, HanOperationTable, Level, Step, StepSize};
use crate::call::CallClass;
use crate::decision::{DecidedBy, Decision};

/// The component that a parameter names for a level, and the parameter.
fn module_of(han: &HanSettings, table_name: &str, level: Level) -> Option<(Component, String)> {
    let name = format!("coll_han_{table_name}_dynamic_{}_module", level.name());
    let value = *han.modules.get(&name)?;
    let component = *Component::ALL.get(usize::try_from(value).ok()?)?;
    Some((component, format!("{name}={value}")))
}

/// The number of the algorithm that a parameter names, and the parameter.
fn algorithm_of(han: &HanSettings, table: &HanOperationTable) -> Option<(usize, String)> {
    let value = han.algorithms.get(table.name)?;
    let mut names = table.algorithms.iter();
    let number = match names.position(|of| of.name == value) {
        Some(nth) => nth + 1,
        None => value.parse().unwrap_or(0),
    };
    let number = if number > table.algorithms.len() {
        0
    } else {
        number
    };
    Some((
        number,
        format!("coll_han_use_{}_algorithm={value}", table.name),
    ))
}

/// The component that does what no other one can.
const NEXT: &str = "coll_tuned";

/// What decides a call of a class with so many bytes of one process.
#[must_use]
pub fn decide(
    file: &HanFile,
    library: Library,
    settings: &Settings,
    class: &CallClass,
    bytes: u64,
) -> Decision {
    if let Some(by) = without_han(file, library, settings, class) {
        return Decision::by_other(by);
    }
    let Some(table) = table::operation(class.operation) else {
        return Decision::by_other(DecidedBy::Component(
            "coll_han does not do this operation".to_owned(),
        ));
    };
    let returns_without_data =
        (library.operation(class.operation)).is_some_and(|of| of.returns_without_data);
    if returns_without_data && bytes == 0 {
        let why = "a call without data returns before anything is decided";
        return Decision::by_other(DecidedBy::Library(why.to_owned()));
    }
    let mut decision = inside_han(file, settings, table, class, bytes);
    if class.processes_per_host.is_empty() {
        decision.depends = Some(
            "on which hosts the processes are is not known; several hosts are assumed".to_owned(),
        );
    }
    decision
}

/// What decides instead of `coll_han`.
fn without_han(
    file: &HanFile,
    library: Library,
    settings: &Settings,
    class: &CallClass,
) -> Option<DecidedBy> {
    let component = |why: &str| Some(DecidedBy::Component(why.to_owned()));
    if let Some(fault) = file.faults.first()
        && fault.crashes
        && !settings.han.ignores_rules
    {
        let why = format!("MPI_Init crashes in line {}", fault.at.line);
        return Some(DecidedBy::Failure(why));
    }
    if class.operation.blocking() != class.operation {
        return component(
            "nonblocking and persistent operations are those of coll_libnbc, which reads no rules",
        );
    }
    if class.n_processes < 2 {
        return component("a communicator of one process has coll_self");
    }
    if !settings.allows("han") {
        let list = settings.components.as_deref().unwrap_or_default();
        return Some(DecidedBy::Setting(format!("coll={list}")));
    }
    if class.processes_per_host.len() == 1 {
        return component("all processes are on one host, where coll_han is not used");
    }
    let han = settings.han_priority.unwrap_or(library.table.han_priority);
    let tuned = settings
        .tuned_priority
        .unwrap_or(library.table.tuned_priority);
    if settings.allows("tuned") && han <= tuned {
        return Some(DecidedBy::Component(format!(
            "coll_tuned has priority {tuned}, coll_han {han}"
        )));
    }
    if library.version.major < 5 {
        return component("what coll_han of 4.1 does with its rules is not modelled");
    }
    None
}

fn inside_han(
    file: &HanFile,
    settings: &Settings,
    table: &HanOperationTable,
    class: &CallClass,
    bytes: u64,
) -> Decision {
    let han = &settings.han;
    let rule = if han.ignores_rules {
        None
    } else {
        file.rule(table.id, Level::Global, class.n_processes, bytes)
    };
    let component_of_rule = rule.and_then(|rule| rule.component.0);
    let (component, by) = match (component_of_rule, module_of(han, table.name, Level::Global)) {
        (Some(component), _) => (component, DecidedBy::Rule),
        (None, Some((component, setting))) => (component, DecidedBy::Setting(setting)),
        (None, None) => {
            let why = why_no_rule(file, han, table);
            (Component::Han, DecidedBy::Library(why))
        }
    };
    let line = rule.map(|rule| rule.component.1.line);
    let mut decision = Decision {
        line,
        algorithm: Some(format!("coll_{}", component.name())),
        ..Decision::by_other(by)
    };
    let hosts = &class.processes_per_host;
    let is_alone = !hosts.is_empty() && hosts.iter().all(|&n| n == 1);
    let is_imbalanced = hosts.first() != hosts.last();
    match component {
        Component::Tuned => {}
        Component::Basic => {
            if is_alone || is_imbalanced {
                decision.depends = Some(format!(
                    "once coll_han cannot do a call on this communicator, {NEXT} does all such calls"
                ));
            }
        }
        Component::SelfOnly | Component::Libnbc | Component::Sm | Component::Adapt => {
            decision.replaced_by = Some(NEXT.to_owned());
        }
        Component::Han => {
            let algorithm = algorithm(han, table, rule, &mut decision);
            let of = &table.algorithms[algorithm - 1];
            let is_reproducible = of.name == "reproducible";
            let gives_way =
                is_reproducible || is_alone || (is_imbalanced && !table.copes_with_imbalance);
            let mut name = format!("coll_han {}", of.name);
            if !gives_way && !is_imbalanced {
                name += &steps(file, han, of.steps, class, bytes);
            }
            decision.algorithm = Some(name);
            if gives_way {
                decision.replaced_by = Some(NEXT.to_owned());
            } else if is_imbalanced {
                decision.depends = Some(format!(
                    "once coll_han could not do a scatter on this communicator, {NEXT} may follow"
                ));
            }
        }
    }
    decision
}

fn why_no_rule(file: &HanFile, han: &HanSettings, table: &HanOperationTable) -> String {
    if han.ignores_rules {
        return "coll_han_use_dynamic_file_rules is not set, so that nobody reads the file"
            .to_owned();
    }
    if let Some(fault) = file.faults.first() {
        return format!("the library ignores the whole file: {}", fault.why);
    }
    format!(
        "the file has no rule for {} in {}",
        table.name,
        Level::Global.name()
    )
}

/// The number of the algorithm of `coll_han`: `get_algorithm`.
fn algorithm(
    han: &HanSettings,
    table: &HanOperationTable,
    rule: Option<&HanRule>,
    decision: &mut Decision,
) -> usize {
    let find = |name: &str| table.algorithms.iter().position(|of| of.name == name);
    if let Some(nth) = find("reproducible")
        && han.is_reproducible
    {
        decision.by = DecidedBy::Setting("coll_han_reproducible=1".to_owned());
        return nth + 1;
    }
    let default = match find("simple") {
        Some(nth) if han.simple.contains(table.name) => nth + 1,
        _ => table.default,
    };
    let number = match algorithm_of(han, table) {
        Some((number, setting)) => {
            decision.by = DecidedBy::Setting(setting);
            number
        }
        None => rule
            .and_then(|rule| rule.algorithm)
            .map_or(0, |(number, _)| number),
    };
    if number == 0 { default } else { number }
}

/// What decides the steps of an algorithm, where the file or a parameter does.
fn steps(
    file: &HanFile,
    han: &HanSettings,
    steps: &[Step],
    class: &CallClass,
    bytes: u64,
) -> String {
    let mut parts = Vec::new();
    for step in steps {
        let Some((n_processes, factor)) = of_step(step, class) else {
            continue;
        };
        let Some(table) = table::operation(step.operation) else {
            continue;
        };
        let size = bytes.saturating_mul(factor);
        let rule = if han.ignores_rules {
            None
        } else {
            file.rule(table.id, step.level, n_processes, size)
        };
        let by_file = rule
            .and_then(|rule| Some((rule.component.0?, format!("line {}", rule.component.1.line))));
        let Some((component, by)) = by_file.or_else(|| module_of(han, table.name, step.level))
        else {
            continue;
        };
        // Others have no module there, or none with this operation.
        let does = match component {
            Component::Basic => "coll_basic",
            _ => NEXT,
        };
        let level = step.level.name();
        parts.push(format!("{level} {} {does}, {by}", table.name));
    }
    if parts.is_empty() {
        return String::new();
    }
    format!(" ({})", parts.join("; "))
}

/// Processes of the communicator of a step, and what the bytes of one process are multiplied with;
/// `None` where hosts are not known.
fn of_step(step: &Step, class: &CallClass) -> Option<(u32, u64)> {
    let per_host = *class.processes_per_host.first()?;
    let n_hosts = u32::try_from(class.processes_per_host.len()).ok()?;
    let n_processes = match step.level {
        Level::IntraNode => per_host,
        Level::InterNode => n_hosts,
        Level::Global => class.n_processes,
    };
    let factor = match step.size {
        StepSize::Nothing => 0,
        StepSize::OneProcess => 1,
        StepSize::OneHost => u64::from(per_host),
        StepSize::All => u64::from(class.n_processes),
    };
    Some((n_processes, factor))
}

/// Bytes of one process from which on another rule could decide a call of a class.
#[must_use]
pub fn starts(file: &HanFile, class: &CallClass) -> Vec<u64> {
    let Some(table) = table::operation(class.operation) else {
        return Vec::new();
    };
    let mut starts = Vec::new();
    let mut add = |id: u32, level: Level, n_processes: u32, factor: u64| {
        let sizes = file.sizes(id, level, n_processes);
        let rules = sizes.into_iter().flat_map(|sizes| &sizes.rules);
        if factor > 0 {
            starts.extend(rules.map(|rule| rule.size.0.div_ceil(factor)));
        }
    };
    add(table.id, Level::Global, class.n_processes, 1);
    for step in table.algorithms.iter().flat_map(|of| of.steps) {
        if let Some((n_processes, factor)) = of_step(step, class)
            && let Some(of_step) = table::operation(step.operation)
        {
            add(of_step.id, step.level, n_processes, factor);
        }
    }
    // A call without data returns before anything is decided.
    starts.push(1);
    starts
}

/// The size that is compared with those of the file; `None` where there is none.
#[must_use]
pub fn size(class: &CallClass, bytes: u64) -> Option<u64> {
    (class.operation != Operation::Barrier).then_some(bytes)
}
