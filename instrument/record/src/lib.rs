//! The commands around the recorder: [`launch`] puts the preloaded library before a program, [`compact`] makes
//! finished traces small.

pub mod compact;
mod interrupt;
pub mod launch;
