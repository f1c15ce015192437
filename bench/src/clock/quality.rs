//! Cost and quality of the stop rule, on the measured round trips.
//!
//! # Source
//! Hoefler et al. 2007, section 3.1 and figure 6: draws from measured round trips until the
//! smallest has not improved N times in a row; the cost is the number of draws, the quality the
//! excess of that smallest one over the smallest of all.

use collbench_instrument::exchange::{StopMonitor, StopRule};
use collbench_stats::random::Random;
use serde::Serialize;

/// Values of N that are tried.
const PATIENCES: [u32; 10] = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];
/// Simulated runs of the rule per N and pair.
const RUNS: u64 = 200;

/// Result for one N.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Quality {
    /// N.
    pub(super) unimproved: u32,
    /// Runs over all pairs.
    pub(super) runs: u64,
    /// Mean number of exchanges.
    pub(super) exchanges: f64,
    /// Mean excess of the smallest round trip over the smallest of its pair, percent.
    pub(super) above_least_percent: f64,
}

/// Results for each N, over the round trips of all pairs, ns. Empty without any.
pub(super) fn of_stop_rule(pairs: &[Vec<u64>]) -> Vec<Quality> {
    let pairs: Vec<(&[u64], u64)> = pairs
        .iter()
        .filter_map(|rtts| Some((&rtts[..], *rtts.iter().min()?)))
        .filter(|(_, least)| *least > 0)
        .collect();
    if pairs.is_empty() {
        return Vec::new();
    }
    let quality = |unimproved: u32| {
        let rule = StopRule {
            unimproved,
            most: u32::MAX,
            longest_ns: u64::MAX,
        };
        let (mut exchanges, mut above) = (0.0, 0.0);
        for (pair, (rtts, least)) in pairs.iter().enumerate() {
            for run in 0..RUNS {
                let mut random = Random::from_state(run << 32 | pair as u64);
                let mut monitor = StopMonitor::new(rule);
                while monitor.continues(rtts[random.below(rtts.len())], 0) {}
                let best = monitor.best_ns().unwrap_or(*least);
                exchanges += f64::from(monitor.n());
                above += 100.0 * (best - least) as f64 / *least as f64;
            }
        }
        let runs = RUNS * pairs.len() as u64;
        Quality {
            unimproved,
            runs,
            exchanges: exchanges / runs as f64,
            above_least_percent: above / runs as f64,
        }
    };
    PATIENCES.into_iter().map(quality).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_patience_costs_more_and_finds_smaller_round_trips() {
        let mut random = Random::from_state(5);
        let rtts: Vec<u64> = (0..5_000)
            .map(|_| 40_000 + random.exponential_real(6_000.0) as u64)
            .collect();
        let all = of_stop_rule(&[rtts]);
        for pair in all.windows(2) {
            assert!(pair[0].exchanges < pair[1].exchanges);
            assert!(pair[0].above_least_percent >= pair[1].above_least_percent);
        }
        // About 180 in the paper, and well within its 10 %.
        let hundred = all.iter().find(|q| q.unimproved == 100).unwrap();
        assert!((150.0..220.0).contains(&hundred.exchanges), "{hundred:?}");
        assert!(hundred.above_least_percent < 5.0, "{hundred:?}");
    }

    #[test]
    fn with_one_value_the_rule_stops_as_soon_as_it_may() {
        let all = of_stop_rule(&[vec![7; 10]]);
        assert_eq!(all[0].exchanges, 2.0);
        assert_eq!(all[6].exchanges, 101.0);
        assert_eq!(all[6].above_least_percent, 0.0);
        assert_eq!(of_stop_rule(&[vec![]]), []);
    }
}
