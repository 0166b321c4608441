//! Checked arithmetic on lengths and offsets that were read from a file.

use crate::error::{Error, Result};
use std::ops::Range;

/// `offset..offset + length` as a range within `total`, or an error that names `what`.
pub fn range_within(offset: u64, length: u64, total: u64, what: &str) -> Result<Range<u64>> {
    match offset.checked_add(length) {
        Some(end) if end <= total => Ok(offset..end),
        _ => Err(Error::truncated(format!(
            "{what} at {offset} with {length} bytes lies outside the {total} bytes available"
        ))),
    }
}

/// A u64 from a file, as an index into memory.
#[inline]
pub fn to_usize(value: u64, what: &str) -> Result<usize> {
    usize::try_from(value)
        .map_err(|_| Error::limit(format!("{what} of {value} does not fit this machine's memory")))
}

/// A length in memory, as a u64 (never fails on platforms that Rust supports).
#[inline]
pub fn to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

/// Reads a little-endian u64 at `at`; `None` past the end.
#[inline]
pub fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let end = at.checked_add(8)?;
    Some(u64::from_le_bytes(bytes.get(at..end)?.try_into().ok()?))
}
