//! Results in directories: of one run, or of many, each in a directory of its own.

use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::collective::{DOCUMENT, JOURNAL, Results, read_results};

/// A run that was kept.
#[derive(Debug)]
pub(super) struct Kept {
    /// Name of its directory, or of its file; no two runs have the same.
    pub(super) name: String,
    /// The document; of a run that has not ended the journal of its points.
    pub(super) path: PathBuf,
    /// `None` for a run that has not ended. The error is a sentence that names the file.
    pub(super) results: Result<Option<Results>, String>,
}

/// All runs in these directories and files, in the order given; within a directory by date.
///
/// # Errors
/// Names a path without results.
pub(super) fn find(paths: &[PathBuf]) -> anyhow::Result<Vec<Kept>> {
    let mut all = Vec::new();
    for path in paths {
        let found = in_path(path)?;
        ensure!(
            !found.is_empty(),
            "{}: has no results; give a directory that collbench-bench collective --keep or \
             --output has filled, or a {DOCUMENT}",
            path.display()
        );
        all.extend(found);
    }
    make_names_unique(&mut all);
    Ok(all)
}

fn in_path(path: &Path) -> anyhow::Result<Vec<Kept>> {
    let is_folder = std::fs::metadata(path)
        .with_context(|| format!("reading {}", path.display()))?
        .is_dir();
    if !is_folder {
        return Ok(vec![Kept::document(name_of_file(path), path.to_owned())]);
    }
    if let Some(one) = Kept::in_folder(path) {
        return Ok(vec![one]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("reading {}", path.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    // Their names begin with the date.
    folders.sort();
    Ok(folders
        .iter()
        .filter_map(|folder| Kept::in_folder(folder))
        .collect())
}

/// The name of a file for people: that of its directory if all such files have one name.
fn name_of_file(path: &Path) -> String {
    let words =
        |part: Option<&std::ffi::OsStr>| part.map(|name| name.to_string_lossy().into_owned());
    let own = words(path.file_name()).unwrap_or_default();
    let folder = path.parent().and_then(|folder| words(folder.file_name()));
    match folder {
        Some(folder) if own == DOCUMENT => folder,
        _ => own,
    }
}

fn make_names_unique(all: &mut [Kept]) {
    for i in 1..all.len() {
        let (before, rest) = all.split_at_mut(i);
        let name = rest[0].name.clone();
        let mut n = 1;
        while before.iter().any(|one| one.name == rest[0].name) {
            n += 1;
            rest[0].name = format!("{name} ({n})");
        }
    }
}

impl Kept {
    /// The run whose results lie directly in a folder.
    fn in_folder(folder: &Path) -> Option<Self> {
        let (document, journal) = (folder.join(DOCUMENT), folder.join(JOURNAL));
        let name = match folder.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => folder.display().to_string(),
        };
        if document.is_file() {
            return Some(Self::document(name, document));
        }
        journal.is_file().then_some(Self {
            name,
            path: journal,
            results: Ok(None),
        })
    }

    fn document(name: String, path: PathBuf) -> Self {
        let results = read_results(&path).map(Some);
        Self {
            name,
            path,
            results: results.map_err(|error| format!("{error:#}")),
        }
    }
}
