//! The processes of an MPI job: one decides what is measured, all measure it.
//!
//! The first process sends a command to all others, then the instant at which each begins, by its
//! own clock. All run the same part, and the first one gets their stamps.

use anyhow::Context;
use collbench_instrument::exchange::{StopRule, TickLength, answer, ask};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Root};

use super::call::{Collective, Communicators};
use super::common_clock::{HostClock, Reading};
use super::instant;
use super::metrics::Stamps;
use super::operation::Operation;
use super::subject::{Load, Part, Run, Subject};
use super::without_mpi::WithoutMpi;
use super::workload::{Workload, most_rows};
use crate::job::{Group, Process};

/// A process that begins later than this does not begin with the others, ns.
const TOLERANCE: i64 = 100_000;
/// From a command to the instant at which all begin, ns. It doubles when a process misses it.
const LEAD: i64 = 2_000_000;
const LONGEST_LEAD: i64 = 500_000_000;
/// Exchanges of a burst.
const BURST: u32 = 10;

/// Number of words of a command.
const WORDS: usize = 4;

/// What the first process asks of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Command {
    End,
    /// Exchanges between the first process and the first one of each other host.
    Exchange,
    Prepare(Load),
    Run(Part),
}

impl Command {
    fn words(self) -> [u64; WORDS] {
        match self {
            Self::End => [0; WORDS],
            Self::Exchange => [1, 0, 0, 0],
            Self::Prepare(load) => {
                let mut all = Operation::ALL.iter();
                let operation = all.position(|one| *one == load.operation).unwrap_or(0);
                [2, operation as u64, load.length, load.rows]
            }
            Self::Run(part) => [3 + part as u64, 0, 0, 0],
        }
    }

    fn of(words: [u64; WORDS]) -> Self {
        match words {
            [1, ..] => Self::Exchange,
            [2, operation, length, rows] => Self::Prepare(Load {
                operation: Operation::ALL[operation as usize],
                length,
                rows,
            }),
            [3, ..] => Self::Run(Part::Communication),
            [4, ..] => Self::Run(Part::WithoutMpi),
            [5, ..] => Self::Run(Part::Idle),
            [6, ..] => Self::Run(Part::Overlap),
            _ => Self::End,
        }
    }
}

/// What a process measures with.
pub(super) struct Member {
    pub(super) group: Group,
    pub(super) communicators: Communicators,
    pub(super) workload: Workload,
    pub(super) without_mpi: WithoutMpi,
    /// Rank of the first process of each host but the first one.
    pub(super) leaders: Vec<usize>,
    pub(super) collective: Option<Collective>,
}

impl Member {
    fn world(&self) -> &SimpleCommunicator {
        &self.group.comm
    }

    fn rank(&self) -> usize {
        self.world().rank() as usize
    }

    /// Serves the first process until it ends the measurement.
    ///
    /// # Errors
    /// States what failed in this process.
    pub(super) fn serve(mut self) -> anyhow::Result<()> {
        loop {
            let mut words = [0; WORDS];
            self.world().process_at_rank(0).broadcast_into(&mut words);
            match Command::of(words) {
                Command::End => return Ok(()),
                Command::Exchange => {
                    if self.leaders.contains(&self.rank()) {
                        let Ok(_) = answer(&mut self.group, 0, TickLength::NANOSECOND);
                    }
                }
                Command::Prepare(load) => self.prepare(load)?,
                Command::Run(part) => {
                    let mut at = 0i64;
                    self.world().process_at_rank(0).scatter_into(&mut at);
                    let stamps = self.run(part, at)?;
                    self.world().process_at_rank(0).gather_into(&stamps);
                }
            }
        }
    }

    fn prepare(&mut self, load: Load) -> anyhow::Result<()> {
        // Not both at once: the process without MPI computes when no message is sent.
        self.without_mpi
            .resize(if load.length == 0 { load.rows } else { 0 })?;
        self.workload.resize(load.rows);
        self.collective = None;
        if load.length > 0 {
            let made = Collective::new(&self.communicators, load.operation, load.length)?;
            self.collective = Some(made);
        }
        Ok(())
    }

    /// Runs a part at this instant of the local clock. Returns when this process was ready, then
    /// its stamps.
    fn run(&mut self, part: Part, at: i64) -> anyhow::Result<[i64; 5]> {
        let Self {
            workload,
            without_mpi,
            collective,
            ..
        } = self;
        let (ready, stamps) = match part {
            Part::WithoutMpi => without_mpi.run(at)?,
            Part::Idle => {
                let ready = instant::now();
                instant::wait_for(at);
                let begin = instant::now();
                workload.compute();
                let end = instant::now();
                let stamps = Stamps {
                    begin,
                    called: begin,
                    computed: end,
                    end,
                };
                (ready, stamps)
            }
            Part::Communication | Part::Overlap => {
                let collective = collective.as_mut().context("nothing was prepared")?;
                let ready = instant::now();
                instant::wait_for(at);
                let begin = instant::now();
                let begun = collective.begin()?;
                let called = instant::now();
                let computed = if part == Part::Overlap {
                    workload.compute();
                    instant::now()
                } else {
                    called
                };
                begun.wait()?;
                let end = instant::now();
                let stamps = Stamps {
                    begin,
                    called,
                    computed,
                    end,
                };
                (ready, stamps)
            }
        };
        let Stamps {
            begin,
            called,
            computed,
            end,
        } = stamps;
        Ok([ready, begin, called, computed, end])
    }
}

