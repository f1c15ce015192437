//! Several hosts, each with its own name, clock and network: `cluster/` makes them on this machine,
//! where it can (status 77 where it cannot).

use std::fs;
use std::path::PathBuf;

use collbench_tests::{
    Analysis, Finished, Form, Workspace, analyze, command, have, program, run, run_in, skipped,
};
use serde_json::{Value, json};

/// Four hosts, taken down at the end.
struct Cluster {
    script: PathBuf,
    name: String,
}

impl Cluster {
    /// None, loudly, where this machine cannot do it.
    fn up() -> Option<Self> {
        if !have(&["mpirun", "mpicc", "python3", "ip", "unshare"]) {
            return None;
        }
        let script = collbench_tests::source_dir().join("cluster/cluster");
        let name = format!("collbench-{}", std::process::id());
        let cluster = Self { script, name };
        let up = cluster.run(&[
            "up",
            "--hosts",
            "4",
            "--latency-us",
            "100",
            "--rate",
            "1gbit",
            "--ttl",
            "600",
        ]);
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

    // Their clocks are days apart, and nothing has measured by how much yet.
    assert!(
        analysis.has_remark("clocks_not_aligned"),
        "{:#?}",
        analysis.array("/remarks")
    );
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
    let Some(cluster) = Cluster::up() else { return };
    for form in [Form::Outer, Form::Inner] {
        let workspace = Workspace::new();
        let finished = cluster.record(&workspace, form, &[]).expect(0);
        assert!(finished.stdout.contains("checksum"), "{form:?}: {finished}");
        check(
            &workspace,
            &analyze(&workspace.join("trace"), &[]).expect(0),
        );
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
