//! Tables in files of their own.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::error::ExportError;
use crate::tables::WriteTables;
use crate::tables::batch::Batch;
use crate::tables::schema::TableSchema;
use crate::target;

/// One table in a file of its own.
pub(crate) trait TableFile: Send + Sized {
    /// How the names of such files end.
    const END: &'static str;

    /// Begins the table in an empty file.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    fn begin(schema: &'static TableSchema, file: File, path: PathBuf) -> Result<Self, ExportError>;

    /// The table.
    fn schema(&self) -> &'static TableSchema;

    /// Writes more of its rows.
    ///
    /// # Errors
    /// [`ExportError`] if they cannot be written.
    fn write(&mut self, batch: &Batch) -> Result<(), ExportError>;

    /// Ends it.
    ///
    /// # Errors
    /// [`ExportError`] if that fails.
    fn finish(self) -> Result<(), ExportError>;
}

/// All tables in files of a directory, named as the tables are.
///
/// # Errors
/// [`ExportError`] if that fails.
pub(crate) fn in_directory<T: TableFile>(
    directory: &Path,
    tables: &[&'static TableSchema],
) -> Result<Vec<T>, ExportError> {
    let files = tables.iter().map(|schema| {
        let path = directory.join(format!("{}{}", schema.name, T::END));
        T::begin(schema, target::create(&path)?, path)
    });
    files.collect()
}

impl<T: TableFile> WriteTables for Vec<T> {
    fn wants(&self, table: &str) -> bool {
        self.iter().any(|of| of.schema().name == table)
    }

    fn write(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let table = self.iter_mut().find(|of| of.schema() == batch.schema);
        table.map_or(Ok(()), |table| table.write(batch))
    }

    fn finish(self: Box<Self>) -> Result<(), ExportError> {
        self.into_iter().try_for_each(TableFile::finish)
    }
}
