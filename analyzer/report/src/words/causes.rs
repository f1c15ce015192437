//! Causes in words: what costs most, how much shorter the run can be without it, and what to do next.

use std::cmp::Reverse;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CauseKind, CausePlace, Confidence, CostOf, Course, CourseKind, Culprit, FoundCause, LateBy,
    OperationCause, PeriodBasis,
};
use collbench_text::{
    inert,
    quantity::{counted, duration, share},
};

use crate::words::advice::ordinal;
use crate::words::operation_costs::{operation_cause, operation_cause_next, untold_operation};
use crate::words::{call_sites, communicator, facts, slow_operation, why_late};

/// Most causes that are named.
const MOST: usize = 4;
/// What is left of a run before or after a course that goes from its begin or to its end, at most: one part in
/// so many.
const WHOLE: i64 = 20;

/// The causes that matter, those first without which the run can be shortest; with what to do about the
/// first. Empty where none matters.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let mut causes: Vec<&FoundCause> = named(analysis).collect();
    // Stable: equal ones stay in the order of their cost.
    causes.sort_by_key(|cause| Reverse((cause.run_shorter_ns, cause.cost_ns)));
    let n_more = causes.len().saturating_sub(MOST);
    let mut sentences: Vec<String> = (causes.iter().take(MOST))
        .map(|cause| sentence(analysis, cause))
        .collect();
    if let Some(first) = causes.first() {
        sentences.insert(1, format!("next: {}", next(analysis, first)));
    }
    if n_more > 0 {
        let more = counted(n_more as u64, "more cause");
        sentences.push(format!("and {more}: see causes in analysis.json"));
    }
    if !sentences.is_empty() {
        let untold = analysis.operation_costs.untold.first();
        sentences.extend(untold.map(|untold| untold_operation(analysis, untold)));
    }
    sentences
}

/// Whether a cause that is named says for whom ranks wait in point-to-point communication.
pub(crate) fn explain_messages(analysis: &Analysis) -> bool {
    named(analysis).any(|cause| {
        let mut alike = alike(analysis, cause);
        cause.of == CostOf::PointToPoint || alike.any(|other| other.of == CostOf::PointToPoint)
    })
}

/// Whether a cause arises at a rank or host.
pub(crate) fn are_at(analysis: &Analysis, culprit: &Culprit) -> bool {
    costliest_at(analysis, culprit).is_some()
}

/// The costliest cause at a rank or host; `None` if none arises there.
pub(crate) fn costliest_at<'a>(
    analysis: &'a Analysis,
    culprit: &Culprit,
) -> Option<&'a FoundCause> {
    let host_of = |rank| {
        let mut ranks = analysis.ranks.iter();
        let found = ranks.find(|of| of.rank == rank)?;
        Some(&*found.host)
    };
    let mut causes = analysis.causes.iter();
    causes.find(|cause| cause.is_at(culprit, host_of))
}

/// The causes that are named; of what costs operation time and waits once, as what shortens the run more.
fn named(analysis: &Analysis) -> impl Iterator<Item = &FoundCause> {
    let rank = |cause: &FoundCause| (cause.run_shorter_ns, cause.cost_ns, cause.of);
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
    // Who is late to collectives, and to messages as well.
    let is_same = move |other: &FoundCause| {
        let is_to_both = (other.of == CostOf::PointToPoint) != (of == CostOf::PointToPoint);
        let is_there = if ranks.is_empty() {
            matches!(place, Some(CausePlace::Rank(_))) && other.place == place
        } else {
            other.ranks == ranks
        };
        is_to_both && is_there && !is_at_start(other) && other.by == Some(LateBy::Computing)
    };
    let is_computing = cause.by == Some(LateBy::Computing) && !is_at_start(cause);
    let causes = analysis.causes.iter();
    causes.filter(move |other| {
        let is_explained = reason.is_some() && other.explained_by == reason && other.of != of;
        is_explained || is_computing && is_same(other)
    })
}

