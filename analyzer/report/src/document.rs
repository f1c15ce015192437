//! The JSON documents: results with the sentences on them, as other programs read them.
//!
//! A [`Document`] is written from an [`Analysis`](collbench_analyzer::Analysis), of which it borrows
//! whatever is in both, and read into values of its own: a `Document<'static>`. So both ways share one
//! description of every part, and writing copies nothing, however large the results are.
//!
//! Reading is as lenient as the promise that fields may be added asks for: fields that this version does
//! not know are passed by, and codes are text, or an enum with a variant for all that newer versions have.

mod analysis;
mod comparison;

use collbench_analyzer::results::Code;
use serde::{Deserialize, Serialize};

pub(crate) use analysis::ANALYSIS_SCHEMA;
pub use analysis::{Document, HangDocument};
pub(crate) use comparison::COMPARISON_SCHEMA;
pub use comparison::{ComparedTraceDocument, ComparisonDocument};

/// A remark: a code with its sentence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemarkDocument {
    /// Short and stable, for scripts.
    pub code: Code,
    /// For people; may change.
    pub text: String,
}

/// A document as JSON, inert also for terminals, with a line feed at its end.
#[must_use]
pub fn to_json(document: &impl Serialize) -> String {
    collbench_text::json::document(document)
}
