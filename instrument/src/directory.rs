//! The trace directory: made fresh, once, and never over something else.
//!
//! Others may be able to write in it, or in the folder above: no link is followed there, neither in
//! the place of the directory itself nor in that of a file, and nothing is opened that could make
//! a reader wait.

use std::ffi::{CString, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collbench_files::Folder;
use collbench_formats::FILE_MAGIC;

use crate::exchange::{DECISION_PREFIX, ROSTER_PREFIX};
use crate::process::unsignalled;

/// The file in a trace directory that says which world records there.
const WORLD_FILE: &str = "world";

/// How the inner form hands the text of `run.json` to the rank that makes the directory.
pub const RUN_VARIABLE: &str = "COLLBENCH_RUN_JSON";

const RUN_FILE: &str = "run.json";
/// What `run.json` says that it is.
pub const RUN_SCHEMA: &str = "collbench.run/1";
const REFUSED_PREFIX: &str = "refused.";
/// What files are called while collbench-compact writes them; a trace has none of these.
pub const UNFINISHED_SUFFIX: &str = ".compacting";
const TRUTH_FILE: &str = "truth.json";
const REPORT_FOLDER: &str = "report";

/// Why a directory cannot take a trace.
#[derive(Debug, thiserror::Error)]
pub enum DirectoryError {
    /// There is a trace, which is not to be replaced.
    #[error(
        "{0} holds a trace already; replace it with --force, or choose another directory with -o"
    )]
    HoldsTrace(PathBuf),
    /// There is something else.
    #[error(
        "{0} exists and is not a trace; choose another directory with -o (--force replaces traces only)"
    )]
    NotATrace(PathBuf),
    /// Another recorder has locked it.
    #[error("another collbench-record is recording into {0}; choose another directory with -o")]
    InUse(PathBuf),
    /// It cannot be made, opened, locked, emptied or written.
    #[error("{path}: {error}; choose another directory with -o")]
    Io {
        /// Which file or directory.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
}

/// Whether a fresh directory can be made at `path`; changes nothing.
///
/// # Errors
/// [`DirectoryError`]: why it cannot.
pub fn check_fresh(path: &Path, force: bool) -> Result<(), DirectoryError> {
    let found = look(path, force);
    // What another recorder has half removed, or half made, looks like anything.
    if matches!(found, Err(DirectoryError::NotATrace(_)))
        && let Err(in_use @ DirectoryError::InUse(_)) = lock(path)
    {
        return Err(in_use);
    }
    found
}

/// The same, of a directory that this process may have locked itself.
fn look(path: &Path, force: bool) -> Result<(), DirectoryError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_writable(path.parent().unwrap_or(Path::new("/")))
        }
        Err(error) => Err(DirectoryError::Io {
            path: path.to_owned(),
            error,
        }),
        Ok(metadata) if !metadata.is_dir() => Err(DirectoryError::NotATrace(path.to_owned())),
        Ok(_) => match Folder::open_itself(path) {
            Ok(folder) => look_in(&folder, path, force),
            Err(error) => Err(DirectoryError::Io {
                path: path.to_owned(),
                error,
            }),
        },
    }
}

/// The same, of a directory that is there, and open.
fn look_in(folder: &Folder, path: &Path, force: bool) -> Result<(), DirectoryError> {
    if folder.names().is_ok_and(|names| names.is_empty()) {
        return Ok(());
    }
    match Parts::of(folder) {
        None => Err(DirectoryError::NotATrace(path.to_owned())),
        Some(_) if !force => Err(DirectoryError::HoldsTrace(path.to_owned())),
        Some(_) => Ok(()),
    }
}

