//! The bytes of a trace directory, mapped and read in place.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use collbench_files::{Folder, Mapped};
use collbench_text::inert;
use rayon::prelude::*;

use crate::trace::error::RunError;
use crate::trace::manifest::{RunManifest, read_manifest};

/// The bytes of a trace directory.
#[derive(Debug)]
pub struct RunFiles {
    pub(super) directory: PathBuf,
    /// Name and bytes of each `*.trace` file, by name.
    pub(super) files: Vec<(String, io::Result<Bytes>)>,
    pub(super) manifest: Option<Result<RunManifest, String>>,
    /// Files that became shorter while they were read before, by name.
    pub(super) became_shorter: Vec<String>,
}

/// The bytes of one file, for as long as they are needed.
#[derive(Debug)]
pub(super) enum Bytes {
    Empty,
    Mapped {
        map: Mapped,
        /// Device and inode.
        identity: (u64, u64),
    },
    /// Made of a file that is being written.
    Copied(Vec<u8>),
}

impl Bytes {
    fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        if metadata.len() == 0 {
            return Ok(Self::Empty);
        }
        Ok(Self::Mapped {
            map: Mapped::of(file)?,
            identity: (metadata.dev(), metadata.ino()),
        })
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Mapped { map, .. } => map.bytes(),
            Self::Copied(bytes) => bytes,
        }
    }

    /// Gives back the pages that hold the bytes `[from, to)`, and some before.
    pub(super) fn give_back(&self, from: u64, to: u64) {
        if let Self::Mapped { map, .. } = self {
            map.give_back(from, to);
        }
    }
}

impl RunFiles {
    /// Maps all `*.trace` files of a directory, and reads `run.json`.
    ///
    /// # Errors
    /// [`RunError`] if it is not a directory or holds no `*.trace` file. A file that cannot be
    /// opened is damage, found by [`Run::read`](crate::trace::run::Run::read).
    pub fn open(directory: &Path) -> Result<Self, RunError> {
        let path = || directory.to_path_buf();
        let unreachable = |error| RunError::Unreachable {
            path: path(),
            error,
        };
        let folder = match Folder::open(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                return Err(RunError::NotADirectory { path: path() });
            }
            opened => opened.map_err(unreachable)?,
        };
        let mut names = Vec::new();
        let mut n_others = 0usize;
        for name in folder.names().map_err(unreachable)? {
            match Path::new(&name).extension() {
                Some(extension) if extension == "trace" => names.push(name),
                _ => n_others += 1,
            }
        }
        if names.is_empty() {
            let found = match n_others {
                0 => "an empty directory".to_owned(),
                1 => "one other file".to_owned(),
                n => format!("{n} other files"),
            };
            return Err(RunError::NoTraceFiles {
                path: path(),
                found,
                beside: trace_beside(directory),
            });
        }
        names.sort();
        let files = names
            .par_iter()
            .map(|name| {
                let bytes = folder.file(name).and_then(|file| Bytes::of(&file));
                (name.to_string_lossy().into_owned(), bytes)
            })
            .collect();
        Ok(Self {
            directory: path(),
            files,
            manifest: read_manifest(&folder),
            became_shorter: Vec::new(),
        })
    }

    /// The variables of the environment in which the run was recorded that matter to MPI libraries, such
    /// as `OMPI_MCA_*`; empty where they are not known.
    #[must_use]
    pub fn environment(&self) -> &BTreeMap<String, String> {
        static NONE: BTreeMap<String, String> = BTreeMap::new();
        let manifest = self.manifest.as_ref().and_then(|read| read.as_ref().ok());
        manifest.map_or(&NONE, |manifest| &manifest.environment)
    }

    /// The CRC-32 of the contents of all files that can be read, by name.
    #[must_use]
    pub fn checksum(&self) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        for bytes in self
            .files
            .iter()
            .filter_map(|(_, bytes)| bytes.as_ref().ok())
        {
            hasher.update(bytes.as_slice());
        }
        hasher.finalize()
    }

    /// What `read` makes of the files, which somebody may cut meanwhile: then what was made of them,
    /// even a panic, means nothing, and they are read once more as they are.
    ///
    /// # Errors
    /// Those of `read`; [`RunError::BecomesShorter`] if they are cut again and again.
    pub fn while_whole<T, E: From<RunError>>(
        &self,
        read: &mut dyn FnMut(&Self) -> Result<T, E>,
    ) -> Result<T, E> {
        const TRIES: usize = 3;
        let mut opened_again;
        let mut files = self;
        for n_left in (0..TRIES).rev() {
            let result = catch_unwind(AssertUnwindSafe(|| read(files)));
            let shorter = files.shorter_now();
            match (result, shorter.first()) {
                (Ok(result), None) => return result,
                (Err(panic), None) => resume_unwind(panic),
                (_, Some(_)) if n_left > 0 => {
                    opened_again = files.open_again(shorter)?;
                    files = &opened_again;
                }
                (_, Some(name)) => {
                    return Err(RunError::BecomesShorter {
                        path: self.directory.clone(),
                        name: inert::line(name, 255),
                    }
                    .into());
                }
            }
        }
        unreachable!("the last try returns")
    }

    /// Opens the directory once more, after files were found shorter than before.
    ///
    /// # Errors
    /// [`RunError`], as from [`Self::open`].
    fn open_again(&self, shorter: Vec<String>) -> Result<Self, RunError> {
        let mut became_shorter = self.became_shorter.clone();
        became_shorter.extend(shorter);
        became_shorter.sort();
        became_shorter.dedup();
        Ok(Self {
            became_shorter,
            ..Self::open(&self.directory)?
        })
    }

    /// The names of the files of which something was cut off since they were opened: what was made
    /// of them means nothing.
    fn shorter_now(&self) -> Vec<String> {
        let folder = Folder::open(&self.directory).ok();
        let is_shorter = |name: &str, bytes: &io::Result<Bytes>| {
            let Ok(Bytes::Mapped { map, identity }) = bytes else {
                return false;
            };
            // Bytes cut off within a page read as zeros, without any signal.
            let is_cut = |found: Metadata| {
                (found.dev(), found.ino()) == *identity && found.len() < map.bytes().len() as u64
            };
            let found = folder
                .as_ref()
                .and_then(|folder| folder.metadata_of(name).ok());
            map.has_shrunk() || found.is_some_and(is_cut)
        };
        let shorter = self
            .files
            .iter()
            .filter(|(name, bytes)| is_shorter(name, bytes));
        shorter.map(|(name, _)| name.clone()).collect()
    }

    /// What was made of the rank files of a directory, by name.
    pub(crate) fn of_images(
        folder: &Folder,
        directory: &Path,
        images: Vec<(String, io::Result<Vec<u8>>)>,
    ) -> Self {
        let files = images.into_iter();
        Self {
            directory: directory.to_path_buf(),
            files: files
                .map(|(name, bytes)| (name, bytes.map(Bytes::Copied)))
                .collect(),
            manifest: read_manifest(folder),
            became_shorter: Vec::new(),
        }
    }
}

/// The directory that another one is in, if it is a trace: a report is in its trace.
fn trace_beside(directory: &Path) -> Option<PathBuf> {
    let parent = match (directory.file_name(), directory.parent()) {
        (Some(_), Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
        (Some(_), Some(parent)) => parent.to_path_buf(),
        // Of `.` and `..` the system knows it.
        _ => directory.join(".."),
    };
    let names = Folder::open(&parent).ok()?.names().ok()?;
    let is_trace = |name: &OsString| Path::new(name).extension().is_some_and(|of| of == "trace");
    names.iter().any(is_trace).then_some(parent)
}
