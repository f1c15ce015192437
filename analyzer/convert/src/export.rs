//! Exports a trace.

use std::path::{Path, PathBuf};

use collbench_analyzer::rows::{AnalysisOfRows, Rows, TakeInstances, analyze_rows};
use collbench_analyzer::steps::Run;
use collbench_analyzer::{Analysis, AnalyzeError, Options, Prepared, Progress, RunFiles};
use collbench_report::LineFinder;
use collbench_text::inert;

use crate::archive::{self, ArchiveWriter};
use crate::csv::CsvFile;
use crate::error::ExportError;
use crate::facts::Facts;
use crate::goal::GoalWriter;
use crate::parquet::ParquetFile;
use crate::perfetto::{Kept, Limit, PerfettoTrace};
use crate::sink::Sink;
use crate::sqlite::SqliteTables;
use crate::table_files::{TableFile, in_directory};
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
    /// An archive in the Open Trace Format 2.
    Otf2,
    /// A schedule in GOAL.
    Goal,
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
    /// Whether an archive has the messages inside collectives, too.
    pub messages: bool,
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
    /// Not the name of a file or directory.
    #[error("-o {0}: expected the name of a new file or directory")]
    Output(String),
    /// Other ranks would wait for those for ever.
    #[error("--ranks: --to goal needs the calls of all ranks; leave --ranks out")]
    Ranks,
    /// Tables have them anyway.
    #[error("--messages: only for --to otf2; other formats have the messages anyway")]
    Messages,
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