/// Whether a directory could be made in the nearest folder above that exists.
fn check_writable(folder: &Path) -> Result<(), DirectoryError> {
    let existing = folder
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    let Ok(name) = CString::new(existing.as_os_str().as_bytes()) else {
        let error = io::Error::from(io::ErrorKind::InvalidInput);
        return Err(DirectoryError::Io {
            path: folder.to_owned(),
            error,
        });
    };
    // SAFETY: a C string.
    if unsafe { libc::access(name.as_ptr(), libc::W_OK | libc::X_OK) } == 0 {
        return Ok(());
    }
    Err(DirectoryError::Io {
        path: existing.to_owned(),
        error: io::Error::last_os_error(),
    })
}

/// A trace directory that no other recorder touches as long as this lives, in any process of this
/// host (on a network file system, of those that share its locks).
#[derive(Debug)]
pub struct Fresh {
    lock: Option<File>,
    /// Whether the directory itself is new.
    pub is_new: bool,
}

impl Fresh {
    /// Keeps the directory until the process ends.
    pub(crate) fn keep_for_ever(self) {
        if let Some(lock) = self.lock {
            std::mem::forget(out_of_the_way(lock));
        }
    }
}

/// Makes an empty directory at `path`; an older trace there is removed if `force`.
///
/// # Errors
/// [`DirectoryError`]: why it cannot be made.
pub fn make_fresh(path: &Path, force: bool) -> Result<Fresh, DirectoryError> {
    /// How often the directory may vanish between being made and being locked.
    const TRIES: usize = 100;
    check_fresh(path, force)?;
    let failed = |error| DirectoryError::Io {
        path: path.to_owned(),
        error,
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(failed)?;
    }
    for _ in 0..TRIES {
        let is_new = match fs::create_dir(path) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => false,
            Err(error) => return Err(failed(error)),
        };
        if let Some(Held { folder, lock }) = lock(path)? {
            // Another recorder may have come first.
            look_in(&folder, path, force)?;
            remove_trace(&folder, path)?;
            return Ok(Fresh { lock, is_new });
        }
    }
    Err(failed(io::Error::from(io::ErrorKind::NotFound)))
}

/// Removes the trace at `path`, if there is one that no other recorder is writing.
///
/// # Errors
/// [`DirectoryError`]: why it cannot be removed.
pub fn remove_old(path: &Path) -> Result<(), DirectoryError> {
    match path.symlink_metadata() {
        Ok(_) => match lock(path)? {
            Some(held) => remove_trace(&held.folder, path),
            None => Ok(()),
        },
        Err(_) => Ok(()),
    }
}

/// A directory that is kept open, and locked where that works.
struct Held {
    folder: Folder,
    lock: Option<File>,
}

/// Opens the directory, and locks it as long as the file lives; `None` if there is another
/// directory now, or none.
fn lock(path: &Path) -> Result<Option<Held>, DirectoryError> {
    let failed = |error| DirectoryError::Io {
        path: path.to_owned(),
        error,
    };
    let opened = Folder::open_itself(path).and_then(|folder| Ok((folder.opened()?, folder)));
    let (lock, folder) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // SAFETY: a plain system call on a descriptor that is open.
    let is_locked = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    if !is_locked {
        return match io::Error::last_os_error().raw_os_error() {
            Some(libc::EWOULDBLOCK) => Err(DirectoryError::InUse(path.to_owned())),
            // Some network file systems lock no directories; what follows is checked all the same.
            _ => Ok(Some(Held { folder, lock: None })),
        };
    }
    let lock = Some(lock);
    Ok(folder.is_at(path).then_some(Held { folder, lock }))
}

/// Makes a file in the directory, new and for writing and reading, with the permissions that the
/// user's umask leaves, never executable.
pub(crate) fn create_file(path: &Path, name: &str) -> io::Result<File> {
    Folder::open_itself(path)?.create(name)
}

/// Removes a file of the directory.
pub(crate) fn remove_file(path: &Path, name: &str) -> io::Result<()> {
    Folder::open_itself(path)?.remove_file(name)
}

