use std::collections::BTreeMap;

use collbench_formats::{Communicator, Definition, ROOT_IS_ME, RankTrace, Record, Semantics};

use super::*;

/// One host whose ticks are ns, all kinds of operations and communicators, random times.
const EVERYTHING: &str = include_str!("../../tests/scenarios/everything.toml");

fn written(text: &str, seed: Option<u64>) -> (tempfile::TempDir, Truth) {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("scenario.toml");
    fs::write(&scenario, text).unwrap();
    let out = directory.path().join("trace");
    let truth = generate(&scenario, &out, seed, false).unwrap();
    (directory, truth)
}

fn rank_files(directory: &tempfile::TempDir) -> Vec<Vec<u8>> {
    let mut files: Vec<(u32, Vec<u8>)> = fs::read_dir(directory.path().join("trace"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "trace")
        })
        .map(|path| {
            let bytes = fs::read(path).unwrap();
            (RankTrace::parse(&bytes).unwrap().identity.rank, bytes)
        })
        .collect();
    files.sort();
    files.into_iter().map(|(_, bytes)| bytes).collect()
}

/// The records of a file, chunk by chunk.
fn records(trace: &RankTrace<'_>) -> impl Iterator<Item = Record> {
    trace.chunks.iter().flat_map(|chunk| chunk.records.iter())
}

/// A call from the files: (group, rank) in the communicator, semantics, whether it is the root,
/// enter, leave.
#[derive(Debug, Clone, Copy)]
struct FoundCall {
    rank: (bool, u32),
    inter: bool,
    semantics: Semantics,
    is_root: bool,
    enter: u64,
    leave: u64,
}

/// The calls of each instance, by identity of the communicator and position.
fn instances(files: &[Vec<u8>]) -> BTreeMap<(u64, u64), Vec<FoundCall>> {
    let mut instances: BTreeMap<(u64, u64), Vec<FoundCall>> = BTreeMap::new();
    for bytes in files {
        let trace = RankTrace::parse(bytes).unwrap();
        let mut known = BTreeMap::new();
        for definition in trace.definitions.iter() {
            if let Definition::Communicator(communicator) = definition {
                known.insert(communicator.index, communicator);
            }
        }
        let mut positions: BTreeMap<u32, u64> = BTreeMap::new();
        for record in records(&trace) {
            let operation = record.operation().unwrap();
            let semantics = operation.semantics();
            if record.is_internal() || !semantics.is_matched() {
                continue;
            }
            let communicator: &Communicator = &known[&record.communicator.get()];
            let position = positions.entry(communicator.index).or_insert(0);
            let inter = communicator.remote_size > 0;
            let in_second = inter && communicator.first_member > communicator.remote_first_member;
            let root = record.root.get();
            instances
                .entry((communicator.id, *position))
                .or_default()
                .push(FoundCall {
                    rank: (in_second, communicator.rank),
                    inter,
                    semantics,
                    is_root: root == ROOT_IS_ME
                        || !inter && root == communicator.rank.cast_signed(),
                    enter: record.enter.get(),
                    leave: record.leave.get(),
                });
            *position += 1;
        }
    }
    instances
}

fn depends(a: &FoundCall, b: &FoundCall) -> bool {
    let remote = a.rank.0 != b.rank.0;
    match a.semantics {
        Semantics::Barrier | Semantics::AllToAll => !a.inter || remote,
        Semantics::Constructor | Semantics::GroupConstructor => true,
        Semantics::OneToMany => b.is_root && (!a.inter || remote),
        Semantics::ManyToOne => a.is_root && (!a.inter || remote),
        Semantics::Prefix => b.rank < a.rank,
        Semantics::Neighborhood
        | Semantics::Unspecified
        | Semantics::Free
        | Semantics::NonblockingConstructor
        | Semantics::Process => false,
    }
}

#[test]
fn no_rank_leaves_before_all_that_it_depends_on_have_entered() {
    let (directory, _) = written(EVERYTHING, None);
    let instances = instances(&rank_files(&directory));
    let mut n_pairs = 0;
    let mut ahead = 0;
    for calls in instances.values() {
        for a in calls {
            assert!(a.leave >= a.enter);
            for b in calls {
                if depends(a, b) {
                    assert!(a.leave >= b.enter, "{a:?} before {b:?}");
                    n_pairs += 1;
                } else if a.leave < b.enter {
                    ahead += 1;
                }
            }
        }
    }
    assert!(n_pairs > 1000 && ahead > 100, "{n_pairs} {ahead}");
}

