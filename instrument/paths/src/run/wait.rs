//! Waiting.
//!
//! A process that waits inside of a collective must let the communication library progress: MPI
//! guarantees that sends, one-sided and nonblocking operations which are under way complete
//! meanwhile, and the process that is waited for may need them. So each wait calls
//! [`Transport::progress`](crate::Transport::progress) after some microseconds, and again at least
//! every [`MAX_PROGRESS_INTERVAL`].

use std::time::{Duration, Instant};

use crate::error::Error;
use crate::transport::TransportError;

/// The longest time between two calls of [`Transport::progress`](crate::Transport::progress) while
/// a process waits, as far as the operating system lets it run.
pub const MAX_PROGRESS_INTERVAL: Duration = Duration::from_micros(20);

/// What a process does between two looks at what it waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Idle {
    /// It keeps its core: for processes that have a core each.
    Spin,
    /// It offers its core to others: for more processes than cores.
    Yield,
    /// It sleeps for some microseconds, after it has offered its core many times: for processes
    /// that wait long and leave the core to other work.
    Sleep,
}

/// How processes wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WaitPolicy {
    idle: Idle,
    progress_interval: Duration,
}

/// Looks before the clock is read for the first time.
const SPINS: u32 = 200;
/// Looks between two readings of the clock later on, when spinning.
const SPINS_PER_READING: u32 = 16;
/// A process that may sleep offers its core this long at first.
const YIELD_BEFORE_SLEEP: Duration = Duration::from_micros(200);

impl WaitPolicy {
    /// Waits in this way, with the longest allowed interval between calls of
    /// [`Transport::progress`](crate::Transport::progress).
    #[must_use]
    pub const fn new(idle: Idle) -> Self {
        Self {
            idle,
            progress_interval: MAX_PROGRESS_INTERVAL,
        }
    }

    /// Calls [`Transport::progress`](crate::Transport::progress) at this interval instead, or at
    /// [`MAX_PROGRESS_INTERVAL`] if this is longer.
    #[must_use]
    pub fn with_progress_every(self, interval: Duration) -> Self {
        Self {
            progress_interval: interval.min(MAX_PROGRESS_INTERVAL),
            ..self
        }
    }

    /// The way to wait for `n_processes` of one host on `n_cores` cores: spinning if there is a core
    /// for each, otherwise yielding.
    #[must_use]
    pub fn for_cores(n_processes: usize, n_cores: usize) -> Self {
        Self::new(if n_processes <= n_cores {
            Idle::Spin
        } else {
            Idle::Yield
        })
    }

    /// What a process does between two looks.
    #[must_use]
    pub const fn idle(&self) -> Idle {
        self.idle
    }

    /// Waits until `look` returns something, and returns that, and whether it was not there at once.
    /// Calls `progress` now and then.
    ///
    /// # Errors
    /// What `look` or `progress` returns.
    #[inline]
    pub(crate) fn until<S, R>(
        &self,
        state: &mut S,
        look: &mut impl FnMut(&mut S) -> Result<Option<R>, Error>,
        progress: impl FnMut(&mut S) -> Result<(), TransportError>,
    ) -> Result<(R, bool), Error> {
        if let Some(found) = look(state)? {
            return Ok((found, false));
        }
        if self.idle == Idle::Spin {
            for _ in 0..SPINS {
                std::hint::spin_loop();
                if let Some(found) = look(state)? {
                    return Ok((found, true));
                }
            }
        } else {
            // Mostly it is there when the others have run once. The clock need not be read for that.
            std::thread::yield_now();
            if let Some(found) = look(state)? {
                return Ok((found, true));
            }
        }
        self.long(state, look, progress).map(|found| (found, true))
    }

    #[cold]
    fn long<S, R>(
        &self,
        state: &mut S,
        look: &mut impl FnMut(&mut S) -> Result<Option<R>, Error>,
        mut progress: impl FnMut(&mut S) -> Result<(), TransportError>,
    ) -> Result<R, Error> {
        let begin = Instant::now();
        let mut next_progress = begin + self.progress_interval;
        loop {
            match self.idle {
                Idle::Spin => {
                    for _ in 0..SPINS_PER_READING {
                        std::hint::spin_loop();
                        if let Some(found) = look(state)? {
                            return Ok(found);
                        }
                    }
                }
                Idle::Sleep if begin.elapsed() > YIELD_BEFORE_SLEEP => {
                    std::thread::sleep(self.progress_interval);
                }
                Idle::Yield | Idle::Sleep => std::thread::yield_now(),
            }
            if let Some(found) = look(state)? {
                return Ok(found);
            }
            let now = Instant::now();
            if now >= next_progress {
                progress(state)?;
                next_progress = now + self.progress_interval;
            }
        }
    }
}
