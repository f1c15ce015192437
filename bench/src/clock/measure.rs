//! The measurements, in all processes of the job at once.

use std::time::{Duration, Instant};

use anyhow::Context;
use collbench_formats::{ClockSource, OffsetSample};
use collbench_instrument::exchange::{Pair, StopRule, TickLength, Transport, answer, ask, rounds};
use collbench_instrument::{Clock, Scheme};
use mpi::topology::Color;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};

use super::Options;
use super::participants::Participants;
use crate::folder;
use crate::job::{self, Group};
use crate::overhead::ClockName;

/// Exchanges in a burst.
const BURST: StopRule = StopRule::burst(10);
/// How often each group synchronizes in each scheme.
const REPETITIONS: usize = 5;

/// The measurements, as process 0 has them at the end.
#[derive(Debug)]
pub(super) struct Measured {
    /// World rank and host of each participating process; the first is the reference.
    pub(super) participants: Vec<(i32, String)>,
    /// Whether all participants read the same clock.
    pub(super) has_one_clock: bool,
    pub(super) n_ranks: i32,
    pub(super) clock: ClockSource,
    /// Tick length of each participant, over the whole run.
    pub(super) ticks: Vec<TickLength>,
    /// By participant, without the first.
    pub(super) exchanges: Vec<Vec<OffsetSample>>,
    pub(super) synchronizations: Vec<Synchronized>,
    /// By participant, without the first; bursts in order.
    pub(super) bursts: Vec<Vec<Vec<OffsetSample>>>,
}

/// Duration of each synchronization of a group, in ticks of the reference.
#[derive(Debug)]
pub(super) struct Synchronized {
    pub(super) hosts: usize,
    pub(super) scheme: Scheme,
    pub(super) ticks: Vec<u64>,
}

/// Measures; returns the measurements in process 0 only.
///
/// # Errors
/// States what this process lacks.
pub(super) fn measure(options: &Options) -> anyhow::Result<Option<Measured>> {
    let source = ClockName::source_or_chosen(options.clock);
    let clock = Clock::of(source)
        .context("--clock tsc: the time stamp counter of this machine is not invariant; use raw");
    let begin = clock.as_ref().ok().map(|clock| clock.anchor());
    let universe = mpi::initialize().context("MPI is initialized already")?;
    let world = universe.world();
    anyhow::ensure!(
        world.size() > 1,
        "clocks are measured between processes: start the command with a launcher, as in mpirun -n 2 \
         collbench-bench clock"
    );
    // A directory that cannot be written to is reported before anything is measured.
    let ready = match (&options.output, world.rank()) {
        (Some(path), 0) => clock.and_then(|clock| folder::make(path).map(|()| clock)),
        _ => clock,
    };
    let (Some((all, clock)), Some(begin)) = (job::gather(&world, source, ready)?, begin) else {
        return Ok(None);
    };
    let Participants {
        participants,
        has_one_clock,
    } = Participants::of(&all);
    let own = participants
        .iter()
        .position(|(rank, _)| *rank == world.rank());
    let color = match own {
        Some(_) => Color::with_value(0),
        None => Color::undefined(),
    };
    let measured = match world.split_by_color(color) {
        None => None,
        Some(comm) => {
            let mut group = Group { clock, comm };
            let own = own.unwrap_or(0);
            let tick = |clock: Clock| match source {
                ClockSource::Tsc => tick_between(begin.into(), clock.anchor().into()),
                // These count in ns, each in its own.
                ClockSource::MonotonicRaw | ClockSource::Monotonic => TickLength::NANOSECOND,
            };
            let so_far = tick(clock);
            let exchanges = group.with_first(own, so_far, long_burst(options.exchanges));
            let synchronizations = group.synchronize(own, so_far);
            let bursts = group.bursts_over_time(own, so_far, options);
            let mut lengths = vec![0u64; participants.len()];
            let length = tick(clock).ns(TICKS_OF_LENGTH);
            group.comm.all_gather_into(&length, &mut lengths[..]);
            if has_one_clock {
                // Each measured the same length, with slightly different results.
                let of_first = lengths[0];
                lengths.fill(of_first);
            }
            let ticks = lengths
                .iter()
                .map(|&ns| TickLength::of(TICKS_OF_LENGTH, ns));
            (own == 0).then(|| Measured {
                participants,
                has_one_clock,
                n_ranks: world.size(),
                clock: source,
                ticks: ticks.collect(),
                exchanges,
                synchronizations,
                bursts,
            })
        }
    };
    world.barrier();
    Ok(measured)
}

