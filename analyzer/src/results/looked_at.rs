//! The part of a run that its figures are about.

use collbench_stats::integers::saturate;
use serde::{Deserialize, Serialize};

/// What the figures are about: the time that was asked for, as far as all ranks' calls of it were kept, and the ranks
/// that were asked for, as far as there is a file of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LookedAt {
    /// Its begin, ns since the start of the run.
    pub from_ns: i64,
    /// Its end, ns since the start of the run.
    pub to_ns: i64,
    /// Number of ranks.
    pub ranks: u32,
    /// The time of all threads of these ranks that call collectives, ns; `None` unless that is more than the time of the
    /// ranks, because several threads of a rank are in collectives at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<i64>,
}

impl LookedAt {
    /// From its begin to its end, ns.
    #[must_use]
    pub fn span_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns).max(0)
    }

    /// The time of all its ranks together, or of their threads, ns: what the time in calls is a part of.
    #[must_use]
    pub fn rank_ns(&self) -> i64 {
        if let Some(time_ns) = self.time_ns {
            return time_ns;
        }
        saturate(i128::from(self.span_ns()) * i128::from(self.ranks))
    }
}
