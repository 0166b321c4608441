//! Sort keys from an indexed column.

use crate::key_bytes::KeyValue;
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
    /// The key of sample `i`.
    ///
    /// # Errors
    /// `Corrupt` if `i` is past the end, and for bytes that are not UTF-8.
    pub fn key(&self, i: u64) -> Result<KeyValue<'_>> {
        let past = || Error::corrupt(format!("sample {i} is past the end of its column"));
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
