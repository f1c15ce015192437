//! What an analysis of the trace has to say, worked out from the times that were chosen.
//!
//! This is a route of its own: nothing of the analysis is called, times are those of the global
//! clock before any clock of a host showed them, and each quantity is its formula, literally.

use std::collections::{BTreeMap, HashMap};

use collbench_formats::{CommunicatorKind, Operation, Semantics};
use serde::Serialize;

use super::group::Members;
use super::inside::{Course, InCalls, Inside, TreeBook, TrueInstance, TrueTree};
use super::summary::{Summary, TruthDetail};

/// A communicator; all that have one process are taken together.
#[derive(Debug, Clone, Serialize)]
pub struct TrueCommunicator {
    /// Its name in the scenario.
    pub name: String,
    /// `intra` or `inter`.
    pub kind: &'static str,
    /// World ranks, in the order of the communicator.
    pub ranks: Vec<u32>,
    /// Size of the first group; of all for one group.
    pub first_group: usize,
}

/// The times of the complete instances of an operation.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrueTimes {
    /// Last leave - first enter.
    pub duration_ns: Summary,
    /// Wait of each call.
    pub wait_ns: Summary,
    /// Last enter - own enter.
    pub arrival_lag_ns: Summary,
    /// First leave - last enter; where all wait for all.
    pub core_ns: Summary,
    /// Own leave - first leave; where all wait for all.
    pub departure_wait_ns: Summary,
}

/// What is true of (operation, communicator, root, class of bytes).
#[derive(Debug, Clone, Serialize)]
pub struct TrueOperation {
    /// Name of the standard.
    pub operation: &'static str,
    /// Index in `communicators`.
    pub communicator: usize,
    /// World rank of the root.
    pub root: Option<u32>,
    /// Greatest payload of an instance: 0, or the power of two that it is at least.
    pub bytes_class: u64,
    /// Least payload of a call.
    pub bytes_min: u64,
    /// Greatest payload of a call.
    pub bytes_max: u64,
    /// Calls in the trace, those under way at the end included.
    pub calls: u64,
    /// Instances in which all calls were recorded and returned.
    pub instances: u64,
    /// The other instances.
    pub incomplete: u64,
    /// Leave - enter, of each call that returned; of a nonblocking one the initiating call, and
    /// its share of the completing one.
    pub call_time_ns: Summary,
    /// The initiating call, of each nonblocking call that was completed.
    pub initiation_ns: Summary,
    /// From there to the completing call.
    pub between_ns: Summary,
    /// The share of the completing call.
    pub completion_ns: Summary,
    /// Initiation, tests in vain, completion.
    pub exposed_ns: Summary,
    /// Between, without the tests.
    pub overlap_bound_ns: Summary,
    /// Tests in vain.
    pub tests: u64,
    /// As the global clock has them.
    pub global: TrueTimes,
    /// As they are if only processes of one host are compared: the duration is the longest of
    /// any host, there is a core only where all are on one host, and the wait of a process that
    /// depends on other hosts only is left out.
    pub within_hosts: TrueTimes,
    /// How often each member came last, alone. By position in the communicator.
    pub last_arrivals: Vec<u64>,
    /// How often several came last together, or there is but one.
    pub last_tied: u64,
    /// How often each member left first, alone.
    pub first_departures: Vec<u64>,
    /// How often several left first together, or there is but one.
    pub first_tied: u64,
    /// `[member][position]`: how often it came at this position, at no other's time.
    pub arrival_order: Vec<Vec<u64>>,
    /// The same of leaving.
    pub departure_order: Vec<Vec<u64>>,
    /// Least distance of two enters, or two leaves, in an instance that are not equal.
    pub closest_ns: Option<u64>,
}

/// A call that had not returned when its process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TrueInFlight {
    /// Name of the standard.
    pub operation: &'static str,
    /// Index in `communicators`; none for MPI_Finalize.
    pub communicator: Option<usize>,
    /// Position among the calls of the application on that communicator, from 0.
    pub sequence: Option<u64>,
}

