//! The communicators that the contexts in MPICH's tags belong to.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::mpi::Handle;

/// The contexts whose communicator is known.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    pub(crate) known: Mutex<HashMap<u16, Context>>,
    pub(crate) epoch: AtomicU64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub(crate) comm: Handle,
    pub(crate) index: u32,
}

impl Contexts {
    /// Forgets a communicator that is freed, since its contexts will be reused.
    pub(crate) fn forget(&self, comm: Handle) {
        self.epoch.fetch_add(1, Ordering::Release);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, context| context.comm != comm);
    }
}
