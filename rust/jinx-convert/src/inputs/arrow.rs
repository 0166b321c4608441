//! Rows of Parquet and Arrow files and of Arrow batches, which workers emit.

use crate::arrow::emit::RowEmitter;
use crate::arrow::features::Features;
use crate::arrow::unify::unify;
use crate::inputs::arrow_ipc::{IpcBatches, IpcSource};
use crate::inputs::parquet::{Batches, ParquetSource};
use crate::{RowChunk, RowSource, Selection};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, NullArray, RecordBatch, RecordBatchOptions, RecordBatchReader};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use jinx_core::checked_math::to_u64;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Sink;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// The intended size of a chunk; batches from other libraries may have any size.
const CHUNK_BYTES: u64 = 4 << 20;
const MAX_CHUNK_ROWS: u64 = 1024;

/// A file that contains batches.
pub trait BatchFile: Send {
    type Batches: Iterator<Item = Result<RecordBatch>> + Send;

    fn schema(&self) -> SchemaRef;

    /// All batches in order, with only the named columns if names are given.
    ///
    /// # Errors
    /// Errors of the file.
    fn batches(&mut self, columns: Option<&[String]>) -> Result<Self::Batches>;

    /// The number of bytes read, out of `total`, once `rows` rows have been returned.
    fn bytes_read(&self, rows: u64, total: u64) -> u64;
}

impl BatchFile for ParquetSource {
    type Batches = Batches;

    fn schema(&self) -> SchemaRef {
        Self::schema(self)
    }

    fn batches(&mut self, columns: Option<&[String]>) -> Result<Batches> {
        self.row_batches(None, columns, None)
    }

    fn bytes_read(&self, rows: u64, total: u64) -> u64 {
        let share = u128::from(total) * u128::from(rows) / u128::from(self.num_rows().max(1));
        u64::try_from(share).unwrap_or(total)
    }
}

impl BatchFile for IpcSource {
    type Batches = IpcBatches;

    fn schema(&self) -> SchemaRef {
        Self::schema(self)
    }

    fn batches(&mut self, columns: Option<&[String]>) -> Result<IpcBatches> {
        Self::batches(self, columns)
    }

    fn bytes_read(&self, _: u64, _: u64) -> u64 {
        Self::bytes_read(self)
    }
}

/// The rows of one file of batches.
pub struct FileRows<F: BatchFile> {
    source: F,
    features: Arc<Features>,
    batches: Option<F::Batches>,
    selection: Option<Arc<Selection>>,
    cutter: BatchCutter,
    /// Columns that only other files have; they are null here.
    absent: Vec<String>,
    total: u64,
    done: bool,
}

impl<F: BatchFile> FileRows<F> {
    /// `whole` is the common schema of several files; the file at `path` must match it.
    ///
    /// # Errors
    /// `Mismatch` naming the column that does not fit.
    pub fn new(source: F, path: &Path, whole: Option<&SchemaRef>) -> Result<Self> {
        let schema = source.schema();
        let whole = whole.unwrap_or(&schema);
        unify(whole, &schema).map_err(|error| error.in_file(path))?;
        let names = whole.fields().iter().map(|field| field.name());
        let absent = names.filter(|name| schema.field_with_name(name).is_err()).cloned().collect();
        let total = path.metadata().map_or(0, |metadata| metadata.len());
        Ok(Self {
            features: Arc::new(Features::from_schema(whole)),
            batches: None,
            selection: None,
            cutter: BatchCutter::new(path),
            absent,
            source,
            total,
            done: false,
        })
    }

    /// The batch with the columns that the file lacks.
    fn completed(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let wants = |name: &str| self.selection.as_ref().is_none_or(|selection| selection.reads(name));
        let absent: Vec<&String> = self.absent.iter().filter(|name| wants(name)).collect();
        if absent.is_empty() {
            return Ok(batch);
        }
        let mut fields: Vec<_> = batch.schema().fields().iter().cloned().collect();
        let mut columns = batch.columns().to_vec();
        for name in absent {
            fields.push(Arc::new(Field::new(name, DataType::Null, true)));
            columns.push(Arc::new(NullArray::new(batch.num_rows())));
        }
        let schema = Schema::new_with_metadata(fields, batch.schema().metadata().clone());
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(Arc::new(schema), columns, &options)
            .map_err(crate::arrow::failure::from_arrow)
    }

    fn start(&mut self) -> Result<F::Batches> {
        let Some(selection) = &self.selection else {
            return self.source.batches(None);
        };
        let schema = self.source.schema();
        // Request every name, so that a mistyped name is noticed.
        let wanted = schema.fields().iter().filter(|field| selection.reads(field.name()));
        let wanted: Vec<String> = wanted.map(|field| field.name().clone()).collect();
        self.source.batches(Some(&wanted))
    }
}

impl<F: BatchFile> RowSource for FileRows<F> {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        loop {
            if let Some(chunk) = self.cutter.next() {
                return Ok(Some(Box::new(chunk)));
            }
            if self.done {
                return Ok(None);
            }
            let mut batches = match self.batches.take() {
                Some(batches) => batches,
                None => self.start()?,
            };
            match batches.next().transpose()? {
                Some(batch) => {
                    self.batches = Some(batches);
                    self.cutter.load(&self.completed(batch)?, &self.features)?;
                }
                None => self.done = true,
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        if self.done {
            self.total
        } else {
            self.source.bytes_read(self.cutter.given, self.total).min(self.total)
        }
    }

