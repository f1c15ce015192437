//! Which world records in the directory, and how many others were refused.

use std::io::{self, Read, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use collbench_files::Folder;

use super::error::DirectoryError;
use super::files::create_file;
use super::names::{REFUSED_PREFIX, WORLD_FILE};
use crate::process::unsignalled;

/// Writes which world records here, unless one does already; returns the world that does.
pub(crate) fn claim(path: &Path, world: u64) -> Result<u64, DirectoryError> {
    let failed = |error| DirectoryError::Io {
        path: path.join(WORLD_FILE),
        error,
    };
    match create_file(path, WORLD_FILE) {
        Ok(mut file) => {
            unsignalled(|| file.write_all(format!("{world:016x}\n").as_bytes())).map_err(failed)?;
            Ok(world)
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            // The process that created the file writes its one line right away.
            let begin = Instant::now();
            loop {
                match read_claim(path) {
                    Ok(Some(world)) => return Ok(world),
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(error));
                    }
                    _ if begin.elapsed() > Duration::from_secs(5) => return Err(failed(error)),
                    _ => std::thread::sleep(Duration::from_millis(1)),
                }
            }
        }
        Err(error) => Err(failed(error)),
    }
}

/// The world that records here, if there is one and its line is complete.
pub(crate) fn claimed_by(path: &Path) -> Option<u64> {
    read_claim(path).ok().flatten()
}

fn read_claim(path: &Path) -> io::Result<Option<u64>> {
    let mut text = String::new();
    Folder::open_no_follow(path)?
        .file(WORLD_FILE)?
        .take(64)
        .read_to_string(&mut text)?;
    let number = text.strip_suffix('\n');
    Ok(number.and_then(|number| u64::from_str_radix(number, 16).ok()))
}

/// Leaves a mark that another world was refused.
pub(crate) fn mark_refused(path: &Path, world: u64) {
    // If this fails, only the message on stderr reports it.
    let _ = create_file(path, &format!("{REFUSED_PREFIX}{world:016x}"));
}

/// Number of worlds that were refused.
pub fn n_refused(path: &Path) -> usize {
    let names = Folder::open_no_follow(path).and_then(|folder| folder.names());
    names
        .into_iter()
        .flatten()
        .filter(|name| name.to_string_lossy().starts_with(REFUSED_PREFIX))
        .count()
}
