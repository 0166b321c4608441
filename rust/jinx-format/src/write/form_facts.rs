//! Counts the values in some rows of [`PlainLines`], and finds the range of their integers, which determines the form
//! of a file with only these rows.

use crate::fields::{Fact, Path};
use crate::read::column_view::CellNumber;
use crate::read::columns::{ColumnType, IndexedColumn};
use crate::write::columns::narrowest;
use crate::write::line_block::kind_fact;
use crate::write::plain_lines::{PlainLines, PlainShard};
use crate::write::row_order::RowOrder;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::error::{Error, Result};
use jinx_core::interrupt;
use jinx_core::threads;
use std::ops::Range;
use std::sync::Arc;

/// The number of rows to count at once.
const COUNTED_ROWS: u64 = 16 << 10;

/// The counts for some rows, one entry per shard of the source.
#[derive(Debug)]
pub(super) struct FormFacts(Vec<ShardFacts>);

#[derive(Debug)]
struct ShardFacts {
    rows: u64,
    /// Counts in the order of the shard's fields.
    fields: Vec<CellFacts>,
}

/// Counts for the values of a column in some rows.
#[derive(Debug, Clone, Copy, Default)]
struct CellFacts {
    values: u64,
    /// The lower limit of the range of integers. It includes zero: a missing integer is stored as zero, which every
    /// type has.
    least: i128,
    greatest: i128,
}

impl CellFacts {
    fn add(&mut self, other: Self) {
        self.values += other.values;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
    }
}

impl CellFacts {
    /// Whether every row of the column has a value, and those counted need all bytes of a cell.
    fn need_whole(&self, column: &IndexedColumn) -> bool {
        let has_type = || narrowest(self.least, self.greatest) == Some(column.dtype);
        let is_narrowest = column.dtype == ColumnType::Int8 || !column.dtype.is_integer();
        column.validity.is_none() && (is_narrowest || (self.values > 0 && has_type()))
    }
}

impl FormFacts {
    fn none(lines: &PlainLines<'_>) -> Self {
        let none = |shard: &PlainShard<'_>| ShardFacts {
            rows: 0,
            fields: vec![CellFacts::default(); shard.fields.len()],
        };
        Self(lines.shards.iter().map(none).collect())
    }

    /// The facts of all rows.
    ///
    /// # Errors
    /// `Corrupt` for a column with fewer cells than rows, and for one that does not match its checksum; `Interrupted`.
    pub(super) fn of_all(lines: &PlainLines<'_>) -> Result<Self> {
        let mut facts = Self::none(lines);
        for (shard, facts) in lines.shards.iter().zip(&mut facts.0) {
            interrupt::check()?;
            facts.rows = shard.shard.len();
            for (field, cell_facts) in shard.fields.iter().zip(&mut facts.fields) {
                let Some((place, column)) = &field.cells else { continue };
                // The writer of each shard chose the narrowest type. If all have the same one, it is that of all rows.
                let has_common_type = has_common_type(lines, *place);
                if !has_common_type || column.validity.is_some() {
                    column.require(0..facts.rows)?;
                }
                *cell_facts = if has_common_type {
                    let (least, greatest) = range_of_type(column.dtype);
                    CellFacts { values: values(column, 0..facts.rows)?, least, greatest }
                } else {
                    cell_facts_of(column, 0..facts.rows)?
                };
            }
        }
        Ok(facts)
    }

    /// The facts of the rows at some places in an order.
    ///
    /// # Errors
    /// Errors of reading the order; `Corrupt` for a column with fewer cells than rows.
    pub(super) fn of_places(
        lines: &PlainLines<'_>,
        order: &RowOrder<'_>,
        places: &Range<u64>,
        threads: usize,
    ) -> Result<Self> {
        if order.has_all && *places == (0..order.len) {
            return Self::of_all(lines);
        }
        let end_of = |start: u64| places.end.min(start + COUNTED_ROWS);
        let mut facts = Self::none(lines);
        let first = order.read(places.start..end_of(places.start))?;
        facts.add(&Self::of_rows(lines, &first, &facts)?);
        let starts = (end_of(places.start)..places.end).step_by(to_usize(COUNTED_ROWS, "a block")?);
        let known = &facts;
        let parts = threads::map(threads, starts, "a thread that counts values", |start, _| {
            interrupt::check()?;
            Self::of_rows(lines, &order.read(start..end_of(start))?, known)
        });
        for part in parts {
            facts.add(&part?);
        }
        Ok(facts)
    }

    /// The facts of `rows`. Does not read cells that cannot change what is `known` of other rows.
    fn of_rows(lines: &PlainLines<'_>, rows: &[u64], known: &Self) -> Result<Self> {
        let mut rows_of: Vec<Vec<u64>> = vec![Vec::new(); lines.shards.len()];
        for row in rows {
            let (shard, row) = lines.locate(*row)?;
            rows_of[shard].push(row);
        }
        let mut facts = Self::none(lines);
        let shards = lines.shards.iter().zip(&mut facts.0).zip(&known.0);
        for (((shard, facts), known), rows) in shards.zip(rows_of) {
            facts.rows = to_u64(rows.len());
            let fields = shard.fields.iter().zip(&mut facts.fields).zip(&known.fields);
            for ((field, cell_facts), known) in fields {
                let Some((place, column)) = &field.cells else { continue };
                *cell_facts = if known.need_whole(column) && has_common_type(lines, *place) {
                    CellFacts { values: facts.rows, ..CellFacts::default() }
                } else {
                    column.require(0..column.rows)?;
                    cell_facts_of(column, rows.iter().copied())?
                };
            }
        }
        Ok(facts)
    }

    fn add(&mut self, other: &Self) {
        for (facts, other) in self.0.iter_mut().zip(&other.0) {
            facts.rows += other.rows;
            for (cell_facts, other) in facts.fields.iter_mut().zip(&other.fields) {
                cell_facts.add(*other);
            }
        }
    }

    pub(super) fn rows(&self) -> u64 {
        self.0.iter().map(|facts| facts.rows).sum()
    }

    /// The type and number of values in a column of the output; `None` if there are none. The type is `None` if values
    /// have no common one.
    pub(super) fn column(&self, lines: &PlainLines<'_>, place: usize) -> Option<(Option<ColumnType>, u64)> {
        let (mut dtypes, mut all) = (Vec::new(), CellFacts::default());
        for (shard, facts) in lines.shards.iter().zip(&self.0) {
            for (field, cell_facts) in shard.fields.iter().zip(&facts.fields) {
                if let Some((at, column)) = &field.cells
                    && *at == place
                    && cell_facts.values > 0
                {
                    dtypes.push(column.dtype);
                    all.add(*cell_facts);
                }
            }
        }
        let first = *dtypes.first()?;
        let dtype = if dtypes.iter().copied().all(ColumnType::is_integer) {
            narrowest(all.least, all.greatest)
        } else {
            Some(first).filter(|first| dtypes.iter().all(|dtype| dtype == first))
        };
        Some((dtype, all.values))
    }

    /// One fact for each column and kind of value, with the number of values.
    pub(super) fn kinds(&self, lines: &PlainLines<'_>) -> Vec<(Fact, u64)> {
        let mut kinds: Vec<(Fact, u64)> = Vec::new();
        let mut add = |path: &Arc<Path>, kind: &'static str, values: u64| {
            let is_same = |(fact, _): &&mut (Fact, u64)| fact.kind == kind && fact.path == *path;
            match kinds.iter_mut().find(is_same) {
                Some((_, count)) => *count += values,
                None if values > 0 => kinds.push((kind_fact(path, kind), values)),
                None => {}
            }
        };
        for (shard, facts) in lines.shards.iter().zip(&self.0) {
            for (field, cell_facts) in shard.fields.iter().zip(&facts.fields) {
                let values = if field.cells.is_some() { cell_facts.values } else { facts.rows };
                add(&field.path, field.kind, values);
                if field.has_null && field.cells.is_some() {
                    add(&field.path, "null", facts.rows - values);
                }
            }
        }
        kinds
    }
}

