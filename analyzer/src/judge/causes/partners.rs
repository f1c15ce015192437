//! For whom ranks wait in point-to-point communication, by what all of them did in the whole run.
//!
//! A rank that works more than the others makes those wait that expect its messages, and these make others wait. So the
//! others spend as much more time in point-to-point communication as it works longer, whoever their partners are. Where
//! the partner of the longest calls is known, it is followed from rank to rank: to one that hardly waits itself.

use collbench_formats::Layer;

use crate::judge::causes::groups::{Group, group_above};
use crate::judge::inputs::Inputs;
use crate::selection::Selection;

/// Part of the time of a process in point-to-point communication that it is with one partner from which on that one is
/// followed: one in so many.
const MOSTLY: i64 = 2;
/// Part of what those waited that lead to it from which on a process waits itself: one in so many.
const HARDLY: i64 = 10;
/// Part of the time of all ranks from which on a cost matters: one in so many.
const MATTERS: i128 = 100;

/// What a process did in the whole run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Whole {
    /// Time outside of MPI between `MPI_Init` and `MPI_Finalize`, ns.
    pub(crate) own_ns: i64,
    /// Time in point-to-point communication, ns.
    pub(crate) with_partners_ns: i64,
    /// Time that it waited in collectives, ns.
    pub(crate) waited_ns: i64,
    /// The process with which most of its time in point-to-point communication is, if it is as much as is followed.
    pub(crate) partner: Option<usize>,
}

/// What each process did in the whole run; `None` where that is not known of all.
pub(crate) fn whole(inputs: &Inputs<'_>, duration_ns: i64) -> Option<Vec<Whole>> {
    let is_whole = *inputs.selection == Selection::default() && !inputs.run.has_lost_begin();
    if !is_whole || inputs.run.is_incomplete() {
        return None;
    }
    let ranks: Vec<u32> = (inputs.run.processes.iter())
        .map(|process| process.rank())
        .collect();
    let processes = (inputs.run.processes.iter()).zip(&inputs.findings.processes);
    let all = processes.zip(&inputs.sums.processes);
    all.map(|((file, found), tally)| {
        let begun_ns = found.begun_ns?;
        if !file.has_layer(Layer::PointToPoint) {
            return None;
        }
        let besides = &found.besides;
        let with_partners_ns = besides.point_to_point_ns;
        let in_calls_ns = (tally.call_ns)
            .saturating_add(with_partners_ns)
            .saturating_add(besides.unrecorded_ns);
        let ended_ns = found.finalize.map_or(duration_ns, |[begin, _]| begin.ns());
        let span_ns = ended_ns.saturating_sub(begun_ns);
        let most = found.partners.known.iter().rev().max_by_key(|&(_, ns)| *ns);
        let main = most.filter(|&(_, &ns)| ns > with_partners_ns / MOSTLY);
        Some(Whole {
            own_ns: span_ns.saturating_sub(in_calls_ns).max(0),
            with_partners_ns,
            waited_ns: tally.wait_ns.unwrap_or(0),
            partner: main.and_then(|(rank, _)| ranks.iter().position(|of| of == rank)),
        })
    })
    .collect()
}

/// How long processes usually do something, the lower median, ns.
pub(crate) fn usual_ns(all: &[Whole], time: fn(&Whole) -> i64) -> i64 {
    let mut times: Vec<i64> = all.iter().map(time).collect();
    times.sort_unstable();
    let middle = times.len().saturating_sub(1) / 2;
    times.get(middle).copied().unwrap_or(0)
}

/// How long processes usually work, ns.
pub(crate) fn usual_own_ns(all: &[Whole]) -> i64 {
    usual_ns(all, |of| of.own_ns)
}

