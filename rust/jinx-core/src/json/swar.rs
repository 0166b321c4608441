//! Processes eight bytes of text at once, as one integer whose lowest byte comes first.

/// Eight times the same byte.
pub const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The highest bit of each zero byte; bytes above the first one may be marked by mistake.
#[inline]
pub const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(eight(1)) & !word & eight(0x80)
}

/// The highest bit of each byte that is a quote, a backslash or a control character, which end the plain part of a JSON
/// string; correct up to the first of them.
#[inline]
pub const fn string_marks(word: u64) -> u64 {
    let controls = word.wrapping_sub(eight(b' ')) & !word & eight(0x80);
    zero_bytes(word ^ eight(b'"')) | zero_bytes(word ^ eight(b'\\')) | controls
}
