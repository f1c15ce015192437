//! From an instance to samples, measured at the edges, nodes and rounds of its graph.
//!
//! Which quantities are sampled, and in which order, depends on the shape, on which stamps are
//! known, and on which hosts have a common time, not on the times themselves. So the samples of
//! like instances form the rows of a table, which is added up column by column.

use collbench_trees::roles::{Node, Roles, Round, TreeRoles};
use collbench_trees::shape::Shape;

use crate::calls::time_in_mpi::outside_ns;
use crate::instances::complete::CompleteInstance;
use crate::measure::progress_times::ProgressTimes;
use crate::messages::message::InstanceMessage;
use crate::time::resolution::Resolution;

/// Rounds of a node that are kept; what comes after them is added to the last.
pub(crate) const MAX_ROUNDS: usize = 1024;

/// Quantities that samples are of. Edges and nodes are those of the graph; times are in ns. Down is
/// towards the root, up is from the root, as in Bongo et al.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    /// Max(0, begin of the receive - begin of the send) of a message over an edge; whether it is
    /// the last one over the edge, with a known receive time.
    LateReceiver { edge: u32, is_last: bool },
    /// The part of late receiver in which the receiver was in no call of MPI, of nonblocking
    /// collectives.
    LateProgress { edge: u32, is_last: bool },
    /// End of the receive - max(begin of the send, begin of the receive).
    Transfer { edge: u32, is_last: bool },
    /// Round trip (t4 - t1) - (t3 - t2) of an edge used in both directions.
    TwoWay { edge: u32 },
    /// The wait of one contributor at a node.
    Wait(ContributorAt),
    /// Its position in the order of the `n` contributors; -1 where it is not resolved.
    Position { of: ContributorAt, n: u32 },
    /// The departure of whoever is at a position of the order.
    Departure { node: u32, position: u32 },
    /// Forwarding time towards the root: send to the parent - last arrival.
    Down { node: u32 },
    /// Forwarding time from the root: first departure - receipt from the parent.
    Up { node: u32 },
    /// First departure - last arrival.
    Core { node: u32 },
    /// Own enter to send to the parent, where arrivals are unknown.
    Own { node: u32 },
    /// From the first departure to the own leave, outside of any call.
    Away { node: u32 },
    /// The whole path of a process.
    Path { node: u32 },
    /// Own leave - the end of the last round.
    Exit { node: u32 },
    /// The slot whose message arrived last, in a round in which several send.
    Partner { node: u32, round: u32 },
    /// From the round before (or the enter) to beginning to receive.
    Local { node: u32, round: u32 },
    /// From there to the partner's sending.
    LateSender { node: u32, round: u32 },
    /// From then on to having all of it.
    RoundTransfer { node: u32, round: u32 },
}

impl Quantity {
    /// Whether it is measured at a node, else at an edge.
    pub(crate) fn is_of_node(self) -> bool {
        !matches!(
            self,
            Self::LateReceiver { .. }
                | Self::LateProgress { .. }
                | Self::Transfer { .. }
                | Self::TwoWay { .. }
        )
    }
}

/// One contributor at a node, arriving or departing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ContributorAt {
    pub(crate) node: u32,
    pub(crate) is_arrival: bool,
    /// Slot of the contributor, and its number: the node's own process first, then its children.
    pub(crate) slot: u32,
    pub(crate) nth: u32,
}

/// Receiver of samples.
pub(crate) trait Samples: Default {
    fn add(&mut self, quantity: Quantity, sample: i64);
}

impl Samples for Vec<(Quantity, i64)> {
    fn add(&mut self, quantity: Quantity, sample: i64) {
        self.push((quantity, sample));
    }
}

/// Difference of two stamps. Stamps are within 2^60 ns of the start, so neither such a difference
/// nor the difference of two of them overflows.
#[inline]
fn span(later: i64, earlier: i64) -> i64 {
    later - earlier
}

