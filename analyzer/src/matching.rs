//! Calls of all processes to instances: the same collective across its communicator.
//!
//! Never by time. The n-th call of each member on a communicator is the n-th instance of it; the
//! application orders the calls of a process on one communicator, also between threads, so that
//! their order is that of their begin. Three *lanes* have an order of their own: the calls of
//! the application, those that the MPI library makes on its own behalf, and the making of the
//! communicator itself where that is collective over a group only (`MPI_Comm_create_group`).
//!
//! Everything is streamed. Processes are not read in step but on demand: the process pulled is
//! always one that the oldest unfinished instance waits for. So the window of unfinished
//! instances stays small even where the ranks ran far apart in time, as the leaves of a reduce
//! do. A road not taken is to merge all processes by time: it needs aligned clocks, and holds
//! all that the slowest rank has not reached.

use std::collections::VecDeque;

use collbench_formats::{Operation, RecordKind, Semantics, SequenceEntry, UNKNOWN_COMMUNICATOR};

use crate::calls::{CallStream, Step};
use crate::clock::{Clocks, Global, RankClock, Timestamp};
use crate::communicators::{Communicator, Communicators};
use crate::progress::Progress;
use crate::run::Run;
use crate::stamps::{ImpossibleStamps, StampLimits};

/// One call of one process, on the time of the analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    /// What was called.
    pub operation: Operation,
    /// Root as recorded: see `collbench_formats::Record::root`.
    pub root: i32,
    /// Time of entering.
    pub enter: Timestamp<Global>,
    /// Time of leaving; `None` for a call under way at the end of its file.
    pub leave: Option<Timestamp<Global>>,
    /// Payload in bytes; `None` where the recorder could not tell.
    pub payload: Option<u64>,
    /// Whether it returned an error code.
    pub has_failed: bool,
    /// Whether its times can be true. Where not, they are a guess (it left when it entered), its
    /// instance is not complete, and no figure counts them.
    pub is_timed: bool,
}

impl Call {
    /// Leave minus enter, ns; 0 for a call under way.
    #[must_use]
    pub fn time_ns(&self) -> i64 {
        self.leave.map_or(0, |leave| leave.ns() - self.enter.ns())
    }
}

/// Which order of calls on a communicator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lane {
    /// Calls of the application.
    Application,
    /// Calls of the MPI library on its own behalf.
    Internal,
    /// The making of the communicator, collective over its members only.
    Creation,
}

const LANES: [Lane; 3] = [Lane::Application, Lane::Internal, Lane::Creation];

/// The calls of an instance, or what there is of them.
#[derive(Debug, Clone, Copy)]
pub struct Instance<'m> {
    /// Its processes.
    pub communicator: &'m Communicator,
    /// Index of that in [`Communicators::list`].
    pub communicator_index: usize,
    /// Which order of calls it stands in.
    pub lane: Lane,
    /// Position in that order, from 0.
    pub position: u64,
    /// For each slot of the communicator its call; `None`: it never came.
    pub calls: &'m [Option<Call>],
    /// For creations: index in [`Communicators::list`] of the one called on, by any member.
    pub called_on: Option<usize>,
}

impl Instance<'_> {
    /// Whether every process of the communicator came, and left, at known times.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.communicator.is_whole
            && self
                .calls
                .iter()
                .all(|call| call.is_some_and(|call| call.leave.is_some() && call.is_timed))
    }
}

/// What matching hands on.
#[derive(Debug)]
pub enum Matched<'m> {
    /// An instance, complete or not, once no more calls of it can come.
    Instance(Instance<'m>),
    /// A call that is in no instance: its communicator is not known, or (for constructors over a
    /// group) the one that it was to make.
    Unmatched {
        /// Index of the process in the run.
        process: usize,
        /// Index in [`Communicators::list`] of the communicator called on.
        called_on: Option<usize>,
        /// The call.
        call: Call,
        /// Whether the MPI library made it on its own behalf.
        is_internal: bool,
    },
    /// The begin or end of MPI in a process.
    Process {
        /// The call.
        call: Call,
    },
    /// A call that was under way when the file ended, besides its part in an instance.
    InFlight(InFlight),
}

/// A call that was under way when the file of its process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// Index of the process in the run.
    pub process: usize,
    /// What was called.
    pub operation: Operation,
    /// Index in [`Communicators::list`].
    pub communicator: Option<usize>,
    /// Position among the calls on it.
    pub sequence: Option<u64>,
}

/// What matching met that does not fit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Irregularities {
    /// Records of a kind or an operation that this version does not know.
    pub n_unknown_records: u64,
    /// Chunks whose sequence table says fewer calls than were found before them.
    pub n_sequence_conflicts: u64,
    /// Calls that never returned, but were not the last of their thread.
    pub n_abandoned: u64,
    /// Most unfinished instances at any time.
    pub largest_window: usize,
    /// By process of the run.
    pub processes: Vec<ProcessDamage>,
}

