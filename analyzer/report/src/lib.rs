//! What collbench-analyze found, as people and other programs meet it: the screen, the page with its pictures, and
//! the JSON [`Document`], which other programs read into the same types.
//!
//! The results come from `collbench-analyzer` as plain types; here they become [sentences](words), which the
//! [screen], the [page] and the [pictures] share. Nothing is measured or judged here. [`trees`] shows tree files, for
//! the command collbench-tree.
#![forbid(unsafe_code)]

mod call_sites;
pub mod command;
mod document;
mod faster;
mod page;
mod pictures;
mod screen;
mod source_text;
mod symbols;
pub mod trees;
mod words;

pub use call_sites::{LineFinder, find_lines};
pub use document::{
    CauseDocument, ComparedTraceDocument, ComparisonDocument, Document, EndDocument, HangDocument,
    PlaceDocument, RemarkDocument, to_json,
};
pub use faster::add_faster;
pub use page::comparison::write_comparison;
pub use page::{ReportError, report_name, write_report, write_report_of_trace};
pub use screen::analysis::{to_text, to_text_within};
pub use screen::by_site_to_text_within;
pub use screen::comparison::{comparison_to_text, comparison_to_text_within};
pub use screen::lines::DEFAULT_COLUMNS;
pub use screen::running::{running_to_text, running_to_text_within};
pub use source_text::find_texts;
pub use symbols::keep_symbols;
