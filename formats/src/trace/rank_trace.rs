//! Reads a rank file, in whatever state it was left.

use super::definitions::{Content, Definitions};
use super::{Chunk, Records, Window};
use crate::compact::{Held, PackedChunk, PartContent, Parts};
use crate::file::{
    Anchor, ChunkHeader, ChunkKind, EndDamaged, FileHeader, Identity, SequenceEntry, StopReason,
};
use crate::read::{Damage, FormatError, FoundChunk, Step, Walk, parse_header, used_records};
use crate::record::Record;

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
    /// Which calls are there, if the file was recorded as a ring.
    pub window: Option<Window<'a>>,
    /// What is missing or wrong.
    pub damage: Vec<Damage>,
}

impl<'a> RankTrace<'a> {
    /// Reads a rank file from its bytes: a finished one, one still being written, one left by a
    /// killed process, or one cut anywhere after its header.
    ///
    /// The time depends on the number of chunks and definitions, not on that of records (only open
    /// chunks are searched for their end). Memory depends on the number of chunks.
    ///
    /// # Errors
    /// [`FormatError`] if there is nothing to read: not a trace, another version, or damage in
    /// the header. Damage after the header is listed in [`RankTrace::damage`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FormatError> {
        Self::parse_with_progress(bytes, &mut |_| {})
    }

    /// Reads a rank file as [`RankTrace::parse`] does, and calls `passed` for each chunk with the
    /// offset of its end. A caller that mapped the bytes can give back the pages before that
    /// offset, most of which are not read for a long time.
    ///
    /// # Errors
    /// Those of [`RankTrace::parse`].
    pub fn parse_with_progress(
        bytes: &'a [u8],
        passed: &mut dyn FnMut(u64),
    ) -> Result<Self, FormatError> {
        let packed = Parts::of(bytes)?;
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
                    // Space that was reserved for a chunk which was not opened before the end.
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
            // A kind of a later version: its length is enough to skip it.
            None => {}
        }
    }

    fn read_parts(&mut self, mut parts: Parts<'a>, passed: &mut dyn FnMut(u64)) {
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

    /// Adds [`Damage::Cut`] if the file ends inside a chunk, unless its recorder cut it to size.
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
        if let Err((at, error)) = self.definitions.add(header.ordinal.get(), content) {
            let offset = offset.saturating_add(at as u64);
            self.damage.push(Damage::Definition { offset, error });
        }
    }

    fn order_chunks(&mut self) {
        // In a ring, chunks are in any order.
        self.definitions.order_chunks();
        self.chunks
            .sort_by_key(|chunk| (chunk.thread, chunk.ordinal));
        let is_ring = self.header.keep_bytes.get() > 0;
        let mut thread = None;
        let mut expected = 0;
        for chunk in &self.chunks {
            let (this, found) = (chunk.thread, chunk.ordinal);
            if thread != Some(this) {
                thread = Some(this);
                // The first chunks of a thread may have been overwritten.
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
