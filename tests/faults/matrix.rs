//! The rows of the matrix, and the harness that runs them.

use std::fmt::Debug;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use collbench_formats::{Operation, RankTrace};
use collbench_tests::{Finished, Form, Job, Workspace, analyze, have, rank_files};

use super::MPI;

/// A program in trouble.
#[derive(Debug, Clone)]
pub(crate) struct Fault<'a> {
    /// In the row of the matrix.
    pub(crate) name: &'a str,
    /// It is run in a folder of its own each time; the trace is `trace` in that of the recorded run,
    /// or what is beside it as `trace.moved`.
    pub(crate) job: Job<'a>,
    /// Collective calls that each rank makes and that return, by construction.
    pub(crate) calls: u64,
    /// What of them the trace must have.
    pub(crate) kept: Kept,
    /// Words that collbench says on stderr; empty where it has nothing to say.
    pub(crate) says: &'a str,
}

/// What a trace has of the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of them, and it is complete.
    All,
    /// All of them, up to an end that was not MPI_Finalize.
    UntilDeath,
    /// Those up to a point, and how many came after it: together all of them.
    UntilStop,
    /// All of them, in a directory that has another name: the status says that nothing was found.
    Moved,
    /// None, since recording could not begin: the status says so, if it was 0.
    Nothing,
}

/// A rank file, read by the documented format alone.
#[derive(Debug)]
struct Found {
    rank: usize,
    /// Collective calls of the application that have returned.
    returned: u64,
    /// Calls that were made after recording had stopped, `MPI_Finalize` among them, and `MPI_Init` if
    /// it returned after that.
    after_stop: u64,
    /// Whether the return of `MPI_Init` was recorded.
    has_init: bool,
}

impl Found {
    fn read(path: &Path) -> Self {
        let bytes = fs::read(path).unwrap();
        let trace = RankTrace::parse(&bytes).unwrap_or_else(|error| panic!("{path:?}: {error}"));
        let records = || trace.chunks.iter().flat_map(|chunk| chunk.records.iter());
        let is_init = |operation| matches!(operation, Operation::Init | Operation::InitThread);
        let returned = records().filter(|record| {
            let is_counted = record.operation().is_some_and(Operation::is_counted);
            is_counted && !record.is_internal() && !record.is_in_flight()
        });
        Self {
            rank: trace.identity.rank as usize,
            returned: returned.count() as u64,
            after_stop: trace.header.calls_after_stop.get(),
            has_init: records().any(|record| record.operation().is_some_and(is_init)),
        }
    }
}

