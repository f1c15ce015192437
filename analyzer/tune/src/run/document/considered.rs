//! What was considered, as it is written.

use serde::Serialize;

use crate::predict::{Band, Gain};
use crate::run::considered::{Alternative, KindOfCalls};

#[derive(Serialize)]
pub(super) struct OfKind<'a> {
    operation: &'a str,
    processes: usize,
    bytes: u64,
    instances: u64,
    took_ns: f64,
    ran: Vec<OfRan<'a>>,
    not_predicted: Option<&'a str>,
    alternatives: Vec<OfAlternative<'a>>,
}

#[derive(Serialize)]
struct OfRan<'a> {
    communicator: &'a str,
    root: Option<usize>,
    ran: &'a str,
    measured_ns: Band,
}

#[derive(Serialize)]
struct OfAlternative<'a> {
    what: &'a str,
    means: &'static str,
    predicted_ns: &'a [Band],
    gain: Gain,
    proposed: bool,
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
