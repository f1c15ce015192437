//! A complete instance of one collective: one operation, and one root if it has one.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{
    CommunicatorKind, FENCE_NO_PRECEDE, Operation, ROOT_IS_ME, ROOT_OTHER_OF_MY_GROUP, Semantics,
};

use crate::calls::call::{Call, Candidate};
use crate::calls::outstanding::OverlapTimes;
use crate::calls::time_in_mpi::TimeInMpi;
use crate::communicators::Communicator;
use crate::messages::instance_messages::Messages;
use crate::messages::passes::InstancePass;
use crate::trace::algorithm_names::AlgorithmNames;
use crate::trace::call_sites::NO_SITE;
use crate::trace::record_at::CallOrder;

/// A complete instance whose calls agree on what they are. Lists are by slot of the communicator.
#[derive(Debug, Clone, Copy)]
pub struct CompleteInstance<'m> {
    /// The processes.
    pub communicator: &'m Communicator,
    /// Index of that in [`Communicators::list`](crate::communicators::Communicators::list).
    pub communicator_index: usize,
    /// Which order of calls it belongs to.
    pub call_order: CallOrder,
    /// Position in that order, from 0.
    pub position: u64,
    /// For creations: index of the communicator called on, by any member.
    pub called_on: Option<usize>,
    /// What was called.
    pub operation: Operation,
    /// Slot of the root, for operations that have one.
    pub root: Option<usize>,
    /// When each process entered.
    pub enters: &'m [Timestamp<Global>],
    /// When each process left.
    pub leaves: &'m [Timestamp<Global>],
    /// What each process sends (see the module).
    pub payloads: Payloads<'m>,
    /// Times from initiation to completion, of nonblocking and persistent operations.
    pub overlaps: Option<&'m [OverlapTimes]>,
    /// When its processes were in MPI meanwhile, where messages were recorded.
    pub time_in_mpi: Option<&'m TimeInMpi>,
    /// Level of the phase in which all calls were made; `None`: not one.
    pub phase: Option<i32>,
    /// By slot the number of the place in the program from which the call was made, or
    /// [`NO_SITE`](crate::trace::call_sites::NO_SITE); empty where none is known.
    pub sites: &'m [u32],
    /// By slot the number of the thread that made the call among those of its process; empty where each is 0.
    pub threads: &'m [u32],
    /// How many of the calls returned an error code.
    pub n_failed: u64,
    /// Whether it is a fence with the assertion that it ends no epoch: then nobody has to wait in
    /// it.
    pub is_open_fence: bool,
    /// First and last of `enters` and `leaves`.
    pub extent: Extent,
    /// When processes had begun other calls before they made some of these, ns, if these say that they are older: only in a
    /// damaged trace.
    pub not_before_ns: Option<i64>,
    /// Names of the algorithms that the library reported for its calls.
    pub reported: Option<AlgorithmNames>,
    /// The messages that the library sent for it; `None` where messages were not recorded.
    pub messages: Option<Messages<'m>>,
    /// The passes of event collectors in its calls.
    pub passes: &'m [InstancePass],
}

/// When the first and the last process of an instance entered, and left, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The first enter.
    pub first_enter: i64,
    /// The last enter.
    pub last_enter: i64,
    /// The first leave.
    pub first_leave: i64,
    /// The last leave.
    pub last_leave: i64,
}

impl Extent {
    /// The extent of calls with these stamps; empty for none.
    #[must_use]
    pub fn of(stamps: impl Iterator<Item = (i64, i64)>) -> Self {
        let mut extent = Self {
            first_enter: i64::MAX,
            last_enter: i64::MIN,
            first_leave: i64::MAX,
            last_leave: i64::MIN,
        };
        for (enter, leave) in stamps {
            extent.first_enter = extent.first_enter.min(enter);
            extent.last_enter = extent.last_enter.max(enter);
            extent.first_leave = extent.first_leave.min(leave);
            extent.last_leave = extent.last_leave.max(leave);
        }
        extent
    }

    /// The extent of all calls of an instance.
    pub(crate) fn of_all(enters: &[Timestamp<Global>], leaves: &[Timestamp<Global>]) -> Self {
        let stamps = enters.iter().zip(leaves);
        Self::of(stamps.map(|(enter, leave)| (enter.ns(), leave.ns())))
    }
}

/// Payloads of the calls of an instance, bytes; `None` where the recorder could not determine it.
#[derive(Debug, Clone, Copy)]
pub enum Payloads<'m> {
    /// One for all.
    Same(Option<u64>),
    /// By slot.
    Each(&'m [Option<u64>]),
}

impl Payloads<'_> {
    /// Whether all payloads are stored as one.
    #[must_use]
    pub fn is_same(&self) -> bool {
        matches!(self, Self::Same(_))
    }

    /// Payload of a slot.
    #[must_use]
    #[inline]
    pub fn of(&self, slot: usize) -> Option<u64> {
        match self {
            Self::Same(payload) => *payload,
            Self::Each(payloads) => payloads[slot],
        }
    }

    /// The payloads of `n` slots, together.
    pub(crate) fn sums(&self, n: usize) -> PayloadSums {
        let mut sums = PayloadSums::default();
        match self {
            Self::Same(payload) => sums.add(*payload, n as u64),
            Self::Each(payloads) => payloads.iter().for_each(|payload| sums.add(*payload, 1)),
        }
        sums
    }

    /// Least and greatest known payload of some slots.
    pub(crate) fn range_of(&self, slots: &[usize]) -> Option<(u64, u64)> {
        let mut sums = PayloadSums::default();
        slots.iter().for_each(|&slot| sums.add(self.of(slot), 1));
        sums.range
    }

    /// Whether nobody sends anything.
    #[must_use]
    pub fn are_zero(&self) -> bool {
        match self {
            Self::Same(payload) => *payload == Some(0),
            Self::Each(payloads) => payloads.iter().all(|payload| *payload == Some(0)),
        }
    }
}

