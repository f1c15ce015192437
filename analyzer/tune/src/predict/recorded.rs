//! The instances of a recorded run that predictions are made from: when processes entered and left, and
//! their messages.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use collbench_analyzer::steps::{
    Adder, AlgorithmNames, Communicators, CompleteInstance, InstanceMessage, Merge, Outcome, Run,
    match_until, prepare,
};
use collbench_analyzer::{AnalyzeError, Options, Prepared, Progress, RunError, RunFiles};
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::tree::Wrappers;
use collbench_formats::{CommunicatorKind, Operation};
use collbench_stats::random::mix;
use collbench_trees::sites::Sites;

use super::figure::Figure;

/// Instances of a class that are kept, at most.
const MOST_INSTANCES: usize = 1000;
/// Messages of a class that are kept, at most, unless one instance has more.
const MOST_MESSAGES: usize = 200_000;
/// Records of each process that are looked at together where the first instances are enough.
const RECORDS: u64 = 512;
/// Enters of processes that are kept for the replay of the run, at most.
const MOST_TIMES: usize = 1_000_000;

/// A message of a kept instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Rank of the sender in the communicator.
    pub from: u32,
    /// Rank of the receiver.
    pub to: u32,
    /// Its length.
    pub bytes: u64,
    /// Whether its sender sent, its receiver received, and other hosts sent between the sites of both, no other one
    /// meanwhile, so that it waited for none.
    pub is_alone: bool,
    /// When it was sent, after the first process of the instance entered, ns.
    pub sent_ns: i64,
    /// When the call to send returned; `None` where it returned before it was sent.
    pub returned_ns: Option<i64>,
    /// When the receive was posted.
    pub posted_ns: i64,
    /// When it had ended; `None` where that is not known, or which receive got the message.
    pub received_ns: Option<i64>,
    /// Its number among what the sender sends and receives, and among what the receiver does.
    pub positions: [u32; 2],
}

impl Sample {
    /// From the begin of the send to the end of the receive, ns; `None` where the receive may have been posted later than
    /// the message arrived.
    #[must_use]
    pub fn one_way_ns(&self) -> Option<i64> {
        let all_ns = self.received_ns? - self.sent_ns;
        // Half of the time after the send it was posted: then it was there before the message arrived.
        (2 * (self.posted_ns - self.sent_ns) <= all_ns).then_some(all_ns)
    }

    /// How long the receive took, if it was posted long after the message was sent, ns.
    #[must_use]
    pub fn late_receive_ns(&self) -> Option<i64> {
        let took_ns = self.received_ns? - self.posted_ns;
        (self.posted_ns - self.sent_ns > 2 * took_ns).then_some(took_ns)
    }

    /// How long the call to send took, ns.
    #[must_use]
    pub fn send_ns(&self) -> Option<i64> {
        Some(self.returned_ns? - self.sent_ns)
    }
}

/// When a value passed an event collector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pass {
    /// Its number in the tree.
    pub collector: u32,
    /// Which segment of the payload.
    pub segment: u32,
    /// When it passed towards the bottommost wrapper, and on its way back, after the first process entered, ns.
    pub ways_ns: [Option<f64>; 2],
}

/// An instance.
#[derive(Debug, Clone, PartialEq)]
pub struct Instance {
    /// Its position among the calls on its communicator.
    pub position: u64,
    /// When each process entered after the first, ns.
    pub enters_ns: Vec<f64>,
    /// How long it took, ns: see [`Figure`].
    pub took_ns: f64,
    /// The messages, by sender and in order.
    pub messages: Vec<Sample>,
    /// The passes of event collectors of the tree of our own that it ran on, by segment.
    pub passes: Vec<Pass>,
}

/// What instances have in common that are predicted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    communicator: usize,
    operation: &'static str,
    root: usize,
    bytes: u64,
    reported: Option<AlgorithmNames>,
    tree: Option<u32>,
}

/// A spanning tree of our own that calls ran on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnTree {
    /// What people call it.
    pub name: String,
    /// What it is.
    pub wrappers: Wrappers,
}

