//! What is used by one thing at a time.

use collbench_schedules::trees::Tree;
use collbench_schedules::{Evaluator, Link, Network, Program, Schedule, Shared, Way};

const LINK: Link = Link {
    send_overhead_ns: 2.0,
    receive_overhead_ns: 3.0,
    latency_ns: 10.0,
    gap_ns: 4.0,
    gap_per_byte_ns: 1.0,
    receive_gap_ns: 4.0,
    receive_gap_per_byte_ns: 1.0,
    eager_bytes: 1000,
};

fn leaves(schedule: &Schedule, network: &Network, enters: &[f64]) -> Vec<f64> {
    let mut evaluator = Evaluator::new(schedule).expect("messages have two ends");
    evaluator.leaves_ns(network, enters, |_| 0.0).to_vec()
}

fn schedule<const N: usize>(each: [fn(&mut Program); N]) -> Schedule {
    let processes = each.into_iter().enumerate().map(|(rank, each)| {
        let mut p = Program::new(rank);
        each(&mut p);
        p.finish()
    });
    Schedule {
        processes: processes.collect(),
    }
}

fn of(n: usize, link: Link) -> Network {
    Network::new(n, vec![link], |_, _| Way::default())
}

#[test]
fn a_root_receives_one_message_after_the_other() {
    let flat = Tree {
        root: 0,
        children: vec![
            (1..8).collect(),
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
            vec![],
        ],
    };
    let found = leaves(&flat.reduce(101), &of(8, LINK), &[0.0; 8]);
    // Sent and latency, then each 100 bytes and a gap, the last without that, and its overhead.
    assert_eq!(found[0], 2.0 + 10.0 + 6.0 * 104.0 + 100.0 + 3.0);
    // A sender is done when the library has its data.
    assert_eq!(found[1], 2.0);
}

#[test]
fn a_long_message_is_sent_when_its_receiver_asks_for_it() {
    let pair = || schedule([|p| p.send(1, 1101), |p| p.recv(0)]);
    let asked = 2.0 + 10.0 + 3.0 + 2.0 + 10.0;
    let found = leaves(&pair(), &of(2, LINK), &[0.0, 0.0]);
    let sent = asked + 2.0 + 1100.0;
    assert_eq!(found, [sent, sent + 10.0 + 3.0]);
    // A late receiver delays its sender; of a short message it does not.
    let found = leaves(&pair(), &of(2, LINK), &[0.0, 500.0]);
    assert_eq!(found[0], 500.0 + 3.0 + 2.0 + 10.0 + 2.0 + 1100.0);
    let short = schedule([|p| p.send(1, 1000), |p| p.recv(0)]);
    let found = leaves(&short, &of(2, LINK), &[0.0, 5000.0]);
    assert_eq!(found, [2.0, 5003.0]);
    let synchronous = schedule([|p| p.send_synchronous(1, 1), |p| p.recv(0)]);
    assert_eq!(leaves(&synchronous, &of(2, LINK), &[0.0, 500.0])[0], 517.0);
}

#[test]
fn a_link_that_two_pairs_share_takes_one_message_after_the_other() {
    let pairs = schedule([
        |p| p.send(2, 101),
        |p| p.send(3, 101),
        |p| p.recv(0),
        |p| p.recv(1),
    ]);
    let alone = of(4, LINK);
    let found = leaves(&pairs, &alone, &[0.0; 4]);
    assert_eq!(found[2..], [115.0, 115.0]);
    let mut shared = Network::new(4, vec![LINK], |_, _| Way {
        class: 0,
        shared: Some(0),
    });
    shared.shared.push(Shared {
        gap_per_byte_ns: 5.0,
    });
    let found = leaves(&pairs, &shared, &[0.0; 4]);
    assert_eq!(found[2..], [115.0, 115.0 + 505.0]);
}

#[test]
fn a_processor_does_one_thing_after_the_other() {
    let busy = schedule([
        |p| {
            let received = p.irecv(1);
            p.combine(50);
            p.wait(received);
        },
        |p| p.send(0, 1),
    ]);
    let mut network = of(2, LINK);
    network.combine_ns_per_byte = 1.0;
    assert_eq!(leaves(&busy, &network, &[0.0, 0.0])[0], 53.0);
    // What deviates in latency arrives later.
    let mut evaluator = Evaluator::new(&busy).expect("messages have two ends");
    let found = evaluator.leaves_ns(&network, &[0.0, 0.0], |_| 100.0);
    assert_eq!(found[0], 115.0);
}
