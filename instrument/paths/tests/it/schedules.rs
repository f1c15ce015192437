//! Messages between hosts, as the schedules of trees have them that predictions are made from.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

use collbench_formats::tree::{Collective, Place, Wrappers};
use collbench_paths::{
    Combine, Idle, InProcess, Received, Reference, SimulatedCosts, SimulatedMemory, TeamOptions,
    Transport, TransportError, WaitPolicy,
};
use collbench_schedules::own_trees::{NoSchedule, SEGMENT_BYTES, TreeCall, schedule};
use collbench_schedules::{Evaluator, Link, Network, Schedule, Way, What};
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Members, Order, tree_for};

use crate::call::Call;
use crate::random::{Random, random_tree_on};
use crate::reference::Op;
use crate::run::on_all_with;

/// What a process did with messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Did {
    Received { from: u32, bytes: usize },
    Sent { to: u32, bytes: usize },
}

/// A process that writes down its messages.
struct Noting {
    process: InProcess,
    did: RefCell<Vec<Did>>,
}

impl Transport for Noting {
    type Memory = SimulatedMemory;

    fn rank(&self) -> u32 {
        self.process.rank()
    }

    fn share(&self, n_lines: usize) -> Result<SimulatedMemory, TransportError> {
        self.process.share(n_lines)
    }

    fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError> {
        self.did.borrow_mut().push(Did::Sent {
            to,
            bytes: bytes.len(),
        });
        self.process.send(to, tag, bytes)
    }

    fn receive(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        let received = self.process.receive(from, tag, into)?;
        self.did
            .borrow_mut()
            .extend(received.map(|Received { from, bytes }| Did::Received { from, bytes }));
        Ok(received)
    }

    fn progress(&self) -> Result<(), TransportError> {
        self.process.progress()
    }

    fn copy_from(&self, reference: &Reference, into: &mut [u8]) -> bool {
        self.process.copy_from(reference, into)
    }

    fn now(&self) -> u64 {
        self.process.now()
    }
}

/// What each process did with messages in a call, by rank.
fn executed(tree: &Wrappers, call: Call) -> Vec<Vec<Did>> {
    let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default()).into_iter();
    let noting = processes.map(|process| Noting {
        process,
        did: RefCell::default(),
    });
    let options = TeamOptions::new(WaitPolicy::new(Idle::Yield));
    assert_eq!(options.segment_bytes as u64, SEGMENT_BYTES);
    let n_ranks = tree.n_ranks();
    on_all_with(noting.collect(), tree, options, move |team, me| {
        call.got(team, n_ranks, me);
        team.transport().did.take()
    })
}

/// What each process does with messages in a schedule, by rank.
fn written(schedule: &Schedule) -> Vec<Vec<Did>> {
    let messages = schedule.messages().expect("messages have two ends");
    let processes = schedule.processes.iter().enumerate();
    let of_process = processes.map(|(rank, process)| {
        let actions = process.actions.iter().enumerate();
        let did = actions.filter_map(|(at, action)| match action.what {
            What::Send { to, bytes, .. } => Some(Did::Sent {
                to: to as u32,
                bytes: bytes as usize,
            }),
            What::Receive { .. } => {
                let mut of = messages.iter();
                let message = of.find(|of| (of.to, of.receive) == (rank, at));
                message.map(|message| Did::Received {
                    from: message.from as u32,
                    bytes: message.bytes as usize,
                })
            }
            What::Combine { .. } => None,
        });
        did.collect()
    });
    of_process.collect()
}

/// Receives between two sends may come in any order.
fn in_order(mut did: Vec<Did>) -> Vec<Did> {
    let is_received = |of: &Did| matches!(of, Did::Received { .. });
    for between in did.chunk_by_mut(|a, b| is_received(a) && is_received(b)) {
        between.sort_unstable();
    }
    did
}

/// Compares the messages of a call. Returns whether it has a schedule.
fn is_compared(tree: &Wrappers, call: Call) -> bool {
    let bytes = match call.collective {
        Collective::Barrier => 0,
        _ => call.count * call.op.element_bytes(),
    };
    let of = TreeCall {
        collective: call.collective,
        root: call.root,
        bytes: bytes as u64,
        element_bytes: call.op.element_bytes() as u64,
    };
    let found = match schedule(tree, &of) {
        Ok(found) => found.schedule,
        Err(NoSchedule::Overtaking { .. }) => return false,
        Err(other) => panic!("{other}: {call:?}\n{tree:#?}"),
    };
    let (executed, written) = (executed(tree, call), written(&found));
    assert_ends(&found);
    if tree.hosts().iter().collect::<BTreeSet<_>>().len() < tree.hosts().len() {
        let [executed, written] = [executed, written].map(|did| between_hosts(tree, &did));
        assert_eq!(executed, written, "{call:?}\n{tree:#?}");
        return true;
    }
    for (rank, (executed, written)) in executed.into_iter().zip(written).enumerate() {
        assert_eq!(
            in_order(executed),
            in_order(written),
            "rank {rank}: {call:?}\n{tree:#?}"
        );
    }
    true
}