/// What is true of one rank.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TrueRank {
    /// World rank.
    pub rank: u32,
    /// Name of its host.
    pub host: String,
    /// Records in its file.
    pub records: u64,
    /// Calls of the application that are counted, those under way included.
    pub calls: u64,
    /// Calls of the MPI library itself.
    pub internal_calls: u64,
    /// Ends of messages.
    pub message_ends: u64,
    /// Calls by operation.
    pub calls_by_operation: BTreeMap<String, u64>,
    /// Calls by operation and kind of communicator.
    pub calls_by_class: BTreeMap<String, u64>,
    /// Sum of its waits in complete instances.
    pub wait_ns: i128,
    /// The same, if only processes of its own host counted.
    pub wait_within_hosts_ns: i128,
    /// Instances to which it came last, alone.
    pub last: u64,
    /// Instances to which it came first, alone.
    pub first: u64,
    /// Whether recording ended in MPI_Finalize.
    pub finalized: bool,
    /// The call under way at its end.
    pub in_flight: Option<TrueInFlight>,
}

/// What `truth.json` holds.
#[derive(Debug, Clone, Serialize)]
pub struct Truth {
    /// `collbench.truth/1`.
    pub schema: &'static str,
    /// Name of the scenario.
    pub scenario: String,
    /// Seed of its random numbers.
    pub seed: u64,
    /// From leaving MPI_Init, which all ranks do at once, to the last leaving MPI_Finalize, or to
    /// the last instant at which anything was recorded.
    pub duration_ns: u64,
    /// Calls of the application in all files.
    pub calls: u64,
    /// All communicators, in the order in which they were made.
    pub communicators: Vec<TrueCommunicator>,
    /// Sorted by operation, communicator, root, class.
    pub operations: Vec<TrueOperation>,
    /// Messages that were sent, of which the sending end is in the trace.
    pub messages: u64,
    /// Of those operations that are seen inside; sorted like them, then by shape.
    pub trees: Vec<TrueTree>,
    /// By world rank.
    pub ranks: Vec<TrueRank>,
}

/// What a member of an instance did in it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// `None`: never entered.
    pub(crate) enter: Option<u64>,
    /// `None`: never left.
    pub(crate) leave: Option<u64>,
    /// Whether it is in the trace.
    pub(crate) is_recorded: bool,
}

/// One instance, by position in the communicator.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Instance<'a> {
    pub(crate) operation: Operation,
    /// Index of the communicator in the truth.
    pub(crate) communicator: usize,
    pub(crate) members: &'a Members,
    /// Position of the root.
    pub(crate) root: Option<usize>,
    pub(crate) payloads: &'a [u64],
    pub(crate) seen: &'a [Seen],
    /// Of nonblocking and persistent operations.
    pub(crate) courses: Option<&'a [TrueCourse]>,
}

/// What a member did between beginning an operation and being done with it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TrueCourse {
    /// When the initiating call returned.
    pub(crate) begun: u64,
    /// When the completing one was entered.
    pub(crate) asked: u64,
    /// How many that one completed.
    pub(crate) n_together: u64,
    pub(crate) n_tests: u64,
    pub(crate) tests_ns: u64,
}

/// Index of all communicators of one process together.
const OF_ONE_PROCESS: usize = 0;

