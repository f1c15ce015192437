//! Sums to results: all that the analysis of one trace gives.

use std::collections::BTreeMap;

use collbench_formats::CommunicatorKind;

use crate::calls::algorithms::algorithms;
use crate::calls::running::running;
use crate::communicators::Communicators;
use crate::judge::behaviour::{rank_classes, timeline};
use crate::judge::clock_summary::clock_summary;
use crate::judge::damage::damage;
use crate::judge::details;
use crate::judge::disturbances::disturbances;
use crate::judge::exchanges::Exchanges;
use crate::judge::hang;
use crate::judge::hang::Hang;
use crate::judge::imbalances::imbalances;
use crate::judge::inputs::Sources;
use crate::judge::marked_phases::marked_phases;
use crate::judge::operations::operations;
use crate::judge::remarks::{RemarkFacts, remarks};
use crate::judge::trace::{message_ends, trace_summary};
use crate::results::analysis::{Analysis, Total};
use crate::results::code::Code;
use crate::results::process::{CommunicatorSummary, RankSummary};
use crate::sums::of_run::Sums;

/// Puts the results together.
pub(crate) fn summarize(sources: &Sources<'_>) -> Analysis {
    let exchanges = Exchanges::of(sources.run, sources.clocks);
    let pauses = recorder_pauses(sources, &exchanges);
    let trace = trace_summary(sources, damage(sources));
    let (operations, earliest) = operations(sources);
    let mut imbalance = imbalances(sources);
    details::choose_verdicts(sources.details, &mut imbalance);
    let at_end = Hang::of(sources);
    let hang = at_end.summary();
    let findings = RemarkFacts {
        trace: &trace,
        operations: &operations,
        hang: hang.as_ref(),
        ends: &message_ends(sources),
        earliest,
        exchanges: &exchanges,
        pauses: &pauses,
    };
    let remarks = remarks(sources, &findings);
    let of_processes = || sources.findings.processes.iter();
    Analysis {
        trace,
        clock: clock_summary(sources),
        communicators: communicator_summaries(sources.communicators),
        totals: totals(sources.tally),
        ranks: rank_summaries(sources, &pauses),
        details: details::summary(&operations, &imbalance),
        operations,
        imbalance,
        disturbances: disturbances(sources),
        timeline: timeline(sources),
        classes: rank_classes(sources),
        algorithms: algorithms(sources.run, of_processes().map(|found| &found.algorithms)),
        running: running(
            sources.run,
            sources.clocks,
            sources.communicators,
            of_processes().map(|found| &found.running),
        ),
        phases: marked_phases(sources),
        unfinished: at_end.unfinished(),
        hang,
        mismatches: hang::mismatches(sources),
        never_completed: hang::never_completed(sources),
        remarks,
    }
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
                ranks: entry.ranks.clone(),
                groups: (entry.kind == CommunicatorKind::Inter)
                    .then(|| [first.to_vec(), second.to_vec()]),
            }
        })
        .collect()
}

fn totals(tally: &Sums) -> BTreeMap<Code, Total> {
    let mut totals: BTreeMap<Code, Total> = BTreeMap::new();
    for (key, operation) in tally.operations() {
        let total = totals.entry(key.operation.name().into()).or_default();
        total.calls += operation.calls;
        total.instances += operation.instances;
        total.call_time_ns = total
            .call_time_ns
            .saturating_add(operation.call_time.total());
    }
    totals
}

/// For each process the time for which the recorder held it up, and the longest of it, ns.
fn recorder_pauses(sources: &Sources<'_>, exchanges: &Exchanges) -> Vec<(i64, i64)> {
    let processes = sources.run.processes.iter().zip(&sources.clocks.processes);
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

fn rank_summaries(sources: &Sources<'_>, pauses: &[(i64, i64)]) -> Vec<RankSummary> {
    let clocks = &sources.clocks;
    let processes = sources.run.processes.iter().enumerate();
    processes
        .map(|(index, process)| {
            let tally = &sources.tally.processes[index];
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
                last: tally.last,
                first: tally.first,
                recorder_pause_ns: pauses[index].0,
            }
        })
        .collect()
}
