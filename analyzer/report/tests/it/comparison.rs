//! Comparing traces: generated runs that are the same but for their chance, or differ by a known
//! amount; what is matched with what; what the screen and the document hold.

use std::path::PathBuf;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{
    Comparison, ComparisonVerdict, Difference, OperationDifferences,
};
use collbench_formats::{Direction, LayerState, Operation};
use collbench_report::{ComparedTraceDocument, ComparisonDocument, comparison_to_text, to_json};

use crate::built::{TestTrace, assert_has, call, message, split};
use crate::generated;

/// A program of three operations; one rank after the other is late for a while.
fn scenario(n_ranks: u32, base_ns: u64, steps: &str) -> String {
    format!(
        r#"
schema = 1
name = "comparison"
truth = "counts"
[[hosts]]
name = "node1"
ranks = {n_ranks}
clock = "raw"
[latency]
base_ns = {base_ns}
departure_ns = 100
jitter = {{ exponential_ns = 300 }}
[[program]]
repeat = 300
steps = [
  {{ operation = "MPI_Allreduce", bytes = 8, work = [
      {{ exponential_ns = 2000 }}, {{ constant_ns = 6000, moves_every = 17 }} ] }},
  {{ operation = "MPI_Allreduce", bytes = 1024, work = [{{ exponential_ns = 1000 }}] }},
  {{ operation = "MPI_Bcast", bytes = 64, work = [{{ exponential_ns = 1000 }}] }},
{steps}
]
"#
    )
}

fn analysis(scenario: &str, seed: u64) -> Analysis {
    generated::analysis(scenario, Some(seed))
}

fn of(differences: &OperationDifferences) -> Vec<&Difference> {
    let quantities = [
        &differences.duration_ns,
        &differences.call_time_ns,
        &differences.wait_ns,
        &differences.core_ns,
    ];
    let both = quantities.into_iter().flat_map(|q| [&q.mean, &q.median]);
    both.flatten().collect()
}

fn is_named(difference: &Difference) -> bool {
    matches!(
        difference.verdict,
        ComparisonVerdict::Slower | ComparisonVerdict::Faster
    )
}

fn plain(comparison: &Comparison) -> String {
    let styled = comparison_to_text(comparison, None);
    generated::plain(&styled)
}

#[test]
fn two_runs_of_one_scenario_are_not_distinguishable() {
    let scenario = scenario(4, 20_000, "");
    let mut n_told_apart = 0;
    for seed in 0..20 {
        let runs = [2 * seed, 2 * seed + 1].map(|seed| analysis(&scenario, seed));
        let comparison = Comparison::new(&runs);
        assert_eq!(comparison.operations.len(), 3);
        let mut differences = comparison.operations.iter().flat_map(|o| &o.differences);
        n_told_apart += u32::from(differences.any(|d| of(d).into_iter().any(is_named)));
    }
    assert!(n_told_apart <= 1, "{n_told_apart} of 20");
}

#[test]
fn a_tenth_more_latency_is_found_where_it_is() {
    let (mut n_intervals, mut n_holding) = (0, 0);
    for seed in 0..20 {
        let runs = [
            analysis(&scenario(4, 20_000, ""), 2 * seed),
            analysis(&scenario(4, 22_000, ""), 2 * seed + 1),
        ];
        let comparison = Comparison::new(&runs);
        for operation in &comparison.operations {
            let differences = &operation.differences[0];
            if operation.operation != "MPI_Allreduce" {
                continue;
            }
            for core in [&differences.core_ns.mean, &differences.core_ns.median] {
                let core = core.as_ref().unwrap();
                assert_eq!(core.verdict, ComparisonVerdict::Slower, "{seed}: {core:?}");
                let (low, high) = core.interval_ns.unwrap();
                assert!(low > 1800 && high < 2200, "{seed}: {core:?}");
                n_intervals += 1;
                n_holding += u32::from((low..=high).contains(&2000));
                let (low, high) = core.ratio_interval.unwrap();
                assert!(1.08 < low && high < 1.12, "{seed}: {core:?}");
            }
            let wait = differences.wait_ns.mean.as_ref().unwrap();
            assert!(!is_named(wait), "{seed}: {wait:?}");
            let duration = differences.duration_ns.median.as_ref().unwrap();
            assert_eq!(duration.verdict, ComparisonVerdict::Slower, "{seed}");
        }
        let text = plain(&comparison);
        assert_has(&text, "the operation itself takes longer");
        // The other way round the same is faster.
        let [one, two] = runs;
        let back = Comparison::new(&[two, one]);
        let differences = back.operations.iter().map(|o| &o.differences[0]);
        let cores = differences.filter_map(|d| d.core_ns.mean.as_ref());
        let verdicts: Vec<_> = cores.map(|core| core.verdict).collect();
        assert_eq!(verdicts, [ComparisonVerdict::Faster; 2]);
    }
    assert_eq!(n_intervals, 80);
    assert!(
        (72..80).contains(&n_holding),
        "{n_holding} of 80 hold the truth"
    );
}

