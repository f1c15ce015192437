//! Constraints on clocks from a collective: nobody leaves it before those it depends on have
//! entered.
//!
//! Only what the MPI standard guarantees counts: all contribute something that all need (barrier,
//! allreduce, allgather, alltoall and reduce_scatter_block with the same payload above zero
//! everywhere), or the root's data reaches all (bcast, scatter), or all data the root (reduce,
//! gather). In the v and w forms some ranks may have nothing to wait for. Failed calls guarantee
//! nothing. On an intercommunicator the two groups wait for each other only.

use collbench_clocks::constraint::Origin;
use collbench_formats::{CommunicatorKind, Operation};
use serde::{Deserialize, Serialize};

use crate::instances::complete::CompleteInstance;
use crate::trace::record_at::CallOrder;

/// Who cannot leave before whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Causality {
    /// Nobody leaves before the last has entered.
    AllToAll,
    /// Nobody leaves before the root has entered: slot of the root.
    FromRoot(usize),
    /// The root does not leave before the last has entered: slot of the root.
    ToRoot(usize),
}

impl Causality {
    /// What the standard guarantees for an instance; `None`: nothing.
    #[inline]
    pub(crate) fn of(instance: &CompleteInstance<'_>) -> Option<Self> {
        let is_plain = instance.call_order != CallOrder::Internal
            && instance.communicator.kind == CommunicatorKind::Intra
            && instance.n_failed == 0
            && instance.n_calls() > 1;
        if !is_plain {
            return None;
        }
        let n = instance.n_calls();
        let has_payload = || (0..n).all(|slot| instance.payloads.of(slot).is_some_and(|b| b > 0));
        let all_send = if instance.payloads.is_same() {
            instance.payloads.of(0).is_some_and(|bytes| bytes > 0)
        } else {
            has_payload()
        };
        match instance.operation.blocking() {
            Operation::Barrier => Some(Self::AllToAll),
            Operation::Allreduce
            | Operation::Allgather
            | Operation::Alltoall
            | Operation::ReduceScatterBlock
                if all_send =>
            {
                Some(Self::AllToAll)
            }
            Operation::Bcast | Operation::Scatter if all_send => instance.root.map(Self::FromRoot),
            Operation::Reduce | Operation::Gather if all_send => instance.root.map(Self::ToRoot),
            _ => None,
        }
    }
}

/// The stamps of one host in an instance, ns on the time of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct OfHost {
    host: usize,
    last_enter: i64,
    first_leave: i64,
}

/// The stamps of an instance by host, with buffers that are reused.
#[derive(Debug, Clone, Default)]
pub(crate) struct ByHost {
    hosts: Vec<OfHost>,
    /// Host, whether it left too early before alignment, and after.
    violations: Vec<(usize, bool, bool)>,
}

impl ByHost {
    /// Looks at the stamps of an instance.
    fn look(&mut self, instance: &CompleteInstance<'_>) {
        let communicator = instance.communicator;
        self.hosts.clear();
        self.hosts.extend(communicator.hosts.iter().map(|slots| {
            let enters = slots.iter().map(|&slot| instance.enters[slot].ns());
            let leaves = slots.iter().map(|&slot| instance.leaves[slot].ns());
            OfHost {
                host: communicator.members[slots[0]].host,
                last_enter: enters.max().unwrap_or(i64::MIN),
                first_leave: leaves.min().unwrap_or(i64::MAX),
            }
        }));
    }

    /// Passes the constraints of an instance to `sink`: host and time of the earlier event, then
    /// host and time of the event that cannot precede it.
    pub(crate) fn constraints(
        &mut self,
        instance: &CompleteInstance<'_>,
        causality: Causality,
        sink: &mut dyn FnMut(Origin, (usize, i64), (usize, i64)),
    ) {
        self.look(instance);
        let host_of = |slot: usize| instance.communicator.members[slot].host;
        match causality {
            Causality::AllToAll => {
                for from in &self.hosts {
                    for to in self.hosts.iter().filter(|to| to.host != from.host) {
                        let entered = (from.host, from.last_enter);
                        sink(Origin::AllToAll, entered, (to.host, to.first_leave));
                    }
                }
            }
            Causality::FromRoot(root) => {
                let entered = (host_of(root), instance.enters[root].ns());
                for to in self.hosts.iter().filter(|to| to.host != entered.0) {
                    sink(Origin::FromRoot, entered, (to.host, to.first_leave));
                }
            }
            Causality::ToRoot(root) => {
                let left = (host_of(root), instance.leaves[root].ns());
                for from in self.hosts.iter().filter(|from| from.host != left.0) {
                    sink(Origin::ToRoot, (from.host, from.last_enter), left);
                }
            }
        }
    }

    /// Counts the violations in an instance, with aligned clocks and without; `before_ns(host,
    /// time)` is the time that the host's own clock showed.
    pub(crate) fn count(
        &mut self,
        instance: &CompleteInstance<'_>,
        before_ns: &dyn Fn(usize, i64) -> i64,
        counts: &mut CausalityCounts,
    ) {
        let Some(causality) = Causality::of(instance) else {
            return;
        };
        if let [_] = &instance.communicator.hosts[..] {
            let extent = &instance.extent;
            let is_violated = match causality {
                Causality::AllToAll => extent.first_leave < extent.last_enter,
                Causality::FromRoot(root) => extent.first_leave < instance.enters[root].ns(),
                Causality::ToRoot(root) => instance.leaves[root].ns() < extent.last_enter,
            };
            counts.add(is_violated, is_violated);
            return;
        }
        // Constraints come host by host of what comes first; each host that cannot leave yet counts
        // once.
        let mut violations = std::mem::take(&mut self.violations);
        violations.clear();
        self.constraints(
            instance,
            causality,
            &mut |_, (from, entered), (to, left)| {
                let before = before_ns(to, left) < before_ns(from, entered);
                let of_host = match violations.iter_mut().find(|(host, ..)| *host == to) {
                    Some(of_host) => of_host,
                    None => {
                        violations.push((to, false, false));
                        let last = violations.len() - 1;
                        &mut violations[last]
                    }
                };
                of_host.1 |= before;
                of_host.2 |= left < entered;
            },
        );
        for &(_, before, after) in &violations {
            counts.add(before, after);
        }
        self.violations = violations;
    }
}

/// How often hosts were checked for leaving a collective too early, and how often one did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CausalityCounts {
    /// Hosts in instances that were looked at.
    pub checked: u64,
    /// Of them those that left too early by the clocks as they were.
    pub before: u64,
    /// Those that leave too early by aligned clocks.
    pub after: u64,
}

impl CausalityCounts {
    fn add(&mut self, before: bool, after: bool) {
        self.checked += 1;
        self.before += u64::from(before);
        self.after += u64::from(after);
    }

    /// Adds those of another worker.
    pub(crate) fn merge(&mut self, other: Self) {
        self.checked += other.checked;
        self.before += other.before;
        self.after += other.after;
    }
}
