//! The queues of a communicator.

use crate::calls::queue::Queue;
use crate::trace::place::{LANES, Lane};

/// The queues of a communicator's lanes. There may be a million communicators, most of which were
/// freed.
#[derive(Default)]
pub(super) enum Queues {
    /// No call ever came.
    #[default]
    Unused,
    /// Nothing waits, on any lane.
    PutAway {
        /// Position of the next call of the application.
        next: u64,
        /// Whether it was made by a call of its own.
        is_created: bool,
    },
    InUse(Box<[Queue; 3]>),
}

impl Queues {
    pub(super) fn in_use(&mut self) -> &mut [Queue; 3] {
        if let Self::Unused | Self::PutAway { .. } = self {
            let mut queues: Box<[Queue; 3]> = Box::default();
            for lane in LANES {
                queues[lane.index()].next = self.next_on(lane);
            }
            *self = Self::InUse(queues);
        }
        match self {
            Self::InUse(queues) => queues,
            _ => unreachable!("made above"),
        }
    }

    /// That of the application, if it is in use.
    pub(super) fn application(&mut self) -> Option<&mut Queue> {
        match self {
            Self::InUse(queues) => Some(&mut queues[Lane::Application.index()]),
            _ => None,
        }
    }

    /// Position of the next call on a lane.
    pub(super) fn next_on(&self, lane: Lane) -> u64 {
        match self {
            Self::Unused => 0,
            Self::PutAway { next, is_created } => match lane {
                Lane::Application => *next,
                Lane::Internal => 0,
                Lane::Creation | Lane::Persistent(_) => u64::from(*is_created),
            },
            Self::InUse(queues) => queues[lane.index()].next,
        }
    }

    /// Keeps only the positions, where nothing waits.
    pub(super) fn put_away(&mut self) {
        let Self::InUse(queues) = self else { return };
        let is_idle = |queue: &Queue| queue.is_idle() && !queue.is_touched;
        let next = |lane: Lane| queues[lane.index()].next;
        if queues.iter().all(is_idle) && next(Lane::Internal) == 0 && next(Lane::Creation) <= 1 {
            *self = Self::PutAway {
                next: next(Lane::Application),
                is_created: next(Lane::Creation) == 1,
            };
        }
    }
}
