//! The points as they were measured, one line for each: a run that is interrupted goes on where it
//! ended, and the point at which a run crashed is measured last.
//!
//! # Source
//! Reussner et al. 1999, section 3.3.

use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail, ensure};
use serde::{Deserialize, Serialize};

use super::plan::{Plan, Series};
use super::results::Point;

/// A line.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    /// The first line: what is measured, and in which job.
    Plan(Box<Plan>, OfJob),
    /// A point is about to be measured.
    Begin(String),
    /// A point was measured.
    Point(Box<Point>),
}

/// What must be the same for a run to go on where another ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct OfJob {
    pub(super) processes: usize,
    /// Names of the hosts, in the order of their first ranks.
    pub(super) hosts: Vec<String>,
    pub(super) mpi_library: Option<String>,
    /// Settings of the MPI library.
    pub(super) settings: BTreeMap<String, String>,
    pub(super) has_cold_caches: bool,
    /// The content of tree files.
    pub(super) tree_files: Vec<String>,
}

/// The journal of a run: a file, or nothing if no folder for results was given.
#[derive(Debug)]
pub(super) struct Journal {
    file: Option<(File, PathBuf)>,
    /// Points of this run and of runs before it, by key.
    measured: BTreeMap<String, Point>,
    /// Keys of those that this run has measured.
    new: HashSet<String>,
    /// Keys of points at which a run ended.
    crashing: HashSet<String>,
}

/// Name of the file in the folder of a run.
pub(crate) const NAME: &str = "points.jsonl";

impl Journal {
    /// Without a folder.
    pub(super) fn none() -> Self {
        Self {
            file: None,
            measured: BTreeMap::new(),
            new: HashSet::new(),
            crashing: HashSet::new(),
        }
    }

    /// Opens the journal in a folder, and reads what is there.
    ///
    /// # Errors
    /// Names the file that cannot be read or written, or says that it is of another plan or that
    /// another run writes it.
    pub(super) fn open(folder: &Path, plan: &Plan, job: &OfJob) -> anyhow::Result<Self> {
        let path = folder.join(NAME);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| format!("writing {}", path.display()))?;
        ensure!(
            crate::folder::lock(&file),
            "{}: another run is writing it; choose another directory",
            path.display()
        );
        let text = std::fs::read_to_string(&path);
        let text = text.with_context(|| format!("reading {}", path.display()))?;
        let head = head(plan, job)?;
        let (measured, crashing) =
            read(&text, &head).with_context(|| path.display().to_string())?;
        let mut journal = Self {
            file: Some((file, path)),
            measured,
            new: HashSet::new(),
            crashing,
        };
        if text.is_empty() {
            journal.write_text(&(head + "\n"))?;
        } else if !text.ends_with('\n') {
            // The run ended within a line, which is not read.
            journal.write_text("\n")?;
        }
        Ok(journal)
    }

    /// The point with this key, if it was measured, by this run or before.
    pub(super) fn measured(&self, key: &str) -> Option<&Point> {
        self.measured.get(key)
    }

    /// Number of points that were measured so far.
    pub(super) fn n_measured(&self) -> usize {
        self.measured.len()
    }

    /// Whether a point of this series, with the start that took the place of another, was measured.
    pub(super) fn has_fallen_back(&self, series: &Series) -> bool {
        series.start_asked.is_some()
            && self.measured.values().any(|point| {
                point.start_asked == series.start_asked && point.key() == series.key(point.bytes)
            })
    }

    /// Whether this run has measured anything.
    pub(super) fn has_new(&self) -> bool {
        !self.new.is_empty()
    }

    /// Whether this run has measured the point with this key.
    pub(super) fn is_new(&self, key: &str) -> bool {
        self.new.contains(key)
    }

    /// The lengths of a series at which a run ended.
    pub(super) fn crashing(&self, series: &Series) -> Vec<Option<u64>> {
        let bytes = |key: &String| -> Option<u64> {
            let second = key.split(", ").nth(1)?;
            second.strip_suffix(" bytes")?.parse().ok()
        };
        let of_series = self
            .crashing
            .iter()
            .filter(|key| series.key(bytes(key)) == **key);
        of_series.map(bytes).collect()
    }

    /// Notes that a point is about to be measured.
    ///
    /// # Errors
    /// Names the file.
    pub(super) fn begin(&mut self, key: String) -> anyhow::Result<()> {
        self.write(&Line::Begin(key))
    }

    /// Notes a point.
    ///
    /// # Errors
    /// Names the file.
    pub(super) fn end(&mut self, point: &Point) -> anyhow::Result<()> {
        self.write(&Line::Point(Box::new(point.clone())))?;
        let known = Point {
            samples: None,
            ..point.clone()
        };
        self.measured.insert(point.key(), known);
        self.new.insert(point.key());
        Ok(())
    }

    fn write(&mut self, line: &Line) -> anyhow::Result<()> {
        let text = serde_json::to_string(line)? + "\n";
        self.write_text(&text)
    }

    fn write_text(&mut self, text: &str) -> anyhow::Result<()> {
        let Some((file, path)) = &mut self.file else {
            return Ok(());
        };
        let written = file.write_all(text.as_bytes());
        written.with_context(|| format!("writing {}", path.display()))
    }
}

