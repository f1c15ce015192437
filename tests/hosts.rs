//! Recording on several hosts.

use std::fs;

use collbench_tests::{
    Analysis, Cluster, Finished, Form, Workspace, alone, analyze, command, program, run_ranks,
    tuned,
};
use serde_json::{Value, json};

/// Four hosts whose clocks are hours apart, on links like those of a cluster with Ethernet.
const LINKS: [&str; 6] = ["--hosts", "4", "--latency-us", "100", "--rate", "1gbit"];

/// Records `every` with two ranks on each host.
fn record(
    cluster: &Cluster,
    workspace: &Workspace,
    form: Form,
    launcher_options: &[&str],
) -> Finished {
    let every = program("every.c");
    let recorder = command("collbench-record");
    let record = [recorder.to_str().unwrap(), "-o", "trace", "--"];
    let launch = [&[cluster.script(), "mpirun", "-n", "8"], launcher_options].concat();
    let program = [every.to_str().unwrap(), workspace.path().to_str().unwrap()];
    let line = match form {
        Form::Outer => [&record, &launch[..], &program].concat(),
        Form::Inner => [&launch[..], &record, &program].concat(),
    };
    run_ranks(8, workspace.path(), &[cluster.variable()], &line)
}

/// Records a program on 8 ranks with its messages.
#[track_caller]
fn record_messages(
    cluster: &Cluster,
    workspace: &Workspace,
    launcher_options: &[&str],
    source: &str,
    arguments: &[&str],
) -> Analysis {
    let (recorder, program) = (command("collbench-record"), program(source));
    let recorder = recorder.to_str().unwrap();
    let record = [recorder, "--layers", "calls,messages", "-o", "trace", "--"];
    let launch = [cluster.script(), "mpirun", "-n", "8"];
    let program = [program.to_str().unwrap()];
    let line = [&record, &launch[..], launcher_options, &program, arguments].concat();
    run_ranks(8, workspace.path(), &[cluster.variable()], &line).expect(0);
    analyze(&workspace.join("trace"), &[]).expect(0)
}

fn check(workspace: &Workspace, analysis: &Analysis) {
    assert_eq!(analysis.json["trace"]["ranks"], 8);
    let mut hosts: Vec<_> = analysis
        .array("/trace/hosts")
        .iter()
        .map(|host| host.as_str().unwrap())
        .collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["h1", "h2", "h3", "h4"]);
    for host in hosts {
        let ranks = analysis
            .array("/ranks")
            .iter()
            .filter(|rank| rank["host"] == host)
            .count();
        assert_eq!(ranks, 2, "ranks on {host}");
    }
    for rank in 0..8 {
        let own = fs::read_to_string(workspace.join(format!("every.{rank}.json"))).unwrap();
        let own: Value = serde_json::from_str(&own).unwrap();
        assert_eq!(
            analysis.rank(rank)["calls_by_class"],
            own["calls_by_class"],
            "rank {rank}"
        );
    }
    for operation in analysis.array("/operations") {
        assert_eq!(operation["incomplete"], json!(0), "{operation:#}");
    }

    // Their clocks are hours apart.
    let day_ns = 24 * 3600 * 1_000_000_000_i64;
    let duration = analysis.json["trace"]["duration_ns"].as_i64().unwrap();
    assert!(
        (0..day_ns).contains(&duration),
        "{duration} ns: clocks of two hosts were compared"
    );
    let barriers: Vec<_> = analysis
        .array("/operations")
        .iter()
        .filter(|operation| operation["operation"] == "MPI_Barrier")
        .collect();
    assert!(!barriers.is_empty());
    for barrier in barriers {
        for figure in ["wait_ns", "arrival_lag_ns", "duration_ns", "call_time_ns"] {
            let max = barrier[figure]["max"].as_i64().unwrap_or(0);
            assert!(
                (0..day_ns).contains(&max),
                "{figure} {max}: clocks of two hosts compared"
            );
        }
    }
}

#[test]
fn ranks_on_four_hosts_are_recorded_around_the_launcher_and_inside_of_it() {
    let Some(cluster) = Cluster::up("every", &LINKS) else {
        return;
    };
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let finished = record(&cluster, &workspace, form, &[]).expect(0);
        assert!(finished.stdout.contains("checksum"), "{form:?}: {finished}");
        let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
        check(&workspace, &analysis);
    }
    // The user's own variables for the ranks, in a command line and environment that stay as they
    // are.
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let options = ["-x", "GREETING=hello", "-x", "PATH"];
        let finished = record(&cluster, &workspace, form, &options).expect(0);
        assert!(
            finished.stdout.contains("greeting hello"),
            "{form:?}: {finished}"
        );
        check(
            &workspace,
            &analyze(&workspace.join("trace"), &[]).expect(0),
        );
    }
    check_two_levels(&cluster);
}

