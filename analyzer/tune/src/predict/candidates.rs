//! The algorithms that the library could have run.

mod mpich;

use std::collections::BTreeMap;

use collbench_formats::Operation;
use collbench_schedules::open_mpi::{Named, Release, ran, schedule};
use collbench_schedules::own_trees::InMemory;
use collbench_schedules::{Call, Parameters, Schedule};
use collbench_text::inert;

use super::as_recorded;
use super::library::KnownLibrary;
use super::own_trees::{TreeOfCall, checksum, schedule_over};
use super::recorded::{Class, OwnTree};
use crate::open_mpi::{Library, Limit};

/// Segments that algorithms are tried with, bytes; 0: none.
const SEGMENTS: [u64; 4] = [0, 4096, 16_384, 65_536];

/// The algorithm that calls two others, which no rules decide, with these.
const LINEAR: [&str; 3] = [
    "allreduce_intra_basic_linear",
    "reduce_intra_basic_linear",
    "bcast_intra_basic_linear",
];

/// What executes a collective.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Method {
    /// An algorithm, as the library calls it, such as `bcast_intra_chain`.
    Algorithm(String),
    /// A spanning tree of our own.
    Tree {
        /// Where it is: file and line.
        place: String,
        /// A number for its paths.
        crc32: u32,
    },
}

impl Method {
    /// What people read.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Algorithm(name) => name,
            Self::Tree { place, .. } => place,
        }
    }
}

impl Class {
    /// Whether the library reported this algorithm, alone or as the first of several.
    pub(super) fn reports(&self, algorithm: &str) -> bool {
        self.reported.first().is_some_and(|name| name == algorithm)
    }

    /// A number for the paths of the tree that its calls ran on.
    pub(super) fn tree_crc32(&self) -> Option<u32> {
        let tree = self.tree.as_ref()?;
        Some(checksum(&tree.wrappers))
    }

    /// Whether its calls ran over a tree, or with an algorithm; `None` where neither was recorded.
    #[must_use]
    pub fn ran_with(&self, method: &Method) -> Option<bool> {
        if self.tree.is_none() && self.reported.is_empty() {
            return None;
        }
        Some(match method {
            Method::Algorithm(name) => self.tree.is_none() && self.reports(name),
            Method::Tree { crc32, .. } => self.tree_crc32() == Some(*crc32),
        })
    }

    /// What people call that with which its calls ran.
    #[must_use]
    pub fn ran_in_words(&self) -> String {
        match &self.tree {
            Some(tree) => tree.name.clone(),
            None if self.reported.is_empty() => "unknown".to_owned(),
            None => self.reported.join(" + "),
        }
    }

    /// The communicator, inert, as `collbench-analyze` calls it: `rows #4` where another one has the same name.
    #[must_use]
    pub fn communicator_in_words(&self) -> String {
        let name = inert::line(&self.communicator, 60);
        match self.number {
            Some(number) => format!("{name} #{number}"),
            None => name,
        }
    }
}

/// An algorithm with its parameters, or a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// Which one.
    pub method: Method,
    /// Its number for `coll_tuned_OPERATION_algorithm`; `None` for what ran, and for MPICH.
    pub number: Option<i64>,
    /// Length of a segment, bytes; 0: none.
    pub segment_bytes: u64,
    /// What each process does.
    pub schedule: Schedule,
    /// Which processes exchange values in the memory of their host, by sender and receiver, and how: over trees only.
    pub in_memory: BTreeMap<(usize, usize), InMemory>,
    /// The algorithm, and those of which it consists, with their parameters; none of a tree, and where it is not known.
    pub named: Vec<(String, Parameters)>,
}

impl Candidate {
    /// Over a tree.
    pub(super) fn over(tree: TreeOfCall) -> Self {
        Self {
            method: Method::Tree {
                place: tree.place,
                crc32: tree.crc32,
            },
            number: None,
            segment_bytes: 0,
            schedule: tree.schedule.schedule,
            in_memory: tree.schedule.in_memory,
            named: Vec::new(),
        }
    }

