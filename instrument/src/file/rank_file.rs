//! The file of one rank. It grows by chunks, each made ready before it is used.
//!
//! The space of a chunk is reserved on the disk (`fallocate`), filled with zeros and mapped, and
//! its pages are made writable (`MADV_POPULATE_WRITE`), just before it is used. So a full disk is
//! an error here and never a SIGBUS in the program, and stores into a chunk never fault.
//! `MAP_POPULATE` would not be enough: it maps pages read-only, and each faults again at its first
//! store. Nothing is synced: the pages outlive the process without it, and syncing would
//! write-protect them again.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use collbench_formats::write::{ChunkPosition, chunk_opening};
use collbench_formats::{
    Anchor, CHUNK_ALIGN, ChunkHeader, ChunkKind, FileHeader, Identity, StopReason, encode_meta,
};

use super::chunk::{OpenChunk, Opening};
use super::definitions_chunk::DefinitionsChunk;
use super::error::GrowError;
use super::growing::GrowingFile;
use super::header::MappedHeader;
use super::ring::Ring;
use crate::directory;
use crate::host::Cores;

/// Size of a thread's first chunk of records, bytes; each further one is twice as long, up to
/// [`LARGEST_CHUNK`].
const SMALLEST_CHUNK: u64 = 64 << 10;
/// Size of a thread's chunks in the long run, bytes: 32,767 calls. Larger ones are not cheaper per
/// call, but the pause in which they are made ready is longer.
const LARGEST_CHUNK: u64 = 1 << 20;

/// Limit of the size of a rank file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// No limit.
    None,
    /// At most this many bytes; then recording stops.
    Max(u64),
    /// About this many bytes, in which the newest records are retained.
    Keep(u64),
}

/// A rank file that is being written.
#[derive(Debug)]
pub(crate) struct RankFile {
    pub(super) file: GrowingFile,
    header: MappedHeader,
    /// The places of chunks, if only the newest records are retained.
    pub(super) ring: Option<Ring>,
    pub(super) definitions: Mutex<DefinitionsChunk>,
}

impl RankFile {
    /// Creates the file `name` in the trace directory `folder`, and writes its header and identity.
    ///
    /// The file is new (`O_EXCL`), never reached through a link, not executable, and has the
    /// permissions that the user's umask leaves.
    pub(crate) fn create(
        folder: &Path,
        name: &str,
        identity: &Identity,
        limit: Limit,
    ) -> Result<Self, GrowError> {
        let file = directory::create_file(folder, name)
            .map_err(|error| GrowError::of("creating the file", error))?;
        let made = Self::begin(folder.join(name), file, identity, limit);
        if made.is_err() {
            // A file without a header would look like a damaged trace.
            let _ = directory::remove_file(folder, name);
        }
        made
    }

    fn begin(
        path: PathBuf,
        file: File,
        identity: &Identity,
        limit: Limit,
    ) -> Result<Self, GrowError> {
        let (max_bytes, keep_bytes) = match limit {
            Limit::None => (None, 0),
            Limit::Max(bytes) => (Some(bytes), 0),
            Limit::Keep(bytes) => (None, bytes),
        };
        let file = GrowingFile::new(path, file, max_bytes)?;
        let (encoded, crc32) = encode_meta(identity).map_err(|error| GrowError::Failed {
            what: "encoding the identity",
            error: io::Error::other(error),
        })?;
        let length =
            ((size_of::<FileHeader>() + encoded.len()) as u64).next_multiple_of(CHUNK_ALIGN);
        let room = file.take_extent(length, length)?;
        let cores = Cores::of_this_process();
        let fields = FileHeader {
            usable_cores: cores.usable.into(),
            online_cores: cores.online.into(),
            core_set: cores.set.into(),
            keep_bytes: keep_bytes.into(),
            ..FileHeader::recording((&encoded, crc32), length)
        };
        Ok(Self {
            header: MappedHeader::begin(file.prepare_extent(room)?, &fields, &encoded),
            file,
            ring: (keep_bytes > 0).then(|| Ring::new(keep_bytes, LARGEST_CHUNK)),
            definitions: Mutex::default(),
        })
    }

