//! Files and windows: each has an order of calls of its own, and its calls are shown on the communicator
//! that it was opened on.

use collbench_formats::{
    Communicator, CommunicatorKind, CompletingCall, FENCE_NO_PRECEDE, NO_RANK, Operation,
};

use crate::built::{TestTrace, begin, call, complete, initiation, only};

/// What process `rank` of `size` calls the file or window number `position` that was opened on its
/// `MPI_COMM_WORLD`.
fn opened(
    index: u32,
    operation: Operation,
    position: u64,
    (rank, size): (u32, u32),
) -> Communicator {
    Communicator {
        parent: 0,
        constructor: operation.code(),
        position,
        remote_first_member: NO_RANK,
        ..crate::built::communicator(
            index,
            u64::from(operation.code()) << 32 | position,
            size,
            rank,
        )
    }
}

fn of_file(index: u32, position: u64, place: (u32, u32)) -> Communicator {
    opened(index, Operation::FileOpen, position, place)
}

#[test]
fn calls_on_files_find_one_another_however_they_stand_among_other_calls() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        let rank = process.identity.rank;
        let late = 50 * u64::from(rank);
        process
            .define(of_file(2, 0, (rank, 2)))
            .define(of_file(3, 1, (rank, 2)));
        // The second process does all with one file first, and calls on its communicator at last.
        let barrier = |at: u64| call(Operation::Barrier, 0, -1, 0, (at, at + 1));
        let on = |file: u32, operation, payload: u64, at: u64| {
            call(operation, file, -1, payload, (at + late, at + late + 100))
        };
        let calls = [
            on(2, Operation::FileOpen, 0, 1000),
            on(2, Operation::FileWriteAll, 64, 2000),
            on(2, Operation::FileClose, 0, 3000),
        ];
        let others = [
            on(3, Operation::FileOpen, 0, 4000),
            on(3, Operation::FileReadAll, 32, 5000),
            on(3, Operation::FileClose, 0, 6000),
        ];
        if rank == 0 {
            process.call(barrier(10));
            calls.into_iter().chain(others).for_each(|record| {
                process.call(record);
            });
        } else {
            others.into_iter().chain(calls).for_each(|record| {
                process.call(record);
            });
            process.call(barrier(9000));
        }
    }
    let analysis = trace.analyze();
    let counts = |name: &str| {
        let operation = only(&analysis, name);
        (
            operation.communicator,
            operation.instances,
            operation.incomplete,
        )
    };
    let world = only(&analysis, "MPI_Barrier").communicator;
    assert_eq!(counts("MPI_Barrier"), (world, 1, 0));
    for (name, instances) in [
        ("MPI_File_open", 2),
        ("MPI_File_write_all", 1),
        ("MPI_File_read_all", 1),
        ("MPI_File_close", 2),
    ] {
        assert_eq!(counts(name), (world, instances, 0), "{name}");
    }
    // Opening waits for the last rank. For the other calls the wait is unknown, but not who arrived last.
    let open = only(&analysis, "MPI_File_open");
    assert_eq!(
        open.wait_ns.as_ref().map(|wait| (wait.n, wait.total)),
        Some((4, 100))
    );
    let write = only(&analysis, "MPI_File_write_all");
    assert!(write.wait_ns.is_none());
    assert!(write.wait_states.is_empty());
    assert_eq!(write.last_arrivals, [0, 1]);
    assert_eq!(write.arrival_lag_ns.as_ref().unwrap().total, 50);
    assert_eq!((write.bytes_min, write.bytes_max), (Some(64), Some(64)));
    assert_eq!(
        analysis.communicators.len(),
        2,
        "{:?}",
        analysis.communicators
    );
}

#[test]
fn thousands_of_files_are_rows_of_one_communicator() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        let place = (process.identity.rank, 2);
        for n in 0..3000u32 {
            process.define(of_file(2 + n, n.into(), place));
            let at = 1000 * u64::from(n) + 1;
            process
                .call(call(Operation::FileOpen, 2 + n, -1, 0, (at, at + 5)))
                .call(call(Operation::FileClose, 2 + n, -1, 0, (at + 10, at + 15)));
        }
    }
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_File_open").instances, 3000);
    assert_eq!(only(&analysis, "MPI_File_close").instances, 3000);
    assert_eq!(analysis.communicators.len(), 2);
    assert_eq!(crate::built::codes(&analysis), Vec::<&str>::new());
}

#[test]
fn a_file_that_not_all_are_known_to_have_opened_is_shown_on_its_communicator_too() {
    let mut trace = TestTrace::new(3);
    for process in &mut trace.processes[..2] {
        let place = (process.identity.rank, 3);
        process
            .define(of_file(2, 0, place))
            .call(call(Operation::FileOpen, 2, -1, 0, (10, 0)));
        process.is_finalized = false;
    }
    trace.barrier(&[(5, 6); 3]);
    let analysis = trace.analyze();
    let open = only(&analysis, "MPI_File_open");
    assert_eq!(
        open.communicator,
        only(&analysis, "MPI_Barrier").communicator
    );
    assert_eq!((open.instances, open.incomplete), (0, 1));
    assert_eq!(
        analysis.communicators.len(),
        2,
        "{:?}",
        analysis.communicators
    );
}

