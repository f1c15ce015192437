//! The library of a run.

use crate::{mpich, open_mpi};

/// A library whose algorithms are known.
#[derive(Debug, Clone, Copy)]
pub(super) enum KnownLibrary {
    OpenMpi(open_mpi::Library),
    Mpich(&'static mpich::Version),
}

impl KnownLibrary {
    /// By the first line of its version.
    pub(super) fn find(version: &str) -> Option<Self> {
        if let Some((version, _)) = mpich::Version::find(version) {
            return Some(Self::Mpich(version));
        }
        let version = open_mpi::Version::find(version)?;
        open_mpi::Library::of(version).map(Self::OpenMpi)
    }
}
