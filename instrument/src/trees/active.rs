//! The trees that this process uses, by communicator.

use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::communicator::TreesOfCommunicator;
use super::world::World;
use crate::mpi::{Handle, HandleMap};
use crate::record::Local;

/// The trees of this process, while they are used.
static ACTIVE: AtomicPtr<Trees> = AtomicPtr::new(std::ptr::null_mut());

/// The trees of all communicators. Never freed.
#[derive(Debug)]
pub(super) struct Trees {
    pub(super) world: World,
    communicators: Mutex<HandleMap<Owned>>,
    /// Counts communicators that were freed: what a thread knows by a handle is valid in one epoch.
    epoch: AtomicU64,
}

/// The trees of a communicator, of which threads have addresses.
#[derive(Debug)]
struct Owned(*mut TreesOfCommunicator);

// SAFETY: what it points to is used by one thread at a time: MPI requires the program to order the
// collective calls on one communicator, and its freeing after them.
unsafe impl Send for Owned {}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: it was made from a box, and whoever had found it by the handle has finished, since
        // the program frees the communicator.
        drop(unsafe { Box::from_raw(self.0) });
    }
}

impl Trees {
    /// Uses trees from here on.
    pub(super) fn activate(world: World) {
        let trees = Box::leak(Box::new(Self {
            world,
            communicators: Mutex::default(),
            // An empty cache is of epoch 0.
            epoch: AtomicU64::new(1),
        }));
        ACTIVE.store(trees, Ordering::Release);
    }

    /// The trees that this process uses; `None` before the end of `MPI_Init`, from `MPI_Finalize` on,
    /// and in a forked child.
    #[inline]
    pub(super) fn active() -> Option<&'static Self> {
        let trees = ACTIVE.load(Ordering::Acquire);
        // SAFETY: the pointer is null, or that of trees that `activate` has leaked.
        unsafe { trees.as_ref() }
    }

    /// No trees are used any more.
    pub(super) fn deactivate() {
        ACTIVE.store(std::ptr::null_mut(), Ordering::Release);
    }

    fn lock(&self) -> MutexGuard<'_, HandleMap<Owned>> {
        self.communicators
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// The trees of the communicator that a handle denotes now. They are there as long as the call
    /// that asks for them, and MPI requires the program to make one collective call at a time on a
    /// communicator.
    #[inline]
    pub(super) fn of_communicator(&self, local: &Local, comm: Handle) -> *mut TreesOfCommunicator {
        let comm = self.world.library.handle(comm);
        let epoch = self.epoch.load(Ordering::Acquire);
        let cached = &local.trees[Local::place_of(comm)];
        let (handle, known_in, trees) = cached.get();
        if (handle, known_in) == (comm, epoch) {
            return trees.cast();
        }
        let trees = self.find(comm);
        cached.set((comm, epoch, trees.cast()));
        trees
    }

    #[cold]
    fn find(&self, comm: Handle) -> *mut TreesOfCommunicator {
        if let Some(Owned(trees)) = self.lock().get(&comm) {
            return *trees;
        }
        // SAFETY: MPI requires a communicator here; null is known.
        let trees = unsafe { TreesOfCommunicator::new(&self.world, comm) };
        let trees = Box::into_raw(Box::new(trees));
        self.lock().insert(comm, Owned(trees));
        trees
    }

    /// Forgets a communicator that the program frees.
    pub(super) fn forget(&self, comm: Handle) {
        let forgotten = self.lock().remove(&self.world.library.handle(comm));
        if let Some(forgotten) = forgotten {
            self.epoch.fetch_add(1, Ordering::AcqRel);
            drop(forgotten);
        }
    }

    /// Forgets all communicators.
    pub(super) fn forget_all(&self) {
        let all = std::mem::take(&mut *self.lock());
        self.epoch.fetch_add(1, Ordering::AcqRel);
        drop(all);
    }
}
