//! The results: the document `collbench.bench.collective/1`.

use std::collections::BTreeMap;

use collbench_stats::spread::Spread;
use collbench_text::quantity;
use serde::{Deserialize, Serialize};

use super::arrivals;
use super::operation::{Operation, Pattern};
use super::plan::Series;
use super::surroundings::Surroundings;
use crate::machine::Machine;
use crate::measure::change::Change;
use crate::measure::estimate::Summary;
use crate::measure::global_clock::ClockError;
use crate::measure::reduction::Reduction;
use crate::measure::start::{GIVEN_UP_AFTER, StartScheme};

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Results {
    pub(crate) schema: String,
    pub(crate) run: Run,
    pub(crate) points: Vec<Point>,
    /// Operations that take longer than others that do the same.
    #[serde(default)]
    pub(crate) guidelines: Vec<Violation>,
    /// Of operations that were measured with several algorithms the fastest.
    #[serde(default)]
    pub(crate) selection: Vec<Selected>,
}

/// Name and version of the document.
pub(crate) const SCHEMA: &str = "collbench.bench.collective/1";

/// Where and how all points were measured.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Run {
    pub(crate) machine: Machine,
    pub(crate) mpi_library: Option<String>,
    pub(crate) command: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) clock: String,
    /// Number of different clocks: hosts, as a rule.
    pub(crate) clocks: usize,
    /// `None` if all processes read one clock, so that there is no error.
    pub(crate) clock_error: Option<ClockError>,
    /// Processes of the job.
    pub(crate) ranks: usize,
    /// Largest half width of the 95 % interval that was asked for, over the time.
    pub(crate) precision: f64,
    pub(crate) figure: String,
    pub(crate) element: String,
    /// Number of runs of which the points are medians.
    pub(crate) runs: usize,
    /// Whether caches were invalidated before each repetition.
    #[serde(default)]
    pub(crate) has_cold_caches: bool,
    /// How many of the points a launch before this one had measured, which ended too early: date,
    /// clock error and load are not theirs.
    #[serde(default)]
    pub(crate) points_before: usize,
    /// What the order of the points was drawn from; `None` if it is unknown.
    #[serde(default)]
    pub(crate) seed: Option<u64>,
    /// When, by whom and where; of several runs that were merged those of the first.
    #[serde(flatten)]
    pub(crate) surroundings: Surroundings,
}

/// One point: an operation with one length.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Point {
    pub(crate) operation: String,
    pub(crate) pattern: Pattern,
    /// Length of a message, or of a block of one; `None` for operations without data.
    pub(crate) bytes: Option<u64>,
    pub(crate) processes: usize,
    /// Number of hosts that they are spread over; `None` if they are the first ones of the job.
    #[serde(default)]
    pub(crate) hosts: Option<usize>,
    /// World ranks of the processes of a ping-pong.
    pub(crate) pair: Option<[usize; 2]>,
    pub(crate) root: Option<usize>,
    /// Of master and workers, pieces for each worker.
    #[serde(default)]
    pub(crate) pieces: Option<usize>,
    /// Name of the algorithm that the library was told to use; `None`: its own choice.
    #[serde(default)]
    pub(crate) algorithm: Option<String>,
    pub(crate) start: StartScheme,
    /// The start that was asked for, if `start` took its place because none of the first
    /// repetitions held it; `None` if it is the same.
    #[serde(default)]
    pub(crate) start_asked: Option<StartScheme>,
    /// Arrivals in words; `None` if all processes start together.
    pub(crate) arrivals: Option<String>,
    /// By process the delay of its start, ns, or the mean of several; empty if all start together.
    pub(crate) delays_ns: Vec<i64>,
    /// How many recorded arrivals the repetitions took in turn; `None` where the delays were the same in all.
    #[serde(default)]
    pub(crate) delays_in_turn: Option<usize>,
    /// Which reduction over processes `time_ns` is.
    pub(crate) reduction: Reduction,
    /// The time: figure over repetitions of the reduction over processes, less `subtracted_ns`; of
    /// loops divided by `loop_length`. `None` if no repetition was valid.
    pub(crate) time_ns: Option<f64>,
    /// Half width of the 95 % interval of the trimmed mean over that mean, with the error of what was
    /// subtracted; of merged launches from the median to the fastest or the slowest one, whichever is farther.
    /// `None` if unknown.
    pub(crate) relative_error: Option<f64>,
    /// Whether that is within the precision asked for.
    pub(crate) is_precise: bool,
    /// By reduction, the repetitions, less `subtracted_ns`.
    pub(crate) reductions: BTreeMap<String, Summary>,
    /// What an empty measurement takes, ns; for barrier-subtracted, a barrier.
    pub(crate) subtracted_ns: f64,
    /// Half the width of the 95 % interval of that, which `relative_error` includes; `None` if it is
    /// unknown.
    #[serde(default)]
    pub(crate) subtracted_error_ns: Option<f64>,
    /// Repetitions made, valid or not.
    pub(crate) made: usize,
    /// Invalid: a process came to the start when it had passed.
    pub(crate) missed: usize,
    /// Invalid: a process waited for the start, and continued too late.
    pub(crate) delayed: usize,
    /// Distance of starts at the end, ns; `None` without instants.
    pub(crate) window_ns: Option<i64>,
    /// Operations in a loop; `None` without one.
    pub(crate) loop_length: Option<usize>,
    /// Latest start less earliest, less the delays that were intended, of the valid repetitions.
    pub(crate) skew_ns: Option<Spread>,
    /// Times that differ between the first and the second half of the repetitions.
    pub(crate) change: Option<Change>,
    /// Whether refinement chose the length.
    #[serde(default)]
    pub(crate) is_refined: bool,
    /// All repetitions, if they were asked for.
    pub(crate) samples: Option<Vec<Sample>>,
}

