//! Compares the messages in the files with the truth.

use std::collections::{BTreeMap, VecDeque};
use std::fs;

use collbench_formats::{Definition, Direction, Operation, RankTrace, Semantics};

use super::super::{Truth, generate};

const INSIDE: &str = include_str!("../../../tests/scenarios/inside.toml");

/// A message, composed from the records of its two ends.
#[derive(Debug, Clone, Copy)]
struct Found {
    from: u32,
    to: u32,
    bytes: u64,
    sent: u64,
    posted: u64,
    completed: u64,
}

/// One end: rank, begin, end, bytes.
type End = (u64, u64, u64);

/// By operation and communicator: its messages, paired in their order between two ranks.
fn messages(files: &[Vec<u8>]) -> BTreeMap<(Operation, u64), Vec<Found>> {
    type Channel = (Operation, u64, u32, u32);
    let mut sends: BTreeMap<Channel, VecDeque<End>> = BTreeMap::new();
    let mut receives: BTreeMap<Channel, VecDeque<End>> = BTreeMap::new();
    for bytes in files {
        let trace = RankTrace::parse(bytes).unwrap();
        assert_eq!(trace.damage, []);
        let rank = trace.identity.rank;
        let mut ids = BTreeMap::new();
        for definition in trace.definitions.iter() {
            if let Definition::Communicator(communicator) = definition {
                ids.insert(communicator.index, communicator.id);
            }
        }
        let mut call: Option<(Operation, u64, u64)> = None;
        for record in trace.chunks.iter().flat_map(|chunk| chunk.records.iter()) {
            let (begin, end) = (record.enter.get(), record.leave.get());
            let Some(message) = record.message() else {
                call = record.operation().map(|operation| (operation, begin, end));
                continue;
            };
            let (operation, enter, leave) = call.expect("a message stands behind its call");
            assert!(begin >= enter && end >= begin && end <= leave);
            let id = ids[&message.communicator];
            let partner = message.known_partner().unwrap();
            let (ends, from, to) = match message.direction {
                Direction::Send => (&mut sends, rank, partner),
                Direction::Receive => (&mut receives, partner, rank),
            };
            let ends = ends.entry((operation, id, from, to)).or_default();
            ends.push_back((begin, end, message.bytes));
        }
    }
    let mut found: BTreeMap<_, Vec<Found>> = BTreeMap::new();
    for ((operation, id, from, to), sent) in sends {
        let received = receives.remove(&(operation, id, from, to)).unwrap();
        assert_eq!(sent.len(), received.len());
        for (send, receive) in sent.into_iter().zip(received) {
            assert_eq!(send.2, receive.2, "bytes of both ends");
            found.entry((operation, id)).or_default().push(Found {
                from,
                to,
                bytes: send.2,
                sent: send.0,
                posted: receive.0,
                completed: receive.1,
            });
        }
    }
    assert!(receives.is_empty(), "received and never sent: {receives:?}");
    found
}

fn written(text: &str) -> (Vec<Vec<u8>>, Truth) {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("scenario.toml");
    fs::write(&scenario, text).unwrap();
    let out = directory.path().join("trace");
    let truth = generate(&scenario, &out, None, false).unwrap();
    let entries = fs::read_dir(&out).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "trace"));
    paths.sort();
    (
        paths.iter().map(|path| fs::read(path).unwrap()).collect(),
        truth,
    )
}

/// Clocks that count the ns of one time, so that times of different ranks can be compared.
#[test]
fn both_ends_of_every_message_are_in_the_files_and_tell_what_the_truth_does() {
    let (files, truth) = written(INSIDE);
    let found = messages(&files);
    let n: usize = found.values().map(Vec::len).sum();
    assert_eq!(n as u64, truth.messages);
    let ends = truth.ranks.iter().map(|rank| rank.message_ends);
    assert_eq!(ends.sum::<u64>(), 2 * truth.messages);
    // Reduce and broadcast have several trees on one communicator: edges of all together.
    let all = || found.values().flatten();
    assert!(all().all(|m| m.completed > m.sent && m.completed > m.posted));
    let transfer = |m: &Found| i128::from(m.completed - m.sent.max(m.posted));
    let late = |m: &Found| i128::from(m.posted.saturating_sub(m.sent));
    let mut n_edges = 0;
    for from in 0..7 {
        for to in 0..7 {
            let on_it = || all().filter(|m| (m.from, m.to) == (from, to));
            let edges = truth.trees.iter().flat_map(|tree| &tree.edges);
            let edges = || edges.clone().filter(|e| (e.from, e.to) == (from, to));
            n_edges += edges().count();
            assert_eq!(
                on_it().count() as u64,
                edges().map(|e| e.messages).sum::<u64>()
            );
            assert_eq!(
                on_it().map(|m| m.bytes).sum::<u64>(),
                edges().map(|e| e.bytes).sum::<u64>()
            );
            assert_eq!(
                on_it().map(transfer).sum::<i128>(),
                edges().map(|e| e.transfer_ns.total).sum::<i128>()
            );
            assert_eq!(
                on_it().map(late).sum::<i128>(),
                edges().map(|e| e.late_receiver_ns.total).sum::<i128>()
            );
        }
    }
    // Six edges of each tree, in one or both directions, and those of the exchanges.
    assert!(n_edges > 6 * 6, "{n_edges}");
    assert_eq!(truth.trees.len(), 10, "of the barrier on halves two");
}