    /// Whether only the newest records are retained, and older ones overwritten.
    #[inline]
    pub(crate) fn is_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Opens a chunk of records. `now` reads the clock; `anchor` reads the clocks when the chunk is
    /// ready.
    pub(crate) fn open_records(
        &self,
        opening: &Opening<'_>,
        now: impl Fn() -> u64,
        anchor: impl Fn() -> Anchor,
    ) -> Result<OpenChunk, GrowError> {
        let wanted = (SMALLEST_CHUNK << opening.ordinal.min(16)).min(LARGEST_CHUNK);
        self.open_chunk(ChunkKind::Records, wanted, opening, now, anchor)
    }

    /// Opens a chunk of about `wanted` bytes (a multiple of 4096; a ring chooses the size itself).
    pub(super) fn open_chunk(
        &self,
        kind: ChunkKind,
        wanted: u64,
        opening: &Opening<'_>,
        now: impl Fn() -> u64,
        anchor: impl Fn() -> Anchor,
    ) -> Result<OpenChunk, GrowError> {
        let content_at = ChunkHeader::content_offset(opening.sequences.len());
        let (offset, map) = match &self.ring {
            None => {
                let table_and_some = (content_at as u64 * 4).next_multiple_of(CHUNK_ALIGN);
                let at_least = (content_at as u64 + 1).next_multiple_of(CHUNK_ALIGN);
                let room = self
                    .file
                    .take_extent(wanted.max(table_and_some), at_least)?;
                (room.offset, self.file.prepare_extent(room)?)
            }
            Some(ring) => {
                let is_permanent = kind == ChunkKind::Definitions;
                let at_least = if is_permanent {
                    wanted
                } else {
                    (content_at as u64 * 2).next_multiple_of(CHUNK_ALIGN)
                };
                ring.take(&self.file, at_least, is_permanent)?
            }
        };
        let position = ChunkPosition {
            thread: opening.thread,
            ordinal: opening.ordinal,
            first_record: opening.first_record,
            first_call: opening.first_call,
            anchor: anchor(),
            prepare: (opening.begin_ticks, now()),
        };
        let bytes = chunk_opening(kind, map.len() as u64, &position, opening.sequences);
        // SAFETY: no other thread knows the chunk yet.
        Ok(unsafe { OpenChunk::begin(map, offset, &bytes) })
    }

    /// Notes in the header that recording ends early. Only the first reason is stored; returns
    /// whether it was this one.
    pub(crate) fn note_stop(&self, reason: StopReason, text: &str, ticks: u64) -> bool {
        self.header.note_stop(reason, text, ticks)
    }

    /// Whether recording has ended early.
    pub(crate) fn is_stopped(&self) -> bool {
        self.header.is_stopped()
    }

    /// Counts a call that is not recorded because recording ended early.
    pub(crate) fn count_unrecorded(&self) {
        self.header.count_unrecorded();
    }

