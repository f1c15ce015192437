//! Calls for which the tree file has several candidates: which of them a call uses, and how long it takes.
//!
//! The calls of a communicator with the same [`Key`] are numbered on each process; which candidate a call
//! has follows from its number and a plan that all processes have ([`collbench_adapt`]). A key consists of what
//! MPI makes equal on all processes, so all use the same candidate in the same call, though nothing is exchanged between
//! control points.

use std::cell::Cell;
use std::time::Instant;

use collbench_adapt::{Controller, Entry, Follower, Next, Options, Plan, Step, Subject, Took};
use collbench_formats::tree::{Adaptation, Collective, LibraryCandidate, Place, Policy, Wrappers};
use collbench_schedules::own_trees::{TreeCall, grouping};
use collbench_trees::wrappers::{Members, Order, resolve};

use super::last_calls::Payload;
use super::world::World;
use crate::host::mix;
use crate::record::usage_of_this_thread;

/// Most keys of a communicator: with roots that change in turn, for example, later ones use the first candidate.
const MAX_KEYS: usize = 64;
const CACHE_LINE_BYTES: u64 = 64;

/// Calls that are alike: what candidates take for one of them says something about the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) collective: Collective,
    /// Index of the [`Adaptation`].
    pub(super) adaptation: usize,
    /// Least and greatest payload of a rank, bytes.
    pub(super) bytes: (u64, u64),
    pub(super) root: Option<u32>,
    pub(super) order: Order,
    /// Whether values must be combined in the grouping of the first candidate.
    pub(super) keeps_grouping: bool,
}

impl Key {
    /// That of all such calls for which there is no key any more.
    fn together(self) -> Self {
        Self {
            bytes: (0, u64::MAX),
            root: None,
            ..self
        }
    }
}

/// Least and greatest payload of the calls that are like one with this payload, bytes: those with as many binary digits. Up
/// to a cache line all take the same time; only the grouping may differ.
pub(super) fn similar_payloads(bytes: u64, keeps_grouping: bool) -> (u64, u64) {
    match bytes {
        0 => (0, 0),
        1..CACHE_LINE_BYTES if !keeps_grouping => (1, CACHE_LINE_BYTES - 1),
        _ => {
            let most = u64::MAX >> bytes.leading_zeros();
            (most / 2 + 1, most)
        }
    }
}

/// What the log calls calls with a key that have these candidates. `first_rank`: rank in the world of the first of the
/// members.
pub(super) fn subject(
    trees: &World,
    key: &Key,
    candidates: &[Candidate],
    members: Members<'_>,
    first_rank: u32,
) -> Subject {
    let adaptation = &trees.rules.adaptations[key.adaptation];
    let number = |candidate: &Candidate| match *candidate {
        Candidate::Library => None,
        Candidate::Tree(rule) => Some(rule as u32 - adaptation.first + 1),
    };
    Subject {
        line: adaptation.line,
        operation: key.collective.name().to_owned(),
        ranks: members.places.len() as u32,
        first_rank,
        places: number_of(members.places),
        bytes: key.bytes,
        root: key.root,
        keeps_grouping: key.keeps_grouping,
        candidates: candidates.iter().map(number).collect(),
    }
}

/// A number that is the same for the same places.
fn number_of(places: &[Place]) -> u64 {
    let known = |of: Option<u32>| of.map_or(u64::MAX, u64::from);
    let words = |place: &Place| {
        [
            known(place.site),
            known(place.switch),
            u64::from(place.host),
            known(place.socket),
            known(place.core_complex),
        ]
    };
    mix(&places.iter().flat_map(words).collect::<Vec<u64>>())
}

/// What can execute a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Candidate {
    Library,
    /// The tree of the rule with this index.
    Tree(usize),
}

