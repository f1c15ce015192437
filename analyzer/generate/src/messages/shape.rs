//! Trees and exchanges by name, as the sequence of actions of each rank.
//!
//! Ranks are relative: 0 is the root, as in the descriptions of these algorithms.

use collbench_formats::Semantics;

/// The algorithm of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// All ranks are children of the root.
    Linear,
    /// Each rank is the child of the one before it.
    Chain,
    /// Node i has the children k i + 1 to k i + k.
    KAry(u32),
    /// The parent of i is i with its lowest non-zero digit to base k set to zero.
    KNomial(u32),
    /// The parent of each relative rank; `None` for the root, which is the first.
    Parents(Vec<Option<u32>>),
    /// Partners at distance 1, 2, 4 ...; extra ranks beyond a power of two send their data before,
    /// and get the result afterwards.
    RecursiveDoubling,
    /// In each of n - 1 rounds, to the next rank and from the one before.
    Ring,
    /// In round k, to the rank 2^k ahead and from the one 2^k behind (Bruck, dissemination).
    Dissemination,
}

/// The direction of a message in a tree, or its round in an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Direction {
    /// To the root.
    Down,
    /// From the root.
    Up,
    /// In an exchange: number of the round, from 0.
    Round(u32),
}

/// One action of a rank within a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// Delay, if the scenario has one here.
    Busy,
    /// Posts a receive.
    Post {
        from: u32,
        bytes: u64,
        direction: Direction,
    },
    /// Waits for all posted receives.
    Wait,
    /// Combines received data, `times` times.
    Compute { times: u32 },
    /// Sends a message.
    Send {
        to: u32,
        bytes: u64,
        direction: Direction,
    },
}

impl Action {
    fn post(from: u32, bytes: u64, direction: Direction) -> Self {
        Self::Post {
            from,
            bytes,
            direction,
        }
    }

    fn send(to: u32, bytes: u64, direction: Direction) -> Self {
        Self::Send {
            to,
            bytes,
            direction,
        }
    }
}

/// In which directions the data of an operation flow through a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Directions {
    pub(crate) down: bool,
    pub(crate) up: bool,
}

impl Directions {
    /// `None` for operations that use no tree.
    pub(crate) fn of(semantics: Semantics) -> Option<Self> {
        match semantics {
            Semantics::OneToMany => Some(Self {
                down: false,
                up: true,
            }),
            Semantics::ManyToOne => Some(Self {
                down: true,
                up: false,
            }),
            Semantics::Barrier | Semantics::AllToAll => Some(Self {
                down: true,
                up: true,
            }),
            _ => None,
        }
    }
}

