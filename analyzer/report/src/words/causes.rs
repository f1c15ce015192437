//! Causes in words: what costs most, how much shorter the run can be without it, and what to do next.

use std::cmp::Reverse;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CauseKind, CausePlace, Confidence, CostOf, Course, CourseKind, Culprit, FoundCause,
    LATE_RECEIVER_ASSUMED, LateBy, OperationCause, PeriodBasis,
};
use collbench_stats::integers::sum_ns;
use collbench_text::{
    inert,
    quantity::{counted, duration, share},
};

use crate::words::advice::ordinal;
use crate::words::operation_costs::{
    operation_cause, operation_cause_next, payload, untold_operation,
};
use crate::words::{
    arrivals, call_sites, communicator, communicator_with, part_of_run, slow_operation, why_late,
};

#[cfg(test)]
mod tests;

/// Most causes that are named.
const MOST: usize = 4;
/// Part of the run by which it can be shorter without a cause from which on that comes before what takes time in
/// messages: one in so many.
const NOTABLE: i64 = 50;
/// What is left of a run before or after a course that goes from its begin or to its end, at most: one part in
/// so many.
const WHOLE: i64 = 20;

/// The causes that matter, those first without which the run can be shortest; with what to do about the
/// first, and, where that is about cores, about the next one. Empty where none matters.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let causes = in_order(analysis);
    // How a run was started hides nothing of what it does.
    let mut n_others = 0;
    let mut is_shown = |cause: &FoundCause| {
        n_others += usize::from(!is_of_cores(cause));
        is_of_cores(cause) || n_others <= MOST
    };
    let n_all = causes.len();
    let causes: Vec<_> = causes.into_iter().filter(|cause| is_shown(cause)).collect();
    let n_more = n_all - causes.len();
    let mut is_next_told = false;
    let mut sentences = Vec::new();
    for cause in &causes {
        sentences.push(sentence(analysis, cause));
        if !is_next_told {
            sentences.push(format!("next: {}", next(analysis, cause)));
            is_next_told = !is_of_cores(cause);
        }
    }
    if n_more > 0 {
        let more = counted(n_more as u64, "more cause");
        sentences.push(match analysis.running {
            Some(_) => format!("and {more}"),
            None => format!("and {more}: see causes in the JSON (--format json)"),
        });
    }
    let mut shorter = causes.iter().filter_map(|cause| shorter(analysis, cause));
    if share_cores(analysis) && shorter.next().is_some() {
        sentences.push(
            "as ranks share cores, the run can become shorter than that: a rank that waits may take a core from \
             one that computes"
                .to_owned(),
        );
    }
    if !sentences.is_empty() {
        let unexplained = analysis.operation_costs.unexplained.first();
        sentences.extend(unexplained.map(|unexplained| untold_operation(analysis, unexplained)));
    }
    sentences
}

/// The causes that are named, those first without which the run can be shortest. How much is gained if ranks share no cores,
/// waits do not tell: that comes after what is known of ranks, hosts and algorithms.
fn in_order(analysis: &Analysis) -> Vec<&FoundCause> {
    let mut causes: Vec<&FoundCause> = named(analysis).collect();
    // Equal in the percents that are told: what costs more first.
    let span_ns = i128::from(analysis.looked_at.span_ns().max(1));
    let percents = |ns: i64| (i128::from(ns) * 200 / span_ns + 1) / 2;
    causes.sort_by_key(|cause| {
        let shorter = cause.run_shorter_ns.map(percents);
        Reverse((shorter, cause.cost_ns))
    });
    let is_known = |cause: &&FoundCause| {
        let is_late = cause.kind == CauseKind::LateRank;
        let is_found = is_late || is_at_some(cause) || cause.explained_by.is_some();
        is_found && is_notable(analysis, cause)
    };
    if let Some(last) = causes.iter().rposition(is_known) {
        causes[..=last].sort_by_key(|cause| is_of_cores(cause));
    }
    causes
}

/// Whether a cause is at ranks, hosts or links.
fn is_at_some(cause: &FoundCause) -> bool {
    match cause.place {
        None | Some(CausePlace::Communicator(_)) => !cause.ranks.is_empty(),
        Some(_) => true,
    }
}

/// Whether the run can be notably shorter without a cause.
fn is_notable(analysis: &Analysis, cause: &FoundCause) -> bool {
    let shorter_ns = cause.run_shorter_ns.unwrap_or(0);
    shorter_ns.saturating_mul(NOTABLE) >= analysis.looked_at.span_ns()
}

/// Whether the first of them is at ranks, hosts or links, and the run can be notably shorter without it.
pub(crate) fn begin_with_a_culprit(analysis: &Analysis) -> bool {
    let causes = in_order(analysis);
    let mut first = causes.first().into_iter();
    first.any(|cause| is_at_some(cause) && is_notable(analysis, cause))
}

