//! Texts that OSU's and Intel's MPI benchmarks print, as results like ours.
//!
//! Times become those that `collbench-bench collective` measures: ping-pongs there and back, lengths
//! of one block. What has no counterpart is left out, and said.

mod imb;
mod osu;

use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};

use crate::collective::{Point, RESULTS_SCHEMA, Results, Run};
use crate::measure::reduction::Reduction;
use crate::measure::start::StartScheme;

/// A text that was read.
#[derive(Debug)]
pub(super) struct Import {
    pub(super) path: PathBuf,
    pub(super) program: Program,
    /// As the program says it: `v7.5`, `2021.8`; empty if it does not.
    pub(super) version: String,
    pub(super) results: Results,
    /// What was left out, as sentences.
    pub(super) left_out: Vec<String>,
}

/// The program that printed a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Program {
    /// OSU Micro-Benchmarks of Ohio State University.
    Osu,
    /// Intel MPI Benchmarks.
    Imb,
}

/// A time in a text, in its own terms.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    /// Line of the text, from 1.
    line: usize,
    /// Our name of the operation; `None` if there is none.
    operation: Option<String>,
    /// Name of the benchmark in the text.
    benchmark: String,
    bytes: Option<u64>,
    /// `None` if the text does not say it.
    processes: Option<usize>,
    /// Time that counts for one operation, us; of ping-pongs that of one message.
    us: f64,
    repetitions: Option<usize>,
    /// How repetitions were started.
    start: StartScheme,
    /// Whether each repetition of an operation with a root has another one.
    changes_root: bool,
}

/// A text in its own terms.
#[derive(Debug, Default)]
struct Read {
    version: String,
    entries: Vec<Entry>,
    left_out: Vec<String>,
}

impl Program {
    /// Its name in tables.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Osu => "OSU",
            Self::Imb => "IMB",
        }
    }

    /// How it measures with a start, in words.
    pub(super) fn method(self, start: StartScheme) -> &'static str {
        match (self, start) {
            (Self::Osu, StartScheme::Barrier) => {
                "each repetition follows a barrier; mean over repetitions and processes, errors unknown"
            }
            (Self::Imb, StartScheme::Barrier) => {
                "each repetition follows a barrier; mean over repetitions, maximum over processes, \
                 errors unknown"
            }
            (Self::Osu, _) => {
                "a loop after a barrier, its time divided by the number of repetitions; errors unknown"
            }
            (Self::Imb, _) => {
                "a loop after barriers, its time divided by the number of repetitions; maximum over \
                 processes, errors unknown"
            }
        }
    }

    fn reduction(self) -> Reduction {
        match self {
            Self::Osu => Reduction::Mean,
            Self::Imb => Reduction::Max,
        }
    }
}

/// Reads a text. `processes` is the number of processes of benchmarks that do not say it.
///
/// # Errors
/// Names the file that cannot be read or is of neither program, or says that the number of processes
/// is missing.
pub(super) fn read(path: &Path, processes: Option<usize>) -> anyhow::Result<Import> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("reading {}", path.display()))?;
    let (program, read) = if text.contains("# OSU MPI") {
        (Program::Osu, osu::read(&text))
    } else if text.contains("# Benchmarking ") {
        (Program::Imb, imb::read(&text))
    } else {
        bail!(
            "{}: is no text of OSU's benchmarks (\"# OSU MPI ...\") or of Intel's (\"# Benchmarking \
             ...\")",
            path.display()
        );
    };
    import(path, program, read, processes)
}

fn import(
    path: &Path,
    program: Program,
    read: Read,
    processes: Option<usize>,
) -> anyhow::Result<Import> {
    let mut points = Vec::new();
    let mut left_out = read.left_out;
    for entry in &read.entries {
        let Some(n) = entry.processes.or(processes) else {
            bail!(
                "{}:{}: {} does not say how many processes it ran on; give --processes",
                path.display(),
                entry.line,
                entry.benchmark
            );
        };
        match entry.point(program, n) {
            Ok(point) => points.push(point),
            // Once for all lines with this reason.
            Err(why) if left_out.iter().any(|known| known.ends_with(&why)) => {}
            Err(why) => left_out.push(format!("{}:{}: {why}", path.display(), entry.line)),
        }
    }
    ensure!(
        !points.is_empty(),
        "{}: nothing in it can be compared{}",
        path.display(),
        left_out
            .first()
            .map_or(String::new(), |first| format!(": {first}"))
    );
    Ok(Import {
        path: path.to_owned(),
        program,
        version: read.version,
        results: results_of(points),
        left_out,
    })
}

