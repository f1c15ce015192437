//! Several runs of each of two sides: the runs are the samples, not their calls.
//!
//! How long calls take differs from run to run by placement, other jobs and the state of the machine, which the calls of
//! one run share. So each run gives one value, its mean, and the spread between the runs of a side decides whether the
//! sides differ (Welch's t test of the means of runs).

use std::collections::BTreeMap;

use collbench_stats::difference::Verdict;
use collbench_stats::distribution::Summary;
use collbench_stats::estimate::{ALPHA, Estimate, Estimates, Evidence};
use collbench_stats::student;
use serde::{Deserialize, Serialize};

use crate::compare::Comparison;
use crate::compare::compared::{
    Change, ComparedOperation, ComparedTrace, OperationDifferences, QuantityDifferences,
};
use crate::compare::difference::{Difference, decide, difference};
use crate::compare::sites::{ComparedSite, SiteFigures};
use crate::compare::trees::{PathDifferences, StageDifferences, TreeDifferences};
use crate::results::analysis::Analysis;
use crate::results::code::Code;
use crate::results::operation::OperationSummary;
use crate::results::trees::MeanTime;

/// Runs of a side from which on there is a spread between them.
pub const MIN_RUNS: usize = 2;
/// Most runs that are said to be needed.
const MAX_NEEDED: u64 = 1_000;

/// Two sides of one run or more each, compared.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sides {
    /// Indexes of the traces of the baseline.
    pub baseline: Vec<usize>,
    /// Indexes of the traces that are compared with it.
    pub other: Vec<usize>,
    /// How long the runs take.
    pub duration_ns: RunsDifference,
    /// The time in collectives of all processes.
    pub collectives_ns: RunsDifference,
    /// The sum of all waits; `None` where it is not known of all runs.
    pub wait_ns: Option<RunsDifference>,
    /// The operations that both sides have, by the change of their total time.
    pub operations: Vec<SidesOperation>,
    /// Operations that runs of one side only have: indexes in `operations` of the comparison.
    #[serde(default)]
    pub only_in: Vec<usize>,
    /// The places from which operations are called, by the change of the time in their calls.
    #[serde(default)]
    pub sites: Vec<SidesSite>,
    /// Differences that were tested together: verdicts are corrected for so many (Holm).
    pub tests: usize,
    /// Differences of stages and paths of spanning trees of our own, which are tested together apart from the others.
    #[serde(default)]
    pub stage_tests: usize,
    /// Differences of places that both sides have, which are tested together apart from the others.
    #[serde(default)]
    pub site_tests: usize,
}

/// How the runs of two sides differ in one time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunsDifference {
    /// The time in each run of the baseline, ns.
    pub baseline_ns: Vec<i64>,
    /// The time in each run of the other side, ns.
    pub other_ns: Vec<i64>,
    /// The difference of their means.
    pub difference: Difference,
}

/// How one operation differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SidesOperation {
    /// Its index in `operations` of the comparison.
    pub row: usize,
    /// For each run of the baseline the mean time of a call, ns; `None` where the run does not have it.
    pub baseline_ns: Vec<Option<i64>>,
    /// For each run of the other side the mean time of a call, ns; `None` where the run does not have it.
    pub other_ns: Vec<Option<i64>>,
    /// The differences of the means of runs; `trace` is the first run of the other side that has the operation. The
    /// reasons (waits, core, duration) are tested only where the time of its calls differs.
    pub differences: OperationDifferences,
}

/// How the time in the calls of an operation from one place in the program differs between the sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SidesSite {
    /// Name of the standard.
    pub operation: Code,
    /// The place in the first run of the baseline that calls from there: `solver.f90:312`; `None` where none does.
    pub baseline: Option<String>,
    /// The place in the first run of the other side that calls from there; `None` where none does.
    pub other: Option<String>,
    /// The time in the calls of all processes from there; of a run without such calls 0. The difference is tested where
    /// both sides call from there; else its verdict is `too_few`.
    pub call_time_ns: RunsDifference,
}

