//! A tree in use by the processes of one communicator.

use collbench_formats::tree::Wrappers;

use super::collectors::Collect;
use super::direct::DirectExchange;
use super::direct_broadcast::DirectBroadcast;
use super::execution::{Execution, Part, bring_value};
use super::flat::Flat;
use super::options::TeamOptions;
use super::slices::Slices;
use super::two_way::{Merges, TwoWay};
use super::worker::Worker;
use crate::error::Error;
use crate::transport::Transport;
use crate::tree::{Flow, Paths, Plan};
use crate::values::{Combine, Header, MAX_RANKS, MAX_SEGMENTS, Position, Shape, blocks};

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
    pub(crate) call: u64,
    two_way: TwoWay,
    /// What is done instead with small values, where that is possible.
    pub(crate) exchange: Option<DirectExchange>,
    /// What is done instead with long values, where that is possible.
    pub(crate) slices: Option<Slices>,
    /// What is done instead in operations of which processes give or take parts, where that is
    /// possible.
    pub(crate) flat: Option<Flat>,
    /// By shape, made at their first use.
    merges: [Option<Merges>; 3],
    /// The most blocks of a value, by shape; 0 where it is not known yet.
    max_blocks: [usize; 3],
    /// For each way, shape and root that was used.
    pub(crate) executions: Vec<Execution>,
    /// Which of them, by way, shape and root; empty before the first use.
    execution_of: Vec<usize>,
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
        let mut worker = Worker::new(transport, &paths, &options)?;
        let contributors = paths.joins.iter().map(|join| join.contributors.len());
        worker.reserve_inputs(contributors.max().unwrap_or(0));
        Ok(Self {
            two_way: TwoWay::new(&paths, worker.me),
            exchange: DirectExchange::of(&paths, &worker),
            slices: Slices::of(&paths, &worker),
            flat: Flat::of(&paths, &worker),
            paths,
            worker,
            segment_bytes,
            call: 0,
            merges: [const { None }; 3],
            max_blocks: [0; 3],
            executions: Vec::new(),
            execution_of: Vec::new(),
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
    #[inline]
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
        self.divide_into_segments(shape, element_bytes, total)
    }

    fn divide_into_segments(
        &mut self,
        shape: Shape,
        element_bytes: usize,
        total: usize,
    ) -> Result<usize, Error> {
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
            self.worker.begin(at);
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
    /// comes to this process, and returns whether that was too long.
    pub(crate) fn one_way(
        &mut self,
        (flow, shape, root): (Flow, Shape, u32),
        combine: &mut dyn Combine,
        mut bring: impl FnMut(usize, &mut [u8]) -> Part,
        mut take: impl FnMut(usize, &[u8], &dyn Combine) -> bool,
    ) -> Result<(), Error> {
        self.call += 1;
        let nth = self.execution_of(flow, shape, root);
        let (execution, worker) = (&mut self.executions[nth], &mut self.worker);
        execution.begin();
        let mut at = Position::new(self.call, 0);
        while !execution.has_ended() {
            let segment = at.segment() as usize;
            worker.begin(at);
            let mut bring = |buffer: &mut [u8]| bring(segment, buffer);
            let mut take = |value: &[u8], combine: &dyn Combine| take(segment, value, combine);
            execution.segment(worker, combine, at, &mut bring, &mut take)?;
            worker.finish(at);
            at = at.next_segment();
        }
        worker.finish(Position::end(self.call));
        if execution.is_truncated() {
            return Err(Error::Truncated);
        }
        Ok(())
    }

    /// Which of the executions is that of an operation with this root. It is made at its first use.
    #[inline]
    pub(crate) fn execution_of(&mut self, flow: Flow, shape: Shape, root: u32) -> usize {
        let key = (flow as usize * 3 + shape as usize) * self.n_ranks() + root as usize;
        match self.execution_of.get(key) {
            Some(&nth) if nth != usize::MAX => nth,
            _ => self.make_execution(key, (flow, shape, root)),
        }
    }

    #[cold]
    fn make_execution(&mut self, key: usize, (flow, shape, root): (Flow, Shape, u32)) -> usize {
        let plan = Plan::new(&self.paths, flow, shape, root, self.worker.me);
        self.worker.reserve_inputs(plan.max_inputs);
        let broadcast = match (flow, shape) {
            (Flow::FromRoot, Shape::Whole) => DirectBroadcast::of(&plan, &self.paths, &self.worker),
            _ => None,
        };
        let nth = self.executions.len();
        self.executions.push(Execution::new(plan, broadcast));
        self.execution_of.resize(2 * 3 * self.n_ranks(), usize::MAX);
        self.execution_of[key] = nth;
        nth
    }
}
