//! State of a run when its trace ended: which collectives were unfinished, who waited in them for
//! whom, and the last activity of those who never arrived.
//!
//! Only what is known is reported. A process without a file, or whose recording ended earlier, is
//! not called absent: it is unknown where it was.

use collbench_formats::{Damage, Operation};

use crate::calls::findings::{InFlight, ProcessFindings};
use crate::calls::last_seen::{LastCall, LastSeen};
use crate::judge::inputs::Inputs;
use crate::results::hang::{
    HangSummary, LastCallSummary, MismatchSummary, MismatchedCallSummary, NeverCompletedSummary,
    RankEndSummary, RankState, UnfinishedSummary,
};
use crate::sums::mismatch::Mismatch;
use crate::sums::unfinished::{Absent, Unfinished, Waiter};
use crate::trace::rank_file::RankFile;
use crate::trace::record_at::CallOrder;

mod cycles;

/// Unfinished instances that are listed one by one.
const MAX_INSTANCES: usize = 4096;

/// Where one process was at the end.
#[derive(Debug)]
struct ProcessAtEnd<'a> {
    rank: u32,
    state: RankState,
    last_seen_ns: i64,
    /// The latest that is known of any rank whose clock can be compared, ns.
    end_ns: i64,
    in_flight: &'a [InFlight],
    returned: Option<LastCall>,
    /// Number of the place in the program from which it made the call that it was in.
    site: Option<u32>,
    /// Indexes of the instances that it was inside of.
    instances: Vec<usize>,
}

/// One unfinished instance, with what the ends of the files show.
#[derive(Debug)]
struct UnfinishedAtEnd<'a> {
    of: &'a Unfinished,
    inside: Vec<Waiter>,
    never_came: Vec<Absent>,
    unknown: Vec<u32>,
}

/// Everything that was under way when the trace ended.
pub(crate) struct Hang<'a> {
    inputs: &'a Inputs<'a>,
    /// By process of the run; empty where nothing is missing in it.
    processes_at_end: Vec<ProcessAtEnd<'a>>,
    /// In the order of the results.
    instances: Vec<UnfinishedAtEnd<'a>>,
}

impl<'a> Hang<'a> {
    pub(crate) fn of(inputs: &'a Inputs<'a>) -> Self {
        let mut this = Self {
            inputs,
            processes_at_end: processes_at_end(inputs),
            instances: Vec::new(),
        };
        let unfinished = inputs.sums.unfinished.iter().take(MAX_INSTANCES);
        this.instances = unfinished.map(|of| this.at_end(of)).collect();
        this.instances
            .retain(|instance| !(instance.inside.is_empty() && instance.of.begun.is_empty()));
        this.instances.sort_by_cached_key(|instance| {
            let of = instance.of;
            let inside: Vec<u32> = instance.inside.iter().map(|waiter| waiter.rank).collect();
            (of.entry, of.call_order, of.sequence, inside)
        });
        for (index, instance) in this.instances.iter().enumerate() {
            for waiter in &instance.inside {
                if let Some(ending) = this.processes_at_end.get_mut(waiter.process) {
                    ending.instances.push(index);
                }
            }
        }
        this
    }

    fn at_end(&self, of: &'a Unfinished) -> UnfinishedAtEnd<'a> {
        // A call that never returned, though its thread made later calls, is not waiting.
        let is_in_it = |waiter: &&Waiter| {
            self.processes_at_end
                .get(waiter.process)
                .is_none_or(|ending| {
                    let mut in_flight = ending.in_flight.iter();
                    in_flight.any(|call| call.enter == waiter.since)
                })
        };
        let inside: Vec<Waiter> = of.inside.iter().filter(is_in_it).copied().collect();
        let strays = of.inside.iter().filter(|waiter| !is_in_it(waiter));
        let mut unknown: Vec<u32> = strays.map(|waiter| waiter.rank).collect();
        let is_known = |absent: &&Absent| {
            let ending = self.processes_at_end.get(absent.process);
            !absent.is_lost && ending.is_none_or(ProcessAtEnd::is_known)
        };
        let never_came = of.absent.iter().filter(is_known).copied().collect();
        let others = of.absent.iter().filter(|absent| !is_known(absent));
        unknown.extend(others.map(|absent| absent.rank));
        unknown.sort_unstable();
        UnfinishedAtEnd {
            of,
            inside,
            never_came,
            unknown,
        }
    }

    /// Id of the place in the program from which a process made the call that it was in.
    fn site_of(&self, waiter: &Waiter) -> Option<usize> {
        let site = self.processes_at_end.get(waiter.process)?.site?;
        Some(site as usize)
    }

    /// The instances that someone was in at the end, by communicator and position.
    pub(crate) fn unfinished(&self) -> Vec<UnfinishedSummary> {
        self.instances
            .iter()
            .map(|instance| UnfinishedSummary {
                site: instance
                    .inside
                    .iter()
                    .find_map(|waiter| self.site_of(waiter)),
                ..instance.summary()
            })
            .collect()
    }

    /// The state at the end; `None` where nothing is missing in the run.
    pub(crate) fn summary(&self) -> Option<HangSummary> {
        if self.processes_at_end.is_empty() {
            return None;
        }
        let cycles = cycles::cycles(self);
        let waiting = self
            .processes_at_end
            .iter()
            .filter(|ending| ending.state == RankState::Waiting);
        let ends = self.processes_at_end.iter().map(|ending| ending.end_ns);
        let in_library = self.processes_at_end.iter().filter(|ending| {
            let call = ending.in_flight.first();
            call.is_some_and(|call| call.is_internal)
        });
        Some(HangSummary {
            end_ns: ends.clone().max().unwrap_or(0),
            waiting: waiting.map(|ending| ending.rank).collect(),
            known_to_ns: ends.collect(),
            in_library: in_library.map(|ending| ending.rank).collect(),
            cycles: cycles.iter().map(|cycle| cycle.summary(self)).collect(),
            ranks: self
                .processes_at_end
                .iter()
                .map(|e| e.summary(self.inputs))
                .collect(),
        })
    }
}

impl UnfinishedAtEnd<'_> {
    fn is_persistent(&self) -> bool {
        matches!(self.of.call_order, CallOrder::Persistent(_))
    }

