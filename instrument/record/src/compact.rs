//! The command collbench-compact: rewrites the rank files of a trace at a fraction of their size,
//! without loss, or back.
//!
//! A file is replaced only when the new one is on the disk, has been read again, and gives every
//! byte of the old one. It is replaced by a rename, so that whenever the command ends there is one
//! complete file. A signal ends the command at once, after it has removed unfinished files; a later
//! run removes those of a command that was killed.

mod rewrite;
mod unfinished;

use std::fs::{File, Permissions};
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::PoisonError;

use anyhow::{Context, anyhow, bail};
use clap::Parser;
use collbench_command::Installation;
use collbench_files::{Folder, guard_mappings};
use collbench_instrument::Form;
use collbench_instrument::directory::{UNFINISHED_SUFFIX, is_rank_file};
use collbench_text::output::print;

use crate::interrupt::{self, Interrupted};
use rewrite::{Direction, Ended, Rewritten, rewrite};
use unfinished::{MARK, Unfinished};

/// Exit status when some files were not rewritten.
const PARTIAL: u8 = 3;
/// Why a file is not rewritten that another process has truncated.
const HAS_SHRUNK: &str = "became shorter while it was read";

const AFTER_HELP: &str = "\
Examples:
  collbench-compact trace
      replace the files of a trace with compact ones
  collbench-compact trace small
      write a compact copy to the new directory small
  collbench-compact --expand small expanded
      restore the files as they were recorded

Exit status: 0 done, 1 failed, 2 usage, 3 done, but some files are unchanged (damaged, or of \
processes that may still be running) or left out (links, pipes ...).";

/// Compacts a finished trace to a fraction of its size, without loss.
///
/// All records are preserved, and the analysis is the same. Without OUT, each file of TRACE is
/// replaced after the new one has been compared with it.
#[derive(Debug, Parser)]
#[command(
    name = "collbench-compact",
    version, long_version = collbench_version::details(),
    after_help = AFTER_HELP
)]
struct Options {
    /// Trace directory
    #[arg(required_unless_present_any = ["completions", "man"])]
    trace: Option<PathBuf>,
    /// Directory to create for the new trace; TRACE is not changed
    out: Option<PathBuf>,
    /// Expand a compact trace to the files as they were recorded
    #[arg(long)]
    expand: bool,
    /// Assume that the run has ended where that is not known: for ranks on other hosts that did not
    /// reach MPI_Finalize
    #[arg(long)]
    ended: bool,
    #[command(flatten)]
    installation: Installation,
}

/// The outcome for the files of a trace.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    n_files: usize,
    /// Records in the new files.
    n_records: u64,
    bytes_of_new: u64,
    bytes_before: u64,
    /// Size of all files now, bytes.
    pub(crate) bytes_after: u64,
    /// Names of files that were not rewritten, and why.
    pub(crate) kept: Vec<(String, String)>,
    /// Names of entries that are not files and were not opened, and what they are.
    pub(crate) refused: Vec<(String, String)>,
}

/// Runs the command with the arguments of this process; returns its exit status.
#[must_use]
pub fn main() -> ExitCode {
    let options = Options::parse();
    guard_mappings();
    interrupt::watch();
    match run(&options) {
        Ok(status) => status,
        Err(error) => {
            tell(&format!("{error:#}"));
            match error.downcast_ref::<Interrupted>() {
                Some(interrupted) => interrupted.end(),
                None => ExitCode::FAILURE,
            }
        }
    }
}

fn run(options: &Options) -> anyhow::Result<ExitCode> {
    let text = options.installation.asked_for::<Options>()?;
    let Some(trace) = &options.trace else {
        print(&text.unwrap_or_default())?;
        return Ok(ExitCode::SUCCESS);
    };
    let direction = if options.expand {
        Direction::Expand
    } else {
        Direction::Compact
    };
    let ended = if options.ended {
        Ended::Stated
    } else {
        Ended::IfObserved
    };
    let outcome = match &options.out {
        None => in_place(trace, direction, ended)?,
        Some(out) => to_new(trace, out, direction)?,
    };
    for (name, why) in &outcome.kept {
        tell(&format!(
            "{}: left unchanged: {why}",
            trace.join(name).display()
        ));
    }
    for (name, what) in &outcome.refused {
        tell(&format!(
            "{}: neither followed nor copied: {what}",
            trace.join(name).display()
        ));
    }
    let place = options.out.as_deref().unwrap_or(trace);
    tell(&outcome.line(&place.display().to_string()));
    Ok(if outcome.kept.is_empty() && outcome.refused.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(PARTIAL)
    })
}

fn tell(words: &str) {
    let _ = io::stderr().write_all(format!("collbench-compact: {words}\n").as_bytes());
}

