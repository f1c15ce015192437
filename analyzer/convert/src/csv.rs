//! Tables as comma-separated values (RFC 4180), compressed if the name ends with `.gz`.
//!
//! The first line has the names of columns. A cell without a value is empty. A text that a spreadsheet would compute, because it
//! begins with `=`, `+`, `-`, `@`, a tab or a carriage return, has an apostrophe before it.

use std::borrow::Cow;
use std::fs::File;
use std::path::PathBuf;

use crate::error::ExportError;
use crate::sink::Sink;
use crate::table_files::TableFile;
use crate::tables::batch::{Batch, Cell, Cursor};
use crate::tables::schema::TableSchema;

/// Bytes that are written at once.
const BUFFER: usize = 1 << 18;

/// A table as comma-separated values.
pub(crate) struct CsvFile {
    schema: &'static TableSchema,
    path: PathBuf,
    writer: csv::Writer<Sink>,
}

impl CsvFile {
    /// Begins a table in a file, compressed or not, or on standard output.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    pub(crate) fn new(
        schema: &'static TableSchema,
        sink: Sink,
        path: PathBuf,
    ) -> Result<Self, ExportError> {
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

    fn write_rows(&mut self, batch: &Batch) -> Result<(), csv::Error> {
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

impl TableFile for CsvFile {
    const END: &'static str = ".csv";

    fn begin(schema: &'static TableSchema, file: File, path: PathBuf) -> Result<Self, ExportError> {
        Self::new(schema, Sink::File(file), path)
    }

    fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    fn write(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let written = self.write_rows(batch);
        written.map_err(|error| self.failed(error))
    }

    fn finish(self) -> Result<(), ExportError> {
        let Self { path, writer, .. } = self;
        let failed = |error| ExportError::io(&path, error);
        let sink = writer
            .into_inner()
            .map_err(|error| failed(error.into_error()))?;
        sink.finish().map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::schema::ABOUT;
    use crate::target;

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
        let sink = Sink::to_file(file, true);
        let mut table = CsvFile::new(&ABOUT, sink, path.clone()).unwrap();
        table.write(&batch).unwrap();
        table.finish().unwrap();
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
