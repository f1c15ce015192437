//! Offsets of the clocks of hosts over the run: their deviation from a straight line, its
//! uncertainty, and the residuals of the measurements.
//!
//! Offsets are days and drifts amount to milliseconds, so the straight line from the start to the
//! end of the run is subtracted from each clock. The rest is the error that a straight line would
//! make.

mod draw;

use crate::Text;

/// The offset of a clock at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OffsetPoint {
    /// Time since the start of the run, ns.
    pub at_ns: i64,
    /// Offset from the reference minus a straight line, ns.
    pub offset_ns: i64,
    /// Half the width of the uncertainty band, ns; below 0 counts as 0.
    pub error_ns: i64,
}

/// The clocks of hosts over a run.
#[derive(Debug, Clone)]
pub struct ClockOffsets {
    finding: Text,
    subtitle: Text,
    clocks: Vec<HostClock>,
}

#[derive(Debug, Clone)]
struct HostClock {
    host: Text,
    /// Ascending in time.
    curve: Vec<OffsetPoint>,
    measured: Vec<OffsetPoint>,
}

impl ClockOffsets {
    /// A picture without clocks yet; `finding` is the title, `subtitle` names the run.
    pub fn new(finding: Text, subtitle: Text) -> ClockOffsets {
        ClockOffsets {
            finding,
            subtitle,
            clocks: Vec::new(),
        }
    }

    /// Adds the clock of a host: its offsets with two standard deviations, and the measured offsets
    /// with their bounds. A clock without offsets is left out.
    pub fn push(
        &mut self,
        host: Text,
        curve: impl IntoIterator<Item = OffsetPoint>,
        measured: impl IntoIterator<Item = OffsetPoint>,
    ) {
        let mut curve: Vec<OffsetPoint> = curve.into_iter().collect();
        curve.sort_by_key(|point| point.at_ns);
        if !curve.is_empty() {
            self.clocks.push(HostClock {
                host,
                curve,
                measured: measured.into_iter().collect(),
            });
        }
    }
}

impl HostClock {
    /// Offset at a time, ns, interpolated.
    fn at(&self, at_ns: i64) -> i64 {
        let behind = self.curve.partition_point(|point| point.at_ns <= at_ns);
        let left = &self.curve[behind.saturating_sub(1)];
        let right = self.curve.get(behind).unwrap_or(left);
        let length = right.at_ns as f64 - left.at_ns as f64;
        if length <= 0.0 {
            return left.offset_ns;
        }
        let change = right.offset_ns as f64 - left.offset_ns as f64;
        let part = (at_ns as f64 - left.at_ns as f64).max(0.0) / length;
        left.offset_ns
            .saturating_add((change * part).round() as i64)
    }

    /// The measured offsets minus the smoothed offset at the same time.
    fn residuals(&self) -> impl Iterator<Item = OffsetPoint> {
        self.measured.iter().map(|point| OffsetPoint {
            offset_ns: point.offset_ns.saturating_sub(self.at(point.at_ns)),
            ..*point
        })
    }
}
