//! Programs into which no library can be preloaded.

use std::ffi::{CStr, CString, OsString};
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use anyhow::bail;
use collbench_files::open_regular;

use super::program::find_program;

/// Why the loader preloads no library into a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotPreloadable {
    /// It runs with rights other than the user's.
    SetUserId,
    /// It is linked statically, without a loader.
    Static,
}

impl NotPreloadable {
    pub(super) fn explain(self) -> &'static str {
        match self {
            Self::SetUserId => {
                "is set-user-id, set-group-id or has capabilities, so the loader preloads nothing \
                 into it and it ran unrecorded; record a copy without these rights"
            }
            Self::Static => {
                "is linked statically, so nothing can be preloaded into it and it ran unrecorded; \
                 relink it dynamically"
            }
        }
    }
}

/// The first word of a command that is such a program.
pub(super) fn find_not_preloadable(command: &[OsString]) -> Option<(&OsString, NotPreloadable)> {
    command.iter().find_map(|word| {
        let path = find_program(word).ok()?;
        let path = path.canonicalize().ok()?;
        let not_preloadable = if has_other_rights(&path) {
            NotPreloadable::SetUserId
        } else if is_static(&path) {
            NotPreloadable::Static
        } else {
            return None;
        };
        Some((word, not_preloadable))
    })
}

/// Refuses a command with a program of musl, the C library of Alpine Linux: its loader would try to load
/// the preloaded library, and end the program since there is no glibc.
///
/// # Errors
/// Names the program, and says what to do.
pub(super) fn refuse_other_libc(command: &[OsString]) -> anyhow::Result<()> {
    let of_musl = command.iter().find(|word| {
        let loader = find_program(word).ok().and_then(|path| loader_of(&path));
        loader.is_some_and(|loader| loader.contains("/ld-musl-"))
    });
    match of_musl {
        None => Ok(()),
        Some(word) => bail!(
            "{} is linked with the C library musl, and the preloaded library needs glibc, so it cannot be \
             recorded; build it on a system with glibc (not on Alpine Linux)",
            word.to_string_lossy().escape_debug()
        ),
    }
}

/// Whether a process of this file has another user or group than this process, or capabilities.
fn has_other_rights(path: &Path) -> bool {
    const CAPABILITIES: &CStr = c"security.capability";
    let Ok(metadata) = path.metadata() else {
        return false;
    };
    let Ok(name) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both names are C strings; the length of the buffer is 0, so nothing is stored.
    let length = unsafe {
        libc::getxattr(
            name.as_ptr(),
            CAPABILITIES.as_ptr(),
            std::ptr::null_mut(),
            0,
        )
    };
    is_set_id(&metadata) || length > 0
}

fn is_set_id(metadata: &Metadata) -> bool {
    // Without the right to execute, the bit has another meaning.
    const SET_GROUP: u32 = libc::S_ISGID | libc::S_IXGRP;
    // SAFETY: these cannot fail.
    let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
    metadata.mode() & libc::S_ISUID != 0 && metadata.uid() != user
        || metadata.mode() & SET_GROUP == SET_GROUP && metadata.gid() != group
}

/// Whether this is an ELF file of 64 bits that names no loader, and no library either: files that
/// name a library are libraries themselves.
fn is_static(path: &Path) -> bool {
    const PT_DYNAMIC: u64 = 2;
    let Some(mut segments) = segments(path) else {
        return false;
    };
    !segments.any(|segment| match segment {
        // A truncated file cannot run.
        None => true,
        Some(segment) if segment.sort == PT_INTERP => true,
        Some(segment) if segment.sort == PT_DYNAMIC => {
            needs_libraries(path, segment.at, segment.bytes)
        }
        Some(_) => false,
    })
}

/// The loader that an ELF file of 64 bits names.
fn loader_of(path: &Path) -> Option<String> {
    const MOST: usize = 256;
    let segment = segments(path)?
        .flatten()
        .find(|segment| segment.sort == PT_INTERP)?;
    let mut name = vec![0; MOST.min(segment.bytes as usize)];
    let file = open_regular(path).ok()?;
    file.read_exact_at(&mut name, segment.at).ok()?;
    Some(String::from_utf8_lossy(&name).into_owned())
}

