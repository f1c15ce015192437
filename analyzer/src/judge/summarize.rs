//! From sums to results: the analysis of one trace.

use std::collections::BTreeMap;

use collbench_formats::{CommunicatorKind, Layer};
use collbench_stats::integers::sum_ns;

use crate::calls::algorithms::algorithms;
use crate::calls::running::running;
use crate::communicators::Communicators;
use crate::judge::adaptations::adaptations;
use crate::judge::behaviour::{fine_timeline, rank_classes, timeline};
use crate::judge::call_sites;
use crate::judge::causes::completions::late_to_complete;
use crate::judge::causes::operation_costs::operation_costs;
use crate::judge::causes::partners;
use crate::judge::causes::sites::Sites;
use crate::judge::causes::{Findings, acquit, causes};
use crate::judge::clock_summary::clock_summary;
use crate::judge::damage::damage;
use crate::judge::details;
use crate::judge::disturbances::disturbances;
use crate::judge::efficiencies::efficiencies;
use crate::judge::exchanges::Exchanges;
use crate::judge::hang;
use crate::judge::hang::Hang;
use crate::judge::imbalances::imbalances;
use crate::judge::inputs::Inputs;
use crate::judge::marked_phases::marked_phases;
use crate::judge::operations::shown_instances::shown_instances;
use crate::judge::operations::{Operations, operations};
use crate::judge::other_calls::other_calls;
use crate::judge::remarks::{RemarkFacts, remarks};
use crate::judge::trace::{message_ends, trace_summary};
use crate::results::analysis::{Analysis, Total};
use crate::results::causes::CostOf;
use crate::results::code::Code;
use crate::results::looked_at::LookedAt;
use crate::results::process::{CommunicatorSummary, RankSummary};
use crate::results::trace::TraceSummary;
use crate::sums::run_sums::Sums;

/// Assembles the results.
pub(crate) fn summarize(inputs: &Inputs<'_>) -> Analysis {
    let exchanges = Exchanges::of(inputs.run, inputs.clocks);
    let pauses = recorder_pauses(inputs, &exchanges);
    let trace = trace_summary(inputs, damage(inputs));
    let (of_operations, mut disturbances) =
        rayon::join(|| operations(inputs), || disturbances(inputs));
    let Operations {
        all: operations,
        n_listed,
        earliest,
    } = of_operations;
    let mut imbalance = imbalances(inputs);
    let at_end = Hang::of(inputs);
    let hang = at_end.summary();
    let of_processes = || inputs.findings.processes.iter();
    let running = running(
        inputs.run,
        inputs.clocks,
        inputs.communicators,
        of_processes().map(|found| &found.running),
    );
    let findings = RemarkFacts {
        trace: &trace,
        operations: &operations,
        hang: hang.as_ref(),
        ends: &message_ends(inputs),
        earliest,
        exchanges: &exchanges,
        pauses: &pauses,
        running: running.as_deref(),
    };
    let remarks = remarks(inputs, &findings);
    let sites = Sites::of(inputs);
    let ranks = rank_summaries(inputs, &pauses);
    let looked_at = looked_at(inputs, &trace, &ranks);
    let rank_ns = i128::from(looked_at.rank_ns());
    let whole = partners::whole(inputs, trace.duration_ns);
    let late_to_complete =
        (whole.as_deref()).map_or_else(Vec::new, |whole| late_to_complete(inputs, whole, rank_ns));
    let operation_costs = operation_costs(inputs, sites.as_ref(), rank_ns, &late_to_complete);
    let mut causes = causes(
        inputs,
        &Findings {
            imbalance: &imbalance,
            disturbances: &disturbances,
            running: running.as_deref(),
            operation_costs: &operation_costs,
            span_ns: looked_at.span_ns(),
            rank_ns,
            are_cores_shared: are_cores_shared(&trace),
            whole: whole.as_deref(),
            late_to_complete: &late_to_complete,
        },
    );
    for cause in &mut causes {
        let operation = cause.operation.and_then(|index| operations.get(index));
        let in_operation = cause.of == CostOf::OperationTime;
        cause.site = operation.and_then(|of| call_sites::costliest(of, in_operation));
    }
    acquit(
        &causes,
        &host_names(inputs),
        &mut imbalance,
        &mut disturbances,
    );
    let n_verdicts_listed = details::choose_verdicts(inputs.details, &mut imbalance);
    Analysis {
        operation_costs,
        causes,
        faster: None,
        clock: clock_summary(inputs, sites.as_ref()),
        restriction: inputs.selection.restriction(),
        alignment: inputs.clocks.method,
        looked_at,
        communicators: communicator_summaries(inputs.communicators),
        totals: totals(inputs.sums),
        efficiencies: efficiencies(inputs, &trace, &ranks),
        other_calls: other_calls(inputs, &ranks, rank_ns),
        trace,
        ranks,
        details: details::summary((&operations, n_listed), (&imbalance, n_verdicts_listed)),
        operations,
        sites: call_sites::of_run(inputs.run),
        imbalance,
        disturbances,
        timeline: timeline(inputs),
        fine_timeline: fine_timeline(inputs),
        instances: shown_instances(inputs),
        classes: rank_classes(inputs),
        adaptations: adaptations(inputs),
        algorithms: algorithms(inputs.run, of_processes().map(|found| &found.algorithms)),
        running,
        phases: marked_phases(inputs),
        unfinished: at_end.unfinished(),
        hang,
        mismatches: hang::mismatches(inputs),
        never_completed: hang::never_completed(inputs),
        remarks,
    }
}

