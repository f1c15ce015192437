//! The trees inside the collectives of a real Open MPI: the edges that each algorithm was asked for,
//! and its name; every message in its instance; what cannot be seen, said so.

use std::collections::BTreeSet;

use collbench_tests::{
    Analysis, Form, Job, Workspace, have, program, side_by_side, skip_unless, tuned,
};
use serde_json::Value;

/// Records a program with messages, and analyses that.
fn record(ranks: usize, source: &str, arguments: &[&str], launcher_options: &[&str]) -> Analysis {
    let layers = "calls,messages";
    record_layers(layers, ranks, source, arguments, launcher_options)
}

/// Records a program with the given layers.
fn record_layers(
    layers: &str,
    ranks: usize,
    source: &str,
    arguments: &[&str],
    launcher_options: &[&str],
) -> Analysis {
    let workspace = Workspace::new();
    let job = Job {
        options: &["--layers", layers],
        launcher_options,
        form: Form::Outer,
        ..Job::new(ranks, program(source), arguments)
    };
    job.analyzed(workspace.path())
}

/// The entries of an operation that are told how it was done.
fn entries<'a>(analysis: &'a Analysis, operation: &str) -> Vec<&'a Value> {
    let all = analysis.json["operations"].as_array().unwrap().iter();
    let entries = all.filter(|entry| entry["operation"] == operation);
    entries.collect()
}

/// Operation, algorithm of `coll_tuned`, root, count, and size of segments in bytes.
type Asked<'a> = (&'a str, u32, u32, u32, Option<u32>);

/// `algorithms.c` on 8 processes, with the algorithms that are asked for, each on a communicator of its own:
/// the one entry of each.
fn forced(asked: &[Asked<'_>]) -> Vec<Value> {
    let names = asked
        .iter()
        .map(|(operation, number, root, count, segment)| {
            let segment = segment.map_or(String::new(), |bytes| format!(":{bytes}"));
            format!("{operation}:{number}:{root}:{count}{segment}")
        });
    let names: Vec<String> = names.collect();
    let arguments = ["forced", "3"].into_iter();
    let arguments: Vec<&str> = arguments.chain(names.iter().map(String::as_str)).collect();
    let options = ["--mca", "coll_tuned_use_dynamic_rules", "1"];
    let analysis = record(8, "algorithms.c", &arguments, &options);
    let ends = &analysis.json["trace"]["message_ends"];
    assert_eq!(ends["paired"], analysis.json["trace"]["messages"]);
    let communicators = analysis.array("/communicators");
    let one = |((operation, ..), name): (&Asked<'_>, &String)| {
        let title = format!("MPI_{}{}", operation[..1].to_uppercase(), &operation[1..]);
        let is_on_it = |entry: &&&Value| {
            let id = entry["communicator"].as_u64().unwrap();
            communicators[id as usize]["name"] == *name
        };
        let all = entries(&analysis, &title);
        let found: Vec<_> = all.iter().filter(is_on_it).collect();
        assert_eq!(found.len(), 1, "{name}: {found:?}");
        (*found[0]).clone()
    };
    asked.iter().zip(&names).map(one).collect()
}

fn edges(entry: &Value) -> BTreeSet<(u64, u64)> {
    let edges = entry["edges"].as_array().unwrap().iter();
    let ends = edges.map(|edge| (edge["from"].as_u64().unwrap(), edge["to"].as_u64().unwrap()));
    ends.collect()
}

/// Number of an algorithm, its name and edges, with root 0.
type Forced<'a> = (u32, &'a str, &'a [(u64, u64)]);

#[test]
fn the_nine_broadcasts_take_the_trees_that_were_asked_for_and_are_known_by_name() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    // Measured once by another tool, and as the algorithms are defined.
    let binary = [(0, 1), (0, 2), (1, 3), (1, 5), (2, 4), (2, 6), (3, 7)];
    let halves = [(1, 2), (2, 1), (3, 4), (4, 3), (5, 6), (6, 5), (0, 7)];
    let split = [&binary[..], &halves].concat();
    let cube = (0..8).flat_map(|rank| [1, 2, 4].map(|bit| (rank, rank ^ bit)));
    let cube: Vec<(u64, u64)> = cube.collect();
    let around = (0..8).map(|rank| (rank, (rank + 1) % 8));
    let scatter = [(0, 4), (0, 2), (0, 1), (2, 3), (4, 6), (4, 5), (6, 7)];
    let ring: Vec<(u64, u64)> = around.chain(scatter).collect();
    let trees: [Forced<'_>; 9] = [
        (
            1,
            "linear",
            &[(0, 1), (0, 2), (0, 3), (0, 4), (0, 5), (0, 6), (0, 7)],
        ),
        (
            2,
            "chain(4)",
            &[(0, 1), (1, 2), (0, 3), (3, 4), (0, 5), (5, 6), (0, 7)],
        ),
        (
            3,
            "pipeline",
            &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)],
        ),
        (4, "split binary", &split),
        (5, "binary", &binary),
        (
            6,
            "binomial",
            &[(0, 1), (0, 2), (0, 4), (1, 3), (1, 5), (2, 6), (3, 7)],
        ),
        (
            7,
            "k-nomial(4)",
            &[(0, 1), (0, 2), (0, 3), (0, 4), (4, 5), (4, 6), (4, 7)],
        ),
        (8, "scatter + allgather (recursive doubling)", &cube),
        (9, "scatter + allgather (ring)", &ring),
    ];
    for root in [0, 3] {
        let asked = trees.map(|(number, ..)| ("bcast", number, root, 1024, None));
        for ((_, name, tree), entry) in trees.into_iter().zip(forced(&asked)) {
            let at = |rank: u64| (rank + u64::from(root)) % 8;
            let expected = tree.iter().map(|&(from, to)| (at(from), at(to)));
            assert_eq!(edges(&entry), expected.collect(), "{name}, root {root}");
            assert_eq!(entry["algorithm"], name, "root {root}");
            assert_eq!(entry["trees"].as_array().unwrap().len(), 1);
            let found = &entry["trees"][0];
            assert_eq!(found["instances"], 3);
            let is_tree = tree.len() == 7;
            assert_eq!(found["is_tree"], is_tree, "{name}");
            if is_tree {
                assert_eq!(found["root"], root);
                let edges = found["edges"].as_array().unwrap();
                assert!(
                    edges.iter().all(|edge| edge["direction"] == "up"),
                    "{found}"
                );
                let bytes = edges.iter().map(|edge| edge["bytes"].as_u64().unwrap());
                assert!(bytes.clone().all(|bytes| bytes == 3 * 4096), "{found}");
            }
        }
    }
}