/// The truth while it is being gathered.
#[derive(Debug)]
pub(crate) struct TruthBook {
    detail: TruthDetail,
    host_of: Vec<usize>,
    communicators: Vec<TrueCommunicator>,
    operations: HashMap<(Operation, usize, Option<u32>, u32), TrueOperation>,
    ranks: Vec<TrueRank>,
    messages: u64,
    trees: TreeBook,
    classes: HashMap<(Operation, CommunicatorClass), (String, String)>,
    counts: Vec<HashMap<(Operation, CommunicatorClass), u64>>,
    /// When all leave MPI_Init.
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

/// What stands behind the colon in `calls_by_class`.
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

impl TruthBook {
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
            trees: TreeBook::new(detail),
            classes: HashMap::new(),
            counts: vec![HashMap::new(); host_of.len()],
            start,
            last_instant: 0,
            scratch: Scratch::default(),
        }
    }

    /// Notes the communicators that one constructor made, or that are there from the beginning;
    /// gives their indexes.
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

    /// A record in the file of `rank`, made until `until`; `counted`: a call of the application,
    /// on a communicator with these members.
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

    /// One end of a message, in the file of `rank`, until `until`.
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

    pub(crate) fn finalized(&mut self, rank: u32, at: u64) {
        self.ranks[rank as usize].finalized = true;
        self.last_instant = self.last_instant.max(at);
    }

    /// One instance of a counted operation.
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
                operation: instance.operation.name(),
                communicator: instance.communicator,
                root,
                bytes_class: largest.checked_ilog2().map_or(0, |exponent| 1 << exponent),
                bytes_min: least,
                bytes_max: largest,
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
                last_arrivals: vec![0; positions],
                last_tied: 0,
                first_departures: vec![0; positions],
                first_tied: 0,
                arrival_order: order_table(detail, positions),
                departure_order: order_table(detail, positions),
                closest_ns: None,
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
                match instance.courses {
                    None => entry.call_time_ns.add(between(leave, enter), detail),
                    Some(courses) => add_course(entry, &courses[i], enter, leave, detail),
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
        measure(
            instance,
            (&*enters, &*leaves),
            places,
            detail,
            &mut entry.global,
            waits,
        );
        for (&rank, wait) in ranks.iter().zip(&*waits) {
            self.ranks[rank as usize].wait_ns += i128::from(wait.unwrap_or(0));
        }
        places.clear();
        places.extend(ranks.iter().map(|&rank| self.host_of[rank as usize]));
        measure(
            instance,
            (&*enters, &*leaves),
            places,
            detail,
            &mut entry.within_hosts,
            waits,
        );
        for (&rank, wait) in ranks.iter().zip(&*waits) {
            self.ranks[rank as usize].wait_within_hosts_ns += i128::from(wait.unwrap_or(0));
        }

        // A constructor over a group is called by some of its communicator only.
        let all = &self.communicators[instance.communicator].ranks;
        let position_of = |i: usize| {
            if all.len() == ranks.len() {
                i
            } else {
                all.iter().position(|&rank| rank == ranks[i]).unwrap_or(0)
            }
        };
        let order = &mut self.scratch.order;
        sort_by_time(enters, order);
        note_closest(&mut entry.closest_ns, order);
        note_order(order, &mut entry.arrival_order, position_of);
        match alone(order, order.len() - 1) {
            Some(i) => {
                entry.last_arrivals[position_of(i)] += 1;
                self.ranks[ranks[i] as usize].last += 1;
            }
            None => entry.last_tied += 1,
        }
        if let Some(i) = alone(order, 0) {
            self.ranks[ranks[i] as usize].first += 1;
        }
        sort_by_time(leaves, order);
        note_closest(&mut entry.closest_ns, order);
        note_order(order, &mut entry.departure_order, position_of);
        match alone(order, 0) {
            Some(i) => entry.first_departures[position_of(i)] += 1,
            None => entry.first_tied += 1,
        }
    }

    /// What was seen inside of an instance, if all of its calls and messages are in the trace;
    /// `top` is the position of the node that has no parent; `calls`: in which it went on, by
    /// position, of a nonblocking one.
    pub(crate) fn inside(
        &mut self,
        instance: &Instance<'_>,
        inside: &Inside,
        top: usize,
        course: &Course,
        calls: Option<&[InCalls]>,
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
                inside,
                top,
                enters: &enters,
                leaves: &leaves,
                course,
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
        for op in &mut operations {
            for times in [
                &mut op.call_time_ns,
                &mut op.initiation_ns,
                &mut op.between_ns,
                &mut op.completion_ns,
                &mut op.exposed_ns,
                &mut op.overlap_bound_ns,
            ] {
                times.finish();
            }
            for times in [&mut op.global, &mut op.within_hosts] {
                times.duration_ns.finish();
                times.wait_ns.finish();
                times.arrival_lag_ns.finish();
                times.core_ns.finish();
                times.departure_wait_ns.finish();
            }
        }
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
            ranks: self.ranks,
        }
    }
}

