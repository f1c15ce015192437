//! Several runs of each of two sides: what runs of one side differ by among themselves is no change.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{Comparison, ComparisonVerdict, Sides};
use collbench_generate::generate;
use collbench_report::{ComparisonDocument, comparison_to_text, to_json};

use crate::built::assert_has;
use crate::generated;

/// Allreduces and broadcasts whose messages take `latency_ns`. All of a run are slower by `of_run_ns`, as by where its
/// ranks lie.
fn scenario(latency_ns: u64, of_run_ns: u64) -> String {
    let latency_ns = latency_ns + of_run_ns;
    format!(
        r#"
schema = 1
name = "runs"
truth = "counts"
[[hosts]]
name = "node1"
ranks = 4
clock = "raw"
[latency]
base_ns = {latency_ns}
departure_ns = 100
jitter = {{ exponential_ns = 300 }}
[[program]]
repeat = 100
steps = [
  {{ operation = "MPI_Allreduce", bytes = 8, work = [{{ exponential_ns = 2000 }}] }},
  {{ operation = "MPI_Bcast", bytes = 64, work = [{{ exponential_ns = 1000 }}] }},
]
"#
    )
}

fn analysis(scenario: &str, seed: u64) -> Analysis {
    let mut analysis = generated::analysis(scenario, Some(seed));
    analysis.trace.directory = format!("run-{seed}");
    analysis
}

/// How much slower all messages of a run are than those of others: between 0 and 2 us, by its seed.
fn of_run_ns(seed: u64) -> u64 {
    seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 53
}

/// So many runs with this latency each, whose runs differ by placement.
fn runs(latencies_ns: &[u64], seed: u64) -> Vec<Analysis> {
    let seeds = (0..).map(|n| 100 * seed + n);
    let runs = latencies_ns.iter().zip(seeds);
    runs.map(|(&latency_ns, seed)| analysis(&scenario(latency_ns, of_run_ns(seed)), seed))
        .collect()
}

fn sides(comparison: &Comparison) -> &Sides {
    comparison.sides.as_ref().unwrap()
}

/// The operations of which a verdict is given, slower or faster, and whether the runs as a whole differ.
fn changed(comparison: &Comparison) -> Vec<String> {
    let is_change = |verdict| {
        matches!(
            verdict,
            ComparisonVerdict::Slower | ComparisonVerdict::Faster
        )
    };
    let sides = sides(comparison);
    let operations = sides.operations.iter();
    let operations = operations.filter(|of| is_change(of.differences.verdict));
    let names = operations.map(|of| comparison.operations[of.row].operation.to_string());
    let whole = [
        ("run", &sides.duration_ns),
        ("calls", &sides.collectives_ns),
    ];
    let whole = whole
        .into_iter()
        .filter(|(_, of)| is_change(of.difference.verdict));
    names
        .chain(whole.map(|(name, _)| name.to_owned()))
        .collect()
}

fn plain(comparison: &Comparison) -> String {
    let styled = comparison_to_text(comparison, None);
    let text = generated::plain(&styled);
    for line in text.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    generated::in_one_line(&text)
}

#[test]
fn runs_of_one_program_that_differ_by_placement_are_no_change() {
    let mut n_in_pairs = 0;
    for seed in 0..20 {
        let runs = runs(&[20_000; 6], seed);
        let comparison = Comparison::of_sides(&runs, 3);
        assert_eq!(changed(&comparison), [""; 0], "{seed}");
        let text = plain(&comparison);
        assert_has(&text, "2 not distinguishable (?)");
        // From one run each they cannot be told from a change.
        let pair = Comparison::new(&runs[2..4]);
        let mut differences = pair.operations.iter().flat_map(|of| &of.differences);
        let found = differences.any(|of| of.verdict != ComparisonVerdict::NotDistinguishable);
        n_in_pairs += u32::from(found);
    }
    assert!(n_in_pairs >= 10, "{n_in_pairs} of 20");
}

