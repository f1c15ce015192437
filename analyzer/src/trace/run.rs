//! The run: a directory of rank files, mapped and read in place.
//!
//! [`RunFiles`] holds the bytes, [`Run`] what they say. Names of files carry no meaning; a
//! process is known by its world and its rank, both of which its file states.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};

use collbench_files::{Folder, Mapped};
use collbench_formats::{FormatError, Layer, LayerState, RankTrace};
use collbench_text::inert;
use rayon::prelude::*;
use serde::Deserialize;

use crate::remark::Remark;
use crate::trace::said::Names;

/// Why a directory cannot be analysed at all.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// There is nothing under this name.
    #[error(
        "{}: cannot be opened: {error}; expected a trace, a directory made by collbench-record",
        inert::path(.path)
    )]
    Unreachable {
        /// What was given.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// Not a directory.
    #[error(
        "{}: not a directory; a trace is a directory of *.trace files made by \
         collbench-record: name the directory",
        inert::path(.path)
    )]
    NotADirectory {
        /// What was given.
        path: PathBuf,
    },
    /// A directory without rank files.
    #[error(
        "{}: no trace in it: expected *.trace files made by collbench-record, found {found}; \
         was the program started under collbench-record, and did it call MPI_Init?",
        inert::path(.path)
    )]
    NoTraceFiles {
        /// What was given.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// Rank files, but none that says anything.
    #[error(
        "{}: none of its {n_files} *.trace files can be read; the first: {first}; \
         look whether they are as they were recorded, or record again",
        inert::path(.path)
    )]
    NothingReadable {
        /// What was given.
        path: PathBuf,
        /// Number of `*.trace` files.
        n_files: usize,
        /// Name and finding of the first of them.
        first: String,
    },
    /// Files of more than one run.
    #[error(
        "{}: files of two runs in one directory: {first}; and {second}; \
         move the files of one of them to a directory of their own",
        inert::path(.path)
    )]
    TwoRuns {
        /// What was given.
        path: PathBuf,
        /// Files, ranks and hosts of one.
        first: String,
        /// Files, ranks and hosts of the next.
        second: String,
    },
    /// A file that is cut again and again.
    #[error(
        "{}: {name} became shorter while it was read, each time; \
         wait until nobody writes in the trace any more, or look at it with --follow",
        inert::path(.path)
    )]
    BecomesShorter {
        /// What was given.
        path: PathBuf,
        /// The file.
        name: String,
    },
    /// Two files of one process.
    #[error(
        "{}: two files of rank {rank} of one run: {first} and {second}; \
         remove the one that does not belong",
        inert::path(.path)
    )]
    TwoFilesOfOneRank {
        /// What was given.
        path: PathBuf,
        /// The world rank.
        rank: u32,
        /// Name, process and host of one file.
        first: String,
        /// Name, process and host of the other.
        second: String,
    },
}

/// What collbench-record wrote about the run: `run.json`. Everything may be missing.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct RunManifest {
    /// `collbench.run/1`.
    #[serde(default)]
    pub schema: String,
    /// The command that was recorded.
    #[serde(default)]
    pub command: Vec<String>,
}

/// The bytes of a trace directory.
#[derive(Debug)]
pub struct RunFiles {
    directory: PathBuf,
    /// Name and bytes of each `*.trace` file, by name.
    files: Vec<(String, io::Result<Bytes>)>,
    manifest: Option<Result<RunManifest, String>>,
    /// Files that became shorter while they were read before, by name.
    became_shorter: Vec<String>,
}

/// The bytes of one file, for as long as they are needed.
#[derive(Debug)]
enum Bytes {
    Empty,
    Mapped {
        map: Mapped,
        /// Device and inode.
        identity: (u64, u64),
    },
    /// Made of a file that is being written.
    Copied(Vec<u8>),
}

/// So many bytes are read of chunk headers before their pages are given back.
const GIVE_BACK_BYTES: u64 = 1 << 20;

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

    fn as_slice(&self) -> &[u8] {
        match self {
            Self::Empty => &[],
            Self::Mapped { map, .. } => map.bytes(),
            Self::Copied(bytes) => bytes,
        }
    }

    /// Gives back the pages that hold the bytes `[from, to)`, and some before.
    fn give_back(&self, from: u64, to: u64) {
        if let Self::Mapped { map, .. } = self {
            map.give_back(from, to);
        }
    }
}

