//! The results, as plain types: the fields are those of the JSON document.
//!
//! Times are integers in ns; ranks are world ranks; positions in the lists of an operation index
//! the communicator's `ranks`; unknown is `None` (`null`), never 0.

use std::collections::BTreeMap;

use collbench_formats::{ClockSource, CommunicatorKind, Damage, Operation, Semantics};
use serde::Serialize;

use crate::clock::{Clocks, Timestamp};
use crate::communicators::Communicators;
use crate::distribution::Summary;
use crate::imbalance::{Verdict, Vertex};
use crate::inert;
use crate::matching::{InFlight, Irregularities};
use crate::remarks::Remark as Finding;
use crate::run::Run;
use crate::tally::{OperationKey, OperationTally, Tally, wait_state_names};

/// Everything that the analysis of one trace found.
#[derive(Debug, Clone, Serialize)]
pub struct Analysis {
    /// Name and version of the document's form.
    pub schema: &'static str,
    /// What was recorded.
    pub trace: TraceSummary,
    /// The clocks and how far they can be trusted.
    pub clock: ClockSummary,
    /// The communicators; `id` is the index.
    pub communicators: Vec<CommunicatorSummary>,
    /// By name of operation, over all communicators.
    pub totals: BTreeMap<&'static str, Total>,
    /// The processes that there is a file of, by rank.
    pub ranks: Vec<RankSummary>,
    /// The operations, by time, the longest first.
    pub operations: Vec<OperationSummary>,
    /// Who is late, for each operation on each communicator, the dearest first.
    pub imbalance: Vec<ImbalanceSummary>,
    /// Instances that someone was in when the trace ended. (An addition to the contract.)
    pub unfinished: Vec<UnfinishedSummary>,
    /// What a reader should know.
    pub remarks: Vec<RemarkSummary>,
}

/// What was recorded.
#[derive(Debug, Clone, Serialize)]
pub struct TraceSummary {
    /// Where it is, as given.
    pub directory: String,
    /// What was run.
    pub command: Vec<String>,
    /// The first line of what the MPI library calls itself.
    pub mpi_library: String,
    /// Processes in the world.
    pub ranks: u32,
    /// Names of the hosts, by the lowest rank on each.
    pub hosts: Vec<String>,
    /// Calls of the application, whatever restriction was asked for.
    pub calls: u64,
    /// Messages; not recorded in this version.
    pub messages: Option<u64>,
    /// Payload of the calls, bytes.
    pub bytes: u64,
    /// From leaving `MPI_Init` (the first) to the last stamp, ns.
    pub duration_ns: i64,
    /// Whether nothing is missing.
    pub complete: bool,
    /// What was recorded and what not, by name.
    pub layers: BTreeMap<String, Layer>,
    /// What is missing.
    pub damage: Vec<DamageSummary>,
}

/// Whether a layer was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Layer {
    /// On in all processes.
    pub on: bool,
    /// Why not.
    pub reason: Option<String>,
}

/// One finding on one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DamageSummary {
    /// The rank; `None` for a file that does not say whose it is.
    pub rank: Option<u32>,
    /// What is missing, with file and offset.
    pub what: String,
    /// The call that was under way.
    pub in_flight: Option<InFlightSummary>,
}

/// A call that was under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InFlightSummary {
    /// What was called.
    pub operation: &'static str,
    /// Id of the communicator.
    pub communicator: Option<usize>,
    /// Position among the calls on it, from 0.
    pub sequence: Option<u64>,
}

/// The clocks.
#[derive(Debug, Clone, Serialize)]
pub struct ClockSummary {
    /// How the clocks of hosts were brought together.
    pub method: &'static str,
    /// What stamped the records: `tsc`, `raw`, `monotonic`, or several with commas.
    pub source: String,
    /// The host that the others are told against.
    pub reference_host: String,
    /// The host clocks.
    pub hosts: Vec<HostSummary>,
    /// Order of messages against their stamps; not known without messages.
    pub violations: Violations,
}

