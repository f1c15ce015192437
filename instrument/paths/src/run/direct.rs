//! Operations among processes of one host that need nothing between the buffers of the program and
//! shared memory: the most frequent ones, in a fraction of the instructions.
//!
//! Each process decides by itself: in shared memory there is the same as if it executed the operation
//! in the general way. Where others have given another length, it goes on in that way, which begins
//! with what was done here already.

use super::buffers::Buffers;
use super::worker::Worker;
use crate::error::Error;
use crate::transport::{
    INLINE_WORDS, Transport, WORD_BYTES, is_inline, publish_small, read_small, small,
};
use crate::tree::{Heads, Input, Output, Paths, Place, Plan, Step, Value, head_of};
use crate::values::{Combine, Header, Position};

/// An exchange of processes of one host, without event collectors.
#[derive(Debug)]
pub(crate) struct DirectExchange {
    /// What all contribute, in the order in which values are combined.
    values: Vec<Heads>,
    /// What this process contributes.
    own: Heads,
}

impl DirectExchange {
    /// `None` if the tree is something else.
    pub(crate) fn of<T: Transport>(paths: &Paths, worker: &Worker<T>) -> Option<Self> {
        let [exchange] = &paths.joins[..] else {
            return None;
        };
        let own = paths.first_edges[worker.me as usize];
        let is_one_host = paths.hosts.iter().all(|host| *host == paths.hosts[0]);
        let is_direct = exchange.is_exchange
            && is_one_host
            && paths.edges[own].collectors == [None; 2]
            && exchange.contributors.len() == paths.n_ranks();
        if !is_direct {
            return None;
        }
        let value = |edge: &usize| {
            let shared = worker.shared_value(Place::Contribution(*edge));
            shared.map(|shared| worker.heads(shared))
        };
        Some(Self {
            values: exchange
                .contributors
                .iter()
                .map(value)
                .collect::<Option<_>>()?,
            own: value(&own)?,
        })
    }
}

/// What a process does in a broadcast in which it only gives or only takes, in the memory of its host
/// and without event collectors.
#[derive(Debug)]
pub(crate) enum DirectBroadcast {
    /// It publishes what the program has as each of these.
    Give(Vec<Value>),
    /// It takes this.
    Take(Value),
}

impl DirectBroadcast {
    /// `None` if it does something else.
    pub(crate) fn of<T: Transport>(plan: &Plan, worker: &Worker<T>) -> Option<Self> {
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
            return values.collect::<Option<_>>().map(Self::Give);
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
}

impl DirectExchange {
    /// Exchanges small values with all others in the operation with this number, and combines them.
    /// Returns whether that was done.
    #[inline]
    pub(crate) fn execute<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let n_bytes = buffers.given().len();
        if !is_inline(n_bytes) || buffers.result().len() != n_bytes {
            return Ok(false);
        }
        if n_bytes <= WORD_BYTES {
            self.exchange::<1, T>(worker, call, buffers, combine)
        } else {
            self.exchange::<INLINE_WORDS, T>(worker, call, buffers, combine)
        }
    }

    /// Exchanges values of up to `N` words. Returns whether all are equally long.
    #[inline]
    fn exchange<const N: usize, T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        buffers: &mut Buffers<'_>,
        combine: &mut dyn Combine,
    ) -> Result<bool, Error> {
        let n_bytes = buffers.given().len();
        let at = Position::new(call, 0);
        let nth = head_of(at);
        let header = Header {
            total: n_bytes as u64,
            n_bytes,
            writer: worker.me,
            is_last: true,
            is_truncated: false,
        };
        let header = header.words();
        worker.begin(at);
        worker.make_room(at, n_bytes)?;
        let own = small::<N>(buffers.given());
        publish_small(self.own.of(worker.memory(), nth), at, header, &own);
        for &value in &self.values {
            if value != self.own && !Header::are_alike(worker.await_header(value, at)?, header) {
                return Ok(false);
            }
        }
        if n_bytes > 0 {
            let mut values = self.values.iter().rev();
            let mut value = || Some(read_small::<N>(values.next()?.of(worker.memory(), nth)));
            let mut right = value().unwrap_or(own);
            while let Some(left) = value() {
                let right = &mut right.as_flattened_mut()[..n_bytes];
                combine.combine(&left.as_flattened()[..n_bytes], right);
            }
            combine.store(&right.as_flattened()[..n_bytes], buffers.result());
        }
        worker.finish(Position::end(call));
        worker.all_have_finished(Position::end(call - 1));
        Ok(true)
    }
}

impl DirectBroadcast {
    /// Gives all others what the root has, in the operation with this number. Returns whether that
    /// was done.
    #[inline]
    pub(crate) fn execute<T: Transport>(
        &self,
        worker: &mut Worker<T>,
        call: u64,
        segment_bytes: usize,
        buffer: &mut [u8],
    ) -> Result<bool, Error> {
        let is_done = match self {
            Self::Give(values) => {
                give(worker, values, call, segment_bytes, buffer)?;
                true
            }
            Self::Take(value) => take_all(worker, *value, call, segment_bytes, buffer)?,
        };
        if is_done {
            worker.finish(Position::end(call));
        }
        Ok(is_done)
    }
}

/// Publishes all segments of what the program has.
fn give<T: Transport>(
    worker: &mut Worker<T>,
    values: &[Value],
    call: u64,
    segment_bytes: usize,
    given: &[u8],
) -> Result<(), Error> {
    let mut rest = given;
    let mut at = Position::new(call, 0);
    loop {
        let (part, later) = rest.split_at(rest.len().min(segment_bytes));
        let header = Header {
            total: given.len() as u64,
            n_bytes: part.len(),
            writer: worker.me,
            is_last: later.is_empty(),
            is_truncated: false,
        };
        worker.begin(at);
        worker.make_room(at, part.len())?;
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

/// Takes all segments, where there are as many bytes of them as there is room for. Returns whether
/// there are.
fn take_all<T: Transport>(
    worker: &mut Worker<T>,
    value: Value,
    call: u64,
    segment_bytes: usize,
    buffer: &mut [u8],
) -> Result<bool, Error> {
    let total = buffer.len() as u64;
    let mut rest = buffer;
    let mut at = Position::new(call, 0);
    loop {
        worker.begin(at);
        let header = worker.await_header(worker.heads(value), at)?;
        let header = Header::from_words(header);
        // That is the same in all segments.
        if header.total != total || header.is_truncated {
            return Ok(false);
        }
        let (part, later) = rest.split_at_mut(rest.len().min(segment_bytes));
        worker.read_into(value, at, &header, part);
        if header.is_last {
            return Ok(true);
        }
        worker.finish(at);
        rest = later;
        at = at.next_segment();
    }
}
