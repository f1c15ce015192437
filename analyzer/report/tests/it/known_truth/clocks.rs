//! Ticks, anchors and hosts: figures come back exactly, or within the error of the clocks.

use super::*;

#[test]
fn ticks_of_two_and_a_half_gigahertz_come_back_exactly() {
    let tsc = with(
        EVERYTHING,
        &[("clock = \"raw\"", "clock = \"tsc\"\nghz = 2.5")],
    );
    compare(&Case::new(&tsc), EXACT);
}

#[test]
fn the_kernels_own_monotonic_clock_comes_back_exactly() {
    let monotonic = with(EVERYTHING, &[("clock = \"raw\"", "clock = \"monotonic\"")]);
    compare(&Case::new(&monotonic), EXACT);
}

#[test]
fn odd_tick_rates_come_back_within_a_nanosecond() {
    for ghz in ["2.399987", "1.000001", "3.7", "0.0241", "2.893197"] {
        let odd = with(
            EVERYTHING,
            &[("clock = \"raw\"", &format!("clock = \"tsc\"\nghz = {ghz}"))],
        );
        // A tick is up to 1 ns, or 41 ns at 24.1 MHz, in each of two stamps; and the rate is known
        // to 0.5 ns over the run.
        let ns = if ghz == "0.0241" { 42 } else { 2 };
        let case = Case::new(&odd);
        compare(&case, Tolerance { ns, ..EXACT });
    }
}

#[test]
fn coarse_ticks_and_hasty_anchors_come_back_within_their_error() {
    let coarse = with(
        EVERYTHING,
        &[(
            "clock = \"raw\"",
            "clock = \"tsc\"\nghz = 2.1\ngranularity_ticks = 26\nanchor_width_ns = 80\n\
             anchor_jitter_ns = 40",
        )],
    );
    let case = Case::new(&coarse);
    // 26 ticks are 12.4 ns; anchors that are 40 ns off at both ends of 14 ms are 6 ppm.
    compare(
        &case,
        Tolerance {
            ns: 14,
            ppm: 12,
            ..EXACT
        },
    );
}

#[test]
fn threads_of_a_process_come_back_exactly() {
    let threads = with(
        EVERYTHING,
        &[("# threads", "[threads]\nhalves = 1\nbridge = 2\nself = 3\n")],
    );
    let case = Case::new(&threads);
    assert_eq!(case.status, 0);
    compare(&case, EXACT);
}

#[test]
fn chunks_of_any_length_give_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let mut seen = Vec::new();
    for chunk_calls in ["1", "7", "50", "100000"] {
        let length = format!("chunk_calls = {chunk_calls}");
        let scenario = with(EVERYTHING, &[("chunk_calls = 50", &length)]);
        let trace = trace_in(directory.path(), &scenario, None);
        seen.push(analyze(&trace, &[]).1);
    }
    assert!(seen.iter().all(|bytes| *bytes == seen[0]));
}

#[test]
fn hosts_are_compared_each_within_itself() {
    let case = Case::new(HOSTS);
    assert_eq!(case.status, 0);
    assert!(
        case.remarks().contains(&"clocks_not_aligned"),
        "{:?}",
        case.remarks()
    );
    compare(
        &case,
        Tolerance {
            truth: "within_hosts",
            ..EXACT
        },
    );
    // What is not known is not 0.
    let world = list(&case.analysis["operations"])
        .iter()
        .filter(|entry| entry["communicator"] == 0);
    for entry in world {
        assert!(entry["core_ns"].is_null(), "{entry}");
        assert_eq!(entry["last_unresolved"], entry["instances"], "{entry}");
    }
    let clock = &case.analysis["clock"];
    assert_eq!(list(&clock["hosts"]).len(), 3);
    // Host b is late to every allreduce, which clocks that are not aligned cannot show.
    let communicators = list(&case.analysis["communicators"]);
    for verdict in case.culprits() {
        let name = &communicators[number(&verdict["communicator"]) as usize]["name"];
        assert_eq!(name, "node", "{verdict}");
    }
}

#[test]
fn messages_leave_what_is_seen_from_outside_as_it_is() {
    let case = Case::new(INSIDE);
    compare(
        &case,
        Tolerance {
            truth: "within_hosts",
            ..EXACT
        },
    );
    let messages = &case.analysis["trace"]["messages"];
    assert_eq!(messages, &case.truth["messages"]);
    assert!(number(messages) > 3_000);
}

