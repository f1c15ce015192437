//! What reductions give, to the bit, compared with the groupings that `collbench-schedules` says they have.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use collbench_formats::tree::{Collective, Place};
use collbench_schedules::open_mpi::{grouping, ran};
use collbench_schedules::own_trees::{self, TreeCall};
use collbench_schedules::{Call, Grouping, mpich};
use collbench_tree_files::TreeFile;
use collbench_trees::wrappers::{Members, Order, tree_for};

use super::mpich::{MpichSchedules, PARAMETERS};
use super::{Forced, OPERATIONS, Ran, Recorded, Schedules, reported, told};
use crate::machine::Workspace;
use crate::room::side_by_side;
use crate::rules::RuledLibrary;
use crate::run::Job;

/// The operations of `programs/grouped.c`.
const REDUCTIONS: [&str; 6] = [
    "allreduce",
    "exscan",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
];
/// Length of the numbers that are combined, bytes.
const ELEMENT_BYTES: u64 = 8;

/// How numbers are combined in `programs/grouped.c`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Op {
    Hash,
    Sum,
}

fn mixed(z: u64) -> u64 {
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Op {
    /// The bits of what a process contributes.
    fn contribution(self, rank: usize) -> u64 {
        let random = mixed(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(rank as u64 + 1));
        match self {
            Self::Hash => random,
            Self::Sum => {
                let values = [1e16, 1.0, -1e16, 3.0, -1.0, 1e8, -3e15, 0.1];
                let value: f64 = values[(random % 8) as usize] + (random >> 40) as f64;
                value.to_bits()
            }
        }
    }

    fn combine(self, one: u64, other: u64) -> u64 {
        match self {
            Self::Hash => {
                let most = mixed(one.max(other)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
                mixed(one.min(other).wrapping_add(most))
            }
            Self::Sum => (f64::from_bits(one) + f64::from_bits(other)).to_bits(),
        }
    }
}

/// A result: runs of equal elements, each with their number and their bits.
type Runs = Vec<(u64, u64)>;

/// A call as it was made.
#[derive(Debug, Clone, Copy)]
struct Made {
    number: usize,
    operation: &'static str,
    op: Op,
    call: Call,
}

/// The calls of `programs/grouped.c`, in order.
fn made((processes, lengths): (&[usize], &[u64])) -> Vec<Made> {
    let mut made = Vec::new();
    for &n_processes in processes {
        for operation in REDUCTIONS {
            for &bytes in lengths {
                let roots = [0, n_processes - 1];
                let n_roots = if operation == "reduce" { 2 } else { 1 };
                for &root in &roots[..n_roots] {
                    for op in [Op::Hash, Op::Sum] {
                        made.push(Made {
                            number: made.len(),
                            operation,
                            op,
                            call: Call {
                                n_processes,
                                root,
                                elements: bytes / ELEMENT_BYTES,
                                element_bytes: ELEMENT_BYTES,
                            },
                        });
                    }
                }
            }
        }
    }
    made
}

/// What the program said.
#[derive(Debug, Default)]
struct Said {
    /// By number of the call and rank; `None`: it was refused.
    results: BTreeMap<(usize, usize), Option<Runs>>,
    /// The host of each rank.
    hosts: Vec<String>,
}

impl Said {
    fn of(stdout: &str) -> Self {
        let mut said = Self::default();
        for line in stdout.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            if let ["host", name] = words[..] {
                said.hosts.push(name.to_owned());
                continue;
            }
            let [number, rank] = [0, 1].map(|at| words[at].parse().expect("a number"));
            let runs = words[2..].iter().map(|word| {
                let (elements, bits) = word.split_once(':')?;
                let bits = u64::from_str_radix(bits, 16).ok()?;
                Some((elements.parse().ok()?, bits))
            });
            said.results.insert((number, rank), runs.collect());
        }
        said
    }

    fn is_refused(&self, made: &Made) -> bool {
        let mut ranks = 0..made.call.n_processes;
        ranks.any(|rank| self.results.get(&(made.number, rank)) == Some(&None))
    }

    /// Whether what each process got is what a grouping says.
    fn compare(&self, made: &Made, grouping: &Grouping) -> Result<(), String> {
        let expected = grouping.evaluate(
            |rank| made.op.contribution(rank),
            |one, other| made.op.combine(one, other),
        );
        for (rank, expected) in expected.iter().enumerate() {
            let got = match self.results.get(&(made.number, rank)) {
                Some(Some(runs)) => &runs[..],
                _ => &[],
            };
            let expected = runs(expected);
            if got != expected {
                let of = grouping.expressions(rank);
                return Err(format!(
                    "rank {rank}: {got:x?}, expected {expected:x?}: {of:?}"
                ));
            }
        }
        Ok(())
    }
}

/// Values of consecutive elements, those that are equal together.
fn runs(values: &[(u64, u64)]) -> Runs {
    let mut runs: Runs = Vec::new();
    for &(elements, bits) in values {
        match runs.last_mut() {
            Some(last) if last.1 == bits => last.0 += elements,
            _ => runs.push((elements, bits)),
        }
    }
    runs
}

/// Compares all calls. `each` gives the grouping of one, with the name of what ran; nothing for calls
/// that are not compared.
fn compare<'m>(
    said: &Said,
    made: impl IntoIterator<Item = &'m Made>,
    mut each: impl FnMut(&Made) -> Result<Option<(String, Grouping)>, String>,
) -> Schedules {
    let mut found = Schedules::default();
    for made in made {
        if said.is_refused(made) {
            found.refused += 1;
            continue;
        }
        let of = each(made).and_then(|of| match of {
            Some((name, grouping)) => said.compare(made, &grouping).map(|()| Some(name)),
            None => Ok(None),
        });
        match of {
            Ok(Some(name)) => *found.equal.entry(name).or_default() += 1,
            Ok(None) => {}
            Err(difference) => {
                let Made { op, call, .. } = made;
                let of = made.operation;
                found
                    .differences
                    .push(format!("{of}, {op:?}, {call:?}: {difference}"));
            }
        }
    }
    found
}

