//! Exchanges between the clocks of hosts, as a recorder measures them.

use std::ops::Range;

use collbench_formats::{Definition, OffsetSample};
use collbench_stats::random::{Random, hash};

use super::scenario::{Exchanges, Scenario};

/// Time between receiving a message and answering.
const TURNAROUND_NS: u64 = 300;

/// The measurements of `rank` in the run, with the time of each; empty unless it is the lowest rank
/// of a host other than the reference's. `run` is from the end of MPI_Init to the end of the
/// process or of the reference.
pub(crate) fn measurements(
    scenario: &Scenario,
    seed: u64,
    rank: u32,
    run: Range<u64>,
) -> Vec<(u64, Definition)> {
    let host = scenario.host_of[rank as usize];
    let is_leader = scenario.host_of.iter().position(|&other| other == host) == Some(rank as usize);
    let (Some(exchanges), true) = (scenario.exchanges, is_leader) else {
        return Vec::new();
    };
    if host == scenario.host_of[0] {
        return Vec::new();
    }
    let mut bursts = Vec::new();
    let mut begin = run.start;
    let mut last = None;
    while let Some(burst) = burst(scenario, exchanges, &[seed, host as u64], begin) {
        if burst.end > run.end {
            break;
        }
        last = Some(burst.end - burst.begin);
        bursts.push(burst);
        match exchanges.every_ns {
            Some(every_ns) => begin += every_ns,
            None => break,
        }
    }
    // The burst at the end begins early enough to finish in time.
    let at_end = last.filter(|_| exchanges.at_end);
    let at_end = at_end.and_then(|length| run.end.checked_sub(2 * length));
    if let Some(begin) = at_end.filter(|&begin| begin > bursts[bursts.len() - 1].end) {
        let burst = burst(scenario, exchanges, &[seed, host as u64], begin);
        bursts.extend(burst.filter(|burst| burst.end <= run.end));
    }
    bursts
        .into_iter()
        .map(|burst| {
            let measurement = Definition::OffsetMeasurement {
                reference_rank: 0,
                samples: burst.samples,
            };
            (burst.begin, measurement)
        })
        .collect()
}

struct Burst {
    begin: u64,
    end: u64,
    samples: Vec<OffsetSample>,
}

/// A burst that begins at `begin`; `None` if it would contain no exchange.
fn burst(scenario: &Scenario, exchanges: Exchanges, name: &[u64], begin: u64) -> Option<Burst> {
    let &[seed, host] = name else { return None };
    let reference = &scenario.hosts[scenario.host_of[0]].clock;
    let local = &scenario.hosts[host as usize].clock;
    let mut random = Random::of(&[hash(&[seed, 0x0ff5e7]), host, begin]);
    let mut late = || match exchanges.jitter_ns {
        0 => 0,
        mean => random.exponential(mean),
    };
    let leader = scenario
        .host_of
        .iter()
        .position(|&other| other as u64 == host)?;
    let one_way_ns = |ends: (u32, u32)| {
        if exchanges.is_over_network {
            scenario.network.base_ns(ends, &scenario.host_of)
        } else {
            exchanges.one_way_ns
        }
    };
    let (there_ns, back_ns) = (
        one_way_ns((0, leader as u32)),
        one_way_ns((leader as u32, 0)),
    );
    let mut at = begin;
    let mut samples = Vec::new();
    for _ in 0..exchanges.n {
        let received = at + there_ns + exchanges.asymmetry_ns + late();
        let answered = received + TURNAROUND_NS;
        let returned = answered + back_ns + late();
        samples.push(OffsetSample {
            t1: reference.ticks(at),
            t2: local.ticks(received),
            t3: local.ticks(answered),
            t4: reference.ticks(returned),
        });
        at = returned + TURNAROUND_NS;
    }
    let end = at;
    (!samples.is_empty()).then_some(Burst {
        begin,
        end,
        samples,
    })
}
