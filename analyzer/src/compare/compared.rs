//! Operations and traces that are compared, and their differences, as plain types.

use std::fmt;

use collbench_stats::difference::Verdict as ComparisonVerdict;
use collbench_stats::distribution::Summary;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::compare::difference::{Difference, rounded};
use crate::compare::trees::TreeDifferences;
use crate::results::analysis::Analysis;
use crate::results::clock::ClockSummary;
use crate::results::code::Code;
use crate::results::operation::OperationSummary;
use crate::results::over_time::Culprit;
use crate::results::trace::TraceSummary;

/// One trace.
#[derive(Debug, Clone)]
pub struct ComparedTrace {
    /// What was recorded.
    pub trace: TraceSummary,
    /// Its clocks.
    pub clock: ClockSummary,
    /// Time of all processes in all collectives, ns.
    pub collectives_ns: i64,
    /// Sum of all waits, ns; `None` where none is known.
    pub wait_ns: Option<i64>,
    /// Time of all processes in point-to-point communication, ns; `None` where it is not known, or of a part of the run.
    pub point_to_point_ns: Option<i64>,
}

/// A setting that should be equal in runs that are compared, and is not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DifferingSetting {
    /// `command`, `ranks`, `hosts`, `mpi_library`, `clock`, `layers`.
    pub what: Code,
    /// For each trace.
    pub values: Vec<String>,
}

/// How one run as a whole differs from the baseline: single numbers, which have no interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunDifferences {
    /// Index of the trace.
    pub trace: usize,
    /// Of the run's duration, ns.
    pub duration_ns: Change,
    /// Of the time in collectives of all processes, ns.
    pub collectives_ns: Change,
    /// Of the sum of all waits, ns; `None` where one is not known.
    pub wait_ns: Option<Change>,
    /// Of the time in point-to-point communication of all processes, ns; `None` where one is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub point_to_point_ns: Option<Change>,
    /// Differences that were tested together: verdicts are corrected for so many (Holm).
    #[serde(default)]
    pub tests: usize,
    /// Differences of stages and paths of spanning trees of our own, which are tested together apart
    /// from the others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub stage_tests: usize,
}

/// A change of a number that has no interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// Second minus first.
    pub difference: i64,
    /// Second by first; `None` where the first is 0.
    pub ratio: Option<f64>,
}

/// One operation in several traces.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ComparedOperation {
    /// Name of the standard.
    pub operation: Code,
    /// Name of the communicator in the first trace that has it; `None` where it is not known.
    pub communicator: Option<String>,
    /// For each trace its figures; `None` where it is not in that trace.
    pub traces: Vec<Option<OperationFigures>>,
    /// For each trace but the baseline that has it.
    pub differences: Vec<OperationDifferences>,
    /// For each trace its index in the operations of that analysis.
    #[serde(skip)]
    pub indexes: Vec<Option<usize>>,
}

/// One operation in one trace, as in `collbench.analysis/1`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationFigures {
    /// Id of the communicator in that trace.
    pub communicator: Option<usize>,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Smallest payload seen, bytes.
    pub bytes_min: Option<u64>,
    /// Largest payload seen, bytes.
    pub bytes_max: Option<u64>,
    /// Calls begun.
    pub calls: u64,
    /// Complete instances.
    pub instances: u64,
    /// Last leave minus first enter, per instance.
    pub duration_ns: Option<Summary>,
    /// Leave minus enter, per call.
    pub call_time_ns: Option<Summary>,
    /// Wait, per call.
    pub wait_ns: Option<Summary>,
    /// First leave minus last enter, per instance.
    pub core_ns: Option<Summary>,
    /// The algorithm, as in the analysis; `None` where it is not known.
    #[serde(default)]
    pub algorithm: Option<String>,
    /// The library's names of the algorithm; `None` where it reported none.
    #[serde(default)]
    pub library_name: Option<String>,
    /// The spanning tree of our own that it ran over most often; `None` where the MPI library made
    /// its calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spanning_tree: Option<String>,
    /// Who is late, in this operation on this communicator with any payload; `None` where nobody
    /// stands out.
    #[serde(default)]
    pub late: Option<Culprit>,
}

/// How one operation differs from the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OperationDifferences {
    /// Index of the trace.
    pub trace: usize,
    /// The verdict on the mean time of its calls.
    pub verdict: ComparisonVerdict,
    /// Of the total time of its calls, ns; no interval.
    pub total_ns: Change,
    /// Last leave minus first enter: includes the skew of arrival.
    pub duration_ns: QuantityDifferences,
    /// Leave minus enter.
    pub call_time_ns: QuantityDifferences,
    /// Waits.
    pub wait_ns: QuantityDifferences,
    /// First leave minus last enter, of barriers and N x N.
    pub core_ns: QuantityDifferences,
    /// Where both ran on spanning trees of our own, the differences of their stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<TreeDifferences>,
}

