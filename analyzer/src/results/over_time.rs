//! Results over time, as plain types: timelines, sections of the run, changes, disturbances,
//! outliers. The fields are those of the JSON document.
//!
//! Times are integers in ns, since the start of the run where they are instants. All sections of a
//! run are equally long, a power of two times 1 us, at most 32.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::results::code::Code;

/// How lateness changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// Nobody at first, then one.
    Starts,
    /// One at first, then nobody.
    Ends,
    /// From one to another.
    Moves,
    /// One in several phases with none between, or in the middle only.
    ComesAndGoes,
    /// One, later and later.
    Grows,
    /// One, less and less late.
    Shrinks,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// A rank, several ranks, or a host that stands out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!from))]
#[serde(
    tag = "kind",
    content = "id",
    rename_all = "lowercase",
    from = "WrittenCulprit"
)]
pub enum Culprit {
    /// A world rank.
    Rank(u32),
    /// World ranks, several, ascending.
    Ranks(Vec<u32>),
    /// A host.
    Host(String),
    /// One of a kind that only a newer version knows: only in a document that was read.
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// A culprit of any version.
#[derive(Deserialize)]
struct WrittenCulprit {
    kind: Code,
    id: Option<WrittenId>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenId {
    Rank(u32),
    Ranks(Vec<u32>),
    Host(String),
    Other(IgnoredAny),
}

impl From<WrittenCulprit> for Culprit {
    fn from(written: WrittenCulprit) -> Self {
        match (&*written.kind, written.id) {
            ("rank", Some(WrittenId::Rank(rank))) => Self::Rank(rank),
            ("ranks", Some(WrittenId::Ranks(ranks))) => Self::Ranks(ranks),
            ("host", Some(WrittenId::Host(host))) => Self::Host(host),
            _ => Self::Newer,
        }
    }
}

/// Activity of each process over time.
///
/// Stretch `b` of the run is from `b * bin_ns` to before `(b + 1) * bin_ns` since its start.
/// Calls and their waits are cut at the borders, and counted where they begin. All lists have the
/// same length, at most 128; all calls in instances are in them, whole or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Timeline {
    /// Length of a stretch, ns: a power of two times 1 us.
    pub bin_ns: i64,
    /// The processes, by rank, as in `ranks`.
    pub ranks: Vec<RankTimeline>,
}

/// Activity of one process, by stretch of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RankTimeline {
    /// World rank.
    pub rank: u32,
    /// Waits, ns; `None` where calls began and none of their waits is known.
    pub wait_ns: Vec<Option<i64>>,
    /// Time in calls, ns.
    pub call_time_ns: Vec<i64>,
    /// Calls that began.
    pub calls: Vec<u64>,
    /// Those of them whose wait is not known: where this is above 0, `wait_ns` is the least.
    pub waits_unknown: Vec<u64>,
}

/// Times of an operation in one section of the run, over complete instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationSectionSummary {
    /// Begin of the section.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Instances whose last enter was in it.
    pub instances: u64,
    /// Their calls.
    pub calls: u64,
    /// Time in those.
    pub call_time_ns: i64,
    /// Their waits, as far as known; `None` where none is.
    pub wait_ns: Option<i64>,
}

/// An instance that took much longer than others of its operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlierSummary {
    /// Position among the calls on its communicator, from 0.
    pub sequence: u64,
    /// Its last enter.
    pub at_ns: i64,
    /// Last leave minus first enter.
    pub duration_ns: i64,
    /// World rank that arrived last; `None` where that is not resolved.
    pub last_rank: Option<u32>,
    /// Its enter minus the enter before it; `None` where that is not resolved.
    pub excess_ns: Option<i64>,
    /// World ranks that arrived after the longest gap between arrivals: late together, unless they
    /// are the majority. Empty where the gap is not resolved.
    pub late_ranks: Vec<u32>,
    /// Length of that gap; `None` where it is not resolved.
    pub late_by_ns: Option<i64>,
    /// From the first enter to the last; `None` where the hosts have no common time.
    pub spread_ns: Option<i64>,
    /// Id of the place from which the last to arrive called it; `None` where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<usize>,
}

