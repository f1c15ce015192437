//! When processes were last inside of one instance together.

use std::collections::VecDeque;
use std::sync::Arc;

/// Instances of a communicator in which all depended on each other that are retained.
const KEPT_COMMON: usize = 16;
/// Other instances that are retained, at least and at most: as many as make up [`KEPT_CALLS`] calls.
const KEPT_PARTIAL: (usize, usize) = (4, 256);
/// Calls of those instances.
const KEPT_CALLS: usize = 512;

/// What is retained of the earlier instances of a communicator.
#[derive(Debug, Clone, Default)]
pub(crate) struct Synchronizations {
    /// The members, by slot; none before the first instance.
    pub(crate) members: Arc<[u32]>,
    /// When all were inside of the last instances that all depended on, ns.
    common: VecDeque<i64>,
    /// The last instances in which only some depended on each other.
    partial: VecDeque<Arc<Partial>>,
    /// Whether any was forgotten.
    has_forgotten: bool,
    /// The latest enter into any of them, ns.
    pub(crate) latest_ns: i64,
    /// Of the changes from communicator to communicator the last one to this.
    pub(crate) last_change: u64,
    /// Whether it is among the communicators on which each of its members was last.
    pub(crate) is_recent_to_all: bool,
}

/// An instance in which only some processes depend on each other.
#[derive(Debug)]
pub(crate) struct Partial {
    /// Its position among the instances of the communicator.
    pub(crate) position: u64,
    /// Of rooted operations the root's slot: other pairs depend on each other only where one waited for the other.
    pub(crate) root: Option<u32>,
    /// Those other pairs: the slot that waited, and the one that was waited for.
    pub(crate) others: Vec<(u32, u32)>,
    /// The last enter, ns.
    pub(crate) last_ns: i64,
    /// Enter and leave, by slot, ns; of a nonblocking one those of the completing call.
    pub(crate) inside: Vec<(i64, i64)>,
    /// By slot, when each went on with its own work, ns; empty if that is when it left.
    pub(crate) initiated_ns: Vec<i64>,
    /// By slot, when each initiated a nonblocking one, ns: until then those waited for it that did. Empty if it is blocking.
    pub(crate) enters_ns: Vec<i64>,
}

/// Since when two processes are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Since {
    /// This instant, ns.
    Instant(i64),
    /// There was no earlier instance.
    Startup,
    /// It was forgotten.
    Forgotten,
    /// The wait is below the error of the clocks.
    Unresolved,
}

impl Partial {
    /// When one of the processes in two slots initiated it, for which the other waited, ns.
    #[cold]
    fn initiated_together_ns(&self, slots: [usize; 2]) -> Option<i64> {
        let waits = self
            .others
            .iter()
            .map(|&(waited, on)| [waited, on].map(|slot| slot as usize));
        let mut between =
            waits.filter(|&[waited, on]| slots == [waited, on] || slots == [on, waited]);
        between.find_map(|[_, on]| self.enters_ns.get(on).copied())
    }

    /// When the process in a slot went on with its own work, ns.
    pub(crate) fn went_on_ns(&self, slot: usize) -> i64 {
        let initiated_ns = self.initiated_ns.get(slot).copied();
        initiated_ns.unwrap_or(self.inside[slot].1)
    }

    /// Whether the processes in two slots depended on each other.
    fn depend(&self, [a, b]: [usize; 2]) -> bool {
        let is_pair = |&(waited, on): &(u32, u32)| {
            let pair = (waited as usize, on as usize);
            pair == (a, b) || pair == (b, a)
        };
        self.root
            .is_none_or(|root| a == root as usize || b == root as usize)
            || self.others.iter().any(is_pair)
    }
}

impl Since {
    /// The later of two.
    pub(crate) fn later(self, other: Self) -> Self {
        match (self, other) {
            (Self::Instant(a), Self::Instant(b)) => Self::Instant(a.max(b)),
            (Self::Instant(at_ns), _) | (_, Self::Instant(at_ns)) => Self::Instant(at_ns),
            (Self::Forgotten, _) | (_, Self::Forgotten) => Self::Forgotten,
            _ => Self::Startup,
        }
    }
}

impl Synchronizations {
    /// When all were inside of the last instance that all depended on, ns.
    pub(crate) fn last_common_ns(&self) -> Option<i64> {
        self.common.back().copied()
    }

