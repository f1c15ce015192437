//! The messages of MPICH's collectives over UCX: the tagged operations of UCX, which the library
//! calls through the dynamic linker.
//!
//! A tag of 64 bits has the context of the communicator, the rank of the sender in it and MPI's tag.
//! So a receive names its sender; whom a send goes to is told by the endpoint, and which process an
//! endpoint leads to by how the library makes them inside `MPI_Init`: in a table with one place for
//! each rank. That is not relied on but checked: the places lie at equal distances, and the one of
//! this process's rank has the address of its own worker.
//!
//! All functions are handed through with their arguments as they came. Only the callback of a
//! receive is replaced by one that notes the time and calls it: that tells when a message has come.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use super::Opaque;
use crate::mpi::Handle;
use crate::mpi::HandleMap;

/// Something of UCX: every argument fits a machine word.
pub(crate) type Word = usize;

/// The beginning of a worker's address, in which the worker's own random number is.
type AddressBegin = [u8; 16];

/// `UCP_EP_PARAM_FIELD_REMOTE_ADDRESS`: the second word of the parameters is an address.
const HAS_ADDRESS: u64 = 1;

/// What was seen of UCX inside `MPI_Init`.
static MADE: Mutex<Made> = Mutex::new(Made {
    endpoints: Vec::new(),
    own_addresses: Vec::new(),
});
/// Whether the process is inside `MPI_Init`, and it is to be kept.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

#[derive(Debug)]
struct Made {
    endpoints: Vec<MadeEndpoint>,
    own_addresses: Vec<AddressBegin>,
}

#[derive(Debug, Clone, Copy)]
struct MadeEndpoint {
    /// Where the library keeps the endpoint.
    place: usize,
    endpoint: Handle,
    worker: Handle,
    leads_to: AddressBegin,
}

/// Begins to note which endpoints are made; to be called before `MPI_Init` is.
pub(crate) fn watch_endpoints() {
    IS_WATCHED.store(true, Ordering::Release);
}

/// World ranks of the processes that endpoints lead to.
#[derive(Debug)]
pub(crate) struct Endpoints {
    /// The workers that they were made with.
    workers: Vec<Handle>,
    ranks: HandleMap<u32>,
}

impl Endpoints {
    /// The endpoints that this process of rank `rank` among `world_size` has made in `MPI_Init`.
    ///
    /// # Errors
    /// [`Opaque`] if there are none, or if they do not stand as they should.
    pub(crate) fn find(rank: u32, world_size: u32) -> Result<Self, Opaque> {
        IS_WATCHED.store(false, Ordering::Release);
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let endpoints = std::mem::take(&mut made.endpoints);
        if endpoints.is_empty() {
            return Err(Opaque::NoTransport);
        }
        Self::of(endpoints, &made.own_addresses, rank, world_size).ok_or(Opaque::UnknownEndpoints)
    }

    fn of(
        mut endpoints: Vec<MadeEndpoint>,
        own_addresses: &[AddressBegin],
        rank: u32,
        world_size: u32,
    ) -> Option<Self> {
        endpoints.sort_by_key(|made| made.place);
        let distances = endpoints.windows(2).map(|two| two[1].place - two[0].place);
        let mut distances = distances.peekable();
        let first = distances.peek().copied();
        let are_equal = distances.all(|distance| Some(distance) == first && distance > 0);
        let own = endpoints.get(rank as usize)?;
        let is_own = own_addresses.contains(&own.leads_to);
        let mut workers: Vec<Handle> = endpoints.iter().map(|made| made.worker).collect();
        workers.sort_unstable();
        workers.dedup();
        (are_equal && is_own && endpoints.len() == world_size as usize).then(|| Self {
            workers,
            ranks: endpoints
                .iter()
                .map(|made| made.endpoint)
                .zip(0..)
                .collect(),
        })
    }

    /// Whether the MPI library receives by this worker.
    #[inline]
    pub(crate) fn is_of(&self, worker: Handle) -> bool {
        self.workers.contains(&worker)
    }

    /// World rank of the process that an endpoint leads to, if it is one of this world.
    #[inline]
    pub(crate) fn rank(&self, endpoint: Handle) -> Option<u32> {
        self.ranks.get(&endpoint).copied()
    }
}

/// Hands `ucp_ep_create` on, and notes what it has made.
///
/// # Safety
/// The arguments are those of the function: `parameters` and `place` are valid addresses.
pub unsafe fn endpoint_call(
    worker: Word,
    parameters: Word,
    place: Word,
    real: impl FnOnce() -> c_int,
) -> c_int {
    let code = real();
    if code == 0 && IS_WATCHED.load(Ordering::Acquire) {
        // SAFETY: the caller's promise; the structure begins with a mask of its fields and the
        // address, and an address is longer than what is read of it.
        unsafe {
            let [fields, address] = (parameters as *const [u64; 2]).read();
            if fields & HAS_ADDRESS != 0 {
                let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
                made.endpoints.push(MadeEndpoint {
                    place,
                    worker,
                    endpoint: (place as *const Handle).read(),
                    leads_to: (address as *const AddressBegin).read_unaligned(),
                });
            }
        }
    }
    code
}

