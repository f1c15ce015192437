//! Remarks: what a reader should know about the quality of the data.
//!
//! A remark is a code, which is stable, and the facts behind it. Its sentence, which may change, is made
//! by `collbench-report`.

use collbench_clocks::closure::Blame;

/// One remark.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remark {
    /// Damage, or calls under way: see `damage`.
    Incomplete {
        /// Number of findings.
        n_findings: usize,
    },
    /// There is no `run.json`.
    ManifestMissing,
    /// `run.json` cannot be read.
    ManifestUnreadable {
        /// What is wrong with it.
        error: String,
    },
    /// Calls were made from a file whose lines are not known.
    LinesUnknown {
        /// Path of the file, as the program saw it.
        module: String,
        /// Why not.
        why: String,
    },
    /// Files of which something was cut off while they were read.
    BecameShorter {
        /// Their names.
        names: Vec<String>,
    },
    /// Files of spawned worlds are not analysed.
    SpawnedSetAside {
        /// Number of worlds.
        n_worlds: usize,
        /// Number of their files.
        n_files: usize,
    },
    /// Host clocks without a common time.
    ClocksNotAligned {
        /// Number of host clocks.
        n_hosts: usize,
        /// Number of groups of them that have a common time each.
        n_groups: usize,
        /// Why they were not measured against one another, as the recorder says.
        reason: Option<String>,
    },
    /// Processes whose clock is not that of their host.
    ClocksApart {
        /// Their number.
        n_ranks: usize,
        /// The lowest of their ranks.
        rank: u32,
    },
    /// Measuring the clocks of hosts against one another ended early.
    ExchangesEnded {
        /// Processes that say so.
        n_ranks: usize,
        /// What one of them says.
        reason: String,
    },
    /// The offset of a clock was measured at one instant only.
    DriftNotKnown {
        /// Number of such hosts.
        n_hosts: usize,
    },
    /// The offset of a clock was not measured at the end of the run.
    NoOffsetAtEnd {
        /// Number of such hosts.
        n_hosts: usize,
    },
    /// The smoother did not converge.
    AlignmentNotConverged {
        /// Number of hosts that it aligned.
        n_hosts: usize,
    },
    /// Rates of clocks changed as those of free-running ones do not.
    ClocksWander,
    /// The system changed the rate of a clock.
    ClockSlewed {
        /// The host.
        host: String,
        /// By how much, parts per 10^9.
        ppb: i64,
    },
    /// Readings of the clocks of a host contradict one another.
    ClockUneven {
        /// The host.
        host: String,
        /// How far they are apart, ns.
        step_ns: i64,
    },
    /// Offsets measured around three hosts contradict one another.
    TriangleOpen(UnclosedTriangle),
    /// Anchors of a host give no tick rate.
    ClockNotScaled {
        /// The host.
        host: String,
    },
    /// Definitions of one communicator that contradict one another.
    CommunicatorConflict {
        /// Number of communicators.
        n_communicators: usize,
    },
    /// A communicator of which only the known members are listed.
    MembersNotListed {
        /// Its id.
        communicator: usize,
        /// How many others there are of that kind.
        n_others: usize,
    },
    /// Communicators created alike, too many for an entry each.
    ShownTogether {
        /// How many.
        n_communicators: usize,
        /// As how many they are shown.
        n_entries: usize,
    },
    /// An MPI library whose handles the recorder did not understand.
    UnknownAbi,
    /// Calls on a communicator that is not known.
    UnknownCommunicator {
        /// Number of calls.
        n_calls: u64,
    },
    /// Ranks were in collectives when the trace ended: see [`Analysis::hang`](crate::Analysis::hang).
    Waiting {
        /// Number of ranks.
        n_ranks: usize,
    },
    /// Calls at one position whose sizes contradict one another.
    MismatchedSizes {
        /// Number of positions.
        n_instances: u64,
        /// Index of the first of them in [`Analysis::mismatches`](crate::Analysis::mismatches).
        first: usize,
    },
    /// Nonblocking collectives that were initiated, and not completed before `MPI_Finalize`: see
    /// [`Analysis::never_completed`](crate::Analysis::never_completed).
    NeverCompleted {
        /// Number of calls that initiated them.
        n_calls: u64,
    },
    /// Calls at one position that are not one collective.
    Mismatched {
        /// Number of positions.
        n_instances: u64,
        /// Index of the first of them in [`Analysis::mismatches`](crate::Analysis::mismatches).
        first: usize,
    },
    /// Instances that not all processes entered and left.
    IncompleteInstances {
        /// Number of instances.
        n_instances: u64,
    },
    /// Calls whose time stamps cannot be true.
    ImpossibleStamps {
        /// Number of calls.
        n_calls: u64,
    },
    /// Calls that returned an error code.
    FailedCalls {
        /// Number of calls.
        n_calls: u64,
        /// Number of instances with such calls that all processes entered and left.
        n_instances: u64,
    },
    /// Calls whose payload the recorder could not determine.
    PayloadUnknown {
        /// Number of calls.
        n_calls: u64,
    },
    /// Internal calls of the MPI library: recorded, not counted.
    InternalCalls {
        /// Number of calls.
        n_calls: u64,
    },
    /// Complete instances in which no message was seen.
    Opaque {
        /// Number of instances.
        n_instances: u64,
        /// Their operations, by name.
        operations: Vec<&'static str>,
    },
    /// Complete instances without messages, called in callbacks of `MPI_Finalize`.
    InFinalize {
        /// Number of instances.
        n_instances: u64,
    },
    /// Instances on spanning trees of our own that are not measured, since passes of event collectors
    /// are missing or contradict one another.
    PassesMissing {
        /// Number of instances.
        n_instances: u64,
        /// Their operations, by name.
        operations: Vec<&'static str>,
    },
    /// Instances whose messages do not fit the algorithm that the library named.
    AlgorithmContradicted {
        /// Number of instances.
        n_instances: u64,
        /// Operation, what the library says, and what the graph is called, of the most frequent.
        first: (String, String, String),
    },
    /// Calls on files or windows that were not recorded, in which much time was spent.
    UnrecordedAccess(UnrecordedAccess),
    /// Messages of which not both ends are known in one instance.
    UnpairedMessages(UnpairedMessages),
    /// Records of a kind that this version does not know.
    UnknownRecords {
        /// Number of records.
        n_records: u64,
    },
    /// Calls that never returned though their thread made later calls.
    AbandonedCalls {
        /// Number of calls.
        n_calls: u64,
    },
    /// Completions that fit no nonblocking collective that is under way.
    StrayCompletions {
        /// Number of completions.
        n_completions: u64,
    },
    /// Sequence tables that say fewer calls than there are records.
    SequenceConflict {
        /// Number of chunks.
        n_chunks: u64,
    },
    /// Processes left before the last one had entered.
    NegativeCore {
        /// Number of instances.
        n_instances: u64,
        /// Those of them on one host.
        n_of_one_clock: u64,
    },
    /// Messages were received before they were sent, by more than three standard deviations of the
    /// clocks.
    ReceivedTooEarly {
        /// Messages that were received before they were sent.
        n_messages: u64,
        /// All whose two ends are known.
        n_paired: u64,
        /// Host of the sender of that which was earliest.
        from: String,
        /// Host of its receiver.
        to: String,
        /// By how much it was, ns.
        by_ns: i64,
        /// Uncertainty of these clocks, two standard deviations, ns.
        uncertainty_ns: i64,
    },
    /// The recorder's own pauses are noticeable.
    RecorderPauses {
        /// Time in all processes, ns.
        total_ns: i64,
        /// Longest pause, ns.
        longest_ns: i64,
    },
    /// Ranks lost their cores to other threads while they could have gone on.
    CoresShared {
        /// The ranks, ascending.
        ranks: Vec<u32>,
        /// Time that was sampled, in all of them, ns.
        elapsed_ns: i64,
        /// For how much of that they were on a core, ns.
        on_core_ns: i64,
        /// How often another thread got the core of one.
        n_lost: u64,
    },
    /// Rings have overwritten older calls.
    Ring {
        /// Calls that are there.
        n_calls: u64,
        /// Calls in all.
        n_calls_made: u64,
        /// Instances of which only some processes' calls are there.
        n_instances: u64,
    },
    /// Only a part of the run is shown.
    Restricted,
}

