//! Which details the document of a large run leaves out: those of operations with little time.
//!
//! An operation has sums (calls, durations, waits, the algorithm), a few kB whatever it did, and
//! details, which grow with the square of its processes: edges, rounds, paths, orders. In a run of
//! a thousand operations nobody reads the details of all. So the document has those of the
//! operations with the most time, as many as come to [`MAX_BYTES`]; of the others it has `null`,
//! and says so. Of thousands of operations, as on hundreds of communicators, it lists those with the
//! most time, as many as come to [`MAX_BYTES_OF_SUMS`], and of the others the sums for each name.

use std::collections::{BTreeMap, BTreeSet};

use collbench_stats::integers::sum_ns;
use collbench_text::json;
use serde::Serialize;

use crate::results::analysis::{DetailsSummary, ImbalanceRest, OperationsRest};
use crate::results::code::Code;
use crate::results::detail::Detail;
use crate::results::imbalance::ImbalanceSummary;
use crate::results::inside::CriticalPathSummary;
use crate::results::operation::OperationSummary;

/// Which details are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Details {
    /// All, however large the document gets.
    All,
    /// Those of the operations with the most time. Those of operations that pictures are drawn of
    /// stay in memory, even if the document leaves them out.
    OfWhatMatters {
        /// Operations that get pictures.
        n_drawn: usize,
    },
}

/// Most bytes of details of operations in a document.
const MAX_BYTES: u64 = 4 << 20;
/// Most bytes of one kind of them, of one operation.
const MAX_BYTES_OF_KIND: u64 = 2 << 20;
/// Most bytes of operations without their details, and of verdicts without theirs.
const MAX_BYTES_OF_SUMS: u64 = 3 << 20;
const MAX_BYTES_OF_VERDICT_SUMS: u64 = 1 << 20;
/// Most bytes of details of the verdicts.
const MAX_BYTES_OF_VERDICTS: u64 = 1 << 20;
/// Operations with messages, by time, of which sentences may be made.
const N_IN_WORDS: usize = 16;
/// How to get all.
const ALL_BY: &str = "collbench-analyze --full";

/// A detail of any type.
trait LeaveOut {
    /// Whether there is nothing to be left out.
    fn is_nothing(&self) -> bool;

    /// Bytes that it takes in a document, so deep inside of it.
    fn n_bytes(&self, depth: usize) -> u64;

    /// Leaves it out of the document.
    fn leave_out(&mut self);

    /// Gives back its memory.
    fn forget(&mut self);
}

impl<T: Serialize + Default + PartialEq> LeaveOut for Detail<T> {
    fn is_nothing(&self) -> bool {
        **self == T::default()
    }

    fn n_bytes(&self, depth: usize) -> u64 {
        json::n_bytes(&**self, depth)
    }

    fn leave_out(&mut self) {
        self.leave_out();
    }

    fn forget(&mut self) {
        self.forget();
    }
}

/// Details of one kind.
struct DetailsOfKind<'a> {
    /// Where they stand in an operation.
    name: &'static str,
    /// Objects and arrays that they stand in.
    depth: usize,
    /// Themselves: of an operation one, or one for each of its trees.
    details: Vec<&'a mut dyn LeaveOut>,
}

/// In the document, in `operations` or `imbalance`.
const IN_LIST: usize = 2;
/// In the document, in `operations` or `imbalance`, in an entry of that.
const IN_ENTRY: usize = 3;
/// In an entry, in `trees`, in a tree.
const IN_TREE: usize = IN_ENTRY + 2;
/// In a tree, in `critical_path`.
const IN_CRITICAL_PATH: usize = IN_TREE + 1;

impl DetailsOfKind<'_> {
    fn n_bytes(&self) -> u64 {
        let bytes = self.details.iter().map(|it| it.n_bytes(self.depth));
        bytes.sum()
    }
}

