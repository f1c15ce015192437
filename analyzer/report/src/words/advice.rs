//! Findings over time in words, and what to do next.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    ChangeKind, ChangeSummary, Culprit, DisturbanceSummary, GrowthSummary, InStep,
    OperationSummary, OutlierSummary, PeriodBasis,
};
use collbench_text::{
    inert,
    quantity::{begin, counted, duration, share},
};

use crate::words::{call_sites, communicator, culprit};

/// Most phases that are listed one by one.
const MAX_PHASES: usize = 4;
/// Most outlying instances, and classes, that are listed.
const MAX_OUTLIERS: usize = 2;
const MAX_CLASSES: usize = 4;

/// Whom a change of lateness names.
pub(crate) fn late_in(change: &ChangeSummary) -> impl Iterator<Item = &Culprit> {
    let phases = change.phases.iter();
    let growing = change.growth.iter().map(|growth| &growth.late);
    phases
        .filter_map(|phase| phase.late.as_ref())
        .chain(growing)
}

/// How lateness changed: "rank 3 is late from 12.1 s on".
pub(crate) fn change(change: &ChangeSummary) -> String {
    let late: Vec<(&Culprit, i64, i64)> = change
        .phases
        .iter()
        .filter_map(|phase| Some((phase.late.as_ref()?, phase.from_ns, phase.to_ns)))
        .collect();
    let Some(&(first, from_ns, to_ns)) = late.first() else {
        return String::new();
    };
    let who = culprit(first);
    match change.kind {
        ChangeKind::Starts => format!("{who} is late from {} on", duration(from_ns)),
        ChangeKind::Ends => format!("{who} is late until {}, then nobody", duration(to_ns)),
        ChangeKind::Grows | ChangeKind::Shrinks => {
            change.growth.as_ref().map_or_else(String::new, growth)
        }
        ChangeKind::Moves => {
            let stations = late
                .iter()
                .take(MAX_PHASES)
                .enumerate()
                .map(|(n, (who, _, to_ns))| {
                    let is_late = if n == 0 { " is late" } else { "" };
                    format!("{}{is_late} until {}", culprit(who), duration(*to_ns))
                });
            let stations: Vec<String> = stations.collect();
            let rest = match late.len().checked_sub(MAX_PHASES) {
                None | Some(0) => String::new(),
                Some(n) => format!(", then {n} more"),
            };
            format!("lateness moves: {}{rest}", stations.join(", then "))
        }
        ChangeKind::ComesAndGoes | ChangeKind::Newer => {
            let phases = late.iter().take(MAX_PHASES).map(|(_, from_ns, to_ns)| {
                format!("from {} to {}", duration(*from_ns), duration(*to_ns))
            });
            let phases: Vec<String> = phases.collect();
            let rest = if late.len() > MAX_PHASES {
                ", and again later"
            } else {
                ""
            };
            format!("{who} is late {}{rest}", phases.join(", "))
        }
    }
}

/// Lateness that grows or shrinks: "rank 3 is later and later: not at all at the start of the run, by
/// 2.00 ms on average at its end (1.24 ms more per second)".
fn growth(growth: &GrowthSummary) -> String {
    let (course, more) = if growth.slope_ns_per_s < 0 {
        ("less and less late", "less")
    } else {
        ("later and later", "more")
    };
    let by = |ns| match ns {
        0 => "not at all".to_owned(),
        _ => format!("by {} on average", duration(ns)),
    };
    format!(
        "{} is {course}: {} at the start of the run, {} at its end ({} {more} per second)",
        culprit(&growth.late),
        by(growth.at_begin_ns),
        by(growth.at_end_ns),
        duration(growth.slope_ns_per_s.saturating_abs()),
    )
}

