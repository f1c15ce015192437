//! Who recorded, on what, with what: the beginning of a rank file.

use bincode::{Decode, Encode};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

use super::{Anchor, ChunkHeader, LayerState};
use crate::record::Record;

/// The first eight bytes of a rank file.
pub const FILE_MAGIC: [u8; 8] = *b"COLLBNCH";
/// The version that this crate writes.
pub const FORMAT_VERSION: u16 = 1;
/// The version that the header of a compact file states.
pub const COMPACT_VERSION: u16 = 2;
/// Size of the header's field for the description of a failure, in bytes.
pub const STOP_TEXT_BYTES: usize = 120;

/// Why recording ended before the program did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum StopReason {
    /// It did not end early: everything was recorded.
    NotStopped = 0,
    /// The file system was full, or a quota or RLIMIT_FSIZE was reached.
    NoSpace = 1,
    /// The size that the user allowed was reached.
    SizeReached = 2,
    /// Something inside the recorder failed; the header's text says what.
    Failed = 3,
}

impl StopReason {
    /// The reason with this number; numbers that this version does not know are failures.
    #[must_use]
    pub fn from_code(code: u32) -> Self {
        match code {
            0 => Self::NotStopped,
            1 => Self::NoSpace,
            2 => Self::SizeReached,
            _ => Self::Failed,
        }
    }
}

/// The first 256 bytes of a rank file. The encoded [`Identity`] follows.
///
/// The fields up to `header_crc32` are written once, before `magic`; the others when recording
/// ends.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct FileHeader {
    /// [`FILE_MAGIC`].
    pub magic: [u8; 8],
    /// [`FORMAT_VERSION`].
    pub version: U16,
    /// How identity and definitions are encoded: 1 is bincode 2, little-endian, fixed integers.
    pub meta_codec: U16,
    /// Bytes of a record: 32.
    pub record_bytes: U16,
    /// Bytes of a chunk header: 128.
    pub chunk_header_bytes: U16,
    /// Where the first chunk begins, in bytes from the start of the file.
    pub header_length: U64,
    /// Bytes of the encoded identity, which follows this header.
    pub identity_length: U32,
    /// CRC-32 of the encoded identity.
    pub identity_crc32: U32,
    /// CRC-32 of the 32 bytes before this field.
    pub header_crc32: U32,
    /// Always 0.
    pub reserved: U32,
    /// 1 once `MPI_Finalize` was reached and recording ended in order.
    pub finalized: U32,
    /// A [`StopReason`].
    pub stop_reason: U32,
    /// When recording stopped early, ticks; 0 if it did not stop early.
    pub stop_ticks: U64,
    /// Calls of the application after recording stopped early.
    pub calls_after_stop: U64,
    /// Clocks at the end, once finalized.
    pub end_anchor: Anchor,
    /// What failed, UTF-8, padded with zeros.
    pub stop_text: [u8; STOP_TEXT_BYTES],
    /// Records in all chunks, once finalized: shows whether whole chunks are missing.
    pub n_records: U64,
    /// [`FileHeader::end_checksum`], once finalized; 0 in a file whose recorder stored none.
    pub end_crc32: U32,
    /// Cores that the process might use when recording began; 0: not known.
    pub usable_cores: U16,
    /// Cores of its host that were online then; 0: not known.
    pub online_cores: U16,
    /// Which cores it might use: equal for processes of a host that might use the same ones.
    pub core_set: U64,
    /// The size of a ring, bytes: the newest records are retained and older ones are overwritten.
    /// 0: all records are retained.
    pub keep_bytes: U64,
}

const _: () = {
    assert!(size_of::<FileHeader>() == 256);
    assert!(std::mem::offset_of!(FileHeader, header_crc32) == 32);
    assert!(std::mem::offset_of!(FileHeader, finalized) == 40);
};

/// The fields of the header about the end of recording do not match their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndDamaged;

impl FileHeader {
    /// The header of a file that is being recorded.
    ///
    /// `identity` is the encoded identity (at most 16 MiB) and its CRC-32, from
    /// [`encode_meta`](crate::encode_meta). `header_length` is a multiple of
    /// [`CHUNK_ALIGN`](crate::CHUNK_ALIGN) and larger than both together.
    #[must_use]
    pub fn recording(identity: (&[u8], u32), header_length: u64) -> Self {
        let mut header = Self {
            magic: FILE_MAGIC,
            version: FORMAT_VERSION.into(),
            meta_codec: 1.into(),
            record_bytes: (size_of::<Record>() as u16).into(),
            chunk_header_bytes: (size_of::<ChunkHeader>() as u16).into(),
            header_length: header_length.into(),
            identity_length: (identity.0.len() as u32).into(),
            identity_crc32: identity.1.into(),
            header_crc32: U32::ZERO,
            reserved: U32::ZERO,
            finalized: U32::ZERO,
            stop_reason: U32::ZERO,
            stop_ticks: U64::ZERO,
            calls_after_stop: U64::ZERO,
            end_anchor: Anchor::NONE,
            stop_text: [0; STOP_TEXT_BYTES],
            n_records: U64::ZERO,
            end_crc32: U32::ZERO,
            usable_cores: U16::ZERO,
            online_cores: U16::ZERO,
            core_set: U64::ZERO,
            keep_bytes: U64::ZERO,
        };
        header.header_crc32 = header.checksum().into();
        header
    }

    /// Marks that recording ended in order: the clocks at that time, and the number of records in
    /// all chunks.
    pub(crate) fn finalize(&mut self, anchor: Anchor, n_records: u64) {
        self.finalized = 1.into();
        self.end_anchor = anchor;
        self.n_records = n_records.into();
        self.end_crc32 = Self::end_checksum(&anchor, n_records).into();
    }

