//! Writes the position of a value in the sidecar.

use crate::write::encode::{RowEncoder, SidecarValue};
use jinx_core::error::Result;
use jinx_core::io::Content;
use jinx_core::json::text::push_json_str;

impl RowEncoder {
    /// Writes the pointer to a value, with an offset that the file's writer fills in; returns the pointer's stored
    /// length.
    pub(super) fn push_pointer(&mut self, data: Content, checksum: u64, path: Option<&str>) -> Result<u64> {
        let length = data.len();
        let text = &mut self.row.text;
        text.extend_from_slice(b"{\"offset\":");
        let at = text.len();
        text.extend_from_slice(b",\"length\":");
        text.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
        text.extend_from_slice(b",\"x\":\"");
        text.extend_from_slice(&hex_digits(checksum));
        text.push(b'"');
        if let Some(path) = path {
            text.extend_from_slice(b",\"path\":");
            push_json_str(text, path)?;
        }
        text.push(b'}');
        self.row.values.push(SidecarValue { at, data });
        Ok(length)
    }
}

/// The 16 hexadecimal digits of a number.
fn hex_digits(number: u64) -> [u8; 16] {
    let bytes = number.to_be_bytes();
    std::array::from_fn(|i| {
        let byte = bytes[i / 2];
        let digit = if i % 2 == 0 { byte >> 4 } else { byte & 15 };
        if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
    })
}
