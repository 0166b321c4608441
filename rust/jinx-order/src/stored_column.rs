//! Sort keys from an indexed column.

use crate::key_bytes::{KeyValue, ordered};
use jinx_core::error::{Error, Result};
use std::borrow::Cow;

/// The type of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    Bool,
    Int { bytes: usize },
    Uint { bytes: usize },
    Float64,
    Text,
}

impl ColumnKind {
    /// The type with this name in a footer.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "float64" => Self::Float64,
            "utf8" => Self::Text,
            _ => {
                let (is_signed, bits) = match name.strip_prefix("int") {
                    Some(bits) => (true, bits),
                    None => (false, name.strip_prefix("uint")?),
                };
                let bytes = match bits {
                    "8" => 1,
                    "16" => 2,
                    "32" => 4,
                    "64" => 8,
                    _ => return None,
                };
                if is_signed { Self::Int { bytes } } else { Self::Uint { bytes } }
            }
        })
    }
}

/// A whole column: little-endian numbers, or the bytes of strings.
#[derive(Debug)]
pub struct StoredColumn {
    pub kind: ColumnKind,
    pub data: Vec<u8>,
    /// One bit per sample; `None` if every sample has a value.
    pub validity: Option<Vec<u8>>,
    /// For strings: the start of each string, and the end of the last, as little-endian u64.
    pub offsets: Option<Vec<u8>>,
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
        match self.kind {
            ColumnKind::Bool => each!(u8, |value: u8| Some(u64::from(value != 0))),
            ColumnKind::Uint { bytes: 1 } => each!(u8, |value: u8| Some(value.into())),
            ColumnKind::Uint { bytes: 2 } => each!(u16, |value: u16| Some(value.into())),
            ColumnKind::Uint { bytes: 4 } => each!(u32, |value: u32| Some(value.into())),
            ColumnKind::Uint { .. } => each!(u64, Some),
            ColumnKind::Int { bytes: 1 } => each!(i8, |value: i8| signed(value.into())),
            ColumnKind::Int { bytes: 2 } => each!(i16, |value: i16| signed(value.into())),
            ColumnKind::Int { bytes: 4 } => each!(i32, |value: i32| signed(value.into())),
            ColumnKind::Int { .. } => each!(i64, signed),
            ColumnKind::Float64 => each!(f64, |value: f64| (!value.is_nan()).then(|| ordered(value))),
            ColumnKind::Text => return Err(Error::invalid("strings are not numbers")),
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
        let cell = |bytes: usize| {
            let start = at.checked_mul(bytes)?;
            self.data.get(start..start.checked_add(bytes)?)
        };
        let word = |bytes: usize, filler: u8| {
            let mut word = [filler; 8];
            word[..bytes].copy_from_slice(cell(bytes)?);
            Some(word)
        };
        Ok(match self.kind {
            ColumnKind::Bool => KeyValue::Int(i128::from(cell(1).ok_or_else(past)?[0] != 0)),
            ColumnKind::Uint { bytes } => {
                KeyValue::Int(i128::from(u64::from_le_bytes(word(bytes, 0).ok_or_else(past)?)))
            }
            ColumnKind::Int { bytes } => {
                let is_negative = cell(bytes).ok_or_else(past)?.last().is_some_and(|byte| *byte >= 0x80);
                let filler = if is_negative { 0xff } else { 0 };
                KeyValue::Int(i128::from(i64::from_le_bytes(word(bytes, filler).ok_or_else(past)?)))
            }
            ColumnKind::Float64 => KeyValue::Float(f64::from_le_bytes(word(8, 0).ok_or_else(past)?)),
            ColumnKind::Text => {
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

fn past(position: u64) -> Error {
    Error::corrupt(format!("sample {position} is past the end of its column"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn column(name: &str, data: &[u8]) -> StoredColumn {
        StoredColumn {
            kind: ColumnKind::from_name(name).unwrap(),
            data: data.to_vec(),
            validity: Some(vec![0b0000_1101]),
            offsets: None,
        }
    }

    #[test]
    fn cells_of_each_kind_become_keys() {
        assert_eq!(column("bool", &[1, 0, 0]).key(0).unwrap(), KeyValue::Int(1));
        assert_eq!(column("int16", &[0, 0, 0, 0, 0xfe, 0xff]).key(2).unwrap(), KeyValue::Int(-2));
        assert_eq!(column("uint16", &[0, 0, 0, 0, 0xfe, 0xff]).key(2).unwrap(), KeyValue::Int(0xfffe));
        assert_eq!(column("float64", &1.5f64.to_le_bytes()).key(0).unwrap(), KeyValue::Float(1.5));
        assert_eq!(column("int8", &[1, 2]).key(1).unwrap(), KeyValue::Missing);
        assert!(column("int8", &[1, 2]).key(2).is_err());
        assert!(column("int8", &[1, 2]).key(u64::MAX).is_err());
        assert!(ColumnKind::from_name("int12").is_none());
        let mut text = column("utf8", "aé".as_bytes());
        text.offsets = Some([0u64, 1, 1, 3].iter().flat_map(|at| at.to_le_bytes()).collect());
        assert_eq!(text.key(2).unwrap(), KeyValue::Text(Cow::Borrowed("é")));
        text.data[1] = 0xff;
        assert!(text.key(2).is_err());
        assert!(text.key(3).is_err());
    }
}
