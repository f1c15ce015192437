//! The two workers: one without recording, one below collbench-record.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, bail};
use collbench_instrument::name_of_clock;
use serde::de::DeserializeOwned;

use super::Options;
use super::worker::{Goodbye, Hello, Request};

/// Prefixes of the variables by which a launcher tells a process that it is a rank. A worker is no
/// rank: a second process with the same rank would confuse the launcher.
const LAUNCHER_VARIABLES: [&str; 5] = ["OMPI_", "PMIX_", "PMI_", "PMI2_", "SLURM_"];
/// Variables with these prefixes that a launcher sets for its ranks, and not the user.
const LAUNCHER_SETTINGS: [&str; 6] = [
    "OMPI_MCA_orte",
    "OMPI_MCA_ess",
    "OMPI_MCA_pmix",
    "OMPI_MCA_plm",
    "OMPI_MCA_shmem_RUNTIME",
    "OMPI_MCA_initial_wdir",
];

/// Set when a signal has asked this process to end.
static INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// A running worker.
#[derive(Debug)]
pub(super) struct Worker {
    name: &'static str,
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    stderr_file: PathBuf,
}

/// This program without and with recording.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) plain: Worker,
    pub(super) recorded: Worker,
}

impl Pair {
    /// Starts both workers. Their stderr goes to files in `directory`, the trace to `trace`.
    pub(super) fn start(
        options: &Options,
        directory: &Path,
        trace: &Path,
    ) -> anyhow::Result<(Self, [Hello; 2])> {
        clean_up_when_interrupted();
        let own = std::env::current_exe().context("finding this command's own file")?;
        let mut plain = Command::new(&own);
        let mut recorded = Command::new(recorder_beside(&own)?);
        // Other layers are measured with two ranks.
        let layers = if options.sites {
            "calls,sites"
        } else {
            "calls"
        };
        recorded.args(["--layers", layers, "-o"]).arg(trace);
        if let Some(clock) = options.clock {
            recorded.args(["--clock", name_of_clock(clock.source())]);
        }
        recorded.arg("--").arg(&own);
        for command in [&mut plain, &mut recorded] {
            command.args(["overhead", "--worker"]);
            match options.threads {
                1 => command
                    .args(["--operation", options.operation.word()])
                    .args(["--call-sites", &options.call_sites.to_string()]),
                n => command.args(["--threads", &n.to_string()]),
            };
            if let Some(clock) = options.clock {
                command.args(["--clock", name_of_clock(clock.source())]);
            }
        }
        let mut pair = Self {
            plain: Worker::start("the plain worker", plain, directory.join("plain.err"))?,
            recorded: Worker::start(
                "the recorded worker",
                recorded,
                directory.join("recorded.err"),
            )?,
        };
        let hello = [pair.plain.answer()?, pair.recorded.answer()?];
        Ok((pair, hello))
    }

    /// Ends both workers.
    pub(super) fn finish(self) -> anyhow::Result<[Goodbye; 2]> {
        Ok([self.plain.finish()?, self.recorded.finish()?])
    }
}