/// One repetition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Sample {
    /// By process, ns since the first process entered.
    pub(crate) enter_ns: Vec<i64>,
    /// By process, ns since the first process entered.
    pub(crate) leave_ns: Vec<i64>,
    /// As `enter_ns`, by the time stamp counters of the processors as they are, without any
    /// measurement of clocks: true where all hosts share one counter, else meaningless. `None`
    /// without an invariant counter.
    #[serde(default)]
    pub(crate) counter_ns: Option<Vec<i64>>,
    pub(crate) is_valid: bool,
}

/// An operation that takes longer than others that do the same, by more than the errors of the
/// times.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Violation {
    pub(crate) operation: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) processes: usize,
    pub(crate) start: String,
    pub(crate) time_ns: f64,
    /// What would have been faster: each is called once.
    pub(crate) instead: Vec<Instead>,
    /// The sum of their times, ns.
    pub(crate) instead_ns: f64,
}

/// One of the faster operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Instead {
    pub(crate) operation: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) processes: usize,
}

/// The algorithms of an operation with one length, and the fastest of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Selected {
    pub(crate) operation: String,
    pub(crate) bytes: Option<u64>,
    pub(crate) processes: usize,
    #[serde(default)]
    pub(crate) hosts: Option<usize>,
    pub(crate) root: Option<usize>,
    pub(crate) start: String,
    pub(crate) arrivals: Option<String>,
    pub(crate) candidates: Vec<MeasuredAlgorithm>,
    /// Index of the fastest; `None` if the intervals of the two fastest overlap.
    pub(crate) fastest: Option<usize>,
    /// Indexes of all whose interval overlaps that of the fastest, which it is part of, by time.
    pub(crate) not_distinguishable: Vec<usize>,
    /// The time of the library's own choice over the shortest one; `None` if either is unknown.
    pub(crate) own_choice_ratio: Option<f64>,
    /// Whether the interval of the library's own choice begins after that of the fastest ends.
    pub(crate) is_own_choice_slower: bool,
}

/// The time of one algorithm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MeasuredAlgorithm {
    /// `None`: the library's own choice.
    pub(crate) algorithm: Option<String>,
    pub(crate) time_ns: Option<f64>,
    /// Half width of the interval over the time, as that of a point.
    pub(crate) relative_error: Option<f64>,
}

/// By start that was given up, and the one that took its place, a sentence of the points with these:
/// their start, the one that was asked for, and the median skew of their starts, ns.
pub(super) fn given_up_in_words<'a>(
    points: impl Iterator<Item = (StartScheme, Option<StartScheme>, Option<&'a Spread>)>,
) -> Vec<String> {
    let mut all: BTreeMap<(&str, &str), (usize, f64)> = BTreeMap::new();
    for (start, asked, skew) in points {
        if let Some(asked) = asked {
            let (n, largest) = all.entry((asked.word(), start.word())).or_default();
            *n += 1;
            *largest = skew.map_or(0.0, |skew| skew.median).max(*largest);
        }
    }
    let words = |((asked, start), (n, skew)): ((&str, &str), (usize, f64))| {
        format!(
            "Start {asked} was given up at {}: none of the first {GIVEN_UP_AFTER} repetitions began in \
             time in all processes, as on a busy machine or with more processes than cores. They start \
             by {start} instead; the median skew of starts is up to {}.",
            quantity::counted(n, "point"),
            quantity::fine_duration(skew)
        )
    };
    all.into_iter().map(words).collect()
}

