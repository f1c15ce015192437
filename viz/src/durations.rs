//! Histogram of durations: how long an operation usually takes, and how long at most.
//!
//! The axis of time is logarithmic, since durations of one operation span decades: each doubling is
//! as wide as any other, and within a doubling the axis is linear, so that eight bars of equal widths
//! in ns are equally wide there too. The height of a bar is its number of instances. The few longest
//! durations must remain visible, so every bar has a minimum height, and a low one has a ring above
//! it. Median, mean, 99th percentile and maximum are marked above the bars.

mod draw;

use crate::timemap::Heading;

/// One bar: `n` durations from `from_ns` to below `to_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bar {
    from_ns: i64,
    to_ns: i64,
    n: u64,
    leads_to: Option<usize>,
    parts: Option<[u64; PARTS]>,
}

/// Parts of a bar, which are shown when the picture is magnified.
const PARTS: usize = 8;

impl Bar {
    /// A bar of positive width and count, else `None`. Durations below 1 ns are drawn at the lower
    /// end of the axis.
    pub fn new(from_ns: i64, to_ns: i64, n: u64) -> Option<Bar> {
        (from_ns < to_ns && n > 0).then_some(Bar {
            from_ns,
            to_ns,
            n,
            leads_to: None,
            parts: None,
        })
    }

    /// This bar, with the numbers of durations in its parts of equal width, which together are its own.
    #[must_use]
    pub fn in_parts(self, parts: Option<[u64; PARTS]>) -> Bar {
        let is_wide = self.to_ns - self.from_ns >= PARTS as i64;
        let are_all = |parts: &[u64; PARTS]| parts.iter().sum::<u64>() == self.n;
        Bar {
            parts: parts.filter(|parts| is_wide && are_all(parts)),
            ..self
        }
    }

    /// This bar, leading to an instance of the page by its number.
    #[must_use]
    pub fn leading_to(self, instance: Option<usize>) -> Bar {
        Bar {
            leads_to: instance,
            ..self
        }
    }

    /// The ends on the axis, in steps.
    fn ends(self) -> (f64, f64) {
        let from = step(self.from_ns as f64);
        (from, step(self.to_ns as f64).max(from + LEAST_WIDTH))
    }

    /// Number of instances per step: its number of instances if it is one step wide.
    fn height(self) -> f64 {
        let (from, to) = self.ends();
        self.n as f64 / (to - from)
    }
}

/// Least width of a bar, in steps.
const LEAST_WIDTH: f64 = 0.05;
/// Steps per doubling.
const PER_DOUBLING: f64 = 8.0;

/// The position of a duration on the axis, in steps: eight to a doubling, each as long as the others
/// of its doubling; below 8 ns one per ns.
fn step(ns: f64) -> f64 {
    let ns = ns.max(0.0);
    if ns < PER_DOUBLING {
        return ns;
    }
    let doublings = (ns / PER_DOUBLING).log2().floor();
    PER_DOUBLING * doublings + ns / 2f64.powf(doublings)
}

/// The duration at a position on the axis, ns: the inverse of [`step`].
fn ns_at(step: f64) -> f64 {
    if step < 2.0 * PER_DOUBLING {
        return step;
    }
    let doublings = (step / PER_DOUBLING).floor() - 1.0;
    (step - PER_DOUBLING * doublings) * 2f64.powf(doublings)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_doubling_has_eight_steps_of_equal_length() {
        let steps = [0.0, 5.0, 8.0, 9.0, 16.0, 18.0, 32.0, 36.0, 64.0].map(step);
        assert_eq!(steps, [0.0, 5.0, 8.0, 9.0, 16.0, 17.0, 24.0, 25.0, 32.0]);
        let bar = Bar::new(1_152, 1_280, 40).unwrap();
        assert_eq!(bar.ends().1 - bar.ends().0, 1.0);
        assert_eq!(bar.height(), 40.0);
    }

    #[test]
    fn the_duration_at_a_step_leads_back_to_it() {
        for ns in [1.0, 7.5, 8.0, 100.0, 12_345.0, 9e15] {
            assert!((ns_at(step(ns)) / ns - 1.0).abs() < 1e-9, "{ns}");
        }
    }
}