/// Whether ranks share fewer cores than they are: a rank that waits may then keep others from computing.
fn share_cores(analysis: &Analysis) -> bool {
    !analysis.trace.shared_cores.is_empty()
}

/// Whether it is that ranks share fewer cores than they are.
fn is_of_cores(cause: &FoundCause) -> bool {
    cause.kind == CauseKind::Algorithm && cause.by == Some(LateBy::Preempted)
}

/// Whether a cause that is named says for whom ranks wait in point-to-point communication.
pub(crate) fn explain_messages(analysis: &Analysis) -> bool {
    named(analysis).any(|cause| {
        let mut alike = alike(analysis, cause);
        cause.of == CostOf::PointToPoint || alike.any(|other| other.of == CostOf::PointToPoint)
    })
}

/// Whether any cause arises at a rank or host.
pub(crate) fn are_at(analysis: &Analysis, culprit: &Culprit) -> bool {
    let mut causes = analysis.causes.iter();
    causes.any(|cause| is_at_culprit(analysis, cause, culprit))
}

/// Whether a cause arises at a rank or host.
fn is_at_culprit(analysis: &Analysis, cause: &FoundCause, culprit: &Culprit) -> bool {
    let host_of = |rank| {
        let mut ranks = analysis.ranks.iter();
        let found = ranks.find(|of| of.rank == rank)?;
        Some(&*found.host)
    };
    cause.is_at(culprit, host_of)
}

/// Of the causes that the verdict names, the first one for which a rank or host arrives last at an operation: one before this
/// operation, or else one that arises there.
pub(crate) fn first_named<'a>(
    analysis: &'a Analysis,
    culprit: &Culprit,
    (name, communicator): (&str, Option<usize>),
) -> Option<&'a FoundCause> {
    let causes = in_order(analysis);
    let is_at = |cause: &&&FoundCause| is_at_culprit(analysis, cause, culprit);
    let is_among = |cause: &FoundCause| match culprit {
        Culprit::Rank(rank) => cause.ranks.contains(rank),
        Culprit::Ranks(ranks) => cause.ranks == *ranks,
        _ => false,
    };
    // One rank after the other, or some of them, this one too.
    let is_one_of = |cause: &FoundCause| {
        matches!(cause.place, Some(CausePlace::Communicator(_)))
            && (is_among(cause) || cause.kind == CauseKind::LateRank && cause.ranks.is_empty())
    };
    let is_before = |cause: &FoundCause| {
        let of = cause.operation.and_then(|of| analysis.operations.get(of));
        of.is_some_and(|of| &*of.operation == name && of.communicator == communicator)
    };
    let here = causes
        .iter()
        .find(|cause| is_before(cause) && (is_at(cause) || is_one_of(cause)));
    here.or_else(|| causes.iter().find(is_at)).copied()
}

/// The causes that are named; of what costs operation time and waits once, as what shortens the run more.
fn named(analysis: &Analysis) -> impl Iterator<Item = &FoundCause> {
    let rank = |cause: &FoundCause| {
        let is_before_the_end = cause.of != CostOf::Finalize;
        (
            cause.run_shorter_ns,
            is_before_the_end,
            cause.cost_ns,
            cause.of,
        )
    };
    let is_first = move |cause: &FoundCause| {
        let mut alike = alike(analysis, cause);
        alike.all(|other| rank(other) <= rank(cause))
    };
    let matters = move |cause: &FoundCause| {
        let mut alike = alike(analysis, cause);
        cause.matters || alike.any(|other| other.matters)
    };
    let causes = analysis.causes.iter();
    causes.filter(move |cause| matters(cause) && is_first(cause))
}

/// The other costs of what explains a cause.
fn alike<'a>(analysis: &'a Analysis, cause: &FoundCause) -> impl Iterator<Item = &'a FoundCause> {
    let (reason, of) = (cause.explained_by, cause.of);
    let (place, ranks) = (cause.place.clone(), cause.ranks.clone());
    // Who is late to collectives, and to messages or to completing calls as well.
    let is_same = move |other: &FoundCause| {
        let is_to_both = other.of != of;
        let is_there = if ranks.is_empty() {
            matches!(place, Some(CausePlace::Rank(_))) && other.place == place
        } else {
            other.ranks == ranks
        };
        is_to_both && is_there && !is_once(other) && is_own_work(other)
    };
    let are_cores = is_of_cores(cause);
    let is_own = is_own_work(cause) && !is_once(cause);
    let causes = analysis.causes.iter();
    causes.filter(move |other| {
        let is_explained = reason.is_some() && other.explained_by == reason && other.of != of;
        let are_cores = are_cores && is_of_cores(other) && other.of != of;
        is_explained || are_cores || is_own && is_same(other)
    })
}

/// Whether it is that ranks take longer for their own work, be it that they have more of it or lose their cores.
fn is_own_work(cause: &FoundCause) -> bool {
    matches!(
        cause.by,
        Some(LateBy::Computing | LateBy::Sleeping | LateBy::Preempted)
    )
}

