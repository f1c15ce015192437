//! The true figures of messages: each quantity of each node and edge, computed from the chosen
//! times.
//!
//! Of a message in several segments the last one counts at the nodes: the data are complete when
//! all of it has arrived.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use collbench_formats::Operation;
use serde::Serialize;

use super::super::summary::{Summary, TruthDetail};
use super::progress_calls::ProgressCalls;
use super::shape::Direction;
use super::simulation::{InstanceMessages, MessageModel, Step, TrueMessage};

/// True figures of one edge.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueEdge {
    /// World rank of the sender.
    pub from: u32,
    /// World rank of the receiver.
    pub to: u32,
    /// `down`: to the root, `up`: from the root; `None` in an exchange.
    pub direction: Option<&'static str>,
    /// Number of messages.
    pub messages: u64,
    /// Sum of their bytes.
    pub bytes: u64,
    /// Completion of the receive - max(begin of the send, begin of the receive), per message.
    pub transfer_ns: Summary,
    /// max(0, begin of the receive - begin of the send), per message.
    pub late_receiver_ns: Summary,
    /// The part of the late receiver time in which the receiver was in no MPI call.
    pub late_progress_ns: Summary,
    /// Completion of the receive - begin of the send, per instance, of the last message.
    pub one_way_ns: Summary,
    /// Round trip over both directions of the edge, stored at the edge to the root: (t4 - t1) - (t3
    /// - t2).
    pub two_way_ns: Summary,
}

/// A contributor of a join: the own process of the node, or a child.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueContributor {
    /// World rank.
    pub rank: u32,
    /// Last arrival - own arrival.
    pub arrival_wait_ns: Summary,
    /// Own departure - first departure.
    pub departure_wait_ns: Summary,
}

/// True figures of one node.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueJoin {
    /// World rank.
    pub rank: u32,
    /// The own process first, then the children by rank.
    pub contributors: Vec<TrueContributor>,
    /// Begin of the send to the parent - last arrival; not at the root.
    pub down_ns: Summary,
    /// First departure - completion of the receive from the parent; not at the root.
    pub up_ns: Summary,
    /// At the root: first departure - last arrival.
    pub core_ns: Summary,
}

/// True figures of one receive of a rank in an exchange.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueRound {
    /// World rank.
    pub rank: u32,
    /// Number of the receive of this rank, from 0.
    pub round: u32,
    /// From the previous receive (or the enter) to the begin of this one.
    pub local_ns: Summary,
    /// From there to the begin of the partner's send.
    pub late_sender_ns: Summary,
    /// From then on to the completion.
    pub transfer_ns: Summary,
}

/// Critical paths of the instances: backwards from the last leave.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueCriticalPath {
    /// By world rank where the path began: number of instances.
    pub begins: BTreeMap<u32, u64>,
    /// By `from-to`: number of instances whose path used this hop, and the sum of its times.
    pub hops: BTreeMap<String, (u64, u64)>,
}

/// True figures of (operation, communicator, root, class of bytes, shape).
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueTree {
    /// The name in the MPI standard.
    pub operation: &'static str,
    /// Index in `communicators`.
    pub communicator: usize,
    /// World rank of the root.
    pub root: Option<u32>,
    /// As in `operations`.
    pub bytes_class: u64,
    /// Name of the shape in the scenario.
    pub shape: String,
    /// Number of complete instances; the following figures are of these.
    pub instances: u64,
    /// Sorted by sender, receiver and direction.
    pub edges: Vec<TrueEdge>,
    /// Sorted by world rank; empty for an exchange.
    pub joining_points: Vec<TrueJoin>,
    /// Sorted by world rank and number; empty for a tree.
    pub rounds: Vec<TrueRound>,
    /// What the last rank to leave waited for.
    pub critical_path: TrueCriticalPath,
    /// For a nonblocking operation: time for which no rank was in an MPI call.
    pub nobody_in_mpi_ns: Summary,
    /// For a nonblocking operation: when its messages were sent.
    pub sent: Option<TrueSends>,
}

/// Messages of a nonblocking operation, by when they were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TrueSends {
    /// Before the initiating call of their sender returned.
    pub initiating: u64,
    /// From then on until it entered the completing call.
    pub between: u64,
    /// From then on.
    pub completing: u64,
}

