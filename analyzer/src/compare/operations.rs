//! Compares operations of several traces, with verdicts on their differences.

use std::collections::BTreeMap;

use collbench_stats::difference::{Contrast, Verdict, holm};
use collbench_stats::distribution::Summary;
use collbench_stats::estimate::{Estimate, Estimates};

use crate::compare::compared::{
    Change, ComparedOperation, Difference, OnlyIn, OperationDifferences, QuantityDifferences,
    figures, rounded,
};
use crate::compare::correspondence::{Correspondence, Key};
use crate::results::analysis::Analysis;
use crate::results::operation::OperationSummary;

/// Operations of several traces, compared.
pub(crate) struct Compared {
    /// Operations that correspond, by the change of total time.
    pub(crate) operations: Vec<ComparedOperation>,
    /// Operations that only one of two traces has.
    pub(crate) only_in: Vec<OnlyIn>,
    /// For each trace but the baseline, how many differences were tested together.
    pub(crate) tests: Vec<usize>,
}

/// Compares the operations of all traces with those of the first one.
pub(crate) fn compare(analyses: &[Analysis], correspondences: &[Correspondence]) -> Compared {
    let baseline = &analyses[0];
    let mut only_in = Vec::new();
    let mut tests = Vec::new();
    let mut operations: Vec<ComparedOperation> = baseline
        .operations
        .iter()
        .enumerate()
        .map(|(at, operation)| ComparedOperation {
            indexes: vec![Some(at)],
            operation: operation.operation.clone(),
            communicator: communicator(baseline, operation),
            traces: vec![Some(figures(baseline, operation))],
            differences: Vec::new(),
        })
        .collect();
    for (index, (other, correspondence)) in (1..).zip(analyses[1..].iter().zip(correspondences)) {
        let granularity_ns = granularity_ns(baseline).max(granularity_ns(other));
        let mut of_key: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for (at, operation) in other.operations.iter().enumerate() {
            match correspondence.key(other, operation) {
                Some(key) => of_key.entry(key).or_default().push(at),
                None => only_in.push(only(other, operation, index, 0)),
            }
        }
        let mut pairs = Vec::new();
        for (at, operation) in baseline.operations.iter().enumerate() {
            let alike = of_key.get_mut(&Key::new(baseline, operation));
            let index_there = alike.and_then(|alike| take(alike, operation, baseline, other));
            let found = index_there.map(|at| &other.operations[at]);
            operations[at].indexes.push(index_there);
            operations[at]
                .traces
                .push(found.map(|found| figures(other, found)));
            match found {
                Some(found) => pairs.push((at, operation, found)),
                None => only_in.push(only(baseline, operation, 0, index)),
            }
        }
        let left = of_key.into_values().flatten();
        only_in.extend(left.map(|at| only(other, &other.operations[at], index, 0)));
        let (differences, n_tests) = differences(index, granularity_ns, &pairs);
        tests.push(n_tests);
        for (at, differences) in differences {
            operations[at].differences.push(differences);
        }
    }
    operations.retain(|operation| !operation.differences.is_empty());
    // Stable: those of equal change stay in the order of their time.
    let change = |operation: &ComparedOperation| {
        let changes = operation.differences.iter();
        changes
            .map(|d| d.total_ns.difference.saturating_abs())
            .max()
    };
    operations.sort_by_key(|operation| std::cmp::Reverse(change(operation)));
    only_in.sort_by_key(|only| {
        let time = only.figures.call_time_ns.as_ref().map_or(0, |s| s.total);
        (only.trace.max(only.not_in), std::cmp::Reverse(time))
    });
    Compared {
        operations,
        only_in,
        tests,
    }
}

/// Removes from `alike` the operation of the other trace that corresponds to one of the baseline:
/// the one with the same algorithm, else the first whose algorithm is not in the baseline. So
/// operations done by different algorithms are compared, too.
fn take(
    alike: &mut Vec<usize>,
    operation: &OperationSummary,
    baseline: &Analysis,
    other: &Analysis,
) -> Option<usize> {
    let algorithm = |at: &usize| &other.operations[*at].algorithm;
    let same = |at: &usize| *algorithm(at) == operation.algorithm;
    let key = Key::new(baseline, operation);
    let is_new = |at: &usize| {
        let mut all = baseline.operations.iter();
        !all.any(|own| own.algorithm == *algorithm(at) && Key::new(baseline, own) == key)
    };
    // Two may be called alike of which the library has said different things.
    let library_name = |at: &usize| &other.operations[*at].library_name;
    let has_same_library_name =
        |at: &usize| same(at) && *library_name(at) == operation.library_name;
    let found = alike.iter().position(has_same_library_name);
    let found = found.or_else(|| alike.iter().position(same));
    let found = found.or_else(|| alike.iter().position(is_new))?;
    Some(alike.remove(found))
}

