//! Functions and data of the MPI library, by name.
//!
//! Nothing here links an MPI library: all functions come from `dlsym`. A library that is linked
//! against one MPI can replace the application's MPI by it.

use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::handle::Handle;
use super::objects::{LoadedObject, address_info, object_at, object_of, object_with};
use crate::process::Uninterrupted;

/// Finds a function of the MPI library, or of a library that it depends on, by name.
///
/// This is the next one after this library in the global scope. If the MPI library was loaded with
/// `RTLD_LOCAL` (as mpi4py always does), it is the one in the object that defines `PMPI_Init`.
/// Signals are delayed, since the loader allocates memory from the C library for names that it does
/// not find.
pub(crate) fn find_function(name: &CStr) -> *mut c_void {
    let _signals_wait = Uninterrupted::begin();
    // SAFETY: `name` is a C string; RTLD_NEXT searches after the caller's object.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) };
    if !next.is_null() {
        return next;
    }
    let Some(object) = mpi_object() else {
        return std::ptr::null_mut();
    };
    // SAFETY: `object` is a handle from dlopen that is never closed.
    unsafe { libc::dlsym(object, name.as_ptr()) }
}

/// Whether the MPI library has a function of this name.
pub(crate) fn has_function(name: &CStr) -> bool {
    !find_function(name).is_null()
}

/// Finds data of the MPI library by name.
///
/// The global scope is searched from its beginning: an executable that is not position independent
/// has its own copy of such data, and that copy is the one in use.
pub(crate) fn find_datum(name: &CStr) -> Handle {
    let _signals_wait = Uninterrupted::begin();
    // SAFETY: `name` is a C string.
    let global = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
    if !global.is_null() {
        return global as Handle;
    }
    let Some(object) = mpi_object() else { return 0 };
    // SAFETY: `object` is a handle from dlopen that is never closed.
    unsafe { libc::dlsym(object, name.as_ptr()) as Handle }
}

/// The loaded object, other than this one, that defines `PMPI_Init`.
fn mpi_object() -> Option<*mut c_void> {
    static OBJECT: AtomicPtr<c_void> = AtomicPtr::new(std::ptr::null_mut());
    let known = OBJECT.load(Ordering::Acquire);
    if !known.is_null() {
        return Some(known);
    }
    let (object, _) = object_with(c"PMPI_Init")?;
    OBJECT.store(object, Ordering::Release);
    Some(object)
}

/// A function of any loaded object other than this one: of a library that only a plugin of the MPI
/// library depends on.
fn find_anywhere(name: &CStr) -> *mut c_void {
    let found = find_function(name);
    if !found.is_null() {
        return found;
    }
    object_with(name).map_or(std::ptr::null_mut(), |(_, function)| function)
}

/// The function `MPI_X` of a tool in front of the MPI library that has `name`, `PMPI_X`.
fn find_tool(name: &CStr) -> Option<*mut c_void> {
    let real = find_function(name);
    let mpi_name = CStr::from_bytes_with_nul(name.to_bytes_with_nul().get(1..)?).ok()?;
    // SAFETY: the name is a C string; RTLD_NEXT searches after the caller's object.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, mpi_name.as_ptr()) };
    let begin = |function: *mut c_void| address_info(function).map(|info| info.dli_fbase);
    let library = begin(real)?;
    if begin(next)? == library {
        return None;
    }
    // An MPI library in two parts, one for each name, is not a tool. The object with `PMPI_X` of a
    // complete library also has an `MPI_X`.
    let path = CString::new(object_of(real)?).ok()?;
    // SAFETY: the path is a C string; RTLD_NOLOAD only returns a handle of an object that is loaded
    // already.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if object.is_null() {
        return None;
    }
    // SAFETY: `object` is a valid handle, which is closed again; the library stays loaded by its
    // other user.
    let own = unsafe {
        let own = libc::dlsym(object, mpi_name.as_ptr());
        libc::dlclose(object);
        own
    };
    let is_tool = begin(own) == Some(library);
    if let (true, Some(tool)) = (is_tool, object_at(next as usize)) {
        let mut tools = TOOLS.lock().unwrap_or_else(PoisonError::into_inner);
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    is_tool.then_some(next)
}