#[test]
fn the_files_have_the_calls_that_the_truth_counts() {
    let (directory, truth) = written(EVERYTHING, None);
    for (bytes, of_rank) in rank_files(&directory).iter().zip(&truth.ranks) {
        let trace = RankTrace::parse(bytes).unwrap();
        assert_eq!(trace.damage, []);
        assert!(records(&trace).is_sorted_by_key(|record| record.enter.get()));
        assert_eq!(records(&trace).count() as u64, of_rank.records);
        let is_counted =
            |record: &Record| !record.is_internal() && record.operation().unwrap().is_counted();
        let n_counted = records(&trace).filter(is_counted).count();
        assert_eq!(n_counted as u64, of_rank.calls);
        assert!(of_rank.internal_calls > 0);
    }
}

#[test]
fn sequence_tables_say_how_many_calls_came_before() {
    let threads = EVERYTHING.replace("# threads", "[threads]\nhalves = 1\nbridge = 2\n");
    for text in [EVERYTHING, &threads] {
        let (directory, _) = written(text, None);
        for bytes in &rank_files(&directory) {
            let trace = RankTrace::parse(bytes).unwrap();
            let mut chunks = trace.chunks.clone();
            chunks.sort_by_key(|chunk| chunk.offset);
            assert!(chunks.len() > 3);
            for chunk in &chunks {
                let opened = chunk.records.first().unwrap().enter.get();
                for entry in chunk.sequences {
                    let is_on_it = |record: &Record| {
                        record.communicator.get() == entry.communicator.get()
                            && record.operation().unwrap().semantics().is_matched()
                            && !record.is_internal()
                    };
                    let before = chunks
                        .iter()
                        .flat_map(|other| other.records.iter())
                        .filter(is_on_it)
                        .filter(|record| record.enter.get() < opened)
                        .count();
                    assert_eq!(before as u64, entry.calls.get());
                }
            }
        }
    }
}

#[test]
fn a_seed_gives_the_same_bytes_again_and_another_one_other_bytes() {
    let (first, second) = (written(EVERYTHING, None), written(EVERYTHING, None));
    assert_eq!(rank_files(&first.0), rank_files(&second.0));
    let third = written(EVERYTHING, Some(99));
    assert_ne!(rank_files(&first.0), rank_files(&third.0));
    assert_eq!(third.1.seed, 99);
}

/// They must never change by accident: traces are shared as scenario and seed.
#[test]
fn the_times_of_a_scenario_are_the_same_on_every_machine() {
    let text = "schema = 1\nname = \"pinned\"\n[[hosts]]\nname = \"a\"\nranks = 2\nghz = 2.3\n\
                [[program]]\nrepeat = 100\noperation = \"MPI_Allreduce\"\nbytes = 8\n\
                work = [{ normal_ns = [5000, 900] }, { exponential_ns = 700 }]\n";
    let (directory, _) = written(text, None);
    let sums: Vec<u32> = rank_files(&directory)
        .iter()
        .map(|bytes| {
            let trace = RankTrace::parse(bytes).unwrap();
            // FNV-1a of all times.
            let times = records(&trace).flat_map(|record| [record.enter.get(), record.leave.get()]);
            times
                .flat_map(u64::to_le_bytes)
                .fold(0x811c_9dc5, |sum, byte| {
                    (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193)
                })
        })
        .collect();
    assert_eq!(sums, [2_066_202_176, 3_081_078_211]);
}

