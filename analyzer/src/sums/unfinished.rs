//! Instances that someone was in when the trace ended.

use std::collections::BTreeMap;

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CommunicatorKind, CompletingCall, Operation, Semantics};
use collbench_stats::first_by_key::keep_lesser;
use serde::{Deserialize, Serialize};

use crate::calls::call::{Call, Candidate};
use crate::communicators::Communicator;
use crate::trace::record_at::CallOrder;

/// Instances that are kept of one order of calls: a Waitall may be for thousands.
const MAX_OF_ORDER: usize = 64;

/// A process that was in an instance, or had begun it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Waiter {
    /// Slot in the communicator.
    pub slot: usize,
    /// World rank.
    pub rank: u32,
    /// Index of the process in the run.
    pub process: usize,
    /// When it entered the call that it was in; of one in no call when it began the operation.
    pub since: Timestamp<Global>,
}

/// A process that there is no call of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Absent {
    /// Slot in the communicator.
    pub slot: usize,
    /// World rank.
    pub rank: u32,
    /// Index of the process in the run.
    pub process: usize,
    /// Whether later calls are known, so that its record is missing.
    pub is_lost: bool,
}

/// An instance that someone was in when the trace ended. Lists are by world rank.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unfinished {
    /// The operations of the calls under way, each once.
    pub operations: Vec<Operation>,
    /// The calls in which those inside were completing it, each once; empty for blocking ones.
    pub completing: Vec<CompletingCall>,
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    pub communicator: usize,
    /// Index in [`Communicators::entries`](crate::communicators::Communicators::entries).
    pub entry: usize,
    /// Which order of calls it belongs to.
    pub call_order: CallOrder,
    /// Position in that order.
    pub sequence: u64,
    /// World ranks of the roots that were named, each once.
    pub roots: Vec<u32>,
    /// Least and greatest known payload of the calls, bytes.
    pub bytes: Option<(u64, u64)>,
    /// Who was inside.
    pub inside: Vec<Waiter>,
    /// Who had initiated it, and was in no call of it.
    pub begun: Vec<Waiter>,
    /// World ranks that had left.
    pub left: Vec<u32>,
    /// Who has a file, and no call in it.
    pub absent: Vec<Absent>,
    /// Processes of the communicator whose files say nothing of it.
    pub n_unknown: u64,
}

/// World rank of the root that the call of a slot names, where the call alone determines it.
pub(crate) fn stated_root(communicator: &Communicator, slot: usize, call: &Call) -> Option<u32> {
    let members = &communicator.members;
    if !call.operation.semantics().is_rooted() {
        return None;
    }
    if call.root == collbench_formats::ROOT_IS_ME {
        return Some(members[slot].world_rank);
    }
    let group = match communicator.kind {
        CommunicatorKind::Intra => 0,
        CommunicatorKind::Inter => 1 - members[slot].group,
    };
    let rank = u32::try_from(call.root).ok()?;
    let found = members.binary_search_by_key(&(group, rank), |m| (m.group, m.rank));
    Some(members[found.ok()?].world_rank)
}

impl Unfinished {
    /// What there is of an instance on a communicator of `size` processes.
    pub(crate) fn new(instance: &Candidate<'_>, size: u64) -> Self {
        let communicator = instance.communicator;
        let mut this = Self {
            operations: Vec::new(),
            completing: Vec::new(),
            communicator: instance.communicator_index,
            entry: communicator.entry,
            call_order: instance.call_order,
            sequence: instance.position,
            roots: Vec::new(),
            bytes: None,
            inside: Vec::new(),
            begun: Vec::new(),
            left: Vec::new(),
            absent: Vec::new(),
            n_unknown: size.saturating_sub(instance.calls.len() as u64),
        };
        for (slot, member) in communicator.members.iter().enumerate() {
            let (rank, process) = (member.world_rank, member.process);
            match &instance.calls[slot] {
                Some(call) => this.add(communicator, slot, call),
                // It went on to newer calls.
                None if instance.lost.contains(&slot) => this.left.push(rank),
                None => this.absent.push(Absent {
                    slot,
                    rank,
                    process,
                    is_lost: instance.n_begun[slot] > instance.position,
                }),
            }
        }
        this.operations.sort_unstable();
        this.completing.sort_unstable();
        this.roots.sort_unstable();
        this.roots.dedup();
        this.inside.sort_unstable_by_key(|waiter| waiter.rank);
        this.begun.sort_unstable_by_key(|waiter| waiter.rank);
        this.left.sort_unstable();
        this.absent.sort_unstable_by_key(|absent| absent.rank);
        this
    }

