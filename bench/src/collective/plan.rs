//! What is to be measured: a plan, from a TOML file or from the command line.

mod default;
mod file;
mod processes;

use serde::{Deserialize, Serialize};

use super::algorithms::Algorithm;
use super::arrivals::{self, Call};
use super::call::{Element, buffered_space};
use super::operation::{MasterWorker, Operation, Pattern, PingPong, Simple};
use crate::measure::estimate::{Figure, Precision};
use crate::measure::reduction::Reduction;
use crate::measure::refinement::Rule;
use crate::measure::start::StartScheme;

pub(super) use default::{default_parts, default_rule};
pub(super) use file::parse;
pub(super) use processes::OnHosts;

/// How all points of a plan are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Method {
    pub(super) precision: Precision,
    /// Longest time for one point, s.
    pub(super) seconds: f64,
    /// `None`: that of the start scheme.
    pub(super) reduction: Option<Reduction>,
    pub(super) figure: Figure,
    pub(super) element: Element,
    /// Operations in a loop.
    pub(super) loop_length: usize,
    /// A start later than this is invalid, ns.
    pub(super) tolerance_ns: i64,
    pub(super) refinement: Rule,
}

impl Default for Method {
    fn default() -> Self {
        Self {
            precision: Precision::default(),
            seconds: 3.0,
            reduction: None,
            figure: Figure::default(),
            element: Element::default(),
            loop_length: 20,
            tolerance_ns: 2_000,
            refinement: Rule::default(),
        }
    }
}

/// Message lengths of a series, bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Lengths {
    /// These.
    List(Vec<u64>),
    /// From the first to the second, refined where the time changes most.
    Range(u64, u64),
}

/// Points that differ in the message length only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Series {
    pub(super) operation: String,
    pub(super) lengths: Lengths,
    pub(super) processes: usize,
    /// Where they are; `None`: the first ones of the job.
    #[serde(default)]
    pub(super) on_hosts: Option<OnHosts>,
    /// Least and greatest number of processes, between which more are chosen by the times.
    #[serde(default)]
    pub(super) process_range: Option<(usize, usize)>,
    /// `None` for an operation without a root.
    pub(super) root: Option<usize>,
    /// Pieces for each worker; `None` without workers.
    pub(super) pieces: Option<usize>,
    /// `None`: the library's own choice.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) start: StartScheme,
    /// The start that was asked for, if it was given up for `start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) start_asked: Option<StartScheme>,
    pub(super) arrivals: Option<Arrivals>,
}

impl Series {
    /// With the start that takes the place of its own; `None` if its start cannot be late.
    pub(super) fn fallen_back(&self) -> Option<Self> {
        Some(Self {
            start: self.start.fallback()?,
            start_asked: self.start_asked.or(Some(self.start)),
            ..self.clone()
        })
    }

    /// One that starts by barriers, with a root.
    #[cfg(test)]
    pub(super) fn example(operation: &str, lengths: Lengths, processes: usize) -> Self {
        Self {
            operation: operation.to_owned(),
            lengths,
            processes,
            on_hosts: None,
            process_range: None,
            root: Some(1),
            pieces: None,
            algorithm: None,
            start: StartScheme::Barrier,
            start_asked: None,
            arrivals: None,
        }
    }

    /// Whether two series differ only in their start or algorithm.
    fn is_alike(&self, other: &Self) -> bool {
        let of = |series: &Self| Self {
            start: StartScheme::default(),
            algorithm: None,
            ..series.clone()
        };
        of(self) == of(other)
    }
}

/// When processes arrive, and how far apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Arrivals {
    pub(super) pattern: arrivals::Pattern,
    /// Delay of the last process, ns.
    pub(super) delay_ns: i64,
}

/// Pieces for each worker, if the plan does not say how many.
const PIECES: usize = 10;
/// Most pieces for each worker.
const MOST_PIECES: usize = 100_000;

/// What is to be measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) method: Method,
    pub(super) series: Vec<Series>,
}

