//! One rank file, read.

use collbench_formats::{FormatError, Layer, LayerState, RankTrace};

use crate::trace::files::Bytes;

/// So many bytes are read of chunk headers before their pages are given back.
const GIVE_BACK_BYTES: u64 = 1 << 20;

/// One process of the run: its file, read.
#[derive(Debug)]
pub struct RankFile<'a> {
    /// Name of the file, within the directory.
    pub name: &'a str,
    /// What it says.
    pub trace: RankTrace<'a>,
    bytes: &'a Bytes,
}

impl<'a> RankFile<'a> {
    /// Whether a layer was recorded.
    #[must_use]
    pub fn has_layer(&self, layer: Layer) -> bool {
        let mut layers = self.trace.identity.layers.iter();
        layers.any(|state| state.name == layer.name() && state.on)
    }

    /// Whether the recorder knew a layer, recorded or not.
    #[must_use]
    pub fn knows_layer(&self, layer: Layer) -> bool {
        let mut layers = self.trace.identity.layers.iter();
        layers.any(|state| state.name == layer.name())
    }

    /// Whether a layer was recorded because somebody had named it.
    #[must_use]
    pub fn was_asked_for(&self, layer: Layer) -> bool {
        let mut layers = self.trace.identity.layers.iter();
        layers.any(|state| {
            state.name == layer.name() && state.on && state.reason != LayerState::BY_DEFAULT
        })
    }

    pub(super) fn read(name: &'a str, bytes: &'a Bytes) -> Result<Self, FormatError> {
        let mut given_back = 0;
        let trace = RankTrace::parse_with_progress(bytes.as_slice(), &mut |passed| {
            if passed >= given_back + GIVE_BACK_BYTES {
                bytes.give_back(given_back, passed);
                given_back = passed;
            }
        })?;
        bytes.give_back(given_back, u64::MAX);
        Ok(Self { name, trace, bytes })
    }

    /// Rank in `MPI_COMM_WORLD`.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.trace.identity.rank
    }

    /// Gives back the pages of the file that hold the bytes `[from, to)`. Whoever reads them
    /// later reads the file once more.
    pub(crate) fn give_back(&self, from: u64, to: u64) {
        self.bytes.give_back(from, to);
    }
}
