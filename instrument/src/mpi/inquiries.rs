//! The MPI functions that return properties of handles.

use std::ffi::{c_char, c_int, c_void};

use super::find::{RealFunction, find_function};
use super::handle::Handle;

pub(super) type InquireInt = unsafe extern "C" fn(Handle, *mut c_int) -> c_int;
pub(super) type InquireGroup = unsafe extern "C" fn(Handle, *mut Handle) -> c_int;
pub(super) type InquireHandle = unsafe extern "C" fn(*mut Handle) -> c_int;
pub(super) type InquireTypeSize = unsafe extern "C" fn(Handle, *mut i64) -> c_int;
pub(super) type InquireSession = unsafe extern "C" fn(Handle, Handle, *mut Handle) -> c_int;
pub(super) type InquireProcessSet =
    unsafe extern "C" fn(Handle, *const c_char, *mut Handle) -> c_int;
pub(super) type InquireLevel = unsafe extern "C" fn(*mut c_int) -> c_int;
pub(super) type TranslateRanks =
    unsafe extern "C" fn(Handle, c_int, *const c_int, Handle, *mut c_int) -> c_int;

/// The MPI functions that return properties of handles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Inquiries {
    pub(super) comm_rank: InquireInt,
    pub(super) comm_size: InquireInt,
    pub(super) comm_remote_size: InquireInt,
    pub(super) comm_test_inter: InquireInt,
    pub(super) comm_group: InquireGroup,
    pub(super) comm_remote_group: InquireGroup,
    pub(super) comm_get_parent: InquireHandle,
    pub(super) group_rank: InquireInt,
    pub(super) group_size: InquireInt,
    pub(super) group_free: InquireHandle,
    pub(super) group_translate_ranks: TranslateRanks,
    pub(super) type_size: InquireTypeSize,
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
            std::ffi::CStr::from_bytes_with_nul(concat!($name, "\0").as_bytes())
                .expect("a literal with one zero at its end"),
        );
        if address.is_null() {
            return Err(LibraryError::MissingFunction($name));
        }
        // SAFETY: the MPI standard gives this function the signature of the field. A handle of 32
        // bits is passed in the lower half of a word, and stored there.
        unsafe { std::mem::transmute::<*mut c_void, $signature>(address) }
    }};
}
pub(super) use function;

impl Inquiries {
    /// Size of one element in bytes; `None` if the type has no size.
    ///
    /// # Safety
    /// `datatype` is a valid datatype, and not `MPI_DATATYPE_NULL`.
    pub(super) unsafe fn type_bytes(&self, datatype: Handle) -> Option<u64> {
        let mut size = -1;
        // SAFETY: the caller promises a valid datatype.
        unsafe { (self.type_size)(datatype, &mut size) };
        u64::try_from(size).ok()
    }

    pub(super) fn of_this_process() -> Result<Self, LibraryError> {
        Ok(Self {
            comm_rank: function!("PMPI_Comm_rank", InquireInt),
            comm_size: function!("PMPI_Comm_size", InquireInt),
            comm_remote_size: function!("PMPI_Comm_remote_size", InquireInt),
            comm_test_inter: function!("PMPI_Comm_test_inter", InquireInt),
            comm_group: function!("PMPI_Comm_group", InquireGroup),
            comm_remote_group: function!("PMPI_Comm_remote_group", InquireGroup),
            comm_get_parent: function!("PMPI_Comm_get_parent", InquireHandle),
            group_rank: function!("PMPI_Group_rank", InquireInt),
            group_size: function!("PMPI_Group_size", InquireInt),
            group_free: function!("PMPI_Group_free", InquireHandle),
            group_translate_ranks: function!("PMPI_Group_translate_ranks", TranslateRanks),
            type_size: type_size_function()?,
        })
    }

    /// For a library whose handles are not understood: the functions are never needed, and change
    /// nothing.
    pub(super) const fn unused() -> Self {
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

/// The function for sizes of types: that of MPI 3, of MPI 4, or the oldest one, whose result is an
/// `int`.
fn type_size_function() -> Result<InquireTypeSize, LibraryError> {
    static OLD: RealFunction = RealFunction::new(c"PMPI_Type_size");
    unsafe extern "C" fn widened(datatype: Handle, size: *mut i64) -> c_int {
        let mut narrow = -1;
        // SAFETY: the address is not null; `MPI_Type_size` takes a type and the address of an
        // `int`, and callers of this function pass the address of its result.
        unsafe {
            let ask = std::mem::transmute::<*mut c_void, InquireInt>(OLD.address());
            let code = ask(datatype, &mut narrow);
            *size = narrow.into();
            code
        }
    }
    for name in [c"PMPI_Type_size_x", c"PMPI_Type_size_c"] {
        let address = find_function(name);
        if !address.is_null() {
            // SAFETY: both take a type and the address of an `MPI_Count`, which has 64 bits.
            return Ok(unsafe { std::mem::transmute::<*mut c_void, InquireTypeSize>(address) });
        }
    }
    if OLD.address().is_null() {
        return Err(LibraryError::MissingFunction("PMPI_Type_size"));
    }
    Ok(widened)
}
