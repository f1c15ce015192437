//! What is attributed: instances with their waits.

use std::sync::Arc;

/// Time that a process spent on something else than own work, besides its calls of the collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartOfProcess {
    /// Which process.
    pub process: u32,
    /// On what.
    pub part: Part,
    /// The span within which it did so, ns.
    pub span_ns: [i64; 2],
    /// How much of the span, ns.
    pub ns: i64,
}

/// A span without collectives in which a process polled for messages again and again. What it did in between may be its
/// own work, or waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Polled {
    /// Which process.
    pub process: u32,
    /// The process of which it expected a message, where that is known.
    pub partner: Option<u32>,
    /// The span, ns.
    pub span_ns: [i64; 2],
    /// How much of the span was not in calls, ns.
    pub ns: i64,
}

/// A complete instance of a collective.
#[derive(Debug, Clone, Default)]
pub struct Instance {
    /// Number of its communicator. Instances of one communicator have the same members.
    pub communicator: u32,
    /// Its position among the instances of that communicator: of two waits that end at one time, the one
    /// on the lower communicator, at the lower position, is attributed first.
    pub position: u64,
    /// What identifies its operation.
    pub operation: u64,
    /// By which it is known where its waits are [charged](crate::Charged) one by one; 0: they are not.
    pub id: u64,
    /// The processes, by slot.
    pub members: Arc<[u32]>,
    /// Which of them depend on each other.
    pub dependence: Dependence,
    /// What each process did in it.
    pub calls: Calls,
    /// What else they did for it, between initiation and completion.
    pub parts: Vec<PartOfProcess>,
}

impl Instance {
    /// The slot of a process.
    pub(crate) fn slot_of(&self, process: u32) -> Option<usize> {
        let members = &self.members;
        // On the world mostly the same.
        match members.get(process as usize) {
            Some(&member) if member == process => Some(process as usize),
            _ => members.iter().position(|&member| member == process),
        }
    }
}

/// Which members of an instance depend on each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Dependence {
    /// Each on all: when the last has entered, all are inside.
    All,
    /// Some on others; any two that were inside at once are compared from then on.
    Pairs,
    /// The root on the others, or they on the root.
    Root(u32),
    /// None on any other.
    #[default]
    Nobody,
}

/// In place of the slot that was waited for: one of several of which none is compared with the others. The wait counts as
/// imbalance.
pub const UNCOMPARED: u32 = u32::MAX;

/// The calls of an instance, one of each member: columns by slot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// When each process entered, ns.
    pub enters_ns: Vec<i64>,
    /// When each process left, ns.
    pub leaves_ns: Vec<i64>,
    /// How long each process waited, ns; 0: it did not, or that is not known. Empty where nobody did.
    pub waits_ns: Vec<i64>,
    /// The slot whose process each one waited for, or [`UNCOMPARED`]; any number where it did not wait.
    pub releasers: Vec<u32>,
    /// Whether each wait is longer than the error of the clocks. Empty where all are.
    pub is_resolved: Vec<bool>,
    /// Whether each wait is part of the costs. Empty where all are.
    pub is_counted: Vec<bool>,
    /// How nonblocking calls were completed. Empty where all are blocking.
    pub completions: Vec<Completion>,
}

/// How a nonblocking call was completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// End of the initiation, ns.
    pub initiated_ns: i64,
    /// Begin of the call that completed it, ns.
    pub completion_ns: i64,
    /// How many operations that call completed, at least 1.
    pub n_together: u32,
}

impl Calls {
    /// How many calls there are.
    #[must_use]
    #[inline]
    pub fn len(&self) -> usize {
        self.enters_ns.len()
    }

