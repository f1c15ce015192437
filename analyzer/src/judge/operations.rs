//! From sums to results: the operations, with their distributions, orders and stages.

pub(crate) mod overlap;
pub(crate) mod shown_instances;

use std::collections::BTreeMap;

use collbench_formats::Operation;
use collbench_stats::distribution::{Distribution, Summary};
use collbench_stats::estimate::Evidence;
use collbench_stats::integers::sum_ns;

use crate::communicators::Communicators;
use crate::judge::call_sites;
use crate::judge::details::Chooser;
use crate::judge::inputs::Inputs;
use crate::judge::over_time::{operation_sections, outliers};
use crate::judge::trees;
use crate::judge::trees::TooEarly;
use crate::results::code::Code;
use crate::results::operation::{
    BeyondDocument, OperationSummary, ProcessTimes, Spread, Stage, Stages,
};
use crate::sums::instances::operation_key::OperationKey;
use crate::sums::operation::{ON_THE_WAY, OperationTally, OverlapTally, wait_state_names};
use crate::sums::serialization::SerializationPoint;
use crate::sums::sites::SiteMember;

/// The operations of a run.
pub(crate) struct Operations {
    /// By time, the longest first.
    pub(crate) all: Vec<OperationSummary>,
    /// The first of them that the document lists.
    pub(crate) n_listed: usize,
    /// The message received the most before it was sent.
    pub(crate) earliest: Option<TooEarly>,
}

/// The operations, with the details for which the document has room.
pub(crate) fn operations(inputs: &Inputs<'_>) -> Operations {
    let tallies = by_time(inputs);
    let mut chooser = Chooser::new(inputs.details);
    let mut earliest = None;
    // One after the other: the details of all may be many times what is kept of them.
    let operations = tallies.into_iter().map(|(key, tally)| {
        let mut operation = operation_summary(inputs, key, tally);
        let edges = operation.edges.iter().flatten();
        earliest = earliest.max(trees::received_too_early(inputs, edges));
        chooser.choose(&mut operation);
        operation
    });
    Operations {
        all: operations.collect(),
        n_listed: chooser.n_listed(),
        earliest,
    }
}

/// The sums of the operations, by time, the longest first: the order of the results.
pub(crate) fn by_time<'a>(inputs: &Inputs<'a>) -> Vec<(&'a OperationKey, &'a OperationTally)> {
    let mut tallies: Vec<(&OperationKey, &OperationTally)> = inputs.sums.operations().collect();
    // Stable: operations of equal time stay in the order of their keys.
    tallies.sort_by_cached_key(|(_, tally)| std::cmp::Reverse(tally.call_time.total()));
    tallies
}

/// What executed an operation: the tree of our own that values passed, or what the library did.
pub(crate) fn algorithm(communicators: &Communicators, key: &OperationKey) -> Option<String> {
    let own = (key.tree).and_then(|tree| communicators.trees.list.get(tree as usize));
    let name = own.map(|own| format!("tree of {}", own.name));
    name.or_else(|| key.algorithm.map(|algorithm| algorithm.to_string()))
}

