//! Writes one rank file anew, next to the old one.

use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, fchown};

use anyhow::{Context, anyhow};
use collbench_files::{Folder, Mapped};
use collbench_formats::RankTrace;
use collbench_formats::compact::{Compaction, Expansion, compared, is_compact};

use super::HAS_SHRUNK;
use crate::interrupt;

/// An operation of fcntl on Linux: sets the signal that reports the break of a lease.
const F_SETSIG: libc::c_int = 10;

/// Whether to compact or to expand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Compact,
    Expand,
}

/// Whether the process of a file that was not finished in order has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// The user says so.
    Stated,
    /// Only if it was on this host, and no process has the file open.
    IfObserved,
}

/// The outcome for a file.
#[derive(Debug)]
pub(super) enum Rewritten {
    /// The new file is on the disk, and has all contents of the old one.
    New {
        n_records: u64,
        before: u64,
        after: u64,
    },
    /// There is no new file; no reason is given if it would be the same file.
    Unchanged { n_bytes: u64, why: Option<String> },
    /// It was not even opened.
    Refused { why: String },
}

/// Writes a file anew in a folder, under a name that must be free, with the permissions, the owner
/// and the times of the old one.
pub(super) fn rewrite(
    file: &File,
    folder: &Folder,
    new: &str,
    direction: Direction,
    ended: Ended,
) -> anyhow::Result<Rewritten> {
    let metadata = file.metadata()?;
    let n_bytes = metadata.len();
    let unchanged = |why: Option<String>| Rewritten::Unchanged { n_bytes, why };
    if n_bytes == 0 {
        return Ok(unchanged(Some("it is empty".to_owned())));
    }
    let old = Mapped::of(file)?;
    let made = old.read(|bytes| -> anyhow::Result<Rewritten> {
        let n_records = match what_is_in(bytes, file, direction, ended) {
            Ok(n_records) => n_records,
            Err(why) => return Ok(unchanged(why)),
        };
        let target = folder.create_private(new)?;
        let refused = match direction {
            Direction::Compact => write_compact(bytes, &target)?,
            Direction::Expand => write_expanded(bytes, &target)?,
        };
        if refused.is_some() {
            return Ok(unchanged(refused));
        }
        copy_metadata(&target, &metadata)?;
        target.sync_all()?;
        match direction {
            Direction::Compact => compare_compact(&target, bytes)?,
            Direction::Expand => compare_expanded(bytes, &target)?,
        }
        let after = target.metadata()?.len();
        let is_smaller = direction == Direction::Expand || after < n_bytes;
        Ok(if is_smaller {
            Rewritten::New {
                n_records,
                before: n_bytes,
                after,
            }
        } else {
            unchanged(None)
        })
    });
    // Truncation within a page gives zeros there, without an error.
    let is_as_long = file.metadata().is_ok_and(|now| now.len() >= n_bytes);
    let rewritten = match made {
        Ok(made) if is_as_long => made.with_context(|| format!("writing {new}")),
        _ => Ok(unchanged(Some(HAS_SHRUNK.to_owned()))),
    };
    if !matches!(rewritten, Ok(Rewritten::New { .. })) {
        let _ = folder.remove_file(new);
    }
    rewritten
}

/// Number of records to be written anew. An error if the file is not rewritten; without a reason if
/// it would be the same file.
fn what_is_in(
    old: &[u8],
    file: &File,
    direction: Direction,
    ended: Ended,
) -> Result<u64, Option<String>> {
    if is_compact(old) == (direction == Direction::Compact) {
        return Err(None);
    }
    let trace = RankTrace::parse(old).map_err(|error| Some(error.to_string()))?;
    let is_ended = direction == Direction::Expand
        || trace.header.finalized.get() == 1
        || ended == Ended::Stated
        || has_no_writer(file, &trace);
    if !is_ended {
        let why = "its process did not reach MPI_Finalize and may still be running; if the run \
                   has ended, use --ended";
        return Err(Some(why.to_owned()));
    }
    Ok(trace.chunks.iter().map(|c| c.records.len() as u64).sum())
}

