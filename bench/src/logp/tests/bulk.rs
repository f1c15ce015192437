//! Bulk messages, and classes of links.

use super::super::figures::{Measured, Plan};
use super::super::messages::{Job, Pattern, SimulatedJob};
use super::super::model::{Limit, Lines, OfSize};
use super::*;

const SIZES: [usize; 2] = [8, 65_536];

fn sizes(parameters: &Parameters) -> Vec<OfSize> {
    let mut job = SimulatedJob::new(parameters.clone());
    sampler(&mut job).sizes(Pattern::Pair(0, 1), SIZES, "LAN")
}

/// 100 Mbit/s: 80 ns per byte.
fn fast_ethernet() -> Parameters {
    Parameters {
        gap_per_byte_ns: 80.0,
        ..network(2, [2_000.0, 3_000.0, 6_000.0, 30_000.0])
    }
}

#[test]
fn the_gap_per_byte_is_found_at_several_rates() {
    // 100 Mbit/s, 1 Gbit/s, 10 GB/s.
    for gap_per_byte_ns in [80.0, 8.0, 0.1] {
        let parameters = Parameters {
            gap_per_byte_ns,
            ..fast_ethernet()
        };
        let lines = Lines::of(&sizes(&parameters));
        is_within(5.0, lines.gap_per_byte_ns.unwrap(), gap_per_byte_ns);
        is_within(5.0, lines.gap_segments[0].intercept_ns, 6_000.0);
        // A store: both messages cross the network, and both processors handle both.
        let transfer = lines.transfer.unwrap();
        is_within(5.0, transfer.ns_per_byte, gap_per_byte_ns);
        is_within(5.0, transfer.intercept_ns, 70_000.0);
        let last = lines.round_trip_gap_segments.last().unwrap();
        is_within(5.0, last.ns_per_byte, gap_per_byte_ns);
        assert_eq!(lines.switches, [0; 0]);
    }
}

#[test]
fn an_overhead_that_grows_with_the_size_is_found_in_each_direction() {
    // The Myrinet of the paper copies bulk messages: 4 Kbyte take 143 us of the processor.
    let parameters = Parameters {
        overhead_per_byte_ns: 34.5,
        gap_per_byte_ns: 12.5,
        ..network(2, [2_000.0, 2_600.0, 12_400.0, 11_100.0])
    };
    for size in sizes(&parameters) {
        let copied_ns = 34.5 * size.bytes as f64;
        let found = size.parameters.unwrap();
        is_within(5.0, found.send_overhead.estimate.ns, 2_000.0 + copied_ns);
        is_within(5.0, size.receipt.unwrap().mean.ns, 2_600.0 + copied_ns);
        let overhead = size.round_trips.unwrap().overhead();
        is_within(5.0, overhead.ns, 2_000.0 + copied_ns);
        // From some size on the receiver's copy is longer than the gap, and hides it.
        let gap_ns = 12_400.0 + 12.5 * size.bytes as f64;
        let receiver_ns = 4_600.0 + copied_ns;
        is_within(5.0, found.gap.estimate.ns, gap_ns.max(receiver_ns));
    }
}

#[test]
fn a_rendezvous_is_found_where_it_begins() {
    let parameters = Parameters {
        rendezvous_bytes: Some(4_096),
        ..fast_ethernet()
    };
    let quick = Parameters {
        gap_per_byte_ns: 1.0,
        ..parameters
    };
    let lines = Lines::of(&sizes(&quick));
    assert_eq!(lines.switches, [4_096]);
}

#[test]
fn the_largest_messages_of_a_slow_link_take_seconds_and_not_minutes() {
    // A message of 256 KiB takes 21 ms: eight windows of four of them are two thirds of a second.
    let mut job = SimulatedJob::new(fast_ethernet());
    let range = [1 << 18, 1 << 18];
    let sizes = sampler(&mut job).sizes(Pattern::Pair(0, 1), range, "LAN");
    let elapsed_s = job.elapsed_ns() / 1e9;
    assert!(elapsed_s < 20.0, "{elapsed_s} s");
    let found = sizes[0].parameters.as_ref().unwrap();
    let gap_ns = 6_000.0 + 80.0 * f64::from(1 << 18);
    is_within(5.0, found.gap.estimate.ns, gap_ns);
    assert_eq!(found.regimes.limit, Limit::Gap);
    is_within(5.0, found.send_overhead.estimate.ns, 2_000.0);
}

#[test]
fn a_slow_processor_needs_the_long_bursts_until_the_window_is_full() {
    // The processor is busy for nine tenths of the gap: the window fills up after ten windows.
    let parameters = Parameters {
        overhead_per_byte_ns: 72.0,
        ..fast_ethernet()
    };
    let mut job = SimulatedJob::new(parameters);
    let range = [1 << 17, 1 << 17];
    let sizes = sampler(&mut job).sizes(Pattern::Pair(0, 1), range, "LAN");
    let found = sizes[0].parameters.as_ref().unwrap();
    let bytes = f64::from(1 << 17);
    is_within(5.0, found.gap.estimate.ns, 6_000.0 + 80.0 * bytes);
    is_within(5.0, found.send_overhead.estimate.ns, 2_000.0 + 72.0 * bytes);
}

#[test]
fn links_of_two_sites_are_measured_class_by_class() {
    let mut parameters = network(4, [1_000.0, 2_000.0, 9_000.0, 20_000.0]);
    // Two processes at each of two sites, 5 ms apart.
    parameters.positions_ns = vec![0.0, 0.0, 5e6, 5e6];
    let mut job = SimulatedJob::new(parameters);
    let plan = Plan {
        precision: PRECISION,
        sizes: [8, 0],
    };
    let measured = Measured::of(&mut job, plan, |_, _| false, Progress::default());
    let names: Vec<&str> = measured
        .classes
        .iter()
        .map(|of_class| of_class.class.name.as_str())
        .collect();
    assert_eq!(names, ["LAN", "WAN"]);
    for (of_class, latency_ns) in measured.classes.iter().zip([20_000.0, 5_020_000.0]) {
        let found = of_class.parameters.as_ref().unwrap();
        is_within(5.0, found.latency.unwrap().ns, latency_ns);
        is_within(5.0, found.send_overhead.estimate.ns, 1_000.0);
    }
}
