//! The JSON Schemas of the documents, in `docs/schemas`: made from the types that are written, and compared with the
//! documents that tests obtain. For tests only.
//!
//! A schema says what this version writes. Whoever reads has to ignore fields that it does not name, so a schema
//! allows them; a document of a test may have none.

#![forbid(unsafe_code)]

mod made;
mod valid;

use std::path::PathBuf;

pub use made::check;
pub use valid::read;

/// The file of the schema of a document, such as `collbench.analysis/1`.
fn file(document: &str) -> PathBuf {
    let name = document.replace('/', "-");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schemas");
    PathBuf::from(format!("{folder}/{name}.schema.json"))
}
