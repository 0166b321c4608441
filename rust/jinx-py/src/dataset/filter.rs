//! The samples of a view that an expression selects.

use crate::dataset::reader::Reader;
use crate::dataset::state::{DatasetState, Shards};
use crate::errors::IntoPy;
use crate::mds::open::Mds;
use jinx_core::num::to_u64;
use jinx_core::value::{TreeBuilder, Value};
use jinx_core::{Error, Result};
use jinx_format::expression::blocks::{Block, ShardColumns};
use jinx_format::expression::parallel::in_blocks;
use jinx_format::expression::rows::RowFilter;
use jinx_format::expression::tree::Cell;
use jinx_format::expression::{Expression, Sample, ValueKind};
use jinx_format::fields::Measure;
use jinx_format::read::columns::ColumnKind;
use pyo3::prelude::*;
use std::cell::OnceCell;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// The paths in an expression, as they are written.
#[pyfunction]
pub fn expression_paths(expression: &str) -> PyResult<Vec<String>> {
    let parsed = Expression::parse(expression).into_py_result()?;
    Ok(parsed.paths().iter().map(|path| path.text.clone()).collect())
}

/// Positions over all shards on their way to a view, without a copy.
#[pyclass(frozen, module = "jinx._core")]
pub struct Positions(pub Arc<Vec<u64>>);

/// What a filter has found.
pub struct Chosen {
    pub positions: Positions,
    /// Of each path, whether it was looked for and nobody had it.
    pub in_vain: Vec<bool>,
}

/// See [`Reader::_filter`].
pub fn filter(
    reader: &Reader,
    text: &str,
    paths: Vec<Vec<String>>,
    kinds: &[Vec<String>],
    limit: Option<u64>,
) -> Result<Chosen> {
    let expression = Expression::parse(text)?;
    let known = paths.iter().zip(kinds).map(|(path, kinds)| {
        let by_name = ValueKind::common(kinds.iter().map(String::as_str));
        by_name.map_or_else(|| indexed_kind(&reader.dataset.shards, path), |kind| Ok(Some(kind)))
    });
    expression.check_kinds(&known.collect::<Result<Vec<_>>>()?)?;
    let filter = RowFilter::new(&expression, paths);
    let count = to_u64(reader.count());
    let positions = match &reader.dataset.mds {
        Some(mds) => in_blocks(count, limit, |block| of_mds(reader, mds, &filter, block)),
        None => {
            let shards = ShardFilter::new(&reader.dataset.shards, &filter);
            in_blocks(count, limit, |block| match &reader.view {
                None => shards.range(to_u64(block.start)..to_u64(block.end)),
                Some(view) => shards.list(&view[block]),
            })
        }
    }?;
    Ok(Chosen { positions: Positions(Arc::new(positions)), in_vain: filter.in_vain() })
}

/// The kind of the values at a path that all shards index.
fn indexed_kind(shards: &Shards, path: &[String]) -> Result<Option<ValueKind>> {
    let path: Vec<Option<String>> = path.iter().cloned().map(Some).collect();
    let mut kinds = Vec::new();
    for at in (0..shards.count()).filter(|at| shards.samples(*at) > 0) {
        match shards.shard(at)?.column_info(&path, ColumnKind::Value) {
            Some(info) if info.dtype == "utf8" => kinds.push("str"),
            Some(info) => kinds.push(&info.dtype),
            None => return Ok(None),
        }
    }
    Ok(ValueKind::common(kinds))
}

