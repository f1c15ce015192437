//! Collectives on files and windows: counted by construction where their layers are on, nowhere to be
//! seen where they are off, whichever component of the MPI library does the work.

use std::collections::BTreeMap;

use collbench_tests::{Analysis, Form, Job, Workspace, calls_by_class, have, program, skip_unless};
use serde_json::Value;

/// Components of Open MPI 4.1 for files, and whether its nonblocking access works there.
const COMPONENTS: [(&str, bool); 2] = [("romio321", false), ("ompio", true)];

const RANKS: usize = 4;

/// How often `opened.c` does the same on each communicator.
const TIMES: u64 = 3;

/// Runs `opened.c` with these layers.
fn opened((component, is_nonblocking): (&str, bool), layers: &str, form: Form) -> Analysis {
    let workspace = Workspace::new();
    let prefix = workspace.unique_path();
    let mut arguments = vec![prefix.to_str().unwrap()];
    arguments.extend(is_nonblocking.then_some("nonblocking"));
    let options = ["--layers", layers];
    let launcher_options = ["--mca", "io", component];
    let job = Job {
        options: &options,
        launcher_options: &launcher_options,
        form,
        ..Job::new(RANKS, program("opened.c"), &arguments)
    };
    job.analyzed(workspace.path())
}

/// What a rank of `opened.c` calls, by class: of communicators, of files, of windows.
fn calls_of(rank: usize, is_nonblocking: bool) -> [BTreeMap<String, u64>; 3] {
    let [mut calls, mut of_files, mut of_windows] = [const { BTreeMap::new() }; 3];
    let add = |map: &mut BTreeMap<String, u64>, name: &str, n: u64| {
        *map.entry(format!("MPI_{name}")).or_default() += n;
    };
    for suffix in ["", ":sub", ":self"] {
        let mut file = |name: &str, n: u64| {
            add(&mut of_files, &format!("File_{name}{suffix}"), n * TIMES);
        };
        for name in [
            "open",
            "set_size",
            "preallocate",
            "set_view",
            "set_info",
            "sync",
            "close",
            "write_at_all",
            "write_all",
            "read_all",
            "write_ordered",
            "read_ordered",
            "write_at_all_begin",
            "read_at_all_begin",
            "write_all_begin",
            "read_all_begin",
            "write_ordered_begin",
            "read_ordered_begin",
        ] {
            file(name, 1);
        }
        file("read_at_all", 2);
        file("seek_shared", 4);
        add(&mut calls, &format!("Allreduce{suffix}"), TIMES);
        add(&mut calls, &format!("Barrier{suffix}"), TIMES);
        if is_nonblocking {
            for name in ["iwrite_at_all", "iread_at_all", "iwrite_all", "iread_all"] {
                file(name, 1);
            }
            add(&mut calls, &format!("Ibarrier{suffix}"), TIMES);
        }
        if suffix.is_empty() || (suffix == ":sub" && rank.is_multiple_of(2)) {
            for name in [
                "create",
                "allocate",
                "allocate_shared",
                "create_dynamic",
                "set_info",
            ] {
                add(&mut of_windows, &format!("Win_{name}{suffix}"), TIMES);
            }
            add(
                &mut of_windows,
                &format!("Win_fence{suffix}"),
                4 * 3 * TIMES,
            );
            add(&mut of_windows, &format!("Win_free{suffix}"), 4 * TIMES);
            add(&mut calls, &format!("Allreduce{suffix}"), 4 * TIMES);
        }
    }
    add(&mut calls, "Barrier", 1);
    add(&mut calls, "Comm_split", 1);
    add(&mut calls, "Comm_free:sub", 1);
    // One that is not there, and one that rank 1 comes late to.
    add(&mut of_files, "File_open", 2);
    add(&mut of_files, "File_write_at_all", 1);
    add(&mut of_files, "File_close", 1);
    add(&mut of_windows, "Win_create", 1);
    add(&mut of_windows, "Win_fence", 2);
    add(&mut of_windows, "Win_free", 1);
    [calls, of_files, of_windows]
}

fn together(maps: &[&BTreeMap<String, u64>]) -> BTreeMap<String, u64> {
    maps.iter()
        .copied()
        .flatten()
        .map(|(name, n)| (name.clone(), *n))
        .collect()
}

/// The entries of an operation on all processes, with this largest payload.
fn on_all<'a>(analysis: &'a Analysis, operation: &str, bytes: u64) -> &'a Value {
    let world = analysis
        .array("/communicators")
        .iter()
        .find(|comm| comm["name"] == "MPI_COMM_WORLD")
        .unwrap();
    let mut found = analysis.array("/operations").iter().filter(|entry| {
        entry["operation"] == operation
            && entry["communicator"] == world["id"]
            && entry["bytes_max"] == bytes
    });
    let entry = found
        .next()
        .unwrap_or_else(|| panic!("no {operation} of {bytes} bytes"));
    assert!(found.next().is_none(), "two entries of {operation}");
    entry
}

