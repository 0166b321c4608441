//! Reads Arrow IPC as batches: files (`.arrow`, `.feather`) and streams, in which Hugging Face `datasets` stores its
//! data.
//!
//! Both hold the same sequence of messages. A file has a mark before them and an index after them; without an index (in
//! a compressed file, or one that is cut off), the messages are read as a stream.

mod indexed;
mod message;
mod stream;

use crate::arrow::failure::guarded;
use crate::inputs::Input;
use crate::suggest::no_such_column;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::MessageHeader;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::{read_dictionary, read_record_batch};
use arrow_schema::SchemaRef;
use indexed::Indexed;
use jinx_core::checked_math::{range_within, to_u64, to_usize};
use jinx_core::error::{Error, Result};
use message::{BatchBlock, damaged};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stream::Stream;

/// A compressed buffer may claim this many bytes whatever its size, and more in proportion to its size: null masks and
/// equal values shrink a thousandfold, and memory is reserved before the claim is checked.
const MAX_CLAIM_BYTES: u64 = 256 << 20;
const MAX_RATIO: u64 = 1024;

/// An Arrow IPC file that can be read more than once.
pub struct IpcSource {
    path: PathBuf,
    schema: SchemaRef,
    read: Arc<AtomicU64>,
}

impl IpcSource {
    /// Reads the schema.
    ///
    /// # Errors
    /// `Io`; `Truncated`; `Corrupt`; `Unsupported` for Feather's first version.
    pub fn open(path: &Path) -> Result<Self> {
        let batches = IpcBatches::open(path)?;
        Ok(Self { path: path.to_owned(), schema: batches.schema, read: Arc::default() })
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The number of bytes that the last iterator of batches has read from the file.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// All batches in order, of the named columns if given.
    ///
    /// # Errors
    /// `Invalid` for a column that the file lacks; the errors of [`IpcSource::open`].
    pub fn batches(&mut self, columns: Option<&[String]>) -> Result<IpcBatches> {
        let fields = self.schema.fields();
        let place = |name: &String| {
            fields.iter().position(|field| field.name() == name).ok_or_else(|| {
                let known = fields.iter().map(|field| field.name().as_str());
                Error::invalid(no_such_column(name, known)).in_file(&self.path)
            })
        };
        let columns = columns.map(|names| names.iter().map(place).collect()).transpose()?;
        let batches = IpcBatches { columns, ..IpcBatches::open(&self.path)? };
        self.read = batches.messages.counter();
        Ok(batches)
    }
}

/// The batches of one read; it ends after the first error.
pub struct IpcBatches {
    path: PathBuf,
    messages: Messages,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    columns: Option<Vec<usize>>,
    done: bool,
}

impl IpcBatches {
    fn open(path: &Path) -> Result<Self> {
        let begin = || {
            if let Some((indexed, schema)) = Indexed::open(path)? {
                return Ok(Self::over(path, Messages::Indexed(indexed), schema));
            }
            let mut messages = Stream::begin(Input::open(path)?)?;
            let Some(first) = messages.next()? else {
                return Err(Error::truncated("the Arrow data ends before its schema"));
            };
            let message = first.header()?;
            let schema = message
                .header_as_schema()
                .ok_or_else(|| Error::corrupt("the Arrow data does not begin with a schema"))?;
            let schema = Arc::new(try_fb_to_schema(schema).map_err(damaged)?);
            Ok(Self::over(path, Messages::Stream(messages), schema))
        };
        guarded(begin, "the Arrow schema").map_err(|error| error.in_file(path))
    }

    fn over(path: &Path, messages: Messages, schema: SchemaRef) -> Self {
        let path = path.to_owned();
        Self { path, messages, schema, dictionaries: HashMap::new(), columns: None, done: false }
    }

    fn read(&mut self) -> Result<Option<RecordBatch>> {
        while let Some(block) = self.messages.next()? {
            let message = block.header()?;
            let version = message.version();
            match message.header_type() {
                MessageHeader::RecordBatch => {
                    let batch = message.header_as_record_batch().ok_or_else(no_header)?;
                    check_claims(&batch, &block.body)?;
                    let columns = self.columns.as_deref();
                    let schema = self.schema.clone();
                    return read_record_batch(
                        &block.body,
                        batch,
                        schema,
                        &self.dictionaries,
                        columns,
                        &version,
                    )
                    .map(Some)
                    .map_err(damaged);
                }
                MessageHeader::DictionaryBatch => {
                    let batch = message.header_as_dictionary_batch().ok_or_else(no_header)?;
                    if let Some(data) = batch.data() {
                        check_claims(&data, &block.body)?;
                    }
                    read_dictionary(&block.body, batch, &self.schema, &mut self.dictionaries, &version)
                        .map_err(damaged)?;
                }
                _ => return Err(Error::corrupt("the Arrow data holds a message that is not a batch")),
            }
        }
        Ok(None)
    }
}

impl Iterator for IpcBatches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let read = guarded(|| self.read(), "the Arrow data");
        let next = read.map_err(|error| error.in_file(&self.path)).transpose();
        self.done = !matches!(next, Some(Ok(_)));
        next
    }
}

/// Messages in order.
enum Messages {
    Stream(Stream),
    Indexed(Indexed),
}

impl Messages {
    fn next(&mut self) -> Result<Option<BatchBlock>> {
        match self {
            Self::Stream(stream) => stream.next(),
            Self::Indexed(indexed) => indexed.next(),
        }
    }

    /// Counts the bytes that are read.
    fn counter(&self) -> Arc<AtomicU64> {
        match self {
            Self::Stream(stream) => stream.counter(),
            Self::Indexed(indexed) => Arc::clone(&indexed.read),
        }
    }
}

/// Refuses a batch whose compressed buffers claim more bytes than they can contain.
fn check_claims(batch: &arrow_ipc::RecordBatch<'_>, body: &Buffer) -> Result<()> {
    if batch.compression().is_none() {
        return Ok(());
    }
    for buffer in batch.buffers().iter().flatten() {
        let (Ok(start), Ok(stored)) = (u64::try_from(buffer.offset()), u64::try_from(buffer.length())) else {
            return Err(Error::corrupt("an Arrow buffer has a negative offset"));
        };
        let range = range_within(start, stored, to_u64(body.len()), "an Arrow buffer")?;
        let start = to_usize(range.start, "an Arrow buffer")?;
        let claim = body
            .get(start..)
            .and_then(|rest| rest.first_chunk())
            .map_or(0, |claim| i64::from_le_bytes(*claim));
        if u64::try_from(claim)
            .is_ok_and(|claim| claim > MAX_CLAIM_BYTES.max(stored.saturating_mul(MAX_RATIO)))
        {
            return Err(Error::limit(format!("an Arrow buffer of {stored} bytes claims to hold {claim}")));
        }
    }
    Ok(())
}

fn no_header() -> Error {
    Error::corrupt("an Arrow message lacks its header")
}
