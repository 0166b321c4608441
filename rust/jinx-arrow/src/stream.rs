//! Batches over the Arrow C stream interface, to and from other libraries in the same process.

use crate::failure::{from_arrow, guarded};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use jinx_core::error::Result;

/// A reader over any batches that have one schema.
pub struct BatchStream<I> {
    schema: SchemaRef,
    batches: Option<I>,
}

impl<I: Iterator<Item = Result<RecordBatch>>> BatchStream<I> {
    pub fn new(schema: SchemaRef, batches: I) -> Self {
        Self { schema, batches: Some(batches) }
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> Iterator for BatchStream<I> {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        // The caller may be C: a panic must not cross into it.
        let batches = self.batches.as_mut()?;
        let next = match guarded(|| batches.next().transpose(), "the batch source") {
            Ok(batch) => batch.map(Ok),
            Err(error) => Some(Err(ArrowError::ExternalError(Box::new(error)))),
        };
        if !matches!(next, Some(Ok(_))) {
            self.batches = None;
        }
        next
    }
}

impl<I: Iterator<Item = Result<RecordBatch>>> RecordBatchReader for BatchStream<I> {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Batches as a C stream that another library takes over.
pub fn to_c_stream<I>(schema: SchemaRef, batches: I) -> FFI_ArrowArrayStream
where
    I: Iterator<Item = Result<RecordBatch>> + Send + 'static,
{
    FFI_ArrowArrayStream::new(Box::new(BatchStream::new(schema, batches)))
}

/// Batches of a C stream that another library handed over.
pub struct ImportedBatches(RecordBatchStreamReader);

/// Takes over `stream`. Its producer is trusted to follow the C data interface, as any code in the process is.
///
/// # Errors
/// `Invalid` when the stream was released already or its schema cannot be had.
pub fn from_c_stream(stream: FFI_ArrowArrayStream) -> Result<ImportedBatches> {
    RecordBatchStreamReader::try_new(stream).map(ImportedBatches).map_err(from_arrow)
}

impl ImportedBatches {
    pub fn schema(&self) -> SchemaRef {
        self.0.schema()
    }
}

impl Iterator for ImportedBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|batch| batch.map_err(from_arrow))
    }
}
