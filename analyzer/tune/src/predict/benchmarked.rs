//! Collectives that `collbench-bench collective --samples` measured, to be compared with predictions.

use collbench_formats::Operation;
use collbench_text::inert;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::figure::Figure;
use crate::open_mpi::{Library, Version};

/// Name of the document and its version.
const SCHEMA: &str = "collbench.bench.collective/1";

/// Why a measurement cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum BenchmarkedError {
    /// It is no document of this kind.
    #[error("this is not what collbench-bench collective --format json prints: {0}")]
    Json(#[from] serde_json::Error),
    /// It has another schema.
    #[error("schema \"{}\"; expected \"{SCHEMA}\"", inert::line(.0, 60))]
    Schema(String),
    /// Repetitions were not kept, or processes did not start as was asked for.
    #[error(
        "it has no samples, or processes could not start as was asked for: measure with collbench-bench collective --algorithms \
         --samples"
    )]
    NoSamples,
}

#[derive(Debug, Deserialize)]
struct Document {
    schema: String,
    run: Run,
    points: Vec<OfPoint>,
}

#[derive(Debug, Deserialize)]
struct Run {
    mpi_library: String,
}

#[derive(Debug, Deserialize)]
struct OfPoint {
    operation: String,
    bytes: Option<u64>,
    processes: usize,
    root: Option<usize>,
    algorithm: Option<String>,
    loop_length: Option<usize>,
    #[serde(default)]
    start_asked: Option<IgnoredAny>,
    samples: Option<Vec<Sample>>,
}

#[derive(Debug, Deserialize)]
struct Sample {
    enter_ns: Vec<f64>,
    leave_ns: Vec<f64>,
    is_valid: bool,
}

/// The measured times of an algorithm or tree.
#[derive(Debug, Clone, PartialEq)]
struct Point {
    operation: Operation,
    bytes: u64,
    processes: usize,
    root: usize,
    /// As in predictions; of a tree its file; `None` for the library's own choice.
    algorithm: Option<String>,
    took_ns: Vec<f64>,
}

/// A measurement.
#[derive(Debug, Clone, PartialEq)]
pub struct Benchmarked {
    library: String,
    points: Vec<Point>,
}

impl Benchmarked {
    /// That of a document. Left out are loops, which have no times of single calls, and what processes did not start as was asked
    /// for, and so without the arrivals.
    ///
    /// # Errors
    /// [`BenchmarkedError`] if it is none, or has no samples.
    pub fn parse(text: &[u8]) -> Result<Self, BenchmarkedError> {
        let document: Document = serde_json::from_slice(text)?;
        if document.schema != SCHEMA {
            return Err(BenchmarkedError::Schema(document.schema));
        }
        let version = document.run.mpi_library;
        let library = Version::find(&version).and_then(Library::of);
        let points = document.points.into_iter();
        let points: Vec<Point> = points.filter_map(|point| point.read(library)).collect();
        if points.is_empty() {
            return Err(BenchmarkedError::NoSamples);
        }
        let library = version.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Self { library, points })
    }

    /// The first line of the version of the MPI library.
    #[must_use]
    pub fn library(&self) -> &str {
        &self.library
    }

    /// Times of an operation with so many bytes among so many processes, with this root, ns: see [`Figure`]. By an algorithm as in
    /// predictions, over the trees of a file, or for `None` by the library's own choice.
    pub fn times_ns<'m>(
        &'m self,
        (operation, bytes, processes, root): (Operation, u64, usize, usize),
        algorithm: Option<&'m str>,
    ) -> impl Iterator<Item = f64> + 'm {
        let is_it = move |point: &&Point| {
            point.operation == operation
                && (point.bytes, point.processes) == (bytes, processes)
                && (point.root, point.algorithm.as_deref()) == (root, algorithm)
        };
        let points = self.points.iter().filter(is_it);
        points.flat_map(|point| point.took_ns.iter().copied())
    }
}

impl OfPoint {
    /// `None` for what has no times of single calls of a known algorithm.
    fn read(self, library: Option<Library>) -> Option<Point> {
        let operation = Operation::from_name(&self.operation)?;
        let root = self.root.unwrap_or(0);
        if self.loop_length.is_some() || self.start_asked.is_some() {
            return None;
        }
        let table = library.and_then(|library| library.operation(operation));
        let algorithm = self.algorithm.map(|named| {
            let mut known = table.into_iter().flat_map(|table| table.algorithms);
            let known = known.find(|of| of.name == named);
            known
                .map_or_else(|| of_trees(&named), |of| of.function)
                .to_owned()
        });
        let figure = Figure::of(operation, root);
        let n = self.processes;
        let is_whole = |of: &Sample| {
            of.is_valid && of.enter_ns.len() == n && of.leave_ns.len() == n && root < n
        };
        let samples = self.samples?.into_iter().filter(is_whole);
        let took_ns = samples.map(|of| figure.takes_ns(&of.enter_ns, &of.leave_ns));
        Some(Point {
            operation,
            bytes: self.bytes.unwrap_or(0),
            processes: n,
            root,
            algorithm,
            took_ns: took_ns.collect(),
        })
    }
}

/// The tree file in the name of what was measured over its trees.
fn of_trees(name: &str) -> &str {
    name.strip_prefix("trees of ").unwrap_or(name)
}
