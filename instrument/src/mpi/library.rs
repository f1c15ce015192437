//! The MPI library of this process: its functions by name, and what is asked of it.
//!
//! Nothing here links an MPI library. Functions come from `dlsym`, handles and arguments travel
//! as machine words, and the few constants that matter are those of the library's ABI. A library
//! that is linked against one MPI can put that one in the place of the application's own.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use collbench_formats::Abi;

use super::{Constants, NamedTypes};
use crate::process::Uninterrupted;

const _: () = assert!(
    cfg!(target_endian = "little"),
    "a handle of 32 bits that a library stores is the lower half of the word"
);

/// A handle of the MPI library (communicator, datatype, group), as a machine word.
pub(crate) type Handle = usize;

/// Finds a function of the MPI library, or of what it depends on, by name.
///
/// The next one behind this library in the global scope; where the MPI library was loaded with
/// `RTLD_LOCAL` (mpi4py always does), the one in the object that defines `PMPI_Init`. Signals wait, as
/// the loader allocates memory by the C library for what it does not find.
fn find_function(name: &CStr) -> *mut c_void {
    let _signals_wait = Uninterrupted::begin();
    // SAFETY: `name` is a C string; RTLD_NEXT searches behind the object of the caller.
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

/// Finds a datum of the MPI library by name.
///
/// In the global scope from its beginning: an executable that was not built as position
/// independent holds its own copy of such data, and that one counts.
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

/// A function of any loaded object other than this one: of a library that a plugin of the MPI
/// library depends on, and that nobody else sees.
fn find_anywhere(name: &CStr) -> *mut c_void {
    let found = find_function(name);
    if !found.is_null() {
        return found;
    }
    object_with(name).map_or(std::ptr::null_mut(), |(_, function)| function)
}

/// The function `MPI_X` of a tool which stands before the MPI library that has `name`, `PMPI_X`.
fn find_tool(name: &CStr) -> Option<*mut c_void> {
    let real = find_function(name);
    let mpi_name = CStr::from_bytes_with_nul(name.to_bytes_with_nul().get(1..)?).ok()?;
    // SAFETY: a C string; RTLD_NEXT searches behind the object of the caller.
    let next = unsafe { libc::dlsym(libc::RTLD_NEXT, mpi_name.as_ptr()) };
    let begin = |function: *mut c_void| address_info(function).map(|info| info.dli_fbase);
    let library = begin(real)?;
    if begin(next)? == library {
        return None;
    }
    // A library in two parts, one for each name, is no tool: the part with the `PMPI_X` of a whole one
    // has an `MPI_X` too.
    let path = CString::new(object_of(real)?).ok()?;
    // SAFETY: a C string; RTLD_NOLOAD only gives a handle of what is loaded already.
    let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if object.is_null() {
        return None;
    }
    // SAFETY: `object` is a valid handle, which is given back; the library stays loaded by whoever
    // loaded it.
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

/// An object (executable or library) that the loader has mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadedObject {
    begin: usize,
    end: usize,
}

impl LoadedObject {
    /// Whether an address lies in it.
    pub(crate) fn has(&self, address: usize) -> bool {
        (self.begin..self.end).contains(&address)
    }
}

/// The object in which an address lies.
pub(crate) fn object_at(address: usize) -> Option<LoadedObject> {
    struct Search {
        address: usize,
        found: Option<LoadedObject>,
    }
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        search: *mut c_void,
    ) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid info struct, with the program headers that it counts,
        // and `search` as given.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: as above.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        let loaded = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD);
        let first = (info.dlpi_addr as usize).wrapping_add(
            loaded
                .clone()
                .map(|header| header.p_vaddr)
                .min()
                .unwrap_or(0) as usize,
        );
        let end = (info.dlpi_addr as usize).wrapping_add(
            loaded
                .map(|header| header.p_vaddr + header.p_memsz)
                .max()
                .unwrap_or(0) as usize,
        );
        let object = LoadedObject { begin: first, end };
        if !object.has(search.address) {
            return 0;
        }
        search.found = Some(object);
        1
    }
    let mut search = Search {
        address,
        found: None,
    };
    // SAFETY: the callback gets what it expects, and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// A number that changes when an object is loaded or goes.
