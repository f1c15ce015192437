//! The shape of an instance: who sent to whom, and in which order.
//!
//! Most instances of a collective have the same shape, message by message. So the properties of a
//! shape are computed once; each instance is compared with known shapes.

use std::ops::Range;

use collbench_formats::Operation;

use crate::algorithm::Algorithm;
use crate::exchanges::Sent;
use crate::recognize::{Direction, Placement, Recognized, recognize};
use crate::roles::Roles;

/// Identifies the instances that may share a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ShapeKey {
    /// The operation.
    pub operation: Operation,
    /// Number of processes.
    pub n_slots: usize,
    /// Slot of the root, for operations with a root.
    pub root: Option<usize>,
    /// Which slots are on which hosts: the host map of the communicator.
    pub hosts: u64,
}

impl ShapeKey {
    /// Whether it progresses in other calls. Then the arrival of messages is not visible, and steps
    /// do not show what depends on what.
    fn is_nonblocking(self) -> bool {
        self.operation.is_initiated()
    }
}

/// The shape of an instance. Edges and messages are numbered from 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    key: ShapeKey,
    /// By message, numbered as in the instance.
    sent: Box<[Sent]>,
    /// Directed edges, (from slot, to slot), ascending.
    pub edges: Box<[(u32, u32)]>,
    /// Edge of each message.
    pub edge_of: Box<[u32]>,
    /// Recognized algorithm; `None` without messages, and for operations without algorithms.
    pub recognized: Option<Recognized>,
    /// Direction of each edge relative to a root; `None` if it has none.
    pub directions: Box<[Option<Direction>]>,
    /// Whether each message is the last one over its edge.
    pub is_last: Box<[bool]>,
    /// By slot: range of the messages that it sends.
    pub sends: Box<[Range<u32>]>,
    /// By slot: messages that it receives.
    pub receives: Box<[Box<[u32]>]>,
    /// Roles of the messages.
    pub roles: Roles,
}

impl Shape {
    /// `places`: hosts and groups of the slots.
    pub fn new(key: ShapeKey, sent: Vec<Sent>, places: Placement<'_>) -> Self {
        let mut edges: Vec<(u32, u32)> = sent.iter().map(|sent| (sent.from, sent.to)).collect();
        edges.sort_unstable();
        edges.dedup();
        let number = |edge: (u32, u32)| edges.partition_point(|other| *other < edge);
        let edge_of = sent.iter().map(|sent| number((sent.from, sent.to)) as u32);
        let root = key.root.map(|root| root as u32);
        let recognized = if sent.is_empty() {
            None
        } else {
            recognize(key.operation, places, root, &sent)
        };
        let mut directions = vec![None; edges.len()];
        for &(edge, direction) in recognized.iter().flat_map(|found| &found.directed) {
            directions[number(edge)] = Some(direction);
        }
        let edge_of: Box<[u32]> = edge_of.collect();
        let roles = Roles::of(key.operation, key.n_slots, key.root, &sent);
        let along = match (&roles, recognized.as_ref().and_then(|found| found.tree)) {
            (Roles::Exchange(_), Some(tree)) if key.is_nonblocking() => {
                let along = edge_of.iter().map(|&edge| directions[edge as usize]);
                let along: Option<Vec<Direction>> = along.collect();
                along.and_then(|along| Roles::along(key.n_slots, tree.root, along, &sent))
            }
            _ => None,
        };
        Self {
            key,
            is_last: last_over_edges(&edge_of, edges.len()),
            sends: sends(key.n_slots, &sent),
            receives: receives(key.n_slots, &sent),
            roles: along.unwrap_or(roles),
            edge_of,
            sent: sent.into_boxed_slice(),
            edges: edges.into_boxed_slice(),
            recognized,
            directions: directions.into_boxed_slice(),
        }
    }

    /// Whether it is the shape of these messages.
    pub fn is(&self, key: ShapeKey, sent: &[Sent]) -> bool {
        self.key == key && *self.sent == *sent
    }

    /// Number of processes.
    pub fn n_slots(&self) -> usize {
        self.key.n_slots
    }

    /// Slot of the root, if there is one.
    pub fn root(&self) -> Option<u32> {
        self.key.root.map(|root| root as u32)
    }

    /// The algorithm according to the messages; `None` if it is not known.
    #[must_use]
    pub fn algorithm(&self) -> Option<Algorithm> {
        Some(self.recognized.as_ref()?.names[0])
    }
}

/// Whether each message is the last one over its edge. The messages of a sender are in their order.
fn last_over_edges(edge_of: &[u32], n_edges: usize) -> Box<[bool]> {
    let mut is_later = vec![false; n_edges];
    let backwards = edge_of.iter().rev();
    let mut is_last: Box<[bool]> = backwards
        .map(|&edge| !std::mem::replace(&mut is_later[edge as usize], true))
        .collect();
    is_last.reverse();
    is_last
}

/// Messages are sorted by sender.
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
