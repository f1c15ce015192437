//! The codec of identities and definitions: bincode 2, which no other module uses.
//!
//! bincode alone accepts corrupted bytes, and allocates whatever a corrupted length asks for. So
//! everything it decodes has a CRC-32 and a size limit, and must be consumed to its last byte.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use bincode::{Decode, Encode};

/// Upper limit of the size of one encoded value, and of what the decoder allocates for it, in
/// bytes.
pub const MAX_META_BYTES: usize = 16 << 20;

const CONFIG: Configuration<LittleEndian, Fixint, Limit<MAX_META_BYTES>> =
    bincode::config::standard()
        .with_little_endian()
        .with_fixed_int_encoding()
        .with_limit::<MAX_META_BYTES>();

/// Why bytes cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetaError {
    /// The bytes are not those that were written.
    #[error("expected the checksum {expected:#010x}, found {found:#010x}")]
    Checksum {
        /// The checksum that the file states.
        expected: u32,
        /// The checksum of the bytes found.
        found: u32,
    },
    /// The bytes do not encode such a value: they are of another version, or above the limit.
    #[error("cannot be decoded: {0}")]
    Codec(String),
    /// The value ended before the bytes did.
    #[error("{left_over} bytes after the end of the value")]
    LeftOver {
        /// Number of bytes not consumed.
        left_over: usize,
    },
}

/// Encodes a value; gives the bytes and their CRC-32.
///
/// # Errors
/// [`MetaError::Codec`] if the value takes more than [`MAX_META_BYTES`].
pub fn encode_meta<T: Encode>(value: &T) -> Result<(Vec<u8>, u32), MetaError> {
    let bytes = bincode::encode_to_vec(value, CONFIG)
        .map_err(|error| MetaError::Codec(error.to_string()))?;
    if bytes.len() > MAX_META_BYTES {
        return Err(MetaError::Codec(format!(
            "{} bytes, expected at most {MAX_META_BYTES}",
            bytes.len()
        )));
    }
    let crc32 = crc32fast::hash(&bytes);
    Ok((bytes, crc32))
}

/// Decodes a value from exactly `bytes`, whose CRC-32 must be `crc32`.
///
/// # Errors
/// [`MetaError`], for any bytes that [`encode_meta`] did not make.
pub fn decode_meta<T: Decode<()>>(bytes: &[u8], crc32: u32) -> Result<T, MetaError> {
    let found = crc32fast::hash(bytes);
    if found != crc32 {
        return Err(MetaError::Checksum {
            expected: crc32,
            found,
        });
    }
    let (value, consumed) = bincode::decode_from_slice(bytes, CONFIG)
        .map_err(|error| MetaError::Codec(error.to_string()))?;
    if consumed != bytes.len() {
        return Err(MetaError::LeftOver {
            left_over: bytes.len() - consumed,
        });
    }
    Ok(value)
}