#[test]
fn other_collectives_are_known_by_name() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let named: [(&str, u32, &str); 27] = [
        ("reduce", 1, "linear"),
        ("reduce", 2, "chain(4)"),
        ("reduce", 3, "pipeline"),
        ("reduce", 4, "binary"),
        ("reduce", 5, "binomial"),
        ("reduce", 6, "in-order binary"),
        ("reduce", 7, "Rabenseifner"),
        ("allreduce", 3, "recursive doubling"),
        ("allreduce", 4, "ring"),
        ("allreduce", 6, "Rabenseifner"),
        ("allgather", 2, "Bruck"),
        ("allgather", 3, "recursive doubling"),
        ("allgather", 4, "ring"),
        ("allgather", 5, "neighbor exchange"),
        ("alltoall", 1, "linear"),
        ("alltoall", 2, "pairwise"),
        ("alltoall", 3, "Bruck"),
        ("alltoallv", 1, "linear"),
        ("barrier", 1, "linear, to the root and back"),
        ("barrier", 2, "double ring"),
        ("barrier", 3, "recursive doubling"),
        ("barrier", 4, "Bruck (dissemination)"),
        ("barrier", 6, "binomial, to the root and back"),
        ("gather", 2, "binomial"),
        ("scatter", 2, "binomial"),
        ("gather", 3, "linear with synchronization"),
        ("reduce_scatter", 4, "butterfly"),
    ];
    let asked = named.map(|(operation, number, _)| (operation, number, 3, 1024, None));
    let further = [
        ("allreduce", 5, 0, 40_000, Some(4096)),
        ("allreduce", 2, 0, 1024, None),
    ];
    let mut found = forced(&[&asked[..], &further].concat()).into_iter();
    for ((operation, number, name), entry) in named.into_iter().zip(&mut found) {
        assert_eq!(entry["algorithm"], name, "{operation} {number}: {entry}");
    }
    assert_eq!(found.next().unwrap()["algorithm"], "segmented ring");
    // One tree there, and one back: what they are depends on the version.
    let entry = found.next().unwrap();
    let name = entry["algorithm"].as_str().unwrap();
    assert!(
        name.contains("to the root") && !name.contains("unrecognized"),
        "{name}"
    );
    let tree = &entry["trees"][0];
    assert_eq!((&tree["is_tree"], &tree["root"]), (&true.into(), &0.into()));
    let edges = tree["edges"].as_array().unwrap().iter();
    let n_down = edges
        .clone()
        .filter(|edge| edge["direction"] == "down")
        .count();
    let n_up = edges.filter(|edge| edge["direction"] == "up").count();
    assert_eq!((n_down, n_up), (7, 7));
}

