//! Histogram of durations: how long an operation usually takes, and how long at most.
//!
//! The axis of time is logarithmic, since durations of one operation span decades. The area of a
//! bar is proportional to its count, so bars may differ in width. The few longest durations must
//! remain visible, so every bar has a minimum height, and a low one has a ring above it. Median,
//! mean, 99th percentile and maximum are marked above the bars.

mod draw;

use crate::timemap::Heading;

/// One bar: `n` durations from `from_ns` to below `to_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    from_ns: i64,
    to_ns: i64,
    n: u64,
}

impl Bar {
    /// A bar of positive width and count, else `None`. Durations below 1 ns are drawn at the lower
    /// end of the axis.
    pub fn new(from_ns: i64, to_ns: i64, n: u64) -> Option<Bar> {
        (from_ns < to_ns && n > 0).then_some(Bar { from_ns, to_ns, n })
    }

    /// The ends on the logarithmic axis, ns, above 0.
    fn ends(self) -> (f64, f64) {
        let from = (self.from_ns as f64).max(0.5);
        (from, (self.to_ns as f64).max(from * 1.09))
    }

    /// Count per eighth of a doubling of time: the count itself if the bar has that width.
    fn height(self) -> f64 {
        let (from, to) = self.ends();
        self.n as f64 / (8.0 * (to / from).log2())
    }
}

/// The durations marked above the bars, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationMarks {
    /// Median.
    pub median_ns: i64,
    /// Mean.
    pub mean_ns: i64,
    /// 99th percentile.
    pub p99_ns: i64,
    /// Maximum.
    pub max_ns: i64,
}

/// The durations of the instances of one operation.
///
/// # Source
/// Hoefler et al., section 1.2: show the distribution beside the one number that summarizes it.
#[derive(Debug, Clone)]
pub struct Durations {
    heading: Heading,
    marks: DurationMarks,
    /// Ascending by time, at least one.
    bars: Vec<Bar>,
}

impl Durations {
    /// A histogram of these bars, which must not overlap; `None` without any.
    pub fn new(
        heading: Heading,
        marks: DurationMarks,
        bars: impl IntoIterator<Item = Bar>,
    ) -> Option<Durations> {
        let mut bars: Vec<Bar> = bars.into_iter().collect();
        bars.sort_by_key(|bar| (bar.from_ns, bar.to_ns));
        (!bars.is_empty()).then_some(Durations {
            heading,
            marks,
            bars,
        })
    }
}
