//! Several hosts, each with its own name, clock and network: `cluster/` makes them on this machine,
//! where it can (status 77 where it cannot).

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collbench_formats::{Definition, RankTrace};
use collbench_tests::{
    Analysis, Finished, Form, Workspace, analyze, command, have, program, run, run_in, skipped,
};
use serde_json::{Value, json};

/// Four hosts whose clocks are hours apart, on links like those of a cluster with Ethernet.
const LINKS: [&str; 6] = ["--hosts", "4", "--latency-us", "100", "--rate", "1gbit"];

/// Hosts, taken down at the end.
struct Cluster {
    script: PathBuf,
    name: String,
}

impl Cluster {
    /// None, loudly, where this machine cannot do it.
    fn up(label: &str, options: &[&str]) -> Option<Self> {
        if !have(&["mpirun", "mpicc", "python3", "ip", "unshare"]) {
            return None;
        }
        let script = collbench_tests::source_dir().join("cluster/cluster");
        let name = format!("collbench-{label}-{}", std::process::id());
        let cluster = Self { script, name };
        let up = cluster.run(&[&["up", "--ttl", "600"], options].concat());
        if up.status == 77 {
            skipped(&format!("no hosts on this machine: {up}"));
            return None;
        }
        up.expect(0);
        Some(cluster)
    }

    fn run(&self, words: &[&str]) -> Finished {
        let script = self.script.to_str().unwrap();
        run(&[
            &["env", &format!("CLUSTER_NAME={}", self.name), script],
            words,
        ]
        .concat())
    }

    /// What the clock of each host is ahead of the machine's, ns: the truth.
    fn clocks(&self) -> BTreeMap<String, i64> {
        let status = self.run(&["status", "--json"]).expect(0);
        let status: Value = serde_json::from_str(&status.stdout).unwrap();
        let hosts = status["hosts"].as_array().unwrap();
        let clock = |host: &Value| {
            let name = host["name"].as_str().unwrap().to_owned();
            (name, host["clock_ns"].as_i64().unwrap())
        };
        hosts.iter().map(clock).collect()
    }

    /// Records a program of `tests/programs` with two ranks on each host.
    fn record_program(
        &self,
        workspace: &Workspace,
        options: &[&str],
        name: &str,
        arguments: &[&str],
    ) -> Finished {
        let (recorder, program) = (command("collbench-record"), program(name));
        let script = self.script.to_str().unwrap();
        let record = [recorder.to_str().unwrap(), "--force", "-o", "trace"];
        let launch = ["--", script, "mpirun", "-n", "8"];
        let program = [program.to_str().unwrap()];
        let line = [&record[..], options, &launch, &program, arguments].concat();
        run_in(workspace.path(), &[("CLUSTER_NAME", &self.name)], &line)
    }

    /// Records `every` with two ranks on each host.
    fn record(&self, workspace: &Workspace, form: Form, launcher_options: &[&str]) -> Finished {
        let every = program("every.c");
        let (recorder, script) = (command("collbench-record"), &self.script);
        let (recorder, script) = (recorder.to_str().unwrap(), script.to_str().unwrap());
        let record = [recorder, "-o", "trace", "--"];
        let launch = [&[script, "mpirun", "-n", "8"], launcher_options].concat();
        let program = [every.to_str().unwrap(), workspace.path().to_str().unwrap()];
        let line = match form {
            Form::Outer => [&record, &launch[..], &program].concat(),
            Form::Inner => [&launch[..], &record, &program].concat(),
        };
        run_in(workspace.path(), &[("CLUSTER_NAME", &self.name)], &line)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let down = self.run(&["down"]);
        if down.status != 0 {
            eprintln!("the cluster stays: {down}");
        }
    }
}

