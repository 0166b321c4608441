//! Rows from any format to any other, in order, on all cores, in bounded memory.
//!
//! ```text
//! RowSource (own thread) -> RowChunk -> workers: Select -> ChunkEncoder -> RowTarget (calling thread, in order)
//! ```
//! The output depends on the rows only, never on the number of threads.

mod chain;
mod drop_nulls;
mod embed;
mod filters;
mod format;
mod forward;
mod gate;
mod input;
mod jinx_in;
mod jinx_out;
mod json_array_in;
mod jsonl_in;
mod mds_in;
mod mds_out;
mod media_out;
mod msgpack_in;
mod near;
mod observe;
mod ordered;
mod rejects;
mod run;
mod select;
mod selected;
mod stream_target;
mod tar_in;
mod tar_names;
mod tar_out;

use crate::error::{Error, Result};
use crate::sink::Sink;
use std::path::PathBuf;
use std::sync::Arc;

pub use chain::{Chain, Opener};
pub use embed::{EmbedOptions, Missing};
pub use format::Format;
pub use input::{Input, STANDARD_STREAM};
pub use jinx_in::JinxRows;
pub use jinx_out::JinxTarget;
pub use json_array_in::{JsonArray, json_rows};
pub use jsonl_in::JsonLines;
pub use mds_in::{MdsRows, mds_columns};
pub use mds_out::MdsTarget;
pub use msgpack_in::MessagePack;
pub use observe::{Findings, Observer};
pub use ordered::{Commit, ordered};
pub use run::run;
pub use select::{Select, Selection};
pub use selected::Selected;
pub use stream_target::{StreamTarget, json_lines, message_pack};
pub use tar_in::TarSamples;
pub use tar_out::{TarTarget, tar_samples};

/// Some rows that follow one another, to be emitted on any thread.
pub trait RowChunk: Send {
    /// Number of rows.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory it holds or will need, roughly.
    fn bytes(&self) -> u64;

    /// Emits row `i`.
    ///
    /// # Errors
    /// What is wrong with the row, or what the sink reports; file and row are named.
    fn emit(&self, i: usize, sink: &mut dyn Sink) -> Result<()>;

    /// Names file and row `i` in an error that does not say where it happened.
    fn locate(&self, i: usize, error: Error) -> Error;
}

/// Gives rows in order.
pub trait RowSource: Send {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// What is wrong with the input, and where.
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>>;

    /// Bytes of the input that were read so far, compressed ones where it is compressed.
    fn bytes_read(&self) -> u64;

    /// Bytes of the whole input, if known.
    fn total_bytes(&self) -> Option<u64>;

    /// Only these top-level fields will be looked at. A source that can leave out others saves their reading; names
    /// that it leaves out it must report by [`Selection::wants`].
    fn select(&mut self, _selection: &Arc<Selection>) {}
}

/// Turns rows into what a target writes; each worker has its own.
pub trait ChunkEncoder: Send {
    type Part: Send;

    /// Adds the row that `emit` describes.
    ///
    /// # Errors
    /// What `emit` reports, or what the format cannot hold.
    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()>;

    /// Bytes that were added since the last part, roughly.
    fn bytes(&self) -> u64;

    /// Makes good what a row that failed has left behind.
    fn undo(&mut self) {}

    /// The rows that were added since the last part.
    ///
    /// # Errors
    /// What the format cannot hold.
    fn take(&mut self) -> Result<Self::Part>;
}

/// Writes encoded rows in order and publishes the result as a whole. Dropping it leaves what was there before.
pub trait RowTarget {
    type Part: Send;
    type Encoder: ChunkEncoder<Part = Self::Part>;

    /// A worker's half.
    ///
    /// # Errors
    /// `Invalid` for options the format does not have.
    fn encoder(&self) -> Result<Self::Encoder>;

    /// # Errors
    /// I/O errors; the target is then to be dropped.
    fn commit(&mut self, part: Self::Part) -> Result<()>;

    /// Makes the output visible.
    ///
    /// # Errors
    /// I/O errors; what was there before stays.
    fn finish(self) -> Result<Summary>;
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConvertOptions {
    /// Rows after which to stop.
    pub limit: Option<u64>,
    /// Top-level fields to keep, by their old names; all if `None`.
    pub fields: Option<Vec<String>>,
    /// Top-level fields to leave out, by their old names.
    pub drop: Vec<String>,
    /// Old and new names of top-level fields.
    pub rename: Vec<(String, String)>,
    /// Worker threads; 0 = one for each core.
    pub threads: usize,
    /// Texts that are paths of files to read in.
    pub embed: Option<EmbedOptions>,
    /// Leave out null members of nested dicts.
    pub drop_nulls: bool,
    /// Binary values go to files in this folder, and their paths stand in the rows.
    pub media_dir: Option<PathBuf>,
    /// Leave out rows that cannot be read or written, and list them in this file.
    pub rejects: Option<PathBuf>,
    /// Rows at the beginning that an earlier run has written.
    pub skip: u64,
}

impl ConvertOptions {
    pub(crate) fn workers(&self) -> usize {
        match self.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads.min(256),
        }
    }
}

/// How far a conversion has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Progress {
    pub rows: u64,
    pub bytes_read: u64,
    pub total_bytes: Option<u64>,
}

/// What a conversion has written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub rows: u64,
    /// Bytes of all files, sidecars included.
    pub bytes: u64,
    pub sidecar_bytes: u64,
    /// Pairs of a JINX dataset, else 1.
    pub files: u64,
    /// Rows that were left out because something was wrong with them.
    pub skipped: u64,
}
