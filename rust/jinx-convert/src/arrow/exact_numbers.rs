//! Integers and floats with the same value.

/// The integer as a float, if this is exact.
#[allow(clippy::cast_precision_loss)]
pub(crate) fn exact_f64(value: i128) -> Option<f64> {
    let float = value as f64;
    (exact_i128(float) == Some(value)).then_some(float)
}

/// A whole float as an integer; the bound keeps the cast inside i128.
#[allow(clippy::cast_possible_truncation)]
pub(crate) fn exact_i128(value: f64) -> Option<i128> {
    (value.fract() == 0.0 && value.abs() < 1e38).then_some(value as i128)
}