/// Characters of a host's name that are kept, which is told with every rank of every operation;
/// Linux allows 64.
const MAX_HOST_NAME: usize = 256;

/// A damaged or foreign file could make `run.json` of any size; more than this is not read.
const MAX_MANIFEST_BYTES: u64 = 16 << 20;

impl RunFiles {
    /// Maps all `*.trace` files of a directory, and reads `run.json`.
    ///
    /// # Errors
    /// [`RunError`] if it is not a directory or holds no `*.trace` file. A file that cannot be
    /// opened is damage, found by [`Run::read`].
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

    /// What `read` makes of the files, which somebody may cut meanwhile: then what was made of them,
    /// even a panic, means nothing, and they are read once more as they are.
    ///
    /// # Errors
    /// Those of `read`; [`RunError::BecomesShorter`] if they are cut again and again.
    pub(crate) fn while_whole<T, E: From<RunError>>(
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
    /// As of [`Self::open`].
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
            // What was cut off within a page is zeros there, of which nobody is told.
            let is_cut = |found: Metadata| {
                (found.dev(), found.ino()) == *identity && found.len() < map.bytes().len() as u64
            };
            let found = folder.as_ref().and_then(|folder| folder.look_at(name).ok());
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

/// `None` if there is no such file.
fn read_manifest(folder: &Folder) -> Option<Result<RunManifest, String>> {
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
                "schema \"collbench.run/1\" expected, found \"{}\"",
                other.escape_default()
            )),
        }
    }))
}

/// One process of the run: its file, read.
#[derive(Debug)]
pub struct RankFile<'a> {
    /// Name of the file, within the directory.
    pub name: &'a str,
    /// What it says.
    pub trace: RankTrace<'a>,
    bytes: &'a Bytes,
}

impl<'a> RankFile<'a> {
    /// Whether a layer was recorded.
    #[must_use]
    pub fn has_layer(&self, layer: Layer) -> bool {
        let mut layers = self.trace.identity.layers.iter();
        layers.any(|state| state.name == layer.name() && state.on)
    }

    /// Whether a layer was recorded because somebody had named it.
    #[must_use]
    pub fn was_asked_for(&self, layer: Layer) -> bool {
        let mut layers = self.trace.identity.layers.iter();
        layers.any(|state| {
            state.name == layer.name() && state.on && state.reason != LayerState::BY_DEFAULT
        })
    }

    fn read(name: &'a str, bytes: &'a Bytes) -> Result<Self, FormatError> {
        let mut given_back = 0;
        let trace = RankTrace::parse_passing(bytes.as_slice(), &mut |passed| {
            if passed >= given_back + GIVE_BACK_BYTES {
                bytes.give_back(given_back, passed);
                given_back = passed;
            }
        })?;
        bytes.give_back(given_back, u64::MAX);
        Ok(Self { name, trace, bytes })
    }

    /// Rank in `MPI_COMM_WORLD`.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.trace.identity.rank
    }

    /// Gives back the pages of the file that hold the bytes `[from, to)`. Whoever reads them
    /// later reads the file once more.
    pub(crate) fn give_back(&self, from: u64, to: u64) {
        self.bytes.give_back(from, to);
    }
}

/// A `*.trace` file that says nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableFile {
    /// Name of the file.
    pub name: String,
    /// What is wrong with it.
    pub what: String,
}

/// The processes of one world, and what else the directory says.
#[derive(Debug)]
pub struct Run<'a> {
    /// The directory.
    pub directory: &'a Path,
    /// The command that was recorded.
    pub command: Vec<String>,
    /// Processes in the world: those that there should be a file of.
    pub world_size: u32,
    /// The processes that there is a file of, by rank; at least one.
    pub processes: Vec<RankFile<'a>>,
    /// `*.trace` files that say nothing, by name.
    pub unreadable: Vec<UnreadableFile>,
    /// What a reader should know about the directory.
    pub remarks: Vec<Remark>,
    /// What the MPI library calls its algorithms.
    pub(crate) names: Names,
}

