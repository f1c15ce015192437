//! From the times of ranks to the efficiencies of POP.

use collbench_formats::Layer;
use collbench_stats::integers::saturate;

use crate::judge::inputs::Inputs;
use crate::results::efficiencies::{Efficiencies, UsefulTime};
use crate::results::process::RankSummary;
use crate::results::trace::TraceSummary;
use crate::selection::Selection;

/// Where a rank spent its time, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RankTimes {
    pub(crate) rank: u32,
    /// Time between `MPI_Init` and `MPI_Finalize`.
    pub(crate) between_ns: i64,
    /// That of its threads, where several of them are in collectives at the same time; else the same.
    pub(crate) of_threads_ns: i64,
    /// Time in collectives.
    pub(crate) collectives_ns: i64,
    /// In pauses of the recorder, of which some may be in `MPI_Init` or `MPI_Finalize`.
    pub(crate) pauses_ns: i64,
    /// Time in other calls of MPI; `None` where that is not known.
    pub(crate) other_ns: Option<i64>,
}

impl RankTimes {
    /// The time outside of calls that take so long, ns: of several threads the mean. Below 0 where it is impossible, but
    /// of threads, of which not all that is in calls is in their time.
    fn useful_ns(&self, in_calls_ns: i64) -> i64 {
        let mut outside_ns = i128::from(self.of_threads_ns.saturating_sub(in_calls_ns));
        if self.of_threads_ns > self.between_ns {
            outside_ns = outside_ns.max(0);
        }
        if outside_ns > 0 {
            outside_ns = (outside_ns - i128::from(self.pauses_ns)).max(0);
        }
        let of_all = i128::from(self.of_threads_ns.max(1));
        saturate(outside_ns * i128::from(self.between_ns) / of_all)
    }
}

/// The efficiencies of a run; `None` where a part of its calls is not known: of a selection, of a
/// ring that has overwritten calls, of an incomplete trace, or without the files of some ranks.
pub(crate) fn efficiencies(
    inputs: &Inputs<'_>,
    trace: &TraceSummary,
    ranks: &[RankSummary],
) -> Option<Efficiencies> {
    let window = trace.window.as_ref();
    let is_overwritten = window.is_some_and(|window| window.records_dropped > 0);
    let is_whole = trace.complete && !is_overwritten && *inputs.selection == Selection::default();
    if !is_whole || ranks.len() != trace.ranks as usize {
        return None;
    }
    let processes = inputs.run.processes.iter().zip(&inputs.findings.processes);
    let times = ranks.iter().zip(processes).map(|(rank, (process, found))| {
        let timed = process.has_layer(Layer::PointToPoint);
        let besides = Some(found.besides).filter(|_| timed);
        let begun_ns = found.begun_ns.unwrap_or(0).max(0);
        let ended_ns = found
            .finalize
            .map_or(trace.duration_ns, |[begin, _]| begin.ns());
        RankTimes {
            rank: rank.rank,
            between_ns: ended_ns.saturating_sub(begun_ns),
            of_threads_ns: found.time_of_threads_ns(begun_ns, ended_ns),
            collectives_ns: rank.call_time_ns,
            pauses_ns: rank.recorder_pause_ns,
            other_ns: besides.map(|of| of.point_to_point_ns.saturating_add(of.unrecorded_ns)),
        }
    });
    of_times(trace.duration_ns, &times.collect::<Vec<_>>(), None)
}

