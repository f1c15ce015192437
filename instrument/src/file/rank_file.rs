//! The file of one rank: grown chunk by chunk, each made ready before it is used.
//!
//! A chunk's room is reserved on the disk (`fallocate`), filled with zeros, mapped, and its pages
//! are made writable (`MADV_POPULATE_WRITE`) just ahead of use: a full disk is then an error here and never a
//! SIGBUS in the program, and stores into a chunk never fault. `MAP_POPULATE` would not do: it
//! maps pages read-only, and each faults again at its first store. Nothing is ever synced:
//! the pages outlive the process without, and syncing would write-protect them again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use collbench_formats::encode::{ChunkPlace, chunk_opening, communicator_entry, definition_entry};
use collbench_formats::{
    Anchor, CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, Communicator, Definition, FILE_MAGIC,
    FileHeader, Identity, STOP_TEXT_BYTES, SequenceEntry, StopReason, encode_meta,
};
use memmap2::{Advice, MmapOptions};

use super::mapping::{Mapping, is_forked};
use super::ring::Ring;
use crate::directory;
use crate::process::{out_of_the_way, unsignalled};

/// Bytes of a thread's first chunk of records; each further one is twice as long, up to
/// [`LARGEST_CHUNK`].
const SMALLEST_CHUNK: u64 = 64 << 10;
/// Bytes of a thread's chunks in the long run: 32,767 calls. Larger ones are not cheaper per
/// call, but the pause in which they are made ready is longer.
const LARGEST_CHUNK: u64 = 1 << 20;

/// How large a rank file may become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limit {
    /// As large as it needs.
    None,
    /// So many bytes; then recording stops.
    Max(u64),
    /// So many bytes, in which the newest records are kept.
    Keep(u64),
}

/// Why a rank file could not grow.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GrowError {
    /// The disk, a quota or RLIMIT_FSIZE is full.
    #[error("{what}: {error}")]
    NoSpace {
        what: &'static str,
        error: io::Error,
    },
    /// `--max-size` is reached.
    #[error("the size allowed for a rank ({max_bytes} bytes, --max-size) is reached")]
    SizeReached { max_bytes: u64 },
    /// Anything else.
    #[error("{what}: {error}")]
    Failed {
        what: &'static str,
        error: io::Error,
    },
}

impl GrowError {
    pub(crate) fn reason(&self) -> StopReason {
        match self {
            Self::NoSpace { .. } => StopReason::NoSpace,
            Self::SizeReached { .. } => StopReason::SizeReached,
            Self::Failed { .. } => StopReason::Failed,
        }
    }

    fn of(what: &'static str, error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EFBIG) => Self::NoSpace {
                what: "the limit on file sizes (ulimit -f)",
                error,
            },
            Some(libc::ENOSPC | libc::EDQUOT) => Self::NoSpace { what, error },
            _ => Self::Failed { what, error },
        }
    }
}

/// A rank file that is being written.
#[derive(Debug)]
pub(crate) struct RankFile {
    path: PathBuf,
    /// Device and inode: a program that closes all descriptors may have given ours to another
    /// file.
    identity: (u64, u64),
    fd: Mutex<File>,
    /// The file header; mapped as long as the process lives.
    header: Mapping,
    max_bytes: Option<u64>,
    /// Where chunks stand, if the newest are to be kept.
    pub(super) ring: Option<Ring>,
    /// Where the next chunk begins.
    pub(super) end: AtomicU64,
    definitions: Mutex<DefinitionsChunk>,
    stopped: AtomicBool,
}

#[derive(Debug)]
struct DefinitionsChunk {
    chunk: Option<OpenChunk>,
    used: usize,
    next_ordinal: u32,
}

impl DefinitionsChunk {
    /// Whether an entry of so many bytes fits behind what is there.
    #[inline]
    fn has_room(&self, length: usize) -> bool {
        let chunk = self.chunk.as_ref();
        chunk.is_some_and(|chunk| self.used + length <= chunk.content_bytes())
    }
}