/// That offsets are what they are: never further off than the bound, which nothing but a faster path
/// can break, nor than three standard deviations.
#[track_caller]
fn check_clocks(analysis: &Analysis, truth: &BTreeMap<String, i64>) {
    let clock = &analysis.json["clock"];
    let reference = clock["reference_host"].as_str().unwrap();
    let hosts = analysis.array("/clock/hosts");
    assert_eq!(hosts.len(), truth.len());
    for host in hosts {
        let number = |field: &str| {
            host[field]
                .as_i64()
                .unwrap_or_else(|| panic!("no {field} in {host}"))
        };
        let true_offset = truth[host["host"].as_str().unwrap()] - truth[reference];
        let error = (number("offset_ns") - true_offset).abs();
        assert!(error <= number("bound_ns"), "off by {error} ns: {host}");
        let three_sd = number("uncertainty_ns") * 3 / 2;
        assert!(error <= three_sd, "off by {error} ns: {host}");
    }
    assert!(!analysis.has_remark("clocks_not_aligned"));
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
        let finished = cluster.record(&workspace, form, &[]).expect(0);
        assert!(finished.stdout.contains("checksum"), "{form:?}: {finished}");
        let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
        check(&workspace, &analysis);
        check_clocks(&analysis, &cluster.clocks());
    }
    // The user's own variables for the ranks, in a command line and environment that stay as they
    // are.
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let options = ["-x", "GREETING=hello", "-x", "PATH"];
        let finished = cluster.record(&workspace, form, &options).expect(0);
        assert!(
            finished.stdout.contains("greeting hello"),
            "{form:?}: {finished}"
        );
        check(
            &workspace,
            &analyze(&workspace.join("trace"), &[]).expect(0),
        );
    }
}

#[test]
fn clocks_of_hosts_are_measured_by_every_clock_and_in_both_schemes() {
    let Some(cluster) = Cluster::up("clocks", &LINKS) else {
        return;
    };
    let truth = cluster.clocks();
    for (clock, exchange) in [
        ("raw", "rounds"),
        ("tsc", "linear"),
        ("monotonic", "rounds"),
    ] {
        let workspace = Workspace::new();
        let options = ["--clock", clock, "--exchange", exchange];
        let finished = cluster.record_program(&workspace, &options, "steady.c", &["1000"]);
        if finished.status == 125 && clock == "tsc" {
            skipped("no invariant time stamp counter");
            continue;
        }
        assert_eq!(finished.status, 0, "{finished}");
        let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
        check_clocks(&analysis, &truth);
        // What the processes agreed on through the directory is done with.
        let names: Vec<_> = fs::read_dir(workspace.join("trace"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            names
                .iter()
                .all(|name| name == "run.json" || name == "world" || name.ends_with(".trace")),
            "{names:?}"
        );
    }
    // Not asked for: nothing is measured, and that is said.
    let workspace = Workspace::new();
    cluster
        .record_program(&workspace, &["--exchange", "off"], "steady.c", &["200"])
        .expect(0);
    let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
    assert!(remark(&analysis, "clocks_not_aligned").contains("--exchange off"));
}

#[test]
fn a_run_that_is_killed_has_the_measurements_of_its_start() {
    let Some(cluster) = Cluster::up("killed", &LINKS) else {
        return;
    };
    let workspace = Workspace::new();
    let finished = cluster.record_program(&workspace, &[], "ends.c", &["kill", "0", "5"]);
    assert_ne!(finished.status, 0, "{finished}");
    let analysis = analyze(&workspace.join("trace"), &[]).expect(3);
    check_clocks(&analysis, &cluster.clocks());
    // Nothing was measured at the end, and that is not passed over.
    let said = ["drift_not_known", "no_offset_at_end"];
    assert!(
        said.iter().any(|code| analysis.has_remark(code)),
        "{:#?}",
        analysis.array("/remarks")
    );
}

#[test]
fn nobody_sends_to_ranks_that_are_not_recorded() {
    let Some(cluster) = Cluster::up("some", &LINKS) else {
        return;
    };
    let workspace = Workspace::new();
    let (recorder, steady) = (command("collbench-record"), program("steady.c"));
    let (recorder, steady) = (recorder.to_str().unwrap(), steady.to_str().unwrap());
    let launch = [cluster.script.to_str().unwrap(), "mpirun", "-n", "4"];
    let recorded = [recorder, "-o", "trace", "--", steady, "500"];
    let line = [&launch[..], &recorded, &[":", "-n", "4", steady, "500"]].concat();
    let finished = run_in(workspace.path(), &[("CLUSTER_NAME", &cluster.name)], &line);
    assert!(finished.stdout.contains("allreduces"), "{finished}");
    let analysis = analyze(&workspace.join("trace"), &[]);
    let said = remark(&analysis, "clocks_not_aligned");
    assert!(said.contains("only 4 of 8 processes"), "{said}");
}

/// The text of a remark.
#[track_caller]
fn remark<'a>(analysis: &'a Analysis, code: &str) -> &'a str {
    let mut remarks = analysis.array("/remarks").iter();
    let remark = remarks.find(|remark| remark["code"] == code);
    remark
        .and_then(|remark| remark["text"].as_str())
        .unwrap_or_else(|| panic!("no {code} in {}", analysis.finished))
}

