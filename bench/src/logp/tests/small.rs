//! Small messages.

use super::super::measurement::Subject;
use super::super::messages::{Pattern, SimulatedJob, Transfer};
use super::super::model::{Begins, Limit, Parameters as Found, Signature};
use super::*;

const DELAYS: [f64; 3] = [0.5, 1.0, 2.0];

fn signature(parameters: &Parameters) -> Signature {
    let mut job = SimulatedJob::new(parameters.clone());
    let subject = Subject {
        pattern: Pattern::Pair(0, 1),
        transfer: Transfer::Small,
        window: 64,
    };
    sampler(&mut job).signature(subject, &DELAYS).unwrap()
}

fn found(parameters: &Parameters) -> Found {
    Found::of(&signature(parameters)).unwrap()
}

/// Checks o_s, o_r and L.
#[track_caller]
fn has_overheads_and_latency(found: &Found, parameters: &Parameters) {
    is_within(
        5.0,
        found.send_overhead.estimate.ns,
        parameters.send_overhead_ns,
    );
    let receive_overhead = found.receive_overhead.as_ref().unwrap();
    is_within(
        5.0,
        receive_overhead.estimate.ns,
        parameters.receive_overhead_ns,
    );
    is_within(5.0, found.latency.unwrap().ns, parameters.latency_ns);
}

#[test]
fn the_networks_of_the_paper_are_found_again() {
    // Table 4: Paragon, Meiko CS-2, Myrinet; and Ethernet with 1 ms between two sites.
    for times in [
        [1_400.0, 2_200.0, 7_600.0, 6_300.0],
        [1_700.0, 1_600.0, 13_600.0, 7_500.0],
        [2_000.0, 2_600.0, 12_400.0, 11_100.0],
        [4_000.0, 5_000.0, 12_000.0, 1_000_000.0],
    ] {
        let parameters = network(2, times);
        let found = found(&parameters);
        has_overheads_and_latency(&found, &parameters);
        is_within(5.0, found.gap.estimate.ns, parameters.gap_ns);
        assert_eq!(found.regimes.limit, Limit::Gap, "{times:?}");
    }
}

#[test]
fn a_gap_below_both_overheads_is_said_not_to_be_visible() {
    let parameters = network(2, [9_000.0, 8_000.0, 3_000.0, 20_000.0]);
    let found = found(&parameters);
    has_overheads_and_latency(&found, &parameters);
    assert_eq!(found.regimes.limit, Limit::Overhead);
    is_within(5.0, found.gap.estimate.ns, 17_000.0);
}

#[test]
fn the_capacity_of_a_network_is_found_where_it_ends_the_first_regime() {
    for capacity in [3, 8, 20] {
        let mut parameters = network(2, [500.0, 700.0, 12_000.0, 15_000.0]);
        parameters.capacity = capacity;
        let found = found(&parameters);
        has_overheads_and_latency(&found, &parameters);
        assert_eq!(found.regimes.capacity, Some(capacity));
        assert_eq!(found.regimes.begins, Begins::Capacity);
        assert_eq!(found.regimes.send_only_to, capacity);
        assert_eq!(found.regimes.limit, Limit::Gap);
        is_within(5.0, found.gap.estimate.ns, 12_000.0);
    }
}

#[test]
fn a_capacity_below_a_round_trip_hides_the_gap() {
    let mut parameters = network(2, [500.0, 700.0, 1_500.0, 100_000.0]);
    parameters.capacity = 10;
    let found = found(&parameters);
    has_overheads_and_latency(&found, &parameters);
    assert_eq!(found.regimes.capacity, Some(10));
    assert_eq!(found.regimes.limit, Limit::Capacity);
    is_within(5.0, found.gap.estimate.ns, 2.0 * 101_200.0 / 10.0);
}

#[test]
fn replies_begin_the_transition_after_a_round_trip() {
    let parameters = network(2, [1_000.0, 1_000.0, 5_000.0, 18_000.0]);
    let signature = signature(&parameters);
    let found = Found::of(&signature).unwrap();
    // The round trip takes 40 us, of which 1 us is receiving the reply; a request takes 1 us.
    is_within(1.0, signature.round_trip.mean.ns, 40_000.0);
    assert_eq!(found.regimes.begins, Begins::Replies);
    assert_eq!(found.regimes.capacity, None);
    assert_eq!(found.regimes.send_only_to, 39);
    assert!(found.regimes.steady_from > 40);
}

#[test]
fn a_signature_is_the_same_whenever_it_is_measured() {
    let parameters = network(2, [1_000.0, 1_000.0, 5_000.0, 18_000.0]);
    assert_eq!(signature(&parameters), signature(&parameters));
}