impl Results {
    /// Which starts were given up, as sentences.
    pub(crate) fn given_up_in_words(&self) -> Vec<String> {
        let points = self.points.iter();
        given_up_in_words(
            points.map(|point| (point.start, point.start_asked, point.skew_ns.as_ref())),
        )
    }
}

impl Run {
    /// That some points were measured by launches before, as a sentence without a full stop; `None`
    /// if none were.
    pub(crate) fn points_before_in_words(&self) -> Option<String> {
        let words = || {
            format!(
                "{} measured before, by launches that were interrupted: date, clock error and load \
                 are those of the last launch",
                quantity::counted(self.points_before, "point")
            )
        };
        (self.points_before > 0).then(words)
    }
}

impl Violation {
    /// Its time over that of the faster operations.
    pub(crate) fn ratio(&self) -> f64 {
        self.time_ns / self.instead_ns
    }

    /// In one sentence.
    pub(crate) fn words(&self) -> String {
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
            quantity::fine_duration(self.time_ns),
            instead.join(" and "),
            quantity::fine_duration(self.instead_ns),
        )
    }
}

/// What distinguishes a point from others. What is `None` is not in the words.
#[derive(Debug, Clone)]
pub(crate) struct Key<'a> {
    pub(crate) operation: Option<&'a str>,
    pub(crate) bytes: Option<u64>,
    pub(crate) processes: Option<usize>,
    pub(crate) hosts: Option<usize>,
    /// Processes on each host, where both numbers are varied together.
    pub(crate) per_host: Option<usize>,
    pub(crate) root: Option<usize>,
    pub(crate) pieces: Option<usize>,
    pub(crate) algorithm: Option<&'a str>,
    pub(crate) start: StartScheme,
    pub(crate) arrivals: Option<&'a str>,
}

impl Key<'_> {
    /// In words: `MPI_Bcast, 8 bytes, 4 processes, root 0, window`.
    pub(crate) fn words(&self) -> String {
        let parts = [
            self.operation.map(str::to_owned),
            self.bytes.map(|bytes| format!("{bytes} bytes")),
            self.processes.map(|n| format!("{n} processes")),
            self.hosts.map(|n| quantity::counted(n, "host")),
            self.per_host.map(|n| format!("{n} processes per host")),
            self.root.map(|root| format!("root {root}")),
            self.pieces.map(|n| format!("{n} pieces")),
            self.algorithm.map(|name| format!("algorithm {name}")),
            Some(self.start.word().to_owned()),
            self.arrivals.map(|arrivals| format!("arrivals {arrivals}")),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }
}

/// What is varied within a series of points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum Varied {
    /// The length of messages.
    Bytes,
    /// The number of processes; the number of hosts with it, if each has as many.
    Processes,
    /// The number of hosts, which as many processes are spread over.
    Hosts,
}

impl Varied {
    /// What a point of a series has in common with the others; `None` if it is part of none.
    pub(crate) fn key(self, point: &Point) -> Option<Key<'_>> {
        let key = point.as_key();
        match self {
            Self::Bytes => point.bytes.map(|_| Key { bytes: None, ..key }),
            Self::Processes => {
                let even = point.hosts.filter(|n| point.processes.is_multiple_of(*n));
                point.pair.is_none().then_some(Key {
                    processes: None,
                    hosts: key.hosts.filter(|_| even.is_none()),
                    per_host: even.map(|n| point.processes / n),
                    ..key
                })
            }
            Self::Hosts => point.hosts.map(|_| Key { hosts: None, ..key }),
        }
    }

    /// Where on the axis of a series a point lies.
    pub(crate) fn argument(self, point: &Point) -> u64 {
        match self {
            Self::Bytes => point.bytes.unwrap_or(0),
            Self::Processes => point.processes as u64,
            Self::Hosts => point.hosts.unwrap_or(0) as u64,
        }
    }

    /// Series of two points or more that differ only in this, ascending, in the order of their first
    /// points.
    pub(crate) fn series<'a>(
        self,
        points: impl IntoIterator<Item = &'a Point>,
    ) -> Vec<Vec<&'a Point>> {
        let mut all: Vec<(String, Vec<&Point>)> = Vec::new();
        for point in points {
            let Some(key) = self.key(point).map(|key| key.words()) else {
                continue;
            };
            match all.iter_mut().find(|(known, _)| *known == key) {
                Some((_, of)) => of.push(point),
                None => all.push((key, vec![point])),
            }
        }
        all.retain(|(_, points)| points.len() > 1);
        for (_, points) in &mut all {
            points.sort_by_key(|point| self.argument(point));
        }
        all.into_iter().map(|(_, points)| points).collect()
    }
}

