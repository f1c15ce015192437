//! Findings in words, for text and pictures alike.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write as _;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    AlgorithmSummary, ClockSummary, Culprit, ImbalanceSummary, MarkedPhase, OperationSummary,
    Spread,
};
use collbench_formats::Semantics;
use collbench_stats::integers::sum_ns;
use collbench_text::{inert, quantity};

use crate::words::{
    advice, arrivals, causes, communicator, communicator_with, other_calls, uncertainty, why_late,
};

/// A sentence that begins with a capital.
pub(crate) fn capitalized(sentence: &str) -> String {
    let mut chars = sentence.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}

/// `A`, `A and B`, `A, B and C`.
pub(crate) fn list(mut names: Vec<String>) -> String {
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}

/// How the clocks of hosts were brought together, and how wrong that may be.
pub(crate) fn alignment(clock: &ClockSummary) -> String {
    let others = || clock.hosts.iter().skip(1);
    let worst = others().filter_map(|host| Some((host.uncertainty_ns?, host.bound_ns?)));
    let words = match worst.max() {
        Some((uncertainty_ns, bound_ns)) => format!(
            "{}, error {} (at most {})",
            clock.method,
            quantity::duration(uncertainty_ns),
            quantity::duration(bound_ns)
        ),
        None => clock.method.to_string(),
    };
    match &clock.closure {
        Some(closure) => format!(
            "{words}; triangles close within {}",
            quantity::duration(closure.gap_ns.abs())
        ),
        None => words,
    }
}

/// The clock and how finely it resolves, and on one host why nothing had to be aligned.
pub(crate) fn clock(analysis: &Analysis) -> String {
    let clock = &analysis.clock;
    let granularity = clock.hosts.iter().map(|host| host.granularity_ns).max();
    let mut words = format!(
        "{}, resolution {}",
        clock.source,
        quantity::duration(granularity.unwrap_or(0))
    );
    let error = clock.hosts.iter().filter_map(|host| host.rate_error_ppm);
    if let Some(error) = error.reduce(f64::max) {
        let error = error.max(0.01);
        let _ = write!(words, ", rate within {error:.2} ppm");
    }
    if clock.hosts.len() == 1 {
        let _ = write!(words, "; {}", clock.method);
    }
    words
}

/// Waiting in percent of the time; `-` where it is not known, or nobody need wait.
pub(crate) fn waiting(operation: &OperationSummary) -> String {
    let (Some(wait), Some(time)) = (&operation.wait_ns, &operation.call_time_ns) else {
        return "-".to_owned();
    };
    match known_part(operation) {
        KnownPart::Whole => quantity::percent(wait.total, time.total),
        KnownPart::WithinHosts => format!(">= {}", quantity::least_percent(wait.total, time.total)),
        KnownPart::Nothing => "-".to_owned(),
    }
}

/// How much of the waiting in an operation is known, given the clocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KnownPart {
    Whole,
    /// Only that for processes of the same host.
    WithinHosts,
    /// Nobody was on the host of one that it depended on.
    Nothing,
}

fn known_part(operation: &OperationSummary) -> KnownPart {
    if operation.spread() != Some(Spread::Apart) {
        return KnownPart::Whole;
    }
    // In a rooted operation or a scan some depend on nobody, which is known without any clock.
    let n_free = match operation.semantics() {
        Semantics::OneToMany | Semantics::Prefix => 1,
        Semantics::ManyToOne => operation.threads().len().saturating_sub(1) as u64,
        _ => 0,
    };
    let n_known = operation.wait_ns.as_ref().map_or(0, |wait| wait.n);
    if n_known > operation.instances * n_free {
        KnownPart::WithinHosts
    } else {
        KnownPart::Nothing
    }
}

