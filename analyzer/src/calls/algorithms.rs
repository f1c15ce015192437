//! Which algorithms the MPI library ran for which operations, by the library's names.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use collbench_formats::{AlgorithmStart, Definition, Layer, Operation, Record};
use collbench_text::inert;
use serde::{Deserialize, Serialize};

use crate::communicators::Communicators;
use crate::trace::rank_file::RankFile;
use crate::trace::run::Run;

/// Characters of a name that are kept.
const MAX_NAME: usize = 128;

/// An algorithm of the MPI library under one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AlgorithmSummary {
    /// The operation that the application called.
    pub operation: Cow<'static, str>,
    /// What the library calls the algorithm.
    pub name: String,
    /// Calls of the application in which it was begun, counted once per call.
    pub calls: u64,
    /// The least and the most payload of these calls, bytes; `None` where none of them is known.
    pub bytes_min: Option<u64>,
    /// See `bytes_min`.
    pub bytes_max: Option<u64>,
    /// Processes of the smallest and the largest communicator that they were made on; `None` where
    /// that is not known.
    pub processes_min: Option<u32>,
    /// See `processes_min`.
    pub processes_max: Option<u32>,
}

/// The least and the most of some numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Range {
    least: u64,
    most: u64,
}

impl Range {
    fn extend(this: &mut Option<Self>, with: Option<Self>) {
        *this = match (*this, with) {
            (Some(a), Some(b)) => Some(Self {
                least: a.least.min(b.least),
                most: a.most.max(b.most),
            }),
            (a, b) => a.or(b),
        };
    }

    fn of(number: u64) -> Self {
        Self {
            least: number,
            most: number,
        }
    }
}

/// What is known of an algorithm under an operation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Uses {
    n_calls: u64,
    bytes: Option<Range>,
    n_processes: Option<Range>,
}

/// The algorithms recorded by a process: by number of the operation, and index of the definition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AlgorithmCounts {
    uses: BTreeMap<(u16, u32), Uses>,
    /// The last call, and the algorithms already counted for it.
    last: Option<(Record, BTreeSet<u32>)>,
}

impl AlgorithmCounts {
    /// Counts an algorithm that was begun in a call; `n_processes` are those of its communicator.
    pub(crate) fn count(
        &mut self,
        begun: AlgorithmStart,
        call: &Record,
        operation: Operation,
        n_processes: Option<usize>,
    ) {
        match &mut self.last {
            Some((last, counted)) if last == call => {
                if !counted.insert(begun.index) {
                    return;
                }
            }
            last => *last = Some((*call, BTreeSet::from([begun.index]))),
        }
        let uses = self
            .uses
            .entry((operation.code(), begun.index))
            .or_default();
        uses.n_calls += 1;
        Range::extend(&mut uses.bytes, call.payload_bytes().map(Range::of));
        let n_processes = n_processes.map(|n| Range::of(n as u64));
        Range::extend(&mut uses.n_processes, n_processes);
    }
}

/// The calls that were seen last in each thread of a process, where algorithms are noted.
pub(crate) type LastCalls = BTreeMap<u32, Record>;

fn is_noted(file: &RankFile<'_>) -> bool {
    file.has_layer(Layer::Algorithms)
}

/// Number of processes of the communicator that a call was made on.
pub(crate) fn n_processes(
    local_comm: Option<usize>,
    process: usize,
    communicators: &Communicators,
) -> Option<usize> {
    let local_comm = communicators.local_comms[process].get(local_comm?)?;
    let communicator = &communicators.list[local_comm.communicator as usize];
    Some(communicator.members.len())
}

/// All recorded algorithms, by operation and name; `None` where the layer was off in all processes.
/// `counts` are those of each process of the run.
pub(crate) fn algorithms<'c>(
    run: &Run<'_>,
    counts: impl IntoIterator<Item = &'c AlgorithmCounts>,
) -> Option<Vec<AlgorithmSummary>> {
    if !run.processes.iter().any(is_noted) {
        return None;
    }
    let mut all: BTreeMap<(Operation, String), Uses> = BTreeMap::new();
    for (process, counts) in run.processes.iter().zip(counts) {
        let names: HashMap<u32, String> = process
            .trace
            .definitions
            .iter()
            .filter_map(|definition| match definition {
                Definition::Algorithm { index, name } => Some((index, inert::cut(&name, MAX_NAME))),
                _ => None,
            })
            .collect();
        for (&(code, index), uses) in &counts.uses {
            let Some(operation) = Operation::from_code(code) else {
                continue;
            };
            let name = names.get(&index).cloned();
            let name = name.unwrap_or_else(|| format!("number {index}, without a name"));
            let sum = all.entry((operation, name)).or_default();
            sum.n_calls += uses.n_calls;
            Range::extend(&mut sum.bytes, uses.bytes);
            Range::extend(&mut sum.n_processes, uses.n_processes);
        }
    }
    let mut all: Vec<AlgorithmSummary> = all
        .into_iter()
        .map(|((operation, name), uses)| AlgorithmSummary {
            operation: operation.name().into(),
            name,
            calls: uses.n_calls,
            bytes_min: uses.bytes.map(|range| range.least),
            bytes_max: uses.bytes.map(|range| range.most),
            processes_min: uses.n_processes.map(|range| range.least as u32),
            processes_max: uses.n_processes.map(|range| range.most as u32),
        })
        .collect();
    all.sort_by(|a, b| (&a.operation, b.calls, &a.name).cmp(&(&b.operation, a.calls, &b.name)));
    Some(all)
}