#[test]
fn among_few_processes_the_library_decides_between_names_of_one_graph() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let names = ["binary", "binomial"];
    let both = |tree: &Value| {
        let also = tree["also"].as_array().unwrap().iter();
        let all: Vec<&str> = also
            .chain([&tree["algorithm"]])
            .map(|name| name.as_str().unwrap())
            .collect();
        names.iter().all(|name| all.contains(name))
    };
    let mut unsaid = BTreeSet::new();
    for (number, name, library_name) in [
        ("5", "binary", "bcast_intra_bintree"),
        ("6", "binomial", "bcast_intra_binomial"),
    ] {
        let options = tuned("coll_tuned_bcast_algorithm", number);
        for layers in ["calls,messages,algorithms", "calls,messages"] {
            let arguments = ["bcast", "3", "2", "100"];
            let analysis = record_layers(layers, 4, "algorithms.c", &arguments, &options);
            let found = entries(&analysis, "MPI_Bcast");
            assert_eq!(found.len(), 1, "{found:?}");
            let tree = &found[0]["trees"][0];
            assert_eq!(found[0]["algorithm"], tree["algorithm"]);
            assert!(both(tree), "{tree}");
            if layers.contains("algorithms") {
                assert_eq!(tree["algorithm"], name);
                assert_eq!(tree["library_name"], library_name);
            } else {
                unsaid.insert(tree["algorithm"].as_str().unwrap().to_owned());
                assert!(tree["library_name"].is_null());
            }
        }
    }
    // It is one graph: without the library's word, one name.
    assert_eq!(unsaid.len(), 1, "{unsaid:?}");
}

#[test]
fn what_sends_nothing_when_it_is_begun_is_seen_in_the_blocking_calls_that_it_goes_on_in() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    side_by_side(&[4, 7], |&ranks| {
        let analysis = record(ranks, "silent.c", &["60"], &[]);
        let ends = &analysis.json["trace"]["message_ends"];
        assert_eq!(ends["paired"], analysis.json["trace"]["messages"]);
        for (operation, instances) in [
            ("MPI_Ireduce", 60),
            ("MPI_Barrier", 20),
            ("MPI_Reduce", 20),
            ("MPI_Allgather", 20),
        ] {
            let entries = entries(&analysis, operation);
            let of = |entry: &&Value| entry["instances"].as_u64().unwrap();
            assert_eq!(entries.iter().map(of).sum::<u64>(), instances);
            for entry in entries {
                let name = entry["algorithm"].as_str().unwrap_or("opaque");
                assert_eq!(entry["outside_trees"]["opaque"], 0);
                assert!(!name.contains("graph"), "{operation}: {name}");
                if operation == "MPI_Ireduce" {
                    assert_eq!(name, "Rabenseifner", "{ranks} ranks");
                }
            }
        }
    });
}

#[test]
fn every_message_of_every_collective_is_in_its_instance() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    side_by_side(&[(4, "8"), (7, "20000")], |&(ranks, bytes)| {
        let analysis = record(ranks, "messages.c", &["50", bytes, "1"], &[]);
        let ends = &analysis.json["trace"]["message_ends"];
        assert_eq!(ends["paired"], analysis.json["trace"]["messages"]);
        for left in [
            "received_before_sent",
            "unpaired_sends",
            "unpaired_receives",
            "sends_elsewhere",
            "receives_elsewhere",
        ] {
            assert_eq!(ends[left], 0, "{ranks} ranks: {ends}");
        }
        let operations = analysis.json["operations"].as_array().unwrap().iter();
        let collectives = operations.filter(|operation| operation["instances"] == 50);
        // Eight on two communicators, and a nonblocking one, each by one algorithm.
        assert_eq!(collectives.clone().count(), 9);
        for operation in collectives {
            let name = operation["algorithm"].as_str().unwrap_or_default();
            assert!(
                !name.is_empty() && !name.contains("unrecognized"),
                "{operation}"
            );
            assert!(!name.contains("no tree"), "{operation}");
            assert_eq!(operation["trees"][0]["instances"], 50);
        }
    });
}