    /// The checksum that `header_crc32` must hold.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        crc32fast::hash(&self.as_bytes()[..32])
    }

    /// The checksum that `end_crc32` must hold: CRC-32 of the anchor at the end (40 bytes) and the
    /// number of records (8), 1 where that is 0.
    #[must_use]
    pub fn end_checksum(end_anchor: &Anchor, n_records: u64) -> u32 {
        let mut crc = crc32fast::Hasher::new();
        crc.update(end_anchor.as_bytes());
        crc.update(&n_records.to_le_bytes());
        crc.finalize().max(1)
    }

    /// The clocks at the end and the number of records in all chunks; `None` unless recording
    /// ended in order.
    ///
    /// # Errors
    /// [`EndDamaged`] if these fields are not what the recorder wrote.
    pub fn end(&self) -> Result<Option<(Anchor, u64)>, EndDamaged> {
        if self.finalized.get() == 0 {
            return Ok(None);
        }
        let (anchor, n_records) = (self.end_anchor, self.n_records.get());
        match self.end_crc32.get() {
            // Earlier recorders stored no checksum.
            0 => Ok(Some((anchor, n_records))),
            crc if crc == Self::end_checksum(&anchor, n_records) => Ok(Some((anchor, n_records))),
            _ => Err(EndDamaged),
        }
    }

    /// What failed, in words; empty if nothing did.
    #[must_use]
    pub fn stop_text(&self) -> String {
        let end = self
            .stop_text
            .iter()
            .position(|&b| b == 0)
            .unwrap_or(STOP_TEXT_BYTES);
        String::from_utf8_lossy(&self.stop_text[..end]).into_owned()
    }
}

/// Which clock stamps the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum ClockSource {
    /// The processor's invariant time stamp counter; ticks scale by the anchors.
    Tsc,
    /// `CLOCK_MONOTONIC_RAW`; one tick is 1 ns.
    MonotonicRaw,
    /// `CLOCK_MONOTONIC`; one tick is 1 ns.
    Monotonic,
}

/// The clock of a process, as observed when recording began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub struct ClockIdentity {
    /// Which clock it is.
    pub source: ClockSource,
    /// Step between readings (the lower quartile of those seen), ticks, > 0.
    pub granularity_ticks: u64,
    /// Least cost of one reading, in 1/1000 of a tick.
    pub read_cost_milliticks: u64,
}

/// The host of a process: processes with equal boot id and time namespace share their clocks.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct HostIdentity {
    /// Its name, as `uname` gives it.
    pub name: String,
    /// The kernel's random id of this boot; empty if it could not be read.
    pub boot_id: String,
    /// Identifies the time namespace: its inode, or a hash of its offsets. It is equal where clocks
    /// have the same shift, and 0 if there are no time namespaces.
    pub time_namespace: u64,
}

/// How an MPI library represents handles and constants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Encode, Decode)]
pub enum Abi {
    /// Open MPI: handles are pointers.
    OpenMpi,
    /// MPICH and its descendants: handles are 32-bit integers.
    Mpich,
    /// The ABI of the MPI 5 standard.
    Mpi5,
    /// Not recognised: times are recorded, arguments are not decoded.
    Unknown,
}

/// The MPI library that ran.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct MpiIdentity {
    /// How it represents handles.
    pub abi: Abi,
    /// What `MPI_Get_library_version` says.
    pub library_version: String,
    /// The object that provides `PMPI_Init`.
    pub library_path: String,
    /// Thread level provided: 0 single, 1 funneled, 2 serialized, 3 multiple.
    pub thread_level: u32,
}

/// Everything about a rank that is known when recording begins.
#[derive(Debug, Clone, PartialEq, Eq, Encode, Decode)]
pub struct Identity {
    /// Version of collbench that recorded.
    pub recorder: String,
    /// Random number of the world (the processes of one `MPI_COMM_WORLD`), the same in all of
    /// its files.
    pub world: u64,
    /// Rank in the world.
    pub rank: u32,
    /// Processes in the world, > `rank`.
    pub world_size: u32,
    /// Process id, on its host.
    pub pid: u32,
    /// Whether the world was started by `MPI_Comm_spawn` from another one.
    pub spawned: bool,
    /// Where it ran.
    pub host: HostIdentity,
    /// What stamps its records.
    pub clock: ClockIdentity,
    /// Which MPI it used.
    pub mpi: MpiIdentity,
    /// What was recorded.
    pub layers: Vec<LayerState>,
    /// The command line of the process.
    pub command: Vec<String>,
    /// Clocks at entering and at leaving MPI_Init, each `[ticks, raw, monotonic, realtime,
    /// width]` as in [`Anchor`].
    pub anchors: Vec<[u64; 5]>,
}

impl From<Anchor> for [u64; 5] {
    fn from(anchor: Anchor) -> Self {
        [
            anchor.ticks.get(),
            anchor.raw_ns.get(),
            anchor.monotonic_ns.get(),
            anchor.realtime_ns.get(),
            anchor.width_ticks.get(),
        ]
    }
}

impl From<[u64; 5]> for Anchor {
    fn from([ticks, raw, monotonic, realtime, width]: [u64; 5]) -> Self {
        Self {
            ticks: ticks.into(),
            raw_ns: raw.into(),
            monotonic_ns: monotonic.into(),
            realtime_ns: realtime.into(),
            width_ticks: width.into(),
        }
    }
}
