//! Programs that nobody here wrote, unmodified: every call of theirs is counted, and they do what
//! they do without recording. `make test-programs` installs them.
//!
//! The counts were found with an independent counter, with Open MPI 4.1.4 and the versions of
//! Debian 12.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use collbench_tests::{
    Analysis, Finished, Job, Workspace, analyze, calls_by_class, check_against_monitoring,
    check_exports, have, have_folder, monitoring, skip_unless, source_dir, target_dir,
};
use serde_json::Value;

/// One rank's `calls_by_class`, written as `Allreduce=115, Barrier:self=80`.
fn table(text: &str) -> BTreeMap<String, u64> {
    text.split(", ")
        .map(|entry| {
            let (class, calls) = entry.split_once('=').unwrap();
            (format!("MPI_{class}"), calls.parse().unwrap())
        })
        .collect()
}

fn input(name: &str) -> PathBuf {
    source_dir().join("inputs").join(name)
}

struct Run {
    plain: Finished,
    recorded: Finished,
    analysis: Analysis,
}

/// Everything that can be recorded.
const ALL_LAYERS: &[&str] = &["--layers", "all"];

/// Runs a program twice, without and with recording (all layers, if the job does not say which), each
/// in a folder of its own. What the MPI library itself counts in the recorded run must be what was
/// recorded, and each end of a message inside a complete collective meets its other end.
fn run_both(job: &Job<'_>, prepare: impl Fn(&Path)) -> Run {
    let (without, with) = (Workspace::new(), Workspace::new());
    prepare(without.path());
    prepare(with.path());
    let plain = job.plain(without.path()).expect(0);
    let prefix = with.join("monitored");
    let options = monitoring(prefix.to_str().unwrap());
    let job = Job {
        launcher_options: &options,
        options: match job.options {
            [] => ALL_LAYERS,
            named => named,
        },
        ..job.clone()
    };
    let (recorded, trace) = job.record(with.path());
    let recorded = recorded.expect(0);
    let analysis = analyze(&trace, &[]).expect(0);
    assert_eq!(analysis.json["trace"]["complete"], true);
    for operation in analysis.array("/operations") {
        assert_eq!(operation["incomplete"], 0, "{operation:#}");
    }
    check_against_monitoring(&analysis, &prefix);
    check_exports(&trace, true);
    let ends = &analysis.json["trace"]["message_ends"];
    if !ends.is_null() {
        for unpaired in ["unpaired_sends", "unpaired_receives"] {
            assert_eq!(ends[unpaired], 0, "{ends}");
        }
        assert!(ends["paired"].as_u64().unwrap() > 0, "{ends}");
    }
    Run {
        plain,
        recorded,
        analysis,
    }
}

impl Run {
    #[track_caller]
    fn check_each_of_four(&self, expected: &str) {
        for rank in 0..4 {
            assert_eq!(
                calls_by_class(self.analysis.rank(rank)),
                table(expected),
                "rank {rank}"
            );
        }
    }

    /// Output without and with recording, by line, without the lines that change by themselves
    /// from run to run; in any order, as ranks write.
    #[track_caller]
    fn check_output(&self, changes: impl Fn(&str) -> bool) {
        let [plain, recorded] = [&self.plain, &self.recorded].map(|finished| {
            let mut lines: Vec<_> = finished
                .stdout
                .lines()
                .filter(|line| !changes(line))
                .collect();
            lines.sort_unstable();
            lines
        });
        assert!(!plain.is_empty(), "no output to compare: {}", self.plain);
        assert_eq!(recorded, plain);
    }
}

#[test]
fn lammps_in_cpp() {
    skip_unless!(have(&["mpirun", "lmp"]));
    let input = input("in.lj");
    let job = Job::new(4, "lmp", &["-in", input.to_str().unwrap()]);
    let run = run_both(&job, |_| ());
    run.check_each_of_four(
        "Allreduce=115, Barrier=5, Bcast=34, Reduce=3, Scan=1, Cart_create=1, Comm_free=1",
    );
    let table = run.plain.stdout.lines().filter(|line| is_physics(line));
    assert_eq!(table.count(), 11);
    run.check_output(|line| !is_physics(line));
    // Without debug information: functions, or a file and an address in it.
    let sites = run.analysis.array("/sites");
    let last = |site: &Value| site["frames"].as_array().unwrap().last().unwrap().clone();
    let places: Vec<Value> = sites.iter().map(last).collect();
    assert!(places.len() > 20, "{places:#?}");
    for place in &places {
        let module = place["module"].as_str().unwrap();
        let is_of_lammps = module.contains("liblammps.so") || module.ends_with("/lmp");
        let is_known = place["function"].is_string() || place["offset"].as_u64() > Some(0);
        assert!(is_of_lammps && is_known, "{place:#}");
    }
    let is_named = |place: &Value| place["function"] == "LAMMPS_NS::Timer::barrier_start()";
    assert!(places.iter().any(is_named), "{places:#?}");
}

