//! The measurements in a simulated world, and the errors of the times computed from them.

use super::super::constraint::{Constraints, Key, Origin, Tightest};
use super::super::smoothed_alignment::{CoarseAlignment, SmoothedAlignment};
use super::super::{Burst, Correction, edges};
use super::world::{WAN, World, hca3};

/// Input of the estimator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// Exchanges at start and end, enter and leave of collectives.
    EndsAndCollectives,
    /// Exchanges at start and end, messages inside collectives.
    EndsAndMessages,
    /// Exchanges at start and end, and in between.
    Periodic,
    /// All exchanges, and messages.
    PeriodicAndMessages,
}

impl Given {
    fn is_periodic(self) -> bool {
        matches!(self, Self::Periodic | Self::PeriodicAndMessages)
    }
}

const EXCHANGES_AT_ENDS: usize = 100;
const EXCHANGES_BETWEEN: usize = 10;

/// All measurements in a world.
#[derive(Debug, Clone)]
pub(super) struct Observed {
    world: World,
    /// Start of the run on the clock of the first host.
    start_ns: i64,
    at_ends: Vec<Burst>,
    between: Vec<Burst>,
    collectives: Constraints,
    messages: Constraints,
}

impl Observed {
    /// Bursts of each other host with the first, at start and end and every `every_ns`, and
    /// `n_calls` allreduces evenly over the run.
    pub(super) fn of(mut world: World, every_ns: f64, n_calls: u32) -> Self {
        let end = world.end_ns;
        let round = |world: &mut World, begin: f64, n: usize, bursts: &mut Vec<Burst>| {
            (1..world.size.hosts).fold(begin, |at, host| {
                let (done, stamps) = world.burst(0, host, at, n);
                bursts.push(Burst {
                    local_host: host,
                    reference_host: 0,
                    stamps,
                });
                done
            })
        };
        let (mut at_ends, mut between) = (Vec::new(), Vec::new());
        let init_ns = round(&mut world, 0.0, EXCHANGES_AT_ENDS, &mut at_ends);
        let n_between = (end / every_ns - 0.5) as u32;
        for begin in (1..=n_between).map(|i| f64::from(i) * every_ns) {
            if begin > init_ns {
                round(&mut world, begin, EXCHANGES_BETWEEN, &mut between);
            }
        }
        let last = end - init_ns;
        round(&mut world, last, EXCHANGES_AT_ENDS, &mut at_ends);
        let start_ns = world.clocks[0].at(0.0).round() as i64;
        let coarse = coarse(&world, start_ns, at_ends.clone());
        let mut collectives = coarse.constraints();
        let mut messages = coarse.constraints();
        let (n_hosts, per_host) = (world.size.hosts, world.size.ranks_per_host);
        for i in 0..n_calls {
            let part = (f64::from(i) + 0.5) / f64::from(n_calls);
            let call = world.allreduce(init_ns + (end - 2.0 * init_ns) * part);
            let time = |rank: usize, stamps: &[i64]| coarse.time(rank / per_host, stamps[rank]);
            let ranks = |host: usize| host * per_host..(host + 1) * per_host;
            let entered = |host| ranks(host).map(|rank| time(rank, &call.enters)).max();
            let left = |host| ranks(host).map(|rank| time(rank, &call.leaves)).min();
            let entered: Vec<i64> = (0..n_hosts).filter_map(entered).collect();
            let left: Vec<i64> = (0..n_hosts).filter_map(left).collect();
            for (from, &entered) in entered.iter().enumerate() {
                for (to, &left) in left.iter().enumerate() {
                    if coarse.uses_pair(from, to) {
                        let origin = Origin::AllToAll;
                        collectives.add(Key { origin, from, to }, entered, left);
                    }
                }
            }
            for message in &call.messages {
                let (from, to) = (message.from, message.to);
                let origin = Origin::Message;
                messages.add(
                    Key { origin, from, to },
                    coarse.time(from, message.sent),
                    coarse.time(to, message.received),
                );
            }
        }
        Self {
            world,
            start_ns,
            at_ends,
            between,
            collectives,
            messages,
        }
    }

    fn coarse(&self, is_periodic: bool) -> CoarseAlignment {
        let between = self.between.iter().filter(|_| is_periodic);
        let bursts = self.at_ends.iter().chain(between).cloned();
        coarse(&self.world, self.start_ns, bursts.collect())
    }

