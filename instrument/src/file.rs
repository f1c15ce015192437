//! The file of one rank.

#[allow(unsafe_code)]
mod mapping;
#[allow(unsafe_code)]
mod rank_file;
#[allow(unsafe_code)]
mod ring;

pub(crate) use mapping::{is_forked, leave_to_the_parent};
pub(crate) use rank_file::{GrowError, Limit, OpenChunk, Opening, RankFile};
