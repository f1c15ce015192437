//! Calls that were made before with the same arguments but for their buffers: most calls of most
//! programs.
//!
//! What the last call of an operation on a communicator has found by its arguments is kept, and the
//! next one with the same arguments goes straight to its tree. Any other one goes the general way.

use std::ffi::c_int;

use collbench_formats::tree::Collective;
use collbench_paths::{Buffers, Error, MpiTransport, Team};

use super::call::{Found, Reduction, count_of, failed};
use super::last_calls::{LastParts, LastReduction, Payload};
use crate::mpi::MpiLibrary;

impl LastReduction {
    /// Whether a call has the same arguments, but for its buffers.
    #[inline(always)]
    fn is_same<const LARGE: bool>(&self, arguments: &Reduction, library: &MpiLibrary) -> bool {
        count_of::<LARGE>(arguments.count) == Some(self.n)
            && library.handle(arguments.datatype) == self.datatype
            && library.handle(arguments.operation) == self.operation
    }

    /// Where the data are in a process that gets the result; `None` if that needs a closer look.
    #[inline(always)]
    fn buffers(&self, arguments: &Reduction, library: &MpiLibrary) -> Option<Buffers<'static>> {
        let (from, to) = (arguments.sendbuf, arguments.recvbuf);
        if to == 0 || to == library.in_place {
            return None;
        }
        let n_bytes = self.n_bytes;
        let is_in_place = from == library.in_place;
        if !is_in_place && (from == 0 || from.abs_diff(to) < n_bytes) {
            return None;
        }
        // SAFETY: MPI requires a buffer for the result here, and one with the data unless they are in
        // that one. Both do not overlap.
        unsafe {
            let result = std::slice::from_raw_parts_mut(to as *mut u8, n_bytes);
            Some(if is_in_place {
                Buffers::InPlace(result)
            } else {
                Buffers::Two(
                    std::slice::from_raw_parts(from as *const u8, n_bytes),
                    result,
                )
            })
        }
    }

    /// Where the data are in a process that gets no result; `None` if that needs a closer look.
    #[inline(always)]
    fn given(&self, arguments: &Reduction, library: &MpiLibrary) -> Option<Buffers<'static>> {
        let from = arguments.sendbuf;
        if from == 0 || from == library.in_place {
            return None;
        }
        // SAFETY: MPI requires a buffer with the data here.
        let given = unsafe { std::slice::from_raw_parts(from as *const u8, self.n_bytes) };
        Some(Buffers::Two(given, &mut []))
    }
}

/// Executes an operation over the tree with this index; returns its code. `None` if it may be the turn of another
/// candidate.
#[inline(always)]
fn execute<const ADAPTS: bool>(
    Found { trees, local, of }: Found,
    (collective, tree): (Collective, usize),
    execute: impl FnOnce(&mut Team<MpiTransport>) -> Result<(), Error>,
) -> Option<c_int> {
    if ADAPTS && !of.adaptive.goes_straight(collective) {
        return None;
    }
    let team = of.team(tree);
    match local.inside(|| execute(team)) {
        Ok(()) => Some(0),
        Err(error) => failed(&trees.world, &error),
    }
}

/// `MPI_Allreduce`, if it is as the last one on its communicator; returns its code.
#[inline(always)]
pub(super) fn allreduce_again<const LARGE: bool, const ADAPTS: bool>(
    found: Found,
    arguments: &Reduction,
) -> Option<c_int> {
    let library = &found.trees.world.library;
    let last = found.of.last_calls.allreduce.as_ref()?;
    if !last.is_same::<LARGE>(arguments, library) {
        return None;
    }
    let buffers = last.buffers(arguments, library)?;
    let (mut kernel, tree) = (last.kernel, last.tree);
    let tree = (Collective::Allreduce, tree);
    execute::<ADAPTS>(found, tree, |team| team.allreduce(buffers, &mut kernel))
}

/// `MPI_Reduce`, if it is as the last one on its communicator; returns its code.
#[inline(always)]
pub(super) fn reduce_again<const LARGE: bool, const ADAPTS: bool>(
    found: Found,
    arguments: &Reduction,
    root: usize,
) -> Option<c_int> {
    let library = &found.trees.world.library;
    let (last, last_root) = found.of.last_calls.reduce.as_ref()?;
    let last_root = *last_root;
    if root as u32 != last_root || !last.is_same::<LARGE>(arguments, library) {
        return None;
    }
    let buffers = if last_root == found.of.rank {
        last.buffers(arguments, library)?
    } else {
        last.given(arguments, library)?
    };
    let (mut kernel, tree) = (last.kernel, last.tree);
    execute::<ADAPTS>(found, (Collective::Reduce, tree), |team| {
        team.reduce(buffers, &mut kernel, last_root)
    })
}

