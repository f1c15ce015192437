//! Splits values into two classes where they clearly are two: usual ones, and large ones that are too
//! many to be outliers.

/// Least part of the values in each class: one in so many.
const LEAST: usize = 8;
/// Fewest values.
const MIN_VALUES: usize = 16;
/// The large ones begin above the upper quartile of the usual ones by at least so many times the distance of their
/// quartiles.
const QUARTILE_DISTANCES: i64 = 3;

/// The largest usual value, where the values are two classes; `values` in any order.
///
/// The split is where the variance between the classes is largest (Otsu 1979), of values that are cut off above the
/// seventh eighth, so that a few outliers are no class.
#[must_use]
pub fn largest_usual(values: &[i64]) -> Option<i64> {
    let n = values.len();
    if n < MIN_VALUES {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let most = sorted[n - 1 - n / LEAST];
    let least = sorted[0];
    let at = |index: usize| sorted[index].min(most).saturating_sub(least) as f64;
    let all: f64 = (0..n).map(at).sum();
    let mut below = 0.0;
    let mut best: Option<(f64, usize)> = None;
    for n_below in 1..n {
        below += at(n_below - 1);
        let is_class = n_below >= n / LEAST && n - n_below >= n / LEAST;
        if !is_class || sorted[n_below] == sorted[n_below - 1] {
            continue;
        }
        let (of_below, of_above) = (n_below as f64, (n - n_below) as f64);
        let distance = (all - below) / of_above - below / of_below;
        let between = of_below * of_above * distance * distance;
        if best.is_none_or(|(most, _)| between > most) {
            best = Some((between, n_below));
        }
    }
    let (_, n_below) = best?;
    let usual = &sorted[..n_below];
    let quartile = |quarters: usize| usual[(n_below - 1) * quarters / 4];
    let distance = quartile(3).saturating_sub(quartile(1));
    let least_large = quartile(3).saturating_add(distance.saturating_mul(QUARTILE_DISTANCES));
    (sorted[n_below] > least_large).then(|| usual[n_below - 1])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn two_classes_are_told_whatever_their_sizes() {
        for seed in 0..50 {
            let random = &mut Random::from_state(seed);
            for part in [0.2, 0.33, 0.5, 0.8] {
                let values = (0..256).map(|_| {
                    let usual = 100_000.0 * random.unit();
                    let large = if random.unit() < part {
                        3_000_000.0
                    } else {
                        0.0
                    };
                    // Now and then far longer than all.
                    let stop = if random.unit() < 0.02 {
                        80_000_000.0
                    } else {
                        0.0
                    };
                    (usual + large + stop) as i64
                });
                let values: Vec<i64> = values.collect();
                let found = largest_usual(&values).expect("two classes");
                assert!(
                    (1..3_000_000).contains(&found),
                    "seed {seed}, {part}: {found}"
                );
            }
        }
    }

    #[test]
    fn values_of_one_class_are_not_split() {
        for seed in 0..200 {
            let random = &mut Random::from_state(seed);
            let mut exponential = || -random.unit().max(1e-9).ln() * 1e6;
            let values: Vec<i64> = (0..256).map(|_| exponential() as i64).collect();
            assert_eq!(largest_usual(&values), None, "seed {seed}");
            let uniform: Vec<i64> = (0..256).map(|_| (random.unit() * 1e6) as i64).collect();
            assert_eq!(largest_usual(&uniform), None, "seed {seed}");
        }
        assert_eq!(largest_usual(&[7; 100]), None);
        assert_eq!(largest_usual(&[]), None);
        // Three outliers of 64.
        let mut few = vec![10; 61];
        few.extend([900; 3]);
        assert_eq!(largest_usual(&few), None);
    }
}
