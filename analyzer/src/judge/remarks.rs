//! Decides which remarks to make on the quality of the data.

use std::collections::BTreeMap;

use collbench_formats::{Abi, Layer};
use collbench_stats::integers::{add_ns, sum_ns};

use crate::calls::running::RunningSummary;
use crate::judge::exchanges::Exchanges;
use crate::judge::inputs::Inputs;
use crate::judge::trees;
use crate::judge::trees::TooEarly;
use crate::remark::{Remark, UnrecordedAccess};
use crate::results::hang::HangSummary;
use crate::results::operation::OperationSummary;
use crate::results::trace::{MessageEndCounts, TraceSummary, WindowSummary};
use crate::selection::Selection;
use crate::sums::mismatch::MismatchKind;

/// What remarks are made from, besides the inputs.
pub(crate) struct RemarkFacts<'a> {
    pub(crate) trace: &'a TraceSummary,
    pub(crate) operations: &'a [OperationSummary],
    pub(crate) hang: Option<&'a HangSummary>,
    pub(crate) ends: &'a MessageEndCounts,
    /// The message received the most before it was sent.
    pub(crate) earliest: Option<TooEarly>,
    pub(crate) exchanges: &'a Exchanges,
    /// For each process the sum of the recorder's pauses, and the longest, ns.
    pub(crate) pauses: &'a [(i64, i64)],
    /// Whether ranks were on their cores, where that was recorded.
    pub(crate) running: Option<&'a [RunningSummary]>,
}

/// Fewest times that a rank lost its core, for each time that it left it, and in all.
const LOST_PER_LEFT: u64 = 10;
const MIN_LOST: u64 = 10;
/// Least part of its time that it was not on a core, in percent.
const MIN_OFF_CORE: i64 = 20;

/// All remarks, in the order in which they are shown.
pub(crate) fn remarks(inputs: &Inputs<'_>, found: &RemarkFacts<'_>) -> Vec<Remark> {
    let n_findings = found.trace.damage.len();
    let mut remarks = Vec::new();
    remarks.extend((n_findings > 0).then_some(Remark::Incomplete { n_findings }));
    remarks.extend(remarks_on_hangs(inputs, found.hang));
    let is_restricted = *inputs.selection != Selection::default();
    remarks.extend(is_restricted.then_some(Remark::Restricted));
    remarks.extend(found.trace.window.as_ref().and_then(ring));
    remarks.extend(remarks_on_clocks(inputs, found.exchanges));
    remarks.extend(unknown_abi(inputs));
    let known = inputs.run.remarks.iter();
    let known = known.chain(&inputs.communicators.remarks);
    remarks.extend(known.chain(&inputs.clocks.remarks).cloned());
    remarks.extend(remarks_on_calls(inputs));
    remarks.extend(trees::remarks(inputs, found.ends));
    remarks.extend(recorder_pauses(inputs, found.pauses));
    remarks.extend(cores_shared(found.running));
    remarks.extend(
        [true, false]
            .into_iter()
            .filter_map(|is_io| unrecorded_access(inputs, is_io)),
    );
    remarks.extend(trees::contradicted(found.operations));
    let earliest = found.earliest;
    remarks.extend(earliest.map(|of| trees::too_early_remark(inputs, of, found.ends)));
    remarks
}