    /// The last instant no later than a time at which all were inside of an instance that all depended on,
    /// ns.
    pub(crate) fn last_common_before(&self, limit_ns: i64) -> Option<i64> {
        let mut latest = self.common.iter().rev();
        latest.find(|&&at_ns| at_ns <= limit_ns).copied()
    }

    /// Notes an instance in which all were inside at once at an instant, ns.
    pub(crate) fn note_common(&mut self, at_ns: i64) {
        self.common.push_back(at_ns);
        if self.common.len() > KEPT_COMMON {
            self.common.pop_front();
            self.has_forgotten = true;
        }
        self.latest_ns = self.latest_ns.max(at_ns);
    }

    /// Those instances in which only some depended on each other and into which the last process came after a
    /// time.
    pub(crate) fn partial_after(&self, at_ns: i64) -> impl Iterator<Item = &Partial> {
        let partial = self.partial.iter().map(Arc::as_ref);
        partial.filter(move |partial| partial.last_ns > at_ns)
    }

    /// The instance at a position, if only some depended on each other in it and it is retained; of a nonblocking one its
    /// completion, if that is retained.
    pub(crate) fn partial_at(&self, position: u64) -> Option<&Partial> {
        let partial = self.partial.iter().map(Arc::as_ref);
        let mut not_before = partial.rev().take_while(|of| of.position >= position);
        not_before.find(|of| of.position == position)
    }

    /// The last retained instance before a position in which the process in a slot was at an instant, ns.
    pub(crate) fn partial_of(&self, position: u64, slot: usize, at_ns: i64) -> Option<&Partial> {
        // Where all were together then, nobody is ahead.
        if self.common.back() == Some(&at_ns) {
            return None;
        }
        let mut before = self.partial.iter().map(Arc::as_ref).rev();
        before.find(|of| {
            let (enter_ns, leave_ns) = of.inside[slot];
            let begin_ns = of.enters_ns.get(slot).copied().unwrap_or(enter_ns);
            of.position < position && begin_ns <= at_ns && at_ns <= leave_ns
        })
    }

    /// Notes another instance.
    pub(crate) fn note_partial(&mut self, partial: Partial) {
        self.latest_ns = self.latest_ns.max(partial.last_ns);
        let (least, most) = KEPT_PARTIAL;
        let n_kept = (KEPT_CALLS / partial.inside.len().max(1)).clamp(least, most);
        self.partial.push_back(Arc::new(partial));
        if self.partial.len() > n_kept {
            self.partial.pop_front();
            self.has_forgotten = true;
        }
    }

    /// The last instant, no later than `limit_ns`, at which the processes in two slots were inside of an
    /// instance in which they depended on each other, or one of them waited until the other initiated it.
    pub(crate) fn last(&self, slots: [usize; 2], limit_ns: i64) -> Since {
        let common = self.common.iter().rev().find(|&&at_ns| at_ns <= limit_ns);
        let partial = self.partial.iter().rev().find_map(|partial| {
            let [a, b] = slots.map(|slot| partial.inside[slot]);
            let at_ns = a.0.max(b.0);
            if at_ns <= a.1.min(b.1) {
                (at_ns <= limit_ns && partial.depend(slots)).then_some(at_ns)
            } else if partial.enters_ns.is_empty() {
                None
            } else {
                let at_ns = partial.initiated_together_ns(slots);
                at_ns.filter(|&at_ns| at_ns <= limit_ns)
            }
        });
        match common.copied().max(partial) {
            Some(at_ns) => Since::Instant(at_ns),
            None if self.has_forgotten => Since::Forgotten,
            None => Since::Startup,
        }
    }

    /// Instants from which the process in a slot may be compared, ns, in any order.
    pub(crate) fn instants(&self, slot: usize) -> impl Iterator<Item = i64> + '_ {
        let partial = self.partial.iter().flat_map(move |partial| {
            let enter = |slot: u32| partial.inside[slot as usize].0;
            let others = partial.others.iter().copied().filter_map(move |(a, b)| {
                let other = match slot as u32 {
                    slot if slot == a => b,
                    slot if slot == b => a,
                    _ => return None,
                };
                Some(enter(other))
            });
            let root = partial.root.map(enter);
            others.chain(root).chain([enter(slot as u32)])
        });
        self.common.iter().copied().chain(partial)
    }
}
