//! Calls of all processes to instances: the same collective across its communicator.
//!
//! Never by time. The n-th call of each member on a communicator is the n-th instance of it; the
//! application orders the calls of a process on one communicator, also between threads, so that
//! their order is that of their begin. Three *lanes* have an order of their own: the calls of
//! the application, those that the MPI library makes on its own behalf, and the making of the
//! communicator itself where that is collective over a group only (`MPI_Comm_create_group`).
//!
//! Everything is streamed, in rounds. In each round every process is taken some records further,
//! which are put into its [queues](crate::calls::queue) by lane; then the positions to which all members
//! have come, or cannot come any more, are decoded in [blocks](crate::instances::decode), measured and added
//! up. Both halves are done by all workers, the first by process, the second by block. Each
//! worker has sums of its own, which are merged now and then; so what is summed must not depend
//! on the order.
//!
//! Positions are matched in step, however far the ranks ran apart in time, as the leaves of a
//! reduce do. Where the calls of a process wait for others in great number, it is not taken
//! further until those have come: the window of waiting calls stays small. A road not taken is
//! to merge all processes by time: it needs aligned clocks, and holds all that the slowest rank
//! has not reached.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::calls::context::MatchContext;
use crate::calls::findings::Irregularities;
use crate::calls::process::Process;
use crate::calls::queue::Queue;
use crate::calls::stamps::StampLimits;
use crate::communicators::Communicators;
use crate::communicators::persistent::Persistents;
use crate::instances::decode::{Block, Decoder, Settled, Source, block_length};
use crate::instances::lanes::{LaneState, OpenLane};
use crate::instances::matched::{Adder, Matched, Merge};
use crate::instances::own_lanes::hand_on_own;
use crate::progress::Progress;
use crate::time::clocks::Clocks;
use crate::trace::place::{LANES, Lane};
use crate::trace::run::Run;

/// Calls after which the sums of all workers are merged: sums of few samples keep them all, so
/// that their memory grows with it.
const CALLS_BETWEEN_MERGES: u64 = 1 << 22;

/// Matches all calls of a run, and sums up what they are; `new` makes what a worker adds them up with,
/// of nothing yet.
///
/// `window` is the number of records that are looked at together, > 0. The sums do not depend on
/// it, nor on the number of workers. `report` is called now and then.
pub fn match_calls<A: Adder>(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    window: u64,
    report: &mut dyn FnMut(Progress),
    new: &(dyn Fn() -> A + Sync),
) -> (A::Sums, Irregularities) {
    let limits = StampLimits::of_run(run, clocks);
    // What was read until now was read here and there.
    let files = run.processes.par_iter();
    files.for_each(|file| file.give_back(0, u64::MAX));
    let persistents = &Persistents::agree(run, communicators);
    let processes = run.processes.iter().zip(limits).enumerate();
    let context = MatchContext {
        communicators,
        persistents,
    };
    let mut matcher = Matcher {
        context,
        window,
        processes: processes
            .map(|(index, (file, limits))| {
                let names = run.names.of_process(index);
                Process::new(index, file, names, clocks, context, limits)
            })
            .collect(),
        lanes: Vec::new(),
        n_stuck: 0,
    };
    matcher
        .lanes
        .resize_with(lane_count(context), || LaneState::Unused);
    let workers = Workers {
        new,
        idle: Mutex::new(Vec::new()),
    };
    let mut sums = new().finish();
    let mut irregularities = Irregularities::default();
    let n_total = run.n_records();
    let (mut n_done, mut n_merged) = (0, 0);
    while matcher.processes.iter().any(|process| !process.has_ended) {
        n_done += matcher.scan(&workers);
        let lanes = matcher.touched_lanes();
        let blocks = matcher.cut(&lanes);
        matcher.decode(&blocks, &workers);
        matcher.drop_done(&lanes);
        let settled = matcher.settled(&lanes);
        matcher.decode_settled(&settled, &workers);
        matcher.drop_settled(&settled);
        matcher.put_away_idle(&lanes);
        let n_waiting = matcher.processes.iter().map(|process| process.n_queued);
        irregularities.largest_window = irregularities.largest_window.max(n_waiting.sum());
        let n_calls = n_done - matcher.n_messages();
        if n_calls >= n_merged + CALLS_BETWEEN_MERGES {
            n_merged = n_calls;
            workers.merge_into(&mut sums);
        }
        report(Progress { n_done, n_total });
    }
    workers.merge_into(&mut sums);
    let is_incomplete = run.is_incomplete();
    for process in matcher.processes {
        let found = process.into_found(is_incomplete);
        irregularities.n_unknown_records += found.n_unknown_records;
        irregularities.n_messages += found.n_sent;
        irregularities.n_receives += found.n_received;
        irregularities.n_sequence_conflicts += found.damage.n_sequence_conflicts;
        irregularities.n_abandoned += found.n_abandoned;
        irregularities.n_stray_completions += found.n_stray_completions;
        irregularities.n_before_windows += found.n_before_window;
        irregularities.processes.push(found.damage);
    }
    (sums, irregularities)
}

