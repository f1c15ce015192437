//! The directory of a new trace while it is being made, next to its final path.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use collbench_files::Folder;
use collbench_instrument::directory::UNFINISHED_SUFFIX;

use super::lock;

/// The file that identifies such a directory; a trace has none with this name.
pub(super) const MARK: &str = "unfinished-by-collbench-compact";

/// Such a directory, locked, so that other commands can distinguish it from one that was left over.
#[derive(Debug)]
pub(super) struct Unfinished {
    path: PathBuf,
    pub(super) folder: Folder,
    /// Locked as long as this exists.
    _lock: File,
}

impl Unfinished {
    /// Creates the directory for the new trace `out`; one that was left over from a command that
    /// was killed is cleared and used.
    pub(super) fn beside(out: &Path) -> anyhow::Result<Self> {
        let mut path = out.as_os_str().to_owned();
        path.push(UNFINISHED_SUFFIX);
        let path = PathBuf::from(path);
        let shown = || path.display().to_string();
        let was_there = match fs::create_dir(&path) {
            Ok(()) => false,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => true,
            Err(error) => return Err(error).with_context(|| {
                format!("{}: cannot be created; choose an OUT in a directory that exists and is writable", shown())
            }),
        };
        let folder = Folder::open_no_follow(&path).with_context(shown)?;
        let opened = folder.as_file().with_context(shown)?;
        let is_locked = lock(&opened).with_context(shown)?;
        if was_there {
            let is_left_over = is_locked && folder.is_at(&path) && is_ours(&folder)?;
            if !is_left_over {
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

    /// Gives it the name of the new trace, when that is complete.
    pub(super) fn finish(&self, out: &Path) -> anyhow::Result<()> {
        self.folder.remove_file(MARK)?;
        let _ = self.folder.as_file().and_then(|folder| folder.sync_all());
        fs::rename(&self.path, out).with_context(|| format!("creating {}", out.display()))
    }

    /// Removes it, with everything in it; what cannot be removed stays for the next command.
    pub(super) fn remove(&self) {
        if empty(&self.folder).is_ok() && self.folder.is_at(&self.path) {
            let _ = fs::remove_dir(&self.path);
        }
    }
}

/// Whether this command has made the directory, and it has only files.
fn is_ours(folder: &Folder) -> io::Result<bool> {
    let names = folder.names()?;
    for name in &names {
        if !folder.metadata_of(name)?.is_file() {
            return Ok(false);
        }
    }
    // An empty one was left over before it got its mark.
    Ok(names.is_empty() || names.iter().any(|name| name == MARK))
}

/// Clears the directory. The mark is removed last, so that a directory that is only partly cleared
/// is still recognized.
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
