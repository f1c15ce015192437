//! The run: the program's steps, one after the other, with all the ranks in each.
//!
//! A rank's own clock reading never matters here: all times are global, in ns since the start.
//! Each rank has a cursor, the time at which its last call returned (one for each thread). An
//! instance takes the cursors of the members, lets them work, and moves the cursors to their
//! leaves. So ranks run ahead of each other as far as the semantics of the operations let them,
//! and memory grows with ranks and communicators only.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::PathBuf;

use collbench_formats::{
    CODE_INTERNAL, Communicator, Definition, NO_COMMUNICATOR, NO_RANK, Operation, ROOT_NONE,
    Semantics, Topology, UNKNOWN_COMMUNICATOR,
};
use collbench_stats::random::{Random, hash};

use super::delay::{Amount, Delay};
use super::exchange;
use super::group::{self, Members, Parts};
use super::inside::Course;
use super::nonblocking::Outstanding;
use super::rank_file::{Body, Ending, NewRecord, RankFile, Stop};
use super::scenario::{Action, Call, Deed, Fault, Scenario, ScenarioError, Step};
use super::semantics::{Release, neighbours_release, payload, releases, root_field, with_noise};
use super::truth::{Instance, Seen, TrueInFlight, Truth, TruthBook};

/// A simulated communicator: its members, and what their files call it.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) members: Members,
    pub(super) id: u64,
    /// By position: the index in the member's file.
    pub(super) indexes: Vec<u32>,
    /// Calls of the application that were begun on it.
    pub(super) calls: u64,
    /// Persistent collectives that were made on it.
    pub(super) persistents: u64,
    /// Its index in the truth.
    pub(super) in_truth: usize,
}

/// What a name of the program stands for now.
#[derive(Debug)]
struct Named {
    groups: Vec<Group>,
    thread: u32,
}

#[derive(Debug)]
pub(super) struct Rank {
    /// By thread of the scenario: when its last call returned.
    pub(super) cursors: Vec<u64>,
    /// Calls of the application so far, in the trace or not.
    pub(super) calls: u64,
    /// Records so far.
    records: u64,
    pub(super) next_index: u32,
    pub(super) next_persistent: u32,
    pub(super) is_running: bool,
    stop: Option<Stop>,
}

/// Writing failed.
#[derive(Debug)]
pub(crate) struct FileError {
    pub(crate) path: PathBuf,
    pub(crate) error: io::Error,
}

/// Why a simulation ended early.
#[derive(Debug)]
pub(crate) enum SimulationError {
    File(FileError),
    Scenario(ScenarioError),
}

impl From<FileError> for SimulationError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// No run goes on for so long (9 years): ticks of any clock and sums of times then fit.
const END_OF_TIME_NS: u64 = 1 << 58;

/// One walk through a scenario.
#[derive(Debug)]
pub(crate) struct Simulation<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) seed: u64,
    /// By world rank; `None` where nothing is written.
    files: Vec<Option<RankFile>>,
    /// By world rank: which records do not come into the trace, or are lost of it.
    lost: Vec<Range<u64>>,
    named: BTreeMap<String, Named>,
    pub(super) ranks: Vec<Rank>,
    pub(super) truth: TruthBook,
    pub(super) outstanding: Outstanding,
    /// By step: how often it was executed.
    executed: Vec<u64>,
    /// Groups and tag of an intercommunicator: how many there were.
    over_groups: BTreeMap<u64, u64>,
    /// Whether the end of time was reached.
    is_over: bool,
    pub(super) scratch: Scratch,
}

/// One instance while it happens, by position among its callers.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    pub(super) seen: Vec<Seen>,
    /// The enters of which the others hear.
    heard: Vec<Option<u64>>,
    releases: Vec<Option<Release>>,
    pub(super) payloads: Vec<u64>,
    /// Of a collective that is seen inside.
    pub(super) course: Course,
}

/// One execution of a step of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn<'a> {
    pub(super) call: &'a Call,
    pub(super) operation: Operation,
    /// How often the step was executed before.
    pub(super) instance: u64,
    pub(super) thread: u32,
}

impl Turn<'_> {
    /// Position of the root; `None` if the operation has none.
    pub(super) fn root(&self, members: &Members) -> Option<usize> {
        let is_rooted = self.operation.semantics().is_rooted();
        is_rooted.then(|| members.root_position(self.call, self.instance))
    }
}

