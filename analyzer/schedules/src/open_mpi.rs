//! The algorithms of Open MPI's `coll_base`, which `coll_tuned` chooses among, as schedules.
//!
//! Among few processes, or with little data, an algorithm may call another one: name that, as the
//! library does. Buffers are not in place, and the elements of all processes are equally many.
//!
//! # Source
//! The functions of Open MPI 4.1.4 and 5.0.10 with these names. That their messages are those of the
//! schedules is tested with both libraries.

pub(crate) mod allgather;
pub(crate) mod allreduce;
pub(crate) mod alltoall;
pub(crate) mod barrier;
pub(crate) mod bcast;
pub(crate) mod blocks;
pub(crate) mod gather_scatter;
pub(crate) mod groupings;
pub(crate) mod reduce;
pub(crate) mod reduce_scatter;
pub(crate) mod scan;
pub(crate) mod trees;

use crate::call::{Call, Parameters};
use crate::program::Program;
use crate::schedule::Schedule;

pub use groupings::{grouping, numerics};

/// A release of the library.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Release {
    /// 4.1.
    V4_1,
    /// 5.0: in the first step of a pairwise alltoallv each process sends to itself.
    V5_0,
}

/// What one process does.
type Algorithm = fn(&Call, &Parameters, &mut Program);

/// An algorithm that consists of others, or calls other collectives.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Simple(Algorithm),
    /// The first collective, then the second one, to and from the first process. What they are is said behind the name.
    Composed([fn(Call) -> Call; 2]),
    /// A gather, or scatter, with lengths of each process, which is always linear, and another collective.
    ToFirst,
    FromFirst,
}

/// With a root of its own, and as many elements for one process as for all of them.
fn all(call: Call) -> Call {
    call.of_all().with_root(0)
}

/// With a root of its own.
fn same(call: Call) -> Call {
    call.with_root(0)
}

/// With a root of its own, and all that all processes have as one element.
fn as_one(call: Call) -> Call {
    let element_bytes = call.of_all().elements * call.element_bytes;
    Call {
        elements: 1,
        element_bytes,
        ..same(call)
    }
}

