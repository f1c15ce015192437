//! A nonblocking operation with a computation, of a fixed amount of work, while it is under way.
//!
//! # Source
//! Hoefler et al. 2007, section 4.1 and listing 6; section 4.2 for the tests.

use std::ffi::c_int;
use std::mem::MaybeUninit;

use collbench_instrument::Clock;
use mpi::ffi;
use serde::{Deserialize, Serialize};

use super::call::Call;
use super::operation::Operation;
use crate::measure::global_clock::Line;
use crate::measure::start::Parts;

/// What is done between initiation and wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Overlap {
    /// The work: iterations of [`compute`].
    pub(super) iterations: u64,
    /// Calls of `MPI_Test`, spread evenly from the begin to the end of the work.
    pub(super) tests: u64,
}

/// Time inside MPI, ticks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct PartTicks {
    initiation: u64,
    tests: u64,
    wait: u64,
}

impl PartTicks {
    /// In ns.
    pub(super) fn in_ns(self, line: Line) -> Parts {
        let ns = |ticks| line.span_ns(ticks).round() as i64;
        Parts {
            initiation: ns(self.initiation),
            tests: ns(self.tests),
            wait: ns(self.wait),
        }
    }
}

/// Number of tests for a message: ceil(`bytes` / `interval`) + 1, `interval` > 0.
pub(super) fn n_tests(bytes: u64, interval: u64) -> u64 {
    bytes.div_ceil(interval) + 1
}

/// The work of `iterations` steps, each of which needs the one before.
#[inline(never)]
pub(super) fn compute(iterations: u64) {
    let mut state = std::hint::black_box(88_172_645_463_325_252u64);
    for _ in 0..iterations {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    std::hint::black_box(state);
}

/// The work between tests: the pieces in order. Between two of them lies a test; with several tests
/// one is before the first piece and one after the last.
fn pieces(iterations: u64, tests: u64) -> impl Iterator<Item = u64> {
    let n = tests.saturating_sub(1).max(1);
    // Where each piece ends, so that nothing is lost by rounding.
    let end = move |i: u64| (u128::from(iterations) * u128::from(i) / u128::from(n)) as u64;
    (0..n).map(move |i| end(i + 1) - end(i))
}

impl Overlap {
    /// Begins the operation, computes and tests, and waits for it; of an operation that is not
    /// nonblocking it computes only. Returns the return code, and adds the time inside MPI.
    #[inline]
    pub(super) fn run(self, call: &Call, clock: Clock, parts: &mut Vec<PartTicks>) -> c_int {
        let Operation::Nonblocking(collective) = call.operation() else {
            compute(self.iterations);
            return 0;
        };
        let mut ticks = PartTicks::default();
        let mut request = MaybeUninit::uninit();
        let begin = clock.now();
        let mut worst = call.initiate(collective, request.as_mut_ptr());
        ticks.initiation = clock.now() - begin;
        if worst != 0 {
            return worst;
        }
        let mut test = || {
            let begin = clock.now();
            let mut is_complete: c_int = 0;
            // SAFETY: the request was set by the call that has succeeded. When it is complete, it
            // becomes the null request, which can be tested too.
            let code = unsafe {
                ffi::MPI_Test(
                    request.as_mut_ptr(),
                    &mut is_complete,
                    ffi::RSMPI_STATUS_IGNORE,
                )
            };
            ticks.tests += clock.now() - begin;
            worst = code.max(worst);
        };
        if self.tests > 0 {
            test();
        }
        for piece in pieces(self.iterations, self.tests) {
            compute(piece);
            if self.tests > 1 {
                test();
            }
        }
        let begin = clock.now();
        // SAFETY: as above.
        let code = unsafe { ffi::MPI_Wait(request.as_mut_ptr(), ffi::RSMPI_STATUS_IGNORE) };
        ticks.wait = clock.now() - begin;
        parts.push(ticks);
        code.max(worst)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_as_many_as_in_the_paper() {
        // One at the begin, one after half of the computation, one at the end.
        assert_eq!(n_tests(4_096, 2_048), 3);
        assert_eq!(n_tests(4_097, 2_048), 4);
        assert_eq!(n_tests(8, 1_024), 2);
        assert_eq!(n_tests(0, 1_024), 1);
    }

    #[test]
    fn pieces_are_even_and_add_up_to_the_work() {
        for (iterations, tests, n) in [(10, 0, 1), (10, 1, 1), (10, 2, 1), (1_000, 4, 3), (2, 6, 5)]
        {
            let all: Vec<u64> = pieces(iterations, tests).collect();
            assert_eq!(all.len(), n);
            assert_eq!(all.iter().sum::<u64>(), iterations);
            let (least, most) = (all.iter().min().unwrap(), all.iter().max().unwrap());
            assert!(most - least <= 1, "{all:?}");
        }
        let largest: u64 = pieces(u64::MAX, 1_000).sum();
        assert_eq!(largest, u64::MAX);
    }
}