/// The segment that names the loader.
const PT_INTERP: u64 = 3;

/// A segment of an ELF file.
struct Segment {
    sort: u64,
    /// Offset in the file.
    at: u64,
    bytes: u64,
}

/// The segments of an ELF file of 64 bits, `None` for those that are behind its end; `None` if the file
/// is no such file.
fn segments(path: &Path) -> Option<impl Iterator<Item = Option<Segment>>> {
    let header = read_at::<64>(path, 0).filter(|header| header.starts_with(b"\x7fELF\x02\x01"))?;
    let (at, size, n) = (
        number(&header[32..40]),
        number(&header[54..56]),
        number(&header[56..58]),
    );
    Some((0..n).map(move |i| {
        let segment = read_at::<56>(path, at.saturating_add(i * size))?;
        Some(Segment {
            sort: number(&segment[..4]),
            at: number(&segment[8..16]),
            bytes: number(&segment[32..40]),
        })
    }))
}

/// Whether the dynamic section of `length` bytes at an offset names a library.
fn needs_libraries(path: &Path, at: u64, length: u64) -> bool {
    const DT_NEEDED: u64 = 1;
    const BYTES: u64 = 16;
    let entry = |i: u64| read_at::<8>(path, at.saturating_add(i * BYTES));
    let mut tags = (0..length / BYTES).map_while(entry);
    tags.any(|tag| number(&tag) == DT_NEEDED)
}

/// The number in these bytes, in the byte order of ELF files of this machine.
fn number(bytes: &[u8]) -> u64 {
    let bytes = bytes.iter().rev();
    bytes.fold(0, |sum, &byte| sum << 8 | u64::from(byte))
}

fn read_at<const N: usize>(path: &Path, at: u64) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    let file = open_regular(path).ok()?;
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn programs_of_this_machine_have_a_loader_and_no_other_rights() {
        let own = std::env::current_exe().unwrap();
        let words = ["sh", "-n", "8", "absent", "Cargo.toml"].map(OsString::from);
        assert_eq!(find_not_preloadable(&words), None);
        assert_eq!(find_not_preloadable(&[own.clone().into()]), None);
        assert!(!is_static(&own) && !is_static(Path::new("Cargo.toml")));
    }

    #[test]
    fn a_program_of_musl_is_refused_and_others_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let loader = b"/lib/ld-musl-x86_64.so.1\0";
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 1);
        (bytes[64], bytes[64 + 8], bytes[64 + 32]) = (3, 64 + 56, loader.len() as u8);
        bytes.extend(loader);
        std::fs::write(&path, &bytes).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let command = |word: &Path| ["sh".into(), word.as_os_str().to_owned()];
        let refused = refuse_other_libc(&command(&path)).unwrap_err().to_string();
        assert!(
            refused.contains("program is linked with the C library musl"),
            "{refused}"
        );
        let own = std::env::current_exe().unwrap();
        assert!(refuse_other_libc(&command(&own)).is_ok());
    }

    #[test]
    fn without_a_program_header_for_a_loader_a_program_is_static() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        let mut bytes = vec![0; 64 + 2 * 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 2);
        (bytes[64], bytes[64 + 56]) = (6, 1);
        std::fs::write(&path, &bytes).unwrap();
        assert!(is_static(&path));
        bytes[64 + 56] = 3;
        std::fs::write(&path, &bytes).unwrap();
        assert!(!is_static(&path));
        // A dynamic section after the program headers, as in libraries and position-independent
        // programs; that of a library names another library.
        let at = bytes.len();
        bytes.resize(at + 32, 0);
        (bytes[64 + 56], bytes[64 + 56 + 8], bytes[64 + 56 + 32]) = (2, at as u8, 32);
        for (tag, is_program) in [(6, true), (1, false)] {
            bytes[at] = tag;
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(is_static(&path), is_program, "tag {tag}");
        }
    }
}
