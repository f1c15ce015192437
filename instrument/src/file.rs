//! The file of one rank.

#[allow(unsafe_code)]
mod chunk;
mod definitions;
mod definitions_chunk;
mod error;
mod growing;
#[allow(unsafe_code)]
mod header;
#[allow(unsafe_code)]
mod mapping;
#[allow(unsafe_code)]
mod rank_file;
#[allow(unsafe_code)]
mod reserve;
#[allow(unsafe_code)]
mod ring;
#[allow(unsafe_code)]
pub(crate) mod slot;

pub(crate) use chunk::{OpenChunk, Opening};
pub(crate) use error::GrowError;
pub(crate) use mapping::{disown_in_child, is_forked};
pub(crate) use rank_file::{Limit, RankFile};
pub(crate) use slot::{Slot, SlotCursor, Slots};
