//! Operations as an archive has them.

use collbench_formats::{CompletingCall, Operation, Semantics};
use collbench_otf2::{CollectiveOp, Paradigm, Region, RegionRole};

/// The region of calls of an operation.
pub(super) fn region(operation: Operation) -> Region<'static> {
    let name = operation.name();
    let role = match operation.semantics() {
        _ if name.starts_with("MPI_File_") => RegionRole::FileIo,
        _ if name.starts_with("MPI_Win_") => RegionRole::Rma,
        Semantics::Barrier => RegionRole::Barrier,
        Semantics::OneToMany => RegionRole::CollectiveOneToAll,
        Semantics::ManyToOne => RegionRole::CollectiveAllToOne,
        Semantics::AllToAll => RegionRole::CollectiveAllToAll,
        _ => RegionRole::CollectiveOther,
    };
    mpi(name, role)
}

/// The region of calls that complete operations.
pub(super) fn completing_region(by: CompletingCall) -> Region<'static> {
    let role = if by.ends_access() {
        RegionRole::FileIo
    } else {
        RegionRole::PointToPoint
    };
    mpi(by.name(), role)
}

/// The region of calls that start one, or several, persistent operations: a recorder sees them, not `MPI_Allreduce_init`.
pub(super) fn starting_region(several: bool) -> Region<'static> {
    let name = if several { "MPI_Startall" } else { "MPI_Start" };
    mpi(name, RegionRole::PointToPoint)
}

/// As Score-P defines regions of MPI.
fn mpi(name: &'static str, role: RegionRole) -> Region<'static> {
    Region {
        name,
        role,
        paradigm: Paradigm::Mpi,
        source_file: None,
        begin_line: 0,
    }
}

/// What an archive calls the operation; `None` for those that it has no word for: collectives of neighbours, and calls on
/// files and windows.
pub(super) fn collective(operation: Operation) -> Option<CollectiveOp> {
    Some(match operation.blocking() {
        Operation::Barrier => CollectiveOp::Barrier,
        Operation::Bcast => CollectiveOp::Bcast,
        Operation::Gather => CollectiveOp::Gather,
        Operation::Gatherv => CollectiveOp::Gatherv,
        Operation::Scatter => CollectiveOp::Scatter,
        Operation::Scatterv => CollectiveOp::Scatterv,
        Operation::Allgather => CollectiveOp::Allgather,
        Operation::Allgatherv => CollectiveOp::Allgatherv,
        Operation::Alltoall => CollectiveOp::Alltoall,
        Operation::Alltoallv => CollectiveOp::Alltoallv,
        Operation::Alltoallw => CollectiveOp::Alltoallw,
        Operation::Reduce => CollectiveOp::Reduce,
        Operation::Allreduce => CollectiveOp::Allreduce,
        Operation::ReduceScatter => CollectiveOp::ReduceScatter,
        Operation::ReduceScatterBlock => CollectiveOp::ReduceScatterBlock,
        Operation::Scan => CollectiveOp::Scan,
        Operation::Exscan => CollectiveOp::Exscan,
        Operation::CommFree | Operation::CommDisconnect => CollectiveOp::DestroyHandle,
        of if of.name().starts_with("MPI_File_") || of.name().starts_with("MPI_Win_") => {
            return None;
        }
        of if of.semantics().is_constructor() => CollectiveOp::CreateHandle,
        _ => return None,
    })
}

/// The part that one process has in an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    /// Its payload, bytes; `None`: not known.
    pub(super) payload: Option<u64>,
    /// Whether it is the root.
    pub(super) is_root: bool,
    /// Processes that it exchanges data with: of an intercommunicator those of the other group, else all.
    pub(super) n_peers: u64,
    /// Sum of the payloads of these; `None`: not known.
    pub(super) of_peers: Option<u64>,
}

/// What a process sends and what it receives in an operation, bytes; 0 where that is not known.
///
/// The payload of a call is count x size of the type, what it sends to all of the v and w forms, and at the root of a
/// scatter what it sends. Buffers count once, also where an algorithm sends them to many: the root of a broadcast sends
/// its payload, and each of the others receives it.
pub(super) fn transferred(operation: Operation, part: Part) -> [u64; 2] {
    let own = part.payload.unwrap_or(0);
    let each = own.saturating_mul(part.n_peers);
    let of_peers = part.of_peers.unwrap_or(0);
    match operation.blocking() {
        Operation::Bcast | Operation::Scatter | Operation::Scatterv => {
            if part.is_root {
                [own, 0]
            } else {
                [0, own]
            }
        }
        Operation::Gather | Operation::Gatherv if part.is_root => [own, of_peers],
        Operation::Reduce if part.is_root => [own, own],
        Operation::Gather | Operation::Gatherv | Operation::Reduce => [own, 0],
        Operation::Allgather | Operation::Allgatherv => [own, of_peers],
        Operation::Alltoall => [each, each],
        Operation::ReduceScatterBlock => [each, own],
        Operation::Alltoallv | Operation::Alltoallw | Operation::ReduceScatter => [own, 0],
        Operation::Allreduce | Operation::Scan | Operation::Exscan => [own, own],
        _ => [0, 0],
    }
}

/// Whether what a process receives is what others say they send.
pub(super) fn gathers(operation: Operation) -> bool {
    matches!(
        operation.blocking(),
        Operation::Gather | Operation::Gatherv | Operation::Allgather | Operation::Allgatherv
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collective_but_those_of_neighbours_has_a_word() {
        for &operation in Operation::ALL {
            let is_named = collective(operation).is_some();
            let of_neighbours = operation.semantics() == Semantics::Neighborhood;
            if operation.blocking().code() < 32 {
                assert_eq!(is_named, !of_neighbours, "{}", operation.name());
            }
            assert_eq!(collective(operation), collective(operation.blocking()));
        }
        assert_eq!(
            collective(Operation::CommIdup),
            Some(CollectiveOp::CreateHandle)
        );
        assert_eq!(collective(Operation::WinFence), None);
        assert_eq!(collective(Operation::FileOpen), None);
    }

    #[test]
    fn what_is_sent_is_received() {
        let n = 4;
        let of = |operation, is_root, payload| {
            transferred(
                operation,
                Part {
                    payload: Some(payload),
                    is_root,
                    n_peers: n,
                    of_peers: Some(n * 8),
                },
            )
        };
        // Of those that have as many bytes at both ends: one root, and three others.
        for (operation, at_root) in [(Operation::Gather, 8), (Operation::Allgather, 8)] {
            let [sent, received] = of(operation, true, at_root);
            assert_eq!((sent, received), (8, 32), "{}", operation.name());
        }
        assert_eq!(of(Operation::Bcast, true, 8), [8, 0]);
        assert_eq!(of(Operation::Ibcast, false, 8), [0, 8]);
        assert_eq!(of(Operation::Scatter, true, 32), [32, 0]);
        assert_eq!(of(Operation::Alltoall, false, 8), [32, 32]);
        assert_eq!(of(Operation::ReduceScatterBlock, false, 8), [32, 8]);
        assert_eq!(of(Operation::Reduce, false, 8), [8, 0]);
        assert_eq!(of(Operation::AllreduceInit, false, 8), [8, 8]);
        assert_eq!(of(Operation::Barrier, false, 0), [0, 0]);
    }
}
