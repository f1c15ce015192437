//! Waits over time, over all operations.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ops::Range;

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{RankTimeline, Timeline};
use collbench_text::quantity;
use collbench_viz::{TimeBin, WaitsOverTime};

use super::Instances;

/// Caption of the picture.
pub(super) const CAPTION: &str = "One row per rank (or band of ranks), time from left to right. \
     The darker a cell (on a dark screen, the brighter), the larger the share of that interval that \
     the rank spends waiting in collectives. If one row stays pale while the others are dark, the \
     others wait for that rank. If a column is dark in all rows, all ranks wait at that time. \
     Hatched: the waits of calls that began there are not known, or only in part; what is known is \
     the shade below. Zooming shows a part of the time under its own axis, in intervals down to a \
     quarter as long. The bars show the total wait of \
     each rank.";

/// The picture; `None` without times or ranks.
pub(super) fn waits_over_time(
    analysis: &Analysis,
    instances: &Instances<'_>,
) -> Option<WaitsOverTime> {
    let part = Part::of(analysis);
    let timeline = &part.timeline;
    let bin_ns = u64::try_from(timeline.bin_ns)
        .ok()
        .and_then(NonZeroU64::new)?;
    let n_bins = timeline.ranks.iter().map(|rank| rank.calls.len()).max()?;
    let hosts: BTreeMap<u32, &str> = analysis
        .ranks
        .iter()
        .map(|rank| (rank.rank, rank.host.as_str()))
        .collect();
    let waited_in = instances.waited_in(timeline.bin_ns);
    let finding = finding(&part, error_ns(analysis));
    let mut map = WaitsOverTime::new(finding.into(), bin_ns, n_bins).after(part.n_before);
    for (at, rank) in timeline.ranks.iter().enumerate() {
        let host = hosts.get(&rank.rank).copied().unwrap_or_default();
        map.push(rank.rank, host.into(), |bin| TimeBin {
            leads_to: waited_in
                .get(&(rank.rank, (part.n_before + bin) as i64))
                .copied(),
            ..time_bin(rank, bin)
        });
        if let Some((n_parts, finer)) = &part.finer {
            let first = part.n_before * n_parts;
            map.push_finer(*n_parts, |bin| time_bin(&finer.ranks[at], first + bin));
        }
    }
    Some(map)
}

/// The stretch of the run that the picture shows.
struct Part<'a> {
    /// Its intervals.
    timeline: Cow<'a, Timeline>,
    /// How many come before them.
    n_before: usize,
    /// The shorter intervals of the whole run, and how many of them make one.
    finer: Option<(usize, &'a Timeline)>,
}

/// Most intervals.
const MAX_BINS: usize = 128;

impl<'a> Part<'a> {
    /// All of the run, or what `--from` and `--to` leave of it.
    fn of(analysis: &'a Analysis) -> Self {
        let (whole, fine) = (&analysis.timeline, &analysis.fine_timeline);
        let n_parts = usize::try_from(whole.bin_ns / fine.bin_ns.max(1)).unwrap_or(1);
        let finer =
            (n_parts > 1 && fine.ranks.len() == whole.ranks.len()).then_some((n_parts, fine));
        let of_run = Self {
            timeline: Cow::Borrowed(whole),
            n_before: 0,
            finer,
        };
        let ends = analysis.restriction.as_ref();
        let ends = ends.map_or((None, None), |part| (part.from_ns, part.to_ns));
        let (from_ns, to_ns) = match ends {
            (None, None) => return of_run,
            (from_ns, to_ns) => (from_ns.unwrap_or(0).max(0), to_ns.unwrap_or(i64::MAX)),
        };
        let bins_of = |timeline: &Timeline| {
            let bin_ns = timeline.bin_ns.max(1);
            let n = timeline.ranks.iter().map(|rank| rank.calls.len()).max();
            let n = n.unwrap_or(0);
            // An instance that begins there may end later.
            let is_met = |bin: usize| {
                let mut ranks = timeline.ranks.iter();
                ranks.any(|rank| rank.call_time_ns.get(bin).is_some_and(|ns| *ns > 0))
            };
            let last = (0..n).rev().find(|&bin| is_met(bin)).unwrap_or(0);
            let to = usize::try_from(to_ns / bin_ns)
                .unwrap_or(usize::MAX)
                .max(last);
            let first = (0..n).find(|&bin| is_met(bin)).unwrap_or(0);
            let from = usize::try_from(from_ns / bin_ns).unwrap_or(0).min(first);
            from..to.saturating_add(1).min(n)
        };
        let bins = bins_of(fine);
        if finer.is_some() && bins.len() <= MAX_BINS {
            return Self {
                timeline: Cow::Owned(cropped(fine, &bins)),
                n_before: bins.start,
                finer: None,
            };
        }
        let bins = bins_of(whole);
        Self {
            timeline: Cow::Owned(cropped(whole, &bins)),
            n_before: bins.start,
            finer,
        }
    }
}

