//! A compact file to the one that was recorded.

use zerocopy::IntoBytes;

use super::parts::{Held, Part, PartContent, Parts};
use crate::{Damage, FormatError};

/// Some bytes of the recorded file, in their place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where they begin.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The pieces of the file that was recorded, in order. What is between them is zeros.
#[derive(Debug)]
pub struct Expansion<'a> {
    head: Option<Piece>,
    parts: Parts<'a>,
    n_parts: u32,
}

impl<'a> Expansion<'a> {
    /// The file that the bytes of a compact one were made of; `None` if it is not compact.
    ///
    /// # Errors
    /// [`FormatError`] if its header is damaged.
    pub fn of(bytes: &'a [u8]) -> Result<Option<Self>, FormatError> {
        let Some(parts) = Parts::of(bytes)? else {
            return Ok(None);
        };
        parts.header()?;
        Ok(Some(Self {
            head: parts
                .recorded_head()
                .map(|bytes| Piece { offset: 0, bytes }),
            parts,
            n_parts: 0,
        }))
    }

    /// Bytes of the recorded file.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.parts.recorded_length()
    }
}

impl Iterator for Expansion<'_> {
    type Item = Result<Piece, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(head) = self.head.take() {
            return Some(Ok(head));
        }
        let offset = self.parts.read_to();
        let Some(part) = self.parts.next() else {
            let (expected, found) = (self.parts.n_stated(), self.n_parts);
            self.n_parts = expected;
            return (found != expected).then_some(Err(Damage::MissingParts { expected, found }));
        };
        self.n_parts += 1;
        let skipped = self.parts.read_to() - offset;
        let length = self.length();
        Some(part.and_then(|part| {
            expanded(&part, length).ok_or(Damage::DamagedPart { offset, skipped })
        }))
    }
}

/// The piece of a file of so many bytes; `None` if something in it does not unpack.
fn expanded(part: &Part<'_>, length: u64) -> Option<Piece> {
    let mut bytes = match part.held {
        Held::Place(packed) => packed.unpack()?,
        Held::Chunk(chunk) => {
            let mut bytes = chunk.opening.to_vec();
            match chunk.content {
                PartContent::Records(records, behind) => {
                    for block in 0..records.n_blocks() {
                        bytes.extend_from_slice(records.unpack(block).as_bytes());
                    }
                    if let Some(behind) = behind {
                        bytes.extend(behind.unpack()?);
                    }
                }
                PartContent::Other(packed) => bytes.extend(packed.unpack()?),
            }
            bytes
        }
    };
    let most = length.checked_sub(part.offset)?;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Some(Piece {
        offset: part.offset,
        bytes,
    })
}

/// What a compact file does not hold of the one it was made of.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    /// It is not a compact file.
    #[error("not a compact trace")]
    NotCompact,
    /// Its header is damaged.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// A part is damaged.
    #[error(transparent)]
    Damage(#[from] Damage),
    /// Other bytes.
    #[error("other bytes at offset {offset} of the recorded file")]
    Differs {
        /// Where the piece begins that differs.
        offset: u64,
    },
    /// Another length.
    #[error("the recorded file has {expected} bytes, expanded it has {found}")]
    Length {
        /// Bytes of the recorded file.
        expected: u64,
        /// Bytes expanded.
        found: u64,
    },
}

/// Whether the bytes of a compact file expand to those of a recorded one.
///
/// # Errors
/// [`Mismatch`] where they do not.
pub fn expands_to(compact: &[u8], recorded: &[u8]) -> Result<(), Mismatch> {
    let expansion = Expansion::of(compact)?.ok_or(Mismatch::NotCompact)?;
    let (expected, found) = (recorded.len() as u64, expansion.length());
    if expected != found {
        return Err(Mismatch::Length { expected, found });
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let mut rest = (0, recorded);
    for piece in expansion {
        let Piece { offset, bytes } = piece?;
        let (at, ahead) = rest;
        let before = offset
            .checked_sub(at)
            .and_then(|n| ahead.split_at_checked(usize::try_from(n).ok()?));
        let split = before.and_then(|(before, ahead)| {
            let (here, ahead) = ahead.split_at_checked(bytes.len())?;
            (is_zero(before) && here == bytes).then_some(ahead)
        });
        let Some(ahead) = split else {
            return Err(Mismatch::Differs { offset });
        };
        rest = (offset + bytes.len() as u64, ahead);
    }
    match is_zero(rest.1) {
        true => Ok(()),
        false => Err(Mismatch::Differs { offset: rest.0 }),
    }
}
