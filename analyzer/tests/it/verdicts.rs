//! Verdicts on scenarios whose truth is known, each over twenty seeds: who, what, since when; and
//! silence where there is nothing to say.

use std::path::{Path, PathBuf};

use collbench_analyzer::results::{ChangeKind, Culprit, ImbalanceSummary};
use collbench_analyzer::{Analysis, Options, RunFiles, analyze};

const SEEDS: u64 = 20;

/// Analyses a scenario for each seed.
fn each(scenario: &str, mut check: impl FnMut(u64, &Analysis)) {
    let file: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/scenarios/verdicts")
        .join(scenario);
    for seed in 0..SEEDS {
        let directory = tempfile::tempdir().unwrap();
        collbench_generate::generate(&file, directory.path(), Some(seed), false).unwrap();
        let files = RunFiles::open(directory.path()).unwrap();
        let analysis = analyze(&files, &Options::default(), &mut |_| {});
        check(seed, &analysis.unwrap());
    }
}

#[track_caller]
fn verdict<'a>(analysis: &'a Analysis, operation: &str) -> &'a ImbalanceSummary {
    let mut verdicts = analysis.imbalance.iter();
    verdicts
        .find(|v| v.operation == operation)
        .expect(operation)
}

fn culprits(analysis: &Analysis) -> Vec<&Culprit> {
    let verdicts = analysis.imbalance.iter();
    verdicts.filter_map(|v| v.culprit.as_ref()).collect()
}

fn late(verdict: &ImbalanceSummary) -> Vec<Option<&Culprit>> {
    let change = verdict.change.as_ref();
    let phases = change.map_or(&[][..], |change| &change.phases);
    phases.iter().map(|phase| phase.late.as_ref()).collect()
}

#[track_caller]
fn nothing_is_said(seed: u64, analysis: &Analysis) {
    assert_eq!(culprits(analysis), [] as [&Culprit; 0], "seed {seed}");
    for verdict in &analysis.imbalance {
        assert_eq!(verdict.change, None, "seed {seed}");
    }
    assert_eq!(analysis.disturbances, [], "seed {seed}");
}

#[test]
fn one_late_rank_is_named_and_nothing_else() {
    each("late-rank.toml", |seed, analysis| {
        assert_eq!(culprits(analysis), [&Culprit::Rank(5)], "seed {seed}");
        let verdict = verdict(analysis, "MPI_Allreduce");
        assert_eq!(verdict.culprit, Some(Culprit::Rank(5)));
        assert_eq!(verdict.change, None, "seed {seed}");
        assert_eq!(analysis.disturbances, [], "seed {seed}");
        let class = analysis
            .classes
            .iter()
            .find(|class| class.ranks.contains(&5));
        assert_eq!(class.unwrap().ranks, [5], "seed {seed}");
    });
}

#[test]
fn lateness_that_moves_is_told_with_its_stations() {
    each("moving.toml", |seed, analysis| {
        let verdict = verdict(analysis, "MPI_Barrier");
        let change = verdict.change.as_ref().expect("a change");
        assert_eq!(change.kind, ChangeKind::Moves, "seed {seed}");
        let ranks = [0, 1, 2, 3].map(Culprit::Rank);
        let expected: Vec<Option<&Culprit>> = ranks.iter().map(Some).collect();
        assert_eq!(late(verdict), expected, "seed {seed}");
        // Every quarter of the run another one.
        let end = analysis.trace.duration_ns as f64;
        for (quarter, phase) in (1u32..).zip(&change.phases[1..]) {
            let found = phase.from_ns as f64 / end;
            assert!(
                (found - f64::from(quarter) / 4.0).abs() < 0.06,
                "seed {seed}: {found}"
            );
        }
        assert_eq!(culprits(analysis), [] as [&Culprit; 0], "seed {seed}");
        assert_eq!(analysis.disturbances, [], "seed {seed}");
    });
}

#[test]
fn lateness_that_starts_in_the_middle_is_told_with_its_begin() {
    each("starts.toml", |seed, analysis| {
        let verdict = verdict(analysis, "MPI_Allreduce");
        let change = verdict.change.as_ref().expect("a change");
        assert_eq!(change.kind, ChangeKind::Starts, "seed {seed}");
        assert_eq!(
            late(verdict),
            [None, Some(&Culprit::Rank(3))],
            "seed {seed}"
        );
        // 400 calls without, 400 that take a little longer.
        let found = change.phases[1].from_ns as f64 / analysis.trace.duration_ns as f64;
        assert!((found - 0.46).abs() < 0.06, "seed {seed}: {found}");
        assert_eq!(culprits(analysis), [&Culprit::Rank(3)], "seed {seed}");
        assert_eq!(analysis.disturbances, [], "seed {seed}");
    });
}

