//! Simulated hosts with known clocks: offsets, drift, wander; paths with jitter, tails and
//! asymmetry; bursts of exchanges, and allreduces over a binomial tree.

use collbench_stats::random::Random;

/// Network between hosts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Network {
    pub(super) name: &'static str,
    /// Shortest time of a message between two hosts, ns: drawn from this range.
    least_ns: (f64, f64),
    /// Largest deviation of each direction from it, ns.
    asymmetry_ns: f64,
    /// Mean of the added gamma distribution of shape 2, ns.
    jitter_ns: f64,
    /// Share of the messages that take longer by the mean times a Pareto of exponent 1.5.
    tail: f64,
}

pub(super) const TCP: Network = Network {
    name: "TCP",
    least_ns: (20_000.0, 26_000.0),
    asymmetry_ns: 1_000.0,
    jitter_ns: 3_000.0,
    tail: 0.05,
};
pub(super) const IB: Network = Network {
    name: "IB",
    least_ns: (1_500.0, 2_000.0),
    asymmetry_ns: 50.0,
    jitter_ns: 100.0,
    tail: 0.01,
};
pub(super) const WAN: Network = Network {
    name: "WAN",
    least_ns: (5_000_000.0, 6_500_000.0),
    asymmetry_ns: 100_000.0,
    jitter_ns: 100_000.0,
    tail: 0.05,
};

/// How the rates of clocks change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wander {
    /// A good temperature-compensated crystal.
    W1,
    /// The crystal of an ordinary server.
    W2,
    /// A crystal that warms up as the job begins.
    W3,
    /// W2 with a daemon that sets the rate every 64 s.
    W4,
}

/// Number of time steps in which the wander of a clock is stored.
const WANDER_STEPS: usize = 8_192;

/// A clock as a function of true time.
#[derive(Debug, Clone)]
pub(super) struct TrueClock {
    offset_ns: f64,
    drift: f64,
    /// Accumulated wander at equal steps, ns.
    wandered: Vec<f64>,
    step_ns: f64,
}

impl TrueClock {
    fn new(wander: Wander, end_ns: f64, random: &mut Random) -> Self {
        let step_ns = 1.02 * end_ns / WANDER_STEPS as f64;
        let step_s = step_ns / 1e9;
        let (amplitude, period_s, walk, warm_up) = match wander {
            Wander::W1 => (0.01e-6, 300.0, 0.0005e-6, 0.0),
            Wander::W2 | Wander::W4 => (0.05e-6, 200.0, 0.002e-6, 0.0),
            Wander::W3 => (0.1e-6, 200.0, 0.005e-6, 0.5e-6),
        };
        let period_s = period_s * between(random, (0.75, 1.25));
        let phase = between(random, (0.0, std::f64::consts::TAU));
        let warm_up = warm_up * random.unit();
        let mut step_at_s = 64.0 * random.unit();
        let (mut walked, mut stepped) = (0.0, 0.0);
        if wander == Wander::W4 {
            stepped = 0.5e-6 * normal(random);
        }
        let mut wandered = vec![0.0];
        for i in 0..WANDER_STEPS {
            let at_s = (i as f64 + 0.5) * step_s;
            walked += walk * step_s.sqrt() * normal(random);
            if wander == Wander::W4 && at_s > step_at_s {
                step_at_s += 64.0;
                stepped = 0.5e-6 * normal(random);
            }
            // The amplitude is given as a root mean square.
            let sinus = std::f64::consts::SQRT_2
                * amplitude
                * (std::f64::consts::TAU * at_s / period_s + phase).sin();
            let rate = sinus + walked + stepped + warm_up * (-at_s / 60.0).exp();
            wandered.push(wandered[i] + rate * step_ns);
        }
        Self {
            offset_ns: 5e9 * between(random, (-1.0, 1.0)),
            drift: 50e-6 * between(random, (-1.0, 1.0)),
            wandered,
            step_ns,
        }
    }

    /// Time that the clock shows at a true time, ns.
    pub(super) fn at(&self, t: f64) -> f64 {
        let step = (t / self.step_ns).max(0.0);
        let left = (step as usize).min(self.wandered.len() - 2);
        let (a, b) = (self.wandered[left], self.wandered[left + 1]);
        t + self.offset_ns + self.drift * t + a + (b - a) * (step - left as f64)
    }

    fn stamp(&self, t: f64) -> i64 {
        self.at(t).round() as i64
    }
}

