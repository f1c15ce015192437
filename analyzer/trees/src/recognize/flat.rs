//! Algorithms in which all processes are alike, regardless of their hosts.

use std::collections::BTreeSet;

use collbench_formats::{Operation, Semantics};

use super::super::algorithm::{Pattern, Rooted};
use super::super::exchanges::{
    Edge, Edges, ExtraRanks, Folded, Sent, Traffic, butterfly, by_powers, hypercube,
    neighbor_exchange, ring, two_ways,
};
use super::super::spanning::SpanningTree;
use super::partial;
use super::recognized::{Direction, Flat, Recognized, along, tree_down, tree_up};
use super::root::{from_root, to_root};

/// Recognizes how `operation` was done if all processes are alike.
pub(super) fn flat(operation: Operation, n: u32, root: Option<u32>, sent: &[Sent]) -> Option<Flat> {
    let traffic = Traffic::new(n, sent);
    let operation = operation.blocking();
    let found = match operation.semantics() {
        Semantics::OneToMany => from_root(operation, &traffic, root),
        Semantics::ManyToOne => to_root(operation, &traffic, root),
        Semantics::Barrier => barrier(&traffic).or_else(|| then_from_root(&traffic, barrier)),
        Semantics::AllToAll => {
            exchange_of_all(operation, &traffic).or_else(|| in_parts(operation, &traffic))
        }
        Semantics::Prefix => prefix(&traffic).or_else(|| then_from_root(&traffic, prefix)),
        Semantics::Neighborhood => {
            (traffic.is_at_once()).then(|| Flat::exchange(Pattern::Neighbours))
        }
        _ => return None,
    };
    let found = found
        .or_else(|| to_and_from(&traffic, operation))
        .or_else(|| partial::partial_exchange(operation, &traffic));
    Some(found.unwrap_or_else(|| Flat::exchange(Pattern::Unrecognized)))
}

fn exchange_of_all(operation: Operation, traffic: &Traffic<'_>) -> Option<Flat> {
    match operation {
        Operation::Allreduce => allreduce(traffic),
        Operation::ReduceScatter | Operation::ReduceScatterBlock => reduce_scatter(traffic),
        Operation::Allgather | Operation::Allgatherv => allgather(traffic),
        _ => alltoall(operation, traffic),
    }
}

pub(super) fn barrier(traffic: &Traffic<'_>) -> Option<Flat> {
    let n = traffic.n;
    let mut names = Vec::new();
    let powers = by_powers(n, true);
    if let (2, Some(found)) = (n, of_two(traffic)) {
        return Some(found);
    }
    names.extend(folded_exchange(traffic, 1).then_some(Pattern::RecursiveDoubling));
    if traffic.is_exactly(&powers)
        && traffic.count_of(&powers) == Some(1)
        && (n > 2 || traffic.is_mutual(&powers))
    {
        names.push(Pattern::Dissemination);
    }
    let around = ring(n, true);
    if traffic.is_exactly(&around) && traffic.count_of(&around) == Some(2) {
        names.push(Pattern::DoubleRing);
    }
    (!names.is_empty()).then(|| Flat::exchanges(names))
}

/// An exchange of one message each way between two processes.
fn of_two(traffic: &Traffic<'_>) -> Option<Flat> {
    let both = two_ways();
    let is_exchange = traffic.is_exactly(&both) && traffic.is_once() && traffic.is_mutual(&both);
    is_exchange.then(|| Flat::exchange(Pattern::TwoProcesses))
}

/// Whether a power of two of the processes exchange `count` messages in each direction with those
/// that differ in one bit, and each extra rank has a process that takes part for it.
///
/// Two processes without extra ranks, or with one message in each direction, may also be a tree to
/// the root and back: then it matters whether they sent before they had received. In all other
/// cases there are too many edges for that; and it could not be decided for messages that arrive
/// early.
fn folded_exchange(traffic: &Traffic<'_>, count: u32) -> bool {
    [ExtraRanks::Even, ExtraRanks::Odd, ExtraRanks::Last]
        .into_iter()
        .any(|aside| {
            let folded = Folded::new(traffic.n, aside);
            let is_surely_exchange =
                folded.core.len() > 2 || count > 1 && traffic.count_of(&folded.pairs) == Some(1);
            traffic.is_exactly(&folded.all())
                && traffic.count_of(&folded.core) == Some(count)
                && (is_surely_exchange || traffic.is_mutual(&folded.core))
        })
}

/// Number of messages around the ring, each to the next rank, if all messages are of that kind.
fn around(traffic: &Traffic<'_>) -> Option<u32> {
    let rings = [true, false].map(|is_forward| ring(traffic.n, is_forward));
    let ring = rings.iter().find(|ring| traffic.is_exactly(ring))?;
    traffic.count_of(ring)
}