/// When a message was received, if that is known.
#[inline]
fn received(message: &InstanceMessage) -> Option<i64> {
    let received = message.received.filter(|_| !message.is_from_any);
    received.map(|received| received.ns())
}

/// One instance, with its graph.
pub(crate) struct InstanceInGraph<'a> {
    pub(crate) instance: &'a CompleteInstance<'a>,
    pub(crate) paired: &'a [InstanceMessage],
    /// Of a nonblocking collective, when its messages were received, as far as it can be inferred.
    progress_times: Option<&'a ProgressTimes>,
    pub(crate) resolution: &'a Resolution,
    pub(crate) shape: &'a Shape,
    /// Whether all its processes have a common time.
    pub(crate) is_one_time: bool,
}

impl<'a> InstanceInGraph<'a> {
    /// An instance whose slots are the positions of the graph.
    pub(crate) fn new(
        instance: &'a CompleteInstance<'a>,
        paired: &'a [InstanceMessage],
        progress_times: Option<&'a ProgressTimes>,
        shape: &'a Shape,
        resolution: &'a Resolution,
    ) -> Self {
        let members = &instance.communicator.members;
        let first = members.first().map_or(0, |first| first.host);
        let mut others = members.iter().skip(1);
        Self {
            instance,
            paired,
            progress_times,
            resolution,
            shape,
            is_one_time: others.all(|other| resolution.between(first, other.host).is_some()),
        }
    }

    fn host(&self, slot: u32) -> usize {
        self.instance.communicator.members[slot as usize].host
    }

