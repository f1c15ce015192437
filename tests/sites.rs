//! From where in the program collectives are called: the lines are those of the source, whoever wraps
//! MPI, and looking for them harms no program.

use std::fs;
use std::path::{Path, PathBuf};

use collbench_tests::{
    Analysis, Job, Workspace, analyze, calls_at, command, have, is_at, run, run_in, skip_unless,
    source_dir,
};
use serde_json::Value;

const MPI: &[&str] = &["mpirun", "mpicc"];

fn source(name: &str) -> PathBuf {
    source_dir().join("programs").join(name)
}

/// The frames of all places from which an operation is called.
fn places<'a>(analysis: &'a Analysis, operation: &str) -> Vec<&'a [Value]> {
    let operations = analysis.array("/operations").iter();
    let mut ids: Vec<u64> = operations
        .filter(|entry| entry["operation"] == operation)
        .flat_map(|entry| entry["sites"].as_array().unwrap())
        .map(|of| of["site"].as_u64().unwrap())
        .collect();
    ids.sort_unstable();
    ids.dedup();
    let sites = analysis.array("/sites");
    ids.into_iter()
        .map(|id| sites[id as usize]["frames"].as_array().unwrap().as_slice())
        .collect()
}

/// Whether an operation is called from one of the places, and a function there is at that line.
fn is_called_at(analysis: &Analysis, operation: &str, name: &str, comment: &str) -> bool {
    let all = places(analysis, operation);
    all.iter()
        .any(|frames| frames.iter().any(|frame| is_at(frame, name, comment)))
}

/// Compiles `sites.c` with its two libraries into a folder; returns the program.
fn compile_sites(folder: &Path, options: &[&str]) -> PathBuf {
    let here = folder.to_str().unwrap();
    let source = source("sites.c");
    let source = source.to_str().unwrap();
    let run_path = format!("-Wl,-rpath,{here}");
    let library = ["-shared", "-fPIC"];
    let inner: [&[&str]; 4] = [
        &["mpicc"],
        options,
        &library,
        &["-DINNER", source, "-o", "libinner.so"],
    ];
    let outer = [
        "-DOUTER",
        source,
        "-o",
        "libouter.so",
        "-L.",
        "-linner",
        &run_path,
    ];
    let outer: [&[&str]; 4] = [&["mpicc"], options, &library, &outer];
    let main = [
        source, "-o", "sites", "-L.", "-louter", "-linner", &run_path,
    ];
    let main: [&[&str]; 3] = [&["mpicc"], options, &main];
    for line in [inner.concat(), outer.concat(), main.concat()] {
        run_in(folder, &[], &line).expect(0);
    }
    folder.join("sites")
}

fn record_sites(folder: &Path, options: &[&str]) -> PathBuf {
    let job = Job {
        options: &[
            "--layers",
            "calls,sites",
            "--wrappers",
            "libinner.,libouter.",
        ],
        ..Job::new(2, compile_sites(folder, options), &[])
    };
    job.recorded(folder)
}

fn check_lines(analysis: &Analysis, of: &str) {
    for (operation, comment) in [
        ("MPI_Barrier", "inlined"),
        ("MPI_Bcast", "aligned"),
        ("MPI_Allreduce", "first"),
        ("MPI_Allreduce", "second"),
        ("MPI_Allreduce", "in the wrapper"),
        ("MPI_Ibarrier", "initiated"),
    ] {
        assert!(
            is_called_at(analysis, operation, "sites.c", comment),
            "{of}: {operation}: {comment}: {:#?}",
            places(analysis, operation)
        );
    }
    assert_eq!(places(analysis, "MPI_Allreduce").len(), 2, "{of}");
    // All calls, of which only the first ones of the loop have notes.
    let operations = analysis.array("/operations").iter();
    let of_allreduce = operations.filter(|entry| entry["operation"] == "MPI_Allreduce");
    let sites = of_allreduce.flat_map(|entry| entry["sites"].as_array().unwrap());
    let calls: Vec<u64> = sites.map(|of| of["calls"].as_u64().unwrap()).collect();
    assert_eq!(calls, [2 * 40, 2 * 40], "{of}");
    let made = analysis.array("/communicators").last().unwrap();
    assert_eq!(made["count"], 3, "{of}: {made:#}");
    let made_at = made["site"].as_u64().unwrap() as usize;
    let frames = analysis.array("/sites")[made_at]["frames"].as_array();
    let is_made_there = |frame| is_at(frame, "sites.c", "made");
    assert!(
        frames.unwrap().iter().any(is_made_there),
        "{of}: {frames:#?}"
    );
    let whole = analysis
        .array("/sites")
        .iter()
        .filter(|site| site["whole"] == true);
    assert_eq!(whole.count(), analysis.array("/sites").len(), "{of}");
}

