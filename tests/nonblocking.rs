//! Every initiation has its record, every completion that of its initiation, whichever call completes
//! it, in whatever order and thread.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use collbench_formats::{CompletingCall, Definition, Initiation, Operation, RankTrace, RecordKind};
use collbench_tests::{
    Analysis, Job, Workspace, analyze, have, long_or, program, rank_files, skip_unless,
};

const MPI: &[&str] = &["mpirun", "mpicc"];

/// How a collective was completed: the call, how many it completed, how many unsuccessful tests before.
type End = (String, u32, u32);

/// What a process did, as it says itself or as its trace has it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Account {
    /// Operations by (index of the communicator, position).
    calls: BTreeMap<(u32, u64), String>,
    /// Ends of nonblocking operations, by the same.
    ends: BTreeMap<(u32, u64), End>,
    /// Operation and number of those started together, by (definition, number of the start).
    starts: BTreeMap<(u32, u64), (String, u32)>,
    /// Ends of starts.
    ends_of_starts: BTreeMap<(u32, u64), End>,
    /// Operations with a handle that others had at the same time: MPI libraries give one handle to
    /// all that are complete from the beginning, and which of them a call completes, nobody can tell.
    shared: BTreeSet<(u32, u64)>,
}

impl Account {
    /// From the lines of a log that the program has written.
    fn of_log(path: &Path) -> Self {
        let mut account = Self::default();
        for line in fs::read_to_string(path).unwrap().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let key = (words[1].parse().unwrap(), words[2].parse().unwrap());
            let name = words[3].to_owned();
            let number = |i: usize| -> u32 { words[i].parse().unwrap() };
            let is_new = match words[0] {
                "begin" => account.calls.insert(key, name).is_none(),
                "start" => account.starts.insert(key, (name, number(4))).is_none(),
                "done" => account
                    .ends
                    .insert(key, (name, number(4), number(5)))
                    .is_none(),
                "ended" => account
                    .ends_of_starts
                    .insert(key, (name, number(4), number(5)))
                    .is_none(),
                other => panic!("{other}"),
            };
            if words[0] == "done" && number(6) == 1 {
                account.shared.insert(key);
            }
            assert!(is_new, "twice in {}: {line}", path.display());
        }
        account
    }

    /// From the records of a trace; of the calls, those of collectives only.
    fn of_trace(trace: &RankTrace<'_>) -> Self {
        let mut account = Self::default();
        let mut positions: BTreeMap<u32, u64> = BTreeMap::new();
        let mut starts: BTreeMap<u32, u64> = BTreeMap::new();
        for chunk in &trace.chunks {
            assert_eq!(chunk.header.thread, 0, "of one thread only");
        }
        let records = || trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
        for record in records().filter(|record| !record.is_internal()) {
            assert!(record.enter.get() <= record.leave.get(), "{record:?}");
            let Some(operation) = record.operation() else {
                continue;
            };
            let communicator = record.communicator.get();
            if let Some(start) = record.persistent_start() {
                let number = next(&mut starts, start.definition);
                let name = operation.name().to_owned();
                let key = (start.definition, number);
                account.starts.insert(key, (name, start.n_together));
            } else if operation.takes_position() {
                let key = (communicator, next(&mut positions, communicator));
                if operation.code() < Operation::CommDup.code() {
                    account.calls.insert(key, operation.name().to_owned());
                }
            }
        }
        let mut in_vain = None;
        for record in records() {
            if let Some(tests) = record.unsuccessful_tests() {
                assert_eq!(in_vain.replace(tests), None, "tests without a completion");
                assert!(tests.spent_ticks > 0);
            }
            let Some(completion) = record.completion() else {
                continue;
            };
            let tests = in_vain.take();
            let end = (
                completion.by.name().to_owned(),
                completion.n_together,
                tests.map_or(0, |tests| tests.n),
            );
            let (is_new, index) = match completion.of {
                Initiation::Nonblocking {
                    communicator,
                    position,
                } => (
                    account.ends.insert((communicator, position), end).is_none(),
                    communicator,
                ),
                Initiation::Persistent { definition, start } => (
                    account
                        .ends_of_starts
                        .insert((definition, start), end)
                        .is_none(),
                    definition,
                ),
            };
            assert!(is_new, "completed twice: {completion:?}");
            assert!(tests.is_none_or(|tests| tests.of_index == index));
        }
        assert_eq!(in_vain, None, "tests without a completion");
        account
    }
}

