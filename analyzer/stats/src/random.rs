//! Random numbers that are the same on every machine.

/// The step of splitmix64: 2^64 divided by the golden ratio, odd.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers, identified by its name.
///
/// Each draw of a scenario has a stream of its own, named (seed, delay, instance, rank). So what
/// one rank draws does not depend on what was drawn before, on the order of the ranks, or on
/// whether another step was added to the program.
///
/// Only integer operations, the four basic operations on `f64` and the square root are used: IEEE
/// 754 makes these exact everywhere, while the logarithm of a C library differs.
///
/// # Source
/// splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014, with
/// the constants of Vigna's `splitmix64.c`.
#[derive(Debug, Clone)]
pub struct Random {
    state: u64,
}

/// The finalizer of splitmix64: a bijection that spreads every bit over all.
#[must_use]
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// Hash of several numbers, in their order.
#[must_use]
pub fn hash(parts: &[u64]) -> u64 {
    parts.iter().fold(STEP, |state, &part| {
        mix(state ^ mix(part.wrapping_add(STEP)))
    })
}

impl Random {
    /// The stream with this name.
    #[must_use]
    pub fn of(name: &[u64]) -> Self {
        Self { state: hash(name) }
    }

    /// The stream that continues from this state.
    #[must_use]
    pub fn from_state(state: u64) -> Self {
        Self { state }
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// Puts values into an arbitrary order.
    ///
    /// # Source
    /// Fisher and Yates 1938; Durstenfeld 1964.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// Uniform in (0, 1), both ends excluded.
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// An integer, uniform in `low..=high`.
    pub fn uniform(&mut self, low: u64, high: u64) -> u64 {
        let span = u128::from(high.saturating_sub(low)) + 1;
        low + ((u128::from(self.bits()) * span) >> 64) as u64
    }

    /// An integer, uniform in `0..n`, `n` > 0.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// A real number, uniform from `low` to `high`.
    pub fn uniform_real(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A real number, exponential with this mean. Uses the logarithm of the C library: the last bit
    /// may differ between machines.
    pub fn exponential_real(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    /// A real number, Pareto with this minimum and shape. Uses functions of the C library: the last
    /// bit may differ between machines.
    pub fn pareto_real(&mut self, least: f64, shape: f64) -> f64 {
        least * self.unit().powf(-1.0 / shape)
    }

    /// Exponential with this mean, rounded to an integer.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        (-ln(self.unit()) * mean as f64).round() as u64
    }

    /// Normal, rounded to an integer; negative values become zero, since a delay cannot be
    /// negative.
    ///
    /// # Source
    /// Marsaglia's polar method.
    pub fn normal(&mut self, mean: u64, sd: u64) -> u64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = x * x + y * y;
            if s < 1.0 && s > 0.0 {
                let standard = x * (-2.0 * ln(s) / s).sqrt();
                // The cast turns negative values into zero.
                return (mean as f64 + standard * sd as f64).round() as u64;
            }
        }
    }
}

/// The natural logarithm of a positive normal number, to within about 1e-15.
///
/// x = m 2^k with m near 1; ln m = 2 artanh((m - 1) / (m + 1)), by its series.
fn ln(x: f64) -> f64 {
    let bits = x.to_bits();
    let mut exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mut m = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    if m > std::f64::consts::SQRT_2 {
        m /= 2.0;
        exponent += 1;
    }
    let s = (m - 1.0) / (m + 1.0);
    let mut sum = 0.0;
    // s is at most 0.172, so the term with s^23 is below 1e-18.
    for k in (0..11).rev() {
        sum = sum * s * s + 1.0 / f64::from(2 * k + 1);
    }
    2.0 * s * sum + exponent as f64 * std::f64::consts::LN_2
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 200_000;

    fn moments(mut draw: impl FnMut(&mut Random) -> f64) -> (f64, f64) {
        let mut random = Random::of(&[7, 1]);
        let values: Vec<f64> = (0..N).map(|_| draw(&mut random)).collect();
        let mean = values.iter().sum::<f64>() / N as f64;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / N as f64;
        (mean, variance.sqrt())
    }

    fn is_near(found: f64, expected: f64, part: f64) {
        assert!(
            (found - expected).abs() <= part * expected,
            "{found} found, {expected} expected"
        );
    }

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first three numbers of the reference implementation for the seed 1234567.
        let mut random = Random { state: 1_234_567 };
        let found: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(
            found,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_distributions() {
        let (mean, sd) = moments(|r| r.unit());
        is_near(mean, 0.5, 0.005);
        is_near(sd, (1.0f64 / 12.0).sqrt(), 0.005);
        let (mean, sd) = moments(|r| r.uniform(1000, 3000) as f64);
        is_near(mean, 2000.0, 0.005);
        is_near(sd, 2000.0 / 12.0f64.sqrt(), 0.005);
        is_near(moments(|r| r.uniform_real(2.0, 4.0)).0, 3.0, 0.005);
        is_near(moments(|r| r.exponential_real(5.0)).0, 5.0, 0.01);
        is_near(moments(|r| r.below(11) as f64).0, 5.0, 0.01);
        // shape / (shape - 1) times the minimum.
        is_near(moments(|r| r.pareto_real(2.0, 3.0)).0, 3.0, 0.02);
        let (mean, sd) = moments(|r| r.exponential(50_000) as f64);
        is_near(mean, 50_000.0, 0.01);
        is_near(sd, 50_000.0, 0.01);
        let (mean, sd) = moments(|r| r.normal(100_000, 5_000) as f64);
        is_near(mean, 100_000.0, 0.001);
        is_near(sd, 5_000.0, 0.01);
    }

    #[test]
    fn two_thirds_of_a_normal_lie_within_one_deviation() {
        let mut random = Random::of(&[3]);
        let within = (0..N)
            .filter(|_| random.normal(1_000_000, 10_000).abs_diff(1_000_000) <= 10_000)
            .count();
        is_near(within as f64 / N as f64, 0.6827, 0.01);
    }

    #[test]
    fn streams_of_other_names_are_not_correlated() {
        let mut sum = 0.0;
        for rank in 0..N as u64 {
            let (a, b) = (
                Random::of(&[1, 5, rank]).unit(),
                Random::of(&[1, 5, rank + 1]).unit(),
            );
            sum += (a - 0.5) * (b - 0.5);
        }
        // The correlation of N pairs deviates from 0 by 1 / sqrt(N) = 0.0022.
        assert!((sum / N as f64 * 12.0).abs() < 0.01);
    }

    #[test]
    fn uniform_reaches_both_ends_and_nothing_else() {
        let mut random = Random::of(&[9]);
        let mut seen = [0; 4];
        for _ in 0..1000 {
            seen[random.uniform(2, 5) as usize - 2] += 1;
        }
        assert!(seen.iter().all(|&n| n > 200), "{seen:?}");
        assert_eq!(random.uniform(0, 0), 0);
        random.uniform(0, u64::MAX);
    }

    #[test]
    fn the_logarithm_agrees_with_that_of_the_library() {
        for x in [
            1e-300, 1e-16, 0.1, 0.5, 0.707, 0.999_999, 1.0, 1.5, 2.0, 1e20,
        ] {
            assert!(
                (ln(x) - f64::ln(x)).abs() <= 2e-15 * f64::ln(x).abs().max(0.1),
                "{x}"
            );
        }
    }
}