/// Moves a descriptor to a high number, where programs that count on low ones (or close "all"
/// of the first few) do not meet it.
pub(crate) fn out_of_the_way(file: File) -> File {
    // SAFETY: a plain fcntl on a descriptor that is open.
    let high = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 500) };
    if high < 0 {
        return file;
    }
    // SAFETY: fcntl has just given this descriptor to us.
    unsafe { File::from_raw_fd(high) }
}

/// Writes `run.json`. Of two recorders at once, the second finds that the directory holds a trace.
///
/// # Errors
/// [`DirectoryError`]: why it cannot be written.
pub fn write_run(path: &Path, text: &[u8]) -> Result<(), DirectoryError> {
    let written =
        create_file(path, RUN_FILE).and_then(|mut file| unsignalled(|| file.write_all(text)));
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(DirectoryError::HoldsTrace(path.to_owned()))
        }
        Err(error) => Err(DirectoryError::Io {
            path: path.join(RUN_FILE),
            error,
        }),
        Ok(()) => Ok(()),
    }
}

/// Writes which world records here, if nobody has; gives the world that does.
pub(crate) fn claim(path: &Path, world: u64) -> Result<u64, DirectoryError> {
    let failed = |error| DirectoryError::Io {
        path: path.join(WORLD_FILE),
        error,
    };
    match create_file(path, WORLD_FILE) {
        Ok(mut file) => {
            unsignalled(|| file.write_all(format!("{world:016x}\n").as_bytes())).map_err(failed)?;
            Ok(world)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Whoever made it writes its one line right away.
            let begin = Instant::now();
            loop {
                match read_claim(path) {
                    Ok(Some(world)) => return Ok(world),
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(error));
                    }
                    _ if begin.elapsed() > Duration::from_secs(5) => return Err(failed(error)),
                    _ => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        }
        Err(error) => Err(failed(error)),
    }
}

/// The world that records here, if one does and its line is complete.
pub(crate) fn claimed_by(path: &Path) -> Option<u64> {
    read_claim(path).ok().flatten()
}

fn read_claim(path: &Path) -> io::Result<Option<u64>> {
    let mut text = String::new();
    Folder::open_itself(path)?
        .file(WORLD_FILE)?
        .take(64)
        .read_to_string(&mut text)?;
    let number = text.strip_suffix('\n');
    Ok(number.and_then(|number| u64::from_str_radix(number, 16).ok()))
}

/// Leaves a mark that another world wanted to record here and was refused.
pub(crate) fn mark_refused(path: &Path, world: u64) {
    // Where this fails, the message on stderr is all there is.
    let _ = create_file(path, &format!("{REFUSED_PREFIX}{world:016x}"));
}

/// How many worlds were refused.
pub fn n_refused(path: &Path) -> usize {
    let names = Folder::open_itself(path).and_then(|folder| folder.names());
    names
        .into_iter()
        .flatten()
        .filter(|name| name.to_string_lossy().starts_with(REFUSED_PREFIX))
        .count()
}

/// What a trace in a directory consists of, and nothing else is there. No link is followed.
///
/// Whoever is told to replace a trace deletes what is named here. So names are not enough:
/// other programs too write files that end in `.trace`.
struct Parts {
    files: Vec<OsString>,
    /// The folder of the report, open, and the files in it: what is removed is what was looked at,
    /// even where another folder has got its name.
    report: Option<(Folder, Vec<OsString>)>,
}