/// The number of this key's next one, from 0.
fn next(counters: &mut BTreeMap<u32, u64>, key: u32) -> u64 {
    let counter = counters.entry(key).or_default();
    *counter += 1;
    *counter - 1
}

/// The bytes of the rank files of a trace, by rank.
fn bytes_of_ranks(trace: &Path) -> Vec<Vec<u8>> {
    let files = rank_files(trace);
    files.iter().map(|path| fs::read(path).unwrap()).collect()
}

/// The analysis of a trace all of whose calls found those of the other processes.
#[track_caller]
fn analyze_complete(trace: &Path) -> Analysis {
    let analysis = analyze(trace, &[]).expect(0);
    assert_eq!(analysis.json["trace"]["complete"], true);
    for operation in analysis.array("/operations") {
        assert_eq!(operation["incomplete"], 0, "{operation:#}");
    }
    for code in [
        "unknown_communicator",
        "communicator_conflict",
        "mismatched_calls",
        "stray_completions",
    ] {
        assert!(!analysis.has_remark(code), "{code}");
    }
    analysis
}

#[track_caller]
fn parse(bytes: &[u8]) -> RankTrace<'_> {
    let trace = RankTrace::parse(bytes).unwrap();
    assert_eq!(trace.damage, []);
    trace
}

#[test]
fn a_storm_of_collectives_completed_in_all_ways_is_recorded_one_by_one() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    let count = long_or(100_000, 10_000);
    let job = Job::new(4, program("storm.c"), &[here, &count.to_string()]);
    let trace = job.record_as_plain(workspace.path());
    let analysis = analyze_complete(&trace);
    let files = bytes_of_ranks(&trace);
    assert_eq!(files.len(), 4);
    for bytes in &files {
        let trace = parse(bytes);
        let rank = trace.identity.rank;
        let by_operation = &analysis.rank(rank as usize)["calls_by_operation"];
        let own = Account::of_log(&workspace.join(format!("storm.{rank}.log")));
        assert_eq!(own.ends.len(), count);
        let found = Account::of_trace(&trace);
        assert_same(&own.calls, &found.calls, "calls");
        assert_same(&own.starts, &found.starts, "starts");
        let starts = own.starts.values().map(|(name, _)| name);
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for name in own.calls.values().chain(starts) {
            *counts.entry(name).or_default() += 1;
        }
        assert_eq!(counts.len(), 22 + 6 + 1, "all kinds");
        for (name, calls) in counts {
            assert_eq!(by_operation[name], calls, "rank {rank}: {name}");
        }
        assert!(!own.shared.is_empty(), "no handle was shared: no test");
        let apart = |ends: &BTreeMap<(u32, u64), End>| {
            let (shared, own): (BTreeMap<_, _>, BTreeMap<_, _>) = ends
                .clone()
                .into_iter()
                .partition(|(key, _)| own.shared.contains(key));
            let mut calls: Vec<(String, u32)> = shared
                .into_values()
                .map(|(by, n_together, _)| (by, n_together))
                .collect();
            calls.sort();
            (own, calls)
        };
        let ([own_ends, found_ends], [own_shared, found_shared]) = {
            let (a, b) = (apart(&own.ends), apart(&found.ends));
            ([a.0, b.0], [a.1, b.1])
        };
        assert_same(&own_ends, &found_ends, "ends");
        assert_eq!(own_shared.len(), found_shared.len());
        assert!(own_shared == found_shared, "ends of shared handles");
        assert_same(&own.ends_of_starts, &found.ends_of_starts, "ends of starts");

        let levels: Vec<i32> = trace
            .chunks
            .iter()
            .flat_map(|chunk| chunk.records.iter())
            .filter_map(|record| record.phase_level())
            .collect();
        assert_eq!(levels, [2, -1]);

        let persistent: Vec<_> = trace
            .definitions
            .iter()
            .filter_map(|definition| match definition {
                Definition::PersistentCollective(p) => Some((
                    p.index,
                    p.communicator,
                    p.position,
                    p.operation().unwrap().name(),
                    p.root,
                    p.payload_bytes,
                )),
                _ => None,
            })
            .collect();
        assert_eq!(
            persistent,
            [
                (0, 0, 0, "MPI_Allreduce_init", -1, Some(24)),
                (1, 2, 0, "MPI_Bcast_init", 1, Some(24)),
                (2, 2, 1, "MPI_Alltoallv_init", -1, Some(32)),
                (3, 4, 0, "MPI_Neighbor_alltoall_init", -1, Some(8)),
                (4, 1, 0, "MPI_Reduce_init", 0, Some(24)),
                (5, 0, 1, "MPI_Barrier_init", -1, Some(0)),
            ]
        );
        let topologies: Vec<_> = trace
            .definitions
            .iter()
            .filter_map(|definition| match definition {
                Definition::Topology(t) => Some(t),
                _ => None,
            })
            .collect();
        // A grid of 2 x 2, periodic in its first dimension only: the second has a border.
        let [grid, ring] = &topologies[..] else {
            panic!("{topologies:?}")
        };
        let (other, beside) = ((rank + 2) % 4, rank ^ 1);
        let nobody = collbench_formats::NO_RANK;
        let along = match rank % 2 {
            0 => [nobody, beside],
            _ => [beside, nobody],
        };
        assert_eq!(grid.communicator, 4);
        assert_eq!(grid.in_neighbours, [other, other, along[0], along[1]]);
        assert_eq!(grid.out_neighbours, grid.in_neighbours);
        assert_eq!(ring.communicator, 5);
        assert_eq!(ring.in_neighbours, [(rank + 3) % 4]);
        assert_eq!(ring.out_neighbours, [(rank + 1) % 4]);
    }
}

