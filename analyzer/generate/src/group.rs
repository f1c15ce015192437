//! The communicators of a program: their members, and which steps are valid on them.

use std::collections::BTreeMap;

use collbench_formats::{CommunicatorKind, Operation, Semantics};

use super::messages::Shape;
use super::scenario::{Action, Call, Grid, Root, Scenario, ScenarioError, Step};

/// The members of one communicator, as world ranks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Members {
    /// On an intercommunicator: the first group, then the second.
    pub(crate) ranks: Vec<u32>,
    /// Size of the first group; all members of an intracommunicator.
    pub(crate) n_first: usize,
    /// In a topology, by position: positions of the neighbours that a member receives from and
    /// sends to; `None` beyond the border. Empty without a topology.
    pub(crate) sources: Vec<Vec<Option<usize>>>,
}

/// Neighbours in a Cartesian grid, by position: the previous and the next in each dimension.
fn cartesian(n: usize, grid: &Grid) -> Result<Vec<Vec<Option<usize>>>, (String, String)> {
    let dims = match &grid.dims {
        Some(dims) => dims.clone(),
        None => vec![n],
    };
    if dims.iter().product::<usize>() != n || n == 0 {
        let found = format!("dims = {dims:?} for {n} processes");
        return Err((
            found,
            "dimensions whose product is the number of processes".into(),
        ));
    }
    let shifted = |position: usize, dim: usize, step: isize| {
        let stride: usize = dims[dim + 1..].iter().product();
        let at = position / stride % dims[dim];
        let to = at as isize + step;
        let is_in_grid = (0..dims[dim] as isize).contains(&to);
        let to = to.rem_euclid(dims[dim] as isize) as usize;
        (is_in_grid || grid.periodic).then(|| position - at * stride + to * stride)
    };
    let of = |position| {
        let dims = 0..dims.len();
        dims.flat_map(|dim| [-1, 1].map(|step| shifted(position, dim, step)))
            .collect()
    };
    Ok((0..n).map(of).collect())
}

/// "1 part", "2 parts".
fn counted(n_parts: usize) -> String {
    format!("{n_parts} part{}", if n_parts == 1 { "" } else { "s" })
}

impl Members {
    pub(crate) fn one_group(ranks: Vec<u32>) -> Self {
        let n_first = ranks.len();
        Self {
            ranks,
            n_first,
            sources: Vec::new(),
        }
    }

    pub(crate) fn kind(&self) -> CommunicatorKind {
        if self.n_first == self.ranks.len() {
            CommunicatorKind::Intra
        } else {
            CommunicatorKind::Inter
        }
    }

    pub(crate) fn is_inter(&self) -> bool {
        self.kind() == CommunicatorKind::Inter
    }

    /// The group of the member at this position, as a range of positions.
    pub(crate) fn group_of(&self, position: usize) -> std::ops::Range<usize> {
        if position < self.n_first {
            0..self.n_first
        } else {
            self.n_first..self.ranks.len()
        }
    }

    /// Position of the root in instance number `instance` of this call.
    pub(crate) fn root_position(&self, call: &Call, instance: u64) -> usize {
        let group = match call.root_group {
            0 => 0..self.n_first,
            _ => self.n_first..self.ranks.len(),
        };
        match call.root {
            Root::Fixed(root) => group.start + root as usize,
            Root::Rotating => group.start + (instance % group.len().max(1) as u64) as usize,
        }
    }
}

/// The communicators of one name in the program: one, or the parts of a split.
pub(crate) type Parts = Vec<Members>;

/// The predefined communicators, by name.
pub(crate) fn predefined(n_ranks: usize) -> BTreeMap<String, Parts> {
    let all = 0..n_ranks as u32;
    BTreeMap::from([
        (
            "world".into(),
            vec![Members::one_group(all.clone().collect())],
        ),
        (
            "self".into(),
            all.map(|rank| Members::one_group(vec![rank])).collect(),
        ),
    ])
}

/// The communicators that a constructor makes of these, or what is wrong: (found, expected).
pub(crate) fn made(
    operation: Operation,
    call: &Call,
    parts: &[Members],
    host_of: &[usize],
) -> Result<Parts, (String, String)> {
    match operation {
        Operation::IntercommCreate => match parts {
            [a, b] if !a.is_inter() && !b.is_inter() => {
                let ranks: Vec<u32> = a.ranks.iter().chain(&b.ranks).copied().collect();
                let n_first = a.ranks.len();
                Ok(vec![Members {
                    ranks,
                    n_first,
                    sources: Vec::new(),
                }])
            }
            _ => Err((
                format!("on = \"{}\", which has {}", call.on, counted(parts.len())),
                "a communicator with two parts, which become the two groups".into(),
            )),
        },
        Operation::IntercommMerge => {
            if parts.iter().any(|part| !part.is_inter()) {
                return Err((
                    format!("on = \"{}\", which has one group", call.on),
                    "an intercommunicator to merge".into(),
                ));
            }
            let merged = parts
                .iter()
                .map(|part| Members::one_group(part.ranks.clone()));
            Ok(merged.collect())
        }
        Operation::CommDup | Operation::CommDupWithInfo | Operation::CommIdup => Ok(parts.to_vec()),
        _ if parts.iter().any(Members::is_inter) => Err((
            format!("{} on an intercommunicator", operation.name()),
            "MPI_Comm_dup or MPI_Intercomm_merge".into(),
        )),
        Operation::CartCreate => (parts.iter())
            .flat_map(|part| call.split.groups(&part.ranks, host_of))
            .map(|ranks| {
                let sources = cartesian(ranks.len(), &call.grid)?;
                Ok(Members {
                    sources,
                    ..Members::one_group(ranks)
                })
            })
            .collect(),
        _ => Ok(parts
            .iter()
            .flat_map(|part| call.split.groups(&part.ranks, host_of))
            .map(Members::one_group)
            .collect()),
    }
}

