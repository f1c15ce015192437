//! Calls at one position that are not one collective, though MPI requires it.
//!
//! Calls belong together by position only, so a mismatch shows that the processes of a program
//! disagree: one is in a broadcast, another in a barrier. A mismatch that completed is as wrong as
//! one that hangs: it completed by luck.
//!
//! # Source
//! MPI 4.0, 6.1 (the same operations in the same order on all processes), 6.4 to 6.11 (the same
//! root; type signatures that fit), 6.12 (blocking and nonblocking collectives do not match).

use std::collections::BTreeMap;

use collbench_formats::{CommunicatorKind, Operation};
use collbench_stats::first_by_key::keep_lesser;
use serde::{Deserialize, Serialize};

use crate::calls::call::{Call, Candidate};
use crate::communicators::Communicator;
use crate::instances::complete::{CompleteInstance, PayloadSums};
use crate::sums::unfinished::stated_root;
use crate::trace::record_at::{CallOrder, OrderPosition};

/// Mismatches that are kept one by one, of each kind.
const MAX_KEPT: usize = 100;

/// In what calls differ that must not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum MismatchKind {
    /// In what was called.
    Operations,
    /// In whether the same operation was called blocking or nonblocking.
    Forms,
    /// In the root.
    Roots,
    /// In how much is sent or received.
    Sizes,
}

impl MismatchKind {
    /// Short and stable, for scripts.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Operations => "operations",
            Self::Forms => "blocking_and_nonblocking",
            Self::Roots => "roots",
            Self::Sizes => "sizes",
        }
    }
}

/// Calls at one position that differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Mismatch {
    /// In what.
    pub kind: MismatchKind,
    /// Index in [`Communicators::entries`](crate::communicators::Communicators::entries).
    pub entry: usize,
    /// Whether `sequence` is the number of a start of a persistent collective.
    pub is_persistent: bool,
    /// Position among the calls on the communicator.
    pub sequence: u64,
    /// Whether all processes entered and left.
    pub went_through: bool,
    /// What was called, and by whom.
    pub calls: Vec<MismatchedCall>,
    /// Indexes of the processes in the run.
    pub(crate) processes: Vec<usize>,
}

/// Calls that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct MismatchedCall {
    /// What was called.
    pub operation: Operation,
    /// World rank of the root that they name.
    pub root: Option<u32>,
    /// Their payload, bytes, where it is known.
    pub bytes: Option<u64>,
    /// World ranks, ascending.
    pub ranks: Vec<u32>,
}

/// How payloads of the processes of one instance must fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeRule {
    /// Everyone has the same.
    Same,
    /// The root sends as much to each as each receives.
    RootSendsAll,
    /// They may differ.
    Free,
}

/// In the v and w forms and in neighborhoods sizes are between two processes at a time, and of
/// one side only what is sent is known.
fn size_rule(operation: Operation) -> SizeRule {
    match operation.blocking() {
        Operation::Bcast
        | Operation::Gather
        | Operation::Allgather
        | Operation::Alltoall
        | Operation::Reduce
        | Operation::Allreduce
        | Operation::ReduceScatter
        | Operation::ReduceScatterBlock
        | Operation::Scan
        | Operation::Exscan => SizeRule::Same,
        Operation::Scatter => SizeRule::RootSendsAll,
        _ => SizeRule::Free,
    }
}

/// Whether the sizes of a complete instance of one collective contradict one another; `sums` are
/// those of its payloads.
pub(crate) fn has_sizes_apart(instance: &CompleteInstance<'_>, sums: &PayloadSums) -> bool {
    let Some((least, greatest)) = sums.range else {
        return false;
    };
    let rule = size_rule(instance.operation);
    let is_inter = instance.communicator.kind == CommunicatorKind::Inter;
    if rule == SizeRule::Free || is_inter || (rule == SizeRule::Same && least == greatest) {
        return false;
    }
    let payloads = (0..instance.n_calls()).map(|slot| Some((slot, instance.payloads.of(slot)?)));
    let n = instance.n_calls() as u64;
    are_apart(rule, instance.root, n, payloads.flatten())
}

/// Whether known payloads, each with its slot, contradict one another in a communicator of `n`.
fn are_apart(
    rule: SizeRule,
    root: Option<usize>,
    n: u64,
    payloads: impl Iterator<Item = (usize, u64)>,
) -> bool {
    let mut of_others = None;
    let mut of_root = None;
    for (slot, bytes) in payloads {
        if rule == SizeRule::RootSendsAll && Some(slot) == root {
            of_root = Some(bytes);
        } else if *of_others.get_or_insert(bytes) != bytes {
            return true;
        }
    }
    match (of_root, of_others) {
        (Some(root), Some(other)) => u128::from(root) != u128::from(other) * u128::from(n),
        _ => false,
    }
}

