//! Programs that are not one world in one language: halves that connect, processes that spawn others,
//! several bindings of MPI in one program, and processes outside of communicators.

use std::collections::BTreeMap;

use collbench_tests::{
    Analysis, Job, Workspace, analyze, calls_by_class, have, program, skip_unless,
};

fn table(classes: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let named = classes.iter().filter(|(_, calls)| *calls > 0);
    named
        .map(|&(class, calls)| (format!("MPI_{class}"), calls))
        .collect()
}

/// Runs a job without recording and with; both must say the same.
#[track_caller]
fn run_both(job: &Job<'_>) -> Analysis {
    let workspace = Workspace::new();
    let plain = job.plain(workspace.path()).expect(0);
    let (recorded, trace) = job.record(workspace.path());
    let recorded = recorded.expect(0);
    assert_eq!(recorded.sorted_lines(), plain.sorted_lines());
    analyze(&trace, &[]).expect(0)
}

#[track_caller]
fn check_complete(analysis: &Analysis) {
    for operation in analysis.array("/operations") {
        assert_eq!(operation["incomplete"], 0, "{operation:#}");
    }
    for code in ["unknown_communicator", "communicator_conflict"] {
        assert!(!analysis.has_remark(code), "{code}");
    }
}

#[test]
fn halves_that_connect_join_and_spawn_are_matched_with_each_other() {
    skip_unless!(have(&["mpirun", "mpicc"]));
    let analysis = run_both(&Job::new(3, program("connect.c"), &[]));
    // But for what is called together with processes of another world.
    assert!(analysis.has_remark("spawned_set_aside"));
    assert!(!analysis.has_remark("communicator_conflict"));
    for rank in 0..3 {
        let (part, accepts, connects) = match rank {
            0 => (":self", 1, 2),
            _ => (":sub", 2, 1),
        };
        let talks = if rank < 2 { 5 } else { 4 };
        let expected = table(&[
            ("Comm_split", 1),
            (&format!("Comm_accept{part}"), accepts),
            (&format!("Comm_connect{part}"), connects),
            ("Barrier:inter", talks),
            ("Allreduce:inter", talks),
            ("Intercomm_merge:inter", 3),
            ("Barrier", 3),
            ("Comm_free", 3),
            (&format!("Comm_free{part}"), 1),
            ("Comm_join", u64::from(rank < 2)),
            ("Comm_spawn_multiple", 1),
            ("Comm_disconnect:inter", talks),
        ]);
        assert_eq!(calls_by_class(analysis.rank(rank)), expected, "rank {rank}");
    }
    // Three meetings of all, one of two of them.
    for (operation, instances) in [
        ("MPI_Intercomm_merge", 3),
        ("MPI_Comm_accept", 3),
        ("MPI_Comm_connect", 3),
        ("MPI_Comm_join", 1),
        ("MPI_Allreduce", 4),
        ("MPI_Comm_spawn_multiple", 1),
    ] {
        let found = &analysis.json["totals"][operation]["instances"];
        assert_eq!(*found, instances, "{operation}");
    }
}

/// That of three processes of `mixed.F90`.
#[track_caller]
fn check_four_bindings(analysis: &Analysis) {
    check_complete(analysis);
    for rank in 0..3 {
        let expected = table(&[
            ("Comm_dup", 1),
            ("Barrier", 20),
            ("Ibarrier", 20),
            ("Comm_free", 1),
        ]);
        assert_eq!(calls_by_class(analysis.rank(rank)), expected, "rank {rank}");
    }
    assert_eq!(analysis.json["totals"]["MPI_Ibarrier"]["instances"], 20);
}

#[test]
fn a_program_of_four_bindings_counts_each_call_once() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    let analysis = run_both(&Job::new(3, program("mixed.F90"), &[]));
    check_four_bindings(&analysis);
}

#[test]
fn a_tool_between_program_and_library_sees_what_it_sees_without_recording() {
    skip_unless!(have(&["mpirun", "mpicc", "mpifort"]));
    let tool = program("tool.c");
    let variables = [("LD_PRELOAD", tool.to_str().expect("a path in UTF-8"))];
    let with_tool = |program: &str, arguments: &[&str], says: &str| {
        let job = Job {
            variables: &variables,
            ..Job::new(3, collbench_tests::program(program), arguments)
        };
        let plain = job.plain(Workspace::new().path()).expect(0);
        assert!(plain.sorted_lines().contains(&says), "{plain}");
        // What the tool says is a part of what must be the same.
        let analysis = run_both(&job);
        check_complete(&analysis);
        // It makes one of its own in MPI_Finalize, where that is called in C.
        let has_own = !says.contains("all saw 0");
        assert_eq!(analysis.has_remark("internal_calls"), has_own);
        analysis
    };
    let says = "the tool of rank 2 saw 11 barriers, all saw 33, 0 begun";
    let analysis = with_tool("many.c", &["10"], says);
    assert_eq!(analysis.json["trace"]["calls"], 3 * 11);
    // It sees what is called in C, of four languages.
    let says = "the tool of rank -1 saw 5 barriers, all saw 0, 5 begun";
    check_four_bindings(&with_tool("mixed.F90", &[], says));
}

#[test]
fn hundreds_of_communicators_in_fortran_with_processes_outside_of_them() {
    skip_unless!(have(&["mpirun", "mpifort"]));
    const MOST: u64 = 400;
    const RANKS: u64 = 5;
    let analysis = run_both(&Job::new(5, program("many_comms.F90"), &[]));
    check_complete(&analysis);
    let color = |rank: u64, i: u64| (rank + i) % 3;
    for rank in 0..RANKS {
        let size = |i| {
            (0..RANKS)
                .filter(|&r| color(r, i) == color(rank, i))
                .count()
        };
        let inside = (1..=MOST).filter(|&i| color(rank, i) != 2);
        let (alone, in_part): (Vec<u64>, Vec<u64>) = inside.partition(|&i| size(i) == 1);
        let (alone, in_part) = (alone.len() as u64, in_part.len() as u64);
        let expected = table(&[
            ("Comm_split", MOST),
            ("Allreduce:sub", in_part),
            ("Allreduce:self", alone),
            ("Comm_free:sub", in_part),
            ("Comm_free:self", alone),
            ("Comm_dup", MOST),
            ("Bcast", MOST),
            ("Comm_free", MOST),
        ]);
        let found = calls_by_class(analysis.rank(rank as usize));
        assert_eq!(found, expected, "rank {rank}");
    }
    let parts: u64 = (1..=MOST)
        .map(|i| {
            let colors = (0..RANKS).map(|rank| color(rank, i));
            colors
                .filter(|&color| color != 2)
                .collect::<std::collections::BTreeSet<_>>()
        })
        .map(|colors| colors.len() as u64)
        .sum();
    assert_eq!(analysis.json["totals"]["MPI_Allreduce"]["instances"], parts);
}
