//! The results, as plain types: the fields are those of the JSON document.
//!
//! Times are integers in ns; ranks are world ranks; positions in the lists of an operation index
//! the communicator's `ranks`; unknown is `None` (`null`), never 0.

use std::collections::BTreeMap;

use collbench_formats::Semantics;
use collbench_stats::buckets::Bucket;
use collbench_stats::distribution::Summary;
use collbench_stats::estimate::Evidence;
use serde::{Serialize, Serializer};

use crate::calls::algorithms::AlgorithmSummary;
use crate::calls::running::RunningSummary;
use crate::remark::Remark;
use crate::results::detail::Detail;
pub use crate::results::hang::{
    CycleSummary, HangSummary, LastCallSummary, MismatchSummary, MismatchedCallSummary,
    NeverCompletedSummary, RankEndSummary, RankState, UnfinishedSummary,
};
use crate::results::inside::{TransferSummary, TreeFigures};
pub use crate::results::over_time::{
    ChangeSummary, Culprit, DisturbanceSummary, InStep, LatenessSectionSummary,
    OperationSectionSummary, OutlierSummary, PhaseSummary, RankTimeline, Timeline,
};
use crate::sums::operation::ByteClass;
pub use crate::sums::serialization::SerializationPoint;
use collbench_stats::integers::sum_ns;

/// Everything that the analysis of one trace found: facts, of which `collbench-report` makes
/// sentences, pictures and the document.
#[derive(Debug, Clone)]
pub struct Analysis {
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
    /// What happens in a rhythm, the dearest first.
    pub disturbances: Vec<DisturbanceSummary>,
    /// What each process did when.
    pub timeline: Timeline,
    /// Processes that behave alike.
    pub classes: Vec<RankClass>,
    /// Which of its algorithms the MPI library ran for which operation, of the whole trace; `None`
    /// where nobody noted them.
    pub algorithms: Option<Vec<AlgorithmSummary>>,
    /// Whether threads were running before and in long calls, of the whole trace; `None` where
    /// nobody asked.
    pub running: Option<Vec<RunningSummary>>,
    /// The phases that the program marked with `MPI_Pcontrol`, by level.
    pub phases: Vec<MarkedPhase>,
    /// Instances that someone was in when the trace ended.
    pub unfinished: Vec<UnfinishedSummary>,
    /// What was going on when the trace ended; `None` of a complete one.
    pub hang: Option<HangSummary>,
    /// Calls that are not one collective though MPI wants them to be, the first of each kind.
    pub mismatches: Vec<MismatchSummary>,
    /// Nonblocking collectives that were begun and never completed, the first.
    pub never_completed: Vec<NeverCompletedSummary>,
    /// Whether all details are there.
    pub details: DetailsSummary,
    /// What a reader should know.
    pub remarks: Vec<Remark>,
}

/// Which details of operations and verdicts there are; all sums are there in any case.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct DetailsSummary {
    /// Whether nothing was left out.
    pub complete: bool,
    /// Operations with all of their details.
    pub operations: usize,
    /// Part of the time of all operations that is theirs; `None` where there is none.
    pub share_of_time: Option<f64>,
    /// Entries of `imbalance` with theirs.
    pub imbalance: usize,
    /// What gives all; `None` where nothing was left out.
    pub all_by: Option<&'static str>,
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
    /// Messages that the MPI library sent within collectives, where all processes recorded them.
    pub messages: Option<u64>,
    /// What became of them; `None` like those. (An addition.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message_ends: Option<MessageEnds>,
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
    /// What rings have kept; `None` where everything was.
    pub window: Option<WindowSummary>,
}