/// One host clock.
#[derive(Debug, Clone, Serialize)]
pub struct HostSummary {
    /// The host.
    pub host: String,
    /// Local minus reference, ns.
    pub offset_ns: Option<i64>,
    /// Slope of that.
    pub drift_ppm: Option<f64>,
    /// Two standard deviations of the offset, ns.
    pub uncertainty_ns: Option<i64>,
    /// What the offset's error cannot exceed, ns.
    pub bound_ns: Option<i64>,
    /// Smallest difference that means something, ns. (An addition.)
    pub granularity_ns: i64,
    /// Ticks per second; `None` where a tick is a ns. (An addition.)
    pub ticks_per_second: Option<f64>,
    /// Bound on the error of that, ppm. (An addition.)
    pub rate_error_ppm: Option<f64>,
}

/// Messages whose stamps contradict their order.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Violations {
    /// Messages looked at.
    pub checked: Option<u64>,
    /// Violations before alignment.
    pub before: Option<u64>,
    /// Violations after alignment.
    pub after: Option<u64>,
}

/// One communicator, or all those of one process together.
#[derive(Debug, Clone, Serialize)]
pub struct CommunicatorSummary {
    /// Stable from run to run.
    pub id: usize,
    /// As set by the program, or made of how it came about.
    pub name: String,
    /// `intra` or `inter`.
    pub kind: &'static str,
    /// Processes, of both groups together.
    pub size: u64,
    /// World ranks by rank, of both groups one behind the other; `None`: no file of it.
    pub ranks: Vec<Option<u32>>,
    /// The two groups of an intercommunicator.
    pub groups: Option<[Vec<Option<u32>>; 2]>,
}

/// Sums over an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Total {
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Time in those calls that returned, ns.
    pub call_time_ns: i64,
}

/// One process.
#[derive(Debug, Clone, Serialize)]
pub struct RankSummary {
    /// World rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Calls begun.
    pub calls: u64,
    /// By operation.
    pub calls_by_operation: BTreeMap<&'static str, u64>,
    /// By operation and class of communicator.
    pub calls_by_class: BTreeMap<String, u64>,
    /// Sum of its waits, ns.
    pub wait_ns: i64,
    /// Time in calls, ns. (An addition.)
    pub call_time_ns: i64,
    /// Resolved instances that it came last to.
    pub last: u64,
    /// Resolved instances that it came first to.
    pub first: u64,
    /// Time for which the recorder held it up to make room, ns. (An addition.)
    pub recorder_pause_ns: i64,
}

/// One operation, as told apart by communicator, root, payload and algorithm.
#[derive(Debug, Clone, Serialize)]
pub struct OperationSummary {
    /// Name of the standard.
    pub operation: &'static str,
    /// Id; `None` where it is not known.
    pub communicator: Option<usize>,
    /// World rank of the root; `None` for operations without.
    pub root: Option<u32>,
    /// Smallest payload seen, bytes.
    pub bytes_min: Option<u64>,
    /// Largest payload seen, bytes.
    pub bytes_max: Option<u64>,
    /// What the library chose; not known in this version.
    pub algorithm: Option<String>,
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Other instances.
    pub incomplete: u64,
    /// Last leave minus first enter, per instance.
    pub duration_ns: Option<Summary>,
    /// Leave minus enter, per call.
    pub call_time_ns: Option<Summary>,
    /// Wait, per call.
    pub wait_ns: Option<Summary>,
    /// Last enter minus own enter, per call.
    pub arrival_lag_ns: Option<Summary>,
    /// First leave minus last enter, per instance, signed.
    pub core_ns: Option<Summary>,
    /// Own leave minus first leave, per call.
    pub departure_wait_ns: Option<Summary>,
    /// Nonblocking and persistent operations only; not recorded in this version.
    pub initiation_ns: Option<Summary>,
    /// Likewise.
    pub between_ns: Option<Summary>,
    /// Likewise.
    pub completion_ns: Option<Summary>,
    /// Scalasca's wait states, total ns.
    pub wait_states: BTreeMap<&'static str, i64>,
    /// How often each process came last.
    pub last_arrivals: Vec<u64>,
    /// How often each process left first.
    pub first_departures: Vec<u64>,
    /// Instances of which it is not known who came last.
    pub last_unresolved: u64,
    /// Instances of which it is not known who left first.
    pub first_unresolved: u64,
    /// Counts `[process][position]`; `None` above 256 processes, and across hosts.
    pub arrival_order: Option<Vec<Vec<u32>>>,
    /// Likewise.
    pub departure_order: Option<Vec<Vec<u32>>>,
    /// Counts `[process][tenth of the order]`, above 256 processes. (An addition.)
    pub arrival_deciles: Option<Vec<Vec<u32>>>,
    /// Likewise.
    pub departure_deciles: Option<Vec<Vec<u32>>>,
    /// Messages between processes; not recorded in this version.
    pub edges: Option<Vec<()>>,
    /// The stages of the way.
    pub stages: Vec<Stage>,
    /// The way of each process that took part, for pictures.
    #[serde(skip)]
    pub threads: Vec<ThreadWay>,
    /// What its processes wait for.
    #[serde(skip)]
    pub semantics: Semantics,
}

