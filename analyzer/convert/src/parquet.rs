//! Tables as Parquet files.
//!
//! The columns of a row group are compressed while they are filled, several at a time, and put one behind the other when it is
//! full. Until then their pages are in a file without a name: in memory is one page of each column.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::basic::{
    Compression, Encoding, LogicalType, Repetition, Type as PhysicalType, ZstdLevel,
};
use parquet::column::page::{CompressedPage, PageWriteSpec, PageWriter};
use parquet::column::writer::{ColumnWriter, get_column_writer};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use parquet::schema::types::{ColumnDescPtr, ColumnPath, Type};
use rayon::prelude::*;

use crate::error::ExportError;
use crate::table_files::TableFile;
use crate::tables::batch::{Batch, ColumnCells, Values};
use crate::tables::schema::{Kind, TableSchema};
use crate::target;

/// Rows of a row group, about.
const GROUP_ROWS: usize = 1 << 20;
/// Rows of a page of a column, at most.
const PAGE_ROWS: usize = 1 << 13;

/// A table as a Parquet file.
pub(crate) struct ParquetFile {
    schema: &'static TableSchema,
    path: PathBuf,
    writer: SerializedFileWriter<File>,
    properties: WriterPropertiesPtr,
    /// Where the pages of the row group at hand are.
    pages: Arc<PageFile>,
    /// The columns of the row group at hand; none where it has no rows yet.
    columns: Vec<ColumnChunk>,
    n_rows: usize,
}

/// A column of a row group.
struct ColumnChunk {
    writer: ColumnWriter<'static>,
    written: Arc<Mutex<WrittenPages>>,
    /// The texts by number, of a column of texts.
    texts: Vec<ByteArray>,
}

/// The file in which pages are until their row group is full.
#[derive(Debug)]
struct PageFile {
    file: File,
    /// Where it ends, bytes.
    end: AtomicU64,
}

/// A page in the file.
#[derive(Debug, Clone, Copy)]
struct PlaceOfPage {
    begin: u64,
    length: usize,
}

/// The pages of a column that were written.
#[derive(Clone)]
struct WrittenPages {
    file: Arc<PageFile>,
    places: Vec<PlaceOfPage>,
    n_bytes: u64,
}

impl Length for WrittenPages {
    fn len(&self) -> u64 {
        self.n_bytes
    }
}

impl ChunkReader for WrittenPages {
    type T = PageReader;

