//! Finds a program as `exec` does, before anything is changed for it.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The search path of a system without `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that `exec` would run for `name`: that path if it has a slash, otherwise the first
/// match in the folders of `PATH`.
///
/// # Errors
/// Of kind `NotFound` if there is no such file, otherwise the error that `exec` would return.
pub(super) fn find_program(name: &OsStr) -> io::Result<PathBuf> {
    find_in(name, std::env::var_os("PATH"))
}

fn find_in(name: &OsStr, folders: Option<OsString>) -> io::Result<PathBuf> {
    if name.is_empty() {
        return Err(io::Error::from_raw_os_error(libc::ENOENT));
    }
    if name.as_bytes().contains(&b'/') {
        return check_executable(Path::new(name)).map(|()| name.into());
    }
    let folders = folders.unwrap_or_else(|| DEFAULT_PATH.into());
    let mut failed = io::Error::from_raw_os_error(libc::ENOENT);
    for folder in std::env::split_paths(&folders) {
        // An empty folder in PATH is the current one.
        let path = Path::new(".").join(folder).join(name);
        match check_executable(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.raw_os_error() == Some(libc::EACCES) => failed = error,
            Err(_) => {}
        }
    }
    Err(failed)
}

/// Checks whether this file may be run.
pub(super) fn check_executable(path: &Path) -> io::Result<()> {
    if !path.metadata()?.is_file() {
        return Err(io::Error::from_raw_os_error(libc::EACCES));
    }
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name is a C string.
    match unsafe { libc::faccessat(libc::AT_FDCWD, name.as_ptr(), libc::X_OK, libc::AT_EACCESS) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_are_found_as_exec_finds_them() {
        let folder = tempfile::tempdir().unwrap();
        let (first, second) = (folder.path().join("first"), folder.path().join("second"));
        for (place, name, mode) in [
            (&first, "plain", 0o644),
            (&first, "both", 0o644),
            (&second, "both", 0o755),
        ] {
            fs::create_dir_all(place).unwrap();
            fs::write(place.join(name), "").unwrap();
            fs::set_permissions(place.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        fs::create_dir(second.join("folder")).unwrap();
        let path = std::env::join_paths([&first, &second]).unwrap();
        let find = |name: &str| {
            find_in(name.as_ref(), Some(path.clone())).map_err(|error| error.raw_os_error())
        };
        assert_eq!(find("both"), Ok(second.join("both")));
        assert_eq!(find("plain"), Err(Some(libc::EACCES)));
        assert_eq!(find("folder"), Err(Some(libc::EACCES)));
        assert_eq!(find("absent"), Err(Some(libc::ENOENT)));
        assert_eq!(find(""), Err(Some(libc::ENOENT)));
        let with_slash = |name: &str| find(first.join(name).to_str().unwrap());
        assert_eq!(with_slash("plain"), Err(Some(libc::EACCES)));
        assert_eq!(with_slash("absent"), Err(Some(libc::ENOENT)));
        assert_eq!(with_slash("../second/both").map(|_| ()), Ok(()));
    }
}
