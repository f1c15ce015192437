//! From the passes of event collectors in an instance to samples, measured at the stations of its
//! spanning tree and between them.
//!
//! # Source
//! Bongo et al. 2004, section 3; `docs/metrics.md`, "Spanning trees of our own".

pub(crate) mod subtrees;

use collbench_formats::Semantics;
use collbench_trees::stations::{Flow, Link, Stations};

use crate::communicators::spanning_trees::OwnTree;
use crate::instances::complete::CompleteInstance;
use crate::measure::critical_path::{CriticalPath, Doubt};
use crate::measure::inside::{ContributorAt, Order, Quantity, Samples};
use crate::time::resolution::Resolution;

/// When a value passed an event collector, and the host whose clock shows it.
#[derive(Debug, Clone, Copy)]
struct Stamp {
    down: Option<i64>,
    up: Option<i64>,
    host: usize,
    segment: u32,
    /// Whether a thread without a call of its own recorded it.
    is_of_thread: bool,
}

/// An instant on the clock of a host, ns.
#[derive(Debug, Clone, Copy)]
struct At {
    ns: i64,
    host: usize,
}

/// What is known of one instance at each station, with buffers that are reused.
#[derive(Debug, Default)]
pub(crate) struct PassTimes {
    /// By number of the event collector.
    stamps: Vec<Option<Stamp>>,
    /// By station: when the last contributor to data that flow to the top arrived.
    last_arrivals: Vec<Option<At>>,
    /// The station whose data arrived last at the top, and when.
    last_to_top: Option<(u32, At)>,
    /// By station: its wait at its parent for those that arrive later, ns.
    arrival_waits: Vec<i64>,
    order: Order,
}

impl PassTimes {
    /// How long the data of a rank wait on their path for those that arrive later, ns.
    pub(crate) fn waits_on_path(&self, stations: &Stations, rank: u32) -> i64 {
        let mut wait = 0;
        let mut at = rank;
        while let Some(link) = &stations.links[at as usize] {
            wait += self.arrival_waits[at as usize];
            at = link.parent;
        }
        wait
    }
}

/// Where the data of an operation flow on a tree; `None` for one that no tree executes.
pub(crate) fn flow_of(tree: &OwnTree, instance: &CompleteInstance<'_>) -> Option<Flow> {
    let root = instance.root.map(|slot| slot as u32 * tree.threads);
    match instance.semantics() {
        Semantics::OneToMany => Some(Flow::FromRoot(root?)),
        Semantics::ManyToOne => Some(Flow::ToRoot(root?)),
        Semantics::Barrier | Semantics::AllToAll => Some(Flow::Both),
        _ => None,
    }
}

/// An instance, and the tree that it ran on.
pub(crate) struct InstanceOnTree<'a> {
    pub(crate) instance: &'a CompleteInstance<'a>,
    /// The tree: an index in the list, and what it is.
    pub(crate) tree: (u32, &'a OwnTree),
    pub(crate) stations: &'a Stations,
    pub(crate) resolution: &'a Resolution,
}

