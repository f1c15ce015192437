//! What is kept of the instances of one graph: sums of each edge, each node and each round.
//!
//! All times of a node are of one host's clock. Those between the two ends of a message are of two,
//! if the ends are on two hosts: they are known where these have a common time.

use crate::agreed::Agreed;
use crate::inside::critical::{CriticalPath, CriticalTally};
use crate::inside::gauge::{Gauge, Grain};
use crate::inside::message::{InstanceMessage, Messages};
use crate::inside::roles::{Node, Roles, Round, TreeRoles};
use crate::inside::shape::Shape;
use crate::inside::taken::Taken;
use crate::presence::outside_ns;
use crate::resolution::Resolution;

/// Graphs with more edges are kept coarsely.
const MAX_FINE_EDGES: usize = 2048;
/// Rounds of a node that are kept; what comes behind them is added to the last.
const MAX_ROUNDS: usize = 1024;

/// Sums of the instances of one graph.
#[derive(Debug, Default)]
pub struct GraphFigures {
    /// Instances.
    pub n: u64,
    /// By edge of the graph.
    pub edges: Vec<EdgeFigures>,
    /// By slot.
    pub nodes: Vec<NodeFigures>,
    /// Whether it goes through a tree, down and up; `[false, false]` is an exchange.
    pub has: [bool; 2],
    /// The node without a parent.
    pub top: u32,
    /// How the last to leave came to its end.
    pub critical: CriticalTally,
    /// Per instance that goes on in other calls: for how long nobody was in any, from the last
    /// initiation to the first completion.
    pub nobody: Gauge,
    /// Sum of the durations of these instances, ns.
    pub nobody_of_ns: i128,
}

/// Sums of one edge; times per message.
#[derive(Debug, Clone)]
pub struct EdgeFigures {
    /// Messages towards the root, and from it.
    pub ways: [u64; 2],
    /// Completion of the receive - max(begin of the send, begin of the receive).
    pub transfer: Gauge,
    /// Max(0, begin of the receive - begin of the send).
    pub late_receiver: Gauge,
    /// What of that the receiver was in no call of MPI, where the collective goes on in other calls.
    pub late_progress: Gauge,
    /// Of the last message of each instance, whose way is that of the data.
    pub last: LastMessage,
    /// Per instance, of an edge down that there is one up for: (t4 - t1) - (t3 - t2).
    pub two_way: Gauge,
}

/// Sums of the last message over an edge, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LastMessage {
    /// Instances.
    pub n: u64,
    /// Begin of the receive - begin of the send, where that is above 0.
    pub late_receiver_ns: i128,
    /// From then on to the end of the receive.
    pub transfer_ns: i128,
    /// Instances of which the late progress is known.
    pub n_progress: u64,
    /// Its sum.
    pub late_progress_ns: i128,
}

/// Sums of one node; times per instance.
#[derive(Debug, Clone)]
pub struct NodeFigures {
    /// Who arrives: its own process first, then its children.
    pub arrivals: Vec<Meeting>,
    /// Who departs, likewise.
    pub departures: Vec<Meeting>,
    /// Sending on to the parent - last arrival.
    pub down: Gauge,
    /// First departure - receiving from the parent.
    pub up: Gauge,
    /// At the top: first departure - last arrival; where nothing goes up, its leave - last arrival.
    pub core: Gauge,
    /// By position in the order of departure: departure - receiving from the parent (at the top:
    /// - last arrival), number and sum.
    pub serialization: Vec<(u64, i128)>,
    /// Where it is not seen when messages come: from the own enter to sending on to the parent; at the
    /// top to the first departure.
    pub own: Gauge,
    /// Where it goes on in other calls: from the first departure to the own leave, outside of any.
    pub away: Gauge,
    /// The whole way of its process: own leave - own enter, where nothing goes down - that of the
    /// top, where nothing goes up the top's leave.
    pub way: Gauge,
    /// Of an exchange.
    pub rounds: Vec<RoundFigures>,
    /// Of an exchange: own leave - the end of the last round.
    pub exit: Gauge,
}

/// One of those who meet at a node.
#[derive(Debug, Clone)]
pub struct Meeting {
    /// Its slot.
    pub slot: u32,
    /// Last arrival - own, or own departure - the first.
    pub wait: Gauge,
    /// How often it came, or went, at each position, where that is resolved.
    pub order: Vec<u64>,
}

