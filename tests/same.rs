//! What must not make a difference does not: the language of the program, the number of the
//! analyzer's threads, the names and order of the files of a trace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use collbench_tests::{
    Analysis, Form, Job, Workspace, analyze, command, have, program, run, skip_unless,
};
use serde_json::{Value, json};

/// What of an analysis is the same for every run of a program: all but the times.
fn without_times(analysis: &Analysis) -> Value {
    let pick = |entry: &Value, fields: &[&str]| -> Value {
        fields
            .iter()
            .map(|&field| (field.to_owned(), entry[field].clone()))
            .collect()
    };
    let each = |place: &str, fields: &[&str]| -> Vec<Value> {
        analysis
            .array(place)
            .iter()
            .map(|entry| pick(entry, fields))
            .collect()
    };
    let mut operations = each(
        "/operations",
        &[
            "operation",
            "communicator",
            "root",
            "bytes_min",
            "bytes_max",
            "calls",
            "instances",
            "incomplete",
        ],
    );
    // They come in the order of their times.
    operations.sort_by_key(Value::to_string);
    let totals: BTreeMap<_, _> = analysis.json["totals"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, total)| (name.clone(), pick(total, &["calls", "instances"])))
        .collect();
    json!({
        "trace": pick(&analysis.json["trace"], &["ranks", "calls", "complete", "damage"]),
        "communicators": each("/communicators", &["id", "kind", "size", "ranks", "groups"]),
        "totals": totals,
        "ranks": each("/ranks", &["rank", "calls", "calls_by_operation", "calls_by_class"]),
        "operations": operations,
    })
}

#[test]
fn a_program_in_c_and_in_each_fortran_binding_gives_the_same_analysis() {
    skip_unless!(have(&["mpirun", "mpicc", "mpifort"]));
    let [c, mpif, mpi, f08] =
        ["same.c", "same_mpif.F", "same_mpi.F90", "same_f08.F90"].map(|source| {
            let workspace = Workspace::new();
            let (finished, trace) = Job::new(4, program(source), &[]).record(workspace.path());
            let finished = finished.expect(0);
            assert_eq!(finished.stdout.trim(), "done 2 4", "{source}: {finished}");
            without_times(&analyze(&trace, &[]).expect(0))
        });

    // The program in C is what its text says: a few figures by hand.
    let by_class = "Allgather=2, Allgatherv=1, Allreduce=21, Allreduce:sub=4, Allreduce_init=3, \
                    Alltoall=1, Alltoallv=2, Alltoallw=1, Barrier=4, Barrier:self=4, Barrier:sub=5, \
                    Bcast=7, Bcast:sub=4, Bcast_init=4, Cart_create=1, Cart_sub=1, Comm_create=1, \
                    Comm_dup=4, Comm_dup_with_info=1, Comm_free=12, Comm_free:inter=1, \
                    Comm_free:sub=6, Comm_idup=1, Comm_split=5, Comm_split_type=1, \
                    Dist_graph_create=1, Dist_graph_create_adjacent=1, Exscan=1, Gather=1, \
                    Gatherv=1, Graph_create=1, Iallgather=1, Iallgatherv=1, Iallreduce=5, \
                    Iallreduce:inter=1, Ialltoall=1, Ialltoallv=1, Ialltoallw=1, Ibarrier=5, \
                    Ibcast=5, Iexscan=1, Igather=1, Igatherv:self=5, Ineighbor_allgather=1, \
                    Ineighbor_allgatherv=1, Ineighbor_alltoall=1, Ineighbor_alltoallv=1, \
                    Ineighbor_alltoallw=1, Intercomm_create:sub=1, Intercomm_merge:inter=1, \
                    Ireduce=1, Ireduce_scatter=1, Ireduce_scatter_block=1, Iscan=1, Iscatter=1, \
                    Iscatterv=1, Neighbor_allgather=1, Neighbor_allgatherv=1, Neighbor_alltoall=3, \
                    Neighbor_alltoall_init=3, Neighbor_alltoallv=1, Neighbor_alltoallw=1, Reduce=1, \
                    Reduce_scatter=1, Reduce_scatter_block=1, Scan=1, Scatter=1, Scatterv=1";
    let by_class: BTreeMap<String, u64> = by_class
        .split(", ")
        .map(|entry| {
            let (class, calls) = entry.split_once('=').unwrap();
            (format!("MPI_{class}"), calls.parse().unwrap())
        })
        .collect();
    for operation in c["operations"].as_array().unwrap() {
        assert_eq!(operation["incomplete"], 0, "{operation:#}");
    }
    for rank in 0..4 {
        let mut expected = by_class.clone();
        // Those of even rank have two communicators more.
        if rank % 2 == 0 {
            for (class, more) in [
                ("MPI_Comm_create_group", 1),
                ("MPI_Barrier:sub", 2),
                ("MPI_Comm_free:sub", 2),
            ] {
                *expected.entry(class.to_owned()).or_default() += more;
            }
        }
        assert_eq!(
            c["ranks"][rank]["calls_by_class"],
            json!(expected),
            "rank {rank}"
        );
    }
    let has = |operation: &str, root: Value, bytes: (u64, u64), instances: u64| {
        c["operations"].as_array().unwrap().iter().any(|entry| {
            entry["operation"] == operation
                && entry["root"] == root
                && entry["bytes_min"] == bytes.0
                && entry["bytes_max"] == bytes.1
                && entry["instances"] == instances
        })
    };
    assert!(
        has("MPI_Bcast", json!(1), (800, 800), 3),
        "three broadcasts of 100 doubles: {c:#}"
    );
    assert!(
        has("MPI_Bcast", json!(2), (0, 0), 1),
        "an empty broadcast: {c:#}"
    );
    assert!(
        has("MPI_Reduce", json!(2), (800, 800), 1),
        "a reduction of 100 doubles: {c:#}"
    );
    assert!(
        has("MPI_Allreduce", Value::Null, (32, 60), 8),
        "allreduces of 8 to 15 ints: {c:#}"
    );

    assert_eq!(mpif, c, "mpif.h and C");
    assert_eq!(mpi, c, "use mpi and C");
    assert_eq!(f08, c, "use mpi_f08 and C");
}

