//! Sort keys from an indexed column.

use crate::key_bytes::{KeyValue, ordered};
use jinx_core::error::{Error, Result};
use jinx_format::read::column_view::{CellNumber, ColumnView};
use jinx_format::read::columns::ColumnType;
use std::borrow::Cow;

/// Passes the keys at `positions` to `see`, as integers that sort like the numbers. `None` is a missing key.
///
/// # Errors
/// `Corrupt` for a position past the end; `Invalid` for a column of anything but numbers.
pub(crate) fn each_key(
    column: &ColumnView<'_>,
    positions: impl Iterator<Item = u64>,
    mut see: impl FnMut(Option<u64>),
) -> Result<()> {
    const SIGN: u64 = 1 << 63;
    column.each_number(positions, |number| {
        see(number.and_then(|number| match number {
            CellNumber::Bool(value) => Some(value.into()),
            CellNumber::Int(value) => Some(value.cast_unsigned() ^ SIGN),
            CellNumber::Uint(value) => Some(value),
            CellNumber::Float(value) => (!value.is_nan()).then(|| ordered(value)),
        }));
    })
}

/// The key at `position`.
///
/// # Errors
/// `Corrupt` for a position past the end, and for bytes that are not UTF-8; `Invalid` for times and vectors.
pub fn key_at<'c>(column: &ColumnView<'c>, position: u64) -> Result<KeyValue<'c>> {
    if column.dtype != ColumnType::Utf8 {
        return Ok(column.number(position)?.map_or(KeyValue::Missing, |number| match number {
            CellNumber::Bool(value) => KeyValue::Int(value.into()),
            CellNumber::Int(value) => KeyValue::Int(value.into()),
            CellNumber::Uint(value) => KeyValue::Int(value.into()),
            CellNumber::Float(value) => KeyValue::Float(value),
        }));
    }
    let past = || Error::corrupt(format!("sample {position} is past the end of its column"));
    Ok(match column.is_valid(position).ok_or_else(past)? {
        true => KeyValue::Text(Cow::Borrowed(column.text(position)?)),
        false => KeyValue::Missing,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn view(dtype: ColumnType, data: &[u8]) -> ColumnView<'_> {
        let validity = Some([0b0000_1101].as_slice());
        ColumnView { dtype, rows: 4, width: None, validity, offsets: None, data, codes: None }
    }

    #[test]
    fn cells_become_keys() {
        assert_eq!(key_at(&view(ColumnType::Bool, &[1, 0, 0]), 0).unwrap(), KeyValue::Int(1));
        assert_eq!(key_at(&view(ColumnType::Uint64, &[0xff; 8]), 0).unwrap(), KeyValue::Int(u64::MAX.into()));
        assert_eq!(key_at(&view(ColumnType::Float16, &[0, 0x3e]), 0).unwrap(), KeyValue::Float(1.5));
        assert_eq!(key_at(&view(ColumnType::Int8, &[1, 2]), 1).unwrap(), KeyValue::Missing);
        assert!(key_at(&view(ColumnType::Int8, &[1, 2]), 2).is_err());
        assert!(key_at(&view(ColumnType::Int8, &[1, 2]), u64::MAX).is_err());
        let offsets: Vec<u8> = [0u64, 1, 1, 3].iter().flat_map(|at| at.to_le_bytes()).collect();
        let text = ColumnView { offsets: Some(&offsets), ..view(ColumnType::Utf8, "aé".as_bytes()) };
        assert_eq!(key_at(&text, 2).unwrap(), KeyValue::Text(Cow::Borrowed("é")));
        assert_eq!(key_at(&text, 1).unwrap(), KeyValue::Missing);
        assert!(key_at(&text, 3).is_err() && key_at(&text, 4).is_err());
    }

    #[test]
    fn keys_have_the_order_of_the_numbers() {
        let cells: Vec<u8> =
            [f64::NAN, 1.0, -2.0, 0.5].iter().flat_map(|value| value.to_le_bytes()).collect();
        let mut keys = Vec::new();
        each_key(&view(ColumnType::Float64, &cells), 0..4, |key| keys.push(key)).unwrap();
        assert!(keys[0].is_none() && keys[1].is_none() && keys[2] < keys[3]);
        let mut keys = Vec::new();
        each_key(&view(ColumnType::Int8, &[1, 0, 0x80, 0]), 0..4, |key| keys.push(key)).unwrap();
        assert!(keys[2] < keys[3] && keys[3] < keys[0]);
    }
}