/// Whether it is about the time before the first collective, or behind the last one.
fn is_once(cause: &FoundCause) -> bool {
    is_at(cause, CourseKind::AtStart) || is_at(cause, CourseKind::AtEnd)
}

fn is_at(cause: &FoundCause, when: CourseKind) -> bool {
    cause.course.is_some_and(|course| course.kind == when)
}

/// Whether ranks wait in calls that are no instances of a collective: in point-to-point communication, or in completing
/// calls.
fn is_in_other_calls(cause: &FoundCause) -> bool {
    matches!(cause.of, CostOf::PointToPoint | CostOf::OperationTime)
}

/// A cause with its cost.
pub(crate) fn sentence(analysis: &Analysis, cause: &FoundCause) -> String {
    let evidence = evidence(analysis, cause).map_or_else(String::new, |words| format!("; {words}"));
    let what = what(analysis, cause);
    format!("{what}{evidence}; {}", costs(analysis, cause))
}

/// The cost of a cause.
fn costs(analysis: &Analysis, cause: &FoundCause) -> String {
    let of = match cause.of {
        CostOf::Waiting => "of waiting",
        CostOf::OperationTime => "in collectives",
        CostOf::PointToPoint => "of waiting in point-to-point communication",
        CostOf::Finalize => "of waiting in MPI_Finalize",
    };
    let mut words = format!("costs {} {of}", duration(cause.cost_ns));
    if let Some(part) = cause.share {
        words += &format!(" ({} {}", share(part), part_of_run::of_its_time(analysis));
        if cause.propagated_ns > cause.cost_ns / 10 {
            let later = duration(cause.propagated_ns);
            words += &format!("; {later} of it in later operations");
        }
        words += ")";
    }
    if let Some(other) = alike(analysis, cause).find(|other| other.matters) {
        let of = match other.of {
            CostOf::Waiting if matches!(cause.of, CostOf::PointToPoint | CostOf::Finalize) => {
                "of waiting in collectives"
            }
            CostOf::Waiting => "of waiting in what follows",
            CostOf::OperationTime => "in collectives",
            CostOf::PointToPoint => "of waiting in point-to-point communication",
            CostOf::Finalize => "of waiting in MPI_Finalize",
        };
        let part = other
            .share
            .map_or_else(String::new, |part| format!(" ({})", share(part)));
        words += &format!(" and {} {of}{part}", duration(other.cost_ns));
    }
    if let Some(shorter) = shorter(analysis, cause) {
        words += &format!(", without it {shorter} shorter");
    }
    if cause.kind != CauseKind::Imbalance && cause.confidence == Confidence::Likely {
        words += if is_assumed(analysis, cause) {
            " (likely: messages were not recorded, and payloads may be large enough for senders to wait for receivers)"
        } else {
            " (likely)"
        };
    }
    words
}

/// By how much the run could be shorter without a cause: `the run could be up to 12 %`; `None` where it is not known, or too little
/// to tell. Where ranks share cores, that is no bound.
fn shorter(analysis: &Analysis, cause: &FoundCause) -> Option<String> {
    let span_ns = analysis.looked_at.span_ns();
    let shorter_ns = cause.run_shorter_ns.filter(|&ns| ns > 0 && span_ns > 0)?;
    if is_of_cores(cause) {
        return None;
    }
    let what = if part_of_run::is_span(analysis) {
        "this part"
    } else {
        "the run"
    };
    let part = share((shorter_ns.min(span_ns) as f64) / span_ns as f64);
    match (part.strip_prefix('<'), share_cores(analysis)) {
        (Some(_), true) => None,
        (Some(less), false) => Some(format!("{what} would be less than {less}")),
        (None, true) => Some(format!("{what} could be about {part}")),
        (None, false) => Some(format!("{what} could be up to {part}")),
    }
}

/// Whether most of the waits in its operation are assumed.
fn is_assumed(analysis: &Analysis, cause: &FoundCause) -> bool {
    let operation = cause
        .operation
        .and_then(|index| analysis.operations.get(index));
    operation.is_some_and(|of| {
        let assumed_ns = of
            .wait_states
            .get(LATE_RECEIVER_ASSUMED)
            .copied()
            .unwrap_or(0);
        let waits_ns = of.wait_ns.as_ref().map_or(0, |wait| wait.total);
        cause.of == CostOf::Waiting && assumed_ns.saturating_mul(2) > waits_ns
    })
}

