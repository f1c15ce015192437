//! What pictures are drawn from: timelines, curves, histograms and classes of built traces,
//! against the definitions written out over the calls.

use collbench_formats::Operation;
use collbench_report::to_text;
use proptest::prelude::*;

use crate::built::{TestTrace, call, only};

/// Calls of some ranks, one list for each instance: (enter, leave).
type Stamps = Vec<Vec<(u64, u64)>>;

fn instances() -> impl Strategy<Value = Stamps> {
    (2usize..6).prop_flat_map(|n_ranks| {
        let gaps = prop::collection::vec((0u64..40_000, 0u64..90_000), n_ranks);
        prop::collection::vec(gaps, 1..12).prop_map(move |gaps| {
            let mut now = vec![0; n_ranks];
            gaps.into_iter()
                .map(|gaps| {
                    let stamps: Vec<(u64, u64)> = gaps
                        .iter()
                        .zip(&now)
                        .map(|(&(gap, length), &now)| (now + gap, now + gap + length + 1))
                        .collect();
                    now = stamps.iter().map(|&(_, leave)| leave).collect();
                    stamps
                })
                .collect()
        })
    })
}

fn trace_of(stamps: &Stamps) -> TestTrace {
    let mut trace = TestTrace::new(stamps[0].len() as u32);
    for instance in stamps {
        trace.world(Operation::Allreduce, -1, 8, instance);
    }
    trace
}

