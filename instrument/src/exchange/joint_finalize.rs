//! Entering `MPI_Finalize` together, where the MPI library needs that.
//!
//! MPICH over UCX, before version 4.2, finalizes in two steps. First, each process closes its
//! connections, and waits until the other end of each has acknowledged everything sent over it.
//! Second, it waits for all processes, by the process manager, and acknowledges nothing there. So
//! the job hangs if a process, before it closes its own connections, answers one that is closing
//! its connections already. That one then has all acknowledgements that it waits for and goes on to
//! the second step, and no process is left to answer the late one. Over TCP, where acknowledgements
//! are messages, a program that ends with a barrier on several hosts therefore hangs every other
//! time, or every time, without any recorder.
//!
//! The exchanges at the end would make this certain: leaders finish one after the other, and those
//! that have not finished keep answering the others. So after the exchanges all processes call a
//! barrier, and then stay away from MPI until every process has left it. From then on no process
//! answers another before it is inside `MPI_Finalize` itself, when its own last messages have been
//! sent.
//!
//! A process only waits for processes that it has sent something to, and it may have ended when
//! another one that has sent something to it asks. So the recorder's own messages use paths in both
//! directions, except for some messages of the library's barrier on five hosts and more. What the
//! program itself does cannot be repaired: where messages were sent in one direction only, it may
//! still hang.
//!
//! The processes know of one another through the registry, in which each sets a mark. They do not
//! wait long for a mark that is missing: then `MPI_Finalize` begins as it does without a recorder.
//!
//! # Source
//! The order in `MPI_Finalize`: MPICH, src/mpid/ch4/netmod/ucx/ucx_init.c; changed by pull request
//! 6596 of pmodels/mpich.

use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use collbench_formats::Abi;

use super::registry::{marks_at, open, read_at, registry_path};
use super::start::Start;
use crate::process::unsignalled;

/// How long a process waits for the others, all of which have entered a barrier before.
const TIMEOUT: Duration = Duration::from_secs(5);

const HAS_LEFT: u8 = 1;

/// What a process needs to enter `MPI_Finalize` together with the others of its world. No file
/// stays open meanwhile, since the application may close all descriptors.
#[derive(Debug)]
pub(super) struct JointFinalize {
    registry: PathBuf,
    rank: u32,
    world_size: u32,
}

impl JointFinalize {
    /// For a process that is in the registry of its world; `None` where the MPI library does not
    /// need it.
    pub(super) fn of(start: &Start<'_>, abi: Abi) -> Option<Self> {
        matches!(abi, Abi::Mpich | Abi::Mpi5).then(|| Self {
            registry: registry_path(start.directory, start.world),
            rank: start.rank,
            world_size: start.world_size,
        })
    }

    /// Waits, outside MPI, until all processes have called this, directly after a barrier of all.
    ///
    /// # Errors
    /// The file system's, or [`io::ErrorKind::TimedOut`]: other processes may already be inside
    /// MPI, and a hang is possible as without this.
    pub(super) fn wait_for_all(&self) -> io::Result<()> {
        self.wait(TIMEOUT)
    }

    fn wait(&self, timeout: Duration) -> io::Result<()> {
        let begin = Instant::now();
        let marks = marks_at(self.world_size);
        let own = marks + u64::from(self.rank);
        let registry = open(&self.registry)?;
        unsignalled(|| registry.write_all_at(&[HAS_LEFT], own))?;
        let mut found = vec![0; self.world_size as usize];
        let mut pause = Duration::from_micros(100);
        loop {
            // The file is opened anew each time, as always with the registry.
            read_at(&open(&self.registry)?, &mut found, marks)?;
            if found.iter().all(|&mark| mark == HAS_LEFT) {
                return Ok(());
            }
            if begin.elapsed() > timeout {
                return Err(io::ErrorKind::TimedOut.into());
            }
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(Duration::from_millis(5));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn joint_finalize(directory: &std::path::Path, rank: u32, world_size: u32) -> JointFinalize {
        JointFinalize {
            registry: registry_path(directory, 7),
            rank,
            world_size,
        }
    }

    #[test]
    fn no_process_continues_before_all_have_arrived() {
        let directory = tempfile::tempdir().unwrap();
        let n_arrived = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for rank in 0..9 {
                let (n_arrived, joint_finalize) =
                    (&n_arrived, joint_finalize(directory.path(), rank, 9));
                scope.spawn(move || {
                    std::thread::sleep(Duration::from_millis(u64::from(rank % 3) * 30));
                    n_arrived.fetch_add(1, Ordering::SeqCst);
                    joint_finalize.wait(Duration::from_secs(60)).unwrap();
                    assert_eq!(n_arrived.load(Ordering::SeqCst), 9, "rank {rank}");
                });
            }
        });
    }

    #[test]
    fn a_process_that_does_not_arrive_is_not_waited_for_long() {
        let directory = tempfile::tempdir().unwrap();
        let begin = Instant::now();
        let timeout = Duration::from_millis(50);
        for rank in [0, 2] {
            let waited = joint_finalize(directory.path(), rank, 3).wait(timeout);
            assert_eq!(waited.unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert!(begin.elapsed() >= 2 * timeout);
        // The last process finds the marks of the others.
        joint_finalize(directory.path(), 1, 3)
            .wait(timeout)
            .unwrap();
    }
}
