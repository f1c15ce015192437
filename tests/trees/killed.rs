//! Ranks that are killed in collectives over trees.

use std::fs;
use std::time::{Duration, Instant};

use collbench_formats::RankTrace;
use collbench_tests::{Cluster, Job, Workspace, have, long_or, program, skip_unless};

const TREES: [&str; 3] = [
    "[[tree]]\n\
     operations = ['allreduce', 'reduce', 'bcast', 'barrier', 'gather', 'scatter', 'allgather']\n\
     shape = { ranks = 'linear', hosts = 'binomial' }\n",
    "[[tree]]\noperations = ['allreduce', 'barrier', 'allgather']\nshape = 'exchange'\n\
     [[tree]]\noperations = ['bcast', 'reduce']\nshape = '2-ary'\n",
    OF_CANDIDATES,
];

/// With other candidates at random, after one to three calls at a time.
const OF_CANDIDATES: &str = "[[tree]]\n\
     operations = ['allreduce', 'reduce', 'bcast', 'barrier', 'gather', 'scatter', 'allgather']\n\
     adapt = { library = true }\n\
     candidate = [{ shape = { ranks = 'linear', hosts = 'binomial' } }, { shape = 'binomial' }]\n";

/// Waits until no process has this word in its command line.
fn await_end_of(word: &str) {
    /// Longer than the kernel takes on any machine to end a process that was killed.
    const FOREVER: Duration = Duration::from_secs(120);
    let begin = Instant::now();
    loop {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
        let left: Vec<_> = lines
            .map(|line| String::from_utf8_lossy(&line).replace('\0', " "))
            .filter(|line| line.contains(word))
            .collect();
        if left.is_empty() {
            return;
        }
        assert!(begin.elapsed() < FOREVER, "processes are left: {left:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What shared memory with a name there is of ours.
fn shared_memory() -> Vec<String> {
    let entries = fs::read_dir("/dev/shm").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.contains("collbench")).collect()
}

#[test]
fn nothing_is_left_of_ranks_when_one_is_killed_at_any_instant() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    for seed in 1..=long_or(150, 6) {
        let folder = Workspace::new();
        let file = folder.join("trees.toml");
        fs::write(&file, TREES[seed / 2 % 3]).unwrap();
        let policy = format!("random:{seed}");
        let options = [
            "--trees",
            file.to_str().unwrap(),
            "--adapt",
            &policy,
            "--no-trace",
        ];
        let is_recorded = seed % 2 == 0;
        let word = format!("killed-{}-{seed}", std::process::id());
        let job = Job {
            options: &options[..if is_recorded { 4 } else { 5 }],
            ..Job::new(
                3,
                program("around_trees.c"),
                &["die", &seed.to_string(), &word],
            )
        };
        let (finished, trace) = job.record(folder.path());
        assert_eq!(finished.status, 128 + 9, "{finished}");
        await_end_of(&word);
        let left: Vec<_> = fs::read_dir(folder.path()).unwrap().flatten().collect();
        assert_eq!(left.len(), 1 + usize::from(is_recorded), "{left:?}");
        for entry in fs::read_dir(&trace).into_iter().flatten().flatten() {
            let is_of_rank = entry.file_name().to_string_lossy().ends_with(".trace");
            let bytes = fs::read(entry.path()).unwrap();
            assert!(!is_of_rank || RankTrace::parse(&bytes).is_ok(), "{entry:?}");
        }
    }
    assert_eq!(shared_memory(), [""; 0]);
}

#[test]
fn nothing_is_left_of_ranks_on_other_hosts_either() {
    let Some(cluster) = Cluster::up("killed", &["--hosts", "2", "--latency-us", "100"]) else {
        return;
    };
    let folder = Workspace::new();
    let file = folder.join("trees.toml");
    for seed in 1..=long_or(60, 2) {
        fs::write(&file, [TREES[0], OF_CANDIDATES][seed % 2]).unwrap();
        let policy = format!("random:{seed}");
        let options = ["--adapt", &policy];
        let word = format!("killed-on-hosts-{}-{seed}", std::process::id());
        let seed = seed.to_string();
        let arguments = ["die", &seed, &word];
        let finished =
            cluster.run_over_trees(&folder, 4, (&file, &options), "around_trees.c", &arguments);
        assert_eq!(finished.status, 128 + 9, "{finished}");
        await_end_of(&word);
    }
    assert_eq!(shared_memory(), [""; 0]);
}
