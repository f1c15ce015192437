//! The shape of an instance: who sent to whom, and in which order.
//!
//! Instances of one collective mostly have one shape, message by message. So what is to be known
//! of a shape is found once; an instance is then compared with it.

use std::ops::Range;

use collbench_formats::Operation;

use crate::algorithm::Algorithm;
use crate::exchanges::Sent;
use crate::recognize::{Direction, Places, Recognized, recognize};
use crate::roles::{Roles, Way};

/// What a shape is the shape of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Of {
    /// What was called.
    pub operation: Operation,
    /// Of how many processes.
    pub n_slots: usize,
    /// The root, for operations that have one.
    pub root: Option<usize>,
    /// Which slots are on which hosts, as the host map of the communicator
    /// has it.
    pub hosts: u64,
}

impl Of {
    /// Whether it goes on in other calls. Then it is not seen when messages come, so that steps do not
    /// tell what depends on what.
    fn goes_on(self) -> bool {
        self.operation.is_nonblocking() || self.operation.is_persistent()
    }
}

/// The shape of an instance. Edges and messages are numbered from 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    of: Of,
    /// By message, as in the messages of the instance.
    sent: Box<[Sent]>,
    /// The directed edges, from slot to slot, ascending.
    pub edges: Box<[(u32, u32)]>,
    /// For each message its edge.
    pub edge_of: Box<[u32]>,
    /// What was recognized in it; `None` without messages, and for what no algorithm is asked of.
    pub recognized: Option<Recognized>,
    /// For each edge whether it leads towards a root, or from it; `None` where it does neither.
    pub directions: Box<[Option<Direction>]>,
    /// For each message whether it is the last one over its edge.
    pub is_last: Box<[bool]>,
    /// By slot the messages that it sends.
    pub sends: Box<[Range<u32>]>,
    /// By slot the messages that it receives.
    pub receives: Box<[Box<[u32]>]>,
    /// What the messages are for.
    pub roles: Roles,
}

impl Shape {
    /// `places`: those of the slots.
    pub fn new(of: Of, sent: Vec<Sent>, places: Places<'_>) -> Self {
        let mut edges: Vec<(u32, u32)> = sent.iter().map(|sent| (sent.from, sent.to)).collect();
        edges.sort_unstable();
        edges.dedup();
        let number = |edge: (u32, u32)| edges.partition_point(|other| *other < edge);
        let edge_of = sent.iter().map(|sent| number((sent.from, sent.to)) as u32);
        let root = of.root.map(|root| root as u32);
        let recognized = if sent.is_empty() {
            None
        } else {
            recognize(of.operation, places, root, &sent)
        };
        let mut directions = vec![None; edges.len()];
        for &(edge, direction) in recognized.iter().flat_map(|found| &found.directed) {
            directions[number(edge)] = Some(direction);
        }
        let edge_of: Box<[u32]> = edge_of.collect();
        let roles = Roles::of(of.operation, of.n_slots, of.root, &sent);
        let along = match (&roles, recognized.as_ref().and_then(|found| found.tree)) {
            (Roles::Exchange(_), Some(tree)) if of.goes_on() => {
                let ways = edge_of.iter().map(|&edge| directions[edge as usize]);
                let ways: Option<Vec<Way>> = ways.map(|way| way.map(Way::from)).collect();
                ways.and_then(|ways| Roles::along(of.n_slots, tree.root, ways, &sent))
            }
            _ => None,
        };
        Self {
            of,
            is_last: last_over_edges(&edge_of, edges.len()),
            sends: sends(of.n_slots, &sent),
            receives: receives(of.n_slots, &sent),
            roles: along.unwrap_or(roles),
            edge_of,
            sent: sent.into_boxed_slice(),
            edges: edges.into_boxed_slice(),
            recognized,
            directions: directions.into_boxed_slice(),
        }
    }

    /// Whether it is that of these messages.
    pub fn is(&self, of: Of, sent: &[Sent]) -> bool {
        self.of == of && *self.sent == *sent
    }

    /// Number of processes.
    pub fn n_slots(&self) -> usize {
        self.of.n_slots
    }

    /// Slot of the root, if there is one.
    pub fn root(&self) -> Option<u32> {
        self.of.root.map(|root| root as u32)
    }

    /// How the collective was done, as far as the messages tell; `None` where that is not known.
    #[must_use]
    pub fn algorithm(&self) -> Option<Algorithm> {
        Some(self.recognized.as_ref()?.names[0])
    }
}

/// For each message whether it is the last one over its edge: a sender's messages stand in their
/// order.
fn last_over_edges(edge_of: &[u32], n_edges: usize) -> Box<[bool]> {
    let mut is_later = vec![false; n_edges];
    let backwards = edge_of.iter().rev();
    let mut is_last: Box<[bool]> = backwards
        .map(|&edge| !std::mem::replace(&mut is_later[edge as usize], true))
        .collect();
    is_last.reverse();
    is_last
}

/// Messages stand by sender.
fn sends(n_slots: usize, messages: &[Sent]) -> Box<[Range<u32>]> {
    let before = |slot: u32| messages.partition_point(|sent| sent.from < slot) as u32;
    (0..n_slots as u32)
        .map(|slot| before(slot)..before(slot + 1))
        .collect()
}

fn receives(n_slots: usize, messages: &[Sent]) -> Box<[Box<[u32]>]> {
    let mut receives = vec![Vec::new(); n_slots];
    for (number, sent) in (0..).zip(messages) {
        receives[sent.to as usize].push(number);
    }
    receives.into_iter().map(Vec::into_boxed_slice).collect()
}