#[test]
fn times_at_a_node_add_up() {
    let (_, truth) = written(INSIDE);
    let mut n_late = 0;
    for tree in &truth.trees {
        assert_eq!(tree.instances, 40, "{} {}", tree.operation, tree.shape);
        for edge in &tree.edges {
            n_late += u64::from(edge.late_receiver_ns.max > 0);
            assert!(edge.transfer_ns.min >= 160, "{edge:?}");
        }
        for point in &tree.joining_points {
            // The last rank to arrive, or the first to leave, does not wait.
            let waits = |of: &dyn Fn(&super::TrueContributor) -> i64| {
                point.contributors.iter().map(of).min().unwrap_or(0)
            };
            assert_eq!(waits(&|c| c.arrival_wait_ns.min), 0);
            assert_eq!(waits(&|c| c.departure_wait_ns.min), 0);
            assert!(point.down_ns.min >= 0 && point.up_ns.min >= 0 && point.core_ns.min >= 0);
        }
        assert_eq!(tree.rounds.is_empty(), !tree.joining_points.is_empty());
        let begins: u64 = tree.critical_path.begins.values().sum();
        assert_eq!(begins, 40);
    }
    assert!(n_late > 10);
    // The slow link takes its time: the binomial broadcast from rank 3 uses it.
    let slow = truth.trees.iter().flat_map(|tree| &tree.edges);
    let slow = slow.filter(|e| e.from < 3 && e.to > 4 || e.from > 4 && e.to < 3);
    assert!(slow.clone().count() > 3);
    for edge in slow {
        assert!(edge.one_way_ns.min >= 150_160, "{edge:?}");
    }
}

#[test]
fn a_killed_rank_leaves_incomplete_messages() {
    let text = "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 4\nclock = \"raw\"\n\
                [[program]]\nrepeat = 9\noperation = \"MPI_Allreduce\"\nbytes = 8\n\
                tree = \"chain\"\n\
                [[faults]]\nrank = 2\nkilled_after_calls = 5\n";
    let (files, truth) = written(text);
    assert_eq!(truth.trees[0].instances, 5);
    let of_rank = |rank: usize| {
        let trace = RankTrace::parse(&files[rank]).unwrap();
        let records = trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
        let ends = records.filter_map(|r| Some((r.message()?, r.leave.get())));
        ends.collect::<Vec<_>>()
    };
    // Rank 1 waits for what the killed rank never sent; rank 3 has sent to it and waits.
    let (waiting, end) = *of_rank(1).last().unwrap();
    assert_eq!(
        (waiting.direction, waiting.partner, end),
        (Direction::Receive, 2, 0)
    );
    let ends = of_rank(3);
    let [.., (sent, sent_at), (waiting, end)] = ends[..] else {
        panic!("{ends:?}")
    };
    assert_eq!((sent.direction, sent.partner), (Direction::Send, 2));
    assert!(sent_at > 0);
    assert_eq!((waiting.direction, end), (Direction::Receive, 0));
    // 5 whole instances of two messages in both directions, and nothing of the one in which it
    // died.
    assert_eq!(of_rank(2).len(), 5 * 4);
    let in_flight = truth.ranks[2].in_flight.as_ref().unwrap();
    assert_eq!(in_flight.operation, "MPI_Allreduce");
}

/// No rank leaves earlier than its operation allows: trees follow the semantics of MPI.
#[test]
fn a_tree_keeps_the_promises_of_its_operation() {
    let (files, _) = written(INSIDE);
    /// Enter, leave, semantics, whether it is the root.
    type Call = (u64, u64, Semantics, bool);
    let mut instances: BTreeMap<(u64, u64), Vec<Call>> = BTreeMap::new();
    for bytes in &files {
        let trace = RankTrace::parse(bytes).unwrap();
        let mut known = BTreeMap::new();
        for definition in trace.definitions.iter() {
            if let Definition::Communicator(communicator) = definition {
                known.insert(communicator.index, (communicator.id, communicator.rank));
            }
        }
        let mut positions: BTreeMap<u32, u64> = BTreeMap::new();
        for record in trace.chunks.iter().flat_map(|chunk| chunk.records.iter()) {
            let Some(operation) = record.operation() else {
                continue;
            };
            let semantics = operation.semantics();
            if !semantics.is_matched() {
                continue;
            }
            let index = record.communicator.get();
            let position = positions.entry(index).or_default();
            let (id, own) = known[&index];
            let is_root = record.root.get() == own.cast_signed();
            instances.entry((id, *position)).or_default().push((
                record.enter.get(),
                record.leave.get(),
                semantics,
                is_root,
            ));
            *position += 1;
        }
    }
    let mut n = 0;
    for calls in instances.values() {
        let last_enter = calls.iter().map(|call| call.0).max().unwrap();
        let root = calls.iter().find(|call| call.3);
        for (_, leave, semantics, is_root) in calls {
            let least = match (semantics, root) {
                (Semantics::Barrier | Semantics::AllToAll, _) => last_enter,
                (Semantics::OneToMany, Some(root)) => root.0,
                (Semantics::ManyToOne, _) if *is_root => last_enter,
                _ => continue,
            };
            assert!(*leave > least, "{calls:?}");
            n += 1;
        }
    }
    assert!(n > 40 * 7 * 6, "{n}");
}