/// Instances that are predicted together.
#[derive(Debug, Clone)]
pub struct Class {
    /// What was called.
    pub operation: Operation,
    /// The name of the communicator.
    pub communicator: String,
    /// Its id in the analysis, where another one has the same name.
    pub number: Option<usize>,
    /// World ranks, by rank of the communicator.
    pub ranks: Vec<u32>,
    /// The root, where there is one; else 0.
    pub root: usize,
    /// Bytes of one process: what it contributes, or sends to each other process.
    pub bytes: u64,
    /// Names that the library reported.
    pub reported: Vec<String>,
    /// The tree of our own that they ran on.
    pub tree: Option<OwnTree>,
    /// How many instances there are.
    pub n_instances: u64,
    /// Some of them, by position.
    pub instances: Vec<Instance>,
}

/// A blocking collective that all processes of its communicator called.
#[derive(Debug, Clone, PartialEq)]
pub struct CollectiveCall {
    /// World ranks, by rank of the communicator.
    pub ranks: Arc<[u32]>,
    /// What was called.
    pub operation: Operation,
    /// The root, where there is one; else 0.
    pub root: usize,
    /// Index in [`Recorded::classes`]; `None` for what is not predicted.
    pub class: Option<usize>,
    /// When each process entered after the first collective of the run began, ns.
    pub enters_ns: Vec<f64>,
    /// When each process left.
    pub leaves_ns: Vec<f64>,
}

/// A recorded run.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The command line of its first process.
    pub command: Vec<String>,
    /// The first line of the library's version.
    pub library: String,
    /// Names of hosts.
    pub hosts: Vec<String>,
    /// By world rank the index of its host; `None` for a rank without a file.
    pub host_of_rank: Vec<Option<usize>>,
    /// Round trips that the recorder measured between hosts, the lower index first, ns.
    pub round_trips_ns: BTreeMap<(usize, usize), i64>,
    /// Instances that are predicted together.
    pub classes: Vec<Class>,
    /// All collectives of the run, or of its begin if it is long, by when they began.
    pub calls: Vec<CollectiveCall>,
    /// Whether that is the begin of the run only.
    pub has_more_calls: bool,
}

/// Some of the instances of a class.
#[derive(Debug, Default)]
struct Kept {
    n: u64,
    /// By a number that depends on nothing but the position.
    instances: BTreeMap<(u64, u64), Instance>,
    n_messages: usize,
}

impl Kept {
    /// Keeps an instance, and only so many of all: those with the lowest numbers.
    fn keep(&mut self, instance: Instance) {
        let number = mix(instance.position);
        self.n_messages += instance.n_events();
        self.instances.insert((number, instance.position), instance);
        while self.instances.len() > MOST_INSTANCES
            || (self.n_messages > MOST_MESSAGES && self.instances.len() > 1)
        {
            if let Some((_, dropped)) = self.instances.pop_last() {
                self.n_messages -= dropped.n_events();
            }
        }
    }
}

/// A call that is kept for the replay of the run.
#[derive(Debug)]
struct KeptCall {
    operation: Operation,
    root: usize,
    class: Option<Key>,
    enters_ns: Vec<i64>,
    leaves_ns: Vec<i64>,
}

/// The first collectives of the run.
#[derive(Debug, Default)]
struct FirstCalls {
    /// By first enter, communicator and position.
    calls: BTreeMap<(i64, usize, u64), KeptCall>,
    n_times: usize,
    has_more: bool,
}

impl FirstCalls {
    fn keep(&mut self, key: (i64, usize, u64), new: impl FnOnce() -> KeptCall) {
        let is_full = self.n_times >= MOST_TIMES;
        if is_full
            && self
                .calls
                .last_key_value()
                .is_some_and(|(last, _)| *last < key)
        {
            self.has_more = true;
            return;
        }
        let call = new();
        self.n_times += call.enters_ns.len();
        self.calls.insert(key, call);
        while let Some(last) = self.calls.last_entry()
            && self.n_times - last.get().enters_ns.len() >= MOST_TIMES
        {
            self.n_times -= last.remove().enters_ns.len();
            self.has_more = true;
        }
    }
}

#[derive(Debug, Default)]
struct Collector<'n> {
    sites: SiteOfHost,
    /// Counts complete instances.
    n_taken: Option<&'n AtomicU64>,
    classes: BTreeMap<Key, Kept>,
    first: FirstCalls,
}

