//! Comparing spanning trees of our own stage by stage: what was reconfigured, and what changed though it was
//! not, against generated runs with known differences.

use std::fs;

use collbench_analyzer::Analysis;
use collbench_analyzer::compare::{
    Comparison, ComparisonVerdict, Configuration, StageDifferences, TreeDifferences,
};
use collbench_analyzer::results::StageKind;
use collbench_report::{ComparisonDocument, comparison_to_text, to_json};

use crate::built::assert_has;
use crate::generated;

/// Two ranks on each of three hosts that join at host a; each wrapper varies by itself.
const BEFORE: &str = r#"
schema = 1
name = "configurations"
truth = "counts"
[[hosts]]
name = "a"
ranks = 2
clock = "raw"
[[hosts]]
name = "b"
ranks = 2
clock = "raw"
[[hosts]]
name = "c"
ranks = 2
clock = "raw"
[exchanges]
n = 200
one_way_ns = 10000
[[trees]]
name = "trees.toml:1"
entry_ns = 150
exit_ns = 250
wrappers = [
  { name = "on b", kind = "gred", owner = 2, contributors = [2, 3], down_ns = 700, up_ns = 400, departure_ns = 3000, jitter = { exponential_ns = 400 } },
  { name = "from b", kind = "proxy", owner = 2, contributors = ["on b"], down_ns = 40000, up_ns = 44000, jitter = { exponential_ns = 900 } },
  { name = "on c", kind = "gred", owner = 4, contributors = [4, 5], down_ns = 900, up_ns = 500, departure_ns = 3500, jitter = { exponential_ns = 400 } },
  { name = "from c", kind = "proxy", owner = 4, contributors = ["on c"], down_ns = 52000, up_ns = 56000, jitter = { exponential_ns = 900 } },
  { name = "on a", kind = "gred", owner = 0, contributors = [0, 1, "from b", "from c"], down_ns = 1100, up_ns = 600, departure_ns = 2000, jitter = { exponential_ns = 300 } },
  { name = "result", kind = "core", owner = 0, contributors = ["on a"], down_ns = 130 },
]
[[program]]
repeat = 300
steps = [
  { operation = "MPI_Allreduce", bytes = 8, over = "trees.toml:1", work = [{ exponential_ns = 3000 }] },
]
"#;

/// The same with another owner of the gred at host c, and of its proxy with it.
fn moved(scenario: &str) -> String {
    let moved = scenario
        .replace("gred\", owner = 4", "gred\", owner = 5")
        .replace("proxy\", owner = 4", "proxy\", owner = 5");
    assert_ne!(moved, scenario);
    moved
}

/// The same with a gred at host b that takes 1 us more from one departure to the next.
fn slower_on_b(scenario: &str) -> String {
    let slower = scenario.replace("departure_ns = 3000", "departure_ns = 4000");
    assert_ne!(slower, scenario);
    slower
}

fn analysis(scenario: &str, seed: u64) -> Analysis {
    generated::analysis(scenario, Some(seed))
}

fn compared(one: &str, two: &str, seed: u64) -> (Comparison, [Analysis; 2]) {
    let analyses = [analysis(one, 2 * seed), analysis(two, 2 * seed + 1)];
    (Comparison::new(&analyses), analyses)
}

fn trees(comparison: &Comparison) -> &TreeDifferences {
    let differences = &comparison.operations[0].differences[0];
    assert_eq!(differences.trees.len(), 1);
    &differences.trees[0]
}

fn stage<'t>(
    trees: &'t TreeDifferences,
    kind: StageKind,
    direction: Option<&str>,
    owner: u32,
) -> &'t StageDifferences {
    let mut stages = trees.stages.iter();
    let is_it = |stage: &&StageDifferences| {
        let at = stage.wrappers.iter().filter_map(|&wrapper| {
            let wrapper = &trees.wrappers[wrapper as usize];
            wrapper.other.as_ref().or(wrapper.baseline.as_ref())
        });
        let mut owners = at.map(|at| at.owner);
        stage.kind == kind
            && stage.direction.as_deref() == direction
            && owners.any(|found| found == owner)
    };
    stages.find(is_it).expect("there is such a stage")
}

fn plain(comparison: &Comparison) -> String {
    generated::in_one_line(&comparison_to_text(comparison, None))
}

