//! What counts as own work of a rank, and what makes two ranks differ.

use collbench_analyzer::Analysis;
use collbench_analyzer::results::{CauseKind, CausePlace, CostOf, FoundCause, LateBy};
use collbench_formats::{Activity, GapTime, Operation, ROOT_NONE, Record, Running};
use collbench_stats::random::Random;

use crate::built::{START, TestTrace, call};
use crate::seeds::SEEDS;

/// The costliest cause.
fn first(analysis: &Analysis) -> &FoundCause {
    &analysis.causes[0]
}

#[test]
fn time_in_calls_that_are_no_complete_instance_is_not_own_work() {
    let mut trace = TestTrace::new(4);
    for n in 0..50 {
        let at = 10_000_000 * n;
        for (rank, process) in (0..).zip(&mut trace.processes) {
            // With two roots, of which one waits for nobody knows what.
            let (root, inside_ns) = if rank == 1 {
                (1, 3_000_000)
            } else {
                (0, 1_000)
            };
            let stamps = (at + 1_000, at + 1_000 + inside_ns);
            process.call(call(Operation::Bcast, 0, root, 8, stamps));
            let stamps = (at + 2_000 + inside_ns, at + 3_010_000);
            process.call(call(Operation::Allreduce, 0, ROOT_NONE, 8, stamps));
        }
    }
    let analysis = trace.analyze();
    let cause = first(&analysis);
    assert_eq!(cause.kind, CauseKind::Algorithm, "{:#?}", analysis.causes);
    assert_eq!(cause.cost_ns, 49 * 3 * 2_999_000, "{:#?}", analysis.causes);
    let operation = &analysis.operations[cause.operation.unwrap()];
    assert_eq!(operation.operation, "MPI_Bcast");
    let mut causes = analysis.causes.iter();
    assert!(causes.all(|cause| cause.kind != CauseKind::LateRank));
}

/// Broadcasts of a root that sends to rank 2 last, which has received all but twenty of those before by then.
fn broadcasts(seed: u64, is_slow: bool) -> Analysis {
    const AHEAD: usize = 20;
    let random = &mut Random::from_state(seed);
    let mut trace = TestTrace::new(4);
    for process in &mut trace.processes {
        process.with_point_to_point();
    }
    let mut at = [1_000_000; 4];
    let mut received: Vec<u64> = Vec::new();
    for n in 0_usize..200 {
        let works = |rank| {
            let more_ns = if is_slow && rank == 2 { 1_500_000 } else { 0 };
            random.uniform(1_950_000, 2_050_000) + more_ns
        };
        let works = [0, 1, 2, 3].map(works);
        let enters = [0, 1, 2, 3].map(|rank| at[rank] + works[rank]);
        let is_received_ns = n.checked_sub(AHEAD).map_or(0, |of| received[of]);
        let sent_ns = enters[0].max(is_received_ns) + 1_000;
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            // The others go on meanwhile, and wait in the next one.
            let comes_ns = if rank % 2 == 0 { sent_ns } else { enters[0] };
            at[rank] = enters[rank].max(comes_ns) + 1_000;
            let stamps = (enters[rank], at[rank]);
            process.call(call(Operation::Bcast, 0, 0, 8, stamps));
        }
        received.push(at[2]);
    }
    trace.analyze()
}

#[test]
fn who_receives_late_so_that_the_root_of_broadcasts_cannot_go_on_is_named() {
    for seed in 0..SEEDS {
        let analysis = broadcasts(seed, true);
        let cause = first(&analysis);
        let place = Some(CausePlace::Rank(2));
        assert_eq!(cause.place, place, "seed {seed}: {:#?}", analysis.causes);
        assert!(cause.share.unwrap() > 0.1, "seed {seed}: {cause:#?}");
        let analysis = broadcasts(seed, false);
        let mut named = analysis.causes.iter().filter(|cause| cause.matters);
        let named = named.find(|cause| cause.rank().is_some());
        assert_eq!(named, None, "seed {seed}");
    }
}

/// Two ranks that each work for some 10 ms, of which one loses its core three times: recorded or not.
fn preempted(seed: u64, is_recorded: bool) -> Analysis {
    let off_core_ns = |n: u64| if n % 4 == 2 { 12_000_000 } else { 0 };
    disturbed(seed, is_recorded, |n| [0, off_core_ns(n)])
}

