//! Typed numbers: numpy scalars, and floats that are not finite.

use crate::key::FormatVersion;
use crate::read::shard::Shard;
use crate::read::stored::{EncodedValue, Location};
use jinx_core::error::{Error, Result};
use jinx_core::row_events::{Dtype, Number, Sink};

impl Shard {
    /// Emits a numpy scalar, or a Python float that JSON cannot represent.
    ///
    /// # Errors
    /// `Corrupt` for a value that the type does not hold.
    pub(crate) fn emit_scalar(
        &self,
        dtype: Dtype,
        stored: &EncodedValue<'_>,
        sink: &mut impl Sink,
    ) -> Result<()> {
        let misfit = || Error::corrupt(format!("a value that is not a valid {}", dtype.name()));
        let number = if dtype.is_float() {
            let value = match &stored.place {
                Location::Null => f64::NAN,
                Location::Number(text) => text.parse().map_err(|_| misfit())?,
                Location::Inline(text) if self.rules() == FormatVersion::V1_1 => match text.as_ref() {
                    "+inf" => f64::INFINITY,
                    "-Infinity" => f64::NEG_INFINITY,
                    _ => return Err(misfit()),
                },
                Location::Inline(text) => parse_non_finite(text).ok_or_else(misfit)?,
                Location::Sidecar(_) => return Err(misfit()),
            };
            if dtype == Dtype::Float64 && self.rules() == FormatVersion::V1_1 {
                return sink.float(value);
            }
            Number::Float(if dtype == Dtype::Float32 { nearest_float32(value) } else { value })
        } else {
            let Location::Number(text) = &stored.place else { return Err(misfit()) };
            match (text.parse::<i64>(), text.parse::<u64>()) {
                (Ok(value), _) => Number::Int(value),
                (_, Ok(value)) => Number::Uint(value),
                _ => return Err(misfit()),
            }
        };
        if !fits(dtype, number) {
            return Err(misfit());
        }
        sink.scalar(dtype, number)
    }
}

/// Whether a stored number is in the dtype's range.
fn fits(dtype: Dtype, number: Number) -> bool {
    let value = match number {
        Number::Int(value) => i128::from(value),
        Number::Uint(value) => i128::from(value),
        Number::Float(_) => return dtype.is_float(),
    };
    let (low, high) = match dtype {
        Dtype::Int8 => (i128::from(i8::MIN), i128::from(i8::MAX)),
        Dtype::Int16 => (i128::from(i16::MIN), i128::from(i16::MAX)),
        Dtype::Int32 => (i128::from(i32::MIN), i128::from(i32::MAX)),
        Dtype::Int64 => (i128::from(i64::MIN), i128::from(i64::MAX)),
        Dtype::Uint8 => (0, i128::from(u8::MAX)),
        Dtype::Uint16 => (0, i128::from(u16::MAX)),
        Dtype::Uint32 => (0, i128::from(u32::MAX)),
        Dtype::Uint64 => (0, i128::from(u64::MAX)),
        Dtype::Float32 | Dtype::Float64 => return false,
    };
    (low..=high).contains(&value)
}

/// Rounds to the nearest float32, and returns it as a double.
#[allow(clippy::cast_possible_truncation)]
fn nearest_float32(value: f64) -> f64 {
    // Rounding is intended.
    f64::from(value as f32)
}

/// The words for numbers that JSON cannot represent, in any case and with an optional sign (1.0).
fn parse_non_finite(text: &str) -> Option<f64> {
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    match rest.to_ascii_lowercase().as_str() {
        "inf" | "infinity" => Some(sign * f64::INFINITY),
        "nan" => Some(f64::NAN),
        _ => None,
    }
}