/// Where the chain of partners from a process on ends that waits for `partner`: at the first one that hardly waits itself,
/// compared with `waited_ns`, or works longer than usual by most of that. `None` where there is none: partners are not known, or wait for each other (the partner of a
/// call that sends and receives is the one it receives from, which may not be the one that it waits for).
pub(crate) fn origin(
    all: &[Whole],
    process: usize,
    partner: usize,
    waited_ns: i64,
    usual_own_ns: i64,
) -> Option<usize> {
    let mut seen = vec![process];
    let mut at = partner;
    while !seen.contains(&at) {
        seen.push(at);
        let longer_ns = all[at].own_ns.saturating_sub(usual_own_ns);
        if all[at].with_partners_ns <= waited_ns / HARDLY || longer_ns > waited_ns / MOSTLY {
            return Some(at);
        }
        at = all[at].partner?;
    }
    None
}

/// Processes that work longer than the others, which wait for them in point-to-point communication.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WaitedFor {
    pub(crate) processes: Vec<usize>,
    /// By how much longer, ns.
    pub(crate) longer_ns: i64,
    /// How long the others waited for that, ns, all together.
    pub(crate) cost_ns: i64,
    /// The longest that one of them waited, ns.
    pub(crate) longest_ns: i64,
    /// Whether the partners say so, too.
    pub(crate) is_sure: bool,
}

