//! Samples listed one by one.

use crate::distribution::histogram::{Histogram, range};
use crate::integers::saturate;
use crate::moments::{Moments, Sample};

/// Samples in any order.
#[derive(Debug, Clone)]
pub(super) enum SampleList {
    /// All within two seconds, as most are.
    Short(Vec<i32>),
    Long(Vec<i64>),
}

impl Default for SampleList {
    fn default() -> Self {
        Self::Short(Vec::new())
    }
}

impl SampleList {
    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(list) => list.len(),
            Self::Long(list) => list.len(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, sample: i64) {
        if let Self::Short(list) = self
            && let Ok(short) = i32::try_from(sample)
        {
            make_room(list, 1);
            list.push(short);
        } else {
            let list = self.long();
            make_room(list, 1);
            list.push(sample);
        }
    }

    /// Adds samples, at most some thousand; returns their sum.
    pub(super) fn extend<T: Sample>(&mut self, samples: &[T]) -> i64 {
        // The sum of so few short samples is exact; one that is negative or beyond 32 bits shows in the upper bits.
        let (mut total, mut all) = (0i64, 0i64);
        if let Self::Short(list) = self {
            let n = list.len();
            make_room(list, samples.len());
            list.extend(samples.iter().map(|&sample| {
                let sample: i64 = sample.into();
                total = total.wrapping_add(sample);
                all |= sample;
                sample as i32
            }));
            if i32::try_from(all).is_ok_and(|all| all >= 0) {
                return total;
            }
            list.truncate(n);
        }
        let each = samples.iter().map(|&sample| -> i64 { sample.into() });
        each.clone().for_each(|sample| self.push(sample));
        saturate(each.map(i128::from).sum())
    }

    fn long(&mut self) -> &mut Vec<i64> {
        if let Self::Short(list) = self {
            *self = Self::Long(list.iter().copied().map(i64::from).collect());
        }
        match self {
            Self::Long(list) => list,
            Self::Short(_) => unreachable!("it was made long"),
        }
    }

    /// An empty list that reuses the memory if it is short.
    pub(super) fn emptied(self) -> Self {
        match self {
            Self::Short(mut list) => {
                list.clear();
                Self::Short(list)
            }
            Self::Long(_) => Self::default(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = i64> + '_ {
        let (short, long) = match self {
            Self::Short(list) => (&list[..], &[][..]),
            Self::Long(list) => (&[][..], &list[..]),
        };
        short
            .iter()
            .copied()
            .map(i64::from)
            .chain(long.iter().copied())
    }

    /// Sum of the samples.
    pub(super) fn total(&self) -> i128 {
        match self {
            // So few of 32 bits.
            Self::Short(list) => list.iter().copied().map(i64::from).sum::<i64>().into(),
            Self::Long(list) => list.iter().copied().map(i128::from).sum(),
        }
    }

    pub(super) fn sorted(&self) -> Vec<i64> {
        let mut sorted: Vec<i64> = self.iter().collect();
        sorted.sort_unstable();
        sorted
    }

    /// Exact moments and range; an empty list has an empty range.
    pub(super) fn exact(&self) -> (Moments, [i64; 2]) {
        fn exact<T: Sample>(list: &[T]) -> (Moments, [i64; 2]) {
            match range(list) {
                Some([min, max]) => (Moments::of(list, min, max), [min, max]),
                None => (Moments::default(), [i64::MAX, i64::MIN]),
            }
        }
        match self {
            Self::Short(list) => exact(list),
            Self::Long(list) => exact(list),
        }
    }

    pub(super) fn count(&self, histogram: &mut Histogram) {
        match self {
            Self::Short(list) => histogram.add(list),
            Self::Long(list) => histogram.add(list),
        };
    }
}

/// Grows by a quarter instead of doubling: there may be many lists.
#[inline]
fn make_room<T>(list: &mut Vec<T>, n: usize) {
    if list.capacity() - list.len() < n {
        list.reserve_exact(n.max(list.len() / 4).max(8));
    }
}
