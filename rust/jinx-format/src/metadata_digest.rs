//! The `"digest"` of a footer or a manifest: its last member, over all bytes before it.

use jinx_core::error::{Error, Result};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use twox_hash::XxHash3_64;

/// The object's text with its digest as the last member.
///
/// # Errors
/// None for objects made of JSON values.
pub fn with_digest(object: &impl Serialize) -> Result<String> {
    let mut text = serde_json::to_string(object).map_err(|error| Error::invalid(error.to_string()))?;
    text.pop();
    let digest = XxHash3_64::oneshot(text.as_bytes());
    text.push_str(&format!(",\"digest\":\"{digest:016x}\"}}"));
    Ok(text)
}

/// Checks `"digest"`, which must be the last member, over all bytes before its comma.
pub fn check_digest(text: &[u8], map: &Map<String, Json>) -> Result<()> {
    let missing = || Error::corrupt("the digest is missing or is not the last member");
    let Some(Json::String(digest)) = map.get("digest") else { return Err(missing()) };
    let tail = format!(",\"digest\":\"{digest}\"}}");
    let body = text.trim_ascii_end().strip_suffix(tail.as_bytes()).ok_or_else(missing)?;
    if *digest != format!("{:016x}", XxHash3_64::oneshot(body)) {
        return Err(Error::corrupt("the digest does not match: the text was changed after it was written"));
    }
    Ok(())
}