    /// Result of the estimator.
    pub(super) fn smooth(&self, given: Given) -> SmoothedAlignment {
        let coarse = self.coarse(given.is_periodic());
        coarse.smooth(match given {
            Given::EndsAndCollectives => self.collectives.clone(),
            Given::EndsAndMessages | Given::PeriodicAndMessages => self.messages.clone(),
            Given::Periodic => coarse.constraints(),
        })
    }

    /// Errors of the estimator.
    pub(super) fn errors_of(&self, result: &SmoothedAlignment) -> Errors {
        let uncertainty = |host: usize, t: f64| result.errors.uncertainty_at_ns(host, 0, t as i64);
        let bound = |host: usize, t: f64| result.errors.bound_at_ns(host, 0, t as i64);
        let mut errors = self.errors(&|host, local| reference(&result.corrections, host, local));
        let n = errors.all.len() as f64;
        let within = |limit: &dyn Fn(usize, f64) -> i64| {
            let within = errors
                .all
                .iter()
                .filter(|e| e.2.abs() <= limit(e.0, e.1) as f64);
            within.count() as f64 / n
        };
        (errors.covered, errors.bounded) = (within(&uncertainty), within(&bound));
        errors.wrongly_resolved = self.wrongly_resolved(&errors, result);
        errors.violations = self.violations(result);
        errors
    }

    /// Share of the pairs of hosts at times of the run whose difference is wrong by more than the
    /// stated uncertainty: two simultaneous events would be put in an order.
    fn wrongly_resolved(&self, errors: &Errors, result: &SmoothedAlignment) -> f64 {
        let n_hosts = self.world.size.hosts;
        let (mut n, mut n_wrong) = (0, 0);
        for at_once in errors.all.chunks_exact(n_hosts - 1) {
            let at_ns = at_once[0].1 as i64;
            // The reference has no error.
            let off = |host: usize| host.checked_sub(1).map_or(0.0, |other| at_once[other].2);
            for a in 0..n_hosts {
                for b in 0..a {
                    let resolved = 1.5 * result.errors.uncertainty_at_ns(a, b, at_ns) as f64;
                    n += 1;
                    n_wrong += usize::from((off(a) - off(b)).abs() > resolved);
                }
            }
        }
        n_wrong as f64 / n as f64
    }

    /// Number of the tightest constraints of collectives and messages that the result violates.
    fn violations(&self, result: &SmoothedAlignment) -> usize {
        let lines = self.coarse(false);
        let aligned = |host: usize, time: i64| {
            let by_line = time + self.start_ns;
            let local = lines.lines[host]
                .as_ref()
                .map_or(by_line, |line| line.local_ns(by_line));
            reference(&result.corrections, host, local)
        };
        let harvests = [&self.collectives, &self.messages];
        let series = harvests.into_iter().flat_map(Constraints::series);
        series
            .map(|(key, stretches)| {
                let is_broken =
                    |at: &&Tightest| aligned(key.to, at.to) < aligned(key.from, at.from);
                stretches.filter(is_broken).count()
            })
            .sum()
    }

    /// Errors of straight lines from start to end.
    pub(super) fn errors_two_point(&self) -> Errors {
        let lines = self.coarse(false).lines;
        self.errors(&|host, local| reference(&lines, host, local))
    }

    /// Errors of straight lines from burst to burst.
    pub(super) fn errors_piecewise(&self) -> Errors {
        let measured = self.coarse(true).measured.corrections;
        self.errors(&|host, local| reference(&measured, host, local))
    }

    /// Errors of an ideal estimator that exchanges messages with the first host and knows
    /// everything about clocks and paths except the asymmetry.
    pub(super) fn errors_unseen(&self) -> Errors {
        let world = &self.world;
        let hosts = 1..world.size.hosts;
        let at = |t: f64| {
            hosts
                .clone()
                .map(move |host| (host, t, world.unseen_ns(host)))
        };
        Errors::of(self.grid().flat_map(at).collect())
    }

