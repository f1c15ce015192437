//! Calls for which a tree file had several candidates, of which the program has found the best.

use serde::{Deserialize, Serialize};

use crate::results::code::Code;

/// Calls of one operation on a communicator, of similar payload, with several candidates.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdaptationSummary {
    /// Index of the communicator.
    pub communicator: usize,
    /// The operation.
    pub operation: Code,
    /// Least payload of a rank, bytes.
    pub bytes_min: u64,
    /// Greatest payload of a rank, bytes.
    pub bytes_max: u64,
    /// The root, of operations that have one.
    pub root: Option<u32>,
    /// Calls of each rank up to the last control point.
    pub calls: u64,
    /// The candidate in use in the end, by its position.
    pub in_use: usize,
    /// How often the candidate in use has changed.
    pub switches: u64,
    /// Time over all ranks that calls of candidates that were tried took longer than those of the one in use, without
    /// the first calls of each; ns.
    pub cost_ns: i64,
    /// Time over all ranks that the first calls of each candidate took longer than those of the best one, ns.
    pub first_cost_ns: i64,
    /// What trying might have cost, ns.
    pub allowed_ns: i64,
    /// The candidates as they were in the end.
    pub candidates: Vec<AdaptedCandidate>,
    /// Control points in order of time; of thousands the first ones.
    pub points: Vec<ControlPointSummary>,
}

/// A candidate.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AdaptedCandidate {
    /// Where it stands in the tree file, or the MPI library.
    pub name: Code,
    /// What was thought of it in the end.
    pub standing: Code,
    /// Calls that it has executed.
    pub calls: u64,
    /// Time in a call when it was measured last, the mean over the ranks, ns.
    pub call_ns: Option<i64>,
    /// How much longer its calls take than those of the one in use, as a share; less than 0 if it is faster.
    pub longer: Option<GainSummary>,
}

/// A share with its interval of 99.8 %.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GainSummary {
    /// The estimate.
    pub estimate: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
}

/// A control point.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ControlPointSummary {
    /// When, ns since the start of the run.
    pub at_ns: i64,
    /// Calls of each rank before it.
    pub calls: u64,
    /// The candidate in use from here on, by its position.
    pub in_use: usize,
    /// The one that was in use before.
    pub before: usize,
    /// Why, in one word.
    pub reason: Code,
    /// Of each candidate the time in a call since the last control point, the mean over the ranks, ns; `None` if it had no
    /// calls.
    pub call_ns: Vec<Option<i64>>,
}