#[test]
fn both_forms_of_recording_give_the_same_analysis() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let [outer, inner] = [Form::Outer, Form::Inner].map(|form| {
        let workspace = Workspace::new();
        let job = Job {
            form,
            ..Job::new(4, program("same.c"), &[])
        };
        let trace = job.recorded(workspace.path());
        without_times(&analyze(&trace, &[]).expect(0))
    });
    assert_eq!(outer, inner);
}

/// All files below a folder, by their relative names.
fn files_below(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn collect(folder: &Path, top: &Path, into: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, top, into);
            } else {
                let name = path
                    .strip_prefix(top)
                    .unwrap()
                    .to_string_lossy()
                    .into_owned();
                into.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    collect(folder, folder, &mut files);
    files
}

/// A full report, always at the same place (which it may name), moved away after reading.
fn report(trace: &Path, output: &Path, threads: &str) -> BTreeMap<String, Vec<u8>> {
    let finished = run(&[
        command("collbench-analyze").to_str().unwrap(),
        "--format",
        "json",
        "--threads",
        threads,
        "-o",
        output.to_str().unwrap(),
        trace.to_str().unwrap(),
    ])
    .expect(0);
    let mut files = files_below(output);
    files.insert("stdout".to_owned(), finished.stdout.into_bytes());
    fs::remove_dir_all(output).unwrap();
    files
}

#[track_caller]
fn assert_same_files(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (name, bytes) in a {
        assert!(*bytes == b[name], "{name} differs");
    }
}

#[test]
fn the_report_is_the_same_to_the_byte_for_any_number_of_threads_and_any_names_of_files() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    let trace = Job::new(4, program("every.c"), &[here]).recorded(workspace.path());
    let output = workspace.join("report");

    let one = report(&trace, &output, "1");
    assert!(one.contains_key("analysis.json"), "{:?}", one.keys());
    assert!(one.contains_key("index.html"), "{:?}", one.keys());
    assert!(
        one.keys().any(|name| name.starts_with("timemap-")),
        "{:?}",
        one.keys()
    );
    assert_same_files(&one, &report(&trace, &output, "2"));
    assert_same_files(&one, &report(&trace, &output, "5"));

    // Other names, in another order, and made in another order too.
    let mut names: Vec<_> = fs::read_dir(&trace)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "trace")
        })
        .collect();
    names.sort();
    assert_eq!(names.len(), 4, "one file for each rank");
    for (index, path) in names.iter().rev().enumerate() {
        let copy = trace.join(format!("renamed-{}.trace", (index * 7) % 10));
        fs::copy(path, copy).unwrap();
        fs::remove_file(path).unwrap();
    }
    assert_same_files(&one, &report(&trace, &output, "2"));
}
