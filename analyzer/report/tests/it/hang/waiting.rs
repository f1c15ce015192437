//! Who waits for whom, and cycles of waiting.

use super::*;

/// Two communicators of all, called in another order by two ranks.
fn crossed() -> TestTrace {
    let mut trace = killed(3);
    for (rank, process) in trace.processes.iter_mut().enumerate() {
        for (index, name) in [(2, "A"), (3, "B")] {
            process.define(split(
                index,
                u64::from(index) * 7,
                &[0, 1, 2],
                rank as u32,
                u64::from(index),
            ));
            let name = name.to_owned();
            process
                .definitions
                .push(Definition::CommunicatorName { index, name });
        }
    }
    trace.processes[0].call(call(Operation::Bcast, 2, 1, 64, (100, 0)));
    trace.processes[1].call(call(Operation::Barrier, 3, -1, 0, (90, 0)));
    trace
}

#[test]
fn a_cycle_of_waiting_over_two_communicators_is_named() {
    let analysis = crossed().analyze();
    let hang = hang(&analysis);
    let cycle = one(&hang.cycles);
    assert_eq!(cycle.ranks, [0, 1]);
    let operations = |index: &usize| &*analysis.unfinished[*index].operations[0];
    let waited_in: Vec<&str> = cycle.unfinished.iter().map(operations).collect();
    assert_eq!(waited_in, ["MPI_Bcast", "MPI_Barrier"]);
    assert_eq!(
        in_words(&analysis)[0],
        "a circular wait: rank 0 waits in MPI_Bcast (call 0 on A, root rank 1, 64 bytes) for \
         rank 1, which waits in MPI_Barrier (call 0 on B) for rank 0"
    );
    assert_says(
        &analysis,
        "rank 0 has been waiting in MPI_Bcast (call 0 on A, root rank 1, 64 bytes) since t = 100 ns; \
         rank 1 never arrived: it has been in MPI_Barrier (call 0 on B) since t = 90 ns; rank 2 never \
         arrived: it called no collective at all",
    );
}

#[test]
fn a_chain_that_ends_somewhere_is_no_cycle() {
    // As above, but rank 0 waits for the root of its broadcast only, and rank 1 for rank 2.
    let mut trace = crossed();
    trace.processes[0].chunks[0].records.clear();
    trace.processes[0].call(call(Operation::Bcast, 2, 1, 64, (100, 0)));
    trace.processes[1].chunks[0].records.clear();
    trace.processes[1].call(call(Operation::Bcast, 3, 2, 64, (90, 0)));
    let analysis = trace.analyze();
    assert!(
        hang(&analysis).cycles.is_empty(),
        "{:?}",
        hang(&analysis).cycles
    );
    assert_eq!(analysis.unfinished.len(), 2);
}

#[test]
fn only_those_are_waited_for_on_whom_a_rank_depends() {
    // Rank 1 waits on A, ranks 0 and 2 never arrived; rank 2 waits on B for the two others.
    let cycles = |operation: Operation, sources: &[u32]| {
        let mut trace = crossed();
        for process in &mut trace.processes {
            process.chunks[0].records.clear();
        }
        let topology = Topology {
            communicator: 2,
            in_neighbours: sources.to_vec(),
            out_neighbours: sources.to_vec(),
        };
        let definition = Definition::Topology(topology);
        trace.processes[1].definitions.push(definition);
        trace.processes[1].call(call(operation, 2, 0, 8, (10, 0)));
        trace.processes[2].call(call(Operation::Barrier, 3, -1, 0, (10, 0)));
        let analysis = trace.analyze();
        let cycles = hang(&analysis).cycles.iter();
        cycles.map(|cycle| cycle.ranks.clone()).collect::<Vec<_>>()
    };
    let none: Vec<Vec<u32>> = Vec::new();
    assert_eq!(cycles(Operation::Allreduce, &[]), [[1, 2]]);
    assert_eq!(cycles(Operation::Scan, &[]), none, "for rank 0 only");
    assert_eq!(cycles(Operation::Bcast, &[]), none, "for the root, rank 0");
    assert_eq!(cycles(Operation::Reduce, &[]), none, "likewise");
    assert_eq!(cycles(Operation::NeighborAllgather, &[0]), none);
    assert_eq!(cycles(Operation::NeighborAllgather, &[0, 2]), [[1, 2]]);
}

#[test]
fn a_cycle_of_many_is_found_through_all() {
    const N: u32 = 200;
    let mut trace = killed(N);
    // Each rank waits on a communicator of two for its neighbour.
    for rank in 0..N {
        let next = (rank + 1) % N;
        let pair = |other: u32| {
            if other == 0 {
                [0, N - 1]
            } else {
                [other - 1, other]
            }
        };
        let process = &mut trace.processes[rank as usize];
        process.define(split(2, 100 + u64::from(rank), &pair(rank), rank, 0));
        process.define(split(3, 100 + u64::from(next), &pair(next), rank, 0));
        process.call(call(Operation::Allreduce, 3, -1, 8, (10, 0)));
    }
    let analysis = trace.analyze();
    let [cycle] = &hang(&analysis).cycles[..] else {
        panic!("{:?}", hang(&analysis).cycles);
    };
    let all: Vec<u32> = (0..N).collect();
    assert_eq!(cycle.ranks, all);
    let sentence = &in_words(&analysis)[0];
    assert_has(sentence, "and so on, 200 ranks in total");
}