    /// Errors of lines fitted at the start (HCA3).
    pub(super) fn errors_hca3(&self) -> Errors {
        let mut world = self.world.clone();
        let is_far = world.network == WAN;
        let (points, pings) = if is_far { (50, 20) } else { (500, 100) };
        let models = hca3(&mut world, points, pings);
        let origins: Vec<f64> = world.clocks.iter().map(|clock| clock.at(0.0)).collect();
        self.errors(&|host, local| {
            let own = local as f64 - origins[host];
            let (offset, slope) = models[host];
            (own + offset + slope * own + origins[0]).round() as i64
        })
    }

    /// Times evenly over the run, ns.
    fn grid(&self) -> impl Iterator<Item = f64> {
        let end_ns = self.world.end_ns;
        (0..GRID).map(move |i| end_ns * i as f64 / (GRID - 1) as f64)
    }

    /// Errors at times evenly over the run; `estimate` converts the time of another host to the
    /// clock of the first.
    fn errors(&self, estimate: &dyn Fn(usize, i64) -> i64) -> Errors {
        let world = &self.world;
        let mut all = Vec::new();
        for t in self.grid() {
            let truth = world.clocks[0].at(t);
            for host in 1..world.size.hosts {
                let local = world.clocks[host].at(t);
                let whole = local.floor();
                // Timestamps are whole ns, errors need not be.
                let estimated = estimate(host, whole as i64) as f64 + (local - whole);
                all.push((host, t, estimated - truth));
            }
        }
        Errors::of(all)
    }
}

fn coarse(world: &World, start_ns: i64, bursts: Vec<Burst>) -> CoarseAlignment {
    let edges = edges(&bursts);
    let mut coarse = CoarseAlignment::of(world.size.hosts, bursts, &edges);
    coarse.starts = vec![start_ns];
    coarse.end_ns = world.end_ns as i64;
    coarse
}

fn reference(corrections: &[Option<Correction>], host: usize, local: i64) -> i64 {
    corrections[host]
        .as_ref()
        .map_or(local, |own| own.reference_ns(local))
}

/// Gap around the first three hosts and its standard deviation, ns; each of the three pairs is
/// measured by exchanges of its own, at both ends of the run.
pub(super) fn gap(mut world: World) -> (f64, f64) {
    let pairs = [(0, 1), (0, 2), (1, 2)];
    let mut bursts = Vec::new();
    let mut at = 0.0;
    for begin in [0.0, 0.98 * world.end_ns] {
        at = begin.max(at);
        for (reference_host, local_host) in pairs {
            let (done, stamps) = world.burst(reference_host, local_host, at, EXCHANGES_AT_ENDS);
            at = done;
            bursts.push(Burst {
                local_host,
                reference_host,
                stamps,
            });
        }
    }
    let start_ns = world.clocks[0].at(0.0).round() as i64;
    let (triangles, _) = coarse(&world, start_ns, bursts).triangles();
    (triangles[0].gap_ns, triangles[0].sd_ns)
}

/// Number of times at which errors are computed.
const GRID: usize = 401;

/// Errors in one simulated world, ns.
#[derive(Debug, Clone, Default)]
pub(super) struct Errors {
    /// Host, time and error, ascending by time.
    all: Vec<(usize, f64, f64)>,
    pub(super) median: f64,
    pub(super) p95: f64,
    pub(super) max: f64,
    /// Share of the errors within the stated uncertainty.
    pub(super) covered: f64,
    /// Share of the errors within the bound.
    pub(super) bounded: f64,
    pub(super) wrongly_resolved: f64,
    pub(super) violations: usize,
}

impl Errors {
    fn of(all: Vec<(usize, f64, f64)>) -> Self {
        let mut sizes: Vec<f64> = all.iter().map(|error| error.2.abs()).collect();
        sizes.sort_unstable_by(f64::total_cmp);
        let at = |part: f64| sizes[(part * (sizes.len() - 1) as f64) as usize];
        Self {
            median: at(0.5),
            p95: at(0.95),
            max: at(1.0),
            all,
            ..Self::default()
        }
    }
}

/// Spacing of bursts, ns, and number of calls for the targets of a run of this length.
pub(super) fn programme(seconds: u32) -> (f64, u32) {
    match seconds {
        ..=10 => (1e9, 1_000),
        11..=100 => (1e10, 5_000),
        _ => (1e10, 10_000),
    }
}
