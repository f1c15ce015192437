//! UCC: `UCC_TL_UCP_TUNE`.
//!
//! By `docs/user_guide.md` of UCC (the form of a rule), the tables of algorithms in `src/components/tl/ucp`, and
//! `ucc_coll_args_msgsize` (which size counts), as of August 2026.

use std::collections::BTreeMap;

use collbench_formats::Operation;

use super::{Equivalent, Rule, exports, rules_of, same, sourced};
use crate::choices::Choice;
use crate::open_mpi::CountedSize;
use crate::written::Written;

/// One whose radix is that of a variable.
const fn radix(
    operation: Operation,
    name: &'static str,
    is: &'static str,
    with: (&'static str, u32),
) -> Equivalent {
    Equivalent {
        with: Some(with),
        ..same(operation, name, is)
    }
}

/// The trees of `knomial` have a radix of 2 where Open MPI has a binomial tree, and exchanges are those of
/// pairs.
pub(super) const EQUIVALENTS: &[Equivalent] = &[
    same(Operation::Allgather, "bruck", "bruck"),
    same(Operation::Allgather, "neighbor", "neighbor"),
    same(Operation::Allgather, "ring", "ring"),
    same(Operation::Allgather, "sparbit", "sparbit"),
    radix(
        Operation::Allgather,
        "recursive_doubling",
        "knomial",
        ("UCC_TL_UCP_ALLGATHER_KN_RADIX", 2),
    ),
    same(Operation::Allgatherv, "ring", "ring"),
    radix(
        Operation::Allreduce,
        "recursive_doubling",
        "knomial",
        ("UCC_TL_UCP_ALLREDUCE_KN_RADIX", 2),
    ),
    radix(
        Operation::Allreduce,
        "rabenseifner",
        "sra_knomial",
        ("UCC_TL_UCP_ALLREDUCE_SRA_KN_RADIX", 2),
    ),
    same(Operation::Allreduce, "ring", "ring"),
    same(Operation::Alltoall, "pairwise", "pairwise"),
    same(Operation::Alltoall, "modified_bruck", "bruck"),
    same(Operation::Alltoallv, "pairwise", "pairwise"),
    radix(
        Operation::Barrier,
        "recursive_doubling",
        "knomial",
        ("UCC_TL_UCP_BARRIER_KN_RADIX", 2),
    ),
    radix(
        Operation::Bcast,
        "binomial",
        "knomial",
        ("UCC_TL_UCP_BCAST_KN_RADIX", 2),
    ),
    radix(
        Operation::Bcast,
        "knomial",
        "knomial",
        ("UCC_TL_UCP_BCAST_KN_RADIX", 4),
    ),
    radix(
        Operation::Bcast,
        "scatter_allgather",
        "sag_knomial",
        ("UCC_TL_UCP_BCAST_SAG_KN_RADIX", 2),
    ),
    radix(
        Operation::Gather,
        "binomial",
        "knomial",
        ("UCC_TL_UCP_GATHER_KN_RADIX", 2),
    ),
    radix(
        Operation::Reduce,
        "binomial",
        "knomial",
        ("UCC_TL_UCP_REDUCE_KN_RADIX", 2),
    ),
    radix(
        Operation::Reduce,
        "rabenseifner",
        "srg",
        ("UCC_TL_UCP_REDUCE_SRG_KN_RADIX", 2),
    ),
];

fn size(operation: Operation) -> CountedSize {
    match operation {
        Operation::Allgather | Operation::Allgatherv | Operation::Alltoall | Operation::Gather => {
            CountedSize::AllProcesses
        }
        Operation::Alltoallv | Operation::Barrier => CountedSize::Nothing,
        _ => CountedSize::OneProcess,
    }
}

/// Lines of a shell that set the variables.
#[must_use]
pub fn write(choices: &[Choice], file_name: &str) -> Written {
    let (rules, left_out) = rules_of(choices, EQUIVALENTS, size, "UCC");
    let radixes: BTreeMap<&str, u32> = rules
        .iter()
        .filter_map(|rule| rule.equivalent.with)
        .collect();
    let tokens: Vec<String> = rules.iter().map(token).collect();
    let tune = ("UCC_TL_UCP_TUNE".to_owned(), tokens.join("#"));
    let of_radix = radixes
        .iter()
        .map(|(name, radix)| ((*name).to_owned(), radix.to_string()));
    let variables: Vec<(String, String)> = [tune].into_iter().chain(of_radix).collect();
    let passed: Vec<String> = variables
        .iter()
        .map(|(name, _)| format!("-x {name}"))
        .collect();
    let commands = vec![format!(
        "{}; mpirun --mca coll_ucc_enable 1 --mca coll_ucc_priority 100 {} ...",
        sourced(file_name),
        passed.join(" ")
    )];
    let sentences = [
        "Rules of UCC for Open MPI's coll_ucc, by the guide and the sources of UCC of August 2026."
            .to_owned(),
        "Untested: UCC does not show which algorithm runs.".to_owned(),
    ];
    exports(&rules, &variables, &sentences, commands, left_out)
}

fn token(rule: &Rule) -> String {
    let name = rule.equivalent.operation.name().trim_start_matches("MPI_");
    let (from, to) = rule.sizes;
    let to = if to >= u64::MAX - 1 {
        "inf".to_owned()
    } else {
        to.to_string()
    };
    let n = rule.n_processes;
    format!(
        "{}:{from}-{to}:[{n}-{n}]:@{}",
        name.to_ascii_lowercase(),
        rule.equivalent.is
    )
}
