//! The operations: times and waits of their calls, and the order in which their processes arrived.

use std::collections::BTreeMap;

use collbench_formats::{Operation, Semantics};
use collbench_stats::buckets::{Bucket, PARTS};
use collbench_stats::distribution::Summary;
use collbench_stats::estimate::Evidence;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::results::call_sites::OperationSite;
use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::results::over_time::{OperationSectionSummary, OutlierSummary};
use crate::results::overlap::OverlapSummary;
use crate::results::trees::{EdgeSummary, OutsideTrees, TreeSummary};
use crate::sums::instances::operation_key::ByteClass;
use crate::sums::serialization::SerializationPoint;

/// One operation, as distinguished by communicator, root, payload and algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationSummary {
    /// Name of the standard.
    pub operation: Code,
    /// Id; `None` where it is not known.
    pub communicator: Option<usize>,
    /// World rank of the root; `None` for operations without.
    pub root: Option<u32>,
    /// Smallest payload seen, bytes.
    pub bytes_min: Option<u64>,
    /// Largest payload seen, bytes.
    pub bytes_max: Option<u64>,
    /// The algorithm: as the library reported, else as recognized from messages; `None` where
    /// neither is known.
    pub algorithm: Option<String>,
    /// The library's names of the algorithms that it started in these calls; `None` where it
    /// reported none.
    pub library_name: Option<String>,
    /// Instances whose messages do not fit the algorithm that the library named.
    #[serde(default)]
    pub contradicted: u64,
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Instances that all processes entered and left, some with an error code: counted, but in no
    /// figure.
    #[serde(default)]
    pub failed: u64,
    /// Incomplete instances.
    pub incomplete: u64,
    /// Last leave minus first enter, per instance.
    pub duration_ns: Option<Summary>,
    /// How many instances took how long, in eight steps for each doubling, from the first to the
    /// last that has one.
    #[serde(default)]
    pub duration_histogram: Detail<Vec<Bucket>>,
    /// How many instances are in each part of a bin of `duration_histogram`, for a picture that is magnified; not in
    /// the document.
    #[serde(skip)]
    pub duration_parts: Vec<[u64; PARTS]>,
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
    /// share. For nonblocking and persistent operations only, as are the next five fields.
    pub initiation_ns: Option<Summary>,
    /// From its leave to the enter of the completing call.
    pub between_ns: Option<Summary>,
    /// The completing call, shared equally among what it completed.
    pub completion_ns: Option<Summary>,
    /// Initiation, unsuccessful tests and completion: the time that the application spent on it.
    pub exposed_ns: Option<Summary>,
    /// Between, without tests: an upper bound of the overlap with computation.
    pub overlap_bound_ns: Option<Summary>,
    /// Number of unsuccessful tests.
    pub tests: Option<u64>,
    /// How far it went on between its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapSummary>,
    /// Scalasca's wait states, total ns.
    pub wait_states: BTreeMap<Code, i64>,
    /// How often each process arrived last.
    pub last_arrivals: Vec<u64>,
    /// How often each process left first.
    pub first_departures: Vec<u64>,
    /// Instances of which it is not known who arrived last.
    pub last_unresolved: u64,
    /// Instances of which it is not known who left first.
    pub first_unresolved: u64,
    /// Of `last_unresolved` those of which it is likely: beyond one standard deviation of the clocks.
    pub last_likely: u64,
    /// Of `first_unresolved` those of which it is likely.
    pub first_likely: u64,
    /// Counts `[process][position]`; `None` above 256 processes, and across hosts.
    pub arrival_order: Detail<Option<Vec<Vec<u32>>>>,
    /// Order of departure: counts `[process][position]`; `None` above 256 processes, and across hosts.
    pub departure_order: Detail<Option<Vec<Vec<u32>>>>,
    /// Counts `[process][tenth of the order]`, above 256 processes.
    #[serde(default)]
    pub arrival_deciles: Detail<Option<Vec<Vec<u32>>>>,
    /// Order of departure: counts `[process][tenth of the order]`, above 256 processes.
    pub departure_deciles: Detail<Option<Vec<Vec<u32>>>>,
    /// How much later each next process leaves; barrier and N x N on one clock only. By position
    /// in the order of departure up to 256 processes, beyond in 100 steps of it.
    #[serde(default)]
    pub serialization: Detail<Option<Vec<SerializationPoint>>>,
    /// Times section by section of the run; `None` for fewer than 32 instances.
    pub sections: Detail<Option<Vec<OperationSectionSummary>>>,
    /// The places from which it was called, by time, the longest first; empty where they were not
    /// recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sites: Vec<OperationSite>,
    /// Outliers: the few longest instances, the longest first.
    #[serde(default)]
    pub outliers: Vec<OutlierSummary>,
    /// Messages between processes, by sender and receiver, over all graphs; `None` where no message
    /// was seen.
    pub edges: Detail<Option<Vec<EdgeSummary>>>,
    /// The graphs that instances executed, the most frequent first; `None` where messages were not
    /// recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<Vec<TreeSummary>>,
    /// Messages in none of the trees; `None` where messages were not recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside_trees: Option<OutsideTrees>,
    /// The stages of a call, seen from outside, then those of the most frequent tree.
    pub stages: Stages,
    /// Names of the fields above that are `null`, or cut: the document of a large run has details
    /// of the costliest operations only.
    #[serde(default)]
    pub left_out: Vec<Code>,
    /// What is not in the document; `None` for an operation that was read from one.
    #[serde(skip)]
    pub beyond: Option<Box<BeyondDocument>>,
}