#[test]
fn drifting_hosts_come_back_within_their_drift() {
    let drifting = with(
        HOSTS,
        &[
            ("# drift b", "drift_ppm = 25.5\noffset_ns = -123456789"),
            ("# drift c", "drift_ppm = -60.0\noffset_ns = 987654321012"),
        ],
    );
    let case = Case::new(&drifting);
    compare(
        &case,
        Tolerance {
            ns: 2,
            ppm: 61,
            apart_ns: 0,
            truth: "within_hosts",
        },
    );
}

/// Four hosts at different rates, and messages between them that take the same time both ways.
fn aligned() -> String {
    with(
        HOSTS,
        &[
            ("[latency]", "[exchanges]\none_way_ns = 1000\n\n[latency]"),
            ("# drift b", "drift_ppm = 25.5\noffset_ns = -123456789"),
            ("# drift c", "drift_ppm = -60.0\noffset_ns = 987654321012"),
        ],
    )
}

#[test]
fn hosts_that_were_measured_are_compared_with_one_another() {
    let case = Case::new(&aligned());
    assert_eq!(case.status, 0);
    assert_eq!(case.remarks(), [] as [&str; 0]);
    // Reading the clocks errs by a few ns; the drift of b and c is taken out.
    compare(
        &case,
        Tolerance {
            ns: 12,
            ppm: 0,
            apart_ns: 300,
            truth: "global",
        },
    );
    let clock = &case.analysis["clock"];
    assert_eq!(clock["method"], "offsets smoothed jointly");
    for (host, offset_ns, drift_ppm) in [(1, -123_456_789, 25.5), (2, 987_654_321_012, -60.0)] {
        let found = &clock["hosts"][host];
        let off = number(&found["offset_ns"]) - offset_ns;
        assert!(off.abs() < 200, "{found}");
        let drift = found["drift_ppm"].as_f64().unwrap();
        assert!((drift - drift_ppm).abs() < 0.2, "{found}");
        assert!(
            (1_000..1_100).contains(&number(&found["bound_ns"])),
            "{found}"
        );
        assert!(
            (50..300).contains(&number(&found["uncertainty_ns"])),
            "{found}"
        );
    }
    // What is told apart by host adds up to the whole.
    let is_world = |entry: &&Value| entry["communicator"] == 0 && !entry["core_ns"].is_null();
    for entry in list(&case.analysis["operations"]).iter().filter(is_world) {
        let [inside, across] = [&entry["stages"][0], &entry["stages"][1]];
        for (direction, whole) in [("down_ns", "wait_ns"), ("up_ns", "departure_wait_ns")] {
            let total = |dist: &Value| number(&dist["total"]);
            let parts = total(&inside[direction]) + total(&across[direction]);
            assert_eq!(parts, total(&entry[whole]), "{direction} of {entry}");
        }
        let uncertainty = number(&entry["wait_ns"]["uncertainty_ns"]);
        assert!((50..400).contains(&uncertainty), "{uncertainty}");
    }
    let culprits = case.culprits();
    let late: Vec<&Value> = culprits.iter().map(|verdict| &verdict["culprit"]).collect();
    assert!(
        late.contains(&&serde_json::json!({ "kind": "host", "id": "b" })),
        "{late:?}"
    );
}

#[test]
fn ranks_that_run_ahead_in_reduces_come_back_exactly() {
    // The root needs 40 us for what takes the others 1 us: they end 20,000 calls ahead.
    let scenario = "
        schema = 1
        grid_ns = 10
        chunk_calls = 500
        [[hosts]]
        name = \"a\"
        ranks = 4
        clock = \"raw\"
        [[program]]
        repeat = 20000
        operation = \"MPI_Reduce\"
        bytes = 64
        root = 2
        work = [{ uniform_ns = [500, 1500] }, { constant_ns = 40000, ranks = [2] }]
        [[program]]
        repeat = 5000
        operation = \"MPI_Bcast\"
        bytes = 8
        root = 1
        work = [{ constant_ns = 40000, ranks = [0] }]";
    let case = Case::new(scenario);
    assert_eq!(case.status, 0);
    compare(&case, EXACT);
    let reduce = operation(&case, "MPI_Reduce");
    assert_eq!(number(&reduce["instances"]), 20_000);
    assert_eq!(
        reduce["last_arrivals"],
        serde_json::json!([0, 0, 20_000, 0])
    );
}
