//! Creates an empty directory that no other recorder uses.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use collbench_files::Folder;

use super::error::DirectoryError;
use super::names::RUN_FILE;
use super::parts::{Parts, remove_trace};
use crate::process::move_to_high_descriptor;

/// Checks whether an empty directory can be created at `path`; changes nothing.
///
/// # Errors
/// [`DirectoryError`]: why it cannot be created.
pub fn check_fresh(path: &Path, force: bool) -> Result<(), DirectoryError> {
    let found = look(path, force);
    // A directory that another recorder is removing or creating can look like anything.
    if matches!(found, Err(DirectoryError::NotATrace(_)))
        && let Err(in_use @ DirectoryError::InUse(_)) = lock(path)
    {
        return Err(in_use);
    }
    found
}

/// Checks a directory that this process may have locked itself.
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
        Ok(_) => match Folder::open_no_follow(path) {
            Ok(folder) => look_in(&folder, path, force),
            Err(error) => Err(DirectoryError::Io {
                path: path.to_owned(),
                error,
            }),
        },
    }
}

/// Checks a directory that exists and is open.
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

/// Checks whether a directory could be created in the nearest existing directory above.
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
    // SAFETY: the name is a C string.
    if unsafe { libc::access(name.as_ptr(), libc::W_OK | libc::X_OK) } == 0 {
        return Ok(());
    }
    Err(DirectoryError::Io {
        path: existing.to_owned(),
        error: io::Error::last_os_error(),
    })
}

/// A trace directory that no other recorder uses while this value exists, in any process of this
/// host (on a network file system: of the hosts that share its locks).
#[derive(Debug)]
pub struct Fresh {
    lock: Option<File>,
    /// Whether the directory itself is new.
    pub is_new: bool,
}

impl Fresh {
    /// Keeps the directory locked until the process ends.
    pub(crate) fn keep_until_exit(self) {
        if let Some(lock) = self.lock {
            std::mem::forget(move_to_high_descriptor(lock));
        }
    }
}

/// Creates an empty directory at `path`; removes an older trace there if `force`.
///
/// # Errors
/// [`DirectoryError`]: why it cannot be created.
pub fn make_fresh(path: &Path, force: bool) -> Result<Fresh, DirectoryError> {
    /// How often the directory may vanish between being created and being locked.
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
            // Another recorder may have been first.
            look_in(&folder, path, force)?;
            remove_trace(&folder, path)?;
            return Ok(Fresh { lock, is_new });
        }
    }
    Err(failed(io::Error::from(io::ErrorKind::NotFound)))
}

/// Removes the trace at `path`, unless another recorder is writing it.
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

/// A directory that is kept open, and locked where possible.
struct Held {
    folder: Folder,
    lock: Option<File>,
}

/// Opens the directory, and locks it while the file exists; `None` if the path has become another
/// directory, or none.
fn lock(path: &Path) -> Result<Option<Held>, DirectoryError> {
    let failed = |error| DirectoryError::Io {
        path: path.to_owned(),
        error,
    };
    let opened = Folder::open_no_follow(path).and_then(|folder| Ok((folder.as_file()?, folder)));
    let (lock, folder) = match opened {
        Ok(opened) => opened,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    // SAFETY: the descriptor is open; flock only uses the descriptor.
    let is_locked = unsafe { libc::flock(lock.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0;
    if !is_locked {
        return match io::Error::last_os_error().raw_os_error() {
            Some(libc::EWOULDBLOCK) => Err(DirectoryError::InUse(path.to_owned())),
            // Some network file systems cannot lock directories; the checks that follow are made
            // all the same.
            _ => Ok(Some(Held { folder, lock: None })),
        };
    }
    let lock = Some(lock);
    Ok(folder.is_at(path).then_some(Held { folder, lock }))
}

/// Removes a trace into which nothing was recorded, if it is of the run with this `run.json`; also
/// removes the directory, if it `is_new`.
pub fn remove_unused(path: &Path, run: &str, is_new: bool) {
    let Ok(folder) = Folder::open_no_follow(path) else {
        return;
    };
    let mut text = Vec::new();
    // Reads one byte more than the file should have, since its length is not known.
    let read = folder
        .file(RUN_FILE)
        .and_then(|file| file.take(run.len() as u64 + 1).read_to_end(&mut text));
    let is_ours = read.is_ok() && text == run.as_bytes();
    let is_used = Parts::of(&folder).is_some_and(|parts| parts.has_rank_files());
    // What cannot be removed stays, and is reported when the directory is used again.
    if is_ours && !is_used && remove_trace(&folder, path).is_ok() && is_new && folder.is_at(path) {
        let _ = fs::remove_dir(path);
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::super::{claim, claimed_by, mark_refused, write_run};
    use super::*;

    const RUN: &str = r#"{"schema": "collbench.run/1"}"#;

    /// A folder with these files; names that end in / are folders.
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
                ("report-MPI_Bcast-from-1s/index.html", ""),
                ("report-ranks-0-3/analysis.json", ""),
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
            &[("run.json", RUN), ("report-ranks-0/thesis.tex", "")],
            &[("run.json", RUN), ("report-on-thesis", "a file")],
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
        let parts = Parts::of(&Folder::open_no_follow(folder.path()).unwrap()).unwrap();
        let report = &parts.reports[0];
        fs::rename(folder.path().join("report"), folder.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("report")).unwrap();
        for name in &report.files {
            report.folder.remove_file(name).unwrap();
        }
        assert_eq!(all_files(elsewhere.path()).len(), 2);
        assert!(!folder.path().join("moved/index.html").exists());
        // The trace itself was moved away, and a link has its name.
        let place = folder_of(&[("trace/run.json", RUN), ("trace/report/index.html", "")]);
        let path = place.path().join("trace");
        let opened = Folder::open_no_follow(&path).unwrap();
        fs::rename(&path, place.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &path).unwrap();
        remove_trace(&opened, &path).unwrap();
        assert_eq!(all_files(elsewhere.path()).len(), 2);
        assert!(all_files(&place.path().join("moved")).is_empty());
    }

    #[test]
    fn a_pipe_or_endless_file_in_place_of_run_json_is_not_waited_for() {
        let folder = folder_of(&[("trace/", "")]);
        let path = folder.path().join("trace");
        let run = path.join(RUN_FILE);
        let pipe = CString::new(run.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a C string.
        assert_eq!(unsafe { libc::mkfifo(pipe.as_ptr(), 0o666) }, 0);
        remove_unused(&path, RUN, true);
        assert!(run.symlink_metadata().is_ok(), "it is not ours");
        fs::remove_file(&run).unwrap();
        // A file without an end.
        std::os::unix::fs::symlink("/dev/zero", &run).unwrap();
        remove_unused(&path, RUN, true);
        assert!(run.is_symlink());
        fs::remove_file(&run).unwrap();
        fs::write(&run, format!("{RUN} and more")).unwrap();
        remove_unused(&path, RUN, true);
        assert!(run.exists(), "of another run");
    }

    #[test]
    fn the_second_of_two_recorders_gets_an_error_and_cannot_remove_the_trace_of_the_first() {
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
    fn links_and_pipes_of_others_are_neither_followed_nor_waited_for() {
        let folder = folder_of(&[("trace/", ""), ("other/victim", "precious")]);
        let place = |name: &str| folder.path().join(name);
        let trace = place("trace");
        let pipe = CString::new(place("trace/world").as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a C string.
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
}
