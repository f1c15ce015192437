//! Algorithms in two levels: within hosts, and between one process per host.
//!
//! Libraries that know the hosts do a collective in parts: within each host, and among the leaders
//! of the hosts. Each part has the graph of an algorithm of its own, which is recognized among the
//! processes of that part. The only condition on the whole is that one process of each host, and no
//! other, communicates with other hosts.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::{Operation, Semantics};

use super::super::algorithm::{Pattern, Rooted, TwoLevels, Within};
use super::super::exchanges::{Edge, Sent, Traffic};
use super::super::spanning::SpanningTree;
use super::flat::{barrier, flat};
use super::recognized::{Direction, Flat, along, tree_down};
use super::root::{from_root, to_root};

/// A result, and the edges with a direction relative to a root.
type Found = (TwoLevels, Vec<(Edge, Direction)>);

/// Whether no tag is used both within hosts and between them, and both kinds of messages exist.
pub(super) fn are_apart(hosts: &[u32], sent: &[Sent]) -> bool {
    let groups = |is_within: bool| -> BTreeSet<u32> {
        let level = sent
            .iter()
            .filter(|sent| is_inside(hosts, sent) == is_within);
        level.map(|sent| sent.group).collect()
    };
    let [within, between] = [groups(true), groups(false)];
    !within.is_empty() && !between.is_empty() && within.is_disjoint(&between)
}

/// Recognizes how processes on these hosts did `operation` in two levels; `None` if they did not.
pub(super) fn recognize(
    operation: Operation,
    hosts: &[u32],
    root: Option<u32>,
    sent: &[Sent],
) -> Option<Found> {
    let levels = Levels::of(hosts, sent)?;
    let operation = operation.blocking();
    match (operation.semantics(), root) {
        (Semantics::OneToMany, Some(root)) => levels.one_way(operation, root, Direction::Up),
        (Semantics::ManyToOne, Some(root)) => levels.one_way(operation, root, Direction::Down),
        (Semantics::AllToAll | Semantics::Barrier, _) => levels.to_and_from(operation),
        _ => None,
    }
}

/// Recognizes how two groups, in place of hosts, did `operation` in two levels.
pub(super) fn recognize_groups(
    operation: Operation,
    groups: &[u32],
    sent: &[Sent],
) -> Option<Found> {
    Levels::of(groups, sent)?.to_and_from(operation.blocking())
}

/// Data flow from one group to the other.
pub(super) struct OneWay {
    /// Between the leaders.
    pub(super) between: Pattern,
    /// To the leader of the sending group.
    pub(super) to: Option<Pattern>,
    /// From the leader of the receiving group.
    pub(super) from: Option<Pattern>,
}

/// Recognizes the data flow from the group `giver`, one of two, to the other one.
pub(super) fn recognize_one_way(
    operation: Operation,
    groups: &[u32],
    giver: u32,
    sent: &[Sent],
) -> Option<(OneWay, Vec<(Edge, Direction)>)> {
    let levels = Levels::of(groups, sent)?;
    let among = flat(operation, levels.leaders.n(), None, &levels.leaders.sent)?;
    if among.is_unnamed() {
        return None;
    }
    let mut directed = Vec::new();
    levels.leaders.add_directed(&among, &mut directed);
    let mut one_way = OneWay {
        between: among.names[0],
        to: None,
        from: None,
    };
    for part in &levels.hosts {
        let gives = groups[part.slots[0] as usize] == giver;
        let (direction, name) = if gives {
            (Direction::Down, &mut one_way.to)
        } else {
            (Direction::Up, &mut one_way.from)
        };
        let leader = part.number(levels.leader_of(part));
        let found = part.along(operation, leader, direction)?;
        part.add_directed(&found, &mut directed);
        *name = found.names.first().copied();
    }
    Some((one_way, directed))
}

fn is_inside(hosts: &[u32], sent: &Sent) -> bool {
    hosts[sent.from as usize] == hosts[sent.to as usize]
}

/// Some of the processes, renumbered, and the messages among them.
pub(super) struct Part {
    /// Ascending; the number of a process is its index in this list.
    slots: Vec<u32>,
    sent: Vec<Sent>,
}

