//! The sentences of remarks.

use collbench_analyzer::Selection;
use collbench_analyzer::results::{
    Blame, CommunicatorSummary, MismatchSummary, MismatchedCallSummary, NeverCompletedSummary,
    UnclosedTriangle, UnpairedMessages, UnrecordedAccess,
};

use super::*;
use crate::words::nothing::nothing;

#[track_caller]
fn assert_each_says<const N: usize>(expected: [(Remark, &str); N]) {
    let analysis = analysis();
    for (found, sentence) in expected {
        assert_eq!(remark(&analysis, &found), sentence, "{found:?}");
    }
}

/// A remark about so many.
type About = fn(u8) -> Remark;

/// What is said of one and of two; `[one|two]` has the words that differ.
#[track_caller]
fn assert_each_says_of_one_and_two<const N: usize>(expected: [(About, &str); N]) {
    for (remark, sentence) in expected {
        let parts = || sentence.split(['[', ']']);
        let of = |n: usize| parts().map(move |part| part.split('|').nth(n).unwrap_or(part));
        let [one, two] = [0, 1].map(|n| of(n).collect::<String>());
        assert_each_says([(remark(1), &*one), (remark(2), &*two)]);
    }
}

fn calls(operation: &str, bytes: Option<u64>, ranks: &[u32]) -> MismatchedCallSummary {
    MismatchedCallSummary {
        operation: operation.to_owned().into(),
        root: None,
        bytes,
        ranks: ranks.to_vec(),
    }
}

fn mismatch(
    kind: &'static str,
    sequence: u64,
    calls: Vec<MismatchedCallSummary>,
) -> MismatchSummary {
    MismatchSummary {
        kind: kind.into(),
        communicator: 0,
        sequence,
        persistent: false,
        went_through: false,
        damaged: false,
        calls,
    }
}

/// One of three ranks in which two positions are mismatched and a call was never completed.
fn analysis() -> Analysis {
    let operations = vec![
        calls("MPI_Allreduce", None, &[1]),
        calls("MPI_Barrier", None, &[0, 2]),
    ];
    let sizes = vec![
        calls("MPI_Bcast", Some(1), &[0]),
        calls("MPI_Bcast", Some(8), &[1, 2]),
    ];
    Analysis {
        communicators: vec![CommunicatorSummary {
            id: 0,
            name: "MPI_COMM_WORLD".to_owned(),
            kind: "intra".into(),
            size: 3,
            count: 1,
            site: None,
            ranks: vec![Some(0), Some(1), Some(2)],
            groups: None,
        }],
        mismatches: vec![
            mismatch("operations", 4, operations),
            mismatch("sizes", 9, sizes),
        ],
        never_completed: vec![NeverCompletedSummary {
            operation: "MPI_Ibcast".into(),
            communicator: 0,
            sequence: 7,
            persistent: false,
            ranks: vec![0, 2],
        }],
        ..nothing()
    }
}

fn names(n: usize) -> Vec<String> {
    (0..n).map(|rank| format!("rank-{rank}.trace")).collect()
}

