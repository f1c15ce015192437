//! The times of all processes in one repetition to one number.

use serde::{Deserialize, Serialize};

/// One process in one repetition, ns on the global clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Times {
    /// When it entered the operation.
    pub enter: i64,
    /// When it left.
    pub leave: i64,
}

impl Times {
    fn duration(self) -> i64 {
        self.leave - self.enter
    }
}

/// How the times of all processes become one number.
///
/// # Source
/// Hoefler et al. 2007, section 1.2, after Worsch et al.: (1) a designated process, (2) maximum,
/// (3) first start to last finish, (4) average, (5) minimum; the median is ours.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Reduction {
    /// Last leave less first enter
    #[default]
    Span,
    /// The longest time of a process
    Max,
    /// The mean time of the processes
    Mean,
    /// The median time of the processes
    Median,
    /// The shortest time of a process
    Min,
    /// The time of process 0 of the communicator
    #[value(name = "process0")]
    #[serde(rename = "process0")]
    Process0,
}

impl Reduction {
    /// All of them, the default first.
    pub const ALL: [Self; 6] = [
        Self::Span,
        Self::Max,
        Self::Mean,
        Self::Median,
        Self::Min,
        Self::Process0,
    ];

    /// Its name on the command line and in JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Span => "span",
            Self::Max => "max",
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Min => "min",
            Self::Process0 => "process0",
        }
    }

    /// Of the processes of one repetition, at least one, ns.
    #[must_use]
    pub fn of(self, processes: &[Times]) -> f64 {
        let durations = processes.iter().map(|times| times.duration());
        let n = processes.len();
        match self {
            Self::Span => {
                let first = processes.iter().map(|times| times.enter).min();
                let last = processes.iter().map(|times| times.leave).max();
                last.zip(first).map_or(0, |(last, first)| last - first) as f64
            }
            Self::Max => durations.max().unwrap_or(0) as f64,
            Self::Min => durations.min().unwrap_or(0) as f64,
            Self::Mean => durations.sum::<i64>() as f64 / n.max(1) as f64,
            Self::Median => {
                let mut sorted: Vec<i64> = durations.collect();
                sorted.sort_unstable();
                (sorted[(n - 1) / 2] + sorted[n / 2]) as f64 / 2.0
            }
            Self::Process0 => processes[0].duration() as f64,
        }
    }
}

/// Start skew of one repetition: latest start less earliest start, each relative to the start that
/// was intended for the process, ns.
///
/// `intended[r]` is the delay of process r after the common start; empty for none.
#[must_use]
pub fn start_skew_ns(processes: &[Times], intended: &[i64]) -> i64 {
    let starts = || {
        processes.iter().enumerate().map(|(rank, times)| {
            let delay = intended.get(rank).copied().unwrap_or(0);
            times.enter - delay
        })
    };
    let latest_to_earliest = starts().max().zip(starts().min());
    latest_to_earliest.map_or(0, |(latest, earliest)| latest - earliest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: [Times; 4] = [
        Times {
            enter: 100,
            leave: 160,
        },
        Times {
            enter: 110,
            leave: 200,
        },
        Times {
            enter: 90,
            leave: 180,
        },
        Times {
            enter: 105,
            leave: 145,
        },
    ];

    #[test]
    fn each_reduction_is_the_one_of_the_paper() {
        let found = Reduction::ALL.map(|reduction| reduction.of(&FOUR));
        // Durations 60, 90, 90, 40; from 90 to 200.
        assert_eq!(found, [110.0, 90.0, 70.0, 75.0, 40.0, 60.0]);
        let one = &FOUR[1..2];
        assert!(
            Reduction::ALL
                .iter()
                .all(|reduction| reduction.of(one) == 90.0)
        );
    }

    #[test]
    fn a_skew_is_what_delays_do_not_explain() {
        assert_eq!(start_skew_ns(&FOUR, &[]), 20);
        assert_eq!(start_skew_ns(&FOUR, &[10, 20, 0, 15]), 0);
        assert_eq!(start_skew_ns(&FOUR, &[0, 0, 0, 100]), 105);
    }
}