/// One stage, in both directions.
#[derive(Debug, Clone, Serialize)]
pub struct Stage {
    /// Its name.
    pub name: &'static str,
    /// Where, for stages that are a node of a tree.
    pub node: Option<String>,
    /// Time on the way down, per call.
    pub down_ns: Option<Summary>,
    /// Time on the way up, per call (core: per instance).
    pub up_ns: Option<Summary>,
}

/// Sums of one process in one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadWay {
    /// World rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Mean wait, and the calls behind it.
    pub wait: Option<(i64, u64)>,
    /// Mean departure wait, and the calls behind it.
    pub departure_wait: Option<(i64, u64)>,
    /// Mean time between release and departure of the first (N x N, barrier), or of this
    /// process (others), and the calls behind it.
    pub inside: Option<(i64, u64)>,
}

/// Who is late.
#[derive(Debug, Clone, Serialize)]
pub struct ImbalanceSummary {
    /// Id of the communicator.
    pub communicator: usize,
    /// Name of the operation.
    pub operation: &'static str,
    /// The heaviest path: communicator, host, rank.
    pub path: Vec<String>,
    /// Who, if anyone in particular.
    pub culprit: Option<Culprit>,
    /// Part of the resolved instances that the culprit (without one, the end of the path) came
    /// last to.
    pub share: Option<f64>,
    /// Waits that its coming ended, ns.
    pub wait_caused_ns: i64,
    /// How much later than the second last it came, ns, in all. (An addition.)
    pub excess_ns: i64,
    /// Complete instances.
    pub instances: u64,
    /// Those of which it is known who came last. (An addition.)
    pub resolved: u64,
}

/// Someone in particular.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "id", rename_all = "lowercase")]
pub enum Culprit {
    /// A world rank.
    Rank(u32),
    /// A host.
    Host(String),
}

/// An instance that someone was in when the trace ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnfinishedSummary {
    /// What those inside called.
    pub operations: Vec<&'static str>,
    /// Id of the communicator.
    pub communicator: usize,
    /// Position among the calls on it.
    pub sequence: u64,
    /// Whether the MPI library called on its own behalf.
    pub internal: bool,
    /// World ranks that were inside.
    pub inside: Vec<u32>,
    /// World ranks that had left.
    pub left: Vec<u32>,
    /// World ranks with a file that never came.
    pub never_came: Vec<u32>,
    /// Processes of the communicator that there is no file of.
    pub no_file: u64,
}

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RemarkSummary {
    /// Stable, for scripts.
    pub code: &'static str,
    /// For people.
    pub text: String,
}

/// Everything that went into the results.
pub(crate) struct Sources<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) clocks: &'a Clocks,
    pub(crate) communicators: &'a Communicators,
    pub(crate) tally: &'a Tally<'a>,
    pub(crate) irregularities: Irregularities,
    pub(crate) is_restricted: bool,
}

/// Ranks without a file that are told one by one; beyond, in one entry.
const MAX_MISSING_LISTED: u64 = 4096;

