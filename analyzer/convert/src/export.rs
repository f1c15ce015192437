//! Exports a trace.

use std::path::{Path, PathBuf};

use collbench_analyzer::rows::{AnalysisOfRows, Rows, TakeInstances, analyze_rows};
use collbench_analyzer::steps::Run;
use collbench_analyzer::{Analysis, AnalyzeError, Options, Prepared, Progress, RunFiles};
use collbench_report::LineFinder;

use crate::csv::CsvTables;
use crate::error::ExportError;
use crate::facts::Facts;
use crate::parquet::ParquetTables;
use crate::perfetto::{Kept, Limit, PerfettoTrace};
use crate::sink::Sink;
use crate::sqlite::SqliteTables;
use crate::tables::schema::{CALLS, MESSAGES, TABLES, TableSchema};
use crate::tables::{RowTables, WriteTables, summaries};
use crate::target::Target;
use crate::write::WriteInstances;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet files.
    Parquet,
    /// Comma-separated values.
    Csv,
    /// A database of SQLite.
    Sqlite,
    /// A Perfetto trace.
    Perfetto,
}

/// What is written, and where.
#[derive(Debug, Clone)]
pub struct How {
    /// The format.
    pub format: Format,
    /// The file or directory; `-`: standard output.
    pub output: PathBuf,
    /// The only table that is written; `None`: all, if the output is a directory or a database, else the calls.
    pub table: Option<String>,
    /// Whether an export that is there already is replaced.
    pub force: bool,
    /// Bytes of a Perfetto trace, at most: beyond, instances are left out.
    pub max_bytes: u64,
    /// Which part of the trace, and how it is analysed.
    pub options: Options,
}

/// What was asked for and cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// Standard output takes one stream.
    #[error(
        "--to {0} -o -: only csv and perfetto are written to standard output; name a file or a directory"
    )]
    Stdout(&'static str),
    /// No such table.
    #[error("--table {table}: no such table; the tables: {known}")]
    Table {
        /// What was asked for.
        table: String,
        /// Those that there are.
        known: String,
    },
    /// Not a format of single tables.
    #[error("--table {table}: --to {format} has no single tables; leave --table out")]
    NoTable {
        /// What was asked for.
        table: String,
        /// In which format.
        format: &'static str,
    },
}