/// The details of an operation, by kind, the most informative per byte first.
fn kinds(operation: &mut OperationSummary) -> Vec<DetailsOfKind<'_>> {
    let kind = |name, detail| DetailsOfKind {
        name,
        depth: IN_ENTRY,
        details: vec![detail],
    };
    let mut kinds: Vec<DetailsOfKind<'_>> = vec![
        kind("duration_histogram", &mut operation.duration_histogram),
        kind("sections", &mut operation.sections),
        kind("serialization", &mut operation.serialization),
        kind("arrival_order", &mut operation.arrival_order),
        kind("departure_order", &mut operation.departure_order),
        kind("arrival_deciles", &mut operation.arrival_deciles),
        kind("departure_deciles", &mut operation.departure_deciles),
    ];
    let mut of_trees = [
        ("trees[].critical_path.begins", IN_CRITICAL_PATH),
        ("trees[].critical_path.hops", IN_CRITICAL_PATH),
        ("trees[].critical_path.stays", IN_CRITICAL_PATH),
        ("trees[].joining_points", IN_TREE),
        ("trees[].rounds", IN_TREE),
        ("trees[].ways", IN_TREE),
        ("trees[].edges", IN_TREE),
        ("trees[].own.paths", IN_TREE),
    ]
    .map(|(name, depth)| DetailsOfKind {
        name,
        depth,
        details: Vec::new(),
    });
    for tree in operation.trees.iter_mut().flatten() {
        let [begins, hops, stays, points, rounds, ways, edges, paths] = &mut of_trees;
        if let Some(figures) = &mut tree.figures {
            if let Some(path) = &mut figures.critical_path {
                let CriticalPathSummary {
                    begins: own_begins,
                    hops: own_hops,
                    stays: own_stays,
                    ..
                } = path;
                begins.details.push(own_begins);
                hops.details.push(own_hops);
                stays.details.push(own_stays);
            }
            points.details.push(&mut figures.joining_points);
            rounds.details.push(&mut figures.rounds);
            ways.details.push(&mut figures.ways);
        }
        edges.details.push(&mut tree.edges);
        if let Some(own) = &mut tree.own {
            paths.details.push(&mut own.paths);
        }
    }
    kinds.extend(of_trees);
    kinds.push(kind("edges", &mut operation.edges));
    kinds.push(kind("stages[3..]", &mut operation.stages.inside));
    kinds
}

/// Chooses which details fit into the document, for the operations with the most time first.
pub(crate) struct Chooser {
    details: Details,
    /// Bytes that are left.
    left: u64,
    /// Whether an operation was met of which they were not enough.
    is_full: bool,
    /// Operations that were seen inside, so far.
    n_inside: usize,
    /// Operations that pictures may be made of, so far.
    n_drawn: usize,
    /// Which operations the document lists.
    listed: Listed,
}

/// The first entries of a list, as many as there is room for.
struct Listed {
    /// Number of entries.
    n: usize,
    /// Bytes that are left; `None` as soon as an entry was not listed.
    left: Option<u64>,
}

impl Listed {
    /// Lists the next entry if the one before was listed and it fits without its details, of so many bytes, or
    /// `is_needed`.
    fn add(&mut self, entry: &impl Serialize, details: u64, is_needed: bool) {
        let Some(left) = self.left else {
            return;
        };
        let n_bytes = json::n_bytes(entry, IN_LIST).saturating_sub(details);
        self.left = if is_needed {
            Some(left.saturating_sub(n_bytes))
        } else {
            left.checked_sub(n_bytes)
        };
        self.n += usize::from(self.left.is_some());
    }
}

impl Chooser {
    pub(crate) fn new(details: Details) -> Self {
        Self {
            details,
            left: MAX_BYTES,
            is_full: false,
            n_inside: 0,
            n_drawn: 0,
            listed: Listed {
                n: 0,
                left: Some(MAX_BYTES_OF_SUMS),
            },
        }
    }

    /// Number of operations that the document lists.
    pub(crate) fn n_listed(&self) -> usize {
        self.listed.n
    }

    /// Leaves details of the next operation out, if there is no room for them. One kind of them that
    /// is huge does not take the room of all the others; the first operation whose details do not fit
    /// has as many as do, those behind it have none.
    pub(crate) fn choose(&mut self, operation: &mut OperationSummary) {
        let Details::OfWhatMatters { n_drawn } = self.details else {
            self.listed.n += 1;
            return;
        };
        let is_inside = operation
            .trees
            .iter()
            .flatten()
            .any(|t| t.figures.is_some());
        self.n_inside += usize::from(is_inside);
        self.n_drawn += usize::from(!operation.threads().is_empty());
        let is_needed = self.n_drawn <= n_drawn || (is_inside && self.n_inside <= N_IN_WORDS);
        let was_full = self.is_full;
        let mut left_out = Vec::new();
        let mut kept = 0;
        for mut kind in kinds(operation) {
            kind.details.retain(|detail| !detail.is_nothing());
            if kind.details.is_empty() {
                continue;
            }
            if !was_full {
                let n_bytes = kind.n_bytes();
                if n_bytes <= self.left.min(MAX_BYTES_OF_KIND) {
                    self.left -= n_bytes;
                    kept += n_bytes;
                    continue;
                }
                self.is_full |= n_bytes <= MAX_BYTES_OF_KIND;
            }
            left_out.push(kind.name.into());
            for detail in &mut kind.details {
                detail.leave_out();
                if !is_needed {
                    detail.forget();
                }
            }
        }
        if !is_needed && !left_out.is_empty() {
            for tree in operation.trees.iter_mut().flatten() {
                if let Some(figures) = &mut tree.figures {
                    figures.lines = Vec::new();
                }
            }
        }
        operation.left_out = left_out;
        self.listed.add(operation, kept, is_needed);
    }
}

