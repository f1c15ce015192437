//! Several hosts, each with its own name, clock and network: `cluster/` makes them on this machine,
//! where it can (status 77 where it cannot).

use std::collections::BTreeMap;
use std::f64::consts::TAU;
use std::path::{Path, PathBuf};

use crate::rank_files;
use collbench_formats::{Anchor, RankTrace};
use serde_json::Value;

use crate::machine::{Workspace, command, have, program, skipped, source_dir};
use crate::run::{Finished, run, run_ranks};

/// Hosts, taken down at the end.
#[derive(Debug)]
pub struct Cluster {
    script: PathBuf,
    name: String,
}

impl Cluster {
    /// None, loudly, where this machine cannot do it.
    ///
    /// # Panics
    ///
    /// If it can, and does not.
    #[must_use]
    pub fn up(label: &str, options: &[&str]) -> Option<Self> {
        if !have(&["mpirun", "mpicc", "python3", "ip", "unshare"]) {
            return None;
        }
        let script = source_dir().join("cluster/cluster");
        let name = format!("collbench-{label}-{}", std::process::id());
        let cluster = Self { script, name };
        let up = cluster.run(&[&["up", "--ttl", "3600"], options].concat());
        if up.status == 77 {
            skipped(&format!("no hosts on this machine: {up}"));
            return None;
        }
        up.expect(0);
        Some(cluster)
    }

    /// One that a file describes, which is written into the workspace.
    ///
    /// # Panics
    ///
    /// As [`Cluster::up`].
    #[must_use]
    pub fn of_topology(label: &str, topology: &str, workspace: &Workspace) -> Option<Self> {
        let file = workspace.join("hosts.topology");
        std::fs::write(&file, topology).expect("a file in the workspace");
        Self::up(label, &["--topology", file.to_str()?])
    }

    /// The command that makes hosts.
    ///
    /// # Panics
    ///
    /// If its path is no text.
    #[must_use]
    pub fn script(&self) -> &str {
        self.script.to_str().expect("a path in UTF-8")
    }

    /// The variable that tells it which hosts are meant.
    #[must_use]
    pub fn variable(&self) -> (&str, &str) {
        ("CLUSTER_NAME", &self.name)
    }

    /// Runs that command.
    ///
    /// # Panics
    ///
    /// As [`run`].
    #[track_caller]
    pub fn run(&self, words: &[&str]) -> Finished {
        let name = format!("CLUSTER_NAME={}", self.name);
        run(&[&["env", &name, self.script()], words].concat())
    }

    /// Records a program of `programs/` with so many ranks, host by host; with `--force`.
    ///
    /// # Panics
    ///
    /// As [`run`].
    #[track_caller]
    pub fn record_program(
        &self,
        workspace: &Workspace,
        ranks: usize,
        options: &[&str],
        name: &str,
        arguments: &[&str],
    ) -> Finished {
        let (recorder, program) = (command("collbench-record"), program(name));
        let n = ranks.to_string();
        let record = [
            recorder.to_str().unwrap_or_default(),
            "--force",
            "-o",
            "trace",
        ];
        let launch = ["--", self.script(), "mpirun", "-n", &n];
        let program = [program.to_str().unwrap_or_default()];
        let line = [&record[..], options, &launch, &program, arguments].concat();
        run_ranks(ranks, workspace.path(), &[self.variable()], &line)
    }

    /// Runs a program of `programs/` with so many ranks, host by host, over the trees of a file, without a trace.
    ///
    /// # Panics
    ///
    /// As [`run`].
    #[track_caller]
    pub fn run_over_trees(
        &self,
        workspace: &Workspace,
        ranks: usize,
        (trees, options): (&Path, &[&str]),
        name: &str,
        arguments: &[&str],
    ) -> Finished {
        command("libcollbench_preload.so");
        let (recorder, program) = (command("collbench-record"), program(name));
        let n = ranks.to_string();
        let paths = [&recorder, trees, &program].map(|path| path.to_str().unwrap_or_default());
        let record = [paths[0], "--trees", paths[1], "--no-trace"];
        let launch = ["--", self.script(), "mpirun", "-n", &n, paths[2]];
        let line = [&record[..], options, &launch, arguments].concat();
        run_ranks(ranks, workspace.path(), &[self.variable()], &line)
    }

