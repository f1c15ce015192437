//! How reductions over spanning trees of our own group the contributions.
//!
//! At each join the values are combined from the last contributor to the first one: `a+(b+(c+d))`. So it is in all
//! ways in which the library executes a tree: in segments, divided among the processes of a host, and by one copy.
//! In a reduce the tree is looked at from the root of the call: joins on its path combine what comes
//! from all other sides.

use std::collections::HashMap;

use collbench_formats::tree::{Collective, Wrappers};
use collbench_plans::{Flow, Paths, Place, Station, Step, steps};

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
            let term = at_the_bottom(&paths, &mut terms);
            Some(Grouping::for_all(n, terms, [(elements, term)]))
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

/// Values of a step or a join in the order in which they are given: the last two are combined first.
fn together(values: &[Term], terms: &mut Terms) -> Term {
    terms.one_by_one(values.iter().rev().copied())
}

/// What the bottommost join makes of all contributions.
fn at_the_bottom(paths: &Paths, terms: &mut Terms) -> Term {
    let mut joined: Vec<Term> = Vec::with_capacity(paths.joins.len());
    for join in &paths.joins {
        let edges = join.contributors.iter().map(|&edge| &paths.edges[edge]);
        let values = edges.map(|edge| match edge.from {
            Station::Rank(rank) => terms.contribution(rank as usize),
            Station::Join(above) => joined[above],
        });
        let values: Vec<Term> = values.collect();
        joined.push(together(&values, terms));
    }
    *joined.last().expect("a tree has a bottommost join")
}

/// What the root of a reduce makes of all contributions: each process goes on with its steps as soon as what they take
/// is there.
fn at_the_root(paths: &Paths, root: u32, terms: &mut Terms) -> Term {
    let ranks = 0..paths.n_ranks() as u32;
    let todo: Vec<Vec<Step>> = ranks
        .map(|me| steps(paths, Flow::ToRoot, root, me))
        .collect();
    let mut next = vec![0; todo.len()];
    let mut values: HashMap<Place, Term> = HashMap::new();
    let mut result = None;
    // Of messages, which a tag tells apart, the other end is the receiver here.
    let input = |me: u32, place: Place| match place {
        Place::Message { tag, .. } => Place::Message { other: me, tag },
        in_memory => in_memory,
    };
    loop {
        let before: usize = next.iter().sum();
        for (me, steps) in (0..).zip(&todo) {
            while let Some(step) = steps.get(next[me as usize]) {
                let taken = step.inputs.iter().map(|of| match of.from {
                    Place::Program => Some(terms.contribution(me as usize)),
                    place => values.get(&input(me, place)).copied(),
                });
                let taken: Option<Vec<Term>> = taken.collect();
                let Some(taken) = taken else {
                    break;
                };
                let value = together(&taken, terms);
                for output in &step.outputs {
                    if output.to == Place::Program {
                        result = Some(value);
                    } else {
                        values.insert(output.to, value);
                    }
                }
                next[me as usize] += 1;
            }
        }
        if next.iter().sum::<usize>() == before {
            break;
        }
    }
    result.expect("what the root waits for comes")
}
