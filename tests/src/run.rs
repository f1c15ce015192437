//! Running commands, with a limit of time, and MPI jobs with recording around or inside.

use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::machine::command;
use crate::room::Room;

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// What was run, for messages.
    pub line: String,
    /// Its exit status; 128 + n where signal n ended it.
    pub status: i32,
    /// All of its standard output.
    pub stdout: String,
    /// All of its standard error.
    pub stderr: String,
}

impl Finished {
    /// Goes on only if the status is this one, else fails with all there is to know.
    ///
    /// # Panics
    ///
    /// With another status.
    #[track_caller]
    pub fn expect(self, status: i32) -> Self {
        assert!(
            self.status == status,
            "expected status {status} from {self}"
        );
        self
    }

    /// Fails with all there is to know if its standard error does not say this.
    ///
    /// # Panics
    ///
    /// If not.
    #[track_caller]
    pub fn must_say(&self, words: &str) {
        assert!(self.stderr.contains(words), "{words:?} is not in {self}");
    }

    /// The lines of its standard output, sorted: ranks write in any order.
    #[must_use]
    pub fn sorted_lines(&self) -> Vec<&str> {
        let mut lines: Vec<_> = self.stdout.lines().collect();
        lines.sort_unstable();
        lines
    }
}

impl std::fmt::Display for Finished {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            line,
            status,
            stdout,
            stderr,
        } = self;
        write!(
            f,
            "{line}\nstatus: {status}\nstdout:\n{stdout}\nstderr:\n{stderr}"
        )
    }
}

/// Runs a command to its end, when there is room for one more process ([`crate::alone`]).
///
/// # Panics
///
/// If it cannot be started or takes more than 20 minutes: then it hangs, on the busiest machine.
#[track_caller]
pub fn run(line: &[impl AsRef<std::ffi::OsStr>]) -> Finished {
    run_in(Path::new("."), &[], line)
}

/// As [`run`], in another folder and with further variables.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn run_in(
    folder: &Path,
    variables: &[(&str, &str)],
    line: &[impl AsRef<std::ffi::OsStr>],
) -> Finished {
    run_ranks(1, folder, variables, line)
}

/// As [`run_in`], a command that has so many processes.
///
/// # Panics
///
/// As [`run`].
#[track_caller]
pub fn run_ranks(
    n_ranks: usize,
    folder: &Path,
    variables: &[(&str, &str)],
    line: &[impl AsRef<std::ffi::OsStr>],
) -> Finished {
    let _room = Room::wait_for(n_ranks);

    let shown = line
        .iter()
        .map(|word| word.as_ref().to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ");
    let output = Command::new("timeout")
        .args(["--kill-after=10", "1200"])
        .args(line)
        .current_dir(folder)
        .env("OMPI_MCA_mpi_yield_when_idle", "1")
        .env("OMP_NUM_THREADS", "1")
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("timeout {shown}: {error}"));
    let finished = Finished {
        line: shown,
        status: output
            .status
            .code()
            .or_else(|| output.status.signal().map(|signal| 128 + signal))
            .expect("an ended process has one or the other"),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    };
    assert!(
        finished.status != 124,
        "took more than 20 minutes: {finished}"
    );
    finished
}

/// The launcher's words for so many ranks on this machine.
///
/// # Panics
///
/// Without a `/proc`.
#[must_use]
pub fn mpirun(ranks: usize) -> Vec<OsString> {
    let mut line: Vec<OsString> = vec!["mpirun".into(), "--oversubscribe".into()];
    if std::fs::metadata("/proc/self")
        .expect("this process in /proc")
        .uid()
        == 0
    {
        line.push("--allow-run-as-root".into());
    }
    line.extend(["-n".into(), ranks.to_string().into()]);
    line
}

/// Options of a launcher by which a parameter of Open MPI's `coll_tuned`, such as
/// `coll_tuned_bcast_algorithm`, has this value.
#[must_use]
pub fn tuned<'a>(parameter: &'a str, value: &'a str) -> [&'a str; 6] {
    let rules = "coll_tuned_use_dynamic_rules";
    ["--mca", rules, "1", "--mca", parameter, value]
}