/// A periodic disturbance: "every 1.00 s (sd 2.00 ms) something interrupts rank 5 for about 5.00 ms".
pub(crate) fn disturbance(analysis: &Analysis, disturbance: &DisturbanceSummary) -> String {
    let who = match &disturbance.late {
        Some(who) => culprit(who),
        None => "one rank or another".to_owned(),
    };
    let (arrives, it) = match &disturbance.late {
        Some(Culprit::Ranks(_)) => ("arrive", "them"),
        _ => ("arrives", "it"),
    };
    let least = if disturbance.is_least {
        "at least "
    } else {
        ""
    };
    let times = format!(
        "{least}{}; the others wait {least}{} for {it} in total",
        counted(disturbance.n, "time"),
        duration(disturbance.wait_caused_ns),
    );
    let excess = duration(disturbance.excess_ns);
    let period = duration(disturbance.period_ns);
    let scatter = duration(disturbance.scatter_ns);
    let steps = disturbance
        .in_step
        .as_ref()
        .map(|step| steps(analysis, step));
    match (disturbance.basis, steps) {
        (Some(PeriodBasis::Steps), Some(steps)) => format!(
            "{who} {arrives} about {excess} late {steps}, on average every {period}: {times}; look at \
             what the program does only then",
        ),
        (None, Some(steps)) => format!(
            "{who} {arrives} about {excess} late every {period} (sd {scatter}), which is also {steps}: \
             {times}; its steps are too regular to tell whether the program itself or something \
             outside makes it late",
        ),
        (None, None) => format!(
            "{who} {arrives} about {excess} late every {period} (sd {scatter}): {times}; neither the \
             times nor the steps of the program in between are regular enough to tell whether the \
             program itself or something outside makes it late",
        ),
        (Some(_), _) => format!(
            "every {period} (sd {scatter}) something interrupts {who} for about {excess}, \
             independent of the steps of the program: {times}; look for a daemon, a timer or an \
             interrupt, or for what the program does only when it is needed",
        ),
    }
}

/// "at MPI_Barrier on MPI_COMM_WORLD in every 10th iteration of the program's loop".
fn steps(analysis: &Analysis, step: &InStep) -> String {
    let communicator = communicator(analysis, Some(step.communicator), 30);
    let operation = &step.operation;
    match step.calls_per_iteration {
        Some(1) => format!(
            "at every {} call of {operation} on {communicator}",
            ordinal(step.every)
        ),
        Some(_) if step.every == 1 => {
            format!("at {operation} on {communicator} in every iteration of the program's loop")
        }
        Some(_) => format!(
            "at {operation} on {communicator} in every {} iteration of the program's loop",
            ordinal(step.every)
        ),
        None => format!(
            "at every {} collective on {communicator} ({operation})",
            ordinal(step.every)
        ),
    }
}

/// `2nd`, `10th`.
pub(crate) fn ordinal(n: u64) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

/// The longest outliers, by how much longer they took than the median instance; only those that took
/// at least 1 % of a rank's time in collectives longer.
pub(crate) fn outliers(analysis: &Analysis) -> Vec<String> {
    let n_ranks = (analysis.ranks.len() as i64).max(1);
    let least_ns = analysis.collectives_ns() / n_ranks / 100;
    let mut costliest: Vec<(i64, &OperationSummary, &OutlierSummary)> = Vec::new();
    for operation in &analysis.operations {
        let median = operation
            .duration_ns
            .as_ref()
            .map_or(0, |usual| usual.median);
        for outlier in &operation.outliers {
            costliest.push((
                outlier.duration_ns.saturating_sub(median),
                operation,
                outlier,
            ));
        }
    }
    costliest.retain(|(excess, ..)| *excess > least_ns);
    // Stable: equal ones stay in the order of the operations.
    costliest.sort_by_key(|(excess, ..)| std::cmp::Reverse(*excess));
    let n = costliest.len();
    let shown = costliest.iter().take(MAX_OUTLIERS).enumerate();
    let sentences = shown.map(|(at, (_, operation, outlier))| {
        let words = outlier_words(analysis, operation, outlier);
        match (at, n) {
            (0, 2..) => format!("the longest of {n} unusually long instances: {words}"),
            _ => words,
        }
    });
    sentences.collect()
}