    /// Ends the file in order, with `n_records` in all chunks. If there is only one open chunk of
    /// records, `last` is that chunk and the bytes used in it, and the file is cut after them.
    pub(crate) fn finish(&self, n_records: u64, end: Anchor, last: Option<(&OpenChunk, usize)>) {
        let definitions_end = {
            let open = self
                .definitions
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            open.chunk.as_ref().map(|chunk| {
                chunk.close(open.used as u64, 0);
                (chunk.offset(), chunk.offset_of(open.used))
            })
        };
        // The file is cut before it is marked as finished: a process that maps a finished file
        // finds it at its final length.
        if let Some((chunk, used)) = last {
            let used_end = chunk.offset_of(used);
            let used_end = definitions_end.map_or(used_end, |(_, end)| end.max(used_end));
            let open = [
                Some(chunk.offset()),
                definitions_end.map(|(offset, _)| offset),
            ];
            let others_end = self.ring.as_ref().map_or(0, |ring| ring.end_without(open));
            self.file.cut(used_end.max(others_end));
        }
        self.header.finish(n_records, end);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::os::fd::AsRawFd;

    use collbench_formats::{Damage, Definition, Operation, RankTrace, Record, SequenceEntry};

    use super::*;

    pub(in crate::file) fn identity() -> Identity {
        Identity::made_up(0, 1)
    }

    pub(in crate::file) fn anchor() -> Anchor {
        [5, 5, 5, 5, 1].into()
    }

    pub(in crate::file) fn opening(ordinal: u32, sequences: &[SequenceEntry]) -> Opening<'_> {
        Opening {
            thread: 0,
            ordinal,
            first_record: 0,
            first_call: 0,
            sequences,
            begin_ticks: 3,
        }
    }

    fn open_records(file: &RankFile, ordinal: u32) -> Result<OpenChunk, GrowError> {
        file.open_records(&opening(ordinal, &[]), || 3, anchor)
    }

    pub(in crate::file) fn store(chunk: &OpenChunk, slot: usize, record: Record) {
        let bytes = zerocopy::IntoBytes::as_bytes(&record);
        assert!((slot + 1) * bytes.len() <= chunk.content_bytes());
        // SAFETY: the range is within the content, as just checked.
        unsafe {
            chunk
                .content()
                .add(slot * bytes.len())
                .copy_from(bytes.as_ptr(), bytes.len());
        }
    }

    fn call(at: u64) -> Record {
        Record::call(Operation::Barrier, 0, 0, -1, 0, at, at + 1)
    }

    pub(in crate::file) fn names(index: u32, length: usize) -> Definition {
        Definition::CommunicatorName {
            index,
            name: "x".repeat(length),
        }
    }