#[test]
fn two_runs_on_one_tree_are_not_reconfigured_and_no_stage_differs() {
    let mut n_told_apart = 0;
    for seed in 0..20 {
        let (comparison, _) = compared(BEFORE, BEFORE, seed);
        let trees = trees(&comparison);
        let mut wrappers = trees.wrappers.iter();
        assert!(wrappers.all(|of| of.configuration == Configuration::Same));
        let is_same = |stage: &StageDifferences| stage.configuration == Configuration::Same;
        assert!(trees.stages.iter().all(is_same));
        assert!(
            comparison.runs[0].stage_tests >= 15,
            "{:?}",
            comparison.runs[0]
        );
        let is_named = |verdict: Option<ComparisonVerdict>| {
            let named = [ComparisonVerdict::Slower, ComparisonVerdict::Faster];
            verdict.is_some_and(|verdict| named.contains(&verdict))
        };
        let mut verdicts = trees.stages.iter().map(StageDifferences::verdict);
        n_told_apart += u32::from(verdicts.any(is_named));
    }
    assert!(n_told_apart <= 2, "{n_told_apart} of 20");
}

#[test]
fn a_stage_that_got_slower_though_another_was_reconfigured_is_named_with_both() {
    let after = slower_on_b(&moved(BEFORE));
    let (mut n_holding, mut n_all) = (0, 0);
    for seed in 0..12 {
        let (comparison, analyses) = compared(BEFORE, &after, seed);
        let trees = trees(&comparison);
        let changed: Vec<(u32, &[_])> = (0u32..)
            .zip(&trees.wrappers)
            .filter(|(_, wrapper)| wrapper.configuration != Configuration::Same)
            .map(|(at, wrapper)| (at, &wrapper.changed[..]))
            .collect();
        assert_eq!(
            changed,
            [(2, &["owner".into()][..]), (3, &["owner".into()])]
        );
        // The departure of the second of two contributors.
        let slower = stage(trees, StageKind::DepartureWait, Some("up"), 2);
        assert_eq!(slower.configuration, Configuration::Same);
        assert_eq!(
            slower.verdict(),
            Some(ComparisonVerdict::Slower),
            "{slower:?}"
        );
        let difference = slower.difference.as_ref().unwrap();
        let (low, high) = difference.interval_ns.unwrap();
        assert!(low > 350 && high < 650, "{difference:?}");
        n_all += 1;
        n_holding += u32::from((low..=high).contains(&500));
        let found = trees.not_reconfigured(ComparisonVerdict::Slower);
        assert!(found.contains(&slower), "{found:?}");
        let path = trees.paths.iter().find(|path| path.rank == 3).unwrap();
        assert_eq!(path.difference.verdict, ComparisonVerdict::Slower);
        let moved = stage(trees, StageKind::DepartureWait, Some("up"), 5);
        assert_eq!(moved.configuration, Configuration::Reconfigured);

        let text = plain(&comparison);
        let first = "- reconfigured: gred 2 of rank 5 (c) (was at rank 4 (c)), proxy 3 from rank 5 \
                     (c) to rank 0 (a) (was at rank 4 (c)); got slower although not reconfigured: \
                     serialization at gred 0 of rank 2 (b), slower by ";
        assert_has(&text, first);
        let document = to_json(&ComparisonDocument::of(&comparison, &analyses));
        let document: serde_json::Value = collbench_schemas::read(document);
        let of_document = &document["operations"][0]["differences"][0]["trees"][0];
        assert_eq!(of_document["wrappers"][2]["configuration"], "reconfigured");
        assert_eq!(of_document["wrappers"][2]["baseline"]["owner"], 4);
        let read: TreeDifferences = serde_json::from_value(of_document.clone()).unwrap();
        assert_eq!(read.stages.len(), trees.stages.len());
        // The other way round the same is faster.
        let [one, two] = analyses;
        let back = Comparison::new(&[two, one]);
        let back = back.operations[0].differences[0].trees[0].clone();
        let faster = back.not_reconfigured(ComparisonVerdict::Faster);
        assert!(
            faster
                .iter()
                .any(|stage| stage.kind == StageKind::DepartureWait)
        );
        assert!(back.not_reconfigured(ComparisonVerdict::Slower).is_empty());
    }
    assert!(
        n_holding + 2 >= n_all,
        "{n_holding} of {n_all} hold the truth"
    );
}