/// The names of the functions, without `ompi_coll_base_`.
const ALGORITHMS: &[(&str, Kind)] = &[
    ("allgather_intra_basic_linear", Kind::Composed([same, all])),
    ("allgather_intra_bruck", Kind::Simple(allgather::bruck)),
    (
        "allgather_intra_recursivedoubling",
        Kind::Simple(allgather::recursive_doubling),
    ),
    ("allgather_intra_ring", Kind::Simple(allgather::ring)),
    (
        "allgather_intra_neighborexchange",
        Kind::Simple(allgather::neighbor),
    ),
    (
        "allgather_intra_two_procs",
        Kind::Simple(allgather::two_processes),
    ),
    ("allgather_intra_sparbit", Kind::Simple(allgather::sparbit)),
    ("allgatherv_intra_basic_default", Kind::ToFirst),
    ("allgatherv_intra_bruck", Kind::Simple(allgather::bruck)),
    ("allgatherv_intra_ring", Kind::Simple(allgather::ring)),
    (
        "allgatherv_intra_neighborexchange",
        Kind::Simple(allgather::neighbor),
    ),
    (
        "allgatherv_intra_two_procs",
        Kind::Simple(allgather::two_processes),
    ),
    ("allgatherv_intra_sparbit", Kind::Simple(allgather::sparbit)),
    ("allreduce_intra_basic_linear", Kind::Composed([same, same])),
    (
        "allreduce_intra_nonoverlapping",
        Kind::Composed([same, same]),
    ),
    (
        "allreduce_intra_recursivedoubling",
        Kind::Simple(allreduce::recursive_doubling),
    ),
    ("allreduce_intra_ring", Kind::Simple(allreduce::ring)),
    (
        "allreduce_intra_ring_segmented",
        Kind::Simple(allreduce::segmented_ring),
    ),
    (
        "allreduce_intra_redscat_allgather",
        Kind::Simple(allreduce::rabenseifner),
    ),
    (
        "alltoall_intra_basic_linear",
        Kind::Simple(alltoall::linear),
    ),
    ("alltoall_intra_pairwise", Kind::Simple(alltoall::pairwise)),
    ("alltoall_intra_bruck", Kind::Simple(alltoall::bruck)),
    ("alltoall_intra_linear_sync", Kind::Simple(alltoall::linear)),
    (
        "alltoall_intra_two_procs",
        Kind::Simple(allgather::two_processes),
    ),
    (
        "alltoallv_intra_basic_linear",
        Kind::Simple(alltoall::v_linear),
    ),
    ("alltoallv_intra_pairwise", Kind::Simple(alltoall::pairwise)),
    ("barrier_intra_basic_linear", Kind::Simple(barrier::linear)),
    (
        "barrier_intra_doublering",
        Kind::Simple(barrier::double_ring),
    ),
    (
        "barrier_intra_recursivedoubling",
        Kind::Simple(barrier::recursive_doubling),
    ),
    ("barrier_intra_bruck", Kind::Simple(barrier::bruck)),
    (
        "barrier_intra_two_procs",
        Kind::Simple(barrier::two_processes),
    ),
    ("barrier_intra_tree", Kind::Simple(barrier::tree)),
    ("bcast_intra_basic_linear", Kind::Simple(bcast::linear)),
    ("bcast_intra_chain", Kind::Simple(bcast::chain)),
    ("bcast_intra_pipeline", Kind::Simple(bcast::pipeline)),
    (
        "bcast_intra_split_bintree",
        Kind::Simple(bcast::split_binary_tree),
    ),
    ("bcast_intra_bintree", Kind::Simple(bcast::binary_tree)),
    ("bcast_intra_binomial", Kind::Simple(bcast::binomial_tree)),
    ("bcast_intra_knomial", Kind::Simple(bcast::k_nomial_tree)),
    (
        "bcast_intra_scatter_allgather",
        Kind::Simple(bcast::scatter_recursive_doubling),
    ),
    (
        "bcast_intra_scatter_allgather_ring",
        Kind::Simple(bcast::scatter_ring),
    ),
    ("exscan_intra_linear", Kind::Simple(scan::exclusive_linear)),
    (
        "exscan_intra_recursivedoubling",
        Kind::Simple(scan::exclusive_recursive_doubling),
    ),
    (
        "gather_intra_basic_linear",
        Kind::Simple(gather_scatter::gather_linear),
    ),
    (
        "gather_intra_binomial",
        Kind::Simple(gather_scatter::gather_binomial),
    ),
    (
        "gather_intra_linear_sync",
        Kind::Simple(gather_scatter::gather_linear_synchronized),
    ),
    ("reduce_intra_basic_linear", Kind::Simple(reduce::linear)),
    ("reduce_intra_chain", Kind::Simple(reduce::chain)),
    ("reduce_intra_pipeline", Kind::Simple(reduce::pipeline)),
    ("reduce_intra_binary", Kind::Simple(reduce::binary_tree)),
    ("reduce_intra_binomial", Kind::Simple(reduce::binomial_tree)),
    (
        "reduce_intra_in_order_binary",
        Kind::Simple(reduce::in_order_binary_tree),
    ),
    (
        "reduce_intra_redscat_gather",
        Kind::Simple(reduce::rabenseifner),
    ),
    ("reduce_scatter_intra_nonoverlapping", Kind::FromFirst),
    (
        "reduce_scatter_intra_basic_recursivehalving",
        Kind::Simple(reduce_scatter::recursive_halving),
    ),
    (
        "reduce_scatter_intra_ring",
        Kind::Simple(reduce_scatter::ring),
    ),
    (
        "reduce_scatter_intra_butterfly",
        Kind::Simple(reduce_scatter::butterfly),
    ),
    (
        "reduce_scatter_block_basic_linear",
        Kind::Composed([all, same]),
    ),
    (
        "reduce_scatter_block_intra_recursivedoubling",
        Kind::Simple(reduce_scatter::recursive_doubling),
    ),
    (
        "reduce_scatter_block_intra_recursivehalving",
        Kind::Simple(reduce_scatter::recursive_halving),
    ),
    (
        "reduce_scatter_block_intra_butterfly",
        Kind::Simple(reduce_scatter::block_butterfly),
    ),
    ("scan_intra_linear", Kind::Simple(scan::linear)),
    (
        "scan_intra_recursivedoubling",
        Kind::Simple(scan::recursive_doubling),
    ),
    (
        "scatter_intra_basic_linear",
        Kind::Simple(gather_scatter::scatter_linear),
    ),
    (
        "scatter_intra_binomial",
        Kind::Simple(gather_scatter::scatter_binomial),
    ),
    (
        "scatter_intra_linear_nb",
        Kind::Simple(gather_scatter::scatter_linear_nonblocking),
    ),
];

