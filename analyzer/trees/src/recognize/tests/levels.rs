//! Algorithms composed of parts within hosts and between them, with any distribution of processes
//! over hosts.

use super::*;
use crate::algorithm::{TwoLevels, Within};

/// Pseudorandom numbers, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u32) -> u32 {
        self.0 = (self.0.wrapping_mul(0x5851_f42d_4c95_7f2d)).wrapping_add(0x1405_7b7e_f767_814f);
        ((self.0 >> 33) % u64::from(n)) as u32
    }
}

/// Processes on hosts, and the leader of each host.
struct Layout {
    /// By slot.
    hosts: Vec<u32>,
    /// Ascending.
    leaders: Vec<u32>,
}

impl Layout {
    /// A layout of at least two hosts, at least one of which has several processes.
    fn any(dice: &mut Dice) -> Self {
        let n_hosts = 2 + dice.below(9);
        let n = n_hosts + 1 + dice.below(3 * n_hosts);
        let mut hosts: Vec<u32> = (0..n)
            .map(|slot| {
                if slot < n_hosts {
                    slot
                } else {
                    dice.below(n_hosts)
                }
            })
            .collect();
        for slot in (1..n).rev() {
            hosts.swap(slot as usize, dice.below(slot + 1) as usize);
        }
        let mut leaders: Vec<u32> = (0..n_hosts)
            .map(|host| {
                let of_host = (0..n).filter(|&slot| hosts[slot as usize] == host);
                let of_host: Vec<u32> = of_host.collect();
                of_host[dice.below(of_host.len() as u32) as usize]
            })
            .collect();
        leaders.sort_unstable();
        Self { hosts, leaders }
    }

    fn n(&self) -> u32 {
        self.hosts.len() as u32
    }

    fn leader_of(&self, slot: u32) -> u32 {
        let host = |slot: u32| self.hosts[slot as usize];
        let mut leaders = self.leaders.iter();
        *leaders.find(|&&leader| host(leader) == host(slot)).unwrap()
    }

    fn on_host_of(&self, slot: u32) -> Vec<u32> {
        let is_here = |other: &u32| self.hosts[*other as usize] == self.hosts[slot as usize];
        (0..self.n()).filter(is_here).collect()
    }

    /// The hosts with several processes, by leader: their slots.
    fn shared(&self) -> impl Iterator<Item = (u32, Vec<u32>)> + '_ {
        let each = self
            .leaders
            .iter()
            .map(|&leader| (leader, self.on_host_of(leader)));
        each.filter(|(_, slots)| slots.len() > 1)
    }

    fn recognize(&self, schedule: &Schedule, operation: Operation, root: Option<u32>) -> Algorithm {
        let mut sent = schedule.sent.clone();
        sent.sort_by_key(|sent| sent.from);
        recognize(operation, places(&self.hosts), root, &sent)
            .unwrap()
            .names[0]
    }
}

impl Schedule {
    /// Appends a schedule among some of the processes.
    fn then(&mut self, part: &Schedule, slots: &[u32]) {
        for sent in &part.sent {
            let [from, to] = [sent.from, sent.to].map(|number| slots[number as usize]);
            self.sent.push(Sent {
                from,
                to,
                step_of_sender: self.steps[from as usize] + sent.step_of_sender,
                step_of_receiver: self.steps[to as usize] + sent.step_of_receiver,
                group: self.group,
            });
        }
        for (&slot, steps) in slots.iter().zip(&part.steps) {
            self.steps[slot as usize] += steps;
        }
    }
}

/// The tree with this name, rooted at any of `n` ranks.
fn tree_from(tree: Tree, n: u32, root: u32) -> Schedule {
    let schedule = match tree {
        Tree::Linear => star(n),
        Tree::Pipeline => chain(n, 1),
        _ => nomial_from_near(n, 2),
    };
    schedule.rotated(root)
}

const TREES: [Tree; 3] = [Tree::Linear, Tree::Pipeline, Tree::Binomial];

fn place(slots: &[u32], slot: u32) -> u32 {
    slots.iter().position(|&other| other == slot).unwrap() as u32
}

/// Whether a name is one of those that fit a tree of `n` ranks; with enough ranks the only one.
fn is_tree_name(found: Pattern, tree: Tree, n: u32) -> bool {
    let names = tree_from(tree, n, 0)
        .recognize(Operation::Bcast, Some(0))
        .names;
    assert!(names.contains(&Pattern::Rooted(Rooted::Tree(tree))));
    names.contains(&found)
}

fn largest(layout: &Layout) -> u32 {
    layout
        .shared()
        .map(|(_, slots)| slots.len() as u32)
        .max()
        .unwrap()
}

