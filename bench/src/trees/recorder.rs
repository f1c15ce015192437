//! What the preloaded library offers to this command when it is recorded: records of calls that no
//! function of the MPI library makes, and of passes of event collectors.

use std::ffi::{CStr, CString, c_char, c_int, c_long, c_uchar, c_uint, c_ulonglong, c_void};

use collbench_formats::tree::{Collective, Wrappers};
use collbench_formats::{ROOT_NONE, encode_meta};
use collbench_paths::{Pass, Word};

/// Functions of the preloaded library.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recorder {
    call_begin: unsafe extern "C" fn(Word, c_uint, c_long, c_ulonglong) -> c_int,
    call_end: unsafe extern "C" fn(),
    tree_define: unsafe extern "C" fn(Word, c_uint, *const c_char, *const c_uchar, usize) -> c_uint,
    pass: unsafe extern "C" fn(c_uint, *const Pass),
}

impl Recorder {
    /// Finds it; `None` if this process is not recorded.
    pub(super) fn find() -> Option<Self> {
        let find = |name: &CStr| {
            // SAFETY: the name is a C string; nothing is loaded.
            let found: *mut c_void = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        let (begin, end) = (find(c"collbench_call_begin")?, find(c"collbench_call_end")?);
        let (define, pass) = (find(c"collbench_tree_define")?, find(c"collbench_pass")?);
        // SAFETY: the preloaded library exports functions of these types under these names.
        unsafe {
            Some(Self {
                call_begin: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(Word, c_uint, c_long, c_ulonglong) -> c_int,
                >(begin),
                call_end: std::mem::transmute::<*mut c_void, unsafe extern "C" fn()>(end),
                tree_define: std::mem::transmute::<
                    *mut c_void,
                    unsafe extern "C" fn(
                        Word,
                        c_uint,
                        *const c_char,
                        *const c_uchar,
                        usize,
                    ) -> c_uint,
                >(define),
                pass: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(c_uint, *const Pass)>(
                    pass,
                ),
            })
        }
    }

    /// Records a call of this thread as long as `call` runs.
    pub(super) fn recorded<R>(
        self,
        comm: Word,
        (collective, root, bytes): (Collective, Option<u32>, usize),
        call: impl FnOnce() -> R,
    ) -> R {
        let operation = c_uint::from(collective.operation().code());
        let root = root.map_or(c_long::from(ROOT_NONE), c_long::from);
        // SAFETY: `comm` is a communicator of the MPI library, which is initialized.
        let is_recorded =
            unsafe { (self.call_begin)(comm, operation, root, bytes as c_ulonglong) } == 0;
        let result = call();
        if is_recorded {
            // SAFETY: this thread has begun a call, and not ended it.
            unsafe { (self.call_end)() };
        }
        result
    }

    /// Defines a tree of a communicator, whose processes have `n_threads` leaves each. All processes
    /// call this in the same order; `is_first` is the one with rank 0. Returns the index of the
    /// definition; `None` if nothing is recorded.
    pub(super) fn define(
        self,
        comm: Word,
        n_threads: u32,
        name: &str,
        tree: &Wrappers,
        is_first: bool,
    ) -> Option<u32> {
        let name = CString::new(name).unwrap_or_default();
        let encoded = if is_first {
            encode_meta(tree).ok()
        } else {
            None
        };
        let (bytes, n) = match &encoded {
            Some((bytes, _)) => (bytes.as_ptr(), bytes.len()),
            None => (std::ptr::null(), 0),
        };
        // SAFETY: the name is a C string, and there are as many bytes as are given.
        let index = unsafe { (self.tree_define)(comm, n_threads, name.as_ptr(), bytes, n) };
        (index != c_uint::MAX).then_some(index)
    }

    /// Records a pass of an event collector of a tree that was defined.
    #[inline]
    pub(super) fn pass(self, tree: u32, pass: &Pass) {
        // SAFETY: the pass is valid for reading.
        unsafe { (self.pass)(tree, pass) };
    }
}
