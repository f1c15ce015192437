//! The messages inside collectives of a real Open MPI: each send meets its receive, trees are those
//! that were asked for, and the program's own messages are nobody's business.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use collbench_formats::{Direction, Operation};
use collbench_tests::{
    Analysis, End, Form, Job, Workspace, analyze, edges_of_bcasts, ends, have, n_received, paired,
    program, side_by_side, skip_unless, tuned,
};

/// What `messages.c` records with these options of the launcher.
fn record(
    ranks: usize,
    arguments: &[&str],
    launcher_options: &[&str],
    layers: &str,
) -> (Analysis, Vec<Vec<End>>) {
    let workspace = Workspace::new();
    let options = ["--layers", layers];
    let job = Job {
        options: &options,
        launcher_options,
        form: Form::Outer,
        ..Job::new(ranks, program("messages.c"), arguments)
    };
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(0);
    let plain = without_recording(ranks, arguments);
    assert_eq!(finished.stdout, plain, "the results are the same");
    (analyze(&trace, &[]).expect(0), ends(&trace))
}

/// What `messages.c` prints without recording, whatever the algorithms are: it is run once for all.
fn without_recording(ranks: usize, arguments: &[&str]) -> String {
    static PRINTED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut printed = PRINTED.lock().unwrap_or_else(PoisonError::into_inner);
    let run = || {
        let job = Job::new(ranks, program("messages.c"), arguments);
        job.plain(Workspace::new().path()).expect(0).stdout
    };
    let of = format!("{ranks} {arguments:?}");
    printed.entry(of).or_insert_with(run).clone()
}

#[test]
fn every_message_of_a_collective_meets_its_receive_and_none_before_it_is_sent() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    side_by_side(&[(4, "8"), (7, "20000")], |&(ranks, bytes)| {
        let (analysis, ends) = record(ranks, &["20", bytes, "1"], &[], "calls,messages");
        let pairs = paired(&ends);
        let n_with_end = n_received(&pairs);
        let sends = ends.iter().flatten();
        let sends = sends.filter(|end| end.message.direction == Direction::Send);
        let n_sends = sends.clone().count();
        assert_eq!(analysis.json["trace"]["messages"], n_sends);
        assert!(sends.clone().all(|send| send.end >= send.begin));
        // Each of the blocking operations in each of its instances: at least one message, of which
        // the library's wait tells the end. Nonblocking ones it looks into by itself.
        for operation in [
            Operation::Bcast,
            Operation::Reduce,
            Operation::Allreduce,
            Operation::Allgather,
            Operation::Alltoall,
            Operation::Barrier,
        ] {
            let of_it = |pair: &&(End, End)| pair.1.within == Some(operation);
            assert!(
                pairs
                    .iter()
                    .filter(of_it)
                    .all(|(_, receive)| receive.end != 0),
                "{operation:?}"
            );
            assert!(
                pairs.iter().filter(of_it).count() >= 20 * (ranks - 1),
                "{operation:?}"
            );
        }
        assert!(
            n_with_end > pairs.len() / 2,
            "{n_with_end} of {}",
            pairs.len()
        );
    });
}

#[test]
fn a_broadcast_takes_the_tree_that_was_asked_for() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    // Measured once by another tool, and as the algorithms are defined.
    let trees: [(&str, &[(u32, u32)]); 5] = [
        (
            "1",
            &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7)],
        ),
        (
            "3",
            &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)],
        ),
        (
            "5",
            &[(0, 1), (0, 2), (1, 3), (1, 5), (2, 4), (2, 6), (3, 7)],
        ),
        (
            "6",
            &[(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 6), (3, 7)],
        ),
        (
            "7",
            &[(0, 1), (0, 2), (0, 3), (0, 4), (4, 5), (4, 6), (4, 7)],
        ),
    ];
    let asked = [0, 3].into_iter();
    let asked = asked.flat_map(|root| trees.map(|(algorithm, tree)| (root, algorithm, tree)));
    let asked: Vec<_> = asked.collect();
    let names = asked.iter();
    let names = names.map(|(root, algorithm, _)| format!("bcast:{algorithm}:{root}:1024"));
    let names: Vec<String> = names.collect();
    let arguments = ["forced", "2"].into_iter();
    let arguments: Vec<&str> = arguments.chain(names.iter().map(String::as_str)).collect();
    let workspace = Workspace::new();
    let job = Job {
        options: &["--layers", "calls,messages"],
        launcher_options: &["--mca", "coll_tuned_use_dynamic_rules", "1"],
        ..Job::new(8, program("algorithms.c"), &arguments)
    };
    let trace = job.record_as_plain(workspace.path());
    // One communicator after the other is made for them.
    let edges = edges_of_bcasts(&ends(&trace));
    assert_eq!(edges.len(), asked.len());
    for ((root, algorithm, tree), edges) in asked.into_iter().zip(edges.into_values()) {
        let rotated = |rank: u32| (rank + root) % 8;
        let expected = tree.iter().map(|&(from, to)| (rotated(from), rotated(to)));
        assert_eq!(
            edges,
            expected.collect(),
            "algorithm {algorithm}, root {root}"
        );
    }
}

/// The algorithms that an analysis has for an operation, with their calls.
fn algorithms(analysis: &Analysis, operation: &str) -> Vec<(String, u64)> {
    let all = analysis.array("/algorithms").iter();
    all.filter(|algorithm| algorithm["operation"] == operation)
        .map(|algorithm| {
            let name = algorithm["name"].as_str().unwrap().to_owned();
            (name, algorithm["calls"].as_u64().unwrap())
        })
        .collect()
}