/// Where a chunk of records stands in its thread, and what it begins with.
#[derive(Debug)]
pub(crate) struct Opening<'a> {
    pub(crate) thread: u32,
    /// Number among the thread's chunks.
    pub(crate) ordinal: u32,
    /// Records of the thread in earlier chunks, and calls of the application among them.
    pub(crate) first_record: u64,
    pub(crate) first_call: u64,
    pub(crate) sequences: &'a [SequenceEntry],
    /// The instant of `sequences`, ticks.
    pub(crate) begin_ticks: u64,
}

/// A chunk that is mapped and may be stored into.
#[derive(Debug)]
pub(crate) struct OpenChunk {
    map: Arc<Mapping>,
    offset: u64,
    content_at: usize,
}

impl OpenChunk {
    /// Address of the content's first byte.
    pub(crate) fn content(&self) -> *mut u8 {
        // SAFETY: `content_at` is below the length of the mapping.
        unsafe { self.map.as_mut_ptr().add(self.content_at) }
    }

    /// Bytes from the first of the content to the end of the chunk.
    pub(crate) fn content_bytes(&self) -> usize {
        self.map.len() - self.content_at
    }

    /// Offset in the file of byte `used` of the content.
    fn offset_of(&self, used: usize) -> u64 {
        self.offset + (self.content_at + used) as u64
    }

    /// Writes into the header that the chunk is complete: `n` records (bytes of definitions),
    /// the last of them left at `last_leave`.
    pub(crate) fn close(&self, n: u64, last_leave: u64) {
        self.store_u64(std::mem::offset_of!(ChunkHeader, last_leave), last_leave);
        self.store_u64(std::mem::offset_of!(ChunkHeader, closed), n + 1);
    }

    fn store_u64(&self, at: usize, value: u64) {
        // SAFETY: `at` is a field of the chunk header, 8-aligned in a page-aligned mapping that
        // is longer than it; other threads and processes only see it through this atomic.
        unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(at).cast()) }
            .store(value.to_le(), Ordering::Release);
    }
}

impl RankFile {
    /// Makes the file `name` in the trace directory `folder`, and writes its header and identity.
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
        let made = Self::begin(folder.join(name), out_of_the_way(file), identity, limit);
        if made.is_err() {
            // A file without a header would be taken for a damaged trace.
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
        let metadata = file
            .metadata()
            .map_err(|error| GrowError::of("asking for the file's inode", error))?;
        let (encoded, crc32) = encode_meta(identity).map_err(|error| GrowError::Failed {
            what: "encoding the identity",
            error: io::Error::other(error),
        })?;
        let length =
            ((size_of::<FileHeader>() + encoded.len()) as u64).next_multiple_of(CHUNK_ALIGN);
        let (max_bytes, keep_bytes) = match limit {
            Limit::None => (None, 0),
            Limit::Max(bytes) if length > bytes => {
                return Err(GrowError::SizeReached { max_bytes: bytes });
            }
            Limit::Max(bytes) => (Some(bytes), 0),
            Limit::Keep(bytes) => (None, bytes),
        };
        reserve(&file, 0, length)?;
        let header = map_chunk(&file, 0, length as usize)?;
        let fields = FileHeader {
            keep_bytes: keep_bytes.into(),
            ..FileHeader::recording((&encoded, crc32), length)
        };
        let bytes = zerocopy::IntoBytes::as_bytes(&fields);
        // SAFETY: the mapping is `length` long, which holds header and identity, and nobody else
        // knows of it yet.
        unsafe {
            let to = header.as_mut_ptr();
            to.add(size_of::<FileHeader>())
                .copy_from_nonoverlapping(encoded.as_ptr(), encoded.len());
            to.add(8)
                .copy_from_nonoverlapping(bytes[8..].as_ptr(), bytes.len() - 8);
            AtomicU64::from_ptr(to.cast()).store(u64::from_ne_bytes(FILE_MAGIC), Ordering::Release);
        }
        Ok(Self {
            path,
            identity: (metadata.dev(), metadata.ino()),
            fd: Mutex::new(file),
            header,
            max_bytes,
            ring: (keep_bytes > 0).then(|| Ring::new(keep_bytes, LARGEST_CHUNK)),
            end: AtomicU64::new(length),
            definitions: Mutex::new(DefinitionsChunk {
                chunk: None,
                used: 0,
                next_ordinal: 0,
            }),
            stopped: AtomicBool::new(false),
        })
    }

