//! Rank files made of plain lists of calls, for tests.
//!
//! Ticks are ns (`CLOCK_MONOTONIC_RAW`) unless a test says otherwise; every process leaves
//! `MPI_Init` at tick [`START`], so that a call at `START + t` is at t ns of the run.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part")]

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::Path;

use collbench_analyzer::results::{OperationSummary, Remark};
use collbench_analyzer::{Analysis, AnalyzeError, Options, RunFiles, Selection};
use collbench_formats::write::{ChunkPosition, RankFileWriter, Stop};
use collbench_formats::{
    Anchor, Communicator, CommunicatorKind, CompletingCall, Completion, Definition, Direction,
    Identity, Initiation, Layer, LayerState, Message, Operation, PersistentCollective,
    PersistentStart, Record, SequenceEntry, StopReason, UnsuccessfulTests, phase_words,
};
use tempfile::TempDir;

/// Ticks at which every process leaves `MPI_Init`.
pub const START: u64 = 1_000_000;

/// A chunk of one thread.
#[derive(Debug, Clone, Default)]
pub struct TestChunk {
    pub thread: u32,
    pub ordinal: u32,
    pub first_record: u64,
    /// (communicator, internal calls, calls)
    pub sequences: Vec<(u32, u32, u64)>,
    pub records: Vec<Record>,
    /// Since the start; 0: right before the first call.
    pub opened: u64,
}

/// One process to be written.
#[derive(Debug, Clone)]
pub struct TestProcess {
    pub identity: Identity,
    pub definitions: Vec<Definition>,
    pub chunks: Vec<TestChunk>,
    pub is_finalized: bool,
    /// The size of the ring that it is; 0: it is none.
    pub keep_bytes: u64,
    /// When recording stopped early; 0: it did not.
    pub stopped_at: u64,
}

/// A trace to be written.
#[derive(Debug, Clone)]
pub struct TestTrace {
    pub processes: Vec<TestProcess>,
}

pub fn anchor(ticks: u64) -> Anchor {
    [ticks, ticks, ticks, ticks, 1].into()
}

/// A call at `enter..leave` ns since the start; a leave of 0 is a call under way.
pub fn call(
    operation: Operation,
    communicator: u32,
    root: i32,
    payload: u64,
    (enter, leave): (u64, u64),
) -> Record {
    let leave = if leave == 0 { 0 } else { START + leave };
    Record::call(
        operation,
        0,
        communicator,
        root,
        payload,
        START + enter,
        leave,
    )
}

/// The initiation of a nonblocking collective.
pub fn begin(
    operation: Operation,
    communicator: u32,
    root: i32,
    payload: u64,
    stamps: (u64, u64),
) -> Record {
    assert!(operation.is_nonblocking());
    call(operation, communicator, root, payload, stamps)
}

/// The initiation of call number `position` on a communicator.
pub fn initiation(communicator: u32, position: u64) -> Initiation {
    Initiation::Nonblocking {
        communicator,
        position,
    }
}

/// Start number `start` of a persistent collective.
pub fn started(definition: u32, start: u64) -> Initiation {
    Initiation::Persistent { definition, start }
}

/// One of `n_together` collectives that a call completed at `enter..leave` ns since the start; a
/// leave of 0 is a call under way.
pub fn complete(
    of: Initiation,
    by: CompletingCall,
    n_together: u32,
    (enter, leave): (u64, u64),
) -> Record {
    let words = Completion { of, by, n_together }.words();
    let leave = if leave == 0 { 0 } else { START + leave };
    Record::of_words(words, START + enter, leave)
}

/// `n` unsuccessful tests, which took `spent` ns in all, before a completion at `enter`.
pub fn tested(of: Initiation, n: u32, spent: u64, enter: u64) -> Record {
    let of_index = match of {
        Initiation::Nonblocking { communicator, .. } => communicator,
        Initiation::Persistent { definition, .. } => definition,
    };
    let tests = UnsuccessfulTests {
        of_index,
        n,
        spent_ticks: spent,
    };
    let words = tests.words(of, CompletingCall::Test);
    Record::of_words(words, START + enter, START + enter)
}

