//! What is predicted to make the run faster.

use serde::{Deserialize, Serialize};

/// What is predicted to make the run faster, and by how much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FasterSummary {
    /// The operation that gains most.
    pub operation: String,
    /// Processes of its communicator.
    pub processes: u64,
    /// Bytes of one process.
    pub bytes: u64,
    /// What could run: an algorithm of the library, or a spanning tree in words.
    pub method: String,
    /// How long its median instance took, ns.
    pub ran_ns: i64,
    /// How long the median instance is predicted to take, ns.
    pub predicted_ns: i64,
    /// The time of the run with what is predicted to be faster, by its time as it ran: the 5th percentile.
    pub run_p05: f64,
    /// The median of that.
    pub run_median: f64,
    /// The 95th percentile of that.
    pub run_p95: f64,
    /// The first collectives of the run, from which this follows.
    pub collectives: u64,
}
