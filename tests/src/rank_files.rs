//! The files of a trace.

use std::fs;
use std::path::{Path, PathBuf};

/// The rank files of a trace by name, and no links or pipes; none where there is no such directory.
///
/// # Panics
///
/// If the directory cannot be read to its end.
#[must_use]
pub fn rank_files(trace: &Path) -> Vec<PathBuf> {
    let is_rank_file = |path: &PathBuf| {
        path.extension().is_some_and(|end| end == "trace")
            && fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
    };
    let entries = fs::read_dir(trace).into_iter().flatten();
    let entries = entries.map(|entry| entry.expect("an entry of a trace").path());
    let mut files: Vec<_> = entries.filter(is_rank_file).collect();
    files.sort();
    files
}