/// Rank files by whether their world was spawned, and its number.
type Worlds<'a> = BTreeMap<(bool, u64), Vec<RankFile<'a>>>;

/// What the files say, by the world that they are of, and those that say nothing.
fn parse(files: &RunFiles) -> (Worlds<'_>, Vec<UnreadableFile>) {
    let parsed: Vec<Result<RankFile<'_>, UnreadableFile>> = files
        .files
        .par_iter()
        .map(|(name, bytes)| {
            let read = match bytes {
                Ok(bytes) => RankFile::read(name, bytes).map_err(|e| e.to_string()),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(format!(
                    "cannot be opened: {error}; ask its owner for the right to read it"
                )),
                Err(error) => Err(format!("cannot be opened: {error}")),
            };
            read.map_err(|what| UnreadableFile {
                name: name.clone(),
                what,
            })
        })
        .collect();
    let mut unreadable = Vec::new();
    let mut worlds = Worlds::new();
    for file in parsed {
        match file {
            Ok(mut file) => {
                let identity = &mut file.trace.identity;
                identity.host.name = inert::cut(&identity.host.name, MAX_HOST_NAME);
                let world = (identity.spawned, identity.world);
                worlds.entry(world).or_default().push(file);
            }
            Err(file) => unreadable.push(file),
        }
    }
    (worlds, unreadable)
}

/// Two files of one rank, if there are some among these, which are by rank.
fn check_ranks<'f, 'a>(
    processes: &'f [RankFile<'a>],
) -> Result<(), (&'f RankFile<'a>, &'f RankFile<'a>)> {
    let mut pairs = processes.windows(2);
    match pairs.find(|pair| pair[0].rank() == pair[1].rank()) {
        Some(pair) => Err((&pair[0], &pair[1])),
        None => Ok(()),
    }
}

/// The command line that the manifest tells, and what a reader should know if it does not.
fn told_command(
    manifest: &Option<Result<RunManifest, String>>,
) -> (Option<Vec<String>>, Option<Remark>) {
    match manifest {
        Some(Ok(manifest)) => (Some(manifest.command.clone()), None),
        Some(Err(error)) => {
            let error = error.clone();
            (None, Some(Remark::ManifestUnreadable { error }))
        }
        None => (None, Some(Remark::ManifestMissing)),
    }
}

impl<'a> Run<'a> {
    /// Reads the headers, definitions and chunk headers of all files, and takes those of the
    /// one world that was not spawned by another.
    ///
    /// # Errors
    /// [`RunError`] if no file can be read, or files of two runs, or two of one process, are in
    /// the directory.
    pub fn read(files: &'a RunFiles) -> Result<Self, RunError> {
        let (mut worlds, unreadable) = parse(files);
        let path = || files.directory.clone();
        let Some((&(is_spawned, world), _)) = worlds.first_key_value() else {
            let first = &unreadable[0];
            return Err(RunError::NothingReadable {
                path: path(),
                n_files: files.files.len(),
                first: format!("{}: {}", in_words(&first.name), first.what),
            });
        };
        let mut processes = worlds.remove(&(is_spawned, world)).unwrap_or_default();
        if let Some((_, second)) = worlds.iter().find(|((other, _), _)| *other == is_spawned) {
            return Err(RunError::TwoRuns {
                path: path(),
                first: describe_world(&processes),
                second: describe_world(second),
            });
        }
        let mut remarks = Vec::new();
        if !files.became_shorter.is_empty() {
            remarks.push(Remark::BecameShorter {
                names: files.became_shorter.clone(),
            });
        }
        if !worlds.is_empty() {
            remarks.push(Remark::SpawnedSetAside {
                n_worlds: worlds.len(),
                n_files: worlds.values().map(Vec::len).sum(),
            });
        }
        processes.sort_by_key(RankFile::rank);
        check_ranks(&processes).map_err(|(first, second)| RunError::TwoFilesOfOneRank {
            path: path(),
            rank: first.rank(),
            first: describe_file(first),
            second: describe_file(second),
        })?;
        let (told, remark) = told_command(&files.manifest);
        remarks.extend(remark);
        let command = told.unwrap_or_else(|| processes[0].trace.identity.command.clone());
        let world_size = processes
            .iter()
            .map(|process| process.trace.identity.world_size)
            .max()
            .unwrap_or(0);
        Ok(Self {
            directory: &files.directory,
            command,
            world_size,
            names: Names::new(&processes),
            processes,
            unreadable,
            remarks,
        })
    }