/// Hands `ucp_worker_get_address` on, and notes the address of this process.
///
/// # Safety
/// The arguments are those of the function: both are places for what it gives.
pub unsafe fn own_address_call(address: Word, length: Word, real: impl FnOnce() -> c_int) -> c_int {
    let code = real();
    if code == 0 && IS_WATCHED.load(Ordering::Acquire) {
        // SAFETY: the call has succeeded: there is an address of this length.
        unsafe {
            if (length as *const usize).read() >= size_of::<AddressBegin>() {
                let begin = (address as *const *const AddressBegin)
                    .read()
                    .read_unaligned();
                let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
                made.own_addresses.push(begin);
            }
        }
    }
    code
}

/// How MPICH packs a tag of UCX.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tag(pub(crate) u64);

/// Of a communicator, which one MPICH itself means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The communicator as the program has it.
    Whole,
    /// Those of its processes that are on this host, ordered as they are in it.
    Host,
    /// One process of each host.
    Leaders,
    /// Both groups of an intercommunicator, while they are merged.
    ///
    /// # Source
    /// `MPIR_Intercomm_merge_impl` of MPICH 4.0 (`comm_impl.c`).
    Merged,
}

impl Tag {
    fn context_bits(self) -> u16 {
        (self.0 >> 48) as u16
    }

    /// Whether the message belongs to a collective.
    #[inline]
    pub(crate) fn is_of_collective(self) -> bool {
        self.context_bits() & 1 != 0
    }

    /// What tells communicators apart, and the local groups of intercommunicators from them: bit 0.
    #[inline]
    pub(crate) fn context(self) -> u16 {
        self.context_bits() >> 3
    }

    /// Whether it travels within the local group of an intercommunicator.
    pub(crate) fn is_in_local_group(self) -> bool {
        self.context() & 1 != 0
    }

    #[inline]
    pub(crate) fn part(self) -> Part {
        match self.context_bits() >> 1 & 3 {
            0 => Part::Whole,
            1 => Part::Host,
            2 => Part::Leaders,
            _ => Part::Merged,
        }
    }

    /// Rank of the sender.
    #[inline]
    pub(crate) fn source(self) -> u16 {
        (self.0 >> 32) as u16
    }

    /// Whether it is that of a nonblocking collective.
    pub(crate) fn is_of_begun(self) -> bool {
        self.number() >= FIRST_NONBLOCKING_TAG
    }

    /// MPI's tag.
    #[inline]
    fn number(self) -> u32 {
        self.0 as u32 & (u32::MAX >> 1)
    }

    /// What records have: the lower 14 bits of MPI's tag, and the part above. Nonblocking collectives,
    /// which have one tag after the other, begin again behind those of blocking ones.
    #[inline]
    pub(crate) fn in_records(self) -> u16 {
        let part = self.context_bits() >> 1 & 3;
        let tag = match self.number() {
            tag if tag < 1 << 14 => tag,
            tag => tag_again(tag),
        };
        part << 14 | tag as u16
    }
}

/// The first tag of nonblocking collectives.
///
/// # Source
/// `mpir_tags.h` of MPICH 4.0: `MPIR_FIRST_NBC_TAG`.
const FIRST_NONBLOCKING_TAG: u32 = 287;

#[cold]
fn tag_again(tag: u32) -> u32 {
    let n_again = (1 << 14) - FIRST_NONBLOCKING_TAG;
    FIRST_NONBLOCKING_TAG + (tag - FIRST_NONBLOCKING_TAG) % n_again
}

/// The parameters of an operation (`ucp_request_param_t`), as far as all versions have them.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Parameters {
    fields: u32,
    flags: u32,
    request: Word,
    callback: Word,
    datatype: Word,
    user_data: Word,
    reply_buffer: Word,
    memory_type: Word,
    receive_info: Word,
}

const _: () = assert!(size_of::<Parameters>() == 64);

const HAS_CALLBACK: u32 = 1 << 1;
const HAS_DATATYPE: u32 = 1 << 3;
/// Fields behind those that are known.
const HAS_MORE: u32 = 0xff00;
/// Sort of a datatype: elements of some bytes, side by side.
const IS_CONTIGUOUS: Word = 0;

impl Parameters {
    /// # Safety
    /// `address` is that of the parameters of an operation.
    #[inline]
    pub(crate) unsafe fn at(address: Word) -> Self {
        // SAFETY: the caller's promise.
        unsafe { (address as *const Self).read() }
    }

