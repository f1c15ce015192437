//! The layers of a recording.

use bincode::{Decode, Encode};

use crate::record::{Operation, Semantics};

/// A layer of a recording: a part of what can be recorded. Calls are always recorded, other layers
/// on request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Always recorded: collectives, communicators, begin and end of MPI.
    Calls,
    /// Collectives on files (MPI-IO).
    Io,
    /// Collectives on windows (one-sided communication, RMA).
    Rma,
    /// Messages that the MPI library sends inside collectives: [`Message`](crate::Message).
    Messages,
    /// Algorithms that the MPI library uses for collectives:
    /// [`AlgorithmStart`](crate::AlgorithmStart).
    Algorithms,
    /// Whether threads ran or were off their core: [`Running`](crate::Running).
    Switches,
    /// Point-to-point communication between the calls: sums, [`GapTime`](crate::GapTime).
    PointToPoint,
    /// From where in the program calls are made: [`CallSite`](crate::CallSite).
    Sites,
    /// The lines of scripts among them: [`ScriptFunction`](crate::ScriptFunction).
    Scripts,
}

impl Layer {
    /// All layers of this version.
    pub const ALL: [Self; 9] = [
        Self::Calls,
        Self::Io,
        Self::Rma,
        Self::Messages,
        Self::Algorithms,
        Self::Switches,
        Self::PointToPoint,
        Self::Sites,
        Self::Scripts,
    ];

    /// Its name on the command line and in the trace.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Io => "io",
            Self::Rma => "rma",
            Self::Messages => "messages",
            Self::Algorithms => "algorithms",
            Self::Switches => "switches",
            Self::PointToPoint => "p2p",
            Self::Sites => "sites",
            Self::Scripts => "scripts",
        }
    }

    /// The layer with this name; `None` if this version has none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }

    /// What it records, in words.
    #[must_use]
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Calls => "Collectives on communicators; always recorded",
            Self::Io => "Collectives on files: opening, collective reading and writing ...",
            Self::Rma => "Collectives on windows: creating and freeing, fences",
            Self::Messages => {
                "Messages that the MPI library sends inside collectives (Open MPI, MPICH over UCX)"
            }
            Self::Algorithms => {
                "The algorithm that the MPI library chooses for each collective (Open MPI)"
            }
            Self::Switches => "Whether threads were running, before and in long calls",
            Self::PointToPoint => {
                "Time in sends, receives, waits and polls before each call, in sums"
            }
            Self::Sites => "From where in the program each call is made",
            Self::Scripts => {
                "The same with the line of a Python or R script (some system calls each)"
            }
        }
    }
}

/// Whether a layer of recording was on.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct LayerState {
    /// [`Layer::name`], or the name of a layer of a later version.
    pub name: String,
    /// Whether it was recorded.
    pub on: bool,
    /// Why it was off. If it was on: [`LayerState::BY_DEFAULT`] if nobody had asked for it,
    /// otherwise empty.
    pub reason: String,
}

impl LayerState {
    /// The reason of a layer that is on by default.
    pub const BY_DEFAULT: &str = "by default";

    /// The state of a layer; for `reason` see [`LayerState::reason`].
    #[must_use]
    pub fn new(layer: Layer, on: bool, reason: &str) -> Self {
        Self {
            name: layer.name().to_owned(),
            on,
            reason: reason.to_owned(),
        }
    }
}

impl Operation {
    /// The layer of a recording that it belongs to.
    #[must_use]
    pub const fn layer(self) -> Layer {
        match self.code() {
            192..=239 => Layer::Io,
            240..=255 => Layer::Rma,
            _ => Layer::Calls,
        }
    }

    /// Whether it opens a file or creates a window. Its call is the first in the order of calls on
    /// that file or window.
    #[must_use]
    pub const fn opens(self) -> bool {
        !matches!(self.layer(), Layer::Calls) && matches!(self.semantics(), Semantics::Constructor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_layer_is_found_by_its_name() {
        for layer in Layer::ALL {
            assert_eq!(Layer::from_name(layer.name()), Some(layer));
        }
        assert_eq!(Layer::from_name("default"), None);
    }

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