/// The job, as its first process sees it.
pub(super) struct Job {
    member: Member,
    /// By process, the index of its clock in `clocks`.
    clock_of: Vec<usize>,
    /// The clock of the first process, then those of the leaders.
    clocks: Vec<HostClock>,
    /// Bytes for the buffers, and for the matrices, of a process.
    memory: u64,
    /// Largest number of threads of a process.
    threads: usize,
    lead: i64,
}

impl Job {
    /// The job of the first process, `member`.
    pub(super) fn of(member: Member, processes: &[Process], memory: u64, threads: usize) -> Self {
        let leaders = std::iter::once(0).chain(member.leaders.iter().copied());
        let leaders: Vec<usize> = leaders.collect();
        let clock_of = |process: &Process| {
            let mut all = leaders.iter();
            let same = |leader: &usize| processes[*leader].clock == process.clock;
            all.position(same).unwrap_or(0)
        };
        let mut job = Self {
            clock_of: processes.iter().map(clock_of).collect(),
            clocks: vec![HostClock::default(); leaders.len()],
            member,
            memory,
            threads,
            lead: LEAD,
        };
        job.exchange();
        job
    }

    /// Largest error of a time on the common clock, ns.
    pub(super) fn clock_error_ns(&self) -> f64 {
        let round_trips = self
            .clocks
            .iter()
            .filter_map(HostClock::shortest_round_trip);
        round_trips
            .max()
            .map_or(0.0, |longest| longest as f64 / 2.0)
    }

    /// Ends the measurement in all processes.
    pub(super) fn end(self) {
        self.command(Command::End);
    }

    fn command(&self, command: Command) {
        let mut words = command.words();
        self.member
            .world()
            .process_at_rank(0)
            .broadcast_into(&mut words);
    }

    /// Compares the clocks of all hosts with that of this process.
    fn exchange(&mut self) {
        if self.member.leaders.is_empty() {
            return;
        }
        self.command(Command::Exchange);
        for (idx, &leader) in (1..).zip(&self.member.leaders) {
            let rule = StopRule::burst(BURST);
            let group = &mut self.member.group;
            let Ok((samples, _)) = ask(group, leader, rule, TickLength::NANOSECOND);
            let readings = samples.iter().map(|sample| {
                let [t1, t2, t3, t4] =
                    [sample.t1, sample.t2, sample.t3, sample.t4].map(|t| t as i64);
                Reading {
                    at: t2 + (t3 - t2) / 2,
                    offset: ((t2 - t1) + (t3 - t4)) as f64 / 2.0,
                    round_trip: (t4 - t1) - (t3 - t2),
                }
            });
            if let Some(shortest) = readings.min_by_key(|reading| reading.round_trip) {
                self.clocks[idx].add(shortest);
            }
        }
    }

    /// Pauses until instants of all clocks can be extrapolated.
    fn pause(&mut self) {
        let now = instant::now();
        let longest = self
            .clocks
            .iter()
            .map(|clock| clock.time_until_base(clock.local(now)))
            .max();
        if let Some(left @ 1..) = longest {
            std::thread::sleep(std::time::Duration::from_nanos(left as u64));
            self.exchange();
        }
    }

    fn first<T>(&self, result: anyhow::Result<T>) -> anyhow::Result<T> {
        result.with_context(|| format!("rank {}", self.member.rank()))
    }
}

impl Subject for Job {
    fn longest(&self, operation: Operation) -> u64 {
        operation.longest(self.memory, self.clock_of.len() as u64)
    }

    fn most_rows(&self) -> u64 {
        most_rows(self.memory, self.threads)
    }

    fn prepare(&mut self, load: Load) -> anyhow::Result<()> {
        self.pause();
        self.command(Command::Prepare(load));
        let result = self.member.prepare(load);
        self.first(result)
    }

    fn run(&mut self, part: Part) -> anyhow::Result<Run> {
        self.command(Command::Run(part));
        let at = instant::now() + self.lead;
        let local: Vec<i64> = self
            .clock_of
            .iter()
            .map(|&idx| self.clocks[idx].local(at))
            .collect();
        let mut own = 0i64;
        self.member
            .world()
            .process_at_rank(0)
            .scatter_into_root(&local[..], &mut own);
        let stamps = self.member.run(part, own);
        let stamps = self.first(stamps)?;
        let mut all = vec![0i64; stamps.len() * local.len()];
        self.member
            .world()
            .process_at_rank(0)
            .gather_into_root(&stamps, &mut all[..]);
        self.exchange();
        let (all, _) = all.as_chunks::<5>();
        let has_missed = all.iter().zip(&local).any(|([ready, ..], at)| ready > at);
        if has_missed {
            self.lead = (self.lead * 2).min(LONGEST_LEAD);
        }
        let late = |([_, begin, ..], at): (&[i64; 5], &i64)| begin - at > TOLERANCE;
        let on_common_clock = |([_, stamps @ ..], idx): (&[i64; 5], &usize)| {
            let [begin, called, computed, end] =
                stamps.map(|stamp| self.clocks[*idx].reference(stamp));
            Stamps {
                begin,
                called,
                computed,
                end,
            }
        };
        Ok(Run {
            processes: all
                .iter()
                .zip(&self.clock_of)
                .map(on_common_clock)
                .collect(),
            is_late: all.iter().zip(&local).any(late),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_received_as_they_were_sent() {
        let load = Load {
            operation: Operation::Iallgatherv,
            length: 12,
            rows: 34,
        };
        let parts = [
            Part::Communication,
            Part::WithoutMpi,
            Part::Idle,
            Part::Overlap,
        ];
        let mut commands = vec![Command::End, Command::Exchange, Command::Prepare(load)];
        commands.extend(parts.map(Command::Run));
        for command in commands {
            assert_eq!(Command::of(command.words()), command);
        }
    }
}