    /// Bytes of `count` elements; `None` where only a function of the library knows.
    #[inline]
    pub(crate) fn bytes(&self, count: usize) -> Option<u64> {
        if self.fields & HAS_DATATYPE == 0 {
            return Some(count as u64);
        }
        let (sort, element) = (self.datatype & 7, self.datatype >> 3);
        (sort == IS_CONTIGUOUS).then(|| (count as u64).saturating_mul(element as u64))
    }

    /// The function that is called at the end; `None` if there is none, or the parameters have
    /// fields that are not known here, and cannot be copied.
    #[inline]
    pub(crate) fn callback(&self) -> Option<Word> {
        let is_known = self.fields & (HAS_MORE | HAS_CALLBACK) == HAS_CALLBACK;
        (is_known && self.callback != 0).then_some(self.callback)
    }

    /// The same with another function that is called at the end.
    #[inline]
    pub(crate) fn with_callback(self, callback: Word) -> Self {
        Self { callback, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(place: usize, endpoint: Handle, leads_to: u8) -> MadeEndpoint {
        MadeEndpoint {
            place,
            endpoint,
            worker: 5,
            leads_to: [leads_to; 16],
        }
    }

    #[test]
    fn endpoints_lead_to_ranks_in_the_order_of_their_places_and_only_if_all_fits() {
        let own = [[7; 16]];
        let made_in_turn = vec![made(132, 0x30, 9), made(100, 0x10, 8), made(116, 0x20, 7)];
        let endpoints = Endpoints::of(made_in_turn.clone(), &own, 1, 3).unwrap();
        assert_eq!(
            [0x10, 0x20, 0x30, 0x40].map(|endpoint| endpoints.rank(endpoint)),
            [Some(0), Some(1), Some(2), None]
        );
        assert!(endpoints.is_of(5) && !endpoints.is_of(6));
        // Another rank, another number of processes, a gap, one place for two.
        assert!(Endpoints::of(made_in_turn.clone(), &own, 2, 3).is_none());
        assert!(Endpoints::of(made_in_turn, &own, 1, 4).is_none());
        let apart = vec![made(100, 1, 8), made(116, 2, 7), made(140, 3, 9)];
        assert!(Endpoints::of(apart, &own, 1, 3).is_none());
        let twice = vec![made(100, 1, 8), made(100, 2, 7), made(100, 3, 9)];
        assert!(Endpoints::of(twice, &own, 1, 3).is_none());
        assert!(Endpoints::of(vec![made(100, 1, 7)], &own, 0, 1).is_some());
    }

    #[test]
    fn tags_are_taken_apart() {
        // As seen with MPICH 4.0.2: a barrier among the processes of a host, a broadcast.
        let barrier = Tag(0x0003_0002_0000_0001);
        assert!(barrier.is_of_collective());
        assert_eq!((barrier.context(), barrier.part()), (0, Part::Host));
        assert_eq!((barrier.source(), barrier.in_records()), (2, 0x4001));
        let bcast = Tag(0x01f1_0000_0000_0002);
        assert_eq!((bcast.context(), bcast.part()), (0x3e, Part::Whole));
        assert!(!bcast.is_in_local_group() && Tag(0x01f9 << 48).is_in_local_group());
        assert!(!Tag(0x01f0_0000_0000_0002).is_of_collective());
        assert_eq!(Tag(0x01f7 << 48).part(), Part::Merged);
        // Tags that do not fit are none of blocking collectives.
        let of_whole = |tag: u64| Tag(0x01f1 << 48 | tag).in_records();
        assert_eq!((of_whole(30), of_whole(0x3fff)), (30, 0x3fff));
        assert_eq!((of_whole(0x4000), of_whole(0x4001)), (287, 288));
        assert!(!barrier.is_of_begun() && Tag(0x01f1_0000_0000_0120).is_of_begun());
        assert!((0x4000..0x1_0000).all(|tag| of_whole(tag) >= 287));
    }

    #[test]
    fn bytes_are_told_of_types_without_gaps() {
        let parameters = |fields, datatype| Parameters {
            fields,
            flags: 0,
            request: 0,
            callback: 5,
            datatype,
            user_data: 0,
            reply_buffer: 0,
            memory_type: 0,
            receive_info: 0,
        };
        assert_eq!(parameters(2, 0xffff).bytes(12), Some(12));
        assert_eq!(parameters(10, 4 << 3).bytes(12), Some(48));
        assert_eq!(parameters(10, 7).bytes(1), None);
        assert_eq!(parameters(2, 0).callback(), Some(5));
        assert_eq!(parameters(0, 0).callback(), None);
        assert_eq!(parameters(2 | 1 << 8, 0).callback(), None);
    }
}
