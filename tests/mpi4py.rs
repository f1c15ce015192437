//! mpi4py's own tests under recording: they do what they do without, and every call is counted as an
//! independent tool counts it, and as the MPI library itself does where it can tell.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collbench_tests::{
    Analysis, Job, Workspace, analyze, calls_by_class, check_against_monitoring, have, have_folder,
    monitoring, program, skip_unless, source_dir, target_dir,
};

const RANKS: usize = 4;

type ByClass = BTreeMap<String, u64>;

fn folder() -> PathBuf {
    target_dir().join("mpi4py")
}

fn have_mpi4py() -> bool {
    have(&["mpirun", "mpicc"]) && have_folder(&folder())
}

/// What each rank says at its end of its tests, such as "OK (skipped=2)", by rank. Read from files
/// that mpirun writes below `folder` for each rank: on the terminal their lines mix.
fn outcomes(folder: &Path) -> Vec<String> {
    (0..RANKS)
        .map(|rank| {
            let said = fs::read_to_string(folder.join(format!("1/rank.{rank}/stderr"))).unwrap();
            assert!(said.contains("\nRan "), "rank {rank}: {said}");
            assert!(!said.contains("\nRan 0 tests"), "rank {rank}: {said}");
            let is_end = |line: &&str| line.starts_with("OK") || line.starts_with("FAILED");
            let end = said.lines().rfind(is_end);
            end.unwrap_or_else(|| panic!("rank {rank}: {said}"))
                .to_owned()
        })
        .collect()
}

/// What a module of mpi4py's tests does.
struct Tested {
    analysis: Analysis,
    /// By rank, of the analysis; those of the counter are the same.
    counts: Vec<ByClass>,
}

/// Runs modules of mpi4py's tests on 4 ranks with an independent counter preloaded, and recorded:
/// two such tools do not stack.
#[track_caller]
fn run_tests(modules: &str, is_monitored: bool) -> Tested {
    let workspace = Workspace::new();
    let python = folder().join("environment/bin/python");
    let main = folder().join("source/test/main.py");
    let job = Job::new(RANKS, python, &[main.to_str().unwrap(), "-i", modules]);
    let here = workspace.path().to_str().unwrap();
    let [said_counted, said_recorded] = ["counted", "recorded"].map(|name| workspace.join(name));
    let counter = program("counter.c");
    let variables = [
        ("LD_PRELOAD", counter.to_str().unwrap()),
        ("COUNTER_DIRECTORY", here),
    ];
    let counted = Job {
        variables: &variables,
        launcher_options: &["--output-filename", said_counted.to_str().unwrap()],
        ..job.clone()
    };
    counted.plain(workspace.path()).expect(0);

    let prefix = workspace.join("monitored");
    let mut options = vec!["--output-filename", said_recorded.to_str().unwrap()];
    if is_monitored {
        options.extend(monitoring(prefix.to_str().unwrap()));
    }
    let job = Job {
        launcher_options: &options,
        options: &["--layers", "calls,messages,algorithms,io,rma"],
        ..job
    };
    let (recorded, trace) = job.record(workspace.path());
    let recorded = recorded.expect(0);
    let said = outcomes(&said_recorded);
    assert_eq!(said, outcomes(&said_counted), "{recorded}");
    let analysis = analyze(&trace, &[]).expect(0);
    assert_eq!(analysis.json["trace"]["complete"], true);
    if is_monitored {
        check_against_monitoring(&analysis, &prefix);
    }
    let counts: Vec<ByClass> = (0..RANKS)
        .map(|rank| {
            let own = fs::read_to_string(workspace.join(format!("counter.{rank}.json"))).unwrap();
            let own: ByClass = serde_json::from_str(&own).unwrap();
            let found = calls_by_class(analysis.rank(rank));
            assert_eq!(found, own, "{modules}, rank {rank}");
            found
        })
        .collect();
    Tested { analysis, counts }
}

impl Tested {
    #[track_caller]
    fn check_complete(&self, at_least_classes: usize) {
        for operation in self.analysis.array("/operations") {
            assert_eq!(operation["incomplete"], 0, "{operation:#}");
        }
        let remarks = self.analysis.remarks_on_the_program();
        assert!(remarks.is_empty(), "{remarks:#?}");
        assert!(
            self.counts[0].len() >= at_least_classes,
            "{:?}",
            self.counts[0]
        );
    }
}

