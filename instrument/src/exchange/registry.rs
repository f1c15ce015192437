//! The registry of a world, a file in the trace directory: whether all processes of the world are
//! recorded, and on how many hosts. All agree on this before any message is sent.
//!
//! A message to a process that is not recorded would be received by the application, or not at all.
//! So each process enters itself in the registry. The first one waits until all are there, and
//! decides; all act on its decision. If it does not decide in time, another may: the decision is a
//! file that only one process can create, so all find the same one, however late they look.
//!
//! The registry is opened anew by its name for each read: a network file system only guarantees
//! that a process that opens a file sees what was written before. For the same reason the decision
//! is written into the registry too, and the others do not wait for the file of the decision to
//! appear.
//!
//! Once a process is in the registry, others may send to it. From then on it must learn the
//! decision, whatever happens to files. So it keeps the registry open, and reads it through that
//! descriptor if the name is gone.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collbench_files::Folder;

use crate::directory::{DECISION_PREFIX, REGISTRY_PREFIX};
use crate::host::HostKey;
use crate::process::unsignalled;

/// Length of the decision at the beginning of the registry, and of the entry of each process after
/// it, in bytes.
const ENTRY_BYTES: usize = size_of::<HostKey>();

/// What the processes of a world do about their clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Nothing: all have one clock.
    OneHost,
    /// All take part in exchanges of stamps.
    Exchange,
    /// Nothing: fewer than `world_size` processes were in the registry in time.
    Missing {
        /// Number of processes in the registry.
        recorded: u32,
    },
}

impl Decision {
    fn encoded(self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0] = match self {
            Self::OneHost => 1,
            Self::Exchange => 2,
            Self::Missing { recorded } => {
                bytes[4..8].copy_from_slice(&recorded.to_le_bytes());
                3
            }
        };
        bytes
    }

    /// `None` if there is no decision yet.
    fn decoded(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; ENTRY_BYTES] = bytes.try_into().ok()?;
        match bytes[0] {
            1 => Some(Self::OneHost),
            2 => Some(Self::Exchange),
            3 => Some(Self::Missing {
                recorded: u32::from_le_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]),
            }),
            _ => None,
        }
    }
}

/// One process's view of the registry of its world.
#[derive(Debug)]
pub(crate) struct Registry {
    registry: PathBuf,
    decision: PathBuf,
    world_size: u32,
    file: File,
}

