//! Runs of a command: how long they take, and how they end.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use collbench_text::inert;

use super::signals;

/// How often it is looked whether a signal was received.
const LOOK: Duration = Duration::from_millis(20);
/// How long a command may take to end when it is asked to.
const TO_END: Duration = Duration::from_secs(5);
/// How long what it leaves behind may take.
const TO_SWEEP: Duration = Duration::from_secs(1);
/// Bytes at the end of stderr that are looked at, and lines that are shown.
const TAIL_BYTES: u64 = 16 << 10;
const TAIL_LINES: usize = 8;

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself.
    Itself(ExitStatus),
    /// It took too long, and was ended.
    TooLong,
    /// A signal asked this process to end, and it was ended, too.
    Interrupted,
}

/// What runs read from stdin.
#[derive(Debug)]
pub(super) enum Input {
    /// Nothing.
    Empty,
    /// A file, each from the same place on.
    File(u64),
}

impl Input {
    /// That of this process: a file is given to each run, other things could be given to one only. Says what is not given.
    pub(super) fn of_this_process() -> (Self, Option<String>) {
        let stdin = io::stdin();
        if stdin.is_terminal() {
            return (Self::Empty, None);
        }
        let file = stdin.as_fd().try_clone_to_owned().map(File::from);
        let Ok(mut file) = file else {
            return (Self::Empty, None);
        };
        let kind = file
            .metadata()
            .map(|metadata| (metadata.file_type(), metadata.len()));
        match kind {
            Ok((kind, length)) if kind.is_file() && length > 0 => {
                (Self::File(file.stream_position().unwrap_or(0)), None)
            }
            Ok((kind, _)) if kind.is_fifo() && has_data(&file) => {
                let what = "stdin is a pipe, which only one run could read: all runs get an empty stdin; give the program a \
                            file, as in < FILE";
                (Self::Empty, Some(what.to_owned()))
            }
            _ => (Self::Empty, None),
        }
    }

    fn open(&self) -> io::Result<Stdio> {
        match self {
            Self::Empty => Ok(Stdio::null()),
            Self::File(from) => {
                // Opened anew, it has a position of its own.
                let mut file = File::open("/proc/self/fd/0")?;
                file.seek(SeekFrom::Start(*from))?;
                Ok(file.into())
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::Empty)
    }
}

/// Whether something can be read from a pipe now.
fn has_data(file: &File) -> bool {
    use std::os::fd::AsRawFd;
    let mut n_bytes: libc::c_int = 0;
    // SAFETY: the descriptor is open, and the place for the number is valid.
    let code = unsafe { libc::ioctl(file.as_raw_fd(), libc::FIONREAD, &mut n_bytes) };
    code == 0 && n_bytes > 0
}

/// A run of a command.
#[derive(Debug)]
pub(super) struct Launch<'l> {
    /// The command and its arguments.
    pub(super) command: Vec<OsString>,
    /// Variables that are added to the environment.
    pub(super) variables: &'l [(String, OsString)],
    /// What it reads.
    pub(super) input: &'l Input,
    /// Where its stderr goes.
    pub(super) stderr: &'l Path,
}

impl Launch<'_> {
    /// Runs the command to its end; how long that took.
    pub(super) fn run(&self, limit: Option<Duration>) -> io::Result<(Ended, Duration)> {
        if signals::is_interrupted() {
            return Ok((Ended::Interrupted, Duration::ZERO));
        }
        let mut command = Command::new(&self.command[0]);
        command
            .args(&self.command[1..])
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(self.input.open()?)
            .stdout(Stdio::null())
            .stderr(File::create(self.stderr)?);
        signals::alone(&mut command);
        let begin = Instant::now();
        let mut child = command.spawn()?;
        let process = child.id();
        let (ended, end) = channel();
        std::thread::spawn(move || {
            signals::wait_without_reaping(process);
            let _ = ended.send(begin.elapsed());
        });
        loop {
            match end.recv_timeout(LOOK) {
                Ok(took) => {
                    let status = child.wait()?;
                    signals::reap();
                    return Ok((Ended::Itself(status), took));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(io::Error::other("the end of a run cannot be waited for"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            let is_too_long = limit.is_some_and(|limit| begin.elapsed() > limit);
            if signals::is_interrupted() || is_too_long {
                end_all(&mut child, &end)?;
                let why = if signals::is_interrupted() {
                    Ended::Interrupted
                } else {
                    Ended::TooLong
                };
                return Ok((why, begin.elapsed()));
            }
        }
    }
}

/// Ends a child and all that it started: asks first.
fn end_all(child: &mut Child, end: &Receiver<Duration>) -> io::Result<()> {
    signals::send(child.id(), libc::SIGTERM);
    let begin = Instant::now();
    while begin.elapsed() < TO_END && !signals::is_impatient() {
        if end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
            break;
        }
    }
    // After this it has ended, whatever it does.
    signals::send(child.id(), libc::SIGKILL);
    child.wait()?;
    let begin = Instant::now();
    while begin.elapsed() < TO_SWEEP && signals::send_to_all_below(libc::SIGTERM) {
        std::thread::sleep(LOOK);
    }
    let begin = Instant::now();
    while signals::send_to_all_below(libc::SIGKILL) && begin.elapsed() < TO_SWEEP {
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// How a run ended, for people.
pub(super) fn status_in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("with status {code}"),
        (None, Some(signal)) => format!("by signal {signal}"),
        (None, None) => status.to_string(),
    }
}

/// The last lines of what a run has written to stderr, indented.
pub(super) fn last_lines(stderr: &Path) -> String {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(stderr)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let lines: Vec<&str> = lines.collect();
    let last = lines.iter().skip(lines.len().saturating_sub(TAIL_LINES));
    last.map(|line| format!("\n    {}", inert::line(line, 200)))
        .collect()
}

/// Removes what is left of a folder.
pub(super) fn remove(folder: &Path) {
    for _ in 0..5 {
        match fs::remove_dir_all(folder) {
            // A process that has just been ended may still have written.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
                std::thread::sleep(LOOK)
            }
            _ => return,
        }
    }
}
