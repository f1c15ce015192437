//! The role of each message of a shape: to the root, from the root, or between equals; and the
//! messages that meet at each node.
//!
//! Computed once per shape. A message flows *from the root* if its sender had received data from
//! the root before it sent; all others flow *to the root*. If these two sets are not trees, the
//! shape is an exchange, in rounds. If the operation names no root, the root is the node that
//! receives everything before it sends anything.

use collbench_formats::{Operation, Semantics};

use crate::exchanges::Sent;
use crate::recognize::Direction;

/// The roles of the messages of a shape. Messages are numbered as in the instance, nodes are slots.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Roles {
    /// Through a tree, to the root, from the root, or both.
    Tree(TreeRoles),
    /// Between equals: by node its receives, in the order in which they were posted.
    Exchange(Box<[Box<[Round]>]>),
}

/// The receives of one round of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// Numbers of the messages.
    pub receives: Box<[u32]>,
    /// The slot that all of them come from, if there is only one.
    pub partner: Option<u32>,
}

/// A tree and the messages over its edges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeRoles {
    /// The node without a parent.
    pub top: u32,
    /// Direction by message.
    pub directions: Box<[Direction]>,
    /// By slot.
    pub nodes: Box<[Node]>,
    /// Whether any message flows to the root, and whether any from the root.
    pub has: [bool; 2],
    /// Parents by slot, first to the root, then from the root; `u32::MAX`: none.
    parents: Box<[u32]>,
}

/// A node of a tree, with numbers of messages. Of several messages over an edge the last one
/// counts: the data are complete when all of them have arrived.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Node {
    /// From each child, by slot: the last message.
    pub from_children: Box<[u32]>,
    /// To the parent: the last message.
    pub to_parent: Option<u32>,
    /// From the parent: the last message.
    pub from_parent: Option<u32>,
    /// To each child, by slot: the last message.
    pub to_children: Box<[u32]>,
}

impl Roles {
    /// Roles of a shape among `n` slots.
    pub fn of(operation: Operation, n: usize, root: Option<usize>, sequence: &[Sent]) -> Self {
        let tree = match operation.semantics() {
            Semantics::OneToMany => {
                let top = root.unwrap_or(0) as u32;
                let directions = vec![Direction::Up; sequence.len()];
                TreeRoles::new(n, top, directions, sequence)
            }
            Semantics::ManyToOne => {
                let top = root.unwrap_or(0) as u32;
                let directions = vec![Direction::Down; sequence.len()];
                TreeRoles::new(n, top, directions, sequence)
            }
            _ => {
                let sends = sends(n, sequence);
                root_candidates(n, sequence).into_iter().find_map(|top| {
                    TreeRoles::new(n, top, directions(top, &sends, sequence), sequence)
                })
            }
        };
        match tree {
            Some(tree) => Self::Tree(tree),
            None => Self::Exchange(rounds(n, sequence)),
        }
    }
}

impl Roles {
    /// What distinguishes these roles from others with the same edges: the parents in a tree,
    /// nothing in an exchange.
    pub fn parents(&self) -> &[u32] {
        match self {
            Self::Tree(tree) => &tree.parents,
            Self::Exchange(_) => &[],
        }
    }

    /// Roles of messages whose directions are known relative to `top`. `None` if they form no
    /// trees.
    pub fn along(
        n: usize,
        top: u32,
        directions: Vec<Direction>,
        sequence: &[Sent],
    ) -> Option<Self> {
        TreeRoles::new(n, top, directions, sequence).map(Self::Tree)
    }
}

/// Nodes that may be the root of a tree to it and from it: everything that they receive arrives
/// before they send anything.
fn root_candidates(n: usize, sequence: &[Sent]) -> Vec<u32> {
    let mut first_send = vec![u32::MAX; n];
    let mut last_receive = vec![None; n];
    for message in sequence {
        let first = &mut first_send[message.from as usize];
        *first = (*first).min(message.step_of_sender);
        let posted_in = message.step_of_receiver;
        let last: &mut Option<u32> = &mut last_receive[message.to as usize];
        *last = Some(last.map_or(posted_in, |last| last.max(posted_in)));
    }
    let is_top = |&node: &usize| {
        let last = last_receive[node];
        first_send[node] < u32::MAX && last.is_some_and(|last| last < first_send[node])
    };
    (0..n).filter(is_top).map(|node| node as u32).collect()
}

