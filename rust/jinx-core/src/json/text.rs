//! Strings and floats as JSON text.

use crate::error::{Error, Result};

/// Appends a string as JSON text; only quotes, backslashes and control characters are escaped.
///
/// # Errors
/// None in practice: memory is the only thing it needs.
pub fn push_json_str(out: &mut Vec<u8>, text: &str) -> Result<()> {
    serde_json::to_writer(out, text).map_err(|error| Error::invalid(error.to_string()))
}

/// A finite float as JSON text, shortest form that reads back equal.
pub fn push_json_float(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
}
