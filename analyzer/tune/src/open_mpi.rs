//! Open MPI's rule files, as each version of the library reads them.
//!
//! [`version`] has the types of a table of one version, [`library`] finds it, [`v4_1`], [`v5_0`] and [`v6_0`] the tables; [`scanner`]
//! reads numbers as the library does, [`classic`] a whole file, [`json_file`] one in JSON; [`tuned`] decides a call; [`check`](mod@check)
//! finds what is wrong, with the help of [`layout`], [`json_check`] in JSON; [`write`](mod@write) makes a file of choices; [`han`] is
//! about the files of `coll_han`.

mod check;
mod classic;
mod coverage;
pub mod han;
mod json_check;
mod json_file;
#[cfg(test)]
mod json_tests;
mod layout;
mod library;
mod look_up;
mod parameters;
mod run;
mod scanner;
mod settings;
mod tuned;
mod unused;
mod v4_1;
mod v5_0;
mod v6_0;
mod version;
mod write;

pub use check::check;
pub use classic::{ClassicFile, CommunicatorRules, Dropped, MessageRule, OperationRules};
pub use json_check::{check as check_json, unused as unused_json};
pub use json_file::JsonFile;
pub use library::Library;
#[cfg(test)]
pub(crate) use library::library_of;
pub use look_up::Placement;
pub use run::{HanSettings, Settings};
pub use scanner::Skipped;
pub use settings::Parameters;
pub use tuned::{Call, TunedFile, decide, size, starts};
pub use unused::unused;
pub use version::{
    Algorithm, CountedSize, Limit, OperationTable, Part, Version, VersionTable, has_number,
};
pub use write::{write, write_json};
