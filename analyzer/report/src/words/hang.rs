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
    quantity::{counted, duration, instant, size_range},
};

use crate::words::call_sites;

/// Columns for the name of a communicator.
const NAME: usize = 40;
/// Groups of ranks that never arrived at an instance, by what they did instead, that are listed.
const MAX_WHEREABOUTS: usize = 4;
/// Steps of a circular wait that are listed.
const MAX_STEPS: usize = 8;
/// Places in the program that are listed of one instance.
const MAX_PLACES: usize = 3;
/// Kinds of calls that are listed of one mismatch.
const MAX_CALLS: usize = 4;
/// Mismatches, and instances, that are listed; the JSON has all.
const MAX_MISMATCHES: usize = 4;
const MAX_INSTANCES: usize = 64;

/// One sentence for each circular wait, mismatch, and unfinished instance. Instances come first if none
/// of the ranks missing in them waits itself. Empty if the run did not hang.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let Some(hang) = &analysis.hang else {
        return Vec::new();
    };
    let described = Described { analysis, hang };
    let cycles = hang.cycles.iter().map(|cycle| described.cycle(cycle));
    let mut sentences: Vec<String> = cycles.collect();
    let mismatches = analysis.mismatches.iter().take(MAX_MISMATCHES);
    sentences.extend(mismatches.map(|found| mismatch(analysis, found)));
    let mut instances: Vec<&UnfinishedSummary> = analysis
        .unfinished
        .iter()
        .filter(|instance| !instance.inside.is_empty())
        .collect();
    // Where a chain of waits begins, no missing rank waits itself.
    instances.sort_by_cached_key(|instance| {
        let n_waiting = instance.inside.len();
        (described.is_held_up(instance), std::cmp::Reverse(n_waiting))
    });
    let first = instances.iter().take(MAX_INSTANCES);
    sentences.extend(first.map(|instance| described.instance(instance)));
    sentences.extend(described.other_calls());
    if sentences.is_empty() {
        sentences.extend(described.nobody_waits());
    }
    sentences
}

/// What differs, where, and by whom.
pub(crate) fn mismatch(analysis: &Analysis, mismatch: &MismatchSummary) -> String {
    let what = match &*mismatch.kind {
        "operations" => "different operations",
        "blocking_and_nonblocking" => "a blocking and a nonblocking operation",
        "roots" => "different roots",
        "sizes" => "sizes that do not match",
        other => other,
    };
    format!("{what} at {}", mismatch_at(analysis, mismatch))
}

/// Where something differs, and by whom.
pub(crate) fn mismatch_at(analysis: &Analysis, mismatch: &MismatchSummary) -> String {
    let place = place(
        analysis,
        mismatch.calls.first().map(|call| &*call.operation),
        Position {
            communicator: mismatch.communicator,
            sequence: mismatch.sequence,
            is_persistent: mismatch.persistent,
        },
    );
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
                // To the byte: they differ.
                words += &format!(" of {}", counted(bytes, "byte"));
            }
            format!("{words} by {}", inert::ranks(&call.ranks))
        })
        .collect();
    let others = mismatch.calls.iter().skip(MAX_CALLS);
    let n_others: usize = others.map(|call| call.ranks.len()).sum();
    if n_others > 0 {
        calls.push(format!(
            "other calls by {}",
            counted(n_others as u64, "rank")
        ));
    }
    format!("{place}: {}", calls.join("; "))
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

/// "has", of one rank; "have", of several.
fn has(n: usize) -> &'static str {
    if n == 1 { "has" } else { "have" }
}

/// What a process that never arrived did instead; equal for processes that did the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Whereabouts {
    /// In another call, since this instant at the earliest.
    In(String),
    Finished,
    /// In no call, after this one.
    After(String),
    /// In no call at all.
    NoCall,
}

/// Ranks that never arrived, and all did the same instead.
struct Missing {
    ranks: Vec<u32>,
    /// Since when the first and the last of them did that.
    first_ns: i64,
    last_ns: i64,
    /// Shortest time from then to the latest that is known of any rank.
    idle_ns: i64,
}

impl Missing {
    fn never_arrived(&self, whereabouts: &Whereabouts) -> String {
        let it = match self.ranks.len() {
            1 => "it",
            _ => "they",
        };
        let has = has(self.ranks.len());
        let instead = match whereabouts {
            Whereabouts::In(call) => {
                format!(
                    "{it} {has} been in {call} since t = {}",
                    instant(self.first_ns)
                )
            }
            Whereabouts::Finished => format!(
                "{it} called MPI_Finalize at {} and returned from it",
                instant(self.first_ns)
            ),
            Whereabouts::After(call) => format!(
                "{it} left {call} at {} and called no collective in the {} after that",
                instant(self.last_ns),
                duration(self.idle_ns)
            ),
            Whereabouts::NoCall => format!("{it} called no collective at all"),
        };
        format!("{} never arrived: {instead}", inert::ranks(&self.ranks))
    }
}