impl Merge for Collector<'_> {
    fn merge(&mut self, other: Self) {
        for (key, kept) in other.classes {
            let own = self.classes.entry(key).or_default();
            own.n += kept.n;
            kept.instances
                .into_values()
                .for_each(|instance| own.keep(instance));
        }
        for (key, call) in other.first.calls {
            self.first.keep(key, || call);
        }
        self.first.has_more |= other.first.has_more;
    }
}

impl Adder for Collector<'_> {
    type Sums = Self;
    type Rows = ();

    fn take(&mut self, matched: Outcome<'_>) {
        let Outcome::Complete(instance) = matched else {
            return;
        };
        if let Some(n_taken) = self.n_taken {
            n_taken.fetch_add(1, Ordering::Relaxed);
        }
        let root = instance.root.unwrap_or(0);
        let key = bytes_of_one(&instance).map(|bytes| Key {
            communicator: instance.communicator_index,
            operation: instance.operation.name(),
            root,
            bytes,
            reported: instance.reported,
            tree: instance.own_tree(),
        });
        if is_in_line(&instance) {
            let first_ns = instance.extent.first_enter;
            let at = (first_ns, instance.communicator_index, instance.position);
            self.first.keep(at, || KeptCall {
                operation: instance.operation,
                root,
                class: key,
                enters_ns: instance.enters.iter().map(|at| at.ns()).collect(),
                leaves_ns: instance.leaves.iter().map(|at| at.ns()).collect(),
            });
        }
        let Some(key) = key else {
            return;
        };
        let kept = self.classes.entry(key).or_default();
        kept.n += 1;
        let is_wanted = kept.instances.len() < MOST_INSTANCES
            || kept
                .instances
                .last_key_value()
                .is_some_and(|(last, _)| mix(instance.position) < last.0);
        if is_wanted {
            kept.keep(Instance::of(&instance, &self.sites));
        }
    }

    fn hand_over_rows(&mut self) {}

    fn finish(self) -> Self {
        self
    }
}

/// Whether processes do nothing else while they carry out an instance, and all of them are known.
fn is_in_line(instance: &CompleteInstance<'_>) -> bool {
    let communicator = instance.communicator;
    communicator.is_whole
        && communicator.kind == CommunicatorKind::Intra
        && instance.operation.blocking() == instance.operation
}

/// Bytes of one process, of a blocking collective on a whole intracommunicator in which all have equally many; `None` for
/// others.
fn bytes_of_one(instance: &CompleteInstance<'_>) -> Option<u64> {
    let communicator = instance.communicator;
    let n = communicator.members.len();
    let operation = instance.operation;
    if !is_in_line(instance) || n <= 1 || instance.n_failed > 0 {
        return None;
    }
    let payload = |slot: usize| instance.payloads.of(slot);
    match operation {
        Operation::Barrier => Some(0),
        Operation::Scatter => Some(payload(instance.root?)? / n as u64),
        Operation::Bcast => payload(instance.root?),
        _ => {
            let first = payload(0)?;
            if !(1..n).all(|slot| payload(slot) == Some(first)) {
                return None;
            }
            let is_of_all = matches!(operation, Operation::ReduceScatter | Operation::Alltoallv);
            Some(if is_of_all { first / n as u64 } else { first })
        }
    }
}

impl Instance {
    fn of(instance: &CompleteInstance<'_>, sites: &SiteOfHost) -> Self {
        let first_ns = instance.extent.first_enter;
        let after = |at: &Timestamp<Global>| (at.ns() - first_ns) as f64;
        let enters_ns: Vec<f64> = instance.enters.iter().map(after).collect();
        let leaves_ns: Vec<f64> = instance.leaves.iter().map(after).collect();
        let figure = Figure::of(instance.operation, instance.root.unwrap_or(0));
        let mut passes: Vec<Pass> = (instance.passes.iter())
            .map(|pass| Pass {
                collector: pass.collector,
                segment: pass.segment,
                ways_ns: [pass.down, pass.up].map(|at| at.map(|ns| (ns - first_ns) as f64)),
            })
            .collect();
        passes.sort_by_key(|pass| (pass.segment, pass.collector));
        Self {
            position: instance.position,
            took_ns: figure.takes_ns(&enters_ns, &leaves_ns),
            enters_ns,
            messages: samples(instance, sites),
            passes,
        }
    }

    fn n_events(&self) -> usize {
        self.messages.len() + self.passes.len()
    }