impl TrueSends {
    /// Adds the messages of an instance that progresses in these calls.
    fn add(&mut self, simulated: &InstanceMessages, calls: &[ProgressCalls]) {
        for message in &simulated.messages {
            let of_sender = &calls[message.from];
            match message.sent {
                Some(sent) if sent <= of_sender.initiated => self.initiating += 1,
                Some(sent) if sent < of_sender.entered => self.between += 1,
                Some(_) => self.completing += 1,
                None => {}
            }
        }
    }
}

/// One instance, by position in the communicator.
pub(crate) struct TrueInstance<'a> {
    pub(crate) operation: Operation,
    pub(crate) communicator: usize,
    /// World ranks.
    pub(crate) ranks: &'a [u32],
    /// World rank.
    pub(crate) root: Option<u32>,
    pub(crate) bytes_class: u64,
    pub(crate) model: &'a MessageModel,
    /// Position of the node without a parent.
    pub(crate) top: usize,
    pub(crate) enters: &'a [u64],
    pub(crate) leaves: &'a [u64],
    pub(crate) simulated: &'a InstanceMessages,
    /// By position: the calls in which it progressed; `None` for a blocking operation.
    pub(crate) calls: Option<&'a [ProgressCalls]>,
}

type Key = (Operation, usize, Option<u32>, u64, String);

#[derive(Debug, Default)]
struct Sums {
    instances: u64,
    edges: BTreeMap<(u32, u32, Option<Direction>), TrueEdge>,
    points: BTreeMap<u32, Point>,
    rounds: BTreeMap<(u32, u32), TrueRound>,
    critical_path: TrueCriticalPath,
    nobody_in_mpi_ns: Summary,
    sent: Option<TrueSends>,
}

#[derive(Debug, Default)]
struct Point {
    own: TrueContributor,
    children: BTreeMap<u32, TrueContributor>,
    down_ns: Summary,
    up_ns: Summary,
    core_ns: Summary,
}

/// Accumulates the true figures of messages.
#[derive(Debug)]
pub(crate) struct TreeBuilder {
    detail: TruthDetail,
    trees: HashMap<Key, Sums>,
}

/// A message whose four times are known.
#[derive(Debug, Clone, Copy)]
struct Delivery {
    from: usize,
    to: usize,
    bytes: u64,
    direction: Direction,
    sent: u64,
    posted: u64,
    completed: u64,
    late_progress: Option<u64>,
    /// Index of the send among all ends of its sender, and of the receive among those of its
    /// receiver.
    nth: [usize; 2],
}

/// Direction, node and child; for a round its sender and receiver.
type Edge = (Direction, usize, usize);

/// The messages of an instance in order, with indexes.
struct Deliveries {
    list: Vec<Delivery>,
    /// By position of the sender.
    from: Vec<Vec<Delivery>>,
    /// By position of the receiver.
    to: Vec<Vec<Delivery>>,
    /// The last message of each edge.
    last: BTreeMap<Edge, Delivery>,
}

impl TreeBuilder {
    pub(crate) fn new(detail: TruthDetail) -> Self {
        Self {
            detail,
            trees: HashMap::new(),
        }
    }

    /// Adds a complete instance.
    pub(crate) fn instance(&mut self, instance: &TrueInstance<'_>) {
        let key = (
            instance.operation,
            instance.communicator,
            instance.root,
            instance.bytes_class,
            instance.model.shape.name(),
        );
        let detail = self.detail;
        let sums = self.trees.entry(key).or_default();
        sums.instances += 1;
        let simulated = instance.simulated;
        let nths = nth_ends(simulated);
        let passed = nths.iter().enumerate();
        let passed = passed.filter_map(|(number, &nth)| instance.passed(number, nth));
        if let Some(nobody) = instance.calls.and_then(ProgressCalls::nobody_ns) {
            sums.nobody_in_mpi_ns.add(nobody.cast_signed(), detail);
        }
        if let Some(calls) = instance.calls {
            sums.sent.get_or_insert_default().add(simulated, calls);
        }
        let passed = Deliveries::of(passed.collect(), instance.ranks.len());
        sums.add_edges(instance, &passed, detail);
        if instance.model.shape.is_exchange() {
            sums.add_rounds(instance, &passed, detail)
        } else {
            sums.add_points(instance, &passed, detail)
        }
        sums.add_critical_path(instance);
    }