impl Entry {
    /// As one of our points. The error is why it has no counterpart.
    fn point(&self, program: Program, processes: usize) -> Result<Point, String> {
        let Some(operation) = &self.operation else {
            return Err(format!("{}: has no counterpart", self.benchmark));
        };
        let is_ping_pong = operation == "MPI_Send-MPI_Recv";
        // Theirs is the length of all blocks together, ours that of one.
        let is_whole = operation
            .trim_start_matches("MPI_I")
            .to_ascii_lowercase()
            .contains("reduce_scatter");
        let bytes = match self.bytes {
            Some(bytes) if is_whole => {
                if !bytes.is_multiple_of(processes as u64) {
                    return Err(format!(
                        "{}: lengths that {processes} processes do not divide have no counterpart",
                        self.benchmark
                    ));
                }
                Some(bytes / processes as u64)
            }
            bytes => bytes,
        };
        if operation == "MPI_Sendrecv" && processes != 2 {
            return Err(format!(
                "{}: a ring of more than two processes has no counterpart",
                self.benchmark
            ));
        }
        let messages = if is_ping_pong { 2.0 } else { 1.0 };
        let point = Point::imported(operation, bytes, processes, self.us * 1e3 * messages)
            .ok_or_else(|| format!("{}: has no counterpart", self.benchmark))?;
        if self.changes_root && point.root.is_some() {
            return Err(format!(
                "{}: each repetition has another root, which has no counterpart",
                self.benchmark
            ));
        }
        Ok(Point {
            start: self.start,
            reduction: program.reduction(),
            made: self.repetitions.unwrap_or(0),
            ..point
        })
    }
}

fn results_of(points: Vec<Point>) -> Results {
    let ranks = points.iter().map(|point| point.processes).max();
    Results {
        schema: RESULTS_SCHEMA.to_owned(),
        // It says nothing of the machine, and no precision was asked for.
        run: Run {
            clock: "MPI_Wtime".to_owned(),
            clocks: 1,
            ranks: ranks.unwrap_or(0),
            figure: "mean".to_owned(),
            element: "unknown".to_owned(),
            runs: 1,
            ..Run::default()
        },
        points,
        guidelines: Vec::new(),
        selection: Vec::new(),
    }
}

/// A collective by the word that is its name in MPI without prefix, in any case, or that name with
/// an I for the nonblocking form.
fn collective(word: &str, is_nonblocking: bool) -> Option<String> {
    let mut name: String = word.to_ascii_lowercase();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let name = if is_nonblocking {
        format!("MPI_I{}", name.to_ascii_lowercase())
    } else {
        format!("MPI_{name}")
    };
    Point::imported(&name, None, 2, 0.0).map(|_| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operation, bytes, processes and time of all points.
    pub(super) fn points(import: &Import) -> Vec<(&str, Option<u64>, usize, f64)> {
        let points = import.results.points.iter();
        points
            .map(|point| {
                let time = point.time_ns.unwrap();
                (point.operation.as_str(), point.bytes, point.processes, time)
            })
            .collect()
    }

    pub(super) fn read_text(text: &str, processes: Option<usize>) -> anyhow::Result<Import> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        std::fs::write(&path, text).unwrap();
        read(&path, processes)
    }

    #[test]
    fn names_of_collectives_are_found_in_any_case() {
        assert_eq!(collective("ALLREDUCE", false).unwrap(), "MPI_Allreduce");
        assert_eq!(
            collective("Reduce_scatter", true).unwrap(),
            "MPI_Ireduce_scatter"
        );
        assert_eq!(collective("Exchange", false), None);
        assert_eq!(collective("", false), None);
    }

    #[test]
    fn a_text_of_neither_program_is_refused() {
        let said = read_text("time 5 us\n", None).unwrap_err().to_string();
        assert!(said.contains("is no text of OSU's benchmarks"), "{said}");
    }
}
