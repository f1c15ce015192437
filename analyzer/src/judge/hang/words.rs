//! What was going on at the end, in sentences.

use std::collections::{BTreeMap, BTreeSet};

use collbench_formats::{CompletingCall, Layer, Operation};
use collbench_text::{
    inert,
    quantity::{counted, duration, instant},
};

use crate::calls::findings::InFlight;
use crate::communicators::Communicators;
use crate::judge::hang::cycles::Cycle;
use crate::judge::hang::{AtEnd, Ending, Hang};
use crate::results::hang::RankState;
use crate::sums::mismatch::{Mismatch, MismatchKind};
use crate::sums::never_completed::NeverCompleted;
use crate::trace::place::Lane;

/// Columns for the name of a communicator.
const NAME: usize = 40;
/// Ways in which ranks that never came went that are told of one instance.
const MAX_WAYS: usize = 4;
/// Steps of a cycle that are told.
const MAX_STEPS: usize = 8;
/// Kinds of calls that are told of one mismatch.
const MAX_CALLS: usize = 4;
/// Mismatches, and instances, that are told; the JSON has all.
const MAX_MISMATCHES: usize = 4;
const MAX_INSTANCES: usize = 64;

/// One sentence for each cycle, mismatch, and unfinished instance: of these first those that nobody
/// holds up who waits himself.
pub(super) fn describe(hang: &Hang<'_>, cycles: &[Cycle]) -> Vec<String> {
    let mut sentences: Vec<String> = cycles
        .iter()
        .map(|cycle| cycle_in_words(hang, cycle))
        .collect();
    let communicators = hang.sources.communicators;
    let mismatches = hang.sources.tally.mismatches.iter().take(MAX_MISMATCHES);
    sentences.extend(mismatches.map(|mismatch| mismatch_in_words(communicators, mismatch)));
    let mut instances: Vec<&AtEnd<'_>> = hang
        .instances
        .iter()
        .filter(|instance| !instance.inside.is_empty())
        .collect();
    // Where a chain of waiting begins, nobody is missing who waits himself.
    let n_held_up = |instance: &AtEnd<'_>| {
        let missing = instance.never_came.iter();
        let waits = |process: usize| !hang.endings[process].instances.is_empty();
        missing.filter(|absent| waits(absent.process)).count()
    };
    instances.sort_by_cached_key(|instance| {
        let n_waiting = instance.inside.len();
        (n_held_up(instance) > 0, std::cmp::Reverse(n_waiting))
    });
    let told = instances.iter().take(MAX_INSTANCES);
    sentences.extend(told.map(|instance| instance_in_words(hang, instance)));
    sentences.extend(other_calls(hang));
    if sentences.is_empty() {
        sentences.extend(nobody_waits(hang));
    }
    sentences
}

/// `MPI_Allreduce (call 7 on MPI_COMM_WORLD, root 0, 8 bytes)`.
fn call_in_words(hang: &Hang<'_>, instance: &AtEnd<'_>) -> String {
    let of = instance.of;
    let mut words = String::new();
    for (at, call) in of.completing.iter().enumerate() {
        words += if at == 0 { "" } else { ", " };
        words += call.name();
    }
    if !words.is_empty() {
        words += " for ";
    }
    let names: Vec<&str> = of
        .operations
        .iter()
        .map(|operation| operation.name())
        .collect();
    words += &names.join(" or ");
    let place = place(
        hang.sources.communicators,
        of.operations.first().copied(),
        (of.entry, of.sequence, instance.is_persistent()),
    );
    words += &format!(" ({place}");
    match of.roots[..] {
        [] => {}
        [root] => words += &format!(", root rank {root}"),
        _ => words += ", of different roots",
    }
    match of.bytes {
        None | Some((_, 0)) => {}
        Some((least, greatest)) if least == greatest => words += &format!(", {least} bytes"),
        Some((least, greatest)) => words += &format!(", {least} to {greatest} bytes"),
    }
    if of.lane == Lane::Internal {
        words += ", by the MPI library itself";
    }
    words + ")"
}

/// `call 7 on MPI_COMM_WORLD`, or on a file or window that was opened on it.
fn place(
    communicators: &Communicators,
    operation: Option<Operation>,
    (entry, sequence, is_persistent): (usize, u64, bool),
) -> String {
    let what = if is_persistent { "start" } else { "call" };
    format!(
        "{what} {sequence} on {}",
        on(communicators, operation, entry)
    )
}

