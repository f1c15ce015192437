//! Exports a trace.

use std::path::{Path, PathBuf};

use collbench_analyzer::rows::{AnalysisOfRows, Rows, TakeInstances, analyze_rows};
use collbench_analyzer::{Analysis, AnalyzeError, Options, Prepared, Progress, RunFiles};

use crate::archive::{self, ArchiveWriter};
use crate::csv::CsvTables;
use crate::error::ExportError;
use crate::facts::Facts;
use crate::instances::WriteInstances;
use crate::parquet::ParquetTables;
use crate::sqlite::SqliteTables;
use crate::tables::schema::{CALLS, TABLES, TableSchema};
use crate::tables::{RowTables, WriteTables, summaries};
use crate::target::Target;

/// The formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Parquet files.
    Parquet,
    /// Comma-separated values.
    Csv,
    /// A database of SQLite.
    Sqlite,
    /// An archive in the Open Trace Format 2.
    Otf2,
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
    /// Which part of the trace, and how it is analysed.
    pub options: Options,
}

/// What was asked for and cannot be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UsageError {
    /// Standard output takes one stream.
    #[error("--to {0} -o -: only csv is written to standard output; name a file or a directory")]
    Stdout(&'static str),
    /// No such table.
    #[error("--table {table}: no such table; the tables: {known}")]
    Table {
        /// What was asked for.
        table: String,
        /// Those that there are.
        known: String,
    },
    /// A database has all of them.
    #[error("--table {0}: a database has all tables; leave --table out")]
    TableOfDatabase(String),
    /// An archive has none.
    #[error("--table {0}: an archive of otf2 has no tables; leave --table out")]
    TableOfArchive(String),
    /// Tables have them anyway.
    #[error("--messages: only for --to otf2; tables have the messages in one of their own")]
    MessagesOfTables,
    /// An archive is a directory.
    #[error("--to otf2 -o -: an archive is a directory; name one that does not exist yet")]
    ArchiveToStdout,
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
    /// One to a file.
    File(&'static TableSchema),
    /// One to standard output.
    Stdout(&'static TableSchema),
    /// All to a database.
    Database,
    /// To an archive, which is a directory.
    Archive,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Parquet, Self::Csv, Self::Sqlite, Self::Otf2];

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Csv => "csv",
            Self::Sqlite => "sqlite",
            Self::Otf2 => "otf2",
        }
    }

    /// Whether a file with this name is in a directory that an export in this format made.
    fn is_known(self) -> fn(&str) -> bool {
        match self {
            Self::Parquet => |name| has_table(name, ".parquet"),
            Self::Csv => |name| has_table(name, ".csv"),
            Self::Sqlite => |_| false,
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
                    table: collbench_text::inert::line(name, 60),
                    known: TABLES.map(|schema| schema.name).join(", "),
                })?)
            }
        };
        let name = self.output.to_string_lossy();
        let is_stdout = name == "-";
        if self.format == Format::Otf2 {
            return match table {
                Some(table) => Err(UsageError::TableOfArchive(table.name.to_owned())),
                None if is_stdout => Err(UsageError::ArchiveToStdout),
                None => Ok(Place::Archive),
            };
        }
        if self.messages {
            return Err(UsageError::MessagesOfTables);
        }
        if self.format == Format::Sqlite {
            if let Some(table) = table {
                return Err(UsageError::TableOfDatabase(table.name.to_owned()));
            }
            if is_stdout {
                return Err(UsageError::Stdout(self.format.name()));
            }
            return Ok(Place::Database);
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

    /// What writes the instances; `None` as target: standard output.
    fn writer(
        &self,
        place: &Place,
        target: Option<&Target>,
        facts: Facts,
    ) -> Result<Box<dyn WriteInstances>, ExportError> {
        if let (Place::Archive, Some(target)) = (place, target) {
            target.create_directory()?;
            let writer = ArchiveWriter::create(target.partial(), facts, self.messages)?;
            return Ok(Box::new(writer));
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
            (_, None) | (Place::Archive, _) => Ok(Box::new(CsvTables::to_stdout(&CALLS)?)),
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
                let is_compressed = self.output.to_string_lossy().ends_with(".gz");
                Ok(if is_parquet {
                    Box::new(ParquetTables::in_file(file, path, schema)?)
                } else {
                    Box::new(CsvTables::in_file(file, path, is_compressed, schema)?)
                })
            }
            (Place::Database, Some(target)) => {
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

    fn finish(self: Box<Self>, analyzed: &AnalysisOfRows) -> Result<(), ExportError> {
        let Self { rows, mut writer } = *self;
        rows.finish(&mut *writer)?;
        summaries(analyzed, &mut *writer)?;
        writer.finish()
    }
}

/// Writes instances as they come.
struct Exporter<'h> {
    how: &'h How,
    place: Place,
    /// What is written, if it began.
    at_work: Option<AtWork>,
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
            Place::Stdout(_) => None,
            _ => {
                let How { output, force, .. } = self.how;
                Some(Target::new(output, *force, self.how.format.is_known())?)
            }
        };
        Ok(AtWork {
            writer: self.how.writer(&self.place, target.as_ref(), facts)?,
            target,
        })
    }
}

impl TakeInstances for Exporter<'_> {
    fn begin(&mut self, prepared: Prepared<'_, '_>) {
        // What was written before is removed first: the new one has the same name.
        self.at_work = None;
        match self.start(Facts::of(prepared)) {
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

/// Analyses a trace and exports it. `finish` adds what is found besides to the analysis before the tables of call sites are
/// written.
///
/// # Errors
/// [`Failure`] if nothing was exported. A damaged trace is exported as far as it goes.
pub fn export(
    trace: &Path,
    how: &How,
    progress: &mut dyn FnMut(Progress),
    finish: &mut dyn FnMut(&mut Analysis),
) -> Result<Analysis, Failure> {
    let place = how.place()?;
    // Before anything takes time.
    if !matches!(place, Place::Stdout(_)) {
        drop(Target::new(&how.output, how.force, how.format.is_known())?);
    }
    if matches!(place, Place::Archive) {
        archive::check_library(&how.output)?;
    }
    let files = RunFiles::open(trace).map_err(AnalyzeError::from)?;
    let mut exporter = Exporter {
        how,
        place,
        at_work: None,
        error: None,
    };
    let analyzed = analyze_rows(&files, &how.options, progress, &mut exporter);
    if let Some(error) = exporter.error {
        return Err(error.into());
    }
    let mut analyzed: AnalysisOfRows = analyzed?;
    finish(&mut analyzed.analysis);
    if let Some(AtWork { target, writer }) = exporter.at_work {
        writer.finish(&analyzed)?;
        if let Some(target) = target {
            target.complete()?;
        }
    }
    Ok(analyzed.analysis)
}