#[test]
fn the_library_names_the_algorithm_that_was_asked_for_with_messages_and_without() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let asked = [
        ("1", "bcast_intra_basic_linear"),
        ("2", "bcast_intra_chain"),
        ("5", "bcast_intra_bintree"),
        ("6", "bcast_intra_binomial"),
    ];
    let layers = ["calls,algorithms", "calls,messages,algorithms"];
    let asked = asked.map(|(number, name)| layers.map(|layers| (number, name, layers)));
    side_by_side(asked.as_flattened(), |&(number, name, layers)| {
        let options = tuned("coll_tuned_bcast_algorithm", number);
        let (analysis, ends) = record(5, &["3", "4096", "1"], &options, layers);
        assert_eq!(ends.iter().any(|ends| !ends.is_empty()), layers.len() > 16);
        // Three on each of two communicators, in five processes.
        assert_eq!(algorithms(&analysis, "MPI_Bcast"), [(name.to_owned(), 30)]);
        let of_allgather = algorithms(&analysis, "MPI_Allgather");
        // With a number of processes for which one is not made it takes another.
        assert!(!of_allgather.is_empty());
        assert!(of_allgather.iter().all(|&(_, calls)| calls == 15));
        let all = analysis.array("/algorithms");
        let bcast = all
            .iter()
            .find(|algorithm| algorithm["name"] == name)
            .unwrap();
        for (field, value) in [
            ("bytes_min", 4096),
            ("bytes_max", 4096),
            ("processes_max", 5),
        ] {
            assert_eq!(bcast[field], value, "{field}");
        }
    });
    let (analysis, _) = record(2, &["3", "8", "0"], &[], "calls");
    assert!(analysis.json["algorithms"].is_null());
}

/// All that can be recorded.
const ALL_LAYERS: &str = "all";

#[test]
fn programs_do_the_same_with_all_layers() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    // Threads in collectives at once; thousands of communicators that are made and given back;
    // nonblocking, persistent and neighborhood collectives; processes that are spawned.
    let programs = [
        ("threads.c", 2, "500"),
        ("communicators.c", 4, "2000"),
        ("kinds.c", 4, ""),
        ("storm.c", 4, ""),
        ("spawn.c", 2, ""),
    ];
    side_by_side(&programs, |&(name, ranks, argument)| {
        let workspace = Workspace::new();
        let logs = workspace.join("logs");
        std::fs::create_dir(&logs).unwrap();
        let logs = logs.to_str().unwrap();
        let arguments: &[&str] = match name {
            "kinds.c" => &[logs],
            "storm.c" => &[logs, "1000"],
            _ => &[argument],
        };
        let options = ["--layers", ALL_LAYERS];
        let job = Job {
            options: &options,
            ..Job::new(ranks, program(name), arguments)
        };
        let trace = job.record_as_plain(workspace.path());
        let analysis = analyze(&trace, &[]).expect(0);
        assert_eq!(analysis.json["trace"]["complete"], true, "{name}");
        assert!(
            analysis.json["trace"]["messages"].as_u64().unwrap() > 0,
            "{name}"
        );
        if name == "threads.c" {
            // Each thread has a communicator of its own.
            assert!(paired(&ends(&trace)).len() > 1000);
        }
    });
}

#[test]
fn what_is_sent_to_make_a_communicator_is_in_its_instance_whichever_call_the_library_is_in() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    side_by_side(&[2, 4], |&ranks| {
        let workspace = Workspace::new();
        let job = Job::new(ranks, program("making.c"), &[]);
        let analysis = job.analyzed(workspace.path());
        let ends = &analysis.json["trace"]["message_ends"];
        for lost in [
            "unpaired_sends",
            "unpaired_receives",
            "sends_elsewhere",
            "receives_elsewhere",
        ] {
            assert_eq!(ends[lost], 0, "{ranks} ranks: {ends}");
        }
        let of = |operation: &str| -> u64 {
            let all = analysis.array("/operations");
            let all = all.iter().filter(|of| of["operation"] == operation);
            all.map(|of| of["instances"].as_u64().unwrap()).sum()
        };
        assert_eq!((of("MPI_Comm_idup"), of("MPI_Iallreduce")), (80, 20));
        // Each of them agrees on a number, in three sums at least, of which each takes the same messages.
        let sent = |operation: &str| -> u64 {
            let all = analysis.array("/operations");
            let all = all.iter().filter(|of| of["operation"] == operation);
            let edges = all.flat_map(|of| of["edges"].as_array().unwrap().clone());
            edges.map(|edge| edge["messages"].as_u64().unwrap()).sum()
        };
        let of_sum = sent("MPI_Iallreduce") / 20;
        assert_eq!(of_sum, 2 * (ranks as u64 - 1));
        let n_idups = sent("MPI_Comm_idup");
        assert!(
            n_idups >= 80 * 3 * of_sum && n_idups.is_multiple_of(of_sum),
            "{n_idups}"
        );
    });
}

#[test]
fn with_calls_alone_no_message_is_seen() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let (analysis, ends) = record(2, &["3", "8", "0"], &[], "calls");
    assert!(ends.iter().all(Vec::is_empty));
    assert!(analysis.json["trace"]["messages"].is_null());
    let layer = &analysis.json["trace"]["layers"]["messages"];
    assert_eq!(layer["on"], false);
    assert!(
        layer["reason"].as_str().unwrap().contains("--layers"),
        "{layer}"
    );
}
