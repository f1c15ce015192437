//! Reductions to a root.

use std::ops::Range;

use super::{Flat, LENT_BYTES, Progress, answer};
use crate::error::Error;
use crate::run::buffers::Buffers;
use crate::run::lent::give;
use crate::run::operands::Operands;
use crate::run::worker::Worker;
use crate::transport::{INLINE_BYTES, REFERENCE_BYTES, Reference, Transport};
use crate::values::{Combine, Header, Position};

/// Combines a part of what is in the buffers, and stores the result where it belongs, if `execute`
/// could combine it. `memory` has room for two such parts.
fn in_part(
    buffers: &mut Buffers<'_>,
    part: Range<usize>,
    memory: &mut [u8],
    combine: &mut dyn Combine,
    execute: impl FnOnce(Operands<'_>, &mut dyn Combine) -> Result<bool, Error>,
) -> Result<bool, Error> {
    let (so_far, next) = memory.split_at_mut(memory.len() / 2);
    if let Buffers::Two(given, result) = buffers
        && combine.stores_all_bytes()
    {
        let part = Operands {
            given: &given[part.clone()],
            so_far: &mut result[part],
            next,
        };
        return execute(part, combine);
    }
    let so_far = &mut so_far[..part.len()];
    let given = &buffers.given()[part.clone()];
    let is_combined = execute(
        Operands {
            given,
            so_far,
            next,
        },
        combine,
    )?;
    if is_combined {
        combine.store(so_far, &mut buffers.result()[part]);
    }
    Ok(is_combined)
}

impl Flat {
    /// Combines what all processes have at the root, in segments of so many bytes; only there `buffers`
    /// has room for the result. Returns whether all have equally many bytes, as far as this process
    /// knows.
    pub(crate) fn reduce<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        (call, root): (u64, u32),
        buffers: &mut Buffers<'_>,
        segment_bytes: usize,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let begin = Position::new(call, 0);
        let n_bytes = buffers.given().len();
        let is_lent = self.has_few() && n_bytes >= worker.divide_to_root_from;
        if worker.me != root {
            let given = buffers.given();
            let mut begin = Some(begin);
            if is_lent {
                begin = self.lend_to_root(worker, Position::new(call, 0), given)?;
            }
            if let Some(begin) = begin {
                let to = std::iter::once((self.values[worker.me as usize], given));
                give(worker, to, begin, (n_bytes, segment_bytes))?;
            }
            worker.finish(Position::end(call));
            return Ok(true);
        }
        if n_bytes <= INLINE_BYTES {
            let (mut so_far, mut next) = ([0; INLINE_BYTES], [0; INLINE_BYTES]);
            let part = Operands {
                given: buffers.given(),
                so_far: &mut so_far[..n_bytes],
                next: &mut next,
            };
            let is_alike = self.combine_segment(worker, begin, n_bytes, part, combine)?;
            if !is_alike {
                return self.leave_off(worker, begin).map(|()| false);
            }
            combine.store(&so_far[..n_bytes], buffers.result());
            worker.finish(Position::end(call));
            return Ok(true);
        }
        let mut memory = std::mem::take(&mut self.memory);
        let half_bytes = if is_lent { LENT_BYTES } else { 0 };
        let half_bytes = half_bytes.max(worker.segment_bytes);
        if memory.len() < 2 * half_bytes {
            memory.resize(2 * half_bytes, 0);
        }
        let how = (is_lent, segment_bytes);
        let outcome = self.reduce_long(worker, call, buffers, how, &mut memory, combine);
        self.memory = memory;
        outcome
    }

    /// What the root does if values do not lie in their heads.
    fn reduce_long<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        call: u64,
        buffers: &mut Buffers<'_>,
        (is_lent, segment_bytes): (bool, usize),
        memory: &mut [u8],
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let n_bytes = buffers.given().len();
        let mut at = Position::new(call, 0);
        let mut done = 0;
        if is_lent {
            let Some(is_copied) = self.are_lent(worker, at, n_bytes)? else {
                return self.leave_off(worker, at).map(|()| false);
            };
            let mut is_copied = is_copied;
            if is_copied
                && let (&[first, other], Buffers::Two(given, result)) =
                    (&self.order[..], &mut *buffers)
                && first == worker.me as usize
                && combine.stores_all_bytes()
            {
                let result = &mut result[..n_bytes];
                is_copied = worker.transport.copy_from(&self.references[other], result);
                if is_copied {
                    // The other one of two need not wait until all is combined.
                    self.answer_lenders(worker, at, true);
                    combine.combine(given, result);
                    worker.finish(Position::end(call));
                    return Ok(true);
                }
            }
            while is_copied && done < n_bytes {
                // Whole segments, in which the rest may have to follow.
                let end = n_bytes.min(done + memory.len() / 2 / segment_bytes * segment_bytes);
                let references = &self.references;
                let copy = |rank: usize, into: &mut [u8]| {
                    let reference = references[rank].at(done);
                    Ok(worker.transport.copy_from(&reference, into))
                };
                let combine_part = |part: Operands<'_>, combine: &mut dyn Combine| {
                    part.combine(&self.order, worker.me, combine, copy)
                };
                is_copied = in_part(buffers, done..end, memory, combine, combine_part)?;
                if is_copied {
                    done = end;
                }
            }
            self.answer_lenders(worker, at, is_copied);
            if is_copied {
                worker.finish(Position::end(call));
                return Ok(true);
            }
            worker.is_copying_granted = false;
            worker.finish(at);
            at = at.next_segment().next_segment();
        }
        let mut begin = 0;
        loop {
            let end = n_bytes.min(begin + segment_bytes);
            let mut combine_segment = |part: Operands<'_>, combine: &mut dyn Combine| {
                self.combine_segment(worker, at, n_bytes, part, combine)
            };
            let is_alike = if end <= done {
                // What comes once more is combined for nothing: in place it must not be stored again.
                let (so_far, next) = memory.split_at_mut(memory.len() / 2);
                let given = &buffers.given()[begin..end];
                let so_far = &mut so_far[..end - begin];
                combine_segment(
                    Operands {
                        given,
                        so_far,
                        next,
                    },
                    combine,
                )?
            } else {
                in_part(buffers, begin..end, memory, combine, combine_segment)?
            };
            if !is_alike {
                return self.leave_off(worker, at).map(|()| false);
            }
            if end == n_bytes {
                worker.finish(Position::end(call));
                return Ok(true);
            }
            worker.finish(at);
            at = at.next_segment();
            begin = end;
        }
    }

    /// Combines what all have in this segment. Returns whether all have equally many bytes.
    #[inline]
    fn combine_segment<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        at: Position,
        total: usize,
        part: Operands<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        worker.begin(at);
        let me = worker.me;
        let n_bytes = part.given.len();
        part.combine(&self.order, me, combine, |rank, into| {
            let value = self.values[rank];
            let heads = worker.heads(value);
            let header = Header::from_words(worker.await_header(heads, at)?);
            worker.read_into(value, at, &header, into);
            worker.fetch_ahead(heads, at);
            Ok(!header.is_reference && (header.total, header.n_bytes) == (total as u64, n_bytes))
        })
    }

    /// Waits for what all others have lent the root of a reduction. Returns whether all have; nothing
    /// if somebody has another length.
    fn are_lent<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        at: Position,
        total: usize,
    ) -> Result<Option<bool>, Error> {
        worker.begin(at);
        self.references
            .resize(self.values.len(), Reference::default());
        let mut are_lent = true;
        for (rank, &value) in self.values.iter().enumerate() {
            if rank == worker.me as usize {
                continue;
            }
            let header = worker.await_header(worker.heads(value), at)?;
            let header = Header::from_words(header);
            if !header.is_reference || header.total != total as u64 {
                return Ok(None);
            }
            let mut reference = [0; REFERENCE_BYTES];
            are_lent &= worker.read_into(value, at, &header, &mut reference) == REFERENCE_BYTES;
            self.references[rank] = Reference::from_bytes(&reference);
        }
        Ok(Some(are_lent))
    }

    /// Tells those who have lent something in this segment whether it was copied.
    fn answer_lenders<T: Transport>(&self, worker: &Worker<T>, at: Position, is_copied: bool) {
        for (rank, &value) in self.values.iter().enumerate() {
            if rank != worker.me as usize {
                let answer = answer(worker.me, is_copied);
                worker.publish_given(value, at.next_segment(), &answer, &[]);
            }
        }
    }

    /// Ends a reduction whose lengths differ at its root: nobody waits for it any more.
    #[cold]
    pub(crate) fn leave_off<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        mut at: Position,
    ) -> Result<(), Error> {
        let me = worker.me as usize;
        let is_lent = self.has_few();
        self.progress.fill(Progress::Taken(0));
        self.progress[me] = Progress::Whole;
        if !is_lent && at.segment() == 0 {
            // Those who would divide their values wait until this process says what it has.
            worker.publish_given(self.values[me], at, &answer(worker.me, false), &[]);
        }
        loop {
            worker.begin(at);
            for (&value, progress) in self.values.iter().zip(&mut self.progress) {
                if *progress == Progress::Whole {
                    continue;
                }
                let header = worker.await_header(worker.heads(value), at)?;
                let header = Header::from_words(header);
                if header.is_reference && is_lent {
                    let answer = answer(worker.me, true);
                    worker.publish_given(value, at.next_segment(), &answer, &[]);
                }
                if header.is_reference || header.is_last {
                    *progress = Progress::Whole;
                }
            }
            if self.have_all_come() {
                worker.finish(Position::end(at.call()));
                return Ok(());
            }
            worker.finish(at);
            at = at.next_segment();
        }
    }
}