/// What a cause is, and where: the sentence without evidence and cost.
pub(crate) fn what(analysis: &Analysis, cause: &FoundCause) -> String {
    if let Some(why) = explanation(analysis, cause) {
        let called = call_sites::place(analysis, cause.site);
        let called = called.map_or_else(String::new, |place| format!("; called at {place}"));
        return operation_cause(analysis, why) + &called;
    }
    let at = place(analysis, cause);
    let before = operation(analysis, cause).map_or_else(String::new, |of| format!(" before {of}"));
    let mut words = match cause.kind {
        CauseKind::LateRank | CauseKind::Imbalance if is_at(cause, CourseKind::AtStart) => {
            late_at_start(analysis, cause)
        }
        CauseKind::LateRank | CauseKind::Imbalance if is_at(cause, CourseKind::AtEnd) => {
            late_at_end(analysis, cause)
        }
        CauseKind::LateRank | CauseKind::Imbalance if is_in_other_calls(cause) => {
            let is_several = !cause.ranks.is_empty();
            let whom = if is_several {
                inert::ranks(&cause.ranks)
            } else {
                at
            };
            let did = match cause.by {
                _ if is_several => they_did(analysis, cause),
                Some(LateBy::Sleeping) => "sleeps or is stopped".to_owned(),
                Some(LateBy::Preempted) => "is preempted".to_owned(),
                _ => format!("computes longer{}", interrupted(analysis, false)),
            };
            let in_what = match cause.of {
                CostOf::PointToPoint => "in point-to-point communication".to_owned(),
                _ => {
                    let of = operation(analysis, cause);
                    let of = of.unwrap_or_else(|| "nonblocking collectives".to_owned());
                    format!("in the calls that complete {of}")
                }
            };
            format!("others wait {in_what} for {whom}, which {did}")
        }
        CauseKind::Imbalance if !cause.ranks.is_empty() => {
            let who = inert::ranks(&cause.ranks);
            let did = they_did(analysis, cause);
            let comma = comma(&did, &before);
            let course = cause.course.as_ref().map(|course| course.kind);
            if course == Some(CourseKind::Period) {
                return format!(
                    "{who} of {at} are late together: they {did}{comma}{before}{}",
                    cause.course.as_ref().and_then(period).unwrap_or_default()
                );
            }
            format!(
                "{who} have more to do than the other ranks of {at}, all of them alike: they {did}{comma}{before}"
            )
        }
        CauseKind::LateRank | CauseKind::LateHost => {
            let who = match (&cause.place, &cause.course) {
                (Some(CausePlace::Communicator(_)), Some(_)) => {
                    format!("one rank after the other on {at}")
                }
                _ => at,
            };
            let few = match cause.largest {
                Some((ns, at_ns)) if ns > cause.direct_ns / 2 && cause.instances > 0 => {
                    format!(", mostly once, when it arrived at {}", duration(at_ns))
                }
                _ => String::new(),
            };
            let did = did(analysis, cause);
            let comma = comma(&did, &before);
            format!("{who} is late: {did}{comma}{before}{few}")
        }
        CauseKind::SlowHop | CauseKind::SlowLink => format!("messages {at} take long"),
        CauseKind::Algorithm if is_of_cores(cause) => {
            let of = operation(analysis, cause).unwrap_or_else(|| "collectives".to_owned());
            format!(
                "{}: some leave {of} later than others, while these have their cores, and are late for what follows",
                shared_cores(analysis)
            )
        }
        CauseKind::Algorithm if cause.of == CostOf::Finalize => {
            let of = operation(analysis, cause).unwrap_or_else(|| "collectives".to_owned());
            format!("some ranks leave {of} later than others, and are late for MPI_Finalize")
        }
        CauseKind::Algorithm
        | CauseKind::Placement
        | CauseKind::Transfer
        | CauseKind::Serialization
        | CauseKind::NoProgress => {
            let of = operation(analysis, cause).unwrap_or_else(|| "collectives".to_owned());
            let known = cause
                .operation
                .and_then(|index| analysis.operations.get(index));
            let known = known.and_then(|of| slow_operation::evidence(analysis, of));
            let known = known.map_or_else(String::new, |known| format!(": {known}"));
            format!("some ranks leave {of} later than others, and are late for what follows{known}")
        }
        CauseKind::Imbalance if cause.by == Some(LateBy::PointToPoint) => {
            format!(
                "point-to-point communication{before} takes some ranks of {at} longer than others{}",
                none_stands_out(analysis, cause, &longest_wait(analysis, cause))
            )
        }
        CauseKind::Imbalance => {
            let most = call_sites::place(analysis, cause.site).and(operation(analysis, cause));
            let most = most.map_or_else(String::new, |of| format!(", the most before {of}"));
            let before = match cause.of {
                CostOf::Finalize => " before MPI_Finalize",
                _ => "",
            };
            let none = none_stands_out(analysis, cause, &most);
            format!("work differs between the ranks of {at}{before}{none}")
        }
        CauseKind::Startup => "ranks began at different times".to_owned(),
        CauseKind::Recorder => "the recorder paused ranks".to_owned(),
        CauseKind::Unresolved => "waits are shorter than the clocks resolve".to_owned(),
        CauseKind::Unexplained => "the cause lies before what is known of the run".to_owned(),
        CauseKind::Newer => "a cause that a newer version found".to_owned(),
    };
    if let Some(course) = &cause.course {
        words += &self::course(analysis, course);
    }
    words
}