/// No process waits for ever.
fn assert_ends(schedule: &Schedule) {
    let n_processes = schedule.processes.len();
    let link = Link {
        send_overhead_ns: 1.0,
        receive_overhead_ns: 1.0,
        latency_ns: 10.0,
        gap_ns: 0.0,
        gap_per_byte_ns: 0.0,
        receive_gap_ns: 0.0,
        receive_gap_per_byte_ns: 0.0,
        eager_bytes: u64::MAX,
    };
    let network = Network::new(n_processes, vec![link], |_, _| Way::default());
    let mut evaluator = Evaluator::new(schedule).expect("messages have two ends");
    let leaves_ns = evaluator.leaves_ns(&network, &vec![0.0; n_processes], |_| 0.0);
    assert_eq!(leaves_ns.len(), n_processes);
}

/// The messages between hosts, each with both hosts and its length: which process of a host sends one may depend on
/// who arrives last.
fn between_hosts(tree: &Wrappers, did: &[Vec<Did>]) -> Vec<(u32, u32, usize)> {
    let hosts = tree.hosts();
    let mut messages = Vec::new();
    for (&host, did) in hosts.iter().zip(did) {
        messages.extend(did.iter().filter_map(|did| match *did {
            Did::Sent { to, bytes } => Some((host, hosts[to as usize], bytes)),
            Did::Received { .. } => None,
        }));
    }
    messages.retain(|(from, to, _)| from != to);
    messages.sort_unstable();
    messages
}

/// A call with a payload of some bytes, or of several segments.
fn random_call(random: &mut Random, n_ranks: usize) -> Call {
    let count = match random.below(3) {
        0 => 1 + random.below(20),
        1 => 1 + random.below(1024),
        _ => 1 + random.below(5000),
    };
    Call {
        op: Op::Sum,
        count,
        ..Call::random(random, n_ranks)
    }
}

#[test]
fn schedules_have_the_messages_of_random_trees() {
    let mut n_compared = 0;
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let n_ranks = 2 + random.below(8);
        let tree = random_tree_on(&mut random, (0..n_ranks as u32).collect());
        let call = random_call(&mut random, n_ranks);
        n_compared += usize::from(is_compared(&tree, call));
    }
    // In the others, which are spelled out in a strange way, messages overtake each other.
    assert!(n_compared > 500, "{n_compared}");
}

#[test]
fn schedules_have_the_messages_between_hosts_with_several_processes() {
    let mut n_compared = 0;
    for seed in 0..600 {
        let mut random = Random::new(1000 + seed);
        let n_ranks = 2 + random.below(10);
        let n_hosts = 1 + random.below(4);
        let hosts: Vec<u32> = (0..n_ranks).map(|_| random.below(n_hosts) as u32).collect();
        let tree = random_tree_on(&mut random, hosts);
        let call = random_call(&mut random, n_ranks);
        n_compared += usize::from(is_compared(&tree, call));
    }
    assert!(n_compared > 500, "{n_compared}");
}

#[test]
fn schedules_have_the_messages_of_all_shapes_and_operations() {
    let shapes = [
        "linear",
        "chain 1",
        "chain 3",
        "binary",
        "4-nomial",
        "binomial",
        "in-order binary",
        "exchange",
    ];
    let mut random = Random::new(7);
    for (nth, shape) in shapes.into_iter().enumerate() {
        for n_ranks in [2, 3, 5, 8, 9] {
            for collective in Collective::ALL {
                if shape == "exchange" && collective.has_root() {
                    continue;
                }
                let text = format!(
                    "[[tree]]\noperations = [\"{}\"]\nshape = {{ ranks = \"linear\", hosts = \"{shape}\" }}",
                    collective.name()
                );
                let file = TreeFile::parse(&text, Path::new("")).expect("a tree file");
                let place = |host: usize| Place {
                    host: host as u32,
                    ..Place::default()
                };
                let places: Vec<Place> = (0..n_ranks).map(place).collect();
                let hosts: Vec<String> = (0..n_ranks).map(|host| format!("h{host}")).collect();
                let members = Members {
                    hosts: &hosts,
                    places: &places,
                };
                let call = Call {
                    collective,
                    ..random_call(&mut random, n_ranks)
                };
                let root = collective.has_root().then_some(call.root);
                let operation = (collective, root);
                let tree = tree_for(&file.rules, operation, 64, Order::Any, members);
                let (_, tree) = tree.expect("a tree for these hosts");
                assert!(is_compared(&tree, call), "{nth} {call:?}");
            }
        }
    }
}
