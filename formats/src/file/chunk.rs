//! Chunks: the pieces that a rank file grows by, each of one thread, each readable by itself.

use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Chunks begin and end at multiples of this many bytes. A reader that does not find a chunk where
/// it should begin looks for [`CHUNK_MAGIC`] at these multiples.
pub const CHUNK_ALIGN: u64 = 4096;

/// The first four bytes of a chunk; stored last when a chunk is opened.
pub const CHUNK_MAGIC: [u8; 4] = *b"CBCH";

/// The first four bytes of the place of a chunk in a ring while that place is being reused. Only
/// the length in its header is valid then.
pub const PLACE_MAGIC: [u8; 4] = *b"CBPL";

/// One reading of several clocks of a process at (nearly) one instant.
///
/// The recorder reads ticks, the system clocks, and ticks again. `ticks` is the middle of the two
/// tick readings, and `width_ticks` is their difference: the error of the pair is at most half of
/// it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct Anchor {
    /// Ticks of the clock that stamps records, > 0; 0 where no reading was taken.
    pub ticks: U64,
    /// `CLOCK_MONOTONIC_RAW`, ns.
    pub raw_ns: U64,
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: U64,
    /// `CLOCK_REALTIME`, ns since 1970.
    pub realtime_ns: U64,
    /// Distance of the two tick readings around the others, ticks.
    pub width_ticks: U64,
}

impl Anchor {
    /// No reading.
    pub const NONE: Self = Self {
        ticks: U64::ZERO,
        raw_ns: U64::ZERO,
        monotonic_ns: U64::ZERO,
        realtime_ns: U64::ZERO,
        width_ticks: U64::ZERO,
    };

    /// Whether a reading was taken.
    #[must_use]
    pub fn is_some(&self) -> bool {
        self.ticks.get() != 0
    }
}

/// What a chunk holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum ChunkKind {
    /// [`Record`](crate::Record)s of one thread, in the order in which its calls were entered.
    Records = 1,
    /// Encoded [`Definition`](crate::Definition)s of the process.
    Definitions = 2,
}

impl ChunkKind {
    /// The kind with this number.
    #[must_use]
    pub fn from_code(code: u32) -> Option<Self> {
        match code {
            1 => Some(Self::Records),
            2 => Some(Self::Definitions),
            _ => None,
        }
    }
}

/// How many calls of the application had been entered on a communicator when a chunk was opened.
///
/// The table of these entries follows the chunk header. With it, a reader that finds only the
/// newest chunks knows the positions of their calls, and records need not hold them. In a ring the
/// table also holds what else a reader needs to know of earlier calls: see [`SequenceOf`].
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct SequenceEntry {
    /// Index of the communicator definition.
    pub communicator: U32,
    /// Earlier calls that the MPI library made on its own behalf; modulo 2^32.
    pub internal_calls: U32,
    /// Earlier calls of the application.
    pub calls: U64,
}

const _: () = assert!(size_of::<SequenceEntry>() == 16);

/// In [`SequenceEntry::communicator`]: the entry is about the persistent collective whose index is
/// in the other bits.
const OF_PERSISTENT: u32 = 1 << 31;
/// In [`SequenceEntry::communicator`]: the entry is about the process as a whole.
const OF_PROCESS: u32 = u32::MAX;
/// In [`SequenceEntry::calls`] of the process: the program has set a phase.
const IN_PHASE: u64 = 1 << 63;

/// What an entry of a sequence table is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SequenceOf {
    /// The communicator with this index: how many calls had been entered on it.
    Communicator(u32),
    /// The persistent collective with this index (rings only).
    Persistent {
        /// Index of its definition.
        definition: u32,
        /// How many times it had been started.
        starts: u64,
    },
    /// The process (rings only).
    Process(ProcessState),
}

/// State of a process when a chunk of a ring was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessState {
    /// How many communicators it had defined; communicators with this index and above are later.
    pub n_communicators: u32,
    /// How many persistent collectives it had defined; below 2^31.
    pub n_persistents: u32,
    /// Level of the phase that the program has set; `None` if it has set none.
    pub phase: Option<i32>,
}

