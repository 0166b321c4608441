//! Eight bytes of text at once, as one integer whose lowest byte comes first.

/// Eight times the same byte.
pub const fn eight(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// The highest bit of each byte that is zero; bytes above the first such may be marked wrongly.
#[inline]
pub const fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(eight(1)) & !word & eight(0x80)
}
