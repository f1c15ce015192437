//! Intel MPI: `I_MPI_ADJUST_OPERATION`.
//!
//! By the developer reference, "I_MPI_ADJUST Family Environment Variables", whose table gives algorithms by
//! number up to 2021.12; from 2021.13 on it calls the numbers presets, of which there are more.

use std::collections::BTreeMap;

use collbench_formats::Operation;

use super::{Equivalent, exports, rules_of, same, sourced};
use crate::choices::Choice;
use crate::open_mpi::CountedSize;
use crate::written::Written;

/// What the table says in plain words alone.
pub(super) const EQUIVALENTS: &[Equivalent] = &[
    same(Operation::Allgather, "recursive_doubling", "1"),
    same(Operation::Allgather, "bruck", "2"),
    same(Operation::Allgather, "ring", "3"),
    same(Operation::Allgatherv, "bruck", "2"),
    same(Operation::Allgatherv, "ring", "3"),
    same(Operation::Allreduce, "recursive_doubling", "1"),
    same(Operation::Allreduce, "rabenseifner", "2"),
    same(Operation::Allreduce, "nonoverlapping", "3"),
    same(Operation::Allreduce, "ring", "8"),
    same(Operation::Alltoall, "modified_bruck", "1"),
    same(Operation::Alltoall, "linear", "2"),
    same(Operation::Alltoall, "pairwise", "3"),
    same(Operation::Alltoallv, "basic_linear", "1"),
    same(Operation::Barrier, "bruck", "1"),
    same(Operation::Barrier, "recursive_doubling", "2"),
    same(Operation::Barrier, "tree", "5"),
    same(Operation::Bcast, "binomial", "1"),
    same(Operation::Bcast, "knomial", "8"),
    same(Operation::Gather, "binomial", "1"),
    same(Operation::Reduce, "binomial", "2"),
    same(Operation::Reduce, "rabenseifner", "5"),
    same(Operation::ReduceScatter, "recursive_halving", "1"),
    same(Operation::Scatter, "binomial", "1"),
];

/// The largest size of a condition.
const LARGEST: u64 = i32::MAX as u64;

fn size(operation: Operation) -> CountedSize {
    match operation {
        Operation::Allgatherv | Operation::ReduceScatter => CountedSize::AllProcesses,
        Operation::Alltoallv | Operation::Barrier => CountedSize::Nothing,
        _ => CountedSize::OneProcess,
    }
}

/// Lines of a shell that set the variables.
#[must_use]
pub fn write(choices: &[Choice], file_name: &str) -> Written {
    let (rules, left_out) = rules_of(choices, EQUIVALENTS, size, "Intel MPI");
    let mut by_operation: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for rule in &rules {
        let (from, to) = rule.sizes;
        let (from, to, n) = (from.min(LARGEST), to.min(LARGEST), rule.n_processes);
        by_operation
            .entry(rule.equivalent.operation.name().trim_start_matches("MPI_"))
            .or_default()
            .push(format!("{}:{from}-{to}@{n}-{n}", rule.equivalent.is));
    }
    let variable = |(name, rules): (&&str, &Vec<String>)| {
        let name = format!("I_MPI_ADJUST_{}", name.to_ascii_uppercase());
        (name, rules.join(";"))
    };
    let variables: Vec<(String, String)> = by_operation.iter().map(variable).collect();
    let commands = vec![format!("{}; mpirun -n N ./app", sourced(file_name))];
    let sentences = [
        "Algorithms of Intel MPI by the numbers that its developer reference has up to 2021.12; from".to_owned(),
        "2021.13 on it calls them presets, of which there are more: measure whether they do the same.".to_owned(),
        "Untested: Intel MPI does not show which algorithm runs.".to_owned(),
    ];
    exports(&rules, &variables, &sentences, commands, left_out)
}
