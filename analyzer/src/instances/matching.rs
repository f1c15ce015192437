//! Matches the calls of all processes to instances: one collective operation across its
//! communicator.
//!
//! Calls are never matched by time. The n-th call of each member on a communicator is the n-th
//! instance of it; the application orders the calls of a process on one communicator, also between
//! threads, so that their order is that of their begin. Three *call orders* have an order of their
//! own: the calls of the application, those that the MPI library makes internally, and the making
//! of the communicator itself where that is collective over a group only (`MPI_Comm_create_group`).
//!
//! Everything is streamed, in rounds. In each round every process is taken some records further,
//! which are put into its [queues](crate::calls::queue) by call order; then the positions to which
//! all members have come, or cannot come any more, are decoded in
//! [blocks](crate::instances::decode), measured and added up. Both halves are done by all workers,
//! the first by process, the second by block. Each worker has sums of its own, which are merged now
//! and then; so what is summed must not depend on the order.
//!
//! Positions are matched in step, however far the ranks were apart in time. Where the calls of a
//! process wait for others in great number, it is not taken further until those have come: the
//! window of waiting calls stays small. A road not taken is to merge all processes by time: it
//! needs aligned clocks, and holds all that the slowest rank has not reached.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use collbench_causes::Spare;
use collbench_clocks::timestamp::{Global, Timestamp};
use rayon::prelude::*;

use crate::calls::context::MatchContext;
use crate::calls::findings::MatchFindings;
use crate::calls::process::Process;
use crate::calls::queue::Queue;
use crate::calls::stamps::StampLimits;
use crate::communicators::Communicators;
use crate::communicators::persistent::Persistents;
use crate::instances::call_orders::{OpenOrder, OrderState};
use crate::instances::columns::Block;
use crate::instances::decode::{Decoder, Settled, block_length};
use crate::instances::member_calls::MemberCalls;
use crate::instances::outcome::{Adder, Merge, Outcome, TakeRows};
use crate::instances::own_communicators::emit_own;
use crate::instances::wait_causes::{HandedOver, WaitCauses};
use crate::progress::Progress;
use crate::time::clocks::Clocks;
use crate::trace::record_at::{CALL_ORDERS, CallOrder};
use crate::trace::run::Run;

/// Calls after which the sums of all workers are merged. Sums of few samples store each sample, so
/// their memory grows between merges.
const CALLS_BETWEEN_MERGES: u64 = 1 << 22;

/// Rounds after which it is reported how much is done.
const ROUNDS_BETWEEN_REPORTS: usize = 8;

/// Matches all calls of a run, and sums up what they are; `new` makes what a worker adds them up with,
/// of nothing yet.
///
/// `window` is the number of records that are looked at together, > 0; `None`: as many as are matched the fastest.
/// The sums do not depend on it, nor on the number of workers. `report` is called now and then.
pub fn match_calls<A: Adder>(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    window: Option<u64>,
    report: &mut dyn FnMut(Progress),
    new: &(dyn Fn() -> A + Sync),
) -> (A::Sums, MatchFindings) {
    match_until(run, clocks, communicators, window, report, new, &|| false)
}

/// As [`match_calls`], from the begin of the run until it is enough, as is asked after each `window`. What is matched until
/// then depends on a `window` that is given, and not on the number of workers.
pub fn match_until<A: Adder>(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    window: Option<u64>,
    report: &mut dyn FnMut(Progress),
    new: &(dyn Fn() -> A + Sync),
    is_enough: &(dyn Fn() -> bool + Sync),
) -> (A::Sums, MatchFindings) {
    let ends = Ends {
        is_enough,
        rows: None,
    };
    match_to_ends(run, clocks, communicators, window, report, new, ends)
}

