//! Follows a trace that is being written.
//!
//! Each look copies the [newest records](tail) of every rank and analyses those: its cost does not
//! grow with the run. The files are only read: no lock, no write, no mapping.

mod tail;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use collbench_files::Folder;
use collbench_formats::compact::is_compact;

use crate::options::Options;
use crate::results::analysis::Analysis;
use crate::trace::error::RunError;
use crate::trace::files::RunFiles;
use crate::trace::rank_file::RankFile;
use crate::trace::run::Run;
use crate::{AnalyzeError, analyze};
use tail::Tail;

/// Records of all ranks together that are looked at.
const MAX_RECORDS: usize = 1 << 16;
/// Records of a rank that are looked at, at least and at most.
const OF_A_RANK: (usize, usize) = (256, 1 << 14);
/// Of those, looked at together.
const WINDOW: u64 = 1 << 18;

/// A trace that is followed.
#[derive(Debug)]
pub struct Follower {
    directory: PathBuf,
    /// By name of the file.
    tails: BTreeMap<String, Tail>,
    /// Whether some file is a compact one: its process writes no more.
    is_compact: bool,
    /// Instances that someone was in at the last look, and when that was seen first.
    waiting: BTreeMap<Waiting, Instant>,
}

/// Which instance it is: communicator entry, whether it is the MPI library's own, position.
type Waiting = (usize, bool, u64);

/// Result of a look at a trace.
#[derive(Debug)]
pub enum Look {
    /// There is no trace yet.
    NotYet,
    /// The run goes on.
    Running(Box<Running>),
    /// All processes have ended.
    Ended,
}

/// State of a run in progress.
#[derive(Debug, Clone)]
pub struct Running {
    /// Of the newest calls.
    pub analysis: Analysis,
    /// Processes that have ended.
    pub n_ended: usize,
    /// For each of the analysis's unfinished instances, for how long it was seen to be so; `None` at the
    /// first look.
    pub waits: Vec<Option<Duration>>,
}

impl Follower {
    /// Follows the trace in a directory, which need not be there yet.
    #[must_use]
    pub fn new(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            tails: BTreeMap::new(),
            is_compact: false,
            waiting: BTreeMap::new(),
        }
    }

    /// Looks at what is there now.
    ///
    /// # Errors
    /// [`AnalyzeError`] if the directory holds something that is no trace.
    pub fn look(&mut self) -> Result<Look, AnalyzeError> {
        let found = Folder::open(&self.directory).and_then(|folder| {
            let refused = self.find_files(&folder)?;
            Ok((folder, refused))
        });
        let (folder, refused) = match found {
            Ok(found) => found,
            Err(error) => {
                return match error.kind() {
                    io::ErrorKind::NotFound => Ok(Look::NotYet),
                    io::ErrorKind::NotADirectory => Err(RunError::NotADirectory {
                        path: self.directory.clone(),
                    }
                    .into()),
                    _ => Err(RunError::Unreachable {
                        path: self.directory.clone(),
                        error,
                    }
                    .into()),
                };
            }
        };
        if self.is_compact {
            return Ok(Look::Ended);
        }
        if self.tails.is_empty() {
            return Ok(Look::NotYet);
        }
        let each = (MAX_RECORDS / self.tails.len()).clamp(OF_A_RANK.0, OF_A_RANK.1);
        let images = self.tails.iter_mut();
        let mut images: Vec<(String, io::Result<Vec<u8>>)> = images
            .map(|(name, tail)| (name.clone(), tail.newest(each)))
            .collect();
        // A file that could not be read is reopened at the next look: it may have been cut.
        for (name, _) in images.iter().filter(|(_, image)| image.is_err()) {
            self.tails.remove(name);
        }
        images.extend(refused.into_iter().map(|(name, why)| (name, Err(why))));
        images.sort_by(|(a, _), (b, _)| a.cmp(b));
        let files = RunFiles::of_images(&folder, &self.directory, images);
        let run = Run::read(&files)?;
        if has_ended(&run) {
            return Ok(Look::Ended);
        }
        let ended = run.processes.iter().filter(|process| is_finalized(process));
        let n_ended = ended.count();
        let options = Options {
            window: Some(WINDOW),
            ..Options::default()
        };
        let analysis = analyze(&files, &options, &mut |_| {})?;
        let waits = self.note_waiting(&analysis);
        Ok(Look::Running(Box::new(Running {
            analysis,
            n_ended,
            waits,
        })))
    }

    /// Opens the rank files that are new; gives those that cannot be opened, and why.
    fn find_files(&mut self, folder: &Folder) -> io::Result<Vec<(String, io::Error)>> {
        let mut refused = Vec::new();
        for name in folder.names()? {
            let shown = name.to_string_lossy().into_owned();
            if !shown.ends_with(".trace") || self.tails.contains_key(&shown) {
                continue;
            }
            let file = folder.file(&name);
            let mut begin = [0; 16];
            let read = file.as_ref().map(|file| file.read_at(&mut begin, 0));
            self.is_compact |= read.is_ok() && is_compact(&begin);
            match file.and_then(Tail::open) {
                Ok(Some(tail)) => drop(self.tails.insert(shown, tail)),
                // Its process begins, or is gone again.
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => refused.push((shown, error)),
            }
        }
        Ok(refused)
    }

    /// For each instance that someone is in for how long it was seen so: `None` at the first look.
    fn note_waiting(&mut self, analysis: &Analysis) -> Vec<Option<Duration>> {
        let now = Instant::now();
        let before = std::mem::take(&mut self.waiting);
        let unfinished = analysis.unfinished.iter().map(|instance| {
            let key = (instance.communicator, instance.internal, instance.sequence);
            let since = before.get(&key).copied();
            self.waiting.insert(key, since.unwrap_or(now));
            since.map(|since| now - since)
        });
        unfinished.collect()
    }
}

