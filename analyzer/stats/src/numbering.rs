//! Numbers things in the order in which they are met, and mixes 64-bit values into a hash.

use std::collections::BTreeMap;

/// Up to this many are searched linearly; more are indexed.
const FEW: usize = 16;

/// Adds one more 64-bit value to a hash: other values, or another order, give another hash except
/// by chance.
#[inline]
#[must_use]
pub fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// Numbers of things, from 0, in the order in which they are met. Mostly there are few, and the
/// last is met again.
#[derive(Debug)]
pub struct Numbers<T> {
    met: Vec<T>,
    /// Index of the first of them, as far as it was needed.
    index: BTreeMap<T, u32>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            met: Vec::new(),
            index: BTreeMap::new(),
        }
    }
}

impl<T: Copy + Ord> Numbers<T> {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.met.clear();
        self.index.clear();
    }

    /// All of them, by number.
    pub fn met(&self) -> &[T] {
        &self.met
    }

    /// Gives the next numbers to others that are known to be new.
    pub fn extend(&mut self, others: impl Iterator<Item = T>) {
        self.met.extend(others);
    }

    /// The number of `one`; a new number if it was not met before.
    #[inline]
    pub fn of(&mut self, one: T) -> u32 {
        let known = if self.met.len() <= FEW {
            self.met.iter().rposition(|known| *known == one)
        } else {
            self.look_up(one)
        };
        known.unwrap_or_else(|| {
            self.met.push(one);
            self.met.len() - 1
        }) as u32
    }

    fn look_up(&mut self, one: T) -> Option<usize> {
        if self.met.last() == Some(&one) {
            return Some(self.met.len() - 1);
        }
        let without = self.met.iter().copied().zip(0..).skip(self.index.len());
        self.index.extend(without);
        self.index.get(&one).map(|&number| number as usize)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::cmp::Ordering;

    use super::*;

    thread_local! {
        static N_COMPARED: Cell<u64> = const { Cell::new(0) };
    }

    /// A number that counts how often it is compared.
    #[derive(Debug, Clone, Copy)]
    struct Counted(u32);

    impl PartialEq for Counted {
        fn eq(&self, other: &Self) -> bool {
            self.cmp(other).is_eq()
        }
    }

    impl Eq for Counted {}

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            N_COMPARED.set(N_COMPARED.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    /// Comparisons per thing for `n` different ones, each of which is met `times` times in a row.
    fn compared_for_each(n: u32, times: u32) -> u64 {
        let mut numbers = Numbers::default();
        N_COMPARED.set(0);
        for number in (0..n).flat_map(|number| (0..times).map(move |_| number)) {
            let one = Counted(number.wrapping_mul(0x9e37_79b1));
            assert_eq!(numbers.of(one), number);
        }
        N_COMPARED.get() / u64::from(n * times)
    }

    #[test]
    fn few_or_many_have_numbers_in_the_order_in_which_they_are_met() {
        let mut numbers = Numbers::default();
        for round in 0..3 {
            for n in 0..100u16 {
                // Compares with a linear search.
                let one = n.wrapping_mul(977);
                assert_eq!(numbers.of(one), u32::from(n), "round {round}");
                assert_eq!(numbers.of(0), 0);
            }
        }
        assert_eq!(numbers.met().len(), 100);
        numbers.clear();
        assert_eq!((numbers.of(5), numbers.of(977), numbers.of(5)), (0, 1, 0));
    }

    #[test]
    fn those_that_are_known_to_be_new_have_the_next_numbers() {
        for n_before in [0, 10, 40] {
            let mut numbers = Numbers::default();
            for one in 0..n_before {
                numbers.of(one);
            }
            numbers.extend(n_before..60);
            (0..60).for_each(|one| assert_eq!(numbers.of(one), one));
            assert_eq!(numbers.of(99), 60);
        }
    }

    #[test]
    fn of_many_each_is_compared_with_a_few() {
        assert!(compared_for_each(40_000, 1) <= 64);
        // Meeting the last one again compares it with no other, however many there are.
        assert!(compared_for_each(FEW as u32, 1000) <= 1);
        assert!(compared_for_each(40_000, 100) <= 2);
    }
}
