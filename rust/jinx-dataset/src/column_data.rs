//! Whole columns in memory.

use jinx_core::value::Value;
use jinx_core::{Error, Result};
use jinx_format::read::columns::ColumnType;
use jinx_format::write::numeric_rows::NumberColumn;

/// A whole column: little-endian values, or the bytes of strings.
#[derive(Clone)]
pub struct ColumnData {
    pub dtype: &'static str,
    pub data: Vec<u8>,
    /// One bit for each sample; present only if a sample has no value.
    pub validity: Option<Vec<u8>>,
    /// For strings: the start of each string, and the end of the last.
    pub offsets: Option<Vec<u8>>,
}

impl ColumnData {
    /// Returns the column in the form for writing rows; `None` for strings.
    pub fn numbers<'c>(&'c self, name: &'c str) -> Option<NumberColumn<'c>> {
        let dtype = ColumnType::from_name(self.dtype).filter(|dtype| *dtype != ColumnType::Utf8)?;
        Some(NumberColumn { name, dtype, data: &self.data, validity: self.validity.as_deref() })
    }

    /// The number of sample `i`, or null.
    ///
    /// # Errors
    /// `Invalid` past the end, and for strings.
    pub fn value(&self, i: u64) -> Result<Value> {
        let past = || Error::invalid(format!("sample {i} is past the end of the column"));
        let at = usize::try_from(i).map_err(|_| past())?;
        if let Some(bits) = &self.validity {
            let byte = bits.get(at / 8).ok_or_else(past)?;
            if byte >> (at % 8) & 1 == 0 {
                return Ok(Value::Null);
            }
        }
        let width = ColumnType::from_name(self.dtype).and_then(ColumnType::width);
        let width = width.and_then(|width| usize::try_from(width).ok()).ok_or_else(past)?;
        let cell = at.checked_mul(width).and_then(|start| self.data.get(start..start + width));
        let cell = cell.ok_or_else(past)?;
        let is_negative = self.dtype.starts_with("int") && cell.last().is_some_and(|byte| *byte >= 0x80);
        let mut bits = [if is_negative { 0xff } else { 0 }; 8];
        bits[..width].copy_from_slice(cell);
        Ok(match self.dtype {
            "bool" => Value::Bool(cell[0] != 0),
            "float64" => Value::Float(f64::from_le_bytes(bits)),
            "uint64" => {
                let value = u64::from_le_bytes(bits);
                i64::try_from(value).map_or_else(|_| Value::BigInt(value.to_string()), Value::Int)
            }
            _ => Value::Int(i64::from_le_bytes(bits)),
        })
    }
}
