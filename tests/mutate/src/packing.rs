//! Compact rank files: made, and made anew after a mutation of what they hold.

use std::borrow::Cow;

use collbench_formats::compact::{Compaction, Expansion, is_compact};

use crate::byte_mutations::ByteMutation;
use crate::checksums;
use crate::random::Random;

/// Recorded files of more bytes are not made: a header may say any number.
const MAX_EXPANDED: u64 = 8 << 20;

/// A rank file made compact; as it is where that cannot be.
pub(crate) fn packed(bytes: &[u8]) -> Vec<u8> {
    match Compaction::of(bytes) {
        Ok(parts) => parts.flatten().collect(),
        Err(_) => bytes.to_vec(),
    }
}

/// The file that a compact one was made of; `None` if it is damaged.
fn unpacked(bytes: &[u8]) -> Option<Vec<u8>> {
    let expansion = Expansion::of(bytes).ok()??;
    let length = expansion.length();
    let mut recorded = vec![0; usize::try_from(length.min(MAX_EXPANDED)).ok()?];
    for piece in expansion {
        let piece = piece.ok()?;
        let at = usize::try_from(piece.offset).ok()?;
        checksums::put(&mut recorded, at, &piece.bytes);
    }
    Some(recorded)
}

/// A rank file as it was recorded; a damaged compact one as it is.
pub(crate) fn recorded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let made = is_compact(bytes).then(|| unpacked(bytes)).flatten();
    made.map_or(Cow::Borrowed(bytes), Cow::Owned)
}

/// Changes what a file says; a compact one by way of that which it was made of.
pub(crate) fn change_meaning(mutation: ByteMutation, bytes: &mut Vec<u8>, random: &mut Random) {
    if !is_compact(bytes) {
        mutation(bytes, random);
    } else if let Some(mut recorded) = unpacked(bytes) {
        mutation(&mut recorded, random);
        *bytes = packed(&recorded);
    }
}