    fn summary(&self) -> UnfinishedSummary {
        let of = self.of;
        let since = |waiters: &[Waiter]| waiters.iter().map(|waiter| waiter.since.ns()).collect();
        let ranks = |waiters: &[Waiter]| waiters.iter().map(|waiter| waiter.rank).collect();
        UnfinishedSummary {
            operations: of.operations.iter().map(|op| op.name().into()).collect(),
            communicator: of.entry,
            sequence: of.sequence,
            persistent: self.is_persistent(),
            internal: of.call_order == CallOrder::Internal,
            roots: of.roots.clone(),
            bytes_min: of.bytes.map(|(least, _)| least),
            bytes_max: of.bytes.map(|(_, greatest)| greatest),
            inside: ranks(&self.inside),
            inside_since_ns: since(&self.inside),
            completing: of
                .completing
                .iter()
                .map(|call| call.name().into())
                .collect(),
            begun: ranks(&of.begun),
            begun_since_ns: since(&of.begun),
            left: of.left.clone(),
            never_came: self.never_came.iter().map(|absent| absent.rank).collect(),
            unknown: self.unknown.clone(),
            no_file: of.n_unknown,
            site: None,
        }
    }
}

impl ProcessAtEnd<'_> {
    /// Whether its file is complete up to its end.
    fn is_known(&self) -> bool {
        !matches!(self.state, RankState::NotRecorded | RankState::Damaged)
    }

    fn summary(&self, inputs: &Inputs<'_>) -> RankEndSummary {
        let entry = |index: usize| inputs.communicators.list[index].entry;
        let site = self.site.map(|site| site as usize);
        let in_flight = self.in_flight.first().map(|call| LastCallSummary {
            operation: Some(call.operation.name().into()),
            completing: call.completing.map(|call| call.name().into()),
            communicator: call.communicator.map(entry),
            sequence: call.sequence,
            persistent: matches!(call.call_order, Some(CallOrder::Persistent(_))),
            enter_ns: call.enter.ns(),
            leave_ns: None,
            site,
        });
        let returned = self.returned.map(|call| LastCallSummary {
            operation: call.operation.map(|operation| operation.name().into()),
            completing: call.completing.map(|call| call.name().into()),
            communicator: call.communicator.map(entry),
            sequence: call.sequence,
            persistent: call.is_persistent,
            enter_ns: call.enter.ns(),
            leave_ns: Some(call.leave.ns()),
            site: None,
        });
        RankEndSummary {
            rank: self.rank,
            state: self.state,
            last_seen_ns: self.last_seen_ns,
            unfinished: self.instances.clone(),
            last_call: in_flight.or(returned),
            site,
        }
    }
}