/// The two ways to record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// `collbench-record mpirun program`
    #[default]
    Outer,
    /// `mpirun collbench-record program`
    Inner,
}

/// A program under a launcher, to be run with or without recording.
#[derive(Clone, Debug, Default)]
pub struct Job<'a> {
    /// Number of processes.
    pub ranks: usize,
    /// The program and its arguments.
    pub program: Vec<OsString>,
    /// Words before all others, such as `nice -n -15`.
    pub around: &'a [&'a str],
    /// The launcher; empty for the `mpirun` in `PATH`.
    pub launcher: Vec<OsString>,
    /// Words for the launcher, before the program.
    pub launcher_options: &'a [&'a str],
    /// Words for `collbench-record`, before the `--`; the output directory apart.
    pub options: &'a [&'a str],
    /// Variables for all.
    pub variables: &'a [(&'a str, &'a str)],
    /// How to record.
    pub form: Form,
}

impl Job<'_> {
    /// A job of so many ranks of `program` with `arguments`, to be recorded in the outer form.
    pub fn new(ranks: usize, program: impl Into<OsString>, arguments: &[&str]) -> Self {
        let mut words = vec![program.into()];
        words.extend(arguments.iter().map(OsString::from));
        Self {
            ranks,
            program: words,
            ..Self::default()
        }
    }

    fn launcher(&self) -> Vec<OsString> {
        let mut line = match &self.launcher[..] {
            [] => mpirun(self.ranks),
            launcher => [launcher, &["-n".into(), self.ranks.to_string().into()]].concat(),
        };
        line.extend(self.launcher_options.iter().map(OsString::from));
        line
    }

    /// Runs it as it is, in `folder`.
    ///
    /// # Panics
    ///
    /// As [`run`].
    #[track_caller]
    #[must_use]
    pub fn plain(&self, folder: &Path) -> Finished {
        let around: Vec<_> = self.around.iter().map(OsString::from).collect();
        let line = [around, self.launcher(), self.program.clone()].concat();
        run_ranks(self.ranks, folder, self.variables, &line)
    }

    /// Runs it in `folder` with recording, and returns the path of the trace too.
    ///
    /// # Panics
    ///
    /// As [`run`], and if `collbench-record` was not built.
    #[track_caller]
    #[must_use]
    pub fn record(&self, folder: &Path) -> (Finished, PathBuf) {
        let mut recorder: Vec<OsString> = vec![command("collbench-record").into()];
        command("libcollbench_preload.so");
        recorder.extend(self.options.iter().map(OsString::from));
        recorder.extend(["-o".into(), "trace".into(), "--".into()]);
        let mut line: Vec<_> = self.around.iter().map(OsString::from).collect();
        line.extend(match self.form {
            Form::Outer => [recorder, self.launcher(), self.program.clone()].concat(),
            Form::Inner => [self.launcher(), recorder, self.program.clone()].concat(),
        });
        (
            run_ranks(self.ranks, folder, self.variables, &line),
            folder.join("trace"),
        )
    }

    /// Records it in `folder`, and returns the path of the trace.
    ///
    /// # Panics
    ///
    /// As [`Self::record`], and if it fails.
    #[track_caller]
    #[must_use]
    pub fn recorded(&self, folder: &Path) -> PathBuf {
        let (finished, trace) = self.record(folder);
        finished.expect(0);
        trace
    }

    /// Runs it in `folder` without and with recording, which must say the same, and returns the path of the trace.
    ///
    /// # Panics
    ///
    /// As [`Self::record`], and if one fails, or says something else.
    #[track_caller]
    #[must_use]
    pub fn record_as_plain(&self, folder: &Path) -> PathBuf {
        let plain = self.plain(folder).expect(0);
        let (finished, trace) = self.record(folder);
        let said = finished.expect(0).stdout;
        assert_eq!(said, plain.stdout, "recording changed the results");
        trace
    }
}
