//! One trace, the way that the command goes, and whether what comes out is inert.

use std::fs;
use std::path::Path;

use collbench_analyzer::{Selection, analyze, to_json, to_text, write_report};

use crate::inert::{active_text, broken_markup};

/// How an analysis may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Nothing was found missing (exit status 0).
    Complete,
    /// Damage was told, and the rest analysed (exit status 3).
    Incomplete,
    /// There was nothing to analyse, and it was said why (exit status 1).
    Refused,
}

/// What must not happen, in words.
pub type Failure = String;

/// Analyses the trace in a directory and looks at the text, the document and, with `report` (a
/// directory for it), the pictures and the page.
///
/// # Errors
/// What of it is not as it must be: text that is active, a document that is none, a picture that
/// is not well-formed, output that differs from one time to the next.
pub fn examine(directory: &Path, report: Option<&Path>) -> Result<Outcome, Failure> {
    let analysis = match analyze(directory, &Selection::default(), &mut |_| {}) {
        Ok(analysis) => analysis,
        Err(error) => {
            return inert("the message", &error.to_string()).map(|()| Outcome::Refused);
        }
    };
    let text = to_text(&analysis, report);
    // Its only escapes are its own styles, which the command takes out for a file.
    let text = anstream::adapter::strip_str(&text).to_string();
    inert("the text", &text)?;
    let json = to_json(&analysis);
    inert("the document", &json)?;
    if let Err(error) = serde_json::from_str::<serde_json::Value>(&json) {
        return Err(format!("the document is not JSON: {error}"));
    }
    if let Some(report) = report {
        write_report(&analysis, report, 5).map_err(|error| error.to_string())?;
        look_at_report(report)?;
        let again = analyze(directory, &Selection::default(), &mut |_| {});
        if again.is_ok_and(|again| to_json(&again) != json) {
            return Err("the same trace gave another document".to_owned());
        }
    }
    Ok(match analysis.trace.complete {
        true => Outcome::Complete,
        false => Outcome::Incomplete,
    })
}

fn inert(what: &str, text: &str) -> Result<(), Failure> {
    match active_text(text) {
        Some((at, c)) => Err(format!("{what} is not inert: {c:?} at {at}")),
        None => Ok(()),
    }
}

fn look_at_report(report: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(report).map_err(|error| error.to_string())?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_markup = name.ends_with(".svg") || name.ends_with(".html");
        let content = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        match is_markup {
            true => {
                if let Some(found) = broken_markup(&content) {
                    return Err(format!("{name}: {found}"));
                }
            }
            false => inert(&name, &content)?,
        }
        if name.ends_with(".svg")
            && let Err(error) = roxmltree::Document::parse(&content)
        {
            return Err(format!("{name} is not well-formed: {error}"));
        }
    }
    Ok(())
}