/// Two ranks that each work for some 10 ms, of which one works for longer and is off its core: by so much before each call, ns.
fn disturbed(seed: u64, is_recorded: bool, more_ns: impl Fn(u64) -> [u64; 2]) -> Analysis {
    let random = &mut Random::from_state(seed);
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.with_switches();
    }
    if !is_recorded {
        trace = TestTrace::new(2);
    }
    let mut at = 1_000_000;
    for n in 0..12 {
        let [longer_ns, off_core_ns] = more_ns(n);
        let off_core_ns = [0, off_core_ns];
        let usual_ns = [0, 1].map(|_| random.uniform(8_000_000, 12_000_000));
        let on_core_ns = [usual_ns[0], usual_ns[1] + longer_ns];
        let enters = [0, 1].map(|rank| at + on_core_ns[rank] + off_core_ns[rank]);
        let end = enters[0].max(enters[1]) + 10_000;
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            let stamps = (enters[rank], end);
            process.call(call(Operation::Allreduce, 0, ROOT_NONE, 8, stamps));
            if is_recorded {
                let before = Running {
                    elapsed_ticks: enters[rank] - at,
                    on_core_us: (on_core_ns[rank] / 1_000) as u32,
                    n_blocked: 0,
                    n_preempted: if off_core_ns[rank] > 0 { 2 } else { 0 },
                };
                process.call(Record::of_words(
                    before.words(),
                    START + enters[rank] - 1,
                    0,
                ));
            }
        }
        at = end;
    }
    trace.analyze()
}

#[test]
fn of_two_ranks_the_one_that_is_preempted_is_named_where_that_was_recorded() {
    for seed in 0..20 {
        let analysis = preempted(seed, true);
        let cause = first(&analysis);
        let found = (cause.kind, cause.place.clone(), cause.by);
        let expected = (
            CauseKind::LateRank,
            Some(CausePlace::Rank(1)),
            Some(LateBy::Preempted),
        );
        assert_eq!(found, expected, "seed {seed}: {:#?}", analysis.causes);
        // Three events among twelve may be chance.
        let unknown = preempted(seed, false);
        let named = unknown
            .causes
            .iter()
            .find(|cause| cause.kind == CauseKind::LateRank);
        assert_eq!(named, None, "seed {seed}");
    }
}

#[test]
fn who_works_longer_is_not_preempted_because_that_takes_longer_on_a_shared_core() {
    for seed in 0..20 {
        for (longer_ns, off_core_ns, by) in [
            (9_000_000, 5_000_000, LateBy::Computing),
            (3_000_000, 11_000_000, LateBy::Preempted),
        ] {
            let analysis = disturbed(seed, true, |_| [longer_ns, off_core_ns]);
            let cause = first(&analysis);
            let found = (cause.place.clone(), cause.by);
            let expected = (Some(CausePlace::Rank(1)), Some(by));
            assert_eq!(found, expected, "seed {seed}: {:#?}", analysis.causes);
        }
    }
}

/// Two ranks, of which one works longer, by so much on its core and off it, ns: the other one waits for it in point-to-point
/// communication most of that time, on its own core or off it, and then in a collective.
fn waited_for_in_messages([longer_ns, off_core_ns]: [u64; 2], is_polling: bool) -> Analysis {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        process.with_switches().with_point_to_point();
    }
    let mut at = 1_000_000;
    for n in 0..40 {
        let usual_ns = 2_000_000 + 1_000 * (n % 7);
        let more_ns = longer_ns + off_core_ns;
        let messages_ns = [more_ns / 10 * 9, 0];
        let enters = [at + usual_ns + messages_ns[0], at + usual_ns + more_ns];
        let polling_ns = if is_polling { messages_ns[0] } else { 0 };
        let on_core_ns = [usual_ns + polling_ns, usual_ns + longer_ns];
        let end = enters[1] + 10_000;
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            let before = Running {
                elapsed_ticks: enters[rank] - at,
                on_core_us: (on_core_ns[rank] / 1_000) as u32,
                n_blocked: 1,
                // Who polls gives up its core as often as another one loses it.
                n_preempted: 20,
            };
            let messages = GapTime {
                activity: Activity::PointToPoint,
                ticks: messages_ns[rank],
                n_calls: 1,
                longest_ticks: messages_ns[rank],
                partner: 1,
            };
            if messages.ticks > 0 {
                let noted = START + enters[rank] - 2;
                process.call(Record::of_words(messages.words(), noted, 0));
            }
            let stamps = (enters[rank], end);
            process.call(call(Operation::Allreduce, 0, ROOT_NONE, 8, stamps));
            let sampled = START + enters[rank] - 1;
            process.call(Record::of_words(before.words(), sampled, 0));
        }
        at = end;
    }
    trace.analyze()
}

#[test]
fn who_is_waited_for_in_messages_and_in_collectives_is_late_for_one_reason() {
    for is_polling in [false, true] {
        for (more_ns, by) in [
            ([1_000_000, 9_000_000], LateBy::Preempted),
            ([9_000_000, 1_000_000], LateBy::Computing),
        ] {
            let analysis = waited_for_in_messages(more_ns, is_polling);
            let of = [CostOf::Waiting, CostOf::PointToPoint].map(|of| {
                let mut causes = analysis.causes.iter();
                let cause = causes.find(|cause| cause.rank() == Some(1) && cause.of == of);
                cause.and_then(|cause| cause.by)
            });
            assert_eq!(of, [Some(by); 2], "{is_polling} {:#?}", analysis.causes);
        }
    }
}
