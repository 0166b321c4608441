//! The cells of an indexed column of numbers, as a writer copies them.

use crate::read::columns::ColumnType;
use crate::write::columns::{BOOL, FLOAT, INT, MISSING, UINT};
use half::f16;
use jinx_core::error::{Error, Result};

/// A column of numbers, bools and nulls, in the form of an indexed column.
#[derive(Debug, Clone, Copy)]
pub struct NumberColumn<'c> {
    /// A type of an index except [`ColumnType::Utf8`].
    pub dtype: ColumnType,
    /// Little-endian cells.
    pub data: &'c [u8],
    /// One bit per cell, lowest bit first; `None` if every cell has a value.
    pub validity: Option<&'c [u8]>,
}

impl NumberColumn<'_> {
    /// The tag and the bits of a cell.
    pub(super) fn cell(&self, row: u64) -> Result<(u8, u64)> {
        let past = || Error::invalid(format!("sample {row} is past the end of the column"));
        let at = usize::try_from(row).map_err(|_| past())?;
        if let Some(bits) = self.validity
            && bits.get(at / 8).ok_or_else(past)? >> (at % 8) & 1 == 0
        {
            return Ok((MISSING, 0));
        }
        macro_rules! number {
            ($kind:ty) => {
                self.data.as_chunks().0.get(at).map(|cell| <$kind>::from_le_bytes(*cell)).ok_or_else(past)?
            };
        }
        let int = |value: i64| (INT, value.cast_unsigned());
        Ok(match self.dtype {
            ColumnType::Bool => (BOOL, u64::from(number!(u8) != 0)),
            ColumnType::Int8 => int(number!(i8).into()),
            ColumnType::Int16 => int(number!(i16).into()),
            ColumnType::Int32 => int(number!(i32).into()),
            ColumnType::Int64 => int(number!(i64)),
            ColumnType::Uint8 => int(number!(u8).into()),
            ColumnType::Uint16 => int(number!(u16).into()),
            ColumnType::Uint32 => int(number!(u32).into()),
            ColumnType::Uint64 => {
                let value = number!(u64);
                (if i64::try_from(value).is_ok() { INT } else { UINT }, value)
            }
            ColumnType::Float16 => (FLOAT, f64::from(number!(f16)).to_bits()),
            ColumnType::Float32 => (FLOAT, f64::from(number!(f32)).to_bits()),
            ColumnType::Float64 => (FLOAT, number!(u64)),
            ColumnType::Time(_) | ColumnType::Utf8 => {
                return Err(Error::invalid("strings and times are not numbers"));
            }
        })
    }
}