    #[test]
    fn a_finished_file_is_cut_to_the_used_length_and_read_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = RankFile::create(folder.path(), "a.trace", &identity(), Limit::None).unwrap();
        // The second definition needs a chunk of its own, after the chunk of records.
        file.define(&names(1, 10), || 3, anchor).unwrap();
        let chunk = open_records(&file, 0).unwrap();
        file.define(&names(2, 9000), || 3, anchor).unwrap();
        for slot in 0..3 {
            store(&chunk, slot, call(10 + slot as u64));
        }
        chunk.close(3, 13);
        file.finish(3, anchor(), Some((&chunk, 3 * 32)));
        let bytes = std::fs::read(&path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, []);
        let found: Vec<_> = trace.definitions.iter().collect();
        assert_eq!(found, [names(1, 10), names(2, 9000)]);
        assert_eq!(
            trace.chunks[0].records.to_vec(),
            [call(10), call(11), call(12)]
        );
        assert_eq!(trace.chunks[0].header.last_leave.get(), 13);
        assert!(bytes.len() < 65536 + 20_000, "{} bytes", bytes.len());
    }

    #[test]
    fn an_unfinished_file_has_all_that_was_stored() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = RankFile::create(folder.path(), "a.trace", &identity(), Limit::None).unwrap();
        let chunk = open_records(&file, 0).unwrap();
        store(&chunk, 0, call(10));
        store(&chunk, 1, Record::call(Operation::Bcast, 0, 0, 0, 4, 20, 0));
        let bytes = std::fs::read(&path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap();
        assert_eq!(trace.damage, [Damage::NotFinalized]);
        assert_eq!(trace.chunks[0].records.len(), 2);
        assert!(trace.chunks[0].records.last().unwrap().is_in_flight());
    }

    #[test]
    fn the_size_allowed_is_used_up_and_never_exceeded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file =
            RankFile::create(folder.path(), "a.trace", &identity(), Limit::Max(100_000)).unwrap();
        assert_eq!(open_records(&file, 0).unwrap().map.len(), 65536);
        // 4096 bytes for the header, 65536 for the first chunk: seven pages are left.
        assert_eq!(open_records(&file, 1).unwrap().map.len(), 7 * 4096);
        let error = open_records(&file, 2).unwrap_err();
        assert_eq!(error.reason(), StopReason::SizeReached);
        assert!(std::fs::metadata(&path).unwrap().len() <= 100_000);
        assert!(file.note_stop(error.reason(), &error.to_string(), 77));
        assert!(
            !file.note_stop(StopReason::Failed, "later", 78),
            "only the first reason counts"
        );
        file.count_unrecorded();
        let bytes = std::fs::read(&path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap();
        let Damage::StoppedEarly {
            reason,
            text,
            calls_after,
        } = &trace.damage[0]
        else {
            panic!("{:?}", trace.damage)
        };
        assert_eq!((*reason, *calls_after), (StopReason::SizeReached, 1));
        assert!(text.contains("100000 bytes"), "{text}");
    }

    #[test]
    fn a_chunk_without_room_for_its_table_is_not_opened() {
        let folder = tempfile::tempdir().unwrap();
        // Two pages after the header; the table takes four.
        let file =
            RankFile::create(folder.path(), "a.trace", &identity(), Limit::Max(12_288)).unwrap();
        let entry = |index: u32| SequenceEntry {
            communicator: index.into(),
            internal_calls: 0.into(),
            calls: 1.into(),
        };
        let table: Vec<_> = (0..1000).map(entry).collect();
        let open = |table| file.open_records(&opening(0, table), || 3, anchor);
        let error = open(&table).unwrap_err();
        assert_eq!(error.reason(), StopReason::SizeReached);
        let few = open(&table[..3]);
        assert_eq!(few.unwrap().content_bytes(), 8192 - 192);
    }

    #[test]
    fn a_descriptor_that_the_program_closed_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = RankFile::create(folder.path(), "a.trace", &identity(), Limit::None).unwrap();
        let number = file.file.fd.lock().unwrap().as_raw_fd();
        let other = File::create(folder.path().join("of the program")).unwrap();
        // SAFETY: dup2 gives our descriptor to another file, as a program does that closes all
        // descriptors and opens files of its own.
        unsafe { libc::dup2(other.as_raw_fd(), number) };
        let chunk = open_records(&file, 0).unwrap();
        store(&chunk, 0, call(10));
        assert_eq!(
            other.metadata().unwrap().len(),
            0,
            "the program's file is left alone"
        );
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(
            RankTrace::parse(&bytes).unwrap().chunks[0].records.to_vec(),
            [call(10)]
        );
    }

    #[test]
    fn an_existing_file_and_links_are_not_written_through() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::create_dir(path("trace")).unwrap();
        std::fs::create_dir(path("other")).unwrap();
        std::fs::write(path("other/victim"), "precious").unwrap();
        let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
        link(path("other/victim"), path("trace/a.trace")).unwrap();
        link(path("other/absent"), path("trace/b.trace")).unwrap();
        link(path("other"), path("link")).unwrap();
        for (directory, name) in [
            ("trace", "a.trace"),
            ("trace", "b.trace"),
            ("link", "c.trace"),
            ("other", "victim"),
        ] {
            let made = RankFile::create(&path(directory), name, &identity(), Limit::None);
            assert!(made.is_err(), "{directory}/{name}");
        }
        assert_eq!(std::fs::read(path("other/victim")).unwrap(), b"precious");
        assert_eq!(std::fs::read_dir(path("other")).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_begin_is_removed_again() {
        let folder = tempfile::tempdir().unwrap();
        let too_small = Limit::Max(100);
        let made = RankFile::create(folder.path(), "a.trace", &identity(), too_small);
        assert_eq!(made.unwrap_err().reason(), StopReason::SizeReached);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
