//! Which call site comes next, as far as that follows from those before: what need not be noted.
//!
//! Programs call in loops. Behind the same last few call sites the same one follows as a rule, so that a
//! writer notes a call site only where another one follows than the last time. A reader that makes the
//! same forecasts knows all of them.

use super::{CODE_INTERNAL, NO_CALL_SITE, Record, RecordKind};

/// The call sites of the last few calls of a thread in a chunk, hashed: which forecast holds next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CallSiteHistory(u32);

impl CallSiteHistory {
    /// Number of different histories.
    pub const N: usize = 1 << BITS;
    /// At the begin of a chunk.
    pub const NONE: Self = Self(0);

    /// A history by its index.
    #[must_use]
    #[inline]
    pub const fn of_index(index: u32) -> Self {
        Self(index % Self::N as u32)
    }

    /// Its index, below [`N`](Self::N).
    #[must_use]
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize % Self::N
    }

    /// The history with one more call, from this call site.
    #[must_use]
    #[inline]
    pub const fn then(self, site: u32) -> Self {
        let mixed = site.wrapping_mul(0x9e37_79b1) >> (u32::BITS - BITS);
        Self((self.0 << 3 ^ mixed) % Self::N as u32)
    }
}

/// Three bits for each of the last four call sites.
const BITS: u32 = 12;

/// What a reader expects of the calls of one thread, chunk by chunk.
#[derive(Debug, Clone)]
pub struct CallSiteForecast {
    history: CallSiteHistory,
    /// By history: the call site that followed the last time.
    followed_by: Box<[u32]>,
}

impl Default for CallSiteForecast {
    fn default() -> Self {
        Self {
            history: CallSiteHistory::NONE,
            followed_by: vec![NO_CALL_SITE; CallSiteHistory::N].into(),
        }
    }
}

impl CallSiteForecast {
    /// A chunk begins.
    pub fn begin_chunk(&mut self) {
        self.history = CallSiteHistory::NONE;
        self.followed_by.fill(NO_CALL_SITE);
    }

    /// A note says from where the next call is made.
    pub fn correct(&mut self, site: u32) {
        self.followed_by[self.history.index()] = site;
    }

    /// The call site of the next call, which is made; [`NO_CALL_SITE`] if it is not known.
    pub fn take(&mut self) -> u32 {
        let site = self.followed_by[self.history.index()];
        self.history = self.history.then(site);
        site
    }
}

impl Record {
    /// Whether it is of something that the application called, which is made from a call site: a call, a
    /// completion, a phase.
    #[must_use]
    #[inline]
    pub fn has_call_site(&self) -> bool {
        let word = self.word();
        word.is_of(RecordKind::Call) && !word.has(CODE_INTERNAL)
            || word.is_of(RecordKind::Completion)
            || word.is_of(RecordKind::Phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many notes a writer makes for calls from these sites, and that a reader knows them all.
    fn notes_of(sites: &[u32]) -> usize {
        let mut writer = CallSiteForecast::default();
        let mut reader = CallSiteForecast::default();
        let mut n = 0;
        for &site in sites {
            if writer.clone().take() != site {
                writer.correct(site);
                reader.correct(site);
                n += 1;
            }
            assert_eq!((writer.take(), reader.take()), (site, site));
        }
        n
    }

    #[test]
    fn a_loop_is_noted_a_few_times_and_then_no_more() {
        for n in [1, 2, 3, 8, 40] {
            let sites: Vec<u32> = (0..10_000).map(|i| i % n).collect();
            let most = n as usize + 5 + n as usize / 4;
            assert!(notes_of(&sites) <= most, "{n}: {}", notes_of(&sites));
        }
    }

    #[test]
    fn runs_of_calls_in_a_loop_are_forecast() {
        let round = [7, 7, 8, 8, 8, 9];
        let sites: Vec<u32> = round.into_iter().cycle().take(6000).collect();
        assert!(notes_of(&sites) <= 12);
        // A long run ends unexpectedly, and begins so.
        let sites: Vec<u32> = (0..10_000).map(|i| u32::from(i % 100 == 0)).collect();
        assert!(notes_of(&sites) <= 210);
    }

    #[test]
    fn nothing_is_known_where_nothing_is_noted() {
        let mut forecast = CallSiteForecast::default();
        assert_eq!(forecast.take(), NO_CALL_SITE);
        assert_eq!(forecast.take(), NO_CALL_SITE);
        forecast.correct(3);
        assert_eq!(forecast.take(), 3);
        forecast.begin_chunk();
        assert_eq!(forecast.take(), NO_CALL_SITE);
        assert_eq!(
            CallSiteHistory::of_index(u32::MAX).index(),
            CallSiteHistory::N - 1
        );
    }
}
