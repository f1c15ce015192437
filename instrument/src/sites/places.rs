//! Tables without locks: what is known of addresses, and of ways.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use super::frame_rule::FrameRule;

/// Entries that are looked at before one counts as missing.
const MAX_PROBES: usize = 8;

/// A key that is not used.
const FREE: u64 = 0;
/// A key whose entry is not valid any more.
const FORGOTTEN: u64 = 1;

/// One entry; key and value are stored once, the key last.
#[derive(Debug, Default)]
struct Entry {
    key: AtomicU64,
    value: AtomicU64,
    /// The call site of the way that consists of this address only, or that has this hash.
    site: AtomicU32,
}

/// A table with keys of 64 bits, greater than 1, which threads fill and read without waiting.
#[derive(Debug)]
pub(super) struct Table {
    entries: Box<[Entry]>,
    is_inserting: AtomicBool,
    /// Whether there was no room for something.
    is_full: AtomicBool,
}

/// An entry that was found.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Known<'t>(&'t Entry);

/// No call site was stored yet.
const NO_SITE: u32 = 0;

impl<'t> Known<'t> {
    /// How to get to the caller.
    #[inline]
    pub(super) fn rule(self) -> FrameRule {
        FrameRule::of_bits(self.0.value.load(Ordering::Relaxed))
    }

    /// The call site, if it was stored.
    #[inline]
    pub(crate) fn site(self) -> Option<u32> {
        self.0.site.load(Ordering::Acquire).checked_sub(1)
    }

    /// Stores the call site.
    pub(crate) fn set_site(self, index: u32) {
        if let Some(stored) = index.checked_add(1) {
            self.0.site.store(stored, Ordering::Release);
        }
    }
}

impl Table {
    /// A table with room for this many entries, a power of two.
    pub(super) fn new(n_entries: usize) -> Self {
        assert!(n_entries.is_power_of_two() && n_entries > MAX_PROBES);
        let entries = std::iter::repeat_with(Entry::default).take(n_entries);
        Self {
            entries: entries.collect(),
            is_inserting: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
        }
    }

    /// Indexes of the entries that may have a key.
    #[inline]
    fn probes(&self, key: u64) -> impl Iterator<Item = &Entry> {
        let mask = self.entries.len() - 1;
        let hash = key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - mask.count_ones());
        (0..MAX_PROBES).map(move |i| &self.entries[(hash as usize + i) & mask])
    }

    /// The entry with a key.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<Known<'_>> {
        for entry in self.probes(key) {
            match entry.key.load(Ordering::Acquire) {
                found if found == key => return Some(Known(entry)),
                FREE => return None,
                _ => {}
            }
        }
        None
    }

    /// Adds an entry, unless there is no room, or somebody else adds one at this moment (which a
    /// signal handler may have interrupted); `None` then. Gives the entry of the key.
    pub(super) fn insert(&self, key: u64, value: FrameRule) -> Option<Known<'_>> {
        if key <= FORGOTTEN || self.is_inserting.swap(true, Ordering::Acquire) {
            return None;
        }
        let found = self.get(key).or_else(|| {
            let is_free = |entry: &&Entry| entry.key.load(Ordering::Relaxed) == FREE;
            let Some(entry) = self.probes(key).find(is_free) else {
                self.is_full.store(true, Ordering::Relaxed);
                return None;
            };
            entry.value.store(value.bits(), Ordering::Relaxed);
            entry.site.store(NO_SITE, Ordering::Relaxed);
            entry.key.store(key, Ordering::Release);
            Some(Known(entry))
        });
        self.is_inserting.store(false, Ordering::Release);
        found
    }

    /// Whether there was no room for something.
    pub(super) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Makes the entries of some keys invalid.
    pub(super) fn forget(&self, which: impl Fn(u64) -> bool) {
        for entry in &self.entries {
            let key = entry.key.load(Ordering::Relaxed);
            if key > FORGOTTEN && which(key) {
                entry.key.store(FORGOTTEN, Ordering::Release);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame_rule::Base;
    use super::*;

    fn rule(offset: i64) -> FrameRule {
        FrameRule::new(Base::Stack, offset, -8, None).unwrap()
    }

    #[test]
    fn what_was_added_is_found_until_it_is_forgotten() {
        let table = Table::new(1 << 8);
        let keys = (0..100).map(|i| 0x5555_0000_1000 + 13 * i);
        let inserted: Vec<u64> = keys
            .filter(|&key| table.insert(key, rule((key % 97) as i64 * 8)).is_some())
            .collect();
        assert!(inserted.len() > 90);
        for &key in &inserted {
            let known = table.get(key).unwrap();
            assert_eq!(known.rule(), rule((key % 97) as i64 * 8));
            assert_eq!(known.site(), None);
            known.set_site(key as u32 % 7);
            assert_eq!(table.get(key).unwrap().site(), Some(key as u32 % 7));
        }
        table.forget(|key| key % 2 == 0);
        for key in inserted {
            assert_eq!(table.get(key).is_some(), key % 2 == 1);
        }
    }

    #[test]
    fn a_full_table_takes_no_more_and_goes_on() {
        let table = Table::new(16);
        let n = (2..1000).filter(|&key| table.insert(key, rule(8)).is_some());
        assert!(n.count() <= 16);
        assert!(table.get(5000).is_none() && table.is_full());
        let first = table.entries[3].key.load(Ordering::Relaxed);
        assert!(table.insert(first, rule(16)).is_some(), "there already");
        assert_eq!(table.get(first).unwrap().rule(), rule(8));
    }

    #[test]
    fn threads_that_insert_together_find_whole_entries() {
        let table = &Table::new(1 << 12);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                scope.spawn(move || {
                    for key in 2..500u64 {
                        let key = key + thread % 2;
                        table.insert(key, rule(key as i64 * 8));
                        if let Some(known) = table.get(key) {
                            assert_eq!(known.rule(), rule(key as i64 * 8));
                        }
                    }
                });
            }
        });
    }
}