/// The workers that have nothing to do; rayon does not say which one does what.
struct Workers<'n, A> {
    new: &'n (dyn Fn() -> A + Sync),
    idle: Mutex<Vec<Worker<A>>>,
}

/// What a worker has for itself.
struct Worker<A> {
    adder: A,
    decoder: Decoder,
}

impl<A: Adder> Workers<'_, A> {
    /// Has something done by a worker.
    fn with<T>(&self, work: impl FnOnce(&mut Decoder, &mut dyn FnMut(Matched<'_>)) -> T) -> T {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let mut worker = idle.unwrap_or_else(|| Worker {
            adder: (self.new)(),
            decoder: Decoder::default(),
        });
        let Worker { adder, decoder } = &mut worker;
        let done = work(decoder, &mut |matched| adder.take(matched));
        lock().push(worker);
        done
    }

    fn merge_into(&self, sums: &mut A::Sums) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        for worker in idle.drain(..) {
            sums.merge(worker.adder.finish());
        }
    }
}

struct Matcher<'a> {
    context: MatchContext<'a>,
    window: u64,
    processes: Vec<Process<'a>>,
    /// Three for each communicator, then one for each persistent collective.
    lanes: Vec<LaneState>,
    /// Rounds one after the other in which everybody waited for somebody.
    n_stuck: u32,
}

/// Lanes that are kept at hand though nothing waits on them; where there are more (a program that
/// makes and frees communicators in a loop), they are put away.
const MAX_IDLE_LANES: usize = 1 << 14;