/// Sums of one round of a node in an exchange; times per instance.
#[derive(Debug, Clone)]
pub struct RoundFigures {
    /// The slot that sent what came last, if it was always the same.
    pub partner: Option<u32>,
    n: u64,
    /// From the round before (or the enter) to beginning to receive.
    pub local: Gauge,
    /// From there to the partner's sending.
    pub late_sender: Gauge,
    /// From then on to having all of it.
    pub transfer: Gauge,
}

/// Room that is used again for each instance.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Time, and place in the list of those who meet.
    order: Vec<(i64, usize)>,
    path: CriticalPath,
    taken: Taken,
}

impl EdgeFigures {
    fn new(grain: Grain) -> Self {
        Self {
            ways: [0; 2],
            transfer: Gauge::new(grain),
            late_receiver: Gauge::new(grain),
            late_progress: Gauge::new(grain),
            last: LastMessage::default(),
            two_way: Gauge::new(grain),
        }
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, other) in self.ways.iter_mut().zip(other.ways) {
            *own += other;
        }
        self.transfer.merge(&other.transfer);
        self.late_receiver.merge(&other.late_receiver);
        self.late_progress.merge(&other.late_progress);
        self.last.n += other.last.n;
        self.last.late_receiver_ns += other.last.late_receiver_ns;
        self.last.transfer_ns += other.last.transfer_ns;
        self.last.n_progress += other.last.n_progress;
        self.last.late_progress_ns += other.last.late_progress_ns;
        self.two_way.merge(&other.two_way);
    }
}

impl NodeFigures {
    fn new(grain: Grain) -> Self {
        let gauge = || Gauge::new(grain);
        Self {
            arrivals: Vec::new(),
            departures: Vec::new(),
            down: gauge(),
            up: gauge(),
            core: gauge(),
            serialization: Vec::new(),
            own: gauge(),
            away: gauge(),
            way: gauge(),
            rounds: Vec::new(),
            exit: gauge(),
        }
    }

    fn merge(&mut self, other: &Self) {
        for (own, others) in [
            (&mut self.arrivals, &other.arrivals),
            (&mut self.departures, &other.departures),
        ] {
            for meeting in others {
                Meeting::find(own, meeting.slot, meeting.wait.grain()).merge(meeting);
            }
        }
        self.down.merge(&other.down);
        self.up.merge(&other.up);
        self.core.merge(&other.core);
        self.own.merge(&other.own);
        self.away.merge(&other.away);
        self.way.merge(&other.way);
        self.exit.merge(&other.exit);
        for (position, &(n, sum)) in other.serialization.iter().enumerate() {
            add_at(&mut self.serialization, position, n, sum);
        }
        let grain = self.way.grain();
        self.rounds
            .resize_with(self.rounds.len().max(other.rounds.len()), || {
                RoundFigures::new(grain)
            });
        for (own, other) in self.rounds.iter_mut().zip(&other.rounds) {
            own.see(other.partner, other.n);
            own.local.merge(&other.local);
            own.late_sender.merge(&other.late_sender);
            own.transfer.merge(&other.transfer);
        }
    }
}

impl RoundFigures {
    fn new(grain: Grain) -> Self {
        Self {
            partner: None,
            n: 0,
            local: Gauge::new(grain),
            late_sender: Gauge::new(grain),
            transfer: Gauge::new(grain),
        }
    }

    /// `n` instances in which the partner was this one.
    fn see(&mut self, partner: Option<u32>, n: u64) {
        if self.n == 0 {
            self.partner = partner;
        } else if n > 0 && self.partner != partner {
            self.partner = None;
        }
        self.n += n;
    }
}

fn add_at(list: &mut Vec<(u64, i128)>, position: usize, n: u64, sum: i128) {
    if position >= list.len() {
        list.resize(position + 1, (0, 0));
    }
    list[position].0 += n;
    list[position].1 += sum;
}

impl Meeting {
    /// That of a slot, in a list that is in order but for the first, which is the node itself.
    fn find(list: &mut Vec<Self>, slot: u32, grain: Grain) -> &mut Self {
        let at = list.iter().position(|meeting| meeting.slot == slot);
        let at = at.unwrap_or_else(|| {
            list.push(Self {
                slot,
                wait: Gauge::new(grain),
                order: Vec::new(),
            });
            list.len() - 1
        });
        &mut list[at]
    }

