//! What commands print, and the files that they write.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

use crate::inert;

/// Prints to stdout; a closed pipe is not an error.
///
/// # Errors
///
/// An error of stdout, which is named.
pub fn print(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| named("stdout", &error)),
    }
}

/// Writes a whole file, or nothing; one that is there is replaced with `force` alone, the option `--force`.
///
/// # Errors
///
/// With the name of the file: if it is there, or cannot be written.
pub fn write_file(path: &Path, text: &str, force: bool) -> io::Result<()> {
    let shown = inert::path(path);
    if !force && path.symlink_metadata().is_ok() {
        let what = format!("{shown} exists; --force replaces it");
        return Err(io::Error::new(ErrorKind::AlreadyExists, what));
    }
    let Some(name) = path.file_name() else {
        let what = format!("{shown} is no name of a file");
        return Err(io::Error::new(ErrorKind::InvalidInput, what));
    };
    let mut unfinished = OsString::from(".");
    unfinished.push(name);
    unfinished.push(format!(".{}.unfinished", std::process::id()));
    let unfinished = path.with_file_name(unfinished);
    let written = File::create_new(&unfinished)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .and_then(|()| fs::rename(&unfinished, path));
    if written.is_err() {
        let _ = fs::remove_file(&unfinished);
    }
    written.map_err(|error| named(&shown, &error))
}

fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
