//! The operations that only move data, and `MPI_Barrier`. Each returns the code of the call, or `None`
//! if the MPI library makes it. Handles are as the program passes them.

use std::ffi::c_int;

use collbench_formats::tree::Collective;
use collbench_paths::Team;
use collbench_trees::wrappers::Order;

use super::again::{barrier_again, bcast_again, gather_again, scatter_again};
use super::call::{Blocks, Call, Receiving, begin, count_of, find};
use super::communicator::Scratch;
use super::last_calls::{LastBcast, LastParts, Payload};

/// That of a barrier, which has trees for all of it.
const NO_PAYLOAD: Payload = [0; 5];

/// `MPI_Barrier`.
#[inline]
pub(super) fn barrier<const ADAPTS: bool>(comm: usize) -> Option<c_int> {
    let found = find::<ADAPTS>(Collective::Barrier, comm, (NO_PAYLOAD, [0; 2]))?;
    match barrier_again::<ADAPTS>(found) {
        None => other_barrier(comm),
        code => code,
    }
}

/// One that does not go the way of the last one on its communicator.
fn other_barrier(comm: usize) -> Option<c_int> {
    let mut call = begin(Collective::Barrier, comm, &NO_PAYLOAD)?;
    let code = call.execute(None, Order::Any, Team::barrier);
    if code == Some(0) {
        call.of.last_calls.barrier = Some(call.tree);
    }
    code
}

/// `MPI_Bcast`.
#[inline]
pub(super) fn bcast<const LARGE: bool, const ADAPTS: bool>(
    buffer: usize,
    count: usize,
    datatype: usize,
    root: usize,
    comm: usize,
) -> Option<c_int> {
    let payload = [count, datatype, 0, 0, 0];
    let found = find::<ADAPTS>(Collective::Bcast, comm, (payload, [0, root]))?;
    match bcast_again::<LARGE, ADAPTS>(found, (buffer, count, datatype), root) {
        None => other_bcast::<LARGE>((buffer, count, datatype), root, comm),
        code => code,
    }
}

/// One that is not as the last one on its communicator.
fn other_bcast<const LARGE: bool>(
    (buffer, count, datatype): (usize, usize, usize),
    root: usize,
    comm: usize,
) -> Option<c_int> {
    let payload = [count, datatype, 0, 0, 0];
    let mut call = begin(Collective::Bcast, comm, &payload)?;
    call.arguments.1 = [0, root];
    let n = count_of::<LARGE>(count)?;
    let datatype = call.data_type(datatype)?;
    call.carry(n, &datatype, payload)?;
    let root = call.root(root)?;
    let blocks = Blocks {
        address: buffer,
        n,
        datatype,
        n_blocks: 1,
    };
    let mut scratch = std::mem::take(&mut call.of.scratch);
    let code = call.bcast_blocks(blocks, root, &mut scratch);
    call.of.scratch = scratch;
    if code == Some(0) && datatype.is_dense() {
        call.of.last_calls.bcast = Some(LastBcast {
            n,
            datatype: datatype.handle,
            root,
            n_bytes: call.bytes,
            tree: call.tree,
        });
    }
    code
}

impl Call {
    fn bcast_blocks(&mut self, blocks: Blocks, root: u32, scratch: &mut Scratch) -> Option<c_int> {
        let ours = self.ours();
        if root == self.of.rank && !blocks.datatype.is_dense() {
            self.given(blocks, 0..0, &mut scratch.given)?;
            let packed = &mut scratch.given;
            return self.execute(Some(root), Order::Any, |team| team.bcast(packed, root));
        }
        let result = self.result(blocks, &mut scratch.result)?;
        let code = self.execute(Some(root), Order::Any, |team| {
            team.bcast(result.bytes, root)
        })?;
        let is_stored = code != 0 || result.store(ours);
        Some(self.finished(code, is_stored))
    }
}

/// The arguments of `MPI_Gather`, `MPI_Scatter` and `MPI_Allgather`.
#[derive(Clone, Copy)]
pub(super) struct Parts {
    pub(super) sendbuf: usize,
    pub(super) sendcount: usize,
    pub(super) sendtype: usize,
    pub(super) recvbuf: usize,
    pub(super) recvcount: usize,
    pub(super) recvtype: usize,
    pub(super) comm: usize,
}

/// Elements at an address, as arguments say it.
#[inline]
fn blocks<const LARGE: bool>(
    call: &mut Call,
    (address, count, datatype): (usize, usize, usize),
) -> Option<Blocks> {
    Some(Blocks {
        address,
        n: count_of::<LARGE>(count)?,
        datatype: call.data_type(datatype)?,
        n_blocks: 1,
    })
}

