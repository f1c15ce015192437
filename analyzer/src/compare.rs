//! Compares several analyses: `collbench.comparison/1`.
//!
//! The first trace is the baseline, every other one is compared with it. Operations are put next to
//! each other ([`Correspondence`]); means and medians have errors from batches of consecutive
//! instances ([`Evidence`](collbench_stats::estimate::Evidence)), which include correlation within
//! a run; differences have intervals ([`Contrast`](collbench_stats::difference::Contrast)); whether
//! a difference is significant is decided for all of them together. These intervals cover variation
//! within a run only, not between runs; a remark says so. With several runs of each side
//! ([`Comparison::of_sides`]) the runs are the samples ([`Sides`]).

use collbench_stats::integers::sum_ns;

use crate::results::analysis::Analysis;

mod compared;
mod correspondence;
mod difference;
mod operations;
mod reconfiguration;
mod remarks;
mod sides;
mod sites;
mod trees;

pub use collbench_stats::difference::Verdict as ComparisonVerdict;
pub use compared::{
    Change, ComparedOperation, ComparedTrace, DifferingSetting, OnlyIn, OperationDifferences,
    OperationFigures, QuantityDifferences, RunDifferences,
};
use correspondence::Correspondence;
pub use difference::Difference;
pub use remarks::ComparisonRemark;
pub use sides::{MIN_RUNS, RunsDifference, Sides, SidesOperation, SidesSite};
pub use sites::{ComparedSite, SiteFigures};
pub use trees::{
    ComparedWrapper, Configuration, PathDifferences, StageDifferences, TreeDifferences, WrapperAt,
};

/// Everything that the comparison of traces found.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The traces as given; the first is the baseline.
    pub traces: Vec<ComparedTrace>,
    /// Settings that differ between traces.
    pub differs: Vec<DifferingSetting>,
    /// For each trace but the baseline, how the run as a whole differs.
    pub runs: Vec<RunDifferences>,
    /// Operations of the baseline that another trace has too, by the change of their total time; of two sides also
    /// all others, behind them.
    pub operations: Vec<ComparedOperation>,
    /// Operations that one of two traces compared does not have.
    pub only_in: Vec<OnlyIn>,
    /// Places from which operations are called, by the change of the time in their calls; none if a trace
    /// has no call sites.
    pub sites: Vec<ComparedSite>,
    /// How two sides of several runs differ; `None` where each trace is compared with the first.
    pub sides: Option<Sides>,
    /// What a reader should know.
    pub remarks: Vec<ComparisonRemark>,
}

impl Comparison {
    /// Compares analyses of two or more traces; the first is the baseline.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn new(analyses: &[Analysis]) -> Self {
        Self::with_others(analyses).0
    }

    /// The comparison, and the operations that are in the baseline alone, or not in it.
    fn with_others(analyses: &[Analysis]) -> (Self, Vec<ComparedOperation>) {
        let baseline = &analyses[0];
        let correspondences: Vec<Correspondence> = analyses[1..]
            .iter()
            .map(|other| Correspondence::new(baseline, other))
            .collect();
        let operations::Compared {
            operations,
            beside,
            only_in,
            tests,
            stage_tests,
        } = operations::compare(analyses, &correspondences);
        let traces: Vec<ComparedTrace> = analyses.iter().map(compared_trace).collect();
        let differs = remarks::differing(&traces);
        let comparison = Self {
            runs: run_differences(&traces, &tests, &stage_tests),
            remarks: remarks::remarks(analyses, &correspondences, &differs, &operations),
            differs,
            traces,
            operations,
            only_in,
            sites: sites::compare(analyses),
            sides: None,
        };
        (comparison, beside)
    }

    /// Compares two sides: the first `n_baseline` analyses are runs of one, which is the baseline, the others of the
    /// other. The runs are the samples; beside that there is everything that [`Comparison::new`] finds.
    ///
    /// # Panics
    /// If a side has no run.
    #[must_use]
    pub fn of_sides(analyses: &[Analysis], n_baseline: usize) -> Self {
        assert!(0 < n_baseline && n_baseline < analyses.len());
        let traces: Vec<usize> = (0..analyses.len()).collect();
        let sides = traces.split_at(n_baseline);
        let (mut compared, beside) = Self::with_others(analyses);
        compared.operations.extend(beside);
        let found = sides::compare(sides, analyses, &compared);
        Self {
            remarks: remarks::of_sides(compared.remarks, sides, &compared.traces),
            sides: Some(found),
            ..compared
        }
    }

    /// Whether nothing is missing in any of the traces.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.traces.iter().all(|trace| trace.trace.complete)
    }
}

fn compared_trace(analysis: &Analysis) -> ComparedTrace {
    let waits: Vec<i64> = analysis.ranks.iter().filter_map(|r| r.wait_ns).collect();
    let messages = analysis.ranks.iter().map(|rank| rank.point_to_point_ns);
    let point_to_point = messages.collect::<Option<Vec<i64>>>().map(sum_ns);
    ComparedTrace {
        trace: analysis.trace.clone(),
        clock: analysis.clock.clone(),
        collectives_ns: analysis.collectives_ns(),
        wait_ns: (!waits.is_empty()).then(|| sum_ns(waits)),
        point_to_point_ns: point_to_point.filter(|_| analysis.restriction.is_none()),
    }
}

fn run_differences(
    traces: &[ComparedTrace],
    tests: &[usize],
    stage_tests: &[usize],
) -> Vec<RunDifferences> {
    let baseline = &traces[0];
    let others = traces.iter().enumerate().skip(1);
    let known = |from: Option<i64>, to: Option<i64>| Some(Change::new(from?, to?));
    others
        .map(|(index, other)| RunDifferences {
            trace: index,
            duration_ns: Change::new(baseline.trace.duration_ns, other.trace.duration_ns),
            collectives_ns: Change::new(baseline.collectives_ns, other.collectives_ns),
            wait_ns: known(baseline.wait_ns, other.wait_ns),
            point_to_point_ns: known(baseline.point_to_point_ns, other.point_to_point_ns),
            tests: tests[index - 1],
            stage_tests: stage_tests[index - 1],
        })
        .collect()
}
