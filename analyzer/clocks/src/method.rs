//! The methods that bring clocks to one time.

/// How the clocks of several hosts are brought to one time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AlignmentMethod {
    /// The offset of the first burst holds throughout.
    Offset,
    /// A straight line from the first burst to the last.
    TwoPoint,
    /// Straight lines from burst to burst.
    Piecewise,
    /// The joint smoother, over exchanges and collectives.
    #[default]
    Smooth,
}
