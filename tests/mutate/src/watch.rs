//! Many cases in processes of their own, under limits: what panics, hangs, grows or dies is reported
//! by number, and the next case goes on.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use crate::worker::{OUTCOMES, Span, word};

/// What one case may take.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Address space of a process, KiB: allocating beyond it ends the process.
    pub memory_kib: u64,
    /// Time of one case.
    pub time: Duration,
}

/// What became of all cases.
#[derive(Debug, Clone, Default)]
pub struct Summary {
    /// Cases by how they ended.
    pub outcomes: BTreeMap<String, u64>,
    /// Those that failed: their number, and what happened.
    pub failures: Vec<(u64, String)>,
    /// The slowest: microseconds, and number.
    pub slowest: (u64, u64),
    /// The one of the largest peak of resident memory: KiB, and number.
    pub largest: (u64, u64),
}

impl Summary {
    /// Number of all cases.
    #[must_use]
    pub fn n_cases(&self) -> u64 {
        self.outcomes.values().sum::<u64>() + self.failures.len() as u64
    }

    fn add(&mut self, other: Self) {
        for (outcome, n) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += n;
        }
        self.failures.extend(other.failures);
        self.slowest = self.slowest.max(other.slowest);
        self.largest = self.largest.max(other.largest);
    }

    fn take(&mut self, number: u64, end: &str) {
        let mut words = end.splitn(3, ' ');
        let mut figure = || words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
        let (micros, kib) = (figure(), figure());
        self.slowest = self.slowest.max((micros, number));
        self.largest = self.largest.max((kib, number));
        let found = words.next().unwrap_or_default();
        if OUTCOMES.into_iter().any(|outcome| word(outcome) == found) {
            *self.outcomes.entry(found.to_owned()).or_default() += 1
        } else {
            self.failures.push((number, found.to_owned()))
        }
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, what) in self.failures.iter().take(20) {
            writeln!(f, "case {number}: {what}")?;
        }
        if let Some(more @ 1..) = self.failures.len().checked_sub(20) {
            writeln!(f, "and {more} more")?;
        }
        let outcomes: Vec<String> = self
            .outcomes
            .iter()
            .map(|(outcome, n)| format!("{n} {outcome}"))
            .collect();
        write!(
            f,
            "{} mutated traces: {}, {} failed; slowest {:.1} ms (case {}), largest {} MiB (case {})",
            self.n_cases(),
            outcomes.join(", "),
            self.failures.len(),
            self.slowest.0 as f64 / 1e3,
            self.slowest.1,
            self.largest.0 / 1024,
            self.largest.1,
        )
    }
}

/// Examines `count` cases from `first` on, in `jobs` processes at a time; `command` is the
/// command collbench-mutate, `scratch` a directory for it.
///
/// # Errors
/// If a process cannot be started, or dies between cases.
pub fn watch(
    command: &Path,
    scratch: &Path,
    limits: Limits,
    (seed, first, count): (u64, u64, u64),
    jobs: u64,
) -> anyhow::Result<Summary> {
    let end = first.saturating_add(count);
    let watched: Vec<anyhow::Result<Summary>> = thread::scope(|scope| {
        let watchers: Vec<_> = (0..jobs)
            .map(|job| {
                let span = Span {
                    seed,
                    first: first.saturating_add(job),
                    end,
                    step: jobs,
                };
                let scratch = scratch.join(format!("{job}"));
                scope.spawn(move || watch_span(command, &scratch, limits, span))
            })
            .collect();
        let join = |watcher: thread::ScopedJoinHandle<'_, _>| {
            let died = |_| Err(anyhow::anyhow!("a watching thread died"));
            watcher.join().unwrap_or_else(died)
        };
        watchers.into_iter().map(join).collect()
    });
    let mut summary = Summary::default();
    for of_span in watched {
        summary.add(of_span?);
    }
    summary.failures.sort();
    Ok(summary)
}

/// The cases of a span, in one process after another: a new one where a case ended the last.
fn watch_span(
    command: &Path,
    scratch: &Path,
    limits: Limits,
    mut span: Span,
) -> anyhow::Result<Summary> {
    let mut summary = Summary::default();
    while span.first < span.end {
        // What a process that was ended has left would be in the way of the next.
        if scratch.exists() {
            fs::remove_dir_all(scratch)?;
        }
        fs::create_dir_all(scratch)?;
        let complaints = scratch.join("stderr");
        let mut child = start(command, scratch, &complaints, limits, span)?;
        let lines = lines_of(&mut child);
        let (last, is_late) = take_lines(&mut summary, &lines, limits.time);
        if is_late {
            child.kill()?;
        }
        let status = child.wait()?;
        let Some(number) = last else {
            if !status.success() || is_late {
                let said = fs::read_to_string(&complaints).unwrap_or_default();
                anyhow::bail!("the process of case {} on: {status}: {said}", span.first);
            }
            break;
        };
        let said = fs::read_to_string(&complaints).unwrap_or_default();
        let what = if is_late {
            format!("took longer than {:?}", limits.time)
        } else {
            format!("ended its process: {}", words_of(status, &said))
        };
        summary.failures.push((number, what));
        span.first = number.saturating_add(span.step);
    }
    Ok(summary)
}

fn words_of(status: ExitStatus, said: &str) -> String {
    let lines: Vec<&str> = said.lines().take(3).collect();
    format!("{status} {}", lines.join(" / "))
}

fn start(
    command: &Path,
    scratch: &Path,
    complaints: &Path,
    limits: Limits,
    span: Span,
) -> anyhow::Result<Child> {
    // The shell sets the limit: from here it would take unsafe code.
    let child = Command::new("sh")
        .args(["-c", "ulimit -v \"$1\" && shift && exec \"$@\"", "sh"])
        .arg(limits.memory_kib.to_string())
        .arg(command)
        .arg("--work")
        .arg(scratch)
        .args(["--seed", &span.seed.to_string()])
        .args(["--first", &span.first.to_string()])
        .args(["--count", &(span.end - span.first).to_string()])
        .args(["--step", &span.step.to_string()])
        // Cases are many and small.
        .env("RAYON_NUM_THREADS", "1")
        // Address space that each further thread would take in advance.
        .env("MALLOC_ARENA_MAX", "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::create(complaints)?)
        .spawn()?;
    Ok(child)
}

/// The lines of a process's stdout, as they come.
fn lines_of(child: &mut Child) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    receiver
}

/// Takes lines until there are no more; gives the case that was begun and not ended, and whether
/// that is because it takes too long.
fn take_lines(
    summary: &mut Summary,
    lines: &Receiver<String>,
    time: Duration,
) -> (Option<u64>, bool) {
    let mut begun = None;
    loop {
        match lines.recv_timeout(time) {
            Ok(line) => {
                let mut words = line.splitn(3, ' ');
                let (what, number) = (words.next(), words.next());
                let number = number.and_then(|number| number.parse().ok());
                match (what, number) {
                    (Some("begin"), number) => begun = number,
                    (Some("end"), Some(number)) => {
                        summary.take(number, words.next().unwrap_or_default());
                        begun = None;
                    }
                    _ => {}
                }
            }
            Err(RecvTimeoutError::Timeout) => return (begun, true),
            Err(RecvTimeoutError::Disconnected) => return (begun, false),
        }
    }
}