/// One of `n_together` starts of persistent collectives by one call.
pub fn start(
    operation: Operation,
    communicator: u32,
    definition: u32,
    n_together: u32,
    (enter, leave): (u64, u64),
) -> Record {
    let start = PersistentStart {
        definition,
        n_together,
    };
    let words = start.words(operation, communicator);
    Record::of_words(words, START + enter, START + leave)
}

/// An end of a message of 8 bytes inside the call before it.
pub fn message(
    direction: Direction,
    communicator: u32,
    partner: u32,
    stamps: (u64, u64),
) -> Record {
    tagged_message(direction, communicator, partner, -12, stamps)
}

/// A message with the given tag.
pub fn tagged_message(
    direction: Direction,
    communicator: u32,
    partner: u32,
    tag: i16,
    (begin, end): (u64, u64),
) -> Record {
    let message = Message {
        direction,
        is_nonblocking: false,
        partner,
        communicator,
        tag: tag as u16,
        bytes: 8,
    };
    let end = if end == 0 { 0 } else { START + end };
    Record::of_words(message.words(), START + begin, end)
}

/// `MPI_Pcontrol`.
pub fn phase(level: i32, at: u64) -> Record {
    Record::of_words(phase_words(level), START + at, START + at + 1)
}

pub fn communicator(index: u32, id: u64, size: u32, rank: u32) -> Communicator {
    Communicator::predefined(index, id, size, rank)
}

/// A part of the world, as `MPI_Comm_split` number `position` on it makes it.
pub fn split(index: u32, id: u64, members: &[u32], world_rank: u32, position: u64) -> Communicator {
    let rank = members.iter().position(|&m| m == world_rank).unwrap() as u32;
    Communicator {
        parent: 0,
        constructor: Operation::CommSplit.code(),
        position,
        first_member: members[0],
        ..communicator(index, id, members.len() as u32, rank)
    }
}

/// An intercommunicator between two groups of world ranks.
pub fn inter(index: u32, id: u64, groups: [&[u32]; 2], world_rank: u32) -> Communicator {
    let own = usize::from(!groups[0].contains(&world_rank));
    let (local, remote) = (groups[own], groups[1 - own]);
    Communicator {
        parent: 0,
        constructor: Operation::IntercommCreate.code(),
        kind: CommunicatorKind::Inter,
        remote_size: remote.len() as u32,
        remote_first_member: remote[0],
        ..split(index, id, local, world_rank, 0)
    }
}

impl TestProcess {
    pub fn new(rank: u32, world_size: u32) -> Self {
        Self {
            identity: Identity {
                layers: vec![
                    LayerState::new(Layer::Calls, true, ""),
                    LayerState::new(Layer::Messages, false, "not in this version"),
                ],
                command: vec!["./app".into(), "-x".into()],
                anchors: vec![anchor(START - 500).into(), anchor(START).into()],
                ..Identity::made_up(rank, world_size)
            },
            definitions: vec![
                Definition::Communicator(communicator(0, 1, world_size, rank)),
                Definition::Communicator(Communicator {
                    first_member: rank,
                    ..communicator(1, 2 + u64::from(rank) * 1000, 1, 0)
                }),
            ],
            chunks: vec![TestChunk::default()],
            is_finalized: true,
            keep_bytes: 0,
            stopped_at: 0,
        }
    }

    pub fn define(&mut self, communicator: Communicator) -> &mut Self {
        self.definitions
            .push(Definition::Communicator(communicator));
        self
    }

    /// A persistent collective on the world, by its index in this process and its position in all of them.
    pub fn persistent(
        &mut self,
        (index, position): (u32, u64),
        operation: Operation,
        root: i32,
        payload_bytes: u64,
    ) -> &mut Self {
        let collective = PersistentCollective {
            index,
            communicator: 0,
            position,
            operation: operation.code(),
            root,
            payload_bytes: Some(payload_bytes),
        };
        self.definitions
            .push(Definition::PersistentCollective(collective));
        self
    }

    /// The calls of another thread.
    pub fn thread(&mut self, thread: u32, records: Vec<Record>) -> &mut Self {
        self.chunks.push(TestChunk {
            thread,
            records,
            ..TestChunk::default()
        });
        self
    }

    pub fn call(&mut self, record: Record) -> &mut Self {
        self.chunks[0].records.push(record);
        self
    }