/// Those who call a constructor together, and the parents on which they call it.
#[derive(Debug)]
struct Callers {
    members: Members,
    /// Part of `on`, and which of `members` call it on that one.
    parents: Vec<(usize, Range<usize>)>,
}

impl<'a> Simulation<'a> {
    /// `files` and `lost` (records, counted from that of MPI_Init) by world rank.
    pub(crate) fn new(
        scenario: &'a Scenario,
        seed: u64,
        files: Vec<Option<RankFile>>,
        lost: Vec<Range<u64>>,
    ) -> Self {
        let host_names: Vec<&str> = scenario
            .hosts
            .iter()
            .map(|host| host.name.as_str())
            .collect();
        let n_threads = scenario
            .threads
            .values()
            .max()
            .map_or(1, |&last| last as usize + 1)
            .max(1 + last_thread(&scenario.program) as usize);
        let ranks = (0..scenario.n_ranks()).map(|_| Rank {
            cursors: vec![0; n_threads],
            calls: 0,
            records: 0,
            next_index: 0,
            next_persistent: 0,
            is_running: true,
            stop: None,
        });
        Self {
            scenario,
            seed,
            files,
            lost,
            named: BTreeMap::new(),
            ranks: ranks.collect(),
            truth: TruthBook::new(
                scenario.truth,
                &scenario.host_of,
                &host_names,
                scenario.init_ns.next_multiple_of(scenario.grid_ns),
            ),
            executed: vec![0; count_calls(&scenario.program)],
            over_groups: BTreeMap::new(),
            is_over: false,
            outstanding: Outstanding::new(scenario.n_ranks()),
            scratch: Scratch::default(),
        }
    }

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
        Ok(())
    }

    fn add_named(&mut self, name: String, groups: Vec<Group>) {
        let thread = self.scenario.threads.get(&name).copied().unwrap_or(0);
        self.named.insert(name, Named { groups, thread });
    }

    /// Gives a communicator its index in each member's file. `made_on[i]`: the parent's index
    /// there, and when the constructor returned; a time of 0 for one in which it never did.
    fn make_group(
        &mut self,
        members: Members,
        id: u64,
        constructor: Option<(Operation, u64)>,
        made_on: &[(u32, u64)],
        name: &str,
        in_truth: usize,
    ) -> Result<Group, FileError> {
        let mut indexes = Vec::with_capacity(members.ranks.len());
        for (i, &(parent, at)) in made_on.iter().enumerate() {
            let rank = members.ranks[i];
            if at == 0 {
                indexes.push(UNKNOWN_COMMUNICATOR);
                continue;
            }
            let index = self.ranks[rank as usize].next_index;
            self.ranks[rank as usize].next_index += 1;
            indexes.push(index);
            let own = members.group_of(i);
            let remote = if !members.is_inter() {
                0..0
            } else if own.start == 0 {
                own.end..members.ranks.len()
            } else {
                0..own.start
            };
            let definition = Definition::Communicator(Communicator {
                index,
                id,
                parent,
                constructor: constructor.map_or(0, |(operation, _)| operation.code()),
                position: constructor.map_or(0, |(_, position)| position),
                kind: members.kind(),
                size: own.len() as u32,
                rank: (i - own.start) as u32,
                remote_size: remote.len() as u32,
                first_member: members.ranks[own.start],
                remote_first_member: if remote.is_empty() {
                    NO_RANK
                } else {
                    members.ranks[remote.start]
                },
                name: match constructor {
                    None => name.to_owned(),
                    Some(_) => String::new(),
                },
            });
            self.define(rank, definition, at)?;
            if let Some(sources) = members.sources.get(i) {
                let to_rank = |source: &Option<usize>| source.map_or(NO_RANK, |s| s as u32);
                let neighbours: Vec<u32> = sources.iter().map(to_rank).collect();
                let topology = Topology {
                    communicator: index,
                    in_neighbours: neighbours.clone(),
                    out_neighbours: neighbours,
                };
                self.define(rank, Definition::Topology(topology), at)?;
            }
            if constructor.is_some() {
                let name = name.to_owned();
                self.define(rank, Definition::CommunicatorName { index, name }, at)?;
            }
        }
        Ok(Group {
            members,
            id,
            indexes,
            calls: 0,
            persistents: 0,
            in_truth,
        })
    }

    pub(super) fn define(
        &mut self,
        rank: u32,
        definition: Definition,
        at: u64,
    ) -> Result<(), FileError> {
        if self.ranks[rank as usize].stop.is_some() {
            return Ok(());
        }
        match &mut self.files[rank as usize] {
            None => Ok(()),
            Some(file) => file.define(definition, at).map_err(|error| FileError {
                path: file.path().to_owned(),
                error,
            }),
        }
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
        match &call.deed {
            Deed::Complete(step) => return self.complete(call, step, instance),
            Deed::Phase(level) => return self.begin_phase(call, *level, instance),
            Deed::Call | Deed::Begin(_) => {}
        }
        // The program was checked: the name is there.
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
        let turn = Turn {
            call,
            operation,
            instance,
            thread: on.thread,
        };
        if let Some(name) = &call.makes {
            let made = self.construct(turn, &mut on, name)?;
            self.named.insert(call.on.clone(), on);
            self.add_named(name.clone(), made);
            return Ok(());
        }
        for group in &mut on.groups {
            self.perform(turn, &group.members);
            match call.deed {
                Deed::Begin(begin) => self.begin(turn, begin, group)?,
                _ => self.note(turn, group, None)?,
            }
        }
        if operation.semantics() != Semantics::Free {
            self.named.insert(call.on.clone(), on);
        }
        Ok(())
    }

    /// A constructor, called on all parts of `on`; gives what it makes.
    fn construct(
        &mut self,
        turn: Turn<'_>,
        on: &mut Named,
        name: &str,
    ) -> Result<Vec<Group>, FileError> {
        let Turn {
            call, operation, ..
        } = turn;
        let parents: Parts = on
            .groups
            .iter()
            .map(|group| group.members.clone())
            .collect();
        // The program was checked.
        let parts =
            group::made(operation, call, &parents, &self.scenario.host_of).unwrap_or_default();
        let callers = callers_of(operation, &parents, &parts);

        // By world rank: when the constructor returned, 0 if it did not.
        let mut left_at = vec![0; self.ranks.len()];
        let mut seen = Vec::new();
        for callers in &callers {
            self.perform(turn, &callers.members);
            for (&rank, seen) in callers.members.ranks.iter().zip(&self.scratch.seen) {
                left_at[rank as usize] = seen.leave.unwrap_or(0);
            }
            seen.push(self.scratch.seen.clone());
        }

        // A constructor that nobody returned from made nothing.
        let is_made = |part: &Members| part.ranks.iter().any(|&rank| left_at[rank as usize] > 0);
        let parts: Parts = parts.into_iter().filter(is_made).collect();
        let in_truth = self.truth.communicators(name, &parts);

        // By world rank: the index that the new communicator has there.
        let mut index_at = vec![ROOT_NONE; self.ranks.len()];
        let mut made = Vec::new();
        for (members, in_truth) in parts.into_iter().zip(in_truth) {
            let (id, position) = self.identity(operation, &members, on);
            let made_on: Vec<(u32, u64)> = members
                .ranks
                .iter()
                .map(|&rank| (parent_index(on, rank), left_at[rank as usize]))
                .collect();
            let constructor = Some((operation, position));
            let group = self.make_group(members, id, constructor, &made_on, name, in_truth)?;
            for (&rank, &index) in group.members.ranks.iter().zip(&group.indexes) {
                if index != UNKNOWN_COMMUNICATOR {
                    index_at[rank as usize] = index.cast_signed();
                }
            }
            made.push(group);
        }

        for (callers, seen) in callers.iter().zip(seen) {
            for (parent, range) in &callers.parents {
                self.scratch.seen.clear();
                self.scratch.seen.extend_from_slice(&seen[range.clone()]);
                self.scratch.payloads.clear();
                self.scratch.payloads.resize(range.len(), 0);
                let made = Some((&callers.members.ranks[range.clone()], &index_at[..]));
                self.note(turn, &mut on.groups[*parent], made)?;
            }
        }
        // Whichever thread will call on the new communicator knows of it from here on.
        let thread = self.scenario.threads.get(name).copied().unwrap_or(0) as usize;
        for (rank, &left_at) in left_at.iter().enumerate() {
            let cursor = &mut self.ranks[rank].cursors[thread];
            *cursor = (*cursor).max(left_at);
        }
        Ok(made)
    }

    /// The number on which the members of a new communicator agree, and the constructor's
    /// position: on the parent, or among those over the same groups.
    fn identity(&mut self, operation: Operation, members: &Members, on: &Named) -> (u64, u64) {
        let code = u64::from(operation.code());
        if is_over_groups(operation) {
            let mut words = vec![code, members.n_first as u64];
            words.extend(members.ranks.iter().map(|&rank| u64::from(rank)));
            let base = hash(&words);
            let counter = self.over_groups.entry(base).or_insert(0);
            let position = *counter;
            *counter += 1;
            return (hash(&[base, position]), position);
        }
        let first = members.ranks[0];
        let parent = on
            .groups
            .iter()
            .find(|group| group.members.ranks.contains(&first));
        let (parent, position) = parent.map_or((0, 0), |group| (group.id, group.calls));
        (hash(&[code, parent, position, u64::from(first)]), position)
    }

    /// Lets the members work, enter, and leave where they may: fills the scratch.
    fn perform(&mut self, turn: Turn<'_>, members: &Members) {
        let Turn {
            call,
            operation,
            instance,
            thread,
        } = turn;
        let Scratch {
            mut seen,
            mut heard,
            releases: mut released,
            mut payloads,
            mut course,
        } = std::mem::take(&mut self.scratch);
        let root = turn.root(members);
        payloads.clear();
        payloads
            .extend((0..members.ranks.len()).map(|i| payload(call, operation, members, root, i)));
        seen.clear();
        heard.clear();
        for &rank in &members.ranks {
            let mut enter = self.work(call, instance, rank, thread);
            let mut is_heard = enter.is_some();
            if enter.is_some()
                && !call.internal
                && let Some(in_flight) = self.is_killed_now(rank)
            {
                self.ranks[rank as usize].is_running = false;
                is_heard = false;
                enter = enter.filter(|_| in_flight);
            }
            seen.push(Seen {
                enter,
                leave: None,
                is_recorded: false,
            });
            heard.push(enter.filter(|_| is_heard));
        }
        // What is only begun here happens in later calls too.
        if let (Some(inside), Deed::Call) = (&call.inside, &call.deed) {
            course = self.happen(turn, members, inside, &heard, None);
            for (seen, leave) in seen.iter_mut().zip(&course.leaves) {
                self.is_over |= leave.is_some_and(|leave| leave >= END_OF_TIME_NS);
                seen.leave = *leave;
            }
            self.scratch = Scratch {
                seen,
                heard,
                releases: released,
                payloads,
                course,
            };
            return;
        }
        releases(operation.semantics(), members, root, &heard, &mut released);
        if operation.semantics() == Semantics::Neighborhood {
            neighbours_release(members, &heard, &mut released);
        }
        let host = |i: usize| self.scenario.host_of[members.ranks[i] as usize];
        let mut n_before = 0;
        for i in 0..seen.len() {
            let Some(release) = released[i] else { continue };
            let mut leave = release.at + call.latency.base_ns;
            leave = leave.saturating_add(call.latency.departure_ns.saturating_mul(n_before));
            n_before += 1;
            if host(release.by) != host(i) {
                leave = leave.saturating_add(call.latency.across_hosts_ns);
            }
            if let Some(jitter) = &call.latency.jitter {
                leave = leave.saturating_add(self.delay_ns(jitter, instance, members.ranks[i]));
            }
            self.is_over |= leave > END_OF_TIME_NS;
            seen[i].leave = Some(self.snap(leave));
        }
        self.scratch = Scratch {
            seen,
            heard,
            releases: released,
            payloads,
            course,
        };
    }

    /// Whether the next call of the rank is where it is killed: inside it?
    fn is_killed_now(&self, rank: u32) -> Option<bool> {
        match self.scenario.faults[rank as usize] {
            Fault::Killed {
                after_calls,
                in_flight,
            } if self.ranks[rank as usize].calls >= after_calls => Some(in_flight),
            _ => None,
        }
    }

    /// Writes the calls in the scratch, made on `group`, into files and truth, and moves the
    /// cursors. `made`, of a constructor: who called, and by world rank what it made.
    fn note(
        &mut self,
        turn: Turn<'_>,
        group: &mut Group,
        made: Option<(&[u32], &[i32])>,
    ) -> Result<(), FileError> {
        let Turn {
            call,
            operation,
            thread,
            ..
        } = turn;
        let members = &group.members;
        let semantics = operation.semantics();
        let root = turn.root(members);
        let mut seen = std::mem::take(&mut self.scratch.seen);
        let flags = if call.internal { CODE_INTERNAL } else { 0 };
        let mut are_all_messages_there = true;
        for i in 0..seen.len() {
            let Some(enter) = seen[i].enter else { continue };
            let leave = seen[i].leave;
            // Of a constructor over a group, not all members of the parent are callers.
            let rank = made.map_or(members.ranks[i], |(ranks, _)| ranks[i]);
            let at = if members.ranks[i] == rank {
                i
            } else {
                members
                    .ranks
                    .iter()
                    .position(|&member| member == rank)
                    .unwrap_or(i)
            };
            let root_field = match (made, root) {
                (Some((_, index_at)), _) => index_at[rank as usize],
                (None, Some(root)) => root_field(members, root, i),
                (None, None) => ROOT_NONE,
            };
            let record = NewRecord {
                thread,
                enter,
                leave,
                body: Body::Call {
                    operation,
                    flags,
                    communicator: group.indexes[at],
                    root: root_field,
                    payload: self.scratch.payloads[i],
                },
            };
            let is_recorded = self.write(rank, record)?;
            seen[i].is_recorded = is_recorded;
            if is_recorded {
                let counted = (!call.internal).then_some((operation, members));
                self.truth.record(rank, leave.unwrap_or(enter), counted);
                if call.internal {
                    self.truth.internal(rank);
                }
                if leave.is_none() {
                    self.truth.in_flight(
                        rank,
                        TrueInFlight {
                            operation: operation.name(),
                            communicator: Some(group.in_truth),
                            sequence: semantics.is_matched().then_some(group.calls),
                        },
                    );
                }
            }
            if let Some(inside) = &call.inside {
                are_all_messages_there &= self.write_messages(turn, group, i, inside.receives)?;
            }
            let state = &mut self.ranks[rank as usize];
            state.calls += u64::from(!call.internal);
            match leave {
                Some(leave) => state.cursors[thread as usize] = leave,
                None => state.is_running = false,
            }
        }
        if !call.internal {
            let of_group;
            let callers = match (semantics, made) {
                (Semantics::GroupConstructor, Some((ranks, _))) => {
                    of_group = Members::one_group(ranks.to_vec());
                    &of_group
                }
                _ => members,
            };
            let instance = Instance {
                operation,
                communicator: group.in_truth,
                members: callers,
                root,
                payloads: &self.scratch.payloads,
                seen: &seen,
                courses: None,
            };
            self.truth.instance(&instance);
            if let Some(inside) = &call.inside
                && are_all_messages_there
            {
                let top = root.unwrap_or(0);
                self.truth
                    .inside(&instance, inside, top, &self.scratch.course, None);
            }
            group.calls += u64::from(semantics.is_matched());
        }
        self.scratch.seen = seen;
        Ok(())
    }

    /// Writes a record, unless recording has ended; says whether it is in the trace.
    pub(super) fn write(&mut self, rank: u32, record: NewRecord) -> Result<bool, FileError> {
        let state = &mut self.ranks[rank as usize];
        let is_call = record.body.is_counted();
        if let Fault::SizeReached { after_calls } = self.scenario.faults[rank as usize]
            && (state.calls >= after_calls || state.stop.is_some())
        {
            let stop = state.stop.get_or_insert(Stop {
                at: record.enter,
                calls_after: 0,
            });
            stop.calls_after += u64::from(is_call);
            return Ok(false);
        }
        state.records += 1;
        if self.lost[rank as usize].contains(&(state.records - 1)) {
            return Ok(false);
        }
        if let Some(file) = &mut self.files[rank as usize] {
            file.push(record).map_err(|error| FileError {
                path: file.path().to_owned(),
                error,
            })?;
        }
        Ok(true)
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

    /// MPI_Finalize waits for all, so that nobody leaves it when somebody was killed.
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

    /// Writes down the exchanges of a rank with the reference, as far as both lived.
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

    /// Work of one rank before a call; gives the time at which it is done, if it still runs.
    pub(super) fn work(
        &mut self,
        call: &Call,
        instance: u64,
        rank: u32,
        thread: u32,
    ) -> Option<u64> {
        let state = &self.ranks[rank as usize];
        if !state.is_running {
            return None;
        }
        let from = state.cursors[thread as usize];
        let mut until = from;
        for delay in &call.work {
            if let Amount::Noise {
                period_ns,
                length_ns,
            } = delay.amount
            {
                if self.applies(delay, instance, rank) {
                    until = with_noise(from, until, period_ns, length_ns);
                }
            } else {
                until = until.saturating_add(self.delay_ns(delay, instance, rank));
            }
        }
        self.is_over |= until > END_OF_TIME_NS;
        let until = self.snap(until);
        self.ranks[rank as usize].cursors[thread as usize] = until;
        Some(until)
    }

    fn applies(&self, delay: &Delay, instance: u64, rank: u32) -> bool {
        if delay
            .ranks
            .as_ref()
            .is_some_and(|named| !named[rank as usize])
        {
            return false;
        }
        if let Some(every) = delay.moves_every {
            let turn = (instance / every) % delay.moves_over.len() as u64;
            if delay.moves_over[turn as usize] != rank {
                return false;
            }
        }
        delay.share >= 1.0
            || Random::of(&[self.seed, delay.id, instance, u64::MAX]).unit() < delay.share
    }

    pub(super) fn delay_ns(&self, delay: &Delay, instance: u64, rank: u32) -> u64 {
        if !self.applies(delay, instance, rank) {
            return 0;
        }
        let random = || Random::of(&[self.seed, delay.id, instance, u64::from(rank)]);
        match &delay.amount {
            Amount::Constant(ns) => *ns,
            Amount::Uniform(low, high) => random().uniform(*low, *high),
            Amount::Exponential(mean) => random().exponential(*mean),
            Amount::Normal(mean, sd) => random().normal(*mean, *sd),
            Amount::Each(list) => list[rank as usize],
            Amount::Noise { .. } => 0,
        }
    }

    /// Up to the next point of the grid.
    pub(super) fn snap(&self, t: u64) -> u64 {
        t.min(END_OF_TIME_NS)
            .next_multiple_of(self.scenario.grid_ns)
    }
}

