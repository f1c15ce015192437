//! How far an analysis has come.

/// Records read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Records read.
    pub n_done: u64,
    /// Records in the trace.
    pub n_total: u64,
}