    /// The passes in each segment.
    pub(super) fn segments(&self) -> impl Iterator<Item = &[Pass]> {
        self.passes.chunk_by(|a, b| a.segment == b.segment)
    }
}

/// The site of each host; `None` if all are at one.
type SiteOfHost = Option<Arc<[usize]>>;

/// Samples of the messages of an instance.
fn samples(instance: &CompleteInstance<'_>, sites: &SiteOfHost) -> Vec<Sample> {
    let messages = instance.messages.map_or(&[][..], |of| of.paired);
    let first_ns = instance.extent.first_enter;
    let mut samples: Vec<Sample> = (messages.iter())
        .map(|of| Sample::of(of, first_ns))
        .collect();
    let site = |slot: u32| {
        let host = instance.communicator.members[slot as usize].host;
        sites.as_ref().map(|sites| sites[host])
    };
    let between_sites = |of: &InstanceMessage| {
        let sites = site(of.from).zip(site(of.to));
        sites.filter(|(from, to)| from != to)
    };
    mark_together(messages, &mut samples, |of| Some(of.from));
    mark_together(messages, &mut samples, |of| Some(of.to));
    mark_together(messages, &mut samples, between_sites);
    samples
}

/// Marks messages that were not alone where each is one at a time: those with the same key that were under way at once.
fn mark_together<K: Ord>(
    messages: &[InstanceMessage],
    samples: &mut [Sample],
    key: impl Fn(&InstanceMessage) -> Option<K>,
) {
    let mut order: Vec<usize> = (0..messages.len())
        .filter(|&at| key(&messages[at]).is_some())
        .collect();
    order.sort_unstable_by_key(|&at| (key(&messages[at]), messages[at].sent.ns(), at));
    // The one before with the latest end, with the same key.
    let mut before: Option<usize> = None;
    for at in order {
        let ends_ns = |at: usize| messages[at].received.map_or(i64::MAX, |end| end.ns());
        match before {
            Some(other) if key(&messages[other]) == key(&messages[at]) => {
                if messages[at].sent.ns() < ends_ns(other) {
                    samples[at].is_alone = false;
                    samples[other].is_alone = false;
                }
                if ends_ns(at) > ends_ns(other) {
                    before = Some(at);
                }
            }
            _ => before = Some(at),
        }
    }
}

impl Sample {
    fn of(message: &InstanceMessage, first_ns: i64) -> Self {
        let after = |at: Timestamp<Global>| at.ns() - first_ns;
        let received = message.received.filter(|_| !message.is_from_any);
        Self {
            from: message.from,
            to: message.to,
            bytes: message.bytes,
            is_alone: true,
            sent_ns: after(message.sent),
            returned_ns: (!message.is_send_nonblocking).then(|| after(message.send_returned)),
            posted_ns: after(message.posted),
            received_ns: received.map(after),
            positions: [message.nth_of_sender, message.nth_of_receiver],
        }
    }
}

impl Recorded {
    /// The sites of its hosts; `None` where round trips show no others.
    pub(super) fn sites(&self) -> Option<Sites> {
        Sites::find(self.hosts.len(), &self.round_trips_ns)
    }

