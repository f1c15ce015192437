//! Folders of runs: each run has a folder of its own, named by its date and host, in one for all.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::journal::{OfJob, can_go_on};
use super::merge::read_results;
use super::plan::Plan;
use super::results::Results;
use super::surroundings::Surroundings;

/// Name of the document in the folder of a run.
pub(crate) const DOCUMENT: &str = "collective.json";

/// The results of a run that has ended in this folder; `None` if none has.
///
/// # Errors
/// Names the document if it cannot be read.
pub(super) fn ended(folder: &Path) -> anyhow::Result<Option<Results>> {
    let document = folder.join(DOCUMENT);
    if !document.exists() {
        return Ok(None);
    }
    read_results(&document).map(Some)
}

/// The folder of a run in `all`: that of a run with the same plan in a job like this one that has
/// not ended, else a new one.
///
/// # Errors
/// Names the folder that cannot be made or read.
pub(super) fn folder_of_run(
    all: &Path,
    plan: &Plan,
    job: &OfJob,
    surroundings: &Surroundings,
) -> anyhow::Result<PathBuf> {
    let entries = fs::read_dir(all).with_context(|| format!("reading {}", all.display()))?;
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    // The latest of them.
    let interrupted = folders
        .into_iter()
        .rfind(|folder| !folder.join(DOCUMENT).exists() && can_go_on(folder, plan, job));
    match interrupted {
        Some(folder) => Ok(folder),
        None => new_folder(all, surroundings),
    }
}

/// A folder that nobody else has made, named by date and host.
fn new_folder(all: &Path, surroundings: &Surroundings) -> anyhow::Result<PathBuf> {
    let date = surroundings.date.as_deref().unwrap_or("undated");
    let host = surroundings.hosts().first().copied().unwrap_or("host");
    // Colons and slashes are no part of a name that every system and shell takes.
    let keeps = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let name: String = format!("{date}-{host}")
        .chars()
        .map(|c| if keeps(c) { c } else { '-' })
        .collect();
    for n in 1.. {
        let folder = match n {
            1 => all.join(&name),
            n => all.join(format!("{name}-{n}")),
        };
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => {
                return Err(error).with_context(|| format!("making {}", folder.display()));
            }
        }
    }
    unreachable!("numbers do not end")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::collective::journal::Journal;
    use crate::collective::plan::Method;

    #[test]
    fn an_interrupted_run_goes_on_in_its_folder_and_a_finished_one_is_kept() {
        let all = tempfile::tempdir().unwrap();
        let plan = Plan {
            method: Method::default(),
            series: Vec::new(),
        };
        let job = OfJob {
            processes: 2,
            hosts: vec!["node/1".to_owned()],
            mpi_library: None,
            settings: BTreeMap::new(),
            has_cold_caches: false,
            tree_files: Vec::new(),
        };
        let surroundings = Surroundings {
            date: Some("2026-11-23T22:40:05Z".to_owned()),
            ..Surroundings::default()
        };
        let folder = || folder_of_run(all.path(), &plan, &job, &surroundings).unwrap();
        let first = folder();
        assert!(first.ends_with("2026-11-23T22-40-05Z-host"));
        drop(Journal::open(&first, &plan, &job).unwrap());
        // The first run ended before its document was written.
        assert_eq!(folder(), first);
        fs::write(first.join(DOCUMENT), "{}").unwrap();
        let second = folder();
        assert!(second.ends_with("2026-11-23T22-40-05Z-host-2"));
        // While it is being measured, another one has a folder of its own.
        let _journal = Journal::open(&second, &plan, &job).unwrap();
        assert!(folder().ends_with("2026-11-23T22-40-05Z-host-3"));
    }
}