impl Parts {
    #[inline(always)]
    fn payload(&self, root: usize) -> Payload {
        [
            self.sendcount,
            self.sendtype,
            self.recvcount,
            self.recvtype,
            root,
        ]
    }

    fn addresses(&self) -> (usize, usize) {
        (self.sendbuf, self.recvbuf)
    }

    fn sent(&self) -> (usize, usize, usize) {
        (self.sendbuf, self.sendcount, self.sendtype)
    }

    fn received(&self) -> (usize, usize, usize) {
        (self.recvbuf, self.recvcount, self.recvtype)
    }
}

/// `MPI_Allgather`.
#[inline]
pub(super) fn allgather<const LARGE: bool, const ADAPTS: bool>(arguments: Parts) -> Option<c_int> {
    let payload = arguments.payload(0);
    let found = find::<ADAPTS>(Collective::Allgather, arguments.comm, (payload, [0; 2]))?;
    let last = found.of.last_calls.allgather;
    match gather_again::<ADAPTS>(found, last, arguments.addresses(), &payload, None) {
        None => other_allgather::<LARGE>(arguments, payload),
        code => code,
    }
}

/// One that is not as the last one on its communicator.
fn other_allgather<const LARGE: bool>(arguments: Parts, payload: Payload) -> Option<c_int> {
    let mut call = begin(Collective::Allgather, arguments.comm, &payload)?;
    let received = blocks::<LARGE>(&mut call, arguments.received())?;
    call.carry(received.n, &received.datatype, payload)?;
    let in_place = call.trees.library.in_place;
    let sent = match arguments.sendbuf {
        sendbuf if sendbuf == in_place => None,
        _ => Some(blocks::<LARGE>(&mut call, arguments.sent())?),
    };
    if arguments.recvbuf == in_place {
        return None;
    }
    let mut scratch = std::mem::take(&mut call.of.scratch);
    let code = call.gather_blocks(sent, received, None, &mut scratch);
    call.of.scratch = scratch;
    if code == Some(0) && call.is_simple(&[sent, Some(received)]) {
        call.of.last_calls.allgather = Some(call.last_parts(payload));
    }
    code
}

/// `MPI_Gather`.
#[inline]
pub(super) fn gather<const LARGE: bool, const ADAPTS: bool>(
    arguments: Parts,
    root: usize,
) -> Option<c_int> {
    let payload = arguments.payload(root);
    let found = find::<ADAPTS>(Collective::Gather, arguments.comm, (payload, [0; 2]))?;
    let last = found.of.last_calls.gather;
    match gather_again::<ADAPTS>(found, last, arguments.addresses(), &payload, Some(root)) {
        None => other_gather::<LARGE>(arguments, payload, root),
        code => code,
    }
}

/// One that is not as the last one on its communicator.
fn other_gather<const LARGE: bool>(
    arguments: Parts,
    payload: Payload,
    root: usize,
) -> Option<c_int> {
    let mut call = begin(Collective::Gather, arguments.comm, &payload)?;
    let root = call.root(root)?;
    let in_place = call.trees.library.in_place;
    let is_root = root == call.of.rank;
    let received = if is_root {
        Some(blocks::<LARGE>(&mut call, arguments.received())?)
    } else {
        None
    };
    let sent = match arguments.sendbuf {
        sendbuf if sendbuf == in_place => None,
        _ => Some(blocks::<LARGE>(&mut call, arguments.sent())?),
    };
    let of_payload = received.or(sent)?;
    call.carry(of_payload.n, &of_payload.datatype, payload)?;
    let mut scratch = std::mem::take(&mut call.of.scratch);
    let code = match received {
        Some(received) => call.gather_blocks(sent, received, Some(root), &mut scratch),
        None => sent.and_then(|sent| call.give(sent, root, &mut scratch.given)),
    };
    call.of.scratch = scratch;
    let is_simple = match received {
        Some(_) => call.is_simple(&[sent, received]),
        None => call.is_simple(&[sent]),
    };
    if code == Some(0) && is_simple {
        call.of.last_calls.gather = Some(call.last_parts(payload));
    }
    code
}

impl Call {
    /// Whether blocks lie as they are on their way, none of them in place, and each is the payload.
    fn is_simple(&self, blocks: &[Option<Blocks>]) -> bool {
        let is_simple =
            |blocks: Blocks| blocks.datatype.is_dense() && blocks.n_bytes() == self.bytes;
        blocks.iter().all(|blocks| blocks.is_some_and(is_simple))
    }