/// Whether the journal in a folder is of this plan and job, and no run writes it any more.
pub(super) fn can_go_on(folder: &Path, plan: &Plan, job: &OfJob) -> bool {
    let Ok(file) = OpenOptions::new().append(true).open(folder.join(NAME)) else {
        return false;
    };
    let text = std::fs::read_to_string(folder.join(NAME)).unwrap_or_default();
    let head = head(plan, job).ok();
    head.as_deref() == text.lines().next() && crate::folder::lock(&file)
}

/// The first line of a journal.
fn head(plan: &Plan, job: &OfJob) -> anyhow::Result<String> {
    let head = Line::Plan(Box::new(plan.clone()), job.clone());
    Ok(serde_json::to_string(&head)?)
}

/// Number of points in the text of a journal.
pub(crate) fn n_points(text: &str) -> usize {
    let lines = text.lines().map(serde_json::from_str);
    lines
        .filter(|line| matches!(line, Ok(Line::Point(_))))
        .count()
}

/// Points by key, and keys of points that were begun and not measured. `head` is the first line that
/// a journal of this plan has.
fn read(text: &str, head: &str) -> anyhow::Result<(BTreeMap<String, Point>, HashSet<String>)> {
    let mut lines = text.lines();
    if lines.next().is_some_and(|line| line != head) {
        bail!("holds points of another plan or job; choose another directory");
    }
    let (mut measured, mut crashing) = (BTreeMap::new(), HashSet::new());
    for line in lines {
        match serde_json::from_str(line) {
            Ok(Line::Begin(key)) => {
                crashing.insert(key);
            }
            Ok(Line::Point(point)) => {
                crashing.remove(&point.key());
                measured.insert(point.key(), *point);
            }
            // A run ended within this line.
            Ok(Line::Plan(..)) | Err(_) => {}
        }
    }
    Ok((measured, crashing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collective::plan::{Lengths, Method};
    use crate::measure::start::StartScheme;

    fn plan() -> Plan {
        Plan {
            method: Method::default(),
            series: vec![Series {
                root: Some(0),
                start: StartScheme::Window,
                ..Series::example("MPI_Bcast", Lengths::Range(8, 64), 4)
            }],
        }
    }

    fn job(processes: usize) -> OfJob {
        OfJob {
            processes,
            hosts: vec!["node1".to_owned()],
            mpi_library: None,
            settings: BTreeMap::new(),
            has_cold_caches: false,
            tree_files: Vec::new(),
        }
    }

    #[test]
    fn a_journal_that_is_being_written_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let can_go_on = |processes| super::can_go_on(folder.path(), &plan(), &job(processes));
        assert!(!can_go_on(4));
        let journal = Journal::open(folder.path(), &plan(), &job(4)).unwrap();
        assert!(!can_go_on(4));
        let said = Journal::open(folder.path(), &plan(), &job(4)).unwrap_err();
        assert!(said.to_string().contains("another run is writing it"));
        drop(journal);
        assert!(can_go_on(4) && !can_go_on(8));
        let other_library = OfJob {
            mpi_library: Some("another".to_owned()),
            ..job(4)
        };
        assert!(!super::can_go_on(folder.path(), &plan(), &other_library));
    }

    #[test]
    fn what_was_measured_is_known_afterwards_and_so_is_where_the_run_ended() {
        let folder = tempfile::tempdir().unwrap();
        let (plan, series) = (plan(), &plan().series[0]);
        let open = |processes| Journal::open(folder.path(), &plan, &job(processes));
        let mut journal = open(4).unwrap();
        // A number that is read as it was written, whatever the parser does with the last bit.
        let point = Point::example("MPI_Bcast", 8, Some(1_234.5));
        journal.begin(point.key()).unwrap();
        journal.end(&point).unwrap();
        journal.begin(series.key(Some(64))).unwrap();
        // The machine went down within the next line.
        journal.write_text("{\"point\": {\"oper").unwrap();
        drop(journal);
        let mut journal = open(4).unwrap();
        assert_eq!((journal.n_measured(), journal.has_new()), (1, false));
        let known = journal.measured(&point.key()).unwrap();
        assert_eq!((known.time_ns, known.missed), (point.time_ns, point.missed));
        assert_eq!(journal.crashing(series), [Some(64)]);
        journal.end(&Point::example("MPI_Bcast", 64, None)).unwrap();
        assert_eq!((journal.n_measured(), journal.has_new()), (2, true));
        drop(journal);
        let journal = open(4).unwrap();
        assert_eq!(journal.n_measured(), 2);
        assert!(journal.crashing(series).is_empty());
        drop(journal);
        let said = format!("{:#}", open(8).unwrap_err());
        assert!(
            said.contains("points.jsonl") && said.contains("another plan"),
            "{said}"
        );
    }

    #[test]
    fn a_point_has_the_key_that_its_series_expects() {
        let series = &plan().series[0];
        let point = Point::example("MPI_Bcast", 8, None);
        assert_eq!(point.key(), series.key(Some(8)));
        assert_ne!(point.key(), series.key(Some(64)));
    }
}
