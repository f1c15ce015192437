//! Timeline of single instances: when each rank was in its calls, for how long it waited there, and what messages
//! went between the ranks.
//!
//! Ranks are rows, time runs to the right. The waiting part of a call is low and pale, the rest is high and dark, so
//! that the two differ in black and white, too. Up to 256 ranks have rows of their own. Of more, those on the critical
//! path and at the deciles of arrival have one, in order of arrival, so that their begins are the distribution of all;
//! below, each rank is a thin line, whose tooltip is that of its band: a host that is late is seen there at a glance.

mod draw;
mod rows;

pub(crate) use draw::page_style;

use crate::Text;
use crate::heat_map::band::RankOnHost;

/// One call on a timeline. Times in ns since the start of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineCall {
    /// World rank.
    pub rank: u32,
    /// Its enter; of a nonblocking call, that of the initiation.
    pub enter_ns: i64,
    /// Its leave; of a nonblocking call, that of the call that completed it.
    pub leave_ns: i64,
    /// How long it waited, from its enter on or, of a nonblocking call, from the enter of the call that completed it;
    /// `None` if that is not known.
    pub wait_ns: Option<i64>,
    /// World rank whose arrival ended the wait.
    pub released_by: Option<u32>,
    /// Of a nonblocking call: when the initiation returned, and the enter of the call that completed it.
    pub completion_ns: Option<(i64, i64)>,
}

/// One message on a timeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimelineMessage {
    /// World rank of the sender.
    pub from: u32,
    /// World rank of the receiver.
    pub to: u32,
    /// Bytes sent.
    pub bytes: u64,
    /// When it was sent, ns since the start of the run.
    pub sent_ns: i64,
    /// When its receiver was ready for it.
    pub posted_ns: i64,
    /// When it was received.
    pub received_ns: i64,
}

impl TimelineMessage {
    /// From when both ends were ready until it was received, ns.
    pub(crate) fn transfer_ns(&self) -> i64 {
        let ready_ns = self.sent_ns.max(self.posted_ns);
        self.received_ns.saturating_sub(ready_ns)
    }
}

/// One instance on a timeline.
#[derive(Debug, Clone, Default)]
pub struct TimelineInstance {
    /// What it is: `MPI_Allreduce (call 7)`.
    pub name: Text,
    /// Whether the picture is about others, and this one only happened at the same time.
    pub is_beside: bool,
    /// World rank that arrived last, and how long after the one before it, ns.
    pub last: Option<(u32, i64)>,
    /// Whether that this one is late is a cause of waiting in the run.
    pub is_late: bool,
    /// World ranks on its critical path, those first in which it stays longest; empty where it is not known.
    pub on_path: Vec<u32>,
    /// Its calls.
    pub calls: Vec<TimelineCall>,
    /// Messages among them.
    pub messages: Vec<TimelineMessage>,
}

/// A stretch of the run with some instances.
#[derive(Debug, Clone)]
pub struct InstanceTimeline {
    finding: Text,
    subtitle: Text,
    /// Begin and end of the stretch, ns since the start of the run.
    stretch_ns: (i64, i64),
    /// What is 0 on the axis, ns since the start of the run, and its name.
    origin: (i64, Text),
    /// By rank.
    ranks: Vec<RankOnHost>,
    instances: Vec<TimelineInstance>,
    max_arrows: usize,
    /// The part of the stretch that a message must take to have an arrow.
    shortest_arrow: f64,
}

/// Most arrows by default; of more messages those that took longest.
const MAX_ARROWS: usize = 256;

impl InstanceTimeline {
    /// A timeline from one time to another, ns since the start of the run, without ranks yet. `origin` is the time
    /// that is 0 on the axis, and its name: `the first enter`.
    pub fn new(
        finding: Text,
        subtitle: Text,
        stretch_ns: (i64, i64),
        origin: (i64, Text),
    ) -> InstanceTimeline {
        let (begin_ns, end_ns) = stretch_ns;
        InstanceTimeline {
            finding,
            subtitle,
            stretch_ns: (begin_ns, end_ns.max(begin_ns.saturating_add(1))),
            origin,
            ranks: Vec::new(),
            instances: Vec::new(),
            max_arrows: MAX_ARROWS,
            shortest_arrow: f64::NEG_INFINITY,
        }
    }

    /// This timeline with so many arrows at most, of the messages that took longest.
    #[must_use]
    pub fn with_arrows(self, max_arrows: usize) -> InstanceTimeline {
        InstanceTimeline { max_arrows, ..self }
    }

    /// This timeline with arrows only of messages that take so large a part of the stretch: shorter ones would be upright
    /// lines that hide the calls.
    #[must_use]
    pub fn with_shortest_arrow(self, part: f64) -> InstanceTimeline {
        InstanceTimeline {
            shortest_arrow: part,
            ..self
        }
    }

    /// Adds a rank, which has a row.
    pub fn push_rank(&mut self, rank: u32, host: Text) {
        let at = self.ranks.partition_point(|other| other.rank < rank);
        self.ranks.insert(at, RankOnHost { rank, host });
    }

    /// Adds an instance. Its calls of ranks without a row are not shown.
    pub fn push(&mut self, instance: TimelineInstance) {
        self.instances.push(instance);
    }

    /// Index of a rank.
    fn index_of(&self, rank: u32) -> Option<usize> {
        let found = self.ranks.binary_search_by_key(&rank, |known| known.rank);
        found.ok()
    }
}