/// Compacts the trace of a run that has ended, whose directory the caller has locked; in the inner
/// form, of a run that is just ending.
pub(crate) fn compact_recorded(trace: &Path, form: Form) -> anyhow::Result<Outcome> {
    match form {
        Form::Outer => {
            let folder = Folder::open_no_follow(trace).map_err(|error| no_trace(trace, &error))?;
            replace(
                OpenTrace {
                    folder: &folder,
                    path: trace,
                },
                Direction::Compact,
                Ended::Stated,
            )
        }
        Form::Inner => in_place(trace, Direction::Compact, Ended::IfObserved),
    }
}

/// Replaces the files of a trace that no other process uses.
fn in_place(trace: &Path, direction: Direction, ended: Ended) -> anyhow::Result<Outcome> {
    let folder = Folder::open(trace).map_err(|error| no_trace(trace, &error))?;
    let opened = folder.as_file().map_err(|error| no_trace(trace, &error))?;
    lock(&opened).with_context(|| trace.display().to_string())?;
    replace(
        OpenTrace {
            folder: &folder,
            path: trace,
        },
        direction,
        ended,
    )
}

/// The directory of a trace, open.
#[derive(Clone, Copy)]
struct OpenTrace<'a> {
    folder: &'a Folder,
    /// For messages.
    path: &'a Path,
}

impl OpenTrace<'_> {
    /// Runs `work` on a file, and refuses an entry that is not a file.
    fn of_file(
        self,
        name: &str,
        work: impl FnOnce(&File) -> anyhow::Result<Rewritten>,
    ) -> anyhow::Result<Rewritten> {
        match self.folder.file(name) {
            Ok(file) => work(&file),
            Err(error) if error.kind() == io::ErrorKind::Other => Ok(Rewritten::Refused {
                why: error.to_string(),
            }),
            Err(error) => Err(error.into()),
        }
        .with_context(|| self.path.join(name).display().to_string())
    }

    /// The names of the rank files.
    fn rank_files(self) -> anyhow::Result<Vec<String>> {
        let mut names = Vec::new();
        for name in self
            .folder
            .names()
            .map_err(|error| no_trace(self.path, &error))?
        {
            let name = name.to_string_lossy().into_owned();
            if is_rank_file(&name) {
                names.push(name);
            }
        }
        if names.is_empty() {
            bail!(
                "{}: no trace in it: expected *.trace files made by collbench-record",
                self.path.display()
            );
        }
        names.sort();
        Ok(names)
    }
}

fn replace(trace: OpenTrace<'_>, direction: Direction, ended: Ended) -> anyhow::Result<Outcome> {
    let folder = trace.folder;
    let names = trace.rank_files()?;
    let outcome = for_all(&names, |name| {
        let unfinished = format!("{name}{UNFINISHED_SUFFIX}");
        // From an earlier command that was killed: with the lock held, no process writes it.
        let _ = folder.remove_file(&unfinished);
        let rewritten = trace.of_file(name, |file| {
            rewrite(file, folder, &unfinished, direction, ended)
        });
        if let Ok(Rewritten::New { .. }) = rewritten {
            folder
                .rename(&unfinished, name)
                .with_context(|| format!("renaming {unfinished}"))?;
        }
        rewritten
    });
    // The names must be on the disk too; some file systems cannot synchronize directories.
    let _ = folder.as_file().and_then(|folder| folder.sync_all());
    outcome.with_context(|| format!("{}: all its files are intact", trace.path.display()))
}

/// Makes a new trace next to the old one; it gets its name when it is complete.
fn to_new(trace: &Path, out: &Path, direction: Direction) -> anyhow::Result<Outcome> {
    let folder = Folder::open(trace).map_err(|error| no_trace(trace, &error))?;
    let from = OpenTrace {
        folder: &folder,
        path: trace,
    };
    let names = from.rank_files()?;
    if out.symlink_metadata().is_ok() {
        bail!(
            "{}: already exists; choose a directory that does not exist yet",
            out.display()
        );
    }
    let unfinished = Unfinished::beside(out)?;
    let made = fill_new(from, &unfinished.folder, &names, direction)
        .and_then(|outcome| unfinished.finish(out).map(|()| outcome));
    made.map_err(|error| {
        unfinished.remove();
        let what = format!(
            "{}: not created; {} is unchanged",
            out.display(),
            trace.display()
        );
        if error.is::<Interrupted>() {
            error.context(what)
        } else {
            error.context(format!(
                "{what}; choose a directory that is writable and has enough space"
            ))
        }
    })
}