fn on(communicators: &Communicators, operation: Option<Operation>, entry: usize) -> String {
    let name = inert::line(&communicators.entries[entry].name, NAME);
    match operation.map(Operation::layer) {
        Some(Layer::Io) => format!("a file on {name}"),
        Some(Layer::Rma) => format!("a window on {name}"),
        _ => name,
    }
}

/// "waits", of one rank; "wait", of several.
fn waits(n: usize) -> &'static str {
    if n == 1 { "waits" } else { "wait" }
}

fn instance_in_words(hang: &Hang<'_>, instance: &AtEnd<'_>) -> String {
    let inside: Vec<u32> = instance.inside.iter().map(|waiter| waiter.rank).collect();
    let since = instance.inside.iter().map(|waiter| waiter.since.ns());
    let (first, last) = (since.clone().min(), since.max());
    let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
    let mut sentence = format!(
        "{} {} in {} since {}",
        inert::ranks(&inside),
        waits(inside.len()),
        call_in_words(hang, instance),
        instant(first),
    );
    if instant(last) != instant(first) {
        sentence += &format!(" (the last since {})", instant(last));
    }
    for way in ways(hang, instance) {
        sentence += &format!("; {way}");
    }
    if !instance.of.begun.is_empty() {
        let begun: Vec<u32> = instance.of.begun.iter().map(|waiter| waiter.rank).collect();
        let is = if begun.len() == 1 { "is" } else { "are" };
        sentence += &format!(
            "; {} had begun it and {is} in no call of it",
            inert::ranks(&begun)
        );
    }
    if !instance.of.left.is_empty() {
        sentence += &format!("; {} had left", inert::ranks(&instance.of.left));
    }
    if !instance.unknown.is_empty() {
        sentence += &format!(
            "; of {} it is not known: their recording had ended, or records are missing",
            inert::ranks(&instance.unknown)
        );
    }
    if instance.of.n_unknown > 0 {
        let others = counted(instance.of.n_unknown, "other process");
        sentence += &format!(
            "; no file tells of {}",
            others.replace("processs", "processes")
        );
    }
    let is_whole = instance.unknown.is_empty() && instance.of.n_unknown == 0;
    if instance.never_came.is_empty() && is_whole {
        sentence += "; all have come to it";
    }
    sentence
}

/// What one who never came did instead; equal for those who did the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// In another call, since this instant at the earliest.
    In(String),
    Finished,
    /// In no call, after this one.
    After(String),
    /// In no call at all.
    NoCall,
}

/// Those who never came, by what they did instead; most first.
fn ways(hang: &Hang<'_>, instance: &AtEnd<'_>) -> Vec<String> {
    let mut ways: BTreeMap<Way, OnTheWay> = BTreeMap::new();
    for absent in &instance.never_came {
        let Some(ending) = hang.endings.get(absent.process) else {
            continue;
        };
        let (way, since) = way(hang, ending);
        let idle_ns = (ending.end_ns - since).max(0);
        let of = ways.entry(way).or_insert(OnTheWay {
            ranks: Vec::new(),
            first_ns: since,
            last_ns: since,
            idle_ns,
        });
        of.ranks.push(absent.rank);
        of.first_ns = of.first_ns.min(since);
        of.last_ns = of.last_ns.max(since);
        of.idle_ns = of.idle_ns.min(idle_ns);
    }
    let mut ways: Vec<_> = ways.into_iter().collect();
    ways.sort_by_key(|(_, of)| std::cmp::Reverse(of.ranks.len()));
    let others = ways.iter().skip(MAX_WAYS);
    let n_others: usize = others.map(|(_, of)| of.ranks.len()).sum();
    ways.truncate(MAX_WAYS);
    let mut words: Vec<String> = ways.iter().map(|(way, of)| of.never_came(way)).collect();
    if n_others > 0 {
        let others = counted(n_others as u64, "other rank");
        words.push(format!("nor did {others}"));
    }
    words
}

/// Ranks that never came, and went the same way instead.
struct OnTheWay {
    ranks: Vec<u32>,
    /// When the first and the last of them took it.
    first_ns: i64,
    last_ns: i64,
    /// What is known of the time after that, of the last.
    idle_ns: i64,
}

