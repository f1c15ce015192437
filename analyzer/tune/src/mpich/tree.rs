//! A selection file as the library holds it: tests with what follows if they hold, or else.
//!
//! `parse_json_tree`, `validate_tree` of `src/mpi/coll/src/csel.c`; `MPII_Create_container` and
//! `parse_container_params` of `src/mpi/coll/src/csel_container.c`; `create_container` of
//! `src/mpid/ch4/src/ch4_init.c` and of `src/mpid/ch4/shm/posix/posix_init.c`.

use super::test::Test;
use super::version::Algorithm;
use crate::problem::{Position, Problem};

/// Index of a node of a [`Tree`].
pub(super) type NodeIdx = usize;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE`: algorithms that work on any network.
    Mpir,
    /// `MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE`: how a collective is composed of collectives
    /// within hosts and among them.
    Ch4,
    /// `MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE`: algorithms in shared memory.
    Posix,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Mpir, Self::Ch4, Self::Posix];

    /// The setting that names a file of this kind.
    #[must_use]
    pub fn setting(self) -> &'static str {
        match self {
            Self::Mpir => "MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE",
            Self::Ch4 => "MPIR_CVAR_CH4_COLL_SELECTION_TUNING_JSON_FILE",
            Self::Posix => "MPIR_CVAR_CH4_POSIX_COLL_SELECTION_TUNING_JSON_FILE",
        }
    }
}

/// A file as the library holds it.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// The first test; `None` in a file without any.
    pub(super) root: Option<NodeIdx>,
    pub(super) nodes: Vec<Node>,
}

/// A test or a choice.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) at: Position,
    /// Its key, without spaces.
    pub(super) key: String,
    pub(super) what: What,
    /// What comes if the test holds.
    pub(super) success: Option<NodeIdx>,
    /// What comes if it does not.
    pub(super) failure: Option<NodeIdx>,
}

/// What a node is.
#[derive(Debug)]
pub(super) enum What {
    Test(Test),
    /// A key that the library does not know.
    Unknown,
    Algorithm {
        algorithm: Algorithm,
        parameters: Vec<String>,
    },
    /// Of this name, such as `MPIDI_Bcast_intra_composition_alpha`.
    Composition(String),
    /// An algorithm in shared memory.
    Posix,
}

/// What becomes of a program that uses a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The library uses it.
    Loads,
    /// `MPI_Init` ends the program.
    Aborts,
    /// The library goes on with memory that it has not set: mostly it ends in `MPI_Init`.
    Undefined,
}

/// A file that was read, and what is wrong with it.
#[derive(Debug)]
pub struct Selection {
    /// What the file is for, by what it holds.
    pub kind: Kind,
    /// What becomes of a program that uses it.
    pub fate: Fate,
    /// All that is wrong, in the order of the file.
    pub problems: Vec<Problem>,
    pub(super) tree: Tree,
}