/// Leaves out the sections of verdicts that do not fit; those with the most waiting caused come
/// first. Gives the number of verdicts that the document lists.
pub(crate) fn choose_verdicts(details: Details, verdicts: &mut [ImbalanceSummary]) -> usize {
    if details == Details::All {
        return verdicts.len();
    }
    let mut left = Some(MAX_BYTES_OF_VERDICTS);
    let mut listed = Listed {
        n: 0,
        left: Some(MAX_BYTES_OF_VERDICT_SUMS),
    };
    for verdict in verdicts {
        let n_bytes = verdict.sections.n_bytes(IN_ENTRY) + verdict.hosts.n_bytes(IN_ENTRY);
        left = left.and_then(|left| left.checked_sub(n_bytes));
        let kept = match left {
            Some(_) => n_bytes,
            None => {
                verdict.sections.leave_out();
                verdict.hosts.leave_out();
                0
            }
        };
        listed.add(verdict, kept, false);
    }
    listed.n
}

/// What was left out: counts, and sums of what is not listed.
pub(crate) fn summary(
    (operations, n_operations): (&[OperationSummary], usize),
    (imbalance, n_imbalance): (&[ImbalanceSummary], usize),
) -> DetailsSummary {
    let time_ns = |operations: &mut dyn Iterator<Item = &OperationSummary>| {
        sum_ns(operations.filter_map(|of| Some(of.call_time_ns.as_ref()?.total)))
    };
    let (listed, rest) = operations.split_at(n_operations);
    let (verdicts, other_verdicts) = imbalance.split_at(n_imbalance);
    let told = || listed.iter().filter(|of| of.left_out.is_empty());
    let all_ns = time_ns(&mut operations.iter());
    let n_verdicts = verdicts.iter().filter(|of| !of.sections.is_left_out());
    let (n_told, n_verdicts) = (told().count(), n_verdicts.count());
    let complete = n_told == operations.len() && n_verdicts == imbalance.len();
    DetailsSummary {
        complete,
        operations: n_told,
        share_of_time: (all_ns > 0).then(|| time_ns(&mut told()) as f64 / all_ns as f64),
        imbalance: n_verdicts,
        all_by: (!complete).then_some(ALL_BY.into()),
        operations_listed: n_operations,
        operations_rest: operations_rest(rest),
        imbalance_listed: n_imbalance,
        imbalance_rest: (!other_verdicts.is_empty()).then(|| ImbalanceRest {
            entries: other_verdicts.len(),
            instances: other_verdicts.iter().map(|of| of.instances).sum(),
            resolved: other_verdicts.iter().map(|of| of.resolved).sum(),
            all_waits_caused_ns: sum_ns(other_verdicts.iter().map(|of| of.all_waits_caused_ns)),
        }),
    }
}

/// Operations in sums, by name.
fn operations_rest(operations: &[OperationSummary]) -> Vec<OperationsRest> {
    let mut by_name: BTreeMap<&Code, Vec<&OperationSummary>> = BTreeMap::new();
    for operation in operations {
        by_name
            .entry(&operation.operation)
            .or_default()
            .push(operation);
    }
    let rest = by_name.into_iter().map(|(name, all)| {
        let communicators: BTreeSet<Option<usize>> = all.iter().map(|of| of.communicator).collect();
        let total = |total_ns: fn(&OperationSummary) -> Option<i64>| {
            let known: Vec<i64> = all.iter().filter_map(|of| total_ns(of)).collect();
            (!known.is_empty()).then(|| sum_ns(known))
        };
        OperationsRest {
            operation: name.clone(),
            entries: all.len(),
            communicators: communicators.len(),
            calls: all.iter().map(|of| of.calls).sum(),
            instances: all.iter().map(|of| of.instances).sum(),
            incomplete: all.iter().map(|of| of.incomplete).sum(),
            call_time_ns: total(|of| Some(of.call_time_ns.as_ref()?.total)),
            wait_ns: total(|of| Some(of.wait_ns.as_ref()?.total)),
        }
    });
    rest.collect()
}
