//! Rings: what the newest records tell is what a full trace tells of the same time, and nobody is
//! accused for what was overwritten.

use std::path::Path;

use collbench_analyzer::results::CauseKind;
use collbench_analyzer::{Analysis, Selection};
use collbench_formats::{CompletingCall, Direction, Message, Operation, Record};
use collbench_generate::generate;
use collbench_report::{Document, to_json, to_text};
use serde_json::Value;

use crate::built::{
    TestChunk, TestTrace, analyze_in_windows, analyze_part, assert_has, begin, call, codes,
    complete, initiation, only,
};
use crate::generated;

const MIXED: &str = r#"
[threads]
side = 1
[[hosts]]
name = "node1"
ranks = 4
clock = "raw"
[[program]]
operation = "MPI_Comm_dup"
makes = "side"
[[program]]
operation = "MPI_Comm_split"
split = { every = 2 }
makes = "half"
[[program]]
operation = "MPI_Intercomm_create"
on = "half"
makes = "bridge"
[[program]]
repeat = 80
steps = [
  { phase = 1 },
  { operation = "MPI_Iallreduce", bytes = 8, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Ibcast", bytes = 4096, root = 2 },
  { operation = "MPI_Allreduce", bytes = 64, work = [{ exponential_ns = 5000 }] },
  { operation = "MPI_Reduce_init", bytes = 512, root = 1 },
  { operation = "MPI_Comm_dup", makes = "copy" },
  { operation = "MPI_Bcast", on = "copy", bytes = 8 },
  { operation = "MPI_Comm_create_group", split = { colours = [0, -1, 0, -1] }, makes = "evens" },
  { operation = "MPI_Barrier", on = "evens", internal = true },
  { complete = "MPI_Waitall", work = [{ exponential_ns = 20000 }] },
  { phase = 2 },
  { operation = "MPI_Bcast", on = "side", bytes = 80, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Reduce", on = "bridge", bytes = 8, root = "rotating", root_group = 1 },
  { operation = "MPI_Comm_free", on = "copy" },
  { operation = "MPI_Comm_free", on = "evens" },
]
"#;

fn written(directory: &Path, name: &str, head: &str, rest: &str) -> Analysis {
    let scenario = directory.join(format!("{name}.toml"));
    let text = format!("schema = 1\nname = \"ring\"\nchunk_calls = 50\n{head}\n{rest}");
    std::fs::write(&scenario, text).unwrap();
    generate(&scenario, &directory.join(name), Some(7), true).unwrap();
    whole(&directory.join(name))
}

fn whole(trace: &Path) -> Analysis {
    analyze_part(trace, &Selection::default()).unwrap()
}

/// What is said of the calls from a time on, apart from the trace as a whole.
fn from(trace: &Path, from_ns: i64) -> Value {
    let selection = Selection {
        from_ns: Some(from_ns),
        ..Selection::default()
    };
    let analysis = analyze_part(trace, &selection).unwrap();
    let mut json: Value = serde_json::from_str(&to_json(&Document::of(&analysis))).unwrap();
    let document = json.as_object_mut().unwrap();
    for apart in ["trace", "clock", "phases", "remarks"] {
        document.remove(apart);
    }
    json
}

#[test]
fn rings_of_different_length_tell_the_same_of_the_time_that_all_hold() {
    let directory = tempfile::tempdir().unwrap();
    let full = written(directory.path(), "full", "", MIXED);
    let ring = written(directory.path(), "ring", "keep_chunks = [12, 5, 9]", MIXED);
    assert_eq!(full.trace.window, None);
    let window = ring.trace.window.as_ref().unwrap();
    assert!(ring.trace.complete, "{:?}", ring.trace.damage);
    assert_eq!(window.calls_made, full.trace.calls);
    assert_eq!(window.calls_made - window.calls_dropped, ring.trace.calls);
    for (rank, of_full) in window.ranks.iter().zip(&full.ranks) {
        assert_eq!(rank.calls_made, of_full.calls);
        assert!(rank.records_dropped > rank.calls_dropped && rank.calls_dropped > 200);
    }
    let begins: Vec<_> = window
        .ranks
        .iter()
        .map(|rank| rank.from_ns.unwrap())
        .collect();
    assert_eq!(window.from_ns, begins.iter().copied().max());
    assert!(begins[1] > begins[2] && begins[2] > begins[0], "{begins:?}");

    let paths = ["full", "ring"].map(|name| directory.path().join(name));
    let [of_full, of_ring] = paths.map(|path| from(&path, begins[1] + 1));
    assert!(of_ring["operations"].as_array().unwrap().len() > 8);
    assert_eq!(of_ring, of_full);
}

#[test]
fn what_was_overwritten_is_counted_apart_and_accuses_nobody() {
    let directory = tempfile::tempdir().unwrap();
    let ring = written(directory.path(), "ring", "keep_chunks = [12, 5, 9]", MIXED);
    let window = ring.trace.window.as_ref().unwrap();
    assert!(window.instances_cut > 50 && window.calls_of_cut > window.instances_cut);
    let of_operations: u64 = ring.operations.iter().map(|it| it.calls).sum();
    assert_eq!(of_operations + window.calls_of_cut, ring.trace.calls);
    assert!(
        ring.operations
            .iter()
            .all(|operation| operation.incomplete == 0)
    );
    assert_eq!(ring.unfinished, []);
    let expected = ["ring", "internal_calls"];
    assert_eq!(codes(&ring), expected, "{:#?}", ring.remarks);
    let text = generated::plain(&to_text(&ring, None));
    let kept = format!(
        "kept  the newest {} of {} calls",
        ring.trace.calls, window.calls_made
    );
    assert_has(&text, &kept);
}

#[test]
fn waits_at_the_begin_of_a_ring_are_unexplained_and_not_of_the_startup() {
    const LOOP: &str = r#"
[[hosts]]
name = "node1"
ranks = 4
[[program]]
repeat = 400
steps = [{ operation = "MPI_Allreduce", bytes = 8, work = [{ exponential_ns = 9000 }] }]
"#;
    let directory = tempfile::tempdir().unwrap();
    // Of a full trace it is known when MPI_Init returned, and what ranks did since then.
    for (name, keeps, expected) in [
        ("full", "", &[][..]),
        ("ring", "keep_chunks = [4, 3]", &[CauseKind::Unexplained]),
    ] {
        let analysis = written(directory.path(), name, keeps, LOOP);
        let causes = analysis.causes.iter();
        let unexplained = [CauseKind::Startup, CauseKind::Unexplained];
        let kinds = causes
            .map(|cause| cause.kind)
            .filter(|kind| unexplained.contains(kind));
        assert_eq!(kinds.collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn a_ring_that_never_was_full_is_like_a_full_trace() {
    let directory = tempfile::tempdir().unwrap();
    let full = written(directory.path(), "full", "", MIXED);
    let ring = written(directory.path(), "ring", "keep_chunks = [1000]", MIXED);
    let window = ring.trace.window.clone().unwrap();
    assert_eq!((window.from_ns, window.calls_dropped), (None, 0));
    assert_eq!(window.calls_made, ring.trace.calls);
    assert!(!codes(&ring).contains(&"ring"));
    let mut alike = ring;
    alike.trace.window = None;
    alike.trace.directory = full.trace.directory.clone();
    assert_eq!(
        to_json(&Document::of(&alike)),
        to_json(&Document::of(&full))
    );
}

/// One rank is killed long before the end of the others' windows.
#[test]
fn who_never_came_is_told_and_who_went_on_is_not_accused() {
    let directory = tempfile::tempdir().unwrap();
    let program = r#"
[[hosts]]
name = "node1"
ranks = 4
clock = "raw"
[[program]]
repeat = 500
steps = [
  { operation = "MPI_Allreduce", bytes = 8, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Barrier", on = "self" },
]
[[faults]]
rank = 2
killed_after_calls = 901
"#;
    let ring = written(directory.path(), "ring", "keep_chunks = [3, 8, 2]", program);
    assert!(!ring.trace.complete);
    // It died in a barrier of its own.
    let [unfinished, own] = &ring.unfinished[..] else {
        panic!("{:#?}", ring.unfinished);
    };
    assert_eq!((&own.inside[..], own.sequence), (&[2][..], 450));
    assert_eq!(unfinished.inside, [0, 1, 3]);
    assert_eq!(unfinished.never_came, [2]);
    assert_eq!(unfinished.sequence, 451);
}

/// An end of a message on `MPI_COMM_WORLD` with a tag, at one instant.
fn end(direction: Direction, tag: i16, partner: u32, at: u64) -> Record {
    let message = Message {
        direction,
        is_nonblocking: true,
        partner,
        communicator: 0,
        tag: tag as u16,
        bytes: 8,
    };
    Record::of_words(
        message.words(),
        crate::built::START + at,
        crate::built::START + at + 1,
    )
}

/// Rank 0 sends to 1, and 1 to 2, with each allreduce. In the first one rank 0 also sends on what a
/// broadcast sends, which it began before its window.
fn with_a_broadcast_from_before(is_ring: bool) -> Analysis {
    let (send, receive) = (Direction::Send, Direction::Receive);
    let (blocking, nonblocking) = (-12, -30);
    let mut trace = TestTrace::new(3);
    let begun = initiation(0, 0);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        process.with_messages();
        let mut records = vec![begin(Operation::Ibcast, 0, 0, 8, (1000, 1100))];
        records.push(match rank {
            0 => end(send, nonblocking, 1, 1050),
            _ => end(receive, nonblocking, 0, 1060),
        });
        let n_before = records.len();
        for enter in [2000, 4000] {
            records.push(call(Operation::Allreduce, 0, -1, 8, (enter, enter + 500)));
            match rank {
                0 => records.push(end(send, blocking, 1, enter + 10)),
                1 => records.extend([
                    end(receive, blocking, 0, enter + 20),
                    end(send, blocking, 2, enter + 30),
                ]),
                _ => records.push(end(receive, blocking, 1, enter + 40)),
            }
            if enter == 2000 {
                records.extend((rank == 0).then(|| end(send, nonblocking, 2, 2100)));
                records.push(complete(begun, CompletingCall::Wait, 1, (3000, 3100)));
            }
        }
        // A ring has lost the first records of rank 0.
        if is_ring && rank == 0 {
            process.keep_bytes = 1 << 16;
            process.chunks[0] = TestChunk {
                ordinal: 1,
                first_record: 2,
                opened: 1500,
                sequences: vec![(0, 0, 1), (1, 0, 0), (u32::MAX, 0, 2)],
                records: records.split_off(n_before),
                ..TestChunk::default()
            };
        } else {
            process.chunks[0].records = records;
        }
    }
    trace.analyze()
}

#[test]
fn messages_of_what_began_before_the_window_are_in_no_call_within_it() {
    let full = with_a_broadcast_from_before(false);
    let ends = full.trace.message_ends.as_ref().unwrap();
    assert_eq!((ends.paired, ends.sends_elsewhere), (6, 0));
    let trees = only(&full, "MPI_Allreduce").trees.as_ref().unwrap();
    assert_eq!(trees[0].instances, 2);

    let ring = with_a_broadcast_from_before(true);
    let window = ring.trace.window.as_ref().unwrap();
    assert_eq!((window.calls_of_cut, window.instances_cut), (2, 1));
    assert_eq!(codes(&ring), ["ring"], "{:#?}", ring.remarks);
    // The second allreduce, of which all messages are its own.
    let ends = ring.trace.message_ends.as_ref().unwrap();
    assert_eq!((ends.paired, ends.unpaired_sends), (2, 0));
    assert_eq!((ends.sends_elsewhere, ends.receives_elsewhere), (3, 4));
    // What ran in the first is not known.
    let allreduces = ring.operations.iter();
    let allreduces = allreduces.filter(|operation| operation.operation == "MPI_Allreduce");
    let found: Vec<_> = allreduces
        .map(|operation| (operation.instances, operation.trees.as_ref().map(Vec::len)))
        .collect();
    assert_eq!(found, [(1, None), (1, Some(1))]);
}

/// A thread that has made few calls holds some from before the window; behind the first one from
/// the window a damaged one says that it began earlier.
#[test]
fn what_is_from_before_the_window_does_not_depend_on_how_many_records_are_looked_at_together() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.keep_bytes = 1 << 16;
        let barrier = |enter: u64| call(Operation::Barrier, 1, -1, 0, (enter, enter + 50));
        let allreduce = |enter: u64| call(Operation::Allreduce, 0, -1, 8, (enter, enter + 50));
        process.chunks = vec![
            TestChunk {
                ordinal: 1,
                first_record: 2,
                opened: 1500,
                sequences: vec![(0, 0, 1), (1, 0, 2), (u32::MAX, 0, 2)],
                records: [2000, 3000, 4000].map(allreduce).into(),
                ..TestChunk::default()
            },
            TestChunk {
                thread: 1,
                opened: 900,
                records: [1000, 1100, 2200, 1200, 1300, 3300].map(barrier).into(),
                ..TestChunk::default()
            },
        ];
    }
    let directory = trace.in_directory();
    let found = |window: u64| {
        let analysis = analyze_in_windows(directory.path(), window);
        to_json(&Document::of(&analysis))
    };
    let expected = found(1000);
    let whole = whole(directory.path());
    let own = only(&whole, "MPI_Barrier");
    // Two of each process are from before.
    assert_eq!((own.calls, own.instances), (8, 8));
    for window in 1..6 {
        assert_eq!(found(window), expected, "{window}");
    }
}