fn count_calls(steps: &[Step]) -> usize {
    let count = |step: &Step| match &step.action {
        Action::Block(steps) => count_calls(steps),
        Action::Call(_) => 1,
    };
    steps.iter().map(count).sum()
}

/// The last thread that completes anything.
fn last_thread(steps: &[Step]) -> u32 {
    let of_step = |step: &Step| match &step.action {
        Action::Block(steps) => last_thread(steps),
        Action::Call(call) => match &call.deed {
            Deed::Complete(step) => step.thread,
            _ => 0,
        },
    };
    steps.iter().map(of_step).max().unwrap_or(0)
}

fn is_over_groups(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::IntercommCreate | Operation::CommCreateGroup
    )
}

/// Who calls a constructor together. An intercommunicator is made by two groups that wait for
/// each other; constructors over a group are called by its members only; the others by each
/// part for itself.
fn callers_of(operation: Operation, parents: &[Members], parts: &[Members]) -> Vec<Callers> {
    let part_of = |rank: u32| {
        parents
            .iter()
            .position(|parent| parent.ranks.contains(&rank))
    };
    match operation {
        Operation::IntercommCreate => (parts.iter().cloned())
            .map(|members| Callers {
                parents: vec![
                    (0, 0..members.n_first),
                    (1, members.n_first..members.ranks.len()),
                ],
                members,
            })
            .collect(),
        Operation::CommCreateGroup => (parts.iter().cloned())
            .map(|members| Callers {
                parents: vec![(
                    part_of(members.ranks[0]).unwrap_or(0),
                    0..members.ranks.len(),
                )],
                members,
            })
            .collect(),
        _ => (parents.iter().cloned().enumerate())
            .map(|(parent, members)| Callers {
                parents: vec![(parent, 0..members.ranks.len())],
                members,
            })
            .collect(),
    }
}

/// The index, in the file of this rank, of the part that it is in.
fn parent_index(on: &Named, rank: u32) -> u32 {
    on.groups
        .iter()
        .find_map(|group| {
            let at = group
                .members
                .ranks
                .iter()
                .position(|&member| member == rank)?;
            Some(group.indexes[at])
        })
        .unwrap_or(NO_COMMUNICATOR)
}