/// How one quantity differs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct QuantityDifferences {
    /// Of the means; `None` where the quantity is not known in both.
    pub mean: Option<Difference>,
    /// Of the medians; `None` where the quantity is not known in both, and for quantities of calls.
    pub median: Option<Difference>,
}

/// An operation that one of two traces does not have.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OnlyIn {
    /// Index of the trace that has it.
    pub trace: usize,
    /// Index of the trace that has not.
    pub not_in: usize,
    /// Name of the standard.
    pub operation: Code,
    /// Name of the communicator; `None` where it is not known.
    #[serde(rename = "communicator_name")]
    pub communicator: Option<String>,
    /// Its figures.
    #[serde(flatten)]
    pub figures: OperationFigures,
}

/// Documents of older versions have `communicator` twice: the name first, then the id.
impl<'de> Deserialize<'de> for OnlyIn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OnlyInVisitor)
    }
}

struct OnlyInVisitor;

impl<'de> Visitor<'de> for OnlyInVisitor {
    type Value = OnlyIn;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an operation that one trace does not have")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OnlyIn, A::Error> {
        #[derive(Deserialize)]
        struct Others {
            trace: usize,
            not_in: usize,
            operation: Code,
        }
        let mut communicators = Vec::new();
        let mut others = serde_json::Map::new();
        while let Some((key, value)) = map.next_entry::<String, serde_json::Value>()? {
            if key == "communicator" {
                communicators.push(value);
            } else {
                others.insert(key, value);
            }
        }
        let id = communicators.pop();
        let name = others.remove("communicator_name").or(communicators.pop());
        let name = name.unwrap_or_default();
        let mut figures = others.clone();
        figures.insert("communicator".into(), id.into());
        let Others {
            trace,
            not_in,
            operation,
        } = serde_json::from_value(others.into()).map_err(A::Error::custom)?;
        Ok(OnlyIn {
            trace,
            not_in,
            operation,
            communicator: serde_json::from_value(name).map_err(A::Error::custom)?,
            figures: serde_json::from_value(figures.into()).map_err(A::Error::custom)?,
        })
    }
}

fn is_zero(n: &usize) -> bool {
    *n == 0
}

impl Change {
    pub(crate) fn new(from: i64, to: i64) -> Self {
        Self {
            difference: to.saturating_sub(from),
            ratio: (from != 0).then(|| rounded(to as f64 / from as f64)),
        }
    }
}

pub(super) fn figures(analysis: &Analysis, operation: &OperationSummary) -> OperationFigures {
    let mut verdicts = analysis.imbalance.iter();
    let verdict = verdicts.find(|verdict| {
        Some(verdict.communicator) == operation.communicator
            && verdict.operation == operation.operation
    });
    let trees = operation.trees.iter().flatten();
    let own = trees.filter_map(|tree| Some((tree.instances, tree.own.as_ref()?)));
    OperationFigures {
        communicator: operation.communicator,
        root: operation.root,
        bytes_min: operation.bytes_min,
        bytes_max: operation.bytes_max,
        calls: operation.calls,
        instances: operation.instances,
        duration_ns: operation.duration_ns.clone(),
        call_time_ns: operation.call_time_ns.clone(),
        wait_ns: operation.wait_ns.clone(),
        core_ns: operation.core_ns.clone(),
        algorithm: operation.algorithm.clone(),
        library_name: operation.library_name.clone(),
        spanning_tree: own.max_by_key(|own| own.0).map(|own| own.1.name.clone()),
        late: verdict.and_then(|verdict| verdict.culprit.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIGURES: &str = r#""root": null, "bytes_min": 8, "bytes_max": 8, "calls": 2,
        "instances": 1, "duration_ns": null, "call_time_ns": null, "wait_ns": null,
        "core_ns": null"#;

    #[test]
    fn the_communicator_of_an_operation_in_one_trace_has_a_key_for_its_name_and_one_for_its_id() {
        let common = r#""trace": 0, "not_in": 1, "operation": "MPI_Bcast""#;
        let read = |communicator: &str| -> OnlyIn {
            let text = format!("{{ {common}, {communicator}, {FIGURES} }}");
            serde_json::from_str(&text).unwrap()
        };
        let now = read(r#""communicator_name": "rows", "communicator": 3"#);
        assert_eq!(now.communicator.as_deref(), Some("rows"));
        assert_eq!(now.figures.communicator, Some(3));
        // Older documents had one key twice.
        assert_eq!(read(r#""communicator": "rows", "communicator": 3"#), now);
        let written = serde_json::to_string(&now).unwrap();
        assert_eq!(written.matches("\"communicator\":").count(), 1);
        assert_eq!(serde_json::from_str::<OnlyIn>(&written).unwrap(), now);
        let unknown = read(r#""communicator": null, "communicator": null"#);
        assert_eq!(
            (unknown.communicator, unknown.figures.communicator),
            (None, None)
        );
    }
}