impl Parts {
    /// `None` if there is anything that is not of a trace.
    fn of(folder: &Folder) -> Option<Self> {
        let mut files = Vec::new();
        let mut report = None;
        let mut has_run = false;
        let mut n_rank_files = 0;
        let mut n_empty = 0;
        for name in folder.names().ok()? {
            let name = name.into_string().ok()?;
            let kind = folder.look_at(&name).ok()?.file_type();
            if name == REPORT_FOLDER && kind.is_dir() {
                let folder = folder.folder(&name).ok()?;
                let names = files_of_report(&folder)?;
                report = Some((folder, names));
                continue;
            }
            if !kind.is_file() {
                return None;
            }
            match name.as_str() {
                RUN_FILE if is_run(folder) => has_run = true,
                WORLD_FILE if is_world(folder) => {}
                TRUTH_FILE => {}
                _ if is_rank_file(&name) => match first_bytes(folder, &name)?.as_slice() {
                    // Its rank ended before it wrote anything.
                    [] => n_empty += 1,
                    bytes if *bytes == FILE_MAGIC => n_rank_files += 1,
                    _ => return None,
                },
                _ if name.starts_with(REFUSED_PREFIX) || is_agreement(&name) => {}
                // Left by a collbench-compact that was killed.
                _ if name.ends_with(UNFINISHED_SUFFIX) => {}
                _ => return None,
            }
            files.push(name.into());
        }
        (has_run || (n_rank_files > 0 && n_empty == 0)).then_some(Self { files, report })
    }

    fn has_rank_files(&self) -> bool {
        let mut names = self.files.iter();
        names.any(|name| is_rank_file(&name.to_string_lossy()))
    }
}

/// The files of a report, if the folder holds nothing else.
fn files_of_report(folder: &Folder) -> Option<Vec<OsString>> {
    let mut files = Vec::new();
    for name in folder.names().ok()? {
        let name = name.into_string().ok()?;
        let belongs = ["index.html", "analysis.json"].contains(&name.as_str())
            || name.ends_with(".svg")
            || name.ends_with(".dot");
        if !belongs || !folder.look_at(&name).ok()?.is_file() {
            return None;
        }
        files.push(name.into());
    }
    Some(files)
}

fn is_run(folder: &Folder) -> bool {
    let mut text = Vec::new();
    let file = folder.file(RUN_FILE);
    let read = file.and_then(|file| file.take(16 << 20).read_to_end(&mut text));
    read.is_ok() && says_schema(&text)
}

/// Whether a document is a JSON object, complete, whose member `schema` is ours. (What its other members are
/// made of is not looked at.)
fn says_schema(document: &[u8]) -> bool {
    let Ok(document) = str::from_utf8(document) else {
        return false;
    };
    let document = document.trim();
    // Brackets that are open, where a string began, and the last key of the object itself.
    let (mut open, mut string, mut key) = (Vec::new(), None, None);
    let (mut is_escaped, mut has_schema) = (false, false);
    for (at, byte) in document.bytes().enumerate() {
        if let Some(begin) = string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    string = None;
                    let text = &document[begin..at];
                    let is_key = document[at + 1..].trim_start().starts_with(':');
                    if open.len() == 1 && is_key {
                        key = Some(text);
                    } else if open.len() == 1 && key == Some("schema") {
                        has_schema = text == RUN_SCHEMA;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string = Some(at + 1),
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' if open.pop() != Some(byte) => return false,
            // Behind its end there is nothing.
            _ if open.is_empty() && at + 1 < document.len() => return false,
            _ => {}
        }
    }
    has_schema && document.starts_with('{') && open.is_empty() && string.is_none()
}