    fn merge(&mut self, other: &Self) {
        self.wait.merge(&other.wait);
        self.order
            .resize(self.order.len().max(other.order.len()), 0);
        for (own, other) in self.order.iter_mut().zip(&other.order) {
            *own += other;
        }
    }

    fn add(&mut self, wait: i64, position: Option<usize>, n: usize) {
        self.wait.add(wait);
        if let Some(position) = position {
            self.order.resize(self.order.len().max(n), 0);
            self.order[position] += 1;
        }
    }
}

/// From one stamp to another; those of a damaged file may be of any size.
fn span(later: i64, earlier: i64) -> i64 {
    later.saturating_sub(earlier)
}

/// When a message had come, if that is known of this one.
fn received(message: &InstanceMessage) -> Option<i64> {
    let received = message.received.filter(|_| !message.is_from_any);
    received.map(|received| received.ns())
}

/// One instance, with what is known of its graph.
struct Seen<'a> {
    instance: &'a Agreed<'a>,
    paired: &'a [InstanceMessage],
    /// Where it goes on in other calls, the same as far as it can be told.
    taken: Option<&'a Taken>,
    resolution: &'a Resolution,
    shape: &'a Shape,
    grain: Grain,
}

impl Seen<'_> {
    fn host(&self, slot: u32) -> usize {
        self.instance.communicator.members[slot as usize].host
    }

    fn message(&self, number: u32) -> &InstanceMessage {
        &self.paired[number as usize]
    }

    /// Whether stamps of two slots can be compared.
    fn have_common_time(&self, a: u32, b: u32) -> bool {
        self.resolution
            .between(self.host(a), self.host(b))
            .is_some()
    }
}

impl GraphFigures {
    /// Adds an instance whose slots are the positions of the graph.
    pub(crate) fn add(
        &mut self,
        instance: &Agreed<'_>,
        messages: &Messages<'_>,
        shape: &Shape,
        resolution: &Resolution,
        room: &mut Room,
    ) {
        let n_edges = shape.edges.len();
        let grain = match n_edges > MAX_FINE_EDGES {
            true => Grain::Coarse,
            false => Grain::Fine,
        };
        let mut taken = std::mem::take(&mut room.taken);
        let goes_on = instance.courses.is_some();
        if goes_on {
            taken.find(instance, messages.paired, shape, resolution);
        }
        let seen = Seen {
            instance,
            paired: messages.paired,
            taken: goes_on.then_some(&taken),
            resolution,
            shape,
            grain,
        };
        self.n += 1;
        self.edges.resize_with(n_edges, || EdgeFigures::new(grain));
        let n = instance.n_calls();
        self.nodes.resize_with(n, || NodeFigures::new(grain));
        self.add_edges(&seen);
        match &shape.roles {
            Roles::Tree(tree) => {
                self.has = tree.has;
                self.top = tree.top;
                for (slot, node) in (0..).zip(&tree.nodes) {
                    self.add_node(&seen, tree, slot, node, room);
                }
            }
            Roles::Exchange(rounds) => {
                self.has = [false; 2];
                for (slot, rounds) in (0..).zip(rounds) {
                    self.add_rounds(&seen, slot, rounds);
                }
            }
        }
        let all_have_common_time = (1..n as u32).all(|slot| seen.have_common_time(0, slot));
        if all_have_common_time && (!goes_on || taken.are_all_known()) {
            let paired = match goes_on {
                true => &taken.messages,
                false => messages.paired,
            };
            room.path.follow(instance, paired, shape);
            self.critical.add(instance, &room.path, n_edges);
        }
        if let (Some(presence), true) = (instance.presence, all_have_common_time)
            && let Some(nobody) = presence.nobody_ns(&mut taken.spans)
        {
            self.nobody.add(nobody);
            let extent = &instance.extent;
            self.nobody_of_ns += i128::from(extent.last_leave) - i128::from(extent.first_enter);
        }
        room.taken = taken;
    }

