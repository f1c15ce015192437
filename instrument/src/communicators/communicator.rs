//! The communicators of this process: by handle while they live, by identity for ever.
//!
//! A handle is not an identity: MPI libraries give the same one again right after
//! `MPI_Comm_free`. The identity is a hash of what all members know without asking each other:
//! the parent's identity, the position of the constructor among the calls on the parent, and
//! the first member (which tells the parts of a split apart). Constructors that are collective
//! over groups and not over the parent are known by the groups, the tag, and how many there
//! were of those.
//!
//! Files and windows stand here too ([`Opened`]): each has an order of calls of its own, as a
//! communicator has, so that the order of calls on the communicator below is the same whether they are
//! recorded or not. They are known by that communicator and by how many were opened on it.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use collbench_formats::{
    Communicator, CommunicatorKind, NO_COMMUNICATOR, NO_RANK, Operation, SequenceEntry,
};

use crate::exchange::MeetAt;
use crate::mpi::{Handle, MpiLibrary, Neighbours};

/// How a constructor's communicator gets its identity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HowMade {
    /// Collective over the parent: by its position there.
    OnParent,
    /// A copy of the parent (`MPI_Comm_dup`), by its position there. The new communicator is not
    /// asked anything, and may not be there yet (`MPI_Comm_idup`): then its handle is taken from
    /// where the call put it before it returned, as all known libraries do; that place may be gone
    /// when the request completes.
    Copy,
    /// Collective over the members only: by the groups and the tag.
    OverGroups,
    /// Made by two groups, each on a parent of its own (`MPI_Comm_accept`, `MPI_Comm_connect`):
    /// within one world by the groups. Processes of several worlds have no names for each other,
    /// and each side knows it by its own parent.
    Connected,
}

/// A constructor's call that has succeeded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConstructorCall {
    pub(crate) operation: Operation,
    pub(crate) how: HowMade,
    /// The communicator that it was called on, and the call's position there.
    pub(crate) parent: &'static CommunicatorEntry,
    pub(crate) position: u64,
    /// The tag argument, where communicators over the same groups are told apart by one.
    pub(crate) tag: i32,
    /// The new communicator; not the null handle.
    pub(crate) made: Handle,
}

/// What besides communicators has an order of collective calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opened {
    /// An `MPI_File`.
    File,
    /// An `MPI_Win`.
    Window,
}

impl Opened {
    /// What tells a handle from those of communicators and of the other kind, in one word: a bit that
    /// no handle has, be it an address of a process or a number of 32 bits.
    pub(crate) fn key(self, library: &MpiLibrary, word: usize) -> Handle {
        match self {
            // An address with MPICH too, where all other handles are numbers.
            Self::File => word | 1 << 62,
            Self::Window => library.handle(word) | 1 << 63,
        }
    }

    /// The key of the handle at an address.
    ///
    /// # Safety
    /// `place` is the address of such a handle.
    pub(crate) unsafe fn key_at(self, library: &MpiLibrary, place: usize) -> Handle {
        // SAFETY: the caller's promise.
        let word = unsafe {
            match self {
                Self::File => (place as *const Handle).read_unaligned(),
                Self::Window => library.handle_at(place, 0),
            }
        };
        self.key(library, word)
    }
}

/// One communicator as the recorder needs it at every call. Entries are never freed: records
/// and other threads may still refer to them.
///
/// Aligned so that no two share a cache line, nor a pair of lines that is fetched together: threads
/// that call on two communicators at once would wait for each other's counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct CommunicatorEntry {
    /// The number that records carry.
    pub index: u32,
    /// The number on which all members agree.
    pub id: u64,
    /// Processes in the local group, > 0.
    pub size: u32,
    /// This process's rank in the local group.
    pub rank: u32,
    /// Processes in the remote group; 0 for an intracommunicator.
    pub remote_size: u32,
    /// World rank of the first member of the local group, of the remote group.
    first_members: [u32; 2],
    /// The neighbours of this process, where it has a topology.
    pub(crate) neighbours: Option<Box<Neighbours>>,
    /// Persistent collectives made on it.
    persistents: AtomicU64,
    /// Calls of the application that have begun on it.
    calls: AtomicU64,
    /// Calls of the MPI library itself that have begun on it.
    internal_calls: AtomicU32,
    /// Files and windows that were opened on it, by [`Opened`].
    opened: [AtomicU32; 2],
    /// Of a file: 1 + the position of the access that was begun and is not ended; 0 for none.
    access: AtomicU64,
    /// Where the leaders of the hosts meet.
    pub(crate) meet_at: MeetAt,
}