/// Damage that only reading the records of a process finds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessDamage {
    /// Records whose time stamps cannot be true.
    pub impossible: ImpossibleStamps,
    /// Calls on communicators that the file does not define.
    pub n_undefined: u64,
    /// Index of the first of those communicators.
    pub first_undefined: u32,
}

/// Matches all calls of a run, and hands each instance on when it is finished.
///
/// `report` is called now and then.
pub fn match_calls(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    report: &mut dyn FnMut(Progress),
    sink: &mut dyn FnMut(Matched<'_>),
) -> Irregularities {
    let limits = StampLimits::of_run(run, clocks);
    let mut matcher = Matcher {
        communicators,
        processes: run
            .processes
            .iter()
            .enumerate()
            .map(|(process, rank_file)| Process {
                stream: CallStream::new(&rank_file.trace.chunks, limits[process]),
                clock: clocks.processes[process].clone(),
                counters: vec![[0, 0]; communicators.bindings[process].len()],
                has_ended: false,
                n_undefined: 0,
                first_undefined: 0,
            })
            .collect(),
        lanes: Vec::new(),
        tickets: VecDeque::new(),
        spare: Vec::new(),
        n_pending: 0,
        irregularities: Irregularities::default(),
        sink,
    };
    matcher
        .lanes
        .resize_with(communicators.list.len() * LANES.len(), || None);
    let n_total = run.n_records();
    let (mut n_done, mut next_report) = (0, 0);
    while let Some(process) = matcher.most_behind() {
        n_done += matcher.pull(process);
        if n_done >= next_report {
            report(Progress { n_done, n_total });
            next_report = n_done + (1 << 18);
        }
    }
    report(Progress { n_done, n_total });
    let processes = matcher.processes.iter();
    matcher.irregularities.processes = processes
        .map(|process| ProcessDamage {
            impossible: process.stream.impossible(),
            n_undefined: process.n_undefined,
            first_undefined: process.first_undefined,
        })
        .collect();
    matcher.irregularities
}

/// How many records are taken from a process before another is considered: enough that going
/// from one to the next costs little, few enough that the window stays small.
const BATCH: u64 = 64;

struct Matcher<'a, 's> {
    communicators: &'a Communicators,
    processes: Vec<Process<'a>>,
    /// Three for each communicator, made when first used.
    lanes: Vec<Option<Box<LaneState>>>,
    /// Instances in the order in which their first call was met; some are finished already.
    tickets: VecDeque<Ticket>,
    /// Lists of calls to be used again.
    spare: Vec<Vec<Option<Call>>>,
    n_pending: usize,
    irregularities: Irregularities,
    sink: &'s mut dyn FnMut(Matched<'_>),
}

struct Process<'a> {
    stream: CallStream<'a>,
    clock: RankClock,
    /// For each binding: calls of the application and of the library so far.
    counters: Vec<[u64; 2]>,
    has_ended: bool,
    n_undefined: u64,
    first_undefined: u32,
}

/// The unfinished instances of one lane.
struct LaneState {
    /// For each slot the position of its next call; `u64::MAX` once its file has ended.
    next: Vec<u64>,
    /// By position, ascending.
    pending: VecDeque<Pending>,
    /// How many slots may still have a call in the first of `pending`.
    n_behind: usize,
}

struct Pending {
    position: u64,
    calls: Vec<Option<Call>>,
    called_on: Option<usize>,
}

struct Ticket {
    lane: usize,
    position: u64,
    /// Slots before this one have passed the position.
    slot: usize,
}

impl Matcher<'_, '_> {
    /// The process that the oldest unfinished instance waits for; without one, the first that
    /// has not ended. `None` at the end of all.
    fn most_behind(&mut self) -> Option<usize> {
        while let Some(ticket) = self.tickets.front_mut() {
            let lane = self.lanes[ticket.lane].as_ref();
            let waiting = lane.and_then(|lane| {
                let first = lane.pending.front()?;
                let ahead = lane.next[ticket.slot..].iter();
                let passed = ahead.take_while(|&&next| next > ticket.position).count();
                ticket.slot += passed;
                (first.position <= ticket.position && ticket.slot < lane.next.len())
                    .then_some(ticket.slot)
            });
            match waiting {
                Some(slot) => {
                    let communicator = &self.communicators.list[ticket.lane / LANES.len()];
                    return Some(communicator.members[slot].process);
                }
                None => self.tickets.pop_front(),
            };
        }
        self.processes.iter().position(|process| !process.has_ended)
    }

