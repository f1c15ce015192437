//! The passes of values through event collectors in one instance.

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{PassedWays, Record};

use crate::calls::process::Process;

/// One pass of a value through an event collector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstancePass {
    /// The process that recorded it.
    pub slot: u32,
    /// The tree: an index in [`OwnTrees::list`](crate::communicators::spanning_trees::OwnTrees).
    pub tree: u32,
    /// Which event collector, numbered as in records.
    pub collector: u32,
    /// Which segment of the payload, from 0.
    pub segment: u32,
    /// When it passed towards the bottommost wrapper, ns.
    pub down: Option<i64>,
    /// When it passed on its way back, ns.
    pub up: Option<i64>,
    /// Whether it was recorded by a thread that makes no call of its own.
    pub is_of_thread: bool,
}

impl InstancePass {
    /// The pass in a record of a process; `None` if it is none, of a tree that is not known, or with
    /// impossible stamps.
    pub(crate) fn of(record: &Record, slot: usize, process: &Process<'_>) -> Option<Self> {
        let pass = record.collector_pass()?;
        let (enter, leave) = (record.enter.get(), record.leave.get());
        if leave < enter {
            return None;
        }
        let at = |ticks: u64| process.clock().global(Timestamp::from_ticks(ticks)).ns();
        Some(Self {
            slot: slot as u32,
            tree: process.tree_of_index(pass.tree)?,
            collector: pass.collector,
            segment: pass.segment,
            down: (pass.ways != PassedWays::Up).then(|| at(enter)),
            up: (pass.ways != PassedWays::Down).then(|| at(leave)),
            is_of_thread: false,
        })
    }

    /// The same, recorded by a thread that makes no call of its own.
    pub(crate) fn of_thread(self) -> Self {
        Self {
            is_of_thread: true,
            ..self
        }
    }
}