    /// Its messages were recorded, by default.
    pub fn with_messages(&mut self) -> &mut Self {
        for layer in &mut self.identity.layers {
            (layer.on, layer.reason) = (true, LayerState::BY_DEFAULT.into());
        }
        self
    }

    /// Its time in point-to-point communication was recorded, too, and when `MPI_Init` returned; before any call.
    pub fn with_point_to_point(&mut self) -> &mut Self {
        let point_to_point = LayerState::new(Layer::PointToPoint, true, "");
        self.identity.layers.push(point_to_point);
        self.call(Record::call(
            Operation::Init,
            0,
            0,
            -1,
            0,
            START - 100,
            START,
        ))
    }

    /// Whether its threads were on a core was recorded, too.
    pub fn with_switches(&mut self) -> &mut Self {
        let switches = LayerState::new(Layer::Switches, true, "");
        self.identity.layers.push(switches);
        self
    }

    pub fn on_host(&mut self, name: &str) -> &mut Self {
        self.identity.host.name = name.into();
        self.identity.host.boot_id = format!("boot of {name}");
        self
    }

    pub fn bytes(&self) -> Vec<u8> {
        let end = self
            .chunks
            .iter()
            .flat_map(|c| &c.records)
            .map(|record| record.leave.get().max(record.enter.get()))
            .max()
            .unwrap_or(START);
        let written = "it is small, and memory takes it";
        let out = Cursor::default();
        let mut writer = RankFileWriter::new(out, self.identity.clone()).expect(written);
        if self.keep_bytes > 0 {
            writer.keep_newest(usize::MAX, self.keep_bytes);
            let first = self.chunks.first();
            writer.add_overwritten(first.map_or(0, |first| first.first_record));
        }
        let opened = anchor(START - 400);
        writer
            .append_definitions(opened, &self.definitions)
            .expect(written);
        for chunk in &self.chunks {
            let place = ChunkPosition {
                thread: chunk.thread,
                ordinal: chunk.ordinal,
                first_record: chunk.first_record,
                first_call: 0,
                // As a recorder does: right before the first call of a chunk, after the one before.
                anchor: match (chunk.ordinal, chunk.records.first()) {
                    _ if chunk.opened > 0 => anchor(START + chunk.opened),
                    (1.., Some(first)) => anchor(first.enter.get() - 1),
                    _ => anchor(START - 300),
                },
                // Of a ring it is the instant of the table.
                prepare: match self.keep_bytes {
                    0 => (0, 0),
                    _ => (START + chunk.opened, START + chunk.opened),
                },
            };
            let sequences: Vec<SequenceEntry> = chunk
                .sequences
                .iter()
                .map(|&(communicator, internal_calls, calls)| SequenceEntry {
                    communicator: communicator.into(),
                    internal_calls: internal_calls.into(),
                    calls: calls.into(),
                })
                .collect();
            writer
                .append_chunk(&place, &sequences, &chunk.records, self.is_finalized)
                .expect(written);
        }
        let end = self.is_finalized.then(|| anchor(end + 1000));
        let stop = (self.stopped_at > 0).then_some(Stop {
            reason: StopReason::NoSpace,
            ticks: START + self.stopped_at,
            calls_after: 0,
            text: "",
        });
        writer.finish(end, stop).expect(written);
        writer.into_inner().into_inner()
    }
}

impl TestTrace {
    pub fn new(n_ranks: u32) -> Self {
        Self {
            processes: (0..n_ranks).map(|r| TestProcess::new(r, n_ranks)).collect(),
        }
    }

    /// One instance on `MPI_COMM_WORLD` with these stamps of the ranks.
    pub fn world(&mut self, operation: Operation, root: i32, payload: u64, stamps: &[(u64, u64)]) {
        for (process, &stamps) in self.processes.iter_mut().zip(stamps) {
            process.call(call(operation, 0, root, payload, stamps));
        }
    }

    /// One barrier on `MPI_COMM_WORLD` with these stamps of the ranks.
    pub fn barrier(&mut self, stamps: &[(u64, u64)]) {
        self.world(Operation::Barrier, -1, 0, stamps);
    }

    /// No process comes to `MPI_Finalize`.
    pub fn is_killed(&mut self) {
        for process in &mut self.processes {
            process.is_finalized = false;
        }
    }

