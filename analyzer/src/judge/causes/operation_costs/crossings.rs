//! How often critical paths cross between far places one after another, and how often the operation needs that.
//!
//! Far places are sites, or the hosts of one site if ranks share these. The operation needs a single crossing between
//! sites, whichever and how many they are: each of them can send to all others at once. Among hosts, which may be many,
//! it needs as many as a binomial tree of them has hops. How often the same messages would cross if ranks were in the
//! order of places tells what their order is to blame for, and what the algorithm.

use std::collections::BTreeMap;

use crate::judge::causes::operation_costs::facts::{
    EdgeFacts, Flow, GraphFacts, LinkClass, Location, OperationFacts, levels,
};
use crate::judge::causes::operation_costs::links::{SMALL, UsualTimes, Ways};

/// From how many times a near message on a message is a far one.
const FAR: f64 = 5.0;
/// Part of the usual time that a path spends on a message, from which on it waits for the whole of it.
const HALF: f64 = 0.5;
/// Crossings more than needed from which on they are needless, mean.
const NEEDLESS: f64 = 0.5;

/// The crossings between far places on the critical path of an instance of a graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Crossings {
    /// The messages that cross.
    pub(crate) class: LinkClass,
    /// Crossings one after another, mean.
    pub(crate) on_path: f64,
    /// As many as the operation needs.
    pub(crate) fewest: f64,
    /// As many as there would be if the ranks were in the order of places.
    in_order: f64,
    /// Whether they are.
    pub(crate) are_ranks_in_order: bool,
    /// Time of all of them, ns.
    pub(crate) all_ns: f64,
    /// Time of a near message in the place of one, ns.
    near_ns: f64,
    /// Whether that is not known.
    pub(crate) is_assumed: bool,
}

impl Crossings {
    /// The crossings between sites, where ranks are at several, else between hosts; `None` where there are none, or it
    /// is not known how many are needed.
    pub(crate) fn of(
        operation: &OperationFacts,
        graph: &GraphFacts,
        usual: &UsualTimes,
        ways: &Ways,
    ) -> Option<Self> {
        let levels = levels(&operation.locations);
        let class = match levels.map(|hops| hops > 0) {
            [_, _, true] => LinkClass::BetweenSites,
            [true, true, _] => LinkClass::BetweenHosts,
            _ => return None,
        };
        let fewest = match class {
            LinkClass::BetweenSites => 1.0,
            _ => levels[1] as f64,
        };
        // What had arrived before, or nearly so, is no message that a path waits for.
        let waited_for = |edge: &EdgeFacts, ns: f64, uses: f64| {
            let usual_ns = usual.of_message(edge.class, edge.bytes).map(|time| time.ns);
            let way_ns = ways.of_class(edge.class).map(|way| way.usual_ns);
            let one_ns = usual_ns.max(way_ns).unwrap_or(edge.median_ns).max(1);
            let part = ns / (uses * one_ns as f64);
            if part < HALF { uses * part } else { uses }
        };
        let mut found = Self {
            class,
            on_path: 0.0,
            fewest,
            in_order: 0.0,
            are_ranks_in_order: is_in_order(&operation.locations, class),
            all_ns: 0.0,
            near_ns: 0.0,
            is_assumed: true,
        };
        let mut in_order: Vec<Location> = operation.locations.clone();
        in_order.sort_by_key(|at| (at.site, at.host));
        let ranks = operation.ranks.iter().copied();
        let in_order: BTreeMap<u32, Location> = ranks.zip(in_order).collect();
        let is_apart = |edge: &EdgeFacts| {
            let ends = in_order.get(&edge.from).zip(in_order.get(&edge.to));
            ends.is_some_and(|(&from, &to)| class.divides(from, to))
        };
        let mut largest = 0;
        for edge in graph.edges.iter().filter(|edge| edge.on_path > 0) {
            let ns = edge.on_path_ns.max(0) as f64 / graph.known as f64;
            let uses = waited_for(edge, ns, edge.on_path as f64 / graph.known as f64);
            if edge.class == class {
                largest = largest.max(edge.bytes);
                found.on_path += uses;
                found.all_ns += ns;
            }
            if is_apart(edge) {
                found.in_order += uses;
            }
        }
        // Where each rank has data of its own, fewer crossings are of more data.
        let is_of_latency = match operation.flow {
            Flow::OneWay | Flow::BothWays => true,
            Flow::Rooted | Flow::Other => operation.can_use_tree && largest <= SMALL,
        };
        if found.on_path <= 0.0 || !is_of_latency {
            return None;
        }
        let nearer = usual.nearer(class);
        if let Some(time) = nearer.and_then(|nearer| usual.of_message(nearer, graph.bytes)) {
            (found.near_ns, found.is_assumed) = (time.ns as f64, time.is_assumed);
        }
        // In collectives messages may be seen late: a small one takes half of the round trip, and a large one as much
        // less as its way is shorter.
        let of_class = |class| ways.of_class(class).map(|way| way.usual_ns);
        if let Some((near_ns, far_ns)) = nearer.and_then(of_class).zip(of_class(class)) {
            let shorter_ns = far_ns.saturating_sub(near_ns) as f64;
            let most_ns = if largest <= SMALL {
                near_ns as f64
            } else {
                (found.each_ns() - shorter_ns).max(0.0)
            };
            found.near_ns = found.near_ns.min(most_ns);
        }
        let is_told = match class {
            LinkClass::BetweenSites => true,
            // More hops among hosts than needed are told as such.
            _ => found.each_ns() >= FAR * found.near_ns && found.are_of_order(),
        };
        is_told.then_some(found)
    }

    /// Time of one, ns.
    pub(crate) fn each_ns(&self) -> f64 {
        self.all_ns / self.on_path
    }

    /// Those that are not needed; 0 if these are too few.
    fn needless(&self) -> f64 {
        let needless = self.on_path - self.fewest;
        if needless < NEEDLESS { 0.0 } else { needless }
    }

    /// Time that they take more than near messages would, ns.
    pub(crate) fn needless_ns(&self) -> f64 {
        self.needless() * (self.each_ns() - self.near_ns).max(0.0)
    }

    /// Whether most of them are there because of the order of ranks, and not because of the algorithm.
    pub(crate) fn are_of_order(&self) -> bool {
        self.on_path - self.in_order >= self.needless() / 2.0
    }
}

/// Whether the ranks of each place follow one another.
fn is_in_order(locations: &[Location], class: LinkClass) -> bool {
    let mut first_of_runs: Vec<Location> = locations.to_vec();
    first_of_runs.dedup_by(|a, b| !class.divides(*a, *b));
    let mut places = first_of_runs.iter().enumerate();
    places.all(|(at, place)| {
        let before = &first_of_runs[..at];
        before.iter().all(|other| class.divides(*place, *other))
    })
}
