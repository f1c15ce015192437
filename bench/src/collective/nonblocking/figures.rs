//! From the parts of repetitions to overheads and ratios.

use collbench_stats::spread::Spread;
use serde::Serialize;

use crate::collective::results::Run;
use crate::measure::reduction::Times;
use crate::measure::start::{Parts, StartScheme};

/// Name and version of the document.
pub(super) const SCHEMA: &str = "collbench.bench.nonblocking/1";

/// The document.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Results {
    pub(super) schema: &'static str,
    pub(super) run: Run,
    pub(super) points: Vec<Point>,
}

/// One operation with one length and one interval of tests.
///
/// Times are ns; of each repetition the maximum over processes counts.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Point {
    pub(super) operation: String,
    pub(super) bytes: Option<u64>,
    pub(super) processes: usize,
    pub(super) start: StartScheme,
    /// The start that was asked for, if `start` took its place because none of the first repetitions
    /// held it; `None` if it is the same.
    pub(super) start_asked: Option<StartScheme>,
    /// Bytes for each test; `None` without tests.
    pub(super) interval: Option<u64>,
    /// Calls of `MPI_Test` in each repetition.
    pub(super) tests: u64,
    /// Work of each process in each repetition, in steps of a fixed loop.
    pub(super) iterations: u64,
    /// Repetitions made, and those that were invalid.
    pub(super) made: usize,
    pub(super) invalid: usize,
    /// Latest start less earliest, of the valid repetitions.
    pub(super) skew_ns: Option<Spread>,
    /// Time of the operation followed at once by its wait.
    pub(super) communication_ns: f64,
    /// Time of the computation alone, in all processes at once.
    pub(super) computation_ns: f64,
    pub(super) overlap: Figures,
}

/// Figures of the operation with the computation.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Figures {
    pub(super) initiation_ns: Spread,
    pub(super) tests_ns: Spread,
    pub(super) wait_ns: Spread,
    /// From initiation to the end of the wait.
    pub(super) total_ns: Spread,
    /// Time-based overhead: initiation + tests + wait.
    pub(super) time_overhead_ns: Spread,
    /// Work-based overhead: total less the time of the computation alone.
    pub(super) work_overhead_ns: Spread,
    /// (total - max(computation, communication)) / min(computation, communication): 0 perfect
    /// overlap, 1 one after the other, above 1 harm. `None` if either is 0.
    pub(super) overhead_ratio: Option<f64>,
    /// Time of the computation during the operation over that of the computation alone.
    pub(super) computation_slowdown: Option<f64>,
    /// (initiation + tests + wait) / communication: 0 hidden, 1 not hidden.
    pub(super) communication_ratio: Option<f64>,
}

impl Figures {
    /// Of the valid repetitions, by process; medians over repetitions. `None` without any.
    ///
    /// `communication_ns` is the time of the operation without a computation, `computation_ns` that
    /// of the computation alone.
    pub(super) fn of(
        valid: &[Vec<Times>],
        parts: &[Vec<Parts>],
        communication_ns: f64,
        computation_ns: f64,
    ) -> Option<Self> {
        let of_each = |figure: &dyn Fn(&Times, &Parts) -> i64| {
            let repetitions = valid.iter().zip(parts);
            let largest = repetitions.filter_map(|(times, parts)| {
                let processes = times.iter().zip(parts);
                processes.map(|(times, parts)| figure(times, parts)).max()
            });
            Spread::of(largest.map(|ns| ns as f64))
        };
        let total = |times: &Times| times.leave - times.enter;
        let inside = |parts: &Parts| parts.initiation + parts.tests + parts.wait;
        let total_ns = of_each(&|times, _| total(times))?;
        let time_overhead_ns = of_each(&|_, parts| inside(parts))?;
        let computed_ns = of_each(&|times, parts| total(times) - inside(parts))?;
        let over = |value: f64, by: f64| (by > 0.0).then_some(value / by);
        let longer = computation_ns.max(communication_ns);
        Some(Self {
            initiation_ns: of_each(&|_, parts| parts.initiation)?,
            tests_ns: of_each(&|_, parts| parts.tests)?,
            wait_ns: of_each(&|_, parts| parts.wait)?,
            total_ns,
            time_overhead_ns,
            work_overhead_ns: of_each(&|times, _| total(times) - computation_ns.round() as i64)?,
            overhead_ratio: over(
                total_ns.median - longer,
                computation_ns.min(communication_ns),
            ),
            computation_slowdown: over(computed_ns.median, computation_ns),
            communication_ratio: over(time_overhead_ns.median, communication_ns),
        })
    }

    /// What the ratios say, in words.
    ///
    /// # Source
    /// Denis et al., section 3.3: no progression, a slower computation, or contention.
    pub(super) fn words(&self) -> &'static str {
        match (self.overhead_ratio, self.computation_slowdown) {
            (None, _) | (_, None) => "unknown",
            (Some(overhead), Some(slowdown)) if overhead > 0.5 && slowdown > 1.2 => {
                "computation slowed"
            }
            (Some(overhead), _) if overhead > 1.2 => "harms",
            (Some(overhead), _) if overhead > 0.75 => "no overlap",
            (Some(overhead), _) if overhead > 0.25 => "some overlap",
            _ => "overlaps",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Repetitions of two processes, the second of which has nothing to wait for.
    fn figures(compute: i64, initiation: i64, tests: i64, wait: i64) -> Figures {
        let own = Parts {
            initiation,
            tests,
            wait,
        };
        let other = Parts { wait: 0, ..own };
        let times = |parts: &Parts| Times {
            enter: 7,
            leave: 7 + compute + parts.initiation + parts.tests + parts.wait,
        };
        let valid = vec![vec![times(&own), times(&other)]; 5];
        let parts = vec![vec![own, other]; 5];
        Figures::of(&valid, &parts, 1_000.0, 1_000.0).unwrap()
    }

    #[test]
    fn an_operation_that_makes_progress_by_itself_costs_its_initiation_only() {
        let hidden = figures(1_000, 50, 0, 10);
        assert_eq!(hidden.time_overhead_ns.median, 60.0);
        assert_eq!(hidden.work_overhead_ns.median, 60.0);
        assert_eq!(hidden.communication_ratio, Some(0.06));
        assert_eq!(hidden.overhead_ratio, Some(0.06));
        assert_eq!(hidden.words(), "overlaps");
    }

    #[test]
    fn an_operation_that_waits_for_its_wait_is_not_overlapped() {
        let late = figures(1_000, 50, 0, 950);
        assert_eq!(late.total_ns.median, 2_000.0);
        assert_eq!(late.overhead_ratio, Some(1.0));
        assert_eq!(late.computation_slowdown, Some(1.0));
        assert_eq!(late.words(), "no overlap");
        assert_eq!(figures(1_000, 50, 400, 1_000).words(), "harms");
        assert_eq!(figures(1_000, 50, 250, 200).words(), "some overlap");
    }

    #[test]
    fn work_shows_what_the_time_inside_mpi_hides() {
        // A thread of the library takes the core away from the computation.
        let slowed = figures(1_700, 50, 0, 10);
        assert_eq!(slowed.time_overhead_ns.median, 60.0);
        assert_eq!(slowed.work_overhead_ns.median, 760.0);
        assert_eq!(slowed.computation_slowdown, Some(1.7));
        assert_eq!(slowed.words(), "computation slowed");
    }

    #[test]
    fn without_a_valid_repetition_nothing_is_said() {
        assert_eq!(Figures::of(&[], &[], 1.0, 1.0), None);
    }

    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<Results>(SCHEMA);
    }
}
