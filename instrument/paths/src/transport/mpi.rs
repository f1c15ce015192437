//! Processes of an MPI library.
//!
//! No MPI library is linked: whoever uses this hands over the addresses of its functions, and its
//! handles as machine words. Messages are sent below all wrappers (`PMPI_`), on a communicator of
//! our own, which is made once for all processes that were started together. The communicators of
//! the program are told apart by tags.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_int, c_void};

use super::process::{Received, Transport, TransportError};
use super::reference::{Reference, copy_from_process};
use super::shared::{Address, SharedMemory};

/// A handle or an argument of an MPI function.
pub type Word = usize;

macro_rules! functions {
    ($($(#[$doc:meta])* $field:ident: $name:literal ($($argument:ident),*);)*) => {
        /// Functions of the MPI library. All arguments are machine words.
        #[derive(Debug, Clone, Copy)]
        pub struct MpiFunctions {
            $($(#[$doc])* $field: unsafe extern "C-unwind" fn($(functions!(@word $argument)),*) -> c_int,)*
        }

        impl MpiFunctions {
            /// The functions that `find` finds by their names.
            ///
            /// # Errors
            /// The name of the first that is not found.
            ///
            /// # Safety
            /// `find` returns null, or the address of the MPI function with that name, which stays
            /// valid.
            pub unsafe fn find(
                find: impl Fn(&'static CStr) -> *mut c_void,
            ) -> Result<Self, &'static CStr> {
                $(
                    let $field = find($name);
                    if $field.is_null() {
                        return Err($name);
                    }
                )*
                // SAFETY: the caller promises that these are the functions of these names. The MPI
                // standard gives them these numbers of arguments, each of which fits a word.
                unsafe {
                    Ok(Self {
                        $($field: std::mem::transmute::<
                            *mut c_void,
                            unsafe extern "C-unwind" fn($(functions!(@word $argument)),*) -> c_int,
                        >($field),)*
                    })
                }
            }
        }
    };
    (@word $argument:ident) => { Word };
}

functions! {
    isend: c"PMPI_Isend" (buffer, count, datatype, to, tag, comm, request);
    test: c"PMPI_Test" (request, flag, status);
    iprobe: c"PMPI_Iprobe" (from, tag, comm, flag, status);
    recv: c"PMPI_Recv" (buffer, count, datatype, from, tag, comm, status);
    get_count: c"PMPI_Get_count" (status, datatype, count);
    comm_group: c"PMPI_Comm_group" (comm, group);
    comm_create: c"PMPI_Comm_create" (comm, group, new);
    comm_set_errhandler: c"PMPI_Comm_set_errhandler" (comm, handler);
    comm_free: c"PMPI_Comm_free" (comm);
    group_free: c"PMPI_Group_free" (group);
}

/// Constants of the MPI library.
#[derive(Debug, Clone, Copy)]
pub struct MpiConstants {
    /// `MPI_COMM_WORLD`.
    pub comm_world: Word,
    /// `MPI_ERRORS_RETURN`.
    pub errors_return: Word,
    /// `MPI_BYTE`.
    pub byte: Word,
    /// `MPI_STATUS_IGNORE`.
    pub status_ignore: Word,
    /// `MPI_ANY_SOURCE`.
    pub any_source: c_int,
    /// Offset of `MPI_SOURCE` in a status, bytes.
    pub status_source: usize,
}

/// Room for a status of any library.
#[derive(Default)]
#[repr(C, align(8))]
struct Status([u64; 8]);

fn address_of<T>(to: &mut T) -> Word {
    std::ptr::from_mut(to) as Word
}

fn succeeded(function: &'static str, code: c_int) -> Result<(), TransportError> {
    match code {
        0 => Ok(()),
        code => Err(TransportError::Mpi { function, code }),
    }
}

/// The communicator of our own for all processes that were started together.
#[derive(Debug, Clone, Copy)]
pub struct MpiWorld {
    functions: MpiFunctions,
    constants: MpiConstants,
    comm: Word,
}

/// Tag of messages with which processes find each other's memory, if they use no other.
const SHARE_TAG: u32 = 0;
/// Tag of no message.
const NO_TAG: u32 = 1;
/// The first tag of messages over trees.
const FIRST_TAG: u32 = 2;

impl MpiWorld {
    /// Makes the communicator. All processes call this together.
    ///
    /// It is made of the group of `MPI_COMM_WORLD`, and is no copy: the program's attribute
    /// functions are not called. Errors on it are returned.
    ///
    /// # Errors
    /// [`TransportError::Mpi`].
    ///
    /// # Safety
    /// The functions and constants are those of one MPI library, which is initialized, and is not
    /// finalized as long as the result is used.
    pub unsafe fn new(
        functions: MpiFunctions,
        constants: MpiConstants,
    ) -> Result<Self, TransportError> {
        let (mut group, mut comm): (Word, Word) = (0, 0);
        // SAFETY: as the caller promises; the handles have addresses to be stored at.
        unsafe {
            let code = (functions.comm_group)(constants.comm_world, address_of(&mut group));
            succeeded("MPI_Comm_group", code)?;
            let code = (functions.comm_create)(constants.comm_world, group, address_of(&mut comm));
            (functions.group_free)(address_of(&mut group));
            succeeded("MPI_Comm_create", code)?;
            let code = (functions.comm_set_errhandler)(comm, constants.errors_return);
            succeeded("MPI_Comm_set_errhandler", code)?;
        }
        Ok(Self {
            functions,
            constants,
            comm,
        })
    }

    /// The handle of the communicator. No receive that matches its messages may be posted on it.
    #[must_use]
    pub const fn comm(&self) -> Word {
        self.comm
    }

    /// Frees the communicator. All processes call this together, after they have dropped whatever
    /// used it.
    ///
    /// # Errors
    /// [`TransportError::Mpi`].
    pub fn free(mut self) -> Result<(), TransportError> {
        // SAFETY: `new` has made the communicator, and MPI is not finalized.
        let code = unsafe { (self.functions.comm_free)(address_of(&mut self.comm)) };
        succeeded("MPI_Comm_free", code)
    }
}

/// A message on its way.
#[derive(Debug)]
struct Sending {
    request: Word,
    is_under_way: bool,
    bytes: Vec<u8>,
}

/// The most messages of one process that are under way at a time.
const MAX_SENDING: usize = 64;

/// Some processes of an MPI library, on the communicator of our own.
#[derive(Debug)]
pub struct MpiTransport {
    world: MpiWorld,
    /// World rank of each rank.
    world_ranks: Vec<u32>,
    me: u32,
    /// The ranks on this host, ascending.
    mates: Vec<u32>,
    clock: fn() -> u64,
    /// Tag of messages with which these processes find each other's memory.
    share_tag: u32,
    sending: RefCell<Vec<Sending>>,
    /// Set once the library has failed: nothing is waited for any more.
    has_failed: Cell<bool>,
}

impl MpiTransport {
    /// The processes with these world ranks, on these hosts (by any numbers); the caller is the one
    /// with rank `me`. `clock` is that of event collectors.
    ///
    /// # Panics
    /// If there are not as many hosts as ranks, or `me` is none of them.
    #[must_use]
    pub fn new(
        world: MpiWorld,
        world_ranks: Vec<u32>,
        hosts: &[u32],
        me: u32,
        clock: fn() -> u64,
    ) -> Self {
        assert_eq!(world_ranks.len(), hosts.len());
        let here = hosts[me as usize];
        let mates = (0..).zip(hosts).filter(|(_, host)| **host == here);
        Self {
            world,
            world_ranks,
            me,
            mates: mates.map(|(rank, _)| rank).collect(),
            clock,
            share_tag: SHARE_TAG,
            sending: RefCell::default(),
            has_failed: Cell::new(false),
        }
    }

    /// Uses a tag for finding each other's memory that no other process sends with: for processes in
    /// which several threads make teams at once. It counts like the tags of a team.
    #[must_use]
    pub fn with_share_tag(mut self, tag: u32) -> Self {
        self.share_tag = FIRST_TAG + tag;
        self
    }

    /// Sends to a rank with a tag of the communicator.
    fn send_tagged(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError> {
        let mut sending = self.sending.borrow_mut();
        let idx = self.free_place(&mut sending)?;
        let place = &mut sending[idx];
        place.bytes.clear();
        place.bytes.extend_from_slice(bytes);
        let MpiWorld {
            functions,
            constants,
            comm,
        } = self.world;
        // SAFETY: MPI is initialized. The buffer is changed only after the send is complete, and
        // its `Vec` may move while its bytes stay.
        let code = unsafe {
            (functions.isend)(
                place.bytes.as_ptr() as Word,
                place.bytes.len(),
                constants.byte,
                self.world_ranks[to as usize] as Word,
                tag as Word,
                comm,
                address_of(&mut place.request),
            )
        };
        self.checked("MPI_Isend", code)?;
        place.is_under_way = true;
        self.is_complete(place)?;
        Ok(())
    }

    fn checked(&self, function: &'static str, code: c_int) -> Result<(), TransportError> {
        self.has_failed.set(self.has_failed.get() | (code != 0));
        succeeded(function, code)
    }

    /// Whether a message is no longer on its way.
    fn is_complete(&self, place: &mut Sending) -> Result<bool, TransportError> {
        if !place.is_under_way {
            return Ok(true);
        }
        let mut flag: c_int = 0;
        // SAFETY: MPI is initialized, and the request was begun by `send_tagged` and is under way.
        let code = unsafe {
            (self.world.functions.test)(
                address_of(&mut place.request),
                address_of(&mut flag),
                self.world.constants.status_ignore,
            )
        };
        self.checked("MPI_Test", code)?;
        place.is_under_way = flag == 0;
        Ok(flag != 0)
    }

    /// A place for a message; waits for one if there are very many messages on their way.
    fn free_place(&self, sending: &mut Vec<Sending>) -> Result<usize, TransportError> {
        loop {
            for (idx, place) in sending.iter_mut().enumerate() {
                if self.is_complete(place)? {
                    return Ok(idx);
                }
            }
            if sending.len() < MAX_SENDING {
                sending.push(Sending {
                    request: 0,
                    is_under_way: false,
                    bytes: Vec::new(),
                });
                return Ok(sending.len() - 1);
            }
            std::thread::yield_now();
        }
    }

    /// Takes a message with a tag of the communicator.
    fn receive_tagged(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        let MpiWorld {
            functions,
            constants,
            comm,
        } = self.world;
        let source = match from {
            Some(rank) => self.world_ranks[rank as usize] as c_int,
            None => constants.any_source,
        };
        let mut status = Status::default();
        let (mut flag, mut count): (c_int, c_int) = (0, 0);
        // SAFETY: MPI is initialized; the status and the numbers have addresses to be stored at.
        let code = unsafe {
            (functions.iprobe)(
                source as Word,
                tag as Word,
                comm,
                address_of(&mut flag),
                address_of(&mut status),
            )
        };
        self.checked("MPI_Iprobe", code)?;
        if flag == 0 {
            return Ok(None);
        }
        // SAFETY: the status is that of a message; it has an `int` at this offset.
        let (code, source) = unsafe {
            let source = std::ptr::from_ref(&status)
                .cast::<u8>()
                .add(constants.status_source)
                .cast::<c_int>()
                .read_unaligned();
            let count = address_of(&mut count);
            let code = (functions.get_count)(address_of(&mut status), constants.byte, count);
            (code, source)
        };
        self.checked("MPI_Get_count", code)?;
        // SAFETY: MPI is initialized, and the buffer has room for as many bytes as are given.
        let code = unsafe {
            (functions.recv)(
                into.as_mut_ptr() as Word,
                into.len(),
                constants.byte,
                source as Word,
                tag as Word,
                comm,
                constants.status_ignore,
            )
        };
        self.checked("MPI_Recv", code)?;
        let from = match from {
            Some(rank) => Some(rank),
            None => self.rank_of(source),
        };
        // Only processes of this communicator send with its tags.
        Ok(from.map(|from| Received {
            from,
            bytes: (count as usize).min(into.len()),
        }))
    }

    fn rank_of(&self, world_rank: c_int) -> Option<u32> {
        let mut ranks = (0..).zip(&self.world_ranks);
        let found = ranks.find(|(_, of)| **of == world_rank as u32);
        found.map(|(rank, _)| rank)
    }

    /// Waits for three words of another process.
    fn await_words(&self, from: u32) -> Result<[u64; 3], TransportError> {
        let mut bytes = [0; 24];
        while self
            .receive_tagged(Some(from), self.share_tag, &mut bytes)?
            .is_none()
        {
            std::thread::yield_now();
        }
        let (words, _) = bytes.as_chunks();
        Ok([words[0], words[1], words[2]].map(u64::from_le_bytes))
    }

    fn send_words(&self, to: u32, words: [u64; 3]) -> Result<(), TransportError> {
        let bytes = words.map(u64::to_le_bytes);
        self.send_tagged(to, self.share_tag, bytes.as_flattened())
    }

    /// The first process of the host makes the memory, and tells all others whether all have it.
    fn share_as_first(&self, n_lines: usize) -> Result<SharedMemory, TransportError> {
        let made = SharedMemory::make(n_lines);
        let address = match &made {
            Ok((_, _, address)) => [address.pid, address.descriptor, address.mark],
            Err(_) => [0; 3],
        };
        let others = &self.mates[1..];
        for &mate in others {
            self.send_words(mate, address)?;
        }
        let mut n_opened = 0;
        for &mate in others {
            n_opened += self.await_words(mate)?[0] as usize;
        }
        let all_have_it = made.is_ok() && n_opened == others.len();
        for &mate in others {
            self.send_words(mate, [all_have_it.into(), 0, 0])?;
        }
        match made {
            Ok((memory, ..)) if all_have_it => Ok(memory),
            Ok(_) => Err(refused()),
            Err(error) => Err(TransportError::Memory(error.to_string())),
        }
    }

    fn share_as_other(&self, n_lines: usize) -> Result<SharedMemory, TransportError> {
        let first = self.mates[0];
        let [pid, descriptor, mark] = self.await_words(first)?;
        let address = Address {
            pid,
            descriptor,
            mark,
        };
        let opened = SharedMemory::open(address, n_lines);
        self.send_words(first, [opened.is_ok().into(), 0, 0])?;
        let [all_have_it, ..] = self.await_words(first)?;
        match opened {
            Ok(memory) if all_have_it == 1 => Ok(memory),
            Ok(_) => Err(refused()),
            Err(error) => Err(TransportError::Memory(error.to_string())),
        }
    }
}

fn refused() -> TransportError {
    TransportError::Memory("another process of this host could not open it".into())
}

impl Transport for MpiTransport {
    type Memory = SharedMemory;

    fn rank(&self) -> u32 {
        self.me
    }

    fn share(&self, n_lines: usize) -> Result<SharedMemory, TransportError> {
        if self.mates[0] == self.me {
            self.share_as_first(n_lines)
        } else {
            self.share_as_other(n_lines)
        }
    }

    fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError> {
        self.send_tagged(to, FIRST_TAG + tag, bytes)
    }

    fn receive(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        self.receive_tagged(from, FIRST_TAG + tag, into)
    }

    /// Looks for a message that nobody sends: the library works on everything then.
    fn progress(&self) -> Result<(), TransportError> {
        let mut flag: c_int = 0;
        let MpiWorld {
            functions,
            constants,
            comm,
        } = self.world;
        // SAFETY: MPI is initialized; the flag has an address to be stored at.
        let code = unsafe {
            (functions.iprobe)(
                constants.any_source as Word,
                NO_TAG as Word,
                comm,
                address_of(&mut flag),
                constants.status_ignore,
            )
        };
        self.checked("MPI_Iprobe", code)
    }

    fn process(&self) -> u64 {
        std::process::id().into()
    }

    /// By the number of the process: those that share memory see each other by the same numbers,
    /// or could not have opened it.
    fn has_ended(&self, process: u64) -> bool {
        let Ok(pid) = libc::pid_t::try_from(process) else {
            return false;
        };
        // SAFETY: signal 0 is none, it only asks.
        let is_there = unsafe { libc::kill(pid, 0) } == 0;
        !is_there && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
    }

    fn copy_from(&self, reference: &Reference, into: &mut [u8]) -> bool {
        copy_from_process(reference, into)
    }

    fn now(&self) -> u64 {
        (self.clock)()
    }
}

impl Drop for MpiTransport {
    /// Waits for messages under way: the library still reads their bytes.
    fn drop(&mut self) {
        let mut sending = self.sending.take();
        while !self.has_failed.get() {
            let mut is_complete = |place: &mut Sending| self.is_complete(place).unwrap_or(false);
            let n_complete = sending
                .iter_mut()
                .map(&mut is_complete)
                .filter(|done| *done);
            if n_complete.count() == sending.len() {
                return;
            }
            std::thread::yield_now();
        }
        // The library may still read what it was given.
        std::mem::forget(sending);
    }
}
