//! Threads of a rank that are in collectives at the same time: no share is above the whole.

use collbench_formats::{Operation, ROOT_NONE};

use crate::built::{TestChunk, TestTrace, call, split};

const STEP_NS: u64 = 1_000_000;
const STEPS: u64 = 100;
const LATE_NS: u64 = 800_000;

/// Threads of two ranks, each of which calls on a communicator of its own in every step; all threads of rank 1 are
/// late for that.
fn trace(n_threads: u32) -> TestTrace {
    let mut trace = TestTrace::new(2);
    for (rank, process) in (0..).zip(&mut trace.processes) {
        process.chunks.clear();
        for thread in 0..n_threads {
            let index = 2 + thread;
            process.define(split(
                index,
                50 + u64::from(thread),
                &[0, 1],
                rank,
                u64::from(thread),
            ));
            let steps = 0..STEPS;
            let calls = steps.map(|step| {
                let late_ns = if rank == 1 { LATE_NS } else { 0 };
                let enter = STEP_NS * step + 100 + late_ns;
                let leave = STEP_NS * step + 100 + LATE_NS + 5_000;
                call(Operation::Allreduce, index, ROOT_NONE, 8, (enter, leave))
            });
            process.chunks.push(TestChunk {
                thread,
                records: calls.collect(),
                ..TestChunk::default()
            });
        }
    }
    trace
}

#[test]
fn shares_are_of_the_time_of_all_threads_and_a_run_is_shortened_once() {
    let [one, three] = [1, 3].map(|n| trace(n).analyze());
    assert_eq!(one.looked_at.time_ns, None);
    let of_threads_ns = three.looked_at.time_ns.unwrap() as f64;
    let of_ranks_ns = one.looked_at.rank_ns() as f64;
    assert!(
        (of_threads_ns / of_ranks_ns - 3.0).abs() < 0.02,
        "{of_threads_ns}"
    );
    for analysis in [&one, &three] {
        let cause = &analysis.causes[0];
        assert_eq!(cause.rank(), Some(1), "{:#?}", analysis.causes);
        // Rank 0 waits for most of the time, rank 1 does not.
        let share = cause.share.unwrap();
        assert!((share - 0.4).abs() < 0.02, "{share}");
        let shorter_ns = cause.run_shorter_ns.unwrap();
        let most_ns = (STEPS * LATE_NS) as i64;
        assert!(
            (most_ns * 9 / 10..=most_ns).contains(&shorter_ns),
            "{shorter_ns}"
        );
        let found = analysis.efficiencies.as_ref().unwrap();
        assert!((found.parallel - 0.6).abs() < 0.02, "{found:#?}");
    }
}
