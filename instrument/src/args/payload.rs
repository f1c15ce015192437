//! The payload of a call, in bytes, from its arguments.
//!
//! It is count x type size; for the v and w forms the sum sent; at the root of a scatter what it
//! sends to all; with `MPI_IN_PLACE` what the process contributes from its receive buffer; 0 where
//! the arguments are not significant at this process. `None`: not known.
//!
//! # Source
//! `docs/metrics.md`, "Who i depends on"; which arguments are significant where: MPI 4.0, chapter
//! 6.

use crate::communicators::CommunicatorEntry;
use crate::mpi::{Handle, MpiLibrary};

/// A call as payload functions need it.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    /// The MPI library.
    pub library: &'a MpiLibrary,
    /// The communicator of the call.
    pub comm: &'a CommunicatorEntry,
    /// The root argument of the call; 0 (which is not a special value of intercommunicators) for
    /// operations without a root.
    pub root: i32,
    /// Whether counts are 64-bit (`_c`).
    pub large: bool,
}

impl CallView<'_> {
    #[inline]
    fn scalar(&self, count: usize) -> u64 {
        // An `int` in a register has an undefined upper half.
        let count = if self.large {
            count as i64
        } else {
            i64::from(count as i32)
        };
        count.max(0) as u64
    }

    /// Entry `i` of an array of counts.
    ///
    /// # Safety
    /// `counts` points to an array with more than `i` counts of this call's width.
    #[inline]
    unsafe fn element(&self, counts: usize, i: usize) -> u64 {
        // SAFETY: the caller promises more than `i` counts.
        let count = unsafe {
            if self.large {
                (counts as *const i64).add(i).read_unaligned()
            } else {
                i64::from((counts as *const i32).add(i).read_unaligned())
            }
        };
        count.max(0) as u64
    }

    /// The number of processes that a v form has one count for.
    #[inline]
    fn n_peers(&self) -> usize {
        match self.comm.remote_size {
            0 => self.comm.size as usize,
            remote => remote as usize,
        }
    }

    #[inline]
    fn sum(&self, counts: usize, n: usize) -> Option<u64> {
        if counts == 0 {
            return (n == 0).then_some(0);
        }
        // SAFETY: MPI requires an array of `n` counts here, and it is not null.
        Some(
            (0..n)
                .map(|i| unsafe { self.element(counts, i) })
                .fold(0, u64::saturating_add),
        )
    }

    #[inline]
    fn bytes(&self, count: u64, datatype: Handle) -> Option<u64> {
        // SAFETY: MPI requires a datatype where this argument is significant; the function checks
        // for 0 and for the null type.
        let size = unsafe { self.library.type_bytes(datatype) };
        match (count, size) {
            (_, Some(size)) => Some(count.saturating_mul(size)),
            (0, None) => Some(0),
            (_, None) => None,
        }
    }

    #[inline]
    fn is_root(&self) -> bool {
        self.root == self.library.root
            || (self.comm.remote_size == 0 && self.root as u32 == self.comm.rank)
    }

    /// On an intercommunicator: whether the process neither is the root nor communicates with it.
    #[inline]
    fn is_bystander(&self) -> bool {
        self.comm.remote_size != 0 && self.root == self.library.proc_null
    }

    /// On an intercommunicator: whether this process is the root, which receives a gather and
    /// contributes nothing.
    #[inline]
    fn is_remote_receiver(&self) -> bool {
        self.comm.remote_size != 0 && self.root == self.library.root
    }
}

/// No data: barrier.
#[inline]
#[must_use]
pub fn nothing(_call: CallView<'_>) -> Option<u64> {
    Some(0)
}

/// A count of elements of one type, the same on all ranks.
#[inline]
#[must_use]
pub fn counted(call: CallView<'_>, count: usize, datatype: usize) -> Option<u64> {
    if call.is_bystander() {
        return Some(0);
    }
    call.bytes(call.scalar(count), datatype)
}