/// One value of each run of a side that has one, with its standard error within the run, ns.
type Values = Vec<(f64, f64)>;

/// Compares the runs of `baseline` with those of `other`.
pub(crate) fn compare(
    (baseline, other): (&[usize], &[usize]),
    analyses: &[Analysis],
    compared: &Comparison,
) -> Sides {
    let (traces, operations) = (&compared.traces, &compared.operations);
    let is_in = |row: usize, side: &[usize]| {
        let mut side = side.iter();
        side.any(|&trace| operations[row].indexes[trace].is_some())
    };
    let in_both = |row: &usize| is_in(*row, baseline) && is_in(*row, other);
    let (rows, only_in): (Vec<usize>, Vec<usize>) = (0..operations.len()).partition(in_both);
    // Of the runs as a whole three.
    let n_tests = rows.len() + 3;
    let whole = |time: fn(&ComparedTrace) -> i64| {
        let [baseline_ns, other_ns] = [baseline, other].map(|side| {
            let times = side.iter().map(|&trace| time(&traces[trace]));
            times.collect()
        });
        RunsDifference::new(baseline_ns, other_ns, n_tests)
    };
    let waits = |side: &[usize]| -> Option<Vec<i64>> {
        side.iter().map(|&trace| traces[trace].wait_ns).collect()
    };
    let waits = waits(baseline).zip(waits(other));
    let operation = |row: usize| {
        let summaries = |side: &[usize]| -> Vec<Option<&OperationSummary>> {
            let indexes = side
                .iter()
                .map(|&trace| (trace, operations[row].indexes[trace]));
            let found = indexes.map(|(trace, index)| Some(&analyses[trace].operations[index?]));
            found.collect()
        };
        let first = other
            .iter()
            .find(|&&trace| operations[row].indexes[trace].is_some());
        let (one, two) = (summaries(baseline), summaries(other));
        let mean = |of: &Option<&OperationSummary>| Some(of.as_ref()?.call_time_ns.as_ref()?.mean);
        let mut differences = of_operation(first.copied().unwrap_or_default(), &one, &two, n_tests);
        differences.trees = trees((baseline, other), &operations[row]);
        SidesOperation {
            row,
            baseline_ns: one.iter().map(mean).collect(),
            other_ns: two.iter().map(mean).collect(),
            differences,
        }
    };
    let mut sides = Sides {
        baseline: baseline.to_vec(),
        other: other.to_vec(),
        duration_ns: whole(|trace| trace.trace.duration_ns),
        collectives_ns: whole(|trace| trace.collectives_ns),
        wait_ns: waits.map(|(one, two)| RunsDifference::new(one, two, n_tests)),
        operations: rows.into_iter().map(operation).collect(),
        only_in,
        sites: sites((baseline, other), &compared.sites),
        tests: 0,
        stage_tests: 0,
        site_tests: 0,
    };
    sides.decide();
    // Stable: those of equal change stay in the order of their time.
    let change = |of: &SidesOperation| of.differences.total_ns.difference.saturating_abs();
    sides
        .operations
        .sort_by_key(|of| std::cmp::Reverse(change(of)));
    let change = |of: &SidesSite| of.call_time_ns.difference.difference_ns.saturating_abs();
    sides.sites.sort_by_key(|of| std::cmp::Reverse(change(of)));
    sides
}

