//! The numbers of a column in the order of a dataset, for charts and orders.

use crate::browse::MISSING;
use crate::column_data::ColumnData;
use crate::dataset::Dataset;
use jinx_core::checked_math::{to_u64, to_usize};
use jinx_core::{Error, Result};
use jinx_format::expression::parallel::in_blocks;
use jinx_format::fields::Measure;
use jinx_format::read::columns::ColumnKind;

/// The numbers of a column. Missing values and NaN have none.
pub struct Numbers {
    /// Integers that order like the numbers.
    keys: Vec<u64>,
    kind: KeyKind,
    /// For each sample, whether it has no number; empty if all have one.
    missing: Vec<bool>,
}

/// How a key stands for a number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KeyKind {
    Int,
    Float,
}

const SIGN: u64 = 1 << 63;

impl Numbers {
    /// The numbers or lengths at a path, from the index or by reading every sample. `None` if the values are not numbers.
    ///
    /// # Errors
    /// Read errors.
    pub fn read(dataset: &Dataset, path: &[String], kind: ColumnKind) -> Result<Option<Self>> {
        let names: Vec<Option<String>> = path.iter().cloned().map(Some).collect();
        if let Some(column) = dataset.rows.column(&names, kind)? {
            let is_time = column.dtype.starts_with("datetime");
            return if column.offsets.is_some() || column.width.is_some() || is_time {
                Ok(None)
            } else {
                Self::stored(dataset, &column).map(Some)
            };
        }
        Self::measured(dataset, path, kind)
    }

    /// The numbers of a column from the index.
    fn stored(dataset: &Dataset, column: &ColumnData) -> Result<Self> {
        let kind = if column.dtype.starts_with("float") { KeyKind::Float } else { KeyKind::Int };
        let is_signed = column.dtype.starts_with("int");
        let (dtype, width) = (column.column_type()?, column.cell_bytes()?);
        let key = |i: usize| {
            let cell = i.checked_mul(width).and_then(|start| column.data.get(start..start + width));
            let cell =
                cell.ok_or_else(|| Error::invalid(format!("sample {i} is past the end of the column")))?;
            let is_valid = |bits: &[u8]| bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 == 1);
            if column.validity.as_deref().is_some_and(|bits| !is_valid(bits)) {
                return Ok(None);
            }
            let is_negative = is_signed && cell.last().is_some_and(|byte| *byte >= 0x80);
            let mut bits = [if is_negative { 0xff } else { 0 }; 8];
            bits[..width].copy_from_slice(cell);
            Ok(match (kind, column.dtype) {
                (KeyKind::Float, _) => dtype.float(cell).and_then(float_key),
                // Keys have room only for the largest signed integer.
                (_, "uint64") => Some(int_key(i64::try_from(u64::from_le_bytes(bits)).unwrap_or(i64::MAX))),
                _ => Some(int_key(i64::from_le_bytes(bits))),
            })
        };
        let keys = (0..dataset.len()).map(|i| key(to_usize(dataset.position(i), "a position")?));
        Self::of(keys, dataset.len(), kind)
    }

    /// Reads every sample, in parallel.
    fn measured(dataset: &Dataset, path: &[String], kind: ColumnKind) -> Result<Option<Self>> {
        let path: Vec<&str> = path.iter().map(String::as_str).collect();
        // Two numbers for each sample: 1 for a number and 0 for none, and its bits.
        let cells = in_blocks(to_u64(dataset.len()), None, |block| {
            let mut positions = block.map(|i| dataset.position(i));
            let mut cells = Vec::with_capacity(positions.len() * 2);
            for measure in dataset.rows.measure(&mut positions, &path, kind)? {
                #[allow(clippy::cast_precision_loss)] // charts and orders of columns without an index
                let number = match measure {
                    None | Some(Measure::None) => None,
                    Some(Measure::Bool(value)) => Some(f64::from(u8::from(value))),
                    Some(Measure::Int(value)) => Some(value as f64),
                    Some(Measure::Uint(value) | Measure::Length(value)) => Some(value as f64),
                    Some(Measure::Float(value)) => Some(value),
                    Some(Measure::Huge(digits)) => digits.parse().ok(),
                    Some(Measure::Text(_)) => return Err(not_numbers()),
                };
                let key = number.and_then(float_key);
                cells.extend([u64::from(key.is_some()), key.unwrap_or_default()]);
            }
            Ok(cells)
        });
        let cells = match cells {
            // Also what the rows say about a list or dict.
            Err(error) if matches!(error.cause(), jinx_core::Cause::Mismatch | jinx_core::Cause::Invalid) => {
                return Ok(None);
            }
            cells => cells?,
        };
        let keys = cells.chunks_exact(2).map(|cell| Ok((cell[0] != 0).then_some(cell[1])));
        Self::of(keys, dataset.len(), KeyKind::Float).map(Some)
    }

    fn of(numbers: impl Iterator<Item = Result<Option<u64>>>, samples: usize, kind: KeyKind) -> Result<Self> {
        let (mut keys, mut missing) = (Vec::with_capacity(samples), Vec::new());
        for key in numbers {
            let key = key?;
            if key.is_none() && missing.is_empty() {
                missing.resize(samples, false);
            }
            if let Some(cell) = missing.get_mut(keys.len()) {
                *cell = key.is_none();
            }
            keys.push(key.unwrap_or_default());
        }
        Ok(Self { keys, kind, missing })
    }

    pub fn len(&self) -> usize {
        self.keys.len()
    }

    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    pub fn is_integer(&self) -> bool {
        self.kind == KeyKind::Int
    }

    pub(super) fn key(&self, i: usize) -> Option<u64> {
        match self.missing.get(i) {
            Some(true) => None,
            _ => self.keys.get(i).copied(),
        }
    }

    pub(super) fn number(&self, key: u64) -> f64 {
        match self.kind {
            KeyKind::Float if key & SIGN == 0 => f64::from_bits(!key),
            KeyKind::Float => f64::from_bits(key ^ SIGN),
            #[allow(clippy::cast_precision_loss)] // only to place it in a chart
            KeyKind::Int => (key ^ SIGN).cast_signed() as f64,
        }
    }

    /// The smallest and the largest finite number; `None` if there is none.
    pub fn range(&self) -> Option<(f64, f64)> {
        let numbers = (0..self.len()).filter_map(|i| self.key(i)).map(|key| self.number(key));
        numbers.filter(|number| number.is_finite()).fold(None, |range, number| match range {
            None => Some((number, number)),
            Some((least, largest)) => Some((least.min(number), largest.max(number))),
        })
    }

    /// How many samples have no number.
    pub fn missing(&self) -> u64 {
        to_u64(self.missing.iter().filter(|missing| **missing).count())
    }

    /// For each sample the number of its bin. `edges` are the lower edges of all bins but the first, in ascending order.
    ///
    /// # Errors
    /// `Invalid` for more bins than codes.
    pub fn codes(&self, edges: &[f64]) -> Result<Vec<u8>> {
        if edges.len() >= super::MAX_CODES {
            return Err(Error::invalid("too many bins"));
        }
        let code = |i: usize| match self.key(i) {
            None => MISSING,
            Some(key) => {
                let number = self.number(key);
                u8::try_from(edges.partition_point(|edge| *edge <= number)).unwrap_or(MISSING)
            }
        };
        Ok((0..self.len()).map(code).collect())
    }
}

