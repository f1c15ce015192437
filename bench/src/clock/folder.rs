//! The directory of the pictures.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Creates the directory if it is missing, and checks that it can be written to.
///
/// # Errors
/// Names the directory.
pub(super) fn make(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| tempfile::tempfile_in(folder).map(drop))
        .with_context(|| {
            format!(
                "--output {}: cannot be written; choose another directory",
                folder.display()
            )
        })
}
