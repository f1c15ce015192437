//! The calls of a rank in which an initiated collective progresses; it progresses in no other time.

/// The calls of one rank in which a collective can progress.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ProgressCalls {
    /// When the initiating call returned.
    pub(crate) initiated: u64,
    /// Begin of the first test, or of the completing call; `None` if there is none.
    pub(crate) first_test: Option<u64>,
    /// When it entered the call that completed it.
    pub(crate) entered: u64,
}

impl ProgressCalls {
    /// The earliest time, not before `now`, at which something that takes `needed_ns` can be done.
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

    /// From when on the rank could receive a message that it received by the instant `taken`, and
    /// how much of the time since it was sent the rank was in no call; `None`: single tests are not
    /// visible.
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

    /// Time for which none of several ranks was in a call, from the last initiation to the first
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
