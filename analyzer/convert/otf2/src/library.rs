//! The OTF2 library: found and loaded at run time, and asked for its version.

use std::cell::RefCell;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::abi::{self, AnyVersion, Functions};
use crate::error::Error;
use crate::version::Version;

/// Names of the library's file: from OTF2 itself and from Debian, which renames it.
const NAMES: [&str; 4] = [
    "libotf2.so.10",
    "libopen-trace-format2.so.10",
    "libotf2.so",
    "libopen-trace-format2.so",
];

/// The OTF2 library, loaded into this process. Copies share it.
#[derive(Clone)]
pub struct Library {
    loaded: Arc<Loaded>,
}

struct Loaded {
    any_version: AnyVersion,
    functions: Functions,
    version: Version,
    /// Closed after the last use of its functions.
    _library: libloading::Library,
}

impl Library {
    /// Loads the library from where the dynamic linker looks for libraries, with `LD_LIBRARY_PATH`.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] if there is none, [`Error::Version`] or [`Error::NotOtf2`] if it is
    /// not of version 3.
    pub fn open() -> Result<Self, Error> {
        Self::open_first(&NAMES.map(OsStr::new))
    }

    /// Loads the library from this file.
    ///
    /// # Errors
    /// [`Error::NoLibrary`] if it cannot be loaded, [`Error::Version`] or [`Error::NotOtf2`] if
    /// it is not of version 3.
    pub fn open_file(path: &Path) -> Result<Self, Error> {
        Self::open_first(&[path.as_os_str()])
    }

    /// The version of the library.
    #[must_use]
    pub fn version(&self) -> Version {
        self.loaded.version
    }

    fn open_first(names: &[&OsStr]) -> Result<Self, Error> {
        let _alone = exclusive();
        let mut tried = Vec::new();
        for name in names {
            // SAFETY: loading a library runs its initializers. The OTF2 library has none that
            // matter, and whoever puts another file where it is looked for could as well replace
            // this program.
            match unsafe { libloading::Library::new(name) } {
                Ok(library) => return Self::from_loaded(&name.to_string_lossy(), library),
                Err(error) => tried.push(reason(name, &error)),
            }
        }
        Err(Error::NoLibrary {
            tried: tried.join(", "),
        })
    }

    fn from_loaded(name: &str, library: libloading::Library) -> Result<Self, Error> {
        let not_otf2 = |error: libloading::Error| Error::NotOtf2 {
            library: name.to_owned(),
            reason: error.to_string(),
        };
        // SAFETY: these functions have had these types since OTF2 1.4, and the result is kept
        // together with `library`.
        let any_version = unsafe { AnyVersion::load(&library) }.map_err(not_otf2)?;
        // SAFETY: `report` may be called with whatever the library passes to such a callback, and
        // from any thread. No other call of the library is under way (`exclusive`).
        unsafe { (any_version.register_callback)(Some(report), std::ptr::null_mut()) };
        let version = version_of(&any_version).ok_or_else(|| Error::NotOtf2 {
            library: name.to_owned(),
            reason: "it does not tell its version".to_owned(),
        })?;
        if version.major != 3 {
            return Err(Error::Version {
                library: name.to_owned(),
                version,
            });
        }
        // SAFETY: the library is of version 3, whose headers declare the functions so, and the
        // result is kept together with `library`.
        let functions = unsafe { Functions::load(&library) }.map_err(not_otf2)?;
        Ok(Self {
            loaded: Arc::new(Loaded {
                any_version,
                functions,
                version,
                _library: library,
            }),
        })
    }

    pub(crate) fn any_version(&self) -> &AnyVersion {
        &self.loaded.any_version
    }

    pub(crate) fn functions(&self) -> &Functions {
        &self.loaded.functions
    }

    /// Whether a call failed with this code, or succeeded and yet reported an error, as the
    /// library does when it closes files.
    pub(crate) fn check(&self, action: &'static str, code: abi::Code) -> Result<(), Error> {
        match REPORTED.take() {
            None if code == 0 => Ok(()),
            reported => Err(Error::Otf2 {
                action,
                reason: self.words(reported, code),
            }),
        }
    }