    pub(crate) fn finish(self) -> Vec<TrueTree> {
        let mut trees: Vec<_> = self.trees.into_iter().collect();
        trees.sort_by(|(a, _), (b, _)| a.cmp(b));
        let finished = trees.into_iter().map(|(key, sums)| {
            let (operation, communicator, root, bytes_class, shape) = key;
            TrueTree {
                operation: operation.name(),
                communicator,
                root,
                bytes_class,
                shape,
                instances: sums.instances,
                edges: sums.edges.into_values().collect(),
                joining_points: sums.points.into_iter().map(Point::finish).collect(),
                rounds: sums.rounds.into_values().collect(),
                critical_path: sums.critical_path,
                nobody_in_mpi_ns: sums.nobody_in_mpi_ns,
                sent: sums.sent,
            }
        });
        finished.collect()
    }
}

/// By message: index of the send among all ends of its sender, and of the receive among those of
/// its receiver.
fn nth_ends(simulated: &InstanceMessages) -> Vec<[usize; 2]> {
    let mut nths = vec![[0; 2]; simulated.messages.len()];
    for ends in &simulated.ends {
        for (nth, end) in ends.iter().enumerate() {
            nths[end.message][end.side as usize] = nth;
        }
    }
    nths
}

impl Delivery {
    fn of(message: &TrueMessage, nth: [usize; 2]) -> Option<Self> {
        Some(Self {
            from: message.from,
            to: message.to,
            bytes: message.bytes,
            direction: message.direction,
            sent: message.sent?,
            posted: message.posted?,
            completed: message.completed?,
            late_progress: None,
            nth,
        })
    }

    /// A message whose reception is only visible when its receiver forwards the data.
    fn in_calls(
        self,
        simulated: &InstanceMessages,
        number: usize,
        calls: &[ProgressCalls],
    ) -> Option<Self> {
        let taken = simulated.forwarded_at(number)?;
        let (ready, late_progress) = calls[self.to].lateness(self.sent, self.posted, taken);
        Some(Self {
            posted: ready,
            completed: taken,
            late_progress,
            ..self
        })
    }

    fn transfer(&self) -> u64 {
        self.completed - self.sent.max(self.posted)
    }

    fn edge(&self) -> Edge {
        match self.direction {
            Direction::Down => (self.direction, self.to, self.from),
            Direction::Up | Direction::Round(_) => (self.direction, self.from, self.to),
        }
    }
}

impl Deliveries {
    fn of(list: Vec<Delivery>, n_ranks: usize) -> Self {
        let mut from = vec![Vec::new(); n_ranks];
        let mut to = from.clone();
        let mut last = BTreeMap::new();
        for message in &list {
            from[message.from].push(*message);
            to[message.to].push(*message);
            last.insert(message.edge(), *message);
        }
        Self {
            list,
            from,
            to,
            last,
        }
    }

    /// The last message in this direction between a node and each of its children, by child.
    fn of_children(
        &self,
        direction: Direction,
        node: usize,
    ) -> impl Iterator<Item = (usize, &Delivery)> {
        let of_node = self
            .last
            .range((direction, node, 0)..=(direction, node, usize::MAX));
        of_node.map(|(&(.., child), message)| (child, message))
    }

    /// Whether a message is the last one on its edge.
    fn is_last(&self, message: &Delivery) -> bool {
        let last = self.last.get(&message.edge());
        last.is_some_and(|last| last.nth == message.nth)
    }

    fn has_direction(&self, direction: Direction) -> bool {
        let mut of_direction = self
            .last
            .range((direction, 0, 0)..=(direction, usize::MAX, usize::MAX));
        of_direction.next().is_some()
    }
}

fn difference(later: u64, earlier: u64) -> i64 {
    later.cast_signed() - earlier.cast_signed()
}

impl Point {
    /// The child with this world rank, or the own process of the node.
    fn contributor(&mut self, of: Option<u32>) -> &mut TrueContributor {
        let Some(rank) = of else { return &mut self.own };
        let child = self.children.entry(rank).or_default();
        child.rank = rank;
        child
    }

    fn finish((rank, point): (u32, Self)) -> TrueJoin {
        let mut contributors = vec![point.own];
        contributors.extend(point.children.into_values());
        TrueJoin {
            rank,
            contributors,
            down_ns: point.down_ns,
            up_ns: point.up_ns,
            core_ns: point.core_ns,
        }
    }
}