/// The efficiencies of ranks in a run of `runtime_ns`. `ideal_ns`: its duration if messages took no
/// time, where that is known. `None` without ranks, and where a rank was in calls for longer than
/// the run, as with several threads.
pub(crate) fn of_times(
    runtime_ns: i64,
    ranks: &[RankTimes],
    ideal_ns: Option<i64>,
) -> Option<Efficiencies> {
    let are_known = ranks.iter().all(|rank| rank.other_ns.is_some());
    let useful = ranks.iter().map(|rank| {
        let other_ns = rank.other_ns.filter(|_| are_known).unwrap_or(0);
        let in_calls_ns = rank.collectives_ns.saturating_add(other_ns);
        (rank.useful_ns(in_calls_ns), rank.rank)
    });
    let useful: Vec<(i64, u32)> = useful.collect();
    if runtime_ns <= 0 || useful.iter().any(|&(ns, _)| ns < 0) {
        return None;
    }
    // Of equal ones the lowest rank.
    let (max_useful_ns, max_rank) = useful
        .iter()
        .copied()
        .max_by_key(|&(ns, rank)| (ns, std::cmp::Reverse(rank)))?;
    let total: i128 = useful.iter().map(|&(ns, _)| i128::from(ns)).sum();
    let mean_useful_ns = saturate(total / useful.len() as i128);
    let part = |of: i64, by: i64| rounded(of as f64 / by as f64);
    let ideal_ns = ideal_ns.filter(|&ns| ns > 0 && ns >= max_useful_ns && ns <= runtime_ns);
    Some(Efficiencies {
        useful: if are_known {
            UsefulTime::OutsideMpi
        } else {
            UsefulTime::OutsideCollectives
        },
        runtime_ns,
        mean_useful_ns,
        max_useful_ns,
        max_rank,
        load_balance: (max_useful_ns > 0).then(|| part(mean_useful_ns, max_useful_ns)),
        communication: part(max_useful_ns, runtime_ns),
        serialization: ideal_ns.map(|ideal| part(max_useful_ns, ideal)),
        transfer: ideal_ns.map(|ideal| part(ideal, runtime_ns)),
        parallel: part(mean_useful_ns, runtime_ns),
    })
}

/// To six digits behind the point.
fn rounded(part: f64) -> f64 {
    (part * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(collectives_ns: &[i64], other_ns: Option<i64>) -> Vec<RankTimes> {
        let ranks = (0u32..).zip(collectives_ns);
        let times = ranks.map(|(rank, &collectives_ns)| RankTimes {
            rank,
            between_ns: 1000,
            of_threads_ns: 1000,
            collectives_ns,
            pauses_ns: 0,
            other_ns,
        });
        times.collect()
    }

    #[test]
    fn load_balance_times_communication_is_the_parallel_efficiency() {
        // Useful: 800, 600, 400, 200 of 1000.
        let found = of_times(1000, &times(&[200, 400, 600, 800], None), None).unwrap();
        assert_eq!(found.useful, UsefulTime::OutsideCollectives);
        assert_eq!((found.mean_useful_ns, found.max_useful_ns), (500, 800));
        assert_eq!(found.max_rank, 0);
        assert_eq!(found.load_balance, Some(0.625));
        assert_eq!(found.communication, 0.8);
        assert_eq!(found.parallel, 0.5);
        assert_eq!((found.serialization, found.transfer), (None, None));
    }

    #[test]
    fn serialization_times_transfer_is_the_communication_efficiency() {
        let found = of_times(1000, &times(&[200, 400], Some(0)), Some(900)).unwrap();
        let (serialization, transfer) = found.serialization.zip(found.transfer).unwrap();
        assert!((serialization * transfer - found.communication).abs() < 1e-5);
        assert_eq!(transfer, 0.9);
        // A duration that is impossible tells nothing.
        let found = of_times(1000, &times(&[200, 400], Some(0)), Some(700)).unwrap();
        assert_eq!(found.transfer, None);
    }

    #[test]
    fn calls_beside_collectives_are_not_useful_where_they_are_known_of_all_ranks() {
        let mut ranks = times(&[100, 100], Some(300));
        let found = of_times(1000, &ranks, None).unwrap();
        assert_eq!(
            (found.useful, found.mean_useful_ns),
            (UsefulTime::OutsideMpi, 600)
        );
        ranks[1].other_ns = None;
        let found = of_times(1000, &ranks, None).unwrap();
        assert_eq!(found.useful, UsefulTime::OutsideCollectives);
        assert_eq!(found.mean_useful_ns, 900);
    }

    #[test]
    fn impossible_times_have_no_efficiency() {
        assert_eq!(of_times(1000, &times(&[1001, 0], None), None), None);
        assert_eq!(of_times(0, &times(&[0], None), None), None);
        assert_eq!(of_times(1000, &[], None), None);
        let idle = of_times(1000, &times(&[1000, 1000], None), None).unwrap();
        assert_eq!((idle.load_balance, idle.parallel), (None, 0.0));
    }
}