impl Analysis {
    /// Puts the results together.
    pub(crate) fn new(sources: &Sources<'_>) -> Self {
        let damage = damage(sources);
        let pauses = recorder_pauses(sources);
        let operations = operations(sources);
        Self {
            schema: "collbench.analysis/1",
            trace: trace_summary(sources, damage.clone()),
            clock: clock_summary(sources),
            communicators: communicator_summaries(sources.communicators),
            totals: totals(sources.tally),
            ranks: rank_summaries(sources, &pauses),
            imbalance: imbalance(sources),
            unfinished: unfinished(sources),
            remarks: remarks(sources, damage.len(), &pauses)
                .iter()
                .map(|remark| RemarkSummary {
                    code: remark.code(),
                    text: remark.to_string(),
                })
                .collect(),
            operations,
        }
    }

    /// Time of all processes in all collectives that returned, ns.
    #[must_use]
    pub fn collectives_ns(&self) -> i64 {
        self.ranks.iter().map(|rank| rank.call_time_ns).sum()
    }
}

fn trace_summary(sources: &Sources<'_>, damage: Vec<DamageSummary>) -> TraceSummary {
    let Sources {
        run, clocks, tally, ..
    } = sources;
    let first = &run.processes[0].trace.identity;
    let mut hosts: Vec<String> = Vec::new();
    for process in &run.processes {
        let name = &process.trace.identity.host.name;
        if !hosts.contains(name) {
            hosts.push(name.clone());
        }
    }
    let end_anchors = run
        .processes
        .iter()
        .zip(&clocks.processes)
        .map(|(process, clock)| {
            let anchors = process.trace.anchors.last();
            anchors.map_or(0, |anchor| {
                clock.global(Timestamp::from_ticks(anchor.ticks.get())).ns()
            })
        });
    TraceSummary {
        directory: run.directory.to_string_lossy().into_owned(),
        command: run.command.clone(),
        mpi_library: first
            .mpi
            .library_version
            .lines()
            .next()
            .unwrap_or_default()
            .trim()
            .to_owned(),
        ranks: run.world_size,
        hosts,
        calls: tally.n_calls,
        messages: None,
        bytes: tally.n_bytes,
        duration_ns: end_anchors.max().unwrap_or(0).max(tally.end_ns),
        complete: damage.is_empty(),
        layers: layers(run),
        damage,
    }
}

fn layers(run: &Run<'_>) -> BTreeMap<String, Layer> {
    let mut layers: BTreeMap<String, Layer> = BTreeMap::new();
    for layer in run.processes.iter().flat_map(|p| &p.trace.identity.layers) {
        let reason = (!layer.on).then(|| layer.reason.clone());
        let merged = layers.entry(layer.name.clone()).or_insert(Layer {
            on: layer.on,
            reason: reason.clone(),
        });
        if merged.on && !layer.on {
            *merged = Layer { on: false, reason };
        }
    }
    for name in ["calls", "messages", "algorithms"] {
        layers.entry(name.to_owned()).or_insert_with(|| Layer {
            on: false,
            reason: Some("not known to the recorder".to_owned()),
        });
    }
    layers
}

/// One entry for each rank and finding; those of a rank stand together, by rank.
fn damage(sources: &Sources<'_>) -> Vec<DamageSummary> {
    let Sources { run, tally, .. } = sources;
    let mut damage = Vec::new();
    for file in &run.unreadable {
        damage.push(DamageSummary {
            rank: None,
            what: format!("{}: {}", file.name, file.what),
            in_flight: None,
        });
    }
    let mut in_flight: BTreeMap<usize, Vec<InFlightSummary>> = BTreeMap::new();
    for call in &tally.in_flight {
        let summary = in_flight_summary(sources.communicators, call);
        in_flight.entry(call.process).or_default().push(summary);
    }
    let mut of_ranks = Vec::new();
    for (index, process) in run.processes.iter().enumerate() {
        let rank = process.rank();
        let mut under_way = in_flight.remove(&index).unwrap_or_default().into_iter();
        for found in &process.trace.damage {
            let belongs = matches!(found, Damage::NotFinalized);
            of_ranks.push(DamageSummary {
                rank: Some(rank),
                what: format!("{}: {found}", process.name),
                in_flight: if belongs { under_way.next() } else { None },
            });
        }
        of_ranks.extend(under_way.map(|call| DamageSummary {
            rank: Some(rank),
            what: format!("{}: a call was under way at the end", process.name),
            in_flight: Some(call),
        }));
    }
    let missing = run.missing_ranks();
    let mut listed = 0;
    for &(first, last) in &missing {
        for rank in first..=last {
            if listed == MAX_MISSING_LISTED {
                break;
            }
            listed += 1;
            of_ranks.push(DamageSummary {
                rank: Some(rank),
                what: "no file".to_owned(),
                in_flight: None,
            });
        }
    }
    let n_missing: u64 = missing
        .iter()
        .map(|&(first, last)| u64::from(last - first) + 1)
        .sum();
    if n_missing > listed {
        damage.push(DamageSummary {
            rank: None,
            what: format!(
                "no file of {n_missing} ranks in all: {}",
                inert::rank_ranges(&missing)
            ),
            in_flight: None,
        });
    }
    of_ranks.sort_by_key(|entry| entry.rank);
    damage.extend(of_ranks);
    damage
}