/// A message inside an allreduce, on the clocks of the two hosts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Message {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) sent: i64,
    pub(super) received: i64,
}

/// An allreduce of all ranks, on the clocks of their hosts.
#[derive(Debug, Clone, Default)]
pub(super) struct Allreduce {
    /// Enters by rank.
    pub(super) enters: Vec<i64>,
    pub(super) leaves: Vec<i64>,
    pub(super) messages: Vec<Message>,
}

/// A simulated cluster.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) network: Network,
    pub(super) size: Size,
    pub(super) end_ns: f64,
    pub(super) clocks: Vec<TrueClock>,
    /// Shortest time from host to host, ns.
    least_ns: Vec<Vec<f64>>,
    /// Whether some ranks are late in all calls.
    is_skewed: bool,
    random: Random,
}

/// Number of hosts, and of ranks on each; both powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) hosts: usize,
    pub(super) ranks_per_host: usize,
}

/// Size for the targets.
pub(super) const FULL: Size = Size {
    hosts: 16,
    ranks_per_host: 4,
};
/// Size for quick tests.
pub(super) const SMALL: Size = Size {
    hosts: 4,
    ranks_per_host: 2,
};

/// CPU time to send or receive a message.
const OVERHEAD_NS: f64 = 300.0;
const WITHIN_HOST_NS: f64 = 500.0;

impl World {
    pub(super) fn new(
        size: Size,
        network: Network,
        wander: Wander,
        seconds: u32,
        seed: u64,
    ) -> Self {
        let n = size.hosts;
        let end_ns = 1e9 * f64::from(seconds);
        let mut random = Random::of(&[0x0077_6f72_6c64, seed]);
        let clocks = (0..n).map(|_| TrueClock::new(wander, end_ns, &mut random));
        let clocks: Vec<_> = clocks.collect();
        let mut least_ns = vec![vec![WITHIN_HOST_NS; n]; n];
        let pairs = (0..n).flat_map(|a| (0..a).map(move |b| (a, b)));
        for (a, b) in pairs {
            let both = between(&mut random, network.least_ns);
            let mut one_way = || both + network.asymmetry_ns * between(&mut random, (-1.0, 1.0));
            (least_ns[a][b], least_ns[b][a]) = (one_way(), one_way());
        }
        Self {
            network,
            size,
            end_ns,
            clocks,
            least_ns,
            is_skewed: false,
            random,
        }
    }

    /// This world with ranks that are up to 1 ms late in all calls, and one that is 3 ms late.
    pub(super) fn skewed(self) -> Self {
        Self {
            is_skewed: true,
            ..self
        }
    }

    /// Time of one message, ns.
    fn transfer_ns(&mut self, from: usize, to: usize) -> f64 {
        let random = &mut self.random;
        if from == to {
            return WITHIN_HOST_NS * (1.0 - 0.3 * random.unit().ln());
        }
        let network = self.network;
        let gamma = -network.jitter_ns / 2.0 * (random.unit() * random.unit()).ln();
        let tail = if random.unit() < network.tail {
            network.jitter_ns * (random.unit().powf(-1.0 / 1.5) - 1.0)
        } else {
            0.0
        };
        self.least_ns[from][to] + gamma + tail
    }

    /// A burst of `n` exchanges of `host` with `reference` from `begin` on: its end, and the
    /// timestamps t1, t2, t3, t4 of each exchange.
    pub(super) fn burst(
        &mut self,
        reference: usize,
        host: usize,
        begin: f64,
        n: usize,
    ) -> (f64, Vec<[i64; 4]>) {
        let mut at = begin;
        let stamps = (0..n).map(|_| {
            let sent = at;
            let received = sent + self.transfer_ns(reference, host);
            let answered = received + OVERHEAD_NS;
            at = answered + self.transfer_ns(host, reference);
            let stamps = [
                self.clocks[reference].stamp(sent),
                self.clocks[host].stamp(received),
                self.clocks[host].stamp(answered),
                self.clocks[reference].stamp(at),
            ];
            at += OVERHEAD_NS;
            stamps
        });
        let stamps = stamps.collect();
        (at, stamps)
    }

    /// Error of the time of a host for an ideal estimator that knows the rates of both clocks and
    /// the shortest round trip with the first host, but not its two directions, ns.
    pub(super) fn unseen_ns(&self, host: usize) -> f64 {
        (self.least_ns[0][host] - self.least_ns[host][0]) / 2.0
    }

