//! Who arrives last, in words: the same for the table, the page and the captions of pictures.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{Culprit, ImbalanceSummary, OperationSummary, RankLateness};
use collbench_formats::{Operation, Semantics};
use collbench_text::quantity;

use crate::words::{advice, call_sites, capitalized, communicator};

/// Instances up to which shares are not given in percent.
const FEW: u64 = 9;
/// Unsuccessful tests for each call from which on ranks may wait between them.
const MANY_TESTS: u64 = 2;
/// How many times the known waits what may be waited between tests is, to be mentioned.
const MOSTLY_TESTED: i128 = 4;
/// Instances up to which nobody is said to arrive last as a rule.
pub(crate) const TOO_FEW_FOR_A_RULE: u64 = 4;

/// Who arrives last, as far as that is resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum LastToArrive {
    /// No instance is resolved.
    Unresolved,
    /// No rank arrives last in all instances; none does much more often than the others, or none for which they wait.
    Varies,
    /// A rank or host that does.
    Mostly {
        /// `rank 3`, `host n01`.
        who: String,
        /// Instances in which it arrived last.
        n: u64,
        /// Resolved instances.
        of: u64,
        /// Whether it does so more often than chance explains, and the others wait for it.
        is_rule: bool,
    },
}

/// What stands before "of 40 instances": `22 %`, of a few instances their number.
pub(crate) fn share(n: u64, of: u64) -> String {
    if of <= FEW {
        n.to_string()
    } else {
        quantity::share(n as f64 / of as f64)
    }
}

/// Who arrives last at an operation with its root and payload.
pub(crate) fn at_operation(analysis: &Analysis, operation: &OperationSummary) -> LastToArrive {
    let communicator = operation.communicator;
    let communicator = communicator.and_then(|id| analysis.communicators.get(id));
    let ranks = communicator.iter().flat_map(|of| &of.ranks);
    let mut counts: Vec<(Option<u32>, u64)> =
        operation.last_arrivals.iter().map(|&n| (None, n)).collect();
    for ((rank, _), &known) in counts.iter_mut().zip(ranks) {
        *rank = known;
    }
    most_often(analysis, of_operation(analysis, operation), &counts)
}

/// Who arrives last at an operation on a communicator, over all roots and payloads.
pub(crate) fn over_all(analysis: &Analysis, summary: &ImbalanceSummary) -> LastToArrive {
    let members = members(summary).map(|member| (Some(member.rank), member.last));
    most_often(analysis, Some(summary), &members.collect::<Vec<_>>())
}

/// The verdict on the operation of any root and payload.
pub(crate) fn of_operation<'a>(
    analysis: &'a Analysis,
    operation: &OperationSummary,
) -> Option<&'a ImbalanceSummary> {
    analysis.imbalance.iter().find(|summary| {
        Some(summary.communicator) == operation.communicator
            && summary.operation == operation.operation
    })
}

fn members(summary: &ImbalanceSummary) -> impl Iterator<Item = &RankLateness> {
    summary.hosts.iter().flat_map(|host| &host.members)
}

/// Who arrives last most often, given how often each did.
fn most_often(
    analysis: &Analysis,
    summary: Option<&ImbalanceSummary>,
    counts: &[(Option<u32>, u64)],
) -> LastToArrive {
    let of: u64 = counts.iter().map(|(_, n)| n).sum();
    if of == 0 {
        return LastToArrive::Unresolved;
    }
    if let Some(summary) = summary
        && let Some(Culprit::Host(_)) = &summary.culprit
        && let Some(found) = host(analysis, summary, counts, of)
    {
        return found;
    }
    let most = counts.iter().enumerate();
    let most = most.max_by_key(|(at, (_, n))| (*n, usize::MAX - at));
    let Some((_, &(rank, n))) = most else {
        return LastToArrive::Unresolved;
    };
    let is_always = n == of;
    // As for the verdicts, of which there is one for each operation on each communicator.
    let n_judged = analysis
        .imbalance
        .iter()
        .filter(|of| of.resolved > 0)
        .count();
    let is_named = collbench_analyzer::stands_out_among(n, of, counts.len(), n_judged)
        && rank.is_none_or(|rank| is_waited_for(analysis, summary, rank));
    if !is_always && !is_named {
        return LastToArrive::Varies;
    }
    LastToArrive::Mostly {
        who: rank.map_or_else(|| "rank ?".to_owned(), |rank| format!("rank {rank}")),
        n,
        of,
        is_rule: is_named && of > TOO_FEW_FOR_A_RULE,
    }
}

