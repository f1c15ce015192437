//! The call sites that a thread has met last, found with a few loads.

use std::cell::Cell;

use super::frame_rule::without_signature;
use super::registers::{Registers, ReturnSlot, UsedStack};
use super::steps::{MAX_STEPS, Step, Steps};

/// Addresses in this library that are kept.
const OWN: usize = 8;
/// Sets of callers that are kept, of two each: loops with some calls find all of them.
const SETS: usize = 64;
/// Ways through other libraries that are kept.
const WAYS: usize = 16;
const _: () = assert!(OWN.is_power_of_two() && SETS.is_power_of_two());

/// A return address and its call site.
type Caller = (usize, u32);

/// What one thread has met last. Only for the thread itself; no destructor, no lazy initialization.
#[derive(Debug)]
pub(crate) struct RecentSites {
    /// How often addresses had been forgotten when the entries were stored: later they are not valid.
    epoch: Cell<u32>,
    /// Of functions of this library: an address in it, and where the return address is, from the stack
    /// pointer.
    own: [Cell<(usize, usize)>; OWN],
    /// Of functions of this library: where on the stack the return address was when the thread last called
    /// through them.
    slots: [Cell<ReturnSlot>; OWN],
    /// Return addresses into functions that are no wrappers of MPI, and their call sites; in each set the
    /// newer one first.
    callers: [[Cell<Caller>; 2]; SETS],
    /// Ways through wrappers of MPI.
    ways: [RecentWay; WAYS],
    /// The one of them that was met last, and that is replaced next.
    last: Cell<usize>,
    replaced: Cell<usize>,
}

/// A way of several functions.
#[derive(Debug)]
struct RecentWay {
    /// The address in this library where it begins; 0: there is none.
    behind: Cell<usize>,
    site: Cell<u32>,
    n: Cell<usize>,
    /// If all places are counted from the stack pointer: which words these are, and how many words that
    /// takes; otherwise 0.
    words: [Cell<usize>; MAX_STEPS],
    n_words: Cell<usize>,
    callers: [Cell<usize>; MAX_STEPS],
    steps: [Cell<Step>; MAX_STEPS],
    /// The way that was met after this one the last time.
    next: Cell<usize>,
}

impl RecentWay {
    const fn new() -> Self {
        Self {
            behind: Cell::new(0),
            site: Cell::new(0),
            n: Cell::new(0),
            words: [const { Cell::new(0) }; MAX_STEPS],
            n_words: Cell::new(0),
            callers: [const { Cell::new(0) }; MAX_STEPS],
            steps: [const { Cell::new(Step::NONE) }; MAX_STEPS],
            next: Cell::new(0),
        }
    }

    /// Whether it is the way from these registers on.
    #[inline]
    fn is_way_from(&self, from: Registers, stack: UsedStack) -> bool {
        if self.behind.get() != from.behind {
            return false;
        }
        let n_words = self.n_words.get();
        if n_words == 0 {
            return self.has_steps_from(from, stack);
        }
        let Some(words) = stack.words(from.stack, n_words) else {
            return false;
        };
        let places = self.words.iter().zip(&self.callers).take(self.n.get());
        for (word, caller) in places {
            if words.get(word.get()).map(without_signature) != Some(caller.get()) {
                return false;
            }
        }
        true
    }

    /// The same, by way of frames that are found from others.
    #[inline(never)]
    fn has_steps_from(&self, from: Registers, stack: UsedStack) -> bool {
        let mut base = from.stack;
        let steps = self.steps.iter().take(self.n.get());
        steps.map(Cell::get).all(|step| {
            let found = step.follow(&mut base, from.frame, stack);
            found.map(without_signature) == Some(step.caller)
        })
    }