/// Whether a line of the output of LAMMPS is one of its thermodynamic table.
fn is_physics(line: &str) -> bool {
    let words: Vec<_> = line.split_whitespace().collect();
    words.len() == 6 && words.iter().all(|word| word.parse::<f64>().is_ok())
}

/// What is seen inside the collectives of a run: by operation and largest payload the algorithm.
/// Every message is in the instance that it is of, and every graph has a name.
fn trees(analysis: &Analysis) -> BTreeMap<(String, u64), String> {
    let trace = &analysis.json["trace"];
    assert!(trace["messages"].as_u64().unwrap() > 0);
    let ends = &trace["message_ends"];
    assert_eq!(ends["paired"], trace["messages"], "{ends}");
    for left in ["unpaired_sends", "unpaired_receives", "receives_elsewhere"] {
        assert_eq!(ends[left], 0, "{ends}");
    }
    let mut found = BTreeMap::new();
    for operation in analysis.array("/operations") {
        assert_eq!(operation["outside_trees"]["opaque"], 0, "{operation:#}");
        if let Some(name) = operation["algorithm"].as_str() {
            assert!(
                !name.contains("unrecognized") && !name.contains("no tree"),
                "{name}"
            );
            let bytes = operation["bytes_max"].as_u64().unwrap();
            let title = operation["operation"].as_str().unwrap().to_owned();
            found.insert((title, bytes), name.to_owned());
        }
    }
    found
}

#[test]
fn trees_inside_lammps() {
    skip_unless!(have(&["mpirun", "lmp"]));
    let input = input("in.lj");
    let job = Job {
        options: &["--layers", "calls,messages"],
        ..Job::new(6, "lmp", &["-in", input.to_str().unwrap()])
    };
    let run = run_both(&job, |_| ());
    let trees = trees(&run.analysis);
    for bytes in [4, 8, 24, 40] {
        let allreduce = &trees[&("MPI_Allreduce".to_owned(), bytes)];
        assert_eq!(allreduce, "recursive doubling", "{bytes} bytes");
    }
    let of = |operation: &str| trees.keys().filter(|key| key.0 == operation).count();
    assert_eq!(
        ["MPI_Bcast", "MPI_Reduce", "MPI_Barrier", "MPI_Scan"].map(of),
        [4, 1, 1, 1]
    );
}

#[test]
fn hpcc_where_one_process_works_and_the_others_wait() {
    skip_unless!(have(&["mpirun", "hpcc"]));
    let job = Job::new(4, "hpcc", &[]);
    let run = run_both(&job, |folder| {
        fs::copy(input("hpccinf.txt"), folder.join("hpccinf.txt")).unwrap();
    });
    // A part of it takes as many steps, each with an MPI_Alltoall and an MPI_Barrier, as it has time for:
    // all of them but on a busy machine. What the library counted in this run has been compared.
    let steps = calls_by_class(run.analysis.rank(0))["MPI_Alltoall"];
    assert!((1..=84).contains(&steps), "{steps}");
    let everybody = format!(
        "Allreduce=616, Alltoall={steps}, Barrier={}, Bcast=367, Gather=1, Reduce=63, Comm_free=6, \
         Comm_free:sub=12, Comm_split=18",
        100 + steps
    );
    // Chosen by the program at random, which one does the work of one process.
    let worker = "Allreduce:self=1, Barrier:self=80, Gather:self=1";
    let mut alone = Vec::new();
    for rank in 0..4 {
        let (own, shared): (BTreeMap<_, _>, BTreeMap<_, _>) =
            calls_by_class(run.analysis.rank(rank))
                .into_iter()
                .partition(|(class, _)| class.ends_with(":self"));
        assert_eq!(shared, table(&everybody), "rank {rank}");
        alone.push(own);
    }
    // Hence the counts of each class over the ranks, and not by rank.
    let mut added = BTreeMap::new();
    for (class, calls) in alone.iter().flatten() {
        added
            .entry(class.clone())
            .or_insert_with(Vec::new)
            .push(*calls);
    }
    let expected: BTreeMap<_, _> = table(worker)
        .into_iter()
        .map(|(class, calls)| (class, vec![calls]))
        .collect();
    assert_eq!(added, expected, "{alone:?}");
}

