//! Writes rank files: pieces, which the recorder uses too, and whole files for programs that do not
//! record.

mod made_up;
mod pieces;
mod rank_file;
mod sequences;

pub use pieces::{
    ChunkPosition, DEFINITION_ENTRY_HEADER, EntryRoom, chunk_opening, communicator_entry,
    definition_entry, definitions_chunk, file_header, records_chunk,
};
pub use rank_file::{FileLengths, RankFileWriter, Stop, WrittenChunk};
pub use sequences::Sequences;
