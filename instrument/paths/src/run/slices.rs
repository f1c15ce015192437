//! Reductions of long values among the processes of one host that meet in one place: the work is
//! divided among them.
//!
//! Each process combines a slice of the value for all of them, and all copy the result from one
//! another. Values are combined in the order of the tree, as they are in the general way.
//!
//! At first all say how many bytes they have, where, and where their results go. If all say where, each
//! copies the slice that it combines from where the programs of the others have it, as long as the
//! kernel grants that, and if all say where results go, the others copy it from there. Otherwise all
//! copy their values, or what they have combined, into the memory of the host before. Which way to go
//! is always decided by what all have said, so that all go the same. The bodies of the contributions
//! are used, half of them in turns: whoever knows that all are in a round knows that they have finished
//! the one before.

use super::buffers::Buffers;
use super::operands::Operands;
use super::worker::Worker;
use crate::error::Error;
use crate::transport::{
    INLINE_BYTES, Line, REFERENCE_BYTES, Reference, Transport, WORD_BYTES, copy_in_at, copy_out_at,
};
use crate::tree::{Paths, Value};
use crate::values::{Combine, Header, MAX_SEGMENTS, Position};

/// Bytes that are copied from another process, and combined, at a time: they stay in a cache.
const COPIED_BYTES: usize = 64 << 10;
/// The longest elements that are combined in the buffer of the result.
const SHORT_ELEMENT: usize = 64;

/// What the processes of one host contribute to the place where all of them meet.
#[derive(Debug)]
pub(crate) struct Slices {
    /// What each rank contributes.
    values: Vec<Value>,
    /// The ranks, in the order in which values are combined.
    order: Vec<usize>,
    /// The event collector that this process passes.
    collector: Option<u32>,
    /// Where each rank has its value.
    references: Vec<Reference>,
    /// Where the result of each rank goes.
    results: Vec<Reference>,
    /// Memory of the worker while this works: what is combined so far of a slice, and what is
    /// combined with it next.
    scratch: Vec<u8>,
    /// Bytes of a slice, at most, and of what a process copies into the memory of the host.
    room: usize,
    half_bytes: usize,
}

/// Some bytes of the value.
#[derive(Debug, Clone, Copy)]
struct Part {
    begin: usize,
    end: usize,
}

/// A value, by its length.
#[derive(Debug, Clone, Copy)]
struct Extent {
    total: usize,
    /// Bytes of an element.
    element: usize,
}

impl Extent {
    /// The elements that fit into so many bytes.
    fn elements(self, n_bytes: usize) -> usize {
        n_bytes / self.element
    }

    /// What is combined in the round that begins here, if it is of so many elements at most.
    fn round(self, begin: usize, n_elements: usize) -> Part {
        let end = self.total.min(begin + n_elements * self.element);
        Part { begin, end }
    }

    /// The slice of a rank.
    fn slice(self, Part { begin, end }: Part, rank: usize, n_ranks: usize) -> Part {
        let n = (end - begin).div_ceil(self.element);
        let bound = |nth: usize| end.min(begin + n * nth / n_ranks * self.element);
        Part {
            begin: bound(rank),
            end: bound(rank + 1),
        }
    }
}

impl Slices {
    /// `None` if there is one process, or they meet in several places or on several hosts, or if event
    /// collectors ask who of them goes on from there.
    pub(crate) fn of<T: Transport>(paths: &Paths, worker: &Worker<T>) -> Option<Self> {
        let join = paths.meeting_place().filter(|_| paths.n_ranks() >= 2)?;
        let collects = |edge: &crate::tree::Edge| edge.collectors != [None; 2];
        if !paths.joins[join].is_exchange && paths.edges.iter().any(collects) {
            return None;
        }
        let own = &paths.edges[paths.first_edges[worker.me as usize]];
        let value = |&edge: &usize| worker.contribution(edge);
        let rank_of = |edge: &usize| paths.first_edges.iter().position(|first| first == edge);
        let contributors = paths.joins[join].contributors.iter();
        let half_bytes = worker.half_bytes();
        Some(Self {
            values: paths.first_edges.iter().map(value).collect(),
            order: contributors.map(rank_of).collect::<Option<_>>()?,
            collector: own.collectors[0],
            references: vec![Reference::default(); paths.n_ranks()],
            results: vec![Reference::default(); paths.n_ranks()],
            scratch: Vec::new(),
            // There is room for a segment of each contributor.
            room: half_bytes.min(paths.n_ranks() * worker.segment_bytes / 2),
            half_bytes,
        })
    }