    fn words(&self, reported: Option<Report>, code: abi::Code) -> String {
        let code = reported.as_ref().map_or(code, |report| report.code);
        // SAFETY: any code may be asked for. The result is a constant of the library.
        let description = unsafe {
            let description = (self.loaded.any_version.get_description)(code);
            (!description.is_null()).then(|| CStr::from_ptr(description).to_string_lossy())
        };
        let description = description.unwrap_or_default();
        match reported {
            Some(report) if !report.message.is_empty() => {
                format!("{}: {description}", report.message)
            }
            _ => description.into_owned(),
        }
    }
}

/// The file, and why it cannot be loaded if it is there.
fn reason(name: &OsStr, error: &libloading::Error) -> String {
    let name = name.to_string_lossy();
    let error = error.to_string();
    if error.contains("No such file") {
        name.into_owned()
    } else if error.contains(&*name) {
        error
    } else {
        format!("{name}: {error}")
    }
}

/// The version that the library writes into archives. Nothing else tells it, so one is opened, of
/// the kind that has no files.
fn version_of(functions: &AnyVersion) -> Option<Version> {
    let mut version = Version {
        major: 0,
        minor: 0,
        bugfix: 0,
    };
    // SAFETY: the strings end with NUL and outlive the call, and the pointers that are passed on
    // are from the library or to `version`. The archive is closed once and not used after that.
    let code = unsafe {
        let archive = (functions.archive_open)(
            c".".as_ptr(),
            c"version".as_ptr(),
            abi::FILEMODE_WRITE,
            abi::CHUNK_SIZE_MIN,
            abi::CHUNK_SIZE_MIN,
            abi::SUBSTRATE_NONE,
            abi::COMPRESSION_NONE,
        );
        if archive.is_null() {
            return None;
        }
        let code = (functions.get_version)(
            archive,
            &raw mut version.major,
            &raw mut version.minor,
            &raw mut version.bugfix,
        );
        (functions.set_serial_collective_callbacks)(archive);
        (functions.archive_close)(archive);
        code
    };
    REPORTED.take();
    (code == 0).then_some(version)
}

/// Held during calls of the library, which has state outside of archives and no locks.
pub(crate) fn exclusive() -> MutexGuard<'static, ()> {
    static CALLS: Mutex<()> = Mutex::new(());
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An error that the library reported.
struct Report {
    code: abi::Code,
    message: String,
}

thread_local! {
    /// The first error since the last check, which is the most specific one: functions report what
    /// went wrong before those that called them.
    static REPORTED: RefCell<Option<Report>> = const { RefCell::new(None) };
}

unsafe extern "C" {
    /// With a pointer in place of the `va_list`: see [`abi::ErrorCallback`].
    fn vsnprintf(
        buffer: *mut c_char,
        size: usize,
        format: *const c_char,
        arguments: *mut c_void,
    ) -> c_int;
}

/// Keeps an error instead of printing it.
unsafe extern "C" fn report(
    _data: *mut c_void,
    _file: *const c_char,
    _line: u64,
    _function: *const c_char,
    code: abi::Code,
    format: *const c_char,
    arguments: *mut c_void,
) -> abi::Code {
    // Warnings and the like are negative.
    if code > 0 {
        REPORTED.with_borrow_mut(|reported| {
            reported.get_or_insert_with(|| {
                let mut message = [0_u8; 1024];
                if !format.is_null() {
                    // SAFETY: the library passes a format with its arguments, once. The buffer is
                    // as long as is said, and ends with NUL after that.
                    unsafe {
                        vsnprintf(
                            message.as_mut_ptr().cast(),
                            message.len(),
                            format,
                            arguments,
                        );
                    }
                }
                let message = CStr::from_bytes_until_nul(&message).unwrap_or_default();
                Report {
                    code,
                    message: message.to_string_lossy().into_owned(),
                }
            });
        });
    }
    code
}