pub(crate) fn objects_epoch() -> u64 {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        epoch: *mut c_void,
    ) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid info struct, and `epoch` as given.
        unsafe { *epoch.cast::<u64>() = (*info).dlpi_adds.wrapping_add((*info).dlpi_subs) };
        1
    }
    let mut epoch = 0u64;
    // SAFETY: the callback gets what it expects, and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut epoch).cast()) };
    epoch
}

/// Whether an object belongs to the MPI library, or is a tool that stands before it.
///
/// Besides the one that has `PMPI_Init` those are known by their names: the plugins and parts of
/// Open MPI, and the two halves of an MPICH. Bindings for other languages are none of them: what
/// they call, the program has called.
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
    let path = object_of(object.begin as *const c_void).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or(&path);
    BEGIN_AS.iter().any(|begin| name.starts_with(begin))
}

/// A loaded object, other than this one, that has a function of this name or depends on one that
/// has, and the function.
fn object_with(name: &CStr) -> Option<(*mut c_void, *mut c_void)> {
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: the callback gets a valid info struct and, as data, the `paths` passed here; it
    // does not unwind (pushing may only fail by aborting).
    unsafe { libc::dl_iterate_phdr(Some(collect_path), (&raw mut paths).cast()) };
    let own = object_of(find_function as *const c_void);
    for path in paths {
        if path.is_empty() || Some(path.to_string_lossy().as_ref()) == own.as_deref() {
            continue;
        }
        // SAFETY: a C string; RTLD_NOLOAD only gives a handle of what is loaded already.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if object.is_null() {
            continue;
        }
        // SAFETY: `object` is a valid handle. dlsym also searches what the object depends on,
        // so the symbol found must lie in an object other than this library.
        let found = unsafe { libc::dlsym(object, name.as_ptr()) };
        if !found.is_null() && object_of(found) != own {
            return Some((object, found));
        }
        // SAFETY: `object` was opened above; the library stays loaded by whoever loaded it.
        unsafe { libc::dlclose(object) };
    }
    None
}

unsafe extern "C" fn collect_path(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info struct, and `data` as given in `mpi_object`.
    let (info, paths) = unsafe { (&*info, &mut *data.cast::<Vec<CString>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: `dlpi_name` is a C string of the loader, valid during the callback.
        paths.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
    }
    0
}

/// What the loader knows of an address, if it lies in an object.
fn address_info(address: *const c_void) -> Option<libc::Dl_info> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: dladdr takes any address and writes `info`.
    let found = unsafe { libc::dladdr(address, &mut info) };
    (found != 0).then_some(info)
}

/// Where this library is in memory.
pub(crate) fn own_object() -> Option<Range<usize>> {
    static BEGIN: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn compare(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        _data: *mut c_void,
    ) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid info struct with so many program headers.
        let (base, headers) = unsafe {
            let info = &*info;
            let n = usize::from(info.dlpi_phnum);
            (
                info.dlpi_addr,
                std::slice::from_raw_parts(info.dlpi_phdr, n),
            )
        };
        let own = compare as *const () as usize;
        let loaded = headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD);
        let parts = loaded.map(|header| {
            let begin = (base + header.p_vaddr) as usize;
            begin..begin + header.p_memsz as usize
        });
        let (begin, end) = parts.fold((usize::MAX, 0), |(begin, end), part| {
            (part.start.min(begin), part.end.max(end))
        });
        if !(begin..end).contains(&own) {
            return 0;
        }
        END.store(end, Ordering::Relaxed);
        BEGIN.store(begin, Ordering::Release);
        1
    }
    if BEGIN.load(Ordering::Acquire) == 0 {
        // SAFETY: the function gets what it expects, and does not unwind.
        unsafe { libc::dl_iterate_phdr(Some(compare), std::ptr::null_mut()) };
    }
    let begin = BEGIN.load(Ordering::Acquire);
    (begin != 0).then(|| begin..END.load(Ordering::Relaxed))
}

