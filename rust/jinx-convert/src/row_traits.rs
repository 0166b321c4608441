//! The traits of inputs, which produce rows, and of outputs, which consume them.

use crate::filters::select::Selection;
use jinx_core::error::{Error, Result};
use jinx_core::row_events::Sink;
use std::sync::Arc;

/// Some consecutive rows, to be emitted on any thread.
pub trait RowChunk: Send + Sync {
    /// The number of rows.
    fn len(&self) -> usize;

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The approximate number of bytes of memory that it takes or will need.
    fn bytes(&self) -> u64;

    /// Emits row `i`.
    ///
    /// # Errors
    /// Errors of the row or of the sink, with file and row.
    fn emit(&self, i: usize, sink: &mut dyn Sink) -> Result<()>;

    /// Adds file and row `i` to an error that has no position.
    fn locate(&self, i: usize, error: Error) -> Error;
}

/// Produces rows in order.
pub trait RowSource: Send {
    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// Errors of the input, with their place.
    fn next_chunk(&mut self) -> Result<Option<Box<dyn RowChunk>>>;

    /// The number of bytes of the input that were read so far, as stored in the file.
    fn bytes_read(&self) -> u64;

    /// The size of the whole input in bytes, if known.
    fn total_bytes(&self) -> Option<u64>;

    /// Announces that only these top-level columns will be used. A source may skip the others, but must report the
    /// names of skipped ones to [`Selection::reads`].
    fn select(&mut self, _selection: &Arc<Selection>) {}
}

/// Encodes rows for a target; each worker has its own.
pub trait ChunkEncoder: Send {
    type Part: Send;

    /// Adds the row that `emit` produces.
    ///
    /// # Errors
    /// Errors of `emit`, or a value that the format cannot hold.
    fn encode(&mut self, emit: &mut dyn FnMut(&mut dyn Sink) -> Result<()>) -> Result<()>;

    /// The approximate number of bytes that were added since the last part.
    fn bytes(&self) -> u64;

    /// Announces that rows may be undone, so that the data for this must be kept.
    fn expect_undo(&mut self) {}

    /// Removes the leftovers of a failed row.
    ///
    /// # Errors
    /// The errors of [`Self::encode`], of the rows before it.
    fn undo(&mut self) -> Result<()> {
        Ok(())
    }

    /// The rows that were added since the last part.
    ///
    /// # Errors
    /// A value that the format cannot hold.
    fn take(&mut self) -> Result<Self::Part>;
}

/// The result of a conversion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    pub rows: u64,
    /// The number of bytes of all files, including sidecars.
    pub bytes: u64,
    pub sidecar_bytes: u64,
    /// The number of pairs of a JINX dataset; 1 for other outputs.
    pub files: u64,
    /// The number of rejected rows.
    pub skipped: u64,
}

/// Called when row `i` of a part is left out, with the reason.
///
/// # Errors
/// The same error, with the row's place, where no row may be left out.
pub type OnRefused<'a> = &'a mut dyn FnMut(usize, Error) -> Result<()>;

/// Writes encoded rows in order, and publishes the result as a whole. Dropping it leaves what was there before.
pub trait RowTarget {
    type Part: Send;
    type Encoder: ChunkEncoder<Part = Self::Part>;

    /// The encoder of one worker.
    ///
    /// # Errors
    /// `Invalid` for options that the format does not have.
    fn encoder(&self) -> Result<Self::Encoder>;

    /// Writes the rows of a part, except those that it refuses: `refused` is called for each.
    ///
    /// # Errors
    /// I/O errors, and those of `refused`; drop the target then.
    fn commit(&mut self, part: Self::Part, refused: OnRefused<'_>) -> Result<()>;

    /// Makes the output visible.
    ///
    /// # Errors
    /// I/O errors; what was there before stays.
    fn finish(self) -> Result<Summary>;
}