/// Checks the communicators of the program, before anything is written.
///
/// # Errors
/// [`ScenarioError`] for the first invalid step.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut known = predefined(scenario.n_ranks());
    check_steps(&scenario.program, scenario, &mut known)
}

fn check_steps(
    steps: &[Step],
    scenario: &Scenario,
    known: &mut BTreeMap<String, Parts>,
) -> Result<(), ScenarioError> {
    for step in steps {
        // All later repetitions are like the second one.
        for _ in 0..step.repeat.min(2) {
            match &step.action {
                Action::Block(steps) => check_steps(steps, scenario, known)?,
                Action::Call(call) => {
                    check_call(call, scenario, known).map_err(|(found, expected)| {
                        ScenarioError {
                            line: step.line,
                            found,
                            expected,
                        }
                    })?
                }
            }
        }
    }
    Ok(())
}

fn check_call(
    call: &Call,
    scenario: &Scenario,
    known: &mut BTreeMap<String, Parts>,
) -> Result<(), (String, String)> {
    let Some(parts) = known.get(&call.on) else {
        let names: Vec<&str> = known.keys().map(String::as_str).collect();
        return Err((
            format!("on = \"{}\", which does not exist at this step", call.on),
            format!("one of {}", names.join(", ")),
        ));
    };
    let Some(operation) = call.operation else {
        return Ok(());
    };
    let semantics = operation.semantics();
    for part in parts {
        if semantics == Semantics::Neighborhood && part.sources.is_empty() {
            let found = format!("{} on \"{}\"", operation.name(), call.on);
            return Err((found, "a communicator made by MPI_Cart_create".into()));
        }
        if semantics == Semantics::Prefix && part.is_inter() {
            let found = format!("{} on an intercommunicator", operation.name());
            return Err((found, "a communicator with one group".into()));
        }
        if call.model.is_some() && part.is_inter() {
            let found = "a tree on an intercommunicator".to_owned();
            return Err((found, "a communicator with one group".into()));
        }
        if let Some(Shape::Parents(parents)) = call.model.as_ref().map(|model| &model.shape)
            && parents.len() != part.ranks.len()
        {
            let found = format!("a tree of {} ranks on \"{}\"", parents.len(), call.on);
            return Err((found, format!("a tree of {} ranks", part.ranks.len())));
        }
        if call.root_group == 1 && !part.is_inter() {
            let found = "root_group = 1 on a communicator with one group".to_owned();
            return Err((found, "an intercommunicator, or no root_group".into()));
        }
        if semantics.is_rooted() {
            let root = part.root_position(call, 0);
            let first_of_group = match call.root_group {
                0 => 0,
                _ => part.n_first,
            };
            if root >= part.group_of(first_of_group).end {
                return Err((
                    format!("root {} on \"{}\"", root - first_of_group, call.on),
                    format!("at most {}", part.group_of(first_of_group).len() - 1),
                ));
            }
        }
    }
    let is_plain = !semantics.is_constructor() && semantics != Semantics::Free;
    if call.internal && !is_plain {
        let found = format!("internal = true for {}", operation.name());
        return Err((found, "a collective that moves data, or a barrier".into()));
    }
    if let Some(name) = &call.makes {
        let parts = made(operation, call, parts, &scenario.host_of)?;
        known.insert(name.clone(), parts);
    }
    if semantics == Semantics::Free {
        if ["world", "self"].contains(&call.on.as_str()) {
            let found = format!("{} of \"{}\"", operation.name(), call.on);
            return Err((found, "a communicator that the program made".into()));
        }
        known.remove(&call.on);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 4\n";

    fn error(rest: &str) -> ScenarioError {
        check(&Scenario::parse(&format!("{HEAD}{rest}")).unwrap()).unwrap_err()
    }

    #[test]
    fn a_communicator_must_exist_where_it_is_used() {
        let wrong = error("[[program]]\noperation = \"MPI_Barrier\"\non = \"rows\"\n");
        assert_eq!(wrong.line, 5);
        assert_eq!(wrong.expected, "one of self, world");
        // Freed in the first repetition, it is missing in the second.
        let wrong = error(
            "[[program]]\noperation = \"MPI_Comm_dup\"\nmakes = \"d\"\n\
             [[program]]\nrepeat = 2\nsteps = [\n{ operation = \"MPI_Comm_free\", on = \"d\" },\n]\n",
        );
        assert_eq!(wrong.line, 11);
    }

    #[test]
    fn a_root_must_be_a_member_of_every_part() {
        let wrong = error(
            "[[program]]\noperation = \"MPI_Comm_split\"\nmakes = \"s\"\nsplit = { colours = [0, 0, 0, 1] }\n\
             [[program]]\noperation = \"MPI_Bcast\"\non = \"s\"\nroot = 2\n",
        );
        assert_eq!((wrong.line, wrong.expected.as_str()), (9, "at most 0"));
    }

    #[test]
    fn a_tree_has_the_size_of_its_communicator() {
        let wrong = error("[[program]]\noperation = \"MPI_Bcast\"\ntree = [-1, 0, 1]\n");
        assert_eq!((wrong.line, &*wrong.expected), (5, "a tree of 4 ranks"));
    }

    #[test]
    fn an_intercommunicator_joins_two_parts() {
        let wrong = error("[[program]]\noperation = \"MPI_Intercomm_create\"\nmakes = \"i\"\n");
        assert!(wrong.found.contains("1 part"), "{wrong}");
    }
}
