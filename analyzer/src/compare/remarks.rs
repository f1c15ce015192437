//! Remarks on a comparison, as codes and facts.

use collbench_stats::difference::Verdict as ComparisonVerdict;

use crate::compare::compared::{ComparedOperation, ComparedTrace, DifferingSetting};
use crate::compare::correspondence::Correspondence;
use crate::remark::Remark;
use crate::results::analysis::Analysis;
use crate::results::code::Code;

/// A remark on a comparison: a code, which is stable, and the facts behind it. Traces are given by
/// index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ComparisonRemark {
    /// Something is missing in traces.
    Incomplete {
        /// In which.
        traces: Vec<usize>,
    },
    /// Host clocks without a common time.
    ClocksNotAligned {
        /// In which.
        traces: Vec<usize>,
    },
    /// Different layers were recorded.
    OtherLayers,
    /// Communicators are compared that have other members.
    MatchedByName {
        /// Those of which.
        traces: Vec<usize>,
    },
    /// Differences without an interval.
    TooFew {
        /// Number of differences.
        n_differences: usize,
    },
    /// Runs of one side that differ in more than times.
    UnlikeRuns {
        /// Those of which side.
        traces: Vec<usize>,
        /// Whether it is the baseline.
        is_baseline: bool,
        /// In what, as in [`DifferingSetting::what`].
        what: Vec<Code>,
    },
    /// So few runs of a side that only large differences can be found, or none.
    FewRuns {
        /// Numbers of runs of both sides.
        runs: [usize; 2],
    },
    /// The intervals do not cover variation between runs.
    OneRunEach {
        /// Whether runs of the same command are among those compared, which show it.
        are_repeated: bool,
    },
}

impl ComparisonRemark {
    /// Short and stable, for scripts.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::Incomplete { .. } => "incomplete",
            Self::ClocksNotAligned { .. } => "clocks_not_aligned",
            Self::OtherLayers => "other_layers",
            Self::MatchedByName { .. } => "matched_by_name",
            Self::TooFew { .. } => "too_few",
            Self::UnlikeRuns { .. } => "unlike_runs",
            Self::FewRuns { .. } => "few_runs",
            Self::OneRunEach { .. } => "one_run_each",
        }
    }
}

/// The setting of what was recorded beside the calls. A layer is the same by default as by name.
const LAYERS: &str = "layers";

/// Settings that differ between traces.
pub(crate) fn differing(traces: &[ComparedTrace]) -> Vec<DifferingSetting> {
    let setting = |what: &'static str, value: &dyn Fn(&ComparedTrace) -> String| DifferingSetting {
        what: what.into(),
        values: traces.iter().map(value).collect(),
    };
    let settings = [
        setting("command", &|t| t.trace.command.join(" ")),
        setting("ranks", &|t| t.trace.ranks.to_string()),
        setting("hosts", &|t| t.trace.hosts.join(", ")),
        setting("mpi_library", &|t| t.trace.mpi_library.clone()),
        setting("clock", &|t| {
            format!("{}; {}", t.clock.source, t.clock.method)
        }),
        setting(LAYERS, &|t| {
            let layers = t.trace.layers.iter().filter(|(_, layer)| layer.on);
            let names: Vec<&str> = layers.map(|(name, _)| name.as_str()).collect();
            names.join(",")
        }),
    ];
    let is_differing = |s: &DifferingSetting| s.values.iter().any(|value| *value != s.values[0]);
    settings.into_iter().filter(is_differing).collect()
}

