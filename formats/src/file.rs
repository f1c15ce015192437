//! What a rank file is made of besides records.

mod chunk;
mod definition;
mod header;
mod layer;
mod meta;
mod site;

pub use chunk::{
    Anchor, CHUNK_ALIGN, CHUNK_MAGIC, ChunkHeader, ChunkKind, PLACE_MAGIC, ProcessState,
    SequenceEntry, SequenceOf,
};
pub use definition::{
    CandidateAt, Communicator, CommunicatorKind, ControlPoint, Definition, NO_COMMUNICATOR,
    OffsetSample, PersistentCollective, SpanningTree, Topology,
};
pub use header::{
    Abi, COMPACT_VERSION, ClockIdentity, ClockSource, EndDamaged, FILE_MAGIC, FORMAT_VERSION,
    FileHeader, HostIdentity, Identity, MpiIdentity, STOP_TEXT_BYTES, StopReason,
};
pub use layer::{Layer, LayerState};
pub use meta::{MAX_META_BYTES, MetaError, decode_meta, encode_meta};
pub use site::{CallSite, Module, NO_MODULE, SCRIPT, ScriptFunction, SiteFrame};