/// The parts of a nonblocking call.
fn add_course(
    entry: &mut TrueOperation,
    course: &TrueCourse,
    enter: u64,
    leave: u64,
    detail: TruthDetail,
) {
    let initiation = between(course.begun, enter);
    let waiting = between(course.asked, course.begun);
    let completion = ((leave - course.asked) / course.n_together).cast_signed();
    let tests = course.tests_ns.cast_signed();
    entry.call_time_ns.add(initiation + completion, detail);
    entry.initiation_ns.add(initiation, detail);
    entry.between_ns.add(waiting, detail);
    entry.completion_ns.add(completion, detail);
    entry
        .exposed_ns
        .add(initiation + tests + completion, detail);
    entry.overlap_bound_ns.add(waiting - tests, detail);
    entry.tests += course.n_tests;
}

fn between(later: u64, earlier: u64) -> i64 {
    later.cast_signed() - earlier.cast_signed()
}

/// The times of one complete instance, where `place_of[i]` is the place of member `i`, and only
/// those at one place are compared. `waits` are left for the caller to look at.
///
/// # Source
/// `metrics.md`, "Seen from outside".
fn measure(
    instance: &Instance<'_>,
    (enters, leaves): (&[u64], &[u64]),
    place_of: &[usize],
    detail: TruthDetail,
    times: &mut TrueTimes,
    waits: &mut Vec<Option<i64>>,
) {
    let all_wait_for_all = all_wait_for_all(instance);
    let n_places = place_of.iter().max().map_or(0, |&last| last + 1);
    let mut longest = 0;
    let mut n_used = 0;
    let mut core = 0;
    for place in 0..n_places {
        let here = || (0..enters.len()).filter(|&i| place_of[i] == place);
        let last_enter = here().map(|i| enters[i]).max();
        let first_enter = here().map(|i| enters[i]).min();
        let last_leave = here().map(|i| leaves[i]).max();
        let first_leave = here().map(|i| leaves[i]).min();
        let (Some(last_enter), Some(first_enter), Some(last_leave), Some(first_leave)) =
            (last_enter, first_enter, last_leave, first_leave)
        else {
            continue;
        };
        n_used += 1;
        longest = longest.max(between(last_leave, first_enter));
        core = between(first_leave, last_enter);
        for i in here() {
            times
                .arrival_lag_ns
                .add(between(last_enter, enters[i]), detail);
            if all_wait_for_all {
                times
                    .departure_wait_ns
                    .add(between(leaves[i], first_leave), detail);
            }
        }
    }
    times.duration_ns.add(longest, detail);
    if all_wait_for_all && n_used == 1 {
        times.core_ns.add(core, detail);
    }
    waits.clear();
    if instance.operation.semantics().waits_for_nobody() {
        return;
    }
    dependences(instance, enters, place_of, waits);
    for (i, wait) in waits.iter_mut().enumerate() {
        // So far the release.
        // A nonblocking one waits where it asks, and for several things at once a part for each.
        let (from, n) = match instance.courses {
            Some(courses) => (courses[i].asked, courses[i].n_together),
            None => (enters[i], 1),
        };
        *wait = wait.map(|release| {
            let until = release.min(leaves[i].cast_signed());
            (until - from.cast_signed()).max(0) / n.cast_signed()
        });
        if let Some(wait) = wait {
            times.wait_ns.add(*wait, detail);
        }
    }
}

/// Whether there is an instant between the last to come and the first to go: in barriers, N x N
/// and constructors; not between two groups that wait for each other, nor with nothing to send.
fn all_wait_for_all(instance: &Instance<'_>) -> bool {
    if instance.courses.is_some() {
        return false;
    }
    match instance.operation.semantics() {
        Semantics::Constructor | Semantics::GroupConstructor => true,
        Semantics::Barrier => !instance.members.is_inter(),
        Semantics::AllToAll => {
            !instance.members.is_inter() && instance.payloads.iter().any(|&bytes| bytes > 0)
        }
        _ => false,
    }
}