/// Calls with the same key.
#[derive(Debug)]
pub(super) struct AdaptiveCalls {
    pub(super) key: Key,
    pub(super) candidates: Vec<Candidate>,
    /// Where its calls are in the plan; `None`: all have the first candidate.
    pub(super) follower: Option<Follower>,
    pub(super) options: Options,
    /// At the process that decides, from the first control point on.
    pub(super) controller: Option<Controller>,
    /// How long the last control point has taken in this process, ns.
    pub(super) control_ns: Option<i64>,
    /// The call that is under way.
    under_way: Option<(Step, Option<Instant>)>,
    /// Control points that were written to the trace.
    pub(super) n_in_trace: u32,
    /// How often this thread has lost its core, at the beginning of the block.
    interruptions: i64,
}

/// Calls that need no look at the plan: the next ones of an operation are executed as the last one was.
#[derive(Debug, Clone, Copy, Default)]
struct Straight {
    /// How many are left, and how many there were.
    left: u32,
    granted: u32,
    /// Index of the key; `None`: the last call had none.
    of: Option<usize>,
    is_to_library: bool,
    /// The arguments of the last call that has looked at the plan.
    arguments: Arguments,
}

/// What a call is known by: payload, operation and root.
pub(super) type Arguments = (Payload, [usize; 2]);

/// The calls of a communicator for which there are several candidates.
#[derive(Debug, Default)]
pub(super) struct Adaptive {
    pub(super) calls: Vec<AdaptiveCalls>,
    /// By [`Collective`].
    straight: [Straight; Collective::ALL.len()],
}

thread_local! {
    /// The call that the MPI library is to execute as a candidate: index of its key, and whether others like it are
    /// known by their arguments.
    static AT_LIBRARY: Cell<Option<(usize, bool)>> = const { Cell::new(None) };
}

/// The call that goes to the library now, if it does so as a candidate.
#[inline]
pub(super) fn take_call_at_library() -> Option<(usize, bool)> {
    AT_LIBRARY.take()
}

impl Adaptive {
    /// Whether the next call of an operation is executed over the tree of the last one, without a look at the plan;
    /// then it counts as made.
    #[inline(always)]
    pub(super) fn goes_straight(&mut self, collective: Collective) -> bool {
        let straight = &mut self.straight[collective as usize];
        match straight.left.checked_sub(1) {
            Some(left) if !straight.is_to_library => {
                straight.left = left;
                true
            }
            _ => false,
        }
    }

    /// Whether a call goes to the library as the last one of the operation did, without a look at the plan; then it
    /// counts as made.
    #[inline(always)]
    pub(super) fn goes_to_library(&mut self, collective: Collective, arguments: Arguments) -> bool {
        self.straight[collective as usize].is_to_library && self.is_granted(collective, &arguments)
    }

    #[inline(never)]
    fn is_granted(&mut self, collective: Collective, arguments: &Arguments) -> bool {
        let straight = &mut self.straight[collective as usize];
        match straight.left.checked_sub(1) {
            Some(left) if straight.arguments == *arguments => {
                straight.left = left;
                true
            }
            _ => false,
        }
    }

    /// A call of an operation looks at the plan: what went straight before is counted.
    pub(super) fn settle(&mut self, collective: Collective, arguments: Arguments) {
        let straight = &mut self.straight[collective as usize];
        if let Some(of) = straight.of
            && let Some(follower) = &mut self.calls[of].follower
        {
            follower.made_plain(straight.granted - straight.left);
        }
        *straight = Straight {
            arguments,
            ..Straight::default()
        };
    }

    /// The next calls of an operation may go straight to where this one went, so often.
    fn grant(
        &mut self,
        collective: Collective,
        of: Option<usize>,
        calls: u32,
        is_to_library: bool,
    ) {
        let straight = &mut self.straight[collective as usize];
        *straight = Straight {
            left: calls,
            granted: calls,
            of,
            is_to_library,
            arguments: straight.arguments,
        };
    }

    /// The next calls of an operation may go straight over the tree of this one, which has no other candidates.
    pub(super) fn grant_all(&mut self, collective: Collective) {
        self.grant(collective, None, u32::MAX, false);
    }

