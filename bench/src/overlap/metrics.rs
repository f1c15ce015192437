//! Ratios that say how much of a communication was overlapped, and at what cost.
//!
//! # Source
//! Denis et al. 2022, sections 3 and 4.1.

use serde::{Deserialize, Serialize};

/// When a process called, computed and waited, ns on the common clock.
///
/// In a run without computation `called` and `computed` are equal; in a run without communication
/// `called` equals `begin`, and `end` equals `computed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamps {
    /// Before the call that initiates the operation.
    pub(super) begin: i64,
    /// After that call: the computation begins.
    pub(super) called: i64,
    /// After the computation: the completing wait begins.
    pub(super) computed: i64,
    /// After the wait.
    pub(super) end: i64,
}

impl Stamps {
    /// The durations between the stamps.
    pub(super) fn times(self) -> Times {
        Times {
            call_ns: (self.called - self.begin) as f64,
            computation_ns: (self.computed - self.called) as f64,
            wait_ns: (self.end - self.computed) as f64,
        }
    }
}

/// How long a process called, computed and waited, ns.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Times {
    /// In the call that initiates the operation.
    pub(super) call_ns: f64,
    /// In the computation.
    pub(super) computation_ns: f64,
    /// In the completing wait.
    pub(super) wait_ns: f64,
}

impl Times {
    /// From before the call until after the wait.
    pub(super) fn total_ns(self) -> f64 {
        self.call_ns + self.computation_ns + self.wait_ns
    }

    /// In calls of MPI.
    pub(super) fn in_mpi_ns(self) -> f64 {
        self.call_ns + self.wait_ns
    }
}

/// Collective time of a run: last end minus first begin, ns; 0 without processes.
pub(super) fn collective_time(processes: &[Stamps]) -> f64 {
    let begin = processes.iter().map(|stamps| stamps.begin).min();
    let end = processes.iter().map(|stamps| stamps.end).max();
    begin
        .zip(end)
        .map_or(0.0, |(begin, end)| (end - begin) as f64)
}

/// What computation and communication take one without the other, ns, > 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct References {
    pub(super) communication_ns: f64,
    pub(super) computation_ns: f64,
}

/// What was measured with both at once, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    /// From begin to end.
    pub(super) total_ns: f64,
    pub(super) computation_ns: f64,
    /// In calls of MPI: the initiating call and the wait.
    pub(super) in_mpi_ns: f64,
}

/// The ratios of one cell, of one process or of the slowest.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Ratios {
    /// (measured - max(computation, communication)) / min(computation, communication): 0 perfect
    /// overlap, 1 one after the other, above 1 slower than that, below 0 imprecise references.
    pub(super) overhead: f64,
    /// Time of the computation / its reference: 1 if it is not slowed.
    pub(super) computation_slowdown: f64,
    /// Time in calls of MPI / reference of the communication: 0 hidden, 1 not hidden, above 1 slower
    /// than alone.
    pub(super) communication: f64,
}

impl Ratios {
    /// The ratios; `None` where a reference is not above 0.
    pub(super) fn of(measured: Measured, references: References) -> Option<Self> {
        let References {
            communication_ns: communication,
            computation_ns: computation,
        } = references;
        let is_known = communication > 0.0 && computation > 0.0;
        is_known.then(|| Self {
            overhead: (measured.total_ns - computation.max(communication))
                / computation.min(communication),
            computation_slowdown: measured.computation_ns / computation,
            communication: measured.in_mpi_ns / communication,
        })
    }
}

/// MPI impact ratio: time of a computation with MPI initialized and idle / without MPI; `None` where
/// the time without is not above 0.
pub(super) fn impact_ratio(idle_ns: f64, without_mpi_ns: f64) -> Option<f64> {
    (without_mpi_ns > 0.0).then(|| idle_ns / without_mpi_ns)
}

/// Overlap in percent as the OSU microbenchmarks print it; arguments are means over the ranks, ns.
///
/// max(0, 100 - (overall - computation) / communication * 100), where the computation is that of
/// the overlapped run, so that it does not matter how slow it was. `None` where the communication
/// takes no time.
///
/// # Source
/// Denis et al. 2022, figures 11 and 12.
pub(super) fn osu_percent(
    overall_ns: f64,
    computation_ns: f64,
    communication_ns: f64,
) -> Option<f64> {
    let exposed = overall_ns - computation_ns;
    (communication_ns > 0.0).then(|| (100.0 - exposed / communication_ns * 100.0).max(0.0))
}