#[test]
fn what_there_is_of_the_trace() {
    assert_each_says([
        (
            Remark::UnrecordedAccess(UnrecordedAccess {
                is_io: true,
                n_calls: 480,
                total_ns: 6_700_000_000,
                percent: 79,
            }),
            "480 calls of MPI-IO took 6.70 s in all, 79 % of the time of the ranks, and were not \
             recorded one by one: --layers +io shows the collective ones",
        ),
        (
            Remark::UnrecordedAccess(UnrecordedAccess {
                is_io: false,
                n_calls: 1,
                total_ns: 2000,
                percent: 1,
            }),
            "1 call that synchronizes accesses to windows (RMA) took 2.00 us in all, 1 % of the \
             time of the ranks, and was not recorded: --layers +rma shows the collective ones",
        ),
        (
            Remark::ManifestMissing,
            "run.json is missing; the command shown is that of the lowest rank",
        ),
        (
            Remark::ManifestUnreadable {
                error: "line 1:\n\u{1b}[31mno".into(),
            },
            "run.json cannot be used (line 1:\\n\\u{1b}[31mno); the command shown is that \
             of the lowest rank",
        ),
        (
            Remark::BecameShorter { names: names(1) },
            "rank-0.trace became shorter while the trace was read; the analysis covers \
             what is left",
        ),
        (
            Remark::BecameShorter { names: names(3) },
            "rank-0.trace, rank-1.trace, rank-2.trace became shorter while the trace was \
             read; the analysis covers what is left",
        ),
        (
            Remark::BecameShorter { names: names(5) },
            "rank-0.trace, rank-1.trace, rank-2.trace and 2 more became shorter while the \
             trace was read; the analysis covers what is left",
        ),
        (
            Remark::SpawnedSetAside {
                n_worlds: 1,
                n_files: 1,
            },
            "1 file of 1 world started by MPI_Comm_spawn is left out: only the first world \
             is analyzed",
        ),
        (
            Remark::SpawnedSetAside {
                n_worlds: 2,
                n_files: 8,
            },
            "8 files of 2 worlds started by MPI_Comm_spawn are left out: only the first \
             world is analyzed",
        ),
        (
            Remark::RecorderPauses {
                total_ns: 12_340_000,
                longest_ns: 5_670_000,
            },
            "the recorder paused the processes for 12.3 ms in total to make room for \
             records, at most 5.7 ms at a time; this may appear as waits",
        ),
        (
            Remark::CoresShared {
                ranks: vec![0, 1, 2, 3],
                elapsed_ns: 4_000_000_000,
                on_core_ns: 1_000_000_000,
                n_lost: 900,
            },
            "ranks 0-3 were on their cores for 25 % of 4.00 s, and other threads got \
             these 900 times: more threads than cores could run. Start fewer ranks on a \
             host, or bind each to a core of its own",
        ),
        (
            Remark::Ring {
                n_calls: 10,
                n_calls_made: 40,
                n_instances: 1,
            },
            "only the newest calls were retained, as requested: 10 of 40; 1 instance that \
             some ranks no longer had is in no figure",
        ),
        (
            Remark::Ring {
                n_calls: 1,
                n_calls_made: 2,
                n_instances: 0,
            },
            "only the newest calls were retained, as requested: 1 of 2",
        ),
        (
            Remark::Restricted,
            "only a part of the run is shown, as requested",
        ),
    ]);
    assert_each_says_of_one_and_two([
        (
            |n| Remark::Incomplete {
                n_findings: n.into(),
            },
            "the trace is incomplete ([1 finding|2 findings]): the analysis covers what was \
             recorded",
        ),
        (
            |n| Remark::UnknownRecords {
                n_records: n.into(),
            },
            "[1 record|2 records] of a kind that this version does not know [is|are] ignored",
        ),
        (
            |n| Remark::SequenceConflict { n_chunks: n.into() },
            "[1 chunk has a table|2 chunks have tables] that [counts|count] fewer calls than were \
             recorded before: later instances may be matched wrongly",
        ),
    ]);
    let part = |selection| Analysis {
        restriction: Some(selection),
        ..analysis()
    };
    let some = Selection {
        operations: vec!["allreduce".into(), "MPI_Bcast".into()],
        ranks: vec![(0, 3)],
        from_ns: Some(1_190_000_000),
        to_ns: Some(1_200_000_000),
        ..Selection::default()
    };
    assert_eq!(
        remark(&part(some), &Remark::Restricted),
        "only a part of the run is shown, as requested: only allreduce and MPI_Bcast by ranks 0-3 \
         from 1.19 s to 1.2 s"
    );
    let other = Selection {
        communicators: vec!["4".into()],
        phase: Some(2),
        ..Selection::default()
    };
    assert_eq!(
        remark(&part(other), &Remark::Restricted),
        "only a part of the run is shown, as requested: only on communicator 4 in phases of level 2"
    );
}