/// What became of the two ends of each message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MessageEnds {
    /// Messages of complete instances, of which both ends are known.
    pub paired: u64,
    /// Among them those received from any process: known as a set.
    pub from_any: u64,
    /// Of the others, those that were received before they were sent, by the clocks of this
    /// analysis.
    pub received_before_sent: u64,
    /// Sends inside complete instances that no receive is known of.
    pub unpaired_sends: u64,
    /// Receives inside complete instances that no send is known of.
    pub unpaired_receives: u64,
    /// Sends in collectives that join groups (MPI_Intercomm_create, MPI_Comm_accept, ...) to the
    /// other group, which is an instance of its own.
    pub sends_to_other_groups: u64,
    /// Receives there.
    pub receives_from_other_groups: u64,
    /// Sends in no complete instance.
    pub sends_elsewhere: u64,
    /// Receives in no complete instance.
    pub receives_elsewhere: u64,
}

/// What rings have kept of the calls (`collbench-record --keep`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WindowSummary {
    /// Bytes that were asked for, per rank.
    pub keep_bytes: u64,
    /// From when on all calls of all ranks are there, ns since the start; `None`: from the start.
    pub from_ns: Option<i64>,
    /// Records that were overwritten, or are from before the window of their rank.
    pub records_dropped: u64,
    /// Calls of the application among those.
    pub calls_dropped: u64,
    /// Calls of the application in all, dropped or not.
    pub calls_made: u64,
    /// Instances of which some ranks' calls are there and those of others overwritten.
    pub instances_cut: u64,
    /// The calls that are there of these: counted, and in no figure.
    pub calls_of_cut: u64,
    /// By rank.
    pub ranks: Vec<RankWindow>,
}

/// What the ring of one rank has kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RankWindow {
    /// World rank.
    pub rank: u32,
    /// From when on all of its calls are there, ns since the start; `None`: from the start.
    pub from_ns: Option<i64>,
    /// Records that were overwritten, or are from before the window of their rank.
    pub records_dropped: u64,
    /// Calls of the application among those.
    pub calls_dropped: u64,
    /// Calls of the application in all.
    pub calls_made: u64,
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
    /// The call that was to complete it, such as `MPI_Wait`. (An addition.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completing: Option<&'static str>,
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
    /// Stamps that contradict what must have come before what.
    pub violations: Violations,
    /// Errors of the differences between hosts over the run; `None` for one host. (An addition.)
    pub errors: Option<ClockErrors>,
    /// Whether offsets of hosts that were measured in a ring come to nothing; `None` where no three
    /// were. (An addition.)
    pub closure: Option<ClosureSummary>,
    /// The clocks of several hosts, for a picture.
    #[serde(skip)]
    pub courses: Vec<ClockCourse>,
}

/// How well offsets around triangles of hosts close, each side of which exchanges of its own have
/// measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClosureSummary {
    /// Triangles that were measured.
    pub triangles: usize,
    /// Those that are open by more than three standard deviations.
    pub open: usize,
    /// The three hosts that are open by most standard deviations.
    pub hosts: [String; 3],
    /// Sum of the offsets around them, ns.
    pub gap_ns: i64,
    /// Three standard deviations of that, ns.
    pub error_ns: i64,
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
    /// Number of the group of hosts that have a common time. (An addition.)
    pub group: usize,
    /// Smallest difference that means something, ns. (An addition.)
    pub granularity_ns: i64,
    /// Ticks per second; `None` where a tick is a ns. (An addition.)
    pub ticks_per_second: Option<f64>,
    /// Bound on the error of that, ppm. (An addition.)
    pub rate_error_ppm: Option<f64>,
}

/// Hosts that left a collective before those had entered that it depends on, by their stamps.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Violations {
    /// Hosts in instances that were looked at.
    pub checked: Option<u64>,
    /// Of them those that left too early by the clocks of hosts as they are.
    pub before: Option<u64>,
    /// Those that leave too early on the time of the analysis.
    pub after: Option<u64>,
}

/// Errors of the differences between stamps of two hosts, at some times of the run; between two of
/// these the greater of both holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClockErrors {
    /// Since the start of the run.
    pub at_ns: Vec<i64>,
    /// All pairs of few hosts that have a common time; of many those with the reference host.
    pub pairs: Vec<PairErrors>,
}