/// The times of the calls from each place in the runs of two sides. `compared` are those of each run beside those of
/// the first run of the baseline.
fn sites((baseline, other): (&[usize], &[usize]), compared: &[ComparedSite]) -> Vec<SidesSite> {
    /// The places, and for each run the calls from there.
    type OfRuns<'a> = BTreeMap<(&'a Code, &'a str), BTreeMap<usize, &'a SiteFigures>>;
    let mut places: OfRuns<'_> = BTreeMap::new();
    for site in compared {
        let Some(known) = site.baseline.as_ref().or(site.other.as_ref()) else {
            continue;
        };
        let runs = places.entry((&site.operation, &known.place)).or_default();
        runs.extend(site.baseline.as_ref().map(|of| (baseline[0], of)));
        runs.extend(site.other.as_ref().map(|of| (site.trace, of)));
    }
    let is_in = |side: &[usize], runs: &BTreeMap<usize, &SiteFigures>| {
        side.iter().any(|trace| runs.contains_key(trace))
    };
    let in_both = places.values();
    let n_tests = in_both
        .filter(|runs| is_in(baseline, runs) && is_in(other, runs))
        .count();
    let sites = places.into_iter().map(|((operation, _), runs)| {
        let times = |side: &[usize]| -> Vec<i64> {
            let times = side.iter().map(|trace| runs.get(trace));
            times.map(|of| of.map_or(0, |of| of.call_time_ns)).collect()
        };
        let place = |side: &[usize]| {
            let first = side.iter().find_map(|trace| runs.get(trace))?;
            Some(first.place.clone())
        };
        let times = (times(baseline), times(other));
        SidesSite {
            operation: operation.clone(),
            baseline: place(baseline),
            other: place(other),
            call_time_ns: if is_in(baseline, &runs) && is_in(other, &runs) {
                RunsDifference::new(times.0, times.1, n_tests)
            } else {
                RunsDifference::untested(times.0, times.1)
            },
        }
    });
    sites.collect()
}

/// The stages and paths of the spanning trees of our own that an operation ran on: the trees of the first run of each
/// side, with mean times of all runs that have them.
fn trees(
    (baseline, other): (&[usize], &[usize]),
    operation: &ComparedOperation,
) -> Vec<TreeDifferences> {
    let of_run = |trace: &usize| {
        let mut all = operation.differences.iter();
        all.find(|of| of.trace == *trace)
    };
    let first = other.iter().find_map(of_run);
    let mut found = first.map_or_else(Vec::new, |first| first.trees.clone());
    let n_tests = found
        .iter()
        .map(|tree| tree.stages.len() + tree.paths.len())
        .sum();
    for tree in &mut found {
        let [one, two] = [baseline, other].map(|side| {
            let trees = side.iter().filter_map(of_run);
            let trees =
                trees.flat_map(|of| of.trees.iter().find(|of| of.baseline == tree.baseline));
            trees.collect::<Vec<&TreeDifferences>>()
        });
        for stage in &mut tree.stages {
            let is_same = |of: &&StageDifferences| {
                (of.kind, &of.direction, &of.wrappers)
                    == (stage.kind, &stage.direction, &stage.wrappers)
            };
            let in_run = |of: &&TreeDifferences| of.stages.iter().find(is_same)?.other.clone();
            // Stages of other trees have no names in common.
            let Some(first) = stage.baseline.clone() else {
                continue;
            };
            let ones: Vec<MeanTime> = (one.iter().filter_map(in_run)).chain([first]).collect();
            let twos: Vec<MeanTime> = two.iter().filter_map(in_run).collect();
            stage.difference = of_times(&ones, &twos, n_tests);
            (stage.baseline, stage.other) = (mean_time(&ones), mean_time(&twos));
        }
        for path in &mut tree.paths {
            let is_same = |of: &&PathDifferences| (of.rank, of.thread) == (path.rank, path.thread);
            let in_run = |of: &&TreeDifferences| Some(of.paths.iter().find(is_same)?.other.clone());
            let first = path.baseline.clone();
            let ones: Vec<MeanTime> = (one.iter().filter_map(in_run)).chain([first]).collect();
            let twos: Vec<MeanTime> = two.iter().filter_map(in_run).collect();
            let both = mean_time(&ones).zip(mean_time(&twos));
            if let (Some(difference), Some(times)) = (of_times(&ones, &twos, n_tests), both) {
                path.difference = difference;
                (path.baseline, path.other) = times;
            }
        }
    }
    found
}

