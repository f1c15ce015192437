//! Sums of the stages of a spanning tree of our own: of each, over all who pass it.
//!
//! A stage is what the wrappers of a station, or a proxy, cost those who pass. Its sums are kept in
//! batches of consecutive instances, from which the error of its mean follows.

use collbench_stats::batch_table::BatchTable;
use collbench_stats::batches::Sum;
use collbench_stats::estimate::{Estimate, few_batches, mean_of_column};
use collbench_stats::moments::Moments;
use collbench_trees::stations::{Flow, Link, Stations};
use serde::{Deserialize, Serialize};

use crate::measure::inside::Quantity;
use crate::measure::passes::PassTimes;
use crate::measure::passes::subtrees::{Subtree, SubtreeQuantity};
use crate::sums::graphs::node_figures::add_at;
use crate::sums::serialization::SerializationPoint;

/// What is done in a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Entry,
    ArrivalWait,
    NodeDown,
    LateReceiver,
    Transfer,
    TwoWay,
    Core,
    NodeUp,
    DepartureWait,
    Exit,
}

/// Where the time of a stage is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StagePlace {
    /// At a station, or between the ranks that contribute there and it.
    Station(u32),
    /// On the proxy between this station and its parent.
    Proxy(u32),
}

/// A stage of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) doing: Doing,
    /// Whether it is on the way to the top; `None` of the core, and of both ways together.
    pub(crate) is_down: Option<bool>,
    pub(crate) place: StagePlace,
}

/// The columns of a station in a [`StageTally`], where there are any.
#[derive(Debug, Clone, Copy, Default)]
struct StationColumns {
    entry: Option<usize>,
    arrival_wait: Option<usize>,
    node_down: Option<usize>,
    core: Option<usize>,
    node_up: Option<usize>,
    departure_wait: Option<usize>,
    exit: Option<usize>,
}

/// The columns of a hop.
#[derive(Debug, Clone, Copy, Default)]
struct HopColumns {
    late_receiver: Option<usize>,
    transfer: Option<usize>,
    two_way: Option<usize>,
}

/// The stages of a tree, and which column of a [`StageTally`] each quantity belongs to. Behind the
/// stages there is a column for each rank: its path without waits for those that arrive later; and
/// three for each subtree.
#[derive(Debug)]
pub(crate) struct StageColumns {
    /// In the order of a path: those towards the top, the core, those from it.
    pub(crate) stages: Vec<Stage>,
    /// The subtrees of hosts.
    pub(crate) subtrees: Vec<Subtree>,
    n_ranks: u32,
    of_station: Vec<StationColumns>,
    of_hop: Vec<HopColumns>,
}

impl StageColumns {
    /// `host_of`: host of a rank of the tree.
    pub(crate) fn new(stations: &Stations, host_of: impl Fn(u32) -> usize) -> Self {
        let mut this = Self {
            stages: Vec::new(),
            subtrees: Subtree::all(stations, host_of),
            n_ranks: stations.n_ranks,
            of_station: vec![StationColumns::default(); stations.links.len()],
            of_hop: vec![HopColumns::default(); stations.hops.len()],
        };
        let [goes_down, goes_up] = stations.flow.has();
        let n = stations.links.len() as u32;
        if goes_down {
            (0..n).for_each(|station| this.add_down(stations, station));
        }
        let top = stations.top;
        let core = this.add(Doing::Core, None, StagePlace::Station(top));
        this.of_station[top as usize].core = core;
        if goes_up {
            (0..n)
                .rev()
                .for_each(|station| this.add_up(stations, station));
        }
        this
    }

    fn add(&mut self, doing: Doing, is_down: Option<bool>, place: StagePlace) -> Option<usize> {
        self.stages.push(Stage {
            doing,
            is_down,
            place,
        });
        Some(self.stages.len() - 1)
    }

    /// Whether a station is one of the ranks that contribute to a wrapper.
    fn is_leaf(&self, stations: &Stations, station: u32) -> bool {
        station < self.n_ranks && station != stations.top
    }