    /// Whether values of so many bytes are divided, if those from `least` on are. That is the same in
    /// all processes, if these have equally many bytes.
    #[inline]
    pub(crate) fn divide(&self, n_bytes: usize, element: usize, least: usize) -> bool {
        n_bytes >= least
            && element <= self.room
            // There are at most two segments for as many bytes as there is room for.
            && n_bytes / (self.room / element * element) < MAX_SEGMENTS / 4
    }

    /// Combines what all processes have in the operation with this number; those get the result that are
    /// to get it. Returns whether that was done: it is not if they have different lengths, which all find.
    pub(crate) fn execute<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        (call, gets_result): (u64, bool),
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        std::mem::swap(&mut self.scratch, &mut worker.inputs);
        let outcome = self.all_rounds(worker, (call, gets_result), buffers, combine);
        std::mem::swap(&mut self.scratch, &mut worker.inputs);
        outcome
    }

    fn all_rounds<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        (call, gets_result): (u64, bool),
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let begin = Position::new(call, 0);
        let down = worker.stamp(self.collector);
        let in_result = match buffers {
            Buffers::Two(_, result)
                if gets_result
                    && self.exchanges_results(worker)
                    && combine.stores_all_bytes()
                    && combine.element_bytes() <= SHORT_ELEMENT
                    // Some slice of another process is not empty.
                    && result.len() >= 2 * combine.element_bytes() =>
            {
                Some(worker.mark.reference_to(result))
            }
            _ => None,
        };
        let Some(lent) = self.agree(worker, begin, buffers.given(), in_result)? else {
            return Ok(false);
        };
        worker.all_have_finished(Position::end(call - 1));
        let end = Position::end(call);
        let mut round = Round {
            extent: Extent {
                total: buffers.given().len(),
                element: combine.element_bytes(),
            },
            part: Part { begin: 0, end: 0 },
            half: 0,
            is_copied_once: lent >= Lent::Values,
            at: begin,
            slices: self,
            worker,
            combine,
        };
        if lent == Lent::ValuesAndResults
            && let Buffers::Two(given, result) = buffers
            && !round.between_buffers(given, result)?
        {
            round.leave_copying();
            round.part.end = 0;
        }
        while round.part.end < round.extent.total {
            round.begin();
            if round.combine(buffers.given())? {
                if gets_result {
                    round.store(buffers.result());
                }
                round.worker.finish(round.at);
            } else {
                // Nothing of this round is stored yet.
                round.leave_copying();
                round.part.end = round.part.begin;
            }
        }
        worker.finish(end);
        worker.have_used_all_bodies(end);
        let up = worker.stamp(self.collector);
        worker.record(self.collector, begin, down, up);
        Ok(true)
    }

    /// Whether results are copied from where programs have them. Many processes that share cores have less
    /// work if what they have combined is in shared memory.
    fn exchanges_results<T: Transport>(&self, worker: &Worker<T>) -> bool {
        self.values.len() == 2 || !worker.shares_cores()
    }

    /// Says how many bytes this process has, and where if it may be copied from there, and so for the
    /// result. Returns what all have said; nothing if they have different lengths.
    fn agree<T: Transport>(
        &mut self,
        worker: &mut Worker<T>,
        at: Position,
        given: &[u8],
        result: Option<Reference>,
    ) -> Result<Option<Lent>, Error> {
        let copied_from = if worker.shares_cores() {
            worker.copy_once_from
        } else {
            worker.copy_slices_from
        };
        let may_copy = worker.is_copying_granted && given.len() >= copied_from;
        let mut references = [0; LENT_BYTES];
        let (of_value, of_result) = references.split_at_mut(REFERENCE_BYTES);
        of_value.copy_from_slice(&worker.mark.reference_to(given).bytes());
        let own = match result {
            _ if !may_copy => Lent::Nothing,
            None => Lent::Values,
            Some(result) => {
                of_result.copy_from_slice(&result.address.to_le_bytes());
                Lent::ValuesAndResults
            }
        };
        let reference = &references[..own.bytes()];
        let header = Header::of_reference(worker.me, given.len(), reference.len());
        worker.begin(at);
        worker.make_room(at, &header)?;
        worker.publish_given(self.values[worker.me as usize], at, &header, reference);
        let mut lent = own;
        let mut is_alike = true;
        let to = self.references.iter_mut().zip(&mut self.results);
        for (&value, (to, result)) in self.values.iter().zip(to) {
            let other = Header::from_words(worker.await_header(worker.heads(value), at)?);
            is_alike &= other.is_reference && other.total == header.total;
            lent = lent.min(Lent::of(other.n_bytes));
            let mut references = [0; LENT_BYTES];
            worker.read_into(value, at, &other, &mut references);
            let (of_value, of_result) = references.split_at(REFERENCE_BYTES);
            *to = of_value.try_into().map_or(*to, Reference::from_bytes);
            let address = of_result.try_into().map_or(0, u64::from_le_bytes);
            *result = Reference { address, ..*to };
        }
        Ok(is_alike.then_some(lent))
    }
}