    /// Whether the newest records are kept and older ones overwritten.
    #[inline]
    pub(crate) fn is_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Opens a chunk of records. `now` reads the clock; `anchor` is taken when the chunk is ready.
    pub(crate) fn open_records(
        &self,
        opening: &Opening<'_>,
        now: impl Fn() -> u64,
        anchor: impl Fn() -> Anchor,
    ) -> Result<OpenChunk, GrowError> {
        let wanted = (SMALLEST_CHUNK << opening.ordinal.min(16)).min(LARGEST_CHUNK);
        self.open_chunk(ChunkKind::Records, wanted, opening, now, anchor)
    }

    /// Opens a chunk of about `wanted` bytes (a multiple of 4096; a ring has its own measure).
    fn open_chunk(
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
                let room = self.take_room(wanted.max(table_and_some), at_least)?;
                (room.0, self.make_room(room)?)
            }
            Some(ring) => {
                let is_kept = kind == ChunkKind::Definitions;
                let at_least = if is_kept {
                    wanted
                } else {
                    (content_at as u64 * 2).next_multiple_of(CHUNK_ALIGN)
                };
                ring.take(self, at_least, is_kept)?
            }
        };
        let place = ChunkPlace {
            thread: opening.thread,
            ordinal: opening.ordinal,
            first_record: opening.first_record,
            first_call: opening.first_call,
            anchor: anchor(),
            prepare: (opening.begin_ticks, now()),
        };
        let bytes = chunk_opening(kind, map.len() as u64, &place, opening.sequences);
        // SAFETY: the place is longer than the opening; the chunk is not known to anybody else.
        // The magic goes last: with it the chunk is there.
        unsafe {
            let to = map.as_mut_ptr();
            to.add(4)
                .copy_from_nonoverlapping(bytes[4..].as_ptr(), bytes.len() - 4);
            AtomicU32::from_ptr(to.cast())
                .store(u32::from_ne_bytes(CHUNK_MAGIC), Ordering::Release);
        }
        Ok(OpenChunk {
            map,
            offset,
            content_at,
        })
    }

    /// Makes a part of the file, which was taken by [`RankFile::take_room`], ready to be stored
    /// into.
    pub(super) fn make_room(
        &self,
        (offset, length): (u64, u64),
    ) -> Result<Arc<Mapping>, GrowError> {
        let mut fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
        self.ensure_own(&mut fd)?;
        reserve(&fd, offset, length)?;
        Ok(Arc::new(map_chunk(&fd, offset, length as usize)?))
    }

    /// Maps a part of the file once more.
    pub(super) fn map(&self, offset: u64, length: u64) -> Result<Arc<Mapping>, GrowError> {
        let mut fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
        self.ensure_own(&mut fd)?;
        Ok(Arc::new(map_chunk(&fd, offset, length as usize)?))
    }

    /// Takes the next `wanted` bytes of the file, or what `--max-size` leaves of them, but not
    /// less than `at_least`; both are multiples of [`CHUNK_ALIGN`], > 0.
    pub(super) fn take_room(&self, wanted: u64, at_least: u64) -> Result<(u64, u64), GrowError> {
        let mut taken = wanted;
        let offset = self
            .end
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |end| {
                if let Some(max_bytes) = self.max_bytes {
                    let left = max_bytes.saturating_sub(end) / CHUNK_ALIGN * CHUNK_ALIGN;
                    taken = wanted.min(left);
                }
                (taken >= at_least).then_some(end + taken)
            })
            .map_err(|_| GrowError::SizeReached {
                max_bytes: self.max_bytes.unwrap_or(0),
            })?;
        Ok((offset, taken))
    }

    /// Makes sure that the descriptor is still that of this file.
    fn ensure_own(&self, file: &mut File) -> Result<(), GrowError> {
        let is_own = |file: &File| {
            file.metadata()
                .is_ok_and(|found| (found.dev(), found.ino()) == self.identity)
        };
        if is_own(file) {
            return Ok(());
        }
        // By its path, since a second descriptor for the directory may be one too many: that it is
        // the file which was made here is looked at below.
        let wary = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let again = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(wary)
            .open(&self.path)
            .map_err(|error| GrowError::of("opening the file again", error))?;
        let again = out_of_the_way(again);
        if !is_own(&again) {
            let error = io::Error::other("another file is there now");
            return Err(GrowError::Failed {
                what: "opening the file again",
                error,
            });
        }
        // The old number belongs to somebody else, or to nobody: it must not be closed here.
        std::mem::forget(std::mem::replace(file, again));
        Ok(())
    }

    /// Appends a definition. `now` reads the clock, `anchor` is for a chunk that is opened for it.
    pub(crate) fn define(
        &self,
        definition: &Definition,
        now: impl Fn() -> u64 + Copy,
        anchor: impl Fn() -> Anchor + Copy,
    ) -> Result<(), GrowError> {
        let entry = definition_entry(definition).map_err(|error| GrowError::Failed {
            what: "encoding a definition",
            error: io::Error::other(error),
        })?;
        self.append(&entry, now, anchor)
    }

    /// Appends the definition of a communicator: what programs make by the thousand.
    #[inline]
    pub(crate) fn define_communicator(
        &self,
        communicator: Communicator,
        now: impl Fn() -> u64 + Copy,
        anchor: impl Fn() -> Anchor + Copy,
    ) -> Result<(), GrowError> {
        let mut room = [0; _];
        match communicator_entry(&communicator, &mut room) {
            Some(entry) => self.append(entry, now, anchor),
            None => self.define(&Definition::Communicator(communicator), now, anchor),
        }
    }

    /// Appends the entry of a definition.
    #[inline]
    fn append(
        &self,
        entry: &[u8],
        now: impl Fn() -> u64 + Copy,
        anchor: impl Fn() -> Anchor + Copy,
    ) -> Result<(), GrowError> {
        let mut open = self
            .definitions
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !open.has_room(entry.len()) {
            self.open_definitions(&mut open, entry.len(), now, anchor)?;
        }
        let used = open.used;
        if let Some(chunk) = &open.chunk {
            // SAFETY: `used` + the entry's length is within the content, entries are 8-aligned,
            // and the lock keeps other writers away. The length goes last: with it the entry
            // is there.
            unsafe {
                let to = chunk.content().add(used);
                to.add(4)
                    .copy_from_nonoverlapping(entry[4..].as_ptr(), entry.len() - 4);
                let length = u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
                AtomicU32::from_ptr(to.cast()).store(length, Ordering::Release);
            }
        }
        open.used += entry.len();
        Ok(())
    }

    /// Opens the next chunk of definitions, with room for an entry of `length` bytes.
    #[cold]
    fn open_definitions(
        &self,
        open: &mut DefinitionsChunk,
        length: usize,
        now: impl Fn() -> u64,
        anchor: impl Fn() -> Anchor,
    ) -> Result<(), GrowError> {
        let first = open.next_ordinal == 0;
        let at_least = ChunkHeader::content_offset(0) + length;
        let usual = match &self.ring {
            _ if first => CHUNK_ALIGN as usize,
            None => 16384 << open.next_ordinal.min(4),
            Some(ring) => ring.place_bytes() as usize,
        };
        let wanted = at_least.next_multiple_of(usual) as u64;
        let opening = Opening {
            thread: 0,
            ordinal: open.next_ordinal,
            first_record: 0,
            first_call: 0,
            sequences: &[],
            begin_ticks: now(),
        };
        let chunk = self.open_chunk(ChunkKind::Definitions, wanted, &opening, now, anchor)?;
        if let Some(full) = open.chunk.replace(chunk) {
            full.close(open.used as u64, 0);
        }
        open.used = 0;
        open.next_ordinal += 1;
        if open.has_room(length) {
            Ok(())
        } else {
            Err(GrowError::SizeReached {
                max_bytes: self.max_bytes.unwrap_or(0),
            })
        }
    }

    /// Notes in the header that recording ends early. Only the first reason counts; gives
    /// whether this was it.
    pub(crate) fn note_stop(&self, reason: StopReason, text: &str, ticks: u64) -> bool {
        if self.stopped.swap(true, Ordering::AcqRel) {
            return false;
        }
        let text = &text.as_bytes()[..text.len().min(STOP_TEXT_BYTES)];
        // SAFETY: the text has STOP_TEXT_BYTES of room in the header, which stays mapped; only
        // the first to stop gets here.
        unsafe {
            self.header
                .as_mut_ptr()
                .add(std::mem::offset_of!(FileHeader, stop_text))
                .copy_from_nonoverlapping(text.as_ptr(), text.len());
        }
        self.header_u64(std::mem::offset_of!(FileHeader, stop_ticks))
            .store(ticks, Ordering::Relaxed);
        self.header_u32(std::mem::offset_of!(FileHeader, stop_reason))
            .store(reason as u32, Ordering::Release);
        true
    }

    /// Whether recording has ended early.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Counts a call that is not recorded any more.
    pub(crate) fn count_lost(&self) {
        self.header_u64(std::mem::offset_of!(FileHeader, calls_after_stop))
            .fetch_add(1, Ordering::Relaxed);
    }

    /// Ends the file in order: `n_records` in all chunks. `last` is the only open chunk of
    /// records with the bytes used in it, where there is just one: then the file is cut behind
    /// what is used.
    pub(crate) fn finish(&self, n_records: u64, end: Anchor, last: Option<(&OpenChunk, usize)>) {
        let definitions_end = {
            let open = self
                .definitions
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            open.chunk.as_ref().map(|chunk| {
                chunk.close(open.used as u64, 0);
                (chunk.offset, chunk.offset_of(open.used))
            })
        };
        // Cut before the file is called finished: whoever maps a finished file finds it as long as
        // it will stay.
        if let Some((chunk, used)) = last {
            let used_end = chunk.offset_of(used);
            let used_end = definitions_end.map_or(used_end, |(_, end)| end.max(used_end));
            let open = [
                Some(chunk.offset),
                definitions_end.map(|(offset, _)| offset),
            ];
            let others_end = self.ring.as_ref().map_or(0, |ring| ring.end_besides(open));
            let mut fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
            if self.ensure_own(&mut fd).is_ok() {
                // A longer file is as good: the error is of no interest.
                let _ = unsignalled(|| fd.set_len(used_end.max(others_end)));
            }
        }
        self.header_u64(std::mem::offset_of!(FileHeader, n_records))
            .store(n_records, Ordering::Relaxed);
        self.header_u32(std::mem::offset_of!(FileHeader, end_crc32))
            .store(FileHeader::end_checksum(&end, n_records), Ordering::Relaxed);
        let words: [u64; 5] = end.into();
        for (i, word) in words.into_iter().enumerate() {
            self.header_u64(std::mem::offset_of!(FileHeader, end_anchor) + 8 * i)
                .store(word, Ordering::Relaxed);
        }
        self.header_u32(std::mem::offset_of!(FileHeader, finalized))
            .store(1, Ordering::Release);
    }

    fn header_u64(&self, at: usize) -> &AtomicU64 {
        // SAFETY: `at` is the offset of an 8-aligned u64 in the header, which is page-aligned
        // and mapped as long as `self` lives.
        unsafe { AtomicU64::from_ptr(self.header.as_mut_ptr().add(at).cast()) }
    }

    fn header_u32(&self, at: usize) -> &AtomicU32 {
        // SAFETY: as above, of a u32.
        unsafe { AtomicU32::from_ptr(self.header.as_mut_ptr().add(at).cast()) }
    }
}

