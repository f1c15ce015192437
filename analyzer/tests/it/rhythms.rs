//! Rhythms of ranks that are late too often to be outliers, or seldom among many others, each over twenty seeds.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CausePlace, Course, Culprit, LateBy, PeriodBasis};

use crate::innocence::{named, only_these_are_named, ranks};
use crate::seeds::{SEEDS, analysis_of, each_seed};
use crate::verdicts::{disturbance, places};

/// Analyses a scenario in which nobody but this rank is late, for each seed.
fn each(scenario: &str, late: u32, mut check: impl FnMut(&Analysis)) {
    each_seed("rhythms", scenario, |analysis| {
        only_these_are_named(&ranks(&[late]), scenario, analysis);
        check(analysis);
    });
}

/// The course of the only rank that is named.
#[track_caller]
fn course(analysis: &Analysis, rank: u32) -> Course {
    let late = [(CausePlace::Rank(rank), Some(LateBy::Computing))];
    assert_eq!(places(analysis), late);
    let course = named(analysis)[0].course;
    course.unwrap_or_else(|| panic!("{:#?}", analysis.disturbances))
}

#[test]
fn a_rank_that_is_late_too_often_to_be_an_outlier_has_its_rhythm_in_steps() {
    for (scenario, every, n) in [
        ("every-third-step.toml", 3, 200),
        ("every-second-step.toml", 2, 2_000),
    ] {
        each(scenario, 1, |analysis| {
            let found = disturbance(analysis);
            assert_eq!(found.basis, Some(PeriodBasis::Steps), "{found:?}");
            assert_eq!(found.late, Some(Culprit::Rank(1)));
            let course = course(analysis, 1);
            assert_eq!(course.every, Some(every), "{course:?}");
            assert_eq!(course.calls_per_iteration, Some(1));
            // All are counted, or what all cost is estimated.
            let operation = &found.operations[0];
            assert_eq!(found.is_least, n > 256, "{found:?}");
            let caused_ns = match operation.wait_caused_estimate_ns {
                Some(estimate_ns) => estimate_ns,
                None => operation.wait_caused_ns,
            };
            assert_eq!(operation.wait_caused_estimate_ns.is_some(), found.is_least);
            let about_ns = n * 3 * 5_000_000;
            assert!((caused_ns - about_ns).abs() < about_ns / 5, "{found:?}");
        });
    }
}

#[test]
fn a_timer_that_stops_a_rank_at_every_third_step_or_so_is_one_in_time() {
    each("frequent-timer.toml", 2, |analysis| {
        let course = course(analysis, 2);
        let period_ns = course.period_ns.unwrap();
        assert!((period_ns - 400_000_000).abs() < 1_000_000, "{course:?}");
        assert_eq!(course.basis, Some(PeriodBasis::Time), "{course:?}");
        assert_eq!(course.every, None);
    });
}

#[test]
fn a_timer_of_a_dozen_stops_is_found_among_many_others() {
    each("exact-among-others.toml", 1, |analysis| {
        let course = course(analysis, 1);
        let period_ns = course.period_ns.unwrap();
        assert!((period_ns - 500_000_000).abs() < 2_000_000, "{course:?}");
        assert_eq!(course.basis, Some(PeriodBasis::Time), "{course:?}");
    });
}

#[test]
fn a_rank_that_is_stopped_three_times_among_many_small_delays_is_named() {
    each("few-large-among-many-small.toml", 2, |analysis| {
        let late = [(CausePlace::Rank(2), Some(LateBy::Computing))];
        assert_eq!(places(analysis), late);
    });
}

#[test]
fn five_stops_of_a_rank_are_enough_for_their_period() {
    each("five-beats.toml", 5, |analysis| {
        let course = course(analysis, 5);
        let period_ns = course.period_ns.unwrap();
        assert!((period_ns - 150_000_000).abs() < 2_000_000, "{course:?}");
    });
}

#[test]
fn nobody_is_named_and_no_period_told_where_all_are_late_by_lot() {
    for seed in 0..10 * SEEDS {
        let analysis = analysis_of("tests/scenarios/rhythms/many-small.toml", Some(seed));
        only_these_are_named(&[], &format!("seed {seed}"), &analysis);
        assert_eq!(analysis.disturbances, [], "seed {seed}");
    }
}

#[test]
fn a_rank_that_is_late_at_each_step_has_no_rhythm() {
    each("at-each-step.toml", 1, |analysis| {
        assert_eq!(analysis.disturbances, []);
        assert_eq!(places(analysis).len(), 1);
    });
}

#[test]
fn a_rank_that_is_often_late_by_lot_has_no_rhythm() {
    each("often-by-lot.toml", 1, |analysis| {
        assert_eq!(analysis.disturbances, []);
        assert_eq!(places(analysis).len(), 1);
        assert_eq!(named(analysis)[0].course, None);
    });
}