/// What is known of an outlier, as a sentence without its end.
pub(crate) fn outlier_words(
    analysis: &Analysis,
    operation: &OperationSummary,
    outlier: &OutlierSummary,
) -> String {
    let usual = operation
        .duration_ns
        .as_ref()
        .map_or(0, |usual| usual.median);
    let called = call_sites::place(analysis, outlier.site);
    let called = called.map_or_else(String::new, |place| format!(", called at {place}"));
    // Where hosts have no common time, of the first enter it is not known when it was.
    let begin_ns = (outlier.spread_ns).map(|spread_ns| outlier.at_ns.saturating_sub(spread_ns));
    let when = match begin_ns {
        Some(begin_ns) => format!("at {}", begin(begin_ns, outlier.duration_ns)),
        None => format!("last entered at {}", duration(outlier.at_ns)),
    };
    let sentence = format!(
        "{} on {} {when} (call {}{called}) took {}, median {}",
        operation.operation,
        communicator(analysis, operation.communicator, 30),
        outlier.sequence,
        duration(outlier.duration_ns),
        duration(usual),
    );
    // Late arrivals explain an outlier if they are at least half of what it took longer.
    let least_ns = (outlier.duration_ns - usual) / 2;
    let n_ranks = operation.last_arrivals.len();
    let late = outlier.late_by_ns.filter(|late_ns| *late_ns >= least_ns);
    let why = match (late, &outlier.late_ranks[..], outlier.spread_ns) {
        (Some(late_ns), [rank], _) => {
            format!(
                ": rank {rank} arrived last, {} after the others",
                duration(late_ns)
            )
        }
        (Some(late_ns), ranks, _) if 2 * ranks.len() <= n_ranks => format!(
            ": {} arrived last together, {} after the others",
            inert::ranks(ranks),
            duration(late_ns)
        ),
        (Some(late_ns), ranks, _) => format!(
            ": {} arrived {} after the first",
            inert::ranks(ranks),
            duration(late_ns)
        ),
        (None, _, Some(spread_ns)) if spread_ns >= least_ns => format!(
            ": its ranks arrived one by one, the last {} after the first",
            duration(spread_ns)
        ),
        (None, _, Some(_)) => {
            ": no rank was late; the time was spent in the operation itself".to_owned()
        }
        (None, _, None) => String::new(),
    };
    sentence + &why
}

/// The classes of ranks, if there are several.
pub(crate) fn classes(analysis: &Analysis) -> Option<String> {
    let classes = &analysis.classes;
    if classes.len() < 2 {
        return None;
    }
    let words = classes.iter().take(MAX_CLASSES).map(|class| {
        let wait = class
            .mean_wait_ns
            .map_or_else(|| "not known".to_owned(), duration);
        format!("{wait} for {}", inert::line(&class.name, 40))
    });
    let words: Vec<String> = words.collect();
    let rest = match classes.len().saturating_sub(MAX_CLASSES) {
        0 => String::new(),
        n => format!("; {n} more"),
    };
    Some(format!(
        "{} groups of ranks, mean wait per call: {}{rest}",
        classes.len(),
        words.join("; ")
    ))
}