    /// Whether there is no call.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.enters_ns.is_empty()
    }

    /// The first and the last enter and the last leave, ns.
    pub(crate) fn extent_ns(&self) -> [i64; 3] {
        let enters_ns = self.enters_ns.iter().copied();
        let first_ns = enters_ns.clone().min().unwrap_or(i64::MAX);
        let last_ns = enters_ns.max().unwrap_or(i64::MIN);
        [
            first_ns,
            last_ns,
            self.leaves_ns.iter().copied().max().unwrap_or(last_ns),
        ]
    }

    /// The slot of the process that all waits are for, and how many these are; `None` where they are for several, and where nobody
    /// waited.
    pub(crate) fn only_releaser(&self) -> Option<(u32, usize)> {
        let first = self.waits_ns.iter().position(|&ns| ns > 0)?;
        let on = self.releasers[first];
        let (mut n_waited, mut differ) = (0, 0);
        for (&ns, &other) in self.waits_ns.iter().zip(&self.releasers) {
            // The first bit of one of these numbers is set, but where ns > 0.
            let has_waited = ((!ns & ns.wrapping_neg()) as u64) >> 63;
            n_waited += has_waited;
            differ |= u64::from(on ^ other) & has_waited.wrapping_neg();
        }
        (differ == 0).then_some((on, n_waited as usize))
    }

    /// Removes all calls; the buffers are retained.
    pub(crate) fn clear(&mut self) {
        let Self {
            enters_ns,
            leaves_ns,
            waits_ns,
            releasers,
            is_resolved,
            is_counted,
            completions,
        } = self;
        enters_ns.clear();
        leaves_ns.clear();
        waits_ns.clear();
        releasers.clear();
        is_resolved.clear();
        is_counted.clear();
        completions.clear();
    }

    /// Whether all calls are blocking.
    #[must_use]
    #[inline]
    pub fn are_blocking(&self) -> bool {
        self.completions.is_empty()
    }

    /// The wait of the process in a slot, if it waited.
    #[must_use]
    #[inline]
    pub fn wait(&self, slot: usize) -> Option<Wait> {
        let ns = self.waits_ns.get(slot).copied().filter(|&ns| ns > 0)?;
        Some(Wait {
            ns,
            on: self.releasers[slot],
            is_resolved: self.is_resolved.get(slot).copied().unwrap_or(true),
            is_counted: self.is_counted.get(slot).copied().unwrap_or(true),
        })
    }

    /// Begin and end of the call that completed that of the process in a slot, ns, and how many operations it
    /// completed.
    #[inline]
    pub(crate) fn completion(&self, slot: usize) -> (i64, i64, u32) {
        let (begin_ns, n_together) = match self.completions.get(slot) {
            Some(completion) => (completion.completion_ns, completion.n_together),
            None => (self.enters_ns[slot], 1),
        };
        (begin_ns, self.leaves_ns[slot], n_together)
    }

    /// The call of the process in a slot.
    #[must_use]
    #[inline]
    pub fn call(&self, slot: usize) -> Call {
        let (enter_ns, leave_ns) = (self.enters_ns[slot], self.leaves_ns[slot]);
        let wait = self.wait(slot);
        let Some(&completion) = self.completions.get(slot) else {
            return Call::blocking(enter_ns, leave_ns, wait);
        };
        Call {
            enter_ns,
            initiated_ns: completion.initiated_ns,
            completion_ns: completion.completion_ns,
            leave_ns,
            n_together: completion.n_together,
            wait,
        }
    }

    /// The calls by slot.
    pub fn iter(&self) -> impl Iterator<Item = Call> + '_ {
        (0..self.len()).map(|slot| self.call(slot))
    }
}

impl FromIterator<Call> for Calls {
    fn from_iter<I: IntoIterator<Item = Call>>(calls: I) -> Self {
        let mut columns = Self::default();
        let mut are_blocking = true;
        for call in calls {
            columns.enters_ns.push(call.enter_ns);
            columns.leaves_ns.push(call.leave_ns);
            let wait = call.wait;
            columns.waits_ns.push(wait.map_or(0, |wait| wait.ns));
            columns.releasers.push(wait.map_or(0, |wait| wait.on));
            let holds = |of: fn(Wait) -> bool| wait.is_none_or(of);
            columns.is_resolved.push(holds(|wait| wait.is_resolved));
            columns.is_counted.push(holds(|wait| wait.is_counted));
            are_blocking &= call.is_blocking();
            columns.completions.push(Completion {
                initiated_ns: call.initiated_ns,
                completion_ns: call.completion_ns,
                n_together: call.n_together,
            });
        }
        if are_blocking {
            columns.completions.clear();
        }
        columns
    }
}

/// The call of one process in an instance, or the two calls of a nonblocking one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// When it entered, ns.
    pub enter_ns: i64,
    /// End of the initiation, ns; of a blocking call any time inside of it, the same as
    /// `completion_ns`.
    pub initiated_ns: i64,
    /// Begin of the call that completed it, ns.
    pub completion_ns: i64,
    /// When it left, ns.
    pub leave_ns: i64,
    /// How many operations the completing call completed: its time is divided by this. At least 1.
    pub n_together: u32,
    /// Its wait; `None` if it did not wait, or if that is not known.
    pub wait: Option<Wait>,
}

/// A wait for another process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// How long, ns, > 0; it begins with the completing call.
    pub ns: i64,
    /// Slot of the last process that it depended on.
    pub on: u32,
    /// Whether it is longer than the error of the clocks.
    pub is_resolved: bool,
    /// Whether it is part of the costs; otherwise it only explains later waits.
    pub is_counted: bool,
}

impl Call {
    /// A blocking call.
    #[must_use]
    pub fn blocking(enter_ns: i64, leave_ns: i64, wait: Option<Wait>) -> Self {
        Self {
            enter_ns,
            initiated_ns: enter_ns,
            completion_ns: enter_ns,
            leave_ns,
            n_together: 1,
            wait,
        }
    }

    /// Whether it is a blocking call.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.completion_ns == self.enter_ns && self.n_together == 1
    }
}

/// What a process does besides its own work, and besides waiting in collectives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// Time in an operation, without waits.
    Operation(u64),
    /// Point-to-point communication, with the partner of the longest call where it is known.
    PointToPoint(Option<u32>),
    /// Input and output of files.
    Io,
    /// One-sided communication.
    Rma,
    /// The recorder.
    Recorder,
    /// Being started, until `MPI_Init` returned, since it returned for the first time to any process.
    Launch,
}

impl Part {
    /// Whether it is communication with a partner, known or not.
    #[inline]
    pub(crate) fn has_partner(self) -> bool {
        matches!(self, Self::PointToPoint(_))
    }
}
