//! Threads of processes as ranks.

use std::sync::Arc;

use collbench_paths::{InProcess, SimulatedCosts, ThreadTransport, Transport};

use crate::call::Call;
use crate::random::{Random, random_tree_on};
use crate::run::on_all;

/// All threads of processes on these hosts, in the order of ranks.
fn threads(hosts: &[u32], n_threads: u32) -> Vec<ThreadTransport<InProcess>> {
    let processes = InProcess::processes(hosts, SimulatedCosts::default());
    let of_process =
        |process: InProcess| ThreadTransport::of_process(n_threads, || process.clone());
    processes.into_iter().flat_map(of_process).collect()
}

#[test]
fn operations_over_trees_of_threads_give_what_they_are_by_definition() {
    for seed in 0..150 {
        let mut random = Random::new(seed + 70_000);
        let n_threads = 1 + random.below(3);
        let n_processes = 1 + random.below(4);
        if n_threads * n_processes < 2 {
            continue;
        }
        let n_hosts = 1 + random.below(n_processes);
        let hosts: Vec<u32> = (0..n_processes)
            .map(|_| random.below(n_hosts) as u32)
            .collect();
        let of_threads: Vec<u32> = hosts
            .iter()
            .flat_map(|&host| vec![host; n_threads])
            .collect();
        let n_ranks = of_threads.len();
        let tree = random_tree_on(&mut random, of_threads);
        let calls: Arc<[Call]> = (0..12)
            .map(|_| Call::random(&mut random, n_ranks))
            .collect();
        let executed = Arc::clone(&calls);
        let got = on_all(
            threads(&hosts, n_threads as u32),
            &tree,
            1000,
            move |team, me| -> Vec<Vec<u8>> {
                let calls = executed.iter();
                calls
                    .map(|call| call.got(team, n_ranks as u32, me))
                    .collect()
            },
        );
        for (me, got) in (0..).zip(got) {
            for (call, got) in calls.iter().zip(got) {
                if let Some(expected) = call.expected(&tree, me) {
                    assert_eq!(got, expected, "seed {seed}, rank {me}: {call:?}\n{tree:#?}");
                }
            }
        }
    }
}

#[test]
fn a_message_reaches_the_thread_that_it_is_for_and_says_which_one_has_sent_it() {
    let all = threads(&[0, 1], 3);
    let ranks: Vec<u32> = all.iter().map(Transport::rank).collect();
    assert_eq!(ranks, [0, 1, 2, 3, 4, 5]);
    // Two threads of a process send with one tag to two threads of another one.
    for (from, to) in [(1, 5), (0, 5), (0, 3)] {
        all[from].send(to, 4, &[from as u8, to as u8]).unwrap();
    }
    let mut bytes = [0; 2];
    assert_eq!(all[4].receive(None, 4, &mut bytes), Ok(None));
    assert_eq!(all[5].receive(Some(2), 4, &mut bytes), Ok(None));
    for (to, from) in [(5, Some(1)), (5, None), (3, None)] {
        let received = all[to].receive(from, 4, &mut bytes).unwrap().unwrap();
        let expected = [u8::from(from == Some(1)), to as u8];
        assert_eq!((received.from as u8, bytes), (expected[0], expected));
    }
}

#[test]
fn threads_of_a_process_and_of_others_on_its_host_share_memory_in_the_order_of_requests() {
    let all = threads(&[7, 8, 7], 2);
    let share = || -> Vec<_> { all.iter().map(|own| own.share(2).unwrap()).collect() };
    let (first, second) = (share(), share());
    for memories in [&first, &second] {
        let is_shared = |a: usize, b: usize| std::ptr::eq(&memories[a][1], &memories[b][1]);
        assert!(is_shared(0, 1) && is_shared(0, 4) && is_shared(0, 5) && is_shared(2, 3));
        assert!(!is_shared(0, 2));
    }
    assert!(!std::ptr::eq(&first[0][1], &second[0][1]));
}
