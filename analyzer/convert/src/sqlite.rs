//! Tables as a database of SQLite.

use std::path::{Path, PathBuf};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, Statement, ToSql};

use crate::error::ExportError;
use crate::tables::WriteTables;
use crate::tables::batch::{Batch, Cell, Cursor};
use crate::tables::schema::{Kind, TableSchema};

/// Writes tables to a database.
pub(crate) struct SqliteTables {
    path: PathBuf,
    connection: Connection,
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Self::Null => ValueRef::Null,
            Self::Int(value) => ValueRef::Integer(value),
            Self::Real(value) => ValueRef::Real(value),
            Self::Bool(value) => ValueRef::Integer(value.into()),
            Self::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl SqliteTables {
    /// Makes a database with these tables of an empty file.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn create(
        path: &Path,
        tables: &[&'static TableSchema],
    ) -> Result<Self, ExportError> {
        let failed = |error| ExportError::format(path, error);
        let connection = Connection::open(path).map_err(failed)?;
        // It is thrown away unless it becomes complete.
        let settings = "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; \
                        PRAGMA locking_mode = EXCLUSIVE; PRAGMA temp_store = MEMORY;";
        connection.execute_batch(settings).map_err(failed)?;
        for table in tables {
            connection
                .execute_batch(&definition(table))
                .map_err(failed)?;
        }
        connection.execute_batch("BEGIN").map_err(failed)?;
        connection.set_prepared_statement_cache_capacity(2 * tables.len());
        Ok(Self {
            path: path.to_owned(),
            connection,
        })
    }
}

/// The statement that makes a table. What columns say stands in comments, which the database keeps.
fn definition(table: &TableSchema) -> String {
    let last = table.columns.len() - 1;
    let columns = table.columns.iter().enumerate().map(|(at, column)| {
        let kind = match column.kind {
            Kind::Int | Kind::Bool => "INTEGER",
            Kind::Real => "REAL",
            Kind::Text => "TEXT",
        };
        let null = if column.is_nullable { "" } else { " NOT NULL" };
        let comma = if at == last { "" } else { "," };
        format!(
            "  \"{}\" {kind}{null}{comma} -- {}\n",
            column.name, column.about
        )
    });
    let columns: String = columns.collect();
    format!(
        "CREATE TABLE \"{}\" ( -- {}\n{columns})",
        table.name, table.about
    )
}

fn insert(statement: &mut Statement<'_>, batch: &Batch) -> rusqlite::Result<()> {
    let mut cursors: Vec<Cursor<'_>> = batch.columns.iter().map(Cursor::new).collect();
    for _ in 0..batch.n_rows() {
        for (at, cursor) in cursors.iter_mut().enumerate() {
            statement.raw_bind_parameter(at + 1, cursor.next_cell())?;
        }
        statement.raw_execute()?;
    }
    Ok(())
}

impl WriteTables for SqliteTables {
    fn wants(&self, _table: &str) -> bool {
        true
    }

    fn write(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let failed = |error| ExportError::format(&self.path, error);
        let places = vec!["?"; batch.columns.len()].join(",");
        let sql = format!("INSERT INTO \"{}\" VALUES ({places})", batch.schema.name);
        let mut statement = self.connection.prepare_cached(&sql).map_err(failed)?;
        insert(&mut statement, batch).map_err(failed)
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        let Self { path, connection } = *self;
        let committed = connection.execute_batch("COMMIT");
        committed.map_err(|error| ExportError::format(&path, error))?;
        connection
            .close()
            .map_err(|(_, error)| ExportError::format(&path, error))
    }
}
