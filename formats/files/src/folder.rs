//! An open directory, and the files in it.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Flags for opening files: links are not followed, opening does not wait, and no terminal becomes
/// the controlling one. They change nothing for a regular file.
const OPEN_FLAGS: libc::c_int =
    libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;

/// An open directory. It stays the same directory, whatever happens to its name.
#[derive(Debug)]
pub struct Folder(File);

impl Folder {
    /// Opens the directory that the user named; the name may be a link.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &Path) -> io::Result<Self> {
        Self::open_with(path, 0)
    }

    /// Opens the directory of this name; an error if the name is a link.
    ///
    /// # Errors
    /// The system's.
    pub fn open_no_follow(path: &Path) -> io::Result<Self> {
        Self::open_with(path, libc::O_NOFOLLOW)
    }

    fn open_with(path: &Path, flags: libc::c_int) -> io::Result<Self> {
        // Opened with O_PATH, which takes no right to list it.
        OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_PATH | libc::O_DIRECTORY | flags)
            .open(path)
            .map(Self)
    }

    /// Opens a directory in this one.
    ///
    /// # Errors
    /// The system's; also for a link, and for anything that is not a directory.
    pub fn folder(&self, name: impl AsRef<OsStr>) -> io::Result<Self> {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        self.open_at(name.as_ref(), flags).map(Self)
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// The system's; also for a link, and for anything that is not a regular file.
    pub fn file(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_at(name.as_ref(), libc::O_RDONLY | OPEN_FLAGS)
            .map_err(in_words)
            .and_then(regular)
    }

    /// Opens a regular file for reading and writing; creates an empty one if there is none.
    ///
    /// # Errors
    /// Those of [`Self::file`].
    pub fn file_or_new(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        self.open_at(name.as_ref(), libc::O_RDWR | libc::O_CREAT | OPEN_FLAGS)
            .map_err(in_words)
            .and_then(regular)
    }

    /// Creates a file for reading and writing, with the permissions that the user's umask leaves,
    /// and not executable.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AlreadyExists`] if the name is in use.
    pub fn create(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | OPEN_FLAGS;
        self.open_at(name.as_ref(), flags)
    }

    /// Creates a file for reading and writing that only the user may open.
    ///
    /// # Errors
    /// Those of [`Self::create`].
    pub fn create_private(&self, name: impl AsRef<OsStr>) -> io::Result<File> {
        let flags = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | OPEN_FLAGS;
        self.open_as(name.as_ref(), flags, 0o600)
    }

    /// Creates a directory with the permissions that the user's umask leaves.
    ///
    /// # Errors
    /// The system's; [`io::ErrorKind::AlreadyExists`] if the name is in use.
    pub fn create_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        let name = CString::new(name.as_ref().as_bytes())?;
        // SAFETY: the descriptor is open, and the name is a C string.
        result_of(unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), 0o777) })
    }

    /// Metadata of the entry with this name; of a link, those of the link itself.
    ///
    /// # Errors
    /// The system's.
    pub fn metadata_of(&self, name: impl AsRef<OsStr>) -> io::Result<Metadata> {
        let flags = libc::O_PATH | libc::O_NOFOLLOW | libc::O_CLOEXEC;
        self.open_at(name.as_ref(), flags)?.metadata()
    }

    /// Metadata of the directory itself.
    ///
    /// # Errors
    /// The system's.
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.0.metadata()
    }

    /// Whether this directory has that name now; a link to it does not count.
    #[must_use]
    pub fn is_at(&self, path: &Path) -> bool {
        let is_same = |found: Metadata| {
            self.metadata()
                .is_ok_and(|own| (found.dev(), found.ino()) == (own.dev(), own.ino()))
        };
        path.symlink_metadata().is_ok_and(is_same)
    }

    /// Removes a file, or a link.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.unlink(name.as_ref(), 0)
    }

    /// Removes an empty directory.
    ///
    /// # Errors
    /// The system's.
    pub fn remove_folder(&self, name: impl AsRef<OsStr>) -> io::Result<()> {
        self.unlink(name.as_ref(), libc::AT_REMOVEDIR)
    }

    fn unlink(&self, name: &OsStr, flags: libc::c_int) -> io::Result<()> {
        let name = CString::new(name.as_bytes())?;
        // SAFETY: the descriptor is open, and the name is a C string.
        result_of(unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), flags) })
    }

    /// Renames a file within the directory, and replaces a file that had the new name.
    ///
    /// # Errors
    /// The system's.
    pub fn rename(&self, from: impl AsRef<OsStr>, to: impl AsRef<OsStr>) -> io::Result<()> {
        let (from, to) = (
            CString::new(from.as_ref().as_bytes())?,
            CString::new(to.as_ref().as_bytes())?,
        );
        let folder = self.0.as_raw_fd();
        // SAFETY: the descriptor is open, and both names are C strings.
        result_of(unsafe { libc::renameat(folder, from.as_ptr(), folder, to.as_ptr()) })
    }

    /// The names of all entries, in no particular order.
    ///
    /// # Errors
    /// The system's.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        // A descriptor of its own, so that it is read from the beginning.
        let fd = self.as_file()?.into_raw_fd();
        // SAFETY: the descriptor is that of a directory, and nobody else uses it. From here on it
        // belongs to the stream.
        let stream = unsafe { libc::fdopendir(fd) };
        if stream.is_null() {
            let error = io::Error::last_os_error();
            // SAFETY: fdopendir failed, so the descriptor still belongs to this function.
            drop(unsafe { File::from_raw_fd(fd) });
            return Err(error);
        }
        let mut names = Vec::new();
        let ended = loop {
            // SAFETY: errno is this thread's own; the stream is open, and only used here.
            let entry = unsafe {
                *libc::__errno_location() = 0;
                libc::readdir64(stream)
            };
            if entry.is_null() {
                match io::Error::last_os_error() {
                    error if error.raw_os_error() == Some(0) => break Ok(()),
                    error => break Err(error),
                }
            }
            // SAFETY: the name of an entry ends in 0, and is valid until the next call.
            let name = unsafe { CStr::from_ptr((*entry).d_name.as_ptr()) };
            if ![&b"."[..], b".."].contains(&name.to_bytes()) {
                names.push(OsString::from_vec(name.to_bytes().to_vec()));
            }
        };
        // SAFETY: the stream is open, and is not used afterwards.
        unsafe { libc::closedir(stream) };
        ended.map(|()| names)
    }

    /// The directory as a file, which can be locked and synchronized to the disk.
    ///
    /// # Errors
    /// The system's, also where the directory must not be listed.
    pub fn as_file(&self) -> io::Result<File> {
        let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
        self.open_at(OsStr::new("."), flags)
    }

    fn open_at(&self, name: &OsStr, flags: libc::c_int) -> io::Result<File> {
        self.open_as(name, flags, 0o666)
    }

    fn open_as(&self, name: &OsStr, flags: libc::c_int, mode: libc::c_uint) -> io::Result<File> {
        let name = CString::new(name.as_bytes())?;
        loop {
            // SAFETY: the descriptor is open, and the name is a C string.
            let fd = unsafe { libc::openat(self.0.as_raw_fd(), name.as_ptr(), flags, mode) };
            if fd >= 0 {
                // SAFETY: openat has just returned this descriptor, which nobody else owns.
                return Ok(unsafe { File::from_raw_fd(fd) });
            }
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }
}

