//! The version in the preloaded library: an ELF note, which can be read without loading the library.

use crate::VERSION;
use crate::elf::int;

/// The owner of the note, with a zero at its end.
const OWNER: &[u8; 10] = b"collbench\0";
/// The only type of note of this owner.
const SORT: u32 = 1;
/// Bytes of the text, a multiple of four; zeros fill it.
const BYTES: usize = 64;

/// A note with the version, as ELF has it. Goes into a section whose name begins with `.note`, which
/// linkers never leave out.
#[derive(Debug)]
#[repr(C, align(4))]
pub struct LibraryNote {
    owner_bytes: u32,
    text_bytes: u32,
    sort: u32,
    /// Padded to a multiple of four.
    owner: [u8; 12],
    text: [u8; BYTES],
}

/// The note of this version.
pub const LIBRARY_NOTE: LibraryNote = LibraryNote {
    owner_bytes: OWNER.len() as u32,
    text_bytes: BYTES as u32,
    sort: SORT,
    owner: padded(OWNER),
    text: padded(VERSION.as_bytes()),
};

/// The bytes with zeros behind them; fails to compile if they do not fit.
const fn padded<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut padded = [0; N];
    let mut i = 0;
    while i < bytes.len() {
        padded[i] = bytes[i];
        i += 1;
    }
    padded
}

/// The version in a section of notes, if it has this note.
pub(crate) fn version_in(notes: &[u8]) -> Option<String> {
    let mut rest = notes;
    loop {
        let (owner_bytes, text_bytes) = (int(rest, 0)? as usize, int(rest, 4)? as usize);
        let text_at = 12 + owner_bytes.checked_next_multiple_of(4)?;
        let text = rest.get(text_at..text_at.checked_add(text_bytes)?)?;
        if rest.get(12..12 + owner_bytes)? == OWNER && int(rest, 8)? == SORT {
            let text = text.split(|&byte| byte == 0).next()?;
            return Some(String::from_utf8_lossy(text).into_owned());
        }
        rest = rest.get(text_at + text_bytes.checked_next_multiple_of(4)?..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_found_behind_other_notes_and_damage_is_none() {
        let note = |owner: &[u8], sort: u32, text: &[u8]| {
            let numbers = [owner.len() as u32, text.len() as u32, sort];
            let mut bytes = numbers.map(u32::to_le_bytes).concat();
            for part in [owner, text] {
                bytes.extend(part);
                bytes.resize(bytes.len().next_multiple_of(4), 0);
            }
            bytes
        };
        let other = note(b"GNU\0", 3, &[7; 18]);
        let own = note(
            &LIBRARY_NOTE.owner[..10],
            LIBRARY_NOTE.sort,
            &LIBRARY_NOTE.text,
        );
        let both = [other.clone(), own].concat();
        assert_eq!(version_in(&both).as_deref(), Some(VERSION));
        assert_eq!(version_in(&other), None);
        for cut in 0..both.len() {
            assert_eq!(version_in(&both[..cut]), None, "{cut}");
        }
        assert_eq!(version_in(&[0xff; 64]), None);
    }
}
