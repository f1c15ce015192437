//! The run: the contents of the rank files of a directory.
//!
//! [`RunFiles`] holds their bytes, [`Run`] their contents. Names of files carry no meaning; a
//! process is known by its world and its rank, both of which its file states.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use collbench_formats::{Layer, RankTrace};
use collbench_text::{inert, quantity};
use rayon::prelude::*;

use crate::remark::Remark;
use crate::trace::algorithm_names::{AlgorithmNames, NameTable};
use crate::trace::call_sites::RunSites;
use crate::trace::error::RunError;
use crate::trace::files::RunFiles;
use crate::trace::manifest::RunManifest;
use crate::trace::rank_file::RankFile;

/// A `*.trace` file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableFile {
    /// Name of the file.
    pub name: String,
    /// What is wrong with it.
    pub what: String,
}

/// Characters of a host's name that are kept; the name is repeated for every rank of every
/// operation. Linux allows 64.
const MAX_HOST_NAME: usize = 256;

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
    /// `*.trace` files that cannot be read, by name.
    pub unreadable: Vec<UnreadableFile>,
    /// What a reader should know about the directory.
    pub remarks: Vec<Remark>,
    /// What the MPI library calls its algorithms.
    pub(crate) names: NameTable,
    /// From where calls were made.
    pub(crate) sites: RunSites,
}

/// Rank files by whether their world was spawned, and its number.
type Worlds<'a> = BTreeMap<(bool, u64), Vec<RankFile<'a>>>;

/// The readable files by world, and the unreadable ones.
fn parse(files: &RunFiles) -> (Worlds<'_>, Vec<UnreadableFile>) {
    let parsed: Vec<Result<RankFile<'_>, UnreadableFile>> = files
        .files
        .par_iter()
        .map(|(name, bytes)| {
            let read = match bytes {
                Ok(bytes) => RankFile::read(name, bytes).map_err(|e| e.to_string()),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(format!(
                    "cannot be opened: {error}; ask its owner for permission to read it"
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

/// The command line from the manifest, and a remark if there is none.
fn recorded_command(
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
    /// Names that the MPI library reported: `one + another` where a call has several, ` | ` between those of calls that
    /// differ.
    #[must_use]
    pub fn algorithm(&self, reported: AlgorithmNames) -> String {
        self.names.in_words(reported)
    }

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
        let (recorded, remark) = recorded_command(&files.manifest);
        remarks.extend(remark);
        let command = recorded.unwrap_or_else(|| processes[0].trace.identity.command.clone());
        let world_size = processes
            .iter()
            .map(|process| process.trace.identity.world_size)
            .max()
            .unwrap_or(0);
        Ok(Self {
            directory: &files.directory,
            command,
            world_size,
            names: NameTable::new(&processes),
            sites: RunSites::of(&processes),
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

    /// Whether a ring has overwritten the begin of some process.
    pub(crate) fn has_lost_begin(&self) -> bool {
        let windows = self.processes.iter().map(|file| &file.trace.window);
        windows.flatten().any(|window| window.is_cut())
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
        "{} ({}; {} of {} ranks, on {})",
        in_words(processes[0].name),
        quantity::counted(processes.len(), "file"),
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
