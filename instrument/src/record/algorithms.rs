//! The names of the algorithms that the MPI library chooses: from a call of an algorithm to a note.

use std::ffi::c_int;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use collbench_formats::{AlgorithmStart, Definition};

use super::local::Local;
use super::recorder::Recorder;

/// An algorithm of the MPI library.
#[derive(Debug)]
pub struct Algorithm {
    name: &'static str,
    /// Index of its definition, or [`NOT_DEFINED`].
    index: AtomicU32,
}

const NOT_DEFINED: u32 = u32::MAX;

impl Algorithm {
    /// The algorithm that the library exports under this name.
    #[must_use]
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            index: AtomicU32::new(NOT_DEFINED),
        }
    }

    /// The name without the part that all have in common: `bcast_intra_binomial`.
    fn short_name(&self) -> &'static str {
        self.name
            .strip_prefix("ompi_coll_base_")
            .unwrap_or(self.name)
    }
}

/// State of the layer of algorithms.
#[derive(Debug, Default)]
pub(super) struct Algorithms {
    is_on: AtomicBool,
    n_defined: Mutex<u32>,
}

impl Algorithms {
    fn is_on(&self) -> bool {
        self.is_on.load(Ordering::Relaxed)
    }
}

impl Recorder {
    /// Begins to record the names of algorithms.
    pub(crate) fn record_algorithms(&self) {
        self.algorithms.is_on.store(true, Ordering::Relaxed);
    }

    /// Index of the definition of an algorithm. The definition is written at its first use.
    #[cold]
    fn define_algorithm(&self, algorithm: &Algorithm) -> u32 {
        let defined = self.guarded(|| {
            let n_defined = self.algorithms.n_defined.lock();
            let mut n_defined = n_defined.unwrap_or_else(std::sync::PoisonError::into_inner);
            // Another thread may have been first.
            let known = algorithm.index.load(Ordering::Acquire);
            if known != NOT_DEFINED {
                return Ok(known);
            }
            let index = *n_defined;
            self.write(&Definition::Algorithm {
                index,
                name: algorithm.short_name().to_owned(),
            })?;
            *n_defined += 1;
            algorithm.index.store(index, Ordering::Release);
            Ok(index)
        });
        defined.unwrap_or(NOT_DEFINED)
    }
}

/// Calls an algorithm of the MPI library, and records its name if its layer is on and a call is
/// under way.
#[inline]
pub fn algorithm_call(algorithm: &Algorithm, real: impl FnOnce() -> c_int) -> c_int {
    let Some(recorder) = Recorder::active().filter(|recorder| recorder.algorithms.is_on()) else {
        return real();
    };
    let local = Local::of_this_thread();
    if local.has_entered() {
        let mut index = algorithm.index.load(Ordering::Acquire);
        if index == NOT_DEFINED {
            index = recorder.define_algorithm(algorithm);
        }
        if index != NOT_DEFINED {
            let slot = local.take_slot_of_part(recorder);
            slot.write(AlgorithmStart { index }.words());
            // Reading the clock would cost more than all the rest of this, and most algorithms are
            // the first action in their call.
            let entered = slot.entered_before();
            slot.stamp(entered.unwrap_or_else(|| recorder.clock.now()));
        }
    }
    real()
}
