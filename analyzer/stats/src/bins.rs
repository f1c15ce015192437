//! Sums by interval of the run, for a run whose length is not known beforehand.
//!
//! All intervals have the same length: 1 us times a power of two, the least with which `MOST`
//! intervals cover all times seen so far. When a time lies beyond them, neighbours are merged in
//! pairs. So the interval of a time depends on the largest time alone, not on the order of the
//! times or on who summed which part.

use serde::{Deserialize, Serialize};

/// Length of the shortest interval, ns.
const LEAST_NS: i64 = 1_000;

/// What can be summed by interval: integers, in any order.
pub trait Sum: Default {
    /// Adds the sums of another part.
    fn merge(&mut self, other: Self);
}

/// One `T` for each interval of the run in which there was something to add; at most `MOST`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Bins<T, const MOST: u32> {
    /// Interval length = 1 us times 2^`doublings`.
    doublings: u32,
    /// Index of the interval and its sums, ascending by index.
    met: Vec<(u32, T)>,
    /// The interval used last: consecutive calls mostly fall into the same one, or into the next one.
    #[serde(skip)]
    current: Current,
}

/// An interval [`from_ns`, `until_ns`); of length 0 if there is none.
#[derive(Debug, Clone, Copy, Default)]
struct Current {
    from_ns: i64,
    until_ns: i64,
    place: usize,
}

impl<T, const MOST: u32> Default for Bins<T, MOST> {
    fn default() -> Self {
        Self {
            doublings: 0,
            met: Vec::new(),
            current: Current::default(),
        }
    }
}

impl<T: Sum, const MOST: u32> Bins<T, MOST> {
    /// Length of an interval, ns.
    pub fn bin_ns(&self) -> i64 {
        bin_ns(self.doublings)
    }

    /// The sums of the interval that contains `time_ns`; times before the start belong to the
    /// first.
    #[inline]
    pub fn at(&mut self, time_ns: i64) -> &mut T {
        if self.current.from_ns > time_ns || time_ns >= self.current.until_ns {
            self.go_to(time_ns.max(0));
        }
        &mut self.met[self.current.place].1
    }

    /// The sums of the interval that contains both times, if it is the one used last.
    #[inline]
    pub fn at_both(&mut self, begin_ns: i64, end_ns: i64) -> Option<&mut T> {
        let is_here = self.current.from_ns <= begin_ns && end_ns < self.current.until_ns;
        is_here.then(|| &mut self.met[self.current.place].1)
    }

    fn go_to(&mut self, time_ns: i64) {
        let mut bin = number_of_bin(time_ns, self.doublings);
        if bin >= i64::from(MOST) {
            self.widen(doublings_to_cover(time_ns, MOST));
            bin = number_of_bin(time_ns, self.doublings);
        }
        let (from_ns, number) = (bin * self.bin_ns(), bin as u32);
        self.current = Current {
            from_ns,
            until_ns: from_ns.saturating_add(self.bin_ns()),
            place: self.place_of(number),
        };
    }

    /// Place of the interval with an index, which is made if there is none.
    fn place_of(&mut self, number: u32) -> usize {
        // That is it where every interval since the first has sums.
        let first = self.met.first();
        let likely = first.map_or(0, |(first, _)| number.saturating_sub(*first));
        match self.met.get(likely as usize) {
            Some((bin, _)) if *bin == number => likely as usize,
            None if self.met.last().is_none_or(|(bin, _)| *bin < number) => {
                self.met.push((number, T::default()));
                self.met.len() - 1
            }
            _ => match self.met.binary_search_by_key(&number, |(bin, _)| *bin) {
                Ok(place) => place,
                Err(place) => {
                    self.current = Current::default();
                    self.met.insert(place, (number, T::default()));
                    place
                }
            },
        }
    }

    /// The sums of the interval with an index, of those of the shortest length doubled so often.
    pub fn numbered(&mut self, number: u32, doublings: u32) -> &mut T {
        self.widen(doublings);
        let number = number.checked_shr(self.doublings - doublings).unwrap_or(0);
        if number >= MOST {
            return self.at(i64::from(number).saturating_mul(self.bin_ns()));
        }
        let place = self.place_of(number);
        &mut self.met[place].1
    }

    /// Merges neighbours until the intervals have this length; they never become shorter.
    #[inline]
    pub fn widen(&mut self, doublings: u32) {
        if doublings > self.doublings {
            self.merge_neighbours(doublings);
        }
    }

