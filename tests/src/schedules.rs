//! Whether the messages of collectives are those of the schedules that `collbench-schedules` makes of the
//! algorithms that the library reports, or, of MPICH, that it was told to run.

mod groupings;
mod mpich;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use collbench_formats::{
    CODE_PAYLOAD_UNKNOWN, Definition, Direction, Note, RankTrace, Record, RecordKind,
};
use collbench_schedules::open_mpi::{Release, ran, schedule};
use collbench_schedules::{Call, Parameters, Process, Schedule, What};

use crate::machine::{Workspace, command};
use crate::rank_files;
use crate::room::{Room, side_by_side};
use crate::rules::RuledLibrary;
use crate::run::mpirun;

pub use groupings::{Runner, compare_groupings, compare_groupings_of_trees, groupings_of};
pub use mpich::MpichSchedules;

/// The operations of `programs/schedules.c` that have roots.
const ROOTED: [usize; 4] = [6, 8, 9, 13];

/// Names in parameters of the operations of `programs/schedules.c`, and how many algorithms there are of each, in Open MPI
/// 4.1, and in 5.0.
const OPERATIONS: [(&str, [u32; 2]); 14] = [
    ("allgather", [6, 7]),
    ("allgatherv", [5, 6]),
    ("allreduce", [6, 6]),
    ("alltoall", [5, 5]),
    ("alltoallv", [2, 2]),
    ("barrier", [6, 6]),
    ("bcast", [9, 9]),
    ("exscan", [2, 2]),
    ("gather", [3, 3]),
    ("reduce", [7, 7]),
    ("reduce_scatter", [4, 4]),
    ("reduce_scatter_block", [4, 4]),
    ("scan", [2, 2]),
    ("scatter", [3, 3]),
];

/// One end of a message: who is at the other end, and how much is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// `None`: where MPICH sends data of a type with gaps, how much is not recorded.
    Send {
        to: u32,
        bytes: Option<u64>,
    },
    Receive {
        from: Option<u32>,
    },
}

impl End {
    /// Whether this is what was recorded.
    fn is(self, recorded: Self) -> bool {
        match (self, recorded) {
            (Self::Send { to, .. }, Self::Send { to: other, bytes }) if bytes.is_none() => {
                to == other
            }
            _ => self == recorded,
        }
    }
}

/// A call as it was recorded.
#[derive(Debug, Clone, Default)]
struct Recorded {
    algorithms: Vec<String>,
    ends: Vec<End>,
}

/// A call as it was made.
#[derive(Debug, Clone, Copy)]
struct Made {
    number: usize,
    operation: usize,
    call: Call,
}

/// What was compared.
#[derive(Debug, Clone, Default)]
pub struct Schedules {
    /// Calls whose messages, or results, are those of their schedule, or grouping, by algorithm.
    pub equal: BTreeMap<String, u64>,
    /// Calls of which they are not.
    pub differences: Vec<String>,
    /// How many algorithms each operation has.
    n_algorithms: Vec<u32>,
    /// Calls that the library refused.
    pub refused: u64,
    /// Calls in which processes go on with whatever ends first, which have no schedule, and those of MPICH of which the senders
    /// are not known: the recorder could not learn the communicator from them.
    pub not_comparable: u64,
}

impl Schedules {
    /// Prints what was compared, and ends with status 1 where something differs.
    #[must_use]
    pub fn report(&self) -> ExitCode {
        for difference in &self.differences {
            let short: String = difference.chars().take(600).collect();
            println!("{short}");
        }
        for (algorithm, n) in &self.equal {
            println!("{n:6} {algorithm}");
        }
        println!(
            "{} calls, {} refused by the library, {} that cannot be compared, {} differences",
            self.equal.values().sum::<u64>(),
            self.refused,
            self.not_comparable,
            self.differences.len()
        );
        ExitCode::from(u8::from(!self.differences.is_empty()))
    }

    /// Goes on only if nothing differs, and each algorithm was compared.
    ///
    /// # Panics
    ///
    /// If not.
    pub fn expect(&self) {
        assert!(self.differences.is_empty(), "{:#?}", self.differences);
        let names: BTreeSet<&str> = self.equal.keys().flat_map(|of| of.split(" + ")).collect();
        let missing: Vec<&str> = (OPERATIONS.iter().zip(&self.n_algorithms))
            .filter(|((own, _), n)| {
                let own = format!("{own}_");
                names.iter().filter(|name| name.starts_with(&own)).count() < **n as usize
            })
            .map(|((own, _), _)| *own)
            .collect();
        assert!(missing.is_empty(), "{missing:?} of {names:?}");
    }

