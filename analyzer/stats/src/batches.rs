//! Sums of consecutive instances in batches: from them follows how far a mean can be trusted.
//!
//! The instances of a run are not independent: a late rank stays late for a while, another job on
//! the network starts and ends. An interval computed as if the n instances were independent would
//! be far too narrow. Means of long batches of consecutive instances are nearly independent, and
//! their spread includes what the instances have in common.
//!
//! A batch is a range of positions on the communicator. All batches of an operation have the same
//! width, a power of two, and begin at a multiple of it. The width is the smallest at which at most
//! [`MAX_BATCHES`] ranges contain an instance of the operation. It depends on the positions alone,
//! so parts that were added up in any order merge to the same batches.

use serde::{Deserialize, Serialize};

/// Most batches of one operation that are retained.
const MAX_BATCHES: usize = 64;

/// Figures of one complete instance.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct InstanceSums {
    /// Last leave minus first enter, ns.
    pub duration: i64,
    /// First leave minus last enter, ns, signed.
    pub core: Option<i64>,
    /// Calls of the instance that are selected.
    pub n_calls: u64,
    /// Sum of the times of these calls, ns.
    pub call_ns: i64,
    /// Calls whose wait is known.
    pub n_waits: u64,
    /// Sum of these waits, ns.
    pub wait_ns: i64,
}

/// Sums of one quantity in a batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Number of samples.
    pub n: u64,
    /// Sum of the samples, ns.
    pub total: i128,
}

impl Sum {
    pub(crate) fn add(&mut self, n: u64, total: i128) {
        self.n += n;
        self.total += total;
    }
}

/// Sums of the instances in one range of positions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// First position divided by the width.
    range: u64,
    /// Durations of the instances.
    pub duration: Sum,
    /// Sum of the [`magnitude`]s of the durations.
    pub duration_magnitudes: i64,
    /// Cores of the instances.
    pub core: Sum,
    /// Sum of the [`magnitude`]s of the cores.
    pub core_magnitudes: i64,
    /// Times of the calls.
    pub call: Sum,
    /// Waits of the calls.
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
    /// Width of a batch: 2^`shift` positions.
    shift: u32,
    /// Batches with an instance, ascending by position.
    batches: Vec<Batch>,
    /// Sums of squared magnitudes: of durations, of cores.
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

    /// Adds the batches of another part of the instances.
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

    /// At most `most` batches, each merged from whole ones.
    pub fn at_most(&self, most: usize) -> Vec<Batch> {
        let mut fewer = self.clone();
        fewer.narrow(most);
        fewer.batches
    }

    /// Sums of squared magnitudes: of durations, of cores.
    pub fn squares(&self) -> [u64; 2] {
        self.squares
    }

    fn add_batch(&mut self, batch: &Batch) {
        // Most instances arrive in the order of their positions.
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

    /// Doubles the width `steps` times.
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

/// Logarithm of a time with its sign: 256 steps per doubling, approximately.
///
/// Grows with the time: batches that differ in their times differ in their magnitudes, and one
/// extreme time does not outweigh all others.
pub fn magnitude(ns: i64) -> i64 {
    let value = ns.unsigned_abs();
    if value == 0 {
        return 0;
    }
    let exponent = value.ilog2();
    // The eight bits after the leading one.
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
