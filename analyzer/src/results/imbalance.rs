//! Who is late, and whom the others wait for.

use serde::{Deserialize, Serialize};

use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::results::over_time::{ChangeSummary, Culprit, LatenessSectionSummary};

/// Who is late.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ImbalanceSummary {
    /// Id of the communicator.
    pub communicator: usize,
    /// Name of the operation.
    pub operation: Code,
    /// The path of largest weights: communicator, host, rank.
    pub path: Vec<String>,
    /// The rank or host, if any stands out.
    pub culprit: Option<Culprit>,
    /// Share of the resolved instances in which the culprit (without one, the end of the path)
    /// arrived last, 0 to 1.
    pub share: Option<f64>,
    /// Waits that its arrival ended, ns; `None` without resolved instances.
    pub wait_caused_ns: Option<i64>,
    /// Sum of its enter minus the enter before it, over the instances in which it arrived last, ns;
    /// `None` without resolved instances.
    pub excess_ns: Option<i64>,
    /// The rank whose arrival ended the most waiting, however often it arrived last; `None` where
    /// nobody waited.
    #[serde(rename = "dearest")]
    pub most_waited_for: Option<MostWaitedFor>,
    /// How often the last to arrive was on each host, in the order of the clocks.
    #[serde(default)]
    pub hosts: Detail<Vec<HostLateness>>,
    /// Waits that somebody's arrival ended, ns, in resolved instances.
    #[serde(default)]
    pub all_waits_caused_ns: i64,
    /// Complete instances.
    pub instances: u64,
    /// Those of which it is known who arrived last.
    #[serde(default)]
    pub resolved: u64,
    /// Who arrived last, section by section of the run; those with instances.
    #[serde(default)]
    pub sections: Detail<Vec<LatenessSectionSummary>>,
    /// How that changed; `None` where no change is beyond chance.
    pub change: Option<ChangeSummary>,
}

/// How often the last to arrive was on one host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostLateness {
    /// The host.
    pub host: String,
    /// Processes of the communicator on it.
    pub ranks: u64,
    /// Resolved instances that one of them arrived last to.
    pub last: u64,
    /// Waits that their arrival ended, ns.
    pub wait_caused_ns: i64,
    /// How often each of its processes arrived last, for pictures.
    #[serde(skip)]
    pub members: Vec<RankLateness>,
}

/// How often one rank arrived last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankLateness {
    /// World rank.
    pub rank: u32,
    /// Resolved instances that it arrived last to.
    pub last: u64,
    /// Waits that its arrival ended, ns.
    pub wait_caused_ns: i64,
}

/// The rank that caused the most waiting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MostWaitedFor {
    /// World rank.
    pub rank: u32,
    /// Resolved instances that it arrived last to.
    pub last: u64,
    /// Waits that its arrival ended, ns.
    pub wait_caused_ns: i64,
}