// The header is written in place by native stores.
const _: () = {
    assert!(
        cfg!(target_endian = "little"),
        "the trace format is little-endian"
    );
    assert!(std::mem::offset_of!(FileHeader, stop_ticks) % 8 == 0);
    assert!(std::mem::offset_of!(FileHeader, calls_after_stop) % 8 == 0);
    assert!(std::mem::offset_of!(FileHeader, end_anchor) % 8 == 0);
    assert!(std::mem::offset_of!(FileHeader, n_records) % 8 == 0);
    assert!(std::mem::offset_of!(ChunkHeader, last_leave) % 8 == 0);
    assert!(std::mem::offset_of!(ChunkHeader, closed) % 8 == 0);
};

/// Reserves room on the disk, and makes the file that long.
fn reserve(file: &File, offset: u64, length: u64) -> Result<(), GrowError> {
    let allocated = unsignalled(|| allocate(file, offset, length));
    match allocated.as_ref().map_err(io::Error::raw_os_error) {
        // A file system without it (NFS): the zeros reserve the room.
        Ok(()) | Err(Some(libc::EOPNOTSUPP | libc::ENOSYS)) => {}
        _ => allocated.map_err(|error| GrowError::of("reserving room on the disk", error))?,
    }
    unsignalled(|| write_zeros(file, offset, length))
        .map_err(|error| GrowError::of("writing zeros to the file", error))
}

