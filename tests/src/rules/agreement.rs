//! Runs rule files, and compares.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use collbench_stats::random::Random;
use serde_json::Value;

use super::made_up::{Made, Reader, made_up};
use crate::machine::{Workspace, command, program, source_dir, target_dir};
use crate::room::{Room, side_by_side};
use crate::run::mpirun;

/// Ranks of a run; communicators have from 2 of them to all.
const RANKS: usize = 4;

/// Payloads of a run.
const PAYLOADS: usize = 12;

/// An Open MPI that reads rule files.
#[derive(Debug)]
pub struct RuledLibrary {
    pub(crate) launcher: Vec<OsString>,
    /// Folder of the library; empty for one that the system's loader finds.
    pub(crate) library: String,
    pub(crate) executable: PathBuf,
    /// What it reads.
    pub reader: Reader,
}

/// What was compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed {
    /// Files.
    pub files: u64,
    /// Files whose run did not come to its end.
    pub not_run: u64,
    /// Calls: one for each communicator, all of its processes together.
    pub calls: u64,
    /// By what decides, how many calls.
    pub by: BTreeMap<String, u64>,
    /// Calls of which something else was said than what happened.
    pub differences: Vec<String>,
}

impl Agreed {
    /// Goes on only if so many files were compared, all calls are as was said, and each way to decide
    /// was seen.
    ///
    /// # Panics
    ///
    /// If not.
    pub fn expect(&self, files: u64) {
        assert!(self.differences.is_empty(), "{:#?}", self.differences);
        let n_calls = 14 * (PAYLOADS * (RANKS - 1)) as u64;
        assert_eq!((self.files, self.calls), (files, files * n_calls));
        for by in ["rule", "library", "failure"] {
            assert!(self.by.get(by).is_some_and(|&n| n > 50), "{self:?}");
        }
    }

    /// Adds the sums of another one.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.not_run += other.not_run;
        self.calls += other.calls;
        for (by, n) in other.by {
            *self.by.entry(by).or_default() += n;
        }
        self.differences.extend(other.differences);
    }
}

/// What ran without a rule file, by operation, processes and bytes.
pub type Baseline = BTreeMap<(String, u64, u64), Option<String>>;

impl RuledLibrary {
    /// The library of the `mpirun` in `PATH`, Open MPI 4.1 before 4.1.8, and a program of
    /// `programs/`: `ruled.c` to run rule files.
    #[must_use]
    pub fn of_the_system(name: &str) -> Self {
        Self {
            launcher: mpirun(RANKS),
            library: String::new(),
            executable: program(name),
            reader: Reader {
                reads_version_line: false,
                has_sparbit: false,
            },
        }
    }

    /// Open MPI 5.0, if `scripts/mpis.sh` has installed it, and a program of `programs/`.
    ///
    /// # Panics
    ///
    /// If the program for it cannot be compiled.
    #[must_use]
    pub fn five(name: &str) -> Option<Self> {
        let folder = target_dir().join("mpis/openmpi");
        if !folder.exists() {
            return None;
        }
        let mut launcher = mpirun(RANKS);
        launcher[0] = folder.join("bin/mpirun").into();
        let stem = name.trim_end_matches(".c");
        let executable = target_dir().join(format!("tmp/{stem}-openmpi-5"));
        fs::create_dir_all(target_dir().join("tmp")).expect("a folder for programs");
        let compiled = Command::new(folder.join("bin/mpicc"))
            .args(["-w", "-O1", "-o"])
            .arg(&executable)
            .arg(source_dir().join("programs").join(name))
            .status();
        assert!(
            compiled.is_ok_and(|status| status.success()),
            "{name} compiles for Open MPI 5"
        );
        Some(Self {
            launcher,
            library: folder.join("lib").display().to_string(),
            executable,
            reader: Reader {
                reads_version_line: true,
                has_sparbit: true,
            },
        })
    }

    /// Payloads of one process, so far apart that each has a class of bytes of its own in every
    /// operation.
    #[must_use]
    pub fn payloads(seed: u64) -> Vec<u64> {
        let random = &mut Random::of(&[seed]);
        let mut payloads = vec![0, 1];
        while payloads.len() < PAYLOADS {
            let last = payloads[payloads.len() - 1];
            payloads.push(random.uniform(2 * last, 3 * last));
        }
        payloads
    }