/// What stands between two commas ends with one, too.
fn comma(did: &str, before: &str) -> &'static str {
    if did.contains(',') && !before.is_empty() {
        ","
    } else {
        ""
    }
}

/// What a late rank or host does.
fn did(analysis: &Analysis, cause: &FoundCause) -> String {
    match (cause.by, cause.partner) {
        (Some(LateBy::Computing), _) if analysis.running.is_some() => {
            "it computes more than the others".to_owned()
        }
        (Some(LateBy::Computing), _) => {
            "it computes longer than the others, or is interrupted".to_owned()
        }
        (Some(LateBy::Sleeping), _) => "it sleeps or is stopped".to_owned(),
        (Some(LateBy::Preempted), _) => "it is preempted".to_owned(),
        (Some(LateBy::PointToPoint), Some(partner)) => {
            let polls = if cause.confidence == Confidence::Likely {
                ", or polls for its messages"
            } else {
                ""
            };
            let origin = cause.origin.map_or_else(String::new, |origin| {
                format!(", which waits for rank {origin} in turn, directly or through others")
            });
            format!("it waits in point-to-point communication with rank {partner}{polls}{origin}")
        }
        (Some(LateBy::PointToPoint), None) if cause.confidence == Confidence::Likely => {
            "it waits in point-to-point communication, or polls for messages".to_owned()
        }
        (Some(LateBy::PointToPoint), None) => "it waits in point-to-point communication".to_owned(),
        (Some(LateBy::Io), _) => "it reads or writes files longer".to_owned(),
        (Some(LateBy::Rma), _) => "it is longer in one-sided communication".to_owned(),
        (Some(LateBy::Newer) | None, _) => "it arrives after the others".to_owned(),
    }
}

/// That no rank stands out, with what is known of those that do the most; who arrives last all the same if one does always.
fn none_stands_out(analysis: &Analysis, cause: &FoundCause, most: &str) -> String {
    match arrivals::in_all(analysis, cause.communicator).filter(|_| cause.communicator.is_some()) {
        Some((last, _)) => format!("{most}; {last}"),
        None => format!(", and none stands out{most}"),
    }
}

/// Who waits longest in point-to-point communication, and for whom, where that is known.
fn longest_wait(analysis: &Analysis, cause: &FoundCause) -> String {
    let ranks = analysis.ranks.iter();
    let waiting = ranks.filter_map(|rank| Some((rank.point_to_point_ns?, rank.rank)));
    match (waiting.max(), cause.partner, cause.origin) {
        (Some((_, rank)), Some(partner), Some(origin)) => format!(
            ": in a chain of messages rank {rank} waits longest, for rank {partner}, which waits for rank {origin} \
             in turn, directly or through others"
        ),
        (Some((_, rank)), Some(partner), None) => {
            format!(": rank {rank} waits longest, most with rank {partner}")
        }
        _ => String::new(),
    }
}

/// Where ranks share fewer cores than they are: "8 ranks share 2 cores of host vm".
fn shared_cores(analysis: &Analysis) -> String {
    let hosts = &analysis.trace.shared_cores;
    let words = hosts.first().map_or_else(String::new, |of| {
        format!(
            "{} share {} of host {}",
            counted(u64::from(of.ranks), "rank"),
            counted(u64::from(of.cores), "core"),
            inert::line(&of.host, 60)
        )
    });
    match hosts.len().saturating_sub(1) {
        0 => words,
        n => format!(
            "{words}, and likewise on {}",
            counted(n as u64, "more host")
        ),
    }
}

/// What several ranks do that are late alike.
fn they_did(analysis: &Analysis, cause: &FoundCause) -> String {
    match cause.by {
        Some(LateBy::Computing) => format!("compute longer{}", interrupted(analysis, true)),
        Some(LateBy::Sleeping) => "sleep or are stopped".to_owned(),
        Some(LateBy::Preempted) => "are preempted".to_owned(),
        Some(LateBy::PointToPoint) => "wait in point-to-point communication".to_owned(),
        Some(LateBy::Io) => "read or write files longer".to_owned(),
        Some(LateBy::Rma) => "are longer in one-sided communication".to_owned(),
        Some(LateBy::Newer) | None => "arrive after the others".to_owned(),
    }
}

/// That ranks which do not compute may be interrupted instead, where that is not known.
fn interrupted(analysis: &Analysis, is_several: bool) -> &'static str {
    match (&analysis.running, is_several) {
        (Some(_), _) => "",
        (None, false) => ", or is interrupted",
        (None, true) => ", or are interrupted",
    }
}

