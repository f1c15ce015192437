//! Estimates from samples of a trace, which outliers do not move.

use collbench_stats::random::Random;

use super::super::model::Estimate;

/// With fewer samples nothing is estimated.
pub(super) const LEAST: usize = 30;
/// Most samples that are used, at equal distances in their order.
const MOST: usize = 2_000;
/// Most points of a slope: each pair of them is used.
const MOST_POINTS: usize = 200;
/// Resamples of a bootstrap, of which 2.5 % are below and above the interval.
const RESAMPLES: usize = 200;

/// The quantile `share` of samples, with its error; `None` for fewer than 30.
pub(super) fn quantile(samples: &[f64], share: f64) -> Option<Estimate> {
    bootstrap(&thinned(samples, MOST), |values| {
        values.sort_by(f64::total_cmp);
        Some(values[(share * (values.len() - 1) as f64).round() as usize])
    })
}

/// The slope of Theil and Sen through points: the median of the slopes between all pairs; `None`
/// for fewer than 30 points, or if all x are equal.
pub(super) fn slope(points: &[(u64, f64)]) -> Option<Estimate> {
    bootstrap(&thinned(points, MOST_POINTS), |points| {
        let mut slopes = Vec::new();
        for (i, a) in points.iter().enumerate() {
            let others = points[..i].iter().filter(|b| b.0 != a.0);
            slopes.extend(others.map(|b| (a.1 - b.1) / (a.0 as f64 - b.0 as f64)));
        }
        slopes.sort_by(f64::total_cmp);
        slopes.get(slopes.len() / 2).copied()
    })
}

fn thinned<T: Copy>(samples: &[T], most: usize) -> Vec<T> {
    let n = samples.len();
    let used = n.min(most);
    (0..used).map(|i| samples[i * n / used]).collect()
}

/// A statistic of samples, with half the width of its 95 % interval, by the percentile bootstrap.
fn bootstrap<T: Copy>(
    samples: &[T],
    statistic: impl Fn(&mut [T]) -> Option<f64>,
) -> Option<Estimate> {
    if samples.len() < LEAST {
        return None;
    }
    let ns = statistic(&mut samples.to_vec())?;
    let mut random = Random::from_state(samples.len() as u64);
    let mut drawn: Vec<f64> = (0..RESAMPLES)
        .filter_map(|_| {
            let again = samples.iter().map(|_| samples[random.below(samples.len())]);
            statistic(&mut again.collect::<Vec<T>>())
        })
        .collect();
    drawn.sort_by(f64::total_cmp);
    let outside = drawn.len() / 40;
    let (low, high) = (drawn.get(outside)?, drawn.get(drawn.len() - 1 - outside)?);
    Some(Estimate {
        ns,
        error_ns: (high - low) / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_have_intervals_that_mostly_contain_the_truth() {
        let mut random = Random::from_state(4);
        let truth = 1_000.0 * f64::ln(2.0);
        let contains = (0..100).filter(|_| {
            let samples: Vec<f64> = (0..300).map(|_| random.exponential_real(1_000.0)).collect();
            let median = quantile(&samples, 0.5).unwrap();
            (median.ns - truth).abs() <= median.error_ns
        });
        assert!((85..=100).contains(&contains.count()));
        assert_eq!(quantile(&[1.0; 29], 0.5), None);
        assert_eq!(quantile(&[7.0; 30], 0.5).unwrap().error_ns, 0.0);
    }

    #[test]
    fn a_slope_is_not_moved_by_outliers() {
        let point = |i: u64| {
            let late = if i % 10 == 3 { 1e6 } else { 0.0 };
            (8 << (i % 5), 500.0 + 2.0 * (8 << (i % 5)) as f64 + late)
        };
        let points: Vec<(u64, f64)> = (0..150).map(point).collect();
        let found = slope(&points).unwrap();
        assert!((found.ns - 2.0).abs() < 0.05, "{found:?}");
        assert_eq!(slope(&[(8, 1.0); 40]), None);
    }
}
