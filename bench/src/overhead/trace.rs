//! Figures of the recorded worker's trace: number of records, bytes, and the time that the recorder
//! took for chunks.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use collbench_formats::{ClockSource, Operation, RankTrace, Record, RecordKind};
use memmap2::Mmap;

/// Figures of the recorded worker's trace.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recorded {
    /// Records of the measured operation.
    pub(super) calls: u64,
    /// Records of ends of messages.
    pub(super) message_ends: u64,
    /// Records of any kind.
    pub(super) records: u64,
    pub(super) file_bytes: u64,
    pub(super) clock: ClockSource,
    /// Time to make the pages of each chunk ready, ticks.
    pub(super) preparations: Vec<u64>,
}

impl Recorded {
    /// Reads the only rank file in a directory, of a process that has made so many calls.
    pub(super) fn read(directory: &Path, operation: Operation, made: u64) -> anyhow::Result<Self> {
        let of_ranks = Self::read_all(directory, operation)?;
        let n_files = of_ranks.len();
        let [only] = <[Self; 1]>::try_from(of_ranks)
            .map_err(|_| anyhow!("the trace has {n_files} rank files, expected one"))?;
        let recorded = only.calls;
        if recorded != made {
            bail!(
                "{made} calls were made but {recorded} recorded; the figures would be meaningless"
            );
        }
        Ok(only)
    }

    /// Reads the rank files in a directory, sorted by rank.
    pub(super) fn read_all(directory: &Path, operation: Operation) -> anyhow::Result<Vec<Self>> {
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(directory).context("the trace")? {
            let path = entry?.path();
            if path.extension().is_some_and(|end| end == "trace") {
                paths.push(path);
            }
        }
        // Their names begin with the rank, at a fixed width.
        paths.sort();
        paths
            .iter()
            .map(|path| Self::read_file(path, operation))
            .collect()
    }

    fn read_file(path: &Path, operation: Operation) -> anyhow::Result<Self> {
        let file = File::open(path)?;
        // SAFETY: the process that wrote the file has ended, and no other one knows of it.
        let bytes = unsafe { Mmap::map(&file) }?;
        let trace = RankTrace::parse(&bytes).context("the trace")?;
        if let Some(damage) = trace.damage.first() {
            bail!("the trace is damaged: {damage}");
        }
        let records = || trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
        Ok(Self {
            calls: records()
                .filter(|record| record.operation() == Some(operation) && !record.is_internal())
                .count() as u64,
            message_ends: records()
                .filter(|record| record.kind() == Some(RecordKind::Message))
                .count() as u64,
            records: records().count() as u64,
            file_bytes: bytes.len() as u64,
            clock: trace.identity.clock.source,
            preparations: trace
                .chunks
                .iter()
                .map(|chunk| {
                    let header = chunk.header;
                    header
                        .prepare_end
                        .get()
                        .saturating_sub(header.prepare_begin.get())
                })
                .collect(),
        })
    }

    /// Upper estimate of the bytes of `calls` calls, with chunk headers.
    pub(super) fn bytes_needed(calls: u64) -> u64 {
        (calls + calls / 20) * size_of::<Record>() as u64 + (4 << 20)
    }
}
