//! Sort keys from an indexed column.

use crate::key_bytes::{KeyValue, ordered};
use bytes::Bytes;
use half::f16;
use jinx_core::error::{Error, Result};
use jinx_format::read::columns::ColumnType;
use std::borrow::Cow;

/// A whole column: little-endian numbers, or the bytes of strings.
#[derive(Debug)]
pub struct StoredColumn {
    pub dtype: ColumnType,
    pub data: Bytes,
    /// One bit per sample; `None` if every sample has a value.
    pub validity: Option<Bytes>,
    /// For strings: the start of each string, and the end of the last, as little-endian u64.
    pub offsets: Option<Bytes>,
}

impl StoredColumn {
    /// Passes the keys at `positions` to `see`, as integers that have the order of the numbers. `None` is a missing key.
    ///
    /// # Errors
    /// `Corrupt` for a position past the end; `Invalid` for a column of strings.
    pub fn each_number(
        &self,
        positions: impl Iterator<Item = u64>,
        mut see: impl FnMut(Option<u64>),
    ) -> Result<()> {
        const SIGN: u64 = 1 << 63;
        macro_rules! each {
            ($kind:ty, $key:expr) => {{
                let (cells, _) = self.data.as_chunks();
                let key = $key;
                for position in positions {
                    let at = usize::try_from(position).unwrap_or(usize::MAX);
                    let cell = cells.get(at).ok_or_else(|| past(position))?;
                    let is_there = match &self.validity {
                        None => true,
                        Some(bits) => bits.get(at / 8).ok_or_else(|| past(position))? >> (at % 8) & 1 == 1,
                    };
                    see(if is_there { key(<$kind>::from_le_bytes(*cell)) } else { None });
                }
            }};
        }
        let signed = |value: i64| Some(value.cast_unsigned() ^ SIGN);
        let float = |value: f64| (!value.is_nan()).then(|| ordered(value));
        match self.dtype {
            ColumnType::Bool => each!(u8, |value: u8| Some(u64::from(value != 0))),
            ColumnType::Uint8 => each!(u8, |value: u8| Some(value.into())),
            ColumnType::Uint16 => each!(u16, |value: u16| Some(value.into())),
            ColumnType::Uint32 => each!(u32, |value: u32| Some(value.into())),
            ColumnType::Uint64 => each!(u64, Some),
            ColumnType::Int8 => each!(i8, |value: i8| signed(value.into())),
            ColumnType::Int16 => each!(i16, |value: i16| signed(value.into())),
            ColumnType::Int32 => each!(i32, |value: i32| signed(value.into())),
            ColumnType::Int64 => each!(i64, signed),
            ColumnType::Float16 => each!(f16, |value: f16| float(value.into())),
            ColumnType::Float32 => each!(f32, |value: f32| float(value.into())),
            ColumnType::Float64 => each!(f64, float),
            ColumnType::Time(_) | ColumnType::Utf8 => return Err(not_numbers()),
        }
        Ok(())
    }

    /// The key of sample `i`.
    ///
    /// # Errors
    /// `Corrupt` if `i` is past the end, and for bytes that are not UTF-8.
    pub fn key(&self, i: u64) -> Result<KeyValue<'_>> {
        let past = || past(i);
        let at = usize::try_from(i).map_err(|_| past())?;
        if let Some(bits) = &self.validity
            && bits.get(at / 8).ok_or_else(past)? >> (at % 8) & 1 == 0
        {
            return Ok(KeyValue::Missing);
        }
        macro_rules! number {
            ($number:ty) => {
                self.data
                    .as_chunks()
                    .0
                    .get(at)
                    .map(|cell| <$number>::from_le_bytes(*cell))
                    .ok_or_else(past)?
            };
        }
        Ok(match self.dtype {
            ColumnType::Bool => KeyValue::Int(i128::from(number!(u8) != 0)),
            ColumnType::Uint8 => KeyValue::Int(number!(u8).into()),
            ColumnType::Uint16 => KeyValue::Int(number!(u16).into()),
            ColumnType::Uint32 => KeyValue::Int(number!(u32).into()),
            ColumnType::Uint64 => KeyValue::Int(number!(u64).into()),
            ColumnType::Int8 => KeyValue::Int(number!(i8).into()),
            ColumnType::Int16 => KeyValue::Int(number!(i16).into()),
            ColumnType::Int32 => KeyValue::Int(number!(i32).into()),
            ColumnType::Int64 => KeyValue::Int(number!(i64).into()),
            ColumnType::Float16 => KeyValue::Float(number!(f16).into()),
            ColumnType::Float32 => KeyValue::Float(number!(f32).into()),
            ColumnType::Float64 => KeyValue::Float(number!(f64)),
            ColumnType::Time(_) => return Err(not_numbers()),
            ColumnType::Utf8 => {
                let (bounds, _) = self.offsets.as_deref().unwrap_or_default().as_chunks::<8>();
                let bounds = bounds.get(at..).and_then(|rest| rest.first_chunk::<2>()).ok_or_else(past)?;
                let [start, end] = bounds.map(|bound| usize::try_from(u64::from_le_bytes(bound)));
                let range = start.map_err(|_| past())?..end.map_err(|_| past())?;
                let text = std::str::from_utf8(self.data.get(range).ok_or_else(past)?);
                KeyValue::Text(Cow::Borrowed(text.map_err(|_| Error::corrupt("a string that is not UTF-8"))?))
            }
        })
    }
}

fn not_numbers() -> Error {
    Error::invalid("strings and times are not numbers")
}

fn past(position: u64) -> Error {
    Error::corrupt(format!("sample {position} is past the end of its column"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn column(name: &str, data: &[u8]) -> StoredColumn {
        StoredColumn {
            dtype: ColumnType::from_name(name).unwrap(),
            data: Bytes::copy_from_slice(data),
            validity: Some(Bytes::from_static(&[0b0000_1101])),
            offsets: None,
        }
    }

    #[test]
    fn cells_of_each_kind_become_keys() {
        assert_eq!(column("bool", &[1, 0, 0]).key(0).unwrap(), KeyValue::Int(1));
        assert_eq!(column("int16", &[0, 0, 0, 0, 0xfe, 0xff]).key(2).unwrap(), KeyValue::Int(-2));
        assert_eq!(column("uint16", &[0, 0, 0, 0, 0xfe, 0xff]).key(2).unwrap(), KeyValue::Int(0xfffe));
        assert_eq!(column("float64", &1.5f64.to_le_bytes()).key(0).unwrap(), KeyValue::Float(1.5));
        assert_eq!(column("float32", &1.5f32.to_le_bytes()).key(0).unwrap(), KeyValue::Float(1.5));
        assert_eq!(column("float16", &[0, 0x3e]).key(0).unwrap(), KeyValue::Float(1.5));
        assert_eq!(column("int8", &[1, 2]).key(1).unwrap(), KeyValue::Missing);
        assert!(column("int8", &[1, 2]).key(2).is_err());
        assert!(column("int8", &[1, 2]).key(u64::MAX).is_err());
        let mut text = column("utf8", "aé".as_bytes());
        text.offsets = Some([0u64, 1, 1, 3].iter().flat_map(|at| at.to_le_bytes()).collect());
        assert_eq!(text.key(2).unwrap(), KeyValue::Text(Cow::Borrowed("é")));
        text.data = Bytes::from_static(&[b'a', 0xff, 0xa9]);
        assert!(text.key(2).is_err());
        assert!(text.key(3).is_err());
    }
}
