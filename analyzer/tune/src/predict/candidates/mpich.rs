//! The algorithms of MPICH.

use std::collections::BTreeMap;

use collbench_schedules::Parameters;
use collbench_schedules::mpich::{names, schedule};

use super::{Candidate, Method, call};
use crate::mpich::Version;
use crate::predict::recorded::Class;

/// Those of a library of which nothing is set: `MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE`, `MPIR_CVAR_ALLTOALL_THROTTLE`, and
/// the `_KVAL` of trees.
const PARAMETERS: Parameters = Parameters {
    segment_bytes: 32_768,
    chains: 1,
    radix: 2,
    requests: 32,
};

/// Its algorithms for a class, with the parameters of a library of which nothing is set.
pub(super) fn candidates(version: &Version, class: &Class) -> Vec<Candidate> {
    let call = call(class);
    let operation = class.operation.name().trim_start_matches("MPI_");
    let prefix = format!("MPIR_{operation}_intra_");
    let is_possible = |name: &&str| {
        let function = name.split(' ').next().unwrap_or(name);
        name.starts_with(&prefix) && version.does(function, call.n_processes, call.elements)
    };
    let of_name = |name: &str| {
        Some(Candidate {
            method: Method::Algorithm(name.to_owned()),
            number: None,
            segment_bytes: 0,
            schedule: schedule(name, &call, &PARAMETERS)?,
            in_memory: BTreeMap::new(),
            named: vec![(name.to_owned(), PARAMETERS)],
        })
    };
    names().filter(is_possible).filter_map(of_name).collect()
}
