//! What a run has recorded in its trace directory.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use collbench_files::{Folder, Mapped};
use collbench_formats::{FILE_MAGIC, FileHeader, Operation, RankTrace, Record, StopReason};
use collbench_instrument::Form;
use collbench_instrument::directory::{self, is_rank_file};
use collbench_text::quantity::file_size;

use super::not_preloadable::find_not_preloadable;
use crate::interrupt;

/// How long rank 0 of the inner form waits for the other ranks to finish their files.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Counts of what was recorded.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Summary {
    n_ranks: usize,
    n_unfinished: usize,
    n_stopped: usize,
    n_calls: u64,
    /// Records of the ends of messages.
    n_messages: u64,
    pub(super) n_bytes: u64,
    /// Calls that a ring has overwritten.
    n_dropped: u64,
    /// Size of a ring, bytes; 0: all records are retained.
    keep_bytes: u64,
}

/// Nothing, or too little, was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Problem {
    Nothing,
    Gone,
    Missing { recorded: usize, started: usize },
    Unreadable { file: String, error: String },
    OtherRuns(usize),
}

/// Counts what is in the directory. In the inner form other ranks may still be finishing.
pub(super) fn look_at(path: &Path, form: Form) -> Result<Summary, Problem> {
    let begin = Instant::now();
    loop {
        let may_wait =
            form == Form::Inner && begin.elapsed() < TIMEOUT && interrupt::check().is_ok();
        if !(may_wait && some_unfinished(path)) {
            let found = count(path, form);
            // The files of ranks that began late may be missing yet.
            let may_change = !matches!(found, Ok(_) | Err(Problem::Nothing));
            if !(may_wait && may_change) {
                return found;
            }
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether there is a file that its rank has not finished yet.
fn some_unfinished(path: &Path) -> bool {
    let Ok(folder) = Folder::open_no_follow(path) else {
        return false;
    };
    rank_files(&folder).iter().any(|name| {
        let file = folder.file(name);
        file.is_ok_and(|file| !is_finalized(&file).unwrap_or(false))
    })
}

/// The names of all rank files, in no particular order.
fn rank_files(folder: &Folder) -> Vec<OsString> {
    let mut names = folder.names().unwrap_or_default();
    names.retain(|name| is_rank_file(&name.to_string_lossy()));
    names
}

/// Whether the recorder has finished this file: it will not be written any more, nor cut.
fn is_finalized(file: &File) -> io::Result<bool> {
    let mut bytes = [0; size_of::<FileHeader>()];
    file.read_exact_at(&mut bytes, 0)?;
    let header: FileHeader = zerocopy::transmute!(bytes);
    Ok(header.magic == FILE_MAGIC && header.finalized.get() == 1)
}

/// The result of `look` for the bytes of a file, which is mapped, since an unfinished one may be of
/// any size. Its recorder may be about to cut it to its contents, so this tries again if it became
/// shorter.
fn read<T>(file: &File, mut look: impl FnMut(&[u8]) -> T) -> io::Result<T> {
    const TRIES: usize = 3;
    for _ in 1..TRIES {
        if file.metadata()?.len() == 0 {
            return Ok(look(&[]));
        }
        if let Ok(found) = Mapped::of(file)?.read(&mut look) {
            return Ok(found);
        }
    }
    Mapped::of(file)?.read(look)
}

impl Summary {
    /// Counts of a rank file of `n_bytes` bytes.
    fn of(trace: &RankTrace<'_>, n_bytes: usize) -> Self {
        let reason = StopReason::from_code(trace.header.stop_reason.get());
        let (mut n_calls, mut n_messages) = (0, 0);
        for record in trace.chunks.iter().flat_map(|chunk| chunk.records.iter()) {
            let is_call =
                !record.is_internal() && record.operation().is_some_and(Operation::is_counted);
            n_calls += u64::from(is_call);
            n_messages += u64::from(record.message().is_some());
        }
        let window = trace.window.as_ref();
        Self {
            n_ranks: 1,
            n_unfinished: usize::from(trace.header.finalized.get() == 0),
            n_stopped: usize::from(reason != StopReason::NotStopped),
            n_calls: window.map_or(n_calls, |window| window.n_calls_in_window),
            n_messages,
            n_bytes: n_bytes as u64,
            n_dropped: window.map_or(0, |window| window.n_calls_dropped),
            keep_bytes: window.map_or(0, |window| window.keep_bytes),
        }
    }

    /// Adds the counts of another file.
    fn add(&mut self, other: &Self) {
        self.n_ranks += other.n_ranks;
        self.n_unfinished += other.n_unfinished;
        self.n_stopped += other.n_stopped;
        self.n_calls += other.n_calls;
        self.n_messages += other.n_messages;
        self.n_bytes += other.n_bytes;
        self.n_dropped += other.n_dropped;
        self.keep_bytes = self.keep_bytes.max(other.keep_bytes);
    }
}

fn count(path: &Path, form: Form) -> Result<Summary, Problem> {
    let mut summary = Summary::default();
    let mut started = 0;
    let mut of_started_worlds = 0;
    let folder = match Folder::open_no_follow(path) {
        Ok(folder) => folder,
        Err(_) if form == Form::Outer => return Err(Problem::Gone),
        Err(_) => return Err(Problem::Nothing),
    };
    for name in rank_files(&folder) {
        let unreadable = |error: String| Problem::Unreadable {
            file: name.to_string_lossy().into_owned(),
            error,
        };
        let found = folder.file(&name).and_then(|file| {
            read(&file, |bytes| {
                let trace = RankTrace::parse(bytes).map_err(|error| error.to_string())?;
                let world_size = trace.identity.world_size as usize;
                let of_file = Summary::of(&trace, bytes.len());
                Ok((of_file, (!trace.identity.spawned).then_some(world_size)))
            })
        });
        let found = found.map_err(|error| unreadable(error.to_string()))?;
        let (of_file, world_size) = found.map_err(unreadable)?;
        summary.add(&of_file);
        if let Some(world_size) = world_size {
            of_started_worlds += 1;
            started = started.max(world_size);
        }
    }
    if summary.n_ranks == 0 {
        return Err(Problem::Nothing);
    }
    if of_started_worlds < started {
        return Err(Problem::Missing {
            recorded: of_started_worlds,
            started,
        });
    }
    match directory::n_refused(path) {
        0 => Ok(summary),
        n => Err(Problem::OtherRuns(n)),
    }
}

/// The word of a command that runs a program in a container, if there is one.
fn container_runtime(command: &[OsString]) -> Option<String> {
    const RUNTIMES: [&str; 8] = [
        "apptainer",
        "singularity",
        "docker",
        "podman",
        "ch-run",
        "enroot",
        "sarus",
        "shifter",
    ];
    let names = command
        .iter()
        .filter_map(|word| Path::new(word).file_name());
    let mut names = names.map(|name| name.to_string_lossy());
    let found = names.find(|name| RUNTIMES.contains(&name.as_ref()))?;
    Some(found.into_owned())
}

/// "1 rank", "2 ranks".
fn ranks(n: usize) -> String {
    format!("{n} rank{}", if n == 1 { "" } else { "s" })
}

impl Summary {
    /// One line for the user; `path` is the directory as the user would type it.
    pub(super) fn line(&self, path: &str) -> String {
        let mut line = format!("{}, {}", ranks(self.n_ranks), self.n_calls);
        if self.n_dropped > 0 {
            line += &format!(" of {}", self.n_calls + self.n_dropped);
        }
        let is_one = self.n_calls + self.n_dropped == 1;
        let calls = if is_one { "call" } else { "calls" };
        line += &format!(" {calls}, {} in {path}", file_size(self.n_bytes));
        if self.n_dropped > 0 {
            line += &format!(
                "; kept the last {} of each rank, overwrote {} earlier calls",
                file_size(self.keep_bytes),
                self.n_dropped
            );
        }
        if self.n_unfinished > 0 {
            line += &format!("; {} did not reach MPI_Finalize", ranks(self.n_unfinished));
        }
        if self.n_stopped > 0 {
            line += &format!("; recording stopped early on {}", ranks(self.n_stopped));
        }
        if let Some(messages) = self.share_of_messages() {
            line += &format!(
                "; {messages} % of it are messages inside collectives: --layers calls leaves them out, \
                 --keep last:16M keeps the newest only"
            );
        }
        line + &format!("; next: collbench-analyze {path}")
    }

    /// How much of a trace that is large for its calls is messages, in percent, if they are most of it.
    fn share_of_messages(&self) -> Option<u64> {
        const LARGE: u64 = 16 << 20;
        const LARGE_PER_CALL: u64 = 1024;
        let is_large = self.n_bytes >= LARGE.max(self.n_calls.saturating_mul(LARGE_PER_CALL));
        let of_messages = self.n_messages.saturating_mul(size_of::<Record>() as u64);
        let share = of_messages.saturating_mul(100) / self.n_bytes.max(1);
        // Compact records are smaller.
        let is_most = (50..=100).contains(&share);
        (is_large && is_most && self.keep_bytes == 0).then_some(share)
    }
}

impl Problem {
    /// What happened, likely causes, and what to do.
    pub(super) fn explain(&self, path: &str, command: &[OsString], command_failed: bool) -> String {
        const CAUSES: &str = "likely causes:\n  \
             - recording could not start: a line \"not recording\" above says why\n  \
             - the program is linked with a static MPI library (`ldd PROGRAM` shows no libmpi): \
             relink it dynamically\n  \
             - ranks ran on another host, which does not have the preloaded library or the trace \
             directory: use a file system that all hosts share, or the inner form (mpirun \
             ... collbench-record -- PROGRAM)\n  \
             - the loader refused the library (a line \"object ... cannot be preloaded\" above), \
             or the program is set-user-id\n  \
             - a sanitizer refused the library (a line \"ASan runtime does not come first\" above): \
             GCC 9 or LLVM 7 and later accept it unless ASAN_OPTIONS contains \
             verify_asan_link_order=1\n  \
             - the environment was cleared before it reached the ranks (env -i, sudo, srun \
             --export): use the inner form after that command\n  \
             - the program looks up MPI functions in the MPI library directly (Julia, ctypes, \
             RTLD_DEEPBIND): it cannot be recorded";
        if let (Self::Nothing | Self::Missing { .. }, Some((word, not_preloadable))) =
            (self, find_not_preloadable(command))
        {
            let recorded = match self {
                Self::Missing { recorded, started } => {
                    format!("{path}: {recorded} of {started} ranks were recorded")
                }
                _ => "nothing was recorded".to_owned(),
            };
            let word = word.to_string_lossy();
            return format!(
                "{recorded}: {} {}",
                word.escape_debug(),
                not_preloadable.explain()
            );
        }
        if let (Self::Nothing | Self::Missing { .. }, Some(runtime)) =
            (self, container_runtime(command))
        {
            return format!(
                "{path}: not all ranks were recorded: {runtime} runs the program in a container, where \
                 the preloaded library or the trace directory may not be visible; mount both, and put \
                 collbench-record inside ({runtime} ... collbench-record -- PROGRAM). Otherwise \
                 {CAUSES}"
            );
        }
        let itself = if command_failed {
            "; COMMAND failed, which may be the reason. Other "
        } else {
            "; "
        };
        match self {
            Self::Nothing => format!(
                "nothing was recorded: no process with the preloaded library called \
                 MPI_Init{itself}{CAUSES}\n  - the program does not use MPI"
            ),
            Self::Gone => format!(
                "{path} was removed or renamed while COMMAND ran; if it was renamed, the trace is \
                 at its new path"
            ),
            Self::Missing { recorded, started } => format!(
                "{path}: {recorded} of {started} ranks were recorded{itself}{CAUSES}\n  - a rank was \
                 killed inside MPI_Init"
            ),
            Self::Unreadable { file, error } => format!("{path}/{}: {error}", file.escape_debug()),
            Self::OtherRuns(n) => {
                let were = if *n == 1 { "was" } else { "were" };
                format!(
                    "{path} holds the first MPI run that COMMAND started; {n} more {were} not \
                     recorded: record each run separately, into its own directory (-o)"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_named_as_the_likely_cause() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let explain = |line: &str| Problem::Nothing.explain("t", &words(line), false);
        let inside = explain("mpirun -n 4 /usr/bin/apptainer exec image.sif ./app");
        assert!(
            inside.contains("apptainer ... collbench-record -- PROGRAM"),
            "{inside}"
        );
        assert!(!explain("mpirun -n 4 ./apptainers").contains("container"));
    }

    #[test]
    fn a_trace_that_messages_made_large_says_how_to_record_less() {
        let large = Summary {
            n_ranks: 16,
            n_calls: 3_200,
            n_messages: 700_000,
            n_bytes: 25_000_000,
            ..Summary::default()
        };
        assert_eq!(
            large.line("t"),
            "16 ranks, 3200 calls, 25 MB in t; 89 % of it are messages inside collectives: --layers calls \
             leaves them out, --keep last:16M keeps the newest only; next: collbench-analyze t"
        );
        // Small, of many calls, of other records, or limited already.
        for other in [
            Summary {
                n_bytes: 10_000_000,
                ..large.clone()
            },
            Summary {
                n_calls: 100_000,
                ..large.clone()
            },
            Summary {
                n_messages: 300_000,
                ..large.clone()
            },
            Summary {
                keep_bytes: 1 << 20,
                ..large
            },
        ] {
            assert!(!other.line("t").contains("messages"), "{other:?}");
        }
    }
}
