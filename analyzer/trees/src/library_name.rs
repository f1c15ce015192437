//! What the MPI library's names of algorithms mean, and whether the graph of messages agrees.
//!
//! Among few processes many algorithms have the same graph, and even more if some processes have
//! nothing to send or to receive. So the name that the library reports for a call has precedence.
//! The graph adds what the library does not report: the parameters of a tree, and the parts of an
//! algorithm that have no name. A message between two processes that exchange none in this
//! algorithm contradicts the name: that is counted, and the name is kept.
//!
//! # Source
//! Open MPI's `coll_base_functions.h`, and the comments of its `coll_base_*.c` on the parts of each
//! algorithm and its fallbacks.

use collbench_formats::{Operation, Semantics};

use crate::algorithm::{Algorithm, Pattern, Rooted, Tree};
use crate::exchanges::{
    Edge, Edges, ExtraRanks, Folded, butterfly, by_powers, hypercube, neighbor_exchange, ring,
    two_ways,
};
use crate::recognize::{Direction, reversed, rotated};
use crate::shape::Shape;
use crate::spanning::{self, binomial_in_order, in_order_binary, split_binary};

/// The collectives for which the library has named algorithms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Collective {
    Allgather,
    Allreduce,
    Alltoall,
    Barrier,
    Bcast,
    Gather,
    Reduce,
    ReduceScatter,
    Scan,
    Scatter,
}

/// Prefixes of names; the longer first where one begins with another.
const COLLECTIVES: [(&str, Collective); 16] = [
    ("allgatherv", Collective::Allgather),
    ("allgather", Collective::Allgather),
    ("allreduce", Collective::Allreduce),
    ("alltoallv", Collective::Alltoall),
    ("alltoallw", Collective::Alltoall),
    ("alltoall", Collective::Alltoall),
    ("barrier", Collective::Barrier),
    ("bcast", Collective::Bcast),
    ("exscan", Collective::Scan),
    ("gatherv", Collective::Gather),
    ("gather", Collective::Gather),
    ("reduce_scatter_block", Collective::ReduceScatter),
    ("reduce_scatter", Collective::ReduceScatter),
    ("reduce", Collective::Reduce),
    ("scan", Collective::Scan),
    ("scatter", Collective::Scatter),
];

impl Collective {
    fn of(operation: Operation) -> Option<Self> {
        Some(match operation.blocking() {
            Operation::Allgather | Operation::Allgatherv => Self::Allgather,
            Operation::Allreduce => Self::Allreduce,
            Operation::Alltoall | Operation::Alltoallv | Operation::Alltoallw => Self::Alltoall,
            Operation::Barrier => Self::Barrier,
            Operation::Bcast => Self::Bcast,
            Operation::Gather | Operation::Gatherv => Self::Gather,
            Operation::Reduce => Self::Reduce,
            Operation::ReduceScatter | Operation::ReduceScatterBlock => Self::ReduceScatter,
            Operation::Scan | Operation::Exscan => Self::Scan,
            Operation::Scatter | Operation::Scatterv => Self::Scatter,
            _ => return None,
        })
    }
}

/// Meaning of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LibraryName {
    of: Collective,
    how: How,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Composed of two parts, each by an algorithm of its own.
    Composed,
    /// Along a tree, or in another way with a root.
    Rooted(Rooted),
    Exchange(Pattern),
    /// Linear of any variant.
    Linear,
    Rabenseifner,
}

