//! What was measured, appended to a file as it comes, so that an interrupted measurement continues.
//!
//! The file has one JSON document per line: first what is measured, then an entry for each size that
//! was searched and for each cell. A line that was not written whole is dropped.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};

use super::metrics::Times;
use super::operation::Operation;
use super::search::Outcome;

/// Name of the file.
const FILE: &str = "overlap.jsonl";

/// What is measured. Only a measurement of the same continues a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Plan {
    pub(super) operations: Vec<Operation>,
    /// Wanted times of the communication, ns, ascending.
    pub(super) communication_ns: Vec<u64>,
    /// Wanted times of the computation, ns, ascending.
    pub(super) computation_ns: Vec<u64>,
    /// Number of runs whose median counts.
    pub(super) runs: usize,
    /// Bytes that the buffers, and the matrices, of a process may take.
    pub(super) memory: u64,
    /// Threads that compute, by process.
    pub(super) threads: Vec<usize>,
    /// Host of each process.
    pub(super) hosts: Vec<String>,
    pub(super) mpi_library: String,
    /// Settings of the MPI library in the environment of the first process.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    pub(super) configuration: String,
}

/// Times of something alone. Medians over the runs, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Reference {
    /// Of a communication: from the first begin to the last end. Of a computation: of the slowest
    /// process.
    pub(super) slowest_ns: f64,
    /// Of each process by itself.
    pub(super) processes_ns: Vec<f64>,
    /// Number of runs that counted.
    pub(super) runs: usize,
    /// Number of runs that began too late, and did not count.
    pub(super) late: usize,
}

/// A computation: its size, and how long it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Computation {
    pub(super) wanted_ns: u64,
    /// Size: rows of the square matrices.
    pub(super) outcome: Outcome,
    /// Without MPI. `None` if no size was found, or no run began in time.
    pub(super) without_mpi: Option<Reference>,
    /// With MPI initialized and idle.
    pub(super) idle: Option<Reference>,
}

/// A communication: its length, and how long it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Communication {
    pub(super) operation: Operation,
    pub(super) wanted_ns: u64,
    /// Size: elements of 8 bytes.
    pub(super) outcome: Outcome,
    /// `None` if no size was found, or no run began in time.
    pub(super) alone: Option<Reference>,
}

/// Communication and computation at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    pub(super) operation: Operation,
    /// Wanted time of the communication.
    pub(super) communication_ns: u64,
    /// Wanted time of the computation.
    pub(super) computation_ns: u64,
    /// `None` if no run began in time.
    pub(super) measured: Option<CellTimes>,
    /// Number of runs that began too late, and did not count.
    pub(super) late: usize,
}

/// Times of a cell. Medians over the runs, ns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct CellTimes {
    /// From the first begin to the last end.
    pub(super) total_ns: f64,
    /// Computation of the slowest process.
    pub(super) computation_ns: f64,
    /// Largest time of a process in calls of MPI.
    pub(super) in_mpi_ns: f64,
    /// Of each process by itself.
    pub(super) processes: Vec<Times>,
    /// From the first begin to the last end, by run.
    pub(super) runs_ns: Vec<f64>,
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Entry {
    Computation(Computation),
    Communication(Communication),
    Cell(Cell),
}

/// All that was measured so far.
#[derive(Debug, Default)]
pub(super) struct Journal {
    pub(super) computations: Vec<Computation>,
    pub(super) communications: Vec<Communication>,
    pub(super) cells: Vec<Cell>,
    file: Option<File>,
}