/// What ran where, and for how long: `4 ranks on 1 host (n01), Open MPI v4.1.4, 1.39 s`.
pub(crate) fn ran(analysis: &Analysis) -> String {
    let trace = &analysis.trace;
    format!(
        "{} on {} ({}), {}, {}",
        quantity::counted(trace.ranks, "rank"),
        quantity::counted(trace.hosts.len() as u64, "host"),
        inert::line(&trace.hosts.join(", "), 40),
        inert::line(library_name(&trace.mpi_library), 40),
        quantity::duration(trace.duration_ns),
    )
}

/// The name of an MPI library without what follows its version.
fn library_name(library: &str) -> &str {
    library.split(',').next().unwrap_or(library)
}

/// Which of the calls rings have retained, if they have overwritten any.
pub(crate) fn kept(analysis: &Analysis) -> Option<String> {
    let window = analysis.trace.window.as_ref()?;
    let from_ns = window.from_ns?;
    Some(format!(
        "the newest {} of {} calls: complete for all ranks from {} on (the last {})",
        window.calls_made - window.calls_dropped,
        window.calls_made,
        quantity::duration(from_ns),
        quantity::duration(analysis.trace.duration_ns.saturating_sub(from_ns)),
    ))
}

/// How many calls there are, and what their time is.
pub(crate) fn calls(analysis: &Analysis) -> String {
    let calls_ns = analysis.collectives_ns();
    let trace = &analysis.trace;
    let all_ns = analysis.looked_at.rank_ns();
    let calls: u64 = analysis.ranks.iter().map(|rank| rank.calls).sum();
    match calls {
        0 if analysis.restriction.is_some() => format!(
            "none in the selected part; the run took {}",
            quantity::duration(trace.duration_ns)
        ),
        0 => "no collective operation".to_owned(),
        _ => format!(
            "{calls} of {}: {} over all {}, {} of their time; {}",
            quantity::counted(analysis.totals.len() as u64, "operation"),
            quantity::duration(calls_ns),
            match analysis.looked_at.time_ns {
                None => "ranks",
                Some(_) => "threads in collectives",
            },
            quantity::percent(calls_ns, all_ns),
            all_waiting(analysis),
        ),
    }
}

/// The part of the run that was asked for, in words: `only MPI_Allreduce by ranks 0-3, from 1.19 s to 1.2 s`;
/// `None` where it is all of the run.
pub(crate) fn restriction(analysis: &Analysis) -> Option<String> {
    let part = analysis.restriction.as_ref()?;
    let names = |names: &[String]| {
        let shown = names
            .iter()
            .take(MAX_RESTRICTION)
            .map(|name| inert::line(name, 40));
        let mut shown: Vec<String> = shown.collect();
        match names.len() - shown.len() {
            0 => {}
            n => shown.push(format!("{n} more")),
        }
        list(shown)
    };
    let mut words = vec!["only".to_owned()];
    if !part.operations.is_empty() {
        words.push(names(&part.operations));
    }
    if !part.communicators.is_empty() {
        let communicator = match part.communicators.len() {
            1 => "communicator",
            _ => "communicators",
        };
        words.push(format!("on {communicator} {}", names(&part.communicators)));
    }
    if !part.ranks.is_empty() {
        words.push(format!("by {}", inert::rank_ranges(&part.merged_ranks())));
    }
    if let Some(level) = part.phase {
        words.push(format!("in phases of level {level}"));
    }
    let seconds = |ns: i64| format!("{} s", ns as f64 / 1e9);
    words.extend(part.from_ns.map(|ns| format!("from {}", seconds(ns))));
    words.extend(part.to_ns.map(|ns| format!("to {}", seconds(ns))));
    Some(words.join(" "))
}

/// Operations and communicators that a restriction names one by one.
const MAX_RESTRICTION: usize = 4;