fn allocate(file: &File, offset: u64, length: u64) -> io::Result<()> {
    loop {
        // SAFETY: a plain system call on a descriptor that is open.
        let code = unsafe {
            libc::fallocate(
                file.as_raw_fd(),
                0,
                offset as libc::off_t,
                length as libc::off_t,
            )
        };
        if code == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// Writes zeros, which brings the pages into the page cache: making those writable takes a
/// fraction of the time that reserved room without pages takes.
///
/// In pieces of 64 KiB, since the page cache keeps each piece as one folio, and ext4 looks at all
/// blocks of a folio for each page that is made writable. Per MiB of chunk, writing and making
/// writable took 290 us with pieces of 64 KiB, 430 with 16 KiB, 1400 with 1 MiB, and 1000 without
/// writing (medians on one machine; on tmpfs all are the same). Memory that the host of a virtual
/// machine has to find first costs another 2000, whoever asks for it.
fn write_zeros(file: &File, offset: u64, length: u64) -> io::Result<()> {
    static ZEROS: [u8; 65536] = [0; 65536];
    let mut done = 0;
    while done < length {
        // A handler that has interrupted this may have returned in a child, too.
        if is_forked() {
            return Err(io::Error::other(
                "this is a child of the process that records",
            ));
        }
        let n = (length - done).min(ZEROS.len() as u64);
        file.write_all_at(&ZEROS[..n as usize], offset + done)?;
        done += n;
    }
    Ok(())
}

/// Maps a part of the file and makes its pages writable now.
fn map_chunk(file: &File, offset: u64, length: usize) -> Result<Mapping, GrowError> {
    let map = MmapOptions::new()
        .offset(offset)
        .len(length)
        .map_raw(file)
        .map_err(|error| GrowError::of("mapping the file", error))?;
    let map = Mapping::new(map);
    make_ready(&map)?;
    Ok(map)
}

/// Makes the pages of a mapping writable now.
pub(super) fn make_ready(map: &Mapping) -> Result<(), GrowError> {
    match map.advise(Advice::PopulateWrite) {
        Ok(()) => Ok(()),
        // A kernel before 5.14: touch each page. Room is reserved, so this cannot be SIGBUS.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            for page in (0..map.len()).step_by(4096) {
                // SAFETY: within the mapping; an atomic that changes nothing but makes the page
                // writable.
                unsafe { AtomicU64::from_ptr(map.as_mut_ptr().add(page).cast()) }
                    .fetch_or(0, Ordering::Relaxed);
            }
            Ok(())
        }
        Err(error) => Err(GrowError::of("making pages of the file ready", error)),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use collbench_formats::{
        Abi, ClockIdentity, ClockSource, Damage, HostIdentity, MpiIdentity, Operation, RankTrace,
        Record,
    };

    use super::*;

    pub(in crate::file) fn identity() -> Identity {
        Identity {
            recorder: "0.1.0".into(),
            world: 1,
            rank: 0,
            world_size: 1,
            pid: 1,
            spawned: false,
            host: HostIdentity {
                name: "h".into(),
                boot_id: "b".into(),
                time_namespace: 0,
            },
            clock: ClockIdentity {
                source: ClockSource::MonotonicRaw,
                granularity_ticks: 1,
                read_cost_milliticks: 1,
            },
            mpi: MpiIdentity {
                abi: Abi::OpenMpi,
                library_version: String::new(),
                library_path: String::new(),
                thread_level: 0,
            },
            layers: vec![],
            command: vec![],
            anchors: vec![],
        }
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
        // SAFETY: within the content, as just checked.
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
    fn a_finished_file_is_cut_to_what_is_used_and_comes_back() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        let file = RankFile::create(folder.path(), "a.trace", &identity(), Limit::None).unwrap();
        // The second definition needs a chunk of its own, behind that of the records.
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
    fn a_file_that_nobody_finished_has_all_that_was_stored() {
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
        // 4096 for the header, 65536 for the first chunk: seven pages are left.
        assert_eq!(open_records(&file, 1).unwrap().map.len(), 7 * 4096);
        let error = open_records(&file, 2).unwrap_err();
        assert_eq!(error.reason(), StopReason::SizeReached);
        assert!(std::fs::metadata(&path).unwrap().len() <= 100_000);
        assert!(file.note_stop(error.reason(), &error.to_string(), 77));
        assert!(
            !file.note_stop(StopReason::Failed, "later", 78),
            "only the first reason counts"
        );
        file.count_lost();
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
        // Two pages behind the header; the table takes four.
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
        let number = file.fd.lock().unwrap().as_raw_fd();
        let other = File::create(folder.path().join("of the program")).unwrap();
        // SAFETY: gives our number to another file, as a program that closes all descriptors
        // and goes on opening its own does.
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
        let place = |name: &str| folder.path().join(name);
        std::fs::create_dir(place("trace")).unwrap();
        std::fs::create_dir(place("other")).unwrap();
        std::fs::write(place("other/victim"), "precious").unwrap();
        let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
        link(place("other/victim"), place("trace/a.trace")).unwrap();
        link(place("other/absent"), place("trace/b.trace")).unwrap();
        link(place("other"), place("link")).unwrap();
        for (directory, name) in [
            ("trace", "a.trace"),
            ("trace", "b.trace"),
            ("link", "c.trace"),
            ("other", "victim"),
        ] {
            let made = RankFile::create(&place(directory), name, &identity(), Limit::None);
            assert!(made.is_err(), "{directory}/{name}");
        }
        assert_eq!(std::fs::read(place("other/victim")).unwrap(), b"precious");
        assert_eq!(std::fs::read_dir(place("other")).unwrap().count(), 1);
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
