//! `run.json`: what was run, and that collbench recorded it.

use std::io::{self, Read, Write};
use std::path::Path;

use collbench_files::Folder;

use super::error::DirectoryError;
use super::files::create_file;
use super::names::{RUN_FILE, RUN_SCHEMA};
use crate::process::unsignalled;

/// Writes `run.json`. If two recorders do so at once, the second one finds that the directory has a
/// trace.
///
/// # Errors
/// [`DirectoryError`]: why it cannot be written.
pub fn write_run(path: &Path, text: &[u8]) -> Result<(), DirectoryError> {
    let written =
        create_file(path, RUN_FILE).and_then(|mut file| unsignalled(|| file.write_all(text)));
    match written {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            Err(DirectoryError::HoldsTrace(path.to_owned()))
        }
        Err(error) => Err(DirectoryError::Io {
            path: path.join(RUN_FILE),
            error,
        }),
        Ok(()) => Ok(()),
    }
}

pub(super) fn is_run(folder: &Folder) -> bool {
    let mut text = Vec::new();
    let file = folder.file(RUN_FILE);
    let read = file.and_then(|file| file.take(16 << 20).read_to_end(&mut text));
    read.is_ok() && says_schema(&text)
}

/// Whether a document is a complete JSON object whose member `schema` is ours. (The contents of its
/// other members are not checked.)
fn says_schema(document: &[u8]) -> bool {
    let Ok(document) = str::from_utf8(document) else {
        return false;
    };
    let document = document.trim();
    // Open brackets, where a string began, and the last key of the object itself.
    let (mut open, mut string, mut key) = (Vec::new(), None, None);
    let (mut is_escaped, mut has_schema) = (false, false);
    for (at, byte) in document.bytes().enumerate() {
        if let Some(begin) = string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => {
                    string = None;
                    let text = &document[begin..at];
                    let is_key = document[at + 1..].trim_start().starts_with(':');
                    if open.len() == 1 && is_key {
                        key = Some(text);
                    } else if open.len() == 1 && key == Some("schema") {
                        has_schema = text == RUN_SCHEMA;
                    }
                }
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => string = Some(at + 1),
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' if open.pop() != Some(byte) => return false,
            // Nothing follows the end of the object.
            _ if open.is_empty() && at + 1 < document.len() => return false,
            _ => {}
        }
    }
    has_schema && document.starts_with('{') && open.is_empty() && string.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_ours_by_its_own_schema_if_it_is_complete() {
        let ours = r#"{ "command": ["a", "}\""], "inner": { "schema": "x" }, "schema" : "collbench.run/1" }"#;
        assert!(says_schema(ours.as_bytes()));
        for end in 0..ours.len() {
            assert!(!says_schema(&ours.as_bytes()[..end]), "{end}");
        }
        for other in [
            r#"{ "schema": "collbench.run/2" }"#,
            r#"{ "inner": { "schema": "collbench.run/1" } }"#,
            r#"["schema", "collbench.run/1"]"#,
            r#"["schema": "collbench.run/1"]"#,
            r#""schema": "collbench.run/1""#,
            r#"{ "schema": "collbench.run/1" } more"#,
            r#"{ "schema": "collbench.run/1" ]"#,
            "\u{feff}",
        ] {
            assert!(!says_schema(other.as_bytes()), "{other}");
        }
    }
}
