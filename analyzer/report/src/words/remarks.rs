//! Remarks in sentences.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{Blame, Remark, UnclosedTriangle, UnpairedMessages};
use collbench_text::{
    inert,
    quantity::{counted, duration},
};

use crate::words::hang;

/// What a remark on an analysis says.
pub(crate) fn remark(analysis: &Analysis, remark: &Remark) -> String {
    match remark {
        Remark::Incomplete { n_findings } => format!(
            "the trace is incomplete ({}): what is shown is what there is",
            counted(*n_findings, "finding")
        ),
        Remark::ManifestMissing => {
            "run.json is missing; the command shown is that of the lowest rank".to_owned()
        }
        Remark::BecameShorter { names } => {
            let shown = names.iter().take(3).map(|name| inert::line(name, 255));
            let mut shown: Vec<String> = shown.collect();
            if names.len() > shown.len() {
                shown.push(format!("{} more", names.len() - shown.len()));
            }
            let files = shown.join(", ");
            format!("{files}: became shorter while the trace was read; analysed as it is now")
        }
        Remark::ManifestUnreadable { error } => format!(
            "run.json cannot be used ({}); the command shown is that of the lowest rank",
            inert::line(error, 120)
        ),
        Remark::SpawnedSetAside { n_worlds, n_files } => format!(
            "{} of {} started by MPI_Comm_spawn set aside; only the first world is analysed",
            counted(*n_files, "file"),
            counted(*n_worlds, "world")
        ),
        Remark::ClocksNotAligned {
            n_hosts,
            n_groups,
            reason,
        } => clocks_not_aligned(*n_hosts, *n_groups, reason.as_deref()),
        Remark::ClocksApart { n_ranks, rank } => format!(
            "{} (the first is rank {rank}) differ in clock from the other ranks of the host, by \
             more than a message inside of it takes: each is shown as a host of its own",
            counted(*n_ranks, "rank")
        ),
        Remark::ExchangesEnded { n_ranks, reason } => format!(
            "measuring clocks against one another ended early on {}: {reason}",
            counted(*n_ranks, "rank")
        ),
        Remark::DriftNotKnown { n_hosts } => format!(
            "the clocks of {} were compared at one instant only, as those of a run that was \
             killed: how fast they drift is not known, so the error of times across hosts grows \
             by 100 us per second from there",
            counted(*n_hosts, "host")
        ),
        Remark::NoOffsetAtEnd { n_hosts } => format!(
            "the offsets of the clocks of {} were not measured at the end of the run: times \
             across hosts are less sure the later they are",
            counted(*n_hosts, "host")
        ),
        Remark::AlignmentNotConverged { n_hosts } => format!(
            "the clocks of {} were not fitted to rest by what was measured: their uncertainty \
             may be too small; compare with --alignment piecewise",
            counted(*n_hosts, "host")
        ),
        Remark::ClocksWander => {
            "the rates of the clocks change faster than those of free-running ones, as where a \
             daemon sets them; record with --clock raw or tsc"
                .to_owned()
        }
        Remark::ClockSlewed { host, ppb } => format!(
            "host {}: the system changed the rate of CLOCK_MONOTONIC by {:.2} ppm during the \
             run; record with --clock raw or tsc",
            inert::line(host, 40),
            *ppb as f64 / 1e3
        ),
        Remark::ClockUneven { host, step_ns } => format!(
            "host {}: its clocks are up to {:.1} us off one another: a clock stepped, or its time \
             stamp counter is not invariant; record with --clock raw",
            inert::line(host, 40),
            *step_ns as f64 / 1e3
        ),
        Remark::TriangleOpen(triangle) => triangle_open(triangle),
        Remark::ClockNotScaled { host } => format!(
            "host {}: its clock readings give no tick rate; ticks are shown as ns",
            inert::line(host, 40)
        ),
        Remark::CommunicatorConflict { n_communicators } => format!(
            "definitions of {} contradict one another; the first is used, calls by the \
             others are not matched",
            counted(*n_communicators, "communicator")
        ),
        Remark::MembersNotListed {
            communicator,
            n_others: 0,
        } => format!(
            "communicator {communicator}: too many unknown members; only known ones are listed"
        ),
        Remark::MembersNotListed {
            communicator,
            n_others,
        } => format!(
            "communicator {communicator} and {}: too many unknown members; only known ones \
             are listed",
            counted(*n_others as u64, "other")
        ),
        Remark::ShownTogether {
            n_communicators,
            n_entries,
        } => {
            format!("{n_communicators} communicators that were made alike are shown as {n_entries}")
        }
        Remark::UnknownAbi => {
            "the MPI library has an ABI that the recorder did not know: calls have times, but \
             no communicator and no payload"
                .to_owned()
        }
        Remark::UnknownCommunicator { n_calls } => format!(
            "{} on a communicator that is not known: counted, not matched",
            counted(*n_calls, "call")
        ),
        Remark::Mismatched { n_instances, first } => format!(
            "{} where the calls are not one collective, set aside; the first: {}",
            counted(*n_instances, "position"),
            hang::mismatch(analysis, &analysis.mismatches[*first])
        ),
        Remark::Waiting { n_ranks } => format!(
            "{} in a collective when the trace ended: {}",
            match n_ranks {
                1 => "1 rank was".to_owned(),
                n => format!("{n} ranks were"),
            },
            hang::sentences(analysis)
                .into_iter()
                .next()
                .unwrap_or_default()
        ),
        Remark::MismatchedSizes { n_instances, first } => format!(
            "{} where the sizes of one collective contradict one another; the first: {}",
            counted(*n_instances, "position"),
            hang::mismatch(analysis, &analysis.mismatches[*first])
        ),
        Remark::NeverCompleted { n_calls } => format!(
            "{} never completed before MPI_Finalize; the first: {}",
            match n_calls {
                1 => "1 nonblocking collective was begun and".to_owned(),
                n => format!("{n} calls began nonblocking collectives that were"),
            },
            (analysis.never_completed.first())
                .map_or_else(String::new, |first| hang::never_completed(analysis, first))
        ),
        Remark::IncompleteInstances { n_instances } => format!(
            "{} that not every process came to and left: counted as incomplete, in no \
             distribution per instance",
            counted(*n_instances, "instance")
        ),
        Remark::ImpossibleStamps { n_calls } => format!(
            "{} whose time stamps cannot be true: damage; counted, in no figure of time",
            counted(*n_calls, "call")
        ),
        Remark::FailedCalls {
            n_calls,
            n_instances,
        } => {
            let instances = match n_instances {
                0 => String::new(),
                1 => ": the instance with such calls is in no figure of time".to_owned(),
                n => format!(": the {n} instances with such calls are in no figure of time"),
            };
            let calls = counted(*n_calls, "call");
            format!("{calls} returned an error code{instances}")
        }
        Remark::PayloadUnknown { n_calls } => format!(
            "{} of unknown payload (a handle or type that the recorder could not read)",
            counted(*n_calls, "call")
        ),
        Remark::InternalCalls { n_calls } => format!(
            "{} by the MPI library, or by a tool in front of it, on its own behalf: recorded, \
             not counted",
            counted(*n_calls, "call")
        ),
        Remark::Opaque {
            n_instances,
            operations,
        } => format!(
            "{} of {} without a message in the trace, though messages were recorded: the data \
             went where the recorder does not see them (shared memory, hardware, requests that \
             the library sets up once and starts). Nothing is known of the trees of these",
            counted(*n_instances, "instance"),
            operations.join(", ")
        ),
        Remark::AlgorithmContradicted {
            n_instances,
            first: (operation, said, seen),
        } => format!(
            "{} with messages that the algorithm has not which the library named, most of \
             {operation}: {said}, whose graph is {seen}. They are told by what the library said; \
             `trees` has what went where, and `contradicted` counts them",
            counted(*n_instances, "instance"),
        ),
        Remark::UnpairedMessages(unpaired) => unpaired_messages(unpaired),
        Remark::UnknownRecords { n_records } => format!(
            "{} of a kind that this version does not know, passed by",
            counted(*n_records, "record")
        ),
        Remark::AbandonedCalls { n_calls } => format!(
            "{} never returned, though the thread went on: by a jump out of it, or in what it calls \
             back",
            counted(*n_calls, "call")
        ),
        Remark::StrayCompletions { n_completions } => format!(
            "{} of nonblocking collectives that fit none that is under way, passed by: \
             records were lost or are damaged",
            counted(*n_completions, "completion")
        ),
        Remark::SequenceConflict { n_chunks } => format!(
            "{} whose table says fewer calls than were recorded before; instances behind \
             may be matched wrongly",
            counted(*n_chunks, "chunk")
        ),
        Remark::NegativeCore {
            n_instances,
            n_of_one_clock,
        } => {
            let not_all = "an operation that did not need all";
            let why = match *n_of_one_clock {
                0 => format!("the error of the clocks, or {not_all}"),
                n if n == *n_instances => not_all.to_owned(),
                n => format!("{not_all}, or, but for {n} on one host, the error of the clocks"),
            };
            let instances = counted(*n_instances, "instance");
            format!("{instances} that a process left before the last one came: {why}")
        }
        Remark::ReceivedTooEarly {
            n_messages,
            n_paired,
            from,
            to,
            by_ns,
            uncertainty_ns,
        } => format!(
            "{n_messages} of {} were received before they were sent, from {} to {} by up to {}: one of \
             these two clocks is off by more than the {} that is said, as where a path takes longer one \
             way than back. What lies between them and other hosts is no better known than that",
            counted(*n_paired, "message"),
            inert::line(from, 40),
            inert::line(to, 40),
            duration(*by_ns),
            duration(*uncertainty_ns)
        ),
        Remark::RecorderPauses {
            total_ns,
            longest_ns,
        } => format!(
            "recording held the processes up for {:.1} ms in all to make room, at most \
             {:.1} ms at once; waits may show it",
            *total_ns as f64 / 1e6,
            *longest_ns as f64 / 1e6
        ),
        Remark::Ring {
            n_calls,
            n_calls_made,
            n_instances,
        } => format!(
            "only the newest calls were kept, as asked for: {n_calls} of {n_calls_made}; {} \
             of which some ranks had newer calls only, in no figure",
            counted(*n_instances, "instance")
        ),
        Remark::Restricted => "only a part of the run is shown, as asked for".to_owned(),
    }
}

