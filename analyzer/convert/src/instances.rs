//! What all formats have in common: they take instances as they come.

use collbench_analyzer::rows::{AnalysisOfRows, Rows};

use crate::error::ExportError;

/// What writes instances in some format.
pub(crate) trait WriteInstances: Send {
    /// Takes the next instances.
    ///
    /// # Errors
    /// [`ExportError`] if they cannot be written.
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), ExportError>;

    /// Ends it, after all instances.
    ///
    /// # Errors
    /// [`ExportError`] if it cannot be written.
    fn finish(self: Box<Self>, analyzed: &AnalysisOfRows) -> Result<(), ExportError>;
}
