//! The timemap: where each thread spends its time on the path of an operation.
//!
//! x is the mean time, accumulated stage by stage; y is the stage, in the order in which a thread
//! goes through them; one line per thread. Each stage is a row: a thread's line enters it at the
//! top and leaves it at the bottom, and its horizontal distance in between is the time spent.
//!
//! x = 0 is where the thread enters the innermost wrapper, the core: the path to the root ends
//! there and lies at x < 0. The core lies at x > 0, from 0 to its duration, in a row of its own
//! with a bar of its length, and the path from the root starts where the core ends. Without
//! messages inside the collective, x = 0 is the arrival of the last rank and the core ends with the
//! departure of the first. A mean core below zero (a clock error) is drawn as it is, to the left of
//! 0.
//!
//! The stages from the root have rows of their own, below the core. The paper's figure 2 leaves
//! open whether both directions share rows; separate rows stay readable when threads cross, and a
//! stage from the root (leaving) need not correspond to one to the root (waiting).
//!
//! An unresolved time is a gap in the line, never a length. After a gap the line continues as if
//! the gap had taken no time, so positions further from x = 0 than a gap are lower bounds.

mod band;
mod comparison;
mod draw;
mod plan;
mod side_by_side;
mod words;

pub use comparison::Comparison;
pub use side_by_side::SideBySide;

use collbench_text::quantity::{duration, grouped};

use crate::Text;

/// A duration that is not negative.
pub(crate) fn duration_of(ns: u64) -> String {
    duration(i64::try_from(ns).unwrap_or(i64::MAX))
}

/// What a timemap shows, and of which operation.
#[derive(Debug, Clone)]
pub struct Heading {
    /// The finding, as a sentence; the title of the picture.
    pub finding: Text,
    /// The operation, identified by: `MPI_Allreduce, world, 8 B`.
    pub operation: Text,
    /// Number of instances over which the means are taken.
    pub n_instances: u64,
}

/// The stages of the path, in the order in which a thread goes through them.
///
/// Flat stage indexes, as [`Timemap::push`] uses them, count `down` first (to the root), then
/// `core` if there is one, then `up` (from the root).
#[derive(Debug, Clone, Default)]
pub struct Stages {
    /// Names of the stages to the root, in order. May be empty, as in a timemap without arrival
    /// waits of an operation without messages.
    pub down: Vec<Text>,
    /// Name of the innermost wrapper; `None` if the operation has no visible one.
    pub core: Option<Text>,
    /// Names of the stages from the root, in order.
    pub up: Vec<Text>,
}

impl Stages {
    /// The five stages of a collective without messages inside.
    pub fn seen_from_outside() -> Stages {
        Stages {
            down: vec!["wait inside the host".into(), "wait across hosts".into()],
            core: Some("core".into()),
            up: vec![
                "leaving across hosts".into(),
                "leaving inside the host".into(),
            ],
        }
    }

    /// Number of stages: down, core and up together.
    pub fn len(&self) -> usize {
        self.down.len() + usize::from(self.core.is_some()) + self.up.len()
    }

    /// Whether there are no stages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Names in flat order.
    fn names(&self) -> impl Iterator<Item = &Text> {
        self.down.iter().chain(&self.core).chain(&self.up)
    }

    /// Flat index of the core.
    fn core_idx(&self) -> Option<usize> {
        self.core.as_ref().map(|_| self.down.len())
    }
}

/// Mean time of one thread in one stage, with its number of samples and its uncertainty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StageTime {
    mean_ns: i64,
    n: u64,
    error_ns: Option<u64>,
}

impl StageTime {
    /// The mean of `n` samples, in ns; `None` without samples.
    ///
    /// It may be negative: a difference of two clocks can be.
    pub fn new(mean_ns: i64, n: u64) -> Option<StageTime> {
        (n > 0).then_some(StageTime {
            mean_ns,
            n,
            error_ns: None,
        })
    }

