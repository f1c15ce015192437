//! What collbench-record wrote about the run.

use std::collections::BTreeMap;
use std::io::{self, Read};

use collbench_files::Folder;
use serde::Deserialize;

/// A damaged or foreign file could make `run.json` of any size; more than this is not read.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

/// What collbench-record wrote about the run: `run.json`. Everything may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct RunManifest {
    /// `collbench.run/1`.
    #[serde(default)]
    pub schema: String,
    /// The command that was recorded.
    #[serde(default)]
    pub command: Vec<String>,
    /// Variables that matter to MPI libraries.
    #[serde(default)]
    pub environment: BTreeMap<String, String>,
}

/// `None` if there is no such file.
pub(super) fn read_manifest(folder: &Folder) -> Option<Result<RunManifest, String>> {
    let expected = |found: &str| {
        format!("expected a file of at most {MAX_MANIFEST_BYTES} bytes, found {found}")
    };
    let file = match folder.file("run.json") {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) if error.kind() == io::ErrorKind::Other => {
            return Some(Err(expected("something other than a file")));
        }
        Err(error) => return Some(Err(error.to_string())),
    };
    let mut bytes = Vec::new();
    // No more than that, however long it becomes.
    let read = file.take(MAX_MANIFEST_BYTES + 1).read_to_end(&mut bytes);
    let read = match read {
        Ok(n) if n as u64 > MAX_MANIFEST_BYTES => Err(expected("more")),
        Ok(_) => Ok(bytes),
        Err(error) => Err(error.to_string()),
    };
    Some(read.and_then(|bytes| {
        let manifest: RunManifest =
            serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        match manifest.schema.as_str() {
            "collbench.run/1" => Ok(manifest),
            other => Err(format!(
                "expected schema \"collbench.run/1\", found \"{}\"",
                other.escape_default()
            )),
        }
    }))
}
