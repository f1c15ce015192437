//! Several senders and receivers.

use super::super::messages::{SimulatedJob, Transfer};
use super::super::model::{Arrangement, Check, Verdict};
use super::*;

fn checks(parameters: Parameters, transfer: Transfer) -> Vec<Check> {
    let mut job = SimulatedJob::new(parameters);
    sampler(&mut job).checks(transfer, 16)
}

#[test]
fn the_gap_grows_with_the_number_of_senders_and_with_nothing_else() {
    let parameters = network(8, [1_000.0, 1_500.0, 6_000.0, 9_000.0]);
    let checks = checks(parameters, Transfer::Small);
    let of: Vec<(Arrangement, usize, usize)> = checks
        .iter()
        .map(|check| (check.arrangement, check.senders, check.receivers))
        .collect();
    let expected = [
        (Arrangement::ManyPairs, 4, 4),
        (Arrangement::OneToMany, 1, 7),
        (Arrangement::ManyToOne, 2, 1),
        (Arrangement::ManyToOne, 4, 1),
        (Arrangement::ManyToOne, 7, 1),
    ];
    assert_eq!(of, expected);
    for check in &checks {
        is_within(5.0, check.ratio, check.expected);
        is_within(5.0, check.gap.ns, 6_000.0 * check.expected);
        assert_eq!(check.verdict, Verdict::AsModel);
    }
}

#[test]
fn stores_to_one_process_share_its_link() {
    let parameters = Parameters {
        gap_per_byte_ns: 80.0,
        ..network(5, [2_000.0, 3_000.0, 6_000.0, 30_000.0])
    };
    let checks = checks(parameters, Transfer::Store(16_384));
    let to_one = checks
        .iter()
        .filter(|check| check.arrangement == Arrangement::ManyToOne);
    for check in to_one {
        is_within(5.0, check.ratio, check.senders as f64);
        assert_eq!(check.verdict, Verdict::AsModel);
    }
}

#[test]
fn a_receiver_that_is_the_bottleneck_of_a_pair_is_told_from_the_gap() {
    // The processors take longer than the gap: a sender to several receivers is as slow as its own
    // processor, but several senders wait for that of the receiver.
    let mut parameters = network(4, [1_000.0, 4_000.0, 500.0, 9_000.0]);
    parameters.overhead_per_byte_ns = 1.0;
    let checks = checks(parameters, Transfer::Store(10_000));
    // A store takes 11 us of the sender and 4 us for its reply, and 14 us and 1 us of the receiver.
    for check in checks {
        is_within(5.0, check.gap_of_pair.ns, 15_000.0);
        is_within(5.0, check.ratio, check.expected);
    }
}
