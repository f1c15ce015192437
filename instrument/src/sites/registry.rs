//! The call sites of a process that are defined, and which of them a thread has noted last.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

use collbench_formats::NO_CALL_SITE;

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

/// The call site that the last note in a thread's chunk has.
#[derive(Debug)]
pub(crate) struct NotedSite(AtomicU32);

impl Default for NotedSite {
    fn default() -> Self {
        Self(AtomicU32::new(NO_CALL_SITE))
    }
}

impl NotedSite {
    #[inline(always)]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Relaxed)
    }

    /// Only for the thread itself.
    #[inline]
    pub(crate) fn set(&self, index: u32) {
        self.0.store(index, Ordering::Relaxed);
    }

    /// A chunk begins: it has no note yet.
    pub(crate) fn forget(&self) {
        self.set(NO_CALL_SITE);
    }
}
