//! Nonblocking and persistent collectives of one process, from initiation to completion.
//!
//! An initiation has its position in the order of calls, or of starts; its completion may follow
//! any time later, in any thread. So initiated operations are retained apart from the queues until
//! they are complete at every member: memory grows with outstanding operations, not with calls.
//! Their records are copied, so that no page of the file is read twice.

use std::collections::BTreeMap;

use collbench_clocks::rank_clock::RankClock;
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CompletingCall, Completion, Operation, Record, UnsuccessfulTests};

use crate::calls::time_in_mpi::CallSpans;
use crate::trace::algorithm_names::{AlgorithmNames, NamesInCall};
use crate::trace::record_at::RecordAt;

/// One collective that a process has initiated.
#[derive(Debug, Clone)]
pub(crate) struct Initiated {
    /// The initiating call.
    pub(crate) record: Record,
    /// Location of its record.
    pub(crate) location: RecordAt,
    /// Whether its stamps can be true.
    pub(crate) is_possible: bool,
    /// The phase in which it was called.
    pub(crate) phase: Option<i32>,
    /// Number of the place from which it was called.
    pub(crate) site: Option<u32>,
    /// When its process had begun a call before it, ticks, if it says that it is older.
    pub(crate) late: Option<u64>,
    /// The names of algorithms reported in the initiating call.
    names_in_call: NamesInCall,
    /// The call that completed it.
    end: Option<End>,
    tests: Option<UnsuccessfulTests>,
    /// The calls that the process made meanwhile; `None` where they are not known.
    meanwhile: Option<CallSpans>,
}

/// The call that completed a collective, in ticks.
#[derive(Debug, Clone, Copy)]
struct End {
    enter: u64,
    /// 0 for a call under way.
    leave: u64,
    by: CompletingCall,
    thread: u32,
    n_together: u32,
    /// Whether it returned an error: then another call may still complete the collective.
    has_failed: bool,
}

impl End {
    fn is_final(&self) -> bool {
        self.leave != 0 && !self.has_failed
    }
}

impl Initiated {
    pub(crate) fn new(
        record: &Record,
        location: RecordAt,
        is_possible: bool,
        phase: Option<i32>,
        site: Option<u32>,
    ) -> Self {
        Self {
            record: *record,
            location,
            is_possible,
            phase,
            site,
            late: None,
            names_in_call: NamesInCall::default(),
            end: None,
            tests: None,
            meanwhile: None,
        }
    }

    /// Whether it was completed successfully.
    pub(crate) fn is_complete(&self) -> bool {
        self.end.is_some_and(|end| end.is_final())
    }

    /// The names of algorithms reported in the initiating call.
    pub(crate) fn reported(&self) -> Option<AlgorithmNames> {
        self.names_in_call.reported()
    }

    /// When the operation was complete; `None` where that is not known: it was under way at the
    /// end, or its request was given back before.
    pub(crate) fn leave_ticks(&self) -> Option<u64> {
        let end = self.end?;
        (end.leave != 0 && end.by != CompletingCall::RequestFree).then_some(end.leave)
    }

    /// When its process was in MPI from its initiation to its completion, enter and leave of each
    /// call in ns; `None` where that is not known.
    pub(crate) fn time_in_mpi<'b>(
        &'b self,
        clock: &'b RankClock,
    ) -> Option<impl Iterator<Item = (i64, i64)> + 'b> {
        let end = self.end.filter(|end| end.leave != 0)?;
        let meanwhile = self.meanwhile.as_deref().filter(|_| self.tests.is_none())?;
        let first = (self.record.enter.get(), self.record.leave.get());
        let calls = std::iter::once(first).chain(meanwhile.iter().copied());
        let calls = calls.chain([(end.enter, end.leave)]);
        let at = |ticks| clock.global(Timestamp::from_ticks(ticks)).ns();
        Some(calls.map(move |(enter, leave)| (at(enter), at(leave))))
    }

    /// Its times after the initiating call, which returned.
    pub(crate) fn overlap(&self, clock: &RankClock) -> OverlapTimes {
        let at = |ticks| clock.global(Timestamp::from_ticks(ticks));
        let span = |from: u64, to: u64| at(to).ns() - at(from).ns();
        let (enter, leave) = (self.record.enter.get(), self.record.leave.get());
        let n_started = match self.record.persistent_start() {
            Some(start) => start.n_together,
            None => 1,
        };
        let tests = self.tests.map(|tests| tests.spent_ticks);
        OverlapTimes {
            initiated: at(leave),
            initiation_ns: span(enter, leave) / i64::from(n_started),
            n_started,
            completing: self.end.map(|end| CompletingTime {
                by: end.by,
                thread: end.thread,
                enter: at(end.enter),
                share_ns: match end.leave {
                    0 => 0,
                    leave => span(end.enter, leave) / i64::from(end.n_together),
                },
                n_together: end.n_together,
            }),
            n_tests: self.tests.map_or(0, |tests| u64::from(tests.n)),
            // The tests lie between the two calls; a damaged count must not take it further.
            tests_ns: tests.map_or(0, |ticks| {
                let end = self.end.map_or(leave, |end| end.enter);
                span(leave, leave.saturating_add(ticks)).clamp(0, span(leave, end).max(0))
            }),
        }
    }
}

