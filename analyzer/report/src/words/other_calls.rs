//! Time in MPI calls other than collectives, where it is more than the waits in collectives.

use std::cmp::Reverse;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{OtherCallKind, OtherCalls, Remark};
use collbench_text::quantity::{duration, share};

/// The kinds of calls that take more time than all waits in collectives, the longest first.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<String> {
    let sentence = |calls| sentence(calls, &extremes(analysis, calls));
    named(analysis).map(sentence).collect()
}

/// Whether the verdict has what a remark says.
pub(crate) fn are_in_verdict(analysis: &Analysis, remark: &Remark) -> bool {
    let Remark::UnrecordedAccess(access) = remark else {
        return false;
    };
    let kind = if access.is_io {
        OtherCallKind::Io
    } else {
        OtherCallKind::Rma
    };
    named(analysis).any(|calls| calls.kind == kind)
}

/// Whether only point-to-point communication takes more time than all waits in collectives.
pub(crate) fn are_messages_alone(analysis: &Analysis) -> bool {
    named(analysis).all(|calls| calls.kind == OtherCallKind::PointToPoint)
}

fn named(analysis: &Analysis) -> impl Iterator<Item = &OtherCalls> {
    let calls = analysis.other_calls.iter();
    calls.filter(|calls| calls.exceeds_waits && calls.kind != OtherCallKind::Newer)
}

/// Which rank spends most time in calls, and which least, where they differ by a tenth.
fn extremes(analysis: &Analysis, calls: &OtherCalls) -> String {
    let times = || {
        let ranks = analysis.ranks.iter();
        ranks.filter_map(|rank| Some((calls.kind.time_ns(rank)?, Reverse(rank.rank))))
    };
    // Of equal ones the lowest rank.
    let least = times().min_by_key(|&(ns, Reverse(rank))| (ns, rank));
    match (times().max(), least) {
        (Some((most_ns, most)), Some((least_ns, least))) if most_ns - least_ns > most_ns / 10 => {
            format!(
                " (rank {}: {}, rank {}: {})",
                most.0,
                duration(most_ns),
                least.0,
                duration(least_ns)
            )
        }
        _ => String::new(),
    }
}

fn sentence(calls: &OtherCalls, extremes: &str) -> String {
    let (what, take, layer) = match calls.kind {
        OtherCallKind::Io => ("MPI-IO", "takes", "io"),
        OtherCallKind::Rma => (
            "calls that synchronize accesses to windows (RMA)",
            "take",
            "rma",
        ),
        OtherCallKind::PointToPoint | OtherCallKind::Newer => {
            ("point-to-point communication", "takes", "p2p")
        }
    };
    let part = calls.share.map_or_else(String::new, |part| {
        format!(", {} of the time of all ranks", share(part))
    });
    let which = match calls.recorded {
        Some(false) => format!("; record with --layers +{layer} to see which calls"),
        _ => String::new(),
    };
    format!(
        "{what} {take} {}{part}{extremes}, more than all waits in collectives{which}",
        duration(calls.time_ns)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::nothing::nothing;

    #[test]
    fn calls_that_take_more_than_all_waits_come_first_with_how_to_record_them() {
        let calls = |kind, recorded, exceeds_waits| OtherCalls {
            kind,
            time_ns: 17_100_000_000,
            share: Some(0.49),
            recorded,
            exceeds_waits,
        };
        let analysis = Analysis {
            other_calls: vec![
                calls(OtherCallKind::Io, Some(false), true),
                calls(OtherCallKind::Rma, Some(true), true),
                calls(OtherCallKind::PointToPoint, None, true),
                calls(OtherCallKind::PointToPoint, None, false),
            ],
            ..nothing()
        };
        assert_eq!(
            sentences(&analysis),
            [
                "MPI-IO takes 17.1 s, 49 % of the time of all ranks, more than all waits in collectives; \
                 record with --layers +io to see which calls",
                "calls that synchronize accesses to windows (RMA) take 17.1 s, 49 % of the time of all \
                 ranks, more than all waits in collectives",
                "point-to-point communication takes 17.1 s, 49 % of the time of all ranks, more than all \
                 waits in collectives",
            ]
        );
    }

    #[test]
    fn the_ranks_with_most_and_least_of_it_are_named_where_they_differ() {
        let rank = |rank: u32, io_ns: i64| {
            let rank = serde_json::json!({
                "rank": rank, "host": "n01", "calls": 1, "calls_by_operation": {}, "calls_by_class": {},
                "wait_ns": 0, "last": 0, "first": 0, "io_ns": io_ns
            });
            serde_json::from_value(rank).unwrap()
        };
        let words = |least_ns| {
            let calls = OtherCalls {
                kind: OtherCallKind::Io,
                time_ns: 5_000_000,
                share: None,
                recorded: Some(true),
                exceeds_waits: true,
            };
            let analysis = Analysis {
                other_calls: vec![calls],
                ranks: vec![rank(0, 2_000_000), rank(1, least_ns), rank(2, 2_000_000)],
                ..nothing()
            };
            sentences(&analysis).concat()
        };
        assert_eq!(
            words(1_000_000),
            "MPI-IO takes 5.00 ms (rank 0: 2.00 ms, rank 1: 1.00 ms), more than all waits in collectives"
        );
        assert_eq!(
            words(1_900_000),
            "MPI-IO takes 5.00 ms, more than all waits in collectives"
        );
    }
}
