//! The clocks of several hosts, measured by the recorder and aligned by the analyzer, against what
//! they are.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collbench_formats::{Definition, RankTrace};
use collbench_tests::{
    Analysis, Cluster, Job, Workspace, alone, analyze, have, long_or, mpirun, program, rank_files,
    run, skip_unless, skipped,
};
use serde_json::Value;

/// Four hosts whose clocks are hours apart, on links like those of a cluster with Ethernet.
const LINKS: [&str; 6] = ["--hosts", "4", "--latency-us", "100", "--rate", "1gbit"];

/// Half a round trip on links of 100 us, when nothing but the machine's own work holds it up, ns: 135
/// us, and some. On a machine so busy that no exchange is as fast, one way is held up more than
/// the other, and the uncertainty, which is stated for ways that differ by 5 %, says too little.
const UNDISTURBED_NS: i64 = 170_000;

/// That offsets are what they are: never further off than the bound, which nothing but a faster path
/// can break, nor than four standard deviations. (Each run of all tests looks at some dozens of offsets: one
/// beyond three would be found every few runs.)
#[track_caller]
fn check_clocks(analysis: &Analysis, truth: &BTreeMap<String, i64>) {
    check_bounds(analysis, truth);
    for (host, error) in errors(analysis, truth) {
        let number = |field: &str| host[field].as_i64().unwrap();
        // The uncertainty is two.
        let four_sd = number("uncertainty_ns") * 2;
        if number("bound_ns") <= UNDISTURBED_NS {
            assert!(error <= four_sd, "off by {error} ns: {host}");
        }
    }
    assert!(!analysis.has_remark("clocks_not_aligned"));
}

/// Whether no offset is further off than its bound.
#[track_caller]
fn check_bounds(analysis: &Analysis, truth: &BTreeMap<String, i64>) {
    for (host, error) in errors(analysis, truth) {
        let bound = host["bound_ns"].as_i64().unwrap();
        assert!(error <= bound, "off by {error} ns: {host}");
    }
}

/// What is said of each host, and by how much its offset is off, ns.
#[track_caller]
fn errors<'a>(analysis: &'a Analysis, truth: &BTreeMap<String, i64>) -> Vec<(&'a Value, i64)> {
    let reference = analysis.json["clock"]["reference_host"].as_str().unwrap();
    let hosts = analysis.array("/clock/hosts");
    assert_eq!(hosts.len(), truth.len());
    let error = |host: &Value| {
        let offset = host["offset_ns"].as_i64();
        let offset = offset.unwrap_or_else(|| panic!("no offset in {host}"));
        (offset - (truth[host["host"].as_str().unwrap()] - truth[reference])).abs()
    };
    hosts.iter().map(|host| (host, error(host))).collect()
}