/// Errors of the differences between two hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PairErrors {
    /// One host.
    pub host: String,
    /// The other.
    pub other: String,
    /// Two standard deviations, at each of the times.
    pub uncertainty_ns: Vec<i64>,
    /// What the error cannot exceed, at each of the times.
    pub bound_ns: Vec<i64>,
}

/// The offset of a host's clock over the run, less the straight line from its start to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockCourse {
    /// The host.
    pub host: String,
    /// Time since the start, offset less the line, and two standard deviations, ns.
    pub points: Vec<(i64, i64, i64)>,
    /// The offsets of bursts, likewise, with their bounds.
    pub bursts: Vec<(i64, i64, i64)>,
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
    /// Sum of its waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
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
    /// How it was done: as the library said, else as the messages tell; `None` where neither is known.
    pub algorithm: Option<String>,
    /// What the MPI library calls the algorithms that it began in these calls; `None` where it said
    /// nothing. (An addition.)
    pub library_name: Option<String>,
    /// Instances whose messages are not those of the algorithm that the library has named. (An
    /// addition.)
    pub contradicted: u64,
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Instances to which all processes came, and which all left, some with an error code: counted, in
    /// no figure. (An addition.)
    pub failed: u64,
    /// Other instances.
    pub incomplete: u64,
    /// Last leave minus first enter, per instance.
    pub duration_ns: Option<Summary>,
    /// How many instances took how long, in eight steps for each doubling, from the first to the
    /// last that has one. (An addition.)
    pub duration_histogram: Detail<Vec<Bucket>>,
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
    /// The initiating call, per call that was completed; of a call that started several an equal
    /// share. Nonblocking and persistent operations only, as the next five.
    pub initiation_ns: Option<Summary>,
    /// From its leave to the enter of the completing call.
    pub between_ns: Option<Summary>,
    /// The completing call, shared equally among what it completed.
    pub completion_ns: Option<Summary>,
    /// Initiation, tests in vain and completion: what it took from the application. (An addition.)
    pub exposed_ns: Option<Summary>,
    /// Between, without tests: the most that can have been overlapped with computing. (An
    /// addition.)
    pub overlap_bound_ns: Option<Summary>,
    /// Tests that found it not complete. (An addition.)
    pub tests: Option<u64>,
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
    /// Of `last_unresolved` those of which it is likely: beyond one standard deviation of the clocks.
    pub last_likely: u64,
    /// Of `first_unresolved` those of which it is likely.
    pub first_likely: u64,
    /// Counts `[process][position]`; `None` above 256 processes, and across hosts.
    pub arrival_order: Detail<Option<Vec<Vec<u32>>>>,
    /// Likewise.
    pub departure_order: Detail<Option<Vec<Vec<u32>>>>,
    /// Counts `[process][tenth of the order]`, above 256 processes. (An addition.)
    pub arrival_deciles: Detail<Option<Vec<Vec<u32>>>>,
    /// Likewise.
    pub departure_deciles: Detail<Option<Vec<Vec<u32>>>>,
    /// How much later each next process leaves; barrier and N x N on one clock only. By position
    /// in the order of departure up to 256 processes, beyond in 100 steps of it. (An addition.)
    pub serialization: Detail<Option<Vec<SerializationPoint>>>,
    /// What it took, section by section of the run; `None` of fewer than 32 instances. (An
    /// addition.)
    pub sections: Detail<Option<Vec<OperationSectionSummary>>>,
    /// The few instances that stick out, the longest first. (An addition.)
    pub outliers: Vec<OutlierSummary>,
    /// Messages between processes, by sender and receiver, all graphs together; `None` where no
    /// message was seen.
    pub edges: Detail<Option<Vec<EdgeSummary>>>,
    /// The graphs that instances executed, the most frequent first; `None` where messages were not
    /// recorded. (An addition.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<Vec<TreeSummary>>,
    /// What is in none of them; `None` likewise. (An addition.)
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_trees: Option<OutsideTrees>,
    /// The stages of the way.
    pub stages: Stages,
    /// Which of the above are `null`, or cut, since the document of a large run has details of what
    /// matters only. (An addition.)
    pub left_out: Vec<&'static str>,
    /// The way of each process that took part, for pictures.
    #[serde(skip)]
    pub threads: Vec<ThreadWay>,
    /// What its processes wait for.
    #[serde(skip)]
    pub semantics: Semantics,
    /// Class of its payloads.
    #[serde(skip)]
    pub class: ByteClass,
    /// What differences from other traces are judged by.
    #[serde(skip)]
    pub(crate) evidence: Evidence,
    /// How far the stamps of its processes can be compared.
    #[serde(skip)]
    pub spread: Spread,
}

