//! A run that goes on, in words: one screen.

use std::fmt::Write;

use collbench_analyzer::results::UnfinishedSummary;
use collbench_analyzer::{Analysis, Running};
use collbench_text::{inert, quantity};

use crate::screen::analysis::{MAX_OPERATIONS, MAX_VERDICT, fact, items, operations, what_ran};
use crate::words;

/// The screen of a run that goes on, of its newest calls.
#[must_use]
pub fn running_to_text(running: &Running) -> String {
    let Running {
        analysis,
        n_ended,
        waits,
    } = running;
    let mut text = String::new();
    what_ran(&mut text, analysis);
    let trace = &analysis.trace;
    let n_seen = analysis.ranks.len();
    let mut state = match *n_ended {
        0 => format!("{n_seen} of {} ranks run", trace.ranks),
        _ => format!(
            "{} of {} ranks run, {n_ended} have ended",
            n_seen - n_ended,
            trace.ranks
        ),
    };
    let from_ns = trace.window.as_ref().and_then(|window| window.from_ns);
    let _ = match from_ns {
        None => write!(state, "; all their calls until now"),
        Some(from_ns) => write!(
            state,
            "; their calls of the last {}",
            quantity::duration(trace.duration_ns.saturating_sub(from_ns))
        ),
    };
    fact(&mut text, "now", &state);
    let unread = trace.damage.iter().filter(|found| found.rank.is_none());
    let unread: Vec<String> = unread.map(|found| found.what.clone()).collect();
    items(&mut text, "Not read", unread.into_iter(), MAX_VERDICT);
    let waiting = analysis.unfinished.iter().zip(waits);
    let waiting = waiting.filter(|(instance, _)| !instance.inside.is_empty());
    let waiting: Vec<String> = waiting
        .filter_map(|(instance, wait)| {
            let seconds = (*wait)?.as_secs();
            let sentence = who_waits(analysis, instance);
            Some(format!("{sentence}; for {seconds} s or longer"))
        })
        .collect();
    items(&mut text, "Waiting now", waiting.into_iter(), MAX_VERDICT);
    let verdict = words::verdict(analysis);
    items(
        &mut text,
        "Load imbalance",
        verdict.into_iter(),
        MAX_VERDICT,
    );
    operations(&mut text, analysis, MAX_OPERATIONS);
    text
}

/// Who is in an instance, and who is not there yet.
fn who_waits(analysis: &Analysis, instance: &UnfinishedSummary) -> String {
    let completing = match &instance.completing[..] {
        [] => String::new(),
        calls => format!("{} for ", calls.join(", ")),
    };
    let mut sentence = format!(
        "{} in {completing}{} (call {} on {})",
        inert::ranks(&instance.inside),
        instance.operations.join(", "),
        instance.sequence,
        words::communicator(analysis, Some(instance.communicator), 40),
    );
    if let Some(&since) = instance.inside_since_ns.iter().min() {
        let _ = write!(sentence, " since {}", quantity::instant(since));
    }
    let others = [
        ("had begun it", &instance.begun),
        ("did not come yet", &instance.never_came),
        ("left", &instance.left),
    ];
    for (what, ranks) in others.iter().filter(|(_, ranks)| !ranks.is_empty()) {
        let _ = write!(sentence, "; {} {what}", inert::ranks(ranks));
    }
    sentence
}