impl LibraryName {
    /// Meaning of a name such as `bcast_intra_bintree`; `None` if it is not known.
    pub fn of(name: &str) -> Option<Self> {
        let mut collectives = COLLECTIVES.iter();
        let (of, how) = collectives.find_map(|&(prefix, of)| {
            let how = name.strip_prefix(prefix)?.strip_prefix("_intra_")?;
            Some((of, how))
        })?;
        let tree = |tree| How::Rooted(Rooted::Tree(tree));
        let how = match (how, of) {
            ("linear_sync", Collective::Alltoall) => How::Exchange(Pattern::LinearSynchronized),
            ("linear_sync", _) => How::Rooted(Rooted::LinearSynchronized),
            ("basic_default" | "nonoverlapping", _) | ("basic_linear", Collective::Allgather) => {
                How::Composed
            }
            ("basic_linear" | "linear" | "linear_nb", _) => How::Linear,
            ("binomial" | "tree", _) => tree(Tree::Binomial),
            ("bintree" | "binary", _) => tree(Tree::Binary),
            ("in_order_binary", _) => tree(Tree::InOrderBinary),
            ("knomial", _) => tree(Tree::Knomial(0)),
            ("chain", _) => tree(Tree::Chain(0)),
            ("pipeline", _) => tree(Tree::Pipeline),
            ("split_bintree", _) => How::Rooted(Rooted::SplitBinary),
            ("scatter_allgather", _) => How::Rooted(Rooted::ScatterRecursiveDoubling),
            ("scatter_allgather_ring", _) => How::Rooted(Rooted::ScatterRing),
            ("redscat_allgather" | "redscat_gather", _) => How::Rabenseifner,
            ("recursivedoubling", _) => How::Exchange(Pattern::RecursiveDoubling),
            ("recursivehalving" | "basic_recursivehalving", _) => {
                How::Exchange(Pattern::RecursiveHalving)
            }
            ("butterfly", _) => How::Exchange(Pattern::Butterfly),
            ("bruck", Collective::Barrier) => How::Exchange(Pattern::Dissemination),
            ("bruck", _) => How::Exchange(Pattern::Bruck),
            ("ring", _) => How::Exchange(Pattern::Ring),
            ("ring_segmented", _) => How::Exchange(Pattern::SegmentedRing),
            ("doublering", _) => How::Exchange(Pattern::DoubleRing),
            ("sparbit", _) => How::Exchange(Pattern::Sparbit),
            ("neighborexchange", _) => How::Exchange(Pattern::NeighborExchange),
            ("pairwise", _) => How::Exchange(Pattern::Pairwise),
            ("two_procs", _) => How::Exchange(Pattern::TwoProcesses),
            _ => return None,
        };
        Some(Self { of, how })
    }

    /// As a part to a root, or from it.
    fn rooted(self) -> Option<Rooted> {
        match self.how {
            How::Rooted(rooted) => Some(rooted),
            How::Linear => Some(LINEAR),
            How::Rabenseifner => Some(Rooted::Rabenseifner),
            How::Composed | How::Exchange(_) => None,
        }
    }
}

const LINEAR: Rooted = Rooted::Tree(Tree::Linear);

/// What all names of a call together claim. Parameters that are not reported are 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Claimed {
    Rooted(Rooted),
    /// To a root, then from it; `None`: not reported.
    ToAndFrom(Option<Rooted>, Option<Rooted>),
    Exchange(Pattern),
}

impl Claimed {
    /// From the names in the order of their calls. Of several names of the collective itself the
    /// last one ran: those before it delegated to it.
    fn of(collective: Collective, names: &[LibraryName]) -> Option<Self> {
        let own = names.iter().rposition(|name| name.of == collective);
        let parts = &names[own.map_or(0, |own| own + 1)..];
        let part = |of: [Collective; 2]| {
            let last = parts.iter().rfind(|name| of.contains(&name.of))?;
            last.rooted()
        };
        let to = part([Collective::Reduce, Collective::Gather]);
        let from = part([Collective::Bcast, Collective::Scatter]);
        let both = |rooted| Self::ToAndFrom(Some(rooted), Some(rooted));
        let Some(own) = own.map(|own| names[own]) else {
            // A component without names that delegates the parts to others.
            return (to.is_some() || from.is_some()).then_some(Self::ToAndFrom(to, from));
        };
        Some(match (collective, own.how) {
            (
                Collective::Bcast | Collective::Gather | Collective::Reduce | Collective::Scatter,
                _,
            ) => Self::Rooted(own.rooted()?),
            (_, How::Composed) => Self::ToAndFrom(to, from),
            (Collective::Alltoall, How::Linear) => Self::Exchange(Pattern::Linear),
            (Collective::Scan, How::Linear) => Self::Exchange(Pattern::Chain),
            (_, How::Linear) => both(LINEAR),
            (_, How::Rooted(rooted)) => both(rooted),
            (_, How::Rabenseifner) => Self::Exchange(Pattern::Rabenseifner),
            (_, How::Exchange(pattern)) => Self::Exchange(pattern),
        })
    }