    /// What was compared, with each algorithm, and each difference, called as `name` says.
    #[must_use]
    pub fn renamed(mut self, name: impl Fn(String) -> String) -> Self {
        let equal = std::mem::take(&mut self.equal).into_iter();
        self.equal = equal.map(|(of, n)| (name(of), n)).collect();
        self.differences = self.differences.into_iter().map(name).collect();
        self
    }

    /// Adds what was compared elsewhere.
    pub fn add(&mut self, other: Self) {
        for (algorithm, n) in other.equal {
            *self.equal.entry(algorithm).or_default() += n;
        }
        self.differences.extend(other.differences);
        self.n_algorithms = other.n_algorithms;
        self.refused += other.refused;
        self.not_comparable += other.not_comparable;
    }
}

/// What a library is told.
#[derive(Debug, Clone, Copy)]
pub struct Forced {
    /// The number of the algorithm of each operation, from 1; of one that has fewer it begins again.
    pub algorithm: u32,
    /// Their parameters.
    pub parameters: Parameters,
}

impl Forced {
    fn variables(self, is_five: bool) -> Vec<(String, String)> {
        let mut variables = vec![("coll_tuned_use_dynamic_rules".to_owned(), 1)];
        let Parameters {
            segment_bytes,
            chains,
            requests,
            ..
        } = self.parameters;
        for (name, n_algorithms) in OPERATIONS {
            let n_algorithms = n_algorithms[usize::from(is_five)];
            let algorithm = (self.algorithm - 1) % n_algorithms + 1;
            let of = format!("coll_tuned_{name}_algorithm");
            variables.push((format!("{of}_segmentsize"), segment_bytes));
            variables.push((format!("{of}_chain_fanout"), chains as u64));
            variables.push((format!("{of}_max_requests"), requests as u64));
            variables.push((of, u64::from(algorithm)));
        }
        let named = variables.into_iter();
        named
            .map(|(name, value)| (format!("OMPI_MCA_{name}"), value.to_string()))
            .collect()
    }
}

/// The calls of `programs/schedules.c`, in order.
fn made(processes: &[usize], lengths: &[u64]) -> Vec<Made> {
    let mut made = Vec::new();
    for &n_processes in processes {
        for operation in 0..OPERATIONS.len() {
            for &bytes in lengths {
                let roots = [0, n_processes - 1];
                let n_roots = if ROOTED.contains(&operation) { 2 } else { 1 };
                for &root in &roots[..n_roots] {
                    made.push(Made {
                        number: made.len(),
                        operation,
                        call: Call {
                            n_processes,
                            root,
                            elements: bytes / 4,
                            element_bytes: 4,
                        },
                    });
                }
            }
        }
    }
    made
}

/// The collectives of a process, in order, without constructors of communicators.
fn recorded(path: &Path) -> Vec<Recorded> {
    let bytes = std::fs::read(path).expect("a rank file can be read");
    let trace = RankTrace::parse(&bytes).expect("a rank file");
    let names: BTreeMap<u32, String> = (trace.definitions.iter())
        .filter_map(|definition| match definition {
            Definition::Algorithm { index, name } => Some((index, name)),
            _ => None,
        })
        .collect();
    let mut calls: Vec<Recorded> = Vec::new();
    let mut is_wanted = false;
    let records = (trace.chunks.iter())
        .flat_map(|chunk| (0..chunk.records.len()).filter_map(|at| chunk.records.get(at)));
    for record in records {
        if record.kind() == Some(RecordKind::Call) && !record.is_internal() {
            is_wanted = is_collective(&record);
            if is_wanted {
                calls.push(Recorded::default());
            }
            continue;
        }
        let Some(call) = calls.last_mut().filter(|_| is_wanted) else {
            continue;
        };
        if let Some(Note::Algorithm(begun)) = record.note() {
            call.algorithms.push(names[&begun.index].clone());
        }
        if let Some(message) = record.message() {
            call.ends.push(match message.direction {
                Direction::Send => End::Send {
                    to: message.known_partner().expect("a send names its partner"),
                    bytes: (!record.word().has(CODE_PAYLOAD_UNKNOWN)).then_some(message.bytes),
                },
                Direction::Receive => End::Receive {
                    from: message.known_partner(),
                },
            });
        }
    }
    calls
}

