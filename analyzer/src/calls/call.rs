//! A call, and a candidate: the calls of all members at one position.

use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CompletingCall, Operation};

use crate::calls::outstanding::OverlapTimes;
use crate::communicators::Communicator;
use crate::trace::record_at::CallOrder;

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
    /// Payload in bytes; `None` where the recorder could not determine it.
    pub payload: Option<u64>,
    /// Whether it returned an error code.
    pub has_failed: bool,
    /// Whether its stamps are possible. Where not, its times are a guess (it left when it entered),
    /// its instance is not complete, and no figure counts it.
    pub is_timed: bool,
    /// Its times after initiation, if it is nonblocking or persistent. Then `leave` is that of the
    /// call that completed it, `None` if that is not known.
    pub overlap: Option<OverlapTimes>,
    /// Level of the phase in which it was called.
    pub phase: Option<i32>,
    /// Number of the place in the program from which it was made.
    pub site: Option<u32>,
    /// Number of the thread that made it, or initiated it, among those of its process, from 0.
    pub thread: u32,
}

impl Call {
    /// Whether MPI began in the process with it, and when it returned can be true.
    pub(crate) fn begins_mpi(&self) -> bool {
        matches!(self.operation, Operation::Init | Operation::InitThread) && self.is_timed
    }

    /// Whether MPI ends in the process with it, at times that can be true.
    pub(crate) fn ends_mpi(&self) -> bool {
        self.operation == Operation::Finalize && self.is_timed && !self.has_failed
    }

    /// Time in it, ns; 0 for a call under way, and for one that returned an error. Of a nonblocking
    /// one: time in the initiating and the completing call.
    #[must_use]
    pub fn time_ns(&self) -> i64 {
        match &self.overlap {
            _ if self.has_failed => 0,
            Some(overlap) => overlap.call_ns(),
            None => self.leave.map_or(0, |leave| leave.ns() - self.enter.ns()),
        }
    }

    /// Its last known instant: its leave; of a nonblocking one not completed, the last known enter
    /// or return.
    #[must_use]
    pub fn last_seen(&self) -> Timestamp<Global> {
        let begun = self.overlap.map(|overlap| match overlap.completing {
            Some(call) => call.enter.max(overlap.initiated),
            None => overlap.initiated,
        });
        self.leave.or(begun).unwrap_or(self.enter)
    }

    /// Whether it was under way at the end of its file: this excludes requests freed before
    /// completion, and calls that the library refused to initiate.
    #[must_use]
    pub fn is_under_way(&self) -> bool {
        let by = self.overlap.and_then(|overlap| overlap.completing);
        let is_freed = by.is_some_and(|call| call.by == CompletingCall::RequestFree);
        let is_refused = self.has_failed && self.overlap.is_some() && by.is_none();
        self.leave.is_none() && !is_freed && !is_refused
    }
}

/// The calls of all members at one position in one order of calls: an instance, if they are
/// complete and agree.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'m> {
    /// Its processes.
    pub communicator: &'m Communicator,
    /// Index of that in [`Communicators::list`](crate::communicators::Communicators::list).
    pub communicator_index: usize,
    /// Which order of calls it belongs to.
    pub call_order: CallOrder,
    /// Position in that order, from 0.
    pub position: u64,
    /// For each slot of the communicator its call; `None`: it was never made, or its record is
    /// missing.
    pub calls: &'m [Option<Call>],
    /// The slots whose calls a ring has overwritten; ascending.
    pub lost: &'m [usize],
    /// For each slot the number of calls that its process is known to have begun in this order: a
    /// missing call at an earlier position was made, but its record is missing.
    pub n_begun: &'m [u64],
    /// For creations: index in [`Communicators::list`](crate::communicators::Communicators::list) of the one
    /// called on, by any member.
    pub called_on: Option<usize>,
    /// When processes had begun other calls before they made some of these, ns, if these say that they are older: only in a
    /// damaged trace.
    pub not_before_ns: Option<i64>,
}

impl Candidate<'_> {
    /// Level of the phase in which all its calls were made; `None`: not one.
    #[must_use]
    pub fn phase(&self) -> Option<i32> {
        let mut phases = self.calls.iter().flatten().map(|call| call.phase);
        let first = phases.next()??;
        phases.all(|phase| phase == Some(first)).then_some(first)
    }

    /// Whether every process of the communicator called, and nothing is under way, but calls were
    /// refused.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        let mut calls = self.calls.iter();
        self.communicator.is_whole
            && calls.clone().flatten().any(|call| call.has_failed)
            && calls.all(|call| call.is_some_and(|call| !call.is_under_way()))
    }

    /// Whether every process of the communicator entered and left at known times.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.communicator.is_whole
            && self
                .calls
                .iter()
                .all(|call| call.is_some_and(|call| call.leave.is_some() && call.is_timed))
    }
}
