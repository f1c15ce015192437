//! Remarks: what a reader should know about the quality of what is shown.
//!
//! Decided here, as an enum, apart from being printed. Codes are stable; texts may change.

use std::fmt;

use collbench_clocks::closure::Blame;
use collbench_text::{
    inert,
    quantity::{counted, duration},
};

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
    /// `run.json` says nothing.
    ManifestUnreadable {
        /// What is wrong with it.
        error: String,
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
    /// The smoother did not come to rest.
    AlignmentNotConverged {
        /// Number of hosts whose time that is.
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
    TriangleOpen {
        /// The hosts.
        hosts: [String; 3],
        /// Triangles with the same suspects that do not close either, and this one.
        n_triangles: usize,
        /// What they come to, ns.
        gap_ns: i64,
        /// What they may come to, ns.
        error_ns: i64,
        /// The pairs of them whose path may be longer one way, the likeliest first.
        suspects: Vec<[String; 2]>,
        /// Why it is the likeliest.
        blame: Blame,
    },
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
    /// Communicators that were made alike, too many to be shown one by one.
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
    /// Ranks were in collectives when the trace ended.
    Waiting {
        /// Number of ranks.
        n_ranks: usize,
        /// The most telling of it, in words.
        first: String,
    },
    /// Calls at the same position of sizes that contradict one another.
    MismatchedSizes {
        /// Number of positions.
        n_instances: u64,
        /// The first of them, in words.
        example: String,
    },
    /// Nonblocking collectives that were begun, and not completed before `MPI_Finalize`.
    NeverCompleted {
        /// Number of calls that began them.
        n_calls: u64,
        /// The first of them, in words.
        first: String,
    },
    /// Calls at the same position that are not the same collective.
    Mismatched {
        /// Number of positions.
        n_instances: u64,
        /// The first of them, in words.
        example: String,
    },
    /// Instances that not all processes came to, or left.
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
        /// Number of instances with such calls that all processes came to.
        n_instances: u64,
    },
    /// Calls whose payload the recorder could not tell.
    PayloadUnknown {
        /// Number of calls.
        n_calls: u64,
    },
    /// Calls of the MPI library on its own behalf: recorded, not counted.
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
    /// Instances whose messages are not those of the algorithm that the library has named.
    AlgorithmContradicted {
        /// Number of instances.
        n_instances: u64,
        /// Operation, what the library says, and what the graph is called, of the most frequent.
        first: (&'static str, String, String),
    },
    /// Messages of which not both ends are known in one instance.
    UnpairedMessages {
        /// Sends inside complete instances without a receive.
        n_sends: u64,
        /// Receives inside complete instances without a send.
        n_receives: u64,
        /// Sends in no complete instance.
        n_elsewhere: u64,
        /// Whether there may be calls on windows or files that were not recorded and have messages, too.
        are_calls_missing: bool,
        /// Whether there are instances that are not complete.
        are_any_incomplete: bool,
    },
    /// Records of a kind that this version does not know.
    UnknownRecords {
        /// Number of records.
        n_records: u64,
    },
    /// Calls that never returned though their thread went on.
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
    /// Processes left before the last one came.
    NegativeCore {
        /// Number of instances.
        n_instances: u64,
        /// Those of them on one host.
        n_of_one_clock: u64,
    },
    /// Messages were received before they were sent, by more than the clocks are said to be off.
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
        /// What is said of these clocks, ns.
        uncertainty_ns: i64,
    },
    /// The recorder stopped the application noticeably.
    RecorderPauses {
        /// Time in all processes, ns.
        total_ns: i64,
        /// Longest pause, ns.
        longest_ns: i64,
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

impl Remark {
    /// Short and stable, for scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Incomplete { .. } => "incomplete",
            Self::ManifestMissing => "run_json_missing",
            Self::ManifestUnreadable { .. } => "run_json_unreadable",
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
            Self::TriangleOpen { .. } => "triangle_open",
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
            Self::AlgorithmContradicted { .. } => "algorithm_contradicted",
            Self::UnpairedMessages { .. } => "unpaired_messages",
            Self::UnknownRecords { .. } => "unknown_records",
            Self::AbandonedCalls { .. } => "abandoned_calls",
            Self::StrayCompletions { .. } => "stray_completions",
            Self::SequenceConflict { .. } => "sequence_conflict",
            Self::NegativeCore { .. } => "negative_core",
            Self::ReceivedTooEarly { .. } => "received_too_early",
            Self::RecorderPauses { .. } => "recorder_pauses",
            Self::Ring { .. } => "ring",
            Self::Restricted => "restricted",
        }
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Incomplete { n_findings } => write!(
                f,
                "the trace is incomplete ({}): what is shown is what there is",
                counted(*n_findings, "finding")
            ),
            Self::ManifestMissing => write!(
                f,
                "run.json is missing; the command shown is that of the lowest rank"
            ),
            Self::BecameShorter { names } => {
                let shown = names.iter().take(3).map(|name| inert::line(name, 255));
                let mut shown: Vec<String> = shown.collect();
                if names.len() > shown.len() {
                    shown.push(format!("{} more", names.len() - shown.len()));
                }
                let files = shown.join(", ");
                write!(
                    f,
                    "{files}: became shorter while the trace was read; analysed as it is now"
                )
            }
            Self::ManifestUnreadable { error } => write!(
                f,
                "run.json cannot be used ({}); the command shown is that of the lowest rank",
                inert::line(error, 120)
            ),
            Self::SpawnedSetAside { n_worlds, n_files } => write!(
                f,
                "{} of {} started by MPI_Comm_spawn set aside; only the first world is analysed",
                counted(*n_files, "file"),
                counted(*n_worlds, "world")
            ),
            Self::ClocksNotAligned {
                n_hosts,
                n_groups,
                reason,
            } => {
                let group = if n_hosts == n_groups {
                    "host".to_owned()
                } else {
                    format!("of {n_groups} groups of hosts")
                };
                write!(
                    f,
                    "{n_hosts} hosts, whose clocks are not aligned: times are compared within each \
                     {group} only. Where an instance has processes on several of them, its lags and \
                     waits are against processes of the same one (lower bounds), its duration is the \
                     longest of any, and its core and who came last are not known"
                )?;
                match reason {
                    Some(reason) => write!(f, ". The recorder took no measurements: {reason}"),
                    None => Ok(()),
                }
            }
            Self::ClocksApart { n_ranks, rank } => write!(
                f,
                "{} (the first is rank {rank}) differ in clock from the other ranks of the host, by \
                 more than a message inside of it takes: each is shown as a host of its own",
                counted(*n_ranks, "rank")
            ),
            Self::ExchangesEnded { n_ranks, reason } => write!(
                f,
                "measuring clocks against one another ended early on {}: {reason}",
                counted(*n_ranks, "rank")
            ),
            Self::DriftNotKnown { n_hosts } => write!(
                f,
                "the clocks of {} were compared at one instant only, as those of a run that was \
                 killed: how fast they drift is not known, so the error of times across hosts grows \
                 by 100 us per second from there",
                counted(*n_hosts, "host")
            ),
            Self::NoOffsetAtEnd { n_hosts } => write!(
                f,
                "the offsets of the clocks of {} were not measured at the end of the run: times \
                 across hosts are less sure the later they are",
                counted(*n_hosts, "host")
            ),
            Self::AlignmentNotConverged { n_hosts } => write!(
                f,
                "the clocks of {} were not fitted to rest by what was measured: their uncertainty \
                 may be too small; compare with --alignment piecewise",
                counted(*n_hosts, "host")
            ),
            Self::ClocksWander => f.write_str(
                "the rates of the clocks change faster than those of free-running ones, as where a \
                 daemon sets them; record with --clock raw or tsc",
            ),
            Self::ClockSlewed { host, ppb } => write!(
                f,
                "host {}: the system changed the rate of CLOCK_MONOTONIC by {:.2} ppm during the \
                 run; record with --clock raw or tsc",
                inert::line(host, 40),
                *ppb as f64 / 1e3
            ),
            Self::ClockUneven { host, step_ns } => write!(
                f,
                "host {}: its clocks are up to {:.1} us off one another: a clock stepped, or its time \
                 stamp counter is not invariant; record with --clock raw",
                inert::line(host, 40),
                *step_ns as f64 / 1e3
            ),
            Self::TriangleOpen {
                hosts: [a, b, c],
                n_triangles,
                gap_ns,
                error_ns,
                suspects,
                blame,
            } => {
                write!(
                    f,
                    "the offsets measured between the hosts {}, {} and {} do not close: {:.1} us are \
                     left, the error explains {:.1} us",
                    inert::line(a, 40),
                    inert::line(b, 40),
                    inert::line(c, 40),
                    *gap_ns as f64 / 1e3,
                    *error_ns as f64 / 1e3,
                )?;
                if *n_triangles > 1 {
                    write!(f, " (and so in {} more triangles)", n_triangles - 1)?;
                }
                let path = |[one, other]: &[String; 2]| {
                    format!("{}-{}", inert::line(one, 40), inert::line(other, 40))
                };
                let mut paths = suspects.iter().map(path);
                let first = paths.next().unwrap_or_default();
                let others: Vec<String> = paths.collect();
                match blame {
                    Blame::OthersClose => write!(
                        f,
                        ". The path {first} takes longer one way than back: the others are also in \
                         triangles that close, or too short for it"
                    ),
                    Blame::RoundTrip => write!(
                        f,
                        ". A path takes longer one way than back, most likely {first}, whose round \
                         trip is longer by as much as that makes it; else {}",
                        others.join(" or ")
                    ),
                    Blame::Undecided => write!(
                        f,
                        ". A path takes longer one way than back: {first} or {}; exchanges along \
                         more paths would tell which",
                        others.join(" or ")
                    ),
                }?;
                write!(f, ". The uncertainty has grown by that; the bounds hold")
            }
            Self::ClockNotScaled { host } => write!(
                f,
                "host {}: its clock readings give no tick rate; ticks are shown as ns",
                inert::line(host, 40)
            ),
            Self::CommunicatorConflict { n_communicators } => write!(
                f,
                "definitions of {} contradict one another; the first is used, calls by the \
                 others are not matched",
                counted(*n_communicators, "communicator")
            ),
            Self::MembersNotListed {
                communicator,
                n_others: 0,
            } => write!(
                f,
                "communicator {communicator}: too many unknown members; only known ones are listed"
            ),
            Self::MembersNotListed {
                communicator,
                n_others,
            } => write!(
                f,
                "communicator {communicator} and {}: too many unknown members; only known ones \
                 are listed",
                counted(*n_others as u64, "other")
            ),
            Self::ShownTogether {
                n_communicators,
                n_entries,
            } => write!(
                f,
                "{n_communicators} communicators that were made alike are shown as {n_entries}"
            ),
            Self::UnknownAbi => f.write_str(
                "the MPI library has an ABI that the recorder did not know: calls have times, but \
                 no communicator and no payload",
            ),
            Self::UnknownCommunicator { n_calls } => write!(
                f,
                "{} on a communicator that is not known: counted, not matched",
                counted(*n_calls, "call")
            ),
            Self::Mismatched {
                n_instances,
                example,
            } => write!(
                f,
                "{} where the calls are not one collective, set aside; the first: {example}",
                counted(*n_instances, "position")
            ),
            Self::Waiting { n_ranks, first } => write!(
                f,
                "{} in a collective when the trace ended: {first}",
                match n_ranks {
                    1 => "1 rank was".to_owned(),
                    n => format!("{n} ranks were"),
                }
            ),
            Self::MismatchedSizes {
                n_instances,
                example,
            } => write!(
                f,
                "{} where the sizes of one collective contradict one another; the first: {example}",
                counted(*n_instances, "position")
            ),
            Self::NeverCompleted { n_calls, first } => write!(
                f,
                "{} never completed before MPI_Finalize; the first: {first}",
                match n_calls {
                    1 => "1 nonblocking collective was begun and".to_owned(),
                    n => format!("{n} calls began nonblocking collectives that were"),
                }
            ),
            Self::IncompleteInstances { n_instances } => write!(
                f,
                "{} that not every process came to and left: counted as incomplete, in no \
                 distribution per instance",
                counted(*n_instances, "instance")
            ),
            Self::ImpossibleStamps { n_calls } => write!(
                f,
                "{} whose time stamps cannot be true: damage; counted, in no figure of time",
                counted(*n_calls, "call")
            ),
            Self::FailedCalls {
                n_calls,
                n_instances,
            } => {
                write!(f, "{} returned an error code", counted(*n_calls, "call"))?;
                match n_instances {
                    0 => Ok(()),
                    1 => f.write_str(": the instance with such calls is in no figure of time"),
                    n => write!(
                        f,
                        ": the {n} instances with such calls are in no figure of time"
                    ),
                }
            }
            Self::PayloadUnknown { n_calls } => write!(
                f,
                "{} of unknown payload (a handle or type that the recorder could not read)",
                counted(*n_calls, "call")
            ),
            Self::InternalCalls { n_calls } => write!(
                f,
                "{} by the MPI library, or by a tool in front of it, on its own behalf: recorded, \
                 not counted",
                counted(*n_calls, "call")
            ),
            Self::Opaque {
                n_instances,
                operations,
            } => write!(
                f,
                "{} of {} without a message in the trace, though messages were recorded: the data \
                 went where the recorder does not see them (shared memory, hardware, requests that \
                 the library sets up once and starts). Nothing is known of the trees of these",
                counted(*n_instances, "instance"),
                operations.join(", ")
            ),
            Self::AlgorithmContradicted {
                n_instances,
                first: (operation, said, seen),
            } => write!(
                f,
                "{} with messages that the algorithm has not which the library named, most of \
                 {operation}: {said}, whose graph is {seen}. They are told by what the library said; \
                 `trees` has what went where, and `contradicted` counts them",
                counted(*n_instances, "instance"),
            ),
            Self::UnpairedMessages {
                n_sends,
                n_receives,
                n_elsewhere,
                are_calls_missing,
                are_any_incomplete,
            } => {
                let some = |n: u64, noun: &str| (n > 0).then(|| counted(n, noun));
                let unpaired = [some(*n_sends, "send"), some(*n_receives, "receive")];
                let unpaired: Vec<String> = unpaired.into_iter().flatten().collect();
                let is_one = n_sends + n_receives == 1;
                let has = if is_one { "has" } else { "have" };
                let unpaired = (!unpaired.is_empty()).then(|| {
                    let ends = unpaired.join(" and ");
                    format!("inside complete instances {ends} of the library {has} no other end in the same one")
                });
                let elsewhere = some(*n_elsewhere, "send").map(|sends| {
                    let is = if *n_elsewhere == 1 { "is" } else { "are" };
                    let of = if unpaired.is_some() {
                        ""
                    } else {
                        " of the library"
                    };
                    let unrecorded = "of calls on windows or files, which were not recorded";
                    let why = match (are_any_incomplete, are_calls_missing) {
                        (true, true) => format!(" (perhaps of incomplete ones, or {unrecorded})"),
                        (true, false) => " (perhaps of incomplete ones)".to_owned(),
                        (false, true) => format!(" (perhaps {unrecorded})"),
                        (false, false) => String::new(),
                    };
                    format!("{sends}{of} {is} in no complete instance{why}")
                });
                let all: Vec<String> = unpaired.into_iter().chain(elsewhere).collect();
                write!(f, "{}: in no tree", all.join(", and "))
            }
            Self::UnknownRecords { n_records } => write!(
                f,
                "{} of a kind that this version does not know, passed by",
                counted(*n_records, "record")
            ),
            Self::AbandonedCalls { n_calls } => write!(
                f,
                "{} never returned, though the thread went on: by a jump out of it, or in what it calls \
                 back",
                counted(*n_calls, "call")
            ),
            Self::StrayCompletions { n_completions } => write!(
                f,
                "{} of nonblocking collectives that fit none that is under way, passed by: \
                 records were lost or are damaged",
                counted(*n_completions, "completion")
            ),
            Self::SequenceConflict { n_chunks } => write!(
                f,
                "{} whose table says fewer calls than were recorded before; instances behind \
                 may be matched wrongly",
                counted(*n_chunks, "chunk")
            ),
            Self::NegativeCore {
                n_instances,
                n_of_one_clock,
            } => {
                write!(
                    f,
                    "{} that a process left before the last one came: ",
                    counted(*n_instances, "instance")
                )?;
                let not_all = "an operation that did not need all";
                match *n_of_one_clock {
                    0 => write!(f, "the error of the clocks, or {not_all}"),
                    n if n == *n_instances => f.write_str(not_all),
                    n => write!(
                        f,
                        "{not_all}, or, but for {n} on one host, the error of the clocks"
                    ),
                }
            }
            Self::ReceivedTooEarly {
                n_messages,
                n_paired,
                from,
                to,
                by_ns,
                uncertainty_ns,
            } => write!(
                f,
                "{n_messages} of {} were received before they were sent, from {} to {} by up to {}: one of \
                 these two clocks is off by more than the {} that is said, as where a path takes longer one \
                 way than back. What lies between them and other hosts is no better known than that",
                counted(*n_paired, "message"),
                inert::line(from, 40),
                inert::line(to, 40),
                duration(*by_ns),
                duration(*uncertainty_ns)
            ),
            Self::RecorderPauses {
                total_ns,
                longest_ns,
            } => write!(
                f,
                "recording held the processes up for {:.1} ms in all to make room, at most \
                 {:.1} ms at once; waits may show it",
                *total_ns as f64 / 1e6,
                *longest_ns as f64 / 1e6
            ),
            Self::Ring {
                n_calls,
                n_calls_made,
                n_instances,
            } => write!(
                f,
                "only the newest calls were kept, as asked for: {n_calls} of {n_calls_made}; {} \
                 of which some ranks had newer calls only, in no figure",
                counted(*n_instances, "instance")
            ),
            Self::Restricted => write!(f, "only a part of the run is shown, as asked for"),
        }
    }
}
