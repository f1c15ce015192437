//! Exchanges of small values among processes of one host that need nothing between the buffers of the
//! program and shared memory: the most frequent operations, in a fraction of the instructions.
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
use crate::tree::{Heads, Paths, Place, Room, head_of};
use crate::values::{Combine, Header, Position};

/// An exchange of processes of one host.
#[derive(Debug)]
pub(crate) struct DirectExchange {
    /// What all contribute, in the order in which values are combined.
    values: Vec<Heads>,
    /// What this process contributes.
    own: Heads,
    /// The event collector that it passes.
    collector: Option<u32>,
}

impl DirectExchange {
    /// `None` if the tree is something else.
    pub(crate) fn of<T: Transport>(paths: &Paths, worker: &Worker<T>) -> Option<Self> {
        let [exchange] = &paths.joins[..] else {
            return None;
        };
        let own = paths.first_edges[worker.me as usize];
        let is_direct = exchange.is_exchange
            && paths.is_one_host()
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
            collector: paths.edges[own].collectors[0],
        })
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
        let header = Header::of_all(worker.me, n_bytes).words();
        worker.begin(at);
        let down = worker.stamp(self.collector);
        worker.make_room_in(at, Room::Head)?;
        let own = small::<N>(buffers.given());
        publish_small(self.own.of(worker.memory(), nth), at, header, &own);
        // While the values of the others are on their way.
        worker.own_next(self.own, at);
        let mut right = own;
        for (nth_last, &of) in self.values.iter().rev().enumerate() {
            let mut value = own;
            if of != self.own {
                if !Header::are_alike(worker.await_header(of, at)?, header) {
                    return Ok(false);
                }
                value = read_small::<N>(of.of(worker.memory(), nth));
            }
            if nth_last == 0 {
                right = value;
            } else if n_bytes > 0 {
                let right = &mut right.as_flattened_mut()[..n_bytes];
                combine.combine(&value.as_flattened()[..n_bytes], right);
            }
        }
        if n_bytes > 0 {
            combine.store(&right.as_flattened()[..n_bytes], buffers.result());
        }
        let up = worker.stamp(self.collector);
        worker.finish(Position::end(call));
        worker.all_have_finished(Position::end(call - 1));
        worker.record(self.collector, at, down, up);
        Ok(true)
    }
}
