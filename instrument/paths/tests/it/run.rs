//! Running one closure per rank, each in a thread.

use std::sync::mpsc;
use std::time::Duration;

use collbench_formats::tree::Wrappers;
use collbench_paths::{Idle, InProcess, SimulatedCosts, Team, TeamOptions, Transport, WaitPolicy};

/// Longer than any test takes on any machine: a process that has not ended then never will.
const FOREVER: Duration = Duration::from_secs(600);

/// What each rank returns, in the order of ranks.
///
/// # Panics
/// If a rank panics, or waits forever.
pub(crate) fn on_all_ranks<R: Send + 'static>(
    tree: &Wrappers,
    segment_bytes: usize,
    costs: SimulatedCosts,
    rank: impl Fn(&mut Team<InProcess>, u32) -> R + Clone + Send + 'static,
) -> Vec<R> {
    let processes = InProcess::processes(tree.hosts(), costs);
    on_all(processes, tree, segment_bytes, rank)
}

/// What each rank returns, in the order of ranks: those of `transports`.
///
/// # Panics
/// If a rank panics, or waits forever.
pub(crate) fn on_all<T: Transport + Send + 'static, R: Send + 'static>(
    transports: Vec<T>,
    tree: &Wrappers,
    segment_bytes: usize,
    rank: impl Fn(&mut Team<T>, u32) -> R + Clone + Send + 'static,
) -> Vec<R> {
    let options = TeamOptions {
        segment_bytes,
        first_tag: 7,
        ..TeamOptions::new(WaitPolicy::new(Idle::Yield))
    };
    on_all_with(transports, tree, options, rank)
}

/// As [`on_all`], with these options.
pub(crate) fn on_all_with<T: Transport + Send + 'static, R: Send + 'static>(
    transports: Vec<T>,
    tree: &Wrappers,
    options: TeamOptions,
    rank: impl Fn(&mut Team<T>, u32) -> R + Clone + Send + 'static,
) -> Vec<R> {
    let (done, results) = mpsc::channel();
    let n_ranks = transports.len();
    for (me, transport) in (0..).zip(transports) {
        let (tree, rank, done) = (tree.clone(), rank.clone(), done.clone());
        std::thread::spawn(move || {
            let mut team = Team::new(transport, &tree, options).expect("there is memory");
            // Nobody listens any more if another rank has failed.
            let _ = done.send((me, rank(&mut team, me)));
        });
    }
    drop(done);
    let mut all: Vec<Option<R>> = (0..n_ranks).map(|_| None).collect();
    for _ in 0..n_ranks {
        let (me, result) = results
            .recv_timeout(FOREVER)
            .unwrap_or_else(|error| panic!("a rank failed or waits forever: {error}\n{tree:#?}"));
        let me: u32 = me;
        all[me as usize] = Some(result);
    }
    all.into_iter().flatten().collect()
}
