//! Rule files of `coll_han`, as Open MPI 4.1 and 5.0 read them.
//!
//! [`table`] has the names, [`read`] takes a file apart, [`decide`](mod@decide) says what runs, and
//! [`check`](mod@check) what is wrong; [`write`](mod@write) makes a file of choices. Such a file chooses the component for a call, and for the calls
//! that `coll_han` makes within a host and between hosts.

mod check;
mod decide;
mod read;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use check::{check, unused};
pub use decide::{decide, size, starts};
pub use read::{Fault, HanFile, HanOperation, HanRule, HanSizes, LevelRules};
pub use table::{Component, HanOperationTable, Level};
pub use write::write;
