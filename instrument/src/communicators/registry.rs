//! The communicators of this process: by handle while they exist, and by identity.
//!
//! A handle is not an identity: MPI libraries reuse it right after `MPI_Comm_free`. The identity is
//! a hash of what all members know without asking each other: the parent's identity, the position
//! of the constructor among the calls on the parent, and the first member (which differs between
//! the parts of a split). Constructors that are collective over groups and not over the parent are
//! identified by the groups, the tag, and how many there were before with the same groups and tag.
//!
//! Files and windows are here too ([`FileOrWindow`]). Each has an order of calls of its own, like a
//! communicator, so that the order of calls on their communicator is the same whether they are
//! recorded or not. They are identified by that communicator and by how many were opened on it
//! before.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use collbench_formats::{
    Communicator, CommunicatorKind, NO_COMMUNICATOR, NO_RANK, Operation, SequenceEntry,
};

use super::entry::CommunicatorEntry;
use super::files_and_windows::FileOrWindow;
use super::identity::{CommunicatorIdentity, identity_on_parent, identity_over_groups};
use crate::host::mix;
use crate::mpi::{Handle, HandleMap, MpiLibrary, Neighbours};

/// A call of a constructor that has succeeded.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConstructorCall {
    pub(crate) operation: Operation,
    pub(crate) how: CommunicatorIdentity,
    /// The communicator that it was called on. The next field is the call's position there.
    pub(crate) parent: &'static CommunicatorEntry,
    pub(crate) position: u64,
    /// The tag argument, for communicators over the same groups.
    pub(crate) tag: i32,
    /// The new communicator; not the null handle.
    pub(crate) made: Handle,
}

/// All communicators of the process.
#[derive(Debug, Default)]
pub(crate) struct Communicators {
    inner: Mutex<Inner>,
    /// Counts communicators that were freed: a cache of handles compares it to find out whether a
    /// handle may be stale.
    epoch: AtomicU64,
    /// Counts communicators that were created.
    n_made: AtomicU64,
}

/// How many entries are allocated at once. Allocated one by one, they would be small, permanent
/// blocks between those of the MPI library, and slow its allocations down.
const SPARE: usize = 128;

#[derive(Debug, Default)]
struct Inner {
    /// Entries that are not used yet.
    spare: std::slice::IterMut<'static, CommunicatorEntry>,
    by_handle: HandleMap<&'static CommunicatorEntry>,
    n_made: u32,
    /// How many communicators were created over the same groups with the same tag.
    over_groups: HashMap<u64, u64>,
}

impl Communicators {
    /// The current epoch: a handle looked up in an earlier one may be another communicator now.
    #[inline]
    pub(crate) fn epoch(&self) -> u64 {
        self.epoch.load(Ordering::Acquire)
    }