#[test]
fn mumps_in_fortran() {
    let folder = "/usr/lib/mumps";
    skip_unless!(have(&["mpirun"]) && have_folder(Path::new(folder)));
    let script = format!("cd {folder} && ./dsimpletest < input_simpletest_real");
    let run = run_both(&Job::new(4, "sh", &["-c", &script]), |_| ());
    let everybody = "Allreduce=126, Barrier=3, Bcast=112, Reduce=53, Comm_dup=5, Comm_free=6, \
                     Comm_split=2";
    for rank in 0..4 {
        let mut expected = table(everybody);
        if rank == 0 {
            expected.insert("MPI_Comm_free:self".to_owned(), 1);
        }
        assert_eq!(
            calls_by_class(run.analysis.rank(rank)),
            expected,
            "rank {rank}"
        );
    }
    run.check_output(|line| line.to_lowercase().contains("time") || line.contains("ELAPSED"));
}

#[test]
fn r_through_its_launcher_scripts() {
    skip_unless!(have(&["mpirun", "Rscript"]));
    let input = input("rr.R");
    let run = run_both(&Job::new(4, "Rscript", &[input.to_str().unwrap()]), |_| ());
    run.check_each_of_four("Allreduce=10, Barrier=1, Bcast=1, Gather=1");
    // R writes a line in several pieces, and those of several ranks mix, in the middle of words
    // too: compare the characters.
    let [plain, recorded] = [&run.plain, &run.recorded].map(|finished| {
        let mut characters: Vec<char> = finished.stdout.chars().collect();
        characters.retain(|c| !c.is_whitespace());
        characters.sort_unstable();
        characters
    });
    let is_there = |digit: &char| plain.contains(digit);
    assert!(
        ['4', '6'].iter().all(is_there),
        "the last sum: {}",
        run.plain
    );
    assert_eq!(recorded, plain);
}

#[test]
fn lines_of_r_are_known_where_it_keeps_the_source_and_else_functions() {
    skip_unless!(have(&["mpirun", "Rscript"]));
    let script = source_dir().join("programs/sites.R");
    let text = fs::read_to_string(&script).unwrap();
    let line_of = |what: &str| {
        let at = text.lines().position(|line| line.ends_with(what));
        at.unwrap() as u64 + 1
    };
    // File, line and function of all calls, with their number.
    let places = |keeps_source: bool| {
        let kept = if keeps_source { "TRUE" } else { "FALSE" };
        let expression = format!("source('{}', keep.source = {kept})", script.display());
        let job = Job {
            options: &["--layers", "+scripts"],
            ..Job::new(2, "Rscript", &["-e", &expression])
        };
        let workspace = Workspace::new();
        let analysis = job.analyzed(workspace.path());
        let sites = analysis.array("/sites");
        let mut places = BTreeMap::new();
        for operation in analysis.array("/operations") {
            for of in operation["sites"].as_array().unwrap() {
                let site = &sites[of["site"].as_u64().unwrap() as usize];
                let last = site["frames"].as_array().unwrap().last().unwrap();
                let of_frame = |field: &str| last[field].as_str().unwrap_or_default().to_owned();
                let name = operation["operation"].as_str().unwrap().to_owned();
                let line = last["line"].as_u64().unwrap_or(0);
                let place = (name, of_frame("file"), line, of_frame("function"));
                *places.entry(place).or_insert(0) += of["calls"].as_u64().unwrap();
            }
        }
        places
    };
    let with = places(true);
    for (operation, what, function, calls) in [
        ("MPI_Allreduce", "# in a function", "step", 40),
        ("MPI_Barrier", "# in the same", "step", 40),
        ("MPI_Barrier", "# in a loop", "", 6),
        ("MPI_Bcast", "# at top level", "", 2),
        ("MPI_Reduce", "# without a name", "FUN", 4),
    ] {
        let file = script.display().to_string();
        let place = (
            operation.to_owned(),
            file,
            line_of(what),
            function.to_owned(),
        );
        assert_eq!(with.get(&place), Some(&calls), "{place:?}: {with:#?}");
    }
    let without = places(false);
    for (operation, function, calls) in [("MPI_Allreduce", "step", 40), ("MPI_Reduce", "FUN", 4)] {
        let place = (operation.to_owned(), String::new(), 0, function.to_owned());
        assert_eq!(without.get(&place), Some(&calls), "{place:?}: {without:#?}");
    }
}