/// Times of a nonblocking or persistent collective of one process, from initiation to completion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OverlapTimes {
    /// When the initiating call returned.
    pub initiated: Timestamp<Global>,
    /// Time of the initiating call, ns; of one that started several, an equal share.
    pub initiation_ns: i64,
    /// How many were started by the same call, > 0.
    pub n_started: u32,
    /// The call that completed it, or was about to; `None`: nothing did in the trace.
    pub completing: Option<CompletingTime>,
    /// Tests that found it incomplete.
    pub n_tests: u64,
    /// Time in them, ns; of a test of several collectives, an equal share.
    pub tests_ns: i64,
}

/// The part that one collective has in the call that completed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompletingTime {
    /// The call.
    pub by: CompletingCall,
    /// Number of the thread that made it among those of its process, from 0.
    pub thread: u32,
    /// When it was entered.
    pub enter: Timestamp<Global>,
    /// Its time, shared equally among what it completed, ns; 0 for a call under way.
    pub share_ns: i64,
    /// How many collectives it completed, > 0.
    pub n_together: u32,
}

impl OverlapTimes {
    /// Time in the initiating and the completing call, ns.
    #[must_use]
    pub fn call_ns(&self) -> i64 {
        self.initiation_ns + self.completing.map_or(0, |call| call.share_ns)
    }

    /// From the return of the initiating call to the enter of the completing one, ns, >= 0: a
    /// thread may complete what another one has not come back from. `None` without a completion.
    #[must_use]
    pub fn between_ns(&self) -> Option<i64> {
        let completing = self.completing?;
        Some((completing.enter.ns() - self.initiated.ns()).max(0))
    }

    /// Time that the application spent on the collective: initiation, tests, completion, ns.
    ///
    /// # Source
    /// Hoefler et al. 2007, section 4: overhead, time-based.
    #[must_use]
    pub fn exposed_ns(&self) -> i64 {
        self.call_ns() + self.tests_ns
    }

    /// Time between the two calls in which the process was in no test of it, ns. An upper bound of
    /// the overlap; whether the collective progressed meanwhile is not visible in a trace.
    #[must_use]
    pub fn overlap_bound_ns(&self) -> Option<i64> {
        Some((self.between_ns()? - self.tests_ns).max(0))
    }
}

/// The operations that a process has initiated in one order of calls and that are not complete
/// everywhere, by position.
#[derive(Debug, Default)]
pub(crate) struct Outstanding {
    initiated: BTreeMap<u64, Initiated>,
    /// The messages that the MPI library has exchanged for them.
    messages: BTreeMap<u64, Vec<Record>>,
    /// Calls whose completion is ignored: at positions at which other processes made different
    /// calls.
    ignored: BTreeMap<u64, Operation>,
}

impl Outstanding {
    pub(crate) fn begin(&mut self, position: u64, initiated: Initiated) {
        self.initiated.insert(position, initiated);
    }

    /// Notes that the process had begun a call at some tick before what was begun at a position, which says it is older.
    pub(crate) fn note_late(&mut self, position: u64, reached: u64) {
        if let Some(initiated) = self.initiated.get_mut(&position) {
            initiated.late = Some(reached);
        }
    }

    /// Keeps one end of a message of what was begun at a position.
    pub(crate) fn keep_message(&mut self, position: u64, record: &Record) {
        if self.initiated.contains_key(&position) {
            self.messages.entry(position).or_default().push(*record);
        }
    }