fn only(analysis: &Analysis, operation: &OperationSummary, trace: usize, not_in: usize) -> OnlyIn {
    OnlyIn {
        trace,
        not_in,
        operation: operation.operation.clone(),
        communicator: communicator(analysis, operation),
        figures: figures(analysis, operation),
    }
}

fn communicator(analysis: &Analysis, operation: &OperationSummary) -> Option<String> {
    let id = operation.communicator?;
    Some(analysis.communicators[id].name.clone())
}

fn granularity_ns(analysis: &Analysis) -> i64 {
    let hosts = analysis.clock.hosts.iter();
    hosts.map(|host| host.granularity_ns).max().unwrap_or(0)
}

/// Two corresponding operations: index of the first, both.
type Pair<'a> = (usize, &'a OperationSummary, &'a OperationSummary);

/// The differences of all pairs, with verdicts that consider all of them together; and how many
/// those are.
fn differences(
    trace: usize,
    granularity_ns: i64,
    pairs: &[Pair<'_>],
) -> (Vec<(usize, OperationDifferences)>, usize) {
    let mut found: Vec<(usize, OperationDifferences)> = pairs
        .iter()
        .map(|&(at, one, two)| (at, of_pair(trace, granularity_ns, one, two)))
        .collect();
    let mut candidates: Vec<&mut Difference> = found
        .iter_mut()
        .flat_map(|(_, differences)| {
            [
                &mut differences.duration_ns,
                &mut differences.call_time_ns,
                &mut differences.wait_ns,
                &mut differences.core_ns,
            ]
        })
        .flat_map(|quantity| [quantity.mean.as_mut(), quantity.median.as_mut()])
        .flatten()
        .filter(|d| d.verdict == Verdict::NotDistinguishable && d.difference_ns != 0)
        .collect();
    let chances: Vec<f64> = candidates.iter().map(|d| d.p.unwrap_or(1.0)).collect();
    for (difference, is_distinct) in candidates.iter_mut().zip(holm(&chances)) {
        if is_distinct {
            difference.instances_needed = None;
            difference.verdict = if difference.difference_ns > 0 {
                Verdict::Slower
            } else {
                Verdict::Faster
            };
        }
    }
    for (_, differences) in &mut found {
        if let Some(mean) = &differences.call_time_ns.mean {
            differences.verdict = mean.verdict;
        }
    }
    (found, chances.len())
}

fn of_pair(
    trace: usize,
    granularity_ns: i64,
    one: &OperationSummary,
    two: &OperationSummary,
) -> OperationDifferences {
    let total = |o: &OperationSummary| o.call_time_ns.as_ref().map_or(0, |s| s.total);
    let instances = one.instances.min(two.instances);
    let quantity = |summaries: [&Option<Summary>; 2], estimates: [&Estimates; 2]| {
        let [Some(first), Some(second)] = summaries else {
            return QuantityDifferences::default();
        };
        let resolution_ns = resolution_ns([first.uncertainty_ns, second.uncertainty_ns]);
        let difference = |values: (i64, i64), estimates, resolution_ns| {
            difference(values, estimates, resolution_ns, instances)
        };
        QuantityDifferences {
            mean: Some(difference(
                (first.mean, second.mean),
                estimates[0].mean.zip(estimates[1].mean),
                resolution_ns,
            )),
            // A median is one of the samples, which are multiples of the clock's granularity.
            median: (estimates[0].median.zip(estimates[1].median)).map(|medians| {
                difference(
                    (first.median, second.median),
                    Some(medians),
                    resolution_ns.max((granularity_ns > 1).then_some(granularity_ns)),
                )
            }),
        }
    };
    let evidence = [one.evidence(), two.evidence()];
    OperationDifferences {
        trace,
        verdict: Verdict::TooFew,
        total_ns: Change::new(total(one), total(two)),
        duration_ns: quantity(
            [&one.duration_ns, &two.duration_ns],
            [&evidence[0].duration, &evidence[1].duration],
        ),
        call_time_ns: quantity(
            [&one.call_time_ns, &two.call_time_ns],
            [&evidence[0].call_time, &evidence[1].call_time],
        ),
        wait_ns: quantity(
            [&one.wait_ns, &two.wait_ns],
            [&evidence[0].wait, &evidence[1].wait],
        ),
        core_ns: quantity(
            [&one.core_ns, &two.core_ns],
            [&evidence[0].core, &evidence[1].core],
        ),
    }
}

/// Three standard deviations of the difference of two times whose uncertainties, two standard
/// deviations each, are given; ns. One without is of one clock; `None` if both are.
fn resolution_ns(uncertainties: [Option<i64>; 2]) -> Option<i64> {
    if uncertainties == [None; 2] {
        return None;
    }
    let [first, second] = uncertainties.map(|uncertainty| uncertainty.unwrap_or(0) as f64);
    Some((1.5 * first.hypot(second)).round() as i64)
}

/// A probability to three digits: more would be numerical noise.
fn three_digits(p: f64) -> f64 {
    let rounded = format!("{p:.2e}").parse();
    rounded.unwrap_or(p)
}

fn difference(
    (first, second): (i64, i64),
    estimates: Option<(Estimate, Estimate)>,
    resolution_ns: Option<i64>,
    instances: u64,
) -> Difference {
    let Some((one, two)) = estimates else {
        return Difference {
            verdict: Verdict::TooFew,
            difference_ns: second.saturating_sub(first),
            interval_ns: None,
            ratio: (first > 0).then(|| rounded(second as f64 / first as f64)),
            ratio_interval: None,
            p: None,
            resolution_ns,
            instances_needed: None,
        };
    };
    let contrast = Contrast::new(&one, &two);
    let ns = |time: f64| time.round() as i64;
    let difference_ns = ns(contrast.difference);
    let is_resolved = resolution_ns.is_none_or(|least| difference_ns.saturating_abs() > least);
    let needed = contrast.times_needed().map(|times| {
        // A number beyond any real run has no further meaning.
        (times * instances as f64).ceil().min(1e15) as u64
    });
    Difference {
        // Until all differences are looked at together.
        verdict: if is_resolved {
            Verdict::NotDistinguishable
        } else {
            Verdict::NotResolvable
        },
        difference_ns,
        interval_ns: Some((ns(contrast.interval.0), ns(contrast.interval.1))),
        ratio: contrast.ratio.map(|(ratio, _)| rounded(ratio)),
        ratio_interval: contrast
            .ratio
            .map(|(_, (low, high))| (rounded(low), rounded(high))),
        p: Some(three_digits(contrast.p)),
        resolution_ns,
        instances_needed: needed.filter(|&needed| needed > instances),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimates(first: f64, second: f64, error: f64) -> Option<(Estimate, Estimate)> {
        let estimate = |value| Estimate {
            value,
            below: error,
            above: error,
            df: 30.0,
        };
        Some((estimate(first), estimate(second)))
    }

    #[test]
    fn differences_below_the_error_of_the_clocks_are_not_resolvable() {
        // Three standard deviations, of clocks with two of 300 and of 400 ns.
        let least = 750;
        assert_eq!(resolution_ns([Some(300), Some(400)]), Some(least));
        assert_eq!(resolution_ns([None, Some(400)]), Some(600));
        assert_eq!(resolution_ns([None, None]), None);
        let verdict = |second, resolution_ns| {
            let found = difference((0, 0), estimates(5000.0, second, 1.0), resolution_ns, 100);
            (found.verdict, found.difference_ns)
        };
        let unresolved = Verdict::NotResolvable;
        assert_eq!(verdict(5750.0, Some(least)), (unresolved, 750));
        assert_eq!(verdict(4250.0, Some(least)), (unresolved, -750));
        // Decided together with the others, later.
        let open = Verdict::NotDistinguishable;
        assert_eq!(verdict(5751.0, Some(least)), (open, 751));
        assert_eq!(verdict(5001.0, None), (open, 1));
    }

    #[test]
    fn what_is_not_distinguishable_says_how_many_instances_would_tell() {
        let found = difference((0, 0), estimates(1000.0, 1010.0, 10.0), None, 100);
        // 10 ns with an interval of 2 sqrt(2) 10 ns to each side: 8 times as many.
        let needed = found.instances_needed.unwrap();
        assert!((790..810).contains(&needed), "{needed}");
        let clear = difference((0, 0), estimates(1000.0, 2000.0, 10.0), None, 100);
        assert_eq!(clear.instances_needed, None);
    }

    #[test]
    fn without_estimates_there_are_too_few() {
        let found = difference((1000, 1500), None, None, 3);
        assert_eq!(found.verdict, Verdict::TooFew);
        assert_eq!((found.difference_ns, found.ratio), (500, Some(1.5)));
        assert_eq!((found.p, found.interval_ns), (None, None));
    }
}