impl Part {
    /// The messages with both ends among these slots, ascending.
    pub(super) fn of<'s>(slots: Vec<u32>, sent: impl IntoIterator<Item = &'s Sent>) -> Self {
        let number = |slot: u32| slots.binary_search(&slot).ok().map(|number| number as u32);
        let inside = sent.into_iter().filter_map(|sent| {
            Some(Sent {
                from: number(sent.from)?,
                to: number(sent.to)?,
                ..*sent
            })
        });
        let mut sent: Vec<Sent> = inside.collect();
        // A process counts its steps over all parts.
        let mut steps: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for message in &sent {
            let Sent { from, to, .. } = *message;
            steps
                .entry(from)
                .or_default()
                .insert(message.step_of_sender);
            steps
                .entry(to)
                .or_default()
                .insert(message.step_of_receiver);
        }
        let here = |slot: u32, step: u32| steps[&slot].range(..step).count() as u32;
        for message in &mut sent {
            message.step_of_sender = here(message.from, message.step_of_sender);
            message.step_of_receiver = here(message.to, message.step_of_receiver);
        }
        Self { slots, sent }
    }

    /// Whether there are no messages.
    pub(super) fn is_idle(&self) -> bool {
        self.sent.is_empty()
    }

    fn n(&self) -> u32 {
        self.slots.len() as u32
    }

    pub(super) fn number(&self, slot: u32) -> u32 {
        self.slots.partition_point(|&other| other < slot) as u32
    }

    fn traffic(&self) -> Traffic<'_> {
        Traffic::new(self.n(), &self.sent)
    }

    /// These slots with some of the messages only.
    fn only(&self, is_one: impl Fn(&Sent) -> bool) -> Self {
        Self {
            slots: self.slots.clone(),
            sent: self.sent.iter().copied().filter(is_one).collect(),
        }
    }

    /// In one direction along a tree, or with synchronization.
    pub(super) fn along(
        &self,
        operation: Operation,
        root: u32,
        direction: Direction,
    ) -> Option<Flat> {
        let found = match direction {
            Direction::Up => from_root(operation, &self.traffic(), Some(root)),
            Direction::Down => to_root(operation, &self.traffic(), Some(root)),
        };
        // A process would be left out without a reason.
        let is_of_some =
            |found: &Flat| matches!(found.names[0], Pattern::Rooted(Rooted::TreeOfSome(_)));
        found.filter(|found| !is_of_some(found))
    }

    /// Adds the directed edges of a result for this part, by slot.
    pub(super) fn add_directed(&self, found: &Flat, to: &mut Vec<(Edge, Direction)>) {
        let slot = |number: u32| self.slots[number as usize];
        let edges = found.directed.iter();
        to.extend(edges.map(|&((from, to), direction)| ((slot(from), slot(to)), direction)));
    }
}

/// Messages that separate into two levels.
struct Levels {
    /// One process of each host.
    leaders: Part,
    /// The hosts with several processes, the largest first.
    hosts: Vec<Part>,
    /// Leader of the host of each slot.
    leader_of: Vec<u32>,
}

impl Levels {
    /// `None` if there are no two levels, or several processes of a host communicate with others.
    fn of(hosts: &[u32], sent: &[Sent]) -> Option<Self> {
        let (within, between): (Vec<Sent>, Vec<Sent>) =
            sent.iter().partition(|sent| is_inside(hosts, sent));
        let mut leaders: BTreeMap<u32, u32> = BTreeMap::new();
        for slot in between.iter().flat_map(|sent| [sent.from, sent.to]) {
            let leader = leaders.entry(hosts[slot as usize]).or_insert(slot);
            if *leader != slot {
                return None;
            }
        }
        let mut slots: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (slot, &host) in (0..).zip(hosts) {
            slots.entry(host).or_default().push(slot);
        }
        if within.is_empty() || leaders.len() < 2 || leaders.len() < slots.len() {
            return None;
        }
        let of_host = slots.into_values().filter(|slots| slots.len() > 1);
        let mut parts: Vec<Part> = of_host.map(|slots| Part::of(slots, &within)).collect();
        parts.sort_by_key(|part| std::cmp::Reverse(part.n()));
        let mut of_hosts: Vec<u32> = leaders.values().copied().collect();
        of_hosts.sort_unstable();
        Some(Self {
            leaders: Part::of(of_hosts, &between),
            hosts: parts,
            leader_of: hosts.iter().map(|host| leaders[host]).collect(),
        })
    }

    fn leader_of(&self, part: &Part) -> u32 {
        self.leader_of[part.slots[0] as usize]
    }

    /// For operations with a root.
    fn one_way(&self, operation: Operation, root: u32, direction: Direction) -> Option<Found> {
        let of_root = self.leader_of[root as usize];
        let between = self
            .leaders
            .along(operation, self.leaders.number(of_root), direction)?;
        let mut directed = Vec::new();
        self.leaders.add_directed(&between, &mut directed);
        let mut is_forwarded = false;
        let mut names = Vec::new();
        for part in &self.hosts {
            let leader = self.leader_of(part);
            let is_of_root = part.slots.contains(&root);
            let begin = part.number(if is_of_root { root } else { leader });
            let found = part.along(operation, begin, direction);
            let forwarded = match &found {
                Some(found) if found.directed.len() + 1 == part.slots.len() => None,
                _ if is_of_root && root != leader => {
                    part.forwarded(operation, root, leader, direction)
                }
                _ => None,
            };
            is_forwarded |= forwarded.is_some();
            let found = forwarded.or(found)?;
            part.add_directed(&found, &mut directed);
            names.push(found.names);
        }
        let within = common(&names);
        let name = self.named(
            &between,
            if is_forwarded {
                Within::OneWayPassedOn(within)
            } else {
                Within::OneWay(within)
            },
        );
        Some((name, directed))
    }