    /// Hears a note on the call that began something at a position, by a process whose names have
    /// these numbers. A complete operation may be passed on at any time, so a note after its
    /// completion (only in a damaged trace) is ignored.
    pub(crate) fn add_note(
        &mut self,
        position: u64,
        call: &Record,
        note: &Record,
        numbers: &[u16],
    ) {
        let initiated = self.initiated.get_mut(&position);
        let is_of_call =
            |initiated: &&mut Initiated| initiated.record == *call && !initiated.is_complete();
        if let Some(initiated) = initiated.filter(is_of_call) {
            initiated.names_in_call.add_note(note, numbers);
        }
    }

    /// The ends of messages of what was begun at a position, in their order.
    pub(crate) fn messages(&self, position: u64) -> &[Record] {
        self.messages.get(&position).map_or(&[], Vec::as_slice)
    }

    /// Ignores the completion of the operation initiated at a position from now on.
    pub(crate) fn ignore_completion(&mut self, position: u64) {
        self.messages.remove(&position);
        let initiated = self.initiated.remove(&position);
        if let Some(initiated) = initiated.filter(|initiated| !initiated.is_complete())
            && let Some(operation) = initiated.record.operation()
        {
            self.ignored.insert(position, operation);
        }
    }

    /// What was begun at a position and is not complete.
    pub(crate) fn operation(&self, position: u64) -> Option<Operation> {
        match self.initiated.get(&position) {
            Some(initiated) => initiated.record.operation(),
            None => self.ignored.get(&position).copied(),
        }
    }

    /// Whether no completion is waited for.
    pub(crate) fn is_empty(&self) -> bool {
        self.initiated.is_empty() && self.ignored.is_empty()
    }

    pub(crate) fn get(&self, position: u64) -> Option<&Initiated> {
        self.initiated.get(&position)
    }

    /// Positions in `[from, to)` of what was begun.
    pub(crate) fn positions(&self, from: u64, to: u64) -> impl Iterator<Item = u64> + '_ {
        self.initiated
            .range(from..to)
            .map(|(&position, _)| position)
    }

    /// The first position that is complete.
    pub(crate) fn first_complete(&self) -> Option<u64> {
        let complete = |(&position, initiated): (&u64, &Initiated)| {
            initiated.is_complete().then_some(position)
        };
        self.initiated.iter().find_map(complete)
    }

    /// The first whose stamps can be true.
    pub(crate) fn first_possible(&self) -> Option<&Initiated> {
        let mut initiated = self.initiated.values();
        initiated.find(|initiated| initiated.is_possible)
    }

    /// The first position.
    pub(crate) fn first(&self) -> Option<u64> {
        self.initiated
            .first_key_value()
            .map(|(&position, _)| position)
    }

    /// Whether a collective was begun here, and is complete or its file has ended.
    pub(crate) fn is_settled(&self, position: u64, has_ended: bool) -> bool {
        has_ended || self.get(position).is_some_and(Initiated::is_complete)
    }

    pub(crate) fn remove(&mut self, position: u64) {
        self.messages.remove(&position);
        self.initiated.remove(&position);
    }

    /// What the process did while the collective at a position went on, which is complete: `between`
    /// gives its calls between two instants, ticks.
    pub(crate) fn note_meanwhile(
        &mut self,
        position: u64,
        between: impl FnOnce(u64, u64) -> Option<CallSpans>,
    ) {
        if let Some(initiated) = self.initiated.get_mut(&position)
            && let Some(end) = initiated.end
        {
            initiated.meanwhile = between(initiated.record.leave.get(), end.enter);
        }
    }

    /// The completion of what was begun at a position; `false` if it fits nothing that is under
    /// way: there is no such initiation, it is complete already, or the stamps cannot be true.
    pub(crate) fn complete(
        &mut self,
        position: u64,
        record: &Record,
        (completion, thread): (&Completion, u32),
        tests: Option<UnsuccessfulTests>,
        last_ticks: u64,
    ) -> bool {
        if self.ignored.remove(&position).is_some() {
            return true;
        }
        let Some(initiated) = self.initiated.get_mut(&position) else {
            return false;
        };
        let (enter, leave) = (record.enter.get(), record.leave.get());
        let is_possible = initiated.record.enter.get() <= enter
            && (leave == 0
                || (enter.max(initiated.record.leave.get()) <= leave && leave <= last_ticks));
        if !is_possible || initiated.is_complete() {
            return false;
        }
        initiated.tests = tests.or(initiated.tests);
        initiated.end = Some(End {
            enter,
            leave,
            by: completion.by,
            thread,
            n_together: completion.n_together,
            has_failed: record.has_failed(),
        });
        true
    }
}
