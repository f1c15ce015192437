//! The part of this process in the exchanges of its world, from start to end.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use collbench_formats::{Abi, Definition};

use super::clock_difference::have_different_clocks;
use super::in_run::{FIRST_POSITION, PointSchedule, every_ns};
use super::joint_finalize::JointFinalize;
use super::leader::Leader;
use super::ping::{StopRule, TickLength, Transport, answer, ask};
use super::registry::{Decision, Registry};
use super::session::Session;
use super::start::Start;
use super::transport::{CallFailed, CommunicatorTransport};
use crate::host::{HostKey, host_key};
use crate::settings::Scheme;

/// How long the first process waits for the others to be recorded too. The first value is for
/// processes on other hosts; the second is used where the launcher says that all are on one host.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(5);
const TIMEOUT_ON_ONE_HOST: Duration = Duration::from_secs(1);

/// Exchanges of a leader with another process of its host.
const ON_HOST: StopRule = StopRule {
    unimproved: 20,
    most: 20,
    longest_ns: 50_000_000,
};

/// The part of this process in the exchanges of its world.
#[derive(Debug)]
pub(crate) struct Exchanges {
    /// By world rank, the lowest rank on its host, once that is known.
    lowest_of_hosts: Option<Vec<u32>>,
    /// To be removed at the end; only of rank 0.
    registry: Option<Registry>,
    leader: Option<Mutex<Leader>>,
    /// Present if there are exchanges and the MPI library needs it.
    joint_finalize: Option<JointFinalize>,
}

/// What all processes of the world do; equal in all of them.
struct Plan {
    scheme: Scheme,
    /// Whether the leaders also measure during the run.
    measures_in_run: bool,
    /// World ranks, ascending.
    leaders: Vec<u32>,
}

