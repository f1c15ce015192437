//! Lines of the source for addresses in executables and libraries.
//!
//! [`lines_of`] reads the debug information of one file, or of the separate file that has it, and
//! gives the functions at some addresses, with those inlined there. Everything that is read may be
//! damaged, or may have been built anew since the addresses were taken: where nothing is known for
//! sure, there is a [`Trouble`], and never a wrong line.
#![forbid(unsafe_code)]

mod debug_files;
mod frames;

pub use frames::{SourceFrame, Trouble};

use std::path::Path;

use frames::Found;

/// What is known of addresses in one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// For each address the functions there, the innermost first; empty where nothing is known.
    pub frames: Vec<Vec<SourceFrame>>,
    /// Why there are no lines; `None` if there are some.
    pub trouble: Option<Trouble>,
}

/// The functions and lines of return addresses in a file, as the linker assigned them: those of the
/// calls right before them.
///
/// `build_id` is that of the file from which the addresses were taken; empty if it had none. Debug
/// information is looked for in the file itself, then where distributions and debuggers have it: by
/// build id and by the debug link of the file, in its folder and below `/usr/lib/debug`.
#[must_use]
pub fn lines_of(path: &Path, build_id: &[u8], return_addresses: &[u64]) -> Lines {
    let mut best = Lines {
        frames: vec![Vec::new(); return_addresses.len()],
        trouble: Some(Trouble::Missing),
    };
    let mut link = None;
    // Libraries are mostly loaded by the name of a link.
    let real = path.canonicalize().ok().filter(|_| path.is_absolute());
    let path = real.as_deref().unwrap_or(path);
    if real.is_some() {
        match frames::read(path, Some(build_id), return_addresses) {
            Ok(found) if found.has_lines => return found.into_lines(),
            Ok(found) => {
                link.clone_from(&found.debug_link);
                best = found.into_lines();
            }
            Err(trouble) => best.trouble = Some(trouble),
        }
    }
    for file in debug_files::candidates(path, build_id, link.as_ref()) {
        // A file found by its name only must have the same build id, or checksum.
        let found = frames::read_debug_file(&file, build_id, return_addresses);
        if let Some(found) = found.ok().filter(|found| found.has_lines) {
            return with_names_of(found, best);
        }
    }
    best
}

/// What a debug file says, and where it knows nothing, what was known before.
fn with_names_of(found: Found, before: Lines) -> Lines {
    let mut lines = found.into_lines();
    for (frames, before) in lines.frames.iter_mut().zip(before.frames) {
        if frames.is_empty() {
            *frames = before;
        }
    }
    lines
}