/// Open MPI's collectives by hosts: among the four leaders, and on each host.
fn check_two_levels(cluster: &Cluster) {
    for (operation, name) in [("bcast", "MPI_Bcast"), ("allreduce", "MPI_Allreduce")] {
        let workspace = Workspace::new();
        let options = ["--mca", "coll_han_priority", "100"];
        // Rank 3 is the second one on its host; a broadcast of 400 bytes.
        let arguments = [operation, "5", "3", "100"];
        let analysis = record_messages(cluster, &workspace, &options, "algorithms.c", &arguments);
        // In the first call the library makes the communicators of the parts too.
        let operations = analysis.array("/operations").iter();
        let trees = operations
            .filter(|found| found["operation"] == name)
            .flat_map(|found| found["trees"].as_array().unwrap());
        let instances: u64 = trees
            .filter(|tree| {
                let algorithm = tree["algorithm"].as_str().unwrap();
                algorithm.starts_with("two levels: ")
                    && algorithm.contains(" among 4 host leaders, linear within hosts")
            })
            .map(|tree| tree["instances"].as_u64().unwrap())
            .sum();
        assert_eq!(instances, 4, "{:#}", analysis.json["operations"]);
    }
}

#[test]
fn nobody_sends_to_ranks_that_are_not_recorded() {
    let Some(cluster) = Cluster::up("some", &LINKS) else {
        return;
    };
    let workspace = Workspace::new();
    let (recorder, steady) = (command("collbench-record"), program("steady.c"));
    let (recorder, steady) = (recorder.to_str().unwrap(), steady.to_str().unwrap());
    let launch = [cluster.script(), "mpirun", "-n", "4"];
    let recorded = [recorder, "-o", "trace", "--", steady, "500"];
    let line = [&launch[..], &recorded, &[":", "-n", "4", steady, "500"]].concat();
    let finished = run_ranks(8, workspace.path(), &[cluster.variable()], &line);
    assert!(finished.stdout.contains("allreduces"), "{finished}");
    let analysis = analyze(&workspace.join("trace"), &[]);
    let said = analysis.remark("clocks_not_aligned");
    assert!(said.contains("only 4 of 8 processes"), "{said}");
}

/// Hosts 1 and 3 are 30 ms apart, longer than a busy machine keeps a process waiting, the others 100 us.
const SLOW_LINK: &str =
    "cluster h hosts=4 latency_us=100 rate=1gbit\nlink h-1 h-3 latency_us=30000\n";

/// Seen inside, a broadcast over a binomial tree and an allreduce by recursive doubling show which
/// link is slow. How long things take on a busy machine is no matter of this test: a message never
/// takes less than its link does, and the fastest ones not much more.
#[test]
fn the_slow_link_is_named_as_what_costs_most() {
    let _alone = alone();
    let workspace = Workspace::new();
    let topology = workspace.join("topology");
    fs::write(&topology, SLOW_LINK).unwrap();
    let options = [
        "--topology",
        topology.to_str().unwrap(),
        "--compensate-us",
        "20",
    ];
    let Some(cluster) = Cluster::up("slow-link", &options) else {
        return;
    };
    let of_allreduce = ["--mca", "coll_tuned_allreduce_algorithm", "3"];
    let options = [&tuned("coll_tuned_bcast_algorithm", "6")[..], &of_allreduce].concat();
    let arguments = ["40", "8000"];
    let mut wrong = String::new();
    for _ in 0..5 {
        let workspace = Workspace::new();
        let analysis = record_messages(&cluster, &workspace, &options, "slow_link.c", &arguments);
        match check_slow_link(&analysis) {
            Ok(()) => return,
            Err(what) => wrong = what,
        }
        eprintln!("a busy machine: {wrong}");
    }
    panic!("{wrong}");
}

/// The algorithms, and how long a message takes at the least, are as they are in each run; what costs most
/// is another link now and then where the machine holds processes up for milliseconds: said with `Err`.
fn check_slow_link(analysis: &Analysis) -> Result<(), String> {
    let host = |rank: &Value| {
        let rank = analysis.rank(usize::try_from(rank.as_u64().unwrap()).unwrap());
        rank["host"].as_str().unwrap().to_owned()
    };
    let is_slow = |stage: &Value| {
        let mut ends = [host(&stage["from"]), host(&stage["node"])];
        ends.sort_unstable();
        ends == ["h-1", "h-3"]
    };
    for (operation, algorithm) in [
        ("MPI_Bcast", "binomial"),
        ("MPI_Allreduce", "recursive doubling"),
    ] {
        let operations = analysis.array("/operations").iter();
        let mut operations = operations.filter(|found| found["operation"] == operation);
        let found = operations.next().unwrap();
        assert_eq!(found["algorithm"], algorithm, "{operation}");
        let tree = &found["trees"][0];
        assert_eq!(tree["instances"], 40, "{operation}");
        let hotspot = &tree["hotspot"];
        if !is_slow(hotspot) {
            return Err(format!("{operation}: {hotspot}"));
        }
    }
    let operations = analysis.array("/operations").iter();
    let mut broadcasts = operations.filter(|found| found["operation"] == "MPI_Bcast");
    let edges = broadcasts.next().unwrap()["edges"].as_array().unwrap();
    let mut n_slow = 0;
    for edge in edges {
        let link = json!({ "from": edge["from"], "node": edge["to"] });
        if !is_slow(&link) {
            continue;
        }
        n_slow += 1;
        // A receiver that comes late finds a part of the way done.
        let transfer = edge["transfer_ns"]["median"].as_i64().unwrap();
        let late = edge["late_receiver_ns"]["median"].as_i64().unwrap();
        let took = transfer + late;
        assert!(took >= 28_500_000, "{took} ns: {edge}");
        if took >= 60_000_000 {
            return Err(format!("{took} ns: {edge}"));
        }
    }
    assert_eq!(n_slow, 2, "0 to 4, and 1 to 5");
    Ok(())
}
