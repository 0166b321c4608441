//! Writes all shards of a directory concurrently. The lengths of the lines say where each shard ends before anything is
//! written.
//!
//! ```text
//! order of the rows ──▶ lengths of their lines ──▶ ends of shards ──▶ for each shard: facts, form, lines and arrays
//! ```

use crate::ordered_blocks::in_order;
use crate::write::common_row_form::{FIRST_ROWS, FormBlocks, RowForm};
use crate::write::encode::RowEncoder;
use crate::write::form_facts::FormFacts;
use crate::write::options::WriteOptions;
use crate::write::pair::{PairBuilder, PairSummary};
use crate::write::pair_target::PlainPair;
use crate::write::plain_lines::PlainLines;
use crate::write::row_order::RowOrder;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::Result;
use jinx_core::io::FileOps;
use jinx_core::threads;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// The number of rows whose lines are measured at once.
const MEASURED_ROWS: u64 = 64 << 10;

/// When a shard is full.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShardLimits {
    /// The maximum size of its lines in bytes; `None` for one shard with all rows.
    pub(super) bytes: Option<u64>,
    /// The maximum number of shards; the last one is as long as necessary.
    pub(super) shards: usize,
}

/// Divides rows like a writer that receives them one after another.
struct Divider {
    limits: ShardLimits,
    shards: Vec<Range<u64>>,
    current: Range<u64>,
    current_bytes: u64,
}

impl Divider {
    fn add(&mut self, line_bytes: u64) {
        // A writer decides this before it adds the newline.
        let bytes = self.current_bytes + line_bytes - 1;
        let is_full = !self.current.is_empty() && self.limits.bytes.is_some_and(|limit| bytes > limit);
        if is_full && self.shards.len() + 1 < self.limits.shards {
            self.finish();
        }
        self.current.end += 1;
        self.current_bytes += line_bytes;
    }

    fn finish(&mut self) {
        let next = self.current.end..self.current.end;
        self.shards.push(std::mem::replace(&mut self.current, next));
        self.current_bytes = 0;
    }
}

/// The places of each shard in an order; `None` if a line may change its form in the output.
///
/// # Errors
/// Errors of reading the order and the index; `Interrupted`.
pub(super) fn divide(
    lines: &PlainLines<'_>,
    order: &RowOrder<'_>,
    limits: ShardLimits,
) -> Result<Option<Vec<Range<u64>>>> {
    let lengths = |block: usize| {
        let start = to_u64(block) * MEASURED_ROWS;
        lines.lengths(&order.read(start..order.len.min(start + MEASURED_ROWS))?)
    };
    let mut divider = Divider { limits, shards: Vec::new(), current: 0..0, current_bytes: 0 };
    let mut are_plain = true;
    let count = to_usize(order.len.div_ceil(MEASURED_ROWS), "the number of blocks")?;
    in_order(count, lengths, |lengths| {
        are_plain = lengths.is_some();
        lengths.into_iter().flatten().for_each(|length| divider.add(length));
        !are_plain
    })?;
    divider.finish();
    Ok(are_plain.then_some(divider.shards))
}

/// Shards that are about to be written.
pub(super) struct PlannedShards<'p> {
    pub(super) lines: &'p PlainLines<'p>,
    pub(super) order: &'p RowOrder<'p>,
    pub(super) options: &'p Arc<WriteOptions>,
    pub(super) ops: &'p Arc<dyn FileOps>,
    /// The number and main file of the first shard, and of those that follow.
    pub(super) files: Vec<(u64, PathBuf)>,
    /// The places of each shard in the order.
    pub(super) places: Vec<Range<u64>>,
}

impl PlannedShards<'_> {
    /// Writes all shards, and returns their contents in order. Calls `tell` with the number of rows of each block.
    ///
    /// # Errors
    /// Errors of reading, of writing and of `tell`; `Interrupted`.
    pub(super) fn write(
        &self,
        threads: usize,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<Vec<PairSummary>> {
        let at_once = threads.min(self.places.len()).max(1);
        let done = Mutex::new(Vec::with_capacity(self.places.len()));
        let write = |number: u64, tell: &mut dyn FnMut(u64) -> Result<()>| {
            let summary = self.write_shard(to_usize(number, "a shard")?, threads / at_once, tell)?;
            done.lock().unwrap_or_else(PoisonError::into_inner).push((number, summary));
            Ok(())
        };
        threads::report(at_once, to_u64(self.places.len()), "a thread that writes shards", &write, tell)?;
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, summary)| summary).collect())
    }

    fn write_shard(
        &self,
        at: usize,
        threads: usize,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<PairSummary> {
        let (number, path) = &self.files[at];
        let places = &self.places[at];
        let files = Box::new(PlainPair::create(self.ops, path)?);
        let mut pair = PairBuilder::new(path, files, self.options)?;
        let mut encoder = RowEncoder::new(Arc::new(self.options.encode.clone()))?;
        let facts = FormFacts::of_places(self.lines, self.order, places, threads)?;
        let first = self.order.read(places.start..places.end.min(places.start + FIRST_ROWS))?;
        let form = RowForm::of_facts(self.lines, &facts, &first, self.options, &mut encoder)?;
        let placed = form.as_ref().and_then(|form| Some((form, pair.layout_of(form)?)));
        match placed {
            Some((form, layout)) => {
                let blocks = self.order.blocks(places, form.block_rows());
                let gather = |block| self.lines.gather(&blocks.read(block)?, form);
                let blocks = FormBlocks { count: blocks.count(), make: &gather, threads: None };
                pair.place((form, &layout), &blocks, threads, tell)?;
            }
            None => {
                let blocks = self.order.blocks(places, to_u64(self.lines.block_rows()));
                for block in 0..blocks.count() {
                    let rows = blocks.read(block)?;
                    pair.write_lines(self.lines, &rows, &mut encoder)?;
                    tell(to_u64(rows.len()))?;
                }
            }
        }
        let (summary, files) = pair.finish(i64::try_from(*number).unwrap_or(-1))?;
        files.publish()?;
        Ok(summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_end_before_a_line_that_makes_them_too_long() {
        let divided = |bytes, shards, lines: &[u64]| {
            let limits = ShardLimits { bytes, shards };
            let mut divider = Divider { limits, shards: Vec::new(), current: 0..0, current_bytes: 0 };
            lines.iter().for_each(|line| divider.add(*line));
            divider.finish();
            divider.shards.iter().map(|shard| shard.end - shard.start).collect::<Vec<_>>()
        };
        assert_eq!(divided(None, 100, &[10; 5]), [5]);
        // The newline of the last line does not count.
        assert_eq!(divided(Some(29), 100, &[10; 7]), [3, 3, 1]);
        assert_eq!(divided(Some(28), 100, &[10; 5]), [2, 2, 1]);
        assert_eq!(divided(Some(1), 100, &[10; 3]), [1, 1, 1]);
        assert_eq!(divided(Some(1), 2, &[10; 3]), [1, 2]);
    }
}
