//! Sums to results: the operations, with their distributions, orders and stages.

use std::collections::BTreeMap;

use collbench_formats::Operation;

use crate::analysis::{OperationSummary, SerializationPoint, Stage, ThreadWay};
use crate::distribution::Summary;
use crate::summarize::Sources;
use crate::sums::{OperationKey, OperationTally, wait_state_names};

/// The operations, by time, the longest first.
pub(crate) fn operations(sources: &Sources<'_>) -> Vec<OperationSummary> {
    let mut operations: Vec<(i64, OperationSummary)> = sources
        .tally
        .operations()
        .map(|(key, tally)| {
            let time = tally.call_time.total();
            (time, operation_summary(sources, key, tally))
        })
        .collect();
    // Stable: operations of equal time stay in the order of their keys.
    operations.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    operations.into_iter().map(|(_, summary)| summary).collect()
}

fn operation_summary(
    sources: &Sources<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> OperationSummary {
    let wait = tally.wait.summary();
    let core = tally.core.summary();
    let departure_wait = tally.departure_wait.summary();
    let (waiting, completion) = wait_state_names(key.operation);
    let mut wait_states = BTreeMap::new();
    if let Some(name) = waiting.filter(|_| wait.is_some()) {
        wait_states.insert(name, tally.wait.total());
    }
    if let (Some(name), Some(total)) = (completion, tally.completion_ns) {
        wait_states.insert(name, total);
    }
    // Without an instance whose order could be told there is none, rather than one of zeros.
    let has_order = spans_one_host(sources, key.entry) && tally.instances > 0;
    let is_by_position = tally.arrivals.is_by_position();
    let by_position = |rows: Vec<Vec<u32>>| (has_order && is_by_position).then_some(rows);
    let by_decile = |rows: Vec<Vec<u32>>| (has_order && !is_by_position).then_some(rows);
    OperationSummary {
        operation: key.operation.name(),
        communicator: key.entry,
        root: key.root,
        bytes_min: tally.bytes.map(|(least, _)| least),
        bytes_max: tally.bytes.map(|(_, most)| most),
        algorithm: None,
        calls: tally.calls,
        instances: tally.instances,
        // Calls that do not tell their instance are of one at least.
        incomplete: tally.incomplete.max(tally.has_open_call.into()),
        duration_ns: tally.duration.summary(),
        duration_histogram: tally.duration.buckets(),
        call_time_ns: tally.call_time.summary(),
        arrival_lag_ns: tally.lag.summary(),
        initiation_ns: None,
        between_ns: None,
        completion_ns: None,
        wait_states,
        last_arrivals: tally.members.iter().map(|member| member.last).collect(),
        first_departures: tally
            .members
            .iter()
            .map(|member| member.first_departure)
            .collect(),
        last_unresolved: tally.last_unresolved,
        first_unresolved: tally.first_unresolved,
        arrival_order: by_position(tally.arrivals.rows()),
        departure_order: by_position(tally.departures.rows()),
        arrival_deciles: by_decile(tally.arrivals.rows()),
        departure_deciles: by_decile(tally.departures.rows()),
        serialization: serialization(tally),
        edges: None,
        stages: stages(key.operation, &wait, &core, &departure_wait),
        threads: threads(sources, key, tally),
        semantics: key.operation.semantics(),
        wait_ns: wait,
        core_ns: core,
        departure_wait_ns: departure_wait,
    }
}

/// The mean at each position in the order of departure; `None` without instances that have one.
fn serialization(tally: &OperationTally) -> Option<Vec<SerializationPoint>> {
    let steps = tally.serialization.steps();
    let n_processes = tally.members.len();
    let points = steps.iter().enumerate().map(|(step, &(sum, n))| {
        // The first position that falls into the step.
        let position = match n_processes > steps.len() {
            true => (step * n_processes).div_ceil(steps.len()),
            false => step,
        };
        SerializationPoint {
            position,
            n,
            mean_ns: sum / n.max(1).cast_signed(),
        }
    });
    (!steps.is_empty()).then(|| points.collect())
}

/// Whether all known processes of an entry are on one host, and more than one.
fn spans_one_host(sources: &Sources<'_>, entry: Option<usize>) -> bool {
    let Some(entry) = entry else { return false };
    let ranks = &sources.communicators.entries[entry].ranks;
    if sources.communicators.entries[entry].size < 2 {
        return false;
    }
    let mut hosts = ranks
        .iter()
        .flatten()
        .filter_map(|&rank| sources.run.process_of_rank(rank))
        .map(|process| sources.clocks.processes[process].host);
    let first = hosts.next();
    first.is_some() && hosts.all(|host| Some(host) == first)
}

/// The stages seen from outside, from the thread to the core. What lies across hosts is not
/// resolvable: on one host there is none, and the clocks of several are not aligned.
fn stages(
    operation: Operation,
    wait: &Option<Summary>,
    core: &Option<Summary>,
    departure_wait: &Option<Summary>,
) -> Vec<Stage> {
    if operation.semantics().waits_for_nobody() {
        return Vec::new();
    }
    let stage = |name, down_ns: Option<Summary>, up_ns: Option<Summary>| Stage {
        name,
        node: None,
        down_ns,
        up_ns,
    };
    vec![
        stage("inside the host", wait.clone(), departure_wait.clone()),
        stage("across hosts", None, None),
        stage("core", None, core.clone()),
    ]
}

fn threads(sources: &Sources<'_>, key: &OperationKey, tally: &OperationTally) -> Vec<ThreadWay> {
    let Some(entry) = key.entry else {
        return Vec::new();
    };
    let ranks = &sources.communicators.entries[entry].ranks;
    let mean = |total: i64, n: u64| (n > 0).then(|| (total / n as i64, n));
    ranks
        .iter()
        .zip(&tally.members)
        .filter_map(|(rank, member)| {
            let process = sources.run.process_of_rank((*rank)?)?;
            if member.n_calls == 0 {
                return None;
            }
            // Where only some waits are known, the rest of the call is not known either.
            let rest = member
                .call_ns
                .saturating_sub(member.wait_ns)
                .saturating_sub(member.departure_wait_ns);
            let has_waits = !key.operation.semantics().waits_for_nobody();
            let n_inside = match !has_waits || member.n_waits == member.n_calls {
                true => member.n_calls,
                false => 0,
            };
            Some(ThreadWay {
                rank: (*rank)?,
                host: sources.run.processes[process]
                    .trace
                    .identity
                    .host
                    .name
                    .clone(),
                wait: mean(member.wait_ns, member.n_waits),
                departure_wait: mean(member.departure_wait_ns, member.n_departure_waits),
                inside: mean(rest, n_inside),
            })
        })
        .collect()
}