/// Who arrived last in one section of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatenessSectionSummary {
    /// Begin of the section.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Complete instances whose last enter was in it.
    pub instances: u64,
    /// Those of which it is known who arrived last.
    pub resolved: u64,
    /// World rank that arrived last most often; `None` if it is not known of any instance.
    pub rank: Option<u32>,
    /// How often.
    pub last: u64,
    /// Waits that its arrival ended.
    pub wait_caused_ns: i64,
    /// Waits that anyone's arrival ended, in resolved instances.
    pub all_waits_caused_ns: i64,
}

/// How lateness changed over the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeSummary {
    /// In which way.
    pub kind: ChangeKind,
    /// The phases, in order; each begins where the one before ends, as far as sections tell.
    pub phases: Vec<PhaseSummary>,
    /// By how much, where it grows or shrinks.
    #[serde(default)]
    pub growth: Option<GrowthSummary>,
}

/// Lateness of one rank or host that grows or shrinks steadily over the run.
///
/// Its lateness in an instance is the wait that its arrival ends, per process that waits for it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GrowthSummary {
    /// Who is late.
    pub late: Culprit,
    /// By how much the lateness per instance changes in one second of the run, ns.
    pub slope_ns_per_s: i64,
    /// Lateness per instance at the begin of the run on the line of that slope, ns; at least 0.
    pub at_begin_ns: i64,
    /// At its end, ns; at least 0.
    pub at_end_ns: i64,
}

/// A part of the run with one late party, or none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PhaseSummary {
    /// Its begin.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// Who is late in it, if anyone in particular.
    pub late: Option<Culprit>,
    /// Share of the resolved instances in which it arrived last, 0 to 1; `None` where nobody is
    /// late.
    pub share: Option<f64>,
    /// Waits that its arrival ended; `None` where nobody is late.
    pub wait_caused_ns: Option<i64>,
    /// Instances of which it is known who arrived last.
    pub resolved: u64,
}

/// What is constant from one period to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum PeriodBasis {
    /// The time between, whatever the program does.
    Time,
    /// The number of steps of the program between, however long they take.
    Steps,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}

/// A periodic disturbance: something that makes ranks late at regular intervals.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisturbanceSummary {
    /// Its period.
    pub period_ns: i64,
    /// Standard error of that.
    pub period_error_ns: i64,
    /// Standard deviation of the late arrivals from multiples of the period.
    pub scatter_ns: i64,
    /// Late arrivals that belong to it.
    pub n: u64,
    /// Whether there may be more that were too short to be retained.
    pub is_least: bool,
    /// Median of the enter of the last minus the enter before it, over these late arrivals.
    pub excess_ns: i64,
    /// The rank or host that is late, or the ranks that are late together; `None`: different ones.
    pub late: Option<Culprit>,
    /// Waits that the late arrivals ended.
    pub wait_caused_ns: i64,
    /// Whether its period is constant in time or in steps of the program; `None` where the run cannot
    /// tell, because its steps are as regular as the disturbance.
    #[serde(default)]
    pub basis: Option<PeriodBasis>,
    /// The steps of the program that it follows; `None` unless it is constant in those.
    pub in_step: Option<InStep>,
    /// The operations that the late arrivals belong to, most waiting caused first.
    #[serde(default)]
    pub operations: Vec<DisturbedOperation>,
}

/// What a periodic disturbance costs in one operation on one communicator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisturbedOperation {
    /// Id of the communicator.
    pub communicator: usize,
    /// Name of the operation.
    pub operation: Code,
    /// Waits that the late arrivals in it ended, ns; of those that were retained.
    pub wait_caused_ns: i64,
    /// The same of all late arrivals, estimated from a random sample of the instances; `None` where all were retained, or
    /// the sample does not tell.
    #[serde(default)]
    pub wait_caused_estimate_ns: Option<i64>,
}

/// A period that is a number of steps of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct InStep {
    /// Id of the communicator.
    pub communicator: usize,
    /// Name of the operation.
    pub operation: Code,
    /// The late arrivals are multiples of this many iterations of the program's loop apart; without
    /// `calls_per_iteration`, of this many calls on the communicator.
    pub every: u64,
    /// Calls on the communicator in one iteration of the program's loop; `None` where its calls
    /// show no loop.
    #[serde(default)]
    pub calls_per_iteration: Option<u64>,
}
