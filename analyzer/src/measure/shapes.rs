//! A cache of shapes: each is analysed once.
//!
//! It pays where receives are from any process: 12,126 instructions a message, 16,621 without
//! (scripts/ir-guard-analyze.sh at 75823dd, 64 ranks).

use std::collections::BTreeMap;
use std::sync::Arc;

use collbench_stats::numbering::{Numbers, mix};
use collbench_trees::exchanges::Sent;
use collbench_trees::recognize::Placement;
use collbench_trees::shape::{Shape, ShapeKey};

use crate::instances::complete::CompleteInstance;
use crate::messages::instance_messages::Messages;
use crate::messages::message::InstanceMessage;

/// Most shapes that are retained; beyond, all are discarded.
const MAX_SHAPES: usize = 256;

/// A cache of shapes.
#[derive(Debug, Default)]
pub(crate) struct Shapes {
    known: BTreeMap<u64, Arc<Shape>>,
    /// The messages of the current instance.
    sent: Vec<Sent>,
    /// Tag of each group of them, and whether it is on another communicator.
    groups: Numbers<(u16, bool)>,
}

impl Shapes {
    /// The shape of an instance with these messages.
    pub(crate) fn of(
        &mut self,
        instance: &CompleteInstance<'_>,
        messages: &Messages<'_>,
    ) -> Arc<Shape> {
        let of = ShapeKey {
            operation: instance.operation,
            n_slots: instance.n_calls(),
            root: instance.root,
            hosts: instance.communicator.host_map(),
        };
        self.take(messages.paired);
        let hash = hash(of, &self.sent);
        let known = self.known.get(&hash);
        if let Some(shape) = known.filter(|shape| shape.is(of, &self.sent)) {
            return Arc::clone(shape);
        }
        if self.known.len() >= MAX_SHAPES {
            self.known.clear();
        }
        let members = instance.communicator.members.iter();
        let hosts: Vec<u32> = members.map(|member| member.host as u32).collect();
        let groups = instance.communicator.groups();
        let places = Placement {
            hosts: &hosts,
            groups: groups.as_deref(),
        };
        let shape = Arc::new(Shape::new(of, self.sent.clone(), places));
        self.known.insert(hash, Arc::clone(&shape));
        shape
    }

    fn take(&mut self, messages: &[InstanceMessage]) {
        self.sent.clear();
        self.groups.clear();
        for message in messages {
            let number = self.groups.of((message.tag, message.is_on_another));
            self.sent.push(Sent {
                from: message.from,
                to: message.to,
                step_of_sender: message.step_of_sender,
                step_of_receiver: message.step_of_receiver,
                group: number,
            });
        }
    }
}

fn hash(of: ShapeKey, sent: &[Sent]) -> u64 {
    let begin = [
        of.operation as u64,
        of.n_slots as u64,
        of.root.map_or(u64::MAX, |root| root as u64),
        of.hosts,
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