impl Point {
    /// A time that another program has measured: root 0, of which neither error nor distribution is
    /// known. `None` if there is no such operation.
    pub(crate) fn imported(
        operation: &str,
        bytes: Option<u64>,
        processes: usize,
        time_ns: f64,
    ) -> Option<Self> {
        let known = Operation::of_name(operation)?;
        let has_root = known.collective().is_some_and(|own| own.has_root());
        Some(Self {
            operation: operation.to_owned(),
            pattern: known.pattern(),
            bytes: bytes.filter(|_| known.has_length()),
            processes,
            pair: (known.pattern() == Pattern::PingPong).then_some([0, 1]),
            root: has_root.then_some(0),
            start: StartScheme::None,
            reduction: Reduction::Mean,
            time_ns: Some(time_ns),
            ..Self::default()
        })
    }

    /// What distinguishes it from other points.
    pub(crate) fn as_key(&self) -> Key<'_> {
        Key {
            operation: Some(&self.operation),
            bytes: self.bytes,
            processes: Some(self.processes),
            hosts: self.hosts,
            per_host: None,
            root: self.root,
            pieces: self.pieces,
            algorithm: self.algorithm.as_deref(),
            start: self.start,
            arrivals: self.arrivals.as_deref(),
        }
    }

    /// What distinguishes it from other points, in words.
    pub(crate) fn key(&self) -> String {
        self.as_key().words()
    }

    /// Its time, and how far it may be wrong, ns.
    pub(super) fn time_and_error(&self) -> Option<(f64, f64)> {
        let error_ns = |time_ns: f64| time_ns * self.relative_error.unwrap_or(0.0);
        self.time_ns.map(|time_ns| (time_ns, error_ns(time_ns)))
    }

    /// Whether more than a quarter of its starts were invalid.
    pub(crate) fn is_mostly_disturbed(&self) -> bool {
        (self.missed + self.delayed) * 4 > self.made
    }

    /// Whether a disturbance or a change while it was measured may have made its time.
    pub(crate) fn is_doubtful(&self) -> bool {
        self.is_mostly_disturbed() || self.change.is_some()
    }

    /// Bytes of a message, of master and workers of all pieces, over the time, bytes/s.
    pub(crate) fn bandwidth(&self) -> Option<f64> {
        let (bytes, time_ns) = self.bytes.zip(self.time_ns)?;
        let messages = match self.pieces {
            None => 1,
            Some(pieces) => pieces * self.processes.saturating_sub(1),
        };
        (time_ns > 0.0).then(|| bytes as f64 * messages as f64 / time_ns * 1e9)
    }
}

impl Series {
    /// What distinguishes a point of this length from others, in words.
    pub(crate) fn key(&self, bytes: Option<u64>) -> String {
        let arrivals = self
            .arrivals
            .as_ref()
            .map(|arrivals| words(&arrivals.pattern, arrivals.delay_ns));
        let key = Key {
            operation: Some(&self.operation),
            bytes,
            processes: Some(self.processes),
            hosts: self.on_hosts.as_ref().map(|on| on.hosts),
            per_host: None,
            root: self.root,
            pieces: self.pieces,
            algorithm: self.algorithm.as_ref().map(|one| one.name.as_str()),
            start: self.start,
            arrivals: arrivals.as_deref(),
        };
        key.words()
    }
}

/// Arrivals in words, with the delay.
pub(crate) fn words(pattern: &arrivals::Pattern, delay_ns: i64) -> String {
    match pattern {
        arrivals::Pattern::Recorded(_) => pattern.words(),
        _ => format!("{} {}", pattern.words(), quantity::duration(delay_ns)),
    }
}

#[cfg(test)]
impl Point {
    /// A point with this time, for tests.
    pub(crate) fn example(operation: &str, bytes: u64, time_ns: Option<f64>) -> Self {
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
            root: Some(0),
            start: StartScheme::Window,
            reduction: Reduction::Span,
            time_ns,
            relative_error: time_ns.map(|_| 0.01),
            is_precise: time_ns.is_some(),
            reductions: summary
                .into_iter()
                .map(|of| ("span".to_owned(), of))
                .collect(),
            subtracted_ns: 20.0,
            subtracted_error_ns: Some(0.5),
            made: 4,
            missed: if time_ns.is_some() { 1 } else { 4 },
            window_ns: Some(3_000),
            skew_ns: Spread::of([100.0, 200.0]).filter(|_| time_ns.is_some()),
            ..Self::default()
        }
    }
}

#[cfg(test)]
impl Results {
    /// Results with these points, for tests.
    pub(crate) fn example(points: Vec<Point>) -> Self {
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
                ..Run::default()
            },
            points,
            guidelines: Vec::new(),
            selection: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_schema_is_that_of_the_types() {
        collbench_schemas::check::<super::Results>(super::SCHEMA);
    }
}
