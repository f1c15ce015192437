//! Remarks on a comparison, as codes and facts.

use collbench_stats::difference::Verdict as ComparisonVerdict;

use crate::compare::compared::{ComparedOperation, ComparedTrace, DifferingSetting};
use crate::compare::correspondence::Correspondence;
use crate::remark::Remark;
use crate::results::analysis::Analysis;

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
