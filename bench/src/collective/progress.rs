//! How far a measurement is, for the person who waits.

use std::time::{Duration, Instant};

use collbench_text::quantity;

/// Between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// Writes a line to stderr now and then.
pub(super) struct Progress {
    begin: Instant,
    last: Instant,
    /// Points to begin with; more if lengths are refined.
    planned: usize,
    measured: usize,
}

impl Progress {
    pub(super) fn of(planned: usize) -> Self {
        let now = Instant::now();
        Self {
            begin: now,
            last: now,
            planned,
            measured: 0,
        }
    }

    /// So many points are measured again.
    pub(super) fn again(&mut self, n: usize) {
        self.planned += n;
    }

    /// A point was measured; the series before this one have so many points more than planned.
    pub(super) fn add(&mut self, extra: usize) {
        self.measured += 1;
        self.planned += extra;
        if self.last.elapsed() >= INTERVAL {
            self.last = Instant::now();
            eprintln!("collbench-bench: {}", self.words(self.begin.elapsed()));
        }
    }

    fn words(&self, elapsed: Duration) -> String {
        let planned = self.planned.max(self.measured);
        let left = elapsed.as_nanos() as f64 / self.measured.max(1) as f64
            * (planned - self.measured) as f64;
        format!(
            "{} of at least {} points after {}; at least {} left",
            self.measured,
            planned,
            quantity::duration(elapsed.as_nanos() as i64),
            quantity::duration(left as i64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_estimated_from_what_was_measured() {
        let mut progress = Progress::of(40);
        (0..10).for_each(|_| progress.add(0));
        progress.add(1);
        assert_eq!(
            progress.words(Duration::from_secs(22)),
            "11 of at least 41 points after 22.0 s; at least 60.0 s left"
        );
    }
}
