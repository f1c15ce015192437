//! One preloaded library for every MPI: programs on Open MPI 4 and 5, on MPICH 4 and 5, on the ABI
//! of MPI 5 and on one that nobody knows give the same counts, and run on the library that they
//! run on without recording. `make test-programs` installs the libraries (`scripts/mpis.sh`).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use collbench_formats::{RankTrace, RecordKind};
use collbench_tests::{
    Analysis, Cluster, Finished, Form, Job, RuledLibrary, Workspace, alone, analyze, calls_at,
    calls_by_class, command, edges_of_bcast, ends, have, have_folder, mpirun, n_received, paired,
    run, run_in, schedules_of, skip_unless, source_dir, target_dir,
};
use serde_json::{Value, json};

/// An MPI library below `target/mpis`.
struct Mpi {
    name: &'static str,
    /// What it calls itself.
    says: &'static str,
    /// The environment, below `target`, whose Python has an mpi4py that runs on it.
    environment: &'static str,
    launcher: Launcher,
    /// The folder of the library; empty for one that the system's loader finds.
    library: &'static str,
    /// The words that compile and link a program in C.
    compiler: &'static [&'static str],
}

enum Launcher {
    /// The system's `mpirun`.
    System,
    /// An `mpirun` of Open MPI.
    OpenMpi(&'static str),
    /// One that starts any number of ranks as anybody.
    Hydra(&'static str),
}

const OPEN_MPI_4: Mpi = Mpi {
    name: "Open MPI 4.1",
    says: "Open MPI v4.1.",
    environment: "mpi4py/environment",
    launcher: Launcher::System,
    library: "",
    compiler: &["mpicc"],
};
const OPEN_MPI_5: Mpi = Mpi {
    name: "Open MPI 5",
    says: "Open MPI v5.",
    environment: "mpis/openmpi",
    launcher: Launcher::OpenMpi("openmpi/bin/mpirun"),
    library: "openmpi/lib",
    compiler: &["openmpi/bin/mpicc"],
};
const MPICH_4: Mpi = Mpi {
    name: "MPICH 4",
    says: "MPICH Version: 4.",
    environment: "mpi4py/environment",
    launcher: Launcher::Hydra("debian-mpich/usr/bin/mpiexec.hydra"),
    library: "debian-mpich/usr/lib/x86_64-linux-gnu",
    compiler: &[
        "gcc",
        "-Idebian-mpich/usr/include/x86_64-linux-gnu/mpich",
        "-Ldebian-mpich/usr/lib/x86_64-linux-gnu",
        "-lmpich",
    ],
};
/// The same for programs in Fortran.
const MPICH_4_FORTRAN: Mpi = Mpi {
    compiler: &[
        "gfortran",
        "-Idebian-mpich/usr/include/x86_64-linux-gnu/mpich",
        "-Ldebian-mpich/usr/lib/x86_64-linux-gnu",
        "-lmpichfort",
        "-lmpich",
    ],
    ..MPICH_4
};
const MPICH_5: Mpi = Mpi {
    name: "MPICH 5",
    says: "MPICH Version: 5.",
    environment: "mpis/mpich",
    launcher: Launcher::Hydra("mpich/bin/mpiexec"),
    library: "mpich/lib",
    compiler: &["mpich/bin/mpicc"],
};
/// mpi4py has no module for it yet.
const MPI_5_ABI: Mpi = Mpi {
    name: "the ABI of MPI 5",
    says: "MPICH Version: 5.",
    compiler: &["mpich/bin/mpicc_abi"],
    ..MPICH_5
};

fn folder() -> PathBuf {
    target_dir().join("mpis")
}

impl Mpi {
    fn python(&self) -> PathBuf {
        target_dir().join(self.environment).join("bin/python")
    }

    fn launcher(&self) -> Vec<OsString> {
        let launcher = match self.launcher {
            Launcher::System => return Vec::new(),
            Launcher::Hydra(path) => return vec![folder().join(path).into()],
            Launcher::OpenMpi(path) => folder().join(path),
        };
        // The options of the system's, but for its name and the number of ranks.
        let mut line = mpirun(0);
        line.truncate(line.len() - 2);
        line[0] = launcher.into();
        line
    }

    fn library_path(&self) -> String {
        match self.library {
            "" => String::new(),
            library => folder().join(library).display().to_string(),
        }
    }

    /// Compiles a source of `programs/` for it.
    fn compile(&self, name: &str, options: &[&str], into: &Path) -> PathBuf {
        let executable = into.join(name).with_extension("");
        let source = source_dir().join("programs").join(name);
        let here = folder();
        // A name with a slash is one below that folder, as are those behind -I and -L.
        let words = self
            .compiler
            .iter()
            .map(|word| match (word.get(..2), word.contains('/')) {
                (Some(option @ ("-I" | "-L")), _) => {
                    format!("{option}{}", here.join(&word[2..]).display())
                }
                (_, true) => here.join(word).display().to_string(),
                _ => (*word).to_owned(),
            });
        let mut line: Vec<String> = words.collect();
        let fixed = ["-w", "-O1", "-pthread", "-o"].iter();
        let options = options.iter().chain(fixed).map(|&word| word.to_owned());
        let paths = [&executable, &source].map(|path| path.display().to_string());
        line.splice(1..1, options.chain(paths));
        run(&line).expect(0);
        executable
    }

    /// As [`run_alone`](Self::run_alone), and every call must have found those of the other ranks.
    #[track_caller]
    fn run(&self, job: Job<'_>, workspace: &Workspace) -> Analysis {
        let analysis = self.run_alone(job, workspace);
        for operation in analysis.array("/operations") {
            assert_eq!(operation["incomplete"], 0, "{}: {operation:#}", self.name);
        }
        for code in [
            "unknown_communicator",
            "communicator_conflict",
            "mismatched_calls",
        ] {
            assert!(!analysis.has_remark(code), "{}: {code}", self.name);
        }
        analysis
    }

    /// Runs a job without recording and with; the results must be the same.
    #[track_caller]
    fn run_alone(&self, job: Job<'_>, workspace: &Workspace) -> Analysis {
        let path = self.library_path();
        let variables = [("LD_LIBRARY_PATH", path.as_str())];
        let job = Job {
            launcher: self.launcher(),
            variables: if path.is_empty() { &[] } else { &variables },
            ..job
        };
        let plain = job.plain(workspace.path()).expect(0);
        let (recorded, trace) = job.record(workspace.path());
        let recorded = recorded.expect(0);
        assert_eq!(recorded.stdout, plain.stdout, "{}", self.name);
        let analysis = analyze(&trace, &[]).expect(0);
        let library = &analysis.json["trace"]["mpi_library"];
        let library = library.as_str().unwrap();
        assert!(library.starts_with(self.says), "{}: {library}", self.name);
        assert_eq!(analysis.json["trace"]["complete"], true);
        analysis
    }
}

/// Whether the libraries are here.
pub(crate) fn have_mpis() -> bool {
    have(&["mpirun", "mpicc", "gcc"]) && have_folder(&folder())
}

/// What of an analysis must not depend on the MPI library: all counts and sizes.
fn counts(analysis: &Analysis) -> Value {
    let fields = |entry: &Value, names: &[&str]| -> Value {
        names
            .iter()
            .map(|&name| (name.to_owned(), entry[name].clone()))
            .collect()
    };
    let names = ["operation", "communicator", "root"];
    // Each library has its own algorithms, by which operations are told apart, too.
    let mut operations: BTreeMap<String, (u64, u64, u64, u64)> = BTreeMap::new();
    for operation in analysis.array("/operations") {
        let sums = operations
            .entry(fields(operation, &names).to_string())
            .or_insert((0, 0, u64::MAX, 0));
        let number = |name: &str| operation[name].as_u64();
        sums.0 += number("calls").unwrap();
        sums.1 += number("instances").unwrap();
        sums.2 = sums.2.min(number("bytes_min").unwrap_or(u64::MAX));
        sums.3 = sums.3.max(number("bytes_max").unwrap_or(0));
    }
    let ranks: Vec<_> = analysis
        .array("/ranks")
        .iter()
        .map(|rank| rank["calls_by_class"].clone())
        .collect();
    let communicators: Vec<_> = analysis
        .array("/communicators")
        .iter()
        .map(|comm| fields(comm, &["id", "kind", "size", "ranks", "groups", "name"]))
        .collect();
    json!({"ranks": ranks, "operations": operations, "communicators": communicators})
}

/// Runs a program in Python with 2 ranks on all libraries that mpi4py has, in these forms; gives what
/// all of them count.
#[track_caller]
fn counts_on_all(script: &str, forms: &[Form]) -> Value {
    let script = source_dir().join("programs").join(script);
    let mut first: Option<Value> = None;
    for mpi in [OPEN_MPI_4, OPEN_MPI_5, MPICH_4, MPICH_5] {
        for &form in forms {
            let workspace = Workspace::new();
            let job = Job {
                form,
                ..Job::new(2, mpi.python(), &[script.to_str().unwrap()])
            };
            let found = counts(&mpi.run(job, &workspace));
            let expected = first.get_or_insert_with(|| found.clone());
            assert_eq!(found, *expected, "{}, {form:?}", mpi.name);
        }
    }
    first.unwrap()
}

/// Some counts of rank 1, by hand from the text of a program.
#[track_caller]
fn check_by_hand(counts: &Value, by_hand: &[(&str, u64)]) {
    let by_class = &counts["ranks"][1];
    for (class, calls) in by_hand {
        assert_eq!(by_class[*class], *calls, "{class}: {by_class:#}");
    }
}

#[test]
fn a_program_in_python_gives_the_same_counts_on_four_libraries_in_both_forms() {
    skip_unless!(have_mpis());
    let found = counts_on_all("matrix.py", &[Form::Outer, Form::Inner]);
    let by_hand = [
        ("MPI_Comm_dup", 22),
        ("MPI_Comm_create_group", 2),
        ("MPI_Barrier:inter", 2),
        ("MPI_Alltoallw", 2),
    ];
    check_by_hand(&found, &by_hand);
}

#[test]
fn a_nonblocking_program_in_python_gives_the_same_counts_on_four_libraries() {
    skip_unless!(have_mpis());
    let found = counts_on_all("begun.py", &[Form::Outer]);
    // Six turns on two communicators of two processes and on two of one.
    let by_hand = [
        ("MPI_Ibcast", 24),
        ("MPI_Ibcast:self", 12),
        ("MPI_Iallgather", 24),
        ("MPI_Ialltoallw:self", 12),
        ("MPI_Iallreduce:inter", 6),
        ("MPI_Ineighbor_alltoall", 6),
        ("MPI_Comm_idup", 1),
    ];
    check_by_hand(&found, &by_hand);
}

#[test]
fn nonblocking_persistent_and_neighborhood_collectives_in_c_count_the_same_on_all_three_abis() {
    skip_unless!(have_mpis());
    let mut first: Option<Value> = None;
    for mpi in [OPEN_MPI_4, OPEN_MPI_5, MPICH_4, MPICH_5, MPI_5_ABI] {
        let workspace = Workspace::new();
        let program = mpi.compile("same.c", &[], workspace.path());
        let found = counts(&mpi.run(Job::new(4, program, &[]), &workspace));
        let expected = first.get_or_insert_with(|| found.clone());
        assert_eq!(found, *expected, "{}", mpi.name);
    }
    let by_hand = [
        ("MPI_Iallreduce:inter", 1),
        ("MPI_Ineighbor_alltoallw", 1),
        ("MPI_Bcast_init", 4),
    ];
    check_by_hand(&first.unwrap(), &by_hand);
}

#[test]
fn a_program_in_c_that_counts_itself_agrees_on_all_three_abis() {
    skip_unless!(have_mpis());
    for mpi in [OPEN_MPI_5, MPICH_4, MPICH_5, MPI_5_ABI] {
        let workspace = Workspace::new();
        let program = mpi.compile("every.c", &[], workspace.path());
        let here = workspace.path().to_str().unwrap();
        let analysis = mpi.run(Job::new(3, program, &[here]), &workspace);
        for rank in 0..3 {
            let own = fs::read_to_string(workspace.join(format!("every.{rank}.json"))).unwrap();
            let own: Value = serde_json::from_str(&own).unwrap();
            assert_eq!(
                analysis.rank(rank)["calls_by_class"],
                own["calls_by_class"],
                "{}, rank {rank}",
                mpi.name
            );
        }
        let library = analysis.json["trace"]["mpi_library"].as_str().unwrap();
        assert_eq!(
            library.ends_with("(ABI of MPI 5)"),
            mpi.compiler == MPI_5_ABI.compiler,
            "{}: {library}",
            mpi.name
        );
    }
}

/// Runs a program with its arguments on its own and over trees, with further options, which prints the
/// same in both. What it printed over trees, and the trace.
#[track_caller]
fn same_over_trees(
    mpi: &Mpi,
    workspace: &Workspace,
    (ranks, (program, arguments)): (usize, (&str, &[&str])),
    trees: &str,
    options: &[&str],
) -> (Finished, PathBuf) {
    let program = mpi.compile(program, &[], workspace.path());
    let file = workspace.join("trees.toml");
    fs::write(&file, trees).unwrap();
    let path = mpi.library_path();
    let options = [&["--trees", file.to_str().unwrap()][..], options].concat();
    let job = Job {
        launcher: mpi.launcher(),
        variables: &[("LD_LIBRARY_PATH", path.as_str())],
        options: &options,
        ..Job::new(ranks, program, arguments)
    };
    let plain = job.plain(workspace.path()).expect(0);
    let (over_trees, trace) = job.record(workspace.path());
    let over_trees = over_trees.expect(0);
    let lines = (over_trees.sorted_lines(), plain.sorted_lines());
    assert_eq!(lines.0, lines.1, "{}", mpi.name);
    (over_trees, trace)
}

#[test]
fn places_in_the_program_are_known_with_each_library() {
    skip_unless!(have_mpis());
    for mpi in [OPEN_MPI_5, MPICH_4, MPICH_5] {
        let workspace = Workspace::new();
        let options = ["-DALONE", "-g"];
        let program = mpi.compile("sites.c", &options, workspace.path());
        let analysis = mpi.run(Job::new(2, program, &[]), &workspace);
        let sites = analysis.array("/sites");
        for (operation, comment) in [
            ("MPI_Barrier", "inlined"),
            ("MPI_Bcast", "aligned"),
            ("MPI_Allreduce", "in the wrapper"),
            ("MPI_Ibarrier", "initiated"),
        ] {
            let calls = calls_at(&analysis, operation, "sites.c", comment);
            let expected = if operation == "MPI_Allreduce" {
                160
            } else {
                80
            };
            assert_eq!(calls, expected, "{}, {operation}: {sites:#?}", mpi.name);
        }
    }
}

#[test]
fn collectives_over_trees_give_what_they_give_with_each_library() {
    const TREES: &str = "[[tree]]\noperations = ['allreduce', 'reduce', 'bcast', 'barrier', \
                         'gather', 'scatter', 'allgather']\nshape = 'binomial'\n";
    skip_unless!(have_mpis());
    for mpi in [OPEN_MPI_5, MPICH_5, MPI_5_ABI] {
        let workspace = Workspace::new();
        let program = ("replaced.c", &["1", "100"][..]);
        let (over_trees, _) =
            same_over_trees(&mpi, &workspace, (4, program), TREES, &["--no-trace"]);
        // Where trees cannot be used, it is said.
        let is_told = over_trees
            .stderr
            .contains("no trees are used: the handles of this MPI");
        assert_eq!(is_told, mpi.compiler == MPI_5_ABI.compiler, "{over_trees}");
    }
}

#[test]
fn sections_of_fortran_arrays_go_over_trees_where_the_library_gets_descriptors() {
    const TREES: &str = "[[tree]]\noperations = ['allreduce', 'bcast']\nshape = 'binomial'\n";
    skip_unless!(have_mpis() && have(&["gfortran"]));
    let workspace = Workspace::new();
    let program = ("sections_f08.F90", &[][..]);
    let (finished, _) = same_over_trees(&MPICH_4_FORTRAN, &workspace, (3, program), TREES, &[]);
    let all_done = ["0 done, 0 wrong", "1 done, 0 wrong", "2 done, 0 wrong"];
    assert_eq!(finished.sorted_lines(), all_done);
}

#[test]
fn a_communicator_of_a_session_has_trees_from_mpi_init_to_mpi_finalize() {
    const TREES: &str = "[[tree]]\noperations = ['allreduce', 'bcast']\nshape = 'binomial'\n";
    skip_unless!(have_mpis());
    for mpi in [OPEN_MPI_5, MPICH_5] {
        let workspace = Workspace::new();
        let program = ("session_comm.c", &[][..]);
        let (_, trace) = same_over_trees(&mpi, &workspace, (3, program), TREES, &[]);
        // Each of its 20 allreduces passes an event collector in rank 1.
        let files = fs::read_dir(&trace)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let is_of_rank_1 = |file: &PathBuf| {
            let name = file.file_name().unwrap().to_string_lossy();
            name.starts_with("rank-000001.") && name.ends_with(".trace")
        };
        let mut files = files.filter(is_of_rank_1);
        let bytes = fs::read(files.next().unwrap()).unwrap();
        let parsed = RankTrace::parse(&bytes).unwrap();
        let records = parsed.chunks.iter().flat_map(|chunk| {
            let records = &chunk.records;
            (0..records.len()).filter_map(|at| records.get(at))
        });
        let passes = records.filter(|record| record.kind() == Some(RecordKind::CollectorPass));
        let n_passes = passes.count();
        assert!(n_passes >= 20, "{}: {n_passes}", mpi.name);
    }
}

#[test]
fn collectives_on_files_and_windows_are_the_same_on_all_libraries() {
    skip_unless!(have_mpis());
    let mut first: Option<Value> = None;
    for mpi in [OPEN_MPI_5, MPICH_4, MPICH_5, MPI_5_ABI] {
        let workspace = Workspace::new();
        let program = mpi.compile("opened.c", &[], workspace.path());
        let prefix = workspace.unique_path();
        let job = Job {
            options: &["--layers", "calls,io,rma"],
            ..Job::new(2, program, &[prefix.to_str().unwrap(), "nonblocking"])
        };
        let analysis = mpi.run(job, &workspace);
        let ranks = analysis.array("/ranks").iter();
        let found: Value = ranks.map(|rank| rank["calls_by_class"].clone()).collect();
        let expected = first.get_or_insert_with(|| found.clone());
        assert_eq!(found, *expected, "{}", mpi.name);
        assert_eq!(found[0]["MPI_File_iread_all:self"], 6, "{}", mpi.name);
        // Of twelve fences that end no epoch nobody knows whether they wait.
        let mut fences = analysis
            .array("/operations")
            .iter()
            .filter(|entry| entry["operation"] == "MPI_Win_fence" && entry["communicator"] == 0);
        let fence = fences.next().unwrap();
        assert_eq!(
            fence["wait_ns"]["n"],
            2 * (38 - 12),
            "{}: {fence:#}",
            mpi.name
        );
    }
}

#[test]
fn messages_are_seen_on_open_mpi_and_on_mpich_over_ucx_and_where_not_it_is_said() {
    skip_unless!(have_mpis());
    for (mpi, is_seen) in [
        (OPEN_MPI_4, true),
        (OPEN_MPI_5, true),
        (MPICH_4, true),
        (MPICH_5, false),
        (MPI_5_ABI, false),
    ] {
        let workspace = Workspace::new();
        let program = mpi.compile("messages.c", &[], workspace.path());
        let job = Job {
            options: &["--layers", "calls,messages,algorithms"],
            ..Job::new(4, program, &["3", "64", "0"])
        };
        let analysis = mpi.run(job, &workspace);
        let ends = ends(&workspace.join("trace"));
        let layer = &analysis.json["trace"]["layers"]["messages"];
        assert_eq!(layer["on"], is_seen, "{}: {layer}", mpi.name);
        if !is_seen {
            // Within a host these send through shared memory.
            assert!(layer["reason"].as_str().unwrap().contains("none was seen"));
            assert!(analysis.json["trace"]["messages"].is_null());
            assert!(ends.iter().all(Vec::is_empty));
            continue;
        }
        let pairs = paired(&ends);
        assert!(pairs.len() > 3 * 40, "{}: {}", mpi.name, pairs.len());
        let n_with_end = n_received(&pairs);
        // Open MPI looks into the receives of nonblocking collectives by itself.
        assert!(
            n_with_end * 10 > pairs.len() * 7,
            "{n_with_end} of {}",
            pairs.len()
        );
        // With all three a binomial tree, halving the distances or doubling them.
        let binomial = [(0, 2), (0, 1), (2, 3)];
        let mirrored = [(0, 1), (0, 2), (1, 3)];
        let edges = edges_of_bcast(&ends);
        assert!(
            edges == binomial.into() || edges == mirrored.into(),
            "{}: {edges:?}",
            mpi.name
        );
    }
}

#[test]
fn a_program_on_sessions_is_recorded_from_the_first_to_the_last_one() {
    skip_unless!(have_mpis());
    let mut first: Option<Value> = None;
    for mpi in [OPEN_MPI_5, MPICH_4, MPICH_5, MPI_5_ABI] {
        let workspace = Workspace::new();
        let program = mpi.compile("sessions.c", &[], workspace.path());
        let job = Job::new(3, &program, &["only"]);
        let found = counts(&mpi.run(job, &workspace));
        let expected = first.get_or_insert_with(|| found.clone());
        assert_eq!(found, *expected, "{}", mpi.name);

        // With MPI_Init and MPI_Finalize in between: one recording of all.
        let workspace = Workspace::new();
        let analysis = mpi.run(Job::new(3, &program, &[]), &workspace);
        for rank in 0..3 {
            let found = calls_by_class(analysis.rank(rank));
            let expected = [
                ("MPI_Comm_create_from_group", 2),
                ("MPI_Intercomm_create_from_groups", 1),
                ("MPI_Barrier", 6),
                ("MPI_Barrier:inter", 1),
                ("MPI_Comm_dup", 1),
                ("MPI_Allreduce", 1),
                ("MPI_Bcast", 1),
                ("MPI_Comm_free", 3),
                ("MPI_Comm_free:inter", 1),
            ];
            let expected = expected.map(|(class, n)| (class.to_owned(), n)).into();
            assert_eq!(found, expected, "{}, rank {rank}", mpi.name);
        }
    }
}

#[test]
fn two_runs_under_the_launcher_of_mpich_are_not_taken_for_one() {
    skip_unless!(have_mpis());
    let workspace = Workspace::new();
    let program = MPICH_5.compile("sessions.c", &[], workspace.path());
    let twice = "\"$0\" -n 2 \"$1\" only && \"$0\" -n 2 \"$1\" only";
    let recorder = command("collbench-record");
    let launcher = &MPICH_5.launcher()[0];
    let words = [
        recorder.as_os_str(),
        "--".as_ref(),
        "sh".as_ref(),
        "-c".as_ref(),
        twice.as_ref(),
        launcher,
        program.as_os_str(),
    ];
    let path = MPICH_5.library_path();
    let finished = run_in(workspace.path(), &[("LD_LIBRARY_PATH", &path)], &words).expect(125);
    assert_eq!(finished.stdout.matches("sum").count(), 4);
    finished.must_say("1 more");
    let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
    assert_eq!(analysis.json["trace"]["ranks"], 2);
}

#[test]
fn what_a_library_lacks_is_not_there_with_recording_either() {
    skip_unless!(have_mpis());
    let python = OPEN_MPI_4.python();
    let script = "from mpi4py import MPI\ntry:\n    MPI.Session.Init()\n\
                  except NotImplementedError:\n    print('no sessions in MPI 3')\n";
    let workspace = Workspace::new();
    let (recorded, _) = Job::new(1, &python, &["-c", script]).record(workspace.path());
    assert_eq!(recorded.expect(0).stdout, "no sessions in MPI 3\n");
}

#[test]
fn processes_that_were_spawned_are_known_as_the_other_side() {
    skip_unless!(have_mpis());
    // MPICH of Debian 12 cannot spawn.
    for mpi in [OPEN_MPI_4, OPEN_MPI_5, MPICH_5, MPI_5_ABI] {
        let workspace = Workspace::new();
        let program = mpi.compile("spawn.c", &[], workspace.path());
        let analysis = mpi.run_alone(Job::new(2, program, &[]), &workspace);
        assert!(analysis.has_remark("spawned_set_aside"), "{}", mpi.name);
        assert!(!analysis.has_remark("unknown_communicator"), "{}", mpi.name);
        for rank in 0..2 {
            let found = calls_by_class(analysis.rank(rank));
            let expected = [
                ("MPI_Comm_spawn", 1),
                ("MPI_Barrier:inter", 1),
                ("MPI_Allreduce:inter", 1),
                ("MPI_Intercomm_merge:inter", 1),
                ("MPI_Barrier", 1),
                ("MPI_Comm_free", 1),
                ("MPI_Comm_disconnect:inter", 1),
            ];
            let expected = expected.map(|(class, n)| (class.to_owned(), n)).into();
            assert_eq!(found, expected, "{}, rank {rank}", mpi.name);
        }
        assert_eq!(analysis.json["totals"]["MPI_Comm_spawn"]["instances"], 1);
    }
}

#[test]
fn a_library_of_an_unknown_abi_gets_times_and_a_remark_and_is_asked_nothing() {
    skip_unless!(have(&["gcc"]));
    let workspace = Workspace::new();
    let source = source_dir().join("programs/strange.c");
    let [source, library, program] = [
        source,
        workspace.join("libstrange.so"),
        workspace.join("strange"),
    ]
    .map(|path| path.to_str().unwrap().to_owned());
    run(&[
        "gcc",
        "-w",
        "-DLIBRARY",
        "-shared",
        "-fPIC",
        "-o",
        &library,
        &source,
    ])
    .expect(0);
    run(&["gcc", "-w", "-o", &program, &source, &library]).expect(0);
    // Its launcher: a shell.
    let launch =
        "for i in 0 1; do PMI_RANK=$i PMI_SIZE=2 PMI_JOBID=4 \"$0\" || echo failed & done; wait";
    let recorder = command("collbench-record");
    let line = [
        recorder.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        launch,
        &program,
    ];
    let finished = run_in(workspace.path(), &[], &line).expect(0);
    assert_eq!(finished.stdout, "ok 3\nok 3\n");
    let trace = workspace.join("trace");
    let analysis = analyze(&trace, &[]).expect(0);
    assert_eq!(analysis.json["trace"]["mpi_library"], "Strange MPI 7");
    assert!(analysis.has_remark("unknown_abi"));
    for rank in 0..2 {
        let found = &analysis.rank(rank)["calls_by_operation"];
        let expected = json!({
            "MPI_Allreduce": 1, "MPI_Barrier": 11, "MPI_Bcast": 1, "MPI_Comm_dup": 1,
            "MPI_Comm_free": 1,
        });
        assert_eq!(*found, expected, "rank {rank}");
    }
    for operation in analysis.array("/operations") {
        assert_eq!(operation["communicator"], Value::Null, "{operation:#}");
        assert_eq!(operation["root"], Value::Null, "{operation:#}");
    }
}

#[test]
fn clocks_of_hosts_are_measured_on_other_libraries() {
    skip_unless!(have_mpis());
    let links = ["--hosts", "3", "--latency-us", "100", "--rate", "1gbit"];
    let _alone = alone();
    let Some(cluster) = Cluster::up("mpis", &links) else {
        return;
    };
    let truth = cluster.clocks().at(0.0);
    // MPICH of Debian 12 does not come out of MPI_Finalize over TCP unless all processes go into it
    // at once, which nothing but the recorder sees to.
    for mpi in [OPEN_MPI_5, MPICH_5, MPICH_4] {
        let workspace = Workspace::new();
        let program = mpi.compile("steady.c", &[], workspace.path());
        let library = mpi.library_path();
        let (launcher, variable, launch): (_, _, &[&str]) = match mpi.launcher {
            Launcher::System => unreachable!("not among these"),
            Launcher::OpenMpi(path) => (path, "MPIRUN", &["mpirun", "--map-by", "node"]),
            Launcher::Hydra(path) => (path, "HYDRA", &["hydra", "-ppn", "1"]),
        };
        let launcher = folder().join(launcher);
        let variables = [
            cluster.variable(),
            // What remote shells start finds the library only with the variable below.
            ("CLUSTER_KEEP_ENV", "1"),
            ("LD_LIBRARY_PATH", &library),
            (variable, launcher.to_str().unwrap()),
        ];
        let recorder = command("collbench-record");
        let inner = [recorder.to_str().unwrap(), "-o", "trace", "--"];
        let program = [program.to_str().unwrap(), "500"];
        let line = [&[cluster.script()], launch, &["-n", "3"], &inner, &program].concat();
        let finished = run_in(workspace.path(), &variables, &line).expect(0);
        assert!(finished.stdout.contains("allreduces"), "{finished}");
        let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
        let said = analysis.json["trace"]["mpi_library"].as_str().unwrap();
        assert!(said.starts_with(mpi.says), "{said}");
        let hosts = analysis.array("/clock/hosts");
        assert_eq!(hosts.len(), 3, "{}", mpi.name);
        for host in hosts {
            let true_offset = truth[host["host"].as_str().unwrap()] - truth["h1"];
            let error = (host["offset_ns"].as_i64().unwrap() - true_offset).abs();
            let bound = host["bound_ns"].as_i64().unwrap();
            assert!(error <= bound, "{}: off by {error} ns: {host}", mpi.name);
        }
        // To MPICH much comes before it asks for it, which changes nothing of how it is done. (Open MPI
        // takes another algorithm in one of the calls.)
        let found: BTreeSet<&str> = (analysis.array("/operations").iter())
            .filter(|row| row["operation"] == "MPI_Allreduce" && row["bytes_min"] == 4)
            .flat_map(|row| row["trees"].as_array().into_iter().flatten())
            .map(|tree| tree["algorithm"].as_str().unwrap_or("none"))
            .collect();
        if mpi.name == MPICH_4.name {
            assert_eq!(found, BTreeSet::from(["recursive doubling"]));
        }
    }
}

#[test]
fn around_the_launcher_of_open_mpi_5_all_hosts_are_recorded() {
    skip_unless!(have_mpis());
    let links = ["--hosts", "2", "--latency-us", "100"];
    let _alone = alone();
    let Some(cluster) = Cluster::up("around", &links) else {
        return;
    };
    let workspace = Workspace::new();
    let program = OPEN_MPI_5.compile("steady.c", &[], workspace.path());
    let launcher = folder().join("openmpi/bin/mpirun");
    let variables = [cluster.variable(), ("MPIRUN", launcher.to_str().unwrap())];
    let recorder = command("collbench-record");
    // Remote shells have an environment of their own.
    let library = format!("LD_LIBRARY_PATH={}", OPEN_MPI_5.library_path());
    let line = [
        recorder.to_str().unwrap(),
        "-o",
        "trace",
        "--",
        cluster.script(),
        "mpirun",
        "--map-by",
        "node",
        "-n",
        "2",
        "env",
        &library,
        program.to_str().unwrap(),
        "20",
    ];
    run_in(workspace.path(), &variables, &line).expect(0);
    let analysis = analyze(&workspace.join("trace"), &[]).expect(0);
    let hosts = analysis.array("/ranks").iter().map(|rank| &rank["host"]);
    assert!(hosts.eq(["h1", "h2"]), "{:#}", analysis.json["ranks"]);
}

#[test]
fn what_is_said_of_rule_files_is_what_open_mpi_5_does() {
    skip_unless!(have_mpis());
    let library = RuledLibrary::five("ruled.c").expect("Open MPI 5");
    library.agree(1, 20).expect(20);
    let written = library.run_written("Open MPI 5.0.11", 7);
    assert!(written.differences.is_empty(), "{:#?}", written.differences);
}

/// Rules for some operations, for all communicators and sizes.
const RULES: &str = "7\n2 1 2 1 0 4 0 0\n7 1 2 1 0 3 0 0\n0 1 2 1 0 4 0 0\n3 1 2 1 0 2 0 0\n\
                     6 1 2 1 0 4 0 0\n9 1 2 1 0 1 0 0\n15 1 2 1 0 3 0 0\n";

#[test]
fn messages_of_open_mpi_5_are_those_of_the_schedules_of_its_algorithms() {
    skip_unless!(have_mpis());
    let library = RuledLibrary::five("schedules.c").expect("Open MPI 5");
    schedules_of(&library, &[2, 3, 4]).expect();
}

#[test]
fn on_several_hosts_rules_of_open_mpi_5_decide_what_han_does_not_do() {
    skip_unless!(have_mpis());
    let links = ["--hosts", "2", "--latency-us", "20"];
    let _alone = alone();
    let Some(cluster) = Cluster::up("rules", &links) else {
        return;
    };
    let workspace = Workspace::new();
    let program = OPEN_MPI_5.compile("ruled.c", &[], workspace.path());
    let library = OPEN_MPI_5.library_path();
    let launcher = folder().join("openmpi/bin/mpirun");
    let variables = [
        cluster.variable(),
        ("CLUSTER_KEEP_ENV", "1"),
        ("LD_LIBRARY_PATH", &library),
        ("MPIRUN", launcher.to_str().unwrap()),
    ];
    let rules = workspace.join("rules");
    fs::write(&rules, RULES).unwrap();
    let rules = rules.to_str().unwrap();
    let loads = [
        "--mca",
        "coll_tuned_use_dynamic_rules",
        "1",
        "--mca",
        "coll_tuned_dynamic_rules_filename",
        rules,
    ];
    let recorder = command("collbench-record");
    let run_with = |trace: &str, han: &[&str]| -> Vec<Value> {
        let launch = ["mpirun", "--map-by", "node:OVERSUBSCRIBE", "-n", "4"];
        let record = [recorder.to_str().unwrap(), "-o", trace, "--"];
        let program = [program.to_str().unwrap(), "8", "1024"];
        let script = [cluster.script()];
        let line = [&script[..], &launch, &loads, han, &record, &program].concat();
        run_in(workspace.path(), &variables, &line).expect(0);
        let tune = command("collbench-tune");
        let trace = workspace.join(trace);
        let paths = [tune.to_str().unwrap(), trace.to_str().unwrap()];
        let line = [
            paths[0],
            "rules",
            "--format",
            "json",
            "--element",
            "1",
            rules,
            paths[1],
        ];
        let said = run_in(workspace.path(), &[], &line);
        let said = collbench_schemas::read(said.stdout);
        let calls = said["calls"].as_array().unwrap().iter();
        let on_both = |call: &&Value| call["processes_per_host"].as_array().unwrap().len() == 2;
        calls.filter(on_both).cloned().collect()
    };
    let by = |calls: &[Value], by: &str| -> BTreeSet<String> {
        let calls = calls.iter().filter(|call| call["decided_by"] == by);
        let names = calls.map(|call| call["operation"].as_str().unwrap().to_owned());
        names.collect()
    };
    let of_han = [
        "MPI_Allgather",
        "MPI_Allreduce",
        "MPI_Barrier",
        "MPI_Bcast",
        "MPI_Gather",
        "MPI_Reduce",
        "MPI_Scatter",
    ];
    let with_han = run_with("with", &[]);
    assert_eq!(by(&with_han, "component"), of_han.map(str::to_owned).into());
    assert_eq!(by(&with_han, "rule"), ["MPI_Alltoall".to_owned()].into());
    let without = run_with("without", &["--mca", "coll_han_priority", "0"]);
    assert!(by(&without, "component").is_empty());
    assert_eq!(by(&without, "rule").len(), 7);
    for calls in [with_han, without] {
        let by_rule = calls.iter().filter(|call| call["decided_by"] == "rule");
        for call in by_rule {
            assert_eq!(call["ran"], call["algorithm"], "{call}");
        }
    }
}