/// Sums over the payloads of an instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PayloadSums {
    /// Sum of those that are known, bytes; stops at the largest.
    pub(crate) n_bytes: u64,
    /// Least and greatest of them.
    pub(crate) range: Option<(u64, u64)>,
    /// Calls of unknown payload.
    pub(crate) n_unknown: u64,
}

impl PayloadSums {
    fn add(&mut self, payload: Option<u64>, n: u64) {
        let Some(bytes) = payload else {
            self.n_unknown += n;
            return;
        };
        self.n_bytes = self.n_bytes.saturating_add(bytes.saturating_mul(n));
        let (least, greatest) = self.range.unwrap_or((bytes, bytes));
        self.range = Some((least.min(bytes), greatest.max(bytes)));
    }
}

impl CompleteInstance<'_> {
    /// Number of the place from which the process in a slot called, else of the first known one; `None`
    /// where none is known.
    pub fn site_of(&self, slot: Option<usize>) -> Option<u32> {
        let of_slot = slot.and_then(|slot| self.sites.get(slot));
        let mut all = of_slot.into_iter().chain(self.sites);
        all.find(|site| **site != NO_SITE).copied()
    }

    /// The spanning tree of our own that it ran on, as its event collectors show it: a number for
    /// [`Communicators::own_tree`](crate::communicators::Communicators::own_tree). `None` where none
    /// recorded a pass.
    #[must_use]
    pub fn own_tree(&self) -> Option<u32> {
        let tree = self.passes.first()?.tree;
        let is_one = self.passes.iter().all(|pass| pass.tree == tree);
        is_one.then_some(tree)
    }

    /// Which processes depend on which.
    #[must_use]
    #[inline]
    pub fn semantics(&self) -> Semantics {
        if self.is_open_fence {
            Semantics::Unspecified
        } else {
            self.operation.semantics()
        }
    }

    /// Number of calls.
    #[must_use]
    #[inline]
    pub fn n_calls(&self) -> usize {
        self.enters.len()
    }

    /// When the wait of a slot can begin, ns, and among how many operations it is shared, > 0: its
    /// enter, or that of the call that completed it.
    #[must_use]
    #[inline]
    pub fn waits_from(&self, slot: usize) -> (i64, i64) {
        let completing = self.overlaps.and_then(|overlaps| overlaps[slot].completing);
        match completing {
            Some(call) => (call.enter.ns(), i64::from(call.n_together)),
            None => (self.enters[slot].ns(), 1),
        }
    }

    /// Enter and leave of a slot, ns.
    #[must_use]
    #[inline]
    pub fn stamps(&self, slot: usize) -> (i64, i64) {
        (self.enters[slot].ns(), self.leaves[slot].ns())
    }
}

/// Whether a call of an operation has an assertion by which nobody need wait; `root` as its
/// record has it.
#[inline]
pub(crate) fn is_open_fence(operation: Operation, root: i32) -> bool {
    operation == Operation::WinFence && root == FENCE_NO_PRECEDE
}

/// Why calls at one position are not one instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disagreement {
    /// They are not of one operation.
    Operations,
    /// They do not name one root.
    Roots,
}

/// Operation of the calls of an instance, and slot of its root if it has one.
///
/// # Errors
/// [`Disagreement`] if they are not of one operation with one root.
pub(crate) fn agree(instance: &Candidate<'_>) -> Result<(Operation, Option<usize>), Disagreement> {
    let mut calls = instance.calls.iter().flatten();
    let Some(first) = calls.next() else {
        return Err(Disagreement::Operations);
    };
    let operation = first.operation;
    if calls.any(|call| call.operation != operation) {
        return Err(Disagreement::Operations);
    }
    let root = if operation.semantics().is_rooted() {
        let root = root_slot(instance.communicator, instance.calls);
        Some(root.ok_or(Disagreement::Roots)?)
    } else {
        None
    };
    Ok((operation, root))
}

/// The slot that all calls name as the root; `None` if they name different ones, or none.
fn root_slot(communicator: &Communicator, calls: &[Option<Call>]) -> Option<usize> {
    let slot_of = |group: u8, rank: i32| {
        let rank = u32::try_from(rank).ok()?;
        communicator
            .members
            .binary_search_by_key(&(group, rank), |m| (m.group, m.rank))
            .ok()
    };
    let roots = calls.iter().map(|call| call.map(|call| call.root));
    if communicator.kind == CommunicatorKind::Intra {
        let root = (*calls.first()?)?.root;
        if roots.flatten().any(|other| other != root) {
            return None;
        }
        return slot_of(0, root);
    }
    let root = calls
        .iter()
        .position(|call| call.is_some_and(|call| call.root == ROOT_IS_ME))?;
    let root_member = communicator.members[root];
    let agree = roots
        .zip(&communicator.members)
        .enumerate()
        .all(|(slot, (named, member))| match named {
            _ if slot == root => true,
            None => true,
            Some(named) if member.group == root_member.group => named == ROOT_OTHER_OF_MY_GROUP,
            Some(named) => u32::try_from(named) == Ok(root_member.rank),
        });
    agree.then_some(root)
}