/// As `assert_eq`, with the first difference only: there are many entries.
#[track_caller]
fn assert_same<K: Ord + std::fmt::Debug, V: PartialEq + std::fmt::Debug>(
    own: &BTreeMap<K, V>,
    found: &BTreeMap<K, V>,
    what: &str,
) {
    for (key, value) in own {
        assert_eq!(Some(value), found.get(key), "{what}: {key:?}");
    }
    let other = found.iter().find(|(key, _)| !own.contains_key(key));
    assert_eq!(other, None, "{what}: one too many");
}

/// The program times its calls from outside, so that what the recorder itself takes is in its times.
#[test]
fn exposed_time_is_what_the_program_itself_measures() {
    skip_unless!(have(MPI));
    // With fewer a broadcast is one step, all of which is sent at its begin.
    const RANKS: usize = 5;
    for tests in [0, 8] {
        let workspace = Workspace::new();
        let here = workspace.path().to_str().unwrap();
        let arguments = [here, "30", &tests.to_string()];
        let job = Job::new(RANKS, program("exposed.c"), &arguments);
        let trace = job.recorded(workspace.path());
        let analysis = analyze_complete(&trace);
        let logs = (0..RANKS)
            .map(|rank| fs::read_to_string(workspace.join(format!("exposed.{rank}.log"))).unwrap());
        let logs: String = logs.collect();
        for operation in ["MPI_Ibcast", "MPI_Iallreduce"] {
            let lines = logs.lines().filter(|line| line.starts_with(operation));
            let (exposed, between): (Vec<i64>, Vec<i64>) = lines
                .map(|line| {
                    let mut words = line.split(' ').skip(1);
                    let mut number = || words.next().unwrap().parse::<i64>().unwrap();
                    (number(), number())
                })
                .unzip();
            let entries = analysis.array("/operations").iter();
            let found: Vec<_> = entries
                .filter(|entry| entry["operation"] == operation)
                .collect();
            assert_eq!(found.len(), 1, "{found:?}");
            check_times(found[0], "exposed_ns", &exposed);
            // The clock of the program may be slewed, by up to 500 ppm; that of the recorder is not.
            let total = found[0]["exposed_ns"]["total"].as_i64().unwrap() as f64;
            let own = exposed.iter().sum::<i64>() as f64;
            assert!(total <= 1.0006 * own, "{operation}: {total} of {own}");
            // The short times between tests are longer by what the recorder takes in them.
            if tests == 0 {
                check_times(found[0], "overlap_bound_ns", &between);
            }
            let overlap = &found[0]["overlap"];
            let sent = |when: &str| overlap["sent"][when].as_u64().unwrap();
            assert_eq!(sent("outside_mpi"), 0, "{operation}: {overlap}");
            // Without calls of MPI nothing is sent between.
            assert_eq!(sent("between") > 0, tests > 0, "{operation}: {overlap}");
            if tests == 0 {
                let said = overlap["diagnosis"].as_str().unwrap();
                let expected = ["no_progression", "first_step_only", "little_between"];
                assert!(expected.contains(&said), "{operation}: {overlap}");
            }
        }
    }
}

