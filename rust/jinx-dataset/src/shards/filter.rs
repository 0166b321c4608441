//! Filters shards by an expression. Uses indexed columns for paths that have one, and scans rows only for other paths.

use crate::shards::shard_list::Shards;
use jinx_core::checked_math::to_u64;
use jinx_core::{Error, Result};
use jinx_format::expression::ValueKind;
use jinx_format::expression::blocks::{Block, ShardColumns};
use jinx_format::expression::filter_shard::RowFilter;
use jinx_format::expression::parallel::in_blocks;
use jinx_format::read::columns::ColumnKind;
use std::ops::Range;
use std::sync::OnceLock;

/// Returns the positions of the selected samples, among all samples or among those at `positions`, in the same order.
pub fn filtered(
    shards: &Shards,
    filter: &RowFilter<'_>,
    positions: Option<&[u64]>,
    limit: Option<u64>,
) -> Result<Vec<u64>> {
    let by_shard = ShardFilter::new(shards, filter);
    let count = positions.map_or_else(|| shards.len(), |positions| to_u64(positions.len()));
    in_blocks(count, limit, |block| match positions {
        None => by_shard.range(to_u64(block.start)..to_u64(block.end)),
        Some(positions) => by_shard.list(&positions[block]),
    })
}

/// Returns the kind of the values at a path, if all shards have an indexed column there.
pub fn indexed_kind(shards: &Shards, path: &[String]) -> Result<Option<ValueKind>> {
    let path: Vec<Option<String>> = path.iter().cloned().map(Some).collect();
    let mut kinds = Vec::new();
    for at in (0..shards.count()).filter(|at| shards.samples(*at) > 0) {
        match shards.next_shard(at)?.column_info(&path, ColumnKind::Value) {
            Some(info) if info.dtype == "utf8" => kinds.push("str"),
            Some(info) => kinds.push(&info.dtype),
            None => return Ok(None),
        }
    }
    Ok(ValueKind::common(kinds))
}

/// Adds the selected numbers, without a branch for each: the CPU could not predict these branches.
fn add_selected(chosen: &mut Vec<u64>, numbers: Range<u64>, selected: &[bool]) {
    let mut count = chosen.len();
    chosen.resize(count + selected.len(), 0);
    for (number, is_selected) in numbers.zip(selected) {
        if let Some(cell) = chosen.get_mut(count) {
            *cell = number;
        }
        count += usize::from(*is_selected);
    }
    chosen.truncate(count);
}

/// A filter on shards. It looks up the columns of each shard only once.
struct ShardFilter<'s> {
    shards: &'s Shards,
    filter: &'s RowFilter<'s>,
    columns: Vec<OnceLock<Result<ShardColumns<'s>>>>,
}

impl<'s> ShardFilter<'s> {
    fn new(shards: &'s Shards, filter: &'s RowFilter<'s>) -> Self {
        let columns = (0..shards.count()).map(|_| OnceLock::new()).collect();
        Self { shards, filter, columns }
    }

    /// Returns the selected samples in a range.
    fn range(&self, positions: Range<u64>) -> Result<Vec<u64>> {
        let mut chosen = Vec::new();
        let mut next = positions.start;
        while next < positions.end {
            let at = self.shards.place(next);
            let rows_here = self.shards.range(at);
            let end = rows_here.end.min(positions.end);
            self.shards.next_shard(at)?;
            let len = usize::try_from(end - next).unwrap_or_default();
            let selected = self.select(at, Block::Range { start: next - rows_here.start, len })?;
            add_selected(&mut chosen, next..end, &selected);
            next = end;
        }
        Ok(chosen)
    }

    /// Returns the selected samples of a list, in the same order.
    fn list(&self, positions: &[u64]) -> Result<Vec<u64>> {
        // Read each file from start to end.
        let mut order: Vec<usize> = (0..positions.len()).collect();
        order.sort_unstable_by_key(|i| positions[*i]);
        let mut selected = vec![false; positions.len()];
        let mut rest = &order[..];
        while let Some(first) = rest.first() {
            let at = self.shards.place(positions[*first]);
            let rows_here = self.shards.range(at);
            let len = rest.partition_point(|i| positions[*i] < rows_here.end);
            let (group, behind) = rest.split_at(len);
            let rows: Vec<u64> = group.iter().map(|i| positions[*i] - rows_here.start).collect();
            for (i, is_selected) in group.iter().zip(self.select(at, Block::List(&rows))?) {
                selected[*i] = is_selected;
            }
            rest = behind;
        }
        Ok(positions.iter().zip(selected).filter(|(_, selected)| *selected).map(|(at, _)| *at).collect())
    }

    fn select(&self, at: usize, rows: Block<'_>) -> Result<Vec<bool>> {
        let shard = self.shards.shard(at)?;
        let columns = self.columns[at].get_or_init(|| self.filter.columns(shard));
        self.filter.select(shard, columns.as_ref().map_err(Error::clone)?, rows)
    }
}
