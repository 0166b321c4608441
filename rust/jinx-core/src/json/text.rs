//! Strings and floats as JSON text, and strings read from it.

use crate::error::{Error, Result};
use jiter::Jiter;
use std::borrow::Cow;

/// Appends a string as JSON text; only quotes, backslashes and control characters are escaped.
///
/// # Errors
/// None in practice: memory is the only thing it needs.
pub fn push_json_str(out: &mut Vec<u8>, text: &str) -> Result<()> {
    serde_json::to_writer(out, text).map_err(|error| Error::invalid(error.to_string()))
}

/// A finite float as JSON text, in the shortest form that reads back as the same float.
pub fn push_json_float(out: &mut Vec<u8>, value: f64) {
    out.extend_from_slice(zmij::Buffer::new().format_finite(value).as_bytes());
}

/// A JSON key's text without its escapes.
///
/// # Errors
/// `Corrupt` for text that is not a JSON string.
pub fn unescape(raw: &[u8]) -> Result<Cow<'_, str>> {
    let bad = || Error::corrupt("a name that is not valid text");
    if raw.iter().all(|byte| *byte >= b' ' && *byte != b'\\') {
        return std::str::from_utf8(raw).map(Cow::Borrowed).map_err(|_| bad());
    }
    let quoted = [b"\"", raw, b"\""].concat();
    let text = Jiter::new(&quoted).next_str().map_err(|_| bad())?.to_owned();
    Ok(Cow::Owned(text))
}
