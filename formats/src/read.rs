//! Bytes of a rank file, in whatever state it was left, to what it says.

use std::borrow::Cow;

use zerocopy::FromBytes;

use crate::compact::{Held, PackedChunk, PartContent};
use crate::{
    Anchor, CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, Definition, EndDamaged, FILE_MAGIC,
    FORMAT_VERSION, FileHeader, Identity, MetaError, PLACE_MAGIC, Record, Records, SequenceEntry,
    StopReason, Window, compact, decode_meta,
};

/// Why bytes are not a rank file that this version can read at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// Another kind of file.
    #[error("offset 0: not a collbench trace: expected the bytes \"COLLBNCH\", found {found}")]
    NotATrace {
        /// The first bytes, printable.
        found: String,
    },
    /// Nothing in it.
    #[error("offset 0: the file is empty; the process ended before it could write its header")]
    Empty,
    /// Cut within the header or the identity: there is nothing to read.
    #[error(
        "offset {length}: the file ends inside its header, which takes {expected} bytes: its \
         process ended while writing it, or it was copied in part"
    )]
    CutInHeader {
        /// Length of the file, in bytes.
        length: u64,
        /// Length that the header needs, in bytes.
        expected: u64,
    },
    /// Written by a version that this one does not know.
    #[error(
        "offset 8: format version {found}, this collbench reads versions {FORMAT_VERSION} and {}; \
         use the collbench that wrote it, or a newer one",
        compact::COMPACT_VERSION
    )]
    Version {
        /// The version found.
        found: u16,
    },
    /// The header contradicts itself.
    #[error("offset {offset}: damaged header: {what}: expected {expected}, found {found}")]
    DamagedHeader {
        /// Where, in bytes.
        offset: u64,
        /// Which field.
        what: &'static str,
        /// What had to stand there.
        expected: u64,
        /// What stands there.
        found: u64,
    },
    /// The identity does not decode.
    #[error("offset {offset}: damaged identity: {error}")]
    Identity {
        /// Where, in bytes.
        offset: u64,
        /// What is wrong with it.
        error: MetaError,
    },
}

/// What is missing or wrong in a rank file that could be read. Data, not an error.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// The process ended without `MPI_Finalize`, or the file was cut.
    #[error("the process ended without MPI_Finalize")]
    NotFinalized,
    /// Recording ended before the program.
    #[error("recording stopped early ({}), {calls_after} calls were not recorded", stop_words(*.reason, .text))]
    StoppedEarly {
        /// Why.
        reason: StopReason,
        /// In the recorder's words.
        text: String,
        /// Calls of the application that were not recorded.
        calls_after: u64,
    },
    /// The file is shorter than its last chunk says.
    #[error("offset {length}: the file ends here, inside a chunk that should reach to {expected}")]
    Cut {
        /// Length of the file, in bytes.
        length: u64,
        /// Where the last chunk should have ended.
        expected: u64,
    },
    /// Bytes that are not a chunk, where one had to begin; skipped.
    #[error("offset {offset}: expected a chunk, found something else; {skipped} bytes skipped")]
    NotAChunk {
        /// Where, in bytes.
        offset: u64,
        /// How many bytes were skipped.
        skipped: u64,
    },
    /// A chunk with fewer records than it says.
    #[error("offset {offset}: the chunk says {expected} records, found {found}")]
    MissingRecords {
        /// Where the chunk begins, in bytes.
        offset: u64,
        /// Records stated.
        expected: u64,
        /// Records found.
        found: u64,
    },
    /// The anchor at the end, or the number of records, is not what was written; both are left out.
    #[error("what the header says of the end fails its checksum")]
    End,
    /// The chunks have other records in all than the header says.
    #[error("the header says {expected} records in all, found {found}")]
    LostRecords {
        /// Records stated.
        expected: u64,
        /// Records found.
        found: u64,
    },
    /// Chunks of a thread are missing before this one.
    #[error("offset {offset}: chunk {expected} of thread {thread} expected, found {found}")]
    MissingChunk {
        /// Where the chunk begins, in bytes.
        offset: u64,
        /// The thread.
        thread: u32,
        /// Number of the chunk expected.
        expected: u32,
        /// Number of the chunk found.
        found: u32,
    },
    /// A part of a compact file that is not as it was written; what it held is lost.
    #[error("offset {offset}: damaged part of a compact trace; {skipped} bytes skipped")]
    DamagedPart {
        /// Where in the compact file, in bytes.
        offset: u64,
        /// How many bytes were skipped.
        skipped: u64,
    },
    /// A compact file with fewer parts than it says.
    #[error("the compact trace says {expected} parts, found {found}")]
    MissingParts {
        /// Parts stated.
        expected: u32,
        /// Parts found, damaged ones included.
        found: u32,
    },
    /// A compact file that says of a longer one than its parts can have been of.
    #[error(
        "the compact trace says that {length} bytes were recorded; behind {explained} there is \
         nothing that they could have been"
    )]
    Hollow {
        /// Bytes of the recorded file, as stated.
        length: u64,
        /// Up to where parts say what there was.
        explained: u64,
    },
    /// A definition that does not decode; those behind it in its chunk are lost.
    #[error("offset {offset}: damaged definition: {error}")]
    Definition {
        /// Where, in bytes.
        offset: u64,
        /// What is wrong with it.
        error: MetaError,
    },
}

