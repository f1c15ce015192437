//! The shape of an instance: who sent to whom, and in which order.
//!
//! Instances of one collective mostly have one shape, message by message. So what is to be known
//! of a shape is found once; an instance is then compared with it.

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_formats::Operation;

use crate::agreed::Agreed;
use crate::inside::message::{InstanceMessage, Messages};

/// What a shape is the shape of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Of {
    operation: Operation,
    n_slots: usize,
    root: Option<usize>,
}

/// A message as far as its shape goes: from, to, and the steps at either end.
type Sent = [u32; 4];

/// The shape of an instance. Edges and messages are numbered from 0.
#[derive(Debug, PartialEq, Eq)]
pub struct Shape {
    of: Of,
    /// By message, as in [`Messages::paired`].
    sequence: Box<[Sent]>,
    /// The directed edges, from slot to slot, ascending.
    pub edges: Box<[(u32, u32)]>,
    /// For each message its edge.
    pub edge_of: Box<[u32]>,
}

fn sent(message: &InstanceMessage) -> Sent {
    [
        message.from,
        message.to,
        message.step_of_sender,
        message.step_of_receiver,
    ]
}

impl Shape {
    fn new(of: Of, messages: &Messages<'_>) -> Self {
        let sequence: Box<[Sent]> = messages.paired.iter().map(sent).collect();
        let mut edges: Vec<(u32, u32)> = sequence.iter().map(|sent| (sent[0], sent[1])).collect();
        edges.sort_unstable();
        edges.dedup();
        let edge_of = sequence.iter().map(|sent| {
            let edge = (sent[0], sent[1]);
            edges.partition_point(|other| *other < edge) as u32
        });
        Self {
            of,
            edge_of: edge_of.collect(),
            sequence,
            edges: edges.into_boxed_slice(),
        }
    }

    fn is_of(&self, of: Of, messages: &Messages<'_>) -> bool {
        self.of == of
            && self.sequence.len() == messages.paired.len()
            && (self.sequence.iter())
                .zip(messages.paired)
                .all(|(own, message)| *own == sent(message))
    }
}

/// Shapes that are kept; where there are more they are found anew.
const MAX_SHAPES: usize = 256;

/// The shapes that were met.
#[derive(Debug, Default)]
pub(crate) struct Shapes(BTreeMap<u64, Arc<Shape>>);

impl Shapes {
    /// The shape of an instance with these messages.
    pub(crate) fn of(&mut self, instance: &Agreed<'_>, messages: &Messages<'_>) -> Arc<Shape> {
        let of = Of {
            operation: instance.operation,
            n_slots: instance.n_calls(),
            root: instance.root,
        };
        let hash = hash(of, messages);
        if let Some(shape) = self.0.get(&hash).filter(|shape| shape.is_of(of, messages)) {
            return Arc::clone(shape);
        }
        if self.0.len() >= MAX_SHAPES {
            self.0.clear();
        }
        let shape = Arc::new(Shape::new(of, messages));
        self.0.insert(hash, Arc::clone(&shape));
        shape
    }
}

fn hash(of: Of, messages: &Messages<'_>) -> u64 {
    let mix =
        |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let begin = [
        of.operation as u64,
        of.n_slots as u64,
        of.root.map_or(u64::MAX, |root| root as u64),
    ];
    let begin = begin.into_iter().fold(messages.paired.len() as u64, mix);
    let hash = messages.paired.iter().fold(begin, |hash, message| {
        let [from, to, at_sender, at_receiver] = sent(message).map(u64::from);
        mix(
            hash,
            (from << 32 | to) ^ (at_sender << 20 | at_receiver).rotate_left(44),
        )
    });
    hash ^ hash >> 32
}