    #[inline]
    fn message(&self, number: u32) -> &'a InstanceMessage {
        &self.paired[number as usize]
    }

    /// Whether stamps of two slots can be compared.
    #[inline]
    fn have_common_time(&self, a: u32, b: u32) -> bool {
        let between = || self.resolution.between(self.host(a), self.host(b));
        self.is_one_time || between().is_some()
    }

    /// Passes all samples to `to`.
    pub(crate) fn samples(&self, order: &mut Order, to: &mut impl Samples) {
        self.edges(to);
        match &self.shape.roles {
            Roles::Tree(tree) => {
                for (slot, node) in (0..).zip(&tree.nodes) {
                    self.node(tree, slot, node, order, to);
                }
            }
            Roles::Exchange(rounds) => {
                for (slot, rounds) in (0..).zip(rounds) {
                    self.rounds(slot, rounds, to);
                }
            }
        }
    }

    fn edges(&self, to: &mut impl Samples) {
        // A local copy stays in registers.
        let mut own = std::mem::take(to);
        let paired = self
            .progress_times
            .map_or(self.paired, |progress_times| &progress_times.messages);
        let edges = self.shape.edge_of.iter().zip(&self.shape.is_last);
        let bytes = paired.first().map_or(0, |first| first.bytes);
        let are_alike = paired.iter().all(|message| message.bytes == bytes);
        for (number, (message, (&edge, &is_last))) in paired.iter().zip(edges).enumerate() {
            if message.is_from_any || !self.have_common_time(message.from, message.to) {
                continue;
            }
            let (sent, posted) = (message.sent.ns(), message.posted.ns());
            let late = span(posted, sent).max(0);
            let received = received(message);
            let is_last = is_last && received.is_some();
            own.add(Quantity::LateReceiver { edge, is_last }, late);
            if let Some(progress_times) = self.progress_times
                && let Some(late_progress) = progress_times.late_progress[number]
            {
                own.add(Quantity::LateProgress { edge, is_last }, late_progress);
            }
            if let Some(received) = received {
                let looked_at = if are_alike {
                    posted
                } else {
                    self.looked_at(message, received)
                };
                let transfer = span(received, sent.max(looked_at));
                own.add(Quantity::Transfer { edge, is_last }, transfer);
            }
        }
        *to = own;
    }

    /// From when on the receiver of a message could see it arrive that was received at a time, ns: since it posted the
    /// receive, or since a send of a larger message returned that blocked it meanwhile.
    fn looked_at(&self, message: &InstanceMessage, received: i64) -> i64 {
        let posted = message.posted.ns();
        let sends = self.shape.sends[message.to as usize].clone();
        let sends = &self.paired[sends.start as usize..sends.end as usize];
        let n_begun = sends.partition_point(|send| send.sent.ns() < received);
        let last = n_begun.checked_sub(1).map(|last| &sends[last]);
        let returned = last
            .filter(|last| last.bytes > message.bytes)
            .map(|last| last.send_returned.ns());
        posted.max(returned.filter(|&at| at <= received).unwrap_or(posted))
    }

    fn node(
        &self,
        tree: &TreeRoles,
        slot: u32,
        node: &Node,
        order: &mut Order,
        to: &mut impl Samples,
    ) {
        let [goes_down, goes_up] = tree.has;
        let from_parent = node
            .from_parent
            .map(|number| received(self.message(number)));
        let (enter, leave) = self.instance.stamps(slot as usize);
        let mut at = AtNode {
            slot,
            is_top: slot == tree.top,
            goes_up,
            enter,
            leave,
            last_arrival: Some(enter),
            first_departure: Some(leave),
        };
        if goes_down {
            at.last_arrival = self.arrivals(&at, node, order, to);
        }
        if goes_up {
            // The instant from which departures are measured.
            let base = match from_parent {
                Some(received) => received,
                None => at.last_arrival,
            };
            at.first_departure = self.departures(&at, node, base, order, to);
        }
        if let (Some(to_parent), Some(last_arrival)) = (node.to_parent, at.last_arrival) {
            let sent = self.message(to_parent).sent.ns();
            to.add(Quantity::Down { node: slot }, span(sent, last_arrival));
        }
        if let (Some(Some(received)), Some(departure)) = (from_parent, at.first_departure) {
            to.add(Quantity::Up { node: slot }, span(departure, received));
        }
        if let (true, Some(arrival), Some(departure)) =
            (at.is_top, at.last_arrival, at.first_departure)
        {
            to.add(Quantity::Core { node: slot }, span(departure, arrival));
        }
        if self.progress_times.is_some() {
            self.out_of_calls(&at, node, to);
        }
        self.path(&at, tree, to);
        self.two_way(node, to);
    }

    /// Arrivals at a node: its children and its own process; returns the last arrival.
    #[inline]
    fn arrivals(
        &self,
        at: &AtNode,
        node: &Node,
        order: &mut Order,
        to: &mut impl Samples,
    ) -> Option<i64> {
        let came = |&number: &u32| {
            let message = self.message(number);
            (message.from, received(message))
        };
        let children = node.from_children.iter().map(came);
        self.meet(at.own(true), at.enter, children, order, to)
    }

    /// Departures from a node: its children and its own process, each measured from `base` where
    /// that is known; returns the first departure.
    #[inline]
    fn departures(
        &self,
        at: &AtNode,
        node: &Node,
        base: Option<i64>,
        order: &mut Order,
        to: &mut impl Samples,
    ) -> Option<i64> {
        let sent = |&number: &u32| {
            let message = self.message(number);
            (message.to, Some(message.sent.ns()))
        };
        let children = node.to_children.iter().map(sent);
        let first_departure = self.meet(at.own(false), at.leave, children, order, to);
        if let Some(base) = base {
            for (position, &(time, _)) in (0..).zip(&order.in_order) {
                let place = Quantity::Departure {
                    node: at.slot,
                    position,
                };
                to.add(place, span(time, base));
            }
        }
        first_departure
    }

    /// Of a nonblocking collective: the process's own time, and its time outside of calls.
    #[inline]
    fn out_of_calls(&self, at: &AtNode, node: &Node, to: &mut impl Samples) {
        let slot = at.slot;
        let on = node.to_parent.map(|number| self.message(number).sent.ns());
        let on = on.or(at.first_departure.filter(|_| at.is_top));
        if let (None, Some(on)) = (at.last_arrival, on) {
            to.add(Quantity::Own { node: slot }, span(on, at.enter));
        }
        let time_in_mpi = self.instance.time_in_mpi;
        let calls = time_in_mpi.and_then(|time_in_mpi| time_in_mpi.of(slot as usize));
        if let (true, Some(from), Some(calls)) = (at.goes_up, at.first_departure, calls) {
            to.add(
                Quantity::Away { node: slot },
                outside_ns(calls, from, at.leave),
            );
        }
    }

    /// The whole path of the process of a node.
    #[inline]
    fn path(&self, at: &AtNode, tree: &TreeRoles, to: &mut impl Samples) {
        let [goes_down, goes_up] = tree.has;
        let (top_enter, top_leave) = self.instance.stamps(tree.top as usize);
        if (goes_down && goes_up) || self.have_common_time(at.slot, tree.top) {
            let path = match (goes_down, goes_up) {
                (true, true) => span(at.leave, at.enter),
                (true, false) => span(top_leave, at.enter),
                (false, _) => span(at.leave, top_enter),
            };
            to.add(Quantity::Path { node: at.slot }, path);
        }
    }

    /// Round trip over the edge between a node and its parent, where messages went in both
    /// directions.
    #[inline]
    fn two_way(&self, node: &Node, to: &mut impl Samples) {
        if let (Some(down), Some(up)) = (node.to_parent, node.from_parent) {
            let (down_at, up_at) = (self.message(down), self.message(up));
            let is_one_edge = down_at.to == up_at.from;
            if let (true, Some(t2), Some(t4)) = (is_one_edge, received(down_at), received(up_at)) {
                let outside = span(t4, down_at.sent.ns());
                let inside = span(up_at.sent.ns(), t2);
                let edge = self.shape.edge_of[down as usize];
                to.add(Quantity::TwoWay { edge }, span(outside, inside));
            }
        }
    }

    /// The contributors at a node: its own process, and its children with the time of each arrival,
    /// or departure. Returns the last arrival, or the first departure; `None` where a time is
    /// unknown. Then `order` has the times in order.
    #[inline]
    fn meet(
        &self,
        own: ContributorAt,
        own_time: i64,
        children: impl ExactSizeIterator<Item = (u32, Option<i64>)>,
        order: &mut Order,
        to: &mut impl Samples,
    ) -> Option<i64> {
        order.clear();
        order.add(own.slot, own_time);
        if children.len() == 0 {
            to.add(Quantity::Wait(own), 0);
            return Some(own_time);
        }
        for (slot, time) in children {
            let Some(time) = time else {
                order.clear();
                return None;
            };
            order.add(slot, time);
        }
        order.sort();
        let n = order.met.len();
        let decides = if own.is_arrival {
            order.in_order[n - 1].0
        } else {
            order.in_order[0].0
        };
        let host = self.host(own.node);
        order.resolve(self.resolution.between(host, host).unwrap_or(0));
        for (nth, met) in (0..).zip(&order.met) {
            let (slot, n) = (met.slot, n as u32);
            let of = ContributorAt { slot, nth, ..own };
            let wait = span(decides.max(met.time), decides.min(met.time));
            to.add(Quantity::Wait(of), wait);
            to.add(Quantity::Position { of, n }, met.position);
        }
        Some(decides)
    }

    fn rounds(&self, slot: u32, rounds: &[Round], to: &mut impl Samples) {
        // A local copy stays in registers.
        let mut own = std::mem::take(to);
        self.each_round(slot, rounds, &mut own);
        *to = own;
    }

    #[inline(always)]
    fn each_round(&self, slot: u32, rounds: &[Round], to: &mut impl Samples) {
        let (enter, leave) = self.instance.stamps(slot as usize);
        to.add(Quantity::Path { node: slot }, span(leave, enter));
        let mut before = enter;
        for (number, round) in rounds.iter().enumerate() {
            // The receive that ended last decides.
            let mut last = None;
            for &number in &round.receives {
                let Some(end) = received(self.message(number)) else {
                    return;
                };
                last = last.max(Some((end, number)));
            }
            let Some((end, message)) = last else {
                return;
            };
            let message = self.message(message);
            let begin = message.posted.ns().max(before);
            let node = slot;
            let has_one_partner = round.partner.is_some();
            let round = number.min(MAX_ROUNDS - 1) as u32;
            if !has_one_partner {
                to.add(Quantity::Partner { node, round }, message.from.into());
            }
            to.add(Quantity::Local { node, round }, span(begin, before));
            let spent = span(end, begin).max(0);
            if self.have_common_time(slot, message.from) {
                let late = span(message.sent.ns(), begin).clamp(0, spent);
                to.add(Quantity::LateSender { node, round }, late);
                to.add(Quantity::RoundTransfer { node, round }, spent - late);
            }
            before = begin.saturating_add(spent);
        }
        to.add(Quantity::Exit { node: slot }, span(leave, before));
    }
}

