//! The results: the document `collbench.bench.collective/1`.

use std::collections::BTreeMap;

use collbench_stats::spread::Spread;
use serde::{Deserialize, Serialize};

use super::arrivals;
use super::operation::Pattern;
use super::plan::Series;
use crate::machine::Machine;
use crate::measure::change::Change;
use crate::measure::estimate::Summary;
use crate::measure::global_clock::ClockError;
use crate::measure::reduction::Reduction;
use crate::measure::start::StartScheme;

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Results {
    pub(super) schema: String,
    pub(super) run: Run,
    pub(super) points: Vec<Point>,
    /// Operations that take longer than others that do the same.
    #[serde(default)]
    pub(super) guidelines: Vec<Violation>,
}

/// Name and version of the document.
pub(super) const SCHEMA: &str = "collbench.bench.collective/1";

/// Where and how all points were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) machine: Machine,
    pub(super) mpi_library: Option<String>,
    pub(super) command: Vec<String>,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) clock: String,
    /// Number of different clocks: hosts, as a rule.
    pub(super) clocks: usize,
    /// `None` if all processes read one clock, so that there is no error.
    pub(super) clock_error: Option<ClockError>,
    /// Processes of the job.
    pub(super) ranks: usize,
    /// Largest half width of the 95 % interval that was asked for, over the time.
    pub(super) precision: f64,
    pub(super) figure: String,
    pub(super) element: String,
    /// Number of runs of which the points are medians.
    pub(super) runs: usize,
}

/// One point: an operation with one length.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Point {
    pub(super) operation: String,
    pub(super) pattern: Pattern,
    /// Length of a message, or of a block of one; `None` for operations without data.
    pub(super) bytes: Option<u64>,
    pub(super) processes: usize,
    /// World ranks of the processes of a ping-pong.
    pub(super) pair: Option<[usize; 2]>,
    pub(super) root: Option<usize>,
    pub(super) start: StartScheme,
    /// Arrivals in words; `None` if all processes start together.
    pub(super) arrivals: Option<String>,
    /// By process the delay of its start, ns; empty if all start together.
    pub(super) delays_ns: Vec<i64>,
    /// Which reduction over processes `time_ns` is.
    pub(super) reduction: Reduction,
    /// The time: figure over repetitions of the reduction over processes, less `subtracted_ns`; of
    /// loops divided by `loop_length`. `None` if no repetition was valid.
    pub(super) time_ns: Option<f64>,
    /// Half width of the 95 % interval of the trimmed mean over that mean; `None` if unknown.
    pub(super) relative_error: Option<f64>,
    /// Whether that is within the precision asked for.
    pub(super) is_precise: bool,
    /// By reduction, the repetitions, less `subtracted_ns`.
    pub(super) reductions: BTreeMap<String, Summary>,
    /// What an empty measurement takes, ns; for barrier-subtracted, a barrier.
    pub(super) subtracted_ns: f64,
    /// Repetitions made, valid or not.
    pub(super) made: usize,
    /// Invalid: a process came to the start when it had passed.
    pub(super) missed: usize,
    /// Invalid: a process waited for the start, and continued too late.
    pub(super) delayed: usize,
    /// Distance of starts at the end, ns; `None` without instants.
    pub(super) window_ns: Option<i64>,
    /// Operations in a loop; `None` without one.
    pub(super) loop_length: Option<usize>,
    /// Latest start less earliest, less the delays that were intended, of the valid repetitions.
    pub(super) skew_ns: Option<Spread>,
    /// Times that differ between the first and the second half of the repetitions.
    pub(super) change: Option<Change>,
    /// All repetitions, if they were asked for.
    pub(super) samples: Option<Vec<Sample>>,
}

/// One repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Sample {
    /// By process, ns since the first process entered.
    pub(super) enter_ns: Vec<i64>,
    /// By process, ns since the first process entered.
    pub(super) leave_ns: Vec<i64>,
    pub(super) is_valid: bool,
}

/// An operation that takes longer than others that do the same, by more than the errors of the
/// times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Violation {
    pub(super) operation: String,
    pub(super) bytes: Option<u64>,
    pub(super) processes: usize,
    pub(super) start: String,
    pub(super) time_ns: f64,
    /// What would have been faster: each is called once.
    pub(super) instead: Vec<Instead>,
    /// The sum of their times, ns.
    pub(super) instead_ns: f64,
}

/// One of the faster operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Instead {
    pub(super) operation: String,
    pub(super) bytes: Option<u64>,
    pub(super) processes: usize,
}

impl Violation {
    /// In one sentence.
    pub(super) fn words(&self) -> String {
        let name = |operation: &str, bytes: Option<u64>, processes: usize| {
            let bytes = bytes.map_or(String::new(), |bytes| format!(" of {bytes} bytes"));
            format!("{operation}{bytes} on {processes} processes")
        };
        let instead = self.instead.iter();
        let instead: Vec<String> = instead
            .map(|one| name(&one.operation, one.bytes, one.processes))
            .collect();
        format!(
            "{} takes {}, {} {}",
            name(&self.operation, self.bytes, self.processes),
            collbench_text::quantity::fine_duration(self.time_ns),
            instead.join(" and "),
            collbench_text::quantity::fine_duration(self.instead_ns),
        )
    }
}

