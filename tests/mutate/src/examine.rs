//! One trace, the way that the command goes, and whether what comes out is inert and can be.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use collbench_analyzer::compare::Comparison;
use collbench_analyzer::{Analysis, AnalyzeError, Follower, Look, Options, RunFiles, analyze};
use collbench_report::{
    ComparisonDocument, Document, comparison_to_text, running_to_text, to_json, to_text,
    write_comparison, write_report,
};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::drawn::Known;
use crate::figures::{differs_from, impossible_figures};
use crate::inert::{active_text, broken_markup};
use crate::pictures::impossible_picture;

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

/// What is looked at beside the text and the document.
#[derive(Debug, Clone, Copy)]
pub struct Further<'f> {
    /// A directory for the report.
    pub report: &'f Path,
    /// What the trace is compared with.
    pub baseline: &'f Analysis,
}

/// Analyses the trace in a directory and looks at the text, the document and, with `further`, the
/// pictures and the page, the comparison with another one and the screen of one who follows it.
/// `known`: what has to come out, if that is known.
///
/// # Errors
/// What of it is not as it must be: text that is active, a document that is none, figures that
/// cannot be, a picture that is not well-formed, output that differs from one time to the next, or by
/// threads.
pub fn examine(
    directory: &Path,
    known: Option<&Known>,
    further: Option<Further<'_>>,
) -> Result<Outcome, Failure> {
    let report = further.map(|further| further.report);
    let analysis = match analyze_trace(directory, &Options::default()) {
        Ok(analysis) => analysis,
        Err(error) => {
            return inert("the message", &error.to_string()).map(|()| Outcome::Refused);
        }
    };
    let text = to_text(&analysis, report);
    // Its only escapes are its own styles, which the command takes out for a file.
    let text = anstream::adapter::strip_str(&text).to_string();
    inert("the text", &text)?;
    let json = to_json(&Document::of(&analysis));
    look_at_document(&json, known)?;
    if let Some(further) = further {
        write_report(&analysis, further.report, 5).map_err(|error| error.to_string())?;
        look_at_report(further.report)?;
        is_the_same_again(directory, &json)?;
        look_at_comparison(further, &analysis)?;
        follow(directory)?;
    }
    Ok(if analysis.trace.complete {
        Outcome::Complete
    } else {
        Outcome::Incomplete
    })
}

/// The analysis of a trace directory.
pub(crate) fn analyze_trace(directory: &Path, options: &Options) -> Result<Analysis, AnalyzeError> {
    analyze(&RunFiles::open(directory)?, options, &mut |_| {})
}

fn inert(what: &str, text: &str) -> Result<(), Failure> {
    match active_text(text) {
        Some((at, c)) => Err(format!("{what} is not inert: {c:?} at {at}")),
        None => Ok(()),
    }
}

fn look_at_document(json: &str, known: Option<&Known>) -> Result<(), Failure> {
    inert("the document", json)?;
    let document =
        serde_json::from_str(json).map_err(|error| format!("the document is not JSON: {error}"))?;
    if let Some(found) = impossible_figures(&document) {
        return Err(format!("figures that cannot be: {found}"));
    }
    match known.and_then(|known| differs_from(known, &document)) {
        Some(found) => Err(format!("figures that are known: {found}")),
        None => Ok(()),
    }
}

/// Once more as before, and with other threads that look at fewer records at a time.
fn is_the_same_again(directory: &Path, json: &str) -> Result<(), Failure> {
    let is_same = |again: Analysis| match first_difference(json, &to_json(&Document::of(&again))) {
        None => Ok(()),
        Some(line) => Err(format!("the same trace gave another document: {line}")),
    };
    if let Ok(again) = analyze_trace(directory, &Options::default()) {
        is_same(again)?;
    }
    let options = Options {
        window: Some(50),
        ..Options::default()
    };
    if let Some(threads) = threads()
        && let Ok(again) = threads.install(|| analyze_trace(directory, &options))
    {
        is_same(again).map_err(|found| format!("with more threads, {found}"))?;
    }
    Ok(())
}

/// The first line of two documents that differs, as the one and the other have it.
fn first_difference(one: &str, other: &str) -> Option<String> {
    if one == other {
        return None;
    }
    let mut lines = one.lines().zip(other.lines()).enumerate();
    Some(match lines.find(|(_, (one, other))| one != other) {
        Some((at, (one, other))) => format!("line {}, {one:?} and {other:?}", at + 1),
        None => String::from("one has more lines"),
    })
}

/// Three threads; `None` where they cannot be started.
fn threads() -> Option<&'static ThreadPool> {
    static THREADS: OnceLock<Option<ThreadPool>> = OnceLock::new();
    let start = || ThreadPoolBuilder::new().num_threads(3).build().ok();
    THREADS.get_or_init(start).as_ref()
}

fn look_at_comparison(further: Further<'_>, analysis: &Analysis) -> Result<(), Failure> {
    let both = [further.baseline.clone(), analysis.clone()];
    let comparison = Comparison::new(&both);
    let json = to_json(&ComparisonDocument::of(&comparison, &both));
    inert("the document of the comparison", &json)?;
    if let Err(error) = serde_json::from_str::<serde_json::Value>(&json) {
        return Err(format!(
            "the document of the comparison is not JSON: {error}"
        ));
    }
    let text = comparison_to_text(&comparison, Some(further.report));
    let text = anstream::adapter::strip_str(&text).to_string();
    inert("the text of the comparison", &text)?;
    let pictures = further.report.join("comparison");
    write_comparison(&comparison, &both, &pictures, 5).map_err(|error| error.to_string())?;
    look_at_report(&pictures)
}

/// Looks twice, as one who follows the run.
fn follow(directory: &Path) -> Result<(), Failure> {
    let mut follower = Follower::new(directory);
    for _ in 0..2 {
        match follower.look() {
            Ok(Look::Running(running)) => {
                let screen = running_to_text(&running);
                let screen = anstream::adapter::strip_str(&screen).to_string();
                inert("the screen", &screen)?;
            }
            Ok(Look::NotYet | Look::Ended) => {}
            Err(error) => inert("the message", &error.to_string())?,
        }
    }
    Ok(())
}

fn look_at_report(report: &Path) -> Result<(), Failure> {
    let entries = fs::read_dir(report).map_err(|error| error.to_string())?;
    for entry in entries {
        let path = entry.map_err(|error| error.to_string())?.path();
        if path.is_dir() {
            continue;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_markup = name.ends_with(".svg") || name.ends_with(".html");
        let content = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        if is_markup {
            if let Some(found) = broken_markup(&content) {
                return Err(format!("{name}: {found}"));
            }
        } else {
            inert(&name, &content)?
        }
        if name.ends_with(".svg")
            && let Some(found) = impossible_picture(&content)
        {
            return Err(format!("{name}: {found}"));
        }
    }
    Ok(())
}