    /// Four ranks that hang: rank 2 never comes to the broadcast, which the others do not agree about.
    pub fn hanging() -> Self {
        let mut trace = Self::new(4);
        trace.barrier(&[(0, 900), (100, 910), (300, 920), (20, 930)]);
        for rank in [0, 1, 3] {
            trace.processes[rank].call(call(Operation::Bcast, 0, 2, 64, (2000, 0)));
        }
        trace.is_killed();
        trace
    }

    /// Writes rank files and run.json.
    pub fn write(&self, directory: &Path) {
        for process in &self.processes {
            let name = format!("rank-{:06}.trace", process.identity.rank);
            std::fs::write(directory.join(name), process.bytes()).unwrap();
        }
        let manifest =
            r#"{"schema":"collbench.run/1","recorder":"0.1.0","command":["mpirun","./app"]}"#;
        std::fs::write(directory.join("run.json"), manifest).unwrap();
    }

    pub fn in_directory(&self) -> TempDir {
        let directory = tempfile::tempdir().unwrap();
        self.write(directory.path());
        directory
    }

    pub fn analyze(&self) -> Analysis {
        self.analyze_part(&Selection::default())
    }

    pub fn analyze_part(&self, selection: &Selection) -> Analysis {
        let directory = self.in_directory();
        analyze(directory.path(), selection)
    }
}

/// Analyses a directory; its name, which differs from run to run, is taken out.
pub fn analyze(directory: &Path, selection: &Selection) -> Analysis {
    let mut analysis = analyze_part(directory, selection).unwrap();
    analysis.trace.directory = "trace".into();
    analysis
}

/// The analysis of a part of a trace, if it can be analysed.
pub fn analyze_part(directory: &Path, selection: &Selection) -> Result<Analysis, AnalyzeError> {
    let options = Options {
        selection: selection.clone(),
        ..Options::default()
    };
    collbench_analyzer::analyze(&RunFiles::open(directory)?, &options, &mut |_| {})
}

/// The analysis of a whole trace, of which so many records are looked at together.
pub fn analyze_in_windows(directory: &Path, window: u64) -> Analysis {
    let options = Options {
        window: Some(window),
        ..Options::default()
    };
    let files = RunFiles::open(directory).unwrap();
    collbench_analyzer::analyze(&files, &options, &mut |_| {}).unwrap()
}

/// The only one of a list.
#[track_caller]
pub fn one<T: std::fmt::Debug>(list: &[T]) -> &T {
    assert_eq!(list.len(), 1, "{list:?}");
    &list[0]
}

/// Asserts that a text has a part; shows the text if it does not.
#[track_caller]
pub fn assert_has(text: &str, part: &str) {
    assert!(text.contains(part), "{part}: {text}");
}

/// The only entry of this operation.
#[track_caller]
pub fn only<'a>(analysis: &'a Analysis, operation: &str) -> &'a OperationSummary {
    let mut found = analysis
        .operations
        .iter()
        .filter(|o| o.operation == operation);
    let first = found.next().unwrap_or_else(|| panic!("no {operation}"));
    assert!(found.next().is_none(), "several {operation}");
    first
}

/// Instances of an operation, those that are not complete, and calls.
pub fn counts(of: &OperationSummary) -> [u64; 3] {
    [of.instances, of.incomplete, of.calls]
}

/// Remark codes, in order.
pub fn codes(analysis: &Analysis) -> Vec<&str> {
    analysis.remarks.iter().map(Remark::code).collect()
}

/// All that there is of an analysis, for comparing it with another one.
pub fn shown(analysis: &Analysis) -> String {
    format!("{analysis:#?}")
}

/// Sums of a distribution by name, for comparing with those of another route.
pub fn totals(operation: &OperationSummary) -> BTreeMap<&'static str, Option<(u64, i64)>> {
    let sum = |s: &Option<collbench_analyzer::results::Summary>| s.as_ref().map(|s| (s.n, s.total));
    BTreeMap::from([
        ("duration", sum(&operation.duration_ns)),
        ("call", sum(&operation.call_time_ns)),
        ("wait", sum(&operation.wait_ns)),
        ("lag", sum(&operation.arrival_lag_ns)),
        ("core", sum(&operation.core_ns)),
        ("departure", sum(&operation.departure_wait_ns)),
    ])
}
