//! The document `collbench.tune/1`.

use collbench_text::json;
use serde::{Serialize, Serializer};

use super::{
    Band, Class, Identity, Instance, LeftOut, LinkClass, Method, NamedTreeFile, PredictedCandidate,
    Prediction, Predictions, Ratios, RunPrediction,
};

/// Name of the document and its version.
pub(super) const SCHEMA: &str = "collbench.tune/1";
/// Arrivals of processes that are written for a class, at most, or those of ten instances.
const MOST_ARRIVALS: usize = 6400;

#[derive(Debug, Serialize)]
struct Document<'a> {
    schema: &'static str,
    library: &'a str,
    made_from: AllMadeFrom<'a>,
    links: Vec<Link<'a>>,
    operations: Vec<OfClass<'a>>,
    run: Option<OfRun<'a>>,
    trees_left_out: &'a [LeftOut],
}

#[derive(Debug, Serialize)]
pub(super) struct OfRun<'a> {
    collectives: usize,
    is_begin_only: bool,
    took_ns: f64,
    identity: f64,
    not_predicted: Option<String>,
    changes: Vec<Change<'a>>,
}

#[derive(Debug, Serialize)]
struct Change<'a> {
    what: &'a str,
    ratio: Ratios,
}

/// What predictions were made from.
#[derive(Debug, Clone, Serialize)]
pub struct MadeFrom<'a> {
    /// The directory of the run.
    pub trace: &'a str,
    /// The checksum of its files.
    #[serde(serialize_with = "in_hexadecimal")]
    pub trace_crc32: u32,
    /// The checksum of the links file.
    #[serde(serialize_with = "optional_in_hexadecimal")]
    pub links_crc32: Option<u32>,
    /// The directories of runs over trees, with the checksums of their files.
    #[serde(skip)]
    pub memory: &'a [(String, u32)],
}

fn in_hexadecimal<S: Serializer>(checksum: &u32, to: S) -> Result<S::Ok, S::Error> {
    crc32(*checksum).serialize(to)
}

fn optional_in_hexadecimal<S: Serializer>(
    checksum: &Option<u32>,
    to: S,
) -> Result<S::Ok, S::Error> {
    checksum.map(crc32).serialize(to)
}

#[derive(Debug, Serialize)]
struct AllMadeFrom<'a> {
    #[serde(flatten)]
    given: &'a MadeFrom<'a>,
    trees: Vec<TreeFile<'a>>,
    memory: Vec<OverTrees<'a>>,
}

#[derive(Debug, Serialize)]
struct OverTrees<'a> {
    trace: &'a str,
    crc32: String,
}

#[derive(Debug, Serialize)]
struct TreeFile<'a> {
    file: &'a str,
    crc32: String,
}

#[derive(Debug, Serialize)]
#[expect(non_snake_case, reason = "the names of LogP")]
struct Link<'a> {
    name: &'a str,
    from: &'static str,
    messages: usize,
    bytes_max: u64,
    o_s_ns: f64,
    o_r_ns: f64,
    L_ns: f64,
    G_ns: f64,
}

#[derive(Debug, Serialize)]
struct OfClass<'a> {
    operation: &'a str,
    communicator: &'a str,
    processes: usize,
    root: usize,
    bytes: u64,
    instances: u64,
    ran: Ran<'a>,
    identity: Option<IdentityOf>,
    not_predicted: Option<String>,
    candidates: Vec<CandidateOf<'a>>,
    left_out: usize,
    arrivals_ns: Vec<Vec<i64>>,
    trees_left_out: &'a [LeftOut],
}

#[derive(Debug, Serialize)]
struct Ran<'a> {
    algorithm: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'a str>,
    measured_ns: Band,
}

#[derive(Debug, Serialize)]
struct IdentityOf {
    ratio: f64,
    within: f64,
    rank_correlation: Option<f64>,
    alike: f64,
    instances: usize,
    holds: bool,
}

#[derive(Debug, Serialize)]
struct CandidateOf<'a> {
    #[serde(flatten)]
    method: MethodOf<'a>,
    messages: usize,
    message_bytes_max: u64,
    pairs_crc32: String,
    predicted_ns: Band,
    measured_ns: Option<Band>,
    gain: f64,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum MethodOf<'a> {
    Algorithm {
        algorithm: &'a str,
        number: Option<i64>,
        segment_bytes: u64,
    },
    Tree {
        tree: &'a str,
        tree_crc32: String,
    },
}

