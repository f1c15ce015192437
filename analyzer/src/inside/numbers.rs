//! Things numbered in the order in which they are met.

use std::collections::BTreeMap;

/// So many are looked through; of more there is an index.
const FEW: usize = 16;

/// Numbers of things, from 0, in the order in which they are met: mostly a few, of which the last is
/// met again.
#[derive(Debug)]
pub(super) struct Numbers<T> {
    met: Vec<T>,
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
    pub(super) fn clear(&mut self) {
        self.met.clear();
        self.index.clear();
    }

    /// The number of one, a new one if it was not met before.
    #[inline]
    pub(super) fn of(&mut self, one: T) -> u32 {
        let known = match self.met.len() <= FEW {
            true => self.met.iter().rposition(|known| *known == one),
            false => self.index.get(&one).map(|&number| number as usize),
        };
        known.unwrap_or_else(|| self.add(one)) as u32
    }

    fn add(&mut self, one: T) -> usize {
        let number = self.met.len();
        self.met.push(one);
        if self.met.len() > FEW {
            let first = self.index.len();
            let without = self.met.iter().copied().zip(0..).skip(first);
            self.index.extend(without);
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_or_many_have_numbers_in_the_order_in_which_they_are_met() {
        let mut numbers = Numbers::default();
        for round in 0..3 {
            for n in 0..100u16 {
                // The same numbers as by looking through all.
                let one = n.wrapping_mul(977);
                assert_eq!(numbers.of(one), u32::from(n), "round {round}");
                assert_eq!(numbers.of(0), 0);
            }
        }
        assert_eq!(numbers.met.len(), 100);
        numbers.clear();
        assert_eq!((numbers.of(5), numbers.of(977), numbers.of(5)), (0, 1, 0));
    }
}