    /// Its messages.
    pub(super) fn messages(&self) -> MessagesOf {
        let messages = self.schedule.messages().unwrap_or_default();
        MessagesOf::of(messages.iter().map(|of| (of.from, of.to, of.bytes)))
    }
}

/// What messages of an algorithm are recognized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagesOf {
    /// How many there are.
    pub n: usize,
    /// How long the longest one is, bytes.
    pub longest_bytes: u64,
    /// The CRC-32 of who sends to whom, sorted.
    pub pairs_crc32: u32,
}

impl MessagesOf {
    /// Of messages as (sender, receiver, bytes), in any order.
    pub(super) fn of(messages: impl Iterator<Item = (usize, usize, u64)>) -> Self {
        let mut longest_bytes = 0;
        let mut pairs: Vec<[u32; 2]> = messages
            .map(|(from, to, bytes)| {
                longest_bytes = bytes.max(longest_bytes);
                [from as u32, to as u32]
            })
            .collect();
        pairs.sort_unstable();
        let mut hasher = crc32fast::Hasher::new();
        for rank in pairs.as_flattened() {
            hasher.update(&rank.to_le_bytes());
        }
        Self {
            n: pairs.len(),
            longest_bytes,
            pairs_crc32: hasher.finalize(),
        }
    }
}

/// The release whose algorithms a library has.
#[must_use]
pub(super) fn release(library: Library) -> Release {
    match library.version.major {
        4 => Release::V4_1,
        _ => Release::V5_0,
    }
}

/// The call of a class.
pub(super) fn call(class: &Class) -> Call {
    Call::of_bytes(class.ranks.len(), class.root, class.bytes)
}

/// What ran: that of which the messages of an instance are. It is what the library reported, whose parameters are looked for;
/// where it reported nothing, any of its algorithms; else the messages as they are. Of a tree of our own no messages are
/// recorded.
#[must_use]
pub(super) fn that_ran(library: KnownLibrary, class: &Class) -> Option<Candidate> {
    if let Some(OwnTree { name, wrappers }) = &class.tree {
        return Some(Candidate::over(TreeOfCall {
            place: name.clone(),
            crc32: checksum(wrappers),
            schedule: schedule_over(wrappers, class).ok()?,
        }));
    }
    let messages = class.usual_instances().next()?.messages.iter();
    let messages = messages.map(|of| (of.from as usize, of.to as usize, of.bytes));
    let recorded = between_others(messages);
    let longest = recorded.iter().map(|(_, _, bytes)| *bytes).max()?;
    let is_it = |schedule: &Schedule| {
        let messages = schedule.messages().unwrap_or_default().into_iter();
        between_others(messages.map(|of| (of.from, of.to, of.bytes))) == recorded
    };
    let library = match library {
        KnownLibrary::OpenMpi(library) if !class.reported.is_empty() => library,
        _ => {
            let mut all = candidates_with(library, class, &[0, longest]).into_iter();
            let found = all.find(|candidate| is_it(&candidate.schedule));
            return found.or_else(|| as_its_messages(class));
        }
    };
    let reported: Vec<&str> = class.reported.iter().map(String::as_str).collect();
    let call = call(class);
    for call in [call, call.with_elements_of(1), call.with_elements_of(4)] {
        for (segment_bytes, chains) in [(0, 4), (longest, 4), (0, 1), (longest, 1), (0, 2)] {
            let parameters = Parameters {
                segment_bytes,
                chains,
                ..Parameters::default()
            };
            // Short of elements, some hand over to another algorithm, which is reported, too; of `coll_han` those within hosts of
            // one process send nothing.
            for names in std::iter::once(&reported[..]).chain(reported.chunks(1)) {
                let named = ran(names, |_| parameters);
                let schedule = schedule(release(library), &named, &call);
                if let Some(schedule) = schedule.filter(is_it) {
                    return Some(Candidate {
                        method: Method::Algorithm(class.reported.join(" + ")),
                        number: None,
                        segment_bytes,
                        schedule,
                        in_memory: BTreeMap::new(),
                        named: owned(&named),
                    });
                }
            }
        }
    }
    as_its_messages(class)
}