/// What is known of an operation but is not in the document.
#[derive(Debug, Clone, PartialEq)]
pub struct BeyondDocument {
    /// Mean times of each process that took part, for pictures.
    pub threads: Vec<ProcessTimes>,
    /// By id of a place, the world ranks that called from there.
    pub called_by: BTreeMap<usize, Vec<u32>>,
    /// How far the stamps of its processes can be compared.
    pub spread: Spread,
    /// Class of its payloads.
    pub(crate) class: ByteClass,
    /// Batches from which differences to other traces are judged.
    pub(crate) evidence: Evidence,
}

impl OperationSummary {
    /// Which processes wait for which; unspecified for an operation that only a newer version
    /// knows.
    #[must_use]
    pub fn semantics(&self) -> Semantics {
        let operation = Operation::from_name(&self.operation);
        operation.map_or(Semantics::Unspecified, Operation::semantics)
    }

    /// Mean times of each process that took part, for pictures; empty for an operation that was
    /// read.
    #[must_use]
    pub fn threads(&self) -> &[ProcessTimes] {
        self.beyond.as_ref().map_or(&[], |beyond| &beyond.threads)
    }

    /// World ranks that called from a place; none of an operation that was read.
    #[must_use]
    pub fn called_by(&self, site: usize) -> &[u32] {
        let beyond = self.beyond.as_ref();
        let ranks = beyond.and_then(|beyond| beyond.called_by.get(&site));
        ranks.map_or(&[], |ranks| ranks)
    }

    /// Class of its payloads.
    pub(crate) fn class(&self) -> ByteClass {
        let beyond = self.beyond.as_ref();
        beyond.map_or_else(|| ByteClass::of(self.bytes_max), |beyond| beyond.class)
    }

    /// Batches from which differences to other traces are judged; empty for an operation that was
    /// read.
    pub(crate) fn evidence(&self) -> Evidence {
        let beyond = self.beyond.as_ref();
        beyond.map_or_else(Evidence::default, |beyond| beyond.evidence)
    }

    /// How far the stamps of its processes can be compared; `None` of an operation that was read.
    #[must_use]
    pub fn spread(&self) -> Option<Spread> {
        self.beyond.as_ref().map(|beyond| beyond.spread)
    }
}

/// Stages of a call.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(inline, into = "Vec<Stage>")
)]
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

impl<'de> Deserialize<'de> for Stages {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut outside = Vec::<Stage>::deserialize(deserializer)?;
        let first_inside = outside.iter().position(|stage| stage.node.is_some());
        let inside = outside.split_off(first_inside.unwrap_or(outside.len()));
        Ok(Self {
            outside,
            inside: inside.into(),
        })
    }
}

/// One stage, to the root (`down`) and from the root (`up`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stage {
    /// Its name.
    pub name: Code,
    /// The node, for stages inside a tree.
    pub node: Option<String>,
    /// Time towards the root, per call.
    pub down_ns: Option<Summary>,
    /// Time from the root, per call (core: per instance).
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

/// Mean times of one process in one operation: each with the number of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTimes {
    /// World rank.
    pub rank: u32,
    /// Its host.
    pub host: String,
    /// Mean wait, and the calls behind it.
    pub wait: Option<(i64, u64)>,
    /// Mean part of the wait for processes on the own host; `None` where this is unknown.
    pub wait_inside: Option<(i64, u64)>,
    /// Mean departure wait, and the calls behind it.
    pub departure_wait: Option<(i64, u64)>,
    /// Mean part of the departure wait after the first leave on the own host; `None` where this is
    /// unknown.
    pub departure_inside: Option<(i64, u64)>,
    /// Mean time between release and departure of the first (N x N, barrier), or of this
    /// process (others), and the calls behind it.
    pub inside: Option<(i64, u64)>,
    /// The initiating call, of a nonblocking operation; then `inside` is the rest of the
    /// completing call.
    pub initiation: Option<(i64, u64)>,
    /// From the return of the initiating call to the enter of the completing call.
    pub between: Option<(i64, u64)>,
}