/// The release of each member: the latest enter among those on whom it depends and itself, where
/// only those at its own place count; `None` for one that depends on others, of whom none is at
/// its place.
///
/// Who contributes and receives nothing is left out. A payload of zero says so of the sender in
/// a many to one, of the receiver in a one to many, of the root of one to many for everyone, of
/// a rank in a scan, and in an N x N only where all are zero (who sends nothing may receive).
///
/// # Source
/// `metrics.md`, "who i depends on".
fn dependences(
    instance: &Instance<'_>,
    enters: &[u64],
    place_of: &[usize],
    found: &mut Vec<Option<i64>>,
) {
    let members = instance.members;
    let n = enters.len();
    let semantics = instance.operation.semantics();
    let side = |i: usize| usize::from(i >= members.n_first);
    let root = instance.root.unwrap_or(usize::MAX);
    let has_data = |i: usize| instance.payloads[i] > 0;
    let takes_part = |i: usize| i == root || !members.is_inter() || side(i) != side(root);
    let any_data = (0..n).any(has_data);
    // Who can be waited for, and who can wait.
    let (contributes, receives): (&dyn Fn(usize) -> bool, &dyn Fn(usize) -> bool) = match semantics
    {
        Semantics::AllToAll => (&|_| any_data, &|_| any_data),
        Semantics::OneToMany => (&|i| i == root && has_data(i), &|i| {
            i != root && has_data(i) && takes_part(i)
        }),
        Semantics::ManyToOne => (&|i| i != root && has_data(i) && takes_part(i), &|i| {
            i == root
        }),
        Semantics::Prefix => (&has_data, &has_data),
        Semantics::Neighborhood
        | Semantics::Unspecified
        | Semantics::Free
        | Semantics::NonblockingConstructor
        | Semantics::Process => (&|_| false, &|_| false),
        _ => (&|_| true, &|_| true),
    };
    if semantics == Semantics::Neighborhood {
        found.clear();
        for i in 0..n {
            let sources = members.sources[i].iter().flatten();
            let sources = sources.filter(|&&j| j != i && has_data(j));
            let here = sources.clone().filter(|&&j| place_of[j] == place_of[i]);
            let latest = here.map(|&j| enters[j]).max();
            let is_elsewhere = latest.is_none() && sources.count() > 0;
            let release = latest.unwrap_or(0).max(enters[i]);
            found.push((!is_elsewhere).then_some(release.cast_signed()));
        }
        return;
    }
    let only_remote =
        members.is_inter() && matches!(semantics, Semantics::Barrier | Semantics::AllToAll);

    #[derive(Clone, Copy, Default)]
    struct Contributors {
        n: usize,
        latest: u64,
    }
    let mut at_place =
        vec![[Contributors::default(); 2]; place_of.iter().max().map_or(0, |&p| p + 1)];
    let mut anywhere = [0; 2];
    let add = |i: usize, at_place: &mut Vec<[Contributors; 2]>, anywhere: &mut [usize; 2]| {
        if contributes(i) {
            let here = &mut at_place[place_of[i]][side(i)];
            here.n += 1;
            here.latest = here.latest.max(enters[i]);
            anywhere[side(i)] += 1;
        }
    };
    let is_prefix = semantics == Semantics::Prefix;
    if !is_prefix {
        for i in 0..n {
            add(i, &mut at_place, &mut anywhere);
        }
    }
    found.clear();
    for i in 0..n {
        let sides = if only_remote {
            1 - side(i)..2 - side(i)
        } else {
            0..2
        };
        let itself = usize::from(!is_prefix && !only_remote && contributes(i));
        let n_anywhere: usize = anywhere[sides.clone()].iter().sum();
        let here = &at_place[place_of[i]][sides];
        let n_here: usize = here.iter().map(|side| side.n).sum();
        let latest = here.iter().map(|side| side.latest).max().unwrap_or(0);
        let release = if !receives(i) || n_anywhere == itself {
            Some(enters[i])
        } else if n_here == itself {
            None
        } else {
            Some(latest.max(enters[i]))
        };
        found.push(release.map(u64::cast_signed));
        if is_prefix {
            add(i, &mut at_place, &mut anywhere);
        }
    }
}

/// Tables of orders are kept for communicators of which a person could read them.
fn order_table(detail: TruthDetail, n: usize) -> Vec<Vec<u64>> {
    if detail == TruthDetail::Full && n <= 64 {
        vec![vec![0; n]; n]
    } else {
        Vec::new()
    }
}

fn sort_by_time(times: &[u64], order: &mut Vec<(u64, usize)>) {
    order.clear();
    order.extend(times.iter().copied().zip(0..));
    order.sort_unstable();
}