    /// Takes the next records of a process; gives how many.
    fn pull(&mut self, process: usize) -> u64 {
        for n in 0..BATCH {
            let Some(step) = self.processes[process].stream.next() else {
                self.end_process(process);
                return n;
            };
            if let Some(chunk) = step.chunk {
                self.check_sequences(process, chunk.sequences, chunk.is_behind_gap);
            }
            self.take(process, &step);
        }
        BATCH
    }

    fn take(&mut self, process: usize, step: &Step<'_>) {
        let record = step.record;
        if matches!(
            record.kind(),
            Some(RecordKind::Completion | RecordKind::Phase)
        ) {
            return;
        }
        let Some(operation) = record.operation() else {
            self.irregularities.n_unknown_records += 1;
            return;
        };
        let state = &mut self.processes[process];
        let at = |ticks| state.clock.global(Timestamp::from_ticks(ticks));
        let call = Call {
            operation,
            root: record.root.get(),
            enter: at(step.enter),
            leave: (record.leave.get() != 0).then(|| match step.is_possible {
                true => at(record.leave.get()),
                false => at(step.enter),
            }),
            payload: record.payload_bytes(),
            has_failed: record.has_failed(),
            is_timed: step.is_possible,
        };
        let is_internal = record.is_internal();
        let mut in_flight = InFlight {
            process,
            operation,
            communicator: None,
            sequence: None,
        };
        let index = record.communicator.get();
        let binding = match index {
            UNKNOWN_COMMUNICATOR => None,
            index => self.communicators.binding(process, index),
        };
        if let Some(binding) = binding {
            in_flight.communicator =
                Some(self.communicators.bindings[process][binding].communicator);
        } else if index != UNKNOWN_COMMUNICATOR && operation.semantics() != Semantics::Process {
            if state.n_undefined == 0 {
                state.first_undefined = index;
            }
            state.n_undefined += 1;
        }
        match (operation.semantics(), binding) {
            (Semantics::Process, _) => (self.sink)(Matched::Process { call }),
            (Semantics::GroupConstructor, called_on) => {
                self.take_creation(process, called_on, call, is_internal);
            }
            (_, None) => (self.sink)(Matched::Unmatched {
                process,
                called_on: None,
                call,
                is_internal,
            }),
            // The start of a persistent collective, which has no position on its communicator.
            (_, Some(binding)) if !operation.takes_position() => {
                let called_on = self.communicators.bindings[process][binding].communicator;
                (self.sink)(Matched::Unmatched {
                    process,
                    called_on: Some(called_on),
                    call,
                    is_internal,
                });
            }
            (_, Some(binding)) => {
                let counter = &mut state.counters[binding][usize::from(is_internal)];
                let position = *counter;
                *counter = counter.saturating_add(1);
                in_flight.sequence = Some(position);
                let lane = if is_internal {
                    Lane::Internal
                } else {
                    Lane::Application
                };
                let binding = self.communicators.bindings[process][binding];
                self.enter_lane(
                    (binding.communicator, lane),
                    binding.slot,
                    position,
                    call,
                    None,
                );
            }
        }
        if call.leave.is_none() {
            match step.is_last_of_thread {
                true => (self.sink)(Matched::InFlight(in_flight)),
                false => self.irregularities.n_abandoned += 1,
            }
        }
    }

    /// A constructor over a group: matched by the communicator that it made.
    fn take_creation(
        &mut self,
        process: usize,
        called_on: Option<usize>,
        call: Call,
        is_internal: bool,
    ) {
        let bindings = &self.communicators.bindings[process];
        let called_on = called_on.map(|binding| bindings[binding].communicator);
        let made = u32::try_from(call.root)
            .ok()
            .and_then(|index| self.communicators.binding(process, index))
            .map(|made| bindings[made]);
        match (made, called_on) {
            (Some(made), Some(_)) if !is_internal => self.enter_lane(
                (made.communicator, Lane::Creation),
                made.slot,
                0,
                call,
                called_on,
            ),
            _ => (self.sink)(Matched::Unmatched {
                process,
                called_on,
                call,
                is_internal,
            }),
        }
    }