impl Worker {
    fn start(
        name: &'static str,
        mut command: Command,
        stderr_file: PathBuf,
    ) -> anyhow::Result<Self> {
        remove_launcher_variables(&mut command);
        let to = File::create(&stderr_file).with_context(|| stderr_file.display().to_string())?;
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(to)
            .spawn()
            .with_context(|| format!("{name}: starting {}", command.get_program().display()))?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("{name}: cannot be reached through a pipe");
        };
        Ok(Self {
            name,
            child,
            requests: Some(requests),
            answers: BufReader::new(answers),
            stderr_file,
        })
    }

    /// Sends a request and waits for the answer.
    pub(super) fn ask<Answer: DeserializeOwned>(
        &mut self,
        request: &Request,
    ) -> anyhow::Result<Answer> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        if let Some(requests) = &mut self.requests {
            // A worker that has died is noticed when it does not answer.
            let _ = requests.write_all(&line);
        }
        self.answer()
    }

    fn answer<Answer: DeserializeOwned>(&mut self) -> anyhow::Result<Answer> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        check_interrupted()?;
        if line.is_empty() {
            return Err(self.failure());
        }
        serde_json::from_str(&line)
            .with_context(|| format!("{}: unexpected answer {:?}", self.name, line.trim_end()))
    }

    fn finish(mut self) -> anyhow::Result<Goodbye> {
        let goodbye = self.ask(&Request::Finish)?;
        self.requests = None;
        if !self.child.wait()?.success() {
            return Err(self.failure());
        }
        Ok(goodbye)
    }

    /// Why a worker does not answer, from its stderr.
    fn failure(&mut self) -> anyhow::Error {
        self.requests = None;
        let status = match self.child.wait() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let said = std::fs::read(&self.stderr_file).unwrap_or_default();
        anyhow::anyhow!("{} failed ({status}): {}", self.name, output_of(&said))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // A worker ends when its requests end. This waits for it, since its files are about to be
        // removed.
        self.requests = None;
        let _ = self.child.wait();
    }
}

/// What a process has written, as part of an error.
pub(super) fn output_of(bytes: &[u8]) -> String {
    match String::from_utf8_lossy(bytes).trim() {
        "" => "it wrote nothing".to_owned(),
        text => text.to_owned(),
    }
}

/// Path of collbench-record, installed or built with this command.
pub(super) fn recorder_beside(own: &Path) -> anyhow::Result<PathBuf> {
    let recorder = own.with_file_name("collbench-record");
    if !recorder.is_file() {
        bail!(
            "{} is missing; install the two commands together, or build both (cargo build \
             --release, cargo build --release -p collbench-bench)",
            recorder.display()
        );
    }
    Ok(recorder)
}

/// Hides from a command that it is started below a launcher.
pub(super) fn remove_launcher_variables(command: &mut Command) {
    for (variable, _) in std::env::vars_os() {
        if is_of_launcher(&variable.to_string_lossy()) {
            command.env_remove(variable);
        }
    }
}

/// Whether a variable was set by a launcher for its ranks.
pub(super) fn is_of_launcher(variable: &str) -> bool {
    let begins_with = |prefix: &&str| variable.starts_with(prefix);
    let of_user = variable.starts_with("OMPI_ALLOW_RUN")
        || variable.starts_with("OMPI_MCA_") && !LAUNCHER_SETTINGS.iter().any(begins_with);
    LAUNCHER_VARIABLES.iter().any(begins_with) && !of_user
}

/// A signal from the terminal reaches the workers as well, and they end; this process then removes
/// their files, and must live until it has.
pub(super) fn clean_up_when_interrupted() {
    extern "C" fn note(_signal: libc::c_int) {
        INTERRUPTED.store(true, Ordering::Relaxed);
    }
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        // SAFETY: the handler only stores to an atomic. A program started from here gets the
        // default action back.
        unsafe { libc::signal(signal, note as *const () as libc::sighandler_t) };
    }
}

/// Fails if a signal has asked this process to end.
pub(super) fn check_interrupted() -> anyhow::Result<()> {
    if INTERRUPTED.load(Ordering::Relaxed) {
        bail!("interrupted");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_does_not_see_the_launcher_but_the_settings_of_the_user() {
        for variable in [
            "OMPI_COMM_WORLD_RANK",
            "OMPI_MCA_orte_hnp_uri",
            "OMPI_MCA_ess_base_jobid",
            "PMIX_RANK",
            "SLURM_PROCID",
        ] {
            assert!(is_of_launcher(variable), "{variable}");
        }
        for variable in [
            "OMPI_MCA_mpi_yield_when_idle",
            "OMPI_MCA_coll",
            "OMPI_ALLOW_RUN_AS_ROOT",
            "PATH",
            "LD_PRELOAD",
        ] {
            assert!(!is_of_launcher(variable), "{variable}");
        }
    }
}
