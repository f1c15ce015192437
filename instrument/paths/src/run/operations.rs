//! The collective operations.
//!
//! Payloads are bytes side by side: what the program has with gaps is packed before and unpacked
//! after, by whoever knows its datatypes.

use super::buffers::Buffers;
use super::execution::Part;
use super::team::Team;
use crate::error::Error;
use crate::transport::Transport;
use crate::tree::Flow;
use crate::values::{Combine, Moved, Position, Shape};

/// Segment `segment` of a buffer, if each has `bytes`.
fn segment_of(buffer: &[u8], segment: usize, bytes: usize) -> &[u8] {
    let begin = (segment * bytes).min(buffer.len());
    &buffer[begin..buffer.len().min(begin + bytes)]
}

/// As [`segment_of`], to be changed.
fn segment_of_mut(buffer: &mut [u8], segment: usize, bytes: usize) -> &mut [u8] {
    let begin = (segment * bytes).min(buffer.len());
    let end = buffer.len().min(begin + bytes);
    &mut buffer[begin..end]
}

/// Puts segment `segment` of some bytes into `to`.
fn bring(from: &[u8], segment: usize, bytes: usize, to: &mut [u8]) -> Part {
    let part = segment_of(from, segment, bytes);
    to[..part.len()].copy_from_slice(part);
    Part {
        total: from.len(),
        n_bytes: part.len(),
        is_last: (segment + 1) * bytes >= from.len(),
    }
}

/// Stores what has come where it belongs, as much as there is room for. Returns whether that was
/// less.
fn take(value: &[u8], segment: usize, bytes: usize, to: &mut [u8], combine: &dyn Combine) -> bool {
    let to = segment_of_mut(to, segment, bytes);
    let n_bytes = value.len().min(to.len());
    let is_too_long = n_bytes < value.len();
    let n_whole = if is_too_long {
        n_bytes - n_bytes % combine.element_bytes()
    } else {
        n_bytes
    };
    combine.store(&value[..n_whole], &mut to[..n_whole]);
    is_too_long
}

/// The blocks of the ranks, which are equally long, of all ranks' parts of `each` bytes.
fn store_blocks(
    value: &[u8],
    segment: usize,
    bytes: usize,
    (each, to): (usize, &mut [u8]),
) -> bool {
    if each == 0 {
        return !value.is_empty();
    }
    let n_ranks = to.len() / each;
    let block_bytes = value.len() / n_ranks;
    let mut is_too_long = false;
    for (nth, of_rank) in to.chunks_exact_mut(each).enumerate() {
        let block = &value[nth * block_bytes..][..block_bytes];
        is_too_long |= take(block, segment, bytes, of_rank, &Moved);
    }
    is_too_long
}

/// The error of processes that have given different lengths.
fn truncated_unless(is_alike: bool) -> Result<(), Error> {
    if is_alike {
        Ok(())
    } else {
        Err(Error::Truncated)
    }
}

impl<T: Transport> Team<T> {
    /// Exchanges small values directly. Returns whether that was possible.
    #[inline]
    fn exchange_directly(
        &mut self,
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let Some(exchange) = &self.exchange else {
            return Ok(false);
        };
        let call = self.call + 1;
        let is_done = exchange.execute(&mut self.worker, call, buffers, combine)?;
        if is_done {
            self.call = call;
        }
        Ok(is_done)
    }

    /// Gives all others directly what the root has. Returns whether that was possible.
    #[inline]
    fn broadcast_directly(&mut self, buffer: &mut [u8], root: u32) -> Result<bool, Error> {
        let nth = self.execution_of(Flow::FromRoot, Shape::Whole, root);
        let Some(broadcast) = &self.executions[nth].broadcast else {
            return Ok(false);
        };
        self.call += 1;
        broadcast.execute(&mut self.worker, self.call, buffer)?;
        Ok(true)
    }

