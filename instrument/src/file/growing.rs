//! A file that grows, even if the program closes its descriptor or reuses it for another file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use collbench_formats::CHUNK_ALIGN;

use super::error::GrowError;
use super::mapping::Mapping;
use super::reserve::{map_chunk, reserve};
use crate::process::{move_to_high_descriptor, unsignalled};

/// A range of a file, in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) length: u64,
}

/// A file that is being written, and how much of it is in use.
#[derive(Debug)]
pub(super) struct GrowingFile {
    path: PathBuf,
    /// Device and inode, since a program that closes all descriptors may use ours for another file.
    identity: (u64, u64),
    pub(super) fd: Mutex<File>,
    max_bytes: Option<u64>,
    /// Where the next range begins.
    end: AtomicU64,
}

impl GrowingFile {
    /// The empty file at `path`, which may grow to at most `max_bytes`.
    pub(super) fn new(
        path: PathBuf,
        file: File,
        max_bytes: Option<u64>,
    ) -> Result<Self, GrowError> {
        let metadata = file
            .metadata()
            .map_err(|error| GrowError::of("asking for the file's inode", error))?;
        Ok(Self {
            path,
            identity: (metadata.dev(), metadata.ino()),
            fd: Mutex::new(move_to_high_descriptor(file)),
            max_bytes,
            end: AtomicU64::new(0),
        })
    }

    /// Where the next range begins.
    pub(super) fn end(&self) -> u64 {
        self.end.load(Ordering::Acquire)
    }

    pub(super) fn max_bytes(&self) -> Option<u64> {
        self.max_bytes
    }

    /// Reserves the next `wanted` bytes of the file, or what `--max-size` leaves of them, but not
    /// less than `at_least`; both are multiples of [`CHUNK_ALIGN`], > 0.
    pub(super) fn take_extent(&self, wanted: u64, at_least: u64) -> Result<Extent, GrowError> {
        let mut taken = wanted;
        let offset = self
            .end
            .fetch_update(Ordering::AcqRel, Ordering::Acquire, |end| {
                if let Some(max_bytes) = self.max_bytes {
                    let left = max_bytes.saturating_sub(end) / CHUNK_ALIGN * CHUNK_ALIGN;
                    taken = wanted.min(left);
                }
                (taken >= at_least).then_some(end + taken)
            })
            .map_err(|_| GrowError::SizeReached {
                max_bytes: self.max_bytes.unwrap_or(0),
            })?;
        Ok(Extent {
            offset,
            length: taken,
        })
    }

    /// Appends a range and makes it ready for stores. One thread at a time may call this, and it
    /// ignores `--max-size`.
    pub(super) fn append(&self, length: u64) -> Result<(u64, Arc<Mapping>), GrowError> {
        let offset = self.end.fetch_add(length, Ordering::AcqRel);
        let map = self
            .prepare_extent(Extent { offset, length })
            .inspect_err(|_| self.end.store(offset, Ordering::Release))?;
        Ok((offset, map))
    }

    /// Makes a range of the file, which [`take_extent`](Self::take_extent) returned, ready for
    /// stores.
    pub(super) fn prepare_extent(
        &self,
        Extent { offset, length }: Extent,
    ) -> Result<Arc<Mapping>, GrowError> {
        let mut fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
        self.ensure_own(&mut fd)?;
        reserve(&fd, offset, length)?;
        Ok(Arc::new(map_chunk(&fd, offset, length as usize)?))
    }

    /// Maps a range of the file once more.
    pub(super) fn map(&self, Extent { offset, length }: Extent) -> Result<Arc<Mapping>, GrowError> {
        let mut fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
        self.ensure_own(&mut fd)?;
        Ok(Arc::new(map_chunk(&fd, offset, length as usize)?))
    }

    /// Sets the length of the file. Errors are ignored, since a longer file is also valid.
    pub(super) fn cut(&self, length: u64) {
        let mut fd = self.fd.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ensure_own(&mut fd).is_ok() {
            let _ = unsignalled(|| fd.set_len(length));
        }
    }

    /// Makes sure that the descriptor still belongs to this file, and opens the file again if not.
    fn ensure_own(&self, file: &mut File) -> Result<(), GrowError> {
        let is_own = |file: &File| {
            file.metadata()
                .is_ok_and(|found| (found.dev(), found.ino()) == self.identity)
        };
        if is_own(file) {
            return Ok(());
        }
        // Opened by its path, since a second descriptor for the directory may be one too many.
        // Below it is checked that this is the file that was created here.
        let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_CLOEXEC;
        let again = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(flags)
            .open(&self.path)
            .map_err(|error| GrowError::of("opening the file again", error))?;
        let again = move_to_high_descriptor(again);
        if !is_own(&again) {
            let error = io::Error::other("another file is there now");
            return Err(GrowError::Failed {
                what: "opening the file again",
                error,
            });
        }
        // The old descriptor may belong to another file of the program now, so it must not be
        // closed here.
        std::mem::forget(std::mem::replace(file, again));
        Ok(())
    }
}