/// A file in which the processes of a world agreed on whether to exchange stamps; it stays where
/// they were killed.
fn is_agreement(name: &str) -> bool {
    [ROSTER_PREFIX, DECISION_PREFIX].iter().any(|prefix| {
        let world = name.strip_prefix(prefix).unwrap_or_default();
        world.len() == 16 && world.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// A world's number in hexadecimal; cut off, if its writer was killed.
fn is_world(folder: &Folder) -> bool {
    let mut text = String::new();
    let file = folder.file(WORLD_FILE);
    let read = file.and_then(|file| file.take(64).read_to_string(&mut text));
    read.is_ok_and(|length| length <= 17)
        && text.trim_end().bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn first_bytes(folder: &Folder, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = folder.file(name);
    file.and_then(|file| file.take(FILE_MAGIC.len() as u64).read_to_end(&mut bytes))
        .ok()?;
    Some(bytes)
}

/// Whether a file of this name is one of a rank.
#[must_use]
pub fn is_rank_file(name: &str) -> bool {
    name.ends_with(".trace")
}

/// Removes the trace in a directory, if there is one; `path` is for messages. The directory stays:
/// its owner, permissions and place on the disk may have been chosen with care.
fn remove_trace(folder: &Folder, path: &Path) -> Result<(), DirectoryError> {
    let Some(Parts { files, report }) = Parts::of(folder) else {
        return Ok(());
    };
    let gone = |path: PathBuf, removed: io::Result<()>| match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DirectoryError::Io { path, error })
        }
        _ => Ok(()),
    };
    // The report first: as long as something is left, it is a trace.
    if let Some((report, names)) = report {
        let path = path.join(REPORT_FOLDER);
        for name in names {
            gone(path.join(&name), report.remove_file(&name))?;
        }
        gone(path, folder.remove_folder(REPORT_FOLDER))?;
    }
    for name in files {
        gone(path.join(&name), folder.remove_file(&name))?;
    }
    Ok(())
}

/// Removes a trace that nothing was recorded into: of the run with this `run.json`, and no other;
/// the directory too, if it `is_new`.
pub fn remove_unused(path: &Path, run: &str, is_new: bool) {
    let Ok(folder) = Folder::open_itself(path) else {
        return;
    };
    let mut text = Vec::new();
    // One byte more than it should have: nobody knows how long it is now.
    let read = folder
        .file(RUN_FILE)
        .and_then(|file| file.take(run.len() as u64 + 1).read_to_end(&mut text));
    let is_ours = read.is_ok() && text == run.as_bytes();
    let is_used = Parts::of(&folder).is_some_and(|parts| parts.has_rank_files());
    // What cannot be removed stays, and is said when the directory is used again.
    if is_ours && !is_used && remove_trace(&folder, path).is_ok() && is_new && folder.is_at(path) {
        let _ = fs::remove_dir(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = r#"{"schema": "collbench.run/1"}"#;

    /// A folder with these files; a name that ends in / is a folder.
    fn folder_of(entries: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in entries {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::write(path, text).unwrap();
            }
        }
        folder
    }

    fn all_files(folder: &Path) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            files.push(entry.path());
            if entry.file_type().unwrap().is_dir() {
                files.extend(all_files(&entry.path()));
            }
        }
        files.sort();
        files
    }

    #[test]
    fn all_that_belongs_to_a_trace_is_replaced_and_its_directory_stays() {
        for entries in [
            &[("run.json", RUN)][..],
            &[("a.trace", "COLLBNCH and more")],
            &[("run.json", RUN), ("a.trace", "")],
            &[
                ("run.json", RUN),
                ("a.trace", "COLLBNCH"),
                ("world", "0123456789abcdef\n"),
                ("refused.0123456789abcdef", ""),
                ("roster.0123456789abcdef", "\0"),
                ("exchange.0123456789abcdef", "\u{1}"),
                ("truth.json", "{}"),
                ("report/index.html", ""),
                ("report/analysis.json", ""),
                ("report/timemap-1-MPI_Bcast.svg", ""),
                ("report/imbalance-1.dot", ""),
            ],
            &[("run.json", RUN), ("report/", "")],
        ] {
            let folder = folder_of(entries);
            let path = folder.path();
            assert!(matches!(
                check_fresh(path, false),
                Err(DirectoryError::HoldsTrace(_))
            ));
            assert!(!make_fresh(path, true).unwrap().is_new, "{entries:?}");
            assert!(all_files(path).is_empty(), "{entries:?}");
        }
    }

    #[test]
    fn what_is_not_of_a_trace_is_refused_and_untouched() {
        for entries in [
            &[("thesis.trace", "text")][..],
            &[("run.json", RUN), ("thesis.trace", "text")],
            &[("a.trace", "COLLBNCH"), ("thesis.trace", "COLL")],
            &[("a.trace", "COLLBNCH"), ("empty.trace", "")],
            &[("empty.trace", "")],
            &[("run.json", r#"{"schema": "other/1"}"#)],
            &[("run.json", "[1]"), ("a.trace", "COLLBNCH")],
            &[("run.json", "not JSON"), ("a.trace", "COLLBNCH")],
            &[("run.json/", "")],
            &[("run.json", RUN), ("thesis.tex", "")],
            &[("run.json", RUN), ("roster.of-students", "")],
            &[("run.json", RUN), ("world", "all the people\n")],
            &[("run.json", RUN), ("world", "0123456789abcdef0123\n")],
            &[("run.json", RUN), ("folder.trace/", "")],
            &[("run.json", RUN), ("report", "a file")],
            &[("run.json", RUN), ("report/thesis.tex", "")],
            &[("run.json", RUN), ("report/pictures.svg/", "")],
            &[("report/index.html", "")],
            &[("world", "0123456789abcdef\n")],
        ] {
            let folder = folder_of(entries);
            let before = all_files(folder.path());
            assert!(
                matches!(
                    make_fresh(folder.path(), true),
                    Err(DirectoryError::NotATrace(_))
                ),
                "{entries:?}"
            );
            remove_unused(folder.path(), "", true);
            assert_eq!(all_files(folder.path()), before, "{entries:?}");
        }
    }

    #[test]
    fn links_are_not_followed() {
        let elsewhere = folder_of(&[("index.html", ""), ("a.trace", "COLLBNCH")]);
        for (link, target) in [("report", ""), ("a.trace", "a.trace")] {
            let folder = folder_of(&[("run.json", RUN)]);
            std::os::unix::fs::symlink(elsewhere.path().join(target), folder.path().join(link))
                .unwrap();
            assert!(matches!(
                make_fresh(folder.path(), true),
                Err(DirectoryError::NotATrace(_))
            ));
        }
        assert_eq!(all_files(elsewhere.path()).len(), 2);
    }

    #[test]
    fn what_is_removed_is_what_was_looked_at_wherever_its_name_leads_now() {
        let elsewhere = folder_of(&[("index.html", ""), ("thesis.svg", "")]);
        let folder = folder_of(&[("run.json", RUN), ("report/index.html", "")]);
        let parts = Parts::of(&Folder::open_itself(folder.path()).unwrap()).unwrap();
        let (report, names) = parts.report.unwrap();
        fs::rename(folder.path().join("report"), folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("report")).unwrap();
        for name in names {
            report.remove_file(name).unwrap();
        }
        assert_eq!(all_files(elsewhere.path()).len(), 2);
        assert!(!folder.path().join("moved/index.html").exists());
        // The trace itself moved away, and a link in its place.
        let place = folder_of(&[("trace/run.json", RUN), ("trace/report/index.html", "")]);
        let path = place.path().join("trace");
        let opened = Folder::open_itself(&path).unwrap();
        fs::rename(&path, place.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
        remove_trace(&opened, &path).unwrap();
        assert_eq!(all_files(elsewhere.path()).len(), 2);
        assert!(all_files(&place.path().join("moved")).is_empty());
    }

    #[test]
    fn nobody_waits_for_what_has_taken_the_place_of_run_json() {
        let folder = folder_of(&[("trace/", "")]);
        let path = folder.path().join("trace");
        let run = path.join(RUN_FILE);
        let pipe = CString::new(run.as_os_str().as_bytes()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o666) }, 0);
        remove_unused(&path, RUN, true);
        assert!(run.symlink_metadata().is_ok(), "it is not ours");
        fs::remove_file(&run).unwrap();
        // Endless.
        std::os::unix::fs::symlink("/dev/zero", &run).unwrap();
        remove_unused(&path, RUN, true);
        assert!(run.is_symlink());
        fs::remove_file(&run).unwrap();
        fs::write(&run, format!("{RUN} and more")).unwrap();
        remove_unused(&path, RUN, true);
        assert!(run.exists(), "of another run");
    }

    #[test]
    fn the_second_of_two_recorders_is_told_and_cannot_remove_what_the_first_has() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        let first = make_fresh(&path, false).unwrap();
        assert!(first.is_new);
        for force in [false, true] {
            let second = make_fresh(&path, force);
            assert!(
                matches!(second, Err(DirectoryError::InUse(_))),
                "{second:?}"
            );
        }
        assert!(matches!(remove_old(&path), Err(DirectoryError::InUse(_))));
        drop(first);
        assert!(!make_fresh(&path, false).unwrap().is_new, "found empty");
        write_run(&path, RUN.as_bytes()).unwrap();
        let second = r#"{"schema": "collbench.run/1", "second": true}"#;
        assert!(matches!(
            write_run(&path, second.as_bytes()),
            Err(DirectoryError::HoldsTrace(_))
        ));
        remove_unused(&path, second, true);
        assert_eq!(fs::read_to_string(path.join(RUN_FILE)).unwrap(), RUN);

        fs::write(path.join("a.trace"), "COLLBNCH").unwrap();
        remove_unused(&path, RUN, true);
        assert!(path.join("a.trace").exists(), "something was recorded");
        fs::remove_file(path.join("a.trace")).unwrap();
        remove_unused(&path, RUN, false);
        assert!(path.exists(), "the user had made it");
        write_run(&path, RUN.as_bytes()).unwrap();
        remove_unused(&path, RUN, true);
        assert!(!path.exists());
    }

    #[test]
    fn what_others_plant_is_not_followed_and_nobody_waits_for_it() {
        let folder = folder_of(&[("trace/", ""), ("other/victim", "precious")]);
        let place = |name: &str| folder.path().join(name);
        let trace = place("trace");
        let pipe = CString::new(place("trace/world").as_os_str().as_bytes()).unwrap();
        // SAFETY: a C string.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o666) }, 0);
        assert_eq!(claimed_by(&trace), None);
        assert!(claim(&trace, 7).is_err(), "and this takes no five seconds");
        assert!(collbench_files::open_regular(&place("trace/world")).is_err());

        let link = std::os::unix::fs::symlink::<PathBuf, PathBuf>;
        link(
            place("other/victim"),
            place("trace/refused.0000000000000007"),
        )
        .unwrap();
        mark_refused(&trace, 7);
        link(place("other/run.json"), place("trace/run.json")).unwrap();
        assert!(write_run(&trace, b"{}").is_err());
        link(place("other"), place("link")).unwrap();
        assert!(claim(&place("link"), 7).is_err());
        assert!(make_fresh(&place("link"), true).is_err());
        assert_eq!(fs::read(place("other/victim")).unwrap(), b"precious");
        assert_eq!(fs::read_dir(place("other")).unwrap().count(), 1);
    }

    #[test]
    fn a_document_is_ours_by_its_own_schema_if_it_is_complete() {
        let ours = r#"{ "command": ["a", "}\""], "inner": { "schema": "x" }, "schema" : "collbench.run/1" }"#;
        assert!(says_schema(ours.as_bytes()));
        for end in 0..ours.len() {
            assert!(!says_schema(&ours.as_bytes()[..end]), "{end}");
        }
        for other in [
            r#"{ "schema": "collbench.run/2" }"#,
            r#"{ "inner": { "schema": "collbench.run/1" } }"#,
            r#"["schema", "collbench.run/1"]"#,
            r#"["schema": "collbench.run/1"]"#,
            r#""schema": "collbench.run/1""#,
            r#"{ "schema": "collbench.run/1" } more"#,
            r#"{ "schema": "collbench.run/1" ]"#,
            "\u{feff}",
        ] {
            assert!(!says_schema(other.as_bytes()), "{other}");
        }
    }
}
