//! The directory of results: there as a whole, or not at all.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use collbench_text::inert;
use collbench_tune::run::SCHEMA;
use serde::Deserialize;

use super::launch::remove;

/// The document in the directory, and the page.
pub(super) const DOCUMENT: &str = "run.json";
pub(super) const PAGE: &str = "index.html";

/// A folder beside the directory that it will be; removed if it does not become that.
#[derive(Debug)]
pub(super) struct Results {
    /// Where everything is written meanwhile.
    pub(super) folder: PathBuf,
    /// What it will be.
    pub(super) directory: PathBuf,
    is_kept: bool,
}

impl Results {
    /// A fresh folder for this directory, which must not be there, or with `force` be one of this command.
    pub(super) fn begin(directory: &Path, force: bool) -> anyhow::Result<Self> {
        let directory = std::path::absolute(directory)?;
        check_free(&directory, force)?;
        let Some(name) = directory.file_name() else {
            bail!("{} is no name of a directory", inert::path(&directory));
        };
        let mut unfinished = OsString::from(".");
        unfinished.push(name);
        unfinished.push(format!(".{}.unfinished", std::process::id()));
        let folder = directory.with_file_name(unfinished);
        fs::create_dir(&folder).with_context(|| inert::path(&folder))?;
        Ok(Self {
            folder,
            directory,
            is_kept: false,
        })
    }

    /// Where a file or folder with this name is now.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Where it will be.
    pub(super) fn final_path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The names of what is in it, sorted.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = names_of(&self.folder);
        names.push(DOCUMENT.to_owned());
        names.sort();
        names.dedup();
        names
    }

    /// Gives it its name; an older one of this command is removed.
    pub(super) fn keep(mut self) -> anyhow::Result<()> {
        let shown = || inert::path(&self.directory);
        let old = self.folder.with_extension("old");
        let is_there = self.directory.symlink_metadata().is_ok();
        if is_there {
            fs::rename(&self.directory, &old).with_context(shown)?;
        }
        fs::rename(&self.folder, &self.directory).with_context(shown)?;
        self.is_kept = true;
        if is_there {
            remove(&old);
        }
        Ok(())
    }
}

impl Drop for Results {
    fn drop(&mut self) {
        if !self.is_kept {
            remove(&self.folder);
        }
    }
}

fn names_of(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// What the document of an older directory says of it.
#[derive(Deserialize)]
struct Older {
    schema: String,
    files: Vec<String>,
}

/// Whether the directory may be made, or replaced.
fn check_free(directory: &Path, force: bool) -> anyhow::Result<()> {
    let shown = inert::path(directory);
    match directory.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).context(shown),
        Ok(metadata) if !metadata.is_dir() => {
            bail!("{shown} is no directory; choose another one with -o")
        }
        Ok(_) => {}
    }
    let names = names_of(directory);
    if names.is_empty() {
        return Ok(());
    }
    let older = fs::read(directory.join(DOCUMENT)).ok();
    let older: Option<Older> = older.and_then(|text| serde_json::from_slice(&text).ok());
    let Some(older) = older.filter(|of| of.schema == SCHEMA) else {
        bail!("{shown} exists and is not of collbench-tune run; choose another directory with -o");
    };
    if !force {
        bail!("{shown} exists; --force replaces it");
    }
    if let Some(other) = names.iter().find(|name| !older.files.contains(name)) {
        let other = inert::line(other, 120);
        bail!(
            "{shown} has {other}, which collbench-tune run has not written; move it, or choose another directory with -o"
        );
    }
    Ok(())
}
