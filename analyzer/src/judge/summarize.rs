//! Sums to results: what was recorded, on which clocks, by whom, and what a reader should know.

use std::collections::BTreeMap;

use collbench_clocks::timestamp::Timestamp;
use collbench_formats::{Abi, CommunicatorKind, MpiIdentity};
use collbench_stats::integers::sum_ns;
use collbench_text::{inert, quantity};

use crate::calls::algorithms::algorithms;
use crate::calls::running::running;
use crate::communicators::Communicators;
use crate::judge::behaviour::{rank_classes, timeline};
use crate::judge::clock_summary::clock_summary;
use crate::judge::damage::damage;
use crate::judge::disturbances::disturbances;
use crate::judge::exchanges::Exchanges;
use crate::judge::hang::Hang;
use crate::judge::inputs::Sources;
use crate::judge::marked_phases::marked_phases;
use crate::judge::operations::operations;
use crate::judge::over_time::{change, lateness_sections};
use crate::judge::verdict::{Verdict, Vertex};
use crate::judge::{hang, trees};
use crate::remark::Remark;
use crate::results::analysis::{
    Analysis, CommunicatorSummary, Culprit, DamageSummary, Dearest, HangSummary, HostLateness,
    ImbalanceSummary, Layer, MessageEnds, RankLateness, RankSummary, RankWindow, Total,
    TraceSummary, WindowSummary,
};
use crate::results::detail::{choose_verdicts, summary as details};
use crate::sums::lateness::Lateness;
use crate::sums::mismatch::MismatchKind;
use crate::sums::of_run::Sums;
use crate::time::clocks::Clocks;
use crate::trace::run::Run;

/// Characters of the command that are kept.
const MAX_COMMAND: usize = 4096;

/// Puts the results together.
pub(crate) fn summarize(sources: &Sources<'_>) -> Analysis {
    let damage = damage(sources);
    let exchanges = Exchanges::of(sources.run, sources.clocks);
    let pauses = recorder_pauses(sources, &exchanges);
    let of_processes = || sources.irregularities.processes.iter();
    let algorithms = algorithms(sources.run, of_processes().map(|found| &found.algorithms));
    let (operations, earliest) = operations(sources);
    let mut imbalance = imbalance(sources);
    choose_verdicts(sources.details, &mut imbalance);
    let n_findings = damage.len();
    let trace = trace_summary(sources, damage);
    let known = (n_findings, trace.window.as_ref());
    let at_end = Hang::of(sources);
    let hang = at_end.summary();
    let mut remarks = remarks(sources, known, &pauses, hang.as_ref(), &exchanges);
    remarks.extend(trees::contradicted(&operations));
    remarks.extend(
        earliest.map(|earliest| trees::too_early_remark(sources, earliest, &message_ends(sources))),
    );
    Analysis {
        trace,
        clock: clock_summary(sources),
        communicators: communicator_summaries(sources.communicators),
        totals: totals(sources.tally),
        ranks: rank_summaries(sources, &pauses),
        details: details(&operations, &imbalance),
        imbalance,
        disturbances: disturbances(sources),
        timeline: timeline(sources),
        classes: rank_classes(sources),
        algorithms,
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
        operations,
    }
}

/// What the library calls itself, in one line, and that it was used by the standard's ABI: one
/// library may offer that beside its own.
fn mpi_library(mpi: &MpiIdentity) -> String {
    let version = mpi
        .library_version
        .lines()
        .next()
        .unwrap_or_default()
        .trim();
    match mpi.abi {
        Abi::Mpi5 => format!("{version} (ABI of MPI 5)"),
        _ => version.to_owned(),
    }
}