fn stop_words(reason: StopReason, text: &str) -> String {
    let reason = match reason {
        StopReason::NotStopped => "not stopped",
        StopReason::NoSpace => "no space",
        StopReason::SizeReached => "size reached",
        StopReason::Failed => "failure",
    };
    if text.is_empty() {
        reason.to_owned()
    } else {
        format!("{reason}: {text}")
    }
}

/// One chunk of records.
///
/// A file of 100 GB has 100,000 of these and more, in pages of their own: what is looked up for
/// all of them is held here, so that it takes no access to the file.
#[derive(Debug, Clone, Copy)]
pub struct Chunk<'a> {
    /// Where it begins in the file, in bytes; of a compact file in the file as it was recorded.
    pub offset: u64,
    /// Where its records begin, likewise.
    pub content: u64,
    /// Its thread: see [`ChunkHeader::thread`].
    pub thread: u32,
    /// Its number among those of the thread: see [`ChunkHeader::ordinal`].
    pub ordinal: u32,
    /// When it was opened, ticks; 0 without a reading.
    pub opened_ticks: u64,
    /// How long the application stood still for it, ticks.
    pub pause_ticks: u64,
    /// Its header, in the file.
    pub header: &'a ChunkHeader,
    /// Calls begun on each communicator before the chunk.
    pub sequences: &'a [SequenceEntry],
    /// Its records, in the order in which their calls began; no free slots.
    pub records: Records<'a>,
}

impl Chunk<'_> {
    /// Where the bytes begin and end in the file that hold some of its records: `n` from the
    /// `first` on, > 0, which are there.
    #[must_use]
    #[inline]
    pub fn span(&self, first: usize, n: usize) -> (u64, u64) {
        match &self.records {
            Records::InPlace(_) => {
                let offset_of = |at: usize| self.content + (at * size_of::<Record>()) as u64;
                (offset_of(first), offset_of(first + n))
            }
            Records::Packed(packed) => {
                let span = |at| packed.span(packed.block_of(at).0);
                (span(first).0, span(first + n - 1).1)
            }
        }
    }
}

/// The content of a chunk that is not of records.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Content<'a> {
    InPlace(&'a [u8]),
    Packed(compact::PackedBytes<'a>),
}

impl<'a> Content<'a> {
    fn bytes(&self) -> Cow<'a, [u8]> {
        match self {
            Self::InPlace(bytes) => Cow::Borrowed(bytes),
            // What does not unpack is none.
            Self::Packed(packed) => Cow::Owned(packed.unpack().unwrap_or_default()),
        }
    }
}

/// The definitions in a rank file, decoded when they are looked at: there may be millions.
#[derive(Debug, Clone, Default)]
pub struct Definitions<'a> {
    /// Number of each chunk of them, what it holds, and how many bytes of that are true.
    chunks: Vec<(u32, Content<'a>, usize)>,
    n: usize,
}

impl Definitions<'_> {
    /// How many there are.
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

/// One rank file, read in place.
#[derive(Debug, Clone)]
pub struct RankTrace<'a> {
    /// The fixed header.
    pub header: FileHeader,
    /// Who recorded.
    pub identity: Identity,
    /// All definitions, in the order in which they were made.
    pub definitions: Definitions<'a>,
    /// All chunks of records, by thread, then by their order in time.
    pub chunks: Vec<Chunk<'a>>,
    /// Every clock reading in the file, in order of ticks.
    pub anchors: Vec<Anchor>,
    /// What of the calls is there, where a ring was recorded into.
    pub window: Option<Window<'a>>,
    /// What is missing or wrong.
    pub damage: Vec<Damage>,
}

