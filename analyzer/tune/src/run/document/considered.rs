//! What was considered, as it is written.

use serde::Serialize;

use crate::predict::{Band, Gain};
use crate::run::considered::{Alternative, KindOfCalls};

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OfKind<'a> {
    /// The name in the MPI standard.
    operation: &'a str,
    /// Processes of the communicator.
    processes: usize,
    /// Payload of one process, bytes.
    bytes: u64,
    /// Number of instances.
    instances: u64,
    /// Time of all instances, if each took as long as the median one of its class, ns.
    took_ns: f64,
    /// What ran, by communicator and root.
    ran: Vec<OfRan<'a>>,
    /// Why nothing is predicted.
    not_predicted: Option<&'a str>,
    /// The best algorithm, the best tree, and what would gain more and may have results with other bits.
    alternatives: Vec<OfAlternative<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfRan<'a> {
    /// Name of the communicator.
    communicator: &'a str,
    /// Rank of the root in it; `None` for operations without one.
    root: Option<usize>,
    /// What ran.
    ran: &'a str,
    /// Times of its instances, ns.
    measured_ns: Band,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfAlternative<'a> {
    /// What it is, in words.
    what: &'a str,
    /// `environment` or `trees`.
    means: &'static str,
    /// By `ran`, how long instances are predicted to take, ns.
    predicted_ns: &'a [Band],
    /// The part of the time that is saved.
    gain: Gain,
    /// Whether it is proposed.
    proposed: bool,
    /// Why it is not.
    why_not: Option<String>,
}

impl<'a> From<&'a KindOfCalls> for OfKind<'a> {
    fn from(of: &'a KindOfCalls) -> Self {
        let ran = of.ran.iter().map(|ran| OfRan {
            communicator: &ran.communicator,
            root: ran.root,
            ran: &ran.what,
            measured_ns: ran.measured,
        });
        let alternatives = of.alternatives.as_deref().unwrap_or(&[]);
        Self {
            operation: of.operation.name(),
            processes: of.n_processes,
            bytes: of.bytes,
            instances: of.n_instances,
            took_ns: of.took_ns,
            ran: ran.collect(),
            not_predicted: of.alternatives.as_ref().err().map(String::as_str),
            alternatives: alternatives.iter().map(OfAlternative::from).collect(),
        }
    }
}

impl<'a> From<&'a Alternative> for OfAlternative<'a> {
    fn from(of: &'a Alternative) -> Self {
        Self {
            what: &of.what,
            means: if of.is_tree { "trees" } else { "environment" },
            predicted_ns: &of.predicted,
            gain: of.gain,
            proposed: of.why_not.is_none(),
            why_not: of.why_not.as_ref().map(ToString::to_string),
        }
    }
}
