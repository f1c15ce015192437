//! Random numbers that are the same on every machine.

use collbench_stats::random;

/// A stream of numbers, by seed and name.
#[derive(Debug, Clone)]
pub struct Random(random::Random);

impl Random {
    /// The stream of one case.
    #[must_use]
    pub fn new(seed: u64, number: u64) -> Self {
        let mut random = random::Random::from_state(seed);
        Self(random::Random::from_state(random.bits() ^ number))
    }

    /// The next number.
    #[allow(
        clippy::should_implement_trait,
        reason = "a stream without end is no Iterator"
    )]
    pub fn next(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number below `n`; 0 where `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        // The bias is below 2^-32 for any length that fits in memory here.
        (self.next() % n.max(1) as u64) as usize
    }

    /// True once in `n`.
    pub fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`, of which there is at least one.
    pub fn pick<'c, T>(&mut self, choices: &'c [T]) -> &'c T {
        &choices[self.below(choices.len())]
    }

    /// A number of the kind that breaks arithmetic: around 0, powers of two, the largest ones,
    /// or any.
    pub fn hostile(&mut self) -> u64 {
        const EDGES: [u64; 12] = [
            0,
            1,
            2,
            0x7fff_ffff,
            1 << 31,
            u32::MAX as u64,
            1 << 32,
            i64::MAX as u64,
            1 << 63,
            u64::MAX - 1,
            u64::MAX,
            4096,
        ];
        match self.below(8) {
            0..=4 => *self.pick(&EDGES),
            5 => 1 << self.below(64),
            6 => (1u64 << self.below(64)).wrapping_sub(1),
            _ => self.next(),
        }
    }

    /// A length from 1 to `most`, small ones much more often.
    pub fn length(&mut self, most: usize) -> usize {
        let bits = usize::BITS - most.max(1).leading_zeros();
        let bound = 1usize << self.below(bits as usize + 1);
        (1 + self.below(bound)).min(most.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_depends_on_seed_and_number_only() {
        let numbers = |seed, number| {
            let mut random = Random::new(seed, number);
            [random.next(), random.next()]
        };
        assert_eq!(numbers(1, 2), numbers(1, 2));
        assert_ne!(numbers(1, 2), numbers(1, 3));
        assert_ne!(numbers(1, 2), numbers(2, 2));
    }

    #[test]
    fn lengths_stay_within_bounds() {
        let mut random = Random::new(1, 1);
        for most in [0, 1, 7, 4096] {
            for _ in 0..200 {
                assert!((1..=most.max(1)).contains(&random.length(most)));
            }
        }
    }
}
