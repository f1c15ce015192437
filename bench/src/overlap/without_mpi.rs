//! A process that never initializes MPI, for the reference of the computation.
//!
//! Each process of the job starts one before it initializes MPI, on the same cores. A progress
//! thread of the MPI library would disturb the reference, so the process of the job is stopped as a
//! whole (SIGSTOP) while the other computes. Requests come on stdin and answers go to stdout, one
//! JSON document per line.

use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::workload::Workload;
use super::{instant, metrics::Stamps};

/// What the process is asked for.
#[derive(Debug, Serialize, Deserialize)]
enum Request {
    /// Computes on these cores from now on.
    Cores(Vec<usize>),
    /// Makes matrices with this number of rows.
    Resize(u64),
    /// Computes at this time of the local clock, ns.
    Run(i64),
}

/// One computation, ns of the local clock.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answer {
    /// When it was ready, before it waited for its begin.
    ready: i64,
    begin: i64,
    end: i64,
}

/// A running process without MPI.
pub(super) struct WithoutMpi {
    child: Child,
    requests: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl WithoutMpi {
    /// Starts it; MPI must not be initialized yet.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start() -> anyhow::Result<Self> {
        let own = std::env::current_exe().context("finding this command's own file")?;
        let mut child = Command::new(own)
            .args(["overlap", "--worker", &std::process::id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("starting a process without MPI")?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            bail!("the process without MPI cannot be reached through a pipe");
        };
        Ok(Self {
            child,
            requests: Some(requests),
            answers: BufReader::new(answers),
        })
    }

    /// Lets it compute on these cores.
    ///
    /// # Errors
    /// If it has ended.
    pub(super) fn use_cores(&mut self, cores: &[usize]) -> anyhow::Result<()> {
        self.ask(&Request::Cores(cores.to_vec())).map(drop)
    }

    /// Gives it matrices with this number of rows.
    ///
    /// # Errors
    /// If it has ended.
    pub(super) fn resize(&mut self, rows: u64) -> anyhow::Result<()> {
        self.ask(&Request::Resize(rows)).map(drop)
    }

    /// Lets it compute at this time of the local clock, while this process is stopped. Returns when
    /// it was ready, and its stamps.
    ///
    /// # Errors
    /// If it has ended.
    pub(super) fn run(&mut self, at: i64) -> anyhow::Result<(i64, Stamps)> {
        let Answer { ready, begin, end } = self.ask(&Request::Run(at))?;
        Ok((
            ready,
            Stamps {
                begin,
                called: begin,
                computed: end,
                end,
            },
        ))
    }

    fn ask(&mut self, request: &Request) -> anyhow::Result<Answer> {
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        if let Some(requests) = &mut self.requests {
            // If it has ended, it does not answer.
            let _ = requests.write_all(&line);
        }
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        if answer.is_empty() {
            bail!("the process without MPI has ended");
        }
        serde_json::from_str(&answer).context("the process without MPI")
    }
}

impl Drop for WithoutMpi {
    fn drop(&mut self) {
        // It ends when its requests end.
        self.requests = None;
        let _ = self.child.wait();
    }
}

/// Serves the process `parent` until it ends.
///
/// # Errors
/// If a request cannot be served.
pub(super) fn serve(parent: i32) -> anyhow::Result<()> {
    // SAFETY: takes a number and touches no memory. This process must not outlive its parent, nor
    // leave it stopped.
    unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) };
    continue_at_end(parent)?;
    let mut workload = None;
    let mut stdout = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let mut answer = Answer::default();
        match serde_json::from_str(&line?).context("a request")? {
            Request::Cores(cores) => workload = Some(Workload::on(&cores)?),
            Request::Resize(rows) => workload_of(&mut workload)?.resize(rows),
            Request::Run(at) => {
                let workload = workload_of(&mut workload)?;
                let stopped = Stopped::stop(parent)?;
                answer.ready = instant::now();
                instant::wait_for(at);
                answer.begin = instant::now();
                workload.compute();
                answer.end = instant::now();
                drop(stopped);
            }
        }
        serde_json::to_writer(&mut stdout, &answer)?;
        stdout.write_all(b"\n")?;
        stdout.flush()?;
    }
    Ok(())
}

/// Starts a process that lets `parent` continue when this one has ended: if this one is killed while the parent is
/// stopped, nobody else would.
fn continue_at_end(parent: i32) -> anyhow::Result<()> {
    let (ended, lives) = std::io::pipe()?;
    // SAFETY: this process has no other thread yet, and the child does nothing but what follows.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()).context("starting a process"),
        // SAFETY: these functions may be called after a fork; the byte is written by nobody else.
        0 => unsafe {
            // What it inherited, among it the other end of the pipe, must be closed when this process ends.
            libc::dup2(ended.as_raw_fd(), 0);
            libc::close_range(1, libc::c_uint::MAX, 0);
            let mut byte = 0u8;
            while libc::read(0, (&raw mut byte).cast(), 1) < 0
                && *libc::__errno_location() == libc::EINTR
            {}
            libc::kill(parent, libc::SIGCONT);
            libc::_exit(0);
        },
        _ => {
            // Open until this process ends, however it does.
            std::mem::forget(lives);
            Ok(())
        }
    }
}

fn workload_of(workload: &mut Option<Workload>) -> anyhow::Result<&mut Workload> {
    workload
        .as_mut()
        .context("cores are given before anything is computed")
}

/// A stopped process, which continues when this is dropped.
struct Stopped(i32);

impl Stopped {
    fn stop(process: i32) -> anyhow::Result<Self> {
        // SAFETY: takes no argument and cannot fail.
        let parent = unsafe { libc::getppid() };
        anyhow::ensure!(parent == process, "the process that asked has ended");
        signal(process, libc::SIGSTOP)?;
        Ok(Self(process))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = signal(self.0, libc::SIGCONT);
    }
}

fn signal(process: i32, signal: i32) -> anyhow::Result<()> {
    // SAFETY: takes two numbers; the process is this one's parent.
    if unsafe { libc::kill(process, signal) } != 0 {
        return Err(std::io::Error::last_os_error()).context("stopping the process with MPI");
    }
    Ok(())
}
