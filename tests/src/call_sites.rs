//! From which lines of a source of `programs/` collectives are called.

use std::fs;

use serde_json::Value;

use crate::analysis::Analysis;
use crate::machine::source_dir;

/// The line of a source that ends with this comment.
///
/// # Panics
///
/// If none does.
#[track_caller]
#[must_use]
pub fn line_of(source: &str, comment: &str) -> u64 {
    let path = source_dir().join("programs").join(source);
    let text = fs::read_to_string(path).expect("a source of a program");
    let ends = ["/* {} */", "# {}", "! {}"].map(|end| end.replace("{}", comment));
    let is_it = |line: &str| ends.iter().any(|end| line.ends_with(end));
    let at = text.lines().position(is_it);
    at.unwrap_or_else(|| panic!("{source}: {comment}")) as u64 + 1
}

/// Whether a frame is at the line of a source that ends with this comment.
#[track_caller]
#[must_use]
pub fn is_at(frame: &Value, source: &str, comment: &str) -> bool {
    let file = frame["file"].as_str().unwrap_or_default();
    file.ends_with(source) && frame["line"] == line_of(source, comment)
}

/// How many calls of an operation are made at the line of a source that ends with this comment, all of whose
/// callers are known. Bindings around the call have no lines.
///
/// # Panics
///
/// If the analysis has no such places.
#[track_caller]
#[must_use]
pub fn calls_at(analysis: &Analysis, operation: &str, source: &str, comment: &str) -> u64 {
    let sites = analysis.array("/sites");
    let entries = analysis.array("/operations").iter();
    let entries = entries.filter(|entry| entry["operation"] == operation);
    let of = entries.flat_map(|entry| entry["sites"].as_array().expect("places"));
    let there = of.filter(|of| {
        let site = &sites[of["site"].as_u64().expect("an id") as usize];
        let mut frames = site["frames"].as_array().expect("frames").iter();
        let first = frames.find(|frame| !frame["line"].is_null());
        first.is_some_and(|frame| is_at(frame, source, comment)) && site["whole"] == true
    });
    there.map(|of| of["calls"].as_u64().expect("a count")).sum()
}
