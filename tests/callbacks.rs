//! Calls that a program makes in functions of its own that the MPI library calls back are the program's:
//! counted as an independent tool counts them, and told from those that the library makes for itself.

use std::fs;

use collbench_tests::{
    Analysis, Job, Workspace, analyze, calls_by_class, have, program, skip_unless,
};
use serde_json::Value;

const LAYERS: &str = "calls,messages,algorithms,io,rma";

/// Runs a job without recording, with the counter, and recorded; all must say the same, and the counts be
/// those of the counter.
#[track_caller]
fn check(job: &Job<'_>) -> Analysis {
    let workspace = Workspace::new();
    let here = workspace.path().to_str().expect("a path in UTF-8");
    let counter = program("counter.c");
    let variables = [
        &[
            ("LD_PRELOAD", counter.to_str().expect("a path in UTF-8")),
            ("COUNTER_DIRECTORY", here),
        ],
        job.variables,
    ]
    .concat();
    let counted = Job {
        variables: &variables,
        ..job.clone()
    };
    let plain = job.plain(workspace.path()).expect(0);
    let counted = counted.plain(workspace.path()).expect(0);
    assert_eq!(counted.sorted_lines(), plain.sorted_lines());
    let (recorded, trace) = job.record(workspace.path());
    let recorded = recorded.expect(0);
    assert_eq!(recorded.sorted_lines(), plain.sorted_lines());
    let analysis = analyze(&trace, &[]).expect(0);
    for rank in 0..job.ranks {
        let counted = fs::read(workspace.join(format!("counter.{rank}.json"))).unwrap();
        let counted: Value = serde_json::from_slice(&counted).unwrap();
        let counted = calls_by_class(&serde_json::json!({ "calls_by_class": counted }));
        assert_eq!(calls_by_class(analysis.rank(rank)), counted, "rank {rank}");
    }
    check_complete(&analysis);
    analysis
}

#[track_caller]
fn check_complete(analysis: &Analysis) {
    for operation in analysis.array("/operations") {
        assert_eq!(operation["incomplete"], 0, "{operation:#}");
    }
    assert!(!analysis.has_remark("unpaired_messages"));
}

#[test]
fn calls_in_callbacks_are_counted_as_the_programs_and_those_of_romio_are_not() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let folder = Workspace::new();
    let file = folder.join("written");
    let job = Job {
        options: &["--layers", LAYERS],
        variables: &[("OMPI_MCA_io", "romio321")],
        ..Job::new(
            3,
            program("callbacks.c"),
            &["3", file.to_str().expect("a path in UTF-8")],
        )
    };
    let analysis = check(&job);
    assert!(analysis.has_remark("internal_calls"), "of ROMIO");
    for rank in 0..3 {
        let calls = calls_by_class(analysis.rank(rank));
        let n = |name: &str| calls.get(name).copied();
        assert_eq!(n("MPI_Comm_free"), Some(3 * 5), "3 of 5 in callbacks");
        assert_eq!(n("MPI_Iallreduce"), Some(3 * 5), "all in callbacks");
    }
}

#[test]
fn calls_in_callbacks_in_fortran_are_the_programs() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    // By construction: the counter cannot tell them from those of the library.
    let workspace = Workspace::new();
    let job = Job {
        options: &["--layers", LAYERS],
        ..Job::new(2, program("callbacks_mpi.F90"), &[])
    };
    let plain = job.plain(workspace.path()).expect(0);
    let (recorded, trace) = job.record(workspace.path());
    assert_eq!(recorded.expect(0).sorted_lines(), plain.sorted_lines());
    let analysis = analyze(&trace, &[]).expect(0);
    check_complete(&analysis);
    assert!(!analysis.has_remark("internal_calls"));
    let expected = [("Barrier", 1), ("Comm_dup", 4), ("Comm_free", 4)];
    for rank in 0..2 {
        let expected = expected.map(|(name, n)| (format!("MPI_{name}"), 3 * n));
        assert_eq!(
            calls_by_class(analysis.rank(rank)),
            expected.into(),
            "rank {rank}"
        );
    }
}
