//! Batches over the Arrow C stream interface, to and from other libraries in the same process.

use crate::arrow::failure::{from_arrow, guarded};
use arrow_array::ffi_stream::{FFI_ArrowArrayStream, RecordBatchStreamReader};
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, SchemaRef};
use jinx_core::error::{Error, Result};
use std::cell::RefCell;

thread_local! {
    /// The error of the last call to a stream of this library on this thread. The C interface carries only text:
    /// readers in the same process find the cause, file, sample and column here, as C programs find `errno`.
    static FAILURE: RefCell<Option<Error>> = const { RefCell::new(None) };
}

/// The error of the last call to a stream of this library on this thread; `None` if it succeeded.
#[must_use]
pub fn take_failure() -> Option<Error> {
    FAILURE.take()
}

/// A reader of any batches with a common schema.
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
        FAILURE.set(None);
        // The caller may be C code, where a panic must not arrive.
        let batches = self.batches.as_mut()?;
        let next = match guarded(|| batches.next().transpose(), "the batch source") {
            Ok(batch) => batch.map(Ok),
            Err(error) => {
                FAILURE.set(Some(error.clone()));
                Some(Err(ArrowError::ExternalError(Box::new(error))))
            }
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

/// Batches as a C stream, which another library takes over.
pub fn to_c_stream<I>(schema: SchemaRef, batches: I) -> FFI_ArrowArrayStream
where
    I: Iterator<Item = Result<RecordBatch>> + Send + 'static,
{
    FFI_ArrowArrayStream::new(Box::new(BatchStream::new(schema, batches)))
}

/// Batches from a C stream of another library.
pub struct ImportedBatches(RecordBatchStreamReader);

/// Takes over `stream`. Its producer is trusted to follow the C data interface, as any code in the process is.
///
/// # Errors
/// `Invalid` when the stream was released already or its schema cannot be read.
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
        FAILURE.set(None);
        // The stream may come from this library, or wrap one that does.
        self.0.next().map(|batch| batch.map_err(|error| take_failure().unwrap_or_else(|| from_arrow(error))))
    }
}
