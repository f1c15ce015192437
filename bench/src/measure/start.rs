//! When the repetitions of a measurement start: start schemes, and their loops.
//!
//! # Source
//! Window: Worsch et al. 2002 and Hoefler et al. 2007, section 4. Round time: Hunold and
//! Carpen-Amarie 2016. Barrier less its own time: Reussner et al. 1999, section 2.1. Loops: Hoefler
//! et al., listings 1 to 3.

use std::time::Duration;

use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use serde::{Deserialize, Serialize};

use super::cold_cache::ColdCache;
use super::global_clock::{GlobalClock, Line};
use super::reduction::Times;
use super::window::StartState;

/// What lets the processes start a repetition together.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum StartScheme {
    /// All start at instants of the global clock, at equal distances; a repetition that a process
    /// starts late is invalid
    #[default]
    Window,
    /// As window, but process 0 announces each instant by a broadcast
    RoundTime,
    /// Each repetition follows a barrier
    Barrier,
    /// Each repetition follows six barriers
    RepeatedBarrier,
    /// Barrier and operation together, less a barrier alone (SKaMPI)
    BarrierSubtracted,
    /// Nothing: repetitions follow one another, each timed by itself
    None,
    /// A loop of operations after one barrier, its time divided by their number (MPPTEST)
    LoopMpptest,
    /// A loop of operations without a barrier, its time divided by their number (MPBench)
    LoopMpbench,
    /// A loop of operations after six barriers, its time divided by their number (IMB)
    LoopImb,
}

/// Repetitions after which a start is given up, if none of them was valid.
pub(crate) const GIVEN_UP_AFTER: usize = 100;
/// Barriers before a repetition, where one is not enough.
const BARRIERS: usize = 6;
/// Closer to the start than this, a process waits without giving up its core, ns.
const SPIN_NS: f64 = 150_000.0;

impl StartScheme {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
        Self::Window,
        Self::RoundTime,
        Self::Barrier,
        Self::RepeatedBarrier,
        Self::BarrierSubtracted,
        Self::None,
        Self::LoopMpptest,
        Self::LoopMpbench,
        Self::LoopImb,
    ];

    /// Its name on the command line, in plans and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::RoundTime => "round-time",
            Self::Barrier => "barrier",
            Self::RepeatedBarrier => "repeated-barrier",
            Self::BarrierSubtracted => "barrier-subtracted",
            Self::None => "none",
            Self::LoopMpptest => "loop-mpptest",
            Self::LoopMpbench => "loop-mpbench",
            Self::LoopImb => "loop-imb",
        }
    }

    /// Whether several operations are timed as one, and the time is divided by their number.
    #[must_use]
    pub fn is_loop(self) -> bool {
        matches!(self, Self::LoopMpptest | Self::LoopMpbench | Self::LoopImb)
    }

    /// Whether processes start at an instant, so that a start can be late, and can be delayed on
    /// purpose.
    #[must_use]
    pub fn has_instants(self) -> bool {
        matches!(self, Self::Window | Self::RoundTime)
    }

    /// What takes its place where the processes hold it in no repetition; `None` for a start that
    /// cannot be late.
    #[must_use]
    pub fn fallback(self) -> Option<Self> {
        match self {
            Self::RoundTime => Some(Self::Window),
            Self::Window => Some(Self::Barrier),
            _ => None,
        }
    }
}

/// Some repetitions, as process 0 asks for them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) scheme: StartScheme,
    /// Number of repetitions.
    pub(crate) n: usize,
    /// Operations in each, for loops.
    pub(crate) loop_length: usize,
    /// Global time of the first start, ns.
    pub(crate) first_ns: f64,
    /// Distance of starts, ns; of round time the time from announcing to starting.
    pub(crate) window_ns: i64,
    /// A start later than this after its instant is delayed, ns.
    pub(crate) tolerance_ns: i64,
    /// By process, the delay of its start after the common instant, or after the barrier, ns. Repetitions
    /// take them in turn; empty for none.
    pub(crate) delays_ns: Vec<Vec<i64>>,
    /// Whether caches are invalidated, if they are to be cold.
    pub(crate) invalidates: bool,
}

/// One repetition in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Repetition {
    pub(crate) times: Times,
    pub(crate) state: StartState,
    /// The time stamp counter just before it entered; 0 if there is none.
    pub(crate) counter: u64,
    /// Of a nonblocking operation with a computation.
    pub(crate) parts: Parts,
}

/// What a nonblocking operation with a computation spends inside MPI, ns.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts {
    /// In the call that begins the operation.
    pub(crate) initiation: i64,
    /// In the tests during the computation.
    pub(crate) tests: i64,
    /// In the wait after it.
    pub(crate) wait: i64,
}

impl Repetition {
    /// Numbers in a message.
    pub(crate) const WORDS: usize = 7;

    pub(crate) fn words(self) -> [i64; Self::WORDS] {
        let Parts {
            initiation,
            tests,
            wait,
        } = self.parts;
        let Times { enter, leave } = self.times;
        let (state, counter) = (self.state.word(), self.counter.cast_signed());
        [enter, leave, state, initiation, tests, wait, counter]
    }

    pub(crate) fn of_words(words: &[i64]) -> Self {
        Self {
            times: Times {
                enter: words[0],
                leave: words[1],
            },
            state: StartState::of_word(words[2]),
            parts: Parts {
                initiation: words[3],
                tests: words[4],
                wait: words[5],
            },
            counter: words[6].cast_unsigned(),
        }
    }
}

