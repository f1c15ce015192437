//! How an instance came to its end: from the last leave back to the enter that all waited for.
//!
//! The way back goes from a process to its last receive, and from there to the sender, if the
//! receiver was waiting when that began to send; else it stays with the receiver, which was late
//! itself.
//!
//! # Source
//! The critical path of Böhme et al. (ICPP 2012), within one collective: wait states are left by
//! following the message that ended them.

use crate::agreed::Agreed;
use crate::inside::message::InstanceMessage;
use crate::inside::shape::Shape;

/// The way back of one instance; room that is used again.
#[derive(Debug, Default)]
pub(crate) struct CriticalPath {
    /// Slot at whose enter it begins.
    begin: usize,
    /// Edges that it goes over, ascending, and the time spent there, ns; once for each message.
    hops: Vec<(u32, i64)>,
    /// Slots that it goes through, ascending, and the time spent there, ns; once for each time.
    stays: Vec<(u32, i64)>,
    /// By slot: its receives, when they ended, ascending; and how many of them are still to come.
    receives: Vec<Receives>,
    /// Slots whose receives are in order.
    visited: Vec<usize>,
}

#[derive(Debug, Default)]
struct Receives {
    is_sorted: bool,
    /// End of the receive, begin of the send, message.
    list: Vec<(i64, i64, u32)>,
}

/// What is kept of the ways back of the instances of a graph.
#[derive(Debug, Default)]
pub struct CriticalTally {
    /// Instances.
    pub n: u64,
    /// Sum of their durations, ns.
    pub duration_ns: i128,
    /// By slot.
    pub begins: Vec<Begin>,
    /// By edge.
    pub hops: Vec<Hop>,
    /// By slot.
    pub stays: Vec<Stay>,
}

/// What is kept of a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Begin {
    /// Instances whose way begins there.
    pub n: u64,
    /// How much later than the first it had entered those, ns in all.
    pub late_ns: i128,
}

/// What is kept of an edge.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hop {
    /// Instances whose way goes over it.
    pub n: u64,
    /// The time it took them there, ns in all.
    pub total_ns: i128,
    /// Instances in which it took longer than any other hop of the way.
    pub n_longest: u64,
}

/// What is kept of the time that ways spend in a slot: from its enter, or from where it has a message,
/// to where it sends or posts the next, or to its leave.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stay {
    /// Instances whose way goes through it.
    pub n: u64,
    /// The time spent there, ns in all.
    pub total_ns: i128,
}

impl CriticalPath {
    /// Finds the way back of an instance whose processes have a common time.
    pub(crate) fn follow(
        &mut self,
        instance: &Agreed<'_>,
        paired: &[InstanceMessage],
        shape: &Shape,
    ) {
        let n = instance.n_calls();
        for slot in self.visited.drain(..) {
            self.receives[slot].is_sorted = false;
        }
        self.receives
            .resize_with(self.receives.len().max(n), Receives::default);
        self.hops.clear();
        self.stays.clear();
        let leaves = instance.leaves.iter().map(|leave| leave.ns());
        // Of several the first.
        let last = leaves
            .enumerate()
            .max_by_key(|&(slot, leave)| (leave, n - slot));
        let Some((mut slot, mut until)) = last else {
            return;
        };
        // Which end of the process the way leaves by: stamps of coarse clocks are often the same.
        let mut before = u32::MAX;
        loop {
            let receives = &mut self.receives[slot];
            if !receives.is_sorted {
                receives.is_sorted = true;
                self.visited.push(slot);
                receives.list.clear();
                let known = shape.receives[slot].iter().filter_map(|&number| {
                    let message = &paired[number as usize];
                    let received = message.received.filter(|_| !message.is_from_any)?;
                    Some((received.ns(), message.sent.ns(), number))
                });
                receives.list.extend(known);
                receives.list.sort_unstable();
            }
            // What came later than the way leaves here is of no concern, also not when it comes
            // back: it only goes back in time.
            let Some((received, sent, number)) = receives.list.pop() else {
                break;
            };
            let message = &paired[number as usize];
            if (received, message.nth_of_receiver) >= (until, before) {
                continue;
            }
            let posted = message.posted.ns();
            let spent = received.saturating_sub(sent.max(posted));
            self.hops.push((shape.edge_of[number as usize], spent));
            (self.stays).push((slot as u32, until.saturating_sub(received)));
            // Between clocks with an error it may have come before it was sent: it ended the wait all
            // the same.
            if sent >= posted {
                slot = message.from as usize;
                (until, before) = (sent, message.nth_of_sender);
            } else {
                (until, before) = (posted, message.nth_of_receiver);
            }
        }
        self.begin = slot;
        let (enter, _) = instance.stamps(slot);
        self.stays.push((slot as u32, until.saturating_sub(enter)));
        self.hops.sort_unstable();
        self.stays.sort_unstable();
    }
}

impl CriticalTally {
    /// Adds the way of an instance.
    pub(crate) fn add(&mut self, instance: &Agreed<'_>, path: &CriticalPath, n_edges: usize) {
        self.n += 1;
        let extent = &instance.extent;
        self.duration_ns += i128::from(extent.last_leave) - i128::from(extent.first_enter);
        self.begins.resize(instance.n_calls(), Begin::default());
        self.hops.resize(n_edges, Hop::default());
        let begin = &mut self.begins[path.begin];
        begin.n += 1;
        let (enter, _) = instance.stamps(path.begin);
        begin.late_ns += i128::from(enter) - i128::from(extent.first_enter);
        let mut longest = None;
        for of_edge in path.hops.chunk_by(|a, b| a.0 == b.0) {
            let edge = of_edge[0].0;
            let total: i128 = of_edge.iter().map(|&(_, ns)| i128::from(ns)).sum();
            let hop = &mut self.hops[edge as usize];
            hop.n += 1;
            hop.total_ns += total;
            longest = longest.max(Some((total, edge)));
        }
        if let Some((_, edge)) = longest {
            self.hops[edge as usize].n_longest += 1;
        }
        self.stays.resize(instance.n_calls(), Stay::default());
        for of_slot in path.stays.chunk_by(|a, b| a.0 == b.0) {
            let stay = &mut self.stays[of_slot[0].0 as usize];
            stay.n += 1;
            stay.total_ns += of_slot.iter().map(|&(_, ns)| i128::from(ns)).sum::<i128>();
        }
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n += other.n;
        self.duration_ns += other.duration_ns;
        let n = self.begins.len().max(other.begins.len());
        self.begins.resize(n, Begin::default());
        for (own, other) in self.begins.iter_mut().zip(&other.begins) {
            own.n += other.n;
            own.late_ns += other.late_ns;
        }
        let n = self.hops.len().max(other.hops.len());
        self.hops.resize(n, Hop::default());
        for (own, other) in self.hops.iter_mut().zip(&other.hops) {
            own.n += other.n;
            own.total_ns += other.total_ns;
            own.n_longest += other.n_longest;
        }
        let n = self.stays.len().max(other.stays.len());
        self.stays.resize(n, Stay::default());
        for (own, other) in self.stays.iter_mut().zip(&other.stays) {
            own.n += other.n;
            own.total_ns += other.total_ns;
        }
    }
}
