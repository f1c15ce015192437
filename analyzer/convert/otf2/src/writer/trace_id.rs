//! The identifier of an archive.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::abi;
use crate::error::Error;
use crate::library::Library;

use super::session::{anchor_file, close, definition_file, open};

/// Gives the archive an identifier that follows from its contents.
///
/// The library makes one of the time, the process and the path, and has no function to set another.
/// It is near the end of the anchor file, where it is replaced. If it is not there, as it might be
/// with a later format of that file, it remains.
pub(super) fn set(library: &Library, directory: &Path, checksums: &[u32]) -> Result<(), Error> {
    /// Bytes of the anchor file behind the identifier: numbers of snapshots and thumbnails, and
    /// the ends of file, buffer and chunk.
    const AFTER: usize = 4 + 4 + 3;

    let archive = open(library, directory, abi::FILEMODE_READ, 0)?;
    let mut id = 0;
    // SAFETY: `archive` is open.
    let code = unsafe { (library.functions().get_trace_id)(archive, &raw mut id) };
    library.check("read the anchor file", code)?;
    close(library, archive, "read the anchor file")?;

    let read = |path: &Path| -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(|source| file_error(path, source))?;
        Ok(bytes)
    };
    let anchor = anchor_file(directory);
    let mut bytes = read(&anchor)?;
    let Some(position) = bytes.len().checked_sub(AFTER + 8) else {
        return Ok(());
    };
    let Some(field) = bytes[position..].first_chunk_mut() else {
        return Ok(());
    };
    if *field != u64::to_ne_bytes(id) {
        return Ok(());
    }
    *field = [0; 8];
    let definitions = read(&definition_file(directory))?;
    let checksums = checksums.iter().flat_map(|checksum| checksum.to_le_bytes());
    let id = identifier(bytes.into_iter().chain(definitions).chain(checksums));
    OpenOptions::new()
        .write(true)
        .open(&anchor)
        .and_then(|file| file.write_all_at(&id.to_ne_bytes(), position as u64))
        .map_err(|source| file_error(&anchor, source))
}

fn file_error(path: &Path, source: io::Error) -> Error {
    Error::File {
        path: path.to_owned(),
        source,
    }
}

/// FNV-1a, 64 bits.
fn identifier(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