fn allreduce(traffic: &Traffic<'_>) -> Option<Flat> {
    let n = traffic.n;
    let mut names = Vec::new();
    names.extend(folded_exchange(traffic, 1).then_some(Pattern::RecursiveDoubling));
    names.extend(folded_exchange(traffic, 2).then_some(Pattern::Rabenseifner));
    // Once around to reduce, in each segment, and once to forward the result.
    match around(traffic).filter(|_| n > 2 || traffic.is_mutual(&two_ways())) {
        Some(count) if count == 2 * (n - 1) => names.push(Pattern::Ring),
        Some(count) if count > 2 * (n - 1) && count.is_multiple_of(n - 1) => {
            names.push(Pattern::SegmentedRing);
        }
        _ => {}
    }
    (!names.is_empty()).then(|| Flat::exchanges(names))
}

fn reduce_scatter(traffic: &Traffic<'_>) -> Option<Flat> {
    let n = traffic.n;
    let mut names = Vec::new();
    if !n.is_power_of_two() && traffic.is_exactly(&hypercube(n)) && !traffic.is_once() {
        // A rank without a partner at some distance gets that partner's data from others, in one
        // more message.
        names.push(Pattern::RecursiveDoubling);
    } else if folded_exchange(traffic, 1) {
        // With the nearest rank first. Either has half as much data in each step, or all that
        // others need.
        let is_from_near = n > 2 && n.is_power_of_two() && traffic.first_to(0) == Some(1);
        if is_from_near {
            names.extend([Pattern::Butterfly, Pattern::RecursiveDoubling])
        } else {
            names.push(Pattern::RecursiveHalving)
        }
    }
    if around(traffic) == Some(n - 1) && n > 2 {
        names.push(Pattern::Ring);
    }
    names.extend(
        butterfly(n)
            .filter(|edges| traffic.is_exactly(edges))
            .map(|_| Pattern::Butterfly),
    );
    if traffic.is_complete() && traffic.is_one_by_one() && n > 2 {
        names.push(Pattern::Pairwise);
    }
    (!names.is_empty()).then(|| Flat::exchanges(names))
}

fn allgather(traffic: &Traffic<'_>) -> Option<Flat> {
    let n = traffic.n;
    let is_once = traffic.is_once();
    if n == 2 {
        return of_two(traffic);
    }
    let mut names = Vec::new();
    if is_once && traffic.is_complete() && traffic.is_at_once() {
        names.push(Pattern::Linear);
    }
    names.extend(
        (n.is_power_of_two() && folded_exchange(traffic, 1)).then_some(Pattern::RecursiveDoubling),
    );
    if around(traffic) == Some(n - 1) {
        names.push(Pattern::Ring);
    }
    if neighbor_exchange(n).is_some_and(|edges| traffic.is_exactly(&edges)) {
        names.push(Pattern::NeighborExchange);
    }
    if names.is_empty() && is_by_powers(traffic) {
        let has_each_part = traffic.sent.len() as u32 == n * (n - 1);
        match (is_once, has_each_part) {
            (true, _) => names.push(Pattern::Bruck),
            (false, true) => names.push(Pattern::Sparbit),
            (false, false) => {}
        }
    }
    (!names.is_empty()).then(|| Flat::exchanges(names))
}

fn is_by_powers(traffic: &Traffic<'_>) -> bool {
    [true, false]
        .map(|is_forward| by_powers(traffic.n, is_forward))
        .iter()
        .any(|edges| traffic.is_exactly(edges))
}

fn alltoall(operation: Operation, traffic: &Traffic<'_>) -> Option<Flat> {
    // If there is nothing to send there may be no message.
    let is_irregular = matches!(operation, Operation::Alltoallv | Operation::Alltoallw);
    let is_complete = traffic.is_complete() || is_irregular;
    let is_once = traffic.is_once();
    if traffic.n == 2 {
        return of_two(traffic);
    }
    let mut names = Vec::new();
    let is_bruck = is_by_powers(traffic);
    if is_once && is_complete && traffic.is_at_once() {
        names.push(Pattern::Linear);
    } else if is_once && is_complete && traffic.is_one_by_one() {
        names.push(Pattern::Pairwise);
    } else if traffic.is_complete() {
        names.push(Pattern::LinearSynchronized);
    }
    if is_once && is_bruck && !traffic.is_at_once() {
        names.push(Pattern::Bruck);
    }
    (!names.is_empty()).then(|| Flat::exchanges(names))
}

/// A prefix operation. The last rank, which has the result over all, may send it to rank 0.
///
/// # Source
///
/// MPICH 4.0, `MPIR_Scan_intra_smp` and `MPIR_Iscan_intra_sched_smp`, where the leader of a host
/// forwards it.
fn prefix(traffic: &Traffic<'_>) -> Option<Flat> {
    let name = (traffic.n - 1, 0);
    prefix_alone(traffic).or_else(|| {
        let mut others = traffic.sent.to_vec();
        let at = others
            .iter()
            .rposition(|sent| (sent.from, sent.to) == name)?;
        others.remove(at);
        prefix_alone(&Traffic::new(traffic.n, &others))
    })
}

fn prefix_alone(traffic: &Traffic<'_>) -> Option<Flat> {
    let n = traffic.n;
    let chain: Edges = (1..n).map(|rank| (rank - 1, rank)).collect();
    if traffic.is_exactly(&chain) {
        return Some(Flat::exchange(Pattern::Chain));
    }
    let cube = hypercube(n);
    let is_doubling = traffic.is_exactly(&cube) && traffic.count_of(&cube).is_some();
    is_doubling.then(|| Flat::exchange(Pattern::RecursiveDoubling))
}

