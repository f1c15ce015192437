//! The commands around the recorder: [`launch`] preloads the library into a program, [`compact`]
//! makes finished traces small.

pub mod compact;
mod interrupt;
pub mod launch;