/// A sum of counts of one type.
#[inline]
#[must_use]
pub fn sum_counted(call: CallView<'_>, counts: usize, datatype: usize) -> Option<u64> {
    call.bytes(call.sum(counts, call.comm.size as usize)?, datatype)
}

/// The data sent; in place, the data received from one process.
#[inline]
#[must_use]
pub fn sent_or_received(
    call: CallView<'_>,
    sendbuf: usize,
    sendcount: usize,
    sendtype: usize,
    recvcount: usize,
    recvtype: usize,
) -> Option<u64> {
    if sendbuf == call.library.in_place {
        call.bytes(call.scalar(recvcount), recvtype)
    } else {
        call.bytes(call.scalar(sendcount), sendtype)
    }
}

/// The data sent; in place, the process's own part of the data received.
#[inline]
#[must_use]
pub fn sent_or_own_part(
    call: CallView<'_>,
    sendbuf: usize,
    sendcount: usize,
    sendtype: usize,
    recvcounts: usize,
    recvtype: usize,
) -> Option<u64> {
    if sendbuf != call.library.in_place {
        return call.bytes(call.scalar(sendcount), sendtype);
    }
    if recvcounts == 0 {
        return None;
    }
    // SAFETY: MPI requires an array of one count for each rank of the communicator, and this
    // process has a rank in it.
    let count = unsafe { call.element(recvcounts, call.comm.rank as usize) };
    call.bytes(count, recvtype)
}

/// The sum of the data sent to all; in place, of the data received.
#[inline]
#[must_use]
pub fn sum_sent(
    call: CallView<'_>,
    sendbuf: usize,
    sendcounts: usize,
    sendtype: usize,
    recvcounts: usize,
    recvtype: usize,
) -> Option<u64> {
    let in_place = sendbuf == call.library.in_place;
    let (counts, datatype) = if in_place {
        (recvcounts, recvtype)
    } else {
        (sendcounts, sendtype)
    };
    call.bytes(call.sum(counts, call.n_peers())?, datatype)
}

/// The sum of the data sent to all, where each part has a type of its own; in place, of the data
/// received.
#[inline]
#[must_use]
pub fn sum_sent_typed(
    call: CallView<'_>,
    sendbuf: usize,
    sendcounts: usize,
    sendtypes: usize,
    recvcounts: usize,
    recvtypes: usize,
) -> Option<u64> {
    let in_place = sendbuf == call.library.in_place;
    let (counts, types) = if in_place {
        (recvcounts, recvtypes)
    } else {
        (sendcounts, sendtypes)
    };
    sum_typed(call, call.n_peers(), counts, types)
}

fn sum_typed(call: CallView<'_>, n: usize, counts: usize, types: usize) -> Option<u64> {
    if n == 0 {
        return Some(0);
    }
    if counts == 0 || types == 0 {
        return None;
    }
    let mut sum = 0u64;
    for i in 0..n {
        // SAFETY: MPI requires arrays of one count and one type for each peer, which are not null
        // here.
        let (count, datatype) =
            unsafe { (call.element(counts, i), call.library.handle_at(types, i)) };
        sum = sum.saturating_add(call.bytes(count, datatype)?);
    }
    Some(sum)
}

/// The sum of the data sent to all neighbours.
#[inline]
#[must_use]
pub fn sum_to_neighbours(call: CallView<'_>, sendcounts: usize, sendtype: usize) -> Option<u64> {
    let (_, n) = call.comm.neighbours.as_ref()?.degrees();
    call.bytes(call.sum(sendcounts, n)?, sendtype)
}

/// The sum of the data sent to all neighbours, where each part has a type of its own.
#[inline]
#[must_use]
pub fn sum_to_neighbours_typed(
    call: CallView<'_>,
    sendcounts: usize,
    sendtypes: usize,
) -> Option<u64> {
    let (_, n) = call.comm.neighbours.as_ref()?.degrees();
    sum_typed(call, n, sendcounts, sendtypes)
}

