//! The parts of a trace directory, and their removal.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use collbench_files::Folder;
use collbench_formats::FILE_MAGIC;

use super::error::DirectoryError;
use super::names::{
    REFUSED_PREFIX, RUN_FILE, SYMBOLS_FILE, TRUTH_FILE, UNFINISHED_SUFFIX, WORLD_FILE,
    is_agreement, is_rank_file, is_report,
};
use super::run::is_run;

/// The parts of a trace in a directory that has nothing else. No link is followed.
///
/// Replacing a trace deletes these parts. So names are not enough: other programs also write files
/// that end in `.trace`.
pub(super) struct Parts {
    pub(super) files: Vec<OsString>,
    /// The folders of reports.
    pub(super) reports: Vec<ReportFolder>,
}

/// The folder of a report, open, and the files in it. What is removed is what was checked, even if
/// another folder has its name by then.
pub(super) struct ReportFolder {
    name: String,
    pub(super) folder: Folder,
    pub(super) files: Vec<OsString>,
}

impl Parts {
    /// `None` if there is anything that does not belong to a trace.
    pub(super) fn of(folder: &Folder) -> Option<Self> {
        let mut files = Vec::new();
        let mut reports = Vec::new();
        let mut has_run = false;
        let mut n_rank_files = 0;
        let mut n_empty = 0;
        for name in folder.names().ok()? {
            let name = name.into_string().ok()?;
            let kind = folder.metadata_of(&name).ok()?.file_type();
            if is_report(&name) && kind.is_dir() {
                let folder = folder.folder(&name).ok()?;
                let files = files_of_report(&folder)?;
                reports.push(ReportFolder {
                    name,
                    folder,
                    files,
                });
                continue;
            }
            if !kind.is_file() {
                return None;
            }
            match name.as_str() {
                RUN_FILE if is_run(folder) => has_run = true,
                WORLD_FILE if is_world(folder) => {}
                TRUTH_FILE | SYMBOLS_FILE => {}
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
        (has_run || (n_rank_files > 0 && n_empty == 0)).then_some(Self { files, reports })
    }

    pub(super) fn has_rank_files(&self) -> bool {
        let mut names = self.files.iter();
        names.any(|name| is_rank_file(&name.to_string_lossy()))
    }
}

/// The files of a report; `None` if the folder has anything else.
fn files_of_report(folder: &Folder) -> Option<Vec<OsString>> {
    let mut files = Vec::new();
    for name in folder.names().ok()? {
        let name = name.into_string().ok()?;
        let belongs = ["index.html", "analysis.json"].contains(&name.as_str())
            || name.ends_with(".svg")
            || name.ends_with(".dot");
        if !belongs || !folder.metadata_of(&name).ok()?.is_file() {
            return None;
        }
        files.push(name.into());
    }
    Some(files)
}

/// Whether the file has a world's number in hexadecimal, perhaps incomplete because its writer was
/// killed.
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

/// Removes the trace in a directory, if there is one; `path` is for messages. The directory stays:
/// its owner, permissions and location on the disk may have been chosen by the user.
pub(super) fn remove_trace(folder: &Folder, path: &Path) -> Result<(), DirectoryError> {
    let Some(Parts { files, reports }) = Parts::of(folder) else {
        return Ok(());
    };
    let gone = |path: PathBuf, removed: io::Result<()>| match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(DirectoryError::Io { path, error })
        }
        _ => Ok(()),
    };
    // Reports are removed first: as long as other parts are left, the directory is still
    // recognized as a trace.
    for report in reports {
        let path = path.join(&report.name);
        for name in report.files {
            gone(path.join(&name), report.folder.remove_file(&name))?;
        }
        gone(path, folder.remove_folder(&report.name))?;
    }
    for name in files {
        gone(path.join(&name), folder.remove_file(&name))?;
    }
    Ok(())
}