fn not_numbers() -> Error {
    Error::mismatch("a string where a number was expected")
}

fn int_key(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// A key for a float; 0.0 and -0.0 have the same one.
fn float_key(value: f64) -> Option<u64> {
    let bits = (value + 0.0).to_bits();
    if value.is_nan() {
        return None;
    }
    Some(if bits & SIGN == 0 { bits ^ SIGN } else { !bits })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::float_cmp)]
pub(super) mod tests {
    use super::*;

    pub fn floats(values: &[f64]) -> Numbers {
        let keys = values.iter().map(|value| Ok(float_key(*value)));
        Numbers::of(keys, values.len(), KeyKind::Float).unwrap()
    }

    #[test]
    fn keys_order_like_numbers() {
        let values = [f64::NEG_INFINITY, -1e300, -2.5, -1e-310, 0.0, 1e-310, 0.5, 3.0, f64::INFINITY];
        let numbers = floats(&values);
        assert!(numbers.keys.is_sorted());
        let again: Vec<f64> = numbers.keys.iter().map(|key| numbers.number(*key)).collect();
        assert_eq!(again, values);
        assert_eq!(float_key(-0.0), float_key(0.0));
        let ints = [i64::MIN, -3, 0, 7, i64::MAX].map(int_key);
        assert!(ints.is_sorted());
    }

    #[test]
    fn bins_are_half_open() {
        let numbers = floats(&[0.0, 0.999, 1.0, 1.5, 2.0, 9.0, f64::NAN, -4.0]);
        assert_eq!(numbers.codes(&[1.0, 2.0]).unwrap(), [0, 0, 1, 1, 2, 2, MISSING, 0]);
        assert_eq!((numbers.range(), numbers.missing()), (Some((-4.0, 9.0)), 1));
        assert!(numbers.codes(&[0.0; super::super::MAX_CODES]).is_err());
        assert_eq!(floats(&[f64::NAN]).range(), None);
    }
}
