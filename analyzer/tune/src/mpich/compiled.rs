//! The selection files that are compiled into a library, as text.
//!
//! `maint/tuning/coll/json_gen.sh` makes a string of each without spaces, which begins with the
//! first collective of the file and ends with a zero byte.

use super::tree::Kind;

const BEGIN: &[u8] = b"{\"collective=";
/// The one of MPICH 5.0 has less than 16 KiB.
const MAX_BYTES: usize = 1 << 20;

/// The file of `kind` in the bytes of a library; `None` if it holds none as text.
#[must_use]
pub fn compiled(library: &[u8], kind: Kind) -> Option<&[u8]> {
    all(library).find(|text| of_kind(text) == Some(kind))
}

fn all(library: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = library;
    std::iter::from_fn(move || {
        let begin = find(rest, BEGIN)?;
        let found = &rest[begin..];
        let end = found.iter().take(MAX_BYTES).position(|byte| *byte == 0);
        rest = &found[end.unwrap_or(BEGIN.len())..];
        Some(&found[..end.unwrap_or(0)])
    })
}

/// Which file it is, by the first choice in it.
fn of_kind(text: &[u8]) -> Option<Kind> {
    let kinds: [(Kind, &[u8]); 3] = [
        (Kind::Posix, b"\"algorithm=MPIDI_POSIX_"),
        (Kind::Ch4, b"\"composition="),
        (Kind::Mpir, b"\"algorithm=MPIR_"),
    ];
    kinds
        .into_iter()
        .find(|(_, key)| find(text, key).is_some())
        .map(|(kind, _)| kind)
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    let first = *wanted.first()?;
    let mut from = 0;
    loop {
        from += text.get(from..)?.iter().position(|byte| *byte == first)?;
        if text[from..].starts_with(wanted) {
            return Some(from);
        }
        from += 1;
    }
}
