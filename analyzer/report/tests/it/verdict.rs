//! What the verdict says of traces whose fault is known.

use std::path::Path;

use collbench_analyzer::{Analysis, Selection};
use collbench_formats::Operation;
use collbench_report::to_text;

use crate::built::{TestTrace, assert_has};
use crate::generated;

/// The verdict on the screen, in one line.
fn verdict(trace: &TestTrace) -> String {
    verdict_of(&trace.analyze())
}

fn verdict_of(analysis: &Analysis) -> String {
    let screen = generated::plain(&to_text(analysis, None));
    let verdict = screen.split("Verdict").nth(1).expect("a verdict");
    let verdict = verdict.split("\n\n").next().unwrap_or_default();
    generated::in_one_line(verdict)
}

/// Two ranks; rank 1 leaves each reduction so much later than rank 0, ns, and both meet in a barrier at once.
fn left_late(later_ns: impl Fn(u64) -> u64) -> TestTrace {
    let mut trace = TestTrace::new(2);
    for n in 0..40 {
        let at = 100_000 * n;
        let leaves = [at + 1_000, at + 1_000 + later_ns(n)];
        let reduction = [(at, leaves[0]), (at, leaves[1])];
        trace.world(Operation::Allreduce, -1, 8, &reduction);
        let end = leaves[1] + 300;
        let barrier = [(leaves[0] + 100, end), (leaves[1] + 100, end)];
        trace.barrier(&barrier);
    }
    trace
}

const LATE_FOR_NEXT: &str = "some ranks leave MPI_Allreduce on MPI_COMM_WORLD later than others, and are late for \
                             what follows";

#[test]
fn a_few_long_instances_point_to_interruptions_and_to_the_layer_that_shows_them() {
    let words = verdict(&left_late(|n| if n % 10 == 3 { 60_000 } else { 0 }));
    let few = format!(
        "{LATE_FOR_NEXT}: a few long instances make most of that (median 1.00 us, mean 7.00 us)"
    );
    assert_has(&words, &few);
    assert_has(&words, "next: record again with --layers +switches");
}

#[test]
fn without_messages_the_layer_is_named_that_shows_what_takes_long() {
    let words = verdict(&left_late(|_| 20_000));
    assert_has(&words, &format!("{LATE_FOR_NEXT}; costs"));
    assert_has(&words, "next: record with --layers +messages");
}

/// Rank 2 of three begins each collective write so much later than the others, ns.
fn late_to_write(late_ns: u64) -> TestTrace {
    let mut trace = TestTrace::new(3);
    for n in 0..40 {
        let at = 100_000 * n;
        let calls = [0, 0, late_ns].map(|late_ns| (at + late_ns, at + 50_000));
        trace.world(Operation::FileWriteAtAll, -1, 8, &calls);
    }
    trace
}

#[test]
fn lateness_in_collective_io_is_told_though_nobody_is_known_to_wait() {
    let of = |late_ns: u64| verdict(&late_to_write(late_ns));
    let words = of(20_000);
    let late = "rank 2 arrives last in 100 % of 40 MPI_File_write_at_all on MPI_COMM_WORLD, 20.0 us after the \
                others on average; whether they wait for it is not known, their calls take 43.3 us on average";
    assert_has(&words, late);
    // Less than a hundredth of the time.
    let words = of(100);
    assert!(!words.contains("rank 2"), "{words}");
}

#[test]
fn lateness_in_collective_io_is_told_of_a_part_by_the_time_of_that_part() {
    // Rank 2 is late in the last quarter: 1.3 % of its time, 0.3 % of that of the run.
    let mut trace = TestTrace::new(3);
    for n in 0..40 {
        let at = 100_000 * n;
        let late_ns = if n < 30 { 0 } else { 2_000 };
        let calls = [0, 0, late_ns].map(|late_ns| (at + late_ns, at + 50_000));
        trace.world(Operation::FileWriteAtAll, -1, 8, &calls);
    }
    let words = verdict(&trace);
    assert!(!words.contains("rank 2"), "{words}");
    let words = verdict_of(&trace.analyze_part(&Selection {
        from_ns: Some(3_000_000),
        ..Selection::default()
    }));
    assert_has(
        &words,
        "rank 2 arrives last in 100 % of 10 MPI_File_write_at_all",
    );
}

#[test]
fn shares_of_a_part_of_a_run_are_of_that_part() {
    // Rank 1 keeps rank 0 waiting for 20 of each 100 us, from 2 ms on.
    let mut trace = TestTrace::new(2);
    for n in 0..40 {
        let at = 100_000 * n;
        let enters = [at, at + if n < 20 { 0 } else { 20_000 }];
        let leave = enters[1] + 1_000;
        trace.world(
            Operation::Allreduce,
            -1,
            8,
            &enters.map(|enter| (enter, leave)),
        );
    }
    let by = |ranks: &[(u32, u32)], from_ns, to_ns| {
        verdict_of(&trace.analyze_part(&Selection {
            ranks: ranks.to_vec(),
            from_ns,
            to_ns,
            ..Selection::default()
        }))
    };
    let of = |from_ns, to_ns| by(&[], from_ns, to_ns);
    let words = by(&[(0, 0)], None, None);
    assert_has(
        &words,
        "(10 % of the time of these ranks), without it the run could",
    );
    let words = of(None, None);
    assert_has(
        &words,
        "(5 % of the time of all ranks), without it the run could",
    );
    let words = of(Some(2_000_000), Some(3_000_000));
    let there = "(10 % of the time of all ranks in this part), without it this part could be up to 20 % shorter";
    assert_has(&words, there);
    let words = of(Some(9_000_000), None);
    assert_eq!(
        words,
        "- nothing to judge: no collective operation begins in the selected part"
    );
}