/// What the files of a trace say of exchanges, by rank: how many each measurement of its clock has,
/// and how often it was held up.
fn exchanges(trace: &Path) -> BTreeMap<u32, (Vec<usize>, usize)> {
    let mut by_rank = BTreeMap::new();
    for entry in fs::read_dir(trace).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_none_or(|extension| extension != "trace")
        {
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap();
        let (mut measurements, mut n_pauses) = (Vec::new(), 0);
        for definition in trace.definitions.iter() {
            match definition {
                Definition::OffsetMeasurement { samples, .. } => measurements.push(samples.len()),
                Definition::Pause { begin, end } => {
                    assert!(begin <= end);
                    n_pauses += 1;
                }
                _ => {}
            }
        }
        by_rank.insert(trace.identity.rank, (measurements, n_pauses));
    }
    by_rank
}

#[test]
fn long_runs_are_measured_in_between_and_short_ones_are_not() {
    /// Exchanges of a pair in between.
    const IN_BETWEEN: usize = 10;
    let Some(cluster) = Cluster::up("between", &LINKS) else {
        return;
    };
    let in_between = |(measurements, _): &(Vec<usize>, usize)| {
        measurements.iter().filter(|&&n| n == IN_BETWEEN).count()
    };
    for exchange in ["rounds:1", "linear:1"] {
        let workspace = Workspace::new();
        let options = ["--exchange", exchange];
        let finished = cluster.record_program(&workspace, &options, "steady.c", &["6000"]);
        let finished = finished.expect(0);
        let trace = workspace.join("trace");
        let found = exchanges(&trace);
        // Two ranks on each host, of which the first leads it; rank 0 is the reference of all.
        for (rank, found) in &found {
            let leads = rank % 2 == 0;
            if leads && *rank > 0 {
                assert!(
                    in_between(found) >= 3,
                    "rank {rank}: {found:?} in {finished}"
                );
            } else {
                assert_eq!(in_between(found), 0, "rank {rank}");
            }
            assert_eq!(found.1 > 0, leads, "rank {rank}: {found:?}");
        }
        let pauses: Vec<usize> = [0, 2, 4, 6].map(|rank| found[&rank].1).to_vec();
        assert!(
            pauses.iter().all(|&n| n == pauses[0]),
            "all leaders meet at the same calls: {pauses:?}"
        );
        check_clocks(&analyze(&trace, &[]).expect(0), &cluster.clocks());
    }
    let workspace = Workspace::new();
    let finished = cluster.record_program(&workspace, &[], "steady.c", &["1000"]);
    assert_eq!(finished.status, 0, "{finished}");
    for (rank, found) in exchanges(&workspace.join("trace")) {
        assert_eq!(in_between(&found), 0, "rank {rank}: {found:?}");
    }
}