/// Whether it is about the time before the first collective.
fn is_at_start(cause: &FoundCause) -> bool {
    cause
        .course
        .is_some_and(|course| course.kind == CourseKind::AtStart)
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
    };
    let mut words = format!("costs {} {of}", duration(cause.cost_ns));
    if let Some(part) = cause.share {
        let there = if facts::is_span(analysis) {
            " in this part"
        } else {
            ""
        };
        words += &format!(" ({} of the time of all ranks{there}", share(part));
        if cause.propagated_ns > cause.cost_ns / 10 {
            let later = duration(cause.propagated_ns);
            words += &format!("; {later} of it in later operations");
        }
        words += ")";
    }
    if let Some(other) = alike(analysis, cause).find(|other| other.matters) {
        let of = match other.of {
            CostOf::Waiting if cause.of == CostOf::PointToPoint => "of waiting in collectives",
            CostOf::Waiting => "of waiting in what follows",
            CostOf::OperationTime => "in collectives",
            CostOf::PointToPoint => "of waiting in point-to-point communication",
        };
        let part = other
            .share
            .map_or_else(String::new, |part| format!(" ({})", share(part)));
        words += &format!(" and {} {of}{part}", duration(other.cost_ns));
    }
    let span_ns = facts::known_ns(analysis);
    if let Some(ns) = cause.run_shorter_ns.filter(|&ns| ns > 0 && span_ns > 0) {
        let what = if facts::is_span(analysis) {
            "this part"
        } else {
            "the run"
        };
        let part = share((ns.min(span_ns) as f64) / span_ns as f64);
        words += &match part.strip_prefix('<') {
            Some(less) => format!(", without it {what} would be less than {less} shorter"),
            None => format!(", without it {what} could be up to {part} shorter"),
        };
    }
    if cause.kind != CauseKind::Imbalance && cause.confidence == Confidence::Likely {
        words += " (likely)";
    }
    words
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
        CauseKind::LateRank | CauseKind::LateHost | CauseKind::Imbalance if is_at_start(cause) => {
            late_at_start(analysis, cause)
        }
        CauseKind::LateRank | CauseKind::Imbalance if cause.of == CostOf::PointToPoint => {
            let (whom, verb) = match cause.ranks.len() {
                0 => (at, "computes"),
                _ => (inert::ranks(&cause.ranks), "compute"),
            };
            format!(
                "others wait in point-to-point communication for {whom}, which {verb} longer{}",
                interrupted(analysis, !cause.ranks.is_empty())
            )
        }
        CauseKind::Imbalance if !cause.ranks.is_empty() => {
            let who = inert::ranks(&cause.ranks);
            let did = they_did(analysis, cause);
            let comma = comma(&did, &before);
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
                    format!(", mostly once, at {}", duration(at_ns))
                }
                _ => String::new(),
            };
            let did = did(analysis, cause);
            let comma = comma(&did, &before);
            format!("{who} is late: {did}{comma}{before}{few}")
        }
        CauseKind::SlowHop | CauseKind::SlowLink => format!("messages {at} take long"),
        CauseKind::Algorithm if cause.by == Some(LateBy::Preempted) => {
            let of = operation(analysis, cause).unwrap_or_else(|| "collectives".to_owned());
            format!(
                "{}: some leave {of} later than others, while these have their cores, and are late for what follows",
                shared_cores(analysis)
            )
        }
        CauseKind::Algorithm
        | CauseKind::Placement
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
        CauseKind::Imbalance => {
            let most = call_sites::place(analysis, cause.site).and(operation(analysis, cause));
            let most = most.map_or_else(String::new, |of| format!(", the most before {of}"));
            format!("work differs between the ranks of {at}, and none stands out{most}")
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
    let did = match (cause.by, cause.partner, cause.ranks.len()) {
        (Some(LateBy::PointToPoint), Some(partner), _) => {
            format!("in point-to-point communication with rank {partner}")
        }
        (Some(LateBy::PointToPoint), None, _) => "in point-to-point communication".to_owned(),
        (Some(LateBy::Io), ..) => "in MPI-IO".to_owned(),
        (Some(LateBy::Rma), ..) => "in one-sided communication".to_owned(),
        _ => "outside of MPI (computing, reading input, ...)".to_owned(),
    };
    format!(
        "{who} {is} late for the first collective{first}{by}: since MPI_Init {it} {is} longer {did}"
    )
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
            let run_ns = analysis.trace.duration_ns;
            let is_from_begin = course.from_ns.is_some_and(|ns| ns <= run_ns / WHOLE);
            let is_to_end = course.to_ns.is_some_and(|ns| ns >= run_ns - run_ns / WHOLE);
            match (is_from_begin, is_to_end) {
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
    let operation = analysis.operations.get(cause.operation?)?;
    let name = &operation.operation;
    Some(format!(
        "{name} on {}{}",
        communicator(analysis, operation.communicator, 30),
        call_sites::at(analysis, cause.site)
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
        (CauseKind::LateRank | CauseKind::Imbalance, _) if is_at_start(cause) => {
            let who = match cause.ranks.len() {
                0 => who,
                _ => inert::ranks(&cause.ranks),
            };
            format!("look at what {who} did between MPI_Init and {of}, for instance reading input")
        }
        (CauseKind::LateRank | CauseKind::Imbalance, _) if cause.of == CostOf::PointToPoint => {
            let (whom, verb) = match cause.ranks.len() {
                0 => (who, "computes"),
                _ => (inert::ranks(&cause.ranks), "compute"),
            };
            format!(
                "look at what {whom} {verb} between messages{}",
                switches(analysis, !cause.ranks.is_empty())
            )
        }
        (CauseKind::Imbalance, _) if !cause.ranks.is_empty() => format!(
            "compare {} with the other ranks: their share of the work, and the cores that they run on{}",
            inert::ranks(&cause.ranks),
            switches(analysis, !cause.ranks.is_empty())
        ),
        (CauseKind::LateRank | CauseKind::LateHost, Some(LateBy::PointToPoint)) => {
            match cause.origin.or(cause.partner) {
                Some(partner) => format!("look at why rank {partner} lets {who} wait before {of}"),
                None => format!(
                    "look at what {who} waits for in point-to-point communication before {of}"
                ),
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
        (CauseKind::LateRank | CauseKind::LateHost, Some(LateBy::Sleeping | LateBy::Preempted)) => {
            format!("look at what keeps {who} off its cores: other processes, binding, file I/O")
        }
        (CauseKind::LateRank | CauseKind::LateHost, _) if cause.course.is_some_and(in_time) => {
            let every = (cause.course.and_then(|course| course.period_ns))
                .map_or_else(String::new, |ns| format!(" every {}", duration(ns)));
            format!(
                "look for what stops {who}{every}: another process, a timer, a thread that runs now and then"
            )
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
        (CauseKind::Algorithm, Some(LateBy::Preempted)) => "run no more ranks than there are cores, or let ranks that \
             wait give up their cores (Open MPI: --mca mpi_yield_when_idle 1); --layers +switches shows who loses its core"
            .to_owned(),
        (CauseKind::Algorithm, _) => {
            let operation = cause.operation.and_then(|at| analysis.operations.get(at));
            operation.map_or_else(
                || "nothing is known that would help".to_owned(),
                |operation| slow_operation::next(analysis, operation),
            )
        }
        (CauseKind::Imbalance, _) => format!("distribute the work on {who} more evenly"),
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
            "it arrives last in {} of {n} {}",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;
    use collbench_analyzer::results::SharedCores;

    #[test]
    fn a_period_is_told_in_time_or_in_steps_or_as_either() {
        let course = |basis, every, calls_per_iteration| Course {
            period_ns: Some(6_000_000),
            basis,
            every,
            calls_per_iteration,
            ..Course::new(CourseKind::Period)
        };
        let steps = Some(PeriodBasis::Steps);
        for (course, words) in [
            (
                course(Some(PeriodBasis::Time), None, None),
                ", every 6.00 ms",
            ),
            (course(None, None, None), ", every 6.00 ms"),
            (course(steps, Some(3), Some(1)), ", at every 3rd call"),
            (course(steps, Some(7), None), ", at every 7th collective"),
            (
                course(steps, Some(1), Some(2)),
                ", in every iteration of the program's loop",
            ),
            (
                course(None, Some(2), Some(4)),
                ", every 6.00 ms or in every 2nd iteration of the program's loop (its steps are \
                 too regular to tell)",
            ),
        ] {
            assert_eq!(period(&course).as_deref(), Some(words));
        }
        assert_eq!(period(&Course::new(CourseKind::Period)), None);
    }

    fn cause(kind: CauseKind, place: CausePlace) -> FoundCause {
        FoundCause {
            kind,
            by: Some(LateBy::Computing),
            place: Some(place),
            ranks: Vec::new(),
            partner: None,
            origin: None,
            operation: None,
            communicator: None,
            site: None,
            cost_ns: 2_000_000_000,
            of: CostOf::Waiting,
            direct_ns: 2_000_000_000,
            propagated_ns: 0,
            share: Some(0.2),
            run_shorter_ns: None,
            course: None,
            confidence: Confidence::Sure,
            instances: 1,
            largest: None,
            explained_by: None,
            matters: true,
        }
    }

    #[test]
    fn who_is_late_for_the_first_collective_is_told_by_how_much() {
        let analysis = nothing();
        let late = FoundCause {
            course: Some(Course {
                late_ns: Some(1_000_000_000),
                ..Course::new(CourseKind::AtStart)
            }),
            ..cause(CauseKind::LateRank, CausePlace::Rank(3))
        };
        assert_eq!(
            what(&analysis, &late),
            "rank 3 is late for the first collective by 1.00 s: since MPI_Init it is longer outside of \
             MPI (computing, reading input, ...)"
        );
        let several = FoundCause {
            ranks: vec![3, 4],
            by: Some(LateBy::Io),
            ..late
        };
        let words = what(&analysis, &several);
        assert!(
            words.starts_with("ranks 3-4 are late") && words.ends_with("they are longer in MPI-IO"),
            "{words}"
        );
    }

    #[test]
    fn ranks_that_are_late_alike_or_waited_for_in_messages_are_told() {
        let analysis = nothing();
        let alike = FoundCause {
            ranks: vec![4, 5, 6, 7],
            ..cause(CauseKind::Imbalance, CausePlace::Communicator(None))
        };
        let words = what(&analysis, &alike);
        assert!(
            words.starts_with("ranks 4-7 have more to do than the other ranks")
                && words.ends_with("they compute longer, or are interrupted"),
            "{words}"
        );
        let of_messages = FoundCause {
            of: CostOf::PointToPoint,
            ..cause(CauseKind::LateRank, CausePlace::Rank(0))
        };
        assert_eq!(
            what(&analysis, &of_messages),
            "others wait in point-to-point communication for rank 0, which computes longer, or is interrupted"
        );
        let chain = FoundCause {
            by: Some(LateBy::PointToPoint),
            partner: Some(6),
            origin: Some(0),
            ..cause(CauseKind::LateRank, CausePlace::Rank(7))
        };
        assert_eq!(
            what(&analysis, &chain),
            "rank 7 is late: it waits in point-to-point communication with rank 6, which waits for rank 0 \
             in turn, directly or through others"
        );
    }

    #[test]
    fn of_a_rank_that_is_late_to_collectives_and_to_messages_there_is_one_sentence() {
        let mut analysis = nothing();
        let to_collectives = cause(CauseKind::LateRank, CausePlace::Rank(0));
        let to_messages = FoundCause {
            of: CostOf::PointToPoint,
            run_shorter_ns: Some(1_000_000),
            ..to_collectives.clone()
        };
        analysis.causes = vec![to_collectives, to_messages];
        let all = sentences(&analysis);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(
            all[0].contains(
                "costs 2.00 s of waiting in point-to-point communication (20 % of the time of all ranks) \
                 and 2.00 s of waiting in collectives (20 %)"
            ),
            "{all:?}"
        );
        assert!(explain_messages(&analysis));
    }

    #[test]
    fn more_ranks_than_cores_are_named_with_their_host() {
        let mut analysis = nothing();
        analysis.trace.shared_cores = vec![SharedCores {
            host: "n01".into(),
            ranks: 8,
            cores: 2,
        }];
        let lost = FoundCause {
            by: Some(LateBy::Preempted),
            ..cause(CauseKind::Algorithm, CausePlace::Communicator(None))
        };
        let words = what(&analysis, &lost);
        assert!(
            words.starts_with("8 ranks share 2 cores of host n01: some leave"),
            "{words}"
        );
        assert!(next(&analysis, &lost).starts_with("run no more ranks than there are cores"));
    }
}
