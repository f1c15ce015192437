//! Sums do not depend on how the work is divided: any partition of the instances among any number of
//! workers, merged in any grouping and order, gives the same sums, to the byte of their serialized
//! form. Each part is written and read before it is merged, as if it came from another machine.

use std::path::Path;

use bincode::config::{Configuration, standard};
use collbench_analyzer::steps::{
    Adder, Clocks, Communicators, Merge, Outcome, Run, Sums, Tally, match_calls,
};
use collbench_analyzer::{RunFiles, Selection};
use collbench_formats::{CODE_FAILED, CompletingCall, Direction, Operation, ROOT_NONE};
use collbench_stats::random::Random;
use proptest::prelude::*;

use crate::built::{TestTrace, begin, call, complete, initiation, message, phase, split};

const WRITTEN: Configuration = standard();

fn written(sums: &Sums) -> Vec<u8> {
    bincode::serde::encode_to_vec(sums, WRITTEN).unwrap()
}

fn read(bytes: &[u8]) -> Sums {
    let (sums, n_read) = bincode::serde::decode_from_slice(bytes, WRITTEN).unwrap();
    assert_eq!(n_read, bytes.len());
    sums
}

/// Distributes matched instances among several workers, runs of random length to each.
struct Dealer<'a> {
    workers: Vec<Tally<'a>>,
    random: Random,
    /// The current worker, and how many more it gets.
    at: usize,
    n_left: usize,
    most_in_a_row: usize,
}

impl Adder for Dealer<'_> {
    type Sums = Parts;
    type Rows = ();

    fn take(&mut self, matched: Outcome<'_>) {
        if self.n_left == 0 {
            self.at = self.random.below(self.workers.len());
            self.n_left = 1 + self.random.below(self.most_in_a_row);
        }
        self.n_left -= 1;
        self.workers[self.at].take(matched);
    }

    fn hand_over_rows(&mut self) {}

    fn finish(self) -> Parts {
        Parts(self.workers.into_iter().map(Adder::finish).collect())
    }
}

struct Parts(Vec<Sums>);

impl Merge for Parts {
    fn merge(&mut self, other: Self) {
        self.0.extend(other.0);
    }
}

/// How instances are shared out.
#[derive(Debug, Clone, Copy)]
struct Partition {
    n_workers: usize,
    most_in_a_row: usize,
    seed: u64,
}

fn partition() -> impl Strategy<Value = Partition> {
    (
        prop::sample::select(vec![2usize, 5, 100]),
        prop::sample::select(vec![1usize, 3, 50]),
        any::<u64>(),
    )
        .prop_map(|(n_workers, most_in_a_row, seed)| Partition {
            n_workers,
            most_in_a_row,
            seed,
        })
}

/// The sums of the trace in a directory, added up by one worker, and by several.
fn sums(directory: &Path, selection: &Selection, partitions: &[Partition]) -> Vec<Vec<u8>> {
    let files = RunFiles::open(directory).unwrap();
    let run = Run::read(&files).unwrap();
    let clocks = Clocks::fit(&run);
    let communicators = Communicators::agree(&run, &clocks);
    let selection = selection.resolve(&communicators, run.world_size).unwrap();
    let nothing = || Tally::new(&run, &clocks, &communicators, &selection);
    let window = 1 << 16;
    let of_one = || {
        let (whole, _) = match_calls(
            &run,
            &clocks,
            &communicators,
            Some(window),
            &mut |_| {},
            &nothing,
        );
        written(&whole)
    };
    let of_several = |partition: &Partition| {
        let dealer = || Dealer {
            workers: (0..partition.n_workers).map(|_| nothing()).collect(),
            random: Random::from_state(partition.seed),
            at: 0,
            n_left: 0,
            most_in_a_row: partition.most_in_a_row,
        };
        let (Parts(mut parts), _) = match_calls(
            &run,
            &clocks,
            &communicators,
            Some(window),
            &mut |_| {},
            &dealer,
        );
        let mut random = Random::from_state(!partition.seed);
        while parts.len() > 1 {
            let other = parts.swap_remove(random.below(parts.len()));
            let at = random.below(parts.len());
            parts[at] = read(&written(&parts[at]));
            parts[at].merge(read(&written(&other)));
        }
        written(&parts[0])
    };
    // One thread: otherwise the distribution would differ from run to run.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    pool.unwrap().install(|| {
        let mut all = vec![of_one()];
        all.extend(partitions.iter().map(of_several));
        all
    })
}

