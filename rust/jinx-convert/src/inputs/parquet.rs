//! Reads Parquet files as batches of few rows, so that large row groups need little memory.

mod nesting;
mod pread;
mod views;
mod zones;

use crate::arrow::failure::{from_parquet, guarded};
use crate::arrow::features::Features;
use crate::suggest;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use jinx_core::error::{Error, Result};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};
use parquet::file::metadata::ParquetMetaData;
use pread::PreadFile;
use std::path::{Path, PathBuf};

/// The intended size of a batch: large enough to spread its fixed costs, and small enough for the caches.
const BATCH_BYTES: u64 = 4 << 20;
const MAX_BATCH_ROWS: u64 = 1024;
const MAGIC: &[u8; 4] = b"PAR1";
const ENCRYPTED_MAGIC: &[u8; 4] = b"PARE";

/// An open Parquet file. Readers made from it are independent and may run in several threads.
#[derive(Clone)]
pub struct ParquetSource {
    path: PathBuf,
    file: PreadFile,
    metadata: ArrowReaderMetadata,
    rows: u64,
}

impl ParquetSource {
    /// Opens the file and reads its footer.
    ///
    /// # Errors
    /// `Io`; `Truncated` for a file that only begins as Parquet; `Corrupt`; `Unsupported` for encrypted files.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let file = PreadFile::open(&path)?;
        let load = || {
            check_magic(&file)?;
            nesting::check_footer(&file.footer()?)?;
            let read = ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(from_parquet)?;
            let Some(schema) = zones::restored(read.schema(), read.metadata()) else { return Ok(read) };
            let options = ArrowReaderOptions::new().with_schema(schema);
            ArrowReaderMetadata::try_new(read.metadata().clone(), options).map_err(from_parquet)
        };
        let metadata = guarded(load, "the Parquet footer").map_err(|error| error.in_file(&path))?;
        let rows = metadata.metadata().row_groups().iter().map(|group| u64::try_from(group.num_rows()));
        let rows = rows
            .sum::<Result<u64, _>>()
            .map_err(|_| Error::corrupt("a row group has a negative number of rows").in_file(&path))?;
        Ok(Self { path, file, metadata, rows })
    }

    /// The Arrow schema with its metadata, Hugging Face's included.
    pub fn schema(&self) -> SchemaRef {
        self.metadata.schema().clone()
    }

    /// The media columns.
    pub fn features(&self) -> Features {
        Features::from_schema(self.metadata.schema())
    }

    pub fn num_rows(&self) -> u64 {
        self.rows
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The number of rows per batch that make about 4 MiB of the selected columns (by index), decoded.
    fn batch_rows(&self, columns: &[usize]) -> usize {
        let bytes = decoded_bytes(self.metadata.metadata(), columns);
        let per_row = bytes / self.rows.max(1);
        let rows = (BATCH_BYTES / per_row.max(1)).clamp(1, MAX_BATCH_ROWS);
        usize::try_from(rows).unwrap_or(1)
    }

    /// Batches in file order. `batch_rows` of `None` chooses by the rows' size; `projection` names top-level
    /// columns, which come in the file's order; `limit` is a number of rows.
    ///
    /// # Errors
    /// `Invalid` for a column that the file lacks, naming those with a similar name.
    pub fn batches(
        &self,
        batch_rows: Option<usize>,
        projection: Option<&[String]>,
        limit: Option<u64>,
    ) -> Result<Batches> {
        self.start(self.metadata.clone(), batch_rows, projection, limit)
    }

    /// Like [`Self::batches`], for rows that are emitted: binary columns are views of the decoded pages, so that media
    /// are not copied into batches.
    ///
    /// # Errors
    /// The errors of [`Self::batches`].
    pub fn row_batches(
        &self,
        batch_rows: Option<usize>,
        projection: Option<&[String]>,
        limit: Option<u64>,
    ) -> Result<Batches> {
        let options = ArrowReaderOptions::new().with_schema(views::with_binary_views(self.metadata.schema()));
        let load =
            || ArrowReaderMetadata::try_new(self.metadata.metadata().clone(), options).map_err(from_parquet);
        let metadata = guarded(load, "the Parquet schema").map_err(|error| error.in_file(&self.path))?;
        self.start(metadata, batch_rows, projection, limit)
    }

    fn start(
        &self,
        metadata: ArrowReaderMetadata,
        batch_rows: Option<usize>,
        projection: Option<&[String]>,
        limit: Option<u64>,
    ) -> Result<Batches> {
        let columns = self.columns(projection)?;
        let batch_rows = batch_rows.unwrap_or_else(|| self.batch_rows(&columns)).max(1);
        let build = || {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file.clone(), metadata);
            let mask = ProjectionMask::roots(builder.parquet_schema(), columns);
            let mut builder = builder.with_projection(mask).with_batch_size(batch_rows);
            if let Some(limit) = limit {
                builder = builder.with_limit(usize::try_from(limit).unwrap_or(usize::MAX));
            }
            builder.build().map_err(from_parquet)
        };
        let reader = guarded(build, "the Parquet file").map_err(|error| error.in_file(&self.path))?;
        let schema = arrow_array::RecordBatchReader::schema(&reader);
        // If columns are left out, the reader's own schema lacks the file's metadata.
        let metadata = self.metadata.schema().metadata().clone();
        let schema = SchemaRef::new(schema.as_ref().clone().with_metadata(metadata));
        Ok(Batches { reader: Some(reader), path: self.path.clone(), schema })
    }

    /// The indexes of the named columns.
    fn columns(&self, projection: Option<&[String]>) -> Result<Vec<usize>> {
        let fields = self.metadata.schema().fields();
        let Some(names) = projection else {
            return Ok((0..fields.len()).collect());
        };
        names
            .iter()
            .map(|name| {
                fields.iter().position(|field| field.name() == name).ok_or_else(|| {
                    let known = fields.iter().map(|field| field.name().as_str());
                    Error::invalid(suggest::no_such_column(name, known)).in_file(&self.path)
                })
            })
            .collect()
    }
}

