//! The chunk of a rank file to which definitions are appended.

use super::chunk::OpenChunk;

/// The chunk to which definitions are appended.
#[derive(Debug, Default)]
pub(super) struct DefinitionsChunk {
    pub(super) chunk: Option<OpenChunk>,
    pub(super) used: usize,
    pub(super) next_ordinal: u32,
}

impl DefinitionsChunk {
    /// Whether an entry of `length` bytes fits into the rest of the chunk.
    #[inline]
    pub(super) fn has_room(&self, length: usize) -> bool {
        let chunk = self.chunk.as_ref();
        chunk.is_some_and(|chunk| self.used + length <= chunk.content_bytes())
    }
}
