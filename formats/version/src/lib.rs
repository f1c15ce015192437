//! Which version of collbench this is: the number, the commit that was built, and the version of the
//! GNU C library that it needs.
//!
//! Commands show it; the preloaded library has it in a [note](LibraryNote), in which collbench-record
//! finds it without loading the library.
//!
//! Nothing here depends on when, where or by whom it was built, so that two builds of one commit can be
//! equal.

#![forbid(unsafe_code)]

mod elf;
mod note;

use std::path::Path;
use std::sync::LazyLock;

pub use note::{LIBRARY_NOTE, LibraryNote};

/// The number, the commit and its date; commit and date are `unknown` in a debug build, and in a build
/// from source files that are neither in git nor from an archive that git made.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (commit ",
    env!("COLLBENCH_COMMIT"),
    " of ",
    env!("COLLBENCH_DATE"),
    ")"
);

/// What `--version` says of the running command behind its name: number, commit, glibc that it needs,
/// target and features.
#[must_use]
pub fn details() -> &'static str {
    static DETAILS: LazyLock<String> = LazyLock::new(|| {
        let glibc = std::env::current_exe()
            .ok()
            .and_then(|path| glibc_of(&path))
            .unwrap_or_else(|| "unknown".to_owned());
        let features = if cfg!(debug_assertions) {
            "debug assertions"
        } else {
            "none"
        };
        format!(
            "{VERSION}\nneeds glibc: {glibc}\ntarget: {}\nfeatures: {features}",
            env!("COLLBENCH_TARGET")
        )
    });
    &DETAILS
}

/// The lowest version of the GNU C library with which an executable or a library can be loaded, such as
/// `2.28`; `None` if the file cannot be read, is no ELF file, or needs no symbol of a known version.
#[must_use]
pub fn glibc_of(path: &Path) -> Option<String> {
    let names = elf::needed_versions(path)?;
    let of_glibc = |name: &String| {
        let numbers = name.strip_prefix("GLIBC_")?.split('.');
        numbers.map(|number| number.parse().ok()).collect()
    };
    let newest: Vec<u32> = names.iter().filter_map(of_glibc).max()?;
    let newest: Vec<String> = newest.iter().map(u32::to_string).collect();
    Some(newest.join("."))
}

/// Two versions that do not belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mismatch {
    /// The numbers differ, or one is unknown.
    Number,
    /// Only the commits differ.
    Commit,
}

/// What differs between this version and another, as in [`VERSION`]; `None` if nothing does, or if the
/// numbers are equal and one of the commits is unknown.
#[must_use]
pub fn mismatch(other: &str) -> Option<Mismatch> {
    mismatch_of(VERSION, other)
}

fn mismatch_of(own: &str, other: &str) -> Option<Mismatch> {
    let number = |version: &str| version.split(' ').next().unwrap_or_default().to_owned();
    let is_unknown = |version: &str| version.contains("unknown");
    if number(own) != number(other) {
        Some(Mismatch::Number)
    } else if own == other || is_unknown(own) || is_unknown(other) {
        None
    } else {
        Some(Mismatch::Commit)
    }
}

/// The [`VERSION`] in the note of a preloaded library, `unknown` if it has no such note; `None` if the
/// file cannot be read or is no ELF file.
#[must_use]
pub fn version_of_library(path: &Path) -> Option<String> {
    let notes = elf::notes(path)?;
    let version = notes.iter().find_map(|notes| note::version_in(notes));
    Some(version.unwrap_or_else(|| "unknown".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_differ_in_number_or_commit() {
        let own = "1.2.3 (commit 0123456789ab of 2026-01-02)";
        for (other, expected) in [
            (own, None),
            ("1.2.3 (commit unknown of unknown)", None),
            (
                "1.2.3 (commit ba9876543210 of 2026-01-02)",
                Some(Mismatch::Commit),
            ),
            (
                "1.2.4 (commit 0123456789ab of 2026-01-02)",
                Some(Mismatch::Number),
            ),
            ("1.2.30 (commit unknown of unknown)", Some(Mismatch::Number)),
            ("", Some(Mismatch::Number)),
        ] {
            assert_eq!(mismatch_of(own, other), expected, "{other}");
        }
    }

    #[test]
    fn this_executable_needs_a_glibc_that_exists() {
        let glibc = glibc_of(&std::env::current_exe().unwrap()).unwrap();
        let (major, minor) = glibc.split_once('.').unwrap();
        assert_eq!(major, "2");
        // What Rust's own library needs, at least.
        assert!(minor.parse::<u32>().unwrap() >= 14, "{glibc}");
        assert_eq!(glibc_of(Path::new("Cargo.toml")), None);
        assert!(details().starts_with(VERSION), "{}", details());
        assert!(details().contains(&format!("needs glibc: {glibc}\n")));
    }
}