#[test]
fn how_far_the_clocks_can_be_trusted() {
    assert_each_says([
        (
            Remark::ClocksNotAligned {
                n_hosts: 2,
                n_groups: 2,
                reason: None,
            },
            "the clocks of 2 hosts are not aligned: times are compared within each host \
             only. In an instance that spans several hosts, lags and waits are relative \
             to processes of the same host (lower bounds), the duration is the longest of \
             any host, and the core and the last rank to arrive are not known",
        ),
        (
            Remark::ClocksNotAligned {
                n_hosts: 5,
                n_groups: 2,
                reason: Some("no time".into()),
            },
            "the clocks of 5 hosts are not aligned: times are compared within each of 2 \
             groups of hosts only. In an instance that spans several groups, lags and \
             waits are relative to processes of the same group (lower bounds), the duration \
             is the longest of any group, and the core and the last rank to arrive are not known. \
             The recorder took no measurements: no time",
        ),
        (
            Remark::ClocksApart {
                n_ranks: 1,
                rank: 3,
            },
            "the clock of rank 3 differs from those of the other \
             ranks on the host by more than a message within the host takes: it is shown as \
             a separate host",
        ),
        (
            Remark::ClocksApart {
                n_ranks: 4,
                rank: 3,
            },
            "the clocks of 4 ranks (the first is rank 3) differ from those of the other \
             ranks on the host by more than a message within the host takes: each is shown \
             as a separate host",
        ),
        (
            Remark::ClocksWander,
            "the clock rates change faster than those of free-running clocks, as if a \
             daemon adjusted them; record with --clock raw or tsc",
        ),
        (
            Remark::ClockSlewed {
                host: "n01".into(),
                ppb: -12_345,
            },
            "host n01: the system changed the rate of CLOCK_MONOTONIC by -12.35 ppm during \
             the run; record with --clock raw or tsc",
        ),
        (
            Remark::ClockUneven {
                host: "n01".into(),
                step_ns: 1_250,
            },
            "host n01: its clocks differ by up to 1.2 us: a clock was stepped, or the time \
             stamp counter is not invariant; record with --clock raw",
        ),
        (
            Remark::ClockNotScaled { host: "n01".into() },
            "host n01: the clock readings do not give the tick rate; ticks are shown as ns",
        ),
    ]);
    assert_each_says_of_one_and_two([
        (
            |n| Remark::ExchangesEnded {
                n_ranks: n.into(),
                reason: "no time".into(),
            },
            "the measurement of clock offsets ended early on [1 rank|2 ranks]: no time",
        ),
        (
            |n| Remark::DriftNotKnown { n_hosts: n.into() },
            "the clocks of [1 host|2 hosts] were compared at one instant only, as in a run that \
             was killed: their drift is not known, so the error of times across hosts grows by \
             100 us per second from there",
        ),
        (
            |n| Remark::NoOffsetAtEnd { n_hosts: n.into() },
            "the clock offsets of [1 host|2 hosts] were not measured at the end of the run: the \
             later a time, the larger its error across hosts",
        ),
        (
            |n| Remark::AlignmentNotConverged { n_hosts: n.into() },
            "the clock fit of [1 host|2 hosts] did not converge: the uncertainty may be too \
             small; compare with --alignment piecewise",
        ),
    ]);
}

#[test]
fn which_path_of_a_triangle_is_longer_one_way() {
    let triangle = |n_triangles, n_suspects, blame| {
        let pairs = [["a", "b"], ["b", "c"], ["c", "a"]]
            .into_iter()
            .take(n_suspects);
        Remark::TriangleOpen(UnclosedTriangle {
            hosts: ["a", "b", "c"].map(str::to_owned),
            n_triangles,
            gap_ns: 40_250,
            error_ns: 1_500,
            suspects: pairs.map(|pair| pair.map(str::to_owned)).collect(),
            blame,
        })
    };
    assert_each_says([
        (
            triangle(1, 1, Blame::OthersClose),
            "the clock offsets measured between hosts a, b and c do not add up to zero: \
             40.2 us remain, the error explains 1.5 us. The path a-b takes longer in one \
             direction: the other paths are also in triangles that close, or are too short. \
             The uncertainty was increased accordingly; the bounds hold",
        ),
        (
            triangle(2, 3, Blame::RoundTrip),
            "the clock offsets measured between hosts a, b and c do not add up to zero: \
             40.2 us remain, the error explains 1.5 us (likewise in 1 more triangle). One \
             path takes longer in one direction, most likely a-b, whose round trip is \
             longer by that much; otherwise b-c or c-a. The uncertainty was increased \
             accordingly; the bounds hold",
        ),
        (
            triangle(3, 3, Blame::Undecided),
            "the clock offsets measured between hosts a, b and c do not add up to zero: \
             40.2 us remain, the error explains 1.5 us (likewise in 2 more triangles). One \
             path takes longer in one direction: a-b or b-c or c-a; exchanges along more \
             paths would show which. The uncertainty was increased accordingly; the bounds \
             hold",
        ),
    ]);
}