#[test]
fn ruby() {
    skip_unless!(have(&["mpirun", "ruby"]));
    let input = input("rr.rb");
    let run = run_both(&Job::new(4, "ruby", &[input.to_str().unwrap()]), |_| ());
    run.check_each_of_four("Allgather=10, Barrier=5, Bcast=1");
}

#[test]
fn hdf5_in_python_with_collectives_of_the_library_below_it() {
    skip_unless!(
        have(&["mpirun"]) && have_folder(Path::new("/usr/lib/python3/dist-packages/h5py"))
    );
    let input = input("h.py");
    let calls = "Allreduce=1, Bcast=2, Comm_dup=2, Comm_free=2";
    // What HDF5 itself calls for one data set that is written collectively.
    let of_files = "File_close=1, File_open=1, File_set_view=2, File_write_at_all=1";
    for layers in ["calls", "calls,io,rma", "all"] {
        let job = Job {
            options: &["--layers", layers],
            ..Job::new(4, "/usr/bin/python3", &[input.to_str().unwrap()])
        };
        let run = run_both(&job, |_| ());
        for rank in 0..4 {
            let mut found = calls_by_class(run.analysis.rank(rank));
            // Changes from run to run by itself.
            let barriers = found.remove("MPI_Barrier").unwrap_or(0);
            assert!(
                (1..=20).contains(&barriers),
                "rank {rank}: {barriers} barriers"
            );
            let mut expected = table(calls);
            if layers != "calls" {
                expected.extend(table(of_files));
            }
            assert_eq!(found, expected, "rank {rank} with {layers}");
        }
    }
}

#[test]
fn a_program_that_is_not_repeatable_by_itself() {
    skip_unless!(have(&["mpirun", "mpb-mpi"]));
    let input = input("t.ctl");
    let job = Job::new(4, "mpb-mpi", &[input.to_str().unwrap()]);
    let run = run_both(&job, |_| ());
    let mut of_each = Vec::new();
    for rank in 0..4 {
        let mut found = calls_by_class(run.analysis.rank(rank));
        let varies = ["MPI_Allreduce", "MPI_Barrier"].map(|class| found.remove(class).unwrap());
        assert!((400..1500).contains(&varies[0]), "rank {rank}: {varies:?}");
        assert!((2..=20).contains(&varies[1]), "rank {rank}: {varies:?}");
        let expected = "Allreduce:sub=9, Bcast=12, Comm_dup=22, Comm_dup:sub=4, Comm_free=14, \
                        Comm_free:sub=6, Comm_split=2, File_close=1, File_open=1";
        assert_eq!(found, table(expected), "rank {rank}");
        of_each.push(varies);
    }
    assert!(
        of_each.iter().all(|varies| *varies == of_each[0]),
        "{of_each:?}"
    );
}

/// Two trees for all operations that trees have, by payload; the MPI library has what is larger.
const TREES: &str = "\
[[tree]]
operations = ['allreduce', 'barrier', 'allgather']
bytes = '0-256'
shape = 'exchange'

[[tree]]
operations = ['allreduce', 'reduce', 'bcast', 'barrier', 'gather', 'scatter', 'allgather']
bytes = '0-1MiB'
shape = 'binomial'
";

