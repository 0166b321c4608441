//! Single cells of a column as integers that sort like their numbers.

use crate::column_data::ColumnData;
use jinx_core::Result;
use jinx_core::checked_math::to_u64;
use jinx_format::read::column_view::{CellNumber, ColumnView};
use jinx_format::read::columns::ColumnType;

/// How a key represents a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyKind {
    Int,
    Float,
}

const SIGN: u64 = 1 << 63;

impl KeyKind {
    /// How keys are made for columns of a type.
    pub(super) fn of(dtype: ColumnType) -> Self {
        if dtype.is_float() { Self::Float } else { Self::Int }
    }

    /// The number of a key.
    pub(super) fn number(self, key: u64) -> f64 {
        match self {
            Self::Float if key & SIGN == 0 => f64::from_bits(!key),
            Self::Float => f64::from_bits(key ^ SIGN),
            #[allow(clippy::cast_precision_loss)] // the number is only placed in a chart
            Self::Int => (key ^ SIGN).cast_signed() as f64,
        }
    }
}

/// A key for an integer.
pub(super) fn int_key(value: i64) -> u64 {
    value.cast_unsigned() ^ SIGN
}

/// A key for a float; 0.0 and -0.0 have the same key. NaN has none.
pub(super) fn float_key(value: f64) -> Option<u64> {
    let bits = (value + 0.0).to_bits();
    if value.is_nan() {
        return None;
    }
    Some(if bits & SIGN == 0 { bits ^ SIGN } else { !bits })
}

/// The cells of a column of single numbers.
pub(super) struct Cells<'c> {
    column: ColumnView<'c>,
    kind: KeyKind,
}

impl<'c> Cells<'c> {
    /// The cells of `column`, with keys of the given kind. Integers become floats only where these are exact.
    ///
    /// # Errors
    /// `Invalid` for strings.
    pub(super) fn of(column: &'c ColumnData, kind: KeyKind) -> Result<Self> {
        Ok(Self { column: column.view()?, kind })
    }

    /// The key of a cell; `None` if it has no number.
    ///
    /// # Errors
    /// `Invalid` past the end.
    pub(super) fn key(&self, at: usize) -> Result<Option<u64>> {
        let value = match self.column.number(to_u64(at))? {
            None => return Ok(None),
            Some(CellNumber::Float(value)) => return Ok(float_key(value)),
            Some(CellNumber::Bool(value)) => value.into(),
            Some(CellNumber::Int(value)) => value,
            // A key only has room for the largest signed integer.
            Some(CellNumber::Uint(value)) => i64::try_from(value).unwrap_or(i64::MAX),
        };
        Ok(match self.kind {
            KeyKind::Int => Some(int_key(value)),
            #[allow(clippy::cast_precision_loss)] // a float holds integers of this width exactly
            KeyKind::Float => float_key(value as f64),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_like_numbers() {
        let values = [f64::NEG_INFINITY, -1e300, -2.5, -1e-310, 0.0, 1e-310, 0.5, 3.0, f64::INFINITY];
        let keys: Vec<u64> = values.iter().filter_map(|value| float_key(*value)).collect();
        assert!(keys.is_sorted());
        let again: Vec<f64> = keys.iter().map(|key| KeyKind::Float.number(*key)).collect();
        assert_eq!(again, values);
        assert_eq!((float_key(-0.0), float_key(f64::NAN)), (float_key(0.0), None));
        let ints = [i64::MIN, -3, 0, 7, i64::MAX].map(int_key);
        assert!(ints.is_sorted());
        assert_eq!(KeyKind::Int.number(int_key(-3)).to_bits(), (-3f64).to_bits());
    }
}