/// The host that a verdict names, if its ranks arrive last in the instances of these counts too.
fn host(
    analysis: &Analysis,
    summary: &ImbalanceSummary,
    counts: &[(Option<u32>, u64)],
    of: u64,
) -> Option<LastToArrive> {
    let Some(Culprit::Host(name)) = &summary.culprit else {
        return None;
    };
    let host = summary.hosts.iter().find(|host| host.host == *name)?;
    let is_on_it = |rank: &Option<u32>| {
        let mut members = host.members.iter();
        rank.is_some_and(|rank| members.any(|member| member.rank == rank))
    };
    let on_it = counts.iter().filter(|(rank, _)| is_on_it(rank));
    let n: u64 = on_it.map(|(_, n)| n).sum();
    // Twice its fair share of the instances.
    let is_often = n * counts.len() as u64 >= 2 * of * host.ranks;
    let several = analysis.trace.hosts.len() > 1;
    (is_often && several).then(|| LastToArrive::Mostly {
        who: crate::words::culprit(&Culprit::Host(name.clone())),
        n,
        of,
        is_rule: of > TOO_FEW_FOR_A_RULE,
    })
}

/// Who arrives last in all of several instances of an operation, on a communicator or any: the one with the most waiting,
/// which is given, too, ns.
pub(crate) fn in_all(analysis: &Analysis, communicator: Option<usize>) -> Option<(String, i64)> {
    let all = analysis.imbalance.iter();
    let on_it = all.filter(|of| communicator.is_none_or(|id| of.communicator == id));
    let found = on_it.filter_map(|summary| match over_all(analysis, summary) {
        LastToArrive::Mostly { who, n, of, .. } if n == of && of > 1 => Some((summary, who, n)),
        _ => None,
    });
    let (summary, who, n) = found.max_by_key(|(summary, ..)| summary.all_waits_caused_ns)?;
    let (is_last, operation) = (is_last(&summary.operation), &summary.operation);
    let words = format!("{who} {is_last} in {n} of {n} {operation}");
    Some((words, summary.all_waits_caused_ns))
}

/// Whether the waits for a rank are worth its name: at least twice its fair share of the waits that somebody's
/// arrival ended, or at least 1 % of the time in collectives.
fn is_waited_for(analysis: &Analysis, summary: Option<&ImbalanceSummary>, rank: u32) -> bool {
    let Some(summary) = summary else {
        return true;
    };
    let mut known = members(summary).filter(|member| member.rank == rank);
    let Some(member) = known.next() else {
        return true;
    };
    let n_ranks = members(summary).count().max(1) as i128;
    let all_ns = i128::from(summary.all_waits_caused_ns);
    let caused_ns = i128::from(member.wait_caused_ns);
    let is_twice = all_ns > 0 && caused_ns * n_ranks >= 2 * all_ns;
    is_twice || caused_ns * 100 >= i128::from(analysis.collectives_ns()).max(1)
}

/// Whether ranks arrive at an operation by initiating it.
pub(crate) fn is_initiated(operation: &str) -> bool {
    Operation::from_name(operation).is_some_and(Operation::is_initiated)
}

/// What the rank does for which the others wait.
pub(crate) fn is_last(operation: &str) -> &'static str {
    if is_initiated(operation) {
        "initiates last"
    } else {
        "arrives last"
    }
}

/// Who arrives last, in the cell of a table: `rank 3 (87 %)`.
pub(crate) fn cell(analysis: &Analysis, operation: &OperationSummary) -> String {
    match at_operation(analysis, operation) {
        LastToArrive::Unresolved => {
            let has_order = operation.last_arrivals.len() > 1 && operation.instances > 0;
            let words = if !has_order {
                "-"
            } else if operation.last_likely > 0 {
                "uncertain"
            } else {
                "not resolved"
            };
            words.to_owned()
        }
        LastToArrive::Varies => "varies".to_owned(),
        LastToArrive::Mostly { who, n, of, .. } => named(&who, n, of),
    }
}

