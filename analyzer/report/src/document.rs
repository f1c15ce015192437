//! The JSON documents: results with their sentences, in the form that other programs read.
//!
//! A [`Document`] is written from an [`Analysis`](collbench_analyzer::Analysis), from which it
//! borrows the common parts, and read into owned values, a `Document<'static>`. So both directions
//! share one description of every part, and writing copies nothing, however large the results are.
//!
//! Documents may get new fields, so reading ignores fields that this version does not know, and
//! codes are text, or an enum with a variant for all newer ones.

mod analysis;
mod cause;
mod comparison;

use collbench_analyzer::results::Code;
use serde::{Deserialize, Serialize};

pub(crate) use analysis::ANALYSIS_SCHEMA;
pub use analysis::{Document, HangDocument};
pub use cause::{CauseDocument, EndDocument, PlaceDocument};
pub(crate) use comparison::COMPARISON_SCHEMA;
pub use comparison::{ComparedTraceDocument, ComparisonDocument};

/// A remark: a code with its sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct RemarkDocument {
    /// Short and stable, for scripts.
    pub code: Code,
    /// A sentence; may change.
    pub text: String,
}

/// A document as JSON, harmless for terminals too, with a line feed at its end.
#[must_use]
pub fn to_json(document: &impl Serialize) -> String {
    collbench_text::json::document(document)
}
