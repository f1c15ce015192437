//! The processes of a measurement: process 0 commands, all carry out.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use collbench_formats::decode_meta;
use collbench_formats::tree::Wrappers;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::{
    Communicator, CommunicatorCollectives, Destination, MatchedReceiveVec, Root, Source,
};
use serde::{Deserialize, Serialize};

use super::algorithms;
use super::call::{Call, Element, OverTree};
use super::members::Members;
use super::operation::Operation;
use super::overlap::Overlap;
use super::own_trees::TreeEngine;
use crate::measure::cold_cache::ColdCache;
use crate::measure::global_clock::{ClockError, GlobalClock};
use crate::measure::start::{Batch, Repetition};

/// A step of the measurement.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Command {
    /// Make operations of the same processes ready; all processes.
    Prepare(Vec<Setting>),
    /// Make repetitions of the one with this index; its processes.
    Measure(usize, Batch),
    /// Measure the clocks again; all processes.
    Clocks,
    /// End; all processes.
    Finish,
}

/// Who calls what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Setting {
    pub(super) operation: String,
    pub(super) bytes: u64,
    pub(super) members: Members,
    pub(super) root: usize,
    pub(super) element: Element,
    /// Of master and workers, pieces for each worker.
    pub(super) pieces: usize,
    /// Number of the algorithm that the library is told to use; `None`: its own choice.
    pub(super) algorithm: Option<i32>,
    /// The tree over which it is executed instead, encoded.
    pub(super) tree: Option<(Vec<u8>, u32)>,
    /// What is computed while a nonblocking operation is under way.
    pub(super) overlap: Option<Overlap>,
}

impl Setting {
    /// An operation of the library, of its own choice, with process 0 as the root.
    pub(super) fn of(operation: &str, bytes: u64, members: Members) -> Self {
        Self {
            operation: operation.to_owned(),
            bytes,
            members,
            root: 0,
            element: Element::default(),
            pieces: 0,
            algorithm: None,
            tree: None,
            overlap: None,
        }
    }
}

/// Without a command for this long, a process sleeps between looking for one.
const PATIENCE: Duration = Duration::from_micros(200);
const NAP: Duration = Duration::from_micros(100);
/// Clocks are measured again after this time, if there are several.
const CLOCKS_EVERY: Duration = Duration::from_secs(5);

/// A communicator: its processes, and the operation and algorithm for which it is made.
type CommKey = (Members, Option<(String, i32)>);

/// An operation that can be called.
struct Ready {
    call: Call,
    comm: Rc<SimpleCommunicator>,
    overlap: Option<Overlap>,
}

/// One process of the measurement.
pub(super) struct Job {
    world: SimpleCommunicator,
    global: GlobalClock,
    comms: BTreeMap<CommKey, Option<Rc<SimpleCommunicator>>>,
    /// What is ready; nothing where this process has no part.
    ready: Vec<Ready>,
    /// Those who have a part in it.
    members: Members,
    clocks_measured: Instant,
    /// The largest clock errors of any process.
    clock_error: ClockError,
    /// If caches are to be cold.
    cold: Option<ColdCache>,
    /// If operations are executed over trees.
    trees: Option<TreeEngine>,
}

impl Job {
    /// Collective over all processes.
    pub(super) fn new(
        world: SimpleCommunicator,
        global: GlobalClock,
        has_cold_caches: bool,
        trees: Option<TreeEngine>,
    ) -> Self {
        let clock_error = largest_error(&world, global.error());
        Self {
            clock_error,
            cold: has_cold_caches.then(ColdCache::new),
            trees,
            world,
            global,
            comms: BTreeMap::new(),
            ready: Vec::new(),
            members: Members::First(0),
            clocks_measured: Instant::now(),
        }
    }

    pub(super) fn global(&self) -> &GlobalClock {
        &self.global
    }

    /// Carries out commands until the last one; processes other than 0.
    ///
    /// # Errors
    /// States which operation cannot be called.
    pub(super) fn serve(mut self) -> anyhow::Result<()> {
        loop {
            let command = self.receive()?;
            if matches!(command, Command::Finish) {
                return self.end();
            }
            self.carry_out(&command)?;
        }
    }

    /// Makes an operation ready; process 0.
    ///
    /// # Errors
    /// States why it cannot be called.
    pub(super) fn prepare(&mut self, setting: Setting) -> anyhow::Result<()> {
        self.prepare_all(vec![setting])
    }

    /// Makes several operations of the same processes ready; process 0.
    ///
    /// # Errors
    /// States which cannot be called.
    pub(super) fn prepare_all(&mut self, settings: Vec<Setting>) -> anyhow::Result<()> {
        let all = 1..self.world.size() as usize;
        self.command(&Command::Prepare(settings), all).map(|_| ())
    }