/// A rank or host in the cell of a table, with the instances in which it arrived last.
pub(crate) fn named(who: &str, n: u64, of: u64) -> String {
    match of {
        ..=FEW => format!("{who} ({n} of {of})"),
        _ => format!("{who} ({})", share(n, of)),
    }
}

/// Who arrives last at an operation on a communicator, as the title of a picture where no verdict names
/// anybody.
pub(crate) fn title(analysis: &Analysis, summary: &ImbalanceSummary) -> String {
    let operation = &summary.operation;
    let rows = || {
        let all = analysis.operations.iter();
        all.filter(|row| {
            Some(summary.communicator) == row.communicator && row.operation == *operation
        })
    };
    let is_last = is_last(operation);
    match over_all(analysis, summary) {
        LastToArrive::Mostly { of: 1, who, .. } => {
            format!("In the one instance of {operation} {who} {is_last}")
        }
        LastToArrive::Mostly { who, n, of, .. } if n == of => {
            let who = capitalized(&who);
            format!("{who} {is_last} in all {of} instances of {operation}")
        }
        LastToArrive::Mostly { who, n, of, .. } => format!(
            "Nobody stands out: {who} {is_last} in {} of all {of} instances of {operation}",
            share(n, of),
        ),
        _ if rows().any(|row| {
            matches!(
                at_operation(analysis, row),
                LastToArrive::Mostly { of: FEW.., .. }
            )
        }) =>
        {
            format!("Which rank {is_last} depends on the root and the payload of this {operation}")
        }
        _ if is_initiated(operation) => {
            format!("No rank stands out as the last to initiate this {operation}")
        }
        _ => format!("No rank stands out as the last to arrive at this {operation}"),
    }
}

/// Who arrives last, and by how much, where MPI does not say whether anybody waits, as in collective MPI-IO, and where
/// ranks test for completion meanwhile; if that can cost 1 % of the time of all ranks.
pub(crate) fn where_waits_are_unknown(analysis: &Analysis) -> Vec<String> {
    let all = analysis.imbalance.iter();
    let found = all.filter_map(|summary| where_unknown(analysis, summary));
    found.collect()
}

fn where_unknown(analysis: &Analysis, summary: &ImbalanceSummary) -> Option<String> {
    let rows = || {
        let all = analysis.operations.iter();
        all.filter(|row| {
            Some(summary.communicator) == row.communicator && row.operation == summary.operation
        })
    };
    let is_unknown =
        |row: &OperationSummary| row.wait_ns.is_none() && row.semantics() == Semantics::Unspecified;
    let is_tested = |row: &OperationSummary| {
        let n_calls = row.call_time_ns.as_ref().map_or(0, |of| of.n);
        row.tests.is_some_and(|n| n >= MANY_TESTS * n_calls.max(1))
    };
    let are_tested = rows().all(is_tested);
    if rows().next().is_none() || !(are_tested || rows().all(is_unknown)) {
        return None;
    }
    let most = members(summary).max_by_key(|member| (member.last, std::cmp::Reverse(member.rank)));
    // Of whom the path leads to it is known by how much.
    let is_at_end = |rank: u32| {
        summary
            .path
            .last()
            .is_some_and(|end| *end == format!("rank {rank}"))
    };
    let most = most.filter(|most| most.last > 0 && is_at_end(most.rank))?;
    let n_ranks = members(summary).count();
    let n_judged = analysis.imbalance.len();
    if !collbench_analyzer::stands_out_among(most.last, summary.resolved, n_ranks, n_judged) {
        return None;
    }
    let excess_ns = summary.excess_ns?;
    let most_ns = i128::from(excess_ns) * (n_ranks as i128 - 1);
    if most_ns <= 0 || most_ns * 100 < i128::from(analysis.looked_at.rank_ns()) {
        return None;
    }
    if are_tested {
        // If they test and wait, too, the causes say for whom.
        if i128::from(summary.all_waits_caused_ns) * MOSTLY_TESTED > most_ns {
            return None;
        }
        // A rank that is behind all the time lets nobody test for longer than it does itself.
        let late_ns = excess_ns / most.last.cast_signed().max(1);
        if !rows().any(|row| test_longer_ns(row, most.rank) > late_ns / 2) {
            return None;
        }
    }
    let (calls, call_ns) = rows().fold((0_u64, 0_i64), |(n, ns), row| {
        let of = row.call_time_ns.as_ref();
        let (more, total) = of.map_or((0, 0), |of| (of.n, of.total));
        (n + more, ns.saturating_add(total))
    });
    let whether = if are_tested {
        let n_tests: u64 = rows().filter_map(|row| row.tests).sum();
        format!(
            "whether they wait for it, or compute, between their {} is not known{}",
            quantity::counted_grouped(n_tests, "unsuccessful test"),
            match analysis.running {
                Some(_) => "",
                None => "; --layers +switches shows whether they sleep",
            }
        )
    } else {
        format!(
            "whether they wait for it is not known, their calls take {} on average",
            quantity::duration(call_ns / calls.cast_signed().max(1))
        )
    };
    let sites = rows().flat_map(|row| &row.sites);
    let longest = sites.max_by_key(|of| of.call_time_ns).map(|of| of.site);
    Some(format!(
        "rank {} {} in {} of {} {} on {}{}, {} after the others on average; {whether}",
        most.rank,
        is_last(&summary.operation),
        share(most.last, summary.resolved),
        summary.resolved,
        summary.operation,
        communicator(analysis, Some(summary.communicator), 30),
        call_sites::at(analysis, longest),
        quantity::duration(excess_ns / most.last.cast_signed().max(1)),
    ))
}

