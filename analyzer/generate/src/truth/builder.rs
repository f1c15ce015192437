//! Accumulates the truth.

use std::collections::HashMap;

use collbench_formats::{Activity, CommunicatorKind, Operation};

use super::fields::{TrueCommunicator, TrueInFlight, TrueOperation, TrueRank, TrueTimes, Truth};
use super::instance::{Instance, NonblockingTimes};
use super::measure::{between, measure};
use super::order::{alone, note_closest, note_order, order_table, sort_by_time};
use super::paths::PathBuilder;
use crate::delay::SpentIn;
use crate::group::Members;
use crate::messages::{InstanceMessages, MessageModel, ProgressCalls, TreeBuilder, TrueInstance};
use crate::own_trees::Stage;
use crate::summary::{Summary, TruthDetail};

/// Index of all communicators with one process together.
const OF_ONE_PROCESS: usize = 0;

/// Accumulates the truth.
#[derive(Debug)]
pub(crate) struct TruthBuilder {
    detail: TruthDetail,
    host_of: Vec<usize>,
    communicators: Vec<TrueCommunicator>,
    operations: HashMap<(Operation, usize, Option<u32>, u32), TrueOperation>,
    ranks: Vec<TrueRank>,
    messages: u64,
    trees: TreeBuilder,
    paths: PathBuilder,
    classes: HashMap<(Operation, CommunicatorClass), (String, String)>,
    counts: Vec<HashMap<(Operation, CommunicatorClass), u64>>,
    /// When all ranks leave MPI_Init.
    start: u64,
    last_instant: u64,
    scratch: Scratch,
}

#[derive(Debug, Default)]
struct Scratch {
    enters: Vec<u64>,
    leaves: Vec<u64>,
    places: Vec<usize>,
    waits: Vec<Option<i64>>,
    order: Vec<(u64, usize)>,
}

/// What follows the colon in `calls_by_class`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum CommunicatorClass {
    Whole,
    Sub,
    Itself,
    Inter,
}

impl CommunicatorClass {
    fn of(members: &Members, n_ranks: usize) -> Self {
        match members.ranks.len() {
            _ if members.kind() == CommunicatorKind::Inter => Self::Inter,
            n if n == n_ranks => Self::Whole,
            1 => Self::Itself,
            _ => Self::Sub,
        }
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Whole => "",
            Self::Sub => ":sub",
            Self::Itself => ":self",
            Self::Inter => ":inter",
        }
    }
}

impl TruthBuilder {
    pub(crate) fn new(
        detail: TruthDetail,
        host_of: &[usize],
        host_names: &[&str],
        start: u64,
    ) -> Self {
        let ranks = host_of.iter().enumerate().map(|(rank, &host)| TrueRank {
            rank: rank as u32,
            host: host_names[host].to_owned(),
            ..TrueRank::default()
        });
        Self {
            detail,
            host_of: host_of.to_vec(),
            communicators: vec![TrueCommunicator {
                name: "self".into(),
                kind: "intra",
                ranks: (0..host_of.len() as u32).collect(),
                first_group: 1,
            }],
            operations: HashMap::new(),
            ranks: ranks.collect(),
            messages: 0,
            trees: TreeBuilder::new(detail),
            paths: PathBuilder::default(),
            classes: HashMap::new(),
            counts: vec![HashMap::new(); host_of.len()],
            start,
            last_instant: 0,
            scratch: Scratch::default(),
        }
    }

    /// Adds the paths of the ranks in a complete instance over a spanning tree of our own.
    pub(crate) fn add_paths(
        &mut self,
        (tree, threads): (&str, u32),
        operation: Operation,
        root: Option<u32>,
        paths: &[Vec<Stage>],
    ) {
        for (leaf, stages) in (0..).zip(paths) {
            let rank = (leaf / threads, leaf % threads);
            let key = (tree.to_owned(), operation.name(), root, rank);
            self.paths.add(key, stages, self.detail);
        }
    }

