//! Creates and removes files of the directory without following links.

use std::fs::File;
use std::io;
use std::path::Path;

use collbench_files::Folder;

/// Creates a new file in the directory, for writing and reading, with the permissions that the
/// user's umask leaves, and not executable.
pub(crate) fn create_file(path: &Path, name: &str) -> io::Result<File> {
    Folder::open_no_follow(path)?.create(name)
}

/// Removes a file of the directory.
pub(crate) fn remove_file(path: &Path, name: &str) -> io::Result<()> {
    Folder::open_no_follow(path)?.remove_file(name)
}
