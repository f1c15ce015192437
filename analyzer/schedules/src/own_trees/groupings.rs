//! How reductions over spanning trees of our own group the contributions.
//!
//! At each join the values are combined from the last contributor to the first one: `a+(b+(c+d))`. So it is in all
//! ways in which the library executes a tree: in segments, divided among the processes of a host, and by one copy.
//! In a reduce the tree is looked at from the root of the call: joins on its path combine what comes
//! from all other sides.

use collbench_formats::tree::{Collective, Wrappers};
use collbench_plans::{Paths, Station};

use super::{NoSchedule, TreeCall, segments};
use crate::grouping::{Grouping, Numerics, Term, Terms};

/// In which grouping an allreduce or a reduce over a tree combines the contributions, of an operation that commutes:
/// others keep the order of ranks. `Ok(None)`: nothing is reduced.
///
/// An allreduce depends on the contributors of the joins only. In a reduce, where the root of the call is not at the
/// root of the tree, it plays a role too whether the way from it to a join stays on one host.
///
/// That trees are executed so is tested in the library that executes them.
///
/// # Errors
/// [`NoSchedule`] if such a call is left to the MPI library.
pub fn grouping(tree: &Wrappers, call: &TreeCall) -> Result<Option<Grouping>, NoSchedule> {
    let (root, n_ranks) = (call.root, tree.n_ranks());
    if call.collective.has_root() && root >= n_ranks {
        return Err(NoSchedule::Root { root, n_ranks });
    }
    segments(call, n_ranks as usize).ok_or(NoSchedule::Payload)?;
    let paths = Paths::new(tree);
    let elements = call.bytes / call.element_bytes.max(1);
    let n = n_ranks as usize;
    let mut terms = Terms::default();
    Ok(match call.collective {
        Collective::Allreduce => {
            let joined = joined(&paths, &mut terms);
            let bottommost = joined.last();
            bottommost.map(|&term| Grouping::for_all(n, terms, [(elements, term)]))
        }
        Collective::Reduce => {
            let term = at_the_root(&paths, root, &mut terms);
            let root = root as usize;
            Some(Grouping::for_root(n, root, terms, elements, term))
        }
        _ => None,
    })
}

/// What is the same to the bit over a tree, by its [`grouping`]. `others` are the same tree, or the trees of the same
/// rule, with other mappings of ranks to hosts: block by block, round robin; without any that is not known. `among`
/// gives the tree among another number of processes, `None` where there is none.
///
/// # Errors
/// As [`grouping`].
pub fn numerics(
    tree: &Wrappers,
    call: &TreeCall,
    others: &[Wrappers],
    among: impl Fn(usize) -> Option<Wrappers>,
) -> Result<Numerics, NoSchedule> {
    let Some(of) = grouping(tree, call)? else {
        return Ok(Numerics::default());
    };
    let of_tree = |tree: &Wrappers| grouping(tree, call).ok().flatten();
    let of_others: Vec<Option<Grouping>> = others.iter().map(of_tree).collect();
    let numerics = Numerics::of(&of, &of_others, |n| of_tree(&among(n)?));
    let is_known = !others.is_empty();
    Ok(Numerics {
        same_for_other_mappings: numerics.same_for_other_mappings.filter(|_| is_known),
        ..numerics
    })
}

/// Values of a join, in the order in which it has them: the last two are combined first.
fn together(values: &[Term], terms: &mut Terms) -> Term {
    terms.one_by_one(values.iter().rev().copied())
}

/// What each join makes of the values of all its contributors, by join.
fn joined(paths: &Paths, terms: &mut Terms) -> Vec<Term> {
    let mut joined: Vec<Term> = Vec::with_capacity(paths.joins.len());
    for join in &paths.joins {
        let edges = join.contributors.iter();
        let values = edges.map(|&edge| brought(paths, edge, &joined, terms));
        let values: Vec<Term> = values.collect();
        joined.push(together(&values, terms));
    }
    joined
}

/// What comes over an edge, toward the bottommost join.
fn brought(paths: &Paths, edge: usize, joined: &[Term], terms: &mut Terms) -> Term {
    match paths.edges[edge].from {
        Station::Rank(rank) => terms.contribution(rank as usize),
        Station::Join(above) => joined[above],
    }
}

/// What the root of a reduce makes of all contributions. Each join on its path puts together what comes from all other sides,
/// what comes from below last. At the first one the root does so itself, with its own contribution in its place; if that is on
/// another host, its own contribution comes before all others.
fn at_the_root(paths: &Paths, root: u32, terms: &mut Terms) -> Term {
    let joined = joined(paths, terms);
    let first = paths.first_edges[root as usize];
    let next = |edge: &usize| paths.joins[paths.edges[*edge].to].below;
    let path: Vec<usize> = std::iter::successors(Some(first), next).collect();
    let is_apart = paths.edges[first].is_proxy;
    let mut back: Option<Term> = None;
    for &edge in path.iter().rev() {
        let is_roots = edge == first && !is_apart;
        let contributors = paths.joins[paths.edges[edge].to].contributors.iter();
        let others = contributors.filter(|&&other| is_roots || other != edge);
        let values = others.map(|&other| brought(paths, other, &joined, terms));
        let values: Vec<Term> = values.chain(back).collect();
        back = (!values.is_empty()).then(|| together(&values, terms));
    }
    let own = is_apart.then(|| terms.contribution(root as usize));
    let values: Vec<Term> = own.into_iter().chain(back).collect();
    together(&values, terms)
}
