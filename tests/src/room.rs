//! How much runs at a time: jobs side by side as far as there is room for their ranks, and alone what
//! relies on a machine that does nothing else.
//!
//! Most of the time of a launch passes with waiting for each other at its start and end: on two cores
//! that run one job at a time, two thirds of the time is idle.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Ranks that may run at a time for each core.
const RANKS_PER_CORE: usize = 6;

thread_local! {
    static IS_ALONE: Cell<bool> = const { Cell::new(false) };
}

static STATE: Mutex<State> = Mutex::new(State {
    next_ticket: 0,
    now_served: 0,
    n_used: 0,
});
static CHANGED: Condvar = Condvar::new();

/// Served in the order of arrival: nobody waits for ever for much room while others take little.
struct State {
    next_ticket: u64,
    now_served: u64,
    n_used: usize,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for all that may run at a time.
fn whole() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from) * RANKS_PER_CORE
}

/// Room that is taken until this is dropped.
#[derive(Debug)]
pub(crate) struct Room(usize);

impl Room {
    /// Waits for room for so many ranks; for all there is, where that is less. A thread that is
    /// [`alone`] has it.
    pub(crate) fn wait_for(n_ranks: usize) -> Self {
        if IS_ALONE.get() {
            return Self(0);
        }
        let n = n_ranks.clamp(1, whole());
        let mut state = state();
        let ticket = state.next_ticket;
        state.next_ticket += 1;
        while state.now_served != ticket || state.n_used + n > whole() {
            state = CHANGED.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.now_served += 1;
        state.n_used += n;
        CHANGED.notify_all();
        Self(n)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        state().n_used -= self.0;
        CHANGED.notify_all();
    }
}

/// As long as this is there, no other test of this process runs a command.
#[derive(Debug)]
pub struct Alone(#[expect(dead_code, reason = "dropped")] Room);

/// Waits until no other test runs a command, for a test that measures time or relies on a machine that
/// has nothing else to do. Commands run by this thread alone.
///
/// # Panics
///
/// If this thread is alone already.
#[must_use]
pub fn alone() -> Alone {
    assert!(!IS_ALONE.get(), "alone already");
    let room = Room::wait_for(whole());
    IS_ALONE.set(true);
    Alone(room)
}

impl Drop for Alone {
    fn drop(&mut self) {
        IS_ALONE.set(false);
    }
}

/// Does this with each of them, side by side as far as there is room; the results in their order.
///
/// # Panics
///
/// Where one does, and on a thread that is [`alone`].
pub fn side_by_side<T: Sync, R: Send>(all: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    assert!(!IS_ALONE.get(), "alone");
    let work = &work;
    std::thread::scope(|scope| {
        let threads = all.iter().map(|one| scope.spawn(move || work(one)));
        let threads: Vec<_> = threads.collect();
        let results = threads.into_iter().map(|thread| {
            let result = thread.join();
            result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        results.collect()
    })
}