/// What may be copied from where programs have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lent {
    Nothing,
    Values,
    ValuesAndResults,
}

/// Bytes of a reference to a value, with the address of the result.
const LENT_BYTES: usize = REFERENCE_BYTES + WORD_BYTES;

// Bodies may be in use.
const _: () = assert!(LENT_BYTES <= INLINE_BYTES);

impl Lent {
    /// Bytes of what is published about it.
    fn bytes(self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Values => REFERENCE_BYTES,
            Self::ValuesAndResults => LENT_BYTES,
        }
    }

    /// What a process lends that has published so many bytes.
    fn of(n_bytes: usize) -> Self {
        match n_bytes {
            REFERENCE_BYTES => Self::Values,
            LENT_BYTES => Self::ValuesAndResults,
            _ => Self::Nothing,
        }
    }
}

/// A part of an operation, in which each process combines a slice.
struct Round<'a, T: Transport> {
    extent: Extent,
    part: Part,
    /// Which half of the bodies is used.
    half: usize,
    is_copied_once: bool,
    at: Position,
    slices: &'a mut Slices,
    worker: &'a mut Worker<T>,
    combine: &'a mut dyn Combine,
}

impl<T: Transport> Round<'_, T> {
    /// Begins the next one.
    fn begin(&mut self) {
        let Slices {
            values,
            room,
            half_bytes,
            ..
        } = &*self.slices;
        let of_slices = values.len() * self.extent.elements(*room);
        let n_elements = if self.is_copied_once {
            of_slices
        } else {
            of_slices.min(self.extent.elements(*half_bytes))
        };
        self.part = self.extent.round(self.part.end, n_elements);
        self.half ^= 1;
        self.next_segment();
    }

    fn next_segment(&mut self) {
        self.at = self.at.next_segment();
        self.worker.begin(self.at);
    }

    fn slice(&self, rank: usize) -> Part {
        self.extent.slice(self.part, rank, self.slices.values.len())
    }

    /// Half of the bodies of a rank.
    fn bodies(&self, rank: usize) -> &[Line] {
        self.worker.half(self.slices.values[rank], self.half)
    }

    /// Where in the bodies of a rank a slice is.
    fn place(&self, slice: Part) -> usize {
        if self.is_copied_once {
            0
        } else {
            slice.begin - self.part.begin
        }
    }

    /// Combines the slice of this process, and waits for all others. Returns whether all have
    /// combined theirs.
    fn combine(&mut self, given: &[u8]) -> Result<bool, Error> {
        let me = self.worker.me as usize;
        let own = self.slice(me);
        if !self.is_copied_once {
            let bodies = self.bodies(me);
            let (before, after) = (&given[self.part.begin..own.begin], own.end..self.part.end);
            copy_in_at(before, bodies, 0);
            copy_in_at(&given[after], bodies, own.end - self.part.begin);
            self.meet(true)?;
            self.next_segment();
        }
        let is_combined = self.combine_own(&given[own.begin..own.end], own);
        if is_combined {
            let combined = &self.slices.scratch[..own.end - own.begin];
            copy_in_at(combined, self.bodies(me), self.place(own));
        }
        self.meet(is_combined)
    }

    /// Combines the slice of this process. Returns whether all of it could be copied.
    fn combine_own(&mut self, given: &[u8], slice: Part) -> bool {
        let place = self.place(slice);
        let (half, is_copied_once) = (self.half, self.is_copied_once);
        let Slices {
            references,
            scratch,
            room,
            values,
            order,
            ..
        } = &mut *self.slices;
        let worker = &*self.worker;
        let fetch = |rank: usize, into: &mut [u8]| {
            if is_copied_once {
                let reference = references[rank].at(slice.begin);
                return Ok(into.is_empty() || worker.transport.copy_from(&reference, into));
            }
            copy_out_at(worker.half(values[rank], half), place, into);
            Ok(true)
        };
        let (so_far, next) = scratch.split_at_mut(*room);
        let operands = Operands {
            given,
            so_far: &mut so_far[..given.len()],
            next,
        };
        let is_combined = operands.combine(order, worker.me, self.combine, fetch);
        is_combined.unwrap_or(false)
    }

    /// Combines all of the slice of this process in its result, and copies the slices of the others from
    /// theirs. Returns whether all could do so.
    fn between_buffers(&mut self, given: &[u8], result: &mut [u8]) -> Result<bool, Error> {
        let result = &mut result[..self.extent.total];
        self.part = Part {
            begin: 0,
            end: self.extent.total,
        };
        self.next_segment();
        let is_combined = self.combine_in_result(given, result)?;
        if !self.meet(is_combined)? {
            return Ok(false);
        }
        self.next_segment();
        let mut are_copied = true;
        for rank in (0..self.slices.values.len()).filter(|&rank| rank != self.worker.me as usize) {
            let Part { begin, end } = self.slice(rank);
            let reference = self.slices.results[rank].at(begin);
            let to = &mut result[begin..end];
            are_copied &= to.is_empty() || self.worker.transport.copy_from(&reference, to);
        }
        // Nobody goes on, and changes its result, before all have it.
        self.meet(are_copied)
    }

    /// Combines the slice of this process where its result goes. Returns whether all of it could be copied.
    fn combine_in_result(&mut self, given: &[u8], result: &mut [u8]) -> Result<bool, Error> {
        let own = self.slice(self.worker.me as usize);
        let (before, rest) = result.split_at_mut(own.begin);
        let (own_result, after) = rest.split_at_mut(own.end - own.begin);
        // The slices of others come there later.
        let next = if before.len() > after.len() {
            before
        } else {
            after
        };
        let n_elements = self.extent.elements(next.len().min(COPIED_BYTES));
        let at_a_time = n_elements * self.extent.element;
        let (references, order) = (&self.slices.references, &self.slices.order);
        let worker = &*self.worker;
        let given = given[own.begin..own.end].chunks(at_a_time);
        for (nth, (so_far, given)) in own_result.chunks_mut(at_a_time).zip(given).enumerate() {
            let begin = own.begin + nth * at_a_time;
            let fetch = |rank: usize, into: &mut [u8]| {
                let reference = references[rank].at(begin);
                Ok(worker.transport.copy_from(&reference, into))
            };
            let operands = Operands {
                given,
                so_far,
                next,
            };
            if !operands.combine(order, worker.me, self.combine, fetch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The kernel does not grant copies from the programs.
    fn leave_copying(&mut self) {
        self.is_copied_once = false;
        self.worker.is_copying_granted = false;
    }

    /// Says that this process has done its part, and waits until all have said so, or that they
    /// could not. Returns whether all have done it.
    fn meet(&mut self, is_done: bool) -> Result<bool, Error> {
        let header = Header {
            total: self.extent.total as u64,
            n_bytes: 0,
            writer: self.worker.me,
            is_last: false,
            is_truncated: !is_done,
            is_reference: true,
        };
        let values = &self.slices.values;
        let own = values[self.worker.me as usize];
        self.worker.publish_given(own, self.at, &header, &[]);
        let mut are_done = true;
        for &value in values {
            let heads = self.worker.heads(value);
            let other = self.worker.await_header(heads, self.at)?;
            are_done &= !Header::from_words(other).is_truncated;
        }
        Ok(are_done)
    }

    /// Takes all slices to where the program wants the result.
    fn store(&mut self, result: &mut [u8]) {
        for rank in 0..self.slices.values.len() {
            let slice = self.slice(rank);
            let (place, n_bytes) = (self.place(slice), slice.end - slice.begin);
            let to = &mut result[slice.begin..slice.end];
            if self.combine.stores_all_bytes() {
                copy_out_at(self.bodies(rank), place, to);
                continue;
            }
            let bodies = self.worker.half(self.slices.values[rank], self.half);
            let combined = &mut self.slices.scratch[..n_bytes];
            copy_out_at(bodies, place, combined);
            self.combine.store(combined, to);
        }
    }
}