/// What the messages of a class show.
fn as_its_messages(class: &Class) -> Option<Candidate> {
    let names = class.reported.join(" + ");
    let name = if names.is_empty() {
        "an algorithm that was not reported"
    } else {
        &names
    };
    Some(Candidate {
        method: Method::Algorithm(format!("{name}, as its messages show it")),
        number: None,
        segment_bytes: 0,
        schedule: as_recorded::schedule(class)?,
        in_memory: BTreeMap::new(),
        named: Vec::new(),
    })
}

/// Messages as (sender, receiver, bytes), sorted, without those of a process to itself: it depends on the release whether they
/// are seen.
fn between_others(messages: impl Iterator<Item = (usize, usize, u64)>) -> Vec<(usize, usize, u64)> {
    let mut messages: Vec<_> = messages.filter(|(from, to, _)| from != to).collect();
    messages.sort_unstable();
    messages
}

/// The algorithms of the library for a class, each with some lengths of segments where it has such; without those that
/// consist of other collectives, for which other rules decide.
#[must_use]
pub(super) fn candidates(library: KnownLibrary, class: &Class) -> Vec<Candidate> {
    candidates_with(library, class, &SEGMENTS)
}

/// The same, with some lengths of segments, of which the first is 0.
fn candidates_with(library: KnownLibrary, class: &Class, segments: &[u64]) -> Vec<Candidate> {
    let library = match library {
        KnownLibrary::OpenMpi(library) => library,
        KnownLibrary::Mpich(version) => return mpich::candidates(version, class),
    };
    let Some(table) = library.operation(class.operation) else {
        return Vec::new();
    };
    let call = call(class);
    let n = call.n_processes as u64;
    let mut found: Vec<Candidate> = Vec::new();
    for algorithm in table.algorithms.iter().filter(|of| of.parts.is_empty()) {
        let segments = if algorithm.uses_segment && class.operation != Operation::Gather {
            segments
        } else {
            &segments[..1]
        };
        for &segment_bytes in segments.iter().filter(|&&bytes| bytes < class.bytes.max(1)) {
            let is_possible = match algorithm.limit {
                Limit::None => true,
                Limit::TwoProcesses => n == 2,
                Limit::PowerOfTwo(_) => n.is_power_of_two(),
                Limit::Even(_) => n.is_multiple_of(2),
                Limit::ElementForEach(_) | Limit::ElementForPowerOfTwo(_) => call.elements >= n,
                Limit::SegmentForEach(_) => segment_bytes > 0 && class.bytes >= n * segment_bytes,
                Limit::TwoHalves(_) => segment_bytes <= class.bytes / 2 && call.elements > 1,
            };
            let parameters = Parameters {
                segment_bytes,
                ..Parameters::default()
            };
            let names = match algorithm.function {
                "allreduce_intra_basic_linear" => &LINEAR[..],
                other => &[other],
            };
            let named: Vec<_> = (names.iter())
                .map(|name| Named { name, parameters })
                .collect();
            let schedule = schedule(release(library), &named, &call);
            if let Some(schedule) = schedule.filter(|_| is_possible) {
                found.push(Candidate {
                    method: Method::Algorithm(algorithm.function.to_owned()),
                    number: Some(algorithm.id),
                    segment_bytes,
                    schedule,
                    in_memory: BTreeMap::new(),
                    named: owned(&named),
                });
            }
        }
    }
    found
}

fn owned(named: &[Named<'_>]) -> Vec<(String, Parameters)> {
    let each = named.iter();
    each.map(|of| (of.name.to_owned(), of.parameters)).collect()
}
