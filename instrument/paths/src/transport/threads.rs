//! Threads of processes as ranks.
//!
//! Each process has the same number of threads, and thread `t` of process `p` has rank
//! `p * n_threads + t`. Messages go between processes; their tags say which thread sends, and which
//! receives, so that no thread takes what is for another one. The threads of a process share one
//! mapping of the memory of their host.

use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use super::line::Line;
use super::process::{Received, Transport, TransportError};
use super::reference::Reference;

/// One thread of a process, as a rank.
///
/// Each thread has a transport of its own for messages, since a transport is used by one thread at a
/// time. A library of which several threads send at once must allow it (`MPI_THREAD_MULTIPLE`).
pub struct ThreadTransport<T: Transport> {
    process: T,
    sharing: Arc<Mutex<Sharing<T>>>,
    n_threads: u32,
    thread: u32,
    /// How often this thread has asked for memory.
    n_shared: Cell<u64>,
}

/// Memory of one process, for all its threads.
struct Sharing<T: Transport> {
    /// For agreement with other processes.
    process: T,
    /// By number of the request: what there is, and how many threads have not taken it yet.
    memories: HashMap<u64, (Taken<T::Memory>, u32)>,
    /// How many requests have been made of other processes.
    n_shared: u64,
}

type Taken<M> = Result<Arc<M>, TransportError>;

/// Memory of a host, as the threads of a process share it.
#[derive(Debug)]
pub struct ThreadMemory<M>(Arc<M>);

impl<M: Deref<Target = [Line]>> Deref for ThreadMemory<M> {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        &self.0
    }
}

impl<T: Transport> ThreadTransport<T> {
    /// The threads of one process, in the order of their ranks. `process` makes transports of that
    /// process: one for each thread, and one to share memory with other processes.
    ///
    /// # Panics
    /// If there are no threads.
    pub fn of_process(n_threads: u32, mut process: impl FnMut() -> T) -> Vec<Self> {
        assert!(n_threads > 0);
        let sharing = Arc::new(Mutex::new(Sharing {
            process: process(),
            memories: HashMap::new(),
            n_shared: 0,
        }));
        let threads = (0..n_threads).map(|thread| Self {
            process: process(),
            sharing: Arc::clone(&sharing),
            n_threads,
            thread,
            n_shared: Cell::new(0),
        });
        threads.collect()
    }

    /// The process and the number in it of the thread with this rank.
    fn thread_of(&self, rank: u32) -> (u32, u32) {
        (rank / self.n_threads, rank % self.n_threads)
    }

    /// The tag of messages between two threads.
    fn tag(&self, tag: u32, from: u32, to: u32) -> u32 {
        (tag * self.n_threads + from) * self.n_threads + to
    }

    fn receive_from(
        &self,
        (process, thread): (Option<u32>, u32),
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        let tag = self.tag(tag, thread, self.thread);
        let received = self.process.receive(process, tag, into)?;
        Ok(received.map(|received| Received {
            from: received.from * self.n_threads + thread,
            ..received
        }))
    }
}

impl<T: Transport> Transport for ThreadTransport<T> {
    type Memory = ThreadMemory<T::Memory>;

    fn rank(&self) -> u32 {
        self.process.rank() * self.n_threads + self.thread
    }

    /// The first thread of the process that comes agrees with the other processes.
    fn share(&self, n_lines: usize) -> Result<Self::Memory, TransportError> {
        let nth = self.n_shared.replace(self.n_shared.get() + 1);
        let mut sharing = self.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        if nth == sharing.n_shared {
            sharing.n_shared += 1;
            let memory = sharing.process.share(n_lines).map(Arc::new);
            sharing.memories.insert(nth, (memory, self.n_threads));
        }
        let (memory, n_left) = sharing
            .memories
            .get_mut(&nth)
            .expect("kept until each thread has taken it once");
        *n_left -= 1;
        let (is_taken, memory) = (*n_left == 0, memory.clone());
        if is_taken {
            sharing.memories.remove(&nth);
        }
        memory.map(ThreadMemory)
    }

    fn send(&self, to: u32, tag: u32, bytes: &[u8]) -> Result<(), TransportError> {
        let (process, thread) = self.thread_of(to);
        let tag = self.tag(tag, self.thread, thread);
        self.process.send(process, tag, bytes)
    }

    fn receive(
        &self,
        from: Option<u32>,
        tag: u32,
        into: &mut [u8],
    ) -> Result<Option<Received>, TransportError> {
        if let Some((process, thread)) = from.map(|from| self.thread_of(from)) {
            return self.receive_from((Some(process), thread), tag, into);
        }
        for thread in 0..self.n_threads {
            let received = self.receive_from((None, thread), tag, into)?;
            if received.is_some() {
                return Ok(received);
            }
        }
        Ok(None)
    }

    fn progress(&self) -> Result<(), TransportError> {
        self.process.progress()
    }

    fn process(&self) -> u64 {
        self.process.process()
    }

    fn has_ended(&self, process: u64) -> bool {
        self.process.has_ended(process)
    }

    fn copy_from(&self, reference: &Reference, into: &mut [u8]) -> bool {
        self.process.copy_from(reference, into)
    }

    /// Without cost: a simulated host knows processes, and no threads.
    fn woken(&self, _by: u32) {}

    fn now(&self) -> u64 {
        self.process.now()
    }
}
