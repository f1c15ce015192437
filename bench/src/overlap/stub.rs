//! A library with known progress, in virtual time.

use std::fmt::{self, Display, Formatter};

use super::metrics::Stamps;
use super::operation::Operation;
use super::subject::{Load, Part, Run, Subject};

/// How the library makes progress while the program computes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Progression {
    /// All the time, at no cost.
    Background,
    /// In the wait alone.
    InWait,
    /// A share of the communication, then no more before the wait.
    FirstStep(f64),
    /// All the time; the computation takes this many times as long.
    Slowing(f64),
    /// In the wait alone; computation and communication take this many times as long.
    Contending(f64, f64),
}

impl Progression {
    /// As on the command line: `background`, `in-wait`, `first-step=0.4`, `slowing=2` or
    /// `contending=1.5,1.6`.
    pub(super) fn of_text(text: &str) -> Result<Self, String> {
        let (name, numbers) = text.split_once('=').unwrap_or((text, ""));
        let numbers: Vec<f64> = (numbers.split(',').filter(|number| !number.is_empty()))
            .map_while(|number| number.parse().ok())
            .filter(|number| (0.0..=1_000.0).contains(number))
            .collect();
        match (name, &numbers[..]) {
            ("background", []) => Ok(Self::Background),
            ("in-wait", []) => Ok(Self::InWait),
            ("first-step", &[share]) if share <= 1.0 => Ok(Self::FirstStep(share)),
            ("slowing", &[factor]) if factor >= 1.0 => Ok(Self::Slowing(factor)),
            ("contending", &[slowdown, slower]) if slowdown.min(slower) >= 1.0 => {
                Ok(Self::Contending(slowdown, slower))
            }
            _ => Err(
                "expected background, in-wait, first-step=0.4, slowing=2 or \
                      contending=1.5,1.6"
                    .to_owned(),
            ),
        }
    }
}

impl Display for Progression {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Background => formatter.write_str("background"),
            Self::InWait => formatter.write_str("in-wait"),
            Self::FirstStep(share) => write!(formatter, "first-step={share}"),
            Self::Slowing(factor) => write!(formatter, "slowing={factor}"),
            Self::Contending(slowdown, slower) => {
                write!(formatter, "contending={slowdown},{slower}")
            }
        }
    }
}

/// A job of `n` processes on virtual time.
#[derive(Debug, Clone)]
pub(super) struct Stub {
    pub(super) n: usize,
    pub(super) progression: Progression,
    /// Whether the communication of process p of n takes (p + 1) / n of the time of the last, as in a
    /// tree.
    pub(super) is_tree: bool,
    /// How many times as long a computation takes when MPI is initialized.
    pub(super) idle: f64,
    /// Longest message, elements.
    pub(super) longest: u64,
    /// Every how many runs one begins late; 0: none.
    pub(super) late_every: usize,
    /// Number of runs at the beginning that take five times as long: a disturbance that passes.
    pub(super) disturbed: usize,
    /// Number of runs, after which it fails: an interrupted measurement.
    pub(super) runs_left: usize,
    n_runs: usize,
    now: i64,
    load: Load,
}

impl Stub {
    pub(super) fn new(progression: Progression) -> Self {
        Self {
            n: 4,
            progression,
            is_tree: false,
            idle: 1.0,
            longest: 1 << 40,
            late_every: 0,
            disturbed: 0,
            runs_left: usize::MAX,
            n_runs: 0,
            now: 0,
            load: Load {
                operation: Operation::Ibcast,
                length: 0,
                rows: 0,
            },
        }
    }

    /// Time of the communication, ns: a latency, and 2 ns per element.
    fn communication(&self) -> f64 {
        20_000.0 + 2.0 * self.load.length as f64
    }

    /// Time of the computation, ns: the third power of the rows.
    fn computation(&self) -> f64 {
        3_000.0 + 0.4 * (self.load.rows as f64).powi(3)
    }
}

impl Subject for Stub {
    fn longest(&self, _operation: Operation) -> u64 {
        self.longest
    }

    fn most_rows(&self) -> u64 {
        1 << 20
    }

    fn prepare(&mut self, load: Load) -> anyhow::Result<()> {
        self.load = load;
        Ok(())
    }

    fn run(&mut self, part: Part) -> anyhow::Result<Run> {
        anyhow::ensure!(self.runs_left > 0, "interrupted");
        self.runs_left -= 1;
        self.n_runs += 1;
        let is_late = self.late_every > 0 && self.n_runs.is_multiple_of(self.late_every);
        // Each run differs a little, by less than 1 %, and a late one a lot.
        let noise = 1.0 + 0.002 * (self.n_runs % 4) as f64 + if is_late { 9.0 } else { 0.0 };
        let noise = if self.n_runs <= self.disturbed {
            5.0 * noise
        } else {
            noise
        };
        self.now += 1_000_000_000;
        let processes = (0..self.n).map(|process| {
            let share = if self.is_tree {
                (process + 1) as f64 / self.n as f64
            } else {
                1.0
            };
            let [call, computation, wait] = self.durations(
                part,
                self.communication() * noise * share,
                self.computation() * noise,
            );
            // The first begins first, and the last ends last.
            let begin = self.now + process as i64 * 100;
            let called = begin + call as i64;
            let computed = called + computation as i64;
            Stamps {
                begin,
                called,
                computed,
                end: computed + wait as i64,
            }
        });
        Ok(Run {
            processes: processes.collect(),
            is_late,
        })
    }
}

impl Stub {
    /// Durations of the call, the computation and the wait in one process, ns.
    fn durations(&self, part: Part, communication: f64, computation: f64) -> [f64; 3] {
        let call = 1_000.0;
        match (part, self.progression) {
            (Part::Communication, _) => [call, 0.0, communication - call],
            (Part::WithoutMpi, _) => [0.0, computation, 0.0],
            (Part::Idle, _) => [0.0, computation * self.idle, 0.0],
            (Part::Overlap, Progression::Background) => [
                call,
                computation,
                (communication - computation - call).max(0.0),
            ],
            (Part::Overlap, Progression::InWait) => [call, computation, communication - call],
            (Part::Overlap, Progression::FirstStep(share)) => {
                let hidden = computation.min(share * communication);
                [call, computation, communication - hidden - call]
            }
            (Part::Overlap, Progression::Slowing(factor)) => {
                let computation = computation * factor;
                [
                    call,
                    computation,
                    (communication - computation - call).max(0.0),
                ]
            }
            (Part::Overlap, Progression::Contending(slowdown, slower)) => {
                [call, computation * slowdown, communication * slower - call]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_progression_is_read_as_it_is_written() {
        for text in [
            "background",
            "in-wait",
            "first-step=0.4",
            "slowing=2",
            "contending=1.5,1.6",
        ] {
            let progression = Progression::of_text(text).unwrap();
            assert_eq!(progression.to_string(), text);
        }
        for wrong in [
            "",
            "slowing",
            "slowing=0.5",
            "first-step=2",
            "in-wait=1",
            "contending=2",
        ] {
            assert!(Progression::of_text(wrong).is_err(), "{wrong}");
        }
    }
}