fn operation_summary(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> OperationSummary {
    let (spread, uncertainty_ns) = spread(inputs, key.entry);
    // A difference of stamps of several clocks has the error of their alignment.
    let compared = |distribution: &Distribution| distribution.summary(uncertainty_ns);
    let waits = tally.lags_and_waits.waits();
    let wait = compared(&waits);
    let core = compared(&tally.core);
    let departure_wait = compared(&tally.departure_wait);
    let overlap = |part: fn(&OverlapTally) -> &Distribution| {
        tally.overlap.as_deref().and_then(|o| part(o).summary(None))
    };
    // Without an instance whose order is known there is none, rather than one of zeros.
    let has_order = tally.members.len() > 1 && spread != Spread::Apart && tally.instances > 0;
    let is_by_position = tally.arrivals.is_by_position();
    let by_position = |rows: Vec<Vec<u32>>| (has_order && is_by_position).then_some(rows);
    let by_decile = |rows: Vec<Vec<u32>>| (has_order && !is_by_position).then_some(rows);
    let members = tally.members.iter();
    let trees = trees::trees(inputs, key, tally);
    let stages = Stages {
        outside: stages_outside(
            key.operation,
            tally,
            (wait.clone(), departure_wait.clone()),
            core.clone(),
            compared,
        ),
        inside: trees::stages(trees.as_deref()).into(),
    };
    let histogram = tally.duration.buckets();
    OperationSummary {
        operation: key.operation.name().into(),
        communicator: key.entry,
        root: key.root,
        bytes_min: tally.bytes.map(|(least, _)| least),
        bytes_max: tally.bytes.map(|(_, most)| most),
        algorithm: algorithm(inputs.communicators, key),
        library_name: trees::library_name(inputs, key),
        contradicted: (tally.inside.as_ref()).map_or(0, |inside| inside.n_contradicted),
        calls: tally.calls,
        instances: tally.instances,
        failed: tally.failed,
        // Calls of unknown instances are of at least one.
        incomplete: tally.incomplete.max(tally.has_open_call.into()),
        duration_ns: compared(&tally.duration),
        duration_parts: tally.duration.parts_of(&histogram),
        duration_histogram: histogram.into(),
        call_time_ns: tally.call_time.summary(None),
        arrival_lag_ns: compared(&tally.lags_and_waits.lags()),
        initiation_ns: overlap(|o| &o.initiation),
        between_ns: overlap(|o| &o.between),
        completion_ns: overlap(|o| &o.completion),
        exposed_ns: overlap(|o| &o.exposed),
        overlap_bound_ns: overlap(|o| &o.overlap_bound),
        tests: tally.overlap.as_ref().map(|o| o.n_tests),
        overlap: overlap::overlap(tally),
        wait_states: wait_states(key.operation, tally, wait.is_some().then(|| waits.total())),
        last_arrivals: members.clone().map(|member| member.last).collect(),
        first_departures: members.map(|member| member.first_departure).collect(),
        last_unresolved: tally.last_unresolved,
        first_unresolved: tally.first_unresolved,
        last_likely: tally.last_likely,
        first_likely: tally.first_likely,
        arrival_order: by_position(tally.arrivals.rows()).into(),
        departure_order: by_position(tally.departures.rows()).into(),
        arrival_deciles: by_decile(tally.arrivals.rows()).into(),
        departure_deciles: by_decile(tally.departures.rows()).into(),
        serialization: serialization(tally).into(),
        sections: operation_sections(inputs, tally).into(),
        sites: call_sites::of_operation(tally),
        outliers: outliers(inputs, key, tally, apart_ns(inputs, uncertainty_ns)),
        edges: trees::edges(inputs, key, tally).into(),
        trees,
        outside_trees: tally.inside.as_deref().map(trees::outside_trees),
        stages,
        left_out: Vec::new(),
        beyond: Some(Box::new(BeyondDocument {
            threads: threads(inputs, key, tally),
            called_by: called_by(inputs, key, tally),
            spread,
            class: key.class,
            evidence: Evidence::new(&tally.batches, &tally.duration, &tally.core),
        })),
        wait_ns: wait,
        core_ns: core,
        departure_wait_ns: departure_wait,
    }
}

/// How far times must differ to be ordered, ns: three standard deviations, where clocks differ.
fn apart_ns(inputs: &Inputs<'_>, uncertainty_ns: Option<i64>) -> i64 {
    let granularities = inputs.clocks.hosts.iter().map(|host| host.granularity_ns);
    uncertainty_ns
        .map_or(0, |two| two.saturating_add(two / 2))
        .max(granularities.max().unwrap_or(0))
}

/// Time by wait state, ns. `waits_ns`: all waits together, where any is known.
fn wait_states(
    operation: Operation,
    tally: &OperationTally,
    waits_ns: Option<i64>,
) -> BTreeMap<Code, i64> {
    let (waiting, completion) = wait_state_names(operation);
    let on_the_way_ns = tally.on_the_way_ns;
    let waiting = waiting.zip(waits_ns.map(|ns| ns - sum_ns(on_the_way_ns)));
    let completion = completion.zip(tally.completion_ns);
    let on_the_way = ON_THE_WAY.into_iter().zip(on_the_way_ns);
    let on_the_way = on_the_way.filter(|&(_, ns)| ns > 0);
    let states = waiting.into_iter().chain(completion).chain(on_the_way);
    states.map(|(name, total)| (name.into(), total)).collect()
}

/// The stages seen from outside, with the waits for arrivals and departures: all together (`waits`), or
/// where hosts are several those inside the host and across hosts apart.
fn stages_outside(
    operation: Operation,
    tally: &OperationTally,
    waits: (Option<Summary>, Option<Summary>),
    core: Option<Summary>,
    compared: impl Fn(&Distribution) -> Option<Summary>,
) -> Vec<Stage> {
    let (inside, across) = match &tally.split {
        Some(split) => (
            (
                compared(&split.wait_inside),
                compared(&split.departure_inside),
            ),
            (
                compared(&split.wait_across),
                compared(&split.departure_across),
            ),
        ),
        None => (waits, (None, None)),
    };
    stages(operation, inside, across, core)
}

/// The mean at each position in the order of departure; `None` without instances that have one.
fn serialization(tally: &OperationTally) -> Option<Vec<SerializationPoint>> {
    let steps = tally.serialization.steps();
    let n_processes = tally.members.len();
    let points = steps.iter().enumerate().map(|(step, &(sum, n))| {
        // The first position that falls into the step.
        let position = if n_processes > steps.len() {
            (step * n_processes).div_ceil(steps.len())
        } else {
            step
        };
        SerializationPoint {
            position,
            n,
            mean_ns: sum / n.max(1).cast_signed(),
        }
    });
    (!steps.is_empty()).then(|| points.collect())
}

/// How far the stamps of the known processes of an entry can be compared, and the greatest
/// uncertainty of a difference of two of them, ns, where they are of several clocks.
fn spread(inputs: &Inputs<'_>, entry: Option<usize>) -> (Spread, Option<i64>) {
    let Some(entry) = entry else {
        return (Spread::OneHost, None);
    };
    // Entries of one process are of many hosts, none of which is compared with another.
    if inputs.communicators.entries[entry].size < 2 {
        return (Spread::OneHost, None);
    }
    let ranks = &inputs.communicators.entries[entry].ranks;
    let processes = ranks.iter().flatten();
    let mut hosts: Vec<usize> = processes
        .filter_map(|&rank| inputs.run.process_of_rank(rank))
        .map(|process| inputs.clocks.processes[process].host)
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    if hosts.len() < 2 {
        return (Spread::OneHost, None);
    }
    let pairs = hosts
        .iter()
        .flat_map(|&a| hosts.iter().map(move |&b| (a, b)));
    let uncertainties = pairs.map(|(a, b)| inputs.clocks.uncertainty_ns(a, b));
    match uncertainties.collect::<Option<Vec<i64>>>() {
        Some(known) => (Spread::Aligned, known.into_iter().max()),
        None => (Spread::Apart, None),
    }
}

/// The stages seen from outside, from the thread to the core, each towards the root and from it.
/// The stage across hosts is unknown on one host and without a common time.
fn stages(
    operation: Operation,
    inside: (Option<Summary>, Option<Summary>),
    across: (Option<Summary>, Option<Summary>),
    core: Option<Summary>,
) -> Vec<Stage> {
    if operation.semantics().waits_for_nobody() {
        return Vec::new();
    }
    let stage = |name: &'static str, (down_ns, up_ns): (Option<Summary>, Option<Summary>)| Stage {
        name: name.into(),
        node: None,
        down_ns,
        up_ns,
    };
    vec![
        stage("inside the host", inside),
        stage("across hosts", across),
        stage("core", (None, core)),
    ]
}

