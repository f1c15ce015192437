//! The messages of a trace, process by process.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, ensure};
use collbench_files::{Folder, Mapped};
use collbench_formats::{Definition, Direction, RankTrace, Record, RecordKind};

/// Most messages of a process that are read: parameters are known long before.
pub(super) const MOST: usize = 1_000_000;

/// One end of a message, on the clock of its process.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct End {
    pub(super) direction: Direction,
    /// Whether the call of the MPI library returned before the message had arrived.
    pub(super) is_nonblocking: bool,
    /// Rank of the other process, where it is known.
    pub(super) partner: Option<usize>,
    /// The number of the communicator on which its members agree; `None` if the library made it for
    /// itself.
    pub(super) communicator: Option<u64>,
    pub(super) bytes: u64,
    pub(super) tag: u16,
    /// When the library began to send, or posted the receive, ns.
    pub(super) begin_ns: f64,
    /// When its call returned, or it saw that the message had arrived, ns; `None` if it looked
    /// without a call.
    pub(super) end_ns: Option<f64>,
    /// Number of the call of the application in which it is.
    pub(super) call: usize,
}

/// The messages of one process.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Process {
    pub(super) rank: usize,
    /// Name of its host.
    pub(super) host: String,
    /// Equal for processes with one clock.
    pub(super) clock: (String, u64),
    /// In the order of the file, at most [`MOST`].
    pub(super) ends: Vec<End>,
    /// Whether there are more.
    pub(super) is_cut: bool,
}

/// All processes of a trace, by rank.
///
/// # Errors
/// Says which file cannot be read, or what kind of run this does not work for.
pub(super) fn processes(directory: &Path) -> anyhow::Result<Vec<Process>> {
    let at = || format!("--trace {}", directory.display());
    let folder = Folder::open(directory).with_context(at)?;
    let mut names = folder.names().with_context(at)?;
    names.retain(|name| {
        Path::new(name)
            .extension()
            .is_some_and(|end| end == "trace")
    });
    ensure!(
        !names.is_empty(),
        "{}: has no rank files; expected a trace directory",
        at()
    );
    let mut processes = Vec::new();
    for name in names {
        let path = || directory.join(&name).display().to_string();
        let mapped = folder.file(&name).and_then(|file| Mapped::of(&file));
        let mapped = mapped.with_context(path)?;
        let process = mapped.read(Process::of).with_context(path)?;
        processes.push(process.with_context(path)?);
    }
    processes.sort_by_key(|process| process.rank);
    let is_one_world = processes.windows(2).all(|two| two[0].rank != two[1].rank);
    ensure!(
        is_one_world,
        "{}: several processes have the same rank; parameters of programs that start processes are \
         not known",
        at()
    );
    Ok(processes)
}

impl Process {
    fn of(bytes: &[u8]) -> anyhow::Result<Self> {
        let trace = RankTrace::parse(bytes)?;
        let readings: Vec<[u64; 5]> = trace
            .anchors
            .iter()
            .map(|anchor| (*anchor).into())
            .collect();
        let ns_per_tick = match (readings.first(), readings.last()) {
            (Some(first), Some(last)) if last[0] > first[0] && last[1] > first[1] => {
                (last[1] - first[1]) as f64 / (last[0] - first[0]) as f64
            }
            // A single reading: clocks other than the time stamp counter count in ns.
            _ => 1.0,
        };
        let origin = readings.first().map_or(0, |first| first[0]);
        let ns = |ticks: u64| (i128::from(ticks) - i128::from(origin)) as f64 * ns_per_tick;
        let communicators = communicators(&trace);
        let mut call = 0;
        let records = trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
        let mut ends = records.filter_map(|record| {
            call += usize::from(record.kind() == Some(RecordKind::Call));
            End::of(&record, ns, call, &communicators)
        });
        let read: Vec<End> = ends.by_ref().take(MOST).collect();
        Ok(Self {
            rank: trace.identity.rank as usize,
            host: trace.identity.host.name.clone(),
            clock: (
                trace.identity.host.boot_id.clone(),
                trace.identity.host.time_namespace,
            ),
            ends: read,
            is_cut: ends.next().is_some(),
        })
    }
}

/// By the index that records of this process use, the number on which all members agree.
fn communicators(trace: &RankTrace<'_>) -> BTreeMap<u32, u64> {
    let definitions = trace.definitions.iter();
    let communicators = definitions.filter_map(|definition| match definition {
        Definition::Communicator(communicator) => Some((communicator.index, communicator.id)),
        _ => None,
    });
    communicators.collect()
}

impl End {
    fn of(
        record: &Record,
        ns: impl Fn(u64) -> f64,
        call: usize,
        communicators: &BTreeMap<u32, u64>,
    ) -> Option<Self> {
        let message = record.message()?;
        let leave = record.leave.get();
        Some(Self {
            direction: message.direction,
            is_nonblocking: message.is_nonblocking,
            partner: message.known_partner().map(|rank| rank as usize),
            communicator: communicators.get(&message.communicator).copied(),
            bytes: message.bytes,
            tag: message.tag,
            begin_ns: ns(record.enter.get()),
            end_ns: (leave > 0).then(|| ns(leave)),
            call,
        })
    }
}
