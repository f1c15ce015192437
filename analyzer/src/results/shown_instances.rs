//! Single instances in detail, for the timeline.

use crate::sums::instances::instance_times::InstanceTimes;

/// The instances that are known in detail.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownInstances {
    /// Whether these are all complete instances of two or more calls.
    pub are_all: bool,
    /// By time.
    pub list: Vec<ShownInstance>,
}

/// One instance in detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownInstance {
    /// Index of its operation in [`Analysis::operations`](crate::Analysis::operations).
    pub operation: usize,
    /// Whether it is an outlier: it took much longer than others of its operation.
    pub is_outlier: bool,
    /// Its calls and messages.
    pub times: InstanceTimes,
}
