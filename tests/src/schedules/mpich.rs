//! MPICH: what runs is known because it is told to run that, or nothing.

use std::path::PathBuf;

use collbench_schedules::Parameters;
use collbench_schedules::mpich::{names, schedule};

use super::{Command, End, OPERATIONS, Recorded, Schedules};
use crate::machine::{source_dir, target_dir};

/// Algorithms that MPICH 4 does not have.
const NOT_IN_4: [&str; 9] = [
    "MPIR_Allreduce_intra_recursive_multiplying",
    "MPIR_Allreduce_intra_ring",
    "MPIR_Allreduce_intra_tree kary",
    "MPIR_Allreduce_intra_tree knomial_1",
    "MPIR_Allreduce_intra_tree knomial_2",
    "MPIR_Barrier_intra_k_dissemination",
    "MPIR_Bcast_intra_tree kary",
    "MPIR_Bcast_intra_tree knomial_1",
    "MPIR_Bcast_intra_tree knomial_2",
];

/// Algorithms that MPICH 5 does not have.
const NOT_IN_5: [&str; 1] = ["MPIR_Barrier_intra_dissemination"];

/// With which parameters algorithms are run.
pub(super) const PARAMETERS: [Parameters; 2] = [
    Parameters {
        segment_bytes: 0,
        chains: 4,
        radix: 4,
        requests: 0,
    },
    Parameters {
        segment_bytes: 1024,
        chains: 4,
        radix: 3,
        requests: 2,
    },
];

/// An MPICH that runs `programs/schedules.c`.
#[derive(Debug)]
pub struct MpichSchedules {
    launcher: PathBuf,
    libraries: PathBuf,
    executable: PathBuf,
    /// All its algorithms.
    names: Vec<&'static str>,
}

impl MpichSchedules {
    /// Debian's, if `scripts/mpis.sh` has unpacked it, and a program of `programs/`.
    ///
    /// # Panics
    ///
    /// If the program for it cannot be compiled.
    #[must_use]
    pub fn of_debian(name: &str) -> Option<Self> {
        let usr = target_dir().join("mpis/debian-mpich/usr");
        let libraries = usr.join("lib/x86_64-linux-gnu");
        let include = usr.join("include/x86_64-linux-gnu/mpich");
        let library = libraries.join("libmpich.so.12");
        library.exists().then(|| Self {
            launcher: usr.join("bin/mpiexec.hydra"),
            executable: compile(name, "mpich-4", include, library),
            libraries,
            names: names().filter(|name| !NOT_IN_4.contains(name)).collect(),
        })
    }

    /// MPICH 5, if `scripts/mpis.sh` has installed it, and a program of `programs/`.
    ///
    /// # Panics
    ///
    /// As [`Self::of_debian`].
    #[must_use]
    pub fn five(name: &str) -> Option<Self> {
        let root = target_dir().join("mpis/mpich");
        let libraries = root.join("lib");
        let library = libraries.join("libmpi.so.12");
        library.exists().then(|| Self {
            launcher: root.join("bin/mpiexec"),
            executable: compile(name, "mpich-5", root.join("include"), library),
            libraries,
            names: names().filter(|name| !NOT_IN_5.contains(name)).collect(),
        })
    }

    /// Runs all algorithms on communicators of these sizes, with some lengths and two roots.
    ///
    /// # Panics
    ///
    /// If a command cannot be run.
    #[must_use]
    pub fn compare(&self, processes: &[usize], lengths: &[u64]) -> Schedules {
        let mut sum = Schedules::default();
        for number in 0..self.most_algorithms(&OPERATIONS.map(|(own, _)| own)) {
            for parameters in PARAMETERS {
                sum.add(self.run(number, parameters, (processes, lengths)));
            }
        }
        let missing = self
            .names
            .iter()
            .filter(|name| !sum.equal.contains_key(**name));
        let missing: Vec<String> = missing.map(|name| format!("{name} never ran")).collect();
        sum.differences.extend(missing);
        sum
    }

    /// How many algorithms that one of some operations has that has most.
    pub(super) fn most_algorithms(&self, operations: &[&str]) -> usize {
        let n = operations.iter().map(|own| self.of(own).len());
        n.max().unwrap_or(0)
    }

