//! What a format has to do.

use collbench_analyzer::rows::{AnalysisOfRows, InstanceWithCalls, Rows};
use rustc_hash::FxHashMap;

use crate::error::ExportError;

/// What writes instances in some format.
pub(crate) trait WriteInstances: Send {
    /// Takes the next instances.
    ///
    /// # Errors
    /// [`ExportError`] if they cannot be written.
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), ExportError>;

    /// Ends it, after all instances; gives what the user should know, if anything.
    ///
    /// # Errors
    /// [`ExportError`] if it cannot be written.
    fn finish(self: Box<Self>, analyzed: &AnalysisOfRows) -> Result<Option<String>, ExportError>;
}

/// The thread of each rank that called in an instance, if it has messages.
pub(crate) fn threads_of(of: &InstanceWithCalls<'_>) -> FxHashMap<u32, u32> {
    let calls = of.calls.iter().filter(|_| !of.messages.is_empty());
    calls.map(|call| (call.rank, call.thread)).collect()
}