/// The records of each call, by number and rank.
fn records<'r>(made: &[Made], of_ranks: &'r [Vec<Recorded>]) -> Vec<Vec<&'r Recorded>> {
    let mut next = vec![0; of_ranks.len()];
    let of_call = |made: &Made| {
        let ranks = 0..made.call.n_processes;
        let records = ranks.map(|rank| {
            next[rank] += 1;
            &of_ranks[rank][next[rank] - 1]
        });
        records.collect()
    };
    made.iter().map(of_call).collect()
}

/// What launches a program on some hosts.
#[derive(Debug, Clone, Default)]
pub struct Runner<'a> {
    /// The launcher, without the number of processes; empty for the `mpirun` of the library.
    pub launcher: Vec<OsString>,
    /// Words for it.
    pub options: &'a [&'a str],
    /// Variables for all.
    pub variables: &'a [(&'a str, &'a str)],
}

/// Runs all reductions of Open MPI with an algorithm, and compares what each process gets.
///
/// # Panics
///
/// If a command cannot be run.
#[must_use]
pub fn compare_groupings(
    library: &RuledLibrary,
    runner: &Runner<'_>,
    forced: Forced,
    sizes: (&[usize], &[u64]),
) -> Schedules {
    let mut command = told(library, forced, sizes.0);
    if !runner.launcher.is_empty() {
        let n_ranks = sizes.0.iter().max().unwrap_or(&1).to_string();
        command.launcher = [&runner.launcher[..], &["-n".into(), n_ranks.into()]].concat();
    }
    let options = runner.options.iter().map(OsString::from);
    command.launcher.extend(options);
    let variables = runner.variables.iter();
    let variables = variables.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    command.environment.extend(variables);
    let Ran { stdout, of_ranks } = match command.run(sizes, "calls,algorithms") {
        Ok(ran) => ran,
        Err(error) => {
            return Schedules {
                differences: vec![error],
                ..Schedules::default()
            };
        }
    };
    let made = made(sizes);
    let records = records(&made, &of_ranks);
    let found = compare(&Said::of(&stdout), &made, |made| {
        let reported = reported(made.operation, &records[made.number])?;
        let named = ran(&reported, |_| forced.parameters);
        let together = reported.join(" + ");
        let grouping = grouping(&named, &made.call);
        let grouping = grouping.ok_or_else(|| format!("no grouping of {together}"))?;
        Ok(Some((together, grouping)))
    });
    let is_five = usize::from(library.reader.has_sparbit);
    let n_algorithms = OPERATIONS.iter().map(|(own, n)| {
        if REDUCTIONS.contains(own) {
            n[is_five]
        } else {
            0
        }
    });
    Schedules {
        n_algorithms: n_algorithms.collect(),
        ..found
    }
}