/// Who is at this place of the order, if nobody else has the same time, and there are others.
fn alone(order: &[(u64, usize)], at: usize) -> Option<usize> {
    let (time, i) = order[at];
    let is_alone = (at == 0 || order[at - 1].0 < time)
        && order.get(at + 1).is_none_or(|&(next, _)| time < next);
    (is_alone && order.len() > 1).then_some(i)
}

fn note_order(
    order: &[(u64, usize)],
    table: &mut [Vec<u64>],
    position_of: impl Fn(usize) -> usize,
) {
    if table.is_empty() {
        return;
    }
    for at in (0..order.len()).filter(|&at| alone(order, at).is_some()) {
        let (_, i) = order[at];
        table[position_of(i)][at] += 1;
    }
}

fn note_closest(closest: &mut Option<u64>, order: &[(u64, usize)]) {
    let distances = order.windows(2).map(|pair| pair[1].0 - pair[0].0);
    if let Some(least) = distances.filter(|&distance| distance > 0).min() {
        *closest = Some(closest.map_or(least, |closest| closest.min(least)));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Whether `i` depends on `j`, pair by pair as the page has it.
    fn depends(instance: &Instance<'_>, i: usize, j: usize) -> bool {
        let members = instance.members;
        let inter = members.is_inter();
        let remote = members.group_of(i) != members.group_of(j);
        let root = instance.root;
        let data = |k: usize| instance.payloads[k] > 0;
        i != j
            && match instance.operation.semantics() {
                Semantics::Barrier => !inter || remote,
                Semantics::AllToAll => {
                    (!inter || remote) && instance.payloads.iter().any(|&bytes| bytes > 0)
                }
                Semantics::Constructor | Semantics::GroupConstructor => true,
                Semantics::OneToMany => Some(j) == root && (!inter || remote) && data(i) && data(j),
                Semantics::ManyToOne => Some(i) == root && (!inter || remote) && data(j),
                Semantics::Prefix => j < i && data(i) && data(j),
                Semantics::Neighborhood => members.sources[i].contains(&Some(j)) && data(j),
                Semantics::Unspecified
                | Semantics::Free
                | Semantics::NonblockingConstructor
                | Semantics::Process => false,
            }
    }

    proptest! {
        #[test]
        fn dependences_are_those_found_pair_by_pair(
            op in 0..Operation::ALL.len(),
            enters in prop::collection::vec(1u64..50, 1..9),
            hosts in prop::collection::vec(0usize..3, 9),
            payloads in prop::collection::vec(0u64..3, 9),
            root in 0usize..9,
            n_first in 1usize..9,
        ) {
            let operation = Operation::ALL[op];
            let n = enters.len();
            let inter = n_first < n && operation.semantics() != Semantics::Prefix;
            let n_first = if inter { n_first } else { n };
            // Everybody receives from the one before and, in part, from the one behind.
            let sources = (0..n).map(|i| vec![i.checked_sub(1), Some((i + 1) % n)]).collect();
            let members = Members { ranks: (0..n as u32).collect(), n_first, sources };
            let instance = Instance {
                operation,
                communicator: 0,
                members: &members,
                root: operation.semantics().is_rooted().then_some(root % n),
                payloads: &payloads[..n],
                seen: &[],
                courses: None,
            };
            let place_of = &hosts[..n];
            let mut found = Vec::new();
            dependences(&instance, &enters, place_of, &mut found);
            for i in 0..n {
                let on = || (0..n).filter(|&j| depends(&instance, i, j));
                let here = on().filter(|&j| place_of[i] == place_of[j]).map(|j| enters[j]).max();
                let expected = match (on().count(), here) {
                    (0, _) => Some(enters[i]),
                    (_, None) => None,
                    (_, Some(latest)) => Some(latest.max(enters[i])),
                };
                let expected = expected.map(u64::cast_signed);
                prop_assert_eq!(found[i], expected, "{} of {}", i, operation.name());
            }
        }
    }

    #[test]
    fn who_has_a_time_with_others_is_not_alone() {
        let mut order = Vec::new();
        sort_by_time(&[3, 9, 7, 9], &mut order);
        let found: Vec<_> = (0..4).map(|at| alone(&order, at)).collect();
        assert_eq!(found, [Some(0), Some(2), None, None]);
        sort_by_time(&[4], &mut order);
        assert_eq!(alone(&order, 0), None);
    }
}
