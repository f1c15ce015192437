//! Values in the memory of one host that go straight between the buffers of the program and shared
//! memory: in segments, or copied once from where the process that gives them has them.
//!
//! A process may give different parts of what it has to different others. Where the kernel does not
//! grant a copy to somebody, the value follows in segments, and so does any later one.

use super::worker::Worker;
use crate::error::Error;
use crate::transport::{REFERENCE_BYTES, Reference, Transport, is_inline};
use crate::tree::Value;
use crate::values::{Header, MAX_SEGMENTS, Position};

impl<T: Transport> Worker<T> {
    /// Whether a value is to be copied once, from where this process has it.
    #[inline]
    pub(crate) fn copies_once(&self, n_bytes: usize) -> bool {
        n_bytes >= self.copy_once_from
            && self.is_copying_granted
            // There may be some segments more.
            && n_bytes.div_ceil(self.segment_bytes) < MAX_SEGMENTS - 2
    }

    /// Publishes where this process has the bytes that are given to a value.
    fn publish_reference(&self, to: Value, at: Position, given: &[u8]) {
        let reference = self.mark.reference_to(given).bytes();
        let reference = if self.is_copying_granted {
            &reference[..]
        } else {
            &[]
        };
        let header = Header::of_reference(self.me, given.len(), reference.len());
        self.publish_given(to, at, &header, reference);
    }

    /// Publishes where this process has the bytes that are given to one value, or that it must not be
    /// copied from there.
    pub(crate) fn lend_to(&mut self, to: Value, at: Position, given: &[u8]) -> Result<(), Error> {
        self.begin(at);
        self.make_room(
            at,
            &Header::of_reference(self.me, given.len(), REFERENCE_BYTES),
        )?;
        self.publish_reference(to, at, given);
        Ok(())
    }

    /// Copies what another process has lent, as much as there is room for. Returns whether the
    /// kernel has granted that.
    pub(crate) fn copy_lent(
        &self,
        from: Value,
        at: Position,
        header: &Header,
        into: &mut [u8],
    ) -> bool {
        let mut reference = [0; REFERENCE_BYTES];
        self.read_into(from, at, header, &mut reference);
        let reference = Reference::from_bytes(&reference);
        let total = usize::try_from(header.total).unwrap_or(usize::MAX);
        let n_bytes = total.min(into.len());
        self.transport.copy_from(&reference, &mut into[..n_bytes])
    }
}

/// Publishes for each value where this process has what is given to it, all equally many bytes, and
/// waits until all have copied it. Returns the segment that it is to be given in from, if not all
/// could.
#[cold]
pub(crate) fn lend<'g, T: Transport>(
    worker: &mut Worker<T>,
    to: impl Iterator<Item = (Value, &'g [u8])>,
    at: Position,
    total: usize,
) -> Result<Option<Position>, Error> {
    worker.begin(at);
    worker.make_room(at, &Header::of_reference(worker.me, total, REFERENCE_BYTES))?;
    for (value, given) in to {
        worker.publish_reference(value, at, given);
    }
    worker.finish(at);
    worker.is_copying_granted = worker.await_copies(at)?;
    Ok((!worker.is_copying_granted).then(|| at.next_segment()))
}

/// Publishes all segments of what is given to each value, all equally many bytes, from segment `begin`
/// on.
///
/// The lengths are those of what is given, and of a segment.
#[inline]
pub(crate) fn give<'g, T: Transport>(
    worker: &mut Worker<T>,
    to: impl Iterator<Item = (Value, &'g [u8])> + Clone,
    begin: Position,
    (total, segment_bytes): (usize, usize),
) -> Result<(), Error> {
    if is_inline(total) {
        return worker.give_small(to, begin, total);
    }
    let mut part = 0..total.min(segment_bytes);
    let mut at = begin;
    loop {
        let header = Header {
            total: total as u64,
            n_bytes: part.len(),
            writer: worker.me,
            is_last: part.end == total,
            is_truncated: false,
            is_reference: false,
        };
        worker.begin(at);
        worker.make_room(at, &header)?;
        for (value, given) in to.clone() {
            worker.publish_given(value, at, &header, &given[part.clone()]);
        }
        if header.is_last {
            return Ok(());
        }
        worker.finish(at);
        part = part.end..total.min(part.end + segment_bytes);
        at = at.next_segment();
    }
}

/// Takes all segments of a value, or copies it from where it was lent, as much as there is room for.
/// Returns whether there was more.
#[inline]
pub(crate) fn take_all<T: Transport>(
    worker: &mut Worker<T>,
    value: Value,
    begin: Position,
    buffer: &mut [u8],
) -> Result<bool, Error> {
    worker.begin(begin);
    if is_inline(buffer.len()) && worker.take_small(value, begin, buffer)? {
        return Ok(false);
    }
    let mut taken = 0;
    let mut at = begin;
    loop {
        let header = worker.await_header(worker.heads(value), at)?;
        let header = Header::from_words(header);
        let is_too_long = header.total > buffer.len() as u64;
        if header.is_reference {
            if worker.copy_lent(value, at, &header, buffer) {
                return Ok(is_too_long);
            }
            worker.refuse_copy(at);
        } else {
            let part = &mut buffer[taken..];
            taken += worker.read_into(value, at, &header, part);
        }
        if header.is_last {
            return Ok(is_too_long);
        }
        worker.finish(at);
        at = at.next_segment();
        worker.begin(at);
    }
}
