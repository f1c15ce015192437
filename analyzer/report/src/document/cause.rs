//! A cause in the document, with its sentences.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CauseKind, CausePlace, Confidence, CostOf, Course, FoundCause, LateBy,
};
use serde::{Deserialize, Serialize};

use crate::words;

/// Why ranks wait, or why a collective takes long, and what that costs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct CauseDocument {
    /// The kind of cause.
    pub kind: CauseKind,
    /// What a late rank or host did; `None` where that is not known, and for other kinds.
    pub by: Option<LateBy>,
    /// Where the cause arises.
    #[serde(rename = "where")]
    pub place: PlaceDocument,
    /// World rank with which a late rank communicated, where that is known.
    pub partner: Option<u32>,
    /// World rank for which that one waited in turn, directly or through others; left out where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<u32>,
    /// Index of the operation in which it costs the most; `None`: not one of those in `operations`.
    pub operation: Option<usize>,
    /// Whether ranks are late for the calls that complete that operation, not for those that initiate it; left out where not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub completing: bool,
    /// Id of the communicator of that operation.
    pub communicator: Option<usize>,
    /// Id of the place from which that operation is called where it costs the most; `None` where that is not
    /// known.
    pub site: Option<usize>,
    /// Direct and propagated cost, ns of all ranks together.
    pub cost_ns: i64,
    /// Whether `cost_ns` is waiting or operation time.
    pub of: CostOf,
    /// Waits for where it arises, or operation time, ns.
    pub direct_ns: i64,
    /// Waits for ranks that waited because of it before, ns.
    pub propagated_ns: i64,
    /// The cost divided by ranks and duration, 0 to 1; `None` where that is not known.
    pub share: Option<f64>,
    /// By how much the run can be shorter without it, ns: an upper bound; `None` beyond the eight
    /// costliest, and where that is not known.
    pub run_shorter_ns: Option<i64>,
    /// How it is distributed over the run; `None` where it is steady, or not known.
    pub course: Option<Course>,
    /// How sure it is.
    pub confidence: Confidence,
    /// The cause as a sentence, which may change.
    pub text: String,
    /// What to do about the cause, as a sentence, which may change.
    pub next: String,
}

/// Where a cause arises: one of these, or nowhere in particular.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PlaceDocument {
    /// World rank.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rank: Option<u32>,
    /// Name of a host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// One end of a link or hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<EndDocument>,
    /// The other end of the link or hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<EndDocument>,
    /// World rank of a node of a tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Id of a communicator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub communicator: Option<usize>,
    /// World ranks of that communicator at which it arises together; left out where that is not at some of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<u32>,
}

/// An end of a link or hop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum EndDocument {
    /// World rank.
    Rank(u32),
    /// Name of a host.
    Host(String),
}

impl CauseDocument {
    /// The causes of an analysis, by cost, the largest first.
    pub(super) fn all(analysis: &Analysis) -> Vec<Self> {
        let causes = analysis.causes.iter();
        causes.map(|cause| Self::of(analysis, cause)).collect()
    }

    fn of(analysis: &Analysis, cause: &FoundCause) -> Self {
        Self {
            kind: cause.kind,
            by: cause.by,
            place: PlaceDocument {
                ranks: cause.ranks.clone(),
                ..PlaceDocument::of(cause.place.as_ref())
            },
            partner: cause.partner,
            origin: cause.origin,
            operation: cause
                .operation
                .filter(|&index| index < analysis.details.operations_listed),
            completing: cause.is_completing,
            communicator: cause.communicator,
            site: cause.site,
            cost_ns: cause.cost_ns,
            of: cause.of,
            direct_ns: cause.direct_ns,
            propagated_ns: cause.propagated_ns,
            share: cause.share,
            run_shorter_ns: cause.run_shorter_ns,
            course: cause.course,
            confidence: cause.confidence,
            text: words::causes::sentence(analysis, cause),
            next: words::causes::next(analysis, cause),
        }
    }
}

impl PlaceDocument {
    fn of(place: Option<&CausePlace>) -> Self {
        let mut own = Self::default();
        match place {
            None => {}
            Some(CausePlace::Rank(rank)) => own.rank = Some(*rank),
            Some(CausePlace::Host(host)) => own.host = Some(host.clone()),
            Some(CausePlace::Node(rank)) => own.node = Some(*rank),
            Some(CausePlace::Communicator(id)) => own.communicator = *id,
            Some(CausePlace::Ranks { from, to }) => {
                own.from = Some(EndDocument::Rank(*from));
                own.to = Some(EndDocument::Rank(*to));
            }
            Some(CausePlace::Hosts { from, to }) => {
                own.from = Some(EndDocument::Host(from.clone()));
                own.to = Some(EndDocument::Host(to.clone()));
            }
        }
        own
    }
}