impl Predictions<'_> {
    /// The document.
    ///
    #[must_use]
    pub fn to_json(&self, made_from: &MadeFrom<'_>) -> String {
        let document = Document {
            schema: SCHEMA,
            library: &self.library,
            made_from: AllMadeFrom {
                given: made_from,
                trees: self.tree_files.iter().map(TreeFile::of).collect(),
                memory: (made_from.memory.iter())
                    .map(|(trace, of)| OverTrees {
                        trace,
                        crc32: crc32(*of),
                    })
                    .collect(),
            },
            links: self.links.iter().map(Link::of).collect(),
            operations: self.predictions.iter().map(OfClass::of).collect(),
            run: self.run.as_ref().map(OfRun::of),
            trees_left_out: &self.trees_left_out,
        };
        json::document(&document)
    }
}

impl<'a> OfRun<'a> {
    pub(super) fn of(run: &'a RunPrediction) -> Self {
        let changes = run.changes.iter().map(|(what, ratio)| Change {
            what,
            ratio: *ratio,
        });
        Self {
            collectives: run.n_calls,
            is_begin_only: run.is_begin_only,
            took_ns: run.took_ns,
            identity: run.identity,
            not_predicted: run.not_predicted(),
            changes: changes.collect(),
        }
    }
}

/// A checksum as it is written.
pub(super) fn crc32(value: u32) -> String {
    format!("{value:08x}")
}

impl<'a> TreeFile<'a> {
    fn of(file: &'a NamedTreeFile) -> Self {
        Self {
            file: &file.name,
            crc32: crc32(file.crc32),
        }
    }
}

impl<'a> Link<'a> {
    fn of(class: &'a LinkClass) -> Self {
        Self {
            name: &class.name,
            from: if class.is_measured { "links" } else { "trace" },
            messages: class.n_messages,
            bytes_max: class.longest_bytes,
            o_s_ns: class.link.send_overhead_ns,
            o_r_ns: class.link.receive_overhead_ns,
            L_ns: class.link.latency_ns,
            G_ns: class.link.gap_per_byte_ns,
        }
    }
}

impl<'a> OfClass<'a> {
    fn of(prediction: &'a Prediction<'_>) -> Self {
        let class = prediction.class;
        Self {
            operation: class.operation.name(),
            communicator: &class.communicator,
            processes: class.ranks.len(),
            root: class.root,
            bytes: class.bytes,
            instances: class.n_instances,
            ran: Ran {
                algorithm: (!class.reported.is_empty()).then(|| class.reported.join(" + ")),
                tree: class.tree.as_ref().map(|tree| tree.name.as_str()),
                measured_ns: prediction.measured,
            },
            identity: prediction.identity.as_ref().ok().map(IdentityOf::of),
            not_predicted: prediction.not_predicted(),
            candidates: prediction
                .candidates
                .iter()
                .map(|candidate| CandidateOf::of(candidate, prediction.measured))
                .collect(),
            left_out: prediction.n_left_out,
            arrivals_ns: class.arrivals_ns(),
            trees_left_out: &prediction.trees_left_out,
        }
    }
}

impl Class {
    /// Of some instances, evenly over the run, when each process entered after the first one, ns.
    #[must_use]
    pub fn arrivals_ns(&self) -> Vec<Vec<i64>> {
        let most = (MOST_ARRIVALS / self.ranks.len().max(1)).clamp(10, 100);
        let step = self.instances.len().div_ceil(most).max(1);
        let some = self.instances.iter().step_by(step);
        let of_one = |instance: &Instance| instance.enters_ns.iter().map(|ns| *ns as i64).collect();
        some.map(of_one).collect()
    }
}

impl IdentityOf {
    fn of(identity: &Identity) -> Self {
        Self {
            ratio: identity.ratio,
            within: identity.within,
            rank_correlation: identity.rank_correlation,
            alike: identity.alike,
            instances: identity.n,
            holds: identity.holds(),
        }
    }
}

impl<'a> CandidateOf<'a> {
    fn of(candidate: &'a PredictedCandidate, measured: Band) -> Self {
        Self {
            method: match &candidate.method {
                Method::Algorithm(algorithm) => MethodOf::Algorithm {
                    algorithm,
                    number: candidate.number,
                    segment_bytes: candidate.segment_bytes,
                },
                Method::Tree { place, crc32: of } => MethodOf::Tree {
                    tree: place,
                    tree_crc32: crc32(*of),
                },
            },
            messages: candidate.messages.n,
            message_bytes_max: candidate.messages.longest_bytes,
            pairs_crc32: crc32(candidate.messages.pairs_crc32),
            predicted_ns: candidate.predicted,
            measured_ns: None,
            gain: candidate.gain(measured),
        }
    }
}