impl CommunicatorEntry {
    /// Takes the position of a call that begins now.
    ///
    /// MPI makes the application order the calls on one communicator, so a load and a store
    /// that are each atomic are enough.
    #[inline]
    pub(crate) fn take_position(&self, internal: bool) -> u64 {
        if internal {
            let position = self.internal_calls.load(Ordering::Relaxed);
            self.internal_calls
                .store(position.wrapping_add(1), Ordering::Relaxed);
            u64::from(position)
        } else {
            let position = self.calls.load(Ordering::Relaxed);
            self.calls.store(position + 1, Ordering::Relaxed);
            position
        }
    }

    /// The position of the application's last call that has begun on it; 0 before the first.
    pub(crate) fn last_position(&self) -> u64 {
        self.calls.load(Ordering::Relaxed).saturating_sub(1)
    }

    /// Takes the number of a persistent collective that is made on it; in order, as above.
    pub(crate) fn take_persistent_position(&self) -> u64 {
        self.persistents.fetch_add(1, Ordering::Relaxed)
    }

    /// Notes that an access to the file was begun, at a position; MPI allows one at a time.
    pub(crate) fn begin_access(&self, position: u64) {
        self.access.store(position + 1, Ordering::Relaxed);
    }

    /// Takes the position of the access that was begun.
    pub(crate) fn end_access(&self) -> Option<u64> {
        self.access.swap(0, Ordering::Relaxed).checked_sub(1)
    }

    /// The key under which a file or window stands as long as it has no handle.
    fn key_without_handle(&'static self) -> Handle {
        std::ptr::from_ref(self) as Handle | 3 << 62
    }
}

/// All communicators of the process.
#[derive(Debug, Default)]
pub(crate) struct Communicators {
    inner: Mutex<Inner>,
    /// Counts the communicators that were given back: whoever keeps a handle in a cache asks
    /// whether it may be stale.
    epoch: AtomicU64,
    /// Counts those that were made.
    n_made: AtomicU64,
}

/// Entries that are made at once: one by one, small blocks that stay would lie between those of
/// the MPI library, and make its own allocations slower.
const SPARE: usize = 128;

#[derive(Debug, Default)]
struct Inner {
    /// Entries that are not in use yet.
    spare: std::slice::IterMut<'static, CommunicatorEntry>,
    by_handle: HashMap<Handle, &'static CommunicatorEntry, BuildHasherDefault<HandleHasher>>,
    n_made: u32,
    /// How many communicators there were over the same groups with the same tag.
    over_groups: HashMap<u64, u64>,
}

