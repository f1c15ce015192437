//! One treatment against two runs of a baseline, in blocks: ratios with intervals that need no assumption about the
//! distribution.

/// The ratio of a treatment to the baseline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BlockedRatio {
    /// Number of blocks, > 0.
    pub n: usize,
    /// The median of the ratios of the treatment to each baseline of its block.
    pub value: f64,
    /// Interval that misses the true ratio on each side with a probability of `tail` at most; `None` with too few blocks
    /// for one.
    pub interval: Option<(f64, f64)>,
    /// Probability that the treatment is as small among its blocks, or smaller, if it changes nothing.
    pub p_less: f64,
    /// Probability that it is as large, or larger, if it changes nothing.
    pub p_more: f64,
}

/// The least number of blocks for which there is an interval that misses on each side with a probability of `tail` at most.
#[must_use]
pub fn least_blocks(tail: f64) -> usize {
    (-tail.ln() / f64::ln(3.0)).ceil().max(1.0) as usize
}

impl BlockedRatio {
    /// Of blocks of (treatment, two baselines), all > 0, whose order in time was drawn at random; `None` without blocks.
    ///
    /// If the treatment changes nothing, it is the first, second or third of its block with the same probability, whatever
    /// the times are distributed like and however they differ from block to block. So the number of baselines that it
    /// exceeds is a sum of independent draws from 0, 1 and 2. The interval has all factors by which the treatment may
    /// be divided without that number being unlikely: it is between two of the sorted 2n ratios.
    ///
    /// # Source
    /// The inversion of a rank test, as of Hodges and Lehmann 1963; ranks within blocks as of Friedman 1937.
    #[must_use]
    pub fn of(blocks: &[(f64, [f64; 2])], tail: f64) -> Option<Self> {
        let each = blocks.iter();
        let mut ratios: Vec<f64> = each
            .flat_map(|(treatment, baselines)| baselines.map(|baseline| treatment / baseline))
            .collect();
        ratios.sort_by(f64::total_cmp);
        let n = blocks.len();
        let (low, high) = (*ratios.get(n.checked_sub(1)?)?, *ratios.get(n)?);
        let at_most = cumulated(n);
        let p = |count: usize| at_most[count];
        // Of the 2n ratios the k-th is the limit, if fewer than k are below the true one with a small probability.
        let k = (1..=n).take_while(|&k| p(k - 1) <= tail).last();
        Some(Self {
            n,
            value: low + (high - low) / 2.0,
            interval: k.map(|k| (ratios[k - 1], ratios[2 * n - k])),
            p_less: p(ratios.iter().filter(|&&ratio| ratio >= 1.0).count()),
            p_more: p(ratios.iter().filter(|&&ratio| ratio <= 1.0).count()),
        })
    }
}

/// By count, the probability that the sum of `n` draws from 0, 1 and 2 is at most that.
fn cumulated(n: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for _ in 0..n {
        let mut next = vec![0.0; chances.len() + 2];
        for (sum, chance) in chances.iter().enumerate() {
            (0..3).for_each(|draw| next[sum + draw] += chance / 3.0);
        }
        chances = next;
    }
    let mut sum = 0.0;
    for chance in &mut chances {
        sum = f64::min(sum + *chance, 1.0);
        *chance = sum;
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn the_chances_of_few_blocks_are_those_counted_by_hand() {
        // Three blocks: 27 equally likely cases; 1 has the sum 0, 3 have 1, 6 have 2, 7 have 3.
        let chances = cumulated(3);
        for (found, expected) in chances.iter().zip([1.0, 4.0, 10.0, 17.0, 23.0, 26.0, 27.0]) {
            assert!((found - expected / 27.0).abs() < 1e-12, "{chances:?}");
        }
        assert_eq!(least_blocks(0.025), 4);
        assert_eq!(least_blocks(0.0125), 4);
        assert_eq!(least_blocks(0.005), 5);
        let faster = [(0.8, [1.0, 1.1]); 4];
        let ratio = BlockedRatio::of(&faster, 0.025).unwrap();
        assert!((ratio.p_less - 1.0 / 81.0).abs() < 1e-12);
        assert!(ratio.p_more > 0.999);
        assert_eq!(ratio.interval, Some((0.8 / 1.1, 0.8)));
        assert_eq!(
            BlockedRatio::of(&faster[..3], 0.025).unwrap().interval,
            None
        );
        assert_eq!(BlockedRatio::of(&[], 0.025), None);
    }

    #[test]
    fn equal_times_are_no_evidence() {
        let ratio = BlockedRatio::of(&[(1.0, [1.0, 1.0]); 9], 0.025).unwrap();
        assert!(ratio.p_less.min(ratio.p_more) > 0.999, "{ratio:?}");
        assert_eq!(ratio.value, 1.0);
    }

    /// Times with a heavy tail, which drift from block to block.
    fn blocks(random: &mut Random, n: usize, factor: f64) -> Vec<(f64, [f64; 2])> {
        (0..n)
            .map(|block| {
                let drift = 1.0 + block as f64 / 10.0;
                let mut time = || {
                    let outlier = if random.unit() < 0.2 { 3.0 } else { 1.0 };
                    drift * outlier * (1.0 + random.exponential_real(0.05))
                };
                (factor * time(), [time(), time()])
            })
            .collect()
    }

    #[test]
    fn nineteen_of_twenty_intervals_contain_the_ratio_whatever_the_distribution() {
        for (n, seed) in [(4, 1), (10, 2), (25, 3)] {
            let mut random = Random::of(&[seed]);
            let (mut missed_below, mut missed_above) = (0, 0);
            for _ in 0..4_000 {
                let ratio = BlockedRatio::of(&blocks(&mut random, n, 0.9), 0.025).unwrap();
                let (low, high) = ratio.interval.unwrap();
                missed_below += u32::from(high < 0.9);
                missed_above += u32::from(low > 0.9);
            }
            // 100 expected at most, three standard deviations more.
            assert!(
                missed_below.max(missed_above) <= 130,
                "{n}: {missed_below}, {missed_above}"
            );
        }
    }
}