/// Barriers with ten unsuccessful tests of each rank. Rank 3 initiates all of them 1 ms late: because it is late each time,
/// and the others test for longer, or because it is behind from the first one on.
fn tested(is_late_each_time: bool) -> String {
    let (once, each, less) = if is_late_each_time {
        (0, 1_000_000, 1_000_000)
    } else {
        (1_000_000, 0, 0)
    };
    let between_ns = [1_200_000, 1_200_000, 1_200_000, 1_200_000 - less];
    let scenario = format!(
        r#"
        schema = 1
        name = "barriers that are tested for"
        [[hosts]]
        name = "node1"
        ranks = 4
        [[program]]
        steps = [ {{ work = [{{ constant_ns = {once}, ranks = [3] }}] }} ]
        [[program]]
        repeat = 100
        steps = [
          {{ operation = "MPI_Ibarrier", work = [{{ constant_ns = 200000 }}, {{ constant_ns = {each}, ranks = [3] }}] }},
          {{ complete = "MPI_Wait", tests = 10, work = [{{ each_ns = {between_ns:?} }}] }},
        ]
        "#
    );
    verdict_of(&generated::analysis(&scenario, None))
}

#[test]
fn who_is_tested_for_is_told_where_the_others_test_for_longer_and_nobody_else() {
    let words = tested(true);
    let told = "rank 3 initiates last in 100 % of 100 MPI_Ibarrier on MPI_COMM_WORLD, 1.00 ms after the others on \
                average; whether they wait for it, or compute, between their 4,000 unsuccessful tests is not known";
    assert_has(&words, told);
    assert_has(&words, "--layers +switches shows whether they sleep");
    let words = tested(false);
    assert!(!words.contains("rank 3"), "{words}");
}

/// The analysis of a scenario to each of whose steps this place of its call, `called_at = ..`, is added.
fn analysis_with(scenario: &str, called_at: &str) -> Analysis {
    let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let text = std::fs::read_to_string(scenarios.join(scenario)).unwrap();
    let called = text.replace("operation =", &format!("{called_at}operation ="));
    generated::analysis(&called, None)
}

#[test]
fn what_is_wrong_with_an_operation_is_said_with_the_place_where_it_is_called() {
    let place = "called_at = { module = '/opt/solver', address = 4096 }, ";
    let nobody = analysis_with("verdicts/nobody.toml", place);
    let linear = analysis_with("costs/linear.toml", place);
    // Only blocking operations have places in scenarios.
    let mut progress = analysis_with("costs/no-progress.toml", "");
    progress.sites.clone_from(&linear.sites);
    for cause in &mut progress.causes {
        cause.site = Some(0);
    }
    for (analysis, what) in [
        (&linear, "exchange messages with 15 others"),
        (&progress, "progress"),
    ] {
        let words = verdict_of(analysis);
        let said = words.split(" - ").find(|line| line.contains(what));
        let said = said.unwrap_or_else(|| panic!("{what}: {words}"));
        assert_has(said, "; called at solver+0x1000; costs ");
    }
    let words = verdict_of(&nobody);
    let most = "none stands out, the most before MPI_Allreduce on MPI_COMM_WORLD at solver+0x1000";
    assert_has(&words, most);
    let mut writes = late_to_write(20_000).analyze();
    writes.sites.clone_from(&linear.sites);
    let called = linear.operations.iter().find(|of| !of.sites.is_empty());
    writes.operations[0]
        .sites
        .clone_from(&called.unwrap().sites);
    let words = verdict_of(&writes);
    let late =
        "40 MPI_File_write_at_all on MPI_COMM_WORLD at solver+0x1000, 20.0 us after the others";
    assert_has(&words, late);
}

#[test]
fn causes_in_operations_that_are_called_alike_are_told_apart_by_their_payloads() {
    let scenario = r#"
        schema = 1
        name = "alike"
        truth = "counts"
        [[hosts]]
        name = "node1"
        ranks = 40
        clock = "raw"
        [latency]
        base_ns = 3000
        departure_ns = 800
        jitter = { exponential_ns = 800 }
        [[program]]
        repeat = 60
        steps = [
          { operation = "MPI_Allreduce", bytes = 8, work = [{ exponential_ns = 5000 }] },
          { operation = "MPI_Allreduce", bytes = 65536, work = [{ exponential_ns = 5000 }] },
        ]
        "#;
    let of = |scenario: &str| verdict_of(&generated::analysis(scenario, None));
    let words = of(scenario);
    for payload in ["(8 bytes)", "(64 KiB)"] {
        let cause =
            format!("some ranks leave MPI_Allreduce on MPI_COMM_WORLD {payload} later than others");
        assert!(words.contains(&cause), "{payload}: {words}");
    }
    // One alone needs none.
    let words = of(&scenario.replace(
        "\"MPI_Allreduce\", bytes = 8,",
        "\"MPI_Allgather\", bytes = 8,",
    ));
    let cause = "some ranks leave MPI_Allreduce on MPI_COMM_WORLD later than others";
    assert_has(&words, cause);
}
