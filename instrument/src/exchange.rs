//! Measuring the clocks of the hosts of a job against one another.
//!
//! One process of each host, the one with the lowest rank, is its leader. The leaders exchange
//! stamps ([`ping`]) by a common [`schedule`]: in `MPI_Init` after the library's own is done, and in
//! `MPI_Finalize` before the library's own begins. All samples are written into the trace at once,
//! by those whose clock is the local one, so that a crashed run still has those of its start.
//! Nothing is computed from them here. In a long run the leaders also meet in between ([`meeting`]).
//!
//! **Nobody is left waiting.** No message goes to a process that does not expect it: that all are
//! recorded is agreed upon through the trace directory ([`roster`]), and where one is missing, or all
//! have one clock, nothing happens at all. From there on all processes do the same things in the
//! same order, each of them at a point that every process of the job passes exactly once. Where the
//! MPI library can end only if all end together, they do ([`parting`]).

mod apart;
mod meeting;
mod parting;
mod ping;
mod roster;
mod schedule;
// By the macro that calls functions of the MPI library.
#[allow(unsafe_code)]
mod wire;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use collbench_formats::{Abi, Definition, HostIdentity};

pub use ping::{StopRule, TickLength, WORDS, Watch, Wire, answer, ask};
pub use schedule::{Pair, closing_rounds, rounds};

pub(crate) use meeting::{carries_something, synchronizes};
pub(crate) use roster::{DECISION_PREFIX, ROSTER_PREFIX};

use crate::host::{HostKey, host_key};
use crate::record::Recorder;
use crate::settings::{ExchangeSettings, Scheme};
use apart::is_apart;
use meeting::{Announcement, FIRST, Pace, every_ns, pass_on};
use parting::Parting;
use roster::{Decision, Roster};
use wire::{CallFailed, CommunicatorWire};

/// How long the first process waits for the others to be recorded too: on other hosts, and where
/// the launcher says that there are none.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_ON_ONE_HOST: Duration = Duration::from_secs(1);

/// Exchanges along edges that only close triangles.
const CLOSING: StopRule = StopRule::burst(20);
/// Exchanges of a pair in between.
const IN_BETWEEN: StopRule = StopRule::burst(10);
/// Exchanges of a leader with another process of its host.
const ON_HOST: StopRule = StopRule {
    unimproved: 20,
    most: 20,
    longest_ns: 50_000_000,
};

/// What is known of a process that begins to record.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Start<'a> {
    pub(crate) directory: &'a Path,
    pub(crate) settings: ExchangeSettings,
    pub(crate) world: u64,
    pub(crate) rank: u32,
    pub(crate) world_size: u32,
    pub(crate) host: &'a HostIdentity,
    pub(crate) tick: TickLength,
    /// Whether the launcher has started all processes on this host.
    pub(crate) is_said_to_be_alone: bool,
}

/// The part of this process in the exchanges of its world.
#[derive(Debug)]
pub(crate) struct Exchanges {
    /// To be removed at the end; of rank 0 only.
    roster: Option<Roster>,
    leader: Option<Mutex<Leader>>,
    /// Where there are exchanges, and the MPI library needs it.
    parting: Option<Parting>,
}

/// What all processes of the world do, the same in each.
struct Plan {
    scheme: Scheme,
    /// Whether the leaders meet in between.
    has_meetings: bool,
    /// World ranks, ascending.
    leaders: Vec<u32>,
}

