//! What trees allocate: so much as was said, and nothing once all operations have been used.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use collbench_formats::tree::{Collectors, Contributor, Level, Wrapper, WrapperKind, Wrappers};
use collbench_paths::{
    Buffers, Elements, Error, Idle, InProcess, Kernel, Reduction, SimulatedCosts, Team,
    TeamOptions, WaitPolicy, tree_bytes,
};

/// The allocator of the system, which counts what each thread allocates.
struct Counting;

thread_local! {
    static N_ALLOCATED: Cell<usize> = const { Cell::new(0) };
    /// What a thread has allocated less what it has given back.
    static N_BYTES: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: everything is done by the allocator of the system; a count in a thread's own cell, which
// has no destructor, allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        N_ALLOCATED.set(N_ALLOCATED.get() + 1);
        N_BYTES.set(N_BYTES.get() + layout.size() as isize);
        // SAFETY: the caller's promises are those that `System` asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        N_BYTES.set(N_BYTES.get() - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.dealloc(address, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const N_RANKS: u32 = 4;
/// More than one segment.
const BYTES: usize = 20_000;

/// All ranks of one host: in one exchange, or in two greds below a third one.
fn trees() -> [Wrappers; 2] {
    use Contributor::{Rank, Wrapper as Above};
    let wrapper = |kind, contributors: &[Contributor], parent| Wrapper {
        kind,
        owner: 0,
        contributors: contributors.to_vec(),
        parent,
        level: Level::Rank,
        collectors: Collectors::ALL,
    };
    let all = [0, 1, 2, 3].map(Rank);
    let exchange = vec![wrapper(WrapperKind::Exchange, &all, None)];
    let greds = vec![
        wrapper(WrapperKind::Gred, &all[..2], Some(2)),
        wrapper(WrapperKind::Gred, &all[2..], Some(2)),
        wrapper(WrapperKind::Gred, &[Above(0), Above(1)], Some(3)),
        wrapper(WrapperKind::Core, &[Above(2)], None),
    ];
    [exchange, greds]
        .map(|wrappers| Wrappers::new(vec![0; N_RANKS as usize], wrappers).expect("a whole tree"))
}

/// All operations, with buffers that were allocated before.
fn all_operations(team: &mut Team<InProcess>, own: &mut [u8], all: &mut [u8]) -> Result<(), Error> {
    let mut sum = Kernel::new(Reduction::Sum, Elements::Double).expect("MPI defines it");
    team.allreduce(Buffers::InPlace(own), &mut sum)?;
    team.reduce(Buffers::InPlace(own), &mut sum, 2)?;
    team.bcast(own, 1)?;
    team.barrier()?;
    team.gather(Some(own), all, 3)?;
    team.scatter(all, Some(own), 3)?;
    team.allgather(Some(own), all)
}

#[test]
fn operations_allocate_nothing_at_their_second_use() {
    for tree in trees() {
        let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
        let counts: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = processes
                .into_iter()
                .map(|process| {
                    let tree = &tree;
                    scope.spawn(move || {
                        let options = TeamOptions::new(WaitPolicy::new(Idle::Yield));
                        let mut team = Team::new(process, tree, options).expect("memory");
                        team.set_collect(Some(Box::new(|pass| {
                            std::hint::black_box(pass);
                        })));
                        let mut own = vec![0; BYTES];
                        let mut all = vec![0; BYTES * N_RANKS as usize];
                        all_operations(&mut team, &mut own, &mut all).expect("equal lengths");
                        let before = N_ALLOCATED.get();
                        assert!(before > 0, "the counter counts");
                        all_operations(&mut team, &mut own, &mut all).expect("equal lengths");
                        N_ALLOCATED.get() - before
                    })
                })
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"));
            joined.collect()
        });
        assert_eq!(counts, [0; N_RANKS as usize], "{tree:?}");
    }
}

#[test]
fn trees_take_the_memory_that_is_said_beforehand() {
    let options = TeamOptions::new(WaitPolicy::new(Idle::Yield));
    for tree in trees() {
        let processes = InProcess::processes(tree.hosts(), SimulatedCosts::default());
        let all_have_measured = std::sync::Barrier::new(N_RANKS as usize);
        let taken: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> = processes
                .into_iter()
                .map(|process| {
                    let (tree, all_have_measured) = (&tree, &all_have_measured);
                    scope.spawn(move || {
                        let mut own = vec![0; BYTES];
                        let mut all = vec![0; BYTES * N_RANKS as usize];
                        let before = N_BYTES.get();
                        let mut team = Team::new(process, tree, options).expect("memory");
                        all_operations(&mut team, &mut own, &mut all).expect("equal lengths");
                        let taken = N_BYTES.get() - before;
                        // What is shared belongs to the thread that was first.
                        all_have_measured.wait();
                        usize::try_from(taken).expect("more than nothing")
                    })
                })
                .collect();
            let joined = threads
                .into_iter()
                .map(|thread| thread.join().expect("no panic"));
            joined.collect()
        });
        let taken: usize = taken.iter().sum();
        let said: usize = (0..N_RANKS)
            .map(|rank| tree_bytes(&tree, rank, &options))
            .sum();
        let is_near = said / 10 * 9 <= taken && taken <= said / 10 * 11;
        assert!(
            is_near,
            "{taken} bytes were taken, {said} were said: {tree:?}"
        );
    }
}
