//! How often something worth a remark was met.

use serde::{Deserialize, Serialize};

use crate::align::causality::CausalityCounts;
use crate::messages::instance_messages::MessageCounts;

/// How often something worth a remark was met.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Calls of the MPI library internally.
    pub internal_calls: u64,
    /// Calls on unknown communicators.
    pub unknown_communicator: u64,
    /// Calls that returned an error.
    pub failed: u64,
    /// Instances in which every process called and returned, some with an error.
    pub failed_instances: u64,
    /// Calls of unknown payload.
    pub payload_unknown: u64,
    /// Instances that are not complete.
    pub incomplete: u64,
    /// Instances of which rings have overwritten the calls of some processes.
    pub cut: u64,
    /// The calls of the others in those.
    pub calls_of_cut: u64,
    /// Instances with a core below zero.
    pub negative_core: u64,
    /// Those of them whose processes read one clock.
    pub negative_core_of_one_clock: u64,
    /// Stamps that contradict what must have come before what.
    pub causality: CausalityCounts,
    /// Instances without messages that were called in callbacks of `MPI_Finalize`.
    pub in_finalize: u64,
    /// Messages inside instances.
    pub messages: MessageCounts,
}

impl Counts {
    pub(crate) fn merge(&mut self, other: Self) {
        self.internal_calls += other.internal_calls;
        self.unknown_communicator += other.unknown_communicator;
        self.failed += other.failed;
        self.failed_instances += other.failed_instances;
        self.payload_unknown += other.payload_unknown;
        self.incomplete += other.incomplete;
        self.cut += other.cut;
        self.calls_of_cut += other.calls_of_cut;
        self.causality.merge(other.causality);
        self.negative_core += other.negative_core;
        self.negative_core_of_one_clock += other.negative_core_of_one_clock;
        self.in_finalize += other.in_finalize;
        self.messages.merge(other.messages);
    }
}