#[test]
fn a_killed_rank_has_its_calls_and_the_others_wait_for_it() {
    for (in_flight, n_records) in [(true, 52), (false, 51)] {
        let text = format!(
            "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 3\n\
             [[program]]\nrepeat = 100\noperation = \"MPI_Barrier\"\n\
             [[faults]]\nrank = 1\nkilled_after_calls = 50\nin_flight = {in_flight}\n"
        );
        let (directory, truth) = written(&text, None);
        let files = rank_files(&directory);
        for (rank, bytes) in files.iter().enumerate() {
            let trace = RankTrace::parse(bytes).unwrap();
            let records: Vec<_> = records(&trace).collect();
            // MPI_Init included.
            let expected = if rank == 1 { n_records } else { 52 };
            assert_eq!(records.len(), expected);
            assert_eq!(records[expected - 1].is_in_flight(), rank != 1 || in_flight);
            assert_eq!(trace.damage, [collbench_formats::Damage::NotFinalized]);
            let under_way = truth.ranks[rank].in_flight.as_ref();
            assert_eq!(under_way.is_some(), rank != 1 || in_flight);
            assert!(under_way.is_none_or(|call| call.sequence == Some(50)));
        }
        let barrier = &truth.operations[0];
        assert_eq!((barrier.instances, barrier.incomplete), (50, 1));
    }
}

#[test]
fn the_truth_of_a_truncated_file_is_what_is_left() {
    let head = "schema = 1\nchunk_calls = 30\n[[hosts]]\nname = \"a\"\nranks = 2\n\
                [[program]]\nrepeat = 100\noperation = \"MPI_Reduce\"\nbytes = 8\n\
                [[faults]]\nrank = 1\n";
    for cut in [
        "cut_at_fraction = 0.6",
        "cut_at_byte = 10321",
        "cut_at_byte = 4096",
    ] {
        let (directory, truth) = written(&format!("{head}{cut}\n"), None);
        let files = rank_files(&directory);
        let trace = RankTrace::parse(&files[1]).unwrap();
        let n = records(&trace).count() as u64;
        assert_eq!(truth.ranks[1].records, n, "{cut}");
        let reduce = &truth.operations[0];
        assert_eq!(reduce.instances, truth.ranks[1].calls);
        assert_eq!(reduce.incomplete, 100 - reduce.instances);
    }
}

#[test]
fn recording_that_stopped_records_this_and_the_missed_calls() {
    let text = "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 2\n\
                [[program]]\nrepeat = 100\noperation = \"MPI_Barrier\"\n\
                [[faults]]\nrank = 0\nsize_reached_after_calls = 30\n";
    let (directory, truth) = written(text, None);
    let files = rank_files(&directory);
    let trace = RankTrace::parse(&files[0]).unwrap();
    let text = trace.damage[0].to_string();
    assert!(
        text.contains("size reached") && text.contains("70 calls"),
        "{text}"
    );
    assert_eq!(trace.damage.len(), 1);
    assert_eq!((truth.ranks[0].calls, truth.ranks[1].calls), (30, 100));
}

#[test]
fn only_a_trace_is_ever_replaced() {
    let (directory, _) = written(EVERYTHING, None);
    let scenario = directory.path().join("scenario.toml");
    let out = directory.path().join("trace");
    let again = |force| generate(&scenario, &out, None, force);
    assert!(matches!(again(false), Err(GenerateError::Exists { .. })));
    assert!(again(true).is_ok());
    fs::write(out.join("thesis.tex"), "years of work").unwrap();
    assert!(matches!(again(true), Err(GenerateError::NotATrace { .. })));
    assert!(out.join("run.json").exists());
    let file = generate(&scenario, &scenario, None, true);
    assert!(matches!(file, Err(GenerateError::NotATrace { .. })));
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).unwrap();
    assert!(generate(&scenario, &empty, None, false).is_ok());
}

#[test]
fn an_error_names_file_and_line() {
    let directory = tempfile::tempdir().unwrap();
    let scenario = directory.path().join("wrong.toml");
    fs::write(&scenario, "schema = 1\nhosts = []\nprogram = 3\n").unwrap();
    let wrong = generate(&scenario, &directory.path().join("trace"), None, false).unwrap_err();
    let text = wrong.to_string();
    assert!(text.contains("wrong.toml: line 3: "), "{text}");
    assert!(!directory.path().join("trace").exists());
}

#[test]
fn the_example_of_the_page_is_a_scenario() {
    let page = include_str!("SCENARIO.md");
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let (_directory, truth) = written(example, None);
    assert_eq!(truth.ranks[3].calls, 121);
}

