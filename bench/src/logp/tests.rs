//! Parameters of simulated networks must be found again.

mod bulk;
mod checks;
mod small;

use super::measurement::{Progress, Sampler};
use super::messages::{Parameters, SimulatedJob};
use super::model::Precision;

/// A simulation has no noise: two batches show that.
const PRECISION: Precision = Precision {
    batch: 5,
    relative: 0.05,
    least: 2,
    most: 4,
    longest_ns: 1e9,
};

/// A network of `n` processes with o_s, o_r, g and L, ns.
fn network(n: usize, [send, receive, gap, latency]: [f64; 4]) -> Parameters {
    Parameters {
        send_overhead_ns: send,
        receive_overhead_ns: receive,
        overhead_per_byte_ns: 0.0,
        gap_ns: gap,
        gap_per_byte_ns: 0.0,
        latency_ns: latency,
        capacity: 4096,
        rendezvous_bytes: None,
        positions_ns: vec![0.0; n],
    }
}

fn sampler(job: &mut SimulatedJob) -> Sampler<'_, SimulatedJob> {
    Sampler {
        job,
        precision: PRECISION,
        progress: Progress::default(),
    }
}

#[track_caller]
fn is_within(percent: f64, found: f64, expected: f64) {
    let difference = (found - expected).abs();
    assert!(
        difference <= percent / 100.0 * expected.abs(),
        "{found} instead of {expected}"
    );
}