/// How much of all time in calls is waiting, in words.
pub(crate) fn all_waiting(analysis: &Analysis) -> String {
    let known: Vec<i64> = analysis
        .ranks
        .iter()
        .filter_map(|rank| rank.wait_ns)
        .collect();
    let calls_ns = analysis.collectives_ns();
    if known.is_empty() || calls_ns <= 0 {
        return "waiting not known".to_owned();
    }
    let waits_ns = sum_ns(known);
    let is_least = analysis
        .operations
        .iter()
        .any(|operation| operation.incomplete > 0 || operation.spread() == Some(Spread::Apart));
    if is_least {
        let part = quantity::least_percent(waits_ns, calls_ns);
        format!("at least {part} of it waiting")
    } else {
        format!("{} of it waiting", quantity::percent(waits_ns, calls_ns))
    }
}

/// The marked phases, the longest first, in words; `None` without any.
pub(crate) fn phases(analysis: &Analysis) -> Option<String> {
    let is_whole = analysis.restriction.is_none();
    let phases = analysis.phases.iter();
    let mut phases: Vec<&MarkedPhase> =
        phases.filter(|phase| is_whole || phase.calls > 0).collect();
    phases.sort_by_key(|phase| (std::cmp::Reverse(phase.time_ns), phase.level));
    let n_more = phases.len().saturating_sub(MAX_PHASES);
    let mut words: Vec<String> = phases.iter().take(MAX_PHASES).map(|p| phase(p)).collect();
    if n_more > 0 {
        words.push(format!("{n_more} more"));
    }
    (!words.is_empty()).then(|| words.join("; "))
}

/// Operations whose algorithms are shown on the screen, and algorithms of each; the JSON has all.
const MAX_ALGORITHMS: usize = 3;

/// The library's names of the algorithms that it ran: a line for each of the operations with the most
/// calls, with as many names as fit into `columns`.
pub(crate) fn names_by_library(analysis: &Analysis, columns: usize) -> Vec<String> {
    let all = match &analysis.restriction {
        None => Cow::Borrowed(analysis.algorithms.as_deref().unwrap_or_default()),
        Some(_) => Cow::Owned(algorithms_of_part(analysis)),
    };
    let mut operations: Vec<&[AlgorithmSummary]> =
        all.chunk_by(|a, b| a.operation == b.operation).collect();
    let calls = |of: &[AlgorithmSummary]| of.iter().map(|algorithm| algorithm.calls).sum::<u64>();
    operations.sort_by_key(|of| (std::cmp::Reverse(calls(of)), &of[0].operation));
    let shown = operations.iter().take(MAX_ALGORITHMS).map(|of| {
        let rows = analysis.operations.iter();
        let rows = rows.filter(|row| row.operation == of[0].operation);
        // An algorithm that leaves short payloads to another one counts, too.
        let is_nested = calls(of) > rows.map(|row| row.calls).sum();
        let nested = if is_nested {
            "; some use several, one inside another"
        } else {
            ""
        };
        let line = |n: usize| {
            let words: Vec<String> = of[..n].iter().map(algorithm).collect();
            let more = match of.len() - n {
                0 => String::new(),
                1 => " and another".to_owned(),
                n_more => format!(" and {n_more} others"),
            };
            format!(
                "{} uses {}{more}{nested}",
                of[0].operation,
                words.join(", ")
            )
        };
        let mut lines = (2..=of.len().min(MAX_ALGORITHMS)).rev().map(line);
        let longest = lines.find(|line| inert::columns(line) <= columns);
        longest.unwrap_or_else(|| line(1))
    });
    shown.collect()
}

/// The library's names of the algorithms of the operations of a part of the run.
fn algorithms_of_part(analysis: &Analysis) -> Vec<AlgorithmSummary> {
    let mut found: BTreeMap<(&str, &str), AlgorithmSummary> = BTreeMap::new();
    for of in &analysis.operations {
        let Some(name) = &of.library_name else {
            continue;
        };
        let of_none = || AlgorithmSummary {
            operation: of.operation.clone(),
            name: name.clone(),
            calls: 0,
            bytes_min: of.bytes_min,
            bytes_max: of.bytes_max,
            processes_min: None,
            processes_max: None,
        };
        let sum = found.entry((&of.operation, name)).or_insert_with(of_none);
        sum.calls += of.calls;
        sum.bytes_min = sum.bytes_min.into_iter().chain(of.bytes_min).min();
        sum.bytes_max = sum.bytes_max.max(of.bytes_max);
    }
    let mut sums: Vec<AlgorithmSummary> = found.into_values().collect();
    // Of each operation the most frequent first, as of the whole run.
    sums.sort_by(|a, b| (&a.operation, b.calls, &a.name).cmp(&(&b.operation, a.calls, &b.name)));
    sums
}

