//! The tags that MPI libraries give the messages of their collectives.

use collbench_formats::{Abi, MpiIdentity, Semantics};

/// How a library numbers its tags, as far as this distinguishes nonblocking collectives from
/// others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tags {
    /// Below zero: each blocking operation has one, and nonblocking collectives have those below
    /// all of these, on each communicator one after the other.
    OpenMpi,
    /// Above zero: each blocking operation has one, and nonblocking collectives have those above
    /// all of these, on each communicator one after the other.
    Mpich,
    /// Not known.
    #[default]
    Unknown,
}

/// The lowest tag of a blocking operation.
///
/// # Source
/// `coll_tags.h` of Open MPI 4.0 to 5.0: `MCA_COLL_BASE_TAG_SCATTERV`.
const LAST_OF_OPEN_MPI: i16 = -26;

/// The tag of what the leaders of two groups exchange while they make a communicator, whichever.
///
/// # Source
/// `comm_cid.c` of Open MPI 4.0 to 5.0: `OMPI_COMM_ALLREDUCE_TAG`.
const OF_LEADERS_IN_OPEN_MPI: i16 = -31079;

/// The lowest tag of nonblocking collectives.
///
/// # Source
/// `mpir_tags.h` of MPICH 3.3 to 5.0: `MPIR_FIRST_NBC_TAG`.
const FIRST_OF_MPICH: u16 = 287;

/// Bits of a tag that MPICH assigns; the bits above denote the part of the communicator.
const MPICH_TAG: u16 = 0x3fff;

impl Tags {
    /// Those of the library that ran.
    pub(crate) fn of(mpi: &MpiIdentity) -> Self {
        match mpi.abi {
            Abi::OpenMpi => Self::OpenMpi,
            // The tags of messages are those of UCX, which are known of MPICH only.
            Abi::Mpich | Abi::Mpi5 => Self::Mpich,
            Abi::Unknown => Self::Unknown,
        }
    }

    /// Whether blocking operations of this kind are done as nonblocking ones are, with their tags.
    pub(crate) fn are_alike(self, semantics: Semantics) -> bool {
        self == Self::Mpich && semantics == Semantics::Neighborhood
    }

    /// The tag of a collective, of one in a record: what goes on within hosts and among them has one.
    pub(crate) fn of_collective(self, tag: u16) -> u16 {
        match self {
            Self::Mpich if self.is_of_nonblocking(tag) => tag & MPICH_TAG,
            _ => tag,
        }
    }

    /// The tag assigned `n_later` collectives after this one.
    pub(crate) fn further(self, tag: u16, n_later: i64) -> Option<u16> {
        match self {
            Self::OpenMpi => Some(tag.wrapping_sub(n_later as u16)),
            Self::Mpich => Some(tag.wrapping_add(n_later as u16) & MPICH_TAG),
            Self::Unknown => None,
        }
    }

    /// Whether notes name the constructor that messages are for.
    pub(crate) fn tell_makers(self) -> bool {
        self == Self::OpenMpi
    }

    /// Whether messages of several outstanding collectives on a communicator may have this tag.
    pub(crate) fn is_shared(self, tag: u16) -> bool {
        self == Self::OpenMpi && tag as i16 == OF_LEADERS_IN_OPEN_MPI
    }

    /// Whether only blocking operations have this tag, as records have it.
    pub(crate) fn is_of_blocking(self, tag: u16) -> bool {
        self != Self::Unknown && !self.is_of_nonblocking(tag)
    }

    /// Whether no blocking operation has this tag, as records have it; for an unknown library this
    /// is `false`.
    pub(crate) fn is_of_nonblocking(self, tag: u16) -> bool {
        match self {
            Self::OpenMpi => (tag as i16) < LAST_OF_OPEN_MPI,
            Self::Mpich => tag & MPICH_TAG >= FIRST_OF_MPICH,
            Self::Unknown => false,
        }
    }
}