#[test]
fn a_level_that_is_added_is_a_reconfiguration_and_the_other_host_is_not() {
    let after = BEFORE
        .replace(
            "  { name = \"on a\", kind = \"gred\", owner = 0, contributors = [0, 1,",
            "  { name = \"two\", kind = \"gred\", owner = 1, contributors = [0, 1], down_ns = 300, up_ns = 200 },\n  \
             { name = \"on a\", kind = \"gred\", owner = 0, contributors = [\"two\",",
        );
    assert_ne!(after, BEFORE);
    let (comparison, _) = compared(BEFORE, &after, 3);
    let trees = trees(&comparison);
    let of = |wanted: Configuration| {
        let wrappers = trees.wrappers.iter();
        let those = wrappers.filter(|wrapper| wrapper.configuration == wanted);
        let at = those.map(|wrapper| (wrapper.baseline.as_ref(), wrapper.other.as_ref()));
        at.map(|(one, two)| (one.map(|at| at.wrapper), two.map(|at| at.wrapper)))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(Configuration::Added), [(None, Some(4))]);
    assert_eq!(of(Configuration::Reconfigured), [(Some(4), Some(5))]);
    assert_eq!(of(Configuration::Removed), []);
    let added = stage(trees, StageKind::NodeUp, Some("up"), 1);
    assert_eq!(added.configuration, Configuration::Added);
    assert!(added.baseline.is_none() && added.difference.is_none());
    assert_eq!(added.other.as_ref().unwrap().mean_ns, 200);
    let on_b = stage(trees, StageKind::NodeUp, Some("up"), 2);
    assert_eq!(on_b.configuration, Configuration::Same);
    let text = plain(&comparison);
    let first = "- reconfigured: gred 5 of rank 0 (a) (other contributors), gred 4 of rank 1 (a) \
                 added; got slower";
    assert_has(&text, first);
}

#[test]
fn the_means_and_deviations_of_stages_are_those_that_were_generated() {
    let scenario = BEFORE.replace("repeat = 300", "repeat = 3000");
    let analysis = analysis(&scenario, 5);
    let trees = analysis.operations[0].trees.as_ref().unwrap();
    let own = trees[0].own.as_ref().unwrap();
    let of = |kind: StageKind, direction: &str, wrapper: u32| {
        let mut stages = own.stages.iter();
        let found = stages.find(|stage| {
            stage.kind == kind
                && stage.direction.as_deref() == Some(direction)
                && stage.wrappers == [wrapper]
        });
        found.expect("there is such a stage").time.clone()
    };
    // A constant and an exponential, whose deviation is its mean.
    for (kind, direction, wrapper, mean, sd, n) in [
        (StageKind::NodeUp, "up", 0, 800, 400, 3000),
        (StageKind::NodeDown, "down", 2, 1300, 400, 3000),
        (StageKind::Transfer, "up", 3, 56_900, 900, 3000),
        (StageKind::Transfer, "down", 1, 40_900, 900, 3000),
        (StageKind::NodeUp, "up", 4, 900, 300, 3000),
        (StageKind::Entry, "down", 4, 150, 0, 6000),
        (StageKind::Exit, "up", 0, 250, 0, 6000),
    ] {
        let found = of(kind, direction, wrapper);
        let what = format!("{kind:?} {direction} {wrapper}: {found:?}");
        assert_eq!(found.n, n, "{what}");
        assert!((found.mean_ns - mean).abs() <= sd / 15 + 3, "{what}");
        assert!((found.sd_ns.unwrap() - sd).abs() <= sd / 8 + 3, "{what}");
        let (low, high) = found.interval_ns.unwrap();
        assert!(
            low <= mean + sd / 20 + 3 && high >= mean - sd / 20 - 3,
            "{what}"
        );
        let crosses = kind == StageKind::Transfer;
        assert_eq!(found.uncertainty_ns.is_some(), crosses, "{what}");
    }
    // Half of the contributors depart first.
    let departures = of(StageKind::DepartureWait, "up", 0);
    assert!((departures.mean_ns - 1700).abs() < 60, "{departures:?}");
}

