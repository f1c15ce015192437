//! The files of a trace directory, in which other users may be able to write.
//!
//! [`Folder`] opens entries relative to the directory as it was opened, never through a link, and
//! never waits for the other end of a pipe. Then it checks what it opened, and refuses anything but
//! a regular file. [`Mapped`] is a file in memory that another process may truncate meanwhile. All
//! code that opens files of a trace does so here. [`handle_termination`] is for commands that remove unfinished files before
//! a signal ends them.

mod folder;
mod mapped;
mod termination;

pub use folder::{Folder, open_regular};
pub use mapped::{Mapped, guard_mappings};
pub use termination::{TERMINATION_SIGNALS, end_by, handle_termination};