#[track_caller]
fn are_alike(directory: &Path, selection: &Selection, partitions: &[Partition]) {
    let all = sums(directory, selection, partitions);
    let (whole, others) = all.split_first().unwrap();
    assert!(whole.len() > 100);
    assert!(
        written(&read(whole)) == *whole,
        "what is read is not what was written"
    );
    for (partition, other) in partitions.iter().zip(others) {
        assert!(other == whole, "{partition:?} of {selection:?}");
    }
}

/// Four ranks on two hosts that make random calls, on the world, on two halves and on themselves; and do all
/// that they should not.
fn drawn(seed: u64, is_long: bool, has_messages: bool) -> TestTrace {
    let mut random = Random::from_state(seed);
    let mut trace = TestTrace::new(4);
    let are_apart = random.below(2) == 1;
    for (rank, process) in (0..4u32).zip(&mut trace.processes) {
        let members: &[u32] = if rank < 2 { &[0, 1] } else { &[2, 3] };
        process.define(split(2, 20 + u64::from(rank / 2), members, rank, 0));
        if has_messages {
            process.with_messages();
        }
        if are_apart && rank > 1 {
            process.on_host("n02");
        }
    }
    let operations = [
        Operation::Barrier,
        Operation::Bcast,
        Operation::Allreduce,
        Operation::Reduce,
        Operation::Scan,
        Operation::Iallreduce,
    ];
    // One operation only, so that there are more graphs of it than are kept.
    let is_of_one = random.below(3) == 0;
    // Beyond some power of two of the shortest stretch, or not.
    let step = if is_long {
        1 << (8 + random.below(12))
    } else {
        1000
    };
    let n_of_second = if random.below(2) == 0 { 40 } else { 120 };
    let mut n_on = [[0; 3]; 4];
    for n in 0..120u64 {
        let operation = if is_of_one {
            Operation::Allreduce
        } else {
            operations[random.below(6)]
        };
        let on = random.below(if is_of_one { 1 } else { 3 });
        let root = if operation.semantics().is_rooted() {
            random.below(if on == 1 { 1 } else { 2 }) as i32
        } else {
            ROOT_NONE
        };
        // One of them does something else.
        let odd = (!is_of_one && random.below(12) == 0).then(|| (random.below(4), random.below(4)));
        let messages: Vec<(u32, u32)> = (0..random.below(if is_of_one { 12 } else { 5 }))
            .map(|_| (random.below(4) as u32, random.below(4) as u32))
            .filter(|(from, to)| from != to && has_messages && on == 0)
            .collect();
        for (rank, process) in trace.processes.iter_mut().enumerate() {
            // One half comes to its end before the other one, where they do not meet again.
            if n >= n_of_second && rank > 1 {
                continue;
            }
            let enter = step * n + random.below(900) as u64;
            let leave = enter + 40 + random.below(step as usize) as u64;
            let position = n_on[rank][on];
            n_on[rank][on] += 1;
            let odd = odd.filter(|(who, _)| *who == rank).map(|(_, what)| what);
            let mut operation = operation;
            let mut bytes = if is_of_one { 8 } else { 8 * (n % 3) };
            match odd {
                Some(0) => operation = Operation::Allgather,
                Some(1) => bytes += 8,
                _ => {}
            }
            if random.below(40) == 0 {
                process.call(phase((n % 2) as i32, enter - enter.min(1)));
            }
            if operation.is_nonblocking() {
                let begun = (enter, enter + 10);
                process.call(begin(operation, on as u32, root, bytes, begun));
                let of = initiation(on as u32, position);
                if odd != Some(2) {
                    let ended = (enter + 20, leave);
                    process.call(complete(of, CompletingCall::Wait, 1, ended));
                }
                continue;
            }
            let mut record = call(operation, on as u32, root, bytes, (enter, leave));
            match odd {
                Some(2) => record.code = (record.code.get() | CODE_FAILED).into(),
                // Under way for ever; where others follow, damage.
                Some(3) => record.leave = 0.into(),
                _ => {}
            }
            process.call(record);
            for &(from, to) in &messages {
                let at = enter + random.below(30) as u64;
                if from == rank as u32 {
                    process.call(message(Direction::Send, 0, to, (at, at + 5)));
                } else if to == rank as u32 {
                    process.call(message(Direction::Receive, 0, from, (at, at + 5)));
                }
            }
        }
    }
    // To the end of the last stretch that there can be: what comes behind it needs longer ones.
    let end = 128_000u64
        << (step * 130 / 128_000)
            .checked_ilog2()
            .map_or(0, |doublings| doublings + 1);
    for process in &mut trace.processes[..2] {
        process.call(call(Operation::Barrier, 2, ROOT_NONE, 0, (end - 90, end)));
    }
    match random.below(4) {
        0 => trace.processes[random.below(4)].chunks[0]
            .records
            .truncate(35),
        1 => drop(
            trace.processes[random.below(4)].chunks[0]
                .records
                .remove(30),
        ),
        _ => {}
    }
    trace
}