#[test]
fn a_tenth_more_is_found_with_three_runs_of_each_side() {
    for seed in 0..20 {
        let latencies_ns = [100_000, 100_000, 100_000, 110_000, 110_000, 110_000];
        let comparison = Comparison::of_sides(&runs(&latencies_ns, seed), 3);
        let found = changed(&comparison);
        for name in ["MPI_Allreduce", "MPI_Bcast", "calls"] {
            assert!(found.iter().any(|of| of == name), "{seed}: {found:?}");
        }
        for of in &sides(&comparison).operations {
            let mean = of.differences.call_time_ns.mean.as_ref().unwrap();
            assert_eq!(mean.verdict, ComparisonVerdict::Slower, "{seed}");
            let (low, high) = mean.ratio_interval.unwrap();
            assert!(low > 1.0 && low < 1.1 && high > 1.07, "{seed}: {mean:?}");
        }
        let text = plain(&comparison);
        assert_has(&text, "B against A, 3 runs against 3");
        assert_has(
            &text,
            "MPI_Allreduce on MPI_COMM_WORLD (8 bytes): slower by",
        );
    }
}

#[test]
fn one_bad_run_among_three_is_no_change_and_is_named() {
    for seed in 0..20 {
        let latencies_ns = [100_000, 100_000, 100_000, 100_000, 160_000, 100_000];
        let comparison = Comparison::of_sides(&runs(&latencies_ns, seed), 3);
        assert_eq!(changed(&comparison), [""; 0], "{seed}");
        let text = plain(&comparison);
        let apart = "- B2 is apart from the other runs of its side: it takes";
        assert_has(&text, apart);
    }
}

#[test]
fn with_few_runs_it_is_said_what_would_tell() {
    let all = runs(&[100_000, 100_000, 100_000, 104_000, 104_000, 104_000], 3);
    // One run of one side: its spread is not known.
    let single = Comparison::of_sides(&all[..4], 3);
    let text = plain(&single);
    assert_eq!(changed(&single), [""; 0]);
    assert_has(&text, "2 with too few runs");
    let told = "few_runs: how far runs of B lie apart is not known from one run, so nothing is called a change: \
                record 3 or more of each side";
    assert_has(&text, told);
    // Two and two: only what is several times the spread.
    let two = Comparison::of_sides(&all[1..5], 2);
    let text = plain(&two);
    assert_has(&text, "few_runs: with 2 runs of a side only");
    let open = &sides(&two).operations[0].differences;
    let mean = open.call_time_ns.mean.as_ref().unwrap();
    assert_eq!(mean.verdict, ComparisonVerdict::NotDistinguishable);
    let needed = mean.runs_needed.unwrap();
    assert!((3..=30).contains(&needed), "{needed}");
    let told = format!(
        "in the mean of the runs is not significant with 2 runs of each side; {needed} of each side would show a \
         difference of this size"
    );
    assert_has(&text, &told);
    let three = plain(&Comparison::of_sides(&all, 3));
    assert!(!three.contains("few_runs"), "{three}");
}

#[test]
fn a_change_of_the_algorithm_is_told_where_all_runs_of_a_side_have_it() {
    let of = |tree: &str, seed| {
        let bcast = format!("\"MPI_Bcast\", tree = \"{tree}\"");
        let scenario = scenario(20_000, of_run_ns(seed)).replace("\"MPI_Bcast\"", &bcast);
        analysis(&scenario.replace("ranks = 4", "ranks = 8"), seed)
    };
    let compare = |trees: [&str; 6]| {
        let runs = trees
            .into_iter()
            .zip(1..)
            .map(|(tree, seed)| of(tree, seed));
        let runs: Vec<Analysis> = runs.collect();
        plain(&Comparison::of_sides(&runs, 3))
    };
    let text = compare([
        "binomial", "binomial", "binomial", "chain", "chain", "chain",
    ]);
    assert_has(&text, "the algorithm changed from binomial to pipeline");
    let text = compare(["binomial", "chain", "binomial", "chain", "chain", "chain"]);
    assert!(!text.contains("the algorithm changed"), "{text}");
}