fn trace_summary(sources: &Sources<'_>, damage: Vec<DamageSummary>) -> TraceSummary {
    let Sources {
        run, clocks, tally, ..
    } = sources;
    let first = &run.processes[0].trace.identity;
    // By clock: two containers of one name and one machine can have two.
    let hosts: Vec<String> = clocks.hosts.iter().map(|host| host.name.clone()).collect();
    let end_anchors = run
        .processes
        .iter()
        .zip(&clocks.processes)
        .map(|(process, clock)| {
            let anchors = process.trace.anchors.last();
            anchors.map_or(0, |anchor| {
                clock.global(Timestamp::from_ticks(anchor.ticks.get())).ns()
            })
        });
    let mut layers = layers(run);
    tell_opaque(sources, &mut layers);
    let has_messages = layers
        .get(collbench_formats::Layer::Messages.name())
        .is_some_and(|layer| layer.on);
    TraceSummary {
        directory: run.directory.to_string_lossy().into_owned(),
        command: inert::cut_all(&run.command, MAX_COMMAND),
        mpi_library: mpi_library(&first.mpi),
        ranks: run.world_size,
        hosts,
        calls: tally.n_calls,
        messages: has_messages.then_some(sources.irregularities.n_messages),
        message_ends: has_messages.then(|| message_ends(sources)),
        bytes: tally.n_bytes,
        duration_ns: end_anchors.max().unwrap_or(0).max(tally.end_ns),
        complete: damage.is_empty(),
        layers,
        damage,
        window: window_summary(sources),
    }
}

fn message_ends(sources: &Sources<'_>) -> MessageEnds {
    let inside = &sources.tally.counts.messages;
    let all = &sources.irregularities;
    let sends = inside.n_paired + inside.n_unpaired_sends + inside.n_foreign_sends;
    let receives = inside.n_paired + inside.n_unpaired_receives + inside.n_foreign_receives;
    MessageEnds {
        paired: inside.n_paired,
        from_any: inside.n_from_any,
        received_before_sent: inside.n_before_sent,
        unpaired_sends: inside.n_unpaired_sends,
        unpaired_receives: inside.n_unpaired_receives,
        sends_to_other_groups: inside.n_foreign_sends,
        receives_from_other_groups: inside.n_foreign_receives,
        sends_elsewhere: all.n_messages.saturating_sub(sends),
        receives_elsewhere: all.n_receives.saturating_sub(receives),
    }
}

/// What rings have kept; of ranks without one nothing is said.
fn window_summary(sources: &Sources<'_>) -> Option<WindowSummary> {
    let processes = sources.run.processes.iter().zip(&sources.clocks.processes);
    let windows = processes.filter_map(|(process, clock)| {
        let window = process.trace.window?;
        let at = |ticks| clock.global(Timestamp::from_ticks(ticks)).ns();
        let kept = RankWindow {
            rank: process.rank(),
            from_ns: window.is_cut().then(|| at(window.begin_ticks)),
            records_dropped: window
                .n_records_overwritten
                .saturating_add(window.n_records_before),
            calls_dropped: window.n_calls_dropped,
            calls_made: window.n_calls_dropped.saturating_add(window.n_calls_kept),
        };
        Some((window.keep_bytes, kept))
    });
    let (sizes, ranks): (Vec<u64>, Vec<RankWindow>) = windows.unzip();
    let sum = |of: &dyn Fn(&RankWindow) -> u64| ranks.iter().map(of).fold(0, u64::saturating_add);
    Some(WindowSummary {
        keep_bytes: sizes.into_iter().max()?,
        from_ns: ranks.iter().filter_map(|rank| rank.from_ns).max(),
        records_dropped: sum(&|rank| rank.records_dropped),
        calls_dropped: sum(&|rank| rank.calls_dropped),
        calls_made: sum(&|rank| rank.calls_made),
        instances_cut: sources.tally.counts.cut,
        calls_of_cut: sources.tally.counts.calls_of_cut,
        ranks,
    })
}

/// Messages that a recorder looked for, and that a library exchanges where none can see them, were not
/// recorded. Where nobody had asked for them that is all there is to say of it.
fn tell_opaque(sources: &Sources<'_>, layers: &mut BTreeMap<String, Layer>) {
    let tallies = sources.tally.operations().map(|(_, tally)| &tally.inside);
    let n_opaque: u64 = tallies.flatten().map(|inside| inside.n_opaque).sum();
    if let Some(layer) = layers.get_mut(collbench_formats::Layer::Messages.name())
        && layer.on
        && n_opaque > 0
        && sources.irregularities.n_messages == 0
    {
        *layer = Layer {
            on: false,
            reason: Some(format!(
                "looked for, but none was seen in {}: the MPI library exchanges data there in a way \
                 that cannot be seen (shared memory, say)",
                quantity::counted(n_opaque, "collective"),
            )),
        };
    }
}