fn selection() -> impl Strategy<Value = Selection> {
    let some_ranks = Selection {
        ranks: vec![(1, 2)],
        ..Selection::default()
    };
    prop::sample::select(vec![Selection::default(), Selection::default(), some_ranks])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn drawn_runs_come_to_the_same_sums_whoever_has_seen_what(
        seed: u64,
        is_long: bool,
        has_messages: bool,
        selection in selection(),
        partitions in prop::collection::vec(partition(), 2),
    ) {
        let directory = drawn(seed, is_long, has_messages).in_directory();
        are_alike(directory.path(), &selection, &partitions);
    }
}

/// A generated scenario of the tests or benches, `repeat` replaced in those.
fn generated(scenario: &str, repeat: Option<u32>, partitions: &[Partition]) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(scenario);
    let mut text = std::fs::read_to_string(file).unwrap();
    if let Some(repeat) = repeat {
        let lines = text.lines().map(|line| {
            if line.starts_with("repeat = ") {
                format!("repeat = {repeat}\n")
            } else {
                format!("{line}\n")
            }
        });
        text = lines.collect();
    }
    let directory = tempfile::tempdir().unwrap();
    let trace = crate::seeds::trace_in(directory.path(), &text, Some(7));
    are_alike(&trace, &Selection::default(), partitions);
}

const PARTITIONS: [Partition; 3] = [
    Partition {
        n_workers: 2,
        most_in_a_row: 1,
        seed: 1,
    },
    Partition {
        n_workers: 5,
        most_in_a_row: 40,
        seed: 2,
    },
    Partition {
        n_workers: 60,
        most_in_a_row: 3,
        seed: 3,
    },
];

#[test]
fn scenarios_come_to_the_same_sums_whoever_has_seen_what() {
    for name in [
        "besides",
        "everything",
        "hosts",
        "inside",
        "inside_nonblocking",
        "nonblocking",
    ] {
        generated(&format!("tests/scenarios/{name}.toml"), None, &PARTITIONS);
    }
}

#[test]
fn sums_of_so_many_samples_that_they_are_counted_are_the_same_too() {
    // More than are listed in a distribution, and in one of a place inside.
    generated(
        "benches/scenarios/64-ranks.toml",
        Some(140),
        &PARTITIONS[1..],
    );
    generated(
        "benches/scenarios/messages.toml",
        Some(300),
        &PARTITIONS[1..2],
    );
}