#[test]
fn pictures_show_the_path_and_the_serialization_of_both_trees() {
    let after = slower_on_b(&moved(BEFORE));
    let (comparison, analyses) = compared(BEFORE, &after, 1);
    let directory = tempfile::tempdir().unwrap();
    collbench_report::write_comparison(&comparison, &analyses, directory.path(), 5).unwrap();
    let read = |name: &str| fs::read_to_string(directory.path().join(name)).unwrap();
    let curves = read("subtree-serialization-1-MPI_Allreduce.svg");
    // The second rank departs 3 us after the first in A and 4 us in B, with a jitter of 400 ns, and
    // the first 400 ns and its jitter after the result.
    for letter in ["A", "B"] {
        assert_has(&curves, &format!("data-name=\"{letter}: "));
    }
    let subtrees = analyses.iter().map(|analysis| {
        let own = analysis.operations[0].trees.as_ref().unwrap()[0]
            .own
            .as_ref()
            .unwrap();
        let subtree = own.subtrees.iter().find(|of| of.host == "b").unwrap();
        let points = subtree.serialization.iter().map(|point| point.mean_ns);
        points.collect::<Vec<_>>()
    });
    let subtrees: Vec<Vec<i64>> = subtrees.collect();
    for (points, departure) in subtrees.iter().zip([3400, 4400]) {
        assert_eq!(points.len(), 2);
        assert!((points[0] - 800).abs() < 120, "{points:?}");
        assert!(
            (points[1] - points[0] - departure).abs() < 120,
            "{points:?}"
        );
    }
    let path = read("one-path-1-MPI_Allreduce.svg");
    assert_eq!(path.matches(" data-ns=").count(), 2, "{path}");
    assert_has(&path, "B: ");
    let page = read("index.html");
    assert_has(&page, "Stages of spanning trees");
    assert!(page.contains("got slower although not reconfigured: serialization at gred 0"));
    let alone = [analyses[0].clone(), analyses[0].clone()];
    collbench_report::write_comparison(&Comparison::new(&alone), &alone, directory.path(), 0)
        .unwrap();
    assert!(
        !directory
            .path()
            .join("one-path-1-MPI_Allreduce.svg")
            .exists()
    );
}

#[test]
fn stages_of_several_runs_of_each_side_are_compared_by_what_runs_differ() {
    let after = slower_on_b(&moved(BEFORE));
    let runs = [BEFORE, BEFORE, BEFORE, &after, &after, &after];
    let runs = runs.into_iter().zip(50..);
    let runs: Vec<Analysis> = runs
        .map(|(scenario, seed)| analysis(scenario, seed))
        .collect();
    let comparison = Comparison::of_sides(&runs, 3);
    let sides = comparison.sides.as_ref().unwrap();
    assert!(sides.stage_tests >= 15, "{}", sides.stage_tests);
    let found = &sides.operations[0].differences.trees;
    assert_eq!(found.len(), 1);
    let slower = stage(&found[0], StageKind::DepartureWait, Some("up"), 2);
    assert_eq!(slower.configuration, Configuration::Same);
    assert_eq!(
        slower.verdict(),
        Some(ComparisonVerdict::Slower),
        "{slower:?}"
    );
    // The means of three runs of 300 instances each.
    let in_a = slower.baseline.as_ref().unwrap();
    let first = trees(&Comparison::new(&runs[..2])).clone();
    let first = stage(&first, StageKind::DepartureWait, Some("up"), 2);
    assert_eq!(in_a.n, 3 * first.baseline.as_ref().unwrap().n);
    let by_ns = slower.difference.as_ref().unwrap().difference_ns;
    assert!((350..650).contains(&by_ns), "{by_ns}");
    let text = plain(&comparison);
    let told =
        "got slower although not reconfigured: serialization at gred 0 of rank 2 (b), slower by ";
    assert_has(&text, told);
    assert_has(&text, "B vs A (95 % interval)");
    // Runs on one tree do not differ.
    let same = Comparison::of_sides(&[&runs[..3], &runs[..2]].concat(), 3);
    let trees = &same.sides.unwrap().operations[0].differences.trees;
    let named = trees[0].stages.iter().filter(|stage| {
        let named = [ComparisonVerdict::Slower, ComparisonVerdict::Faster];
        stage
            .verdict()
            .is_some_and(|verdict| named.contains(&verdict))
    });
    assert_eq!(named.count(), 0);
}
