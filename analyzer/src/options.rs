//! How a trace is analysed.

use collbench_clocks::AlignmentMethod;

use crate::judge::details::Details;
use crate::selection::Selection;

/// What of a trace is analysed, and how. The default: everything, by the method that is best for most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The part of the run that is asked for.
    pub selection: Selection,
    /// How the clocks of several hosts are brought to one time.
    pub alignment: AlignmentMethod,
    /// Which details of operations the document has.
    pub details: Details,
    /// Records of all files that are looked at together, > 0. What is found does not depend on it;
    /// time and memory do.
    pub window: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            alignment: AlignmentMethod::default(),
            details: Details::All,
            // What is a window of all files then fits into the last cache.
            window: 1 << 19,
        }
    }
}