fn is_collective(record: &Record) -> bool {
    let Some(operation) = record.operation() else {
        return false;
    };
    let name = operation.name().trim_start_matches("MPI_").to_lowercase();
    OPERATIONS.iter().any(|(of, _)| *of == name)
}

/// What a process of a schedule sends and receives, in order.
fn ends(process: &Process) -> Vec<End> {
    let ends = process
        .actions
        .iter()
        .filter_map(|action| match action.what {
            What::Send { to, bytes, .. } => Some(End::Send {
                to: to as u32,
                bytes: Some(bytes),
            }),
            What::Receive { from } => Some(End::Receive {
                from: from.map(|from| from as u32),
            }),
            What::Combine { .. } => None,
        });
    ends.collect()
}

/// The algorithms that the library reported for a call of an operation, the same on all processes.
fn reported<'r>(operation: &str, of_ranks: &[&'r Recorded]) -> Result<Vec<&'r str>, String> {
    let names = &of_ranks[0].algorithms;
    if let Some(other) = of_ranks.iter().find(|of| of.algorithms != *names) {
        let [one, other] = [names, &other.algorithms].map(|names| names.join(" + "));
        return Err(format!("{one} and {other}"));
    }
    let mut reported: Vec<&str> = names.iter().map(String::as_str).collect();
    // This one the library does not report.
    let own = "reduce_scatter_block";
    if operation == own && !reported.iter().any(|name| name.starts_with(own)) {
        reported.insert(0, "reduce_scatter_block_basic_linear");
    }
    Ok(reported)
}

/// Compares a call with the schedule of the algorithms that the library reported.
fn compare(
    release: Release,
    made: &Made,
    parameters: Parameters,
    of_ranks: &[&Recorded],
) -> Result<Option<String>, String> {
    let own = OPERATIONS[made.operation].0;
    let reported = reported(own, of_ranks)?;
    let together = reported.join(" + ");
    let named = ran(&reported, |_| parameters);
    let Some(schedule) = schedule(release, &named, &made.call) else {
        let goes_on_with_what_ends = own == "alltoall" && parameters.requests > 0;
        return if goes_on_with_what_ends {
            Ok(None)
        } else {
            Err(format!("no schedule of {together}"))
        };
    };
    compare_with(&schedule, &together, of_ranks)?;
    Ok(Some(together))
}

/// Compares a call with the schedule of what ran.
fn compare_with(schedule: &Schedule, ran: &str, of_ranks: &[&Recorded]) -> Result<(), String> {
    if let Err(error) = schedule.messages() {
        return Err(format!("{ran}: {error:?}"));
    }
    for (rank, (process, of)) in schedule.processes.iter().zip(of_ranks).enumerate() {
        let expected = ends(process);
        let agrees = (expected.iter().zip(&of.ends)).all(|(expected, end)| expected.is(*end));
        if expected.len() != of.ends.len() || !agrees {
            return Err(format!(
                "{ran}: rank {rank}: {:?}, expected {expected:?}",
                of.ends
            ));
        }
    }
    Ok(())
}

/// How `programs/schedules.c`, or `programs/grouped.c`, is run.
#[derive(Debug)]
struct Command {
    /// The launcher, up to the program.
    launcher: Vec<OsString>,
    executable: PathBuf,
    environment: Vec<(String, String)>,
    /// How long it may take, at most.
    seconds: u32,
}

/// What a run of a [`Command`] left.
#[derive(Debug)]
struct Ran {
    stdout: String,
    /// The collectives of each process, by rank, in order.
    of_ranks: Vec<Vec<Recorded>>,
}