impl<'a> RankTrace<'a> {
    /// Reads a rank file from its bytes: a finished one, one still being written, one left by a
    /// killed process, or one cut anywhere behind its header.
    ///
    /// Takes time by the number of chunks and definitions, not of records (only in open chunks
    /// the end is looked for). Allocates by the number of chunks.
    ///
    /// # Errors
    /// [`FormatError`] if there is nothing to read: not a trace, another version, or damage in
    /// the header. Damage behind the header is listed in [`RankTrace::damage`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        Self::parse_passing(bytes, &mut |_| {})
    }

    /// Like [`RankTrace::parse`]. `passed` is called for each chunk with the offset behind it:
    /// whoever mapped the bytes can give back the pages before, most of which are not read for
    /// long.
    ///
    /// # Errors
    /// Those of [`RankTrace::parse`].
    pub fn parse_passing(
        bytes: &'a [u8],
        passed: &mut dyn FnMut(u64),
    ) -> Result<Self, FormatError> {
        let packed = compact::Parts::of(bytes)?;
        let (header, identity) = match &packed {
            None => parse_header(bytes)?,
            Some(parts) => parts.header()?,
        };
        let mut trace = Self {
            header,
            anchors: identity.anchors.iter().copied().map(Anchor::from).collect(),
            identity,
            definitions: Definitions::default(),
            chunks: Vec::new(),
            window: None,
            damage: Vec::new(),
        };
        match packed {
            None => trace.read_chunks(bytes, passed),
            Some(parts) => trace.read_parts(parts, passed),
        }
        trace.order_chunks();
        let keep_bytes = header.keep_bytes.get();
        trace.window = (keep_bytes > 0).then(|| Window::of_chunks(&trace.chunks, keep_bytes));
        let end = header.end();
        if let Ok(Some((anchor, _))) = end {
            trace.anchors.push(anchor);
        }
        trace.anchors.retain(Anchor::is_some);
        trace.chunks.shrink_to_fit();
        trace.anchors.shrink_to_fit();
        trace.anchors.sort_by_key(|anchor| anchor.ticks.get());
        let reason = StopReason::from_code(header.stop_reason.get());
        if reason != StopReason::NotStopped {
            trace.damage.push(Damage::StoppedEarly {
                reason,
                text: header.stop_text(),
                calls_after: header.calls_after_stop.get(),
            });
        }
        match end {
            Ok(None) => trace.damage.push(Damage::NotFinalized),
            Err(EndDamaged) => trace.damage.push(Damage::End),
            Ok(Some((_, expected))) => {
                let dropped = trace
                    .window
                    .map_or(0, |window| window.n_records_overwritten);
                let records = trace.chunks.iter().map(|chunk| chunk.records.len() as u64);
                let found = records.fold(dropped, u64::saturating_add);
                if found != expected {
                    trace.damage.push(Damage::LostRecords { expected, found });
                }
            }
        }
        Ok(trace)
    }

    fn read_chunks(&mut self, bytes: &'a [u8], passed: &mut dyn FnMut(u64)) {
        let length = bytes.len() as u64;
        for step in Walk::of(bytes, &self.header) {
            match step {
                Step::Place { offset, bytes } => passed(offset + bytes.len() as u64),
                Step::Chunk(found) => {
                    self.read_chunk(&found);
                    self.look_at_end(found.offset, found.header, length);
                    passed(found.offset.saturating_add(found.header.length.get()));
                }
                Step::Skipped { offset, skipped } => {
                    // Room that was reserved for a chunk, but not opened before the end.
                    if skipped.iter().any(|&b| b != 0) {
                        self.damage.push(Damage::NotAChunk {
                            offset,
                            skipped: skipped.len() as u64,
                        });
                    }
                    passed(offset + skipped.len() as u64);
                }
            }
        }
    }

    fn read_chunk(&mut self, found: &FoundChunk<'a>) {
        let &FoundChunk {
            offset,
            header,
            sequences,
            bytes,
        } = found;
        let content_at = header.content_at.get() as usize;
        let content = bytes.get(content_at..).unwrap_or_default();
        match found.kind() {
            Some(ChunkKind::Records) => {
                let records = Records::InPlace(used_records(header, content));
                self.add_records(offset, header, sequences, records);
            }
            Some(ChunkKind::Definitions) => {
                self.add_definitions(offset, header, Content::InPlace(content));
            }
            // A kind of a later version: its length says how to pass it by.
            None => {}
        }
    }

    fn read_parts(&mut self, mut parts: compact::Parts<'a>, passed: &mut dyn FnMut(u64)) {
        let length = parts.recorded_length();
        let expected = parts.n_stated();
        let mut found = 0;
        while let Some(part) = parts.next() {
            found += 1;
            match part {
                Ok(part) => {
                    if let Held::Chunk(chunk) = part.held {
                        self.read_packed_chunk(part.offset, &chunk);
                        self.look_at_end(part.offset, chunk.header, length);
                    }
                }
                Err(damage) => self.damage.push(damage),
            }
            passed(parts.read_to());
        }
        if found < expected {
            self.damage.push(Damage::MissingParts { expected, found });
        }
    }

    fn read_packed_chunk(&mut self, offset: u64, chunk: &PackedChunk<'a>) {
        let header = chunk.header;
        match chunk.content {
            PartContent::Records(records, _) => {
                let records = Records::Packed(records);
                self.add_records(offset, header, chunk.sequences, records);
            }
            PartContent::Other(packed) => {
                if header.kind.get() == ChunkKind::Definitions as u32 {
                    self.add_definitions(offset, header, Content::Packed(packed));
                }
            }
        }
    }

    /// Notes where the file ends inside a chunk, unless its recorder cut it to size.
    fn look_at_end(&mut self, offset: u64, chunk: &ChunkHeader, length: u64) {
        let expected = offset.saturating_add(chunk.length.get());
        let ends_in_order = || {
            self.header.finalized.get() == 1
                && chunk.closed.get() > 0
                && self.chunks.last().is_none_or(|chunk| {
                    let n_bytes = (chunk.records.len() * size_of::<Record>()) as u64;
                    chunk.content.saturating_add(n_bytes) <= length
                })
        };
        if expected > length && !ends_in_order() {
            self.damage.push(Damage::Cut { length, expected });
        }
    }

    fn add_records(
        &mut self,
        offset: u64,
        header: &'a ChunkHeader,
        sequences: &'a [SequenceEntry],
        records: Records<'a>,
    ) {
        let found = records.len() as u64;
        if let Some(expected) = header.closed.get().checked_sub(1)
            && found < expected
        {
            self.damage.push(Damage::MissingRecords {
                offset,
                expected,
                found,
            });
        }
        if header.anchor.is_some() {
            self.anchors.push(header.anchor);
        }
        let prepare = (header.prepare_begin.get(), header.prepare_end.get());
        self.chunks.push(Chunk {
            offset,
            content: offset.saturating_add(u64::from(header.content_at.get())),
            thread: header.thread.get(),
            ordinal: header.ordinal.get(),
            opened_ticks: header.anchor.ticks.get(),
            pause_ticks: prepare.1.saturating_sub(prepare.0),
            header,
            sequences,
            records,
        });
    }

    fn add_definitions(&mut self, offset: u64, header: &ChunkHeader, content: Content<'a>) {
        if header.anchor.is_some() {
            self.anchors.push(header.anchor);
        }
        let offset = offset.saturating_add(u64::from(header.content_at.get()));
        let bytes = content.bytes();
        let mut at = 0;
        while let Some((decoded, length)) = next_definition(&bytes[at..]) {
            match decoded {
                Ok(_) => self.definitions.n += 1,
                Err(error) => {
                    let offset = offset.saturating_add(at as u64);
                    self.damage.push(Damage::Definition { offset, error });
                    break;
                }
            }
            at += length;
        }
        if at > 0 {
            let ordinal = header.ordinal.get();
            self.definitions.chunks.push((ordinal, content, at));
        }
    }

    fn order_chunks(&mut self) {
        // In a ring they stand in any order.
        self.definitions
            .chunks
            .sort_by_key(|(ordinal, ..)| *ordinal);
        self.chunks
            .sort_by_key(|chunk| (chunk.thread, chunk.ordinal));
        let is_ring = self.header.keep_bytes.get() > 0;
        let mut thread = None;
        let mut expected = 0;
        for chunk in &self.chunks {
            let (this, found) = (chunk.thread, chunk.ordinal);
            if thread != Some(this) {
                thread = Some(this);
                // The first ones of a thread may have been overwritten.
                expected = if is_ring { found } else { 0 };
            }
            if found != expected {
                let offset = chunk.offset;
                self.damage.push(Damage::MissingChunk {
                    offset,
                    thread: this,
                    expected,
                    found,
                });
            }
            expected = found.wrapping_add(1);
        }
    }
}

