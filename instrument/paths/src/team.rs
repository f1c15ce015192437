//! A tree in use by the processes of one communicator.

use std::collections::HashMap;

use collbench_formats::tree::Wrappers;

use crate::blocks::{Shape, blocks};
use crate::collectors::Collect;
use crate::combine::Combine;
use crate::error::Error;
use crate::one_way::{Flow, Passing, Place, Plan, Step};
use crate::paths::Paths;
use crate::position::{MAX_SEGMENTS, Position};
use crate::transport::Transport;
use crate::two_way::{Merges, TwoWay};
use crate::value::{Header, MAX_RANKS};
use crate::wait::WaitPolicy;
use crate::worker::Worker;

/// How a tree is executed. All processes of a communicator use the same, but for the policy.
#[derive(Debug, Clone, Copy)]
pub struct TeamOptions {
    /// How this process waits.
    pub policy: WaitPolicy,
    /// Payloads are divided into segments of at most this many bytes, at least 64.
    pub segment_bytes: usize,
    /// The first of the tags of messages; [`n_tags`] are used.
    pub first_tag: u32,
}

impl TeamOptions {
    /// Segments of 8 KiB, tags from 0 on.
    #[must_use]
    pub const fn new(policy: WaitPolicy) -> Self {
        Self {
            policy,
            segment_bytes: 8 << 10,
            first_tag: 0,
        }
    }
}

/// Number of different tags of messages over a tree.
#[must_use]
pub fn n_tags(tree: &Wrappers) -> u32 {
    2 * (tree.n_ranks() + tree.all().len() as u32)
}

/// One process of a communicator whose operations run over a tree.
///
/// All processes call the same operations in the same order, as MPI asks of them for collective
/// operations.
pub struct Team<T: Transport> {
    pub(crate) paths: Paths,
    pub(crate) worker: Worker<T>,
    segment_bytes: usize,
    /// The number of the last operation.
    call: u64,
    two_way: TwoWay,
    /// By shape, made at their first use.
    merges: [Option<Merges>; 3],
    /// The most blocks of a value, by shape; 0 where it is not known yet.
    max_blocks: [usize; 3],
    plans: HashMap<(Flow, Shape, u32), OneWay>,
}

/// A plan, with what has been learned about each of its steps in the operation under way.
struct OneWay {
    plan: Plan,
    /// Whether each step has had its last segment.
    has_ended: Vec<bool>,
    /// Whether each input of each step has had its last segment, and its total length and whether
    /// it was truncated until then.
    inputs: Vec<Vec<Header>>,
    /// Which inputs of a step have come.
    has_come: Vec<bool>,
}

impl OneWay {
    fn new(plan: Plan) -> Self {
        Self {
            has_ended: vec![false; plan.steps.len()],
            inputs: plan
                .steps
                .iter()
                .map(|step| vec![Header::default(); step.inputs.len()])
                .collect(),
            has_come: vec![false; plan.max_inputs],
            plan,
        }
    }
}

impl<T: Transport> Team<T> {
    /// Begins the use of a tree by the processes of `transport`. Each of them calls this with the
    /// same tree.
    ///
    /// # Errors
    /// [`Error::Transport`] if there is no shared memory.
    ///
    /// # Panics
    /// If the tree is not one of as many ranks as there are in the transport, or the segments are
    /// smaller than they may be, or there are more than 16 million ranks.
    pub fn new(transport: T, tree: &Wrappers, options: TeamOptions) -> Result<Self, Error> {
        assert!(transport.rank() < tree.n_ranks() && tree.n_ranks() <= MAX_RANKS);
        assert!(options.segment_bytes >= 64);
        let paths = Paths::new(tree);
        let segment_bytes = options.segment_bytes;
        let mut worker = Worker::new(
            transport,
            &paths,
            options.policy,
            segment_bytes,
            options.first_tag,
        )?;
        let contributors = paths.joins.iter().map(|join| join.contributors.len());
        worker.reserve_inputs(contributors.max().unwrap_or(0));
        Ok(Self {
            two_way: TwoWay::new(&paths, worker.me),
            paths,
            worker,
            segment_bytes,
            call: 0,
            merges: [const { None }; 3],
            max_blocks: [0; 3],
            plans: HashMap::new(),
        })
    }

    /// Calls `collect` for each pass through an event collector that the tree has switched on; no
    /// longer if it is `None`.
    pub fn set_collect(&mut self, collect: Option<Collect>) {
        self.worker.set_collect(collect);
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.worker.transport
    }

    pub(crate) fn n_ranks(&self) -> usize {
        self.paths.n_ranks()
    }