/// The data sent to the root of a gather.
#[inline]
#[must_use]
pub fn gathered(
    call: CallView<'_>,
    sendbuf: usize,
    sendcount: usize,
    sendtype: usize,
    recvcount: usize,
    recvtype: usize,
) -> Option<u64> {
    if call.is_bystander() || call.is_remote_receiver() {
        return Some(0);
    }
    sent_or_received(call, sendbuf, sendcount, sendtype, recvcount, recvtype)
}

/// The data sent to the root of a gatherv.
#[inline]
#[must_use]
pub fn gathered_parts(
    call: CallView<'_>,
    sendbuf: usize,
    sendcount: usize,
    sendtype: usize,
    recvcounts: usize,
    recvtype: usize,
) -> Option<u64> {
    if call.is_bystander() || call.is_remote_receiver() {
        return Some(0);
    }
    sent_or_own_part(call, sendbuf, sendcount, sendtype, recvcounts, recvtype)
}

/// At the root of a scatter the data sent to all, elsewhere the data received.
#[inline]
#[must_use]
pub fn scattered(
    call: CallView<'_>,
    sendcount: usize,
    sendtype: usize,
    recvcount: usize,
    recvtype: usize,
) -> Option<u64> {
    if call.is_bystander() {
        Some(0)
    } else if call.is_root() {
        let n = call.n_peers() as u64;
        call.bytes(call.scalar(sendcount).saturating_mul(n), sendtype)
    } else {
        call.bytes(call.scalar(recvcount), recvtype)
    }
}