/// All remarks, in the order of their weight.
pub(crate) fn remarks(
    analyses: &[Analysis],
    correspondences: &[Correspondence],
    differs: &[DifferingSetting],
    operations: &[ComparedOperation],
) -> Vec<ComparisonRemark> {
    let mut remarks = Vec::new();
    let which = |is_it: &dyn Fn(&Analysis) -> bool| {
        let those = analyses.iter().enumerate().filter(|(_, a)| is_it(a));
        those.map(|(index, _)| index).collect::<Vec<_>>()
    };
    let traces = which(&|analysis| !analysis.trace.complete);
    if !traces.is_empty() {
        remarks.push(ComparisonRemark::Incomplete { traces });
    }
    let is_not_aligned = |remark: &Remark| matches!(remark, Remark::ClocksNotAligned { .. });
    let traces = which(&|analysis| analysis.remarks.iter().any(is_not_aligned));
    if !traces.is_empty() {
        remarks.push(ComparisonRemark::ClocksNotAligned { traces });
    }
    if differs.iter().any(|setting| setting.what == LAYERS) {
        remarks.push(ComparisonRemark::OtherLayers);
    }
    let traces: Vec<usize> = (1..)
        .zip(analyses[1..].iter().zip(correspondences))
        .filter(|(_, (other, correspondence))| {
            pairs_unlike_members(&analyses[0], other, correspondence)
        })
        .map(|(index, _)| index)
        .collect();
    if !traces.is_empty() {
        remarks.push(ComparisonRemark::MatchedByName { traces });
    }
    let too_few = operations.iter().flat_map(|o| &o.differences);
    let too_few = too_few.filter(|d| d.verdict == ComparisonVerdict::TooFew);
    let n_differences = too_few.count();
    if n_differences > 0 {
        remarks.push(ComparisonRemark::TooFew { n_differences });
    }
    remarks.push(ComparisonRemark::OneRunEach {
        are_repeated: differs.is_empty() && has_repetition(analyses),
    });
    remarks
}

/// With fewer runs of a side only differences are told that are several times the spread between its runs.
const FEW_RUNS: usize = 3;

/// The remarks on two sides of several runs, from those on their traces.
pub(crate) fn of_sides(
    mut remarks: Vec<ComparisonRemark>,
    (baseline, other): (&[usize], &[usize]),
    traces: &[ComparedTrace],
) -> Vec<ComparisonRemark> {
    // What is too few are runs, not instances.
    remarks.retain(|remark| {
        let (few, one_each) = ("too_few", "one_run_each");
        remark.code() != few && remark.code() != one_each
    });
    for (side, is_baseline) in [(baseline, true), (other, false)] {
        let of_side: Vec<ComparedTrace> = side.iter().map(|&at| traces[at].clone()).collect();
        let differs = differing(&of_side).into_iter().map(|setting| setting.what);
        // Runs of one program may lie on other hosts each time.
        let what: Vec<Code> = differs
            .filter(|what| what != "hosts" && what != "clock")
            .collect();
        if !what.is_empty() {
            remarks.push(ComparisonRemark::UnlikeRuns {
                traces: side.to_vec(),
                is_baseline,
                what,
            });
        }
    }
    let runs = [baseline.len(), other.len()];
    if runs.iter().any(|&n| n < FEW_RUNS) {
        remarks.push(ComparisonRemark::FewRuns { runs });
    }
    remarks
}

/// Whether two of the traces beside the baseline are of the same command on the same hosts.
fn has_repetition(analyses: &[Analysis]) -> bool {
    let is_alike = |a: &Analysis, b: &Analysis| {
        a.trace.command == b.trace.command
            && a.trace.hosts == b.trace.hosts
            && a.trace.mpi_library == b.trace.mpi_library
    };
    (1..analyses.len()).any(|at| (1..at).any(|before| is_alike(&analyses[at], &analyses[before])))
}

/// Whether some communicator corresponds to one with other members.
fn pairs_unlike_members(
    baseline: &Analysis,
    other: &Analysis,
    correspondence: &Correspondence,
) -> bool {
    other.communicators.iter().any(|communicator| {
        let of_baseline = correspondence.in_baseline(communicator.id);
        of_baseline.is_some_and(|id| baseline.communicators[id].ranks != communicator.ranks)
    })
}
