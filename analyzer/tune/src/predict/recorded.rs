//! The instances of a recorded run that predictions are made from: when processes entered and left, and
//! their messages.

use std::collections::BTreeMap;

use collbench_analyzer::steps::{
    Adder, AlgorithmNames, Communicators, CompleteInstance, InstanceMessage, Merge, Outcome, Run,
    match_calls, prepare,
};
use collbench_analyzer::{AnalyzeError, Options, Progress, RunError, RunFiles};
use collbench_clocks::timestamp::{Global, Timestamp};
use collbench_formats::{CommunicatorKind, Operation};
use collbench_stats::random::mix;

use super::figure::Figure;

/// Instances of a class that are kept, at most.
const MOST_INSTANCES: usize = 1000;
/// Messages of a class that are kept, at most, unless one instance has more.
const MOST_MESSAGES: usize = 200_000;

/// A message of a kept instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// Rank of the sender in the communicator.
    pub from: u32,
    /// Rank of the receiver.
    pub to: u32,
    /// Its length.
    pub bytes: u64,
    /// From the begin of the send to the end of the receive, ns, on the clocks of both; `None` where the receive may have been
    /// posted later than the message arrived, or its end is not known.
    pub one_way_ns: Option<i64>,
    /// Whether its sender sent, and its receiver received, no other one meanwhile, so that it waited for none.
    pub is_alone: bool,
    /// How long the receive took that was posted long after the message was sent, ns.
    pub late_receive_ns: Option<i64>,
    /// How long the call to send took, ns; `None` where it returned before.
    pub send_ns: Option<i64>,
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
}

/// What instances have in common that are predicted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    communicator: usize,
    operation: &'static str,
    root: usize,
    bytes: u64,
    reported: Option<AlgorithmNames>,
}

/// Instances that are predicted together.
#[derive(Debug, Clone)]
pub struct Class {
    /// What was called.
    pub operation: Operation,
    /// The name of the communicator.
    pub communicator: String,
    /// World ranks, by rank of the communicator.
    pub ranks: Vec<u32>,
    /// The root, where there is one; else 0.
    pub root: usize,
    /// Bytes of one process: what it contributes, or sends to each other process.
    pub bytes: u64,
    /// Names that the library reported.
    pub reported: Vec<String>,
    /// How many instances there are.
    pub n_instances: u64,
    /// Some of them, by position.
    pub instances: Vec<Instance>,
}

/// A recorded run.
#[derive(Debug, Clone)]
pub struct Recorded {
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
        self.n_messages += instance.messages.len();
        self.instances.insert((number, instance.position), instance);
        while self.instances.len() > MOST_INSTANCES
            || (self.n_messages > MOST_MESSAGES && self.instances.len() > 1)
        {
            if let Some((_, dropped)) = self.instances.pop_last() {
                self.n_messages -= dropped.messages.len();
            }
        }
    }
}

#[derive(Debug, Default)]
struct Collector(BTreeMap<Key, Kept>);

impl Merge for Collector {
    fn merge(&mut self, other: Self) {
        for (key, kept) in other.0 {
            let own = self.0.entry(key).or_default();
            own.n += kept.n;
            kept.instances
                .into_values()
                .for_each(|instance| own.keep(instance));
        }
    }
}

impl Adder for Collector {
    type Sums = Self;

    fn take(&mut self, matched: Outcome<'_>) {
        let Outcome::Complete(instance) = matched else {
            return;
        };
        let Some(bytes) = bytes_of_one(&instance) else {
            return;
        };
        let key = Key {
            communicator: instance.communicator_index,
            operation: instance.operation.name(),
            root: instance.root.unwrap_or(0),
            bytes,
            reported: instance.reported,
        };
        let kept = self.0.entry(key).or_default();
        kept.n += 1;
        let is_wanted = kept.instances.len() < MOST_INSTANCES
            || kept
                .instances
                .last_key_value()
                .is_some_and(|(last, _)| mix(instance.position) < last.0);
        if is_wanted {
            kept.keep(Instance::of(&instance));
        }
    }

    fn finish(self) -> Self {
        self
    }
}

