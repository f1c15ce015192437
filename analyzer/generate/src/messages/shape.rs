//! Trees and exchanges by name, as what each rank does one after the other.
//!
//! Ranks are relative here: 0 is the root, as in the descriptions of these algorithms.

use collbench_formats::Semantics;

/// The algorithm of a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Everybody is a child of the root.
    Linear,
    /// Each is the child of the one before.
    Chain,
    /// Node i has the children k i + 1 to k i + k.
    KAry(u32),
    /// The parent of i is i without its lowest digit, to the base k, that is not zero.
    KNomial(u32),
    /// Of each relative rank its parent; none of the root, which is the first.
    Parents(Vec<Option<u32>>),
    /// Partners at distance 1, 2, 4 ...; ranks beyond a power of two hand in before, and get the
    /// result afterwards.
    RecursiveDoubling,
    /// In each of n - 1 rounds, to the next and from the one before.
    Ring,
    /// In round k, to the one 2^k ahead and from the one 2^k behind (Bruck, dissemination).
    Dissemination,
}

/// The direction of a message, as seen from the root, or the round of an exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Direction {
    /// Towards the root.
    Down,
    /// From the root.
    Up,
    /// Among equals; from 0.
    Round(u32),
}

/// One thing that a rank does within a collective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    /// It is late for what follows, if the scenario says so.
    Busy,
    /// It begins to receive.
    Post {
        from: u32,
        bytes: u64,
        way: Direction,
    },
    /// It goes on when all is there that it has begun to receive.
    Wait,
    /// It works on what came, once for each.
    Compute { times: u32 },
    /// It sends.
    Send { to: u32, bytes: u64, way: Direction },
}

/// In which directions the data of an operation go through a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Directions {
    pub(crate) down: bool,
    pub(crate) up: bool,
}

impl Directions {
    /// `None` for operations that go through no tree.
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
    /// A name, with a number behind a colon where it takes one.
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

    /// The parent of a relative rank; `None` of the root, and in an exchange.
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

    /// What each relative rank of `n` does. `bytes` go over each edge, in `segments` parts, > 0;
    /// where `posts_all`, a node begins to receive from all children at once.
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
                    // A tree has a parent for everyone but the root: the scenario was checked.
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
                            way_down(parent, children, &parts, posts_all, &mut actions);
                        }
                        if directions.up {
                            way_up(parent, children, &parts, &mut actions);
                        }
                        actions
                    })
                    .collect()
            }
        }
    }
}

fn way_down(
    parent: Option<u32>,
    children: &[u32],
    parts: &[u64],
    posts_all: bool,
    actions: &mut Vec<Action>,
) {
    if !children.is_empty() {
        actions.push(Action::Busy);
    }
    let way = Direction::Down;
    for &bytes in parts {
        let post = |&from: &u32| Action::Post { from, bytes, way };
        if posts_all && !children.is_empty() {
            actions.extend(children.iter().map(post));
            let times = children.len() as u32;
            actions.extend([Action::Wait, Action::Compute { times }]);
        } else {
            for child in children {
                actions.extend([post(child), Action::Wait, Action::Compute { times: 1 }]);
            }
        }
        actions.extend(parent.map(|to| Action::Send { to, bytes, way }));
    }
}

fn way_up(parent: Option<u32>, children: &[u32], parts: &[u64], actions: &mut Vec<Action>) {
    let way = Direction::Up;
    actions.extend(parent.map(|_| Action::Busy));
    for &bytes in parts {
        if let Some(from) = parent {
            actions.extend([Action::Post { from, bytes, way }, Action::Wait]);
        }
        // The one with most below it first.
        let send = |&to: &u32| Action::Send { to, bytes, way };
        actions.extend(children.iter().rev().map(send));
    }
}

/// Rounds in which one is sent to and one received from.
fn rounds(steps: impl Iterator<Item = (u32, u32)>, bytes: u64) -> Vec<Action> {
    let mut actions = vec![Action::Busy];
    for (round, (to, from)) in (0..).zip(steps) {
        let way = Direction::Round(round);
        actions.extend([
            Action::Post { from, bytes, way },
            Action::Send { to, bytes, way },
            Action::Wait,
            Action::Compute { times: 1 },
        ]);
    }
    actions
}

/// Of the ranks beyond the largest power of two, the first ones come in pairs: the even one hands
/// in to the odd one, which takes part for both.
fn recursive_doubling(rank: u32, n: u32, bytes: u64) -> Vec<Action> {
    let power = 1 << n.ilog2();
    let extra = n - power;
    let mut actions = vec![Action::Busy];
    let n_rounds = power.ilog2();
    let (before, after) = (Direction::Round(0), Direction::Round(n_rounds + 1));
    if rank < 2 * extra && rank.is_multiple_of(2) {
        let (to, way) = (rank + 1, before);
        actions.push(Action::Send { to, bytes, way });
        let (from, way) = (rank + 1, after);
        actions.extend([Action::Post { from, bytes, way }, Action::Wait]);
        return actions;
    }
    if rank < 2 * extra {
        let (from, way) = (rank - 1, before);
        let post = Action::Post { from, bytes, way };
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
        let way = Direction::Round(round + 1);
        let from = partner;
        actions.extend([
            Action::Post { from, bytes, way },
            Action::Send {
                to: partner,
                bytes,
                way,
            },
            Action::Wait,
            Action::Compute { times: 1 },
        ]);
    }
    if rank < 2 * extra {
        let (to, way) = (rank - 1, after);
        actions.push(Action::Send { to, bytes, way });
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

    /// Whether everybody's data get to everybody, if each action happens as soon as it can; and
    /// that no message is left over.
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
