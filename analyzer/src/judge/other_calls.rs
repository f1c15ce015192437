//! From the times of ranks to what MPI calls other than collectives take.

use collbench_formats::Layer;
use collbench_stats::integers::{saturate, sum_ns};

use crate::judge::inputs::Inputs;
use crate::results::other_calls::{OtherCallKind, OtherCalls};
use crate::results::process::RankSummary;
use crate::selection::Selection;

/// Part of the time of all ranks from which on calls are listed: one in so many.
const MATTERS: i128 = 100;

/// What MPI calls other than collectives take, the most first; empty for a part of a run, of which that is not
/// known. `rank_ns`: the time of all ranks, ns.
pub(crate) fn other_calls(
    inputs: &Inputs<'_>,
    ranks: &[RankSummary],
    rank_ns: i128,
) -> Vec<OtherCalls> {
    if *inputs.selection != Selection::default() {
        return Vec::new();
    }
    let has_layer = |layer| {
        let mut processes = inputs.run.processes.iter();
        processes.any(|process| process.has_layer(layer))
    };
    let is_recorded = |kind| match kind {
        OtherCallKind::Io => Some(has_layer(Layer::Io)),
        OtherCallKind::Rma => Some(has_layer(Layer::Rma)),
        OtherCallKind::PointToPoint | OtherCallKind::Newer => None,
    };
    of_ranks(ranks, rank_ns, is_recorded)
}

fn of_ranks(
    ranks: &[RankSummary],
    rank_ns: i128,
    is_recorded: impl Fn(OtherCallKind) -> Option<bool>,
) -> Vec<OtherCalls> {
    let waits_ns = sum_ns(ranks.iter().filter_map(|rank| rank.wait_ns));
    let mut found = Vec::new();
    for kind in [
        OtherCallKind::PointToPoint,
        OtherCallKind::Io,
        OtherCallKind::Rma,
    ] {
        let times = ranks.iter().filter_map(|rank| kind.time_ns(rank));
        // Several threads of a rank may spend more than its time.
        let time_ns = times.map(i128::from).sum::<i128>().min(rank_ns.max(0));
        if time_ns <= 0 || time_ns * MATTERS < rank_ns {
            continue;
        }
        found.push(OtherCalls {
            kind,
            time_ns: saturate(time_ns),
            share: Some(time_ns as f64 / rank_ns as f64),
            recorded: is_recorded(kind),
            exceeds_waits: time_ns > i128::from(waits_ns),
        });
    }
    // Stable: of equal ones the first kind.
    found.sort_by_key(|calls| std::cmp::Reverse(calls.time_ns));
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rank(rank: u32, times_ns: [Option<i64>; 3], wait_ns: i64) -> RankSummary {
        let [point_to_point_ns, io_ns, rma_ns] = times_ns;
        RankSummary {
            rank,
            host: "n01".into(),
            calls: 1,
            calls_by_operation: BTreeMap::new(),
            calls_by_class: BTreeMap::new(),
            wait_ns: Some(wait_ns),
            call_time_ns: wait_ns,
            finalize_ns: None,
            finalize_wait_ns: None,
            last: 0,
            first: 0,
            recorder_pause_ns: 0,
            point_to_point_ns,
            unsuccessful_polls: None,
            io_ns,
            rma_ns,
        }
    }

    #[test]
    fn calls_are_listed_from_a_hundredth_of_the_time_of_all_ranks_on() {
        let ranks = [
            rank(0, [Some(9), Some(300), None], 100),
            rank(1, [Some(10), Some(200), None], 100),
        ];
        let found = of_ranks(&ranks, 2_000, |_| Some(false));
        let [io] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((io.kind, io.time_ns), (OtherCallKind::Io, 500));
        assert_eq!((io.share, io.recorded), (Some(0.25), Some(false)));
        assert!(io.exceeds_waits);
        let ranks = [rank(0, [Some(20), Some(300), None], 310)];
        let found = of_ranks(&ranks, 2_000, |_| None);
        let kinds: Vec<_> = found.iter().map(|of| (of.kind, of.exceeds_waits)).collect();
        let (io, sums) = (OtherCallKind::Io, OtherCallKind::PointToPoint);
        assert_eq!(kinds, [(io, false), (sums, false)]);
    }

    #[test]
    fn times_of_several_threads_are_no_more_than_the_time_of_their_ranks() {
        let ranks = [rank(0, [None, Some(3_000), Some(0)], 0)];
        let found = of_ranks(&ranks, 1_000, |_| Some(true));
        assert_eq!(
            (found.len(), found[0].time_ns, found[0].share),
            (1, 1_000, Some(1.0))
        );
        assert!(of_ranks(&ranks, 0, |_| None).is_empty());
    }
}
