//! The trace format of collbench, version 1: what one rank recorded, as bytes.
//!
//! This crate turns values into bytes and bytes into values. It opens no files, knows no MPI
//! library and holds no `unsafe`: readers hand it `&[u8]`, the recorder takes the layouts from
//! here and stores into a mapping itself, generators and tests have a [`write::RankFileWriter`].
//!
//! In reading order: an [`Operation`] names what was called and what its ranks wait for; a
//! [`Record`] is one call of one rank, or the [`Completion`] of a nonblocking or persistent
//! collective; [`tree`] has the description of spanning trees of our own; records are in chunks
//! ([`ChunkHeader`]), each of one thread; [`Definition`]s say what the numbers in records mean; the [`FileHeader`] and the [`Identity`] say who recorded.
//! [`mod@write`] makes files of those pieces. [`RankTrace::parse`] reads them, whatever state the
//! file was left in.
//!
//! The bytes are described below, from `FORMAT.md`.
#![doc = include_str!("../FORMAT.md")]
#![forbid(unsafe_code)]

// In reading order; no module uses one further down.
mod record;

pub mod tree;

mod file;

mod read;

pub mod compact;

mod trace;

pub mod write;

pub use file::{
    Abi, Anchor, CHUNK_ALIGN, CHUNK_MAGIC, COMPACT_VERSION, CallSite, CandidateAt, ChunkHeader,
    ChunkKind, ClockIdentity, ClockSource, Communicator, CommunicatorKind, ControlPoint,
    Definition, EndDamaged, FILE_MAGIC, FORMAT_VERSION, FileHeader, HostIdentity, Identity, Layer,
    LayerState, MAX_META_BYTES, MetaError, Module, MpiIdentity, NO_COMMUNICATOR, NO_MODULE,
    OffsetSample, PLACE_MAGIC, PersistentCollective, ProcessState, SCRIPT, STOP_TEXT_BYTES,
    ScriptFunction, SequenceEntry, SequenceOf, SiteFrame, SpanningTree, StopReason, Topology,
    decode_meta, encode_meta,
};
pub use read::{Damage, FormatError};
pub use record::{
    Activity, AlgorithmStart, CODE_FAILED, CODE_INTERNAL, CODE_PAYLOAD_UNKNOWN, CallSiteChange,
    CallSiteForecast, CallSiteHistory, CollectorPass, CommunicatorWord, CompletingCall, Completion,
    Creation, Direction, FENCE_NO_PRECEDE, GapTime, Initiation, MAX_PAYLOAD_BYTES, Message,
    NO_CALL_SITE, NO_RANK, NO_TAG, NextCallSite, Note, Operation, PassedWays, PersistentStart,
    ROOT_IS_ME, ROOT_NONE, ROOT_OTHER_OF_MY_GROUP, Record, RecordKind, RecordWord, Running,
    Semantics, UNKNOWN_COMMUNICATOR, UnsuccessfulTests, phase_words,
};
pub use trace::{Chunk, Definitions, RankTrace, Records, Window};
