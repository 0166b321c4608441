//! The stored columns of several shards, joined or separate.

use crate::column_data::{ColumnData, ColumnPart};
use crate::shards::shard_list::Shards;
use jinx_core::{Error, Result};
use jinx_format::read::column_view::CellNumber;
use jinx_format::read::columns::{ColumnKind, ColumnType, IndexedColumn};

#[derive(Default)]
struct JoinedColumn {
    data: Vec<u8>,
    /// Present only if a shard has a validity bitmap.
    validity: Option<Vec<u8>>,
    offsets: Vec<u8>,
    rows: u64,
}

/// Joins a stored column from all shards. `None` if a shard lacks the column or the types have no common type.
pub fn stored(shards: &Shards, path: &[Option<String>], kind: ColumnKind) -> Result<Option<ColumnData>> {
    let joined = join(shards, path, kind)?;
    Ok(joined.map(|(dtype, joined)| {
        let offsets = (dtype == ColumnType::Utf8).then_some(joined.offsets);
        ColumnData::indexed(dtype.name(), joined.data, joined.validity, offsets)
    }))
}

/// Lists the shards that have samples as parts of a stored column. `None` if one of them lacks the column.
pub fn parts(shards: &Shards, path: &[Option<String>], kind: ColumnKind) -> Result<Option<Vec<ColumnPart>>> {
    let mut parts = Vec::new();
    for i in live(shards) {
        let Some(info) = shards.next_shard(i)?.column_info(path, kind) else { return Ok(None) };
        let dtype = ColumnType::from_name(&info.dtype).filter(|_| info.width.is_none());
        parts.push(ColumnPart { start: shards.range(i).start, dtype });
    }
    Ok(Some(parts))
}

/// Reads the stored column of one of the shards in [`parts`]; if it is mapped, the cells stay in the map.
pub fn part(shards: &Shards, part: usize, path: &[Option<String>], kind: ColumnKind) -> Result<ColumnData> {
    let lacks = || Error::invalid(format!("the column has no part {part}"));
    let shard = shards.shard(live(shards).nth(part).ok_or_else(lacks)?)?;
    let column = shard.chunked_column(path, kind)?.ok_or_else(lacks)?;
    column.require(0..column.rows)?;
    Ok(ColumnData {
        dtype: column.dtype.name(),
        width: column.width,
        zone: None,
        is_typed: false,
        data: column.data.clone(),
        validity: column.validity.clone(),
        offsets: column.offsets.clone(),
        codes: None,
    })
}

fn live(shards: &Shards) -> impl Iterator<Item = usize> {
    (0..shards.count()).filter(|i| shards.samples(*i) > 0)
}

fn join(
    shards: &Shards,
    path: &[Option<String>],
    kind: ColumnKind,
) -> Result<Option<(ColumnType, JoinedColumn)>> {
    let live: Vec<usize> = live(shards).collect();
    let (mut types, mut has_validity) = (Vec::new(), false);
    for i in &live {
        let Some(info) = shards.next_shard(*i)?.column_info(path, kind) else { return Ok(None) };
        let Some(dtype) = ColumnType::from_name(&info.dtype) else { return Ok(None) };
        types.push(dtype);
        has_validity |= info.validity.is_some();
    }
    let Some(dtype) = common_type(&types) else { return Ok(None) };
    let mut joined = JoinedColumn { validity: has_validity.then(Vec::new), ..JoinedColumn::default() };
    if dtype == ColumnType::Utf8 {
        joined.offsets.extend_from_slice(&0u64.to_le_bytes());
    }
    for i in live {
        let Some(column) = shards.shard(i)?.column(path, kind)? else { return Ok(None) };
        joined.append(&column, dtype);
    }
    Ok(Some((dtype, joined)))
}

/// The narrowest type that can represent all types; `None` if there is none.
pub fn common_type(types: &[ColumnType]) -> Option<ColumnType> {
    use ColumnType as T;
    let first = *types.first()?;
    if types.iter().all(|other| *other == first) {
        return Some(first);
    }
    let is_unsigned = |t: &T| matches!(t, T::Uint8 | T::Uint16 | T::Uint32 | T::Uint64);
    let is_signed = |t: &T| matches!(t, T::Int8 | T::Int16 | T::Int32 | T::Int64);
    if types.iter().all(is_unsigned) {
        return Some(T::Uint64);
    }
    if types.iter().all(|t| is_signed(t) || (is_unsigned(t) && *t != T::Uint64)) {
        return Some(T::Int64);
    }
    let is_exact = |t: &T| *t == T::Float64 || ((is_signed(t) || is_unsigned(t)) && t.width() < Some(8));
    types.iter().all(is_exact).then_some(T::Float64)
}

impl JoinedColumn {
    fn append(&mut self, column: &IndexedColumn, dtype: ColumnType) {
        if let Some(validity) = &mut self.validity {
            for i in 0..column.rows {
                let row = self.rows + i;
                if row.is_multiple_of(8) {
                    validity.push(0);
                }
                if let Some(last) = validity.last_mut() {
                    *last |= u8::from(column.is_valid(i)) << (row % 8);
                }
            }
        }
        self.rows += column.rows;
        if column.dtype == dtype && dtype != ColumnType::Utf8 {
            self.data.extend_from_slice(&column.data);
            return;
        }
        for i in 0..column.rows {
            let cell = column.cell(i);
            if dtype == ColumnType::Utf8 {
                self.data.extend_from_slice(cell);
                let end = jinx_core::checked_math::to_u64(self.data.len());
                self.offsets.extend_from_slice(&end.to_le_bytes());
            } else {
                self.data.extend_from_slice(&widen(column.dtype, cell, dtype));
            }
        }
    }
}

/// Converts a cell to the wider type, in eight bytes.
fn widen(from: ColumnType, cell: &[u8], to: ColumnType) -> [u8; 8] {
    match from.number(cell) {
        // Exact, because only integers of up to 32 bits are combined with floats.
        #[allow(clippy::cast_precision_loss)]
        Some(CellNumber::Int(value)) if to == ColumnType::Float64 => (value as f64).to_le_bytes(),
        Some(CellNumber::Int(value)) => value.to_le_bytes(),
        Some(CellNumber::Uint(value)) => value.to_le_bytes(),
        Some(CellNumber::Float(value)) => value.to_le_bytes(),
        Some(CellNumber::Bool(value)) => u64::from(value).to_le_bytes(),
        None => [0; 8],
    }
}
