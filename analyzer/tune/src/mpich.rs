//! MPICH's selection files: JSON in which keys are tests and choices.
//!
//! [`read`] says what the library makes of a file; [`Chooser::plans`] what a call then comes to,
//! with the files that were compiled in ([`compiled`]) in the place of those that a run does not name.

mod call;
mod compiled;
mod file;
mod measured;
mod measures;
mod parts;
mod plan;
mod reach;
mod read;
mod rules;
mod search;
mod settings;
mod table_4_0;
mod table_5_0;
mod table_both;
mod test;
mod tree;
mod version;
mod versions;
mod write;

pub use call::{Call, Communicator, Layout};
pub use compiled::compiled;
pub use file::{MpichFile, OtherFiles};
pub use measured::{choices, write_measured};
pub use plan::{By, Chooser, Failure, Place, Plan, Step};
pub use read::{is_selection, read, read_as};
pub use settings::Settings;
pub use test::Hierarchy;
pub use tree::{Fate, Kind, Selection};
pub use version::Version;
pub use write::{Choice, WriteError, Written, write};

#[cfg(test)]
mod tests;
