//! The directory of results and pictures.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
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
    write_file(folder, &format!("{name}.svg"), picture.to_svg().as_bytes())
}

/// Writes a file into the directory. It is there as a whole, or as it was before.
///
/// # Errors
/// Names the file.
pub(crate) fn write_file(folder: &Path, name: &str, content: &[u8]) -> anyhow::Result<()> {
    let path = folder.join(name);
    let write = || {
        let mut file = tempfile::Builder::new();
        let readable = std::os::unix::fs::PermissionsExt::from_mode(0o666);
        let mut file = file.permissions(readable).tempfile_in(folder)?;
        file.write_all(content)?;
        file.persist(&path)?;
        Ok(())
    };
    let written: std::io::Result<()> = write();
    written.with_context(|| format!("writing {}", path.display()))
}

/// Takes the lock of the file until it is closed; `false` if another process has it. Where the file
/// system has no locks, none is needed to go on.
pub(crate) fn lock(file: &File) -> bool {
    // SAFETY: a descriptor that is open.
    let code = unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) };
    code == 0 || std::io::Error::last_os_error().kind() != std::io::ErrorKind::WouldBlock
}