/// Who is late for the first collective, and what was done until then.
fn late_at_start(analysis: &Analysis, cause: &FoundCause) -> String {
    let (who, is, it) = match cause.ranks.len() {
        0 => (place(analysis, cause), "is", "it"),
        _ => (inert::ranks(&cause.ranks), "are", "they"),
    };
    let first = operation(analysis, cause).map_or_else(String::new, |of| format!(" ({of})"));
    let late_ns = cause.course.and_then(|course| course.late_ns);
    let by = late_ns.map_or_else(String::new, |ns| format!(" by {}", duration(ns)));
    let did = did_once(cause, "computing, reading input, ...");
    format!(
        "{who} {is} late for the first collective{first}{by}: since MPI_Init {it} {is} longer {did}"
    )
}

/// Who waits in MPI_Finalize for whom, and what was done since the last collective.
fn late_at_end(analysis: &Analysis, cause: &FoundCause) -> String {
    let (late, whom) = match cause.rank() {
        Some(rank) => (vec![rank], format!("rank {rank}: it is")),
        None => {
            let whom = format!("{}: they are", inert::ranks(&cause.ranks));
            (cause.ranks.clone(), whom)
        }
    };
    let least_ns = cause.course.and_then(|course| course.late_ns).unwrap_or(0) / 2;
    let ranks = analysis.ranks.iter();
    let waits = ranks.filter_map(|of| Some((of.rank, of.finalize_wait_ns?)));
    let waits = waits.filter(|(rank, ns)| !late.contains(rank) && *ns >= least_ns);
    let (waiting, waits): (Vec<u32>, Vec<i64>) = waits.unzip();
    let who = match waiting.len() {
        0 => "other ranks wait".to_owned(),
        1 => format!("{} waits", inert::ranks(&waiting)),
        _ => format!("{} wait", inert::ranks(&waiting)),
    };
    let mean = (!waits.is_empty()).then(|| sum_ns(waits.iter().copied()) / waits.len() as i64);
    let each = if waits.len() > 1 { " each" } else { "" };
    let long = mean.map_or_else(String::new, |ns| format!(" some {}{each}", duration(ns)));
    let did = did_once(cause, "computing, writing output, ...");
    format!("{who}{long} in MPI_Finalize for {whom} longer {did} after the last collective")
}

/// What a rank that is late once was longer in.
fn did_once(cause: &FoundCause, outside: &str) -> String {
    match (cause.by, cause.partner) {
        (Some(LateBy::PointToPoint), Some(partner)) => {
            format!("in point-to-point communication with rank {partner}")
        }
        (Some(LateBy::PointToPoint), None) => "in point-to-point communication".to_owned(),
        (Some(LateBy::Io), ..) => "in MPI-IO".to_owned(),
        (Some(LateBy::Rma), ..) => "in one-sided communication".to_owned(),
        _ => format!("outside of MPI ({outside})"),
    }
}

/// How a cause is distributed over the run.
fn course(analysis: &Analysis, course: &Course) -> String {
    let from = course.from_ns.map(duration);
    let to = course.to_ns.map(duration);
    match (course.kind, from, to) {
        (CourseKind::Period, ..) => period(course).unwrap_or_default(),
        (CourseKind::Growth, ..) => course.slope_ns_per_s.map_or_else(String::new, |slope| {
            let verb = if slope < 0 {
                "less and less"
            } else {
                "more and more"
            };
            let slope = duration(slope.saturating_abs());
            format!(", {verb} ({slope} per instance and second)")
        }),
        (CourseKind::Starts, Some(from), _) => format!(", from {from} on"),
        (CourseKind::Ends, _, Some(to)) => format!(", until {to}"),
        (CourseKind::Moves, Some(from), Some(to)) => {
            let part = &analysis.looked_at;
            let near_ns = part.span_ns() / WHOLE;
            let is_from_begin = course
                .from_ns
                .is_some_and(|ns| ns <= part.from_ns + near_ns);
            let is_to_end = course.to_ns.is_some_and(|ns| ns >= part.to_ns - near_ns);
            match (is_from_begin, is_to_end) {
                (true, true) if part_of_run::is_span(analysis) => {
                    ", throughout this part".to_owned()
                }
                (true, true) => ", throughout the run".to_owned(),
                (true, false) => format!(", until {to}"),
                (false, true) => format!(", from {from} on"),
                (false, false) => format!(", from {from} to {to}"),
            }
        }
        (CourseKind::OneCommunicator, ..) => ", on one of several communicators alike".to_owned(),
        _ => String::new(),
    }
}

/// A period in time or in steps of the program, or that it may be either.
fn period(course: &Course) -> Option<String> {
    let period = duration(course.period_ns?);
    let steps = course.every.map(|every| {
        let every_one = match every {
            1 => "every".to_owned(),
            _ => format!("every {}", ordinal(every)),
        };
        match course.calls_per_iteration {
            Some(1) => format!("at {every_one} call"),
            Some(_) => format!("in {every_one} iteration of the program's loop"),
            None => format!("at {every_one} collective"),
        }
    });
    Some(match (course.basis, steps) {
        (Some(PeriodBasis::Steps), Some(steps)) => format!(", {steps}"),
        (None, Some(steps)) => {
            format!(", every {period} or {steps} (its steps are too regular to tell)")
        }
        _ => format!(", every {period}"),
    })
}

