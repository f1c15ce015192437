//! Broadcasts of which a process only gives or only takes the value, in the memory of its host, with
//! nothing between the buffer of the program and shared memory.
//!
//! Where all others take a long value from the root alone, it gives them only the place where it has
//! it, and waits until each of them has copied it from there. If the kernel does not grant that to
//! somebody, the value follows in segments, and so does any later one: the first segment is then the
//! one after the reference.

use super::worker::Worker;
use crate::error::Error;
use crate::transport::{REFERENCE_BYTES, Reference, Transport};
use crate::tree::{Input, Output, Paths, Place, Plan, Step, Value};
use crate::values::{Header, MAX_SEGMENTS, Position};

/// What a process does in a broadcast in which it only gives or only takes, in the memory of its host
/// and without event collectors.
#[derive(Debug)]
pub(crate) enum DirectBroadcast {
    /// It publishes what the program has as each of `values`.
    Give {
        values: Vec<Value>,
        /// Whether all others only take it.
        is_to_all: bool,
    },
    /// It takes this.
    Take(Value),
}

impl DirectBroadcast {
    /// `None` if it does something else.
    pub(crate) fn of<T: Transport>(plan: &Plan, paths: &Paths, worker: &Worker<T>) -> Option<Self> {
        let [step] = &plan.steps[..] else {
            return None;
        };
        let Step {
            inputs,
            passings,
            outputs,
            ..
        } = step;
        let [
            Input {
                from,
                passing: None,
            },
        ] = inputs[..]
        else {
            return None;
        };
        let is_whole = |output: &Output| output.blocks.is_none() && output.passing.is_none();
        if !passings.is_empty() || !outputs.iter().all(is_whole) {
            return None;
        }
        if from == Place::Program {
            let others = outputs.iter().filter(|output| output.to != Place::Program);
            let values = others.map(|output| worker.shared_value(output.to));
            return Some(Self::Give {
                values: values.collect::<Option<_>>()?,
                is_to_all: is_flat(paths),
            });
        }
        let is_for_program = matches!(
            outputs[..],
            [Output {
                to: Place::Program,
                ..
            }]
        );
        let value = worker.shared_value(from).filter(|_| is_for_program);
        value.map(Self::Take)
    }

    /// Gives all others what the root has, in the operation with this number.
    ///
    /// # Errors
    /// [`Error::Truncated`] if that is longer than the buffer.
    #[inline]
    pub(crate) fn execute<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        segment_bytes: usize,
        buffer: &mut [u8],
    ) -> Result<(), Error> {
        let begin = Position::new(call, 0);
        let is_truncated = match self {
            Self::Give { values, is_to_all } => {
                let begin = if *is_to_all && worker.copies_once(buffer.len(), segment_bytes) {
                    give_reference(worker, values, begin, buffer)?
                } else {
                    Some(begin)
                };
                if let Some(begin) = begin {
                    give(worker, values, begin, segment_bytes, buffer)?;
                }
                false
            }
            Self::Take(value) => take_all(worker, *value, begin, buffer)?,
        };
        worker.finish(Position::end(call));
        if is_truncated {
            return Err(Error::Truncated);
        }
        Ok(())
    }
}

/// Whether all ranks meet in one place on one host, without event collectors on their way there:
/// whichever is the root, all others take what it publishes, and do nothing else.
fn is_flat(paths: &Paths) -> bool {
    let is_plain = |&edge: &usize| {
        let edge = &paths.edges[edge];
        edge.collectors == [None; 2] && !edge.is_proxy
    };
    paths.meeting_place().is_some() && paths.first_edges.iter().all(is_plain)
}

impl<T: Transport> Worker<T> {
    /// Whether a value is to be copied once, from where the root has it.
    #[inline]
    fn copies_once(&self, n_bytes: usize, segment_bytes: usize) -> bool {
        n_bytes >= self.copy_once_from
            && self.is_copying_granted
            // There may be a segment more.
            && n_bytes.div_ceil(segment_bytes) < MAX_SEGMENTS
    }
}

/// Publishes where the root has the value, and waits until all have copied it. Returns the segment
/// that it is to be given in from, if not all could.
#[cold]
fn give_reference<T: Transport>(
    worker: &mut Worker<T>,
    values: &[Value],
    at: Position,
    given: &[u8],
) -> Result<Option<Position>, Error> {
    let reference = worker.mark.reference_to(given).bytes();
    let header = Header::of_reference(worker.me, given.len(), reference.len());
    worker.begin(at);
    worker.make_room(at, &header)?;
    for &value in values {
        worker.publish_given(value, at, &header, &reference);
    }
    worker.finish(at);
    worker.is_copying_granted = worker.await_copies(at)?;
    Ok((!worker.is_copying_granted).then(|| at.next_segment()))
}

/// Publishes all segments of what the program has, from this one on.
fn give<T: Transport>(
    worker: &mut Worker<T>,
    values: &[Value],
    begin: Position,
    segment_bytes: usize,
    given: &[u8],
) -> Result<(), Error> {
    let mut rest = given;
    let mut at = begin;
    loop {
        let (part, later) = rest.split_at(rest.len().min(segment_bytes));
        let header = Header {
            total: given.len() as u64,
            n_bytes: part.len(),
            writer: worker.me,
            is_last: later.is_empty(),
            is_truncated: false,
            is_reference: false,
        };
        worker.begin(at);
        worker.make_room(at, &header)?;
        for &value in values {
            worker.publish_given(value, at, &header, part);
        }
        if header.is_last {
            return Ok(());
        }
        worker.finish(at);
        rest = later;
        at = at.next_segment();
    }
}

/// Takes all segments, or the value from where the root has it, as much as there is room for. Returns
/// whether there was more.
fn take_all<T: Transport>(
    worker: &mut Worker<T>,
    value: Value,
    begin: Position,
    buffer: &mut [u8],
) -> Result<bool, Error> {
    let mut taken = 0;
    let mut at = begin;
    loop {
        worker.begin(at);
        let header = worker.await_header(worker.heads(value), at)?;
        let header = Header::from_words(header);
        let is_too_long = header.total > buffer.len() as u64;
        if is_too_long {
            worker.expect_bytes(usize::try_from(header.total).unwrap_or(usize::MAX));
        }
        if header.is_reference {
            if take_reference(worker, value, at, (&header, buffer)) {
                return Ok(is_too_long);
            }
        } else {
            let part = &mut buffer[taken..];
            taken += worker.read_into(value, at, &header, part);
        }
        if header.is_last {
            return Ok(is_too_long);
        }
        worker.finish(at);
        at = at.next_segment();
    }
}

/// Copies the value from where the root has it, as much as there is room for. Returns whether the
/// kernel has granted that; otherwise the root is told.
#[cold]
fn take_reference<T: Transport>(
    worker: &Worker<T>,
    value: Value,
    at: Position,
    (header, buffer): (&Header, &mut [u8]),
) -> bool {
    let mut reference = [0; REFERENCE_BYTES];
    worker.read_into(value, at, header, &mut reference);
    let reference = Reference::from_bytes(&reference);
    let total = usize::try_from(header.total).unwrap_or(usize::MAX);
    let n_bytes = total.min(buffer.len());
    let is_granted = worker
        .transport
        .copy_from(&reference, &mut buffer[..n_bytes]);
    if !is_granted {
        worker.refuse_copy(at);
    }
    is_granted
}