/// The tools that were found.
static TOOLS: Mutex<Vec<LoadedObject>> = Mutex::new(Vec::new());

/// Whether an object belongs to the MPI library, or is a tool in front of it.
///
/// Apart from the object with `PMPI_Init`, they are recognized by name: the plugins and parts of
/// Open MPI, and the two halves of an MPICH. Bindings for other languages do not belong to it:
/// their calls count as the program's.
pub(crate) fn is_of_mpi(object: &LoadedObject) -> bool {
    const BEGIN_AS: [&str; 8] = [
        "mca_",
        "libmca_",
        "libompi",
        "libopen-pal",
        "libopen-rte",
        "libpmpi.",
        "libmpich.",
        "libromio",
    ];
    let tools = TOOLS.lock().unwrap_or_else(PoisonError::into_inner);
    if tools.contains(object) || object.has(find_function(c"PMPI_Init") as usize) {
        return true;
    }
    drop(tools);
    let path = object.path().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(&path);
    BEGIN_AS.iter().any(|begin| name.starts_with(begin))
}

/// A function of the MPI library, looked up at its first use, since some programs load the library
/// late.
#[derive(Debug)]
pub struct RealFunction {
    name: &'static CStr,
    reach: LookUp,
    /// Whether another function may stand in for that of the library.
    is_replaceable: bool,
    /// Null if it was not found yet; [`MISSING`] if the library has no such function.
    address: AtomicPtr<c_void>,
}

/// The name by which a routine is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalledAs {
    /// `MPI_X`.
    Mpi,
    /// `PMPI_X`.
    Pmpi,
}

/// Where a function is looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LookUp {
    /// In the MPI library.
    Library,
    /// In any object that is loaded.
    Anywhere,
    /// In a tool in front of the MPI library, if there is one, otherwise in the library.
    ToolFirst,
    /// In the MPI library, if there is a tool in front of it, otherwise nowhere.
    PastTool,
}

/// Stored instead of the address of a function that the MPI library lacks: the search takes some
/// microseconds, and Python programs only call large-count forms.
const MISSING: *mut c_void = std::ptr::without_provenance_mut(1);

impl RealFunction {
    /// The function with this name (including the leading `P`).
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            reach: LookUp::Library,
            is_replaceable: false,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function with this name in a library below MPI, which perhaps only a plugin of the MPI
    /// library has loaded.
    #[must_use]
    pub const fn below_mpi(name: &'static CStr) -> Self {
        Self {
            reach: LookUp::Anywhere,
            ..Self::new(name)
        }
    }

    /// The function that a wrapper calls; `name` is `PMPI_X`.
    ///
    /// A wrapper called as `MPI_X` calls what the program would have called without collbench. This
    /// is the function of a tool, if one is linked with the program or preloaded that has an
    /// `MPI_X` of its own (which calls `PMPI_X`).
    #[must_use]
    pub const fn wrapped(name: &'static CStr, called_as: CalledAs) -> Self {
        Self {
            reach: match called_as {
                CalledAs::Mpi => LookUp::ToolFirst,
                CalledAs::Pmpi => LookUp::Library,
            },
            is_replaceable: true,
            ..Self::new(name)
        }
    }

    /// The function `PMPI_X` that such a tool calls; null if there is no tool.
    #[must_use]
    pub const fn past_tool(name: &'static CStr) -> Self {
        Self {
            reach: LookUp::PastTool,
            is_replaceable: true,
            ..Self::new(name)
        }
    }