/// Some intervals of all ranks.
fn cropped(timeline: &Timeline, bins: &Range<usize>) -> Timeline {
    fn within<T: Clone>(values: &[T], bins: &Range<usize>) -> Vec<T> {
        let end = bins.end.min(values.len());
        values[bins.start.min(end)..end].to_vec()
    }
    let ranks = timeline.ranks.iter().map(|rank| RankTimeline {
        rank: rank.rank,
        wait_ns: within(&rank.wait_ns, bins),
        call_time_ns: within(&rank.call_time_ns, bins),
        calls: within(&rank.calls, bins),
        waits_unknown: within(&rank.waits_unknown, bins),
    });
    Timeline {
        bin_ns: timeline.bin_ns,
        ranks: ranks.collect(),
    }
}

/// What a rank did in an interval; nothing where there is none.
fn time_bin(rank: &RankTimeline, bin: usize) -> TimeBin {
    TimeBin {
        wait_ns: match rank.wait_ns.get(bin) {
            Some(wait_ns) => wait_ns.map(|ns| ns.max(0).cast_unsigned()),
            None => Some(0),
        },
        call_ns: rank
            .call_time_ns
            .get(bin)
            .map_or(0, |ns| (*ns).max(0).cast_unsigned()),
        n_calls: rank.calls.get(bin).copied().unwrap_or(0),
        n_unknown: rank.waits_unknown.get(bin).copied().unwrap_or(0),
        leads_to: None,
    }
}

/// How wrong the total wait of a rank can be: the clocks are wrong by the same in every instance. ns.
fn error_ns(analysis: &Analysis) -> i128 {
    let errors = analysis.operations.iter().filter_map(|operation| {
        let duration = operation.duration_ns.as_ref()?;
        let each = i128::from(duration.uncertainty_ns?).abs();
        Some(i128::from(operation.instances) * each)
    });
    errors.sum()
}

/// How much ranks wait, when the most, and which ranks wait least and most, as a sentence. `error_ns`:
/// uncertainty of the total wait of a rank.
fn finding(part: &Part<'_>, error_ns: i128) -> String {
    let timeline = &part.timeline;
    let waits = || timeline.ranks.iter().flat_map(|rank| &rank.wait_ns);
    let call_ns = sum(timeline.ranks.iter().flat_map(|rank| &rank.call_time_ns));
    let wait_ns = sum(waits().flatten());
    let n_calls: u64 = timeline.ranks.iter().flat_map(|rank| &rank.calls).sum();
    let n_unknown: u64 = timeline
        .ranks
        .iter()
        .flat_map(|rank| &rank.waits_unknown)
        .sum();
    if n_calls == 0 {
        return "No rank called a collective".to_owned();
    }
    if n_unknown == n_calls {
        return "How long ranks wait is not known".to_owned();
    }
    let at_least = if n_unknown > 0 { "at least " } else { "" };
    if wait_ns == 0 && n_unknown == 0 {
        return "No rank waits".to_owned();
    }
    let mut sentence = format!(
        "Waiting is {at_least}{} of the time in collectives",
        quantity::percent(clipped(wait_ns), clipped(call_ns))
    );
    if let Some(when) = peak(timeline, part.n_before) {
        sentence += &format!(", {when}");
    }
    // The least of partly unknown waits would be a guess.
    let by_rank = || {
        let ranks = timeline.ranks.iter().filter(|_| n_unknown == 0);
        ranks.map(|rank| (sum(rank.wait_ns.iter().flatten()), rank.rank))
    };
    let most = by_rank().max_by_key(|&(wait, rank)| (wait, std::cmp::Reverse(rank)));
    if let (Some((least, least_rank)), Some((most, most_rank))) = (by_rank().min(), most)
        && least < most
    {
        if most - least <= error_ns {
            sentence += &format!(
                "; which rank waits the least is not resolved: from {} to {}, clock error ±{}",
                quantity::duration(clipped(least)),
                quantity::duration(clipped(most)),
                quantity::duration(clipped(error_ns))
            );
            return sentence;
        }
        sentence += &format!(
            "; rank {least_rank} waits the least ({}), rank {most_rank} the most ({})",
            quantity::duration(clipped(least)),
            quantity::duration(clipped(most))
        );
    }
    sentence
}

