//! Rule files by which MPI libraries choose the algorithms of collectives.
//!
//! A [`CallClass`] is what a program called; a [`Decision`] says which line of a rule file decides
//! it, or what decides instead; a [`Problem`] is what is wrong at one place of a file. The reader of
//! each version of each library is a model of its own.
#![forbid(unsafe_code)]

mod call;
mod choices;
mod decision;
mod document;
mod explain;
pub mod json;
mod looks;
pub mod mpich;
pub mod open_mpi;
pub mod predict;
mod problem;
mod proposal;
mod report;
mod rules;
pub mod run;
mod screen;
mod trace;
pub mod trees;
mod variables;
mod words;
mod written;

pub use call::CallClass;
pub use choices::{Choice, ChoicesError, choices_of};
pub use decision::{DecidedBy, Decision};
pub use explain::Explained;
pub use looks::{Format, format_of};
pub use problem::{Position, Problem};
pub use proposal::{Change, Means, Proposal, RulesText, Value};
pub use report::{Differences, Report};
pub use rules::{Changed, RuleFile, RuleFileError};
pub use trace::calls_of;
pub use variables::{write_intel, write_ucc};
pub use written::Written;
