//! From findings to results: what is missing.

use std::collections::BTreeMap;

use collbench_formats::{Damage, Operation};
use collbench_text::inert;
use collbench_text::quantity::counted;

use crate::calls::findings::InFlight;
use crate::communicators::Communicators;
use crate::judge::inputs::Inputs;
use crate::results::trace::{DamageSummary, InFlightSummary};

/// Ranks without a file that are listed one by one; beyond, in one entry.
const MAX_MISSING_LISTED: u64 = 4096;
/// Definitions of a rank that contradict others and are listed one by one.
const MAX_CONFLICTS_LISTED: usize = 4;

/// One entry for each rank and finding, by rank.
pub(crate) fn damage(inputs: &Inputs<'_>) -> Vec<DamageSummary> {
    let Inputs { run, .. } = inputs;
    let mut damage = Vec::new();
    for file in &run.unreadable {
        damage.push(DamageSummary {
            rank: None,
            what: format!("{}: {}", file.name, file.what),
            in_flight: None,
        });
    }
    let mut in_flight: BTreeMap<usize, Vec<InFlightSummary>> = BTreeMap::new();
    for (process, found) in inputs.findings.processes.iter().enumerate() {
        for call in &found.in_flight {
            let summary = in_flight_summary(inputs.communicators, call);
            in_flight.entry(process).or_default().push(summary);
        }
    }
    let is_in_finalize = |process: usize| {
        let mut calls = inputs.findings.processes[process].in_flight.iter();
        calls.any(|call| call.operation == Operation::Finalize)
    };
    let mut of_ranks = Vec::new();
    for (index, process) in run.processes.iter().enumerate() {
        let rank = process.rank();
        let mut under_way = in_flight.remove(&index).unwrap_or_default().into_iter();
        for found in &process.trace.damage {
            let belongs = matches!(found, Damage::NotFinalized);
            let what = if belongs && is_in_finalize(index) {
                "the process ended inside MPI_Finalize".to_owned()
            } else {
                found.to_string()
            };
            of_ranks.push(DamageSummary {
                rank: Some(rank),
                what: format!("{}: {what}", process.name),
                in_flight: if belongs { under_way.next() } else { None },
            });
        }
        of_ranks.extend(under_way.map(|call| DamageSummary {
            rank: Some(rank),
            what: format!(
                "{}: a call had not returned when the trace ended",
                process.name
            ),
            in_flight: Some(call),
        }));
        let found = findings_in_records(inputs, index);
        of_ranks.extend(found.into_iter().map(|what| DamageSummary {
            rank: Some(rank),
            what: format!("{}: {what}", process.name),
            in_flight: None,
        }));
    }
    let missing = run.missing_ranks();
    let mut listed = 0;
    for &(first, last) in &missing {
        for rank in first..=last {
            if listed == MAX_MISSING_LISTED {
                break;
            }
            listed += 1;
            of_ranks.push(DamageSummary {
                rank: Some(rank),
                what: "no file".to_owned(),
                in_flight: None,
            });
        }
    }
    let n_missing: u64 = missing
        .iter()
        .map(|&(first, last)| u64::from(last - first) + 1)
        .sum();
    if n_missing > listed {
        damage.push(DamageSummary {
            rank: None,
            what: format!(
                "no file of {n_missing} ranks in total: {}",
                inert::rank_ranges(&missing)
            ),
            in_flight: None,
        });
    }
    of_ranks.sort_by_key(|entry| entry.rank);
    damage.extend(of_ranks);
    damage
}

/// Impossible contents of the definitions and records of a process.
fn findings_in_records(inputs: &Inputs<'_>, process: usize) -> Vec<String> {
    let mut findings = Vec::new();
    let conflicts = inputs.communicators.conflicts.iter();
    let conflicts: Vec<u32> = conflicts
        .filter(|(other, _)| *other == process)
        .map(|(_, index)| *index)
        .collect();
    for index in conflicts.iter().take(MAX_CONFLICTS_LISTED) {
        findings.push(format!(
            "the definition of communicator {index} contradicts another one of the same \
             communicator: calls on it are counted, but not matched"
        ));
    }
    if let Some(n_more @ 1..) = conflicts.len().checked_sub(MAX_CONFLICTS_LISTED) {
        let more = counted(n_more, "more definition");
        let contradict = match n_more {
            1 => "contradicts another one",
            _ => "contradict others",
        };
        findings.push(format!("{more} that {contradict}"));
    }
    let Some(found) = inputs.findings.processes.get(process) else {
        return findings;
    };
    if found.n_undefined > 0 {
        findings.push(format!(
            "{} on communicators without a (usable) definition, the first on communicator {}: counted, \
             but not matched",
            counted(found.n_undefined, "call"),
            found.first_undefined
        ));
    }
    if found.n_undefined_starts > 0 {
        findings.push(format!(
            "{} of persistent collectives without a (usable) definition",
            counted(found.n_undefined_starts, "start")
        ));
    }
    let listed = &found.impossible.listed;
    findings.extend(listed.iter().map(ToString::to_string));
    let more = found.impossible.n - listed.len() as u64;
    if more > 0 {
        let more = counted(more, "more record");
        findings.push(format!("{more} with impossible time stamps"));
    }
    findings
}

fn in_flight_summary(communicators: &Communicators, call: &InFlight) -> InFlightSummary {
    InFlightSummary {
        operation: call.operation.name().into(),
        completing: call.completing.map(|call| call.name().into()),
        communicator: call
            .communicator
            .map(|index| communicators.list[index].entry),
        sequence: call.sequence,
    }
}
