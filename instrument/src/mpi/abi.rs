//! Which ABI the MPI library of this process has, and its constants.
//!
//! There are three: that of Open MPI, that of MPICH (shared by its descendants, under an agreement
//! of their vendors), and that of the MPI 5 standard, which any library may offer in addition to
//! its own. They differ in the width of handles and in the values of nearly all constants. The
//! names of library files do not identify the ABI: `libmpi.so.12` is MPICH, Intel MPI or MVAPICH,
//! and sites rename files. So the library itself is asked.

use std::ffi::{c_int, c_void};
use std::sync::OnceLock;

use collbench_formats::Abi;

use super::find::{RealFunction, find_datum};
use super::handle::Handle;
use super::version::library_version;

/// Constants of one ABI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Constants {
    pub(crate) abi: Abi,
    /// `MPI_COMM_WORLD`, `_SELF`, `_NULL`; 0 if they are not known.
    pub(crate) comm_world: Handle,
    pub(crate) comm_self: Handle,
    pub(crate) comm_null: Handle,
    /// `MPI_DATATYPE_NULL`.
    pub(crate) datatype_null: Handle,
    /// `MPI_IN_PLACE`.
    pub(crate) in_place: usize,
    /// `MPI_ROOT` and `MPI_PROC_NULL`.
    pub(crate) root: i32,
    pub(crate) proc_null: i32,
    /// `MPI_MODE_NOPRECEDE`.
    pub(crate) mode_no_precede: i32,
    /// `MPI_THREAD_SINGLE` to `MPI_THREAD_MULTIPLE`.
    pub(crate) thread_levels: [i32; 4],
    /// `MPI_CART`, `MPI_GRAPH`, `MPI_DIST_GRAPH`.
    pub(crate) topologies: [i32; 3],
    /// `MPI_INFO_NULL` and `MPI_ERRORS_RETURN`.
    pub(crate) info_null: Handle,
    pub(crate) errors_return: Handle,
    /// `MPI_BYTE` and `MPI_STATUS_IGNORE`.
    pub(crate) byte: Handle,
    pub(crate) status_ignore: usize,
    /// Offset of `MPI_SOURCE` in a status, bytes.
    pub(crate) status_source: usize,
}

/// The values of Open MPI's `mpi.h`, versions 4 and 5, where handles are addresses of data of the
/// library.
fn open_mpi(comm_world: Handle) -> Constants {
    Constants {
        abi: Abi::OpenMpi,
        comm_world,
        comm_self: find_datum(c"ompi_mpi_comm_self"),
        comm_null: find_datum(c"ompi_mpi_comm_null"),
        datatype_null: find_datum(c"ompi_mpi_datatype_null"),
        in_place: 1,
        root: -4,
        proc_null: -2,
        mode_no_precede: 2,
        thread_levels: [0, 1, 2, 3],
        topologies: [1, 2, 3],
        info_null: find_datum(c"ompi_mpi_info_null"),
        errors_return: find_datum(c"ompi_mpi_errors_return"),
        byte: find_datum(c"ompi_mpi_byte"),
        status_ignore: 0,
        status_source: 0,
    }
}

/// The values of MPICH's `mpi.h`, versions 4 and 5; fixed by the ABI agreement of 2013.
const MPICH: Constants = Constants {
    abi: Abi::Mpich,
    comm_world: 0x4400_0000,
    comm_self: 0x4400_0001,
    comm_null: 0x0400_0000,
    datatype_null: 0x0c00_0000,
    in_place: usize::MAX,
    root: -3,
    proc_null: -1,
    mode_no_precede: 8192,
    thread_levels: [0, 1, 2, 3],
    topologies: [2, 1, 3],
    info_null: 0x1c00_0000,
    errors_return: 0x5400_0001,
    byte: 0x4c00_010d,
    status_ignore: 1,
    status_source: 8,
};

/// The values of MPI 5.0, appendix A.
const MPI_5: Constants = Constants {
    abi: Abi::Mpi5,
    comm_world: 0x101,
    comm_self: 0x102,
    comm_null: 0x100,
    datatype_null: 0x200,
    in_place: 1,
    root: -4,
    proc_null: -3,
    mode_no_precede: 2048,
    thread_levels: [0, 1024, 2048, 4096],
    topologies: [211, 212, 213],
    info_null: 0x130,
    errors_return: 0x143,
    byte: 0x247,
    status_ignore: 0,
    status_source: 0,
};

