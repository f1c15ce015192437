//! The chunk of a rank file that definitions are appended to.

use super::chunk::OpenChunk;

/// The chunk that definitions are appended to.
#[derive(Debug, Default)]
pub(super) struct DefinitionsChunk {
    pub(super) chunk: Option<OpenChunk>,
    pub(super) used: usize,
    pub(super) next_ordinal: u32,
}

impl DefinitionsChunk {
    /// Whether an entry of so many bytes fits behind what is there.
    #[inline]
    pub(super) fn has_room(&self, length: usize) -> bool {
        let chunk = self.chunk.as_ref();
        chunk.is_some_and(|chunk| self.used + length <= chunk.content_bytes())
    }
}