    fn total_bytes(&self) -> Option<u64> {
        Some(self.total)
    }

    fn select(&mut self, selection: &Arc<Selection>) {
        self.selection = Some(Arc::clone(selection));
    }
}

/// The rows of batches that are in memory, or come from another library.
pub struct ArrowRows<I> {
    schema: SchemaRef,
    features: Features,
    batches: Option<I>,
    cutter: BatchCutter,
    bytes: u64,
}

impl<I: Iterator<Item = Result<RecordBatch>> + Send> ArrowRows<I> {
    pub fn new(schema: SchemaRef, batches: I) -> Self {
        let features = Features::from_schema(&schema);
        Self {
            schema,
            features,
            batches: Some(batches),
            cutter: BatchCutter::new(Path::new("<table>")),
            bytes: 0,
        }
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// The rows from any reader of batches.
pub fn reader_rows(
    reader: impl RecordBatchReader + Send,
) -> ArrowRows<impl Iterator<Item = Result<RecordBatch>> + Send> {
    let schema = reader.schema();
    ArrowRows::new(schema, reader.map(|batch| batch.map_err(crate::arrow::failure::from_arrow)))
}

impl<I: Iterator<Item = Result<RecordBatch>> + Send> RowSource for ArrowRows<I> {
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>> {
        loop {
            if let Some(chunk) = self.cutter.next() {
                self.bytes += chunk.bytes();
                return Ok(Some(Box::new(chunk)));
            }
            let Some(batches) = &mut self.batches else {
                return Ok(None);
            };
            match batches.next().transpose()? {
                Some(batch) => self.cutter.load(&batch, &self.features)?,
                None => self.batches = None,
            }
        }
    }

    fn bytes_read(&self) -> u64 {
        self.bytes
    }

    fn total_bytes(&self) -> Option<u64> {
        None
    }
}

/// Splits batches into chunks and counts their rows.
struct BatchCutter {
    name: Arc<Path>,
    batch: Option<Arc<RowEmitter>>,
    left: Range<usize>,
    bytes_per_row: u64,
    /// The number of rows returned so far.
    given: u64,
}

impl BatchCutter {
    fn new(name: &Path) -> Self {
        Self { name: Arc::from(name), batch: None, left: 0..0, bytes_per_row: 0, given: 0 }
    }

    fn load(&mut self, batch: &RecordBatch, features: &Features) -> Result<()> {
        let emitter = RowEmitter::new(batch, features).map_err(|error| error.in_file(&self.name))?;
        let bytes: u64 = batch.columns().iter().map(bytes_of).sum();
        self.left = 0..emitter.len();
        self.bytes_per_row = bytes / to_u64(emitter.len()).max(1);
        self.batch = Some(Arc::new(emitter));
        Ok(())
    }

    fn next(&mut self) -> Option<BatchChunk> {
        let batch = self.batch.as_ref().filter(|_| !self.left.is_empty())?;
        let rows = (CHUNK_BYTES / self.bytes_per_row.max(1)).clamp(1, MAX_CHUNK_ROWS);
        let rows = usize::try_from(rows).unwrap_or(1).min(self.left.len());
        let range = self.left.start..self.left.start + rows;
        self.left.start = range.end;
        let first = self.given;
        self.given += to_u64(rows);
        let bytes = self.bytes_per_row * to_u64(rows);
        Some(BatchChunk { batch: Arc::clone(batch), range, first, bytes, name: Arc::clone(&self.name) })
    }
}

struct BatchChunk {
    batch: Arc<RowEmitter>,
    range: Range<usize>,
    /// The number of the first row in its file.
    first: u64,
    bytes: u64,
    name: Arc<Path>,
}

impl RowChunk for BatchChunk {
    fn len(&self) -> usize {
        self.range.len()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn emit(&self, i: usize, mut sink: &mut dyn Sink) -> Result<()> {
        self.batch.emit_row(self.range.start + i, &mut sink).map_err(|error| self.locate(i, error))
    }

    fn locate(&self, i: usize, error: Error) -> Error {
        error.in_sample(self.first + to_u64(i)).in_file(&self.name)
    }
}

/// The size in bytes of the rows themselves: views share pages, and a batch may use only a small part of one.
fn bytes_of(array: &ArrayRef) -> u64 {
    let views =
        |views: &[u128]| views.iter().map(|view| u64::try_from(view & 0xffff_ffff).unwrap_or(0) + 16).sum();
    match array.data_type() {
        DataType::BinaryView => views(array.as_binary_view().views()),
        DataType::Utf8View => views(array.as_string_view().views()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(bytes_of).sum(),
        DataType::List(_) => {
            let lists = array.as_list::<i32>();
            let offsets = lists.value_offsets();
            let (first, last) = (offsets.first().copied().unwrap_or(0), offsets.last().copied().unwrap_or(0));
            let range = usize::try_from(first).ok().zip(usize::try_from(last - first).ok());
            let items = range.map_or(0, |(start, length)| bytes_of(&lists.values().slice(start, length)));
            items + to_u64(lists.len()) * 4
        }
        _ => array.to_data().get_slice_memory_size().map_or(0, to_u64),
    }
}