/// Compares times with the program's own, within 5 %.
#[track_caller]
fn check_times(found: &serde_json::Value, field: &str, own: &[i64]) {
    let n = found[field]["n"].as_u64().unwrap();
    assert_eq!(n, own.len() as u64, "{field} of {}", found["operation"]);
    let own: i64 = own.iter().sum();
    let total = found[field]["total"].as_i64().unwrap();
    assert!(
        (total as f64 / own as f64 - 1.0).abs() < 0.05,
        "{field} of {}: {total} found, {own} measured by the program",
        found["operation"]
    );
}

#[test]
fn what_one_thread_begins_and_another_completes_is_one_collective() {
    skip_unless!(have(MPI));
    const EACH: u64 = 5000;
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    let each = EACH.to_string();
    let job = Job::new(2, program("handover.c"), &[here, &each]);
    let trace = job.recorded(workspace.path());
    let files = bytes_of_ranks(&trace);
    assert_eq!(files.len(), 2);
    for bytes in &files {
        let trace = parse(bytes);
        let log = workspace.join(format!("handover.{}.log", trace.identity.rank));
        let own: BTreeMap<(u32, u64), String> = fs::read_to_string(log)
            .unwrap()
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                let key = (words[0].parse().unwrap(), words[1].parse().unwrap());
                (key, words[2].to_owned())
            })
            .collect();
        // Each thread once more from a destructor, when it ends.
        assert_eq!(own.len() as u64, 2 * (EACH + 1));
        let mut found = BTreeMap::new();
        let mut threads: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
        for chunk in &trace.chunks {
            for record in chunk.records.iter() {
                if let Some(completion) = record.completion() {
                    let Initiation::Nonblocking {
                        communicator,
                        position,
                    } = completion.of
                    else {
                        panic!("{completion:?}");
                    };
                    let by = completion.by.name().to_owned();
                    let is_new = found.insert((communicator, position), by).is_none();
                    assert!(is_new, "completed twice: {completion:?}");
                    let thread = chunk.header.thread.get();
                    threads.entry(communicator).or_default().insert(thread);
                }
            }
        }
        assert_same(&own, &found, "ends");
        assert!(
            threads.values().all(|threads| threads.len() >= 2),
            "nothing was completed by the other thread: no test"
        );
    }
}

#[test]
fn communicators_have_the_same_identity_for_all_their_processes() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job::new(4, program("communicators.c"), &["10000"]);
    let plain = job.plain(workspace.path()).expect(0);
    let (finished, trace) = job.record(workspace.path());
    let finished = finished.expect(0);
    assert_eq!(
        finished.stdout, plain.stdout,
        "recording changed the results"
    );
    let n_made: usize = finished.stdout.split(' ').next().unwrap().parse().unwrap();
    let analysis = analyze_complete(&trace);
    assert_eq!(
        analysis.json["totals"]["MPI_Comm_free"]["instances"],
        n_made + 6
    );

    /// What the members of a communicator must say of it alike, and the ranks that say it.
    type Said = ((u16, u64, u32, u32), BTreeSet<u32>);
    let mut by_id: BTreeMap<u64, Said> = BTreeMap::new();
    for bytes in &bytes_of_ranks(&trace) {
        for definition in parse(bytes).definitions.iter() {
            let Definition::Communicator(c) = definition else {
                continue;
            };
            if c.constructor().is_none() {
                continue;
            }
            let said = (c.constructor, c.position, c.size, c.first_member);
            let (known, ranks) = by_id.entry(c.id).or_insert_with(|| (said, BTreeSet::new()));
            assert_eq!(*known, said);
            assert!(ranks.insert(c.rank), "two members of one rank: {c:?}");
        }
    }
    // The program does not count the six parents.
    assert_eq!(by_id.len(), n_made + 6);
    for ((_, _, size, _), ranks) in by_id.values() {
        assert_eq!(ranks.len(), *size as usize, "a member is missing");
    }
    let idups = by_id
        .values()
        .filter(|((constructor, ..), _)| *constructor == Operation::CommIdup.code());
    assert!(idups.count() > 3000);
}