/// Path of the loaded object in which an address lies.
fn object_of(address: *const c_void) -> Option<String> {
    let info = address_info(address)?;
    // SAFETY: a C string that lives as long as the object, or null.
    unsafe { text_at(info.dli_fname) }
}

/// The name of the exported function that begins at an address.
pub(crate) fn symbol_of(address: *const c_void) -> Option<String> {
    let info = address_info(address)?;
    if !std::ptr::eq(info.dli_saddr, address) {
        return None;
    }
    // SAFETY: as above.
    unsafe { text_at(info.dli_sname) }
}

/// # Safety
/// `text` is a C string or null.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}

/// A function of the MPI library, looked up at its first use: with some programs the library is
/// not loaded before that.
#[derive(Debug)]
pub struct RealFunction {
    name: &'static CStr,
    reach: Reach,
    /// Null: not looked up with success yet; [`MISSING`]: the library has no such function.
    address: AtomicPtr<c_void>,
}

/// By which of its two names a routine is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CalledAs {
    /// `MPI_X`.
    Mpi,
    /// `PMPI_X`.
    Pmpi,
}

/// Which function of a name is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// That of the MPI library.
    Library,
    /// That of any object that is loaded.
    Anywhere,
    /// That of a tool which stands before the MPI library, if there is one, else the library's.
    ToolFirst,
    /// That of the MPI library, if a tool stands before it; else none.
    BehindTool,
}

/// What is kept instead of the address of a function that the MPI library lacks: to search for it
/// takes some microseconds, and Python programs call large-count forms only.
const MISSING: *mut c_void = std::ptr::without_provenance_mut(1);

impl RealFunction {
    /// The function of this name (with the leading `P`).
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            reach: Reach::Library,
            address: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The function of this name of a library below MPI, which perhaps only a plugin of the MPI
    /// library has loaded.
    #[must_use]
    pub const fn below_mpi(name: &'static CStr) -> Self {
        Self {
            reach: Reach::Anywhere,
            ..Self::new(name)
        }
    }

    /// What a wrapper makes a call of; `name` is `PMPI_X`.
    ///
    /// Called as `MPI_X` that is what the program would have called without collbench: a tool's
    /// function, where one is linked with the program or preloaded that has an `MPI_X` of its own
    /// (and makes the call by `PMPI_X`).
    #[must_use]
    pub const fn wrapped(name: &'static CStr, called_as: CalledAs) -> Self {
        Self {
            reach: match called_as {
                CalledAs::Mpi => Reach::ToolFirst,
                CalledAs::Pmpi => Reach::Library,
            },
            ..Self::new(name)
        }
    }

    /// The function `PMPI_X` behind such a tool; null where there is none.
    #[must_use]
    pub const fn behind_tool(name: &'static CStr) -> Self {
        Self {
            reach: Reach::BehindTool,
            ..Self::new(name)
        }
    }

    /// Its address, or null if the MPI library has no such function.
    #[inline]
    #[must_use]
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if known > MISSING { known } else { self.find() }
    }

    /// As [`address`](Self::address), quick for what is not there.
    #[inline]
    #[must_use]
    pub fn address_if_any(&self) -> *mut c_void {
        match self.address.load(Ordering::Relaxed) {
            MISSING => std::ptr::null_mut(),
            _ => self.address(),
        }
    }

    #[cold]
    fn find(&self) -> *mut c_void {
        if self.address.load(Ordering::Relaxed) == MISSING {
            return std::ptr::null_mut();
        }
        let _signals_wait = Uninterrupted::begin();
        let found = match self.reach {
            Reach::Library => find_function(self.name),
            Reach::Anywhere => find_anywhere(self.name),
            Reach::ToolFirst => find_tool(self.name).unwrap_or_else(|| find_function(self.name)),
            Reach::BehindTool => match find_tool(self.name) {
                Some(_) => find_function(self.name),
                None => std::ptr::null_mut(),
            },
        };
        // Nothing is missing in a library that is not loaded yet.
        let is_missing = found.is_null() && !find_function(c"PMPI_Init").is_null();
        let known = if is_missing { MISSING } else { found };
        self.address.store(known, Ordering::Relaxed);
        found
    }
}