    fn get_read(&self, start: u64) -> Result<PageReader, ParquetError> {
        let mut reader = PageReader {
            file: Arc::clone(&self.file),
            places: self.places.iter().copied().collect(),
        };
        io::copy(&mut (&mut reader).take(start), &mut io::sink())?;
        Ok(reader)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::new();
        let reader = self.get_read(start)?;
        reader.take(length as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Reads the pages of a column one behind the other.
struct PageReader {
    file: Arc<PageFile>,
    places: VecDeque<PlaceOfPage>,
}

impl Read for PageReader {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while let Some(place) = self.places.front_mut() {
            if place.length == 0 {
                self.places.pop_front();
                continue;
            }
            let n = place.length.min(into.len());
            self.file.file.read_exact_at(&mut into[..n], place.begin)?;
            place.begin += n as u64;
            place.length -= n;
            return Ok(n);
        }
        Ok(0)
    }
}

/// Writes the pages of a column to the file.
struct Pages {
    written: Arc<Mutex<WrittenPages>>,
    buffer: Vec<u8>,
}

impl PageWriter for Pages {
    fn write_page(&mut self, page: CompressedPage) -> Result<PageWriteSpec, ParquetError> {
        self.buffer.clear();
        let mut sink = TrackedWrite::new(&mut self.buffer);
        let mut spec = SerializedPageWriter::new(&mut sink).write_page(page)?;
        sink.flush()?;
        drop(sink);
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let length = self.buffer.len();
        let file = &written.file;
        let begin = file.end.fetch_add(length as u64, Ordering::Relaxed);
        file.file.write_all_at(&self.buffer, begin)?;
        spec.offset += written.n_bytes;
        written.n_bytes += length as u64;
        written.places.push(PlaceOfPage { begin, length });
        Ok(spec)
    }

    fn close(&mut self) -> Result<(), ParquetError> {
        Ok(())
    }
}

impl TableFile for ParquetFile {
    const END: &'static str = ".parquet";

    fn begin(schema: &'static TableSchema, file: File, path: PathBuf) -> Result<Self, ExportError> {
        let failed = |error: ParquetError| ExportError::format(&path, error);
        let columns = schema.columns.iter().map(|column| {
            let (physical, logical) = match column.kind {
                Kind::Int => (PhysicalType::INT64, None),
                Kind::Real => (PhysicalType::DOUBLE, None),
                Kind::Bool => (PhysicalType::BOOLEAN, None),
                Kind::Text => (PhysicalType::BYTE_ARRAY, Some(LogicalType::String)),
            };
            let repetition = if column.is_nullable {
                Repetition::OPTIONAL
            } else {
                Repetition::REQUIRED
            };
            let builder = Type::primitive_type_builder(column.name, physical)
                .with_repetition(repetition)
                .with_logical_type(logical);
            builder.build().map(Arc::new)
        });
        let columns = columns.collect::<Result<_, _>>().map_err(failed)?;
        let group = Type::group_type_builder(schema.name).with_fields(columns);
        let group = Arc::new(group.build().map_err(failed)?);
        let level = ZstdLevel::try_new(1).map_err(failed)?;
        let mut properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_data_page_row_count_limit(PAGE_ROWS)
            // Those of pages would be in memory until the end.
            .set_statistics_enabled(EnabledStatistics::Chunk)
            .set_offset_index_disabled(true)
            .set_created_by("collbench".to_owned())
            .set_key_value_metadata(Some(vec![
                KeyValue::new(
                    "collbench.schema".to_owned(),
                    "collbench.tables/1".to_owned(),
                ),
                KeyValue::new("collbench.table".to_owned(), schema.about.to_owned()),
            ]));
        for column in schema.columns.iter().filter(|column| column.is_smooth) {
            let path = ColumnPath::new(vec![column.name.to_owned()]);
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
        let mut pages = path.clone().into_os_string();
        pages.push("-pages");
        let pages = target::create_unnamed(Path::new(&pages));
        let pages = pages.map_err(|error| ExportError::io(&path, error))?;
        let properties = Arc::new(properties.build());
        let writer = SerializedFileWriter::new(file, group, Arc::clone(&properties));
        let writer = writer.map_err(failed)?;
        Ok(Self {
            schema,
            path,
            writer,
            properties,
            pages: Arc::new(PageFile {
                file: pages,
                end: AtomicU64::new(0),
            }),
            columns: Vec::new(),
            n_rows: 0,
        })
    }

    fn schema(&self) -> &'static TableSchema {
        self.schema
    }

    fn write(&mut self, batch: &Batch) -> Result<(), ExportError> {
        let written = self.write_rows(batch);
        written.map_err(|error| self.failed(error))
    }

    fn finish(mut self) -> Result<(), ExportError> {
        let ended = self.end_group().and_then(|()| self.writer.finish());
        ended.map(|_| ()).map_err(|error| self.failed(error))
    }
}

impl ParquetFile {
    fn failed(&self, error: ParquetError) -> ExportError {
        match error {
            ParquetError::External(source) => match source.downcast::<std::io::Error>() {
                Ok(source) => ExportError::io(&self.path, *source),
                Err(other) => ExportError::format(&self.path, other),
            },
            error => ExportError::format(&self.path, error),
        }
    }

    fn write_rows(&mut self, batch: &Batch) -> Result<(), ParquetError> {
        if self.columns.is_empty() {
            let described = self.writer.schema_descr().columns();
            let new =
                |column: &ColumnDescPtr| ColumnChunk::new(column, &self.properties, &self.pages);
            self.columns = described.iter().map(new).collect();
        }
        let columns = self.columns.par_iter_mut().zip(&batch.columns);
        columns.try_for_each(|(column, cells)| column.write(cells))?;
        self.n_rows += batch.n_rows();
        if self.n_rows >= GROUP_ROWS {
            self.end_group()?;
        }
        Ok(())
    }

    /// Puts the columns at hand into the file.
    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.n_rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in std::mem::take(&mut self.columns) {
            let closed = column.writer.close()?;
            let written = column
                .written
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            group.append_column(&*written, closed)?;
        }
        group.close()?;
        self.pages.end.store(0, Ordering::Relaxed);
        self.n_rows = 0;
        Ok(())
    }
}

impl ColumnChunk {
    fn new(column: &ColumnDescPtr, properties: &WriterPropertiesPtr, file: &Arc<PageFile>) -> Self {
        let written = Arc::new(Mutex::new(WrittenPages {
            file: Arc::clone(file),
            places: Vec::new(),
            n_bytes: 0,
        }));
        let pages = Pages {
            written: Arc::clone(&written),
            buffer: Vec::new(),
        };
        Self {
            writer: get_column_writer(Arc::clone(column), Arc::clone(properties), Box::new(pages)),
            written,
            texts: Vec::new(),
        }
    }