#[test]
fn jobs_of_different_size_are_compared_by_name_and_nothing_is_dropped() {
    let shared = "  { operation = \"MPI_Reduce\", bytes = 8, root = 1 },";
    let one = format!("{shared}\n{{ operation = \"MPI_Scan\", bytes = 8 }},");
    let two = format!("{shared}\n{{ operation = \"MPI_Alltoall\", bytes = 8 }},");
    let analyses = [
        analysis(&scenario(4, 5_000, &one), 1),
        analysis(&scenario(8, 5_000, &two), 2),
        analysis(&scenario(4, 5_000, &one), 3),
    ];
    let comparison = Comparison::new(&analyses);
    let codes: Vec<_> = comparison.remarks.iter().map(|r| r.code()).collect();
    assert!(codes.contains(&"matched_by_name"), "{codes:?}");
    let settings: Vec<_> = comparison.differs.iter().map(|s| &*s.what).collect();
    assert!(settings.contains(&"ranks"), "{settings:?}");
    let only: Vec<_> = comparison
        .only_in
        .iter()
        .map(|only| (only.trace, only.not_in, &*only.operation))
        .collect();
    assert_eq!(only, [(1, 0, "MPI_Alltoall"), (0, 1, "MPI_Scan")]);
    for (trace, other) in analyses.iter().enumerate().skip(1) {
        let n_compared = comparison
            .operations
            .iter()
            .filter(|o| o.differences.iter().any(|d| d.trace == trace))
            .count();
        let n_only = |has, has_not| {
            let those = comparison.only_in.iter();
            those
                .filter(|o| (o.trace, o.not_in) == (has, has_not))
                .count()
        };
        assert_eq!(n_compared + n_only(0, trace), analyses[0].operations.len());
        assert_eq!(n_compared + n_only(trace, 0), other.operations.len());
    }
}

/// Barriers on two halves that are made in the order of `halves`, and on the world.
fn halves(halves: [&[u32]; 2], name: &str) -> TestTrace {
    let mut trace = TestTrace::new(4);
    for rank in 0..4u32 {
        let half = usize::from(!halves[0].contains(&rank));
        let mut made = split(2, 20 + half as u64, halves[half], rank, 0);
        made.name = name.to_owned();
        trace.processes[rank as usize].define(made);
    }
    for n in 0..20u64 {
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            let at = 10_000 * n + 100 * rank as u64;
            process.call(call(Operation::Barrier, 2, -1, 0, (at, at + 1000)));
        }
    }
    trace
}

#[test]
fn communicators_answer_to_those_with_the_same_members_then_to_those_of_the_same_name() {
    let pairs = |one: &TestTrace, two: &TestTrace| {
        let analyses = [one.analyze(), two.analyze()];
        let comparison = Comparison::new(&analyses);
        let mut pairs: Vec<_> = comparison
            .operations
            .iter()
            .map(|operation| {
                let members = [0, 1].map(|trace: usize| {
                    let figures = operation.traces[trace].as_ref().unwrap();
                    let id = figures.communicator.unwrap();
                    analyses[trace].communicators[id].ranks.clone()
                });
                members.map(|ranks| ranks.into_iter().flatten().collect::<Vec<u32>>())
            })
            .collect();
        pairs.sort();
        pairs
    };
    let plain = halves([&[0, 1], &[2, 3]], "half");
    let equal = [[vec![0, 1], vec![0, 1]], [vec![2, 3], vec![2, 3]]];
    assert_eq!(pairs(&plain, &plain), equal);
    assert_eq!(pairs(&plain, &halves([&[2, 3], &[0, 1]], "half")), equal);
    assert_eq!(pairs(&plain, &halves([&[0, 1], &[2, 3]], "other")), equal);
    let crossed = [[vec![0, 1], vec![0, 2]], [vec![2, 3], vec![1, 3]]];
    assert_eq!(pairs(&plain, &halves([&[0, 2], &[1, 3]], "half")), crossed);
    assert!(pairs(&plain, &halves([&[0, 2], &[1, 3]], "other")).is_empty());
}