impl OnTheWay {
    fn never_came(&self, way: &Way) -> String {
        let (it, is) = match self.ranks.len() {
            1 => ("it", "is"),
            _ => ("they", "are"),
        };
        let instead = match way {
            Way::In(call) => format!("{it} {is} in {call} since {}", instant(self.first_ns)),
            Way::Finished => format!(
                "{it} called MPI_Finalize at {}, and left it",
                instant(self.first_ns)
            ),
            Way::After(call) => format!(
                "{it} left {call} at {}, and called no collective in the {} after that",
                instant(self.last_ns),
                duration(self.idle_ns)
            ),
            Way::NoCall => format!("{it} called no collective at all"),
        };
        format!("{} never came: {instead}", inert::ranks(&self.ranks))
    }
}

/// What a process did at the end, and since when, ns.
fn way(hang: &Hang<'_>, ending: &Ending<'_>) -> (Way, i64) {
    if let Some(&index) = ending.instances.first() {
        let instance = &hang.instances[index];
        let waiter = instance
            .inside
            .iter()
            .find(|waiter| waiter.rank == ending.rank);
        let since = waiter.map_or(ending.last_seen_ns, |waiter| waiter.since.ns());
        return (Way::In(call_in_words(hang, instance)), since);
    }
    if let Some(call) = ending.in_flight.first() {
        return (Way::In(in_flight_in_words(hang, call)), call.enter.ns());
    }
    if ending.state == RankState::Finished {
        let finalize = ending.returned.map(|call| call.enter.ns());
        return (Way::Finished, finalize.unwrap_or(ending.last_seen_ns));
    }
    match &ending.returned {
        None => (Way::NoCall, 0),
        Some(call) => {
            let names = (call.operation, call.completing);
            let place = (call.communicator, call.sequence, call.is_persistent);
            (Way::After(name(hang, names, place)), call.leave.ns())
        }
    }
}

fn in_flight_in_words(hang: &Hang<'_>, call: &InFlight) -> String {
    let names = (Some(call.operation), call.completing);
    let is_process = !call.operation.is_counted();
    let communicator = call.communicator.filter(|_| !is_process);
    let is_persistent = matches!(call.lane, Some(Lane::Persistent(_)));
    let words = name(hang, names, (communicator, call.sequence, is_persistent));
    if call.is_internal {
        words + ", by the MPI library itself,"
    } else {
        words
    }
}

