//! The directory of the pictures.

use std::fs;
use std::path::Path;

use anyhow::Context;
use collbench_viz::Picture;

/// Creates the directory if it is missing, and checks that it can be written to.
///
/// # Errors
/// Names the directory.
pub(crate) fn make(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder)
        .and_then(|()| tempfile::tempfile_in(folder).map(drop))
        .with_context(|| {
            format!(
                "--output {}: cannot be written; choose another directory",
                folder.display()
            )
        })
}

/// Writes a picture into the directory, under this name without its extension.
///
/// # Errors
/// Names the file.
pub(crate) fn write(folder: &Path, name: &str, picture: &Picture) -> anyhow::Result<()> {
    let path = folder.join(format!("{name}.svg"));
    fs::write(&path, picture.to_svg()).with_context(|| format!("writing {}", path.display()))
}
