//! The cores of a host: from the XML of hwloc (`lstopo --of xml`), or from a folder with the files
//! of `/sys/devices/system/cpu`.

mod xml;

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use collbench_formats::tree::HostTopology;
use collbench_text::inert;
use collbench_trees::topology::of_sys;

pub use xml::of_xml;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// Why the cores of a host are not known.
#[derive(Debug, thiserror::Error)]
pub enum TopologyError {
    /// A file cannot be read.
    #[error("{}: {error}", inert::path(path))]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is no XML.
    #[error("{}: no XML: {what}", inert::path(path))]
    NoXml {
        /// Which file.
        path: PathBuf,
        /// What is wrong, with its line and column.
        what: String,
    },
    /// There are no processors in it.
    #[error("{}: no processors in it; expected {expected}", inert::path(path))]
    NoProcessors {
        /// Which file or folder.
        path: PathBuf,
        /// What should be there.
        expected: &'static str,
    },
}

/// The cores that a file or a folder describes.
///
/// # Errors
/// [`TopologyError`] if it cannot be read, or describes none.
pub fn read(path: &Path) -> Result<HostTopology, TopologyError> {
    let unreadable = |error| TopologyError::Unreadable {
        path: path.to_owned(),
        error,
    };
    if path.is_dir() {
        return of_sys(path).ok_or_else(|| TopologyError::NoProcessors {
            path: path.to_owned(),
            expected: "the files of /sys/devices/system/cpu: online, cpu0/topology/core_id, ..",
        });
    }
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    let limited = &mut file.take(MAX_BYTES);
    limited.read_to_string(&mut text).map_err(unreadable)?;
    of_xml(&text, path)
}