impl Batch {
    /// Repetitions one after the other.
    pub(crate) fn unsynchronized(n: usize) -> Self {
        Self {
            scheme: StartScheme::None,
            n,
            loop_length: 1,
            first_ns: 0.0,
            window_ns: 0,
            tolerance_ns: 0,
            delays_ns: Vec::new(),
            invalidates: false,
        }
    }

    /// Makes the repetitions of this process; `operation` is one call.
    ///
    /// Collective over `comm`. Nothing but the operation lies between the two readings of the clock,
    /// save in loops, and in [`StartScheme::BarrierSubtracted`], which includes the barrier. With a
    /// `cold` cache, caches are invalidated before each start, and in loops before each operation.
    pub(crate) fn run(
        &self,
        comm: &SimpleCommunicator,
        global: &GlobalClock,
        cold: Option<&mut ColdCache>,
        mut operation: impl FnMut(),
    ) -> Vec<Repetition> {
        let (clock, line) = (global.clock(), global.line());
        let rank = comm.rank() as usize;
        let mut cold = cold.filter(|_| self.invalidates);
        let mut all = Vec::with_capacity(self.n);
        for i in 0..self.n {
            // With schemes without instants a start cannot be late.
            let mut start = f64::INFINITY;
            let mut is_missed = false;
            let delays_ns = self.delays_ns.get(i % self.delays_ns.len().max(1));
            let delay = delays_ns.and_then(|of| of.get(rank)).copied().unwrap_or(0) as f64;
            let calls = if self.scheme.is_loop() {
                self.loop_length
            } else {
                1
            };
            if let Some(cold) = cold.as_mut().filter(|_| !self.scheme.is_loop()) {
                cold.invalidate();
            }
            match self.scheme {
                StartScheme::Window => {
                    start = self.first_ns + i as f64 * self.window_ns as f64 + delay;
                    is_missed = !wait_until(global, start);
                }
                StartScheme::RoundTime => {
                    start = global.now() + self.window_ns as f64;
                    comm.process_at_rank(0).broadcast_into(&mut start);
                    start += delay;
                    is_missed = !wait_until(global, start);
                }
                StartScheme::Barrier | StartScheme::LoopMpptest => {
                    comm.barrier();
                    if delay > 0.0 {
                        wait_until(global, global.now() + delay);
                    }
                }
                StartScheme::RepeatedBarrier | StartScheme::LoopImb => {
                    (0..BARRIERS).for_each(|_| comm.barrier());
                }
                StartScheme::BarrierSubtracted | StartScheme::None | StartScheme::LoopMpbench => {}
            }
            let counter = global.counter();
            let enter = clock.now();
            if self.scheme == StartScheme::BarrierSubtracted {
                comm.barrier();
            }
            for _ in 0..calls {
                if let Some(cold) = cold.as_mut().filter(|_| self.scheme.is_loop()) {
                    cold.invalidate();
                }
                operation();
            }
            let leave = clock.now();
            all.push((counter, enter, leave, start, is_missed));
        }
        let repetition = |(counter, enter, leave, start, is_missed)| Repetition {
            times: times(line, enter, leave),
            counter,
            state: if is_missed {
                StartState::Missed
            } else if line.ns(enter) - start > self.tolerance_ns as f64 {
                StartState::Delayed
            } else {
                StartState::InTime
            },
            parts: Parts::default(),
        };
        all.into_iter().map(repetition).collect()
    }
}

fn times(line: Line, enter: u64, leave: u64) -> Times {
    Times {
        enter: line.ns(enter).round() as i64,
        leave: line.ns(leave).round() as i64,
    }
}

/// Waits for a global time, ns; returns whether it had not passed yet.
///
/// Far from it the process sleeps, so that one that waits takes no core from one that works.
fn wait_until(global: &GlobalClock, start_ns: f64) -> bool {
    let clock = global.clock();
    let start = global.line().ticks(start_ns);
    let left_ns = start_ns - global.now();
    if left_ns < 0.0 {
        return false;
    }
    if left_ns > 2.0 * SPIN_NS {
        std::thread::sleep(Duration::from_nanos((left_ns - SPIN_NS) as u64));
    }
    while (clock.now().wrapping_sub(start) as i64) < 0 {
        std::hint::spin_loop();
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_is_known_by_its_name() {
        for scheme in StartScheme::ALL {
            let json = format!("\"{}\"", scheme.word());
            assert_eq!(serde_json::from_str::<StartScheme>(&json).unwrap(), scheme);
            let on_the_command_line =
                <StartScheme as clap::ValueEnum>::from_str(scheme.word(), false);
            assert_eq!(on_the_command_line, Ok(scheme));
            assert!(!(scheme.is_loop() && scheme.has_instants()));
            // Whoever falls back ends at a start that cannot be late.
            let last = std::iter::successors(Some(scheme), |scheme| scheme.fallback()).last();
            assert!(last.is_some_and(|last| !last.has_instants()));
        }
    }

    #[test]
    fn repetitions_are_sent_as_numbers_without_loss() {
        let repetition = Repetition {
            times: Times {
                enter: -5,
                leave: i64::MAX,
            },
            state: StartState::Delayed,
            counter: u64::MAX - 3,
            parts: Parts {
                initiation: 1,
                tests: 2,
                wait: 3,
            },
        };
        assert_eq!(Repetition::of_words(&repetition.words()), repetition);
    }
}