    /// This time with the uncertainty of the clocks, plus and minus, in ns; `None` if both ends are
    /// stamped by one clock.
    #[must_use]
    pub fn with_error(self, error_ns: Option<u64>) -> StageTime {
        StageTime { error_ns, ..self }
    }

    pub(crate) fn error_ns(self) -> Option<u64> {
        self.error_ns
    }

    /// Whether it is longer than the uncertainty of the clocks.
    pub(crate) fn is_resolved(self) -> bool {
        self.error_ns
            .is_none_or(|error_ns| self.mean_ns.unsigned_abs() > error_ns)
    }

    /// `9.77 us ±4.05 us (n = 40)`, with `, within the clock error` if it is not resolved.
    pub(crate) fn words(self) -> String {
        let error = match self.error_ns {
            Some(error_ns) => format!(" ±{}", duration_of(error_ns)),
            None => String::new(),
        };
        let not_resolved = if self.is_resolved() {
            ""
        } else {
            ", within the clock error"
        };
        format!(
            "{}{error} (n = {}){not_resolved}",
            duration(self.mean_ns),
            grouped(self.n)
        )
    }

    pub(crate) fn mean_ns(self) -> i64 {
        self.mean_ns
    }

    pub(crate) fn n(self) -> u64 {
        self.n
    }
}

/// The thread of a line.
#[derive(Debug, Clone)]
pub struct Line {
    /// Name of the thread: `rank 3`.
    pub name: Text,
    /// Host of the thread.
    pub host: Text,
    /// Class of similar paths, if known. Lines are coloured and banded by class, or else by host.
    pub class: Option<Text>,
}

impl Line {
    fn group(&self) -> &Text {
        self.class.as_ref().unwrap_or(&self.host)
    }

    /// `rank 3 (n01, class)`.
    fn full_name(&self) -> String {
        match &self.class {
            Some(class) => format!("{} ({}, {class})", self.name, self.host),
            None => format!("{} ({})", self.name, self.host),
        }
    }
}

/// The mean time of each thread in each stage.
///
/// Up to [`Timemap::MAX_SINGLE_LINES`] threads have a line each. More are drawn as bands of
/// quantiles, one per class or host (if these are many: one for all, with the medians of the
/// hosts); the threads with the longest and the shortest paths are drawn and named.
///
/// # Source
/// Bongo et al. 2004, section 4 and figure 2. Differences: the stages from the root have rows of
/// their own, and many threads are drawn as bands.
#[derive(Debug, Clone)]
pub struct Timemap {
    heading: Heading,
    stages: Stages,
    sides: Sides,
    clock_error_ns: Option<u64>,
    threads: Vec<Thread>,
}

/// What the two sides of x = 0 are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sides {
    /// Seen from outside: before x = 0 and after it.
    BeforeAndAfter,
    /// Through a tree: the path to the root and the path from it.
    ToAndFromRoot,
}

impl Sides {
    /// Names of the left and of the right side.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::BeforeAndAfter => ["before 0", "after 0"],
            Self::ToAndFromRoot => ["to the root", "from the root"],
        }
    }
}

#[derive(Debug, Clone)]
struct Thread {
    line: Line,
    /// One per stage, by flat index.
    times: Vec<Option<StageTime>>,
    /// Accumulated time at the `n_stages + 1` borders of the stages, in ns; 0 at the begin of the
    /// core.
    borders_ns: Vec<i64>,
}

impl Thread {
    fn down_ns(&self) -> i64 {
        self.borders_ns
            .first()
            .map_or(0, |first| first.saturating_neg())
    }

    fn up_ns(&self) -> i64 {
        self.borders_ns.last().copied().unwrap_or(0)
    }
}

impl Timemap {
    /// Largest number of threads with a line each.
    pub const MAX_SINGLE_LINES: usize = 24;