/// Unit in which tick lengths are sent between processes.
const TICKS_OF_LENGTH: u64 = 1 << 50;

fn tick_between(begin: [u64; 5], end: [u64; 5]) -> TickLength {
    TickLength::of(
        end[0].saturating_sub(begin[0]),
        end[1].saturating_sub(begin[1]),
    )
}

fn long_burst(exchanges: u32) -> StopRule {
    StopRule {
        longest_ns: 60_000_000_000,
        ..StopRule::burst(exchanges)
    }
}

impl Group {
    fn len(&self) -> usize {
        self.comm.size() as usize
    }

    /// The first process asks each other one in turn; returns the exchanges.
    fn with_first(
        &mut self,
        own: usize,
        tick: TickLength,
        rule: StopRule,
    ) -> Vec<Vec<OffsetSample>> {
        if own > 0 {
            let Ok(_) = answer(self, 0, tick);
            return Vec::new();
        }
        let asked = (1..self.len()).map(|peer| {
            let Ok((samples, _)) = ask(self, peer, rule, tick);
            samples
        });
        asked.collect()
    }

    /// Groups of 2, 4, ... up to all, in both schemes.
    fn synchronize(&mut self, own: usize, tick: TickLength) -> Vec<Synchronized> {
        let n = self.len();
        let mut sizes: Vec<usize> = (1..=n.ilog2()).map(|exponent| 1 << exponent).collect();
        sizes.extend((!n.is_power_of_two()).then_some(n));
        let mut all = Vec::new();
        for hosts in sizes {
            let schemes = [Scheme::Linear, Scheme::Rounds];
            let schedules = schemes.map(|scheme| rounds(hosts, scheme).concat());
            let mut ticks = [Vec::new(), Vec::new()];
            // Alternately, so that other load on the machine affects both.
            for _ in 0..REPETITIONS {
                for (schedule, ticks) in schedules.iter().zip(&mut ticks) {
                    ticks.push(self.measure_pairs(schedule, own, tick));
                }
            }
            let of_size = schemes.into_iter().zip(ticks);
            all.extend(of_size.map(|(scheme, ticks)| Synchronized {
                hosts,
                scheme,
                ticks,
            }));
        }
        all
    }

    /// Time until all pairs have finished, in ticks.
    fn measure_pairs(&mut self, pairs: &[Pair], own: usize, tick: TickLength) -> u64 {
        self.comm.barrier();
        let begin = self.now();
        for &Pair { reference, local } in pairs {
            if own == reference {
                let Ok(_) = ask(self, local, StopRule::THOROUGH, tick);
            } else if own == local {
                let Ok(_) = answer(self, reference, tick);
            }
        }
        self.comm.barrier();
        self.now() - begin
    }

    /// One burst with each participant per interval, for the requested duration.
    fn bursts_over_time(
        &mut self,
        own: usize,
        tick: TickLength,
        options: &Options,
    ) -> Vec<Vec<Vec<OffsetSample>>> {
        let mut bursts = vec![Vec::new(); self.len() - 1];
        let begin = Instant::now();
        let (interval, duration) = (
            Duration::from_secs_f64(options.interval),
            Duration::from_secs_f64(options.duration),
        );
        let mut due = Duration::ZERO;
        loop {
            if own == 0 {
                std::thread::sleep(due.saturating_sub(begin.elapsed()));
            }
            let mut goes_on = u8::from(due <= duration);
            self.comm.process_at_rank(0).broadcast_into(&mut goes_on);
            if goes_on == 0 {
                return bursts;
            }
            for (of_peer, samples) in bursts.iter_mut().zip(self.with_first(own, tick, BURST)) {
                of_peer.push(samples);
            }
            // A late burst is not followed by those that it delayed.
            due = begin.elapsed().max(due + interval);
        }
    }
}
