//! A small string on the stack, so that writing a date needs no allocation.

use std::fmt;

/// Enough for the longest form: a decimal of 76 digits with a scale of 127.
const CAPACITY: usize = 256;

pub(crate) struct IsoText {
    bytes: [u8; CAPACITY],
    len: usize,
}

impl IsoText {
    pub(crate) fn new() -> Self {
        Self { bytes: [0; CAPACITY], len: 0 }
    }

    pub(crate) fn as_str(&self) -> &str {
        self.bytes.get(..self.len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Appends `value` with at least `width` digits; faster than the formatting machinery of Rust.
    pub(crate) fn digits(&mut self, value: u64, width: usize) {
        let mut scratch = [b'0'; 20];
        let mut rest = value;
        let mut at = scratch.len();
        while rest > 0 || scratch.len() - at < width.min(scratch.len()) {
            at -= 1;
            // The remainder is below 10, so it fits into its low byte.
            scratch[at] = b'0' + (rest % 10).to_le_bytes()[0];
            rest /= 10;
        }
        self.bytes(&scratch[at..]);
    }

    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes(&[byte]);
    }

    pub(crate) fn bytes(&mut self, text: &[u8]) {
        if let Some(room) = self.bytes.get_mut(self.len..self.len + text.len()) {
            room.copy_from_slice(text);
            self.len += text.len();
        }
    }
}

impl fmt::Write for IsoText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        if self.len + text.len() > CAPACITY {
            return Err(fmt::Error);
        }
        self.bytes(text.as_bytes());
        Ok(())
    }
}
