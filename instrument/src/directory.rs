//! The trace directory: made fresh, once, and never over something else.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The file in a trace directory that says which world records there.
const WORLD_FILE: &str = "world";

/// How the inner form hands the text of `run.json` to the rank that makes the directory.
pub(crate) const RUN_VARIABLE: &str = "COLLBENCH_RUN_JSON";

const RUN_FILE: &str = "run.json";
const REFUSED_PREFIX: &str = "refused.";
const REPORT_FOLDER: &str = "report";

/// Why a directory cannot take a trace.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DirectoryError {
    #[error(
        "{0} holds a trace already; replace it with --force, or choose another directory with -o"
    )]
    HoldsTrace(PathBuf),
    #[error(
        "{0} exists and is not a trace; choose another directory with -o (--force replaces traces only)"
    )]
    NotATrace(PathBuf),
    #[error("{path}: {error}; choose another directory with -o")]
    Io { path: PathBuf, error: io::Error },
}

/// Whether a fresh directory can be made at `path`; changes nothing.
pub(crate) fn check_fresh(path: &Path, force: bool) -> Result<(), DirectoryError> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            check_writable(path.parent().unwrap_or(Path::new("/")))
        }
        Err(error) => Err(DirectoryError::Io {
            path: path.to_owned(),
            error,
        }),
        Ok(metadata) if metadata.is_dir() && is_empty(path) => Ok(()),
        Ok(metadata) if !metadata.is_dir() || !is_trace(path) => {
            Err(DirectoryError::NotATrace(path.to_owned()))
        }
        Ok(_) if !force => Err(DirectoryError::HoldsTrace(path.to_owned())),
        Ok(_) => Ok(()),
    }
}

/// Whether a directory could be made in the nearest folder above that exists.
fn check_writable(folder: &Path) -> Result<(), DirectoryError> {
    use std::os::unix::ffi::OsStrExt;
    let existing = folder
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(Path::new("/"));
    let Ok(name) = std::ffi::CString::new(existing.as_os_str().as_bytes()) else {
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

/// Makes an empty directory at `path`; an older trace there is removed if `force`.
pub(crate) fn make_fresh(path: &Path, force: bool) -> Result<(), DirectoryError> {
    check_fresh(path, force)?;
    if is_trace(path) {
        remove_trace(path);
    }
    fs::create_dir_all(path).map_err(|error| DirectoryError::Io {
        path: path.to_owned(),
        error,
    })
}

/// Writes `run.json`.
pub(crate) fn write_run(path: &Path, text: &[u8]) -> Result<(), DirectoryError> {
    let name = path.join(RUN_FILE);
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&name)
        .and_then(|mut file| file.write_all(text))
        .map_err(|error| DirectoryError::Io { path: name, error })
}

/// Writes which world records here, if nobody has; gives the world that does.
pub(crate) fn claim(path: &Path, world: u64) -> Result<u64, DirectoryError> {
    let name = path.join(WORLD_FILE);
    let failed = |error| DirectoryError::Io {
        path: name.clone(),
        error,
    };
    match fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&name)
    {
        Ok(mut file) => {
            file.write_all(format!("{world:016x}\n").as_bytes())
                .map_err(failed)?;
            Ok(world)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // Whoever made it writes its one line right away.
            let begin = Instant::now();
            loop {
                match claimed_by(path) {
                    Some(world) => return Ok(world),
                    None if begin.elapsed() > Duration::from_secs(5) => return Err(failed(error)),
                    None => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        }
        Err(error) => Err(failed(error)),
    }
}

/// The world that records here, if one does and its line is complete.
pub(crate) fn claimed_by(path: &Path) -> Option<u64> {
    let mut text = String::new();
    fs::File::open(path.join(WORLD_FILE))
        .ok()?
        .take(64)
        .read_to_string(&mut text)
        .ok()?;
    u64::from_str_radix(text.strip_suffix('\n')?, 16).ok()
}

/// Leaves a mark that another world wanted to record here and was refused.
pub(crate) fn mark_refused(path: &Path, world: u64) {
    // Where this fails, the message on stderr is all there is.
    let _ = fs::write(path.join(format!("{REFUSED_PREFIX}{world:016x}")), "");
}

/// How many worlds were refused.
pub(crate) fn n_refused(path: &Path) -> usize {
    fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(REFUSED_PREFIX)
        })
        .count()
}

fn is_empty(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// Whether a directory was made by collbench: it has the run's description, or rank files, and
/// nothing that a trace has not.
fn is_trace(path: &Path) -> bool {
    let Ok(entries) = fs::read_dir(path) else {
        return false;
    };
    let names: Vec<String> = entries
        .filter_map(Result::ok)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names
        .iter()
        .any(|name| name == RUN_FILE || is_rank_file(name))
        && names
            .iter()
            .all(|name| name == REPORT_FOLDER || belongs_to_trace(name))
}

fn belongs_to_trace(name: &str) -> bool {
    [RUN_FILE, WORLD_FILE, "truth.json"].contains(&name)
        || is_rank_file(name)
        || name.starts_with(REFUSED_PREFIX)
}

pub(crate) fn is_rank_file(name: &str) -> bool {
    name.ends_with(".trace")
}

/// Removes what belongs to a trace, and the directory if nothing else is in it. Of the report
/// only plain files go, and no link is followed.
pub(crate) fn remove_trace(path: &Path) {
    let remove_files = |folder: &Path, belongs: &dyn Fn(&str) -> bool| {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
            if is_file && belongs(&entry.file_name().to_string_lossy()) {
                // What cannot be removed shows when the new directory is made.
                let _ = fs::remove_file(entry.path());
            }
        }
    };
    let report = path.join(REPORT_FOLDER);
    if fs::symlink_metadata(&report).is_ok_and(|metadata| metadata.is_dir()) {
        remove_files(&report, &|_| true);
        let _ = fs::remove_dir(&report);
    }
    remove_files(path, &belongs_to_trace);
    let _ = fs::remove_dir(path);
}
