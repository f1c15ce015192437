//! Tables as comma-separated values (RFC 4180), compressed if the name ends with `.gz`.
//!
//! The first line has the names of columns. A cell without a value is empty. A text that a spreadsheet would compute, because it
//! begins with `=`, `+`, `-`, `@`, a tab or a carriage return, has an apostrophe before it.

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::ExportError;
use crate::sink::Sink;
use crate::tables::WriteTables;
use crate::tables::batch::{Batch, Cell, Cursor};
use crate::tables::schema::TableSchema;
use crate::target;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// Writes tables as comma-separated values.
pub(crate) struct CsvTables {
    tables: Vec<Table>,
}

struct Table {
    schema: &'static TableSchema,
    path: PathBuf,
    writer: csv::Writer<Sink>,
}

impl CsvTables {
    /// Writes all tables to files in a directory.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn in_directory(
        directory: &Path,
        tables: &[&'static TableSchema],
    ) -> Result<Self, ExportError> {
        let tables = tables.iter().map(|schema| {
            let path = directory.join(format!("{}.csv", schema.name));
            Table::new(schema, Sink::File(target::create(&path)?), path)
        });
        Ok(Self {
            tables: tables.collect::<Result<_, _>>()?,
        })
    }

    /// Writes one table to a file, compressed or not.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn in_file(
        file: File,
        path: &Path,
        is_compressed: bool,
        schema: &'static TableSchema,
    ) -> Result<Self, ExportError> {
        let sink = Sink::to_file(file, is_compressed);
        Ok(Self {
            tables: vec![Table::new(schema, sink, path.to_owned())?],
        })
    }

    /// Writes one table to standard output.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn to_stdout(schema: &'static TableSchema) -> Result<Self, ExportError> {
        let table = Table::new(schema, Sink::to_stdout(), "stdout".into())?;
        Ok(Self {
            tables: vec![table],
        })
    }
}

impl Table {
    fn new(schema: &'static TableSchema, sink: Sink, path: PathBuf) -> Result<Self, ExportError> {
        let mut builder = csv::WriterBuilder::new();
        builder
            .buffer_capacity(BUFFER)
            .terminator(csv::Terminator::CRLF);
        let mut this = Self {
            schema,
            path,
            writer: builder.from_writer(sink),
        };
        let names = schema.columns.iter().map(|column| column.name);
        let written = this.writer.write_record(names);
        written.map_err(|error| this.failed(error))?;
        Ok(this)
    }

    fn failed(&self, error: csv::Error) -> ExportError {
        match error.into_kind() {
            csv::ErrorKind::Io(error) => ExportError::io(&self.path, error),
            other => ExportError::format(&self.path, format!("{other:?}")),
        }
    }

    fn write(&mut self, batch: &Batch) -> Result<(), csv::Error> {
        let mut cursors: Vec<Cursor<'_>> = batch.columns.iter().map(Cursor::new).collect();
        let mut digits = itoa::Buffer::new();
        for _ in 0..batch.n_rows() {
            for cursor in &mut cursors {
                match cursor.next_cell() {
                    Cell::Null => self.writer.write_field(b"")?,
                    Cell::Int(value) => self.writer.write_field(digits.format(value))?,
                    Cell::Real(value) => self.writer.write_field(value.to_string())?,
                    Cell::Bool(true) => self.writer.write_field(b"true")?,
                    Cell::Bool(false) => self.writer.write_field(b"false")?,
                    Cell::Text(text) => self.writer.write_field(&*inert(text))?,
                }
            }
            self.writer.write_record(None::<&[u8]>)?;
        }
        Ok(())
    }
}

/// A text that no spreadsheet computes.
fn inert(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        Cow::Owned(format!("'{text}"))
    } else {
        Cow::Borrowed(text)
    }
}

impl WriteTables for CsvTables {
    fn wants(&self, table: &str) -> bool {
        self.tables.iter().any(|of| of.schema.name == table)
    }

    fn write(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let mut tables = self.tables.iter_mut();
        let Some(table) = tables.find(|table| table.schema == batch.schema) else {
            return Ok(());
        };
        let written = table.write(batch);
        written.map_err(|error| table.failed(error))
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        for Table { path, writer, .. } in self.tables {
            let failed = |error| ExportError::io(&path, error);
            let sink = writer
                .into_inner()
                .map_err(|error| failed(error.into_error()))?;
            sink.finish().map_err(failed)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::schema::ABOUT;

    #[test]
    fn texts_are_read_back_whatever_they_are_and_no_spreadsheet_computes_them() {
        let long = "x".repeat(1 << 20);
        let texts = [
            "plain",
            "with, comma and \"quotes\"",
            "two\nlines\r\nand a third",
            "",
            "\u{fffd}\u{202e}",
            &long,
            "=cmd|' /C calc'!A0",
            "+1",
            "-1",
            "@sum",
            "\tx",
        ];
        let mut batch = Batch::new(&ABOUT);
        for text in texts {
            batch.text(Some("key")).text(Some(text));
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("about.csv.gz");
        let file = target::create(&path).unwrap();
        let mut tables = CsvTables::in_file(file, &path, true, &ABOUT).unwrap();
        tables.write(&batch).unwrap();
        Box::new(tables).finish().unwrap();
        let file = flate2::read::GzDecoder::new(File::open(&path).unwrap());
        let mut reader = csv::Reader::from_reader(file);
        let found = reader.records().map(|row| row.unwrap()[1].to_owned());
        let found: Vec<String> = found.collect();
        let (same, computed) = found.split_at(6);
        assert_eq!(same, &texts[..6]);
        for (found, text) in computed.iter().zip(&texts[6..]) {
            assert_eq!(*found, format!("'{text}"));
        }
    }
}