impl Shape {
    /// The shape with this name, which ends with a number after a colon where it takes one.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (name, number) = match name.split_once(':') {
            Some((name, number)) => (name, Some(number.parse().ok().filter(|&k| k >= 2)?)),
            None => (name, None),
        };
        match (name, number) {
            ("linear", None) => Some(Self::Linear),
            ("chain", None) => Some(Self::Chain),
            ("binary", None) => Some(Self::KAry(2)),
            ("kary", Some(k)) => Some(Self::KAry(k)),
            ("binomial", None) => Some(Self::KNomial(2)),
            ("knomial", Some(k)) => Some(Self::KNomial(k)),
            ("recursive-doubling", None) => Some(Self::RecursiveDoubling),
            ("ring", None) => Some(Self::Ring),
            ("dissemination", None) => Some(Self::Dissemination),
            _ => None,
        }
    }

    pub(crate) fn name(&self) -> String {
        match self {
            Self::Linear => "linear".into(),
            Self::Chain => "chain".into(),
            Self::KAry(2) => "binary".into(),
            Self::KAry(k) => format!("kary:{k}"),
            Self::KNomial(2) => "binomial".into(),
            Self::KNomial(k) => format!("knomial:{k}"),
            Self::Parents(_) => "parents".into(),
            Self::RecursiveDoubling => "recursive-doubling".into(),
            Self::Ring => "ring".into(),
            Self::Dissemination => "dissemination".into(),
        }
    }

    pub(crate) fn is_exchange(&self) -> bool {
        matches!(
            self,
            Self::RecursiveDoubling | Self::Ring | Self::Dissemination
        )
    }

    /// The parent of a relative rank; `None` for the root, and in an exchange.
    pub(crate) fn parent(&self, rank: u32) -> Option<u32> {
        if rank == 0 {
            return None;
        }
        match self {
            Self::Linear => Some(0),
            Self::Chain => Some(rank - 1),
            Self::KAry(k) => Some((rank - 1) / k),
            Self::KNomial(k) => {
                let mut digit = 1;
                while (rank / digit).is_multiple_of(*k) {
                    digit *= k;
                }
                Some(rank - rank / digit % k * digit)
            }
            Self::Parents(list) => list.get(rank as usize).copied().flatten(),
            Self::RecursiveDoubling | Self::Ring | Self::Dissemination => None,
        }
    }

    /// The actions of each relative rank of `n`. `bytes` go over each edge, in `segments` parts, >
    /// 0; with `posts_all` a node posts the receives from all children at once.
    pub(crate) fn actions(
        &self,
        n: u32,
        directions: Directions,
        bytes: u64,
        segments: u32,
        posts_all: bool,
    ) -> Vec<Vec<Action>> {
        match self {
            Self::RecursiveDoubling => (0..n)
                .map(|rank| recursive_doubling(rank, n, bytes))
                .collect(),
            Self::Ring => (0..n)
                .map(|rank| {
                    let steps = (1..n).map(|_| ((rank + 1) % n, (rank + n - 1) % n));
                    rounds(steps, bytes)
                })
                .collect(),
            Self::Dissemination => (0..n)
                .map(|rank| {
                    let distances = (0..32).map(|k| 1u32 << k).take_while(|&d| d < n);
                    let steps = distances.map(|d| ((rank + d) % n, (rank + n - d) % n));
                    rounds(steps, bytes)
                })
                .collect(),
            _ => {
                let mut children = vec![Vec::new(); n as usize];
                for rank in 1..n {
                    // A tree has a parent for each rank except the root: the scenario was checked.
                    if let Some(parent) = self.parent(rank) {
                        children[parent as usize].push(rank);
                    }
                }
                let parts: Vec<u64> = (0..u64::from(segments))
                    .map(|i| {
                        let end = |i| bytes * i / u64::from(segments);
                        end(i + 1) - end(i)
                    })
                    .collect();
                (0..n)
                    .map(|rank| {
                        let (parent, children) = (self.parent(rank), &children[rank as usize]);
                        let mut actions = Vec::new();
                        if directions.down {
                            path_to_root(parent, children, &parts, posts_all, &mut actions);
                        }
                        if directions.up {
                            path_from_root(parent, children, &parts, &mut actions);
                        }
                        actions
                    })
                    .collect()
            }
        }
    }
}

fn path_to_root(
    parent: Option<u32>,
    children: &[u32],
    parts: &[u64],
    posts_all: bool,
    actions: &mut Vec<Action>,
) {
    if !children.is_empty() {
        actions.push(Action::Busy);
    }
    let direction = Direction::Down;
    for &bytes in parts {
        let post = |&from: &u32| Action::post(from, bytes, direction);
        if posts_all && !children.is_empty() {
            actions.extend(children.iter().map(post));
            let times = children.len() as u32;
            actions.extend([Action::Wait, Action::Compute { times }]);
        } else {
            for child in children {
                actions.extend([post(child), Action::Wait, Action::Compute { times: 1 }]);
            }
        }
        actions.extend(parent.map(|to| Action::send(to, bytes, direction)));
    }
}

fn path_from_root(parent: Option<u32>, children: &[u32], parts: &[u64], actions: &mut Vec<Action>) {
    let direction = Direction::Up;
    actions.extend(parent.map(|_| Action::Busy));
    for &bytes in parts {
        if let Some(from) = parent {
            actions.extend([Action::post(from, bytes, direction), Action::Wait]);
        }
        // The child with the largest subtree first.
        let send = |&to: &u32| Action::send(to, bytes, direction);
        actions.extend(children.iter().rev().map(send));
    }
}

/// Rounds with one send and one receive each.
fn rounds(steps: impl Iterator<Item = (u32, u32)>, bytes: u64) -> Vec<Action> {
    let mut actions = vec![Action::Busy];
    for (round, (to, from)) in (0..).zip(steps) {
        let direction = Direction::Round(round);
        actions.extend([
            Action::post(from, bytes, direction),
            Action::send(to, bytes, direction),
            Action::Wait,
            Action::Compute { times: 1 },
        ]);
    }
    actions
}