impl Journal {
    /// The journal in `folder`, with what an interrupted measurement of the same plan has left
    /// there.
    ///
    /// # Errors
    /// Names the file if it is of another measurement or cannot be read or written.
    pub(super) fn open(folder: &Path, plan: &Plan) -> anyhow::Result<Self> {
        let path = folder.join(FILE);
        let shown = || path.display().to_string();
        let options = || {
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)
        };
        let mut file = options().with_context(shown)?;
        if !crate::folder::lock(&file) {
            bail!(
                "{}: another process is adding to this measurement; wait until it has ended, or use another --output",
                shown()
            );
        }
        let text = std::fs::read(&path).with_context(shown)?;
        // What follows the last line feed was not written whole.
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |at| at + 1);
        let mut lines = text[..whole]
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        let mut journal = Self::default();
        let known = lines.next();
        if let Some(known) = known {
            let known: Plan = serde_json::from_slice(known).with_context(shown)?;
            if known != *plan {
                bail!(
                    "{}: this is another measurement, with other options, processes, MPI library or \
                     settings of it; use another --output, or remove the file",
                    shown()
                );
            }
        }
        for line in lines {
            journal.keep(serde_json::from_slice(line).with_context(shown)?);
        }
        file.set_len(whole as u64).with_context(shown)?;
        file.seek(SeekFrom::End(0)).with_context(shown)?;
        if known.is_none() {
            write_line(&mut file, plan).with_context(shown)?;
        }
        journal.file = Some(file);
        Ok(journal)
    }

    /// Adds an entry, to the file as well.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(&mut self, entry: Entry) -> anyhow::Result<()> {
        if let Some(file) = &mut self.file {
            write_line(file, &entry).with_context(|| format!("writing {FILE}"))?;
        }
        self.keep(entry);
        Ok(())
    }

    fn keep(&mut self, entry: Entry) {
        match entry {
            Entry::Computation(computation) => self.computations.push(computation),
            Entry::Communication(communication) => self.communications.push(communication),
            Entry::Cell(cell) => self.cells.push(cell),
        }
    }

    /// The computation with this wanted time.
    pub(super) fn computation(&self, wanted_ns: u64) -> Option<&Computation> {
        self.computations
            .iter()
            .find(|one| one.wanted_ns == wanted_ns)
    }

    /// The communication with this wanted time.
    pub(super) fn communication(
        &self,
        operation: Operation,
        wanted_ns: u64,
    ) -> Option<&Communication> {
        let mut all = self.communications.iter();
        all.find(|one| (one.operation, one.wanted_ns) == (operation, wanted_ns))
    }

    /// The cell with these wanted times.
    pub(super) fn cell(
        &self,
        operation: Operation,
        communication_ns: u64,
        computation_ns: u64,
    ) -> Option<&Cell> {
        let wanted = (operation, communication_ns, computation_ns);
        let of = |cell: &&Cell| (cell.operation, cell.communication_ns, cell.computation_ns);
        self.cells.iter().find(|cell| of(cell) == wanted)
    }
}

fn write_line(file: &mut File, value: &impl Serialize) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    file.write_all(&line)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(runs: usize) -> Plan {
        Plan {
            operations: vec![Operation::Ibcast],
            communication_ns: vec![1_000],
            computation_ns: vec![1_000, 2_000],
            runs,
            memory: 1 << 20,
            threads: vec![1, 1],
            hosts: vec!["a".to_owned(), "a".to_owned()],
            mpi_library: "a library".to_owned(),
            environment: BTreeMap::new(),
            configuration: "basic".to_owned(),
        }
    }

    fn computation(wanted_ns: u64) -> Computation {
        Computation {
            wanted_ns,
            outcome: Outcome::Found(wanted_ns / 10),
            without_mpi: Some(Reference {
                slowest_ns: 1.5,
                processes_ns: vec![1.0, 1.5],
                runs: 3,
                late: 1,
            }),
            idle: None,
        }
    }

    #[test]
    fn an_interrupted_measurement_finds_what_was_written_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::open(folder.path(), &plan(3)).unwrap();
        journal.add(Entry::Computation(computation(1_000))).unwrap();
        drop(journal);
        let path = folder.path().join(FILE);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(br#"{"computation":{"wanted_ns":2000,"#)
            .unwrap();
        let mut journal = Journal::open(folder.path(), &plan(3)).unwrap();
        assert_eq!(journal.computations, [computation(1_000)]);
        assert_eq!(journal.computation(2_000), None);
        journal.add(Entry::Computation(computation(2_000))).unwrap();
        drop(journal);
        let journal = Journal::open(folder.path(), &plan(3)).unwrap();
        assert_eq!(
            journal.computations,
            [computation(1_000), computation(2_000)]
        );
    }

    #[test]
    fn another_measurement_is_not_continued() {
        let folder = tempfile::tempdir().unwrap();
        drop(Journal::open(folder.path(), &plan(3)).unwrap());
        let error = Journal::open(folder.path(), &plan(5)).unwrap_err();
        assert!(error.to_string().contains("another measurement"), "{error}");
    }

    #[test]
    fn a_file_that_is_no_journal_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(FILE), "nonsense\n").unwrap();
        let error = Journal::open(folder.path(), &plan(3)).unwrap_err();
        assert!(error.to_string().contains(FILE), "{error}");
    }
}
