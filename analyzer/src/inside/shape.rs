//! The shape of an instance: who sent to whom, and in which order.
//!
//! Instances of one collective mostly have one shape, message by message. So what is to be known
//! of a shape is found once; an instance is then compared with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_formats::Operation;

use super::algorithm::Algorithm;
use super::exchanges::Sent;
use super::message::{InstanceMessage, Messages};
use super::recognize::{Direction, Recognized, recognize};
use super::roles::{Roles, Way};
use crate::agreed::Agreed;

/// What a shape is the shape of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Of {
    operation: Operation,
    n_slots: usize,
    root: Option<usize>,
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
    /// By message, as in [`Messages::paired`].
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
    /// By slot the messages that it receives.
    pub receives: Box<[Box<[u32]>]>,
    /// What the messages are for.
    pub roles: Roles,
}

impl Shape {
    fn new(of: Of, sent: Vec<Sent>) -> Self {
        let mut edges: Vec<(u32, u32)> = sent.iter().map(|sent| (sent.from, sent.to)).collect();
        edges.sort_unstable();
        edges.dedup();
        let number = |edge: (u32, u32)| edges.partition_point(|other| *other < edge);
        let edge_of = sent.iter().map(|sent| number((sent.from, sent.to)) as u32);
        let root = of.root.map(|root| root as u32);
        let recognized = match sent.is_empty() {
            true => None,
            false => recognize(of.operation, of.n_slots as u32, root, &sent),
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
            receives: receives(of.n_slots, &sent),
            roles: along.unwrap_or(roles),
            edge_of,
            sent: sent.into_boxed_slice(),
            edges: edges.into_boxed_slice(),
            recognized,
            directions: directions.into_boxed_slice(),
        }
    }

    /// How the collective was done; `None` where that is not known.
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

fn receives(n_slots: usize, messages: &[Sent]) -> Box<[Box<[u32]>]> {
    let mut receives = vec![Vec::new(); n_slots];
    for (number, sent) in (0..).zip(messages) {
        receives[sent.to as usize].push(number);
    }
    receives.into_iter().map(Vec::into_boxed_slice).collect()
}

/// Shapes that are kept; where there are more they are found anew.
const MAX_SHAPES: usize = 256;

/// The shapes that were met.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    known: BTreeMap<u64, Arc<Shape>>,
    /// The messages at hand.
    sent: Vec<Sent>,
    /// Tag of each group of them, and whether it is on another communicator.
    groups: Vec<(u16, bool)>,
}

impl Shapes {
    /// The shape of an instance with these messages.
    pub(crate) fn of(&mut self, instance: &Agreed<'_>, messages: &Messages<'_>) -> Arc<Shape> {
        let of = Of {
            operation: instance.operation,
            n_slots: instance.n_calls(),
            root: instance.root,
        };
        self.take(messages.paired);
        let hash = hash(of, &self.sent);
        let known = self.known.get(&hash);
        if let Some(shape) = known.filter(|shape| shape.of == of && *shape.sent == self.sent) {
            return Arc::clone(shape);
        }
        if self.known.len() >= MAX_SHAPES {
            self.known.clear();
        }
        let shape = Arc::new(Shape::new(of, self.sent.clone()));
        self.known.insert(hash, Arc::clone(&shape));
        shape
    }

    fn take(&mut self, messages: &[InstanceMessage]) {
        self.sent.clear();
        self.groups.clear();
        for message in messages {
            let group = (message.tag, message.is_on_another);
            let number = match self.groups.iter().position(|known| *known == group) {
                Some(number) => number,
                None => {
                    self.groups.push(group);
                    self.groups.len() - 1
                }
            };
            self.sent.push(Sent {
                from: message.from,
                to: message.to,
                step_of_sender: message.step_of_sender,
                step_of_receiver: message.step_of_receiver,
                group: number as u32,
            });
        }
    }
}

fn hash(of: Of, sent: &[Sent]) -> u64 {
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let begin = [
        of.operation as u64,
        of.n_slots as u64,
        of.root.map_or(u64::MAX, |root| root as u64),
    ];
    let begin = begin.into_iter().fold(sent.len() as u64, mix);
    let hash = sent.iter().fold(begin, |hash, sent| {
        let edge = u64::from(sent.from) << 32 | u64::from(sent.to);
        let steps = u64::from(sent.step_of_sender) << 20 | u64::from(sent.step_of_receiver);
        mix(
            hash,
            edge ^ (steps | u64::from(sent.group) << 16).rotate_left(44),
        )
    });
    hash ^ hash >> 32
}