/// The first ranks beyond the largest power of two form pairs: the even rank sends its data to the
/// odd one, which takes part for both.
fn recursive_doubling(rank: u32, n: u32, bytes: u64) -> Vec<Action> {
    let power = 1 << n.ilog2();
    let extra = n - power;
    let mut actions = vec![Action::Busy];
    let n_rounds = power.ilog2();
    let (before, after) = (Direction::Round(0), Direction::Round(n_rounds + 1));
    if rank < 2 * extra && rank.is_multiple_of(2) {
        actions.extend([
            Action::send(rank + 1, bytes, before),
            Action::post(rank + 1, bytes, after),
            Action::Wait,
        ]);
        return actions;
    }
    if rank < 2 * extra {
        let post = Action::post(rank - 1, bytes, before);
        actions.extend([post, Action::Wait, Action::Compute { times: 1 }]);
    }
    let own = if rank < 2 * extra {
        rank / 2
    } else {
        rank - extra
    };
    let real = |own: u32| {
        if own < extra {
            2 * own + 1
        } else {
            own + extra
        }
    };
    for round in 0..n_rounds {
        let partner = real(own ^ 1 << round);
        let direction = Direction::Round(round + 1);
        actions.extend([
            Action::post(partner, bytes, direction),
            Action::send(partner, bytes, direction),
            Action::Wait,
            Action::Compute { times: 1 },
        ]);
    }
    if rank < 2 * extra {
        actions.push(Action::send(rank - 1, bytes, after));
    }
    actions
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn parents(name: &str, n: u32) -> Vec<u32> {
        let shape = Shape::of_name(name).unwrap();
        (1..n).map(|rank| shape.parent(rank).unwrap()).collect()
    }

    #[test]
    fn parents_are_those_of_the_published_trees() {
        assert_eq!(parents("binomial", 8), [0, 0, 2, 0, 4, 4, 6]);
        assert_eq!(parents("binary", 8), [0, 0, 1, 1, 2, 2, 3]);
        assert_eq!(parents("kary:4", 8), [0, 0, 0, 0, 1, 1, 1]);
        assert_eq!(
            parents("knomial:4", 14),
            [0, 0, 0, 0, 4, 4, 4, 0, 8, 8, 8, 0, 12]
        );
        assert_eq!(parents("chain", 4), [0, 1, 2]);
        assert_eq!(parents("linear", 4), [0, 0, 0]);
        for wrong in ["binomial:2", "kary", "kary:1", "kary:x", "tree", ""] {
            assert_eq!(Shape::of_name(wrong), None, "{wrong}");
        }
    }

    /// Whether the data of all ranks reach all ranks, if each action happens as soon as it can;
    /// asserts that no message is left over.
    fn reaches_all(shape: &Shape, n: u32, segments: u32) -> bool {
        let both = Directions {
            down: true,
            up: true,
        };
        let plans = shape.actions(n, both, 100, segments, true);
        let mut knows: Vec<Vec<bool>> = (0..n)
            .map(|rank| (0..n).map(|other| rank == other).collect())
            .collect();
        let mut at = vec![0; n as usize];
        let mut sent: BTreeMap<(u32, u32), Vec<Vec<bool>>> = BTreeMap::new();
        let mut posted: Vec<Vec<u32>> = vec![Vec::new(); n as usize];
        loop {
            let mut moved = false;
            for rank in 0..n {
                let i = rank as usize;
                while let Some(action) = plans[i].get(at[i]) {
                    match *action {
                        Action::Post { from, .. } => posted[i].push(from),
                        Action::Send { to, .. } => {
                            sent.entry((rank, to)).or_default().push(knows[i].clone());
                        }
                        Action::Wait => {
                            let is_there = |from: &u32| {
                                sent.get(&(*from, rank))
                                    .is_some_and(|sent| !sent.is_empty())
                            };
                            if !posted[i].iter().all(is_there) {
                                break;
                            }
                            for from in std::mem::take(&mut posted[i]) {
                                let known = sent.get_mut(&(from, rank)).unwrap().remove(0);
                                for (own, other) in knows[i].iter_mut().zip(known) {
                                    *own |= other;
                                }
                            }
                        }
                        Action::Busy | Action::Compute { .. } => {}
                    }
                    at[i] += 1;
                    moved = true;
                }
            }
            if !moved {
                break;
            }
        }
        let is_done = plans.iter().zip(&at).all(|(plan, &at)| at == plan.len());
        is_done && sent.values().all(Vec::is_empty) && knows.iter().flatten().all(|&known| known)
    }

    #[test]
    fn every_shape_brings_the_data_of_all_to_all() {
        let names = [
            "linear",
            "chain",
            "binary",
            "kary:3",
            "binomial",
            "knomial:4",
            "recursive-doubling",
            "ring",
            "dissemination",
        ];
        for name in names {
            let shape = Shape::of_name(name).unwrap();
            assert_eq!(Shape::of_name(&shape.name()), Some(shape.clone()));
            for n in 1..=17 {
                assert!(reaches_all(&shape, n, 1), "{name} of {n}");
                assert!(reaches_all(&shape, n, 3), "{name} of {n} in segments");
            }
        }
        let given = Shape::Parents(vec![None, Some(2), Some(0), Some(2)]);
        assert!(reaches_all(&given, 4, 2));
        let apart = Shape::Parents(vec![None, None]);
        assert!(!reaches_all(&apart, 2, 1));
    }
}
