//! The position of a value in the sidecar, and the JSON object that states it.

use jinx_core::error::{Error, Result};
use jinx_core::json::scan::Members;
use jinx_core::json::text::unescape;
use std::borrow::Cow;
use std::ops::Range;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pointer {
    pub offset: u64,
    pub length: u64,
    /// xxh3-64 of the stored bytes; 1.1 files always have it.
    pub x: Option<u64>,
}

impl Pointer {
    /// The bytes in the sidecar, which may have fewer bytes than this.
    pub fn range(&self) -> Range<u64> {
        self.offset..self.offset.saturating_add(self.length)
    }

    /// Parses a pointer, and the file name of a media value, from the text of their object.
    pub(crate) fn parse(text: &[u8]) -> Result<(Self, Option<Cow<'_, str>>)> {
        let (mut offset, mut length, mut x, mut path) = (None, None, None, None);
        let mut members = Members::new(text);
        while let Some(span) = members.next_member()? {
            let value = &text[span.value_range()];
            match unescape(&text[span.key_range()])?.as_ref() {
                "offset" => offset = Some(natural(value)?),
                "length" => length = Some(natural(value)?),
                // 1.0 files may contain anything under these names; in 1.1, a pointer without `x` is refused when it is
                // used.
                "x" => x = checksum(value).or(x),
                "path" if value.first() == Some(&b'"') => path = Some(unescape(&value[1..value.len() - 1])?),
                _ => {}
            }
        }
        match (offset, length) {
            (Some(offset), Some(length)) => Ok((Self { offset, length, x }, path)),
            _ => Err(Error::corrupt("a sidecar pointer without offset and length")),
        }
    }
}

fn natural(digits: &[u8]) -> Result<u64> {
    let is_number =
        digits.iter().all(u8::is_ascii_digit) && (digits.len() == 1 || digits.first() != Some(&b'0'));
    let text = std::str::from_utf8(digits).ok().filter(|_| is_number);
    text.and_then(|text| text.parse().ok())
        .ok_or_else(|| Error::corrupt("a sidecar pointer whose offset or length is not a natural number"))
}

/// Sixteen lower-case hex digits between quotes.
fn checksum(value: &[u8]) -> Option<u64> {
    let digits = value.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    let valid = digits.len() == 16 && digits.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let text = std::str::from_utf8(digits).ok().filter(|_| valid)?;
    u64::from_str_radix(text, 16).ok()
}
