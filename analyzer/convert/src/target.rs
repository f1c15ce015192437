//! Where an export is written: beside its final place, and moved there when it is complete.

use std::cell::Cell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::ExportError;
use crate::tables::schema::{TABLES, TableSchema};

/// A file or a directory that has its final name only when it is complete.
#[derive(Debug)]
pub(crate) struct Target {
    path: PathBuf,
    partial: PathBuf,
    force: bool,
    /// Names of files that a directory of this kind may consist of; of those in a directory inside with its name, as in
    /// `traces/0.evt`.
    is_known: fn(&str) -> bool,
    /// Whether it has begun, and is not complete.
    is_partial: Cell<bool>,
}

impl Target {
    /// A place in which there is nothing yet, or (with `force`) only an earlier export: a file that begins as exports do, or a
    /// directory of files with names that `is_known` knows.
    ///
    /// # Errors
    /// [`ExportError`] if there is something else.
    pub(crate) fn new(
        path: &Path,
        force: bool,
        is_known: fn(&str) -> bool,
    ) -> Result<Self, ExportError> {
        let name = path.file_name().ok_or_else(|| {
            let expected = "expected the name of a file or directory";
            ExportError::io(path, io::Error::new(io::ErrorKind::InvalidInput, expected))
        })?;
        let mut partial = std::ffi::OsString::from(".");
        partial.push(name);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let nanoseconds = now.map_or(0, |now| now.subsec_nanos());
        partial.push(format!(".partial-{}-{nanoseconds}", std::process::id()));
        let this = Self {
            // Without a slash at its end.
            path: path.with_file_name(name),
            partial: path.with_file_name(partial),
            force,
            is_known,
            is_partial: Cell::new(false),
        };
        this.check()?;
        Ok(this)
    }

    /// Whether what is there may be replaced.
    fn check(&self) -> Result<(), ExportError> {
        let Ok(there) = fs::symlink_metadata(&self.path) else {
            return Ok(());
        };
        if !self.force {
            return Err(ExportError::Exists(self.path.clone()));
        }
        let foreign = |why: String| ExportError::Foreign {
            path: self.path.clone(),
            why,
        };
        if there.is_file() {
            let begin =
                beginning(&self.path).map_err(|error| ExportError::io(&self.path, error))?;
            return if is_beginning(&begin) {
                Ok(())
            } else {
                Err(foreign("it begins otherwise".to_owned()))
            };
        }
        if !there.is_dir() {
            return Err(foreign("it is neither a file nor a directory".to_owned()));
        }
        match self.unknown_in(&self.path, "")? {
            Some(name) => {
                let name = collbench_text::inert::line(&name, 60);
                Err(foreign(format!("it contains {name}")))
            }
            None => Ok(()),
        }
    }

    /// The first file or directory in `directory` that is not known, with its path from the top, where `directory` is `under`.
    fn unknown_in(&self, directory: &Path, under: &str) -> Result<Option<String>, ExportError> {
        let entries = fs::read_dir(directory).map_err(|error| ExportError::io(directory, error))?;
        for entry in entries.flatten() {
            let name = format!("{under}{}", entry.file_name().to_string_lossy());
            if !(self.is_known)(&name) {
                return Ok(Some(name));
            }
            // Only one of which the name is known: there is not much in it.
            let is_directory = entry.file_type().is_ok_and(|found| found.is_dir());
            if is_directory
                && let Some(unknown) = self.unknown_in(&entry.path(), &format!("{name}/"))?
            {
                return Ok(Some(unknown));
            }
        }
        Ok(None)
    }

    /// Where it is written until it is complete.
    #[must_use]
    pub(crate) fn partial(&self) -> &Path {
        &self.partial
    }

    /// Creates the file.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn create(&self) -> Result<File, ExportError> {
        let file = create(&self.partial)?;
        self.is_partial.set(true);
        Ok(file)
    }

    /// Creates the directory.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn create_directory(&self) -> Result<(), ExportError> {
        fs::create_dir(&self.partial).map_err(|error| ExportError::io(&self.partial, error))?;
        self.is_partial.set(true);
        Ok(())
    }

    /// It is complete: gives it its name.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn complete(self) -> Result<(), ExportError> {
        self.check()?;
        let failed = |error| ExportError::io(&self.path, error);
        // A directory does not replace another one, nor a file.
        let is_there = fs::symlink_metadata(&self.path).is_ok_and(|there| {
            there.is_dir() || fs::metadata(&self.partial).is_ok_and(|new| new.is_dir())
        });
        let mut before = self.partial.clone().into_os_string();
        before.push("-before");
        let before = PathBuf::from(before);
        if is_there {
            fs::rename(&self.path, &before).map_err(failed)?;
        }
        let renamed = fs::rename(&self.partial, &self.path);
        if is_there {
            match renamed {
                Ok(()) => remove(&before),
                Err(_) => _ = fs::rename(&before, &self.path),
            }
        }
        self.is_partial.set(renamed.is_err());
        renamed.map_err(failed)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_partial.get() {
            remove(&self.partial);
        }
    }
}