/// Where the tables go, or the archive.
enum Place {
    /// All to a directory.
    Directory,
    /// One to a file, or to standard output.
    File(&'static TableSchema),
    /// All to a database.
    Database,
    /// A Perfetto trace to a file, or to standard output.
    Perfetto,
    /// To an archive, which is a directory.
    Archive,
    /// A schedule to a file.
    Schedule,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Parquet,
        Self::Csv,
        Self::Sqlite,
        Self::Perfetto,
        Self::Otf2,
        Self::Goal,
    ];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Sqlite => "sqlite",
            Self::Perfetto => "perfetto",
            Self::Otf2 => "otf2",
            Self::Goal => "goal",
        }
    }

    /// Whether a file with this name is in a directory that an export in this format made.
    fn is_known(self) -> fn(&str) -> bool {
        match self {
            Self::Parquet => |name| has_table(name, ParquetFile::END),
            Self::Csv => |name| has_table(name, CsvFile::END),
            Self::Sqlite | Self::Perfetto | Self::Goal => |_| false,
            Self::Otf2 => archive::is_known,
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
                    table: inert::line(name, 60),
                    known: TABLES.map(|schema| schema.name).join(", "),
                })?)
            }
        };
        if self.output.file_name().is_none() {
            return Err(UsageError::Output(inert::path(&self.output)));
        }
        let name = self.output.to_string_lossy();
        let format = self.format.name();
        let has_tables = matches!(self.format, Format::Parquet | Format::Csv);
        if let Some(table) = table.filter(|_| !has_tables) {
            let table = table.name.to_owned();
            return Err(UsageError::NoTable { table, format });
        }
        if self.messages && self.format != Format::Otf2 {
            return Err(UsageError::Messages);
        }
        if self.format == Format::Goal && !self.options.selection.ranks.is_empty() {
            return Err(UsageError::Ranks);
        }
        let is_stream = matches!(self.format, Format::Csv | Format::Perfetto);
        if self.is_stdout() && !is_stream {
            return Err(UsageError::Stdout(format));
        }
        let is_file = match self.format {
            Format::Sqlite => return Ok(Place::Database),
            Format::Perfetto => return Ok(Place::Perfetto),
            Format::Otf2 => return Ok(Place::Archive),
            Format::Goal => return Ok(Place::Schedule),
            Format::Csv => self.is_stdout() || name.ends_with(".csv") || name.ends_with(".gz"),
            Format::Parquet => name.ends_with(".parquet"),
        };
        Ok(match table {
            Some(table) => Place::File(table),
            None if is_file => Place::File(&CALLS),
            None => Place::Directory,
        })
    }

    /// Whether it goes to standard output.
    #[must_use]
    pub fn is_stdout(&self) -> bool {
        self.output.as_os_str() == "-"
    }

    /// Where it is written; `None`: to standard output.
    fn target(&self) -> Result<Option<Target>, ExportError> {
        if self.is_stdout() {
            return Ok(None);
        }
        Target::new(&self.output, self.force, self.format.is_known()).map(Some)
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
        kept: Option<(u64, Kept)>,
    ) -> Result<Box<dyn WriteInstances>, ExportError> {
        let is_parquet = self.format == Format::Parquet;
        let writer: Box<dyn WriteTables> = match (place, target) {
            (Place::Perfetto, _) => {
                let (sink, path) = match target {
                    None => (Sink::to_stdout(), Path::new("stdout")),
                    Some(target) => (
                        Sink::to_file(target.create()?, self.is_compressed()),
                        target.partial(),
                    ),
                };
                let limit = kept.map(|(n_calls, kept)| Limit {
                    max_bytes: self.max_bytes,
                    n_calls,
                    kept,
                });
                return Ok(Box::new(PerfettoTrace::new(sink, path, facts, limit)));
            }
            (Place::File(schema), None) => {
                let table = CsvFile::new(schema, Sink::to_stdout(), "stdout".into())?;
                Box::new(vec![table])
            }
            (_, None) => {
                let why = format!("{} is no stream", self.format.name());
                return Err(ExportError::format(&self.output, why));
            }
            (Place::Schedule, Some(target)) => {
                let sink = Sink::to_file(target.create()?, self.is_compressed());
                return Ok(Box::new(GoalWriter::new(sink, target.partial(), facts)));
            }
            (Place::Archive, Some(target)) => {
                target.create_directory()?;
                let writer = ArchiveWriter::create(target.partial(), facts, self.messages)?;
                return Ok(Box::new(writer));
            }
            (Place::Directory, Some(target)) => {
                target.create_directory()?;
                let directory = target.partial();
                if is_parquet {
                    Box::new(in_directory::<ParquetFile>(directory, &TABLES)?)
                } else {
                    Box::new(in_directory::<CsvFile>(directory, &TABLES)?)
                }
            }
            (Place::File(schema), Some(target)) => {
                let (file, path) = (target.create()?, target.partial().to_owned());
                if is_parquet {
                    Box::new(vec![ParquetFile::begin(schema, file, path)?])
                } else {
                    let sink = Sink::to_file(file, self.is_compressed());
                    Box::new(vec![CsvFile::new(schema, sink, path)?])
                }
            }
            (Place::Database, Some(target)) => {
                // An empty file is a database without tables.
                drop(target.create()?);
                Box::new(SqliteTables::create(target.partial(), &TABLES)?)
            }
        };
        Ok(Box::new(Tables {
            rows: RowTables::default(),
            writer,
        }))
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
        let said = "no messages were recorded in these instances: the table messages is empty";
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
    kept: Option<(u64, Kept)>,
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
        let target = self.how.target()?;
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
        // What was written before is removed.
        if let Some(AtWork { target: None, .. }) = self.at_work.take() {
            let said =
                "a file of the trace became shorter meanwhile; what was written is not complete";
            self.error = Some(ExportError::format(Path::new("stdout"), said));
            return;
        }
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

/// How many calls a Perfetto trace has, and the instances that stay in it: the outliers of each operation. `None` where it
/// cannot become too large.
fn kept(
    files: &RunFiles,
    how: &How,
    progress: &mut dyn FnMut(Progress),
) -> Result<Option<(u64, Kept)>, AnalyzeError> {
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
    let analysis = collbench_analyzer::analyze(files, &how.options, progress)?;
    let n_calls = analysis.ranks.iter().map(|rank| rank.calls).sum::<u64>();
    // Of a part there are as many messages for each call as of the whole.
    let n_messages = u128::from(analysis.trace.messages.unwrap_or(0)) * u128::from(n_calls)
        / u128::from(analysis.trace.calls.max(1));
    let n_ends = u64::try_from(2 * n_messages).unwrap_or(u64::MAX);
    if !Limit::may_exceed(n_calls.saturating_add(n_ends), how.max_bytes) {
        return Ok(None);
    }
    let operations = analysis.operations.iter();
    let outliers = operations.flat_map(|operation| {
        let of = (operation.communicator, operation.operation.clone());
        let outliers = operation.outliers.iter();
        outliers.map(move |outlier| (of.0, of.1.clone(), outlier.sequence))
    });
    Ok(Some((n_calls, outliers.collect())))
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
    drop(how.target()?);
    if matches!(place, Place::Archive) {
        archive::check_library(&how.output)?;
    }
    let files = RunFiles::open(trace).map_err(AnalyzeError::from)?;
    let mut exporter = Exporter {
        how,
        place,
        at_work: None,
        kept: kept(&files, how, progress)?,
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