fn is_finalized(process: &RankFile<'_>) -> bool {
    process.trace.header.finalized.get() == 1
}

/// Whether no process of the run writes any more: each ended in order, or no longer exists. For a
/// process killed on another host this cannot be determined.
fn has_ended(run: &Run<'_>) -> bool {
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let is_gone = |process: &RankFile<'_>| {
        let identity = &process.trace.identity;
        let is_here = identity.host.boot_id == boot_id.trim();
        is_here && !Path::new(&format!("/proc/{}", identity.pid)).exists()
    };
    let has_all = run.processes.len() == run.world_size as usize;
    let are_finalized = run.processes.iter().all(is_finalized);
    let is_any_gone = run.processes.iter().any(is_gone);
    let has_ended = |process| is_finalized(process) || is_gone(process);
    // A rank that was not recorded, or died in the beginning, leaves no file.
    (has_all && are_finalized) || (is_any_gone && run.processes.iter().all(has_ended))
}

#[cfg(test)]
mod tests {
    use collbench_formats::FileHeader;
    use collbench_generate::generate;

    use super::*;
    use crate::selection::Selection;

    /// Three ranks of two threads and all kinds of calls. Tables that hold for one instant and tell
    /// all are those of rings; this one is larger than the run.
    const SCENARIO: &str = r#"
schema = 1
name = "followed"
chunk_calls = 60
keep_chunks = [1000]
[threads]
side = 1
[[hosts]]
name = "node1"
ranks = 3
clock = "raw"
[[program]]
operation = "MPI_Comm_dup"
makes = "side"
[[program]]
repeat = 60
steps = [
  { phase = 1 },
  { operation = "MPI_Iallreduce", bytes = 8, work = [{ exponential_ns = 9000 }] },
  { operation = "MPI_Allreduce", bytes = 64, work = [{ exponential_ns = 5000 }] },
  { operation = "MPI_Reduce_init", bytes = 512, root = 1 },
  { operation = "MPI_Comm_dup", makes = "copy" },
  { operation = "MPI_Bcast", on = "copy", bytes = 8 },
  { operation = "MPI_Barrier", on = "copy", internal = true },
  { complete = "MPI_Waitall", work = [{ exponential_ns = 20000 }] },
  { phase = 2 },
  { operation = "MPI_Bcast", on = "side", bytes = 80, work = [{ exponential_ns = 3000 }] },
  { operation = "MPI_Comm_free", on = "copy" },
]
"#;

    fn write(directory: &Path) -> PathBuf {
        let scenario = directory.join("scenario.toml");
        fs::write(&scenario, SCENARIO).unwrap();
        generate(&scenario, &directory.join("trace"), Some(3), true).unwrap();
        directory.join("trace")
    }

    fn images(trace: &Path, n: usize) -> RunFiles {
        let mut follower = Follower::new(trace);
        let folder = Folder::open(trace).unwrap();
        follower.find_files(&folder).unwrap();
        let tails = follower.tails.iter_mut();
        let images = tails
            .map(|(name, tail)| (name.clone(), tail.newest(n)))
            .collect();
        RunFiles::of_images(&folder, trace, images)
    }

