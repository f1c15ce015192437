//! The trace directory: created once, empty, and never in the place of something else.
//!
//! Other users may be able to write in it, or in its parent directory. So no link is followed,
//! neither for the directory itself nor for a file in it, and nothing is opened that could make a
//! reader wait.

mod claim;
mod error;
mod files;
#[allow(unsafe_code)]
mod fresh;
mod names;
mod parts;
mod run;

pub use claim::n_refused;
pub(crate) use claim::{claim, claimed_by, mark_refused};
pub use error::DirectoryError;
pub(crate) use files::{create_file, remove_file};
pub use fresh::{Fresh, check_fresh, make_fresh, remove_old, remove_unused};
pub(crate) use names::{DECISION_PREFIX, REGISTRY_PREFIX};
pub use names::{RUN_SCHEMA, RUN_VARIABLE, UNFINISHED_SUFFIX, is_rank_file};
pub use run::write_run;