#[test]
fn noise_on_one_rank_is_named_with_its_period() {
    each("noise-on-one.toml", |seed, analysis| {
        let [found] = &analysis.disturbances[..] else {
            panic!("seed {seed}: {:?}", analysis.disturbances);
        };
        assert!(
            (found.period_ns - 50_000_000).abs() < 100_000,
            "seed {seed}: {found:?}"
        );
        assert_eq!(found.late, Some(Culprit::Rank(2)), "seed {seed}");
        assert!(
            (2_400_000..3_100_000).contains(&found.excess_ns),
            "seed {seed}: {found:?}"
        );
        let n = analysis.trace.duration_ns / 50_000_000;
        assert!(
            (found.n as i64 - n).abs() <= n / 4,
            "seed {seed}: {n} {found:?}"
        );
        // All others wait: three of them, or in a bcast nobody.
        assert!(
            found.wait_caused_ns > n / 2 * 2 * 2_400_000,
            "seed {seed}: {found:?}"
        );
        for verdict in &analysis.imbalance {
            assert_eq!(verdict.change, None, "seed {seed}");
        }
    });
}

#[test]
fn noise_on_one_rank_after_the_other_is_named_without_one() {
    each("noise-on-all.toml", |seed, analysis| {
        let [found] = &analysis.disturbances[..] else {
            panic!("seed {seed}: {:?}", analysis.disturbances);
        };
        assert!(
            (found.period_ns - 40_000_000).abs() < 100_000,
            "seed {seed}: {found:?}"
        );
        assert_eq!(found.late, None, "seed {seed}");
        assert!(
            (1_700_000..2_100_000).contains(&found.excess_ns),
            "seed {seed}: {found:?}"
        );
        assert_eq!(culprits(analysis), [] as [&Culprit; 0], "seed {seed}");
    });
}

#[test]
fn where_nobody_is_late_nothing_is_said() {
    each("nobody.toml", |seed, analysis| {
        nothing_is_said(seed, analysis);
        assert_eq!(analysis.classes.len(), 1, "seed {seed}");
    });
}

#[test]
fn a_clock_that_steps_further_than_the_gaps_accuses_nobody() {
    each("coarse-clock.toml", |seed, analysis| {
        nothing_is_said(seed, analysis);
        let verdict = verdict(analysis, "MPI_Allreduce");
        assert_eq!(
            (verdict.resolved, verdict.instances),
            (0, 500),
            "seed {seed}"
        );
    });
}

#[test]
fn ties_are_not_resolved_and_accuse_nobody() {
    each("ties.toml", |seed, analysis| {
        nothing_is_said(seed, analysis);
        let verdict = verdict(analysis, "MPI_Barrier");
        assert!(
            verdict.resolved > 0 && verdict.resolved < 400,
            "seed {seed}"
        );
    });
}

#[test]
fn one_late_host_is_named_and_none_of_its_ranks() {
    each("late-host.toml", |seed, analysis| {
        let node2 = Culprit::Host("node2".to_owned());
        assert_eq!(culprits(analysis), [&node2], "seed {seed}");
        let verdict = verdict(analysis, "MPI_Allreduce");
        assert_eq!(verdict.change, None, "seed {seed}");
        assert!(verdict.resolved > 250, "seed {seed}: {}", verdict.resolved);
        assert_eq!(analysis.disturbances, [], "seed {seed}");
    });
}

#[test]
fn a_clock_error_larger_than_the_gaps_accuses_nobody() {
    each("clock-error.toml", |seed, analysis| {
        nothing_is_said(seed, analysis);
        let hosts = analysis.clock.hosts.iter();
        let worst = hosts.filter_map(|host| host.uncertainty_ns).max();
        assert!(worst > Some(300_000), "seed {seed}: {worst:?}");
        let verdict = verdict(analysis, "MPI_Allreduce");
        assert_eq!(verdict.resolved, 0, "seed {seed}");
    });
}

#[test]
fn stops_by_lot_that_make_many_calls_late_at_once_are_no_rhythm() {
    // A claim has a chance of a thousandth, so of twenty runs hardly ever one is wrong; here it is none.
    each("stops-without-rhythm.toml", |seed, analysis| {
        assert_eq!(analysis.disturbances, [], "seed {seed}");
    });
}
