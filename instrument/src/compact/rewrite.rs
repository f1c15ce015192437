//! One rank file, written anew beside the old one.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::Path;

use anyhow::{Context, bail};
use collbench_formats::RankTrace;
use collbench_formats::compact::{Compaction, Expansion, expands_to, is_compact};
use memmap2::Mmap;

/// Of fcntl, on Linux: the signal that tells of a lease.
const F_SETSIG: libc::c_int = 10;

/// Which way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Compact,
    Expand,
}

/// Whether the process of a file that was not ended in order runs no more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// Somebody knows.
    Surely,
    /// If it was of this host, and nobody has the file open.
    IfSeen,
}

/// What came of a file.
#[derive(Debug)]
pub(super) enum Rewritten {
    /// The new one is on the disk, and holds all of the old one.
    New {
        n_records: u64,
        before: u64,
        after: u64,
    },
    /// There is no new one; without a reason, since it would not be another.
    Kept { n_bytes: u64, why: Option<String> },
}

/// Writes a file anew under another name, which must be free, with the permissions, the owner and
/// the times of the old one.
pub(super) fn rewrite(
    path: &Path,
    new: &Path,
    direction: Direction,
    ended: Ended,
) -> anyhow::Result<Rewritten> {
    let shown = || path.display().to_string();
    let kept = |n_bytes: u64, why: Option<String>| Ok(Rewritten::Kept { n_bytes, why });
    if !fs::symlink_metadata(path).with_context(shown)?.is_file() {
        return kept(0, Some("not a regular file".to_owned()));
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
        .open(path)
        .with_context(shown)?;
    let metadata = file.metadata().with_context(shown)?;
    let before = metadata.len();
    if before == 0 {
        return kept(0, Some("an empty file".to_owned()));
    }
    // SAFETY: a rank file that was ended is not written any more, nor cut; others are looked at
    // only where their process is known to have ended. Of one that is written after all, free
    // slots change, which are read as integers; the comparison below then tells.
    let old = unsafe { Mmap::map(&file) }.with_context(shown)?;
    if is_compact(&old) == (direction == Direction::Compact) {
        return kept(before, None);
    }
    let trace = match RankTrace::parse(&old) {
        Ok(trace) => trace,
        Err(error) => return kept(before, Some(error.to_string())),
    };
    let n_records = trace.chunks.iter().map(|c| c.records.len() as u64).sum();
    let is_ended = direction == Direction::Expand
        || trace.header.finalized.get() == 1
        || ended == Ended::Surely
        || nobody_writes(&file, &trace);
    if !is_ended {
        let why = "its process did not reach MPI_Finalize and may still run; if the run has \
                   ended, say so with --ended";
        return kept(before, Some(why.to_owned()));
    }
    drop(trace);
    let made = (|| -> anyhow::Result<Option<String>> {
        let target = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .open(new)?;
        let refused = match direction {
            Direction::Compact => write_compact(&old, &target)?,
            Direction::Expand => write_expanded(&old, &target)?,
        };
        if refused.is_some() {
            return Ok(refused);
        }
        take_after(&target, &metadata)?;
        target.sync_all()?;
        // SAFETY: the file was made above, and nobody else knows it.
        let written = unsafe { Mmap::map(&target) }?;
        let compared = match direction {
            Direction::Compact => expands_to(&written, &old),
            Direction::Expand => expands_to(&old, &written),
        };
        if let Err(mismatch) = compared {
            bail!("read again, it is not what was written: {mismatch}");
        }
        Ok(None)
    })();
    let refused = made.with_context(|| format!("writing {}", new.display()));
    let after = fs::metadata(new).map_or(before, |metadata| metadata.len());
    let is_smaller = direction == Direction::Expand || after < before;
    match refused {
        Ok(None) if is_smaller => Ok(Rewritten::New {
            n_records,
            before,
            after,
        }),
        other => {
            let _ = fs::remove_file(new);
            kept(before, other?)
        }
    }
}

/// Gives the reason if the file stays as it is.
fn write_compact(old: &[u8], target: &File) -> anyhow::Result<Option<String>> {
    let parts = match Compaction::of(old) {
        Ok(parts) => parts,
        Err(refused) => return Ok(Some(refused.to_string())),
    };
    let mut writer = BufWriter::new(target);
    for part in parts {
        writer.write_all(&part)?;
    }
    writer.flush()?;
    Ok(None)
}

/// Likewise.
fn write_expanded(old: &[u8], target: &File) -> anyhow::Result<Option<String>> {
    let expansion = match Expansion::of(old) {
        Ok(Some(expansion)) => expansion,
        Ok(None) => return Ok(Some("it is not compact".to_owned())),
        Err(error) => return Ok(Some(error.to_string())),
    };
    // Zeros, where nothing is written.
    target.set_len(expansion.length())?;
    for piece in expansion {
        match piece {
            Ok(piece) => target.write_all_at(&piece.bytes, piece.offset)?,
            Err(damage) => return Ok(Some(damage.to_string())),
        }
    }
    Ok(None)
}

/// Gives a file the permissions, the owner and the times of another.
fn take_after(target: &File, old: &fs::Metadata) -> io::Result<()> {
    let new = target.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(target, Some(old.uid()), Some(old.gid()))?;
    }
    target.set_permissions(fs::Permissions::from_mode(old.mode() & 0o7777))?;
    let times = FileTimes::new()
        .set_accessed(old.accessed()?)
        .set_modified(old.modified()?);
    target.set_times(times)
}

/// Whether the file is of a process of this host, and no process has it open for writing. (A
/// process id alone says nothing: it may be another's by now, or of a container.)
fn nobody_writes(file: &File, trace: &RankTrace<'_>) -> bool {
    let is_of_this_host = !trace.identity.host.boot_id.is_empty()
        && trace.identity.host.boot_id == crate::start::boot_id();
    if !is_of_this_host {
        return false;
    }
    // A lease for reading is given only where nobody has the file open, or mapped, for writing.
    // (Who opens it while the lease is held would have this process told by a signal that ends
    // it; SIGURG does not.)
    // SAFETY: the descriptor is open, and these take integers.
    unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let leased = libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0;
        leased && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) == 0
    }
}