#[test]
fn broadcasts_and_reductions_in_two_levels_are_known_on_any_hosts_from_any_root() {
    let mut dice = Dice(1);
    let mut n_named = 0;
    for case in 0..200 {
        let mut layout = Layout::any(&mut dice);
        let root = dice.below(layout.n());
        // The root is a leader, or forwards to its leader.
        let is_forwarded = case % 3 == 0 && layout.leader_of(root) != root;
        if !is_forwarded {
            let of_root = layout.leader_of(root);
            layout.leaders.retain(|&leader| leader != of_root);
            layout.leaders.push(root);
            layout.leaders.sort_unstable();
        }
        let of_root = layout.leader_of(root);
        let [between, within] = [0, 1].map(|_| TREES[dice.below(3) as usize]);
        let n_leaders = layout.leaders.len() as u32;
        let mut schedule = Schedule::new(layout.n());
        if is_forwarded {
            schedule.send(root, of_root);
        }
        let among = tree_from(between, n_leaders, place(&layout.leaders, of_root));
        schedule.then(&among, &layout.leaders);
        // In every other case both levels have tags of their own.
        if case % 2 == 0 {
            schedule = schedule.next_group();
        }
        for (leader, slots) in layout.shared() {
            let part = tree_from(within, slots.len() as u32, place(&slots, leader));
            schedule.then(&part, &slots);
        }
        for (operation, schedule) in [
            (Operation::Reduce, schedule.reversed()),
            (Operation::Bcast, schedule),
        ] {
            let found = layout.recognize(&schedule, operation, Some(root));
            let Algorithm::TwoLevels(found) = found else {
                // The whole is a tree with a name of its own, or the tags of the levels are lost.
                let is_flat = flat(operation, layout.n(), Some(root), &schedule.sent).unwrap();
                assert!(!is_flat.is_unnamed(), "case {case}: {operation:?}, {found}");
                continue;
            };
            n_named += 1;
            assert_eq!(found.n_leaders, n_leaders, "case {case}");
            assert!(
                is_tree_name(found.between, between, n_leaders),
                "case {case}: {found:?}"
            );
            let (name, was_forwarded) = match found.within {
                Within::OneWay(name) => (name, false),
                Within::OneWayPassedOn(name) => (name, true),
                Within::ToAndFrom(..) => panic!("case {case}: {found:?}"),
            };
            // With two processes on the host, forwarding may be the tree itself.
            assert!(is_forwarded || !was_forwarded, "case {case}: {found:?}");
            assert!(
                is_tree_name(name, within, largest(&layout)),
                "case {case}: {operation:?}: {found:?}"
            );
        }
    }
    assert!(n_named > 300, "{n_named} of 400");
}

#[test]
fn allreduces_and_barriers_in_two_levels_are_known_on_any_hosts() {
    let mut dice = Dice(2);
    let mut n_named = 0;
    for case in 0..100 {
        let layout = Layout::any(&mut dice);
        let n_leaders = layout.leaders.len() as u32;
        let [to, from] = [0, 1].map(|_| TREES[dice.below(3) as usize]);
        let has_tags = case % 2 == 0;
        let mut schedule = Schedule::new(layout.n());
        for (leader, slots) in layout.shared() {
            let part = tree_from(to, slots.len() as u32, place(&slots, leader));
            schedule.then(&part.reversed(), &slots);
        }
        schedule.group += u32::from(has_tags);
        schedule.then(&folded(n_leaders, 1), &layout.leaders);
        schedule.group += u32::from(has_tags);
        for (leader, slots) in layout.shared() {
            let part = tree_from(from, slots.len() as u32, place(&slots, leader));
            schedule.then(&part, &slots);
        }
        for operation in [Operation::Allreduce, Operation::Barrier] {
            let found = layout.recognize(&schedule, operation, None);
            let Algorithm::TwoLevels(TwoLevels {
                n_leaders: n,
                between,
                within: Within::ToAndFrom(down, up),
            }) = found
            else {
                assert!(!has_tags, "case {case}: {operation:?}: {found}");
                continue;
            };
            n_named += 1;
            assert_eq!(n, n_leaders);
            let among = folded(n_leaders, 1).recognize(operation, None);
            assert_eq!(between, among.names[0], "case {case}");
            for (name, tree) in [(down, to), (up, from)] {
                assert!(
                    is_tree_name(name, tree, largest(&layout)),
                    "case {case}: {found}"
                );
            }
        }
    }
    assert!(n_named > 150, "{n_named} of 200");
}

