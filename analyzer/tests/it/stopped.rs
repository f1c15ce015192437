//! Ranks that are stopped, or have more to do, only now and then, while others wait for their messages; each scenario over
//! twenty seeds.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CauseKind, CausePlace, CostOf, CourseKind, Culprit, LateBy};

use crate::innocence::{only_these_are_named, ranks};
use crate::seeds::each_seed;

/// Analyses a scenario in which only these ranks are late.
fn each(scenario: &str, guilty: &[u32], mut check: impl FnMut(&Analysis)) {
    each_seed("verdicts", scenario, |analysis| {
        only_these_are_named(&ranks(guilty), scenario, analysis);
        check(analysis);
    });
}

#[test]
fn a_rank_that_is_stopped_in_its_work_and_in_its_messages_is_named_for_its_work() {
    each("stopped-in-a-halo.toml", &[2], |analysis| {
        let first = &analysis.causes[0];
        let found = (first.place.clone(), first.by, first.partner);
        let expected = (Some(CausePlace::Rank(2)), Some(LateBy::Computing), None);
        assert_eq!(found, expected, "{:#?}", analysis.causes);
        // It is stopped in its work for 2000 * 0.02 * 4 ms of the run, and in its messages for 200 ms.
        assert!(first.run_shorter_ns > Some(200_000_000));
    });
}

#[test]
fn where_all_are_interrupted_and_wait_for_messages_those_with_somewhat_more_are_innocent() {
    each("interrupted-in-a-halo.toml", &[], |analysis| {
        let first = &analysis.causes[0];
        let what = (first.kind, first.by);
        let expected = (CauseKind::Imbalance, Some(LateBy::PointToPoint));
        assert_eq!(what, expected, "{:#?}", analysis.causes);
    });
}

#[test]
fn a_rank_that_is_stopped_seldom_is_waited_for_in_messages() {
    each("seldom-stopped-in-a-halo.toml", &[2], |analysis| {
        let causes = analysis.causes.iter();
        let mut in_messages = causes.filter(|cause| cause.of == CostOf::PointToPoint);
        let place = in_messages.next().and_then(|cause| cause.place.clone());
        assert_eq!(place, Some(CausePlace::Rank(2)));
    });
}

#[test]
fn ranks_that_stop_together_are_named_together_with_the_period() {
    each("two-stop-together.toml", &[], |analysis| {
        let first = &analysis.causes[0];
        let found = (first.kind, first.by, &first.ranks[..]);
        let expected = (CauseKind::Imbalance, Some(LateBy::Computing), &[4, 5][..]);
        assert_eq!(found, expected, "{:#?}", analysis.causes);
        let course = first.course.as_ref().expect("a course");
        assert_eq!(course.kind, CourseKind::Period);
        let period_ns = course.period_ns.expect("a period");
        assert!((period_ns - 100_000_000).abs() < 1_000_000, "{period_ns}");
        // Of some 17 periods each is shorter by at most 8 ms without.
        let shorter_ns = first.run_shorter_ns.expect("a bound");
        let run_ns = analysis.trace.duration_ns;
        let least_ns = run_ns / 100_000_000 * 6_000_000;
        assert!(
            (least_ns..run_ns / 10).contains(&shorter_ns),
            "{shorter_ns}"
        );
        let late = analysis.disturbances[0].late.clone();
        assert_eq!(late, Some(Culprit::Ranks(vec![4, 5])));
    });
}

#[test]
fn who_waits_for_the_message_of_one_that_is_late_now_and_then_is_innocent() {
    each("one-stops-and-another-waits.toml", &[4], |analysis| {
        let first = &analysis.causes[0];
        let found = (first.place.clone(), first.course.map(|course| course.kind));
        let expected = (Some(CausePlace::Rank(4)), Some(CourseKind::Period));
        assert_eq!(found, expected, "{:#?}", analysis.causes);
        let late = analysis.disturbances[0].late.clone();
        assert_eq!(late, Some(Culprit::Rank(4)));
    });
}
