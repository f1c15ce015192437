//! Executables and libraries that the loader has mapped, found by the addresses in them.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An object (executable or library) that the loader has mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LoadedObject {
    begin: usize,
    end: usize,
}

impl LoadedObject {
    /// Whether an address is in it.
    pub(crate) fn has(&self, address: usize) -> bool {
        (self.begin..self.end).contains(&address)
    }

    /// Path of its file.
    pub(super) fn path(&self) -> Option<String> {
        object_of(self.begin as *const c_void)
    }
}

/// The object that an address is in.
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
        // SAFETY: dl_iterate_phdr passes a valid info struct, with as many program headers as it
        // states, and `search` as it was given.
        let (info, search) = unsafe { (&*info, &mut *search.cast::<Search>()) };
        // SAFETY: the info struct has the address of its program headers, and their number.
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
    // SAFETY: the callback gets the arguments that it expects, and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut search).cast()) };
    search.found
}

/// A number that changes when an object is loaded or unloaded.
pub(crate) fn objects_epoch() -> u64 {
    unsafe extern "C" fn look(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        epoch: *mut c_void,
    ) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid info struct, and `epoch` as it was given.
        unsafe { *epoch.cast::<u64>() = (*info).dlpi_adds.wrapping_add((*info).dlpi_subs) };
        1
    }
    let mut epoch = 0u64;
    // SAFETY: the callback gets the arguments that it expects, and does not unwind.
    unsafe { libc::dl_iterate_phdr(Some(look), (&raw mut epoch).cast()) };
    epoch
}

/// The addresses of this library.
pub(crate) fn own_object() -> Option<Range<usize>> {
    static BEGIN: AtomicUsize = AtomicUsize::new(0);
    static END: AtomicUsize = AtomicUsize::new(0);
    unsafe extern "C" fn compare(
        info: *mut libc::dl_phdr_info,
        _size: usize,
        _data: *mut c_void,
    ) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid info struct with as many program headers as it
        // states.
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
        // SAFETY: the callback gets the arguments that it expects, and does not unwind.
        unsafe { libc::dl_iterate_phdr(Some(compare), std::ptr::null_mut()) };
    }
    let begin = BEGIN.load(Ordering::Acquire);
    (begin != 0).then(|| begin..END.load(Ordering::Relaxed))
}

/// A loaded object, other than this one, that has a function of this name or depends on an object
/// that has it, and the function.
pub(super) fn object_with(name: &CStr) -> Option<(*mut c_void, *mut c_void)> {
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: the callback gets a valid info struct and, as data, the `paths` passed here; it
    // does not unwind (pushing may only fail by aborting).
    unsafe { libc::dl_iterate_phdr(Some(collect_path), (&raw mut paths).cast()) };
    let own = object_of(object_with as *const c_void);
    for path in paths {
        if path.is_empty() || Some(path.to_string_lossy().as_ref()) == own.as_deref() {
            continue;
        }
        // SAFETY: the path is a C string; RTLD_NOLOAD only returns a handle of an object that is
        // loaded already.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if object.is_null() {
            continue;
        }
        // SAFETY: `object` is a valid handle. dlsym also searches the objects that it depends on,
        // so the symbol found must be in an object other than this library.
        let found = unsafe { libc::dlsym(object, name.as_ptr()) };
        if !found.is_null() && object_of(found) != own {
            return Some((object, found));
        }
        // SAFETY: `object` was opened above; the library stays loaded by its other user.
        unsafe { libc::dlclose(object) };
    }
    None
}

/// Whether an object is loaded whose file name is one of these.
pub(crate) fn has_object(is_one: impl Fn(&str) -> bool) -> bool {
    let mut paths: Vec<CString> = Vec::new();
    // SAFETY: as in `object_with`.
    unsafe { libc::dl_iterate_phdr(Some(collect_path), (&raw mut paths).cast()) };
    paths.iter().any(|path| {
        let path = path.to_string_lossy();
        is_one(path.rsplit('/').next().unwrap_or(&path))
    })
}

unsafe extern "C" fn collect_path(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    data: *mut c_void,
) -> c_int {
    // SAFETY: dl_iterate_phdr passes a valid info struct, and `data` as `object_with` gave it.
    let (info, paths) = unsafe { (&*info, &mut *data.cast::<Vec<CString>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: `dlpi_name` is a C string of the loader, valid during the callback.
        paths.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
    }
    0
}

/// What the loader knows about an address; `None` if it is not in an object.
pub(super) fn address_info(address: *const c_void) -> Option<libc::Dl_info> {
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

/// Path of the loaded object that an address is in.
pub(super) fn object_of(address: *const c_void) -> Option<String> {
    let info = address_info(address)?;
    // SAFETY: the pointer is null, or a C string that exists as long as the object.
    unsafe { text_at(info.dli_fname) }
}

/// The name of the exported function that begins at an address.
pub(crate) fn symbol_of(address: *const c_void) -> Option<String> {
    let info = address_info(address)?;
    if !std::ptr::eq(info.dli_saddr, address) {
        return None;
    }
    // SAFETY: the pointer is null, or a C string that exists as long as the object.
    unsafe { text_at(info.dli_sname) }
}

/// A copy of a text of the loader; `None` if it is null.
///
/// # Safety
/// `text` is a C string or null.
unsafe fn text_at(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller promises a C string; null was checked before.
    let text = unsafe { CStr::from_ptr(text) };
    Some(text.to_string_lossy().into_owned())
}
