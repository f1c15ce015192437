//! The run: the steps of the program, one after the other, with all ranks in each.
//!
//! The clocks of ranks play no role here: all times are global, in ns since the start. Each rank
//! has a cursor per thread, the time at which its last call returned. An instance takes the cursors
//! of the members, lets them work, and moves the cursors to their leaves. So ranks run ahead of
//! each other as far as the semantics of the operations allow, and memory grows with ranks and
//! communicators only.

use collbench_formats::{NO_COMMUNICATOR, Operation, ROOT_NONE, Semantics};
use collbench_stats::random::hash;

use super::exchange;
use super::group;
use super::rank_file::{Body, Ending, NewRecord, RankFile};
use super::scenario::{Action, Call, Fault, ScenarioError, Step, StepKind};
use super::state::{
    END_OF_TIME_NS, Execution, FileError, Group, Named, Simulation, SimulationError,
};
use super::truth::{TrueInFlight, Truth};

impl<'a> Simulation<'a> {
    /// Runs the whole program.
    pub(crate) fn run(mut self) -> Result<(Truth, Vec<Option<RankFile>>), SimulationError> {
        self.initialize()?;
        self.run_steps(&self.scenario.program)?;
        self.settle(true);
        self.finalize()?;
        let truth = self.truth.finish(self.scenario.name.clone(), self.seed);
        Ok((truth, self.files))
    }

    fn initialize(&mut self) -> Result<(), FileError> {
        let leave = self.snap(self.scenario.init_ns);
        for rank in 0..self.ranks.len() as u32 {
            self.process_call(rank, Operation::Init, 0, Some(leave))?;
            self.ranks[rank as usize].cursors.fill(leave);
        }
        for (name, parts) in group::predefined(self.ranks.len()).into_iter().rev() {
            let standard = match name.as_str() {
                "world" => "MPI_COMM_WORLD",
                _ => "MPI_COMM_SELF",
            };
            let in_truth = self.truth.communicators(&name, &parts);
            let mut groups = Vec::new();
            for (members, in_truth) in parts.into_iter().zip(in_truth) {
                let id = match name.as_str() {
                    "world" => hash(&[self.seed, 0]),
                    _ => hash(&[self.seed, 1, u64::from(members.ranks[0])]),
                };
                let made_on = vec![(NO_COMMUNICATOR, leave); members.ranks.len()];
                let group = self.make_group(members, id, None, &made_on, standard, in_truth)?;
                groups.push(group);
            }
            self.add_named(name, groups);
        }
        self.define_trees(leave)?;
        self.define_call_sites(leave)
    }

    fn add_named(&mut self, name: String, groups: Vec<Group>) {
        let thread = self.scenario.threads.get(&name).copied().unwrap_or(0);
        self.named.insert(name, Named { groups, thread });
    }

    fn run_steps(&mut self, steps: &'a [Step]) -> Result<(), SimulationError> {
        for step in steps {
            for _ in 0..step.repeat {
                match &step.action {
                    Action::Block(steps) => self.run_steps(steps)?,
                    Action::Call(call) => self.run_call(call)?,
                }
                if self.is_over {
                    return Err(SimulationError::Scenario(ScenarioError {
                        line: step.line,
                        found: format!("a run of more than {END_OF_TIME_NS} ns"),
                        expected: "shorter delays, or fewer repetitions".into(),
                    }));
                }
            }
        }
        Ok(())
    }

