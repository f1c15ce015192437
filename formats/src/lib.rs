//! The trace format of collbench, version 1: what one rank recorded, as bytes.
//!
//! This crate turns values into bytes and bytes into values. It opens no files, knows no MPI
//! library and holds no `unsafe`: readers hand it `&[u8]`, the recorder takes the layouts from
//! here and stores into a mapping itself, the generator asks for ready-made pieces.
//!
//! The walk, in reading order: an [`Operation`] names what was called and what its ranks wait
//! for; a [`Record`] is one call of one rank, or the [`Completion`] of what a call began; records
//! stand in chunks ([`ChunkHeader`]), one thread per chunk; [`Definition`]s say what the numbers
//! in records mean; the [`FileHeader`] and the [`Identity`] say who recorded. [`encode`] makes
//! those pieces, [`RankTrace::parse`] reads them, whatever state the file was left in.
//!
//! The bytes are described below, from `FORMAT.md`.
#![doc = include_str!("../FORMAT.md")]
#![forbid(unsafe_code)]

mod chunk;
#[cfg(feature = "serde")]
mod codes;
pub mod compact;
mod completion;
mod definition;
pub mod encode;
mod header;
mod message;
mod meta;
mod note;
mod operation;
mod read;
mod record;
mod records;
mod window;

pub use chunk::{
    Anchor, CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, PLACE_MAGIC, ProcessState,
    SequenceEntry, SequenceOf,
};
pub use completion::{
    CompletingCall, Completion, Initiation, PersistentStart, TestsInVain, phase_words,
};
pub use definition::{
    Communicator, CommunicatorKind, Definition, NO_COMMUNICATOR, NO_RANK, OffsetSample,
    PersistentCollective, Topology,
};
pub use header::{
    Abi, ClockIdentity, ClockSource, EndDamaged, FILE_MAGIC, FORMAT_VERSION, FileHeader,
    HostIdentity, Identity, LayerState, MpiIdentity, STOP_TEXT_BYTES, StopReason,
};
pub use message::{Direction, MESSAGE_BYTES, MESSAGE_TAG_SHIFT, Message, message_direction};
pub use meta::{MAX_META_BYTES, MetaError, decode_meta, encode_meta};
pub use note::{AlgorithmBegun, Making, NO_TAG, Note, Running};
pub use operation::{Layer, Operation, Semantics};
pub use read::{Chunk, Damage, Definitions, FormatError, RankTrace};
pub use record::{
    CODE_FAILED, CODE_INTERNAL, CODE_PAYLOAD_UNKNOWN, FENCE_NO_PRECEDE, MAX_PAYLOAD_BYTES,
    ROOT_IS_ME, ROOT_NONE, ROOT_OTHER_OF_MY_GROUP, Record, RecordKind, UNKNOWN_COMMUNICATOR,
    pack_call_word, payload_of_word, split_call_word,
};
pub use records::Records;
pub use window::Window;