    /// The calls with a key; `None` before the first one. Beyond [`MAX_KEYS`], those of one operation are together.
    pub(super) fn find(&self, key: &Key) -> Option<usize> {
        let of = |key: &Key| self.calls.iter().position(|calls| calls.key == *key);
        of(key).or_else(|| of(&key.together()))
    }

    fn is_full(&self) -> bool {
        let adapted = self.calls.iter().filter(|calls| calls.follower.is_some());
        adapted.count() >= MAX_KEYS
    }

    /// The first call with a key. `bytes`: its payload of each rank; `first_rank`: rank in the world of the first of the
    /// members.
    pub(super) fn add(
        &mut self,
        trees: &World,
        (key, bytes): (Key, u64),
        members: Members<'_>,
        first_rank: u32,
    ) -> usize {
        let adaptation = &trees.rules.adaptations[key.adaptation];
        let mut candidates = candidates(trees, adaptation, (&key, bytes), members);
        let is_full = self.is_full();
        if is_full {
            candidates.truncate(1);
        }
        let parts = [
            key.collective as u64,
            key.bytes.1,
            u64::from(key.root.unwrap_or(0)),
            members.places.len() as u64,
        ];
        let is_adapted = trees.rules.adapting.policy != Policy::Off && !is_full;
        let is_left_alone = is_adapted && key.keeps_grouping && candidates.len() == 1;
        let calls = || subject(trees, &key, &candidates, members, first_rank);
        if let Some(log) = trees
            .log
            .as_ref()
            .filter(|_| is_left_alone && trees.rank == first_rank)
        {
            log.add_once(Entry::only(calls()).line(), first_rank);
        }
        let learned = if candidates.len() > 1 && !trees.learned.is_empty() {
            trees.learned.find(&calls())
        } else {
            None
        };
        let options = Options {
            n_candidates: candidates.len(),
            learned,
            cost: f64::from(adaptation.cost) / 1e6,
            waits_for_all: !key.collective.has_root(),
            is_crowded: trees.hosts.is_crowded,
            may_switch: trees.rules.adapting.policy != Policy::Log,
            seed: mix(&parts),
        };
        let plan = || {
            let learned = options.learned.as_ref();
            Plan::first(options.n_candidates, options.seed, learned)
        };
        self.calls.push(AdaptiveCalls {
            key: if is_full { key.together() } else { key },
            follower: (candidates.len() > 1).then(|| Follower::new(plan())),
            options,
            controller: None,
            candidates,
            control_ns: None,
            under_way: None,
            n_in_trace: 0,
            interruptions: 0,
        });
        self.calls.len() - 1
    }

    /// Begins the next call with a key; `None` if its plan has ended. A call that was begun and not ended, because an
    /// error or an exception has ended it, counts as made.
    pub(super) fn begin(&mut self, of: usize) -> Option<Candidate> {
        if self.calls[of].under_way.is_some() {
            self.end(of, Took::Unknown);
        }
        let calls = &mut self.calls[of];
        let Some(follower) = &calls.follower else {
            return Some(calls.candidates[0]);
        };
        let Next::Call(step) = follower.next() else {
            return None;
        };
        if step.begins && !calls.options.is_crowded {
            calls.interruptions = n_interruptions();
        }
        calls.under_way = Some((step, None));
        Some(calls.candidates[usize::from(step.candidate)])
    }

    /// The call that was begun is executed from here on: what it needed before that is not its time.
    pub(super) fn start(&mut self, of: usize) {
        if let Some((step, begin)) = &mut self.calls[of].under_way {
            *begin = step.is_timed.then(Instant::now);
        }
    }

    /// How long the call has taken that was begun.
    fn time(&self, of: usize) -> Took {
        let begin = self.calls[of].under_way.and_then(|(_, begin)| begin);
        // A sum over all processes must not overflow.
        let time = |begin: Instant| begin.elapsed().as_nanos().min(1 << 40) as i64;
        begin.map_or(Took::Unknown, |begin| Took::Ns(time(begin)))
    }