#[test]
fn clocks_of_hosts_are_measured_by_every_clock_and_in_both_schemes() {
    let _alone = alone();
    let Some(cluster) = Cluster::up("clocks", &LINKS) else {
        return;
    };
    let truth = cluster.clocks().at(0.0);
    for (clock, exchange) in [
        ("raw", "rounds"),
        ("tsc", "linear"),
        ("monotonic", "rounds"),
    ] {
        let workspace = Workspace::new();
        let options = ["--clock", clock, "--exchange", exchange];
        let finished = cluster.record_program(&workspace, 8, &options, "steady.c", &["1000"]);
        if finished.status == 125 && clock == "tsc" {
            skipped("no invariant time stamp counter");
            continue;
        }
        assert_eq!(finished.status, 0, "{finished}");
        let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
        check_clocks(&analysis, &truth);
        // The run is short.
        for (rank, found) in exchanges(&workspace.join("trace")) {
            assert_eq!(in_between(&found), 0, "rank {rank}: {found:?}");
        }
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
        .record_program(&workspace, 8, &["--exchange", "off"], "steady.c", &["200"])
        .expect(0);
    let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
    assert!(
        analysis
            .remark("clocks_not_aligned")
            .contains("--exchange off")
    );
}

#[test]
fn a_run_that_is_killed_has_the_measurements_of_its_start() {
    let _alone = alone();
    let Some(cluster) = Cluster::up("killed", &LINKS) else {
        return;
    };
    let workspace = Workspace::new();
    let finished = cluster.record_program(&workspace, 8, &[], "ends.c", &["kill", "0", "5"]);
    assert_ne!(finished.status, 0, "{finished}");
    let analysis = analyze(&workspace.join("trace"), &[]).expect(3);
    check_clocks(&analysis, &cluster.clocks().at(0.0));
    // Nothing was measured at the end, and that is not passed over.
    let said = ["drift_not_known", "no_offset_at_end"];
    assert!(
        said.iter().any(|code| analysis.has_remark(code)),
        "{:#?}",
        analysis.array("/remarks")
    );
}

/// What the files of a trace say of exchanges, by rank: how many each measurement of its clock has,
/// and how often it was held up.
fn exchanges(trace: &Path) -> BTreeMap<u32, (Vec<usize>, usize)> {
    let mut by_rank = BTreeMap::new();
    for path in rank_files(trace) {
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

/// How many of the measurements of a clock were made in between, with fewer exchanges of a pair.
fn in_between((measurements, _): &(Vec<usize>, usize)) -> usize {
    const IN_BETWEEN: usize = 10;
    measurements.iter().filter(|&&n| n == IN_BETWEEN).count()
}

#[test]
fn long_runs_are_measured_in_between() {
    let _alone = alone();
    let Some(cluster) = Cluster::up("between", &LINKS) else {
        return;
    };
    for exchange in ["rounds:0.4", "linear:0.4"] {
        let workspace = Workspace::new();
        let options = ["--exchange", exchange];
        let finished = cluster.record_program(&workspace, 8, &options, "steady.c", &["3000"]);
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
        check_clocks(&analyze(&trace, &[]).expect(0), &cluster.clocks().at(0.0));
    }
}

#[test]
fn clocks_that_drift_and_wander_are_known_where_they_were_measured() {
    let _alone = alone();
    const TOPOLOGY: &str = "cluster h hosts=3 slots=2 latency_us=100 rate=1gbit
        host h-2 drift_ppm=30
        host h-3 drift_ppm=-20 wander_us=30 wander_s=20";
    let workspace = Workspace::new();
    let Some(cluster) = Cluster::of_topology("drift", TOPOLOGY, &workspace) else {
        return;
    };
    let clocks = cluster.clocks();
    // Only what comes through the C library is skewed: not the time stamp counter.
    let options = ["--clock", "monotonic"];
    let finished = cluster.record_program(&workspace, 6, &options, "steady.c", &["3000"]);
    finished.expect(0);
    let trace = workspace.join("trace");
    let analysis = analyze(&trace, &[]).expect(0);
    let begin = clocks.begin_of(&trace);
    check_clocks(&analysis, &clocks.at(begin));

    // Three hosts, each pair measured by exchanges of its own: what they say around the ring.
    let closure = &analysis.json["clock"]["closure"];
    assert_eq!(closure["triangles"], 1, "{closure}");
    let is_undisturbed = |host: &Value| host["bound_ns"].as_i64().unwrap() <= UNDISTURBED_NS;
    if analysis.array("/clock/hosts").iter().all(is_undisturbed) {
        let [gap, error] = ["gap_ns", "error_ns"].map(|field| closure[field].as_i64().unwrap());
        assert!(gap.abs() <= error, "{closure}");
        assert_eq!(closure["open"], 0, "{closure}");
    }

    // The mean rate over the run: no further off than the errors at both ends make it.
    let duration = analysis.json["trace"]["duration_ns"].as_f64().unwrap();
    let ends = [begin, begin + duration].map(|since_ns| clocks.at(since_ns));
    for host in analysis.array("/clock/hosts") {
        let name = host["host"].as_str().unwrap();
        let [first, last] = [&ends[0], &ends[1]].map(|at| at[name] - at["h-1"]);
        let true_ppm = 1e6 * (last - first) as f64 / duration;
        let error_ppm = (host["drift_ppm"].as_f64().unwrap() - true_ppm).abs();
        let four_sd = host["uncertainty_ns"].as_f64().unwrap() * 2.0;
        assert!(
            !is_undisturbed(host) || error_ppm <= 2e6 * four_sd / duration,
            "{true_ppm} ppm, off by {error_ppm}: {host}"
        );
    }
}

#[test]
fn a_link_that_is_slower_one_way_breaks_no_bound() {
    const TOPOLOGY: &str = "cluster h hosts=3 slots=1 latency_us=100 rate=1gbit
        link h-1 h-3 oneway=1 latency_us=100
        link h-3 h-1 oneway=1 latency_us=400";
    let workspace = Workspace::new();
    let Some(cluster) = Cluster::of_topology("oneway", TOPOLOGY, &workspace) else {
        return;
    };
    let truth = cluster.clocks().at(0.0);
    for exchange in ["rounds", "linear"] {
        let options = ["--exchange", exchange];
        let finished = cluster.record_program(&workspace, 3, &options, "steady.c", &["1000"]);
        finished.expect(0);
        check_bounds(&analyze(&workspace.join("trace"), &[]).expect(0), &truth);
    }
}

#[test]
fn messages_of_the_recorder_itself_are_none_of_the_program() {
    let Some(cluster) = Cluster::up("messages", &["--hosts", "2", "--latency-us", "50"]) else {
        return;
    };
    let recorded = |exchange: &str| {
        let workspace = Workspace::new();
        let options = ["--layers", "calls,messages", "--exchange", exchange];
        let finished = cluster.record_program(&workspace, 4, &options, "loop.c", &["1000"]);
        finished.expect(0);
        let trace = workspace.join("trace");
        let analysis = analyze(&trace, &[]).expect(0);
        let n_pauses = exchanges(&trace)[&0].1;
        (analysis.json["trace"]["messages"].as_u64(), n_pauses)
    };
    let (without, never) = recorded("off");
    assert_eq!(never, 0);
    let (messages, n_pauses) = recorded("rounds:0.02");
    // Two rounds of recursive doubling, at the least.
    assert!(messages >= Some(1000 * 4 * 2), "{messages:?}");
    assert_eq!(messages, without);
    assert!(n_pauses > 3, "they met {n_pauses} times");
}

#[test]
fn on_one_host_nobody_leaves_an_allreduce_before_the_last_has_entered() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let workspace = Workspace::new();
    let calls = long_or(100_000, 20_000);
    let job = Job::new(4, program("loop.c"), &[&calls.to_string()]);
    let analysis = job.analyzed(workspace.path());
    let operation = &analysis.array("/operations")[0];
    assert_eq!(operation["operation"], "MPI_Allreduce");
    // First leave less last enter, of every instance.
    let core = &operation["core_ns"];
    assert_eq!(core["n"], calls);
    assert!(core["min"].as_i64().unwrap() >= 0, "{core}");
    let after = &analysis.json["clock"]["violations"]["after"];
    assert!(after.as_u64().unwrap_or(0) == 0, "{after}");
    assert!(!analysis.has_remark("clock_violations"));
}

/// A namespace in which the clocks are ahead by so many seconds.
const SHIFT_S: i64 = 100_000;

/// The words that begin one; none, loudly, where this machine has none.
fn shifted() -> Option<[String; 4]> {
    let seconds = SHIFT_S.to_string();
    let words = ["unshare", "--time", "--monotonic", &seconds].map(str::to_owned);
    let tried = run(&[&words[..], &["true".to_owned()]].concat());
    if tried.status != 0 {
        skipped(&format!("no time namespaces: {tried}"));
        return None;
    }
    Some(words)
}

/// Records a job of two ranks as they are, and further ones each behind these words.
fn record_behind(workspace: &Workspace, options: &[&str], further: &[&[String]]) -> Analysis {
    let steady = [program("steady.c").into(), "500".into()];
    let mut words = steady.to_vec();
    for behind in further {
        words.extend([":", "-n", "1"].map(Into::into));
        words.extend(behind.iter().map(Into::into));
        words.extend(steady.clone());
    }
    let job = Job {
        program: words,
        launcher: {
            let mut line = mpirun(0);
            line.truncate(line.len() - 2);
            line
        },
        options,
        ..Job::new(2, "", &[])
    };
    // On a busy machine an exchange may last for milliseconds: then the clocks are measured again.
    let mut n_runs = 0;
    loop {
        let trace = job.recorded(workspace.path());
        let analysis = analyze(&trace, &[]).expect(0);
        n_runs += 1;
        let mut hosts = analysis.array("/clock/hosts").iter();
        let is_precise = hosts.all(|host| host["bound_ns"].as_i64().unwrap() < MOST_BOUND_NS);
        if is_precise || n_runs == RUNS {
            return analysis;
        }
        std::fs::remove_dir_all(trace).unwrap();
    }
}

/// Ranks of one machine: no network is between them.
const MOST_BOUND_NS: i64 = 1_000_000;
/// Most runs until the bounds of all hosts are below [`MOST_BOUND_NS`].
const RUNS: usize = 6;

/// The offsets of hosts, in their order, and that none is further off than its bound.
#[track_caller]
fn check_offsets(analysis: &Analysis, truth: &[i64]) {
    let hosts = analysis.array("/clock/hosts");
    assert_eq!(hosts.len(), truth.len(), "{hosts:#?}");
    for (host, truth) in hosts.iter().zip(truth) {
        let error = (host["offset_ns"].as_i64().unwrap() - truth).abs();
        let bound = host["bound_ns"].as_i64().unwrap();
        assert!(error <= bound, "off by {error} ns: {host}");
        assert!(bound < MOST_BOUND_NS, "{host}");
    }
}

#[test]
fn containers_whose_clocks_are_shifted_are_hosts_of_their_own() {
    let _alone = alone();
    let Some(shifted) = have(&["mpirun", "mpicc"]).then(shifted).flatten() else {
        return;
    };
    let workspace = Workspace::new();
    let analysis = record_behind(&workspace, &["--clock", "raw"], &[&shifted, &shifted]);
    check_offsets(&analysis, &[0, SHIFT_S * 1_000_000_000]);
    let hosts: Vec<_> = (0..4).map(|rank| &analysis.rank(rank)["host"]).collect();
    assert!(hosts[0] == hosts[1] && hosts[2] == hosts[3], "{hosts:?}");
    assert_ne!(
        hosts[0], hosts[2],
        "one machine, by its boot id, and two clocks"
    );
    assert!(!analysis.has_remark("clocks_apart"));
}

#[test]
fn a_rank_whose_clock_is_not_that_of_its_host_is_found_out_and_set_apart() {
    let _alone = alone();
    // More than any exchange lasts, however busy the machine is.
    const AHEAD_NS: i64 = 5_000_000_000;
    let Some(shifted) = have(&["mpirun", "mpicc", "gcc"]).then(shifted).flatten() else {
        return;
    };
    let workspace = Workspace::new();
    // The same boot, the same namespace: only a message shows it.
    let ahead = format!(
        "LD_PRELOAD=\"{}:$LD_PRELOAD\" AHEAD_NS={AHEAD_NS} exec \"$0\" \"$@\"",
        program("ahead.c").display()
    );
    let ahead = ["sh".to_owned(), "-c".to_owned(), ahead];
    let analysis = record_behind(&workspace, &["--clock", "monotonic"], &[&ahead, &shifted]);
    check_offsets(&analysis, &[0, AHEAD_NS, SHIFT_S * 1_000_000_000]);
    let said = analysis.remark("clocks_apart");
    assert!(said.contains("rank 2"), "{said}");
}
