//! Findings of matching: what does not fit, and what only the records of a process show.

use collbench_causes::Attributed;
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CompletingCall, Operation};
use collbench_stats::integers::sum_ns;

use crate::calls::algorithms::AlgorithmCounts;
use crate::calls::gap::{PartnerTimes, TimeBesides};
use crate::calls::last_seen::LastSeen;
use crate::calls::phases::LevelTime;
use crate::calls::running::RunningCounts;
use crate::calls::stamps::ImpossibleStamps;
use crate::trace::record_at::CallOrder;

/// A call that was under way when the file of its process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InFlight {
    /// What was called, or (with `completing`) was to be completed.
    pub operation: Operation,
    /// The call that was to complete it.
    pub completing: Option<CompletingCall>,
    /// Index in [`Communicators::list`](crate::communicators::Communicators::list).
    pub communicator: Option<usize>,
    /// Position among the calls on it.
    pub sequence: Option<u64>,
    /// Which order of calls that is in; `None` without a position.
    pub call_order: Option<CallOrder>,
    /// When the process entered the call that it was in.
    pub enter: Timestamp<Global>,
    /// Whether the MPI library called internally.
    pub is_internal: bool,
}

/// What matching found that does not fit.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MatchFindings {
    /// Records of a kind or an operation that this version does not know.
    pub n_unknown_records: u64,
    /// Messages that the MPI library sent within collectives.
    pub n_messages: u64,
    /// Receives that it posted.
    pub n_receives: u64,
    /// Passes of event collectors that were recorded.
    pub n_passes: u64,
    /// Chunks whose sequence table says fewer calls than were found before them.
    pub n_sequence_conflicts: u64,
    /// Calls that never returned, but were not the last of their thread.
    pub n_abandoned: u64,
    /// Completions of nonblocking collectives that fit no initiation that is under way.
    pub n_stray_completions: u64,
    /// Records of rings from before the instant from which on all records of the process are
    /// retained.
    pub n_before_windows: u64,
    /// Largest number of calls that waited for those of others after a round.
    pub largest_window: u64,
    /// What the waits cost, by cause; operations by the [hash](crate::sums::instances::operation_key::OperationKey::stable_hash)
    /// of their key.
    pub wait_causes: Attributed,
    /// By process of the run.
    pub processes: Vec<ProcessFindings>,
}

impl ProcessFindings {
    /// The time of the process between two times, or of its threads, if several of them are in collectives meanwhile and
    /// that is more, ns. Of a thread it is the time from its first collective to its last one.
    pub(crate) fn time_of_threads_ns(&self, from_ns: i64, to_ns: i64) -> i64 {
        let spans = self.threads.iter();
        let times =
            spans.map(|[first, last]| (*last).min(to_ns).saturating_sub((*first).max(from_ns)));
        let of_threads = sum_ns(times.map(|ns| ns.max(0)));
        of_threads.max(to_ns.saturating_sub(from_ns))
    }
}

/// Findings in the records of one process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProcessFindings {
    /// Records whose time stamps cannot be true.
    pub impossible: ImpossibleStamps,
    /// Calls on communicators that the file does not define.
    pub n_undefined: u64,
    /// Index of the first of those communicators.
    pub first_undefined: u32,
    /// Starts of persistent collectives that the file does not define.
    pub n_undefined_starts: u64,
    /// Calls that were under way when the file ended, besides their part in an instance.
    pub in_flight: Vec<InFlight>,
    /// The phases that the process marked, by their first begin.
    pub phases: Vec<LevelTime>,
    /// Chunks whose sequence table says fewer calls than were found before them.
    pub n_sequence_conflicts: u64,
    /// Its last activity; `None` where nothing is missing in the run.
    pub last: Option<LastSeen>,
    /// Which algorithms of the MPI library it recorded.
    pub algorithms: AlgorithmCounts,
    /// Whether its threads were running.
    pub running: RunningCounts,
    /// Time in point-to-point communication, MPI-IO and RMA.
    pub besides: TimeBesides,
    /// Time in point-to-point communication by partner.
    pub partners: PartnerTimes,
    /// When `MPI_Init` returned, ns; `None` where that is not known.
    pub begun_ns: Option<i64>,
    /// From when on it was in `MPI_Finalize`, but in no call of a callback any more, and when it left it; `None` where it
    /// did not return from it, or that is not known.
    pub finalize: Option<[Timestamp<Global>; 2]>,
    /// From the first enter to the last leave of the collectives of each of its threads, ns; empty if they are all of one
    /// thread.
    pub threads: Vec<[i64; 2]>,
    /// Number of the place in the program from which it made the last call that had not returned.
    pub site_in_flight: Option<u32>,
}