#[test]
fn the_lines_of_calls_are_those_of_the_source_through_two_libraries() {
    skip_unless!(have(MPI));
    for options in [
        &["-O2", "-g"][..],
        &["-O2", "-g1", "-fomit-frame-pointer"],
        &["-O0", "-g", "-fno-omit-frame-pointer", "-no-pie"],
    ] {
        let workspace = Workspace::new();
        let trace = record_sites(workspace.path(), options);
        let analysis = analyze(&trace, &[]).expect(0);
        check_lines(&analysis, &options.join(" "));
        let inlined = places(&analysis, "MPI_Barrier");
        let names: Vec<&Value> = inlined[0].iter().map(|frame| &frame["function"]).collect();
        if options[0] == "-O2" {
            assert_eq!(names, ["inlined", "main"], "{options:?}");
        }
    }
}

/// Compiles a source for two ranks and records it; `places` are operations and the comments behind the lines
/// that call them, with the number of calls.
fn check_places(name: &str, compiler: &[&str], places: &[(&str, &str, u64)]) {
    let workspace = Workspace::new();
    let (path, program) = (source(name), workspace.join("program"));
    let paths = [path.to_str().unwrap(), "-o", program.to_str().unwrap()];
    run_in(workspace.path(), &[], &[compiler, &paths].concat()).expect(0);
    let job = Job {
        options: &["--layers", "calls,sites"],
        ..Job::new(2, program, &[])
    };
    let analysis = job.analyzed(workspace.path());
    let sites = analysis.array("/sites");
    for &(operation, comment, calls) in places {
        let found = calls_at(&analysis, operation, name, comment);
        assert_eq!(found, calls, "{compiler:?} {comment}: {sites:#?}");
    }
}

#[test]
fn the_lines_of_calls_in_fortran_are_known_in_all_three_bindings() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    for compiler in [
        &["mpifort", "-O2", "-g", "-fomit-frame-pointer"][..],
        &["mpifort", "-O0", "-g", "-DMODULE"],
        &["mpifort", "-O2", "-g1", "-DF08"],
    ] {
        let places = [
            ("MPI_Barrier", "in the program", 40),
            ("MPI_Allreduce", "in a subroutine", 40),
        ];
        check_places("sites.F90", compiler, &places);
    }
}

#[test]
fn the_lines_of_calls_in_cpp_are_known_in_templates_and_around_exceptions() {
    skip_unless!(have(&["mpirun", "mpicxx"]));
    let places = [
        ("MPI_Barrier", "before an exception", 40),
        ("MPI_Bcast", "in a handler", 20),
        ("MPI_Allreduce", "in a template", 40),
    ];
    check_places("sites.cpp", &["mpicxx", "-O2", "-g"], &places);
}