    /// Counts communicators that were freed or created: a handle looked up in an earlier generation
    /// may be another communicator now, or may have become one.
    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.epoch()
            .wrapping_add(self.n_made.load(Ordering::Acquire))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The communicator that a handle denotes now, if it is known. Files and windows are found by
    /// [`FileOrWindow::key`], also in the functions below.
    pub(crate) fn find(&self, handle: Handle) -> Option<&'static CommunicatorEntry> {
        self.lock().by_handle.get(&handle).copied()
    }

    /// The communicator that has this index in records, and its handle, while it exists.
    pub(crate) fn of_index(&self, index: u32) -> Option<(Handle, &'static CommunicatorEntry)> {
        let inner = self.lock();
        let mut all = inner.by_handle.iter();
        let found = all.find(|(_, entry)| entry.index == index);
        found.map(|(&handle, &entry)| (handle, entry))
    }

    /// Forgets a handle that the application has freed; returns the epoch that ends with it.
    pub(crate) fn forget(&self, handle: Handle) -> u64 {
        let mut inner = self.lock();
        inner.by_handle.remove(&handle);
        self.end_epoch(&mut inner)
    }

    /// Begins the next epoch; returns the one that ends. The lock is held, so a load and a store
    /// are enough.
    fn end_epoch(&self, _: &mut Inner) -> u64 {
        let before = self.epoch.load(Ordering::Relaxed);
        self.epoch.store(before + 1, Ordering::Release);
        before
    }

    /// Adds a handle again that could not be freed.
    pub(crate) fn remember(&self, handle: Handle, entry: &'static CommunicatorEntry) {
        self.lock().by_handle.insert(handle, entry);
    }

    /// Adds `MPI_COMM_WORLD` and `MPI_COMM_SELF` of process `rank` of `size`, as indexes 0 and 1.
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

    /// Adds the communicator between this (spawned) world and the processes that spawned it. They
    /// know it by another identity, since neither side knows what the other knows.
    ///
    /// # Safety
    /// `parent` is a valid intercommunicator; MPI is initialized and not finalized.
    pub(crate) unsafe fn add_parent(
        &self,
        library: &MpiLibrary,
        parent: Handle,
        world: u64,
    ) -> Communicator {
        // SAFETY: the caller promises a valid intercommunicator, and that MPI can be called.
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

    /// Adds the communicator that a constructor has just created.
    ///
    /// # Safety
    /// `call.made` is a valid communicator (for [`CommunicatorIdentity::Copy`]: will be one); MPI
    /// is initialized and not finalized.
    #[inline(always)]
    pub(crate) unsafe fn add_made(
        &self,
        library: &MpiLibrary,
        call: ConstructorCall,
    ) -> (&'static CommunicatorEntry, Communicator) {
        match call.how {
            CommunicatorIdentity::Copy => self.add_copy(call),
            // SAFETY: the caller promises a valid communicator, which exists unless it is a copy.
            _ => unsafe { self.add_asked(library, call) },
        }
    }

    /// Adds a communicator about which the library has to be asked.
    ///
    /// # Safety
    /// `call.made` is a valid communicator that exists already; MPI is initialized and not
    /// finalized.
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
        // SAFETY: the caller promises that the handle is a communicator, which has a first member
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
            CommunicatorIdentity::OverGroups => true,
            CommunicatorIdentity::Connected => first_members[1] != NO_RANK,
            CommunicatorIdentity::OnParent | CommunicatorIdentity::Copy => false,
        };
        let (id, position) = if is_by_groups {
            // SAFETY: the handle is a communicator, as the caller promises; its groups have these
            // sizes.
            let groups = unsafe {
                [
                    library.world_ranks(handle, false, size),
                    match remote_size {
                        0 => Vec::new(),
                        n => library.world_ranks(handle, true, n),
                    },
                ]
            };
            // Both sides must compute the same identity.
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
            // SAFETY: the handle is a communicator, as the caller promises.
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

    /// Adds a file or window that `operation` is about to open on `parent`;
    /// [`give_handle`](Self::give_handle) adds its handle later.
    pub(crate) fn add_file_or_window(
        &self,
        kind: FileOrWindow,
        operation: Operation,
        parent: &'static CommunicatorEntry,
    ) -> (&'static CommunicatorEntry, Communicator) {
        // MPI requires the application to order its calls on one communicator.
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

    /// Sets the key of a file or window that was opened; `None` if it could not be opened.
    pub(crate) fn give_handle(&self, entry: &'static CommunicatorEntry, key: Option<Handle>) {
        let mut inner = self.lock();
        inner.by_handle.remove(&entry.key_without_handle());
        let Some(key) = key else { return };
        // An old one whose closing was not seen may be in a cache.
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
        // With a library whose handles are not understood, this is 0, which may be any
        // communicator.
        if handle != 0 {
            inner.by_handle.insert(handle, entry);
            self.n_made.fetch_add(1, Ordering::Release);
        }
        (entry, definition)
    }

    /// How many calls were entered on each existing communicator, by index; those without calls are
    /// left out.
    pub(crate) fn sequences(&self) -> Vec<SequenceEntry> {
        let (mut entries, _) = self.all_sequences();
        entries.retain(|entry| entry.calls.get() > 0 || entry.internal_calls.get() > 0);
        entries
    }

    /// How many calls were entered on each existing communicator, by index; and how many
    /// communicators were ever defined.
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
