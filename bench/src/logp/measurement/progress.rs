//! How far the measurement is, for the person who waits.

use std::io::Write;

use collbench_text::quantity;

/// Between two lines, ns.
const INTERVAL_NS: f64 = 5e9;

/// Writes a line to stderr now and then.
#[derive(Debug, Default)]
pub(in crate::logp) struct Progress {
    is_shown: bool,
    /// Costs that are expected in all parts.
    planned: usize,
    /// Costs that were expected in the parts that have ended.
    passed: usize,
    /// What is measured now, with the costs that are expected and those that have been measured.
    part: String,
    expected: usize,
    measured: usize,
    /// When this part began, and when the last line was written, ns.
    began_ns: f64,
    told_ns: f64,
}

impl Progress {
    /// Writes to stderr; the default is silent.
    pub(in crate::logp) fn shown() -> Self {
        Self {
            is_shown: true,
            ..Self::default()
        }
    }

    /// Expects so many costs more.
    pub(in crate::logp) fn plan(&mut self, costs: usize) {
        self.planned += costs;
    }

    /// A part begins, with so many of the costs that were planned.
    pub(in crate::logp) fn begin(&mut self, part: String, costs: usize, elapsed_ns: f64) {
        self.passed += self.expected;
        self.part = part;
        self.expected = costs;
        self.measured = 0;
        self.began_ns = elapsed_ns;
    }

    /// A cost was measured, so long after the measurement began.
    pub(super) fn measured(&mut self, elapsed_ns: f64) {
        self.measured += 1;
        if self.is_shown && elapsed_ns - self.told_ns >= INTERVAL_NS {
            self.told_ns = elapsed_ns;
            // If nobody reads it, the measurement goes on.
            _ = writeln!(
                std::io::stderr(),
                "collbench-bench: {}",
                self.words(elapsed_ns)
            );
        }
    }

    fn words(&self, elapsed_ns: f64) -> String {
        let of_part = self.measured.min(self.expected);
        let done = self.passed + of_part;
        let planned = self.planned.max(done);
        // A part that is slower than those before tells more about those to come.
        let of_all = elapsed_ns / done.max(1) as f64;
        let now = (elapsed_ns - self.began_ns) / self.measured.max(1) as f64;
        let left_ns = of_all.max(now) * (planned - done) as f64;
        format!(
            "{}; {done} of about {planned} times after {}; about {} left",
            self.part,
            quantity::duration(elapsed_ns as i64),
            quantity::duration(left_ns as i64)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_estimated_from_the_slowest_part() {
        let mut progress = Progress::default();
        progress.plan(10);
        progress.plan(30);
        progress.begin("LAN, small messages".to_owned(), 10, 0.0);
        (0..10).for_each(|_| progress.measured(0.0));
        progress.begin("LAN, messages of 8 bytes".to_owned(), 30, 5e9);
        (0..10).for_each(|_| progress.measured(0.0));
        assert_eq!(
            progress.words(15e9),
            "LAN, messages of 8 bytes; 20 of about 40 times after 15.0 s; about 20.0 s left"
        );
        // More than were expected.
        (0..25).for_each(|_| progress.measured(0.0));
        assert!(progress.words(20e9).ends_with("about 0 ns left"));
    }
}