impl Fault<'_> {
    /// As this, in the inner form. There the launcher ends the recorder with the ranks: it says
    /// nothing of a job that failed.
    pub(crate) fn inner(mut self) -> Self {
        self.job.form = Form::Inner;
        if self.kept == Kept::UntilDeath {
            self.says = "";
        }
        self
    }

    /// Runs it without and with recording, compares, and prints its row. What was left is in
    /// `plain` and `recorded`; `None` without MPI.
    ///
    /// # Panics
    ///
    /// Where recording made a difference, or the trace lacks something.
    #[track_caller]
    pub(crate) fn check(&self) -> Option<Workspace> {
        self.check_with(|_| {})
    }

    /// As [`check`](Self::check); `prepare` is called with the folder of each run before it.
    ///
    /// # Panics
    ///
    /// As [`check`](Self::check).
    #[track_caller]
    pub(crate) fn check_with(&self, prepare: impl Fn(&Path)) -> Option<Workspace> {
        if !have(MPI) {
            return None;
        }
        let workspace = Workspace::new();
        let folder = |name| {
            let folder = workspace.join(name);
            fs::create_dir(&folder).unwrap();
            prepare(&folder);
            folder
        };
        let plain = self.job.plain(&folder("plain"));
        let (recorded, trace) = self.job.record(&folder("recorded"));
        let status = match (self.kept, plain.status) {
            (Kept::Nothing | Kept::Moved, 0) => 125,
            (_, status) => status,
        };
        let recorded = recorded.expect(status);
        assert_eq!(recorded.sorted_lines(), plain.sorted_lines(), "{recorded}");
        // What a launcher says of a job that failed differs from time to time.
        match (plain.status, recorded.status) {
            (0, 0) => assert_eq!(own_lines(&recorded), own_lines(&plain), "{recorded}"),
            (0, _) => {
                let said = own_lines(&recorded);
                let is_said = |line| said.contains(line);
                assert!(own_lines(&plain).iter().all(is_said), "{recorded}");
            }
            _ => {}
        }
        recorded.must_say(self.says);
        let found = self.check_trace(&trace, &recorded);
        self.print_row(&plain, &recorded, &found);
        Some(workspace)
    }

    #[track_caller]
    fn check_trace(&self, trace: &Path, recorded: &Finished) -> Vec<Found> {
        let moved = PathBuf::from(format!("{}.moved", trace.display()));
        let trace = if moved.exists() { &moved } else { trace };
        let mut found: Vec<_> = rank_files(trace)
            .iter()
            .map(|file| Found::read(file))
            .collect();
        found.sort_by_key(|found| found.rank);
        if self.kept == Kept::Nothing {
            assert!(found.is_empty(), "{found:?} after {recorded}");
            return found;
        }
        assert_eq!(found.len(), self.job.ranks, "{recorded}");
        for found in &found {
            let Found {
                returned,
                after_stop,
                has_init,
                ..
            } = found;
            match self.kept {
                Kept::UntilStop => assert_eq!(
                    returned + after_stop,
                    self.calls + 1 + u64::from(!has_init),
                    "with MPI_Finalize, and with MPI_Init if it was not recorded: {found:?}"
                ),
                _ => assert_eq!((*returned, *after_stop), (self.calls, 0), "{found:?}"),
            }
        }
        let is_complete = matches!(self.kept, Kept::All | Kept::Moved);
        let analysis = analyze(trace, &[]).expect(if is_complete { 0 } else { 3 });
        assert_eq!(analysis.json["trace"]["complete"], is_complete);
        for found in &found {
            let calls = analysis.rank(found.rank)["calls"].as_u64().unwrap();
            let damage = analysis.array("/trace/damage");
            let in_flight = damage
                .iter()
                .any(|entry| entry["rank"] == found.rank && !entry["in_flight"].is_null());
            assert!(
                (found.returned..=found.returned + u64::from(in_flight)).contains(&calls),
                "the analyzer has {calls} calls of {found:?}"
            );
        }
        found
    }

    /// Past the output capture of the test runner.
    fn print_row(&self, plain: &Finished, recorded: &Finished, found: &[Found]) {
        let each = |values: Vec<u64>| {
            let all_alike = values.windows(2).all(|pair| pair[0] == pair[1]);
            match (&values[..], all_alike) {
                ([], _) => "0".to_owned(),
                ([one, ..], true) => format!("{} x {one}", values.len()),
                (several, _) => format!("{several:?}"),
            }
        };
        let row = format!(
            "fault: {} ({}): calls {} x {}, found {}{}; status {} without, {} with recording; same \
             output\n",
            self.name,
            match self.job.form {
                Form::Outer => "outer form",
                Form::Inner => "inner form",
            },
            self.job.ranks,
            self.calls,
            each(found.iter().map(|found| found.returned).collect()),
            match self.kept {
                Kept::All => String::new(),
                Kept::Moved => " where the directory is now".to_owned(),
                Kept::UntilDeath => ", without MPI_Finalize".to_owned(),
                Kept::UntilStop => format!(
                    ", and {} after recording stopped (with MPI_Finalize)",
                    each(found.iter().map(|found| found.after_stop).collect())
                ),
                Kept::Nothing => ", recording could not begin".to_owned(),
            },
            plain.status,
            recorded.status,
        );
        // There is nobody left to report to.
        let _ = std::io::stderr().write_all(row.as_bytes());
    }
}

/// What others than collbench say on stderr, in any order.
fn own_lines(finished: &Finished) -> Vec<&str> {
    let mut collbench_speaks = false;
    let mut lines: Vec<_> = finished
        .stderr
        .lines()
        .filter(|line| {
            // Further lines of a message are indented.
            collbench_speaks =
                line.starts_with("collbench") || collbench_speaks && line.starts_with("  ");
            !collbench_speaks
        })
        .collect();
    lines.sort_unstable();
    lines
}
