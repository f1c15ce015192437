//! Student's t distribution, for means of few batches.

use crate::chance::ln_gamma;

/// P(|T| >= |t|) for `df` > 0 degrees of freedom.
///
/// # Source
/// The incomplete beta function: P(|T| >= t) = I_x(df/2, 1/2) at x = df / (df + t^2).
#[must_use]
pub fn two_sided_p(t: f64, df: f64) -> f64 {
    let square = t * t;
    if square.is_infinite() {
        return 0.0;
    }
    incomplete_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))
}

/// The t with P(|T| >= t) = `p`, 0 < p < 1, for `df` > 0 degrees of freedom.
#[must_use]
pub fn two_sided_quantile(p: f64, df: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided_p(high, df) > p {
        (low, high) = (high, 2.0 * high);
    }
    // As many bisections as the result has bits.
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if two_sided_p(middle, df) > p {
            low = middle
        } else {
            high = middle
        }
    }
    0.5 * (low + high)
}

/// The regularized incomplete beta function I_x(a, b); `rest` is 1 - x, a parameter because the
/// subtraction would lose digits when it is small.
fn incomplete_beta(a: f64, b: f64, x: f64, rest: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if rest <= 0.0 {
        return 1.0;
    }
    let ln_front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * rest.ln();
    // The fraction converges quickly on the side of the mode where x is small.
    if x < (a + 1.0) / (a + b + 2.0) {
        ln_front.exp() * beta_fraction(a, b, x) / a
    } else {
        1.0 - ln_front.exp() * beta_fraction(b, a, rest) / b
    }
}

/// The continued fraction of the incomplete beta function, by Lentz's method.
///
/// # Source
/// Abramowitz and Stegun, 26.5.8.
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for coefficient in [even, odd] {
            d = 1.0 / away_from_zero(1.0 + coefficient * d);
            c = away_from_zero(1.0 + coefficient / c);
            change = c * d;
            fraction *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_published_tables() {
        // Two-sided, as in any table of t; 9.925 and 636.619 are those of Student's small samples.
        for (p, df, expected) in [
            (0.05, 1.0, 12.706),
            (0.05, 2.0, 4.303),
            (0.05, 7.0, 2.365),
            (0.05, 15.0, 2.131),
            (0.05, 31.0, 2.040),
            (0.05, 120.0, 1.980),
            (0.01, 2.0, 9.925),
            (0.01, 10.0, 3.169),
            (0.001, 1.0, 636.619),
            (0.001, 30.0, 3.646),
            (0.05, 1e9, 1.960),
        ] {
            let found = two_sided_quantile(p, df);
            assert!((found - expected).abs() < 6e-4, "{p} {df}: {found}");
        }
    }

    #[test]
    fn with_one_and_two_degrees_of_freedom_there_are_closed_forms() {
        for t in [1e-6, 0.1, 0.7, 1.0, 3.0, 50.0, 1e5] {
            let one = 1.0 - 2.0 / std::f64::consts::PI * f64::atan(t);
            assert!((two_sided_p(t, 1.0) - one).abs() < 1e-9, "{t}");
            let two = 1.0 - t / (2.0 + t * t).sqrt();
            assert!((two_sided_p(t, 2.0) - two).abs() < 1e-9, "{t}");
        }
        assert_eq!(two_sided_p(0.0, 5.0), 1.0);
        assert_eq!(two_sided_p(f64::INFINITY, 5.0), 0.0);
    }

    #[test]
    fn a_quantile_is_where_the_chance_is_that() {
        for df in [1.5, 4.2, 20.0, 63.0, 1e4] {
            for p in [0.5, 0.05, 1e-3, 1e-6] {
                let t = two_sided_quantile(p, df);
                assert!((two_sided_p(t, df) / p - 1.0).abs() < 1e-6, "{df} {p}");
                assert_eq!(two_sided_p(-t, df), two_sided_p(t, df));
            }
        }
    }
}