/// Overlap in percent as the Intel MPI Benchmarks print it; arguments are means over the ranks, ns.
///
/// 100 * (pure + computation - overlapped) / max(pure, computation), from 0 to 100, with the
/// computation alone. `None` where both take no time.
///
/// # Source
/// Denis et al. 2022, figure 13: its percentages follow with the maximum.
pub(super) fn imb_percent(overlapped_ns: f64, pure_ns: f64, computation_ns: f64) -> Option<f64> {
    let longer = pure_ns.max(computation_ns);
    let saved = pure_ns + computation_ns - overlapped_ns;
    (longer > 0.0).then(|| 100.0 * (saved / longer).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overhead(total_ns: f64, computation_ns: f64, communication_ns: f64) -> f64 {
        let measured = Measured {
            total_ns,
            computation_ns,
            in_mpi_ns: total_ns - computation_ns,
        };
        let references = References {
            communication_ns,
            computation_ns,
        };
        Ratios::of(measured, references).unwrap().overhead
    }

    #[test]
    fn the_overhead_ratio_is_0_when_perfect_and_1_one_after_the_other() {
        for (computation, communication) in [(3.0, 8.0), (8.0, 3.0), (5.0, 5.0)] {
            let longer = f64::max(computation, communication);
            let shorter = f64::min(computation, communication);
            assert_eq!(overhead(longer, computation, communication), 0.0);
            assert_eq!(overhead(longer + shorter, computation, communication), 1.0);
            assert_eq!(
                overhead(longer + 2.5 * shorter, computation, communication),
                2.5
            );
            assert!(overhead(longer * 0.9, computation, communication) < 0.0);
        }
    }

    #[test]
    fn slowed_computation_and_slowed_communication_are_told_apart() {
        let measured = Measured {
            total_ns: 19.0,
            computation_ns: 12.0,
            in_mpi_ns: 7.0,
        };
        let references = References {
            communication_ns: 5.0,
            computation_ns: 10.0,
        };
        let ratios = Ratios::of(measured, references).unwrap();
        assert_eq!(ratios.overhead, 1.8);
        assert_eq!(ratios.computation_slowdown, 1.2);
        assert_eq!(ratios.communication, 1.4);
    }

    #[test]
    fn without_a_reference_there_is_no_ratio() {
        let measured = Measured {
            total_ns: 1.0,
            computation_ns: 1.0,
            in_mpi_ns: 0.0,
        };
        let references = References {
            communication_ns: 0.0,
            computation_ns: 1.0,
        };
        assert_eq!(Ratios::of(measured, references), None);
        assert_eq!(impact_ratio(1.0, 0.0), None);
        assert_eq!(osu_percent(1.0, 1.0, 0.0), None);
        assert_eq!(imb_percent(1.0, 0.0, 0.0), None);
    }

    #[test]
    fn the_collective_time_is_from_the_first_begin_to_the_last_end() {
        let stamps = |begin, end| Stamps {
            begin,
            called: begin + 1,
            computed: end - 2,
            end,
        };
        assert_eq!(
            collective_time(&[stamps(10, 30), stamps(5, 20), stamps(7, 34)]),
            29.0
        );
        assert_eq!(collective_time(&[]), 0.0);
        let times = stamps(10, 30).times();
        assert_eq!(
            (times.call_ns, times.computation_ns, times.wait_ns),
            (1.0, 17.0, 2.0)
        );
        assert_eq!((times.total_ns(), times.in_mpi_ns()), (20.0, 3.0));
    }

    /// The rows of figures 11 and 12 of the paper, in us.
    #[test]
    fn osu_prints_the_percentages_of_the_paper() {
        for (overall, computation, communication, printed) in [
            (665.10, 424.78, 412.18, 41.70),
            (1226.44, 706.79, 681.85, 23.79),
            (2098.49, 1888.42, 1832.79, 88.54),
            (851.56, 663.64, 643.58, 70.80),
        ] {
            let found = osu_percent(overall, computation, communication).unwrap();
            assert!((found - printed).abs() < 0.01, "{found} {printed}");
        }
        assert_eq!(osu_percent(30.0, 10.0, 10.0), Some(0.0));
    }

    /// The rows of figure 13 of the paper, in us.
    #[test]
    fn imb_prints_the_percentages_of_the_paper() {
        for (overlapped, pure, computation, printed) in [
            (2281.20, 1888.82, 2052.86, 80.89),
            (981.55, 790.55, 803.90, 76.24),
        ] {
            let found = imb_percent(overlapped, pure, computation).unwrap();
            assert!((found - printed).abs() < 0.01, "{found} {printed}");
        }
        assert_eq!(imb_percent(30.0, 10.0, 10.0), Some(0.0));
        assert_eq!(imb_percent(5.0, 10.0, 10.0), Some(100.0));
    }
}