/// Why there are no exchanges, or no further ones.
#[derive(Debug, thiserror::Error)]
enum NoExchanges {
    #[error(
        "only {recorded} of {world_size} processes are recorded, and no message goes to others"
    )]
    NotAllRecorded { recorded: u32, world_size: u32 },
    #[error("the trace directory: {0}")]
    Directory(#[from] std::io::Error),
    #[error(transparent)]
    Call(#[from] CallFailed),
    #[error("--exchange off")]
    Unwanted,
    #[error("the ABI of the MPI library is not known")]
    UnknownAbi,
}

impl Exchanges {
    /// Agrees with all processes of the world on what to do, and takes the exchanges of the start:
    /// inside `MPI_Init`, when the library's own is done. What comes of it is in the trace.
    pub(crate) fn begin(recorder: &Recorder, start: &Start<'_>) -> Self {
        let mut exchanges = Self {
            roster: None,
            leader: None,
            parting: None,
        };
        if start.world_size < 2 {
            return exchanges;
        }
        match exchanges.try_begin(recorder, start) {
            Ok(()) => {}
            Err(why) => recorder.define(&Definition::ClockExchanges {
                on: false,
                reason: why.to_string(),
            }),
        }
        exchanges
    }

    fn try_begin(&mut self, recorder: &Recorder, start: &Start<'_>) -> Result<(), NoExchanges> {
        let Start {
            rank, world_size, ..
        } = *start;
        let scheme = start.settings.scheme.ok_or(NoExchanges::Unwanted)?;
        let library = &recorder.library;
        if library.abi == Abi::Unknown {
            return Err(NoExchanges::UnknownAbi);
        }
        let key = host_key(start.host, recorder.clock.source());
        let patience = if start.is_said_to_be_alone {
            PATIENCE_ON_ONE_HOST
        } else {
            PATIENCE
        };
        let roster = Roster::of(start.directory, start.world, world_size)?;
        let decision = roster.agree(rank, key, patience);
        self.roster = (rank == 0).then_some(roster);
        match decision? {
            Decision::OneHost => {
                recorder.know_hosts(vec![0; world_size as usize]);
                return Ok(());
            }
            Decision::Missing { recorded } => {
                return Err(NoExchanges::NotAllRecorded {
                    recorded,
                    world_size,
                });
            }
            Decision::Exchange => {}
        }
        self.parting = Parting::of(start, library.abi);
        let mut world = CommunicatorWire::of_world(library, recorder.clock);
        let keys = world.gather_all(rank, key, world_size)?;
        recorder.know_hosts(lowest_of_hosts(&keys));
        let leader = check_host(&mut world, &keys, rank, start.tick)?;
        if leader == rank && keys[..rank as usize].contains(&key) {
            let rank = lowest_of_host(&keys, rank);
            recorder.define(&Definition::ClockApart { rank });
        }
        // The first process's settings hold for all: each may have been given its own.
        let has_meetings = start.settings.every != Some(Duration::ZERO);
        let mut entry = HostKey::default();
        entry[..4].copy_from_slice(&leader.to_le_bytes());
        entry[4] = u8::from(scheme == Scheme::Linear);
        entry[5] = u8::from(has_meetings);
        let entries = world.gather_all(rank, entry, world_size)?;
        let plan = Plan {
            scheme: match entries[0][4] {
                0 => Scheme::Rounds,
                _ => Scheme::Linear,
            },
            has_meetings: entries[0][5] != 0,
            leaders: (0..world_size)
                .zip(entries)
                .filter(|(rank, entry)| entry[..4] == rank.to_le_bytes())
                .map(|(rank, _)| rank)
                .collect(),
        };
        recorder.define(&Definition::ClockExchanges {
            on: true,
            reason: String::new(),
        });
        let led = self.lead(recorder, start, plan);
        // All leave together: else those that lead no host would wait for the others in the first
        // call of the application, and that would be the application's wait.
        world.barrier(rank, world_size)?;
        Ok(led?)
    }

    /// The part of a leader in the start.
    fn lead(
        &mut self,
        recorder: &Recorder,
        start: &Start<'_>,
        plan: Plan,
    ) -> Result<(), CallFailed> {
        let Ok(own) = plan.leaders.binary_search(&start.rank) else {
            return Ok(());
        };
        let mut leader = Leader {
            wire: CommunicatorWire::among(&recorder.library, recorder.clock, &plan.leaders)?,
            own,
            leaders: plan.leaders,
            scheme: plan.scheme,
            tick: start.tick,
            best_rtt_ns: None,
            pace: None,
        };
        leader.measure(recorder)?;
        if plan.has_meetings {
            if own == 0 {
                let every_ns = match start.settings.every {
                    None => every_ns(leader.best_rtt_ns),
                    Some(every) => u64::try_from(every.as_nanos()).unwrap_or(u64::MAX),
                };
                leader.pace = Some(Pace::new(every_ns, leader.now_ns()));
            }
            recorder.meet_from(FIRST);
        }
        self.leader = Some(Mutex::new(leader));
        Ok(())
    }

    /// Meets the other leaders behind the call at this position on `MPI_COMM_WORLD`.
    pub(crate) fn meet(&self, recorder: &Recorder, position: u64) {
        let Some(leader) = &self.leader else { return };
        // Held only where a handler has interrupted an exchange, or left it for good.
        let Ok(mut leader) = leader.try_lock() else {
            return;
        };
        let begin = recorder.clock.now();
        match leader.meet(recorder, position) {
            Ok(next) => recorder.meet_from(next),
            Err(error) => {
                recorder.meet_from(u64::MAX);
                recorder.define(&Definition::ClockExchanges {
                    on: true,
                    reason: error.to_string(),
                });
            }
        }
        let end = recorder.clock.now();
        recorder.define(&Definition::Pause { begin, end });
    }

    /// Takes the exchanges of the end, before MPI ends.
    pub(crate) fn end(&self, recorder: &Recorder) {
        if let Some(Ok(mut leader)) = self.leader.as_ref().map(Mutex::try_lock) {
            match leader.measure(recorder) {
                Ok(()) => leader.wire.free(),
                Err(error) => recorder.define(&Definition::ClockExchanges {
                    on: true,
                    reason: format!("no exchanges at the end: {error}"),
                }),
            }
        }
        if let Some(parting) = &self.parting {
            let world = CommunicatorWire::of_world(&recorder.library, recorder.clock);
            if world.barrier_of_library().is_ok() {
                // Whoever does not come is on its way into `MPI_Finalize` all the same.
                let _ = parting.wait_for_all();
            }
        }
    }

    /// Removes from the trace directory what nobody needs any more.
    pub(crate) fn clean_up(&self) {
        if let Some(roster) = &self.roster {
            roster.remove();
        }
    }
}

/// By rank the lowest rank on its host.
fn lowest_of_hosts(keys: &[HostKey]) -> Vec<u32> {
    let mut lowest = HashMap::new();
    let ranks = (0..).zip(keys);
    ranks
        .map(|(rank, key)| *lowest.entry(key).or_insert(rank))
        .collect()
}

fn lowest_of_host(keys: &[HostKey], rank: u32) -> u32 {
    let of_host = keys.iter().position(|key| *key == keys[rank as usize]);
    of_host.map_or(rank, |lowest| lowest as u32)
}

/// Whose clock process `rank` has: that of the lowest rank on its host, or its own where a ping
/// shows another. All processes of the host take part.
fn check_host(
    world: &mut CommunicatorWire,
    keys: &[HostKey],
    rank: u32,
    tick: TickLength,
) -> Result<u32, CallFailed> {
    let lowest = lowest_of_host(keys, rank);
    if rank != lowest {
        answer(world, lowest as usize, tick)?;
        let [is_apart, ..] = world.receive(lowest as usize)?;
        return Ok(if is_apart != 0 { rank } else { lowest });
    }
    let others = (0..).zip(keys).skip(rank as usize + 1);
    for (other, _) in others.filter(|(_, key)| **key == keys[rank as usize]) {
        let (samples, _) = ask(world, other, ON_HOST, tick)?;
        world.send(other, [u64::from(is_apart(&samples, tick)), 0, 0, 0])?;
    }
    Ok(rank)
}

/// The process that exchanges stamps for its host.
#[derive(Debug)]
struct Leader {
    wire: CommunicatorWire,
    /// Own number among the leaders.
    own: usize,
    /// World ranks.
    leaders: Vec<u32>,
    scheme: Scheme,
    tick: TickLength,
    /// The smallest round trip that this one has seen.
    best_rtt_ns: Option<u64>,
    /// Of the first leader, where there are meetings.
    pace: Option<Pace>,
}

impl Leader {
    fn now_ns(&mut self) -> u64 {
        self.tick.ns(self.wire.now())
    }

    /// Meets the others at this position; gives that from which on they meet next.
    fn meet(&mut self, recorder: &Recorder, position: u64) -> Result<u64, CallFailed> {
        let now_ns = self.now_ns();
        let mut words = match &mut self.pace {
            None => [0; WORDS],
            Some(pace) => {
                let Announcement { measure, next } = pace.announce(position, now_ns);
                [u64::from(measure), next, 0, 0]
            }
        };
        pass_on(&mut self.wire, self.own, self.leaders.len(), &mut words)?;
        let [measure, next, ..] = words;
        if measure != 0 {
            let rounds = rounds(self.leaders.len(), self.scheme);
            self.go_through(&rounds, IN_BETWEEN, recorder)?;
        }
        Ok(next)
    }

    /// All that is measured at the start and at the end.
    fn measure(&mut self, recorder: &Recorder) -> Result<(), CallFailed> {
        let n_hosts = self.leaders.len();
        self.go_through(&rounds(n_hosts, self.scheme), StopRule::THOROUGH, recorder)?;
        self.go_through(&closing_rounds(n_hosts, self.scheme), CLOSING, recorder)
    }

    /// Takes part in each round, and writes down what it has measured of its own clock.
    fn go_through(
        &mut self,
        rounds: &[Vec<Pair>],
        rule: StopRule,
        recorder: &Recorder,
    ) -> Result<(), CallFailed> {
        for pair in rounds.iter().flatten() {
            if pair.reference == self.own {
                let (_, best_ns) = ask(&mut self.wire, pair.local, rule, self.tick)?;
                self.best_rtt_ns = self.best_rtt_ns.into_iter().chain(best_ns).min();
            } else if pair.local == self.own {
                let samples = answer(&mut self.wire, pair.reference, self.tick)?;
                recorder.define(&Definition::OffsetMeasurement {
                    reference_rank: self.leaders[pair.reference],
                    samples,
                });
            }
        }
        Ok(())
    }
}