    fn write(&mut self, cells: &ColumnCells) -> Result<(), ParquetError> {
        let present = (!cells.present.is_empty()).then_some(&cells.present[..]);
        let written = match (&mut self.writer, &cells.values) {
            (ColumnWriter::Int64ColumnWriter(writer), Values::Int(values)) => {
                writer.write_batch(values, present, None)
            }
            (ColumnWriter::DoubleColumnWriter(writer), Values::Real(values)) => {
                writer.write_batch(values, present, None)
            }
            (ColumnWriter::BoolColumnWriter(writer), Values::Bool(values)) => {
                writer.write_batch(values, present, None)
            }
            (ColumnWriter::ByteArrayColumnWriter(writer), Values::Text(numbers)) => {
                let new = cells.texts[self.texts.len()..].iter();
                self.texts.extend(new.map(|text| ByteArray::from(&**text)));
                let values = numbers
                    .iter()
                    .map(|&number| self.texts[number as usize].clone());
                let values: Vec<ByteArray> = values.collect();
                writer.write_batch(&values, present, None)
            }
            _ => return Err(ParquetError::General("a column of another kind".to_owned())),
        };
        written.map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;

    use super::*;
    use crate::tables::schema::PASSES;

    #[test]
    fn rows_of_several_groups_are_read_back_with_those_that_have_no_value() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("passes.parquet");
        let file = target::create(&path).unwrap();
        let mut table = ParquetFile::begin(&PASSES, file, path.clone()).unwrap();
        let mut batch = Batch::new(&PASSES);
        let n_rows = GROUP_ROWS as i64 + 70_000;
        for row in 0..n_rows {
            batch.int(row / 3).int(row % 64).int(1).int(2).int(0);
            batch.maybe((row % 2 == 0).then_some(-row)).null();
            if batch.n_rows() == 9_000 {
                table.write(&batch).unwrap();
                batch.clear();
            }
        }
        table.write(&batch).unwrap();
        table.finish().unwrap();
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let mut row = 0;
        for found in reader.get_row_iter(None).unwrap() {
            let found = found.unwrap();
            let fields: Vec<&Field> = found.get_column_iter().map(|(_, field)| field).collect();
            assert_eq!(*fields[0], Field::Long(row / 3));
            let down = if row % 2 == 0 {
                Field::Long(-row)
            } else {
                Field::Null
            };
            assert_eq!((fields[5], fields[6]), (&down, &Field::Null));
            row += 1;
        }
        assert_eq!(row, n_rows);
    }
}
