//! The definitions of a rank file that was read.

use std::borrow::Cow;

use crate::compact::PackedBytes;
use crate::file::{Definition, MetaError, decode_meta};

/// The content of a chunk that holds no records.
#[derive(Debug, Clone, Copy)]
pub(super) enum Content<'a> {
    InPlace(&'a [u8]),
    Packed(PackedBytes<'a>),
}

impl<'a> Content<'a> {
    fn bytes(&self) -> Cow<'a, [u8]> {
        match self {
            Self::InPlace(bytes) => Cow::Borrowed(bytes),
            // Bytes that cannot be unpacked hold no definitions.
            Self::Packed(packed) => Cow::Owned(packed.unpack().unwrap_or_default()),
        }
    }
}

/// The definitions in a rank file. They are decoded on access, since there may be millions.
#[derive(Debug, Clone, Default)]
pub struct Definitions<'a> {
    /// For each chunk: its number, its content, and how many bytes of that are valid.
    chunks: Vec<(u32, Content<'a>, usize)>,
    n: usize,
}

impl<'a> Definitions<'a> {
    /// Adds the definitions of a chunk, by its number, up to the first that is damaged.
    ///
    /// # Errors
    /// Where in the content the damaged one begins, and what is wrong with it.
    pub(super) fn add(
        &mut self,
        ordinal: u32,
        content: Content<'a>,
    ) -> Result<(), (usize, MetaError)> {
        let bytes = content.bytes();
        let mut at = 0;
        let mut damaged = Ok(());
        while let Some((decoded, length)) = next_definition(&bytes[at..]) {
            if let Err(error) = decoded {
                damaged = Err((at, error));
                break;
            }
            self.n += 1;
            at += length;
        }
        if at > 0 {
            self.chunks.push((ordinal, content, at));
        }
        damaged
    }

    /// Puts the chunks in the order of their numbers.
    pub(super) fn order_chunks(&mut self) {
        self.chunks.sort_by_key(|(ordinal, ..)| *ordinal);
    }

    /// Number of definitions.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// All of them, in the order in which they were made.
    pub fn iter(&self) -> impl Iterator<Item = Definition> + '_ {
        self.chunks.iter().flat_map(|(_, content, end)| {
            let chunk = content.bytes();
            let mut at = 0;
            std::iter::from_fn(move || {
                let (decoded, length) = next_definition(chunk.get(at..*end)?)?;
                at += length;
                decoded.ok()
            })
        })
    }
}

/// The definition at the start of `content`, and its length in bytes; `None` after the last one.
fn next_definition(content: &[u8]) -> Option<(Result<Definition, MetaError>, usize)> {
    let (head, rest) = content.split_at_checked(8)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let crc32 = u32::from_le_bytes([head[4], head[5], head[6], head[7]]);
    if length == 0 {
        return None;
    }
    let decoded = match rest.get(..length) {
        Some(encoded) => decode_meta(encoded, crc32),
        None => Err(MetaError::Codec(format!(
            "{length} bytes stated, but only {} left in the chunk",
            rest.len()
        ))),
    };
    Some((decoded, 8 + length.next_multiple_of(8).min(rest.len())))
}