/// Creates a file where there is none.
///
/// # Errors
/// [`ExportError`] if that fails.
pub(crate) fn create(path: &Path) -> Result<File, ExportError> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    created.map_err(|error| ExportError::io(path, error))
}

/// A file for a while, which is gone when it is closed, also by a kill. `path`: where it may be for a moment.
///
/// # Errors
/// What the system says.
pub(crate) fn create_unnamed(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).create_new(true).open(path)?;
    fs::remove_file(path)?;
    Ok(file)
}

/// The first bytes of a file.
fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut begin = Vec::new();
    File::open(path)?
        .take(MOST_BYTES_OF_BEGINNING)
        .read_to_end(&mut begin)?;
    Ok(begin)
}

/// Bytes by which an export is known.
const MOST_BYTES_OF_BEGINNING: u64 = 512;

/// Whether a file that begins so may be an export: it is empty, Parquet, a database of SQLite, compressed, a Perfetto trace, a
/// schedule in GOAL, or has the names of columns of a table in its first line.
fn is_beginning(begin: &[u8]) -> bool {
    const OF_FILES: [&[u8]; 5] = [
        b"PAR1",
        b"SQLite format 3\0",
        b"\x1f\x8b",
        b"\x0a",
        b"num_ranks ",
    ];
    let is_header = |table: &&TableSchema| {
        let names = table.columns.iter().map(|column| column.name);
        let names: Vec<&str> = names.collect();
        begin.starts_with(names.join(",").as_bytes())
    };
    begin.is_empty()
        || OF_FILES.iter().any(|of_file| begin.starts_with(of_file))
        || TABLES.iter().any(is_header)
}

/// Removes a file, or a directory with its files, if it is there.
fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|there| there.is_dir()) {
        _ = fs::remove_dir_all(path);
    } else {
        _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn is_known(name: &str) -> bool {
        name.ends_with(".csv")
    }

    #[test]
    fn nothing_has_the_final_name_before_it_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let target = Target::new(&path, false, is_known).unwrap();
        target.create().unwrap().write_all(b"new").unwrap();
        assert!(!path.exists());
        drop(target);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let target = Target::new(&path, false, is_known).unwrap();
        target.create().unwrap().write_all(b"new").unwrap();
        target.complete().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn directories_inside_are_replaced_if_all_in_them_is_known() {
        fn is_known(name: &str) -> bool {
            name == "inside" || name == "inside/a.csv"
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::create_dir_all(path.join("inside")).unwrap();
        fs::write(path.join("inside/a.csv"), "old").unwrap();
        let target = Target::new(&path, true, is_known).unwrap();
        target.create_directory().unwrap();
        target.complete().unwrap();
        assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
        fs::create_dir_all(path.join("inside")).unwrap();
        fs::write(path.join("inside/thesis.tex"), "mine").unwrap();
        let refused = Target::new(&path, true, is_known).unwrap_err();
        assert!(
            refused.to_string().contains("inside/thesis.tex"),
            "{refused}"
        );
        assert!(path.join("inside/thesis.tex").exists());
    }

    #[test]
    fn only_exports_are_replaced_and_only_if_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("calls.csv"), "old").unwrap();
        let refused = Target::new(&path, false, is_known).unwrap_err();
        assert!(matches!(refused, ExportError::Exists(_)));
        let target = Target::new(&path, true, is_known).unwrap();
        target.create_directory().unwrap();
        fs::write(target.partial().join("ranks.csv"), "new").unwrap();
        target.complete().unwrap();
        assert_eq!(fs::read(path.join("ranks.csv")).unwrap(), b"new");
        assert!(!path.join("calls.csv").exists());
        fs::write(path.join("thesis.tex"), "mine").unwrap();
        let refused = Target::new(&path, true, is_known).unwrap_err();
        assert!(refused.to_string().contains("thesis.tex"), "{refused}");
        assert!(path.join("thesis.tex").exists());
        let file = path.join("thesis.tex");
        let refused = Target::new(&file, true, is_known).unwrap_err();
        assert!(matches!(refused, ExportError::Foreign { .. }));
        fs::write(&file, "PAR1...").unwrap();
        assert!(Target::new(&file, true, is_known).is_ok());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