/// The definition at the start of `content`, and the bytes that it takes; `None` behind the last.
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
            "{length} bytes stated, the chunk has {} more",
            rest.len()
        ))),
    };
    Some((decoded, 8 + length.next_multiple_of(8).min(rest.len())))
}

pub(crate) fn parse_header(bytes: &[u8]) -> Result<(FileHeader, Identity), FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let magic = &bytes[..bytes.len().min(8)];
    if magic != &FILE_MAGIC[..magic.len()] {
        let found = if magic.iter().all(|&b| b == 0) {
            format!("{} zero bytes", magic.len())
        } else {
            format!("\"{}\"", magic.escape_ascii())
        };
        return Err(FormatError::NotATrace { found });
    }
    let length = bytes.len() as u64;
    let Ok((header, _)) = FileHeader::ref_from_prefix(bytes) else {
        return Err(FormatError::CutInHeader {
            length,
            expected: size_of::<FileHeader>() as u64,
        });
    };
    if header.version.get() != FORMAT_VERSION {
        return Err(FormatError::Version {
            found: header.version.get(),
        });
    }
    let damaged = |offset, what, expected, found| {
        Err(FormatError::DamagedHeader {
            offset,
            what,
            expected,
            found,
        })
    };
    let (expected, found) = (header.checksum(), header.header_crc32.get());
    if expected != found {
        return damaged(32, "checksum", u64::from(expected), u64::from(found));
    }
    // Behind the checksum, a wrong value comes from another writer, not from a flipped bit.
    let sizes = [
        (
            10,
            "codec of the identity",
            1,
            u64::from(header.meta_codec.get()),
        ),
        (
            12,
            "bytes of a record",
            size_of::<Record>() as u64,
            u64::from(header.record_bytes.get()),
        ),
        (
            14,
            "bytes of a chunk header",
            size_of::<ChunkHeader>() as u64,
            u64::from(header.chunk_header_bytes.get()),
        ),
        (
            16,
            "offset of the first chunk, a multiple of 4096",
            header.header_length.get() / CHUNK_ALIGN * CHUNK_ALIGN,
            header.header_length.get(),
        ),
    ];
    for (offset, what, expected, found) in sizes {
        if expected != found {
            return damaged(offset, what, expected, found);
        }
    }
    let from = size_of::<FileHeader>();
    let to = from + header.identity_length.get() as usize;
    if header.header_length.get() < to as u64 {
        return damaged(
            16,
            "offset of the first chunk",
            to as u64,
            header.header_length.get(),
        );
    }
    let Some(encoded) = bytes.get(from..to) else {
        return Err(FormatError::CutInHeader {
            length,
            expected: to as u64,
        });
    };
    let identity: Identity =
        decode_meta(encoded, header.identity_crc32.get()).map_err(|error| {
            FormatError::Identity {
                offset: from as u64,
                error,
            }
        })?;
    if identity.rank >= identity.world_size {
        let (expected, found) = (u64::from(identity.world_size), u64::from(identity.rank));
        return damaged(from as u64, "rank below the world size", expected, found);
    }
    Ok((*header, identity))
}

