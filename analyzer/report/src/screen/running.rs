//! The newest calls of a run that is still running: one screen.

use std::fmt::Write;

use collbench_analyzer::results::UnfinishedSummary;
use collbench_analyzer::{Analysis, Running};
use collbench_text::inert;
use collbench_text::quantity::{self, counted};

use crate::screen::analysis::{MAX_VERDICT, what_ran};
use crate::screen::lines::{DEFAULT_COLUMNS, Room, Screen};
use crate::screen::operations::{MAX_OPERATIONS, operations};
use crate::words;
use crate::words::call_sites;

/// The screen of the newest calls of a run that is still running, 100 columns wide.
#[must_use]
pub fn running_to_text(running: &Running) -> String {
    running_to_text_within(running, DEFAULT_COLUMNS)
}

/// The screen, as [`running_to_text`] gives it, on a terminal of so many columns.
#[must_use]
pub fn running_to_text_within(running: &Running, columns: usize) -> String {
    let Running {
        analysis,
        n_ended,
        waits,
    } = running;
    let mut screen = Screen::new(columns);
    what_ran(&mut screen, analysis);
    let trace = &analysis.trace;
    let n_seen = analysis.ranks.len();
    let mut state = match *n_ended {
        0 => format!("{n_seen} of {} running", counted(trace.ranks, "rank")),
        _ => format!(
            "{} of {} running, {n_ended} ended",
            n_seen - n_ended,
            counted(trace.ranks, "rank")
        ),
    };
    let from_ns = trace.window.as_ref().and_then(|window| window.from_ns);
    let _ = match from_ns {
        None => write!(state, "; all their calls so far"),
        Some(from_ns) => write!(
            state,
            "; their calls of the last {}",
            quantity::duration(trace.duration_ns.saturating_sub(from_ns))
        ),
    };
    screen.fact("now", &state);
    let unread = trace.damage.iter().filter(|found| found.rank.is_none());
    let unread: Vec<String> = unread.map(|found| inert::line(&found.what, 300)).collect();
    screen.items("Not read", &unread, Room::of(MAX_VERDICT));
    let waiting = analysis.unfinished.iter().zip(waits);
    let waiting = waiting.filter(|(instance, _)| !instance.inside.is_empty());
    let waiting: Vec<String> = waiting
        .filter_map(|(instance, wait)| {
            let seconds = (*wait)?.as_secs();
            let sentence = who_waits(analysis, instance);
            Some(format!("{sentence}; for at least {seconds} s"))
        })
        .collect();
    screen.items("Waiting now", &waiting, Room::of(MAX_VERDICT));
    let verdict = words::verdict(analysis);
    screen.items("Verdict", &verdict, Room::of(MAX_VERDICT));
    operations(&mut screen, analysis, MAX_OPERATIONS);
    screen.text
}

/// Who is in an instance, and who has not arrived yet.
fn who_waits(analysis: &Analysis, instance: &UnfinishedSummary) -> String {
    let completing = match &instance.completing[..] {
        [] => String::new(),
        calls => format!("{} for ", calls.join(", ")),
    };
    let mut sentence = format!(
        "{} in {completing}{}{} (call {} on {})",
        inert::ranks(&instance.inside),
        instance.operations.join(", "),
        call_sites::at(analysis, instance.site),
        instance.sequence,
        words::communicator(analysis, Some(instance.communicator), 40),
    );
    if let Some(&since) = instance.inside_since_ns.iter().min() {
        let _ = write!(sentence, " since t = {}", quantity::instant(since));
    }
    let others = [
        ("initiated it", &instance.begun),
        ("not arrived yet", &instance.never_came),
        ("left", &instance.left),
    ];
    for (what, ranks) in others.iter().filter(|(_, ranks)| !ranks.is_empty()) {
        let has = if ranks.len() == 1 { "has" } else { "have" };
        let _ = write!(sentence, "; {} {has} {what}", inert::ranks(ranks));
    }
    sentence
}