fn layers(run: &Run<'_>) -> BTreeMap<String, Layer> {
    let mut layers: BTreeMap<String, Layer> = BTreeMap::new();
    for layer in run.processes.iter().flat_map(|p| &p.trace.identity.layers) {
        let reason = (!layer.on).then(|| layer.reason.clone());
        let merged = layers.entry(layer.name.clone()).or_insert(Layer {
            on: layer.on,
            reason: reason.clone(),
        });
        if merged.on && !layer.on {
            *merged = Layer { on: false, reason };
        }
    }
    for layer in collbench_formats::Layer::ALL {
        layers
            .entry(layer.name().to_owned())
            .or_insert_with(|| Layer {
                on: false,
                reason: Some("not known to the recorder".to_owned()),
            });
    }
    layers
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
                    CommunicatorKind::Intra => "intra",
                    CommunicatorKind::Inter => "inter",
                },
                size: entry.size,
                ranks: entry.ranks.clone(),
                groups: (entry.kind == CommunicatorKind::Inter)
                    .then(|| [first.to_vec(), second.to_vec()]),
            }
        })
        .collect()
}

fn totals(tally: &Sums) -> BTreeMap<&'static str, Total> {
    let mut totals: BTreeMap<&'static str, Total> = BTreeMap::new();
    for (key, operation) in tally.operations() {
        let total = totals.entry(key.operation.name()).or_default();
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
            let mut calls_by_operation: BTreeMap<&'static str, u64> = BTreeMap::new();
            let mut calls_by_class = BTreeMap::new();
            for &((operation, scope), n) in &tally.by_class {
                *calls_by_operation.entry(operation.name()).or_default() += n;
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

fn imbalance(sources: &Sources<'_>) -> Vec<ImbalanceSummary> {
    let Sources {
        run,
        clocks,
        communicators,
        tally,
        ..
    } = sources;
    let collectives_ns = sum_ns(tally.processes.iter().map(|process| process.call_ns));
    let n_judged = tally.n_judged();
    let host_of = |process: usize| clocks.processes[process].host;
    let mut summaries: Vec<ImbalanceSummary> = tally
        .lateness
        .iter()
        .map(|(&(entry, operation), lateness)| {
            let verdict = Verdict::reach(lateness, &host_of, collectives_ns, n_judged);
            let rank_at = |position: usize| {
                let process = lateness.members[position].process?;
                Some(run.processes[process].rank())
            };
            let name = |vertex: &Vertex| match vertex {
                Vertex::Communicator => communicators.entries[entry].name.clone(),
                Vertex::Host(host) => format!("host {}", clocks.hosts[*host].name),
                Vertex::Process(position) => {
                    rank_at(*position).map_or_else(String::new, |rank| format!("rank {rank}"))
                }
            };
            let is_resolved = lateness.resolved > 0;
            let path = [Vertex::Communicator];
            ImbalanceSummary {
                communicator: entry,
                operation: operation.name(),
                path: path.iter().chain(&verdict.path).map(name).collect(),
                culprit: verdict.culprit.and_then(|vertex| match vertex {
                    Vertex::Communicator => None,
                    Vertex::Host(host) => Some(Culprit::Host(clocks.hosts[host].name.clone())),
                    Vertex::Process(position) => rank_at(position).map(Culprit::Rank),
                }),
                share: verdict.share,
                wait_caused_ns: is_resolved.then_some(verdict.caused_ns),
                excess_ns: is_resolved.then_some(verdict.excess_ns),
                dearest: dearest(run, lateness),
                hosts: hosts(run, clocks, lateness).into(),
                all_waits_caused_ns: sum_ns(lateness.members.iter().map(|m| m.caused_ns)),
                instances: lateness.instances,
                resolved: lateness.resolved,
                sections: lateness_sections(sources, lateness).into(),
                change: change(sources, lateness, collectives_ns, n_judged),
            }
        })
        .collect();
    summaries.sort_by_key(|s| std::cmp::Reverse((s.culprit.is_some(), s.wait_caused_ns)));
    summaries
}

/// By host who came last, hosts in the order of their clocks, ranks in that of the communicator.
fn hosts(run: &Run<'_>, clocks: &Clocks, lateness: &Lateness) -> Vec<HostLateness> {
    let mut by_host: BTreeMap<usize, Vec<RankLateness>> = BTreeMap::new();
    for member in &lateness.members {
        if let Some(process) = member.process {
            let host = by_host.entry(clocks.processes[process].host).or_default();
            host.push(RankLateness {
                rank: run.processes[process].rank(),
                last: member.last,
                wait_caused_ns: member.caused_ns,
            });
        }
    }
    let hosts = by_host.into_iter().map(|(host, members)| HostLateness {
        host: clocks.hosts[host].name.clone(),
        ranks: members.len() as u64,
        last: members.iter().map(|member| member.last).sum(),
        wait_caused_ns: sum_ns(members.iter().map(|member| member.wait_caused_ns)),
        members,
    });
    hosts.collect()
}

/// The rank whose coming ended the most waiting; among equals the first.
fn dearest(run: &Run<'_>, lateness: &Lateness) -> Option<Dearest> {
    let known = lateness
        .members
        .iter()
        .filter(|member| member.caused_ns > 0);
    let dearest = known.rev().max_by_key(|member| member.caused_ns)?;
    Some(Dearest {
        rank: run.processes[dearest.process?].rank(),
        last: dearest.last,
        wait_caused_ns: dearest.caused_ns,
    })
}

/// What hung, and what of it (or of a run that went well by luck) is an error of the program.
fn of_the_end(sources: &Sources<'_>, hang: Option<&HangSummary>) -> Vec<Remark> {
    let tally = sources.tally;
    let mut remarks = Vec::new();
    if let Some(hang) = hang.filter(|hang| !hang.waiting.is_empty()) {
        remarks.push(Remark::Waiting {
            n_ranks: hang.waiting.len(),
        });
    }
    let n_of = |kind: MismatchKind| tally.mismatches.n_of(kind);
    let first = |is_of_sizes: bool| {
        let mut all = tally.mismatches.iter();
        all.position(|mismatch| (mismatch.kind == MismatchKind::Sizes) == is_of_sizes)
    };
    if let Some(first) = first(false) {
        remarks.push(Remark::Mismatched {
            n_instances: n_of(MismatchKind::Operations)
                + n_of(MismatchKind::Forms)
                + n_of(MismatchKind::Roots),
            first,
        });
    }
    if let Some(first) = first(true) {
        remarks.push(Remark::MismatchedSizes {
            n_instances: n_of(MismatchKind::Sizes),
            first,
        });
    }
    if tally.never_completed.iter().next().is_some() {
        remarks.push(Remark::NeverCompleted {
            n_calls: tally.never_completed.n_calls,
        });
    }
    remarks
}

fn remarks(
    sources: &Sources<'_>,
    (n_findings, window): (usize, Option<&WindowSummary>),
    pauses: &[(i64, i64)],
    hang: Option<&HangSummary>,
    exchanges: &Exchanges,
) -> Vec<Remark> {
    let Sources {
        run,
        clocks,
        communicators,
        tally,
        irregularities,
        ..
    } = sources;
    let counts = &tally.counts;
    let of_processes = irregularities.processes.iter();
    let impossible = of_processes.map(|process| process.impossible.n).sum();
    let mut remarks = Vec::new();
    let mut add = |applies: bool, remark: Remark| {
        if applies {
            remarks.push(remark);
        }
    };
    add(n_findings > 0, Remark::Incomplete { n_findings });
    for remark in of_the_end(sources, hang) {
        add(true, remark);
    }
    add(sources.is_restricted, Remark::Restricted);
    if let Some(window) = window {
        add(
            window.records_dropped > 0,
            Remark::Ring {
                n_calls: window.calls_made - window.calls_dropped,
                n_calls_made: window.calls_made,
                n_instances: window.instances_cut,
            },
        );
    }
    let (n_hosts, n_groups) = (clocks.hosts.len(), clocks.n_groups());
    add(
        n_groups > 1,
        Remark::ClocksNotAligned {
            n_hosts,
            n_groups,
            reason: exchanges.not_taken.clone(),
        },
    );
    if let Some(&rank) = exchanges.apart.iter().min() {
        let n_ranks = exchanges.apart.len();
        add(true, Remark::ClocksApart { n_ranks, rank });
    }
    if let Some(reason) = exchanges.ended.first().cloned() {
        let n_ranks = exchanges.ended.len();
        add(true, Remark::ExchangesEnded { n_ranks, reason });
    }
    let drifting = clocks.hosts.iter().filter(|host| {
        let own = host.alignment.as_ref();
        own.is_some_and(|own| own.drift_ppm.is_none())
    });
    let n_drifting = drifting.count();
    add(
        n_drifting > 0,
        Remark::DriftNotKnown {
            n_hosts: n_drifting,
        },
    );
    for host in &clocks.hosts {
        let name = host.name.clone();
        add(host.is_unscaled, Remark::ClockNotScaled { host: name });
    }
    // Generated traces are of no library, and name communicators all the same.
    let is_unknown = run.processes[0].trace.identity.mpi.abi == Abi::Unknown;
    add(
        is_unknown && counts.unknown_communicator > 0,
        Remark::UnknownAbi,
    );
    let found = run.remarks.iter().chain(&communicators.remarks);
    for remark in found.chain(&clocks.remarks) {
        add(true, remark.clone());
    }
    let with_calls = [
        (
            counts.unknown_communicator,
            Remark::UnknownCommunicator {
                n_calls: counts.unknown_communicator,
            },
        ),
        (
            counts.incomplete,
            Remark::IncompleteInstances {
                n_instances: counts.incomplete,
            },
        ),
        (
            impossible,
            Remark::ImpossibleStamps {
                n_calls: impossible,
            },
        ),
        (
            irregularities.n_sequence_conflicts,
            Remark::SequenceConflict {
                n_chunks: irregularities.n_sequence_conflicts,
            },
        ),
        (
            irregularities.n_unknown_records,
            Remark::UnknownRecords {
                n_records: irregularities.n_unknown_records,
            },
        ),
        (
            irregularities.n_stray_completions,
            Remark::StrayCompletions {
                n_completions: irregularities.n_stray_completions,
            },
        ),
        (
            irregularities.n_abandoned,
            Remark::AbandonedCalls {
                n_calls: irregularities.n_abandoned,
            },
        ),
        (
            counts.failed,
            Remark::FailedCalls {
                n_calls: counts.failed,
                n_instances: counts.failed_instances,
            },
        ),
        (
            counts.payload_unknown,
            Remark::PayloadUnknown {
                n_calls: counts.payload_unknown,
            },
        ),
        (
            counts.negative_core,
            Remark::NegativeCore {
                n_instances: counts.negative_core,
                n_of_one_clock: counts.negative_core_of_one_clock,
            },
        ),
        (
            counts.internal_calls,
            Remark::InternalCalls {
                n_calls: counts.internal_calls,
            },
        ),
    ];
    for (n, remark) in with_calls {
        add(n > 0, remark);
    }
    for remark in trees::remarks(sources, &message_ends(sources)) {
        add(true, remark);
    }
    let total_ns = sum_ns(pauses.iter().map(|(total, _)| *total));
    let longest_ns = pauses
        .iter()
        .map(|(_, longest)| *longest)
        .max()
        .unwrap_or(0);
    // A hundredth of the time of the processes, as for verdicts.
    let run_ns = tally.end_ns.saturating_mul(run.processes.len() as i64);
    let is_noticeable = total_ns.saturating_mul(100) > run_ns;
    add(
        is_noticeable,
        Remark::RecorderPauses {
            total_ns,
            longest_ns,
        },
    );
    remarks
}
