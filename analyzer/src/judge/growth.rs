//! Growth over the run: lateness of one party that grows or shrinks steadily.
//!
//! The lateness of a party in a section of the run is the wait that its arrivals ended, per instance
//! and process that waits. Its slope over the sections must be beyond chance (see
//! [`Trend`](collbench_stats::trend)), its change at least a fifth of the largest lateness, and the
//! waits that the change made at least a hundredth of the time of all collectives. Lateness that
//! steps from one level to another at some time does not grow.

use collbench_stats::trend::Trend;

/// Largest probability of a false statement.
const MAX_P: f64 = 0.01;
/// Smallest share of the time of all collectives that is worth a statement.
const MIN_TIME_SHARE: f64 = 0.01;
/// Smallest part of the largest lateness that is a change worth a statement.
const MIN_CHANGE: f64 = 0.2;
/// Fewest sections.
const MIN_SECTIONS: usize = 8;

/// What a party cost in one section of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CostInSection {
    /// The middle of the section, ns since the start of the run.
    pub(crate) middle_ns: i64,
    /// Instances of which it is known who arrived last; at least one.
    pub(crate) resolved: u64,
    /// Waits that arrivals of the party ended in them, ns.
    pub(crate) caused_ns: i64,
}

/// How the lateness of a party grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Change of the lateness per instance in one second of the run, ns.
    pub(crate) slope_ns_per_s: i64,
    /// Lateness per instance at the begin of the run, ns.
    pub(crate) at_begin_ns: i64,
    /// At its end, ns.
    pub(crate) at_end_ns: i64,
}

/// The growth of the lateness of a party for which `n_waiting` processes wait in each instance;
/// `None` if it does not grow. One of `n_trials`, in a run that ends at `end_ns` and whose
/// collectives took `collectives_ns`.
pub(crate) fn growth(
    sections: &[CostInSection],
    n_waiting: usize,
    n_trials: usize,
    (end_ns, collectives_ns): (i64, i64),
) -> Option<Growth> {
    if sections.len() < MIN_SECTIONS {
        return None;
    }
    let n_waiting = n_waiting.max(1) as f64;
    let points: Vec<(f64, f64)> = sections
        .iter()
        .map(|section| {
            let per_instance = section.caused_ns as f64 / section.resolved as f64;
            (section.middle_ns as f64, per_instance / n_waiting)
        })
        .collect();
    let trend = Trend::through(&points)?;
    let (at_begin, at_end) = (trend.at(0.0).max(0.0), trend.at(end_ns as f64).max(0.0));
    let least = at_begin.min(at_end);
    let most = at_begin.max(at_end);
    let cost: f64 = sections
        .iter()
        .map(|section| {
            let more = trend.at(section.middle_ns as f64).max(least) - least;
            more * section.resolved as f64 * n_waiting
        })
        .sum();
    let is_growth = trend.is_steady
        && trend.p * n_trials as f64 <= MAX_P
        && most - least >= MIN_CHANGE * most
        && cost >= MIN_TIME_SHARE * collectives_ns as f64
        && cost > 0.0;
    is_growth.then(|| Growth {
        slope_ns_per_s: (trend.slope * 1e9).round() as i64,
        at_begin_ns: at_begin.round() as i64,
        at_end_ns: at_end.round() as i64,
    })
}

#[cfg(test)]
mod tests {
    use collbench_stats::random::Random;

    use super::*;

    const SECTIONS: i64 = 20;
    const SECTION_NS: i64 = 1_000_000_000;

    /// 100 instances in each section, in which a party is so late, more or less; seven wait for it.
    fn found(seed: u64, lateness_ns: impl Fn(i64) -> f64, n_trials: usize) -> Option<Growth> {
        let random = &mut Random::from_state(seed);
        let sections: Vec<CostInSection> = (0..SECTIONS)
            .map(|section| CostInSection {
                middle_ns: section * SECTION_NS + SECTION_NS / 2,
                resolved: 100,
                caused_ns: (700.0 * (lateness_ns(section) + 100.0 * random.unit())) as i64,
            })
            .collect();
        growth(&sections, 7, n_trials, (SECTIONS * SECTION_NS, 10_000_000))
    }

    #[test]
    fn lateness_that_grows_and_shrinks_is_told_with_its_slope() {
        for seed in 0..20 {
            let grows = found(seed, |section| 100.0 * section as f64, 10).unwrap();
            assert!((90..=110).contains(&grows.slope_ns_per_s), "{grows:?}");
            assert!(grows.at_begin_ns < 150, "{grows:?}");
            assert!((1_900..2_200).contains(&grows.at_end_ns), "{grows:?}");
            let shrinks = found(seed, |section| 5_000.0 - 100.0 * section as f64, 10).unwrap();
            assert!(
                (-110..=-90).contains(&shrinks.slope_ns_per_s),
                "{shrinks:?}"
            );
        }
    }

    #[test]
    fn steady_lateness_steps_and_trifles_do_not_grow() {
        for seed in 0..200 {
            assert_eq!(found(seed, |_| 2_000.0, 1), None, "seed {seed}");
            let step = |section| if section < 12 { 0.0 } else { 2_000.0 };
            assert_eq!(found(seed, step, 1), None, "seed {seed}");
            // A single section that an interruption made long.
            let one = |section| if section == 18 { 50_000.0 } else { 0.0 };
            assert_eq!(found(seed, one, 1), None, "seed {seed}");
            // A tenth of what it was, and a thousandth of the time of all collectives.
            let slow = |section| 20_000.0 + 100.0 * section as f64;
            assert_eq!(found(seed, slow, 1), None, "seed {seed}");
            assert_eq!(
                found(seed, |section| section as f64, 1),
                None,
                "seed {seed}"
            );
        }
    }
}