fn algorithm(algorithm: &AlgorithmSummary) -> String {
    let of_bytes = match algorithm.bytes_min.zip(algorithm.bytes_max) {
        Some((least, most)) => format!(" of {}", quantity::size_range(least, most)),
        None => String::new(),
    };
    let calls = quantity::counted(algorithm.calls, "call");
    format!(
        "{} ({calls}{of_bytes})",
        inert::line(&algorithm.name, MAX_NAME)
    )
}

/// Characters of an algorithm's name on the screen.
const MAX_NAME: usize = 60;

/// Phases shown on the screen; the JSON has all.
const MAX_PHASES: usize = 2;

fn phase(phase: &MarkedPhase) -> String {
    let mut words = format!(
        "level {}: {} of all ranks together",
        phase.level,
        quantity::duration(phase.time_ns),
    );
    let calls = quantity::counted(phase.calls, "call");
    let _ = match phase.wait_ns {
        None => write!(words, ", {calls}"),
        Some(wait_ns) => {
            let waiting = quantity::percent(wait_ns, phase.time_ns);
            write!(words, ", {waiting} of it waiting in {calls}")
        }
    };
    words
}

/// Smallest to largest payload: `8`, `8..15`, `64 KiB..2 MiB`; `-` where unknown.
pub(crate) fn bytes(operation: &OperationSummary) -> String {
    byte_range(operation.bytes_min, operation.bytes_max)
}

/// Range of payloads: `8`, `8..15`, `64 KiB..2 MiB`; `-` where unknown.
pub(crate) fn byte_range(least: Option<u64>, most: Option<u64>) -> String {
    match [least, most].map(|bytes| bytes.map(quantity::short_bytes)) {
        [Some(least), Some(most)] if least == most => most,
        [Some(least), Some(most)] => format!("{least}..{most}"),
        _ => "-".to_owned(),
    }
}

/// `rank 3`, `host n01`.
pub(crate) fn culprit(culprit: &Culprit) -> String {
    match culprit {
        Culprit::Rank(rank) => format!("rank {rank}"),
        Culprit::Ranks(ranks) => inert::ranks(ranks),
        Culprit::Host(host) => format!("host {}", inert::line(host, 40)),
        Culprit::Newer => "a rank".to_owned(),
    }
}

/// Who arrives last at one operation, with the cause that the verdict names for it, as a sentence; `None` without a culprit.
/// It names no rank or host at which the analysis found no cause.
pub(crate) fn accusation(analysis: &Analysis, verdict: &ImbalanceSummary) -> Option<String> {
    let culprit = verdict.culprit.as_ref()?;
    let who = self::culprit(culprit);
    let share = verdict.share.map_or_else(String::new, quantity::share);
    let caused_ns = verdict.wait_caused_ns.unwrap_or(0);
    let mut sentence = format!(
        "{who} {} in {share} of {} {} on {}: the others wait {} for it{}",
        arrivals::is_last(&verdict.operation),
        verdict.resolved,
        verdict.operation,
        communicator(analysis, Some(verdict.communicator), 30),
        quantity::duration(caused_ns),
        advice::of_all_time(analysis, caused_ns),
    );
    if let Some(most) = &verdict.most_waited_for
        && most.wait_caused_ns > caused_ns
        && causes::are_at(analysis, &Culprit::Rank(most.rank))
    {
        sentence += &format!(
            "; they wait longer for rank {}, which {} in {}: {}",
            most.rank,
            arrivals::is_last(&verdict.operation),
            quantity::percent(most.last.cast_signed(), verdict.resolved.cast_signed()),
            quantity::duration(most.wait_caused_ns),
        );
    }
    let at = (&*verdict.operation, Some(verdict.communicator));
    let cause = causes::first_named(analysis, culprit, at);
    if let Some(change) = &verdict.change
        && cause.is_none_or(|cause| cause.course.is_none())
        && advice::late_in(change).all(|late| causes::are_at(analysis, late))
    {
        sentence += &format!("; {}", advice::change(change));
    }
    if let Some(cause) = cause {
        sentence += &format!("; {}", causes::what(analysis, cause));
    }
    Some(sentence)
}