    /// Records in all files.
    #[must_use]
    pub fn n_records(&self) -> u64 {
        let chunks = self.processes.iter().flat_map(|p| &p.trace.chunks);
        chunks.map(|chunk| chunk.records.len() as u64).sum()
    }

    /// Index of the process with this rank, if there is a file of it.
    #[must_use]
    pub fn process_of_rank(&self, rank: u32) -> Option<usize> {
        self.processes
            .binary_search_by_key(&rank, RankFile::rank)
            .ok()
    }

    /// Whether the messages inside collectives were recorded, by any process.
    pub(crate) fn has_messages(&self) -> bool {
        let mut processes = self.processes.iter();
        processes.any(|file| file.has_layer(Layer::Messages))
    }

    /// Whether anything is missing: a file, or a part of one.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.processes.len() < self.world_size as usize
            || !self.unreadable.is_empty()
            || self.processes.iter().any(|p| !p.trace.damage.is_empty())
    }

    /// Ranges `(first, last)` of the ranks that there is no file of.
    #[must_use]
    pub fn missing_ranks(&self) -> Vec<(u32, u32)> {
        let mut missing = Vec::new();
        let mut expected = 0;
        for process in &self.processes {
            if process.rank() > expected {
                missing.push((expected, process.rank() - 1));
            }
            expected = process.rank().saturating_add(1);
        }
        if expected < self.world_size {
            missing.push((expected, self.world_size - 1));
        }
        missing
    }
}

/// Hosts of a world that are named in a message.
const MAX_HOSTS_NAMED: usize = 8;

/// A name that a file or the file system gives, for messages.
fn in_words(name: &str) -> String {
    inert::line(name, 255)
}

/// Name, process and host of a file, in words.
fn describe_file(file: &RankFile<'_>) -> String {
    let identity = &file.trace.identity;
    format!(
        "{} (process {} on {})",
        in_words(file.name),
        identity.pid,
        in_words(&identity.host.name)
    )
}

/// Files, ranks and hosts of a world, in words.
fn describe_world(processes: &[RankFile<'_>]) -> String {
    let mut ranks: Vec<u32> = processes.iter().map(RankFile::rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut hosts: Vec<&str> = processes
        .iter()
        .map(|process| process.trace.identity.host.name.as_str())
        .collect();
    hosts.sort_unstable();
    hosts.dedup();
    let n_others = hosts.len().saturating_sub(MAX_HOSTS_NAMED);
    let mut names: Vec<String> = hosts
        .iter()
        .take(MAX_HOSTS_NAMED)
        .map(|host| in_words(host))
        .collect();
    if n_others > 0 {
        names.push(format!("{n_others} more"));
    }
    format!(
        "{} (of {} files; {} of {} ranks, on {})",
        in_words(processes[0].name),
        processes.len(),
        inert::ranks(&ranks),
        processes[0].trace.identity.world_size,
        names.join(", ")
    )
}

/// The latest instant that the process surely reached: its last anchor, or the enter of a call
/// that another one of the thread follows. Of the last two calls of a thread the lesser enter,
/// so that one damaged stamp does not count.
pub(crate) fn latest_sure(trace: &RankTrace<'_>) -> u64 {
    let anchor = trace.anchors.last().map_or(0, |anchor| anchor.ticks.get());
    let threads = trace.chunks.chunk_by(|a, b| a.thread == b.thread);
    let of_threads = threads.filter_map(|chunks| {
        let mut back = chunks.iter().rev().flat_map(|c| c.records.iter().rev());
        let (last, before) = (back.next()?, back.next()?);
        Some(last.enter.get().min(before.enter.get()))
    });
    of_threads.fold(anchor, u64::max)
}