/// A filter over shards, of which each is asked for its columns once.
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

    /// The selected ones of the samples in a range.
    fn range(&self, positions: Range<u64>) -> Result<Vec<u64>> {
        let mut chosen = Vec::new();
        let mut next = positions.start;
        while next < positions.end {
            let at = self.shards.place(next);
            let here = self.shards.range(at);
            let end = here.end.min(positions.end);
            let len = usize::try_from(end - next).unwrap_or_default();
            let selected = self.select(at, Block::Range { start: next - here.start, len })?;
            chosen.extend(kept(next..end, &selected));
            next = end;
        }
        Ok(chosen)
    }

    /// The selected ones of some samples, in their order.
    fn list(&self, positions: &[u64]) -> Result<Vec<u64>> {
        // Files are read from front to back.
        let mut order: Vec<usize> = (0..positions.len()).collect();
        order.sort_unstable_by_key(|i| positions[*i]);
        let mut selected = vec![false; positions.len()];
        let mut rest = &order[..];
        while let Some(first) = rest.first() {
            let at = self.shards.place(positions[*first]);
            let here = self.shards.range(at);
            let len = rest.partition_point(|i| positions[*i] < here.end);
            let (group, behind) = rest.split_at(len);
            let rows: Vec<u64> = group.iter().map(|i| positions[*i] - here.start).collect();
            for (i, is_selected) in group.iter().zip(self.select(at, Block::List(&rows))?) {
                selected[*i] = is_selected;
            }
            rest = behind;
        }
        Ok(kept(positions.iter().copied(), &selected))
    }

    fn select(&self, at: usize, rows: Block<'_>) -> Result<Vec<bool>> {
        let shard = self.shards.shard(at)?;
        let columns = self.columns[at].get_or_init(|| self.filter.columns(shard));
        self.filter.select(shard, columns.as_ref().map_err(Error::clone)?, rows)
    }
}

/// The positions that are selected, without a branch for each, of which none could be foreseen.
fn kept(positions: impl Iterator<Item = u64>, selected: &[bool]) -> Vec<u64> {
    let mut kept = vec![0; selected.len()];
    let mut count = 0;
    for (position, is_selected) in positions.zip(selected) {
        kept[count] = position;
        count += usize::from(*is_selected);
    }
    kept.truncate(count);
    kept
}

fn of_mds(reader: &Reader, mds: &Mds, filter: &RowFilter<'_>, block: Range<usize>) -> Result<Vec<u64>> {
    let mut chosen = Vec::new();
    for i in block {
        let position = reader.position(i);
        let values = filter.paths().iter().map(|_| OnceCell::new()).collect();
        let sample = MdsSample { dataset: &reader.dataset, mds, filter, position, values };
        if filter.expression().selects(&sample).map_err(|error| error.in_sample(position))? {
            chosen.push(position);
        }
    }
    Ok(chosen)
}

/// A sample of an MDS folder, of which only what is asked for is read.
struct MdsSample<'m> {
    dataset: &'m DatasetState,
    mds: &'m Mds,
    filter: &'m RowFilter<'m>,
    position: u64,
    values: Vec<OnceCell<Value>>,
}

impl MdsSample<'_> {
    fn read(&self, path: usize) -> Result<Value> {
        let Some((name, rest)) = self.filter.paths()[path].split_first() else { return Ok(Value::Null) };
        let row = self.mds.folder.row(self.position)?;
        let Some(column) = row.columns().position(name) else { return Ok(Value::Null) };
        let mut tree = TreeBuilder::without_bytes();
        row.emit_field(column, &mut tree)?;
        let mut value = tree.take()?;
        for name in rest {
            let Value::Dict(members) = value else { return Ok(Value::Null) };
            let Some((_, inner)) = members.into_iter().find(|(key, _)| key == name) else {
                return Ok(Value::Null);
            };
            value = inner;
        }
        self.filter.note(path, true);
        Ok(value)
    }
}

impl Sample for MdsSample<'_> {
    fn value(&self, path: usize) -> Result<Cell<'_>> {
        let value = match self.values[path].get() {
            Some(value) => value,
            None => {
                self.filter.note(path, false);
                let value = self.read(path)?;
                self.values[path].get_or_init(|| value)
            }
        };
        Ok(Cell::of_value(value))
    }

    fn length(&self, path: usize) -> Result<Option<u64>> {
        let names: Vec<&str> = self.filter.paths()[path].iter().map(String::as_str).collect();
        let found = crate::mds::column::measure(self.dataset, self.position, &names, ColumnKind::Length)?;
        self.filter.note(path, found.is_some());
        Ok(match found {
            Some(Measure::Length(length)) => Some(length),
            _ => None,
        })
    }
}