#[test]
fn a_fence_that_ends_no_epoch_is_no_barrier() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        let rank = process.identity.rank;
        let late = 50 * u64::from(rank);
        process.define(opened(2, Operation::WinCreate, 0, (rank, 2)));
        let on = |operation, root: i32, at: u64| call(operation, 2, root, 0, (at + late, at + 100));
        process
            .call(on(Operation::WinCreate, -1, 1000))
            .call(on(Operation::WinFence, FENCE_NO_PRECEDE, 2000))
            .call(on(Operation::WinFence, -1, 3000))
            .call(on(Operation::WinFence, -1, 4000))
            .call(on(Operation::WinFree, -1, 5000));
    }
    let analysis = trace.analyze();
    let waits = |name: &str| {
        let wait = only(&analysis, name).wait_ns.as_ref();
        wait.map(|wait| (wait.n, wait.total))
    };
    assert_eq!(waits("MPI_Win_create"), Some((2, 50)));
    assert_eq!(waits("MPI_Win_fence"), Some((4, 100)));
    assert_eq!(waits("MPI_Win_free"), Some((2, 50)));
    let fence = only(&analysis, "MPI_Win_fence");
    assert_eq!(
        (fence.instances, fence.last_arrivals.as_slice()),
        (3, [0, 3].as_slice())
    );
    assert_eq!(fence.core_ns.as_ref().map(|core| core.n), Some(2));
}

#[test]
fn access_in_two_calls_is_begun_and_completed() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        let rank = process.identity.rank;
        process.define(of_file(2, 0, (rank, 2)));
        let of = |position| initiation(2, position);
        process
            .call(call(Operation::FileOpen, 2, -1, 0, (10, 20)))
            .call(begin(Operation::FileReadAllBegin, 2, -1, 80, (30, 40)))
            .call(complete(
                of(1),
                CompletingCall::FileReadAllEnd,
                1,
                (140, 160),
            ))
            .call(begin(Operation::FileIwriteAtAll, 2, -1, 40, (200, 210)))
            .call(complete(of(2), CompletingCall::Wait, 1, (300, 330)));
    }
    let analysis = trace.analyze();
    let parts = |name: &str| {
        let operation = only(&analysis, name);
        [
            &operation.initiation_ns,
            &operation.between_ns,
            &operation.completion_ns,
        ]
        .map(|part| part.as_ref().map(|part| (part.n, part.total)))
    };
    assert_eq!(
        parts("MPI_File_read_all_begin"),
        [Some((2, 20)), Some((2, 200)), Some((2, 40))]
    );
    assert_eq!(
        parts("MPI_File_iwrite_at_all"),
        [Some((2, 20)), Some((2, 180)), Some((2, 60))]
    );
    assert!(only(&analysis, "MPI_File_read_all_begin").wait_ns.is_none());
}

#[test]
fn where_only_some_processes_have_recorded_their_files_all_else_is_matched() {
    let mut trace = TestTrace::new(2);
    for process in &mut trace.processes {
        let rank = process.identity.rank;
        process.call(call(Operation::Barrier, 0, -1, 0, (10, 20)));
        if rank == 0 {
            process
                .define(of_file(2, 0, (0, 2)))
                .call(call(Operation::FileOpen, 2, -1, 0, (30, 40)))
                .call(call(Operation::FileClose, 2, -1, 0, (50, 60)));
        }
        process.call(call(Operation::Allreduce, 0, -1, 8, (70, 80)));
    }
    let analysis = trace.analyze();
    for name in ["MPI_Barrier", "MPI_Allreduce"] {
        let operation = only(&analysis, name);
        assert_eq!(
            (operation.instances, operation.incomplete),
            (1, 0),
            "{name}"
        );
    }
    assert_eq!(only(&analysis, "MPI_File_open").incomplete, 1);
}

#[test]
fn files_that_cannot_be_are_entries_of_their_own() {
    let mut trace = TestTrace::new(3);
    for process in &mut trace.processes {
        let rank = process.identity.rank;
        let nonsense = [
            // On a communicator that nobody knows, on itself, on a file.
            Communicator {
                parent: 77,
                ..of_file(2, 0, (rank, 3))
            },
            Communicator {
                parent: 3,
                ..of_file(3, 1, (rank, 3))
            },
            Communicator {
                parent: 2,
                ..of_file(4, 2, (rank, 3))
            },
            // Of more processes than its communicator, and of two groups.
            Communicator {
                size: 9,
                ..of_file(5, 3, (rank, 3))
            },
            Communicator {
                kind: CommunicatorKind::Inter,
                remote_size: 2,
                remote_first_member: 1,
                ..of_file(6, 4, (rank, 3))
            },
        ];
        for file in nonsense {
            let on = file.index;
            let at = 100 * u64::from(on);
            process
                .define(file)
                .call(call(Operation::FileOpen, on, -1, 0, (at, at + 10)));
        }
    }
    trace.barrier(&[(5000, 5010); 3]);
    let analysis = trace.analyze();
    assert_eq!(only(&analysis, "MPI_Barrier").instances, 1);
    let opened: u64 = analysis
        .operations
        .iter()
        .filter(|operation| operation.operation == "MPI_File_open")
        .map(|operation| operation.calls)
        .sum();
    assert_eq!(opened, 15);
    assert_eq!(analysis.communicators.len(), 2 + 5);
}