/// Whether most ranks of a run share fewer cores than they are.
fn are_cores_shared(trace: &TraceSummary) -> bool {
    let ranks: u64 = trace
        .shared_cores
        .iter()
        .map(|of| u64::from(of.ranks))
        .sum();
    2 * ranks >= u64::from(trace.ranks).max(1)
}

/// The part of the run that was asked for, as far as the rings kept it for all ranks.
fn looked_at(inputs: &Inputs<'_>, trace: &TraceSummary, ranks: &[RankSummary]) -> LookedAt {
    let selection = inputs.selection;
    let kept_ns = trace.window.as_ref().and_then(|window| window.from_ns);
    let from_ns = selection.from_ns.max(kept_ns).unwrap_or(0).max(0);
    let to_ns = (selection.to_ns.unwrap_or(i64::MAX)).min(trace.duration_ns);
    let is_asked = |of: &&RankSummary| {
        let mut ranges = selection.ranks.iter();
        let is_in = ranges.any(|&(first, last)| (first..=last).contains(&of.rank));
        selection.ranks.is_empty() || is_in
    };
    let mut looked_at = LookedAt {
        from_ns,
        to_ns: to_ns.max(from_ns),
        ranks: ranks.iter().filter(is_asked).count() as u32,
        time_ns: None,
    };
    let found = ranks.iter().zip(&inputs.findings.processes);
    let asked = found.filter(|(rank, _)| is_asked(rank));
    let times =
        asked.map(|(_, found)| found.time_of_threads_ns(looked_at.from_ns, looked_at.to_ns));
    let time_ns = sum_ns(times);
    looked_at.time_ns = Some(time_ns).filter(|&ns| ns > looked_at.rank_ns());
    looked_at
}

/// The host of each rank.
fn host_names(inputs: &Inputs<'_>) -> BTreeMap<u32, String> {
    let processes = inputs.run.processes.iter().zip(&inputs.clocks.processes);
    let names = processes.map(|(file, clock)| {
        let host = &inputs.clocks.hosts[clock.host];
        (file.rank(), host.name.clone())
    });
    names.collect()
}