/// As [`match_calls`], and passes on to `rows` what the workers hand over instance by instance, as long as more is wanted.
/// What is passed on together depends on `window`, and not on the number of workers.
pub(crate) fn match_with_rows<A: Adder>(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    window: u64,
    report: &mut dyn FnMut(Progress),
    new: &(dyn Fn() -> A + Sync),
    rows: &mut dyn TakeRows<A::Rows>,
) -> (A::Sums, MatchFindings) {
    let ends = Ends {
        is_enough: &|| false,
        rows: Some(rows),
    };
    let window = Some(window);
    match_to_ends(run, clocks, communicators, window, report, new, ends)
}

/// When matching ends before the run does, and who is told of single instances.
struct Ends<'e, R> {
    is_enough: &'e (dyn Fn() -> bool + Sync),
    rows: Option<&'e mut dyn TakeRows<R>>,
}

fn match_to_ends<A: Adder>(
    run: &Run<'_>,
    clocks: &Clocks,
    communicators: &Communicators,
    window: Option<u64>,
    report: &mut dyn FnMut(Progress),
    new: &(dyn Fn() -> A + Sync),
    Ends { is_enough, rows }: Ends<'_, A::Rows>,
) -> (A::Sums, MatchFindings) {
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
        window: window.unwrap_or_else(|| fastest_window(run)),
        processes: processes
            .map(|(index, (file, limits))| {
                let names = run.names.of_process(index);
                let sites = run.sites.of_process(index);
                Process::new(index, file, names, sites, clocks, context, limits)
            })
            .collect(),
        call_orders: Vec::new(),
        n_stuck: 0,
    };
    matcher
        .call_orders
        .resize_with(n_call_orders(context), || OrderState::Unused);
    let workers = Workers {
        new,
        idle: Mutex::new(Vec::new()),
    };
    let mut sums = new().finish();
    let mut findings = MatchFindings::default();
    let hosts = clocks.processes.iter().map(|clock| clock.host as u32);
    let hosts: Vec<u32> = hosts.collect();
    let mut wait_causes = WaitCauses::new(run, &hosts, rows);
    let n_total = run.n_records();
    let (mut n_done, mut n_merged) = (0, 0);
    let mut handed_over = HandedOver::default();
    let mut round = |n_done: &mut u64| {
        let is_wanted = !is_enough() && wait_causes.is_wanted();
        if !(is_wanted && matcher.processes.iter().any(|process| !process.has_ended)) {
            return false;
        }
        // While calls are matched, the causes of what was matched before are found.
        let attribute = || wait_causes.attribute(std::mem::take(&mut handed_over));
        let (n_scanned, ()) = rayon::join(|| matcher.go_on(&workers), attribute);
        *n_done += n_scanned;
        handed_over = workers.hand_over(matcher.pending_from_ns(), wait_causes.take_spare());
        let n_waiting = matcher.processes.iter().map(|process| process.n_queued);
        findings.largest_window = findings.largest_window.max(n_waiting.sum());
        let n_calls = *n_done - matcher.n_messages();
        if n_calls >= n_merged + CALLS_BETWEEN_MERGES {
            n_merged = n_calls;
            workers.merge_into(&mut sums);
        }
        true
    };
    // On a thread of the pool: one outside of it sleeps, and is woken, whenever it waits for the others.
    let mut is_over = false;
    while !is_over {
        is_over = !rayon::scope(|_| (0..ROUNDS_BETWEEN_REPORTS).all(|_| round(&mut n_done)));
        report(Progress { n_done, n_total });
    }
    wait_causes.attribute(handed_over);
    if let Some(spans) = matcher.finalize() {
        workers.with(|_, sink| sink(Outcome::Finalize { spans: &spans }));
    }
    let handed_over = workers.hand_over(i64::MAX, wait_causes.take_spare());
    rayon::join(
        || workers.merge_into(&mut sums),
        || wait_causes.attribute(handed_over),
    );
    findings.wait_causes = wait_causes.finish();
    let is_incomplete = run.is_incomplete();
    for process in matcher.processes {
        let found = process.into_found(is_incomplete);
        findings.n_unknown_records += found.n_unknown_records;
        findings.n_messages += found.n_sent;
        findings.n_receives += found.n_received;
        findings.n_passes += found.n_passes;
        findings.n_sequence_conflicts += found.of_process.n_sequence_conflicts;
        findings.n_abandoned += found.n_abandoned;
        findings.n_stray_completions += found.n_stray_completions;
        findings.n_before_windows += found.n_before_window;
        findings.processes.push(found.of_process);
    }
    (sums, findings)
}