/// Whether something recurs in time, and not in steps of the program.
fn in_time(course: Course) -> bool {
    course.kind == CourseKind::Period && course.basis == Some(PeriodBasis::Time)
}

/// Where a cause is.
fn place(analysis: &Analysis, cause: &FoundCause) -> String {
    match &cause.place {
        Some(CausePlace::Rank(rank)) => format!("rank {rank}"),
        Some(CausePlace::Host(host)) => format!("host {}", inert::line(host, 60)),
        Some(CausePlace::Hosts { from, to }) => format!(
            "between hosts {} and {}",
            inert::line(from, 60),
            inert::line(to, 60)
        ),
        Some(CausePlace::Ranks { from, to }) => format!("between ranks {from} and {to}"),
        Some(CausePlace::Node(rank)) => format!("at rank {rank}"),
        Some(CausePlace::Communicator(id)) => communicator(analysis, *id, 30),
        None => String::new(),
    }
}

/// The operation in which a cause costs the most.
fn operation(analysis: &Analysis, cause: &FoundCause) -> Option<String> {
    if cause.of == CostOf::Finalize && cause.operation.is_none() {
        return Some("MPI_Finalize".to_owned());
    }
    let found = |cause: &FoundCause| analysis.operations.get(cause.operation?);
    let operation = found(cause)?;
    let called_at = call_sites::at(analysis, cause.site);
    // Of two that would be called alike, their payloads tell which is which.
    let is_alike = |other: &FoundCause| {
        other.operation != cause.operation
            && found(other).is_some_and(|of| {
                of.operation == operation.operation && of.communicator == operation.communicator
            })
            && call_sites::at(analysis, other.site) == called_at
    };
    let payload = payload(operation).filter(|_| named(analysis).any(is_alike));
    let (completion, initiated) = if cause.is_completing {
        ("the completion of ", ", initiated")
    } else {
        ("", "")
    };
    let initiated = if called_at.is_empty() { "" } else { initiated };
    Some(format!(
        "{completion}{} on {}{initiated}{called_at}",
        operation.operation,
        communicator_with(analysis, operation.communicator, 30, payload),
    ))
}

fn explanation<'a>(analysis: &'a Analysis, cause: &FoundCause) -> Option<&'a OperationCause> {
    analysis.operation_costs.causes.get(cause.explained_by?)
}

/// What to do about a cause.
pub(crate) fn next(analysis: &Analysis, cause: &FoundCause) -> String {
    if let Some(why) = explanation(analysis, cause) {
        return operation_cause_next(analysis, why);
    }
    let who = place(analysis, cause);
    let of = operation(analysis, cause).unwrap_or_else(|| "the collective".to_owned());
    match (cause.kind, cause.by) {
        (CauseKind::LateRank | CauseKind::Imbalance, _) if is_once(cause) => {
            let who = match cause.ranks.len() {
                0 => who,
                _ => inert::ranks(&cause.ranks),
            };
            if is_at(cause, CourseKind::AtEnd) {
                return format!(
                    "look at what {who} did between the last collective and MPI_Finalize, for instance writing \
                     output; let all ranks share that, or do it while the others go on"
                );
            }
            format!("look at what {who} did between MPI_Init and {of}, for instance reading input")
        }
        (CauseKind::LateRank | CauseKind::LateHost, Some(LateBy::Sleeping | LateBy::Preempted)) => {
            look_for_what_keeps(&who, false)
        }
        (CauseKind::Imbalance, Some(LateBy::Sleeping | LateBy::Preempted))
            if is_in_other_calls(cause) =>
        {
            look_for_what_keeps(&inert::ranks(&cause.ranks), true)
        }
        (CauseKind::LateRank | CauseKind::Imbalance, _) if is_in_other_calls(cause) => {
            let (whom, verb) = match cause.ranks.len() {
                0 => (who, "computes"),
                _ => (inert::ranks(&cause.ranks), "compute"),
            };
            let between = match cause.of {
                CostOf::PointToPoint => "messages",
                _ => "calls of MPI",
            };
            format!(
                "look at what {whom} {verb} between {between}{}",
                switches(analysis, !cause.ranks.is_empty())
            )
        }
        (CauseKind::Imbalance, _)
            if !cause.ranks.is_empty() && cause.course.is_some_and(in_time) =>
        {
            look_for_what_stops(&inert::ranks(&cause.ranks), cause)
        }
        (CauseKind::Imbalance, _) if !cause.ranks.is_empty() => format!(
            "compare {} with the other ranks: their share of the work, and the cores that they run on{}",
            inert::ranks(&cause.ranks),
            switches(analysis, !cause.ranks.is_empty())
        ),
        (CauseKind::LateRank | CauseKind::LateHost, Some(LateBy::PointToPoint)) => {
            match cause.origin.or(cause.partner) {
                Some(partner) => format!("look at why rank {partner} lets {who} wait before {of}"),
                None => {
                    let is_changing = matches!(cause.place, Some(CausePlace::Communicator(_)));
                    let who = if is_changing { "the late rank" } else { &who };
                    format!(
                        "look at what {who} waits for in point-to-point communication before {of}"
                    )
                }
            }
        }
        (CauseKind::LateRank | CauseKind::LateHost, Some(LateBy::Io)) => {
            format!("look at what {who} reads and writes before {of}; record with --layers +io")
        }
        (CauseKind::LateRank | CauseKind::LateHost, Some(LateBy::Rma)) => {
            format!(
                "look at the windows that {who} accesses before {of}; record with --layers +rma"
            )
        }
        (CauseKind::LateRank | CauseKind::LateHost, _) if cause.course.is_some_and(in_time) => {
            look_for_what_stops(&who, cause)
        }
        (CauseKind::LateHost, _) => format!(
            "compare {who} with the others: other processes on it, clock frequency, memory, its share of the work"
        ),
        (CauseKind::LateRank, _) if matches!(cause.place, Some(CausePlace::Communicator(_))) => {
            format!(
                "look at what the late rank computes before {of}, and at why the late rank changes"
            )
        }
        (CauseKind::LateRank, _) => format!(
            "look at what {who} computes before {of}{}",
            switches(analysis, !cause.ranks.is_empty())
        ),
        (CauseKind::Algorithm, Some(LateBy::Preempted)) => format!(
            "run no more ranks than there are cores, or let ranks that wait give up their cores, if they do not yet \
             (Open MPI: mpi_yield_when_idle){}",
            match analysis.running {
                Some(_) => "",
                None => "; --layers +switches shows who loses its core",
            }
        ),
        (CauseKind::Algorithm, _) => {
            let operation = cause.operation.and_then(|at| analysis.operations.get(at));
            operation.map_or_else(
                || "nothing is known that would help".to_owned(),
                |operation| slow_operation::next(analysis, operation),
            )
        }
        (CauseKind::Imbalance, Some(LateBy::PointToPoint)) => format!(
            "look at the messages before {of}: who sends late, and in which order ranks receive{}",
            switches_of_all(analysis)
        ),
        (CauseKind::Imbalance, _) => format!(
            "distribute the work on {who} more evenly{}",
            switches_of_all(analysis)
        ),
        _ => "nothing is known that would help".to_owned(),
    }
}