/// The part of the run in which ranks wait the most above the mean of the run, if they wait at
/// least twice as much there as in the rest of it.
fn peak(timeline: &Timeline, n_before: usize) -> Option<String> {
    let n_bins = timeline.ranks.iter().map(|rank| rank.wait_ns.len()).max()?;
    let column = |bin: usize| {
        let ranks = timeline.ranks.iter();
        let waits = ranks.filter_map(|rank| *rank.wait_ns.get(bin)?);
        waits.map(i128::from).sum::<i128>()
    };
    let columns: Vec<i128> = (0..n_bins).map(column).collect();
    let (from, to) = most_above_mean(&columns);
    let total: i128 = columns.iter().sum();
    let within: i128 = columns[from..to].iter().sum();
    let (n_within, n_rest) = ((to - from) as i128, (n_bins - (to - from)) as i128);
    let is_high = within * n_rest >= 2 * (total - within) * n_within;
    if n_bins < 8 || n_within == 0 || n_rest == 0 || !is_high {
        return None;
    }
    let time = |bin: usize| {
        let bins = (n_before + bin) as i64;
        quantity::duration(timeline.bin_ns.saturating_mul(bins))
    };
    // Share of the time of all ranks in the picture.
    let all = i128::from(timeline.bin_ns) * timeline.ranks.len() as i128 * n_within;
    let when = match (from, to == n_bins) {
        (0, _) => format!("until {}", time(to)),
        (_, true) => format!("from {} on", time(from)),
        (_, false) => format!("from {} to {}", time(from), time(to)),
    };
    // Where several threads of a rank are in collectives at the same time, that is no part of the time of ranks.
    let mut of_bins = timeline.ranks.iter().flat_map(|rank| &rank.call_time_ns);
    if of_bins.any(|&call_ns| call_ns > timeline.bin_ns) {
        return Some(format!("most of all {when}"));
    }
    let share = quantity::percent(clipped(within), clipped(all));
    Some(format!(
        "most of all {when} ({share} of the time of all ranks there)"
    ))
}

/// Begin and end of the part of a list with the largest sum of differences from the list's mean,
/// the first of equal ones.
fn most_above_mean(values: &[i128]) -> (usize, usize) {
    let (total, n) = (values.iter().sum::<i128>(), values.len() as i128);
    let (mut begin, mut sum) = (0, 0);
    let (mut best, mut best_sum) = ((0, 0), 0);
    for (idx, value) in values.iter().enumerate() {
        if sum <= 0 {
            (begin, sum) = (idx, 0);
        }
        sum += value * n - total;
        if sum > best_sum {
            (best, best_sum) = ((begin, idx + 1), sum);
        }
    }
    best
}

fn sum<'a>(ns: impl Iterator<Item = &'a i64>) -> i128 {
    ns.map(|ns| i128::from(*ns)).sum()
}

