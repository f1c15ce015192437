//! Instances in batches, in the order of their communicator: what tells how far a mean can be
//! trusted.
//!
//! The instances of a run follow one another: a late rank stays late for a while, a neighbour on
//! the network comes and goes. An interval made from n independent instances would be far too
//! narrow; means of long batches of consecutive instances are nearly independent, and their
//! spread holds what the instances have in common.
//!
//! A batch is a range of positions on the communicator, all of one width, a power of two that
//! starts at a multiple of itself. The width is the smallest at which no more than
//! [`MAX_BATCHES`] ranges have an instance of the operation. That depends on the positions alone,
//! so parts that were added up in any order merge to the same batches.

use serde::{Deserialize, Serialize};

/// Most batches of one operation that are kept.
const MAX_BATCHES: usize = 64;

/// What is kept of one complete instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstanceSums {
    /// Last leave minus first enter, ns.
    pub duration: i64,
    /// First leave minus last enter, ns, signed.
    pub core: Option<i64>,
    /// Calls in it that are wanted.
    pub n_calls: u64,
    /// Their time, ns.
    pub call_ns: i64,
    /// Calls whose wait is known.
    pub n_waits: u64,
    /// Their waits, ns.
    pub wait_ns: i64,
}

/// Sums of one quantity in a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Samples.
    pub n: u64,
    /// Their sum, ns.
    pub total: i128,
}

impl Sum {
    fn add(&mut self, n: u64, total: i128) {
        self.n += n;
        self.total += total;
    }
}

/// Sums of the instances of one range of positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// First position divided by the width.
    range: u64,
    /// Durations.
    pub duration: Sum,
    /// Their magnitudes, see [`magnitude`].
    pub duration_magnitudes: i64,
    /// Cores.
    pub core: Sum,
    /// Their magnitudes.
    pub core_magnitudes: i64,
    /// Time of calls.
    pub call: Sum,
    /// Waits of calls.
    pub wait: Sum,
}

impl Batch {
    fn add(&mut self, other: &Self) {
        for (sum, other) in [
            (&mut self.duration, &other.duration),
            (&mut self.core, &other.core),
            (&mut self.call, &other.call),
            (&mut self.wait, &other.wait),
        ] {
            sum.add(other.n, other.total);
        }
        self.duration_magnitudes += other.duration_magnitudes;
        self.core_magnitudes += other.core_magnitudes;
    }
}

/// The instances of one operation, in batches.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batches {
    /// Positions of a batch: two to the power of this.
    shift: u32,
    /// Those with an instance, by position.
    batches: Vec<Batch>,
    /// Squares of the magnitudes of durations, and of cores.
    squares: [u64; 2],
}

impl Batches {
    /// Adds the instance at a position of its communicator.
    #[inline]
    pub fn add(&mut self, position: u64, sums: &InstanceSums) {
        let once = |sample: i64| Sum {
            n: 1,
            total: sample.into(),
        };
        let (duration, core) = (magnitude(sums.duration), sums.core.map_or(0, magnitude));
        self.squares[0] += duration.unsigned_abs().pow(2);
        self.squares[1] += core.unsigned_abs().pow(2);
        self.add_batch(&Batch {
            range: position >> self.shift,
            duration: once(sums.duration),
            duration_magnitudes: duration,
            core: sums.core.map(once).unwrap_or_default(),
            core_magnitudes: core,
            call: Sum {
                n: sums.n_calls,
                total: sums.call_ns.into(),
            },
            wait: Sum {
                n: sums.n_waits,
                total: sums.wait_ns.into(),
            },
        });
        if self.batches.len() > MAX_BATCHES {
            self.narrow(MAX_BATCHES);
        }
    }

    /// Adds what another part of the instances came to.
    pub fn merge(&mut self, other: &Self) {
        let steps = other.shift.saturating_sub(self.shift);
        self.widen(steps);
        let steps = self.shift - other.shift;
        for batch in &other.batches {
            self.add_batch(&Batch {
                range: batch.range >> steps,
                ..*batch
            });
        }
        for (square, other) in self.squares.iter_mut().zip(other.squares) {
            *square += other;
        }
        self.narrow(MAX_BATCHES);
    }

    /// The batches, at most `most` of them, each of whole ones of those kept.
    pub fn at_most(&self, most: usize) -> Vec<Batch> {
        let mut fewer = self.clone();
        fewer.narrow(most);
        fewer.batches
    }

