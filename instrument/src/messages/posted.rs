//! The receives that a thread has posted within the present call.

use std::cell::UnsafeCell;

use super::raw_message::RawMessage;
use crate::file::Slot;
use crate::mpi::{Handle, HandleMap};

/// What a thread knows of the receives that it has posted within the present call.
#[derive(Debug, Default)]
pub(crate) struct Receives(UnsafeCell<Posted>);

// SAFETY: a thread's state is used by one thread at a time, and `Receives` by no other.
unsafe impl Sync for Receives {}

impl Receives {
    /// What is known of them.
    ///
    /// # Safety
    /// The calling thread is that whose they are, and nothing else that this gave is in use.
    #[expect(
        clippy::mut_from_ref,
        reason = "one thread has it, as the caller promises"
    )]
    #[inline(always)]
    pub(crate) unsafe fn posted(&self) -> &mut Posted {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.get() }
    }

    /// Forgets those of a thread that has ended, for another one that goes on with its state.
    ///
    /// # Safety
    /// The calling thread is that one.
    pub(crate) unsafe fn forget(&self) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() = Posted::default() };
    }

    /// Forgets those of calls that were left by a jump, perhaps out of the middle of a change: what
    /// they hold is never freed.
    ///
    /// # Safety
    /// The calling thread is that whose they are.
    pub(crate) unsafe fn abandon(&self) {
        // SAFETY: the caller's promise.
        unsafe { self.0.get().write(Posted::default()) };
    }
}

#[derive(Debug, Default)]
pub(crate) struct Posted {
    /// In which of the thread's calls.
    pub(crate) call: u64,
    pub(crate) by_request: ByRequest,
    /// Requests that the library can start, made in the same call.
    pub(crate) startable: HandleMap<RawMessage>,
    /// Those that are waited for now: of calls within calls, one behind the other.
    pub(crate) awaited: Vec<Slot>,
    /// The request that was completed last, but had not been posted yet as far as is known here.
    pub(crate) completed: Handle,
}

impl Posted {
    /// Forgets what belongs to another call than this one.
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

/// Receives that are searched one after the other: most calls have no more under way at a time.
const FEW: usize = 8;

/// Receives by their requests. A request that is posted again stands for the newer one.
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
            Some(place) => {
                *place = Some((request, slot));
                self.n_few += 1;
            }
            None => {
                self.many.insert(request, slot);
            }
        }
    }

    /// Where the ends of all of them will be stored.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let few = self.few[..self.n_few.min(FEW)].iter().flatten();
        let few = few.map(|(_, slot)| *slot);
        few.chain(self.many.values().copied())
    }

    /// Forgets those whose slots are not as wanted.
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

    /// Where a request stands among the few.
    #[inline]
    fn place(&self, request: Handle) -> Option<usize> {
        let few = &self.few[..self.n_few.min(FEW)];
        few.iter()
            .rposition(|place| place.is_some_and(|(other, _)| other == request))
    }

    #[inline]
    pub(crate) fn get(&self, request: Handle) -> Option<Slot> {
        // What did not fit among the few any more is newer.
        if !self.many.is_empty()
            && let Some(&slot) = self.many.get(&request)
        {
            return Some(slot);
        }
        self.few[self.place(request)?].map(|(_, slot)| slot)
    }

    #[inline]
    pub(crate) fn remove(&mut self, request: Handle) -> Option<Slot> {
        if !self.many.is_empty()
            && let Some(slot) = self.many.remove(&request)
        {
            return Some(slot);
        }
        let at = self.place(request)?;
        self.n_few -= 1;
        // The order counts among those with the same request only, of which the newest is searched
        // for; older ones have been waited for.
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
        // The same request again: the newer one counts, wherever it stands.
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