/// The part of all time in collectives that a wait is, in words.
pub(crate) fn of_all_time(analysis: &Analysis, wait_ns: i64) -> String {
    let all_ns = analysis.collectives_ns();
    match all_ns {
        1.. => format!(
            " ({} of all time in collectives)",
            share(wait_ns as f64 / all_ns as f64)
        ),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;
    use collbench_analyzer::results::PhaseSummary;

    fn phase(from_ns: i64, to_ns: i64, rank: Option<u32>) -> PhaseSummary {
        PhaseSummary {
            from_ns,
            to_ns,
            late: rank.map(Culprit::Rank),
            share: rank.map(|_| 0.9),
            wait_caused_ns: rank.map(|_| 5_000),
            resolved: 100,
        }
    }

    fn words(kind: ChangeKind, phases: &[(i64, i64, Option<u32>)]) -> String {
        let phases = phases.iter().map(|&(from, to, rank)| phase(from, to, rank));
        change(&ChangeSummary {
            kind,
            phases: phases.collect(),
            growth: None,
        })
    }

    #[test]
    fn changes_say_who_was_late_and_when() {
        assert_eq!(
            words(
                ChangeKind::Starts,
                &[
                    (0, 12_000_000_000, None),
                    (12_000_000_000, 20_000_000_000, Some(3))
                ]
            ),
            "rank 3 is late from 12.0 s on"
        );
        assert_eq!(
            words(
                ChangeKind::Ends,
                &[(0, 5_000, Some(3)), (5_000, 9_000, None)]
            ),
            "rank 3 is late until 5.00 us, then nobody"
        );
        let moves: Vec<(i64, i64, Option<u32>)> = (0..6)
            .map(|n: u32| (i64::from(n) * 1_000, i64::from(n + 1) * 1_000, Some(n)))
            .collect();
        assert_eq!(
            words(ChangeKind::Moves, &moves),
            "lateness moves: rank 0 is late until 1.00 us, then rank 1 until 2.00 us, then rank 2 until \
             3.00 us, then rank 3 until 4.00 us, then 2 more"
        );
        assert_eq!(
            words(
                ChangeKind::ComesAndGoes,
                &[
                    (0, 100, None),
                    (100, 200, Some(1)),
                    (200, 300, None),
                    (300, 400, Some(1))
                ]
            ),
            "rank 1 is late from 100 ns to 200 ns, from 300 ns to 400 ns"
        );
    }

    #[test]
    fn a_disturbance_has_a_period_in_time_or_in_calls() {
        let analysis = nothing();
        let found = DisturbanceSummary {
            period_ns: 1_000_000_000,
            period_error_ns: 300_000,
            scatter_ns: 2_000_000,
            n: 58,
            is_least: false,
            excess_ns: 5_000_000,
            late: Some(Culprit::Rank(5)),
            wait_caused_ns: 17_000_000_000,
            basis: Some(PeriodBasis::Time),
            in_step: None,
            operations: Vec::new(),
        };
        assert_eq!(
            disturbance(&analysis, &found),
            "every 1.00 s (sd 2.00 ms) something interrupts rank 5 for about 5.00 ms, independent of \
             the steps of the program: 58 times; the others wait 17.0 s for it in total; look for a \
             daemon, a timer or an interrupt, or for what the program does only when it is needed"
        );
        let step = InStep {
            communicator: 0,
            operation: "MPI_Barrier".into(),
            every: 22,
            calls_per_iteration: Some(1),
        };
        let found = DisturbanceSummary {
            late: None,
            basis: Some(PeriodBasis::Steps),
            in_step: Some(step.clone()),
            ..found
        };
        assert!(disturbance(&analysis, &found).starts_with(
            "one rank or another arrives about 5.00 ms late at every 22nd call of MPI_Barrier on \
             unknown, on average every 1.00 s: 58 times"
        ));
        let found = DisturbanceSummary {
            basis: None,
            in_step: Some(InStep {
                calls_per_iteration: Some(3),
                ..step.clone()
            }),
            ..found
        };
        assert!(disturbance(&analysis, &found).starts_with(
            "one rank or another arrives about 5.00 ms late every 1.00 s (sd 2.00 ms), which is also at \
             MPI_Barrier on unknown in every 22nd iteration of the program's loop: 58 times"
        ));
        let words = |every, calls_per_iteration| {
            let step = InStep {
                every,
                calls_per_iteration,
                ..step.clone()
            };
            steps(&analysis, &step)
        };
        assert_eq!(
            words(1, Some(11)),
            "at MPI_Barrier on unknown in every iteration of the program's loop"
        );
        assert_eq!(
            words(7, None),
            "at every 7th collective on unknown (MPI_Barrier)"
        );
    }

    #[test]
    fn growth_is_told_with_both_ends_and_its_slope() {
        let grown = |slope_ns_per_s, at_begin_ns| {
            growth(&GrowthSummary {
                late: Culprit::Rank(7),
                slope_ns_per_s,
                at_begin_ns,
                at_end_ns: 2_000_000,
            })
        };
        assert_eq!(
            grown(1_240_000, 0),
            "rank 7 is later and later: not at all at the start of the run, by 2.00 ms on average at \
             its end (1.24 ms more per second)"
        );
        let shrinks = grown(-5_000, 9_000_000);
        let words = "rank 7 is less and less late: by 9.00 ms on average at the start";
        assert!(shrinks.starts_with(words), "{shrinks}");
    }
}
