//! What the last calls on a communicator have found by their arguments.

use collbench_formats::tree::Collective;
use collbench_paths::Kernel;

use crate::mpi::Handle;

/// What the last calls on a communicator have found.
#[derive(Debug, Default)]
pub(super) struct LastCalls {
    pub(super) allreduce: Option<LastReduction>,
    /// With its root.
    pub(super) reduce: Option<(LastReduction, u32)>,
    pub(super) bcast: Option<LastBcast>,
    /// The index of the tree.
    pub(super) barrier: Option<usize>,
    pub(super) gather: Option<LastParts>,
    pub(super) scatter: Option<LastParts>,
    pub(super) allgather: Option<LastParts>,
    /// By [`Collective`], the last one whose payload has no tree.
    declined: [Option<Payload>; Collective::ALL.len()],
}

/// The arguments that say the payload, as the program passes them: counts, types, and the root where
/// these differ by it. Others are 0.
pub(super) type Payload = [usize; 5];

impl LastCalls {
    /// Whether this payload is that of the last call that had no tree. These are small, and must not take
    /// longer because larger ones have trees.
    #[inline(always)]
    pub(super) fn has_declined(&self, collective: Collective, payload: &Payload) -> bool {
        let declined = self.declined[collective as usize].as_ref();
        declined.is_some_and(|declined| is_same(declined, payload))
    }

    /// What the last call of an operation has found may be wrong for the next one.
    pub(super) fn forget(&mut self, collective: Collective) {
        match collective {
            Collective::Allreduce => self.allreduce = None,
            Collective::Reduce => self.reduce = None,
            Collective::Bcast => self.bcast = None,
            Collective::Barrier => self.barrier = None,
            Collective::Gather => self.gather = None,
            Collective::Scatter => self.scatter = None,
            Collective::Allgather => self.allgather = None,
        }
    }

    /// This payload, of a predefined type, has no tree.
    #[cold]
    pub(super) fn decline(&mut self, collective: Collective, payload: Payload) {
        self.declined[collective as usize] = Some(payload);
    }
}

/// Whether two payloads are equal. Comparing them as arrays calls a function of the C library.
#[inline(always)]
fn is_same(one: &Payload, other: &Payload) -> bool {
    let differences = one.iter().zip(other).map(|(one, other)| one ^ other);
    differences.fold(0, |all, bits| all | bits) == 0
}

/// An `MPI_Allreduce` or `MPI_Reduce` of a predefined operation of ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastReduction {
    /// Elements.
    pub(super) n: usize,
    pub(super) datatype: Handle,
    pub(super) operation: Handle,
    pub(super) kernel: Kernel,
    pub(super) n_bytes: usize,
    /// The index of the tree.
    pub(super) tree: usize,
}

/// An `MPI_Bcast` of elements without gaps.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastBcast {
    /// Elements.
    pub(super) n: usize,
    pub(super) datatype: Handle,
    pub(super) root: u32,
    pub(super) n_bytes: usize,
    /// The index of the tree.
    pub(super) tree: usize,
}

/// An `MPI_Gather`, `MPI_Scatter` or `MPI_Allgather` of elements without gaps, none of them in place.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastParts {
    pub(super) payload: Payload,
    /// Bytes of the part of each rank.
    pub(super) n_bytes: usize,
    /// The index of the tree.
    pub(super) tree: usize,
}

impl LastParts {
    /// Whether a call has the same payload, and the same root.
    #[inline(always)]
    pub(super) fn is_of(&self, payload: &Payload) -> bool {
        is_same(&self.payload, payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_payload_of_an_operation_without_a_tree_is_declined() {
        let mut calls = LastCalls::default();
        let (one, other): (Payload, Payload) = ([8, 1, 0, 0, 0], [8, 1, 8, 1, 1]);
        assert!(!calls.has_declined(Collective::Gather, &one));
        calls.decline(Collective::Gather, one);
        assert!(calls.has_declined(Collective::Gather, &one));
        assert!(!calls.has_declined(Collective::Scatter, &one));
        calls.decline(Collective::Gather, other);
        assert!(!calls.has_declined(Collective::Gather, &one));
    }
}
