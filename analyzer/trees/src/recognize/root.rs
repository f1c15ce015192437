//! From a root, or to it: along a tree, in parts, or with synchronization.

use collbench_formats::Operation;

use super::super::algorithm::{Pattern, Rooted, Tree};
use super::super::exchanges::{
    Edge, Edges, ExtraRanks, Folded, Sent, Traffic, hypercube, ring, two_ways,
};
use super::super::spanning::{binomial_in_order, in_order_binary, split_binary};
use super::partial::partial_tree;
use super::recognized::{Direction, Flat, along, reversed, rooted, rotated, tree_down, tree_up};

/// Directly between the root and some of the other processes; those with nothing to send, or to
/// receive, may be missing.
fn partial_linear(
    operation: Operation,
    traffic: &Traffic<'_>,
    root: u32,
    direction: Direction,
) -> Option<Flat> {
    let may_leave_out = match direction {
        Direction::Up => matches!(operation, Operation::Scatterv | Operation::ReduceScatter),
        Direction::Down => matches!(operation, Operation::Gatherv | Operation::Allgatherv),
    };
    let is_direct = |(from, to): Edge| match direction {
        Direction::Up => from == root,
        Direction::Down => to == root,
    };
    let is_linear = may_leave_out && !traffic.is_empty() && traffic.edges().all(is_direct);
    is_linear.then(|| {
        let directed = traffic.edges().map(|edge| (edge, direction));
        rooted(Rooted::Tree(Tree::Linear), directed)
    })
}

pub(super) fn from_root(
    operation: Operation,
    traffic: &Traffic<'_>,
    root: Option<u32>,
) -> Option<Flat> {
    let (n, root) = (traffic.n, root?);
    if let Some(tree) = tree_up(traffic).filter(|tree| tree.root == root) {
        return Some(along(&tree, Direction::Up));
    }
    if let Some(linear) = partial_linear(operation, traffic, root, Direction::Up) {
        return Some(linear);
    }
    let split = split_binary(n);
    if traffic.is_exactly(&rotated(split.iter().copied(), n, root)) {
        let tree = rotated(split[..n as usize - 1].iter().copied(), n, root);
        let directed = tree.into_iter().map(|edge| (edge, Direction::Up));
        return Some(rooted(Rooted::SplitBinary, directed));
    }
    let scatter = rotated(binomial_in_order(n), n, root);
    let mut names = Vec::new();
    if traffic.is_exactly(&rotated(hypercube(n), n, root)) {
        names.push(Pattern::Rooted(Rooted::ScatterRecursiveDoubling));
    }
    // Processes for which no data are left get none.
    let around = ring(n, true);
    let mut others = traffic.edges().filter(|edge| !around.contains(edge));
    if traffic.has_all(&around) && others.all(|edge| scatter.contains(&edge)) {
        names.push(Pattern::Rooted(Rooted::ScatterRing));
    }
    if names.is_empty() {
        return via_rank_0(traffic, root)
            .or_else(|| partial_tree(operation, traffic, Some(root), Direction::Up));
    }
    Some(Flat::exchanges(names))
}

/// From a root that is not rank 0 to rank 0, and from there along a tree to all, the root included
/// or not.
///
/// # Source
/// MPICH 4.0, `MPIR_Ibcast_intra_sched_smp`: on one host, rank 0 is its leader.
fn via_rank_0(traffic: &Traffic<'_>, root: u32) -> Option<Flat> {
    let mut others = traffic.sent.to_vec();
    let name = |sent: &Sent| (sent.from, sent.to) == (root, 0);
    let at = others.iter().position(name).filter(|_| root != 0)?;
    others.remove(at);
    let tree = tree_up(&Traffic::new(traffic.n, &others)).filter(|tree| tree.root == 0)?;
    let name = *tree.names().first()?;
    let mut directed = along(&tree, Direction::Up).directed;
    directed.push(((root, 0), Direction::Up));
    Some(rooted(Rooted::ByWayOfFirst(name), directed))
}

/// Whether the data of each process are kept apart, and not reduced.
fn is_gathered(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Gather | Operation::Gatherv | Operation::Allgather | Operation::Allgatherv
    )
}

pub(super) fn to_root(
    operation: Operation,
    traffic: &Traffic<'_>,
    root: Option<u32>,
) -> Option<Flat> {
    let (n, root) = (traffic.n, root?);
    if let Some(tree) = tree_down(traffic).filter(|tree| tree.root == root) {
        return Some(along(&tree, Direction::Down));
    }
    if is_gathered(operation) {
        return partial_linear(operation, traffic, root, Direction::Down)
            .or_else(|| with_synchronization(traffic, root))
            .or_else(|| partial_tree(operation, traffic, Some(root), Direction::Down));
    }
    // From the last rank, where it ends, to the root.
    let parents = in_order_binary(n);
    let tree: Edges = (0..n - 1)
        .map(|rank| (rank, parents[rank as usize]))
        .collect();
    let mut in_order = tree.clone();
    in_order.insert((n - 1, root));
    // Two processes may also exchange halves.
    let is_sure = n > 2 || !traffic.is_mutual(&two_ways());
    if root != n - 1 && is_sure && traffic.is_exactly(&in_order) {
        let directed = in_order.into_iter().map(|edge| (edge, Direction::Down));
        return Some(rooted(Rooted::Tree(Tree::InOrderBinary), directed));
    }
    for aside in [ExtraRanks::Even, ExtraRanks::Odd] {
        let folded = Folded::new(n, aside);
        let model = folded.all();
        // A root that is an extra rank gets the result from another rank, too.
        let mut others = traffic.edges().filter(|edge| !model.contains(edge));
        if traffic.has_all(&folded.core) && others.all(|(from, to)| from == root || to == root) {
            return Some(rooted(Rooted::Rabenseifner, []));
        }
    }
    partial_tree(operation, traffic, Some(root), Direction::Down)
}

/// To the root from each process after the root has asked for it.
fn with_synchronization(traffic: &Traffic<'_>, root: u32) -> Option<Flat> {
    let n = traffic.n;
    let star: Edges = rotated((1..n).map(|rank| (rank, 0)), n, root);
    let both: Edges = star.union(&reversed(&star)).copied().collect();
    traffic.is_exactly(&both).then(|| {
        let directed = star.into_iter().map(|edge| (edge, Direction::Down));
        rooted(Rooted::LinearSynchronized, directed)
    })
}
