//! Results to one screen for a person: what is wrong first.
//!
//! Everything that comes from the trace passes through [`inert::line`]; the only escapes are
//! those of the styles here, which the command's output leaves out where they are not wanted.

use std::path::Path;

use collbench_analyzer::Analysis;
use collbench_text::inert;

use crate::screen::lines::{DEFAULT_COLUMNS, Room, Screen};
use crate::screen::operations::{MAX_OPERATIONS, MIN_OPERATIONS, operations};
use crate::words;
use crate::words::findings;

/// Lines of a screen; more only of a trace that is incomplete.
const HEIGHT: usize = 40;
/// Lines of what is wrong with the program, of who is late, of what was seen inside, of what else is
/// worth knowing, and of remarks, on a screen of 100 columns.
const MAX_ERRORS: usize = 8;
pub(crate) const MAX_VERDICT: usize = 9;
/// Sentences of the verdict that are always shown: the first causes, and what to do about the first.
const CAUSES: usize = 4;
const MAX_INSIDE: usize = 14;
const MAX_ALSO: usize = 5;
/// Lines of the algorithms in use.
const MAX_ALGORITHMS: usize = 6;
const MAX_REMARKS: usize = 3;
/// Lines shown of what is missing, of each kind.
const MAX_MISSING: usize = 8;

/// The screen, 100 columns wide. `report` is where the pictures are, if there are any.
#[must_use]
pub fn to_text(analysis: &Analysis, report: Option<&Path>) -> String {
    to_text_within(analysis, report, DEFAULT_COLUMNS)
}

/// The screen, as [`to_text`] gives it, on a terminal of so many columns.
#[must_use]
pub fn to_text_within(analysis: &Analysis, report: Option<&Path>, columns: usize) -> String {
    let page = report.map(|report| inert::path(&report.join("index.html")));
    let rest_is_in = page.clone().unwrap_or_else(|| "--format json".to_owned());
    let mut before = Screen::new(columns).with_rest_in(rest_is_in);
    if !analysis.trace.complete {
        missing(&mut before, analysis);
    }
    what_ran(&mut before, analysis);
    if let Some(part) = words::restriction(analysis) {
        before.fact("part", &part);
    }
    if let Some(kept) = words::kept(analysis) {
        before.fact("kept", &kept);
    }
    let errors = findings::errors_of_the_program(analysis);
    before.items("Errors of the program", &errors, Room::of(MAX_ERRORS));
    let verdict = words::verdict(analysis);
    let room = Room {
        n_lines: MAX_VERDICT,
        n_always: CAUSES,
    };
    before.items("Verdict", &verdict, room);
    let faster: Vec<String> = words::faster::sentence(analysis).into_iter().collect();
    before.items("Faster", &faster, Room::of(1));
    let algorithms = words::algorithms::sentences(analysis);
    before.items("Algorithms", &algorithms, Room::of(MAX_ALGORITHMS));
    let adaptations = words::adaptations::sentences(analysis);
    before.items("Adaptation", &adaptations, Room::of(MAX_ALGORITHMS));
    let inside = words::inside::paragraphs(analysis).into_iter();
    let inside: Vec<String> = inside.map(|paragraph| paragraph.text).collect();
    before.items("Inside collectives", &inside, Room::of(MAX_INSIDE));
    let (also, n_kinds) = findings::also(analysis);
    let room = Room {
        n_lines: MAX_ALSO,
        n_always: n_kinds,
    };
    before.items("Also", &also, room);

    let mut after = before.another();
    let remarks = findings::remarks_by_kind(analysis);
    // Whoever reads figures should know all that limits them.
    let room = Room {
        n_lines: MAX_REMARKS,
        n_always: remarks.len(),
    };
    after.items("Remarks", &remarks, room);
    if let Some(page) = page {
        after.pictures(&page);
    }

    // What the table takes beside its rows: an empty line, two of headers, one for the rest.
    let n_others = before.n_lines() + after.n_lines() + 4;
    let n_rows = HEIGHT.saturating_sub(n_others);
    let mut screen = before;
    operations(
        &mut screen,
        analysis,
        n_rows.clamp(MIN_OPERATIONS, MAX_OPERATIONS),
    );
    screen.text + &after.text
}

/// What is missing, before anything else: who waits in what for whom, then what each file lacks.
fn missing(screen: &mut Screen, analysis: &Analysis) {
    let covers = findings::covers(analysis);
    let covers = covers.strip_prefix(findings::INCOMPLETE);
    screen.alarm(
        findings::INCOMPLETE,
        covers.unwrap_or_default().trim_start(),
    );
    limited(screen, words::hang::sentences(analysis).into_iter());
    limited(
        screen,
        findings::what_lacks(&analysis.trace.damage).into_iter(),
    );
    screen.text.push('\n');
}

pub(crate) fn what_ran(screen: &mut Screen, analysis: &Analysis) {
    let trace = &analysis.trace;
    let command: Vec<String> = trace
        .command
        .iter()
        .map(|word| inert::line(word, screen.columns()))
        .collect();
    screen.title(&command.join(" "));
    screen.fact("ran", &words::ran(analysis));
    screen.fact("calls", &words::calls(analysis));
    if let Some(efficiencies) = words::efficiencies::sentence(analysis) {
        screen.fact("POP", &efficiencies);
    }
    screen.fact("clock", &words::clock(analysis));
    if analysis.clock.hosts.len() > 1 {
        screen.fact("", &words::alignment(&analysis.clock));
    }
    if let Some(phases) = words::phases(analysis) {
        screen.fact("phase", &phases);
    }
    let names = words::names_by_library(analysis, screen.fact_columns());
    for (i, algorithms) in names.iter().enumerate() {
        screen.fact(if i == 0 { "names" } else { "" }, algorithms);
    }
}

fn limited(screen: &mut Screen, sentences: impl Iterator<Item = String>) {
    let mut n_more = 0u64;
    for (n, sentence) in sentences.enumerate() {
        if n < MAX_MISSING {
            screen.item(&sentence);
        } else {
            n_more += 1;
        }
    }
    if n_more > 0 {
        screen.rest(&format!("{n_more} more"));
    }
}