/// Processes that come, wait and leave alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RankClass {
    /// `ranks 0-31`, or what they have in common.
    pub name: String,
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
    /// The rank of them that is nearest to their mean.
    pub representative: u32,
    /// Mean wait of a call, ns; `None` where none is known.
    pub mean_wait_ns: Option<i64>,
    /// Mean of last enter minus own, ns; the least of the late.
    pub mean_lag_ns: Option<i64>,
    /// Mean of own leave minus first leave, ns; `None` without barrier or N x N.
    pub mean_departure_wait_ns: Option<i64>,
    /// Calls in complete instances.
    pub calls: u64,
}

/// Stages of a way.
#[derive(Debug, Clone, Default)]
pub struct Stages {
    /// Those that are seen from outside, from the thread to the core.
    pub outside: Vec<Stage>,
    /// Those of the nodes of the most frequent tree, then of its edges.
    pub inside: Detail<Vec<Stage>>,
}

impl Serialize for Stages {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let inside = self.inside.iter().filter(|_| !self.inside.is_left_out());
        serializer.collect_seq(self.outside.iter().chain(inside))
    }
}

/// One stage, in both directions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
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

/// How far the stamps of the processes of an operation can be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    /// All are on one host, and read one clock.
    OneHost,
    /// They are on several hosts, whose clocks were aligned.
    Aligned,
    /// Some are on hosts whose clocks have no common time.
    Apart,
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
    /// Of that, what was for processes of the own host; `None` where that is not told apart.
    pub wait_inside: Option<(i64, u64)>,
    /// Mean departure wait, and the calls behind it.
    pub departure_wait: Option<(i64, u64)>,
    /// Of that, what was after the first process of the own host; likewise.
    pub departure_inside: Option<(i64, u64)>,
    /// Mean time between release and departure of the first (N x N, barrier), or of this
    /// process (others), and the calls behind it.
    pub inside: Option<(i64, u64)>,
    /// The initiating call, of a nonblocking operation; then `inside` is the rest of the
    /// completing call.
    pub initiation: Option<(i64, u64)>,
    /// From there to the completing call.
    pub between: Option<(i64, u64)>,
}

/// The phases of one level that the program marked, over all processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarkedPhase {
    /// What was given to `MPI_Pcontrol`.
    pub level: i32,
    /// When the first process began it first, ns since the start.
    pub from_ns: i64,
    /// When the last process ended it last.
    pub to_ns: i64,
    /// Processes that were in it.
    pub processes: u64,
    /// How often it was begun, by all of them.
    pub begun: u64,
    /// Time in it, of all of them, ns.
    pub time_ns: i64,
    /// Calls in it, of instances that all their processes entered in it.
    pub calls: u64,
    /// Time in those calls, ns.
    pub call_time_ns: i64,
    /// Their known waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
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
    /// Waits that its coming ended, ns; `None` without resolved instances.
    pub wait_caused_ns: Option<i64>,
    /// How much later than the second last it came, ns, in all; `None` without resolved
    /// instances. (An addition.)
    pub excess_ns: Option<i64>,
    /// The rank whose coming ended the most waiting, however often it came last; `None` where
    /// nobody waited. (An addition.)
    pub dearest: Option<Dearest>,
    /// Which hosts the last to come came from, in the order of the clocks. (An addition.)
    pub hosts: Detail<Vec<HostLateness>>,
    /// Waits that somebody's coming ended, ns, in resolved instances. (An addition.)
    pub all_waits_caused_ns: i64,
    /// Complete instances.
    pub instances: u64,
    /// Those of which it is known who came last. (An addition.)
    pub resolved: u64,
    /// Who came last, section by section of the run; those with instances. (An addition.)
    pub sections: Detail<Vec<LatenessSectionSummary>>,
    /// How that changed; `None` where no change is beyond chance. (An addition.)
    pub change: Option<ChangeSummary>,
}