    fn add(&mut self, communicator: &Communicator, slot: usize, call: &Call) {
        let member = &communicator.members[slot];
        let waiter = |since| Waiter {
            slot,
            rank: member.world_rank,
            process: member.process,
            since,
        };
        self.roots.extend(stated_root(communicator, slot, call));
        if let Some(bytes) = call.payload {
            let (least, greatest) = self.bytes.unwrap_or((bytes, bytes));
            self.bytes = Some((least.min(bytes), greatest.max(bytes)));
        }
        // Beside blocking calls a nonblocking one is known by its initiation only.
        let is_only_begun = call.operation.is_nonblocking() && call.overlap.is_none();
        if !call.is_under_way() && !is_only_begun {
            self.left.push(member.world_rank);
            return;
        }
        match call.overlap.map(|overlap| overlap.completing) {
            Some(Some(completing)) => {
                self.inside.push(waiter(completing.enter));
                if !self.completing.contains(&completing.by) {
                    self.completing.push(completing.by);
                }
            }
            Some(None) => self.begun.push(waiter(call.enter)),
            None if call.leave.is_some() => self.begun.push(waiter(call.enter)),
            None => self.inside.push(waiter(call.enter)),
        }
        if !self.operations.contains(&call.operation) {
            self.operations.push(call.operation);
        }
    }

    /// Which processes wait for which; `None` where they called different operations.
    pub(crate) fn semantics(&self) -> Option<Semantics> {
        match self.operations[..] {
            [operation] => Some(operation.semantics()),
            _ => None,
        }
    }
}

/// Position of an instance: communicator (in the list), call order and position, and for those of
/// several communicators of one process that are one in the list, when it began.
type Key = (usize, CallOrder, u64, Timestamp<Global>);

/// The unfinished instances of a run, the first of each order of calls.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllUnfinished {
    /// Those that someone was inside of.
    waited_in: BTreeMap<Key, Unfinished>,
    /// Those that were only begun.
    begun: BTreeMap<Key, Unfinished>,
    /// How many there are in all.
    pub n: u64,
}

impl AllUnfinished {
    pub(crate) fn add(&mut self, unfinished: Unfinished) {
        self.n += 1;
        let waiters = unfinished.inside.iter().chain(&unfinished.begun);
        let since = waiters.map(|waiter| waiter.since).min();
        let since = since.unwrap_or(Timestamp::from_ns(0));
        let place = (unfinished.communicator, unfinished.call_order);
        let key = (place.0, place.1, unfinished.sequence, since);
        let of = if unfinished.inside.is_empty() {
            &mut self.begun
        } else {
            &mut self.waited_in
        };
        keep_lesser(of, key, unfinished);
        limit(of, place);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.n += other.n;
        for (own, other) in [
            (&mut self.waited_in, other.waited_in),
            (&mut self.begun, other.begun),
        ] {
            for (key, unfinished) in other {
                keep_lesser(own, key, unfinished);
                limit(own, (key.0, key.1));
            }
        }
    }

    /// Those that are kept, first those that someone was inside of; by communicator, call order and
    /// position.
    pub fn iter(&self) -> impl Iterator<Item = &Unfinished> {
        self.waited_in.values().chain(self.begun.values())
    }
}

/// Keeps the first of a call order, whatever the order in which they come.
fn limit(kept: &mut BTreeMap<Key, Unfinished>, (communicator, call_order): (usize, CallOrder)) {
    let ends = (Timestamp::from_ns(i64::MIN), Timestamp::from_ns(i64::MAX));
    let of_order =
        (communicator, call_order, 0, ends.0)..=(communicator, call_order, u64::MAX, ends.1);
    let mut positions = kept.range(of_order).skip(MAX_OF_ORDER);
    if let Some(beyond) = positions.next().map(|(key, _)| *key) {
        kept.remove(&beyond);
    }
}
