//! The order in which rows of [`PlainLines`](crate::write::plain_lines::PlainLines) are written.

use jinx_core::error::Result;
use std::ops::Range;

/// The order of the rows of an output. All threads read from it, and may read the same places several times.
pub struct RowOrder<'o> {
    /// The number of rows.
    pub len: u64,
    /// Whether each row of the source occurs exactly once.
    pub has_all: bool,
    /// The rows at some places of the order.
    pub rows: &'o (dyn Fn(Range<u64>) -> Result<Vec<u64>> + Sync),
}

impl RowOrder<'_> {
    /// # Errors
    /// Errors of reading the order.
    pub(super) fn read(&self, places: Range<u64>) -> Result<Vec<u64>> {
        (self.rows)(places)
    }

    /// A range of places, divided into blocks of `rows` rows.
    pub(super) fn blocks<'b>(&'b self, places: &Range<u64>, rows: u64) -> OrderBlocks<'b> {
        OrderBlocks { order: self, places: places.clone(), rows: rows.max(1) }
    }
}

/// Consecutive places of an order, in blocks.
pub(super) struct OrderBlocks<'b> {
    order: &'b RowOrder<'b>,
    places: Range<u64>,
    rows: u64,
}

impl OrderBlocks<'_> {
    pub(super) fn count(&self) -> u64 {
        (self.places.end - self.places.start).div_ceil(self.rows)
    }

    /// The rows of a block.
    ///
    /// # Errors
    /// The errors of [`RowOrder::read`].
    pub(super) fn read(&self, block: u64) -> Result<Vec<u64>> {
        let start = self.places.start + block * self.rows;
        self.order.read(start..self.places.end.min(start + self.rows))
    }
}
