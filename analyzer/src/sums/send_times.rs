//! When the messages of nonblocking collectives were sent: in the calls of the collective, or
//! between them.
//!
//! A library begins each step of a collective once the step before is done. So messages that are
//! sent between the call that initiates a collective and the one that completes it show that it
//! went on meanwhile. That a message arrived cannot be seen so: the library looks for it without a
//! call that the recorder sees.

use collbench_stats::distribution::Distribution;
use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::messages::instance_messages::Messages;

/// When the messages of the instances of an operation were sent.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct SendTimes {
    /// By the initiating calls.
    pub initiating: u64,
    /// Between initiating and completing calls.
    pub between: u64,
    /// Of `between` those of processes that were in no call of MPI then.
    pub outside_mpi: u64,
    /// By the completing calls.
    pub completing: u64,
    /// The shortest time in an instance from when a process was in its completing call, and all had
    /// initiated the collective, to the first message that it sent there, ns; of instances whose
    /// processes have a common time.
    pub first_in_completion: Distribution,
    /// The longest completing call of these instances, from when all had initiated it, ns.
    pub longest_completion: Distribution,
}

impl SendTimes {
    /// Adds an instance; blocking ones have nothing to add.
    pub(crate) fn add(&mut self, instance: &CompleteInstance<'_>, messages: &Messages<'_>) {
        let Some(overlaps) = instance.overlaps else {
            return;
        };
        let mut first_ns: Option<i64> = None;
        for message in messages.paired {
            let slot = message.from as usize;
            let overlap = &overlaps[slot];
            let Some(completing) = overlap.completing else {
                continue;
            };
            let sent_ns = message.sent.ns();
            if sent_ns <= overlap.initiated.ns() {
                self.initiating += 1;
            } else if sent_ns < completing.enter.ns() {
                self.between += 1;
                let calls = (instance.time_in_mpi).and_then(|time_in_mpi| time_in_mpi.of(slot));
                let is_within = |&(enter, leave): &(i64, i64)| enter <= sent_ns && sent_ns <= leave;
                let is_outside = calls.is_some_and(|calls| !calls.iter().any(is_within));
                self.outside_mpi += u64::from(is_outside);
            } else {
                self.completing += 1;
                let behind = sent_ns.saturating_sub(released_ns(instance, slot));
                let behind = behind.max(0);
                first_ns = Some(first_ns.map_or(behind, |first| first.min(behind)));
            }
        }
        let has_one_time = instance.communicator.times.len() == 1;
        if let Some(first_ns) = first_ns.filter(|_| has_one_time) {
            self.first_in_completion.add(first_ns);
            let slots = 0..instance.n_calls();
            let of_calls = slots.map(|slot| {
                let released_ns = released_ns(instance, slot);
                instance.stamps(slot).1.saturating_sub(released_ns)
            });
            self.longest_completion
                .add(of_calls.max().unwrap_or(0).max(0));
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        self.initiating += other.initiating;
        self.between += other.between;
        self.outside_mpi += other.outside_mpi;
        self.completing += other.completing;
        self.first_in_completion.merge(&other.first_in_completion);
        self.longest_completion.merge(&other.longest_completion);
    }
}

/// From when on a process was in its completing call and all had initiated the collective, ns.
fn released_ns(instance: &CompleteInstance<'_>, slot: usize) -> i64 {
    let (waits_from, _) = instance.waits_from(slot);
    waits_from.max(instance.extent.last_enter)
}
