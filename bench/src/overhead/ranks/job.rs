//! A running job: its launcher, and a socket to each rank.

use std::fs::File;
use std::io::{BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use collbench_instrument::name_of_clock;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Layers, RANKS, YIELDING};
use crate::overhead::Options;
use crate::overhead::pair::{
    check_interrupted, clean_up_when_interrupted, output_of, recorder_beside,
    remove_launcher_variables,
};
use crate::overhead::worker::{Batch, Goodbye, Hello, Request};

/// How long the ranks of a job may take to connect.
const START_TIMEOUT: Duration = Duration::from_secs(120);
/// How long a launcher may take to end after its ranks have been asked to.
const END_TIMEOUT: Duration = Duration::from_secs(20);

/// What a rank sends when it is ready.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RankHello {
    pub(super) rank: i32,
    pub(super) n_ranks: i32,
    /// In the kernel's format.
    pub(super) cores: String,
    pub(super) hello: Hello,
}

/// What all ranks of a job have in common, from what they sent.
#[derive(Debug, Clone, Default)]
pub(super) struct Introduction {
    pub(super) mpi_library: String,
    /// The cores that each rank may run on.
    pub(super) cores: Vec<String>,
    /// Of rank 0.
    pub(super) granularity_ticks: u64,
    /// Of rank 0.
    pub(super) anchor: [u64; 5],
}

/// A running job that waits for requests.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) name: String,
    child: Child,
    /// By rank.
    ranks: Vec<Rank>,
    pub(super) introduction: Introduction,
    stderr_file: PathBuf,
    pub(super) trace: PathBuf,
}