fn fill_new(
    from: OpenTrace<'_>,
    folder: &Folder,
    names: &[String],
    direction: Direction,
) -> anyhow::Result<Outcome> {
    // Copies what was recorded about the run, but not the report, which is of the other trace.
    let mut refused = Vec::new();
    for name in from.folder.names()? {
        let name = name.to_string_lossy().into_owned();
        let is_other = !is_rank_file(&name) && !name.ends_with(UNFINISHED_SUFFIX) && name != MARK;
        if !is_other
            || from
                .folder
                .metadata_of(&name)
                .is_ok_and(|found| found.is_dir())
        {
            continue;
        }
        let copied = from.of_file(&name, |file| {
            copy(file, folder, &name)?;
            Ok(Rewritten::Unchanged {
                n_bytes: 0,
                why: None,
            })
        })?;
        if let Rewritten::Refused { why } = copied {
            refused.push((name, why));
        }
    }
    let mut outcome = for_all(names, |name| {
        from.of_file(name, |file| {
            // A copy of a file that is still being written would look like a complete trace.
            let rewritten = rewrite(file, folder, name, direction, Ended::Stated)?;
            if let Rewritten::Unchanged { .. } = rewritten {
                copy(file, folder, name)?;
            }
            Ok(rewritten)
        })
    })?;
    outcome.refused.extend(refused);
    outcome.refused.sort();
    Ok(outcome)
}

/// Copies a file at its current length, with its permissions.
fn copy(file: &File, folder: &Folder, name: &str) -> anyhow::Result<()> {
    const AT_ONCE: u64 = 16 << 20;
    let metadata = file.metadata()?;
    let mut target = folder.create_private(name)?;
    let mut left = metadata.len();
    while left > 0 {
        interrupt::check()?;
        match io::copy(&mut file.take(left.min(AT_ONCE)), &mut target)? {
            0 => break,
            n => left -= n,
        }
    }
    let permissions = Permissions::from_mode(metadata.mode() & 0o777);
    Ok(target.set_permissions(permissions)?)
}

fn no_trace(place: &Path, error: &io::Error) -> anyhow::Error {
    anyhow!(
        "{}: cannot be opened: {error}; expected a trace, a directory made by collbench-record",
        place.display()
    )
}

/// Locks a directory against recorders and other instances of this command while it is open;
/// returns whether that works there.
fn lock(folder: &File) -> anyhow::Result<bool> {
    // SAFETY: the descriptor is open.
    let locked = unsafe { libc::flock(folder.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    let error = io::Error::last_os_error();
    if locked != 0 && error.kind() == io::ErrorKind::WouldBlock {
        bail!("in use by collbench-record or another collbench-compact");
    }
    // If the file system has no locks, the files are created anew in any case.
    Ok(locked == 0)
}

/// Processes all files, several at a time; ends with the first error, in order of names.
fn for_all(
    names: &[String],
    work: impl Fn(&str) -> anyhow::Result<Rewritten> + Sync,
) -> anyhow::Result<Outcome> {
    let left = Mutex::new(names.iter().rev());
    let done = Mutex::new(Vec::new());
    let n_workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..n_workers.min(names.len()) {
            scope.spawn(|| {
                loop {
                    let lock = left.lock();
                    let next = lock.unwrap_or_else(PoisonError::into_inner).next_back();
                    let Some(name) = next else { break };
                    let result = match interrupt::check() {
                        Ok(()) => work(name),
                        Err(interrupted) => Err(interrupted.into()),
                    };
                    let has_failed = result.is_err();
                    let lock = done.lock();
                    let mut done = lock.unwrap_or_else(PoisonError::into_inner);
                    done.push((name, result));
                    if has_failed {
                        // Leaves nothing for the other threads.
                        *left.lock().unwrap_or_else(PoisonError::into_inner) = [].iter().rev();
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(name, _)| *name);
    let mut outcome = Outcome::default();
    for (name, result) in done {
        outcome.n_files += 1;
        match result? {
            Rewritten::Refused { why } => outcome.refused.push((name.clone(), why)),
            Rewritten::New {
                n_records,
                before,
                after,
            } => {
                outcome.n_records += n_records;
                outcome.bytes_before += before;
                outcome.bytes_of_new += after;
                outcome.bytes_after += after;
            }
            Rewritten::Unchanged { n_bytes, why } => {
                outcome.bytes_before += n_bytes;
                outcome.bytes_after += n_bytes;
                outcome.kept.extend(why.map(|why| (name.clone(), why)));
            }
        }
    }
    Ok(outcome)
}

impl Outcome {
    /// One line for the user; `path` is the directory as the user would type it.
    fn line(&self, path: &str) -> String {
        let files = match self.n_files {
            1 => "1 file".to_owned(),
            n => format!("{n} files"),
        };
        let mut line = format!(
            "{path}: {files}, {} bytes before, {} now",
            self.bytes_before, self.bytes_after
        );
        let tenths = (10 * self.bytes_of_new + self.n_records / 2).checked_div(self.n_records);
        if let Some(tenths) = tenths {
            line += &format!(
                "; {} records, {}.{} bytes each",
                self.n_records,
                tenths / 10,
                tenths % 10
            );
        }
        line
    }
}