    /// Adds the communicators that one constructor made, or the predefined ones; returns their
    /// indexes.
    pub(crate) fn communicators(&mut self, name: &str, parts: &[Members]) -> Vec<usize> {
        let mut indexes = Vec::new();
        for part in parts {
            if part.ranks.len() == 1 && self.ranks.len() > 1 {
                indexes.push(OF_ONE_PROCESS);
                continue;
            }
            self.communicators.push(TrueCommunicator {
                name: name.to_owned(),
                kind: if part.is_inter() { "inter" } else { "intra" },
                ranks: part.ranks.clone(),
                first_group: part.n_first,
            });
            indexes.push(self.communicators.len() - 1);
        }
        indexes
    }

    /// Adds a record in the file of `rank`, made until `until`; `counted`: a call of the
    /// application, on a communicator with these members.
    pub(crate) fn record(&mut self, rank: u32, until: u64, counted: Option<(Operation, &Members)>) {
        let n_ranks = self.ranks.len();
        self.last_instant = self.last_instant.max(until);
        let of_rank = &mut self.ranks[rank as usize];
        of_rank.records += 1;
        if let Some((operation, members)) = counted {
            of_rank.calls += 1;
            let class = CommunicatorClass::of(members, n_ranks);
            *self.counts[rank as usize]
                .entry((operation, class))
                .or_insert(0) += 1;
        }
    }

    pub(crate) fn internal(&mut self, rank: u32) {
        self.ranks[rank as usize].internal_calls += 1;
    }

    /// Adds one end of a message, in the file of `rank`, until `until`.
    pub(crate) fn message_end(&mut self, rank: u32, until: u64, is_send: bool) {
        self.last_instant = self.last_instant.max(until);
        let of_rank = &mut self.ranks[rank as usize];
        of_rank.records += 1;
        of_rank.message_ends += 1;
        self.messages += u64::from(is_send);
    }

    pub(crate) fn in_flight(&mut self, rank: u32, call: TrueInFlight) {
        self.ranks[rank as usize].in_flight = Some(call);
    }

    /// Counts a recorded note on time that a rank spent in calls without records.
    pub(crate) fn besides(&mut self, rank: u32, at: u64, in_calls: SpentIn, ns: u64) {
        self.last_instant = self.last_instant.max(at);
        let of_rank = &mut self.ranks[rank as usize];
        of_rank.records += 1;
        match in_calls.activity {
            Activity::PointToPoint => of_rank.point_to_point_ns += ns,
            Activity::Polling => {
                of_rank.point_to_point_ns += ns;
                of_rank.unsuccessful_polls += u64::from(in_calls.n_calls);
            }
            Activity::Io => of_rank.io_ns += ns,
            Activity::Rma => of_rank.rma_ns += ns,
        }
    }

    pub(crate) fn finalized(&mut self, rank: u32, at: u64) {
        self.ranks[rank as usize].finalized = true;
        self.last_instant = self.last_instant.max(at);
    }

