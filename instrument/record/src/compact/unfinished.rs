//! The directory of a new trace while it is made, beside the place that it is to have.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use collbench_files::Folder;
use collbench_instrument::directory::UNFINISHED_SUFFIX;

use super::lock;

/// The file by which such a directory is known; a trace has none of this name.
pub(super) const MARK: &str = "unfinished-by-collbench-compact";

/// Such a directory; locked, so that others can tell it from one that was left behind.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
    pub(super) folder: Folder,
    /// Held for as long as this lives.
    _lock: File,
}

impl Unfinished {
    /// Makes that of the new trace `out`; one that was left behind, by a command that was killed, is
    /// emptied and used.
    pub(super) fn beside(out: &Path) -> anyhow::Result<Self> {
        let mut path = out.as_os_str().to_owned();
        path.push(UNFINISHED_SUFFIX);
        let path = PathBuf::from(path);
        let shown = || path.display().to_string();
        let was_there = match fs::create_dir(&path) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(error).with_context(|| format!("creating {}", shown())),
        };
        let folder = Folder::open_no_follow(&path).with_context(shown)?;
        let opened = folder.as_file().with_context(shown)?;
        let is_locked = lock(&opened).with_context(shown)?;
        if was_there {
            let is_left_behind = is_locked && folder.is_at(&path) && is_ours(&folder)?;
            if !is_left_behind {
                bail!(
                    "{}: exists and does not look like the remains of an interrupted \
                     collbench-compact; remove it, or choose another OUT",
                    shown()
                );
            }
            empty(&folder).with_context(|| format!("emptying {}", shown()))?;
        }
        folder
            .create(MARK)
            .with_context(|| format!("writing in {}", shown()))?;
        Ok(Self {
            path,
            folder,
            _lock: opened,
        })
    }

    /// Gives it the name of the new trace, now that it is whole.
    pub(super) fn finish(&self, out: &Path) -> anyhow::Result<()> {
        self.folder.remove_file(MARK)?;
        let _ = self.folder.as_file().and_then(|folder| folder.sync_all());
        fs::rename(&self.path, out).with_context(|| format!("creating {}", out.display()))
    }

    /// Removes it, with all that is in it; what cannot be removed stays, for the next one.
    pub(super) fn remove(&self) {
        if empty(&self.folder).is_ok() && self.folder.is_at(&self.path) {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Whether the directory is one of ours, of files only.
fn is_ours(folder: &Folder) -> io::Result<bool> {
    let names = folder.names()?;
    for name in &names {
        if !folder.metadata_of(name)?.is_file() {
            return Ok(false);
        }
    }
    // One without anything was left behind before it got its mark.
    Ok(names.is_empty() || names.iter().any(|name| name == MARK))
}

/// The mark goes last: what is left half removed is known again.
fn empty(folder: &Folder) -> io::Result<()> {
    let names = folder.names()?;
    for name in names.iter().filter(|name| *name != MARK) {
        folder.remove_file(name)?;
    }
    match folder.remove_file(MARK) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