    /// From the only name of an operation that the library does by a collective of another kind,
    /// such as the barrier of `MPI_Win_free`.
    fn of_only(names: &[LibraryName]) -> Option<Self> {
        let [name] = names else { return None };
        Self::of(name.of, names).filter(|claimed| !matches!(claimed, Self::Rooted(_)))
    }

    /// The pattern that the graph has among these, if it agrees with the claim, or the claim
    /// itself.
    fn name(self, names: &[Algorithm]) -> Option<Pattern> {
        let flat = names.iter().filter_map(|name| match name {
            Algorithm::Flat(pattern) => Some(*pattern),
            _ => None,
        });
        if let Some(one) = flat.clone().find(|&pattern| self.is(pattern)) {
            return Some(one);
        }
        Some(match self {
            Self::Rooted(rooted) => Pattern::Rooted(rooted),
            Self::Exchange(pattern) => pattern,
            Self::ToAndFrom(None, None) => return None,
            Self::ToAndFrom(to, from) => {
                let parts = flat.clone().find_map(|pattern| match pattern {
                    Pattern::ToAndFrom(to, from) => Some((to, from)),
                    _ => None,
                });
                let part = |reported: Option<Rooted>, seen: Option<Rooted>| match (reported, seen) {
                    (Some(reported), Some(seen)) if is(seen, reported) => seen,
                    (Some(reported), _) => reported,
                    (None, seen) => seen.unwrap_or(LINEAR),
                };
                let (seen_to, seen_from) = parts.unzip();
                Pattern::ToAndFrom(part(to, seen_to), part(from, seen_from))
            }
        })
    }

    /// Whether a pattern of a graph is this one, with any parameters.
    fn is(self, pattern: Pattern) -> bool {
        let is_part = |reported: Option<Rooted>, seen: Rooted| {
            reported.is_none_or(|reported| is(seen, reported))
        };
        match (self, pattern) {
            (Self::Rooted(reported), Pattern::Rooted(seen)) => is(seen, reported),
            (Self::ToAndFrom(to, from), Pattern::ToAndFrom(seen_to, seen_from)) => {
                is_part(to, seen_to) && is_part(from, seen_from)
            }
            // The other part had nothing to send.
            (Self::ToAndFrom(to, _), Pattern::To(seen)) => is_part(to, seen),
            (Self::ToAndFrom(_, from), Pattern::From(seen)) => is_part(from, seen),
            (Self::Exchange(reported), seen) => reported == seen,
            _ => false,
        }
    }
}

/// Whether the recognized pattern is the reported one, whose parameters are not known.
fn is(seen: Rooted, reported: Rooted) -> bool {
    match (seen, reported) {
        (Rooted::Tree(Tree::Knomial(_)), Rooted::Tree(Tree::Knomial(_)))
        | (Rooted::Tree(Tree::Chain(_)), Rooted::Tree(Tree::Chain(_))) => true,
        _ => seen == reported,
    }
}

/// The algorithm of an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedAlgorithm {
    /// `None`: not known, or not asked for.
    pub algorithm: Option<Algorithm>,
    /// Whether the graph contradicts the algorithm that the library reports.
    pub is_contradicted: bool,
}

