//! Inquiries to the MPI library of this process.
//!
//! Handles and arguments are passed as machine words, and the few constants that are needed are
//! those of the library's ABI.

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

/// The MPI library of this process.
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
    /// Its description of its version, one line.
    pub version: String,
    /// The object that provides `PMPI_Init`.
    pub path: String,
    handle_mask: Handle,
    /// `MPI_BYTE`, `MPI_STATUS_IGNORE` and `MPI_ERRORS_RETURN`.
    pub(crate) byte: Handle,
    pub(crate) status_ignore: usize,
    /// Offset of `MPI_SOURCE` in a status, bytes.
    pub(crate) status_source: usize,
    pub(crate) errors_return: Handle,
    /// Thread level provided, 0 to 3.
    pub thread_level: u32,
    inquiries: Inquiries,
    named_types: NamedTypes,
    /// The processes that were started together; 0 if they are not known.
    world_group: Handle,
    /// The session that this group was taken from; 0 if it is that of `MPI_COMM_WORLD`.
    own_session: Handle,
}

/// How a program initializes MPI (MPI 4.0, chapter 11).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProcessModel {
    /// By `MPI_Init`: there is `MPI_COMM_WORLD`.
    World,
    /// By `MPI_Session_init`: there are only process sets.
    Sessions,
}