/// Bytes of sequence tables that may still be summed and found wrong. In a file of nothing but
/// headers whose tables reach to its end, looking for the next true one would take the square of
/// its length.
pub(crate) struct ChecksumBudget(pub(crate) u64);

/// The chunk header at the start of `bytes` and the table behind it, if they are whole and true,
/// and the budget allows to say so. (For a table within [`CHUNK_ALIGN`] it always does.)
pub(crate) fn parse_chunk_header<'a>(
    bytes: &'a [u8],
    budget: &mut ChecksumBudget,
) -> Option<(&'a ChunkHeader, &'a [SequenceEntry])> {
    let (header, rest) = ChunkHeader::ref_from_prefix(bytes).ok()?;
    let n_sequences = header.n_sequences.get() as usize;
    let is_plausible = header.magic == CHUNK_MAGIC
        && header.length.get() >= CHUNK_ALIGN
        && header.length.get() % CHUNK_ALIGN == 0
        && header.content_at.get() as usize == ChunkHeader::content_offset(n_sequences)
        && u64::from(header.content_at.get()) <= header.length.get();
    if !is_plausible {
        return None;
    }
    let (sequences, _) = <[SequenceEntry]>::ref_from_prefix_with_elems(rest, n_sequences).ok()?;
    let n_bytes = size_of_val(sequences) as u64;
    if n_bytes > budget.0.max(CHUNK_ALIGN) {
        return None;
    }
    let is_true = header.checksum(sequences) == header.crc32.get();
    if !is_true {
        budget.0 = budget.0.saturating_sub(n_bytes);
    }
    is_true.then_some((header, sequences))
}

/// A chunk, and the bytes of it that are there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundChunk<'a> {
    /// Where it begins in the file, in bytes.
    pub(crate) offset: u64,
    pub(crate) header: &'a ChunkHeader,
    pub(crate) sequences: &'a [SequenceEntry],
    /// From its first byte to its end, or that of the file.
    pub(crate) bytes: &'a [u8],
}

impl FoundChunk<'_> {
    /// What it holds; `None` for a kind of a later version.
    pub(crate) fn kind(&self) -> Option<ChunkKind> {
        ChunkKind::from_code(self.header.kind.get())
    }
}

/// What comes next in a file.
pub(crate) enum Step<'a> {
    Chunk(FoundChunk<'a>),
    /// A place in a ring that its recorder was about to use again.
    Place {
        offset: u64,
        bytes: &'a [u8],
    },
    /// Something else, up to the next chunk (or place) or the end.
    Skipped {
        offset: u64,
        skipped: &'a [u8],
    },
}

/// The walk from chunk to chunk.
pub(crate) struct Walk<'a> {
    bytes: &'a [u8],
    at: u64,
    is_ring: bool,
    checksums: ChecksumBudget,
}

impl<'a> Walk<'a> {
    /// Through the file with this header.
    pub(crate) fn of(bytes: &'a [u8], header: &FileHeader) -> Self {
        Self {
            bytes,
            at: header.header_length.get(),
            is_ring: header.keep_bytes.get() > 0,
            checksums: ChecksumBudget(bytes.len() as u64),
        }
    }