    fn add_edges(&mut self, seen: &Seen<'_>) {
        let ways = match &seen.shape.roles {
            Roles::Tree(tree) => Some(&tree.ways),
            Roles::Exchange(_) => None,
        };
        let paired = seen.taken.map_or(seen.paired, |taken| &taken.messages);
        let edges = paired.iter().zip(&seen.shape.edge_of).enumerate();
        for (number, (message, &edge)) in edges {
            let figures = &mut self.edges[edge as usize];
            if let Some(ways) = ways {
                figures.ways[ways[number] as usize] += 1;
            }
            if message.is_from_any || !seen.have_common_time(message.from, message.to) {
                continue;
            }
            let (sent, posted) = (message.sent.ns(), message.posted.ns());
            let late = span(posted, sent).max(0);
            figures.late_receiver.add(late);
            let late_progress = seen.taken.and_then(|taken| taken.late_progress[number]);
            if let Some(late_progress) = late_progress {
                figures.late_progress.add(late_progress);
            }
            let Some(received) = received(message) else {
                continue;
            };
            let transfer = span(received, sent.max(posted));
            figures.transfer.add(transfer);
            if seen.shape.is_last[number] {
                figures.last.n += 1;
                figures.last.late_receiver_ns += i128::from(late);
                figures.last.transfer_ns += i128::from(transfer);
                if let Some(late_progress) = late_progress {
                    figures.last.n_progress += 1;
                    figures.last.late_progress_ns += i128::from(late_progress);
                }
            }
        }
    }

    fn add_node(
        &mut self,
        seen: &Seen<'_>,
        tree: &TreeRoles,
        slot: u32,
        node: &Node,
        room: &mut Room,
    ) {
        let (enter, leave) = seen.instance.stamps(slot as usize);
        let is_top = slot == tree.top;
        let [goes_down, goes_up] = tree.has;
        let at = &mut self.nodes[slot as usize];

        let mut last_arrival = Some(enter);
        if goes_down {
            let came = |&number: &u32| {
                let message = seen.message(number);
                (message.from, received(message))
            };
            let children = node.from_children.iter().map(came);
            last_arrival = meet(&mut at.arrivals, (slot, enter), children, seen, room, true);
        }
        let from_parent = node
            .from_parent
            .map(|number| received(seen.message(number)));
        let mut first_departure = Some(leave);
        if goes_up {
            let sent = |&number: &u32| {
                let message = seen.message(number);
                (message.to, Some(message.sent.ns()))
            };
            let children = node.to_children.iter().map(sent);
            first_departure = meet(
                &mut at.departures,
                (slot, leave),
                children,
                seen,
                room,
                false,
            );
            // What everybody's departure is measured from.
            let base = match from_parent {
                Some(received) => received,
                None => last_arrival,
            };
            if let Some(base) = base {
                for (position, &(time, _)) in room.order.iter().enumerate() {
                    add_at(
                        &mut at.serialization,
                        position,
                        1,
                        i128::from(time) - i128::from(base),
                    );
                }
            }
        }
        if let (Some(to_parent), Some(last_arrival)) = (node.to_parent, last_arrival) {
            at.down
                .add(span(seen.message(to_parent).sent.ns(), last_arrival));
        }
        if let (Some(Some(received)), Some(departure)) = (from_parent, first_departure) {
            at.up.add(span(departure, received));
        }
        if let (true, Some(arrival), Some(departure)) = (is_top, last_arrival, first_departure) {
            at.core.add(span(departure, arrival));
        }
        if seen.taken.is_some() {
            let on = node.to_parent.map(|number| seen.message(number).sent.ns());
            let on = on.or(first_departure.filter(|_| is_top));
            if let (None, Some(on)) = (last_arrival, on) {
                at.own.add(span(on, enter));
            }
            let presence = seen.instance.presence;
            let calls = presence.and_then(|presence| presence.of(slot as usize));
            if let (true, Some(from), Some(calls)) = (goes_up, first_departure, calls) {
                at.away.add(outside_ns(calls, from, leave));
            }
        }
        let (top_enter, top_leave) = seen.instance.stamps(tree.top as usize);
        if (goes_down && goes_up) || seen.have_common_time(slot, tree.top) {
            at.way.add(match (goes_down, goes_up) {
                (true, true) => span(leave, enter),
                (true, false) => span(top_leave, enter),
                (false, _) => span(leave, top_enter),
            });
        }
        if let (Some(down), Some(up)) = (node.to_parent, node.from_parent) {
            let (down_at, up_at) = (seen.message(down), seen.message(up));
            let is_one_edge = down_at.to == up_at.from;
            if let (true, Some(t2), Some(t4)) = (is_one_edge, received(down_at), received(up_at)) {
                let outside = span(t4, down_at.sent.ns());
                let inside = span(up_at.sent.ns(), t2);
                let edge = seen.shape.edge_of[down as usize];
                self.edges[edge as usize].two_way.add(span(outside, inside));
            }
        }
    }