#[test]
fn completions_and_phases_are_the_same_in_c_and_in_each_fortran_binding() {
    skip_unless!(have(&["mpirun", "mpicc", "mpifort"]));
    let of_each_rank = ["same.c", "same_mpif.F", "same_mpi.F90", "same_f08.F90"].map(|source| {
        let workspace = Workspace::new();
        let trace = Job::new(4, program(source), &[]).recorded(workspace.path());
        let mut ranks: Vec<_> = bytes_of_ranks(&trace)
            .iter()
            .map(|bytes| {
                let trace = parse(bytes);
                let records = || trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
                let levels: Vec<i32> = records()
                    .filter_map(|record| record.phase_level())
                    .collect();
                assert_eq!(levels, [3], "{source}");
                // Which one a Waitany completes differs from run to run.
                let mut ends: Vec<_> = records()
                    .filter_map(|record| match record.completion()?.of {
                        Initiation::Nonblocking {
                            communicator,
                            position,
                        } => Some((communicator, position)),
                        Initiation::Persistent { .. } => None,
                    })
                    .collect();
                ends.sort_unstable();
                (trace.identity.rank, ends)
            })
            .collect();
        ranks.sort();
        ranks
    });
    // Twenty in the loop, two scanned and exchanged, one each of four more, four tested together
    // twice, then two, and four with neighbours.
    assert!(
        of_each_rank[0]
            .iter()
            .all(|(_, ends)| ends.len() == 26 + 14)
    );
    assert!(of_each_rank.iter().all(|ranks| *ranks == of_each_rank[0]));
}

#[test]
fn neighborhood_persistent_and_large_count_collectives_are_recorded_and_work() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let here = workspace.path().to_str().unwrap();
    let job = Job::new(4, program("kinds.c"), &[here]);
    let trace = job.record_as_plain(workspace.path());
    for bytes in &bytes_of_ranks(&trace) {
        let trace = parse(bytes);
        let own = Account::of_log(&workspace.join(format!("kinds.{}.log", trace.identity.rank)));
        let found = Account::of_trace(&trace);
        assert_same(&own.calls, &found.calls, "calls");
        assert_same(&own.starts, &found.starts, "starts");
        assert_same(&own.ends, &found.ends, "ends");
        assert_same(&own.ends_of_starts, &found.ends_of_starts, "ends of starts");
        assert_eq!(own.starts.len(), 2 * 22);
        assert!(
            own.calls.len() > 1600,
            "the large-count forms were not found"
        );
        // Four neighbours: what is sent to all of them, or once.
        let payloads: Vec<_> = trace
            .chunks
            .iter()
            .flat_map(|chunk| chunk.records.iter())
            .filter(|record| record.communicator.get() == 2 && record.operation().is_some())
            .map(|record| record.payload_bytes())
            .take(6)
            .collect();
        assert_eq!(
            payloads,
            [Some(8), Some(8), Some(8), Some(32), Some(32), Some(0)]
        );
    }
}

#[test]
fn a_waitall_in_which_a_process_dies_is_seen_with_all_that_it_waits_for() {
    skip_unless!(have(MPI));
    let workspace = Workspace::new();
    let job = Job::new(3, program("ends.c"), &["waitall", "1", "5"]);
    let (finished, trace) = job.record(workspace.path());
    assert_ne!(finished.status, 0, "{finished}");
    let files = bytes_of_ranks(&trace);
    assert_eq!(files.len(), 3);
    for bytes in &files {
        let trace = RankTrace::parse(bytes).unwrap();
        let under_way: Vec<_> = trace
            .chunks
            .iter()
            .flat_map(|chunk| chunk.records.iter())
            // Not what happens inside: messages, and notes, which have no end.
            .filter(|record| !matches!(record.kind(), Some(RecordKind::Message | RecordKind::Note)))
            .filter(|record| record.is_in_flight())
            .map(|record| {
                let completion = record.completion().unwrap();
                assert_eq!(completion.by, CompletingCall::Waitall);
                assert_eq!(completion.n_together, 2);
                completion.of
            })
            .collect();
        let waited_for = [5, 6].map(|position| Initiation::Nonblocking {
            communicator: 0,
            position,
        });
        match trace.identity.rank {
            1 => assert_eq!(under_way, []),
            _ => assert_eq!(under_way, waited_for),
        }
    }
}