/// The process of a node, and what is known of the times there.
struct AtNode {
    slot: u32,
    is_top: bool,
    goes_up: bool,
    enter: i64,
    leave: i64,
    /// Last arrival at the node; the own enter where no child sends to it.
    last_arrival: Option<i64>,
    /// First departure from the node; the own leave where it sends to no child.
    first_departure: Option<i64>,
}

impl AtNode {
    /// The own process as a contributor.
    #[inline]
    fn own(&self, is_arrival: bool) -> ContributorAt {
        ContributorAt {
            node: self.slot,
            is_arrival,
            slot: self.slot,
            nth: 0,
        }
    }
}

/// The contributors at a node, and their order.
#[derive(Debug, Default)]
pub(crate) struct Order {
    met: Vec<TimedContributor>,
    /// Time, and place among those, ascending.
    in_order: Vec<(i64, u32)>,
}

/// One contributor.
#[derive(Debug, Clone, Copy)]
struct TimedContributor {
    slot: u32,
    time: i64,
    /// -1: not resolved.
    position: i64,
}

impl Order {
    fn clear(&mut self) {
        self.met.clear();
        self.in_order.clear();
    }

    fn add(&mut self, slot: u32, time: i64) {
        self.in_order.push((time, self.met.len() as u32));
        self.met.push(TimedContributor {
            slot,
            time,
            position: -1,
        });
    }