/// At the root of a scatterv the data sent to all, elsewhere the data received.
#[inline]
#[must_use]
pub fn scattered_parts(
    call: CallView<'_>,
    sendcounts: usize,
    sendtype: usize,
    recvcount: usize,
    recvtype: usize,
) -> Option<u64> {
    if call.is_bystander() {
        Some(0)
    } else if call.is_root() {
        call.bytes(call.sum(sendcounts, call.n_peers())?, sendtype)
    } else {
        call.bytes(call.scalar(recvcount), recvtype)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::communicators::entry::tests::entry;
    use crate::mpi::library::tests::{NULL_TYPE, fake_library};

    const IN_PLACE: usize = 1;
    const NO_ENTRY: usize = 0;
    const ELSEWHERE: usize = 4096;

    /// Calls `then` with the view at `rank` of 4, or with `remote` on an intercommunicator with 2
    /// remote processes.
    fn at(rank: u32, remote: bool, root: i32, then: impl Fn(CallView<'_>)) {
        let library = fake_library();
        let comm = entry(4, rank, if remote { 2 } else { 0 });
        then(CallView {
            library: &library,
            comm: &comm,
            root,
            large: false,
        });
    }

    fn address<T>(array: &[T]) -> usize {
        array.as_ptr() as usize
    }

    #[test]
    fn one_count_is_read_as_an_int_whatever_the_upper_half_of_its_word() {
        at(0, false, 0, |call| {
            assert_eq!(counted(call, 10, 8), Some(80));
            assert_eq!(counted(call, 0xdead_beef_0000_000a, 8), Some(80));
            assert_eq!(
                counted(
                    CallView {
                        large: true,
                        ..call
                    },
                    1 << 40,
                    4
                ),
                Some(1 << 42)
            );
            assert_eq!(counted(call, 10, NULL_TYPE), None, "no type, no payload");
            assert_eq!(
                counted(call, 0, NULL_TYPE),
                Some(0),
                "nothing of no type is nothing"
            );
        });
    }

    #[test]
    fn in_place_takes_the_receiving_side() {
        let counts = [1i32, 2, 3, 4];
        at(2, false, 0, |call| {
            let counts = address(&counts);
            assert_eq!(sent_or_received(call, ELSEWHERE, 5, 8, 7, 4), Some(40));
            // The send arguments are not significant then, and are arbitrary.
            assert_eq!(
                sent_or_received(call, IN_PLACE, 99, NULL_TYPE, 7, 4),
                Some(28)
            );
            assert_eq!(
                sent_or_own_part(call, ELSEWHERE, 5, 8, NO_ENTRY, 0),
                Some(40)
            );
            assert_eq!(sent_or_own_part(call, IN_PLACE, 99, 0, counts, 4), Some(12));
            assert_eq!(sum_sent(call, IN_PLACE, NO_ENTRY, 0, counts, 2), Some(20));
            assert_eq!(sum_sent(call, ELSEWHERE, counts, 4, NO_ENTRY, 0), Some(40));
        });
    }

    #[test]
    fn vectors_are_summed_over_the_right_number_of_processes() {
        let counts = [1i32, 2, 30, 400];
        let wide = [1i64 << 33, 1, 0, 0];
        let types: [Handle; 4] = [1, 2, 4, 8];
        at(0, false, 0, |call| {
            assert_eq!(sum_counted(call, address(&counts), 2), Some(866));
            let large = CallView {
                large: true,
                ..call
            };
            assert_eq!(sum_counted(large, address(&wide), 1), Some((1 << 33) + 1));
            let sum = sum_sent_typed(call, ELSEWHERE, address(&counts), address(&types), 0, 0);
            assert_eq!(sum, Some(1 + 4 + 120 + 3200));
        });
        at(0, true, 0, |call| {
            assert_eq!(
                sum_sent(call, ELSEWHERE, address(&counts), 1, 0, 0),
                Some(3)
            );
            assert_eq!(
                sum_counted(call, address(&counts), 1),
                Some(433),
                "own group's counts"
            );
        });
    }

    #[test]
    fn one_part_is_sent_along_each_outgoing_edge() {
        let counts = [3i32, 4, 500];
        let types: [Handle; 3] = [1, 8, 8];
        let library = fake_library();
        let mut comm = entry(4, 2, 0);
        comm.neighbours = Some(Box::new(crate::mpi::topology::tests::neighbours()));
        let call = CallView {
            library: &library,
            comm: &comm,
            root: 0,
            large: false,
        };
        let counts = address(&counts);
        assert_eq!(sum_to_neighbours(call, counts, 2), Some(14));
        assert_eq!(
            sum_to_neighbours_typed(call, counts, address(&types)),
            Some(3 + 32)
        );
        at(0, false, 0, |call| {
            assert_eq!(
                sum_to_neighbours(call, counts, 2),
                None,
                "no known topology"
            );
        });
    }

    #[test]
    fn a_scatter_counts_all_at_its_root_and_one_part_elsewhere() {
        let counts = [1i32, 2, 3, 4];
        at(1, false, 1, |call| {
            assert_eq!(scattered(call, 3, 8, 99, NULL_TYPE), Some(96));
            assert_eq!(
                scattered_parts(call, address(&counts), 8, 99, NULL_TYPE),
                Some(80)
            );
        });
        at(0, false, 1, |call| {
            assert_eq!(scattered(call, 99, NULL_TYPE, 3, 8), Some(24));
            assert_eq!(scattered_parts(call, NO_ENTRY, NULL_TYPE, 3, 8), Some(24));
        });
    }

    #[test]
    fn on_an_intercommunicator_only_those_who_send_or_receive_carry_something() {
        let (me, bystander, remote_root) = (-4, -2, 1);
        at(0, true, me, |call| {
            assert_eq!(counted(call, 2, 8), Some(16));
            assert_eq!(
                scattered(call, 3, 8, 99, NULL_TYPE),
                Some(48),
                "two remote processes"
            );
            assert_eq!(gathered(call, NO_ENTRY, 99, NULL_TYPE, 3, 8), Some(0));
        });
        at(1, true, bystander, |call| {
            assert_eq!(counted(call, 2, NULL_TYPE), Some(0));
            assert_eq!(scattered(call, 99, NULL_TYPE, 99, NULL_TYPE), Some(0));
            assert_eq!(
                gathered_parts(call, NO_ENTRY, 99, NULL_TYPE, NO_ENTRY, 0),
                Some(0)
            );
        });
        at(3, true, remote_root, |call| {
            assert_eq!(gathered(call, ELSEWHERE, 3, 8, 99, NULL_TYPE), Some(24));
            assert_eq!(scattered(call, 99, NULL_TYPE, 3, 8), Some(24));
        });
    }
}