#[test]
fn blocking_collectives_also_between_groups() {
    skip_unless!(have_mpi4py());
    // The component fails on intercommunicators.
    let within = run_tests(r"test_cco_buf\.py", true);
    let between = run_tests(r"test_cco_buf_inter\.py", false);
    within.check_complete(28);
    between.check_complete(14);
    let added = |class: &str| -> u64 {
        let counts = [&within.counts[0], &between.counts[0]];
        counts.iter().filter_map(|counts| counts.get(class)).sum()
    };
    // Found with another counter, by other people; of the communicators, their calls only.
    for (name, world, inter, own) in [
        ("Allgather", 2388, 576, 1956),
        ("Allreduce", 774, 516, 774),
        ("Alltoall", 576, 576, 144),
        ("Barrier", 2, 2, 2),
        ("Bcast", 1728, 576, 432),
        ("Exscan", 774, 0, 774),
        ("Gather", 1152, 576, 288),
        ("Reduce", 3096, 2064, 774),
        ("Reduce_scatter", 1290, 0, 1290),
        ("Reduce_scatter_block", 3096, 0, 774),
        ("Scan", 774, 0, 774),
        ("Scatter", 5760, 576, 1440),
    ] {
        let found = ["", ":inter", ":self"].map(|mark| added(&format!("MPI_{name}{mark}")));
        assert_eq!(found, [world, inter, own], "{name}");
    }
}

#[test]
fn nonblocking_collectives() {
    skip_unless!(have_mpi4py());
    let tested = run_tests(r"test_cco_nb_buf\.py", true);
    tested.check_complete(28);
    assert_eq!(tested.counts[0]["MPI_Ireduce_scatter_block"], 3096);
}

#[test]
fn neighborhood_collectives_blocking_and_not() {
    skip_unless!(have_mpi4py());
    let tested = run_tests(r"test_cco_ngh_buf\.py", false);
    tested.check_complete(30);
    assert_eq!(tested.counts[0]["MPI_Ineighbor_alltoallw"], 7776);
}

#[test]
fn intercommunicators_and_topologies() {
    skip_unless!(have_mpi4py());
    run_tests(r"test_cco_vec_inter\.py", false).check_complete(11);
    run_tests(r"test_comm_topo\.py", false).check_complete(15);
    // Pickled objects, a communicator for each of many locks, connected halves.
    run_tests(r"test_cco_ngh_obj\.py|test_util_sync\.py", false).check_complete(12);
}

#[test]
fn files_windows_and_what_else_the_library_does_by_itself_is_undisturbed() {
    skip_unless!(have_mpi4py());
    let modules = r"test_file\.py|test_win\.py|test_threads\.py|test_request\.py|test_grequest\.py";
    run_tests(modules, false);
}

#[test]
fn the_lines_of_scripts_are_known_where_they_are_asked_for() {
    skip_unless!(have_mpi4py());
    let workspace = Workspace::new();
    let python = folder().join("environment/bin/python");
    let script = source_dir().join("programs/sites.py");
    let text = fs::read_to_string(&script).unwrap();
    let line_of = |what: &str| {
        let at = text.lines().position(|line| line.contains(what));
        at.unwrap() as u64 + 1
    };
    let job = Job {
        options: &["--layers", "+sites,+scripts"],
        ..Job::new(2, python, &[script.to_str().unwrap()])
    };
    let analysis = job.analyzed(workspace.path());
    let sites = analysis.array("/sites");
    for (operation, function, what, calls) in [
        ("MPI_Bcast", "pickled", "# pickled", None),
        ("MPI_Allreduce", "buffered", "world.Allreduce(", Some(40)),
        ("MPI_Barrier", "<lambda>", "# lambda", Some(40)),
        ("MPI_Comm_dup", "<module>", "copy = world.Dup()", Some(2)),
        ("MPI_Bcast", "of_thread", "# thread", Some(10)),
    ] {
        let entries = analysis.array("/operations").iter();
        let of = entries
            .filter(|entry| entry["operation"] == operation)
            .flat_map(|entry| entry["sites"].as_array().unwrap());
        let there: Vec<_> = of
            .filter(|of| {
                let site = &sites[of["site"].as_u64().unwrap() as usize];
                let last = site["frames"].as_array().unwrap().last().unwrap();
                last["function"] == function
                    && last["line"] == line_of(what)
                    && last["file"] == script.to_str().unwrap()
            })
            .collect();
        assert!(!there.is_empty(), "{operation} {what}: {sites:#?}");
        if let Some(calls) = calls {
            let n: u64 = there.iter().map(|of| of["calls"].as_u64().unwrap()).sum();
            assert_eq!(n, calls, "{operation} {what}");
        }
    }
}