    fn merge_neighbours(&mut self, doublings: u32) {
        let more = doublings - self.doublings;
        self.doublings = doublings;
        self.current = Current::default();
        let mut wider: Vec<(u32, T)> = Vec::new();
        for (bin, sums) in self.met.drain(..) {
            let bin = bin.checked_shr(more).unwrap_or(0);
            match wider.last_mut() {
                Some((last, known)) if *last == bin => known.merge(sums),
                _ => wider.push((bin, sums)),
            }
        }
        self.met = wider;
    }

    /// Adds the sums of another part.
    pub fn merge(&mut self, mut other: Self) {
        self.widen(other.doublings);
        other.widen(self.doublings);
        self.current = Current::default();
        for (bin, sums) in other.met {
            match self.met.binary_search_by_key(&bin, |(number, _)| *number) {
                Ok(place) => self.met[place].1.merge(sums),
                Err(place) => self.met.insert(place, (bin, sums)),
            }
        }
    }

    /// The intervals that have sums, with their indexes, ascending.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        self.met.iter().map(|(bin, sums)| (*bin as usize, sums))
    }

    /// How often the shortest length has been doubled.
    pub fn doublings(&self) -> u32 {
        self.doublings
    }
}

/// Length of an interval, ns: 1 us times 2^`doublings`.
#[inline]
pub fn bin_ns(doublings: u32) -> i64 {
    LEAST_NS << doublings
}

/// Index of the interval of this length that contains `time_ns`, which is not below 0.
#[inline]
pub fn number_of_bin(time_ns: i64, doublings: u32) -> i64 {
    // As dividing by the length, but the divisor is constant.
    (time_ns >> doublings) / LEAST_NS
}

/// The least number of doublings with which `time_ns` lies in one of the first `most` intervals.
pub fn doublings_to_cover(time_ns: i64, most: u32) -> u32 {
    let mut doublings = 0;
    while number_of_bin(time_ns, doublings) >= i64::from(most) {
        doublings += 1;
    }
    doublings
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    struct Counted(u64);

    impl Sum for Counted {
        fn merge(&mut self, other: Self) {
            self.0 += other.0;
        }
    }

    type EightBins = Bins<Counted, 8>;

    fn counted(times: &[i64]) -> EightBins {
        let mut bins = EightBins::default();
        for &time in times {
            bins.at(time).0 += 1;
        }
        bins
    }

    fn all(bins: &EightBins) -> (i64, Vec<(usize, Counted)>) {
        let met = bins.iter().map(|(bin, n)| (bin, *n)).collect();
        (bins.bin_ns(), met)
    }

    #[test]
    fn the_largest_time_there_is_has_a_bin() {
        let mut bins = counted(&[0, i64::MAX, i64::MIN]);
        assert!(bins.at(i64::MAX).0 == 1 && bins.at(0).0 == 2);
    }

    #[test]
    fn an_index_stands_for_the_times_of_its_interval() {
        let mut bins = counted(&[0, 5_000, 6_000]);
        bins.at(5_000);
        bins.numbered(2, 0).0 += 1;
        bins.numbered(9, 0).0 += 1;
        bins.at(2_000).0 += 1;
        bins.numbered(3, 1).0 += 1;
        let expected = counted(&[0, 2_000, 2_000, 5_000, 6_000, 6_000, 9_000]);
        assert_eq!(all(&bins), all(&expected));
    }

    proptest! {
        #[test]
        fn bins_are_those_of_dividing_all_times_at_the_end(
            times in prop::collection::vec((0u32..40, 0i64..1000), 1..60),
            cut in 0usize..60,
        ) {
            let times: Vec<i64> = times.iter().map(|&(bits, t)| t << bits).collect();
            let most = *times.iter().max().unwrap();
            let mut bin_ns = 1_000;
            while most / bin_ns >= 8 {
                bin_ns *= 2;
            }
            let mut expected = std::collections::BTreeMap::new();
            for time in &times {
                expected.entry((time / bin_ns) as usize).or_insert(Counted(0)).0 += 1;
            }
            let expected = (bin_ns, expected.into_iter().collect());
            prop_assert_eq!(all(&counted(&times)), expected);

            let (first, second) = times.split_at(cut.min(times.len()));
            for (one, other) in [(first, second), (second, first)] {
                let mut merged = counted(one);
                merged.merge(counted(other));
                prop_assert_eq!(all(&merged), all(&counted(&times)));
            }
        }
    }
}
