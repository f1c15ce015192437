//! The receives that a thread has posted within the current call.

use std::cell::UnsafeCell;

use super::raw_message::RawMessage;
use crate::file::Slot;
use crate::mpi::{Handle, HandleMap};

/// A cell for the receives that a thread has posted within the current call.
#[derive(Debug, Default)]
pub(crate) struct Receives(UnsafeCell<Posted>);

// SAFETY: a thread's state is used by one thread at a time, and `Receives` only by that thread.
unsafe impl Sync for Receives {}

impl Receives {
    /// The receives.
    ///
    /// # Safety
    /// They belong to the calling thread, and no other reference that this returned is in use.
    #[expect(
        clippy::mut_from_ref,
        reason = "one thread has it, as the caller promises"
    )]
    #[inline(always)]
    pub(crate) unsafe fn posted(&self) -> &mut Posted {
        // SAFETY: the caller promises that there is no other reference.
        unsafe { &mut *self.0.get() }
    }

    /// Forgets the receives of a thread that has ended, for another one that continues with its
    /// state.
    ///
    /// # Safety
    /// The calling thread is the one that continues.
    pub(crate) unsafe fn forget(&self) {
        // SAFETY: the caller promises that only this thread uses the state.
        unsafe { *self.0.get() = Posted::default() };
    }

    /// Forgets the receives of calls that the program left by a jump, perhaps in the middle of a
    /// change. Their memory is never freed.
    ///
    /// # Safety
    /// They belong to the calling thread.
    pub(crate) unsafe fn abandon(&self) {
        // SAFETY: the caller promises that they belong to this thread; the old value is not read.
        unsafe { self.0.get().write(Posted::default()) };
    }
}

#[derive(Debug, Default)]
pub(crate) struct Posted {
    /// In which of the thread's calls they were posted.
    pub(crate) call: u64,
    pub(crate) by_request: ByRequest,
    /// Requests made in the same call that the library can start.
    pub(crate) startable: HandleMap<RawMessage>,
    /// Receives that the library is waiting for; with nested calls, those of the inner call follow.
    pub(crate) awaited: Vec<Slot>,
    /// The request that was completed last and was not known as posted then.
    pub(crate) completed: Handle,
}

impl Posted {
    /// Forgets what belongs to a call other than this one.
    #[inline]
    pub(crate) fn begin(&mut self, call: u64) {
        if self.call != call {
            self.by_request.clear();
            if !self.startable.is_empty() {
                self.startable.clear();
            }
            self.call = call;
        }
    }
}

/// Up to this many receives are searched linearly: most calls have no more outstanding at a time.
const FEW: usize = 8;

/// Receives by their requests. A request that is posted again denotes the newer receive.
#[derive(Debug, Default)]
pub(crate) struct ByRequest {
    few: [Option<(Handle, Slot)>; FEW],
    n_few: usize,
    many: HandleMap<Slot>,
}

impl ByRequest {
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.n_few == 0 && self.many.is_empty()
    }

    #[inline]
    fn clear(&mut self) {
        self.n_few = 0;
        if !self.many.is_empty() {
            self.many.clear();
        }
    }

    #[inline]
    pub(crate) fn insert(&mut self, request: Handle, slot: Slot) {
        match self.few.get_mut(self.n_few) {
            Some(entry) => {
                *entry = Some((request, slot));
                self.n_few += 1;
            }
            None => {
                self.many.insert(request, slot);
            }
        }
    }

    /// The slots of all receives.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let few = self.few[..self.n_few.min(FEW)].iter().flatten();
        let few = few.map(|(_, slot)| *slot);
        few.chain(self.many.values().copied())
    }

    /// Forgets receives whose slots are not wanted.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(Slot) -> bool) {
        let mut n = 0;
        for at in 0..self.n_few.min(FEW) {
            if self.few[at].is_some_and(|(_, slot)| is_wanted(slot)) {
                self.few[n] = self.few[at];
                n += 1;
            }
        }
        self.n_few = n;
        self.many.retain(|_, slot| is_wanted(*slot));
    }

    /// The index of a request in the short list.
    #[inline]
    fn index_of(&self, request: Handle) -> Option<usize> {
        let few = &self.few[..self.n_few.min(FEW)];
        few.iter()
            .rposition(|entry| entry.is_some_and(|(other, _)| other == request))
    }

    #[inline]
    pub(crate) fn get(&self, request: Handle) -> Option<Slot> {
        // Receives that did not fit into the short list are newer.
        if !self.many.is_empty()
            && let Some(&slot) = self.many.get(&request)
        {
            return Some(slot);
        }
        self.few[self.index_of(request)?].map(|(_, slot)| slot)
    }

    #[inline]
    pub(crate) fn remove(&mut self, request: Handle) -> Option<Slot> {
        if !self.many.is_empty()
            && let Some(slot) = self.many.remove(&request)
        {
            return Some(slot);
        }
        let at = self.index_of(request)?;
        self.n_few -= 1;
        // The order only matters among receives with the same request, of which the newest is
        // searched for; the library has waited for the older ones.
        self.few.swap(at, self.n_few);
        self.few[self.n_few].map(|(_, slot)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::slot::tests::slot_at;

    #[test]
    fn receives_are_found_by_their_requests_be_they_few_or_many() {
        let slot = slot_at;
        let mut receives = ByRequest::default();
        for n in 1..=3 * FEW {
            receives.insert(n, slot(n));
        }
        assert_eq!(
            receives.get(2 * FEW).map(Slot::address),
            Some(slot(2 * FEW).address())
        );
        for n in [FEW, 2 * FEW, 1, 3 * FEW] {
            assert_eq!(
                receives.remove(n).map(Slot::address),
                Some(slot(n).address())
            );
            assert!(
                receives.get(n).is_none() && receives.remove(n).is_none(),
                "{n}"
            );
        }
        // The same request again: the newer receive counts, in either list.
        receives.insert(2, slot(100));
        assert_eq!(
            receives.get(2).map(Slot::address),
            Some(slot(100).address())
        );
        receives.clear();
        assert!(receives.is_empty() && receives.get(3).is_none());
        receives.insert(7, slot(1));
        receives.insert(7, slot(2));
        assert_eq!(
            receives.remove(7).map(Slot::address),
            Some(slot(2).address())
        );
    }
}
