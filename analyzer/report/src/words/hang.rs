//! What was going on at the end, in sentences.

use std::collections::{BTreeMap, BTreeSet};

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{
    CycleSummary, HangSummary, LastCallSummary, MismatchSummary, NeverCompletedSummary,
    RankEndSummary, RankState, UnfinishedSummary,
};
use collbench_formats::{Layer, Operation};
use collbench_text::{
    inert,
    quantity::{counted, duration, instant},
};

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
/// holds up who waits himself. Nothing of a run that hung in nothing.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let Some(hang) = &analysis.hang else {
        return Vec::new();
    };
    let told = Told { analysis, hang };
    let cycles = hang.cycles.iter().map(|cycle| told.cycle(cycle));
    let mut sentences: Vec<String> = cycles.collect();
    let mismatches = analysis.mismatches.iter().take(MAX_MISMATCHES);
    sentences.extend(mismatches.map(|found| mismatch(analysis, found)));
    let mut instances: Vec<&UnfinishedSummary> = analysis
        .unfinished
        .iter()
        .filter(|instance| !instance.inside.is_empty())
        .collect();
    // Where a chain of waiting begins, nobody is missing who waits himself.
    instances.sort_by_cached_key(|instance| {
        let n_waiting = instance.inside.len();
        (told.is_held_up(instance), std::cmp::Reverse(n_waiting))
    });
    let first = instances.iter().take(MAX_INSTANCES);
    sentences.extend(first.map(|instance| told.instance(instance)));
    sentences.extend(told.other_calls());
    if sentences.is_empty() {
        sentences.extend(told.nobody_waits());
    }
    sentences
}