/// Names the algorithm of an instance. `reported`: the distinct lists of names of the processes;
/// `shape`: that of its messages, if these are known.
pub fn name_algorithm(
    operation: Operation,
    reported: &[Vec<LibraryName>],
    shape: Option<&Shape>,
) -> NamedAlgorithm {
    let seen = shape.and_then(Shape::algorithm);
    let by_graph = NamedAlgorithm {
        algorithm: seen,
        is_contradicted: false,
    };
    // What leaders of hosts, or groups, do among themselves is reported as if it were everything.
    if !matches!(seen, None | Some(Algorithm::Flat(_))) {
        return by_graph;
    }
    let own = Collective::of(operation);
    let mut claimed = reported.iter().map(|names| match own {
        Some(collective) => Claimed::of(collective, names),
        None => Claimed::of_only(names),
    });
    let first = claimed.next().flatten();
    let Some(reported) = first.filter(|_| claimed.all(|other| other == first)) else {
        return by_graph;
    };
    let recognized = shape.and_then(|shape| Some((shape, shape.recognized.as_ref()?)));
    let names = recognized.map_or(&[][..], |(_, recognized)| &recognized.names);
    let Some(name) = reported.name(names) else {
        return by_graph;
    };
    let is_seen = names.contains(&Algorithm::Flat(name));
    let (name, is_contradicted) = match recognized {
        Some((shape, _)) if !is_seen => compare(operation, reported, name, shape),
        _ => (name, false),
    };
    // Besides the only one with a name there may have been others.
    if own.is_none() && (recognized.is_none() || is_contradicted) {
        return by_graph;
    }
    NamedAlgorithm {
        algorithm: Some(Algorithm::Flat(name)),
        is_contradicted,
    }
}

/// Parameters of a reported algorithm that the graph adds where its own pattern has another name,
/// and whether the graph contradicts it.
fn compare(
    operation: Operation,
    reported: Claimed,
    name: Pattern,
    shape: &Shape,
) -> (Pattern, bool) {
    let (n, root) = (shape.n_slots() as u32, shape.root().unwrap_or(0));
    let edges = shape.edges.iter().copied();
    let seen: Edges = edges.filter(|(from, to)| from != to).collect();
    let direction = match operation.semantics() {
        Semantics::OneToMany => Direction::Up,
        _ => Direction::Down,
    };
    match reported {
        Claimed::Rooted(rooted) => {
            let mut models = rooted_edges(rooted, n, root, direction);
            let are_all_there = !may_leave_out(operation) && matches!(rooted, Rooted::Tree(_));
            let fits = |edges: &Edges| {
                if are_all_there {
                    *edges == seen
                } else {
                    seen.is_subset(edges)
                }
            };
            match &mut models {
                None => (name, false),
                Some(models) => {
                    models.retain(|(_, edges)| fits(edges));
                    match models[..] {
                        [] => (name, true),
                        // Ambiguous: the graph fits several.
                        [(rooted, _)] => (Pattern::Rooted(rooted), false),
                        _ => (name, false),
                    }
                }
            }
        }
        Claimed::Exchange(pattern) => {
            let models = exchange_edges(pattern, n);
            let is_none = |models: Vec<Edges>| !models.iter().any(|edges| seen.is_subset(edges));
            (name, models.is_some_and(is_none))
        }
        Claimed::ToAndFrom(to, from) => {
            let models = |part: Option<Rooted>, direction| {
                part.and_then(|part| rooted_edges(part, n, 0, direction))
            };
            let (to, from) = (models(to, Direction::Down), models(from, Direction::Up));
            let (Some(to), Some(from)) = (to, from) else {
                return (name, false);
            };
            let fits = to.iter().any(|(_, to)| {
                let rest: Edges = seen.difference(to).copied().collect();
                from.iter().any(|(_, from)| rest.is_subset(from))
            });
            (name, !fits)
        }
    }
}

/// Whether processes may have nothing to send or to receive.
fn may_leave_out(operation: Operation) -> bool {
    matches!(
        operation.blocking(),
        Operation::Gatherv | Operation::Scatterv
    )
}