    fn end(&mut self, of: usize, took: Took) -> u32 {
        let calls = &mut self.calls[of];
        let (Some((step, _)), Some(follower)) = (calls.under_way.take(), &mut calls.follower)
        else {
            // There is one candidate.
            return u32::MAX;
        };
        let was_interrupted =
            step.ends && !calls.options.is_crowded && n_interruptions() > calls.interruptions;
        follower.made(took, was_interrupted);
        step.plain
    }

    /// A call over the tree of its candidate has ended.
    pub(super) fn ended(&mut self, of: usize) {
        let plain = self.end(of, self.time(of));
        self.grant(self.calls[of].key.collective, Some(of), plain, false);
    }

    /// The candidate of a call could not execute it, on no process.
    pub(super) fn was_impossible(&mut self, of: usize) {
        self.end(of, Took::Impossible);
    }

    /// The call that was begun goes to the library: [`take_call_at_library`] says so to whom calls it. `is_known`:
    /// whether others like it are known by their arguments.
    pub(super) fn start_at_library(&mut self, of: usize, is_known: bool) {
        AT_LIBRARY.set(Some((of, is_known)));
        self.start(of);
    }

    /// The library has executed a call.
    pub(super) fn ended_at_library(&mut self, (of, is_known): (usize, bool)) {
        let plain = self.end(of, self.time(of));
        if is_known {
            self.grant(self.calls[of].key.collective, Some(of), plain, true);
        }
    }
}

/// What can execute calls with a key, in this order: the same on all processes.
fn candidates(
    trees: &World,
    adaptation: &Adaptation,
    (key, bytes): (&Key, u64),
    members: Members<'_>,
) -> Vec<Candidate> {
    let fitting = adaptation.candidates().filter_map(|rule| {
        let of_rule = trees.rules.rules.get(rule)?;
        let tree = resolve(of_rule, key.root, key.order, members).ok()?;
        Some((rule, tree))
    });
    let mut fitting: Vec<(usize, Wrappers)> = fitting.collect();
    if key.keeps_grouping {
        if adaptation.library == LibraryCandidate::First {
            return vec![Candidate::Library];
        }
        if let Some((_, reference)) = fitting.first().cloned() {
            fitting.retain(|(_, tree)| is_same_expression(&reference, tree, (key, bytes)));
        }
    }
    let mut candidates: Vec<Candidate> = fitting.iter().map(|of| Candidate::Tree(of.0)).collect();
    match adaptation.library {
        LibraryCandidate::First => candidates.insert(0, Candidate::Library),
        LibraryCandidate::Last if !key.keeps_grouping => candidates.push(Candidate::Library),
        _ if candidates.is_empty() => candidates.push(Candidate::Library),
        LibraryCandidate::Last | LibraryCandidate::No => {}
    }
    if trees.rules.adapting.policy == Policy::Off {
        candidates.truncate(1);
    }
    candidates
}

/// Whether two trees combine the values of all ranks in the same order and grouping, so that sums are rounded alike.
fn is_same_expression(one: &Wrappers, other: &Wrappers, (key, bytes): (&Key, u64)) -> bool {
    let nodes = |tree: &Wrappers| -> Vec<_> {
        let wrappers = tree.all().iter();
        wrappers
            .map(|of| (of.kind, of.owner, of.contributors.clone()))
            .collect()
    };
    if nodes(one) == nodes(other) {
        return true;
    }
    if key.order == Order::OfRanks {
        // Where runs of ranks meet depends on more than the tree.
        return false;
    }
    let call = TreeCall {
        collective: key.collective,
        root: key.root.unwrap_or(0),
        bytes,
        element_bytes: 1,
    };
    let [one, other] = [one, other].map(|tree| grouping(tree, &call).ok().flatten());
    one.zip(other)
        .is_some_and(|(one, other)| one.has_same_bits_as(&other))
}

/// How often this thread has lost its core to another one.
fn n_interruptions() -> i64 {
    usage_of_this_thread().map_or(0, |usage| usage.ru_nivcsw)
}