impl MpiLibrary {
    /// Finds the library that provides `PMPI_Init` in this process, in which MPI was initialized by
    /// `model` and has not ended.
    ///
    /// A library with an unknown ABI is never asked about handles.
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
            status_source: constants.status_source,
            errors_return: constants.errors_return,
            // Each session has its own thread level; any may be the highest.
            thread_level: 3,
            inquiries,
            named_types: NamedTypes::of_this_process(constants.abi, |datatype| {
                // SAFETY: these are datatypes of the library, which are never freed.
                unsafe { inquiries.type_bytes(datatype) }
            }),
            world_group: 0,
            own_session: 0,
        };
        match model {
            ProcessModel::World => {
                let query_thread = function!("PMPI_Query_thread", InquireLevel);
                let mut level = 0;
                // SAFETY: MPI is initialized, and MPI_COMM_WORLD is valid.
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

    /// Takes the group of all processes from a session of its own: the application's session may
    /// end before the last communicator is created, and must be able to end.
    fn open_session(&mut self, constants: &Constants) -> Result<(), LibraryError> {
        let session_init = function!("PMPI_Session_init", InquireSession);
        let group_of_set = function!("PMPI_Group_from_session_pset", InquireProcessSet);
        // SAFETY: the constants are those of the library; both handles have an address to be stored
        // at; the name is that of a process set which every library has.
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

    /// Frees what was taken from the library, before MPI ends.
    pub(crate) fn release(&self) {
        let (mut group, mut session) = (self.world_group, self.own_session);
        if group == 0 {
            return;
        }
        // SAFETY: MPI has not ended. `find` has taken the group, and the session if there is one.
        // They are used when communicators are created, and none is created now.
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
        // SAFETY: `find` has taken the group, which exists until `release`.
        unsafe {
            (self.inquiries.group_rank)(self.world_group, &mut rank);
            (self.inquiries.group_size)(self.world_group, &mut size);
        }
        (rank as u32, size as u32)
    }

    /// The handle in a machine word.
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
        // SAFETY: the caller promises more than `i` handles; with MPICH they are 32-bit integers.
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
    /// `comm` is a valid communicator; MPI is initialized and not finalized.
    #[must_use]
    pub unsafe fn rank(&self, comm: Handle) -> u32 {
        let mut rank = 0;
        // SAFETY: the caller promises a valid communicator.
        unsafe { (self.inquiries.comm_rank)(comm, &mut rank) };
        rank as u32
    }

    /// Processes in the (local) group of `comm`.
    ///
    /// # Safety
    /// `comm` is a valid communicator; MPI is initialized and not finalized.
    #[must_use]
    pub unsafe fn size(&self, comm: Handle) -> u32 {
        let mut size = 0;
        // SAFETY: the caller promises a valid communicator.
        unsafe { (self.inquiries.comm_size)(comm, &mut size) };
        size as u32
    }

    /// Processes in the remote group of `comm`; 0 for an intracommunicator.
    ///
    /// # Safety
    /// `comm` is a valid communicator; MPI is initialized and not finalized.
    #[must_use]
    pub unsafe fn remote_size(&self, comm: Handle) -> u32 {
        let mut is_inter = 0;
        let mut size = 0;
        // SAFETY: the caller promises a valid communicator; the remote size is only asked of
        // intercommunicators.
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
    /// `comm` is a valid communicator; MPI is initialized and not finalized; the group exists and
    /// has `n` members.
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
        // SAFETY: the caller promises a valid communicator; both arrays have `n` entries; the group
        // is freed once.
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

    /// World rank of the process with this rank in `comm` (in its remote group, if it has one);
    /// [`NO_RANK`](collbench_formats::NO_RANK) for a process of another world.
    ///
    /// # Safety
    /// `comm` is a valid communicator; MPI is initialized and not finalized.
    pub(crate) unsafe fn world_rank(&self, comm: Handle, rank: c_int) -> u32 {
        let mut group: Handle = 0;
        let mut translated: c_int = -1;
        // SAFETY: the caller promises a valid communicator; there is one rank in each place; the
        // group is freed once.
        unsafe {
            match self.remote_size(comm) {
                0 => (self.inquiries.comm_group)(comm, &mut group),
                _ => (self.inquiries.comm_remote_group)(comm, &mut group),
            };
            (self.inquiries.group_translate_ranks)(
                group,
                1,
                &rank,
                self.world_group,
                &mut translated,
            );
            (self.inquiries.group_free)(&mut group);
        }
        u32::try_from(translated).unwrap_or(collbench_formats::NO_RANK)
    }

    /// The source in a status that a successful call has stored; `None` without a status, and for
    /// an unknown ABI.
    ///
    /// # Safety
    /// `status` is 0, `MPI_STATUS_IGNORE`, or the address of a status.
    pub(crate) unsafe fn source_of(&self, status: usize) -> Option<c_int> {
        let has_one = status != 0 && status != self.status_ignore && self.abi != Abi::Unknown;
        // SAFETY: the caller promises that there is a status, which has an `int` at this offset.
        has_one.then(|| unsafe { ((status + self.status_source) as *const c_int).read_unaligned() })
    }

    /// Whether it is known what its handles are.
    #[inline]
    pub(crate) fn knows_handles(&self) -> bool {
        self.abi != Abi::Unknown
    }

    /// Whether calls of several threads may overlap.
    pub(crate) fn is_multithreaded(&self) -> bool {
        self.thread_level >= 3
    }

    /// The intercommunicator to the processes that spawned this world; `None` if it was not
    /// spawned.
    ///
    /// # Safety
    /// MPI was initialized by `MPI_Init` and has not ended.
    #[must_use]
    pub(crate) unsafe fn parent(&self) -> Option<Handle> {
        let mut parent: Handle = self.comm_null;
        // SAFETY: the caller promises that MPI was initialized by `MPI_Init` and has not ended.
        unsafe { (self.inquiries.comm_get_parent)(&mut parent) };
        (parent != self.comm_null).then_some(parent)
    }

    /// Size of one element of `datatype` in bytes; `None` if that is not a type or has no size.
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
        // SAFETY: the caller promises a valid datatype, or one of the two values that MPI would
        // raise an error for; these are excluded above.
        unsafe { self.inquiries.type_bytes(datatype) }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A handle of the fake library: types are their sizes, and 9 is the null type.
    pub(crate) const NULL_TYPE: Handle = 9;

    unsafe extern "C" fn type_size(datatype: Handle, size: *mut i64) -> c_int {
        assert_ne!(datatype, NULL_TYPE, "MPI would abort the program here");
        // SAFETY: callers pass the address of a number.
        unsafe { *size = datatype as i64 };
        0
    }

    /// A fake MPI library, with the constants of Open MPI.
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
            status_source: 0,
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

    /// A fake MPI library whose handles are 32-bit integers.
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
        // SAFETY: the array has two handles of 32 bits, and types are their sizes.
        unsafe {
            assert_eq!(library.handle_at(at, 1), 4);
            assert_eq!(library.handle_at(at, 0), 3);
            assert_eq!(library.type_bytes(0xdead_beef_0000_0008), Some(8));
            assert_eq!(library.type_bytes(0xdead_beef_0000_0000 | NULL_TYPE), None);
        }
    }
}
