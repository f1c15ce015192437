//! The calls of a trace, as rule files see them.

use std::collections::BTreeMap;

use collbench_analyzer::Analysis;
use collbench_formats::Operation;

use crate::call::CallClass;

/// The calls of a trace, by operation, communicator size, class of bytes and what ran. Only blocking
/// and other operations on intracommunicators that are known.
#[must_use]
pub fn calls_of(analysis: &Analysis) -> Vec<CallClass> {
    let mut classes: BTreeMap<_, CallClass> = BTreeMap::new();
    let hosts: BTreeMap<u32, &str> = analysis
        .ranks
        .iter()
        .map(|process| (process.rank, &*process.host))
        .collect();
    for entry in &analysis.operations {
        let Some(operation) = Operation::from_name(&entry.operation) else {
            continue;
        };
        let communicators = &analysis.communicators;
        let Some(communicator) = entry.communicator.and_then(|id| {
            let known = communicators.iter().find(|of| of.id == id);
            known.filter(|of| of.groups.is_none())
        }) else {
            continue;
        };
        let Ok(n_processes) = u32::try_from(communicator.size) else {
            continue;
        };
        let bytes = of_one_process(
            operation,
            n_processes,
            (entry.bytes_min.unwrap_or(0), entry.bytes_max.unwrap_or(0)),
        );
        let processes_per_host = processes_per_host(&hosts, &communicator.ranks);
        let ran = entry
            .library_name
            .clone()
            .or_else(|| entry.algorithm.clone());
        let key = (
            operation.name(),
            n_processes,
            processes_per_host.clone(),
            bytes.1.checked_ilog2(),
            ran.clone(),
        );
        let class = classes.entry(key).or_insert_with(|| CallClass {
            operation,
            n_processes,
            processes_per_host,
            bytes,
            calls: 0,
            failed: 0,
            ran,
        });
        class.calls += entry.calls;
        class.failed += entry.failed;
        class.bytes = (class.bytes.0.min(bytes.0), class.bytes.1.max(bytes.1));
    }
    classes.into_values().collect()
}

/// Bytes of one process, from the payloads of calls. These are, at the root of a scatter, and of an
/// alltoallv, what is sent to all, and of a reduce-scatter what all get: of these the mean.
fn of_one_process(operation: Operation, n_processes: u32, payloads: (u64, u64)) -> (u64, u64) {
    let n = u64::from(n_processes.max(1));
    let (least, most) = payloads;
    match operation.blocking() {
        Operation::Scatter
        | Operation::ReduceScatter
        | Operation::Alltoallv
        | Operation::Alltoallw => {
            let mean = most / n;
            let of_scatter = operation.blocking() == Operation::Scatter;
            (if of_scatter { least } else { least / n }.min(mean), mean)
        }
        _ => payloads,
    }
}

/// How many of these ranks each host has, the most first; empty if a rank is not known.
fn processes_per_host(hosts: &BTreeMap<u32, &str>, ranks: &[Option<u32>]) -> Vec<u32> {
    let mut counts: BTreeMap<&str, u32> = BTreeMap::new();
    for rank in ranks {
        let Some(host) = rank.and_then(|rank| hosts.get(&rank)) else {
            return Vec::new();
        };
        *counts.entry(host).or_default() += 1;
    }
    let mut counts: Vec<u32> = counts.into_values().collect();
    counts.sort_unstable_by(|one, other| other.cmp(one));
    counts
}