    /// Adds the stages at a station, and from it to its parent.
    fn add_down(&mut self, stations: &Stations, station: u32) {
        let down = Some(true);
        let at = StagePlace::Station(station);
        let children = &stations.children[station as usize];
        if children.iter().any(|&child| self.is_leaf(stations, child)) {
            self.of_station[station as usize].entry = self.add(Doing::Entry, down, at);
        }
        if !children.is_empty() {
            let wait = self.add(Doing::ArrivalWait, down, at);
            self.of_station[station as usize].arrival_wait = wait;
        }
        let Some(link) = &stations.links[station as usize] else {
            return;
        };
        if !self.is_leaf(stations, station) {
            let forwarding = self.add(Doing::NodeDown, down, at);
            self.of_station[station as usize].node_down = forwarding;
        }
        self.add_hop(station, link, true);
        if let (Flow::Both, Some(hop), Some(_)) = (stations.flow, link.hops[0], link.proxy) {
            let both = self.add(Doing::TwoWay, None, StagePlace::Proxy(station));
            self.of_hop[hop as usize].two_way = both;
        }
    }

    /// Adds the stages from the parent of a station to it, and at it.
    fn add_up(&mut self, stations: &Stations, station: u32) {
        let up = Some(false);
        let at = StagePlace::Station(station);
        if let Some(link) = &stations.links[station as usize] {
            self.add_hop(station, link, false);
            if !self.is_leaf(stations, station) {
                let forwarding = self.add(Doing::NodeUp, up, at);
                self.of_station[station as usize].node_up = forwarding;
            }
        }
        let children = &stations.children[station as usize];
        if !children.is_empty() {
            let wait = self.add(Doing::DepartureWait, up, at);
            self.of_station[station as usize].departure_wait = wait;
        }
        if children.iter().any(|&child| self.is_leaf(stations, child)) {
            self.of_station[station as usize].exit = self.add(Doing::Exit, up, at);
        }
    }

    /// Adds a hop between a station and its parent, if there is one.
    fn add_hop(&mut self, station: u32, link: &Link, is_down: bool) {
        let Some(hop) = link.hops[usize::from(!is_down)] else {
            return;
        };
        // Without a proxy a hop takes no time, but a rank may be late.
        let place = match (link.proxy, station < self.n_ranks) {
            (Some(_), _) => StagePlace::Proxy(station),
            (None, true) => StagePlace::Station(link.parent),
            (None, false) => StagePlace::Station(station),
        };
        let late = Stage {
            doing: Doing::LateReceiver,
            is_down: Some(is_down),
            place,
        };
        let known = self.stages.iter().position(|known| *known == late);
        let late = known.or_else(|| self.add(late.doing, late.is_down, late.place));
        let transfer = link
            .proxy
            .and_then(|_| self.add(Doing::Transfer, Some(is_down), place));
        self.of_hop[hop as usize] = HopColumns {
            late_receiver: late,
            transfer,
            two_way: None,
        };
    }

    /// The column that a sample belongs to.
    fn column(&self, stations: &Stations, quantity: Quantity) -> Option<usize> {
        let at = |station: u32| &self.of_station[station as usize];
        let parent = |leaf: u32| Some(at(stations.links[leaf as usize].as_ref()?.parent));
        match quantity {
            Quantity::Wait(of) if of.is_arrival => at(of.node).arrival_wait,
            Quantity::Wait(of) => at(of.node).departure_wait,
            Quantity::Down { node } if self.is_leaf(stations, node) => parent(node)?.entry,
            Quantity::Down { node } => at(node).node_down,
            Quantity::Up { node } if self.is_leaf(stations, node) => parent(node)?.exit,
            Quantity::Up { node } => at(node).node_up,
            Quantity::Core { node } => at(node).core,
            Quantity::LateReceiver { edge, .. } => self.of_hop[edge as usize].late_receiver,
            Quantity::Transfer { edge, .. } => self.of_hop[edge as usize].transfer,
            Quantity::TwoWay { edge } => self.of_hop[edge as usize].two_way,
            _ => None,
        }
    }

    /// The hop, and whether it is both ways together, that a sample is the time on a proxy of.
    pub(crate) fn crossing(&self, quantity: Quantity) -> Option<(u32, bool)> {
        match quantity {
            Quantity::Transfer { edge, .. } => {
                let column = self.of_hop[edge as usize].transfer;
                column.map(|_| (edge, false))
            }
            Quantity::TwoWay { edge } => Some((edge, true)),
            _ => None,
        }
    }

    /// The column of the path of a rank of the tree.
    pub(crate) fn of_rank(&self, rank: u32) -> usize {
        self.stages.len() + rank as usize
    }