impl InstanceOnTree<'_> {
    /// Finds all stamps; gives whether each event collector that is on has some. Of a payload in
    /// segments the last one counts.
    pub(crate) fn find(&self, times: &mut PassTimes) -> bool {
        let n_collectors = self.stations.n_ranks as usize + self.tree.1.wrappers.all().len();
        times.stamps.clear();
        times.stamps.resize(n_collectors, None);
        for pass in self.instance.passes {
            let Some(stamp) = times.stamps.get_mut(pass.collector as usize) else {
                return false;
            };
            if pass.tree != self.tree.0 {
                return false;
            }
            let is_later = stamp.is_none_or(|known: Stamp| known.segment < pass.segment);
            if is_later {
                *stamp = Some(Stamp {
                    down: pass.down,
                    up: pass.up,
                    host: self.instance.communicator.members[pass.slot as usize].host,
                    segment: pass.segment,
                    is_of_thread: pass.is_of_thread,
                });
            }
        }
        let is_both = self.stations.flow == Flow::Both;
        let is_whole = |stamp: &Option<Stamp>| match stamp {
            Some(stamp) => (stamp.down.is_some() && stamp.up.is_some()) == is_both,
            None => false,
        };
        let collectors = self.stations.collectors.iter();
        collectors
            .copied()
            .all(|at| is_whole(&times.stamps[at as usize]))
    }

    /// The enter or leave of the process with a rank of the tree; of a thread without a call of its own
    /// when its value passed its event collector.
    fn call(&self, times: &PassTimes, rank: u32, is_enter: bool) -> At {
        let own = Self::stamp(times, Some(rank)).filter(|stamp| stamp.is_of_thread);
        if let Some(stamp) = own {
            let both = [stamp.down, stamp.up];
            let mut in_order = both.into_iter().flatten();
            let ns = if is_enter {
                in_order.next()
            } else {
                in_order.next_back()
            };
            if let Some(ns) = ns {
                return At {
                    ns,
                    host: stamp.host,
                };
            }
        }
        let slot = self.tree.1.slot_of(rank);
        let (enter, leave) = self.instance.stamps(slot);
        At {
            ns: if is_enter { enter } else { leave },
            host: self.instance.communicator.members[slot].host,
        }
    }

    /// The difference of two instants, ns; `None` on clocks without a common time.
    fn span(&self, later: At, earlier: At) -> Option<i64> {
        self.resolution.between(later.host, earlier.host)?;
        Some(later.ns - earlier.ns)
    }

    /// Passes all samples to `to`, and gives the rank with the slowest path: the longest without
    /// waits for those that arrive later, the first of several; `None` if not all are known.
    pub(crate) fn samples(&self, times: &mut PassTimes, to: &mut impl Samples) -> Option<u32> {
        let stations = self.stations;
        let n = stations.links.len();
        times.last_arrivals.clear();
        times.last_arrivals.resize(n, None);
        times.last_to_top = None;
        times.arrival_waits.clear();
        times.arrival_waits.resize(n, 0);
        let [goes_down, goes_up] = stations.flow.has();
        for station in (0..n as u32).filter(|&station| self.is_used(station)) {
            if goes_down {
                self.arrivals(station, times, to);
            }
            if goes_up {
                self.departures(station, times, to);
            }
            if goes_down
                && goes_up
                && let Some(link) = &stations.links[station as usize]
            {
                self.two_way(link, times, to);
            }
        }
        if goes_down {
            self.forwarding(times, to);
        }
        if !goes_up {
            self.end_at_root(times, to);
        }
        self.paths(times, to)
    }

    /// Whether data pass a station: it is the top, or leads to it.
    fn is_used(&self, station: u32) -> bool {
        station == self.stations.top || self.stations.links[station as usize].is_some()
    }

    fn stamp(times: &PassTimes, collector: Option<u32>) -> Option<Stamp> {
        times.stamps[collector? as usize]
    }

    /// When data that flow to the top passed a collector.
    fn down_at(&self, times: &PassTimes, collector: Option<u32>) -> Option<At> {
        let stamp = Self::stamp(times, collector)?;
        let ns = match self.stations.flow {
            Flow::Both => stamp.down?,
            _ => stamp.down.or(stamp.up)?,
        };
        Some(At {
            ns,
            host: stamp.host,
        })
    }

    /// When data that flow from the top passed a collector.
    fn up_at(&self, times: &PassTimes, collector: Option<u32>) -> Option<At> {
        let stamp = Self::stamp(times, collector)?;
        let ns = match self.stations.flow {
            Flow::Both => stamp.up?,
            _ => stamp.up.or(stamp.down)?,
        };
        Some(At {
            ns,
            host: stamp.host,
        })
    }

    fn is_rank(&self, station: u32) -> bool {
        station < self.stations.n_ranks
    }

    /// When the data of a child arrived at its parent.
    fn arrival(&self, child: u32, times: &PassTimes) -> Option<At> {
        let link = self.stations.links[child as usize].as_ref()?;
        let passed = self.down_at(times, link.at_parent);
        // Without an event collector a rank contributes when it enters.
        passed.or_else(|| self.is_rank(child).then(|| self.call(times, child, true)))
    }

    /// The latest and the earliest of some instants on clocks with a common time, and how far apart
    /// two of them must be to be ordered.
    fn extent(&self, all: &[(u32, At)]) -> Option<(At, At, i64)> {
        let &(_, first) = all.first()?;
        let mut extent = (
            first,
            first,
            self.resolution.between(first.host, first.host)?,
        );
        for &(_, at) in &all[1..] {
            extent.2 = extent.2.max(self.resolution.between(first.host, at.host)?);
            if at.ns > extent.0.ns {
                extent.0 = at;
            }
            if at.ns < extent.1.ns {
                extent.1 = at;
            }
        }
        Some(extent)
    }

    /// Those who arrive at a station, and their waits.
    fn arrivals(&self, station: u32, times: &mut PassTimes, to: &mut impl Samples) {
        let children = &self.stations.children[station as usize];
        let arrivals = children
            .iter()
            .map(|&child| Some((child, self.arrival(child, times)?)));
        let arrivals: Option<Vec<(u32, At)>> = arrivals.collect();
        let Some(arrivals) = arrivals.filter(|all| !all.is_empty()) else {
            return;
        };
        let Some((last, _, apart)) = self.extent(&arrivals) else {
            return;
        };
        times.last_arrivals[station as usize] = Some(last);
        if station == self.stations.top {
            let by = arrivals.iter().rev().max_by_key(|(_, at)| at.ns);
            times.last_to_top = by.copied();
        }
        for (child, at) in &arrivals {
            times.arrival_waits[*child as usize] = last.ns - at.ns;
        }
        self.meet(
            station,
            true,
            (&arrivals, last.ns, apart),
            &mut times.order,
            to,
        );
    }

    /// Waits and positions of those who meet at a station.
    fn meet(
        &self,
        station: u32,
        is_arrival: bool,
        (all, decides, apart): (&[(u32, At)], i64, i64),
        order: &mut Order,
        to: &mut impl Samples,
    ) {
        order.set(all.iter().map(|&(child, at)| (child, at.ns)));
        order.sort();
        order.resolve(apart);
        let n = all.len() as u32;
        // The first contributor of a station is itself, which brings nothing.
        for (nth, (slot, time, position)) in (1..).zip(order.all()) {
            let of = ContributorAt {
                node: station,
                is_arrival,
                slot,
                nth,
            };
            to.add(Quantity::Wait(of), decides.max(time) - decides.min(time));
            to.add(Quantity::Position { of, n }, position);
        }
    }

    /// From the last arrival at each station to its own arrival at the next one, and what lies
    /// between two.
    fn forwarding(&self, times: &PassTimes, to: &mut impl Samples) {
        for (station, link) in (0u32..).zip(&self.stations.links) {
            let Some(link) = link else {
                continue;
            };
            let from = if self.is_rank(station) {
                Some(self.call(times, station, true))
            } else {
                times.last_arrivals[station as usize]
            };
            let sent = self.down_at(times, link.at_child);
            let forwarding = sent
                .zip(from)
                .and_then(|(sent, from)| self.span(sent, from));
            let mut late_ns = 0;
            if let Some(hop) = link.hops[0] {
                let received = self.down_at(times, link.at_parent);
                let begin = if link.proxy.is_some() { sent } else { from };
                let enter = self.call(times, link.receivers[0], true);
                late_ns = self.hop(hop, [begin, received], enter, link.proxy.is_some(), to);
            }
            if let Some(forwarding) = forwarding {
                to.add(Quantity::Down { node: station }, forwarding - late_ns);
            }
        }
    }

    /// A hop from one instant to another, at whose end somebody receives who entered at `enter`.
    /// Gives the part of a hop without a proxy, which takes no time, that the receiver was late.
    fn hop(
        &self,
        edge: u32,
        [begin, end]: [Option<At>; 2],
        enter: At,
        is_proxy: bool,
        to: &mut impl Samples,
    ) -> i64 {
        let (Some(begin), Some(end)) = (begin, end) else {
            return 0;
        };
        let (Some(whole), Some(late)) = (self.span(end, begin), self.span(enter, begin)) else {
            return 0;
        };
        let late = late.clamp(0, whole.max(0));
        let is_last = true;
        to.add(Quantity::LateReceiver { edge, is_last }, late);
        let transfer = if is_proxy { whole - late } else { 0 };
        to.add(Quantity::Transfer { edge, is_last }, transfer);
        if is_proxy { 0 } else { late }
    }

    /// Where data flow only to the top: from their arrival there to its leave.
    fn end_at_root(&self, times: &PassTimes, to: &mut impl Samples) {
        let station = self.stations.top;
        let (enter, leave) = (
            self.call(times, station, true),
            self.call(times, station, false),
        );
        let before = self.stations.children[station as usize].first();
        let behind = before.and_then(|&child| times.last_arrivals[child as usize]);
        let arrived = times.last_arrivals[station as usize].or(behind);
        let Some(arrived) = arrived else {
            return;
        };
        let of = ContributorAt {
            node: station,
            is_arrival: true,
            slot: station,
            nth: 0,
        };
        if let Some(wait) = self.span(arrived, enter) {
            to.add(Quantity::Wait(of), wait.max(0));
            let begin = if wait > 0 { arrived } else { enter };
            to.add(Quantity::Core { node: station }, leave.ns - begin.ns);
        }
    }

    /// Those who depart from a station, and their waits.
    fn departures(&self, station: u32, times: &mut PassTimes, to: &mut impl Samples) {
        let stations = self.stations;
        let link = stations.links[station as usize].as_ref();
        let is_top = station == stations.top;
        let from_above = match stations.flow {
            Flow::Both if is_top => times.last_arrivals[station as usize],
            _ if is_top => Some(self.call(times, station, true)),
            _ => link.and_then(|link| self.up_at(times, link.at_child)),
        };
        if self.is_rank(station) && !is_top {
            if let Some(received) = from_above {
                let exit = self.call(times, station, false).ns - received.ns;
                to.add(Quantity::Up { node: station }, exit);
            }
            return;
        }
        let base = from_above.or_else(|| self.root_enter(times, link));
        let departures = stations.children[station as usize].iter();
        let departures = departures.map(|&child| {
            let link = stations.links[child as usize].as_ref()?;
            let passed = self.up_at(times, link.at_parent);
            let departed = passed.or_else(|| {
                let is_leaf = self.is_rank(child) && link.proxy.is_none();
                is_leaf.then(|| self.call(times, child, false))
            })?;
            Some((child, departed, link))
        });
        let departures: Option<Vec<(u32, At, &Link)>> = departures.collect();
        let Some(departures) = departures else {
            return;
        };
        let mut all = Vec::with_capacity(departures.len());
        for (child, departed, link) in departures {
            let mut departed = departed;
            if is_top && let Some(last) = times.last_to_top {
                self.hop_of_partners((last, child), departed, to);
            }
            if let (Some(edge), Some(_)) = (link.hops[1], link.proxy) {
                let received = self.up_at(times, link.at_child);
                let enter = self.call(times, link.receivers[1], true);
                let enter = match stations.flow {
                    // It has sent before, so it is there.
                    Flow::Both => departed,
                    _ => enter,
                };
                self.hop(edge, [Some(departed), received], enter, true, to);
            } else if let (Some(edge), Some(base)) = (link.hops[1], base) {
                let enter = self.call(times, link.receivers[1], true);
                departed.ns -= self.hop(edge, [Some(base), Some(departed)], enter, false, to);
            }
            all.push((child, departed));
        }
        let Some((_, first, apart)) = self.extent(&all) else {
            return;
        };
        self.meet(
            station,
            false,
            (&all, first.ns, apart),
            &mut times.order,
            to,
        );
        if self.is_rank(station) {
            let of = ContributorAt {
                node: station,
                is_arrival: false,
                slot: station,
                nth: 0,
            };
            let leave = self.call(times, station, false);
            to.add(Quantity::Wait(of), leave.ns - first.ns);
        }
        if let Some(base) = base.filter(|base| self.span(first, *base).is_some()) {
            for (position, time) in (0..).zip(times.order.in_order()) {
                let place = Quantity::Departure {
                    node: station,
                    position,
                };
                to.add(place, time - base.ns);
            }
            let quantity = if is_top {
                Quantity::Core { node: station }
            } else {
                Quantity::Up { node: station }
            };
            to.add(quantity, first.ns - base.ns);
        }
    }

    /// From the last arrival at an exchange to the departure of a partner on another host.
    fn hop_of_partners(
        &self,
        ((from, arrived), partner): ((u32, At), u32),
        departed: At,
        to: &mut impl Samples,
    ) {
        if let Some(edge) = self.stations.hop_of_partners(from, partner)
            && let Some(transfer) = self.span(departed, arrived)
        {
            let is_last = true;
            to.add(Quantity::Transfer { edge, is_last }, transfer);
        }
    }

    /// Where data flow from a root without an event collector: its enter, for the station next to it.
    fn root_enter(&self, times: &PassTimes, link: Option<&Link>) -> Option<At> {
        let parent = link?.parent;
        let is_next = self.stations.flow != Flow::Both && parent == self.stations.top;
        is_next.then(|| self.call(times, parent, true))
    }

    /// The round trip over a hop.
    fn two_way(&self, link: &Link, times: &PassTimes, to: &mut impl Samples) {
        let (Some(edge), Some(_)) = (link.hops[0], link.proxy) else {
            return;
        };
        let ends = [link.at_child, link.at_parent].map(|at| {
            let stamp = Self::stamp(times, at)?;
            Some(stamp.up? - stamp.down?)
        });
        if let [Some(outside), Some(inside)] = ends {
            to.add(Quantity::TwoWay { edge }, outside - inside);
        }
    }

    /// The whole path of each rank; gives the rank with the slowest one.
    fn paths(&self, times: &PassTimes, to: &mut impl Samples) -> Option<u32> {
        let stations = self.stations;
        let mut slowest: Option<(i64, u32)> = None;
        let goes_down = stations.flow.has()[0];
        let waits = (0u32..).zip(&stations.children);
        let mut are_all_known = waits
            .filter(|(station, children)| {
                goes_down && self.is_used(*station) && !children.is_empty()
            })
            .all(|(station, _)| times.last_arrivals[station as usize].is_some());
        for rank in 0..stations.n_ranks {
            let (enter, leave) = match stations.flow {
                Flow::Both => (self.call(times, rank, true), self.call(times, rank, false)),
                Flow::ToRoot(_) => (
                    self.call(times, rank, true),
                    self.call(times, stations.top, false),
                ),
                Flow::FromRoot(_) => (
                    self.call(times, stations.top, true),
                    self.call(times, rank, false),
                ),
            };
            let Some(path) = self.span(leave, enter) else {
                are_all_known = false;
                continue;
            };
            to.add(Quantity::Path { node: rank }, path);
            let own = path - times.waits_on_path(stations, rank);
            // What the root waits for are the paths of others.
            let is_root = goes_down && rank == stations.top;
            if !is_root && slowest.is_none_or(|(most, _)| own > most) {
                slowest = Some((own, rank));
            }
        }
        slowest.filter(|_| are_all_known).map(|(_, rank)| rank)
    }

    /// The critical path, found backwards from the last leave.
    ///
    /// # Errors
    /// Why it is not known.
    pub(crate) fn follow(&self, times: &PassTimes, path: &mut CriticalPath) -> Result<(), Doubt> {
        let stations = self.stations;
        path.hops.clear();
        path.stays.clear();
        if self.tree.1.threads != 1 {
            return Err(Doubt::NotSeen);
        }
        let [goes_down, goes_up] = stations.flow.has();
        let ends: Vec<(u32, At)> = (0..stations.n_ranks)
            .filter(|&rank| goes_up || rank == stations.top)
            .map(|rank| (rank, self.call(times, rank, false)))
            .collect();
        self.extent(&ends).ok_or(Doubt::NoCommonTime)?;
        let last = ends.iter().rev().max_by_key(|(_, at)| at.ns);
        let &(mut station, mut at) = last.ok_or(Doubt::NotSeen)?;
        let mut left_by = station;
        while let (true, Some(link)) = (goes_up, &stations.links[station as usize]) {
            let received = self.up_at(times, link.at_child);
            let received = received.or(self.is_rank(station).then_some(at));
            let received = received.ok_or(Doubt::NotSeen)?;
            self.stay(station, (at, received), path);
            let sent = match link.proxy {
                Some(_) => self.up_at(times, link.at_parent).ok_or(Doubt::NotSeen)?,
                None => received,
            };
            let enter = self.call(times, link.receivers[1], true);
            if stations.flow != Flow::Both && self.is_late(enter, sent, received)? {
                self.stay(link.receivers[1], (received, enter), path);
                return self.begin(link.receivers[1], path);
            }
            if let (Some(hop), Some(_)) = (link.hops[1], link.proxy) {
                path.hops.push((hop, received.ns - sent.ns));
            }
            left_by = station;
            (station, at) = (link.parent, sent);
        }
        loop {
            if self.is_rank(station) && (station != stations.top || !goes_down) {
                self.stay(station, (at, self.call(times, station, true)), path);
                return self.begin(station, path);
            }
            let children = stations.children[station as usize].iter();
            let arrivals = children.map(|&child| Some((child, self.arrival(child, times)?)));
            let arrivals: Option<Vec<_>> = arrivals.collect();
            let arrivals = arrivals.ok_or(Doubt::NotSeen)?;
            self.extent(&arrivals).ok_or(Doubt::NoCommonTime)?;
            let last = arrivals.iter().rev().max_by_key(|(_, at)| at.ns);
            let &(child, arrived) = last.ok_or(Doubt::NotSeen)?;
            let link = stations.links[child as usize]
                .as_ref()
                .ok_or(Doubt::NotSeen)?;
            match stations.hop_of_partners(child, left_by) {
                Some(hop) if station == stations.top => path.hops.push((hop, at.ns - arrived.ns)),
                _ => self.stay(station, (at, arrived), path),
            }
            let begun = match (link.proxy, times.last_arrivals[child as usize]) {
                (Some(_), _) => self.down_at(times, link.at_child).ok_or(Doubt::NotSeen)?,
                (None, Some(begun)) if link.hops[0].is_some() => begun,
                _ => arrived,
            };
            let enter = self.call(times, link.receivers[0], true);
            if begun.ns < arrived.ns && self.is_late(enter, begun, arrived)? {
                self.stay(link.receivers[0], (arrived, enter), path);
                return self.begin(link.receivers[0], path);
            }
            let sent = match (link.proxy, link.hops[0]) {
                (Some(_), Some(hop)) => {
                    path.hops.push((hop, arrived.ns - begun.ns));
                    begun
                }
                _ => arrived,
            };
            (station, at) = (child, sent);
        }
    }

    /// Whether the receiver of what was sent and received entered only after it was sent.
    fn is_late(&self, enter: At, sent: At, received: At) -> Result<bool, Doubt> {
        let apart = self.resolution.between(enter.host, sent.host);
        let apart = apart.ok_or(Doubt::NoCommonTime)?;
        Ok(enter.ns - sent.ns > apart && enter.ns <= received.ns)
    }

    /// Time on the critical path at a station counts for the process that acts for it.
    fn stay(&self, station: u32, (until, from): (At, At), path: &mut CriticalPath) {
        let slot = self.tree.1.slot_of(self.stations.owner(station));
        path.stays.push((slot as u32, until.ns - from.ns));
    }

    fn begin(&self, rank: u32, path: &mut CriticalPath) -> Result<(), Doubt> {
        path.begin = self.tree.1.slot_of(rank);
        path.hops.sort_unstable();
        path.stays.sort_unstable();
        Ok(())
    }
}
