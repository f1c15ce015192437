//! Expands a compact file to the one that was recorded.

use zerocopy::IntoBytes;

use super::parts::{Held, Part, PartContent, Parts};
use crate::read::{Damage, FormatError};
use crate::record::Record;

/// A piece of the recorded file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// The most bytes that a chunk is believed to have had room for. Chunks of this version have 1 MiB,
/// or as much as a definition of the largest size takes.
const MAX_ROOM: u64 = 32 << 20;

/// The most zeros, in total, that no part explains: each thread of a killed process may have
/// reserved space that it did not use.
const MAX_SPARSE: u64 = 1 << 30;

/// The pieces of the recorded file, in order; the bytes between them are zeros.
///
/// Sizes that a file states are only believed as far as its parts explain them: the room in its
/// chunks, and at most a GiB of further zeros.
#[derive(Debug)]
pub struct Expansion<'a> {
    head: Option<Piece>,
    parts: Parts<'a>,
    n_parts: u32,
    /// The part whose pieces are being given.
    part: Option<StartedPart<'a>>,
    /// Up to where the parts explain the file, in bytes.
    end: u64,
    /// Zeros before `end` that no part explains.
    unexplained_zeros: u64,
}

/// A part of which some pieces were given.
#[derive(Debug)]
struct StartedPart<'a> {
    part: Part<'a>,
    /// Number of the next piece: the first has all but the records, then come the blocks of
    /// records, then the bytes after them.
    next: usize,
    /// Reported if the part cannot be unpacked.
    damaged: Damage,
}

impl<'a> Expansion<'a> {
    /// The expansion of a compact file; `None` if the file is not compact.
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
            part: None,
            end: 0,
            unexplained_zeros: 0,
        }))
    }

    /// Length of the recorded file, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.parts.recorded_length()
    }

    /// Notes that a part explains `room` bytes from `offset` on.
    fn explain(&mut self, offset: u64, room: u64) -> Result<(), Damage> {
        self.unexplained_zeros = self
            .unexplained_zeros
            .saturating_add(offset.saturating_sub(self.end));
        self.end = self.end.max(offset.saturating_add(room));
        if self.unexplained_zeros > MAX_SPARSE {
            Err(Damage::Hollow {
                length: self.length(),
                explained: self.end.min(offset),
            })
        } else {
            Ok(())
        }
    }

    /// The next piece of the part that is being given.
    fn piece_of_part(&mut self) -> Option<Result<Piece, Damage>> {
        let length = self.length();
        loop {
            let started = self.part.as_mut()?;
            let piece = started.part.piece(started.next);
            started.next += 1;
            match piece {
                Some(Ok(mut piece)) => {
                    let most = length.saturating_sub(piece.offset);
                    let most = usize::try_from(most).unwrap_or(usize::MAX);
                    piece.bytes.truncate(most);
                    // The recorded file was already cut here.
                    if piece.bytes.is_empty() {
                        continue;
                    }
                    self.end = self.end.max(piece.offset + piece.bytes.len() as u64);
                    return Some(Ok(piece));
                }
                Some(Err(DoesNotUnpack)) => {
                    return self.part.take().map(|started| Err(started.damaged));
                }
                None => self.part = None,
            }
        }
    }

    /// Starts the next part; `None` after the last one.
    fn begin_part(&mut self) -> Option<Result<(), Damage>> {
        let offset = self.parts.read_to();
        let part = self.parts.next()?;
        self.n_parts += 1;
        let skipped = self.parts.read_to() - offset;
        let damaged = Damage::DamagedPart { offset, skipped };
        Some(part.and_then(|part| {
            if part.offset > self.length() {
                return Err(damaged);
            }
            let room = match part.held {
                Held::Chunk(chunk) => chunk.header.length.get().min(MAX_ROOM),
                Held::Place(_) => 0,
            };
            self.explain(part.offset, room)?;
            self.part = Some(StartedPart {
                part,
                next: 0,
                damaged,
            });
            Ok(())
        }))
    }
}

