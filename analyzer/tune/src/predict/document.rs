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
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    schema: &'static str,
    /// The MPI library, with its version.
    library: &'a str,
    made_from: AllMadeFrom<'a>,
    /// The classes of links between hosts, with their parameters.
    links: Vec<Link<'a>>,
    /// What is predicted, by class of calls.
    operations: Vec<OfClass<'a>>,
    /// All collectives carried out again; `None` where nothing is predicted.
    run: Option<OfRun<'a>>,
    /// Trees that no call of the run would run on, and names of hosts that it does not have.
    trees_left_out: &'a [LeftOut],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct OfRun<'a> {
    /// How many collectives were carried out again.
    collectives: usize,
    /// Whether these are the begin of the run only.
    is_begin_only: bool,
    /// From the first enter to the last leave, ns.
    took_ns: f64,
    /// The predicted time as it ran by the measured one.
    identity: f64,
    /// Why nothing else is predicted.
    not_predicted: Option<String>,
    /// What changes would bring.
    changes: Vec<Change<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Change<'a> {
    /// What is changed.
    what: &'a str,
    /// The time with it by that as it ran.
    ratio: Ratios,
}

/// What predictions were made from.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct MadeFrom<'a> {
    /// The directory of the run.
    pub trace: &'a str,
    /// The checksum of its files.
    #[serde(serialize_with = "in_hexadecimal")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub trace_crc32: u32,
    /// The checksum of the links file.
    #[serde(serialize_with = "optional_in_hexadecimal")]
    #[cfg_attr(test, schemars(with = "Option<String>"))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct AllMadeFrom<'a> {
    #[serde(flatten)]
    given: &'a MadeFrom<'a>,
    /// The tree files.
    trees: Vec<TreeFile<'a>>,
    /// Earlier runs over trees.
    memory: Vec<OverTrees<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OverTrees<'a> {
    /// The directory of the run.
    trace: &'a str,
    /// The checksum of its files, hexadecimal.
    crc32: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct TreeFile<'a> {
    /// Path of the tree file.
    file: &'a str,
    /// Its checksum, hexadecimal.
    crc32: String,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[expect(non_snake_case, reason = "the names of LogP")]
struct Link<'a> {
    /// `same host`, `LAN` or `WAN`, numbered if there are several of a kind.
    name: &'a str,
    /// `trace` or `links`: what the parameters are from.
    from: &'static str,
    /// Messages that show the parameters.
    messages: usize,
    /// The longest of these, bytes.
    bytes_max: u64,
    /// Overhead of sending, ns.
    o_s_ns: f64,
    /// Overhead of receiving, ns.
    o_r_ns: f64,
    /// Latency, ns.
    L_ns: f64,
    /// Gap per byte, ns.
    G_ns: f64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfClass<'a> {
    /// The name in the MPI standard.
    operation: &'a str,
    /// Name of the communicator.
    communicator: &'a str,
    /// Its processes.
    processes: usize,
    /// Rank of the root in the communicator; 0 for operations without one.
    root: usize,
    /// Payload of one process, bytes.
    bytes: u64,
    /// Instances of the class.
    instances: u64,
    /// What ran.
    ran: Ran<'a>,
    /// How right predictions of what ran are; `None` where that is not known.
    identity: Option<IdentityOf>,
    /// Why nothing is predicted.
    not_predicted: Option<String>,
    /// What is predicted, the fastest first; empty where nothing is.
    candidates: Vec<CandidateOf<'a>>,
    /// Algorithms with messages of which too little is known.
    left_out: usize,
    /// Of at most 100 instances, evenly over the run, when each process entered after the first one, ns.
    arrivals_ns: Vec<Vec<i64>>,
    /// Trees that the calls would run on, of which too little is known.
    trees_left_out: &'a [LeftOut],
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Ran<'a> {
    /// The algorithm that the library reported; `None` if it did not.
    algorithm: Option<String>,
    /// The tree of our own that the calls ran on; left out if on none.
    #[serde(skip_serializing_if = "Option::is_none")]
    tree: Option<&'a str>,
    /// Times of its instances, ns.
    measured_ns: Band,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct IdentityOf {
    /// Median of predicted by measured times of what ran.
    ratio: f64,
    /// The part of the instances for which that is from 0.8 to 1.25.
    within: f64,
    /// Rank correlation of predicted and measured times; `None` with too few instances.
    rank_correlation: Option<f64>,
    /// The part of the measured times from 0.8 to 1.25 of their median.
    alike: f64,
    /// Instances that were compared.
    instances: usize,
    /// Whether predictions of what ran are right enough to predict something else.
    holds: bool,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct CandidateOf<'a> {
    #[serde(flatten)]
    method: MethodOf<'a>,
    /// Messages of one instance.
    messages: usize,
    /// The longest of these, bytes.
    message_bytes_max: u64,
    /// Checksum of who sends to whom, hexadecimal.
    pairs_crc32: String,
    /// How long instances are predicted to take, ns.
    predicted_ns: Band,
    /// The measured times, where there are any, ns.
    measured_ns: Option<Band>,
    /// The part of the median time of what ran that is saved; below 0 where it takes longer.
    gain: f64,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
enum MethodOf<'a> {
    Algorithm {
        /// The library's function.
        algorithm: &'a str,
        /// The number for `coll_tuned_OPERATION_algorithm`; `None` for MPICH.
        number: Option<i64>,
        /// Length of a segment, bytes; 0: not segmented.
        segment_bytes: u64,
    },
    Tree {
        /// File and line of the tree.
        tree: &'a str,
        /// Checksum of its paths, hexadecimal.
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

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Document<'_>>(super::SCHEMA);
    }
}
