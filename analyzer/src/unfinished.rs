//! Instances that someone was in when the trace ended.

use collbench_formats::{CompletingCall, Operation};

use crate::matching::{Instance, Lane};

/// An instance that someone was in when the trace ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfinished {
    /// What those inside called, each once.
    pub operations: Vec<Operation>,
    /// The calls in which those inside were completing it, each once; empty for blocking ones.
    pub completing: Vec<CompletingCall>,
    /// Index in [`Communicators::entries`](crate::Communicators::entries).
    pub entry: usize,
    /// Position among the calls on the communicator.
    pub sequence: u64,
    /// Whether the MPI library called on its own behalf.
    pub is_internal: bool,
    /// World ranks that were inside.
    pub inside: Vec<u32>,
    /// World ranks that had begun it, and were in no call of it.
    pub begun: Vec<u32>,
    /// World ranks that had left.
    pub left: Vec<u32>,
    /// World ranks with a file that never came.
    pub never_came: Vec<u32>,
    /// Processes of the communicator that there is no file of.
    pub n_unknown: u64,
}

impl Unfinished {
    /// What there is of an instance on a communicator of `size` processes.
    pub(crate) fn new(instance: &Instance<'_>, size: u64) -> Self {
        let mut unfinished = Self {
            operations: Vec::new(),
            completing: Vec::new(),
            entry: instance.communicator.entry,
            sequence: instance.position,
            is_internal: instance.lane == Lane::Internal,
            inside: Vec::new(),
            begun: Vec::new(),
            left: Vec::new(),
            never_came: Vec::new(),
            n_unknown: size.saturating_sub(instance.calls.len() as u64),
        };
        let members = instance.communicator.members.iter();
        for (slot, (call, member)) in instance.calls.iter().zip(members).enumerate() {
            match call {
                // It went on to newer calls.
                None if instance.lost.contains(&slot) => unfinished.left.push(member.world_rank),
                Some(call) if !call.is_under_way() => unfinished.left.push(member.world_rank),
                Some(call) => {
                    let completing = call.course.map(|course| course.completing);
                    match completing {
                        Some(None) => unfinished.begun.push(member.world_rank),
                        _ => unfinished.inside.push(member.world_rank),
                    }
                    if let Some(Some(completing)) = completing
                        && !unfinished.completing.contains(&completing.by)
                    {
                        unfinished.completing.push(completing.by);
                    }
                    if !unfinished.operations.contains(&call.operation) {
                        unfinished.operations.push(call.operation);
                    }
                }
                None => unfinished.never_came.push(member.world_rank),
            }
        }
        unfinished.operations.sort_unstable();
        unfinished.completing.sort_unstable();
        unfinished.inside.sort_unstable();
        unfinished.begun.sort_unstable();
        unfinished.left.sort_unstable();
        unfinished.never_came.sort_unstable();
        unfinished
    }
}
