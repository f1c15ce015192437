//! The layers of a recording.

use crate::record::{Operation, Semantics};

/// Which layer of a recording has an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// What is always recorded: collectives, communicators, begin and end of MPI.
    Calls,
    /// Collectives on files (MPI-IO).
    Io,
    /// Collectives on windows (one-sided communication, RMA).
    Rma,
}

impl Layer {
    /// Its name on the command line and in the trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Io => "io",
            Self::Rma => "rma",
        }
    }
}

impl Operation {
    /// Which layer of a recording has it.
    #[must_use]
    pub const fn layer(self) -> Layer {
        match self.code() {
            192..=239 => Layer::Io,
            240..=255 => Layer::Rma,
            _ => Layer::Calls,
        }
    }

    /// Whether it opens a file or makes a window: its call is the first in the order of calls on
    /// what it makes.
    #[must_use]
    pub const fn opens(self) -> bool {
        !matches!(self.layer(), Layer::Calls) && matches!(self.semantics(), Semantics::Constructor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_on_files_and_windows_have_layers_of_their_own() {
        for operation in Operation::ALL {
            let name = operation.name();
            let layer = if name.starts_with("MPI_File_") {
                Layer::Io
            } else if name.starts_with("MPI_Win_") {
                Layer::Rma
            } else {
                Layer::Calls
            };
            assert_eq!(operation.layer(), layer, "{name}");
            let is_of_file = layer == Layer::Io;
            assert_eq!(
                operation.opens() && is_of_file,
                name == "MPI_File_open",
                "{name}"
            );
        }
        assert!(Operation::WinAllocateShared.opens() && !Operation::CommDup.opens());
    }
}