/// Calls a function of the MPI library, all of whose arguments are words; gives its return code,
/// or an error where there is no such function.
macro_rules! call_mpi {
    ($name:literal; $($argument:expr),*) => {{
        static FUNCTION: $crate::mpi::RealFunction =
            $crate::mpi::RealFunction::new($name);
        let address = FUNCTION.address();
        if address.is_null() {
            -1
        } else {
            // SAFETY: the MPI function of this name takes so many arguments, each of which fits
            // a word; that they are valid is the caller's promise.
            unsafe {
                let function = std::mem::transmute::<
                    *mut std::ffi::c_void,
                    unsafe extern "C" fn(
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

/// The address of a place that the MPI library is to fill.
pub(crate) fn place<T>(to: &mut T) -> usize {
    std::ptr::from_mut(to) as usize
}

type AskNumber = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
type AskGroup = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
type AskHandle = unsafe extern "C" fn(*mut Handle) -> c_int;
type AskTypeSize = unsafe extern "C" fn(Handle, *mut i64) -> c_int;
type AskSession = unsafe extern "C" fn(Handle, Handle, *mut Handle) -> c_int;
type AskProcessSet = unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> c_int;
type AskLevel = unsafe extern "C" fn(*mut c_int) -> c_int;
type TranslateRanks =
    unsafe extern "C" fn(Handle, c_int, *const c_int, Handle, *mut c_int) -> c_int;

/// The MPI library of this process, ready to be asked.
#[derive(Debug)]
pub struct MpiLibrary {
    /// How it represents handles and constants.
    pub abi: Abi,
    /// `MPI_COMM_WORLD`.
    pub comm_world: Handle,
    /// `MPI_COMM_SELF`.
    pub comm_self: Handle,
    /// `MPI_COMM_NULL`.
    pub comm_null: Handle,
    /// `MPI_DATATYPE_NULL`.
    pub datatype_null: Handle,
    /// `MPI_IN_PLACE`.
    pub in_place: usize,
    /// `MPI_ROOT`.
    pub root: i32,
    /// `MPI_PROC_NULL`.
    pub proc_null: i32,
    /// `MPI_MODE_NOPRECEDE`, a bit.
    pub(crate) mode_no_precede: i32,
    /// What it says of its version, one line.
    pub version: String,
    /// The object that provides `PMPI_Init`.
    pub path: String,
    handle_mask: Handle,
    /// `MPI_BYTE`, `MPI_STATUS_IGNORE` and `MPI_ERRORS_RETURN`.
    pub(crate) byte: Handle,
    pub(crate) status_ignore: usize,
    pub(crate) errors_return: Handle,
    /// Thread level provided, 0 to 3.
    pub thread_level: u32,
    questions: Questions,
    named_types: NamedTypes,
    /// The processes that were started together; 0 where it cannot be told.
    world_group: Handle,
    /// The session that this group is of; 0 where it is that of `MPI_COMM_WORLD`.
    own_session: Handle,
}

/// How a program begins MPI (MPI 4.0, chapter 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessModel {
    /// By `MPI_Init`: there is `MPI_COMM_WORLD`.
    World,
    /// By `MPI_Session_init`: there are process sets only.
    Sessions,
}

/// The functions by which the library is asked about what a handle means.
#[derive(Debug, Clone, Copy)]
struct Questions {
    comm_rank: AskNumber,
    comm_size: AskNumber,
    comm_remote_size: AskNumber,
    comm_test_inter: AskNumber,
    comm_group: AskGroup,
    comm_remote_group: AskGroup,
    comm_get_parent: AskHandle,
    group_rank: AskNumber,
    group_size: AskNumber,
    group_free: AskHandle,
    group_translate_ranks: TranslateRanks,
    type_size: AskTypeSize,
}

/// Why an MPI library cannot be recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum LibraryError {
    /// A function of MPI 2 is missing.
    #[error("the MPI library has no {0}; collbench needs MPI 2 or later")]
    MissingFunction(&'static str),
}

macro_rules! function {
    ($name:literal, $signature:ty) => {{
        let address = find_function(
            CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes())
                .expect("a literal with one zero at its end"),
        );
        if address.is_null() {
            return Err(LibraryError::MissingFunction($name));
        }
        // SAFETY: the MPI standard gives this function the signature of the field it is for. A
        // handle of 32 bits travels in the lower half of a word, and is stored there.
        unsafe { std::mem::transmute::<*mut c_void, $signature>(address) }
    }};
}

impl Questions {
    /// Bytes of one element; `None` where a type has no size.
    ///
    /// # Safety
    /// `datatype` is a valid datatype, and not `MPI_DATATYPE_NULL`.
    unsafe fn type_bytes(&self, datatype: Handle) -> Option<u64> {
        let mut size = -1;
        // SAFETY: the caller's promise.
        unsafe { (self.type_size)(datatype, &mut size) };
        u64::try_from(size).ok()
    }

    fn of_this_process() -> Result<Self, LibraryError> {
        Ok(Self {
            comm_rank: function!("PMPI_Comm_rank", AskNumber),
            comm_size: function!("PMPI_Comm_size", AskNumber),
            comm_remote_size: function!("PMPI_Comm_remote_size", AskNumber),
            comm_test_inter: function!("PMPI_Comm_test_inter", AskNumber),
            comm_group: function!("PMPI_Comm_group", AskGroup),
            comm_remote_group: function!("PMPI_Comm_remote_group", AskGroup),
            comm_get_parent: function!("PMPI_Comm_get_parent", AskHandle),
            group_rank: function!("PMPI_Group_rank", AskNumber),
            group_size: function!("PMPI_Group_size", AskNumber),
            group_free: function!("PMPI_Group_free", AskHandle),
            group_translate_ranks: function!("PMPI_Group_translate_ranks", TranslateRanks),
            type_size: type_size_function()?,
        })
    }

    /// For a library whose handles are not understood: nothing is ever asked of it, and every
    /// answer stays as it was.
    const fn never_asked() -> Self {
        unsafe extern "C" fn number(_: Handle, _: *mut c_int) -> c_int {
            0
        }
        unsafe extern "C" fn group(_: Handle, _: *mut Handle) -> c_int {
            0
        }
        unsafe extern "C" fn handle(_: *mut Handle) -> c_int {
            0
        }
        unsafe extern "C" fn type_size(_: Handle, _: *mut i64) -> c_int {
            0
        }
        unsafe extern "C" fn translate(
            _: Handle,
            _: c_int,
            _: *const c_int,
            _: Handle,
            _: *mut c_int,
        ) -> c_int {
            0
        }
        Self {
            comm_rank: number,
            comm_size: number,
            comm_remote_size: number,
            comm_test_inter: number,
            comm_group: group,
            comm_remote_group: group,
            comm_get_parent: handle,
            group_rank: number,
            group_size: number,
            group_free: handle,
            group_translate_ranks: translate,
            type_size,
        }
    }
}

/// The function for sizes of types: that of MPI 3, of MPI 4, or the oldest one, which gives an
/// `int`.
fn type_size_function() -> Result<AskTypeSize, LibraryError> {
    static OLD: RealFunction = RealFunction::new(c"PMPI_Type_size");
    unsafe extern "C" fn widened(datatype: Handle, size: *mut i64) -> c_int {
        let mut narrow = -1;
        // SAFETY: the address was found not to be null; `MPI_Type_size` takes a type and a place
        // for an `int`, and callers of this one pass a place for its result.
        unsafe {
            let ask = std::mem::transmute::<*mut c_void, AskNumber>(OLD.address());
            let code = ask(datatype, &mut narrow);
            *size = narrow.into();
            code
        }
    }
    for name in [c"PMPI_Type_size_x", c"PMPI_Type_size_c"] {
        let address = find_function(name);
        if !address.is_null() {
            // SAFETY: both take a type and a place for an `MPI_Count`, which has 64 bits.
            return Ok(unsafe { std::mem::transmute::<*mut c_void, AskTypeSize>(address) });
        }
    }
    if OLD.address().is_null() {
        return Err(LibraryError::MissingFunction("PMPI_Type_size"));
    }
    Ok(widened)
}

/// What the MPI library says of its version, one line; empty if it does not say.
pub(crate) fn library_version() -> String {
    static VERSION: RealFunction = RealFunction::new(c"PMPI_Get_library_version");
    let address = VERSION.address();
    if address.is_null() {
        return String::new();
    }
    // MPI_MAX_LIBRARY_VERSION_STRING is 256 with Open MPI and 8192 with MPICH.
    let mut buffer = vec![0u8; 16384];
    let mut length = 0;
    // SAFETY: the MPI standard gives this function a place for a text and one for its length; the
    // buffer is longer than any library's limit; it may be called at any time.
    unsafe {
        let ask = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(*mut c_char, *mut c_int) -> c_int,
        >(address);
        ask(buffer.as_mut_ptr().cast(), &mut length);
    }
    buffer.truncate((length.max(0) as usize).min(buffer.len()));
    first_line(&buffer)
}

/// The first line of a text that may end with a zero, with single blanks between its words.
fn first_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let line = text.lines().next().unwrap_or_default();
    let words: Vec<&str> = line.trim_end_matches('\0').split_whitespace().collect();
    words.join(" ")
}

impl MpiLibrary {
    /// Finds the library that provides `PMPI_Init` in this process, in which MPI was begun by
    /// `model` and has not ended.
    ///
    /// One of an unknown ABI is never asked what a handle means.
    ///
    /// # Errors
    /// [`LibraryError`] if a function is missing.
    ///
    /// # Panics
    /// Never: the names are literals.
    pub(crate) fn find(model: ProcessModel) -> Result<Self, LibraryError> {
        let constants = Constants::of_this_process();
        let questions = match constants.abi {
            Abi::Unknown => Questions::never_asked(),
            _ => Questions::of_this_process()?,
        };
        let mut library = Self {
            abi: constants.abi,
            comm_world: constants.comm_world,
            comm_self: constants.comm_self,
            comm_null: constants.comm_null,
            datatype_null: constants.datatype_null,
            in_place: constants.in_place,
            root: constants.root,
            proc_null: constants.proc_null,
            mode_no_precede: constants.mode_no_precede,
            version: library_version(),
            path: object_of(find_function(c"PMPI_Init")).unwrap_or_default(),
            handle_mask: constants.handle_mask(),
            byte: constants.byte,
            status_ignore: constants.status_ignore,
            errors_return: constants.errors_return,
            // Each session has its own; any may be the highest.
            thread_level: 3,
            questions,
            named_types: NamedTypes::of_this_process(constants.abi, |datatype| {
                // SAFETY: a datatype of the library, which is never freed.
                unsafe { questions.type_bytes(datatype) }
            }),
            world_group: 0,
            own_session: 0,
        };
        match model {
            ProcessModel::World => {
                let query_thread = function!("PMPI_Query_thread", AskLevel);
                let mut level = 0;
                // SAFETY: MPI is initialized, and MPI_COMM_WORLD valid.
                unsafe {
                    query_thread(&mut level);
                    (questions.comm_group)(library.comm_world, &mut library.world_group);
                }
                library.thread_level = constants.thread_level(level);
            }
            ProcessModel::Sessions if constants.abi == Abi::Unknown => {}
            ProcessModel::Sessions => library.open_session(&constants)?,
        }
        Ok(library)
    }

    /// Takes the group of all processes from a session of its own: the application's may end
    /// before the last communicator is made, and must not be kept from ending.
    fn open_session(&mut self, constants: &Constants) -> Result<(), LibraryError> {
        let session_init = function!("PMPI_Session_init", AskSession);
        let group_of_set = function!("PMPI_Group_from_session_pset", AskProcessSet);
        // SAFETY: the constants are those of the library; both handles have a place; the name is
        // that of a process set which every library has.
        unsafe {
            session_init(
                constants.info_null,
                constants.errors_return,
                &mut self.own_session,
            );
            group_of_set(
                self.own_session,
                c"mpi://WORLD".as_ptr(),
                &mut self.world_group,
            );
        }
        Ok(())
    }

    /// Gives back what was taken of the library, before MPI ends.
    pub(crate) fn release(&self) {
        let (mut group, mut session) = (self.world_group, self.own_session);
        if group == 0 {
            return;
        }
        // SAFETY: MPI has not ended; the group, and the session where there is one, were taken in
        // `find`, and are used for communicators that are made, of which none is made now.
        unsafe {
            (self.questions.group_free)(&mut group);
            let finalize = find_function(c"PMPI_Session_finalize");
            if session != 0 && !finalize.is_null() {
                let finalize = std::mem::transmute::<*mut c_void, AskHandle>(finalize);
                finalize(&mut session);
            }
        }
    }

    /// Rank of this process among those that were started together, and their number.
    #[must_use]
    pub(crate) fn rank_and_size(&self) -> (u32, u32) {
        let (mut rank, mut size) = (0, 1);
        // SAFETY: the group was taken in `find`, and is there until `release`.
        unsafe {
            (self.questions.group_rank)(self.world_group, &mut rank);
            (self.questions.group_size)(self.world_group, &mut size);
        }
        (rank as u32, size as u32)
    }

    /// The handle in a machine word that carries one.
    #[inline]
    #[must_use]
    pub(crate) fn handle(&self, word: usize) -> Handle {
        word & self.handle_mask
    }

    /// Handle `i` of an array of the application; `i` = 0 for a single one.
    ///
    /// # Safety
    /// `array` is the address of more than `i` handles.
    #[inline]
    pub(crate) unsafe fn handle_at(&self, array: usize, i: usize) -> Handle {
        // SAFETY: the caller's promise; with MPICH handles are 32-bit integers.
        unsafe {
            match self.abi {
                Abi::Mpich => (array as *const u32).add(i).read_unaligned() as Handle,
                _ => (array as *const Handle).add(i).read_unaligned(),
            }
        }
    }

    /// Rank of this process in `comm`.
    ///
    /// # Safety
    /// `comm` is a valid communicator, MPI is initialized and not finalized. The same holds for
    /// the other functions that take a handle.
    #[must_use]
    pub unsafe fn rank(&self, comm: Handle) -> u32 {
        let mut rank = 0;
        // SAFETY: the caller's promise.
        unsafe { (self.questions.comm_rank)(comm, &mut rank) };
        rank as u32
    }

    /// Processes in the (local) group of `comm`.
    ///
    /// # Safety
    /// As [`rank`](Self::rank).
    #[must_use]
    pub unsafe fn size(&self, comm: Handle) -> u32 {
        let mut size = 0;
        // SAFETY: the caller's promise.
        unsafe { (self.questions.comm_size)(comm, &mut size) };
        size as u32
    }

    /// Processes in the remote group of `comm`; 0 for an intracommunicator.
    ///
    /// # Safety
    /// As [`rank`](Self::rank).
    #[must_use]
    pub unsafe fn remote_size(&self, comm: Handle) -> u32 {
        let mut is_inter = 0;
        let mut size = 0;
        // SAFETY: the caller's promise; the remote size is asked of intercommunicators only.
        unsafe {
            (self.questions.comm_test_inter)(comm, &mut is_inter);
            if is_inter != 0 {
                (self.questions.comm_remote_size)(comm, &mut size);
            }
        }
        size as u32
    }

    /// World ranks of the first `n` members of the local group (`remote`: of the remote group)
    /// of `comm`; [`NO_RANK`](collbench_formats::NO_RANK) for processes of other worlds.
    ///
    /// # Safety
    /// As [`rank`](Self::rank); the group has `n` members, and is there.
    #[must_use]
    pub unsafe fn world_ranks(&self, comm: Handle, remote: bool, n: u32) -> Vec<u32> {
        let get_group = if remote {
            self.questions.comm_remote_group
        } else {
            self.questions.comm_group
        };
        let mut group: Handle = 0;
        let ranks: Vec<c_int> = (0..n as c_int).collect();
        let mut translated = vec![-1 as c_int; ranks.len()];
        // SAFETY: the caller's promise; both arrays have `n` entries; the group is freed once.
        unsafe {
            get_group(comm, &mut group);
            (self.questions.group_translate_ranks)(
                group,
                n as c_int,
                ranks.as_ptr(),
                self.world_group,
                translated.as_mut_ptr(),
            );
            (self.questions.group_free)(&mut group);
        }
        translated
            .into_iter()
            .map(|rank| u32::try_from(rank).unwrap_or(collbench_formats::NO_RANK))
            .collect()
    }

    /// The intercommunicator to the processes that have spawned this world; `None` if nobody has.
    ///
    /// # Safety
    /// MPI was begun by `MPI_Init` and has not ended.
    #[must_use]
    pub(crate) unsafe fn parent(&self) -> Option<Handle> {
        let mut parent: Handle = self.comm_null;
        // SAFETY: the caller's promise.
        unsafe { (self.questions.comm_get_parent)(&mut parent) };
        (parent != self.comm_null).then_some(parent)
    }

    /// Bytes of one element of `datatype`; `None` where that is no type or has no size.
    ///
    /// # Safety
    /// `datatype` is a valid datatype, `MPI_DATATYPE_NULL` or 0.
    #[must_use]
    #[inline]
    pub unsafe fn type_bytes(&self, datatype: Handle) -> Option<u64> {
        let datatype = self.handle(datatype);
        if let Some(bytes) = self.named_types.bytes(datatype) {
            return Some(bytes);
        }
        if datatype == 0 || datatype == self.datatype_null {
            return None;
        }
        // SAFETY: the caller's promise, and the two values that MPI would raise an error for
        // are excluded.
        unsafe { self.questions.type_bytes(datatype) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Handles of the stand-in library: types are their size, 9 is the null type.
    pub(crate) const NULL_TYPE: Handle = 9;

    unsafe extern "C" fn type_size(datatype: Handle, size: *mut i64) -> c_int {
        assert_ne!(datatype, NULL_TYPE, "MPI would abort the program here");
        // SAFETY: callers pass a place for one number.
        unsafe { *size = datatype as i64 };
        0
    }

    /// A stand-in for an MPI library, with the constants of Open MPI.
    pub(crate) fn stand_in() -> MpiLibrary {
        MpiLibrary {
            abi: Abi::OpenMpi,
            comm_world: 100,
            comm_self: 101,
            comm_null: 102,
            datatype_null: NULL_TYPE,
            in_place: 1,
            root: -4,
            proc_null: -2,
            mode_no_precede: 2,
            version: String::new(),
            path: String::new(),
            handle_mask: Handle::MAX,
            byte: 1,
            status_ignore: 0,
            errors_return: 0,
            thread_level: 0,
            questions: Questions {
                type_size,
                ..Questions::never_asked()
            },
            named_types: NamedTypes::of_this_process(Abi::Unknown, |_| None),
            world_group: 0,
            own_session: 0,
        }
    }

    /// As [`stand_in`], where handles are 32-bit integers.
    pub(crate) fn stand_in_with_narrow_handles() -> MpiLibrary {
        MpiLibrary {
            abi: Abi::Mpich,
            handle_mask: 0xffff_ffff,
            ..stand_in()
        }
    }

    #[test]
    fn handles_of_32_bits_are_read_and_cut_as_such() {
        let array = [3u32, 4];
        let at = array.as_ptr() as usize;
        let library = stand_in_with_narrow_handles();
        // SAFETY: an array of two handles of 32 bits, and types that are their sizes.
        unsafe {
            assert_eq!(library.handle_at(at, 1), 4);
            assert_eq!(library.handle_at(at, 0), 3);
            assert_eq!(library.type_bytes(0xdead_beef_0000_0008), Some(8));
            assert_eq!(library.type_bytes(0xdead_beef_0000_0000 | NULL_TYPE), None);
        }
    }

    #[test]
    fn a_version_is_one_line_of_words() {
        assert_eq!(
            first_line(b"MPICH Version:\t4.0.2\nMPICH Release date:\tThu"),
            "MPICH Version: 4.0.2"
        );
        assert_eq!(
            first_line(b"Open MPI v4.1.4, package\0"),
            "Open MPI v4.1.4, package"
        );
        assert_eq!(first_line(b""), "");
    }
}