/// Who is waited for in point-to-point communication. `rank_ns`: the time of all processes, ns.
pub(crate) fn waited_for(all: &[Whole], rank_ns: i128) -> Option<WaitedFor> {
    let own: Vec<f64> = all.iter().map(|of| of.own_ns as f64).collect();
    let Group { members, more } = group_above(&own, all.len() / 2)?;
    let longer_ns = more as i64;
    let is_member = |at: &usize| members.contains(at);
    let mean_ns = |of: &mut dyn Iterator<Item = usize>, time: fn(&Whole) -> i64| {
        let (n, sum) = of.fold((0_i64, 0_i128), |(n, sum), at| {
            (n + 1, sum + i128::from(time(&all[at])))
        });
        (sum / i128::from(n.max(1))) as i64
    };
    let in_all = |of: &Whole| of.with_partners_ns.saturating_add(of.waited_ns);
    let usual_ns = mean_ns(&mut members.iter().copied(), |of| of.with_partners_ns);
    let others = || (0..all.len()).filter(|at| !is_member(at));
    // They wait for as much as the members work longer; the rest may be in collectives.
    let waited = |at: usize| {
        all[at]
            .with_partners_ns
            .saturating_sub(usual_ns)
            .clamp(0, longer_ns)
    };
    // Who waits for one of them may be waited for in collectives itself.
    let usual_in_all_ns = mean_ns(&mut members.iter().copied(), in_all);
    let more_ns = mean_ns(&mut others(), in_all).saturating_sub(usual_in_all_ns);
    let longest_ns = others().map(waited).max().unwrap_or(0);
    if more_ns.min(longest_ns) < longer_ns / MOSTLY {
        return None;
    }
    let cost: i128 = others().map(|at| i128::from(waited(at))).sum();
    if cost * MATTERS < rank_ns || cost <= 0 {
        return None;
    }
    // Where partners are known, they lead there.
    let usual_own_ns = usual_own_ns(all);
    let (mut there_ns, mut elsewhere_ns) = (0_i128, 0_i128);
    for at in others() {
        if let Some(partner) = all[at].partner {
            let ns = waited(at);
            match origin(all, at, partner, ns, usual_own_ns) {
                Some(end) if is_member(&end) => there_ns += i128::from(ns),
                Some(_) => elsewhere_ns += i128::from(ns),
                None => {}
            }
        }
    }
    (there_ns >= elsewhere_ns).then_some(WaitedFor {
        processes: members,
        longer_ns,
        cost_ns: i64::try_from(cost).unwrap_or(i64::MAX),
        longest_ns,
        is_sure: 2 * there_ns > cost,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(own_ns: i64, with_partners_ns: i64, partner: Option<usize>) -> Whole {
        Whole {
            own_ns,
            with_partners_ns,
            waited_ns: 0,
            partner,
        }
    }

    #[test]
    fn who_waits_for_one_of_several_that_work_longer_is_waited_for_itself() {
        // Two halves, of which only the first ranks exchange messages.
        let halves: Vec<Whole> = (0..8)
            .map(|at| match at {
                0..=3 => whole(600 + at, 2, None),
                4 => whole(100, 500, Some(0)),
                _ => Whole {
                    waited_ns: 500 - at,
                    ..whole(100, 0, None)
                },
            })
            .collect();
        let found = waited_for(&halves, 8 * 600).unwrap();
        assert_eq!(found.processes, [0, 1, 2, 3]);
        assert_eq!(found.cost_ns, 498);
        assert!(found.is_sure);
        // Nobody waits in point-to-point communication.
        let waits = |of: &Whole| Whole {
            with_partners_ns: 0,
            waited_ns: of.with_partners_ns + of.waited_ns,
            ..*of
        };
        let in_collectives: Vec<Whole> = halves.iter().map(waits).collect();
        assert_eq!(waited_for(&in_collectives, 8 * 600), None);
    }

    #[test]
    fn partners_are_followed_to_one_that_waits_for_nobody() {
        let chain: Vec<Whole> = (0..6)
            .map(|at: i64| match at {
                0 => whole(1000, 0, None),
                _ => whole(100, 900 - at, Some(at as usize - 1)),
            })
            .collect();
        assert_eq!(origin(&chain, 5, 4, 895, 100), Some(0));
        // A chain that takes longer from rank to rank is followed to its begin.
        let longer: Vec<Whole> = (0..8_i64)
            .map(|at| whole(100, 300 * at, usize::try_from(at - 1).ok()))
            .collect();
        assert_eq!(origin(&longer, 7, 6, 2100, 100), Some(0));
        // One that works longer is its origin, though it waits itself.
        let slow = [(50, 0), (450, 60), (50, 500), (50, 550)];
        let slow: Vec<Whole> = (0..)
            .zip(slow)
            .map(|(at, (own, with))| whole(own, with, usize::checked_sub(at, 1)))
            .collect();
        assert_eq!(origin(&slow, 3, 2, 550, usual_own_ns(&slow)), Some(1));
        // Two that wait for each other are no origin of a third.
        let pair = [
            whole(1, 900, Some(1)),
            whole(1, 900, Some(0)),
            whole(1, 900, Some(0)),
        ];
        assert_eq!(origin(&pair, 2, 0, 900, 1), None);
        let found = waited_for(&chain, 6000).unwrap();
        assert_eq!((found.processes, found.longer_ns), (vec![0], 900));
        assert!(found.is_sure && found.longest_ns <= 900);
    }

    #[test]
    fn a_slow_rank_of_a_halo_exchange_is_waited_for_by_all() {
        let halo: Vec<Whole> = (0..8_i64)
            .map(|at| match at {
                3 => whole(960, 12, Some(2)),
                _ => whole(
                    600 + at,
                    320 - 5 * (at - 3).abs(),
                    Some((at + (3 - at).signum()) as usize),
                ),
            })
            .collect();
        let found = waited_for(&halo, 8 * 1100).unwrap();
        assert_eq!(found.processes, [3]);
        assert!((300..=360).contains(&found.longest_ns), "{found:?}");
        // With partners that are not known it is likely.
        let unknown: Vec<Whole> = halo
            .iter()
            .map(|of| Whole {
                partner: None,
                ..*of
            })
            .collect();
        assert!(!waited_for(&unknown, 8 * 1100).unwrap().is_sure);
    }

    #[test]
    fn nobody_is_waited_for_where_all_work_alike_or_nobody_waits() {
        let alike: Vec<Whole> = (0..8).map(|at| whole(600 + at % 3, 300, None)).collect();
        assert_eq!(waited_for(&alike, 8 * 1000), None);
        let lone: Vec<Whole> = (0..8)
            .map(|at| whole(600 + 300 * i64::from(at == 2), 5, None))
            .collect();
        assert_eq!(waited_for(&lone, 8 * 1000), None);
        // They wait for another.
        let other: Vec<Whole> = (0..8)
            .map(|at| match at {
                2 => whole(900, 0, None),
                5 => whole(600, 0, None),
                _ => whole(600, 300, Some(5)),
            })
            .collect();
        assert_eq!(waited_for(&other, 8 * 1000), None);
    }
}
