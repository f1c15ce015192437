//! Sums of one node of a graph, of its contributors, and of its rounds.

use collbench_stats::distribution::{Distribution, Precision};
use collbench_stats::moments::Sample;
use serde::{Deserialize, Serialize};

use crate::measure::inside::ContributorAt;

/// Sums of one node; times per instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct NodeFigures {
    /// Arriving contributors: its own process first, then its children.
    pub arrivals: Vec<ContributorFigures>,
    /// Departing contributors: its own process first, then its children.
    pub departures: Vec<ContributorFigures>,
    /// Forwarding time towards the root: send to the parent - last arrival.
    pub down: Distribution,
    /// Forwarding time from the root: first departure - receipt from the parent.
    pub up: Distribution,
    /// At the top: first departure - last arrival; where nothing goes up, its leave - last arrival.
    pub core: Distribution,
    /// By position in the order of departure: departure - receiving from the parent (at the top:
    /// - last arrival), number and sum.
    pub serialization: Vec<(u64, i128)>,
    /// Where arrivals are unknown: from the own enter to the send to the parent; at the top to the
    /// first departure.
    pub own: Distribution,
    /// Of nonblocking collectives: from the first departure to the own leave, time outside of any
    /// call.
    pub away: Distribution,
    /// The whole path of its process: own leave - own enter; where nothing goes to the root, minus
    /// the top's enter; where nothing comes from the root, the top's leave.
    pub path: Distribution,
    /// Of an exchange.
    pub rounds: Vec<RoundFigures>,
    /// Of an exchange: own leave - the end of the last round.
    pub exit: Distribution,
}

/// Sums of one contributor at a node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ContributorFigures {
    /// Its slot.
    pub slot: u32,
    /// Last arrival - own, or own departure - the first.
    pub wait: Distribution,
    /// How often it arrived, or departed, at each position, where that is resolved.
    pub order: Vec<u64>,
}

/// Sums of one round of a node in an exchange; times per instance.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RoundFigures {
    /// The slot whose message arrived last, if it was the same in all instances.
    pub partner: Option<u32>,
    n: u64,
    /// From the round before (or the enter) to beginning to receive.
    pub local: Distribution,
    /// From there to the partner's sending.
    pub late_sender: Distribution,
    /// From then on to having all of it.
    pub transfer: Distribution,
}

impl NodeFigures {
    pub(crate) fn new(precision: Precision) -> Self {
        let empty = || Distribution::new(precision);
        Self {
            arrivals: Vec::new(),
            departures: Vec::new(),
            down: empty(),
            up: empty(),
            core: empty(),
            serialization: Vec::new(),
            own: empty(),
            away: empty(),
            path: empty(),
            rounds: Vec::new(),
            exit: empty(),
        }
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (own, others) in [
            (&mut self.arrivals, &other.arrivals),
            (&mut self.departures, &other.departures),
        ] {
            for (own, other) in own.iter_mut().zip(others) {
                own.merge(other);
            }
        }
        self.down.merge(&other.down);
        self.up.merge(&other.up);
        self.core.merge(&other.core);
        self.own.merge(&other.own);
        self.away.merge(&other.away);
        self.path.merge(&other.path);
        self.exit.merge(&other.exit);
        for (position, &(n, sum)) in other.serialization.iter().enumerate() {
            add_at(&mut self.serialization, position, n, sum);
        }
        let precision = self.path.precision();
        self.rounds
            .resize_with(self.rounds.len().max(other.rounds.len()), || {
                RoundFigures::new(precision)
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
    pub(crate) fn new(precision: Precision) -> Self {
        Self {
            partner: None,
            n: 0,
            local: Distribution::new(precision),
            late_sender: Distribution::new(precision),
            transfer: Distribution::new(precision),
        }
    }

    /// `n` instances in which the partner was this one.
    pub(crate) fn see(&mut self, partner: Option<u32>, n: u64) {
        if self.n == 0 {
            self.partner = partner;
        } else if n > 0 && self.partner != partner {
            self.partner = None;
        }
        self.n += n;
    }
}

pub(super) fn add_at(list: &mut Vec<(u64, i128)>, position: usize, n: u64, sum: i128) {
    if position >= list.len() {
        list.resize(position + 1, (0, 0));
    }
    list[position].0 += n;
    list[position].1 += sum;
}

impl ContributorFigures {
    pub(crate) fn new(slot: u32, precision: Precision) -> Self {
        Self {
            slot,
            wait: Distribution::new(precision),
            order: Vec::new(),
        }
    }

    pub(super) fn of(nodes: &mut [NodeFigures], of: ContributorAt) -> &mut Self {
        let node = &mut nodes[of.node as usize];
        let list = if of.is_arrival {
            &mut node.arrivals
        } else {
            &mut node.departures
        };
        let contributor = &mut list[of.nth as usize];
        debug_assert_eq!(contributor.slot, of.slot, "nodes of other roles");
        contributor
    }

    fn merge(&mut self, other: &Self) {
        self.wait.merge(&other.wait);
        self.order
            .resize(self.order.len().max(other.order.len()), 0);
        for (own, other) in self.order.iter_mut().zip(&other.order) {
            *own += other;
        }
    }

    /// Notes positions of `n` in the order; -1 where one is not resolved.
    pub(super) fn add_positions<T: Sample>(&mut self, n: usize, positions: &[T]) {
        let positions = positions.iter().map(|&position| position.into());
        let resolved = positions.filter(|&position: &i64| position >= 0);
        if resolved.clone().next().is_some() {
            self.order.resize(self.order.len().max(n), 0);
        }
        resolved.for_each(|position| self.order[position as usize] += 1);
    }
}
