//! Compares operations of several traces, with verdicts on their differences.

use std::collections::BTreeMap;

use collbench_stats::difference::Verdict;
use collbench_stats::distribution::Summary;
use collbench_stats::estimate::Estimates;

use crate::compare::compared::{
    Change, ComparedOperation, OnlyIn, OperationDifferences, QuantityDifferences, figures,
};
use crate::compare::correspondence::{Correspondence, Key};
use crate::compare::difference::{decide, difference, resolution_ns};
use crate::compare::trees;
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
    /// The same of stages and paths of spanning trees.
    pub(crate) stage_tests: Vec<usize>,
}

/// Compares the operations of all traces with those of the first one.
pub(crate) fn compare(analyses: &[Analysis], correspondences: &[Correspondence]) -> Compared {
    let baseline = &analyses[0];
    let mut only_in = Vec::new();
    let (mut tests, mut stage_tests) = (Vec::new(), Vec::new());
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
        let (mut differences, n_tests) = differences(index, granularity_ns, &pairs);
        tests.push(n_tests);
        let trees = differences.iter_mut().zip(&pairs);
        let trees = trees.flat_map(|((_, differences), &(_, one, two))| {
            differences.trees = trees::compare((baseline, one), (other, two));
            &mut differences.trees
        });
        stage_tests.push(decide(
            trees.flat_map(trees::TreeDifferences::differences_mut),
        ));
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
        stage_tests,
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
    let quantities = found.iter_mut().flat_map(|(_, differences)| {
        [
            &mut differences.duration_ns,
            &mut differences.call_time_ns,
            &mut differences.wait_ns,
            &mut differences.core_ns,
        ]
    });
    let n_tests = decide(
        quantities
            .flat_map(|quantity| [quantity.mean.as_mut(), quantity.median.as_mut()])
            .flatten(),
    );
    for (_, differences) in &mut found {
        if let Some(mean) = &differences.call_time_ns.mean {
            differences.verdict = mean.verdict;
        }
    }
    (found, n_tests)
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
        trees: Vec::new(),
    }
}
