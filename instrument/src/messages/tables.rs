//! Tables of functions of the MPI library, in which some functions are replaced.
//!
//! The layout of a table differs between versions, and an unknown component may have filled it. So
//! versions are not trusted. A layout is only accepted if, according to the dynamic linker, each
//! function that is to be replaced has the name that it has in every component
//! (`mca_pml_ob1_isend`, `mca_pml_ucx_isend` ...).

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::opaque::Opaque;
use crate::mpi::{find_datum, symbol_of};

/// A function that can be replaced.
pub(crate) struct Replaced {
    /// The end of its name, in any component.
    suffix: &'static str,
    replacement: fn() -> *mut c_void,
    original: AtomicPtr<c_void>,
}

impl Replaced {
    pub(crate) const fn new(suffix: &'static str, replacement: fn() -> *mut c_void) -> Self {
        Self {
            suffix,
            replacement,
            original: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    pub(crate) fn original(&self) -> *mut c_void {
        self.original.load(Ordering::Relaxed)
    }
}

/// A table of the library, and the positions of functions in it.
pub(crate) struct Table {
    pub(crate) name: &'static CStr,
    /// All known layouts: indexes of words and their functions.
    pub(crate) layouts: &'static [&'static [(usize, &'static Replaced)]],
}

/// The words in the tables whose functions are to be replaced, found and checked.
#[derive(Debug)]
pub(crate) struct PointToPoint(pub(crate) Vec<FunctionSlot>);

pub(crate) struct FunctionSlot {
    /// Address of the word in the table.
    word: usize,
    function: &'static Replaced,
}

impl std::fmt::Debug for FunctionSlot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {:#x}", self.function.suffix, self.word)
    }
}

impl Table {
    pub(crate) fn slots(&self) -> Result<Vec<FunctionSlot>, Opaque> {
        let table = find_datum(self.name);
        let is_known = |&(at, function): &(usize, &'static Replaced)| {
            // SAFETY: the tables of all versions are longer than any layout.
            let address = unsafe { (table as *const *mut c_void).add(at).read() };
            symbol_of(address).is_some_and(|name| name.ends_with(function.suffix))
        };
        let mut layouts = self.layouts.iter();
        match layouts.find(|layout| table != 0 && layout.iter().all(is_known)) {
            Some(layout) => Ok(layout
                .iter()
                .map(|&(at, function)| FunctionSlot {
                    word: table + at * size_of::<usize>(),
                    function,
                })
                .collect()),
            None => Err(Opaque::UnknownLayout(
                self.name.to_str().unwrap_or_default(),
            )),
        }
    }
}

impl PointToPoint {
    /// Puts the recording functions into the tables.
    ///
    /// # Safety
    /// No other thread is inside the library.
    pub(crate) unsafe fn install(&self) {
        for FunctionSlot { word, function } in &self.0 {
            // SAFETY: `find` has read a function of this name there, in the data of a library that
            // stays loaded; the recording function takes the same arguments.
            let word = unsafe { AtomicPtr::from_ptr(*word as *mut *mut c_void) };
            function
                .original
                .store(word.load(Ordering::Relaxed), Ordering::Relaxed);
            word.store((function.replacement)(), Ordering::Release);
        }
    }

    /// Restores the library's own functions, where they have not been replaced again since.
    ///
    /// # Safety
    /// The library is loaded, and was when `install` was called.
    pub(crate) unsafe fn remove(&self) {
        for FunctionSlot { word, function } in &self.0 {
            // SAFETY: the caller promises that the library is loaded, so the word that `install`
            // has stored into is still there.
            let word = unsafe { AtomicPtr::from_ptr(*word as *mut *mut c_void) };
            let _ = word.compare_exchange(
                (function.replacement)(),
                function.original(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
        }
    }
}