/// The difference of a time of the runs of two sides; `None` where no run of a side has it.
fn of_times(one: &[MeanTime], two: &[MeanTime], n_tests: usize) -> Option<Difference> {
    let values = |times: &[MeanTime]| -> Values {
        let of_run = |time: &MeanTime| {
            let estimate = time.estimate.as_ref();
            let known = estimate.map(|of| (of.value, of.below.max(of.above)));
            known.unwrap_or((time.mean_ns as f64, 0.0))
        };
        times.iter().map(of_run).collect()
    };
    let has_both = !one.is_empty() && !two.is_empty();
    has_both.then(|| of_runs(&values(one), &values(two), n_tests))
}

/// The mean of runs; `None` of none.
fn mean_time(runs: &[MeanTime]) -> Option<MeanTime> {
    let sum: i128 = runs.iter().map(|run| i128::from(run.mean_ns)).sum();
    let mean_ns = sum.checked_div(runs.len() as i128)?;
    Some(MeanTime {
        n: runs.iter().map(|run| run.n).sum(),
        mean_ns: i64::try_from(mean_ns).unwrap_or(i64::MAX),
        sd_ns: None,
        interval_ns: None,
        uncertainty_ns: runs.iter().filter_map(|run| run.uncertainty_ns).max(),
        estimate: None,
    })
}

impl RunsDifference {
    /// Of the times of the runs of each side, ns, among so many differences that are tested.
    fn new(baseline_ns: Vec<i64>, other_ns: Vec<i64>, n_tests: usize) -> Self {
        Self {
            difference: of_runs(&values(&baseline_ns), &values(&other_ns), n_tests),
            baseline_ns,
            other_ns,
        }
    }

    /// Of times of which one side has none: that needs no test.
    fn untested(baseline_ns: Vec<i64>, other_ns: Vec<i64>) -> Self {
        let [one, two] = [&baseline_ns, &other_ns].map(|times| mean(&values(times)).round() as i64);
        Self {
            difference: difference((one, two), None, None, 0),
            baseline_ns,
            other_ns,
        }
    }
}

fn values(times: &[i64]) -> Values {
    times.iter().map(|&ns| (ns as f64, 0.0)).collect()
}

impl Sides {
    /// Verdicts on the runs and on the times of calls together; then on the reasons where those differ.
    fn decide(&mut self) {
        let calls = self.operations.iter_mut();
        let calls = calls.filter_map(|of| of.differences.call_time_ns.mean.as_mut());
        let whole = [&mut self.duration_ns, &mut self.collectives_ns];
        let whole = whole.into_iter().chain(&mut self.wait_ns);
        self.tests = decide(whole.map(|of| &mut of.difference).chain(calls));
        for of in &mut self.operations {
            if let Some(mean) = &of.differences.call_time_ns.mean {
                of.differences.verdict = mean.verdict;
            }
        }
        let changed = self.operations.iter_mut().map(|of| &mut of.differences);
        let changed = changed.filter(|of| matches!(of.verdict, Verdict::Slower | Verdict::Faster));
        decide(changed.flat_map(|of| {
            let reasons = [&mut of.duration_ns, &mut of.wait_ns, &mut of.core_ns];
            reasons
                .into_iter()
                .filter_map(|reason| reason.mean.as_mut())
        }));
        let trees = self.operations.iter_mut();
        let trees = trees.flat_map(|of| &mut of.differences.trees);
        self.stage_tests = decide(trees.flat_map(TreeDifferences::differences_mut));
        let sites = self.sites.iter_mut();
        self.site_tests = decide(sites.map(|of| &mut of.call_time_ns.difference));
    }
}