    fn add_rounds(&mut self, seen: &Seen<'_>, slot: u32, rounds: &[Round]) {
        let (enter, leave) = seen.instance.stamps(slot as usize);
        let at = &mut self.nodes[slot as usize];
        at.way.add(span(leave, enter));
        let n_rounds = rounds.len().min(MAX_ROUNDS);
        at.rounds.resize_with(at.rounds.len().max(n_rounds), || {
            RoundFigures::new(seen.grain)
        });
        let mut before = enter;
        for (number, round) in rounds.iter().enumerate() {
            // The receive that ended last decides.
            let came = |&number: &u32| Some((received(seen.message(number))?, number));
            let all: Option<Vec<(i64, u32)>> = round.receives.iter().map(came).collect();
            let Some((end, message)) = all.and_then(|all| all.into_iter().max()) else {
                return;
            };
            let message = seen.message(message);
            let begin = message.posted.ns().max(before);
            let figures = &mut at.rounds[number.min(MAX_ROUNDS - 1)];
            figures.see(Some(message.from), 1);
            figures.local.add(span(begin, before));
            let spent = span(end, begin).max(0);
            if seen.have_common_time(slot, message.from) {
                let late = span(message.sent.ns(), begin).clamp(0, spent);
                figures.late_sender.add(late);
                figures.transfer.add(spent - late);
            }
            before = begin.saturating_add(spent);
        }
        at.exit.add(span(leave, before));
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        if other.n == 0 {
            return;
        }
        if self.n == 0 {
            (self.has, self.top) = (other.has, other.top);
        }
        self.n += other.n;
        if self.edges.is_empty() {
            self.edges.clone_from(&other.edges);
        } else {
            for (own, other) in self.edges.iter_mut().zip(&other.edges) {
                own.merge(other);
            }
        }
        if self.nodes.is_empty() {
            self.nodes.clone_from(&other.nodes);
        } else {
            for (own, other) in self.nodes.iter_mut().zip(&other.nodes) {
                own.merge(other);
            }
        }
        self.critical.merge(&other.critical);
        self.nobody.merge(&other.nobody);
        self.nobody_of_ns += other.nobody_of_ns;
    }
}

/// Adds those who meet at a node: its own process, and its children with the times at which each
/// arrives, or departs. Gives the last arrival, or the first departure; `None` where a time is not
/// known. `room.order` has the times in order then.
fn meet(
    meetings: &mut Vec<Meeting>,
    (own, own_time): (u32, i64),
    children: impl Iterator<Item = (u32, Option<i64>)>,
    seen: &Seen<'_>,
    room: &mut Room,
    is_arrival: bool,
) -> Option<i64> {
    room.order.clear();
    // Where they stand in the list: mostly one behind the other.
    let place_of = |meetings: &mut Vec<Meeting>, nth: usize, slot: u32| {
        if meetings.get(nth).is_none_or(|known| known.slot != slot) {
            Meeting::find(meetings, slot, seen.grain);
            return meetings.iter().position(|m| m.slot == slot).unwrap_or(nth);
        }
        nth
    };
    let mut are_all_known = true;
    let place = place_of(meetings, 0, own);
    room.order.push((own_time, place));
    for (nth, (slot, time)) in (1..).zip(children) {
        let place = place_of(meetings, nth, slot);
        match time {
            Some(time) => room.order.push((time, place)),
            None => are_all_known = false,
        }
    }
    if !are_all_known {
        room.order.clear();
        return None;
    }
    room.order.sort_unstable();
    let n = room.order.len();
    let decides = match is_arrival {
        true => room.order[n - 1].0,
        false => room.order[0].0,
    };
    let host = seen.host(own);
    let apart = seen.resolution.between(host, host).unwrap_or(0);
    for (position, &(time, place)) in room.order.iter().enumerate() {
        let is_after = position == 0 || span(time, room.order[position - 1].0) > apart;
        let is_before =
            (room.order.get(position + 1)).is_none_or(|next| span(next.0, time) > apart);
        let position = (n > 1 && is_after && is_before).then_some(position);
        let wait = span(decides.max(time), decides.min(time));
        meetings[place].add(wait, position, n);
    }
    Some(decides)
}
