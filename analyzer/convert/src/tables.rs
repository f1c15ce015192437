//! A trace as tables.

pub mod batch;
mod fill;
pub mod schema;
mod summaries;

pub use fill::RowTables;
pub use summaries::summaries;

use crate::error::ExportError;
use batch::Batch;

/// What writes tables in some format.
pub trait WriteTables: Send {
    /// Writes more rows of a table. Those of several tables come in any order.
    ///
    /// # Errors
    /// [`ExportError`] if they cannot be written.
    fn write(&mut self, batch: &Batch) -> Result<(), ExportError>;

    /// Whether rows of this table are written.
    fn wants(&self, table: &str) -> bool;

    /// Ends all tables, those without rows, too.
    ///
    /// # Errors
    /// [`ExportError`] if they cannot be written.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}