    /// The column of what is measured of a subtree, but for departures by position.
    pub(crate) fn of_subtree(&self, subtree: usize, quantity: SubtreeQuantity) -> Option<usize> {
        let nth = match quantity {
            SubtreeQuantity::Down => 0,
            SubtreeQuantity::Up => 1,
            SubtreeQuantity::DepartureWait => 2,
            SubtreeQuantity::Departure(_) => return None,
        };
        Some(self.of_rank(self.n_ranks) + 3 * subtree + nth)
    }

    fn n_columns(&self) -> usize {
        self.of_rank(self.n_ranks) + 3 * self.subtrees.len()
    }
}

/// Sums of the stages of a tree, by column of its [`StageColumns`].
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct StageTally {
    batches: BatchTable,
    moments: Vec<Moments>,
    /// By subtree and position in the order of departure: number and sum of the times from receiving to
    /// departure.
    departures: Vec<Vec<(u64, i128)>>,
}

/// A sample of a subtree: its number, what it is, ns.
pub(crate) type SubtreeSample = (usize, SubtreeQuantity, i64);

/// What was measured in an instance, with a buffer that is reused.
pub(crate) struct StageSamples<'s> {
    pub(crate) samples: &'s [(Quantity, i64)],
    pub(crate) of_subtrees: &'s [SubtreeSample],
    pub(crate) times: &'s PassTimes,
    pub(crate) row: &'s mut Vec<Sum>,
}

impl StageTally {
    /// Adds an instance at a position.
    pub(crate) fn add(
        &mut self,
        position: u64,
        (columns, stations): (&StageColumns, &Stations),
        found: StageSamples<'_>,
    ) {
        let row = found.row;
        row.clear();
        row.resize(columns.n_columns(), Sum::default());
        self.moments.resize(columns.n_columns(), Moments::default());
        let moments = &mut self.moments;
        let mut add = |column: Option<usize>, sample: i64| {
            if let Some(column) = column {
                row[column].n += 1;
                row[column].total += i128::from(sample);
                moments[column].add(sample);
            }
        };
        for &(quantity, sample) in found.samples {
            match quantity {
                Quantity::Path { node } => {
                    let column = own_path(stations, node).map(|rank| columns.of_rank(rank));
                    add(column, sample - found.times.waits_on_path(stations, node));
                }
                _ => add(columns.column(stations, quantity), sample),
            }
        }
        self.departures
            .resize_with(columns.subtrees.len(), Vec::new);
        for &(subtree, quantity, sample) in found.of_subtrees {
            add(columns.of_subtree(subtree, quantity), sample);
            if let SubtreeQuantity::Departure(position) = quantity {
                let departures = &mut self.departures[subtree];
                add_at(departures, position as usize, 1, sample.into());
            }
        }
        self.batches.add(position, row);
    }

    /// Adds another part.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.batches.merge(&other.batches);
        let n_columns = self.moments.len().max(other.moments.len());
        self.moments.resize(n_columns, Moments::default());
        for (own, other) in self.moments.iter_mut().zip(&other.moments) {
            own.merge(other);
        }
        let n_subtrees = self.departures.len().max(other.departures.len());
        self.departures.resize_with(n_subtrees, Vec::new);
        for (own, other) in self.departures.iter_mut().zip(&other.departures) {
            for (position, &(n, sum)) in other.iter().enumerate() {
                add_at(own, position, n, sum);
            }
        }
    }

    /// The curve of a subtree: from receiving to departure, by position in the order of departure.
    pub(crate) fn departures(&self, subtree: usize) -> impl Iterator<Item = SerializationPoint> {
        let points = self.departures.get(subtree).into_iter().flatten();
        let points = points.enumerate().filter(|(_, (n, _))| *n > 0);
        points.map(|(position, &(n, sum))| SerializationPoint {
            position,
            n,
            mean_ns: (sum / i128::from(n)) as i64,
        })
    }

    /// The moments of each column, and what its mean is estimated to be.
    pub(crate) fn columns(&self) -> Vec<(Moments, Option<Estimate>)> {
        let few = few_batches(&self.batches);
        let moments = self.moments.iter().enumerate();
        moments
            .map(|(column, moments)| (*moments, mean_of_column(&few, column)))
            .collect()
    }
}

/// A rank whose path can be known without waits for others: a root to which data flow waits for
/// the paths of others only.
fn own_path(stations: &Stations, rank: u32) -> Option<u32> {
    let [goes_down, _] = stations.flow.has();
    (!goes_down || rank != stations.top).then_some(rank)
}