/// A hang to be described.
struct Described<'a> {
    analysis: &'a Analysis,
    hang: &'a HangSummary,
}

impl Described<'_> {
    /// Where a rank was at the end, and the latest time known of any rank whose clock compares, ns.
    fn ending(&self, rank: u32) -> Option<(&RankEndSummary, i64)> {
        let HangSummary {
            ranks, known_to_ns, ..
        } = self.hang;
        let at = ranks.binary_search_by_key(&rank, |ending| ending.rank);
        at.ok().map(|at| (&ranks[at], known_to_ns[at]))
    }

    /// Whether a rank that never arrived at an instance waits itself.
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
        if let Some((least, greatest @ 1..)) = instance.bytes_min.zip(instance.bytes_max) {
            words += &format!(", {}", size_range(least, greatest));
        }
        if instance.internal {
            words += ", internal to the MPI library";
        }
        words + ")"
    }

    /// ` at solver.f90:312`: where in the program these ranks made the calls that they are in; of several
    /// places the first ones, with their ranks; nothing where they are not known.
    fn places(&self, ranks: &[u32]) -> String {
        let mut places: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for &rank in ranks {
            let site = self.ending(rank).and_then(|(ending, _)| ending.site);
            if let Some(place) = call_sites::place(self.analysis, site) {
                places.entry(place).or_default().push(rank);
            }
        }
        let is_one = places.len() == 1 && places.values().all(|of| of.len() == ranks.len());
        let shown = places.iter().take(MAX_PLACES).map(|(place, of)| {
            if is_one {
                place.clone()
            } else {
                format!("{place} ({})", inert::ranks(of))
            }
        });
        let shown: Vec<String> = shown.collect();
        match (shown.is_empty(), places.len() > MAX_PLACES) {
            (true, _) => String::new(),
            (false, false) => format!(" at {}", shown.join(", ")),
            (false, true) => format!(" at {} and other places", shown.join(", ")),
        }
    }

    fn instance(&self, instance: &UnfinishedSummary) -> String {
        let since = instance.inside_since_ns.iter().copied();
        let (first, last) = (since.clone().min(), since.max());
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(0));
        let mut sentence = format!(
            "{} {} been waiting in {}{} since t = {}",
            inert::ranks(&instance.inside),
            has(instance.inside.len()),
            self.call(instance),
            self.places(&instance.inside),
            instant(first),
        );
        if instant(last) != instant(first) {
            sentence += &format!(" (the last of them since t = {})", instant(last));
        }
        for missing in self.missing(instance) {
            sentence += &format!("; {missing}");
        }
        if !instance.begun.is_empty() {
            let is = if instance.begun.len() == 1 {
                "is"
            } else {
                "are"
            };
            sentence += &format!(
                "; {} {} initiated it and {is} in no call that completes it",
                inert::ranks(&instance.begun),
                has(instance.begun.len())
            );
        }
        if !instance.left.is_empty() {
            sentence += &format!(
                "; {} {} left it",
                inert::ranks(&instance.left),
                has(instance.left.len())
            );
        }
        if !instance.unknown.is_empty() {
            sentence += &format!(
                "; it is not known whether {} arrived: the recording had ended, or records are missing",
                inert::ranks(&instance.unknown)
            );
        }
        if instance.no_file > 0 {
            let others = counted(instance.no_file, "other process");
            sentence += &format!(
                "; there is no file of {}",
                others.replace("processs", "processes")
            );
        }
        let is_whole = instance.unknown.is_empty() && instance.no_file == 0;
        if instance.never_came.is_empty() && is_whole {
            sentence += "; all ranks have arrived";
        }
        sentence
    }

    /// The ranks that never arrived, by what they did instead, the largest group first.
    fn missing(&self, instance: &UnfinishedSummary) -> Vec<String> {
        let mut groups: BTreeMap<Whereabouts, Missing> = BTreeMap::new();
        for &rank in &instance.never_came {
            let Some((ending, known_to_ns)) = self.ending(rank) else {
                continue;
            };
            let (whereabouts, since) = self.whereabouts(ending);
            let idle_ns = (known_to_ns - since).max(0);
            let of = groups.entry(whereabouts).or_insert(Missing {
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
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, of)| std::cmp::Reverse(of.ranks.len()));
        let others = groups.iter().skip(MAX_WHEREABOUTS);
        let n_others: usize = others.map(|(_, of)| of.ranks.len()).sum();
        groups.truncate(MAX_WHEREABOUTS);
        let words = groups
            .iter()
            .map(|(whereabouts, of)| of.never_arrived(whereabouts));
        let mut words: Vec<String> = words.collect();
        if n_others > 0 {
            let others = counted(n_others as u64, "other rank");
            words.push(format!("nor did {others}"));
        }
        words
    }

    /// What a process did at the end, and since when, ns.
    fn whereabouts(&self, ending: &RankEndSummary) -> (Whereabouts, i64) {
        if let Some(&index) = ending.unfinished.first() {
            let instance = &self.analysis.unfinished[index];
            let mut inside = instance.inside.iter().zip(&instance.inside_since_ns);
            let since = inside.find(|(rank, _)| **rank == ending.rank);
            let since = since.map_or(ending.last_seen_ns, |(_, since)| *since);
            let call = self.call(instance) + &self.places(&[ending.rank]);
            return (Whereabouts::In(call), since);
        }
        match &ending.last_call {
            Some(call) if call.leave_ns.is_none() => (
                Whereabouts::In(
                    self.call_under_way(ending.rank, call) + &self.places(&[ending.rank]),
                ),
                call.enter_ns,
            ),
            last if ending.state == RankState::Finished => {
                let finalize = last.as_ref().map(|call| call.enter_ns);
                (
                    Whereabouts::Finished,
                    finalize.unwrap_or(ending.last_seen_ns),
                )
            }
            None => (Whereabouts::NoCall, 0),
            Some(call) => {
                let left = call.leave_ns.unwrap_or(call.enter_ns);
                (Whereabouts::After(self.name(call, call.communicator)), left)
            }
        }
    }

    fn call_under_way(&self, rank: u32, call: &LastCallSummary) -> String {
        let operation = call.operation.as_deref().and_then(Operation::from_name);
        let is_process = operation.is_some_and(|operation| !operation.is_counted());
        let words = self.name(call, call.communicator.filter(|_| !is_process));
        if self.hang.in_library.contains(&rank) {
            words + ", internal to the MPI library,"
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
        let mut sentence = "a circular wait: ".to_owned();
        for (at, (rank, &instance)) in cycle.ranks.iter().zip(&cycle.unfinished).enumerate() {
            if at == MAX_STEPS {
                sentence += &format!("and so on, {n} ranks in total, for ");
                break;
            }
            let which = if at == 0 { "" } else { ", which" };
            let call = self.call(&self.analysis.unfinished[instance]);
            sentence += &format!("rank {rank}{which} waits in {call} for ");
        }
        sentence + &format!("rank {}", cycle.ranks.first().unwrap_or(&0))
    }

    /// Calls under way that belong to none of the instances: MPI_Finalize, constructors over a group,
    /// waits for unknown operations.
    fn other_calls(&self) -> Vec<String> {
        let unfinished = self.analysis.unfinished.iter();
        let waited_in = unfinished.filter(|instance| !instance.inside.is_empty());
        let mentioned: BTreeSet<u32> = waited_in.flat_map(|of| &of.never_came).copied().collect();
        let mut calls: BTreeMap<String, (Vec<u32>, i64)> = BTreeMap::new();
        for ending in &self.hang.ranks {
            if !ending.unfinished.is_empty() || mentioned.contains(&ending.rank) {
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
            format!(
                "{} {} been in {call} since t = {}",
                inert::ranks(&ranks),
                has(ranks.len()),
                instant(first)
            )
        });
        calls.collect()
    }

    /// Where the ranks are that ended without `MPI_Finalize`, if no rank waits in a collective.
    fn nobody_waits(&self) -> Vec<String> {
        let mut after: BTreeMap<Whereabouts, (Vec<u32>, i64)> = BTreeMap::new();
        for ending in &self.hang.ranks {
            if ending.state == RankState::Outside {
                let (whereabouts, since) = self.whereabouts(ending);
                let (ranks, last) = after.entry(whereabouts).or_insert((Vec::new(), since));
                ranks.push(ending.rank);
                *last = (*last).max(since);
            }
        }
        let mut after: Vec<_> = after.into_iter().collect();
        after.sort_by_key(|(_, (ranks, _))| std::cmp::Reverse(ranks.len()));
        let after = after.into_iter().take(MAX_WHEREABOUTS);
        let after = after.map(|(whereabouts, (ranks, last))| {
            let left = match whereabouts {
                Whereabouts::After(call) => {
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