/// What differs, where, and by whom.
pub(crate) fn mismatch(analysis: &Analysis, mismatch: &MismatchSummary) -> String {
    let place = place(
        analysis,
        mismatch.calls.first().map(|call| &*call.operation),
        Position {
            communicator: mismatch.communicator,
            sequence: mismatch.sequence,
            is_persistent: mismatch.persistent,
        },
    );
    let what = match &*mismatch.kind {
        "operations" => "different operations",
        "blocking_and_nonblocking" => "a blocking and a nonblocking operation",
        "roots" => "different roots",
        "sizes" => "sizes that do not fit",
        other => other,
    };
    let mut calls: Vec<String> = mismatch
        .calls
        .iter()
        .take(MAX_CALLS)
        .map(|call| {
            let mut words = call.operation.to_string();
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

/// A nonblocking collective that was never completed.
pub(crate) fn never_completed(analysis: &Analysis, found: &NeverCompletedSummary) -> String {
    let place = place(
        analysis,
        Some(&found.operation),
        Position {
            communicator: found.communicator,
            sequence: found.sequence,
            is_persistent: found.persistent,
        },
    );
    format!(
        "{} ({place}) by {}",
        found.operation,
        inert::ranks(&found.ranks)
    )
}

/// A position among the calls on a communicator, or (persistent) among the starts of a collective.
#[derive(Debug, Clone, Copy)]
struct Position {
    /// Id of the communicator.
    communicator: usize,
    sequence: u64,
    is_persistent: bool,
}

/// `call 7 on MPI_COMM_WORLD`, or on a file or window that was opened on it.
fn place(analysis: &Analysis, operation: Option<&str>, position: Position) -> String {
    let what = if position.is_persistent {
        "start"
    } else {
        "call"
    };
    format!(
        "{what} {} on {}",
        position.sequence,
        on(analysis, operation, position.communicator)
    )
}

fn on(analysis: &Analysis, operation: Option<&str>, communicator: usize) -> String {
    let name = inert::line(&analysis.communicators[communicator].name, NAME);
    match operation
        .and_then(Operation::from_name)
        .map(Operation::layer)
    {
        Some(Layer::Io) => format!("a file on {name}"),
        Some(Layer::Rma) => format!("a window on {name}"),
        _ => name,
    }
}

/// "waits", of one rank; "wait", of several.
fn waits(n: usize) -> &'static str {
    if n == 1 { "waits" } else { "wait" }
}

/// What a process that never came did instead; equal for those who did the same.
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

/// A hang that is told.
struct Told<'a> {
    analysis: &'a Analysis,
    hang: &'a HangSummary,
}

impl Told<'_> {
    /// Where a rank was at the end, and up to when it is known what it did.
    fn ending(&self, rank: u32) -> Option<(&RankEndSummary, i64)> {
        let HangSummary {
            ranks, known_to_ns, ..
        } = self.hang;
        let at = ranks.binary_search_by_key(&rank, |ending| ending.rank);
        at.ok().map(|at| (&ranks[at], known_to_ns[at]))
    }

    /// Whether somebody who never came to an instance waits himself.
    fn is_held_up(&self, instance: &UnfinishedSummary) -> bool {
        let mut missing = instance.never_came.iter();
        missing.any(|&rank| {
            let ending = self.ending(rank);
            ending.is_some_and(|(ending, _)| !ending.unfinished.is_empty())
        })
    }

    /// `MPI_Allreduce (call 7 on MPI_COMM_WORLD, root 0, 8 bytes)`.
    fn call(&self, instance: &UnfinishedSummary) -> String {
        let mut words = instance.completing.join(", ");
        if !words.is_empty() {
            words += " for ";
        }
        words += &instance.operations.join(" or ");
        let place = place(
            self.analysis,
            instance.operations.first().map(|name| &**name),
            Position {
                communicator: instance.communicator,
                sequence: instance.sequence,
                is_persistent: instance.persistent,
            },
        );
        words += &format!(" ({place}");
        match instance.roots[..] {
            [] => {}
            [root] => words += &format!(", root rank {root}"),
            _ => words += ", of different roots",
        }
        match (instance.bytes_min, instance.bytes_max) {
            (None, _) | (_, None | Some(0)) => {}
            (Some(least), Some(greatest)) if least == greatest => {
                words += &format!(", {least} bytes");
            }
            (Some(least), Some(greatest)) => words += &format!(", {least} to {greatest} bytes"),
        }
        if instance.internal {
            words += ", by the MPI library itself";
        }
        words + ")"
    }

    fn instance(&self, instance: &UnfinishedSummary) -> String {
        let since = instance.inside_since_ns.iter().copied();
        let (first, last) = (since.clone().min(), since.max());
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
        let mut sentence = format!(
            "{} {} in {} since {}",
            inert::ranks(&instance.inside),
            waits(instance.inside.len()),
            self.call(instance),
            instant(first),
        );
        if instant(last) != instant(first) {
            sentence += &format!(" (the last since {})", instant(last));
        }
        for way in self.ways(instance) {
            sentence += &format!("; {way}");
        }
        if !instance.begun.is_empty() {
            let is = if instance.begun.len() == 1 {
                "is"
            } else {
                "are"
            };
            sentence += &format!(
                "; {} had begun it and {is} in no call of it",
                inert::ranks(&instance.begun)
            );
        }
        if !instance.left.is_empty() {
            sentence += &format!("; {} had left", inert::ranks(&instance.left));
        }
        if !instance.unknown.is_empty() {
            sentence += &format!(
                "; of {} it is not known: their recording had ended, or records are missing",
                inert::ranks(&instance.unknown)
            );
        }
        if instance.no_file > 0 {
            let others = counted(instance.no_file, "other process");
            sentence += &format!(
                "; no file tells of {}",
                others.replace("processs", "processes")
            );
        }
        let is_whole = instance.unknown.is_empty() && instance.no_file == 0;
        if instance.never_came.is_empty() && is_whole {
            sentence += "; all have come to it";
        }
        sentence
    }

    /// Those who never came, by what they did instead; most first.
    fn ways(&self, instance: &UnfinishedSummary) -> Vec<String> {
        let mut ways: BTreeMap<Way, OnTheWay> = BTreeMap::new();
        for &rank in &instance.never_came {
            let Some((ending, known_to_ns)) = self.ending(rank) else {
                continue;
            };
            let (way, since) = self.way(ending);
            let idle_ns = (known_to_ns - since).max(0);
            let of = ways.entry(way).or_insert(OnTheWay {
                ranks: Vec::new(),
                first_ns: since,
                last_ns: since,
                idle_ns,
            });
            of.ranks.push(rank);
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

    /// What a process did at the end, and since when, ns.
    fn way(&self, ending: &RankEndSummary) -> (Way, i64) {
        if let Some(&index) = ending.unfinished.first() {
            let instance = &self.analysis.unfinished[index];
            let mut inside = instance.inside.iter().zip(&instance.inside_since_ns);
            let since = inside.find(|(rank, _)| **rank == ending.rank);
            let since = since.map_or(ending.last_seen_ns, |(_, since)| *since);
            return (Way::In(self.call(instance)), since);
        }
        match &ending.last_call {
            Some(call) if call.leave_ns.is_none() => (
                Way::In(self.call_under_way(ending.rank, call)),
                call.enter_ns,
            ),
            last if ending.state == RankState::Finished => {
                let finalize = last.as_ref().map(|call| call.enter_ns);
                (Way::Finished, finalize.unwrap_or(ending.last_seen_ns))
            }
            None => (Way::NoCall, 0),
            Some(call) => {
                let left = call.leave_ns.unwrap_or(call.enter_ns);
                (Way::After(self.name(call, call.communicator)), left)
            }
        }
    }

    fn call_under_way(&self, rank: u32, call: &LastCallSummary) -> String {
        let operation = call.operation.as_deref().and_then(Operation::from_name);
        let is_process = operation.is_some_and(|operation| !operation.is_counted());
        let words = self.name(call, call.communicator.filter(|_| !is_process));
        if self.hang.in_library.contains(&rank) {
            words + ", by the MPI library itself,"
        } else {
            words
        }
    }

    /// `MPI_Wait for MPI_Ibarrier (call 3 on MPI_COMM_WORLD)`.
    fn name(&self, call: &LastCallSummary, communicator: Option<usize>) -> String {
        let names = match (call.completing.as_deref(), call.operation.as_deref()) {
            (Some(completing), Some(operation)) => format!("{completing} for {operation}"),
            (Some(name), None) | (None, Some(name)) => name.to_owned(),
            (None, None) => "a call".to_owned(),
        };
        match (communicator, call.sequence) {
            (Some(communicator), Some(sequence)) => {
                let position = Position {
                    communicator,
                    sequence,
                    is_persistent: call.persistent,
                };
                let place = place(self.analysis, call.operation.as_deref(), position);
                format!("{names} ({place})")
            }
            (Some(communicator), None) => {
                let on = on(self.analysis, call.operation.as_deref(), communicator);
                format!("{names} (on {on})")
            }
            (None, _) => names,
        }
    }

    fn cycle(&self, cycle: &CycleSummary) -> String {
        let n = cycle.ranks.len();
        let mut sentence = "a cycle of waiting: ".to_owned();
        for (at, (rank, &instance)) in cycle.ranks.iter().zip(&cycle.unfinished).enumerate() {
            if at == MAX_STEPS {
                sentence += &format!("and so on, {n} ranks in all, for ");
                break;
            }
            let which = if at == 0 { "" } else { ", which" };
            let call = self.call(&self.analysis.unfinished[instance]);
            sentence += &format!("rank {rank}{which} waits in {call} for ");
        }
        sentence + &format!("rank {}", cycle.ranks.first().unwrap_or(&0))
    }

    /// Calls under way that belong to none of the instances: the end of MPI, constructors over a
    /// group, waits of which nothing else is known.
    fn other_calls(&self) -> Vec<String> {
        let unfinished = self.analysis.unfinished.iter();
        let waited_in = unfinished.filter(|instance| !instance.inside.is_empty());
        let told: BTreeSet<u32> = waited_in.flat_map(|of| &of.never_came).copied().collect();
        let mut calls: BTreeMap<String, (Vec<u32>, i64)> = BTreeMap::new();
        for ending in &self.hang.ranks {
            if !ending.unfinished.is_empty() || told.contains(&ending.rank) {
                continue;
            }
            let under_way = ending.last_call.iter();
            for call in under_way.filter(|call| call.leave_ns.is_none()) {
                let words = self.call_under_way(ending.rank, call);
                let since = call.enter_ns;
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
    fn nobody_waits(&self) -> Vec<String> {
        let mut after: BTreeMap<Way, (Vec<u32>, i64)> = BTreeMap::new();
        for ending in &self.hang.ranks {
            if ending.state == RankState::Outside {
                let (way, since) = self.way(ending);
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
                Way::After(call) => {
                    format!("; the last call was {call}, left at {}", instant(last))
                }
                _ => String::new(),
            };
            let was = if ranks.len() == 1 { "was" } else { "were" };
            format!("{} {was} in no collective{left}", inert::ranks(&ranks))
        });
        after.collect()
    }
}