#[test]
fn operations_that_the_first_run_does_not_have_are_not_lost() {
    let with = |operations: &[&str], seed| {
        let steps = operations.iter().map(|name| {
            format!("  {{ operation = \"{name}\", work = [{{ exponential_ns = 1000 }}] }},\n")
        });
        let broadcast = "  { operation = \"MPI_Bcast\"";
        let steps = steps.collect::<String>() + broadcast;
        analysis(&scenario(20_000, 0).replace(broadcast, &steps), seed)
    };
    let (barrier, scan) = ("MPI_Barrier", "MPI_Scan");
    let exscan = "MPI_Exscan";
    let runs = [
        with(&[], 1),
        with(&[barrier, scan], 2),
        with(&[barrier, exscan], 3),
        with(&[exscan], 4),
    ];
    let comparison = Comparison::of_sides(&runs, 2);
    let found = sides(&comparison);
    let name = |row: usize| &*comparison.operations[row].operation;
    let of_barrier = found.operations.iter().find(|of| name(of.row) == barrier);
    let of_barrier = of_barrier.unwrap();
    let is_there = |times: &[Option<i64>]| times.iter().map(Option::is_some).collect::<Vec<_>>();
    assert_eq!(is_there(&of_barrier.baseline_ns), [false, true]);
    assert_eq!(is_there(&of_barrier.other_ns), [true, false]);
    let only_in: Vec<&str> = found.only_in.iter().map(|&row| name(row)).collect();
    assert_eq!(only_in, [scan, exscan]);
    let text = plain(&comparison);
    assert_has(&text, "only in A: MPI_Scan on MPI_COMM_WORLD");
    assert_has(&text, "only in B: MPI_Exscan on MPI_COMM_WORLD");
    assert_has(&text, "MPI_Barrier MPI_COMM_WORLD");
}

#[test]
fn the_screen_of_three_runs_against_three() {
    let latencies_ns = [20_000, 20_000, 20_000, 24_000, 24_000, 24_000];
    let comparison = Comparison::of_sides(&runs(&latencies_ns, 5), 3);
    let styled = comparison_to_text(&comparison, None);
    insta::assert_snapshot!(generated::plain(&styled));
}

fn analyze(directory: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_collbench-analyze"))
        .current_dir(directory)
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn the_command_compares_the_runs_before_with_with_those_behind_it() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (n, name) in (0..).zip(["a1", "a2", "a3", "b1", "b2", "b3"]) {
        let file = at.join("scenario.toml");
        fs::write(&file, scenario(20_000 + n / 3 * 10_000, of_run_ns(n))).unwrap();
        generate(&file, &at.join(name), Some(n), false).unwrap();
    }
    let all = ["a1", "a2", "a3", "--with", "b1", "b2", "b3"];
    let output = analyze(at, &all);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0));
    for part in ["A3    a3: 4 ranks", "B1    b1: 4 ranks", "3 runs against 3"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let page = fs::read_to_string(at.join("comparison/index.html")).unwrap();
    for part in [
        "means of runs of A",
        "B against A, 3 runs against 3",
        "slower by",
        "the run of each side with the median",
    ] {
        assert!(page.contains(part), "{part}");
    }
    // Pictures are of the run in the middle of each side.
    let shown = ["B1: b1", "B2: b2", "B3: b3"].map(|name| page.contains(name));
    assert_eq!(
        shown.iter().filter(|&&is_shown| is_shown).count(),
        1,
        "{shown:?}"
    );
    let json = fs::read_to_string(at.join("comparison/comparison.json")).unwrap();
    collbench_schemas::read(&json);
    let document: ComparisonDocument<'static> = serde_json::from_str(&json).unwrap();
    assert_eq!(to_json(&document), json);
    let found = document.sides.unwrap();
    assert_eq!(
        (&found.baseline[..], &found.other[..]),
        (&[0, 1, 2][..], &[3, 4, 5][..])
    );
    // Each trace is beside the first one in the document, as without sides.
    assert_eq!(document.runs.len(), 5);
    // One run of each side is a comparison of two traces.
    let two = analyze(at, &["--no-pictures", "a1", "b1"]).stdout;
    assert_eq!(
        analyze(at, &["--no-pictures", "a1", "--with", "b1"]).stdout,
        two
    );
    assert_eq!(analyze(at, &["--with", "b1"]).status.code(), Some(2));
    assert_eq!(
        analyze(at, &["a1", "--with", "b1", "--with", "b2"])
            .status
            .code(),
        Some(2)
    );
}
