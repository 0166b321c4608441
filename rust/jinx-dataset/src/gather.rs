//! Reorders the cells of a column.

use crate::column_data::ColumnData;
use bytes::Bytes;
use jinx_core::checked_math::{to_u64, u64_at};
use jinx_core::{Error, Result};

/// Returns the cells at `positions`.
///
/// # Errors
/// `Invalid` for a position outside the column.
pub fn gathered(column: &ColumnData, positions: &[u64]) -> Result<ColumnData> {
    let at = |position: &u64| usize::try_from(*position).map_err(|_| outside(*position));
    let positions: Vec<usize> = positions.iter().map(at).collect::<Result<_>>()?;
    let validity = column.validity.as_deref().map(|bits| gather_bits(bits, &positions)).transpose()?;
    if let Some(codes) = &column.codes {
        let codes = gather_cells(codes, column.code_bytes(), &positions)?;
        let (codes, validity) = (Some(codes.into()), validity.map(Bytes::from));
        return Ok(ColumnData { codes, validity, ..column.clone() });
    }
    let (data, offsets) = match &column.offsets {
        None => (gather_cells(&column.data, column.cell_bytes()?, &positions)?, None),
        Some(offsets) => {
            let (data, offsets) = gather_texts(&column.data, offsets, &positions)?;
            (data, Some(offsets))
        }
    };
    let (data, validity, offsets) = (data.into(), validity.map(Bytes::from), offsets.map(Bytes::from));
    Ok(ColumnData { data, validity, offsets, ..column.clone() })
}

fn gather_cells(data: &[u8], width: usize, positions: &[usize]) -> Result<Vec<u8>> {
    let mut cells = Vec::with_capacity(positions.len().saturating_mul(width));
    for position in positions {
        let start = position.saturating_mul(width);
        let cell = data.get(start..start.saturating_add(width)).ok_or_else(|| outside(to_u64(*position)))?;
        cells.extend_from_slice(cell);
    }
    Ok(cells)
}

fn gather_bits(bits: &[u8], positions: &[usize]) -> Result<Vec<u8>> {
    let mut gathered = vec![0u8; positions.len().div_ceil(8)];
    for (i, position) in positions.iter().enumerate() {
        let byte = bits.get(position / 8).ok_or_else(|| outside(to_u64(*position)))?;
        gathered[i / 8] |= (byte >> (position % 8) & 1) << (i % 8);
    }
    Ok(gathered)
}

fn gather_texts(data: &[u8], offsets: &[u8], positions: &[usize]) -> Result<(Vec<u8>, Vec<u8>)> {
    let (mut texts, mut ends) = (Vec::new(), Vec::with_capacity((positions.len() + 1).saturating_mul(8)));
    ends.extend_from_slice(&0u64.to_le_bytes());
    for position in positions {
        let bound = |i: usize| usize::try_from(u64_at(offsets, i.saturating_mul(8))?).ok();
        let text = bound(*position)
            .zip(bound(position.saturating_add(1)))
            .and_then(|(start, end)| data.get(start..end))
            .ok_or_else(|| outside(to_u64(*position)))?;
        texts.extend_from_slice(text);
        ends.extend_from_slice(&to_u64(texts.len()).to_le_bytes());
    }
    Ok((texts, ends))
}

fn outside(position: u64) -> Error {
    Error::invalid(format!("position {position} is outside the column"))
}
