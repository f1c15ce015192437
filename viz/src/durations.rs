//! The distribution of durations: how long an operation usually takes, and how long at worst.
//!
//! A histogram on a logarithmic axis of time, since durations of one operation lie decades apart.
//! A bar's area is what it counts, so that bars may be of unequal width; that would hide the few
//! that took longest, so every bar has a least height, and a low one a ring above it. Median, mean, 99th
//! percentile and the longest stand above the bars by name.

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
    /// A bar of some width and some height, else `None`. What lies below 1 ns is drawn at the
    /// lower end of the axis.
    pub fn new(from_ns: i64, to_ns: i64, n: u64) -> Option<Bar> {
        (from_ns < to_ns && n > 0).then_some(Bar { from_ns, to_ns, n })
    }

    /// The ends on the logarithmic axis, in ns above 0.
    fn ends(self) -> (f64, f64) {
        let from = (self.from_ns as f64).max(0.5);
        (from, (self.to_ns as f64).max(from * 1.09))
    }

    /// Count for each eighth of a doubling of time: the count itself where the bar is that wide.
    fn height(self) -> f64 {
        let (from, to) = self.ends();
        self.n as f64 / (8.0 * (to / from).log2())
    }
}

/// What is marked above the bars, in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DurationMarks {
    /// Half of the durations are at most this long.
    pub median_ns: i64,
    /// The mean.
    pub mean_ns: i64,
    /// All but one in a hundred are at most this long.
    pub p99_ns: i64,
    /// The longest.
    pub max_ns: i64,
}

/// The durations of one operation's instances.
///
/// # Source
/// Hoefler et al., section 1.2: the distribution beside the one number that it is reduced to.
#[derive(Debug, Clone)]
pub struct Durations {
    heading: Heading,
    marks: DurationMarks,
    /// By time, at least one.
    bars: Vec<Bar>,
}

impl Durations {
    /// A histogram of these bars, which are not to overlap; `None` without any.
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