    /// Length of the place at the start of these bytes, if it is one that its recorder was about to
    /// use again.
    fn place_in_ring(&self, bytes: &[u8]) -> Option<u64> {
        let (header, _) = ChunkHeader::ref_from_prefix(bytes).ok()?;
        let length = header.length.get();
        let is_place = self.is_ring
            && header.magic == PLACE_MAGIC
            && length >= CHUNK_ALIGN
            && length % CHUNK_ALIGN == 0
            && length <= bytes.len() as u64;
        is_place.then_some(length)
    }

    /// Where the next true chunk (or place of a ring) begins behind `at`, or the end of the bytes.
    fn next_chunk(&mut self, at: u64) -> u64 {
        let mut next = at;
        loop {
            next = (next + 1).next_multiple_of(CHUNK_ALIGN);
            if next >= self.bytes.len() as u64 {
                return self.bytes.len() as u64;
            }
            let rest = &self.bytes[next as usize..];
            let is_chunk = rest.starts_with(&CHUNK_MAGIC)
                && parse_chunk_header(rest, &mut self.checksums).is_some();
            if is_chunk || self.place_in_ring(rest).is_some() {
                return next;
            }
        }
    }
}

impl<'a> Iterator for Walk<'a> {
    type Item = Step<'a>;

    fn next(&mut self) -> Option<Step<'a>> {
        let offset = self.at;
        let length = self.bytes.len() as u64;
        if offset >= length {
            return None;
        }
        // The casts are lossless: both are below a length in memory.
        let rest = &self.bytes[offset as usize..];
        if let Some((header, sequences)) = parse_chunk_header(rest, &mut self.checksums) {
            self.at = offset.saturating_add(header.length.get());
            return Some(Step::Chunk(FoundChunk {
                offset,
                header,
                sequences,
                bytes: &rest[..header.length.get().min(rest.len() as u64) as usize],
            }));
        }
        if let Some(length) = self.place_in_ring(rest) {
            self.at = offset + length;
            let bytes = &rest[..length as usize];
            return Some(Step::Place { offset, bytes });
        }
        self.at = self.next_chunk(offset);
        let skipped = &rest[..(self.at - offset) as usize];
        Some(Step::Skipped { offset, skipped })
    }
}

/// The records in the content of a chunk: of a closed one as many as it says, of an open one all
/// before the first free slot.
pub(crate) fn used_records<'a>(header: &ChunkHeader, content: &'a [u8]) -> &'a [Record] {
    let whole = content.len() / size_of::<Record>() * size_of::<Record>();
    let slots = <[Record]>::ref_from_bytes(&content[..whole])
        .expect("records have no alignment and the length is a multiple of theirs");
    // No recorder makes a chunk of so many; 32 bits number them.
    let slots = &slots[..slots.len().min(u32::MAX as usize)];
    match header.closed.get() {
        0 => &slots[..used_slots(slots)],
        n => &slots[..(n - 1).min(slots.len() as u64) as usize],
    }
}