#[test]
fn two_levels_are_described_as_text() {
    let hosts = [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3];
    let layout = Layout {
        hosts: hosts.to_vec(),
        leaders: vec![0, 3, 6, 9],
    };
    let mut up = Schedule::new(12);
    up.then(&nomial_from_near(4, 2), &layout.leaders);
    for (_, slots) in layout.shared() {
        up.then(&star(3), &slots);
    }
    let words = |schedule: &Schedule, operation, root| {
        layout.recognize(schedule, operation, root).to_string()
    };
    assert_eq!(
        words(&up, Operation::Bcast, Some(0)),
        "two levels: binomial among 4 host leaders, linear within hosts"
    );
    // As in MPICH if the root is no leader: the root gets back what it has sent.
    let mut forwarded = Schedule::new(12);
    forwarded.send(2, 0);
    forwarded.then(&nomial_from_near(4, 2), &layout.leaders);
    for (_, slots) in layout.shared() {
        forwarded.then(&star(3), &slots);
    }
    assert_eq!(
        words(&forwarded, Operation::Bcast, Some(2)),
        "two levels: binomial among 4 host leaders, linear within hosts, by way of the root's leader"
    );
    let mut both = Schedule::new(12);
    for (_, slots) in layout.shared() {
        both.then(&chain(3, 1).reversed(), &slots);
    }
    both.then(&folded(4, 1), &layout.leaders);
    for (_, slots) in layout.shared() {
        both.then(&star(3), &slots);
    }
    assert_eq!(
        words(&both, Operation::Allreduce, None),
        "two levels: recursive doubling among 4 host leaders, \
         pipeline within hosts to the leader, linear back"
    );
    // MPICH's barrier: a whole barrier within each host before that of the leaders.
    let mut barrier = Schedule::new(12);
    for (_, slots) in layout.shared() {
        barrier.then(&around(3, doubling(3)), &slots);
    }
    let mut barrier = barrier.next_group();
    barrier.then(&around(4, doubling(4)), &layout.leaders);
    let mut barrier = barrier.next_group();
    for (_, slots) in layout.shared() {
        barrier.then(&star(3), &slots);
    }
    assert_eq!(
        words(&barrier, Operation::Barrier, None),
        "two levels: Bruck (dissemination) among 4 host leaders, \
         Bruck (dissemination) within hosts to the leader, linear back"
    );
}

#[test]
fn what_is_not_in_two_levels_is_not_called_so() {
    let mut dice = Dice(3);
    let is_flat = |found: Algorithm| matches!(found, Algorithm::Flat(_));
    for case in 0..60 {
        let layout = Layout::any(&mut dice);
        let n = layout.n();
        let root = layout.leaders[0];
        let number = place(&layout.leaders, root);
        let mut schedule = Schedule::new(n);
        let between = tree_from(Tree::Binomial, layout.leaders.len() as u32, number);
        schedule.then(&between, &layout.leaders);
        schedule = schedule.next_group();
        for (leader, slots) in layout.shared() {
            let part = tree_from(Tree::Linear, slots.len() as u32, place(&slots, leader));
            schedule.then(&part, &slots);
        }
        let as_made = layout.recognize(&schedule, Operation::Bcast, Some(root));
        assert!(!is_flat(as_made), "case {case}: {as_made}");

        // All on one host, and each on a host of its own.
        for hosts in [vec![0; n as usize], (0..n).collect()] {
            let other = Layout {
                hosts,
                leaders: Vec::new(),
            };
            let found = other.recognize(&schedule, Operation::Bcast, Some(root));
            assert!(is_flat(found), "case {case}: {found}");
        }
        // One process moves to another host, where it is a second one that receives from other
        // hosts.
        let (leader, slots) = layout.shared().next().unwrap();
        let moved = slots.into_iter().find(|&slot| slot != leader).unwrap();
        let elsewhere = layout
            .leaders
            .iter()
            .find(|&&other| other != leader)
            .unwrap();
        let mut hosts = layout.hosts.clone();
        hosts[moved as usize] = hosts[*elsewhere as usize];
        let other = Layout {
            hosts,
            leaders: Vec::new(),
        };
        let found = other.recognize(&schedule, Operation::Bcast, Some(root));
        assert!(is_flat(found), "case {case}: {found}");
        // One process gets nothing.
        schedule.sent.retain(|sent| sent.to != moved);
        let found = layout.recognize(&schedule, Operation::Bcast, Some(root));
        assert!(is_flat(found), "case {case}: {found}");
    }
    // Algorithms that ignore hosts, with any layout.
    for _ in 0..60 {
        let layout = Layout::any(&mut dice);
        let n = layout.n();
        let whole = [
            (nomial_from_near(n, 2), Operation::Bcast, Some(0)),
            (chain(n, 1), Operation::Bcast, Some(0)),
            (folded(n, 1), Operation::Allreduce, None),
            (folded(n, 2), Operation::Allreduce, None),
            (around(n, doubling(n)), Operation::Barrier, None),
            (around(n, 1..n), Operation::Alltoall, None),
        ];
        for (schedule, operation, root) in whole {
            let found = layout.recognize(&schedule, operation, root);
            assert!(is_flat(found), "{n} ranks: {found}");
        }
    }
}