/// Handles are addresses or small numbers that nobody chooses to collide: a product with the golden
/// ratio, folded, spreads them, in a tenth of the time of the standard library's hash.
#[derive(Debug, Default)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(byte.into());
        }
    }

    fn write_usize(&mut self, handle: usize) {
        let product = (self.0 ^ handle as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Communicators {
    /// The present epoch: a handle looked up in an earlier one may be another communicator now.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// The same, where it counts too that a handle meant nothing before, and does now.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.epoch()
            .wrapping_add(self.n_made.load(Ordering::Acquire))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The communicator that this handle now means, if it is known; for files and windows by
    /// [`Opened::key`], as in the functions below.
    pub(crate) fn find(&self, handle: Handle) -> Option<&'static CommunicatorEntry> {
        self.lock().by_handle.get(&handle).copied()
    }

    /// The communicator that records call by a number, and its handle, while it lives.
    pub(crate) fn of_index(&self, index: u32) -> Option<(Handle, &'static CommunicatorEntry)> {
        let inner = self.lock();
        let mut all = inner.by_handle.iter();
        let found = all.find(|(_, entry)| entry.index == index);
        found.map(|(&handle, &entry)| (handle, entry))
    }

    /// Forgets a handle that the application has given back; gives the epoch that this ends.
    pub(crate) fn forget(&self, handle: Handle) -> u64 {
        let mut inner = self.lock();
        inner.by_handle.remove(&handle);
        self.end_epoch(&mut inner)
    }

    /// Begins the next epoch; gives the one that ends. Under the lock, so a load and a store do.
    fn end_epoch(&self, _: &mut Inner) -> u64 {
        let before = self.epoch.load(Ordering::Relaxed);
        self.epoch.store(before + 1, Ordering::Release);
        before
    }

    /// Knows a handle again that could not be given back.
    pub(crate) fn remember(&self, handle: Handle, entry: &'static CommunicatorEntry) {
        self.lock().by_handle.insert(handle, entry);
    }

    /// `MPI_COMM_WORLD` and `MPI_COMM_SELF` of process `rank` of `size`, as indices 0 and 1.
    pub(crate) fn add_predefined(
        &self,
        library: &MpiLibrary,
        world: u64,
        rank: u32,
        size: u32,
    ) -> [Communicator; 2] {
        let one = |handle, id, size, rank, first, name: &str| {
            self.add(
                handle,
                NewCommunicator {
                    id,
                    parent: None,
                    constructor: None,
                    position: 0,
                    size,
                    rank,
                    remote_size: 0,
                    first_members: [first, NO_RANK],
                    neighbours: None,
                    name: name.to_owned(),
                },
            )
            .1
        };
        [
            one(
                library.comm_world,
                mix(&[world]),
                size,
                rank,
                0,
                "MPI_COMM_WORLD",
            ),
            one(
                library.comm_self,
                mix(&[world, 1, u64::from(rank)]),
                1,
                0,
                rank,
                "MPI_COMM_SELF",
            ),
        ]
    }

    /// The communicator of this (spawned) world with the processes that have spawned it, which
    /// know it by another identity: neither side can tell what the other knows.
    ///
    /// # Safety
    /// `parent` is a valid intercommunicator, MPI is initialized and not finalized.
    pub(crate) unsafe fn add_parent(
        &self,
        library: &MpiLibrary,
        parent: Handle,
        world: u64,
    ) -> Communicator {
        // SAFETY: the caller's promise.
        let (size, rank, remote_size) = unsafe {
            (
                library.size(parent),
                library.rank(parent),
                library.remote_size(parent),
            )
        };
        let new = NewCommunicator {
            id: mix(&[u64::from(Operation::CommSpawn.code()), world]),
            parent: None,
            constructor: Some(Operation::CommSpawn),
            position: 0,
            size,
            rank,
            remote_size,
            first_members: [0, NO_RANK],
            neighbours: None,
            name: "MPI_COMM_PARENT".to_owned(),
        };
        self.add(parent, new).1
    }

    /// The communicator that a constructor has just made.
    ///
    /// # Safety
    /// `call.made` is a valid communicator (for [`HowMade::Copy`]: will be one), MPI is
    /// initialized and not finalized.
    #[inline(always)]
    pub(crate) unsafe fn add_made(
        &self,
        library: &MpiLibrary,
        call: ConstructorCall,
    ) -> (&'static CommunicatorEntry, Communicator) {
        match call.how {
            HowMade::Copy => self.add_copy(call),
            // SAFETY: the caller's promise.
            _ => unsafe { self.add_asked(library, call) },
        }
    }

    /// One that the library has to be asked about.
    ///
    /// # Safety
    /// As [`add_made`](Self::add_made); it is there.
    unsafe fn add_asked(
        &self,
        library: &MpiLibrary,
        call: ConstructorCall,
    ) -> (&'static CommunicatorEntry, Communicator) {
        let ConstructorCall {
            operation,
            how,
            parent,
            position,
            tag,
            made: handle,
        } = call;
        // SAFETY: the caller's promise: the handle is a communicator, which has a first member
        // in each group that it has.
        let (size, rank, remote_size, first_members) = unsafe {
            let remote_size = library.remote_size(handle);
            let first = library.world_ranks(handle, false, 1)[0];
            let remote = if remote_size > 0 {
                library.world_ranks(handle, true, 1)[0]
            } else {
                NO_RANK
            };
            (
                library.size(handle),
                library.rank(handle),
                remote_size,
                [first, remote],
            )
        };
        let is_by_groups = match how {
            HowMade::OverGroups => true,
            HowMade::Connected => first_members[1] != NO_RANK,
            HowMade::OnParent | HowMade::Copy => false,
        };
        let (id, position) = if is_by_groups {
            // SAFETY: as above; the groups have these sizes.
            let groups = unsafe {
                [
                    library.world_ranks(handle, false, size),
                    match remote_size {
                        0 => Vec::new(),
                        n => library.world_ranks(handle, true, n),
                    },
                ]
            };
            // Both sides must come to the same.
            let operation = match operation {
                Operation::CommConnect => Operation::CommAccept,
                other => other,
            };
            let base = identity_over_groups(operation, &groups, tag);
            let mut inner = self.lock();
            let counter = inner.over_groups.entry(base).or_insert(0);
            let position = *counter;
            *counter += 1;
            (mix(&[base, position]), position)
        } else {
            (
                identity_on_parent(operation, parent.id, position, first_members),
                position,
            )
        };
        let new = NewCommunicator {
            id,
            parent: Some(parent),
            constructor: Some(operation),
            position,
            size,
            rank,
            remote_size,
            first_members,
            // SAFETY: as above.
            neighbours: unsafe { Neighbours::of(operation, handle, rank) }.map(Box::new),
            name: String::new(),
        };
        self.add(handle, new)
    }

    #[inline(always)]
    fn add_copy(&self, call: ConstructorCall) -> (&'static CommunicatorEntry, Communicator) {
        let ConstructorCall {
            operation,
            parent,
            position,
            made: handle,
            ..
        } = call;
        let new = NewCommunicator {
            id: identity_on_parent(operation, parent.id, position, parent.first_members),
            parent: Some(parent),
            constructor: Some(operation),
            position,
            size: parent.size,
            rank: parent.rank,
            remote_size: parent.remote_size,
            first_members: parent.first_members,
            neighbours: parent.neighbours.clone(),
            name: String::new(),
        };
        self.add(handle, new)
    }

    /// A file or window that `operation` is about to open on `parent`; its handle follows by
    /// [`give_handle`](Self::give_handle).
    pub(crate) fn add_opened(
        &self,
        kind: Opened,
        operation: Operation,
        parent: &'static CommunicatorEntry,
    ) -> (&'static CommunicatorEntry, Communicator) {
        // MPI makes the application order the calls on one communicator.
        let position = parent.opened[kind as usize].fetch_add(1, Ordering::Relaxed);
        let new = NewCommunicator {
            id: identity_on_parent(operation, parent.id, position.into(), parent.first_members),
            parent: Some(parent),
            constructor: Some(operation),
            position: position.into(),
            size: parent.size,
            rank: parent.rank,
            remote_size: parent.remote_size,
            first_members: parent.first_members,
            neighbours: None,
            name: String::new(),
        };
        let mut inner = self.lock();
        let (entry, definition) = inner.make(new);
        inner.by_handle.insert(entry.key_without_handle(), entry);
        (entry, definition)
    }

    /// Gives a file or window that was opened its key; `None`: it could not be opened.
    pub(crate) fn give_handle(&self, entry: &'static CommunicatorEntry, key: Option<Handle>) {
        let mut inner = self.lock();
        inner.by_handle.remove(&entry.key_without_handle());
        let Some(key) = key else { return };
        // One whose end was not seen may be in a cache.
        if inner.by_handle.insert(key, entry).is_some() {
            self.end_epoch(&mut inner);
        }
    }

    #[inline(always)]
    fn add(
        &self,
        handle: Handle,
        new: NewCommunicator,
    ) -> (&'static CommunicatorEntry, Communicator) {
        let mut inner = self.lock();
        let (entry, definition) = inner.make(new);
        // One of a library whose handles are not known has 0 here, which may be any.
        if handle != 0 {
            inner.by_handle.insert(handle, entry);
            self.n_made.fetch_add(1, Ordering::Release);
        }
        (entry, definition)
    }

    /// How many calls have begun on each living communicator, by index; those without any are
    /// left out.
    pub(crate) fn sequences(&self) -> Vec<SequenceEntry> {
        let (mut entries, _) = self.all_sequences();
        entries.retain(|entry| entry.calls.get() > 0 || entry.internal_calls.get() > 0);
        entries
    }

    /// How many calls have begun on each living communicator, by index; and how many communicators
    /// there ever were.
    pub(crate) fn all_sequences(&self) -> (Vec<SequenceEntry>, u32) {
        let inner = self.lock();
        let mut entries: Vec<_> = inner
            .by_handle
            .values()
            .copied()
            .map(|entry| SequenceEntry {
                communicator: entry.index.into(),
                internal_calls: entry.internal_calls.load(Ordering::Relaxed).into(),
                calls: entry.calls.load(Ordering::Relaxed).into(),
            })
            .collect();
        entries.sort_unstable_by_key(|entry| entry.communicator.get());
        (entries, inner.n_made)
    }
}

struct NewCommunicator {
    id: u64,
    parent: Option<&'static CommunicatorEntry>,
    constructor: Option<Operation>,
    position: u64,
    size: u32,
    rank: u32,
    remote_size: u32,
    first_members: [u32; 2],
    neighbours: Option<Box<Neighbours>>,
    name: String,
}

impl Inner {
    #[inline(always)]
    fn make(&mut self, new: NewCommunicator) -> (&'static CommunicatorEntry, Communicator) {
        let index = self.n_made;
        self.n_made += 1;
        let definition = Communicator {
            index,
            id: new.id,
            parent: new.parent.map_or(NO_COMMUNICATOR, |parent| parent.index),
            constructor: new.constructor.map_or(0, Operation::code),
            position: new.position,
            kind: match new.remote_size {
                0 => CommunicatorKind::Intra,
                _ => CommunicatorKind::Inter,
            },
            size: new.size,
            rank: new.rank,
            remote_size: new.remote_size,
            first_member: new.first_members[0],
            remote_first_member: new.first_members[1],
            name: new.name,
        };
        let entry = self.take_spare();
        *entry = CommunicatorEntry {
            index,
            id: new.id,
            size: new.size,
            rank: new.rank,
            remote_size: new.remote_size,
            first_members: new.first_members,
            neighbours: new.neighbours,
            ..CommunicatorEntry::default()
        };
        (entry, definition)
    }

    #[inline]
    fn take_spare(&mut self) -> &'static mut CommunicatorEntry {
        loop {
            match self.spare.next() {
                Some(entry) => return entry,
                None => {
                    let more = std::iter::repeat_with(CommunicatorEntry::default).take(SPARE);
                    self.spare = Box::leak(more.collect::<Box<[_]>>()).iter_mut();
                }
            }
        }
    }
}