/// How much longer the others test for the completion of a nonblocking operation than a rank does, on average, ns.
fn test_longer_ns(operation: &OperationSummary, rank: u32) -> i64 {
    let between = |is_own: bool| {
        let ranks = operation.threads().iter();
        let of = ranks.filter(|of| (of.rank == rank) == is_own);
        let times = of.filter_map(|of| of.between);
        let (n, sum) = times.fold((0_i64, 0_i64), |(n, sum), (ns, _)| {
            (n + 1, sum.saturating_add(ns))
        });
        (n > 0).then(|| sum / n)
    };
    match (between(true), between(false)) {
        (Some(own_ns), Some(others_ns)) => others_ns.saturating_sub(own_ns),
        _ => 0,
    }
}

/// What is true of a run, or a part of it, with so few instances that nothing is the rule: who was waited
/// for in each operation, those with the most waiting first. `None` with more instances.
pub(crate) fn of_few(analysis: &Analysis) -> Option<Vec<String>> {
    let all = || analysis.imbalance.iter().filter(|of| of.resolved > 0);
    let resolved: u64 = all().map(|of| of.resolved).sum();
    if !(1..=TOO_FEW_FOR_A_RULE).contains(&resolved) {
        return None;
    }
    let mut summaries: Vec<&ImbalanceSummary> = all().collect();
    summaries.sort_by_key(|of| std::cmp::Reverse(of.all_waits_caused_ns));
    let mut sentences = vec![format!(
        "too few instances for a rule: {} with a known last rank",
        quantity::counted(resolved, "instance")
    )];
    sentences.extend(summaries.into_iter().map(|of| in_few(analysis, of)));
    Some(sentences)
}

fn in_few(analysis: &Analysis, summary: &ImbalanceSummary) -> String {
    let name = communicator(analysis, Some(summary.communicator), 30);
    let at = match summary.resolved {
        1 => format!("in the one {} on {name}", summary.operation),
        n => format!("in {n} {} on {name}", summary.operation),
    };
    let of_all = summary.all_waits_caused_ns;
    let Some(most) = &summary.most_waited_for else {
        return format!("{at} nobody waits");
    };
    let caused_ns = most.wait_caused_ns;
    let times = match (summary.resolved, most.last) {
        (1, _) => String::new(),
        (of, n) => format!(" {n} of {of} times"),
    };
    let rest = match of_all - caused_ns {
        0 => String::new(),
        _ => format!(" of {}", quantity::duration(of_all)),
    };
    format!(
        "{at} rank {} {}{times}: the others wait {}{rest} for it{}",
        most.rank,
        is_last(&summary.operation),
        quantity::duration(caused_ns),
        advice::of_all_time(analysis, caused_ns),
    )
}