impl Matcher<'_> {
    /// Takes the processes some records further; gives how many there were.
    fn scan<A: Adder>(&mut self, workers: &Workers<'_, A>) -> u64 {
        let share = self.shares();
        let context = self.context;
        let processes = self.processes.par_iter_mut().zip(share);
        let wanted = processes.filter(|(_, share)| *share > 0);
        wanted
            .map(|(process, share)| {
                workers.with(|decoder, sink| {
                    let n = process.scan(share, &mut |aside| sink(aside.into()));
                    hand_on_own(process, context, decoder, sink);
                    n
                })
            })
            .sum()
    }

    /// For each process how many records it is taken further: so many that as many of each wait,
    /// and no more than the window in all. Where all wait for others, those whom their oldest
    /// calls wait for are taken further still.
    fn shares(&mut self) -> Vec<u64> {
        let n_left = self.processes.iter().filter(|p| !p.has_ended).count();
        let each = (self.window / n_left.max(1) as u64).max(1);
        let share = |process: &Process<'_>| {
            if process.has_ended {
                0
            } else {
                each.saturating_sub(process.n_queued)
            }
        };
        let mut shares: Vec<u64> = self.processes.iter().map(share).collect();
        if shares.iter().any(|&share| share > 0) {
            self.n_stuck = 0;
            return shares;
        }
        // Bounded: all that is read in a round, and all that it makes ready, is in memory.
        let more = each << self.n_stuck.min(MAX_DOUBLINGS);
        self.n_stuck += 1;
        for (index, process) in self.processes.iter().enumerate() {
            let Some((binding, lane, position)) = process.oldest() else {
                continue;
            };
            let communicator = process.communicator_of(binding as u32, lane);
            // It waits for nobody but what stands behind its own call.
            if self.context.communicators.list[communicator].is_own() {
                shares[index] = more;
                continue;
            }
            let Some(state) = self.lanes[self.lane_index(communicator, lane)].in_use() else {
                continue;
            };
            for &(member, binding) in state.members.iter().flatten() {
                let member = member as usize;
                if self.processes[member].next_on(binding as usize, lane) <= position {
                    shares[member] = more;
                }
            }
        }
        shares
    }

    /// The lanes on which somebody has come further.
    fn touched_lanes(&mut self) -> Vec<usize> {
        let mut listed = Vec::new();
        for index in 0..self.processes.len() {
            let bindings = &self.context.communicators.bindings[index];
            for (binding, lane) in std::mem::take(&mut self.processes[index].touched) {
                let process = &mut self.processes[index];
                process.untouch(binding, lane);
                let communicator = process.communicator_of(binding, lane);
                if !self.context.communicators.list[communicator].is_own() {
                    self.list(communicator, lane, &mut listed);
                }
            }
            if self.processes[index].has_just_ended() {
                for binding in bindings {
                    for lane in LANES {
                        let communicator = binding.communicator as usize;
                        let index = self.lane_index(communicator, lane);
                        if self.lanes[index].in_use().is_some() {
                            self.list(communicator, lane, &mut listed);
                        }
                    }
                }
                for own in self.processes[index].persistents() {
                    let lane = Lane::Persistent(own.persistent);
                    let communicator =
                        self.context.persistents.list[own.persistent as usize].communicator;
                    let index = self.lane_index(communicator, lane);
                    if self.lanes[index].in_use().is_some() {
                        self.list(communicator, lane, &mut listed);
                    }
                }
            }
        }
        for &lane in &listed {
            if let Some(state) = self.lanes[lane].in_use_mut() {
                state.is_listed = false;
            }
        }
        listed
    }

    fn list(&mut self, communicator: usize, lane: Lane, listed: &mut Vec<usize>) {
        let index = self.lane_index(communicator, lane);
        let done = match &self.lanes[index] {
            LaneState::Unused => Some(0),
            LaneState::PutAway(done) => Some(*done),
            LaneState::InUse(_) => None,
        };
        if let Some(done) = done {
            let bound = self.context.communicators.bound(communicator);
            let bound = bound.map(|(p, binding)| Some((p as u32, binding as u32)));
            self.lanes[index] = LaneState::InUse(Box::new(OpenLane {
                members: match lane {
                    Lane::Persistent(number) => self.context.persistents.list[number as usize]
                        .members
                        .clone(),
                    _ => bound.collect(),
                },
                done,
                held: BTreeMap::new(),
                mixed: Vec::new(),
                is_listed: false,
            }));
        }
        let Some(state) = self.lanes[index].in_use_mut() else {
            return;
        };
        if !std::mem::replace(&mut state.is_listed, true) {
            listed.push(index);
        }
    }

    /// Ends of messages that the processes have come by.
    fn n_messages(&self) -> u64 {
        let found = self.processes.iter().map(|process| &process.found);
        found.map(|found| found.n_sent + found.n_received).sum()
    }

    /// Whether the messages inside calls were recorded, by any process.
    fn has_messages(&self) -> bool {
        self.processes.iter().any(|process| process.has_messages)
    }

    /// The positions of some lanes to which all have come, in blocks.
    fn cut(&mut self, lanes: &[usize]) -> Vec<Block> {
        let mut blocks = Vec::new();
        let has_messages = self.has_messages();
        for &index in lanes {
            let (communicator, lane) = self.lane_at(index);
            let Some(state) = self.lanes[index].in_use_mut() else {
                continue;
            };
            let processes = &self.processes;
            let queue = |member: &Option<(u32, u32)>| {
                let (process, binding) = (*member)?;
                processes[process as usize].queue(binding as usize, lane)
            };
            let next = state.members.iter().flatten().map(|&(process, binding)| {
                processes[process as usize].next_on(binding as usize, lane)
            });
            let ready = next.min().unwrap_or(u64::MAX);
            state.hold_back(processes, lane, ready);
            if let Lane::Persistent(_) = lane {
                state.done = state.done.max(ready);
                continue;
            }
            let length = block_length(state.members.len(), has_messages);
            let first = state.members.first().and_then(queue);
            while state.done < ready {
                // Without damage there is a call of everyone at every position.
                let is_there = first.is_some_and(|q| q.first_from(state.done) == Some(state.done));
                let from = if is_there {
                    Some(state.done)
                } else {
                    let queues = state.members.iter().filter_map(queue);
                    queues.filter_map(|q| q.first_from(state.done)).min()
                };
                let from = from.filter(|&from| from < ready).unwrap_or(ready);
                let to = from.saturating_add(length).min(ready);
                if from < to {
                    blocks.push(Block {
                        communicator,
                        lane,
                        from,
                        to,
                    });
                }
                state.done = to;
            }
        }
        blocks
    }

    /// Hands on the instances of all blocks.
    fn decode<A: Adder>(&self, blocks: &[Block], workers: &Workers<'_, A>) {
        blocks.par_iter().for_each(|block| {
            let sources = self.sources(block.communicator, block.lane);
            workers.with(|decoder, sink| {
                let communicator = &self.context.communicators.list[block.communicator];
                decoder.decode(block, &sources, communicator, sink);
            });
        });
    }

    /// The members' calls on a lane, by slot.
    fn sources(&self, communicator: usize, lane: Lane) -> Vec<Option<Source<'_, '_>>> {
        let Some(state) = self.lanes[self.lane_index(communicator, lane)].in_use() else {
            return Vec::new();
        };
        let source = |member: &Option<(u32, u32)>| {
            let (process, binding) = (*member)?;
            let process = &self.processes[process as usize];
            Some(Source {
                process,
                binding: binding as usize,
                queue: process.queue(binding as usize, lane),
            })
        };
        state.members.iter().map(source).collect()
    }

    /// The positions of nonblocking calls that are complete everywhere, or whose processes have
    /// ended, in parts.
    fn settled(&mut self, lanes: &[usize]) -> Vec<Settled> {
        let mut settled = Vec::new();
        let has_messages = self.has_messages();
        for &index in lanes {
            let (communicator, lane) = self.lane_at(index);
            let Some(state) = self.lanes[index].in_use_mut() else {
                continue;
            };
            let OpenLane { members, held, .. } = state;
            let processes = &self.processes;
            let is_settled = |member: &Option<(u32, u32)>, position| {
                let Some((process, binding)) = *member else {
                    return true;
                };
                let process = &processes[process as usize];
                let queue = process.queue(binding as usize, lane);
                queue.is_none_or(|q| q.outstanding.is_settled(position, process.has_ended))
            };
            let mut positions = Vec::new();
            held.retain(|&position, n_seen| {
                let rest = members[*n_seen as usize..].iter();
                let more = rest.take_while(|member| is_settled(member, position));
                *n_seen += more.count() as u32;
                let is_done = *n_seen as usize == members.len();
                if is_done {
                    positions.push(position);
                }
                !is_done
            });
            let length = block_length(members.len(), has_messages) as usize;
            settled.extend(positions.chunks(length).map(|positions| Settled {
                communicator,
                lane,
                positions: positions.to_vec(),
            }));
        }
        settled
    }

    /// Hands on nonblocking calls that are settled.
    fn decode_settled<A: Adder>(&self, settled: &[Settled], workers: &Workers<'_, A>) {
        settled.par_iter().for_each(|settled| {
            let sources = self.sources(settled.communicator, settled.lane);
            workers.with(|decoder, sink| {
                let communicator = &self.context.communicators.list[settled.communicator];
                decoder.decode_settled(settled, &sources, communicator, sink);
            });
        });
    }

    /// Forgets nonblocking calls that were handed on.
    fn drop_settled(&mut self, settled: &[Settled]) {
        for settled in settled {
            let index = self.lane_index(settled.communicator, settled.lane);
            let Some(state) = self.lanes[index].in_use() else {
                continue;
            };
            for &(process, binding) in state.members.iter().flatten() {
                for &position in &settled.positions {
                    let process = &mut self.processes[process as usize];
                    process.drop_begun(binding as usize, settled.lane, position);
                }
            }
        }
    }

    /// Puts away lanes on which nothing waits, of these, where there are many.
    fn put_away_idle(&mut self, lanes: &[usize]) {
        if self.lanes.len() <= MAX_IDLE_LANES {
            return;
        }
        for &index in lanes {
            let (_, lane) = self.lane_at(index);
            let Some(state) = self.lanes[index].in_use() else {
                continue;
            };
            if let Lane::Persistent(_) = lane {
                continue;
            }
            let members = || state.members.iter().flatten();
            let is_idle = members().all(|&(process, binding)| {
                let queue = self.processes[process as usize].queue(binding as usize, lane);
                queue.is_none_or(Queue::is_idle)
            });
            if is_idle && state.held.is_empty() {
                for &(process, binding) in members() {
                    self.processes[process as usize].put_away(binding as usize);
                }
                self.lanes[index] = LaneState::PutAway(state.done);
            }
        }
    }

    fn lane_index(&self, communicator: usize, lane: Lane) -> usize {
        match lane {
            Lane::Persistent(number) => {
                self.context.communicators.list.len() * LANES.len() + number as usize
            }
            _ => communicator * LANES.len() + lane.index(),
        }
    }

    /// Communicator and lane at an index.
    fn lane_at(&self, index: usize) -> (usize, Lane) {
        match index.checked_sub(self.context.communicators.list.len() * LANES.len()) {
            Some(number) => {
                let communicator = self.context.persistents.list[number].communicator;
                (communicator, Lane::Persistent(number as u32))
            }
            None => (index / LANES.len(), LANES[index % LANES.len()]),
        }
    }

    /// Forgets what was handed on, of some lanes, and gives back the pages that were read.
    fn drop_done(&mut self, lanes: &[usize]) {
        // By process: binding, lane, and the position before which all were handed on.
        let mut done: Vec<Vec<(usize, Lane, u64)>> = vec![Vec::new(); self.processes.len()];
        for &index in lanes {
            let (_, lane) = self.lane_at(index);
            let Some(state) = self.lanes[index].in_use_mut() else {
                continue;
            };
            for &(process, binding) in state.members.iter().flatten() {
                let (process, binding) = (process as usize, binding as usize);
                done[process].push((binding, lane, state.done));
                for &position in &state.mixed {
                    self.processes[process].pass_by_begun(binding, lane, position);
                }
            }
            state.mixed.clear();
        }
        let step = (KEPT_BYTES / self.processes.len() as u64).clamp(1 << 16, 1 << 20);
        let processes = self.processes.par_iter_mut().zip(done);
        processes.for_each(|(process, done)| {
            for (binding, lane, position) in done {
                process.drop_before(binding, lane, position);
            }
            process.give_back(step);
        });
    }
}

/// How often the number of records that are looked at together is doubled where everybody waits.
const MAX_DOUBLINGS: u32 = 4;

/// Pages of all files together that are kept, though they were read, to give back many at once.
const KEPT_BYTES: u64 = 32 << 20;

fn lane_count(context: MatchContext<'_>) -> usize {
    context.communicators.list.len() * LANES.len() + context.persistents.list.len()
}