/// The edges of an algorithm with a root and these parameters; `None` if they are not defined here.
fn rooted_edges(
    rooted: Rooted,
    n: u32,
    root: u32,
    direction: Direction,
) -> Option<Vec<(Rooted, Edges)>> {
    let down = |edges: Edges| match direction {
        Direction::Up => reversed(&edges),
        Direction::Down => edges,
    };
    let to_parents = |parents: &[u32]| {
        let edges = (0..).zip(parents.iter().copied());
        edges
            .filter(|(rank, parent)| rank != parent)
            .collect::<Vec<Edge>>()
    };
    let one = |edges: Edges| Some(vec![(rooted, edges)]);
    match rooted {
        Rooted::Tree(Tree::InOrderBinary) => {
            let mut edges: Edges = to_parents(&in_order_binary(n)).into_iter().collect();
            if root != n - 1 {
                edges.insert((n - 1, root));
            }
            one(down(edges))
        }
        Rooted::Tree(tree) => {
            let models = spanning::of_name(tree, n).into_iter();
            let models = models.map(|(tree, parents)| {
                let edges = rotated(to_parents(&parents), n, root);
                (Rooted::Tree(tree), down(edges))
            });
            Some(models.collect())
        }
        Rooted::SplitBinary => one(rotated(split_binary(n), n, root)),
        Rooted::ScatterRing => {
            let scatter = rotated(binomial_in_order(n), n, root);
            one(scatter.union(&ring(n, true)).copied().collect())
        }
        Rooted::LinearSynchronized => {
            let star = rotated((1..n).map(|rank| (rank, 0)), n, root);
            one(star.union(&reversed(&star)).copied().collect())
        }
        Rooted::Rabenseifner => {
            let of_root = (0..n).flat_map(|rank| [(rank, root), (root, rank)]);
            let of_root: Edges = of_root.filter(|(from, to)| from != to).collect();
            let models = folded(n).into_iter();
            let models = models.map(|edges| (rooted, edges.union(&of_root).copied().collect()));
            Some(models.collect())
        }
        // Extra ranks beyond a power of two are served in other ways.
        Rooted::ScatterRecursiveDoubling if n.is_power_of_two() => {
            one(rotated(hypercube(n), n, root))
        }
        Rooted::ScatterRecursiveDoubling
        | Rooted::ByWayOfFirst(_)
        | Rooted::UnnamedTree
        | Rooted::TreeOfSome(_) => None,
    }
}

fn folded(n: u32) -> Vec<Edges> {
    let asides = [ExtraRanks::Even, ExtraRanks::Odd, ExtraRanks::Last];
    asides.map(|aside| Folded::new(n, aside).all()).into()
}

/// The edges of an exchange, in all its variants; `None` if any process may communicate with any
/// other, or they are not defined here.
fn exchange_edges(pattern: Pattern, n: u32) -> Option<Vec<Edges>> {
    Some(match pattern {
        Pattern::RecursiveDoubling => {
            let mut all = folded(n);
            all.push(hypercube(n));
            all
        }
        Pattern::RecursiveHalving | Pattern::Rabenseifner => folded(n),
        Pattern::Butterfly => {
            let mut all = folded(n);
            all.extend(butterfly(n));
            all
        }
        Pattern::Bruck | Pattern::Dissemination => [true, false]
            .map(|is_forward| by_powers(n, is_forward))
            .into(),
        Pattern::Ring | Pattern::SegmentedRing | Pattern::DoubleRing => {
            [true, false].map(|is_forward| ring(n, is_forward)).into()
        }
        Pattern::NeighborExchange => neighbor_exchange(n).into_iter().collect(),
        Pattern::TwoProcesses if n == 2 => vec![two_ways()],
        Pattern::TwoProcesses => Vec::new(),
        Pattern::Chain => vec![(1..n).map(|rank| (rank - 1, rank)).collect()],
        _ => return None,
    })
}