    /// What is true of the clocks.
    ///
    /// # Panics
    ///
    /// If the hosts are gone.
    #[track_caller]
    #[must_use]
    pub fn clocks(&self) -> TrueClocks {
        let status = self.run(&["status", "--json"]).expect(0);
        let status: Value = serde_json::from_str(&status.stdout).expect("JSON");
        let hosts = status["hosts"].as_array().expect("hosts");
        let clock = |host: &Value| {
            let number = |field: &str| host[field].as_f64().unwrap_or(0.0);
            let clock = TrueClock {
                ahead_ns: host["clock_ns"].as_i64().expect("the shift of a clock"),
                drift_ppm: number("drift_ppm"),
                wander_ns: number("wander_us") * 1e3,
                period_ns: number("wander_s") * 1e9,
            };
            (host["name"].as_str().expect("a name").to_owned(), clock)
        };
        TrueClocks {
            anchor_ns: status["anchor_ns"].as_i64().unwrap_or(0),
            hosts: hosts.iter().map(clock).collect(),
        }
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

/// The clocks of hosts as they were made.
#[derive(Clone, Debug)]
pub struct TrueClocks {
    /// The machine's clock when the hosts came up: drift and wander count from there.
    anchor_ns: i64,
    /// By the name of the host.
    pub hosts: BTreeMap<String, TrueClock>,
}

/// The clock of one host against the machine's.
#[derive(Clone, Copy, Debug)]
pub struct TrueClock {
    ahead_ns: i64,
    /// How much faster it runs.
    pub drift_ppm: f64,
    wander_ns: f64,
    period_ns: f64,
}

impl TrueClock {
    /// What it is ahead of the machine's, `since_ns` after the hosts came up, ns.
    #[must_use]
    pub fn ahead_ns(&self, since_ns: f64) -> i64 {
        self.ahead_ns + (since_ns * self.drift_ppm * 1e-6 + self.wander(since_ns)).round() as i64
    }

    fn wander(&self, since_ns: f64) -> f64 {
        match self.wander_ns {
            0.0 => 0.0,
            amplitude => amplitude * (TAU * since_ns / self.period_ns).sin(),
        }
    }
}

impl TrueClocks {
    /// When the recorded run began, in ns after the hosts came up: when the first rank left
    /// `MPI_Init`, which is its second reading of the clocks.
    ///
    /// # Panics
    ///
    /// If a file of the trace cannot be read, or has no such reading.
    #[must_use]
    pub fn begin_of(&self, trace: &Path) -> f64 {
        let begins = rank_files(trace).into_iter().map(|path| {
            let bytes = std::fs::read(path).expect("a rank file");
            let rank = RankTrace::parse(&bytes).expect("a rank file");
            let clock = &self.hosts[&rank.identity.host.name];
            let anchor = Anchor::from(rank.identity.anchors[1]);
            let shown_ns = (anchor.raw_ns.get() as i64 - self.anchor_ns - clock.ahead_ns) as f64;
            // Ahead by parts of a million: each step makes the error smaller by as much.
            (0..4).fold(shown_ns, |since_ns, _| {
                shown_ns - since_ns * clock.drift_ppm * 1e-6 - clock.wander(since_ns)
            })
        });
        begins.fold(f64::INFINITY, f64::min)
    }

    /// What each clock is ahead of the machine's at such a time, ns.
    #[must_use]
    pub fn at(&self, since_ns: f64) -> BTreeMap<String, i64> {
        let hosts = self.hosts.iter();
        hosts
            .map(|(name, clock)| (name.clone(), clock.ahead_ns(since_ns)))
            .collect()
    }
}