/// The verdict in a few sentences: the causes that matter, or why none is known.
pub(crate) fn verdict(analysis: &Analysis) -> Vec<String> {
    let mut sentences = other_calls::sentences(analysis);
    let unknown = arrivals::where_waits_are_unknown(analysis);
    let is_last_known = !unknown.is_empty();
    sentences.extend(unknown);
    let mut causes = causes::sentences(analysis);
    if causes.is_empty() {
        if !is_last_known {
            sentences.extend(nobody_known(analysis));
        }
    } else if causes::explain_messages(analysis)
        || other_calls::are_messages_alone(analysis) && causes::begin_with_a_culprit(analysis)
    {
        // Why comes before how much.
        causes.append(&mut sentences);
        return causes;
    } else {
        sentences.extend(causes);
    }
    sentences
}

/// Why no cause of waits is known, or that none matters.
fn nobody_known(analysis: &Analysis) -> Vec<String> {
    let resolved: u64 = analysis.imbalance.iter().map(|v| v.resolved).sum();
    let instances: u64 = analysis.imbalance.iter().map(|v| v.instances).sum();
    let is_apart = analysis.clock.hosts.iter().any(|host| host.group > 0);
    if instances == 0 {
        let mut operations = analysis.operations.iter();
        let has_met = operations.any(|of| of.instances > 0 && of.last_arrivals.len() > 1);
        let is_nothing = analysis.restriction.is_some() && analysis.operations.is_empty();
        let words = if analysis.trace.ranks == 1 {
            "the run has one process, so nobody waits for anybody; was the launcher (such as mpirun) forgotten?"
        } else if has_met {
            "none: no operation that several processes called requires waiting"
        } else if is_nothing {
            "nothing to judge: no collective operation begins in the selected part"
        } else {
            "not known: no instance with several processes is complete"
        };
        return vec![words.to_owned()];
    } else if resolved == 0 && is_apart {
        return vec!["not known: the clocks of the hosts are not aligned".to_owned()];
    }
    let likely: u64 = analysis.operations.iter().map(|o| o.last_likely).sum();
    if resolved == 0 {
        let why =
            "the last two ranks of every instance arrive closer together than the clocks resolve";
        return vec![match likely {
            0 => format!("not known: {why}"),
            _ => format!(
                "not known for certain: {why}; which of them is last is likely in {likely} of {}",
                quantity::counted(instances, "instance")
            ),
        }];
    }
    let and_likely = match likely {
        0 => String::new(),
        _ => format!(", {likely} more likely"),
    };
    let mut sentences = Vec::new();
    let n_unknown: u64 = analysis
        .imbalance
        .iter()
        .filter(|verdict| verdict.resolved == 0)
        .map(|verdict| verdict.instances)
        .sum();
    if is_apart && n_unknown > 0 {
        let they_span = if n_unknown == 1 {
            "it spans"
        } else {
            "they span"
        };
        sentences.push(format!(
            "not known for {n_unknown} of {}: {they_span} hosts whose clocks are not aligned",
            quantity::counted(instances, "instance")
        ));
    }
    if let Some(few) = arrivals::of_few(analysis) {
        sentences.extend(few);
        return sentences;
    }
    let of_all = format!(
        "({resolved} of {} resolved{and_likely})",
        quantity::counted(instances, "instance")
    );
    sentences.push(match arrivals::in_all(analysis, None) {
        Some((last, 1..)) => format!("no cause of waiting is found {of_all}; {last}"),
        // For which nobody is known to wait.
        Some(_) => format!("no cause of waiting is found {of_all}"),
        None => format!("no rank stands out as the last to arrive {of_all}"),
    });
    sentences.extend(most_waited_for(analysis));
    sentences
}