    /// The algorithms of an operation.
    pub(super) fn of(&self, operation: &str) -> Vec<&'static str> {
        let is_of = |name: &&&str| split(name).0 == operation;
        self.names.iter().filter(is_of).copied().collect()
    }

    /// The program, told to run the algorithms that have a number, from 0, of all operations; those that have fewer begin
    /// again.
    pub(super) fn told(
        &self,
        number: usize,
        parameters: Parameters,
        processes: &[usize],
    ) -> (Command, [&'static str; OPERATIONS.len()]) {
        let algorithms = OPERATIONS.map(|(own, _)| {
            let of = self.of(own);
            of[number % of.len()]
        });
        let n_ranks = processes.iter().max().unwrap_or(&1);
        let command = Command {
            launcher: vec![
                self.launcher.clone().into(),
                "-n".into(),
                n_ranks.to_string().into(),
            ],
            executable: self.executable.clone(),
            environment: self.environment(&algorithms, parameters),
            seconds: 600,
        };
        (command, algorithms)
    }

    /// All operations with the algorithms that have a number.
    fn run(&self, number: usize, parameters: Parameters, sizes: (&[usize], &[u64])) -> Schedules {
        let (command, algorithms) = self.told(number, parameters, sizes.0);
        command.compare(sizes, |made, of_ranks| {
            let name = algorithms[made.operation];
            let has_unknown = |of: &&Recorded| of.ends.contains(&End::Receive { from: None });
            if of_ranks.iter().any(has_unknown) {
                return Ok(None);
            }
            let schedule = schedule(name, &made.call, &parameters).ok_or("no schedule")?;
            let with_others: Vec<Recorded> = (of_ranks.iter().enumerate())
                .map(|(rank, of)| with_others(rank as u32, of))
                .collect();
            super::compare_with(&schedule, name, &with_others.iter().collect::<Vec<_>>())?;
            Ok(Some(name.to_owned()))
        })
    }

    fn environment(&self, algorithms: &[&str], parameters: Parameters) -> Vec<(String, String)> {
        let mut variables: Vec<(String, String)> = Vec::new();
        for name in algorithms {
            let (operation, algorithm) = split(name);
            let operation = operation.to_uppercase();
            let (algorithm, tree) = algorithm.split_once(' ').unwrap_or((algorithm, ""));
            variables.push((format!("{operation}_INTRA_ALGORITHM"), algorithm.to_owned()));
            if !tree.is_empty() {
                variables.push((format!("{operation}_TREE_TYPE"), tree.to_owned()));
            }
        }
        let radix = parameters.radix as u64;
        let numbers = [
            ("ALLGATHERV_PIPELINE_MSG_SIZE", parameters.segment_bytes),
            ("ALLREDUCE_RECURSIVE_MULTIPLYING_KVAL", radix),
            ("ALLREDUCE_TREE_KVAL", radix),
            ("ALLTOALL_THROTTLE", parameters.requests as u64),
            ("BARRIER_DISSEM_KVAL", radix),
            ("BCAST_TREE_KVAL", radix),
            // Within a host, too, messages are sent by the network, where they are seen.
            ("NOLOCAL", 1),
        ];
        variables.extend(numbers.map(|(name, value)| (name.to_owned(), value.to_string())));
        let words = [
            ("DEVICE_COLLECTIVES", "none"),
            ("COLLECTIVE_FALLBACK", "error"),
        ];
        variables.extend(words.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let of_mpich = variables.into_iter();
        let mut variables: Vec<_> = of_mpich
            .map(|(name, value)| (format!("MPIR_CVAR_{name}"), value))
            .collect();
        let libraries = self.libraries.display().to_string();
        variables.push(("LD_LIBRARY_PATH".to_owned(), libraries));
        variables
    }
}

/// Without what a process sends to itself.
fn with_others(rank: u32, of: &Recorded) -> Recorded {
    let is_own = |end: &End| match end {
        End::Send { to, .. } => *to == rank,
        End::Receive { from } => *from == Some(rank),
    };
    let mut others = of.clone();
    others.ends.retain(|end| !is_own(end));
    others
}

/// The operation and the algorithm of a function.
fn split(name: &str) -> (String, &str) {
    let (operation, algorithm) = name
        .trim_start_matches("MPIR_")
        .split_once("_intra_")
        .unwrap_or((name, ""));
    (operation.to_lowercase(), algorithm)
}

fn compile(name: &str, of: &str, include: PathBuf, library: PathBuf) -> PathBuf {
    let stem = name.trim_end_matches(".c");
    let executable = target_dir().join(format!("tmp/{stem}-{of}"));
    std::fs::create_dir_all(target_dir().join("tmp")).expect("a folder for programs");
    let compiled = std::process::Command::new("gcc")
        .args(["-w", "-O1", "-I"])
        .arg(include)
        .arg(source_dir().join("programs").join(name))
        .arg(library)
        .arg("-o")
        .arg(&executable)
        .status();
    assert!(
        compiled.is_ok_and(|status| status.success()),
        "{name} compiles for {of}"
    );
    executable
}