#[test]
fn what_is_not_known_of_communicators() {
    assert_each_says([
        (
            Remark::MembersNotListed {
                communicator: 5,
                n_others: 0,
            },
            "communicator 5: too many members are unknown; only known ones are listed",
        ),
        (
            Remark::ShownTogether {
                n_communicators: 100,
                n_entries: 1,
            },
            "100 communicators that were created alike are shown as 1",
        ),
        (
            Remark::UnknownAbi,
            "the recorder did not know the ABI of the MPI library: calls have times, but \
             no communicator and no payload",
        ),
    ]);
    assert_each_says_of_one_and_two([
        (
            |n| Remark::CommunicatorConflict {
                n_communicators: n.into(),
            },
            "the definitions of [1 communicator|2 communicators] contradict one another: the \
             first one is used, and calls by ranks with another one are not matched",
        ),
        (
            |n| Remark::MembersNotListed {
                communicator: 5,
                n_others: n.into(),
            },
            "communicator 5 and [1 other|2 others]: too many members are unknown; only known ones \
             are listed",
        ),
        (
            |n| Remark::UnknownCommunicator { n_calls: n.into() },
            "[1 call|2 calls] on an unknown communicator [is|are] counted, but not matched",
        ),
    ]);
}

#[test]
fn which_calls_are_no_instance_or_in_no_figure() {
    assert_each_says([
        (
            Remark::NeverCompleted { n_calls: 1 },
            "1 nonblocking collective was initiated and never completed before \
             MPI_Finalize; the first: MPI_Ibcast (call 7 on MPI_COMM_WORLD) by ranks 0, 2",
        ),
        (
            Remark::NeverCompleted { n_calls: 2 },
            "2 calls initiated nonblocking collectives that were never completed before \
             MPI_Finalize; the first: MPI_Ibcast (call 7 on MPI_COMM_WORLD) by ranks 0, 2",
        ),
        (
            Remark::FailedCalls {
                n_calls: 1,
                n_instances: 0,
            },
            "1 call returned an error code",
        ),
        (
            Remark::FailedCalls {
                n_calls: 2,
                n_instances: 1,
            },
            "2 calls returned an error code: the instance with such calls is in no figure \
             of time",
        ),
        (
            Remark::FailedCalls {
                n_calls: 3,
                n_instances: 2,
            },
            "3 calls returned an error code: the 2 instances with such calls are in no \
             figure of time",
        ),
    ]);
    assert_each_says_of_one_and_two([
        (
            |n| Remark::Mismatched {
                n_instances: n.into(),
                first: 0,
            },
            "the calls at [1 position|2 positions] do not match and are left out; the first: \
             different operations at call 4 on MPI_COMM_WORLD: MPI_Allreduce by rank 1; \
             MPI_Barrier by ranks 0, 2",
        ),
        (
            |n| Remark::MismatchedSizes {
                n_instances: n.into(),
                first: 1,
            },
            "the sizes do not match at [1 position|2 positions], first at call 9 on \
             MPI_COMM_WORLD: MPI_Bcast of 1 byte by rank 0; MPI_Bcast of 8 bytes by ranks 1-2",
        ),
        // What they wait in is a sentence of the hang, which there is none of here.
        (
            |n| Remark::Waiting { n_ranks: n.into() },
            "[1 rank was|2 ranks were] in a collective when the trace ended: ",
        ),
        (
            |n| Remark::IncompleteInstances {
                n_instances: n.into(),
            },
            "[1 instance was|2 instances were] not entered and left by every process: counted as \
             incomplete, and left out of the distributions per instance",
        ),
        (
            |n| Remark::ImpossibleStamps { n_calls: n.into() },
            "[1 call has|2 calls have] impossible time stamps (damage) and [is|are] counted, but \
             in no figure of time",
        ),
        (
            |n| Remark::PayloadUnknown { n_calls: n.into() },
            "the payload of [1 call|2 calls] is unknown (a handle or type that the recorder could \
             not read)",
        ),
        (
            |n| Remark::InternalCalls { n_calls: n.into() },
            "[1 call was|2 calls were] made internally by the MPI library, or by a tool on top of \
             it: recorded, not counted",
        ),
        (
            |n| Remark::AbandonedCalls { n_calls: n.into() },
            "[1 call|2 calls] never returned, though the thread continued: it jumped out of the \
             call, or out of a callback in it",
        ),
        (
            |n| Remark::StrayCompletions {
                n_completions: n.into(),
            },
            "[1 completion|2 completions] of nonblocking collectives [matches|match] no \
             outstanding one and [is|are] ignored: records are missing or damaged",
        ),
    ]);
}

