//! An archive that the library has open.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;

use crate::abi::{self, AnyVersion, Functions};
use crate::definitions::Headline;
use crate::error::Error;
use crate::library::Library;

use super::callbacks::{FLUSH, MEMORY};

/// Name of the archive, with which the names of its files begin.
const NAME: &str = "traces";

/// The file that makes a directory an archive.
pub(super) fn anchor_file(directory: &Path) -> PathBuf {
    directory.join(NAME).with_extension("otf2")
}

/// The file of global definitions.
pub(super) fn definition_file(directory: &Path) -> PathBuf {
    directory.join(NAME).with_extension("def")
}

/// An archive that the library has open for writing. Dropping it does not close it.
pub(super) struct Session<'l> {
    pub(super) library: &'l Library,
    pub(super) archive: *mut abi::Archive,
}

impl<'l> Session<'l> {
    pub(super) fn create(
        library: &'l Library,
        directory: &Path,
        longest: u64,
    ) -> Result<Self, Error> {
        let archive = open(library, directory, abi::FILEMODE_WRITE, longest)?;
        let session = Self { library, archive };
        session.check("set up an archive", |f, archive| {
            // SAFETY: `archive` is open, and the callbacks are as the library demands them. They
            // are constants, since the library keeps the addresses.
            unsafe { (f.set_flush_callbacks)(archive, &raw const FLUSH, ptr::null_mut()) }
        })?;
        session.check("set up an archive", |f, archive| {
            // SAFETY: as for the callbacks before.
            unsafe { (f.set_memory_callbacks)(archive, &raw const MEMORY, ptr::null_mut()) }
        })?;
        // SAFETY: `archive` is open. This creates the directories.
        let code =
            unsafe { (library.any_version().set_serial_collective_callbacks)(session.archive) };
        library.check("create the directory of the archive", code)?;
        Ok(session)
    }

    /// Calls a function that has the archive as its argument.
    pub(super) fn check(
        &self,
        action: &'static str,
        call: impl FnOnce(&Functions, *mut abi::Archive) -> abi::Code,
    ) -> Result<(), Error> {
        self.library
            .check(action, call(self.library.functions(), self.archive))
    }

    /// What the library gave, unless it is a null pointer.
    pub(super) fn check_pointer<T>(
        &self,
        action: &'static str,
        pointer: *mut T,
    ) -> Result<*mut T, Error> {
        self.library.check(action, 0)?;
        if pointer.is_null() {
            return Err(Error::Otf2 {
                action,
                reason: "it does not say why".to_owned(),
            });
        }
        Ok(pointer)
    }

    pub(super) fn write_headline(&self, headline: &Headline) -> Result<(), Error> {
        for (text, set) in [
            (&headline.machine, self.library.functions().set_machine_name),
            (&headline.creator, self.library.functions().set_creator),
            (
                &headline.description,
                self.library.functions().set_description,
            ),
        ] {
            let text = c_string(text);
            // SAFETY: `archive` is open, and the library copies the text.
            let code = unsafe { set(self.archive, text.as_ptr()) };
            self.library.check("describe an archive", code)?;
        }
        Ok(())
    }

    /// Writes the anchor file and closes the archive.
    pub(super) fn close(self) -> Result<(), Error> {
        close(self.library, self.archive, "write the anchor file")
    }
}

pub(super) fn open(
    library: &Library,
    directory: &Path,
    mode: u8,
    longest: u64,
) -> Result<*mut abi::Archive, Error> {
    let AnyVersion { archive_open, .. } = library.any_version();
    let name = c_string(NAME);
    let path = CString::new(directory.as_os_str().as_bytes()).map_err(|nul| Error::File {
        path: directory.to_owned(),
        source: nul.into(),
    })?;
    // SAFETY: the strings end with NUL, and the library copies them. The sizes are in the range
    // that it demands.
    let archive = unsafe {
        archive_open(
            path.as_ptr(),
            name.as_ptr(),
            mode,
            abi::CHUNK_SIZE_MIN,
            longest
                .next_power_of_two()
                .clamp(abi::CHUNK_SIZE_MIN, abi::CHUNK_SIZE_MAX),
            abi::SUBSTRATE_POSIX,
            abi::COMPRESSION_NONE,
        )
    };
    // A null pointer is reported with the reason.
    library.check("open an archive", abi::Code::from(archive.is_null()))?;
    Ok(archive)
}

pub(super) fn close(
    library: &Library,
    archive: *mut abi::Archive,
    action: &'static str,
) -> Result<(), Error> {
    // SAFETY: `archive` is open, and not used after this.
    let code = unsafe { (library.any_version().archive_close)(archive) };
    library.check(action, code)
}

/// The text, which has no NUL byte: [`storable`](crate::definitions::storable) replaced them.
pub(super) fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}
