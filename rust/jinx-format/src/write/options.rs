//! Options for writing rows.

use crate::fields::{MediaField, Path};
use crate::meta::Meta;
use crate::view_footer::NewView;
use jinx_core::error::{Error, Result};
use jinx_core::limits::{MAX_ROW_BYTES, MAX_VALUE_BYTES};
use std::collections::HashSet;
use std::sync::Arc;

/// How one row is encoded.
#[derive(Debug, Clone)]
pub struct EncodeOptions {
    /// Whether large values may leave the line.
    pub sidecar: bool,
    /// Bytes, arrays and tensors longer than this go to the sidecar.
    pub binary_threshold: u64,
    /// Strings longer than this many bytes of UTF-8 go to the sidecar.
    pub string_threshold: u64,
    /// The zstd level; `None` to store values uncompressed.
    pub compression: Option<i32>,
    /// Shorter values are not compressed.
    pub compress_threshold: u64,
    /// A compressed value is used if it is at most this fraction of the original size.
    pub compress_ratio: f64,
    /// Columns that are never compressed.
    pub uncompressed: HashSet<String>,
    /// Keep values from another sidecar as they are stored there, compressed or not; otherwise, every value is encoded
    /// again.
    pub keep_stored: bool,
    /// Paths to keep as columns, in addition to the default ones.
    pub columns: HashSet<Path>,
    /// The maximum length of a line; at most what readers accept.
    pub max_row_bytes: u64,
    /// Longer values are refused, because readers do not decode them by default.
    pub max_value_bytes: u64,
}

impl EncodeOptions {
    /// # Errors
    /// `Limit` for a value of more bytes than readers accept.
    pub(crate) fn check_value(&self, bytes: u64) -> Result<()> {
        if bytes <= self.max_value_bytes {
            return Ok(());
        }
        Err(Error::limit(format!(
            "a value of {bytes} bytes is longer than {}; max_value_bytes raises the limit, in Writer and in open",
            self.max_value_bytes
        )))
    }
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self {
            sidecar: true,
            binary_threshold: 64,
            string_threshold: 32 << 10,
            compression: Some(3),
            compress_threshold: 128,
            compress_ratio: 0.9,
            uncompressed: HashSet::new(),
            keep_stored: true,
            columns: HashSet::new(),
            max_row_bytes: MAX_ROW_BYTES,
            max_value_bytes: MAX_VALUE_BYTES,
        }
    }
}

/// Which columns the footer contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ColumnChoice {
    /// Every top-level number and bool, and the lengths of top-level lists and strings.
    Default,
    /// The default columns and these.
    Also(Vec<Path>),
    /// Exactly these.
    Only(Vec<Path>),
}

/// Everything that the writer of a dataset needs to know.
#[derive(Debug, Clone)]
pub struct WriteOptions {
    pub encode: EncodeOptions,
    pub columns: ColumnChoice,
    /// The number of bytes (main file and sidecar together) after which the next shard begins; only for directories.
    pub shard_bytes: Option<u64>,
    pub overwrite: bool,
    pub split: Option<String>,
    pub meta: Meta,
    /// The Arrow schema of the source: base64 of its IPC message.
    pub arrow_schema: Option<String>,
    pub media: Vec<MediaField>,
    /// Worker threads; 0 = one for each core.
    pub threads: usize,
    /// The samples of other datasets that this view shows; its rows then contain only its own columns.
    pub view: Option<Arc<NewView>>,
    /// Directories: keep the finished shards of a run that fails, so that it can be resumed.
    pub resume: Option<Resume>,
}

/// How a run recognizes an interrupted run that it can resume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    /// Identifies inputs and options, because only a run with the same key is resumed.
    pub key: String,
    /// Resume an interrupted run, if there is one.
    pub proceed: bool,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self {
            encode: EncodeOptions::default(),
            columns: ColumnChoice::Default,
            shard_bytes: None,
            overwrite: false,
            split: None,
            meta: Meta::default(),
            arrow_schema: None,
            media: Vec::new(),
            threads: 0,
            view: None,
            resume: None,
        }
    }
}