impl Sums {
    fn add_edges(&mut self, instance: &TrueInstance<'_>, passed: &Deliveries, detail: TruthDetail) {
        for message in &passed.list {
            let (from, to) = (instance.ranks[message.from], instance.ranks[message.to]);
            let (direction, name) = match message.direction {
                Direction::Down => (Some(Direction::Down), Some("down")),
                Direction::Up => (Some(Direction::Up), Some("up")),
                Direction::Round(_) => (None, None),
            };
            let edge = self.edges.entry((from, to, direction)).or_insert(TrueEdge {
                from,
                to,
                direction: name,
                ..TrueEdge::default()
            });
            edge.messages += 1;
            edge.bytes += message.bytes;
            edge.transfer_ns
                .add(message.transfer().cast_signed(), detail);
            let late = message.posted.saturating_sub(message.sent);
            edge.late_receiver_ns.add(late.cast_signed(), detail);
            if let Some(late) = message.late_progress {
                edge.late_progress_ns.add(late.cast_signed(), detail);
            }
            if !passed.is_last(message) {
                continue;
            }
            edge.one_way_ns
                .add(difference(message.completed, message.sent), detail);
            let back = passed.last.get(&(Direction::Up, message.to, message.from));
            // If it is not known when the messages arrived, the time at the node is not known
            // either.
            if let (Direction::Down, Some(back), None) = (message.direction, back, instance.calls) {
                let outside = difference(back.completed, message.sent);
                let at_child = difference(back.sent, message.completed);
                edge.two_way_ns.add(outside - at_child, detail);
            }
        }
    }

    fn add_points(
        &mut self,
        instance: &TrueInstance<'_>,
        passed: &Deliveries,
        detail: TruthDetail,
    ) {
        let (goes_down, goes_up) = (
            passed.has_direction(Direction::Down),
            passed.has_direction(Direction::Up),
        );
        for (i, &rank) in instance.ranks.iter().enumerate() {
            let point = self.points.entry(rank).or_default();
            point.own.rank = rank;
            // By child: when all of its data had arrived, and when its last message was sent.
            let mut arrivals: Vec<(Option<u32>, u64)> = vec![(None, instance.enters[i])];
            let mut departures: Vec<(Option<u32>, u64)> = vec![(None, instance.leaves[i])];
            let down = passed.of_children(Direction::Down, i);
            arrivals.extend(down.map(|(child, m)| (Some(instance.ranks[child]), m.completed)));
            let up = passed.of_children(Direction::Up, i);
            departures.extend(up.map(|(child, m)| (Some(instance.ranks[child]), m.sent)));
            // The arrival of messages is not visible in a collective that progresses in other
            // calls.
            let is_nonblocking = instance.calls.is_some();
            let are_seen = !is_nonblocking || arrivals.len() == 1;
            let last_arrival = arrivals.iter().map(|&(_, at)| at).max().unwrap_or(0);
            let first_departure = departures.iter().map(|&(_, at)| at).min().unwrap_or(0);
            if goes_down && are_seen {
                for (of, at) in arrivals {
                    let wait = difference(last_arrival, at);
                    point.contributor(of).arrival_wait_ns.add(wait, detail);
                }
            }
            if goes_up {
                for (of, at) in departures {
                    let wait = difference(at, first_departure);
                    point.contributor(of).departure_wait_ns.add(wait, detail);
                }
            }
            if i == instance.top && !are_seen {
                continue;
            }
            if i == instance.top {
                let core = if goes_up {
                    difference(first_departure, last_arrival)
                } else {
                    difference(instance.leaves[i], last_arrival)
                };
                point.core_ns.add(core, detail);
                continue;
            }
            if let Some(on) = passed.from[i]
                .iter()
                .rfind(|m| m.direction == Direction::Down)
            {
                let down = difference(on.sent, last_arrival);
                if are_seen {
                    point.down_ns.add(down, detail);
                }
            }
            if let Some(back) = passed.to[i].iter().rfind(|m| m.direction == Direction::Up)
                && !is_nonblocking
            {
                point
                    .up_ns
                    .add(difference(first_departure, back.completed), detail);
            }
        }
    }

