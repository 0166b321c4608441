//! What every input gives and every output takes.

use crate::filters::select::Selection;
use crate::run::Summary;
use jinx_core::error::{Error, Result};
use jinx_core::sink::Sink;
use std::sync::Arc;

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
    /// that it leaves out it must report by [`Selection::reads`].
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