    /// What is kept of such a call.
    fn last_parts(&self, payload: Payload) -> LastParts {
        LastParts {
            payload,
            n_bytes: self.bytes,
            tree: self.tree,
        }
    }

    /// Gathers at this process, or, without a root, at all.
    fn gather_blocks(
        &mut self,
        sent: Option<Blocks>,
        received: Blocks,
        root: Option<u32>,
        scratch: &mut Scratch,
    ) -> Option<c_int> {
        let (ours, rank) = (self.ours(), self.of.rank as usize);
        let all = Blocks {
            n_blocks: self.of.n_ranks(),
            ..received
        };
        let result = self.result(all, &mut scratch.result)?;
        let apart = result.range();
        let given = match sent {
            Some(sent) => Some(self.given(sent, apart, &mut scratch.given)?),
            // Its own part lies where the result goes, and is packed if that is unpacked.
            None if result.unpacked.is_some() => {
                Some(self.given(received.block(rank)?, 0..0, &mut scratch.given)?)
            }
            None => None,
        };
        let bytes = &mut *result.bytes;
        let code = self.execute(root, Order::Any, |team| match root {
            Some(root) => team.gather(given, bytes, root),
            None => team.allgather(given, bytes),
        })?;
        let is_stored = code != 0 || result.store(ours);
        Some(self.finished(code, is_stored))
    }

    /// Gives a part to the root of a gather.
    fn give(&mut self, sent: Blocks, root: u32, scratch: &mut Vec<u8>) -> Option<c_int> {
        let given = self.given(sent, 0..0, scratch)?;
        self.execute(Some(root), Order::Any, |team| {
            team.gather(Some(given), &mut [], root)
        })
    }
}

/// `MPI_Scatter`.
#[inline]
pub(super) fn scatter<const LARGE: bool, const ADAPTS: bool>(
    arguments: Parts,
    root: usize,
) -> Option<c_int> {
    let payload = arguments.payload(root);
    let found = find::<ADAPTS>(Collective::Scatter, arguments.comm, (payload, [0; 2]))?;
    match scatter_again::<ADAPTS>(found, arguments.addresses(), &payload, root) {
        None => other_scatter::<LARGE>(arguments, payload, root),
        code => code,
    }
}

/// One that is not as the last one on its communicator.
fn other_scatter<const LARGE: bool>(
    arguments: Parts,
    payload: Payload,
    root: usize,
) -> Option<c_int> {
    let mut call = begin(Collective::Scatter, arguments.comm, &payload)?;
    let root = call.root(root)?;
    let in_place = call.trees.library.in_place;
    let is_root = root == call.of.rank;
    let sent = if is_root {
        Some(blocks::<LARGE>(&mut call, arguments.sent())?)
    } else {
        None
    };
    let received = match arguments.recvbuf {
        recvbuf if recvbuf == in_place => None,
        _ => Some(blocks::<LARGE>(&mut call, arguments.received())?),
    };
    let of_payload = sent.or(received)?;
    call.carry(of_payload.n, &of_payload.datatype, payload)?;
    let mut scratch = std::mem::take(&mut call.of.scratch);
    let code = call.scatter_blocks(sent, received, root, &mut scratch);
    call.of.scratch = scratch;
    let is_simple = match sent {
        Some(_) => call.is_simple(&[sent, received]),
        None => call.is_simple(&[received]),
    };
    if code == Some(0) && is_simple {
        call.of.last_calls.scatter = Some(call.last_parts(payload));
    }
    code
}

impl Call {
    fn scatter_blocks(
        &mut self,
        sent: Option<Blocks>,
        received: Option<Blocks>,
        root: u32,
        scratch: &mut Scratch,
    ) -> Option<c_int> {
        let ours = self.ours();
        let n_blocks = self.of.n_ranks();
        let result = match received {
            Some(received) => Some(self.result(received, &mut scratch.result)?),
            None => None,
        };
        let apart = result.as_ref().map_or(0..0, Receiving::range);
        let given = match sent {
            Some(sent) => self.given(Blocks { n_blocks, ..sent }, apart, &mut scratch.given)?,
            None => &[],
        };
        let (bytes, unpacked) = match result {
            Some(Receiving { bytes, unpacked }) => (Some(bytes), unpacked),
            None => (None, None),
        };
        let mut bytes = bytes;
        let code = self.execute(Some(root), Order::Any, |team| {
            team.scatter(given, bytes.as_deref_mut(), root)
        })?;
        let is_stored = match bytes {
            Some(bytes) if code == 0 => Receiving { bytes, unpacked }.store(ours),
            _ => true,
        };
        Some(self.finished(code, is_stored))
    }
}