#[test]
fn lines_that_were_kept_in_the_trace_outlive_the_program() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let trace = record_sites(workspace.path(), &["-O2", "-g"]);
    let there = analyze(&trace, &["--keep-symbols"]).expect(0);
    check_lines(&there, "kept");
    for file in ["sites", "libinner.so", "libouter.so"] {
        fs::remove_file(workspace.join(file)).unwrap();
    }
    let gone = analyze(&trace, &[]).expect(0);
    assert_eq!(gone.json["sites"], there.json["sites"]);
    // A copy that is compact has them, too.
    let small = workspace.join("small");
    run(&[
        command("collbench-compact").as_os_str(),
        trace.as_os_str(),
        small.as_os_str(),
    ])
    .expect(0);
    let compact = analyze(&small, &[]).expect(0);
    assert_eq!(compact.json["sites"], there.json["sites"]);
    // Damaged, they are as if they were not there, and the program is said to be gone.
    fs::write(trace.join("symbols.json"), "{\"schema\":").unwrap();
    let without = analyze(&trace, &[]).expect(0);
    assert!(without.remark("lines_unknown").contains("is not there"));
    // With the source, the text of the lines is shown.
    let sources = source_dir().join("programs");
    let shown = analyze(&small, &["--sources", sources.to_str().unwrap()]).expect(0);
    assert!(!shown.finished.stderr.contains("no source file"));
    let elsewhere = workspace.path().to_str().unwrap();
    let none = analyze(&small, &["--sources", elsewhere]).expect(0);
    let said = "no source file of its lines is below";
    none.finished.must_say(said);
    let inlined = places(&shown, "MPI_Barrier")[0];
    let text = inlined[0]["text"].as_str().unwrap();
    assert!(text.starts_with("MPI_Barrier(MPI_COMM_WORLD);"), "{text}");
}

#[test]
fn programs_without_a_way_up_the_stack_run_as_without_recording() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let here = workspace.path();
    let source = source("sites_unharmed.c");
    let source = source.to_str().unwrap();
    let run_path = format!("-Wl,-rpath,{}", here.display());
    let compiler = ["mpicc", "-O1", "-g", "-pthread", source, "-o"];
    let library = ["libunharmed.so", "-DLIBRARY", "-shared", "-fPIC"];
    run_in(here, &[], &[&compiler[..], &library].concat()).expect(0);
    let main = ["unharmed", "-L.", "-lunharmed", &run_path];
    run_in(here, &[], &[&compiler[..], &main].concat()).expect(0);
    let job = Job {
        options: &["--layers", "+sites", "--wrappers", "libunharmed."],
        ..Job::new(1, workspace.join("unharmed"), &[])
    };
    let trace = job.record_as_plain(workspace.path());
    let analysis = analyze(&trace, &[]).expect(0);
    // Of a call from code that was made at run time the place is its address.
    let in_no_file = |frames: &&[Value]| frames.iter().any(|frame| frame["module"].is_null());
    let places = places(&analysis, "MPI_Barrier");
    assert_eq!(places.iter().any(in_no_file), cfg!(target_arch = "x86_64"));
    let named = |frames: &&[Value]| frames.iter().any(|frame| frame["function"] == "thread");
    assert!(places.iter().any(named), "{places:#?}");
}

#[test]
fn damaged_unwind_tables_harm_nothing() {
    skip_unless!(have(&["mpirun", "mpicc", "objcopy"]));
    let workspace = Workspace::new();
    let executable = compile_sites(workspace.path(), &["-O2", "-g"]);
    let here = workspace.path();
    run_in(
        here,
        &[],
        &[
            "objcopy",
            "--dump-section",
            ".eh_frame=frames",
            "libinner.so",
        ],
    )
    .expect(0);
    let bytes = fs::read(workspace.join("frames")).unwrap();
    let whole = fs::read(workspace.join("libinner.so")).unwrap();
    let at = whole
        .windows(bytes.len())
        .position(|window| window == bytes)
        .unwrap();
    for (step, value) in [(1usize, 0xffu8), (3, 0x41), (7, 0)] {
        let mut damaged = whole.clone();
        for byte in damaged[at..at + bytes.len()].iter_mut().step_by(step) {
            *byte = value;
        }
        // Not into the file that a process may have mapped.
        fs::remove_file(workspace.join("libinner.so")).unwrap();
        fs::write(workspace.join("libinner.so"), damaged).unwrap();
        let job = Job {
            options: &[
                "--force",
                "--layers",
                "calls,sites",
                "--wrappers",
                "libinner.,libouter.",
            ],
            ..Job::new(1, executable.clone(), &[])
        };
        let analysis = job.analyzed(here);
        assert!(!places(&analysis, "MPI_Allreduce").is_empty());
        assert!(is_called_at(&analysis, "MPI_Bcast", "sites.c", "aligned"));
    }
}