/// What a plan is checked against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits<'a> {
    /// Processes of the job.
    pub(super) processes: usize,
    /// Largest number of processes on one host.
    pub(super) per_host: usize,
    /// By process, the index of its host, in the order of their first processes.
    pub(super) host_of: &'a [usize],
    /// Cores of the host of process 0.
    pub(super) cores: usize,
    /// Memory that is available on the host that has least, bytes; `None` if it is not known.
    pub(super) memory: Option<u64>,
    /// Whether the library has this operation.
    pub(super) is_available: fn(Operation) -> bool,
    /// The algorithms that are measured beside the library's own choice.
    pub(super) algorithms: fn(Operation) -> Vec<Algorithm>,
}

/// One part of a plan as it was given: all combinations of its lists are measured.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) operations: Vec<Given<String>>,
    pub(super) lengths: Given<Lengths>,
    /// Empty: all processes of the job, or of the hosts.
    pub(super) processes: Vec<Given<usize>>,
    /// From the first to the second, refined where the time changes most; then `processes` is empty.
    pub(super) process_range: Option<Given<(usize, usize)>>,
    /// Numbers of hosts. Empty: the first processes, on whichever hosts they are.
    pub(super) hosts: Vec<Given<usize>>,
    /// Empty: process 0.
    pub(super) roots: Vec<Given<usize>>,
    /// Pieces for each worker. Empty: 10.
    pub(super) pieces: Vec<Given<usize>>,
    /// Empty: windows.
    pub(super) starts: Vec<StartScheme>,
    pub(super) arrivals: Option<Given<Arrivals>>,
    /// Numbers of the algorithms that are measured beside the library's own choice; `None`: all.
    pub(super) algorithms: Option<Vec<Given<i32>>>,
}

impl Part {
    /// Operations of the command line with these lengths, of all processes, started by windows.
    pub(super) fn of(operations: impl IntoIterator<Item = String>, lengths: Lengths) -> Self {
        Self {
            operations: operations.into_iter().map(Given::by_option).collect(),
            lengths: Given::by_option(lengths),
            processes: Vec::new(),
            process_range: None,
            hosts: Vec::new(),
            roots: Vec::new(),
            pieces: Vec::new(),
            starts: Vec::new(),
            arrivals: None,
            algorithms: None,
        }
    }
}

/// A value, and the line of the plan in which it is given; `None` on the command line.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given<T> {
    pub(super) value: T,
    pub(super) line: Option<usize>,
}

impl<T> Given<T> {
    /// On the command line.
    pub(super) fn by_option(value: T) -> Self {
        Self { value, line: None }
    }

    fn problem(&self, text: impl Into<String>) -> Problem {
        Problem {
            line: self.line,
            text: text.into(),
        }
    }
}

/// What is wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Problem {
    /// From 1.
    pub(super) line: Option<usize>,
    pub(super) text: String,
}

impl Problem {
    /// With the place, for the file of this name.
    pub(super) fn words(&self, file: &str) -> String {
        match self.line {
            Some(line) => format!("{file}:{line}: {}", self.text),
            None => self.text.clone(),
        }
    }
}

impl Plan {
    /// From parts, if nothing is wrong with any of them.
    ///
    /// # Errors
    /// All problems, by line.
    pub(super) fn of(
        method: Method,
        parts: &[Part],
        limits: Limits<'_>,
    ) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let mut series: Vec<Series> = Vec::new();
        for part in parts {
            part.check(&method, limits, &mut problems);
            if problems.is_empty() {
                series.extend(part.series(&method, limits));
            }
        }
        let mut seen: Vec<Series> = Vec::new();
        for one in series {
            if !seen.contains(&one) {
                seen.push(one);
            }
        }
        problems.sort();
        problems.dedup();
        if problems.is_empty() {
            Ok(Self {
                method,
                series: seen,
            })
        } else {
            Err(problems)
        }
    }

    /// Indexes of series that differ only in their start or algorithm, and are measured in turns; in
    /// the order of the plan.
    pub(super) fn groups(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (i, series) in self.series.iter().enumerate() {
            let known = groups
                .iter_mut()
                .find(|group| self.series[group[0]].is_alike(series));
            match known {
                Some(group) => group.push(i),
                None => groups.push(vec![i]),
            }
        }
        groups
    }

    /// Number of points to begin with; refinement adds more.
    pub(super) fn first_points(&self) -> usize {
        let of = |series: &Series| match &series.lengths {
            Lengths::List(list) => list.len(),
            Lengths::Range(from, to) => {
                crate::measure::refinement::geometric(*from, *to, self.method.refinement.factor)
                    .count()
            }
        };
        self.series.iter().map(of).sum()
    }
}