impl Point {
    /// What distinguishes it from other points, in words.
    pub(super) fn key(&self) -> String {
        let arrivals = self.arrivals.as_deref();
        key(
            &self.operation,
            self.bytes,
            self.processes,
            self.root,
            self.start,
            arrivals,
        )
    }

    /// Whether more than a quarter of its starts were invalid.
    pub(super) fn is_mostly_disturbed(&self) -> bool {
        (self.missed + self.delayed) * 4 > self.made
    }

    /// Bytes of a message over the time, bytes/s.
    pub(super) fn bandwidth(&self) -> Option<f64> {
        let (bytes, time_ns) = self.bytes.zip(self.time_ns)?;
        (time_ns > 0.0).then(|| bytes as f64 / time_ns * 1e9)
    }
}

impl Series {
    /// What distinguishes a point of this length from others, in words.
    pub(super) fn key(&self, bytes: Option<u64>) -> String {
        let arrivals = self
            .arrivals
            .as_ref()
            .map(|arrivals| words(&arrivals.pattern, arrivals.delay_ns));
        let arrivals = arrivals.as_deref();
        key(
            &self.operation,
            bytes,
            self.processes,
            self.root,
            self.start,
            arrivals,
        )
    }
}

/// Arrivals in words, with the delay.
pub(super) fn words(pattern: &arrivals::Pattern, delay_ns: i64) -> String {
    match pattern {
        arrivals::Pattern::Recorded(_) => pattern.words(),
        _ => format!(
            "{} {}",
            pattern.words(),
            collbench_text::quantity::duration(delay_ns)
        ),
    }
}

fn key(
    operation: &str,
    bytes: Option<u64>,
    processes: usize,
    root: Option<usize>,
    start: StartScheme,
    arrivals: Option<&str>,
) -> String {
    let mut key = operation.to_owned();
    if let Some(bytes) = bytes {
        key += &format!(", {bytes} bytes");
    }
    key += &format!(", {processes} processes");
    if let Some(root) = root {
        key += &format!(", root {root}");
    }
    key += &format!(", {}", start.word());
    if let Some(arrivals) = arrivals {
        key += &format!(", arrivals {arrivals}");
    }
    key
}

#[cfg(test)]
impl Point {
    /// A point with this time, for tests.
    pub(super) fn example(operation: &str, bytes: u64, time_ns: Option<f64>) -> Self {
        let times: Vec<f64> = time_ns
            .into_iter()
            .flat_map(|time| [time - 1.0, time, time + 1.0])
            .collect();
        let summary = Summary::of(&times);
        Self {
            operation: operation.to_owned(),
            pattern: Pattern::Collective,
            bytes: Some(bytes),
            processes: 4,
            pair: None,
            root: Some(0),
            start: StartScheme::Window,
            arrivals: None,
            delays_ns: Vec::new(),
            reduction: Reduction::Span,
            time_ns,
            relative_error: time_ns.map(|_| 0.01),
            is_precise: time_ns.is_some(),
            reductions: summary
                .into_iter()
                .map(|of| ("span".to_owned(), of))
                .collect(),
            subtracted_ns: 20.0,
            made: 4,
            missed: if time_ns.is_some() { 1 } else { 4 },
            delayed: 0,
            window_ns: Some(3_000),
            loop_length: None,
            skew_ns: Spread::of([100.0, 200.0]).filter(|_| time_ns.is_some()),
            change: None,
            samples: None,
        }
    }
}

#[cfg(test)]
impl Results {
    /// Results with these points, for tests.
    pub(super) fn example(points: Vec<Point>) -> Self {
        let machine = Machine {
            host: Some("node1".to_owned()),
            cpu: Some("some processor".to_owned()),
            cores: Some(4),
            is_virtual: Some(false),
            kernel: Some("Linux 6".to_owned()),
            load: Some(0.5),
        };
        Self {
            schema: SCHEMA.to_owned(),
            run: Run {
                machine,
                mpi_library: Some("Some MPI 1.0, of a test".to_owned()),
                command: vec!["collbench-bench".to_owned(), "collective".to_owned()],
                environment: BTreeMap::new(),
                clock: "tsc".to_owned(),
                clocks: 2,
                clock_error: Some(ClockError {
                    bound_ns: 12_000.0,
                    uncertainty_ns: 1_200.0,
                    extrapolation_ns: 300.0,
                }),
                ranks: 4,
                precision: 0.03,
                figure: "median".to_owned(),
                element: "byte".to_owned(),
                runs: 1,
            },
            points,
            guidelines: Vec::new(),
        }
    }
}