/// A case calculated by hand: an independent check of everything that relies on the generator.
#[test]
fn the_truth_of_a_small_barrier_is_that_worked_out_by_hand() {
    let text = "schema = 1\n[[hosts]]\nname = \"a\"\nranks = 2\n[[hosts]]\nname = \"b\"\nranks = 1\n\
                [latency]\nbase_ns = 100\ndeparture_ns = 10\nacross_hosts_ns = 1000\n\
                [[program]]\noperation = \"MPI_Barrier\"\nwork = [{ each_ns = [0, 2000, 5000] }]\n";
    let (_directory, truth) = written(text, None);
    // Enters 0, 2000, 5000. Rank 2 releases all: it leaves at 5000 + 100 + 2 x 10, the others on
    // another host at 5000 + 100 + 1000, and 10 later.
    let barrier = &truth.operations[0];
    let sums = |times: &TrueTimes| {
        [
            &times.duration_ns,
            &times.wait_ns,
            &times.arrival_lag_ns,
            &times.core_ns,
            &times.departure_wait_ns,
        ]
        .map(|summary| (summary.n, summary.total, summary.min, summary.max))
    };
    assert_eq!(barrier.call_time_ns.total, 6100 + 4110 + 120);
    assert_eq!(
        sums(&barrier.global),
        [
            (1, 6110, 6110, 6110),
            (3, 8000, 0, 5000),
            (3, 8000, 0, 5000),
            (1, 120, 120, 120),
            (3, 980 + 990, 0, 990),
        ]
    );
    // On host a: enters 0 and 2000, leaves 6100 and 6110. Rank 2 has no rank to be compared with.
    assert_eq!(
        sums(&barrier.within_hosts),
        [
            (1, 6110, 6110, 6110),
            (2, 2000, 0, 2000),
            (3, 2000, 0, 2000),
            (0, 0, 0, 0),
            (3, 10, 0, 10),
        ]
    );
    assert_eq!(barrier.last_arrivals, [0, 0, 1]);
    assert_eq!(barrier.first_departures, [0, 0, 1]);
    assert_eq!(barrier.arrival_order, [[1, 0, 0], [0, 1, 0], [0, 0, 1]]);
    assert_eq!(barrier.departure_order, [[0, 1, 0], [0, 0, 1], [1, 0, 0]]);
    // MPI_Finalize takes 1 ms from the last enter.
    assert_eq!(truth.duration_ns, 6110 + 1_000_000);
}

#[test]
fn delays_hold_for_those_they_name_as_often_as_they_say() {
    let text = "schema = 1\ngrid_ns = 100\n[[hosts]]\nname = \"a\"\nranks = 2\n[[hosts]]\nname = \"b\"\nranks = 2\n\
                [[program]]\nrepeat = 4000\noperation = \"MPI_Allreduce\"\nbytes = 8\nwork = [\n\
                { constant_ns = 100000 }, { constant_ns = 5000, ranks = [3], share = 0.25 },\n\
                { constant_ns = 300, host = \"a\" }, { constant_ns = 1000, moves_every = 2 } ]\n";
    let (_directory, truth) = written(text, None);
    let last = &truth.operations[0].last_arrivals;
    // Rank 3 where it is late, and otherwise alternately: of the other 3,000 instances each rank
    // has a quarter, those in which the delay is at this rank.
    assert_eq!(truth.operations[0].last_tied, 0);
    assert!(last[3].abs_diff(1000 + 750) < 150, "{last:?}");
    assert!(last[..3].iter().all(|&n| n.abs_diff(750) < 100), "{last:?}");
}

#[test]
fn a_run_that_never_ends_is_an_error_of_its_step() {
    for step in [
        "work = [{ constant_ns = 1000000000000000 }]\nrepeat = 1000000000000\n",
        "operation = \"MPI_Barrier\"\nrepeat = 1000000\n\
         latency = { departure_ns = 1000000000000000 }\n",
        "repeat = 1000000\nwork = [{ constant_ns = 1000000000000000 }, \
         { noise = { period_ns = 1000000000000000, length_ns = 999999999999999 } }]\n",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let scenario = directory.path().join("scenario.toml");
        let text = format!("schema = 1\n[[hosts]]\nname = \"a\"\nranks = 2\n[[program]]\n{step}");
        fs::write(&scenario, text).unwrap();
        let wrong = generate(&scenario, &directory.path().join("t"), None, false).unwrap_err();
        assert!(
            wrong.to_string().contains("scenario.toml: line 5: "),
            "{wrong}"
        );
    }
}