impl Part {
    fn check(&self, method: &Method, limits: Limits<'_>, problems: &mut Vec<Problem>) {
        let greatest = match &self.lengths.value {
            Lengths::List(list) => list.iter().copied().max().unwrap_or(0),
            Lengths::Range(from, to) => {
                if from > to {
                    let text = format!("from {from} to {to}: the lengths run backwards");
                    problems.push(self.lengths.problem(text));
                }
                *to
            }
        };
        self.check_elements(method, problems);
        self.check_processes(limits, problems);
        let all = self
            .counts(method, limits)
            .into_iter()
            .map(|(_, processes)| processes);
        let smallest = all.clone().min().unwrap_or(limits.processes);
        let largest = all.clone().max().unwrap_or(limits.processes);
        let largest = largest.min(limits.processes);
        for root in &self.roots {
            if root.value >= smallest {
                problems.push(root.problem(format!(
                    "root {}: of {smallest} processes the last is {}",
                    root.value,
                    smallest.saturating_sub(1)
                )));
            }
        }
        for name in &self.operations {
            let Some(operation) = Operation::of_name(&name.value) else {
                problems.push(name.problem(unknown_operation(&name.value)));
                continue;
            };
            if !(limits.is_available)(operation) {
                let text = format!("{}: this MPI library does not have it", name.value);
                problems.push(name.problem(text));
            }
            let least = match operation {
                Operation::PingPong(_) => limits.processes,
                Operation::MasterWorker(_) => smallest,
                _ => 2,
            };
            if least < 2 {
                let text = format!("{} needs two processes", name.value);
                problems.push(name.problem(text));
            }
            if let Operation::MasterWorker(kind) = operation {
                self.check_pieces(kind, greatest, largest, problems);
            }
            self.check_algorithms(operation, limits, problems);
            if operation.has_length() {
                let pieces = self.pieces().iter().map(|given| given.value).max();
                let text = too_long(operation, greatest, largest, pieces.unwrap_or(0), limits);
                problems.extend(text.map(|text| self.lengths.problem(text)));
            }
        }
        if let Some(arrivals) = &self.arrivals {
            if let Some(start) = self.starts.iter().find(|start| !start.has_instants()) {
                problems.push(arrivals.problem(format!(
                    "arrivals need a start at an instant: window or round-time, not {}",
                    start.word()
                )));
            }
            let Arrivals { pattern, delay_ns } = &arrivals.value;
            let names = self.operations.iter().map(|name| &name.value);
            let mut wrong = all.flat_map(|n| names.clone().map(move |operation| (n, operation)));
            let wrong = wrong.find_map(|(n, operation)| {
                let bytes = None;
                pattern
                    .delays_ns(n, *delay_ns, Call { operation, bytes })
                    .err()
            });
            problems.extend(wrong.map(|error| arrivals.problem(format!("{error:#}"))));
        }
    }

    /// Numbers of pieces, the default if none is given; that is a matter of the lengths.
    fn pieces(&self) -> Vec<Given<usize>> {
        match &self.pieces[..] {
            [] => vec![Given {
                value: PIECES,
                line: self.lengths.line,
            }],
            given => given.to_vec(),
        }
    }

    /// Whether pieces are a number that can be measured, and fit into the space for buffered sends.
    fn check_pieces(
        &self,
        kind: MasterWorker,
        greatest: u64,
        processes: usize,
        problems: &mut Vec<Problem>,
    ) {
        for pieces in &self.pieces() {
            if !(1..=MOST_PIECES).contains(&pieces.value) {
                let text = format!(
                    "{} pieces: expected 1 to {MOST_PIECES} for each worker",
                    pieces.value
                );
                problems.push(pieces.problem(text));
            }
            let operation = Operation::MasterWorker(kind);
            let space = attached(operation, greatest, processes, pieces.value);
            if space > i32::MAX as u64 {
                problems.push(pieces.problem(format!(
                    "{} pieces: MPI_Bsend of {greatest} bytes to {processes} processes would need \
                     buffers beyond 2 GiB",
                    pieces.value
                )));
            }
        }
    }

