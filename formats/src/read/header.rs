//! Reads header and identity from the beginning of a rank file.

use zerocopy::FromBytes;

use super::FormatError;
use crate::file::{
    CHUNK_ALIGN, ChunkHeader, FILE_MAGIC, FORMAT_VERSION, FileHeader, Identity, decode_meta,
};
use crate::record::Record;

/// Header and identity of a recorded rank file, which is not compact.
///
/// # Errors
/// [`FormatError`] if they cannot be read.
pub(crate) fn parse_header(bytes: &[u8]) -> Result<(FileHeader, Identity), FormatError> {
    check_magic(bytes)?;
    let Ok((header, _)) = FileHeader::ref_from_prefix(bytes) else {
        return Err(FormatError::CutInHeader {
            length: bytes.len() as u64,
            expected: size_of::<FileHeader>() as u64,
        });
    };
    check_header(header)?;
    let identity = parse_identity(bytes, header)?;
    Ok((*header, identity))
}

fn check_magic(bytes: &[u8]) -> Result<(), FormatError> {
    if bytes.is_empty() {
        return Err(FormatError::Empty);
    }
    let magic = &bytes[..bytes.len().min(8)];
    if magic != &FILE_MAGIC[..magic.len()] {
        let found = if magic.iter().all(|&b| b == 0) {
            format!("{} zero bytes", magic.len())
        } else {
            format!("\"{}\"", magic.escape_ascii())
        };
        return Err(FormatError::NotATrace { found });
    }
    Ok(())
}

/// Checks that the header is as it was written, and that its writer used the same sizes.
fn check_header(header: &FileHeader) -> Result<(), FormatError> {
    if header.version.get() != FORMAT_VERSION {
        return Err(FormatError::Version {
            found: header.version.get(),
        });
    }
    let (expected, found) = (header.checksum(), header.header_crc32.get());
    if expected != found {
        return damaged(32, "checksum", u64::from(expected), u64::from(found));
    }
    // The checksum is correct, so a wrong value comes from another writer, not from a flipped bit.
    let sizes = [
        (
            10,
            "codec of the identity",
            1,
            u64::from(header.meta_codec.get()),
        ),
        (
            12,
            "bytes of a record",
            size_of::<Record>() as u64,
            u64::from(header.record_bytes.get()),
        ),
        (
            14,
            "bytes of a chunk header",
            size_of::<ChunkHeader>() as u64,
            u64::from(header.chunk_header_bytes.get()),
        ),
        (
            16,
            "offset of the first chunk, a multiple of 4096",
            header.header_length.get() / CHUNK_ALIGN * CHUNK_ALIGN,
            header.header_length.get(),
        ),
    ];
    for (offset, what, expected, found) in sizes {
        if expected != found {
            return damaged(offset, what, expected, found);
        }
    }
    Ok(())
}

/// The identity, which follows the header.
fn parse_identity(bytes: &[u8], header: &FileHeader) -> Result<Identity, FormatError> {
    let from = size_of::<FileHeader>();
    let to = from + header.identity_length.get() as usize;
    if header.header_length.get() < to as u64 {
        return damaged(
            16,
            "offset of the first chunk",
            to as u64,
            header.header_length.get(),
        );
    }
    let Some(encoded) = bytes.get(from..to) else {
        return Err(FormatError::CutInHeader {
            length: bytes.len() as u64,
            expected: to as u64,
        });
    };
    let identity: Identity =
        decode_meta(encoded, header.identity_crc32.get()).map_err(|error| {
            FormatError::Identity {
                offset: from as u64,
                error,
            }
        })?;
    if identity.rank >= identity.world_size {
        let (expected, found) = (u64::from(identity.world_size), u64::from(identity.rank));
        return damaged(from as u64, "rank below the world size", expected, found);
    }
    Ok(identity)
}

fn damaged<T>(
    offset: u64,
    what: &'static str,
    expected: u64,
    found: u64,
) -> Result<T, FormatError> {
    Err(FormatError::DamagedHeader {
        offset,
        what,
        expected,
        found,
    })
}