/// For an unknown ABI: none of its arguments are decoded.
const UNKNOWN: Constants = Constants {
    abi: Abi::Unknown,
    comm_world: 0,
    comm_self: 0,
    comm_null: 0,
    datatype_null: 0,
    in_place: 0,
    root: i32::MIN,
    proc_null: i32::MIN,
    mode_no_precede: 0,
    thread_levels: [0, 1, 2, 3],
    topologies: [i32::MIN; 3],
    info_null: 0,
    errors_return: 0,
    byte: 0,
    status_ignore: 0,
    status_source: 0,
};

impl Constants {
    /// The constants of the MPI library in this process.
    ///
    /// May be called before `MPI_Init`. The standard ABI is checked first: a library that offers it
    /// may also have the marks of its own ABI, in an object that it depends on.
    pub(crate) fn of_this_process() -> Self {
        if standard_abi_version().is_some_and(|major| major >= 1) {
            return MPI_5;
        }
        match find_datum(c"ompi_mpi_comm_world") {
            0 if is_of_mpich_family(&library_version()) => MPICH,
            0 => UNKNOWN,
            comm_world => open_mpi(comm_world),
        }
    }

    /// The constants as [`of_this_process`](Self::of_this_process) finds them, but found only once;
    /// `None` for an unknown ABI.
    pub(crate) fn known_of_this_process() -> Option<Self> {
        static FOUND: OnceLock<Constants> = OnceLock::new();
        let found = *FOUND.get_or_init(Self::of_this_process);
        (found.abi != Abi::Unknown).then_some(found)
    }

    /// The bits of a machine word that hold a handle. With MPICH handles are 32-bit integers, and
    /// the upper bits of a register with one are undefined.
    pub(crate) const fn handle_mask(&self) -> Handle {
        match self.abi {
            Abi::Mpich => 0xffff_ffff,
            _ => Handle::MAX,
        }
    }

    /// Thread level from 0 (single) to 3 (multiple), from the library's value.
    pub(crate) fn thread_level(&self, value: i32) -> u32 {
        let below = self.thread_levels.iter().filter(|&&level| level <= value);
        (below.count().max(1) - 1) as u32
    }
}

/// The major version of the standard ABI that the functions of this process have; `None` if they
/// have another ABI. (Then `MPI_Abi_get_version` returns -1: MPI 5.0.)
fn standard_abi_version() -> Option<i32> {
    static ABI_VERSION: RealFunction = RealFunction::new(c"PMPI_Abi_get_version");
    let address = ABI_VERSION.address();
    if address.is_null() {
        return None;
    }
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: the MPI standard gives this function the addresses of two `int`s; it may be called at
    // any time.
    unsafe {
        let ask = std::mem::transmute::<
            *mut c_void,
            unsafe extern "C" fn(*mut c_int, *mut c_int) -> c_int,
        >(address);
        ask(&mut major, &mut minor);
    }
    (major >= 0).then_some(major)
}

/// Whether a library calls itself MPICH or a library with MPICH's ABI.
fn is_of_mpich_family(version: &str) -> bool {
    ["MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"]
        .iter()
        .any(|name| version.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_levels_are_numbered_alike_whatever_their_values() {
        for constants in [MPICH, MPI_5] {
            let numbers = constants
                .thread_levels
                .map(|level| constants.thread_level(level));
            assert_eq!(numbers, [0, 1, 2, 3]);
        }
        assert_eq!(MPI_5.thread_level(3), 0, "MPICH's MULTIPLE is nothing here");
        assert_eq!(MPICH.thread_level(-5), 0);
    }

    #[test]
    fn libraries_with_the_abi_of_mpich_are_known_by_what_they_call_themselves() {
        for version in [
            "MPICH Version:\t4.0.2",
            "Intel(R) MPI Library 2021.11 for Linux* OS",
            "MVAPICH2 Version      :\t2.3.7",
            "MPI VERSION    : CRAY MPICH version 8.1.28.29 (ANL base 3.4a2)",
        ] {
            assert!(is_of_mpich_family(version), "{version}");
        }
        assert!(!is_of_mpich_family("MPI-of-the-day 1.0"));
        assert!(!is_of_mpich_family(""));
    }

    #[test]
    fn only_handles_of_mpich_are_cut() {
        assert_eq!(MPICH.handle_mask() & 0xdead_beef_4400_0000, 0x4400_0000);
        assert_eq!(MPI_5.handle_mask(), Handle::MAX);
    }
}