    fn check_algorithms(
        &self,
        operation: Operation,
        limits: Limits<'_>,
        problems: &mut Vec<Problem>,
    ) {
        let known = (limits.algorithms)(operation);
        for given in self.algorithms.iter().flatten() {
            if known.iter().any(|of| of.by.number() == Some(given.value)) {
                continue;
            }
            let words = known.iter().filter_map(|of| {
                let number = of.by.number()?;
                Some(format!("{number} {}", of.name))
            });
            let expected = match words.collect::<Vec<_>>() {
                none if none.is_empty() => {
                    "without --algorithms, and for operations that have none, none can be chosen"
                        .to_owned()
                }
                words => format!("expected some of: {}", words.join(", ")),
            };
            problems.push(given.problem(format!(
                "algorithm {} of {}: {expected}",
                given.value,
                operation.name()
            )));
        }
    }

    fn check_elements(&self, method: &Method, problems: &mut Vec<Problem>) {
        let size = method.element.size();
        let ends = match &self.lengths.value {
            Lengths::List(list) => list.clone(),
            Lengths::Range(from, to) => vec![*from, *to],
        };
        for length in ends {
            if length % size != 0 {
                problems.push(self.lengths.problem(format!(
                    "{length} bytes: lengths of {} are multiples of {size}; choose element = \"byte\"",
                    method.element.name()
                )));
            }
        }
    }

    fn series(&self, method: &Method, limits: Limits<'_>) -> Vec<Series> {
        let or = |list: &[Given<usize>], default: usize| match list {
            [] => vec![default],
            list => list.iter().map(|given| given.value).collect(),
        };
        let starts = match self.starts.as_slice() {
            [] => vec![StartScheme::default()],
            starts => starts.to_vec(),
        };
        let arrivals = self.arrivals.as_ref().map(|given| &given.value);
        let mut all = Vec::new();
        for name in &self.operations {
            let Some(operation) = Operation::of_name(&name.value) else {
                continue;
            };
            let lengths = if operation.has_length() {
                self.lengths.value.clone()
            } else {
                Lengths::List(vec![0])
            };
            let pieces: Vec<Option<usize>> = match operation {
                Operation::MasterWorker(_) => self
                    .pieces()
                    .iter()
                    .map(|given| Some(given.value))
                    .collect(),
                _ => vec![None],
            };
            let mut algorithms = vec![None];
            let is_asked = |of: &Algorithm| match &self.algorithms {
                Some(asked) => asked
                    .iter()
                    .any(|given| of.by.number() == Some(given.value)),
                None => true,
            };
            let known = (limits.algorithms)(operation).into_iter();
            algorithms.extend(known.filter(is_asked).map(Some));
            let has_root = operation.collective().is_some_and(|own| own.has_root());
            for (hosts, processes) in self.counts(method, limits) {
                let roots = if has_root {
                    or(&self.roots, 0)
                } else {
                    vec![0]
                };
                for root in roots {
                    for ((&pieces, &start), algorithm) in pieces
                        .iter()
                        .flat_map(|n| starts.iter().map(move |start| (n, start)))
                        .flat_map(|of| algorithms.iter().map(move |algorithm| (of, algorithm)))
                    {
                        let is_ping_pong = matches!(operation, Operation::PingPong(_));
                        let start = match operation {
                            // The partner's start does not matter: the first one sends.
                            Operation::PingPong(_) => StartScheme::Barrier,
                            // What the measurement itself takes, as it is subtracted from others.
                            Operation::Simple(Simple::Empty) => StartScheme::None,
                            Operation::Simple(_) => StartScheme::LoopMpbench,
                            _ => start,
                        };
                        all.push(Series {
                            operation: operation.name(),
                            lengths: lengths.clone(),
                            processes: if is_ping_pong { 2 } else { processes },
                            on_hosts: hosts
                                .filter(|_| !is_ping_pong)
                                .and_then(|n| OnHosts::of(n, processes, limits.host_of)),
                            process_range: self
                                .process_range
                                .as_ref()
                                .filter(|_| !is_ping_pong)
                                .map(|given| given.value),
                            root: has_root.then_some(root),
                            pieces,
                            algorithm: algorithm.clone(),
                            start,
                            start_asked: None,
                            arrivals: arrivals.filter(|_| start.has_instants()).cloned(),
                        });
                    }
                }
            }
        }
        all
    }
}

