//! A trace in formats that other programs open.
//!
//! [`export`] analyses a trace and, while it does so, writes each instance with its calls, waits, causes and messages: as
//! [tables], which are files of Parquet or comma-separated values, or a database of SQLite; as a timeline for Perfetto; as an
//! archive in the Open Trace Format 2; or as a schedule in GOAL for simulators. Times are on the common time of all
//! hosts, in ns since the start of the run. What is not known is left out, never 0. The same trace gives the same bytes, whatever
//! the number of threads.
#![forbid(unsafe_code)]

mod archive;
mod csv;
mod error;
mod export;
mod facts;
mod goal;
mod parquet;
mod perfetto;
mod sink;
mod sqlite;
mod table_files;
pub mod tables;
mod target;
mod write;

pub use error::ExportError;
pub use export::{Exported, Failure, Format, How, UsageError, export};