    /// Makes repetitions of the operation with this index among those that are ready; process 0.
    /// Returns them by process.
    ///
    /// # Errors
    /// As of [`prepare`](Self::prepare).
    pub(super) fn measure(
        &mut self,
        ready: usize,
        batch: Batch,
    ) -> anyhow::Result<Vec<Vec<Repetition>>> {
        let others = self.members.ranks().into_iter().skip(1);
        self.command(&Command::Measure(ready, batch), others)
    }

    /// Measures the clocks again if they are due; process 0.
    ///
    /// # Errors
    /// As of [`prepare`](Self::prepare).
    pub(super) fn keep_clocks(&mut self) -> anyhow::Result<()> {
        if self.global.n_clocks() > 1 && self.clocks_measured.elapsed() > CLOCKS_EVERY {
            self.command(&Command::Clocks, 1..self.world.size() as usize)?;
            self.clocks_measured = Instant::now();
        }
        Ok(())
    }

    /// The largest clock errors of any process.
    pub(super) fn clock_error(&self) -> ClockError {
        self.clock_error
    }

    /// Longest of some times that invalidating the caches of this process takes, ns; 0 if they are
    /// not invalidated.
    pub(super) fn invalidation_ns(&mut self) -> i64 {
        const TIMES: usize = 3;
        let Some(cold) = &mut self.cold else {
            return 0;
        };
        let longest = (0..TIMES).map(|_| {
            let begin = Instant::now();
            cold.invalidate();
            begin.elapsed().as_nanos() as i64
        });
        longest.max().unwrap_or(0)
    }

    /// Lets the other processes end; process 0.
    ///
    /// # Errors
    /// If the command cannot be encoded.
    pub(super) fn finish(&mut self) -> anyhow::Result<()> {
        self.send(&Command::Finish, 1..self.world.size() as usize)?;
        self.end()
    }

    /// Frees what trees have used; all processes.
    fn end(&mut self) -> anyhow::Result<()> {
        self.ready.clear();
        self.trees.take().map_or(Ok(()), TreeEngine::end)
    }

    /// The process, other than 0, with the longest shortest ping-pong of 8 bytes with process 0.
    ///
    /// # Errors
    /// As of [`prepare`](Self::prepare).
    pub(super) fn farthest(&mut self) -> anyhow::Result<usize> {
        let mut farthest = (0, 1);
        for partner in 1..self.world.size() as usize {
            let members = Members::Pair(partner);
            self.prepare(Setting::of("MPI_Send-MPI_Recv", 8, members))?;
            let repetitions = self.measure(0, Batch::unsynchronized(100))?;
            let times = repetitions[0]
                .iter()
                .map(|one| one.times.leave - one.times.enter);
            let shortest = times.min().unwrap_or(0);
            // With equal latencies the first one, so that results can be repeated.
            if shortest > farthest.0 {
                farthest = (shortest, partner);
            }
        }
        Ok(farthest.1)
    }

    /// Commands others, and carries it out.
    fn command(
        &mut self,
        command: &Command,
        others: impl Iterator<Item = usize>,
    ) -> anyhow::Result<Vec<Vec<Repetition>>> {
        self.send(command, others)?;
        self.carry_out(command)
    }

    fn send(&self, command: &Command, others: impl Iterator<Item = usize>) -> anyhow::Result<()> {
        let text = serde_json::to_vec(command)?;
        for other in others {
            self.world.process_at_rank(other as i32).send(&text[..]);
        }
        Ok(())
    }

    /// The next command. A process that waits long sleeps, so that it takes no core from those that
    /// measure.
    fn receive(&self) -> anyhow::Result<Command> {
        let from = self.world.process_at_rank(0);
        let begin = Instant::now();
        loop {
            if let Some(message) = from.immediate_matched_probe() {
                let (text, _) = message.matched_receive_vec::<u8>();
                return Ok(serde_json::from_slice(&text)?);
            }
            if begin.elapsed() > PATIENCE {
                std::thread::sleep(NAP);
            }
        }
    }

    /// The repetitions of all processes in process 0, of a command that makes some; else nothing.
    fn carry_out(&mut self, command: &Command) -> anyhow::Result<Vec<Vec<Repetition>>> {
        match command {
            Command::Prepare(settings) => {
                // Their buffers go before those of the next ones come.
                self.ready.clear();
                for setting in settings {
                    self.make_ready(setting)?;
                }
                Ok(Vec::new())
            }
            Command::Measure(ready, batch) => self.make_repetitions(*ready, batch),
            Command::Clocks => {
                self.global.measure();
                self.clock_error = largest_error(&self.world, self.global.error());
                Ok(Vec::new())
            }
            Command::Finish => Ok(Vec::new()),
        }
    }