/// Why there are no exchanges, or no more of them.
#[derive(Debug, thiserror::Error)]
enum NoExchanges {
    #[error(
        "only {recorded} of {world_size} processes are recorded, and no messages are sent to the others"
    )]
    NotAllRecorded { recorded: u32, world_size: u32 },
    #[error("the trace directory cannot be used: {0}")]
    Directory(#[from] std::io::Error),
    #[error(transparent)]
    Call(#[from] CallFailed),
    #[error("--exchange off")]
    Unwanted,
    #[error("the ABI of the MPI library is not known")]
    UnknownAbi,
}

impl Exchanges {
    /// Agrees with all processes of the world on what to do, and makes the exchanges of the start,
    /// inside `MPI_Init`, when the library's own function is done. The outcome is written to the
    /// trace.
    pub(crate) fn begin(session: &Session<'_>, start: &Start<'_>) -> Self {
        let mut exchanges = Self {
            lowest_of_hosts: None,
            registry: None,
            leader: None,
            joint_finalize: None,
        };
        if start.world_size < 2 {
            return exchanges;
        }
        match exchanges.try_begin(session, start) {
            Ok(()) => {}
            Err(why) => session.define(&Definition::ClockExchanges {
                on: false,
                reason: why.to_string(),
            }),
        }
        exchanges
    }

    fn try_begin(&mut self, session: &Session<'_>, start: &Start<'_>) -> Result<(), NoExchanges> {
        let Start {
            rank, world_size, ..
        } = *start;
        let scheme = start.settings.scheme.ok_or(NoExchanges::Unwanted)?;
        let library = session.library;
        if library.abi == Abi::Unknown {
            return Err(NoExchanges::UnknownAbi);
        }
        let key = host_key(start.host, session.clock.source());
        let timeout = if start.launcher_says_one_host {
            TIMEOUT_ON_ONE_HOST
        } else {
            TIMEOUT
        };
        let registry = Registry::of(start.directory, start.world, world_size)?;
        let decision = registry.agree(rank, key, timeout);
        self.registry = (rank == 0).then_some(registry);
        match decision? {
            Decision::OneHost => {
                self.lowest_of_hosts = Some(vec![0; world_size as usize]);
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
        self.joint_finalize = JointFinalize::of(start, library.abi);
        let mut world = CommunicatorTransport::of_world(library, session.clock);
        let keys = world.gather_all(rank, key, world_size)?;
        self.lowest_of_hosts = Some(lowest_of_hosts(&keys));
        let leader = check_host(&mut world, &keys, rank, start.tick)?;
        if leader == rank && keys[..rank as usize].contains(&key) {
            let rank = lowest_of_host(&keys, rank);
            session.define(&Definition::ClockApart { rank });
        }
        // The settings of the first process hold for all, since each process may have been given
        // its own.
        let measures_in_run = start.settings.every != Some(Duration::ZERO);
        let mut entry = HostKey::default();
        entry[..4].copy_from_slice(&leader.to_le_bytes());
        entry[4] = u8::from(scheme == Scheme::Linear);
        entry[5] = u8::from(measures_in_run);
        let entries = world.gather_all(rank, entry, world_size)?;
        let plan = Plan {
            scheme: match entries[0][4] {
                0 => Scheme::Rounds,
                _ => Scheme::Linear,
            },
            measures_in_run: entries[0][5] != 0,
            leaders: (0..world_size)
                .zip(entries)
                .filter(|(rank, entry)| entry[..4] == rank.to_le_bytes())
                .map(|(rank, _)| rank)
                .collect(),
        };
        session.define(&Definition::ClockExchanges {
            on: true,
            reason: String::new(),
        });
        let led = self.lead(session, start, plan);
        // All leave together. Otherwise processes that are not leaders would wait for the others in
        // the first call of the application, and that would count as a wait of the application.
        world.barrier(rank, world_size)?;
        Ok(led?)
    }

    /// The part of a leader at the start.
    fn lead(
        &mut self,
        session: &Session<'_>,
        start: &Start<'_>,
        plan: Plan,
    ) -> Result<(), CallFailed> {
        let Ok(own) = plan.leaders.binary_search(&start.rank) else {
            return Ok(());
        };
        let mut leader = Leader {
            transport: CommunicatorTransport::among(session.library, session.clock, &plan.leaders)?,
            own,
            leaders: plan.leaders,
            scheme: plan.scheme,
            tick: start.tick,
            best_rtt_ns: None,
            schedule: None,
        };
        leader.measure(session)?;
        if plan.measures_in_run {
            if own == 0 {
                let every_ns = match start.settings.every {
                    None => every_ns(leader.best_rtt_ns),
                    Some(every) => u64::try_from(every.as_nanos()).unwrap_or(u64::MAX),
                };
                leader.schedule = Some(PointSchedule::new(every_ns, leader.now_ns()));
            }
            session.set_measuring_point(FIRST_POSITION);
        }
        self.leader = Some(Mutex::new(leader));
        Ok(())
    }

    /// Exchanges stamps with the other leaders after the call at this position on `MPI_COMM_WORLD`.
    pub(crate) fn measure_in_run(&self, session: &Session<'_>, position: u64) {
        let Some(leader) = &self.leader else { return };
        // Only locked if a handler has interrupted an exchange, or left it by a jump.
        let Ok(mut leader) = leader.try_lock() else {
            return;
        };
        let begin = session.clock.now();
        match leader.measure_in_run(session, position) {
            Ok(next) => session.set_measuring_point(next),
            Err(error) => {
                session.set_measuring_point(u64::MAX);
                session.define(&Definition::ClockExchanges {
                    on: true,
                    reason: error.to_string(),
                });
            }
        }
        let end = session.clock.now();
        session.define(&Definition::Pause { begin, end });
    }

    /// Makes the exchanges of the end, before MPI ends.
    pub(crate) fn end(&self, session: &Session<'_>) {
        if let Some(Ok(mut leader)) = self.leader.as_ref().map(Mutex::try_lock) {
            match leader.measure(session) {
                Ok(()) => leader.transport.free(),
                Err(error) => session.define(&Definition::ClockExchanges {
                    on: true,
                    reason: format!("no exchanges at the end: {error}"),
                }),
            }
        }
        if let Some(joint_finalize) = &self.joint_finalize {
            let world = CommunicatorTransport::of_world(session.library, session.clock);
            if world.barrier_of_library().is_ok() {
                // A process that does not arrive is nevertheless about to enter `MPI_Finalize`.
                let _ = joint_finalize.wait_for_all();
            }
        }
    }

    /// By world rank, the lowest rank on its host; `None` where that is not known. Returned once.
    pub(crate) fn take_lowest_of_hosts(&mut self) -> Option<Vec<u32>> {
        self.lowest_of_hosts.take()
    }

    /// Removes files from the trace directory that are no longer needed.
    pub(crate) fn clean_up(&self) {
        if let Some(registry) = &self.registry {
            registry.remove();
        }
    }
}

/// By rank, the lowest rank on its host.
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

/// The rank whose clock process `rank` has: the lowest rank on its host, or itself if a ping shows
/// another clock. All processes of the host take part.
fn check_host(
    world: &mut CommunicatorTransport,
    keys: &[HostKey],
    rank: u32,
    tick: TickLength,
) -> Result<u32, CallFailed> {
    let lowest = lowest_of_host(keys, rank);
    if rank != lowest {
        answer(world, lowest as usize, tick)?;
        let [have_different_clocks, ..] = world.receive(lowest as usize)?;
        return Ok(if have_different_clocks != 0 {
            rank
        } else {
            lowest
        });
    }
    let others = (0..).zip(keys).skip(rank as usize + 1);
    for (other, _) in others.filter(|(_, key)| **key == keys[rank as usize]) {
        let (samples, _) = ask(world, other, ON_HOST, tick)?;
        world.send(
            other,
            [u64::from(have_different_clocks(&samples, tick)), 0, 0, 0],
        )?;
    }
    Ok(rank)
}