    /// Reduces to the root directly, in segments of so many bytes, where all processes meet in one
    /// place on one host; nothing is returned elsewhere. Returns whether all have equally many bytes, as
    /// far as this process knows.
    fn reduce_directly(
        &mut self,
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
        root: u32,
        segment_bytes: usize,
    ) -> Result<Option<bool>, Error> {
        let Some(flat) = &mut self.flat else {
            return Ok(None);
        };
        self.call += 1;
        let (worker, call) = (&mut self.worker, self.call);
        let n_bytes = buffers.given().len();
        let least = worker.divide_to_root_from;
        if let Some(slices) = &mut self.slices
            && !flat.has_few()
            && slices.divide(n_bytes, combine.element_bytes(), least)
        {
            let is_root = worker.me == root;
            if slices.execute(worker, (call, is_root), buffers, combine)? {
                return Ok(Some(true));
            }
            if is_root {
                flat.leave_off(worker, Position::new(call, 0))?;
                return Ok(Some(false));
            }
            worker.finish(Position::end(call));
            return Ok(Some(true));
        }
        let is_alike = flat.reduce(worker, (call, root), buffers, segment_bytes, combine)?;
        Ok(Some(is_alike))
    }

    fn shape_of(&self, combine: &dyn Combine) -> Shape {
        if combine.keeps_rank_order() {
            Shape::Runs
        } else {
            Shape::Whole
        }
    }

