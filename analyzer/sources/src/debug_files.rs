//! Where the debug information of a file may be, if it is not in the file itself.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Where distributions have debug files.
const ROOT: &str = "/usr/lib/debug";

/// The debug link of a file: a name, and the checksum of the file that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DebugLink {
    pub(crate) name: Vec<u8>,
    pub(crate) crc32: u32,
}

/// A file that may have the debug information.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DebugFile {
    pub(crate) path: PathBuf,
    /// The checksum that it must have, if it is not known by its build id.
    pub(crate) crc32: Option<u32>,
}

/// The files that may have the debug information of a file with this build id (empty: none) and this
/// debug link, in the order in which debuggers look for them.
///
/// # Source
/// GDB's manual, "Separate Debug Files".
pub(crate) fn candidates(path: &Path, build_id: &[u8], link: Option<&DebugLink>) -> Vec<DebugFile> {
    let mut files = Vec::new();
    if let [first, rest @ ..] = build_id
        && !rest.is_empty()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        files.push(DebugFile {
            path: format!("{ROOT}/.build-id/{first:02x}/{rest}.debug").into(),
            crc32: None,
        });
    }
    let name = link.map(|link| OsStr::from_bytes(&link.name));
    // A name only, never a path.
    let name = name.filter(|name| !name.is_empty() && !name.as_bytes().contains(&b'/'));
    if let (Some(link), Some(name), Some(folder)) = (link, name, path.parent()) {
        let below_root = folder.strip_prefix("/").unwrap_or(folder);
        let folders = [
            folder.to_owned(),
            folder.join(".debug"),
            Path::new(ROOT).join(below_root),
        ];
        files.extend(folders.into_iter().map(|folder| DebugFile {
            path: folder.join(name),
            crc32: Some(link.crc32),
        }));
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_files_are_looked_for_by_build_id_and_then_by_name() {
        let link = DebugLink {
            name: b"app.debug".to_vec(),
            crc32: 7,
        };
        let paths = |build_id: &[u8], link: Option<&DebugLink>| -> Vec<PathBuf> {
            let files = candidates(Path::new("/opt/bin/app"), build_id, link);
            files.into_iter().map(|file| file.path).collect()
        };
        assert_eq!(
            paths(&[0xab, 0x01, 0xff], Some(&link)),
            [
                "/usr/lib/debug/.build-id/ab/01ff.debug",
                "/opt/bin/app.debug",
                "/opt/bin/.debug/app.debug",
                "/usr/lib/debug/opt/bin/app.debug",
            ]
            .map(PathBuf::from)
        );
        assert!(paths(&[], None).is_empty() && paths(&[1], None).is_empty());
        let elsewhere = DebugLink {
            name: b"../../etc/app.debug".to_vec(),
            ..link
        };
        assert!(paths(&[], Some(&elsewhere)).is_empty());
    }
}