    /// Puts a call into its instance, and hands on what is finished by it.
    fn enter_lane(
        &mut self,
        (communicator, lane): (usize, Lane),
        slot: usize,
        position: u64,
        call: Call,
        called_on: Option<usize>,
    ) {
        let members = &self.communicators.list[communicator];
        if let [_] = members.members[..]
            && members.is_whole
        {
            (self.sink)(Matched::Instance(Instance {
                communicator: members,
                communicator_index: communicator,
                lane,
                position,
                calls: &[Some(call)],
                called_on,
            }));
            return;
        }
        let lane_index = communicator * LANES.len() + lane as usize;
        let processes = &self.processes;
        let state =
            self.lanes[lane_index].get_or_insert_with(|| {
                let next = members.members.iter().map(|member| {
                    match processes[member.process].has_ended {
                        true => u64::MAX,
                        false => 0,
                    }
                });
                Box::new(LaneState {
                    next: next.collect(),
                    pending: VecDeque::new(),
                    n_behind: 0,
                })
            });
        // A creation that is met twice (a damaged file) belongs to nothing.
        if position < state.next[slot] {
            let process = members.members[slot].process;
            (self.sink)(Matched::Unmatched {
                process,
                called_on,
                call,
                is_internal: lane == Lane::Internal,
            });
            return;
        }
        let found = state.find(position);
        let at = found.unwrap_or_else(|at| at);
        if found.is_err() {
            let mut calls = self.spare.pop().unwrap_or_default();
            calls.clear();
            calls.resize(members.members.len(), None);
            state.pending.insert(
                at,
                Pending {
                    position,
                    calls,
                    called_on,
                },
            );
            if at == 0 {
                state.count_behind();
            }
            self.tickets.push_back(Ticket {
                lane: lane_index,
                position,
                slot: 0,
            });
            self.n_pending += 1;
            self.irregularities.largest_window =
                self.irregularities.largest_window.max(self.n_pending);
        }
        state.pending[at].calls[slot] = Some(call);
        self.advance(lane_index, slot, position.saturating_add(1));
    }

    /// A slot goes on to `next`; instances that nobody can come to any more are handed on.
    fn advance(&mut self, lane_index: usize, slot: usize, next: u64) {
        let Some(state) = self.lanes[lane_index].as_mut() else {
            return;
        };
        let before = std::mem::replace(&mut state.next[slot], next);
        let Some(first) = state.pending.front() else {
            return;
        };
        if !(before <= first.position && first.position < next) {
            return;
        }
        state.n_behind -= 1;
        while state.n_behind == 0 {
            let Some(done) = state.pending.pop_front() else {
                break;
            };
            state.count_behind();
            self.n_pending -= 1;
            let communicator_index = lane_index / LANES.len();
            (self.sink)(Matched::Instance(Instance {
                communicator: &self.communicators.list[communicator_index],
                communicator_index,
                lane: LANES[lane_index % LANES.len()],
                position: done.position,
                calls: &done.calls,
                called_on: done.called_on,
            }));
            if self.spare.len() < 1024 {
                self.spare.push(done.calls);
            }
        }
    }

    /// Compares the counts with the table of a chunk, and goes on from the table behind a gap.
    ///
    /// With several threads, calls that another one began at about the time at which the chunk
    /// was opened may stand on either side of it; there the table is needed behind gaps only.
    fn check_sequences(&mut self, process: usize, table: &[SequenceEntry], is_behind_gap: bool) {
        let communicators = self.communicators;
        let is_exact = self.processes[process].stream.is_single_threaded();
        if !is_exact && !is_behind_gap {
            return;
        }
        let mut is_conflict = false;
        for (index, entry) in communicators.resolve(process, table) {
            let binding = communicators.bindings[process][index];
            let counters = &mut self.processes[process].counters[index];
            let before = *counters;
            // A damaged count must leave room to count on.
            counters[0] = before[0].max(entry.calls.get().min(1 << 62));
            // The table has the lower 32 bits only.
            let ahead = entry.internal_calls.get().wrapping_sub(before[1] as u32);
            if ahead < 1 << 31 {
                counters[1] = before[1] + u64::from(ahead);
            }
            let after = *counters;
            is_conflict |= is_exact && (entry.calls.get() < before[0] || ahead >= 1 << 31);
            for (lane, (before, after)) in before.into_iter().zip(after).enumerate() {
                if after > before {
                    let lane_index = binding.communicator * LANES.len() + lane;
                    self.advance(lane_index, binding.slot, after);
                }
            }
        }
        self.irregularities.n_sequence_conflicts += u64::from(is_conflict);
    }

    /// No more calls will come from a process.
    fn end_process(&mut self, process: usize) {
        self.processes[process].has_ended = true;
        let communicators = self.communicators;
        for binding in &communicators.bindings[process] {
            for lane in LANES {
                let lane_index = binding.communicator * LANES.len() + lane as usize;
                self.advance(lane_index, binding.slot, u64::MAX);
            }
        }
    }
}

impl LaneState {
    /// Index of the pending instance at a position, or where it would have to stand.
    fn find(&self, position: u64) -> Result<usize, usize> {
        // Without damage positions follow one another, and the place can be computed.
        if let Some(first) = self.pending.front()
            && let Some(at) = position.checked_sub(first.position)
            && let Ok(at) = usize::try_from(at)
            && self.pending.get(at).is_some_and(|p| p.position == position)
        {
            return Ok(at);
        }
        self.pending
            .binary_search_by_key(&position, |pending| pending.position)
    }

    fn count_behind(&mut self) {
        self.n_behind = match self.pending.front() {
            Some(first) => self.next.iter().filter(|&&n| n <= first.position).count(),
            None => 0,
        };
    }
}