/// Whether all shards that have a column of the output have it with the same type.
fn has_common_type(lines: &PlainLines<'_>, place: usize) -> bool {
    let mut dtypes = lines.shards.iter().filter_map(|shard| shard.cells(place)).map(|column| column.dtype);
    let first = dtypes.next();
    dtypes.all(|dtype| Some(dtype) == first)
}

/// Counts for the values of a column in some rows.
fn cell_facts_of(column: &IndexedColumn, rows: impl Iterator<Item = u64> + Clone) -> Result<CellFacts> {
    let values = values(column, rows.clone())?;
    let (mut least, mut greatest, mut greatest_unsigned) = (0, 0, 0);
    if column.dtype.is_integer() {
        column.view().each_number(rows, |number| match number {
            Some(CellNumber::Int(value)) => {
                least = value.min(least);
                greatest = value.max(greatest);
            }
            Some(CellNumber::Uint(value)) => greatest_unsigned = value.max(greatest_unsigned),
            _ => {}
        })?;
    }
    let greatest = i128::from(greatest).max(greatest_unsigned.into());
    Ok(CellFacts { values, least: least.into(), greatest })
}

/// The number of rows that have a value.
fn values(column: &IndexedColumn, rows: impl Iterator<Item = u64>) -> Result<u64> {
    let Some(bits) = &column.validity else { return Ok(to_u64(rows.count())) };
    let mut values = 0;
    for row in rows {
        let byte = to_usize(row / 8, "a sample").ok().and_then(|at| bits.get(at)).ok_or_else(|| past(row))?;
        values += u64::from(byte >> (row % 8) & 1);
    }
    Ok(values)
}

/// The smallest and largest integer of a type.
fn range_of_type(dtype: ColumnType) -> (i128, i128) {
    match dtype {
        ColumnType::Int8 => (i8::MIN.into(), i8::MAX.into()),
        ColumnType::Int16 => (i16::MIN.into(), i16::MAX.into()),
        ColumnType::Int32 => (i32::MIN.into(), i32::MAX.into()),
        ColumnType::Int64 => (i64::MIN.into(), i64::MAX.into()),
        ColumnType::Uint8 => (0, u8::MAX.into()),
        ColumnType::Uint16 => (0, u16::MAX.into()),
        ColumnType::Uint32 => (0, u32::MAX.into()),
        ColumnType::Uint64 => (0, u64::MAX.into()),
        _ => (0, 0),
    }
}

fn past(row: u64) -> Error {
    Error::corrupt(format!("sample {row} is past the end of its column"))
}