/// What of `begin..end` lies in stretch `bin`.
fn overlap(begin: u64, end: u64, bin: usize, bin_ns: u64) -> i64 {
    let (from, to) = (bin as u64 * bin_ns, (bin as u64 + 1) * bin_ns);
    end.min(to) as i64 - begin.max(from).min(end.min(to)) as i64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_timeline_has_the_part_of_each_call_and_wait_that_lies_in_each_stretch(
        stamps in instances(),
    ) {
        let analysis = trace_of(&stamps).analyze();
        let end = stamps.iter().flatten().map(|&(_, leave)| leave).max().unwrap();
        let mut bin_ns = 1_000;
        while end / bin_ns >= 128 {
            bin_ns *= 2;
        }
        let timeline = &analysis.timeline;
        prop_assert_eq!(timeline.bin_ns as u64, bin_ns);
        prop_assert_eq!(timeline.ranks.len(), stamps[0].len());
        for (rank, line) in timeline.ranks.iter().enumerate() {
            prop_assert_eq!(line.calls.len() as u64, end / bin_ns + 1);
            prop_assert_eq!(line.rank as usize, rank);
            for bin in 0..line.calls.len() {
                let (mut calls, mut call_ns, mut wait_ns) = (0, 0, 0);
                for instance in &stamps {
                    let (enter, leave) = instance[rank];
                    let last = instance.iter().map(|&(enter, _)| enter).max().unwrap();
                    calls += u64::from(enter / bin_ns == bin as u64);
                    call_ns += overlap(enter, leave, bin, bin_ns);
                    wait_ns += overlap(enter, last.min(leave).max(enter), bin, bin_ns);
                }
                prop_assert_eq!(line.calls[bin], calls);
                prop_assert_eq!(line.call_time_ns[bin], call_ns);
                prop_assert_eq!(line.wait_ns[bin], Some(wait_ns));
                prop_assert_eq!(line.waits_unknown[bin], 0);
            }
        }
    }

    #[test]
    fn the_serialization_curve_is_the_mean_of_the_sorted_departures(stamps in instances()) {
        let analysis = trace_of(&stamps).analyze();
        let found = only(&analysis, "MPI_Allreduce").serialization.as_ref().unwrap();
        prop_assert_eq!(found.len(), stamps[0].len());
        for (position, point) in found.iter().enumerate() {
            let sum: i64 = stamps
                .iter()
                .map(|instance| {
                    let last = instance.iter().map(|&(enter, _)| enter).max().unwrap();
                    let mut leaves: Vec<u64> = instance.iter().map(|&(_, leave)| leave).collect();
                    leaves.sort_unstable();
                    leaves[position] as i64 - last as i64
                })
                .sum();
            prop_assert_eq!((point.position, point.n), (position, stamps.len() as u64));
            prop_assert_eq!(point.mean_ns, sum / stamps.len() as i64);
        }
    }

    #[test]
    fn the_histogram_counts_each_instance_where_its_duration_lies(stamps in instances()) {
        let analysis = trace_of(&stamps).analyze();
        let durations: Vec<i64> = stamps
            .iter()
            .map(|instance| {
                let first = instance.iter().map(|&(enter, _)| enter).min().unwrap();
                let last = instance.iter().map(|&(_, leave)| leave).max().unwrap();
                (last - first) as i64
            })
            .collect();
        let buckets = &only(&analysis, "MPI_Allreduce").duration_histogram;
        for pair in buckets.windows(2) {
            prop_assert_eq!(pair[0].to_ns, pair[1].from_ns);
        }
        for bucket in buckets {
            let inside = |ns: &&i64| (bucket.from_ns..bucket.to_ns).contains(*ns);
            prop_assert_eq!(bucket.n, durations.iter().filter(inside).count() as u64);
        }
        prop_assert_eq!(buckets.iter().map(|b| b.n).sum::<u64>(), stamps.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn sections_have_the_instances_whose_last_enter_lies_in_them(stamps in instances()) {
        let stamps: Stamps = stamps.iter().cycle().take(40).enumerate().map(|(n, instance)| {
            let later = n as u64 / stamps.len() as u64 * 2_000_000;
            instance.iter().map(|&(enter, leave)| (enter + later, leave + later)).collect()
        }).collect();
        let analysis = trace_of(&stamps).analyze();
        let end = stamps.iter().flatten().map(|&(_, leave)| leave).max().unwrap();
        let mut section_ns = 1_000;
        while end / section_ns >= 32 {
            section_ns *= 2;
        }
        let operation = only(&analysis, "MPI_Allreduce");
        let sections = operation.sections.as_ref().unwrap();
        let verdict = &analysis.imbalance[0];
        prop_assert_eq!(sections.len(), verdict.sections.len());
        for (section, lateness) in sections.iter().zip(&verdict.sections) {
            prop_assert_eq!(section.to_ns - section.from_ns, section_ns as i64);
            prop_assert_eq!((section.from_ns, section.instances), (lateness.from_ns, lateness.instances));
            let last = |instance: &Vec<(u64, u64)>| instance.iter().map(|s| s.0).max().unwrap();
            let inside = |instance: &&Vec<(u64, u64)>| {
                (section.from_ns..section.to_ns).contains(&(last(instance) as i64))
            };
            let inside: Vec<&Vec<(u64, u64)>> = stamps.iter().filter(inside).collect();
            prop_assert_eq!(section.instances, inside.len() as u64);
            prop_assert_eq!(section.calls, (inside.len() * stamps[0].len()) as u64);
            let time = inside.iter().flat_map(|i| i.iter()).map(|s| (s.1 - s.0) as i64).sum::<i64>();
            prop_assert_eq!(section.call_time_ns, time);
            let wait = |i: &&Vec<(u64, u64)>| {
                i.iter().map(|s| (last(i).min(s.1) - s.0) as i64).sum::<i64>()
            };
            prop_assert_eq!(section.wait_ns, Some(inside.iter().map(wait).sum()));
            // How often each rank was more than the granularity of 1 ns later than all others.
            let n_ranks = stamps[0].len();
            let came_last = |rank: &usize| {
                let is_last = |i: &&&Vec<(u64, u64)>| {
                    let others = (0..n_ranks).filter(|other| other != rank);
                    others.map(|other| i[other].0).max().unwrap() + 1 < i[*rank].0
                };
                inside.iter().filter(is_last).count() as u64
            };
            let counts: Vec<u64> = (0..n_ranks).map(|rank| came_last(&rank)).collect();
            prop_assert_eq!(lateness.resolved, counts.iter().sum::<u64>());
            prop_assert_eq!(lateness.last, *counts.iter().max().unwrap());
            if let Some(rank) = lateness.rank {
                prop_assert_eq!(counts[rank as usize], lateness.last);
            }
        }
        prop_assert_eq!(sections.iter().map(|s| s.instances).sum::<u64>(), 40);
    }
}

#[test]
fn an_instance_that_took_much_longer_than_the_others_sticks_out() {
    let mut trace = TestTrace::new(3);
    for n in 0..50u64 {
        let at = 100_000 * n;
        let late = if n == 30 { 20_000 } else { n * 37 % 100 };
        let stamps = [
            (at, at + late + 300),
            (at + late, at + late + 250),
            (at + 10, at + late + 310),
        ];
        trace.barrier(&stamps);
    }
    let analysis = trace.analyze();
    let outliers = &only(&analysis, "MPI_Barrier").outliers;
    assert_eq!(outliers.len(), 1);
    assert_eq!(
        (outliers[0].sequence, outliers[0].duration_ns),
        (30, 20_310)
    );
    assert_eq!(
        (outliers[0].at_ns, outliers[0].last_rank),
        (3_020_000, Some(1))
    );
    assert_eq!(outliers[0].excess_ns, Some(19_990));
}

#[test]
fn of_an_instance_that_sticks_out_it_is_told_who_came_late_together() {
    // By how much each of four ranks comes late to one of fifty barriers, and how long that one takes
    // behind the last.
    let told = |late: [u64; 4], inside: u64| {
        let mut trace = TestTrace::new(4);
        for n in 0..50u64 {
            let at = 1_000_000 * n;
            let (late, inside) = match n {
                30 => (late, inside),
                _ => ([0, 10, 20, n * 37 % 100], 300),
            };
            let leave = at + late.iter().max().unwrap() + inside;
            let stamps = late.map(|late| (at + late, leave));
            trace.barrier(&stamps);
        }
        let analysis = trace.analyze();
        let [outlier] = &only(&analysis, "MPI_Barrier").outliers[..] else {
            panic!("{:?}", only(&analysis, "MPI_Barrier").outliers);
        };
        let text = to_text(&analysis, None).replace("\n   ", "");
        let (_, rest) = text.split_once("(call 30) took").expect("it is told");
        let words = rest.lines().next().unwrap().split_once(": ").unwrap().1;
        (
            outlier.late_ranks.clone(),
            outlier.late_by_ns,
            words.to_owned(),
        )
    };
    let (ranks, by_ns, words) = told([90_000, 90_020, 5, 0], 300);
    assert_eq!((&ranks[..], by_ns), (&[0, 1][..], Some(89_995)));
    assert_eq!(
        words,
        "ranks 0-1 arrived last together, 90.0 us after the others"
    );
    let (ranks, _, words) = told([3, 0, 80_000, 9], 300);
    assert_eq!(ranks, [2]);
    assert_eq!(words, "rank 2 arrived last, 80.0 us after the others");
    let (ranks, _, words) = told([70_000, 70_010, 70_020, 0], 300);
    assert_eq!(ranks, [0, 1, 2]);
    assert_eq!(words, "ranks 0-2 arrived 70.0 us after the first");
    let (_, _, words) = told([0, 30_000, 60_000, 90_000], 300);
    assert_eq!(
        words,
        "its ranks arrived one by one, the last 90.0 us after the first"
    );
    let (_, _, words) = told([0, 10, 20, 30], 90_000);
    assert_eq!(
        words,
        "no rank was late; the time was spent in the operation itself"
    );
}

#[test]
fn waits_that_are_not_known_are_not_drawn_as_none() {
    let mut trace = TestTrace::new(3);
    trace.processes[2].on_host("n02");
    trace.world(Operation::Bcast, 0, 8, &[(50, 60), (20, 70), (5, 90)]);
    // Of a call under way neither wait nor length is known.
    trace.processes[0].call(call(Operation::Barrier, 0, -1, 0, (5_000, 0)));
    trace.processes[0].is_finalized = false;
    let analysis = trace.analyze();
    let line = |rank: usize| &analysis.timeline.ranks[rank];
    assert_eq!(
        (line(1).wait_ns[0], line(1).waits_unknown[0]),
        (Some(30), 0)
    );
    assert_eq!((line(2).wait_ns[0], line(2).waits_unknown[0]), (None, 1));
    assert_eq!((line(0).calls[5], line(0).call_time_ns[5]), (1, 0));
    assert_eq!((line(0).wait_ns[5], line(1).wait_ns[5]), (None, Some(0)));
}

#[test]
fn operations_without_a_core_have_no_serialization_curve() {
    let mut trace = TestTrace::new(2);
    trace.world(Operation::Bcast, 0, 8, &[(50, 60), (20, 70)]);
    let analysis = trace.analyze();
    assert_eq!(*only(&analysis, "MPI_Bcast").serialization, None);
}

#[test]
fn a_late_rank_is_a_class_of_its_own_and_the_others_are_one() {
    let mut trace = TestTrace::new(6);
    for n in 0..60u64 {
        let at = 20_000 * n;
        let jitter = |rank: u64| (n * 7919 + rank * 104_729) % 97;
        let stamps: Vec<(u64, u64)> = (0..6)
            .map(|rank| {
                (
                    at + jitter(rank) + if rank == 3 { 2_000 } else { 0 },
                    at + 2_500,
                )
            })
            .collect();
        trace.barrier(&stamps);
    }
    let analysis = trace.analyze();
    let classes = &analysis.classes;
    let names: Vec<&str> = classes.iter().map(|class| &*class.name).collect();
    assert_eq!(names, ["ranks 0-2, 4-5", "rank 3"]);
    assert_eq!(
        (&classes[0].ranks[..], &classes[1].ranks[..]),
        (&[0, 1, 2, 4, 5][..], &[3][..])
    );
    assert_eq!(
        (classes[1].mean_wait_ns, classes[1].mean_lag_ns),
        (Some(0), Some(0))
    );
    assert!(classes[0].mean_lag_ns.unwrap() > 1_900 && classes[0].calls == 300);

    let mut trace = TestTrace::new(6);
    for n in 0..60u64 {
        let jitter = |rank: u64| (n * 7919 + rank * 104_729) % 97;
        let stamps: Vec<(u64, u64)> = (0..6)
            .map(|rank| (9_000 * n + jitter(rank), 9_000 * n + 300))
            .collect();
        trace.barrier(&stamps);
    }
    let analysis = trace.analyze();
    assert_eq!(analysis.classes.len(), 1);
    assert_eq!(analysis.classes[0].name, "ranks 0-5");
}
