//! Open MPI's rule files, as each version of the library reads them.
//!
//! [`version`] has the types of a table of one version, [`library`] finds it, [`v4_1`] and [`v5_0`] the tables; [`scanner`]
//! reads numbers as the library does, [`classic`] a whole file; [`tuned`] decides a call; [`check`](mod@check)
//! finds what is wrong, with the help of [`layout`]; [`write`](mod@write) makes a file of choices; [`han`] is
//! about the files of `coll_han`.

mod check;
mod classic;
pub mod han;
mod layout;
mod library;
mod run;
mod scanner;
mod settings;
mod tuned;
mod unused;
mod v4_1;
mod v5_0;
mod version;
mod write;

pub use check::check;
pub use classic::{ClassicFile, CommunicatorRules, Dropped, MessageRule, OperationRules};
pub use library::Library;
pub use run::{HanSettings, Settings};
pub use scanner::Skipped;
pub use settings::Parameters;
pub use tuned::{Call, decide, size, starts};
pub use unused::unused;
pub use version::{
    Algorithm, CountedSize, Limit, OperationTable, Part, Version, VersionTable, has_number,
};
pub use write::{write, write_json};
