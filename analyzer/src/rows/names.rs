//! What the numbers of operations and causes stand for.

use std::collections::hash_map::Entry;

use collbench_causes::{Cause, Part};
use rustc_hash::FxHashMap;

use crate::communicators::Communicators;
use crate::judge::operations::algorithm;
use crate::sums::instances::operation_key::{OperationKey, completion_hash};
use crate::trace::run::Run;

/// One operation, as distinguished by communicator, root, size and algorithm.
#[derive(Debug, Clone)]
pub struct OperationRow {
    pub(crate) key: OperationKey,
    /// Name of the standard.
    pub operation: &'static str,
    /// Index of the communicator of the results; `None` where it is not known.
    pub communicator: Option<usize>,
    /// World rank of the root; `None` for operations without.
    pub root: Option<u32>,
    /// The algorithm; `None` where it is not known.
    pub algorithm: Option<String>,
    /// The library's names of its algorithms; `None` where it reported none.
    pub library_name: Option<String>,
    /// Index in [`Analysis::operations`](crate::Analysis::operations); `None` where none of its calls is counted there.
    pub place: Option<usize>,
}

/// What waits are charged to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CauseRow {
    /// Its kind.
    pub kind: WaitCauseKind,
    /// World rank of the process that is waited for; `None` for kinds without.
    pub rank: Option<u32>,
    /// What that process does more than others; `None` for kinds without.
    pub part: Option<CausePart>,
    /// Number of the operation that takes long; `None` for kinds without, and where it is not one of those that are wanted.
    pub operation: Option<u32>,
    /// Index of the communicator of the results whose ranks have different amounts of work; `None` for kinds without.
    pub communicator: Option<usize>,
}

/// Kinds of causes of waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitCauseKind {
    /// A rank does more of something than the median of its communicator.
    LateRank,
    /// A rank does more of something before its first collective with others.
    LateAtStart,
    /// Ranks have different amounts of work, none more than the median.
    Imbalance,
    /// A rank left another operation later than others.
    OperationTime,
    /// Ranks began at different times.
    Startup,
    /// The wait is below the error of the clocks.
    Unresolved,
    /// The cause lies before what was recorded, or is not retained.
    Unexplained,
}

impl WaitCauseKind {
    /// Its code, as other programs read it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::LateRank => "late_rank",
            Self::LateAtStart => "late_at_start",
            Self::Imbalance => "imbalance",
            Self::OperationTime => "operation_time",
            Self::Startup => "startup",
            Self::Unresolved => "unresolved",
            Self::Unexplained => "unexplained",
        }
    }
}

/// What a late rank does more than others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum CausePart {
    /// Its own work: computing, or code that is not recorded.
    OwnWork,
    /// Time in another operation.
    Operation,
    /// Point-to-point communication.
    PointToPoint,
    /// Calls of MPI-IO.
    Io,
    /// One-sided communication.
    Rma,
    /// The recorder paused it.
    Recorder,
    /// It was being started.
    Launch,
}

impl CausePart {
    /// Its code, as other programs read it.
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::OwnWork => "own_work",
            Self::Operation => "operation",
            Self::PointToPoint => "point_to_point",
            Self::Io => "io",
            Self::Rma => "rma",
            Self::Recorder => "recorder",
            Self::Launch => "launch",
        }
    }
}

/// Numbers operations and causes in the order in which they are met.
pub(super) struct Names<'a> {
    run: &'a Run<'a>,
    communicators: &'a Communicators,
    pub(super) operations: Vec<OperationRow>,
    by_key: FxHashMap<OperationKey, u32>,
    pub(super) causes: Vec<CauseRow>,
    /// The cause of each row.
    attributed: Vec<Cause>,
    by_cause: FxHashMap<Cause, u32>,
}

impl<'a> Names<'a> {
    pub(super) fn new(run: &'a Run<'a>, communicators: &'a Communicators) -> Self {
        Self {
            run,
            communicators,
            operations: Vec::new(),
            by_key: FxHashMap::default(),
            causes: Vec::new(),
            attributed: Vec::new(),
            by_cause: FxHashMap::default(),
        }
    }

    /// The number of an operation.
    pub(super) fn operation(&mut self, key: &OperationKey) -> u32 {
        let number = match self.by_key.entry(*key) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(new) => *new.insert(self.operations.len() as u32),
        };
        let reported = key.reported;
        self.operations.push(OperationRow {
            key: *key,
            operation: key.operation.name(),
            communicator: key.entry,
            root: key.root,
            algorithm: algorithm(self.communicators, key),
            library_name: reported.map(|names| self.run.names.in_words(names)),
            place: None,
        });
        number
    }

    /// The number of a cause.
    pub(super) fn cause(&mut self, cause: Cause) -> u32 {
        let number = match self.by_cause.entry(cause) {
            Entry::Occupied(known) => return *known.get(),
            Entry::Vacant(new) => *new.insert(self.causes.len() as u32),
        };
        self.attributed.push(cause);
        let row = self.cause_row(cause);
        self.causes.push(row);
        number
    }

    fn cause_row(&self, cause: Cause) -> CauseRow {
        let mut row = CauseRow {
            kind: WaitCauseKind::Unexplained,
            rank: None,
            part: None,
            operation: None,
            communicator: None,
        };
        match cause {
            Cause::Late { process, part } | Cause::LateAtStart { process, part } => {
                row.kind = match cause {
                    Cause::Late { .. } => WaitCauseKind::LateRank,
                    _ => WaitCauseKind::LateAtStart,
                };
                row.rank = Some(self.run.processes[process as usize].rank());
                row.part = Some(match part {
                    None => CausePart::OwnWork,
                    Some(Part::Operation(_)) => CausePart::Operation,
                    Some(Part::PointToPoint(_)) => CausePart::PointToPoint,
                    Some(Part::Io) => CausePart::Io,
                    Some(Part::Rma) => CausePart::Rma,
                    Some(Part::Recorder) => CausePart::Recorder,
                    Some(Part::Launch) => CausePart::Launch,
                });
            }
            Cause::Imbalance { communicator } => {
                row.kind = WaitCauseKind::Imbalance;
                let communicator = self.communicators.list.get(communicator as usize);
                row.communicator = communicator.map(|of| of.entry);
            }
            Cause::Operation(_) => row.kind = WaitCauseKind::OperationTime,
            Cause::Startup => row.kind = WaitCauseKind::Startup,
            Cause::Unresolved => row.kind = WaitCauseKind::Unresolved,
            Cause::Unexplained => row.kind = WaitCauseKind::Unexplained,
        }
        row
    }

    /// All operations and causes, those with an operation with its number.
    pub(super) fn finish(self) -> (Vec<OperationRow>, Vec<CauseRow>) {
        let keys = self.by_key.iter();
        let of_hashes = keys.flat_map(|(key, &number)| {
            let hash = key.stable_hash();
            [(hash, number), (completion_hash(hash), number)]
        });
        let of_hashes: FxHashMap<u64, u32> = of_hashes.collect();
        let mut causes = self.causes;
        for (row, cause) in causes.iter_mut().zip(&self.attributed) {
            let hash = match cause {
                Cause::Operation(hash) => Some(hash),
                Cause::Late { part, .. } | Cause::LateAtStart { part, .. } => match part {
                    Some(Part::Operation(hash)) => Some(hash),
                    _ => None,
                },
                _ => None,
            };
            row.operation = hash.and_then(|hash| of_hashes.get(hash)).copied();
        }
        (self.operations, causes)
    }
}