/// Number of slots in use, in an open chunk: all before the first free one.
fn used_slots(slots: &[Record]) -> usize {
    // Slots are taken in order, so the first free one can be found by halving.
    slots.partition_point(|slot| !slot.is_free())
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::{
        Abi, ClockIdentity, ClockSource, Communicator, CommunicatorKind, HostIdentity, LayerState,
        MpiIdentity, NO_COMMUNICATOR, NO_RANK, Operation, encode,
    };

    pub(crate) fn anchor(ticks: u64) -> Anchor {
        [ticks, ticks / 2, ticks / 2 + 7, ticks / 2 + 9, 3].into()
    }

    pub(crate) fn place(ordinal: u32, first_record: u64, ticks: u64) -> encode::ChunkPlace {
        encode::ChunkPlace {
            thread: 0,
            ordinal,
            first_record,
            first_call: 0,
            anchor: anchor(ticks),
            prepare: (0, 0),
        }
    }

    pub(crate) fn identity() -> Identity {
        Identity {
            recorder: "0.1.0".into(),
            world: 77,
            rank: 1,
            world_size: 4,
            pid: 4711,
            spawned: false,
            host: HostIdentity {
                name: "h1".into(),
                boot_id: "b".into(),
                time_namespace: 1,
            },
            clock: ClockIdentity {
                source: ClockSource::Tsc,
                granularity_ticks: 26,
                read_cost_milliticks: 23_000,
            },
            mpi: MpiIdentity {
                abi: Abi::OpenMpi,
                library_version: "Open MPI v4.1.4".into(),
                library_path: "/lib/libmpi.so.40".into(),
                thread_level: 0,
            },
            layers: vec![LayerState {
                name: "calls".into(),
                on: true,
                reason: String::new(),
            }],
            command: vec!["./app".into()],
            anchors: vec![anchor(10).into(), anchor(20).into()],
        }
    }

    fn world() -> Definition {
        Definition::Communicator(Communicator {
            index: 0,
            id: 5,
            parent: NO_COMMUNICATOR,
            constructor: 0,
            position: 0,
            kind: CommunicatorKind::Intra,
            size: 4,
            rank: 1,
            remote_size: 0,
            first_member: 0,
            remote_first_member: NO_RANK,
            name: "MPI_COMM_WORLD".into(),
        })
    }

    pub(crate) fn calls(from: u64, n: u64) -> Vec<Record> {
        (from..from + n)
            .map(|i| {
                Record::call(
                    Operation::Allreduce,
                    0,
                    0,
                    -1,
                    8,
                    100 + 10 * i,
                    105 + 10 * i,
                )
            })
            .collect()
    }

    /// Two chunks of records, the second one open, between them a chunk of definitions.
    pub(crate) fn file(in_first: u64, in_second: u64, finalized: bool) -> Vec<u8> {
        let end = finalized.then(|| (anchor(9_000_000), in_first + in_second));
        let mut bytes = encode::file_header(&identity(), end).unwrap();
        bytes.extend(encode::records_chunk(
            &place(0, 0, 90),
            &[],
            &calls(0, in_first),
            true,
        ));
        bytes.extend(encode::definitions_chunk(0, anchor(95), &[world()]).unwrap());
        let entry = SequenceEntry {
            communicator: 0.into(),
            internal_calls: 0.into(),
            calls: in_first.into(),
        };
        let second = calls(in_first, in_second);
        bytes.extend(encode::records_chunk(
            &place(1, in_first, 99),
            &[entry],
            &second,
            false,
        ));
        bytes
    }

    #[test]
    fn a_whole_file_comes_back() {
        let bytes = file(300, 5, true);
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.identity, identity());
        assert_eq!(trace.definitions.iter().collect::<Vec<_>>(), [world()]);
        assert_eq!(trace.damage, []);
        let records: Vec<_> = trace.chunks.iter().flat_map(|c| c.records.iter()).collect();
        assert_eq!(records, calls(0, 305));
        assert_eq!(trace.chunks[1].sequences[0].calls.get(), 300);
        let ticks: Vec<_> = trace.anchors.iter().map(|a| a.ticks.get()).collect();
        assert_eq!(ticks, [10, 20, 90, 95, 99, 9_000_000]);
    }

    #[test]
    fn a_damaged_end_is_told_and_left_out_and_one_without_checksum_is_taken() {
        let whole = file(300, 5, true);
        let at = std::mem::offset_of!(FileHeader, end_anchor);
        let n_records = std::mem::offset_of!(FileHeader, n_records);
        let crc = std::mem::offset_of!(FileHeader, end_crc32);
        let last_anchor = |bytes: &[u8]| {
            let trace = RankTrace::parse(bytes).unwrap();
            let last = trace.anchors.last().unwrap().ticks.get();
            (last, trace.damage)
        };
        for bit in [8 * at, 8 * at + 319, 8 * n_records + 1, 8 * crc + 31] {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(last_anchor(&bytes), (99, vec![Damage::End]), "bit {bit}");
        }
        // As earlier recorders left it.
        let mut bytes = whole;
        bytes[crc..crc + 4].fill(0);
        assert_eq!(last_anchor(&bytes), (9_000_000, vec![]));
    }

    #[test]
    fn a_file_cut_at_any_byte_gives_all_records_before_the_cut() {
        let whole = file(130, 70, true);
        let record_ends: Vec<usize> = {
            let trace = RankTrace::parse(&whole).unwrap();
            trace
                .chunks
                .iter()
                .flat_map(|c| {
                    let content = c.offset as usize + c.header.content_at.get() as usize;
                    (1..=c.records.len()).map(move |i| content + 32 * i)
                })
                .collect()
        };
        for cut in 0..whole.len() {
            let parsed = RankTrace::parse(&whole[..cut]);
            let identity_end = 256 + whole[24] as usize + 256 * whole[25] as usize;
            if cut < identity_end {
                assert!(parsed.is_err(), "cut at {cut}");
                continue;
            }
            let trace = parsed.unwrap();
            let found: usize = trace.chunks.iter().map(|c| c.records.len()).sum();
            let expected = record_ends.iter().filter(|&&end| end <= cut).count();
            assert_eq!(found, expected, "cut at {cut}");
            if found < 200 {
                assert_ne!(trace.damage, [], "cut at {cut}");
            }
        }
    }

    #[test]
    fn a_file_cut_behind_its_last_record_by_its_recorder_is_whole() {
        let mut bytes = encode::file_header(&identity(), Some((anchor(900), 3))).unwrap();
        bytes.extend(encode::records_chunk(
            &place(0, 0, 90),
            &[],
            &calls(0, 3),
            true,
        ));
        let end = bytes.len() - 4096 + 128 + 3 * 32;
        let trace = RankTrace::parse(&bytes[..end]).unwrap();
        assert_eq!(trace.damage, []);
        assert_eq!(trace.chunks[0].records.len(), 3);
        let trace = RankTrace::parse(&bytes[..end - 1]).unwrap();
        assert!(trace.damage.contains(&Damage::LostRecords {
            expected: 3,
            found: 2
        }));
    }

    #[test]
    fn a_call_under_way_is_the_last_record_of_a_killed_process() {
        let mut bytes = encode::file_header(&identity(), None).unwrap();
        let mut records = calls(0, 4);
        records.push(Record::call(Operation::Barrier, 0, 0, -1, 0, 500, 0));
        bytes.extend(encode::records_chunk(
            &place(0, 0, 90),
            &[],
            &records,
            false,
        ));
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, [Damage::NotFinalized]);
        assert_eq!(trace.chunks[0].records.len(), 5);
        assert!(trace.chunks[0].records.get(4).unwrap().is_in_flight());
    }

    #[test]
    fn a_damaged_chunk_costs_itself_only() {
        let mut bytes = file(300, 5, true);
        let first = RankTrace::parse(&bytes).unwrap().chunks[0].offset as usize;
        bytes[first + 9] ^= 0x40;
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.chunks.len(), 1);
        let records: Vec<_> = trace.chunks[0].records.iter().collect();
        assert_eq!(records, calls(300, 5));
        assert_eq!(trace.definitions.len(), 1);
        assert!(matches!(
            trace.damage[0],
            Damage::NotAChunk { skipped: 12288, .. }
        ));
        assert!(matches!(
            trace.damage[1],
            Damage::MissingChunk {
                expected: 0,
                found: 1,
                ..
            }
        ));
    }

    #[test]
    fn foreign_empty_and_future_files_are_told_apart() {
        assert_eq!(RankTrace::parse(b"").unwrap_err(), FormatError::Empty);
        let text = RankTrace::parse(b"\x7fELF\x02\x01 and more")
            .unwrap_err()
            .to_string();
        assert!(
            text.contains("not a collbench trace") && text.contains("x7fELF"),
            "{text}"
        );
        let mut bytes = file(1, 1, true);
        bytes[8] = 3;
        assert_eq!(
            RankTrace::parse(&bytes).unwrap_err(),
            FormatError::Version { found: 3 }
        );
    }

    #[test]
    fn a_file_of_headers_whose_tables_reach_its_end_is_read_in_one_go() {
        let mut bytes = encode::file_header(&identity(), None).unwrap();
        let n_blocks = 8192;
        for block in 0..n_blocks {
            // A table of all that follows, and a wrong checksum.
            let n_entries = (n_blocks - block) * 256 - 8;
            let length = ((n_blocks - block) as u64) * CHUNK_ALIGN;
            let mut opening =
                encode::chunk_opening(ChunkKind::Records, length, &place(0, 0, 1), &[]);
            let content_at = ChunkHeader::content_offset(n_entries) as u32;
            opening[24..28].copy_from_slice(&(n_entries as u32).to_le_bytes());
            opening[28..32].copy_from_slice(&content_at.to_le_bytes());
            opening.resize(CHUNK_ALIGN as usize, 0);
            bytes.extend(opening);
        }
        let record = Record::call(Operation::Barrier, 0, 0, -1, 0, 500, 600);
        let true_chunk = encode::records_chunk(&place(0, 0, 1), &[], &[record], true);
        bytes.extend(&true_chunk);
        let begin = std::time::Instant::now();
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.chunks.len(), 1);
        // The square of its length would take minutes.
        assert!(begin.elapsed().as_secs() < 20);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic(
            flips in prop::collection::vec((0usize..30_000, any::<u8>()), 1..20),
            cut in 0usize..30_000,
        ) {
            let mut bytes = file(150, 40, false);
            let length = bytes.len();
            for (at, value) in flips {
                bytes[at % length] = value;
            }
            bytes.truncate(cut.max(200));
            if let Ok(trace) = RankTrace::parse(&bytes) {
                let n: usize = trace.chunks.iter().map(|c| c.records.len()).sum();
                prop_assert!(n * 32 <= bytes.len());
            }
        }

        #[test]
        fn arbitrary_content_behind_a_true_header_is_survived(noise: Vec<u8>, at in 0usize..8192) {
            let mut bytes = encode::file_header(&identity(), None).unwrap();
            bytes.resize(bytes.len() + at, 0);
            bytes.extend_from_slice(CHUNK_MAGIC.as_bytes());
            bytes.extend_from_slice(&noise);
            prop_assert!(RankTrace::parse(&bytes).is_ok());
        }
    }
}