/// How often the last to come came from one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HostLateness {
    /// The host.
    pub host: String,
    /// Processes of the communicator on it.
    pub ranks: u64,
    /// Resolved instances that one of them came last to.
    pub last: u64,
    /// Waits that their coming ended, ns.
    pub wait_caused_ns: i64,
    /// The same of each of them, for pictures.
    #[serde(skip)]
    pub members: Vec<RankLateness>,
}

/// How often one rank came last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankLateness {
    /// World rank.
    pub rank: u32,
    /// Resolved instances that it came last to.
    pub last: u64,
    /// Waits that its coming ended, ns.
    pub wait_caused_ns: i64,
}

/// For whom the others waited most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dearest {
    /// World rank.
    pub rank: u32,
    /// Resolved instances that it came last to.
    pub last: u64,
    /// Waits that its coming ended, ns.
    pub wait_caused_ns: i64,
}

impl Analysis {
    /// Time of all processes in all collectives that returned, ns.
    #[must_use]
    pub fn collectives_ns(&self) -> i64 {
        sum_ns(self.ranks.iter().map(|rank| rank.call_time_ns))
    }
}

/// What went from one process to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EdgeSummary {
    /// World rank of the sender.
    pub from: u32,
    /// World rank of the receiver.
    pub to: u32,
    /// Messages, all instances together.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// `down`: towards a root, `up`: from it; `None`: neither can be said.
    pub direction: Option<&'static str>,
    /// What they took; `None` of nonblocking operations.
    #[serde(flatten)]
    pub measured: Option<TransferSummary>,
}

/// A graph that instances of an operation executed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TreeSummary {
    /// How the collective is done so.
    pub algorithm: Option<String>,
    /// Other names of the same graph, which among so few processes cannot be told apart. Where it
    /// contradicts what the library said, those that it has.
    pub also: Vec<String>,
    /// What the MPI library calls the algorithm, as in its operation.
    pub library_name: Option<String>,
    /// Whether data went along a spanning tree (towards its root, from it, or both), and nowhere
    /// else.
    pub is_tree: bool,
    /// World rank of its root.
    pub root: Option<u32>,
    /// Edges on the longest way to the root.
    pub height: Option<u32>,
    /// Most children of one process.
    pub fan_out: Option<u32>,
    /// Instances that executed it.
    pub instances: u64,
    /// Smallest payload of a process in these, bytes.
    pub bytes_min: Option<u64>,
    /// Largest payload of a process in these, bytes.
    pub bytes_max: Option<u64>,
    /// Its edges, by sender and receiver.
    pub edges: Detail<Vec<EdgeSummary>>,
    /// What was measured at its nodes; `None` of nonblocking operations.
    #[serde(flatten)]
    pub figures: Option<TreeFigures>,
}

/// Instances of an operation whose messages are in none of its trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct OutsideTrees {
    /// Instances of further graphs than are kept.
    pub other_graphs: u64,
    /// Instances in which no message was seen, though there was something to be sent.
    pub opaque: u64,
    /// Ends of messages inside instances whose other end is not known.
    pub unpaired: u64,
}
