//! Tables of functions of the MPI library, of which some are replaced.
//!
//! Where a function stands in the table differs between versions, and tables may be filled by a
//! component that nobody has seen. So no version is trusted: a layout counts only if the dynamic
//! linker calls each function that is to be replaced by the name it has in every component
//! (`mca_pml_ob1_isend`, `mca_pml_ucx_isend` ...).

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

use super::opaque::Opaque;
use crate::mpi::{find_datum, symbol_of};

/// A function that can be replaced.
pub(crate) struct Replaced {
    /// How its name ends, in any component.
    suffix: &'static str,
    ours: fn() -> *mut c_void,
    theirs: AtomicPtr<c_void>,
}

impl Replaced {
    pub(crate) const fn new(suffix: &'static str, ours: fn() -> *mut c_void) -> Self {
        Self {
            suffix,
            ours,
            theirs: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    pub(crate) fn theirs(&self) -> *mut c_void {
        self.theirs.load(Ordering::Relaxed)
    }
}

/// A table of the library, and where in it functions stand.
pub(crate) struct Table {
    pub(crate) name: &'static CStr,
    /// All layouts that are known, by the number of the word.
    pub(crate) layouts: &'static [&'static [(usize, &'static Replaced)]],
}

/// The places in the tables whose functions are to be replaced: found and checked.
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
                .theirs
                .store(word.load(Ordering::Relaxed), Ordering::Relaxed);
            word.store((function.ours)(), Ordering::Release);
        }
    }

    /// Puts the library's own functions back, where nobody else has replaced ours since.
    ///
    /// # Safety
    /// The library is loaded, and was when `install` was called.
    pub(crate) unsafe fn remove(&self) {
        for FunctionSlot { word, function } in &self.0 {
            // SAFETY: as above.
            let word = unsafe { AtomicPtr::from_ptr(*word as *mut *mut c_void) };
            let _ = word.compare_exchange(
                (function.ours)(),
                function.theirs(),
                Ordering::AcqRel,
                Ordering::Relaxed,
            );
        }
    }
}