fn unknown_operation(name: &str) -> String {
    let distance = |operation: &Operation| {
        let (a, b) = (
            name.to_ascii_lowercase(),
            operation.name().to_ascii_lowercase(),
        );
        strsim::damerau_levenshtein(&a, &b)
    };
    let nearest = Operation::all().min_by_key(distance);
    let nearest = nearest.filter(|operation| distance(operation) <= 4);
    let meant = nearest.map_or(
        "collbench-bench collective --list names all".to_owned(),
        |one| format!("did you mean {}?", one.name()),
    );
    format!("{name}: unknown operation; {meant}")
}

/// Space for buffered sends that one process attaches, bytes.
fn attached(operation: Operation, length: u64, processes: usize, pieces: usize) -> u64 {
    match operation {
        Operation::PingPong(PingPong::Bsend) => buffered_space(length, 1),
        Operation::MasterWorker(MasterWorker::Bsend) => {
            let workers = processes.saturating_sub(1) as u64;
            buffered_space(length, workers.saturating_mul(pieces as u64))
        }
        _ => 0,
    }
}

/// Why messages of this length cannot be measured, with as many pieces for each worker.
fn too_long(
    operation: Operation,
    length: u64,
    processes: usize,
    pieces: usize,
    limits: Limits<'_>,
) -> Option<String> {
    let name = operation.name();
    let blocks = operation.blocks(processes);
    let largest = blocks.into_iter().max().unwrap_or(0) as u64;
    if length
        .checked_mul(largest.max(1))
        .is_none_or(|bytes| bytes > i32::MAX as u64)
    {
        return Some(format!(
            "{length} bytes: {name} of {processes} processes would have buffers beyond 2 GiB, which \
             counts of MPI cannot express"
        ));
    }
    let of_process = length * (blocks[0] + blocks[1]) as u64;
    // The library may need as much again for messages that have arrived early.
    let for_all = 2 * of_process * processes.min(limits.per_host) as u64;
    // Of a ping-pong both processes may be on one host.
    let attach = if operation.pattern() == Pattern::PingPong {
        2
    } else {
        1
    };
    // What MPI cannot attach at all is refused as such.
    let space = attached(operation, length, processes, pieces);
    let space = if space > i32::MAX as u64 { 0 } else { space };
    let needed = for_all + space * attach;
    let memory = limits.memory.filter(|memory| needed > *memory)?;
    Some(format!(
        "{length} bytes: {name} of {processes} processes needs up to {} on a host, where {} are \
         available",
        collbench_text::quantity::size(needed),
        collbench_text::quantity::size(memory)
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(super) const LIMITS: Limits<'_> = Limits {
        processes: 8,
        per_host: 4,
        host_of: &[0, 0, 0, 0, 1, 1, 1, 1],
        cores: 4,
        memory: Some(1 << 30),
        is_available: |operation| !matches!(operation, Operation::Persistent(_)),
        algorithms: |_| Vec::new(),
    };

    pub(in crate::collective) fn plan(text: &str) -> Result<Plan, Vec<String>> {
        let named = |problems: Vec<Problem>| {
            let words = problems.iter().map(|problem| problem.words("plan.toml"));
            words.collect::<Vec<String>>()
        };
        let (method, parts) = parse(text).map_err(named)?;
        Plan::of(method, &parts, LIMITS).map_err(named)
    }

    /// The one problem of a plan.
    pub(super) fn problem(text: &str) -> String {
        let problems = plan(text).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        problems[0].clone()
    }

    #[test]
    fn all_combinations_of_a_part_are_measured_once() {
        let plan = plan(
            "precision = 0.1\nstart = \"barrier\"\nelement = \"byte\"\n\
             [[measure]]\noperations = [\"MPI_Bcast\", \"MPI_Barrier\"]\nlengths = [9, 1]\n\
             processes = [2, 8]\nroots = [0, 1]\n\
             [[measure]]\noperations = [\"MPI_Bcast\", \"MPI_Send-MPI_Recv\"]\nlengths = [9, 1]\n",
        );
        let plan = plan.unwrap();
        assert_eq!(plan.method.precision.relative, 0.1);
        let of = |name: &'static str| plan.series.iter().filter(move |one| one.operation == name);
        // 2 processes x 2 roots; of the second part all 8 and root 0 are among them.
        assert_eq!(of("MPI_Bcast").count(), 4);
        assert_eq!(of("MPI_Barrier").count(), 2);
        assert!(of("MPI_Barrier").all(|one| one.root.is_none()));
        assert_eq!(of("MPI_Send-MPI_Recv").next().unwrap().processes, 2);
        assert!(
            plan.series
                .iter()
                .all(|one| one.start == StartScheme::Barrier)
        );
        assert_eq!(plan.first_points(), 4 * 2 + 2 + 2);
    }

    #[test]
    fn series_that_differ_in_start_or_algorithm_are_measured_in_turns() {
        let limits = Limits {
            algorithms: |operation| match operation.name().as_str() {
                "MPI_Bcast" => [(1, "linear"), (6, "binomial")]
                    .map(|(number, name)| Algorithm {
                        name: name.to_owned(),
                        by: super::super::algorithms::By::Library(number),
                    })
                    .to_vec(),
                _ => Vec::new(),
            },
            ..LIMITS
        };
        let (method, parts) = parse(
            "[[measure]]\noperations = [\"MPI_Bcast\", \"MPI_Scan\"]\nlengths = [8, 64]\n\
             processes = [2, 4]\nstarts = [\"window\", \"barrier\"]\n",
        )
        .unwrap();
        let plan = Plan::of(method, &parts, limits).unwrap();
        let sizes: Vec<usize> = plan.groups().iter().map(Vec::len).collect();
        // 2 starts of the library's choice and of 2 algorithms; of MPI_Scan only the starts.
        assert_eq!(sizes, [6, 6, 2, 2]);
        let of = |asked: &str| {
            let text = format!("[[measure]]\noperations = [\"MPI_Bcast\"]\nalgorithms = {asked}\n");
            let (method, parts) = parse(&text).unwrap();
            Plan::of(method, &parts, limits)
        };
        let numbers = |plan: Plan| -> Vec<Option<i32>> {
            let series = plan.series.into_iter();
            series
                .map(|one| one.algorithm.and_then(|of| of.by.number()))
                .collect()
        };
        assert_eq!(numbers(of("[6]").unwrap()), [None, Some(6)]);
        assert_eq!(numbers(of("[]").unwrap()), [None]);
        let said = of("[6, 2]").unwrap_err()[0].words("plan.toml");
        assert_eq!(
            said,
            "plan.toml:3: algorithm 2 of MPI_Bcast: expected some of: 1 linear, 6 binomial"
        );
        for group in plan.groups() {
            let processes = plan.series[group[0]].processes;
            assert!(group.iter().all(|&i| plan.series[i].processes == processes));
        }
    }

    #[test]
    fn the_number_of_pieces_is_varied_for_master_and_workers_only() {
        let plan = plan(
            "[[measure]]\noperations = [\"master-MPI_Waitsome\", \"MPI_Barrier\"]\n\
             lengths = [256]\npieces = [1, 100]\n",
        );
        let pieces: Vec<_> = plan.unwrap().series.iter().map(|one| one.pieces).collect();
        assert_eq!(pieces, [Some(1), Some(100), None]);
    }

    #[test]
    fn what_cannot_be_measured_is_refused_with_its_line() {
        let head = "[[measure]]\n";
        let refused = |rest: &str| problem(&format!("{head}{rest}"));
        assert_eq!(
            refused("operations = [\n\"MPI_Barrier\",\n\"MPI_Allreduec\"]"),
            "plan.toml:4: MPI_Allreduec: unknown operation; did you mean MPI_Allreduce?"
        );
        assert_eq!(
            refused("operations = [\"MPI_Barrier\"]\nprocesses = [4,\n9]"),
            "plan.toml:4: 9 processes: this job has 8; start more with the launcher"
        );
        assert_eq!(
            refused("operations = [\"MPI_Bcast\"]\nroots = [4]\nprocesses = [8, 4]"),
            "plan.toml:3: root 4: of 4 processes the last is 3"
        );
        let said = refused("operations = [\"MPI_Alltoall\"]\nlengths = [33554432]");
        assert!(said.starts_with("plan.toml:3: 33554432 bytes: MPI_Alltoall of 8 processes needs"));
        let said = refused("operations = [\"MPI_Alltoall\"]\nfrom = 8\nto = 4294967296");
        assert!(
            said.contains("plan.toml:3") && said.contains("2 GiB"),
            "{said}"
        );
        let said = refused("operations = [\"MPI_Bcast_init\"]");
        assert!(said.contains("does not have it"), "{said}");
        let said = refused("operations = [\"MPI_Bcast\"]\nrots = [0]");
        assert!(
            said.starts_with("plan.toml:3: unknown field `rots`"),
            "{said}"
        );
        let said = refused("operations = [\"MPI_Bcast\"]\nfrom = 8");
        assert!(said.contains("either lengths"), "{said}");
        let said = refused("operations = [\"MPI_Bcast\"]\nfrom = 9\nto = 8");
        assert!(said.starts_with("plan.toml:3: from 9 to 8"), "{said}");
        let said = refused("operations = [\"MPI_Bcast\"]\narrivals = \"late:8\"\ndelay_us = 5");
        assert_eq!(said, "plan.toml:3: late:8: there are 8 processes");
        let said = refused("operations = [\"master-MPI_Send\"]\npieces = [0]");
        assert!(said.starts_with("plan.toml:3: 0 pieces"), "{said}");
        let said = refused("operations = [\"master-MPI_Send\"]\nprocesses = [1]");
        assert_eq!(said, "plan.toml:2: master-MPI_Send needs two processes");
        let said =
            refused("operations = [\"master-MPI_Bsend\"]\npieces = [90000]\nlengths = [4096]");
        assert!(
            said.contains("plan.toml:3") && said.contains("buffers beyond 2 GiB"),
            "{said}"
        );
        // 864 MiB of messages on a host fit; 10 pieces for each of 7 workers do not beside them.
        let lengths = "lengths = [12582912]";
        let said = refused(&format!("operations = [\"master-MPI_Bsend\"]\n{lengths}"));
        assert!(
            said.starts_with("plan.toml:3: 12582912 bytes: master-MPI_Bsend of 8 processes needs")
                && said.contains("up to 1.66 GiB"),
            "{said}"
        );
        let fits = format!("{head}operations = [\"master-MPI_Send\"]\n{lengths}");
        assert!(plan(&fits).is_ok());
        let said = refused(
            "operations = [\"MPI_Bcast\"]\nstarts = [\"barrier\"]\narrivals = \"sorted\"\ndelay_us = 5",
        );
        assert!(said.contains("window or round-time, not barrier"), "{said}");
    }

    #[test]
    fn pieces_are_checked_if_the_plan_does_not_say_how_many_too() {
        let text = "[[measure]]\noperations = [\"master-MPI_Bsend\"]\nlengths = [67108864]\n";
        let (method, parts) = parse(text).unwrap();
        let limits = Limits {
            memory: None,
            ..LIMITS
        };
        // 64 MiB, 10 times for each of 7 workers.
        let problems = Plan::of(method.clone(), &parts, limits).unwrap_err();
        assert_eq!(problems.len(), 1, "{problems:?}");
        let said = problems[0].words("plan.toml");
        assert!(
            said.starts_with("plan.toml:3: 10 pieces: MPI_Bsend of 67108864 bytes"),
            "{said}"
        );
        let one = Part {
            pieces: vec![Given::by_option(1)],
            ..parts[0].clone()
        };
        assert!(Plan::of(method, &[one], limits).is_ok());
    }

    #[test]
    fn numbers_beyond_reason_and_plans_without_a_measurement_are_refused() {
        let part = "[[measure]]\noperations = [\"MPI_Barrier\"]\n";
        for (line, said) in [
            ("precision = 0.0", "precision 0"),
            ("repetitions = [1, 100]", "repetitions [1, 100]"),
            ("repetitions = [10, 5]", "repetitions [10, 5]"),
            ("seconds = -1.0", "seconds -1"),
            ("loop_length = 0", "loop_length 0"),
            ("refinement = { factor = 1.0 }", "refinement: expected"),
        ] {
            let found = problem(&format!("\n{line}\n{part}"));
            assert!(
                found.starts_with(&format!("plan.toml:2: {said}")),
                "{found}"
            );
        }
        assert!(problem("").contains("no [[measure]]"));
        assert!(problem("start = \"wall\"\n").starts_with("plan.toml:1: unknown variant `wall`"));
        let text = format!("element = \"double\"\n{part}lengths = [8, 12]");
        assert!(problem(&text).contains("12 bytes: lengths of MPI_DOUBLE"));
    }
}