/// Runs a program on the library, over trees without a trace, and over trees with one. Lines of the output that
/// tell a result are the same each time, and there are `n_results` of them. Event collectors measured instances
/// of these operations on MPI_COMM_WORLD.
fn run_over_trees(
    job: &Job<'_>,
    prepare: impl Fn(&Path),
    is_result: impl Fn(&str) -> bool,
    n_results: usize,
    operations: &[&str],
) {
    let folders: [Workspace; 3] = std::array::from_fn(|_| Workspace::new());
    for folder in &folders {
        prepare(folder.path());
    }
    let file = folders[0].join("trees.toml");
    fs::write(&file, TREES).unwrap();
    let file = file.to_str().unwrap();
    let results = |finished: &Finished| {
        let lines = finished.stdout.lines().filter(|line| is_result(line));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    let on_library = results(&job.plain(folders[0].path()).expect(0));
    assert_eq!(on_library.len(), n_results, "{on_library:?}");
    let unrecorded = Job {
        options: &["--trees", file, "--no-trace"],
        ..job.clone()
    };
    let (finished, _) = unrecorded.record(folders[1].path());
    assert_eq!(results(&finished.expect(0)), on_library);
    let recorded = Job {
        options: &["--trees", file],
        ..job.clone()
    };
    let (finished, trace) = recorded.record(folders[2].path());
    assert_eq!(results(&finished.expect(0)), on_library);
    let analysis = analyze(&trace, &[]).expect(0);
    for title in operations {
        let entries = analysis.array("/operations").iter();
        let of_world = entries.filter(|entry| entry["operation"] == *title);
        let trees = of_world.flat_map(|entry| entry["trees"].as_array().unwrap());
        let measured = trees.filter(|tree| !tree["own"].is_null() && tree["n"].as_u64() > Some(0));
        assert!(measured.count() > 0, "{title}");
    }
}

#[test]
fn lammps_over_trees() {
    skip_unless!(have(&["mpirun", "lmp"]));
    let input = input("in.lj");
    let job = Job::new(4, "lmp", &["-in", input.to_str().unwrap()]);
    let operations = ["MPI_Allreduce", "MPI_Bcast", "MPI_Reduce", "MPI_Barrier"];
    run_over_trees(&job, |_| (), is_physics, 11, &operations);
}

#[test]
fn mumps_over_trees() {
    let folder = "/usr/lib/mumps";
    skip_unless!(have(&["mpirun"]) && have_folder(Path::new(folder)));
    let script = format!("cd {folder} && ./dsimpletest < input_simpletest_real");
    let job = Job::new(4, "sh", &["-c", &script]);
    // The solution, to all digits that are written.
    let is_result = |line: &str| line.contains("Solution is");
    run_over_trees(&job, |_| (), is_result, 1, &["MPI_Allreduce", "MPI_Bcast"]);
}

#[test]
fn hpcc_over_trees() {
    skip_unless!(have(&["mpirun", "hpcc"]));
    // Its own checks of results are in the file that it writes.
    let script = "hpcc && if test \"$OMPI_COMM_WORLD_RANK\" = 0; then cat hpccoutf.txt; fi";
    let job = Job::new(4, "sh", &["-c", script]);
    let prepare = |folder: &Path| {
        fs::copy(input("hpccinf.txt"), folder.join("hpccinf.txt")).unwrap();
    };
    let is_result = |line: &str| {
        let checks = ["locations (", "tests completed and", "||Ax-b||_oo/"];
        checks.iter().any(|check| line.contains(check))
    };
    run_over_trees(
        &job,
        prepare,
        is_result,
        9,
        &["MPI_Allreduce", "MPI_Bcast", "MPI_Reduce"],
    );
}

fn demonstration(name: &str) -> Option<(PathBuf, PathBuf)> {
    let mpi4py = target_dir().join("mpi4py");
    (have(&["mpirun"]) && have_folder(&mpi4py)).then(|| {
        let demo = mpi4py.join("source/demo").join(name);
        (mpi4py.join("environment/bin/python"), demo)
    })
}

#[test]
fn mandelbrot_in_python_with_mpi4py_from_a_wheel() {
    let Some((python, demo)) = demonstration("mandelbrot/mandelbrot.py") else {
        return;
    };
    let run = run_both(&Job::new(4, python, &[demo.to_str().unwrap()]), |_| ());
    run.check_each_of_four("Barrier=1, Bcast=2, Gather=2, Gatherv=3");
    assert_eq!(
        run.recorded.stdout.lines().count(),
        run.plain.stdout.lines().count()
    );
}

#[test]
fn trees_inside_mandelbrot() {
    let Some((python, demo)) = demonstration("mandelbrot/mandelbrot.py") else {
        return;
    };
    let job = Job {
        options: &["--layers", "calls,messages"],
        ..Job::new(4, python, &[demo.to_str().unwrap()])
    };
    let trees = trees(&run_both(&job, |_| ()).analysis);
    let names: Vec<(&str, &str)> = trees
        .iter()
        .map(|((operation, _), name)| (&**operation, &**name))
        .collect();
    let of = |operation: &str| names.iter().filter(|(of, _)| *of == operation).count();
    assert_eq!(
        ["MPI_Bcast", "MPI_Gather", "MPI_Gatherv", "MPI_Barrier"].map(of),
        [2, 2, 3, 1]
    );
    assert!(names.contains(&("MPI_Gatherv", "linear")), "{names:?}");
}

#[test]
fn a_benchmark_in_python_at_the_highest_rate() {
    let Some((python, demo)) = demonstration("osu_allgather.py") else {
        return;
    };
    let run = run_both(&Job::new(2, python, &[demo.to_str().unwrap()]), |_| ());
    for rank in 0..2 {
        let found = calls_by_class(run.analysis.rank(rank));
        // 15 sizes up to 8 KiB with 11,000 calls each, 7 more with 110; two barriers for each.
        let expected = table("Allgather=165770, Barrier=44");
        assert_eq!(found, expected, "rank {rank}");
    }
}
