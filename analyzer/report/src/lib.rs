//! What collbench-analyze found, as people and other programs meet it: the screen, the page with its pictures, and
//! the JSON document.
//!
//! The results come from `collbench-analyzer` as plain types; here they become [sentences](words), which the
//! [screen], the [page] and the [pictures] share. Nothing is measured or judged here.
#![forbid(unsafe_code)]

mod page;
mod pictures;
mod screen;
mod words;

pub use page::comparison::write_comparison;
pub use page::{ReportError, write_report, write_report_of_trace};
pub use screen::analysis::to_text;
pub use screen::comparison::comparison_to_text;
pub use screen::running::running_to_text;

/// The JSON document of an analysis or a comparison, inert also for terminals, with a line feed at its end.
#[must_use]
pub fn to_json(document: &impl serde::Serialize) -> String {
    collbench_text::json::document(document)
}