    /// Its address, or null if the MPI library has no such function.
    #[inline]
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Acquire);
        if known > MISSING { known } else { self.find() }
    }

    /// Its address, or null if the MPI library has no such function; fast for missing functions
    /// too.
    #[inline]
    #[must_use]
    pub fn address_if_any(&self) -> *mut c_void {
        match self.address.load(Ordering::Acquire) {
            MISSING => std::ptr::null_mut(),
            _ => self.address(),
        }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        if self.address.load(Ordering::Acquire) == MISSING {
            return std::ptr::null_mut();
        }
        let _signals_wait = Uninterrupted::begin();
        let is_kept = !self.is_replaceable || !IS_UNDECIDED.load(Ordering::Acquire);
        let of_library = || match find_function(self.name) {
            found if self.is_replaceable => replaced(self.name, found),
            found => found,
        };
        let found = match self.reach {
            LookUp::Library => of_library(),
            LookUp::Anywhere => find_anywhere(self.name),
            LookUp::ToolFirst => find_tool(self.name).unwrap_or_else(of_library),
            LookUp::PastTool => match find_tool(self.name) {
                Some(_) => of_library(),
                None => std::ptr::null_mut(),
            },
        };
        if !is_kept {
            return found;
        }
        // A function is not missing as long as the library is not loaded.
        let is_missing = found.is_null() && !find_function(c"PMPI_Init").is_null();
        let known = if is_missing { MISSING } else { found };
        // A thread that finds it here also finds what was stored for the function at that address.
        self.address.store(known, Ordering::Release);
        found
    }
}

/// Finds what stands in for a function of the MPI library: of this name, at this address, which is
/// not null.
pub(crate) type Replace = fn(&CStr, *mut c_void) -> *mut c_void;

static REPLACE: OnceLock<Replace> = OnceLock::new();

/// Whether it is still to be decided if functions are replaced.
static IS_UNDECIDED: AtomicBool = AtomicBool::new(false);

/// From here on, until [`end_of_replacements`], wrappers look up at each call what they call, since
/// another function may stand in for it later: a tool calls functions of MPI inside its `MPI_Init`.
pub(crate) fn await_replacements() {
    IS_UNDECIDED.store(true, Ordering::Release);
}

/// From here on wrappers that are called for the first time call what `replace` returns.
pub(crate) fn replace_functions(replace: Replace) {
    // This happens once, in `MPI_Init`.
    let _ = REPLACE.set(replace);
}

/// From here on wrappers keep what they have looked up.
pub(crate) fn end_of_replacements() {
    IS_UNDECIDED.store(false, Ordering::Release);
}

fn replaced(name: &CStr, found: *mut c_void) -> *mut c_void {
    match REPLACE.get() {
        Some(replace) if !found.is_null() => replace(name, found),
        _ => found,
    }
}

/// Calls a function of the MPI library whose arguments are all words. Returns its return code, or
/// an error if there is no such function. A function of the program that it calls may leave by an
/// exception of C++.
macro_rules! call_mpi {
    ($name:literal; $($argument:expr),*) => {{
        static FUNCTION: $crate::mpi::RealFunction =
            $crate::mpi::RealFunction::new($name);
        let address = FUNCTION.address();
        if address.is_null() {
            -1
        } else {
            // SAFETY: the MPI function of this name takes these arguments, each of which fits a
            // word; the caller promises that they are valid.
            unsafe {
                let function = std::mem::transmute::<
                    *mut std::ffi::c_void,
                    unsafe extern "C-unwind" fn(
                        $($crate::mpi::call_mpi!(@word $argument)),*
                    ) -> std::ffi::c_int,
                >(address);
                function($($argument),*)
            }
        }
    }};
    (@word $argument:expr) => { usize };
}
pub(crate) use call_mpi;

/// The address of a variable that the MPI library is to set, as a word.
pub(crate) fn address_of<T>(to: &mut T) -> usize {
    std::ptr::from_mut(to) as usize
}