/// Writes the compact form; returns a reason if the file is not rewritten.
fn write_compact(old: &[u8], target: &File) -> anyhow::Result<Option<String>> {
    let parts = match Compaction::of(old) {
        Ok(parts) => parts,
        Err(refused) => return Ok(Some(refused.to_string())),
    };
    let mut writer = BufWriter::new(target);
    for part in parts {
        interrupt::check()?;
        writer.write_all(&part)?;
    }
    writer.flush()?;
    Ok(None)
}

/// Writes the expanded form; returns a reason if the file is not rewritten.
fn write_expanded(old: &[u8], target: &File) -> anyhow::Result<Option<String>> {
    let expansion = match Expansion::of(old) {
        Ok(Some(expansion)) => expansion,
        Ok(None) => return Ok(Some("it is not compact".to_owned())),
        Err(error) => return Ok(Some(error.to_string())),
    };
    let length = expansion.length();
    for piece in expansion {
        interrupt::check()?;
        match piece {
            Ok(piece) => target.write_all_at(&piece.bytes, piece.offset)?,
            Err(damage) => return Ok(Some(damage.to_string())),
        }
    }
    // The rest is zeros. Not before this point, since the length is only believed once parts
    // explain it.
    target.set_len(length)?;
    Ok(None)
}

/// Compares a compact file with the one that it was made of.
fn compare_compact(written: &File, old: &[u8]) -> anyhow::Result<()> {
    let written = Mapped::of(written)?;
    let found = written.read(|bytes| -> anyhow::Result<()> {
        for piece in compared(bytes, old).map_err(not_as_written)? {
            interrupt::check()?;
            piece.map_err(not_as_written)?;
        }
        Ok(())
    });
    found?
}

/// Compares an expanded file with the one that it was made of, where something was written. The
/// rest are zeros, which may be many, in a file that no other process uses.
fn compare_expanded(old: &[u8], written: &File) -> anyhow::Result<()> {
    let expansion = Expansion::of(old)?.context("it is not compact")?;
    if written.metadata()?.len() != expansion.length() {
        return Err(not_as_written("its length differs"));
    }
    let mut found = Vec::new();
    for piece in expansion {
        interrupt::check()?;
        let piece = piece.map_err(not_as_written)?;
        found.resize(piece.bytes.len(), 0);
        written.read_exact_at(&mut found, piece.offset)?;
        if found != piece.bytes {
            let place = format!("bytes differ at offset {}", piece.offset);
            return Err(not_as_written(place));
        }
    }
    Ok(())
}

fn not_as_written(found: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("reading it back did not give what was written: {found}")
}

/// Sets the permissions, owner and times of a file to those of another.
fn copy_metadata(target: &File, old: &Metadata) -> io::Result<()> {
    let new = target.metadata()?;
    if (new.uid(), new.gid()) != (old.uid(), old.gid()) {
        fchown(target, Some(old.uid()), Some(old.gid()))?;
    }
    target.set_permissions(Permissions::from_mode(old.mode() & 0o7777))?;
    let times = FileTimes::new()
        .set_accessed(old.accessed()?)
        .set_modified(old.modified()?);
    target.set_times(times)
}

/// Whether the file belongs to a process of this host, and no process has it open for writing. (A
/// process id alone is not enough: another process may have it by now, or it may be that of a
/// container.)
fn has_no_writer(file: &File, trace: &RankTrace<'_>) -> bool {
    let is_of_this_host = !trace.identity.host.boot_id.is_empty()
        && trace.identity.host.boot_id == collbench_instrument::boot_id();
    if !is_of_this_host {
        return false;
    }
    // A lease for reading is only granted if no process has the file open, or mapped, for writing.
    // (A process that opens it while the lease is held would cause a signal to this process that
    // ends it; SIGURG does not.)
    // SAFETY: the descriptor is open, and these calls take integers.
    unsafe {
        libc::fcntl(file.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let leased = libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK) == 0;
        leased && libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK) == 0
    }
}