/// Where each process was; nothing where nothing is missing.
fn processes_at_end<'a>(inputs: &'a Inputs<'_>) -> Vec<ProcessAtEnd<'a>> {
    let clocks = inputs.clocks;
    let group_of = |process: usize| clocks.hosts[clocks.processes[process].host].group;
    let found = &inputs.findings.processes;
    let mut end_ns = vec![i64::MIN; clocks.n_groups()];
    for (process, found) in found.iter().enumerate() {
        let Some(last) = &found.last else {
            return Vec::new();
        };
        let end = &mut end_ns[group_of(process)];
        *end = (*end).max(last.at.ns());
    }
    let files = inputs.run.processes.iter().enumerate();
    let processes_at_end = files.filter_map(|(process, file)| {
        let found = found.get(process)?;
        let last = found.last.as_ref()?;
        Some(ProcessAtEnd {
            rank: file.rank(),
            state: state(file, found, last),
            last_seen_ns: last.at.ns(),
            end_ns: end_ns[group_of(process)],
            in_flight: &found.in_flight,
            returned: last.returned,
            site: found.site_in_flight.filter(|_| !found.in_flight.is_empty()),
            instances: Vec::new(),
        })
    });
    processes_at_end.collect()
}

fn state(file: &RankFile<'_>, found: &ProcessFindings, last: &LastSeen) -> RankState {
    let in_flight = &found.in_flight;
    let is_in = |operation| in_flight.iter().any(|call| call.operation == operation);
    if is_in(Operation::Abort) {
        return RankState::InAbort;
    }
    if is_in(Operation::Finalize) || is_in(Operation::SessionFinalize) {
        return RankState::InFinalize;
    }
    let damage = &file.trace.damage;
    let has_stopped = |found: &Damage| matches!(found, Damage::StoppedEarly { .. });
    if damage.iter().any(has_stopped) {
        return RankState::NotRecorded;
    }
    let has_ended_mpi = last.returned.is_some_and(|call| {
        matches!(
            call.operation,
            Some(Operation::Finalize | Operation::SessionFinalize)
        )
    });
    let hides_the_end = |found| hides_the_end(file, found, has_ended_mpi);
    if found.n_sequence_conflicts > 0 || damage.iter().any(hides_the_end) {
        return RankState::Damaged;
    }
    let has_finished = has_ended_mpi || file.trace.header.finalized.get() != 0;
    match (in_flight.is_empty(), has_finished) {
        (false, _) => RankState::Waiting,
        (true, false) => RankState::Outside,
        (true, true) => RankState::Finished,
    }
}

/// Whether calls may be missing that the process began after all that are there.
fn hides_the_end(file: &RankFile<'_>, found: &Damage, has_ended_mpi: bool) -> bool {
    let chunks = &file.trace.chunks;
    let is_single_threaded = chunks
        .windows(2)
        .all(|pair| pair[0].thread == pair[1].thread);
    match found {
        Damage::NotFinalized
        | Damage::StoppedEarly { .. }
        | Damage::MissingChunk { .. }
        | Damage::Definition { .. } => false,
        // A recorder that was killed after it had cut its file to size.
        Damage::Cut { .. } if has_ended_mpi && is_single_threaded => false,
        // Behind a chunk that is lost the next one says how many calls there were.
        Damage::NotAChunk { offset, .. } => {
            let last = chunks.last().map(|chunk| chunk.offset);
            let is_ring = file.trace.window.is_some();
            is_ring || !is_single_threaded || last.is_none_or(|last| last < *offset)
        }
        _ => true,
    }
}

/// The mismatches that are kept.
pub(crate) fn mismatches(inputs: &Inputs<'_>) -> Vec<MismatchSummary> {
    let all = inputs.sums.mismatches.iter();
    all.map(|mismatch| mismatch_summary(inputs, mismatch))
        .collect()
}

fn mismatch_summary(inputs: &Inputs<'_>, mismatch: &Mismatch) -> MismatchSummary {
    let is_damaged = |process: &usize| {
        let damage = inputs.run.processes[*process].trace.damage.iter();
        let mut damage = damage
            .filter(|found| !matches!(found, Damage::NotFinalized | Damage::StoppedEarly { .. }));
        damage.next().is_some()
    };
    MismatchSummary {
        kind: mismatch.kind.name().into(),
        communicator: mismatch.entry,
        sequence: mismatch.sequence,
        persistent: mismatch.is_persistent,
        went_through: mismatch.went_through,
        damaged: mismatch.processes.iter().any(is_damaged),
        calls: mismatch
            .calls
            .iter()
            .map(|call| MismatchedCallSummary {
                operation: call.operation.name().into(),
                root: call.root,
                bytes: call.bytes,
                ranks: call.ranks.clone(),
            })
            .collect(),
    }
}

/// What was never completed, as far as it is kept.
pub(crate) fn never_completed(inputs: &Inputs<'_>) -> Vec<NeverCompletedSummary> {
    let all = inputs.sums.never_completed.iter();
    all.map(|found| NeverCompletedSummary {
        operation: found.operation.name().into(),
        communicator: found.entry,
        sequence: found.sequence,
        persistent: found.is_persistent,
        ranks: found.ranks.clone(),
    })
    .collect()
}