    /// Adds one instance of a counted operation.
    pub(crate) fn instance(&mut self, instance: &Instance<'_>) {
        let recorded = || (0..instance.seen.len()).filter(|&i| instance.seen[i].is_recorded);
        let payloads = || recorded().map(|i| instance.payloads[i]);
        let (Some(least), Some(largest)) = (payloads().min(), payloads().max()) else {
            return;
        };
        let ranks = &instance.members.ranks;
        let root = instance.root.map(|root| ranks[root]);
        // 0, or 1 + the exponent of the power of two.
        let class = largest.checked_ilog2().map_or(0, |exponent| exponent + 1);
        let positions = self.communicators[instance.communicator].ranks.len();
        let detail = self.detail;
        let entry = self
            .operations
            .entry((instance.operation, instance.communicator, root, class))
            .or_insert_with(|| TrueOperation {
                root,
                bytes_class: largest.checked_ilog2().map_or(0, |exponent| 1 << exponent),
                bytes_min: least,
                bytes_max: largest,
                ..TrueOperation::new(instance, positions, detail)
            });
        entry.calls += recorded().count() as u64;
        entry.bytes_min = entry.bytes_min.min(least);
        entry.bytes_max = entry.bytes_max.max(largest);
        let (enters, leaves) = (&mut self.scratch.enters, &mut self.scratch.leaves);
        enters.clear();
        leaves.clear();
        for i in recorded() {
            let seen = instance.seen[i];
            if let (Some(enter), Some(leave)) = (seen.enter, seen.leave) {
                match instance.nonblocking {
                    None => entry.call_time_ns.add(between(leave, enter), detail),
                    Some(nonblocking) => {
                        add_nonblocking(entry, &nonblocking[i], enter, leave, detail)
                    }
                }
                enters.push(enter);
                leaves.push(leave);
            }
        }
        if enters.len() < ranks.len() {
            entry.incomplete += 1;
            return;
        }
        entry.instances += 1;
        let waits = &mut self.scratch.waits;
        let places = &mut self.scratch.places;
        places.clear();
        places.resize(ranks.len(), 0);
        let times = &mut entry.global;
        measure(instance, (&*enters, &*leaves), places, detail, times, waits);
        for (&rank, wait) in ranks.iter().zip(&*waits) {
            self.ranks[rank as usize].wait_ns += i128::from(wait.unwrap_or(0));
        }
        places.clear();
        places.extend(ranks.iter().map(|&rank| self.host_of[rank as usize]));
        let times = &mut entry.within_hosts;
        measure(instance, (&*enters, &*leaves), places, detail, times, waits);
        for (&rank, wait) in ranks.iter().zip(&*waits) {
            self.ranks[rank as usize].wait_within_hosts_ns += i128::from(wait.unwrap_or(0));
        }
        // A constructor over a group is called by some members of its communicator only.
        let all = &self.communicators[instance.communicator].ranks;
        let orders = Orders {
            enters,
            leaves,
            members: ranks,
            all,
        };
        orders.note(entry, &mut self.ranks, &mut self.scratch.order);
    }

    /// Adds the messages of an instance, if all its calls and messages are in the trace; `top` is
    /// the position of the node without a parent; `calls`: by position the calls in which a
    /// nonblocking one progressed.
    pub(crate) fn add_tree(
        &mut self,
        instance: &Instance<'_>,
        model: &MessageModel,
        top: usize,
        simulated: &InstanceMessages,
        calls: Option<&[ProgressCalls]>,
    ) {
        let enters: Option<Vec<u64>> = instance.seen.iter().map(|seen| seen.enter).collect();
        let leaves: Option<Vec<u64>> = instance.seen.iter().map(|seen| seen.leave).collect();
        let largest = instance.payloads.iter().copied().max().unwrap_or(0);
        if let (Some(enters), Some(leaves)) = (enters, leaves)
            && instance.seen.iter().all(|seen| seen.is_recorded)
        {
            self.trees.instance(&TrueInstance {
                operation: instance.operation,
                communicator: instance.communicator,
                ranks: &instance.members.ranks,
                root: instance.root.map(|root| instance.members.ranks[root]),
                bytes_class: largest.checked_ilog2().map_or(0, |exponent| 1 << exponent),
                model,
                top,
                enters: &enters,
                leaves: &leaves,
                simulated,
                calls,
            });
        }
    }

    pub(crate) fn finish(mut self, scenario: String, seed: u64) -> Truth {
        for (rank, counts) in self.counts.iter().enumerate() {
            for (&(operation, class), &n) in counts {
                let (by_operation, by_class) =
                    self.classes.entry((operation, class)).or_insert_with(|| {
                        let name = operation.name();
                        (name.to_owned(), format!("{name}{}", class.suffix()))
                    });
                let of_rank = &mut self.ranks[rank];
                *of_rank
                    .calls_by_operation
                    .entry(by_operation.clone())
                    .or_insert(0) += n;
                *of_rank.calls_by_class.entry(by_class.clone()).or_insert(0) += n;
            }
        }
        let mut operations: Vec<TrueOperation> = self.operations.into_values().collect();
        operations.sort_by_key(|op| (op.operation, op.communicator, op.root, op.bytes_class));
        Truth {
            schema: "collbench.truth/1",
            scenario,
            seed,
            duration_ns: self.last_instant.saturating_sub(self.start),
            calls: self.ranks.iter().map(|rank| rank.calls).sum(),
            communicators: self.communicators,
            operations,
            messages: self.messages,
            trees: self.trees.finish(),
            paths: self.paths.finish(),
            ranks: self.ranks,
        }
    }
}

