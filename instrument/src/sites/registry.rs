//! The call sites of a process that are defined, and what a reader forecasts of those of a thread.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use collbench_formats::{CallSiteHistory, NO_CALL_SITE};

use super::walk::{CallSites, Modules};

/// What finds out from where calls are made, and what of it is defined in the trace.
#[derive(Debug)]
pub(crate) struct SiteRegistry {
    pub(crate) sites: CallSites,
    pub(crate) defined: Mutex<DefinedSites>,
}

/// The definitions in the trace.
#[derive(Debug, Default)]
pub(crate) struct DefinedSites {
    pub(crate) modules: Modules,
    /// Number of call sites.
    pub(crate) n: u32,
}

impl SiteRegistry {
    pub(crate) fn new(sites: CallSites) -> Self {
        Self {
            sites,
            defined: Mutex::default(),
        }
    }
}

/// What a reader will forecast of the calls of a thread in its current chunk, as
/// [`CallSiteForecast`](collbench_formats::CallSiteForecast) does. Only its own thread uses it.
#[derive(Debug)]
pub(crate) struct ForecastSites {
    history: AtomicU32,
    followed_by: [AtomicU32; CallSiteHistory::N],
}

impl Default for ForecastSites {
    fn default() -> Self {
        Self {
            history: AtomicU32::new(0),
            followed_by: [const { AtomicU32::new(NO_CALL_SITE) }; CallSiteHistory::N],
        }
    }
}

impl ForecastSites {
    #[inline(always)]
    fn history(&self) -> CallSiteHistory {
        CallSiteHistory::of_index(self.history.load(Ordering::Relaxed))
    }

    /// The call site that will be forecast for the next call.
    #[inline(always)]
    pub(crate) fn expected(&self) -> u32 {
        self.followed_by[self.history().index()].load(Ordering::Relaxed)
    }

    /// A note says from where the next call is made.
    #[inline]
    pub(crate) fn correct(&self, site: u32) {
        self.followed_by[self.history().index()].store(site, Ordering::Relaxed);
    }

    /// The next call is made, from the call site that is forecast.
    #[inline(always)]
    pub(crate) fn pass(&self, site: u32) {
        let next = self.history().then(site);
        self.history.store(next.index() as u32, Ordering::Relaxed);
    }

    /// A chunk begins: nothing is noted in it yet.
    pub(crate) fn begin_chunk(&self) {
        self.history.store(0, Ordering::Relaxed);
        for site in &self.followed_by {
            site.store(NO_CALL_SITE, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use collbench_formats::CallSiteForecast;

    use super::*;

    #[test]
    fn a_reader_forecasts_what_the_recorder_expects() {
        let (own, mut reader) = (ForecastSites::default(), CallSiteForecast::default());
        for i in 0..5_000u32 {
            if i % 1_700 == 0 {
                own.begin_chunk();
                reader.begin_chunk();
            }
            let site = match i.wrapping_mul(0x9e37_79b9) >> 24 {
                0..3 => NO_CALL_SITE,
                3..30 => i % 50,
                _ => i % 7,
            };
            if own.expected() != site {
                own.correct(site);
                reader.correct(site);
            }
            own.pass(site);
            assert_eq!(reader.take(), site, "{i}");
        }
    }
}
