//! Any directed multigraph of messages: what an instance may consist of, whatever a library would do.

use std::collections::BTreeSet;

use collbench_formats::{Operation, Semantics};

use crate::random::Random;

/// A message of an instance. Ends are ranks in the communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DrawnMessage {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// Which of the tags of the instance.
    pub(crate) tag: u16,
    pub(crate) bytes: u64,
}

/// One collective, as it happens again and again.
#[derive(Debug, Clone)]
pub(crate) struct DrawnGraph {
    pub(crate) operation: Operation,
    /// Rank in the communicator, of those operations that have one.
    pub(crate) root: Option<u32>,
    pub(crate) payload: u64,
    /// In the order in which they begin to be sent.
    pub(crate) messages: Vec<DrawnMessage>,
    /// Receivers, with a tag, that do not name the sender.
    pub(crate) from_any: BTreeSet<(u32, u16)>,
    /// Whether the messages travel on a communicator of the library's own.
    pub(crate) is_hidden: bool,
}

/// The blocking operations that are drawn, and whose nonblocking forms are.
const OPERATIONS: [Operation; 12] = [
    Operation::Barrier,
    Operation::Bcast,
    Operation::Gather,
    Operation::Scatterv,
    Operation::Allgather,
    Operation::Alltoall,
    Operation::Reduce,
    Operation::Allreduce,
    Operation::Allreduce,
    Operation::ReduceScatter,
    Operation::Scan,
    Operation::Exscan,
];

impl DrawnGraph {
    /// Any graph among `n` processes.
    pub(crate) fn draw(n: u32, random: &mut Random) -> Self {
        let operation = *random.pick(&OPERATIONS);
        let has_root = matches!(
            operation.semantics(),
            Semantics::OneToMany | Semantics::ManyToOne
        );
        let nonblocking = Operation::from_code(operation.code() + 32);
        let mut graph = Self {
            operation: if random.once_in(4) {
                nonblocking.unwrap_or(operation)
            } else {
                operation
            },
            root: has_root.then(|| random.below(n as usize) as u32),
            payload: random.length(1 << 20) as u64,
            messages: Vec::new(),
            from_any: BTreeSet::new(),
            is_hidden: random.once_in(8),
        };
        graph.messages = edges(n, random)
            .into_iter()
            .map(|(from, to)| DrawnMessage {
                from,
                to,
                tag: 0,
                bytes: random.length(1 << 30) as u64,
            })
            .collect();
        // The messages of what goes on in other calls are known by one tag.
        if !graph.operation.is_nonblocking() && random.once_in(3) {
            for message in &mut graph.messages {
                message.tag = random.below(3) as u16;
            }
        }
        if random.once_in(6) {
            for message in &graph.messages {
                if random.once_in(2) {
                    graph.from_any.insert((message.to, message.tag));
                }
            }
        }
        graph
    }

    /// The same edges, but other directions, another order, or another top.
    pub(crate) fn varied(&self, n: u32, random: &mut Random) -> Self {
        let mut graph = self.clone();
        match random.below(4) {
            0 => {
                for message in &mut graph.messages {
                    (message.from, message.to) = (message.to, message.from);
                }
            }
            1 => shuffle(&mut graph.messages, random),
            2 => {
                let by = random.below(n as usize) as u32;
                for message in &mut graph.messages {
                    message.from = (message.from + by) % n;
                    message.to = (message.to + by) % n;
                }
            }
            _ => graph.messages.reverse(),
        }
        graph.from_any.clear();
        graph
    }
}

fn shuffle<T>(list: &mut [T], random: &mut Random) {
    for at in (1..list.len()).rev() {
        list.swap(at, random.below(at + 1));
    }
}

/// Who sends to whom, in order.
fn edges(n: u32, random: &mut Random) -> Vec<(u32, u32)> {
    let any = |random: &mut Random| random.below(n as usize) as u32;
    let mut edges = Vec::new();
    match random.below(5) {
        // From anybody to anybody, now and then to itself.
        0 => {
            for _ in 0..random.length(60) {
                let (from, to) = (any(random), any(random));
                if from != to || random.once_in(8) {
                    edges.push((from, to));
                }
            }
        }
        // Trees: towards a top, from it, or both, as trees or in any order.
        1..=3 => {
            let top = any(random);
            let mut reached = vec![top];
            let mut others: Vec<u32> = (0..n).filter(|&rank| rank != top).collect();
            shuffle(&mut others, random);
            let mut tree = Vec::new();
            for rank in others {
                tree.push((*random.pick(&reached), rank));
                reached.push(rank);
            }
            let which = random.below(3);
            if which != 1 {
                edges.extend(tree.iter().rev().map(|&(parent, child)| (child, parent)));
            }
            if which != 0 {
                edges.extend(&tree);
            }
            if random.once_in(4) {
                shuffle(&mut edges, random);
            }
            for _ in 0..random.below(2) * random.length(4) {
                if let Some(&edge) = edges.get(random.below(edges.len())) {
                    edges.push(edge);
                }
            }
        }
        // Circles.
        _ => {
            let mut ranks: Vec<u32> = (0..n).collect();
            shuffle(&mut ranks, random);
            ranks.truncate(2 + random.below(n as usize));
            for _ in 0..random.length(6) {
                let next = ranks.iter().cycle().skip(1);
                edges.extend(ranks.iter().copied().zip(next.copied()));
            }
        }
    }
    edges
}