/// Records that are looked at together for each worker: what is done with them stays in its second-level cache, and
/// there are several blocks of them. With messages, of which each call has several, twice as many.
const RECORDS_OF_WORKER: u64 = 1 << 13;
/// Records of each process that are looked at together, at least: it is gone to for as many as lie on a page.
const RECORDS_OF_PROCESS: u64 = 128;

/// How many records of all processes are looked at together.
fn fastest_window(run: &Run<'_>) -> u64 {
    let of_worker = RECORDS_OF_WORKER << u32::from(run.has_messages());
    let of_workers = of_worker * rayon::current_num_threads() as u64;
    of_workers.max(RECORDS_OF_PROCESS * run.processes.len() as u64)
}

/// The workers that have nothing to do; rayon does not say which one does what.
struct Workers<'n, A> {
    new: &'n (dyn Fn() -> A + Sync),
    idle: Mutex<Vec<Box<Worker<A>>>>,
}

/// The private state of a worker.
struct Worker<A> {
    adder: A,
    decoder: Decoder,
}

impl<A: Adder> Workers<'_, A> {
    /// Runs `work` with an idle worker.
    fn with<T>(&self, work: impl FnOnce(&mut Decoder, &mut dyn FnMut(Outcome<'_>)) -> T) -> T {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let idle = lock().pop();
        let new = || Worker {
            adder: (self.new)(),
            decoder: Decoder::default(),
        };
        let mut worker = idle.unwrap_or_else(|| Box::new(new()));
        let Worker { adder, decoder } = &mut *worker;
        let done = work(decoder, &mut |matched| adder.take(matched));
        lock().push(worker);
        done
    }

    /// What the workers hand over, and before which time nothing can come any more, ns. They share the spare
    /// buffers.
    fn hand_over(&self, until_ns: i64, mut spare: Spare) -> HandedOver<A::Rows> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let n = idle.len();
        // One had fewer instances than others.
        for worker in &mut *idle {
            spare.merge(worker.adder.give_back_spare());
        }
        let rows = idle.iter_mut().map(|worker| worker.adder.hand_over_rows());
        let rows = rows.collect();
        let workers = idle.iter_mut().enumerate();
        HandedOver {
            batches: workers
                .map(|(at, worker)| worker.adder.hand_over(spare.part(n - at)))
                .collect(),
            rows,
            until_ns,
        }
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
    call_orders: Vec<OrderState>,
    /// Consecutive rounds in which every process waited for another.
    n_stuck: u32,
}

/// Call orders that are kept at hand though nothing waits on them; where there are more (a program
/// that makes and frees communicators in a loop), they are put away.
const MAX_IDLE_ORDERS: usize = 1 << 14;

impl Matcher<'_> {
    /// Matches what is in the window; gives how many records were read.
    fn go_on<A: Adder>(&mut self, workers: &Workers<'_, A>) -> u64 {
        let n_scanned = self.scan(workers);
        let call_orders = self.touched_call_orders();
        let blocks = self.cut(&call_orders);
        self.decode(&blocks, workers);
        self.drop_done(&call_orders);
        let settled = self.settled(&call_orders);
        self.decode_settled(&settled, workers);
        self.drop_settled(&settled);
        self.put_away_idle(&call_orders);
        n_scanned
    }

    /// Takes the processes some records further; gives how many there were.
    fn scan<A: Adder>(&mut self, workers: &Workers<'_, A>) -> u64 {
        let share = self.shares();
        let context = self.context;
        let processes = self.processes.par_iter_mut().zip(share);
        let wanted = processes.filter(|(_, share)| *share > 0);
        wanted
            .map(|(process, share)| {
                workers.with(|decoder, sink| {
                    let n = process.scan(share, &mut |unqueued| sink(unqueued.into()));
                    emit_own(process, context, decoder, sink);
                    n
                })
            })
            .sum()
    }

    /// For each process how many records to read in this round: so that all have equally many
    /// waiting calls, and no more than the window in all. Where all wait for others, the processes
    /// that their oldest calls wait for read more.
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
            let Some((local_comm, call_order, position)) = process.oldest() else {
                continue;
            };
            let communicator = process.communicator_of(local_comm as u32, call_order);
            // It only waits for the records that follow its own call.
            if self.context.communicators.list[communicator].is_own() {
                shares[index] = more;
                continue;
            }
            let Some(state) =
                self.call_orders[self.call_order_index(communicator, call_order)].in_use()
            else {
                continue;
            };
            for &(member, local_comm) in state.members.iter().flatten() {
                let member = member as usize;
                if self.processes[member].next_on(local_comm as usize, call_order) <= position {
                    shares[member] = more;
                }
            }
        }
        shares
    }

    /// The call orders in which some process has advanced.
    fn touched_call_orders(&mut self) -> Vec<usize> {
        let mut listed = Vec::new();
        for index in 0..self.processes.len() {
            let local_comms = &self.context.communicators.local_comms[index];
            for (local_comm, call_order) in std::mem::take(&mut self.processes[index].touched) {
                let process = &mut self.processes[index];
                process.untouch(local_comm, call_order);
                let communicator = process.communicator_of(local_comm, call_order);
                if !self.context.communicators.list[communicator].is_own() {
                    self.list(communicator, call_order, &mut listed);
                }
            }
            if self.processes[index].has_just_ended() {
                for local_comm in local_comms {
                    for call_order in CALL_ORDERS {
                        let communicator = local_comm.communicator as usize;
                        let index = self.call_order_index(communicator, call_order);
                        if self.call_orders[index].in_use().is_some() {
                            self.list(communicator, call_order, &mut listed);
                        }
                    }
                }
                for own in self.processes[index].persistents() {
                    let call_order = CallOrder::Persistent(own.persistent);
                    let communicator =
                        self.context.persistents.list[own.persistent as usize].communicator;
                    let index = self.call_order_index(communicator, call_order);
                    if self.call_orders[index].in_use().is_some() {
                        self.list(communicator, call_order, &mut listed);
                    }
                }
            }
        }
        for &call_order in &listed {
            if let Some(state) = self.call_orders[call_order].in_use_mut() {
                state.is_listed = false;
            }
        }
        listed
    }

    fn list(&mut self, communicator: usize, call_order: CallOrder, listed: &mut Vec<usize>) {
        let index = self.call_order_index(communicator, call_order);
        let done = match &self.call_orders[index] {
            OrderState::Unused => Some(0),
            OrderState::PutAway(done) => Some(*done),
            OrderState::InUse(_) => None,
        };
        if let Some(done) = done {
            let bound = self.context.communicators.with_local_comms(communicator);
            let bound = bound.map(|(p, local_comm)| Some((p as u32, local_comm as u32)));
            self.call_orders[index] = OrderState::InUse(Box::new(OpenOrder {
                members: match call_order {
                    CallOrder::Persistent(number) => self.context.persistents.list[number as usize]
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
        let Some(state) = self.call_orders[index].in_use_mut() else {
            return;
        };
        if !std::mem::replace(&mut state.is_listed, true) {
            listed.push(index);
        }
    }

    /// Everything that was not passed on yet began at this time or later, ns.
    fn pending_from_ns(&self) -> i64 {
        let processes = self.processes.par_iter();
        let pending = processes.map(Process::pending_from_ns);
        pending.min().unwrap_or(i64::MAX)
    }

    /// From when to when each process of the run was in `MPI_Finalize`; `None` unless that is known of all.
    fn finalize(&self) -> Option<Vec<[Timestamp<Global>; 2]>> {
        let processes = self.processes.iter();
        processes
            .map(|process| process.found.of_process.finalize)
            .collect()
    }

    /// Ends of messages read so far.
    fn n_messages(&self) -> u64 {
        let found = self.processes.iter().map(|process| &process.found);
        found.map(|found| found.n_sent + found.n_received).sum()
    }

    /// Whether the messages inside calls were recorded, by any process.
    fn has_messages(&self) -> bool {
        self.processes.iter().any(|process| process.has_messages)
    }

    /// The positions of some call orders that all members have reached, in blocks.
    fn cut(&mut self, call_orders: &[usize]) -> Vec<Block> {
        let mut blocks = Vec::new();
        let has_messages = self.has_messages();
        for &index in call_orders {
            let (communicator, call_order) = self.call_order_at(index);
            let Some(state) = self.call_orders[index].in_use_mut() else {
                continue;
            };
            let processes = &self.processes;
            let queue = |member: &Option<(u32, u32)>| {
                let (process, local_comm) = (*member)?;
                processes[process as usize].queue(local_comm as usize, call_order)
            };
            let next = state
                .members
                .iter()
                .flatten()
                .map(|&(process, local_comm)| {
                    processes[process as usize].next_on(local_comm as usize, call_order)
                });
            let ready = next.min().unwrap_or(u64::MAX);
            state.hold_back(processes, call_order, ready);
            if let CallOrder::Persistent(_) = call_order {
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
                        call_order,
                        from,
                        to,
                    });
                }
                state.done = to;
            }
        }
        blocks
    }

    /// Decodes all blocks.
    fn decode<A: Adder>(&self, blocks: &[Block], workers: &Workers<'_, A>) {
        blocks.par_iter().for_each(|block| {
            let sources = self.sources(block.communicator, block.call_order);
            workers.with(|decoder, sink| {
                let communicator = &self.context.communicators.list[block.communicator];
                decoder.decode(block, &sources, communicator, sink);
            });
        });
    }

    /// The members' calls on a call order, by slot.
    fn sources(
        &self,
        communicator: usize,
        call_order: CallOrder,
    ) -> Vec<Option<MemberCalls<'_, '_>>> {
        let Some(state) =
            self.call_orders[self.call_order_index(communicator, call_order)].in_use()
        else {
            return Vec::new();
        };
        let source = |member: &Option<(u32, u32)>| {
            let (process, local_comm) = (*member)?;
            let process = &self.processes[process as usize];
            Some(MemberCalls {
                process,
                local_comm: local_comm as usize,
                queue: process.queue(local_comm as usize, call_order),
            })
        };
        state.members.iter().map(source).collect()
    }

    /// The positions of nonblocking calls that are complete everywhere, or whose processes have
    /// ended, in parts.
    fn settled(&mut self, call_orders: &[usize]) -> Vec<Settled> {
        let mut settled = Vec::new();
        let has_messages = self.has_messages();
        for &index in call_orders {
            let (communicator, call_order) = self.call_order_at(index);
            let Some(state) = self.call_orders[index].in_use_mut() else {
                continue;
            };
            let OpenOrder { members, held, .. } = state;
            let processes = &self.processes;
            let is_settled = |member: &Option<(u32, u32)>, position| {
                let Some((process, local_comm)) = *member else {
                    return true;
                };
                let process = &processes[process as usize];
                let queue = process.queue(local_comm as usize, call_order);
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
                call_order,
                positions: positions.to_vec(),
            }));
        }
        settled
    }

    /// Decodes nonblocking calls that are complete everywhere.
    fn decode_settled<A: Adder>(&self, settled: &[Settled], workers: &Workers<'_, A>) {
        settled.par_iter().for_each(|settled| {
            let sources = self.sources(settled.communicator, settled.call_order);
            workers.with(|decoder, sink| {
                let communicator = &self.context.communicators.list[settled.communicator];
                decoder.decode_settled(settled, &sources, communicator, sink);
            });
        });
    }

    /// Removes nonblocking calls that were passed on.
    fn drop_settled(&mut self, settled: &[Settled]) {
        for settled in settled {
            let index = self.call_order_index(settled.communicator, settled.call_order);
            let Some(state) = self.call_orders[index].in_use() else {
                continue;
            };
            for &(process, local_comm) in state.members.iter().flatten() {
                for &position in &settled.positions {
                    let process = &mut self.processes[process as usize];
                    process.drop_initiated(local_comm as usize, settled.call_order, position);
                }
            }
        }
    }

    /// Puts away call orders on which nothing waits, of these, where there are many.
    fn put_away_idle(&mut self, call_orders: &[usize]) {
        if self.call_orders.len() <= MAX_IDLE_ORDERS {
            return;
        }
        for &index in call_orders {
            let (_, call_order) = self.call_order_at(index);
            let Some(state) = self.call_orders[index].in_use() else {
                continue;
            };
            if let CallOrder::Persistent(_) = call_order {
                continue;
            }
            let members = || state.members.iter().flatten();
            let is_idle = members().all(|&(process, local_comm)| {
                let queue = self.processes[process as usize].queue(local_comm as usize, call_order);
                queue.is_none_or(Queue::is_idle)
            });
            if is_idle && state.held.is_empty() {
                for &(process, local_comm) in members() {
                    self.processes[process as usize].put_away(local_comm as usize);
                }
                self.call_orders[index] = OrderState::PutAway(state.done);
            }
        }
    }

    fn call_order_index(&self, communicator: usize, call_order: CallOrder) -> usize {
        match call_order {
            CallOrder::Persistent(number) => {
                self.context.communicators.list.len() * CALL_ORDERS.len() + number as usize
            }
            _ => communicator * CALL_ORDERS.len() + call_order.index(),
        }
    }

    /// Communicator and call order at an index.
    fn call_order_at(&self, index: usize) -> (usize, CallOrder) {
        match index.checked_sub(self.context.communicators.list.len() * CALL_ORDERS.len()) {
            Some(number) => {
                let communicator = self.context.persistents.list[number].communicator;
                (communicator, CallOrder::Persistent(number as u32))
            }
            None => (
                index / CALL_ORDERS.len(),
                CALL_ORDERS[index % CALL_ORDERS.len()],
            ),
        }
    }

    /// Removes the calls that were passed on, and gives back the pages that were read.
    fn drop_done(&mut self, call_orders: &[usize]) {
        // By process: local communicator, call order, and the position before which all were passed
        // on.
        let mut done: Vec<Vec<(usize, CallOrder, u64)>> = vec![Vec::new(); self.processes.len()];
        for &index in call_orders {
            let (_, call_order) = self.call_order_at(index);
            let Some(state) = self.call_orders[index].in_use_mut() else {
                continue;
            };
            for &(process, local_comm) in state.members.iter().flatten() {
                let (process, local_comm) = (process as usize, local_comm as usize);
                done[process].push((local_comm, call_order, state.done));
                for &position in &state.mixed {
                    self.processes[process].pass_by_initiated(local_comm, call_order, position);
                }
            }
            state.mixed.clear();
        }
        let step = (KEPT_BYTES / self.processes.len() as u64).clamp(1 << 16, 1 << 20);
        let processes = self.processes.par_iter_mut().zip(done);
        processes.for_each(|(process, done)| {
            for (local_comm, call_order, position) in done {
                process.drop_before(local_comm, call_order, position);
            }
            process.give_back(step);
        });
    }
}

/// How often the number of records that are looked at together is doubled where everybody waits.
const MAX_DOUBLINGS: u32 = 4;

/// Bytes of pages of all files together that are retained after reading, to give back many at once.
const KEPT_BYTES: u64 = 32 << 20;

fn n_call_orders(context: MatchContext<'_>) -> usize {
    context.communicators.list.len() * CALL_ORDERS.len() + context.persistents.list.len()
}