/// Opens a regular file for reading, by its path; an error if the name is a link.
///
/// # Errors
/// Those of [`Folder::file`].
pub fn open_regular(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(OPEN_FLAGS)
        .open(path)
        .map_err(in_words)
        .and_then(regular)
}

fn regular(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

/// Replaces errors of opening by ones that say why.
fn in_words(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("not a regular file, but a link"),
        // A socket; a pipe without a reader; a device without a driver; a directory opened for
        // writing.
        Some(libc::ENXIO | libc::ENODEV | libc::EISDIR) => io::Error::other("not a regular file"),
        _ => error,
    }
}

fn result_of(returned: libc::c_int) -> io::Result<()> {
    match returned {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    fn make_pipe(path: &Path) {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        // SAFETY: the name is a C string.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o666) }, 0);
    }

    #[test]
    fn only_regular_files_of_the_directory_are_opened() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let place = |name: &str| inside.path().join(name);
        fs::write(place("file"), "content").unwrap();
        symlink(outside.path().join("secret"), place("link")).unwrap();
        symlink("/dev/zero", place("device")).unwrap();
        symlink("nowhere", place("dangling")).unwrap();
        fs::create_dir(place("folder")).unwrap();
        make_pipe(&place("pipe"));
        let _socket = UnixListener::bind(place("socket")).unwrap();

        let folder = Folder::open(inside.path()).unwrap();
        assert_eq!(
            io::read_to_string(folder.file("file").unwrap()).unwrap(),
            "content"
        );
        for name in ["link", "device", "dangling", "folder", "pipe", "socket"] {
            for opened in [
                folder.file(name),
                folder.file_or_new(name),
                open_regular(&place(name)),
            ] {
                let error = opened.unwrap_err().to_string();
                assert!(error.starts_with("not a regular file"), "{name}: {error}");
            }
            assert!(folder.create(name).is_err(), "{name}");
            assert_eq!(folder.folder(name).is_ok(), name == "folder", "{name}");
        }
        assert!(!outside.path().join("nowhere").exists() && !place("nowhere").exists());
        let mut names = folder.names().unwrap();
        names.sort();
        let expected = [
            "dangling", "device", "file", "folder", "link", "pipe", "socket",
        ];
        assert_eq!(names, expected);
        assert_eq!(folder.names().unwrap().len(), 7, "a second time too");
    }

    #[test]
    fn a_folder_stays_the_same_when_another_takes_its_name() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name);
        for name in ["trace", "other"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("index.html"), name).unwrap();
        }
        let folder = Folder::open_no_follow(&path("trace")).unwrap();
        assert!(folder.is_at(&path("trace")));
        fs::rename(path("trace"), path("moved")).unwrap();
        symlink(path("other"), path("trace")).unwrap();
        assert!(!folder.is_at(&path("trace")));
        assert!(Folder::open_no_follow(&path("trace")).is_err(), "a link");
        assert!(Folder::open(&path("trace")).is_ok(), "named by its user");
        folder.rename("index.html", "page.html").unwrap();
        folder.remove_file("page.html").unwrap();
        folder.create("new").unwrap();
        assert!(path("other/index.html").exists() && !path("other/new").exists());
        assert!(path("moved/new").exists());
    }

    #[test]
    fn a_name_that_is_swapped_all_the_time_never_gives_what_lies_elsewhere() {
        const ROUNDS: usize = 2000;
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let inside = tempfile::tempdir().unwrap();
        let place = |name: &str| inside.path().join(name);
        let has_ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for round in 0.. {
                    if has_ended.load(Ordering::Relaxed) {
                        break;
                    }
                    match round % 3 {
                        0 => fs::write(place("next"), "mine").unwrap(),
                        1 => symlink(outside.path().join("secret"), place("next")).unwrap(),
                        _ => make_pipe(&place("next")),
                    }
                    fs::rename(place("next"), place("file")).unwrap();
                }
            });
            let folder = Folder::open(inside.path()).unwrap();
            for _ in 0..ROUNDS {
                for opened in [folder.file("file"), open_regular(&place("file"))] {
                    let read = opened.and_then(io::read_to_string);
                    assert_ne!(read.ok().as_deref(), Some("secret"));
                }
            }
            has_ended.store(true, Ordering::Relaxed);
        });
    }
}