/// `MPI_Wait for MPI_Ibarrier (call 3 on MPI_COMM_WORLD)`.
fn name(
    hang: &Hang<'_>,
    (operation, completing): (Option<Operation>, Option<CompletingCall>),
    (communicator, sequence, is_persistent): (Option<usize>, Option<u64>, bool),
) -> String {
    let names = match (
        completing.map(CompletingCall::name),
        operation.map(Operation::name),
    ) {
        (Some(completing), Some(operation)) => format!("{completing} for {operation}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "a call".to_owned(),
    };
    let communicators = hang.sources.communicators;
    let entry = communicator.map(|index| communicators.list[index].entry);
    match (entry, sequence) {
        (Some(entry), Some(sequence)) => {
            format!(
                "{names} ({})",
                place(communicators, operation, (entry, sequence, is_persistent))
            )
        }
        (Some(entry), None) => {
            format!("{names} (on {})", on(communicators, operation, entry))
        }
        (None, _) => names,
    }
}

fn cycle_in_words(hang: &Hang<'_>, cycle: &Cycle) -> String {
    let n = cycle.steps.len();
    let mut sentence = "a cycle of waiting: ".to_owned();
    for (at, &(process, instance)) in cycle.steps.iter().enumerate() {
        if at == MAX_STEPS {
            sentence += &format!("and so on, {n} ranks in all, for ");
            break;
        }
        let call = call_in_words(hang, &hang.instances[instance]);
        match at {
            0 => sentence += &format!("rank {} waits in {call} for ", hang.endings[process].rank),
            _ => {
                sentence += &format!(
                    "rank {}, which waits in {call} for ",
                    hang.endings[process].rank
                )
            }
        }
    }
    let first = cycle
        .steps
        .first()
        .map(|(process, _)| hang.endings[*process].rank);
    sentence + &format!("rank {}", first.unwrap_or(0))
}

/// Calls under way that belong to none of the instances: the end of MPI, constructors over a
/// group, waits of which nothing else is known.
fn other_calls(hang: &Hang<'_>) -> Vec<String> {
    let waited_in = hang.instances.iter().filter(|of| !of.inside.is_empty());
    let waited_for = waited_in.flat_map(|instance| &instance.never_came);
    let told: BTreeSet<u32> = waited_for.map(|absent| absent.rank).collect();
    let mut calls: BTreeMap<String, (Vec<u32>, i64)> = BTreeMap::new();
    for ending in &hang.endings {
        if !ending.instances.is_empty() || told.contains(&ending.rank) {
            continue;
        }
        if let Some(call) = ending.in_flight.first() {
            let words = in_flight_in_words(hang, call);
            let since = call.enter.ns();
            let (ranks, first) = calls.entry(words).or_insert((Vec::new(), since));
            ranks.push(ending.rank);
            *first = (*first).min(since);
        }
    }
    let calls = calls.into_iter().map(|(call, (ranks, first))| {
        let are = if ranks.len() == 1 { "is" } else { "are" };
        format!(
            "{} {are} in {call} since {}",
            inert::ranks(&ranks),
            instant(first)
        )
    });
    calls.collect()
}

/// Where those are who ended without `MPI_Finalize`, if nobody waits in anything.
fn nobody_waits(hang: &Hang<'_>) -> Vec<String> {
    let mut after: BTreeMap<Way, (Vec<u32>, i64)> = BTreeMap::new();
    for ending in &hang.endings {
        if ending.state == RankState::Outside {
            let (way, since) = way(hang, ending);
            let (ranks, last) = after.entry(way).or_insert((Vec::new(), since));
            ranks.push(ending.rank);
            *last = (*last).max(since);
        }
    }
    let mut after: Vec<_> = after.into_iter().collect();
    after.sort_by_key(|(_, (ranks, _))| std::cmp::Reverse(ranks.len()));
    let after = after.into_iter().take(MAX_WAYS);
    let after = after.map(|(way, (ranks, last))| {
        let left = match way {
            Way::After(call) => format!("; the last call was {call}, left at {}", instant(last)),
            _ => String::new(),
        };
        let was = if ranks.len() == 1 { "was" } else { "were" };
        format!("{} {was} in no collective{left}", inert::ranks(&ranks))
    });
    after.collect()
}

/// What differs, where, and by whom.
pub(crate) fn mismatch_in_words(communicators: &Communicators, mismatch: &Mismatch) -> String {
    let place = place(
        communicators,
        mismatch.calls.first().map(|call| call.operation),
        (mismatch.entry, mismatch.sequence, mismatch.is_persistent),
    );
    let what = match mismatch.kind {
        MismatchKind::Operations => "different operations",
        MismatchKind::Forms => "a blocking and a nonblocking operation",
        MismatchKind::Roots => "different roots",
        MismatchKind::Sizes => "sizes that do not fit",
    };
    let mut calls: Vec<String> = mismatch
        .calls
        .iter()
        .take(MAX_CALLS)
        .map(|call| {
            let mut words = call.operation.name().to_owned();
            if let Some(root) = call.root {
                words += &format!(" with root {root}");
            }
            if let Some(bytes) = call.bytes {
                words += &format!(" of {}", counted(bytes, "byte"));
            }
            format!("{words} by {}", inert::ranks(&call.ranks))
        })
        .collect();
    let others = mismatch.calls.iter().skip(MAX_CALLS);
    let n_others: usize = others.map(|call| call.ranks.len()).sum();
    if n_others > 0 {
        calls.push(format!("others by {}", counted(n_others as u64, "rank")));
    }
    format!("{what} at {place}: {}", calls.join("; "))
}

/// The first collective that was never completed, in words.
pub(crate) fn never_completed_in_words(
    communicators: &Communicators,
    found: &NeverCompleted,
) -> String {
    let place = place(
        communicators,
        Some(found.operation),
        (found.entry, found.sequence, found.is_persistent),
    );
    format!(
        "{} ({place}) by {}",
        found.operation.name(),
        inert::ranks(&found.ranks)
    )
}