    fn add_rounds(
        &mut self,
        instance: &TrueInstance<'_>,
        passed: &Deliveries,
        detail: TruthDetail,
    ) {
        for (i, &rank) in instance.ranks.iter().enumerate() {
            let mut received: Vec<&Delivery> = passed.to[i].iter().collect();
            received.sort_by_key(|m| m.posted);
            let mut before = instance.enters[i];
            for (round, message) in (0..).zip(received) {
                let entry = self.rounds.entry((rank, round)).or_insert(TrueRound {
                    rank,
                    round,
                    ..TrueRound::default()
                });
                entry
                    .local_ns
                    .add(difference(message.posted, before), detail);
                let late = message.sent.saturating_sub(message.posted);
                entry.late_sender_ns.add(late.cast_signed(), detail);
                entry
                    .transfer_ns
                    .add(message.transfer().cast_signed(), detail);
                before = message.completed;
            }
        }
    }

    /// Adds the critical path: backwards from the last leave. If a rank waited, the wait ended with
    /// the message that was sent last among those it waited for, provided that the rank was already
    /// waiting then; a send that waits for its receiver ends when that has posted the receive.
    fn add_critical_path(&mut self, instance: &TrueInstance<'_>) {
        let simulated = instance.simulated;
        let leaves = || instance.leaves.iter().copied();
        let latest = leaves().max().unwrap_or(0);
        let Some(mut at) = leaves().position(|leave| leave == latest) else {
            return;
        };
        let passed: Option<Vec<Delivery>> = (0..simulated.messages.len())
            .map(|number| instance.passed(number, [0; 2]))
            .collect();
        let Some(passed) = passed else { return };
        let mut gone = BTreeSet::new();
        let mut n_steps = simulated.steps[at].len();
        while let Some(nth) = n_steps.checked_sub(1) {
            n_steps = nth;
            let (number, took, goes_to) = match &simulated.steps[at][nth] {
                Step::Posted(_) => continue,
                Step::Sent(number) => {
                    let message = &simulated.messages[*number];
                    if !message.has_waited {
                        continue;
                    }
                    let posted = passed[*number].posted;
                    let returned = message.returned.unwrap_or(posted);
                    let is_post =
                        |step: &Step| matches!(step, Step::Posted(post) if post == number);
                    let post = simulated.steps[message.to].iter().position(is_post);
                    (
                        *number,
                        returned - posted,
                        post.map(|post| (message.to, post)),
                    )
                }
                Step::Waited(since, awaited) => {
                    let (mut since, mut awaited) = (*since, awaited.clone());
                    if instance.calls.is_some() {
                        // The completion of one message is not visible before all have completed,
                        // and a rank was not waiting before it was in a call.
                        while let Some(before) = n_steps.checked_sub(1) {
                            match &simulated.steps[at][before] {
                                Step::Posted(_) => {}
                                Step::Waited(_, others) => awaited.extend(others),
                                Step::Sent(_) => break,
                            }
                            n_steps = before;
                        }
                        let ready = awaited.iter().map(|&number| passed[number].posted);
                        since = ready.max().unwrap_or(since).max(since);
                    }
                    let order =
                        |&number: &usize| (passed[number].sent, passed[number].from, number);
                    let Some(&last) = awaited.iter().max_by_key(|number| order(number)) else {
                        continue;
                    };
                    let completed = awaited.iter().map(|&number| passed[number].completed);
                    let ended = completed.max().unwrap_or(0);
                    let message = &passed[last];
                    let is_send = |step: &Step| matches!(step, Step::Sent(send) if *send == last);
                    let send = simulated.steps[message.from].iter().position(is_send);
                    let goes_to = send.filter(|_| message.sent >= since);
                    let took = ended.saturating_sub(message.sent.max(since));
                    (last, took, goes_to.map(|send| (message.from, send)))
                }
            };
            let message = &passed[number];
            let (from, to) = (instance.ranks[message.from], instance.ranks[message.to]);
            let hops = &mut self.critical_path.hops;
            let hop = hops.entry(format!("{from}-{to}")).or_default();
            hop.0 += u64::from(gone.insert((from, to)));
            hop.1 += took;
            if let Some(there) = goes_to {
                (at, n_steps) = there;
            }
        }
        let rank = instance.ranks[at];
        *self.critical_path.begins.entry(rank).or_default() += 1;
    }
}

impl TrueInstance<'_> {
    /// A message, if it was delivered.
    fn passed(&self, number: usize, nth: [usize; 2]) -> Option<Delivery> {
        let passed = Delivery::of(&self.simulated.messages[number], nth)?;
        match self.calls {
            None => Some(passed),
            Some(calls) => passed.in_calls(self.simulated, number, calls),
        }
    }
}