    /// The bytes of each rank in a segment: as many elements as fit with the most blocks that a
    /// value has.
    pub(crate) fn bytes_per_segment(
        &mut self,
        shape: Shape,
        element_bytes: usize,
        total: usize,
    ) -> Result<usize, Error> {
        if shape == Shape::Whole && total <= self.segment_bytes {
            // One segment, whatever an element is. No division in the most frequent case.
            self.worker.expect_bytes(total);
            return Ok(self.segment_bytes);
        }
        let max_blocks = self.max_blocks_of(shape);
        let limit_bytes = self.segment_bytes / max_blocks;
        let bytes = limit_bytes / element_bytes * element_bytes;
        if bytes == 0 {
            return Err(Error::Element {
                element_bytes,
                limit_bytes,
            });
        }
        if total.div_ceil(bytes) > MAX_SEGMENTS {
            return Err(Error::Payload {
                bytes: total,
                segment_bytes: bytes,
            });
        }
        self.worker.expect_bytes(bytes.min(total) * max_blocks);
        Ok(bytes)
    }

    fn max_blocks_of(&mut self, shape: Shape) -> usize {
        let paths = &self.paths;
        let known = &mut self.max_blocks[shape as usize];
        if *known == 0 {
            *known = match shape {
                Shape::Whole => 1,
                Shape::PerRank => paths.n_ranks(),
                Shape::Runs => {
                    let edges = 0..paths.edges.len();
                    let of_edge = edges.map(|edge| {
                        let above = paths.ranks_above(edge);
                        let below = paths.all_but(above);
                        blocks(above, shape).len().max(blocks(&below, shape).len())
                    });
                    of_edge.max().unwrap_or(1).max(1)
                }
            };
        }
        *known
    }

    /// An operation in which data flow both ways. `bring` stores this process's part of the segment
    /// with this number in the buffer, and `take` takes the result.
    pub(crate) fn both_ways(
        &mut self,
        shape: Shape,
        combine: &mut dyn Combine,
        mut bring: impl FnMut(usize, &mut [u8]) -> Part,
        mut take: impl FnMut(usize, &[u8], &dyn Combine),
    ) -> Result<(), Error> {
        self.call += 1;
        let merges =
            self.merges[shape as usize].get_or_insert_with(|| Merges::new(&self.paths, shape));
        let mut at = Position::new(self.call, 0);
        loop {
            let segment = at.segment() as usize;
            bring_value(&mut self.worker, |buffer| bring(segment, buffer));
            let (worker, paths) = (&mut self.worker, &self.paths);
            self.two_way.execute(worker, paths, merges, combine, at)?;
            take(segment, self.worker.value(), combine);
            let Header {
                is_last,
                is_truncated,
                ..
            } = self.worker.header;
            let until = if is_last {
                Position::end(self.call)
            } else {
                at
            };
            self.worker.finish(until);
            self.worker.all_have_finished(match segment {
                0 => Position::end(self.call - 1),
                _ => Position::new(self.call, at.segment() - 1),
            });
            if is_last {
                return if is_truncated {
                    Err(Error::Truncated)
                } else {
                    Ok(())
                };
            }
            at = at.next_segment();
        }
    }

    /// An operation in which data flow one way, with its root. `bring` as above; `take` takes what
    /// comes to this process, with the total length that was sent for each rank, and returns whether
    /// that was too long.
    pub(crate) fn one_way(
        &mut self,
        (flow, shape, root): (Flow, Shape, u32),
        combine: &mut dyn Combine,
        mut bring: impl FnMut(usize, &mut [u8]) -> Part,
        mut take: impl FnMut(usize, &[u8], u64, &dyn Combine) -> bool,
    ) -> Result<(), Error> {
        self.call += 1;
        let call = self.call;
        let mut one_way = match self.plans.remove(&(flow, shape, root)) {
            Some(known) => known,
            None => {
                let plan = Plan::new(&self.paths, flow, shape, root, self.worker.me);
                self.worker.reserve_inputs(plan.max_inputs);
                OneWay::new(plan)
            }
        };
        one_way.has_ended.fill(false);
        let mut is_truncated = false;
        let mut at = Position::new(call, 0);
        let mut outcome = Ok(());
        while outcome.is_ok() && one_way.has_ended.contains(&false) {
            let segment = at.segment() as usize;
            for nth in 0..one_way.plan.steps.len() {
                if one_way.has_ended[nth] {
                    continue;
                }
                let done = self.step(&mut one_way, nth, combine, at, &mut |buffer| {
                    bring(segment, buffer)
                });
                if let Err(error) = done {
                    outcome = Err(error);
                    break;
                }
                let step = &one_way.plan.steps[nth];
                if let Some(output) = step.outputs.iter().find(|to| to.to == Place::Program) {
                    let Header {
                        total,
                        is_truncated: is_wrong,
                        ..
                    } = self.worker.header;
                    let value = match &output.blocks {
                        Some(blocks) => self.worker.selection(step.merge.n_result_blocks(), blocks),
                        None => self.worker.value(),
                    };
                    is_truncated |= take(segment, value, total, combine) | is_wrong;
                }
            }
            self.worker.finish(at);
            at = at.next_segment();
        }
        self.worker.finish(Position::end(call));
        self.plans.insert((flow, shape, root), one_way);
        outcome?;
        if is_truncated {
            return Err(Error::Truncated);
        }
        Ok(())
    }