    /// An allreduce that ranks enter at about `at`: a reduce to rank 0 and a broadcast over
    /// binomial trees.
    pub(super) fn allreduce(&mut self, at: f64) -> Allreduce {
        let per_host = self.size.ranks_per_host;
        let n_ranks = self.size.hosts * per_host;
        let late = |random: &mut Random| -1e5 * random.unit().ln();
        let mut now: Vec<f64> = (0..n_ranks).map(|_| at + late(&mut self.random)).collect();
        if self.is_skewed {
            let by_rank = now.iter_mut().enumerate();
            by_rank.for_each(|(rank, now)| *now += 1e6 * rank as f64 / n_ranks as f64);
            now[n_ranks / 2 + 1] += 3e6;
        }
        let mut call = Allreduce::default();
        let host = |rank: usize| rank / per_host;
        call.enters = (0..n_ranks)
            .map(|rank| self.clocks[host(rank)].stamp(now[rank]))
            .collect();
        let mut pass = |world: &mut Self, now: &mut [f64], from: usize, to: usize| {
            let sent = now[from];
            now[from] += OVERHEAD_NS;
            let arrived = sent + world.transfer_ns(host(from), host(to));
            now[to] = now[to].max(arrived) + OVERHEAD_NS;
            if host(from) != host(to) {
                call.messages.push(Message {
                    from: host(from),
                    to: host(to),
                    sent: world.clocks[host(from)].stamp(sent),
                    received: world.clocks[host(to)].stamp(now[to]),
                });
            }
        };
        let bits = n_ranks.ilog2();
        for bit in 0..bits {
            let step = 1 << bit;
            for to in (0..n_ranks).step_by(2 * step) {
                pass(self, &mut now, to + step, to);
            }
        }
        for bit in (0..bits).rev() {
            let step = 1 << bit;
            for from in (0..n_ranks).step_by(2 * step) {
                pass(self, &mut now, from, from + step);
            }
        }
        call.leaves = (0..n_ranks)
            .map(|rank| self.clocks[host(rank)].stamp(now[rank]))
            .collect();
        call
    }
}

/// Straight lines by which a program would extrapolate its clocks: by host the offset at the start
/// and the slope, against true time on the clock of the first host.
///
/// # Source
/// Hunold and Carpen-Amarie, "Hierarchical Clock Synchronization in MPI", 2018 (HCA3): in ceil(log2
/// H) rounds each host that has the global time passes it to one that has not, which fits a line to
/// `points` offsets, each the best of `pings` exchanges.
pub(super) fn hca3(world: &mut World, points: usize, pings: usize) -> Vec<(f64, f64)> {
    let n = world.size.hosts;
    // By host the global time minus that of its clock, as a line over its clock minus `origin`.
    let origin: Vec<f64> = world.clocks.iter().map(|clock| clock.at(0.0)).collect();
    let mut models = vec![(0.0, 0.0); n];
    let mut begin = 0.0;
    let mut step = n / 2;
    while step > 0 {
        let mut end: f64 = begin;
        for parent in (0..n).step_by(2 * step) {
            let child = parent + step;
            let mut at = begin;
            let mut fit: Vec<(f64, f64)> = Vec::new();
            for _ in 0..points {
                let (done, stamps) = world.burst(parent, child, at, pings);
                at = done;
                let rtt = |stamps: &&[i64; 4]| (stamps[3] - stamps[0]) - (stamps[2] - stamps[1]);
                if let Some(&[t1, t2, t3, t4]) = stamps.iter().min_by_key(rtt) {
                    let middle = (t1 as f64 - origin[parent] + t4 as f64 - origin[parent]) / 2.0;
                    let own = (t2 as f64 - origin[child] + t3 as f64 - origin[child]) / 2.0;
                    let (offset, slope) = models[parent];
                    fit.push((own, middle + offset + slope * middle - own));
                }
            }
            models[child] = line_of_least_squares(&fit);
            end = end.max(at);
        }
        begin = end;
        step /= 2;
    }
    models
}

fn line_of_least_squares(points: &[(f64, f64)]) -> (f64, f64) {
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let xy: f64 = points
        .iter()
        .map(|point| (point.0 - x) * (point.1 - y))
        .sum();
    let xx: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    (y - xy / xx * x, xy / xx)
}

pub(super) fn between(random: &mut Random, (low, high): (f64, f64)) -> f64 {
    low + (high - low) * random.unit()
}

fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * random.unit().ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}