#[test]
fn why_a_process_left_before_the_last_one_came() {
    assert_each_says([
        (
            Remark::NegativeCore {
                n_instances: 1,
                n_of_one_clock: 0,
            },
            "in 1 instance a process left before the last one arrived: clock error, or an \
             operation that did not need all processes",
        ),
        (
            Remark::NegativeCore {
                n_instances: 1,
                n_of_one_clock: 1,
            },
            "in 1 instance a process left before the last one arrived: an operation that \
             did not need all processes",
        ),
        (
            Remark::NegativeCore {
                n_instances: 3,
                n_of_one_clock: 2,
            },
            "in 3 instances a process left before the last one arrived: an operation that \
             did not need all processes, or (except in 2 on one host) clock error",
        ),
    ]);
}

#[test]
fn what_is_not_known_of_messages() {
    assert_each_says([
        (
            Remark::Opaque {
                n_instances: 1,
                operations: vec!["MPI_Barrier"],
            },
            "1 instance of MPI_Barrier has no message in the trace, though messages were \
             recorded: the data was sent where the recorder does not see it (shared memory, \
             hardware, persistent requests of the library). Its tree is not known",
        ),
        (
            Remark::InFinalize { n_instances: 3 },
            "3 collectives were called in callbacks of MPI_Finalize, in which messages are not recorded any \
             more. Their trees are not known",
        ),
        (
            Remark::PassesMissing {
                n_instances: 1,
                operations: vec!["MPI_Allreduce"],
            },
            "the paths of 1 instance of MPI_Allreduce are not known: passes of event collectors are \
             missing in the trace, or contradict one another",
        ),
        (
            Remark::Opaque {
                n_instances: 5,
                operations: vec!["MPI_Barrier", "MPI_Bcast"],
            },
            "5 instances of MPI_Barrier, MPI_Bcast have no message in the trace, though \
             messages were recorded: the data was sent where the recorder does not see it \
             (shared memory, hardware, persistent requests of the library). Their trees are \
             not known",
        ),
        (
            Remark::AlgorithmContradicted {
                n_instances: 1,
                first: ("MPI_Bcast".into(), "binomial".into(), "a chain".into()),
            },
            "the messages of 1 instance are not those of the algorithm that the library \
             named, most often in MPI_Bcast: named binomial, but the graph is a chain. The \
             name is shown; `trees` has the messages, and `contradicted` counts such \
             instances",
        ),
        (
            Remark::ReceivedTooEarly {
                n_messages: 3,
                n_paired: 40,
                from: "n01".into(),
                to: "n02".into(),
                by_ns: 12_300,
                uncertainty_ns: 800,
            },
            "3 of 40 messages were received before they were sent, from n01 to n02 by up \
             to 12.3 us: one of these two clocks is off by more than its stated error of \
             800 ns, for example because a path takes longer in one direction. Times \
             between them and other hosts are no more certain than that",
        ),
    ]);
}

#[test]
fn which_ends_of_messages_have_no_other_end() {
    let unpaired = |[n_sends, n_receives, n_elsewhere]: [u64; 3],
                    [missing, incomplete]: [bool; 2]| {
        Remark::UnpairedMessages(UnpairedMessages {
            n_sends,
            n_receives,
            n_elsewhere,
            are_calls_missing: missing,
            are_any_incomplete: incomplete,
        })
    };
    assert_each_says([
        (
            unpaired([1, 0, 0], [false, false]),
            "inside complete instances 1 send of the library has no matching end in the \
             same instance: left out of all trees",
        ),
        (
            unpaired([0, 2, 0], [false, false]),
            "inside complete instances 2 receives of the library have no matching end in \
             the same instance: left out of all trees",
        ),
        (
            unpaired([1, 2, 1], [false, false]),
            "inside complete instances 1 send and 2 receives of the library have no \
             matching end in the same instance, and 1 send is in no complete instance: left \
             out of all trees",
        ),
        (
            unpaired([0, 0, 1], [true, false]),
            "1 send of the library is in no complete instance (perhaps of calls on windows \
             or files, which were not recorded): left out of all trees",
        ),
        (
            unpaired([0, 0, 2], [false, true]),
            "2 sends of the library are in no complete instance (perhaps in incomplete \
             ones): left out of all trees",
        ),
        (
            unpaired([0, 1, 3], [true, true]),
            "inside complete instances 1 receive of the library has no matching end in the \
             same instance, and 3 sends are in no complete instance (perhaps in incomplete \
             ones, or of calls on windows or files, which were not recorded): left out of \
             all trees",
        ),
    ]);
}