    /// Runs the program with a rule file, or without.
    ///
    /// # Errors
    /// How it ended, and the end of what it said.
    fn record(
        &self,
        folder: &Path,
        file: Option<(&Path, &[(String, String)])>,
        payloads: &[u64],
    ) -> Result<PathBuf, String> {
        let trace = folder.join("trace");
        let mut line: Vec<OsString> = vec!["--kill-after=10".into(), "120".into()];
        line.push(command("collbench-record").into());
        line.extend(["--force", "--layers", "calls,algorithms", "-o"].map(OsString::from));
        line.extend([trace.clone().into(), "--".into()]);
        line.extend(self.launcher.iter().cloned());
        if let Some((file, parameters)) = file {
            let mut set = |name: &str, value: OsString| {
                line.extend(["--mca".into(), name.into(), value]);
            };
            const USED: &str = "coll_tuned_use_dynamic_rules";
            if parameters.iter().all(|(name, _)| name != USED) {
                set(USED, "1".into());
            }
            set("coll_tuned_dynamic_rules_filename", file.into());
            for (name, value) in parameters {
                set(name, value.into());
            }
        }
        line.push(self.executable.clone().into());
        line.extend(
            payloads
                .iter()
                .map(|bytes| OsString::from(bytes.to_string())),
        );
        let mut run = Command::new("timeout");
        run.args(line)
            .env("OMPI_MCA_mpi_yield_when_idle", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        if !self.library.is_empty() {
            run.env("LD_LIBRARY_PATH", &self.library);
        }
        let _room = Room::wait_for(RANKS);
        let ended = run.output().expect("timeout can be run");
        if ended.status.success() {
            return Ok(trace);
        }
        let said = String::from_utf8_lossy(&ended.stderr);
        let lines: Vec<&str> = said.lines().collect();
        let last = &lines[lines.len().saturating_sub(20)..];
        Err(format!("{}:\n{}", ended.status, last.join("\n")))
    }

    /// What `collbench-tune` says of the calls of a run.
    fn said(&self, file: &Path, trace: &Path) -> Value {
        let output = Command::new(command("collbench-tune"))
            .args(["rules", "--format", "json", "--element", "1"])
            .args([file, trace])
            .output()
            .expect("collbench-tune can be run");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(!output.stdout.is_empty(), "{stderr}");
        collbench_schemas::read(output.stdout)
    }

    /// Runs files of a seed, side by side as far as there is room, and compares.
    ///
    /// # Panics
    ///
    /// As [`baseline`](Self::baseline) and [`compare`](Self::compare).
    #[must_use]
    pub fn agree(&self, seed: u64, files: u64) -> Agreed {
        let payloads = Self::payloads(seed);
        let baseline = self.baseline(&payloads);
        let numbers: Vec<u64> = (0..files).collect();
        let all = side_by_side(&numbers, |&number| {
            let made = made_up(seed, number, &payloads, self.reader);
            let name = format!("seed {seed} file {number}");
            self.compare(&made, &name, &payloads, &baseline)
        });
        let mut sum = Agreed::default();
        all.into_iter().for_each(|agreed| sum.add(agreed));
        sum
    }

    /// What runs without a file.
    ///
    /// # Panics
    ///
    /// If it does not run, or not all calls are there.
    #[must_use]
    pub fn baseline(&self, payloads: &[u64]) -> Baseline {
        let workspace = Workspace::new();
        let file = workspace.path().join("none");
        fs::write(&file, "0\n").expect("a file can be written");
        let trace = self.record(workspace.path(), None, payloads);
        let said = self.said(&file, &trace.expect("a run without rules ends well"));
        let calls = ruled_calls(&said);
        // Fourteen operations, of which barriers are all alike.
        let expected = (RANKS - 1) * (13 * payloads.len() + 1);
        assert_eq!(calls.len(), expected, "each class of calls is there");
        let of = |call: &&Value| (key(call), call["ran"].as_str().map(str::to_owned));
        calls.iter().map(of).collect()
    }

    /// Runs a file and compares; what differs is told with `name`.
    ///
    /// # Panics
    ///
    /// If a command cannot be run.
    #[must_use]
    pub fn compare(
        &self,
        made: &Made,
        name: &str,
        payloads: &[u64],
        baseline: &Baseline,
    ) -> Agreed {
        let workspace = Workspace::new();
        let file = workspace.path().join("rules");
        fs::write(&file, &made.text).expect("a file can be written");
        let mut agreed = Agreed {
            files: 1,
            ..Agreed::default()
        };
        let trace = self.record(workspace.path(), Some((&file, &made.parameters)), payloads);
        let trace = match trace {
            Ok(trace) => trace,
            Err(why) => {
                agreed.not_run = 1;
                agreed
                    .differences
                    .push(format!("{name}: the run ended with {why}"));
                return agreed;
            }
        };
        let said = self.said(&file, &trace);
        let calls = ruled_calls(&said);
        if calls.len() != baseline.len() {
            let n = calls.len();
            agreed.differences.push(format!("{name}: {n} classes"));
        }
        for call in calls {
            let (operation, processes, bytes) = key(call);
            let n_calls = call["calls"].as_u64().unwrap_or(0) / processes.max(1);
            agreed.calls += n_calls;
            let by = call["decided_by"].as_str().unwrap_or("?");
            *agreed.by.entry(by.to_owned()).or_default() += n_calls;
            let without = baseline.get(&key(call)).and_then(Option::as_deref);
            if let Err(why) = check(call, n_calls, without) {
                let difference = format!(
                    "{name} {:?} {:?}: {operation} {processes} {bytes}: {why}: {call}",
                    made.faults, made.parameters
                );
                agreed.differences.push(difference);
            }
        }
        agreed
    }
}

/// The calls of the program, without those that the library makes to begin with.
fn ruled_calls(said: &Value) -> Vec<&Value> {
    let calls = said["calls"].as_array().expect("calls");
    let is_ruled = |call: &&Value| {
        let operation = call["operation"].as_str().unwrap_or_default();
        !operation.starts_with("MPI_Comm_")
    };
    calls.iter().filter(is_ruled).collect()
}

fn key(call: &Value) -> (String, u64, u64) {
    let number = |name: &str| call[name].as_u64().unwrap_or(u64::MAX);
    let operation = call["operation"].as_str().unwrap_or_default();
    (
        operation.to_owned(),
        number("processes"),
        number("bytes_max"),
    )
}

/// The names of the algorithms of the operation itself, among those that ran: others are of its
/// parts.
fn own_names<'n>(operation: &str, ran: Option<&'n str>) -> Vec<&'n str> {
    let prefix = operation.trim_start_matches("MPI_").to_lowercase() + "_intra_";
    let names = ran.into_iter().flat_map(|names| names.split(" + "));
    names.filter(|name| name.starts_with(&prefix)).collect()
}

