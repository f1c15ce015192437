//! What is retained of one process.

use std::collections::VecDeque;

use crate::cause::Cause;
use crate::instance::{Call, Part, PartOfProcess, Wait};
use crate::log::{Entry, Log};

/// Communicators of a process in which the last instance that it shares with another is looked for.
const MOST_RECENT: usize = 64;

/// What is retained of a process.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// What it did besides its own work; `None`: it waited.
    pub(crate) parts: Log<Option<Part>>,
    /// What it did besides, before calls that are not logged yet.
    pub(crate) besides: VecDeque<PartOfProcess>,
    /// Its waits, by cause.
    pub(crate) waits: Log<Cause>,
    /// The communicators on which it was last, the latest first, and its slots.
    pub(crate) recent: Vec<(u32, u32)>,
}

impl Process {
    /// Logs what it did besides.
    pub(crate) fn did(&mut self, of: &PartOfProcess) {
        let [from_ns, to_ns] = of.span_ns;
        self.parts.push(Entry {
            end_ns: to_ns,
            span_ns: to_ns.saturating_sub(from_ns),
            ns: of.ns,
            what: Some(of.part),
        });
    }

    /// Remembers that it was on a communicator.
    #[inline]
    pub(crate) fn was_on(&mut self, communicator: u32, slot: u32) {
        if self.recent.first() == Some(&(communicator, slot)) {
            return;
        }
        match self
            .recent
            .iter()
            .position(|&(other, _)| other == communicator)
        {
            Some(at) => self.recent[..=at].rotate_right(1),
            None => {
                self.recent.truncate(MOST_RECENT - 1);
                self.recent.insert(0, (communicator, slot));
            }
        }
    }
}

/// The time of a wait.
pub(crate) fn waiting_time(call: &Call, wait: Wait) -> Entry<()> {
    let (end_ns, span_ns) = match call.n_together {
        1 => (call.completion_ns.saturating_add(wait.ns), wait.ns),
        _ => (call.leave_ns, call.leave_ns - call.completion_ns),
    };
    Entry {
        end_ns,
        span_ns,
        ns: wait.ns,
        what: (),
    }
}

/// The time of a call without its wait: of its initiation, if it is nonblocking, and of its completion.
pub(crate) fn operation_time(call: &Call, wait_ns: i64) -> [Entry<()>; 2] {
    let initiation_ns = call.initiated_ns.saturating_sub(call.enter_ns);
    let completion_ns = call.leave_ns.saturating_sub(call.completion_ns);
    let own_ns = (completion_ns / i64::from(call.n_together.max(1))).saturating_sub(wait_ns);
    let span_ns = match call.n_together {
        1 => own_ns,
        _ => completion_ns,
    };
    [
        (call.initiated_ns, initiation_ns, initiation_ns),
        (call.leave_ns, span_ns, own_ns),
    ]
    .map(|(end_ns, span_ns, ns)| Entry {
        end_ns,
        span_ns,
        ns,
        what: (),
    })
}