fn communicator_summaries(communicators: &Communicators) -> Vec<CommunicatorSummary> {
    communicators
        .entries
        .iter()
        .enumerate()
        .map(|(id, entry)| {
            let (first, second) = entry.ranks.split_at(entry.first_group);
            CommunicatorSummary {
                id,
                name: entry.name.clone(),
                kind: match entry.kind {
                    CommunicatorKind::Intra => "intra".into(),
                    CommunicatorKind::Inter => "inter".into(),
                },
                size: entry.size,
                count: entry.count,
                site: entry.made_at.map(|number| number as usize),
                ranks: entry.ranks.clone(),
                groups: (entry.kind == CommunicatorKind::Inter)
                    .then(|| [first.to_vec(), second.to_vec()]),
            }
        })
        .collect()
}

fn totals(sums: &Sums) -> BTreeMap<Code, Total> {
    let mut totals: BTreeMap<Code, Total> = BTreeMap::new();
    for (key, operation) in sums.operations() {
        let total = totals.entry(key.operation.name().into()).or_default();
        total.calls += operation.calls;
        total.instances += operation.instances;
        total.call_time_ns = total
            .call_time_ns
            .saturating_add(operation.call_time.total());
    }
    totals
}

/// For each process the sum of the recorder's pauses, and the longest, ns.
fn recorder_pauses(inputs: &Inputs<'_>, exchanges: &Exchanges) -> Vec<(i64, i64)> {
    let processes = inputs.run.processes.iter().zip(&inputs.clocks.processes);
    processes
        .enumerate()
        .map(|(index, (process, clock))| {
            let chunks = process.trace.chunks.iter().map(|chunk| chunk.pause_ticks);
            let of_exchanges = exchanges.pause_ticks.get(&index).into_iter().flatten();
            let pauses = chunks.chain(of_exchanges.copied());
            let pauses = pauses.map(|ticks| clock.span_ns(ticks));
            pauses.fold((0, 0), |(total, longest): (i64, i64), pause| {
                (total.saturating_add(pause), longest.max(pause))
            })
        })
        .collect()
}

fn rank_summaries(inputs: &Inputs<'_>, pauses: &[(i64, i64)]) -> Vec<RankSummary> {
    let clocks = &inputs.clocks;
    let processes = inputs.run.processes.iter().enumerate();
    processes
        .map(|(index, process)| {
            let tally = &inputs.sums.processes[index];
            let found = inputs.findings.processes.get(index);
            let besides = found.map(|found| found.besides);
            let finalize = found.and_then(|found| found.finalize);
            let counted = besides.filter(|_| process.knows_layer(Layer::PointToPoint));
            let timed = besides.filter(|_| process.has_layer(Layer::PointToPoint));
            let mut calls_by_operation: BTreeMap<Code, u64> = BTreeMap::new();
            let mut calls_by_class = BTreeMap::new();
            for &((operation, scope), n) in &tally.by_class {
                *calls_by_operation
                    .entry(operation.name().into())
                    .or_default() += n;
                calls_by_class.insert(format!("{}{}", operation.name(), scope.suffix()), n);
            }
            RankSummary {
                rank: process.rank(),
                host: clocks.hosts[clocks.processes[index].host].name.clone(),
                calls: tally.calls,
                calls_by_operation,
                calls_by_class,
                wait_ns: tally.wait_ns,
                call_time_ns: tally.call_ns,
                finalize_ns: finalize.map(|[begin, leave]| leave.ns() - begin.ns()),
                finalize_wait_ns: tally.finalize_wait_ns,
                last: tally.last,
                first: tally.first,
                recorder_pause_ns: pauses[index].0,
                point_to_point_ns: timed.map(|besides| besides.point_to_point_ns),
                unsuccessful_polls: timed.map(|besides| besides.n_unsuccessful_polls),
                io_ns: counted.map(|besides| besides.io_ns),
                rma_ns: counted.map(|besides| besides.rma_ns),
            }
        })
        .collect()
}
