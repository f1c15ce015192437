//! Probabilities of counts under the null hypothesis that all are alike.

/// P(X >= `k`) of a binomial distribution of `n` trials with probability `p` each, 0 < p < 1.
///
/// Exact up to floating point: sums the terms of the tail, from the largest down. Gives 1 for `k`
/// at or below the mean, where the tail is no evidence.
pub fn binomial_tail(n: u64, k: u64, p: f64) -> f64 {
    if n == 0 || k as f64 <= n as f64 * p {
        return 1.0;
    }
    let (n_real, k_real) = (n as f64, k as f64);
    let ln_choose =
        ln_gamma(n_real + 1.0) - ln_gamma(k_real + 1.0) - ln_gamma(n_real - k_real + 1.0);
    let mut term = (ln_choose + k_real * p.ln() + (n_real - k_real) * (-p).ln_1p()).exp();
    let mut tail = 0.0;
    for j in k..=n {
        tail += term;
        if term <= tail * 1e-17 {
            break;
        }
        term *= (n - j) as f64 / (j + 1) as f64 * p / (1.0 - p);
    }
    tail.min(1.0)
}

/// ln of the gamma function for x > 0, by Stirling's series.
pub fn ln_gamma(x: f64) -> f64 {
    // The series is accurate from 10 on; below, the recurrence leads there.
    let mut x = x;
    let mut product = 1.0;
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let inverse = 1.0 / x;
    let square = inverse * inverse;
    let series =
        inverse * (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0)));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - f64::ln(product)
}

/// Fisher's exact test, two-sided (twice the smaller tail): the probability that two samples of `n`
/// and `other_n` trials with the same unknown probability differ in their shares of successes at
/// least as much as `k` of `n` and `other_k` of `other_n` do.
pub fn fisher_exact_p(k: u64, n: u64, other_k: u64, other_n: u64) -> f64 {
    if n == 0 || other_n == 0 {
        return 1.0;
    }
    // The tail of the sample with the larger share of successes.
    let is_more = u128::from(k) * u128::from(other_n) >= u128::from(other_k) * u128::from(n);
    let (k, n, other_k, other_n) = if is_more {
        (k, n, other_k, other_n)
    } else {
        (other_k, other_n, k, n)
    };
    let successes = k + other_k;
    let ln_choose = |n: u64, k: u64| {
        let (n, k) = (n as f64, k as f64);
        ln_gamma(n + 1.0) - ln_gamma(k + 1.0) - ln_gamma(n - k + 1.0)
    };
    let mut term =
        (ln_choose(n, k) + ln_choose(other_n, other_k) - ln_choose(n + other_n, successes)).exp();
    let mut tail = 0.0;
    for j in k..=n.min(successes) {
        tail += term;
        if term <= tail * 1e-17 {
            break;
        }
        // From j successes in the sample to j + 1.
        let others = successes - j;
        term *= (n - j) as f64 * others as f64
            / ((j + 1) as f64 * (other_n.saturating_sub(others) + 1) as f64);
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binomial_tail_is_that_of_adding_up_all_terms() {
        for n in 1..=30u64 {
            for p in [0.03f64, 0.25, 0.5, 0.9] {
                for k in 0..=n {
                    let choose =
                        |j: u64| (1..=j).fold(1.0, |c, i| c * (n - j + i) as f64 / i as f64);
                    let term =
                        |j: u64| choose(j) * p.powi(j as i32) * (1.0 - p).powi((n - j) as i32);
                    let expected: f64 = (k..=n).map(term).sum();
                    let found = binomial_tail(n, k, p);
                    if k as f64 > n as f64 * p {
                        assert!(
                            (found / expected - 1.0).abs() < 1e-9,
                            "{n} {k} {p}: {found} {expected}"
                        );
                    } else {
                        assert_eq!(found, 1.0);
                    }
                }
            }
        }
        // Published: 60 heads of 100, P = 0.028444.
        assert!((binomial_tail(100, 60, 0.5) - 0.028_443_966_8).abs() < 1e-9);
        assert!(binomial_tail(50_000_000, 26_000_000, 0.5) < 1e-100);
    }

    #[test]
    fn fishers_test_equals_counting_all_tables() {
        let choose = |n: u64, k: u64| (1..=k).fold(1.0, |c, i| c * (n - k + i) as f64 / i as f64);
        for (n, other_n) in [(5u64, 9u64), (12, 12), (20, 3)] {
            for k in 0..=n {
                for other_k in 0..=other_n {
                    let successes = k + other_k;
                    let chance = |j: u64| {
                        if successes >= j && successes - j <= other_n {
                            choose(n, j) * choose(other_n, successes - j)
                                / choose(n + other_n, successes)
                        } else {
                            0.0
                        }
                    };
                    let more: f64 = (k..=n).map(chance).sum();
                    let fewer: f64 = (0..=k).map(chance).sum();
                    let expected = (2.0
                        * if k * other_n >= other_k * n {
                            more
                        } else {
                            fewer
                        })
                    .min(1.0);
                    let found = fisher_exact_p(k, n, other_k, other_n);
                    assert!(
                        (found - expected).abs() < 1e-9,
                        "{k}/{n} {other_k}/{other_n}: {found} {expected}"
                    );
                }
            }
        }
        // Published: Fisher's lady tasting tea, 3 of 4 cups right: one tail 17 of 70.
        assert!((fisher_exact_p(3, 4, 1, 4) - 2.0 * 17.0 / 70.0).abs() < 1e-12);
        assert_eq!(fisher_exact_p(0, 0, 3, 4), 1.0);
    }
}