/// Both directions of a socket.
#[derive(Debug)]
struct Rank {
    requests: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Job {
    /// Starts a job, recorded with these layers or without recording, and waits until its ranks
    /// have connected. Its output goes to files in `directory`, and so does the trace.
    pub(super) fn start(
        options: &Options,
        layers: Option<&Layers>,
        directory: &Path,
    ) -> anyhow::Result<Self> {
        clean_up_when_interrupted();
        let own = std::env::current_exe().context("finding this command's own file")?;
        let (name, file) = match layers {
            None => ("the job without recording".to_owned(), "plain"),
            Some(layers) => (format!("the job with {}", layers.name), layers.list),
        };
        let [meeting, stderr_file, trace] =
            ["socket", "err", "trace"].map(|end| directory.join(format!("{file}.{end}")));
        let listener =
            UnixListener::bind(&meeting).with_context(|| meeting.display().to_string())?;

        let mut words: Vec<std::ffi::OsString> = Vec::new();
        if let Some(layers) = layers {
            words.extend([
                recorder_beside(&own)?.into(),
                "-o".into(),
                trace.clone().into(),
            ]);
            words.extend(["--layers", layers.list].map(Into::into));
            if let Some(clock) = options.clock {
                words.extend(["--clock", name_of_clock(clock.source())].map(Into::into));
            }
            words.push("--".into());
        }
        words.extend(options.launcher.split_whitespace().map(Into::into));
        words.push(own.into());
        words.extend(["overhead", "--ranks", "2", "--worker", "--meeting"].map(Into::into));
        words.push(meeting.into());
        if let Some(clock) = options.clock {
            words.extend(["--clock", name_of_clock(clock.source())].map(Into::into));
        }
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).env(YIELDING, "0");
        remove_launcher_variables(&mut command);
        // SAFETY: the call only returns a number.
        if unsafe { libc::geteuid() } == 0 {
            // Open MPI asks root for a confirmation; nothing runs here that does not run as root
            // already.
            for variable in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
                command.env(variable, "1");
            }
        }
        let to = File::create(&stderr_file).with_context(|| stderr_file.display().to_string())?;
        let child = command
            .stdin(Stdio::null())
            .stdout(to.try_clone()?)
            .stderr(to)
            .spawn()
            .with_context(|| format!("{name}: starting {}", words[0].display()))?;
        let mut job = Self {
            name,
            child,
            ranks: Vec::new(),
            introduction: Introduction::default(),
            stderr_file,
            trace,
        };
        job.accept_ranks(&listener)?;
        Ok(job)
    }

    /// Waits until each rank has connected.
    fn accept_ranks(&mut self, listener: &UnixListener) -> anyhow::Result<()> {
        listener.set_nonblocking(true)?;
        let begin = Instant::now();
        let mut came: Vec<(RankHello, Rank)> = Vec::new();
        while came.len() < RANKS {
            check_interrupted()?;
            match listener.accept() {
                Ok((stream, _)) => {
                    stream.set_nonblocking(false)?;
                    let mut rank = Rank {
                        requests: stream.try_clone()?,
                        answers: BufReader::new(stream),
                    };
                    let Some(hello) = rank.answer::<RankHello>()? else {
                        return Err(self.failure());
                    };
                    if hello.n_ranks != RANKS as i32 {
                        bail!(
                            "{}: {} ranks started, but 2 are needed; --launcher must start 2 ranks of \
                             the MPI library that collbench-bench is linked to",
                            self.name,
                            hello.n_ranks
                        );
                    }
                    came.push((hello, rank));
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.child.try_wait()?.is_some() {
                        return Err(self.failure());
                    }
                    if begin.elapsed() > START_TIMEOUT {
                        bail!(
                            "{}: its ranks did not start within {} s; its output: {}",
                            self.name,
                            START_TIMEOUT.as_secs(),
                            self.said()
                        );
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(error) => return Err(error.into()),
            }
        }
        came.sort_by_key(|(hello, _)| hello.rank);
        self.introduction.cores = came.iter().map(|(said, _)| said.cores.clone()).collect();
        for (said, rank) in came {
            if said.rank == 0 {
                self.introduction.mpi_library = said.hello.mpi_library;
                self.introduction.granularity_ticks = said.hello.granularity_ticks;
                self.introduction.anchor = said.hello.anchor;
            }
            self.ranks.push(rank);
        }
        Ok(())
    }

    /// Asks all ranks at once, and waits for their answers, by rank.
    fn ask<Answer: DeserializeOwned>(&mut self, request: &Request) -> anyhow::Result<Vec<Answer>> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        for rank in &mut self.ranks {
            // A rank that has died is noticed when it does not answer.
            let _ = rank.requests.write_all(&line);
        }
        let mut answers = Vec::new();
        for rank in &mut self.ranks {
            match rank.answer()? {
                Some(answer) => answers.push(answer),
                None => {
                    check_interrupted()?;
                    return Err(self.failure());
                }
            }
        }
        Ok(answers)
    }

    /// Asks for batches; each is the mean over the ranks, with the preemptions of all.
    pub(super) fn batches(&mut self, request: &Request) -> anyhow::Result<Vec<Batch>> {
        let of_ranks: Vec<Vec<Batch>> = self.ask(request)?;
        let n = of_ranks.iter().map(Vec::len).min().unwrap_or(0);
        let mean = |i: usize, of: fn(&Batch) -> u64| {
            of_ranks.iter().map(|batches| of(&batches[i])).sum::<u64>() / of_ranks.len() as u64
        };
        let batch = |i: usize| Batch {
            ticks: mean(i, |batch| batch.ticks),
            clock_ticks: mean(i, |batch| batch.clock_ticks),
            preempted: of_ranks.iter().map(|batches| batches[i].preempted).sum(),
        };
        Ok((0..n).map(batch).collect())
    }

    /// Ends the job; returns the last messages of the ranks.
    pub(super) fn finish(mut self) -> anyhow::Result<Vec<Goodbye>> {
        let goodbyes = self.ask(&Request::Finish)?;
        self.ranks.clear();
        if !self.child.wait()?.success() {
            return Err(self.failure());
        }
        Ok(goodbyes)
    }

    /// Why a job does not answer, from its output.
    fn failure(&mut self) -> anyhow::Error {
        let status = match self.end() {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        anyhow::anyhow!(
            "{} failed or did not start its ranks ({status}): {}",
            self.name,
            self.said()
        )
    }

    fn said(&self) -> String {
        let said = std::fs::read(&self.stderr_file).unwrap_or_default();
        output_of(&said)
    }

    /// Closing the sockets ends the ranks; a launcher without connected ranks gets a signal.
    fn end(&mut self) -> std::io::Result<std::process::ExitStatus> {
        self.ranks.clear();
        let begin = Instant::now();
        while begin.elapsed() < END_TIMEOUT {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: a signal to a child that was not waited for; launchers pass it to their ranks.
        unsafe { libc::kill(self.child.id() as libc::pid_t, libc::SIGTERM) };
        self.child.wait()
    }
}

impl Rank {
    /// One line; `None` if the rank has gone.
    fn answer<Answer: DeserializeOwned>(&mut self) -> anyhow::Result<Option<Answer>> {
        let mut line = String::new();
        match self.answers.read_line(&mut line) {
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
            read => read?,
        };
        if line.is_empty() {
            return Ok(None);
        }
        let answer = serde_json::from_str(&line);
        Ok(Some(answer.with_context(|| {
            format!("unexpected answer of a rank: {:?}", line.trim_end())
        })?))
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        // This waits for the job, since its files are about to be removed.
        let _ = self.end();
    }
}
