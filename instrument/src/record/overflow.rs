//! Requests that do not fit into the table, because many are outstanding at a time.
//!
//! They may all have the same handle, or be completed in any order, so each is found, added and
//! taken in a number of steps that does not depend on how many there are. This takes a lock. Few
//! requests get here, and a table that grows without a lock would cost more for those that do fit.

use std::collections::TryReserveError;
use std::collections::hash_map::{Entry as KeyEntry, HashMap};
use std::hash::{BuildHasherDefault, Hasher};

use super::requests::{Entry, Tracked};
use crate::host::mix;
use crate::mpi::Handle;

/// Number of entries that are allocated at a time.
const BLOCK: usize = 64;

/// The index of no entry.
const NO_ENTRY: u32 = u32::MAX;

/// In index of an owner: requests of all threads.
const ANY: usize = 0;

/// Requests with this handle, of this owner or of all ([`ANY`]).
#[derive(Debug, Clone, Copy, Eq)]
struct Key {
    handle: Handle,
    owner: usize,
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        count_step();
        self.handle == other.handle && self.owner == other.owner
    }
}

impl std::hash::Hash for Key {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(mix(&[self.handle as u64, self.owner as u64]));
    }
}

/// A hasher that passes values on, since keys are mixed already.
#[derive(Debug, Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, word: u64) {
        self.0 = word;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Links of an entry to others with the same handle.
#[derive(Debug, Clone, Copy)]
struct Link {
    handle: Handle,
    owner: usize,
    /// The next newer entry; then the next older one.
    newer: u32,
    older: u32,
    /// The next older entry of the same owner; for a free entry, the next free one.
    older_own: u32,
}

/// The requests that did not fit into the table.
#[derive(Debug)]
pub(super) struct Overflow {
    /// Never freed, so that a thread that has taken an entry can read it without the lock.
    blocks: Vec<&'static [Entry]>,
    links: Vec<Link>,
    first_free: u32,
    newest: HashMap<Key, u32, BuildHasherDefault<Mixed>>,
}

impl Default for Overflow {
    fn default() -> Self {
        Self {
            blocks: Vec::new(),
            links: Vec::new(),
            first_free: NO_ENTRY,
            newest: HashMap::default(),
        }
    }
}

impl Overflow {
    /// Adds a request as the newest one with its handle.
    ///
    /// # Errors
    /// There is no memory. `tracked` is not dropped then, since the MPI library reads arrays in it.
    pub(super) fn add(
        &mut self,
        handle: Handle,
        owner: usize,
        stamp: u64,
        tracked: Tracked,
    ) -> Result<(), TryReserveError> {
        if let Err(error) = self.make_room() {
            std::mem::forget(tracked);
            return Err(error);
        }
        let at = self.first_free;
        let link = &mut self.links[at as usize];
        self.first_free = link.older_own;
        (link.handle, link.owner) = (handle, owner);
        // SAFETY: the entry is free: no other thread has it, and its old contents need no drop.
        unsafe { self.entry(at).fill(owner, stamp, tracked) };
        self.link(at);
        Ok(())
    }

    /// Makes sure that there is a free entry, and memory for its keys.
    fn make_room(&mut self) -> Result<(), TryReserveError> {
        self.newest.try_reserve(2)?;
        if self.first_free != NO_ENTRY {
            return Ok(());
        }
        self.blocks.try_reserve(1)?;
        self.links.try_reserve(BLOCK)?;
        let first = self.links.len() as u32;
        let mut block = Vec::new();
        block.try_reserve_exact(BLOCK)?;
        for at in first..first + BLOCK as u32 {
            block.push(Entry::in_overflow(at));
            self.links.push(Link {
                handle: 0,
                owner: ANY,
                newer: NO_ENTRY,
                older: NO_ENTRY,
                older_own: if at + 1 < first + BLOCK as u32 {
                    at + 1
                } else {
                    NO_ENTRY
                },
            });
        }
        self.blocks.push(block.leak());
        self.first_free = first;
        Ok(())
    }

    fn entry(&self, at: u32) -> &'static Entry {
        &self.blocks[at as usize / BLOCK][at as usize % BLOCK]
    }

    /// The newest entry with this handle, of this owner if it has one.
    pub(super) fn newest(&self, handle: Handle, owner: usize) -> Option<&'static Entry> {
        let of = |owner| self.newest.get(&Key { handle, owner });
        let at = of(owner).or_else(|| of(ANY))?;
        Some(self.entry(*at))
    }

    /// Takes an entry that [`newest`](Self::newest) returned, so that it is not found any more.
    pub(super) fn take(&mut self, entry: &'static Entry) {
        let Some(at) = entry.index() else { return };
        let Link {
            handle,
            owner,
            newer,
            older,
            older_own,
        } = self.links[at as usize];
        match newer {
            NO_ENTRY => self.set_newest(Key { handle, owner: ANY }, older),
            newer => self.links[newer as usize].older = older,
        }
        if older != NO_ENTRY {
            self.links[older as usize].newer = newer;
        }
        // The newest of all entries with a handle is also the newest of its owner.
        self.set_newest(Key { handle, owner }, older_own);
    }

    /// Puts an entry back as the newest one.
    pub(super) fn put_back(&mut self, entry: &'static Entry) {
        // If there is no memory, the entry is dropped, and recording ends at the next opportunity.
        if let (Some(at), Ok(())) = (entry.index(), self.newest.try_reserve(2)) {
            self.link(at);
        }
    }

    /// Frees an entry that was taken.
    pub(super) fn free(&mut self, entry: &'static Entry) {
        let Some(at) = entry.index() else { return };
        self.links[at as usize].older_own = self.first_free;
        self.first_free = at;
    }

    /// Makes an entry the newest one with its handle, and of its owner.
    fn link(&mut self, at: u32) {
        let Link { handle, owner, .. } = self.links[at as usize];
        let mut replace = |owner| {
            let before = self.newest.insert(Key { handle, owner }, at);
            before.unwrap_or(NO_ENTRY)
        };
        let (older, older_own) = (replace(ANY), replace(owner));
        if older != NO_ENTRY {
            self.links[older as usize].newer = at;
        }
        self.links[at as usize] = Link {
            handle,
            owner,
            newer: NO_ENTRY,
            older,
            older_own,
        };
    }

    fn set_newest(&mut self, key: Key, at: u32) {
        let KeyEntry::Occupied(mut key_entry) = self.newest.entry(key) else {
            return;
        };
        match at {
            NO_ENTRY => drop(key_entry.remove()),
            at => drop(key_entry.insert(at)),
        }
    }
}

/// Counts a comparison of keys, for tests of the number of steps.
#[inline(always)]
fn count_step() {
    #[cfg(test)]
    tests::STEPS.set(tests::STEPS.get() + 1);
}

#[cfg(test)]
pub(super) mod tests {
    use std::cell::Cell;

    thread_local! {
        pub(in super::super) static STEPS: Cell<u64> = const { Cell::new(0) };
    }
}
