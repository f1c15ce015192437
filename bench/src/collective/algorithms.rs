//! Algorithms of one operation that the MPI library can be told to use while it runs.
//!
//! Open MPI's component `coll_tuned` has a control variable for each operation, which a communicator
//! reads when it is made, if `coll_tuned_use_dynamic_rules` was set before `MPI_Init`. So each
//! algorithm has a communicator of its own, and algorithms are measured in turns within one run.
//! MPI libraries without such variables have no algorithms here.

use std::ffi::{CStr, CString, c_int};

use anyhow::{Context, ensure};
use mpi::ffi;
use serde::{Deserialize, Serialize};

use super::operation::Operation;

/// Environment variable that lets communicators read the control variables.
pub(super) const SWITCH: (&str, &str) = ("OMPI_MCA_coll_tuned_use_dynamic_rules", "1");

/// An algorithm that is measured beside the library's own choice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Algorithm {
    /// As the library names it.
    pub(super) name: String,
    pub(super) by: By,
}

/// What executes an algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum By {
    /// The library, which has given it this number.
    Library(i32),
    /// Trees of the tree file with this index.
    TreeFile(usize),
}

impl By {
    /// The number that the library is told; `None` for trees.
    pub(super) fn number(self) -> Option<i32> {
        match self {
            Self::Library(number) => Some(number),
            Self::TreeFile(_) => None,
        }
    }
}

/// A control variable.
struct Variable {
    handle: ffi::MPI_T_cvar_handle,
    values: Vec<Algorithm>,
}

/// Longest name of a variable or of an algorithm.
const LONGEST: usize = 256;

/// The algorithms of a blocking collective; none of other operations, and if the library cannot be
/// told to use them. After `MPI_Init`.
pub(super) fn of(operation: Operation) -> Vec<Algorithm> {
    // Variables of operations that cannot be chosen can be read, and not be written.
    let variable = Variable::of(operation).filter(|variable| variable.write(0).is_ok());
    variable.map_or(Vec::new(), |variable| {
        let numbered = variable
            .values
            .iter()
            .filter(|value| value.by != By::Library(0));
        numbered.cloned().collect()
    })
}

/// Lets communicators that are made by `make` use this algorithm for this operation.
///
/// # Errors
/// If the library refuses it.
pub(super) fn with<T>(
    operation: Operation,
    number: i32,
    make: impl FnOnce() -> T,
) -> anyhow::Result<T> {
    let name = operation.name();
    let variable = Variable::of(operation)
        .with_context(|| format!("{name}: this MPI library has no algorithms to choose from"))?;
    variable
        .write(number)
        .with_context(|| format!("{name}: algorithm {number}"))?;
    let made = make();
    // The library's own choice again, for communicators that are made later.
    variable.write(0)?;
    Ok(made)
}

impl Variable {
    /// That of an operation; `None` if the library has none, or if it is no list of algorithms.
    fn of(operation: Operation) -> Option<Self> {
        let Operation::Blocking(_) = operation else {
            return None;
        };
        let name = operation
            .name()
            .trim_start_matches("MPI_")
            .to_ascii_lowercase();
        let name = CString::new(format!("coll_tuned_{name}_algorithm")).ok()?;
        let mut level: c_int = 0;
        // SAFETY: initializing it several times is allowed; names are C strings; all results have
        // places that are valid for writing.
        unsafe {
            if ffi::MPI_T_init_thread(ffi::MPI_THREAD_SINGLE as c_int, &mut level) != 0 {
                return None;
            }
            let mut idx: c_int = 0;
            if ffi::MPI_T_cvar_get_index(name.as_ptr(), &mut idx) != 0 {
                return None;
            }
            let values = values_of(idx)?;
            let (mut handle, mut count) = (std::mem::zeroed(), 0);
            let code =
                ffi::MPI_T_cvar_handle_alloc(idx, std::ptr::null_mut(), &mut handle, &mut count);
            (code == 0 && count == 1).then_some(Self { handle, values })
        }
    }

    fn write(&self, number: i32) -> anyhow::Result<()> {
        let value: c_int = number;
        // SAFETY: a handle that is allocated, of one number, as was checked.
        let code = unsafe { ffi::MPI_T_cvar_write(self.handle, (&raw const value).cast()) };
        ensure!(code == 0, "MPI_T_cvar_write returned {code}");
        Ok(())
    }
}

impl Drop for Variable {
    fn drop(&mut self) {
        // SAFETY: a handle that is allocated, and the initialization that belongs to it.
        unsafe {
            ffi::MPI_T_cvar_handle_free(&mut self.handle);
            ffi::MPI_T_finalize();
        }
    }
}

/// Values of a variable of whole numbers with names; `None` if it is another one.
///
/// # Safety
/// `idx` is that of a control variable, and MPI's tool interface is initialized.
unsafe fn values_of(idx: c_int) -> Option<Vec<Algorithm>> {
    let (mut name, mut text) = ([0; LONGEST], [0; LONGEST]);
    let (mut name_length, mut text_length) = (LONGEST as c_int, LONGEST as c_int);
    let (mut verbosity, mut binding, mut scope) = (0, 0, 0);
    // SAFETY: as the caller promises; the lengths are those of the arrays.
    unsafe {
        let (mut datatype, mut values) = (std::mem::zeroed(), std::mem::zeroed());
        let code = ffi::MPI_T_cvar_get_info(
            idx,
            name.as_mut_ptr(),
            &mut name_length,
            &mut verbosity,
            &mut datatype,
            &mut values,
            text.as_mut_ptr(),
            &mut text_length,
            &mut binding,
            &mut scope,
        );
        let (mut count, mut length) = (0, LONGEST as c_int);
        if code != 0
            || ffi::MPI_T_enum_get_info(values, &mut count, name.as_mut_ptr(), &mut length) != 0
        {
            return None;
        }
        let mut all = Vec::new();
        for item in 0..count {
            let (mut number, mut length) = (0, LONGEST as c_int);
            let code =
                ffi::MPI_T_enum_get_item(values, item, &mut number, name.as_mut_ptr(), &mut length);
            if code == 0 {
                let name = CStr::from_ptr(name.as_ptr());
                all.push(Algorithm {
                    name: name.to_string_lossy().into_owned(),
                    by: By::Library(number),
                });
            }
        }
        Some(all)
    }
}