/// In what the calls of an instance differ, if they do; of an incomplete instance, in what the
/// calls made differ.
///
/// `has_other_roots` says that roots differ in a complete instance; `size` is that of the
/// communicator.
pub(crate) fn mismatch_of(
    instance: &Candidate<'_>,
    has_other_roots: bool,
    size: u64,
) -> Option<MismatchKind> {
    let calls = || instance.calls.iter().flatten().filter(|call| call.is_timed);
    let operation = calls().next()?.operation;
    if calls().any(|call| call.operation.blocking() != operation.blocking()) {
        return Some(MismatchKind::Operations);
    }
    if calls().any(|call| call.operation != operation) {
        return Some(MismatchKind::Forms);
    }
    let is_intra = instance.communicator.kind == CommunicatorKind::Intra;
    let is_rooted = operation.semantics().is_rooted();
    let mut roots = calls().map(|call| call.root);
    let root = roots.next()?;
    if is_rooted {
        // Between groups each names the root in its own way, and all are needed to tell. Within one, a
        // root that is none of its ranks may be the same for all: the library refuses that.
        let differ = if is_intra {
            roots.any(|other| other != root)
        } else {
            instance.is_complete() && has_other_roots
        };
        if differ {
            return Some(MismatchKind::Roots);
        }
    }
    let rule = size_rule(operation);
    if !is_intra || rule == SizeRule::Free {
        return None;
    }
    let members = &instance.communicator.members;
    let root = members
        .iter()
        .position(|member| i64::from(member.rank) == i64::from(root));
    let with_slots = instance.calls.iter().enumerate();
    let payloads = with_slots.filter_map(|(slot, call)| {
        let call = call.filter(|call| call.is_timed)?;
        Some((slot, call.payload?))
    });
    let root = root.filter(|_| is_rooted);
    are_apart(rule, root, size, payloads).then_some(MismatchKind::Sizes)
}

/// The mismatches of a run: the first of each kind, and how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mismatches {
    kept: BTreeMap<(MismatchKind, OrderPosition), Mismatch>,
    n: BTreeMap<MismatchKind, u64>,
}

impl Mismatches {
    /// Counts a mismatch at a position; `make` is called only if it is retained.
    pub(crate) fn add(
        &mut self,
        kind: MismatchKind,
        position: OrderPosition,
        make: impl FnOnce() -> Mismatch,
    ) {
        *self.n.entry(kind).or_default() += 1;
        let of_kind = self.kept.range(of_kind(kind));
        let is_full = of_kind.clone().count() >= MAX_KEPT;
        let last = of_kind.last().map(|((_, position), _)| *position);
        if !is_full || last.is_some_and(|last| position <= last) {
            keep_lesser(&mut self.kept, (kind, position), make());
            self.limit(kind);
        }
    }

    fn limit(&mut self, kind: MismatchKind) {
        let beyond = self.kept.range(of_kind(kind)).nth(MAX_KEPT);
        if let Some(position) = beyond.map(|(position, _)| *position) {
            self.kept.remove(&position);
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (kind, n) in other.n {
            *self.n.entry(kind).or_default() += n;
        }
        for (position, mismatch) in other.kept {
            keep_lesser(&mut self.kept, position, mismatch);
            self.limit(position.0);
        }
    }

    /// How many there are of a kind.
    #[must_use]
    pub fn n_of(&self, kind: MismatchKind) -> u64 {
        self.n.get(&kind).copied().unwrap_or(0)
    }

    /// Those that are kept, by kind and place.
    pub fn iter(&self) -> impl Iterator<Item = &Mismatch> {
        self.kept.values()
    }
}

fn of_kind(kind: MismatchKind) -> std::ops::RangeInclusive<(MismatchKind, OrderPosition)> {
    let last = (usize::MAX, CallOrder::Persistent(u32::MAX), u64::MAX);
    (kind, (0, CallOrder::Application, 0))..=(kind, last)
}

/// Calls of some slots, put together by what they have in common; by name, root and size.
pub(crate) fn alike_calls(
    communicator: &Communicator,
    kind: MismatchKind,
    calls: impl Iterator<Item = (usize, Call)>,
) -> Vec<MismatchedCall> {
    let mut alike: BTreeMap<_, MismatchedCall> = BTreeMap::new();
    for (slot, call) in calls {
        // Where more than the sizes differs, they only tell the calls apart.
        let bytes = call.payload.filter(|_| kind == MismatchKind::Sizes);
        let root = stated_root(communicator, slot, &call);
        let rank = communicator.members[slot].world_rank;
        let of = alike
            .entry((call.operation.name(), root, bytes))
            .or_insert_with(|| MismatchedCall {
                operation: call.operation,
                root,
                bytes,
                ranks: Vec::new(),
            });
        of.ranks.push(rank);
    }
    let mut calls: Vec<MismatchedCall> = alike.into_values().collect();
    for call in &mut calls {
        call.ranks.sort_unstable();
    }
    calls
}
