//! The call sites that a thread has met last: a way of one function, found with a few loads.

use std::cell::Cell;

use super::registers::{Registers, UsedStack};

/// Entries of each kind.
const ENTRIES: usize = 8;
const _: () = assert!(ENTRIES.is_power_of_two());

/// What one thread has met last. Only for the thread itself; no destructor, no lazy initialization.
#[derive(Debug)]
pub(crate) struct RecentSites {
    /// How often addresses had been forgotten when the entries were stored: later they are not valid.
    epoch: Cell<u32>,
    /// Of functions of this library: an address in it, and where the return address is, from the stack
    /// pointer.
    own: [Cell<(usize, usize)>; ENTRIES],
    /// Return addresses into functions that are no wrappers of MPI, and their call sites.
    callers: [Cell<(usize, u32)>; ENTRIES],
}

impl RecentSites {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            epoch: Cell::new(0),
            own: [const { Cell::new((0, 0)) }; ENTRIES],
            callers: [const { Cell::new((0, 0)) }; ENTRIES],
        }
    }

    /// The entry for an address: functions begin at multiples of 16, calls follow each other closely.
    #[inline]
    fn place(address: usize) -> usize {
        (address ^ address >> 5) & (ENTRIES - 1)
    }

    /// The call site, if it is one of the last.
    #[inline]
    pub(super) fn get(&self, epoch: u32, from: Registers, stack: UsedStack) -> Option<u32> {
        let (behind, offset) = self.own[Self::place(from.behind)].get();
        if behind != from.behind || self.epoch.get() != epoch {
            return None;
        }
        let caller = stack.word(from.stack.wrapping_add(offset))?;
        let (known, site) = self.callers[Self::place(caller)].get();
        (known == caller).then_some(site)
    }

    /// Remembers that the return address at `offset` from the stack pointer leads from a function of this
    /// library to `caller`.
    pub(super) fn set(&self, epoch: u32, (behind, offset): (usize, usize), caller: (usize, u32)) {
        if self.epoch.replace(epoch) != epoch {
            self.own.iter().for_each(|entry| entry.set((0, 0)));
            self.callers.iter().for_each(|entry| entry.set((0, 0)));
        }
        self.own[Self::place(behind)].set((behind, offset));
        self.callers[Self::place(caller.0)].set(caller);
    }
}

#[cfg(test)]
mod tests {
    use super::super::registers::tests::stack_of;
    use super::*;

    #[test]
    fn what_was_met_is_found_until_addresses_are_forgotten() {
        let words = [1usize, 2, 4000, 4];
        let (stack, begin) = stack_of(&words);
        let from = Registers {
            behind: 100,
            stack: begin,
            frame: 0,
        };
        let recent = RecentSites::new();
        assert_eq!(recent.get(0, from, stack), None);
        recent.set(0, (100, 16), (4000, 7));
        assert_eq!(recent.get(0, from, stack), Some(7));
        assert_eq!(recent.get(1, from, stack), None);
        let elsewhere = Registers {
            behind: 101,
            ..from
        };
        assert_eq!(recent.get(0, elsewhere, stack), None);
        recent.set(0, (100, 24), (4000, 7));
        assert_eq!(recent.get(0, from, stack), None, "another return address");
        recent.set(0, (100, 4096), (4000, 7));
        assert_eq!(recent.get(0, from, stack), None, "outside of the stack");
        recent.set(1, (101, 16), (4000, 8));
        assert_eq!(recent.get(1, from, stack), None);
        assert_eq!(recent.get(1, elsewhere, stack), Some(8));
    }
}