/// The world ranks that called an operation, by the place from which they did.
fn called_by(
    inputs: &Inputs<'_>,
    key: &OperationKey,
    tally: &OperationTally,
) -> BTreeMap<usize, Vec<u32>> {
    let entry = key.entry.map(|entry| &inputs.communicators.entries[entry]);
    let ranks = entry.map_or(&[][..], |entry| &entry.ranks);
    let of_site = |(site, members): (u32, &[SiteMember])| {
        let called = ranks
            .iter()
            .zip(members)
            .filter(|(_, member)| member.calls > 0);
        (
            site as usize,
            called.filter_map(|(rank, _)| *rank).collect(),
        )
    };
    tally.sites.iter().map(of_site).collect()
}

fn threads(inputs: &Inputs<'_>, key: &OperationKey, tally: &OperationTally) -> Vec<ProcessTimes> {
    let Some(entry) = key.entry else {
        return Vec::new();
    };
    let ranks = &inputs.communicators.entries[entry].ranks;
    let is_split = tally.split.is_some();
    let is_overlapped = tally.overlap.is_some();
    let mean = |total: i64, n: u64| (n > 0).then(|| (total / n as i64, n));
    ranks
        .iter()
        .zip(&tally.members)
        .filter_map(|(rank, member)| {
            let process = inputs.run.process_of_rank((*rank)?)?;
            if member.n_calls == 0 {
                return None;
            }
            // Where only some waits are known, the rest of the call is not known either.
            let rest = member
                .call_ns
                .saturating_sub(member.wait_ns)
                .saturating_sub(member.departure_wait_ns)
                .saturating_sub(member.initiation_ns);
            let has_waits = !key.operation.semantics().waits_for_nobody();
            let n_inside = if !has_waits || member.n_waits == member.n_calls {
                member.n_calls
            } else {
                0
            };
            Some(ProcessTimes {
                rank: (*rank)?,
                host: inputs.run.processes[process]
                    .trace
                    .identity
                    .host
                    .name
                    .clone(),
                wait: mean(member.wait_ns, member.n_waits),
                wait_inside: is_split
                    .then(|| mean(member.wait_inside_ns, member.n_waits))
                    .flatten(),
                departure_wait: mean(member.departure_wait_ns, member.n_departure_waits),
                departure_inside: is_split
                    .then(|| mean(member.departure_inside_ns, member.n_departure_waits))
                    .flatten(),
                inside: mean(rest, n_inside),
                initiation: is_overlapped
                    .then(|| mean(member.initiation_ns, member.n_calls))
                    .flatten(),
                between: is_overlapped
                    .then(|| mean(member.between_ns, member.n_calls))
                    .flatten(),
            })
        })
        .collect()
}