/// The nearest value that can be shown.
fn clipped(ns: i128) -> i64 {
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use collbench_analyzer::Selection;

    use super::*;
    use crate::words::nothing::nothing;

    fn timeline(waits: &[&[Option<i64>]]) -> Part<'static> {
        let ranks = waits.iter().zip(0..).map(|(waits, rank)| RankTimeline {
            rank,
            wait_ns: waits.to_vec(),
            call_time_ns: waits.iter().map(|wait| wait.unwrap_or(0) + 10).collect(),
            calls: vec![1; waits.len()],
            waits_unknown: waits.iter().map(|wait| u64::from(wait.is_none())).collect(),
        });
        let timeline = Timeline {
            bin_ns: 1_000,
            ranks: ranks.collect(),
        };
        Part {
            timeline: Cow::Owned(timeline),
            n_before: 0,
            finer: None,
        }
    }

    fn in_one(ranks: &[&[i64]], bin_ns: i64) -> Timeline {
        let ranks = (0..).zip(ranks).map(|(rank, calls)| RankTimeline {
            rank,
            wait_ns: calls.iter().map(|ns| Some(ns / 2)).collect(),
            call_time_ns: calls.to_vec(),
            calls: calls.iter().map(|ns| u64::from(*ns > 0)).collect(),
            waits_unknown: vec![0; calls.len()],
        });
        Timeline {
            bin_ns,
            ranks: ranks.collect(),
        }
    }

    #[test]
    fn a_part_of_the_run_is_shown_in_the_shorter_intervals_that_it_has() {
        let mut analysis = nothing();
        analysis.timeline = in_one(&[&[0, 60, 0]], 4_000);
        analysis.fine_timeline = in_one(&[&[0, 0, 0, 0, 0, 20, 40, 0, 0, 0, 0, 0]], 1_000);
        let whole = Part::of(&analysis);
        assert_eq!(
            (whole.n_before, whole.timeline.ranks[0].calls.len()),
            (0, 3)
        );
        assert_eq!(whole.finer.map(|(n_parts, _)| n_parts), Some(4));
        analysis.restriction = Some(Selection {
            from_ns: Some(4_500),
            to_ns: Some(6_100),
            ..Selection::default()
        });
        let part = Part::of(&analysis);
        assert_eq!(part.n_before, 4);
        assert_eq!(part.timeline.ranks[0].call_time_ns, [0, 20, 40]);
        assert_eq!(peak(&part.timeline, part.n_before), None);
    }

    #[test]
    fn the_finding_says_when_ranks_wait_the_most_and_who() {
        let mut late = [Some(0); 10];
        late[9] = Some(10);
        let mut waiting = [Some(10); 10];
        (waiting[4], waiting[5]) = (Some(900), Some(500));
        assert_eq!(
            finding(&timeline(&[&late, &waiting]), 0),
            "Waiting is 88 % of the time in collectives, most of all from 4.00 us to 6.00 us (35 % \
             of the time of all ranks there); rank 0 waits the least (10 ns), rank 1 the most (1.48 us)"
        );
    }

    #[test]
    fn ranks_whose_waits_differ_by_less_than_the_clock_error_are_not_named() {
        let waits = timeline(&[&[Some(0); 3], &[Some(10); 3]]);
        assert!(finding(&waits, 29).contains("; rank 0 waits the least (0 ns)"));
        let found = finding(&waits, 30);
        assert!(
            found.ends_with(
                "; which rank waits the least is not resolved: from 0 ns to 30 ns, clock error ±30 ns"
            ),
            "{found}"
        );
    }

    #[test]
    fn the_part_with_most_above_the_mean_bears_a_gap() {
        assert_eq!(most_above_mean(&[1, 9, 2, 9, 9, 1, 1, 3]), (1, 5));
        assert_eq!(most_above_mean(&[4, 4]), (0, 0));
        assert_eq!(most_above_mean(&[]), (0, 0));
    }

    #[test]
    fn an_even_run_has_no_peak() {
        let even = [Some(90); 10];
        assert_eq!(
            finding(&timeline(&[&even, &even]), 0),
            "Waiting is 90 % of the time in collectives"
        );
    }

    #[test]
    fn what_is_not_known_is_not_called_nothing() {
        assert_eq!(
            finding(&timeline(&[&[None; 9]]), 0),
            "How long ranks wait is not known"
        );
        assert_eq!(finding(&timeline(&[&[Some(0); 9]]), 0), "No rank waits");
        assert_eq!(finding(&timeline(&[]), 0), "No rank called a collective");
        let partly = [None, Some(10), Some(10), Some(10)];
        assert_eq!(
            finding(&timeline(&[&partly]), 0),
            "Waiting is at least 43 % of the time in collectives"
        );
    }
}
