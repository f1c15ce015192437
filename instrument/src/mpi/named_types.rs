//! Sizes of the predefined datatypes of the MPI library. They never change, so they are asked for
//! once, and not at every call and message.

use std::ffi::CStr;

use collbench_formats::Abi;

use super::find::find_datum;
use super::handle::Handle;

/// Open MPI's names of the types that programs use most; for others the library is asked each time.
const OPEN_MPI_NAMES: [&CStr; 30] = [
    c"ompi_mpi_byte",
    c"ompi_mpi_packed",
    c"ompi_mpi_char",
    c"ompi_mpi_signed_char",
    c"ompi_mpi_unsigned_char",
    c"ompi_mpi_short",
    c"ompi_mpi_unsigned_short",
    c"ompi_mpi_int",
    c"ompi_mpi_unsigned",
    c"ompi_mpi_long",
    c"ompi_mpi_unsigned_long",
    c"ompi_mpi_long_long_int",
    c"ompi_mpi_unsigned_long_long",
    c"ompi_mpi_float",
    c"ompi_mpi_double",
    c"ompi_mpi_int8_t",
    c"ompi_mpi_uint8_t",
    c"ompi_mpi_int32_t",
    c"ompi_mpi_uint32_t",
    c"ompi_mpi_int64_t",
    c"ompi_mpi_uint64_t",
    c"ompi_mpi_2int",
    c"ompi_mpi_double_int",
    c"ompi_mpi_c_double_complex",
    c"ompi_mpi_character",
    c"ompi_mpi_logical",
    c"ompi_mpi_integer",
    c"ompi_mpi_real",
    c"ompi_mpi_dblprec",
    c"ompi_mpi_dblcplex",
];

/// Entries in the table.
const TABLE_SIZE: usize = 256;
const _: () = assert!(TABLE_SIZE.is_power_of_two());
/// Not a handle of a datatype.
const NO_HANDLE: Handle = Handle::MAX;

/// Handles of datatypes that can never be freed, with their sizes in bytes.
#[derive(Debug)]
pub(crate) struct NamedTypes {
    /// Each at the index of its handle; of two with the same index only the first is in the table.
    entries: Box<[(Handle, u64); TABLE_SIZE]>,
}

/// The index of a handle. Open MPI's datatypes are contiguous in memory, some hundred bytes each.
#[inline]
fn index_of(datatype: Handle) -> usize {
    ((datatype >> 4) ^ (datatype >> 9)) % TABLE_SIZE
}

impl NamedTypes {
    /// The datatypes of the library in this process; none if its handles are not known by name.
    /// `bytes` asks it for the size of a datatype.
    pub(crate) fn of_this_process(abi: Abi, bytes: impl Fn(Handle) -> Option<u64>) -> Self {
        let names: &[&CStr] = match abi {
            Abi::OpenMpi => &OPEN_MPI_NAMES,
            Abi::Mpich | Abi::Mpi5 | Abi::Unknown => &[],
        };
        // A library may lack some of them.
        let handles = names.iter().map(|name| find_datum(name));
        Self::of(handles.filter(|&handle| handle != 0), bytes)
    }

    fn of(handles: impl Iterator<Item = Handle>, bytes: impl Fn(Handle) -> Option<u64>) -> Self {
        let mut entries = Box::new([(NO_HANDLE, 0); TABLE_SIZE]);
        for handle in handles {
            let entry = &mut entries[index_of(handle)];
            if let (NO_HANDLE, Some(bytes)) = (entry.0, bytes(handle)) {
                *entry = (handle, bytes);
            }
        }
        Self { entries }
    }

    /// Size of one element in bytes; `None` if the library must be asked.
    #[inline]
    pub(crate) fn bytes(&self, datatype: Handle) -> Option<u64> {
        let (known, bytes) = self.entries[index_of(datatype)];
        (known == datatype).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_with_a_place_of_their_own_are_known_and_others_asked_for() {
        // Contiguous, as in Open MPI; the last one has the index of the first.
        let handles: Vec<Handle> = (0..20).map(|i| 0x7f00_1234_5000 + i * 0x200).collect();
        let twin = handles[0] + (TABLE_SIZE << 13);
        assert_eq!(index_of(twin), index_of(handles[0]));
        let all = handles.iter().copied().chain([twin, handles[3] + 0x10]);
        let size_of = |handle: Handle| (handle != handles[7]).then_some(handle as u64 % 1000);
        let types = NamedTypes::of(all, size_of);
        let n_known = handles.iter().filter(|&&handle| {
            let known = types.bytes(handle);
            assert!(known.is_none() || known == size_of(handle), "{handle:#x}");
            known.is_some()
        });
        assert!(n_known.count() >= 15);
        assert_eq!(types.bytes(twin), None);
        assert_eq!(types.bytes(handles[7]), None);
        for other in [0, 9, handles[0] + 1, handles[19] + 0x4000] {
            assert_eq!(types.bytes(other), None, "{other:#x}");
        }
    }
}
