//! The clocks, and how far they can be trusted.

use serde::{Deserialize, Serialize};

use crate::results::code::Code;

/// The clocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockSummary {
    /// How the clocks of hosts were brought together.
    pub method: Code,
    /// What stamped the records: `tsc`, `raw`, `monotonic`, or several with commas.
    pub source: String,
    /// The host whose clock the others are compared with.
    pub reference_host: String,
    /// The host clocks.
    pub hosts: Vec<HostSummary>,
    /// Stamps that contradict what must have come before what.
    pub violations: Violations,
    /// Errors of the differences between hosts over the run; `None` for one host.
    pub errors: Option<ClockErrors>,
    /// Whether the offsets around triangles of hosts add up to 0; `None` where no three hosts were
    /// measured against one another.
    pub closure: Option<ClosureSummary>,
    /// The sites that the hosts form; `None` where round trips do not divide them.
    #[serde(default)]
    pub host_sites: Option<HostSites>,
    /// The clocks of several hosts, for a picture.
    #[serde(skip)]
    pub courses: Vec<ClockCourse>,
}

/// How well the offsets around triangles of hosts add up to 0, where each side was measured by its
/// own exchanges.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Sites: hosts that are near to one another, and far from all others by their round trips.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSites {
    /// Number of sites, at least 2.
    pub n: usize,
    /// Longest round trip that keeps two hosts in one site, ns.
    pub within_ns: i64,
    /// Shortest round trip between two sites, ns.
    pub between_ns: i64,
    /// Pairs of hosts whose round trip is known.
    pub pairs: usize,
    /// Whether each site is connected by known round trips; else some hosts are assumed to be in
    /// one site, since they are equally far from the others.
    pub is_sure: bool,
}

/// One host clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Number of the group of hosts that have a common time.
    #[serde(default)]
    pub group: usize,
    /// Number of its site, from 0; `None` where the hosts form no sites.
    #[serde(default)]
    pub site: Option<usize>,
    /// Smallest difference that means something, ns.
    #[serde(default)]
    pub granularity_ns: i64,
    /// Ticks per second; `None` where a tick is a ns.
    pub ticks_per_second: Option<f64>,
    /// Bound on the error of that, ppm.
    pub rate_error_ppm: Option<f64>,
}

/// Hosts that left a collective before those had entered that it depends on, by their stamps.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Violations {
    /// Hosts in instances that were looked at.
    pub checked: Option<u64>,
    /// Of them those that left too early by the clocks of hosts as they are.
    pub before: Option<u64>,
    /// Those that leave too early on the time of the analysis.
    pub after: Option<u64>,
}

/// Errors of the differences between stamps of two hosts, at some times of the run; between two of
/// these times the greater of both values holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockErrors {
    /// Since the start of the run.
    pub at_ns: Vec<i64>,
    /// All pairs of few hosts that have a common time; of many those with the reference host.
    pub pairs: Vec<PairErrors>,
}

/// Errors of the differences between two hosts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// The offset of a host's clock over the run, minus the straight line from its start to its end.
#[derive(Debug, Clone, PartialEq)]
pub struct ClockCourse {
    /// The host.
    pub host: String,
    /// Time since the start, offset minus the line, and two standard deviations, ns.
    pub points: Vec<(i64, i64, i64)>,
    /// Offsets of bursts: time since the start, offset minus the line, and its bound, ns.
    pub bursts: Vec<(i64, i64, i64)>,
}
