//! The tags that MPICH gives its messages over UCX.

/// A tag of UCX as MPICH composes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u64);

/// The part of a communicator that a message of MPICH itself is sent in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The communicator of the program.
    Whole,
    /// Its processes on this host, in its order.
    Host,
    /// One process of each host.
    Leaders,
    /// Both groups of an intercommunicator, while they are merged.
    ///
    /// # Source
    /// `MPIR_Intercomm_merge_impl` of MPICH 4.0 (`comm_impl.c`).
    Merged,
}

impl Tag {
    fn context_bits(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// Whether the message belongs to a collective.
    #[inline]
    pub(crate) fn is_of_collective(self) -> bool {
        self.context_bits() & 1 != 0
    }

    /// Identifies the communicator; bit 0 is set for the local group of an intercommunicator.
    #[inline]
    pub(crate) fn context(self) -> u16 {
        self.context_bits() >> 3
    }

    /// Whether it is sent within the local group of an intercommunicator.
    pub(crate) fn is_in_local_group(self) -> bool {
        self.context() & 1 != 0
    }

    #[inline]
    pub(crate) fn part(self) -> Part {
        match self.context_bits() >> 1 & 3 {
            0 => Part::Whole,
            1 => Part::Host,
            2 => Part::Leaders,
            _ => Part::Merged,
        }
    }

    /// Rank of the sender.
    #[inline]
    pub(crate) fn source(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// Whether it is the tag of a nonblocking collective.
    pub(crate) fn is_of_nonblocking(self) -> bool {
        self.number() >= FIRST_NONBLOCKING_TAG
    }

    /// MPI's tag.
    #[inline]
    fn number(self) -> u32 {
        self.0 as u32 & (u32::MAX >> 1)
    }

    /// The tag as records have it: the lower 14 bits of MPI's tag, and the part above them.
    /// Nonblocking collectives have successive tags; those that do not fit start again after the
    /// tags of blocking collectives.
    #[inline]
    pub(crate) fn in_records(self) -> u16 {
        let part = self.context_bits() >> 1 & 3;
        let tag = match self.number() {
            tag if tag < 1 << 14 => tag,
            tag => wrapped_tag(tag),
        };
        part << 14 | tag as u16
    }
}

/// The first tag of nonblocking collectives.
///
/// # Source
/// `mpir_tags.h` of MPICH 4.0: `MPIR_FIRST_NBC_TAG`.
const FIRST_NONBLOCKING_TAG: u32 = 287;

#[cold]
fn wrapped_tag(tag: u32) -> u32 {
    let n_wrapped = (1 << 14) - FIRST_NONBLOCKING_TAG;
    FIRST_NONBLOCKING_TAG + (tag - FIRST_NONBLOCKING_TAG) % n_wrapped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_decomposed() {
        // As observed with MPICH 4.0.2: a barrier among the processes of a host, a broadcast.
        let barrier = Tag(0x0003_0002_0000_0001);
        assert!(barrier.is_of_collective());
        assert_eq!((barrier.context(), barrier.part()), (0, Part::Host));
        assert_eq!((barrier.source(), barrier.in_records()), (2, 0x4001));
        let bcast = Tag(0x01f1_0000_0000_0002);
        assert_eq!((bcast.context(), bcast.part()), (0x3e, Part::Whole));
        assert!(!bcast.is_in_local_group() && Tag(0x01f9 << 48).is_in_local_group());
        assert!(!Tag(0x01f0_0000_0000_0002).is_of_collective());
        assert_eq!(Tag(0x01f7 << 48).part(), Part::Merged);
        // Tags that do not fit are not recorded as tags of blocking collectives.
        let of_whole = |tag: u64| Tag(0x01f1 << 48 | tag).in_records();
        assert_eq!((of_whole(30), of_whole(0x3fff)), (30, 0x3fff));
        assert_eq!((of_whole(0x4000), of_whole(0x4001)), (287, 288));
        assert!(!barrier.is_of_nonblocking() && Tag(0x01f1_0000_0000_0120).is_of_nonblocking());
        assert!((0x4000..0x1_0000).all(|tag| of_whole(tag) >= 287));
    }
}