    /// Reads a trace. `progress` is called now and then.
    ///
    /// # Errors
    /// [`AnalyzeError`] if there is nothing to read.
    pub fn read(
        files: &RunFiles,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, AnalyzeError> {
        let read = files.while_whole(&mut |files| -> Result<Self, RunError> {
            let run = Run::read(files)?;
            let (clocks, communicators) = prepare(&run, &Options::default(), progress);
            let prepared = Prepared {
                run: &run,
                clocks: &clocks,
                communicators: &communicators,
            };
            Ok(Self::of(prepared, None, progress))
        });
        Ok(read?)
    }

    /// From what was read before: all instances, or about as many of the first ones. `progress` is called now and then.
    #[must_use]
    pub fn of(
        prepared: Prepared<'_, '_>,
        first: Option<u64>,
        progress: &mut dyn FnMut(Progress),
    ) -> Self {
        let Prepared {
            run,
            clocks,
            communicators,
        } = prepared;
        let sites = Sites::find(clocks.hosts.len(), &clocks.round_trips_ns);
        let sites: SiteOfHost = sites.map(|sites| sites.of_host.into());
        let n_taken = AtomicU64::new(0);
        let new = &|| Collector {
            sites: sites.clone(),
            n_taken: first.map(|_| &n_taken),
            ..Collector::default()
        };
        let is_enough = || first.is_some_and(|first| n_taken.load(Ordering::Relaxed) >= first);
        // So that where it ends does not depend on the number of workers.
        let window = first.map(|_| RECORDS * run.processes.len() as u64);
        let (kept, _) = match_until(
            run,
            clocks,
            communicators,
            window,
            progress,
            new,
            &is_enough,
        );
        let mut host_of_rank = vec![None; run.world_size as usize];
        for (process, clock) in run.processes.iter().zip(&clocks.processes) {
            if let Some(host) = host_of_rank.get_mut(process.rank() as usize) {
                *host = Some(clock.host);
            }
        }
        let identity = &run.processes[0].trace.identity;
        let version = &identity.mpi.library_version;
        let (classes, numbers) = classes(kept.classes, run, communicators);
        Self {
            command: identity.command.clone(),
            library: version.lines().next().unwrap_or_default().trim().to_owned(),
            hosts: clocks.hosts.iter().map(|host| host.name.clone()).collect(),
            host_of_rank,
            round_trips_ns: clocks.round_trips_ns.clone(),
            classes,
            has_more_calls: kept.first.has_more,
            calls: calls(kept.first, &numbers, communicators),
        }
    }
}

/// World ranks of the members of a communicator.
fn ranks(communicators: &Communicators, number: usize) -> Option<Vec<u32>> {
    let members = communicators.list.get(number)?.members.iter();
    Some(members.map(|member| member.world_rank).collect())
}

/// The classes, and the index of each.
fn classes(
    kept: BTreeMap<Key, Kept>,
    run: &Run<'_>,
    communicators: &Communicators,
) -> (Vec<Class>, BTreeMap<Key, usize>) {
    let mut classes = Vec::new();
    let mut numbers = BTreeMap::new();
    for (key, kept) in kept {
        let communicator = communicators.list.get(key.communicator);
        let operation = Operation::from_name(key.operation);
        let ranks = ranks(communicators, key.communicator);
        let (Some(communicator), Some(operation), Some(ranks)) = (communicator, operation, ranks)
        else {
            continue;
        };
        let mut instances: Vec<Instance> = kept.instances.into_values().collect();
        instances.sort_unstable_by_key(|instance| instance.position);
        let names = key.reported.map(|reported| run.algorithm(reported));
        let names = names.unwrap_or_default();
        let tree = key.tree.and_then(|number| communicators.own_tree(number));
        numbers.insert(key, classes.len());
        let entries = &communicators.entries;
        let name = &entries[communicator.entry].name;
        let has_namesakes = entries.iter().filter(|of| of.name == *name).count() > 1;
        classes.push(Class {
            tree: tree.map(|(name, wrappers)| OwnTree {
                name: name.to_owned(),
                wrappers: wrappers.clone(),
            }),
            operation,
            communicator: name.clone(),
            number: has_namesakes.then_some(communicator.entry),
            ranks,
            root: key.root,
            bytes: key.bytes,
            reported: names
                .split(" + ")
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            n_instances: kept.n,
            instances,
        });
    }
    (classes, numbers)
}

fn calls(
    first: FirstCalls,
    classes: &BTreeMap<Key, usize>,
    communicators: &Communicators,
) -> Vec<CollectiveCall> {
    let Some(&(begin_ns, ..)) = first.calls.keys().next() else {
        return Vec::new();
    };
    let mut all_ranks: BTreeMap<usize, Arc<[u32]>> = BTreeMap::new();
    let after = |times: Vec<i64>| times.into_iter().map(|ns| (ns - begin_ns) as f64).collect();
    let calls = first.calls.into_iter().filter_map(|(key, call)| {
        let of_communicator = match all_ranks.get(&key.1) {
            Some(ranks) => ranks.clone(),
            None => {
                let ranks: Arc<[u32]> = ranks(communicators, key.1)?.into();
                all_ranks.entry(key.1).or_insert(ranks).clone()
            }
        };
        Some(CollectiveCall {
            ranks: of_communicator,
            operation: call.operation,
            root: call.root,
            class: call.class.and_then(|class| classes.get(&class).copied()),
            enters_ns: after(call.enters_ns),
            leaves_ns: after(call.leaves_ns),
        })
    });
    calls.collect()
}
