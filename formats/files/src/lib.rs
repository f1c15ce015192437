//! The files of a trace directory, where others may be able to write too.
//!
//! [`Folder`] opens what lies in a directory: relative to the directory as it was opened, never
//! through a link, never waiting for the other end of a pipe; what is open is then looked at, and
//! anything but a regular file is refused. [`Mapped`] is a file in memory that somebody may
//! cut meanwhile. All that opens files of a trace does so here.

mod folder;
mod mapped;

pub use folder::{Folder, open_regular};
pub use mapped::{Mapped, guard_mappings};
