//! The clocks that can stamp records: two readings are most of the cost of recording a call.

use collbench_formats::ClockSource;
use collbench_instrument::{Clock, measure_clock};
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

const SOURCES: [(&str, ClockSource); 3] = [
    ("tsc", ClockSource::Tsc),
    ("raw", ClockSource::MonotonicRaw),
    ("monotonic", ClockSource::Monotonic),
];

fn clock(name: &str) -> Option<Clock> {
    let (_, source) = SOURCES.into_iter().find(|&(known, _)| known == name)?;
    Clock::of(source)
}

/// One reading. An unreliable time stamp counter is left out.
#[divan::bench(args = SOURCES.map(|(name, _)| name).into_iter().filter(|name| clock(name).is_some()))]
fn now(bencher: Bencher<'_, '_>, name: &str) {
    let Some(clock) = clock(name) else { return };
    bencher.bench(|| black_box(clock).now());
}

/// Reading the clock and the system's clocks together: once per chunk.
#[divan::bench]
fn anchor(bencher: Bencher<'_, '_>) {
    let clock = Clock::of_this_machine();
    bencher.bench(|| black_box(clock).anchor());
}

/// Measuring the clock's step and cost: once per process.
#[divan::bench]
fn measure(bencher: Bencher<'_, '_>) {
    let clock = Clock::of_this_machine();
    bencher.bench(|| measure_clock(black_box(clock)));
}

/// Choosing a clock: asks the processor and the kernel, once per process.
#[divan::bench]
fn choose() -> Clock {
    Clock::of_this_machine()
}