impl Iterator for Expansion<'_> {
    type Item = Result<Piece, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(head) = self.head.take() {
            self.end = head.bytes.len() as u64;
            return Some(Ok(head));
        }
        loop {
            if let Some(piece) = self.piece_of_part() {
                return Some(piece);
            }
            match self.begin_part() {
                Some(Ok(())) => {}
                Some(Err(damage)) => return Some(Err(damage)),
                None => break,
            }
        }
        let (expected, found) = (self.parts.n_stated(), self.n_parts);
        if found != expected {
            self.n_parts = expected;
            return Some(Err(Damage::MissingParts { expected, found }));
        }
        let length = self.length();
        let (end, is_explained) = (self.end, self.end >= length);
        self.end = length;
        let zeros = length.saturating_sub(end);
        (!is_explained && self.unexplained_zeros.saturating_add(zeros) > MAX_SPARSE).then_some(Err(
            Damage::Hollow {
                length,
                explained: end,
            },
        ))
    }
}

/// The bytes do not unpack to what their header states.
struct DoesNotUnpack;

impl Part<'_> {
    /// One of the part's pieces, by number; `None` after the last one.
    fn piece(&self, n: usize) -> Option<Result<Piece, DoesNotUnpack>> {
        let piece = |at: usize, bytes: Option<Vec<u8>>| {
            let offset = self.offset.saturating_add(at as u64);
            bytes
                .map(|bytes| Piece { offset, bytes })
                .ok_or(DoesNotUnpack)
        };
        let chunk = match self.held {
            Held::Place(packed) => return (n == 0).then(|| piece(0, packed.unpack())),
            Held::Chunk(chunk) => chunk,
        };
        let opening = chunk.opening.len();
        if n == 0 {
            return Some(piece(0, Some(chunk.opening.to_vec())));
        }
        match chunk.content {
            PartContent::Records(records, trailing) => {
                let block = n - 1;
                if block < records.n_blocks() {
                    let at = opening + records.first_of(block) * size_of::<Record>();
                    let bytes = records.unpack(block).as_bytes().to_vec();
                    return Some(piece(at, Some(bytes)));
                }
                let at = opening + records.len() * size_of::<Record>();
                let trailing = trailing.filter(|_| block == records.n_blocks())?;
                Some(piece(at, trailing.unpack()))
            }
            PartContent::Other(packed) => (n == 1).then(|| piece(opening, packed.unpack())),
        }
    }
}

/// How a compact file differs from the file it was made of.
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
    /// Bytes differ.
    #[error("bytes differ at offset {offset} of the recorded file")]
    Differs {
        /// Where the first piece that differs begins, in bytes.
        offset: u64,
    },
    /// The length differs.
    #[error("the recorded file has {expected} bytes, the expanded one {found}")]
    Length {
        /// Bytes of the recorded file.
        expected: u64,
        /// Bytes expanded.
        found: u64,
    },
}

/// Checks that a compact file expands to the bytes of a recorded one.
///
/// # Errors
/// [`Mismatch`] where they do not.
pub fn expands_to(compact: &[u8], recorded: &[u8]) -> Result<(), Mismatch> {
    compared(compact, recorded)?.collect()
}

/// Compares a compact file with a recorded one piece by piece, for callers that must not wait for
/// the whole. Each item is one piece; the first error is the result.
///
/// # Errors
/// [`Mismatch`] where they differ.
pub fn compared<'a>(
    compact: &'a [u8],
    recorded: &'a [u8],
) -> Result<impl Iterator<Item = Result<(), Mismatch>> + use<'a>, Mismatch> {
    let mut expansion = Expansion::of(compact)?.ok_or(Mismatch::NotCompact)?;
    let (expected, found) = (recorded.len() as u64, expansion.length());
    if expected != found {
        return Err(Mismatch::Length { expected, found });
    }
    let is_zero = |bytes: &[u8]| bytes.iter().all(|&byte| byte == 0);
    let mut rest = Some((0, recorded));
    Ok(std::iter::from_fn(move || {
        let (at, ahead) = rest?;
        let (offset, bytes) = match expansion.next() {
            Some(Ok(Piece { offset, bytes })) => (offset, bytes),
            Some(Err(damage)) => return Some(Err(damage.into())),
            None => {
                rest = None;
                return Some(if is_zero(ahead) {
                    Ok(())
                } else {
                    Err(Mismatch::Differs { offset: at })
                });
            }
        };
        let before = offset
            .checked_sub(at)
            .and_then(|n| ahead.split_at_checked(usize::try_from(n).ok()?));
        let split = before.and_then(|(before, ahead)| {
            let (here, ahead) = ahead.split_at_checked(bytes.len())?;
            (is_zero(before) && here == bytes).then_some(ahead)
        });
        let Some(ahead) = split else {
            return Some(Err(Mismatch::Differs { offset }));
        };
        rest = Some((offset + bytes.len() as u64, ahead));
        Some(Ok(()))
    }))
}
