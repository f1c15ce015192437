//! When a rank is in MPI while a collective goes on that it has begun: only then does it go on.

/// The calls of one rank that a collective can go on in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgressCalls {
    /// When the initiating call returned.
    pub(crate) initiated: u64,
    /// When it tested first, or asked; `None` if it never did.
    pub(crate) first_test: Option<u64>,
    /// When it entered the call that completed it.
    pub(crate) entered: u64,
}

impl ProgressCalls {
    /// From when on something can be done that takes so long, not before `now`.
    pub(crate) fn can_act(self, now: u64, needed_ns: u64) -> Option<u64> {
        if now.saturating_add(needed_ns) <= self.initiated {
            Some(now)
        } else {
            self.first_test.map(|first_test| first_test.max(now))
        }
    }

    fn has_tested(self) -> bool {
        self.first_test
            .is_some_and(|first_test| first_test < self.entered)
    }

    /// From when on the rank was there to take what it had taken by an instant, and how much of the
    /// time since it was sent the rank was in no call; `None`: tests are not to be seen one by one.
    pub(crate) fn lateness(self, sent: u64, posted: u64, taken: u64) -> (u64, Option<u64>) {
        if self.has_tested() {
            return (posted, None);
        }
        let ready = if taken <= self.initiated {
            posted
        } else {
            posted.max(self.entered)
        };
        let from = sent.max(self.initiated);
        let late = ready.min(self.entered).saturating_sub(from);
        (ready, Some(late))
    }

    /// For how long none of several was in a call, from the last initiation to the first
    /// completion; `None` if one has tested.
    pub(crate) fn nobody_ns(all: &[Self]) -> Option<u64> {
        if all.iter().any(|calls| calls.has_tested()) {
            return None;
        }
        let initiated = all.iter().map(|calls| calls.initiated).max()?;
        let entered = all.iter().map(|calls| calls.entered).min()?;
        Some(entered.saturating_sub(initiated))
    }
}
