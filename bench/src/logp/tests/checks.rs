//! Several senders and receivers.

use super::super::measurement::not_checked;
use super::super::messages::{SimulatedJob, Transfer};
use super::super::model::{Arrangement, Check, Class, Links, Verdict};
use super::*;

fn checks(parameters: Parameters, transfer: Transfer) -> Vec<Check> {
    checks_and_skipped(parameters, transfer, 16).0
}

/// Checks, and why others were not made; `window` is that of the first attempt.
fn checks_and_skipped(
    parameters: Parameters,
    transfer: Transfer,
    window: usize,
) -> (Vec<Check>, Vec<String>) {
    let n = parameters.positions_ns.len();
    let mut job = SimulatedJob::new(parameters);
    let mut sampler = sampler(&mut job);
    let pairs = sampler.pairs(|_, _| false);
    let links = Links::of(&pairs, &Class::of(&pairs));
    (
        sampler.checks(transfer, window, &links),
        not_checked(n, &links),
    )
}

/// Processes at these positions, ns, all with a gap of 6 us.
fn placed(positions_ns: &[f64]) -> Parameters {
    Parameters {
        positions_ns: positions_ns.to_vec(),
        ..network(positions_ns.len(), [1_000.0, 1_500.0, 6_000.0, 9_000.0])
    }
}

/// Far enough for a class of links of its own.
const FAR: f64 = 400_000.0;

#[test]
fn only_links_of_one_class_are_compared() {
    // Processes 0 to 2 at one place, 3 to 5 at another.
    let parameters = placed(&[0.0, 0.0, 0.0, FAR, FAR, FAR]);
    let (checks, skipped) = checks_and_skipped(parameters, Transfer::Small, 16);
    let of: Vec<(Arrangement, &str, usize, usize)> = checks
        .iter()
        .map(|check| {
            let among = (check.senders, check.receivers);
            (check.arrangement, check.links.as_str(), among.0, among.1)
        })
        .collect();
    let expected = [
        (Arrangement::ManyPairs, "LAN 2", 3, 3),
        (Arrangement::OneToMany, "LAN", 1, 2),
        (Arrangement::OneToMany, "LAN 2", 1, 3),
        (Arrangement::ManyToOne, "LAN", 2, 1),
        (Arrangement::ManyToOne, "LAN 2", 2, 1),
        (Arrangement::ManyToOne, "LAN 2", 3, 1),
    ];
    assert_eq!(of, expected);
    assert_eq!(skipped, Vec::<String>::new());
    for check in &checks {
        is_within(5.0, check.gap.ns, 6_000.0 * check.expected);
        assert_eq!(check.verdict, Verdict::AsModel, "{check:?}");
    }
}

#[test]
fn processes_in_turns_on_two_hosts_are_compared_host_by_host() {
    let parameters = placed(&[0.0, FAR, 0.0, FAR, 0.0, FAR]);
    let (checks, skipped) = checks_and_skipped(parameters, Transfer::Small, 16);
    let to_many: Vec<(&str, usize)> = checks
        .iter()
        .filter(|check| check.arrangement == Arrangement::OneToMany)
        .map(|check| (check.links.as_str(), check.receivers))
        .collect();
    assert_eq!(to_many, [("LAN", 2), ("LAN 2", 3)]);
    assert!(checks.iter().all(|one| one.verdict == Verdict::AsModel));
    assert_eq!(skipped, Vec::<String>::new());
}

#[test]
fn arrangements_of_several_classes_are_skipped_with_the_reason() {
    // 0 to 2 is within a host, 1 to 3 is not; and of process 0 no two links are alike.
    let parameters = placed(&[0.0, 60.0 * FAR, 0.0, FAR]);
    let (checks, skipped) = checks_and_skipped(parameters, Transfer::Small, 16);
    assert_eq!(checks, Vec::new());
    assert_eq!(skipped.len(), 2, "{skipped:?}");
    assert!(skipped[0].contains("2 pairs at once"), "{skipped:?}");
    assert!(skipped[1].contains("--map-by"), "{skipped:?}");
}

#[test]
fn a_window_that_hides_the_gap_is_enlarged_before_gaps_are_compared() {
    // 1 ms there and back are worth 170 messages: with 16 at once one sender leaves the receiver idle,
    // and two would seem not to slow one another down.
    let parameters = network(3, [1_000.0, 1_500.0, 6_000.0, 500_000.0]);
    let (checks, _) = checks_and_skipped(parameters, Transfer::Small, 16);
    let to_one: Vec<&Check> = checks
        .iter()
        .filter(|check| check.arrangement == Arrangement::ManyToOne)
        .collect();
    assert_eq!(to_one.len(), 1);
    is_within(5.0, to_one[0].gap_of_pair.ns, 6_000.0);
    is_within(5.0, to_one[0].ratio, 2.0);
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
