//! The folder of the pictures.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// Makes the folder where it is missing, and finds out whether anything can be written there.
///
/// # Errors
/// Names the folder.
pub(super) fn make(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| tempfile::tempfile_in(folder).map(drop))
        .with_context(|| format!("--output {}: cannot write there", folder.display()))
}