fn check_magic(file: &PreadFile) -> Result<()> {
    let starts = file.starts_with(MAGIC)?;
    if file.ends_with(ENCRYPTED_MAGIC)? {
        return Err(Error::unsupported("the Parquet file is encrypted, which is not supported"));
    }
    match (starts, file.ends_with(MAGIC)?) {
        (true, true) if file.len() >= 12 => Ok(()),
        (true, _) => Err(Error::truncated(
            "the file begins as Parquet but does not end as Parquet: it is incomplete; copy or download it again",
        )),
        (false, _) if file.len() == 0 => Err(Error::truncated("the file is empty")),
        (false, _) => Err(Error::corrupt("this is not a Parquet file: it does not begin with PAR1")),
    }
}

/// The number of bytes of the selected columns before compression, over all row groups.
fn decoded_bytes(metadata: &ParquetMetaData, columns: &[usize]) -> u64 {
    let schema = metadata.file_metadata().schema_descr();
    let groups = metadata.row_groups().iter();
    groups
        .flat_map(|group| group.columns().iter().enumerate())
        .filter(|(leaf, _)| {
            *leaf < schema.num_columns() && columns.contains(&schema.get_column_root_idx(*leaf))
        })
        .map(|(_, column)| u64::try_from(column.uncompressed_size()).unwrap_or(0))
        .fold(0, u64::saturating_add)
}

/// The batches of one reading; ends after the first error.
pub struct Batches {
    reader: Option<ParquetRecordBatchReader>,
    path: PathBuf,
    schema: SchemaRef,
}

impl Batches {
    /// The schema of the batches, with the file's metadata.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        let reader = self.reader.as_mut()?;
        let read = || reader.next().transpose().map_err(crate::arrow::failure::from_arrow);
        let next = guarded(read, "the Parquet data").and_then(|batch| {
            let with_schema = |batch: RecordBatch| batch.with_schema(self.schema.clone());
            batch.map(with_schema).transpose().map_err(crate::arrow::failure::from_arrow)
        });
        let next = next.map_err(|error| error.in_file(&self.path)).transpose();
        if !matches!(next, Some(Ok(_))) {
            self.reader = None;
        }
        next
    }
}
