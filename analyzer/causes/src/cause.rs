//! What waits cost, by cause.

use std::collections::BTreeMap;

use crate::instance::Part;

/// What made others wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// A process had more of something than the median of its communicator.
    Late {
        /// Which.
        process: u32,
        /// Of what; `None`: of its own work.
        part: Option<Part>,
    },
    /// Processes of a communicator had more to do than others, but not more than the median.
    Imbalance {
        /// Number of the communicator.
        communicator: u32,
    },
    /// A process left an operation later than others.
    Operation(u64),
    /// Processes began at different times.
    Startup,
    /// The wait was below the error of the clocks.
    Unresolved,
    /// The cause was before what is known of the run, or is not retained any more.
    Unexplained,
}

/// What a cause costs, ns of waiting of all processes together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cost {
    /// Of those that waited for where it arose.
    pub direct_ns: i64,
    /// Of those that waited for others which had waited for it before.
    pub propagated_ns: i64,
}

impl Cost {
    /// Both together, ns.
    #[must_use]
    pub fn ns(&self) -> i64 {
        self.direct_ns.saturating_add(self.propagated_ns)
    }
}

/// The cost of each cause, by the operation in which it was waited.
pub type Costs = BTreeMap<(Cause, u64), Cost>;