fn of_operation(
    trace: usize,
    baseline: &[Option<&OperationSummary>],
    other: &[Option<&OperationSummary>],
    n_tests: usize,
) -> OperationDifferences {
    let total = |side: &[Option<&OperationSummary>]| {
        let times = side
            .iter()
            .flatten()
            .filter_map(|of| of.call_time_ns.as_ref());
        let (n, sum) = times.fold((0, 0_i128), |(n, sum), of| {
            (n + 1, sum + i128::from(of.total))
        });
        i64::try_from(sum / n.max(1)).unwrap_or(i64::MAX)
    };
    let quantity = |summary: fn(&OperationSummary) -> &Option<Summary>,
                    evidence: fn(Evidence) -> Estimates| {
        let values = |side: &[Option<&OperationSummary>]| -> Values {
            let of_run = |of: &&OperationSummary| {
                let estimate = evidence(of.evidence()).mean;
                let mean = summary(of).as_ref()?.mean as f64;
                Some(estimate.map_or((mean, 0.0), |of| (of.value, of.below.max(of.above))))
            };
            side.iter().flatten().filter_map(of_run).collect()
        };
        let (one, two) = (values(baseline), values(other));
        QuantityDifferences {
            mean: (!one.is_empty() && !two.is_empty()).then(|| of_runs(&one, &two, n_tests)),
            median: None,
        }
    };
    OperationDifferences {
        trace,
        verdict: Verdict::TooFew,
        total_ns: Change::new(total(baseline), total(other)),
        duration_ns: quantity(|of| &of.duration_ns, |of| of.duration),
        call_time_ns: quantity(|of| &of.call_time_ns, |of| of.call_time),
        wait_ns: quantity(|of| &of.wait_ns, |of| of.wait),
        core_ns: quantity(|of| &of.core_ns, |of| of.core),
        trees: Vec::new(),
    }
}

/// The difference of the means of two sides, with a verdict for [`decide`] to complete.
fn of_runs(baseline: &Values, other: &Values, n_tests: usize) -> Difference {
    let mean = |values: &Values| mean(values).round() as i64;
    let estimates = estimate(baseline).zip(estimate(other));
    Difference {
        instances_needed: None,
        runs_needed: runs_needed(baseline, other, n_tests),
        ..difference((mean(baseline), mean(other)), estimates, None, 0)
    }
}

fn mean(values: &Values) -> f64 {
    let sum: f64 = values.iter().map(|(value, _)| value).sum();
    sum / values.len().max(1) as f64
}

/// Variance of the value of one run: that between the runs, at least that within them, which is a part of it. `None`
/// of fewer than [`MIN_RUNS`].
fn variance(values: &Values) -> Option<f64> {
    let n = values.len();
    if n < MIN_RUNS {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|(value, _)| (value - mean).powi(2)).sum();
    let within: f64 = values.iter().map(|(_, error)| error.powi(2)).sum();
    Some((squares / (n - 1) as f64).max(within / n as f64))
}

fn estimate(values: &Values) -> Option<Estimate> {
    let n = values.len() as f64;
    let error = (variance(values)? / n).sqrt();
    Some(Estimate {
        value: mean(values),
        below: error,
        above: error,
        df: n - 1.0,
    })
}

/// With how many runs of each side a difference of this size would be significant among so many that are tested, if they
/// are more than there are. A side of one run is taken to vary as the other one does.
fn runs_needed(baseline: &Values, other: &Values, n_tests: usize) -> Option<u64> {
    let variances = [variance(baseline), variance(other)];
    let known = variances[0].or(variances[1])?;
    let sum: f64 = variances.iter().map(|of| of.unwrap_or(known)).sum();
    let difference = (mean(other) - mean(baseline)).abs();
    let has_enough = |n: &u64| {
        let t = student::two_sided_quantile(ALPHA / n_tests as f64, 2.0 * (n - 1) as f64);
        t * (sum / *n as f64).sqrt() < difference
    };
    let fewest = baseline.len().min(other.len()).max(MIN_RUNS - 1) as u64;
    (fewest + 1..=MAX_NEEDED).find(has_enough)
}