/// Runs all reductions with some algorithms, each in a launch of its own, on communicators of these sizes.
///
/// # Panics
///
/// If a command cannot be run.
#[must_use]
pub fn groupings_of(
    library: &RuledLibrary,
    runner: &Runner<'_>,
    forced: &[Forced],
    sizes: (&[usize], &[u64]),
) -> Schedules {
    let of_each = side_by_side(forced, |&forced| {
        compare_groupings(library, runner, forced, sizes)
    });
    let mut sum = Schedules::default();
    of_each.into_iter().for_each(|of| sum.add(of));
    sum
}

impl MpichSchedules {
    /// Runs all algorithms of its reductions on communicators of these sizes, and compares what each process gets. A call
    /// for which an algorithm is not made is refused.
    ///
    /// # Panics
    ///
    /// If a command cannot be run.
    #[must_use]
    pub fn compare_groupings(&self, sizes: (&[usize], &[u64])) -> Schedules {
        let mut sum = Schedules::default();
        for number in 0..self.most_algorithms(&REDUCTIONS) {
            for parameters in PARAMETERS {
                let (command, algorithms) = self.told(number, parameters, sizes.0);
                let stdout = match command.run(sizes, "calls") {
                    Ok(ran) => ran.stdout,
                    Err(error) => {
                        sum.differences.push(error);
                        continue;
                    }
                };
                let said = Said::of(&stdout);
                sum.add(compare(&said, &made(sizes), |made| {
                    let mut operations = OPERATIONS.iter();
                    let at = operations.position(|(own, _)| *own == made.operation);
                    let name = algorithms[at.expect("a reduction is an operation")];
                    let grouping = mpich::grouping(name, &made.call, &parameters);
                    let grouping = grouping.ok_or_else(|| format!("no grouping of {name}"))?;
                    Ok(Some((name.to_owned(), grouping)))
                }));
            }
        }
        sum
    }
}

/// Runs all reductions over the trees of a file, and compares the sums that each process gets. Others than allreduce and
/// reduce have no trees.
///
/// # Panics
///
/// If a command cannot be run, or the file has a mistake.
#[must_use]
pub fn compare_groupings_of_trees(
    runner: &Runner<'_>,
    text: &str,
    sizes: (&[usize], &[u64]),
) -> Schedules {
    let workspace = Workspace::new();
    let path = workspace.path().join("grouped.toml");
    std::fs::write(&path, text).expect("a file in the workspace");
    let file = TreeFile::parse(text, Path::new("")).expect("a tree file");
    let arguments: Vec<String> = (sizes.0.iter().map(usize::to_string))
        .chain(["--".to_owned()])
        .chain(sizes.1.iter().map(u64::to_string))
        .collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let n_ranks = sizes.0.iter().copied().max().unwrap_or(1);
    let program = crate::machine::program("grouped.c");
    let job = Job {
        launcher: runner.launcher.clone(),
        launcher_options: runner.options,
        variables: runner.variables,
        options: &["--no-trace", "--trees", path.to_str().expect("a path")],
        ..Job::new(n_ranks, program, &arguments)
    };
    let (finished, _) = job.record(workspace.path());
    let said = Said::of(&finished.expect(0).stdout);
    compare(&said, &made(sizes), |made| {
        let collective = match made.operation {
            "allreduce" => Collective::Allreduce,
            "reduce" => Collective::Reduce,
            _ => return Ok(None),
        };
        if made.op == Op::Hash {
            return Ok(None);
        }
        let Call {
            n_processes, root, ..
        } = made.call;
        let names = &said.hosts[..n_processes];
        let place = |name: &String| Place {
            host: names.iter().position(|other| other == name).unwrap_or(0) as u32,
            ..Place::default()
        };
        let places: Vec<Place> = names.iter().map(place).collect();
        let members = Members {
            hosts: names,
            places: &places,
        };
        let bytes = made.call.elements * ELEMENT_BYTES;
        let of_call = (collective, collective.has_root().then_some(root as u32));
        let tree = tree_for(&file.rules, of_call, bytes, Order::Any, members);
        let Some((rule, tree)) = tree else {
            return Ok(None);
        };
        let call = TreeCall {
            collective,
            root: root as u32,
            bytes,
            element_bytes: ELEMENT_BYTES,
        };
        let grouping = own_trees::grouping(&tree, &call).map_err(|error| error.to_string())?;
        let line = file.rules.rules[rule].line as usize;
        let name = format!("{} over the tree of line {line}", made.operation);
        Ok(grouping.map(|grouping| (name, grouping)))
    })
}