    /// Replaces the contributors by these, each with its time.
    pub(crate) fn set(&mut self, contributors: impl Iterator<Item = (u32, i64)>) {
        self.clear();
        contributors.for_each(|(slot, time)| self.add(slot, time));
    }

    /// The contributors in their own order: slot, time, and position, which is -1 where it is not
    /// resolved.
    pub(crate) fn all(&self) -> impl Iterator<Item = (u32, i64, i64)> + '_ {
        let all = self.met.iter();
        all.map(|one| (one.slot, one.time, one.position))
    }

    /// The times, ascending.
    pub(crate) fn in_order(&self) -> impl Iterator<Item = i64> + '_ {
        self.in_order.iter().map(|&(time, _)| time)
    }

    pub(crate) fn sort(&mut self) {
        match &mut self.in_order[..] {
            [one, other] => {
                if one > other {
                    std::mem::swap(one, other);
                }
            }
            all => all.sort_unstable(),
        }
    }

    /// Finds the positions of contributors that are further than this from their neighbours in
    /// time, ns.
    pub(crate) fn resolve(&mut self, apart: i64) {
        let mut is_after = true;
        for (position, &(time, place)) in self.in_order.iter().enumerate() {
            let next = self.in_order.get(position + 1);
            let is_before = next.is_none_or(|next| span(next.0, time) > apart);
            if is_after && is_before {
                self.met[place as usize].position = position as i64;
            }
            is_after = is_before;
        }
    }
}