/// Offsets measured around three hosts that contradict one another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnclosedTriangle {
    /// The hosts.
    pub hosts: [String; 3],
    /// Triangles with the same suspects that do not close, including this one.
    pub n_triangles: usize,
    /// Sum of the offsets around it, ns.
    pub gap_ns: i64,
    /// Three standard deviations of that sum, ns.
    pub error_ns: i64,
    /// Pairs of hosts whose network path may be asymmetric, the likeliest first.
    pub suspects: Vec<[String; 2]>,
    /// Why it is the likeliest.
    pub blame: Blame,
}

/// Messages of which not both ends are known in one instance.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnpairedMessages {
    /// Sends inside complete instances without a receive.
    pub n_sends: u64,
    /// Receives inside complete instances without a send.
    pub n_receives: u64,
    /// Sends in no complete instance.
    pub n_elsewhere: u64,
    /// Whether there may be calls on windows or files that were not recorded and have messages, too.
    pub are_calls_missing: bool,
    /// Whether there are instances that are not complete.
    pub are_any_incomplete: bool,
}

/// Calls on files or windows that were not recorded, in which much time was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnrecordedAccess {
    /// Whether they are of MPI-IO; otherwise they synchronize accesses to windows (RMA).
    pub is_io: bool,
    /// Number of such calls of all ranks.
    pub n_calls: u64,
    /// Time of all ranks in these calls, ns.
    pub total_ns: i64,
    /// `total_ns` in percent of the time of all ranks, rounded down; >= 1.
    pub percent: u64,
}

