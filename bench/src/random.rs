//! Random numbers that are the same in every run.

/// A stream of random numbers.
///
/// # Source
/// splitmix64: Steele, Lea, Flood 2014.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in (0, 1), neither end included.
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Uniform from `low` to `high`.
    pub(crate) fn uniform(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A whole number below `n` > 0.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.bits()) * n as u128) >> 64) as usize
    }

    /// Exponential with this mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -self.unit().ln() * mean
    }

    /// Pareto with this least value and shape.
    pub(crate) fn pareto(&mut self, least: f64, shape: f64) -> f64 {
        least * self.unit().powf(-1.0 / shape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distributions_have_their_means() {
        let mut random = Random::new(1);
        let n = 100_000;
        let mut mean = |draw: &mut dyn FnMut(&mut Random) -> f64| {
            (0..n).map(|_| draw(&mut random)).sum::<f64>() / f64::from(n)
        };
        assert!((mean(&mut |r| r.uniform(2.0, 4.0)) - 3.0).abs() < 0.01);
        assert!((mean(&mut |r| r.exponential(5.0)) - 5.0).abs() < 0.1);
        assert!((mean(&mut |r| r.below(11) as f64) - 5.0).abs() < 0.05);
        // shape / (shape - 1) times the least.
        assert!((mean(&mut |r| r.pareto(2.0, 3.0)) - 3.0).abs() < 0.05);
    }
}