impl SequenceEntry {
    /// What it is about.
    #[must_use]
    pub fn of(&self) -> SequenceOf {
        let calls = self.calls.get();
        match self.communicator.get() {
            OF_PROCESS => SequenceOf::Process(ProcessState {
                n_communicators: calls as u32,
                n_persistents: (calls >> 32) as u32 & !OF_PERSISTENT,
                phase: (calls & IN_PHASE != 0).then_some(self.internal_calls.get() as i32),
            }),
            index if index & OF_PERSISTENT != 0 => SequenceOf::Persistent {
                definition: index & !OF_PERSISTENT,
                starts: calls,
            },
            index => SequenceOf::Communicator(index),
        }
    }

    /// The entry of a persistent collective; `definition` is below 2^31 - 1.
    #[must_use]
    pub fn of_persistent(definition: u32, starts: u64) -> Self {
        Self {
            communicator: (definition | OF_PERSISTENT).into(),
            internal_calls: U32::ZERO,
            calls: starts.into(),
        }
    }

    /// The entry of the process.
    #[must_use]
    pub fn of_process(state: ProcessState) -> Self {
        let counts = u64::from(state.n_communicators)
            | u64::from(state.n_persistents & !OF_PERSISTENT) << 32;
        let phase = state.phase.map_or(0, |_| IN_PHASE);
        Self {
            communicator: OF_PROCESS.into(),
            internal_calls: (state.phase.unwrap_or(0) as u32).into(),
            calls: (counts | phase).into(),
        }
    }
}

/// The first 128 bytes of a chunk.
///
/// All fields but `last_leave` and `closed` are written once, when the chunk is opened, and are
/// covered by the checksum. The other two are stored when the chunk is closed. A process that is
/// killed leaves its last chunks open.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub struct ChunkHeader {
    /// [`CHUNK_MAGIC`].
    pub magic: [u8; 4],
    /// A [`ChunkKind`].
    pub kind: U32,
    /// Bytes of the whole chunk, a multiple of [`CHUNK_ALIGN`].
    pub length: U64,
    /// Number of the thread within the process, from 0, in order of their first call; for
    /// definitions 0.
    pub thread: U32,
    /// Number of the chunk among those of its thread (of the definitions), from 0.
    pub ordinal: U32,
    /// Entries of the sequence table that follows this header.
    pub n_sequences: U32,
    /// Where the content begins, in bytes from the start of the chunk; a multiple of 32.
    pub content_at: U32,
    /// CRC-32 of this header and of the sequence table, computed with the correct `magic`, and with
    /// this field, `last_leave` and `closed` as 0.
    pub crc32: U32,
    /// Always 0.
    pub reserved: U32,
    /// Clocks when the chunk was opened: the begin of its time range.
    pub anchor: Anchor,
    /// When the recorder began to make the chunk's pages ready, in ticks. The application was held
    /// up from here to `prepare_end`. In a ring the sequence table is for this instant: it counts
    /// the calls of all threads that were entered before it, and no others.
    pub prepare_begin: U64,
    /// When the chunk's pages were ready, in ticks.
    pub prepare_end: U64,
    /// Records of this thread in earlier chunks.
    pub first_record: U64,
    /// End of the chunk's time range: the last leave in it, ticks; valid once closed.
    pub last_leave: U64,
    /// 0 while the chunk is open, else 1 + number of records (bytes of definitions) in it.
    /// Stored last.
    pub closed: U64,
    /// Calls of the application among the records of this thread in earlier chunks; only counted in
    /// rings, otherwise 0.
    pub first_call: U64,
}

const _: () = assert!(size_of::<ChunkHeader>() == 128);

impl ChunkHeader {
    /// The checksum that `crc32` must hold, over this header and the table after it.
    #[must_use]
    pub fn checksum(&self, sequences: &[SequenceEntry]) -> u32 {
        let stable = Self {
            magic: CHUNK_MAGIC,
            crc32: U32::ZERO,
            last_leave: U64::ZERO,
            closed: U64::ZERO,
            ..*self
        };
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(stable.as_bytes());
        hasher.update(sequences.as_bytes());
        hasher.finalize()
    }

    /// Where the content begins after a table of `n_sequences` entries, in bytes from the start of
    /// the chunk.
    #[must_use]
    pub const fn content_offset(n_sequences: usize) -> usize {
        (size_of::<Self>() + n_sequences * size_of::<SequenceEntry>()).next_multiple_of(32)
    }
}