impl Remark {
    /// Short and stable, for scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Incomplete { .. } => "incomplete",
            Self::ManifestMissing => "run_json_missing",
            Self::ManifestUnreadable { .. } => "run_json_unreadable",
            Self::LinesUnknown { .. } => "lines_unknown",
            Self::BecameShorter { .. } => "became_shorter",
            Self::SpawnedSetAside { .. } => "spawned_set_aside",
            Self::ClocksNotAligned { .. } => "clocks_not_aligned",
            Self::ClocksApart { .. } => "clocks_apart",
            Self::ExchangesEnded { .. } => "exchanges_ended",
            Self::DriftNotKnown { .. } => "drift_not_known",
            Self::NoOffsetAtEnd { .. } => "no_offset_at_end",
            Self::AlignmentNotConverged { .. } => "alignment_not_converged",
            Self::ClocksWander => "clocks_wander",
            Self::ClockSlewed { .. } => "clock_slewed",
            Self::ClockUneven { .. } => "clock_uneven",
            Self::TriangleOpen(_) => "triangle_open",
            Self::ClockNotScaled { .. } => "clock_not_scaled",
            Self::CommunicatorConflict { .. } => "communicator_conflict",
            Self::MembersNotListed { .. } => "members_not_listed",
            Self::ShownTogether { .. } => "communicators_together",
            Self::UnknownAbi => "unknown_abi",
            Self::UnknownCommunicator { .. } => "unknown_communicator",
            Self::Waiting { .. } => "waiting_at_the_end",
            Self::MismatchedSizes { .. } => "mismatched_sizes",
            Self::NeverCompleted { .. } => "never_completed",
            Self::Mismatched { .. } => "mismatched_calls",
            Self::IncompleteInstances { .. } => "incomplete_instances",
            Self::ImpossibleStamps { .. } => "impossible_stamps",
            Self::FailedCalls { .. } => "failed_calls",
            Self::PayloadUnknown { .. } => "payload_unknown",
            Self::InternalCalls { .. } => "internal_calls",
            Self::Opaque { .. } => "opaque_collectives",
            Self::InFinalize { .. } => "in_finalize",
            Self::PassesMissing { .. } => "passes_missing",
            Self::AlgorithmContradicted { .. } => "algorithm_contradicted",
            Self::UnpairedMessages(_) => "unpaired_messages",
            Self::UnknownRecords { .. } => "unknown_records",
            Self::AbandonedCalls { .. } => "abandoned_calls",
            Self::StrayCompletions { .. } => "stray_completions",
            Self::SequenceConflict { .. } => "sequence_conflict",
            Self::NegativeCore { .. } => "negative_core",
            Self::ReceivedTooEarly { .. } => "received_too_early",
            Self::RecorderPauses { .. } => "recorder_pauses",
            Self::CoresShared { .. } => "cores_shared",
            Self::Ring { .. } => "ring",
            Self::UnrecordedAccess(of) if of.is_io => "unrecorded_io",
            Self::UnrecordedAccess(_) => "unrecorded_rma",
            Self::Restricted => "restricted",
        }
    }
}
