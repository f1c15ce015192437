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
struct Document<'a> {
    schema: &'static str,
    library: &'a str,
    trace: &'a str,
    trace_crc32: String,
    seed: u64,
    calls: Vec<Calls<'a>>,
    rare_instances: u64,
    run: Option<OfRun<'a>>,
}

#[derive(Debug, Serialize)]
struct Calls<'a> {
    operation: &'a str,
    processes: usize,
    bytes: u64,
    instances: u64,
    took_ns: f64,
    ran: Vec<Ran<'a>>,
    not_predicted: Option<&'a str>,
    tried: Option<u32>,
    left_out: Option<u32>,
    is_cut_off: bool,
    persistence: Option<f64>,
    late_ns: Option<&'a [f64]>,
    error: Option<f64>,
    algorithm: Option<OfChosen>,
    tree: Option<OfChosen>,
    other_bits: Vec<OfChosen>,
}

#[derive(Debug, Serialize)]
struct Ran<'a> {
    communicator: &'a str,
    root: usize,
    algorithm: Option<String>,
    measured_ns: Band,
}

#[derive(Debug, Serialize)]
struct OfChosen {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partners: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    height: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    crc32: Option<String>,
    gain: Gain,
    proposed: bool,
    why_not: Option<String>,
    predicted_ns: Vec<Band>,
    same_bits: Option<OfBits>,
}

#[derive(Debug, Serialize)]
struct OfBits {
    on_all_ranks: Option<bool>,
    from_run_to_run: Option<bool>,
    for_other_mappings: Option<bool>,
    for_other_numbers: Option<bool>,
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
