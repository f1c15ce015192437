//! How a trace is analysed.

use collbench_clocks::AlignmentMethod;

use crate::judge::details::Details;
use crate::selection::Selection;

/// Which part of a trace is analysed, and how. The default: everything, with the recommended
/// alignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The selected part of the run.
    pub selection: Selection,
    /// How the clocks of several hosts are aligned.
    pub alignment: AlignmentMethod,
    /// Which details of operations the document has.
    pub details: Details,
    /// Records of all files that are processed in a round, > 0; `None`: as many as are processed the fastest. Results
    /// do not depend on it; time and memory do.
    pub window: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            alignment: AlignmentMethod::default(),
            details: Details::All,
            window: None,
        }
    }
}