/// Why nothing was exported.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// What was asked for cannot be.
    #[error(transparent)]
    Usage(#[from] UsageError),
    /// The trace cannot be analysed.
    #[error(transparent)]
    Analyze(#[from] AnalyzeError),
    /// The export cannot be written.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Where the tables go.
enum Place {
    /// All to a directory.
    Directory,
    /// One to a file.
    File(&'static TableSchema),
    /// One to standard output.
    Stdout(&'static TableSchema),
    /// All to a database.
    Database,
    /// A Perfetto trace to a file.
    Perfetto,
    /// A Perfetto trace to standard output.
    PerfettoToStdout,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Parquet, Self::Csv, Self::Sqlite, Self::Perfetto];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Sqlite => "sqlite",
            Self::Perfetto => "perfetto",
        }
    }

    /// Whether a file with this name is in a directory that an export in this format made.
    fn is_known(self) -> fn(&str) -> bool {
        match self {
            Self::Parquet => |name| has_table(name, ".parquet"),
            Self::Csv => |name| has_table(name, ".csv"),
            Self::Sqlite | Self::Perfetto => |_| false,
        }
    }
}

fn has_table(name: &str, end: &str) -> bool {
    let table = name.strip_suffix(end);
    table.is_some_and(|table| TABLES.iter().any(|schema| schema.name == table))
}

impl How {
    fn place(&self) -> Result<Place, UsageError> {
        let table = match &self.table {
            None => None,
            Some(name) => {
                let found = TABLES.iter().find(|schema| schema.name == name);
                Some(*found.ok_or_else(|| UsageError::Table {
                    table: collbench_text::inert::line(name, 60),
                    known: TABLES.map(|schema| schema.name).join(", "),
                })?)
            }
        };
        let name = self.output.to_string_lossy();
        let is_stdout = name == "-";
        if matches!(self.format, Format::Sqlite | Format::Perfetto) {
            let format = self.format.name();
            if let Some(table) = table {
                let table = table.name.to_owned();
                return Err(UsageError::NoTable { table, format });
            }
            return match (self.format, is_stdout) {
                (Format::Perfetto, false) => Ok(Place::Perfetto),
                (Format::Perfetto, true) => Ok(Place::PerfettoToStdout),
                (_, false) => Ok(Place::Database),
                (_, true) => Err(UsageError::Stdout(format)),
            };
        }
        if is_stdout {
            if self.format != Format::Csv {
                return Err(UsageError::Stdout(self.format.name()));
            }
            return Ok(Place::Stdout(table.unwrap_or(&CALLS)));
        }
        let is_file = match self.format {
            Format::Csv => name.ends_with(".csv") || name.ends_with(".gz"),
            _ => name.ends_with(".parquet"),
        };
        Ok(match table {
            Some(table) => Place::File(table),
            None if is_file => Place::File(&CALLS),
            None => Place::Directory,
        })
    }

    fn is_compressed(&self) -> bool {
        self.output.to_string_lossy().ends_with(".gz")
    }

    /// What writes the instances; `None` as target: standard output.
    fn writer(
        &self,
        place: &Place,
        target: Option<&Target>,
        facts: Facts,
        kept: Option<Kept>,
    ) -> Result<Box<dyn WriteInstances>, ExportError> {
        if let Place::Perfetto | Place::PerfettoToStdout = place {
            let (sink, path) = match target {
                None => (Sink::to_stdout(), Path::new("stdout")),
                Some(target) => (
                    Sink::to_file(target.create()?, self.is_compressed()),
                    target.partial(),
                ),
            };
            let limit = kept.map(|kept| Limit {
                max_bytes: self.max_bytes,
                n_calls: facts.n_records,
                kept,
            });
            return Ok(Box::new(PerfettoTrace::new(sink, path, facts, limit)));
        }
        Ok(Box::new(Tables {
            rows: RowTables::default(),
            writer: self.table_writer(place, target)?,
        }))
    }

    /// What writes the tables.
    fn table_writer(
        &self,
        place: &Place,
        target: Option<&Target>,
    ) -> Result<Box<dyn WriteTables>, ExportError> {
        let is_parquet = self.format == Format::Parquet;
        match (place, target) {
            (Place::Stdout(schema), _) => Ok(Box::new(CsvTables::to_stdout(schema)?)),
            (_, None) => Ok(Box::new(CsvTables::to_stdout(&CALLS)?)),
            (Place::Directory, Some(target)) => {
                target.create_directory()?;
                let directory = target.partial();
                Ok(if is_parquet {
                    Box::new(ParquetTables::in_directory(directory, &TABLES)?)
                } else {
                    Box::new(CsvTables::in_directory(directory, &TABLES)?)
                })
            }
            (Place::File(schema), Some(target)) => {
                let file = target.create()?;
                let path = target.partial();
                let is_compressed = self.is_compressed();
                Ok(if is_parquet {
                    Box::new(ParquetTables::in_file(file, path, schema)?)
                } else {
                    Box::new(CsvTables::in_file(file, path, is_compressed, schema)?)
                })
            }
            (Place::Database | Place::Perfetto | Place::PerfettoToStdout, Some(target)) => {
                Ok(Box::new(SqliteTables::create(target.partial(), &TABLES)?))
            }
        }
    }
}

/// The tables of a trace on their way to a format.
struct Tables {
    rows: RowTables,
    writer: Box<dyn WriteTables>,
}

impl WriteInstances for Tables {
    fn take(&mut self, rows: &Rows<'_>) -> Result<(), ExportError> {
        self.rows.take(rows, &mut *self.writer)
    }

    fn finish(self: Box<Self>, analyzed: &AnalysisOfRows) -> Result<Option<String>, ExportError> {
        let Self { rows, mut writer } = *self;
        let has_messages = rows.finish(&mut *writer)?;
        let is_empty = !has_messages && writer.wants(MESSAGES.name);
        summaries(analyzed, &mut *writer)?;
        writer.finish()?;
        let said = "no messages inside collectives were recorded, so the table messages is empty";
        Ok(is_empty.then(|| said.to_owned()))
    }
}

/// Writes instances as they come.
struct Exporter<'h> {
    how: &'h How,
    place: Place,
    /// What is written, if it began.
    at_work: Option<AtWork>,
    /// Instances that stay in a Perfetto trace that may become too large.
    kept: Option<Kept>,
    /// Finds the lines of call sites.
    lines: LineFinder,
    /// What went wrong first.
    error: Option<ExportError>,
}