impl Command {
    /// Runs it, and records some layers.
    ///
    /// # Errors
    /// What it said, if it failed.
    fn run(&self, (processes, lengths): (&[usize], &[u64]), layers: &str) -> Result<Ran, String> {
        let workspace = Workspace::new();
        let trace = workspace.path().join("trace");
        let mut line: Vec<OsString> = vec!["--kill-after=10".into()];
        line.extend(
            [
                self.seconds.to_string(),
                command("collbench-record").display().to_string(),
            ]
            .map(OsString::from),
        );
        line.extend(["--layers", layers, "-o"].map(OsString::from));
        line.extend([trace.clone().into(), "--".into()]);
        line.extend(self.launcher.iter().cloned());
        line.push(self.executable.clone().into());
        line.extend(processes.iter().map(|n| n.to_string().into()));
        line.push("--".into());
        line.extend(lengths.iter().map(|n| n.to_string().into()));
        let n_ranks = processes.iter().copied().max().unwrap_or(1);
        let room = Room::wait_for(n_ranks);
        let output = std::process::Command::new("timeout")
            .args(line)
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .output()
            .expect("timeout can be run");
        drop(room);
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{:?}: {stderr}", self.environment));
        }
        let of_ranks = rank_files(&trace).into_iter().map(|path| recorded(&path));
        Ok(Ran {
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            of_ranks: of_ranks.collect(),
        })
    }

    /// Runs and records it, and compares each call.
    fn compare(
        self,
        sizes: (&[usize], &[u64]),
        each: impl Fn(&Made, &[&Recorded]) -> Result<Option<String>, String>,
    ) -> Schedules {
        let mut found = Schedules::default();
        let Ran { stdout, of_ranks } = match self.run(sizes, "calls,algorithms,messages") {
            Ok(ran) => ran,
            Err(error) => {
                found.differences.push(error);
                return found;
            }
        };
        let refused: Vec<usize> = stdout
            .lines()
            .filter_map(|line| line.parse().ok())
            .collect();
        let mut next = vec![0; of_ranks.len()];
        for made in made(sizes.0, sizes.1) {
            let mut calls = Vec::new();
            for rank in 0..made.call.n_processes {
                calls.push(&of_ranks[rank][next[rank]]);
                next[rank] += 1;
            }
            if refused.contains(&made.number) {
                found.refused += 1;
                continue;
            }
            match each(&made, &calls) {
                Ok(Some(algorithm)) => *found.equal.entry(algorithm).or_default() += 1,
                Ok(None) => found.not_comparable += 1,
                Err(difference) => found.differences.push(format!(
                    "{} of {:?}: {difference}",
                    OPERATIONS[made.operation].0, made.call
                )),
            }
        }
        found
    }
}

/// `programs/schedules.c`, or another program that is called alike, told to run some algorithms.
fn told(library: &RuledLibrary, forced: Forced, processes: &[usize]) -> Command {
    let mut launcher = mpirun(processes.iter().copied().max().unwrap_or(1));
    launcher[0].clone_from(&library.launcher[0]);
    let mut environment = forced.variables(library.reader.has_sparbit);
    environment.push(("OMPI_MCA_mpi_yield_when_idle".to_owned(), "1".to_owned()));
    if !library.library.is_empty() {
        environment.push(("LD_LIBRARY_PATH".to_owned(), library.library.clone()));
    }
    Command {
        launcher,
        executable: library.executable.clone(),
        environment,
        seconds: 300,
    }
}

/// Runs all operations with an algorithm, and compares all calls with its schedules.
///
/// # Panics
///
/// If a command cannot be run.
#[must_use]
pub fn compare_schedules(
    library: &RuledLibrary,
    forced: Forced,
    (processes, lengths): (&[usize], &[u64]),
) -> Schedules {
    let is_five = library.reader.has_sparbit;
    let command = told(library, forced, processes);
    let release = if is_five {
        Release::V5_0
    } else {
        Release::V4_1
    };
    let found = command.compare((processes, lengths), |made, of_ranks| {
        compare(release, made, forced.parameters, of_ranks)
    });
    Schedules {
        n_algorithms: (OPERATIONS.iter())
            .map(|(_, n)| n[usize::from(is_five)])
            .collect(),
        ..found
    }
}

/// All algorithms, with and without segments.
#[must_use]
pub fn forced(algorithms: &[u32]) -> Vec<Forced> {
    let segmented = Parameters {
        segment_bytes: 1024,
        chains: 3,
        requests: 2,
        ..Parameters::default()
    };
    let of_algorithm = |&algorithm: &u32| {
        [Parameters::default(), segmented].map(|parameters| Forced {
            algorithm,
            parameters,
        })
    };
    algorithms.iter().flat_map(of_algorithm).collect()
}

/// Runs all algorithms on communicators of these sizes, with some lengths and two roots.
///
/// # Panics
///
/// If a command cannot be run.
#[must_use]
pub fn schedules_of(library: &RuledLibrary, processes: &[usize]) -> Schedules {
    let algorithms: Vec<u32> = (1..=9).collect();
    let lengths = [8, 4096, 262_144];
    let of_each = side_by_side(&forced(&algorithms), |&forced| {
        compare_schedules(library, forced, (processes, &lengths))
    });
    let mut sum = Schedules::default();
    of_each.into_iter().for_each(|of| sum.add(of));
    sum
}
