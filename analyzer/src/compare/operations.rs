//! Compares operations of several traces, with verdicts on their differences.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The others: those of the baseline alone, and those that it does not have.
    pub(crate) beside: Vec<ComparedOperation>,
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
    let mut rows = rows(analyses, correspondences);
    let mut only_in = only_in(analyses, &rows);
    let (mut tests, mut stage_tests) = (Vec::new(), Vec::new());
    for (index, other) in analyses.iter().enumerate().skip(1) {
        let granularity_ns = granularity_ns(baseline).max(granularity_ns(other));
        let pairs = rows.iter().enumerate().filter_map(|(at, row)| {
            let (one, two) = row.indexes[0].zip(row.indexes[index])?;
            Some((at, &baseline.operations[one], &other.operations[two]))
        });
        let pairs: Vec<Pair<'_>> = pairs.collect();
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
            rows[at].differences.push(differences);
        }
    }
    let is_compared = |row: &ComparedOperation| !row.differences.is_empty();
    let (mut operations, beside): (Vec<_>, Vec<_>) = rows.into_iter().partition(is_compared);
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
        beside,
        only_in,
        tests,
        stage_tests,
    }
}

/// Each operation of any trace with those of later traces that correspond to it: those of the baseline first.
fn rows(analyses: &[Analysis], of_baseline: &[Correspondence]) -> Vec<ComparedOperation> {
    let all = analyses.iter().map(|of| (0..of.operations.len()).collect());
    let mut left: Vec<Vec<usize>> = all.collect();
    let mut rows = Vec::new();
    for (trace, own) in analyses.iter().enumerate() {
        let here = std::mem::take(&mut left[trace]);
        let row = |&at: &usize| ComparedOperation {
            operation: own.operations[at].operation.clone(),
            communicator: communicator(own, &own.operations[at]),
            traces: vec![None; trace],
            differences: Vec::new(),
            indexes: vec![None; trace],
        };
        let mut added: Vec<ComparedOperation> = here.iter().map(row).collect();
        for (index, other) in analyses.iter().enumerate().skip(trace) {
            let found = match index {
                _ if index == trace => here.iter().copied().map(Some).collect(),
                _ if trace == 0 => {
                    let correspondence = &of_baseline[index - 1];
                    counterparts((own, &here), (other, &mut left[index]), correspondence)
                }
                _ if here.is_empty() => Vec::new(),
                _ => {
                    let correspondence = Correspondence::new(own, other);
                    counterparts((own, &here), (other, &mut left[index]), &correspondence)
                }
            };
            for (row, at) in added.iter_mut().zip(found) {
                let of_trace = at.map(|at| figures(other, &other.operations[at]));
                row.traces.push(of_trace);
                row.indexes.push(at);
            }
        }
        rows.append(&mut added);
    }
    rows
}

/// For each of these operations of one trace the one of another that corresponds to it, which is taken out of
/// those left.
fn counterparts(
    (own, here): (&Analysis, &[usize]),
    (other, left): (&Analysis, &mut Vec<usize>),
    correspondence: &Correspondence,
) -> Vec<Option<usize>> {
    let mut of_key: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
    for &at in &*left {
        if let Some(key) = correspondence.key(other, &other.operations[at]) {
            of_key.entry(key).or_default().push(at);
        }
    }
    let found = here.iter().map(|&at| {
        let operation = &own.operations[at];
        let alike = of_key.get_mut(&Key::new(own, operation))?;
        take(alike, operation, own, other)
    });
    let found: Vec<Option<usize>> = found.collect();
    let taken: BTreeSet<usize> = found.iter().copied().flatten().collect();
    left.retain(|at| !taken.contains(at));
    found
}

/// The operations that the baseline or another trace does not have.
fn only_in(analyses: &[Analysis], rows: &[ComparedOperation]) -> Vec<OnlyIn> {
    let others = 1..analyses.len();
    let of_other = |other: usize| {
        rows.iter().filter_map(move |row| {
            let (trace, not_in, at) = match (row.indexes[0], row.indexes[other]) {
                (Some(at), None) => (0, other, at),
                (None, Some(at)) => (other, 0, at),
                _ => return None,
            };
            let analysis = &analyses[trace];
            Some(only(analysis, &analysis.operations[at], trace, not_in))
        })
    };
    others.flat_map(of_other).collect()
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
