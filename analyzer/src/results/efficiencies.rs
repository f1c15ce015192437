//! The efficiencies of POP: how much of the time of all ranks is useful.

use serde::{Deserialize, Serialize};

/// Efficiencies of a run, each from 0 to 1.
///
/// # Source
/// POP (Performance Optimisation and Productivity, a centre of excellence in HPC), "Standard
/// Metrics for Performance Analysis of Parallel Applications": parallel efficiency is load balance
/// times communication efficiency, which is serialization efficiency times transfer efficiency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Efficiencies {
    /// What counts as useful.
    pub useful: UsefulTime,
    /// Duration of the run, ns.
    pub runtime_ns: i64,
    /// Mean useful time of a rank, ns.
    pub mean_useful_ns: i64,
    /// Useful time of the rank that has most of it, ns.
    pub max_useful_ns: i64,
    /// World rank with the most useful time.
    pub max_rank: u32,
    /// Mean by maximum of the useful times; `None` where no rank has any.
    pub load_balance: Option<f64>,
    /// Maximum of the useful times by the duration of the run.
    pub communication: f64,
    /// Maximum of the useful times by the duration on a network on which messages take no time;
    /// `None` where that duration is not known.
    pub serialization: Option<f64>,
    /// Duration on a network on which messages take no time by the duration; `None` where that
    /// duration is not known.
    pub transfer: Option<f64>,
    /// Mean of the useful times by the duration of the run.
    pub parallel: f64,
}

/// What counts as useful time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum UsefulTime {
    /// Time outside all MPI calls.
    OutsideMpi,
    /// Time outside collectives: what ranks spend in point-to-point calls is not known.
    OutsideCollectives,
    /// One of a newer version: only in a document that was read.
    #[serde(other)]
    #[cfg_attr(feature = "schema", schemars(skip))]
    Newer,
}