/// What would tell what ranks do, if it was not recorded.
fn switches(analysis: &Analysis, is_several: bool) -> &'static str {
    match (&analysis.running, is_several) {
        (Some(_), _) => "",
        (None, false) => "; --layers +switches tells whether it sleeps or is preempted",
        (None, true) => "; --layers +switches tells whether they sleep or are preempted",
    }
}

/// What to do about ranks or a host that are not on their cores.
fn look_for_what_keeps(who: &str, is_several: bool) -> String {
    let whose = if is_several { "their" } else { "its" };
    format!("look at what keeps {who} off {whose} cores: other processes, binding, file I/O")
}

/// What to do about ranks or a host that something stops at regular times.
fn look_for_what_stops(who: &str, cause: &FoundCause) -> String {
    let every = (cause.course.and_then(|course| course.period_ns))
        .map_or_else(String::new, |ns| format!(" every {}", duration(ns)));
    format!(
        "look for what stops {who}{every}: another process, a timer, a thread that runs now and then"
    )
}

/// What would tell whether ranks are interrupted, if it was not recorded.
fn switches_of_all(analysis: &Analysis) -> &'static str {
    match analysis.running {
        Some(_) => "",
        None => "; --layers +switches tells whether ranks are interrupted",
    }
}

/// What the arrival of a late rank was like: how often it arrived last, and whether it was running.
pub(crate) fn evidence(analysis: &Analysis, cause: &FoundCause) -> Option<String> {
    let operation = analysis.operations.get(cause.operation?)?;
    let verdict = analysis.imbalance.iter().find(|verdict| {
        Some(verdict.communicator) == operation.communicator
            && verdict.operation == operation.operation
    })?;
    let is_of = match (&cause.place, &verdict.culprit) {
        (Some(CausePlace::Rank(rank)), Some(Culprit::Rank(culprit))) => rank == culprit,
        (Some(CausePlace::Host(host)), Some(Culprit::Host(culprit))) => host == culprit,
        _ => false,
    };
    let last = verdict.share.filter(|_| is_of).map(|part| {
        let n = verdict.resolved;
        format!(
            "it {} in {} of {n} {}",
            arrivals::is_last(&verdict.operation),
            share(part),
            verdict.operation
        )
    });
    let running = match cause.place {
        Some(CausePlace::Rank(rank)) => {
            why_late::before(analysis, verdict, rank).map(why_late::sentence)
        }
        _ => None,
    };
    let both: Vec<String> = last.into_iter().chain(running).collect();
    (!both.is_empty()).then(|| both.join("; "))
}