    /// Combines what all processes give; all get the result, which is the same to the bit.
    ///
    /// # Errors
    /// [`Error::Truncated`] if processes have given different lengths.
    #[inline]
    pub fn allreduce(
        &mut self,
        mut buffers: Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<(), Error> {
        let is_done =
            !combine.keeps_rank_order() && self.exchange_directly(&mut buffers, combine)?;
        if is_done {
            return Ok(());
        }
        self.allreduce_in_general(buffers, combine)
    }

    fn allreduce_in_general(
        &mut self,
        mut buffers: Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<(), Error> {
        let shape = self.shape_of(combine);
        let total = buffers.given().len();
        let bytes = self.bytes_per_segment(shape, combine.element_bytes(), total)?;
        let is_divided = self.divides(total, combine.element_bytes());
        if is_divided && self.allreduce_divided(&mut buffers, combine)? {
            return Ok(());
        }
        // Others have given another length. All see that in the first segment, in which those who
        // would have divided their values have given none of them.
        let n_before = usize::from(is_divided);
        let buffers = std::cell::RefCell::new(&mut buffers);
        self.both_ways(
            shape,
            combine,
            |segment, to| match segment.checked_sub(n_before) {
                Some(segment) => bring(buffers.borrow().given(), segment, bytes, to),
                None => Part {
                    total,
                    n_bytes: 0,
                    is_last: false,
                },
            },
            |segment, value, combine| {
                if let Some(segment) = segment.checked_sub(n_before) {
                    let mut buffers = buffers.borrow_mut();
                    take(value, segment, bytes, buffers.result(), combine);
                }
            },
        )
    }

    /// Whether a reduction of so many bytes is divided among processes.
    fn divides(&self, n_bytes: usize, element_bytes: usize) -> bool {
        let slices = self.slices.as_ref();
        slices.is_some_and(|of| of.divide(n_bytes, element_bytes, self.worker.divide_from))
    }

    /// Divides the work among all processes. Returns whether that was possible.
    fn allreduce_divided(
        &mut self,
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let Some(slices) = &mut self.slices else {
            return Ok(false);
        };
        let call = self.call + 1;
        let is_done = slices.execute(&mut self.worker, (call, true), buffers, combine)?;
        if is_done {
            self.call = call;
        }
        Ok(is_done)
    }

    /// Waits until all processes have called it.
    ///
    /// # Errors
    /// [`Error::Transport`].
    #[inline]
    pub fn barrier(&mut self) -> Result<(), Error> {
        if self.exchange_directly(&mut Buffers::InPlace(&mut []), &mut Moved)? {
            return Ok(());
        }
        self.bytes_per_segment(Shape::Whole, 1, 0)?;
        let part = Part {
            total: 0,
            n_bytes: 0,
            is_last: true,
        };
        self.both_ways(Shape::Whole, &mut Moved, |_, _| part, |_, _, _| {})
    }

    /// Gathers what all processes give, in the order of ranks; all get it. `result` has room for
    /// all, in equal parts; the part of this process is what it gives if `given` is `None`.
    ///
    /// # Errors
    /// [`Error::Truncated`] if processes have given different lengths, or more than there is room
    /// for.
    pub fn allgather(&mut self, given: Option<&[u8]>, result: &mut [u8]) -> Result<(), Error> {
        let each = result.len() / self.n_ranks();
        let own = self.worker.me as usize * each;
        if let Some(given) = given {
            let n_bytes = given.len().min(each);
            result[own..own + n_bytes].copy_from_slice(&given[..n_bytes]);
        }
        if let Some(flat) = &mut self.flat {
            self.call += 1;
            let is_alike = flat.allgather(&mut self.worker, self.call, given, (each, result))?;
            return truncated_unless(is_alike);
        }
        let total = given.map_or(each, <[u8]>::len);
        let bytes = self.bytes_per_segment(Shape::PerRank, 1, total)?;
        let mut is_too_long = false;
        let result = std::cell::RefCell::new(result);
        self.both_ways(
            Shape::PerRank,
            &mut Moved,
            |segment, to| match given {
                Some(given) => bring(given, segment, bytes, to),
                None => bring(&result.borrow()[own..own + each], segment, bytes, to),
            },
            |segment, value, _| {
                let mut result = result.borrow_mut();
                is_too_long |= store_blocks(value, segment, bytes, (each, &mut **result));
            },
        )?;
        if is_too_long {
            return Err(Error::Truncated);
        }
        Ok(())
    }

    /// Combines what all processes give; the root gets the result. On the other processes nothing is
    /// stored.
    ///
    /// # Errors
    /// [`Error::Truncated`] at the root if processes have given different lengths.
    ///
    /// # Panics
    /// If the root is not a rank.
    pub fn reduce(
        &mut self,
        mut buffers: Buffers<'_>,
        combine: &mut dyn Combine,
        root: u32,
    ) -> Result<(), Error> {
        assert!((root as usize) < self.n_ranks());
        let shape = self.shape_of(combine);
        let total = buffers.given().len();
        let bytes = self.bytes_per_segment(shape, combine.element_bytes(), total)?;
        if shape == Shape::Whole
            && let Some(is_alike) = self.reduce_directly(&mut buffers, combine, root, bytes)?
        {
            return truncated_unless(is_alike);
        }
        let buffers = std::cell::RefCell::new(&mut buffers);
        self.one_way(
            (Flow::ToRoot, shape, root),
            combine,
            |segment, to| bring(buffers.borrow().given(), segment, bytes, to),
            |segment, value, combine| {
                take(
                    value,
                    segment,
                    bytes,
                    buffers.borrow_mut().result(),
                    combine,
                )
            },
        )
    }

    /// Gives all processes what the root has.
    ///
    /// # Errors
    /// [`Error::Truncated`] where that is longer than the buffer.
    ///
    /// # Panics
    /// If the root is not a rank.
    pub fn bcast(&mut self, buffer: &mut [u8], root: u32) -> Result<(), Error> {
        assert!((root as usize) < self.n_ranks());
        let bytes = self.bytes_per_segment(Shape::Whole, 1, buffer.len())?;
        if self.broadcast_directly(buffer, root)? {
            return Ok(());
        }
        self.worker.expect_bytes(bytes);
        let is_root = self.worker.me == root;
        let buffer = std::cell::RefCell::new(buffer);
        self.one_way(
            (Flow::FromRoot, Shape::Whole, root),
            &mut Moved,
            |segment, to| bring(&buffer.borrow(), segment, bytes, to),
            |segment, value, _| {
                !is_root && take(value, segment, bytes, &mut buffer.borrow_mut(), &Moved)
            },
        )
    }

    /// Gathers what all processes give at the root, in the order of ranks. Its `result` has room for
    /// all, in equal parts; if `given` is `None` there, its own part is in place. On other processes
    /// `result` is not used.
    ///
    /// # Errors
    /// [`Error::Truncated`] at the root if a process has given more than there is room for.
    ///
    /// # Panics
    /// If the root is not a rank.
    pub fn gather(
        &mut self,
        given: Option<&[u8]>,
        result: &mut [u8],
        root: u32,
    ) -> Result<(), Error> {
        assert!((root as usize) < self.n_ranks());
        let each = result.len() / self.n_ranks();
        let own = self.worker.me as usize * each;
        if let (Some(given), true) = (given, self.worker.me == root) {
            let n_bytes = given.len().min(each);
            result[own..own + n_bytes].copy_from_slice(&given[..n_bytes]);
        }
        let total = given.map_or(each, <[u8]>::len);
        if let Some(flat) = &mut self.flat {
            self.call += 1;
            if self.worker.me != root {
                return flat.gather_give(&mut self.worker, self.call, given.unwrap_or_default());
            }
            let is_alike = flat.gather_take(&mut self.worker, self.call, (each, result))?;
            return truncated_unless(is_alike && total == each);
        }
        let bytes = self.bytes_per_segment(Shape::PerRank, 1, total)?;
        let result = std::cell::RefCell::new(result);
        self.one_way(
            (Flow::ToRoot, Shape::PerRank, root),
            &mut Moved,
            |segment, to| match given {
                Some(given) => bring(given, segment, bytes, to),
                None => bring(&result.borrow()[own..own + each], segment, bytes, to),
            },
            |segment, value, _| {
                let mut result = result.borrow_mut();
                store_blocks(value, segment, bytes, (each, &mut **result))
            },
        )
    }

    /// Gives each process its part of what the root has, whose `given` has the parts of all, equally
    /// long, in the order of ranks. On other processes `given` is not used. The part of the root is
    /// left where it is if its `result` is `None`; elsewhere that is an empty buffer.
    ///
    /// # Errors
    /// [`Error::Truncated`] where the part is longer than the buffer.
    ///
    /// # Panics
    /// If the root is not a rank.
    pub fn scatter(
        &mut self,
        given: &[u8],
        result: Option<&mut [u8]>,
        root: u32,
    ) -> Result<(), Error> {
        let n_ranks = self.n_ranks();
        assert!((root as usize) < n_ranks);
        let is_left = result.is_none() && self.worker.me == root;
        let result = result.unwrap_or_default();
        let each = if self.worker.me == root {
            given.len() / n_ranks
        } else {
            result.len()
        };
        if let Some(flat) = &self.flat {
            self.call += 1;
            let is_too_long = if self.worker.me != root {
                flat.scatter_take(&mut self.worker, self.call, result)?
            } else {
                let begin = root as usize * each;
                let own = &given[begin..begin + each];
                flat.scatter_give(&mut self.worker, self.call, (each, given))?;
                !is_left && take(own, 0, each, result, &Moved)
            };
            return truncated_unless(!is_too_long);
        }
        let bytes = self.bytes_per_segment(Shape::PerRank, 1, each)?;
        self.worker.expect_bytes(bytes * n_ranks);
        self.one_way(
            (Flow::FromRoot, Shape::PerRank, root),
            &mut Moved,
            |segment, to| {
                let mut n_bytes = 0;
                for of_rank in given.chunks_exact(each.max(1)).take(n_ranks) {
                    let part = segment_of(of_rank, segment, bytes);
                    to[n_bytes..n_bytes + part.len()].copy_from_slice(part);
                    n_bytes += part.len();
                }
                Part {
                    total: each,
                    n_bytes,
                    is_last: (segment + 1) * bytes >= each,
                }
            },
            |segment, value, _| !is_left && take(value, segment, bytes, result, &Moved),
        )
    }
}