/// `MPI_Bcast`, if it is as the last one on its communicator; returns its code.
#[inline(always)]
pub(super) fn bcast_again<const LARGE: bool, const ADAPTS: bool>(
    found: Found,
    (buffer, count, datatype): (usize, usize, usize),
    root: usize,
) -> Option<c_int> {
    let library = &found.trees.world.library;
    let last = found.of.last_calls.bcast.as_ref()?;
    let is_same = count_of::<LARGE>(count) == Some(last.n)
        && library.handle(datatype) == last.datatype
        && root as u32 == last.root;
    if !is_same || buffer == 0 || buffer == library.in_place {
        return None;
    }
    // SAFETY: MPI requires a buffer for these elements, which have no gaps.
    let bytes = unsafe { std::slice::from_raw_parts_mut(buffer as *mut u8, last.n_bytes) };
    let (root, tree) = (last.root, last.tree);
    let tree = (Collective::Bcast, tree);
    execute::<ADAPTS>(found, tree, |team| team.bcast(bytes, root))
}

/// Memory of the program: an address, and bytes.
type Memory = (usize, usize);

/// What a process gives to an operation that moves parts, and where it gets some; either may be nothing. `None`
/// if that needs a closer look.
#[inline(always)]
fn given_and_gotten(
    library: &MpiLibrary,
    given: Memory,
    gotten: Memory,
) -> Option<(&'static [u8], &'static mut [u8])> {
    let needs_look =
        |(address, n_bytes): Memory| n_bytes > 0 && (address == 0 || address == library.in_place);
    let is_apart = given.0 + given.1 <= gotten.0 || gotten.0 + gotten.1 <= given.0;
    if needs_look(given) || needs_look(gotten) || !is_apart {
        return None;
    }
    // SAFETY: MPI requires buffers for these elements, which have no gaps; they do not overlap. Nothing has any
    // address that is not null.
    unsafe {
        Some((
            std::slice::from_raw_parts(given.0.max(1) as *const u8, given.1),
            std::slice::from_raw_parts_mut(gotten.0.max(1) as *mut u8, gotten.1),
        ))
    }
}

/// `MPI_Gather`, or without a root `MPI_Allgather`, if it is as the last one on its communicator; returns its
/// code.
#[inline(always)]
pub(super) fn gather_again<const ADAPTS: bool>(
    found: Found,
    last: Option<LastParts>,
    (sendbuf, recvbuf): (usize, usize),
    payload: &Payload,
    root: Option<usize>,
) -> Option<c_int> {
    let last = last.filter(|last| last.is_of(payload))?;
    let n_bytes = last.n_bytes;
    let gets_result = root.is_none_or(|root| root as u32 == found.of.rank);
    let n_gotten = if gets_result { found.of.n_ranks() } else { 0 };
    let library = &found.trees.world.library;
    let gotten = (recvbuf, n_bytes * n_gotten);
    let (given, gotten) = given_and_gotten(library, (sendbuf, n_bytes), gotten)?;
    let collective = match root {
        Some(_) => Collective::Gather,
        None => Collective::Allgather,
    };
    execute::<ADAPTS>(found, (collective, last.tree), |team| match root {
        Some(root) => team.gather(Some(given), gotten, root as u32),
        None => team.allgather(Some(given), gotten),
    })
}

/// `MPI_Scatter`, if it is as the last one on its communicator; returns its code.
#[inline(always)]
pub(super) fn scatter_again<const ADAPTS: bool>(
    found: Found,
    (sendbuf, recvbuf): (usize, usize),
    payload: &Payload,
    root: usize,
) -> Option<c_int> {
    let last = found
        .of
        .last_calls
        .scatter
        .filter(|last| last.is_of(payload))?;
    let n_bytes = last.n_bytes;
    let n_given = if root as u32 == found.of.rank {
        found.of.n_ranks()
    } else {
        0
    };
    let library = &found.trees.world.library;
    let given = (sendbuf, n_bytes * n_given);
    let (given, gotten) = given_and_gotten(library, given, (recvbuf, n_bytes))?;
    execute::<ADAPTS>(found, (Collective::Scatter, last.tree), |team| {
        team.scatter(given, Some(gotten), root as u32)
    })
}

/// `MPI_Barrier`, if it is not the first one on its communicator; returns its code.
#[inline(always)]
pub(super) fn barrier_again<const ADAPTS: bool>(found: Found) -> Option<c_int> {
    let tree = found.of.last_calls.barrier?;
    execute::<ADAPTS>(found, (Collective::Barrier, tree), Team::barrier)
}