impl TrueOperation {
    /// Without instances, but with the properties that they share with this one; `n` positions.
    fn new(instance: &Instance<'_>, n: usize, detail: TruthDetail) -> Self {
        Self {
            operation: instance.operation.name(),
            communicator: instance.communicator,
            root: None,
            bytes_class: 0,
            bytes_min: 0,
            bytes_max: 0,
            calls: 0,
            instances: 0,
            incomplete: 0,
            call_time_ns: Summary::default(),
            initiation_ns: Summary::default(),
            between_ns: Summary::default(),
            completion_ns: Summary::default(),
            exposed_ns: Summary::default(),
            overlap_bound_ns: Summary::default(),
            tests: 0,
            global: TrueTimes::default(),
            within_hosts: TrueTimes::default(),
            last_arrivals: vec![0; n],
            last_tied: 0,
            first_departures: vec![0; n],
            first_tied: 0,
            arrival_order: order_table(detail, n),
            departure_order: order_table(detail, n),
            closest_ns: None,
        }
    }
}

/// The order in which the members of a complete instance arrived and left.
struct Orders<'a> {
    enters: &'a [u64],
    leaves: &'a [u64],
    /// World ranks of the callers.
    members: &'a [u32],
    /// World ranks of the communicator.
    all: &'a [u32],
}

impl Orders<'_> {
    /// Position of member `i` in the communicator.
    fn position_of(&self, i: usize) -> usize {
        if self.all.len() == self.members.len() {
            return i;
        }
        let is_it = |&rank: &u32| rank == self.members[i];
        self.all.iter().position(is_it).unwrap_or(0)
    }

    fn note(
        &self,
        entry: &mut TrueOperation,
        ranks: &mut [TrueRank],
        order: &mut Vec<(u64, usize)>,
    ) {
        let position_of = |i| self.position_of(i);
        sort_by_time(self.enters, order);
        note_closest(&mut entry.closest_ns, order);
        note_order(order, &mut entry.arrival_order, position_of);
        match alone(order, order.len() - 1) {
            Some(i) => {
                entry.last_arrivals[self.position_of(i)] += 1;
                ranks[self.members[i] as usize].last += 1;
            }
            None => entry.last_tied += 1,
        }
        if let Some(i) = alone(order, 0) {
            ranks[self.members[i] as usize].first += 1;
        }
        sort_by_time(self.leaves, order);
        note_closest(&mut entry.closest_ns, order);
        note_order(order, &mut entry.departure_order, position_of);
        match alone(order, 0) {
            Some(i) => entry.first_departures[self.position_of(i)] += 1,
            None => entry.first_tied += 1,
        }
    }
}

/// Adds the parts of a nonblocking call.
fn add_nonblocking(
    entry: &mut TrueOperation,
    simulated: &NonblockingTimes,
    enter: u64,
    leave: u64,
    detail: TruthDetail,
) {
    let initiation = between(simulated.initiated, enter);
    let waiting = between(simulated.entered, simulated.initiated);
    let completion = ((leave - simulated.entered) / simulated.n_together).cast_signed();
    let tests = simulated.tests_ns.cast_signed();
    entry.call_time_ns.add(initiation + completion, detail);
    entry.initiation_ns.add(initiation, detail);
    entry.between_ns.add(waiting, detail);
    entry.completion_ns.add(completion, detail);
    entry
        .exposed_ns
        .add(initiation + tests + completion, detail);
    entry.overlap_bound_ns.add(waiting - tests, detail);
    entry.tests += simulated.n_tests;
}
