//! How long it takes to evaluate a schedule of 64 processes.

use collbench_schedules::open_mpi::{Named, Release, schedule};
use collbench_schedules::{Call, Evaluator, Link, Network, Parameters, Way};

fn main() {
    divan::main();
}

const LINK: Link = Link {
    send_overhead_ns: 1000.0,
    receive_overhead_ns: 1500.0,
    latency_ns: 20_000.0,
    gap_ns: 0.0,
    gap_per_byte_ns: 0.1,
    receive_gap_ns: 0.0,
    receive_gap_per_byte_ns: 0.1,
    eager_bytes: 65_536,
};

#[divan::bench(args = [
    "allreduce_intra_recursivedoubling",
    "allreduce_intra_ring",
    "alltoall_intra_pairwise",
    "bcast_intra_binomial",
])]
fn evaluates(bencher: divan::Bencher<'_, '_>, name: &str) {
    let call = Call {
        n_processes: 64,
        root: 0,
        elements: 1024,
        element_bytes: 8,
    };
    let named = Named {
        name,
        parameters: Parameters::default(),
    };
    let schedule = schedule(Release::V4_1, &[named], &call).expect("an algorithm without parts");
    let network = Network::new(64, vec![LINK; 2], |from, to| Way {
        class: usize::from(from / 8 != to / 8),
        shared: None,
    });
    let enters: Vec<f64> = (0..64)
        .map(|rank| f64::from(rank * 37 % 64) * 100.0)
        .collect();
    let n_messages = schedule.messages().expect("messages have two ends").len();
    let mut evaluator = Evaluator::new(&schedule).expect("messages have two ends");
    bencher
        .counter(divan::counter::ItemsCount::new(n_messages))
        .bench_local(|| evaluator.leaves_ns(&network, &enters, |_| 0.0)[63]);
}