    fn set(&self, behind: usize, site: u32, steps: &[Step]) {
        self.behind.set(behind);
        self.site.set(site);
        self.n.set(steps.len());
        let mut n_words = Some(0);
        for (i, &step) in steps.iter().enumerate() {
            let word = step.word_from_stack();
            n_words = word.and_then(|word| Some(n_words?.max(word + 1)));
            self.words[i].set(word.unwrap_or(0));
            self.callers[i].set(step.caller);
            self.steps[i].set(step);
        }
        self.n_words.set(n_words.unwrap_or(0));
    }
}

impl RecentSites {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self {
            epoch: Cell::new(0),
            own: [const { Cell::new((0, 0)) }; OWN],
            slots: [const { Cell::new(ReturnSlot::NONE) }; OWN],
            callers: [const { [const { Cell::new((0, 0)) }; 2] }; SETS],
            ways: [const { RecentWay::new() }; WAYS],
            last: Cell::new(0),
            replaced: Cell::new(0),
        }
    }

    /// The entry of an address among `n`: the upper bits of a product. The factor, as a fraction of 2^64, is
    /// 0.997, so that addresses which follow each other closely go round through all entries.
    #[inline]
    fn place(address: usize, n: usize) -> usize {
        address.wrapping_mul(0xff51_afd7_ed55_8ccd) >> (usize::BITS - n.ilog2())
    }

    /// The call site, if the caller of this library is one of the last, and the stack is as deep as then.
    #[inline(always)]
    pub(super) fn at_same_depth(&self, epoch: u32, from: Registers) -> Option<u32> {
        if self.epoch.get() != epoch {
            return None;
        }
        let slot = self.slots[Self::place(from.behind, OWN)].get();
        self.site_of(slot.return_address(from)?)
    }

    /// The call site, if the caller of this library is one of the last.
    pub(super) fn of_caller(&self, epoch: u32, from: Registers, stack: UsedStack) -> Option<u32> {
        if self.epoch.get() != epoch {
            return None;
        }
        let at = Self::place(from.behind, OWN);
        let (behind, offset) = self.own[at].get();
        if behind != from.behind {
            return None;
        }
        let slot = ReturnSlot::of(from, offset, stack)?;
        self.slots[at].set(slot);
        self.site_of(slot.return_address(from)?)
    }

    #[inline(always)]
    fn site_of(&self, caller: usize) -> Option<u32> {
        let [newer, older] = &self.callers[Self::place(caller, SETS)];
        for entry in [newer, older] {
            let (known, site) = entry.get();
            if known == caller {
                return Some(site);
            }
        }
        None
    }

    /// The call site of a way through wrappers, if it is one of the last.
    #[inline]
    pub(super) fn of_way(&self, epoch: u32, from: Registers, stack: UsedStack) -> Option<u32> {
        if self.epoch.get() != epoch {
            return None;
        }
        let last = &self.ways[self.last.get()];
        let next = &self.ways[last.next.get()];
        if next.is_way_from(from, stack) {
            self.last.set(last.next.get());
            return Some(next.site.get());
        }
        self.find_way(from, stack)
    }

    #[cold]
    fn find_way(&self, from: Registers, stack: UsedStack) -> Option<u32> {
        let mut ways = self.ways.iter();
        let found = ways.position(|way| way.is_way_from(from, stack))?;
        self.ways[self.last.replace(found)].next.set(found);
        Some(self.ways[found].site.get())
    }

    /// Remembers that the return address at `offset` from the stack pointer leads from a function of this
    /// library to `caller`.
    pub(super) fn set(&self, epoch: u32, (behind, offset): (usize, usize), caller: Caller) {
        self.begin(epoch);
        let at = Self::place(behind, OWN);
        if self.own[at].replace((behind, offset)) != (behind, offset) {
            self.slots[at].set(ReturnSlot::NONE);
        }
        let [newer, older] = &self.callers[Self::place(caller.0, SETS)];
        if newer.get().0 != caller.0 {
            older.set(newer.replace(caller));
        }
    }

    /// Remembers a way from an address in this library to a call site.
    pub(super) fn set_way(&self, epoch: u32, behind: usize, steps: &Steps, site: u32) {
        self.begin(epoch);
        let Some(steps) = steps.all() else { return };
        let at = self.replaced.get();
        self.replaced.set((at + 1) % WAYS);
        self.ways[at].set(behind, site, steps);
        self.ways[self.last.replace(at)].next.set(at);
    }

    /// Forgets all that was stored when fewer addresses had been forgotten.
    fn begin(&self, epoch: u32) {
        if self.epoch.replace(epoch) != epoch {
            self.own.iter().for_each(|entry| entry.set((0, 0)));
            let slots = self.slots.iter();
            slots.for_each(|entry| entry.set(ReturnSlot::NONE));
            let callers = self.callers.iter().flatten();
            callers.for_each(|entry| entry.set((0, 0)));
            self.ways.iter().for_each(|way| way.behind.set(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame_rule::{Base, FrameRule};
    use super::super::registers::tests::stack_of;
    use super::*;

    fn get(recent: &RecentSites, epoch: u32, from: Registers, stack: UsedStack) -> Option<u32> {
        let of_caller = recent.of_caller(epoch, from, stack);
        assert!(of_caller.is_none() || recent.at_same_depth(epoch, from) == of_caller);
        of_caller.or_else(|| recent.of_way(epoch, from, stack))
    }

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
        assert_eq!(get(&recent, 0, from, stack), None);
        recent.set(0, (100, 16), (4000, 7));
        assert_eq!(get(&recent, 0, from, stack), Some(7));
        assert_eq!(get(&recent, 1, from, stack), None);
        let elsewhere = Registers {
            behind: 101,
            ..from
        };
        assert_eq!(get(&recent, 0, elsewhere, stack), None);
        recent.set(0, (100, 24), (4000, 7));
        assert_eq!(get(&recent, 0, from, stack), None, "another return address");
        recent.set(0, (100, 4096), (4000, 7));
        assert_eq!(get(&recent, 0, from, stack), None, "outside of the stack");
        recent.set(1, (101, 16), (4000, 8));
        assert_eq!(get(&recent, 1, from, stack), None);
        assert_eq!(get(&recent, 1, elsewhere, stack), Some(8));
    }

    #[test]
    fn callers_of_a_long_loop_are_all_kept() {
        let recent = RecentSites::new();
        for i in 0..40 {
            recent.set(0, (100, 0), (4000 + 24 * i, i as u32));
        }
        let found = (0..40).filter(|i| {
            let words = [4000 + 24 * i];
            let (stack, begin) = stack_of(&words);
            let from = Registers {
                behind: 100,
                stack: begin,
                frame: 0,
            };
            get(&recent, 0, from, stack) == Some(*i as u32)
        });
        assert_eq!(found.count(), 40);
    }

    #[test]
    fn ways_through_wrappers_are_found_in_turns() {
        let recent = RecentSites::new();
        let rule = FrameRule::new(Base::Stack, 16, -8, None).unwrap();
        let words_of = |site: usize| [0, 3000, 1, 5000 + site];
        for site in 0..WAYS + 4 {
            let mut steps = Steps::default();
            steps.add(rule, 3000);
            steps.add(rule, 5000 + site);
            recent.set_way(0, 100, &steps, site as u32);
        }
        for site in (0..WAYS + 4).cycle().take(100) {
            let words = words_of(site);
            let (stack, begin) = stack_of(&words);
            let from = Registers {
                behind: 100,
                stack: begin,
                frame: 0,
            };
            // The oldest were replaced.
            let expected = (site >= 4).then_some(site as u32);
            assert_eq!(get(&recent, 0, from, stack), expected, "{site}");
            assert_eq!(get(&recent, 1, from, stack), None);
            let elsewhere = Registers {
                behind: 101,
                ..from
            };
            assert_eq!(get(&recent, 0, elsewhere, stack), None);
        }
    }
}
