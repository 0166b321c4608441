//! Writes all rows of an output in an order that is known beforehand.

use super::{DatasetWriter, Target};
use crate::write::common_row_form::{FIRST_ROWS, FormBlocks, RowForm};
use crate::write::form_facts::FormFacts;
use crate::write::plain_lines::PlainLines;
use crate::write::planned_shards::{PlannedShards, ShardLimits, divide};
use crate::write::row_order::RowOrder;
use jinx_core::error::Result;
use std::iter;

impl DatasetWriter {
    /// Whether the rows are written to a directory of shards.
    pub fn is_directory(&self) -> bool {
        matches!(self.target, Target::Directory(_))
    }

    /// Whether all rows of `lines` go to a single file: the output is a pair, or they fit into one shard.
    pub fn has_one_file_for(&self, lines: &PlainLines<'_>) -> bool {
        !self.is_directory() || self.options.shard_bytes.is_none_or(|limit| lines.bytes() <= limit)
    }

    /// Writes rows of `lines` in some order as all rows of the output: on all threads, by copying their lines. Calls
    /// `tell` with the number of rows of each block. Returns false, and writes nothing, if the rows must be written one
    /// by one: the output has rows already, or lines may change.
    ///
    /// # Errors
    /// Errors of reading, of writing and of `tell`; `Interrupted`. The writer may be broken then.
    pub fn write_order(
        &mut self,
        lines: &PlainLines<'_>,
        order: &RowOrder<'_>,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<bool> {
        self.require_whole()?;
        if self.skip > 0 || self.rows > 0 || order.len == 0 || self.options.view.is_some() {
            return Ok(false);
        }
        if self.is_directory() {
            self.write_shards(lines, order, tell)
        } else {
            self.write_one(lines, order, tell)
        }
    }

    fn write_one(
        &mut self,
        lines: &PlainLines<'_>,
        order: &RowOrder<'_>,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<bool> {
        let threads = self.encoders.len();
        let first = order.read(0..order.len.min(FIRST_ROWS))?;
        let form = if order.has_all {
            self.form_of(lines, &first)?
        } else {
            let limits = ShardLimits { bytes: None, shards: 1 };
            if divide(lines, order, limits)?.is_none() {
                return Ok(false);
            }
            let facts = FormFacts::of_places(lines, order, &(0..order.len), threads)?;
            self.form_of_facts(lines, &facts, &first)?
        };
        let Some(form) = form else { return Ok(false) };
        let rows = order.blocks(&(0..order.len), form.block_rows());
        let make = |block| lines.gather(&rows.read(block)?, &form);
        let blocks = FormBlocks { count: rows.count(), make: &make, threads: None };
        self.write_form(&form, &blocks, tell)?;
        Ok(true)
    }

    fn form_of_facts<'l>(
        &mut self,
        lines: &'l PlainLines<'_>,
        facts: &FormFacts,
        first: &[u64],
    ) -> Result<Option<RowForm<'l>>> {
        let (Target::Pair(pair), Some(encoder)) = (&self.target, self.encoders.first_mut()) else {
            return Ok(None);
        };
        let form = RowForm::of_facts(lines, facts, first, &self.options, encoder)?;
        Ok(form.filter(|form| pair.layout_of(form).is_some()))
    }

    fn write_shards(
        &mut self,
        lines: &PlainLines<'_>,
        order: &RowOrder<'_>,
        tell: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<bool> {
        let has_one_file = self.has_one_file_for(lines);
        let Target::Directory(directory) = &mut self.target else { return Ok(false) };
        let limits = ShardLimits { bytes: self.options.shard_bytes, shards: directory.free_shards() };
        if !directory.is_new() || limits.shards == 0 {
            return Ok(false);
        }
        let places = if has_one_file && order.has_all {
            lines.are_short().then(|| iter::once(0..order.len).collect())
        } else {
            divide(lines, order, limits)?
        };
        let Some(places) = places else { return Ok(false) };
        self.is_broken = true;
        let files = directory.name_shards(places.len())?;
        let shards = PlannedShards {
            lines,
            order,
            options: &self.options,
            ops: directory.publish.ops(),
            files,
            places,
        };
        for summary in shards.write(self.encoders.len(), tell)? {
            directory.add_shard(summary, &mut self.written);
        }
        directory.is_complete = true;
        self.rows = order.len;
        self.is_broken = false;
        Ok(true)
    }
}
