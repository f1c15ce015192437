//! What the MPI library of this process is asked.
//!
//! Handles and arguments travel as machine words, and the few constants that matter are those of the
//! library's ABI.

use std::ffi::{c_int, c_void};

use collbench_formats::Abi;

use super::abi::Constants;
use super::find::find_function;
use super::handle::Handle;
use super::inquiries::{
    InquireHandle, InquireLevel, InquireProcessSet, InquireSession, Inquiries, LibraryError,
    function,
};
use super::named_types::NamedTypes;
use super::objects::object_of;
use super::version::library_version;

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
    inquiries: Inquiries,
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
        let inquiries = match constants.abi {
            Abi::Unknown => Inquiries::unused(),
            _ => Inquiries::of_this_process()?,
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
            inquiries,
            named_types: NamedTypes::of_this_process(constants.abi, |datatype| {
                // SAFETY: a datatype of the library, which is never freed.
                unsafe { inquiries.type_bytes(datatype) }
            }),
            world_group: 0,
            own_session: 0,
        };
        match model {
            ProcessModel::World => {
                let query_thread = function!("PMPI_Query_thread", InquireLevel);
                let mut level = 0;
                // SAFETY: MPI is initialized, and MPI_COMM_WORLD valid.
                unsafe {
                    query_thread(&mut level);
                    (inquiries.comm_group)(library.comm_world, &mut library.world_group);
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
        let session_init = function!("PMPI_Session_init", InquireSession);
        let group_of_set = function!("PMPI_Group_from_session_pset", InquireProcessSet);
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
            (self.inquiries.group_free)(&mut group);
            let finalize = find_function(c"PMPI_Session_finalize");
            if session != 0 && !finalize.is_null() {
                let finalize = std::mem::transmute::<*mut c_void, InquireHandle>(finalize);
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
            (self.inquiries.group_rank)(self.world_group, &mut rank);
            (self.inquiries.group_size)(self.world_group, &mut size);
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
        unsafe { (self.inquiries.comm_rank)(comm, &mut rank) };
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
        unsafe { (self.inquiries.comm_size)(comm, &mut size) };
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
            (self.inquiries.comm_test_inter)(comm, &mut is_inter);
            if is_inter != 0 {
                (self.inquiries.comm_remote_size)(comm, &mut size);
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
            self.inquiries.comm_remote_group
        } else {
            self.inquiries.comm_group
        };
        let mut group: Handle = 0;
        let ranks: Vec<c_int> = (0..n as c_int).collect();
        let mut translated = vec![-1 as c_int; ranks.len()];
        // SAFETY: the caller's promise; both arrays have `n` entries; the group is freed once.
        unsafe {
            get_group(comm, &mut group);
            (self.inquiries.group_translate_ranks)(
                group,
                n as c_int,
                ranks.as_ptr(),
                self.world_group,
                translated.as_mut_ptr(),
            );
            (self.inquiries.group_free)(&mut group);
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
        unsafe { (self.inquiries.comm_get_parent)(&mut parent) };
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
        unsafe { self.inquiries.type_bytes(datatype) }
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
    pub(crate) fn fake_library() -> MpiLibrary {
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
            inquiries: Inquiries {
                type_size,
                ..Inquiries::unused()
            },
            named_types: NamedTypes::of_this_process(Abi::Unknown, |_| None),
            world_group: 0,
            own_session: 0,
        }
    }

    /// As [`fake_library`], where handles are 32-bit integers.
    pub(crate) fn fake_library_with_narrow_handles() -> MpiLibrary {
        MpiLibrary {
            abi: Abi::Mpich,
            handle_mask: 0xffff_ffff,
            ..fake_library()
        }
    }

    #[test]
    fn handles_of_32_bits_are_read_and_cut_as_such() {
        let array = [3u32, 4];
        let at = array.as_ptr() as usize;
        let library = fake_library_with_narrow_handles();
        // SAFETY: an array of two handles of 32 bits, and types that are their sizes.
        unsafe {
            assert_eq!(library.handle_at(at, 1), 4);
            assert_eq!(library.handle_at(at, 0), 3);
            assert_eq!(library.type_bytes(0xdead_beef_0000_0008), Some(8));
            assert_eq!(library.type_bytes(0xdead_beef_0000_0000 | NULL_TYPE), None);
        }
    }
}