    /// For operations without a root: to the leaders, among them, and from them.
    fn to_and_from(&self, operation: Operation) -> Option<Found> {
        let among = flat(operation, self.leaders.n(), None, &self.leaders.sent)?;
        if among.names[0] == Pattern::Unrecognized {
            return None;
        }
        let mut edges = [Vec::new(), Vec::new()];
        let mut names = [Vec::new(), Vec::new()];
        for part in &self.hosts {
            let leader = part.number(self.leader_of(part));
            let found = part.to_and_from(operation, leader)?;
            for (nth, found) in found.iter().enumerate() {
                part.add_directed(found, &mut edges[nth]);
                names[nth].push(found.names.clone());
            }
        }
        let name = self.named(
            &among,
            Within::ToAndFrom(common(&names[0]), common(&names[1])),
        );
        let mut directed = Vec::new();
        self.leaders.add_directed(&among, &mut directed);
        // An edge that is used both ways has no direction, only its messages have.
        for nth in [0, 1] {
            let others: BTreeSet<Edge> = edges[1 - nth].iter().map(|(edge, _)| *edge).collect();
            let own = edges[nth].iter().filter(|(edge, _)| !others.contains(edge));
            directed.extend(own);
        }
        Some((name, directed))
    }

    fn named(&self, between: &Flat, within: Within) -> TwoLevels {
        TwoLevels {
            n_leaders: self.leaders.n(),
            between: between.names[0],
            within,
        }
    }
}

impl Part {
    /// From a root that is no leader to the leader, and from there to all others, the root included
    /// or not; or in the other direction.
    fn forwarded(
        &self,
        operation: Operation,
        root: u32,
        leader: u32,
        direction: Direction,
    ) -> Option<Flat> {
        let [root, leader] = [root, leader].map(|slot| self.number(slot));
        let edge = match direction {
            Direction::Up => (root, leader),
            Direction::Down => (leader, root),
        };
        let mut at = (0..self.sent.len()).filter(|&at| {
            let sent = &self.sent[at];
            (sent.from, sent.to) == edge
        });
        let at = match direction {
            Direction::Up => at.next(),
            Direction::Down => at.next_back(),
        }?;
        let mut rest = self.sent.clone();
        rest.remove(at);
        let all = Self {
            slots: self.slots.clone(),
            sent: rest,
        };
        if let Some(mut found) = all.along(operation, leader, direction) {
            // If the root gets back what it has sent, or sends what it gets, that edge is used both
            // ways.
            found.directed.retain(|(other, _)| *other != edge);
            found.directed.push((edge, direction));
            return Some(found);
        }
        let is_root = |sent: &&Sent| sent.from == root || sent.to == root;
        if all.sent.iter().any(|sent| is_root(&sent)) {
            return None;
        }
        let others: Vec<u32> = (0..self.n()).filter(|&number| number != root).collect();
        let others = Self::of(others, &all.sent);
        let found = others.along(operation, others.number(leader), direction)?;
        let mut directed = vec![(edge, direction)];
        others.add_directed(&found, &mut directed);
        Some(Flat { directed, ..found })
    }

    /// To the leader, and from it.
    fn to_and_from(&self, operation: Operation, leader: u32) -> Option<[Flat; 2]> {
        let towards = |part: &Self| {
            match operation {
                Operation::Barrier => barrier(&part.traffic()),
                _ => None,
            }
            .or_else(|| part.along(operation, leader, Direction::Down))
        };
        let groups: BTreeSet<u32> = self.sent.iter().map(|sent| sent.group).collect();
        if let [one, other] = *Vec::from_iter(groups) {
            for (to, from) in [(one, other), (other, one)] {
                let to = towards(&self.only(|sent| sent.group == to));
                let from = self.only(|sent| sent.group == from);
                let from = from.along(operation, leader, Direction::Up);
                if let (Some(to), Some(from)) = (to, from) {
                    return Some([to, from]);
                }
            }
        }
        // With one tag: the first message of each process except the leader flows to the leader.
        let mut seen = BTreeSet::from([leader]);
        let first = self.sent.iter().filter(|sent| seen.insert(sent.from));
        let first: BTreeSet<Edge> = first.map(|sent| (sent.from, sent.to)).collect();
        let down = self.only(|sent| first.contains(&(sent.from, sent.to)));
        let back = self.traffic();
        let back = back.edges().filter(|edge| !first.contains(edge));
        let up = SpanningTree::of(self.n(), back.map(|(from, to)| (to, from)))?;
        let down = tree_down(&down.traffic())?;
        (down.root == leader && up.root == leader)
            .then(|| [along(&down, Direction::Down), along(&up, Direction::Up)])
    }
}

/// The name that fits all of several parts: the first one of the largest part.
pub(super) fn common(names: &[Vec<Pattern>]) -> Pattern {
    let mut of_first = names.first().into_iter().flatten();
    let fits = |name: &&Pattern| names.iter().all(|names| names.contains(name));
    of_first.find(fits).copied().unwrap_or(Pattern::Different)
}