    /// What is found of the calls from a time on, apart from the trace as a whole: the number of
    /// operations, and all.
    fn from(files: &RunFiles, from_ns: i64) -> (usize, String) {
        let selection = Selection {
            from_ns: Some(from_ns),
            ..Selection::default()
        };
        let options = Options {
            selection,
            window: Some(WINDOW),
            ..Options::default()
        };
        let analysis = analyze(files, &options, &mut |_| {}).unwrap();
        let Analysis {
            trace: _,
            restriction: _,
            alignment: _,
            looked_at: _,
            clock: _,
            phases: _,
            remarks: _,
            // Parts of the duration of the trace.
            efficiencies: _,
            other_calls: _,
            operation_costs: _,
            sites: _,
            causes: _,
            faster: _,
            // All of them, or those that are chosen among all.
            instances: _,
            communicators,
            totals,
            ranks,
            operations,
            imbalance,
            disturbances,
            timeline,
            fine_timeline,
            classes,
            algorithms,
            adaptations,
            running,
            unfinished,
            hang,
            mismatches,
            never_completed,
            details,
        } = analysis;
        let n_operations = operations.len();
        let of_calls = (communicators, totals, ranks, operations, imbalance);
        let over_time = (disturbances, timeline, fine_timeline, classes);
        let of_algorithms = (algorithms, adaptations, running);
        let at_end = (unfinished, hang, mismatches, never_completed, details);
        (
            n_operations,
            format!("{of_calls:#?} {over_time:#?} {of_algorithms:#?} {at_end:#?}"),
        )
    }

    #[test]
    fn the_newest_records_tell_what_the_whole_file_tells_of_their_time() {
        let directory = tempfile::tempdir().unwrap();
        let trace = write(directory.path());
        let whole = RunFiles::open(&trace).unwrap();
        for n in [50, 123, 300] {
            let newest = images(&trace, n);
            let run = Run::read(&newest).unwrap();
            assert!(
                run.processes
                    .iter()
                    .all(|process| process.trace.damage.is_empty())
            );
            let analysis = analyze(&newest, &Options::default(), &mut |_| {}).unwrap();
            let begin = analysis.trace.window.unwrap().from_ns.unwrap();
            let found = from(&newest, begin + 1);
            assert!(found.0 > 4, "{n}");
            assert!(found == from(&whole, begin + 1), "{n}");
        }
        let everything = images(&trace, 1 << 20);
        assert!(from(&everything, 0) == from(&whole, 0));
    }

    #[test]
    fn what_is_no_file_is_named_while_the_run_goes_on_and_a_file_that_is_cut_is_read_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let trace = write(directory.path());
        let mut files: Vec<PathBuf> = fs::read_dir(&trace)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|end| end == "trace"))
            .collect();
        files.sort();
        // One of the processes runs.
        let mut bytes = fs::read(&files[1]).unwrap();
        bytes[std::mem::offset_of!(FileHeader, finalized)] = 0;
        fs::write(&files[1], &bytes).unwrap();
        let secret = directory.path().join("secret");
        fs::write(&secret, "root:x:0").unwrap();
        std::os::unix::fs::symlink(secret, trace.join("link.trace")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", trace.join("device.trace")).unwrap();
        let mut follower = Follower::new(&trace);
        let mut look = || match follower.look() {
            Ok(Look::Running(running)) => format!("{:#?}", running.analysis),
            other => panic!("{other:?}"),
        };
        for _ in 0..2 {
            let found = look();
            for name in ["link.trace", "device.trace"] {
                let named = format!("{name}: cannot be opened: not a regular file");
                assert!(found.contains(&named), "{found}");
            }
            assert!(!found.contains("root:x:0"), "{found}");
        }
        // Cut: reported once, and reopened as it is.
        fs::File::options()
            .write(true)
            .open(&files[1])
            .and_then(|file| file.set_len(bytes.len() as u64 / 2))
            .unwrap();
        let cut = look();
        assert!(!cut.contains("fill whole buffer"), "{cut}");
        let found = look();
        assert!(!found.contains("became shorter"), "{found}");
        assert!(found.contains("ranks: 3,"), "{found}");
    }

    #[test]
    fn a_trace_that_is_not_there_or_has_ended_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let mut early = Follower::new(&directory.path().join("trace"));
        assert!(matches!(early.look(), Ok(Look::NotYet)));
        let trace = write(directory.path());
        assert!(matches!(early.look(), Ok(Look::Ended)));
        // Half a header, as of a process that is about to begin.
        fs::write(trace.join("rank-9.trace"), b"COLLBNCH").unwrap();
        assert!(matches!(early.look(), Ok(Look::Ended)));
        let file = directory.path().join("scenario.toml");
        assert!(Follower::new(&file).look().is_err());
    }
}