/// Twenty barriers of two ranks, seen inside or silent. The layer `messages` is on for this reason; off
/// without one.
fn barriers(messages: Option<&str>, is_seen: bool) -> TestTrace {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        if let Some(reason) = messages {
            process.with_messages();
            for layer in &mut process.identity.layers {
                layer.reason = reason.into();
            }
        }
    }
    for at in (0..20u64).map(|n| 10_000 * n) {
        trace.barrier(&[(at, at + 500); 2]);
        for (process, other) in trace.processes.iter_mut().zip([1, 0]) {
            if is_seen {
                process.call(message(Direction::Send, 0, other, (at + 100, at + 150)));
                process.call(message(Direction::Receive, 0, other, (at + 200, at + 250)));
            }
        }
    }
    trace
}

#[test]
fn layers_are_the_same_by_default_as_by_name_and_others_are_a_remark() {
    let runs = [Some(LayerState::BY_DEFAULT), Some(""), None];
    let [by_default, by_name, without] =
        runs.map(|messages| barriers(messages, messages.is_some()).analyze());
    let found = |one: &Analysis, two: &Analysis| {
        let comparison = Comparison::new(&[one.clone(), two.clone()]);
        let differs = comparison.differs.iter();
        let differs = differs.map(|setting| (setting.what.to_string(), setting.values.clone()));
        let codes: Vec<&str> = comparison
            .remarks
            .iter()
            .map(|remark| remark.code())
            .collect();
        (differs.collect::<Vec<_>>(), codes.contains(&"other_layers"))
    };
    assert_eq!(found(&by_default, &by_name), (vec![], false));
    let values = vec!["calls".to_owned(), "calls,messages".to_owned()];
    assert_eq!(
        found(&without, &by_name),
        (vec![("layers".to_owned(), values)], true)
    );
}

#[test]
fn that_no_message_was_seen_is_a_remark_of_the_trace_whose_messages_were_asked_for() {
    let runs = [LayerState::BY_DEFAULT, ""].map(|reason| barriers(Some(reason), false).analyze());
    let comparison = Comparison::new(&runs);
    let document = ComparisonDocument::of(&comparison, &runs);
    let has_remark = |compared: &ComparedTraceDocument<'_>| {
        let mut remarks = compared.remarks.iter();
        remarks.any(|remark| remark.code == "opaque_collectives")
    };
    let found: Vec<bool> = document.traces.iter().map(has_remark).collect();
    assert_eq!(found, [false, true]);
    // Nothing of both was seen inside, so they are alike.
    assert!(comparison.differs.is_empty(), "{:?}", comparison.differs);
}

#[test]
fn the_number_of_threads_does_not_show_in_a_comparison() {
    let with_threads = |n: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(n)
            .build()
            .unwrap();
        pool.install(|| {
            let mut runs = [1, 2].map(|seed| analysis(&scenario(4, 9_000, ""), seed));
            // The directories are temporary ones.
            runs.iter_mut()
                .for_each(|run| run.trace.directory = PathBuf::from("t").to_string_lossy().into());
            to_json(&ComparisonDocument::of(&Comparison::new(&runs), &runs))
        })
    };
    assert_eq!(with_threads(1), with_threads(3));
}