/// Bytes of one process, of a blocking collective on a whole intracommunicator in which all have equally many; `None` for
/// others.
fn bytes_of_one(instance: &CompleteInstance<'_>) -> Option<u64> {
    let communicator = instance.communicator;
    let n = communicator.members.len();
    let operation = instance.operation;
    let is_wanted = communicator.is_whole
        && communicator.kind == CommunicatorKind::Intra
        && n > 1
        && operation.blocking() == operation
        && instance.n_failed == 0;
    if !is_wanted {
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
    fn of(instance: &CompleteInstance<'_>) -> Self {
        let first_ns = instance.extent.first_enter;
        let after = |at: &Timestamp<Global>| (at.ns() - first_ns) as f64;
        let enters_ns: Vec<f64> = instance.enters.iter().map(after).collect();
        let leaves_ns: Vec<f64> = instance.leaves.iter().map(after).collect();
        let figure = Figure::of(instance.operation, instance.root.unwrap_or(0));
        let messages = instance.messages.map_or(&[][..], |of| of.paired);
        Self {
            position: instance.position,
            took_ns: figure.takes_ns(&enters_ns, &leaves_ns),
            enters_ns,
            messages: samples(messages),
        }
    }
}

/// Samples of the messages of an instance.
fn samples(messages: &[InstanceMessage]) -> Vec<Sample> {
    let mut samples: Vec<Sample> = messages.iter().map(Sample::of).collect();
    for end in [|of: &InstanceMessage| of.from, |of: &InstanceMessage| of.to] {
        let mut order: Vec<usize> = (0..messages.len()).collect();
        order.sort_unstable_by_key(|&at| (end(&messages[at]), messages[at].sent.ns(), at));
        // The one before with the latest end, of the same process.
        let mut before: Option<usize> = None;
        for at in order {
            let ends_ns = |at: usize| messages[at].received.map_or(i64::MAX, |end| end.ns());
            match before {
                Some(other) if end(&messages[other]) == end(&messages[at]) => {
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
    samples
}

impl Sample {
    fn of(message: &InstanceMessage) -> Self {
        let sent_ns = message.sent.ns();
        let posted_ns = message.posted.ns();
        let received_ns = message.received.filter(|_| !message.is_from_any);
        let received_ns = received_ns.map(|at| at.ns());
        // Half of the time after the send it was posted: then it was there before the message arrived.
        let was_posted = |received_ns: &i64| 2 * (posted_ns - sent_ns) <= received_ns - sent_ns;
        Self {
            from: message.from,
            to: message.to,
            bytes: message.bytes,
            is_alone: true,
            one_way_ns: received_ns.filter(was_posted).map(|ns| ns - sent_ns),
            late_receive_ns: received_ns
                .filter(|ns| posted_ns - sent_ns > 2 * (ns - posted_ns))
                .map(|ns| ns - posted_ns),
            send_ns: (!message.is_send_nonblocking).then(|| message.send_returned.ns() - sent_ns),
        }
    }
}

impl Recorded {
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
            let new = &Collector::default;
            let (kept, _) = match_calls(&run, &clocks, &communicators, None, progress, new);
            let mut host_of_rank = vec![None; run.world_size as usize];
            for (process, clock) in run.processes.iter().zip(&clocks.processes) {
                if let Some(host) = host_of_rank.get_mut(process.rank() as usize) {
                    *host = Some(clock.host);
                }
            }
            let version = &run.processes[0].trace.identity.mpi.library_version;
            Ok(Self {
                library: version.lines().next().unwrap_or_default().trim().to_owned(),
                hosts: clocks.hosts.iter().map(|host| host.name.clone()).collect(),
                host_of_rank,
                round_trips_ns: clocks.round_trips_ns.clone(),
                classes: classes(kept, &run, &communicators),
            })
        });
        Ok(read?)
    }
}

fn classes(kept: Collector, run: &Run<'_>, communicators: &Communicators) -> Vec<Class> {
    let classes = kept.0.into_iter().filter_map(|(key, kept)| {
        let communicator = communicators.list.get(key.communicator)?;
        let mut instances: Vec<Instance> = kept.instances.into_values().collect();
        instances.sort_unstable_by_key(|instance| instance.position);
        let names = key.reported.map(|reported| run.algorithm(reported));
        let names = names.unwrap_or_default();
        Some(Class {
            operation: Operation::from_name(key.operation)?,
            communicator: communicators.entries[communicator.entry].name.clone(),
            ranks: communicator
                .members
                .iter()
                .map(|member| member.world_rank)
                .collect(),
            root: key.root,
            bytes: key.bytes,
            reported: names
                .split(" + ")
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
                .collect(),
            n_instances: kept.n,
            instances,
        })
    });
    classes.collect()
}