struct AtWork {
    /// `None`: standard output.
    target: Option<Target>,
    writer: Box<dyn WriteInstances>,
}

impl Exporter<'_> {
    fn start(&mut self, facts: Facts) -> Result<AtWork, ExportError> {
        let target = match self.place {
            Place::Stdout(_) | Place::PerfettoToStdout => None,
            _ => {
                let How { output, force, .. } = self.how;
                Some(Target::new(output, *force, self.how.format.is_known())?)
            }
        };
        Ok(AtWork {
            writer: self
                .how
                .writer(&self.place, target.as_ref(), facts, self.kept.clone())?,
            target,
        })
    }
}

impl TakeInstances for Exporter<'_> {
    fn begin(&mut self, prepared: Prepared<'_, '_>) {
        // What was written before is removed first: the new one has the same name.
        self.at_work = None;
        let mut facts = Facts::of(prepared);
        self.lines.find_at(&mut facts.sites);
        match self.start(facts) {
            Ok(at_work) => self.at_work = Some(at_work),
            Err(error) => self.error = Some(error),
        }
    }

    fn take(&mut self, rows: &Rows<'_>) -> bool {
        let Some(AtWork { writer, .. }) = &mut self.at_work else {
            return false;
        };
        if self.error.is_none()
            && let Err(error) = writer.take(rows)
        {
            self.error = Some(error);
        }
        self.error.is_none()
    }
}

/// What was exported.
#[derive(Debug)]
pub struct Exported {
    /// The analysis of what was exported.
    pub analysis: Analysis,
    /// What the user should know, if anything.
    pub remark: Option<String>,
}

/// The instances that stay in a Perfetto trace: the outliers of each operation. `None` where the trace cannot become too
/// large.
fn kept(files: &RunFiles, how: &How) -> Result<Option<Kept>, AnalyzeError> {
    let mut n_records = 0;
    if how.format != Format::Perfetto {
        return Ok(None);
    }
    files.while_whole(&mut |files| {
        n_records = Run::read(files)?.n_records();
        Ok::<_, AnalyzeError>(())
    })?;
    if !Limit::may_exceed(n_records, how.max_bytes) {
        return Ok(None);
    }
    let analysis = collbench_analyzer::analyze(files, &how.options, &mut |_| {})?;
    let operations = analysis.operations.iter();
    let outliers = operations.flat_map(|operation| {
        let of = (operation.communicator, operation.operation.to_string());
        let outliers = operation.outliers.iter();
        outliers.map(move |outlier| (of.0, of.1.clone(), outlier.sequence))
    });
    Ok(Some(outliers.collect()))
}

/// Analyses a trace and exports it.
///
/// # Errors
/// [`Failure`] if nothing was exported. A damaged trace is exported as far as it goes.
pub fn export(
    trace: &Path,
    how: &How,
    progress: &mut dyn FnMut(Progress),
) -> Result<Exported, Failure> {
    let place = how.place()?;
    // Before anything takes time.
    if !matches!(place, Place::Stdout(_) | Place::PerfettoToStdout) {
        drop(Target::new(&how.output, how.force, how.format.is_known())?);
    }
    let files = RunFiles::open(trace).map_err(AnalyzeError::from)?;
    let mut exporter = Exporter {
        how,
        place,
        at_work: None,
        kept: kept(&files, how)?,
        lines: LineFinder::of_trace(trace),
        error: None,
    };
    let analyzed = analyze_rows(&files, &how.options, progress, &mut exporter);
    if let Some(error) = exporter.error {
        return Err(error.into());
    }
    let mut analyzed: AnalysisOfRows = analyzed?;
    exporter.lines.find(&mut analyzed.analysis);
    let mut remark = None;
    if let Some(AtWork { target, writer }) = exporter.at_work {
        remark = writer.finish(&analyzed)?;
        if let Some(target) = target {
            target.complete()?;
        }
    }
    let analysis = analyzed.analysis;
    Ok(Exported { analysis, remark })
}
