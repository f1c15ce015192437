//! Whom the causes name: only those that a scenario makes late, over twenty seeds; and what all causes cost: what
//! all waits take.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CauseKind, CausePlace, CostOf, FoundCause};

use crate::seeds::{SEEDS, analysis_of};

/// The ranks and hosts that are named as late.
pub(crate) fn named(analysis: &Analysis) -> Vec<&FoundCause> {
    let late = [CauseKind::LateRank, CauseKind::LateHost];
    let causes = analysis.causes.iter();
    let named = causes.filter(|cause| cause.matters && late.contains(&cause.kind));
    let parties = named.filter(|cause| !matches!(cause.place, Some(CausePlace::Communicator(_))));
    parties.collect()
}

/// Nobody else is named, and no cost is below 0 or above all waits, to which those of waiting add up.
#[track_caller]
pub(crate) fn only_these_are_named(guilty: &[CausePlace], of: &str, analysis: &Analysis) {
    for cause in named(analysis) {
        let is_guilty = cause
            .place
            .as_ref()
            .is_some_and(|place| guilty.contains(place));
        assert!(is_guilty, "{of}: {cause:#?}");
    }
    let waits: i64 = analysis.ranks.iter().filter_map(|rank| rank.wait_ns).sum();
    let waiting = analysis.causes.iter();
    let waiting = waiting.filter(|cause| cause.of == CostOf::Waiting);
    let mut costs = 0;
    for cause in waiting {
        assert_eq!(
            cause.direct_ns + cause.propagated_ns,
            cause.cost_ns,
            "{of}: {cause:#?}"
        );
        let are_costs = cause.direct_ns >= 0 && cause.propagated_ns >= 0;
        assert!(are_costs && cause.cost_ns <= waits, "{of}: {cause:#?}");
        costs += cause.cost_ns;
    }
    assert_eq!(costs, waits, "{of}");
}

pub(crate) fn ranks(ranks: &[u32]) -> Vec<CausePlace> {
    ranks.iter().map(|&rank| CausePlace::Rank(rank)).collect()
}

#[test]
fn in_programs_of_many_kinds_of_calls_only_those_are_named_that_do_more() {
    for (scenario, mut guilty) in [
        ("everything.toml", Vec::new()),
        ("besides.toml", ranks(&[0, 2, 3, 4])),
        ("hosts.toml", Vec::new()),
        ("inside.toml", ranks(&[4])),
        ("inside_nonblocking.toml", ranks(&[0, 5])),
        ("inside_one_host.toml", ranks(&[2, 3, 5, 6])),
        ("nonblocking.toml", Vec::new()),
    ] {
        if scenario == "hosts.toml" {
            guilty.push(CausePlace::Host("b".to_owned()));
        }
        for seed in 0..5 {
            let analysis = analysis_of(&format!("tests/scenarios/{scenario}"), Some(seed));
            let of = format!("{scenario}, seed {seed}");
            only_these_are_named(&guilty, &of, &analysis);
        }
    }
}

#[test]
fn in_the_traces_of_the_page_only_those_are_named_that_do_more() {
    for (scenario, guilty, n_seeds) in [
        ("four.toml", ranks(&[2]), SEEDS),
        ("hostile.toml", ranks(&[2]), SEEDS),
        ("sixty-four.toml", ranks(&[37]), SEEDS),
        ("thousand.toml", ranks(&[777]), SEEDS / 5),
        // Only a link between two hosts is slow.
        ("inside.toml", Vec::new(), SEEDS),
    ] {
        for seed in 0..n_seeds {
            let path = format!("../tests/browser/scenarios/{scenario}");
            let analysis = analysis_of(&path, Some(seed));
            let of = format!("{scenario}, seed {seed}");
            only_these_are_named(&guilty, &of, &analysis);
            let places = named(&analysis).into_iter().map(|cause| &cause.place);
            let places: Vec<_> = places.flatten().collect();
            assert!(guilty.iter().all(|place| places.contains(&place)), "{of}");
            if guilty.is_empty() {
                let first = analysis.causes.first().map(|cause| cause.kind);
                assert_eq!(first, Some(CauseKind::SlowLink), "{of}");
            }
        }
    }
}

#[test]
fn few_instances_are_enough_for_a_rank_that_is_clearly_late_and_for_nobody_else() {
    let late = ranks(&[2]);
    for seed in 0..SEEDS {
        let analysis = analysis_of("tests/scenarios/verdicts/few-late.toml", Some(seed));
        only_these_are_named(&late, &format!("late, seed {seed}"), &analysis);
        let first = analysis.causes.first().map(|cause| &cause.place);
        assert_eq!(first, Some(&Some(CausePlace::Rank(2))), "seed {seed}");
    }
    for seed in 0..10 * SEEDS {
        let analysis = analysis_of("tests/scenarios/verdicts/few-nobody.toml", Some(seed));
        let one_event = |cause: &&&FoundCause| {
            cause
                .largest
                .is_some_and(|(ns, _)| 2 * ns >= cause.direct_ns)
        };
        let named = named(&analysis);
        let by_rule: Vec<_> = named.iter().filter(|cause| !one_event(cause)).collect();
        assert!(by_rule.is_empty(), "nobody, seed {seed}: {by_rule:#?}");
    }
}