fn in_flight_summary(communicators: &Communicators, call: &InFlight) -> InFlightSummary {
    InFlightSummary {
        operation: call.operation.name(),
        communicator: call
            .communicator
            .map(|index| communicators.list[index].entry),
        sequence: call.sequence,
    }
}

fn clock_summary(sources: &Sources<'_>) -> ClockSummary {
    let Sources { run, clocks, .. } = sources;
    let mut names: Vec<&str> = Vec::new();
    for process in &run.processes {
        let name = match process.trace.identity.clock.source {
            ClockSource::Tsc => "tsc",
            ClockSource::MonotonicRaw => "raw",
            ClockSource::Monotonic => "monotonic",
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.sort_unstable();
    ClockSummary {
        method: match clocks.hosts.len() {
            1 => "one host: one clock",
            _ => "not aligned: compared within hosts only",
        },
        source: names.join(","),
        reference_host: clocks.hosts[0].name.clone(),
        hosts: clocks
            .hosts
            .iter()
            .enumerate()
            .map(|(index, host)| {
                let is_reference = index == 0;
                HostSummary {
                    host: host.name.clone(),
                    offset_ns: is_reference.then_some(0),
                    drift_ppm: is_reference.then_some(0.0),
                    uncertainty_ns: is_reference.then_some(0),
                    bound_ns: is_reference.then_some(0),
                    granularity_ns: host.granularity_ns,
                    ticks_per_second: host.ticks_per_second,
                    rate_error_ppm: host.rate_error_ppm,
                }
            })
            .collect(),
        violations: Violations::default(),
    }
}

fn communicator_summaries(communicators: &Communicators) -> Vec<CommunicatorSummary> {
    communicators
        .entries
        .iter()
        .enumerate()
        .map(|(id, entry)| {
            let (first, second) = entry.ranks.split_at(entry.first_group);
            CommunicatorSummary {
                id,
                name: entry.name.clone(),
                kind: match entry.kind {
                    CommunicatorKind::Intra => "intra",
                    CommunicatorKind::Inter => "inter",
                },
                size: entry.size,
                ranks: entry.ranks.clone(),
                groups: (entry.kind == CommunicatorKind::Inter)
                    .then(|| [first.to_vec(), second.to_vec()]),
            }
        })
        .collect()
}

fn totals(tally: &Tally<'_>) -> BTreeMap<&'static str, Total> {
    let mut totals: BTreeMap<&'static str, Total> = BTreeMap::new();
    for (key, operation) in tally.operations() {
        let total = totals.entry(key.operation.name()).or_default();
        total.calls += operation.calls;
        total.instances += operation.instances;
        total.call_time_ns = total
            .call_time_ns
            .saturating_add(operation.call_time.total());
    }
    totals
}

/// For each process the time for which the recorder held it up, and the longest of it, ns.
fn recorder_pauses(sources: &Sources<'_>) -> Vec<(i64, i64)> {
    let processes = sources.run.processes.iter().zip(&sources.clocks.processes);
    processes
        .map(|(process, clock)| {
            let chunks = process.trace.chunks.iter();
            let pauses = chunks.map(|chunk| {
                let begin = chunk.header.prepare_begin.get();
                let end = chunk.header.prepare_end.get();
                clock.span_ns(end.saturating_sub(begin))
            });
            pauses.fold((0, 0), |(total, longest): (i64, i64), pause| {
                (total.saturating_add(pause), longest.max(pause))
            })
        })
        .collect()
}

fn rank_summaries(sources: &Sources<'_>, pauses: &[(i64, i64)]) -> Vec<RankSummary> {
    let processes = sources.run.processes.iter().enumerate();
    processes
        .map(|(index, process)| {
            let tally = &sources.tally.processes[index];
            let mut calls_by_operation: BTreeMap<&'static str, u64> = BTreeMap::new();
            let mut calls_by_class = BTreeMap::new();
            for &((operation, scope), n) in &tally.by_class {
                *calls_by_operation.entry(operation.name()).or_default() += n;
                calls_by_class.insert(format!("{}{}", operation.name(), scope.suffix()), n);
            }
            RankSummary {
                rank: process.rank(),
                host: process.trace.identity.host.name.clone(),
                calls: tally.calls,
                calls_by_operation,
                calls_by_class,
                wait_ns: tally.wait_ns,
                call_time_ns: tally.call_ns,
                last: tally.last,
                first: tally.first,
                recorder_pause_ns: pauses[index].0,
            }
        })
        .collect()
}

fn operations(sources: &Sources<'_>) -> Vec<OperationSummary> {
    let mut operations: Vec<(i64, OperationSummary)> = sources
        .tally
        .operations()
        .map(|(key, tally)| {
            let time = tally.call_time.total();
            (time, operation_summary(sources, key, tally))
        })
        .collect();
    // Stable: operations of equal time stay in the order of their keys.
    operations.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    operations.into_iter().map(|(_, summary)| summary).collect()
}

fn operation_summary(
    sources: &Sources<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> OperationSummary {
    let wait = tally.wait.summary();
    let core = tally.core.summary();
    let departure_wait = tally.departure_wait.summary();
    let (waiting, completion) = wait_state_names(key.operation);
    let mut wait_states = BTreeMap::new();
    if let Some(name) = waiting.filter(|_| wait.is_some()) {
        wait_states.insert(name, tally.wait.total());
    }
    if let (Some(name), Some(total)) = (completion, tally.completion_ns) {
        wait_states.insert(name, total);
    }
    // Without an instance whose order could be told there is none, rather than one of zeros.
    let has_order = spans_one_host(sources, key.entry) && tally.instances > 0;
    let is_by_position = tally.arrivals.is_by_position();
    let by_position = |rows: Vec<Vec<u32>>| (has_order && is_by_position).then_some(rows);
    let by_decile = |rows: Vec<Vec<u32>>| (has_order && !is_by_position).then_some(rows);
    OperationSummary {
        operation: key.operation.name(),
        communicator: key.entry,
        root: key.root,
        bytes_min: tally.bytes.map(|(least, _)| least),
        bytes_max: tally.bytes.map(|(_, most)| most),
        algorithm: None,
        calls: tally.calls,
        instances: tally.instances,
        // Calls that do not tell their instance are of one at least.
        incomplete: tally.incomplete.max(tally.has_open_call.into()),
        duration_ns: tally.duration.summary(),
        call_time_ns: tally.call_time.summary(),
        arrival_lag_ns: tally.lag.summary(),
        initiation_ns: None,
        between_ns: None,
        completion_ns: None,
        wait_states,
        last_arrivals: tally.members.iter().map(|member| member.last).collect(),
        first_departures: tally
            .members
            .iter()
            .map(|member| member.first_departure)
            .collect(),
        last_unresolved: tally.last_unresolved,
        first_unresolved: tally.first_unresolved,
        arrival_order: by_position(tally.arrivals.rows()),
        departure_order: by_position(tally.departures.rows()),
        arrival_deciles: by_decile(tally.arrivals.rows()),
        departure_deciles: by_decile(tally.departures.rows()),
        edges: None,
        stages: stages(key.operation, &wait, &core, &departure_wait),
        threads: threads(sources, key, tally),
        semantics: key.operation.semantics(),
        wait_ns: wait,
        core_ns: core,
        departure_wait_ns: departure_wait,
    }
}

/// Whether all known processes of an entry are on one host, and more than one.
fn spans_one_host(sources: &Sources<'_>, entry: Option<usize>) -> bool {
    let Some(entry) = entry else { return false };
    let ranks = &sources.communicators.entries[entry].ranks;
    if sources.communicators.entries[entry].size < 2 {
        return false;
    }
    let mut hosts = ranks
        .iter()
        .flatten()
        .filter_map(|&rank| sources.run.process_of_rank(rank))
        .map(|process| sources.clocks.processes[process].host);
    let first = hosts.next();
    first.is_some() && hosts.all(|host| Some(host) == first)
}

/// The stages seen from outside, from the thread to the core. What lies across hosts is not
/// resolvable: on one host there is none, and the clocks of several are not aligned.
fn stages(
    operation: Operation,
    wait: &Option<Summary>,
    core: &Option<Summary>,
    departure_wait: &Option<Summary>,
) -> Vec<Stage> {
    if matches!(operation.semantics(), Semantics::Free) {
        return Vec::new();
    }
    let stage = |name, down_ns: Option<Summary>, up_ns: Option<Summary>| Stage {
        name,
        node: None,
        down_ns,
        up_ns,
    };
    vec![
        stage("inside the host", wait.clone(), departure_wait.clone()),
        stage("across hosts", None, None),
        stage("core", None, core.clone()),
    ]
}

fn threads(sources: &Sources<'_>, key: &OperationKey, tally: &OperationTally) -> Vec<ThreadWay> {
    let Some(entry) = key.entry else {
        return Vec::new();
    };
    let ranks = &sources.communicators.entries[entry].ranks;
    let mean = |total: i64, n: u64| (n > 0).then(|| (total / n as i64, n));
    ranks
        .iter()
        .zip(&tally.members)
        .filter_map(|(rank, member)| {
            let process = sources.run.process_of_rank((*rank)?)?;
            if member.n_calls == 0 {
                return None;
            }
            // Where only some waits are known, the rest of the call is not known either.
            let rest = member.call_ns - member.wait_ns - member.departure_wait_ns;
            let has_waits = key.operation.semantics() != Semantics::Free;
            let n_inside = match !has_waits || member.n_waits == member.n_calls {
                true => member.n_calls,
                false => 0,
            };
            Some(ThreadWay {
                rank: (*rank)?,
                host: sources.run.processes[process]
                    .trace
                    .identity
                    .host
                    .name
                    .clone(),
                wait: mean(member.wait_ns, member.n_waits),
                departure_wait: mean(member.departure_wait_ns, member.n_departure_waits),
                inside: mean(rest, n_inside),
            })
        })
        .collect()
}

fn imbalance(sources: &Sources<'_>) -> Vec<ImbalanceSummary> {
    let Sources {
        run,
        clocks,
        communicators,
        tally,
        ..
    } = sources;
    let collectives_ns = tally.processes.iter().map(|process| process.call_ns).sum();
    let host_of = |process: usize| clocks.processes[process].host;
    let mut summaries: Vec<ImbalanceSummary> = tally
        .lateness
        .iter()
        .map(|(&(entry, operation), lateness)| {
            let verdict = Verdict::reach(lateness, &host_of, collectives_ns);
            let rank_at = |position: usize| {
                let process = lateness.members[position].process?;
                Some(run.processes[process].rank())
            };
            let name = |vertex: &Vertex| match vertex {
                Vertex::Communicator => communicators.entries[entry].name.clone(),
                Vertex::Host(host) => format!("host {}", clocks.hosts[*host].name),
                Vertex::Process(position) => {
                    rank_at(*position).map_or_else(String::new, |rank| format!("rank {rank}"))
                }
            };
            let path = [Vertex::Communicator];
            ImbalanceSummary {
                communicator: entry,
                operation: operation.name(),
                path: path.iter().chain(&verdict.path).map(name).collect(),
                culprit: verdict.culprit.and_then(|vertex| match vertex {
                    Vertex::Communicator => None,
                    Vertex::Host(host) => Some(Culprit::Host(clocks.hosts[host].name.clone())),
                    Vertex::Process(position) => rank_at(position).map(Culprit::Rank),
                }),
                share: verdict.share,
                wait_caused_ns: verdict.caused_ns,
                excess_ns: verdict.excess_ns,
                instances: lateness.instances,
                resolved: lateness.resolved,
            }
        })
        .collect();
    summaries.sort_by_key(|s| std::cmp::Reverse((s.culprit.is_some(), s.wait_caused_ns)));
    summaries
}

fn unfinished(sources: &Sources<'_>) -> Vec<UnfinishedSummary> {
    let mut unfinished: Vec<UnfinishedSummary> = sources
        .tally
        .unfinished
        .iter()
        .map(|instance| UnfinishedSummary {
            operations: instance.operations.iter().map(|op| op.name()).collect(),
            communicator: instance.entry,
            sequence: instance.sequence,
            internal: instance.is_internal,
            inside: instance.inside.clone(),
            left: instance.left.clone(),
            never_came: instance.never_came.clone(),
            no_file: instance.n_unknown,
        })
        .collect();
    unfinished.sort_by_key(|u| (u.communicator, u.internal, u.sequence, u.inside.clone()));
    unfinished
}

fn remarks(sources: &Sources<'_>, n_findings: usize, pauses: &[(i64, i64)]) -> Vec<Finding> {
    let Sources {
        run,
        clocks,
        communicators,
        tally,
        irregularities,
        ..
    } = sources;
    let counts = &tally.counts;
    let mut remarks = Vec::new();
    let mut add = |applies: bool, remark: Finding| {
        if applies {
            remarks.push(remark);
        }
    };
    add(n_findings > 0, Finding::Incomplete { n_findings });
    add(sources.is_restricted, Finding::Restricted);
    let n_hosts = clocks.hosts.len();
    add(n_hosts > 1, Finding::ClocksNotAligned { n_hosts });
    for host in &clocks.hosts {
        let name = host.name.clone();
        add(host.is_unscaled, Finding::ClockNotScaled { host: name });
    }
    for remark in run.remarks.iter().chain(&communicators.remarks) {
        add(true, remark.clone());
    }
    add(
        counts.mismatched > 0,
        Finding::Mismatched {
            n_instances: counts.mismatched,
            example: counts.mismatch.clone().unwrap_or_default(),
        },
    );
    let with_calls = [
        (
            counts.unknown_communicator,
            Finding::UnknownCommunicator {
                n_calls: counts.unknown_communicator,
            },
        ),
        (
            counts.incomplete,
            Finding::IncompleteInstances {
                n_instances: counts.incomplete,
            },
        ),
        (
            irregularities.n_sequence_conflicts,
            Finding::SequenceConflict {
                n_chunks: irregularities.n_sequence_conflicts,
            },
        ),
        (
            irregularities.n_unknown_records,
            Finding::UnknownRecords {
                n_records: irregularities.n_unknown_records,
            },
        ),
        (
            irregularities.n_abandoned,
            Finding::AbandonedCalls {
                n_calls: irregularities.n_abandoned,
            },
        ),
        (
            counts.failed,
            Finding::FailedCalls {
                n_calls: counts.failed,
            },
        ),
        (
            counts.payload_unknown,
            Finding::PayloadUnknown {
                n_calls: counts.payload_unknown,
            },
        ),
        (
            counts.negative_core,
            Finding::NegativeCore {
                n_instances: counts.negative_core,
            },
        ),
        (
            counts.internal_calls,
            Finding::InternalCalls {
                n_calls: counts.internal_calls,
            },
        ),
    ];
    for (n, remark) in with_calls {
        add(n > 0, remark);
    }
    let total_ns: i64 = pauses.iter().map(|(total, _)| total).sum();
    let longest_ns = pauses
        .iter()
        .map(|(_, longest)| *longest)
        .max()
        .unwrap_or(0);
    // A hundredth of the time of the processes, as for verdicts.
    let run_ns = tally.end_ns.saturating_mul(run.processes.len() as i64);
    let is_noticeable = total_ns.saturating_mul(100) > run_ns;
    add(
        is_noticeable,
        Finding::RecorderPauses {
            total_ns,
            longest_ns,
        },
    );
    remarks
}