    /// One step in one segment.
    fn step(
        &mut self,
        one_way: &mut OneWay,
        nth: usize,
        combine: &mut dyn Combine,
        at: Position,
        bring: &mut dyn FnMut(&mut [u8]) -> Part,
    ) -> Result<(), Error> {
        let OneWay {
            plan,
            inputs,
            has_ended,
            has_come,
        } = one_way;
        let step = &plan.steps[nth];
        let known = &mut inputs[nth];
        self.take_inputs(step, (known, has_come), at, bring)?;
        self.worker.merge(&step.merge, combine);
        has_ended[nth] = self.worker.header.is_last;
        for &passing in &step.passings {
            self.record_passing(passing, at);
        }
        for output in &step.outputs {
            if let Some(passing) = output.passing {
                self.record_passing(passing, at);
            }
            let n_blocks = step.merge.n_result_blocks();
            let selection = output.blocks.as_deref().map(|blocks| (n_blocks, blocks));
            self.worker.hand_on(output.to, at, selection)?;
        }
        Ok(())
    }

    /// Waits for the inputs of a step, whichever comes first.
    fn take_inputs(
        &mut self,
        step: &Step,
        (known, has_come): (&mut [Header], &mut [bool]),
        at: Position,
        bring: &mut dyn FnMut(&mut [u8]) -> Part,
    ) -> Result<(), Error> {
        let mut n_missing = step.inputs.len();
        let has_come = &mut has_come[..n_missing];
        for (nth, input) in step.inputs.iter().enumerate() {
            // One that was shorter than others brings nothing more.
            let has_ended = at.segment() > 0 && known[nth].is_last;
            if has_ended {
                self.worker.no_input(nth, known[nth]);
            } else if input.from == Place::Program {
                bring_value(&mut self.worker, &mut *bring);
                self.worker.await_input(nth, Place::Program, at)?;
                known[nth] = self.worker.input_headers[nth];
            }
            has_come[nth] = has_ended || input.from == Place::Program;
            n_missing -= usize::from(has_come[nth]);
        }
        while n_missing > 0 {
            let ((nth, by), has_waited) = self.worker.wait(|worker| {
                for (nth, input) in step.inputs.iter().enumerate() {
                    if has_come[nth] {
                        continue;
                    }
                    if let Some(by) = worker.take_input(nth, input.from, at)? {
                        return Ok(Some((nth, by)));
                    }
                }
                Ok(None)
            })?;
            let input = &step.inputs[nth];
            self.worker.note_woken(by, has_waited, input.from);
            has_come[nth] = true;
            known[nth] = self.worker.input_headers[nth];
            n_missing -= 1;
            if let Some(passing) = input.passing {
                self.record_passing(passing, at);
            }
        }
        Ok(())
    }

    fn record_passing(&mut self, passing: Passing, at: Position) {
        let collector = Some(passing.collector);
        let now = self.worker.stamp(collector);
        let (down, up) = if passing.is_down { (now, 0) } else { (0, now) };
        self.worker.record(collector, at, down, up);
    }
}

/// A process's part of a segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// The payload of one rank in the whole operation, bytes.
    pub(crate) total: usize,
    /// Length of what is in this segment, of all blocks.
    pub(crate) n_bytes: usize,
    /// Whether nothing comes after it.
    pub(crate) is_last: bool,
}

fn bring_value<T: Transport>(worker: &mut Worker<T>, mut bring: impl FnMut(&mut [u8]) -> Part) {
    worker.set_value(|buffer| {
        let part = bring(buffer);
        Header {
            total: part.total as u64,
            n_bytes: part.n_bytes,
            is_last: part.is_last,
            ..Header::default()
        }
    });
}
