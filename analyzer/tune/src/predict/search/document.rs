//! The document `collbench.search/1`.

use collbench_formats::tree::Form;
use collbench_text::json;
use collbench_tree_files::make;
use serde::Serialize;

use super::super::Band;
use super::super::document::{OfRun, crc32};
use super::{Bits, Chosen, Found, Gain, OfCalls, Search, What};

/// Name of the document and its version.
const SCHEMA: &str = "collbench.search/1";

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    schema: &'static str,
    /// The MPI library, with its version.
    library: &'a str,
    /// The directory of the run.
    trace: &'a str,
    /// The checksum of its files, hexadecimal.
    trace_crc32: String,
    /// What random choices were drawn from.
    seed: u64,
    /// Kinds of calls, those first that took longest.
    calls: Vec<Calls<'a>>,
    /// Instances of kinds of calls that are too rare to be looked at.
    rare_instances: u64,
    /// All collectives carried out again; `None` where nothing is predicted.
    run: Option<OfRun<'a>>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Calls<'a> {
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
    ran: Vec<Ran<'a>>,
    /// Why nothing is predicted.
    not_predicted: Option<&'a str>,
    /// Algorithms and trees that were tried.
    tried: Option<u32>,
    /// Algorithms and trees of whose messages too little is known.
    left_out: Option<u32>,
    /// Whether the time was over before all were tried.
    is_cut_off: bool,
    /// The part of the variation of enters that is between processes.
    persistence: Option<f64>,
    /// How late each process enters on average, ns after the median one; `None` if no trees were made for it.
    late_ns: Option<&'a [f64]>,
    /// The part of the time by which what ran is predicted wrongly.
    error: Option<f64>,
    /// The best algorithm; `None` if it is the one that ran.
    algorithm: Option<OfChosen>,
    /// The best tree.
    tree: Option<OfChosen>,
    /// What would gain more, and is left out since its results have other bits than they may have.
    other_bits: Vec<OfChosen>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Ran<'a> {
    /// Name of the communicator.
    communicator: &'a str,
    /// Rank of the root in it; 0 for operations without one.
    root: usize,
    /// The algorithm that the library reported; `None` if it did not.
    algorithm: Option<String>,
    /// Times of its instances, ns.
    measured_ns: Band,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfChosen {
    /// The library's function, of an algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Shapes by level, where these give the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    /// World rank of the root of the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<u32>,
    /// Partners in the exchange at the top of the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    partners: Option<usize>,
    /// Joins on the longest path of the tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    /// Checksum of the paths of the tree, hexadecimal.
    #[serde(skip_serializing_if = "Option::is_none")]
    crc32: Option<String>,
    /// The part of the time that is saved, predicted for instances that did not choose it.
    gain: Gain,
    /// Whether it is proposed.
    proposed: bool,
    /// Why it is not.
    why_not: Option<String>,
    /// By `ran`, how long instances are predicted to take, ns.
    predicted_ns: Vec<Band>,
    /// Which bits its results have; `None` where nothing is combined.
    same_bits: Option<OfBits>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct OfBits {
    /// Whether they are the same on all ranks; `None` where that is not known.
    on_all_ranks: Option<bool>,
    /// Whether they are the same from run to run.
    from_run_to_run: Option<bool>,
    /// Whether they are the same if ranks are on other hosts.
    for_other_mappings: Option<bool>,
    /// Whether they are the same with another number of ranks.
    for_other_numbers: Option<bool>,
    /// Whether they are those of what ran.
    as_ran: Option<bool>,
}

impl From<Bits> for OfBits {
    fn from(bits: Bits) -> Self {
        Self {
            on_all_ranks: bits.numerics.same_on_all_ranks,
            from_run_to_run: bits.numerics.same_from_run_to_run,
            for_other_mappings: bits.numerics.same_for_other_mappings,
            for_other_numbers: bits.numerics.same_for_other_numbers,
            as_ran: bits.same_as_ran,
        }
    }
}

impl From<&Chosen> for OfChosen {
    fn from(chosen: &Chosen) -> Self {
        let mut of = Self {
            name: None,
            shape: None,
            root: None,
            partners: None,
            height: None,
            crc32: None,
            gain: chosen.gain,
            proposed: chosen.why_not.is_none(),
            why_not: chosen.why_not.clone(),
            same_bits: chosen.bits.map(OfBits::from),
            predicted_ns: chosen.predicted.clone(),
        };
        match &chosen.what {
            What::Algorithm { function, .. } => of.name = Some(function.clone()),
            What::Tree(tree) => {
                of.shape = match &tree.form {
                    Form::Shaped(shaped) => Some(make::shapes(&shaped.joins)),
                    Form::Nodes(_) => None,
                };
                let bottommost = tree.wrappers.bottommost();
                match bottommost.contributors.len() {
                    1 => of.root = Some(bottommost.owner),
                    n => of.partners = Some(n),
                }
                of.height = Some(tree.wrappers.height());
                of.crc32 = Some(crc32(tree.crc32));
            }
        }
        of
    }
}

impl Found<'_> {
    /// The document, for scripts; `trace` is the directory of the run, with the checksum of its files.
    #[must_use]
    pub fn to_json(&self, (trace, trace_crc32): (&str, u32), options: Search) -> String {
        json::document(&Document {
            schema: SCHEMA,
            library: &self.recorded.library,
            trace,
            trace_crc32: crc32(trace_crc32),
            seed: options.seed,
            calls: self.calls.iter().map(|of| self.calls_of(of)).collect(),
            rare_instances: self.n_rare,
            run: self.run.as_ref().map(OfRun::of),
        })
    }

    fn calls_of<'a>(&'a self, of: &'a OfCalls) -> Calls<'a> {
        let ran = self.of_classes(of).map(|prediction| {
            let class = prediction.class;
            Ran {
                communicator: &class.communicator,
                root: class.root,
                algorithm: (!class.reported.is_empty()).then(|| class.reported.join(" + ")),
                measured_ns: prediction.measured,
            }
        });
        let tried = of.found.as_ref().ok();
        Calls {
            operation: of.operation.name(),
            processes: of.n_processes,
            bytes: of.bytes,
            instances: of.n_instances,
            took_ns: of.took_ns,
            ran: ran.collect(),
            not_predicted: of.found.as_ref().err().map(String::as_str),
            tried: tried.map(|of| of.n),
            left_out: tried.map(|of| of.n_unknown),
            is_cut_off: tried.is_some_and(|of| of.is_cut_off),
            persistence: tried.map(|of| of.persistence),
            late_ns: tried.and_then(|of| of.late_ns.as_deref()),
            error: tried.map(|of| of.error),
            algorithm: tried
                .and_then(|of| of.algorithm.as_ref())
                .map(OfChosen::from),
            tree: tried.and_then(|of| of.tree.as_ref()).map(OfChosen::from),
            other_bits: tried.map_or_else(Vec::new, |of| {
                of.other_bits.iter().map(OfChosen::from).collect()
            }),
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