fn clocks_not_aligned(n_hosts: usize, n_groups: usize, reason: Option<&str>) -> String {
    let group = if n_hosts == n_groups {
        "host".to_owned()
    } else {
        format!("of {n_groups} groups of hosts")
    };
    let mut sentence = format!(
        "{n_hosts} hosts, whose clocks are not aligned: times are compared within each {group} \
         only. Where an instance has processes on several of them, its lags and waits are against \
         processes of the same one (lower bounds), its duration is the longest of any, and its core \
         and who came last are not known"
    );
    if let Some(reason) = reason {
        sentence += &format!(". The recorder took no measurements: {reason}");
    }
    sentence
}

fn triangle_open(
    UnclosedTriangle {
        hosts: [a, b, c],
        n_triangles,
        gap_ns,
        error_ns,
        suspects,
        blame,
    }: &UnclosedTriangle,
) -> String {
    let mut sentence = format!(
        "the offsets measured between the hosts {}, {} and {} do not close: {:.1} us are left, the \
         error explains {:.1} us",
        inert::line(a, 40),
        inert::line(b, 40),
        inert::line(c, 40),
        *gap_ns as f64 / 1e3,
        *error_ns as f64 / 1e3,
    );
    if *n_triangles > 1 {
        sentence += &format!(" (and so in {} more triangles)", n_triangles - 1);
    }
    let path =
        |[one, other]: &[String; 2]| format!("{}-{}", inert::line(one, 40), inert::line(other, 40));
    let mut paths = suspects.iter().map(path);
    let first = paths.next().unwrap_or_default();
    let others: Vec<String> = paths.collect();
    let others = others.join(" or ");
    sentence += &match blame {
        Blame::OthersClose => format!(
            ". The path {first} takes longer one way than back: the others are also in triangles \
             that close, or too short for it"
        ),
        Blame::RoundTrip => format!(
            ". A path takes longer one way than back, most likely {first}, whose round trip is \
             longer by as much as that makes it; else {others}"
        ),
        Blame::Undecided => format!(
            ". A path takes longer one way than back: {first} or {others}; exchanges along more \
             paths would tell which"
        ),
    };
    sentence + ". The uncertainty has grown by that; the bounds hold"
}

fn unpaired_messages(
    UnpairedMessages {
        n_sends,
        n_receives,
        n_elsewhere,
        are_calls_missing,
        are_any_incomplete,
    }: &UnpairedMessages,
) -> String {
    let some = |n: u64, noun: &str| (n > 0).then(|| counted(n, noun));
    let unpaired = [some(*n_sends, "send"), some(*n_receives, "receive")];
    let unpaired: Vec<String> = unpaired.into_iter().flatten().collect();
    let is_one = n_sends + n_receives == 1;
    let has = if is_one { "has" } else { "have" };
    let unpaired = (!unpaired.is_empty()).then(|| {
        let ends = unpaired.join(" and ");
        format!(
            "inside complete instances {ends} of the library {has} no other end in the same one"
        )
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
    format!("{}: in no tree", all.join(", and "))
}