#[test]
fn every_call_on_a_file_or_window_is_counted_and_finds_those_of_the_other_ranks() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    for (component, form) in COMPONENTS.into_iter().zip([Form::Outer, Form::Inner]) {
        let analysis = opened(component, "calls,io,rma", form);
        for rank in 0..RANKS {
            let [calls, of_files, of_windows] = calls_of(rank, component.1);
            assert_eq!(
                calls_by_class(analysis.rank(rank)),
                together(&[&calls, &of_files, &of_windows]),
                "rank {rank}, {component:?}"
            );
        }
        for entry in analysis.array("/operations") {
            assert_eq!(entry["incomplete"], 0, "{component:?}: {entry:#}");
        }
        for layer in ["io", "rma"] {
            let state = &analysis.json["trace"]["layers"][layer];
            assert_eq!(state["on"], true, "{layer}: {state}");
        }
        // All that was opened is shown on the communicator that it was opened on.
        let names: Vec<_> = analysis.array("/communicators").iter().collect();
        let of_the_program = names.iter().filter(|comm| {
            let name = comm["name"].as_str().unwrap();
            !name.contains("File_") && !name.contains("Win_")
        });
        assert_eq!(of_the_program.count(), names.len(), "{names:#?}");
        // Payload is that of one process.
        assert_eq!(
            on_all(&analysis, "MPI_File_write_all", 400)["instances"],
            TIMES
        );
        assert_eq!(
            on_all(&analysis, "MPI_File_read_at_all", 12)["instances"],
            TIMES
        );
        check_waits(&analysis);
        check_completions(&analysis, component.1);
    }
}

/// Rank 1 came 50 ms late to a fence, and to a collective write.
#[track_caller]
fn check_waits(analysis: &Analysis) {
    let late_ns = 3 * 45_000_000;
    let fence = on_all(analysis, "MPI_Win_fence", 0);
    let n_open = 4 * TIMES;
    let n = fence["instances"].as_u64().unwrap();
    assert_eq!(n, 3 * n_open + 2);
    // Of those that end no epoch nobody knows whether they wait.
    assert_eq!(fence["wait_ns"]["n"], (n - n_open) * RANKS as u64);
    assert!(
        fence["wait_ns"]["total"].as_i64().unwrap() > late_ns,
        "{fence:#}"
    );

    let write = on_all(analysis, "MPI_File_write_at_all", 8);
    assert_eq!(write["wait_ns"], Value::Null);
    assert_eq!(write["last_arrivals"], serde_json::json!([0, 1, 0, 0]));
    assert!(
        write["arrival_lag_ns"]["total"].as_i64().unwrap() > late_ns,
        "{write:#}"
    );
    for operation in ["MPI_File_open", "MPI_Win_free"] {
        assert!(
            on_all(analysis, operation, 0)["wait_ns"]["n"]
                .as_u64()
                .unwrap()
                > 0
        );
    }
}

/// What was begun was completed, by the call that it was completed by.
#[track_caller]
fn check_completions(analysis: &Analysis, is_nonblocking: bool) {
    let mut begun: Vec<(&str, u64)> = vec![
        ("MPI_File_write_at_all_begin", 400),
        ("MPI_File_read_all_begin", 400),
        ("MPI_File_read_ordered_begin", 400),
    ];
    if is_nonblocking {
        begun.extend([("MPI_File_iwrite_all", 400), ("MPI_File_iread_at_all", 400)]);
    }
    for (operation, bytes) in begun {
        let entry = on_all(analysis, operation, bytes);
        for part in ["initiation_ns", "between_ns", "completion_ns"] {
            assert_eq!(entry[part]["n"], entry["calls"], "{operation}: {part}");
        }
    }
    let finished = analysis.array("/unfinished").len();
    assert_eq!(finished, 0, "{:#}", analysis.json["unfinished"]);
}

#[test]
fn without_their_layers_calls_on_files_and_windows_are_not_to_be_seen() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    for component in COMPONENTS {
        let off = opened(component, "calls", Form::Outer);
        let io = opened(component, "calls,io", Form::Outer);
        for rank in 0..RANKS {
            let [calls, of_files, _] = calls_of(rank, component.1);
            assert_eq!(
                calls_by_class(off.rank(rank)),
                calls,
                "rank {rank}, {component:?}"
            );
            assert_eq!(
                calls_by_class(io.rank(rank)),
                together(&[&calls, &of_files]),
                "rank {rank}, {component:?}"
            );
        }
        for layer in ["io", "rma"] {
            let state = &off.json["trace"]["layers"][layer];
            assert_eq!(state["on"], false, "{layer}");
            assert!(
                state["reason"].as_str().unwrap().contains("--layers"),
                "{state}"
            );
        }
    }
}

#[test]
fn each_fortran_binding_gives_the_same_counts_on_files_and_windows() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    let expected: BTreeMap<String, u64> = [
        ("MPI_Allreduce", 2),
        ("MPI_File_open", 2),
        ("MPI_File_set_size", 2),
        ("MPI_File_write_at_all", 2),
        ("MPI_File_read_at_all_begin", 2),
        ("MPI_File_iwrite_at_all", 2),
        ("MPI_File_close", 2),
        ("MPI_Win_create", 1),
        ("MPI_Win_fence", 2),
        ("MPI_Win_free", 1),
    ]
    .map(|(name, n)| (name.to_owned(), n))
    .into();
    for source in ["opened_mpif.F90", "opened_mpi.F90", "opened_f08.F90"] {
        let workspace = Workspace::new();
        let file = workspace.unique_path();
        let job = Job {
            options: &["--layers", "calls,io,rma"],
            launcher_options: &["--mca", "io", "ompio"],
            ..Job::new(2, program(source), &[file.to_str().unwrap()])
        };
        let analysis = job.analyzed(workspace.path());
        for rank in 0..2 {
            assert_eq!(calls_by_class(analysis.rank(rank)), expected, "{source}");
        }
        for entry in analysis.array("/operations") {
            assert_eq!(entry["incomplete"], 0, "{source}: {entry:#}");
        }
        assert_eq!(
            on_all(&analysis, "MPI_File_iwrite_at_all", 20)["instances"],
            2
        );
        assert_eq!(
            on_all(&analysis, "MPI_Win_fence", 0)["wait_ns"]["n"],
            2,
            "{source}"
        );
    }
}