impl Registry {
    /// Opens the registry of `world` in this trace directory; creates an empty one if there is
    /// none.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn of(directory: &Path, world: u64, world_size: u32) -> io::Result<Self> {
        let decision = directory.join(format!("{DECISION_PREFIX}{world:016x}"));
        Self::at(registry_path(directory, world), decision, world_size)
    }

    /// A registry in this file, with its decision in another one.
    ///
    /// # Errors
    /// The file system's.
    pub(crate) fn at(registry: PathBuf, decision: PathBuf, world_size: u32) -> io::Result<Self> {
        Ok(Self {
            file: open(&registry)?,
            registry,
            decision,
            world_size,
        })
    }

    /// Enters process `rank` on the host `key`, and returns the common decision. The first process
    /// waits for the others up to `timeout`; the others wait for its decision twice as long.
    ///
    /// # Errors
    /// The file system's: this process is not in the registry, and no process will send to it.
    pub(crate) fn agree(&self, rank: u32, key: HostKey, timeout: Duration) -> io::Result<Decision> {
        let begin = Instant::now();
        let mut pause = Duration::from_micros(100);
        let longest = if rank == 0 { timeout } else { 2 * timeout };
        self.write(1 + u64::from(rank), key)?;
        loop {
            // What cannot be read now may be readable later.
            let mark = self.read(1).unwrap_or_default();
            if let Some(decision) = Decision::decoded(&mark) {
                return Ok(decision);
            }
            let is_late = begin.elapsed() > longest;
            if rank == 0 {
                let found = self.look()?;
                if is_late || !matches!(found, Decision::Missing { .. }) {
                    return self.decide(found);
                }
            } else if is_late {
                // All may have arrived, but the first process has had its time and may have given
                // up.
                let recorded = match self.look()? {
                    Decision::Missing { recorded } => recorded,
                    _ => self.world_size - 1,
                };
                return self.decide(Decision::Missing { recorded });
            }
            std::thread::sleep(pause);
            pause = (pause * 3 / 2).min(Duration::from_millis(10));
        }
    }

    fn write(&self, entry: u64, bytes: [u8; ENTRY_BYTES]) -> io::Result<()> {
        let at = entry * ENTRY_BYTES as u64;
        unsignalled(|| self.file.write_all_at(&bytes, at))
    }

    /// The first `n` entries; zeros for those that do not exist yet.
    fn read(&self, n: usize) -> io::Result<Vec<u8>> {
        let again = open(&self.registry);
        let file = again.as_ref().unwrap_or(&self.file);
        let mut bytes = vec![0; n * ENTRY_BYTES];
        read_at(file, &mut bytes, 0)?;
        Ok(bytes)
    }

    /// The decision that follows from the current entries.
    fn look(&self) -> io::Result<Decision> {
        let bytes = self.read(1 + self.world_size as usize)?;
        let entries: Vec<&[u8]> = bytes[ENTRY_BYTES..].chunks_exact(ENTRY_BYTES).collect();
        let is_there = |entry: &&&[u8]| entry.iter().any(|&byte| byte != 0);
        let recorded = entries.iter().filter(is_there).count();
        Ok(if recorded < entries.len() {
            Decision::Missing {
                recorded: recorded as u32,
            }
        } else if entries.windows(2).all(|pair| pair[0] == pair[1]) {
            Decision::OneHost
        } else {
            Decision::Exchange
        })
    }

    /// Decides, unless another process did; returns the decision.
    fn decide(&self, decision: Decision) -> io::Result<Decision> {
        let (folder, name) = split_path(&self.decision)?;
        match folder.create(name) {
            Ok(mut file) => {
                unsignalled(|| file.write_all(&decision.encoded()))?;
                // Processes that do not find it in the registry find it in its own file, later.
                let _ = self.write(0, decision.encoded());
                Ok(decision)
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => self.decided(),
            Err(error) => Err(error),
        }
    }

    /// The decision; its bytes may not have been written yet.
    fn decided(&self) -> io::Result<Decision> {
        const TIMEOUT: Duration = Duration::from_secs(5);
        let begin = Instant::now();
        loop {
            let mut bytes = Vec::new();
            let (folder, name) = split_path(&self.decision)?;
            let file = folder.file(name)?;
            file.take(ENTRY_BYTES as u64).read_to_end(&mut bytes)?;
            match Decision::decoded(&bytes) {
                Some(decision) => return Ok(decision),
                None if begin.elapsed() > TIMEOUT => return Err(io::ErrorKind::TimedOut.into()),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Removes both files, when all processes have read them.
    pub(crate) fn remove(&self) {
        // A file that cannot be removed stays, and is recognized as a part of the trace.
        for path in [&self.decision, &self.registry] {
            let _ = split_path(path).and_then(|(folder, name)| folder.remove_file(name));
        }
    }
}

pub(super) fn registry_path(directory: &Path, world: u64) -> PathBuf {
    directory.join(format!("{REGISTRY_PREFIX}{world:016x}"))
}

/// Where the marks of [`JointFinalize`](super::joint_finalize::JointFinalize) are in the registry,
/// one byte for each process, after all entries.
pub(super) fn marks_at(world_size: u32) -> u64 {
    (1 + u64::from(world_size)) * ENTRY_BYTES as u64
}

/// Reads from `offset` on; bytes beyond the end of the file leave `into` unchanged.
pub(super) fn read_at(file: &File, into: &mut [u8], offset: u64) -> io::Result<()> {
    let mut done = 0;
    while done < into.len() {
        match file.read_at(&mut into[done..], offset + done as u64)? {
            0 => break,
            n => done += n,
        }
    }
    Ok(())
}

pub(super) fn open(registry: &Path) -> io::Result<File> {
    let (folder, name) = split_path(registry)?;
    folder.file_or_new(name)
}

/// The directory of a file, opened, and the file's name in it.
fn split_path(path: &Path) -> io::Result<(Folder, &OsStr)> {
    let parts = path.parent().zip(path.file_name());
    let (folder, name) = parts.ok_or(io::ErrorKind::InvalidInput)?;
    Ok((Folder::open_no_follow(folder)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Duration = Duration::from_millis(300);

    /// The decisions at processes of these ranks, in a world whose processes have hosts of these
    /// keys.
    fn agreed(keys: &[u8], ranks: &[u32], timeout: &[Duration]) -> Vec<Decision> {
        let directory = tempfile::tempdir().unwrap();
        let world_size = keys.len() as u32;
        std::thread::scope(|scope| {
            let each: Vec<_> = ranks
                .iter()
                .map(|&rank| {
                    let (keys, path) = (&keys, directory.path());
                    scope.spawn(move || {
                        let registry = Registry::of(path, 7, world_size).unwrap();
                        let key = [keys[rank as usize]; ENTRY_BYTES];
                        registry.agree(rank, key, timeout[rank as usize]).unwrap()
                    })
                })
                .collect();
            each.into_iter().map(|rank| rank.join().unwrap()).collect()
        })
    }

    #[test]
    fn all_agree_when_all_are_there() {
        let ranks: Vec<u32> = (0..20).collect();
        let mut keys = [3; 20];
        let timeout = [Duration::from_secs(20); 20];
        let one = agreed(&keys, &ranks, &timeout);
        assert!(one.iter().all(|&each| each == Decision::OneHost), "{one:?}");
        keys[17] = 4;
        let two = agreed(&keys, &ranks, &timeout);
        assert!(
            two.iter().all(|&each| each == Decision::Exchange),
            "{two:?}"
        );
    }

    #[test]
    fn all_agree_when_some_are_missing_be_it_the_first() {
        let timeout = [TIMEOUT; 4];
        let some = agreed(&[1, 1, 2, 2], &[0, 1, 3], &timeout);
        assert_eq!(some, [Decision::Missing { recorded: 3 }; 3]);
        let rest = agreed(&[1, 1, 2, 2], &[1, 2, 3], &timeout);
        assert!(
            rest.iter()
                .all(|&each| each == rest[0] && matches!(each, Decision::Missing { .. })),
            "{rest:?}"
        );
    }

    #[test]
    fn the_first_process_that_gives_up_decides_for_all() {
        // The last process does not wait; the first would wait for a process that never arrives.
        let mut timeout = [Duration::from_secs(20); 4];
        timeout[3] = Duration::ZERO;
        let all = agreed(&[1, 1, 2, 2], &[0, 1, 3], &timeout[..]);
        assert_eq!(all[1], all[2]);
        assert!(matches!(all[1], Decision::Missing { .. }), "{all:?}");
    }

    #[test]
    fn decisions_are_decoded_from_their_bytes() {
        for decision in [
            Decision::OneHost,
            Decision::Exchange,
            Decision::Missing { recorded: 1_000 },
        ] {
            assert_eq!(Decision::decoded(&decision.encoded()), Some(decision));
        }
        assert_eq!(Decision::decoded(&[0; ENTRY_BYTES]), None, "none yet");
        assert_eq!(Decision::decoded(&[2]), None, "cut off");
    }

    #[test]
    fn the_files_are_removed_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::of(directory.path(), 1, 1).unwrap();
        let key = [1; ENTRY_BYTES];
        registry.agree(0, key, TIMEOUT).unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
        registry.remove();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