#[test]
fn the_screen_of_many_operations_and_harmful_names_fits() {
    let analyses = [3u64, 5].map(|factor| {
        let mut trace = TestTrace::new(4);
        for process in &mut trace.processes {
            process.identity.host.name = format!("n{factor}\u{1b}[31m\u{202e}");
            process.identity.mpi.library_version = format!("{} {factor}", "x\u{9b}2J".repeat(90));
        }
        for n in 0..30 * 20u64 {
            let at = 100_000 * n;
            let end = at + factor * (1000 + n % 7 * 100);
            let stamps = [(at, end), (at + 100, end + 20), (at + 300, end), (at, end)];
            trace.world(Operation::Allreduce, -1, 1 << (n % 30), &stamps);
        }
        let mut analysis = trace.analyze();
        analysis.trace.command = vec!["run ".repeat(300), format!("{factor}\n</script>")];
        analysis.communicators[0].name = "\u{1b}]0;title\u{7}".repeat(20);
        analysis
    });
    let comparison = Comparison::new(&analyses);
    assert_eq!(comparison.operations.len(), 30);
    let text = plain(&comparison);
    assert!(text.lines().count() <= 40, "{text}");
    assert_has(&text, "30 slower");
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    for output in [
        text,
        to_json(&ComparisonDocument::of(&comparison, &analyses)),
    ] {
        let is_active = |c: char| c != '\n' && c.is_control() || c == '\u{202e}';
        assert!(!output.chars().any(is_active), "{output}");
    }
}

#[test]
fn a_change_of_the_algorithm_is_named_with_the_largest_difference() {
    let runs = ["binomial", "chain"].map(|tree| {
        let scenario = format!(
            r#"
schema = 1
name = "algorithms"
truth = "counts"
[[hosts]]
name = "node1"
ranks = 8
clock = "raw"
[[program]]
repeat = 100
steps = [
  {{ operation = "MPI_Bcast", bytes = 1024, tree = "{tree}", work = [{{ exponential_ns = 1000 }}] }},
  {{ operation = "MPI_Barrier", work = [{{ exponential_ns = 1000 }}] }},
]
"#
        );
        analysis(&scenario, 1)
    });
    let text = plain(&Comparison::new(&runs));
    let text = generated::in_one_line(&text);
    let found = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    let changed = "in total; the algorithm changed from binomial to pipeline";
    assert!(found("- MPI_Bcast on MPI_COMM_WORLD (1024 bytes): slower by") < found(changed));
}

#[test]
fn the_screen_of_a_slower_run() {
    let mut runs = [
        analysis(&scenario(4, 20_000, ""), 1),
        analysis(&scenario(4, 24_000, ""), 2),
    ];
    for (run, name) in runs.iter_mut().zip(["before", "after"]) {
        run.trace.directory = name.to_owned();
    }
    insta::assert_snapshot!(plain(&Comparison::new(&runs)));
}

#[test]
fn the_document_of_a_short_comparison() {
    let runs = [1000, 1300u64].map(|time| {
        let mut trace = TestTrace::new(2);
        for n in 0..12 {
            let (at, end) = (10_000 * n, 10_000 * n + time + n % 3 * 10);
            trace.barrier(&[(at, end), (at + 200, end + 5)]);
        }
        if time == 1000 {
            trace.world(
                Operation::Bcast,
                0,
                8,
                &[(200_000, 200_400), (200_100, 200_500)],
            );
        }
        trace.analyze()
    });
    let document = to_json(&ComparisonDocument::of(&Comparison::new(&runs), &runs));
    let mut document: serde_json::Value = collbench_schemas::read(document);
    // What is said of each trace is that of its own analysis, and tested there.
    let traces = document["traces"].take();
    assert_eq!(traces[1]["ranks"], 2);
    assert_eq!(traces[1]["clock"]["source"], "raw");
    insta::assert_snapshot!(format!("{document:#}"));
}

#[test]
fn time_in_point_to_point_communication_is_compared_where_it_is_a_notable_part_of_a_run() {
    let with_messages = |ns: u64| {
        let messages = format!(
            r#"  {{ operation = "MPI_Barrier", work = [{{ constant_ns = {ns}, activity = "point-to-point" }}] }},"#
        );
        analysis(&scenario(4, 20_000, &messages), 1)
    };
    let runs = [with_messages(100_000), with_messages(300_000)];
    let comparison = Comparison::new(&runs);
    // 300 times, in each of 4 ranks.
    let found = comparison.runs[0].point_to_point_ns.unwrap();
    assert_eq!(found.difference, 300 * 4 * 200_000);
    let text = plain(&comparison);
    let line = "p2p   120 ms -> 360 ms (+200 %) over all ranks in point-to-point communication";
    assert_has(&text, line);
    let hardly = [with_messages(100), with_messages(300)];
    let text = plain(&Comparison::new(&hardly));
    assert!(!text.contains("p2p"), "{text}");
}
