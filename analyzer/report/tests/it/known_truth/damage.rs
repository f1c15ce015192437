//! Ranks that were killed, files that are cut, damaged or missing: what is left comes back exactly.

use super::*;

/// A line for each rank that the analysis calls damaged.
fn damage(case: &Case) -> BTreeMap<i64, &Value> {
    list(&case.analysis["trace"]["damage"])
        .iter()
        .map(|damage| (number(&damage["rank"]), damage))
        .collect()
}

fn check_killed(scenario: &str, after_calls: i64, in_flight: bool) {
    let fault = format!("rank = 4\nkilled_after_calls = {after_calls}\nin_flight = {in_flight}");
    let case = Case::new(&format!("{scenario}\n[[faults]]\n{fault}\n"));
    assert_eq!(case.status, 3);
    assert_eq!(case.analysis["trace"]["complete"], false);
    let found = damage(&case);
    for expected in list(&case.truth["ranks"]) {
        let rank = number(&expected["rank"]);
        let calls = &case.analysis["ranks"][rank as usize]["calls"];
        assert_eq!(calls, &expected["calls"]);
        if rank == 4 {
            assert_eq!(number(calls), after_calls + i64::from(in_flight));
        }
        let under_way = &found[&rank]["in_flight"];
        let of_truth = &expected["in_flight"];
        if of_truth.is_null() {
            assert!(under_way.is_null(), "rank {rank}: {under_way}");
            continue;
        }
        assert_eq!(under_way["operation"], of_truth["operation"], "rank {rank}");
        assert_eq!(under_way["sequence"], of_truth["sequence"], "rank {rank}");
    }
    compare(&case, EXACT);
}

#[test]
fn a_killed_rank_keeps_its_calls_and_shows_what_the_others_wait_in() {
    // The constructors, and once through everything.
    for after_calls in (0..8).chain(300..340) {
        check_killed(EVERYTHING, after_calls, after_calls % 2 == 0);
    }
}

#[test]
fn a_program_that_exits_without_finalize_is_incomplete_and_exact() {
    let scenario = format!("{EVERYTHING}\n[[faults]]\nrank = 0\nno_finalize = true\n");
    let case = Case::new(&scenario);
    assert_eq!(case.status, 3);
    assert_eq!(damage(&case).keys().copied().collect::<Vec<_>>(), [0]);
    compare(&case, EXACT);
}

/// Reduces and allreduces on the world only: what a cut costs is then known for every call.
const PLAIN: &str = "
    schema = 1
    grid_ns = 10
    chunk_calls = 40
    [[hosts]]
    name = \"a\"
    ranks = 3
    clock = \"raw\"
    [[program]]
    repeat = 150
    steps = [
      { operation = \"MPI_Allreduce\", bytes = 8, work = [{ uniform_ns = [0, 5000] }] },
      { operation = \"MPI_Reduce\", bytes = 800, work = [{ uniform_ns = [0, 5000] }] },
    ]
    ";

#[test]
fn a_file_cut_anywhere_gives_what_is_left_of_it() {
    let faults = [
        "cut_at_fraction = 0.5",
        "cut_at_fraction = 0.93",
        "cut_at_byte = 23456",
    ];
    for fault in faults {
        let case = Case::new(&format!("{PLAIN}\n[[faults]]\nrank = 1\n{fault}\n"));
        assert_eq!(case.status, 3, "{fault}");
        assert_eq!(
            damage(&case).keys().copied().collect::<Vec<_>>(),
            [1],
            "{fault}"
        );
        let cut = &case.truth["ranks"][1];
        assert!(
            number(&cut["calls"]) > 50 && number(&cut["calls"]) < 290,
            "{cut}"
        );
        compare(&case, EXACT);
    }
}

#[test]
fn behind_a_damaged_chunk_calls_are_matched_again() {
    // A whole chunk of several communicators' calls is lost; the tables of the later ones say
    // where they go on.
    for chunk in [1, 4, 6] {
        for scenario in [PLAIN, EVERYTHING] {
            let fault = format!("[[faults]]\nrank = 1\ndamaged_chunk = {chunk}\n");
            let case = Case::new(&format!("{scenario}\n{fault}"));
            assert_eq!(case.status, 3);
            let incomplete: i64 = list(&case.truth["operations"])
                .iter()
                .map(|entry| number(&entry["incomplete"]))
                .sum();
            assert!(incomplete >= 38, "{incomplete}");
            compare(&case, EXACT);
        }
    }
}

#[test]
fn a_missing_file_costs_the_instances_of_its_rank() {
    let case = Case::new(&format!("{PLAIN}\n[[faults]]\nrank = 1\nmissing = true\n"));
    assert_eq!(case.status, 3);
    assert_eq!(damage(&case).keys().copied().collect::<Vec<_>>(), [1]);
    assert_eq!(number(&case.analysis["trace"]["calls"]), 600);
    compare(&case, EXACT);
    for entry in list(&case.analysis["operations"]) {
        assert_eq!(
            (number(&entry["instances"]), number(&entry["incomplete"])),
            (0, 150)
        );
        assert!(entry["wait_ns"].is_null() && entry["duration_ns"].is_null());
    }
}

#[test]
fn a_recording_that_reached_its_size_is_incomplete_and_exact() {
    let fault = "[[faults]]\nrank = 2\nsize_reached_after_calls = 77\n";
    let case = Case::new(&format!("{PLAIN}\n{fault}"));
    assert_eq!(case.status, 3);
    assert_eq!(number(&case.analysis["ranks"][2]["calls"]), 77);
    let words = text(&damage(&case)[&2]["what"]);
    assert!(words.contains("size") && words.contains("223"), "{words}");
    compare(&case, EXACT);
}

#[test]
fn a_rank_killed_with_collectives_under_way_leaves_what_there_is() {
    let scenario = NONBLOCKING.replace("thread = 1, ", "");
    for after_calls in [8, 30, 61, 100, 150, 171] {
        check_killed(&scenario, after_calls, after_calls % 2 == 0);
    }
}