/// Remarks on a hang, and on errors of the program that caused it, or that went unnoticed.
fn remarks_on_hangs(inputs: &Inputs<'_>, hang: Option<&HangSummary>) -> Vec<Remark> {
    let sums = inputs.sums;
    let mut remarks = Vec::new();
    if let Some(hang) = hang.filter(|hang| !hang.waiting.is_empty()) {
        remarks.push(Remark::Waiting {
            n_ranks: hang.waiting.len(),
        });
    }
    let n_of = |kind: MismatchKind| sums.mismatches.n_of(kind);
    let first = |is_of_sizes: bool| {
        let mut all = sums.mismatches.iter();
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
    if sums.never_completed.iter().next().is_some() {
        remarks.push(Remark::NeverCompleted {
            n_calls: sums.never_completed.n_calls,
        });
    }
    remarks
}

/// Remark if rings have overwritten older calls.
fn ring(window: &WindowSummary) -> Option<Remark> {
    (window.records_dropped > 0).then(|| Remark::Ring {
        n_calls: window.calls_made - window.calls_dropped,
        n_calls_made: window.calls_made,
        n_instances: window.instances_cut,
    })
}

/// Remarks on clocks that were not measured.
fn remarks_on_clocks(inputs: &Inputs<'_>, exchanges: &Exchanges) -> Vec<Remark> {
    let clocks = inputs.clocks;
    let mut remarks = Vec::new();
    let (n_hosts, n_groups) = (clocks.hosts.len(), clocks.n_groups());
    if n_groups > 1 {
        remarks.push(Remark::ClocksNotAligned {
            n_hosts,
            n_groups,
            reason: exchanges.not_taken.clone(),
        });
    }
    if let Some(&rank) = exchanges.apart.iter().min() {
        let n_ranks = exchanges.apart.len();
        remarks.push(Remark::ClocksApart { n_ranks, rank });
    }
    if let Some(reason) = exchanges.ended.first().cloned() {
        let n_ranks = exchanges.ended.len();
        remarks.push(Remark::ExchangesEnded { n_ranks, reason });
    }
    let drifting = clocks.hosts.iter().filter(|host| {
        let own = host.alignment.as_ref();
        own.is_some_and(|own| own.drift_ppm.is_none())
    });
    let n_hosts = drifting.count();
    if n_hosts > 0 {
        remarks.push(Remark::DriftNotKnown { n_hosts });
    }
    let unscaled = clocks.hosts.iter().filter(|host| host.is_unscaled);
    remarks.extend(unscaled.map(|host| Remark::ClockNotScaled {
        host: host.name.clone(),
    }));
    remarks
}

/// Remark if the recorder did not understand the library's handles.
fn unknown_abi(inputs: &Inputs<'_>) -> Option<Remark> {
    // Generated traces are of no library, and name communicators all the same.
    let abi = inputs.run.processes[0].trace.identity.mpi.abi;
    let n_calls = inputs.sums.counts.unknown_communicator;
    (abi == Abi::Unknown && n_calls > 0).then_some(Remark::UnknownAbi)
}

/// Remarks on calls, instances and records that are in no figure, or not in all.
fn remarks_on_calls(inputs: &Inputs<'_>) -> impl Iterator<Item = Remark> {
    let counts = &inputs.sums.counts;
    let found = &inputs.findings;
    let processes = found.processes.iter();
    let n_impossible = processes.map(|process| process.impossible.n).sum();
    let some = |n: u64, remark: fn(u64) -> Remark| (n > 0).then(|| remark(n));
    let remarks = [
        some(counts.unknown_communicator, |n_calls| {
            Remark::UnknownCommunicator { n_calls }
        }),
        some(counts.incomplete, |n_instances| {
            Remark::IncompleteInstances { n_instances }
        }),
        some(n_impossible, |n_calls| Remark::ImpossibleStamps { n_calls }),
        some(found.n_sequence_conflicts, |n_chunks| {
            Remark::SequenceConflict { n_chunks }
        }),
        some(found.n_unknown_records, |n_records| {
            Remark::UnknownRecords { n_records }
        }),
        some(found.n_stray_completions, |n_completions| {
            Remark::StrayCompletions { n_completions }
        }),
        some(found.n_abandoned, |n_calls| Remark::AbandonedCalls {
            n_calls,
        }),
        (counts.failed > 0).then_some(Remark::FailedCalls {
            n_calls: counts.failed,
            n_instances: counts.failed_instances,
        }),
        some(counts.payload_unknown, |n_calls| Remark::PayloadUnknown {
            n_calls,
        }),
        (counts.negative_core > 0).then_some(Remark::NegativeCore {
            n_instances: counts.negative_core,
            n_of_one_clock: counts.negative_core_of_one_clock,
        }),
        some(counts.internal_calls, |n_calls| Remark::InternalCalls {
            n_calls,
        }),
    ];
    remarks.into_iter().flatten()
}

/// Remark if ranks spent 1 % of their time or more in calls on files (`is_io`) or windows, and no rank
/// recorded them.
fn unrecorded_access(inputs: &Inputs<'_>, is_io: bool) -> Option<Remark> {
    let layer = if is_io { Layer::Io } else { Layer::Rma };
    let processes = &inputs.run.processes;
    if processes.iter().any(|process| process.has_layer(layer)) {
        return None;
    }
    let all = || inputs.findings.processes.iter().map(|found| found.besides);
    let total_ns = sum_ns(all().map(|of| if is_io { of.io_ns } else { of.rma_ns }));
    let n_calls = all().map(|of| {
        if is_io {
            of.n_unrecorded_io
        } else {
            of.n_unrecorded_rma
        }
    });
    let run_ns = i128::from(inputs.sums.end_ns) * processes.len() as i128;
    let percent = i128::from(total_ns) * 100 / run_ns.max(1);
    let percent = u64::try_from(percent).ok().filter(|&percent| percent > 0)?;
    Some(Remark::UnrecordedAccess(UnrecordedAccess {
        is_io,
        n_calls: n_calls.sum(),
        total_ns,
        // Several threads of a rank may spend more than its time.
        percent: percent.min(100),
    }))
}

/// Remark if the recorder's pauses are more than 1 % of the time of all processes, the limit of
/// verdicts.
fn recorder_pauses(inputs: &Inputs<'_>, pauses: &[(i64, i64)]) -> Option<Remark> {
    let total_ns = sum_ns(pauses.iter().map(|(total, _)| *total));
    let longest = pauses.iter().map(|(_, longest)| *longest).max();
    let n_processes = inputs.run.processes.len() as i64;
    let run_ns = inputs.sums.end_ns.saturating_mul(n_processes);
    let is_noticeable = total_ns.saturating_mul(100) > run_ns;
    is_noticeable.then_some(Remark::RecorderPauses {
        total_ns,
        longest_ns: longest.unwrap_or(0),
    })
}

/// What a rank did in all its samples.
#[derive(Default)]
struct OnCore {
    elapsed_ns: i64,
    on_core_ns: i64,
    n_left: u64,
    n_lost: u64,
}

/// Ranks that hardly ever left their cores by themselves, and yet were off them for much of the
/// time: other threads got these, so more threads than cores could run.
fn cores_shared(running: Option<&[RunningSummary]>) -> Option<Remark> {
    let mut by_rank: BTreeMap<u32, OnCore> = BTreeMap::new();
    for sum in running? {
        let rank = by_rank.entry(sum.rank).or_default();
        add_ns(&mut rank.elapsed_ns, sum.elapsed_ns);
        add_ns(&mut rank.on_core_ns, sum.on_core_ns.min(sum.elapsed_ns));
        rank.n_left += sum.blocked;
        rank.n_lost += sum.preempted;
    }
    by_rank.retain(|_, rank| {
        let off_ns = rank.elapsed_ns - rank.on_core_ns;
        rank.n_lost >= MIN_LOST.max(rank.n_left.saturating_mul(LOST_PER_LEFT))
            && off_ns.saturating_mul(100) >= rank.elapsed_ns.saturating_mul(MIN_OFF_CORE)
    });
    (!by_rank.is_empty()).then(|| Remark::CoresShared {
        ranks: by_rank.keys().copied().collect(),
        elapsed_ns: sum_ns(by_rank.values().map(|rank| rank.elapsed_ns)),
        on_core_ns: sum_ns(by_rank.values().map(|rank| rank.on_core_ns)),
        n_lost: by_rank.values().map(|rank| rank.n_lost).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(rank: u32, on_core_ns: i64, blocked: u64, preempted: u64) -> RunningSummary {
        RunningSummary {
            rank,
            communicator: Some(0),
            operation: "MPI_Barrier".into(),
            place: "inside".into(),
            samples: 50,
            elapsed_ns: 1_000,
            on_core_ns,
            blocked,
            preempted,
        }
    }

    #[test]
    fn ranks_share_cores_that_others_get_while_they_could_go_on() {
        let samples = [
            sum(0, 990, 0, 30),
            sum(1, 400, 1, 30),
            // Both of one rank.
            sum(2, 700, 0, 30),
            sum(2, 700, 5, 30),
            // It sleeps, and was hardly ever interrupted.
            sum(3, 400, 50, 30),
            sum(4, 400, 0, 9),
        ];
        let found = Remark::CoresShared {
            ranks: vec![1, 2],
            elapsed_ns: 3_000,
            on_core_ns: 1_800,
            n_lost: 90,
        };
        assert_eq!(cores_shared(Some(&samples)), Some(found));
        assert_eq!(cores_shared(Some(&samples[..1])), None);
        assert_eq!(cores_shared(None), None);
    }
}
