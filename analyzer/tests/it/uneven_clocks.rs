//! Clocks that do not go evenly: each has a remark that names the host.

use collbench_formats::ClockSource;

use collbench_analyzer::results::Remark;

use crate::built::{START, TestTrace, codes};

const SECOND: u64 = 1_000_000_000;

/// One process on a clock, read at the begin and then every second: its ticks, CLOCK_MONOTONIC_RAW
/// and CLOCK_MONOTONIC are ahead of an even clock by so many ns.
fn run(source: ClockSource, ahead: &[[u64; 3]]) -> TestTrace {
    let mut trace = TestTrace::new(1);
    let seconds = ahead.len() as u64;
    let end = seconds * SECOND;
    trace.barrier(&[(end, end + 500)]);
    let identity = &mut trace.processes[0].identity;
    identity.clock.source = source;
    let readings = ahead.iter().zip(0..);
    let anchors = readings.map(|([ticks, raw, monotonic], second)| {
        let now = START + second * SECOND;
        [now + ticks, now + raw, now + monotonic, now, 1]
    });
    identity.anchors = anchors.collect();
    trace
}

#[test]
fn clocks_that_go_evenly_have_no_remark() {
    for source in [
        ClockSource::Tsc,
        ClockSource::MonotonicRaw,
        ClockSource::Monotonic,
    ] {
        let analysis = run(source, &[[0; 3]; 4]).analyze();
        assert_eq!(codes(&analysis), Vec::<&str>::new(), "{source:?}");
    }
}

#[test]
fn a_daemon_that_changes_the_rate_is_told() {
    // 20 us in a second are 20 ppm.
    let ahead = [[0, 0, 0], [0, 0, 20_000], [0, 0, 20_000], [0, 0, 0]];
    let analysis = run(ClockSource::Monotonic, &ahead).analyze();
    assert_eq!(codes(&analysis), ["clock_slewed"]);
    assert!(
        matches!(&analysis.remarks[0], Remark::ClockSlewed { host, .. } if host.contains("n01")),
        "{:?}",
        analysis.remarks
    );
    // It is of no account where another clock stamps.
    assert!(codes(&run(ClockSource::MonotonicRaw, &ahead).analyze()).is_empty());
}

#[test]
fn a_time_stamp_counter_that_is_not_invariant_and_a_clock_that_steps_are_told() {
    let counter_was_slow = [[0, 0, 0], [0, 0, 0], [100_000, 0, 0], [0, 0, 0]];
    let clock_stepped = [[0, 0, 0], [0, 150_000, 0], [0, 0, 0], [0, 0, 0]];
    for ahead in [counter_was_slow, clock_stepped] {
        let analysis = run(ClockSource::Tsc, &ahead).analyze();
        assert_eq!(codes(&analysis), ["clock_uneven"]);
        assert!(
            matches!(&analysis.remarks[0], Remark::ClockUneven { host, .. } if host.contains("n01")),
            "{:?}",
            analysis.remarks
        );
    }
}
