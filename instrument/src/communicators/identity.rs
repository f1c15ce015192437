//! The identity of a communicator, a number on which all of its members agree.

use collbench_formats::Operation;

use crate::host::mix;

/// What the identity of a new communicator is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommunicatorIdentity {
    /// The constructor is collective over the parent: from its position there.
    OnParent,
    /// The new communicator is a copy of the parent (`MPI_Comm_dup`): from the constructor's
    /// position there. Nothing is asked about the new communicator, which may not exist yet
    /// (`MPI_Comm_idup`). Its handle is taken from where the call stored it before it returned, as
    /// all known libraries do; that location may be gone when the request completes.
    Copy,
    /// The constructor is collective over the members only: from the groups and the tag.
    OverGroups,
    /// Two groups, each on a parent of its own, create it (`MPI_Comm_accept`, `MPI_Comm_connect`):
    /// within one world from the groups. Processes of several worlds have no names for each other,
    /// so each side uses its own parent.
    Connected,
}

/// The identity of a communicator whose constructor is collective over the parent.
///
/// For the other half of the members of an intercommunicator, local and remote group are exchanged,
/// so the order of the two first members does not count.
pub(super) fn identity_on_parent(
    operation: Operation,
    parent: u64,
    position: u64,
    first_members: [u32; 2],
) -> u64 {
    let [a, b] = first_members;
    mix(&[
        u64::from(operation.code()),
        parent,
        position,
        a.min(b).into(),
        a.max(b).into(),
    ])
}

pub(super) fn identity_over_groups(operation: Operation, groups: &[Vec<u32>; 2], tag: i32) -> u64 {
    let mut hashes = groups.each_ref().map(|group| {
        let words: Vec<u64> = group.iter().map(|&rank| u64::from(rank)).collect();
        mix(&words)
    });
    hashes.sort_unstable();
    mix(&[
        u64::from(operation.code()),
        hashes[0],
        hashes[1],
        tag as u64,
    ])
}

/// A hash of a text, used as a tag.
pub(crate) fn hash_of_text(text: &[u8]) -> i32 {
    let words: Vec<u64> = text.iter().map(|&byte| u64::from(byte)).collect();
    mix(&words) as i32
}

#[cfg(test)]
mod tests {
    use collbench_formats::NO_RANK;

    use super::*;

    #[test]
    fn both_sides_of_an_intercommunicator_give_it_one_identity() {
        let (a, b) = (vec![0, 2], vec![1, 3, 5]);
        assert_eq!(
            identity_over_groups(Operation::IntercommCreate, &[a.clone(), b.clone()], 7),
            identity_over_groups(Operation::IntercommCreate, &[b.clone(), a.clone()], 7),
        );
        assert_ne!(
            identity_over_groups(Operation::IntercommCreate, &[a.clone(), b.clone()], 7),
            identity_over_groups(Operation::IntercommCreate, &[a, b], 8),
        );
        assert_eq!(
            identity_on_parent(Operation::CommDup, 1, 2, [4, 5]),
            identity_on_parent(Operation::CommDup, 1, 2, [5, 4]),
        );
    }

    #[test]
    fn parts_of_a_split_differ_by_their_first_member_and_splits_by_their_position() {
        let id = |position, first| {
            identity_on_parent(Operation::CommSplit, 99, position, [first, NO_RANK])
        };
        assert_ne!(id(0, 0), id(0, 1));
        assert_ne!(id(0, 0), id(1, 0));
    }
}