/// First among all ranks, then from rank 0 along a tree, with a tag of its own.
///
/// # Source
///
/// MPICH 4.0, `MPIR_Barrier_intra_smp` and `MPIR_Scan_intra_smp`: the leader of a host forwards
/// what it has received from others, even if there are none.
fn then_from_root(
    traffic: &Traffic<'_>,
    among_all: fn(&Traffic<'_>) -> Option<Flat>,
) -> Option<Flat> {
    let groups: BTreeSet<u32> = traffic.sent.iter().map(|sent| sent.group).collect();
    groups.into_iter().find_map(|group| {
        let (from, among): (Vec<Sent>, Vec<Sent>) =
            traffic.sent.iter().partition(|sent| sent.group == group);
        let from = Traffic::new(traffic.n, &from);
        let tree = tree_up(&from).filter(|tree| tree.root == 0)?;
        let rest = Traffic::new(traffic.n, &among);
        let found = along(&tree, Direction::Up);
        let Pattern::Rooted(part) = found.names[0] else {
            return None;
        };
        let name = match among_all(&rest)?.names[0] {
            Pattern::Dissemination | Pattern::TwoProcesses => Pattern::DisseminationAndFrom(part),
            Pattern::RecursiveDoubling => Pattern::RecursiveDoublingAndFrom(part),
            _ => return None,
        };
        let edges: Edges = rest.edges().collect();
        let only = found.directed.into_iter();
        Some(Flat {
            names: vec![name],
            tree: None,
            directed: only.filter(|(edge, _)| !edges.contains(edge)).collect(),
        })
    })
}

/// First to a root, then from it, each with a tag of its own.
fn in_parts(operation: Operation, traffic: &Traffic<'_>) -> Option<Flat> {
    let of_group = |group| -> Vec<Sent> {
        let sent = traffic.sent.iter().filter(|sent| sent.group == group);
        sent.copied().collect()
    };
    if traffic.sent.iter().any(|sent| sent.group > 1) {
        return None;
    }
    let [one, other] = [of_group(0), of_group(1)];
    [(&one, &other), (&other, &one)]
        .into_iter()
        .find_map(|(to, from)| {
            let (to, from) = (Traffic::new(traffic.n, to), Traffic::new(traffic.n, from));
            let root = match (tree_down(&to), tree_up(&from)) {
                (Some(tree), _) | (None, Some(tree)) => tree.root,
                (None, None) => 0,
            };
            let (to, from) = (
                to_root(operation, &to, Some(root))?,
                from_root(operation, &from, Some(root))?,
            );
            Some(both(&to, &from))
        })
}

/// One after the other.
fn both(to: &Flat, from: &Flat) -> Flat {
    let part = |found: &Flat| match found.names[0] {
        Pattern::Rooted(part) => part,
        _ => Rooted::UnnamedTree,
    };
    let edges_back: BTreeSet<Edge> = from.directed.iter().map(|(edge, _)| *edge).collect();
    let is_apart = |(edge, _): &&(Edge, Direction)| !edges_back.contains(edge);
    let down = to.directed.iter().filter(is_apart);
    Recognized {
        names: vec![Pattern::ToAndFrom(part(to), part(from))],
        tree: to.tree.filter(|_| from.tree.is_some()),
        directed: down.chain(&from.directed).copied().collect(),
    }
}

/// Along a tree to its root and back, the same or another tree, with one tag. For operations
/// without a root of their own it is rank 0.
fn to_and_from(traffic: &Traffic<'_>, operation: Operation) -> Option<Flat> {
    if operation.semantics().is_rooted() {
        return None;
    }
    let edges: Edges = traffic.edges().collect();
    // The first message of each process except the root flows to the root.
    let mut seen = BTreeSet::from([0]);
    let down: Vec<Sent> = (traffic.sent.iter())
        .filter(|sent| seen.insert(sent.from))
        .copied()
        .collect();
    let to = Traffic::new(traffic.n, &down);
    let down = tree_down(&to)?;
    let up = edges
        .into_iter()
        .filter(|edge| to.count_of(&Edges::from([*edge])).is_none());
    let back: Vec<Edge> = up.collect();
    let up = SpanningTree::of(traffic.n, back.iter().map(|&(from, to)| (to, from)));
    let up = match up.filter(|up| up.root == 0) {
        Some(up) => along(&up, Direction::Up),
        // The root may have data for some ranks only.
        None => {
            let is_back = |sent: &Sent| back.contains(&(sent.from, sent.to));
            let sent = traffic.sent.iter().copied();
            let sent: Vec<Sent> = sent.filter(is_back).collect();
            let partial_tree = Traffic::new(traffic.n, &sent);
            partial::partial_tree(operation, &partial_tree, Some(0), Direction::Up)?
        }
    };
    (down.root == 0).then(|| both(&along(&down, Direction::Down), &up))
}