    /// Sums of squares of magnitudes: of durations, of cores.
    pub fn squares(&self) -> [u64; 2] {
        self.squares
    }

    fn add_batch(&mut self, batch: &Batch) {
        // Instances mostly come in the order of their positions.
        if let Some(last) = self.batches.last_mut()
            && last.range == batch.range
        {
            last.add(batch);
            return;
        }
        match self
            .batches
            .binary_search_by_key(&batch.range, |known| known.range)
        {
            Ok(at) => self.batches[at].add(batch),
            Err(at) => self.batches.insert(at, *batch),
        }
    }

    /// Doubles the width until there are at most `most` batches.
    fn narrow(&mut self, most: usize) {
        while self.batches.len() > most {
            self.widen(1);
        }
    }

    /// Doubles the width so many times.
    fn widen(&mut self, steps: u32) {
        if steps == 0 {
            return;
        }
        self.shift += steps;
        self.batches.iter_mut().for_each(|b| b.range >>= steps);
        self.batches.dedup_by(|next, batch| {
            let is_same = next.range == batch.range;
            if is_same {
                batch.add(next);
            }
            is_same
        });
    }
}

/// The logarithm of a time, roughly: 256 steps for each doubling, the sign kept.
///
/// Grows with the time, so that batches that differ in their times differ in this, and one
/// extreme time does not outweigh all others.
pub fn magnitude(ns: i64) -> i64 {
    let value = ns.unsigned_abs();
    if value == 0 {
        return 0;
    }
    let exponent = value.ilog2();
    // The eight bits behind the leading one.
    let fraction = if exponent >= 8 {
        value >> (exponent - 8)
    } else {
        value << (8 - exponent)
    } & 0xff;
    let size = i64::from(exponent + 1) * 256 + fraction as i64;
    if ns < 0 { -size } else { size }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sums(duration: i64) -> InstanceSums {
        InstanceSums {
            duration,
            core: Some(-duration),
            n_calls: 4,
            call_ns: 3 * duration,
            n_waits: 3,
            wait_ns: duration,
        }
    }

    fn of(positions: impl IntoIterator<Item = u64>) -> Batches {
        let mut batches = Batches::default();
        for position in positions {
            batches.add(position, &sums(position as i64 % 1000));
        }
        batches
    }

    #[test]
    fn an_operation_in_one_corner_of_a_long_run_still_has_many_batches() {
        let batches = of((1_000_000_000..1_000_001_000).step_by(3)).at_most(64);
        assert!((32..=64).contains(&batches.len()), "{}", batches.len());
        assert_eq!(batches.iter().map(|b| b.duration.n).sum::<u64>(), 334);
    }

    #[test]
    fn the_widest_positions_neither_panic_nor_wrap() {
        let mut batches = of([0, u64::MAX, u64::MAX - 1]);
        (0..200).for_each(|n| batches.add(u64::MAX / 200 * n, &sums(i64::MAX / 8)));
        assert!(batches.at_most(64).len() <= 64);
        assert_eq!(batches.at_most(1)[0].duration.n, 203);
    }

    #[test]
    fn magnitudes_grow_with_the_time_and_keep_its_sign() {
        let times = [-5000, -1, 0, 1, 2, 3, 255, 256, 1000, 1_000_000, i64::MAX];
        let magnitudes = times.map(magnitude);
        assert!(magnitudes.is_sorted_by(|a, b| a < b), "{magnitudes:?}");
        assert_eq!(magnitude(2 << 20) - magnitude(1 << 20), 256);
        assert_eq!(magnitude(-77), -magnitude(77));
    }

    proptest! {
        #[test]
        fn parts_merge_to_the_same_batches_in_any_order(
            positions in prop::collection::vec(0u64..100_000, 1..500),
            parts in 1usize..5,
            backwards: bool,
        ) {
            let whole = of(positions.iter().copied());
            let mut merged = Batches::default();
            for part in 0..parts {
                let part = if backwards { parts - 1 - part } else { part };
                merged.merge(&of(positions.iter().copied().skip(part).step_by(parts)));
            }
            prop_assert_eq!(&merged, &whole);
            let batches = whole.at_most(64);
            let total: i128 = batches.iter().map(|b| b.duration.total).sum();
            let expected: i128 = positions.iter().map(|p| i128::from(p % 1000)).sum();
            prop_assert_eq!(total, expected);
            prop_assert_eq!(batches.iter().map(|b| b.core.total).sum::<i128>(), -expected);
        }
    }
}
