//! Simulated cost of measuring all clocks of a group, for more hosts than are available.
//!
//! The schedule and the stop rule are those of the recorder; only the network is simulated.

use collbench_instrument::Scheme;
use collbench_instrument::exchange::{Pair, StopMonitor, StopRule, rounds};
use collbench_stats::random::Random;
use serde::Serialize;

/// The document `collbench.bench.clock.simulation/1`.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Simulation {
    schema: &'static str,
    pub(super) command: Vec<String>,
    pub(super) groups: Vec<Simulated>,
}

impl Simulation {
    /// Groups of 2, 4, 8 ... hosts, and of `n_hosts`, on each network.
    pub(super) fn up_to(n_hosts: usize) -> Self {
        let powers = (1..).map(|exponent| 1 << exponent);
        let sizes: Vec<usize> = powers
            .take_while(|&size| size < n_hosts)
            .chain([n_hosts])
            .collect();
        let of_network = |network| sizes.iter().map(move |&size| Simulated::of(size, network));
        Self {
            schema: "collbench.bench.clock.simulation/1",
            command: std::env::args().collect(),
            groups: NETWORKS.into_iter().flat_map(of_network).collect(),
        }
    }
}

/// Simulated groups per figure.
const REPETITIONS: u64 = 20;

/// A network by its one-way times, ns.
#[derive(Debug, Clone, Copy)]
struct Network {
    name: &'static str,
    /// Range of the shortest one-way time of a pair of hosts.
    least: (f64, f64),
    /// Largest difference between the two directions of a pair, ns.
    asymmetry: f64,
    /// Mean of the additional time of a message (gamma, shape 2), ns.
    jitter: f64,
    /// Share of the messages that take much longer (Pareto, shape 1.5, from the jitter on).
    tail: f64,
}

/// TCP over Ethernet, and InfiniBand.
const NETWORKS: [Network; 2] = [
    Network {
        name: "TCP",
        least: (20_000.0, 26_000.0),
        asymmetry: 1_000.0,
        jitter: 3_000.0,
        tail: 0.05,
    },
    Network {
        name: "InfiniBand",
        least: (1_500.0, 2_000.0),
        asymmetry: 50.0,
        jitter: 100.0,
        tail: 0.01,
    },
];

/// One pair of hosts on a network.
struct Path {
    network: Network,
    least: [f64; 2],
}

impl Path {
    fn of(network: Network, random: &mut Random) -> Self {
        let (low, high) = network.least;
        let least = random.uniform_real(low, high);
        let half = random.uniform_real(-network.asymmetry, network.asymmetry) / 2.0;
        Self {
            network,
            least: [least + half, least - half],
        }
    }

    fn round_trip_ns(&self, random: &mut Random) -> f64 {
        let Network { jitter, tail, .. } = self.network;
        self.least
            .iter()
            .map(|least| {
                let shape_2 =
                    random.exponential_real(jitter / 2.0) + random.exponential_real(jitter / 2.0);
                let late = if random.unit() < tail {
                    random.pareto_real(jitter, 1.5)
                } else {
                    0.0
                };
                least + shape_2 + late
            })
            .sum()
    }
}

/// Time of `n_hosts` hosts from a common start until the last pair has finished, ns.
fn duration_ns(n_hosts: usize, scheme: Scheme, network: Network, random: &mut Random) -> f64 {
    // A pair begins when both hosts have finished their previous pairs.
    let mut free_at = vec![0.0; n_hosts];
    for Pair { reference, local } in rounds(n_hosts, scheme).concat() {
        let path = Path::of(network, random);
        let begin = f64::max(free_at[reference], free_at[local]);
        let mut monitor = StopMonitor::new(StopRule::THOROUGH);
        let (mut now, mut first) = (begin, None);
        loop {
            let rtt_ns = path.round_trip_ns(random);
            now += rtt_ns;
            let elapsed = now - *first.get_or_insert(now);
            if !monitor.continues(rtt_ns as u64, elapsed as u64) {
                break;
            }
        }
        free_at[reference] = now;
        free_at[local] = now;
    }
    free_at.into_iter().fold(0.0, f64::max)
}

/// Both schemes on a simulated group.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Simulated {
    pub(super) network: &'static str,
    pub(super) hosts: usize,
    pub(super) rounds: usize,
    /// Means over `repetitions` groups.
    pub(super) repetitions: u64,
    pub(super) linear_ns: f64,
    pub(super) rounds_ns: f64,
    /// `linear_ns` divided by `rounds_ns`.
    pub(super) ratio: f64,
}

impl Simulated {
    fn of(n_hosts: usize, network: Network) -> Self {
        let mean = |scheme: Scheme| {
            let all = (0..REPETITIONS)
                .map(|seed| duration_ns(n_hosts, scheme, network, &mut Random::from_state(seed)));
            all.sum::<f64>() / REPETITIONS as f64
        };
        let (linear_ns, rounds_ns) = (mean(Scheme::Linear), mean(Scheme::Rounds));
        Self {
            network: network.name,
            hosts: n_hosts,
            rounds: rounds(n_hosts, Scheme::Rounds).len(),
            repetitions: REPETITIONS,
            linear_ns,
            rounds_ns,
            ratio: linear_ns / rounds_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_several_times_cheaper_for_many_hosts() {
        for network in NETWORKS {
            for (n_hosts, n_rounds, least_ratio) in [(64, 6, 6.0), (128, 7, 10.0)] {
                let simulated = Simulated::of(n_hosts, network);
                assert_eq!(simulated.rounds, n_rounds);
                assert!(simulated.ratio >= least_ratio, "{simulated:?}");
            }
        }
    }

    #[test]
    fn the_sizes_are_powers_of_two_and_what_was_asked_for() {
        let sizes = |n_hosts: usize| -> Vec<usize> {
            let groups = Simulation::up_to(n_hosts).groups;
            let first = groups.iter().filter(|g| g.network == NETWORKS[0].name);
            first.map(|group| group.hosts).collect()
        };
        assert_eq!(sizes(2), [2]);
        assert_eq!(sizes(8), [2, 4, 8]);
        assert_eq!(sizes(9), [2, 4, 8, 9]);
    }

    #[test]
    fn two_hosts_cost_the_same_in_both_schemes() {
        let simulated = Simulated::of(2, NETWORKS[0]);
        assert_eq!(simulated.linear_ns, simulated.rounds_ns);
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Simulation>("collbench.bench.clock.simulation/1");
    }
}