    fn make_ready(&mut self, setting: &Setting) -> anyhow::Result<()> {
        self.members = setting.members.clone();
        let operation = Operation::of_name(&setting.operation)
            .with_context(|| format!("{}: unknown operation", setting.operation))?;
        let comm = self.communicator(operation, setting)?;
        let over_tree = self.over_tree(setting)?;
        if let Some(comm) = comm {
            let mut call = Call::new(
                operation,
                Rc::clone(&comm),
                setting.root,
                setting.bytes,
                setting.element,
                setting.pieces,
            )?;
            if let (Some(tree), Some(collective)) = (over_tree, operation.collective()) {
                call.use_tree(tree);
                ensure!(
                    call.agrees_with_library(collective),
                    "{} of {} bytes over a tree has failed, or has another result than the MPI \
                     library's; that is an error of collbench",
                    setting.operation,
                    setting.bytes
                );
            }
            self.ready.push(Ready {
                call,
                comm,
                overlap: setting.overlap,
            });
        }
        Ok(())
    }

    /// What executes a setting over its tree, if it has one and this process takes part. Collective
    /// over all processes.
    fn over_tree(&mut self, setting: &Setting) -> anyhow::Result<Option<OverTree>> {
        let Some((encoded, checksum)) = &setting.tree else {
            return Ok(None);
        };
        let tree: Wrappers = decode_meta(encoded, *checksum)?;
        let engine = self.trees.as_mut().context("no trees were begun with")?;
        let team = engine.team(&setting.members.ranks(), &tree)?;
        Ok(team.map(|team| OverTree::new(team, setting.element)))
    }

    /// The communicator for a setting. Collective over all processes when it is first used.
    fn communicator(
        &mut self,
        operation: Operation,
        setting: &Setting,
    ) -> anyhow::Result<Option<Rc<SimpleCommunicator>>> {
        let chosen = setting
            .algorithm
            .map(|number| (setting.operation.clone(), number));
        let key = (setting.members.clone(), chosen);
        if let Some(made) = self.comms.get(&key) {
            return Ok(made.clone());
        }
        let world = &self.world;
        let make = || {
            let ranks = setting.members.ranks();
            let color = if ranks.contains(&(world.rank() as usize)) {
                Color::with_value(0)
            } else {
                Color::undefined()
            };
            world.split_by_color(color).map(Rc::new)
        };
        let made = match setting.algorithm {
            None => make(),
            Some(number) => algorithms::with(operation, number, make)?,
        };
        self.comms.insert(key, made.clone());
        Ok(made)
    }

    fn make_repetitions(
        &mut self,
        ready: usize,
        batch: &Batch,
    ) -> anyhow::Result<Vec<Vec<Repetition>>> {
        let Some(Ready {
            call,
            comm,
            overlap,
        }) = self.ready.get_mut(ready)
        else {
            return Ok(Vec::new());
        };
        let (mut worst, mut parts) = (0, Vec::with_capacity(batch.n));
        let (clock, line) = (self.global.clock(), self.global.line());
        let mut own = batch.run(comm, &self.global, self.cold.as_mut(), || {
            let code = match *overlap {
                None => call.run(),
                Some(of) => of.run(call, clock, &mut parts),
            };
            worst = code.max(worst);
        });
        for (repetition, ticks) in own.iter_mut().zip(parts) {
            repetition.parts = ticks.in_ns(line);
        }
        call.clean();
        ensure!(worst == 0, "an operation returned the MPI error {worst}");
        let words: Vec<i64> = own.iter().flat_map(|one| one.words()).collect();
        let root = comm.process_at_rank(0);
        if comm.rank() != 0 {
            root.gather_into(&words[..]);
            return Ok(Vec::new());
        }
        let mut all = vec![0; words.len() * comm.size() as usize];
        root.gather_into_root(&words[..], &mut all[..]);
        let of_process = |words: &[i64]| -> Vec<Repetition> {
            let repetitions = words.chunks_exact(Repetition::WORDS);
            repetitions.map(Repetition::of_words).collect()
        };
        Ok(all
            .chunks_exact(words.len().max(1))
            .map(of_process)
            .collect())
    }
}

/// The largest errors of any process; collective over all.
fn largest_error(world: &SimpleCommunicator, own: ClockError) -> ClockError {
    let figures = [own.bound_ns, own.uncertainty_ns, own.extrapolation_ns];
    let mut all = vec![0.0; 3 * world.size() as usize];
    world.all_gather_into(&figures[..], &mut all[..]);
    let errors = all.chunks_exact(3).map(|figures| ClockError {
        bound_ns: figures[0],
        uncertainty_ns: figures[1],
        extrapolation_ns: figures[2],
    });
    errors.fold(ClockError::default(), ClockError::max)
}