/// The rank that most of the waiting was for, where no rank stands out by how often it arrived last.
fn most_waited_for(analysis: &Analysis) -> Option<String> {
    let verdict = analysis
        .imbalance
        .iter()
        .max_by_key(|verdict| verdict.all_waits_caused_ns)?;
    let most = verdict.most_waited_for.as_ref()?;
    let is_most = most.wait_caused_ns > verdict.all_waits_caused_ns / 2;
    let is_costly = most.wait_caused_ns > analysis.collectives_ns() / 100;
    (is_most && is_costly).then(|| {
        let mut sentence = format!(
            "but {} of the waiting in {} on {} is for rank {}, which {} in {} of the instances",
            quantity::percent(most.wait_caused_ns, verdict.all_waits_caused_ns),
            verdict.operation,
            communicator_with(
                analysis,
                Some(verdict.communicator),
                30,
                Some(quantity::duration(verdict.all_waits_caused_ns))
            ),
            most.rank,
            arrivals::is_last(&verdict.operation),
            quantity::percent(most.last.cast_signed(), verdict.resolved.cast_signed()),
        );
        if let Some(before) = why_late::before(analysis, verdict, most.rank) {
            sentence += &format!("; {}", why_late::sentence(before));
        }
        sentence
    })
}

/// What the timemap of one operation shows, in a sentence. It speaks of the instances in the
/// picture only: the verdict of a run is over all roots and payloads of an operation.
pub(crate) fn finding(operation: &OperationSummary) -> String {
    let wait_ns = operation.wait_ns.as_ref().map_or(0, |s| s.total);
    let part = known_part(operation);
    if part == KnownPart::Nothing {
        return format!(
            "Waiting in this {} is not resolvable across hosts",
            operation.operation
        );
    }
    if operation.wait_ns.is_none() && operation.semantics() == Semantics::Unspecified {
        return format!(
            "The MPI standard does not say whether anybody waits in {}",
            operation.operation
        );
    }
    if operation.semantics().waits_for_nobody() || wait_ns == 0 {
        return format!("{} waits for nobody", operation.operation);
    }
    let within = match part {
        KnownPart::Whole => "",
        _ => " within the hosts",
    };
    let call_ns = operation.call_time_ns.as_ref().map_or(0, |s| s.total);
    let mut sentence = format!(
        "Waiting{within} is {} of the time in this {}",
        quantity::percent(wait_ns, call_ns),
        operation.operation
    );
    // The ranks that the picture shows at its ends.
    let waits = operation
        .threads()
        .iter()
        .filter_map(|t| Some((t.wait?.0, t.rank)));
    let least = waits.clone().min();
    let most = waits.max_by_key(|&(wait, rank)| (wait, std::cmp::Reverse(rank)));
    if let (Some((least, least_rank)), Some((most, most_rank))) = (least, most)
        && least < most
    {
        let duration = operation.duration_ns.as_ref();
        let error_ns = duration.and_then(|duration| duration.uncertainty_ns);
        let error_ns = error_ns.map(i64::unsigned_abs);
        if let Some(error_ns) = error_ns.filter(|_| !uncertainty::is_resolved(most, error_ns)) {
            return format!(
                "How long ranks wait for other hosts in this {} is not resolved: the longest mean wait \
                 is {}, and the clock error is ±{}",
                operation.operation,
                quantity::duration(most),
                uncertainty::error(error_ns)
            );
        }
        sentence += &format!(
            ": on average from {} (rank {least_rank}) to {} (rank {most_rank}){}",
            quantity::duration(least),
            quantity::duration(most),
            uncertainty::after(most, error_ns)
        );
    }
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;
    use collbench_analyzer::results::{
        CauseKind, CausePlace, ChangeKind, ChangeSummary, Confidence, CostOf, FoundCause, LateBy,
        MostWaitedFor, PhaseSummary,
    };

    fn late_rank(rank: u32) -> FoundCause {
        FoundCause {
            kind: CauseKind::LateRank,
            by: Some(LateBy::Computing),
            place: Some(CausePlace::Rank(rank)),
            partner: None,
            ranks: Vec::new(),
            origin: None,
            site: None,
            is_completing: false,
            operation: None,
            communicator: None,
            cost_ns: 9_000_000,
            of: CostOf::Waiting,
            direct_ns: 9_000_000,
            propagated_ns: 0,
            share: None,
            run_shorter_ns: None,
            course: None,
            confidence: Confidence::Sure,
            instances: 100,
            largest: None,
            explained_by: None,
            matters: true,
        }
    }

    #[test]
    fn of_who_arrives_last_only_those_are_named_at_whom_a_cause_arises() {
        let moves = ChangeSummary {
            kind: ChangeKind::Moves,
            phases: [5, 7]
                .map(|rank| PhaseSummary {
                    from_ns: i64::from(rank - 5) * 1_000,
                    to_ns: i64::from(rank - 4) * 1_000,
                    late: Some(Culprit::Rank(rank)),
                    share: Some(0.9),
                    wait_caused_ns: Some(5_000),
                    resolved: 100,
                })
                .into(),
            growth: None,
        };
        let verdict = ImbalanceSummary {
            communicator: 0,
            operation: "MPI_Allreduce".into(),
            path: Vec::new(),
            culprit: Some(Culprit::Rank(5)),
            share: Some(0.9),
            wait_caused_ns: Some(9_000_000),
            excess_ns: None,
            most_waited_for: Some(MostWaitedFor {
                rank: 7,
                last: 5,
                wait_caused_ns: 20_000_000,
            }),
            hosts: Default::default(),
            all_waits_caused_ns: 30_000_000,
            instances: 100,
            resolved: 100,
            sections: Default::default(),
            change: Some(moves),
        };
        let mut analysis = nothing();
        // Of two at the same rank, the one that the verdict names first.
        analysis.looked_at.to_ns = 100_000_000;
        analysis.causes = [(LateBy::Computing, 1), (LateBy::Sleeping, 3)]
            .map(|(by, percent)| FoundCause {
                by: Some(by),
                run_shorter_ns: Some(percent * 1_000_000),
                ..late_rank(5)
            })
            .into();
        let sentence = accusation(&analysis, &verdict).unwrap();
        assert!(causes::sentences(&analysis)[0].contains("sleeps or is stopped"));
        assert!(sentence.ends_with("sleeps or is stopped"), "{sentence}");
        analysis.causes = vec![late_rank(5)];
        let sentence = accusation(&analysis, &verdict).unwrap();
        assert!(!sentence.contains("rank 7"), "{sentence}");
        assert!(
            sentence.starts_with("rank 5 arrives last in 90 % of 100 MPI_Allreduce")
                && sentence.ends_with(
                    "; rank 5 is late: it computes longer than the others, or is interrupted"
                ),
            "{sentence}"
        );
        let nonblocking = ImbalanceSummary {
            operation: "MPI_Iallreduce".into(),
            ..verdict.clone()
        };
        let sentence = accusation(&analysis, &nonblocking).unwrap();
        assert!(
            sentence.starts_with("rank 5 initiates last in 90 % of 100 MPI_Iallreduce"),
            "{sentence}"
        );
        analysis.causes.push(late_rank(7));
        let sentence = accusation(&analysis, &verdict).unwrap();
        assert!(
            sentence.contains("they wait longer for rank 7")
                && sentence.contains("lateness moves: rank 5"),
            "{sentence}"
        );
        let acquitted = ImbalanceSummary {
            culprit: None,
            ..verdict
        };
        assert_eq!(accusation(&analysis, &acquitted), None);
    }
}