/// A part of a name that the library reports: an algorithm with its parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Named<'n> {
    /// Its name, such as `bcast_intra_chain`.
    pub name: &'n str,
    /// Its parameters.
    pub parameters: Parameters,
}

fn kind(release: Release, name: &str) -> Option<Kind> {
    if (release, name) == (Release::V5_0, "alltoallv_intra_pairwise") {
        return Some(Kind::Simple(alltoall::pairwise_from_itself));
    }
    let known = ALGORITHMS.iter().find(|(known, _)| *known == name);
    known.map(|(_, kind)| *kind)
}

/// The names of all algorithms, by operation.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALGORITHMS.iter().map(|(name, _)| *name)
}

/// The operation of an algorithm.
fn operation(name: &str) -> &str {
    let ends = ["_intra_", "_basic_linear"].into_iter();
    let end = ends.filter_map(|end| name.find(end)).min();
    &name[..end.unwrap_or(name.len())]
}

/// The algorithms that ran, by all names that the library reported for a call, in order: an algorithm that called another
/// one of its operation did not run. `parameters` gives those of an algorithm.
#[must_use]
pub fn ran<'n>(reported: &[&'n str], parameters: impl Fn(&str) -> Parameters) -> Vec<Named<'n>> {
    let mut ran: Vec<Named<'n>> = Vec::new();
    for &name in reported {
        let mut parameters = parameters(name);
        let before = ran.pop_if(|last| operation(last.name) == operation(name));
        if before.is_some_and(|before| before.name == "bcast_intra_split_bintree") {
            parameters.chains = 1;
        }
        ran.push(Named { name, parameters });
    }
    ran
}

/// Whether a process goes on with whatever ends first, so that its order is not known.
fn depends_on_time(of: &Named<'_>, call: &Call) -> bool {
    let Parameters { requests, .. } = of.parameters;
    of.name == "alltoall_intra_linear_sync" && (1..call.n_processes - 1).contains(&requests)
}

/// The schedule of an algorithm, and of those of which it consists, as the library reports them, such as
/// `allreduce_intra_nonoverlapping`, `reduce_intra_chain`, `bcast_intra_binomial`; `None` where a
/// name is not known, one is missing, or there is one too many, and of an alltoall with fewer requests at once than there
/// are other processes: it goes on with whatever ends first. Of one process nothing is done.
#[must_use]
pub fn schedule(release: Release, named: &[Named<'_>], call: &Call) -> Option<Schedule> {
    if named.iter().any(|of| depends_on_time(of, call)) {
        return None;
    }
    let kinds: Option<Vec<Kind>> = named.iter().map(|of| kind(release, of.name)).collect();
    let simple = |at: usize| match kinds.as_ref()?.get(at)? {
        Kind::Simple(algorithm) => Some((*algorithm, named[at].parameters)),
        _ => None,
    };
    let processes = (0..call.n_processes).map(|rank| {
        let mut p = Program::new(rank);
        let first = *kinds.as_ref()?.first()?;
        let n_parts = match first {
            Kind::Simple(_) => 0,
            Kind::Composed(_) => 2,
            Kind::ToFirst | Kind::FromFirst => 1,
        };
        if named.len() != 1 + n_parts {
            return None;
        }
        if call.n_processes == 1 {
            return Some(p.finish());
        }
        let defaults = Parameters::default();
        match first {
            Kind::Simple(algorithm) => algorithm(call, &named[0].parameters, &mut p),
            Kind::Composed(calls) => {
                for (at, of) in calls.into_iter().enumerate() {
                    let (algorithm, parameters) = simple(at + 1)?;
                    algorithm(&of(*call), &parameters, &mut p);
                }
            }
            Kind::ToFirst => {
                gather_scatter::gather_linear(&same(*call), &defaults, &mut p);
                let (algorithm, parameters) = simple(1)?;
                algorithm(&as_one(*call), &parameters, &mut p);
            }
            Kind::FromFirst => {
                let (algorithm, parameters) = simple(1)?;
                algorithm(&all(*call), &parameters, &mut p);
                gather_scatter::scatter_linear(&same(*call), &defaults, &mut p);
            }
        }
        Some(p.finish())
    });
    let processes: Option<Vec<_>> = processes.collect();
    Some(Schedule {
        processes: processes?,
    })
}
