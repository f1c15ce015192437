//! What an operation costs in shared memory: two threads as ranks of one host.
//!
//! With a core for each; with more threads than cores this measures the scheduler.

use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};
use collbench_paths::{
    Buffers, Elements, Idle, InProcess, Kernel, Reduction, SimulatedCosts, Team, TeamOptions,
    WaitPolicy,
};
use divan::Bencher;

fn main() {
    divan::main();
}

const RANKS: [Contributor; 2] = [Contributor::Rank(0), Contributor::Rank(1)];

/// Sums of 64-bit integers.
fn sum() -> Kernel {
    Kernel::new(Reduction::Sum, Elements::Int64).expect("MPI defines it")
}

fn wrapper(
    kind: WrapperKind,
    contributors: &[Contributor],
    parent: Option<u32>,
    collectors: Collectors,
) -> Wrapper {
    Wrapper {
        kind,
        owner: 0,
        contributors: contributors.to_vec(),
        parent,
        level: Level::Rank,
        collectors,
    }
}

/// All read what all have given.
fn exchange(collectors: Collectors) -> Wrappers {
    let wrappers = vec![wrapper(WrapperKind::Exchange, &RANKS, None, collectors)];
    Wrappers::new(vec![0; 2], wrappers).expect("a whole tree")
}

/// The last that arrives combines.
fn gred(collectors: Collectors) -> Wrappers {
    let core = [Contributor::Wrapper(0)];
    let wrappers = vec![
        wrapper(WrapperKind::Gred, &RANKS, Some(1), collectors),
        wrapper(WrapperKind::Core, &core, None, collectors),
    ];
    Wrappers::new(vec![0; 2], wrappers).expect("a whole tree")
}

/// Calls an allreduce of `bytes` again and again.
fn allreduce(bencher: Bencher<'_, '_>, tree: &Wrappers, bytes: usize) {
    let options = TeamOptions::new(WaitPolicy::new(Idle::Spin));
    let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
    let mut processes = processes.into_iter();
    let mut team = || {
        let process = processes.next().expect("two processes");
        let mut team = Team::new(process, tree, options).expect("there is memory");
        team.set_collect(Some(Box::new(|pass| {
            divan::black_box(pass);
        })));
        team
    };
    let (mut own, mut other) = (team(), team());
    std::thread::scope(|scope| {
        // Rank 0 brings ones as long as it goes on.
        scope.spawn(|| {
            let mut sum = sum();
            let mut values = vec![1; bytes];
            while values[0] != 0 {
                values.fill(0);
                let buffers = Buffers::InPlace(&mut values);
                other.allreduce(buffers, &mut sum).expect("equal lengths");
            }
        });
        let mut sum = sum();
        let given = vec![1; bytes];
        let mut result = vec![0; bytes];
        bencher.bench_local(|| {
            let buffers = Buffers::Two(&given, &mut result);
            own.allreduce(buffers, &mut sum).expect("equal lengths");
        });
        let end = vec![0; bytes];
        let buffers = Buffers::Two(&end, &mut result);
        own.allreduce(buffers, &mut sum).expect("equal lengths");
    });
}

#[divan::bench(sample_count = 200, sample_size = 100, args = [8, 256, 4 << 10, 64 << 10, 1 << 20])]
fn allreduce_by_exchange(bencher: Bencher<'_, '_>, bytes: usize) {
    allreduce(bencher, &exchange(Collectors::NONE), bytes);
}

#[divan::bench(sample_count = 200, sample_size = 100, args = [8, 256, 4 << 10])]
fn allreduce_by_gred(bencher: Bencher<'_, '_>, bytes: usize) {
    allreduce(bencher, &gred(Collectors::NONE), bytes);
}

#[divan::bench(sample_count = 200, sample_size = 100)]
fn allreduce_of_8_bytes_with_all_collectors(bencher: Bencher<'_, '_>) {
    allreduce(bencher, &gred(Collectors::ALL), 8);
}