    /// A timemap of these stages, without threads yet.
    pub fn new(heading: Heading, stages: Stages) -> Timemap {
        Timemap {
            heading,
            stages,
            sides: Sides::BeforeAndAfter,
            clock_error_ns: None,
            threads: Vec::new(),
        }
    }

    /// The stages are those of a tree: the left side leads to its root, the right side from it.
    #[must_use]
    pub fn through_a_tree(self) -> Timemap {
        Timemap {
            sides: Sides::ToAndFromRoot,
            ..self
        }
    }

    /// Shows the uncertainty of the clock alignment around x = 0, plus and minus, in ns.
    #[must_use]
    pub fn with_clock_error(mut self, uncertainty_ns: u64) -> Timemap {
        self.clock_error_ns = Some(uncertainty_ns);
        self
    }

    /// This timemap without the stages to the root, which may hide everything else: without
    /// messages inside the collective they are nothing but arrival waits. `finding` is the new
    /// title.
    ///
    /// # Source
    ///
    /// Bongo et al. 2004, section 4: figure 2a with arrival waits, 2b without.
    #[must_use]
    pub fn without_down(&self, finding: Text) -> Timemap {
        let heading = Heading {
            finding,
            ..self.heading.clone()
        };
        let stages = Stages {
            down: Vec::new(),
            ..self.stages.clone()
        };
        let mut timemap = Timemap {
            clock_error_ns: self.clock_error_ns,
            sides: self.sides,
            ..Self::new(heading, stages)
        };
        let n_down = self.stages.down.len();
        for thread in &self.threads {
            timemap.push(thread.line.clone(), |stage| thread.times[n_down + stage]);
        }
        timemap
    }

    /// Adds a thread. `time(stage_idx)` is called once per stage, in the order of [`Stages`];
    /// `None`: not resolved.
    pub fn push(&mut self, line: Line, time: impl FnMut(usize) -> Option<StageTime>) {
        let times: Vec<_> = (0..self.stages.len()).map(time).collect();
        let borders_ns = cumulate(&times, self.stages.down.len());
        self.threads.push(Thread {
            line,
            times,
            borders_ns,
        });
    }
}

/// Positions of the borders of stages: 0 after the first `n_down` stages, with times accumulated
/// from there in both directions.
fn cumulate(times: &[Option<StageTime>], n_down: usize) -> Vec<i64> {
    let spent = |time: &Option<StageTime>| time.map_or(0, |time| time.mean_ns);
    let (down, rest) = times.split_at(n_down.min(times.len()));
    let mut borders = vec![0i64];
    for time in down.iter().rev() {
        let inner = borders.last().copied().unwrap_or(0);
        borders.push(inner.saturating_sub(spent(time)));
    }
    borders.reverse();
    for time in rest {
        let inner = borders.last().copied().unwrap_or(0);
        borders.push(inner.saturating_add(spent(time)));
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_to_the_root_ends_at_zero_and_the_core_starts_there() {
        let times = [3, 5, 2, 7, 1].map(|ns| StageTime::new(ns, 1));
        assert_eq!(cumulate(&times, 2), [-8, -5, 0, 2, 9, 10]);
        assert_eq!(cumulate(&times[2..], 0), [0, 2, 9, 10]);
        assert_eq!(cumulate(&[], 0), [0]);
    }

    #[test]
    fn what_is_not_resolvable_takes_no_length() {
        let times = [StageTime::new(3, 1), None, StageTime::new(2, 1)];
        assert_eq!(cumulate(&times, 2), [-3, 0, 0, 2]);
    }

    #[test]
    fn sums_beyond_the_range_saturate() {
        let times = [StageTime::new(i64::MAX, 1), StageTime::new(i64::MAX, 1)];
        assert_eq!(cumulate(&times, 0), [0, i64::MAX, i64::MAX]);
    }

    #[test]
    fn no_samples_is_no_time() {
        assert_eq!(StageTime::new(5, 0), None);
    }
}