#[test]
fn nonblocking_collectives_under_way_together_keep_their_messages_apart() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let analysis = record(5, "overlaps.c", &["40"], &[]);
    let ends = &analysis.json["trace"]["message_ends"];
    assert_eq!(ends["paired"], analysis.json["trace"]["messages"], "{ends}");
    assert_eq!(
        (&ends["unpaired_sends"], &ends["unpaired_receives"]),
        (&0.into(), &0.into())
    );
    let named = [
        ("MPI_Iallreduce", 2, "binomial, to the root and back"),
        ("MPI_Ibcast", 5, "binomial"),
        ("MPI_Allreduce", 1, "recursive doubling"),
        ("MPI_Barrier", 1, "linear, to the root and back"),
    ];
    for (operation, n, name) in named {
        let found = entries(&analysis, operation);
        assert_eq!(found.len(), n, "{operation}: {found:?}");
        let instances = found
            .iter()
            .map(|entry| entry["instances"].as_u64().unwrap());
        assert!([40, 80].contains(&instances.sum()), "{operation}");
        for entry in found {
            assert_eq!(entry["algorithm"], name, "{operation}");
            assert_eq!(entry["trees"].as_array().unwrap().len(), 1);
        }
    }

    // With nothing but computation meanwhile, they do not go on, and that is said. The computation is longer than
    // a busy machine keeps a process waiting that sends.
    let analysis = record(4, "overlaps.c", &["20", "60000"], &[]);
    for operation in ["MPI_Ibcast", "MPI_Iallreduce"] {
        let found = entries(&analysis, operation);
        let tree = &found[0]["trees"][0];
        assert_eq!((found.len(), &tree["n"]), (1, &20.into()), "{found:?}");
        let progress = &tree["progress"];
        assert_eq!(progress["instances"], 20, "{operation}");
        let idle = progress["nobody_in_mpi_ns"]["median"].as_u64().unwrap();
        assert!(idle > 2_500_000, "{operation}: {idle}");
        let late = |edge: &Value| {
            let late = &edge["late_progress_ns"];
            assert!(late["n"] == 20 && edge["transfer_ns"]["n"] == 20, "{edge}");
            late["median"].as_u64().unwrap()
        };
        let edges = tree["edges"].as_array().unwrap().iter();
        let longest = edges.map(late).max().unwrap();
        assert!(longest > 2_500_000, "{operation}: {longest}");
        for way in tree["ways"].as_array().unwrap() {
            let unattributed = way["unattributed_ns"].as_i64().unwrap();
            assert!(unattributed.abs() < 20, "{operation}: {way}");
        }
    }
}

#[test]
fn an_algorithm_that_changes_with_the_payload_is_shown_so() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let arguments = ["allreduce", "5", "0", "2", "20000"];
    let analysis = record(6, "algorithms.c", &arguments, &[]);
    let found = entries(&analysis, "MPI_Allreduce");
    let algorithm = |bytes: u64| {
        let of_bytes = found.iter().find(|entry| entry["bytes_max"] == bytes);
        of_bytes.unwrap()["algorithm"].as_str().unwrap().to_owned()
    };
    assert_eq!(algorithm(8), "recursive doubling");
    assert_ne!(algorithm(80_000), "recursive doubling");
}

#[test]
fn what_goes_through_shared_memory_is_called_opaque() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let arguments = ["bcast", "5", "0", "2", "300"];
    let options = ["--mca", "coll_sm_priority", "100"];
    let analysis = record(6, "algorithms.c", &arguments, &options);
    let found = entries(&analysis, "MPI_Bcast");
    // The first one sets up, with messages.
    let opaque: Vec<_> = found
        .iter()
        .filter(|entry| entry["algorithm"].is_null())
        .collect();
    let instances = opaque
        .iter()
        .map(|entry| entry["instances"].as_u64().unwrap());
    assert_eq!(instances.sum::<u64>(), 9, "{found:?}");
    for entry in opaque {
        assert_eq!(entry["outside_trees"]["opaque"], entry["instances"]);
        assert_eq!(entry["trees"].as_array().unwrap().len(), 0);
        assert!(entry["edges"].is_null());
    }
    let remarks = analysis.json["remarks"].as_array().unwrap();
    let told = remarks
        .iter()
        .find(|remark| remark["code"] == "opaque_collectives");
    let text = told.expect("a remark")["text"].as_str().unwrap();
    assert!(text.starts_with("9 instances of MPI_Bcast"), "{text}");
}