/// By node the messages that it sends, by step.
fn sends(n: usize, sequence: &[Sent]) -> Vec<Vec<u32>> {
    let mut sends = vec![Vec::new(); n];
    for (number, message) in (0..).zip(sequence) {
        sends[message.from as usize].push(number);
    }
    for list in &mut sends {
        list.sort_by_key(|&number: &u32| sequence[number as usize].step_of_sender);
    }
    sends
}

/// The direction of each message if everything flows to `top` and back from it.
fn directions(top: u32, sends: &[Vec<u32>], sequence: &[Sent]) -> Vec<Direction> {
    let mut directions = vec![Direction::Down; sequence.len()];
    // By node: how many of its messages, the first ones, may still flow to the root.
    let mut n_down: Vec<usize> = sends.iter().map(Vec::len).collect();
    // Nodes that have received data from the top, and after which step.
    let mut reached = vec![(top, 0)];
    while let Some((node, behind)) = reached.pop() {
        let node = node as usize;
        while let Some(last) = n_down[node].checked_sub(1) {
            let number = sends[node][last] as usize;
            let message = &sequence[number];
            if message.step_of_sender < behind {
                break;
            }
            n_down[node] = last;
            directions[number] = Direction::Up;
            reached.push((message.to, message.step_of_receiver + 1));
        }
    }
    directions
}

impl TreeRoles {
    /// `None` if the messages form no trees with this top: each other node has one parent that all
    /// its messages to the root go to, and one that all messages from the root come from; each tree
    /// that exists has all nodes.
    fn new(n: usize, top: u32, directions: Vec<Direction>, sequence: &[Sent]) -> Option<Self> {
        let mut nodes = vec![Node::default(); n];
        let mut parents = vec![u32::MAX; 2 * n];
        let mut children: [Vec<Vec<(u32, u32)>>; 2] = [vec![Vec::new(); n], vec![Vec::new(); n]];
        for (number, (message, &direction)) in (0u32..).zip(sequence.iter().zip(&directions)) {
            let (from, to) = (message.from, message.to);
            let (parent, child) = match direction {
                Direction::Down => (to, from),
                Direction::Up => (from, to),
            };
            if child == top {
                return None;
            }
            let node = &mut nodes[child as usize];
            let slot = match direction {
                Direction::Down => &mut node.to_parent,
                Direction::Up => &mut node.from_parent,
            };
            let of_parent = |number: u32| {
                let message = &sequence[number as usize];
                match direction {
                    Direction::Down => message.to,
                    Direction::Up => message.from,
                }
            };
            if slot.is_some_and(|before| of_parent(before) != parent) {
                return None;
            }
            // The messages of a sender are in their order.
            *slot = Some(number);
            parents[direction as usize * n + child as usize] = parent;
            let list = &mut children[direction as usize][parent as usize];
            match list.iter_mut().find(|(known, _)| *known == child) {
                Some((_, last)) => *last = number,
                None => list.push((child, number)),
            }
        }
        let has = [Direction::Down, Direction::Up].map(|direction| directions.contains(&direction));
        for direction in [Direction::Down, Direction::Up] {
            if has[direction as usize] && !reaches_all(n, top, &children[direction as usize]) {
                return None;
            }
        }
        let [from_children, to_children] = children;
        let numbers = |mut list: Vec<(u32, u32)>| {
            list.sort_unstable();
            list.into_iter().map(|(_, number)| number).collect()
        };
        for (node, list) in nodes.iter_mut().zip(from_children) {
            node.from_children = numbers(list);
        }
        for (node, list) in nodes.iter_mut().zip(to_children) {
            node.to_children = numbers(list);
        }
        (has != [false, false]).then(|| Self {
            top,
            directions: directions.into(),
            nodes: nodes.into(),
            has,
            parents: parents.into(),
        })
    }
}

/// Whether all nodes are below the top.
fn reaches_all(n: usize, top: u32, children: &[Vec<(u32, u32)>]) -> bool {
    let mut reached = vec![false; n];
    let mut open = vec![top];
    let mut n_reached = 0;
    while let Some(node) = open.pop() {
        if std::mem::replace(&mut reached[node as usize], true) {
            return false;
        }
        n_reached += 1;
        open.extend(children[node as usize].iter().map(|&(child, _)| child));
    }
    n_reached == n
}

