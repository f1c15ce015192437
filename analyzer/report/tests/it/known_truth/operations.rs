//! Calls of every kind, on every kind of communicator, with phases and nonblocking collectives: their figures come
//! back exactly.

use super::*;

#[test]
fn all_operations_and_communicators_come_back_exactly() {
    let case = Case::new(EVERYTHING);
    assert_eq!(case.status, 0);
    assert_eq!(case.analysis["trace"]["complete"], true);
    // Of one rank nothing comes into its MPI_Exscan, which is an error of the program.
    assert_eq!(case.remarks(), ["mismatched_sizes", "internal_calls"]);
    compare(&case, EXACT);
    for expected in list(&case.truth["ranks"]) {
        let found = &case.analysis["ranks"][number(&expected["rank"]) as usize];
        for field in ["last", "first"] {
            assert_eq!(found[field], expected[field], "{field}");
        }
    }
    // All 17, or the test does not test what it says.
    let collectives = list(&case.truth["operations"])
        .iter()
        .map(|entry| text(&entry["operation"]))
        .filter(|name| !name.starts_with("MPI_Comm_") && !name.starts_with("MPI_Cart_"))
        .filter(|name| !name.starts_with("MPI_Intercomm_"))
        .collect::<std::collections::BTreeSet<_>>();
    assert_eq!(collectives.len(), 17, "{collectives:?}");
}

#[test]
fn what_begins_before_it_is_waited_for_comes_back_exactly() {
    let case = Case::new(NONBLOCKING);
    // MPI_Iexscan with different sizes.
    assert_eq!((case.status, case.remarks()), (0, vec!["mismatched_sizes"]));
    compare(&case, EXACT);
    let operations = || list(&case.truth["operations"]).iter();
    let begun = operations().filter(|entry| number(&entry["between_ns"]["n"]) > 0);
    let names: std::collections::BTreeSet<_> = begun.map(|e| text(&e["operation"])).collect();
    assert_eq!(names.len(), 17, "{names:?}");
    // The test means something only where somebody waits, and somebody overlaps.
    let allreduce = operations().find(|entry| entry["operation"] == "MPI_Iallreduce");
    let waits = &allreduce.expect("it is in the scenario")["global"]["wait_ns"];
    assert!(number(&waits["total"]) > 0 && number(&waits["min"]) == 0);
    let levels: Vec<i64> = list(&case.analysis["phases"])
        .iter()
        .map(|phase| number(&phase["level"]))
        .collect();
    assert_eq!(levels, [-7, 1]);
    let tsc = with(
        NONBLOCKING,
        &[("clock = \"raw\"", "clock = \"tsc\"\nghz = 2.5")],
    );
    compare(&Case::new(&tsc), EXACT);
}

#[test]
fn neither_threads_nor_the_length_of_chunks_show_in_nonblocking_results() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_in(directory.path(), NONBLOCKING, None);
    let (_, expected) = analyze(&trace, &["--threads", "1"]);
    assert!(analyze(&trace, &["--threads", "3"]).1 == expected);
    for length in [1, 7, 2000] {
        let length = format!("chunk_calls = {length}");
        let scenario = with(NONBLOCKING, &[("chunk_calls = 60", &length)]);
        compare(&Case::new(&scenario), EXACT);
    }
}

#[test]
fn the_phases_of_a_program_divide_its_calls() {
    let directory = tempfile::tempdir().unwrap();
    let trace = trace_in(directory.path(), NONBLOCKING, None);
    let of = |level: &str| {
        let (status, stdout) = analyze(&trace, &["--phase", level]);
        assert_eq!(status, 0);
        let analysis = json(&stdout);
        let calls = list(&analysis["operations"]).iter();
        let calls: i64 = calls.map(|entry| number(&entry["calls"])).sum();
        let phases = list(&analysis["phases"]).iter();
        let phase = phases.filter(|phase| number(&phase["level"]).to_string() == level);
        let told: Vec<i64> = phase.map(|phase| number(&phase["calls"])).collect();
        assert_eq!(told, [calls], "{level}");
        calls
    };
    // Of six ranks; three constructors come before.
    assert_eq!((of("1"), of("-7")), (6 * 12 * 12, 6 * 12 * 7));
}