    fn run_call(&mut self, call: &'a Call) -> Result<(), FileError> {
        let instance = self.executed[call.id];
        self.executed[call.id] += 1;
        match &call.kind {
            StepKind::Complete(step) => return self.complete(call, step, instance),
            StepKind::Phase(level) => return self.begin_phase(call, *level, instance),
            StepKind::Call | StepKind::Begin(_) => {}
        }
        // The program was checked: the name exists.
        let Some(mut on) = self.named.remove(&call.on) else {
            return Ok(());
        };
        let Some(operation) = call.operation else {
            for group in &on.groups {
                for &rank in &group.members.ranks {
                    self.work(call, instance, rank, on.thread);
                }
            }
            self.named.insert(call.on.clone(), on);
            return Ok(());
        };
        let execution = Execution {
            call,
            operation,
            instance,
            thread: on.thread,
        };
        if let Some(name) = &call.makes {
            let made = self.construct(execution, &mut on, name)?;
            self.named.insert(call.on.clone(), on);
            self.add_named(name.clone(), made);
            return Ok(());
        }
        for group in &mut on.groups {
            self.perform(execution, &group.members);
            match call.kind {
                StepKind::Begin(begin) => self.begin(execution, begin, group)?,
                _ => self.note(execution, group, None)?,
            }
        }
        if operation.semantics() != Semantics::Free {
            self.named.insert(call.on.clone(), on);
        }
        Ok(())
    }

    /// MPI_Init or MPI_Finalize of one rank.
    fn process_call(
        &mut self,
        rank: u32,
        operation: Operation,
        enter: u64,
        leave: Option<u64>,
    ) -> Result<(), FileError> {
        let record = NewRecord {
            thread: 0,
            enter,
            leave,
            body: Body::Call {
                operation,
                flags: 0,
                communicator: 0,
                root: ROOT_NONE,
                payload: 0,
            },
        };
        if self.write(rank, record)? {
            self.truth.record(rank, leave.unwrap_or(enter), None);
            if leave.is_none() {
                self.truth.in_flight(
                    rank,
                    TrueInFlight {
                        operation: operation.name(),
                        communicator: None,
                        sequence: None,
                    },
                );
            }
        }
        Ok(())
    }

    /// MPI_Finalize waits for all ranks, so no rank leaves it if one was killed.
    fn finalize(&mut self) -> Result<(), FileError> {
        let mut enters = Vec::new();
        let mut all_enter = true;
        let mut last = 0;
        for rank in 0..self.ranks.len() as u32 {
            let state = &self.ranks[rank as usize];
            let at = state.cursors.iter().copied().max().unwrap_or(0);
            let is_killed = self.is_killed_now(rank);
            let leaves_without = self.scenario.faults[rank as usize] == Fault::NoFinalize;
            let enters_it = state.is_running && !leaves_without && is_killed != Some(false);
            all_enter &= state.is_running && is_killed.is_none();
            enters.push(enters_it.then_some(at));
            last = last.max(at);
        }
        let leave = all_enter.then(|| self.snap(last + self.scenario.finalize_ns));
        for (rank, enter) in (0u32..).zip(enters) {
            let ending = match enter {
                None => Ending::Died,
                Some(enter) => {
                    self.process_call(rank, Operation::Finalize, enter, leave)?;
                    leave.map_or(Ending::Died, Ending::Finalized)
                }
            };
            if let Ending::Finalized(at) = ending
                && self.scenario.faults[rank as usize] != Fault::Missing
            {
                self.truth.finalized(rank, at);
            }
            self.measure_offsets(rank, ending)?;
            let stop = self.ranks[rank as usize].stop;
            if let Some(file) = &mut self.files[rank as usize] {
                file.finish(ending, stop).map_err(|error| FileError {
                    path: file.path().to_owned(),
                    error,
                })?;
            }
        }
        Ok(())
    }

    /// Writes the exchanges of a rank with the reference, as far as both were running.
    fn measure_offsets(&mut self, rank: u32, ending: Ending) -> Result<(), FileError> {
        let last = |rank: u32| self.ranks[rank as usize].cursors.iter().copied().max();
        let end = match ending {
            Ending::Finalized(at) => at,
            Ending::Died => last(rank).min(last(0)).unwrap_or(0),
        };
        let run = self.snap(self.scenario.init_ns)..end;
        for (at, measurement) in exchange::measurements(self.scenario, self.seed, rank, run) {
            self.define(rank, measurement, at)?;
        }
        Ok(())
    }
}