/// Whether what was said of a call is what happened.
fn check(call: &Value, n_calls: u64, baseline: Option<&str>) -> Result<(), String> {
    let text = |name: &str| call[name].as_str();
    let operation = text("operation").unwrap_or_default();
    let ran = text("ran");
    let names = own_names(operation, ran);
    let failed = call["failed"].as_u64().ok_or("its class was divided")?;
    if let Some(depends) = text("depends") {
        return Err(format!("that depends: {depends}"));
    }
    if text("decided_by") == Some("failure") {
        return if failed == n_calls {
            Ok(())
        } else {
            Err("it does not fail".to_owned())
        };
    }
    let algorithm = text("algorithm");
    // A composed algorithm of the library's own choice fails where its parts do.
    let may_fail = algorithm.is_none() && baseline.is_some_and(|names| names.contains(" + "));
    if failed > 0 && !may_fail {
        return Err("it fails".to_owned());
    }
    let Some(algorithm) = algorithm else {
        return if names == own_names(operation, baseline) {
            Ok(())
        } else {
            Err(format!("without a file runs {baseline:?}"))
        };
    };
    // The only one whose name is not recorded.
    if algorithm == "reduce_scatter_block_basic_linear" {
        return if ran.is_some_and(|names| names.starts_with("reduce_intra_")) {
            Ok(())
        } else {
            Err("another algorithm".to_owned())
        };
    }
    let last = text("replaced_by").unwrap_or(algorithm);
    if names.first() == Some(&algorithm) && names.last() == Some(&last) {
        Ok(())
    } else {
        Err("another algorithm".to_owned())
    }
}