/// The two groups of an intercommunicator are local and remote the other way round for the
/// other half of its members, so the order must not count.
fn identity_on_parent(
    operation: Operation,
    parent: u64,
    position: u64,
    first_members: [u32; 2],
) -> u64 {
    let [a, b] = first_members;
    mix(&[
        u64::from(operation.code()),
        parent,
        position,
        a.min(b).into(),
        a.max(b).into(),
    ])
}

fn identity_over_groups(operation: Operation, groups: &[Vec<u32>; 2], tag: i32) -> u64 {
    let mut hashes = groups.each_ref().map(|group| {
        let words: Vec<u64> = group.iter().map(|&rank| u64::from(rank)).collect();
        mix(&words)
    });
    hashes.sort_unstable();
    mix(&[
        u64::from(operation.code()),
        hashes[0],
        hashes[1],
        tag as u64,
    ])
}

/// A hash of a text, as a tag.
pub(crate) fn hash_of_text(text: &[u8]) -> i32 {
    let words: Vec<u64> = text.iter().map(|&byte| u64::from(byte)).collect();
    mix(&words) as i32
}

/// A hash of words that is the same on every machine: the finalizer of splitmix64 (Steele et
/// al. 2014), chained.
pub(crate) fn mix(words: &[u64]) -> u64 {
    words.iter().fold(words.len() as u64, |hash, &word| {
        let mut z = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A communicator of this shape, for tests of other modules.
    pub(crate) fn entry(size: u32, rank: u32, remote_size: u32) -> CommunicatorEntry {
        CommunicatorEntry {
            index: 0,
            id: 0,
            size,
            rank,
            remote_size,
            first_members: [0, NO_RANK],
            ..CommunicatorEntry::default()
        }
    }

    #[test]
    fn both_sides_of_an_intercommunicator_give_it_one_identity() {
        let (a, b) = (vec![0, 2], vec![1, 3, 5]);
        assert_eq!(
            identity_over_groups(Operation::IntercommCreate, &[a.clone(), b.clone()], 7),
            identity_over_groups(Operation::IntercommCreate, &[b.clone(), a.clone()], 7),
        );
        assert_ne!(
            identity_over_groups(Operation::IntercommCreate, &[a.clone(), b.clone()], 7),
            identity_over_groups(Operation::IntercommCreate, &[a, b], 8),
        );
        assert_eq!(
            identity_on_parent(Operation::CommDup, 1, 2, [4, 5]),
            identity_on_parent(Operation::CommDup, 1, 2, [5, 4]),
        );
    }

    #[test]
    fn parts_of_a_split_differ_by_their_first_member_and_splits_by_their_position() {
        let id = |position, first| {
            identity_on_parent(Operation::CommSplit, 99, position, [first, NO_RANK])
        };
        assert_ne!(id(0, 0), id(0, 1));
        assert_ne!(id(0, 0), id(1, 0));
    }
}