fn rounds(n: usize, sequence: &[Sent]) -> Box<[Box<[Round]>]> {
    let mut receives: Vec<Vec<(u32, u32)>> = vec![Vec::new(); n];
    for (number, message) in (0u32..).zip(sequence) {
        receives[message.to as usize].push((message.step_of_receiver, number));
    }
    let of_node = |mut list: Vec<(u32, u32)>| -> Box<[Round]> {
        list.sort_unstable();
        let from = |&(_, number): &(u32, u32)| sequence[number as usize].from;
        let rounds = list.chunk_by(|a, b| a.0 == b.0).map(|round| Round {
            receives: round.iter().map(|&(_, number)| number).collect(),
            partner: Some(from(&round[0])).filter(|one| round.iter().all(|all| from(all) == *one)),
        });
        rounds.collect()
    };
    receives.into_iter().map(of_node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From, to, and the steps of both.
    fn sent(sequence: &[[u32; 4]]) -> Vec<Sent> {
        let one = |&[from, to, step_of_sender, step_of_receiver]: &[u32; 4]| Sent {
            from,
            to,
            step_of_sender,
            step_of_receiver,
            group: 0,
        };
        sequence.iter().map(one).collect()
    }

    fn tree(
        operation: Operation,
        n: usize,
        root: Option<usize>,
        sequence: &[[u32; 4]],
    ) -> TreeRoles {
        match Roles::of(operation, n, root, &sent(sequence)) {
            Roles::Tree(tree) => tree,
            Roles::Exchange(rounds) => panic!("{rounds:?}"),
        }
    }

    #[test]
    fn a_chain_down_to_the_middle_and_up_again_has_its_top_there() {
        // 0 and 2 send to 1, which answers.
        let sequence = [[0, 1, 0, 0], [1, 0, 2, 0], [1, 2, 2, 0], [2, 1, 0, 1]];
        let found = tree(Operation::Allreduce, 3, None, &sequence);
        assert_eq!(found.top, 1);
        assert_eq!(
            *found.directions,
            [
                Direction::Down,
                Direction::Up,
                Direction::Up,
                Direction::Down
            ]
        );
        assert_eq!(*found.nodes[1].from_children, [0, 3]);
        assert_eq!(*found.nodes[1].to_children, [1, 2]);
        assert_eq!(
            (found.nodes[2].to_parent, found.nodes[2].from_parent),
            (Some(3), Some(2))
        );
        assert_eq!(found.has, [true, true]);
    }

    #[test]
    fn a_long_chain_whose_nodes_may_all_be_tops_is_looked_through_once_for_each() {
        // Each node forwards what it received to the one before it.
        let n = 3000;
        let chain: Vec<[u32; 4]> = (1..n)
            .map(|from| [from, from - 1, u32::from(from < n - 1), 0])
            .collect();
        // A search through all messages for each message would take minutes.
        let found = Roles::of(Operation::Scan, n as usize, None, &sent(&chain));
        assert!(matches!(found, Roles::Exchange(_)));
    }

    #[test]
    fn of_segments_the_last_counts() {
        let sequence = [[0, 1, 0, 0], [0, 1, 0, 1], [1, 2, 1, 0], [1, 2, 2, 1]];
        let found = tree(Operation::Bcast, 3, Some(0), &sequence);
        assert_eq!(*found.nodes[0].to_children, [1]);
        assert_eq!(found.nodes[1].from_parent, Some(1));
        assert_eq!(*found.nodes[1].to_children, [3]);
        assert_eq!(found.has, [false, true]);
    }

    #[test]
    fn what_is_no_tree_has_rounds() {
        // Recursive doubling of four ranks.
        let step = |a: u32, b: u32, step| [[a, b, step, step], [b, a, step, step]];
        let mut sequence: Vec<[u32; 4]> =
            [step(0, 1, 0), step(2, 3, 0), step(0, 2, 1), step(1, 3, 1)]
                .into_iter()
                .flatten()
                .collect();
        sequence.sort_unstable();
        let Roles::Exchange(rounds) = Roles::of(Operation::Allreduce, 4, None, &sent(&sequence))
        else {
            panic!("no exchange");
        };
        for (node, rounds) in rounds.iter().enumerate() {
            let partners: Vec<Option<u32>> = rounds.iter().map(|round| round.partner).collect();
            assert_eq!(partners, [1, 2].map(|bit| Some(node as u32 ^ bit)));
        }
        // A broadcast in which a node gets the data twice, or no node gets them from the root.
        for sequence in [
            vec![[0, 1, 0, 0], [0, 2, 0, 0], [1, 2, 1, 0]],
            vec![[1, 0, 0, 0], [1, 2, 0, 0]],
            vec![[0, 1, 0, 0]],
        ] {
            let found = Roles::of(Operation::Bcast, 3, Some(0), &sent(&sequence));
            assert!(matches!(found, Roles::Exchange(_)), "{sequence:?}");
        }
    }
}
